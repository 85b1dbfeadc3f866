"""`tenon backup`: a whole copy, the older ones, and one put back."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tenon.base.errors import TenonError
from tenon.cli.rescuing import quoted
from tenon.store import backup, cleaning, db, forget, forgotten, letting_go, memories, purging
from tests.cli.conftest import Tenon
from tests.digest.minds import Mind


def store_path(tenon: Tenon) -> Path:
    """The store of the command's agent."""
    return tenon.home / ".tenon" / "agents" / "default" / "tenon.db"


def test_a_backup_is_whole_and_yours_alone(tenon: Tenon) -> None:
    """It says what it holds, has no log beside it, and tells how it is put back."""
    tenon.written("the lantern is green")

    told = tenon.ok("backup", "--json").records[0]

    path = Path(told["file"])
    assert (1, 0, 0, []) == (told["memories"], told["turns"], told["sessions"], told["removed"])
    assert [path.name] == os.listdir(path.parent)
    assert "tenon-default-" == path.name[:14]
    if os.name == "posix":
        assert (0o600, 0o700) == (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777)
    assert "backup --restore" in tenon.ok("backup").err
    assert 2 == len(tenon.ok("backup", "--list", "--json").records)


def test_what_others_write_meanwhile_is_no_part_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A copy is of one moment, also when somebody writes between two of its steps."""
    monkeypatch.setattr(backup, "STEP", 50)
    path = str(tmp_path / "tenon.db")
    with db.open_store(path) as store, db.open_store(path) as other:
        for number in range(400):
            memories.write(store, repository=None, tier="short", kind="fact", text=f"fact {number} {'word ' * 300}", now=1.0)
        steps: list[int] = []

        def write(done: int, total: int) -> None:
            steps.append(total)
            memories.write(other, repository=None, tier="short", kind="fact", text=f"meanwhile {len(steps)}", now=1.0)

        made = backup.copy(store, str(tmp_path / "copy.db"), write)

    assert len(steps) > 1
    assert 400 == made.memories


def test_only_the_newest_stay(tenon: Tenon, tmp_path: Path) -> None:
    """Of this agent, in that folder, by their names; nothing else in it is touched."""
    tenon.written("a fact")
    folder = tmp_path / "stick"
    folder.mkdir()
    for name in (
        "tenon-default-20200101-000000.db",
        "tenon-default-20200101-000000-2.db",
        "tenon-other-20200101-000000.db",
        "mine.db",
        "tenon-default-notes.db",
    ):
        (folder / name).write_bytes(b"x")

    told = tenon.ok("backup", str(folder), "--keep", "2", "--json").records[0]

    assert ["tenon-default-20200101-000000.db"] == [Path(path).name for path in told["removed"]]
    assert {"mine.db", "tenon-other-20200101-000000.db", "tenon-default-notes.db", "tenon-default-20200101-000000-2.db"} < set(os.listdir(folder))
    assert 2 == tenon("backup", "--keep", "0").code


def test_a_backup_is_put_back_and_the_present_one_kept(tenon: Tenon) -> None:
    """What was written since is in the file that is kept; both are whole, and forgetting names both."""
    ref = tenon.written("the lantern is green")
    path = tenon.ok("backup", "--json").records[0]["file"]
    tenon.written("the lantern is red")

    told = tenon.ok("backup", "--restore", path, "--yes", "--json").records[0]

    assert "red" not in tenon.ok("recall", "lantern").out
    assert "green" in tenon.ok("recall", "lantern").out
    assert 2 == backup.inspected(told["kept"])[0]
    assert "wal" == str(sqlite3.connect(str(store_path(tenon))).execute("PRAGMA journal_mode").fetchone()[0])
    said = tenon.ok("forget", ref, "--yes").err
    assert (True, True) == (path in said, told["kept"] in said)


def test_what_was_forgotten_since_is_forgotten_again(tenon: Tenon) -> None:
    """A memory, a turn, and whatever has a text that the user named; and it cannot be written again."""
    ref = tenon.written("the lantern is green")
    tenon.written("the parrot is called Ottilie")
    talk = tenon.talk("s1")
    talk.prompt("where is the harbour?")
    talk.reply("Ottilie knows")
    tenon.ok("import")
    path = tenon.ok("backup", "--json").records[0]["file"]
    tenon.ok("forget", ref, "t1", "--yes")
    tenon.ok("forget", "--text", "-", "--yes", given="Ottilie")

    told = tenon.ok("backup", "--restore", path, "--yes", "--json").records[0]

    assert 4 == told["forgotten"]
    data = store_path(tenon).read_bytes()
    assert [False] * 3 == [word in data for word in (b"green", b"harbour", b"Ottilie")]
    assert 1 == tenon("write", "the lantern is green").code


def test_nothing_is_put_back_over_a_store_that_is_in_use(tenon: Tenon) -> None:
    """Nor by somebody who said no, nor in a model's shell; the store is as it was."""
    tenon.written("the lantern is green")
    path = tenon.ok("backup", "--json").records[0]["file"]
    tenon.written("the lantern is red")
    with db.open_store(str(store_path(tenon))) as store:
        assert 2 == store.value("SELECT count(*) FROM memory")
        refused = tenon("backup", "--restore", path, "--yes")
        assert (1, True) == (refused.code, "is in use" in refused.err), refused.err
    assert 1 == tenon("backup", "--restore", path).code
    tenon.env["CLAUDECODE"] = "1"
    assert 1 == tenon("backup", "--restore", path, "--yes").code
    assert "red" in tenon.ok("recall", "lantern").out
    assert ["backups", "tenon.db"] == sorted(name for name in os.listdir(store_path(tenon).parent) if not name.endswith(("-wal", "-shm")))


def test_a_damaged_store_is_replaced_too(tenon: Tenon) -> None:
    """That is what a backup is for; the damaged one is kept."""
    tenon.written("the lantern is green")
    path = tenon.ok("backup", "--json").records[0]["file"]
    for suffix in ("-wal", "-shm"):
        store_path(tenon).with_name("tenon.db" + suffix).unlink(missing_ok=True)
    data = bytearray(store_path(tenon).read_bytes())
    data[100:4000] = b"\xff" * 3900
    store_path(tenon).write_bytes(data)

    kept = tenon.ok("backup", "--restore", path, "--yes", "--json").records[0]["kept"]

    assert bytes(data) == Path(kept).read_bytes()
    assert "green" in tenon.ok("recall", "lantern").out


@pytest.mark.parametrize("data", [b"", b"hello", b"SQLite format 3\0" + b"x" * 4000])
def test_what_is_no_backup_is_not_put_back(tenon: Tenon, tmp_path: Path, data: bytes) -> None:
    """A file that is none, one that is damaged, one that is not there."""
    tenon.written("the lantern is green")
    path = tmp_path / "some.db"
    path.write_bytes(data)

    assert (1, 1) == (tenon("backup", "--restore", str(path), "--yes").code, tenon("backup", "--restore", str(tmp_path / "none"), "--yes").code)
    assert "green" in tenon.ok("recall", "lantern").out


def test_a_place_that_cannot_be_written_is_said(tenon: Tenon, tmp_path: Path) -> None:
    """And so is a file that is there, and a store that is not; nothing is left behind."""
    assert (1, True) == ((refused := tenon("backup")).code, "there is no memory yet" in refused.err)
    tenon.written("a fact")
    there = tmp_path / "there.db"
    there.write_bytes(b"mine")

    assert (1, b"mine") == (tenon("backup", str(there)).code, there.read_bytes())
    assert 1 == tenon("backup", str(tmp_path / "no" / "such.db")).code
    assert 1 == tenon("backup", str(tmp_path / "no") + "/").code
    mistyped = tenon("backup", str(tmp_path / "stick"))
    assert (1, True, False) == (mistyped.code, "is no folder; make it first, or name the file" in mistyped.err, (tmp_path / "stick").exists())
    tenon.ok("backup", str(tmp_path / "mine.db"))
    assert (tmp_path / "mine.db").exists()
    assert 2 == tenon("backup", "--list", "--restore", "x").code


def test_a_copy_that_fails_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not at the place, and not beside it."""
    with db.open_store(str(tmp_path / "tenon.db")) as store:
        monkeypatch.setattr(backup, "inspected", lambda path: (_ for _ in ()).throw(OSError(28, "No space left on device")))
        with pytest.raises(TenonError, match="free some space"):
            backup.copy(store, str(tmp_path / "copy.db"))
    assert ["tenon.db"] == os.listdir(tmp_path)


def test_whatever_somebody_is_told_is_kept_is_in_one_of_the_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A writer that tries again and again while a backup is put back is told that the store is busy, or is in the file that is kept."""
    path, source = str(tmp_path / "tenon.db"), str(tmp_path / "copy.db")
    kept: list[str] = []
    tried: list[str] = []

    def write() -> None:
        tried.append(f"word {len(tried)}")
        with suppress(TenonError), db.open_store(path, busy_s=0.01) as store:
            memories.write(store, repository=None, tier="short", kind="fact", text=tried[-1], now=1.0)
            kept.append(tried[-1])

    def with_a_writer(given: Callable[..., Any]) -> Callable[..., Any]:
        def done(*told: Any, **named: Any) -> Any:
            write()
            found = given(*told, **named)
            write()
            return found

        return done

    write()
    with db.open_store(path) as store:
        backup.copy(store, source)
    for name in ("replace", "remove"):
        monkeypatch.setattr(os, name, with_a_writer(getattr(os, name)))
    backup.restore(path, source, 1.0)
    monkeypatch.undo()

    assert len(tried) > 2
    stored = set()
    for file in [path, *backup.aside(path)]:
        con = sqlite3.connect(file)
        assert [("ok",)] == con.execute("PRAGMA integrity_check").fetchall()
        stored |= {row[0] for row in con.execute("SELECT text FROM memory")}
        con.close()
    assert set(kept) <= stored


def test_what_was_forgotten_is_never_in_the_store_again(tmp_path: Path) -> None:
    """It is taken out before a backup takes the store's place, so that nobody who is ended in the middle leaves it there."""
    path, source = str(tmp_path / "tenon.db"), str(tmp_path / "copy.db")
    with db.open_store(path) as store:
        ref, _ = memories.write(store, repository=None, tier="short", kind="fact", text="the lantern is green", now=1.0)
        backup.copy(store, source)
        forget.forget(store, [ref], "a wish", 2.0)

    done = backup.restore(path, source, 3.0)

    assert 1 == done.forgotten
    assert b"green" not in Path(path).read_bytes()
    with db.open_store(path) as store:
        assert 0 == store.value("SELECT count(*) FROM memory")
        assert 1 == store.value("SELECT count(*) FROM tombstone")


def test_an_archive_that_was_removed_is_not_put_back(tmp_path: Path) -> None:
    """A backup from before `repair --purge-history` gives its memories and no turn, and the store goes on taking none from then."""
    path, source = str(tmp_path / "tenon.db"), str(tmp_path / "copy.db")
    with db.open_store(path) as store:
        mind = Mind(store)
        mind.say("the lantern is green")
        mind.write("the lantern hangs in the porch")
        backup.copy(store, source)
        purging.purge(store, mind.at + 1.0)

    done = backup.restore(path, source, mind.at + 2.0)

    assert 1 == done.forgotten
    assert b"green" not in Path(path).read_bytes()
    with db.open_store(path) as store:
        assert (1, 0) == (store.value("SELECT count(*) FROM memory"), store.value("SELECT count(*) FROM turn WHERE forgotten IS NULL"))
        assert mind.at + 1.0 == forgotten.purged(store)


def test_a_restore_that_fails_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No half of it is in the store, and no copy lies beside it."""
    path, source = str(tmp_path / "tenon.db"), str(tmp_path / "copy.db")
    with db.open_store(path) as store:
        memories.write(store, repository=None, tier="short", kind="fact", text="the lantern is green", now=1.0)
        backup.copy(store, source)
        memories.write(store, repository=None, tier="short", kind="fact", text="the lantern is red", now=1.0)
    monkeypatch.setattr(letting_go, "again", lambda *_: (_ for _ in ()).throw(sqlite3.OperationalError("database or disk is full")))

    with pytest.raises(TenonError, match="as it was"):
        backup.restore(path, source, 3.0)

    assert 2 == backup.inspected(path)[0]
    assert ["copy.db", "tenon.db"] == sorted(os.listdir(tmp_path))


def test_a_restored_store_knows_the_backups_elsewhere(tenon: Tenon, tmp_path: Path) -> None:
    """Also the one that was put back, and the one that was made after it."""
    tenon.written("the lantern is green")
    first, second = (str(tmp_path / name) for name in ("first.db", "second.db"))
    tenon.ok("backup", first)
    tenon.ok("backup", second)

    tenon.ok("backup", "--restore", first, "--yes")

    assert {first, second} < {told["file"] for told in tenon.ok("backup", "--list", "--json").records}


def test_of_two_restores_in_one_second_both_are_known(tmp_path: Path) -> None:
    """So are those that an earlier version named otherwise."""
    path, source = str(tmp_path / "tenon.db"), str(tmp_path / "copy.db")
    with db.open_store(path) as store:
        backup.copy(store, source)
    kept = [backup.restore(path, source, 1.0).kept, backup.restore(path, source, 1.0).kept]
    old = kept[0].replace("tenon.db.", "tenon.db-2.")
    Path(old).touch()

    with db.open_reader(path) as store:
        assert {*kept, old} < set(backup.known(store))


@pytest.mark.parametrize("empty", [False, True])
def test_a_store_that_was_put_aside_is_named_when_there_is_none(tenon: Tenon, empty: bool) -> None:
    """By doctor, status and repair, with the command that puts it back; --fix begins no other in its place."""
    tenon.written("the lantern is green")
    path = store_path(tenon)
    kept = f"{path}.before-restore-20260101-000000"
    with db.open_store(str(path)) as store:
        backup.copy(store, kept)
    path.unlink()
    if empty:
        path.touch(mode=0o600)

    said = [tenon("status").err, tenon("repair").err, tenon("doctor").out, tenon("doctor", "--fix").out]

    way = "".join(f"tenon backup --restore {quoted(kept)}".split())
    assert [True] * 4 == [way in "".join(each.split()) for each in said]  # however it is folded
    assert not db.exists(str(path))
    tenon.ok("backup", "--restore", kept, "--yes")
    assert "green" in tenon.ok("recall", "lantern").out


def test_doctor_counts_the_backups(tenon: Tenon) -> None:
    """How many there are, and of when the newest is."""
    tenon.written("the lantern is green")
    none = {found["check"]: found for found in tenon("doctor", "--json").records}["backups"]
    tenon.ok("backup")
    tenon.ok("backup")

    two = {found["check"]: found for found in tenon("doctor", "--json").records}["backups"]

    assert ("ok", True) == (none["state"], none["said"].startswith("none yet"))
    assert ("ok", True) == (two["state"], two["said"].startswith("2, the newest of 2"))


@pytest.mark.parametrize("verb", ["doctor", "repair"])
def test_what_was_forgotten_and_not_cleaned_is_said_and_mended(tenon: Tenon, verb: str) -> None:
    """Without a backup, which would have it too."""
    tenon.written("the lantern is green")
    with db.open_store(str(store_path(tenon))) as store:
        cleaning.note(store)

    before = {found["check"]: found for found in tenon(verb, "--json").records}["cleaning"]
    after = tenon(verb, "--fix", "--json").records

    assert ("warn", True) == (before["state"], f"tenon {verb} --fix" in before["mend"])
    assert "warn" not in [found["state"] for found in after if found["check"] == "cleaning"]
    with db.open_reader(str(store_path(tenon))) as store:
        assert not cleaning.is_due(store)
    assert not (store_path(tenon).parent / "backups").exists()
