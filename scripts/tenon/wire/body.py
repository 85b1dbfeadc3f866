"""A request of the Messages API as it came: its fields and messages, and the bytes at which each stands."""

from __future__ import annotations

import codecs

from tenon.wire.spans import Part, Unreadable, check_depth, decode, elements, members, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["Body", "Message", "Unreadable", "parse"]

_STEP_BYTES = 1 << 16


class Message:
    """One message: its bytes are raw[start:end] of the body.

    `value` is right in structure, types and lengths in bytes; letters beyond ASCII are not themselves in it. `Body.whole` reads them properly.
    """

    __slots__ = ("start", "end", "role", "value")

    def __init__(self, start: int, end: int, value: dict[str, Any]) -> None:
        self.start, self.end, self.value = start, end, value
        self.role: str = value["role"]


class Body:
    """A request: `spans` are the offsets of its fields' values, `opening` and `closing` those just inside the brackets of `messages`."""

    __slots__ = ("raw", "spans", "messages", "opening", "closing", "_fields")

    def __init__(self, raw: bytes, spans: dict[str, tuple[int, int]], messages: list[Message]) -> None:
        self.raw, self.spans, self.messages = raw, spans, messages
        self.opening, self.closing = spans["messages"][0] + 1, spans["messages"][1] - 1
        self._fields: dict[str, Any] = {}

    def field(self, name: str) -> Any:
        """The value of a field; None when the request has none of this name."""
        if name not in self.spans:
            return None
        if name not in self._fields:
            start, end = self.spans[name]
            self._fields[name] = decode(memoryview(self.raw)[start:end])
        return self._fields[name]

    def slice(self, index: int) -> bytes:
        """The bytes of a message."""
        message = self.messages[index]
        return self.raw[message.start : message.end]

    def whole(self, index: int) -> dict[str, Any]:
        """A message with every letter right."""
        message = self.messages[index]
        found: dict[str, Any] = decode(memoryview(self.raw)[message.start : message.end])
        return found


def parse(raw: bytes) -> Body:
    """The request in these bytes; raises Unreadable when they are not plainly a JSON object with a list of messages."""
    _check_letters(raw)
    text = raw.decode("latin-1")
    lists: list[list[Part]] = []

    def read(text: str, at: int, name: str) -> tuple[Any, int]:
        if name != "messages" or text[at : at + 1] != "[":
            content, end = value(text, at)
            check_depth([content])
            return None, end
        found, end = elements(text, at)
        lists.append(found)
        return None, end

    fields, end = members(text, 0, read)
    if text[end:].strip(" \t\r\n"):
        raise Unreadable(f"more than one value, from byte {end} on")
    if not lists:
        raise Unreadable("no list of messages")
    messages: list[Message] = []
    for part in lists[0]:
        if not isinstance(part.value, dict) or not isinstance(part.value.get("role"), str):
            raise Unreadable(f"messages.{len(messages)} is no message")
        messages.append(Message(part.start, part.end, part.value))
    check_depth([message.value for message in messages])
    return Body(raw, {field.name: (field.start, field.end) for field in fields}, messages)


def _check_letters(raw: bytes) -> None:
    """Raises Unreadable for bytes that are not UTF-8; in steps, since a single emoji makes Python's text four times as large."""
    if raw.isascii():
        return
    view = memoryview(raw)
    reader = codecs.getincrementaldecoder("utf-8")()
    try:
        for at in range(0, len(raw), _STEP_BYTES):
            reader.decode(view[at : at + _STEP_BYTES])
        reader.decode(b"", final=True)
    except UnicodeDecodeError as error:
        raise Unreadable(f"not UTF-8: {error.reason}") from None
