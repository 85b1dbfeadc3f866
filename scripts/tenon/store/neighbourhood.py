"""What stands around a memory, two steps out: by links, by associations, by having taken its place or given it up."""

from __future__ import annotations

from tenon.store.memories import COLUMNS, Memory
from tenon.store.nearby import faded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from tenon.store.db import Store

MOST = 50  # memories, with the one in the middle
STEPS = 2
EACH = 16  # links of one memory that are followed
LEAST = 0.05  # a weaker association is none
SUPERSEDES = "supersedes"

EDGES = "SELECT id, origin, target, kind, status, strength FROM edge WHERE status <> 'rejected' AND (origin IN ({rows}) OR target IN ({rows})) ORDER BY strength DESC, id LIMIT ?"
ASSOCIATIONS = "SELECT a, b, strength, since FROM association WHERE a IN ({rows}) OR b IN ({rows}) ORDER BY strength DESC, a, b LIMIT ?"
SUCCESSIONS = "SELECT successor, id FROM memory WHERE successor IN ({rows}) OR id IN ({rows}) AND successor IS NOT NULL ORDER BY id DESC LIMIT ?"
BY_ROWS = f"SELECT {COLUMNS} FROM memory WHERE id IN ({{rows}})"


class Link:
    """Two memories (rows) that are linked; `kind` is an edge's, or «associated»; only an association has no direction."""

    __slots__ = ("origin", "target", "kind", "status", "strength")

    def __init__(self, origin: int, target: int, kind: str, status: str, strength: float) -> None:
        self.origin = origin
        self.target = target
        self.kind = kind
        self.status = status
        self.strength = strength


def around(store: Store, memory: Memory, now: float) -> tuple[list[tuple[Memory, int]], list[Link]]:
    """The memory and those around it, each with how many steps away it is, nearest first, and every link between two of them."""
    away = {memory.id: 0}
    rim = [memory.id]
    for step in range(1, STEPS + 1):
        reached: dict[int, None] = {}
        for row in rim:
            followed = sorted(_links(store, [row], now, 4 * EACH), key=lambda link: (-link.strength, link.origin, link.target))[:EACH]
            reached.update(dict.fromkeys(end for link in followed for end in (link.origin, link.target) if end not in away))
        for row in list(reached)[: MOST - len(away)]:
            away[row] = step
        rim = [row for row in reached if row in away]
    found = {row[0]: Memory(row) for row in store.rows(BY_ROWS.format(rows=_marks(away)), tuple(away))}
    between = [link for link in _links(store, list(away), now, 40 * MOST) if link.origin in found and link.target in found]
    return [(found[row], step) for row, step in away.items() if row in found], between


def _links(store: Store, rows: Sequence[int], now: float, limit: int) -> list[Link]:
    """The links of these memories; that one has superseded another is told once, whether by a link or by itself."""
    marks = _marks(rows)
    found = [Link(a, b, kind, status, float(strength)) for _, a, b, kind, status, strength in store.rows(EDGES.format(rows=marks), (*rows, *rows, limit))]
    told = {(link.origin, link.target) for link in found if link.kind == SUPERSEDES}
    for new, old in store.rows(SUCCESSIONS.format(rows=marks), (*rows, *rows, limit)):
        if (new, old) not in told:
            found.append(Link(int(new), int(old), SUPERSEDES, "approved", 1.0))
    for a, b, strength, since in store.rows(ASSOCIATIONS.format(rows=marks), (*rows, *rows, limit)):
        left = faded(strength, since, now)
        if left >= LEAST:
            found.append(Link(int(a), int(b), "associated", "", left))
    return found


def _marks(values: Collection[object]) -> str:
    return ", ".join("?" * len(values)) or "NULL"
