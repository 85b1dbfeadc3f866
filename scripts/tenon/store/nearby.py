"""What stands near by its place and not by words: what was said beside a turn, what an edge leads to.

On the path of every prompt: reads only.
"""

from __future__ import annotations

from tenon.store import index, passages

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from tenon.store.db import Store
    from tenon.store.search import Candidate

BEFORE, AFTER = 2, 1  # spoken turns of the same session and thread whose first words a spoken turn is indexed with
_SPOKEN = "SELECT content FROM turn WHERE session = ? AND thread = (SELECT thread FROM turn WHERE id = ?) AND kind IN ('prompt', 'reply') AND id"
BESIDE = (f"{_SPOKEN} < ? ORDER BY id DESC LIMIT {BEFORE}", f"{_SPOKEN} > ? ORDER BY id LIMIT {AFTER}")

LINKED = (
    "SELECT origin, target, strength FROM edge WHERE status = 'approved' AND origin IN ({rows}) "
    "UNION ALL SELECT target, origin, strength FROM edge WHERE status = 'approved' AND target IN ({rows}) ORDER BY 3 DESC, 1, 2"
)


def linked(store: Store, rows: Sequence[int]) -> list[tuple[int, int, float]]:
    """The approved edges of these memories, the strongest first: its row, the row of the memory at the other end, the edge's strength."""
    found = store.rows(LINKED.format(rows=", ".join("?" * len(rows)) or "NULL"), (*rows, *rows))
    return [(int(origin), int(target), float(strength)) for origin, target, strength in found]


def surround(store: Store, turns: Sequence[Candidate]) -> None:
    """Notes in each spoken turn the first words of what was said before and after it."""
    for turn in turns:
        if turn.kind in ("prompt", "reply"):
            turn.near = of(store, turn.session, turn.rowid)


def of(store: Store, session: int, turn: int) -> str:
    """The first words of what was said beside a turn of the session, as the index has them."""
    before, after = (store.rows(query, (session, turn, turn)) for query in BESIDE)
    return index.near([index.head(passages.of_stored(content)) for (content,) in (*reversed(before), *after)])
