"""What is known of one memory besides its text: what was said where it came from, its links, the digests that had a hand in it, and when it came up."""

from __future__ import annotations

from tenon.base.lean import parse
from tenon.store import associations, digests, memories
from tenon.store.exchanges import COLUMNS as TURN
from tenon.store.exchanges import Turn
from tenon.store.journal import COLUMNS as ENTRY
from tenon.store.journal import KEEP_S, NAME, Entry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tenon.store.db import Store
    from tenon.store.memories import Memory

EXCHANGES = 20  # of a memory's lineage
WEAKEST = associations.LEAST
OFTEN = 200  # times that it came up, or nearly did
DEEDS = 100
LONGEST_CHAIN = 50

LINEAGE = f"SELECT {TURN} FROM lineage l JOIN turn t ON t.id = l.turn WHERE l.memory = ? ORDER BY t.id DESC LIMIT ?"
PROMPT = f"SELECT {TURN} FROM turn t WHERE t.session = ? AND t.thread = ? AND t.kind = 'prompt' AND t.id <= ? ORDER BY t.id DESC LIMIT 1"
ANSWER = f"SELECT {TURN} FROM turn t WHERE t.session = ? AND t.thread = ? AND t.kind IN ('prompt', 'reply') AND t.id > ? ORDER BY t.id LIMIT 1"
EDGES = (
    "SELECT e.id, e.kind, e.status, e.strength, e.reason, e.verdict, e.created, e.decided, e.origin = ?, m.ref, m.text, m.status "
    "FROM edge e JOIN memory m ON m.id = CASE e.origin WHEN ? THEN e.target ELSE e.origin END WHERE e.origin = ? OR e.target = ? ORDER BY e.id DESC LIMIT ?"
)
STEPS = (
    "SELECT d.id, s.deed, d.at, d.phase, d.state, d.runner, d.model, s.undo FROM step s JOIN digest d ON d.id = s.digest "
    "WHERE s.memory = ? ORDER BY s.digest, s.number LIMIT ?"
)
DEEDS_OF = "SELECT at, what, note FROM deed WHERE ref = ? ORDER BY id LIMIT ?"
CAME_UP = (
    f"SELECT {ENTRY} FROM journal WHERE at >= ? AND event NOT IN ('compact', 'pressure') AND (instr(hits, ?) OR instr(skipped, ?)) ORDER BY id DESC LIMIT ?"
)
SESSION_LIKE = "SELECT name FROM session WHERE name >= ? AND name < ? LIMIT 1"
SESSION = "SELECT name FROM session WHERE id = ?"
BEFORE = f"SELECT {memories.COLUMNS} FROM memory WHERE successor = ? ORDER BY id LIMIT ?"


class Origin:
    """An exchange that a memory came from: the turns in order, which of them are its lineage, and the client's id of the session."""

    __slots__ = ("session", "turns", "lineage")

    def __init__(self, session: str, turns: list[Turn], lineage: set[int]) -> None:
        self.session = session
        self.turns = turns
        self.lineage = lineage


def origins(store: Store, memory: Memory) -> list[Origin]:
    """The exchanges that the memory came from, the newest first: the prompt, the turns of its lineage, and the first answer."""
    found: dict[tuple[int, int], Origin] = {}
    for row in store.rows(LINEAGE, (memory.id, EXCHANGES)):
        turn = Turn(row)
        before = store.one(PROMPT, (turn.session, turn.thread, turn.id))
        prompt = Turn(before) if before is not None else turn
        origin = found.get((turn.session, prompt.id))
        if origin is None:
            after = store.one(ANSWER, (turn.session, turn.thread, prompt.id))
            around = [prompt, *([Turn(after)] if after is not None and after[7] == "reply" else [])]
            origin = found[turn.session, prompt.id] = Origin(str(store.value(SESSION, (turn.session,)) or ""), around, set())
        origin.lineage.add(turn.id)
        if turn.id not in {one.id for one in origin.turns}:
            origin.turns.append(turn)
    for origin in found.values():
        origin.turns.sort(key=lambda one: one.id)
    return list(found.values())


def edges(store: Store, memory: Memory, limit: int) -> list[dict[str, Any]]:
    """Its links of any status and wherever the other memory belongs, the newest first."""
    names = ("edge", "kind", "status", "strength", "reason", "verdict", "created", "decided", "out", "ref", "text", "standing")
    return [dict(zip(names, row)) for row in store.rows(EDGES, (memory.id,) * 4 + (limit,))]


def associated(store: Store, memory: Memory, limit: int, now: float) -> list[tuple[Memory, float, int]]:
    """The memories that come up together with it, the strongest first: strength as of now, and how often they did."""
    return [(memories.by_id(store, row), strength, count) for row, strength, count in associations.of(store, memory.id, WEAKEST, limit, now)]


def successors(store: Store, memory: Memory) -> list[Memory]:
    """What superseded it, and what superseded that, up to the one that holds now."""
    found: list[Memory] = []
    here: Memory | None = memory
    while here is not None and here.successor is not None and len(found) < LONGEST_CHAIN:
        here = digests.named(store, here.successor)
        if here is None or here.id in {memory.id, *(one.id for one in found)}:
            break
        found.append(here)
    return found


def predecessors(store: Store, memory: Memory) -> list[Memory]:
    """What it superseded itself, the oldest first."""
    return [memories.Memory(row) for row in store.rows(BEFORE, (memory.id, LONGEST_CHAIN))]


def steps(store: Store, memory: Memory) -> list[dict[str, Any]]:
    """What digests did to it, in order: digest, deed, at, phase, state, runner, model, and the number of the revision that it made («revised»), or None."""
    found: list[dict[str, Any]] = []
    for row in store.rows(STEPS, (memory.id, DEEDS)):
        told = dict(zip(("digest", "deed", "at", "phase", "state", "runner", "model"), row))
        undo = parse(str(row[7]))
        told["revised"] = 1 + int(undo.get("revision", 0)) if isinstance(undo, dict) and row[1] == "revise" else None
        found.append(told)
    return found


def deeds(store: Store, memory: Memory) -> list[tuple[float, str, str]]:
    """What was done to it, as the audit lines have it, in order: time, deed, note."""
    return [(float(at), str(what), str(note)) for at, what, note in store.rows(DEEDS_OF, (memory.ref, DEEDS))]


def came_up(store: Store, ref: str, now: float) -> list[Entry]:
    """The newest entries of the journal in which it was shown or nearly was, of the last thirty days, newest first."""
    found = (Entry(row) for row in store.rows(CAME_UP, (now - KEEP_S, ref, ref, OFTEN)))
    return [entry for entry in found if any(one.ref == ref for one in (*entry.shown, *entry.skipped))]


def session_named(store: Store, start: str) -> str:
    """The whole id of the session that the journal knows by its first characters, «» when nothing of it was kept."""
    if len(start) < NAME:
        return start
    return str(store.value(SESSION_LIKE, (start, start + "\U0010ffff")) or "")
