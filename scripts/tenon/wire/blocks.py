"""The blocks of a decoded message, and the order in which the API wants messages: calls and their results, prompts, system entries."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

NO_ANSWER = "(No answer was kept.)"
NO_RESULT = "(No result was kept.)"
NO_PICTURE = "[an image stood here; it was left out]"
REMINDER, REMINDED = "<system-reminder>", "</system-reminder>"


def text(words: str) -> dict[str, Any]:
    """A block of text."""
    return {"type": "text", "text": words}


def blocks_of(message: dict[str, Any]) -> list[dict[str, Any]]:
    """The content blocks; a string is one of text, what is no block is not there."""
    content = message.get("content")
    if isinstance(content, str):
        return [text(content)] if content else []
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []


def calls(message: dict[str, Any]) -> list[str]:
    """The ids of the client's tools called in it."""
    return [str(block.get("id")) for block in blocks_of(message) if block.get("type") == "tool_use"]


def results(message: dict[str, Any]) -> list[str]:
    """The ids of the calls that it holds results of."""
    return [str(block.get("tool_use_id")) for block in blocks_of(message) if block.get("type") == "tool_result"]


def no_results(ids: Sequence[str]) -> dict[str, Any]:
    """The user message that says of each of these calls that its result is not there."""
    return {"role": "user", "content": [{"type": "tool_result", "tool_use_id": each, "content": NO_RESULT, "is_error": True} for each in ids]}


def says(message: dict[str, Any]) -> bool:
    """Whether a system entry has words; one that only sets the effort may stand anywhere."""
    return bool(message.get("content"))


def starts(messages: Sequence[dict[str, Any]]) -> list[int]:
    """Where exchanges begin: at a user message without results that does not go on from another one like it."""
    found: list[int] = []
    before = ""
    for index, message in enumerate(messages):
        if message["role"] == "system":
            continue
        kind = message["role"]
        if kind == "user" and not results(message):
            kind = "prompt"
            if before != "prompt" and blocks_of(message):
                found.append(index)
        before = kind
    return found


def with_images(message: dict[str, Any], most: int) -> tuple[dict[str, Any], int]:
    """The message with its newest `most` images, the others as a line of text, and how many images it has then."""
    total = sum(1 for block in _all(message) if block.get("type") == "image")
    if total <= most:
        return message, total
    over = total - most

    def seen(block: Any) -> Any:
        nonlocal over
        if not isinstance(block, dict):
            return block
        if block.get("type") == "image" and over:
            over -= 1
            return text(NO_PICTURE)
        if block.get("type") == "tool_result" and isinstance(block.get("content"), list):
            return {**block, "content": [seen(inner) for inner in block["content"]]}
        return block

    return {**message, "content": [seen(block) for block in message["content"]]}, most


def _all(message: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for block in blocks_of(message):
        yield block
        if block.get("type") == "tool_result":
            yield from blocks_of(block)


def unanswered(messages: Sequence[dict[str, Any]]) -> list[str] | None:
    """The calls of the last assistant turn that nothing answered yet; None when the messages are not in order.

    In order: results follow their calls at once and answer each once; a system entry with words comes behind a user message,
    or a server tool's result, and in front of an assistant message or at the end. The first messages may be missing.
    """
    waiting: list[str] = []
    closed = system = False  # whether words stood behind the results; whether a system entry just spoke
    role = ""
    last: dict[str, Any] = {}
    for message in messages:
        blocks = blocks_of(message)
        if message["role"] == "system":
            from_server = role == "assistant" and str(last.get("type")).endswith("_tool_result")
            if says(message) and (waiting or role == "assistant" and not from_server):
                return None
            system = system or says(message)
            continue
        if message["role"] == "assistant":
            if waiting and role == "user":
                return None
            waiting += calls(message)
        else:
            if system:
                return None
            closed = closed and role == "user"
            for block in blocks:
                if block.get("type") != "tool_result":
                    closed = True
                elif closed or str(block.get("tool_use_id")) not in waiting:
                    return None
                else:
                    waiting.remove(str(block.get("tool_use_id")))
            if closed and waiting:
                return None
        role, system, last = message["role"], False, blocks[-1] if blocks else {}
    return waiting
