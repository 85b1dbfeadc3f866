"""The transcript files of a project: which session and which sub-agent each belongs to, and which has something unread.

A session's start asks this and nothing more, so it must not cost what reading a transcript does.
"""
from __future__ import annotations

import os
from stat import S_ISREG

from tenon.store import feeds

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection

    from tenon.store.db import Store


def session_of(path: str) -> str:
    """The session's name that a transcript's or a sub-agent's path says."""
    parts = os.path.normpath(path).split(os.sep)
    if thread_of(path):
        return parts[max(at for at, part in enumerate(parts) if part == "subagents") - 1]
    return os.path.splitext(parts[-1])[0]


def thread_of(path: str) -> str:
    """The sub-agent's id that a path says: <session>/subagents/…/agent-<id>.jsonl; «» for a session's own transcript."""
    parts = os.path.normpath(path).split(os.sep)
    name = os.path.splitext(parts[-1])[0]
    return name[6:] if name.startswith("agent-") and "subagents" in parts[1:-1] else ""


def subagents(path: str) -> list[tuple[str, str]]:
    """The files of a session's sub-agents beside its transcript, each with the sub-agent's id."""
    found: list[tuple[str, str]] = []
    if "\0" in path:
        return found
    for where, _, names in os.walk(os.path.join(os.path.splitext(path)[0], "subagents")):
        found.extend((os.path.join(where, name), thread_of(name)) for name in names if name.startswith("agent-") and name.endswith(".jsonl"))
    return sorted(found)


def is_read(store: Store, path: str, status: os.stat_result) -> bool:
    """Whether all of the file with that status has been read."""
    offset, file, _ = feeds.position(store, os.path.realpath(path))
    return file == identity(status) and offset == status.st_size


def grown(store: Store, folder: str, skip: Collection[str]) -> list[str]:
    """The transcripts in a folder with something unread, the one changed longest ago first."""
    since = feeds.began(store)
    found: list[tuple[float, str]] = []
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return []
    for name in names:
        path = os.path.join(folder, name)
        if not name.endswith(".jsonl") or path in skip or session_of(path) in skip:
            continue
        try:
            status = os.stat(path)
            if status.st_mtime < since or not S_ISREG(status.st_mode) or not status.st_size:
                continue
            if not is_read(store, path, status) or not all(is_read(store, own, os.stat(own)) for own, _ in subagents(path)):
                found.append((status.st_mtime, path))
        except OSError:
            continue
    return [path for _, path in sorted(found)]


def identity(status: os.stat_result) -> str:
    """What tells a file from one that took its place: device and inode."""
    return f"{status.st_dev}:{status.st_ino}"
