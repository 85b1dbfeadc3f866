"""Vectors in bytes and bits: what is kept of them, and the same on every machine."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenon.vectors import codes

NUMBERS = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=300)
LITERAL = [0.25, -0.5, 0.125, 1.0, -0.0625, 0.0, 0.75, -1.0, 0.3, -0.7]


def test_a_unit_vector_is_as_these_numbers() -> None:
    """The same on every Python and every machine."""
    assert [4395, -8790, 2197, 17579, -1099, 0, 13184, -17579, 5274, -12306] == codes.unit(LITERAL)
    assert [19661, 26214] == codes.unit([3, 4])
    assert [-32768] == codes.unit([-7])
    assert [18919, 18919, -18919] == codes.unit([1e-300, 1e-300, -1e-300])
    assert [23170, -23170] == codes.unit([1e300, -1e300])
    assert [32768, 0] == codes.unit([10**400, 1])


@pytest.mark.parametrize("given_vector", [[], [0], [0.0, -0.0], [1.0, math.nan], [math.inf, 1.0], [-math.inf], [10**400, 1.0]])
def test_there_is_no_unit_vector_of_nothing(given_vector: list[float]) -> None:
    """Nor of zero, nor of what is no number."""
    assert codes.unit(given_vector) is None


@given(NUMBERS)
def test_a_unit_vector_has_its_length_and_its_direction(values: list[float]) -> None:
    """To half a step in each dimension."""
    vector = codes.unit(values)
    if vector is None:
        assert not any(values)
        return
    most = max(map(abs, values))
    scaled = [value / most for value in values]
    length = math.sqrt(math.fsum(value * value for value in scaled))
    assert all(abs(whole - value / length * codes.SCALE) <= 0.51 for whole, value in zip(vector, scaled))


def test_a_packed_vector_is_as_these_bytes() -> None:
    """Two bytes of length in eighths, then a signed byte a dimension."""
    vector = codes.unit(LITERAL)
    assert vector
    assert "6707" + "20c0107ff8005f8126a7" == codes.pack(vector).hex()
    assert (8 * 127).to_bytes(2, "little") + b"\x00\x7f" == codes.pack([0, 32768])
    assert (8 * 127).to_bytes(2, "little") + b"\x81" == codes.pack([-32768])


def test_a_vector_of_4096_equal_dimensions_can_be_packed() -> None:
    """The longest codes there can be."""
    packed = codes.pack(codes.unit([1] * 4096) or [])
    assert 64 * 127 * 8 == int.from_bytes(packed[:2], "little")
    assert 1.0 == pytest.approx(codes.cosines(codes.unit([1] * 4096) or [], [packed])[0], abs=1e-4)


@given(NUMBERS, st.randoms())
def test_packing_costs_little_of_the_cosine(values: list[float], chance: random.Random) -> None:
    """Half a step of 127 in each dimension at most, and the rounding of the length."""
    vector = codes.unit(values)
    other = codes.unit([chance.gauss(0, 1) for _ in values])
    if not vector or not other:
        return
    exact = sum(a * b for a, b in zip(vector, other)) / codes.SCALE**2
    most = max(map(abs, vector)) / codes.SCALE
    bound = most / 254 * math.sqrt(len(values)) * 2 + 0.002
    assert abs(codes.cosines(other, [codes.pack(vector)])[0] - exact) <= bound


def test_many_cosines_are_the_cosines_one_by_one() -> None:
    """Added up in lanes, they are to the last bit what a plain sum gives."""
    chance = random.Random(5)
    for dims in (1, 7, 128, 333):
        vectors = [codes.unit([chance.gauss(0, 1) for _ in range(dims)]) or [] for _ in range(41)]
        packed = [codes.pack(vector) for vector in vectors]
        plain = []
        for row in packed:
            dot = sum(weight * code for weight, code in zip(vectors[0], memoryview(row)[2:].cast("b")))
            plain.append(dot * 8 / (codes.SCALE * int.from_bytes(row[:2], "little")))
        assert plain == codes.cosines(vectors[0], packed)
        assert plain == [codes.cosines(vectors[0], [row])[0] for row in packed]


@pytest.mark.parametrize("row", [b"", b"\x00", b"\x08\x00\x7f", b"\x00\x00\x7f\x7f", b"\x08\x00\x7f\x7f\x7f"])
def test_a_row_of_another_size_or_of_no_length_is_like_nothing(row: bytes) -> None:
    """And does not disturb its neighbours."""
    whole = codes.pack([0, 32768])
    assert [1.0, 0.0, 1.0] == codes.cosines([0, 32768], [whole, row, whole])
    assert [] == codes.cosines([0, 32768], [])


@pytest.mark.parametrize(
    ("vector", "mean", "bits"),
    [
        ([], [], b""), ([1], [0], b"\x01"), ([0], [0], b"\x00"), ([5, -5, 7], [4, -6, 7], b"\x03"), ([1] * 8, [0] * 8, b"\xff"),
        ([0] * 8 + [1], [0] * 9, b"\x00\x01"), ([-1, 1, -1, 1, 1, 1, -1, -1, 1, -1], [0] * 10, b"\x3a\x01"),
    ],
)  # fmt: skip
def test_a_bit_says_whether_a_dimension_is_above_the_mean(vector: list[int], mean: list[int], bits: bytes) -> None:
    """The first dimension is the lowest bit of the first byte; what is left of the last byte is zero."""
    assert bits == codes.signs(vector, mean)
