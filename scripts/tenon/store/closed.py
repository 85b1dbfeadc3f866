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


class Closed:
    """What was closed, read once for each repository that is asked about; for as long as nobody else can write."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._read: dict[int | None, list[tuple[frozenset[str], frozenset[str] | None]]] = {}
        self._since: list[tuple[frozenset[str], frozenset[str] | None]] = []

    def add(self, old: str, new: str | None) -> None:
        """One more was closed, by a memory that says `new` where that is given."""
        self._since.append((content(old), None if new is None else content(new)))

    def is_like(self, repository: int | None, text: str) -> bool:
        """Whether the text says what a closed memory said that is seen from the repository (None: any), rather than what took its place.

        Two texts are alike when each has most of the other's content words, in whatever form and order. Of one that was undone (nothing
        took its place) the numbers must be the same too.
        """
        said = content(text)
        return any(_is_like(said, old, new) for held in (self._of(repository), self._since) for old, new in held)

    def _of(self, repository: int | None) -> list[tuple[frozenset[str], frozenset[str] | None]]:
        if repository not in self._read:
            scope = places.scope(self.store, repository)
            seen = SEEN_FROM.format(scope=", ".join("?" * len(scope))) if scope else ""
            rows = self.store.rows(CLOSED + seen, tuple(scope))
            self._read[repository] = [(content(old), None if new is None else content(new)) for old, new in rows]
        return self._read[repository]


def content(text: str) -> frozenset[str]:
    """The beginnings of a text's words that say something, its numbers and identifiers whole, and the pairs of a script without spaces."""
    return frozenset(word[:STEM] if word.isalpha() else word for each in words(text) if _tells(word := each.rstrip("*")) and word[:STEM] not in PLAIN)


def share(text: str, others: Iterable[str]) -> float:
    """The share of a text's content words that the others say, 0 to 1; 0 for a text without any."""
    wanted = content(text)
    said = frozenset(word for other in others for word in content(other))
    return len(wanted & said) / max(1, len(wanted))


def _tells(word: str) -> bool:
    """Whether a word may say something by its length; in other scripts than ours short ones do."""
    return bool(word) and (len(word) > 2 or not word.isalpha() or not word.isascii())


def _is_like(said: frozenset[str], old: frozenset[str], new: frozenset[str] | None) -> bool:
    most, least = max(1, len(said), len(old)), min(len(said), len(old))
    if least < ALIKE * most:
        return False
    shared = len(said & old)
    near = shared / most
    if near < ALIKE or (shared < FEW and said != old):
        return False
    if new is not None:
        return near > len(said & new) / max(1, len(said), len(new))
    return all(word.isalpha() for word in said ^ old)
