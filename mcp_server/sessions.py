"""The sessions of the handshake era over HTTP: begun by `initialize`, ended by the client, by idleness, or to make room for another."""

from __future__ import annotations

import os
import time
from contextlib import contextmanager
from threading import Lock

from mcp_server.asking import Asking

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mcp_server.protocol import Dispatcher

MOST = 100
IDLE_S = 12 * 3600.0
ID_BYTES = 16


class Session:
    """One client: what answers it, what it is asked, when it was last heard, and how many of its requests are at work."""

    __slots__ = ("name", "dispatcher", "asking", "heard", "at_work")

    def __init__(self, dispatcher: Dispatcher, heard: float) -> None:
        self.name = os.urandom(ID_BYTES).hex()
        self.dispatcher = dispatcher
        self.asking = Asking()
        self.heard = heard
        self.at_work = 0


class Sessions:
    """All sessions of a server. `make` gives each its dispatcher; `clock` tells seconds that only grow."""

    def __init__(self, make: Callable[[], Dispatcher], most: int = MOST, idle_s: float = IDLE_S, clock: Callable[[], float] = time.monotonic) -> None:
        self._make = make
        self._most = most
        self._idle_s = idle_s
        self._clock = clock
        self._lock = Lock()
        self._known: dict[str, Session] = {}

    def __len__(self) -> int:
        return len(self._known)

    def open(self) -> Session | None:
        """A new session; the one that was idle longest gives way when there are too many. None when all of them are at work."""
        made = Session(self._make(), self._clock())
        with self._lock:
            self._sweep()
            if len(self._known) >= self._most:
                idle = [session for session in self._known.values() if not session.at_work]
                if not idle:
                    return None
                self._drop(min(idle, key=lambda session: session.heard))
            self._known[made.name] = made
        return made

    def find(self, name: str) -> Session | None:
        """The session of that id, None when there is none or it has ended."""
        with self._lock:
            self._sweep()
            return self._known.get(name)

    def end(self, name: str) -> bool:
        """Whether there was such a session, which is over now."""
        with self._lock:
            found = self._known.get(name)
            if found is not None:
                self._drop(found)
        return found is not None

    def close(self) -> None:
        """Ends all of them."""
        with self._lock:
            for session in list(self._known.values()):
                self._drop(session)

    @contextmanager
    def working(self, session: Session) -> Iterator[None]:
        """The session is at work meanwhile, and was heard of."""
        with self._lock:
            session.at_work += 1
            session.heard = self._clock()
        try:
            yield
        finally:
            with self._lock:
                session.at_work -= 1
                session.heard = self._clock()

    def _sweep(self) -> None:
        now = self._clock()
        for session in [one for one in self._known.values() if not one.at_work and now - one.heard > self._idle_s]:
            self._drop(session)

    def _drop(self, session: Session) -> None:
        self._known.pop(session.name, None)
        session.asking.close()
