"""The tools by the names that backant-memory gave them before there were eleven: each a call of one of those, with what it says already filled in."""

from __future__ import annotations

from mcp_server import schemas
from mcp_server.protocol import Tool, ToolError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from mcp_server.protocol import Context

# name: (the tool, what the name says of its arguments, arguments under other names, required, allowed besides)
NAMES: dict[str, tuple[str, dict[str, Any], dict[str, str], str, str]] = {
    "memory_write_stm": ("memory_write", {"tier": "short"}, {}, "type content", "sources"),
    "memory_write_ltm": ("memory_write", {"tier": "long"}, {}, "type content reason", "sources"),
    "memory_recall_with_edges": ("memory_recall", {"with_edges": True}, {}, "cue", "k tier types edge_depth"),
    "memory_recall_by_id": ("memory_recall", {}, {}, "id", ""),
    "memory_recall_by_edge": ("memory_graph", {"action": "list"}, {}, "", "from to type"),
    "memory_pattern_check": ("memory_maintain", {"action": "pattern_check"}, {}, "domains", ""),
    "memory_revise_ltm": ("memory_edit", {"action": "revise"}, {}, "id new_content reason", "dream_source_id"),
    "memory_promote": ("memory_edit", {"action": "promote"}, {"stm_id": "id"}, "stm_id reason", ""),
    "memory_demote": ("memory_edit", {"action": "demote"}, {"ltm_id": "id"}, "ltm_id reason", ""),
    "memory_decay_sweep": ("memory_maintain", {"action": "decay_sweep"}, {}, "", ""),
    "memory_bump_verdict_boost": ("memory_reinforce", {}, {"cycleId": ""}, "id", "reason cycleId"),
    "memory_edge_propose": ("memory_graph", {"action": "propose"}, {}, "from to type reason", "dream_source_id"),
    "memory_edge_approve": ("memory_graph", {"action": "approve"}, {}, "edge_id", "approver_cycle"),
    "memory_edge_reject": ("memory_graph", {"action": "reject"}, {}, "edge_id reason", ""),
    "edges_pending": ("memory_graph", {"action": "pending"}, {}, "", "limit"),
    "task_state_write": ("task_state", {"action": "write"}, {}, "epic_id", "title status plan open_threads touched blockers"),
    "task_state_read": ("task_state", {"action": "read"}, {}, "", "epic_id"),
    "procedure_propose": ("procedure", {"action": "propose"}, {}, "name trigger steps", "depends_on_paths sources"),
    "procedure_outcome": (
        "procedure", {"action": "outcome"}, {}, "procedure_id outcome", "judge_confirmed situation evidence action_type cycle_id epic_id",
    ),
    "procedure_sweep": ("procedure", {"action": "sweep"}, {"cycleId": "cycle_id"}, "", "cycleId"),
    "procedure_grounding": ("procedure", {"action": "grounding"}, {}, "trigger", "action_type k"),
}  # fmt: skip
READING = {"memory_recall_by_edge", "memory_pattern_check", "edges_pending", "task_state_read", "procedure_grounding"}  # of tools that write too
# What was written in another way then: steps were a list, a plan's step was still to do, and no epic was null.
STEPS = {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}
STANDS = {"enum": ["pending", "todo", "active", "done", "blocked"]}
OR_NULL = ("epic_id", "dream_source_id")


def tools(newer: dict[str, Tool]) -> list[Tool]:
    """The older names as tools, given those that they stand for, by name."""
    return [_tool(name, newer[entry[0]]) for name, entry in NAMES.items()]


def translated(name: str, given: dict[str, Any]) -> dict[str, Any]:
    """The arguments of the tool that an older name stands for."""
    tool, filled, renamed, _, _ = NAMES[name]
    known = schemas.TOOLS[tool][2]["properties"]
    told = {renamed.get(field, field): value for field, value in given.items() if not (field in OR_NULL and value is None)}
    if isinstance(told.get("steps"), list):
        told["steps"] = "\n".join(f"{at}. {step}" for at, step in enumerate(told["steps"], 1))
    if isinstance(told.get("plan"), list):
        told["plan"] = [{**step, "status": "pending"} if step.get("status") == "todo" else step for step in told["plan"]]
    return {**{field: value for field, value in told.items() if field in known}, **filled}


def _tool(name: str, newer: Tool) -> Tool:
    title = name.replace("_", " ").capitalize()
    reads = name in READING or bool((newer.annotations or {}).get("readOnlyHint"))
    _, filled, _, _, _ = NAMES[name]
    way = ", ".join(f"{field} {str(value).lower()}" for field, value in filled.items())
    return Tool(
        name=name,
        title=title,
        description=f"The older name of {newer.name}{' with ' + way if way else ''}.",
        input_schema=_schema(name),
        annotations={**(newer.annotations or {}), "title": title, "readOnlyHint": reads},
        call=_caller(name, newer),
    )


def _schema(name: str) -> dict[str, Any]:
    """What the older name takes: the newer tool's own fields, without their words."""
    tool, _, renamed, required, allowed = NAMES[name]
    known = schemas.TOOLS[tool][2]["properties"]
    properties = {}
    for field in [*required.split(), *allowed.split()]:
        schema = _bare(known.get(renamed.get(field, field), {}))
        if field == "steps":
            schema = STEPS
        elif field == "plan":
            schema = {"type": "array", "items": {"type": "object", "properties": {"step": {"type": "string"}, "status": STANDS, "note": {"type": "string"}}}}
        elif field in OR_NULL and schema:
            schema = {"anyOf": [schema, {"type": "null"}]}
        properties[field] = schema
    return {"type": "object", "properties": properties, "required": required.split(), "additionalProperties": False}


def _bare(schema: Any) -> Any:
    if isinstance(schema, dict):
        return {key: _bare(value) for key, value in schema.items() if key not in ("description", "default")}
    return [_bare(part) for part in schema] if isinstance(schema, list) else schema


def _caller(name: str, newer: Tool) -> Callable[[dict[str, Any], Context], object]:
    def call(arguments: dict[str, Any], context: Context) -> object:
        from mcp_server import validate

        told = translated(name, arguments)
        wrong = validate.problem(told, newer.input_schema)
        if wrong:
            raise ToolError(wrong)
        return newer.call(told, context)

    return call
