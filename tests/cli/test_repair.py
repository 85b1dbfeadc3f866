"""`tenon repair`: what is wrong inside the store, mended after a backup; and the archive removed."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tenon.store import archive, backup, db, exchanges, memories, purging, repairing, summaries
from tenon.store.db import Store
from tests.cli.conftest import Tenon
from tests.store.chain import checked


def store_path(tenon: Tenon) -> Path:
    """The store of the command's agent."""
    return tenon.home / ".tenon" / "agents" / "default" / "tenon.db"


@contextmanager
def damaged(tenon: Tenon) -> Iterator[sqlite3.Connection]:
    """The store as somebody has it who keeps to none of its rules."""
    con = sqlite3.connect(str(store_path(tenon)), isolation_level=None)
    try:
        yield con
    finally:
        con.close()


def checks(tenon: Tenon, *arguments: str) -> dict[str, str]:
    """The state of each check, the worst of those of one name."""
    found: dict[str, str] = {}
    for record in tenon("repair", "--json", *arguments).records:
        if found.get(record["check"]) != "fail":
            found[record["check"]] = record["state"]
    return found


def filled(tenon: Tenon) -> None:
    """A memory, and a session in the archive."""
    tenon.written("the lantern is green")
    talk = tenon.talk("s1")
    talk.prompt("where is the harbour?")
    talk.reply("in the north")
    tenon.ok("import")


def gone() -> int:
    """The number of a process that has ended."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def test_a_whole_store_is_whole(tenon: Tenon) -> None:
    """Every check is fine, nothing is changed, no backup is made; without a store there is nothing to check."""
    assert (0, True) == ((told := tenon("repair")).code, "Nothing is remembered yet" in told.err)
    filled(tenon)

    assert {"ok"} == set(checks(tenon).values())
    assert "All is well." in tenon.ok("repair", "--fix").out
    assert not (store_path(tenon).parent / "backups").exists()
    assert 2 == tenon("repair", "--fix", "--purge-history").code


def test_rows_that_point_to_nothing_are_mended_after_a_backup(tenon: Tenon) -> None:
    """They are named first; the backup still has them; a lost repository is made again, so that nothing of it is lost."""
    filled(tenon)
    with damaged(tenon) as con:
        con.execute("INSERT INTO revision VALUES (77, 1, 'x', 'y', 1.0)")
        con.execute("UPDATE memory SET successor = 99, repository = 55")
        con.execute("INSERT INTO lineage VALUES (1, 4711)")
    assert "fail" == checks(tenon)["rows"]

    told = tenon("repair", "--fix")

    assert (0, True) == (told.code, "mended 4 rows" in told.err), told.err + told.out
    saved = backup.made(str(store_path(tenon).parent / "backups"), "default")
    assert [1] == [sqlite3.connect(saved[0]).execute("SELECT count(*) FROM revision").fetchone()[0]]
    with db.open_store(str(store_path(tenon))) as store:
        assert ([(None, 55)], []) == (store.rows("SELECT successor, repository FROM memory"), repairing.astray(store))
    assert "lost/55" in tenon.ok("alias").out
    assert "green" in tenon.ok("recall", "lantern", "--everywhere").out


def test_indexes_are_made_anew(tenon: Tenon) -> None:
    """What is stored is found again."""
    filled(tenon)
    with damaged(tenon) as con:
        con.execute("DELETE FROM memory_fts_data WHERE id > 10")
        con.execute("DELETE FROM vector")
    assert ("fail", "fail") == ((found := checks(tenon))["indexes"], found["vectors"])

    assert {"ok"} == set(checks(tenon, "--fix").values())
    assert "green" in tenon.ok("recall", "lantern").out


def test_a_digest_that_nobody_is_at_is_ended(tenon: Tenon) -> None:
    """Unless somebody is at it."""
    filled(tenon)
    with damaged(tenon) as con:
        con.execute("INSERT INTO digest (at, phase, runner, model, state) VALUES (1.0, 'consolidation', 'claude', 'm', 'running')")
    assert "fail" == checks(tenon)["digests"]
    with db.open_store(str(store_path(tenon))) as store:
        import time

        from tenon.store import notes

        notes.note(store, "claim:digest", f"{os.getpid()}-x {time.time() + 60:.0f}")
    assert "ok" == checks(tenon)["digests"]
    with damaged(tenon) as con:
        con.execute("DELETE FROM meta WHERE name = 'claim:digest'")

    assert "ok" == checks(tenon, "--fix")["digests"]
    with damaged(tenon) as con:
        assert [("failed",)] == con.execute("SELECT state FROM digest").fetchall()


def test_a_changed_turn_is_named_and_stays(tenon: Tenon) -> None:
    """With the command that takes it out; it cannot be mended, so the exit code is 1, and no backup is made for it."""
    filled(tenon)
    with damaged(tenon) as con:
        con.execute("DROP TRIGGER turn_is_never_changed")
        con.execute('UPDATE turn SET content = \'[{"text":"in the south","type":"text"}]\' WHERE id = 2')

    told = tenon("repair", "--fix")

    assert (1, True) == (told.code, "tenon forget t2" in told.out)
    assert not (store_path(tenon).parent / "backups").exists()


def test_a_damaged_file_is_left_to_doctor(tenon: Tenon) -> None:
    """Which saves what can be read; the file stays as it is."""
    filled(tenon)
    with damaged(tenon) as con:
        page = con.execute("SELECT rootpage FROM sqlite_master WHERE name = 'turn'").fetchone()[0]
        con.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    data = bytearray(store_path(tenon).read_bytes())
    data[(page - 1) * 4096 : page * 4096] = b"\xff" * 4096
    store_path(tenon).write_bytes(data)

    told = tenon("repair", "--fix")

    assert (1, True) == (told.code, "tenon doctor --fix" in told.out), told.out
    assert bytes(data) == store_path(tenon).read_bytes()


@pytest.mark.skipif(os.name != "posix", reason="asks for processes")
def test_what_dead_processes_left_is_removed(tenon: Tenon) -> None:
    """Half a backup, and the file of a proxy that is gone; those of a living process stay."""
    filled(tenon)
    pid = gone()
    home = tenon.home / ".tenon"
    half, alive = store_path(tenon).with_name(f"tenon.db.{pid}.restored"), store_path(tenon).with_name(f"copy.db.{os.getpid()}.new")
    half.write_bytes(b"x")
    alive.write_bytes(b"x")
    state = home / "proxy.json"
    state.write_text(f'{{"port": 1, "pid": {pid}, "token": "t", "version": "1", "root": "/", "upstream": "u", "started": 1}}', encoding="utf-8")
    assert ("warn", "warn") == ((found := checks(tenon))["leavings"], found["proxy"])

    assert 0 == tenon("repair", "--fix").code

    assert (False, True, False) == (half.exists(), alive.exists(), state.exists())


def test_the_archive_goes_for_good_and_memories_stay(tenon: Tenon) -> None:
    """Out of rows, index and file; the transcript is not read anew, and the next session begins a chain that holds."""
    filled(tenon)
    tenon.ok("backup")
    tenon.env["CLAUDECODE"] = "1"
    assert (1, True) == ((refused := tenon("repair", "--purge-history", "--yes")).code, "terminal of your own" in refused.err)
    del tenon.env["CLAUDECODE"]
    assert 1 == tenon("repair", "--purge-history").code  # nobody can be asked

    told = tenon.ok("repair", "--purge-history", "--yes", "--json").records[0]

    assert (2, 1, 1) == (told["turns"], told["sessions"], len(told["backups"]))
    assert b"harbour" not in store_path(tenon).read_bytes()
    assert "harbour" not in tenon.ok("recall", "harbour", "--archive").out
    assert "green" in tenon.ok("recall", "lantern").out
    assert 0 == tenon.ok("import", "--json").records[0]["turns"]
    talk = tenon.talk("s2")
    talk.clock = 4e9  # after the purge, whenever that is
    talk.prompt("a new harbour")
    tenon.ok("import")
    assert "new harbour" in tenon.ok("recall", "harbour", "--archive").out
    assert {"ok"} == set(checks(tenon).values())


def test_a_purge_leaves_no_number_to_be_used_again(tmp_path: Path) -> None:
    """Nor rows that point to nothing, nor a turn that may be changed; memories say no more where they came from."""
    with db.open_store(str(tmp_path / "tenon.db")) as store:
        home = int(store.execute("INSERT INTO repository (key, seen) VALUES ('k', 1.0)").lastrowid or 0)
        turns = _said(store, home, "s1", 3)
        ref, _ = memories.write(store, repository=home, tier="short", kind="fact", text="a fact", now=1.0, turns=turns)
        summaries.upsert(store, 1, home, "they spoke", 3.0)
        exchanges.mark_consolidated(store, turns, "written", 2.0)

        found = purging.purge(store, 9.0)

        assert (3, 1, 1) == (found.turns, found.sessions, found.memories)
        assert ([], []) == (memories.lineage(store, memories.get(store, ref)), repairing.astray(store))
        assert [(3, "[]")] == store.rows("SELECT id, content FROM turn")
        assert [4, 5] == _said(store, home, "s2", 2)
        assert (3, []) == checked(store)
        for statement in ("DELETE FROM turn WHERE id = 4", "UPDATE turn SET role = 'user' WHERE id = 4"):
            with pytest.raises(sqlite3.IntegrityError, match="append-only"):
                store.execute(statement)


def _said(store: Store, home: int, name: str, count: int) -> list[int]:
    session = archive.session(store, name, repository=home, folder="/p", at=1.0)
    rows = [
        archive.Row(uuid=f"{name}{at}", parent=f"{name}{at - 1}", role="user", kind="prompt", source="user", at=1.0 + at, content=[{"type": "text", "text": f"said {at}"}])
        for at in range(count)
    ]  # fmt: skip
    return archive.append(store, session, home, rows)[1]
