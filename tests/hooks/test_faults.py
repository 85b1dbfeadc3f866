"""Whatever breaks in us, the prompt goes on: exit 0, nothing or valid JSON on stdout, and `doctor` can see it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tenon.base import faults, paths
from tenon.store import db, memories
from tests.hooks.conftest import HOOK

EVENTS = ("UserPromptSubmit", "SessionStart", "UserPromptExpansion", "Stop", "SubagentStop", "PreCompact", "SessionEnd")
PROMPT = "what is our retry budget, quokka?"


def harmless(fired: object) -> None:
    """Exit 0, nothing on stderr, no word that could stop the host."""
    assert (0, "") == (fired.code, fired.errors)  # type: ignore[attr-defined]
    assert "decision" not in fired.answer  # type: ignore[attr-defined]
    assert "permissionDecision" not in fired.output  # type: ignore[attr-defined]


@pytest.fixture
def seeded(store, repository) -> str:
    """A store with a memory; its path."""
    memories.write(store, repository=repository, tier="short", kind="fact", text="The retry budget of quokka is seven.", now=1.0)
    store.close()
    return str(store.path)


@pytest.mark.parametrize("event", EVENTS)
@pytest.mark.parametrize("raw", [b"", b"{", b"[]", b"null", b"not json", b'{"hook_event_name": 7}', b"\xff\xfe\x00", b'{"hook_event_name": "Nope"}'])
def test_a_broken_event_is_survived(fire, event, raw):
    """Whatever stands on stdin."""
    harmless(fire(event, raw=raw))


@pytest.mark.parametrize("event", EVENTS)
@pytest.mark.parametrize("transcript", ["missing.jsonl", "folder", "unreadable", "empty.jsonl", "garbled.jsonl", "\0", ""])
def test_a_transcript_that_cannot_be_read_is_survived(fire, seeded, project, event, transcript):
    """Missing, a folder, empty, garbled: the session goes on."""
    (project / "folder").mkdir()
    (project / "empty.jsonl").write_bytes(b"")
    (project / "garbled.jsonl").write_bytes(b'{"type": "user"\n\xff\xff\n{}\n[]\n' + b"x" * 100)
    (project / "unreadable").write_bytes(b"{}\n")
    (project / "unreadable").chmod(0)
    harmless(fire(event, prompt=PROMPT, transcript_path=str(project / transcript) if transcript else "", source="startup", reason="other"))


@pytest.mark.parametrize("event", EVENTS)
@pytest.mark.parametrize("damage", ["garbage", "truncated", "folder", "newer", "empty", "no home"])
def test_a_damaged_store_is_survived_and_named(fire, seeded, project, event, damage):
    """The event is answered without us; the faults stand in the log."""
    store = Path(seeded)
    if damage == "garbage":
        store.write_bytes(b"this is not a database" * 400)
    elif damage == "truncated":
        store.write_bytes(store.read_bytes()[:20_000])
    elif damage == "folder":
        store.unlink()
        store.mkdir()
    elif damage == "newer":
        with db.open_store(seeded) as opened:
            opened.execute("PRAGMA user_version = 99")
    elif damage == "empty":
        store.write_bytes(b"")
    else:
        shutil.rmtree(paths.home())
        Path(paths.home()).write_text("a file where the home should be")
    before = store.read_bytes() if damage == "newer" else b""
    transcript = project / "session-1.jsonl"
    transcript.write_text(
        json.dumps({"type": "user", "uuid": "u1", "parentUuid": None, "message": {"role": "user", "content": "hello"}, "cwd": str(project)}) + "\n"
    )
    harmless(fire(event, prompt=PROMPT, transcript_path=str(transcript), source="startup", reason="other"))
    if damage == "newer":
        assert before == store.read_bytes()
    if damage in ("garbage", "newer") and event != "UserPromptExpansion":
        assert event in {str(fault["door"]) for fault in faults.recent()}


def test_a_locked_store_costs_a_prompt_its_journal_and_nothing_else(fire, seeded):
    """Another process writes: recall still answers, at once."""
    with db.open_store(seeded) as writer:
        writer.execute("BEGIN IMMEDIATE")
        fired = fire("UserPromptSubmit", prompt=PROMPT)
        writer.execute("ROLLBACK")
    assert "seven" in fired.context
    assert ["UserPromptSubmit"] == [fault["door"] for fault in faults.recent()]


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="needs a user that permissions bind")
def test_a_store_that_may_only_be_read_is_read(fire, seeded):
    """A read-only home still answers."""
    for folder, _, names in os.walk(paths.home()):
        os.chmod(folder, 0o500)
        for name in names:
            os.chmod(os.path.join(folder, name), 0o400)
    assert "seven" in fire("UserPromptSubmit", prompt=PROMPT).context


@pytest.mark.skipif(sys.platform != "linux" or os.geteuid() != 0 or not shutil.which("mount"), reason="needs root to mount")
@pytest.mark.parametrize("options", ["ro", "full"])
def test_a_read_only_or_full_disk_is_survived(fire, seeded, tmp_path, options):
    """Nothing fails, nothing waits; on a read-only disk recall still answers; a session is told once."""
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=6m", "tmpfs", str(disk)], capture_output=True, check=False).returncode:
        pytest.skip("mounting is not allowed here")
    try:
        shutil.copytree(paths.home(), disk / "tenon")
        if options == "full":
            with open(disk / "filler", "wb", buffering=0) as file:
                try:
                    while True:
                        file.write(b"x" * 4096)
                except OSError:
                    pass
        else:
            subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        env = {"TENON_HOME": str(disk / "tenon")}
        for event in EVENTS:
            fired = fire(event, prompt=PROMPT, source="startup", reason="other", session_id=f"s-{event}", env=env)
            harmless(fired)
            if options == "ro" and event in ("UserPromptSubmit", "SessionStart"):
                assert "seven" in fired.context
            if options == "ro" and event == "SessionStart":
                assert fired.answer["systemMessage"].startswith("Tenon cannot remember this session:")
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=False)


def test_an_open_stdin_does_not_hang_a_prompt(seeded, project):
    """The event is answered as soon as it is whole, though the other end stays open."""
    process = subprocess.Popen([sys.executable, "-I", "-S", str(HOOK)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=project)
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps({"hook_event_name": "UserPromptSubmit", "session_id": "s", "cwd": str(project), "prompt": PROMPT}).encode())
    process.stdin.flush()
    assert b"seven" in process.stdout.read()
    assert 0 == process.wait(30)
    process.stdin.close()
    process.stdout.close()


def test_a_stdin_that_never_speaks_ends_the_hook(project):
    """The hook ends by itself and notes it."""
    process = subprocess.Popen([sys.executable, "-I", "-S", str(HOOK)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=project)
    assert process.stdout is not None
    assert b"" == process.stdout.read()
    assert 0 == process.wait(30)
    assert "TimeoutError" == faults.recent()[0]["error"]
    assert process.stdin is not None
    process.stdin.close()
    process.stdout.close()


def test_a_hundred_faults_in_a_row_change_nothing(fire, seeded):
    """No counter flips: the hundredth prompt is treated as the first, and all of it stands in the log."""
    Path(seeded).write_bytes(b"garbage" * 1000)
    assert {(0, "", "")} == {(fired.code, fired.output, fired.errors) for fired in (fire("UserPromptSubmit", prompt=PROMPT) for _ in range(100))}
    assert 100 == len(faults.recent(1000))


def test_an_old_python_says_once_what_is_missing(project):
    """The entry can be read by any Python; one that is too old tells the user at the session's start."""
    code = HOOK.read_text(encoding="utf-8").replace("sys.version_info < (3, 9)", "sys.version_info < (99, 0)").replace("range(20, 8, -1)", "range(0)")
    old = project / "hooks" / "hook.py"
    old.parent.mkdir()
    old.write_text(code, encoding="utf-8")

    def said(event: str) -> str:
        given = json.dumps({"hook_event_name": event})
        return subprocess.run([sys.executable, "-I", "-S", str(old)], input=given, capture_output=True, text=True, check=True).stdout

    assert "Tenon needs Python 3.9 or newer" in json.loads(said("SessionStart"))["systemMessage"]
    assert "" == said("UserPromptSubmit")


@pytest.mark.parametrize(
    "python",
    sorted(Path.home().joinpath(".pyenv", "versions").glob("*/bin/python")) if (Path.home() / ".pyenv").exists() else [],
    ids=lambda path: path.parts[-3],
)
def test_the_entry_can_be_read_by_every_python_of_this_machine(python, project):
    """Also one that cannot run Tenon ends with 0 and without noise."""
    given = json.dumps({"hook_event_name": "SessionStart", "session_id": "s", "cwd": str(project), "source": "startup"})
    done = subprocess.run([str(python), "-S", str(HOOK)], input=given, capture_output=True, text=True, env={**os.environ, "PATH": ""}, check=False)
    assert (0, "") == (done.returncode, done.stderr)


def test_what_the_user_has_in_the_folder_is_not_executed(fire, seeded, project):
    """A json.py or sqlite3.py in the project, and a PYTHONPATH, mean nothing to a hook."""
    for name in ("json.py", "sqlite3.py", "os.py", "tenon.py"):
        (project / name).write_text("raise SystemExit('executed')")
    fired = fire("UserPromptSubmit", prompt=PROMPT, env={"PYTHONPATH": str(project)})
    assert "seven" in fired.context
