"""The exchanges of past sessions, newest first, read one at a time: whoever asks stops when there is enough.

An exchange is a user's prompt and everything up to the next one, in the main conversation of a session.
"""

from __future__ import annotations

from tenon.base import paths
from tenon.store.exchanges import COLUMNS, Session, Turn

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tenon.store.db import Store

SESSIONS = "SELECT id, name, repository, folder, branch, client, started, last FROM session WHERE last >= ? {} ORDER BY last DESC, id DESC"
IN_REPOSITORIES = "AND repository IN ({})"
# The plus sign: by the index of the session's turns, from its end, never by another one.
PROMPT_BEFORE = "SELECT id FROM turn WHERE session = ? AND id < ? AND +thread = '' AND +kind = 'prompt' ORDER BY id DESC LIMIT 1"
EXCHANGE = f"SELECT {COLUMNS} FROM turn t WHERE t.session = ? AND t.id >= ? AND t.id < ? AND +t.thread = '' ORDER BY t.id"
END = (1 << 63) - 1


def newest(
    store: Store, *, repositories: Sequence[int] | None, without: Sequence[str] = (), folders_out: Sequence[str] = (), since: float = 0.0
) -> Iterator[tuple[Session, list[Turn]]]:
    """Each whole exchange with its session: the session that was spoken in last first, and in it the newest exchange first.

    `repositories` None means all of them; `without` are names of sessions, `folders_out` folders whose sessions stay out,
    `since` is the time before which no exchange begins. A forgotten turn is there without content; an
    exchange that was forgotten whole is not. Nothing is held open in between.
    """
    where = "" if repositories is None else IN_REPOSITORIES.format(", ".join("?" * len(repositories)))
    left_out = {name for name in without if name}
    outside: dict[str, bool] = {"": False}
    for row in store.rows(SESSIONS.format(where), (since, *(repositories or ()))):
        session = Session(row)
        if session.name in left_out:
            continue
        if session.folder not in outside:
            outside[session.folder] = paths.lies_in(session.folder, folders_out)
        if outside[session.folder]:
            continue
        end = END
        while (first := store.value(PROMPT_BEFORE, (session.id, end))) is not None:
            turns = [Turn(found) for found in store.rows(EXCHANGE, (session.id, first, end))]
            end = int(first)
            if turns and turns[0].at < since:
                break
            if any(turn.content for turn in turns):
                yield session, turns
