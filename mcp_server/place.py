"""Where a call of a tool works: the store of the session's agent, and the repository of its folder.

Each call opens the store and gives it back, so that a killed server holds nothing and a store that was locked, moved or
mended a moment ago is simply used.
"""

from __future__ import annotations

import os
import time

from tenon.base import paths
from tenon.base.errors import TenonError
from tenon.base.lean import sqlite
from tenon.store import db, exchanges, memories, places

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tenon.base import settings
    from tenon.store.db import Store
    from tenon.store.memories import Memory

READ_BUSY_S = 1.0  # reading waits for no other process: what it would note down besides is left out instead
WRITE_BUSY_S = 10.0
EXCLUDED = "this folder is excluded (archive.exclude); memory is off here"
NOWHERE = -1  # the repository of a folder that nothing was kept for yet


def folder(chosen: settings.Settings) -> str:
    """The folder of the session. Raises TenonError for one that is excluded, and where nothing tells which it is."""
    here = os.environ.get("CLAUDE_PROJECT_DIR")
    if not here:
        try:
            here = os.getcwd()
        except OSError as error:
            here = os.environ.get("PWD", "")  # of a folder that is gone, whose repository is known by its path
            if not os.path.isabs(here):
                raise TenonError("the folder that this session was started in is gone; start it again from a folder that is there") from error
    if paths.lies_in(here, chosen.names("archive.exclude")):
        raise TenonError(EXCLUDED)
    return here


def opened(path: str, *, reads: bool) -> Store:
    """The open store; for a tool that only `reads`, also one that cannot be written."""
    try:
        return db.open_store(path, busy_s=READ_BUSY_S if reads else WRITE_BUSY_S)
    except TenonError:
        if not reads or not os.path.exists(path):
            raise
        # A disk or folder that cannot be written: what is remembered can still be told.
        return db.open_reader(path, busy_s=READ_BUSY_S)


class Place:
    """Where a call works: the open store, the session's folder, its repository and scope, the settings, the time."""

    __slots__ = ("store", "folder", "repository", "scope", "settings", "now", "per_day", "session")

    def __init__(self, store: Store, chosen: settings.Settings) -> None:
        self.store = store
        self.settings = chosen
        self.folder = folder(chosen)
        self.session = os.environ.get("CLAUDE_CODE_SESSION_ID", "")
        self.now = time.time()
        self.repository = self._settled()
        self.scope = places.scope(store, self.repository)
        self.per_day = chosen.per_day()

    def _settled(self) -> int:
        if self.store.writable:
            try:
                return places.settle(self.store, self.folder, self.now)
            except sqlite.OperationalError as error:
                if not any(word in str(error) for word in db.BUSY):
                    raise
        found = places.find(self.store, self.folder)
        return NOWHERE if found is None else found

    @property
    def root(self) -> str:
        """The root of the repository's files."""
        from tenon.base.repository import identify

        return identify(self.folder).root

    def memory(self, ref: str) -> Memory:
        """The memory with that id, if it is this repository's or the agent's. Raises TenonError otherwise."""
        found = memories.get(self.store, ref)
        if found.repository is not None and places.canonical(self.store, found.repository) != self.scope[0]:
            raise TenonError(f"{ref} belongs to another repository ({places.key(self.store, found.repository)}); it is read and changed from there")
        return found

    def turns(self, refs: list[str]) -> list[int]:
        """The numbers of turns given by their ids (t12). Raises TenonError for an unknown one and for another repository's."""
        found = [exchanges.turn(self.store, ref) for ref in refs]
        for turn in found:
            if places.canonical(self.store, turn.repository) != self.scope[0]:
                raise TenonError(f"{turn.ref} was said in another repository ({places.key(self.store, turn.repository)}); it is dealt with from there")
        return [turn.id for turn in found]
