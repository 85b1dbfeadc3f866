"""Looking through memories: every filter and order, pages that lose and double nothing, words found while they are typed."""

from __future__ import annotations

import random

import pytest

from tenon.base.lean import sqlite
from tenon.store import browse_memories, memories
from tenon.store.browse_memories import ORDERS, Key, Wanted, page
from tenon.store.db import Store

NOW = 1_800_000_000.0
PER_DAY = {"short": 0.95, "long": 0.997}
SET_KIND = "UPDATE memory SET strength = ?, decayed = ?, citations = ?, created = ? WHERE ref = ?"


def write(store: Store, text: str, repository: int | None = None, **more: object) -> str:
    """The id of a memory with that text."""
    told = {"tier": "short", "kind": "fact", "now": NOW, "reason": "seen", **more}
    return memories.write(store, repository=repository, text=text, **told)[0]  # type: ignore[arg-type]


def wanted(**more: object) -> Wanted:
    """What is looked for."""
    return Wanted(**{"now": NOW, "per_day": PER_DAY, **more})  # type: ignore[arg-type]


def found(store: Store, **more: object) -> set[str]:
    """The ids of the first fifty."""
    return {memory.ref for memory in page(store, wanted(**more), None, 50)[0]}


def all_pages(store: Store, limit: int, **more: object) -> list[str]:
    """The ids of page after page, to the end."""
    refs: list[str] = []
    key: Key | None = None
    for _ in range(1000):
        rows, key = page(store, wanted(**more), key, limit)
        assert len(rows) <= limit
        refs += [memory.ref for memory in rows]
        if key is None:
            return refs
    raise AssertionError("the pages never end")


def many(store: Store, count: int, text: str = "the lamp number {}") -> list[str]:
    """So many memories, of which several have the same time, strength and citations."""
    chance = random.Random(1)
    refs = []
    with store.transaction():
        for number in range(count):
            ref = write(store, text.format(number), tier=chance.choice(("short", "long")))
            store.execute(SET_KIND, (chance.choice((0.5, 1.0)), NOW - chance.choice((0, 86400)), chance.randrange(3), NOW - chance.randrange(4), ref))
            refs.append(ref)
    return refs


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("text", ["", "lamp"])
def test_pages_lose_nothing_and_double_nothing_over_equal_keys(store: Store, monkeypatch: pytest.MonkeyPatch, order: str, text: str) -> None:
    """Also where a search goes from one window to the next, and one page looks through several."""
    monkeypatch.setattr(browse_memories, "WINDOW", 10)
    monkeypatch.setattr(browse_memories, "AT_ONCE", 4)
    refs = many(store, 65)

    seen = all_pages(store, 7, order=order, text=text)

    assert 65 == len(seen)
    assert set(refs) == set(seen)


@pytest.mark.parametrize(
    ("order", "key"),
    [
        ("newest", lambda memory: (memory.created, memory.id)),
        ("cited", lambda memory: (memory.citations, memory.id)),
        ("strongest", lambda memory: (memory.strength_at(NOW, PER_DAY[memory.tier]), memory.id)),
    ],
)
@pytest.mark.parametrize("text", ["", "lamp"])
def test_each_order_is_what_it_says(store: Store, order: str, key: object, text: str) -> None:
    """The newest, the strongest by now, the most often cited come first, whatever page they are on."""
    many(store, 30)

    rows = [memories.get(store, ref) for ref in all_pages(store, 7, order=order, text=text)]

    assert sorted(rows, key=key, reverse=True) == rows  # type: ignore[call-overload]


def test_strength_is_worked_out_where_sqlite_has_no_mathematics(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python lends its own."""
    many(store, 30)
    usual = all_pages(store, 50, order="strongest")
    monkeypatch.setattr(browse_memories, "POWER", "SELECT pow_that_is_missing(1)")

    assert usual == all_pages(store, 50, order="strongest")
    with pytest.raises(sqlite.OperationalError):  # as SQLite's own would give NULL
        store.value("SELECT pow('x', 2)")


def test_every_filter_keeps_what_is_so_and_nothing_else(store: Store, repository: int, other: int) -> None:
    """Tier, kind, source, writer, repository, what holds everywhere, and all at once."""
    here = write(store, "one", repository, tier="long", kind="lesson", source="user", writer="user")
    there = write(store, "two", other, tier="short", kind="fact", source="tool", writer="code")
    everywhere = write(store, "three", None, tier="long", kind="fact", source="tool", writer="digest")

    assert {here, there, everywhere} == found(store)
    assert {here, everywhere} == found(store, equal={"tier": "long"})
    assert {there, everywhere} == found(store, equal={"kind": "fact"})
    assert {here} == found(store, equal={"source": "user"})
    assert {there} == found(store, equal={"writer": "code"})
    assert {here} == found(store, scope=[repository])
    assert {everywhere} == found(store, scope=[None])
    assert {everywhere} == found(store, equal={"tier": "long", "kind": "fact", "source": "tool", "writer": "digest"}, scope=[None])
    assert set() == found(store, equal={"tier": "long"}, scope=[other])


@pytest.mark.parametrize("text", ["", "gauge"])
def test_every_status_is_found_by_itself(store: Store, text: str) -> None:
    """Also a superseded memory by its words, though it is not in the index."""
    live, faded, old = write(store, "the gauge is here"), write(store, "a gauge was there"), write(store, "No Gauge at all")
    store.execute("UPDATE memory SET status = 'faded' WHERE ref = ?", (faded,))
    memories.supersede(store, old, live, NOW)

    assert {live} == found(store, text=text)
    assert {faded} == found(store, text=text, status="faded")
    assert {old} == found(store, text=text, status="superseded")
    assert {"live": 1, "faded": 1, "superseded": 1} == browse_memories.held(store)


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("Migrations run at night", "migratio"),
        ("Migrations run at night", "migration"),
        ("Migrations run at night", "mi"),
        ("the deployment of the app", "deploym"),
        ("the configuration", "configurat"),
        ("getUserName is slow", "getuserna"),
        ("getUserName is slow", "user na"),
        ("Le café ferme à midi", "cafe"),
        ("Le café ferme à midi", "CAFÉ fer"),
        ("東京の天気は晴れです", "天気"),
        ("東京の天気は晴れです", "晴"),
        ("the port is 8_443", "8_443"),
        ('say "yes" OR NOT', '"yes" OR'),
    ],
)
def test_words_are_found_while_they_are_typed(store: Store, text: str, query: str) -> None:
    """The last word by its beginning, whatever the index has made of it; the others whole; quotes and operators are letters like any."""
    ref = write(store, text)
    write(store, "nothing of that kind")

    assert {ref} == found(store, text=query)


def test_all_words_must_be_there(store: Store) -> None:
    """Text, reason, labels and epic count alike; the words but the last are whole ones."""
    ref = write(store, "the lamp is on", reason="the keeper said so", labels=["PR#41"], epic="lighthouse")

    assert {ref} == found(store, text="lamp keeper")
    assert {ref} == found(store, text="lighthouse 41")
    assert set() == found(store, text="lamp sailor")
    assert set() == found(store, text="keep lamp")


def test_an_id_finds_its_memory_whatever_else_is_asked(store: Store) -> None:
    """Also its beginning, and a superseded one."""
    live, old = write(store, "now"), write(store, "before")
    memories.supersede(store, old, live, NOW)

    assert old in found(store, text=old, equal={"kind": "lesson"})
    assert old in found(store, text=old[:5] + "…")
    assert [live] == all_pages(store, 5, text=live)


def test_a_memory_that_names_its_own_id_comes_once(store: Store) -> None:
    """Found by its id, and by its words."""
    ref = write(store, "a lamp")
    memories.revise(store, ref, f"a lamp, known as {ref}", "to tell it apart", NOW)

    assert [ref] == all_pages(store, 5, text=ref)


def test_what_is_no_word_finds_nothing(store: Store) -> None:
    """A query of signs alone does not become one for everything."""
    write(store, "a lamp")

    assert set() == found(store, text="!!! ---")


def test_a_page_that_looked_through_much_in_vain_says_where_to_go_on(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is rare among memories with a common word comes on a later page, and is not lost."""
    monkeypatch.setattr(browse_memories, "WINDOW", 5)
    rare = write(store, "the lamp of old", kind="lesson")
    many(store, 60)

    rows, key = page(store, wanted(text="lamp", equal={"kind": "lesson"}), None, 50)

    assert ([], True) == (rows, key is not None)
    assert [rare] == all_pages(store, 50, text="lamp", equal={"kind": "lesson"})
