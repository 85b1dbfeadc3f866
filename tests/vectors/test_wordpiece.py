"""Words in pieces: the longest first, or not at all."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenon.vectors import wordpiece

VOCABULARY = ["un", "##aff", "##able", "##a", "##ble", "able", "a", "##b", "b", "##ff", "é", "##é", "x", "##x"]
NUMBER = {piece: number for number, piece in enumerate(VOCABULARY)}


@pytest.mark.parametrize(
    ("word", "pieces"),
    [
        ("unaffable", ["un", "##aff", "##able"]), ("able", ["able"]), ("ab", ["a", "##b"]), ("abé", ["a", "##b", "##é"]), ("una", ["un", "##a"]),
        ("", []), ("u", []), ("unz", []), ("zun", []), ("x" * 40, ["x"] + ["##x"] * 39), ("x" * 41, []),
    ],
)  # fmt: skip
def test_a_word_is_taken_apart(word: str, pieces: list[str]) -> None:
    """The longest piece first; nothing of a word that has an unknown rest, or is too long."""
    assert pieces == [VOCABULARY[number] for number in wordpiece.pieces(word, NUMBER.get)]


@given(st.text(alphabet="unafble", max_size=50))
def test_the_pieces_put_together_are_the_word(word: str) -> None:
    """All of it, or there are none."""
    pieces = [VOCABULARY[number] for number in wordpiece.pieces(word, NUMBER.get)]
    assert pieces == [] or word == "".join(pieces).replace("##", "")
