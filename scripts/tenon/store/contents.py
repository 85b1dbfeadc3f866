"""What the files that a procedure depends on contain, as one digest: the same contents give the same digest anywhere.

Paths are taken from the repository's root, whatever the current folder is. A folder stands for the names and contents
of its files. Nothing outside the root is read, and no more than a bound: beyond it names, sizes and times speak.
"""

from __future__ import annotations

import os
import stat
from hashlib import sha256

from tenon.base.errors import TenonError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

MOST_FILES = 2000  # files of one path whose contents are read
MOST_BYTES = 50_000_000  # bytes of one path that are read
MISSING = "MISSING"
MADE = frozenset({".git", "__pycache__", "node_modules", ".venv", ".tox", ".mypy_cache", ".pytest_cache", ".ruff_cache"})  # folders that tools write into


def relative(root: str, path: str) -> str:
    """The path as seen from the root, with forward slashes; the root itself is «.».

    The path may be relative to the root or absolute. Raises TenonError for one that is empty or leaves the root, by
    `..` or by a symbolic link.
    """
    if not path.strip() or "\0" in path:
        raise TenonError("a path is empty; give paths from the repository's root, like src/app.py")
    home = os.path.realpath(root)
    whole = os.path.normpath(os.path.join(root, path))
    real = os.path.realpath(whole)
    if not _within(home, real):
        raise TenonError(f"'{path}' leads out of the repository; a procedure depends on files inside {root}")
    # The name is kept as it was given where it can be: a link inside the root may come to point elsewhere in it.
    named = os.path.normpath(root)
    shown = os.path.relpath(whole, named) if _within(named, whole) else os.path.relpath(real, home)
    return shown.replace(os.sep, "/")


def digest(root: str, paths: Sequence[str], hashes: dict[str, str] | None = None) -> str:
    """The digest over each path and the hash of its contents. `hashes` keeps those already taken, by path."""
    hashes = {} if hashes is None else hashes
    whole = sha256()
    for path in sorted(set(paths)):
        if path not in hashes:
            hashes[path] = contents(root, path)
        whole.update(f"{path}\0{hashes[path]}\n".encode("utf-8", "surrogatepass"))
    return whole.hexdigest()


def contents(root: str, path: str) -> str:
    """The hash of a file's contents or of a folder's files; «MISSING» when nothing is there, or it leads out of the root."""
    full = os.path.realpath(os.path.join(root, *path.split("/")))
    if not _within(os.path.realpath(root), full):
        return MISSING
    bounds = _Bounds()
    if not os.path.isdir(full):
        return bounds.file(full)
    whole = sha256()
    for name in _files(full):
        whole.update(f"{name}\0{bounds.file(os.path.join(full, *name.split('/')))}\n".encode("utf-8", "surrogatepass"))
    return whole.hexdigest()


class _Bounds:
    """How much of one path may still be read."""

    __slots__ = ("files", "size_bytes")

    def __init__(self) -> None:
        self.files = MOST_FILES
        self.size_bytes = MOST_BYTES

    def file(self, path: str) -> str:
        """The hash of one file, or what stands for it: a link's target, or size and time beyond the bound."""
        try:
            found = os.stat(path, follow_symlinks=False)
            if stat.S_ISLNK(found.st_mode):
                return "link to " + os.readlink(path)
            if not stat.S_ISREG(found.st_mode):
                return "neither file nor folder"
            if self.files <= 0 or found.st_size > self.size_bytes:
                return f"{found.st_size} {found.st_mtime_ns}"
            self.files -= 1
            self.size_bytes -= found.st_size
            return _hash(path)
        except FileNotFoundError:
            return MISSING
        except OSError:
            return "UNREADABLE"


def _hash(path: str) -> str:
    whole = sha256()
    with open(path, "rb") as file:
        while True:
            piece = file.read(1 << 20)
            if not piece:
                return whole.hexdigest()
            whole.update(piece)


def _files(folder: str) -> Iterator[str]:
    """The files below a folder in a fixed order, named from it; links to folders count as files and are not followed."""
    for here, folders, files in os.walk(folder):
        links = [name for name in folders if os.path.islink(os.path.join(here, name))]
        folders[:] = sorted(name for name in folders if name not in MADE and name not in links)
        start = os.path.relpath(here, folder).replace(os.sep, "/")
        for name in sorted(files + links):
            yield name if start == "." else f"{start}/{name}"


def _within(home: str, path: str) -> bool:
    home, path = os.path.normcase(home), os.path.normcase(path)
    return path == home or path.startswith(home.rstrip(os.sep) + os.sep)
