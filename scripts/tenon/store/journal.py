"""The journal: what was recalled or injected, for whom and why, in a line a hit; and which hits a session has seen.

It keeps the words that a cue and a hit share, never the cue: whatever a prompt says beyond what is stored stays out.
"""
from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from tenon.store.db import Store

KEEP_S = 30 * 86400.0
ADD = "INSERT INTO journal (at, event, session, repository, words, hits, chars) VALUES (?, ?, ?, ?, ?, ?, ?)"
ADD_SHOWN = "INSERT OR REPLACE INTO shown (session, ref, at) VALUES (?, ?, ?)"
SHOWN = "SELECT ref FROM shown WHERE session = ?"
FORGET_SHOWN = "DELETE FROM shown WHERE session = ?"
OLD_ENTRIES = "DELETE FROM journal WHERE at < ?"
OLD_SHOWN = "DELETE FROM shown WHERE at < ?"
OF_SESSION = "SELECT id, at, event, session, words, hits, chars FROM journal WHERE session = ? ORDER BY id DESC LIMIT ?"
LATEST = "SELECT id, at, event, session, words, hits, chars FROM journal ORDER BY id DESC LIMIT ?"
ADD_DEED = "INSERT INTO deed (at, what, ref, note) VALUES (?, ?, ?, ?)"
DEEDS = "SELECT at, what, ref, note FROM deed ORDER BY id DESC LIMIT ?"


class Entry:
    """One recall or injection: `hits` are (ref, score, the parts of the score) as they were then."""

    __slots__ = ("id", "at", "event", "session", "words", "hits", "chars")

    def __init__(self, row: Sequence[object]) -> None:
        number, at, event, session, words, hits, chars = row
        self.id = int(str(number))
        self.at = float(str(at))
        self.event = str(event)
        self.session = str(session)
        self.words = str(words).split()
        self.hits = [tuple(line.split(" ", 2)) for line in str(hits).splitlines() if line]
        self.chars = int(str(chars))


def record(
    store: Store, *, event: str, session: str, repository: int | None, words: Sequence[str], hits: Sequence[tuple[str, float, str]], chars: int, now: float,
    show: Sequence[str] = (),
) -> None:  # fmt: skip
    """Writes an entry; `hits` are (ref, score, parts), `show` are the refs that the session has now seen."""
    lines = "\n".join(f"{ref} {score:.2f} {parts}" for ref, score, parts in hits)
    with store.transaction():
        store.execute(ADD, (now, event, session, repository, " ".join(words), lines, chars))
        for ref in show:
            store.execute(ADD_SHOWN, (session, ref, now))


def seen(store: Store, session: str) -> set[str]:
    """The refs that the session was shown since it began or was compacted."""
    return {str(row[0]) for row in store.rows(SHOWN, (session,))}


def unsee(store: Store, session: str) -> None:
    """After a compaction what was shown may be gone from the context, so it may come again."""
    store.execute(FORGET_SHOWN, (session,))


def entries(store: Store, session: str = "", limit: int = 10) -> list[Entry]:
    """The newest entries, of one session or of all, newest first."""
    return [Entry(row) for row in (store.rows(OF_SESSION, (session, limit)) if session else store.rows(LATEST, (limit,)))]


def prune(store: Store, now: float) -> None:
    """Drops entries older than thirty days."""
    with store.transaction():
        store.execute(OLD_ENTRIES, (now - KEEP_S,))
        store.execute(OLD_SHOWN, (now - KEEP_S,))


def deed(store: Store, what: str, ref: str, note: str, now: float) -> None:
    """An audit line: what was done to what, without its text."""
    store.execute(ADD_DEED, (now, what, ref, note))


def deeds(store: Store, limit: int) -> list[tuple[float, str, str, str]]:
    """The newest audit lines, newest first: time, deed, ref, note."""
    return [(float(at), str(what), str(ref), str(note)) for at, what, ref, note in store.rows(DEEDS, (limit,))]
