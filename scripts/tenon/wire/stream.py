"""The answer to a request, rebuilt from a copy of its bytes while they pass: server-sent events or one JSON, compressed or not.

It never raises and never holds anybody up: what it does not understand it gives up on, and then there is no message. A message
comes from a whole answer only; half a turn must not be taken for one.
"""

from __future__ import annotations

import zlib

from tenon.wire.spans import Unreadable, decode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

LARGEST_BYTES = 64 << 20  # of an answer, unpacked; a real one has less than one
HELD_BYTES = 1 << 20  # that may wait to be read: an answer on its way is not held up for it
_STEP_BYTES = 1 << 18
_EITHER = 47  # zlib's word for gzip or deflate, whichever the header says
_GROWING = {"text_delta": "text", "thinking_delta": "thinking", "input_json_delta": "partial_json"}
_NULLABLE = ("stop_reason", "stop_sequence", "stop_details")


class Reader:
    """Reads one answer: `feed` it the bytes in any pieces, `close` it at the end; `complete` once the answer is whole and understood."""

    def __init__(self, content_type: str, encoding: str) -> None:
        kind = content_type.partition(";")[0].strip().lower()
        packing = encoding.strip().lower()
        self._complete = False
        self._held: list[bytes] = []
        self._held_bytes = 0
        self._events = kind == "text/event-stream"
        self._ended = not (self._events or kind == "application/json") or packing not in ("", "identity", "gzip", "x-gzip", "deflate")
        self._unpacker = zlib.decompressobj(_EITHER) if packing not in ("", "identity") else None
        self._left = LARGEST_BYTES
        self._waiting = bytearray()  # an unfinished line, or all of a JSON
        self._data: list[bytes] = []
        self._message: dict[str, Any] | None = None
        self._blocks: dict[int, _Block] = {}

    def feed(self, data: bytes) -> None:
        """Takes the next bytes of the answer as they came from the wire."""
        if self._ended:
            return
        self._held.append(data)
        self._held_bytes += len(data)
        if self._held_bytes > HELD_BYTES:
            self._work()

    @property
    def complete(self) -> bool:
        """Whether the answer came whole and was understood."""
        self._work()
        return self._complete

    def _work(self) -> None:
        """Reads what has come."""
        data = b"".join(self._held)
        self._held = []
        self._held_bytes = 0
        if self._ended or not data:
            return
        try:
            if self._unpacker is None:
                self._take(data)
            else:
                self._unpack(data)
        except (zlib.error, Unreadable, ValueError, TypeError, KeyError, AttributeError, RecursionError):
            self._give_up()

    def close(self) -> None:
        """Says that no more comes."""
        self._work()
        if self._ended:
            return
        try:
            if not self._events:
                self._message = _answer(decode(self._waiting))
                self._complete = True
        except Unreadable:
            self._give_up()
        self._ended = True
        self._waiting = bytearray()

    def message(self) -> dict[str, Any] | None:
        """The assistant's message with its content, stop_reason and usage; None unless it came whole and can be sent again."""
        return self._message if self.complete else None

    def _give_up(self) -> None:
        self._ended = True
        self._message = None
        self._waiting = bytearray()
        self._data = []
        self._blocks = {}

    def _unpack(self, data: bytes) -> None:
        while self._unpacker is not None and not self._ended:
            if self._unpacker.eof and data:  # another member of the same gzip file
                self._unpacker = zlib.decompressobj(_EITHER)
            found = self._unpacker.decompress(data, _STEP_BYTES)
            data = self._unpacker.unconsumed_tail or self._unpacker.unused_data
            self._take(found)
            if not data and len(found) < _STEP_BYTES:
                return

    def _take(self, data: bytes) -> None:
        self._left -= len(data)
        if self._left < 0:
            raise Unreadable("an answer too large to keep")
        if not self._events or b"\n" not in data:
            self._waiting += data
            return
        *lines, rest = (bytes(self._waiting) + data).split(b"\n")
        self._waiting = bytearray(rest)
        for line in lines:
            self._line(line.rstrip(b"\r"))
            if self._ended:
                return

    def _line(self, line: bytes) -> None:
        """One line of an event; an empty one ends it."""
        if line.startswith(b"data:"):
            self._data.append(line[6:] if line.startswith(b"data: ") else line[5:])
        elif not line and self._data:
            event = decode(b"\n".join(self._data))
            self._data = []
            if isinstance(event, dict):
                self._event(event)

    def _event(self, event: dict[str, Any]) -> None:
        kind = event.get("type")
        if kind == "content_block_delta":
            self._blocks[event["index"]].add(event["delta"])
        elif kind == "content_block_start":
            self._begin(event["index"], event["content_block"])
        elif kind == "message_delta":
            self._change(event)
        elif kind == "message_start":
            if self._message is not None:
                raise Unreadable("a second message in one answer")
            self._message = _answer(event["message"])
        elif kind == "message_stop":
            self._finish()
        elif kind == "error":
            self._give_up()

    def _begin(self, index: int, block: dict[str, Any]) -> None:
        if self._message is None or index in self._blocks:
            raise Unreadable("a block out of order")
        self._blocks[index] = _Block(block)
        if block.get("type") == "fallback" and isinstance(block.get("to"), dict):
            self._message["model"] = block["to"].get("model", self._message.get("model"))

    def _change(self, event: dict[str, Any]) -> None:
        """What the end of the message says of the whole; counts are totals and replace those of the beginning."""
        if self._message is None:
            raise Unreadable("a change before the message")
        for name, value in event["delta"].items():
            if value is not None or name in _NULLABLE:
                self._message[name] = value
        for name, value in event.items():
            if name == "usage":
                counts = {count: number for count, number in (value or {}).items() if number is not None}
                self._message["usage"] = {**(self._message.get("usage") or {}), **counts}
            elif name not in ("type", "delta") and value is not None:
                self._message[name] = value

    def _finish(self) -> None:
        if self._message is None:
            raise Unreadable("the end of no message")
        found = [self._blocks[index].whole() for index in sorted(self._blocks)]
        self._message["content"] = [block for block in found if not _unsigned(block)]
        self._complete = self._ended = True
        self._blocks = {}


class _Block:
    """A content block while it grows."""

    def __init__(self, start: dict[str, Any]) -> None:
        self.value = start
        self.pieces: dict[str, list[str]] = {}

    def add(self, delta: dict[str, Any]) -> None:
        kind = delta["type"]
        if kind in _GROWING:
            self.pieces.setdefault(_GROWING[kind], []).append(delta[_GROWING[kind]])
        elif kind == "signature_delta":
            self.value["signature"] = delta["signature"]
        elif kind == "citations_delta":
            self.value["citations"] = [*(self.value.get("citations") or []), delta["citation"]]
        elif kind == "compaction_delta":
            self.value.update((name, value) for name, value in delta.items() if name != "type")

    def whole(self) -> dict[str, Any]:
        """The block as the client has it in the end; Unreadable when a tool's input broke off."""
        for name, pieces in self.pieces.items():
            joined = _mended("".join(pieces))
            if name != "partial_json":
                self.value[name] = (self.value.get(name) or "") + joined
            elif joined:
                self.value["input"] = decode(joined)
        if self.value.get("type") in ("tool_use", "server_tool_use", "mcp_tool_use"):
            self.value.setdefault("input", {})
        return self.value


def _answer(message: Any) -> dict[str, Any]:
    """The message, when it is one."""
    if not isinstance(message, dict) or message.get("type") != "message" or not isinstance(message.get("content"), list):
        raise Unreadable("no message")
    return message


def _mended(text: str) -> str:
    """The text with the halves of a character together that two events had between them."""
    if text.isascii() or not any("\ud800" <= letter <= "\udbff" for letter in text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def _unsigned(block: dict[str, Any]) -> bool:
    """Whether this is thinking that nobody would take back: the API wants each signed."""
    return block.get("type") == "thinking" and not block.get("signature")
