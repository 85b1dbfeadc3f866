"""What can still be read of a damaged store, copied row by row into a fresh one; the damaged file is kept."""

from __future__ import annotations

import json
import os
from hashlib import blake2b

from tenon.base.errors import TenonError
from tenon.base.lean import sqlite
from tenon.store import backup, db, migrate, reindex

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from tenon.store.db import Store

# In the order in which rows point to each other. Passages, text indexes and vectors are made anew, not copied.
TABLES = (
    "repository", "place", "session", "turn", "line", "feed", "consolidated", "summary", "memory", "revision", "lineage", "edge", "episode",
    "procedure", "task", "handoff", "journal", "tombstone", "deed", "conversation", "piece", "epoch", "epoch_piece", "sent",
    "addition", "association", "spotted", "reading", "gist", "digest", "step", "spending", "selection", "usage", "growth", "latency",
    "meta",
)  # fmt: skip
SINCE = {"conversation": 2, "piece": 2, "epoch": 2, "epoch_piece": 2, "sent": 2, "addition": 2}
SINCE.update(dict.fromkeys(("association", "spotted", "reading", "gist", "digest", "step", "spending", "selection"), 4))  # the schema that brought a table
SINCE.update(dict.fromkeys(("usage", "growth", "latency"), 5))
VERSION = "PRAGMA user_version"
COLUMNS = "PRAGMA table_info({})"
FORWARDS = "SELECT {} FROM {} ORDER BY rowid"
BACKWARDS = "SELECT {} FROM {} ORDER BY rowid DESC"
AS_IT_COMES = "SELECT {} FROM {}"
ADD = "INSERT OR REPLACE INTO {} ({}) VALUES ({})"
ADD_ONCE = "INSERT OR IGNORE INTO {} ({}) VALUES ({})"
RESCUED = "INSERT INTO deed (at, what, ref, note) VALUES (?, 'rescue', '', ?)"


class Rescue:
    """How it went: rows saved per table, tables that could not be read to their end, and where the damaged file is now («»: where it was)."""

    __slots__ = ("rows", "broken", "kept")

    def __init__(self) -> None:
        self.rows: dict[str, int] = {}
        self.broken: list[str] = []
        self.kept = ""

    @property
    def nothing(self) -> bool:
        """Whether no memory and no turn was saved, and some may have been there."""
        return not (self.rows.get("memory") or self.rows.get("turn")) and (not self.rows or not {"memory", "turn"}.isdisjoint(self.broken))


def newest_backup(path: str) -> str:
    """The newest whole backup of the store at the path, of those that it noted (where that can be read) and those beside it; «» when there is none."""
    home = os.path.dirname(os.path.abspath(path))
    found = backup.made(os.path.join(home, "backups"), os.path.basename(home))
    try:
        with db.open_reader(path) as store:
            found += backup.known(store)
    except (TenonError, sqlite.Error, OSError):
        pass  # it is damaged there too
    for each in sorted({one for one in found if os.path.isfile(one)}, key=os.path.getmtime, reverse=True):
        try:
            if any(backup.inspected(each)):
                return each
        except TenonError:
            continue
    return ""


def rescue(path: str, stamp: str, now: float, *, empty: bool = False) -> Rescue:
    """Puts a fresh store with every readable row in the place of the damaged one, which becomes <path>.damaged-<stamp>.

    Where nothing could be read, only with `empty`. Nothing is moved before the fresh store is whole. Raises TenonError or OSError when that cannot be done.
    """
    found = Rescue()
    fresh = f"{path}.rescued-{stamp}"
    _remove(fresh)
    with db.open_store(fresh) as store:
        store.execute("PRAGMA foreign_keys = OFF")  # what a lost row pointed from is still worth having
        old = _open(path)
        if old is not None:
            try:
                for table in TABLES:
                    _copy(old, store, table, found)
            finally:
                old.close()
        reindex.rebuild(store)
        store.execute(RESCUED, (now, f"{sum(found.rows.values())} rows"))
        store.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    if found.nothing and not empty:
        _remove(fresh)
        return found
    found.kept = f"{path}.damaged-{stamp}"
    for suffix in ("-wal", "-shm", ""):
        if os.path.exists(path + suffix):
            os.replace(path + suffix, found.kept + suffix)
    os.replace(fresh, path)
    return found


def _remove(fresh: str) -> None:
    for suffix in ("", "-wal", "-shm"):
        if os.path.exists(fresh + suffix):
            os.remove(fresh + suffix)


def _open(path: str) -> sqlite.Connection | None:
    address = "file:" + path.replace("%", "%25").replace("?", "%3f").replace("#", "%23") + "?mode=ro"
    try:
        con = sqlite.connect(address, isolation_level=None, uri=True)
        con.text_factory = lambda data: data.decode("utf-8", "surrogateescape")  # so that text which is not whole can be told
        version = con.execute("PRAGMA user_version").fetchone()[0]
    except sqlite.Error:
        return None
    return con if version <= migrate.NEWEST else None


def _copy(old: sqlite.Connection, store: Store, table: str, found: Rescue) -> None:
    try:
        there = {row[1] for row in old.execute(COLUMNS.format(table))}
    except sqlite.Error:
        there = set()
    names = [str(row[1]) for row in store.rows(COLUMNS.format(table)) if row[1] in there]
    if not names and old.execute(VERSION).fetchone()[0] < SINCE.get(table, 1):
        return
    if not names:
        found.broken.append(table)
        return
    columns = ", ".join(names)
    add = (ADD if table == "meta" else ADD_ONCE).format(table, columns, ", ".join("?" * len(names)))
    saved = 0
    with store.transaction():
        for row in _readable(old, table, columns, found):
            try:
                saved += store.execute(add, _sound(table, names, row)).rowcount
            except (sqlite.Error, ValueError):
                continue  # there already, or not a row any more
    found.rows[table] = saved


def _readable(old: sqlite.Connection, table: str, columns: str, found: Rescue) -> Iterator[tuple[Any, ...]]:
    """The rows up to the first damaged page, and, where rows have numbers, those after the last one."""
    for query in (FORWARDS, BACKWARDS):
        try:
            try:
                cursor = old.execute(query.format(columns, table))
            except sqlite.OperationalError:
                query, cursor = AS_IT_COMES, old.execute(AS_IT_COMES.format(columns, table))
            yield from cursor
        except sqlite.Error:  # at the first row already, where the first page is damaged
            if table not in found.broken:
                found.broken.append(table)
            if query == AS_IT_COMES:
                return
        else:
            return


def _sound(table: str, names: list[str], row: tuple[Any, ...]) -> tuple[Any, ...]:
    """The row in whole letters; a turn whose content cannot be read any more is one without content, as a forgotten one is.

    Raises ValueError for messages that are not, to the byte, what they were: such ones must not go upstream.
    """
    fields = dict(zip(names, row))
    if table == "piece" and blake2b(str(fields["content"]).encode("utf-8"), digest_size=16).hexdigest() != fields["hash"]:
        raise ValueError("another content than was written")
    if table == "sent" and not isinstance(json.loads(str(fields["content"]).encode("utf-8")), dict):
        raise ValueError("not a message")
    if table == "turn":
        try:
            fields["content"].encode("utf-8")
            if not isinstance(json.loads(fields["content"]), list):
                raise TypeError("not a list of blocks")
        except (ValueError, TypeError, AttributeError):
            fields["content"], fields["forgotten"] = "[]", fields["at"]
    return tuple(_whole(fields[name]) for name in names)


def _whole(value: Any) -> Any:
    return value.encode("utf-8", "surrogateescape").decode("utf-8", "replace") if isinstance(value, str) and not value.isascii() else value
