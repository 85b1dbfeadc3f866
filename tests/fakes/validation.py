"""The order in which the Messages API refuses a request, with its texts.

Texts no public source shows are marked `ours`. Rules of the conversation itself are in message_rules and
tool_rules; thinking bound to a changed conversation is refused last, by signatures.
"""

from __future__ import annotations

import gzip
import json
import re
import zlib
from email.message import Message
from typing import Any

from tests.fakes import message_rules, prompt_cache, tool_rules
from tests.fakes.conversation import Block, all_blocks, blocks_of
from tests.fakes.media import check_images
from tests.fakes.models import Model, find
from tests.fakes.refusal import Refusal

MAX_BODY_BYTES = 32 * 1024 * 1024
MAX_MESSAGES = 100_000
VERSIONS = ("2023-06-01", "2026-10-21")
FIELDS = frozenset(
    "model messages max_tokens cache_control container inference_geo metadata output_config service_tier "
    "stop_sequences stream system temperature thinking tool_choice tools top_k top_p".split()
)
# Field -> start of the beta value that opens it.
BETA_FIELDS = {
    "billing_policy": "",
    "compaction": "compact-2026-09-04",
    "context_management": "context-management-|compact-2026-01-12",
    "diagnostics": "cache-diagnosis-",
    "fallback_credit_token": "fallback-credit-",
    "fallbacks": "server-side-fallback-",
    "mcp_servers": "mcp-client-",
    "safeguards": "dangerous-tool-use-",
    "speed": "fast-mode-",
    "thread": "message-threads-",
}
# Known beta values without their date, from the SDK and from what Claude Code sends.
BETAS = frozenset(
    "advanced-tool-use advisor-tool afk-mode auto-mode-classifier cache-diagnosis claude-code claude-code-side-query "
    "code-execution compact computer-use context-1m context-management dangerous-tool-use dev-full-thinking effort "
    "extended-cache-ttl fallback-credit fast-mode files-api fine-grained-tool-streaming inline-tools "
    "interleaved-thinking mcp-client message-batches message-threads mid-conversation-output-config "
    "mid-conversation-system mid-conversation-system-clear-at mid-conversation-tool-changes "
    "model-context-window-exceeded oauth output-128k output-300k pdfs per-turn-control prompt-caching "
    "prompt-caching-scope redact-thinking server-side-fallback skills structured-outputs subagent-review task-budgets "
    "thinking-binding-controls thinking-display-updates thinking-token-count token-counting token-efficient-tools "
    "tool-search-tool web-fetch user-profiles".split()
)
DATED_BETA = re.compile(r"^(.+)-20\d\d-?\d\d-?\d\d$")
BINDING_BETA = "thinking-binding-controls-2026-08-01"


def betas_of(headers: Message) -> set[str]:
    """The values of the anthropic-beta header."""
    return {value.strip() for value in (headers.get("anthropic-beta") or "").split(",") if value.strip()}


def envelope(headers: Message, raw: bytes, counting: bool) -> Block:
    """The body of a request that may be read at all: credentials, encoding, size, version, betas, fields."""
    if not headers.get("x-api-key") and not (headers.get("authorization") or "").startswith("Bearer "):
        raise Refusal("x-api-key header is required", 401)
    body = decoded(headers.get("content-encoding"), raw)
    version = headers.get("anthropic-version")
    if not version:
        raise Refusal("anthropic-version: header is required")
    if version not in VERSIONS:
        raise Refusal(f"anthropic-version: {version!r} is not a valid version")
    betas = betas_of(headers)
    for value in sorted(betas):
        name = DATED_BETA.match(value)
        if name is None or name.group(1) not in BETAS:
            raise Refusal(f"Unexpected value(s) `{value}` for the `anthropic-beta` header.")
    for field in ("model", "messages") if counting else ("model", "messages", "max_tokens"):
        if field not in body:
            raise Refusal(f"{field}: Field required")
    for field in body:
        gates = BETA_FIELDS.get(field)
        opened = gates is not None and any(beta.startswith(gate) for gate in gates.split("|") for beta in betas)
        if field not in FIELDS and not opened or counting and field in ("max_tokens", "stream"):
            raise Refusal(f"{field}: Extra inputs are not permitted")
    if version == "2026-10-21":
        for field in ("temperature", "top_p", "top_k"):
            if field in body:
                raise Refusal(f"{field}: Extra inputs are not permitted")  # ours
    return body


def decoded(encoding: str | None, raw: bytes) -> Block:
    """The JSON object of a request, decompressed."""
    if encoding and encoding != "identity":
        if encoding not in ("gzip", "deflate"):
            text = f"content-encoding {encoding} is not supported"
            raise Refusal(text, code="request_body_encoding_unsupported")
        try:
            raw = gzip.decompress(raw) if encoding == "gzip" else zlib.decompress(raw)
        except (OSError, EOFError, zlib.error):
            text = f"the request body is not valid {encoding}"
            raise Refusal(text, code="request_body_encoding_invalid") from None
    if len(raw) > MAX_BODY_BYTES:
        raise Refusal("Request exceeds the maximum size", 413)
    try:
        body = json.loads(raw.decode("utf-8"))
    except ValueError:
        raise Refusal("The request body is not valid JSON") from None
    if not isinstance(body, dict):
        raise Refusal("The request body is not valid JSON: expected an object")
    return body


def check(headers: Message, body: Block, models: dict[str, Model]) -> Model:
    """The model of a request that may be answered; raises Refusal with the first rule it breaks."""
    model = find(str(body["model"]), models)
    if model is None:
        raise Refusal(f"model: {body['model']}", 404)
    betas = betas_of(headers)
    check_parameters(body, model, betas)
    check_tools(body)
    if body.get("system") == "":
        raise Refusal("system: text content blocks must contain non-whitespace text")
    for index, block in enumerate(blocks_of(body.get("system"))):
        if block.get("type") != "text":
            raise Refusal(f"system.{index}.type: Input should be 'text'")
        if not str(block.get("text", "")).strip():
            raise Refusal("system: text content blocks must contain non-whitespace text")
    message_rules.check_messages(body, model, betas, headers.get("anthropic-version") or "")
    tool_rules.check_pairs(body["messages"])
    tool_rules.check_server_pairs(body["messages"])
    message_rules.check_ending(body, model)
    check_markers(body)
    check_images(body["messages"], model)
    tokens = prompt_cache.count_tokens(body)
    if tokens > model.window:
        raise Refusal(f"prompt is too long: {tokens} tokens > {model.window} maximum")
    return model


def check_parameters(body: Block, model: Model, betas: set[str]) -> None:
    """Everything outside tools, system and messages."""
    most = body.get("max_tokens", 1)
    if not isinstance(most, int) or isinstance(most, bool) or most < 0:
        raise Refusal("max_tokens: Input should be a valid integer greater than or equal to 0")
    if most > model.max_output:
        raise Refusal(f"max_tokens: {most} > {model.max_output}, which is the maximum allowed number of output tokens for {model.name}")
    for field, default in (("temperature", 1), ("top_p", 1), ("top_k", None)):
        if not model.sampling and body.get(field, default) != default:
            raise Refusal(f"{field}: only the default value is supported for this model.")  # ours
    check_thinking(body, model, betas)
    choice = body.get("tool_choice") or {}
    if choice.get("type") in ("any", "tool") and not model.forced_tools:
        raise Refusal('tool_choice: type "tool" and "any" are not supported for this model.')
    if most == 0:
        clashes = {
            "stream": body.get("stream"),
            "thinking.type": (body.get("thinking") or {}).get("type") == "enabled",
            "output_config.format": (body.get("output_config") or {}).get("format"),
            "tool_choice": choice.get("type") in ("any", "tool"),
            "compaction": body.get("compaction"),
        }
        for field, present in clashes.items():
            if present:
                raise Refusal(f"max_tokens: 0 cannot be combined with `{field}`")  # ours


def check_thinking(body: Block, model: Model, betas: set[str]) -> None:
    """The thinking parameter of a model."""
    thinking = body.get("thinking")
    if thinking is None:
        return
    kind = thinking.get("type")
    if kind not in ("enabled", "disabled", "adaptive", "between_tools"):
        raise Refusal(f"thinking: Input tag '{kind}' found using 'type' does not match any of the expected tags")
    if kind == "enabled" and not model.manual_thinking:
        raise Refusal(
            '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.'
        )
    if kind == "adaptive" and not model.adaptive_thinking:
        raise Refusal('"thinking.type.adaptive" is not supported for this model.')
    if kind == "enabled":
        budget = thinking.get("budget_tokens")
        if not isinstance(budget, int) or budget < 1024:
            raise Refusal("thinking.enabled.budget_tokens: Input should be greater than or equal to 1024")
        if "max_tokens" in body and budget >= body["max_tokens"] and not any("interleaved" in beta for beta in betas):
            raise Refusal("`max_tokens` must be greater than `thinking.budget_tokens`.")
    effort = (body.get("output_config") or {}).get("effort")
    if kind == "disabled" and effort in ("xhigh", "max") and model.version >= 5 and model.family == "opus":
        raise Refusal(f'thinking.type "disabled" is not supported with effort "{effort}"')  # ours
    if "block_binding" in thinking:
        if BINDING_BETA not in betas:
            raise Refusal(f"thinking.{kind}.block_binding: Extra inputs are not permitted")
        if kind not in ("adaptive", "enabled"):
            raise Refusal(f"thinking.{kind}.block_binding: Extra inputs are not permitted")


def check_tools(body: Block) -> None:
    """The tool definitions."""
    names: set[str] = set()
    tools = body.get("tools") or []
    for index, tool in enumerate(tools):
        name = tool.get("name")
        if not name and tool.get("type") in (None, "custom"):
            raise Refusal(f"tools.{index}.custom.name: Field required")
        if name in names:
            raise Refusal("tools: Tool names must be unique.", code="tool_name_conflict")
        names.add(str(name))
        if tool.get("type") in (None, "custom"):
            if not isinstance(tool.get("input_schema"), dict):
                raise Refusal(f"tools.{index}.custom.input_schema: Field required")
            if tool["input_schema"].get("type") != "object":
                raise Refusal(f"tools.{index}.custom.input_schema.type: Input should be 'object'")
        if tool.get("defer_loading") and tool.get("cache_control"):
            raise Refusal(f"tools.{index}: cache_control cannot be set on a tool with defer_loading")  # ours
    if tools and all(tool.get("defer_loading") for tool in tools):
        raise Refusal("tools: at least one tool must not have defer_loading set")  # ours


def check_markers(body: Block) -> None:
    """Cache markers: at most four, the longer lifetime first, only where they may stand."""
    marked: list[tuple[str, Any]] = []
    for index, tool in enumerate(body.get("tools") or []):
        marked.append((f"tools.{index}", tool))
    for index, block in enumerate(blocks_of(body.get("system"))):
        marked.append((f"system.{index}", block))
    marked.extend(all_blocks(body["messages"]))
    marked = [(path, block) for path, block in marked if block.get("cache_control")]
    if body.get("cache_control"):
        last = marked[-1][1] if marked else {}
        ending = blocks_of(body["messages"][-1]["content"])[-1:]
        if ending and last is ending[0] and lifetime(last) != lifetime(body):
            raise Refusal("cache_control: the last block has a cache_control with a different ttl")  # ours
        marked.append(("cache_control", body))
    if len(marked) > 4:
        raise Refusal(f"A maximum of 4 blocks with cache_control may be provided. Found {len(marked)}.")
    short = False
    for path, block in marked:
        if block["cache_control"].get("type") != "ephemeral":
            raise Refusal(f"{path}.cache_control.type: Input should be 'ephemeral'")
        if lifetime(block) == "1h" and short:
            raise Refusal(
                f"{path}.cache_control.ttl: a ttl='1h' cache_control block must not come after a ttl='5m' "
                "cache_control block. Note that blocks are processed in the following order: `tools`, `system`, "
                "`messages`."
            )
        short = short or lifetime(block) == "5m"


def lifetime(block: Block) -> str:
    """The ttl of a marker; a bare one is 5m."""
    return str(block["cache_control"].get("ttl") or "5m")
