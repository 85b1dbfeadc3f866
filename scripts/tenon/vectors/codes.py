"""A vector in few bytes: a byte for each dimension to compare by, a bit for each dimension to look through.

Directions alone count, so every vector is first brought to the same length in integers. From there on there are only
integers: the same vector gives the same bytes and the same order on every machine and every Python.
"""

from __future__ import annotations

import math
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

SCALE = 32768  # the length of a unit vector
_OFFSET = bytes(code ^ 128 for code in range(256))  # signed bytes, 128 too large


def unit(values: Sequence[float]) -> list[int] | None:
    """The vector at length SCALE, in whole numbers; None for an empty one, for zero, and for one with NaN or infinity in it."""
    whole: Any = values
    try:
        total = sum([value * value for value in values])
        if type(total) is not int:
            if not all(map(math.isfinite, values)):
                return None
            # By a power of two, which loses nothing, to 40 bits before the point.
            shift = 40 - math.frexp(max(map(abs, values)))[1]
            whole = [int(math.ldexp(value, shift)) for value in values]
            total = sum([value * value for value in whole])
    except OverflowError:  # a whole number beyond any float, among floats
        return None
    if not total:
        return None
    finer = max(0, 62 - total.bit_length()) // 2  # so that the length has 30 bits
    length = math.isqrt(total << 2 * finer)
    twice = 2 * length
    factor = SCALE << finer + 1
    return [(value * factor + length) // twice for value in whole]


def pack(vector: list[int]) -> bytes:
    """The unit vector in a byte for each dimension, after two bytes: the length of the codes in eighths, little-endian."""
    most = max(map(abs, vector))
    twice = 2 * most
    codes = [(254 * value + most) // twice for value in vector]
    length = (math.isqrt(256 * sum([code * code for code in codes])) + 1) // 2
    return length.to_bytes(2, "little") + bytes([code & 255 for code in codes])


def cosines(vector: list[int], packed: list[bytes]) -> list[float]:
    """The cosine of a unit vector with each packed one, 0.0 for one of another size; 200 take little longer than ten.

    Every dimension of all rows is one big integer with a 32-bit lane for each row. A lane holds at most 255 * sum(|u|),
    which is below 2**32 up to some 260,000 dimensions.
    """
    size, count = len(vector) + 2, len(packed)
    rows = b"".join([row if len(row) == size else bytes(size) for row in packed])
    shifted = rows.translate(_OFFSET)
    lanes = bytearray(4 * count)
    number = int.from_bytes
    above = below = 0
    for place, weight in enumerate(vector, 2):
        lanes[::4] = shifted[place::size]
        if weight > 0:
            above += number(lanes, "little") * weight
        elif weight:
            below -= number(lanes, "little") * weight
    # In the machine's order of bytes the lanes come out as numbers, on a big-endian one the last row first.
    ups = memoryview(above.to_bytes(4 * count, sys.byteorder)).cast("I")
    downs = memoryview(below.to_bytes(4 * count, sys.byteorder)).cast("I")
    offset = 128 * sum(vector)
    dots = [up - down - offset for up, down in zip(ups, downs)]
    lengths = [rows[start] | rows[start + 1] << 8 for start in range(0, size * count, size)]
    if sys.byteorder == "big":
        dots.reverse()
    return [dot * 8 / (SCALE * length) if length else 0.0 for dot, length in zip(dots, lengths)]


def signs(vector: list[int], mean: list[int]) -> bytes:
    """A bit for each dimension: whether it is above the mean; bit k of byte j is dimension 8j+k."""
    bits = "".join(["1" if value > middle else "0" for value, middle in zip(vector, mean)])
    return int(bits[::-1] or "0", 2).to_bytes((len(bits) + 7) // 8, "little")
