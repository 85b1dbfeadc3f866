"""What memory offers to one prompt: the block that is put in front of it, or nothing; the hook and the proxy give the same."""

from __future__ import annotations

from tenon.recall import injection
from tenon.recall.recall import recall
from tenon.store import journal, places

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tenon.base.settings import Settings
    from tenon.recall.recall import Hit
    from tenon.store.db import Store
    from tenon.store.vectors import Model

HANDED_OVER = ("procedure",)  # kinds that have their own way into the session


class Offer:
    """The block's text («» for none), the hits that are in it, and the words that matched."""

    __slots__ = ("text", "hits", "words")

    def __init__(self, text: str, hits: list[Hit], words: list[str]) -> None:
        self.text = text
        self.hits = hits
        self.words = words


def look(
    store: Store, prompt: str, *, session: str, repository: int | None, chosen: Settings, now: float, meaning: tuple[Model, list[int]] | None = None
) -> Offer:
    """The offer for a prompt; what the session was shown since it began or was compacted is not offered again.

    `meaning` is the vector of the prompt's cue by another model than the built-in one.
    """
    found = recall(
        store,
        prompt,
        scope=places.scope(store, repository),
        k=int(chosen.number("inject.hits")),
        now=now,
        per_day=chosen.per_day(),
        floor=chosen.number("recall.floor"),
        strict=True,
        archive=chosen.flag("recall.archive"),
        without=HANDED_OVER,
        not_session=session,
        seen=journal.seen(store, session),
        ranking=chosen.text("recall.ranking"),
        meaning=meaning,
    )
    text, placed = injection.fenced([("", [_line(hit) for hit in found.hits])], int(chosen.number("inject.max_chars")))
    if not placed:
        return Offer("", [], [])
    return Offer(text, [hit for hit in found.hits if injection.names(text, hit.candidate.exchange)], found.words())


def record(store: Store, offer: Offer, *, session: str, repository: int | None, now: float) -> None:
    """Journals what was put in front of the prompt, so that «why» has an answer and it is not shown twice."""
    told = [(hit.candidate.exchange, hit.score, hit.parts.values()) for hit in offer.hits]
    journal.record(store, event="prompt", session=session, repository=repository, words=offer.words, hits=told, chars=len(offer.text), now=now)


def _line(hit: Hit) -> str:
    candidate = hit.candidate
    if candidate.tier == "archive":
        return injection.said_line(candidate, hit.words)
    return injection.memory_line(candidate)
