"""Sessions and archived turns of an export on their way into a store: each turn proves its place in its chain before it is taken.

A turn whose hash does not fit is not taken, and neither is what follows it. One that is here already stays as it is, and one
that was forgotten here, or said before the archive was removed, stays gone; what follows such a one begins anew. Where redaction, or what the user had forgotten, changes a turn, it is hashed anew
as it is kept, and what follows it too.
"""

from __future__ import annotations

import json

from tenon.base.redact import redact
from tenon.store import archive, fields, forgotten, spotted, summaries
from tenon.store.cached import Cached

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from tenon.store.db import Store
    from tenon.store.merging import Report

AT_ONCE = 200  # turns that are archived together
ROLES = ("user", "assistant", "system")
KINDS = ("prompt", "reply", "thinking", "call", "result", "other")
SOURCES = ("user", "assistant", "tool", "outside")
WRITERS = ("code", "digest")

BY_NAME = "SELECT id, started, last FROM session WHERE name = ?"
ADD_SESSION = "INSERT INTO session (name, repository, folder, branch, client, started, last) VALUES (?, ?, ?, ?, ?, ?, ?)"
STRETCH = "UPDATE session SET started = ?, last = ? WHERE id = ?"
HAS_FORGOTTEN = "SELECT 1 FROM turn WHERE session = ? AND forgotten IS NOT NULL LIMIT 1"
BY_HASH = "SELECT id, forgotten FROM turn WHERE hash = ?"
STANDS = "SELECT hash, forgotten, at FROM turn WHERE id = ?"
DEALT = "INSERT INTO consolidated (turn, how, at) VALUES (?, ?, ?) ON CONFLICT (turn) DO UPDATE SET how = max(how, excluded.how), at = min(at, excluded.at)"
GIST = "INSERT OR IGNORE INTO gist (turn, text, digest) VALUES (?, ?, 0)"
READ = "INSERT INTO reading (turn, chars) VALUES (?, ?) ON CONFLICT (turn) DO UPDATE SET chars = max(chars, excluded.chars)"
BY_LINE = "SELECT t.id FROM line l JOIN turn t ON t.id = l.turn WHERE l.uuid = ? AND t.role = ? AND t.content = ?"
NEWEST = "SELECT coalesce(max(id), 0) FROM turn"


class _Waiting:
    """A turn that is to be archived with its batch."""

    __slots__ = ("number", "row", "own", "record")

    def __init__(self, number: int, row: archive.Row, own: bytes, record: Mapping[str, Any]) -> None:
        self.number = number  # of its line
        self.row = row
        self.own = own
        self.record = record


class Turns:
    """The sessions and turns of an export. The report is told what became of each: new, known, forgotten, refused or excluded."""

    def __init__(self, store: Store, repository: Callable[[str], int], report: Report, is_excluded: Callable[[str], bool]) -> None:
        self.store = store
        self.repository = repository
        self.report = report
        self.is_excluded = is_excluded
        self.gone: forgotten.Forgotten | None = None
        self._numbers: Cached[str, int | None] = Cached()  # of the sessions; None for one that is kept out here
        self._purged = forgotten.purged(store)
        self._left: set[bytes] = set()  # turns that are left out, such that what follows them begins anew
        self._moved: dict[bytes, int] = {}  # turns that have another hash here
        self._place: tuple[int, int] = (0, 0)  # session and repository of the batch
        self._batch: dict[bytes, _Waiting] = {}

    def mark(self) -> None:
        """From here on what is remembered of the store can be taken back, as a savepoint takes back what was written."""
        self._numbers.mark()

    def take_back(self) -> None:
        """Forgets what was remembered since the mark."""
        self._numbers.take_back()

    def add_session(self, record: Mapping[str, Any]) -> str:
        """What became of the session: new, changed, known or excluded. Raises ValueError for one that is none."""
        self.flush()
        name, folder = fields.text(record, "name", empty=False), redact(fields.text(record, "folder"))
        started, last = fields.number(record, "started"), fields.number(record, "last")
        client = self._without(redact(fields.text(record, "client"))) or "import"
        repository = self.repository(fields.text(record, "repository", empty=False))
        if self.is_excluded(folder):
            self._numbers[name] = None
            return "excluded"
        if last < self._purged:
            self._numbers[name] = None
            return "forgotten"
        kept = self._without(redact(name))
        known = self.store.one(BY_NAME, (kept,))
        if known is None:
            folder, branch = (self._without(text) for text in (folder, redact(fields.text(record, "branch"))))
            number, outcome = int(self.store.execute(ADD_SESSION, (kept, repository, folder, branch, client, started, last)).lastrowid or 0), "new"
        else:
            number, outcome = int(known[0]), "known"
            if (min(started, known[1]), max(last, known[2])) != tuple(known[1:]):
                self.store.execute(STRETCH, (min(started, known[1]), max(last, known[2]), number))
                outcome = "changed"
        self._numbers[name] = number
        told = fields.inner(record, "summary")
        if told is not None and self._summarised(number, repository, told) and outcome == "known":
            outcome = "changed"
        return outcome

    def add(self, record: Mapping[str, Any], line: int) -> bool:
        """Whether the turn could be looked at: not yet when what it follows is not here. Raises ValueError for one that is none, or does not fit."""
        name = fields.text(record, "session", empty=False)
        own, content = (
            fields.hashed(record.get("hash")),
            json.dumps(fields.listed(record, "content"), ensure_ascii=False, sort_keys=True, separators=(",", ":")),
        )
        parent = fields.hashed(record["parent"], "parent") if record.get("parent") is not None else None
        role, thread = fields.chosen(record, "role", ROLES), fields.text(record, "thread")
        if name not in self._numbers:
            raise ValueError("its session is not in front of it")
        session, at = self._numbers[name], fields.number(record, "at")
        blank = fields.maybe(record, "forgotten")
        if blank is None and archive.chain_hash(parent, name, thread, role, content) != own:
            raise ValueError("its hash does not fit what it says and what it follows")
        if at < self._purged:
            self._left.add(own)
            self.told("turn", "forgotten")
            return True
        if session is None:
            self.told("turn", "excluded")
            return True
        is_cut = record.get("cut") is True  # the export has not what it follows, so it begins anew where that is not here
        if self._after(parent) is None and not is_cut:
            return False
        place = session, self.repository(fields.text(record, "repository", empty=False))
        row = archive.Row(
            uuid="", parent="", role=role, kind=fields.chosen(record, "kind", KINDS), source=fields.chosen(record, "source", SOURCES),
            at=at, content=fields.listed(record, "content"), thread=redact(thread), message=redact(fields.text(record, "message")),
        )  # fmt: skip
        _checked(record)
        # From here on nothing of the record can be wrong: what is written for the turns before it is never taken back with it.
        if place != self._place or len(self._batch) >= AT_ONCE or blank is not None:
            self.flush()
        self._place = place
        row.after = self._after(parent) or 0
        known = self._number(own)
        if known is None and blank is None and own not in self._batch:
            known = self._same(record, role, content)
            if known is not None:
                self._moved[own] = known
        if known is not None or own in self._batch:
            if known is not None:
                with self.store.savepoint():
                    self._note(known, record)
            self.told("turn", "known")
        elif blank is not None:
            with self.store.savepoint():
                self._add_blank(row, own, blank, record)
            self.told("turn", "new")
        else:
            self._batch[own] = _Waiting(line, row, own, record)
        return True

    def flush(self) -> None:
        """Archives the batch."""
        batch, self._batch = list(self._batch.values()), {}
        try:
            self._write(batch)
        except fields.WRONG:
            # One of them is not as it must be, in a way that nobody has foreseen: each by itself, and that one alone is refused.
            for waiting in batch:
                waiting.row.turn = 0
            for waiting in batch:
                self._write_alone(waiting)

    def told(self, thing: str, outcome: str) -> None:
        """Counts one in."""
        self.report.tell(thing, outcome)

    def _write(self, batch: Sequence[_Waiting]) -> None:
        if not batch:
            return
        before = self.store.value(NEWEST)
        moved: dict[bytes, int] = {}
        outcomes: list[str] = []
        with self.store.savepoint():
            archive.append(self.store, *self._place, [waiting.row for waiting in batch])
            for waiting in batch:
                own, blank, _ = self.store.one(STANDS, (waiting.row.turn,)) or (b"", None, 0.0)
                if bytes(own) != waiting.own:
                    moved[waiting.own] = waiting.row.turn
                self._note(waiting.row.turn, waiting.record)
                outcomes.append("known" if waiting.row.turn <= before else "new" if blank is None else "forgotten")
        self._moved.update(moved)
        for outcome in outcomes:
            self.told("turn", outcome)

    def _write_alone(self, waiting: _Waiting) -> None:
        try:
            after = waiting.row.after
            if isinstance(after, archive.Row) and not after.turn:
                raise ValueError("the turn before it was refused")
            self._write([waiting])
        except fields.WRONG as error:
            waiting.row.turn = 0
            self.told("turn", "refused")
            self.report.spoil(waiting.number, f"turn: {error}")

    def here(self, own: bytes) -> tuple[int, bool] | None:
        """The number of the turn that has that hash in the export, and whether it is forgotten here; None when it is not here."""
        number = self._number(own)
        row = None if number is None else self.store.one(STANDS, (number,))
        return None if row is None or number is None else (number, row[1] is not None)

    def _number(self, own: bytes) -> int | None:
        row = self.store.one(BY_HASH, (own,))
        return int(row[0]) if row else self._moved.get(own)

    def _same(self, record: Mapping[str, Any], role: str, content: str) -> int | None:
        """The turn here that stands for one of its lines and says the same: it follows another one here, or nothing, as its session was cut."""
        found = (self.store.value(BY_LINE, (uuid, role, content)) for uuid in _lines(record))
        return next((int(number) for number in found if number is not None), None)

    def _after(self, parent: bytes | None) -> archive.Row | int | None:
        """What a turn follows, as `archive.Row` has it; None when that is not here."""
        if parent is None or parent in self._left:
            return 0
        waiting = self._batch.get(parent)
        return waiting.row if waiting is not None else self._number(parent)

    def _add_blank(self, row: archive.Row, own: bytes, blank: float, record: Mapping[str, Any]) -> None:
        after = row.after if isinstance(row.after, int) and row.after else None
        session, repository = self._place
        values = (own, after, session, repository, row.thread, row.message, row.role, row.kind, row.source, row.at, 0, "[]", blank)
        self._note(int(self.store.execute(archive.ADD_TURN, values).lastrowid or 0), record)

    def _note(self, turn: int, record: Mapping[str, Any]) -> None:
        """What is noted of a turn besides what it says."""
        for uuid in _lines(record):
            self.store.execute(archive.ADD_LINE, (uuid, turn))
        dealt, gist, read = fields.inner(record, "dealt"), redact(fields.text(record, "gist")), fields.whole(record, "read")
        own, blank, at = self.store.one(STANDS, (turn,)) or (b"", None, 0.0)
        if dealt is not None:
            self.store.execute(DEALT, (turn, dealt["how"], dealt["at"]))
        if gist and blank is None and self._without(gist) == gist:
            self.store.execute(GIST, (turn, gist))
        if read:
            self.store.execute(READ, (turn, read))
        if record.get("spotted") is True:
            session = self._place[0]
            reached = spotted.reached(self.store, session)
            other = self.store.one(STANDS, (reached,)) if reached else None
            if other is None or (other[2], bytes(other[0])) < (at, bytes(own)):
                spotted.reach(self.store, session, turn)

    def _without(self, text: str) -> str:
        return text if self.gone is None else self.gone.without(text)

    def _summarised(self, session: int, repository: int, told: Mapping[str, Any]) -> bool:
        """Whether the summary is taken: one of a session in which something was forgotten here may speak of that."""
        text, at, writer = redact(fields.text(told, "text", empty=False)), fields.number(told, "at"), fields.chosen(told, "writer", WRITERS)
        own = summaries.of_session(self.store, session)
        if at < self._purged or self.store.value(HAS_FORGOTTEN, (session,)) is not None or self._without(text) != text:
            return False
        if own is not None and (own.at, own.writer, own.text) >= (at, writer, text):
            return False
        summaries.upsert(self.store, session, repository, text, at, writer)
        return True


def _checked(record: Mapping[str, Any]) -> None:
    """Raises ValueError when what is noted beside a turn is not as it must be."""
    _lines(record)
    dealt = fields.inner(record, "dealt")
    if dealt is not None:
        fields.chosen(dealt, "how", ("written", "skipped"))
        fields.number(dealt, "at")
    fields.text(record, "gist")
    fields.whole(record, "read")


def _lines(record: Mapping[str, Any]) -> list[str]:
    """The ids of the transcript's lines that the turn stands for. Raises ValueError when one of them is none."""
    return [redact(fields.text({"lines": uuid}, "lines", empty=False)) for uuid in fields.listed(record, "lines")]
