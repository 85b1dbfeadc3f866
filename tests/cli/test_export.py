"""`tenon export`, and `tenon import` of what it wrote."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.cli.conftest import Tenon


def elsewhere(tenon: Tenon, tmp_path: Path) -> Tenon:
    """The command on another machine."""
    home = tmp_path / "another"
    home.mkdir(exist_ok=True)
    return Tenon(home, tenon.project)


def filled(tenon: Tenon) -> None:
    """Two memories, of which one superseded the other, and a session in the archive."""
    old = tenon.written("staging is deployed on Fridays")
    tenon.ok("write", "staging is deployed on Mondays", "--supersedes", old, "--reason", "the team said so")
    talk = tenon.talk("s1")
    talk.prompt("where is the harbour?")
    talk.reply("in the north")
    tenon.ok("import")


def test_everything_moves_to_another_machine_and_back(tenon: Tenon, tmp_path: Path) -> None:
    """The same bytes come out there; a second import finds all of it there; the file is the owner's alone."""
    filled(tenon)
    path = tmp_path / "all.jsonl"
    told = tenon.ok("export", str(path), "--everywhere", "--archive", "--json").records[0]
    assert (2, 2, 1) == (told["memory"], told["turn"], told["session"])
    if os.name == "posix":
        assert 0o600 == path.stat().st_mode & 0o777

    other = elsewhere(tenon, tmp_path)
    counts = other.ok("import", str(path), "--json").records[0]["counts"]
    assert (2, 2) == (counts["memory"]["new"], counts["turn"]["new"])
    assert {"known"} == {outcome for counts in other.ok("import", str(path), "--json").records[0]["counts"].values() for outcome in counts}

    assert path.read_text(encoding="utf-8") == other.ok("export", "--everywhere", "--archive").out
    assert "Mondays" in other.ok("recall", "staging").out
    assert "Fridays" not in other.ok("recall", "staging").out
    assert "harbour" in other.ok("recall", "harbour", "--archive").out


def test_a_dry_run_counts_and_changes_nothing(tenon: Tenon, tmp_path: Path) -> None:
    """Not even where there is no home yet; and in a store it sees what is there."""
    filled(tenon)
    path = tmp_path / "all.jsonl"
    tenon.ok("export", str(path), "--everywhere", "--archive")
    other = elsewhere(tenon, tmp_path)

    assert "Would bring along 2 memories, 1 session, 2 turns from" in other.ok("import", str(path), "--dry-run").out
    assert not (other.home / ".tenon").exists()
    before = tenon.ok("export", "--everywhere", "--archive").out
    assert "nothing new" in tenon.ok("import", str(path), "--dry-run").out
    assert before == tenon.ok("export", "--everywhere", "--archive").out


def test_a_file_that_is_there_is_not_written_over(tenon: Tenon, tmp_path: Path) -> None:
    """Unless it is said; a folder, and a place that cannot be written, are refused, and nothing is left behind."""
    tenon.written("a fact")
    path = tmp_path / "kept.jsonl"
    path.write_text("mine", encoding="utf-8")

    assert (1, True) == ((refused := tenon("export", str(path))).code, "--force" in refused.err)
    assert "mine" == path.read_text(encoding="utf-8")
    assert 1 == tenon("export", str(tmp_path)).code
    assert 1 == tenon("export", str(tmp_path / "no" / "such" / "file")).code
    tenon.ok("export", str(path), "--force")
    assert {"tenon": "export", "version": 1} == {name: json.loads(path.read_text(encoding="utf-8").splitlines()[0])[name] for name in ("tenon", "version")}
    assert ["kept.jsonl"] == [name for name in os.listdir(tmp_path) if "jsonl" in name]


def test_an_export_is_of_the_repository_unless_all_is_wanted(tenon: Tenon, tmp_path: Path) -> None:
    """It says so; where nothing was ever kept it says what to do; and stdout has nothing but the lines."""
    tenon.written("a fact of this project")
    other = tmp_path / "other project"
    other.mkdir()
    assert 0 == tenon("write", "a fact of the other one", cwd=other).code

    here = tenon.ok("export").records
    assert ["a fact of this project"] == [record["text"] for record in here if record.get("record") == "memory"]
    assert len(here) == here[-1]["lines"]
    assert 2 == sum(record.get("record") == "memory" for record in tenon.ok("export", "--everywhere").records)
    third = tmp_path / "third"
    third.mkdir()
    assert (1, True) == ((refused := tenon("export", cwd=third)).code, "--everywhere" in refused.err)
    assert 1 == tenon("export", "--since", "yesterday").code
    assert 2 == tenon("export", "--json").code


def test_without_a_store_there_is_nothing_to_export(tenon: Tenon) -> None:
    """A sentence, and no store is made."""
    assert (1, True) == ((refused := tenon("export", "--everywhere")).code, "there is no memory yet" in refused.err)
    assert not (tenon.home / ".tenon").exists()


def test_what_cannot_be_used_is_told(tenon: Tenon, tmp_path: Path) -> None:
    """A broken line by its number, a newer format, a file that was cut off, one that is nothing that Tenon reads."""
    tenon.written("a fact")
    path = tmp_path / "export.jsonl"
    lines = tenon.ok("export", "--everywhere").out.splitlines()
    path.write_text("\n".join([lines[0], "{broken", *lines[1:-1]]) + "\n", encoding="utf-8")
    other = elsewhere(tenon, tmp_path)

    told = other("import", str(path))
    assert (1, True, True, True) == (told.code, "line 2: is no JSON object" in told.err, "cut off" in told.err, "1 memory" in told.out)
    path.write_text('{"tenon": "export", "version": 99}\n', encoding="utf-8")
    assert (1, True) == ((refused := other("import", str(path))).code, "newer Tenon" in refused.err)
    path.write_text("hello", encoding="utf-8")
    assert (1, True) == ((refused := other("import", str(path))).code, "no export of Tenon's" in refused.err)
    assert 2 == other("import", "--claude-mem", "--memory-md").code


def test_a_model_cannot_say_that_a_memory_is_its_users_word(tenon: Tenon, tmp_path: Path) -> None:
    """An export is imported from the user's own terminal alone."""
    tenon.written("a fact")
    path = tmp_path / "export.jsonl"
    tenon.ok("export", str(path))
    tenon.env["CLAUDECODE"] = "1"

    assert (1, True) == ((refused := tenon("import", str(path))).code, "terminal of your own" in refused.err)
    assert 0 == tenon("import", str(path), "--dry-run").code


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
def test_a_full_disk_is_said(tenon: Tenon) -> None:
    """With exit code 1, and no fault of Tenon's own."""
    import subprocess

    from tests.cli.conftest import DOOR, PYTHON

    tenon.written("a fact")
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [PYTHON, "-I", "-S", DOOR, "export"], stdout=full, stderr=subprocess.PIPE, cwd=tenon.project, env=tenon.environment(), check=False
        )
    assert (1, True) == (done.returncode, b"free some space" in done.stderr), done.stderr


def test_a_folder_that_is_not_there_is_no_full_disk(tenon: Tenon) -> None:
    """The reason and the way out are its own."""
    tenon.written("a fact")
    refused = tenon("export", str(tenon.home / "nope" / "x.jsonl"))

    assert (1, True, False) == (refused.code, "make its folder first" in refused.err, "free some space" in refused.err)
