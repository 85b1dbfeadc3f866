"""`tenon uninstall`: what is the user's stays, memories stay, and a purge wants to be sure."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tenon.base.errors import TenonError
from tenon.world import claude_settings, launcher
from tests.cli.conftest import Tenon
from tests.cli.test_install import RULES, here, run, take_back, tree
from tests.fakes.transcripts import Transcript


def test_what_the_user_changed_since_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A rule added beside ours, a status line of their own, a command replaced."""
    where = here(tmp_path)
    run(where)
    text = (
        Path(where.settings)
        .read_text(encoding="utf-8")
        .replace(f'"{RULES[0]}"', f'"Read",\n      "{RULES[0]}"')
        .replace(launcher.status_command(where), "mine")
    )
    Path(where.settings).write_text(text, encoding="utf-8")
    os.remove(where.link)
    Path(where.link).write_text("theirs", encoding="utf-8")

    told = take_back(where, monkeypatch)

    assert {"statusLine": {"type": "command", "command": "mine"}, "permissions": {"allow": ["Read"]}} == claude_settings.read(where.settings)
    assert "theirs" == Path(where.link).read_text(encoding="utf-8")
    assert [True, True] == [word in told for word in ("has been changed since and stays", "is not as it was put there")]


def test_memories_outlive_an_uninstall(tenon: Tenon) -> None:
    """And it says where they are."""
    tenon.ok("install", "--yes")
    tenon.written("we deploy on Fridays only")
    told = tenon.ok("uninstall", "--yes").out

    assert f"Memories are kept in {tenon.home / '.tenon'}" in told
    assert "we deploy on Fridays only" in tenon.ok("recall", "deploy Fridays").out


def test_purge_wants_the_name_typed_again(tenon: Tenon) -> None:
    """A wrong name keeps everything."""
    tenon.written("we deploy on Fridays only")
    folder = tenon.home / ".tenon" / "agents" / "default"

    wrong = tenon("uninstall", "--yes", "--purge", "default", given="defaults\n")
    kept = folder.is_dir()
    unknown = tenon("uninstall", "--yes", "--purge", "nobody", given="nobody\n")
    right = tenon.ok("uninstall", "--yes", "--purge", "default", given="default\n")

    assert (1, True, 1) == (wrong.code, kept, unknown.code)
    assert "there is no agent 'nobody'" in unknown.err
    assert (False, True) == (folder.exists(), f"{folder}: deleted" in right.out)


def test_a_wrong_name_takes_nothing_away(tenon: Tenon) -> None:
    """The name is asked for before the first step, and no answer is a wrong one."""
    tenon.ok("install", "--yes")
    tenon.written("we deploy on Fridays only")
    before = tree(tenon.home)
    done = tenon("uninstall", "--purge", "default", "--yes")

    assert (1, True) == (done.code, "nothing was changed" in done.err)
    assert before == tree(tenon.home)


def test_one_agent_is_deleted_and_all_else_stays(tenon: Tenon) -> None:
    """When its name is typed again, or with --yes."""
    tenon.written("one")
    tenon.written("two", "--agent", "reviewer")
    tenon.written("three", "--agent", "other")
    wrong = tenon("agents", "--delete", "reviewer", given="default\n")
    unknown = tenon("agents", "--delete", "nobody", "--yes")
    tenon.ok("agents", "--delete", "reviewer", given="reviewer\n")
    tenon.ok("agents", "--delete", "other", "--yes")

    assert (1, 1) == (wrong.code, unknown.code)
    assert ["default"] == [record["agent"] for record in tenon.ok("agents", "--json").records]


def test_what_a_deleted_agent_had_is_not_imported_by_another(tenon: Tenon) -> None:
    """Sub-agents' files neither; --deleted brings it along, and an uninstall without memories leaves nothing of it."""
    talk = tenon.talk()
    talk.prompt("the ghost's secret is pumpernickel")
    helper = Transcript(talk.path[: -len(".jsonl")] + "/subagents/agent-a1.jsonl", folder=str(tenon.project))
    tenon.ok("--agent", "ghost", "import")
    helper.prompt("look for pumpernickel")
    tenon.written("kept")
    tenon.ok("agents", "--delete", "ghost", "--yes")
    done = tenon.ok("import")
    dry = tenon.ok("import", "--dry-run")

    assert "2 transcripts of agents that were deleted: left out; --deleted brings them along." in done.err
    assert (True, True) == ("0 transcripts" in dry.out, "left out" in dry.err)
    assert "pumpernickel" not in tenon.ok("recall", "--archive", "pumpernickel").out
    assert "transcripts of 1 sessions" in tenon.ok("import", "--deleted").out
    assert "the ghost's secret is pumpernickel" in tenon.ok("recall", "--archive", "pumpernickel").out
    tenon.ok("uninstall", "--purge", "default", "--yes", given="default\n")
    assert not (tenon.home / ".tenon").exists()


def test_an_uninstall_without_an_install_says_so(tenon: Tenon) -> None:
    """And makes nothing."""
    assert "nothing was installed" in tenon.ok("uninstall").out
    assert {} == tree(tenon.home)


def test_a_dry_run_names_all_and_takes_nothing(tenon: Tenon) -> None:
    """Each key, the command, and what would stay."""
    tenon.ok("install", "--yes")
    before = tree(tenon.home)
    told = tenon.ok("uninstall", "--dry-run").out

    assert before == tree(tenon.home)
    assert ["permissions.allow", "statusLine"] == [line.split(" in ")[0] for line in told.splitlines() if "would be taken out" in line]
    assert "bin/tenon: would be removed" in told.replace(os.sep, "/")


def test_nothing_is_taken_where_nobody_can_agree(tenon: Tenon) -> None:
    """Without a terminal and without --yes."""
    tenon.ok("install", "--yes")
    before = tree(tenon.home)
    done = tenon("uninstall")

    assert (1, True) == (done.code, "say --yes" in done.err)
    assert before == tree(tenon.home)


def test_settings_that_broke_since_keep_the_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that uninstall can be tried again once they are mended."""
    where = here(tmp_path)
    before = tree(tmp_path)
    run(where)
    text = Path(where.settings).read_text(encoding="utf-8")
    Path(where.settings).write_text(text + "}", encoding="utf-8")
    with pytest.raises(TenonError, match="cannot be parsed"):
        take_back(where, monkeypatch)
    Path(where.settings).write_text(text, encoding="utf-8")
    take_back(where, monkeypatch)

    assert before == tree(tmp_path)
