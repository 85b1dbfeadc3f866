"""The page Digests: each run, newest first, and one of them step by step with what it read, changed and cost."""

from __future__ import annotations

from tenon.base.text import cut
from tenon.dashboard.place import Missing
from tenon.digest import recounting
from tenon.store import browse_digests, digests, gists, memories, places
from tenon.store.exchanges import session_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tenon.dashboard.place import Place, Query
    from tenon.store.db import Store
    from tenon.store.digests import Digest, Step
    from tenon.store.memories import Memory
    from tenon.store.spending import Spent

ROWS = 50
ALL = "all"
STATES = ("applied", "undone", "failed", "running")
STEPS = 2000  # of one digest that are told
REQUESTS = 200
READ = 400  # turns
TEXT = 400  # characters of a memory that a step names


def page(here: Place, query: Query) -> dict[str, Any]:
    """The runs. Those of plain code, which come with every session, only where `phase` asks for them or for all."""
    phase, state = query.one_of("phase", (*digests.PHASES, ALL)), query.one_of("state", STATES)
    repository, before = query.repository(here.store), query.number("after", 2**53, 1, 2**53)
    query.done()
    scope = None if repository is None else places.scope(here.store, repository)
    wanted = "" if phase == ALL else phase or browse_digests.BY_MODEL
    found = browse_digests.newest(here.store, before, ROWS + 1, phase=wanted, state=state, repository=scope)
    shown = found[:ROWS]
    counts, spent = browse_digests.counts(here.store, [one.id for one in shown]), browse_digests.spent(here.store, shown)
    return {
        "digests": [_told(here.store, one, counts[one.id], spent.get(one.id)) for one in shown], "next": str(shown[-1].id) if len(found) > ROWS else None,
        "spotting": wanted == browse_digests.BY_MODEL and browse_digests.has_spotting(here.store), "count": len(shown),
    }  # fmt: skip


def one(here: Place, name: str, query: Query) -> dict[str, Any]:
    """One run: its steps in words with the memories that they are about, the turns that it read, its requests."""
    query.done()
    if not (name.isascii() and name.isdigit() and len(name) <= 15):
        raise Missing("A digest has a number, like 7.")
    found = digests.get(here.store, int(name))
    steps = digests.steps(here.store, found.id)
    read = sorted({turn for step in steps if step.deed == "read" for turn in _read(step)} or ({found.first} if found.first else set()))
    return {
        "digest": _told(here.store, found, digests.counts(here.store, found.id), browse_digests.spent(here.store, [found]).get(found.id)),
        "steps": _placed(here.store, [told for step in steps[:STEPS] if (told := _step(here.store, step)) is not None]),
        "read": [
            {"turn": f"t{turn}", "kind": kind, "at": at, "session": session} for turn, kind, at, session in browse_digests.turns(here.store, read[:READ])
        ],
        "more_read": max(0, len(read) - READ),
        "requests": [{part: getattr(request, part) for part in request.__slots__} for request in browse_digests.requests(here.store, found, REQUESTS)],
    }  # fmt: skip


def _told(store: Store, found: Digest, counts: dict[str, int], spent: Spent | None) -> dict[str, Any]:
    cost = None
    if spent is not None and spent.requests:
        parts = ("requests", "input", "written", "read", "output", "tokens", "unknown", "dollars", "unpriced")
        cost = {part: getattr(spent, part) for part in parts}
    return {
        "id": found.id, "at": found.at, "ended": found.ended, "phase": found.phase, "state": found.state, "why": found.why, "runner": found.runner,
        "model": found.model, "repository": places.key(store, found.repository) if found.repository is not None else None, "turns": found.turns,
        "archived_tokens": found.tokens, "counts": counts, "did": recounting.counted(counts), "cost": cost,
    }  # fmt: skip


def _read(step: Step) -> list[int]:
    """The turns that a step dealt with, whole or in part."""
    parts = step.undo.get("parts")
    return [int(turn) for turn in (*step.undo.get("turns", ()), *(parts if isinstance(parts, dict) else ()))]


def _step(store: Store, step: Step) -> dict[str, Any] | None:
    """A step as data, None for one that only keeps the books."""
    said = recounting.said(store, step)
    if not said or step.deed == "read":
        return None
    memory, other = digests.named(store, step.memory), digests.named(store, step.other)
    told: dict[str, Any] = {"deed": step.deed, "sign": recounting.SIGNS.get(step.deed, "·"), "said": said, "memory": _named(memory), "other": _named(other)}
    if step.deed in ("remember", "hold") and memory is not None:
        told["turns"] = [f"t{turn}" for turn in memories.lineage(store, memory)[:20]]
    elif step.deed == "revise" and memory is not None:
        told["old"], told["new"] = recounting.revised(store, memory, step)
    elif step.deed == "supersede" and memory is not None:
        told["old"], told["new"] = memory.text, other.text if other is not None else ""
    elif step.deed == "gist":
        turn = recounting.numbered(step, "turn")
        told.update(turns=[f"t{turn}"], new=gists.of(store, turn) or recounting.GONE)
    elif step.deed == "session":
        number = recounting.numbered(step, "session")
        told.update(session=session_of(store, number).name, new=recounting.summed_up(store, number))
    return told


def _placed(store: Store, steps: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The steps, each with the sessions in which the turns that it names stand."""
    named = sorted({int(turn[1:]) for step in steps for turn in step.get("turns", ())})
    sessions = {f"t{turn}": session for at in range(0, len(named), READ) for turn, _, _, session in browse_digests.turns(store, named[at : at + READ])}
    for step in steps:
        step["places"] = {turn: sessions[turn] for turn in step.get("turns", ()) if turn in sessions}
    return steps


def _named(memory: Memory | None) -> dict[str, Any] | None:
    if memory is None:
        return None
    return {
        "ref": memory.ref, "kind": memory.kind, "tier": memory.tier, "source": memory.source, "status": memory.status, "text": cut(memory.text, TEXT),
    }  # fmt: skip
