"""What memories and spoken passages mean, as vectors of one or several embedding models, and which of them are nearest.

The table that comes with Tenon embeds whatever is written, as it is written; any other model follows in the background,
row by row, behind a watermark. The signs of all vectors are looked through for a short list (store/blocks.py), and the
codes of the few on it give the exact cosine. Reading is on the path of every prompt.
"""

from __future__ import annotations

import sys

from tenon.base.errors import TenonError
from tenon.base.text import BESIDE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tenon.store.db import Store
    from tenon.vectors.table import Table

MEMORY, PASSAGE = 0, 1
BUILTIN = "builtin:"  # the names of the tables that come with Tenon begin so
LARGEST = 16384  # dimensions
CHANCE, SPREAD = 0.119, 0.11  # Model has them: those of the built-in table, by the sentences of world/backlog.py
MARKS = 500  # values bound to one statement

MODELS = "SELECT id, name, dims, mean, ready, chance, spread FROM model ORDER BY id"
NAMED = "SELECT id, name, dims, mean, ready, chance, spread FROM model WHERE name = ?"
ADD_MODEL = "INSERT INTO model (name, dims, mean, chance, spread) VALUES (?, ?, ?, ?, ?)"
ANOTHER_READY = f"SELECT 1 FROM model WHERE ready IS NOT NULL AND substr(name, 1, {len(BUILTIN)}) <> '{BUILTIN}' LIMIT 1"
STILL = "SELECT 1 FROM model WHERE id = ? AND name = ? AND dims = ?"
DROP_MODEL = ("DELETE FROM vector WHERE model = ?", "DELETE FROM block WHERE model = ?", "DELETE FROM model WHERE id = ?")
READY = "SELECT ready FROM model WHERE id = ?"
SET_READY = "UPDATE model SET ready = strftime('%s', 'now') WHERE id = ?"
WATERMARK = ("SELECT memories FROM model WHERE id = ?", "SELECT passages FROM model WHERE id = ?")
RAISE = ("UPDATE model SET memories = ? WHERE id = ? AND memories < ?", "UPDATE model SET passages = ? WHERE id = ? AND passages < ?")
LOWER = ("UPDATE model SET memories = ? WHERE id <> ? AND memories > ?", "UPDATE model SET passages = ? WHERE id <> ? AND passages > ?")
LOWER_OTHERS = tuple(f"{query} AND substr(name, 1, {len(BUILTIN)}) <> '{BUILTIN}'" for query in LOWER)
BEGIN_AGAIN = ("UPDATE model SET memories = 0, ready = NULL", "UPDATE model SET passages = 0, ready = NULL")
EMPTY = ("DELETE FROM vector WHERE kind = ?", "DELETE FROM block WHERE kind = ?")
BLOCKS = "SELECT sealed, count, signs, rows FROM block WHERE model = ? AND kind = ? {scope} ORDER BY id"
AMONG = "SELECT coalesce(sum(count), 0) FROM block WHERE model = ? AND kind = ? {scope}"
CODES = "SELECT row, codes FROM vector WHERE kind = ? AND model = ? AND row IN ({marks})"
# What a model is to have a vector of: memories that may still surface, and what people and models said.
WANTED = (
    "FROM memory x WHERE x.status <> 'superseded'",
    "FROM passage x CROSS JOIN turn t ON t.id = x.turn WHERE t.kind IN ('prompt', 'reply')",
)
BARE = tuple(
    f"{wanted} AND x.id > ? AND x.id < ? AND NOT EXISTS (SELECT 1 FROM vector v WHERE v.kind = {kind} AND v.row = x.id AND v.model = ?)"
    for kind, wanted in enumerate(WANTED)
)
MISSING = (
    f"SELECT x.id, x.repository, x.text, NULL, NULL, NULL, NULL {BARE[MEMORY]} ORDER BY x.id LIMIT ?",
    f"SELECT x.id, x.repository, t.content, x.first, x.last, t.session, CASE WHEN x.id = (SELECT min(id) FROM passage WHERE turn = t.id) THEN t.id END {BARE[PASSAGE]} ORDER BY x.id LIMIT ?",
)
HOLE = tuple(f"SELECT 1 {bare} LIMIT 1" for bare in BARE)
COUNT = tuple(f"SELECT count(*) {wanted}" for wanted in WANTED)
COUNT_BARE = tuple(f"SELECT count(*) {bare}" for bare in BARE)
END = 1 << 62


def beside(text: str, near: str) -> str:
    """The text of a vector that also stands for what is said beside it, which counts half; `near` is as store/index.py has it."""
    return text + BESIDE + near if near else text


class Model:
    """An embedding model that the store has vectors of; `ready` is when it had all of them for the first time.

    chance, spread: the mean and the standard deviation of its cosines between sentences that have nothing to do with each other.
    """

    __slots__ = ("id", "name", "dims", "mean", "ready", "chance", "spread")

    def __init__(self, number: int, name: str, dims: int, mean: bytes, ready: float | None, chance: float, spread: float) -> None:
        self.id = number
        self.name = name
        self.dims = dims
        sound = isinstance(mean, bytes) and len(mean) == 2 * dims
        self.mean = _whole_numbers(mean) if sound else [0] * dims  # of a damaged one: signs are taken around nothing, and cosines stay exact
        self.ready = ready
        self.chance = chance
        self.spread = spread


def builtin(store: Store) -> Model | None:
    """The model of the table that comes with Tenon, or None where there is no table, or the store has not met it and cannot be written."""
    from tenon.vectors.table import shared

    table = shared()
    return None if table is None else _builtin(store, table)


def named(store: Store, name: str) -> Model | None:
    """The model of that name, or None when the store has no vectors of one."""
    row = store.one(NAMED, (name,))
    return Model(*row) if row else None


def models(store: Store) -> list[Model]:
    """All models that the store knows, the oldest first."""
    return [Model(*row) for row in store.rows(MODELS)]


def is_ready(store: Store) -> bool:
    """Whether a model besides the built-in table's has had vectors of everything, so that it can be asked."""
    return store.one(ANOTHER_READY) is not None


def choose(store: Store, name: str, dims: int, mean: list[int], chance: float = CHANCE, spread: float = SPREAD) -> Model:
    """The model of that name, which is added when it is new; `mean` is of its unit vectors (times 32768).

    `chance` and `spread` are as Model has them, those of the built-in table when they are not said. Of an old model all three stay.

    Raises TenonError for a size that is none, or another one than the store has vectors of under that name.
    """
    if not 0 < dims <= LARGEST or len(mean) != dims:
        raise TenonError(f"a model of {dims} dimensions cannot be kept: there may be 1 to {LARGEST}, with a mean of as many")
    with store.transaction():
        known = named(store, name)
        if known is None:
            short = b"".join([min(32767, max(-32768, value)).to_bytes(2, "little", signed=True) for value in mean])
            number = store.execute(ADD_MODEL, (name, dims, short, chance, spread)).lastrowid
            known = Model(int(number or 0), name, dims, short, None, chance, spread)
            _see_whether_ready(store, known)
            known = named(store, name) or known
        if known.dims != dims:
            raise TenonError(
                f"'{name}' gives vectors of {dims} dimensions now, and the memory has ones of {known.dims} from it; "
                "`tenon embed rebuild` makes them anew, or choose another model with `tenon embed model NAME`"
            )
    return known


def remove(store: Store, model: Model) -> None:
    """Deletes the model and all of its vectors."""
    with store.transaction():
        for query in DROP_MODEL:
            store.execute(query, (model.id,))


def add(store: Store, kind: int, items: Iterable[tuple[int, int | None, str]]) -> int:
    """How many of the texts, (row, repository or None, text) each, the built-in table has embedded; the other models find them missing.

    Without a table there is nothing to embed with, and they are missing there too, until there is one.
    """
    given = sorted(items, key=_row)
    if not given:
        return 0
    from tenon.vectors.table import shared

    table = shared()
    first, last = given[0][0], given[-1][0]
    with store.transaction():
        model = None if table is None else _builtin(store, table)
        store.execute(LOWER[kind], (first - 1, model.id if model else 0, first - 1))
        if table is None or model is None:
            return 0
        try:
            known = [(row, repository, unit) for row, repository, text in given if (unit := table.embed(text)) is not None]
        except OSError:  # an update has put another table in its place: the next process finds them missing
            store.execute(LOWER[kind], (first - 1, 0, first - 1))
            return 0
        put(store, model, kind, known)
        if not _hole(store, model, kind, first):
            store.execute(RAISE[kind], (last, model.id, last))
            if model.ready is None:
                _see_whether_ready(store, model)
    return len(known)


def put(store: Store, model: Model, kind: int, items: Iterable[tuple[int, int | None, list[int]]]) -> int:
    """How many vectors were written, (row, repository or None, unit vector) each; a row's earlier one is replaced.

    Raises TenonError for a vector of another size than the model's, and for a model that was removed meanwhile.
    """
    from tenon.store import blocks
    from tenon.vectors.codes import pack, signs

    places: dict[int, dict[int, tuple[int, bytes, bytes]]] = {}
    rows: dict[int, int] = {}
    for row, repository, unit in items:
        if len(unit) != model.dims:
            raise TenonError(f"'{model.name}' has given a vector of {len(unit)} dimensions instead of {model.dims}; nothing was kept of it")
        if row in rows:
            places[rows[row]].pop(row)
        rows[row] = repository or 0
        places.setdefault(rows[row], {})[row] = (row, pack(unit), signs(unit, model.mean))
    if not rows:
        return 0
    with store.transaction():
        if store.one(STILL, (model.id, model.name, model.dims)) is None:
            raise TenonError(f"the vectors of '{model.name}' were removed meanwhile; begin again")
        blocks.take_out(store, kind, list(rows), model.id)
        for repository, known in places.items():
            blocks.append(store, model, kind, repository, list(known.values()))
    return len(rows)


def drop(store: Store, kind: int, rows: Iterable[int], *, again: bool = False) -> None:
    """Deletes the rows' vectors of all models; with `again` they have another text now, and the other models find them missing."""
    from tenon.store import blocks

    gone = list(rows)
    if gone:
        with store.transaction():
            blocks.take_out(store, kind, gone)
            if again:
                before = min(gone) - 1
                store.execute(LOWER_OTHERS[kind], (before, 0, before))


def clear(store: Store, kind: int) -> None:
    """Deletes all vectors of a kind, of all models, which find everything missing and are not ready then."""
    with store.transaction():
        for query in EMPTY:
            store.execute(query, (kind,))
        store.execute(BEGIN_AGAIN[kind])


def nearest(store: Store, model: Model, kind: int, unit: list[int], scope: Sequence[int] | None, wanted: int) -> list[int]:
    """About so many rows, or up to twice as many, that are nearest to the unit vector, in about that order; `cosines` tells exactly.

    `scope` holds repository numbers; what is true for the agent everywhere always counts. None is everything.
    """
    from tenon.vectors.scan import shortlist

    where, values = _place(model, kind, scope)
    looked = store.rows(BLOCKS.format(scope=where), values)
    hits = shortlist(unit, [(bool(sealed), count, signs) for sealed, count, signs, _ in looked], wanted)
    found = [int.from_bytes(looked[block][3][4 * at : 4 * at + 4], "little") for block, at in hits]
    return [row for row in found if row]


def among(store: Store, model: Model, kind: int, scope: Sequence[int] | None) -> int:
    """How many vectors `nearest` looks through."""
    where, values = _place(model, kind, scope)
    return int(store.value(AMONG.format(scope=where), values))


def _place(model: Model, kind: int, scope: Sequence[int] | None) -> tuple[str, list[int]]:
    if scope is None:
        return "", [model.id, kind]
    here = [0, *scope] if kind == MEMORY else list(scope)
    return f"AND repository IN ({', '.join('?' * len(here)) or 'NULL'})", [model.id, kind, *here]


def cosines(store: Store, model: Model, kind: int, unit: list[int], rows: Sequence[int]) -> dict[int, float]:
    """The cosine to the unit vector of each of the rows that the model has a vector of."""
    from tenon.vectors import codes

    found: list[tuple[int, bytes]] = []
    for at in range(0, len(rows), MARKS):
        some = rows[at : at + MARKS]
        found += store.rows(CODES.format(marks=", ".join("?" * len(some))), (kind, model.id, *some))
    return dict(zip([row for row, _ in found], codes.cosines(unit, [packed for _, packed in found])))


def calibrated(model: Model, cosine: float) -> float:
    """What a cosine of the model's is on the scale of the built-in table, by how far it is from chance; of that table itself, the same.

    Recall's thresholds are the table's, and models differ: with many of them what has nothing in common has a cosine of 0.5 or more.
    """
    if model.name.startswith(BUILTIN) or model.spread <= 0.0:
        return cosine
    return max(-1.0, min(1.0, CHANCE + (cosine - model.chance) / model.spread * SPREAD))


def missing(store: Store, model: Model, limit: int) -> list[tuple[int, int, int | None, str]]:
    """What the model is still to embed: at most so many (kind, row, repository or None, text), in the order in which to do it.

    Who embeds outside of a transaction asks again inside the one that writes, and keeps what is still the same: a text may
    have been revised or forgotten meanwhile.
    """
    found: list[tuple[int, int, int | None, str]] = []
    for kind in (MEMORY, PASSAGE):
        if len(found) < limit:
            found += _bare(store, model.id, kind, _watermark(store, model, kind), limit - len(found))
    return found


def bare(store: Store, name: str, limit: int) -> list[tuple[bool, str]]:
    """At most so many texts that the model of that name has no vector of, and of each whether `missing` will not name it any more."""
    model = named(store, name)
    found: list[tuple[bool, str]] = []
    for kind in (MEMORY, PASSAGE):
        mark = _watermark(store, model, kind) if model else 0
        found += [(row <= mark, text) for _, row, _, text in _bare(store, model.id if model else 0, kind, 0, limit - len(found))]
    return found


def passed(store: Store, model: Model, kind: int, row: int) -> None:
    """Notes that a row of `missing` is dealt with, embedded or not; to be called for each, in their order."""
    with store.transaction():
        if not _hole(store, model, kind, row):
            store.execute(RAISE[kind], (row, model.id, row))
        _see_whether_ready(store, model)


def progress(store: Store, model: Model) -> tuple[int, int]:
    """How many texts the model has dealt with, and how many there are."""
    total = sum(int(store.value(query)) for query in COUNT)
    left = sum(int(store.value(COUNT_BARE[kind], (_watermark(store, model, kind), END, model.id))) for kind in (MEMORY, PASSAGE))
    return total - left, total


def _row(item: tuple[int, int | None, str]) -> int:
    return item[0]


def _builtin(store: Store, table: Table) -> Model | None:
    known = named(store, table.name)
    return choose(store, table.name, table.dims, table.mean) if known is None and store.writable else known


def _watermark(store: Store, model: Model, kind: int) -> int:
    return int(store.value(WATERMARK[kind], (model.id,)) or 0)


def _bare(store: Store, model: int, kind: int, after: int, limit: int) -> Iterator[tuple[int, int, int | None, str]]:
    """What the model has no vector of, from the rows after that one."""
    from tenon.store import nearby, passages

    while limit > 0:
        rows = store.rows(MISSING[kind], (after, END, model, limit))
        for row, repository, text, first, last, session, turn in rows:
            told = text if first is None else passages.of_stored(text)[first:last]
            if turn is not None:
                told = beside(told, nearby.of(store, session, turn))
            after = row
            if told.strip():  # a damaged turn says nothing
                limit -= 1
                yield kind, row, repository, told
        if not rows:
            return


def _hole(store: Store, model: Model, kind: int, row: int) -> bool:
    """Whether a row between the watermark and this one has no vector yet."""
    return store.one(HOLE[kind], (_watermark(store, model, kind), row, model.id)) is not None


def _see_whether_ready(store: Store, model: Model) -> None:
    if store.value(READY, (model.id,)) is None and not missing(store, model, 1):
        store.execute(SET_READY, (model.id,))
        if model.name.startswith(BUILTIN):  # nobody can ask an earlier table any more
            for earlier in models(store):
                if earlier.name.startswith(BUILTIN) and earlier.id != model.id:
                    remove(store, earlier)


def _whole_numbers(packed: bytes) -> list[int]:
    if sys.byteorder == "little":
        return memoryview(packed).cast("h").tolist()
    return [int.from_bytes(packed[at : at + 2], "little", signed=True) for at in range(0, len(packed), 2)]
