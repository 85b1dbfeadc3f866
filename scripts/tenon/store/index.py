"""The text index: what goes in, what comes out, and how a long cue stays fast.

A cue becomes a query of quoted words, never raw text. bm25() visits every row that matches, so the rarest words
choose the candidates until they have chosen enough, and the others only rank what those found:
`(rare OR …) AND (rare OR … OR common …)`.
"""

from __future__ import annotations

from tenon.base.text import fold

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from tenon.store.db import Store

COMMON = 2000  # rows with a word are counted up to here
ENOUGH = 2500  # rows that the rarest words of a cue may choose between them

ADD_MEMORY = "INSERT INTO memory_fts (rowid, text) VALUES (?, ?)"
DROP_MEMORY = "DELETE FROM memory_fts WHERE rowid = ?"
ADD_PASSAGE = "INSERT INTO turn_fts (rowid, text) VALUES (?, ?)"
DROP_PASSAGE = "INSERT INTO turn_fts (turn_fts, rowid, text) VALUES ('delete', ?, ?)"
EMPTY = {
    "memory_fts": "DELETE FROM memory_fts",
    "turn_fts": "INSERT INTO turn_fts (turn_fts) VALUES ('delete-all')",
}
OPTIMIZE = {
    "memory_fts": "INSERT INTO memory_fts (memory_fts) VALUES ('optimize')",
    "turn_fts": "INSERT INTO turn_fts (turn_fts) VALUES ('optimize')",
}
CHECK = {
    "memory_fts": "INSERT INTO memory_fts (memory_fts) VALUES ('integrity-check')",
    "turn_fts": "INSERT INTO turn_fts (turn_fts) VALUES ('integrity-check')",
}
ROWS_WITH = {
    "memory_fts": "SELECT count(*) FROM (SELECT 1 FROM memory_fts WHERE memory_fts MATCH ? LIMIT ?)",
    "turn_fts": "SELECT count(*) FROM (SELECT 1 FROM turn_fts WHERE turn_fts MATCH ? LIMIT ?)",
}
# The newest id, not a count: counting a million rows is a scan, and only the order of magnitude matters.
SIZE = {
    "memory_fts": "SELECT coalesce(max(id), 0) FROM memory",
    "turn_fts": "SELECT coalesce(max(id), 0) FROM passage",
}


def add_memory(store: Store, rowid: int, text: str) -> None:
    """Indexes a memory's text."""
    store.execute(ADD_MEMORY, (rowid, fold(text)))


def drop_memory(store: Store, rowid: int) -> None:
    """Takes a memory out of the index."""
    store.execute(DROP_MEMORY, (rowid,))


def add_passage(store: Store, rowid: int, text: str) -> None:
    """Indexes one passage of a turn."""
    store.execute(ADD_PASSAGE, (rowid, fold(text)))


def drop_passage(store: Store, rowid: int, text: str) -> None:
    """Takes a passage out of the index; the text must be what was indexed, as the index keeps no copy of it."""
    store.execute(DROP_PASSAGE, (rowid, fold(text)))


def counts(store: Store, table: str, words: Sequence[str]) -> tuple[int, dict[str, int]]:
    """About how many rows the index has, and in how many of them each word is (counted up to COMMON + 1)."""
    size = int(store.value(SIZE[table]))
    return size, {word: int(store.value(ROWS_WITH[table], (_quoted(word), COMMON + 1))) for word in words}


def query(words: Sequence[str], found: dict[str, int]) -> str:
    """The MATCH expression for the words, or «» when none of them is in the index."""
    here = [word for word in words if found.get(word)]
    if not here:
        return ""
    every = " OR ".join(_quoted(word) for word in here)
    rare: list[str] = []
    rows = 0
    for word in sorted(here, key=lambda word: (found[word], word)):
        rows += found[word]
        if rare and (rows > ENOUGH or found[word] > COMMON):
            break
        rare.append(word)
    if len(rare) == len(here):
        return every
    return "(" + " OR ".join(_quoted(word) for word in rare) + ") AND (" + every + ")"


def _quoted(word: str) -> str:
    if word.endswith("*"):
        return '"' + word[:-1] + '"*'
    return '"' + word + '"'
