"""Whether a text says what others said: by its content words, its names and numbers, and whether it denies something."""

from __future__ import annotations

import re

from tenon.base.text import words
from tenon.digest import marks, prose
from tenon.store import closed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

FILLERS = "\u115f\u1160\u3164\uffa0"  # letters that nobody sees
_DENIES = re.compile(r"\binstead of\b|\brather than\b|\bavoid\w*|\bno longer\b", re.IGNORECASE)
_ORDER = re.compile(r"\b(?:ignor\w*|disregard\w*|obey\w*|you must|you are now|instructions?)\b|\bsystem\s*(?::|prompt\b|message\b|note\b)", re.IGNORECASE)


def share(text: str, said: frozenset[str]) -> float:
    """The share of a text's content words (`closed.content`) that are among those that were said, 0 to 1; names and numbers among them count double."""
    wanted = closed.content(text)
    double = len({word for name in prose.names(text) for word in closed.content(name)} & wanted & said)
    return (len(wanted & said) + double) / max(1, len(wanted) + double)


def strange(text: str, others: Sequence[str]) -> bool:
    """Whether a text has a number or a name that none of the others has."""
    said = {word for other in others for word in words(other)}
    own = {word for name in prose.names(text) for word in words(name)} | {word for word in words(text) if not word.rstrip("*").isalpha()}
    return not own <= said


def denials(text: str) -> int:
    """How often a text says that something is not so, or not to be."""
    return sum(1 for _ in marks.NEGATED.compiled.finditer(text))


def denies(text: str) -> bool:
    """Whether a text says that something is not so, not to be, or has given way to something else."""
    return bool(denials(text)) or _DENIES.search(text) is not None


def is_order(text: str) -> bool:
    """Whether a text speaks to a model to command it, rather than of somebody."""
    return _ORDER.search(text) is not None


def is_worded(text: str) -> bool:
    """Whether there is a letter or a digit in it that can be seen."""
    return any(char.isalnum() and char not in FILLERS for char in text)
