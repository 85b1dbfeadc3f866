"""What can be wrong inside a store beyond what `health` looks at, and how it is mended: every page, rows that point to nothing, digests nobody is at."""

from __future__ import annotations

import os
import re

from tenon.base.lean import sqlite

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from tenon.store.db import Store

INTEGRITY = "PRAGMA integrity_check(20)"
TABLES = "SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%' AND name NOT LIKE 'sqlite_%' ORDER BY name"
POINTERS = 'SELECT id, "table", "from", coalesce("to", \'id\') FROM pragma_foreign_key_list(?) ORDER BY id, seq'
_ASTRAY = "FROM {table} WHERE {given} AND NOT EXISTS (SELECT 1 FROM {parent} p WHERE {same})"
COUNT = f"SELECT count(*) {_ASTRAY}"
DROP = f"DELETE {_ASTRAY}"
LOOSEN = "UPDATE {table} SET {column} = NULL WHERE {given} AND NOT EXISTS (SELECT 1 FROM {parent} p WHERE {same})"
LOST = f"INSERT OR IGNORE INTO repository (id, key, seen) SELECT DISTINCT {{column}}, 'lost/' || {{column}}, 0 {_ASTRAY}"
RUNNING = "SELECT count(*) FROM digest WHERE state = 'running'"
ADD_DEED = "INSERT INTO deed (at, what, ref, note) VALUES (?, 'repair', '', ?)"

# What may point to nothing without losing its sense; any other row goes with what it pointed to.
LOOSE = {("memory", "successor"), ("repository", "same_as"), ("step", "memory"), ("step", "other")}
KEPT = ("turn", "session", "memory")  # rows that are never dropped for it
LEFT = re.compile(r".+\.(\d{1,7})\.(?:new|restored)(?:-(?:wal|shm|journal))?")  # by a backup, an export or a restore that was ended in the middle


class Astray:
    """Rows of a table that point to a row of another one which is not there: how many, and whether that can be mended."""

    __slots__ = ("table", "columns", "parent", "targets", "count")

    def __init__(self, table: str, columns: list[str], parent: str, targets: list[str], count: int) -> None:
        self.table = table
        self.columns = columns
        self.parent = parent
        self.targets = targets
        self.count = count

    @property
    def mends(self) -> str:
        """What is done about it, in words; «» when nothing can be."""
        if self.parent == "repository" and self.table != "repository":
            return "they get a repository of the name lost/…, which `tenon alias` makes another"
        if (self.table, self.columns[0]) in LOOSE:
            return "they point to nothing from then on"
        return "" if self.table in KEPT else "they are removed"

    def fields(self) -> dict[str, str]:
        """The parts of a statement about these rows."""
        return {
            "table": f'"{self.table}"', "parent": f'"{self.parent}"', "column": f'"{self.columns[0]}"',
            "given": " AND ".join(f'"{column}" IS NOT NULL' for column in self.columns),
            "same": " AND ".join(f'p."{target}" = "{self.table}"."{column}"' for column, target in zip(self.columns, self.targets)),
        }  # fmt: skip


def pages(store: Store) -> list[str]:
    """What is wrong with any page of the file, in SQLite's words; empty when all are whole."""
    try:
        return [str(row[0]) for row in store.rows(INTEGRITY) if row[0] != "ok"]
    except sqlite.Error as error:
        return [str(error)]


def astray(store: Store) -> list[Astray]:
    """The rows that point to nothing, by table and by what they point to."""
    return [found for each in _pointers(store) if (found := _counted(store, each)).count]


def mend(store: Store, now: float) -> int:
    """How many rows were mended: repositories first, then what points to nothing, as often as that lays bare others. The caller's transaction makes it whole."""
    mended = 0
    for _ in range(5):
        found = [each for each in astray(store) if each.mends]
        if not found:
            break
        for each in sorted(found, key=lambda each: each.parent != "repository"):
            told = each.fields()
            if each.parent == "repository" and each.table != "repository":
                store.execute(LOST.format(**told))
                mended += each.count
            elif (each.table, each.columns[0]) in LOOSE:
                mended += store.execute(LOOSEN.format(**told)).rowcount
            else:
                mended += store.execute(DROP.format(**told)).rowcount
    if mended:
        store.execute(ADD_DEED, (now, f"{mended} rows that pointed to nothing"))
    return mended


def running(store: Store) -> int:
    """How many digests say that they are at it."""
    return int(store.value(RUNNING))


def left(folders: list[str]) -> list[tuple[str, int]]:
    """The files that were left in the folders by a command that was ended in the middle, each with the number of its process."""
    found: list[tuple[str, int]] = []
    for folder in folders:
        try:
            names = sorted(os.listdir(folder))
        except OSError:
            continue
        found += [(os.path.join(folder, name), int(match[1])) for name in names if (match := LEFT.fullmatch(name))]
    return found


def _pointers(store: Store) -> Iterator[Astray]:
    for (table,) in store.rows(TABLES):
        grouped: dict[int, Astray] = {}
        for number, parent, column, target in store.rows(POINTERS, (table,)):
            each = grouped.setdefault(number, Astray(str(table), [], str(parent), [], 0))
            each.columns.append(str(column))
            each.targets.append(str(target))
        yield from grouped.values()


def _counted(store: Store, each: Astray) -> Astray:
    each.count = int(store.value(COUNT.format(**each.fields())))
    return each
