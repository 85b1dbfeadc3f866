"""Reading the archive back: a turn, the exchange around it, a session's course, what no digest has dealt with.

An exchange is a user's prompt and everything up to the next one.
"""

from __future__ import annotations

from tenon.base.errors import TenonError
from tenon.base.lean import parse
from tenon.store import passages, places, pressure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from tenon.store.db import Store

COLUMNS = "t.id, t.parent, t.session, t.repository, t.thread, t.message, t.role, t.kind, t.source, t.at, t.tokens, t.content, t.forgotten"
ONE = f"SELECT {COLUMNS} FROM turn t WHERE t.id = ?"
OF_SESSION = f"SELECT {COLUMNS} FROM turn t WHERE t.session = ? AND t.thread = ? AND t.id >= ? ORDER BY t.id"
SESSION = "SELECT name, repository, folder, branch, client, started, last FROM session WHERE id = ?"
SESSION_BY_NAME = "SELECT id FROM session WHERE name = ?"
PENDING = (
    f"SELECT {COLUMNS} FROM turn t WHERE t.repository IN (%s) AND t.thread = '' AND t.kind IN ('prompt', 'reply') AND t.forgotten IS NULL "
    "AND t.at >= ? AND NOT EXISTS (SELECT 1 FROM consolidated c WHERE c.turn = t.id) ORDER BY t.id LIMIT ?"
)
PENDING_TOKENS = (
    "SELECT coalesce(sum(" + pressure.LEFT + "), 0), count(*) FROM turn t WHERE t.repository IN (%s) AND t.thread = '' AND t.kind IN ('prompt', 'reply') "
    "AND t.forgotten IS NULL AND NOT EXISTS (SELECT 1 FROM consolidated c WHERE c.turn = t.id)"
)
# What was done between two turns of a session, and whether something from outside the machine was read in it before.
BETWEEN = f"SELECT {COLUMNS} FROM turn t WHERE t.session = ? AND t.thread = '' AND t.kind IN ('call', 'result') AND t.forgotten IS NULL AND t.id > ? AND t.id < ? ORDER BY t.id LIMIT ?"
OUTSIDE = "SELECT min(at) FROM turn WHERE session = ? AND source = 'outside'"
SHELL = "SELECT at, content FROM turn WHERE session = ? AND role = 'assistant' AND at < ? AND content LIKE '%\"command\"%' ORDER BY at"
WAITING = (
    "SELECT t.repository, min(t.id), sum("
    + pressure.LEFT
    + "), count(*) FROM turn t WHERE t.thread = '' AND t.kind IN ('prompt', 'reply') AND t.forgotten IS NULL "
    "AND NOT EXISTS (SELECT 1 FROM consolidated c WHERE c.turn = t.id) GROUP BY t.repository ORDER BY 2"
)
LAST_SPOKEN = (
    f"SELECT {COLUMNS} FROM turn t WHERE t.session = ? AND t.thread = '' AND t.kind = ? AND t.forgotten IS NULL AND t.id > ? ORDER BY t.id DESC LIMIT 1"
)
READ_TO = "SELECT chars FROM reading WHERE turn = ?"
SET_READ_TO = "INSERT OR REPLACE INTO reading (turn, chars) VALUES (?, ?)"
READ_WHOLE = "DELETE FROM reading WHERE turn = ?"
IS_DONE = "SELECT 1 FROM consolidated WHERE turn = ?"
UNDONE = "DELETE FROM consolidated WHERE turn = ?"
DONE = "INSERT OR REPLACE INTO consolidated (turn, how, at) SELECT id, ?, ? FROM turn WHERE id = ?"


class Turn:
    """One archived row; `content` is the list of its content blocks, empty when it was forgotten."""

    __slots__ = ("id", "parent", "session", "repository", "thread", "message", "role", "kind", "source", "at", "tokens", "content", "forgotten")

    id: int
    parent: int | None
    session: int
    repository: int
    thread: str
    message: str
    role: str
    kind: str
    source: str
    at: float
    tokens: int
    content: list[Any]
    forgotten: float | None

    def __init__(self, row: Sequence[Any]) -> None:
        for name, value in zip(self.__slots__, row):
            setattr(self, name, value)
        self.content = content if isinstance(content := parse(row[11]) if isinstance(row[11], str) else None, list) else []

    @property
    def ref(self) -> str:
        """The id that people and models see: t and the number."""
        return f"t{self.id}"

    def text(self) -> str:
        """The searchable text of the turn."""
        return passages.searchable(self.content)


class Session:
    """One session of a client."""

    __slots__ = ("id", "name", "repository", "folder", "branch", "client", "started", "last")

    id: int
    name: str
    repository: int
    folder: str
    branch: str
    client: str
    started: float
    last: float

    def __init__(self, row: Sequence[Any]) -> None:
        for name, value in zip(self.__slots__, row):
            setattr(self, name, value)


def turn(store: Store, ref: str) -> Turn:
    """The turn with that id (t12). Raises TenonError when there is none."""
    number = ref.strip()[1:]
    # SQLite's numbers end at nineteen digits.
    row = store.one(ONE, (int(number),)) if ref.strip()[:1] == "t" and number.isdecimal() and len(number) <= 18 else None
    if row is None:
        raise TenonError(f"there is no turn '{ref}'; ids of turns look like t1234 and come from a search of the archive")
    return Turn(row)


def exchange(store: Store, ref: str, limit: int = 200) -> list[Turn]:
    """The exchange that a turn belongs to: the prompt before it and what followed, at most so many rows, oldest first."""
    here = turn(store, ref)
    first = here
    while first.kind != "prompt" and first.parent is not None:
        above = Turn(store.one(ONE, (first.parent,)) or ())
        # A fork in the middle of an exchange has its own part of it only.
        if (above.thread, above.session) != (here.thread, here.session):
            break
        first = above
    rows: list[Turn] = []
    for row in store.each(OF_SESSION, (first.session, first.thread, first.id)):
        found = Turn(row)
        if rows and found.kind == "prompt" or len(rows) >= limit:
            break
        rows.append(found)
    return rows


def session_turns(store: Store, session: int, thread: str = "") -> Iterator[Turn]:
    """A session's turns in order, one at a time; the main conversation unless a sub-agent's thread is named."""
    for row in store.each(OF_SESSION, (session, thread, 0)):
        yield Turn(row)


def last_exchange(store: Store, session: int) -> list[Turn]:
    """The newest prompt of a session's main conversation and the newest reply after it, if there is one."""
    row = store.one(LAST_SPOKEN, (session, "prompt", 0))
    if row is None:
        return []
    reply = store.one(LAST_SPOKEN, (session, "reply", row[0]))
    return [Turn(row), *([Turn(reply)] if reply is not None else [])]


def session_of(store: Store, number: int) -> Session:
    """The session with that number. Raises TenonError when there is none."""
    row = store.one(SESSION, (number,))
    if row is None:
        raise TenonError(f"there is no session number {number}")
    return Session((number, *row))


def session_number(store: Store, name: str) -> int | None:
    """The number of the session with the client's id, or None when nothing of it was kept."""
    found = store.value(SESSION_BY_NAME, (name,))
    return None if found is None else int(found)


def pending(store: Store, repository: int | None, limit: int, since: float = 0.0) -> list[Turn]:
    """The oldest prompts and replies of the repository that no digest has dealt with, of those said since that time."""
    numbers = places.scope(store, repository)
    return [Turn(row) for row in store.rows(PENDING % _marks(numbers), (*numbers, since, limit))]


def pending_size(store: Store, repository: int | None) -> tuple[int, int]:
    """The tokens and the number of the prompts and replies that no digest has dealt with."""
    numbers = places.scope(store, repository)
    row = store.one(PENDING_TOKENS % _marks(numbers), tuple(numbers))
    return (int(row[0]), int(row[1])) if row else (0, 0)


def mark_consolidated(store: Store, turns: Sequence[int], how: str, now: float) -> int:
    """How many turns were marked as dealt with; `how` is written or skipped. Unknown turns are not counted."""
    if how not in ("written", "skipped"):
        raise TenonError(f"'{how}' is not an outcome; a turn is written or skipped")
    with store.transaction():
        for number in turns:
            store.execute(READ_WHOLE, (number,))
        return sum(store.execute(DONE, (how, now, number)).rowcount for number in turns)


def is_dealt_with(store: Store, turn: int) -> bool:
    """Whether a digest has dealt with the turn, or it was passed over."""
    return store.value(IS_DONE, (turn,)) is not None


def unmark(store: Store, turns: Sequence[int]) -> int:
    """How many turns wait for a digest again."""
    return sum(store.execute(UNDONE, (number,)).rowcount for number in turns)


def read_to(store: Store, turn: int) -> int:
    """Up to which character a digest has read a turn that is longer than a batch."""
    return int(store.value(READ_TO, (turn,)) or 0)


def set_read_to(store: Store, turn: int, chars: int) -> None:
    """Notes up to which character a digest has read a turn; the rest waits."""
    store.execute(SET_READ_TO, (turn, chars))


def waiting(store: Store) -> list[tuple[int, int, int]]:
    """The repositories in which something waits for a digest, the one that waits longest first: (repository, tokens, turns), aliases joined."""
    found: dict[int, list[int]] = {}
    for number, _, size, count in store.rows(WAITING):
        held = found.setdefault(places.canonical(store, int(number)), [0, 0])
        held[0] += int(size)
        held[1] += int(count)
    return [(number, size, count) for number, (size, count) in found.items()]


def done_between(store: Store, session: int, after: int, before: int, limit: int) -> list[Turn]:
    """The tool calls and results of a session's main conversation between two turns, the first so many."""
    return [Turn(row) for row in store.rows(BETWEEN, (session, after, before, limit))]


def outside_since(store: Store, session: int) -> float | None:
    """When something from outside the machine was first read in a session or by its sub-agents, in whatever order that was kept; None if never."""
    found = store.value(OUTSIDE, (session,))
    return None if found is None else float(found)


def commands(store: Store, session: int, before: float) -> Iterator[tuple[float, str]]:
    """When a shell was called in a session or by its sub-agents before that time, and with which command, oldest first."""
    for at, content in store.each(SHELL, (session, before)):
        blocks = parse(content)
        for block in blocks if isinstance(blocks, list) else ():
            given = block.get("input") if isinstance(block, dict) else None
            if isinstance(given, dict) and isinstance(given.get("command"), str):
                yield float(at), given["command"]


def _marks(numbers: Sequence[int]) -> str:
    return ", ".join("?" * len(numbers))
