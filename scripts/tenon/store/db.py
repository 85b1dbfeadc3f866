"""Opening a store: one SQLite file, owner-only, WAL, many processes at once.

A reader never waits for a writer and needs no write lock; a writer waits its turn. Every connection of Tenon
comes from here, so the pragmas hold on every path.
"""

from __future__ import annotations

import os
import time

from tenon.base import paths
from tenon.base.errors import TenonError
from tenon.base.lean import sqlite
from tenon.store import migrate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType
    from typing import Any

BUSY = ("database is locked", "database table is locked", "database schema is locked", "locking protocol")


class Store:
    """One open store. `now` is the time of this unit of work; `rows` reads; `transaction` writes."""

    __slots__ = ("con", "path", "writable")

    def __init__(self, con: sqlite.Connection, path: str, writable: bool) -> None:
        self.con = con
        self.path = path
        self.writable = writable

    def rows(self, sql: str, values: Any = ()) -> list[tuple[Any, ...]]:
        """All rows of a query."""
        return self.con.execute(sql, values).fetchall()

    def each(self, sql: str, values: Any = ()) -> Iterator[tuple[Any, ...]]:
        """The rows of a query, one by one."""
        return self.con.execute(sql, values)

    def one(self, sql: str, values: Any = ()) -> tuple[Any, ...] | None:
        """The first row of a query, or None."""
        row: tuple[Any, ...] | None = self.con.execute(sql, values).fetchone()
        return row

    def value(self, sql: str, values: Any = ()) -> Any:
        """The first column of the first row, or None."""
        row = self.con.execute(sql, values).fetchone()
        return row[0] if row else None

    def execute(self, sql: str, values: Any = ()) -> sqlite.Cursor:
        """The cursor of a statement, for its rowcount and lastrowid."""
        return self.con.execute(sql, values)

    def transaction(self) -> Transaction:
        """A block that is written whole or not at all; blocks may nest."""
        return Transaction(self.con)

    def savepoint(self) -> Savepoint:
        """A part of a transaction that is taken back alone when it raises."""
        return Savepoint(self.con)

    def within(self, seconds: float) -> None:
        """From now on a query that is still running after so many seconds is ended (OperationalError «interrupted»)."""
        end = time.monotonic() + seconds
        self.con.set_progress_handler(lambda: time.monotonic() > end, 2000)

    def leniently(self) -> None:
        """From now on letters that are none (somebody, or a failing disk, has changed them) are read as replacement characters."""
        self.con.text_factory = lambda data: data.decode("utf-8", "replace")

    def close(self) -> None:
        """Gives the file back."""
        self.con.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


class Transaction:
    """BEGIN IMMEDIATE … COMMIT, or ROLLBACK when the block raises. Inside another one it is part of that one."""

    __slots__ = ("con", "outer")

    def __init__(self, con: sqlite.Connection) -> None:
        self.con = con
        self.outer = False

    def __enter__(self) -> None:
        self.outer = self.con.in_transaction
        if not self.outer:
            self.con.execute("BEGIN IMMEDIATE")

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self.outer:
            return
        if kind is None:
            self.con.execute("COMMIT")
        elif self.con.in_transaction:
            self.con.execute("ROLLBACK")


class Savepoint:
    """SAVEPOINT … RELEASE, or ROLLBACK TO when the block raises; only inside a transaction."""

    __slots__ = ("con",)

    def __init__(self, con: sqlite.Connection) -> None:
        self.con = con

    def __enter__(self) -> None:
        self.con.execute("SAVEPOINT part")

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if kind is not None:
            self.con.execute("ROLLBACK TO part")
        self.con.execute("RELEASE part")


def exists(path: str) -> bool:
    """Whether there is a store at the path; an empty file is none yet. Raises TenonError when the way to it is closed to this user."""
    try:
        return os.stat(path).st_size > 0
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise TenonError(f"{path} cannot be read ({error.strerror}); {_way_in(path)}") from error


def is_behind(path: str) -> bool:
    """Whether the store has an older schema, which the next opener brings up; that takes its time in a large one."""
    try:
        with open(path, "rb") as file:
            head = file.read(64)
    except OSError:
        return False
    return len(head) == 64 and 0 < int.from_bytes(head[60:64], "big") < migrate.NEWEST  # SQLite's file format, 1.3: user_version


def open_store(path: str, *, create: bool = True, busy_s: float = 10.0, upgrade: bool = True) -> Store:
    """The store at the path, readable and writable, on this version's schema.

    With `create` a missing store is made. Raises TenonError when it is missing and `create` is off, was written
    by a newer Tenon, is no database, or cannot be written; the file is left as it was. Without `upgrade` an older
    schema is refused too: who has no time leaves it to others.
    """
    if not exists(path):
        if not create:
            raise TenonError(f"there is no memory yet at {path}; it begins with the first session or `tenon write`")
        _make_file(path)
    try:
        con = _connect(path, busy_s)
    except sqlite.Error as error:
        raise TenonError(explain(path, error)) from error
    try:
        con.execute("PRAGMA secure_delete = ON")  # also of what an upgrade drops
        version = con.execute("PRAGMA user_version").fetchone()[0]
        if version > migrate.NEWEST:
            raise TenonError(migrate.too_new(path, version))
        if 0 < version < migrate.NEWEST and not upgrade:
            raise TenonError(_older(path))
        if version < migrate.NEWEST:
            _use_wal(con, busy_s)
            migrate.bring_up(con, path)
        con.execute("PRAGMA foreign_keys = ON")
        con.execute("PRAGMA recursive_triggers = ON")
        con.execute("PRAGMA synchronous = NORMAL")
    except sqlite.Error as error:
        con.close()
        raise TenonError(explain(path, error)) from error
    except BaseException:
        con.close()
        raise
    return Store(con, path, True)


def open_reader(path: str, *, busy_s: float = 2.0) -> Store:
    """The store at the path for reading only: takes no write lock, never creates or migrates anything.

    Raises TenonError as `open_store` does, also for a store that still has an older schema.
    """
    if not exists(path):
        raise TenonError(f"there is no memory yet at {path}; it begins with the first session or `tenon write`")
    address = "file:" + uri_path(path) + "?mode=ro"
    for suffix in ("", "&immutable=1"):
        con = None
        try:
            con = sqlite.connect(address + suffix, timeout=busy_s, isolation_level=None, uri=True)
            version = con.execute("PRAGMA user_version").fetchone()[0]
        except sqlite.Error as error:
            if con is not None:
                con.close()
            # A folder that cannot be written has no place for the shared index of a WAL store; without
            # a WAL to merge, the file alone is the whole truth and may be read as immutable.
            if not suffix and ("unable to open" in str(error) or "readonly" in str(error)) and not _has_wal(path):
                continue
            raise TenonError(explain(path, error)) from error
        if version != migrate.NEWEST:
            con.close()
            raise TenonError(migrate.too_new(path, version) if version > migrate.NEWEST else _older(path))
        return Store(con, path, False)
    raise AssertionError("unreachable")


def explain(path: str, error: BaseException) -> str:
    """A sentence with the way out for what SQLite said."""
    said = str(error)
    if any(word in said for word in BUSY):
        return f"{path} is being written by another process; try again in a moment"
    if "fts5" in said:
        return "this Python's SQLite was built without full-text search (FTS5); point TENON_PYTHON and `python3` to another Python"
    if "full" in said:
        return f"{path} cannot grow: the disk is full; free some space, nothing stored is lost"
    if "readonly" in said or "read-only" in said or "unable to open" in said:
        return f"{path} cannot be {'opened' if 'unable' in said else 'written'} ({said}); {_way_in(path)}"
    if "malformed" in said or "not a database" in said or "corrupt" in said:
        return f"{path} is damaged ({said}); `tenon doctor --fix` saves what can be read and keeps the damaged file"
    return f"{path}: {said}"


def _older(path: str) -> str:
    return f"{path} has an older schema; the next session, or any writing command of Tenon, brings it up"


def _way_in(path: str) -> str:
    """How the user gets to the file: by its own modes or a folder's, when one of them is closed, or by another folder."""
    here, needed = path, os.R_OK | os.W_OK
    while here != os.path.dirname(here):
        if os.path.lexists(here) and not os.access(here, needed):
            return f"{here} is closed to you: `tenon doctor --fix` opens what is yours, or set TENON_HOME to a folder you may write"
        if here == paths.home():
            break
        here, needed = os.path.dirname(here), os.R_OK | os.W_OK | os.X_OK
    return "check the permissions of its folder, or set TENON_HOME to one you may write"


def _make_file(path: str) -> None:
    paths.make_private(os.path.dirname(path))
    try:
        # Made owner-only before SQLite sees it; SQLite gives -wal and -shm the mode of the main file.
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    except OSError as error:
        raise TenonError(f"{path} cannot be made ({error.strerror}); set TENON_HOME to a folder you may write") from error


def _connect(path: str, busy_s: float) -> sqlite.Connection:
    if os.path.islink(path):
        raise TenonError(f"{path} is a symbolic link; Tenon keeps its store in a real file: move it or set TENON_HOME")
    if os.name == "posix" and os.stat(path).st_mode & 0o077:
        os.chmod(path, 0o600)
    return sqlite.connect(path, timeout=busy_s, isolation_level=None, check_same_thread=False)


def _use_wal(con: sqlite.Connection, busy_s: float) -> None:
    # The switch to WAL wants the file alone and does not call the busy handler, so racing openers try again.
    end = time.monotonic() + busy_s
    pause = 0.002
    while True:
        try:
            if con.execute("PRAGMA journal_mode").fetchone()[0] == "wal" or con.execute("PRAGMA journal_mode = WAL").fetchone()[0] == "wal":
                return
        except sqlite.OperationalError as error:
            if not any(word in str(error) for word in BUSY):
                raise
        if time.monotonic() > end:
            return  # a file system without shared memory keeps the rollback journal: slower, and right
        time.sleep(pause)
        pause = min(pause * 1.7, 0.1)


def _has_wal(path: str) -> bool:
    try:
        return os.path.getsize(path + "-wal") > 0
    except OSError:
        return False


def uri_path(path: str) -> str:
    """The path as it stands in a `file:` address."""
    quoted = path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    if os.name == "nt":
        quoted = "/" + quoted.replace("\\", "/")
    return quoted
