"""Lines that are too much for a hook, files that are not what they were, and folders that a line does not name."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tenon.base.lean import sqlite
from tenon.digest import capture, importing, lines, projects
from tenon.store import archive, exchanges, feeds
from tenon.store.db import Store
from tests.fakes.transcripts import Transcript

LONG = "word " * 60_000


def take(store: Store, talk: Transcript, *, budget_s: float = 60, name: str = "") -> capture.Report:
    """One capture of the transcript."""
    return capture.capture(store, talk.path, session_name=name or talk.session, folder=talk.folder, now=2e9, budget_s=budget_s)


def bring(store: Store, talk: Transcript) -> capture.Report:
    """What an import of the one transcript gives."""
    path = os.path.realpath(talk.path)
    file = importing.File(path, talk.session, "", os.path.getsize(path), feeds.position(store, path)[0], 0.0)
    return importing.run(store, [file], on_progress=lambda *_: None, now_fn=lambda: 2e9)


def told(store: Store, session: str = "s1") -> list[tuple[str, str]]:
    """Kind and the beginning of the text of a session's turns."""
    return [(turn.kind, turn.text()[:12]) for turn in exchanges.session_turns(store, exchanges.session_number(store, session) or 0)]


def notes(store: Store, talk: Transcript) -> tuple[int, int]:
    """Tries of the line at the position, and up to which byte it was passed over."""
    return feeds.notes(store, os.path.realpath(talk.path))[1:]


def kill(store: Store, talk: Transcript, monkeypatch: pytest.MonkeyPatch) -> None:
    """A capture whose process ends while it is at the long line, as a hook's does that is out of time."""
    real = archive.append

    def ended(store: Store, number: int, repository: int, rows: Any) -> Any:
        kept = list(rows)
        if any(len(str(row.content)) > capture.LONG_BYTES for row in kept):
            raise SystemExit
        return real(store, number, repository, kept)

    with monkeypatch.context() as patch:
        patch.setattr(archive, "append", ended)
        with pytest.raises(SystemExit):
            take(store, talk)


def unnamed(talk: Transcript, text: str, **more: Any) -> None:
    """A prompt without uuid, parent and time."""
    talk.bare("user", message={"role": "user", "content": text}, cwd=talk.folder, **more)


def test_a_line_that_was_tried_twice_is_left_out(store: Store, talk: Transcript, monkeypatch: pytest.MonkeyPatch) -> None:
    """It stands there as a sentence, and the turns around it are kept."""
    talk.prompt("one")
    first = os.path.getsize(talk.path)
    talk.prompt(LONG)
    talk.reply("two")
    kill(store, talk, monkeypatch)
    assert [("prompt", "one")] == told(store)
    assert (1, 0) == notes(store, talk)
    kill(store, talk, monkeypatch)
    assert (2, 0) == notes(store, talk)

    report = take(store, talk)

    assert (2, 1, True) == (report.new, report.left_out, report.finished)
    assert [("prompt", "one"), ("other", "[left out: a"), ("reply", "two")] == told(store)
    text = list(exchanges.session_turns(store, 1))[1].text()
    assert text == f"[left out: a line of 0.3 MB at byte {first} of {os.path.realpath(talk.path)}, given up after 2 tries]"
    assert (0, 0) == notes(store, talk)
    assert [(os.path.realpath(talk.path), 1)] == feeds.left_out(store)

    store.execute("UPDATE feed SET offset = 0")
    assert (0, 1) == (take(store, talk).new, bring(store, talk).left_out + 1)
    assert 3 == len(told(store))


def test_a_line_that_got_through_is_not_noted(store: Store, talk: Transcript, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second try was enough; the next long line begins with none."""
    talk.prompt(LONG)
    kill(store, talk, monkeypatch)
    assert 1 == take(store, talk).new
    assert (0, 0) == notes(store, talk)

    talk.reply(LONG)
    kill(store, talk, monkeypatch)
    assert (1, 0) == notes(store, talk)
    assert (1, 0) == (take(store, talk).new, take(store, talk).left_out)


def test_an_import_works_on_a_line_that_hooks_did_not_get_through(store: Store, talk: Transcript, monkeypatch: pytest.MonkeyPatch) -> None:
    """As long as no hook has left it out."""
    talk.prompt(LONG)
    kill(store, talk, monkeypatch)
    kill(store, talk, monkeypatch)

    report = bring(store, talk)

    assert (1, 0, True) == (report.new, report.left_out, report.finished)
    assert [("prompt", "word word wo")] == told(store)


def test_a_start_does_not_touch_a_line_that_was_tried(store: Store, talk: Transcript, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the transcript nor one whose sub-agent's file has such a line; once it is dealt with, they are caught up."""
    talk.prompt(LONG)
    folder = os.path.dirname(talk.path)
    kill(store, talk, monkeypatch)
    assert [] == projects.grown(store, folder, ())
    assert 0 == capture.catch_up(store, folder, now=2e9, budget_s=60).lines
    take(store, talk)
    talk.reply("two")
    assert 1 == capture.catch_up(store, folder, now=2e9, budget_s=60).new

    agent = talk.subagent("abc")
    agent.prompt(LONG)
    kill(store, talk, monkeypatch)
    assert [] == projects.grown(store, folder, ())


def test_a_busy_store_is_no_try(store: Store, talk: Transcript, monkeypatch: pytest.MonkeyPatch) -> None:
    """The line is not to blame for another process."""
    talk.prompt(LONG)

    def busy(*_: Any) -> Any:
        raise sqlite.OperationalError("database is locked")

    with monkeypatch.context() as patch:
        patch.setattr(archive, "append", busy)
        assert "another process" in take(store, talk).problem
    assert (0, 0) == notes(store, talk)
    assert 1 == take(store, talk).new


def test_a_line_that_no_time_is_enough_for_is_passed_over_bit_by_bit(store: Store, talk: Transcript) -> None:
    """Each capture goes on from where the last one came to, and what follows is kept."""
    talk.prompt("one")
    first = os.path.getsize(talk.path)
    talk.raw(b'{"type":"user","message":{"content":"' + b"x" * 9_000_000)
    reached = []
    for _ in range(2):
        take(store, talk)
        reached.append(notes(store, talk)[1] - first)
        with open(talk.path, "r+b") as file:  # would be the end of the line, if it were read again
            file.seek(first + 100)
            file.write(b"\n")
        talk.raw(b"x" * 1_000_000)
    talk.raw(b'"}}\n')
    talk.reply("two")
    report = take(store, talk)

    assert [9_000_037, 10_000_037] == reached
    assert (2, 1, True) == (report.new, report.left_out, report.finished)
    assert [("prompt", "one"), ("other", "[left out: a"), ("reply", "two")] == told(store)
    assert f"a line of 11.0 MB at byte {first} of" in list(exchanges.session_turns(store, 1))[1].text()
    assert (0, 0) == notes(store, talk)


def test_however_little_time_there_is_a_line_is_read(tmp_path: Path) -> None:
    """One that is kept as a whole, one that is too long by a piece at a time."""
    path = tmp_path / "file"
    path.write_bytes(b"a" * 3_000_000 + b"\n" + b"b" * 7_000_000 + b"\nc\n")

    def part(start: int, skipped: int = 0) -> tuple[list[tuple[int, int]], int]:
        with open(path, "rb", buffering=0) as file:
            some = lines.Lines(file, start, lambda: True, skipped)
            return [(line.first, line.after) for line in some], some.reached

    assert ([(0, 3_000_001)], 0) == part(0)
    start, reached, seen = 3_000_001, 0, []
    while True:
        found, now = part(start, reached)
        if found:
            break
        assert now > reached
        reached = now
        seen.append(reached)
    assert [8_242_881, 9_291_457] == seen
    assert [(3_000_001, 10_000_002), (10_000_002, 10_000_004)] == found


def test_what_was_passed_over_and_is_another_file_now_is_read_anew(store: Store, talk: Transcript) -> None:
    """Nothing of the new file is lost."""
    talk.raw(b"x" * 6_000_000)
    take(store, talk)
    assert (0, 6_000_000) == notes(store, talk)
    with open(talk.path, "r+b") as file:
        file.truncate(0)
    talk.prompt("one")
    talk.raw(b"y" * 6_000_000 + b"\n")
    take(store, talk)

    assert [("prompt", "one"), ("other", "[left out: a")] == told(store)


def test_an_import_that_gets_nowhere_stops_with_a_sentence(store: Store, talk: Transcript, monkeypatch: pytest.MonkeyPatch) -> None:
    """And goes on with the next file."""
    talk.prompt("one")
    monkeypatch.setattr(importing, "SLICE_S", 0)

    assert f"{os.path.realpath(talk.path)} is not read to its end yet; the next `tenon import` goes on with it" == bring(store, talk).problem


def test_lines_without_uuid_are_known_again(store: Store, talk: Transcript) -> None:
    """In a replaced file and under another name; the same word said thrice stays three turns."""
    for text in ("one", "yes", "two", "yes", "yes"):
        unnamed(talk, text)
    unnamed(talk, "three", timestamp="2026-11-30T07:24:57.823Z")
    for _ in range(3):
        take(store, talk)
        Path(talk.path + ".new").write_bytes(Path(talk.path).read_bytes())
        os.replace(talk.path + ".new", talk.path)
    os.link(talk.path, os.path.join(os.path.dirname(talk.path), "s9.jsonl"))
    capture.capture_file(store, os.path.join(os.path.dirname(talk.path), "s9.jsonl"), now=2e9, budget_s=60)

    assert [("prompt", text) for text in ("one", "yes", "two", "yes", "yes", "three")] == told(store)
    assert 6 == store.value("SELECT count(*) FROM turn")


def test_a_file_rewritten_in_place_is_read_anew(store: Store, talk: Transcript) -> None:
    """Same file, longer, and a newline at the old position."""
    for text in ("alpha 1", "alpha 2"):
        unnamed(talk, text)
    take(store, talk)
    with open(talk.path, "r+b") as file:
        file.write(Path(talk.path).read_bytes().replace(b"alpha", b"bravo"))
    unnamed(talk, "bravo 3")
    take(store, talk)

    assert [("prompt", text) for text in ("alpha 1", "alpha 2", "bravo 1", "bravo 2", "bravo 3")] == told(store)


def test_a_line_without_a_folder_was_written_where_the_one_before_was(store: Store, talk: Transcript, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also when the one before was read by an earlier capture."""
    monkeypatch.setenv("TENON_ARCHIVE_EXCLUDE", str(project / "private"))

    def begun() -> None:
        capture.capture(store, talk.path, session_name="s1", folder=str(project), now=2e9, budget_s=60)

    talk.prompt("one")
    talk.reply("two", cwd=None)
    talk.folder = str(project / "private")
    talk.prompt("SECRET")
    talk.reply("SECRET", cwd=None)
    begun()
    talk.prompt("SECRET", cwd=None)
    talk.raw(b"x" * 5_000_000 + b"\n")
    begun()
    talk.folder = str(project)
    talk.prompt("three")
    begun()

    assert [("prompt", "one"), ("reply", "two"), ("prompt", "three")] == told(store)


@pytest.mark.parametrize("where", ["first line", "later line", "name", "nothing"])
def test_an_excluded_session_is_not_imported(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str) -> None:
    """Whether its first line says the folder, a later one does, only the project's name, or nothing at all."""
    private = tmp_path / "pri.vate"
    monkeypatch.setenv("TENON_ARCHIVE_EXCLUDE", str(private))
    name = "".join(letter if letter.isascii() and letter.isalnum() else "-" for letter in str(private))
    talk = Transcript(str(tmp_path / "projects" / {"name": name, "nothing": "x"}.get(where, "-x") / "s1.jsonl"), folder=str(private / "below"))
    agent = talk.subagent("abc")
    for number in range(4):
        says = where == "first line" and number == 0 or where == "later line" and number == 2
        talk.prompt(f"SECRET {number}", cwd=talk.folder if says else None)
        agent.prompt(f"SECRET {number}", cwd=None)
    Transcript(str(tmp_path / "projects" / "-y" / "s2.jsonl")).prompt("kept", cwd=None)
    plan = importing.plan(store, str(tmp_path))
    report = importing.run(store, plan.files, on_progress=lambda *_: None, now_fn=lambda: 2e9)

    assert (1, True, "") == (report.new, report.finished, report.problem)
    assert [("prompt", "kept")] == told_of(store)
    assert [] == importing.plan(store, str(tmp_path)).files


def told_of(store: Store) -> list[tuple[str, str]]:
    """Kind and text of every turn there is."""
    return [(str(kind), str(json.loads(content)[0]["text"])) for kind, content in store.rows("SELECT kind, content FROM turn ORDER BY id")]
