"""Transcripts that the real Claude Code writes are read as they should be."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tenon.digest import capture, importing
from tenon.store import exchanges
from tenon.store.db import Store
from tests.fakes.claude_code import ClaudeCode, find_claude
from tests.fakes.messages_api import MessagesApi
from tests.fakes.replies import obey
from tests.store.chain import checked

FOUND = find_claude()
CALL = '[[CALL Bash {"command": "echo over the moon"}]]'

pytestmark = [pytest.mark.live, pytest.mark.skipif(not FOUND, reason="no Claude Code to test with")]


@pytest.fixture(params=sorted(FOUND) or ["none"])
def claude(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ClaudeCode]:
    """Each version that was found, talking to a fake that does as it is told."""
    with MessagesApi(obey) as api:
        yield ClaudeCode(FOUND[request.param], tmp_path / "a höme", api.url, tmp_path / "a prøject")


def read(store: Store, claude: ClaudeCode) -> capture.Report:
    """What an import of the user's transcripts gave."""
    plan = importing.plan(store, str(claude.home / ".claude"))
    return importing.run(store, plan.files, on_progress=lambda *_: None, now_fn=lambda: 2e9)


def test_a_conversation_a_resume_and_a_fork(store: Store, claude: ClaudeCode) -> None:
    """Each turn once; the fork follows the answer that it was made at."""
    claude.run(f"please {CALL}", "--allowedTools", "Bash")
    first = read(store, claude)
    name = str(store.value("SELECT name FROM session"))
    claude.run("and then", "--resume", name)
    second = read(store, claude)
    claude.run("or rather", "--resume", name, "--fork-session")
    third = read(store, claude)
    course = [
        (turn.kind, turn.source, turn.text()) for turn in exchanges.session_turns(store, exchanges.session_number(store, name) or 0) if turn.kind != "thinking"
    ]
    forked = store.rows(
        "SELECT t.parent, t.kind FROM turn t JOIN session s ON s.id = t.session WHERE s.name <> ? AND t.kind <> 'thinking' ORDER BY t.id", (name,)
    )
    last = store.value("SELECT max(t.id) FROM turn t JOIN session s ON s.id = t.session WHERE s.name = ?", (name,))

    assert [
        ("prompt", "user", f"please {CALL}"),
        ("call", "assistant", "Bash echo over the moon"),
        ("result", "tool", "over the moon"),
        ("reply", "assistant", "result: over the moon"),
        ("prompt", "user", "and then"),
        ("reply", "assistant", "heard: and then"),
    ] == course
    assert ["prompt", "reply"] == [kind for _, kind in forked]
    assert last == forked[0][0]
    assert [0, 0, 0] == [report.left_out for report in (first, second, third)]
    assert [] == checked(store)[1]
    assert [(str(claude.project),)] == store.rows("SELECT DISTINCT folder FROM session")
    assert os.path.isdir(claude.project)
