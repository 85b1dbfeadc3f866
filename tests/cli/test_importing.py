"""`tenon import`: a dry run, an import, and the same again."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tenon.base.errors import TenonError
from tenon.cli import importing
from tests.cli.conftest import DOOR, PYTHON, Tenon


def talked(tenon: Tenon, *sessions: str) -> None:
    """Transcripts of sessions with a prompt and a reply each, and a sub-agent in the first."""
    for session in sessions:
        talk = tenon.talk(session)
        talk.prompt(f"question of {session} about the harbour")
        talk.reply(f"answer of {session}")
    tenon.talk(sessions[0]).subagent("abc").prompt("look at the harbour")


def test_a_dry_run_counts_and_makes_nothing(tenon: Tenon) -> None:
    """Not even a home."""
    talked(tenon, "s1", "s2")

    found = tenon.ok("import", "--dry-run", "--json").records[0]

    assert (3, 2, 0) == (found["files"], found["sessions"], found["already"])
    assert not (tenon.home / ".tenon").exists()
    assert "3 transcripts of 2 sessions to read" in tenon.ok("import", "--dry-run").out


def test_everything_is_brought_along_once(tenon: Tenon) -> None:
    """With a summary of each session; a second import adds nothing; what was added since is read on."""
    talked(tenon, "s1", "s2")

    first = tenon.ok("import", "--json").records[0]
    assert (5, 3, 2) == (first["turns"], first["files"], first["sessions"])
    assert "Nothing to bring along: 3 transcripts are read already." in tenon.ok("import").out
    assert 2 == len(list(tenon.ok("recall", "harbour", "--archive", "--json").records))
    assert {"summary", "turn"} <= set(tenon.ok("status", "--json").records[0]["last_seen"])
    talk = tenon.talk("s2")
    talk.count, talk.last = 100, f"{2:08d}-s2"
    talk.prompt("one more question about the harbour")
    assert 1 == tenon.ok("import", "--json").records[0]["turns"]


def test_it_says_what_plain_code_made_of_it(tenon: Tenon) -> None:
    """As data too; nothing where it made nothing."""
    talk = tenon.talk("s1")
    talk.prompt("Remember: the staging vault is green")
    talk.reply("I will.")
    told = tenon.ok("import").out
    talked(tenon, "s2")

    assert "Plain code made 1 memory of what was said there, short-term." in told
    assert 0 == tenon.ok("import", "--json").records[0]["memories"]


def test_a_part_is_brought_along(tenon: Tenon) -> None:
    """A project's folder, one transcript with its sub-agents, or only what is new."""
    talked(tenon, "s1", "s2")
    folder = tenon.home / ".claude" / "projects" / "-my-project"
    os.utime(folder / "s1.jsonl", (1_000_000_000, 1_000_000_000))

    assert 3 == tenon.ok("import", "--dry-run", "--json", str(folder)).records[0]["files"]
    assert 3 == tenon.ok("import", "--dry-run", "--json", str(tenon.home / ".claude")).records[0]["files"]
    assert 2 == tenon.ok("import", "--dry-run", "--json", str(folder / "s1.jsonl")).records[0]["files"]
    assert 2 == tenon.ok("import", "--dry-run", "--json", "--since", "2020-01-01").records[0]["files"]
    assert "there is no transcript since 2030-01-01" in tenon.ok("import", "--since", "2030-01-01").out
    assert 1 == tenon("import", str(tenon.project)).code
    assert 1 == tenon("import", "--since", "yesterday").code


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_an_interrupted_import_goes_on_where_it_was(tenon: Tenon) -> None:
    """Exit code 130, a sentence, and in the end every turn once."""
    for number in range(30):
        talk = tenon.talk(f"s{number}")
        talk.raw(b"".join(line(number, at) for at in range(400)))
    run = subprocess.Popen(
        [PYTHON, "-I", "-S", DOOR, "import"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tenon.project, env=tenon.environment()
    )  # fmt: skip
    wait_for(lambda: turns(tenon) > 100)
    run.send_signal(signal.SIGINT)
    _, told = run.communicate(timeout=180)

    assert (130, True) == (run.returncode, b"goes on from here" in told), told
    before = turns(tenon)
    rest = tenon.ok("import", "--json").records[0]
    assert (12_000, True) == (before + rest["turns"], before < 12_000)


def line(session: int, at: int) -> bytes:
    """A prompt's line of a transcript."""
    parent = f'"u{session}-{at - 1}"' if at else "null"
    told = f'"uuid":"u{session}-{at}","parentUuid":{parent},"cwd":"/p","timestamp":"2026-11-01T10:00:00Z"'
    return f'{{"type":"user",{told},"message":{{"role":"user","content":"prompt {at} of {session} {"word " * 50}"}}}}\n'.encode()


def turns(tenon: Tenon) -> int:
    """How many turns are in the archive."""
    import sqlite3

    path = tenon.home / ".tenon" / "agents" / "default" / "tenon.db"
    if not path.exists():
        return 0
    store = sqlite3.connect(str(path), timeout=10)
    try:
        return int(store.execute("SELECT count(*) FROM turn").fetchone()[0])
    except sqlite3.OperationalError:
        return 0
    finally:
        store.close()


def wait_for(condition: object) -> None:
    """Comes back when the condition holds, within half a minute."""
    end = time.monotonic() + 30
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < end
        time.sleep(0.005)


def test_a_path_leads_to_claude_code_s_folder(tmp_path: Path) -> None:
    """From the folder itself, or from anything in its projects."""
    project = tmp_path / "projects" / "-a"
    project.mkdir(parents=True)
    home = os.path.realpath(tmp_path)

    assert (home, "") == importing.located(str(tmp_path))
    assert (home, "") == importing.located(str(tmp_path / "projects"))
    assert (home, os.path.realpath(project)) == importing.located(str(project))
    with pytest.raises(TenonError, match="holds no transcripts"):
        importing.located(str(tmp_path / "nowhere"))
