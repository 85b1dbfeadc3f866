"""The prompt cache: which part of a request was read, written or paid in full, by the published rules.

The key is the exact rendered prefix (`tools`, `system`, `messages`), hashed block by block. Entries are
written at markers only and found from a marker at most twenty positions back. Token counts are estimates.
"""

from __future__ import annotations

import hashlib
import json
import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.fakes.conversation import THINKING, Block, billed_system, blocks_of, unmarked
from tests.fakes.models import Model

LOOK_BACK = 20
LIFETIME_S = {"5m": 300.0, "1h": 3600.0}
PROSE_CHARS_PER_TOKEN = 3.6
CODE_CHARS_PER_TOKEN = 2.7
BLOCK_TOKENS = 2
RENDER = json.JSONEncoder(ensure_ascii=False).encode


@dataclass
class Unit:
    """One block of the rendered prompt: its place in the hash, its size, and the marker on it."""

    level: str
    kind: str
    rendered: str
    tokens: int
    ttl: str | None


@dataclass
class Entry:
    """A written prefix and when it may be read, in seconds."""

    ttl: str
    readable_from: float
    expires: float


def count_tokens(body: Block) -> int:
    """The estimated input tokens of a request."""
    return sum(unit.tokens for unit in units(body))


def units(body: Block) -> list[Unit]:
    """The blocks of a request in cache order."""
    result = [unit("tools", "", tool) for tool in body.get("tools") or [] if not tool.get("defer_loading")]
    result += [unit("system", "", block) for block in billed_system(body.get("system"))]
    for message in body["messages"]:
        result += [unit("messages", message["role"], block) for block in blocks_of(message["content"])]
    if body.get("cache_control"):
        for candidate in reversed(result):
            if candidate.kind not in THINKING:
                candidate.ttl = candidate.ttl or str(body["cache_control"].get("ttl") or "5m")
                break
    return result


def unit(level: str, role: str, block: Block) -> Unit:
    """One block as a unit; a marker inside a tool result counts as one on the result."""
    markers = [block.get("cache_control")]
    if block.get("type") == "tool_result":
        markers += [inner.get("cache_control") for inner in blocks_of(block.get("content"))]
    marker = next((found for found in reversed(markers) if found), None)
    plain = unmarked(block)
    # Keys of a block are rendered by the API, those of a tool's input are the model's own text.
    rendered = RENDER([role, sorted(plain.items())])
    kind = str(block.get("type", ""))
    if kind == "text":
        tokens = math.ceil(len(block["text"]) / PROSE_CHARS_PER_TOKEN)
    elif kind in THINKING:
        tokens = math.ceil(len(str(block.get("thinking") or "")) / PROSE_CHARS_PER_TOKEN)
    elif kind == "image":
        tokens = 1300
    else:
        tokens = math.ceil(len(rendered) / CODE_CHARS_PER_TOKEN)
    ttl = str(marker.get("ttl") or "5m") if marker else None
    return Unit(level, kind, rendered, tokens + BLOCK_TOKENS, ttl)


def seeds(body: Block, model: Model, workspace: str) -> dict[str, Any]:
    """What beside the blocks decides each level's key."""
    kinds = [str(tool.get("type", "")) for tool in body.get("tools") or []]
    images = any(
        inner.get("type") == "image"
        for message in body["messages"]
        for block in blocks_of(message["content"])
        for inner in [block, *(blocks_of(block.get("content")) if block.get("type") == "tool_result" else [])]
    )
    effort = (body.get("output_config") or {}).get("effort")
    thinking = {k: v for k, v in (body.get("thinking") or {}).items() if k in ("type", "budget_tokens")}
    return {
        "tools": [workspace, model.name],
        "system": [body.get("speed"), any(kind.startswith("web_search") for kind in kinds)],
        "messages": [body.get("tool_choice"), images, thinking, effort],
    }


class PromptCache:
    """The entries of one workspace; safe to use from several threads."""

    def __init__(self, clock: Callable[[], float] = time.monotonic, workspace: str = "default") -> None:
        self.clock = clock
        self.workspace = workspace
        self.entries: dict[str, Entry] = {}
        self.lock = threading.Lock()

    def charge(self, body: Block, model: Model, ttft_s: float = 0.0) -> dict[str, Any]:
        """The input side of `usage` for a request that starts now, and the entries it leaves behind."""
        found = units(body)
        seed = seeds(body, model, self.workspace)
        running, level, position = hashlib.sha256(), "", 0
        keys: list[str] = []
        totals: list[int] = []
        places: list[int] = []
        for index, item in enumerate(found):
            while level != item.level:
                level = {"": "tools", "tools": "system", "system": "messages"}[level]
                running.update(json.dumps([level, seed[level]], sort_keys=True).encode())
            running.update(item.rendered.encode("utf-8", "surrogatepass"))
            same_run = index > 0 and found[index - 1].kind == item.kind and item.kind in ("tool_use", "tool_result")
            position += 0 if same_run else 1
            keys.append(running.hexdigest())
            totals.append(item.tokens + (totals[-1] if totals else 0))
            places.append(position)
        marks = [i for i, item in enumerate(found) if item.ttl and totals[i] >= model.cache_minimum]
        with self.lock:
            return self.settle(found, keys, totals, places, marks, ttft_s)

    def settle(self, found: list[Unit], keys: list[str], totals: list[int], places: list[int], marks: list[int], ttft_s: float) -> dict[str, Any]:
        """Usage of the hashed request; refreshes what was hit and writes what was not."""
        now = self.clock()
        hit = -1
        for mark in marks:
            for index in range(mark, -1, -1):
                if places[mark] - places[index] >= LOOK_BACK:
                    break
                if self.live(keys[index], now):
                    hit = max(hit, index)
                    break
        total = totals[-1] if totals else 0
        read = totals[hit] if hit >= 0 else 0
        long = max((totals[i] for i in marks if found[i].ttl == "1h"), default=0)
        to_hour = max(read, long)
        to_mark = max(totals[marks[-1]] if marks else 0, to_hour)
        for mark in [*marks, *([hit] if hit >= 0 else [])]:
            if mark <= hit and self.live(keys[mark], now):
                entry = self.entries[keys[mark]]
                entry.expires = now + LIFETIME_S[entry.ttl]
            elif mark > hit:
                ttl = str(found[mark].ttl)
                self.entries[keys[mark]] = Entry(ttl, now + ttft_s, now + LIFETIME_S[ttl])
        return {
            "input_tokens": total - to_mark,
            "cache_read_input_tokens": read,
            "cache_creation_input_tokens": to_mark - read,
            "cache_creation": {
                "ephemeral_5m_input_tokens": to_mark - to_hour,
                "ephemeral_1h_input_tokens": to_hour - read,
            },
        }

    def live(self, key: str, now: float) -> bool:
        """Whether an entry can be read now."""
        entry = self.entries.get(key)
        return entry is not None and entry.readable_from <= now < entry.expires


def cost_usd(usage: dict[str, Any], model: Model) -> float:
    """What a request with this usage costs."""
    creation = usage["cache_creation"]
    paid = (
        usage["input_tokens"]
        + model.read_share * usage["cache_read_input_tokens"]
        + 1.25 * creation["ephemeral_5m_input_tokens"]
        + 2.0 * creation["ephemeral_1h_input_tokens"]
    )
    return float(model.input_usd * paid + model.output_usd * usage.get("output_tokens", 0)) / 1e6
