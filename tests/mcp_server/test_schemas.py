"""What the model reads of each tool: sound schemas, the library's own words, true annotations, and when to call."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mcp_server import place, schemas, server, tools, validate
from tenon.base import settings
from tenon.store import db, edges, episodes, memories, tasks

NAMES = [
    "memory_recall", "memory_write", "memory_write_episode", "memory_reinforce", "memory_edit", "memory_graph", "procedure", "task_state", "memory_maintain", "memory_archive",
    "memory_forget",
]  # fmt: skip
# tool: what its annotations must say (reads only, destroys, may be repeated), and a word that tells when to call it
SAYS = {
    "memory_recall": (True, False, True, "Before deciding"), "memory_write": (False, False, True, "After something was verified"),
    "memory_write_episode": (False, False, True, "After an attempt"), "memory_reinforce": (False, False, False, "When a recalled memory proved right"),
    "memory_edit": (False, False, True, "When a recalled memory is inexact"), "memory_graph": (False, False, True, "When two memories belong together"),
    "procedure": (False, False, False, "before a recurring action"), "task_state": (False, False, True, "For work that outlives a session"),
    "memory_maintain": (False, False, True, "before retrying something that failed"), "memory_archive": (False, False, True, "what was really said in earlier sessions"),
    "memory_forget": (False, True, True, "Only when the user asks"),
}  # fmt: skip
# tool: the fields that backant-memory's tool of that name required, and those that it took besides; and one call with all of them
BACKANT = {
    "memory_recall": {"cue": "c", "k": 4, "tier": "stm", "types": ["fact"], "id": "m1", "with_edges": True, "edge_depth": 2},
    "memory_write": {"tier": "ltm", "type": "fact", "content": "c", "sources": ["s"], "reason": "r"},
    "memory_write_episode": {
        "situation": "s", "action_type": "fix", "action_taken": "a", "expected": "success", "outcome": "failure", "evidence": "e", "epic_id": "e", "cycle_id": "c", "source": "s",
    },
    "memory_reinforce": {"id": "m1", "factor": 1.2, "reason": "act-cite"},
    "memory_edit": {"action": "revise", "id": "m1", "reason": "r", "new_content": "n"},
    "memory_graph": {
        "action": "propose", "from": "m1", "to": "m2", "type": "supports", "reason": "r", "edge_id": 1, "approver_cycle": "c", "limit": 5, "dream_source_id": "d",
    },
    "procedure": {
        "action": "outcome", "trigger": "t", "action_type": "deploy", "k": 3, "name": "n", "steps": "s", "depends_on_paths": ["p"], "sources": ["s"], "procedure_id": "m1",
        "outcome": "partial", "judge_confirmed": True, "situation": "s", "evidence": "e", "cycle_id": "c", "epic_id": "e",
    },
    "task_state": {
        "action": "write", "epic_id": "e", "title": "t", "status": "completed", "plan": [{"step": "s", "status": "blocked", "note": "n"}], "open_threads": ["o"],
        "touched": [{"path": "p", "sha": "1"}], "blockers": ["b"],
    },
    "memory_maintain": {"action": "pattern_check", "domains": ["d"]},
}  # fmt: skip


def schema(name: str) -> dict[str, Any]:
    """The input schema of a tool."""
    return schemas.TOOLS[name][2]


def enum(name: str, field: str) -> list[str]:
    """The values that a field may have."""
    found: list[str] = schema(name)["properties"][field]["enum"]
    return found


def test_there_are_eleven_tools_and_each_has_its_answer() -> None:
    """In the order in which they are listed."""
    assert NAMES == list(schemas.TOOLS) == list(tools.TOOLS) == [tool.name for tool in server.tools()] == list(SAYS)


@pytest.mark.parametrize("name", NAMES)
def test_every_schema_is_valid_and_as_strict_as_it_says(name: str) -> None:
    """JSON Schema 2020-12; unknown fields are refused; every field says what it is, and each default fits its own schema."""
    jsonschema = pytest.importorskip("jsonschema")
    jsonschema.Draft202012Validator.check_schema(schema(name))
    assert ("object", False) == (schema(name)["type"], schema(name)["additionalProperties"])
    assert set(schema(name)["required"]) <= set(schema(name)["properties"])
    for field, given in schema(name)["properties"].items():
        assert given.get("description"), field
        if "default" in given:
            jsonschema.validate(given["default"], given)
            assert "" == validate.problem(given["default"], given)


@pytest.mark.parametrize("name", NAMES)
def test_the_server_judges_arguments_as_the_official_validator_does(name: str) -> None:
    """Right ones, and each of them made wrong in several ways."""
    jsonschema = pytest.importorskip("jsonschema")
    official = jsonschema.Draft202012Validator(schema(name))
    right = BACKANT.get(name, {"action": "done", "written": ["t1"]} if name == "memory_archive" else {"ids": ["m1"], "confirm": True})
    cases: list[dict[str, Any]] = [right, {}, {**right, "no_such_field": 1}]
    for field in schema(name)["properties"]:
        cases.append({other: value for other, value in right.items() if other != field})
        cases += [{**right, field: wrong} for wrong in ("", "x", 0, 1, -1, 1.5, 10**18, True, None, [], ["x"], [1], {}, {"a": 1})]
    for case in cases:
        assert official.is_valid(case) == (validate.problem(case, schema(name)) == ""), case


@pytest.mark.parametrize("name", NAMES)
def test_a_tool_is_listed_with_when_to_call_it_and_what_it_does(name: str) -> None:
    """Annotations that are true, loaded always, in few words."""
    listed = next(tool.listed() for tool in server.tools() if tool.name == name)
    reads, destroys, repeats, when = SAYS[name]
    assert {"title": listed["title"], "readOnlyHint": reads, "destructiveHint": destroys, "idempotentHint": repeats, "openWorldHint": False} == listed[
        "annotations"
    ]
    assert {"anthropic/alwaysLoad": True} == listed["_meta"]
    assert when in listed["description"]
    assert len(listed["description"]) < 500


def test_all_definitions_together_are_short() -> None:
    """They are in every request of every session."""
    assert len(json.dumps([tool.listed() for tool in server.tools()], ensure_ascii=False)) < 16_000


def test_every_choice_is_the_librarys_own() -> None:
    """What the schema offers is what the library takes, and nothing is missing."""
    assert sorted(memories.KINDS) == sorted(schemas.FOUND) == sorted(schema("memory_recall")["properties"]["types"]["items"]["enum"])
    assert {"episode", "procedure"} == set(memories.KINDS) - set(enum("memory_write", "type"))
    assert sorted(memories.TIERS) == sorted(enum("memory_write", "tier")) == sorted(set(enum("memory_recall", "tier")) - {"any"})
    assert {"reflection"} == set(memories.SOURCES) - set(enum("memory_write", "origin"))
    assert set(enum("memory_write", "origin")) < set(memories.SOURCES)
    assert list(episodes.ACTIONS) == enum("memory_write_episode", "action_type")
    assert list(episodes.ENDINGS) == enum("memory_write_episode", "expected") == enum("memory_write_episode", "outcome") == enum("procedure", "outcome")
    assert list(edges.KINDS) == enum("memory_graph", "type")
    assert list(tasks.STATUSES) == enum("task_state", "status")
    assert list(tasks.STEP_STATUSES) == schema("task_state")["properties"]["plan"]["items"]["properties"]["status"]["enum"]
    assert edges.DEEPEST == schema("memory_recall")["properties"]["edge_depth"]["maximum"]
    assert set(tasks.FIELDS) | {"title", "status", "epic_id"} | set(tasks.HANDOFF) - {"active_epic"} | {"action"} == set(schema("task_state")["properties"])


@pytest.mark.parametrize("name", list(BACKANT))
def test_whatever_a_caller_of_backant_memory_sends_fits(name: str) -> None:
    """All fields of its tools; and nothing is required that it did not require."""
    assert "" == validate.problem(BACKANT[name], schema(name))
    assert set(schema(name)["required"]) <= set(BACKANT[name])


def test_every_action_has_an_answer(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    """None falls through to another's: each that lacks its fields says so, or does what it says."""
    monkeypatch.setenv("CLAUDE_PROJECT_DIR", str(tmp_path))
    answers = {}
    with db.open_store(str(tmp_path / "tenon.db")) as store:
        for name in NAMES:
            for action in schema(name)["properties"].get("action", {}).get("enum", []):
                arguments = {"action": action, **({"id": "m1", "reason": "r"} if name == "memory_edit" else {})}
                try:
                    answers[f"{name} {action}"] = sorted(tools.TOOLS[name](place.Place(store, settings.load()), arguments))
                except Exception as error:
                    answers[f"{name} {action}"] = [str(error)]
    unknown = ["there is no memory 'm1'; ids look like m7k2p9qxab and come from recall"]
    assert {
        "memory_edit revise": unknown, "memory_edit promote": unknown, "memory_edit demote": unknown,
        "memory_graph propose": ["propose needs from, to, type, reason"], "memory_graph approve": ["approve needs edge_id"], "memory_graph reject": ["reject needs edge_id, reason"],
        "memory_graph pending": ["edges"], "memory_graph list": ["edges"],
        "procedure grounding": ["grounding needs trigger"], "procedure propose": ["propose needs name, trigger, steps"], "procedure outcome": ["outcome needs procedure_id, outcome"],
        "procedure sweep": ["marked_stale", "scanned"],
        "task_state read": ["active", "state"], "task_state write": ["write needs epic_id"], "task_state handoff": ["handoff needs epic_id"],
        "memory_maintain decay_sweep": ["edges_faded", "faded", "weakened"],
        "memory_maintain pattern_check": ["pattern_check needs domains: the words of what you are about to retry"],
        "memory_archive search": ["search needs cue"], "memory_archive exchange": ["exchange needs id"], "memory_archive turn": ["turn needs id"], "memory_archive pending": ["tokens", "turns", "waiting"],
        "memory_archive done": ["done needs the turns (t…) in written or skipped"],
    } == answers  # fmt: skip
