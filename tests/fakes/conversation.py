"""How the API reads `messages`: string content is one text block, consecutive messages of a role are one turn."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

Block = dict[str, Any]
THINKING = ("thinking", "redacted_thinking")


@dataclass
class Turn:
    """Messages of one role in a row; `places` are the (message, block) indices of `blocks`."""

    role: str
    first: int
    blocks: list[Block]
    places: list[tuple[int, int]]


def blocks_of(content: Any) -> list[Block]:
    """The content blocks; a string is one text block, nothing (also "") is none."""
    if content and isinstance(content, str):
        return [{"type": "text", "text": content}]
    return list(content or [])


def turns(messages: list[Block]) -> list[Turn]:
    """The conversation with messages of one role in a row combined."""
    result: list[Turn] = []
    for index, message in enumerate(messages):
        blocks = blocks_of(message["content"])
        places = [(index, position) for position in range(len(blocks))]
        if result and result[-1].role == message["role"]:
            result[-1].blocks.extend(blocks)
            result[-1].places.extend(places)
        else:
            result.append(Turn(message["role"], index, blocks, places))
    return result


def unmarked(block: Any) -> Any:
    """The block without cache_control, its own and that of the blocks of a tool result."""
    if not isinstance(block, dict):
        return block
    plain = {key: value for key, value in block.items() if key != "cache_control"}
    if plain.get("type") == "tool_result":
        plain["content"] = [unmarked(inner) for inner in blocks_of(plain.get("content"))]
    return plain


def billed_system(system: Any) -> list[Block]:
    """The system blocks the model is shown: a leading attribution block in its own entry is taken off."""
    blocks = blocks_of(system)
    if isinstance(system, list) and blocks and str(blocks[0].get("text", "")).startswith("x-anthropic-billing-header:"):
        return blocks[1:]
    return blocks


def referenced_tools(blocks: list[Block]) -> set[str]:
    """The names of tools that tool_reference and tool_addition blocks bring in."""
    names: set[str] = set()
    for block in blocks:
        if block.get("type") == "tool_addition":
            names.add(str(block.get("name") or (block.get("tool") or {}).get("name")))
        if block.get("type") == "tool_result":
            for inner in blocks_of(block.get("content")):
                if inner.get("type") == "tool_reference":
                    names.add(str(inner.get("tool_name")))
    return names


def all_blocks(messages: list[Block]) -> Iterator[tuple[str, Block]]:
    """Every block of every message with its path, tool results opened after themselves."""
    for index, message in enumerate(messages):
        for position, block in enumerate(blocks_of(message["content"])):
            path = f"messages.{index}.content.{position}"
            yield path, block
            if block.get("type") == "tool_result":
                for inner_position, inner in enumerate(blocks_of(block.get("content"))):
                    yield f"{path}.tool_result.content.{inner_position}", inner
