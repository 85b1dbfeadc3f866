"""Where a call of a tool works: the store of the session's agent, and the repository of its folder.

Each call opens the store and gives it back, so that a killed server holds nothing and a store that was locked, moved or
mended a moment ago is simply used.
"""

from __future__ import annotations

import os
import time

from mcp_server.scope import UNNAMED, of_process
from tenon.base import paths
from tenon.base.errors import TenonError
from tenon.base.lean import sqlite
from tenon.store import db, exchanges, memories, places

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from mcp_server.scope import Scope
    from tenon.base import settings
    from tenon.store.db import Store
    from tenon.store.memories import Memory

READ_BUSY_S = 1.0  # reading waits for no other process: what it would note down besides is left out instead
WRITE_BUSY_S = 10.0
NO_FOLDER = "no-folder"  # below Tenon's home, and never there: where the files of a repository are that is known by its key alone
FOLDERLESS = "what a procedure says depends on files, and no folder of this repository is known here; name the repository by its folder"
EXCLUDED = "this folder is excluded (archive.exclude); memory is off here"
NOTHING = "nothing is remembered yet for the agent that is named; its memory begins with the first thing that is written for it"
NOWHERE = -1  # the repository of a folder that nothing was kept for yet, and of a client that names none


def permitted(scope: Scope, chosen: settings.Settings) -> None:
    """Raises TenonError where the scope's folder is excluded."""
    if scope.folder and paths.lies_in(scope.folder, chosen.names("archive.exclude")):
        raise TenonError(EXCLUDED)


def reads(name: str, arguments: dict[str, Any]) -> bool:
    """Whether that call changes nothing but the journal."""
    return name == "memory_recall" or arguments.get("action") in ("search", "exchange", "read", "list", "grounding", "pattern_check", "pending")


def settled(name: str, arguments: dict[str, Any], scope: Scope) -> None:
    """Raises TenonError where the call writes what belongs to a repository and none is named."""
    by_id = name in ("memory_reinforce", "memory_edit", "memory_forget")  # of what holds everywhere; what is a repository's is refused there
    if scope.is_named or by_id or reads(name, arguments) or (name == "memory_write" and arguments.get("scope") == "agent"):
        return
    if name == "memory_archive" and arguments.get("action") == "turn":
        return
    raise TenonError(UNNAMED)


def opened(path: str, *, reads: bool, own: bool = True) -> Store:
    """The open store; for a tool that only `reads`, also one that cannot be written. Reading begins the memory of one's `own` agent only."""
    if reads and not own and not db.exists(path):
        raise TenonError(NOTHING)
    try:
        return db.open_store(path, busy_s=READ_BUSY_S if reads else WRITE_BUSY_S)
    except TenonError:
        if not reads or not os.path.exists(path):
            raise
        # A disk or folder that cannot be written: what is remembered can still be told.
        return db.open_reader(path, busy_s=READ_BUSY_S)


class Place:
    """Where a call works: the open store, the scope's folder ("" when none is known), its repository and scope, the settings, the time."""

    __slots__ = ("store", "folder", "repository", "scope", "settings", "now", "per_day", "session")

    def __init__(self, store: Store, chosen: settings.Settings, told: Scope | None = None) -> None:
        told = told or of_process()
        permitted(told, chosen)
        self.store = store
        self.settings = chosen
        self.folder = told.folder
        self.session = told.session
        self.now = time.time()
        self.repository = self._by_key(told.key) if told.key else self._settled() if told.folder else NOWHERE
        self.scope = places.scope(store, self.repository)
        self.per_day = chosen.per_day()

    def _by_key(self, key: str) -> int:
        found = places.canonical(self.store, places.by_key(self.store, key))
        folders = places.folders(self.store, found)
        if any(paths.lies_in(folder, self.settings.names("archive.exclude")) for folder in folders):
            raise TenonError(EXCLUDED)
        self.folder = next(filter(os.path.isdir, folders), "")
        return found

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

        return identify(self.folder).root if self.folder else os.path.join(paths.home(), NO_FOLDER)

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
