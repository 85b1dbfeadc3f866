"""Associating in the background: what was said in one place, what answered one cue; each once, whoever does it, however often."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tenon.digest import associating
from tenon.store import archive, associations, db, journal, memories, notes
from tenon.store.db import Store

NOW = 1_800_000_000.0
DAY = 86400.0
ANSWERED = (0.5, 0.6, 1.0, 0.0, 0.0, 0.4, 0.0, 0.0, 0.0, 0.0)  # the parts of a hit that shares words with the cue
BY_MEANING = (0.0, 0.0, 1.0, 0.0, 0.0, 0.9, 0.0, 0.0, 0.0, 0.0)
CAME_ALONG = (0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.6, 0.0)


class Mind:
    """A store with a repository, in which memories are written and recalled."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.here = int(store.execute("INSERT INTO repository (key, seen) VALUES ('example.org/acme/widgets', 1.0)").lastrowid or 0)

    def write(self, text: str, *turns: int) -> int:
        """The row of a memory from those turns."""
        ref, _ = memories.write(self.store, repository=self.here, tier="short", kind="fact", text=text, turns=turns, now=NOW)
        return memories.get(self.store, ref).id

    def say(self, *texts: str) -> list[int]:
        """The numbers of archived prompts, each of which is an exchange."""
        session = archive.session(self.store, "s", repository=self.here, folder="/x", at=NOW)
        rows = [archive.Row(uuid="", parent="", role="user", kind="prompt", source="user", at=NOW, content=[{"type": "text", "text": text}]) for text in texts]
        return archive.append(self.store, session, self.here, rows)[1]

    def recalled(self, *rows: int, event: str = "prompt", session: str = "s", parts: tuple[tuple[float, ...], ...] = ()) -> None:
        """An entry of the journal with these memories."""
        hits: list[tuple[str, float, Any]] = [(memories.by_id(self.store, row).ref, 0.5, part) for row, part in zip(rows, parts or [ANSWERED] * len(rows))]
        journal.record(self.store, event=event, session=session, repository=self.here, words=[], hits=hits, chars=0, now=NOW)

    def strengths(self, now: float = NOW) -> dict[tuple[int, int], float]:
        """All associations, as strong as they are."""
        found = self.store.rows("SELECT a, b FROM association ORDER BY a, b")
        return {(a, b): round(value, 4) for a, b in found for row, value, _ in associations.of(self.store, a, 0.0, 100, now) if row == b}


@pytest.fixture()
def mind(tmp_path: Path) -> Iterator[Mind]:
    """An empty store."""
    with db.open_store(str(tmp_path / "tenon.db")) as store:
        yield Mind(store)


def test_what_was_said_in_one_exchange_is_associated_and_less_so_what_was_said_next_to_it(mind: Mind) -> None:
    """As soon as it is a memory; a second look finds nothing new."""
    first, second, third = mind.say("about retries", "about ports", "about names")
    one, two, three, far = mind.write("a", first), mind.write("b", first), mind.write("c", second), mind.write("d", third)

    assert 4 == associating.catch_up(mind.store, NOW)
    assert {(one, two): 0.6, (one, three): 0.3, (two, three): 0.3, (three, far): 0.3} == mind.strengths()
    assert 0 == associating.catch_up(mind.store, NOW)
    late = mind.write("e", third)
    assert 1 == associating.catch_up(mind.store, NOW)
    assert {(three, late): 0.3, (far, late): 0.6}.items() <= mind.strengths().items()


def test_what_answered_one_cue_is_associated(mind: Mind) -> None:
    """The first four hits; each entry once, and a question that a session repeats at once says nothing new."""
    rows = [mind.write(f"fact {number}") for number in range(5)]
    mind.recalled(*rows)
    mind.recalled(rows[1], rows[0])
    mind.recalled(rows[0], rows[1], session="t", event="tool")

    assert 8 == associating.catch_up(mind.store, NOW)
    assert {(one, other) for one in rows[:4] for other in rows[:4] if one < other} == set(mind.strengths())
    assert {(rows[0], rows[1]): 0.2775, (rows[0], rows[2]): 0.15}.items() <= mind.strengths().items()
    assert 0 == associating.catch_up(mind.store, NOW)


def test_a_briefing_and_what_came_along_associate_nothing(mind: Mind) -> None:
    """Nor what a tool was given for want of a better answer; an exchange of the archive is no memory."""
    one, two = mind.write("a"), mind.write("b")
    mind.recalled(one, two, event="session")
    mind.recalled(one, two, parts=(ANSWERED, CAME_ALONG))
    mind.recalled(one, two, event="tool", parts=(ANSWERED, BY_MEANING))
    journal.record(
        mind.store, event="prompt", session="s", repository=mind.here, words=[], hits=[("t1", 0.5, ANSWERED), ("t2", 0.5, ANSWERED)], chars=0, now=NOW
    )
    associating.catch_up(mind.store, NOW)
    assert {} == mind.strengths()

    mind.recalled(one, two, parts=(ANSWERED, BY_MEANING))  # a prompt is given only what answers it
    associating.catch_up(mind.store, NOW)
    assert {(one, two): 0.15} == mind.strengths()


def test_entries_of_an_older_journal_do_no_harm(mind: Mind) -> None:
    """Parts that were not known then are missing, and hits may be gone."""
    one, two, gone = mind.write("a"), mind.write("b"), mind.write("c")
    mind.recalled(one, two, gone, parts=((0.5, 0.6), (), (0.5, 0.6)))
    mind.recalled(one, two, gone, parts=((0.5, 0.6), (0.5, 0.6), (0.5, 0.6)))
    mind.store.execute("DELETE FROM memory WHERE id = ?", (gone,))

    assert 4 == associating.catch_up(mind.store, NOW)
    assert {(one, two): 0.15} == mind.strengths()


def test_a_call_does_no_more_than_it_is_told_and_the_next_goes_on(mind: Mind) -> None:
    """Ended at any point, nothing is lost and nothing counts twice."""
    turns = mind.say(*[f"prompt {number}" for number in range(30)])
    rows = [mind.write(f"fact {number}", turn) for number, turn in enumerate(turns)]
    for one, other in zip(rows, rows[1:]):
        mind.recalled(one, other)
    done = []
    while not done or done[-1]:
        done.append(associating.catch_up(mind.store, NOW, 25))

    assert [25, 25, 9, 0] == done
    assert dict.fromkeys(zip(rows, rows[1:]), 0.405) == mind.strengths()


def test_a_call_that_fails_leaves_no_half_of_a_batch(mind: Mind, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was strengthened and how far it came stand in one transaction."""
    rows = [mind.write(f"fact {number}") for number in range(3)]
    mind.recalled(*rows)

    def broken(store: Store, name: str, text: str) -> None:
        if name == associating.JOURNAL:
            raise OSError("the disk is full")
        kept(store, name, text)

    kept = notes.note
    monkeypatch.setattr(notes, "note", broken)
    with pytest.raises(OSError, match="full"):
        associating.catch_up(mind.store, NOW)
    assert {} == mind.strengths()
    monkeypatch.undo()
    associating.catch_up(mind.store, NOW)
    assert 0.15 == mind.strengths()[rows[0], rows[1]]


def test_two_processes_at_once_count_nothing_twice(mind: Mind) -> None:
    """Each on a connection of its own."""
    turns = mind.say(*[f"prompt {number}" for number in range(60)])
    rows = [mind.write(f"fact {number}", turn) for number, turn in enumerate(turns)]
    done: list[int] = []

    def work() -> None:
        with db.open_store(mind.store.path) as store:
            done.append(associating.catch_up(store, NOW))

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert 60 == sum(done)
    assert dict.fromkeys(zip(rows, rows[1:]), 0.3) == mind.strengths()


def test_once_a_day_what_has_faded_is_dropped(mind: Mind) -> None:
    """Also after the clock was wrong."""
    one, two = mind.write("a"), mind.write("b")
    associating.catch_up(mind.store, NOW)
    associations.strengthen(mind.store, [(one, two)], NOW - 50 * DAY, 0.1)
    associating.catch_up(mind.store, NOW + DAY / 2)
    assert [(1,)] == mind.store.rows("SELECT count(*) FROM association")
    associating.catch_up(mind.store, NOW + DAY)
    assert [(0,)] == mind.store.rows("SELECT count(*) FROM association")

    associations.strengthen(mind.store, [(one, two)], NOW - 50 * DAY, 0.1)
    notes.note(mind.store, associating.SWEPT, str(NOW + 1000 * DAY))
    associating.catch_up(mind.store, NOW + DAY)
    assert [(0,)] == mind.store.rows("SELECT count(*) FROM association")
