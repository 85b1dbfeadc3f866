"""Task state: one plan per epic, changed field by field, and the brief for whoever goes on."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tenon.base.errors import TenonError
from tenon.store import db, places, tasks
from tenon.store.db import Store

NOW = 1_800_000_000.0
PLAN = [{"step": "write the schema", "status": "done"}, {"step": "write the store", "status": "active", "note": "mind WAL"}, {"step": "write the docs"}]


def epics(store: Store, repository: int) -> list[str]:
    """The epics in flight."""
    return [state["epic"] for state in tasks.active(store, repository)]


def state_of(store: Store, repository: int, epic: str) -> dict[str, Any]:
    """The state of an epic that is there."""
    state = tasks.read(store, repository, epic)["state"]
    assert isinstance(state, dict)
    return state


# ---------------------------------------------------------------- writing and reading


def test_a_plan_is_kept_as_it_was_written(store: Store, repository: int) -> None:
    """A step without a status is pending, a path alone is a touched file."""
    written = tasks.write(
        store, repository, epic="storage", title="Move to SQLite", plan=PLAN, open_threads=["which pragma?"], touched=["src/db.py", {"path": "a b.sql", "sha": "1a2b3c"}],
        blockers=["the review"], now=NOW,
    )  # fmt: skip

    assert {
        "epic": "storage", "title": "Move to SQLite", "status": "active",
        "plan": [{"step": "write the schema", "status": "done"}, {"step": "write the store", "status": "active", "note": "mind WAL"}, {"step": "write the docs", "status": "pending"}],
        "open_threads": ["which pragma?"], "touched": [{"path": "src/db.py"}, {"path": "a b.sql", "sha": "1a2b3c"}], "blockers": ["the review"], "updated": NOW,
    } == written  # fmt: skip
    assert {"state": written, "active": []} == tasks.read(store, repository, "storage")
    assert {"state": None, "active": [written]} == tasks.read(store, repository)


def test_a_first_write_may_say_nothing_but_the_epic(store: Store, repository: int) -> None:
    """It is active, named after itself, with empty lists."""
    tasks.write(store, repository, epic="storage", now=NOW)

    assert [
        {"epic": "storage", "title": "storage", "status": "active", "plan": [], "open_threads": [], "touched": [], "blockers": [], "updated": NOW}
    ] == tasks.active(store, repository)


def test_a_write_changes_the_fields_it_names(store: Store, repository: int) -> None:
    """An empty list is a value, None is none."""
    tasks.write(store, repository, epic="storage", title="Move", plan=PLAN, blockers=["the review"], now=NOW)
    tasks.write(store, repository, epic="storage", open_threads=["one"], plan=None, now=NOW + 1)
    tasks.write(store, repository, epic="storage", blockers=[], now=NOW + 2)
    state = state_of(store, repository, "storage")

    assert ("Move", "active", 3, ["one"], [], NOW + 2) == (
        state["title"],
        state["status"],
        len(state["plan"]),
        state["open_threads"],
        state["blockers"],
        state["updated"],
    )
    assert [(NOW, NOW + 2)] == store.rows("SELECT created, updated FROM task")


def test_a_completed_epic_is_no_longer_in_flight(store: Store, repository: int) -> None:
    """It can be read by its name, and taken up again."""
    tasks.write(store, repository, epic="storage", plan=PLAN, now=NOW)
    tasks.write(store, repository, epic="storage", status="completed", now=NOW + 1)

    assert [] == epics(store, repository)
    assert "completed" == state_of(store, repository, "storage")["status"]
    tasks.write(store, repository, epic="storage", status="active", now=NOW + 2)
    assert ["storage"] == epics(store, repository)


def test_epics_in_flight_come_newest_first(store: Store, repository: int) -> None:
    """The one written last is the one worked on."""
    for number, epic in enumerate(["one", "two", "three", "one"]):
        tasks.write(store, repository, epic=epic, now=NOW + number)

    assert ["one", "three", "two"] == epics(store, repository)


def test_an_unknown_epic_has_no_state(store: Store, repository: int) -> None:
    """That is an answer, not an error."""
    assert {"state": None, "active": []} == tasks.read(store, repository, "nothing")
    assert {"state": None, "active": []} == tasks.read(store, repository)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"epic": " "}, "epic_id is empty"),
        ({"epic": "x" * 121}, "epic_id has 121 characters, at most 120"),
        ({"title": ""}, "title is empty"),
        ({"status": "paused"}, "'paused' is no status of an epic; it is one of active, completed"),
        ({"plan": "do it"}, "plan must be a list"),
        ({"plan": ["do it"]}, 'step 1 of the plan must be an object like {"step": "write the migration", "status": "pending"}'),
        ({"plan": [{"step": "ok"}, {"status": "done"}]}, "the step text of step 2 of the plan must be a text, not nothing"),
        ({"plan": [{"step": " "}]}, "the step text of step 1 of the plan is empty"),
        ({"plan": [{"step": "ok", "status": "later"}]}, "'later' is no status for step 1 of the plan; it is one of pending, active, done, blocked"),
        ({"plan": [{"step": "ok", "state": "done"}]}, "step 1 of the plan has no field 'state'; it has step, status, note"),
        ({"plan": [{"step": "ok", "note": 7}]}, "the note of step 1 of the plan must be a text, not a number"),
        ({"plan": [{"step": "ok"}] * 201}, "plan has 201 entries, at most 200 are kept"),
        ({"open_threads": "one"}, "open_threads must be a list"),
        ({"open_threads": [{}]}, "entry 1 of open_threads must be a text, not an object"),
        ({"blockers": ["ok", ""]}, "entry 2 of blockers is empty"),
        ({"touched": [7]}, 'entry 1 of touched must be a path, or an object like {"path": "src/app.py", "sha": "1a2b3c4"}'),
        ({"touched": [{"sha": "1"}]}, "the path of entry 1 of touched must be a text, not nothing"),
        ({"touched": [{"file": "a"}]}, "entry 1 of touched has no field 'file'; it has path, sha"),
    ],
)
def test_a_write_that_makes_no_sense_is_refused(store: Store, repository: int, wrong: dict[str, Any], said: str) -> None:
    """With which entry is wrong and how it should be; what was there stays."""
    tasks.write(store, repository, epic="storage", plan=PLAN, now=NOW)
    before = store.rows("SELECT * FROM task")

    with pytest.raises(TenonError) as refusal:
        tasks.write(store, repository, now=NOW + 1, **{"epic": "storage", **wrong})
    assert str(refusal.value).startswith(said)
    assert before == store.rows("SELECT * FROM task")


def test_a_secret_in_a_task_is_not_kept(store: Store, repository: int) -> None:
    """In no field of it, nor in the handoff; the epic is still found by the name it was given."""
    key = "sk-ant-api03-" + "Ab1_" * 12
    tasks.write(
        store,
        repository,
        epic=f"use {key}",
        title=key,
        plan=[{"step": key, "note": key}],
        open_threads=[key],
        touched=[{"path": key, "sha": key}],
        blockers=[key],
        now=NOW,
    )
    tasks.write_handoff(
        store, repository, {"active_epic": f"use {key}", "next_action": key, "working_set": [key], "blockers": [key], "do_not_redo": [key]}, NOW
    )

    assert key not in repr(store.rows("SELECT * FROM task")) + repr(store.rows("SELECT * FROM handoff"))
    assert tasks.read(store, repository, f"use {key}")["state"] is not None


def test_two_writers_do_not_lose_each_others_fields(store: Store, repository: int) -> None:
    """Each changes its own field, through its own connection."""
    tasks.write(store, repository, epic="storage", now=NOW)
    with db.open_store(store.path) as second:
        tasks.write(second, repository, epic="storage", blockers=["a"], now=NOW + 1)
        tasks.write(store, repository, epic="storage", open_threads=["b"], now=NOW + 2)

        assert (["a"], ["b"]) == (state_of(second, repository, "storage")["blockers"], state_of(second, repository, "storage")["open_threads"])


@pytest.mark.parametrize(
    "body",
    [
        "",
        "[]",
        "{",
        "null",
        '{"plan": null}',
        '{"plan": "x", "touched": {}}',
        '{"plan": [1, {}, {"step": ""}], "touched": ["a", {"sha": "1"}], "blockers": 3}',
        '{"[forgotten]": []}',
    ],
)
def test_whatever_is_stored_can_be_read(store: Store, repository: int, body: str) -> None:
    """A body that is not as it should be has empty lists, and can be written again."""
    store.execute("INSERT INTO task (repository, epic, title, status, body, created, updated) VALUES (?, 'odd', 'Odd', 'active', ?, 1, 1)", (repository, body))
    expected = {"epic": "odd", "title": "Odd", "status": "active", "plan": [], "open_threads": [], "touched": [], "blockers": [], "updated": 1.0}

    assert [expected] == tasks.active(store, repository)
    assert [{"step": "on", "status": "pending"}] == tasks.write(store, repository, epic="odd", plan=[{"step": "on"}], now=NOW)["plan"]


def test_a_step_whose_status_is_unknown_is_pending(store: Store, repository: int) -> None:
    """As after a text was taken out of it."""
    body = json.dumps({"plan": [{"step": "[forgotten]", "status": "[forgotten]"}]})
    store.execute("INSERT INTO task (repository, epic, title, status, body, created, updated) VALUES (?, 'odd', 'Odd', 'active', ?, 1, 1)", (repository, body))

    assert [{"step": "[forgotten]", "status": "pending"}] == tasks.active(store, repository)[0]["plan"]


# ---------------------------------------------------------------- whose it is


def test_repositories_with_like_names_stay_apart(store: Store) -> None:
    """x.y and x-y, which a name with its punctuation replaced would join."""
    dot, dash = (
        int(store.execute("INSERT INTO repository (key, seen) VALUES (?, 1)", (f"example.org/acme/{name}",)).lastrowid or 0) for name in ("x.y", "x-y")
    )
    tasks.write(store, dot, epic="storage", title="of the dot", now=NOW)
    tasks.write(store, dash, epic="storage", title="of the dash", now=NOW)
    tasks.write_handoff(store, dot, {"active_epic": "storage", "next_action": "dot"}, NOW)
    tasks.write_handoff(store, dash, {"active_epic": "storage", "next_action": "dash"}, NOW)

    assert ("of the dot", "of the dash") == (state_of(store, dot, "storage")["title"], state_of(store, dash, "storage")["title"])
    assert ["dot", "dash"] == [(tasks.read_handoff(store, home) or {}).get("next_action") for home in (dot, dash)]


def test_an_alias_has_the_tasks_of_its_repository(store: Store, repository: int, other: int) -> None:
    """What was written before they were joined is there too; of two states of one epic the newer counts."""
    tasks.write(store, other, epic="theirs", now=NOW)
    tasks.write(store, other, epic="both", title="old", now=NOW + 1)
    tasks.write(store, repository, epic="both", title="new", status="completed", now=NOW + 2)
    places.join(store, "example.org/acme/gadgets", "example.org/acme/widgets", NOW)

    assert ["theirs"] == epics(store, repository) == epics(store, other)
    assert "new" == state_of(store, other, "both")["title"]
    tasks.write(store, other, epic="theirs", blockers=["x"], now=NOW + 3)
    assert ["x"] == state_of(store, repository, "theirs")["blockers"]


# ---------------------------------------------------------------- handing over


def test_a_handoff_is_kept_and_replaced(store: Store, repository: int, other: int) -> None:
    """One brief per repository."""
    assert tasks.read_handoff(store, repository) is None
    tasks.write_handoff(store, repository, {"active_epic": "storage", "next_action": "write the store", "blockers": ["review"]}, NOW)
    tasks.write_handoff(
        store,
        repository,
        {"active_epic": "storage", "last_completed_step": "", "working_set": ["src/db.py", {"path": "a.sql", "sha": "1a"}], "do_not_redo": ["the schema"]},
        NOW + 1,
    )

    assert {
        "active_epic": "storage", "last_completed_step": "", "working_set": ["src/db.py", {"path": "a.sql", "sha": "1a"}], "do_not_redo": ["the schema"], "updated": NOW + 1,
    } == tasks.read_handoff(store, repository)  # fmt: skip
    assert tasks.read_handoff(store, other) is None


def test_a_handoff_can_be_cleared(store: Store, repository: int, other: int) -> None:
    """Only the repository's own."""
    for home in (repository, other):
        tasks.write_handoff(store, home, {"active_epic": "storage"}, NOW)

    assert [True, False] == [tasks.clear_handoff(store, repository), tasks.clear_handoff(store, repository)]
    assert tasks.read_handoff(store, repository) is None
    assert tasks.read_handoff(store, other) is not None


def test_a_completed_epic_takes_its_handoff_along(store: Store, repository: int) -> None:
    """That of another epic stays."""
    tasks.write_handoff(store, repository, {"active_epic": "storage"}, NOW)
    tasks.write(store, repository, epic="docs", status="completed", now=NOW)

    assert tasks.read_handoff(store, repository) is not None
    tasks.write(store, repository, epic="storage", status="completed", now=NOW)
    assert tasks.read_handoff(store, repository) is None


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"epic": "storage"}, "a handoff has no field 'epic'; it has active_epic, last_completed_step, next_action, working_set, blockers, do_not_redo"),
        ({"active_epic": ""}, "a handoff names the epic that it is about in active_epic"),
        ({"next_action": "go on"}, "a handoff names the epic that it is about in active_epic"),
        ({"active_epic": "storage", "blockers": "review"}, "blockers must be a list"),
        ({"active_epic": "storage", "working_set": [3]}, "entry 1 of working_set must be a path"),
        ({"active_epic": "storage", "next_action": ["x"]}, "next_action must be a text, not a list"),
    ],
)
def test_a_handoff_that_makes_no_sense_is_refused(store: Store, repository: int, body: dict[str, Any], said: str) -> None:
    """The one before stays."""
    tasks.write_handoff(store, repository, {"active_epic": "storage"}, NOW)

    with pytest.raises(TenonError) as refusal:
        tasks.write_handoff(store, repository, body, NOW + 1)
    assert str(refusal.value).startswith(said)
    assert {"active_epic": "storage", "updated": NOW} == tasks.read_handoff(store, repository)


def test_a_garbled_handoff_is_none(store: Store, repository: int) -> None:
    """It stops nothing."""
    store.execute("INSERT INTO handoff (repository, body, updated) VALUES (?, '[1', 1)", (repository,))

    assert tasks.read_handoff(store, repository) is None


def test_a_brief_is_composed_from_a_state(store: Store, repository: int) -> None:
    """What is done, what is next, what is in play, what is in the way."""
    plan = [*PLAN, {"step": "release", "status": "blocked", "note": "needs a key"}]
    state = tasks.write(store, repository, epic="storage", plan=plan, touched=["src/db.py", "src/a.py"], blockers=["the review"], now=NOW)

    assert {
        "active_epic": "storage", "last_completed_step": "write the schema", "next_action": "write the store (mind WAL)",
        "working_set": ["src/new.py", "src/db.py", "src/a.py"], "blockers": ["the review", "release (needs a key)"], "do_not_redo": ["write the schema"],
    } == tasks.compose_handoff(state, ["src/new.py", "src/db.py"])  # fmt: skip


def test_a_brief_of_a_state_without_a_plan_says_whose_it_is(store: Store, repository: int) -> None:
    """And leaves the rest empty; without an active step the first pending one is next."""
    bare = tasks.write(store, repository, epic="storage", now=NOW)
    planned = tasks.write(store, repository, epic="docs", plan=[{"step": "first"}, {"step": "second"}], now=NOW)

    assert {
        "active_epic": "storage",
        "last_completed_step": "",
        "next_action": "",
        "working_set": [],
        "blockers": [],
        "do_not_redo": [],
    } == tasks.compose_handoff(bare, [])
    assert "first" == tasks.compose_handoff(planned, [])["next_action"]


def test_a_brief_composed_from_the_largest_state_can_be_written(store: Store, repository: int) -> None:
    """It is cut to what a brief may hold."""
    long = "x" * 2000
    steps = [{"step": long, "note": long, "status": status} for status in ("done", "active", "blocked", "pending") for _ in range(50)]
    state = tasks.write(
        store, repository, epic="e" * 120, title=long, plan=steps, open_threads=[long] * 200, touched=[long] * 200, blockers=[long] * 200, now=NOW
    )
    tasks.write_handoff(store, repository, tasks.compose_handoff(state, [f"{number}.py" for number in range(300)] + [""]), NOW)
    brief = tasks.read_handoff(store, repository) or {}

    assert (20, 20, 10, 600) == (len(brief["working_set"]), len(brief["blockers"]), len(brief["do_not_redo"]), len(brief["next_action"]))
