"""Recall: from a cue to the few things that come to mind, and the reason for each.

Candidates come from the text index by their words and from the vectors by their meaning, memories and archived
exchanges alike. What is cheap to know orders them all; the best are read and held against the cue, scored (rank.py), and
dropped when they answer too little of it. Nothing fitting is an answer: an empty one.
"""

from __future__ import annotations

from tenon.base import faults
from tenon.base.lean import sqlite
from tenon.base.text import words as all_words
from tenon.recall import asks as hints
from tenon.recall import cue as cues
from tenon.recall import injection, rank
from tenon.recall.rank import Parts
from tenon.store import nearby, search, vectors

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from typing import Any

    from tenon.recall.asks import Asks
    from tenon.store.db import Store
    from tenon.store.search import Candidate
    from tenon.store.vectors import Model

DEPTH = 50  # candidates of each kind by their words
MEANING = 30  # and by their meaning alone
SHORTLIST = 200  # rows whose signs agree best, which are compared by their full codes
LARGEST_BYTES = 100_000_000  # of sign bits that are looked through; where there are more, meaning only orders what the words found
WIDER = 8  # times as many, where too few of those are wanted
UNTIMELY = 0.5  # so much is left of the evidence of what is not of the time that the cue asks for
READ = 24  # candidates of each kind that are read
MEANT = 0.25  # a text that shares no word with the cue answers nothing below this cosine, whatever the floor
NEAR_BEST = 0.65  # nor below so much of the best cosine
NEAREST = 3  # hits worth showing to who asked, when none of them fits
LABEL = 40  # characters in front of a colon that may name who speaks
LINKS = 5  # memories whose edges are followed
DAY_S = 86400.0
SPOKEN = ("prompt", "reply")


class Hit:
    """One thing that came to mind, with what speaks for it; `words` are those it shares with the cue."""

    __slots__ = ("candidate", "score", "parts", "words", "evidence", "untimely", "led", "why")

    def __init__(self, candidate: Candidate, parts: Parts) -> None:
        self.candidate = candidate
        self.parts = parts
        self.score = 0.0
        self.words: list[str] = []
        self.evidence = 0.0
        self.untimely = False  # the cue asks for what is remembered of a time, and this is not of it
        self.led = False  # another hit brings it along
        self.why = ""  # it was left out: a letter of journal.WHY


class Recall:
    """The hits, best first, and the others that were read and not good enough or not wanted (for «why not»)."""

    __slots__ = ("hits", "misses")

    def __init__(self, hits: list[Hit], misses: list[Hit]) -> None:
        self.hits = hits
        self.misses = misses

    def fits(self, floor: float) -> bool:
        """Whether any hit shares a word with the cue, or is sure enough; else they are the nearest, and may be far."""
        return any(hit.words or hit.evidence >= floor for hit in self.hits)

    def only_nearest(self, floor: float) -> bool:
        """Whether there are hits and none of them fits; then no more than the nearest few stay."""
        far = bool(self.hits) and not self.fits(floor)
        if far:
            del self.hits[NEAREST:]
        return far

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
    ranking: str = "fused",
    meaning: tuple[Model, list[int]] | None = None,
) -> Recall:
    """At most k hits for the cue within the scope (repository numbers; None is everywhere), best first.

    `floor` is the least evidence that a hit answers the cue, 0 to 1; `strict` drops words that say nothing even when
    none remain (a prompt), otherwise any cue is looked up. `seen` ids are left out; an exchange comes once, by whichever
    side answers best. `meaning` is the cue's vector by a model other than the built-in one. Any text is a valid cue.
    """
    cue = cues.ends(cue)
    asked = cues.read(cue, strict=strict)
    if not asked.words or k <= 0:
        return Recall([], [])
    look = _Look(store, cue, asked, scope, now, per_day, ranking, meaning or _meaning(store, cue))
    if memories:
        look.memories(tier=tier, kinds=kinds, without=without)
    if archive:
        try:
            look.archive(kinds=spoken, not_session=not_session, threads=threads)
        except sqlite.OperationalError:
            if not look.hits:
                raise
            # Out of time in a large archive: what the memories answered is not lost.
    ranked = look.ranked()
    hits: list[Hit] = []
    misses: list[Hit] = []
    told = set(seen)
    least = max([MEANT, *(NEAR_BEST * hit.parts.cosine for hit in ranked if hit.parts.cosine is not None)])
    for hit in ranked:
        hit.why = _why(hit, least, floor) or ("k" if len(hits) >= k else "")
        if not hit.why:
            search.pair(store, hit.candidate)
            # A prompt and its answer are one exchange, and come once.
            exchange = hit.candidate.exchange
            hit.why = "" if exchange not in told else "s" if exchange in seen else "x"
            told.add(exchange)
        (misses if hit.why else hits).append(hit)
    return Recall(hits, misses)


def _why(hit: Hit, least: float, floor: float) -> str:
    """The letter of journal.WHY for what answers too little of the cue, «» for what answers enough; `least` is the cosine that is worth something alone."""
    if not hit.words and not hit.led and (hit.untimely or (hit.parts.cosine or 0.0) < least):
        return "t" if hit.untimely else "m"
    return "" if hit.evidence >= floor else "e"


def described(hit: Hit) -> dict[str, Any]:
    """The hit as plain data, for `--json` and for tools."""
    found = hit.candidate
    return {
        "id": found.ref,
        "tier": found.tier,
        "type": found.kind,
        "content": found.text,
        "score": round(hit.score, 3),
        "evidence": round(hit.evidence, 3),
        "matched": hit.words,
        "created": injection.day(found.at),
        "last_reinforced": injection.day(found.fresh_at),
        "origin": found.source,
    }


def _meaning(store: Store, cue: str) -> tuple[Model, list[int]] | None:
    """The built-in model and the cue's vector by it, or None when there is no table, or it knows too few of the words."""
    try:
        return _by_table(store, cue)
    except Exception as error:  # noqa: BLE001 - a damaged table, or a module that an update has half replaced, costs the meaning and not the words
        faults.note("recall", error, "looked up by words alone")
        return None


def _by_table(store: Store, cue: str) -> tuple[Model, list[int]] | None:
    from tenon.vectors.table import shared

    table = shared()
    unit = table.embed(cues.spoken(cue)) if table is not None else None
    model = vectors.named(store, table.name) if table is not None and unit is not None else None
    return (model, unit) if model is not None and unit is not None else None


class _Look:
    """One look for a cue: the candidates of both kinds, gathered, then scored together."""

    def __init__(
        self, store: Store, cue: str, asked: cues.Cue, scope: Sequence[int] | None, now: float, per_day: dict[str, float], ranking: str,
        meaning: tuple[Model, list[int]] | None,
    ) -> None:  # fmt: skip
        self.store = store
        self.asked = asked
        self.scope = scope
        self.now = now
        self.per_day = per_day
        self.ranking = ranking
        self.meaning = meaning
        self.asks: Asks = hints.read(cue, all_words(cue), now)
        self.hits: list[tuple[Hit, cues.Cue]] = []
        self.among = [0, 0]  # memories and passages that the cue's vector was looked for among
        self.narrow: dict[str, Any] = {}  # what of the memories is wanted

    def memories(self, *, tier: str, kinds: Sequence[str], without: Sequence[str]) -> None:
        """Adds the memories that share words with the cue or mean the like."""
        found, size, rows = search.memories(self.store, self.asked.words, self.scope, DEPTH, tier=tier, kinds=kinds, without=without)
        self.narrow = {"tier": tier, "kinds": kinds, "without": without}
        self._add(vectors.MEMORY, found, self.narrow, cues.rarer(self.asked, size, rows))

    def archive(self, *, kinds: Sequence[str], not_session: str, threads: bool) -> None:
        """Adds the archived passages that share words with the cue or mean the like."""
        found, size, rows = search.turns(self.store, self.asked.words, self.scope, DEPTH, kinds=kinds, not_session=not_session, threads=threads)
        narrow = {"kinds": kinds, "not_session": not_session, "threads": threads}
        self._add(vectors.PASSAGE, found, narrow, cues.rarer(self.asked, size, rows))

    def ranked(self) -> list[Hit]:
        """All candidates, best first; only the best of each kind have been read."""
        known = [hit.parts.cosine for hit, _ in self.hits if hit.parts.cosine is not None]
        least, most = (min(known), max(known)) if known else (0.0, 0.0)
        for hit, _ in self.hits:
            hit.parts.liken(least, most, self.ranking)
            hit.score = rank.score(hit.parts, self.ranking)
        self.hits.sort(key=lambda pair: (-pair[0].score, pair[0].candidate.ref))
        left = {"archive": READ, "memory": READ}
        best: list[tuple[Hit, cues.Cue]] = []
        for pair in self.hits:
            kind = "archive" if pair[0].candidate.tier == "archive" else "memory"
            left[kind] -= 1
            if left[kind] >= 0:
                best.append(pair)
        nearby.surround(self.store, [hit.candidate for hit, _ in best if hit.candidate.tier == "archive"])
        times = [hit.candidate.at for hit, _ in best]
        first, last = (min(times), max(times)) if times else (0.0, 0.0)
        for hit, weighed in best:
            self._read(hit, weighed)
            hit.parts.newer = (hit.candidate.at - first) / (last - first) if last > first else 1.0
            hit.parts.liken(least, most, self.ranking)
            hit.score = rank.score(hit.parts, self.ranking)
        read = sorted([hit for hit, _ in best], key=lambda hit: (-hit.score, hit.candidate.ref))
        return sorted(self._with_linked(read), key=lambda hit: (-hit.score, hit.candidate.ref))

    def _with_linked(self, read: list[Hit]) -> list[Hit]:
        """The hits, and what edges and associations lead to from the best memories among them: it comes to mind with them, if less surely."""
        memories = {hit.candidate.row: hit for hit in read if hit.candidate.tier != "archive"}
        own = {row: hit.evidence for row, hit in memories.items()}
        best = [row for row, hit in memories.items() if hit.evidence > 0.0][:LINKS]
        links = nearby.linked(self.store, best, self.now) if best else []
        links = [link for link in links if rank.leads_on(own.get(link[1], 0.0), own[link[0]], link[2], approved=link[3])]
        new = [target for _, target, _, _ in links if target not in memories][:LINKS]
        for candidate in search.by_rows(self.store, vectors.MEMORY, new, self.scope, **self.narrow) if new else ():
            hit = memories[candidate.row] = Hit(candidate, self._parts(candidate, 0.0, None, 0.0))
            hit.score = rank.score(hit.parts, self.ranking)
            read.append(hit)
        for origin, target, strength, approved in links:
            if target in memories:
                source, hit = memories[origin], memories[target]
                hit.led = hit.led or rank.brings(own[origin], strength, approved=approved)
                hit.parts.linked = max(hit.parts.linked, rank.lift(hit.score, source.score, strength, approved=approved))
                hit.evidence = max(hit.evidence, rank.along(own.get(target, 0.0), own[origin], strength, approved=approved))
        for hit in memories.values():
            hit.score = rank.score(hit.parts, self.ranking)
        return read

    def _add(self, kind: int, found: list[Candidate], narrow: dict[str, Any], weighed: cues.Cue) -> None:
        """Adds what the words found, what means the like, and what is of the time that the cue names."""
        known = {candidate.row for candidate in found}
        window = self.asks.window
        more = [row for row in search.within(self.store, kind, window, self.scope, DEPTH, **narrow) if row not in known] if window else []
        cosines: dict[int, float] = {}
        try:
            if self.meaning is not None:
                cosines, near = self._nearest(*self.meaning, kind, [*known, *more], narrow)
                more += [row for row in near if row not in more]
        except Exception as error:  # noqa: BLE001 - whatever is wrong with vectors, what the words found is not lost
            faults.note("recall", error, "looked up by words alone")
            self.meaning = None
        if more:
            found = found + search.by_rows(self.store, kind, more, self.scope, **narrow)
        top = max([candidate.bm25 for candidate in found], default=0.0)
        sessions: dict[int, float] = {}
        for candidate in found:
            if candidate.session:
                sessions[candidate.session] = sessions.get(candidate.session, 0.0) + candidate.bm25
        most = max(sessions.values(), default=0.0)
        for candidate in found:
            share = sessions.get(candidate.session, 0.0) / most if most > 0 else 0.0
            parts = self._parts(candidate, candidate.bm25 / top if top > 0 else 0.0, cosines.get(candidate.row), share)
            window = self.asks.window
            if window is not None and window[0] <= candidate.at < window[1]:
                parts.hints["of the time"] = 1.0
            self.hits.append((Hit(candidate, parts), weighed))

    def _nearest(self, model: Model, unit: list[int], kind: int, known: list[int], narrow: dict[str, Any]) -> tuple[dict[int, float], list[int]]:
        """The cosines of the known rows and of others, and which of those to read: the nearest that are wanted."""
        self.among[kind] = vectors.among(self.store, model, kind, self.scope)
        too_many = self.among[kind] * model.dims > 8 * LARGEST_BYTES
        for wanted in (SHORTLIST, WIDER * SHORTLIST):
            passing: list[int] = []
            near = [] if too_many else vectors.nearest(self.store, model, kind, unit, self.scope, wanted)
            raw = vectors.cosines(self.store, model, kind, unit, list({*known, *near}))
            cosines = {row: vectors.calibrated(model, cosine) for row, cosine in raw.items()}
            others = sorted([row for row in near if row in cosines and row not in known], key=lambda row: (-cosines[row], row))
            for at in range(0, len(others), 2 * MEANING):
                some = others[at : at + 2 * MEANING]
                allowed = search.passing(self.store, kind, some, self.scope, **narrow)
                passing += [row for row in some if row in allowed]
                if len(passing) >= MEANING:
                    return cosines, passing[:MEANING]
            if len(near) < wanted:
                break
        return cosines, passing

    def _parts(self, candidate: Candidate, bm25: float, cosine: float | None, session: float) -> Parts:
        days = max(0.0, (self.now - candidate.set_at) / DAY_S)
        return Parts(
            bm25=bm25,
            cosine=cosine,
            strength=candidate.strength * self.per_day.get(candidate.tier, 1.0) ** days,
            age_days=(self.now - candidate.fresh_at) / DAY_S,
            citations=candidate.citations,
            session=session,
        )

    def _read(self, hit: Hit, weighed: cues.Cue) -> None:
        """Holds a candidate's text against the cue."""
        candidate, parts, asks = hit.candidate, hit.parts, self.asks
        own = all_words(candidate.text)
        timely = asks.memory and "of the time" in parts.hints
        if timely:
            own += asks.dated  # what is of that time need not say so
        match, hit.words = cues.answered(weighed, candidate.text, own)
        if timely and set(weighed.words) <= set(asks.dated):
            match = 1.0  # «what did we do yesterday?» asks for no more
        parts.match = cues.answered(weighed, candidate.text, own + all_words(candidate.near))[0] if candidate.near else match
        hit.evidence = rank.evidence(match, parts.cosine, self.among[vectors.PASSAGE if candidate.tier == "archive" else vectors.MEMORY], asked=asks.memory)
        hit.untimely = asks.memory and asks.window is not None and "of the time" not in parts.hints
        if hit.untimely:
            hit.evidence *= UNTIMELY
        among = set(own)
        told = parts.hints
        if asks.time and hints.tells_time(among):
            told["tells a time"] = 1.0
        if asks.number and hints.tells_number(among):
            told["tells a number"] = 1.0
        label, colon, _ = candidate.text[:LABEL].partition(":")
        if (asks.by and asks.by == candidate.source) or (colon and label.lower() in asks.names):
            told["by the named"] = 1.0
        if candidate.tier == "archive" and candidate.text.rstrip().endswith("?"):
            told["asks itself"] = 1.0
        told["says much"] = min(len(own), rank.MUCH) / rank.MUCH
