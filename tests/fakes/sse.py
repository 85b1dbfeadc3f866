"""A finished message as the server-sent events that stream it."""

from __future__ import annotations

import json
from typing import Any

from tests.fakes.conversation import Block

PIECES = 3


def frame(event: Block) -> bytes:
    """One event on the wire."""
    return f"event: {event['type']}\ndata: {json.dumps(event, ensure_ascii=False)}\n\n".encode()


def events(message: Block) -> list[Block]:
    """The events of a message, from message_start to message_stop."""
    usage = message["usage"]
    opening = {**message, "content": [], "stop_reason": None, "usage": {**usage, "output_tokens": 1}}
    for late in ("context_management", "safeguard_results"):
        opening.pop(late, None)
    result: list[Block] = [{"type": "message_start", "message": opening}, {"type": "ping"}]
    for index, block in enumerate(message["content"]):
        start, deltas = opened(block)
        result.append({"type": "content_block_start", "index": index, "content_block": start})
        result += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
        result.append({"type": "content_block_stop", "index": index})
    delta: Block = {"stop_reason": message["stop_reason"], "stop_sequence": message["stop_sequence"]}
    if "safeguard_results" in message:
        delta["safeguard_results"] = message["safeguard_results"]
    ending: Block = {"type": "message_delta", "delta": delta, "usage": {"output_tokens": usage["output_tokens"]}}
    if "context_management" in message:
        ending["context_management"] = message["context_management"]
    return [*result, ending, {"type": "message_stop"}]


def opened(block: Block) -> tuple[Block, list[Block]]:
    """The empty block that content_block_start carries and the deltas that fill it."""
    kind = block["type"]
    if kind == "text":
        deltas: list[Block] = [{"type": "text_delta", "text": part} for part in pieces(block["text"])]
        deltas += [{"type": "citations_delta", "citation": found} for found in block.get("citations") or []]
        return {"type": "text", "text": ""}, deltas
    if kind == "thinking":
        deltas = [{"type": "thinking_delta", "thinking": part} for part in pieces(block["thinking"])]
        deltas.append({"type": "signature_delta", "signature": block["signature"]})
        return {"type": "thinking", "thinking": "", "signature": ""}, deltas
    if kind in ("tool_use", "server_tool_use", "mcp_tool_use"):
        deltas = [{"type": "input_json_delta", "partial_json": ""}]
        if block["input"]:
            raw = json.dumps(block["input"], ensure_ascii=False)
            deltas += [{"type": "input_json_delta", "partial_json": part} for part in pieces(raw)]
        return {**block, "input": {}}, deltas
    if kind == "compaction":
        filled: dict[str, Any] = {key: block.get(key) for key in ("content", "encrypted_content") if key in block}
        start = {key: value for key, value in block.items() if key not in filled}
        return {**start, "content": None}, [{"type": "compaction_delta", **filled}]
    return block, []


def pieces(words: str) -> list[str]:
    """The text in up to three parts, cut where nobody would."""
    step = max(1, -(-len(words) // PIECES))
    return [words[at : at + step] for at in range(0, len(words), step)]
