"""Which requests are conversations that may be rewritten, and in a few words why the others are relayed as they came.

In doubt a request is relayed: what is not plainly a turn of a main conversation keeps every byte.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tenon.wire.body import Body

SESSION = "x-claude-code-session-id"
AGENT = "x-claude-code-agent-id"  # on requests of sub-agents only
FOLDER = re.compile(r"working directory: ([^\n]+)", re.IGNORECASE)
LOOKED_AT = 3  # messages in which Claude Code may say where it works


def relayed(target: str, headers: Mapping[str, str]) -> str:
    """Why a request is relayed without a look at its body, or «» when it is a message of a main conversation."""
    path = target.split("?", 1)[0]
    if path.endswith("/v1/messages/count_tokens"):
        return "token count"  # it must show the client what the client holds
    if not path.endswith("/v1/messages"):
        return "not a message"
    if headers.get("content-encoding", "identity") != "identity":
        return "compressed request"
    return "sub-agent" if AGENT in headers else ""


def unsuited(body: Body, claude: bool) -> str:
    """Why a readable request is relayed all the same, or «». `claude` says that Claude Code sent it."""
    messages = body.messages
    if not messages or messages[0].role != "user":
        return "no conversation"
    if "thread" in body.spans:
        return "thread held by the server"
    if "compaction" in body.spans or any(_has(message.value, "compaction") for message in messages):
        return "compacted by the server"
    management = body.field("context_management")
    edits = management.get("edits") if isinstance(management, dict) else None
    if isinstance(edits, list) and any(str(each.get("type")).startswith("compact") for each in edits if isinstance(each, dict)):
        return "compacted by the server"  # what stands in front would count for its trigger
    if claude:
        if not body.field("tools"):
            return "side request"
        shape = body.field("output_config")
        if isinstance(shape, dict) and shape.get("format"):
            return "side request"
    return ""


def folders(body: Body) -> tuple[str, list[str]]:
    """The folder that Claude Code says it works in, «» when it says none, and every folder that is named as one at the beginning.

    A project's file or the user's words may name others: they never decide what a request belongs to, but whoever leaves a
    folder out leaves out a request with any of them.
    """
    beginning = [body.whole(number) for number in range(min(LOOKED_AT, len(body.messages)))]
    said = _named(message.get("content") for message in beginning if message.get("role") == "user")
    own = _named([body.field("system"), *(message.get("content") for message in beginning if message.get("role") == "system")])
    return own[-1] if own else "", [*said, *own]


def _named(places: Iterable[object]) -> list[str]:
    found: list[str] = []
    for place in places:
        for block in place if isinstance(place, list) else [{"text": place}]:
            text = block.get("text") if isinstance(block, dict) else None
            if isinstance(text, str):
                found += [match.strip() for match in FOLDER.findall(text)]
    return found


def thinks_adaptively(body: Body) -> bool:
    """Whether thinking may be left out of an open tool loop: everywhere but in the manual mode of older models."""
    thinking = body.field("thinking")
    return not (isinstance(thinking, dict) and thinking.get("type") == "enabled")


def is_prompt(value: object) -> bool:
    """Whether a message is a user's own words: no tool results, also none with a reminder beside them."""
    if not isinstance(value, dict) or value.get("role") != "user":
        return False
    content = value.get("content")
    if isinstance(content, str):
        return True
    return isinstance(content, list) and bool(content) and not _has(value, "tool_result")


def newest_prompt(body: Body, least: int) -> int:
    """The index of the newest message that is a prompt, or `least` when none from there on is."""
    for number in range(len(body.messages) - 1, least - 1, -1):
        if is_prompt(body.messages[number].value):
            return number
    return least


def _has(value: object, kind: str) -> bool:
    content = value.get("content") if isinstance(value, dict) else None
    return isinstance(content, list) and any(isinstance(block, dict) and block.get("type") == kind for block in content)
