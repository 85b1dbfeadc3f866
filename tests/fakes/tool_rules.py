"""How calls and results pair: a turn's results are the unbroken run of tool_result blocks that opens the next one."""

from __future__ import annotations

from tests.fakes.conversation import Block, Turn, turns
from tests.fakes.refusal import Refusal

ORPHAN = (
    "messages.{}.content.{}: unexpected `tool_use_id` found in `tool_result` blocks: {}. Each `tool_result` block must "
    "have a corresponding `tool_use` block in the previous message."
)
UNANSWERED = (
    "messages.{}: `tool_use` ids were found without `tool_result` blocks immediately after: {}. Each `tool_use` block "
    "must have a corresponding `tool_result` block in the next message."
)
SERVER_ORPHAN = (
    "messages.{}.content.{}: unexpected `tool_use_id` found in `{}` blocks: {}. Each `{}` block must have a corresponding `server_tool_use` block before it."
)


def check_pairs(messages: list[Block]) -> None:
    """Raises Refusal for a client tool call without its result, and for a result without its call."""
    whole = turns(messages)
    for index, turn in enumerate(whole):
        calls = [block["id"] for block in turn.blocks if block["type"] == "tool_use"]  # only assistants have any
        if turn.role == "user":
            previous = whole[index - 1] if index else None
            check_results(turn, previous)
        if not calls:
            continue
        after = whole[index + 1] if index + 1 < len(whole) else None
        answered = leading_results(after) if after is not None and after.role == "user" else []
        missing = [call for call in calls if call not in answered]
        # An id nobody asked for is reported before the call that stays without an answer.
        if after is not None and after.role == "user":
            check_results(after, turn)
        if missing:
            raise Refusal(UNANSWERED.format(turn.first, ", ".join(missing)))


def leading_results(turn: Turn) -> list[str]:
    """The ids of the results before the first block that is none."""
    ids: list[str] = []
    for block in turn.blocks:
        if block["type"] != "tool_result":
            break
        ids.append(block["tool_use_id"])
    return ids


def check_results(turn: Turn, previous: Turn | None) -> None:
    """Every result of a user turn answers one call of the assistant turn before it, once."""
    calls: set[str] = set()
    if previous is not None and previous.role == "assistant":
        calls = {block["id"] for block in previous.blocks if block["type"] == "tool_use"}
    seen: set[str] = set()
    for block, place in zip(turn.blocks, turn.places):
        if block["type"] != "tool_result":
            continue
        wanted = block["tool_use_id"]
        if wanted not in calls:
            raise Refusal(ORPHAN.format(*place, wanted))
        if wanted in seen:
            raise Refusal(
                "messages.{}.content.{}: each tool_use must have a single result. Found multiple `tool_result` blocks with id: {}".format(*place, wanted)
            )
        seen.add(wanted)


def check_server_pairs(messages: list[Block]) -> None:
    """Raises Refusal for a server tool result without its call and for a call that a user turn leaves open."""
    waiting: dict[str, str] = {}
    for turn in turns(messages):
        if turn.role == "user":
            only_results = all(block["type"] == "tool_result" for block in turn.blocks)
            if waiting and not only_results:
                wanted, name = next(iter(waiting.items()))
                raise Refusal(f"messages.{turn.first}: `{name}` tool use with id `{wanted}` was found without a corresponding `{name}_tool_result` block")
        if turn.role != "assistant":
            continue
        for block, place in zip(turn.blocks, turn.places):
            kind = block["type"]
            if kind == "server_tool_use":
                waiting[str(block.get("id"))] = str(block.get("name"))
            elif kind.endswith("_tool_result") and kind != "mcp_tool_result":
                wanted = str(block.get("tool_use_id"))
                if wanted not in waiting:
                    raise Refusal(SERVER_ORPHAN.format(*place, kind, wanted, kind))
                del waiting[wanted]
