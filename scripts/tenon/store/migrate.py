"""Numbered schema files, each applied whole with its version or not at all.

`PRAGMA user_version` moves in the transaction of the file it counts, so a process killed at any point leaves
a store that is either before or after a step; of racing openers one applies it and the others find it done.
What a file leaves empty and can be made from what is stored is made in that transaction too.
"""

from __future__ import annotations

import os

from tenon.base.errors import TenonError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tenon.base.lean import sqlite

NEWEST = 5  # the number of the last file in schema/; a test holds them equal
SCHEMA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "schema")
ANYTHING = "SELECT EXISTS (SELECT 1 FROM memory) OR EXISTS (SELECT 1 FROM turn)"


def bring_up(con: sqlite.Connection, path: str) -> None:
    """Applies the schema files that the store does not have yet.

    Raises TenonError for a store that a newer Tenon wrote meanwhile, and whatever SQLite raises; either way
    the store keeps the version it had.
    """
    while True:
        con.execute("BEGIN IMMEDIATE")
        try:
            version = con.execute("PRAGMA user_version").fetchone()[0]
            if version > NEWEST:
                raise TenonError(too_new(path, version))
            if version < NEWEST:
                for statement in statements(version + 1):
                    con.execute(statement)
                if version + 1 in AFTER:
                    AFTER[version + 1](con, path)
                con.execute(f"PRAGMA user_version = {version + 1:d}")
            con.execute("COMMIT")
        except BaseException:
            if con.in_transaction:
                con.execute("ROLLBACK")
            raise
        if version >= NEWEST - 1:
            return


def _index_again(con: sqlite.Connection, path: str) -> None:
    """Fills the text indexes from what is stored; vectors take five times as long and follow in the background (world/backlog.py)."""
    if con.execute(ANYTHING).fetchone()[0]:
        from tenon.store import reindex
        from tenon.store.db import Store

        reindex.rebuild(Store(con, path, True), embed=False)


AFTER = {3: _index_again}  # what follows the statements of a file


def statements(number: int) -> list[str]:
    """The statements of one schema file, in order."""
    from sqlite3 import complete_statement

    name = next(name for name in sorted(os.listdir(SCHEMA)) if name.startswith(f"{number:04d}_"))
    found: list[str] = []
    pending = ""
    with open(os.path.join(SCHEMA, name), encoding="utf-8") as file:
        for line in file:
            pending += line
            if complete_statement(pending):
                found.append(pending)
                pending = ""
    return found


def too_new(path: str, version: int) -> str:
    """The refusal of a store that this version does not know."""
    return f"{path} was written by a newer Tenon (schema {version}, this one knows {NEWEST}); update the plugin. Nothing was changed"
