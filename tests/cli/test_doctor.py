"""`tenon doctor` and `tenon statusline`: what is wrong is named with its way out, and what is safe to mend is mended."""
from __future__ import annotations

import json
import os
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
from tenon.cli.facts import ClaudeCode, Facts, Faults, Stored, Waiting
from tenon.store import db, memories, places
from tenon.world.python import Found
from tests.cli.conftest import DOOR, Tenon

NOW = 1_796_100_000.0
DAY_S = 86400.0
STORE = Stored("/h/agents/default/tenon.db", exists=True, size=1000, schema=1, chain_checked=12, read_key="github.com/a/b", write_key="github.com/a/b")
WELL = Facts(
    now=NOW, version="0.1.0", python="3.11.7", python_file="/usr/bin/python3", isolated=True, sqlite_version="3.40.1", fts5=True, trigram=True,
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
        ("python3", "fail", "tenon install", replace(WELL, python3=Found(problem="python3 is not on the PATH"))),
        ("home", "fail", "set TENON_HOME", replace(WELL, home_problem="/h cannot be written")),
        ("home", "fail", "tenon doctor --fix", replace(WELL, exposed=["/h/a", "/h/b"])),
        ("disk", "warn", "free some space", replace(WELL, free_bytes=1000)),
        ("settings", "warn", "tenon config", replace(WELL, settings_problem="no setting 'x'")),
        ("store", "fail", "tenon doctor --fix", replace(WELL, store=replace(STORE, damaged=["page 3"]))),
        ("store", "fail", "tenon doctor --fix", replace(WELL, store=replace(STORE, problem="x is damaged (malformed)"))),
        ("store", "fail", "update the plugin", replace(WELL, store=replace(STORE, problem="x was written by a newer Tenon"))),
        ("indexes", "fail", "tenon doctor --fix", replace(WELL, store=replace(STORE, indexes={"turn_fts": "malformed"}))),
        ("archive", "fail", "backup", replace(WELL, store=replace(STORE, chain_wrong=[7]))),
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


def test_a_changed_turn_is_found(tenon: Tenon) -> None:
    """By its hash, whoever changed it."""
    talk = tenon.talk()
    for number in range(5):
        talk.prompt(f"question {number}, how do we deploy?")
        talk.reply(f"answer {number}: on Fridays")
    tenon.ok("import")
    con = sqlite3.connect(paths_of(tenon))
    con.execute("DROP TRIGGER turn_is_never_changed")
    con.execute("UPDATE turn SET content = replace(content, 'Fridays', 'Mondays') WHERE id = 4")
    con.commit()
    con.close()

    for more in ((), ("--deep",)):
        found = checked(tenon, *more)["archive"]
        assert ("fail", "1 of 10 turns are not as they were written: t4") == (found["state"], found["said"])


def damaged(tenon: Tenon) -> Path:
    """A store of two hundred memories, with pages in its middle overwritten."""
    path = Path(paths_of(tenon))
    with db.open_store(str(path)) as store, store.transaction():
        for number in range(200):
            memories.write(store, repository=None, tier="short", kind="fact", text=f"fact number {number}: " + "words " * 40, now=NOW)
    with db.open_store(str(path)) as store:
        store.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    size = path.stat().st_size
    with open(path, "r+b") as file:
        file.seek(size * 2 // 3 // 4096 * 4096)
        file.write(b"\xff" * 4096 * 3)
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


def test_a_file_that_is_no_database_is_replaced_by_an_empty_store(tenon: Tenon) -> None:
    """Nothing could be read of it; it is kept."""
    path = Path(paths_of(tenon))
    path.write_bytes(b"this is no database at all" * 500)
    assert "fail" == checked(tenon)["store"]["state"]
    done = tenon("doctor", "--fix", "--yes")

    assert "saved 0 memories" in done.err
    assert "ok" == checked(tenon)["store"]["state"]


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


STATUS = "import sys; sys.path[:0] = [{root!r}, {scripts!r}]\nfrom tenon.cli import statusline, out\nimport argparse\nsys.exit(statusline.run(argparse.Namespace(agent=''), out.make()))"


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
