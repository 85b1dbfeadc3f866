"""The slash commands in the real Claude Code: what the user is shown, what the model is sent, and what is never run."""

from __future__ import annotations

from typing import Any

import pytest

from tests.fakes.replies import Reply, obey, prompt_of, results_of, text, tool_call
from tests.live.test_sessions import FACT, QUESTION
from tests.live.user import ALLOWED, TOOL, User

pytestmark = pytest.mark.live

GUARDED = "Ottilie guards the PWN console."


@pytest.mark.parametrize("name", ["/memory-recall", "/tenon:memory-recall"])
def test_recall_brings_the_hits_and_runs_nothing(user: User, name: str) -> None:
    """By both names; what follows it is searched as text, whatever a shell would make of it."""
    user.says(GUARDED)
    made = [user.claude.home.parent / "x", user.claude.home.parent / "y"]
    cue = f"a; echo PWN > '{made[0]}' \"$(touch '{made[1]}')\" `touch '{made[1]}'` don't"

    session = user.says(f"{name} {cue}")
    (hits,) = session.blocks("UserPromptExpansion")
    assert GUARDED in hits
    assert "(t1, t3)" in hits
    assert f"The user asks memory about: {cue}" in session.sent
    assert 1 == len(session.requests)
    assert [False, False] == [path.exists() for path in made]
    assert "Nothing in memory fits that cue." in user.says(f"{name} xylophone quartet").sent


def test_a_digest_reads_what_waits_and_marks_what_was_dealt_with(user: User) -> None:
    """The model gets the turns, writes a memory, marks two; exactly those wait no longer."""
    user.says(FACT)
    user.says("thank you, that was all")
    user.api.script = digesting
    session = user.says("/memory-digest", *ALLOWED)

    (shown,) = session.blocks("UserPromptExpansion")
    assert "- [t1 · user · " in shown
    assert FACT in shown
    assert "Turns shown, in order: t1, t3, t4, t6. Mark only turns from this list." in session.sent
    assert '"marked":2' in "".join(results_of(session.requests[-1].body)).replace(" ", "")
    assert [(1, "written"), (3, "skipped")] == user.rows("SELECT turn, how FROM consolidated ORDER BY turn")
    assert [("Only Ottilie may restart zebra-42.", 1)] == user.rows(
        "SELECT m.text, l.turn FROM memory m JOIN lineage l ON l.memory = m.id WHERE m.writer = 'model'"
    )
    after = user.says("/memory-digest", *ALLOWED).sent
    assert "Turns shown, in order: t4, t6. Mark only" in after  # and not what the model said of its digest


def digesting(request: Any) -> Reply:
    """A model that digests: writes one memory from t1, then marks t1 and t3, then says so; otherwise does as it is told."""
    if "Digest the turns" not in prompt_of(request.body) and not results_of(request.body):
        return obey(request)
    done = "".join(results_of(request.body)).replace(" ", "")
    if '"waiting"' in done or "Turns shown, in order: t4" in str(request.body["messages"]):
        return {"blocks": [text("One thing was kept.")]}
    if '"tier"' in done:
        return {"blocks": [tool_call(TOOL + "memory_archive", {"action": "done", "written": ["t1"], "skipped": ["t3"]})]}
    memory = {"tier": "short", "type": "fact", "content": "Only Ottilie may restart zebra-42.", "origin": "user", "turns": ["t1"]}
    return {"blocks": [tool_call(TOOL + "memory_write", memory)]}


def test_status_and_why_are_answered_without_a_request(user: User) -> None:
    """The text is shown, the model is not asked."""
    empty = user.says("/memory-status")
    user.says(FACT)
    second = user.says(QUESTION)
    status = user.says("/memory-status")
    why = user.says("/tenon:memory-why", "--resume", second.id)

    assert "archive here:    0 turns of 0 sessions" in empty.output
    assert "archive here:    6 turns of 2 sessions" in status.output
    assert "prompt: " in why.output
    assert "  t1 " in why.output
    assert FACT in why.output
    assert [[], [], []] == [empty.requests, status.requests, why.requests]


def test_forget_asks_first_and_then_forgets_for_good(user: User) -> None:
    """No request; after the word «yes» no file of the store contains it, and it does not come back."""
    user.says(FACT)
    asked = user.says("/memory-forget t1")
    assert "This would be forgotten for good:" in asked.output
    assert "zebra-42" in asked.output
    assert "To do it: /memory-forget t1 yes" in asked.output
    assert user.holds("zebra-42")

    done = user.says("/memory-forget t1 t3 yes")
    assert "Forgotten: t1, t3." in done.output
    assert [[], []] == [asked.requests, done.requests]
    assert not user.holds("zebra-42")
    assert "zebra-42" not in user.says("what is our staging database called?").sent
    assert not user.holds("zebra-42")
