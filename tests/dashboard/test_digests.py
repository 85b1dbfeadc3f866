"""What the page Digests is told: the runs in pages, and of one what it read, changed, was refused and cost."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tenon.base import paths, settings
from tenon.base.errors import TenonError
from tenon.dashboard import digests as shown
from tenon.dashboard.place import Missing, Place, Query, Wrong
from tenon.digest import undoing
from tenon.store import db, digests, forget, memories, spending
from tests.digest.minds import NOW, Mind, remember


class Digesting(Mind):
    """A store in which digests are made, and the page that shows them."""

    @property
    def place(self) -> Place:
        """Where the page looks."""
        return Place(self.store, settings.load(), "default", now=NOW)

    def page(self, query: str = "") -> dict[str, Any]:
        """The list."""
        return shown.page(self.place, Query(query))

    def one(self, number: int | str) -> dict[str, Any]:
        """One run."""
        return shown.one(self.place, str(number), Query(""))

    def read(self, number: int, *turns: str, **parts: list[int]) -> None:
        """Notes which turns a digest dealt with, as a run does: whole, and from one character to another."""
        digests.add_step(
            self.store, number, "read", undo={"turns": [int(turn[1:]) for turn in turns], "parts": {turn[1:]: span for turn, span in parts.items()}}
        )

    def made(self, *, phase: str = "consolidation", state: str = "applied", repository: int | None = None, why: str = "", **more: Any) -> int:
        """The number of a digest that ended so."""
        number = digests.begin(self.store, phase=phase, repository=repository or self.here, runner="api", model="haiku", now=self.at, **more)
        if state != "running":
            digests.end(self.store, number, state, self.at + 3.5, why)
        return number


@pytest.fixture
def mind() -> Iterator[Digesting]:
    """Nothing digested yet."""
    with db.open_store(paths.store_path("default")) as store:
        yield Digesting(store)


def test_a_run_is_told_with_what_it_did_and_cost(mind: Digesting) -> None:
    """Steps by what they are, tokens and dollars as they were reported, how long it took."""
    turn = mind.say("invoices are kept for eleven years")
    number, _ = mind.apply(remember("Invoices are kept for eleven years.", [turn]), {"op": "delete"})
    row = spending.reserve(mind.store, purpose="consolidation", runner="claude", model="haiku", tokens=900, cap=10**6, now=mind.at, digest=number)
    assert row is not None
    spending.report(mind.store, row, model="haiku", input_tokens=5, output_tokens=7, written=11, read=13, dollars=0.02)
    (found,) = mind.page()["digests"]

    assert (number, "consolidation", "applied", "claude", "haiku", "example.org/acme/widgets") == tuple(
        found[name] for name in ("id", "phase", "state", "runner", "model", "repository")
    )
    assert ("1 memory written, 1 refused", {"refused": 1, "remember": 1}) == (found["did"], found["counts"])
    assert {"requests": 1, "input": 5, "written": 11, "read": 13, "output": 7, "tokens": 36, "unknown": 0, "dollars": 0.02, "unpriced": 0} == found["cost"]
    assert found["cost"] == mind.one(number)["digest"]["cost"]


def test_what_plain_code_spots_is_left_out_until_it_is_asked_for(mind: Digesting) -> None:
    """It comes with every session, and the list says that there is some."""
    assert ([], False) == (mind.page()["digests"], mind.page()["spotting"])
    spotted, asked = mind.made(phase="spotting"), mind.made()

    assert ([asked], True) == ([one["id"] for one in mind.page()["digests"]], mind.page()["spotting"])
    assert ([asked, spotted], False) == ([one["id"] for one in mind.page("phase=all")["digests"]], mind.page("phase=all")["spotting"])
    assert [spotted] == [one["id"] for one in mind.page("phase=spotting")["digests"]]


def test_the_list_is_narrowed_and_goes_on_by_its_key(mind: Digesting, monkeypatch: pytest.MonkeyPatch) -> None:
    """By state and repository; every run once."""
    monkeypatch.setattr(shown, "ROWS", 2)
    made = [mind.made(state=state, repository=mind.there if state == "failed" else None) for state in ("applied", "failed", "applied", "running", "applied")]
    pages, found = [mind.page()], []
    while pages[-1]["next"]:
        pages.append(mind.page(f"after={pages[-1]['next']}"))
    for page in pages:
        found += [one["id"] for one in page["digests"]]

    assert (made[::-1], 3) == (found, len(pages))
    assert [made[1]] == [one["id"] for one in mind.page("repository=example.org/acme/gadgets")["digests"]]
    assert [made[3]] == [one["id"] for one in mind.page("state=running")["digests"]]


@pytest.mark.parametrize("query", ["phase=sleep", "state=done", "after=0", "after=x", "repository=nowhere", "offset=9"])
def test_a_parameter_that_cannot_be_meant_is_refused(mind: Digesting, query: str) -> None:
    """With a sentence."""
    with pytest.raises(Wrong):
        mind.page(query)


@pytest.mark.parametrize("name", ["", "x", "-1", "1e3", "٣", "9" * 30, "0", "99"])
def test_a_digest_that_is_not_there_is_missing(mind: Digesting, name: str) -> None:
    """Whatever was typed."""
    mind.made()
    with pytest.raises((Missing, TenonError)):
        mind.one(name)


def test_steps_lead_to_memories_and_to_the_turns_that_they_came_from(mind: Digesting) -> None:
    """With the session in which those stand."""
    turn = mind.say("invoices are kept for eleven years", session="s7")
    number, _ = mind.apply(remember("Invoices are kept for eleven years.", [turn]))
    mind.read(number, turn)
    (step,) = mind.one(number)["steps"]

    assert ("remember", "+", [turn], {turn: "s7"}) == (step["deed"], step["sign"], step["turns"], step["places"])
    assert ("Invoices are kept for eleven years.", "fact", "live") == tuple(step["memory"][name] for name in ("text", "kind", "status"))
    assert [{"turn": turn, "kind": "prompt", "at": mind.at, "session": "s7"}] == mind.one(number)["read"]


def test_what_was_closed_or_revised_is_told_old_and_new(mind: Digesting) -> None:
    """And a refusal with why."""
    known = mind.write("The gauge is read every ten minutes.")
    held = mind.write("I say where a number comes from.", kind="identity", repository=None)
    turn = mind.say("No, the gauge is read every twenty minutes, not every ten.")
    number, refused = mind.apply(remember("The gauge is read every twenty minutes.", [turn]), {"op": "supersede", "old": known, "new": "#1", "reason": "x"})
    memory = memories.get(mind.store, held)
    memories.revise(mind.store, held, "I say where each number comes from.", "learnt", NOW)
    digests.add_step(mind.store, number, "revise", memory.id, undo={"revision": 1})
    digests.add_step(mind.store, number, "supersede", memories.get(mind.store, known).id, memory.id)
    steps = mind.one(number)["steps"]

    assert [("I say where a number comes from.", "I say where each number comes from.")] == [
        (step["old"], step["new"]) for step in steps if step["deed"] == "revise"
    ]
    assert ("The gauge is read every ten minutes.", "I say where each number comes from.") in [
        (step["old"], step["new"]) for step in steps if step["deed"] == "supersede"
    ]
    assert [f"refused {note}" for note in refused] == [step["said"] for step in steps if step["deed"] == "refused"]


def test_a_memory_that_was_forgotten_since_leaves_no_word(mind: Digesting) -> None:
    """Its step says that it is gone."""
    turn = mind.say("the vault opens with hunter two")
    number, _ = mind.apply(remember("The vault opens with hunter two.", [turn]))
    forget.forget(mind.store, [turn], "the user's wish", NOW)
    found = mind.one(number)

    assert [(None, "(forgotten since)")] == [(step["memory"], step["said"]) for step in found["steps"]]
    assert "hunter" not in json.dumps(found)


def test_a_failed_run_says_why_and_where_it_began(mind: Digesting) -> None:
    """Its requests are there, also one of which nothing was reported."""
    turn = mind.say("something")
    number = mind.made(state="failed", why="the API refused the key", first=int(turn[1:]), turns=1, tokens=3)
    spending.reserve(mind.store, purpose="consolidation", runner="api", model="haiku", tokens=900, cap=10**6, now=mind.at, digest=number)
    found = mind.one(number)

    assert ("failed", "the API refused the key", 3.5) == (
        found["digest"]["state"], found["digest"]["why"], found["digest"]["ended"] - found["digest"]["at"],
    )  # fmt: skip
    assert [turn] == [one["turn"] for one in found["read"]]
    assert [(900, 0, None)] == [(one["reserved"], one["reported"], one["dollars"]) for one in found["requests"]]


def test_an_undone_run_is_told_as_undone(mind: Digesting) -> None:
    """Its steps stay to be read."""
    turn = mind.say("invoices are kept for eleven years")
    number, _ = mind.apply(remember("Invoices are kept for eleven years.", [turn]))
    undoing.undo(mind.store, number, NOW)
    found = mind.one(number)

    assert ("undone", ["superseded"]) == (found["digest"]["state"], [step["memory"]["status"] for step in found["steps"]])


def test_a_long_reading_is_told_up_to_a_bound(mind: Digesting, monkeypatch: pytest.MonkeyPatch) -> None:
    """With how many turns more there were."""
    monkeypatch.setattr(shown, "READ", 2)
    turns = [mind.say(f"fact {number}") for number in range(5)]
    number = mind.made()
    mind.read(number, *turns[:4], **{turns[4]: [0, 100]})
    found = mind.one(number)

    assert (turns[:2], 3) == ([one["turn"] for one in found["read"]], found["more_read"])
