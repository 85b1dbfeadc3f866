"""Whether a store is whole: its pages, its indexes, its chain, its settings. Looks only."""

from __future__ import annotations

import time

from tenon.base.lean import sqlite
from tenon.store import blocks, index, vectors
from tenon.store.archive import chain_hash

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from tenon.store.db import Store

PAGES = "PRAGMA quick_check(10)"
PRAGMAS = ("journal_mode", "foreign_keys", "recursive_triggers", "secure_delete", "synchronous")
PRAGMA = {name: f"PRAGMA {name}" for name in PRAGMAS}
WANTED = {"journal_mode": "wal", "foreign_keys": "1", "recursive_triggers": "1", "secure_delete": "1", "synchronous": "1"}
NEWEST_TURN = "SELECT coalesce(max(id), 0) FROM turn"
LINKED = (
    "SELECT t.id, t.hash, t.parent, p.hash, s.name, t.thread, t.role, t.content, t.forgotten FROM turn t LEFT JOIN session s ON s.id = t.session "
    "LEFT JOIN turn p ON p.id = t.parent WHERE "
)
# All of the newest turns, and every so many of the others.
SOME_TURNS = LINKED + "t.id > ? OR t.id % ? = 0 ORDER BY t.id DESC"
NAMED_TURNS = LINKED + "t.id = ? OR s.name = ? ORDER BY t.id"
SESSION_OF = "SELECT s.name FROM turn t JOIN session s ON s.id = t.session WHERE t.id = ?"
TRANSCRIPTS = "SELECT path FROM feed ORDER BY read DESC"
# Vectors of what is not there, or is not to surface; of all models.
STRAY = (
    "SELECT count(*) FROM vector v WHERE v.kind = 0 AND NOT EXISTS (SELECT 1 FROM memory m WHERE m.id = v.row AND m.status <> 'superseded')",
    "SELECT count(*) FROM vector v WHERE v.kind = 1 AND NOT EXISTS "
    "(SELECT 1 FROM passage p JOIN turn t ON t.id = p.turn WHERE p.id = v.row AND t.kind IN ('prompt', 'reply'))",
)
BLOCKS = "SELECT b.id, b.count, b.rows, length(b.signs), m.dims, b.model, b.kind FROM block b LEFT JOIN model m ON m.id = b.model"
IN_BLOCKS = "SELECT model, kind, block, row FROM vector"
BARE = 2000  # texts without a vector that are looked at
TRY_TEXT = "CREATE VIRTUAL TABLE temp.doctor_fts USING fts5 (text, tokenize = '{}')"


class Chain:
    """What the check of the archive found: how many turns, those that changed, and those whose place in the chain is lost with another row."""

    __slots__ = ("checked", "wrong", "unlinked")

    def __init__(self) -> None:
        self.checked = 0
        self.wrong: list[int] = []
        self.unlinked: list[int] = []


class Vectors:
    """What the check of the vectors found: those of nothing that could surface, texts (of the first 2,000) that should have one, blocks that do not agree.

    `lost` are those of the missing ones that nobody will embed unless everything is made anew; the others come by themselves.
    """

    __slots__ = ("stray", "missing", "lost", "blocks")

    def __init__(self, stray: int, missing: int, blocks: int, lost: int = 0) -> None:
        self.stray = stray
        self.missing = missing
        self.lost = lost
        self.blocks = blocks


class Library:
    """What this Python's SQLite can do."""

    __slots__ = ("version", "fts5", "trigram")

    def __init__(self, version: str, *, fts5: bool, trigram: bool) -> None:
        self.version = version
        self.fts5 = fts5
        self.trigram = trigram


def library() -> Library:
    """The version and the text searches of the SQLite that is loaded."""
    return Library(sqlite.sqlite_version, fts5=_can("porter unicode61 remove_diacritics 2"), trigram=_can("trigram"))


def damaged_pages(store: Store) -> list[str]:
    """What is wrong with the file's pages, in SQLite's words; empty when it is whole. At most ten lines."""
    try:
        return [str(row[0]) for row in store.rows(PAGES) if row[0] != "ok"]
    except sqlite.Error as error:
        return [str(error)]


def damaged_indexes(store: Store) -> dict[str, str]:
    """The text indexes that do not agree with what is stored, and what SQLite says. Needs a store opened for writing."""
    found: dict[str, str] = {}
    for table, check in index.CHECK.items():
        try:
            store.execute(check)
        except sqlite.OperationalError as error:
            if "interrupted" in str(error):
                raise
            if not any(word in str(error) for word in ("locked", "readonly")):
                found[table] = str(error)
        except sqlite.DatabaseError as error:
            found[table] = str(error)
    return found


def check_vectors(store: Store) -> Vectors:
    """How many vectors, texts and blocks are not as they should be; making the indexes anew (`reindex.rebuild`) mends them.

    A text that the built-in table knows too few words of has no vector and misses none.
    """
    if store.con.in_transaction:
        return _seen_at_once(store)
    store.execute("BEGIN")  # so that a session that writes meanwhile is no disagreement
    try:
        return _seen_at_once(store)
    finally:
        store.execute("ROLLBACK")


def _seen_at_once(store: Store) -> Vectors:
    held: dict[tuple[int, int, int], set[int]] = {}
    for model, kind, block, row in store.each(IN_BLOCKS):
        held.setdefault((model, kind, block), set()).add(row)
    uneven = 0
    for number, count, rows, signs, dims, model, kind in store.each(BLOCKS):
        living = held.pop((model, kind, number), set())
        sound = dims is not None and len(rows) == 4 * count and signs == blocks.width(dims) * count
        listed = [row for row in blocks.numbers(rows) if row] if sound else []
        uneven += not sound or len(listed) != len(living) or set(listed) != living
    missing = _without_vector(store)
    return Vectors(sum(int(store.value(query)) for query in STRAY), len(missing), uneven + len(held), sum(missing))


def _without_vector(store: Store) -> list[bool]:
    """Of each text that should have a vector and has none, whether it was passed over."""
    from tenon.vectors.table import shared

    table = shared()
    try:
        return [] if table is None else [passed for passed, text in vectors.bare(store, table.name, BARE) if table.embed(text) is not None]
    except OSError:  # an update has put another table in its place meanwhile
        return []


def check_chain(store: Store, most: int | None, within_s: float, on_turn: Callable[[int, int], object] | None = None) -> Chain:
    """The check of about so many turns, the newest first and no longer than that; None checks every turn.

    `on_turn` is told after each of how many, and of about how many in all.

    A turn whose parent or session is gone (a rescued store may have lost it) cannot be judged and is no changed one.
    """
    end = time.monotonic() + within_s
    newest = int(store.value(NEWEST_TURN))
    found = Chain()
    total = newest if most is None else min(most, newest)
    which = (0, 1) if most is None else (newest - most // 2, max(1, 2 * newest // most))
    for row in store.each(SOME_TURNS, which):
        _judge(row, found)
        if on_turn is not None:
            on_turn(found.checked, total)
        if most is not None and time.monotonic() > end:
            break
    return found


def changed(store: Store, refs: Iterable[str]) -> list[int]:
    """Which of the turns, named by their own ids or by their sessions, are not as they were written: the index knows them by other words."""
    found = Chain()
    for ref in refs:
        number = int(ref[1:]) if ref[:1] == "t" and ref[1:].isdecimal() else 0
        for row in store.each(NAMED_TURNS, (number, ref)):
            _judge(row, found)
    return [*found.wrong, *found.unlinked]


def _judge(row: tuple[Any, ...], found: Chain) -> None:
    turn, own, parent, above, name, thread, role, content, blank = row
    found.checked += 1
    if (parent is not None and above is None) or (parent is None and name is None):
        found.unlinked.append(int(turn))
    elif blank is None and (not isinstance(content, str) or chain_hash(above, name, thread, role, content) != own):
        found.wrong.append(int(turn))


def sessions_of(store: Store, turns: list[int]) -> dict[str, list[int]]:
    """The turns by the name of their session."""
    found: dict[str, list[int]] = {}
    for turn in sorted(turns):
        found.setdefault(str(store.value(SESSION_OF, (turn,)) or ""), []).append(turn)
    return found


def transcripts(store: Store) -> list[str]:
    """The paths of all transcripts that were ever read, those read last first."""
    return [str(row[0]) for row in store.rows(TRANSCRIPTS)]


def odd_pragmas(store: Store) -> dict[str, str]:
    """The connection's settings that are not as Tenon sets them."""
    found = {name: str(store.value(PRAGMA[name])) for name in PRAGMAS}
    return {name: value for name, value in found.items() if value != WANTED[name]}


def _can(tokenizer: str) -> bool:
    con = sqlite.connect(":memory:")
    try:
        con.execute(TRY_TEXT.format(tokenizer))
    except sqlite.Error:
        return False
    finally:
        con.close()
    return True
