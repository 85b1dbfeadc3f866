"""Candidates for recall: the memories and the archived passages that share words with a cue, best BM25 first, or that are named by their rows.

This module is on the path of every prompt: it reads, and imports nothing that a prompt does not need.
"""

from __future__ import annotations

from tenon.store import index, passages, vectors

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from tenon.store.db import Store

MEMORIES = (
    "SELECT m.id, m.ref, m.tier, m.kind, m.text, m.source, m.strength, m.decayed, m.reinforced, m.citations, m.created, f.score "
    "FROM (SELECT rowid AS id, bm25(memory_fts, 1.0, 0.4) AS score FROM memory_fts WHERE memory_fts MATCH ? AND rowid > ? ORDER BY score LIMIT ?) f "
    "CROSS JOIN memory m ON m.id = f.id WHERE m.status = 'live' {more} ORDER BY f.score LIMIT ?"
)
MEMORIES_BY_ROW = (
    "SELECT m.id, m.ref, m.tier, m.kind, m.text, m.source, m.strength, m.decayed, m.reinforced, m.citations, m.created, 0.0 "
    "FROM memory m WHERE m.id IN ({rows}) AND m.status = 'live' {more}"
)
PASSAGES = (
    "SELECT t.id, t.kind, t.at, t.session, t.content, p.first, p.last, f.score, t.source, p.id "
    "FROM (SELECT rowid AS id, bm25(turn_fts, 1.0, 0.4) AS score FROM turn_fts WHERE turn_fts MATCH ? AND rowid > ? ORDER BY score LIMIT ?) f "
    "CROSS JOIN passage p ON p.id = f.id CROSS JOIN turn t ON t.id = p.turn WHERE t.forgotten IS NULL {more} ORDER BY f.score LIMIT ?"
)
PASSAGES_BY_ROW = (
    "SELECT t.id, t.kind, t.at, t.session, t.content, p.first, p.last, 0.0, t.source, p.id "
    "FROM passage p CROSS JOIN turn t ON t.id = p.turn WHERE p.id IN ({rows}) AND t.forgotten IS NULL {more}"
)
DEEPER = 5  # times as many as are wanted come from the index, as some of them are not of the scope
MEMORIES_PASSING = "SELECT m.id FROM memory m WHERE m.id IN ({rows}) AND m.status = 'live' {more}"
PASSAGES_PASSING = "SELECT p.id FROM passage p CROSS JOIN turn t ON t.id = p.turn WHERE p.id IN ({rows}) AND t.forgotten IS NULL {more}"
MEMORIES_IN = "SELECT m.id FROM memory m WHERE m.created >= ? AND m.created < ? AND m.status = 'live' {more} ORDER BY m.created DESC LIMIT ?"
PASSAGES_IN = (
    "SELECT p.id FROM session s CROSS JOIN turn t ON t.session = s.id CROSS JOIN passage p ON p.turn = t.id AND p.id = (SELECT min(id) FROM passage WHERE turn = t.id) "
    "WHERE s.last >= ? AND s.started < ? {where} AND t.at >= ? AND t.at < ? AND t.kind = 'prompt' AND t.forgotten IS NULL {more} ORDER BY t.id DESC LIMIT ?"
)
AT_ONCE = 500  # rows that are looked up by one query
SESSION = "SELECT id FROM session WHERE name = ?"
NEAR = "FROM turn WHERE session = ? AND thread = (SELECT thread FROM turn WHERE id = ?) AND forgotten IS NULL"
REPLY = f"SELECT id, kind, content {NEAR} AND id > ? AND kind IN ('prompt', 'reply') ORDER BY id LIMIT 1"
PROMPT = f"SELECT id, kind, content {NEAR} AND id < ? AND kind = 'prompt' ORDER BY id DESC LIMIT 1"


class Candidate:
    """One thing that may come to mind. `ref` is m… for a memory, t… for an archived turn; `bm25` is higher for better.

    `row` is the one that its vector has: the memory's, or the passage's that `text` is.
    """

    __slots__ = (
        "ref", "tier", "kind", "text", "source", "strength", "set_at", "fresh_at", "citations", "at", "bm25", "session", "rowid", "row", "near",
        "other_ref", "other_text",
    )  # fmt: skip

    def __init__(
        self, ref: str, tier: str, kind: str, text: str, source: str, strength: float, set_at: float, fresh_at: float, citations: int,
        at: float, bm25: float, session: int, rowid: int, row: int = 0,
    ) -> None:  # fmt: skip
        self.ref = ref
        self.tier = tier
        self.kind = kind
        self.text = text
        self.source = source
        self.strength = strength
        self.set_at = set_at
        self.fresh_at = fresh_at
        self.citations = citations
        self.at = at
        self.bm25 = bm25
        self.session = session
        self.rowid = rowid
        self.row = row or rowid
        self.near = ""  # what is said beside it, for who wants to hold a cue against that too
        self.other_ref = ""  # of a prompt the answer to it, of a reply the prompt: see `pair`
        self.other_text = ""

    @property
    def exchange(self) -> str:
        """The id of the prompt that begins the exchange; of a memory its own id."""
        return self.other_ref if self.kind == "reply" and self.other_ref else self.ref


def memories(
    store: Store, words: Sequence[str], scope: Sequence[int] | None, limit: int, *, tier: str = "", kinds: Sequence[str] = (), without: Sequence[str] = ()
) -> tuple[list[Candidate], int, dict[str, int]]:
    """The best memories for the words, with about how many memories there are and how many have each word.

    `scope` holds repository numbers (agent-wide memories always count; None is every repository).
    """
    size, found = index.counts(store, "memory_fts", words)
    match = index.query(words, found)
    if not match:
        return [], size, found
    more, values = _of_memories(scope, tier, kinds, without)
    rows = _ranked(store, MEMORIES.format(more=more), match, index.oldest(size, found), values, limit, sum(found.values()))
    return [_memory(row) for row in rows], size, found


def turns(
    store: Store, words: Sequence[str], scope: Sequence[int] | None, limit: int, *, kinds: Sequence[str] = (), not_session: str = "", threads: bool = False
) -> tuple[list[Candidate], int, dict[str, int]]:
    """The best archived passages for the words, one per turn, with about how many passages there are and have each word.

    Sub-agents' turns only with `threads`; nothing of the session named `not_session`.
    """
    size, found = index.counts(store, "turn_fts", words)
    match = index.query(words, found)
    if not match:
        return [], size, found
    more, values = _of_turns(store, scope, kinds, not_session, threads)
    rows = _ranked(store, PASSAGES.format(more=more), match, index.oldest(size, found), values, limit, sum(found.values()))
    return _turns(rows), size, found


def by_rows(
    store: Store,
    kind: int,
    rows: Sequence[int],
    scope: Sequence[int] | None,
    *,
    tier: str = "",
    kinds: Sequence[str] = (),
    without: Sequence[str] = (),
    not_session: str = "",
    threads: bool = False,
) -> list[Candidate]:
    """The candidates of these rows (vectors.MEMORY or vectors.PASSAGE), in their order and without a BM25, narrowed as `memories` or `turns` does it.

    Of several passages of one turn it is the first that is named.
    """
    more, values = _narrowed(store, kind, scope, tier=tier, kinds=kinds, without=without, not_session=not_session, threads=threads)
    sql = MEMORIES_BY_ROW if kind == vectors.MEMORY else PASSAGES_BY_ROW
    found: dict[int, Any] = {}
    for at in range(0, len(rows), AT_ONCE):
        some = rows[at : at + AT_ONCE]
        for row in store.each(sql.format(rows=_marks(some), more=more), (*some, *values)):
            found[row[0 if kind == vectors.MEMORY else 9]] = row
    kept = [found[row] for row in dict.fromkeys(rows) if row in found]
    return [_memory(row) for row in kept] if kind == vectors.MEMORY else _turns(kept)


def passing(store: Store, kind: int, rows: Sequence[int], scope: Sequence[int] | None, **narrow: Any) -> set[int]:
    """Which of the rows `by_rows` would give, without reading them."""
    more, values = _narrowed(store, kind, scope, **narrow)
    sql = MEMORIES_PASSING if kind == vectors.MEMORY else PASSAGES_PASSING
    found: set[int] = set()
    for at in range(0, len(rows), AT_ONCE):
        some = rows[at : at + AT_ONCE]
        found.update([row for (row,) in store.each(sql.format(rows=_marks(some), more=more), (*some, *values))])
    return found


def within(store: Store, kind: int, window: tuple[float, float], scope: Sequence[int] | None, limit: int, **narrow: Any) -> list[int]:
    """The newest memories, or the first passages of the newest prompts, of a time: its first second, and the one after its last."""
    more, values = _narrowed(store, kind, scope, **narrow)
    if kind == vectors.MEMORY:
        rows = store.rows(MEMORIES_IN.format(more=more), (*window, *values, limit))
    else:
        where = "" if scope is None else f"AND s.repository IN ({_marks(scope)})"
        rows = store.rows(PASSAGES_IN.format(where=where, more=more), (*window, *(scope or ()), *window, *values, limit))
    return [row for (row,) in rows]


def pair(store: Store, turn: Candidate) -> None:
    """Finds what was answered to a prompt, or asked before a reply, and notes it in the candidate; nothing for other kinds."""
    if turn.kind not in ("prompt", "reply") or turn.other_ref:
        return
    row = store.one(REPLY if turn.kind == "prompt" else PROMPT, (turn.session, turn.rowid, turn.rowid))
    if row is not None and (turn.kind, row[1]) != ("prompt", "prompt"):  # else the next thing said was a prompt again
        turn.other_ref, turn.other_text = f"t{row[0]}", passages.of_stored(row[2])


def _ranked(store: Store, sql: str, match: str, after: int, values: Sequence[object], limit: int, matching: int) -> list[tuple[Any, ...]]:
    """The best rows; the index is asked for all of its own only where too few of its best ones are wanted."""
    rows: list[tuple[Any, ...]] = []
    for most in (DEEPER * limit, -1):
        rows = store.rows(sql, (match, after, most, *values, limit))
        if len(rows) >= limit or matching <= most:
            break
    return rows


def _narrowed(
    store: Store, kind: int, scope: Sequence[int] | None, *, tier: str = "", kinds: Sequence[str] = (), without: Sequence[str] = (), not_session: str = "",
    threads: bool = False,
) -> tuple[str, list[object]]:  # fmt: skip
    return _of_memories(scope, tier, kinds, without) if kind == vectors.MEMORY else _of_turns(store, scope, kinds, not_session, threads)


def _of_memories(scope: Sequence[int] | None, tier: str, kinds: Sequence[str], without: Sequence[str]) -> tuple[str, list[object]]:
    more = ""
    values: list[object] = []
    if scope is not None:
        more = f"AND (m.repository IS NULL OR m.repository IN ({_marks(scope)})) "
        values.extend(scope)
    for clause, wanted in (("AND m.tier IN ({})", [tier] if tier else []), ("AND m.kind IN ({})", kinds), ("AND m.kind NOT IN ({})", without)):
        if wanted:
            more += clause.format(_marks(wanted)) + " "
            values.extend(wanted)
    return more, values


def _of_turns(store: Store, scope: Sequence[int] | None, kinds: Sequence[str], not_session: str, threads: bool) -> tuple[str, list[object]]:
    more = ""
    values: list[object] = []
    if scope is not None:
        more += f"AND p.repository IN ({_marks(scope)}) "
        values.extend(scope)
    if kinds:
        more += f"AND t.kind IN ({_marks(kinds)}) "
        values.extend(kinds)
    if not threads:
        more += "AND t.thread = '' "
    if not_session:
        more += "AND t.session <> ? "
        values.append(store.value(SESSION, (not_session,)) or 0)
    return more, values


def _memory(row: tuple[Any, ...]) -> Candidate:
    rowid, ref, tier, kind, text, source, strength, set_at, fresh_at, citations, created, rank = row
    return Candidate(ref, tier, kind, text, source, strength, set_at, fresh_at, citations, created, 0.0 - rank, 0, rowid)


def _turns(rows: Iterable[tuple[Any, ...]]) -> list[Candidate]:
    best: dict[int, Candidate] = {}
    for turn, kind, at, session, content, first, last, rank, source, passage in rows:
        if turn not in best:
            text = passages.of_stored(content)[first:last]
            best[turn] = Candidate(f"t{turn}", "archive", kind, text, source, 0.0, at, at, 0, at, 0.0 - rank, session, turn, passage)
    return list(best.values())


def _marks(values: Sequence[object]) -> str:
    return ", ".join("?" * len(values)) or "NULL"
