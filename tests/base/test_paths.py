"""Where Tenon keeps things: one home, owner-only, real folders."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tenon.base import paths
from tenon.base.errors import TenonError

posix = pytest.mark.skipif(os.name != "posix", reason="modes and links are those of POSIX")


def test_the_home_is_the_named_one_or_the_users(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An absolute path, whatever was said; every other place is inside."""
    monkeypatch.delenv("TENON_HOME")
    assert os.path.join(os.path.expanduser("~"), ".tenon") == paths.home()
    monkeypatch.setenv("TENON_HOME", "~/a b é")
    assert os.path.join(os.path.expanduser("~"), "a b é") == paths.home()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TENON_HOME", "here")
    home = str(tmp_path.resolve() / "here")
    assert home == os.path.realpath(paths.home())
    assert all(
        path.startswith(paths.home() + os.sep) for path in (paths.store_path("default"), paths.settings_path(), paths.faults_path(), paths.agent_folder("x"))
    )


def test_the_agent_is_the_chosen_one_the_environments_or_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    """In that order."""
    assert "default" == paths.agent_name()
    monkeypatch.setenv("TENON_AGENT", "ada")
    assert ("ada", "bob") == (paths.agent_name(), paths.agent_name("bob"))


@pytest.mark.parametrize("name", ["a", "ada-2_x", "0", "x" * 40])
def test_a_name_that_is_a_folder_everywhere_is_an_agents(name: str) -> None:
    """Short, lower-case."""
    assert name == paths.agent_name(name)


@pytest.mark.parametrize("name", ["Ada", "../x", "a/b", "a\\b", ".", "-a", "_a", "a b", "é", "x" * 41, "a\0", "CON:", "a."])
def test_a_name_that_could_be_no_folder_is_refused(name: str) -> None:
    """With what a name may have."""
    with pytest.raises(TenonError, match="use up to 40 of a-z, 0-9, - and _"):
        paths.agent_name(name)


def test_claudes_home_is_the_named_one_or_the_users(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """As Claude Code has it."""
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path))
    assert str(tmp_path) == paths.claude_home()
    monkeypatch.delenv("CLAUDE_CONFIG_DIR")
    assert os.path.join(os.path.expanduser("~"), ".claude") == paths.claude_home()


@posix
def test_what_is_made_is_for_the_owner_only() -> None:
    """Whatever the umask, and a folder of Tenon's own that others could read is closed; what is above stays as it is."""
    above = Path(paths.home()).parent
    above.chmod(0o755)
    old = os.umask(0)
    try:
        paths.make_private(paths.agent_folder("ada"))
    finally:
        os.umask(old)
    made = [paths.agent_folder("ada"), os.path.dirname(paths.agent_folder("ada")), paths.home()]
    assert [0o700] * 3 == [os.stat(path).st_mode & 0o777 for path in made]
    os.chmod(paths.home(), 0o755)  # noqa: S103 - as somebody may have left it
    paths.make_private(paths.agent_folder("ada"))
    assert (0o700, 0o755) == (os.stat(paths.home()).st_mode & 0o777, above.stat().st_mode & 0o777)


@posix
def test_a_link_inside_the_home_is_refused_and_the_home_itself_may_be_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody redirects a store; a home on another disk is the user's own choice."""
    real = tmp_path / "real"
    real.mkdir(mode=0o700)
    (tmp_path / "linked").symlink_to(real)
    monkeypatch.setenv("TENON_HOME", str(tmp_path / "linked"))
    paths.make_private(paths.agent_folder("ada"))
    assert (real / "agents" / "ada").is_dir()
    (real / "agents" / "eve").symlink_to(tmp_path)
    with pytest.raises(TenonError, match="is a symbolic link; Tenon keeps its store in a real folder"):
        paths.make_private(paths.agent_folder("eve"))


def test_a_folder_that_cannot_be_made_is_told_with_the_way_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file stands in the way."""
    (tmp_path / "file").write_text("x", encoding="utf-8")
    monkeypatch.setenv("TENON_HOME", str(tmp_path / "file"))
    with pytest.raises(TenonError, match=r"cannot be made .*set TENON_HOME to a folder you may write"):
        paths.make_private(paths.agent_folder("ada"))
