"""The way of Claude Code's transcripts into the archive: what was added since the last time, in small steps.

A transcript is read in pieces and written in short transactions, each with the position it has come to, so that a
kill loses nothing, other writers wait little, and a file of any size passes through little memory.
"""

from __future__ import annotations

import os
import time
from hashlib import sha256
from stat import S_ISREG

from tenon.base import paths, settings
from tenon.base.errors import TenonError
from tenon.base.lean import sqlite
from tenon.digest import projects, transcript
from tenon.digest.lines import Line, Lines, before, fingerprint, groups_of
from tenon.store import archive, db, deleted, exchanges, feeds, forgotten, places, usage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator
    from typing import Any, BinaryIO

    from tenon.store.db import Store

LOOK_BACK = 128 << 10  # bytes before the stored position in which the last prompt is looked for
BATCH_LINES = 200
BATCH_BYTES = 4 << 20
HOLD_S = 0.1  # how long one transaction may keep other writers waiting
LONG_BYTES = 256 << 10  # a longer line may be more than a hook has time for; that it was begun on is noted first
TRIES = 2


class Report:
    """What a capture did: turns that were new, lines read, lines left out or purged, whether it came to the end, what was in the way."""

    __slots__ = ("new", "lines", "left_out", "purged", "finished", "problem")

    def __init__(self, new: int = 0, lines: int = 0, left_out: int = 0, finished: bool = True, problem: str = "") -> None:
        self.new = new
        self.lines = lines
        self.left_out = left_out
        self.purged = 0  # of a time before the archive was removed
        self.finished = finished
        self.problem = problem

    def add(self, other: Report) -> None:
        """Counts the other's work as this one's."""
        self.new, self.lines = self.new + other.new, self.lines + other.lines
        self.left_out, self.purged = self.left_out + other.left_out, self.purged + other.purged
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
    """What was archived of one file, a transcript or a sub-agent's, whose session its path says.

    Works on every line as long as it takes, also on one that the hooks did not get through.
    """
    run = _Run(store, projects.session_of(path), "", now, budget_s, "claude-code")
    run.patient = True
    return Report(problem=run.off) if run.off else run.file(path, projects.thread_of(path))


def catch_up(store: Store, folder: str, *, now: float, budget_s: float, skip: Collection[str] = ()) -> Report:
    """What was archived of transcripts in a project's folder that grew unseen: a killed session, a session without hooks.

    Only files changed since the store began; older ones wait for `tenon import`, and so do those with a line that was
    begun on in vain: a session's start has no time for them. `skip` holds session names or paths.
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
        self.patient = False  # whether there is time for any line
        self.end = time.monotonic() + budget_s
        self.at = now  # the time of the last line that had one
        self.calls: dict[str, str] = {}
        self.kept: dict[str, bool] = {}
        self.purged = forgotten.purged(store)
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
                return _File(self, path, thread, projects.identity(os.fstat(file.fileno())), file).read()
        except FileNotFoundError:
            return Report(problem=f"{path} is not there")
        except (TenonError, OSError, ValueError) as error:
            return Report(problem=str(error) if isinstance(error, TenonError) else f"{path} cannot be read ({error})")
        except sqlite.Error as error:
            return Report(finished=False, problem=db.explain(self.store.path, error))


class _File:
    """One transcript being read."""

    def __init__(self, run: _Run, path: str, thread: str, identity: str, file: BinaryIO) -> None:
        self.stored = (0, "")
        self.at = 0  # the position that reading goes on from; another than the stored one where that is of another file
        self.left_out = 0
        self.run = run
        self.store = run.store
        self.path = path
        self.thread = thread
        self.identity = identity
        self.bytes = file
        self.report = Report()
        self.ended = False
        self.echoes = False  # whether what is read answers one of Tenon's own commands
        self.folder = ""  # where the last line was written
        self.home = ""  # the session's folder, looked up when it is asked for

    def read(self) -> Report:
        """Reads on from the stored position until the end of the file or of the time."""
        while not self.ended and not self.run.spent():
            skipped = self._start()
            lines = Lines(self.bytes, self.at, self.run.spent, skipped)
            if self._all(lines) and (lines.reached <= skipped or self._note(0, lines.reached)):
                self.ended = lines.ended
        self.report.finished = self.ended
        return self.report

    def _all(self, lines: Lines) -> bool:
        """Whether every line was written; False when the time is used up or another process is ahead."""
        batch: list[Line] = []
        size = 0
        for line in lines:
            length = line.after - line.first
            long = line.raw is not None and length > LONG_BYTES
            # A long line goes alone: not in memory with a full batch, and nothing is lost with it.
            if batch and (long or size + length > BATCH_BYTES):
                if not self._write(batch):
                    return False
                batch, size = [], 0
            if long:
                if not self._alone(line):
                    return False
                continue
            self._parse(line)
            batch.append(line)
            size += length
            if len(batch) >= BATCH_LINES or size >= BATCH_BYTES:
                if not self._write(batch):
                    return False
                batch, size = [], 0
        return not batch or self._write(batch)

    def _start(self) -> int:
        """Takes up the stored position; up to which byte the over-long line there was passed over, or 0."""
        offset, known, left_out = feeds.position(self.store, self.path)
        past, _, skipped = feeds.notes(self.store, self.path)
        self.stored = (offset, known)
        reach = max(offset, skipped)
        size = self.bytes.seek(0, os.SEEK_END)
        # A file that was replaced, cut short or rewritten in place is read anew; what is known is not kept twice.
        if known != self.identity or size < reach or past != fingerprint(self.bytes, reach):
            offset = left_out = skipped = 0
        offset = max(offset, min(deleted.size(self.path), size))  # what an agent had that was deleted stays gone
        self.at, self.left_out = offset, left_out
        if offset:
            self.bytes.seek(max(0, offset - LOOK_BACK))
            self.echoes = transcript.ends_in_command(self.bytes.read(min(offset, LOOK_BACK)))
        return skipped

    def _alone(self, line: Line) -> bool:
        """Whether a line that may end this process was dealt with; one that did so before is left out."""
        if self.report.lines and self.run.spent():
            return False
        tries = 0
        if archive.follow(self.store, "", self._place(line)):
            tries = TRIES
        elif not self.run.patient:
            if self.stored == (self.at, self.identity):
                tries = feeds.notes(self.store, self.path)[1]
            if tries < TRIES and not self._note(tries + 1, 0):
                return False
        if tries >= TRIES:
            line.raw = None
            self._leave_out(line, f"given up after {TRIES} tries")
        else:
            self._parse(line)
        try:
            return self._write([line])
        except sqlite.Error as error:
            if not self.run.patient and tries < TRIES and any(word in str(error) for word in db.BUSY):
                self._note(tries, 0)  # that another process was writing is no fault of the line
            raise

    def _note(self, tries: int, skipped: int) -> bool:
        """Notes what is known of the line at the position; False when another process is ahead."""
        with self.store.transaction():
            if feeds.position(self.store, self.path)[:2] != self.stored:
                return False
            past = fingerprint(self.bytes, max(self.at, skipped))
            feeds.set_position(self.store, self.path, self.at, self.identity, self.left_out, self.run.now, past, tries, skipped)
        self.stored = (self.at, self.identity)
        return True

    def _parse(self, line: Line) -> None:
        raw, line.raw = line.raw, None
        if raw is None:
            self._leave_out(line, "too long to keep")
            return
        if not raw.strip():
            return
        found = transcript.parse(raw)
        raw = None  # may be 4 MB
        if found is None:
            line.left_out = True
            return
        entry = transcript.entry(found, self._tool, self.run.at, self.thread)
        self.run.at = entry.at
        self.run.calls.update(entry.calls)
        self._mark_echo(found, entry)
        is_purged = entry.at < self.run.purged and (entry.row is not None or entry.usage is not None)
        self.report.purged += is_purged
        if is_purged or not self._keeps(entry.folder, line, entry.row is not None or entry.usage is not None):
            entry.row = entry.usage = None
        if entry.row is not None and not entry.uuid:
            entry.uuid = entry.row.uuid = self._name(found, entry.row, line)
        line.entry = entry

    def _keeps(self, folder: str, line: Line, asked: bool = True) -> bool:
        """Whether a line that names that folder may be kept; one that names none was written where the line before it was."""
        if not self.run.exclude:
            return True
        if folder:
            self.folder = folder
        if not asked:
            return True
        if not self.home:
            self.home = self.run.folder or self._begun_in()
        if not self.folder:
            self.folder = projects.last_folder(before(self.bytes, line.first, projects.BEGINNING)) or self.home
        if self.home or self.folder:
            return self.run.keeps(self.home) and self.run.keeps(self.folder)
        return not projects.named_after(self.path, self.run.exclude)

    def _begun_in(self) -> str:
        """The folder that the session was begun in, as the archive or its transcript has it."""
        number = exchanges.session_number(self.store, self.run.name)
        return projects.folder_of(self.path) if number is None else exchanges.session_of(self.store, number).folder

    def _name(self, found: dict[str, Any], row: archive.Row, line: Line) -> str:
        """What stands for the uuid of a line without one, so that the line is known again in a copy of the file."""
        session, stamp = (found.get(key) if isinstance(found.get(key), str) else "" for key in ("sessionId", "timestamp"))
        # The same few words said twice are two lines; where neither a time nor a parent tells them apart, their place does.
        place = "" if stamp or row.parent else fingerprint(self.bytes, line.first)
        told = (session or self.run.name, row.thread, row.parent, stamp, row.role, place, archive.canonical(row.content))
        return "unnamed:" + sha256("\n".join(map(str, told)).encode("utf-8", "replace")).hexdigest()[:32]

    def _mark_echo(self, found: dict[str, Any], entry: transcript.Entry) -> None:
        """What a model answers to /memory-recall is kept as it was said, and is nothing new to recall or to digest."""
        kind = entry.row.kind if entry.row is not None else ""
        if kind == "prompt":
            self.echoes = False
        elif transcript.asks_memory(found):
            self.echoes = True
        if self.echoes and entry.row is not None and kind == "reply":
            entry.row.kind = "other"

    def _tool(self, line: str, call: str) -> str:
        return self.run.calls.pop(call, "") or archive.tool_of(self.store, line, call)

    def _place(self, line: Line) -> str:
        return f"left-out:{self.run.name}:{self.thread}:{line.first}-{line.after}"

    def _leave_out(self, line: Line, why: str) -> None:
        """Puts a sentence in the line's place."""
        uuid = self._place(line)
        line.left_out = True
        line.entry = transcript.Entry(uuid, "", "", self.run.at, "", "")
        if self.run.at < self.run.purged or not self._keeps("", line):
            return
        text = f"[left out: a line of {(line.after - line.first) / 1e6:.1f} MB at byte {line.first} of {self.path}, {why}]"
        line.entry.row = archive.Row(
            uuid=uuid, parent="", thread=self.thread, role="system", kind="other", source="tool", at=self.run.at, content=[{"type": "text", "text": text}]
        )

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
            self.at = max(line.after for line in groups[done - 1])
            self.stored = (self.at, self.identity)
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
            self.report.new += archive.append(self.store, number, repository, rows)[0]
        lines = [line for group in done for line in group]
        kept = [line.entry for line in lines if line.entry is not None and line.entry.row is not None]
        if first is not None and kept:
            archive.session(self.store, self.run.name, repository=repository, folder="", at=kept[-1].at, branch=kept[-1].branch)
            usage.note(self.store, number, transcript.counted(line.entry for line in lines if line.entry is not None), self.run.now)
        left_out = sum(line.left_out for line in lines)
        self.left_out += left_out
        self.report.left_out += left_out
        self.report.lines += len(lines)
        after = max(line.after for line in lines)
        feeds.set_position(self.store, self.path, after, self.identity, self.left_out, self.run.now, fingerprint(self.bytes, after))
        return len(done)

    def _rows(self, groups: list[list[Line]], done: list[list[Line]], long: Callable[[], bool]) -> Iterator[archive.Row]:
        for group in groups:
            for entry in (line.entry for line in group if line.entry is not None):
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
        folder = run.folder or first.folder or projects.folder_of(self.path) or os.path.dirname(os.path.abspath(self.path))
        repository = places.settle(self.store, folder, run.now)
        number = archive.session(self.store, run.name, repository=repository, folder=folder, at=first.at, branch=first.branch, client=run.client)
        return number, repository
