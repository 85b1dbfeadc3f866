"""The list of messages cut and joined, and single messages with one thing changed: all on the bytes, nothing else is printed again."""

from __future__ import annotations

from tenon.wire.identity import THINKING
from tenon.wire.spans import Part, decode, elements, members, printed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from tenon.wire.body import Body

MOST_MARKERS = 4
# The kinds of blocks that may carry a cache marker; every other kind of result of a tool may too.
MARKABLE = frozenset("text image document search_result tool_use tool_result server_tool_use mcp_tool_use mcp_tool_result container_upload compaction".split())


def splice(body: Body, skip: int, prefix: Sequence[bytes], changes: Mapping[int, bytes]) -> bytes:
    """The request with the prefix in place of its first `skip` messages, and with changed messages in place of theirs.

    `changes` are by the client's index, b"" leaves a message out; a change of a skipped message does not count.
    """
    view, messages = memoryview(body.raw), body.messages
    runs: list[bytes | memoryview] = [message for message in prefix if message]
    first, last = (messages[0].start, messages[-1].end) if messages else (body.opening, body.opening)
    start = skip = min(max(skip, 0), len(messages))
    for index in sorted(index for index in changes if skip <= index < len(messages)):
        if start < index:
            runs.append(view[messages[start].start : messages[index - 1].end])
        if changes[index]:
            runs.append(changes[index])
        start = index + 1
    if start < len(messages):
        runs.append(view[messages[start].start : last])
    pieces = [view[:first], *(piece for run in runs for piece in (b",", run)), view[last:]]
    if runs:
        del pieces[1]  # the comma in front of the first
    return b"".join(pieces)


def marked(message: bytes, ttl: str) -> bytes:
    """The message with a cache marker on its last block that may carry one; unchanged when none may, or that one does already."""
    text = message.decode("latin-1")
    content = _content(text)
    marker = b'"cache_control":{"type":"ephemeral","ttl":"1h"}' if ttl == "1h" else b'"cache_control":{"type":"ephemeral"}'
    if content is None or any(member.name == "clear_at" for member in members(text, 0)[0]):  # shown for one turn, so never kept
        return message
    if isinstance(content.value, str):
        words = message[content.start : content.end]
        if not decode(words).strip():
            return message
        return _replaced(message, [(content.start, content.end, b'[{"type":"text","text":' + words + b"," + marker + b"}]")])
    for block in reversed(elements(text, content.start)[0]):
        if not _may_carry(message, block):
            continue
        if block.value.get("cache_control") is not None:
            return message
        inside = members(text, block.start)[0]
        for member in inside:
            if member.name == "cache_control":
                return _replaced(message, [(member.at, member.end, marker)])
        return _replaced(message, [(inside[-1].end, inside[-1].end, b"," + marker)])
    return message


def lane(body: Body, skip: int) -> str:
    """The lifetime, "5m" or "1h", of a marker between the prefix and the client's messages from `skip` on; "" when the four are taken.

    A marker that lives longer must not stand behind a shorter one, so ours is like the next one, or else like the last.
    """
    before = [*_markers(_list(body.field("tools"))), *_markers(_list(body.field("system")))]
    after = [found for message in body.messages[skip:] for found in _markers(_list(message.value.get("content")))]
    after += _markers([{"cache_control": body.field("cache_control")}])
    if len(before) + len(after) >= MOST_MARKERS:
        return ""
    return after[0] if after else before[-1] if before else "5m"


def unmarked(message: bytes) -> bytes:
    """The message without cache markers; the input of a tool may have a key of that name and keeps it."""
    if b"cache_control" not in message and b"\\u" not in message:
        return message
    text = message.decode("latin-1")
    edits = list(_without_marker(text, 0))
    content = _content(text)
    if content is not None and isinstance(content.value, list):
        for block in elements(text, content.start)[0]:
            edits += _unmarked_block(text, block)
    return _replaced(message, edits)


def without_thinking(message: bytes) -> bytes:
    """The message without its thinking blocks; b"" when nothing is left, unchanged when there were none."""
    if b"thinking" not in message and b"\\u" not in message:
        return message
    text = message.decode("latin-1")
    content = _content(text)
    if content is None or not isinstance(content.value, list):
        return message
    blocks = elements(text, content.start)[0]
    kept = [message[block.start : block.end] for block in blocks if _kind(block.value) not in THINKING]
    if len(kept) == len(blocks):
        return message
    return _replaced(message, [(content.start, content.end, b"[" + b",".join(kept) + b"]")]) if kept else b""


def with_text(message: bytes, text: str, place: int | None) -> tuple[bytes, int]:
    """The message with a block of text more, and the place of it among the blocks; unchanged and -1 for a blank text.

    Without a place it goes behind results of tools, which must come first, and in front of a last block that carries
    the cache marker, so that it is inside of what is kept. String content becomes blocks.
    """
    source = message.decode("latin-1")
    content = _content(source)
    if content is None or not text.strip():
        return message, -1
    ours = printed({"type": "text", "text": text})
    if isinstance(content.value, str):
        words = message[content.start : content.end]
        parts = [b'{"type":"text","text":' + words + b"}"] if content.value else []
        at = len(parts) if place is None else min(max(place, 0), len(parts))
        parts.insert(at, ours)
        return _replaced(message, [(content.start, content.end, b"[" + b",".join(parts) + b"]")]), at
    blocks = elements(source, content.start)[0]
    at = _place(blocks) if place is None else min(max(place, 0), len(blocks))
    if not blocks:
        return _replaced(message, [(content.start + 1, content.start + 1, ours)]), at
    if at == len(blocks):
        return _replaced(message, [(blocks[-1].end, blocks[-1].end, b"," + ours)]), at
    return _replaced(message, [(blocks[at].start, blocks[at].start, ours + b",")]), at


def _place(blocks: list[Part]) -> int:
    """Where a text goes among these blocks."""
    first = max((index + 1 for index, block in enumerate(blocks) if _kind(block.value) == "tool_result"), default=0)
    last = blocks[-1].value if blocks else None
    if isinstance(last, dict) and last.get("cache_control") is not None:
        return max(first, len(blocks) - 1)
    return len(blocks)


def _content(text: str) -> Part | None:
    """The content of a message when it is a string or a list."""
    for member in members(text, 0)[0]:
        if member.name == "content" and isinstance(member.value, (str, list)):
            return member
    return None


def _kind(block: Any) -> Any:
    return block.get("type") if isinstance(block, dict) else None


def _may_carry(message: bytes, block: Part) -> bool:
    kind = _kind(block.value)
    if kind == "text":
        words = decode(message[block.start : block.end]).get("text")
        return isinstance(words, str) and bool(words.strip())
    return kind in MARKABLE or (isinstance(kind, str) and kind.endswith("_tool_result"))


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _inner(block: dict[str, Any]) -> list[Any]:
    """The blocks inside of a block: of a result, or of a document made of blocks."""
    source = block.get("source")
    return [*_list(block.get("content")), *_list(source.get("content") if isinstance(source, dict) else None)]


def _markers(blocks: list[Any]) -> list[str]:
    """The lifetimes of the markers on these blocks and inside of them, in order."""
    found: list[str] = []
    for block in blocks:
        if isinstance(block, dict):
            for carrier in (block, *_inner(block)):
                marker = carrier.get("cache_control") if isinstance(carrier, dict) else None
                if marker is not None:
                    found.append("1h" if isinstance(marker, dict) and marker.get("ttl") == "1h" else "5m")
    return found


def _unmarked_block(text: str, block: Part) -> Iterator[tuple[int, int, bytes]]:
    """What to cut so that a block and those inside of it carry no marker."""
    if not isinstance(block.value, dict):
        return
    yield from _without_marker(text, block.start)
    for member in members(text, block.start)[0]:
        if member.name == "content" and isinstance(member.value, list):
            for inner in elements(text, member.start)[0]:
                if isinstance(inner.value, dict):
                    yield from _without_marker(text, inner.start)
        elif member.name == "source" and isinstance(member.value, dict):
            for part in members(text, member.start)[0]:
                if part.name == "content" and isinstance(part.value, list):
                    for inner in elements(text, part.start)[0]:
                        if isinstance(inner.value, dict):
                            yield from _without_marker(text, inner.start)


def _without_marker(text: str, at: int) -> Iterator[tuple[int, int, bytes]]:
    """What to cut so that the object at `at` has no cache_control."""
    inside = members(text, at)[0]
    for index, member in enumerate(inside):
        if member.name == "cache_control":
            if index:
                yield inside[index - 1].end, member.end, b""
            else:
                yield member.at, inside[1].at if len(inside) > 1 else member.end, b""


def _replaced(message: bytes, edits: list[tuple[int, int, bytes]]) -> bytes:
    """The bytes with each of these spans replaced."""
    pieces: list[bytes] = []
    at = 0
    for start, end, new in sorted(edits):
        pieces += (message[at:start], new)
        at = end
    return b"".join((*pieces, message[at:]))
