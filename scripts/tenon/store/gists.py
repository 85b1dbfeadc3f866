"""Gists: an exchange in a sentence or two, written by a digest and kept by the exchange's prompt.

A gist is made of the words of its turns, so whoever forgets a turn drops the gists of its session.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tenon.store.db import Store

PUT = "INSERT OR REPLACE INTO gist (turn, text, digest) VALUES (?, ?, ?)"
OF = "SELECT text FROM gist WHERE turn = ?"
DROP = "DELETE FROM gist WHERE turn = ?"
DROP_OF_DIGEST = "DELETE FROM gist WHERE digest = ?"
DROP_OF_SESSION = "DELETE FROM gist WHERE turn IN (SELECT id FROM turn WHERE session = ?)"


def put(store: Store, turn: int, text: str, digest: int) -> None:
    """Keeps the gist of the exchange that begins with that turn."""
    store.execute(PUT, (turn, text, digest))


def of(store: Store, turn: int) -> str:
    """The gist of the exchange that begins with that turn, or «»."""
    return str(store.value(OF, (turn,)) or "")


def drop(store: Store, turn: int) -> None:
    """Takes one away."""
    store.execute(DROP, (turn,))


def drop_of_digest(store: Store, digest: int) -> int:
    """How many gists of that digest there were; now there are none."""
    return store.execute(DROP_OF_DIGEST, (digest,)).rowcount


def drop_of_session(store: Store, session: int) -> int:
    """How many gists of the session there were; now there are none."""
    return store.execute(DROP_OF_SESSION, (session,)).rowcount
