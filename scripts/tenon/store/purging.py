"""The archive removed for good: every turn, what was made of turns alone, and what the proxy keeps of conversations. Memories stay.

The newest turn keeps its row, blanked, so that no number, and with it no id, is ever used again. How far transcripts were read
stays too, so that nothing of them is read anew, and when it was: what was said before that is not archived again, be it in a
transcript that was moved or forked, or in an older export.
"""

from __future__ import annotations

from tenon.store import cleaning, copies, forgotten, index, pressure, vectors

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tenon.store.db import Store

TURNS = "SELECT count(*) FROM turn"
SESSIONS = "SELECT count(*) FROM session"
CONVERSATIONS = "SELECT id FROM conversation"
PIECES = "SELECT id FROM piece"
LATER = "SELECT repository, at, thread, role, content FROM turn WHERE at >= ?"
NEWEST = "SELECT max(id) FROM turn"
TRIGGERS = "SELECT name, sql FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'turn'"
DROP_TRIGGER = 'DROP TRIGGER "{}"'
# Whatever points to turns, and what tells of a session.
POINTING = 'SELECT DISTINCT m.name, f."from" FROM sqlite_master m JOIN pragma_foreign_key_list(m.name) f WHERE m.type = \'table\' AND f."table" = ? ORDER BY 1'
EMPTY = 'DELETE FROM "{}"'
OF_SESSIONS = ("summary", "spotted", "selection")
DROP_TURNS = "DELETE FROM turn WHERE id <> ?"
BLANK = "UPDATE turn SET content = '[]', parent = NULL, message = '', tokens = 0, forgotten = coalesce(forgotten, ?) WHERE id = ?"
BARE_SESSIONS = "UPDATE session SET folder = '', branch = ''"
DROP_SESSIONS = "DELETE FROM session WHERE NOT EXISTS (SELECT 1 FROM turn t WHERE t.session = session.id)"
USED = ' AND NOT EXISTS (SELECT 1 FROM "{0}" u WHERE u."{1}" = session.id)'
NO_WORDS = "UPDATE journal SET words = '' WHERE event IN ('prompt', 'tool', 'command')"
FROM_TURNS = "SELECT count(DISTINCT memory) FROM lineage"
ADD_DEED = "INSERT INTO deed (at, what, ref, note) VALUES (?, 'purge', '', ?)"


class Purged:
    """What there is to remove, or was: turns, sessions, conversations of the proxy, and the memories that lose where they came from."""

    __slots__ = ("turns", "sessions", "conversations", "memories")

    def __init__(self, store: Store) -> None:
        self.turns = int(store.value(TURNS))
        self.sessions = int(store.value(SESSIONS))
        self.conversations = len(store.rows(CONVERSATIONS))
        self.memories = int(store.value(FROM_TURNS))


def purge(store: Store, now: float) -> Purged:
    """Removes the archive, whole or not at all, and out of the file too; gives what it was."""
    with store.transaction():
        found = Purged(store)
        forgotten.purge_before(store, now)
        for place in store.rows(LATER, (now,)):  # said by a clock that was ahead
            forgotten.bury_turn(store, "purged", now, *place)
        triggers = store.rows(TRIGGERS)
        for name, _ in triggers:
            store.execute(DROP_TRIGGER.format(name))
        for table, _ in store.rows(POINTING, ("turn",)):
            if table != "turn":
                store.execute(EMPTY.format(table))
        for table in OF_SESSIONS:
            store.execute(EMPTY.format(table))
        store.execute(index.EMPTY["turn_fts"])
        vectors.clear(store, vectors.PASSAGE)
        newest = store.value(NEWEST)
        store.execute(BLANK, (now, newest))
        store.execute(DROP_TURNS, (newest,))
        store.execute(BARE_SESSIONS)
        still = [row for row in store.rows(POINTING, ("session",)) if row[0] not in ("turn", *OF_SESSIONS)]  # what was counted of them stays
        store.execute(DROP_SESSIONS + "".join(USED.format(*row) for row in still))
        for kind, query in (("conversation", CONVERSATIONS), ("piece", PIECES)):
            for (number,) in store.rows(query):
                copies.drop(store, kind, int(number), now)
        store.execute(NO_WORDS)
        for _, statement in triggers:
            store.execute(statement)
        store.execute(ADD_DEED, (now, f"{found.turns} turns of {found.sessions} sessions; {found.memories} memories no longer say where they came from"))
        pressure.measure(store)
        cleaning.note(store)
    cleaning.clean(store)
    return found
