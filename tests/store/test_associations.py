"""Associations: stronger each time, weaker each day, never across repositories, and handed on when a memory is superseded."""

from __future__ import annotations

from typing import Any

import pytest

from tenon.store import archive, associations, forget, journal, memories, nearby, places
from tenon.store.db import Store

NOW = 1_800_000_000.0
DAY = 86400.0


def write(store: Store, repository: int | None, text: str, **more: Any) -> int:
    """The row of a memory."""
    told = {"tier": "short", "kind": "fact", "now": NOW, **more}
    return memories.get(store, memories.write(store, repository=repository, text=text, **told)[0]).id


def ref(store: Store, row: int) -> str:
    """The id of the memory in that row."""
    return memories.by_id(store, row).ref


def strength(store: Store, one: int, other: int, now: float = NOW) -> float:
    """How strong the association of two memories is; 0 where there is none. It is the same seen from either."""
    found = [{row: value for row, value, _ in associations.of(store, end, 0.0, 100, now)}.get(far, 0.0) for end, far in ((one, other), (other, one))]
    assert found[0] == found[1]
    return round(found[0], 4)


def say(store: Store, repository: int, *kinds: str, session: str = "s", thread: str = "") -> list[int]:
    """The numbers of archived turns of these kinds, one after another."""
    number = archive.session(store, session, repository=repository, folder="/x", at=NOW)
    rows = [
        archive.Row(
            uuid="", parent="", role="user" if kind == "prompt" else "assistant", kind=kind, source="user", at=NOW, thread=thread,
            content=[{"type": "text", "text": f"{kind} {number} {session} {thread}{nth} {store.value('SELECT count(*) FROM turn')}"}],
        )
        for nth, kind in enumerate(kinds)
    ]  # fmt: skip
    return [int(archive.append(store, number, repository, [row])[1][0]) for row in rows]


@pytest.fixture()
def one(store: Store, repository: int) -> int:
    """A memory."""
    return write(store, repository, "retries swallow 429s")


@pytest.fixture()
def two(store: Store, repository: int) -> int:
    """Another memory of the same repository."""
    return write(store, repository, "the gateway listens on 8443")


# ---------------------------------------------------------------- strength


def test_each_time_takes_a_share_of_what_is_left_to_one(store: Store, one: int, two: int) -> None:
    """Whichever is named first; and how often is counted."""
    assert 1 == associations.strengthen(store, [(one, two)], NOW, 0.5)
    assert 0.5 == strength(store, one, two)
    assert 2 == associations.strengthen(store, [(two, one), (one, two)], NOW, 0.2)

    assert [(two, pytest.approx(0.68), 3)] == associations.of(store, one, 0.0, 10, NOW)
    assert [(one, two)] == store.rows("SELECT a, b FROM association")


def test_a_day_without_takes_a_fiftieth(store: Store, one: int, two: int) -> None:
    """Also before it becomes stronger; a clock that was set back takes and gives nothing."""
    associations.strengthen(store, [(one, two)], NOW, 0.5)

    assert [0.5, 0.49, 0.2727] == [strength(store, one, two, NOW + days * DAY) for days in (-5, 1, 30)]
    associations.strengthen(store, [(one, two)], NOW + DAY, 0.5)
    assert [0.745, 0.7301] == [strength(store, one, two, NOW + days * DAY) for days in (1, 2)]


def test_it_never_leaves_nought_to_one(store: Store, one: int, two: int) -> None:
    """However often."""
    for _ in range(100):
        associations.strengthen(store, [(one, two)], NOW, 0.9)
    assert 1.0 == strength(store, one, two)


def test_what_has_faded_is_dropped(store: Store, repository: int, one: int, two: int) -> None:
    """Under a twentieth; doing it twice is doing it once."""
    three = write(store, repository, "a third")
    associations.strengthen(store, [(one, two)], NOW, 0.5)
    associations.strengthen(store, [(one, three)], NOW, 0.06)

    assert [0, 1, 0] == [associations.drop_faded(store, NOW + days * DAY) for days in (9, 10, 10)]
    assert [(one, two)] == store.rows("SELECT a, b FROM association")


def test_the_strongest_come_first_and_the_weak_not_at_all(store: Store, repository: int, one: int) -> None:
    """As they are at that time."""
    rows = [write(store, repository, f"fact {number}") for number in range(4)]
    for row, by, days in zip(rows, (0.3, 0.9, 0.5, 0.6), (0, 0, 0, 30)):
        associations.strengthen(store, [(one, row)], NOW - days * DAY, by)

    assert [rows[1], rows[2], rows[3], rows[0]] == [row for row, _, _ in associations.of(store, one, 0.0, 10, NOW)]
    assert [rows[1], rows[2]] == [row for row, _, _ in associations.of(store, one, 0.4, 10, NOW)]
    assert [rows[1]] == [row for row, _, _ in associations.of(store, one, 0.0, 1, NOW)]


# ---------------------------------------------------------------- which memories


def test_only_what_one_repository_sees_is_associated(store: Store, repository: int, other: int, one: int) -> None:
    """Its own memories, those of its aliases, and the agent's; nothing with itself, and nothing with what is gone."""
    there, agent = write(store, other, "there"), write(store, None, "everywhere")

    assert 1 == associations.strengthen(store, [(one, there), (one, agent), (one, one), (one, 4711)], NOW, 0.5)
    assert [(one, agent)] == store.rows("SELECT a, b FROM association")
    places.join(store, "example.org/acme/gadgets", "example.org/acme/widgets", NOW)
    assert 1 == associations.strengthen(store, [(one, there)], NOW, 0.5)


def test_what_supersedes_a_memory_takes_over_its_associations(store: Store, repository: int, one: int, two: int) -> None:
    """What was as strong stays as strong; the old memory leads nowhere and is led to from nowhere."""
    three, new = write(store, repository, "a third"), write(store, repository, "retries are off")
    associations.strengthen(store, [(one, two), (one, new)], NOW, 0.8)
    associations.strengthen(store, [(three, new)], NOW, 0.6)
    associations.strengthen(store, [(one, three)], NOW, 0.3)
    memories.supersede(store, ref(store, one), ref(store, new), NOW + DAY)

    assert [] == associations.of(store, one, 0.0, 10, NOW + DAY)
    assert [(two, 0.784), (three, 0.588)] == [(row, round(value, 4)) for row, value, _ in associations.of(store, new, 0.0, 10, NOW + DAY)]
    assert [new] == [row for row, _, _ in associations.of(store, two, 0.0, 10, NOW + DAY)]
    assert {new} == {target for _, target, _, _ in nearby.linked(store, [two], NOW + DAY) if target != one}


def test_what_is_said_of_a_superseded_memory_counts_for_its_successor(store: Store, repository: int, one: int, two: int) -> None:
    """Also over several; of one that was closed in favour of none it counts for none."""
    rows = [one, *(write(store, repository, f"retries, version {number}") for number in range(2))]
    for old, new in zip(rows, rows[1:]):
        memories.supersede(store, ref(store, old), ref(store, new), NOW)

    assert 1 == associations.strengthen(store, [(one, two), (rows[1], rows[2])], NOW, 0.5)
    assert 0.5 == strength(store, rows[2], two)
    memories.close(store, ref(store, rows[2]), NOW)
    assert 0 == associations.strengthen(store, [(one, two)], NOW, 0.5)
    assert [] == associations.of(store, two, 0.0, 10, NOW)


def test_a_memory_that_is_opened_again_has_its_associations_again(store: Store, repository: int, one: int, two: int) -> None:
    """Undoing what superseded it loses nothing."""
    associations.strengthen(store, [(one, two)], NOW, 0.5)
    memories.supersede(store, ref(store, one), ref(store, write(store, repository, "retries are off")), NOW)
    memories.reopen(store, ref(store, one), NOW)

    assert 0.5 == strength(store, one, two)


def test_what_supersedes_it_elsewhere_inherits_only_what_is_seen_there(store: Store, repository: int, other: int, one: int, two: int) -> None:
    """A memory of another repository may take its place, and no association goes along."""
    agent, there = write(store, None, "everywhere"), write(store, other, "retries are off there")
    associations.strengthen(store, [(one, two), (one, agent)], NOW, 0.5)
    memories.supersede(store, ref(store, one), ref(store, there), NOW)

    assert [agent] == [row for row, _, _ in associations.of(store, there, 0.0, 10, NOW)]


def test_forgetting_a_memory_forgets_its_associations(store: Store, one: int, two: int) -> None:
    """Whichever end it was."""
    for end, left in ((one, two), (two, one)):
        kept = write(store, None, f"kept {end}")
        associations.strengthen(store, [(end, left), (end, kept), (left, kept)], NOW, 0.5)
        forget.forget(store, [ref(store, end)], "wish", NOW)
        assert [] == store.rows("SELECT * FROM association WHERE a = ? OR b = ?", (end, end))
        if end == one:
            assert 0.5 == strength(store, left, kept)


# ---------------------------------------------------------------- what a prompt follows


def test_a_prompt_follows_strong_ones_and_few_of_each(store: Store, repository: int, one: int, two: int) -> None:
    """As strong as they are now, from either end, beside approved edges."""
    rows = [write(store, repository, f"fact {number}") for number in range(6)]
    for nth, row in enumerate(rows):
        associations.strengthen(store, [(row, one)], NOW, 0.9 - nth / 100)
    associations.strengthen(store, [(one, two)], NOW, 0.49)

    assert [(one, row, round(0.9 - nth / 100, 2), False) for nth, row in enumerate(rows[:4])] == [
        (origin, target, round(value, 2), approved) for origin, target, value, approved in nearby.linked(store, [one, two], NOW)
    ]
    assert [(rows[0], one)] == [link[:2] for link in nearby.linked(store, [rows[0]], NOW)]
    assert [rows[0], rows[1]] == [target for _, target, _, _ in nearby.linked(store, [one], NOW + 28 * DAY)]
    assert [] == nearby.linked(store, [one], NOW + 40 * DAY)


# ---------------------------------------------------------------- where memories come from


def test_memories_from_one_exchange_lie_beside_each_other(store: Store, repository: int) -> None:
    """Nearer than those of the exchange before or after; others do not."""
    turns = say(store, repository, "prompt", "reply", "prompt", "call", "reply", "prompt", "reply", "prompt")
    rows = [write(store, repository, f"from {turn}", turns=[turn]) for turn in turns]
    last = write(store, repository, "from the second exchange", turns=[turns[3]])

    assert {rows[0]: False, rows[1]: False, rows[2]: True, rows[3]: True, rows[4]: True, rows[5]: False, rows[6]: False} == associations.beside(store, last)


def test_other_sessions_threads_and_later_memories_are_not_beside(store: Store, repository: int) -> None:
    """Turns of two sessions that run at once lie between each other."""
    here = say(store, repository, "prompt")
    there, thread = say(store, repository, "prompt", "reply", session="t"), say(store, repository, "prompt", thread="agent-1")
    more = say(store, repository, "reply")
    rows = [write(store, repository, f"from {turn}", turns=[turn]) for turn in (*here, *there, *thread, *more)]
    later = write(store, repository, "written later", turns=here)

    assert {} == associations.beside(store, rows[0])
    assert {rows[0]: True} == associations.beside(store, rows[-1])
    assert {rows[0]: True, rows[-1]: True} == associations.beside(store, later)


def test_of_many_memories_beside_one_the_closest_are_held_against_it(store: Store, repository: int) -> None:
    """An exchange of a day's work does not associate everything with everything."""
    turns = say(store, repository, "prompt", *["reply"] * 30)
    rows = [write(store, repository, f"from {turn}", turns=[turn]) for turn in reversed(turns)]
    last = write(store, repository, "from the last reply", turns=[turns[-1]])

    assert set(rows[:8]) == set(associations.beside(store, last))


# ---------------------------------------------------------------- the journal


def test_entries_that_answered_a_cue_are_read_in_order(store: Store, repository: int) -> None:
    """Not a session's briefing; and when the journal was emptied and began anew, from its first again."""
    for event in ("session", "prompt", "compact", "tool", "command"):
        journal.record(store, event=event, session=event, repository=repository, words=[], hits=[("m1", 0.5, ())], chars=0, now=NOW)

    assert ["prompt", "tool", "command"] == [entry.event for entry in associations.recalled(store, 0, 10)]
    assert ["prompt", "tool"] == [entry.event for entry in associations.recalled(store, 1, 2)]
    assert [] == associations.recalled(store, 5, 10)
    journal.prune(store, NOW + 31 * DAY)
    journal.record(store, event="prompt", session="new", repository=repository, words=[], hits=[], chars=0, now=NOW)
    assert ["new"] == [entry.session for entry in associations.recalled(store, 5, 10)]


def test_refs_become_rows(store: Store, one: int, two: int) -> None:
    """Those of memories that are still there, in their order."""
    assert [two, one] == associations.rows_of(store, [ref(store, two), "t1", "mnosuchone", ref(store, one)])
