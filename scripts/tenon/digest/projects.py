"""The transcript files of a project: which session and which sub-agent each belongs to, and which has something unread.

A session's start asks this and nothing more, so it must not cost what reading a transcript does.
"""

from __future__ import annotations

import os
from stat import S_ISREG

from tenon.base.lean import parse
from tenon.store import feeds

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from tenon.store.db import Store

BEGINNING = 1 << 18  # bytes in which a transcript says where it was begun


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
    """The transcripts in a folder with something unread, the one changed longest ago first.

    Not those of another agent, there or deleted, and not those with a line that was begun on in vain: it may take longer than a session's start may.
    """
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
            files = [path, *(own for own, _ in subagents(path))]
            if all(is_read(store, own, os.stat(own)) for own in files):
                continue
            if not any(feeds.notes(store, os.path.realpath(own))[1] for own in files):
                found.append((status.st_mtime, path))
        except OSError:
            continue
    real = [os.path.realpath(path) for _, path in found]
    foreign = feeds.of_others(store, real) | feeds.of_deleted(store, real)
    return [path for _, path in sorted(found) if os.path.realpath(path) not in foreign]


def identity(status: os.stat_result) -> str:
    """What tells a file from one that took its place: device and inode."""
    return f"{status.st_dev}:{status.st_ino}"


def folder_of(path: str) -> str:
    """The folder in which the session of a transcript or of a sub-agent's file was begun; «» when neither file says it."""
    for each in (_own(path), path):
        try:
            with open(each, "rb") as file:
                beginning = file.read(BEGINNING)
        except OSError:
            continue
        for line in beginning.split(b"\n"):
            if folder := _folder(line):
                return folder
    return ""


def last_folder(data: bytes) -> str:
    """The folder that the last line says that says one; the first line may be the end of one."""
    return next(filter(None, map(_folder, reversed(data.split(b"\n")))), "")


def named_after(path: str, folders: Iterable[str]) -> bool:
    """Whether the project that a transcript lies in may be one of the folders or lie in one, by its name alone.

    Claude Code names it after the folder, with a hyphen for whatever is no letter or digit. Any other name may be anywhere.
    """
    project = os.path.basename(os.path.dirname(_own(path)))
    if not project.startswith("-") and project[1:3] != "--":  # a POSIX path, or one with a drive
        return True
    for folder in filter(None, folders):
        full = os.path.expanduser(folder)
        for spelled in (os.path.abspath(full), os.path.realpath(full)):
            name = "".join(letter if letter.isascii() and letter.isalnum() else "-" for letter in spelled)
            if project == name or project.startswith(name + "-"):
                return True
    return False


def _own(path: str) -> str:
    """The transcript of the session that a sub-agent's file belongs to; any other path as it is."""
    return path[: path.rindex(os.sep + "subagents" + os.sep)] + ".jsonl" if thread_of(path) else path


def _folder(line: bytes) -> str:
    found = parse(line.decode("utf-8", "replace")) if b'"cwd"' in line else None
    folder = found.get("cwd") if isinstance(found, dict) else ""
    return folder if isinstance(folder, str) else ""
