"""`tenon doctor` and `tenon statusline`: what is wrong is named with its way out, and what is safe to mend is mended."""

from __future__ import annotations

import json
import os
import shlex
import sqlite3
import stat
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from tenon.base import paths
from tenon.cli import doctor, facts, statusline
from tenon.cli.doctor import Check
from tenon.cli.facts import Changed, ClaudeCode, Facts, Faults, Stored, Waiting
from tenon.store import archive, conversations, db, health, journal, memories, notes, places, pressure, reindex, usage, vectors
from tenon.world import interpreter
from tenon.world.python import Found
from tests.cli.conftest import DOOR, Tenon

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

NOW = 1_796_100_000.0
DAY_S = 86400.0
STORE = Stored("/h/agents/default/tenon.db", exists=True, size=1000, schema=2, chain_checked=12, read_key="github.com/a/b", write_key="github.com/a/b")
WELL = Facts(
    now=NOW, version="0.1.0", python="3.11.7", python_file="/usr/bin/python3", sqlite_version="3.40.1", fts5=True, trigram=True,
    home="/h", home_problem="", exposed=[], free_bytes=10**10, store=STORE, faults=[], waiting=Waiting(), settings_problem="",
    claude=ClaudeCode(there=True, settings_path="/c/settings.json", enabled={"tenon@tenon": True}, auto_memory=False),
    python3=Found("3.11.7", "/usr/bin/python3"), off=False,
)  # fmt: skip


def odd(found: Facts) -> list[tuple[str, str, str]]:
    """What is not well: name, state, mend."""
    return [(check.name, check.state, check.mend) for check in doctor.report(found) if check.state != "ok"]


def test_a_healthy_machine_has_nothing_to_mend() -> None:
    """All lines say ok."""
    assert [] == odd(WELL)


@pytest.mark.parametrize(
    ("name", "state", "mend", "found"),
    [
        ("sqlite", "fail", "install a Python whose SQLite has FTS5", replace(WELL, fts5=False)),
        ("python3", "fail", "tenon install" if os.name == "nt" else "install Python 3.9 or newer", replace(WELL, python3=Found(problem="python3 is not on the PATH"))),
        ("home", "fail", "set TENON_HOME", replace(WELL, home_problem="/h cannot be written")),
        ("home", "fail", "tenon doctor --fix", replace(WELL, exposed=["/h/a", "/h/b"])),
        ("leavings", "warn", "tenon doctor --fix", replace(WELL, left=["/c/settings.json.tenon-9"])),
        ("disk", "warn", "free some space", replace(WELL, free_bytes=1000)),
        ("settings", "warn", "tenon config", replace(WELL, settings_problem="no setting 'x'")),
        ("store", "fail", "tenon doctor --fix", replace(WELL, store=replace(STORE, damaged=["page 3"]))),
        ("store", "fail", "tenon doctor --fix", replace(WELL, store=replace(STORE, problem="x is damaged (malformed)"))),
        ("store", "fail", "update the plugin", replace(WELL, store=replace(STORE, problem="x was written by a newer Tenon"))),
        ("indexes", "fail", "tenon doctor --fix", replace(WELL, store=replace(STORE, indexes={"turn_fts": "malformed"}))),
        ("vectors", "fail", "tenon doctor --fix", replace(WELL, store=replace(STORE, vectors=health.Vectors(2, 0, 0)))),
        ("vectors", "fail", "tenon doctor --fix", replace(WELL, store=replace(STORE, vectors=health.Vectors(0, 3, 0, lost=1)))),
        ("vectors", "fail", "tenon doctor --fix", replace(WELL, store=replace(STORE, vectors=health.Vectors(0, 0, 1)))),
        ("interpreter", "warn", "tenon install", replace(WELL, interpreter=[("interpreter", "warn", "/opt/py is not there any more", "tenon install")])),
        ("archive", "fail", "tenon forget t7 (", replace(WELL, store=replace(STORE, chain_wrong=[7], changed=[Changed("s1", [7], "")]))),
        ("archive", "fail", "tenon --agent fresh import /t/s1.jsonl", replace(WELL, store=replace(STORE, chain_wrong=[7], changed=[Changed("s1", [7], "/t/s1.jsonl")]))),
        ("archive", "warn", "", replace(WELL, store=replace(STORE, chain_unlinked=2))),
        ("home", "fail", "tenon doctor --fix", replace(WELL, closed=["/h/agents"])),
        ("settings", "warn", "unset TENON_INJECT_HITS", replace(WELL, settings_problem="TENON_INJECT_HITS: 'inject.hits' must be a number like 6, not 'abc'")),
        ("store", "warn", "tenon doctor --fix", replace(WELL, store=Stored("/h/tenon.db", empty=True))),

        ("log", "warn", "tenon doctor --fix", replace(WELL, store=replace(STORE, log_size=10**9))),
        ("sqlite settings", "warn", "local disk", replace(WELL, store=replace(STORE, pragmas={"journal_mode": "delete"}))),
        ("this folder", "fail", "tenon alias", replace(WELL, store=replace(STORE, write_key="path:/x"))),
        ("left out", "warn", "", replace(WELL, store=replace(STORE, left_out=[("/t.jsonl", 2)]))),
        ("hooks", "warn", "unset TENON_DISABLE", replace(WELL, off=True)),
        ("hooks", "fail", "disableAllHooks", replace(WELL, claude=replace(WELL.claude, hooks_off=True))),
        ("last seen", "warn", "claude plugin list", replace(WELL, waiting=Waiting(newest=NOW - 60), store=replace(STORE, seen={"prompt": NOW - 7200}))),
        ("transcripts", "warn", "tenon import", replace(WELL, waiting=Waiting(3, 10, 5000, 2.0))),
        ("claude settings", "fail", "edit /c/settings.json", replace(WELL, claude=replace(WELL.claude, settings_problem="line 2"))),
        ("plugin files", "fail", "claude plugin update", replace(WELL, claude=replace(WELL.claude, manifest_problem="none"))),
        ("plugin", "fail", "claude plugin disable tenon@tenon", replace(WELL, claude=replace(WELL.claude, skills_copy=True))),
        ("plugin", "fail", "claude plugin enable tenon@tenon", replace(WELL, claude=replace(WELL.claude, enabled={"tenon@tenon": False}))),
        ("plugin", "warn", "tenon install", replace(WELL, claude=replace(WELL.claude, enabled={}))),
        ("installed", "warn", "tenon install", replace(WELL, claude=replace(WELL.claude, installed=["/h/bin/tenon"]))),
    ],
)  # fmt: skip
def test_each_trouble_is_named_with_its_way_out(name: str, state: str, mend: str, found: Facts) -> None:
    """And nothing else is."""
    assert [(name, state)] == [(check[0], check[1]) for check in odd(found)]
    assert mend in odd(found)[0][2]


def test_faults_are_told_by_kind_with_count_and_age() -> None:
    """The newest kind first, five at most."""
    kinds = [Faults("Stop", "OperationalError", "database is locked", 3, NOW - 7200), Faults("mcp", "KeyError", "'x'", 1, NOW - 2 * DAY_S)]
    said = [check.said for check in doctor.report(replace(WELL, faults=kinds)) if check.state == "warn"]

    assert [
        "4 in the last seven days; none of them stopped a prompt",
        "Stop: OperationalError: database is locked (3 times, last 2 hours ago)",
        "mcp: KeyError: 'x' (once, last 2 days ago)",
    ] == said


def test_a_store_that_may_only_be_read_leaves_its_indexes_unchecked() -> None:
    """Which is said, and is no damage."""
    found = odd(replace(WELL, store=replace(STORE, read_only="/h/x may only be read")))

    assert [("writing", "fail"), ("indexes", "warn")] == [check[:2] for check in found]


def test_noted_faults_can_be_cleared(tenon: Tenon) -> None:
    """The check names the command."""
    log = tenon.home / ".tenon" / "faults.log"
    log.parent.mkdir(mode=0o700)
    log.write_text(f'{{"at": {time.time():.0f}, "door": "Stop", "error": "E", "said": "x", "place": "a.py:1"}}\n', encoding="utf-8")
    log.chmod(0o600)
    before = checked(tenon)["faults"]
    done = tenon("doctor", "--clear-faults")

    assert "tenon doctor --clear-faults" in before["mend"]
    assert (False, True) == (log.exists(), "cleared 1 fault" in done.err)
    assert "ok" == checked(tenon)["faults"]["state"]


def test_an_empty_file_is_no_store_yet(tenon: Tenon) -> None:
    """Reading finds nothing, and --fix begins it."""
    path = Path(paths_of(tenon))
    path.touch(mode=0o600)
    looked = tenon.ok("status")
    before = checked(tenon)["store"]["state"]
    after = checked(tenon, "--fix")["store"]["state"]

    assert ("Nothing is remembered yet" in looked.err, before, after) == (True, "warn", "ok")


def test_an_excluded_folder_says_so(tenon: Tenon) -> None:
    """In doctor and status before and after anything is kept, in write, and in import."""
    tenon.ok("config", "archive.exclude", str(tenon.project))
    first = (checked(tenon)["this folder"]["said"], tenon.ok("status").err)
    written = tenon.ok("write", "kept all the same")
    second = (checked(tenon)["this folder"]["said"], tenon.ok("status").out)
    talk = tenon.talk()
    talk.prompt("how do we deploy?")
    imported = tenon.ok("import")

    assert all("excluded (archive.exclude)" in told for told in (*first, *second, written.err, imported.out))
    assert (True, True) == (tenon.ok("status", "--json").records[0]["excluded"], "1 transcript excluded" in imported.out)


def test_an_unfinished_last_line_counts_as_read_after_an_hour(tenon: Tenon) -> None:
    """A session that was killed in the middle of a line is not waited for; for a while it is."""
    talk = tenon.talk()
    talk.prompt("how do we deploy?")
    talk.raw(b'{"type":"user","mess')
    tenon.ok("import")
    fresh = checked(tenon)["transcripts"]["said"]
    os.utime(talk.path, (time.time() - 7200,) * 2)

    assert ("1 of 1" in fresh, "all 1 are in the archive") == (True, checked(tenon)["transcripts"]["said"])
    assert 0 == tenon.ok("import", "--dry-run", "--json").records[0]["files"]


def test_left_out_lines_are_told_with_three_files_at_most() -> None:
    """So that one knows where to look."""
    said = [
        check.said for check in doctor.report(replace(WELL, store=replace(STORE, left_out=[(f"/{name}", 2) for name in "abcd"]))) if check.name == "left out"
    ]

    assert ["8 lines of 4 transcripts were no JSON or too long, and are not in the archive: /a, /b, /c, …"] == said


@pytest.fixture()
def lent(tmp_path: Path) -> Iterator[Any]:
    """A home of somebody who is not root, and a way to run the command as them."""
    import shutil
    import tempfile

    root, user = os.path.dirname(os.path.dirname(DOOR)), 65534 if os.name == "posix" and os.geteuid() == 0 else None
    place = Path(tempfile.mkdtemp(prefix="tenon-lent-"))
    place.chmod(0o755)
    for part in ("bin", "scripts", "hooks", "mcp_server", ".claude-plugin"):
        shutil.copytree(os.path.join(root, part), place / "plugin" / part, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(os.path.join(root, ".mcp.json"), place / "plugin" / ".mcp.json")
    (place / "home").mkdir()
    python = "/usr/bin/python3" if os.path.exists("/usr/bin/python3") else sys.executable
    if user is not None:
        os.chown(place / "home", user, user)

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        env = {
            "HOME": str(place / "home"),
            "TENON_HOME": str(place / "home" / ".tenon"),
            "PATH": "/usr/bin:/bin",
            "CLAUDE_CONFIG_DIR": str(place / "home" / ".claude"),
            "TENON_EMBED_OLLAMA": "off",
        }
        more: dict[str, Any] = {} if user is None else {"user": user, "group": user, "extra_groups": []}
        program = [python, "-I", "-S", str(place / "plugin" / "bin" / "tenon"), *arguments]
        return subprocess.run(program, capture_output=True, text=True, env=env, cwd=place / "home", timeout=60, check=False, **more)

    if run("write", "we deploy on Fridays").returncode:
        pytest.skip("no Python that another user can start")
    yield place / "home" / ".tenon", run
    shutil.rmtree(place)


@pytest.mark.skipif(os.name == "nt", reason="modes are POSIX")
@pytest.mark.parametrize(("inner", "mode"), [("", 0), ("agents", 0), ("agents/default/tenon.db", 0), ("agents/default/tenon.db", 0o400)])
def test_what_is_closed_is_said_and_opened_by_fix(lent: Any, inner: str, mode: int) -> None:
    """A closed home is no empty one; nothing of it is called damaged."""
    home, run = lent
    path = home / inner
    path.chmod(mode)
    status, looked = run("status"), run("doctor")
    fixed = run("doctor", "--fix")

    assert "Nothing is remembered" not in status.stderr
    assert (0 if mode else 1, mode or "tenon doctor --fix" in status.stderr) == (status.returncode, mode or True)
    assert (1, True, False) == (
        looked.returncode,
        "mend: tenon doctor --fix" in looked.stdout,
        "damaged" in looked.stdout or "attempt to write" in looked.stdout,
    )
    assert 0 == fixed.returncode, fixed.stdout
    assert "we deploy on Fridays" in run("recall", "deploy").stdout


def test_turns_that_lost_their_parent_are_unlinked_and_no_changed_ones(tenon: Tenon) -> None:
    """As in a store that was rescued from a damaged one."""
    imported(tenon)
    con = sqlite3.connect(paths_of(tenon))
    con.execute("DROP TRIGGER turn_is_never_deleted")
    con.execute("DELETE FROM turn WHERE id IN (3, 4)")
    con.commit()
    con.close()

    for more in ((), ("--deep",)):
        found = checked(tenon, *more)["archive"]
        assert ("warn", True) == (found["state"], found["said"].startswith("1 of 8 turns are unlinked")), found


@pytest.mark.parametrize("content", ["'[garbage'", "CAST(x'5b22ff00fe225d' AS TEXT)", '\'[1, {"type": "text", "text": 5}]\''])
def test_a_turn_that_is_no_json_can_be_forgotten(tenon: Tenon, content: str) -> None:
    """Whatever stands in it now."""
    talk = tenon.talk()
    talk.prompt("how do we deploy?")
    talk.reply("on Fridays")
    tenon.ok("import")
    con = sqlite3.connect(paths_of(tenon))
    con.execute("DROP TRIGGER turn_is_never_changed")
    con.execute(f"UPDATE turn SET content = {content} WHERE id = 1")
    con.commit()
    con.close()
    before = checked(tenon)["archive"]["state"]
    done = tenon("forget", "t1", "--yes")

    assert ("fail", 0) == (before, done.code), done.err
    assert ("ok", "ok") == tuple(checked(tenon)[name]["state"] for name in ("archive", "indexes"))
    assert "how do we deploy" not in tenon.ok("recall", "deploy", "--archive").out


def test_a_rescued_store_does_not_fail_for_what_was_lost(tenon: Tenon, monkeypatch: pytest.MonkeyPatch) -> None:
    """Turns on damaged pages are gone, those after them are unlinked, and letters that are not whole blank their turn."""
    talk = tenon.talk()
    for number in range(120):
        talk.prompt(f"question {number}, how do we deploy? " + "word " * 100)
        talk.reply(f"answer {number}: on Fridays. " + "word " * 100)
    tenon.ok("import")
    path = Path(paths_of(tenon))
    with db.open_store(str(path)) as store:
        store.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    data = bytearray(path.read_bytes())
    for needle in (b"question 60, how", b"answer 90: on"):
        at = data.find(needle)
        data[at : at + 2] = b"\xff\xfe"  # letters that are none
    at = data.find(b"question 30, how") // 4096 * 4096
    data[at : at + 4096] = b"\xff" * 4096
    path.write_bytes(bytes(data))
    done = tenon("doctor", "--fix", "--yes")

    assert "kept the damaged file" in done.err
    assert checked(tenon, "--deep")["archive"]["state"] in ("ok", "warn"), checked(tenon, "--deep")["archive"]


def test_free_space_is_told_in_gigabytes_where_it_is_so_much() -> None:
    """Not in thousands of megabytes."""
    assert ["10.0 GB free"] == [check.said for check in doctor.report(WELL) if check.name == "disk"]


def test_auto_memory_is_mentioned_and_left_alone() -> None:
    """It is no fault."""
    checks = doctor.report(replace(WELL, claude=replace(WELL.claude, auto_memory=True)))

    assert ["ok"] == [check.state for check in checks if check.name == "auto memory"]


def test_the_folders_two_keys_are_one(tenon: Tenon) -> None:
    """Before anything was kept for it, and after; looking makes nothing."""
    store = paths_of(tenon)
    db.open_store(store).close()
    first = facts.store_facts(store, str(tenon.project), NOW, deep=False)
    with db.open_store(store) as opened:
        made = places.everything(opened)
        places.settle(opened, str(tenon.project), NOW)
    second = facts.store_facts(store, str(tenon.project), NOW, deep=True)

    assert [] == made
    assert 2 * [("path:" + os.path.realpath(tenon.project),) * 2] == [(found.read_key, found.write_key) for found in (first, second)]


def imported(tenon: Tenon) -> None:
    """A session of five questions and answers, archived."""
    talk = tenon.talk()
    for number in range(5):
        talk.prompt(f"question {number}, how do we deploy?")
        talk.reply(f"answer {number}: on Fridays")
    tenon.ok("import")


def paths_of(tenon: Tenon) -> str:
    """The store of the default agent; its folder is made."""
    path = tenon.home / ".tenon" / "agents" / "default" / "tenon.db"
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    return str(path)


def checked(tenon: Tenon, *more: str) -> dict[str, dict[str, str]]:
    """The checks of a run, by name."""
    return {found["check"]: found for found in tenon("doctor", "--json", *more).records}


def test_doctor_runs_before_anything_is_kept(tenon: Tenon) -> None:
    """And makes nothing."""
    done = tenon("doctor")

    assert 0 == done.code, done.out
    assert "nothing is remembered yet" in done.out
    assert [] == os.listdir(tenon.home)


def test_transcripts_that_will_be_deleted_are_counted(tenon: Tenon) -> None:
    """Claude Code keeps them for as long as its settings say."""
    talk = tenon.talk()
    talk.prompt("how do we deploy?")
    os.utime(talk.path, (time.time() - 3 * DAY_S,) * 2)
    (tenon.home / ".claude" / "settings.json").write_text('{"cleanupPeriodDays": 5}', encoding="utf-8")
    before = checked(tenon)["transcripts"]
    tenon.ok("import")
    after = checked(tenon)["transcripts"]

    assert ("warn", "tenon import") == (before["state"], before["mend"])
    assert "1 of 1" in before["said"]
    assert "5 days after their last line, the first in 2 days" in before["said"]
    assert ("ok", "all 1 are in the archive") == (after["state"], after["said"])


@pytest.mark.skipif(os.name == "nt", reason="modes are POSIX")
def test_modes_are_tightened_by_fix(tenon: Tenon) -> None:
    """The store, its log, and folders."""
    tenon.written("we deploy on Fridays")
    store = Path(paths_of(tenon))
    (tenon.home / ".tenon" / "faults.log").touch(mode=0o644)
    (tenon.home / ".tenon" / "faults.log").chmod(0o644)
    before = checked(tenon)["home"]
    after = checked(tenon, "--fix")["home"]

    assert ("fail", "ok") == (before["state"], after["state"])
    assert 0o600 == stat.S_IMODE((tenon.home / ".tenon" / "faults.log").stat().st_mode)
    assert 0o600 == stat.S_IMODE(store.stat().st_mode)


def test_a_broken_index_is_found_and_built_anew(tenon: Tenon) -> None:
    """Recall finds everything again."""
    tenon.written("we deploy on Fridays")
    con = sqlite3.connect(paths_of(tenon))
    con.execute("UPDATE memory_fts_data SET block = x'00' WHERE id > 10")
    con.execute("DELETE FROM memory_fts_docsize")
    con.commit()
    con.close()
    before = tenon("doctor")
    after = tenon("doctor", "--fix")

    assert (1, True) == (before.code, "tenon doctor --fix" in before.out)
    assert "built the text indexes anew" in after.err
    assert 0 == after.code, after.out
    assert "we deploy on Fridays" in tenon.ok("recall", "deploy Fridays").out


def test_vectors_that_are_gone_are_found_and_made_anew(tenon: Tenon) -> None:
    """By recall's own look at what is stored; one of a text that is gone is found too."""
    tenon.written("we deploy on Fridays")
    tenon.written("the gateway listens on 8443")
    before = checked(tenon)["vectors"]
    con = sqlite3.connect(paths_of(tenon))
    con.execute("DELETE FROM vector WHERE row = 1")
    con.execute("INSERT INTO vector SELECT kind, 99, model, block, codes FROM vector WHERE row = 2")
    con.commit()
    con.close()
    broken = checked(tenon)["vectors"]
    done = tenon("doctor", "--fix")
    after = checked(tenon)["vectors"]

    assert ("ok", "agree with what is stored") == (before["state"], before["said"])
    assert ("fail", "1 of what is not there any more; 1 missing; 1 whose block disagrees") == (broken["state"], broken["said"])
    assert (0, True) == (done.code, "anew, and the vectors with them" in done.err), done.out
    assert before == after


def test_vectors_that_are_behind_come_by_themselves(tenon: Tenon) -> None:
    """As after an upgrade: that is no fault, and there is a way not to wait."""
    tenon.written("we deploy on Fridays")
    with db.open_store(paths_of(tenon)) as store:
        reindex.rebuild(store, embed=False)
    behind = tenon("doctor", "--json")
    found = {record["check"]: record for record in behind.records}["vectors"]
    tenon.ok("embed", "rebuild")

    assert ("ok", "tenon embed rebuild (does it now)") == (found["state"], found["mend"])
    assert "a session does it in the background" in found["said"]
    assert ("agree with what is stored", "") == (checked(tenon)["vectors"]["said"], checked(tenon)["vectors"]["mend"])


def test_a_store_that_no_table_has_met_is_behind(tenon: Tenon) -> None:
    """Its model is new to the store: everything is still to be embedded."""
    tenon.written("we deploy on Fridays")
    with db.open_store(paths_of(tenon)) as store:
        for model in vectors.models(store):
            vectors.remove(store, model)

    assert ("ok", True) == ((found := checked(tenon)["vectors"])["state"], "not embedded everything yet" in found["said"])


@pytest.mark.skipif(os.name == "nt", reason="hooks.json is changed where there is a shim for sh")
def test_an_interpreter_that_is_gone_is_named(tenon: Tenon, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only where the user agreed to one."""
    before = checked(tenon)
    monkeypatch.setenv("TENON_HOME", str(tenon.home / ".tenon"))
    interpreter._save(paths.home(), interpreter.Wish("/opt/no such/python3", []))
    found = checked(tenon)["interpreter"]

    assert "interpreter" not in before
    assert ("warn", "tenon install", True) == (found["state"], found["mend"], found["said"].startswith("/opt/no such/python3 is not there any more"))


def test_a_changed_turn_is_found(tenon: Tenon) -> None:
    """By its hash, whoever changed it."""
    imported(tenon)
    con = sqlite3.connect(paths_of(tenon))
    con.execute("DROP TRIGGER turn_is_never_changed")
    con.execute("UPDATE turn SET content = replace(content, 'Fridays', 'Mondays') WHERE id = 4")
    con.commit()
    con.close()

    for more in ((), ("--deep",)):
        found = checked(tenon, *more)["archive"]
        assert ("fail", "1 of 10 turns are not as they were written, all others are: t4 in session s1") == (found["state"], found["said"])
        assert found["mend"].startswith(
            "tenon forget t4 (takes what was changed out); Claude Code's own transcript is still there: tenon --agent fresh import "
        )
    tenon.ok("forget", "t4", "--yes")
    assert "ok" == checked(tenon, "--deep")["archive"]["state"]


def damaged(tenon: Tenon) -> Path:
    """A store of two hundred memories, with three pages overwritten that hold some of them."""
    path = Path(paths_of(tenon))
    with db.open_store(str(path)) as store, store.transaction():
        for number in range(200):
            memories.write(store, repository=None, tier="short", kind="fact", text=f"fact number {number}: " + "words " * 40, now=NOW)
    with db.open_store(str(path)) as store:
        store.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    whole = path.read_bytes()
    at = whole.index(b"fact number 100: words words") // 4096 * 4096
    path.write_bytes(whole[:at] + b"\xff" * 4096 * 3 + whole[at + 4096 * 3 :])
    return path


def test_a_damaged_store_is_named_and_never_touched_unasked(tenon: Tenon) -> None:
    """Neither by looking nor by --fix without an answer."""
    path = damaged(tenon)
    before = path.read_bytes()
    looked = tenon("doctor")
    fixed = tenon("doctor", "--fix")

    assert (1, True) == (looked.code, "is damaged" in looked.out)
    assert (1, True) == (fixed.code, "say --yes" in fixed.err)
    assert before == path.read_bytes()


def test_what_can_be_read_of_a_damaged_store_is_saved(tenon: Tenon) -> None:
    """The damaged file is kept beside it, and the counts are said."""
    path = damaged(tenon)
    before = path.read_bytes()
    done = tenon("doctor", "--fix", "--yes")
    kept = [name for name in path.parent.iterdir() if ".damaged-" in name.name and not name.name.endswith(("-wal", "-shm"))]
    with db.open_store(str(path), create=False) as store:
        saved = len(memories.recent(store, 0, 1000))

    assert [before] == [name.read_bytes() for name in kept]
    assert 100 < saved <= 200
    assert f"saved {saved} memories, 0 turns" in done.err
    assert "ok" == checked(tenon)["store"]["state"]
    assert "ok" == checked(tenon)["indexes"]["state"]


def test_a_file_that_is_no_database_is_replaced_by_an_empty_store_where_that_is_asked_for(tenon: Tenon) -> None:
    """Nothing could be read of it: agreeing to a rescue is not agreeing to that. It is kept either way."""
    path = Path(paths_of(tenon))
    path.write_bytes(b"this is no database at all" * 500)
    assert "fail" == checked(tenon)["store"]["state"]
    left = tenon("doctor", "--fix", "--yes")
    stays = [file.name for file in path.parent.iterdir()], path.read_bytes()
    done = tenon("doctor", "--fix", "--yes", "--empty")

    assert (1, True, True) == (left.code, "Nothing could be read" in left.err, "There is no backup either." in left.err)
    assert (["tenon.db"], b"this is no database at all" * 500) == stays
    assert "saved 0 memories" in done.err
    assert "ok" == checked(tenon)["store"]["state"]
    assert 1 == len([file for file in path.parent.iterdir() if ".damaged-" in file.name])
    assert 2 == tenon("doctor", "--empty").code


def test_of_a_damaged_store_the_backup_is_named(tenon: Tenon) -> None:
    """The newest one that is whole, by every verb that says that the store is damaged, before it is replaced and after."""
    tenon.written("we deploy on Fridays")
    path = Path(paths_of(tenon))
    tenon.ok("backup")
    (kept,) = (path.parent / "backups").iterdir()
    (path.parent / "backups" / "tenon-default-20990101-000000.db").write_bytes(b"half a backup")
    path.write_bytes(b"this is no database at all" * 500)
    way = f"backup --restore {shlex.quote(str(kept))} (puts the newest backup back"
    done = tenon("doctor", "--fix", "--yes", "--empty").err

    path.write_bytes(b"this is no database at all" * 500)
    assert ["Instead of that: tenon " + way, "A backup is there: tenon " + way] == [
        line[: line.index(" back, of")] + " back" for line in done.splitlines() if way in line
    ]
    assert way in checked(tenon)["store"]["mend"]
    assert way in tenon("status").err
    assert way in next(record["mend"] for record in tenon("repair", "--json").records if record["check"] == "store")


def test_a_newer_store_is_left_alone(tenon: Tenon) -> None:
    """By --fix too."""
    path = Path(paths_of(tenon))
    db.open_store(str(path)).close()
    con = sqlite3.connect(str(path))
    con.execute("PRAGMA user_version = 99")
    con.close()
    before = path.read_bytes()
    done = tenon("doctor", "--fix", "--yes")

    assert (1, True) == (done.code, "written by a newer Tenon" in done.out)
    assert before == path.read_bytes()


def test_what_install_wrote_and_somebody_took_away_is_named(tenon: Tenon) -> None:
    """Install puts it back."""
    tenon.ok("install", "--yes")
    os.remove(tenon.home / ".local" / "bin" / "tenon")
    (tenon.home / ".claude" / "settings.json").write_text("{}", encoding="utf-8")
    before = checked(tenon)["installed"]
    tenon.ok("install", "--yes")

    assert ("warn", "tenon install") == (before["state"], before["mend"])
    assert [True, True, True] == [word in before["said"] for word in ("bin/tenon", "statusLine", "permissions.allow")]
    assert "installed" not in checked(tenon)


def test_a_check_prints_as_a_line_or_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    """With its mend below."""
    from tenon.cli.out import Out

    doctor.show(Check("disk", "warn", "1 KB free", "free some"), Out(sys.stdout, sys.stderr))
    doctor.show(Check("disk", "warn", "1 KB free", "free some"), Out(sys.stdout, sys.stderr, json=True))
    said = capsys.readouterr().out.splitlines()

    assert ["warn disk:          1 KB free", "                    mend: free some"] == said[:2]
    assert {"check": "disk", "state": "warn", "said": "1 KB free", "mend": "free some"} == json.loads(said[2])


def test_the_status_line_is_one_short_line(tenon: Tenon, monkeypatch: pytest.MonkeyPatch) -> None:
    """Memories of the repository and agent-wide ones, what waits, faults."""
    monkeypatch.setenv("TENON_HOME", str(tenon.home / ".tenon"))
    fresh = statusline.line(str(tenon.project), "default", NOW)
    tenon.written("we deploy on Fridays")
    one = statusline.line(str(tenon.project), "default", NOW)
    talk = tenon.talk()
    talk.prompt("how do we deploy?")
    talk.reply("on Fridays")
    tenon.ok("import")
    with open(paths.faults_path(), "w", encoding="utf-8") as file:
        file.write(f'{{"at": {NOW - 10}, "door": "Stop"}}\n{{"at": {NOW - 10 * DAY_S}, "door": "Stop"}}\n')

    assert ("tenon remembers from now on", "tenon 1 memory") == (fresh, one)
    assert "tenon 1 memory · 2 to digest · 1 fault" == statusline.line(str(tenon.project), "default", NOW)


def test_the_status_line_names_the_agent_and_what_there_is(tenon: Tenon, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sessions where there are no memories yet, and what the proxy put in front of this one."""
    monkeypatch.setenv("TENON_HOME", str(tenon.home / ".tenon"))
    talk = tenon.talk()
    talk.prompt("how do we deploy?")
    tenon.ok("--agent", "reviewer", "import")
    with db.open_store(paths.store_path("reviewer")) as store:
        for name, tokens in (("s7", 23_400), ("s8", 0)):
            found = conversations.begin(store, name=name, client="c", folder="/p", repository=None, now=NOW, state="traced")
            with store.transaction():
                pieces = [conversations.add_piece(store, [b'{"role": "user", "content": []}'], tokens, 0)] if tokens else []
                conversations.add_epoch(store, found, why="start", skip=0, anchor="", strip=0, pieces=pieces, now=NOW)

    said = [statusline.line(str(tenon.project), "reviewer", NOW, session) for session in ("", "s7", "s8", "unknown")]
    plain = "tenon reviewer · 1 session kept · 1 to digest"
    assert [plain, "tenon reviewer · 1 session kept · 23k tokens of past sessions · 1 to digest", plain, plain] == said


def test_the_status_line_says_what_was_shown_what_came_from_the_cache_and_when_to_pause(tenon: Tenon, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of this session; the client's own figures go before those of the transcript, and low pressure is not worth a word."""
    monkeypatch.setenv("TENON_HOME", str(tenon.home / ".tenon"))
    ref = tenon.written("we deploy on Fridays")
    with db.open_store(paths.store_path("default")) as store:
        given = {"repository": None, "words": [], "chars": 9, "now": NOW}
        for event in ("prompt", "session", "tool"):
            journal.record(store, event=event, session="s7", hits=[(ref, 0.5, ()), (f"t{len(event)}", 0.4, ())], skipped=[("mother", 0.1, (), "e")], **given)
        number = archive.session(store, "s7", repository=places.settle(store, str(tenon.project), NOW), folder="/p", at=NOW)
        usage.note(store, number, {"m": (NOW, False, (10, 10, 80, 5))}, NOW)
        said = [statusline.line(str(tenon.project), "default", NOW, session, cached) for session, cached in (("s7", None), ("s7", 0.931), ("s8", None))]
        told = []
        for tokens in (1000, 90_000, 130_000):
            notes.note(store, pressure.NOTE, str(tokens))
            told.append(statusline.line(str(tenon.project), "default", NOW))

    assert ["tenon 1 memory, 3 shown · cache 80%", "tenon 1 memory, 3 shown · cache 93%", "tenon 1 memory"] == said
    assert ["tenon 1 memory", "tenon 1 memory · pressure moderate 62%", "tenon 1 memory · pressure high 90%"] == told


@pytest.mark.parametrize(
    ("window", "share"),
    [
        ({"current_usage": {"input_tokens": 10, "cache_creation_input_tokens": 10, "cache_read_input_tokens": 80, "output_tokens": 900}}, 0.8),
        ({"current_usage": {"input_tokens": 0, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}}, None),
        ({"current_usage": {"input_tokens": 10, "cache_read_input_tokens": 80}}, None),
        ({"current_usage": {"input_tokens": -1, "cache_creation_input_tokens": 1, "cache_read_input_tokens": "80"}}, None),
        ({"current_usage": None}, None),
        ({}, None),
        (None, None),
        ([1], None),
    ],
)
def test_the_share_of_the_cache_is_said_only_where_it_is_known(window: object, share: float | None) -> None:
    """Anything else than the API's three counts is no share."""
    assert share == statusline._cached({"context_window": window})


STATUS = "import sys; sys.path[:0] = [{root!r}, {scripts!r}]\nfrom tenon.cli import statusline, out\nimport argparse\nsys.exit(statusline.run(argparse.Namespace(agent=''), out.make()))"


@pytest.mark.parametrize("status", [{"session_id": "\ud800"}, {"session_id": "s7", "cwd": "/no\ud800where\0"}])
def test_the_status_line_takes_what_no_store_can_hold(tenon: Tenon, status: dict[str, str]) -> None:
    """Half a letter in a name, or a NUL."""
    tenon.ok("write", "--agent-wide", "we deploy on Fridays")
    assert "tenon 1 memory\n" == tenon.ok("statusline", given=json.dumps(status)).out


@pytest.mark.parametrize("given", [b"", b"{}", b'{"workspace": {"current_dir": 3}, "cwd": "/nowhere"}', b"[1]", b"\xff\xfe{", b'{"cwd": '])
def test_the_status_line_never_fails_and_never_hangs(tenon: Tenon, given: bytes) -> None:
    """Whatever stands on stdin, and when it is left open; a damaged store too."""
    Path(paths_of(tenon)).write_bytes(b"no database" * 1000)
    root = os.path.dirname(os.path.dirname(DOOR))
    program = [sys.executable, "-I", "-S", "-c", STATUS.format(root=root, scripts=os.path.join(root, "scripts"))]
    process = subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=tenon.environment(), cwd=tenon.project)
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(given)
    process.stdin.flush()  # and left open
    try:
        said = process.stdout.read().decode("utf-8")
        code = process.wait(20)
    finally:
        process.stdin.close()
        process.stdout.close()

    assert (0, ["tenon: see `tenon doctor`"]) == (code, said.splitlines())
