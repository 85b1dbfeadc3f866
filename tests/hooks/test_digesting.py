"""Hooks and the digest: pressure is told once and honestly, a run is begun when it is due and agreed to, and what a model chose comes with the next prompt."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hooks import digesting
from tenon.base import faults, paths, settings
from tenon.digest import due
from tenon.recall import offer
from tenon.store import db, digests, exchanges, journal, memories, notes, pressure, selections
from tenon.world import agreed, detached
from tests.digest.minds import answer, last_of, remember
from tests.fakes.claude_command import ClaudeCommand, on_path, says
from tests.fakes.messages_api import MessagesApi
from tests.hooks.conftest import NOW, Fired, say
from tests.mcp_server.conftest import ROOT

PROMPT = "Please sort the imports of this file."


@pytest.fixture(autouse=True)
def _began(store: db.Store) -> None:
    """The store is older than what is said in it."""
    notes.note(store, "began", "1")


def press(store: db.Store, tokens: int) -> None:
    """Notes that so many tokens wait."""
    notes.note(store, pressure.NOTE, str(tokens))


def choose(**values: object) -> None:
    """Writes settings.json."""
    Path(paths.home()).mkdir(parents=True, exist_ok=True)
    Path(paths.settings_path()).write_text(json.dumps({name.replace("_", ".", 1): value for name, value in values.items()}), encoding="utf-8")


def test_the_model_is_asked_once_a_session_and_level_to_have_the_user_slow_down(store: db.Store, repository: int, fire: Callable[..., Fired]) -> None:
    """At 60 % to tell the user, at 85 % to ask for a pause; below it nothing."""
    told = []
    for tokens in (80_000, 90_000, 95_000, 125_000, 130_000):
        press(store, tokens)
        told.append(fire("UserPromptSubmit", prompt=PROMPT).context)

    assert [False, True, False, True, False] == [bool(text) for text in told]
    assert "about 90,000 tokens" in told[1]
    assert "pressure moderate, 62%" in told[1]
    assert "Ask the user to slow down" in told[3]
    assert all("Nothing is lost" in text and "/memory-digest" in text for text in (told[1], told[3]))
    assert ["high", "moderate"] == [entry.words[0] for entry in journal.entries(store, "session-1") if entry.event == offer.PRESSED]
    assert fire("UserPromptSubmit", prompt=PROMPT, session_id="another-one").context


def test_pressure_comes_after_what_is_remembered_and_outside_its_fence(store: db.Store, repository: int, fire: Callable[..., Fired]) -> None:
    """It is Tenon's own word, not remembered data."""
    memories.write(store, repository=repository, tier="short", kind="fact", text="The zebra database is owned by Ottilie.", now=NOW)
    press(store, 140_000)
    text = fire("UserPromptSubmit", prompt="Who owns the zebra database?").context

    assert "Ottilie" in text
    assert "Tenon: about 140,000 tokens" in text.partition("</tenon-memory>")[2]


def test_pressure_can_be_switched_off(store: db.Store, repository: int, fire: Callable[..., Fired]) -> None:
    """By one setting."""
    press(store, 140_000)
    choose(digest_pressure=False)

    assert "" == fire("UserPromptSubmit", prompt=PROMPT).context


@pytest.fixture()
def started(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The commands of processes that would have been started apart."""
    commands: list[list[str]] = []

    def spawn(command: list[str], env: dict[str, str], log: str = "") -> Any:
        commands.append(list(command))
        return subprocess.Popen([sys.executable, "-I", "-S", "-c", ""])

    monkeypatch.setattr(detached, "spawn", spawn)
    return commands


def test_nothing_is_started_unless_the_user_agreed(store: db.Store, repository: int, started: list[list[str]]) -> None:
    """However high the pressure; with their word it is, at pressure or when a session has ended."""
    say(store, repository, "word " * 120_000, "Yes.", at=NOW)
    digesting.see_to(store, settings.load(), "Stop", "session-1", NOW)
    assert [] == started
    choose(digest_auto=True)
    digesting.see_to(store, settings.load(), "Stop", "session-1", NOW)
    assert [["--agent", "default", "digest", "--background"]] == [command[-4:] for command in started]
    exchanges.mark_consolidated(store, range(1, 3), "skipped", NOW)
    say(store, repository, "word " * 3000, "Yes.", at=NOW)
    digesting.see_to(store, settings.load(), "Stop", "session-1", NOW)
    assert 1 == len(started)
    digesting.see_to(store, settings.load(), "SessionEnd", "session-1", NOW)
    assert 2 == len(started)
    digesting.see_to(store, settings.load(), "SessionStart", "session-2", NOW)
    assert 3 == len(started), "what was killed with its session is begun at the next start"


def test_what_cannot_be_started_costs_the_session_nothing_and_is_noted(store: db.Store, repository: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """For doctor."""
    choose(digest_auto=True)
    say(store, repository, "word " * 120_000, "Yes.", at=NOW)

    def refuse(*_: object) -> None:
        raise OSError("no more processes")

    monkeypatch.setattr(detached, "spawn", refuse)
    digesting.see_to(store, settings.load(), "Stop", "session-1", NOW)
    assert ["Stop"] == [fault["door"] for fault in faults.recent(5)]


def test_a_background_run_digests_by_itself_within_the_cap_and_ends(
    store: db.Store, repository: int, started: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The very command that a hook starts, with the API in the place of the model's; a second one finds nothing to do."""

    def spoken(request: Any) -> str:
        prompt = request.body["messages"][0]["content"]
        if "<statements>" in prompt:
            return answer(last_of(prompt))
        return answer(last_of(prompt), remember("The zebra is Ottilie's.", ["t1"]))

    agreed.record(os.environ)
    choose(digest_auto=True, digest_runner="api")
    say(store, repository, "The zebra is Ottilie's. " * 1000, "Noted.", at=NOW)
    digesting.see_to(store, settings.load(), "SessionEnd", "session-1", NOW)
    with MessagesApi(spoken) as api:
        refused = subprocess.run(started[0], env={**os.environ, "ANTHROPIC_BASE_URL": api.url, "ANTHROPIC_API_KEY": "sk-ant-test"}, timeout=60, check=False)
        assert (0, []) == (refused.returncode, api.requests), "only the session's environment, which a project can set, names that address"
        choose(digest_auto=True, digest_runner="api", upstream=api.url)
        env = {**os.environ, "ANTHROPIC_BASE_URL": api.url, "ANTHROPIC_API_KEY": "sk-ant-test"}
        for _ in range(2):
            done = subprocess.run(started[0], env=env, capture_output=True, timeout=60, check=False)
            assert (0, b"", b"") == (done.returncode, done.stdout, done.stderr)
        asked = len(api.requests)
    assert 2 == asked
    assert [("reflection", "applied"), ("consolidation", "applied")] == [(one.phase, one.state) for one in digests.newest(store, 9)]
    assert "" == notes.value(store, due.ENDED)
    assert str(ROOT) in started[0][3]


@pytest.mark.parametrize("name", ["TENON_UPSTREAM", "ANTHROPIC_BASE_URL", "HTTP_PROXY"])
def test_a_sessions_environment_alone_leads_nothing_away_and_that_is_told_once(
    store: db.Store, repository: int, started: list[list[str]], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """With the name of the variable; the user who says `auto on` where it is set has agreed to it."""
    agreed.record(os.environ)
    choose(digest_auto=True, digest_runner="api", **({"upstream": "http://far.example"} if name == "HTTP_PROXY" else {}))
    say(store, repository, "The zebra is Ottilie's. " * 1000, "Noted.", at=NOW)
    digesting.see_to(store, settings.load(), "SessionEnd", "session-1", NOW)
    with MessagesApi(lambda request: answer(last_of(request.body["messages"][0]["content"]))) as api:
        env = {**os.environ, name: api.url, "ANTHROPIC_API_KEY": "sk-ant-test"}
        for _ in range(2):
            done = subprocess.run(started[0], env=env, capture_output=True, timeout=60, check=False)
            assert (0, b"", b"", []) == (done.returncode, done.stdout, done.stderr, api.requests)
        assert [("digest", True)] == [(fault["door"], name in str(fault["said"])) for fault in faults.recent(5)]
        assert [] == digests.newest(store, 9)
        agreed.record(env)
        subprocess.run(started[0], env=env, timeout=60, check=False)
        assert digests.newest(store, 9)


def test_the_program_is_the_one_of_the_terminal_where_the_user_agreed(
    store: db.Store, repository: int, started: list[list[str]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Not what a session's PATH has first, nor with what would be loaded into it."""
    own, other = ClaudeCommand(tmp_path / "own"), ClaudeCommand(tmp_path / "other")
    for command in (own, other):
        command.plan(says('{"operations": []}'))
    monkeypatch.setenv("PATH", on_path(own.folder))
    agreed.record(os.environ)
    choose(digest_auto=True)
    say(store, repository, "The zebra is Ottilie's. " * 1000, "Noted.", at=NOW)
    digesting.see_to(store, settings.load(), "SessionEnd", "session-1", NOW)
    env = {**os.environ, "PATH": on_path(other.folder), "NODE_OPTIONS": "--require=/project/evil.js", "ANTHROPIC_CUSTOM_HEADERS": "x: y"}
    subprocess.run(started[0], env=env, timeout=60, check=False)

    assert ([], True) == (other.ran, bool(own.ran))
    assert not {"NODE_OPTIONS", "ANTHROPIC_CUSTOM_HEADERS"} & set(own.ran[0]["env"])


def test_what_a_project_brings_as_tenons_folder_spends_nothing(
    store: db.Store, repository: int, started: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither by a hook nor by the command that one starts; it is told once."""
    choose(digest_auto=True, digest_runner="api")
    agreed.record(os.environ)
    say(store, repository, "word " * 120_000, "Yes.", at=NOW)
    digesting.see_to(store, settings.load(), "Stop", "session-1", NOW)
    assert 1 == len(started)
    monkeypatch.setenv("CLAUDE_PROJECT_DIR", os.path.dirname(paths.home()))
    for _ in range(2):
        digesting.see_to(store, settings.load(), "Stop", "session-1", NOW)
    with MessagesApi() as api:
        choose(digest_auto=True, digest_runner="api", upstream=api.url)
        done = subprocess.run(started[0], env={**os.environ, "ANTHROPIC_API_KEY": "sk-ant-test"}, capture_output=True, timeout=60, check=False)
        assert (0, b"", []) == (done.returncode, done.stderr, api.requests)
    assert 1 == len(started)
    assert [True] == ["lies in the session's project" in str(fault["said"]) for fault in faults.recent(5)]


@pytest.mark.parametrize("harm", ["locked", "damaged", "table gone"])
def test_a_store_that_cannot_be_used_leaves_a_fault_and_no_traceback(store: db.Store, repository: int, started: list[list[str]], harm: str) -> None:
    """Whatever SQLite says of it."""
    choose(digest_auto=True, digest_runner="api")
    agreed.record(os.environ)
    say(store, repository, "word " * 120_000, "Yes.", at=NOW)
    digesting.see_to(store, settings.load(), "Stop", "session-1", NOW)
    path = paths.store_path("default")
    if harm == "locked":
        store.execute("BEGIN EXCLUSIVE")
    elif harm == "table gone":
        store.execute("PRAGMA foreign_keys = OFF")
        store.execute("DROP TABLE consolidated")
    else:
        store.close()
        Path(path).write_bytes(b"SQLite format 3\0" + b"\xff" * 8000)
    done = subprocess.run(started[0], env={**os.environ, "ANTHROPIC_API_KEY": "sk-ant-test"}, capture_output=True, timeout=60, check=False)
    if harm == "locked":
        store.execute("ROLLBACK")

    assert (0, b"", b"") == (done.returncode, done.stdout, done.stderr)
    assert ["digest"] == [fault["door"] for fault in faults.recent(5)]


def test_what_a_model_chose_comes_with_the_next_prompt_once(store: db.Store, repository: int, fire: Callable[..., Fired]) -> None:
    """Only where that is on, and only what is still there, of this repository, and not shown yet."""
    refs = [
        memories.write(store, repository=repository, tier="short", kind="fact", text=text, now=NOW)[0] for text in ("The vault is in Graz.", "Pumps are blue.")
    ]
    gone = memories.write(store, repository=repository, tier="short", kind="fact", text="Lamps are red.", now=NOW)[0]
    other = int(store.execute("INSERT INTO repository (key, seen) VALUES ('elsewhere', 1.0)").lastrowid or 0)
    theirs = memories.write(store, repository=other, tier="short", kind="fact", text="Theirs alone.", now=NOW)[0]
    memories.close(store, gone, NOW)
    selections.put(store, "session-1", [refs[1], gone, theirs, "t999"], NOW)
    assert "" == fire("UserPromptSubmit", prompt=PROMPT).context
    choose(recall_rerank=True)
    text = fire("UserPromptSubmit", prompt=PROMPT).context

    assert "Pumps are blue." in text
    assert "Graz" not in text
    assert not {word for word in ("Lamps", "Theirs") if word in text}
    assert [] == selections.of(store, "session-1")
    assert "" == fire("UserPromptSubmit", prompt=PROMPT).context
    assert [refs[1]] == [hit[0] for entry in journal.entries(store, "session-1") for hit in entry.hits]
