"""What each tool takes and when to call it, as the model reads it."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

KINDS = [
    "fact", "preference", "decision", "lesson", "gotcha", "convention", "command", "observation", "hypothesis", "anomaly", "experience",
    "identity", "relationship", "failure_signature",
]  # fmt: skip
FOUND = [*KINDS, "episode", "procedure"]
ENDINGS = ["success", "failure", "partial"]
ACTIONS = ["fix", "merge", "implement", "review-feedback", "migrate", "investigate", "other"]
EDGES = ["related_to", "contradicts", "supports", "supersedes", "refines"]

TEXT = {"type": "string", "minLength": 1}
TEXTS = {"type": "array", "items": {"type": "string"}}


def _object(required: list[str], **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def _text(description: str, **more: Any) -> dict[str, Any]:
    return {"type": "string", "description": description, **more}


def _choice(description: str, values: list[str], **more: Any) -> dict[str, Any]:
    return {"type": "string", "enum": values, "description": description, **more}


def _list(description: str) -> dict[str, Any]:
    return {**TEXTS, "description": description}


def _number(description: str, least: int, most: int, **more: Any) -> dict[str, Any]:
    return {"type": "integer", "minimum": least, "maximum": most, "description": description, **more}


# What callers of backant-memory send besides; it is taken and not used.
OLD = {"description": "Accepted for compatibility"}


# name: (title, description, input schema, read-only, destructive, repeating it changes nothing)
TOOLS: dict[str, tuple[str, str, dict[str, Any], bool, bool, bool]] = {
    "memory_recall": (
        "Recall memories",
        "Before deciding, designing, debugging or answering from habit: recall what was learnt in this repository. Give the question in your own words, "
        "with names and error texts. With `id`: one memory with its history, or one archived turn (t…) with the exchange around it. Not for what the code itself says: read the code.",
        _object(
            [],
            cue=_text("What you want to know, in words"),
            k=_number("How many hits", 1, 50, default=8),
            tier=_choice("Only this tier", ["any", "short", "long", "stm", "ltm"], default="any"),
            types={"type": "array", "items": {"type": "string", "enum": FOUND}, "description": "Only these kinds"},
            id=_text("A memory (m…) or a turn (t…), instead of a cue"),
            with_edges={"type": "boolean", "description": "Also what is linked to each hit", "default": False},
            edge_depth=_number("How far to follow links", 1, 3, default=1),
            archive={"type": "boolean", "description": "Also what was said in earlier sessions, word for word", "default": False},
            everywhere={"type": "boolean", "description": "In all repositories, not only this one", "default": False},
        ),
        True, False, True,
    ),
    "memory_write": (
        "Write a memory",
        "After something was verified, decided or stated by the user, and would be missed next week. Recall first: revise what is there rather than writing it twice. "
        "tier short: observations and hypotheses that may fade. tier long: verified knowledge; needs a reason. One point per memory, complete sentences, names spelt out. "
        "Not for what a file listing, a diff or a search shows, nor for generic knowledge.",
        _object(
            ["tier", "type", "content"],
            tier=_choice("short (stm) fades, long (ltm) stays", ["short", "long", "stm", "ltm"]),
            type=_choice("What kind of knowledge it is", KINDS),
            content={**TEXT, "description": "The point, so that it is understood without this conversation"},
            sources=_list("Where it stands or was seen: files, commits, PR#41, URLs"),
            epic_id=_text("The epic it belongs to: it does not fade while that is in flight"),
            reason=_text("How it was verified or who decided it; required for tier long"),
            scope=_choice("repository: true here; agent: true of the user or of you everywhere", ["repository", "agent"], default="repository"),
            origin=_choice("Who said it: the user, you, a tool of this machine, or something from outside (web page, issue text)", ["user", "assistant", "tool", "outside"], default="assistant"),
            turns=_list("Its archived turns (t…)"),
            supersedes=_text("A memory (m…) that this one replaces; the old one no longer surfaces"),
            source=OLD,
            agent=OLD,
            cycle_id=OLD,
        ),
        False, False, True,
    ),
    "memory_write_episode": (
        "Write an episode",
        "After an attempt at a decision point has ended: what was tried, what you expected, what happened, with evidence. A surprise counts double.",
        _object(
            ["situation", "action_type", "action_taken", "expected", "outcome", "evidence"],
            situation={**TEXT, "description": "What called for action"},
            action_type=_choice("What sort of action", ACTIONS),
            action_taken={**TEXT, "description": "What was done"},
            expected=_choice("What you expected", ENDINGS),
            outcome=_choice("What happened", ENDINGS),
            evidence={**TEXT, "description": "Test, output or commit"},
            epic_id=_text("The epic it belongs to"),
            sources=_list("Files, commits, URLs"),
            turns=_list("Its archived turns (t…)"),
            source=OLD,
            cycle_id=OLD,
        ),
        False, False, True,
    ),
    "memory_reinforce": (
        "Reinforce a memory",
        "When a recalled memory proved right in this session: it surfaces higher and lasts longer. Only after proof.",
        _object(
            ["id"],
            id=_text("The memory (m…)"),
            factor={"type": "number", "minimum": 1, "maximum": 2, "default": 1.2, "description": "How much stronger"},
            reason=_text("What proved it"),
        ),
        False, False, False,
    ),
    "memory_edit": (
        "Edit a memory",
        "When a recalled memory is inexact (revise: the old text stays in its history), was verified (promote to long), or was contradicted (demote to short).",
        _object(
            ["action", "id", "reason"],
            action=_choice("What to do", ["revise", "promote", "demote"]),
            id=_text("The memory (m…)"),
            reason={**TEXT, "description": "Why"},
            new_content=_text("The new text, for revise"),
        ),
        False, False, True,
    ),
    "memory_graph": (
        "Link memories",
        "When two memories belong together or one replaces the other. Propose, then approve once it is certain; approving `supersedes` closes the older one.",
        _object(
            ["action"],
            action=_choice("What to do", ["propose", "approve", "reject", "pending", "list"]),
            **{"from": _text("The memory the link starts at"), "to": _text("The memory it points to")},
            type=_choice("What the link says", EDGES),
            reason=_text("Why"),
            edge_id=_number("The link, for approve and reject", 1, 2**53),
            limit=_number("How many", 1, 200, default=50),
            approver_cycle=OLD,
            dream_source_id=OLD,
        ),
        False, False, True,
    ),
    "procedure": (
        "Procedures",
        "grounding: before a recurring action (deploy, release, migrate), ask for a runbook that worked. propose: after a sequence of steps proved to work. "
        "outcome: after following one. sweep: mark those stale whose files changed.",
        _object(
            ["action"],
            action=_choice("What to do", ["grounding", "propose", "outcome", "sweep"]),
            trigger=_text("The action or situation, in words"),
            k=_number("How many", 1, 20, default=5),
            name=_text("A short name, for propose"),
            steps=_text("The steps in prose, for propose"),
            depends_on_paths=_list("Files it depends on, relative to the repository"),
            sources=_list("Evidence"),
            procedure_id=_text("The procedure (m…), for outcome"),
            outcome=_choice("How following it ended", ENDINGS),
            judge_confirmed={"type": "boolean", "description": "Whether a test or the user confirmed it", "default": False},
            situation=_text("Where it was applied"),
            evidence=_text("What shows the outcome"),
            epic_id=_text("The epic"),
            action_type=OLD,
            cycle_id=OLD,
        ),
        False, False, False,
    ),
    "task_state": (
        "Task state",
        "For work that outlives a session or a compaction: write the plan of an epic at every significant step; it is told again when the next session starts. "
        "Only the fields you give are changed. handoff: write the brief for whoever goes on.",
        _object(
            ["action"],
            action=_choice("What to do", ["read", "write", "handoff"]),
            epic_id=_text("A short stable name of the epic"),
            title=_text("What it is about"),
            status=_choice("Whether it is in flight", ["active", "completed"]),
            plan={
                "type": "array",
                "description": "All steps in order",
                "items": _object(["step"], step=TEXT, status=_choice("Where it stands", ["pending", "active", "done", "blocked"], default="pending"), note=_text("What matters about it")),
            },
            open_threads=_list("What is not settled"),
            touched={
                "type": "array",
                "description": "Files worked on",
                "items": {"anyOf": [{"type": "string"}, _object(["path"], path=TEXT, sha=_text("Commit or blob"))]},
            },
            blockers=_list("What is in the way"),
            last_completed_step=_text("For handoff"),
            next_action=_text("For handoff"),
            working_set=_list("For handoff: the files in play"),
            do_not_redo=_list("For handoff: what was tried and does not work, or is done"),
        ),
        False, False, True,
    ),
    "memory_maintain": (
        "Maintain memory",
        "pattern_check: before retrying something that failed, see how it failed before. decay_sweep: weaken what was not proved lately (by elapsed time, so calling it twice does nothing).",
        _object(
            ["action"],
            action=_choice("What to do", ["decay_sweep", "pattern_check"]),
            domains=_list("Words for the areas to check, for pattern_check"),
            cycle_id=OLD,
        ),
        False, False, True,
    ),
    "memory_archive": (
        "Search the archive",
        "search: what was really said in earlier sessions, word for word. exchange: around a turn. "
        "turn: one turn in full. "
        "pending: the oldest turns no memory is made of. done: marks those you wrote from or skip.",
        _object(
            ["action"],
            action=_choice("What to do", ["search", "exchange", "turn", "pending", "done"]),
            cue=_text("What you are looking for, for search"),
            k=_number("How many", 1, 50, default=10),
            id=_text("A turn (t…)"),
            start=_number("next_start of turn", 0, 10**9),
            everywhere={"type": "boolean", "description": "In all repositories", "default": False},
            tools={"type": "boolean", "description": "Also tool calls, their output, sub-agents", "default": False},
            written=_list("For done: turns (t…) you wrote from"),
            skipped=_list("For done: turns (t…) you skip"),
        ),
        False, False, True,
    ),
    "memory_forget": (
        "Forget",
        "Only when the user asks to forget something: removes memories (m…) or archived turns (t…) for good, from rows, indexes and summaries, and keeps them from coming back. "
        "Without confirm it only shows what would go; show that to the user first.",
        _object(
            ["ids"],
            ids={"type": "array", "items": TEXT, "minItems": 1, "description": "Memories (m…) and turns (t…)"},
            reason=_text("Why, without the content"),
            confirm={"type": "boolean", "description": "True once the user agreed", "default": False},
        ),
        False, True, True,
    ),
}  # fmt: skip
