"""Digests: each batch that a model consolidated or reflected on, what it did step by step, and what undoes it.

A step names memories by their rows and says what was before in numbers, so that forgetting a memory leaves nothing of it here.
"""

from __future__ import annotations

import json

from tenon.base.errors import TenonError
from tenon.base.lean import parse
from tenon.store import memories

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from typing import Any

    from tenon.store.db import Store

PHASES = ("spotting", "session", "consolidation", "reflection")
COLUMNS = "id, at, ended, phase, repository, runner, model, state, why, turns, tokens, first"
ADD = "INSERT INTO digest (at, phase, repository, runner, model, state, turns, tokens, first) VALUES (?, ?, ?, ?, ?, 'running', ?, ?, ?)"
END = "UPDATE digest SET state = ?, why = ?, ended = ? WHERE id = ?"
DROP = "DELETE FROM digest WHERE id = ?"
LEFT = "UPDATE digest SET state = 'failed', why = ?, ended = ? WHERE state = 'running'"
ONE = f"SELECT {COLUMNS} FROM digest WHERE id = ?"
NEWEST = f"SELECT {COLUMNS} FROM digest ORDER BY id DESC LIMIT ?"
ADD_STEP = "INSERT INTO step (digest, number, deed, memory, other, undo, note) VALUES (?, (SELECT count(*) FROM step WHERE digest = ?), ?, ?, ?, ?, ?)"
STEPS = "SELECT number, deed, memory, other, undo, note FROM step WHERE digest = ? ORDER BY number"
COUNTS = "SELECT deed, count(*) FROM step WHERE digest = ? GROUP BY deed ORDER BY 1"
FAILED_SINCE = (
    "SELECT count(*) FROM digest WHERE state = 'failed' AND phase = ? AND repository IS ? AND id > "
    "(SELECT coalesce(max(id), 0) FROM digest WHERE state <> 'failed' AND phase = ? AND repository IS ?)"
)
READ_BY = "SELECT r.digest, r.undo FROM step r WHERE r.deed = 'read' AND EXISTS (SELECT 1 FROM step l WHERE l.digest = r.digest AND l.deed = 'link')"
LINKS = "SELECT undo FROM step WHERE digest = ? AND deed = 'link'"
_STEPS = "FROM step s JOIN digest d ON d.id = s.digest WHERE"
UNDONE_WRITING = f"SELECT s.deed, s.undo {_STEPS} (d.state = 'undone' OR d.id = ?) AND s.memory = ? AND s.deed IN ('remember', 'hold', 'revise')"
UNDONE_CLOSINGS = f"SELECT s.memory {_STEPS} d.state = 'undone' AND s.other = ? AND s.deed = 'supersede' AND s.memory IS NOT NULL ORDER BY 1"
SUMMARISED = f"SELECT s.undo {_STEPS} d.state = 'applied' AND s.digest > ? AND s.deed = 'session'"
READ_SINCE = f"SELECT s.undo {_STEPS} d.state = 'applied' AND s.digest > ? AND s.deed = 'read'"
MADE_OF = "SELECT memory FROM lineage WHERE turn = ?"
SUPERSEDED_BY = "SELECT id FROM memory WHERE successor = ? ORDER BY id"
IS_NOTED = "SELECT 1 FROM step WHERE memory = ? AND deed = 'remember'"
BY_MODEL = "phase IN ('consolidation', 'reflection')"
STREAK = (
    f"SELECT coalesce(max(at), 0), count(*) FROM digest WHERE state = 'failed' AND {BY_MODEL} AND id > "
    f"(SELECT coalesce(max(id), 0) FROM digest WHERE state IN ('applied', 'undone') AND {BY_MODEL})"
)
NEWEST_BY_MODEL = f"SELECT {COLUMNS} FROM digest WHERE {BY_MODEL} ORDER BY id DESC LIMIT 1"
LAST = f"SELECT {COLUMNS} FROM digest WHERE phase = ? AND state = ? ORDER BY id DESC LIMIT 1"


class Digest:
    """One batch, or what plain code spotted in one step: `phase` is one of PHASES; `state` running, applied, failed or undone; `first` its first turn."""

    __slots__ = tuple(COLUMNS.split(", "))

    id: int
    at: float
    ended: float | None
    phase: str
    repository: int | None
    runner: str
    model: str
    state: str
    why: str
    turns: int
    tokens: int
    first: int | None

    def __init__(self, row: Sequence[Any]) -> None:
        for name, value in zip(self.__slots__, row):
            setattr(self, name, value)


class Step:
    """One thing that a digest did: `memory` and `other` are row numbers (None: forgotten since, or none), `undo` what was before."""

    __slots__ = ("number", "deed", "memory", "other", "undo", "note")

    def __init__(self, row: Sequence[Any]) -> None:
        self.number = int(row[0])
        self.deed = str(row[1])
        self.memory: int | None = row[2]
        self.other: int | None = row[3]
        found = parse(str(row[4]))
        self.undo: dict[str, Any] = found if isinstance(found, dict) else {}
        self.note = str(row[5])


def begin(
    store: Store, *, phase: str, repository: int | None, runner: str, model: str, now: float, turns: int = 0, tokens: int = 0, first: int | None = None
) -> int:
    """The number of a digest that begins now."""
    return int(store.execute(ADD, (now, phase, repository, runner, model, turns, tokens, first)).lastrowid or 0)


def end(store: Store, number: int, state: str, now: float, why: str = "") -> None:
    """Notes how it ended; `why` is a sentence of ours, never a model's words."""
    store.execute(END, (state, why, now, number))


def drop(store: Store, number: int) -> None:
    """Takes a digest away of which nothing came, not even a request."""
    store.execute(DROP, (number,))


def clear(store: Store, why: str, now: float) -> int:
    """How many digests a process was killed at, which are failed ones from now on; whoever asks holds the claim on digesting."""
    return store.execute(LEFT, (why, now)).rowcount


def get(store: Store, number: int) -> Digest:
    """The digest with that number. Raises TenonError when there is none."""
    row = store.one(ONE, (number,)) if 0 < number < 2**53 else None
    if row is None:
        raise TenonError(f"there is no digest {number}; `tenon digest log` lists them")
    return Digest(row)


def newest(store: Store, limit: int) -> list[Digest]:
    """The newest digests, newest first."""
    return [Digest(row) for row in store.rows(NEWEST, (limit,))]


def newest_by_model(store: Store) -> Digest | None:
    """The newest digest for which a model was asked, or None."""
    row = store.one(NEWEST_BY_MODEL)
    return Digest(row) if row else None


def last(store: Store, phase: str, state: str) -> Digest | None:
    """The newest digest of that phase that ended so, or None."""
    row = store.one(LAST, (phase, state))
    return Digest(row) if row else None


def failures(store: Store, phase: str, repository: int | None) -> int:
    """How many digests of the repository have failed since one did not."""
    return int(store.value(FAILED_SINCE, (phase, repository, phase, repository)))


def streak(store: Store) -> tuple[float, int]:
    """When the newest digest began that failed, and how many have failed since one did not."""
    at, count = store.rows(STREAK)[0]
    return float(at), int(count)


def add_step(
    store: Store, number: int, deed: str, memory: int | None = None, other: int | None = None, *, undo: Mapping[str, object] | None = None, note: str = ""
) -> None:
    """Notes one thing that the digest did, or (deed «refused», with a note) did not do."""
    store.execute(ADD_STEP, (number, number, deed, memory, other, json.dumps(undo or {}), note))


def is_noted(store: Store, memory: int) -> bool:
    """Whether a digest has noted that it wrote the memory in that row."""
    return store.value(IS_NOTED, (memory,)) is not None


def steps(store: Store, number: int) -> list[Step]:
    """What the digest did, in order."""
    return [Step(row) for row in store.rows(STEPS, (number,))]


def counts(store: Store, number: int) -> dict[str, int]:
    """How often it did what."""
    return {str(deed): int(count) for deed, count in store.rows(COUNTS, (number,))}


def made_of(store: Store, turns: Sequence[int]) -> dict[int, list[int]]:
    """Of each turn that a memory came from, the rows of those memories."""
    found = {turn: [int(row[0]) for row in store.rows(MADE_OF, (turn,))] for turn in turns}
    return {turn: rows for turn, rows in found.items() if rows}


def undone_revisions(store: Store, memory: int, undoing: int = 0) -> set[int]:
    """Those revisions of the memory in that row that a digest made which was undone, or is now: 1 is what was written at first."""
    made = store.rows(UNDONE_WRITING, (undoing, memory))
    return {1 + (int(undo.get("revision", 0)) if deed == "revise" and isinstance(undo := parse(str(stored)), dict) else 0) for deed, stored in made}


def undone_closings(store: Store, successor: int) -> list[int]:
    """The rows of the memories that digests which were undone had closed in favour of this one."""
    return [int(row[0]) for row in store.rows(UNDONE_CLOSINGS, (successor,))]


def summarised_since(store: Store, number: int, session: int) -> bool:
    """Whether a later digest, which is applied, has summed up the session."""
    return any(isinstance(undo := parse(str(stored)), dict) and undo.get("session") == session for (stored,) in store.rows(SUMMARISED, (number,)))


def read_since(store: Store, number: int) -> set[int]:
    """The turns that later digests, which are applied, have read to their ends."""
    read = (parse(str(stored)) for (stored,) in store.rows(READ_SINCE, (number,)))
    return {int(turn) for undo in read if isinstance(undo, dict) for turn in undo.get("turns", ())}


def links_from(store: Store, turns: Collection[int]) -> list[int]:
    """The links that digests made which had read one of the turns."""
    found: list[int] = []
    for digest, stored in store.rows(READ_BY) if turns else ():
        read = parse(str(stored))
        if isinstance(read, dict) and not set(turns).isdisjoint((*read.get("turns", ()), *map(int, read.get("parts", ())))):
            found += [int(undo["edge"]) for (text,) in store.rows(LINKS, (digest,)) if isinstance(undo := parse(str(text)), dict) and "edge" in undo]
    return found


def superseded_by(store: Store, rowid: int) -> list[int]:
    """The rows of the memories that this one superseded."""
    return [int(row[0]) for row in store.rows(SUPERSEDED_BY, (rowid,))]


def as_read(store: Store, read: Sequence[memories.Memory]) -> dict[str, memories.Memory]:
    """What a model has read, by its ids, as it is now; what was revised since is not what it has read.

    Raises TenonError when one was forgotten since: whatever the model said may have its words.
    """
    now = [named(store, memory.id) for memory in read]
    if None in now:
        raise TenonError("something that it read was forgotten meanwhile")
    return {memory.ref: memory for memory, before in zip(now, read) if memory is not None and memory.text == before.text}


class Book:
    """The steps of what is done without a request: a digest that begins with its first step, and is none without one. In the caller's transaction."""

    def __init__(self, store: Store, *, phase: str, repository: int, runner: str, now: float, turns: int = 0, first: int | None = None) -> None:
        self.store = store
        self.told = {"phase": phase, "repository": repository, "runner": runner, "now": now, "turns": turns, "first": first}
        self.number = 0

    def step(self, deed: str, memory: int | None, other: int | None = None, *, undo: Mapping[str, object] | None = None) -> None:
        """Notes a step, as `add_step` does."""
        if not self.number:
            self.number = begin(self.store, model="", **self.told)  # type: ignore[arg-type]
            end(self.store, self.number, "applied", float(str(self.told["now"])))
        add_step(self.store, self.number, deed, memory, other, undo=undo)


def named(store: Store, row: int | None) -> memories.Memory | None:
    """The memory in that row, or None when there is none any more."""
    try:
        return memories.by_id(store, row) if row is not None else None
    except TenonError:
        return None
