"""Open stores that wait for the next request: opening one anew costs more than all the reading that a request needs."""

from __future__ import annotations

import os
import threading
import time
from contextlib import contextmanager

from tenon.base import paths
from tenon.base.errors import TenonError
from tenon.store import db

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from tenon.store.db import Store

IDLE_S = 10.0  # then a store is given back, so that an agent can be deleted and a file replaced
BUSY_S = 5.0  # for another writer: only the first request of a session and a boundary write, and both would be worse off without it


class Stores:
    """Stores by agent; each is used by one thread at a time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._idle: list[tuple[str, Store, tuple[int, int], float]] = []

    @contextmanager
    def use(self, agent: str) -> Iterator[Store]:
        """The agent's store on this version's schema; for reading only where it cannot be written. Raises TenonError as `db.open_store` does."""
        path = paths.store_path(agent)
        store = self._take(path) or _opened(path)
        try:
            yield store
        except BaseException:
            store.close()
            raise
        self._give(path, store)

    def sweep(self, now: float | None = None) -> None:
        """Closes what has waited too long; at time infinity everything."""
        end = (time.monotonic() if now is None else now) - IDLE_S
        with self._lock:
            old = [entry for entry in self._idle if entry[3] <= end]
            self._idle = [entry for entry in self._idle if entry[3] > end]
        for _, store, _, _ in old:
            store.close()

    def _take(self, path: str) -> Store | None:
        file = _file(path)
        with self._lock:
            for number in range(len(self._idle) - 1, -1, -1):
                if self._idle[number][0] == path:
                    _, store, known, _ = self._idle.pop(number)
                    if known == file:
                        return store
                    store.close()  # another file stands there now
        return None

    def _give(self, path: str, store: Store) -> None:
        file = _file(path)
        with self._lock:
            if file is not None and store.writable:
                self._idle.append((path, store, file, time.monotonic()))
                return
        store.close()


def _opened(path: str) -> Store:
    try:
        return db.open_store(path, busy_s=BUSY_S)
    except TenonError:
        if not db.exists(path):
            raise
        return db.open_reader(path)  # a full disk: what stands in front of a conversation can still be read


def _file(path: str) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino
