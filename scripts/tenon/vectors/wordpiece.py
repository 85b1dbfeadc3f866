"""A word in the pieces that a vocabulary has, the longest first, as BERT's tokenizer takes words apart.

Schuster and Nakajima 2012; a piece that continues a word begins with «##».
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

LONGEST = 40  # characters; a longer word is a key or encoded bytes and says nothing


def pieces(word: str, find: Callable[[str], int | None]) -> list[int]:
    """The numbers of the word's pieces by `find(piece)`; none at all when some of the word is in no piece, or it is too long."""
    size = len(word)
    if size > LONGEST:
        return []
    found: list[int] = []
    start = 0
    while start < size:
        lead = "##" if start else ""
        for end in range(size, start, -1):
            number = find(lead + word[start:end])
            if number is not None:
                found.append(number)
                start = end
                break
        else:
            return []
    return found
