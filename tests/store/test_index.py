"""The text index: what a word finds, and how a long cue stays fast."""

from __future__ import annotations

from tenon.store import index
from tenon.store.db import Store


def fill(store: Store, texts: list[str]) -> None:
    """Indexes the texts as memories numbered from 1."""
    for number, text in enumerate(texts, 1):
        index.add_memory(store, number, text)


def found(store: Store, match: str) -> list[int]:
    """The rows that a MATCH expression finds."""
    return [row[0] for row in store.rows("SELECT rowid FROM memory_fts WHERE memory_fts MATCH ? ORDER BY rowid", (match,))]


def test_a_word_finds_its_forms_whatever_the_case_and_the_accents(store: Store) -> None:
    """Endings and accents aside, as the tokenizer has it; and the pairs of an unspaced script."""
    fill(store, ["Migrations are RUN", "naïve Café", "設定ファイル", "nothing"])
    words = {"migrate": 1, "running": 1, "cafe": 1, "naive": 1, "設定": 1, "定フ": 1, "設*": 1, "ル*": 1}
    assert [[1], [1], [2], [2], [3], [3], [3], [3]] == [found(store, index.query([word], words)) for word in words]


def test_what_is_taken_out_is_found_no_more(store: Store) -> None:
    """Of both indexes; the others stay."""
    fill(store, ["zebra one", "zebra two"])
    index.drop_memory(store, 1)
    assert [2] == found(store, '"zebra"')
    index.add_passage(store, 1, "zebra one")
    index.add_passage(store, 2, "zebra two")
    index.drop_passage(store, 1, "zebra one")
    assert [(2,)] == store.rows("SELECT rowid FROM turn_fts WHERE turn_fts MATCH 'zebra'")
    for check in index.CHECK.values():
        store.execute(check)


def test_words_that_are_in_no_row_are_no_part_of_the_query(store: Store) -> None:
    """None at all is no query."""
    assert "" == index.query(["a", "b"], {"a": 0})
    assert '"b"' == index.query(["a", "b"], {"a": 0, "b": 3})
    assert '"a" OR "b"' == index.query(["a", "b"], {"a": 1, "b": 3})
    assert '"設"*' == index.query(["設*"], {"設*": 1})


def test_the_rarest_words_choose_and_the_others_only_rank() -> None:
    """A word that is in thousands of rows chooses nothing as long as a rarer one is there."""
    assert '("rare") AND ("the" OR "rare")' == index.query(["the", "rare"], {"the": 2001, "rare": 3})
    assert '("rare" OR "some") AND ("the" OR "some" OR "rare")' == index.query(["the", "some", "rare"], {"the": 2001, "some": 400, "rare": 3})
    assert '("a" OR "b") AND ("a" OR "b" OR "c")' == index.query(["a", "b", "c"], {"a": 1000, "b": 1200, "c": 1900})
    assert '("a") AND ("a" OR "the")' == index.query(["a", "the"], {"a": 2001, "the": 2001})


def test_a_count_stops_where_it_no_longer_matters(store: Store) -> None:
    """At two thousand and one; the size is that of the table."""
    store.execute(
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2500) INSERT INTO memory_fts (rowid, text) SELECT i, 'common ' || i FROM n"
    )
    assert (0, {"common": 2001, "7": 1, "none": 0}) == index.counts(store, "memory_fts", ["common", "7", "none"])


def test_no_word_can_break_out_of_its_quotes(store: Store) -> None:
    """Operators are words like others."""
    fill(store, ["AND or not near"])
    words = ["and", "or", "not", "near"]
    size, rows = index.counts(store, "memory_fts", words)
    assert (0, dict.fromkeys(words, 1)) == (size, rows)
    assert [1] == found(store, index.query(words, rows))
