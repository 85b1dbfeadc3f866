"""The digest of files: by their contents, from the root, inside it, and bounded."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tenon.base.errors import TenonError
from tenon.store import contents

HELLO = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"  # sha256 of «hello»
links = pytest.mark.skipif(sys.platform == "win32", reason="symbolic links need a privilege there")


@pytest.fixture()
def root(tmp_path: Path) -> Path:
    """A repository's files."""
    folder = tmp_path / "my prøject"
    (folder / "src" / "deep").mkdir(parents=True)
    (folder / "Makefile").write_bytes(b"hello")
    (folder / "src" / "a.py").write_bytes(b"one")
    (folder / "src" / "deep" / "b é.py").write_bytes(b"two")
    return folder


def test_a_file_is_known_by_its_contents(root: Path) -> None:
    """Not by its time; what is not there is missing."""
    os.utime(root / "Makefile", (1, 1))

    assert HELLO == contents.contents(str(root), "Makefile")
    assert "MISSING" == contents.contents(str(root), "nothing/here.py")


def test_the_digest_changes_with_any_file_and_comes_back(root: Path) -> None:
    """The same contents give the same digest, in whatever order the paths are named."""
    paths = ["Makefile", "src/a.py", "later.py"]
    before = contents.digest(str(root), paths)
    (root / "src" / "a.py").write_bytes(b"changed")
    changed = contents.digest(str(root), paths)
    (root / "src" / "a.py").write_bytes(b"one")
    (root / "later.py").write_bytes(b"")

    assert 3 == len({before, changed, contents.digest(str(root), paths)})
    (root / "later.py").unlink()
    assert before == contents.digest(str(root), list(reversed(paths)) + ["Makefile"])


def test_a_folder_is_the_names_and_contents_of_its_files(root: Path) -> None:
    """At any depth: a change, a new file and a new name all show, an empty folder does not."""
    digests = [contents.contents(str(root), "src")]
    (root / "src" / "deep" / "b é.py").write_bytes(b"changed")
    digests.append(contents.contents(str(root), "src"))
    (root / "src" / "new.py").write_bytes(b"")
    digests.append(contents.contents(str(root), "src"))
    (root / "src" / "new.py").rename(root / "src" / "newer.py")
    digests.append(contents.contents(str(root), "src"))
    (root / "src" / "empty").mkdir()

    assert 4 == len(set(digests))
    assert digests[-1] == contents.contents(str(root), "src") == contents.contents(str(root), "src")


def test_what_tools_make_does_not_count(root: Path) -> None:
    """Running a program in the repository, or a commit, changes no digest."""
    before = contents.contents(str(root), ".")
    for made in (".git", "src/__pycache__", "node_modules"):
        (root / made).mkdir()
        (root / made / "x").write_bytes(b"x")

    assert before == contents.contents(str(root), ".")


def test_the_current_folder_does_not_count(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever Tenon is started."""
    before = contents.digest(str(root), ["Makefile", "src"])
    monkeypatch.chdir(root / "src")

    assert before == contents.digest(str(root), ["Makefile", "src"])


def test_a_copy_elsewhere_has_the_same_digest(root: Path, tmp_path: Path) -> None:
    """As a worktree of the same commit has."""
    copy = tmp_path / "copy"
    (copy / "src" / "deep").mkdir(parents=True)
    for name in ("Makefile", "src/a.py", "src/deep/b é.py"):
        (copy / name).write_bytes((root / name).read_bytes())
        os.utime(copy / name, (1, 1))

    assert contents.digest(str(root), ["Makefile", "src"]) == contents.digest(str(copy), ["Makefile", "src"])


def test_what_is_too_much_to_read_is_known_by_size_and_time(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond so many bytes, or so many files."""
    os.utime(root / "Makefile", ns=(5, 7_000_000_000))
    monkeypatch.setattr(contents, "MOST_BYTES", 4)
    assert "5 7000000000" == contents.contents(str(root), "Makefile")

    monkeypatch.setattr(contents, "MOST_BYTES", 1000)
    monkeypatch.setattr(contents, "MOST_FILES", 1)
    os.utime(root / "src" / "deep" / "b é.py", (1, 1))
    before = contents.contents(str(root), "src")
    (root / "src" / "deep" / "b é.py").write_bytes(b"2wo")
    os.utime(root / "src" / "deep" / "b é.py", (1, 1))
    assert before == contents.contents(str(root), "src")
    os.utime(root / "src" / "deep" / "b é.py", (2, 2))
    assert before != contents.contents(str(root), "src")


def test_hashes_that_were_taken_are_not_taken_again(root: Path) -> None:
    """Within one round, a file that many depend on is read once."""
    assert contents.digest(str(root), ["Makefile"], {"Makefile": "known"}) != contents.digest(str(root), ["Makefile"])
    taken: dict[str, str] = {}
    contents.digest(str(root), ["Makefile"], taken)
    assert {"Makefile": HELLO} == taken


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("Makefile", "Makefile"),
        ("./src//a.py", "src/a.py"),
        ("src/../Makefile", "Makefile"),
        (".", "."),
        ("src/", "src"),
        ("not there/x", "not there/x"),
        ("..x", "..x"),
    ],
)
def test_a_path_is_kept_as_seen_from_the_root(root: Path, path: str, expected: str) -> None:
    """Tidied, whether or not something is there."""
    assert expected == contents.relative(str(root), path)
    assert expected == contents.relative(str(root), str(root / path))


@pytest.mark.parametrize("path", ["..", "../my prøject 2", "src/../../x", "/etc/passwd", "../my prøjectile/x"])
def test_a_path_that_leaves_the_root_is_refused(root: Path, path: str) -> None:
    """However it leaves."""
    with pytest.raises(TenonError, match="leads out of the repository; a procedure depends on files inside"):
        contents.relative(str(root), path)


@pytest.mark.parametrize("path", ["", "  ", "a\0b"])
def test_a_path_that_is_none_is_refused(root: Path, path: str) -> None:
    """With an example of one."""
    with pytest.raises(TenonError, match="a path is empty; give paths from the repository's root"):
        contents.relative(str(root), path)


@links
def test_a_link_out_of_the_root_is_never_followed(root: Path, tmp_path: Path) -> None:
    """Not when it is named, nor when it comes to lead out later, nor inside a folder."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_bytes(b"hello")
    (root / "src" / "out").symlink_to(outside)
    before = contents.contents(str(root), "src")
    (outside / "secret").write_bytes(b"changed")

    with pytest.raises(TenonError, match="leads out of the repository"):
        contents.relative(str(root), "src/out/secret")
    assert "MISSING" == contents.contents(str(root), "src/out/secret")
    assert before == contents.contents(str(root), "src")
    (root / "src" / "out").unlink()
    (root / "src" / "out").symlink_to(tmp_path)
    assert before != contents.contents(str(root), "src")


@links
def test_a_link_inside_the_root_is_what_it_leads_to(root: Path) -> None:
    """A named link keeps its name; a root that is itself reached by a link is the same root."""
    (root / "current").symlink_to(root / "Makefile")
    (root.parent / "by link").symlink_to(root)

    assert "current" == contents.relative(str(root), "current")
    assert HELLO == contents.contents(str(root), "current")
    assert "src/a.py" == contents.relative(str(root.parent / "by link"), str(root / "src" / "a.py"))
    assert HELLO == contents.contents(str(root.parent / "by link"), "Makefile")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
def test_what_is_no_file_is_not_opened(root: Path) -> None:
    """A named pipe would wait for ever."""
    os.mkfifo(root / "pipe")

    assert "neither file nor folder" == contents.contents(str(root), "pipe")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root reads everything")
def test_what_cannot_be_read_says_so(root: Path) -> None:
    """It stops nothing."""
    (root / "Makefile").chmod(0)

    assert "UNREADABLE" == contents.contents(str(root), "Makefile")
