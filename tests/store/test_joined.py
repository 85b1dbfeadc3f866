"""Two accounts of one thing: in whatever order, and however often, they meet, one comes out."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tenon.store import joined

TIMES = st.sampled_from([1.0, 2.0, 3.0, 4.0])
TEXTS = st.sampled_from(["ash", "birch", "cedar"])


@st.composite
def states(draw: st.DrawFn) -> dict[str, Any]:
    """A memory whose first text is always the same one, as that of one id is."""
    ats = sorted(draw(st.lists(TIMES, max_size=3, unique=True)))
    texts = ["first", *(draw(TEXTS) for _ in ats)]
    is_closed = draw(st.booleans())
    return {
        "tier": draw(st.sampled_from(["short", "long"])), "kind": "fact", "text": texts[-1], "reason": draw(TEXTS), "labels": "[]", "epic": "",
        "source": draw(st.sampled_from(joined.SOURCES)), "writer": draw(st.sampled_from(joined.WRITERS)), "strength": draw(TIMES), "citations": draw(st.integers(0, 3)),
        "revision": len(texts), "revisions": [{"revision": n, "text": text, "reason": "r", "at": at} for n, (text, at) in enumerate(zip(texts, ats), 1)],
        "status": "superseded" if is_closed else "live", "valid_to": draw(TIMES) if is_closed else None, "successor": draw(TEXTS) if is_closed else "",
        "created": draw(TIMES), "valid_from": draw(TIMES), "reinforced": draw(TIMES), "decayed": draw(TIMES), "reopened": draw(st.none() | TIMES),
    }  # fmt: skip


def settled(state: dict[str, Any]) -> dict[str, Any]:
    """A state as a store holds it: one that was reopened after it was closed is open."""
    return joined.memory(state, state)


@given(states(), states(), states())
def test_the_order_makes_no_difference(one: dict[str, Any], two: dict[str, Any], three: dict[str, Any]) -> None:
    """Nor which two meet first, nor that one comes again."""
    one, two, three = map(settled, (one, two, three))

    assert joined.memory(one, two) == joined.memory(two, one)
    assert joined.memory(joined.memory(one, two), three) == joined.memory(one, joined.memory(two, three))
    assert joined.memory(one, one) == one
    assert joined.memory(joined.memory(one, two), two) == joined.memory(one, two)


@given(states(), states())
def test_what_was_closed_stays_closed_unless_it_was_reopened_since(one: dict[str, Any], two: dict[str, Any]) -> None:
    """And no revision is lost."""
    found = joined.memory(one, two)

    closings = [state["valid_to"] for state in (one, two) if state["status"] == "superseded"]
    reopenings = [state["reopened"] for state in (one, two) if state["reopened"] is not None]
    assert bool(closings and max(closings) >= max(reopenings, default=0.0)) == (found["status"] == "superseded")
    assert {text for state in (one, two) for _, text, _ in joined.versions(state)} == {text for _, text, _ in joined.versions(found)}
    assert max(one["citations"], two["citations"]) == found["citations"]


def test_what_both_revised_apart_stands_in_order_of_time() -> None:
    """The later text holds, the earlier one is history with its reason."""
    base: dict[str, Any] = {
        **dict.fromkeys(("created", "valid_from", "reinforced", "decayed", "strength"), 1.0), "tier": "short", "kind": "fact", "reason": "", "labels": "[]", "epic": "",
        "source": "user", "writer": "user", "citations": 0, "status": "live", "valid_to": None, "successor": "", "reopened": None, "revision": 2,
    }  # fmt: skip
    mine = {**base, "text": "on Fridays", "revisions": [{"revision": 1, "text": "on Mondays", "reason": "moved", "at": 5.0}]}
    theirs = {**base, "text": "on Thursdays", "revisions": [{"revision": 1, "text": "on Mondays", "reason": "holiday", "at": 3.0}]}

    found = joined.memory(mine, theirs)

    assert ("on Fridays", 3) == (found["text"], found["revision"])
    told = [(each["revision"], each["text"], each["reason"], each["at"]) for each in found["revisions"]]
    assert [(1, "on Mondays", "holiday", 3.0), (2, "on Thursdays", "moved", 5.0)] == told


def test_an_edge_is_as_it_was_decided_last() -> None:
    """Whatever its strength; and an association as strong as it was last, with the greater count."""
    edge = {"status": "proposed", "strength": 1.0, "reason": "r", "verdict": "", "created": 2.0, "decided": None, "decayed": 9.0}
    decided = {**edge, "status": "rejected", "strength": 0.5, "created": 3.0, "decided": 4.0, "decayed": 4.0}

    assert {**decided, "created": 2.0} == joined.edge(edge, decided) == joined.edge(decided, edge)
    one, other = {"strength": 0.9, "count": 2, "since": 1.0}, {"strength": 0.4, "count": 1, "since": 2.0}
    assert {"strength": 0.4, "count": 2, "since": 2.0} == joined.association(one, other) == joined.association(other, one)
