"""Whose the files of a home are to use: those that others can get at, and those that their owner cannot."""

from __future__ import annotations

import os
import stat


def exposed(home: str) -> list[str]:
    """Folders and files below the home that others than the owner can read or write."""
    if os.name != "posix":
        return []
    found: list[str] = []
    for folder, folders, names in os.walk(home):
        folders[:] = [name for name in folders if name not in ("bin", "cache")]
        for path in [folder, *(os.path.join(folder, name) for name in names)]:
            try:
                mode = os.lstat(path).st_mode
            except OSError:
                continue
            if not stat.S_ISLNK(mode) and mode & 0o077:
                found.append(path)
    return found


def closed(home: str) -> list[str]:
    """Folders and files below the home that are this user's and that they may not use, from the outside in as far as can be seen."""
    if os.name != "posix":
        return []
    found: list[str] = []
    for folder, folders, names in [("", [home], []), *os.walk(home)]:
        folders[:] = [name for name in folders if name != "cache"]
        for path in (os.path.join(folder, name) for name in folders + names):
            try:
                status = os.lstat(path)
            except OSError:
                continue
            needed = 0o700 if stat.S_ISDIR(status.st_mode) else 0o600
            if not stat.S_ISLNK(status.st_mode) and status.st_uid == os.geteuid() and status.st_mode & needed != needed:
                found.append(path)
    return found
