"""The text index: what a word finds, and how a long cue stays fast."""

from __future__ import annotations

import pytest

from tenon.base.text import words as words_of
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
    index.add_passage(store, 1, "zebra one", "tiger")
    index.add_passage(store, 2, "zebra two")
    index.drop_passage(store, 1, "zebra one", "tiger")
    assert [] == store.rows("SELECT rowid FROM turn_fts WHERE turn_fts MATCH 'tiger'")
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
    assert '("a" OR "b") AND ("a" OR "b" OR "c")' == index.query(["a", "b", "c"], {"a": 400, "b": 500, "c": 1900})


def test_a_word_of_many_rows_chooses_by_what_they_say_themselves() -> None:
    """What stands around a row is in several times as many; all of it still ranks."""
    assert '("a" OR text : "b") AND ("a" OR "b" OR "c")' == index.query(["a", "b", "c"], {"a": 400, "b": 501, "c": 1900})
    assert '(text : "a") AND ("a" OR "the")' == index.query(["a", "the"], {"a": 2001, "the": 2001})


def test_the_commonest_words_of_a_long_cue_do_not_even_rank() -> None:
    """Sixty thousand rows of such words are looked through, and no more."""
    words = ["rare", *(f"w{number:02}" for number in range(20))]
    common = dict.fromkeys(words[1:], 10_000)
    assert '("rare") AND ("rare" OR "w00" OR "w01" OR "w02" OR "w03" OR "w04" OR "w05")' == index.query(words, {"rare": 1, **common})


def test_where_every_word_is_common_only_the_newest_rows_are_looked_through() -> None:
    """So many that the rarest word is in about 5,000 of them."""
    assert [0, 0, 500_000, 995_000, 0] == [
        index.oldest(1_000_000, found) for found in ({"a": 5000}, {"a": 900_000, "b": 12}, {"a": 10_000, "b": 0}, {"a": 1_000_000}, {})
    ]  # fmt: skip


def test_a_common_word_is_counted_in_the_newest_rows(store: Store) -> None:
    """The size is that of the table."""
    store.execute(
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000) INSERT INTO turn_fts (rowid, text, near) "
        "SELECT i, 'common ' || i || CASE WHEN i % 2 THEN ' half' ELSE '' END || CASE WHEN i > 18000 THEN ' late' ELSE '' END, 'around' FROM n"
    )
    store.execute("PRAGMA foreign_keys = OFF")
    store.execute("INSERT INTO passage (id, turn, repository, first, last) VALUES (20000, 1, 1, 0, 1)")
    assert (20_000, {"common": 20_000, "half": 10_000, "late": 2000, "7": 1, "none": 0, "around": 20_000}) == index.counts(
        store, "turn_fts", ["common", "half", "late", "7", "none", "around"]
    )


def test_a_word_counts_where_it_is_said(store: Store) -> None:
    """What stands around a row does not make it common; where no row says it, it is found there."""
    index.add_memory(store, 1, "zebra", "found by Ada, PR#41")
    index.add_memory(store, 2, "tiger", "like the zebra")
    words = ["zebra", "tiger", "ada", "41", "none"]
    _, rows = index.counts(store, "memory_fts", words)
    assert {"zebra": 1, "tiger": 1, "ada": 1, "41": 1, "none": 0} == rows
    assert [[1, 2], [1]] == [found(store, index.query([word], rows)) for word in ("zebra", "ada")]


def test_what_is_said_ranks_before_what_stands_around(store: Store) -> None:
    """By the index's own setting, which a store keeps."""
    index.add_memory(store, 1, "lion", "zebra")
    index.add_memory(store, 2, "zebra", "lion")
    assert [(2,), (1,)] == store.rows("SELECT rowid FROM memory_fts WHERE memory_fts MATCH 'zebra' ORDER BY rank")
    assert [("bm25(1.0, 0.4)",)] * 2 == [store.one(f"SELECT v FROM {table}_config WHERE k = 'rank'") for table in ("memory_fts", "turn_fts")]


@pytest.mark.parametrize(
    ("stored", "asked"),
    [
        ("call getUserName first", "get user name"), ("call getUserName first", "getUserName"), ("get_user_name is slow", "user name"), ("set maxRetryCount to 3", "max retry"),
        ("open src/store/vectorTable.py", "vector table"), ("open src/store/vectorTable.py", "src/store"), ("error E0425 again", "E0425"), ("TS2345 in build", "ts2345"),
        ("connect ECONNREFUSED 127.0.0.1:5432", "econnrefused"), ("an HTTPServer was made", "http server"), ("C:\\work\\apiClient", "api client"), ("--dry-run", "dry run"),
        ("設定ファイルを読む", "設定"), ("東京の天気", "天気"),
    ],
)  # fmt: skip
def test_a_name_is_found_by_its_parts_and_by_itself(store: Store, stored: str, asked: str) -> None:
    """camelCase, snake_case, paths, the codes of errors; and two characters of a script without spaces."""
    fill(store, ["nothing", stored])
    asked_words = words_of(asked)
    assert [2] == found(store, " AND ".join(index.query([word], {word: 1}) for word in asked_words))


def test_no_word_can_break_out_of_its_quotes(store: Store) -> None:
    """Operators are words like others."""
    fill(store, ["AND or not near"])
    words = ["and", "or", "not", "near"]
    size, rows = index.counts(store, "memory_fts", words)
    assert (0, dict.fromkeys(words, 1)) == (size, rows)
    assert [1] == found(store, index.query(words, rows))
