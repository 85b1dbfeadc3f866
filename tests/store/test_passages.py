"""What of a turn is searchable, and in which pieces."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenon.store import passages


def test_words_are_searchable_whole() -> None:
    """Blocks apart by a blank line."""
    assert "one\n\ntwo" == passages.searchable([{"type": "text", "text": "one"}, {"type": "text", "text": "two"}])


def test_a_call_is_searchable_by_its_readable_arguments() -> None:
    """Its name, what it was pointed at, not the contents it wrote."""
    block = {"type": "tool_use", "name": "Write", "input": {"file_path": "/a/b.py", "content": "import os", "limit": 3, "command": "x" * 400}}

    assert "Write " + "x" * 300 + " /a/b.py" == passages.searchable([block])
    assert "Write" == passages.searchable([{"type": "tool_use", "name": "Write", "input": "odd"}])


def test_a_long_output_is_searchable_by_its_ends() -> None:
    """A short one whole, a list of parts by its texts."""
    long = "a" * 1500 + "b" * 1500

    assert "a" * 1000 + "\n...\n" + "b" * 1000 == passages.searchable([{"type": "tool_result", "content": long}])
    assert "ok" == passages.searchable([{"type": "tool_result", "content": "ok"}])
    assert "x\ny" == passages.searchable(
        [{"type": "tool_result", "content": [{"type": "text", "text": "x"}, {"type": "image"}, {"type": "text", "text": "y"}]}]
    )


@pytest.mark.parametrize(
    "block",
    [
        {"type": "thinking", "thinking": "hm", "signature": "s"},
        {"type": "image", "source": {"data": "AAAA"}},
        {"type": "tool_result", "content": [{"type": "note", "text": "kept out"}]},
        {"type": "tool_result", "content": None},
        {"type": "text", "text": None},
        {},
        "text",
        None,
    ],
)
def test_the_rest_is_not_searchable(block: object) -> None:
    """Thinking, pictures, notes, and what is no block."""
    assert not passages.searchable([block])


def test_pieces_end_where_the_text_does() -> None:
    """At a paragraph, else a line, a sentence, a word, else anywhere."""
    assert [(0, 5)] == passages.pieces("short")
    assert [(0, 1002), (1002, 2002)] == passages.pieces("a" * 1000 + "\n\n" + "b" * 1000)
    assert [(0, 1202), (1202, 2202)] == passages.pieces("a" * 1200 + ". " + "b" * 1000)
    assert [(0, 1600), (1600, 2000)] == passages.pieces("a" * 2000)
    assert [] == passages.pieces("")
    assert [] == passages.pieces(" \n" * 2000)


@given(st.text(alphabet=st.sampled_from("ab .\né漢"), max_size=6000))
def test_pieces_cover_everything_in_order(text: str) -> None:
    """No piece is long, none overlap, and nothing but white space is between them."""
    spans = passages.pieces(text)
    covered: set[int] = set()
    for first, last in spans:
        assert 0 < last - first <= 1600
        assert not covered & set(range(first, last))
        covered |= set(range(first, last))

    assert sorted(spans) == spans
    assert not "".join(char for at, char in enumerate(text) if at not in covered).strip()
