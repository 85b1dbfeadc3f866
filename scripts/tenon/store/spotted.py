"""How far plain code has looked through each session, and what it asks of the store while it does."""

from __future__ import annotations

from tenon.base.text import fold
from tenon.store import exchanges, memories, places
from tenon.store.memories import Memory

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from tenon.store.db import Store
    from tenon.store.exchanges import Turn

BEHIND = (
    "SELECT s.id FROM session s LEFT JOIN spotted p ON p.session = s.id "
    "WHERE coalesce((SELECT max(t.id) FROM turn t WHERE t.session = s.id), 0) > coalesce(p.turn, 0) ORDER BY s.started, s.id"
)
REACHED = "SELECT turn FROM spotted WHERE session = ?"
REACH = "INSERT OR REPLACE INTO spotted (session, turn) VALUES (?, ?)"
NEWEST = "SELECT coalesce(max(id), 0) FROM turn WHERE session = ?"
# What was read from outside counts whichever kind it is: nothing of the model's is taken beside it.
_TELLING = (
    f"SELECT {exchanges.COLUMNS} FROM turn t WHERE t.session = ? AND (t.kind IN ('prompt', 'reply', 'call', 'result') OR t.source = 'outside') "
    "AND t.forgotten IS NULL AND t.id"
)
BEYOND = f"{_TELLING} > ? AND t.id <= ? ORDER BY t.id LIMIT ?"
BEFORE = f"{_TELLING} <= ? ORDER BY t.id DESC LIMIT ?"
EDITING = (
    f"SELECT {exchanges.COLUMNS} FROM (SELECT rowid AS id FROM turn_fts WHERE turn_fts MATCH ? ORDER BY rowid DESC LIMIT ?) f "
    "CROSS JOIN passage p ON p.id = f.id CROSS JOIN turn t ON t.id = p.turn WHERE p.repository IN ({scope}) AND t.role = 'assistant' AND t.forgotten IS NULL"
)
BEGINNING = (
    f"SELECT {memories.COLUMNS} FROM memory WHERE kind = ? AND writer = 'code' AND repository IN ({{scope}}) AND substr(text, 1, length(?)) = ? "
    "ORDER BY status = 'live' DESC, id DESC LIMIT 1"
)
HAS_NEWER = "SELECT 1 FROM memory WHERE repository IN ({scope}) AND status = 'live' AND writer = 'code' AND source = 'user' AND valid_from > ? LIMIT 1"
LAST_MEMORY = "SELECT coalesce(max(id), 0) FROM memory"
SESSIONS_OF = "SELECT DISTINCT t.session FROM lineage l JOIN turn t ON t.id = l.turn WHERE l.memory = ? ORDER BY 1"
SAID_IN = "SELECT DISTINCT t.session FROM lineage l JOIN turn t ON t.id = l.turn WHERE l.memory = ? AND t.kind = 'prompt' AND t.source = 'user' ORDER BY 1"


def behind(store: Store) -> list[int]:
    """The sessions with turns that were not looked at, those that began first first."""
    return [int(row[0]) for row in store.rows(BEHIND)]


def reached(store: Store, session: int) -> int:
    """The last turn of the session that was looked at, or 0."""
    return int(store.value(REACHED, (session,)) or 0)


def reach(store: Store, session: int, turn: int) -> None:
    """Notes that the session was looked through up to the turn."""
    store.execute(REACH, (session, turn))


def newest(store: Store, session: int) -> int:
    """The last turn of the session, whatever it is, or 0."""
    return int(store.value(NEWEST, (session,)))


def beyond(store: Store, session: int, after: int, upto: int, limit: int) -> list[Turn]:
    """The first turns of the session after one turn and up to another that can tell something, those of sub-agents too."""
    return [exchanges.Turn(row) for row in store.rows(BEYOND, (session, after, upto, limit))]


def before(store: Store, session: int, turn: int, limit: int) -> list[Turn]:
    """The last turns of the session up to this one that can tell something, oldest first."""
    return [exchanges.Turn(row) for row in reversed(store.rows(BEFORE, (session, turn, limit)))]


def editing(store: Store, scope: Sequence[int], path: str, limit: int) -> list[Turn]:
    """The newest calls, at most so many, that may have edited a file of that path (its last parts are enough) in these repositories."""
    phrase = " ".join(fold(path).split())
    if not phrase:
        return []
    match = f'text : (edit OR write) AND text : "{phrase}"'
    sql = EDITING.format(scope=", ".join("?" * len(scope)) or "NULL")
    return [exchanges.Turn(row) for row in store.rows(sql, (match, limit, *scope))]


def beginning(store: Store, repository: int, kind: str, text: str) -> Memory | None:
    """The memory of that kind that plain code wrote in the repository and whose text begins so, whatever its status; a live one first."""
    scope = places.scope(store, repository)
    row = store.one(BEGINNING.format(scope=", ".join("?" * len(scope)) or "NULL"), (kind, *scope, text, text))
    return None if row is None else Memory(row)


def has_newer(store: Store, scope: Sequence[int], at: float) -> bool:
    """Whether plain code knows something that the user said in these repositories after that time."""
    return store.value(HAS_NEWER.format(scope=", ".join("?" * len(scope)) or "NULL"), (*scope, at)) is not None


def last_memory(store: Store) -> int:
    """The number of the newest memory, or 0."""
    return int(store.value(LAST_MEMORY))


def bind(store: Store, memory: int, turns: Sequence[int]) -> None:
    """Notes that the memory came from these turns too."""
    for turn in turns:
        store.execute(memories.ADD_LINEAGE, (memory, turn))


def sessions_of(store: Store, memory: int, *, said: bool = False) -> list[int]:
    """The sessions that a memory came from; with `said` only those in which the user said it."""
    return [int(row[0]) for row in store.rows(SAID_IN if said else SESSIONS_OF, (memory,))]
