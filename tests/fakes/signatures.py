"""Thinking signatures: each is minted for the conversation before it and fails once that conversation changed.

The fake's signature holds, in the clear, what the real one holds sealed: the model, the account, a hash
of `system`, of the set of `tools` and of every earlier message, and the signature before it.
Ignored differences: cache markers, string or single block, white space round a text, key order, tool
order, deferred tools nothing has referenced yet.
"""

from __future__ import annotations

import base64
import hashlib
import json
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from tests.fakes.conversation import THINKING, Block, billed_system, blocks_of, referenced_tools, turns, unmarked
from tests.fakes.models import Model, find
from tests.fakes.refusal import Refusal

BETA = "thinking-binding-controls-2026-08-01"
SEAL = "fake-seal"
DIGEST_CHARS = 16
RENDER = json.JSONEncoder(sort_keys=True).encode
Place = tuple[int, int]  # message, block
CHANGES = {
    "system": "The `system` prompt differs from the one this block was created with.",
    "tools": "The `tools` differ from the ones this block was created with.",
    "messages": "The messages before this block differ from the ones it was created with.",
    "previous": "The `thinking` block that preceded this one when it was created is missing from this request.",
}


@dataclass
class Prefix:
    """Hashes of the three parts of a conversation that a signature is bound to."""

    system: str
    tools: str
    messages: str


def digest(value: Any) -> str:
    """A short hash of a JSON value; key order does not count."""
    return hashlib.sha256(RENDER(value).encode()).hexdigest()[:DIGEST_CHARS]


def trimmed(block: Block) -> Block | None:
    """The block as binding sees it; None for what it does not see (thinking, blank text)."""
    if block.get("type") in THINKING:
        return None
    plain: Block = {key: value for key, value in unmarked(block).items() if value is not None}
    if plain.get("type") == "text":
        plain["text"] = str(plain.get("text", "")).strip()
        return plain if plain["text"] else None
    if plain.get("type") == "tool_result":
        plain["content"] = [kept for inner in plain["content"] if (kept := trimmed(inner)) is not None]
    return plain


def prefix(body: Block, before: Place) -> Prefix:
    """The hashes of what stands before a (message, block) place, counted from the last compaction block."""
    return prefixes(body, [before])[before]


def prefixes(body: Block, places: Iterable[Place]) -> dict[Place, Prefix]:
    """The prefix at each place, in one pass: the place of a block, or the one behind a message's last."""
    system = digest([kept for block in billed_system(body.get("system")) if (kept := trimmed(block)) is not None])
    referenced: set[str] = set()
    tools = tools_digest(body, referenced)
    running = hashlib.sha256()
    wanted = set(places)
    found: dict[Place, Prefix] = {}
    for index, message in enumerate(body["messages"]):
        blocks = blocks_of(message["content"])
        for position, block in enumerate([*blocks, None]):
            if (index, position) in wanted:
                found[index, position] = Prefix(system, tools, running.hexdigest()[:DIGEST_CHARS])
            if block is None:
                continue
            if block.get("type") == "compaction" and block.get("content") is not None:
                running, referenced = hashlib.sha256(), set()
                tools = tools_digest(body, referenced)
            kept = trimmed(block)
            if kept is None:
                continue
            running.update(RENDER([message["role"], kept]).encode())
            new = referenced_tools([kept]) - referenced
            if new:
                referenced |= new
                tools = tools_digest(body, referenced)
    return found


def tools_digest(body: Block, referenced: set[str]) -> str:
    """The hash of the tools that the model knows of: deferred ones once they were referenced."""
    tools = [
        {key: value for key, value in tool.items() if key not in ("cache_control", "defer_loading")}
        for tool in body.get("tools") or []
        if not tool.get("defer_loading") or tool.get("name") in referenced
    ]
    return digest(sorted(tools, key=lambda tool: str(tool.get("name"))))


def seal(claims: dict[str, Any]) -> str:
    """The check value that makes an invented signature fail."""
    return digest([SEAL, claims])


def opened(signature: str) -> dict[str, Any] | None:
    """What a signature claims; None when it was not minted by this fake or was altered."""
    try:
        claims = json.loads(base64.b64decode(signature[4:], validate=True)) if signature.startswith("FAKE") else None
    except ValueError:
        return None
    if not isinstance(claims, dict) or claims.pop("seal", None) != seal(claims):
        return None
    return claims


def signature_of(block: Block) -> str:
    """The signature of a thinking block; a redacted one carries it as its data."""
    return str(block.get("signature" if block["type"] == "thinking" else "data") or "")


class Signatures:
    """Mints signatures for one account and checks those that come back; safe to use from several threads."""

    def __init__(self, models: dict[str, Model], account: str = "org_fake", new_account: bool = True) -> None:
        self.models = models
        self.account = account
        self.new_account = new_account
        self.responses: dict[str, list[str]] = {}
        self.minted = 0
        self.lock = threading.Lock()

    def mint(self, body: Block, model: Model, blocks: list[Block], text: str, dropped: set[Place]) -> str:
        """The signature of a thinking block that follows `blocks` in the answer to `body`."""
        messages = [*body["messages"], {"role": "assistant", "content": blocks}]
        bound = prefix({**body, "messages": messages}, (len(messages) - 1, len(blocks)))
        with self.lock:
            self.minted += 1
            nth = self.minted
        claims = {
            "model": model.name,
            "account": self.account,
            "system": bound.system,
            "tools": bound.tools,
            "messages": bound.messages,
            "previous": digest(self.last(messages, dropped)),
            "text": digest(text) if text else "",
            "nth": nth,
        }
        raw = json.dumps({**claims, "seal": seal(claims)}).encode()
        signature = "FAKE" + base64.b64encode(raw).decode()
        # The blocks before it in the same answer belong to the same group: none may go missing alone.
        with self.lock:
            group = next((self.responses[signature_of(b)] for b in blocks if b["type"] in THINKING), [])
            group.append(signature)
            self.responses[signature] = group
        return signature

    def last(self, messages: list[Block], dropped: set[Place]) -> str:
        """The last signature that the model is shown; "" when there is none."""
        found = ""
        for index, message in enumerate(messages):
            for position, block in enumerate(blocks_of(message["content"])):
                if block.get("type") in THINKING and (index, position) not in dropped:
                    found = signature_of(block)
        return found

    def check(self, body: Block, model: Model, betas: set[str]) -> tuple[list[dict[str, str]], set[Place]]:
        """The input_transformations of a request and the places of the blocks that binding dropped.

        Raises Refusal for an altered or invented block and, where binding is enforced, for the first
        block whose conversation changed.
        """
        thinking = body.get("thinking") or {}
        behaviour = (thinking.get("block_binding") or {}).get("prefix_mismatch_behavior")
        enforced = model.bound and (model.bound_for_all or self.new_account or behaviour is not None)
        found = [
            (block, place)
            for turn in turns(body["messages"])
            for block, place in zip(turn.blocks, turn.places)
            if turn.role == "assistant" and block.get("type") in THINKING
        ]
        self.untouched(body, found, model)
        changes: list[dict[str, str]] = []
        dropped: set[Place] = set()
        previous: str | None = None
        bound = prefixes(body, [place for _, place in found]) if model.bound else {}
        for block, place in found:
            claims = opened(signature_of(block)) or {}
            path = "messages.{}.content.{}".format(*place)
            writer = find(claims["model"], self.models)
            if writer is not None and not model.reads(writer):
                changes.append({"type": "thinking_dropped", "path": path, "reason": "model_binding_mismatch"})
                previous = signature_of(block)
                continue
            change = self.change(claims, bound[place], previous) if model.bound else None
            if change and enforced and behaviour != "drop_block":
                raise mismatch(path, block["type"], change, BETA in betas)
            if change and enforced:
                changes.append({"type": "thinking_dropped", "path": path, "reason": "prefix_binding_mismatch"})
                dropped.add(place)
                continue
            if change:
                changes.append({"type": "thinking_mismatch_allowed", "path": path, "reason": "prefix_binding_mismatch"})
            previous = signature_of(block)
        return (changes if BETA in betas else []), dropped

    def change(self, claims: dict[str, Any], now: Prefix, previous: str | None) -> str | None:
        """Which part of the conversation differs from the one in the claims; None when nothing does."""
        for part in ("system", "tools", "messages"):
            if claims[part] != getattr(now, part):
                return part
        # The first block left may have lost those before it: a run removed from the front is allowed.
        if previous is not None and claims["previous"] != digest(previous):
            return "previous"
        return None

    def untouched(self, body: Block, found: list[tuple[Block, Place]], model: Model) -> None:
        """Raises Refusal when a block was altered, or a part of the newest answer's thinking is gone."""
        newest = max((i for i, m in enumerate(body["messages"]) if m["role"] == "assistant"), default=-1)
        in_newest = [signature_of(block) for block, place in found if place[0] == newest]
        for block, place in found:
            path = "messages.{}.content.{}".format(*place)
            claims = opened(signature_of(block))
            text = str(block.get("thinking") or "")
            altered = claims is not None and claims["text"] and text and claims["text"] != digest(text)
            group = self.responses.get(signature_of(block), [])
            partial = place[0] == newest and [s for s in in_newest if s in group] != group and bool(group)
            # A hole is named by the binding check where there is one; older models only know this text.
            if (altered and place[0] == newest) or (partial and not model.bound):
                raise Refusal(
                    f"{path}: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be "
                    "modified. These blocks must remain as they were in the original response."
                )
            if claims is None or altered:
                kind = "`signature` in `thinking`" if block["type"] == "thinking" else "data in `redacted_thinking`"
                raise Refusal(f"{path}: Invalid {kind} block")


def mismatch(path: str, kind: str, change: str, controls: bool) -> Refusal:
    """The refusal of a block that belongs to another conversation."""
    text = (
        f"{path}: Invalid `signature` in `thinking` block. The block is bound to a different conversation. Remove "
        'the block, or set `thinking.block_binding.prefix_mismatch_behavior` to "drop_block".'
    )
    if not controls:
        text += f" That setting requires the `{BETA}` value in the `anthropic-beta` header."
    pointer = f"block={path}; kind={kind}; pattern={change}"
    return Refusal(f"{text} {CHANGES[change]}", headers={"anthropic-thinking-prefix-mismatch": pointer})
