"""The score: what speaks for a hit, weighed."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenon.recall.rank import Parts


def parts(**more: Any) -> Parts:
    """A fresh hit for which nothing speaks, but for what is given."""
    return Parts(**{"bm25": 0.0, "match": 0.0, "strength": 0.0, "age_days": 10_000.0, "citations": 0, **more})


@pytest.mark.parametrize(
    ("given_parts", "score"),
    [
        ({}, 0.0), ({"bm25": 1.0}, 0.4), ({"match": 1.0}, 0.4), ({"strength": 1.0}, 0.1), ({"strength": 2.0}, 0.2), ({"age_days": 0.0}, 0.05), ({"age_days": 30.0}, 0.0184),
        ({"citations": 5}, 0.05), ({"citations": 50}, 0.05), ({"citations": 1}, 0.01), ({"bm25": 1.0, "match": 1.0, "strength": 1.0, "age_days": 0.0, "citations": 5}, 1.0),
    ],
)  # fmt: skip
def test_each_part_has_its_weight(given_parts: dict[str, float], score: float) -> None:
    """0.4 BM25, 0.4 match, 0.1 strength, 0.05 recency, 0.05 citations, of which five are enough."""
    assert score == round(parts(**given_parts).score(), 4)


def test_a_memory_from_the_future_is_fresh_and_no_fresher() -> None:
    """A clock that went wrong gives no advantage."""
    assert parts(age_days=-400.0).score() == parts(age_days=0.0).score()


@given(st.floats(0, 1), st.floats(0, 1), st.floats(0, 2), st.floats(-1e6, 1e6), st.integers(0, 10**9))
def test_a_score_is_from_nothing_to_one_and_a_tenth(bm25: float, match: float, strength: float, age_days: float, citations: int) -> None:
    """Whatever the parts; the tenth is for a surprise, which is twice as strong."""
    assert 0.0 <= Parts(bm25=bm25, match=match, strength=strength, age_days=age_days, citations=citations).score() <= 1.1 + 1e-9


def test_the_parts_are_told_in_a_line() -> None:
    """As the journal keeps them."""
    told = Parts(bm25=0.5, match=0.25, strength=1.5, age_days=0.0, citations=2).line()
    assert "bm25 0.50 match 0.25 strength 1.50 recency 1.00 citations 0.40" == told
