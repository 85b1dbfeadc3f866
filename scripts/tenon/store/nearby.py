"""What stands near by place or time and not by words: what was said beside a turn, what was said or written in a week.

On the path of every prompt: reads only.
"""

from __future__ import annotations

from tenon.store import index, passages

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from tenon.store.db import Store
    from tenon.store.search import Candidate

_SPOKEN = "SELECT content FROM turn WHERE session = ? AND thread = (SELECT thread FROM turn WHERE id = ?) AND kind IN ('prompt', 'reply') AND id"
BESIDE = (_SPOKEN + " < ? ORDER BY id DESC LIMIT 2", _SPOKEN + " > ? ORDER BY id LIMIT 1")  # as store/archive.py indexes it

TURNS_IN = (
    "SELECT (SELECT min(p.id) FROM passage p WHERE p.turn = t.id) FROM session s CROSS JOIN turn t ON t.session = s.id "
    "WHERE s.last >= ? AND s.started < ? {scope} AND t.at >= ? AND t.at < ? AND t.kind = 'prompt' AND t.forgotten IS NULL ORDER BY t.id DESC LIMIT ?"
)
MEMORIES_IN = "SELECT id FROM memory WHERE {scope} created >= ? AND created < ? ORDER BY created DESC LIMIT ?"

LINKED = (
    "SELECT origin, target, strength FROM edge WHERE status = 'approved' AND origin IN ({rows}) "
    "UNION ALL SELECT target, origin, strength FROM edge WHERE status = 'approved' AND target IN ({rows}) ORDER BY 3 DESC, 1, 2"
)


def linked(store: Store, rows: Sequence[int]) -> list[tuple[int, int, float]]:
    """The approved edges of these memories, the strongest first: its row, the row of the memory at the other end, the edge's strength."""
    found = store.rows(LINKED.format(rows=", ".join("?" * len(rows)) or "NULL"), (*rows, *rows))
    return [(int(origin), int(target), float(strength)) for origin, target, strength in found]


def turns_within(store: Store, window: tuple[float, float], scope: Sequence[int] | None, limit: int) -> list[int]:
    """The first passages of the newest prompts of that time (first second, and the one after the last) in the repositories; None is every one."""
    first, end = window
    where = "" if scope is None else f"AND s.repository IN ({', '.join('?' * len(scope)) or 'NULL'})"
    rows = store.rows(TURNS_IN.format(scope=where), (first, end, *(scope or ()), first, end, limit))
    return [row for (row,) in rows if row is not None]


def memories_within(store: Store, window: tuple[float, float], scope: Sequence[int] | None, limit: int) -> list[int]:
    """The newest memories that were written in that time, in the repositories or for the agent everywhere."""
    where = "" if scope is None else f"(repository IS NULL OR repository IN ({', '.join('?' * len(scope)) or 'NULL'})) AND"
    return [row for (row,) in store.rows(MEMORIES_IN.format(scope=where), (*(scope or ()), *window, limit))]


def surround(store: Store, turns: Sequence[Candidate]) -> None:
    """Notes in each spoken turn the first words of what was said before and after it."""
    for turn in turns:
        if turn.kind in ("prompt", "reply"):
            turn.near = of(store, turn.session, turn.rowid)


def of(store: Store, session: int, turn: int) -> str:
    """The first words of what was said beside a turn of the session, as the index has them."""
    before, after = (store.rows(query, (session, turn, turn)) for query in BESIDE)
    return index.near([index.head(passages.of_stored(content)) for (content,) in (*reversed(before), *after)])
