"""What was forgotten after a backup was made, so that it is forgotten again where the backup is put back; an archive that was removed too."""

from __future__ import annotations

import json

from tenon.base.lean import sqlite
from tenon.store import db, forget, forgotten, memories, purging

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from tenon.store.db import Store

SALT = "SELECT value FROM meta WHERE name = 'salt'"
SET_SALT = "INSERT OR REPLACE INTO meta (name, value) VALUES ('salt', ?)"
ANY = "SELECT 1 FROM tombstone LIMIT 1"
PURGED = "SELECT value FROM meta WHERE name = ?"
TOMBSTONES = "SELECT hash, words, reason, at FROM tombstone"
ADD = "INSERT OR IGNORE INTO tombstone (hash, words, reason, at) VALUES (?, ?, ?, ?)"
BLANK = "SELECT hash FROM turn WHERE forgotten IS NOT NULL"
STANDS = "SELECT id FROM turn WHERE hash = ? AND forgotten IS NULL"
MEMORIES = "SELECT id FROM memory ORDER BY id"
TURNS = "SELECT id, content FROM turn WHERE forgotten IS NULL ORDER BY id"
REASON = "it was forgotten before a backup was put back"


def again(store: Store, present: str, now: float) -> int | None:
    """How many memories and turns of a restored store are forgotten again, as the store that was in its place (a file) has forgotten them.

    None when that cannot be read, or knows forgotten things by hashes that mean nothing here.
    """
    try:
        con = sqlite.connect(f"file:{db.uri_path(present)}?mode=ro&immutable=1", isolation_level=None, uri=True)
        try:
            row, removed = con.execute(SALT).fetchone(), con.execute(PURGED, (forgotten.PURGED,)).fetchone()
            tombstones, blank = con.execute(TOMBSTONES).fetchall(), [bytes(own) for (own,) in con.execute(BLANK)]
        finally:
            con.close()
    except sqlite.Error:
        return None
    before = forgotten.purge_time(str(removed[0])) if removed else 0.0
    purged = purging.purge(store, before).turns if before > forgotten.purged(store) else 0
    if not tombstones or row is None:
        return purged
    if store.value(SALT) != row[0]:
        if store.value(ANY) is not None:
            return None
        store.execute(SET_SALT, (row[0],))
    with store.transaction():
        for tombstone in tombstones:
            store.execute(ADD, tombstone)
    found = [*_memories(store), *_turns(store, blank)]
    if found:
        forget.forget(store, found, REASON, now)
    return purged + len(found)


def _memories(store: Store) -> Iterator[str]:
    gone = forgotten.Forgotten(store)
    for (number,) in store.rows(MEMORIES):
        memory = memories.by_id(store, number)
        texts = [memory.text, *(str(earlier["text"]) for earlier in memories.history(store, memory))]
        if any(gone.is_text(text) or gone.without(text) != text for text in texts):
            yield memory.ref


def _turns(store: Store, blank: list[bytes]) -> list[str]:
    found = {int(row[0]) for own in blank for row in store.rows(STANDS, (own,))}
    gone = forgotten.Forgotten(store)
    if gone.windows:
        # What the user named may stand in any of them; the blocks are compared as they are stored.
        for number, content in store.each(TURNS):
            blocks = json.loads(content)
            if gone.without_in(blocks) != blocks:
                found.add(int(number))
    return [f"t{number}" for number in sorted(found)]
