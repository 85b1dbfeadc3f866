"""The text indexes: what goes in, what comes out, and how a long cue stays fast.

Each has two columns: what a row says, and what stands around it, which counts less. Of a memory that is its reason, its
labels and its epic; of a turn the first words of the turns beside it, so that an answer is found by what was asked.

A cue becomes a query of quoted words, never raw text. bm25() visits every row that matches, so the rarest words
choose the candidates until they have chosen enough, and the others only rank what those found:
`(rare OR …) AND (rare OR … OR common …)`. Even ranking looks through all rows of a word once, so the commonest are left
out of a long cue; and where every word is common, only the newest rows are looked through.
"""

from __future__ import annotations

from tenon.base.text import fold

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tenon.store.db import Store

COMMON = 2000  # rows with a word are counted up to here
ENOUGH = 1000  # rows that the rarest words of a cue may choose between them
MOST = 5000  # rows that even the rarest of them may choose; where it has more, the newest
WIDE = 500  # rows with a word up to which it chooses by what stands around a row too: that is in several times as many
RANKING = 60_000  # rows of the words that only rank, all in all
SAMPLE = 4096  # newest rows in which a common word is counted, for how common it is
HEAD_WORDS = 30  # of a turn, that its neighbours are indexed with
HEAD_CHARS = 600  # in which those are looked for

ADD_MEMORY = "INSERT INTO memory_fts (rowid, text, about) VALUES (?, ?, ?)"
DROP_MEMORY = "DELETE FROM memory_fts WHERE rowid = ?"
ADD_PASSAGE = "INSERT INTO turn_fts (rowid, text, near) VALUES (?, ?, ?)"
DROP_PASSAGE = "INSERT INTO turn_fts (turn_fts, rowid, text, near) VALUES ('delete', ?, ?, ?)"
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
# What «rank» is: kept in the index itself, and gone with it.
RANK = {
    "memory_fts": "INSERT INTO memory_fts (memory_fts, rank) VALUES ('rank', 'bm25(1.0, 0.4)')",
    "turn_fts": "INSERT INTO turn_fts (turn_fts, rank) VALUES ('rank', 'bm25(1.0, 0.4)')",
}
ROWS_WITH = {
    "memory_fts": "SELECT count(*) FROM (SELECT 1 FROM memory_fts WHERE memory_fts MATCH ? LIMIT ?)",
    "turn_fts": "SELECT count(*) FROM (SELECT 1 FROM turn_fts WHERE turn_fts MATCH ? LIMIT ?)",
}
NEWEST_WITH = {
    "memory_fts": "SELECT count(*) FROM memory_fts WHERE memory_fts MATCH ? AND rowid > ?",
    "turn_fts": "SELECT count(*) FROM turn_fts WHERE turn_fts MATCH ? AND rowid > ?",
}
# The newest id, not a count: counting a million rows is a scan, and only the order of magnitude matters.
SIZE = {
    "memory_fts": "SELECT coalesce(max(id), 0) FROM memory",
    "turn_fts": "SELECT coalesce(max(id), 0) FROM passage",
}


def add_memory(store: Store, rowid: int, text: str, about: str = "") -> None:
    """Indexes a memory's text, and what is about it."""
    store.execute(ADD_MEMORY, (rowid, fold(text), fold(about)))


def drop_memory(store: Store, rowid: int) -> None:
    """Takes a memory out of the index."""
    store.execute(DROP_MEMORY, (rowid,))


def add_passage(store: Store, rowid: int, text: str, near: str = "") -> None:
    """Indexes one passage of a turn; `near` is as `near` gives it."""
    store.execute(ADD_PASSAGE, (rowid, fold(text), near))


def drop_passage(store: Store, rowid: int, text: str, near: str = "") -> None:
    """Takes a passage out of the index; text and near must be what was indexed, as the index keeps no copy of them."""
    store.execute(DROP_PASSAGE, (rowid, fold(text), near))


def head(text: str) -> str:
    """The first words of a turn's searchable text, as its neighbours are indexed with them."""
    return " ".join(fold(text[:HEAD_CHARS]).split()[:HEAD_WORDS])


def near(heads: Iterable[str]) -> str:
    """What a turn is indexed with of the turns beside it, from their first words."""
    return " ".join(filter(None, heads))


def counts(store: Store, table: str, words: Sequence[str]) -> tuple[int, dict[str, int]]:
    """About how many rows the index has, and how many of them say each word: exact up to COMMON, then by the share of the newest rows.

    A word that no row says is counted where it stands around one.
    """
    size = int(store.value(SIZE[table]))
    return size, {word: _count(store, table, word, size) for word in words}


def query(words: Sequence[str], found: dict[str, int]) -> str:
    """The MATCH expression for the words, or «» when none of them is in the index."""
    order = sorted((word for word in words if found.get(word)), key=lambda word: (found[word], word))
    rare: list[str] = []
    rows = 0
    for word in order:
        rows += found[word]
        if rare and (rows > ENOUGH or found[word] > COMMON):
            break
        rare.append(word)
    ranking = set(rare)
    rows = 0
    for word in order[len(rare) :]:
        rows += found[word]
        if rows > RANKING and found[word] > COMMON:
            break
        ranking.add(word)
    every = " OR ".join(_quoted(word) for word in words if word in ranking)
    if len(rare) == len(order):
        return every
    return "(" + " OR ".join(("text : " if found[word] > WIDE else "") + _quoted(word) for word in rare) + ") AND (" + every + ")"


def oldest(size: int, found: dict[str, int]) -> int:
    """After which row to look, so that the rarest word has not many more than MOST there; 0 unless all words are common."""
    rarest = min(filter(None, found.values()), default=0)
    return max(0, size - size * MOST // rarest) if rarest > MOST else 0


def _count(store: Store, table: str, word: str, size: int) -> int:
    rows, match = 0, ""
    for match in (f"text : {_quoted(word)}", _quoted(word)):
        rows = int(store.value(ROWS_WITH[table], (match, COMMON + 1)))
        if rows:
            break
    if rows <= COMMON:
        return rows
    sample = min(size, SAMPLE)
    return max(rows, int(store.value(NEWEST_WITH[table], (match, size - sample))) * size // max(1, sample))


def _quoted(word: str) -> str:
    if word.endswith("*"):
        return '"' + word[:-1] + '"*'
    return '"' + word + '"'
