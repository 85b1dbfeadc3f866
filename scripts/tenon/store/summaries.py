"""The summaries of sessions: one each, rewritten as the session goes on.

A summary holds words of the archived turns it was made of, so whoever forgets a turn drops the summary of its session.
"""

from __future__ import annotations

from tenon.store import exchanges, places

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from tenon.store.db import Store
    from tenon.store.exchanges import Turn

UPSERT = (
    "INSERT INTO summary (session, repository, text, at, writer) VALUES (?, ?, ?, ?, ?) "
    "ON CONFLICT (session) DO UPDATE SET repository = excluded.repository, text = excluded.text, at = excluded.at, writer = excluded.writer"
)
COLUMNS = "s.session, n.name, s.repository, s.text, s.at, s.writer"
LATEST = (
    f"SELECT {COLUMNS} FROM summary s JOIN session n ON n.id = s.session WHERE s.repository IN (%s) AND n.name <> ? ORDER BY s.at DESC, s.session DESC LIMIT 1"
)
OF_SESSION = f"SELECT {COLUMNS} FROM summary s JOIN session n ON n.id = s.session WHERE s.session = ?"
DROP = "DELETE FROM summary WHERE session = ?"
TELLING = (
    f"SELECT {exchanges.COLUMNS} FROM turn t WHERE t.session = ? AND t.kind IN ('prompt', 'reply', 'call', 'result') AND t.forgotten IS NULL ORDER BY t.id"
)


class Summary:
    """What a session was about. `at` is the time of the newest turn it speaks of; `name` the client's id of the session."""

    __slots__ = ("session", "name", "repository", "text", "at", "writer")

    def __init__(self, row: tuple[Any, ...]) -> None:
        self.session = int(row[0])
        self.name = str(row[1])
        self.repository = int(row[2])
        self.text = str(row[3])
        self.at = float(row[4])
        self.writer = str(row[5])


def upsert(store: Store, session: int, repository: int, text: str, at: float, writer: str = "code") -> None:
    """Writes the session's summary in place of the one before; `writer` is code or digest."""
    store.execute(UPSERT, (session, repository, text, at, writer))


def latest(store: Store, repository: int | None, *, before_session: str | None = None) -> Summary | None:
    """The newest summary of the repository (aliases included), leaving out the session of that name."""
    numbers = places.scope(store, repository)
    row = store.one(LATEST % ", ".join("?" * len(numbers)), (*numbers, before_session or ""))
    return Summary(row) if row else None


def of_session(store: Store, session: int) -> Summary | None:
    """The session's summary, or None."""
    row = store.one(OF_SESSION, (session,))
    return Summary(row) if row else None


def drop(store: Store, session: int) -> bool:
    """Whether there was a summary of the session; now there is none."""
    return store.execute(DROP, (session,)).rowcount > 0


def told(store: Store, session: int) -> Iterator[Turn]:
    """The turns of a session that a summary is made of, in order, one at a time, those of its sub-agents too."""
    for row in store.each(TELLING, (session,)):
        yield exchanges.Turn(row)
