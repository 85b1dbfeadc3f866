"""Associations: memories that come up together. They have no direction and no kind; each time makes one stronger, each day without weakens it.

A strength is as of a time and fades from there (store/nearby.py says how, as a prompt reads it too). An association joins memories that one
repository sees. Superseded memories take no part: what is said of one counts for what it was superseded by, which inherits its
associations when it takes its place; the old one keeps its own, so that it has them again if it is reopened.
"""

from __future__ import annotations

from tenon.store import places
from tenon.store.journal import COLUMNS as ENTRY
from tenon.store.journal import Entry
from tenon.store.nearby import faded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from tenon.store.db import Store

LEAST = 0.05  # a weaker one is dropped
CHAIN = 50  # memories in a row that superseded one another
SHOWN = ("prompt", "tool", "command")  # events of the journal that answer a cue; a briefing shows the same whatever is asked
CLOSEST = 8  # memories near one that it is held against
TURNS = 20  # of one memory that are looked around

END = "SELECT repository, status, successor FROM memory WHERE id = ?"
ONE = "SELECT strength, since, count FROM association WHERE a = ? AND b = ?"
SET = (
    "INSERT INTO association (a, b, strength, count, since) VALUES (?, ?, ?, ?, ?) "
    "ON CONFLICT (a, b) DO UPDATE SET strength = excluded.strength, count = excluded.count, since = excluded.since"
)
_END = "SELECT x.{end}, x.strength, x.since, x.count FROM association x JOIN memory m ON m.id = x.{end} WHERE x.{start} = ? AND m.status <> 'superseded'"
OF = " UNION ALL ".join(_END.format(start=start, end=end) for start, end in (("a", "b"), ("b", "a")))
ALL = "SELECT a, b, strength, since FROM association"
DROP = "DELETE FROM association WHERE a = ? AND b = ? AND since = ?"
NEWER = "SELECT id FROM memory WHERE id > ? ORDER BY id LIMIT ?"
PLACED = "SELECT t.id, t.session, t.thread FROM lineage l JOIN turn t ON t.id = l.turn WHERE l.memory = ? ORDER BY t.id LIMIT ?"
_PROMPTS = "SELECT id FROM turn WHERE session = ? AND thread = ? AND kind = 'prompt' AND id"
PROMPTS = (f"{_PROMPTS} <= ? ORDER BY id DESC LIMIT 2", f"{_PROMPTS} > ? ORDER BY id LIMIT 2")
BESIDE = (
    "SELECT l.memory, l.turn FROM lineage l CROSS JOIN turn t ON t.id = l.turn "
    "WHERE l.turn >= ? AND l.turn < ? AND l.memory < ? AND t.session = ? AND t.thread = ? ORDER BY abs(l.turn - ?), l.memory DESC LIMIT ?"
)
JOURNAL = f"SELECT {ENTRY} FROM journal WHERE id > ? AND event IN ({', '.join(repr(event) for event in SHOWN)}) ORDER BY id LIMIT ?"
LAST = "SELECT coalesce(max(id), 0) FROM journal"
BY_REF = "SELECT id FROM memory WHERE ref = ?"
END_OF_TIME = 1 << 62


def strengthen(store: Store, pairs: Iterable[tuple[int, int]], now: float, by: float) -> int:
    """How many of the pairs of memories (row numbers) became stronger: faded up to now first, then by this share of what is left to 1.

    A superseded memory stands for what superseded it. Pairs that then are one memory, that no repository sees both of, or that are gone
    are passed over.
    """
    living: dict[int, tuple[int, int | None] | None] = {}
    count = 0
    with store.transaction():
        for pair in pairs:
            for row in pair:
                if row not in living:
                    living[row] = _living(store, row)
            one, other = living[pair[0]], living[pair[1]]
            if one is None or other is None or one[0] == other[0] or not _seen_together(one[1], other[1]):
                continue
            strength, times = _known(store, one[0], other[0], now)
            _set(store, one[0], other[0], strength + by * (1.0 - strength), times + 1, now)
            count += 1
    return count


def of(store: Store, memory_row: int, least: float, limit: int, now: float) -> list[tuple[int, float, int]]:
    """The memories associated with one, the strongest first: row number, strength as of now (at least `least`), how often they came together."""
    if not _is_living(store, memory_row):
        return []
    found = [(int(row), faded(strength, since, now), int(count)) for row, strength, since, count in store.rows(OF, (memory_row, memory_row))]
    return sorted([one for one in found if one[1] >= least], key=lambda one: (-one[1], one[0]))[:limit]


def inherit(store: Store, old: int, successor: int, now: float) -> None:
    """Gives what superseded a memory the associations that it had, where its own are not stronger."""
    heir = _living(store, successor)
    for row, strength, since, count in store.rows(OF, (old, old)) if heir is not None else ():
        end = _living(store, row)
        if end is None or heir is None or end[0] == heir[0] or not _seen_together(end[1], heir[1]):
            continue
        had, times = _known(store, heir[0], end[0], now)
        strength = faded(strength, since, now)
        if strength > had:
            _set(store, heir[0], end[0], strength, max(times, count), now)


def drop_faded(store: Store, now: float) -> int:
    """How many associations were too weak by now and are dropped."""
    weak = [(a, b, since) for a, b, strength, since in store.each(ALL) if faded(strength, since, now) < LEAST]
    with store.transaction():
        return sum(store.execute(DROP, row).rowcount for row in weak)


def newer(store: Store, after: int, limit: int) -> list[int]:
    """The row numbers of the next memories after that one, in the order in which they were written."""
    return [int(row) for (row,) in store.rows(NEWER, (after, limit))]


def beside(store: Store, memory_row: int) -> dict[int, bool]:
    """The earlier memories that came from turns near those of this one, and whether it was the same exchange: else it is the one before or after."""
    found: dict[int, bool] = {}
    for turn, session, thread in store.rows(PLACED, (memory_row, TURNS)):
        before, after = ([int(row) for (row,) in store.rows(query, (session, thread, turn))] for query in PROMPTS)
        first, end = (before or [0])[0], (after or [END_OF_TIME])[0]
        window = ((before or [0])[-1], after[1] if len(after) > 1 else END_OF_TIME)
        for row, place in store.rows(BESIDE, (*window, memory_row, session, thread, turn, CLOSEST)):
            found[int(row)] = found.get(int(row), False) or first <= place < end
    return dict(sorted(found.items(), key=lambda one: (not one[1], -one[0]))[:CLOSEST])


def recalled(store: Store, after: int, limit: int) -> list[Entry]:
    """The next entries of the journal after that number that answered a cue; from the first again where the journal has begun anew."""
    return [Entry(row) for row in store.rows(JOURNAL, (after if after <= store.value(LAST) else 0, limit))]


def rows_of(store: Store, refs: Iterable[str]) -> list[int]:
    """The row numbers of the memories among the refs, in their order."""
    found = [store.value(BY_REF, (ref,)) for ref in refs if ref.startswith("m")]
    return [int(row) for row in found if row is not None]


def _known(store: Store, one: int, other: int, now: float) -> tuple[float, int]:
    """The strength as of now and the count, 0 and 0 where there is no association."""
    row = store.one(ONE, (min(one, other), max(one, other)))
    return (faded(row[0], row[1], now), int(row[2])) if row else (0.0, 0)


def _set(store: Store, one: int, other: int, strength: float, count: int, now: float) -> None:
    store.execute(SET, (min(one, other), max(one, other), min(1.0, max(0.0, strength)), count, now))


def _living(store: Store, row: int) -> tuple[int, int | None] | None:
    """The memory, or the one at the end of those that superseded it, with the repository that it belongs to; None when that was closed or is gone."""
    for _ in range(CHAIN):
        found = store.one(END, (row,))
        if found is None:
            return None
        repository, status, successor = found
        if status != "superseded":
            return row, None if repository is None else places.canonical(store, repository)
        if successor is None:
            return None
        row = int(successor)
    return None


def _is_living(store: Store, row: int) -> bool:
    found = _living(store, row)
    return found is not None and found[0] == row


def _seen_together(one: int | None, other: int | None) -> bool:
    """Whether one repository sees the memories of both: of itself, or of the agent."""
    return one is None or other is None or one == other
