"""Exports brought in: into an empty store, a lived-in one, twice, and both ways."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.store import lived
from tests.store.chain import checked

LIFE = st.lists(st.tuples(st.integers(0, 16), st.integers(0, 40), st.integers(0, 40)), max_size=40)


@settings(max_examples=25)
@given(life=LIFE, forget=st.none() | st.integers(0, 20), alias=st.booleans())
def test_an_empty_store_becomes_the_same(life: list[tuple[int, int, int]], forget: int | None, alias: bool) -> None:
    """Exported, brought in elsewhere and exported there: the same bytes, and a chain that holds; once more changes nothing."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with lived.fresh(folder, "one") as one, lived.fresh(folder, "other") as other:
            lived.live(one, life)
            if alias:
                lived.joined(one)
            if forget is not None:
                lived.forgotten(one, forget)
            data = lived.exported(one)
            report = lived.brought(other, data, folder)

            assert data.decode().splitlines() == lived.exported(other).decode().splitlines()
            assert (0, False) == (report.bad, report.cut_off)
            assert [] == checked(other)[1]
            again = lived.brought(other, data, folder)
            assert set() == {outcome for counts in again.counts.values() for outcome in counts} - {"known", "forgotten"}
            assert data == lived.exported(other)


@settings(max_examples=25)
@given(mine=LIFE, theirs=LIFE, shared=LIFE)
def test_two_that_bring_in_each_other_end_with_the_same(
    mine: list[tuple[int, int, int]], theirs: list[tuple[int, int, int]], shared: list[tuple[int, int, int]]
) -> None:
    """Whatever each did with what they had in common and by itself."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with lived.fresh(folder, "one") as one, lived.fresh(folder, "other") as other:
            for store, own, since in ((one, mine, 50_000.0), (other, theirs, 50_030.5)):
                lived.live(store, shared)
                lived.live(store, own, since)
            lived.brought(other, lived.exported(one), folder)
            lived.brought(one, lived.exported(other), folder)

            assert lived.exported(one).decode().splitlines() == lived.exported(other).decode().splitlines()
            for store in (one, other):
                assert [] == checked(store)[1]
