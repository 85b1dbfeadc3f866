"""Recall: from a cue to the few things that come to mind, and the reason for each.

Candidates come from the index by BM25, memories and archived exchanges alike; each is held against the cue, scored
(rank.py), and dropped when it answers too little of it. Nothing fitting is an answer: an empty one.
"""

from __future__ import annotations

from tenon.base.lean import sqlite
from tenon.recall import cue as cues
from tenon.recall import injection
from tenon.recall.rank import Parts
from tenon.store import search

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from typing import Any

    from tenon.store.db import Store
    from tenon.store.search import Candidate

DEPTH = 50  # candidates of each kind that are scored
DAY_S = 86400.0
SPOKEN = ("prompt", "reply")


class Hit:
    """One thing that came to mind, with what speaks for it; `words` are those it shares with the cue."""

    __slots__ = ("candidate", "score", "parts", "words")

    def __init__(self, candidate: Candidate, score: float, parts: Parts, words: list[str]) -> None:
        self.candidate = candidate
        self.score = score
        self.parts = parts
        self.words = words


class Recall:
    """The hits, best first, and the next ones that were not good enough or not wanted (for «why not»)."""

    __slots__ = ("hits", "misses")

    def __init__(self, hits: list[Hit], misses: list[Hit]) -> None:
        self.hits = hits
        self.misses = misses

    def words(self) -> list[str]:
        """The words of the cue that any hit shares, each once."""
        return list(dict.fromkeys(word for hit in self.hits for word in hit.words))


def recall(
    store: Store,
    cue: str,
    *,
    scope: Sequence[int] | None,
    k: int,
    now: float,
    per_day: dict[str, float],
    floor: float = 0.0,
    strict: bool = False,
    memories: bool = True,
    archive: bool = False,
    tier: str = "",
    kinds: Sequence[str] = (),
    without: Sequence[str] = (),
    spoken: Sequence[str] = SPOKEN,
    not_session: str = "",
    seen: Collection[str] = (),
    threads: bool = False,
) -> Recall:
    """At most k hits for the cue within the scope (repository numbers; None is everywhere), best first.

    `floor` is the least share of the cue that a hit answers; `strict` drops words that say nothing even when
    none remain (a prompt), otherwise any cue is looked up. `seen` ids are left out; an exchange comes once, by whichever side answers best. Any text is a valid cue.
    """
    asked = cues.read(cue, strict=strict)
    if not asked.words or k <= 0:
        return Recall([], [])
    scored: list[Hit] = []
    if memories:
        found, size, rows = search.memories(store, asked.words, scope, DEPTH, tier=tier, kinds=kinds, without=without)
        scored += _score(cues.rarer(asked, size, rows), found, now, per_day)
    if archive:
        try:
            found, size, rows = search.turns(store, asked.words, scope, DEPTH, kinds=spoken, not_session=not_session, threads=threads)
            scored += _score(cues.rarer(asked, size, rows), found, now, per_day)
        except sqlite.OperationalError:
            if not scored:
                raise
            # Out of time in a large archive: what the memories answered is not lost.
    scored.sort(key=lambda hit: (-hit.score, hit.candidate.ref))
    hits: list[Hit] = []
    misses: list[Hit] = []
    told = set(seen)
    for hit in scored:
        wanted = hit.parts.match >= floor and bool(hit.words) and len(hits) < k
        if wanted:
            search.pair(store, hit.candidate)
            # A prompt and its answer are one exchange, and come once.
            wanted = hit.candidate.exchange not in told
            told.add(hit.candidate.exchange)
        (hits if wanted else misses).append(hit)
    return Recall(hits, misses[:10])


def described(hit: Hit) -> dict[str, Any]:
    """The hit as plain data, for `--json` and for tools."""
    found = hit.candidate
    return {
        "id": found.ref,
        "tier": found.tier,
        "type": found.kind,
        "content": found.text,
        "score": round(hit.score, 3),
        "matched": hit.words,
        "created": injection.day(found.at),
        "last_reinforced": injection.day(found.fresh_at),
        "origin": found.source,
    }


def _score(asked: cues.Cue, found: list[Candidate], now: float, per_day: dict[str, float]) -> list[Hit]:
    top = max((candidate.bm25 for candidate in found), default=0.0)
    hits = []
    for candidate in found:
        match, words = cues.answered(asked, candidate.text)
        days = max(0.0, (now - candidate.set_at) / DAY_S)
        parts = Parts(
            bm25=candidate.bm25 / top if top > 0 else 0.0,
            match=match,
            strength=candidate.strength * per_day.get(candidate.tier, 1.0) ** days,
            age_days=(now - candidate.fresh_at) / DAY_S,
            citations=candidate.citations,
        )
        hits.append(Hit(candidate, parts.score(), parts, words))
    return hits
