"""The way of Claude Code's transcripts into the archive: what was added since the last time, in small steps.

A transcript is read in pieces and written in short transactions, each with the position it has come to, so that a
kill loses nothing, other writers wait little, and a file of any size passes through little memory.
"""
from __future__ import annotations

import os
import time
from stat import S_ISREG

from tenon.base import paths, settings
from tenon.base.lean import sqlite
from tenon.digest import projects, transcript
from tenon.digest.lines import Line, Lines, groups_of
from tenon.store import archive, db, exchanges, feeds, places

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator
    from typing import BinaryIO

    from tenon.store.db import Store

BATCH_LINES = 200
BATCH_BYTES = 4 << 20
HOLD_S = 0.1  # how long one transaction may keep other writers waiting


class Report:
    """What a capture did: turns that were new, lines read, lines left out, whether it came to the end, what was in the way."""

    __slots__ = ("new", "lines", "left_out", "finished", "problem")

    def __init__(self, new: int = 0, lines: int = 0, left_out: int = 0, finished: bool = True, problem: str = "") -> None:
        self.new = new
        self.lines = lines
        self.left_out = left_out
        self.finished = finished
        self.problem = problem

    def add(self, other: Report) -> None:
        """Counts the other's work as this one's."""
        self.new += other.new
        self.lines += other.lines
        self.left_out += other.left_out
        self.finished = self.finished and other.finished
        self.problem = self.problem or other.problem


def capture(store: Store, path: str, *, session_name: str, folder: str, now: float, budget_s: float, client: str = "claude-code") -> Report:
    """What was archived of a session's transcript and of its sub-agents' files, from where the last capture stopped.

    Never raises for a file: one that is missing, unreadable or broken gives a Report with a sentence. An empty
    `folder` means that of the transcript's first line. Sessions and lines in an excluded folder are not kept.
    """
    run = _Run(store, session_name, folder, now, budget_s, client)
    if run.off:
        return Report(problem=run.off)
    report = run.file(path, "")
    for own, thread in projects.subagents(path):
        report.add(run.file(own, thread))
    return report


def capture_file(store: Store, path: str, *, now: float, budget_s: float) -> Report:
    """What was archived of one file, a transcript or a sub-agent's, whose session its path says."""
    run = _Run(store, projects.session_of(path), "", now, budget_s, "claude-code")
    return Report(problem=run.off) if run.off else run.file(path, projects.thread_of(path))


def catch_up(store: Store, folder: str, *, now: float, budget_s: float, skip: Collection[str] = ()) -> Report:
    """What was archived of transcripts in a project's folder that grew unseen: a killed session, a session without hooks.

    Only files changed since the store began; older ones wait for `tenon import`. `skip` holds session names or paths.
    """
    end = time.monotonic() + budget_s
    report = Report()
    for path in projects.grown(store, folder, skip):
        left = end - time.monotonic()
        if left <= 0:
            report.finished = False
            break
        report.add(capture(store, path, session_name=projects.session_of(path), folder="", now=now, budget_s=left))
    return report


class _Run:
    """One capture: what it may use up, and what the lines so far have shown."""

    def __init__(self, store: Store, name: str, folder: str, now: float, budget_s: float, client: str) -> None:
        self.store = store
        self.name = name
        self.folder = folder
        self.now = now
        self.client = client
        self.end = time.monotonic() + budget_s
        self.at = now  # the time of the last line that had one
        self.calls: dict[str, str] = {}
        self.kept: dict[str, bool] = {}
        chosen = settings.load()
        self.exclude = chosen.names("archive.exclude")
        self.off = ""
        if not chosen.flag("archive.enabled"):
            self.off = "the archive is off (archive.enabled is false), so nothing was kept"
        elif folder and not self.keeps(folder):
            self.off = f"{folder} is excluded (archive.exclude), so nothing was kept"

    def keeps(self, folder: str) -> bool:
        """Whether lines written in the folder may be kept."""
        if folder not in self.kept:
            self.kept[folder] = not folder or not paths.lies_in(folder, self.exclude)
        return self.kept[folder]

    def spent(self) -> bool:
        """Whether the time is used up."""
        return time.monotonic() >= self.end

    def file(self, path: str, thread: str) -> Report:
        """What one file gave."""
        try:
            path = os.path.realpath(path)  # one name for one file, whichever way the host spells it
            status = os.stat(path)
            if not S_ISREG(status.st_mode):
                return Report(problem=f"{path} is not a file; a transcript is a .jsonl file")
            if not status.st_size:
                return Report(problem=f"{path} is empty")
            with open(path, "rb", buffering=0) as file:
                return _File(self, path, thread, projects.identity(os.fstat(file.fileno()))).read(file)
        except FileNotFoundError:
            return Report(problem=f"{path} is not there")
        except (OSError, ValueError) as error:
            return Report(problem=f"{path} cannot be read ({error})")
        except sqlite.Error as error:
            return Report(finished=False, problem=db.explain(self.store.path, error))


class _File:
    """One transcript being read."""

    def __init__(self, run: _Run, path: str, thread: str, identity: str) -> None:
        self.stored = (0, "")
        self.left_out = 0
        self.run = run
        self.store = run.store
        self.path = path
        self.thread = thread
        self.identity = identity
        self.report = Report()
        self.ended = False

    def read(self, file: BinaryIO) -> Report:
        """Reads on from the stored position until the end of the file or of the time."""
        while not self.ended and not self.run.spent():
            batch: list[Line] = []
            size = 0
            for line in self._parsed(file, self._start(file)):
                # A long line goes alone, so that it is not in memory together with a full batch.
                if batch and size + line.after - line.first > BATCH_BYTES:
                    if not self._write(batch):
                        break
                    batch, size = [], 0
                batch.append(line)
                size += line.after - line.first
                if len(batch) >= BATCH_LINES or size >= BATCH_BYTES:
                    if not self._write(batch):
                        break
                    batch, size = [], 0
            else:
                if batch and not self._write(batch):
                    self.ended = False
        self.report.finished = self.ended
        return self.report

    def _start(self, file: BinaryIO) -> int:
        offset, known, left_out = feeds.position(self.store, self.path)
        self.stored = (offset, known)
        if offset:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, offset - 1))
            # A file that was replaced, cut short or rewritten in place is read anew; what is known is not kept twice.
            if known != self.identity or size < offset or file.read(1) != b"\n":
                offset = 0
        self.left_out = left_out if offset else 0
        return offset

    def _parsed(self, file: BinaryIO, start: int) -> Iterator[Line]:
        run = self.run
        lines = Lines(file, start, run.spent)
        for first, after, raw in lines:
            if raw is not None and not raw.strip():
                yield Line(first, after, None, False)
                continue
            if raw is None:
                yield Line(first, after, self._too_long(first, after), True)
                continue
            found = transcript.parse(raw)
            raw = None  # may be 4 MB
            if found is None:
                yield Line(first, after, None, True)
                continue
            entry = transcript.entry(found, self._tool, run.at, self.thread)
            run.at = entry.at
            run.calls.update(entry.calls)
            if entry.row is not None and not run.keeps(entry.folder):
                entry.row = None
            yield Line(first, after, entry, False)
        self.ended = lines.ended

    def _tool(self, line: str, call: str) -> str:
        return self.run.calls.pop(call, "") or archive.tool_of(self.store, line, call)

    def _too_long(self, first: int, after: int) -> transcript.Entry:
        uuid = f"left-out:{self.run.name}:{self.thread}:{first}"
        entry = transcript.Entry(uuid, "", "", self.run.at, "", "")
        text = f"[left out: a line of {(after - first) / 1e6:.1f} MB at byte {first} of {self.path}, too long to keep]"
        entry.row = archive.Row(
            uuid=uuid, parent="", thread=self.thread, role="system", kind="other", source="tool", at=entry.at, content=[{"type": "text", "text": text}]
        )
        return entry

    def _write(self, batch: list[Line]) -> bool:
        """Writes a batch in transactions of at most HOLD_S; False when the time is used up or another process is ahead."""
        groups = list(groups_of(batch))
        done = 0
        while done < len(groups):
            if done and self.run.spent():
                return False
            with self.store.transaction():
                if feeds.position(self.store, self.path)[:2] != self.stored:
                    return False
                reached = self._some(groups[done:])
            done += reached
            self.stored = (max(line.after for line in groups[done - 1]), self.identity)
        return True

    def _some(self, groups: list[list[Line]]) -> int:
        """How many of the groups were dealt with before the transaction became long."""
        end = time.monotonic() + HOLD_S
        done: list[list[Line]] = []
        rows = self._rows(groups, done, lambda: time.monotonic() >= end)
        first = next((line.entry for group in groups for line in group if line.entry is not None and line.entry.row is not None), None)
        if first is None:
            for _ in rows:
                pass
        else:
            number, repository = self._session(first)
            new, _ = archive.append(self.store, number, repository, rows)
            self.report.new += new
        lines = [line for group in done for line in group]
        kept = [line.entry for line in lines if line.entry is not None and line.entry.row is not None]
        if first is not None and kept:
            archive.session(self.store, self.run.name, repository=repository, folder="", at=kept[-1].at, branch=kept[-1].branch)
        left_out = sum(line.left_out for line in lines)
        self.left_out += left_out
        self.report.left_out += left_out
        self.report.lines += len(lines)
        feeds.set_position(self.store, self.path, max(line.after for line in lines), self.identity, self.left_out, self.run.now)
        return len(done)

    def _rows(self, groups: list[list[Line]], done: list[list[Line]], long: Callable[[], bool]) -> Iterator[archive.Row]:
        for group in groups:
            for line in group:
                entry = line.entry
                if entry is None:
                    continue
                if entry.row is None:
                    archive.follow(self.store, entry.uuid, entry.parent)
                elif not (entry.same_as and archive.follow(self.store, entry.uuid, entry.same_as)):
                    yield entry.row
                    if entry.same_as:
                        # The copy came before its original, which will then be known.
                        archive.follow(self.store, entry.same_as, entry.uuid)
            done.append(group)
            if long():
                return

    def _session(self, first: transcript.Entry) -> tuple[int, int]:
        run = self.run
        number = exchanges.session_number(self.store, run.name)
        if number is not None:
            return number, exchanges.session_of(self.store, number).repository
        folder = run.folder or first.folder or os.path.dirname(os.path.abspath(self.path))
        repository = places.settle(self.store, folder, run.now)
        number = archive.session(self.store, run.name, repository=repository, folder=folder, at=first.at, branch=first.branch, client=run.client)
        return number, repository
