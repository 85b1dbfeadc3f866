"""What killed writers leave is known by its name and its process, and nothing else is."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tenon.world import leavings

OURS = (
    "proxy-on.json.{}",
    "install.json.{}",
    "proxy.json.{}",
    "deleted.json.{}",
    "interpreter.json.{}",
    "guard.py.{}",
    "settings.json.{}.new",
    "proxy-direct.tenon-guard-{}",
    "bin/tenon.{}",
)
BESIDE = ("settings.json.tenon-{}", "settings.json.tenon-guard-{}")
NOT_OURS = ("settings.json.{}", "settings.json.bak", "install.json.20261130", "notes.json.{}", "proxy-on.json", "settings.json.tenon-20261130", "code-{}.json")


@pytest.fixture
def gone() -> int:
    """The number of a process that has ended."""
    process = subprocess.Popen([sys.executable, "-I", "-S", "-c", ""])
    process.wait()
    return process.pid


def made(folder: Path, names: tuple[str, ...], pid: int) -> list[str]:
    """Files of those names, old enough for a system that cannot be asked for a process."""
    paths = [folder / name.format(pid) for name in names]
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("{}", encoding="utf-8")
        os.utime(path, (1, 1))
    return sorted(map(str, paths))


def test_they_are_found_in_both_places_and_removed(tmp_path: Path, gone: int) -> None:
    """Beside the settings' own file, where that is a link; what is anybody else's stays."""
    home, dotfiles, claude = tmp_path / "tenon é", tmp_path / "dot files", tmp_path / "claude"
    expected = sorted(made(home, OURS, gone) + made(dotfiles, BESIDE, gone))
    others = made(home, NOT_OURS, gone) + made(dotfiles, NOT_OURS, gone) + made(claude, NOT_OURS, gone)
    settings = str(claude / "settings.json")
    (dotfiles / "settings.json").write_text("{}", encoding="utf-8")
    try:
        os.symlink(dotfiles / "settings.json", settings)
    except OSError:
        settings = str(dotfiles / "settings.json")
    found = leavings.found(str(home), [settings, settings])

    assert list(map(os.path.realpath, expected)) == list(map(os.path.realpath, found))
    assert found == leavings.remove(found)
    assert [] == leavings.found(str(home), [settings]) + leavings.remove(found)
    assert [True] * len(others) == [os.path.exists(path) for path in others]


def test_those_of_a_writer_at_work_are_let_be(tmp_path: Path) -> None:
    """Its process is there; where that cannot be asked, the file is fresh."""
    for path in made(tmp_path, OURS + BESIDE, os.getpid()):
        os.utime(path)

    assert [] == leavings.found(str(tmp_path), [str(tmp_path / "settings.json")])


def test_folders_that_are_not_there_hold_nothing(tmp_path: Path) -> None:
    """Before anything was installed."""
    assert [] == leavings.found(str(tmp_path / "none"), [str(tmp_path / "no" / "settings.json")])
