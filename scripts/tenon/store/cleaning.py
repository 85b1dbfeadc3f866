"""Taking what was deleted out of the files too: out of freed pages, the text indexes' old segments and the write-ahead log.

That it is to be done is noted with the deletion itself, so that somebody does it also when whoever deleted was ended before.
"""

from __future__ import annotations

import os
from contextlib import suppress

from tenon.base.lean import sqlite
from tenon.store import index, notes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tenon.store.db import Store

DUE = "to be cleaned"  # the note: other letters with every deletion
SMALL_BYTES = 64_000_000  # a store up to this size is written anew; in a larger one freed space is overwritten only
SIZE = "SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()"
DONE = "DELETE FROM meta WHERE name = ? AND value = ?"


def checkpoint(store: Store) -> bool:
    """Whether the write-ahead log is empty now: everything is in the main file, and nothing of what was deleted beside it."""
    try:
        row = store.one("PRAGMA wal_checkpoint(TRUNCATE)")
    except sqlite.Error:
        return False
    return row is not None and not row[0]


def note(store: Store) -> None:
    """Notes, in the transaction that deletes, that the files are to be cleaned of it."""
    notes.note(store, DUE, os.urandom(8).hex())


def is_due(store: Store) -> bool:
    """Whether what was deleted may still be in the files."""
    return bool(notes.value(store, DUE))


def clean(store: Store) -> bool:
    """Whether what was deleted is out of the files too now. Where another process is in the way the next one does it."""
    if store.con.in_transaction:
        return False  # the caller has more to write
    with suppress(sqlite.OperationalError):
        due = notes.value(store, DUE)
        for table in ("memory_fts", "turn_fts"):
            store.execute(index.OPTIMIZE[table])
        checkpoint(store)
        if store.value(SIZE) <= SMALL_BYTES:
            store.execute("PRAGMA temp_store = MEMORY")
            store.execute("VACUUM")
        if checkpoint(store):
            store.execute(DONE, (DUE, due))  # unless more was deleted meanwhile
            return checkpoint(store) and not is_due(store)
    checkpoint(store)
    return False


def catch_up(store: Store) -> bool:
    """Cleans the files when that is due and nobody is in the way; gives whether nothing is due any more."""
    if not is_due(store):
        return True
    return checkpoint(store) and clean(store)
