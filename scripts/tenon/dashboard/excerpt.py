"""A text cut around the words that were looked for, in pieces that are marked and pieces that are not. Pure."""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

LENGTH = 320  # characters
BEFORE = 90  # of them before the first word
SHORTEST = 3  # letters of a word that its endings are taken off down to
ENDINGS = re.compile(r"(?<=...)(?:ations?|ing|ies|ied|ed|es|er|ly|s|e|y|i)$")
WORD = re.compile(r"[^\W_]+")
CAPITAL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def excerpt(text: str, first: int, last: int, words: Sequence[str], length: int = LENGTH) -> list[str]:
    """The characters [first, last) of a text around the first of the words, at most so many, in pieces, plain and marked in turn.

    The index finds words by their stems, so a word is marked that begins as one of these does; where none is found there is one plain piece.
    """
    passage = text[first:last]
    begins = _pattern(words)
    spans = [found.span() for found in WORD.finditer(passage) if begins is not None and any(map(begins.match, _forms(found.group())))]
    start = max(0, (spans[0][0] if spans else 0) - BEFORE)
    if start:
        start = passage.find(" ", start, start + BEFORE) + 1 or start
    end = min(len(passage), start + length)
    if end < len(passage):
        space = passage.rfind(" ", end - BEFORE, end)
        end = space if space > 0 else end
    pieces = ["…" if first + start > 0 else ""]
    at = start
    for begin, stop in spans:
        if begin >= at and stop <= end:
            pieces[-1] += passage[at:begin]
            pieces += [passage[begin:stop], ""]
            at = stop
    pieces[-1] += passage[at:end] + ("…" if first + end < len(text) else "")
    return pieces


def _pattern(words: Sequence[str]) -> re.Pattern[str] | None:
    stems = sorted({re.escape(stem(word)) for word in words if word}, key=len, reverse=True)
    return re.compile("|".join(stems)) if stems else None


def stem(word: str) -> str:
    """How the forms of an English word begin; any other word is itself."""
    return ENDINGS.sub("", word) if word.isascii() and word.isalpha() and len(word) > SHORTEST else word


def _forms(word: str) -> list[str]:
    """The word as it begins, and the parts of a camelCase one; of a script without spaces every place where a word may begin."""
    if not word.isascii() and ord(max(word)) >= 0x0E00:
        return [word[at : at + 8].casefold() for at in range(min(len(word), LENGTH))]
    return [part.casefold() for part in [word, *CAPITAL.split(word)[1:]]]
