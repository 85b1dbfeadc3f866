"""Digests as they are looked through: newest first, with what all of a page did and cost in one look each."""

from __future__ import annotations

from tenon.store import digests, spending
from tenon.store.digests import Digest
from tenon.store.spending import Spent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from tenon.store.db import Store

BY_MODEL = "by a model"  # all phases but what plain code spots
LIST = f"SELECT {digests.COLUMNS} FROM digest WHERE id < ? {{more}} ORDER BY id DESC LIMIT ?"
COUNTS = "SELECT digest, deed, count(*) FROM step WHERE digest IN ({marks}) GROUP BY digest, deed"
SPENT = spending.SUM.replace("SELECT", "SELECT digest,").replace("at < ?", "digest IN ({marks}) GROUP BY digest")
REQUESTS = "SELECT at, purpose, runner, model, reserved, reported, input, written, read, output, dollars FROM spending WHERE at >= ? AND digest = ? ORDER BY id LIMIT ?"
TURNS = "SELECT t.id, t.kind, t.at, s.name FROM turn t JOIN session s ON s.id = t.session WHERE t.id IN ({marks}) ORDER BY t.id"
HAS_SPOTTING = "SELECT 1 FROM digest WHERE phase = 'spotting' LIMIT 1"
SPOTTED = "SELECT count(*) FROM digest WHERE phase = 'spotting' AND id >= ?"
EARLIER_S = 60.0  # a request is noted after its digest has begun; clocks are set


class Request:
    """One request to a model: what it was for, what it might have taken, and what was reported of it; `dollars` is None where they were not."""

    __slots__ = ("at", "purpose", "runner", "model", "reserved", "reported", "input", "written", "read", "output", "dollars")

    def __init__(self, row: Sequence[object]) -> None:
        for name, value in zip(self.__slots__, row):
            setattr(self, name, value)


def newest(store: Store, before: int, limit: int, *, phase: str = BY_MODEL, state: str = "", repository: Sequence[int] | None = None) -> list[Digest]:
    """The digests with smaller numbers than `before`, newest first; `phase` is one of digests.PHASES, BY_MODEL, or «» for all."""
    more = ""
    values: list[object] = []
    if phase:
        more += "AND phase <> 'spotting' " if phase == BY_MODEL else "AND phase = ? "
        values += [] if phase == BY_MODEL else [phase]
    if state:
        more += "AND state = ? "
        values.append(state)
    if repository is not None:
        more += f"AND repository IN ({_marks(repository)})"
        values += repository
    return [Digest(row) for row in store.rows(LIST.format(more=more), (before, *values, limit))]


def counts(store: Store, numbers: Sequence[int]) -> dict[int, dict[str, int]]:
    """Of each digest, how often it did what."""
    found: dict[int, dict[str, int]] = {number: {} for number in numbers}
    for number, deed, count in store.rows(COUNTS.format(marks=_marks(numbers)), numbers):
        found[int(number)][str(deed)] = int(count)
    return found


def spent(store: Store, found: Sequence[Digest]) -> dict[int, Spent]:
    """What each of the digests has cost; those that cost nothing are not named."""
    numbers = [one.id for one in found]
    since = min((one.at for one in found), default=0.0) - EARLIER_S
    return {int(row[0]): Spent(row[1:]) for row in store.rows(SPENT.format(marks=_marks(numbers)), (since, *numbers))}


def requests(store: Store, one: Digest, limit: int) -> list[Request]:
    """The first requests of a digest."""
    return [Request(row) for row in store.rows(REQUESTS, (one.at - EARLIER_S, one.id, limit))]


def turns(store: Store, numbers: Sequence[int]) -> list[tuple[int, str, float, str]]:
    """Of each of the turns its number, kind, time, and the client's id of its session."""
    return [(int(turn), str(kind), float(at), str(name)) for turn, kind, at, name in store.rows(TURNS.format(marks=_marks(numbers)), numbers)]


def has_spotting(store: Store) -> bool:
    """Whether plain code has spotted anything yet."""
    return store.value(HAS_SPOTTING) is not None


def _marks(values: Sequence[object]) -> str:
    return ", ".join("?" * len(values)) or "NULL"


def spotted(store: Store, since: int = 0) -> int:
    """How often plain code spotted something, from the digest of that number on."""
    return int(store.value(SPOTTED, (since,)))
