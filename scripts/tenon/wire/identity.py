"""When two messages are the same: their digests, which look past what the API looks past when it checks a signed conversation.

Not seen are cache markers, string or one block of text, white space round a text, texts of nothing else, thinking, the order of
keys, fields that are null, and a `caller` that is the model itself, which some versions of Claude Code leave out. Seen is
everything else: white space inside a text, a tool's input, ids, the bytes of an image, the role. Numbers are doubles, because a
client in JavaScript prints 1.0 as 1.
"""

from __future__ import annotations

import hashlib
import json

from tenon.wire.spans import Unreadable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

THINKING = ("thinking", "redacted_thinking")
DIGEST_BYTES = 16

_THE_MODEL = {"type": "direct"}


def digest(message: bytes) -> str:
    """The identity of a message as 32 hexadecimal digits; raises Unreadable when it is no JSON object."""
    try:
        return _hashed(_PRINTER.encode(canonical(_READER.decode(str(message, "utf-8")))).encode())
    except (ValueError, RecursionError) as error:
        raise Unreadable(str(error)[:200]) from None


def anchor(digests: Sequence[str]) -> str:
    """The identity of messages in this order; "" for none."""
    return _hashed("\n".join(digests).encode()) if digests else ""


def canonical(message: Any) -> dict[str, Any]:
    """A decoded message as its digest sees it."""
    if not isinstance(message, dict):
        raise Unreadable("a message is an object")
    return {**_present(message), "content": _blocks(message.get("content"))}


def _present(block: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in block.items() if value is not None and name != "cache_control"}


def _blocks(content: Any) -> Any:
    """The blocks that count; what is neither a text nor a list stays as it is."""
    if content is None:
        return []
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    if not isinstance(content, list):
        return content
    return [seen for seen in map(_block, content) if seen is not None]


def _block(block: Any) -> Any:
    """The block without what does not count; None when all of it does not."""
    if not isinstance(block, dict):
        return block
    kind = block.get("type")
    if kind in THINKING:
        return None
    seen = _present(block)
    if kind == "text":
        words = seen.get("text")
        seen["text"] = words.strip() if isinstance(words, str) else words
        return seen if seen["text"] else None
    if kind == "tool_result":
        seen["content"] = _blocks(seen.get("content"))
    elif isinstance(seen.get("content"), list):
        seen["content"] = [_present(inner) if isinstance(inner, dict) else inner for inner in seen["content"]]
    elif seen.get("caller") == _THE_MODEL:
        del seen["caller"]
    source = seen.get("source")
    if isinstance(source, dict) and isinstance(source.get("content"), list):
        seen["source"] = {**source, "content": [_present(inner) if isinstance(inner, dict) else inner for inner in source["content"]]}
    return seen


def _number(digits: str) -> float:
    return float(digits) + 0.0  # -0 is 0


def _hashed(text: bytes) -> str:
    return hashlib.blake2b(text, digest_size=DIGEST_BYTES).hexdigest()


_READER = json.JSONDecoder(parse_int=_number, parse_float=_number)
_PRINTER = json.JSONEncoder(sort_keys=True, separators=(",", ":"))
