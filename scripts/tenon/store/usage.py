"""What the API counted for each message of a model, as Claude Code's transcripts report it: so how much of a session came from the prompt cache."""

from __future__ import annotations

from hashlib import sha256

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tenon.store.db import Store

KEEP_S = 90 * 86400.0
LARGEST = 10**9  # tokens that one message can have taken

# Of the lines of one message the last one counts; a copy in another session's transcript counts where it was read first.
NOTE = (
    "INSERT INTO usage (message, session, at, aside, input, written, read, output) VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (message) "
    "DO UPDATE SET input = excluded.input, written = excluded.written, read = excluded.read, output = excluded.output WHERE session = excluded.session"
)
OLD = "DELETE FROM usage WHERE at < ?"
DROP = "DELETE FROM usage WHERE session = ?"
_SUMS = "count(*), sum(u.input), sum(u.written), sum(u.read), sum(u.output)"
LATEST = (
    f"SELECT s.id, s.name, c.state, min(u.at), max(u.at), u.aside, {_SUMS} FROM (SELECT id, name FROM session WHERE last >= ? ORDER BY last DESC LIMIT ?) s "
    "CROSS JOIN usage u ON u.session = s.id LEFT JOIN conversation c ON c.name = s.name GROUP BY s.id, u.aside"
)
OF_SESSION = f"SELECT {_SUMS} FROM session s JOIN usage u ON u.session = s.id WHERE s.name = ?"


class Usage:
    """Tokens of some messages: `input` past the prompt cache, `written` to it, `read` from it, `output`."""

    __slots__ = ("messages", "input", "written", "read", "output")

    def __init__(self, counts: Sequence[int | None] = (0, 0, 0, 0, 0)) -> None:
        self.messages, self.input, self.written, self.read, self.output = (int(count or 0) for count in counts)

    @property
    def share(self) -> float | None:
        """How much of what the model was given came from the prompt cache, 0 to 1; None when it was given nothing."""
        given = self.input + self.written + self.read
        return self.read / given if given else None


class OfSession:
    """What a session took, itself and by its sub-agents; `state` is its conversation's at the proxy, «» when it did not go through it."""

    __slots__ = ("name", "state", "began", "last", "own", "aside")

    def __init__(self, name: str, state: str, began: float, last: float) -> None:
        self.name = name
        self.state = state
        self.began = began
        self.last = last
        self.own = Usage()
        self.aside = Usage()


def note(store: Store, session: int, counted: Mapping[str, tuple[float, bool, Sequence[int]]], now: float) -> None:
    """Keeps of each message (by the API's id) the time, whether it was a sub-agent's, and input, written, read and output tokens.

    What is older than ninety days is left out.
    """
    for message, (at, aside, tokens) in counted.items():
        if at >= now - KEEP_S:
            key = int.from_bytes(sha256(message.encode("utf-8", "replace")).digest()[:8], "big", signed=True)
            store.execute(NOTE, (key, session, int(at), int(aside), *(min(max(0, count), LARGEST) for count in tokens)))


def latest(store: Store, since: float, limit: int) -> list[OfSession]:
    """What the latest sessions took that went on after that time, oldest first; those of which nothing is known are left out."""
    found: dict[int, OfSession] = {}
    for number, name, state, began, last, aside, *counts in store.rows(LATEST, (since, limit)):
        one = found.setdefault(number, OfSession(str(name), "" if state in (None, "announced") else str(state), began, last))
        one.began, one.last = min(one.began, began), max(one.last, last)
        setattr(one, "aside" if aside else "own", Usage(counts))
    return sorted(found.values(), key=lambda one: (one.last, one.name))


def of_session(store: Store, name: str) -> Usage:
    """What a session took so far with its sub-agents."""
    return Usage(store.one(OF_SESSION, (name,)) or ())


def drop(store: Store, session: int) -> None:
    """Forgets what a session took."""
    store.execute(DROP, (session,))


def prune(store: Store, now: float) -> None:
    """Drops what is older than ninety days."""
    store.execute(OLD, (now - KEEP_S,))
