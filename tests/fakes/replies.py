"""Scripted replies: what the fake answers, block by block, and how the answer travels.

A reply is a dictionary:

    blocks       content blocks, see text(), thinking(), tool_call()
    stop         stop_reason; default: "tool_use" when there is a call, else "end_turn"
    out          output tokens; default: an estimate
    ttft         seconds before the first byte
    gap          seconds between two events
    hang         seconds before the last event
    split        bytes per TCP chunk
    gzip         True: compress when the client accepts it
    cut          close the connection after that many events
    error_after  send an SSE error after that many events
    error        {"msg", "status", "type", "code", "headers"}: an error answer instead of a message

A string stands for one text block, a block or a list of blocks for a reply of them.
"""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Callable
from typing import Any, Union

from tests.fakes.conversation import Block, blocks_of
from tests.fakes.models import Model

Reply = dict[str, Any]
Scripted = Union[str, Block, "list[Block]", Reply]
KEYS = frozenset("blocks stop out ttft gap hang split gzip cut error_after error".split())
ERROR_KEYS = frozenset("msg status type code headers".split())
REMINDER = re.compile(r"<system-reminder>.*?</system-reminder>", re.DOTALL)
CALL = re.compile(r"\[\[CALL (\S+) ")
COMPACTION = "CRITICAL: Respond with TEXT ONLY"
HEARD_CHARS = 60
QUOTED_CHARS = 200


def text(words: str) -> Block:
    """A text block."""
    return {"type": "text", "text": words}


def thinking(words: str = "") -> Block:
    """A thinking block; it is signed for its conversation when it is sent."""
    return {"type": "thinking", "thinking": words}


def redacted_thinking() -> Block:
    """A redacted thinking block; signed like thinking()."""
    return {"type": "redacted_thinking"}


def tool_call(name: str, input: Block, id: str | None = None) -> Block:
    """A tool_use block with a fresh id, or the given one."""
    return {"type": "tool_use", "id": id or f"toolu_{uuid.uuid4().hex[:24]}", "name": name, "input": input}


def reply(*blocks: Block, **options: Any) -> Reply:
    """A reply of these blocks; options are the keys of the module's docstring."""
    return normal({"blocks": list(blocks), **options})


def error(message: str, status: int = 400, **more: Any) -> Reply:
    """An error answer; more: type, code, headers such as {"retry-after": "2"}."""
    return normal({"error": {"msg": message, "status": status, **more}})


def overloaded() -> Reply:
    """The answer of a busy API."""
    return error("Overloaded", 529)


def normal(scripted: Scripted) -> Reply:
    """The reply that a shorthand stands for; raises ValueError for a key that means nothing."""
    if isinstance(scripted, str):
        return {"blocks": [text(scripted)]}
    if isinstance(scripted, list):
        return {"blocks": scripted}
    if "type" in scripted:
        return {"blocks": [scripted]}
    unknown = (set(scripted) - KEYS) | (set(scripted.get("error") or {}) - ERROR_KEYS)
    if unknown:
        raise ValueError(f"no such reply option: {', '.join(sorted(unknown))}")
    return scripted


def finished(scripted: Reply, body: Block, model: Model, usage: Block, sign: Callable[[list[Block], str], str]) -> Block:
    """The whole message of a reply, as a non-streaming request gets it.

    `sign` gives the signature of a thinking block that follows the given blocks.
    """
    display = (body.get("thinking") or {}).get("display", model.thinking_display)
    blocks: list[Block] = []
    for scripted_block in scripted.get("blocks") or []:
        block = dict(scripted_block)
        if block["type"] == "thinking" and "signature" not in block:
            words = "" if display == "omitted" else block.get("thinking", "")
            block = {"type": "thinking", "thinking": words, "signature": sign(blocks, words)}
        elif block["type"] == "redacted_thinking" and "data" not in block:
            block["data"] = sign(blocks, "")
        blocks.append(block)
    if body.get("max_tokens") == 0:
        blocks = []
    kinds = [block["type"] for block in blocks]
    stop = "tool_use" if "tool_use" in kinds else "compaction" if "compaction" in kinds else "end_turn"
    words_out = len(json.dumps(scripted.get("blocks") or [])) // 3
    message: Block = {
        "id": f"msg_{uuid.uuid4().hex[:24]}",
        "type": "message",
        "role": "assistant",
        "model": body["model"],
        "content": blocks,
        "stop_reason": "max_tokens" if body.get("max_tokens") == 0 else scripted.get("stop") or stop,
        "stop_sequence": None,
        "usage": {**usage, "output_tokens": scripted.get("out", max(1, words_out)), "service_tier": "standard"},
    }
    if body.get("context_management"):
        message["context_management"] = {"applied_edits": []}
    if body.get("safeguards"):
        message["safeguard_results"] = verdicts(blocks)
    return message


def verdicts(blocks: list[Block]) -> list[Block]:
    """What auto mode's check says of each tool call: nothing to object to."""
    evaluated = {"type": "evaluated", "outcome": "not_flagged"}
    tool_uses = {block["id"]: evaluated for block in blocks if block["type"] == "tool_use"}
    return [{"type": "dangerous_tool_use", "status": {"type": "available", "tool_uses": tool_uses}}]


def is_title(body: Block) -> bool:
    """Whether Claude Code asks for the name of a session."""
    schema = ((body.get("output_config") or {}).get("format") or {}).get("schema") or {}
    return list(schema.get("properties") or {}) == ["title"]


def newest_turn(body: Block) -> list[Block]:
    """The blocks of the last user turn, system entries not counted."""
    blocks: list[Block] = []
    for message in reversed(body["messages"]):
        if message["role"] == "assistant":
            break
        if message["role"] == "user":
            blocks = [*blocks_of(message["content"]), *blocks]
    return blocks


def prompt_of(body: Block) -> str:
    """What the user said last; reminders that Claude Code adds are left out."""
    said = [REMINDER.sub("", block["text"]).strip() for block in newest_turn(body) if block["type"] == "text"]
    return next((words for words in reversed(said) if words), "")


def results_of(body: Block) -> list[str]:
    """The text of each tool result of the last user turn."""
    found = []
    for block in newest_turn(body):
        if block["type"] == "tool_result":
            inner = blocks_of(block.get("content"))
            found.append("\n".join(str(part.get("text", f"[{part['type']}]")) for part in inner))
    return found


def calls_in(prompt: str) -> list[Block]:
    """The calls that a prompt orders as [[CALL tool_name {json}]]."""
    calls = []
    for match in CALL.finditer(prompt):
        given, end = json.JSONDecoder().raw_decode(prompt, match.end())
        if prompt[end : end + 2] == "]]":
            calls.append(tool_call(match.group(1), given))
    return calls


def obey(request: Any) -> Reply:
    """Does what the prompt says: the calls it orders, then a quotation of their results, else an echo.

    Thinks first when the request allows it, so that the conversation is bound from then on.
    """
    body = request.body
    thought = [thinking("doing as told")] if (body.get("thinking") or {}).get("type") in ("adaptive", "enabled") else []
    prompt = prompt_of(body)
    if prompt.startswith(COMPACTION):
        return {"blocks": [text("<summary>the conversation so far</summary>")]}
    results = results_of(body)
    if results:
        quoted = "\n".join(f"result: {found[:QUOTED_CHARS]}" for found in results)
        return {"blocks": [*thought, text(quoted)]}
    calls = calls_in(prompt)
    if calls:
        return {"blocks": [*thought, *calls]}
    return {"blocks": [*thought, text(f"heard: {prompt[:HEARD_CHARS]}")]}
