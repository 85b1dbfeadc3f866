"""The names of before: all of them, as short as they were, and each does what its newer name does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mcp_server import older, schemas, server
from mcp_server.protocol import Peer
from mcp_server.scope import Scope
from tests.mcp_server.messages import request

NAMES = [
    "memory_write_stm", "memory_write_ltm", "memory_recall_with_edges", "memory_recall_by_id", "memory_recall_by_edge", "memory_pattern_check", "memory_revise_ltm",
    "memory_promote", "memory_demote", "memory_decay_sweep", "memory_bump_verdict_boost", "memory_edge_propose", "memory_edge_approve", "memory_edge_reject", "edges_pending",
    "task_state_write", "task_state_read", "procedure_propose", "procedure_outcome", "procedure_sweep", "procedure_grounding",
]  # fmt: skip
# name: the arguments that backant-memory's callers send, all of them; and the call that they become
BECOMES: dict[str, tuple[dict[str, Any], str, dict[str, Any]]] = {
    "memory_write_stm": ({"type": "fact", "content": "c", "sources": ["s"]}, "memory_write", {"tier": "short", "type": "fact", "content": "c", "sources": ["s"]}),
    "memory_write_ltm": (
        {"type": "fact", "content": "c", "sources": ["s"], "reason": "r"}, "memory_write", {"tier": "long", "type": "fact", "content": "c", "sources": ["s"], "reason": "r"},
    ),
    "memory_recall_with_edges": (
        {"cue": "c", "k": 3, "edge_depth": 2, "tier": "stm", "types": ["fact"]}, "memory_recall",
        {"cue": "c", "k": 3, "edge_depth": 2, "tier": "stm", "types": ["fact"], "with_edges": True},
    ),
    "memory_recall_by_id": ({"id": "m1"}, "memory_recall", {"id": "m1"}),
    "memory_recall_by_edge": (
        {"from": "m1", "to": "m2", "type": "supports"}, "memory_graph", {"action": "list", "from": "m1", "to": "m2", "type": "supports"},
    ),
    "memory_pattern_check": ({"domains": ["d"]}, "memory_maintain", {"action": "pattern_check", "domains": ["d"]}),
    "memory_revise_ltm": (
        {"id": "m1", "new_content": "n", "reason": "r", "dream_source_id": None}, "memory_edit", {"action": "revise", "id": "m1", "new_content": "n", "reason": "r"},
    ),
    "memory_promote": ({"stm_id": "m1", "reason": "r"}, "memory_edit", {"action": "promote", "id": "m1", "reason": "r"}),
    "memory_demote": ({"ltm_id": "m1", "reason": "r"}, "memory_edit", {"action": "demote", "id": "m1", "reason": "r"}),
    "memory_decay_sweep": ({}, "memory_maintain", {"action": "decay_sweep"}),
    "memory_bump_verdict_boost": ({"id": "m1", "reason": "act-cite", "cycleId": "c"}, "memory_reinforce", {"id": "m1", "reason": "act-cite"}),
    "memory_edge_propose": (
        {"from": "m1", "to": "m2", "type": "supports", "reason": "r", "dream_source_id": None}, "memory_graph",
        {"action": "propose", "from": "m1", "to": "m2", "type": "supports", "reason": "r"},
    ),
    "memory_edge_approve": ({"edge_id": 1, "approver_cycle": "c"}, "memory_graph", {"action": "approve", "edge_id": 1, "approver_cycle": "c"}),
    "memory_edge_reject": ({"edge_id": 1, "reason": "r"}, "memory_graph", {"action": "reject", "edge_id": 1, "reason": "r"}),
    "edges_pending": ({"limit": 5}, "memory_graph", {"action": "pending", "limit": 5}),
    "task_state_write": (
        {
            "epic_id": "e", "title": "t", "status": "active", "plan": [{"step": "s", "status": "todo", "note": "n"}], "open_threads": [], "touched": [{"path": "p", "sha": "1"}],
            "blockers": [],
        }, "task_state",
        {
            "action": "write", "epic_id": "e", "title": "t", "status": "active", "plan": [{"step": "s", "status": "pending", "note": "n"}], "open_threads": [],
            "touched": [{"path": "p", "sha": "1"}], "blockers": [],
        },
    ),
    "task_state_read": ({"epic_id": "e"}, "task_state", {"action": "read", "epic_id": "e"}),
    "procedure_propose": (
        {"name": "n", "trigger": "t", "steps": ["one", "two"], "depends_on_paths": ["p"], "sources": ["s"]}, "procedure",
        {"action": "propose", "name": "n", "trigger": "t", "steps": "1. one\n2. two", "depends_on_paths": ["p"], "sources": ["s"]},
    ),
    "procedure_outcome": (
        {"procedure_id": "m1", "outcome": "success", "judge_confirmed": True, "situation": "s", "action_type": "fix", "evidence": "e", "cycle_id": "c", "epic_id": None}, "procedure",
        {"action": "outcome", "procedure_id": "m1", "outcome": "success", "judge_confirmed": True, "situation": "s", "action_type": "fix", "evidence": "e", "cycle_id": "c"},
    ),
    "procedure_sweep": ({"cycleId": "c"}, "procedure", {"action": "sweep", "cycle_id": "c"}),
    "procedure_grounding": ({"trigger": "t", "action_type": "fix", "k": 2}, "procedure", {"action": "grounding", "trigger": "t", "action_type": "fix", "k": 2}),
}  # fmt: skip


def called(folder: Path, name: str, /, **arguments: Any) -> Any:
    """What a tool gives in the folder, as data."""
    message = request("tools/call", {"name": name, "arguments": arguments})
    answer = server.dispatcher(full=True).answer(message, Peer(where=lambda context: Scope(str(folder))))
    assert isinstance(answer, dict)
    assert not answer["result"].get("isError"), answer["result"]
    return answer["result"]["structuredContent"]


def test_the_older_names_come_after_the_eleven_and_only_when_asked_for() -> None:
    """All twenty-one."""
    assert [*schemas.TOOLS, *NAMES] == [tool.name for tool in server.tools(full=True)]
    assert list(schemas.TOOLS) == [tool.name for tool in server.tools()]


def test_all_older_names_together_are_short() -> None:
    """They are in every request of a client that has them."""
    listed = [tool.listed() for tool in server.tools(full=True)][len(schemas.TOOLS) :]
    assert len(json.dumps(listed, ensure_ascii=False)) < 12_500
    assert all("_meta" not in tool for tool in listed)


@pytest.mark.parametrize("name", NAMES)
def test_an_older_call_becomes_a_newer_one(name: str) -> None:
    """Its schema takes what was sent then, and the newer tool takes what becomes of it."""
    jsonschema = pytest.importorskip("jsonschema")
    sent, tool, wanted = BECOMES[name]
    schema = older._schema(name)
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(sent, schema)
    assert set(sent) == set(schema["properties"])
    assert (tool, wanted) == (older.NAMES[name][0], older.translated(name, sent))
    jsonschema.validate(older.translated(name, sent), schemas.TOOLS[tool][2])
    assert schema["required"] == [field for field in schema["properties"] if field in schema["required"]]


@pytest.mark.parametrize("name", NAMES)
def test_what_is_required_and_what_is_unknown_is_told(name: str) -> None:
    """By the older name's own fields."""
    message = request("tools/call", {"name": name, "arguments": {"no_such_field": 1}})
    answer = server.dispatcher(full=True).answer(message)
    assert isinstance(answer, dict)
    assert "no_such_field: is not known" in answer["result"]["content"][0]["text"]


def test_a_working_life_by_the_older_names(tmp_path: Path) -> None:
    """Written, found, linked, promoted, revised; a task; a runbook: read back by the newer names."""
    (tmp_path / "Makefile").write_text("all:\n", encoding="utf-8")
    short = called(tmp_path, "memory_write_stm", type="observation", content="The zebra cache is cold at noon.", sources=["a.py"])["id"]
    long = called(tmp_path, "memory_write_ltm", type="lesson", content="Warm the zebra cache first.", sources=[], reason="measured")["id"]
    edge = called(tmp_path, "memory_edge_propose", **{"from": long, "to": short, "type": "supports", "reason": "r"})["edge_id"]
    assert [edge] == [one["edge_id"] for one in called(tmp_path, "edges_pending")["edges"]]
    called(tmp_path, "memory_edge_approve", edge_id=edge, approver_cycle="c")
    assert [edge] == [one["edge_id"] for one in called(tmp_path, "memory_recall_by_edge", **{"from": long})["edges"]]
    assert all(hit["edges"] for hit in called(tmp_path, "memory_recall_with_edges", cue="zebra cache")["hits"])
    assert "long" == called(tmp_path, "memory_promote", stm_id=short, reason="seen again")["tier"]
    assert "short" == called(tmp_path, "memory_demote", ltm_id=short, reason="not so sure")["tier"]
    assert 2 == called(tmp_path, "memory_revise_ltm", id=long, new_content="Warm the zebra cache twice.", reason="measured again")["revision"]
    assert 1 == called(tmp_path, "memory_bump_verdict_boost", id=long, reason="act-cite")["citations"]
    assert "Warm the zebra cache twice." == called(tmp_path, "memory_recall", id=long)["hits"][0]["content"]
    assert long == called(tmp_path, "memory_recall_by_id", id=long)["hits"][0]["id"]
    called(tmp_path, "task_state_write", **BECOMES["task_state_write"][0])
    assert "pending" == called(tmp_path, "task_state_read", epic_id="e")["state"]["plan"][0]["status"]
    runbook = called(
        tmp_path, "procedure_propose", name="warm", trigger="warm the cache", steps=["make warm", "look"], depends_on_paths=["Makefile"], sources=[]
    )["id"]
    assert "1. make warm\n2. look" == called(tmp_path, "procedure_grounding", trigger="warm the cache", action_type="other")["procedures"][0]["steps"]
    assert 1 == called(tmp_path, "procedure_outcome", procedure_id=runbook, outcome="success", judge_confirmed=True)["applied"]
    assert {"scanned", "marked_stale"} == set(called(tmp_path, "procedure_sweep", cycleId="c"))
    assert {"zebra"} == set(called(tmp_path, "memory_pattern_check", domains=["zebra"])["patterns"])
    assert "weakened" in called(tmp_path, "memory_decay_sweep")
    other = called(tmp_path, "memory_edge_propose", **{"from": short, "to": long, "type": "refines", "reason": "r"})["edge_id"]
    assert "rejected" == called(tmp_path, "memory_edge_reject", edge_id=other, reason="no")["status"]
