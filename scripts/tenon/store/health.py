"""Whether a store is whole: its pages, its indexes, its chain, its settings. Looks only."""
from __future__ import annotations

import time

from tenon.base.lean import sqlite
from tenon.store import index
from tenon.store.archive import chain_hash

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tenon.store.db import Store

PAGES = "PRAGMA quick_check(10)"
PRAGMAS = ("journal_mode", "foreign_keys", "recursive_triggers", "secure_delete", "synchronous")
PRAGMA = {name: f"PRAGMA {name}" for name in PRAGMAS}
WANTED = {"journal_mode": "wal", "foreign_keys": "1", "recursive_triggers": "1", "secure_delete": "1", "synchronous": "1"}
NEWEST_TURN = "SELECT coalesce(max(id), 0) FROM turn"
# All of the newest turns, and every so many of the others.
SOME_TURNS = (
    "SELECT t.id, t.hash, p.hash, s.name, t.thread, t.role, t.content, t.forgotten FROM turn t JOIN session s ON s.id = t.session "
    "LEFT JOIN turn p ON p.id = t.parent WHERE t.id > ? OR t.id % ? = 0 ORDER BY t.id DESC"
)
TRY_TEXT = "CREATE VIRTUAL TABLE temp.doctor_fts USING fts5 (text, tokenize = '{}')"


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
            if "locked" not in str(error):
                found[table] = str(error)
        except sqlite.DatabaseError as error:
            found[table] = str(error)
    return found


def sample_chain(store: Store, most: int, within_s: float) -> tuple[int, list[int]]:
    """How many turns were checked, about so many and no longer than that, and those whose hash does not fit."""
    end = time.monotonic() + within_s
    newest = int(store.value(NEWEST_TURN))
    checked = 0
    wrong: list[int] = []
    for turn, own, parent, name, thread, role, content, blank in store.each(SOME_TURNS, (newest - most // 2, max(1, 2 * newest // most))):
        checked += 1
        if blank is None and chain_hash(parent, name, thread, role, content) != own:
            wrong.append(int(turn))
        if time.monotonic() > end:
            break
    return checked, wrong


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
