"""What was superseded or undone, and whether a text says it again in much the same words."""

from __future__ import annotations

from tenon.base.text import words
from tenon.store import places

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from tenon.store.db import Store

ALIKE = 0.6  # shared content words, of the text's and of the closed one's
FEW = 2  # that they share at least
STEM = 5  # letters by which two forms of a word are one
PLAIN = frozenset(word[:STEM] for word in (
    "about after again also always another because been before being both cannot could does doing done each either every everything from have having here hers himself into itself "
    "just like made make makes more most much must never nothing now only other ours over rather really same should since some such than that their them then there these they this "
    "all and any are but can did for get got had has her him his how its let may not now off one our out per she the too two via was who why yes you "
    "those through under until upon user very were what when where which while whom whose will with within without would your yours instead agent"
).split())  # fmt: skip

CLOSED = "SELECT m.text, s.text FROM memory m LEFT JOIN memory s ON s.id = m.successor WHERE m.status = 'superseded'"
SEEN_FROM = " AND (m.repository IS NULL OR m.repository IN ({scope}))"


def is_like(store: Store, repository: int | None, text: str) -> bool:
    """Whether the text says what a closed memory said that is seen from the repository (None: any), rather than what took its place.

    Two texts are alike when each has most of the other's content words, in whatever form and order. Of one that was undone (nothing
    took its place) the numbers must be the same too.
    """
    said = content(text)
    scope = places.scope(store, repository)
    seen = SEEN_FROM.format(scope=", ".join("?" * len(scope))) if scope else ""
    for old, new in store.each(CLOSED + seen, tuple(scope)):
        before = content(old)
        near = _alike(said, before)
        if near < ALIKE or (len(said & before) < FEW and said != before):
            continue
        if new is not None and near > _alike(said, content(new)):
            return True
        if new is None and not any(not word.isalpha() for word in said ^ before):
            return True
    return False


def content(text: str) -> frozenset[str]:
    """The beginnings of a text's words that say something, and its numbers and identifiers whole."""
    return frozenset(word[:STEM] if word.isalpha() else word for word in words(text) if (len(word) > 2 or not word.isalpha()) and word[:STEM] not in PLAIN)


def share(text: str, others: Iterable[str]) -> float:
    """The share of a text's content words that the others say, 0 to 1; 1 for a text without any."""
    wanted = content(text)
    said = frozenset(word for other in others for word in content(other))
    return len(wanted & said) / len(wanted) if wanted else 1.0


def _alike(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / max(1, len(one), len(other))
