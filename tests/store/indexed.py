"""What the index of the archive has, word by word, whatever the numbers of its rows."""

from __future__ import annotations

from tenon.store.db import Store

WORDS = "CREATE VIRTUAL TABLE IF NOT EXISTS temp.turn_words USING fts5vocab ('main', 'turn_fts', 'instance')"
ENTRIES = "SELECT p.turn, p.first, w.col, w.term FROM temp.turn_words w LEFT JOIN passage p ON p.id = w.doc ORDER BY p.turn, p.first, w.col, w.offset"


def indexed(store: Store) -> dict[tuple[int, int, str], str]:
    """The words in order, by turn, first character of the passage and column; of a passage that is not there by None."""
    found: dict[tuple[int, int, str], str] = {}
    store.execute(WORDS)
    for turn, first, column, term in store.rows(ENTRIES):
        key = (turn, first, column)
        found[key] = f"{found[key]} {term}" if key in found else term
    return found


def near(store: Store) -> dict[int, str]:
    """The words that each turn is indexed with of those beside it."""
    return {turn: words for (turn, _, column), words in indexed(store).items() if column == "near"}
