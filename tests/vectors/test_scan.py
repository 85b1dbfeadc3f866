"""The shortlist against brute force, whatever the size, the shape and the order of the blocks."""

from __future__ import annotations

import random
from operator import mul

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenon.vectors import codes, scan

Block = tuple  # sealed, count, codes


def some_vectors(count: int, dims: int, chance: random.Random, centres: int = 0) -> list[list[int]]:
    """Random directions, or such around so many centres."""
    around = [[chance.gauss(0, 1) for _ in range(dims)] for _ in range(centres)] or [[0.0] * dims]
    made = []
    for _ in range(count):
        centre = chance.choice(around)
        made.append(codes.unit([middle + chance.gauss(0, 0.9) for middle in centre]) or [])
    return made


def in_blocks(vectors: list[list[int]], mean: list[int], size: int, seal: bool = True) -> list[Block]:
    """The signs of the rows in blocks of so many, each second one sealed."""
    width = (len(mean) + 7) // 8
    blocks = []
    for start in range(0, len(vectors), size):
        rows = b"".join([codes.signs(vector, mean) for vector in vectors[start : start + size]])
        sealed = seal and start // size % 2 == 0
        blocks.append((sealed, len(rows) // width, scan.columns(rows, width) if sealed else rows))
    return blocks


def the_mean(vectors: list[list[int]]) -> list[int]:
    """Of each dimension."""
    return [sum(column) // len(vectors) for column in zip(*vectors)]


@pytest.mark.parametrize(
    ("count", "dims", "centres", "wanted"),
    [(300, 128, 0, 200), (2500, 128, 0, 500), (3000, 128, 60, 200), (5000, 128, 100, 200), (1200, 384, 0, 300), (1500, 384, 30, 200), (1000, 100, 20, 200)],
)
def test_the_nearest_ten_are_found(count: int, dims: int, centres: int, wanted: int) -> None:
    """Of the ten that brute force finds at least 97 in 100 are found, or rows as near but for the rounding of a packed vector.

    Where the vectors have nothing in common, which those of texts always have, the list must be longer for it.
    """
    chance = random.Random(count + dims)
    vectors = some_vectors(count + 10, dims, chance, centres)
    queries, rows = vectors[:10], vectors[10:]
    blocks = in_blocks(rows, the_mean(rows), 1000)
    packed = [codes.pack(row) for row in rows]
    found = 0
    for query in queries:
        exact = [sum(map(mul, query, row)) / codes.SCALE**2 for row in rows]
        tenth = sorted(exact, reverse=True)[9]
        listed = [block * 1000 + position for block, position in scan.shortlist(query, blocks, wanted)]
        assert wanted <= len(listed) <= 2 * wanted
        assert len(listed) == len(set(listed))
        ranked = sorted(zip(codes.cosines(query, [packed[row] for row in listed]), listed), reverse=True)
        found += sum(exact[row] >= tenth - 0.002 for _, row in ranked[:10])
    assert found >= 97


def test_the_shortlist_is_as_these_numbers() -> None:
    """The same on every Python and every machine."""
    rows = [[(row * 37 + place * 101) % 211 - 105 for place in range(20)] for row in range(60)]
    blocks = in_blocks(rows, [0] * 20, 16)
    assert [(0, 1), (0, 7), (0, 13), (1, 8), (1, 14), (2, 9), (2, 15), (3, 5), (3, 10)] == sorted(scan.shortlist(rows[7], blocks, 5))


@pytest.mark.parametrize("dims", [1, 7, 8, 9, 100, 128, 136, 300])
def test_the_rows_with_the_same_signs_come_first(dims: int) -> None:
    """At any number of dimensions, also where the last byte is not full."""
    chance = random.Random(dims)
    rows = [[chance.choice((-1, 1)) * chance.randint(1, 9) for _ in range(dims)] for _ in range(400)]
    blocks = in_blocks(rows, [0] * dims, 130)
    listed = scan.shortlist(rows[277], blocks, 3)
    same = [divmod(row, 130) for row in range(400) if [value > 0 for value in rows[row]] == [value > 0 for value in rows[277]]]
    assert same[:6] == listed if len(same) > 6 else set(same) <= set(listed)


@given(st.integers(1, 40), st.lists(st.integers(1, 30), max_size=6), st.integers(1, 60), st.integers(0, 2**32))
def test_the_order_of_the_blocks_makes_no_difference(dims: int, counts: list[int], wanted: int, seed: int) -> None:
    """The same rows are found, unless equals are more than can be told apart."""
    chance = random.Random(seed)
    vector = [chance.randint(-9, 9) for _ in range(dims)]
    blocks = []
    for count in counts:
        rows = [[chance.randint(-9, 9) for _ in range(dims)] for _ in range(count)]
        blocks.append(in_blocks(rows, [0] * dims, 30, seal=chance.random() < 0.5)[0])
    listed = scan.shortlist(vector, blocks, wanted)
    assert min(wanted, sum(counts)) <= len(listed) <= 2 * wanted
    assert len(listed) == len(set(listed))
    assert all(0 <= position < blocks[number][1] for number, position in listed)
    backwards = scan.shortlist(vector, blocks[::-1], wanted)
    assert len(listed) == len(backwards)
    if len(listed) < 2 * wanted:
        assert sorted(listed) == sorted((len(blocks) - 1 - number, position) for number, position in backwards)


def test_equals_do_not_flood_the_list() -> None:
    """A thousand rows alike: twice as many as wanted, and the better ones before all."""
    blocks = in_blocks([[1] * 16] * 1000 + [[9] * 15 + [-9]] * 1000 + [[9] * 16], [5] * 15 + [0], 500)
    listed = scan.shortlist([1] * 16, blocks, 10)
    assert (4, 0) in listed
    assert 20 == len(listed)


def test_few_rows_are_all_listed() -> None:
    """One, and as many as are wanted."""
    blocks = in_blocks([[1, -1]] * 3, [0, 0], 2)
    assert [(0, 0), (0, 1), (1, 0)] == scan.shortlist([-1, 1], blocks, 3)
    assert [(0, 0)] == scan.shortlist([1, 1], blocks[1:], 200)


def test_nothing_is_listed_of_nothing() -> None:
    """No blocks, empty blocks, no dimensions, nothing wanted."""
    blocks = in_blocks([[1, -1]] * 3, [0, 0], 2)
    assert [] == scan.shortlist([1, 1], [], 5)
    assert [] == scan.shortlist([1, 1], [(True, 0, b""), (False, 0, b"")], 5)
    assert [] == scan.shortlist([], blocks, 5)
    assert [] == scan.shortlist([1, 1], blocks, 0)


def test_a_block_of_another_size_is_passed_over() -> None:
    """A cut one does not shift the others."""
    blocks = in_blocks([[1, -1]] * 4, [0, 0], 2)
    assert [(0, 0), (0, 1)] == scan.shortlist([1, 1], [blocks[0], (False, 2, b"\x01"), (True, 5, b"\x01\x01")], 9)


def test_a_zero_vector_raises_nothing() -> None:
    """All rows are equal to it."""
    assert 6 == len(scan.shortlist([0] * 9, in_blocks([[1] * 9] * 50, [0] * 9, 20), 3))


def test_a_blanked_row_has_no_signs_left() -> None:
    """In a sealed block and in an open one; its neighbours keep theirs."""
    rows = bytes(range(1, 13))
    assert bytes([1, 2, 3, 0, 0, 0, 7, 8, 9, 10, 11, 12]) == scan.blanked(rows, False, 4, 3, 1)
    sealed = scan.blanked(scan.columns(rows, 3), True, 4, 3, 1)
    assert bytes([1, 2, 3, 0, 0, 0, 7, 8, 9, 10, 11, 12]) == scan.row_major(sealed, 3)


def test_a_blanked_row_is_no_longer_among_the_best() -> None:
    """Where its signs were the vector's own."""
    rows = [[1] * 64] + [[(row >> place % 6 & 1) * 2 - 1 for place in range(64)] for row in range(60)]
    for size, sealed in ((100, True), (100, False)):
        block = in_blocks(rows, [0] * 64, size, seal=sealed)[0]
        assert (0, 0) in scan.shortlist([1] * 64, [block], 1)
        left = scan.blanked(block[2], sealed, 61, 8, 0)
        assert (0, 0) not in scan.shortlist([1] * 64, [(sealed, 61, left)], 1)


@given(st.integers(1, 20), st.integers(0, 30), st.randoms())
def test_columns_and_rows_are_the_same_codes(width: int, count: int, chance: random.Random) -> None:
    """There and back."""
    rows = bytes(chance.randrange(256) for _ in range(width * count))
    sealed = scan.columns(rows, width)
    assert rows == scan.row_major(sealed, width)
    assert all(rows[row * width + column] == sealed[column * count + row] for row in range(count) for column in range(width))


def test_more_rows_than_are_added_up_at_a_time() -> None:
    """Blocks behind the first part are found at their own places."""
    width = 2
    plain, best = b"\x00\x00", b"\xff\xff"
    sealed = scan.columns(plain * 8192, width)
    blocks = [(True, 8192, sealed)] * 17 + [(False, 3, plain + best + plain), (True, 8192, scan.columns(plain * 8191 + best, width))]
    blocks += [(False, 140_000, plain * 139_999 + best)]
    assert {(17, 1), (18, 8191), (19, 139_999)} == set(scan.shortlist([1] * 16, blocks, 3))
