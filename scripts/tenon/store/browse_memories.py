"""Memories as a person looks through them: narrowed, in an order, a page at a time by key, and found while the words are being typed.

A search looks through the newest WINDOW memories with the words, then through the next so many, so that a word that half of them have costs no
more than another; within a window they come in the order that is wanted. Superseded memories are not in the index: they are read through.
"""

from __future__ import annotations

from itertools import islice

from tenon.base.lean import sqlite
from tenon.base.text import is_unspaced, words
from tenon.store.memories import COLUMNS, DAY_S, Memory

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from tenon.store.db import Store

ORDERS = ("newest", "strongest", "cited")
STATUSES = ("live", "faded", "superseded")
NARROWED_BY = ("tier", "kind", "source", "writer")  # columns
WINDOW = 2000  # memories with the words that are put in order together
WINDOWS = 4  # that one page looks through
AT_ONCE = 500  # rows that are looked up by one query
MOST_WORDS = 12
STEM = 4  # letters that a word has in common with what the index has made of it
SHORTEST_REF = 4  # letters of an id that is being typed
REFS = 5  # memories whose ids begin so
END = 1 << 62

STRENGTH = "m.strength * pow(CASE m.tier WHEN 'short' THEN ? ELSE ? END, max(0.0, ? - m.decayed) / ?)"
KEYS = {"newest": "m.created", "strongest": STRENGTH, "cited": "m.citations"}
PAGE = (
    "SELECT id, key FROM (SELECT m.id AS id, {key} AS key FROM memory m {table} AND m.status = ? {more} {once}) "
    "WHERE key <= ? AND (key < ? OR id < ?) ORDER BY key DESC, id DESC LIMIT ?"
)
ONCE = "LIMIT -1"  # keeps SQLite from working the strength out again wherever it is named
TABLE = {
    "time": "INDEXED BY memory_by_time WHERE 1",
    "place": "INDEXED BY memory_by_repository WHERE 1",
    "few": "WHERE m.id IN (SELECT id FROM memory INDEXED BY memory_by_repository WHERE status = ?)",
    "": "NOT INDEXED WHERE 1",  # a walk along an index that finds little costs more than reading everything in a row
}
FOUND = "WHERE m.id IN ({rows})"
MATCHING = "SELECT rowid FROM memory_fts WHERE memory_fts MATCH ? AND rowid < ? ORDER BY rowid DESC"
ANY = "SELECT 1 FROM memory_fts WHERE memory_fts MATCH ? LIMIT 1"
SAID = "AND m.text || ' ' || m.reason || ' ' || m.labels || ' ' || m.epic LIKE ? "
BY_REF = "SELECT id FROM memory WHERE ref >= ? AND ref < ? ORDER BY ref LIMIT ?"
BY_ROWS = f"SELECT {COLUMNS} FROM memory WHERE id IN ({{rows}})"
HELD = "SELECT total(status = 'live'), total(status = 'faded'), total(status = 'superseded') FROM memory INDEXED BY memory_by_repository"
POWER = "SELECT pow(2.0, 2.0)"


class Wanted:
    """What is looked for: the words, the status, repository numbers (None: any; (None,): what is true everywhere), columns and their values, and the order."""

    __slots__ = ("text", "words", "status", "scope", "equal", "order", "now", "per_day")

    def __init__(
        self, *, now: float, per_day: Mapping[str, float], text: str = "", status: str = "live", scope: Sequence[int | None] | None = None,
        equal: Mapping[str, str] | None = None, order: str = "newest",
    ) -> None:  # fmt: skip
        self.text = text.strip()
        self.words = typed(text)
        self.status = status
        self.scope = scope
        self.equal = {name: value for name, value in (equal or {}).items() if value and name in NARROWED_BY}
        self.order = order
        self.now = now
        self.per_day = per_day


class Key:
    """Where a page ended: the last one's key and row, the row before which its window began, and the time for which strength was told."""

    __slots__ = ("value", "row", "before", "now")

    def __init__(self, value: float, row: int, before: int, now: float) -> None:
        self.value = value
        self.row = row
        self.before = before
        self.now = now


def typed(text: str) -> list[str]:
    """The words of what is being typed, as the index has them; the last one ends in «*» where it may go on."""
    found = list(dict.fromkeys(words(text.casefold())))[:MOST_WORDS]
    if found and len(found[-1]) > 1 and not found[-1].endswith("*") and not is_unspaced(found[-1][-1]):
        found[-1] += "*"
    return found


def page(store: Store, wanted: Wanted, after: Key | None, limit: int) -> tuple[list[Memory], Key | None]:
    """At most so many memories that come after the key, and the key of the next page, None when there is no more.

    A page can be shorter than it might be, or empty, where much was looked through in vain; the next one goes on from there. Memories whose ids begin with
    the text come first of all, whatever their status.
    """
    now = wanted.now if after is None else after.now
    named = by_ref(store, wanted.text)
    if not wanted.words and wanted.text:
        return _read(store, named if after is None else []), None
    where, values = _narrowed(wanted, named)
    start = after or Key(float("inf"), END, END, now)
    if not wanted.words or wanted.status == "superseded":
        rows = _listed(store, wanted, start, where, values, limit + 1)
    else:
        rows, last = _searched(store, wanted, start, where, values, limit + 1)
        if last is not None:
            return _read(store, [*(named if after is None else []), *(row for row, _, _ in rows)]), last
    shown = rows[:limit]
    end = Key(shown[-1][1], shown[-1][0], shown[-1][2], now) if len(rows) > limit else None
    return _read(store, [*(named if after is None else []), *(row for row, _, _ in shown)]), end


def by_ref(store: Store, text: str) -> list[int]:
    """The rows of the memories whose ids begin with the text, a few at most; none when it is too short for an id, or none."""
    start = text.rstrip("….").lower()
    if len(start) < SHORTEST_REF or start[0] != "m" or not start.isascii() or not start.isalnum():
        return []
    return [int(row) for (row,) in store.rows(BY_REF, (start, start + "\x7f", REFS))]


def held(store: Store) -> dict[str, int]:
    """How many memories there are of each status."""
    return dict(zip(STATUSES, map(int, store.rows(HELD)[0])))


def _listed(store: Store, wanted: Wanted, start: Key, where: str, values: Sequence[object], limit: int) -> list[tuple[int, float, int]]:
    said = [f"%{word.rstrip('*')}%" for word in wanted.words]
    plain = (wanted.order, where) == ("newest", "")
    table = "place" if wanted.scope is not None else "few" if wanted.status != "live" else "time" if plain else ""
    given = [wanted.status] if table == "few" else []
    return [(row, key, END) for row, key in _ordered(store, wanted, TABLE[table], given, where + SAID * len(said), [*values, *said], start, limit)]


def _searched(store: Store, wanted: Wanted, start: Key, where: str, values: Sequence[object], limit: int) -> tuple[list[tuple[int, float, int]], Key | None]:
    """The rows, and where to go on when as much was looked through as one page may and they are still too few."""
    match, said = _match(store, wanted.words)
    more, given = (where + SAID, [*values, said]) if said else (where, [*values])
    rows = store.each(MATCHING, (match, start.before))
    found: list[tuple[int, float, int]] = []
    for _ in range(WINDOWS):
        window = [int(row) for (row,) in islice(rows, WINDOW)]
        passing: list[tuple[int, float]] = []
        for first in range(0, len(window), AT_ONCE):
            some = window[first : first + AT_ONCE]
            passing += _ordered(store, wanted, FOUND.format(rows=_marks(some)), some, more, given, start, -1)
        found += [(row, key, start.before) for row, key in sorted(passing, key=lambda one: (-one[1], -one[0]))]
        if len(found) >= limit or len(window) < WINDOW:
            return found[:limit], None
        start = Key(float("inf"), END, window[-1], start.now)
    return found, start


def _ordered(
    store: Store, wanted: Wanted, table: str, given: Sequence[object], more: str, values: Sequence[object], start: Key, limit: int
) -> list[tuple[int, float]]:
    key: list[object] = []
    if wanted.order == "strongest":
        _have_power(store)
        key = [wanted.per_day["short"], wanted.per_day["long"], start.now, DAY_S]
    sql = PAGE.format(key=KEYS[wanted.order], table=table, more=more, once=ONCE if key else "")
    return [(int(row), value) for row, value in store.rows(sql, (*key, *given, wanted.status, *values, start.value, start.value, start.row, limit))]


def _match(store: Store, found: Sequence[str]) -> tuple[str, str]:
    """The expression for the words, and a pattern for the texts where the last word has no row by itself.

    The index has stems: «migratio» begins none, though «migration» has one. Then it is looked up by its first letters, and for itself in the texts.
    """
    match = _every(found)
    last = found[-1].rstrip("*")
    if len(last) <= STEM or not found[-1].endswith("*") or not last.isascii() or store.value(ANY, (match,)) is not None:
        return match, ""
    return _every([*found[:-1], last[:STEM].rstrip("y") + "*"]), f"%{last}%"


def _every(found: Sequence[str]) -> str:
    return " AND ".join(f'"{word[:-1]}"*' if word.endswith("*") else f'"{word}"' for word in found)


def _narrowed(wanted: Wanted, without: Sequence[int]) -> tuple[str, list[object]]:
    more = ""
    values: list[object] = []
    if wanted.scope is not None:
        numbers = [number for number in wanted.scope if number is not None]
        more = "AND m.repository IS NULL " if not numbers else f"AND m.repository IN ({_marks(numbers)}) "
        values.extend(numbers)
    for name, value in wanted.equal.items():
        more += f"AND m.{name} = ? "
        values.append(value)
    if without:
        more += f"AND m.id NOT IN ({_marks(without)}) "
        values.extend(without)
    return more, values


def _read(store: Store, rows: Sequence[int]) -> list[Memory]:
    found: dict[int, Any] = {row[0]: row for row in store.rows(BY_ROWS.format(rows=_marks(rows)), tuple(rows))}
    return [Memory(found[row]) for row in rows if row in found]


def _have_power(store: Store) -> None:
    """SQLite has pow() only where it was built with its mathematics."""
    try:
        store.value(POWER)
    except sqlite.OperationalError:
        store.con.create_function("pow", 2, pow)


def _marks(values: Sequence[object]) -> str:
    return ", ".join("?" * len(values)) or "NULL"
