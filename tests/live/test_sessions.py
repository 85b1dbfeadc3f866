"""What was said and learnt in one session of the real Claude Code is in the request of the next, and in the archive."""

from __future__ import annotations

import os
import shutil
import sqlite3
from contextlib import closing

import pytest

from tests.live.user import ALLOWED, Session, User, call

pytestmark = pytest.mark.live

FACT = "For your information: our staging database is called zebra-42 and only Ottilie may restart it."
QUESTION = "Who may restart the staging database, and what is it called?"


def test_what_was_only_said_comes_back_where_it_fits_and_nowhere_else(user: User) -> None:
    """The question gets it with its id; another prompt does not, nor does another folder; no memory was written but what plain code spots."""
    user.says(FACT)

    (recalled,) = user.says(QUESTION).blocks("UserPromptSubmit")
    assert FACT in recalled
    assert "(t1, t3)" in recalled
    assert [] == user.says("Please write a limerick about the sea").blocks("UserPromptSubmit")
    assert "zebra-42" not in user.says(QUESTION, folder=user.claude.project.parent / "elsewhere").sent
    assert [] == user.rows("SELECT text FROM memory WHERE writer <> 'code'")


def test_every_session_starts_with_what_is_known(ten: tuple[User, list[Session]]) -> None:
    """Ten of ten first requests hold the memory and what the last session was about."""
    blocks = [session.blocks("SessionStart") for session in ten[1]]

    assert [1] * 10 == [len(block) for block in blocks]
    assert all("The pelican server has nine lives." in block[0] for block in blocks)
    assert all(f"quote the pelican, time {number}" in block[0] for number, block in enumerate(blocks[1:]))


def test_what_was_injected_is_never_archived(ten: tuple[User, list[Session]]) -> None:
    """Ten sessions in which user and model quote it leave their own words and nothing of it."""
    user, _ = ten
    kept = user.turns()

    assert ["prompt:", "call:"] == [turn.split()[0] for turn in kept if "nine lives" in turn]
    assert [f"prompt: quote the pelican, time {number}:  so much for that" for number in range(10)] == [
        turn for turn in kept if turn.startswith("prompt: quote")
    ]
    assert 10 == len([turn for turn in kept if turn.startswith("reply: I was told this:")])
    assert [0] == user.rows("SELECT count(*) FROM turn WHERE content LIKE '%tenon-memory%'")
    assert [False, False] == [user.holds("<tenon-memory>"), user.holds("the pelican was pasted here")]


def test_a_continued_or_forked_session_begins_with_memory_and_is_archived_once(user: User) -> None:
    """The start block is there again, with what happened meanwhile; turns that were copied are not kept twice."""
    first = user.says(FACT)
    user.says("let us talk about bridges")
    for number, more in enumerate((("--resume", first.id), ("--continue",), ("--resume", first.id, "--fork-session"))):
        session = user.says(f"and one more thing, number {number}", *more)
        told = session.blocks("SessionStart")[-1]
        # To a fork, newer versions being told its own name, the session it was forked from is the last one.
        assert "Asked: let us talk about bridges" in told or "--fork-session" in more and f"Asked: {FACT}" in told
        assert FACT in session.sent
        assert (first.id == session.id) == ("--fork-session" not in more)

    said = [turn for turn in user.turns() if turn.startswith(("prompt", "reply"))]
    assert 10 == len(said)
    assert len(set(said)) == len(said)


def test_a_task_in_flight_is_told_to_the_next_session(user: User) -> None:
    """The plan that the model wrote through its tool stands at the start."""
    steps = [{"step": "draw the arches", "status": "done"}, {"step": "pour the concrete", "status": "active"}]
    user.says(call("task_state", action="write", epic_id="viaduct", title="The new viaduct", plan=steps), *ALLOWED)

    (block,) = user.says("where were we?").blocks("SessionStart")
    assert "Task in flight: The new viaduct (epic viaduct)" in block
    assert "- [x] draw the arches\n- [>] pour the concrete" in block


def test_every_turn_is_archived_with_tools_and_subagents_and_without_secrets(user: User) -> None:
    """When the process has ended all of it is there; a secret in a prompt, an output or a quotation is in no file."""
    agent = '[[CALL Agent {"description": "look", "prompt": "count the zebras", "subagent_type": "general-purpose", "run_in_background": false}]]'
    secrets = ("ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8", "AKIA" + "QZ7XK3N5PLM2RTVW")
    user.says(f'the token is {secrets[0]}, keep it; [[CALL Bash {{"command": "printf \'key %s%s for you\' AKIA {secrets[1][4:]}"}}]]', *ALLOWED)
    user.says(agent, *ALLOWED)

    kept = user.turns()
    assert [turn for turn in kept if turn.startswith("result: key ") and "for you" in turn]
    assert [turn for turn in kept if turn.startswith("call: Bash printf")]
    assert ["sub-agent prompt: count the zebras", "sub-agent reply: heard: count the zebras"] == [
        turn for turn in kept if turn.startswith(("sub-agent prompt", "sub-agent reply"))
    ]
    assert "reply: result: key " in "\n".join(kept)
    assert [False, False] == [user.holds(secret) for secret in secrets]


def test_a_locked_store_costs_nobody_an_answer(user: User) -> None:
    """While another process writes, prompts are answered, and what is remembered is told."""
    user.says(FACT)
    with closing(sqlite3.connect(user.store, isolation_level=None)) as writer:
        writer.execute("BEGIN IMMEDIATE")
        session = user.says(QUESTION)
    assert session.output.startswith("heard: Who may restart")
    assert "zebra-42" in "".join(session.blocks("SessionStart"))
    assert FACT in "".join(session.blocks("UserPromptSubmit"))
    assert {"SessionStart", "UserPromptSubmit"} <= user.faults()
    assert {"Stop", "SessionEnd"} & user.faults()  # 2.1.197 may write its transcript only after Stop
    # What could not be archived then is caught up with.
    user.says("good morning to you")
    assert [turn for turn in user.turns() if QUESTION in turn]


def test_a_corrupt_store_costs_nobody_an_answer(user: User) -> None:
    """The session goes on without memory, the file is left as it is, and `tenon doctor` knows."""
    user.store.parent.mkdir(parents=True)
    user.store.write_bytes(b"this is not a database" * 400)
    session = user.says(FACT)
    assert session.output.startswith("heard: For your information")
    assert 1 == len(session.requests)
    assert b"this is not a database" * 400 == user.store.read_bytes()
    assert {"SessionStart", "UserPromptSubmit"} <= user.faults()
    assert {"Stop", "SessionEnd"} & user.faults()  # 2.1.197 may write its transcript only after Stop


def test_a_broken_python_costs_nobody_an_answer(user: User) -> None:
    """As where python3 is only a signpost to a shop: it exits 49."""
    folder = user.claude.home.parent / "bin"
    folder.mkdir()
    (folder / "python3").write_text("#!/bin/sh\nexit 49\n")
    (folder / "python3").chmod(0o755)
    session = user.says(FACT, env={"PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"})
    assert session.output.startswith("heard: For your information")
    assert "tenon-memory" not in session.sent


def test_a_copy_under_skills_works_without_a_marketplace(newcomer: User) -> None:
    """Hooks, commands and tools, on a machine where nothing may be installed."""
    shutil.copytree(newcomer.plugin, newcomer.claude.home / ".claude" / "skills" / "tenon")
    first = newcomer.says(FACT)
    assert {"memory_recall", "task_state"} < first.tools
    assert FACT in "".join(newcomer.says(QUESTION).blocks("UserPromptSubmit"))
    assert FACT in "".join(newcomer.says("/memory-recall staging database").blocks("UserPromptExpansion"))
