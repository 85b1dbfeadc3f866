"""What the API demands of `messages`: roles and their order, and the blocks each role may hold."""

from __future__ import annotations

import re

from tests.fakes.conversation import THINKING, Block, blocks_of, referenced_tools, turns
from tests.fakes.models import Model
from tests.fakes.refusal import Refusal

ID = re.compile(r"^[a-zA-Z0-9_-]+$")
MESSAGE_KEYS = {"user": {"role", "content"}, "assistant": {"role", "content"}}
MESSAGE_KEYS["system"] = {"role", "content", "output_config", "clear_at"}
SHARED = {"text", "document", "search_result", "container_upload", "connector_text"}
ALLOWED = {
    "user": SHARED | {"image", "tool_result"},
    "assistant": SHARED | {"thinking", "redacted_thinking", "tool_use", "server_tool_use", "mcp_tool_use", "mcp_tool_listing"} | {"compaction", "fallback"},
    "system": {"text", "tool_addition", "tool_removal"},
}
# Only the blocks a rewriting proxy makes or copies are checked key by key; others are carried opaquely.
BLOCK_KEYS = {
    "text": {"type", "text", "cache_control", "citations"},
    "thinking": {"type", "thinking", "signature"},
    "redacted_thinking": {"type", "data"},
    "tool_use": {"type", "id", "name", "input", "cache_control", "caller", "toolset_name"},
    "tool_result": {"type", "tool_use_id", "content", "is_error", "cache_control", "toolset_name"},
}
IN_RESULT = {"text", "image", "document", "search_result", "tool_reference", "browser_state"}


def check_messages(body: Block, model: Model, betas: set[str], version: str) -> None:
    """Raises Refusal for the first message that breaks a rule of its own."""
    messages = body["messages"]
    if not isinstance(messages, list) or not messages:
        raise Refusal("messages: at least one message is required")
    if len(messages) > 100_000:
        raise Refusal("messages: at most 100000 messages are allowed")
    for index, message in enumerate(messages):
        check_role(index, message, betas)
    check_first(messages[0])
    check_system_places(messages, model)
    used: set[str] = set()
    for index, message in enumerate(messages):
        if message["role"] == "user" and not message["content"]:
            raise Refusal(f"messages.{index}: user messages must have non-empty content")
        for position, block in enumerate(blocks_of(message["content"])):
            check_block(f"messages.{index}.content.{position}", block, message["role"], version)
            if block["type"] == "tool_use":
                if block["id"] in used:
                    raise Refusal(f"messages.{index}.content.{position}: `tool_use` ids must be unique")
                used.add(block["id"])
        if message.get("clear_at") and any("cache_control" in block for block in blocks_of(message["content"])):
            raise Refusal(f"messages.{index}: cache_control cannot be set with clear_at")  # ours
    check_references(body)
    check_compaction(messages)


def check_role(index: int, message: Block, betas: set[str]) -> None:
    """Role, content and keys of one message."""
    role = message.get("role")
    if role not in MESSAGE_KEYS:
        raise Refusal(f"messages.{index}.role: Input should be 'user', 'assistant' or 'system'")
    if "content" not in message:
        raise Refusal(f"messages.{index}.content: Field required")
    if not isinstance(message["content"], (str, list)):
        raise Refusal(f"messages.{index}.content: Input should be a valid list")
    for key in message:
        if key not in MESSAGE_KEYS[role]:
            raise Refusal(f"messages.{index}.{key}: Extra inputs are not permitted")
    gates = {
        "clear_at": ("mid-conversation-system-clear-at-",),
        "output_config": ("per-turn-control-", "mid-conversation-output-config-"),
    }
    for key, gate in gates.items():
        if key in message and not any(beta.startswith(gate) for beta in betas):
            raise Refusal(f"messages.{index}.{key}: Extra inputs are not permitted")
    if role == "system" and not message["content"] and not message.get("output_config"):
        raise Refusal(f"messages.{index}: system messages must have non-empty content")  # ours


def check_first(message: Block) -> None:
    """The conversation starts with the user, or with a compaction block alone."""
    if message["role"] == "system":
        raise Refusal("messages.0: use the top-level 'system' parameter for the initial system prompt")
    alone = [block.get("type") for block in blocks_of(message["content"])] == ["compaction"]
    if message["role"] != "user" and not alone:
        raise Refusal('messages: first message must use the "user" role')


def check_system_places(messages: list[Block], model: Model) -> None:
    """A system section follows a user message and ends the array or precedes an assistant message."""
    for index, message in enumerate(messages):
        if message["role"] != "system":
            continue
        if not model.system_messages:
            raise Refusal(f"messages.{index}: role 'system' is not supported on this model")
        if not message["content"]:
            continue
        before = next(m for m in reversed(messages[:index]) if m["role"] != "system")
        after = next((m for m in messages[index:] if m["role"] != "system"), None)
        last = (blocks_of(before["content"]) or [{}])[-1]
        from_server = before["role"] == "assistant" and str(last.get("type")).endswith("_tool_result")
        if before["role"] != "user" and not from_server:
            raise Refusal(f"messages.{index}: role 'system' must follow a 'user' message")
        if after is not None and after["role"] != "assistant":
            raise Refusal(f"messages.{index}: role 'system' must precede an 'assistant' message or end the array")


def check_block(path: str, block: Block, role: str, version: str) -> None:
    """One content block."""
    kind = block.get("type") if isinstance(block, dict) else None
    if not isinstance(kind, str):
        raise Refusal(f"{path}.type: Field required")
    from_server = kind.endswith("_tool_result") and kind != "tool_result"
    if kind not in ALLOWED[role] and not (from_server and role == "assistant"):
        home = next((name for name in ("user", "assistant", "system") if kind in ALLOWED[name]), None)
        if home is None and not from_server:
            raise Refusal(f"{path}: Input tag '{kind}' found using 'type' does not match any of the expected tags")
        raise Refusal(f"{path}: `{kind}` blocks can only be in `{home or 'assistant'}` messages")
    for key in block:
        if kind in BLOCK_KEYS and key not in BLOCK_KEYS[kind]:
            raise Refusal(f"{path}.{kind}.{key}: Extra inputs are not permitted")
    if kind == "text":
        check_text(path, block, role, version)
    elif kind == "document" and role == "assistant" and version == "2026-10-21":
        raise Refusal(f"{path}: `document` blocks can only be in `user` messages")  # ours
    elif kind in THINKING:
        for key in ("thinking", "signature") if kind == "thinking" else ("data",):
            if not isinstance(block.get(key), str):
                raise Refusal(f"{path}.{kind}.{key}: Field required")
    elif kind == "tool_use":
        check_tool_use(path, block)
    elif kind == "tool_result":
        check_tool_result(path, block)


def check_text(path: str, block: Block, role: str, version: str) -> None:
    """A text block says something."""
    text = block.get("text")
    if not isinstance(text, str):
        raise Refusal(f"{path}.text.text: Field required")
    if not text.strip() and block.get("cache_control"):
        raise Refusal(f"{path}.text: cache_control cannot be set for empty text blocks")
    if not text:
        raise Refusal("messages: text content blocks must be non-empty")
    if not text.strip():
        raise Refusal("messages: text content blocks must contain non-whitespace text")
    if version == "2026-10-21" and role == "user" and block.get("citations"):
        raise Refusal(f"{path}.citations: Extra inputs are not permitted")  # ours


def check_tool_use(path: str, block: Block) -> None:
    """Id, name and input of a call."""
    for key in ("id", "name", "input"):
        if key not in block:
            raise Refusal(f"{path}.tool_use.{key}: Field required")
    if not isinstance(block["id"], str) or not ID.match(block["id"]):
        raise Refusal(f"{path}.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'")
    if not isinstance(block["input"], dict):
        raise Refusal(f"{path}.tool_use.input: Input should be a valid dictionary")


def check_tool_result(path: str, block: Block) -> None:
    """Id and content of a result; no content is an empty result."""
    if not isinstance(block.get("tool_use_id"), str):
        raise Refusal(f"{path}.tool_result.tool_use_id: Field required")
    content = block.get("content")
    if content is not None and not isinstance(content, (str, list)):
        raise Refusal(f"{path}.tool_result.content: Input should be a valid list")
    for position, inner in enumerate(content if isinstance(content, list) else []):
        if inner.get("type") not in IN_RESULT:
            raise Refusal(f"{path}.tool_result.content.{position}: Input tag '{inner.get('type')}' found using 'type' does not match any of the expected tags")
        if inner["type"] == "text" and not str(inner.get("text", "")).strip() and inner.get("cache_control"):
            place = f"{path}.tool_result.content.{position}.text"
            raise Refusal(f"{place}: cache_control cannot be set for empty text blocks")


def check_references(body: Block) -> None:
    """A tool brought in by name is among the tools."""
    known = {tool.get("name") for tool in body.get("tools") or []}
    blocks = [block for message in body["messages"] for block in blocks_of(message["content"])]
    for name in sorted(referenced_tools([block for block in blocks if block["type"] == "tool_result"])):
        if name not in known:
            raise Refusal(f"Tool reference '{name}' not found in available tools", code="tool_reference_unresolved")


def check_compaction(messages: list[Block]) -> None:
    """One signed compaction block at most, first and alone."""
    signed = [
        (index, len(blocks_of(message["content"])))
        for index, message in enumerate(messages)
        for block in blocks_of(message["content"])
        if block["type"] == "compaction" and block.get("signature")
    ]
    if len(signed) > 1:
        raise Refusal("messages: only one signed compaction block is allowed", code="compaction_block_ambiguous")
    if signed and signed[0] != (0, 1):
        raise Refusal("messages: the compaction block must come first and alone", code="compaction_block_misplaced")


def check_ending(body: Block, model: Model) -> None:
    """The last message, and the thinking a manual model wants at the start of an open tool loop."""
    whole = [turn for turn in turns(body["messages"]) if turn.role != "system"]
    last = whole[-1]
    if last.role == "assistant":
        final = last.blocks[-1] if last.blocks else {}
        if final.get("type") in THINKING:
            raise Refusal(f"The final block in an assistant message cannot be `{final['type']}`")
        paused = str(final.get("type")).endswith("_tool_result") or final.get("type") == "server_tool_use"
        if not model.prefill and not paused and final.get("type") != "compaction":
            raise Refusal("This model does not support assistant message prefill. The conversation must end with a user message.")
        if final.get("type") == "text" and final["text"] != final["text"].rstrip():
            raise Refusal("messages: final assistant content cannot end with trailing whitespace")
    thinking = body.get("thinking") or {}
    in_loop = last.role == "user" and any(block["type"] == "tool_result" for block in last.blocks)
    if thinking.get("type") == "enabled" and in_loop and len(whole) > 1:
        answer = whole[-2]
        found = answer.blocks[0]["type"] if answer.blocks else "nothing"
        if found not in THINKING:
            raise Refusal(
                f"messages.{answer.first}.content.0.type: Expected `thinking` or `redacted_thinking`, but found "
                f"`{found}`. When `thinking` is enabled, a final `assistant` message must start with a thinking block "
                "(preceeding the lastmost set of `tool_use` and `tool_result` blocks)."
            )
