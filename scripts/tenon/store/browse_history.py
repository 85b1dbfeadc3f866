"""The archive as it is looked through: sessions newest first, the turns of one in order, and what became of them."""

from __future__ import annotations

from tenon.store import exchanges, journal, passages
from tenon.store.exchanges import Session, Turn

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from tenon.store.db import Store

NEWEST = (1e300, 2**62)  # before the first page
_SESSION = "SELECT id, name, repository, folder, branch, client, started, last FROM session"
SESSIONS = f"{_SESSION} WHERE (last, id) < (?, ?) {{more}} ORDER BY last DESC, id DESC LIMIT ?"
BY_NAME = f"{_SESSION} WHERE name = ?"
BY_BEGINNING = f"{_SESSION} WHERE name >= ? AND name < ? ORDER BY last DESC, id DESC LIMIT ?"
CLIENTS = "SELECT DISTINCT client FROM session ORDER BY client"
# The first condition names the index's own rows; what is wanted of them is in the second.
_TALK = "FROM turn WHERE session = ? AND thread = '' AND kind IN ('prompt', 'reply') AND kind = 'prompt'"
PROMPTS = f"SELECT count(*) FROM (SELECT 1 {_TALK} LIMIT ?)"
FIRST_PROMPT = f"SELECT content {_TALK} AND forgotten IS NULL ORDER BY id LIMIT 1"
_TURNS = f"SELECT {exchanges.COLUMNS} FROM turn t WHERE t.session = ? AND t.thread = ?"
AFTER = f"{_TURNS} AND t.id > ? ORDER BY t.id"
BEFORE = f"{_TURNS} AND t.id < ? ORDER BY t.id DESC"
NEXT_AT = "SELECT at FROM turn WHERE session = ? AND thread = ? AND id > ? ORDER BY id LIMIT 1"
IS_LESS = "SELECT 1 FROM turn WHERE session = ? AND thread = ? AND id < ? LIMIT 1"
PROMPT_BEFORE = "SELECT id FROM turn WHERE session = ? AND thread = ? AND kind IN ('prompt', 'reply') AND id <= ? AND kind = 'prompt' ORDER BY id DESC LIMIT 1"
THREADS = (
    "SELECT thread, min(id), count(*) FROM turn WHERE session = ? AND thread > '' AND kind IN ('prompt', 'reply') GROUP BY thread ORDER BY min(id) LIMIT ?"
)
ONE = f"{exchanges.ONE} AND t.session = ?"
CONTENT = "SELECT content, at FROM turn WHERE id = ?"
LAST_BEFORE = "SELECT max(id) FROM turn WHERE session = ? AND thread = ? AND at <= ?"
SIBLING = "SELECT 1 FROM turn WHERE session = ? AND id > ? AND id < ? AND parent = ? LIMIT 1"
SESSION_OF = "SELECT session FROM turn WHERE id = ?"
DEALT_WITH = "SELECT turn, how FROM consolidated WHERE turn IN ({})"
MADE = "SELECT l.turn, m.ref, m.kind, m.status, m.text FROM lineage l JOIN memory m ON m.id = l.memory WHERE l.turn IN ({}) ORDER BY l.turn, m.id LIMIT ?"
GISTS = "SELECT turn, text FROM gist WHERE turn IN ({})"
COMPACTIONS = "SELECT at FROM journal WHERE session = ? AND event = 'compact' ORDER BY id LIMIT 500"
AT_ONCE = 500
LONGEST = 100_000  # characters that one turn counts with at most


class Page:
    """Some turns of a thread in order, whether there are earlier ones, and the time of the next one, None when there is none."""

    __slots__ = ("turns", "earlier", "next_at")

    def __init__(self, store: Store, number: int, thread: str, turns: list[Turn]) -> None:
        self.turns = turns
        first, last = (turns[0].id, turns[-1].id) if turns else (0, 0)
        self.earlier = store.value(IS_LESS, (number, thread, first)) is not None
        self.next_at: float | None = store.value(NEXT_AT, (number, thread, last)) if turns else None


def sessions(store: Store, scope: Sequence[int] | None, client: str, after: tuple[float, int], limit: int) -> list[Session]:
    """The sessions of these repositories (None: all) and that client («»: any), the one that went on last first, from past `after`: its last and its number."""
    more = ""
    values: list[object] = []
    if scope is not None:
        more, values = f"AND repository IN ({_marks(scope)})", list(scope)
    if client:
        more += " AND client = ?"
        values.append(client)
    return [Session(row) for row in store.rows(SESSIONS.format(more=more), (*after, *values, limit))]


def session(store: Store, name: str, least: int = journal.NAME) -> Session | None:
    """The session with the client's id; of one that is told by so many of its first characters or more, the newest that begins so."""
    row = store.one(BY_NAME, (name,))
    if row is None and len(name) >= least:
        return next(iter(beginning(store, name, 1)), None)
    return None if row is None else Session(row)


def beginning(store: Store, start: str, most: int) -> list[Session]:
    """The sessions whose ids begin so, the newest first, at most so many; none for fewer than 8 characters."""
    return [Session(row) for row in store.rows(BY_BEGINNING, (*journal.span(start), most))] if len(start) >= journal.SHORT else []


def clients(store: Store) -> list[str]:
    """The clients that sessions came from."""
    return [str(client) for (client,) in store.rows(CLIENTS)]


def prompts(store: Store, number: int, most: int) -> int:
    """How many prompts a session has, counted up to so many."""
    return int(store.value(PROMPTS, (number, most)))


def opening(store: Store, number: int) -> str:
    """The text of a session's first prompt, «» when there is none."""
    return passages.of_stored(store.value(FIRST_PROMPT, (number,)))


def after(store: Store, number: int, thread: str, turn: int, *, rows: int, chars: int, least: int = 0) -> Page:
    """The turns of a thread past that one: at most so many, up to so many characters of content, but all up to the turn `least`.

    The results of the last calls come along, up to so many again, so that a call is not parted from its result.
    """
    found: list[Turn] = []
    size = 0
    for row in store.each(AFTER, (number, thread, turn)):
        full = (len(found) >= rows or size >= chars) and row[0] > least
        if full and (row[7] != "result" or len(found) >= 2 * rows):
            break
        size += _weight(row)
        found.append(Turn(row))
    return Page(store, number, thread, found)


def before(store: Store, number: int, thread: str, turn: int, *, rows: int, chars: int) -> Page:
    """The turns of a thread that come before that one, as many as `after` gives, in order; the first is no result if it can be helped."""
    found: list[Turn] = []
    size = 0
    for row in store.each(BEFORE, (number, thread, turn)):
        full = len(found) >= rows or size >= chars
        if full and (found[-1].kind != "result" or len(found) >= 2 * rows):
            break
        size += _weight(row)
        found.append(Turn(row))
    return Page(store, number, thread, found[::-1])


def turn(store: Store, number: int, wanted: int) -> Turn | None:
    """The turn of that session, or None when it has none of that number."""
    row = store.one(ONE, (wanted, number))
    return None if row is None else Turn(row)


def prompt_before(store: Store, number: int, thread: str, turn: int) -> int:
    """The prompt that begins the exchange of a turn, or the turn itself when none does."""
    found = store.value(PROMPT_BEFORE, (number, thread, turn))
    return turn if found is None else int(found)


def threads(store: Store, number: int, most: int) -> list[tuple[str, int, str, float, int]]:
    """The sub-agents of a session, at most so many: the thread's id, its first turn, that one's text and time, how many prompts and replies."""
    found = []
    for thread, first, count in store.rows(THREADS, (number, most)):
        content, at = store.rows(CONTENT, (first,))[0]
        found.append((str(thread), int(first), passages.of_stored(content), float(at), int(count)))
    return found


def last_before(store: Store, number: int, at: float) -> int:
    """The last turn of a session's main conversation that was said by that time, 0 when none was."""
    return int(store.value(LAST_BEFORE, (number, "", at)) or 0)


def forked_from(store: Store, turn: Turn, previous: int | None) -> tuple[int, str] | None:
    """Where a prompt begins a branch: the turn that it follows in place of the one before it, and that one's session when it is another; else None."""
    if turn.kind != "prompt" or turn.parent is None or turn.parent == previous:
        return None
    home = int(store.value(SESSION_OF, (turn.parent,)) or 0)
    if home != turn.session:
        return turn.parent, exchanges.session_of(store, home).name
    return (turn.parent, "") if store.value(SIBLING, (turn.session, turn.parent, turn.id, turn.parent)) is not None else None


def dealt_with(store: Store, turns: Sequence[int]) -> dict[int, str]:
    """Of each turn that a digest has dealt with, how: written or skipped."""
    return {int(turn): str(how) for some in _parts(turns) for turn, how in store.rows(DEALT_WITH.format(_marks(some)), some)}


def made(store: Store, turns: Sequence[int], most: int) -> dict[int, list[tuple[str, str, str, str]]]:
    """Of each turn that memories came from, those: ref, kind, status, text. At most so many in all."""
    found: dict[int, list[tuple[str, str, str, str]]] = {}
    for some in _parts(turns):
        for turn, ref, kind, status, text in store.rows(MADE.format(_marks(some)), (*some, most)):
            found.setdefault(int(turn), []).append((str(ref), str(kind), str(status), str(text)))
    return found


def gists(store: Store, turns: Sequence[int]) -> dict[int, str]:
    """Of each prompt whose exchange a digest has told in a sentence, that."""
    return {int(turn): str(text) for some in _parts(turns) for turn, text in store.rows(GISTS.format(_marks(some)), some)}


def compactions(store: Store, name: str) -> list[float]:
    """When the session of that name was compacted, as far as the journal goes back."""
    return [float(at) for (at,) in store.rows(COMPACTIONS, (name[: journal.NAME],))]


def _weight(row: Sequence[object]) -> int:
    return min(LONGEST, len(row[11])) if isinstance(row[11], str) else 0


def _parts(turns: Sequence[int]) -> list[Sequence[int]]:
    return [turns[at : at + AT_ONCE] for at in range(0, len(turns), AT_ONCE)]


def _marks(values: Sequence[object]) -> str:
    return ", ".join("?" * len(values)) or "NULL"
