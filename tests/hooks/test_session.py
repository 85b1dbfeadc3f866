"""SessionStart, and what feeds it: the ends of turns and sessions."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tenon.base import paths
from tenon.store import conversations, db, exchanges, growth, journal, memories, tasks
from tenon.world import interpreter
from tests.hooks.conftest import ROOT

NOW = time.time()


def lines(project: Path, *said: tuple[str, str], session: str = "session-1", branch: str = "main") -> str:
    """A transcript with these (role, text) messages, in Claude Code's form."""
    path = project.parent / "projects" / f"{session}.jsonl"
    path.parent.mkdir(exist_ok=True)
    parent = None
    with open(path, "w", encoding="utf-8") as file:
        for number, (role, text) in enumerate(said):
            uuid = f"{session}-{number}"
            content = text if role == "user" else [{"type": "text", "text": text}]
            line = {
                "type": role, "uuid": uuid, "parentUuid": parent, "sessionId": session, "cwd": str(project), "gitBranch": branch, "version": "2.1.197",
                "timestamp": "2026-11-28T10:00:00.000Z", "message": {"role": role, "content": content, **({"id": f"msg_{uuid}"} if role == "assistant" else {})},
            }  # fmt: skip
            file.write(json.dumps(line) + "\n")
            parent = uuid
    return str(path)


@pytest.mark.parametrize("source", ["startup", "resume", "clear", "compact"])
def test_what_holds_for_the_repository_is_told_at_every_kind_of_start(fire, store, repository, source):
    """Decisions of the repository and preferences of the user, with ids."""
    ref, _ = memories.write(store, repository=repository, tier="long", kind="decision", text="We deploy on Tuesdays.", reason="agreed", now=NOW)
    memories.write(store, repository=None, tier="long", kind="preference", text="Answers in British English.", reason="the user said so", now=NOW)
    context = fire("SessionStart", source=source).context
    assert f"We deploy on Tuesdays. ({ref})" in context
    assert "British English" in context


def test_what_the_briefing_has_no_room_for_is_journalled_as_left_out(fire, store, repository):
    """The others as shown."""
    for number in range(6):
        memories.write(
            store, repository=repository, tier="long", kind="decision", text=f"We deploy the {'abcdef'[number] * 300} on Tuesdays.", reason="agreed", now=NOW
        )
    fire("SessionStart", source="startup", env={"TENON_INJECT_MAX_CHARS": "1200"})
    entry = journal.entries(store, "session-1")[0]
    assert ("session", 6, {"c"}) == (entry.event, len(entry.hits) + len(entry.skipped), {miss.why for miss in entry.skipped})
    assert {ref for ref, _, _ in entry.hits} == journal.seen(store, "session-1")


def test_the_start_is_told_ten_times_out_of_ten(fire, store, repository):
    """Scenario 1: the event on stdin, then its end; the text comes every time and is the same bytes."""
    memories.write(store, repository=repository, tier="long", kind="decision", text="We deploy on Tuesdays.", reason="agreed", now=NOW)
    told = {fire("SessionStart", source="startup", session_id=f"s{number}").context for number in range(10)}
    assert 1 == len(told)
    assert "We deploy on Tuesdays." in told.pop()


def test_nothing_known_is_nothing_said(fire):
    """The first session of all is left alone."""
    fired = fire("SessionStart", source="startup")
    assert ("", 0) == (fired.output, fired.code)


def test_an_epic_in_flight_is_told_first_with_its_steps(fire, store, repository):
    """The task state survives the session; an epic that is done is silent."""
    tasks.write(
        store,
        repository,
        epic="auth",
        title="Move sign-in to OIDC",
        plan=[{"step": "draw it", "status": "done"}, {"step": "build it", "status": "active"}],
        now=NOW,
    )
    tasks.write(store, repository, epic="old", title="Finished long ago", status="completed", now=NOW)
    fire("PreCompact", trigger="manual")
    context = fire("SessionStart", source="compact").context
    assert context.index("## Handoff: resume here") < context.index("## Task in flight: Move sign-in to OIDC (epic auth)")
    assert "- done last: draw it" in context
    assert "- next: build it" in context
    assert "- [x] draw it" in context
    assert "- [>] build it" in context
    assert "Finished long ago" not in context


def test_a_task_without_a_plan_does_not_empty_the_start(fire, store, repository):
    """Fault 10 of the elder: the rest of the briefing is there."""
    memories.write(store, repository=repository, tier="long", kind="decision", text="We deploy on Tuesdays.", reason="agreed", now=NOW)
    tasks.write(store, repository, epic="bare", title="Only a title", now=NOW)
    context = fire("SessionStart", source="startup").context
    assert "Only a title" in context
    assert "We deploy on Tuesdays." in context


def test_a_handoff_written_by_hand_is_kept_until_the_task_moves_on(fire, store, repository):
    """The code's brief does not overwrite the model's newer one."""
    tasks.write(store, repository, epic="auth", title="OIDC", plan=[{"step": "build it"}], now=NOW)
    tasks.write_handoff(store, repository, {"active_epic": "auth", "next_action": "ask Ottilie first"}, NOW + 1)
    fire("SessionEnd", reason="other")
    assert "ask Ottilie first" in fire("SessionStart", source="startup").context
    tasks.write(store, repository, epic="auth", plan=[{"step": "ship it"}], now=NOW + 2)
    fire("SessionEnd", reason="other")
    assert "- next: ship it" in fire("SessionStart", source="startup").context


def test_the_last_session_is_told_in_a_few_lines(fire, project):
    """Its summary is made at its end by plain code; a session does not get its own as that of an earlier one."""
    transcript = lines(project, ("user", "Please add a cache to the quokka service."), ("assistant", "Added an LRU cache; the tests pass."))
    fire("Stop", transcript_path=transcript)
    fire("SessionEnd", transcript_path=transcript, reason="prompt_input_exit")
    context = fire("SessionStart", source="startup", session_id="session-2").context
    assert "## Last session here" in context
    assert "quokka service" in context
    assert "LRU cache" in context
    assert "quokka service" not in fire("SessionStart", source="resume", session_id="session-1").context


def test_the_end_of_a_session_notes_how_large_the_store_is(fire, store):
    """Once a day."""
    for _ in range(2):
        fire("SessionEnd", reason="other")
    assert 1 == len(growth.since(store, 0))


def test_a_turn_is_archived_when_it_ends_and_once(fire, store, project):
    """Stop reads what the transcript has gained; the session's end finds nothing new."""
    transcript = lines(project, ("user", "hello quokka"), ("assistant", "hello"))
    for event in ("Stop", "SubagentStop", "PreCompact", "SessionEnd"):
        fire(event, transcript_path=transcript, trigger="auto", reason="other")
    number = exchanges.session_number(store, "session-1")
    assert [("prompt", "hello quokka"), ("reply", "hello")] == [(turn.kind, turn.text()) for turn in exchanges.session_turns(store, number or 0)]


def test_what_a_killed_session_left_is_archived_at_the_next_start(fire, store, project):
    """No Stop and no SessionEnd came; the next session of the folder reads it before it starts."""
    fire("SessionStart", source="startup", session_id="before", transcript_path=str(project.parent / "projects" / "before.jsonl"))
    lines(project, ("user", "the launch code word is zanzibar"), ("assistant", "noted"), session="killed")
    fire("SessionStart", source="startup", session_id="after", transcript_path=str(project.parent / "projects" / "after.jsonl"))
    assert "zanzibar" in fire("UserPromptSubmit", prompt="what is the launch code word?", session_id="after").context


def test_an_excluded_folder_is_neither_kept_nor_told(fire, store, project):
    """The setting holds for archive and recall."""
    transcript = lines(project, ("user", "the launch code word is zanzibar"), ("assistant", "noted"))
    env = {"TENON_ARCHIVE_EXCLUDE": str(project)}
    for event in ("SessionStart", "Stop", "SessionEnd"):
        assert "" == fire(event, transcript_path=transcript, source="startup", reason="other", env=env).output
    assert None is exchanges.session_number(store, "session-1")


def test_a_broken_store_is_said_once_at_the_start(fire, store):
    """The user learns that nothing is remembered, and where to look."""
    store.execute("PRAGMA user_version = 99")
    store.close()
    message = fire("SessionStart", source="startup").answer["systemMessage"]
    assert "was written by a newer Tenon" in message
    assert "tenon doctor" in message
    assert "" == fire("UserPromptSubmit", prompt="a prompt of some length").output


@pytest.mark.parametrize(
    "written",
    [
        '{"archive.exclude": ["/x"], ',
        '{"archive.exclude": "/x"}',
        '{"archive.excludes": ["/x"]}',
        '{"archive.enabled": 0}',
        "[]",
        '{"archive.enabled": true} {"archive.enabled": false}',
    ],
)
def test_while_the_settings_are_in_doubt_nothing_is_kept(fire, store, project, written):
    """A file that is half saved or says something unknown about the archive may have meant «not this folder»; the user is told."""
    Path(paths.settings_path()).write_text(written, encoding="utf-8")
    transcript = lines(project, ("user", "the launch code word is zanzibar"), ("assistant", "noted"))
    assert (
        "keeps nothing of this session while its settings are in doubt"
        in fire("SessionStart", source="startup", transcript_path=transcript).answer["systemMessage"]
    )
    for event in ("Stop", "SessionEnd"):
        fire(event, transcript_path=transcript, reason="other")
    assert 0 == store.value("SELECT count(*) FROM turn")


@pytest.mark.parametrize("written", ['// mine\n{"archive.exclude": ["/x",],}', '{"archive.enabled": "on"}', "{}"])
def test_settings_with_comments_a_comma_too_many_or_words_are_understood(fire, store, project, written):
    """As people write them."""
    Path(paths.settings_path()).write_text(written, encoding="utf-8")
    transcript = lines(project, ("user", "hello quokka"), ("assistant", "hello"))
    fire("Stop", transcript_path=transcript)
    assert 2 == store.value("SELECT count(*) FROM turn")


PROXIED = {"ANTHROPIC_BASE_URL": "http://127.0.0.1:9/agent/work"}


def test_a_session_behind_the_proxy_is_announced_to_it(fire, project):
    """With its folder, in the store of the agent that the address names; without a proxy nobody is told."""
    fire("SessionStart", source="startup")
    fire("SessionStart", source="startup", session_id="session-2", env=PROXIED)
    with db.open_store(paths.store_path("default")) as store:
        assert conversations.find(store, "session-1") is None
    with db.open_store(paths.store_path("work")) as store:
        found = conversations.find(store, "session-2")
    assert ("announced", str(project), conversations.HOOKED) == (found.state, found.folder, found.client)


def test_the_proxy_is_told_to_leave_an_excluded_session_alone(fire, project):
    """By its id, and nothing else of it is written."""
    fire("SessionStart", source="startup", env={**PROXIED, "TENON_ARCHIVE_EXCLUDE": str(project)})
    with db.open_store(paths.store_path("work")) as store:
        found = conversations.find(store, "session-1")
        assert ("plain", "excluded folder", "", None) == (found.state, found.reason, found.folder, found.repository)
        assert [] == store.rows("SELECT path FROM place")


@pytest.mark.skipif(os.name == "nt", reason="a line for sh")
def test_after_an_update_hooks_start_what_was_agreed_to(tmp_path):
    """The new copy's hooks start python3 by its name; the session's start changes that for the next one, and answers as ever."""
    root = tmp_path / "an üpdate"
    for name in ("hooks", "scripts"):
        shutil.copytree(ROOT / name, root / name, ignore=shutil.ignore_patterns("__pycache__"))
    file = root / "hooks" / "hooks.json"
    shipped = file.read_text(encoding="utf-8")

    def start() -> str:
        event = json.dumps({"hook_event_name": "SessionStart", "session_id": "s", "cwd": str(tmp_path), "transcript_path": "", "source": "startup"})
        done = subprocess.run([sys.executable, "-I", "-S", str(root / "hooks" / "hook.py")], input=event.encode(), capture_output=True, check=True)
        assert (b"", b"") == (done.stdout, done.stderr)
        return file.read_text(encoding="utf-8")

    unasked = start()
    interpreter._save(paths.home(), interpreter.Wish(os.path.realpath(sys.executable), []))
    once, again = start(), start()
    file.write_text(shipped, encoding="utf-8")
    (root / ".git").mkdir()

    assert (shipped, shipped) == (unasked, interpreter.plain(once))
    assert (os.path.realpath(sys.executable), once) == (interpreter.chosen(once), again)
    assert shipped == start()


@pytest.mark.skipif(os.name == "nt", reason="a line for sh")
def test_hooks_that_cannot_be_changed_cost_no_session_its_start(tmp_path, fire, store, repository):
    """What was agreed to cannot be read, or written down again: it is silent, and the briefing comes."""
    memories.write(store, repository=repository, tier="long", kind="decision", text="We deploy on Tuesdays.", reason="agreed", now=NOW)
    Path(paths.home(), "interpreter.json").write_bytes(b"\xff{")
    assert "Tuesdays" in fire("SessionStart", source="startup").context
    Path(paths.home(), "interpreter.json").unlink()
    Path(paths.home(), "interpreter.json").mkdir()
    assert "Tuesdays" in fire("SessionStart", source="startup").context
