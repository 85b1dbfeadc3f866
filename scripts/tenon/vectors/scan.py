"""The rows whose sign codes agree best with a vector, without looking at any row by itself.

Each byte of a code holds the signs of eight dimensions, so the share of a row's score that one byte gives is looked up in
a table of 256 entries: the vector's numbers, each with the sign of the bit (the asymmetric distance of Jegou, Douze and
Schmid 2011, for sign codes). With the codes of a block stored by columns, `bytes.translate` looks up a column of rows at
once, and adding columns as big integers adds a row in each byte. Sixteen columns fit in a byte; their sums are added up
in lanes of two. What comes out is approximate: take some 200 rows and compare those by their full codes.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

CHUNK = 131_072  # rows at a time: what is added up stays in the processor's cache
TOGETHER = 16  # columns added up in a byte


def columns(rows: bytes, width: int) -> bytes:
    """The codes by columns, from codes of `width` bytes row by row."""
    return b"".join([rows[column::width] for column in range(width)])


def row_major(signs: bytes, width: int) -> bytes:
    """The codes row by row, from codes by columns."""
    count = len(signs) // width
    rows = bytearray(len(signs))
    for column in range(width):
        rows[column::width] = signs[column * count : column * count + count]
    return bytes(rows)


def blanked(signs: bytes, sealed: bool, count: int, width: int, position: int) -> bytes:
    """The block's codes with nothing left of one row. Sealed blocks are stored by columns, open ones row by row."""
    left = bytearray(signs)
    if sealed:
        left[position::count] = bytes(width)
    else:
        left[position * width : position * width + width] = bytes(width)
    return bytes(left)


def shortlist(vector: list[int], blocks: Sequence[tuple[bool, int, bytes]], wanted: int) -> list[tuple[int, int]]:
    """Block number and position of about the best `wanted` rows, in no particular order, and not over twice as many; all rows when there are no more.

    A block is: whether it is sealed, how many rows, their codes. One of another size than its rows need is passed over.
    Blanked rows may be among those found. Which rows are found does not depend on the order of the blocks, save among equals.
    """
    width = (len(vector) + 7) // 8
    kept = [(number, *block) for number, block in enumerate(blocks) if block[1] and len(block[2]) == block[1] * width]
    places = [(number, count) for sealed in (True, False) for number, is_sealed, count, _ in kept if is_sealed == sealed]
    total = sum([count for _, count in places])
    if not width or wanted < 1 or not total:
        return []
    if total <= wanted:
        return [(number, position) for number, count in places for position in range(count)]
    by_columns = [(count, signs) for _, sealed, count, signs in kept if sealed]
    by_rows = b"".join([signs for _, sealed, _, signs in kept if not sealed])
    return _located(_best(_scores(_tables(vector, width), by_columns, by_rows), wanted), places)


def _tables(vector: list[int], width: int) -> list[bytes]:
    """For each column what a row's byte adds to its score, so that TOGETHER of them never go over 255."""
    together = _together(width)
    weights = [abs(value) for value in vector] + [0] * (width * 8 - len(vector))
    shares = [sum(weights[8 * start : 8 * (start + together)]) for start in range(0, width, together)]
    most = max(shares) or 1
    room = (255 << 8) - 128 * together  # in 256ths; half a point for the rounding of each table
    tables = []
    for column in range(width):
        lanes = _HALVES
        for bit in range(8):
            place = 8 * column + bit
            if place < len(vector):
                lanes += _BITS[bit][vector[place] > 0] * (weights[place] * room // most)
        tables.append(lanes.to_bytes(512, "little")[1::2])
    return tables


def _scores(tables: list[bytes], sealed: list[tuple[int, bytes]], rows: bytes) -> bytes:
    """A byte for each row, the sealed ones first: the higher, the nearer."""
    width = len(tables)
    scores = []
    batch: list[tuple[int, bytes]] = []
    held = 0
    for count, signs in sealed:
        batch.append((count, signs))
        held += count
        if held >= CHUNK:
            scores.append(_added(tables, held, batch, b""))
            batch = []
            held = 0
    step = CHUNK * width
    for start in range(0, len(rows), step):
        piece = rows[start : start + step]
        scores.append(_added(tables, held + len(piece) // width, batch, piece))
        batch = []
        held = 0
    if batch:
        scores.append(_added(tables, held, batch, b""))
    return b"".join(scores)


def _added(tables: list[bytes], size: int, sealed: list[tuple[int, bytes]], rows: bytes) -> bytes:
    """The scores of the rows of some sealed blocks and of rows behind them."""
    width = len(tables)
    together = _together(width)
    number = int.from_bytes
    groups = []
    total = 0
    for column, table in enumerate(tables):
        slices = [signs[column * count : column * count + count] for count, signs in sealed]
        slices.append(rows[column::width])
        total += number(b"".join(slices).translate(table), "little")
        if (column + 1) % together == 0 or column + 1 == width:
            groups.append(total)
            total = 0
    if len(groups) == 1:
        return groups[0].to_bytes(size, "little")
    size_even = size + size % 2
    mask = number(b"\xff\x00" * (size_even // 2), "little")
    even = sum([group & mask for group in groups])
    odd = sum([(group >> 8) & mask for group in groups])
    shift = (255 * len(groups)).bit_length() - 8
    merged = ((even >> shift) & mask) | (((odd >> shift) & mask) << 8)
    return merged.to_bytes(size_even, "little")[:size]


def _best(scores: bytes, wanted: int) -> list[int]:
    """The places of the highest scores in order of place: all down to the score of the `wanted`th, of equals there as many as make it twice as many."""
    size = len(scores)
    sample = sorted(scores[:: max(1, size // 1024)], reverse=True)
    floor = sample[min(len(sample) - 1, len(sample) * wanted * 3 // (2 * size))]
    above, step = 256, 1  # fewer than wanted have that score or more
    while True:
        marks = scores.translate(_at_least(floor))
        count = marks.count(1)
        if count >= wanted and (count <= 4 * wanted or floor + 1 == above):
            break
        if count < wanted:
            above = floor
            floor = max(0, floor - step)
        else:
            floor = min(above - 1, floor + step)
        step *= 2
    if count <= 4 * wanted:
        places = _marked(marks, count)
        floor = sorted([scores[place] for place in places], reverse=True)[wanted - 1]
        higher = [place for place in places if scores[place] > floor]
        equal = [place for place in places if scores[place] == floor]
    else:
        higher = _marked(scores.translate(_at_least(floor + 1)), wanted)
        equal = _marked(scores.translate(_exactly(floor)), 2 * wanted)
    return sorted(higher + equal[: 2 * wanted - len(higher)])


def _marked(marks: bytes, limit: int) -> list[int]:
    """The first places that hold a one."""
    places: list[int] = []
    place = marks.find(1)
    while place >= 0 and len(places) < limit:
        places.append(place)
        place = marks.find(1, place + 1)
    return places


def _located(found: list[int], places: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Block number and position of places that go up, where `places` names each block and its number of rows."""
    located = []
    first, following, number = 0, 0, -1
    blocks = iter(places)
    for place in found:
        while place >= following:
            first = following
            number, count = next(blocks)
            following += count
        located.append((number, place - first))
    return located


def _at_least(floor: int) -> bytes:
    return bytes(floor) + b"\x01" * (256 - floor)


def _exactly(score: int) -> bytes:
    return bytes(score) + b"\x01" + bytes(255 - score)


def _together(width: int) -> int:
    """Columns added up in a byte, so that all bytes get about as many."""
    groups = (width + TOGETHER - 1) // TOGETHER
    return (width + groups - 1) // groups


_ONES = [int.from_bytes((bytes(2 << bit) + b"\x01\x00" * (1 << bit)) * (128 >> bit), "little") for bit in range(8)]
_ALL = int.from_bytes(b"\x01\x00" * 256, "little")
_BITS = [(_ALL - ones, ones) for ones in _ONES]  # 1 in the 16-bit lanes of the bytes without that bit, and with it
_HALVES = 128 * _ALL
