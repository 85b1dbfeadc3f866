"""One message of a conversation as the store keeps it: without secrets, and without what was forgotten."""

from __future__ import annotations

import json

from tenon.base.redact import MARK, redact, redact_value
from tenon.store.forgotten import INSTEAD

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from tenon.store.forgotten import Forgotten

THINKING = ("thinking", "redacted_thinking")
COMMON = 48  # characters; a shorter text may well be said again by chance
NO_WORDS = ("type", "id", "tool_use_id", "signature", "cache_control")  # fields of a block that say nothing


def redacted(message: bytes) -> bytes:
    """The message with each secret replaced; the same bytes when there is none. Raises ValueError for what is no JSON."""
    value = json.loads(message)
    bare = _redacted(value)
    return message if bare == value else printed(bare).encode("utf-8")


def allowed(message: bytes, gone: Forgotten | None, conversation: str = "") -> str:
    """The redacted message as it may be written: without the blocks that were forgotten and the texts that the user named.

    What needs no change is the bytes that came. `conversation` is the name of the one it belongs to.
    """
    if gone is not None:
        value = json.loads(message)
        role = value.get("role") if isinstance(value, dict) else ""
        left = without(value, [gone.is_said(said(role, block), conversation if is_common(block) else "") for block in blocks(value)])
        if gone.windows:
            left = gone.without_in(left)
        if left != value:
            return printed(left)
    return str(message, "utf-8")


def altered(message: bytes) -> bool:
    """Whether something was taken out of a kept message, so that thinking which comes after it is bound to other words."""
    return MARK.encode() in message or INSTEAD.encode() in message


def without(message: Any, out: Sequence[bool]) -> Any:
    """The message with «[forgotten]» in the place of those of its blocks that are out; the same object when none is.

    Calls and results keep their ids, for the API wants them in pairs.
    """
    if not any(out):
        return message
    if isinstance(message["content"], str):
        return {**message, "content": INSTEAD}
    kept: list[Any] = []
    for block, is_out in zip(blocks(message), out):
        kept += [_blank(block)] if is_out and _kind(block) not in THINKING else [] if is_out else [block]
    return {**message, "content": kept or [{"type": "text", "text": INSTEAD}]}


def blank(message: Any) -> dict[str, Any]:
    """The message with nothing but its role."""
    return {"role": message.get("role") if isinstance(message, dict) else "user", "content": INSTEAD}


def said(role: object, block: Any) -> str:
    """What a block says, the same however the client prints it."""
    if _kind(block) == "text":
        return json.dumps([role, str(block.get("text", "")).strip()])
    bare = {name: value for name, value in block.items() if name != "cache_control"} if isinstance(block, dict) else block
    return json.dumps([role, bare], sort_keys=True)


def is_common(block: Any) -> bool:
    """Whether the block is a short text, which another conversation may have by chance."""
    return _kind(block) == "text" and len(str(block.get("text", "")).strip()) < COMMON


def blocks(message: Any) -> list[Any]:
    """The content blocks of a message; a string is one block of text."""
    content = message.get("content") if isinstance(message, dict) else None
    return [{"type": "text", "text": content}] if isinstance(content, str) else content if isinstance(content, list) else []


def texts(value: Any) -> Iterator[str]:
    """Every string in a block that may be somebody's words: no ids, no signatures, no encoded bytes."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for inner in value:
            yield from texts(inner)
    elif isinstance(value, dict) and value.get("type") == "tool_use":
        yield from texts(value.get("input"))
    elif isinstance(value, dict):
        encoded = ("data",) if value.get("type") in ("base64", "redacted_thinking") else ()
        for name, inner in value.items():
            if not (name in NO_WORDS and isinstance(inner, str)) and name not in encoded:
                yield from texts(inner)


def printed(value: object) -> str:
    """The value as compact JSON that can be stored."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:  # half of a surrogate pair, which JSON can have in its escapes only
        text = json.dumps(value, separators=(",", ":"))
    return text


def _kind(block: Any) -> str:
    return str(block.get("type")) if isinstance(block, dict) else ""


def _blank(block: Any) -> dict[str, Any]:
    if _kind(block) == "tool_use":
        return {**{name: block[name] for name in ("type", "id", "name") if name in block}, "input": {}}
    if _kind(block) == "tool_result":
        return {**{name: block[name] for name in ("type", "tool_use_id") if name in block}, "content": INSTEAD}
    return {"type": "text", "text": INSTEAD}


def _redacted(message: Any) -> Any:
    """The redacted message; of thinking only the words, for a signature is the API's and opens nothing."""
    content = message.get("content") if isinstance(message, dict) else None
    if not isinstance(content, list) or not any(_kind(block) in THINKING for block in content):
        return redact_value(message)
    return {**message, "content": [_redacted_thinking(block) if _kind(block) in THINKING else redact_value(block) for block in content]}


def _redacted_thinking(block: dict[str, Any]) -> dict[str, Any]:
    return {name: redact(value) if name == "thinking" and isinstance(value, str) else value for name, value in block.items()}
