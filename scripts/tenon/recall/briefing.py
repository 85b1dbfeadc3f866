"""The briefing of a new session: who I am, where the work stands, what happened last, what holds for this repository.

Its text depends on what is stored and on nothing else, so the same knowledge gives the same bytes.
"""

from __future__ import annotations

from tenon.base.text import cut
from tenon.recall import injection
from tenon.store import closed, identity, memories, summaries, tasks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from tenon.store.db import Store
    from tenon.store.memories import Memory

DURABLE = 24  # long-term memories that are told
FIRST = ("preference", "decision", "convention", "gotcha", "lesson")  # of equally strong ones these, and then the newer
FRESH = 8  # short-term ones, first what the user said of these kinds
SAME = 0.8  # shared content words of two memories of which one is told
LOOKED_AT = 400
STEP_CHARS = 200


def sections(store: Store, repository: int | None, *, session: str, now: float, per_day: Mapping[str, float]) -> tuple[list[tuple[str, list[str]]], list[str]]:
    """The sections of the briefing (heading, items), empty ones left out, and the ids of the memories in them.

    `session` is the one that starts: its own summary is not told as that of an earlier one.
    """
    told: list[tuple[str, list[str]]] = []
    known = memories.recent(store, repository if repository is not None else -1, LOOKED_AT)
    own = identity.told(identity.held(store))
    if own:
        told.append(("## Who you are to this user", [_statement(memory, text) for memory, text in own]))
    if repository is not None:
        told.extend(_work(store, repository, session))
    chosen = _chosen([memory for memory in known if memory.kind not in identity.KINDS or _is_local(memory)], now, per_day)
    if chosen:
        told.append(("## What holds here", [injection.remembered(memory, memory.reinforced) for memory in chosen]))
    return told, [memory.ref for memory in [*(memory for memory, _ in own), *chosen]]


def _statement(memory: Memory, text: str) -> str:
    """A statement as one item, with the day since when it is held: being proved right again is no other knowledge."""
    return f"- [{memory.kind} · {injection.day(memory.created)}] {text} ({memory.ref})"


def _is_local(memory: Memory) -> bool:
    """Whether a memory of who is who holds for this repository alone."""
    return memory.repository is not None and memory.source in identity.SOURCES


def _work(store: Store, repository: int, session: str) -> list[tuple[str, list[str]]]:
    told: list[tuple[str, list[str]]] = []
    active = tasks.active(store, repository)
    brief = tasks.read_handoff(store, repository) if active else None
    if brief and brief.get("active_epic") in [state["epic"] for state in active]:
        told.append(("## Handoff: resume here", _handoff(brief)))
    for state in active[:3]:
        told.append((f"## Task in flight: {cut(str(state['title'] or state['epic']), 120)} (epic {cut(str(state['epic']), 60)})", _task(state)))
    last = summaries.latest(store, repository, before_session=session)
    if last:
        told.append(("## Last session here", ["- " + cut(line, 600) for line in last.text.splitlines() if line.strip()]))
    return told


def _handoff(brief: Mapping[str, Any]) -> list[str]:
    names = {
        "last_completed_step": "done last", "next_action": "next", "working_set": "working set", "blockers": "blocked by", "do_not_redo": "do not redo",
    }  # fmt: skip
    return [f"- {label}: {cut(_flat(brief[name]), 400)}" for name, label in names.items() if brief.get(name)]


def _task(state: Mapping[str, Any]) -> list[str]:
    marks = {"done": "x", "active": ">", "blocked": "!", "pending": " "}
    steps = [f"- [{marks.get(step.get('status'), ' ')}] {cut(str(step.get('step')), STEP_CHARS)}" for step in state.get("plan") or []]
    open_ends = [f"- open: {cut(_flat(thread), STEP_CHARS)}" for thread in state.get("open_threads") or []]
    blocked = [f"- blocked by: {cut(_flat(state['blockers']), STEP_CHARS)}"] if state.get("blockers") else []
    return [*steps, *open_ends, *blocked] or ["- no plan written yet"]


def _flat(value: object) -> str:
    if isinstance(value, list):
        return "; ".join(_flat(part) for part in value)
    if isinstance(value, dict):
        return " ".join(str(part) for part in value.values())
    return str(value)


def _chosen(known: Sequence[Memory], now: float, per_day: Mapping[str, float]) -> list[Memory]:
    def weight(memory: Memory) -> tuple[float, bool, float, str]:
        # Whole days, so that the order does not flicker within one.
        day = now - now % memories.DAY_S
        strength = memory.strength_at(day, per_day[memory.tier]) + 0.1 * min(memory.citations, 5)
        return (-strength, memory.kind not in FIRST, -memory.created, memory.ref)

    durable = [memory for memory in known if memory.tier == "long" and memory.kind != "procedure"]
    fresh = [memory for memory in known if memory.tier == "short" and memory.kind not in ("episode", "failure_signature")]
    told = _apart(sorted(durable, key=weight), [], DURABLE)
    return told + _apart(sorted(fresh, key=lambda memory: (memory.source != "user" or memory.kind not in FIRST, *weight(memory))), told, FRESH)


def _apart(found: Sequence[Memory], told: Sequence[Memory], most: int) -> list[Memory]:
    """The first so many that do not say what one before them says, or one that is told already."""
    said = [closed.content(memory.text) for memory in told]
    kept: list[Memory] = []
    for memory in found:
        if len(kept) == most:
            break
        own = closed.content(memory.text)
        if not any(len(own & other) >= SAME * max(1, len(own), len(other)) for other in said):
            said.append(own)
            kept.append(memory)
    return kept
