"""What was chosen for a session's next prompt: ids alone."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from tenon.store.db import Store

KEEP_S = 86400.0
PUT = "INSERT OR REPLACE INTO selection (session, refs, at) VALUES (?, ?, ?)"
GET = "SELECT refs FROM selection WHERE session = ?"
DROP = "DELETE FROM selection WHERE session = ? OR at < ?"


def put(store: Store, session: str, refs: Sequence[str], now: float) -> None:
    """Keeps them, best first, in the place of earlier ones."""
    store.execute(PUT, (session, " ".join(refs), now))


def of(store: Store, session: str) -> list[str]:
    """The ids chosen for the session's next prompt, best first."""
    return str(store.value(GET, (session,)) or "").split()


def drop(store: Store, session: str, now: float) -> None:
    """They were used, or came too late."""
    store.execute(DROP, (session, now - KEEP_S))
