"""How the store grows: its size, its memories and its turns, one row a day; and what is done once a day along with that."""

from __future__ import annotations

from tenon.store import latency, usage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tenon.store.db import Store

DAY_S = 86400

IS_NOTED = "SELECT 1 FROM growth WHERE day = ?"
NOTE = "INSERT OR REPLACE INTO growth (day, bytes, memories, turns) VALUES (?, ?, ?, ?)"
SINCE = "SELECT day, bytes, memories, turns FROM growth WHERE day >= ? ORDER BY day"
PAGES = ("PRAGMA page_count", "PRAGMA page_size")
MEMORIES = "SELECT count(*) FROM memory WHERE status = 'live'"
TURNS = "SELECT coalesce(max(id), 0) FROM turn"  # none is ever deleted, and counting a million takes its time


class Size:
    """The store as it was on a day (its number since 1970, UTC)."""

    __slots__ = ("day", "size_bytes", "memories", "turns")

    def __init__(self, day: int, size_bytes: int, memories: int, turns: int) -> None:
        self.day = day
        self.size_bytes = size_bytes
        self.memories = memories
        self.turns = turns


def daily(store: Store, now: float) -> bool:
    """Notes the day's size and drops old usage and latency; False when that was done today, which is one look."""
    day = int(now // DAY_S)
    if store.value(IS_NOTED, (day,)) is not None:
        return False
    here = measured(store, now)
    with store.transaction():
        store.execute(NOTE, (here.day, here.size_bytes, here.memories, here.turns))
        usage.prune(store, now)
        latency.prune(store, now)
    return True


def measured(store: Store, now: float) -> Size:
    """The store as it is now."""
    pages, each = (int(store.value(query)) for query in PAGES)
    return Size(int(now // DAY_S), pages * each, int(store.value(MEMORIES)), int(store.value(TURNS)))


def since(store: Store, at: float) -> list[Size]:
    """The days that were noted from that time on, oldest first."""
    return [Size(*row) for row in store.rows(SINCE, (int(at // DAY_S),))]
