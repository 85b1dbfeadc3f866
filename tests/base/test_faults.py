"""Faults that a door survived: one line each, found again newest first, and never a fault themselves."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from tenon.base import faults, paths


def raised(message: str = "it broke") -> Exception:
    """An error that was raised somewhere."""
    try:
        raise ValueError(message)
    except ValueError as error:
        return error


def test_a_fault_says_when_where_and_what() -> None:
    """The door, the kind of error, what it said, the place in the code, and what was being done."""
    faults.note("UserPromptSubmit", raised(), "while recalling")
    fault = faults.recent()[0]
    assert ("UserPromptSubmit", "ValueError", "it broke", "while recalling") == tuple(fault[name] for name in ("door", "error", "said", "detail"))
    assert str(fault["place"]).startswith("test_faults.py:")
    assert isinstance(fault["at"], int)


def test_the_newest_fault_comes_first() -> None:
    """And no more than asked."""
    for number in range(5):
        faults.note("mcp", raised(f"number {number}"))
    assert ["number 4", "number 3"] == [fault["said"] for fault in faults.recent(2)]


@pytest.mark.parametrize("message", ['"quotes" and \\', "two\nlines", "é 設定 🦓", "half a pair \ud800", "\0", "x" * 5000])
def test_whatever_an_error_says_is_one_line(message: str) -> None:
    """Of ASCII, cut to three hundred characters."""
    faults.note("mcp", raised(message))
    data = Path(paths.faults_path()).read_bytes()
    assert (1, True) == (data.count(b"\n"), data.isascii())
    assert message[:300].encode("utf-8", "replace").decode() == faults.recent()[0]["said"]


def test_an_error_that_was_never_raised_has_no_place() -> None:
    """And is noted all the same."""
    faults.note("mcp", KeyError("x"))
    assert ("KeyError", "") == (faults.recent()[0]["error"], faults.recent()[0]["place"])


def test_no_faults_is_an_empty_list_and_clearing_twice_is_clearing_once() -> None:
    """A garbled line is left out."""
    assert [] == faults.recent()
    faults.clear()
    faults.note("mcp", raised("first"))
    with open(paths.faults_path(), "ab") as file:
        file.write(b"\xff garbled {\n[1]\n")
    faults.note("mcp", raised("last"))
    assert ["last", "first"] == [fault["said"] for fault in faults.recent()]
    faults.clear()
    faults.clear()
    assert [] == faults.recent()


def test_of_a_log_that_grew_the_older_half_goes() -> None:
    """It never grows without bound, and no line is cut."""
    for number in range(1200):
        faults.note("mcp", raised(f"number {number} " + "x" * 280))
    assert os.path.getsize(paths.faults_path()) < faults.LARGEST + 1000
    found = faults.recent(10_000)
    assert ("number 1199", 200 < len(found) < 600) == (str(found[0]["said"])[:11], True)
    assert all(line.startswith(b"{") and line.endswith(b"}\n") for line in Path(paths.faults_path()).read_bytes().splitlines(keepends=True))


def test_eight_threads_lose_no_line() -> None:
    """Each line is written at once."""
    threads = [threading.Thread(target=lambda: [faults.note("mcp", raised()) for _ in range(20)]) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert 160 == len(faults.recent(1000))


@pytest.mark.skipif(os.name != "posix", reason="modes are those of POSIX")
def test_the_log_is_for_its_owner() -> None:
    """As everything is that Tenon keeps."""
    faults.note("mcp", raised())
    assert 0o600 == os.stat(paths.faults_path()).st_mode & 0o777


def test_a_fault_that_cannot_be_noted_is_no_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file stands where the home should be; a folder where the log should be."""
    (tmp_path / "file").write_text("x", encoding="utf-8")
    monkeypatch.setenv("TENON_HOME", str(tmp_path / "file"))
    faults.note("mcp", raised())
    assert [] == faults.recent()
    monkeypatch.setenv("TENON_HOME", str(tmp_path / "home"))
    Path(paths.faults_path()).mkdir(parents=True)
    faults.note("mcp", raised())
    assert [] == faults.recent()
