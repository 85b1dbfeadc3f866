"""Text as wide as a terminal is."""

from __future__ import annotations

from io import StringIO

import pytest

from tenon.cli import table
from tenon.cli.out import Out
from tenon.cli.table import Column

COLUMNS = [Column("name"), Column("n", right=True), Column("what", folds=True, least=20)]
ROWS = [["default", "12", "holds the words of many sessions and some more"], ["a name that is longer than there is room for", "3,456", "東京タワー"]]


def printed(wide: int, rows: list[list[table.Cell]], notes: tuple[str, ...] = (), *, colour: bool = False) -> str:
    """The table as it is printed on a terminal of that many columns, 0 for a pipe."""
    results = StringIO()
    table.show(Out(results, StringIO(), wide=wide, colour=colour), COLUMNS, rows, notes)
    return results.getvalue()


@pytest.mark.parametrize(
    ("text", "columns"), [("plain", 5), ("e\u0301", 1), ("東京", 4), ("ﾊﾝ", 2), ("Ａ", 2), ("👩\u200d👧", 4), ("שלום", 4), ("\u202eab", 2), ("", 0)]
)
def test_a_character_takes_none_one_or_two_columns(text: str, columns: int) -> None:
    """Marks and joiners none, wide ones two."""
    assert columns == table.width(text)


@pytest.mark.parametrize(("columns", "told"), [(7, "東京abc"), (6, "東京a…"), (4, "東…"), (3, "東…"), (2, "…"), (1, "…"), (0, "")])
def test_what_is_cut_fits(columns: int, told: str) -> None:
    """Never half of a wide character."""
    assert told == table.cut("東京abc", columns)


def test_words_are_kept_together_and_later_lines_hang() -> None:
    """As far in as the first line, or as far as is said; a path stays whole, and spaces inside a line stay as they are."""
    assert ["  one two", "  three"] == table.folded("  one two three", 10)
    assert ["label:  one two", "        three"] == table.folded("label:  one two three", 18, 8)
    assert ["label:  one", "  two"] == table.folded("label:  one two", 13, 8)  # half of the line is the most
    assert ["see", "/a/very/long/path/indeed", "now"] == table.folded("see /a/very/long/path/indeed now", 12)
    assert ["a    b c"] == table.folded("a    b c", 8)
    assert ["one", "", "two"] == table.folded("one\n\ntwo", 10)
    assert ["one", "  "] == table.folded("one\n  ", 10)


def test_a_word_is_broken_where_it_must_be() -> None:
    """In a cell nothing may stand out."""
    assert ["abcd", "efgh", "ij k"] == table.folded("abcdefghij k", 4, hard=True)
    assert ["東京", "タワ", "ー"] == table.folded("東京タワー", 4, hard=True)


def test_a_table_fits_the_terminal() -> None:
    """What may fold does, then what may be cut is; numbers are whole."""
    assert [
        "name                                 n  what",
        "default                             12  holds the words of",
        "                                        many sessions and",
        "                                        some more",
        "a name that is longer than the…  3,456  東京タワー",
    ] == printed(60, ROWS).splitlines()
    assert printed(60, ROWS) == printed(20, ROWS)  # narrower than that it is not


def test_in_a_pipe_nothing_is_cut_or_folded() -> None:
    """And there are no tabs in it."""
    told = printed(0, [*ROWS, ["tab\tbed\nname", "1", "x" * 200]])
    assert ("a name that is longer than there is room for  3,456  東京タワー" in told, "x" * 200 in told, "\t" in told) == (True, True, False)
    assert 4 == told.count("\n")
    assert "tab bed name " in told


def test_a_note_stands_below_its_row() -> None:
    """Folded as well."""
    told = printed(60, [["a", "1", "b"], ["c", "2", "d"]], ("", "a note of some words that does not fit in one line, so it goes on"))
    assert ["name  n  what", "a     1  b", "c     2  d", "    a note of some words that does not fit in one line, so", "    it goes on"] == told.splitlines()


def test_styles_take_no_room() -> None:
    """Neither in cells nor in sentences that are folded."""
    told = printed(60, [[("strong", "a"), "1", "b"]], colour=True).splitlines()
    assert ["\033[2mname  n  what\033[0m", "\033[1ma\033[0m     1  b"] == told
    results = StringIO()
    out = Out(results, StringIO(), wide=20, colour=True)
    out.told(out.styled("bad", "one") + " two three four five six")
    assert ["\033[31mone\033[0m two three four", "five six"] == results.getvalue().splitlines()


def test_labels_and_sentences() -> None:
    """In two columns; sentences beside the result fold, and what is indented, to be copied, does not."""
    results, notes = StringIO(), StringIO()
    out = Out(results, notes, wide=40, room=30)
    out.labelled([("store", "some words that do not fit in this line"), ("", "and more")], 10)
    out.say("A sentence that does not fit in thirty columns:\n  tenon a command that is longer than thirty columns")

    assert ["store:    some words that do not fit in", "          this line", "          and more"] == results.getvalue().splitlines()
    assert ["A sentence that does not fit", "in thirty columns:", "  tenon a command that is longer than thirty columns"] == notes.getvalue().splitlines()
