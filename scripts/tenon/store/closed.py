"""What was superseded or undone, and whether a text says it again in other words."""

from __future__ import annotations

from tenon.base.text import words
from tenon.store import places

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tenon.store.db import Store

ALIKE = 0.75  # shared words of all words of both

CLOSED = "SELECT m.text, s.text FROM memory m LEFT JOIN memory s ON s.id = m.successor WHERE m.status = 'superseded'"
SEEN_FROM = " AND (m.repository IS NULL OR m.repository IN ({scope}))"


def is_like(store: Store, repository: int | None, text: str) -> bool:
    """Whether the text says what a closed memory said that is seen from the repository (None: any), rather than what took its place.

    Two texts are alike when they share three quarters of their words. Of one that was undone (nothing took its place) the numbers
    must be the same too.
    """
    said = set(words(text))
    scope = places.scope(store, repository)
    seen = SEEN_FROM.format(scope=", ".join("?" * len(scope))) if scope else ""
    for old, new in store.each(CLOSED + seen, tuple(scope)):
        before = set(words(old))
        near = _alike(said, before)
        if near < ALIKE:
            continue
        if new is not None and near > _alike(said, set(words(new))):
            return True
        if new is None and not any(not word.isalpha() for word in said ^ before):
            return True
    return False


def _alike(one: set[str], other: set[str]) -> float:
    return len(one & other) / max(1, len(one | other))
