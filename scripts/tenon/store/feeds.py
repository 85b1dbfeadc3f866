"""How far each transcript has been read, and what is known of the line that comes next."""

from __future__ import annotations

import os

from tenon.base import paths
from tenon.base.errors import TenonError
from tenon.base.lean import sqlite
from tenon.store import db, deleted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from tenon.store.db import Store

FEED = "SELECT offset, file, left_out FROM feed WHERE path = ?"
NOTES = "SELECT before, tries, skipped FROM feed WHERE path = ?"
SET_FEED = "INSERT OR REPLACE INTO feed (path, offset, file, left_out, read, before, tries, skipped) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
BEGAN = "SELECT value FROM meta WHERE name = 'began'"
CLAIM = "INSERT OR IGNORE INTO feed (path, offset, file, read) VALUES (?, 0, '', ?)"
KNOWN = "SELECT 1 FROM feed WHERE path = ?"
ALL = "SELECT path, offset FROM feed"
LEFT_OUT = "SELECT path, left_out FROM feed WHERE left_out > 0 ORDER BY path"


def began(store: Store) -> float:
    """When the store was made. Transcripts that were not touched since wait for `tenon import`."""
    return float(store.value(BEGAN) or 0)


def position(store: Store, path: str) -> tuple[int, str, int]:
    """How far a transcript was read: bytes, the file's device:inode, and how many lines were left out so far."""
    row = store.one(FEED, (path,))
    return (int(row[0]), str(row[1]), int(row[2])) if row else (0, "", 0)


def notes(store: Store, path: str) -> tuple[str, int, int]:
    """The hash of what stands before the position, how often the line there was tried, and up to which byte it was passed over.

    A line that was not tried has 0 tries; 0 bytes mean that nothing of it was passed over.
    """
    row = store.one(NOTES, (path,))
    return (str(row[0]), int(row[1]), int(row[2])) if row else ("", 0, 0)


def set_position(store: Store, path: str, offset: int, file: str, left_out: int, now: float, before: str = "", tries: int = 0, skipped: int = 0) -> None:
    """Remembers how far a transcript was read; notes that are not given are cleared, for they were of an earlier line."""
    store.execute(SET_FEED, (path, offset, file, left_out, now, before, tries, skipped))


def claim(store: Store, path: str, now: float) -> None:
    """Notes that a transcript belongs to this store's agent, before anything of it is read."""
    store.execute(CLAIM, (path, now))


def of_others(store: Store, files: Iterable[str]) -> set[str]:
    """Those of the transcripts that belong to another agent: its store knows them, and this one does not."""
    wanted = [path for path in files if store.value(KNOWN, (path,)) is None]
    found: set[str] = set()
    for agent in paths.agents() if wanted else []:
        if os.path.abspath(paths.store_path(agent)) == os.path.abspath(store.path):
            continue
        try:
            with db.open_reader(paths.store_path(agent), busy_s=0.2) as other:
                found.update(path for path in wanted if other.value(KNOWN, (path,)) is not None)
        except (TenonError, sqlite.Error):
            continue  # a damaged store claims nothing
    return found


def of_deleted(store: Store, files: Iterable[str]) -> set[str]:
    """Those of the transcripts that a deleted agent had, and this one does not know. Raises TenonError when that cannot be seen."""
    held = deleted.sizes()
    return {path for path in files if deleted.hashed(path) in held and store.value(KNOWN, (path,)) is None} if held else set()


def read_so_far(store: Store) -> dict[str, int]:
    """All transcripts that the store knows, and how much of each was read, in bytes."""
    return {str(path): int(offset) for path, offset in store.rows(ALL)}


def left_out(store: Store) -> list[tuple[str, int]]:
    """The transcripts in which lines were left out (no JSON, or too long to keep), and how many."""
    return [(str(path), int(count)) for path, count in store.rows(LEFT_OUT)]
