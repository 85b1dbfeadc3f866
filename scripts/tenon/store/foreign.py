"""Another program's SQLite file, read without touching it, whatever of its tables and columns there is."""

from __future__ import annotations

import os
import shutil
from tempfile import TemporaryDirectory

from tenon.base.errors import TenonError
from tenon.base.lean import sqlite
from tenon.store import db, places

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import TracebackType
    from typing import Any

    from tenon.store.db import Store

HEAD = b"SQLite format 3\0"
TABLES = "SELECT name FROM sqlite_master WHERE type = 'table'"
COLUMNS = "SELECT name FROM pragma_table_info(?)"
ROWS = 'SELECT {} FROM "{}" ORDER BY rowid'
ROWS_WITHOUT = 'SELECT {} FROM "{}" ORDER BY 1'  # of a table that has no rowid
COUNT = 'SELECT count(*) FROM "{}"'
BY_KEY = "SELECT id FROM repository WHERE key = ?"
ADD_REPOSITORY = "INSERT INTO repository (key, seen) VALUES (?, ?)"
BACKDATE = "UPDATE memory SET created = min(created, ?), valid_from = min(valid_from, ?) WHERE ref = ?"


class Foreign:
    """An open file of another program's; use it as a context manager. Its bytes, and what lies beside it, stay as they are."""

    def __init__(self, path: str, con: sqlite.Connection, folder: TemporaryDirectory[str] | None) -> None:
        self.path = path
        self.con = con
        self.folder = folder
        self.tables = {str(row[0]) for row in con.execute(TABLES)}

    def __enter__(self) -> Foreign:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.con.close()
        if self.folder is not None:
            self.folder.cleanup()

    def count(self, table: str) -> int:
        """How many rows a table has; 0 for one that is not there. Raises TenonError as `rows` does."""
        if table not in self.tables:
            return 0
        try:
            return int(self.con.execute(COUNT.format(table)).fetchone()[0])
        except sqlite.Error as error:
            raise unreadable(self.path, error) from error

    def rows(self, table: str, wanted: Sequence[str]) -> Iterator[dict[str, Any]]:
        """The rows of a table, each with those of the columns that are there; none for a table that is not.

        Raises TenonError where the file is damaged; the rows before that were given.
        """
        try:
            rows = self._rows(table, wanted)
            while (row := next(rows, None)) is not None:
                yield row
        except sqlite.Error as error:
            raise unreadable(self.path, error) from error

    def _rows(self, table: str, wanted: Sequence[str]) -> Iterator[dict[str, Any]]:
        there = {str(row[0]) for row in self.con.execute(COLUMNS, (table,))} if table in self.tables else set()
        names = [name for name in wanted if name in there]
        if not names:
            return
        listed = ", ".join(f'"{name}"' for name in names)
        try:
            found = self.con.execute(ROWS.format(listed, table))
        except sqlite.OperationalError:
            found = self.con.execute(ROWS_WITHOUT.format(listed, table))
        for row in found:
            yield dict(zip(names, row))


def is_sqlite(path: str) -> bool:
    """Whether the file is one of SQLite's."""
    try:
        with open(path, "rb") as file:
            return file.read(len(HEAD)) == HEAD
    except OSError:
        return False


def opened(path: str) -> Foreign:
    """The file at the path; one with a log beside it, which its program may be writing, is read from a copy.

    Raises TenonError when it cannot be read or is no file of SQLite's.
    """
    if not os.path.isfile(path):
        raise TenonError(f"there is no file {path}")
    if not is_sqlite(path):
        raise TenonError(f"{path} is no database")
    folder: TemporaryDirectory[str] | None = None
    try:
        if _size(path + "-wal"):
            folder = TemporaryDirectory(prefix="tenon-")
            copied = os.path.join(folder.name, "copy.db")
            for suffix in ("", "-wal"):
                shutil.copyfile(path + suffix, copied + suffix)
            con = sqlite.connect(copied, isolation_level=None)
        else:
            con = sqlite.connect(f"file:{db.uri_path(path)}?mode=ro&immutable=1", isolation_level=None, uri=True)
        con.text_factory = lambda data: data.decode("utf-8", "replace")
        return Foreign(path, con, folder)
    except (OSError, sqlite.Error) as error:
        if folder is not None:
            folder.cleanup()
        raise unreadable(path, error) from error


def unreadable(path: str, error: Exception) -> TenonError:
    """What to say of another program's file that cannot be read."""
    return TenonError(f"{path} cannot be read ({error}); it is another program's, and Tenon's own store is as it was")


def home(store: Store, project: str, now: float) -> tuple[int, bool]:
    """The number of the repository that another program calls by its folder's name, and whether it is surely that one.

    The only known one of that name; else one under `claude-mem/NAME`, which an alias may make another.
    """
    key = f"claude-mem/{project}"
    found = store.value(BY_KEY, (key,))
    if found is not None:
        return int(found), places.canonical(store, int(found)) != int(found)
    name = project.replace("\\", "/").rstrip("/").rpartition("/")[2].lower()
    alike = [key for key, _, _, _ in places.everything(store) if key.replace("\\", "/").rstrip("/").rpartition("/")[2].lower() == name]
    homes = {places.canonical(store, places.by_key(store, each)) for each in alike}
    if len(homes) == 1:
        return homes.pop(), True
    return int(store.execute(ADD_REPOSITORY, (key, now)).lastrowid or 0), False


def backdate(store: Store, ref: str, at: float) -> None:
    """Notes that a memory is of an earlier time than that at which it was written here."""
    store.execute(BACKDATE, (at, at, ref))


def _size(path: str) -> int:
    try:
        return os.path.getsize(path)
    except OSError:
        return 0
