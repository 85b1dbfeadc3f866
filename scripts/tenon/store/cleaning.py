"""Taking what was deleted out of the files too: out of freed pages, the text indexes' old segments and the write-ahead log."""

from __future__ import annotations

from contextlib import suppress

from tenon.base.lean import sqlite
from tenon.store import index

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tenon.store.db import Store

SMALL_BYTES = 64_000_000  # a store up to this size is written anew; in a larger one freed space is overwritten only
SIZE = "SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()"


def checkpoint(store: Store) -> bool:
    """Whether the write-ahead log is empty now: everything is in the main file, and nothing of what was deleted beside it."""
    try:
        row = store.one("PRAGMA wal_checkpoint(TRUNCATE)")
    except sqlite.Error:
        return False
    return row is not None and not row[0]


def clean(store: Store) -> None:
    """Takes what was deleted out of the files too. Where another process is in the way the next one does it."""
    if store.con.in_transaction:
        return  # the caller has more to write
    with suppress(sqlite.OperationalError):
        for table in ("memory_fts", "turn_fts"):
            store.execute(index.OPTIMIZE[table])
        checkpoint(store)
        if store.value(SIZE) <= SMALL_BYTES:
            store.execute("PRAGMA temp_store = MEMORY")
            store.execute("VACUUM")
    checkpoint(store)
