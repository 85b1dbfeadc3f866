"""A cue: its words, what each weighs, and how much of it a text answers."""

from __future__ import annotations

import sqlite3
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenon.base.text import words as words_of
from tenon.recall import cue


def share(text: str, asked: str) -> float:
    """How much of the cue the text answers, to two places."""
    return round(cue.answered(cue.read(asked), text, words_of(text))[0], 2)


def test_a_cue_is_its_words_in_order_each_once_without_those_that_say_nothing() -> None:
    """Case and punctuation aside."""
    assert ["retry", "budget", "gateway"] == list(cue.read("What is the RETRY budget, the retry-budget, of our gateway?").words)


def test_a_prompt_of_words_that_say_nothing_is_no_cue_and_a_question_of_them_is_one() -> None:
    """A prompt is not asked about «do it for me»; whoever searches for it finds it."""
    assert [] == list(cue.read("can you do it for me?").words)
    assert ["can", "you", "do", "it", "for", "me"] == list(cue.read("can you do it for me?", strict=False).words)


@pytest.mark.parametrize("text", ["", " ", "?!", "\0", "👩‍👩‍👧‍👦", '"', "x", "\ud800", "NOT"])
def test_a_text_without_a_word_is_a_cue_that_nothing_answers(text: str) -> None:
    """Neither strict nor not; a lone letter and «NOT» are words for a search only."""
    asked = cue.read(text)
    assert ([], (0.0, [])) == (list(asked.words), cue.answered(asked, "whatever it is", ["whatever", "it", "is"]))


def test_of_a_long_prompt_the_beginning_and_the_end_are_read() -> None:
    """Forty words at most: what it is about, and the request."""
    words = [f"word{number}" for number in range(100)]
    assert [*words[:26], *words[-13:]] == list(cue.read(" ".join(words)).words)


@pytest.mark.parametrize(
    ("word", "weight"),
    [
        ("zebra", 1.0), ("fix", 0.25), ("fixes", 0.25), ("fixing", 0.25), ("running", 0.25), ("changed", 0.25), ("queries", 0.5), ("database", 0.5), ("friday", 0.5),
        ("2026", 0.5), ("4711", 1.5), ("zebra42", 1.5), ("0x1f", 1.5), ("42", 1.0), ("設定", 1.0),
    ],
)  # fmt: skip
def test_names_and_numbers_weigh_more_than_what_every_prompt_says(word: str, weight: float) -> None:
    """In whatever form the word stands."""
    assert {word: weight} == cue.read(word).weights


def test_no_word_is_in_two_lists() -> None:
    """Each has one weight."""
    assert not cue.STOP & cue.COMMON
    assert not cue.COMMON & cue.TRADE
    assert not cue.STOP & cue.TRADE


@pytest.mark.parametrize("known", [cue.STOP, cue.COMMON, cue.TRADE, cue.DATES])
def test_the_lists_hold_words_as_they_are_looked_up(known: frozenset[str]) -> None:
    """Lower-case, ASCII, one word each."""
    assert all(word == word.lower() and word.isascii() and word.isalpha() for word in known)


def test_a_share_is_the_weight_of_the_words_that_the_text_has() -> None:
    """Of zebra and giraffe (1 each) half; of a common word beside a name its part."""
    assert 0.5 == share("The zebra is striped.", "zebra giraffe")
    assert 0.11 == share("Fix it.", "fix zebra giraffe")
    assert 0.44 == share("The zebra.", "fix zebra giraffe")
    assert 1.0 == share("The zebra was fixed by the giraffe.", "fix zebra giraffe")


def test_a_cue_of_one_word_is_answered_by_it_unless_every_prompt_says_it() -> None:
    """«How do we deploy?» asks for one thing, and a memory about it is the answer; «run it» asks for nothing."""
    assert (1.0, 1.0, 0.17) == (share("The zebra.", "zebra"), share("Deploys go through Jenkins.", "how do we deploy?"), share("Run it.", "run"))


def test_one_noun_of_the_trade_alone_answers_nothing_at_the_default_floor() -> None:
    """A memory about a table is not about every table."""
    assert 0.33 == share("Never truncate the accounts table.", "change the table")


def test_much_that_is_shared_answers_a_prompt_of_any_length() -> None:
    """Four names of thirty are enough."""
    long = " ".join(f"name{number}x" for number in range(30))
    assert 1.0 == share("name0x name1x name2x name3x", long)


@pytest.mark.parametrize(
    ("asked", "text"),
    [
        ("invoices", "the invoice"), ("rendering", "is rendered"), ("retries", "a retry"), ("migrations", "migrate it"), ("deployment", "we deploy"),
        ("naïve", "NAI\u0308VE"), ("resume", "a Résumé"), ("Über", "uber"), ("STRASSE", "Straße"), ("Ёлка", "ёлка"), ("cafe\u0301s", "Cafés"),
    ],
)  # fmt: skip
def test_two_forms_of_a_word_are_one(asked: str, text: str) -> None:
    """Endings, accents, case and composition aside."""
    assert 0 < share(text, asked)


@pytest.mark.parametrize(("asked", "text"), [("station", "stationery"), ("cat", "category"), ("設定", "設計"), ("rust", "rusk"), ("commit", "comment")])
def test_words_that_only_begin_alike_are_two(asked: str, text: str) -> None:
    """A stem is no prefix."""
    assert 0.0 == share(text, asked)


FORMS = [
    ["access", "accessed", "accessing"], ["class", "classes"], ["filter", "filters", "filtered", "filtering"], ["apply", "applies"], ["query", "queries", "querying"],
    ["generate", "generated", "generation", "generator"], ["document", "documents", "documented", "documentation"], ["control", "controls", "controlled", "controller"],
    ["dependency", "dependencies", "depends"], ["commit", "commits", "committed", "committing"], ["deploy", "deploys", "deployed", "deploying"], ["rotate", "rotation", "rotating"],
    ["fail", "fails", "failed", "failing"], ["cache", "caches", "cached", "caching"], ["migrate", "migrations", "migrated"], ["retry", "retries", "retried"],
]  # fmt: skip


@pytest.mark.parametrize("forms", FORMS, ids=lambda forms: forms[0])
def test_what_the_index_takes_for_one_word_is_one_word_here(forms: list[str]) -> None:
    """The forms have one stem in the index (Porter's), or recall would find them and drop them."""
    assert 1 == len({cue.stem(form) for form in forms})
    con = sqlite3.connect(":memory:")
    con.execute("CREATE VIRTUAL TABLE words USING fts5 (text, tokenize = 'porter unicode61 remove_diacritics 2')")
    con.execute("CREATE VIRTUAL TABLE terms USING fts5vocab (words, row)")
    con.execute("INSERT INTO words VALUES (?)", (" ".join(forms),))
    assert 1 == con.execute("SELECT count(*) FROM terms").fetchone()[0]
    con.close()


@given(st.text(), st.text())
def test_a_share_is_from_nothing_to_one_and_its_words_are_the_cues(asked: str, text: str) -> None:
    """For any two texts."""
    read = cue.read(asked)
    match, words = cue.answered(read, text, words_of(text))
    assert 0.0 <= match <= 1.0
    assert [word for word in read.words if word in words] == words
    assert (match > 0) == bool(words)


@given(st.text(st.characters(codec="utf-8", categories=["Lu", "Ll", "Nd", "Zs"], max_codepoint=0x17F)))
def test_composed_and_decomposed_are_the_same_cue(text: str) -> None:
    """NFC and NFD."""
    assert list(cue.read(unicodedata.normalize("NFC", text)).words) == list(cue.read(unicodedata.normalize("NFD", text)).words)


def test_what_is_in_every_row_tells_nothing_apart() -> None:
    """In a store of some size; in a small one every word keeps its weight."""
    asked = cue.read("zebra giraffe")
    assert {"zebra": 1.0, "giraffe": 1.0} == cue.rarer(asked, 49, {"zebra": 49, "giraffe": 1}).weights
    assert {"zebra": 0.2, "giraffe": 1.0} == cue.rarer(asked, 1000, {"zebra": 900, "giraffe": 10}).weights
