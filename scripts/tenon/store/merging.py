"""An export brought into a store, empty or lived in: EXPORT.md says what its lines are and what becomes of each.

Nothing comes twice, nothing that was forgotten here comes back, and two stores that bring in each other's exports end with the
same. It is done in parts, each whole or not at all, so that whoever stops it can begin it again.
"""

from __future__ import annotations

import json
import os
import re

from tenon.base.errors import TenonError
from tenon.base.lean import parse
from tenon.base.redact import redact
from tenon.store import exporting, fields, forgotten, identity, joined, notes
from tenon.store.cached import Cached
from tenon.store.merged_memories import Memories, redacted
from tenon.store.merged_turns import Turns
from tenon.store.tasks import STATUSES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any

    from tenon.store.db import Store

PART = 500  # lines that are written together
PART_BYTES = 16 << 20  # of them
LONGEST = 8 << 20  # bytes of a line: twice those of the longest line of a transcript that is kept
TOO_LONG = b"\0"  # stands for a longer one
NAMED = 20  # broken lines that are told by their numbers
FEWEST_WORDS = 3  # of a text that was named elsewhere: a shorter one would be taken out of everything that is written here
ROUNDS = 20  # how often what was not here yet is tried again

BY_KEY = "SELECT id, same_as, seen FROM repository WHERE key = ?"
ADD_REPOSITORY = "INSERT INTO repository (key, seen) VALUES (?, ?)"
SET_SEEN = "UPDATE repository SET seen = ? WHERE id = ?"
SET_ALIAS = "UPDATE repository SET same_as = ? WHERE id = ?"
TARGET = "SELECT same_as FROM repository WHERE id = ?"
TASK_OF = "SELECT title, status, body, created, updated FROM task WHERE repository = ? AND epic = ?"
TASK = "INSERT OR REPLACE INTO task (repository, epic, title, status, body, created, updated) VALUES (?, ?, ?, ?, ?, ?, ?)"
HANDOFF_OF = "SELECT body, updated FROM handoff WHERE repository = ?"
HANDOFF = "INSERT OR REPLACE INTO handoff (repository, body, updated) VALUES (?, ?, ?)"
SALT = "SELECT value FROM meta WHERE name = 'salt'"
SET_SALT = "INSERT OR REPLACE INTO meta (name, value) VALUES ('salt', ?)"
ANY_TOMBSTONE = "SELECT 1 FROM tombstone LIMIT 1"
IS_TOMBSTONE = "SELECT 1 FROM tombstone WHERE hash = ?"
ADD_TOMBSTONE = "INSERT OR IGNORE INTO tombstone (hash, words, reason, at) VALUES (?, ?, ?, ?)"
DROP_TAKEN = "DELETE FROM tombstone WHERE substr(reason, 1, ?) = ?"
DEED_TAKEN = "INSERT INTO deed (at, what, ref, note) VALUES (?, 'unforget', '', ?)"
ADD_DEED = "INSERT INTO deed (at, what, ref, note) VALUES (?, 'import', '', ?)"
SALTY = re.compile("[0-9a-f]{16,64}")
TASK_FIELDS = ("title", "status", "body", "created", "updated")


class Report:
    """What became of each thing: counts by thing and outcome, and the lines that could not be used, by number and why."""

    def __init__(self) -> None:
        self.counts: dict[str, dict[str, int]] = {}
        self.broken: list[tuple[int, str]] = []
        self.bad = 0
        self.cut_off = False
        self.lines = 0

    def tell(self, thing: str, outcome: str) -> None:
        """Counts one in."""
        own = self.counts.setdefault(thing, {})
        own[outcome] = own.get(outcome, 0) + 1

    def spoil(self, number: int, why: str) -> None:
        """Notes a line that could not be used."""
        self.bad += 1
        if len(self.broken) < NAMED:
            self.broken.append((number, why))

    def count(self, thing: str, *outcomes: str) -> int:
        """How many there are with one of these outcomes."""
        return sum(self.counts.get(thing, {}).get(outcome, 0) for outcome in outcomes)


def is_export(path: str) -> bool:
    """Whether the file begins as an export does, of whatever version."""
    try:
        with open(path, "rb") as file:
            return _header(file.readline(1 << 20)) is not None
    except OSError:
        return False


def checked(path: str) -> dict[str, Any]:
    """The first object of an export. Raises TenonError for a file that is none, or one of a newer Tenon."""
    try:
        with open(path, "rb") as file:
            found = _header(file.readline(1 << 20))
    except OSError as error:
        raise TenonError(f"{path} cannot be read ({error.strerror})") from error
    if found is None:
        raise TenonError(f"{path} is no export of Tenon: its first line does not say so")
    version = found.get("version")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise TenonError(f"{path} does not say which version of the format it has; export it again")
    if version > exporting.VERSION:
        raise TenonError(f"{path} was written by a newer Tenon (format {version}, this one knows {exporting.VERSION}); update the plugin. Nothing was changed")
    return found


def merge(
    store: Store, path: str, now: float, *, is_excluded: Callable[[str], bool] = lambda _: False, progress: Callable[[int, int], None] | None = None
) -> Report:
    """What became of an export's lines; `progress` is told the bytes that are done and the lines so far.

    Raises TenonError as `checked` does, before anything is changed.
    """
    checked(path)
    merging = _Merging(store, path, is_excluded)
    report = merging.report
    part: list[tuple[int, int, bytes]] = []
    held = 0
    for number, offset, line in _lines(path):
        part.append((number, offset, line))
        held += len(line)
        if len(part) >= PART or held >= PART_BYTES:
            merging.take(part)
            part, held = [], 0
            if progress is not None:
                progress(offset + len(line), number)
    merging.take(part)
    merging.finish(now)
    if progress is not None:
        progress(os.path.getsize(path), report.lines)
    return report


def unforget(store: Store, now: float) -> int:
    """How many forgotten things that imports took over are let go of again: what is written from now on may say them."""
    with store.transaction():
        count = store.execute(DROP_TAKEN, (len(exporting.TAKEN), exporting.TAKEN)).rowcount
        if count:
            store.execute(DEED_TAKEN, (now, f"{count} taken over"))
    return count


class _Merging:
    def __init__(self, store: Store, path: str, is_excluded: Callable[[str], bool]) -> None:
        self.store = store
        self.path = path
        self.report = Report()
        self.turns = Turns(store, self.repository, self.report, is_excluded)
        self.memories = Memories(store, self.repository, self.turns.here)
        # As it is before: whoever wrote the export has let go already of what its own tombstones say.
        self.gone = self.turns.gone = self.memories.gone = forgotten.known(store)
        self.memories.theirs = _ids(path)
        self._keys: Cached[str, int] = Cached()
        self._aliases: list[tuple[str, str]] = []
        self._later: list[tuple[int, int]] = []  # turns whose parent was not here: line and offset
        self._tried = False  # whether they were tried again, once the sessions were over
        self._end: int | None = None

    def take(self, part: list[tuple[int, int, bytes]]) -> None:
        """Takes some lines, all of them or, when it is stopped, none."""
        with self.store.transaction():
            for number, offset, line in part:
                self.report.lines = number
                if number > 1 and line.strip():
                    self._take(number, offset, line)
            self.turns.flush()
            self.memories.flush()

    def finish(self, now: float) -> None:
        """Ties up what points to what."""
        self._retry()
        for number, _ in self._later:
            self.report.tell("turn", "refused")
            self.report.spoil(number, "the turn before it is not here")
        with self.store.transaction():
            for alias, target in self._aliases:
                self._join(alias, target)
            self.memories.finish()
            told = ", ".join(f"{self.report.count(thing, 'new')} {label}" for thing, label in (("memory", "memories"), ("turn", "turns")))
            self.store.execute(ADD_DEED, (now, told))
        self.report.cut_off = self._end is None

    def repository(self, key: str) -> int:
        """The number of the repository with that key; one that is not known here yet gets one."""
        key = redact(key)
        found = self._keys.get(key)
        if found is None:
            row = self.store.one(BY_KEY, (key,))
            found = int(row[0]) if row else int(self.store.execute(ADD_REPOSITORY, (key, 0.0)).lastrowid or 0)
            self._keys[key] = found
        return found

    def _take(self, number: int, offset: int, line: bytes) -> None:
        record = _object(line)
        if record is None:
            self.report.spoil(number, "is longer than any record" if line is TOO_LONG else "is no JSON object")
            return
        kind = str(record.get("record"))
        if kind != "turn":
            self.turns.flush()
        if kind in ("memory", "end") and self._later and not self._tried:
            self._tried = True
            self._retry()
        try:
            if kind == "turn":
                if not self.turns.add(record, number):
                    self._later.append((number, offset))
            elif kind == "end":
                self._end = fields.whole(record, "lines")
            else:
                self.report.tell(kind, self._added(kind, record))
        except fields.WRONG as error:
            if kind == "turn":
                self.report.tell("turn", "refused")
            self.report.spoil(number, f"{kind}: {error}")

    def _added(self, kind: str, record: Mapping[str, Any]) -> str:
        """What became of the record, all of which is in the store or nothing, and in what is remembered of the store."""
        aliases = len(self._aliases)
        caches = (self._keys, self.turns, self.memories)
        for each in caches:
            each.mark()
        try:
            with self.store.savepoint():
                return self._add(kind, record)
        except Exception:
            for each in caches:
                each.take_back()
            del self._aliases[aliases:]
            raise

    def _add(self, kind: str, record: Mapping[str, Any]) -> str:
        """What became of the record."""
        add = {
            "repository": self._repository, "forgotten": self._forgotten, "task": self._task, "handoff": self._handoff, "identity": self._identity,
            "session": self.turns.add_session, "memory": self.memories.add, "edge": self.memories.add_edge, "association": self.memories.add_association,
        }.get(kind)  # fmt: skip
        if add is None:
            raise ValueError("no record that this version knows")
        return add(record)

    def _retry(self) -> None:
        """Tries the turns again whose parents were not here; those of a session that came later may be by now."""
        for _ in range(ROUNDS):
            waiting, self._later = self._later, []
            with open(self.path, "rb") as file, self.store.transaction():
                for number, offset in waiting:
                    file.seek(offset)
                    self._take_again(number, offset, file.readline(LONGEST + 1))
                self.turns.flush()
            if not self._later or len(self._later) == len(waiting):
                return

    def _take_again(self, number: int, offset: int, line: bytes) -> None:
        record = _object(line)
        try:
            if record is not None and not self.turns.add(record, number):
                self._later.append((number, offset))
        except fields.WRONG as error:
            self.report.tell("turn", "refused")
            self.report.spoil(number, f"turn: {error}")

    def _repository(self, record: Mapping[str, Any]) -> str:
        key, seen, alias = redact(fields.text(record, "key", empty=False)), fields.number(record, "seen"), fields.text(record, "same_as")
        known = self.store.one(BY_KEY, (key,))
        number = self.repository(key)
        if known is None or known[2] < seen:
            self.store.execute(SET_SEEN, (seen, number))
        if alias:
            self._aliases.append((key, alias))
        return "new" if known is None else "known"

    def _join(self, alias: str, target: str) -> None:
        """Makes one repository an alias as it is in the export, unless it is otherwise here."""
        one, other = self.repository(alias), self.repository(target)
        end = other
        for _ in range(8):
            if end == one:
                return
            after = self.store.value(TARGET, (end,))
            if after is None:
                break
            end = int(after)
        if self.store.value(TARGET, (one,)) is None:
            self.store.execute(SET_ALIAS, (other, one))

    def _forgotten(self, record: Mapping[str, Any]) -> str:
        """A tombstone means something only with the salt that it was made with."""
        salt, own = fields.text(record, "salt", empty=False), fields.hashed(record.get("hash"))
        if not SALTY.fullmatch(salt):
            raise ValueError("salt is none")
        reason, at, size = redact(fields.text(record, "reason")), fields.number(record, "at"), fields.whole(record, "words")
        if self.store.value(IS_TOMBSTONE, (own,)) is not None:
            return "known" if self.store.value(SALT) == salt else "apart"
        if 0 < size < FEWEST_WORDS:
            return "short"
        if self.store.value(SALT) != salt:
            if self.store.value(ANY_TOMBSTONE) is not None:
                return "apart"
            self.store.execute(SET_SALT, (salt,))
        self.store.execute(ADD_TOMBSTONE, (own, size, exporting.TAKEN + reason, at))
        return "new"

    def _task(self, record: Mapping[str, Any]) -> str:
        repository, epic = self.repository(fields.text(record, "repository", empty=False)), redacted(fields.text(record, "epic", empty=False), self.gone)
        state = {
            "title": redacted(fields.text(record, "title"), self.gone), "status": fields.chosen(record, "status", STATUSES),
            "body": json.dumps(redacted(fields.inner(record, "body") or {}, self.gone), ensure_ascii=False),
            "created": fields.number(record, "created"), "updated": fields.number(record, "updated"),
        }  # fmt: skip
        known = self.store.one(TASK_OF, (repository, epic))
        own = dict(zip(TASK_FIELDS, known)) if known else None
        found = {**joined.newer(own, state, "updated"), "created": min(own["created"], state["created"])} if own else state
        if found == own:
            return "known"
        self.store.execute(TASK, (repository, epic, *(found[name] for name in TASK_FIELDS)))
        return "changed" if own else "new"

    def _handoff(self, record: Mapping[str, Any]) -> str:
        repository = self.repository(fields.text(record, "repository", empty=False))
        body = json.dumps(redacted(fields.inner(record, "body") or {}, self.gone), ensure_ascii=False)
        state = {"body": body, "updated": fields.number(record, "updated")}
        known = self.store.one(HANDOFF_OF, (repository,))
        own = dict(zip(("body", "updated"), known)) if known else None
        found = joined.newer(own, state, "updated") if own else state
        if found == own:
            return "known"
        self.store.execute(HANDOFF, (repository, found["body"], found["updated"]))
        return "changed" if own else "new"

    def _identity(self, record: Mapping[str, Any]) -> str:
        frozen = fields.text(record, "frozen", empty=False)
        if not (frozen.isascii() and frozen.isdecimal() and int(frozen[:13]) <= fields.LATEST):
            raise ValueError("frozen is no time")
        own = notes.value(self.store, identity.FROZEN)
        if own and int(own) <= int(frozen):
            return "known"
        notes.note(self.store, identity.FROZEN, frozen)
        return "changed" if own else "new"


def _lines(path: str) -> Iterator[tuple[int, int, bytes]]:
    """The lines of the file by number, each with the byte at which it begins; in the place of what is too long stands TOO_LONG."""
    offset = number = 0
    with open(path, "rb") as file:
        while line := file.readline(LONGEST + 1):
            number += 1
            first, offset = offset, offset + len(line)
            if len(line) > LONGEST:
                while line and not line.endswith(b"\n"):
                    line = file.readline(LONGEST)
                    offset += len(line)
                line = TOO_LONG
            yield number, first, line


def _ids(path: str) -> set[str]:
    """The ids of the memories in an export."""
    found: set[str] = set()
    for _, _, line in _lines(path):
        if b'"memory"' in line:
            record = _object(line) or {}
            if record.get("record") == "memory" and isinstance(record.get("id"), str):
                found.add(record["id"])
    return found


def _object(line: bytes) -> dict[str, Any] | None:
    found = parse(line.decode("utf-8", "replace"), whole=True)
    return found if isinstance(found, dict) else None


def _header(line: bytes) -> dict[str, Any] | None:
    found = _object(line)
    return found if found is not None and found.get("tenon") == exporting.FORMAT else None
