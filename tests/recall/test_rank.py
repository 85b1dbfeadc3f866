"""The score: what speaks for a hit, weighed; and the evidence that it answers at all."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenon.base.settings import KNOWN
from tenon.recall import rank
from tenon.recall.rank import PARTS, WEIGHTS, Parts, evidence, score
from tenon.store import journal

NOTHING = {"bm25": 0.0, "cosine": None, "strength": 0.0, "age_days": 10_000.0, "citations": 0}


def parts(**more: Any) -> Parts:
    """A hit for which nothing speaks but what is given; `hints` by their names."""
    found = Parts(**{**NOTHING, **{name: value for name, value in more.items() if name in (*NOTHING, "session")}})
    for name in ("match", "likeness", "hints", "linked", "newer"):
        if name in more:
            setattr(found, name, more[name])
    return found


@pytest.mark.parametrize(
    ("given_parts", "expected"),
    [
        ({}, 0.0), ({"bm25": 1.0}, 0.4), ({"likeness": 1.0}, 0.4), ({"strength": 1.0}, 0.1), ({"strength": 2.0}, 0.2), ({"age_days": 0.0}, 0.05), ({"age_days": 30.0}, 0.0184),
        ({"citations": 5}, 0.05), ({"citations": 50}, 0.05), ({"citations": 1}, 0.01), ({"match": 1.0, "session": 1.0, "linked": 1.0, "newer": 1.0, "hints": {"of the time": 1.0}}, 0.0),
        ({"bm25": 1.0, "likeness": 1.0, "strength": 1.0, "age_days": 0.0, "citations": 5}, 1.0),
    ],
)  # fmt: skip
def test_classic_is_two_fifths_words_two_fifths_cosine_and_a_fifth_of_what_is_known(given_parts: dict[str, Any], expected: float) -> None:
    """0.4 BM25, 0.4 cosine, 0.1 strength, 0.05 recency, 0.05 citations, of which five are enough; and nothing else."""
    assert expected == round(score(parts(**given_parts), "classic"), 4)


@pytest.mark.parametrize(
    ("given_parts", "name", "share"),
    [
        ({"bm25": 1.0}, "bm25", 1.0), ({"match": 1.0}, "match", 1.0), ({"strength": 2.0}, "strength", 2.0), ({"age_days": 0.0}, "recency", 1.0), ({"citations": 5}, "citations", 1.0),
        ({"likeness": 0.5}, "likeness", 0.5), ({"session": 1.0}, "session", 1.0), ({"linked": 1.0}, "linked", 1.0), ({"newer": 1.0}, "newer", 1.0),
        ({"hints": {"of the time": 1.0, "asks itself": 1.0}}, "fit", rank.HINTS["of the time"] + rank.HINTS["asks itself"]),
    ],
)  # fmt: skip
@pytest.mark.parametrize("ranking", sorted(WEIGHTS))
def test_each_part_counts_by_its_weight(ranking: str, given_parts: dict[str, Any], name: str, share: float) -> None:
    """Alone, in either ranking."""
    assert score(parts(**given_parts), ranking) == pytest.approx(WEIGHTS[ranking][journal.PARTS.index(name)] * share)


def test_every_part_has_a_name_and_a_weight() -> None:
    """The journal keeps them in the same order, so an entry of today is read tomorrow."""
    assert PARTS == journal.PARTS
    assert [len(PARTS)] * 3 == [len(parts().values()), *map(len, WEIGHTS.values())]


@pytest.mark.parametrize("ranking", sorted(WEIGHTS))
def test_nothing_that_speaks_for_a_hit_lowers_its_score(ranking: str) -> None:
    """No weight is negative, and of the hints only a text that is itself a question counts against it."""
    assert min(WEIGHTS[ranking]) >= 0.0
    assert ["asks itself"] == [name for name, value in rank.HINTS.items() if value < 0]


def test_a_memory_from_the_future_is_fresh_and_no_fresher() -> None:
    """A clock that went wrong gives no advantage."""
    assert parts(age_days=-400.0).values() == parts(age_days=0.0).values()


@given(st.floats(0, 1), st.one_of(st.none(), st.floats(-1, 1)), st.floats(0, 1), st.floats(0, 2), st.floats(-1e6, 1e6), st.integers(0, 10**9))
def test_a_classic_score_is_from_nothing_to_one_and_a_tenth(
    bm25: float, cosine: float | None, match: float, strength: float, age_days: float, citations: int
) -> None:
    """Whatever the parts; the tenth is for a surprise, which is twice as strong."""
    hit = parts(bm25=bm25, cosine=cosine, match=match, strength=strength, age_days=age_days, citations=citations)
    hit.liken(-1.0, 1.0, "classic")
    assert 0.0 <= score(hit, "classic") <= 1.1 + 1e-9


def test_likeness_is_the_cosines_place_between_the_least_and_the_most() -> None:
    """Spread over the candidates; those that lie close together are not told apart by it, and without a vector a hit has the least."""
    placed = []
    for cosine in (0.1, 0.3, 0.6, None):
        hit = parts(cosine=cosine)
        hit.liken(0.1, 0.6, "fused")
        placed.append(round(hit.likeness, 2))
    assert [0.0, 0.4, 1.0, 0.0] == placed
    close = parts(cosine=0.51)
    close.liken(0.5, 0.51, "fused")
    assert 0.05 > close.likeness > 0.0


def test_a_classic_hit_without_a_vector_is_likened_by_its_words() -> None:
    """And one whose meaning is the opposite by nothing."""
    wordy, opposite = parts(match=0.5), parts(cosine=-0.5)
    for hit in (wordy, opposite):
        hit.liken(-0.5, 0.9, "classic")
    assert [0.5, 0.0] == [wordy.likeness, opposite.likeness]


# ---------------------------------------------------------------- the evidence

ANYTHING = (st.floats(0, 1), st.floats(-1, 1), st.integers(0, 10**12), st.booleans())


def test_without_a_vector_the_words_are_the_evidence() -> None:
    """Whatever is asked, among however many."""
    assert [0.0, 0.4, 1.0] == [evidence(match, None, among, asked=asked) for match, among, asked in ((0.0, 0, True), (0.4, 10**6, False), (1.0, 1, True))]


def test_at_the_floor_is_what_chance_finds() -> None:
    """A cosine as large as the best of so many unrelated texts is at the default floor; one who asks what is remembered gets it for less."""
    assert rank.ENOUGH == float(str(KNOWN["recall.floor"][0]))
    assert rank.ASKED < rank.ALONE
    for count, tenfolds in ((1, 0), (100, 2), (10_000, 4)):
        for asked, enough in ((False, rank.ALONE), (True, rank.ASKED)):
            chance = enough + rank.PER_TENFOLD * tenfolds
            assert evidence(0.0, chance, count, asked=asked) == pytest.approx(rank.ENOUGH)
            assert evidence(0.0, chance - 0.01, count, asked=asked) < rank.ENOUGH < evidence(0.0, chance + 0.01, count, asked=asked)


@pytest.mark.parametrize("asked", [True, False])
def test_the_more_texts_there_are_the_nearer_one_must_be(asked: bool) -> None:
    """Among ten times as many, one is nearer by chance; the same text is certain among any number."""
    told = [evidence(0.0, 0.8, count, asked=asked) for count in (0, 1, 10, 1000, 100_000)]
    assert sorted(told, reverse=True) == told
    assert told[1] > told[-1]
    assert [1.0] * 3 == [evidence(0.0, 1.0, count, asked=asked) for count in (1, 1000, 10**9)]


@given(*ANYTHING)
def test_evidence_is_from_nothing_to_one(match: float, cosine: float, among: int, asked: bool) -> None:
    """For any words and any cosine, among any number of texts."""
    assert 0.0 <= evidence(match, cosine, among, asked=asked) <= 1.0


@given(*ANYTHING, st.floats(0, 1), st.floats(0, 2))
def test_more_words_more_likeness_or_a_question_are_never_less_evidence(
    match: float, cosine: float, among: int, asked: bool, more: float, nearer: float
) -> None:
    """Nothing that speaks for a text speaks against it."""
    told = evidence(match, cosine, among, asked=asked)
    assert told <= evidence(min(1.0, match + more), cosine, among, asked=asked) + 1e-9
    assert told <= evidence(match, min(1.0, cosine + nearer), among, asked=asked) + 1e-9
    assert told <= evidence(match, cosine, among, asked=True) + 1e-9


# ---------------------------------------------------------------- what is told of it


def test_the_parts_that_say_something_are_told_in_a_line() -> None:
    """For --explain; those that are nothing are left out, and the cosine stands behind."""
    told = parts(bm25=0.5, match=0.25, strength=1.5, age_days=0.0, citations=2, cosine=0.31, likeness=0.2, newer=1.0).line()
    assert "bm25 0.50 match 0.25 strength 1.50 recency 1.00 citations 0.40 likeness 0.20 newer 1.00 (cosine 0.31)" == told
    assert "match 0.25" == parts(match=0.25).line()


def test_all_parts_are_told_by_their_names() -> None:
    """For --json; the cosine too, where there is one."""
    assert set(PARTS) == set(parts().named())
    assert {*PARTS, "cosine"} == set(parts(cosine=0.3).named())
