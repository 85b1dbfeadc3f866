"""The two text indexes made anew from what is stored: after damage, or where taking one entry out was not enough."""

from __future__ import annotations

from tenon.store import archive
from tenon.store import index as indexes
from tenon.store.exchanges import Turn

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tenon.store.db import Store

TABLES = ("memory_fts", "turn_fts")
DEFINITION = "SELECT sql FROM sqlite_master WHERE type = 'table' AND name = ?"
DROP = {"memory_fts": "DROP TABLE memory_fts", "turn_fts": "DROP TABLE turn_fts"}
MEMORIES = "SELECT id, text FROM memory WHERE status <> 'superseded' ORDER BY id"
NO_PASSAGES = "DELETE FROM passage"
TURNS = (
    "SELECT t.id, t.parent, t.session, t.repository, t.thread, t.message, t.role, t.kind, t.source, t.at, t.tokens, t.content, t.forgotten "
    "FROM turn t WHERE t.forgotten IS NULL ORDER BY t.id"
)


def rebuild(store: Store) -> None:
    """Empties both text indexes and fills them from the stored content, whole or not at all."""
    with store.transaction():
        for table in TABLES:
            # Made anew rather than emptied: a damaged index cannot always be emptied.
            definition = str(store.value(DEFINITION, (table,)))
            store.execute(DROP[table])
            store.execute(definition)
        store.execute(NO_PASSAGES)
        for rowid, text in store.rows(MEMORIES):
            indexes.add_memory(store, rowid, text)
        for row in store.each(TURNS):
            turn = Turn(row)
            archive.index_turn(store, turn.id, turn.repository, turn.text())
