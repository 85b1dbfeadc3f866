"""Bringing in the transcripts that were there before Tenon: what there is, and reading it, oldest first.

Each file's position is kept by capture, so a run that was killed goes on where it stopped and a second run adds nothing.
"""

from __future__ import annotations

import os
import re
from stat import S_ISREG

from tenon.digest import capture, projects, spotting, transcript
from tenon.store import exchanges, feeds

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tenon.store.db import Store

SLICE_S = 0.25  # between two reports of progress
BEGINNING = 1 << 14  # bytes in which a transcript says when it was begun

_STAMP = re.compile(rb'"timestamp":\s*"([^"]+)"')


class File:
    """One transcript on disk: its size and how much of it was read before, in bytes, and when it was last changed."""

    __slots__ = ("path", "session", "thread", "size", "read", "changed")

    def __init__(self, path: str, session: str, thread: str, size: int, read: int, changed: float) -> None:
        self.path = path
        self.session = session
        self.thread = thread
        self.size = size
        self.read = read
        self.changed = changed


class Plan:
    """What an import would do: `files` still to be read, oldest first, how many are read already, and how many were a deleted agent's."""

    __slots__ = ("files", "already", "deleted")

    def __init__(self, files: list[File], already: int, deleted: int = 0) -> None:
        self.files = files
        self.already = already
        self.deleted = deleted

    @property
    def sessions(self) -> int:
        """How many sessions the files are of."""
        return len({file.session for file in self.files})

    @property
    def size_bytes(self) -> int:
        """How much there is to read."""
        return sum(file.size - file.read for file in self.files)


def plan(store: Store, claude_home: str, *, since: float | None = None, deleted: bool = False) -> Plan:
    """What is to be read below Claude Code's folder, changed since that time; with `deleted` what deleted agents had, too. Changes nothing."""
    files: list[File] = []
    already = 0
    for path in _transcripts(os.path.join(claude_home, "projects")):
        try:
            status = os.stat(path)
        except OSError:
            continue
        if not S_ISREG(status.st_mode) or not status.st_size or (since is not None and status.st_mtime < since):
            continue
        if projects.is_read(store, path, status):
            already += 1
            continue
        offset = min(feeds.position(store, path)[0], status.st_size)
        files.append(File(path, projects.session_of(path), projects.thread_of(path), status.st_size, offset, status.st_mtime))
    real = [os.path.realpath(file.path) for file in files]
    gone = set() if deleted else feeds.of_deleted(store, real)
    foreign = feeds.of_others(store, real) | gone
    files = [file for file in files if os.path.realpath(file.path) not in foreign]  # what another agent was told stays its own
    # A session's own transcript comes before its sub-agents' files, and a session before its forks, whatever was
    # changed last: of the turns that two files share, the first one read is the owner.
    begun: dict[str, float] = {}
    for file in files:
        begun[file.session] = min(_begun(file), begun.get(file.session, float("inf")))
    files.sort(key=lambda file: (begun[file.session], file.session, file.thread, file.path))
    return Plan(files, already, len(gone))


def run(store: Store, files: Sequence[File], *, on_progress: Callable[[int, int, int, str], None], now_fn: Callable[[], float]) -> capture.Report:
    """What was archived of the planned files, which are then looked through. May be stopped at any point and run again.

    A file of which a whole slice read nothing is left, with a sentence in the report.

    `on_progress(done_bytes, total_bytes, turns, path)` is called several times a second.
    """
    total = sum(file.size - file.read for file in files)
    done = 0
    report = capture.Report()
    for file in files:
        reached = _reached(store, file.path)
        while True:
            part = capture.capture_file(store, file.path, now=now_fn(), budget_s=SLICE_S)
            last, reached = reached, _reached(store, file.path)
            if not part.finished and not part.problem and reached == last:
                part.problem = f"{file.path} is not read to its end yet; the next `tenon import` goes on with it"
            over, part.finished = part.finished, part.finished or not part.problem
            report.add(part)
            if over or part.problem:
                break
            here = feeds.position(store, file.path)[0] - file.read
            on_progress(done + max(0, min(here, file.size - file.read)), total, report.new, file.path)
        done += file.size - file.read
        on_progress(done, total, report.new, file.path)
    for session in dict.fromkeys(file.session for file in files):
        number = exchanges.session_number(store, session)
        while number is not None and not spotting.catch_up(store, now=now_fn(), budget_s=SLICE_S, session=number).finished:
            on_progress(done, total, report.new, "")
    return report


def _reached(store: Store, path: str) -> tuple[str, int, int]:
    """What moves when a file is read: which file it is, the position, and how far an over-long line was passed over."""
    path = os.path.realpath(path)
    offset, file, _ = feeds.position(store, path)
    return file, offset, feeds.notes(store, path)[2]


def _transcripts(top: str) -> Iterator[str]:
    """The sessions' transcripts and their sub-agents' files; other .jsonl files, such as a tool's output, are not."""
    top = os.path.realpath(top)
    for project in _names(top):
        folder = os.path.join(top, project)
        names = _names(folder)
        own_transcripts = {name for name in names if name.endswith(".jsonl")}
        for name in names:
            if name.endswith(".jsonl"):
                path = os.path.join(folder, name)
                yield path
                yield from (own for own, _ in projects.subagents(path))
            elif name + ".jsonl" not in own_transcripts:
                # The sub-agents of a session whose own transcript is gone.
                yield from (own for own, _ in projects.subagents(os.path.join(folder, name + ".jsonl")))


def _begun(file: File) -> float:
    """When the first line with a time was written; a fork's is that of the fork, before the lines it copied."""
    try:
        with open(file.path, "rb") as opened:
            found = _STAMP.search(opened.read(BEGINNING))
    except OSError:
        return file.changed
    at = transcript.seconds(found.group(1).decode("ascii", "replace")) if found else None
    return file.changed if at is None else at


def _names(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []
