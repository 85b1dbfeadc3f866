"""A session's summary: what was asked, changed, run, committed and answered, in few words."""

from __future__ import annotations

from typing import Any

import pytest

from tenon.digest import capture, summary
from tenon.store import exchanges, summaries
from tenon.store.db import Store
from tests.fakes.transcripts import Transcript


def written(store: Store, talk: Transcript, reason: str = "") -> Any:
    """The summary after a capture."""
    capture.capture(store, talk.path, session_name="s1", folder=talk.folder, now=2e9, budget_s=60)
    return summary.write(store, "s1", reason, 2e9)


def edit(talk: Transcript, name: str, tool: str = "Edit", error: bool = False) -> None:
    """An edit of a file."""
    key = "notebook_path" if tool == "NotebookEdit" else "file_path"
    talk.used(tool, {key: name, "old_string": "a", "new_string": "b"}, "ok", error=error)


def test_a_session_in_a_few_lines(store: Store, talk: Transcript) -> None:
    """Everything that happened, once each, with how it ended."""
    talk.prompt("Make the parser\n  accept tabs")
    edit(talk, talk.folder + "/src/parse.py")
    edit(talk, talk.folder + "/src/parse.py")
    edit(talk, talk.folder + "/notes/übung.ipynb", "NotebookEdit")
    edit(talk, "/etc/hosts", "Write")
    edit(talk, talk.folder + "/refused.py", "MultiEdit", error=True)
    talk.used("Bash", {"command": "make lint"}, "Exit code 2", error=True)
    talk.used("Bash", {"command": "pytest -q"}, "..F\n== 1 failed, 12 passed in 0.20s ==", error=True)
    talk.used("Bash", {"command": "pytest -q"}, "....\n13 passed in 0.21s")
    talk.used("Bash", {"command": 'git add -A && git commit -m "Parser: accept tabs"'}, "[main 1a2b3c] Parser")
    talk.reply("Let me check.")
    talk.prompt("and document it")
    talk.reply("Tabs work and are documented.")

    assert (
        "2 prompts on branch main, ended by clear.\n"
        "Asked: Make the parser accept tabs\n"
        "Asked last: and document it\n"
        "Changed: src/parse.py; notes/übung.ipynb; /etc/hosts\n"
        "Commits: Parser: accept tabs\n"
        "Tests: pytest -q → 13 passed in 0.21s\n"
        "Ran: make lint (failed)\n"
        "Outcome: Tabs work and are documented."
    ) == written(store, talk, "clear")


def test_it_is_stored_once_and_rewritten(store: Store, talk: Transcript) -> None:
    """As of the newest turn it speaks of."""
    talk.prompt("one")
    talk.reply("two")
    written(store, talk)
    talk.reply("three")
    text = written(store, talk)
    kept = summaries.of_session(store, exchanges.session_number(store, "s1") or 0)

    assert kept is not None
    assert (text, talk.clock, "s1") == (kept.text, kept.at, kept.name)
    assert "1 prompt on branch main.\nAsked: one\nOutcome: three" == text


def test_a_session_without_an_answer_has_none(store: Store, talk: Transcript) -> None:
    """Nor one without a question, nor one that nobody knows."""
    assert summary.write(store, "unknown", "clear", 1.0) is None
    talk.reply("hello")
    assert written(store, talk) is None
    talk.command("/clear", "")
    talk.line("user", {"role": "user", "content": "<task-notification>done</task-notification>"})
    assert written(store, talk) is None
    assert 0 == store.value("SELECT count(*) FROM summary")


def test_summaries_of_compactions_and_notices_are_no_prompts(store: Store, talk: Transcript) -> None:
    """And a prompt that begins with «<» is one."""
    talk.prompt("<Button> does not render")
    talk.reply("ok")
    talk.compaction("This session is being continued from a previous conversation")
    talk.line("user", {"role": "user", "content": "Caveat: x"}, isMeta=True)
    talk.reply("fixed")

    assert "1 prompt on branch main.\nAsked: <Button> does not render\nOutcome: fixed" == written(store, talk)


def test_a_huge_session_stays_short_and_whole(store: Store, talk: Transcript) -> None:
    """Lists end with a whole item and say how many more there are."""
    for number in range(60):
        talk.prompt(f"question {number} " + "and so on " * 60)
        edit(talk, f"{talk.folder}/src/a/rather/long/path/of/module_{number}.py")
        talk.used("Bash", {"command": f"make target-{number} " + "VERBOSE=1 " * 30}, "ok")
        talk.used("Bash", {"command": f"npm test -- case{number}"}, f"Tests: {number} passed")
        talk.used("Bash", {"command": f"git commit -m 'step {number}'"}, "ok")
    talk.reply("the end " * 300)
    text = written(store, talk)
    lines = text.splitlines()

    assert 1000 < len(text) <= 1200
    assert ["60 prompts", "Asked: que", "Asked last", "Changed: s", "Commits: s", "Tests: npm", "Ran: make ", "Outcome: t"] == [line[:10] for line in lines]
    assert lines[3].startswith("Changed: src/a/rather/long/path/of/module_0.py; ")
    assert lines[3].endswith("; src/a/rather/long/path/of/module_2.py (+57 more)")
    assert "Commits: step 47; step 48; step 49; step 50; step 51; step 52; step 53; step 54; step 55; step 56; step 57; step 58; step 59 (+47 more)" == lines[4]
    assert lines[5].endswith("npm test -- case59 → Tests: 59 passed (+57 more)")


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ('git commit -m "Fix \\"it\\""', 'Fix "it"'),
        ("git commit -am 'Fix it'", "Fix it"),
        ("git -C sub -c user.name=x commit --message=Fix", "Fix"),
        ('git commit -m "Fix it\n\nLong story"', "Fix it"),
        ("git commit -m \"$(cat <<'EOF'\nFix it\n\nLong story\nEOF\n)\"", "Fix it"),
        ("cd x && git add . && git commit -q -m 'Fix it' && git push", "Fix it"),
        ("git commit --amend --no-edit", "(message written elsewhere)"),
    ],
)
def test_a_commit_is_known_by_its_message(store: Store, talk: Transcript, command: str, message: str) -> None:
    """In every way the model writes it; only its first line."""
    talk.prompt("commit")
    talk.used("Bash", {"command": command}, "[main 1a2b3c]")
    talk.reply("done")

    assert f"Commits: {message}" == written(store, talk).splitlines()[2]


@pytest.mark.parametrize("command", ["git commit -m 'Fix it'", "git log --grep commit", "echo git commit-tree"])
def test_what_is_no_commit_is_not_one(store: Store, talk: Transcript, command: str) -> None:
    """One that failed, and commands that only mention it."""
    talk.prompt("commit")
    talk.used("Bash", {"command": command}, "Exit code 1", error=command.startswith("git commit"))
    talk.reply("done")

    assert "Commits:" not in written(store, talk)


@pytest.mark.parametrize(
    ("command", "output", "told"),
    [
        ("cargo test", "running 3 tests\ntest result: ok. 3 passed; 0 failed", "cargo test → test result: ok. 3 passed; 0 failed"),
        ("go test ./...", "ok  \texample.org/a\t0.2s", "go test ./... → ok example.org/a 0.2s"),
        ("python -m unittest", "....\nRan 4 tests in 0.1s\n\nOK", "python -m unittest → OK"),
        ("npm run test:unit", "quiet", "npm run test:unit → passed"),
    ],
)
def test_tests_are_told_with_how_they_ended(store: Store, talk: Transcript, command: str, output: str, told: str) -> None:
    """In the runner's own words where it has some."""
    talk.prompt("test")
    talk.used("Bash", {"command": command}, output)
    talk.reply("done")

    assert f"Tests: {told}" == written(store, talk).splitlines()[2]


def test_what_subagents_changed_counts_and_what_they_were_asked_does_not(store: Store, talk: Transcript) -> None:
    """They work for the session."""
    talk.prompt("do it")
    agent = talk.subagent("abc")
    agent.prompt("subtask")
    edit(agent, talk.folder + "/sub.py")
    agent.reply("subresult")
    talk.reply("done")

    assert "1 prompt on branch main.\nAsked: do it\nChanged: sub.py\nOutcome: done" == written(store, talk)


def test_paths_are_those_of_the_repository(store: Store, talk: Transcript) -> None:
    """Pure: from turns and the roots given; Windows paths too."""
    talk.prompt("one")
    edit(talk, "C:\\work\\app\\src\\a.py")
    talk.reply("two")
    written(store, talk)
    session = exchanges.session_of(store, 1)
    turns = list(exchanges.session_turns(store, 1))

    assert "Changed: src/a.py" == summary.summarise(turns, session, roots=["C:\\work\\app"]).splitlines()[2]
    assert summary.summarise(turns, session) == summary.summarise(iter(turns), session)
