"""What memory offers to one prompt: the block that is put in front of it, or nothing; the hook and the proxy give the same."""

from __future__ import annotations

from tenon.recall import injection
from tenon.recall.recall import recall
from tenon.store import journal, nearby, places, pressure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from tenon.base.settings import Settings
    from tenon.recall.recall import Hit, Recall
    from tenon.store.db import Store
    from tenon.store.vectors import Model

HANDED_OVER = ("procedure",)  # kinds that have their own way into the session
NEAR = 0.5  # so much of the evidence that is asked for makes a near miss

PRESSED = "pressure"  # the journal's event
WAITS = "Tenon: about {tokens:,} tokens of what was said with this user lately are no memory yet (pressure {level}, {share:.0%}). Nothing is lost: recall finds the words themselves. "
ASKS = {
    "moderate": "When it suits the work, tell the user once that a pause would let memory catch up: {way}.",
    "high": "Ask the user to slow down and take a pause now, so that memory can catch up: {way}.",
}
BY_HAND = "`/memory-digest` in a session, or `tenon digest` in a terminal"
BY_ITSELF = "the background digest is on and works them off within its daily cap; `/memory-digest` does it at once"


class Offer:
    """The block's text («» for none), the hits that are in it, what a model had chosen, the level of pressure that is told of, and the near misses."""

    __slots__ = ("text", "hits", "chosen", "pressed", "skipped")

    def __init__(self, text: str, hits: list[Hit], chosen: list[str], pressed: str, skipped: list[Hit]) -> None:
        self.text = text
        self.hits = hits
        self.chosen = chosen
        self.pressed = pressed
        self.skipped = skipped

    @property
    def words(self) -> list[str]:
        """The words that the prompt shares with the hits, with the near misses where there are no hits; each once."""
        return list(dict.fromkeys([word for hit in self.hits or self.skipped for word in hit.words]))


def look(
    store: Store, prompt: str, *, session: str, repository: int | None, chosen: Settings, now: float, meaning: tuple[Model, list[int]] | None = None
) -> Offer:
    """The offer for a prompt; what the session was shown since it began or was compacted is not offered again.

    `meaning` is the vector of the prompt's cue by another model than the built-in one.
    """
    seen = journal.seen(store, session)
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
        seen=seen,
        ranking=chosen.text("recall.ranking"),
        meaning=meaning,
    )
    lines = worded(store, found.hits)
    extra = _selected(store, session, repository, {*seen, *(hit.candidate.exchange for hit in found.hits)}) if chosen.flag("recall.rerank") else []
    text, placed = injection.fenced([("", [*lines, *(line for _, line in extra)])], int(chosen.number("inject.max_chars")))
    level, notice = _pressure(store, session, chosen)
    hits = [hit for hit in found.hits if injection.names(text, hit.candidate.exchange)] if placed else []
    told = [ref for ref, _ in extra if injection.names(text, ref)] if placed else []
    skipped = _near(found, hits, chosen.number("recall.floor"))
    return Offer("\n".join([part for part in (text, notice) if part]), hits, told, level, skipped)


def record(store: Store, offer: Offer, *, session: str, repository: int | None, now: float) -> None:
    """Journals what was put in front of the prompt, so that «why» has an answer and it is not shown twice, and what nearly was."""
    if offer.pressed:
        journal.record(store, event=PRESSED, session=session, repository=repository, words=[offer.pressed], hits=[], chars=0, now=now)
    told = [*((hit.candidate.exchange, hit.score, hit.parts.values()) for hit in offer.hits), *((ref, 0.0, ()) for ref in offer.chosen)]
    missed = [(hit.candidate.exchange, hit.score, hit.parts.values(), hit.why) for hit in offer.skipped]
    if told or missed:
        chars = len(offer.text) if told else 0
        journal.record(store, event="prompt", session=session, repository=repository, words=offer.words, hits=told, chars=chars, now=now, skipped=missed)
    if offer.chosen:
        from tenon.store import selections

        selections.drop(store, session, now)


def _near(found: Recall, shown: Sequence[Hit], floor: float) -> list[Hit]:
    """The best of what was considered and is not shown, without what is far from answering; what did not fit into the block comes first."""
    here = {hit.candidate.exchange for hit in shown}
    long = [hit for hit in found.hits if hit.candidate.exchange not in here]
    for hit in long:
        hit.why = "c"
    near = [hit for hit in found.misses if hit.evidence >= NEAR * floor and hit.evidence > 0.0 and hit.candidate.exchange not in here]
    return (long + near)[: journal.MOST_SKIPPED]


def _selected(store: Store, session: str, repository: int | None, seen: set[str]) -> list[tuple[str, str]]:
    """What a model chose for this prompt after the last one, without what was shown: ids and lines."""
    from tenon.recall import selected

    return selected.lines(store, session, places.scope(store, repository), seen)


def _pressure(store: Store, session: str, chosen: Settings) -> tuple[str, str]:
    """The level of pressure and what the model is told of it, once a session and level; «» and «» when there is nothing to tell."""
    tokens = pressure.noted(store)
    level = pressure.level(tokens)
    if not level or not store.writable or not chosen.flag("digest.pressure") or journal.has(store, session, PRESSED, level):
        return "", ""
    way = BY_ITSELF if chosen.flag("digest.auto") else BY_HAND
    return level, (WAITS + ASKS[level]).format(tokens=tokens, level=level, share=tokens / pressure.CAP, way=way)


def worded(store: Store, hits: Sequence[Hit]) -> list[str]:
    """Each hit as an item; an exchange in which something was said that is no longer so says what holds since then."""
    said = [hit.candidate for hit in hits if hit.candidate.tier == "archive"]
    since = nearby.since(store, [ref for candidate in said for ref in (candidate.ref, candidate.other_ref) if ref]) if said else {}
    return [
        injection.said_line(hit.candidate, hit.words, since.get(hit.candidate.ref) or since.get(hit.candidate.other_ref))
        if hit.candidate.tier == "archive"
        else injection.memory_line(hit.candidate)
        for hit in hits
    ]
