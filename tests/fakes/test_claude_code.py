"""The real Claude Code is content with the fake: print mode, tools, auto mode, and the terminal."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes.claude_code import BINARIES_VARIABLE, ClaudeCode, find_claude, seed_home
from tests.fakes.messages_api import MessagesApi
from tests.fakes.replies import obey, reply, text
from tests.fakes.terminal import Terminal, has_tmux

FOUND = find_claude()
WHY = f"no Claude Code to test with: set {BINARIES_VARIABLE}, or install one under .cache/claude/<version>"
needs_claude = pytest.mark.skipif(not FOUND, reason=WHY)
needs_tmux = pytest.mark.skipif(not has_tmux(), reason="no tmux on this machine")
CALL = '[[CALL Bash {"command": "echo over the moon"}]]'


@pytest.fixture()
def api() -> Iterator[MessagesApi]:
    """A fake that does as it is told."""
    with MessagesApi(obey) as started:
        yield started


@pytest.fixture(params=sorted(FOUND) or ["none"])
def claude(request: pytest.FixtureRequest, api: MessagesApi, tmp_path: Path) -> ClaudeCode:
    """Each version that was found, with a home of its own; blanks and accents in its paths."""
    return ClaudeCode(FOUND[request.param], tmp_path / "a höme", api.url, tmp_path / "a prøject")


def refusals(api: MessagesApi) -> list[str]:
    """The error texts of the refused requests."""
    return [seen.error for seen in api.requests if seen.error]


@needs_claude
def test_print_mode_hears_the_prompt(claude: ClaudeCode, api: MessagesApi) -> None:
    """One request, one reply, no refusal."""
    done = claude.run("good morning to you")

    assert (0, "heard: good morning to you\n") == (done.returncode, done.stdout)
    assert [200] == [seen.status for seen in api.messages()]


@needs_claude
@pytest.mark.parametrize("args", [(), ("--permission-mode", "auto"), ("--model", "haiku")])
def test_a_tool_runs_and_its_result_is_quoted(claude: ClaudeCode, api: MessagesApi, args: tuple[str, ...]) -> None:
    """Signed thinking goes there and back, in auto mode with verdicts, on the small model with manual thinking."""
    done = claude.run(f"please {CALL}", "--allowedTools", "Bash", *args)
    answers = [m["content"] for m in api.messages()[-1].body["messages"] if m["role"] == "assistant"]

    assert (0, "result: over the moon\n") == (done.returncode, done.stdout)
    assert [] == refusals(api)
    assert [200, 200] == [seen.status for seen in api.messages()]
    assert [["thinking", "tool_use"]] == [[block["type"] for block in answer] for answer in answers]


@needs_claude
def test_a_conversation_goes_on_with_its_thinking(claude: ClaudeCode, api: MessagesApi) -> None:
    """A continued session is the same conversation to the signatures."""
    claude.run(CALL, "--allowedTools", "Bash")
    done = claude.run("and then", "--continue")
    kinds = [block["type"] for message in api.messages()[-1].body["messages"] if message["role"] == "assistant" for block in message["content"]]

    assert (0, "heard: and then\n", []) == (done.returncode, done.stdout, refusals(api))
    assert ["thinking", "tool_use", "thinking", "text"] == kinds


@needs_claude
def test_plugin_commands_run(claude: ClaudeCode) -> None:
    """`claude plugin` needs no API."""
    done = claude.plugin("list")

    assert 0 == done.returncode, done.stderr


@needs_claude
def test_a_run_that_does_not_end_is_stopped_and_says_what_it_did(claude: ClaudeCode) -> None:
    """A test that waits in vain ends."""
    with MessagesApi([reply(text("never"), hang=60)]) as silent, pytest.raises(TimeoutError, match="-p hi did not end"):
        claude.run("hi", timeout_s=2, env={"ANTHROPIC_BASE_URL": silent.url})


@needs_claude
@needs_tmux
def test_the_terminal_shows_reply_and_tool_result(claude: ClaudeCode, api: MessagesApi) -> None:
    """Two turns typed into the real interface."""
    with Terminal([str(claude.binary)], claude.project, claude.env) as terminal:
        terminal.wait_for("❯")
        terminal.enter("good morning to you")
        terminal.wait_for("heard: good morning to you")
        terminal.enter(CALL)
        terminal.wait_for("result: over the moon")

    assert [] == refusals(api)
    assert ["good morning to you", CALL, ""] == [seen.prompt for seen in api.messages()]


@needs_tmux
def test_a_terminal_without_the_text_says_what_it_shows(tmp_path: Path) -> None:
    """The last words of a program that ended are part of the error."""
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    program = [sys.executable, "-c", "print('last words')"]
    with Terminal(program, tmp_path, env) as terminal:
        terminal.wait_for("last words")
        with pytest.raises(TimeoutError, match="last words"):
            terminal.wait_for("never", timeout_s=0.01)


def test_a_seeded_home_holds_the_three_keys(tmp_path: Path) -> None:
    """Written as Claude Code reads them."""
    project = tmp_path / "proj"
    seed_home(tmp_path / "home", project, "sk-ant-0123456789012345678901234")

    assert (tmp_path / "home" / ".claude.json").read_text(encoding="utf-8") == (
        '{"hasCompletedOnboarding": true, "customApiKeyResponses": {"approved": ["56789012345678901234"], '
        f'"rejected": []}}, "projects": {{"{project.resolve()}": {{"hasTrustDialogAccepted": true}}}}}}'
    )


def test_no_binary_means_no_versions(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Then the tests above skip."""
    monkeypatch.delenv(BINARIES_VARIABLE, raising=False)
    monkeypatch.setattr("tests.fakes.claude_code.ROOT", tmp_path)

    assert {} == find_claude()


def test_a_binary_in_the_cache_is_found_by_its_version(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The folder is its version."""
    binary = tmp_path / ".cache" / "claude" / "2.1.332" / "node_modules" / ".bin" / "claude"
    binary.parent.mkdir(parents=True)
    binary.touch()
    monkeypatch.delenv(BINARIES_VARIABLE, raising=False)
    monkeypatch.setattr("tests.fakes.claude_code.ROOT", tmp_path)

    assert {"2.1.332": binary} == find_claude()
