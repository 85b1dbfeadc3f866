"""The journal: what was shown and what nearly was comes back as it scored, in few bytes."""

from __future__ import annotations

import pytest

from tenon.store import forget, journal, memories
from tenon.store.db import Store

NOW = 1_796_200_000.0
VALUES = (1.0, 0.5, 1.25, 0.1, 0.2, 0.72, 0.0, 2.1, 0.0, 0.9)
OLDER = "INSERT INTO journal (at, event, session, repository, words, hits, chars) VALUES (1, 'prompt', 's1', NULL, 'gateway', ?, 10)"


def record(store: Store, repository: int, **more: object) -> journal.Entry:
    """The entry of a prompt as it is read back."""
    given = {"event": "prompt", "session": "s1", "repository": repository, "words": ["gateway"], "hits": [], "chars": 0, "now": NOW, **more}
    journal.record(store, **given)  # type: ignore[arg-type]
    return journal.entries(store, "s1", 1)[0]


def test_a_hit_comes_back_with_its_score_and_parts(store: Store, repository: int) -> None:
    """The score to the hundredth, the parts to the fortieth."""
    entry = record(store, repository, hits=[("mabc", 0.83, VALUES), ("t12", 0.0, ())], chars=300)

    assert [("mabc", 0.83, ""), ("t12", None, "")] == [(hit.ref, hit.score, hit.why) for hit in entry.shown]
    assert dict(zip(journal.PARTS, VALUES)) == pytest.approx(entry.shown[0].parts, abs=0.0126)
    assert ("mabc", "0.83") == entry.hits[0][:2]
    assert entry.hits[0][2].startswith("bm25 1.00 match 0.50 strength 1.25")
    assert ("t12", "", "briefing") == entry.hits[1]


@pytest.mark.parametrize("values", [(-0.7,) * 10, (1e9,) * 10, (2.325,) * 10])
def test_what_is_out_of_range_is_the_nearest_that_can_be_told(store: Store, repository: int, values: tuple[float, ...]) -> None:
    """And breaks no line."""
    entry = record(store, repository, hits=[("mabc", values[0], values)], skipped=[("t1", values[0], values, "e")])

    assert [("mabc", 10), ("t1", 10)] == [(told.ref, len(told.parts)) for told in (*entry.shown, *entry.skipped)]
    assert min(2.325, max(0.0, values[0])) == entry.skipped[0].parts["bm25"] == entry.shown[0].parts["newer"]


@pytest.mark.parametrize("why", journal.WHY)
def test_a_near_miss_says_why_it_was_left_out(store: Store, repository: int, why: str) -> None:
    """Each letter has its words."""
    entry = record(store, repository, skipped=[("mabc", 0.31, VALUES, why), ("mxyz", 0.0, (), why)])

    assert [("mabc", 0.31, why), ("mxyz", None, why)] == [(miss.ref, miss.score, miss.why) for miss in entry.skipped]
    assert journal.WHY[why]


def test_a_near_miss_does_not_count_as_shown(store: Store, repository: int) -> None:
    """It may come in the same session yet."""
    record(store, repository, hits=[("mabc", 0.83, VALUES)], skipped=[("mxyz", 0.3, VALUES, "k")])

    assert {"mabc"} == journal.seen(store, "s1")


def test_there_are_fewer_near_misses_where_there_are_many_hits(store: Store, repository: int) -> None:
    """Four at most, and one at least."""
    misses = [(f"t{number}", 0.3, VALUES, "k") for number in range(9)]
    counts = [len(record(store, repository, hits=[(f"m{number}", 0.8, VALUES) for number in range(hits)], skipped=misses).skipped) for hits in (0, 3, 5, 6, 20)]

    assert [4, 3, 1, 1, 1] == counts


def test_entries_of_older_versions_are_read(store: Store) -> None:
    """Two hexadecimal digits a value, with fewer parts; also of a score whose first digit is a letter."""
    store.execute(OLDER, ("mabc 5364326400\nmxyz c864\nt12 00",))
    [entry] = journal.entries(store, "s1")

    assert [("mabc", 0.83, 4), ("mxyz", 2.0, 1), ("t12", None, 0)] == [(hit.ref, hit.score, len(hit.parts)) for hit in entry.shown]
    assert [] == entry.skipped


def test_a_thousand_prompts_take_little_room(store: Store, repository: int) -> None:
    """With two hits and two near misses each, which is more than prompts have on average, and in a session each: less than 200 KB."""
    for number in range(1000):
        hits = [(f"m{number * 7 + at:09d}", 0.8, VALUES) for at in range(2)]
        misses = [(f"t{number * 9 + at}", 0.3, VALUES, "e") for at in range(2)]
        session = f"{number * 7919 % 65536:08x}-aaaa-4bbb"
        journal.record(store, event="prompt", session=session, repository=repository, words=["gateway", "port*"], hits=hits, chars=900, now=NOW, skipped=misses)
    pages = store.value("SELECT sum(pgsize) FROM dbstat WHERE name IN ('journal', 'journal_by_session')")

    assert 200_000 > pages


def test_what_is_forgotten_is_no_near_miss_any_more(store: Store, repository: int) -> None:
    """Its id goes out of the journal, with the words that led to it."""
    ref = memories.write(store, repository=repository, tier="short", kind="fact", text="the gateway listens on port 8443", now=NOW)[0]
    record(store, repository, words=["gateway", "other"], skipped=[(ref, 0.3, VALUES, "e"), ("t1", 0.2, VALUES, "e")])
    forget.forget(store, [ref], "wish", NOW)

    [entry] = journal.entries(store, "s1")
    assert (["t1"], ["other"]) == ([miss.ref for miss in entry.skipped], entry.words)
