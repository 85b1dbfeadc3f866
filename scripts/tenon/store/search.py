"""Candidates for recall: the memories and the archived passages that share words with a cue, best BM25 first.

This module is on the path of every prompt: it reads, and imports nothing that a prompt does not need.
"""

from __future__ import annotations

from tenon.base.lean import parse
from tenon.store import index, passages

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from tenon.store.db import Store

MEMORIES = (
    "SELECT m.id, m.ref, m.tier, m.kind, m.text, m.source, m.strength, m.decayed, m.reinforced, m.citations, m.created, f.rank "
    "FROM memory_fts f JOIN memory m ON m.id = f.rowid "
    "WHERE memory_fts MATCH ? AND m.status = 'live' AND (m.repository IS NULL OR m.repository IN ({scope})) {more} ORDER BY f.rank LIMIT ?"
)
PASSAGES = (
    "SELECT t.id, t.kind, t.at, t.session, t.content, p.first, p.last, f.rank, t.source "
    "FROM turn_fts f JOIN passage p ON p.id = f.rowid JOIN turn t ON t.id = p.turn "
    "WHERE turn_fts MATCH ? AND t.forgotten IS NULL {more} ORDER BY f.rank LIMIT ?"
)
SESSION = "SELECT id FROM session WHERE name = ?"
NEAR = "FROM turn WHERE session = ? AND thread = (SELECT thread FROM turn WHERE id = ?) AND forgotten IS NULL"
REPLY = f"SELECT id, kind, content {NEAR} AND id > ? AND kind IN ('prompt', 'reply') ORDER BY id LIMIT 1"
PROMPT = f"SELECT id, kind, content {NEAR} AND id < ? AND kind = 'prompt' ORDER BY id DESC LIMIT 1"


class Candidate:
    """One thing that may come to mind. `ref` is m… for a memory, t… for an archived turn; `bm25` is higher for better."""

    __slots__ = (
        "ref", "tier", "kind", "text", "source", "strength", "set_at", "fresh_at", "citations", "at", "bm25", "session", "rowid", "other_ref", "other_text",
    )  # fmt: skip

    def __init__(
        self, ref: str, tier: str, kind: str, text: str, source: str, strength: float, set_at: float, fresh_at: float, citations: int,
        at: float, bm25: float, session: int, rowid: int,
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
    sql = MEMORIES if scope is not None else MEMORIES.replace("AND (m.repository IS NULL OR m.repository IN ({scope}))", "")
    more = ""
    values: list[object] = [match, *(scope or ())]
    for clause, wanted in (("AND m.tier IN ({})", [tier] if tier else []), ("AND m.kind IN ({})", kinds), ("AND m.kind NOT IN ({})", without)):
        if wanted:
            more += clause.format(_marks(wanted)) + " "
            values.extend(wanted)
    rows = store.rows(sql.format(scope=_marks(scope or ()), more=more), (*values, limit))
    return (
        [
            Candidate(ref, own, kind, text, source, strength, set_at, fresh_at, citations, created, -rank, 0, rowid)
            for rowid, ref, own, kind, text, source, strength, set_at, fresh_at, citations, created, rank in rows
        ],
        size,
        found,
    )


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
    more = ""
    values: list[object] = [match]
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
    best: dict[int, Candidate] = {}
    for turn, kind, at, session, content, first, last, rank, source in store.each(PASSAGES.format(more=more), (*values, limit)):
        if turn not in best:
            text = passages.searchable(_blocks(content))[first:last]
            best[turn] = Candidate(f"t{turn}", "archive", kind, text, source, 0.0, at, at, 0, at, -rank, session, turn)
    return list(best.values()), size, found


def pair(store: Store, turn: Candidate) -> None:
    """Finds what was answered to a prompt, or asked before a reply, and notes it in the candidate; nothing for other kinds."""
    if turn.kind not in ("prompt", "reply") or turn.other_ref:
        return
    row = store.one(REPLY if turn.kind == "prompt" else PROMPT, (turn.session, turn.rowid, turn.rowid))
    if row is not None and (turn.kind, row[1]) != ("prompt", "prompt"):  # else the next thing said was a prompt again
        turn.other_ref, turn.other_text = f"t{row[0]}", passages.searchable(_blocks(row[2]))


def _blocks(content: str) -> list[Any]:
    found = parse(content)
    return found if isinstance(found, list) else []


def _marks(values: Sequence[object]) -> str:
    return ", ".join("?" * len(values)) or "NULL"
