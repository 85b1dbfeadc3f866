"""The sign bits of vectors in blocks that are looked through whole.

Each place (a model, a kind and a repository) has open blocks, which are small so that one more row is a small write and
lie row after row; once the open ones hold enough rows they become one sealed block, which lies column after column, as
the scan wants it. A deleted row leaves an empty place; a block that is mostly empty is packed anew. Everything happens
in the caller's transaction, so a killed process leaves blocks and vectors that agree.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tenon.store.db import Store
    from tenon.store.vectors import Model

OPEN_BYTES = 16384  # of signs in an open block
SEALED_ROWS = 8192
ONE_BY_ONE = 32  # rows that are blanked where they are; for more the block is written anew
MARKS = 500  # values bound to one statement

HELD = "SELECT coalesce(sum(count), 0) FROM block WHERE model = ? AND kind = ? AND repository = ? AND sealed = 0"
OPEN_ONES = "SELECT id, count, rows, signs FROM block WHERE model = ? AND kind = ? AND repository = ? AND sealed = 0 ORDER BY id"
LAST_OPEN = OPEN_ONES + " DESC LIMIT 1"
DROP_OPEN = "DELETE FROM block WHERE model = ? AND kind = ? AND repository = ? AND sealed = 0"
BLOCK = "SELECT b.sealed, b.count, b.rows, b.signs, m.dims FROM block b JOIN model m ON m.id = b.model WHERE b.id = ?"
ADD_BLOCK = "INSERT INTO block (model, kind, repository, sealed, count, rows, signs) VALUES (?, ?, ?, ?, ?, ?, ?)"
SET_BLOCK = "UPDATE block SET count = ?, rows = ?, signs = ? WHERE id = ?"
DROP_BLOCK = "DELETE FROM block WHERE id = ?"
ADD_VECTOR = "INSERT INTO vector (kind, row, model, block, codes) VALUES (?, ?, ?, ?, ?)"
MOVE_VECTOR = "UPDATE vector SET block = ? WHERE kind = ? AND row = ? AND model = ?"
HERE = "FROM vector WHERE kind = ? AND row IN ({marks}) AND (model = ? OR ? IS NULL)"
BLOCKS_OF = f"SELECT block, row {HERE}"
DROP_VECTORS_OF = "DELETE FROM vector WHERE block = ?"
DROP_VECTORS = f"DELETE {HERE}"


def width(dims: int) -> int:
    """The bytes of the signs of one vector."""
    return (dims + 7) // 8


def is_sound(count: int, rows: object, signs: object, size: int) -> bool:
    """Whether a block holds as many rows, and signs of that size, as it says."""
    return isinstance(rows, bytes) and isinstance(signs, bytes) and len(rows) == 4 * count and len(signs) == size * count


def numbers(packed: bytes) -> list[int]:
    """The row numbers of a block, in its order; 0 for a deleted one."""
    if sys.byteorder == "little":
        return memoryview(packed).cast("I").tolist()
    return [int.from_bytes(packed[at : at + 4], "little") for at in range(0, len(packed), 4)]


def append(store: Store, model: Model, kind: int, repository: int, items: Sequence[tuple[int, bytes, bytes]]) -> None:
    """Writes vectors that the model does not have yet: (row, codes, signs) each."""
    place = (model.id, kind, repository)
    most = max(1, OPEN_BYTES // width(model.dims))
    held = int(store.value(HELD, place))
    at = 0
    while True:
        if held >= SEALED_ROWS:
            _seal(store, place, width(model.dims))
            held = 0
        if at >= len(items):
            return
        block, count, rows, signs = store.one(LAST_OPEN, place) or (0, most, b"", b"")
        if count >= most or not is_sound(count, rows, signs, width(model.dims)):
            block, count, rows, signs = 0, 0, b"", b""
        taken = items[at : at + min(most - count, SEALED_ROWS - held)]
        count, rows, signs = count + len(taken), rows + _packed(row for row, _, _ in taken), signs + b"".join([own for _, _, own in taken])
        if block:
            store.execute(SET_BLOCK, (count, rows, signs, block))
        else:
            block = int(store.execute(ADD_BLOCK, (*place, 0, count, rows, signs)).lastrowid or 0)
        store.con.executemany(ADD_VECTOR, [(kind, row, model.id, block, codes) for row, codes, _ in taken])
        at += len(taken)
        held += len(taken)


def take_out(store: Store, kind: int, rows: Sequence[int], model: int | None = None) -> None:
    """Deletes the rows' vectors, of one model or of all, and their sign bits; unknown rows are none."""
    found: dict[int, set[int]] = {}
    for at in range(0, len(rows), MARKS):
        some = rows[at : at + MARKS]
        marks, values = ", ".join("?" * len(some)), (kind, *some, model, model)
        for block, row in store.rows(BLOCKS_OF.format(marks=marks), values):
            found.setdefault(block, set()).add(row)
        store.execute(DROP_VECTORS.format(marks=marks), values)
    for block, gone in found.items():
        _blank(store, block, gone)


def _blank(store: Store, block: int, gone: set[int]) -> None:
    from tenon.vectors.scan import blanked

    found = store.one(BLOCK, (block,))
    if found is None:
        return
    sealed, count, rows, signs, dims = found
    if not is_sound(count, rows, signs, width(dims)):
        store.execute(DROP_BLOCK, (block,))  # whoever is missing in it is embedded anew
        store.execute(DROP_VECTORS_OF, (block,))
        return
    before = numbers(rows)
    after = [0 if number in gone else number for number in before]
    left = count - after.count(0)
    if not left:
        store.execute(DROP_BLOCK, (block,))
    elif left * 2 < count or len(gone) > ONE_BY_ONE:
        kept, signs = _living(after, signs, width(dims), sealed=bool(sealed))
        store.execute(SET_BLOCK, (len(kept), _packed(kept), _columns(signs, width(dims)) if sealed else signs, block))
    else:
        for at, number in enumerate(before):
            if number in gone:
                signs = blanked(signs, bool(sealed), count, width(dims), at)
        store.execute(SET_BLOCK, (count, _packed(after), signs, block))


def _seal(store: Store, place: tuple[int, int, int], size: int) -> None:
    """Makes one sealed block of what lives in the place's open ones."""
    kept: list[int] = []
    signs: list[bytes] = []
    for _, count, rows, own in store.rows(OPEN_ONES, place):
        if not is_sound(count, rows, own, size):
            continue
        living, bits = _living(numbers(rows), own, size, sealed=False)
        kept += living
        signs.append(bits)
    store.execute(DROP_OPEN, place)
    if kept:
        model, kind, _ = place
        block = store.execute(ADD_BLOCK, (*place, 1, len(kept), _packed(kept), _columns(b"".join(signs), size))).lastrowid
        store.con.executemany(MOVE_VECTOR, [(block, kind, row, model) for row in kept])


def _living(rows: list[int], signs: bytes, size: int, *, sealed: bool) -> tuple[list[int], bytes]:
    """The rows that are not deleted, and their signs row after row."""
    if sealed:
        from tenon.vectors.scan import row_major

        signs = row_major(signs, size)
    if 0 not in rows:
        return rows, signs
    return [row for row in rows if row], b"".join([signs[at * size : (at + 1) * size] for at, row in enumerate(rows) if row])


def _columns(signs: bytes, size: int) -> bytes:
    from tenon.vectors.scan import columns

    return columns(signs, size)


def _packed(rows: Iterable[int]) -> bytes:
    return b"".join([row.to_bytes(4, "little") for row in rows])
