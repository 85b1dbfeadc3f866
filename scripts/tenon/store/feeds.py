"""How far each transcript has been read."""
from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tenon.store.db import Store

FEED = "SELECT offset, file, left_out FROM feed WHERE path = ?"
SET_FEED = "INSERT OR REPLACE INTO feed (path, offset, file, left_out, read) VALUES (?, ?, ?, ?, ?)"
BEGAN = "SELECT value FROM meta WHERE name = 'began'"
LEFT_OUT = "SELECT path, left_out FROM feed WHERE left_out > 0 ORDER BY path"


def began(store: Store) -> float:
    """When the store was made. Transcripts that were not touched since wait for `tenon import`."""
    return float(store.value(BEGAN) or 0)


def position(store: Store, path: str) -> tuple[int, str, int]:
    """How far a transcript was read: bytes, the file's device:inode, and how many lines were left out so far."""
    row = store.one(FEED, (path,))
    return (int(row[0]), str(row[1]), int(row[2])) if row else (0, "", 0)


def set_position(store: Store, path: str, offset: int, file: str, left_out: int, now: float) -> None:
    """Remembers how far a transcript was read."""
    store.execute(SET_FEED, (path, offset, file, left_out, now))


def left_out(store: Store) -> list[tuple[str, int]]:
    """The transcripts in which lines were left out (no JSON, or too long to keep), and how many."""
    return [(str(path), int(count)) for path, count in store.rows(LEFT_OUT)]
