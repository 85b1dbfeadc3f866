"""One score from the parts that speak for a hit: what the words say, what the meaning says, and what is known of the hit itself.

The weights of «fused» were fitted by listwise logistic regression (the softmax over a question's candidates against its gold turns)
on the development half of LoCoMo and of the scripted coding sessions, see bench/fit.py; those of «classic» are backant-memory's
(README, «Recall»): 0.4 bm25 + 0.4 cosine + 0.1 strength + 0.05 recency + 0.05 citations.
"""

from __future__ import annotations

from math import exp, log10

from tenon.store.journal import PARTS

WEIGHTS = {
    "fused": (0.14, 0.27, 0.22, 0.0, 0.03, 0.41, 0.04, 0.14, 0.12, 0.05),
    "classic": (0.4, 0.0, 0.1, 0.05, 0.05, 0.4, 0.0, 0.0, 0.0, 0.0),
}
# What makes a text fit what is asked for, summed up in «fit».
HINTS = {
    "of the time": 1.6,  # that the cue names
    "by the named": 1.5,  # whose words are asked for
    "tells a time": 1.5,  # asked when
    "tells a number": 0.9,  # asked how many
    "says much": 1.0,  # 1.0 from MUCH words on
    "asks itself": -0.7,
}
MUCH = 40  # words
RECENCY_DAYS = 30.0
MOST_CITATIONS = 5
ENOUGH = 0.34  # evidence that a hit answers the cue: the floor unless the user sets another
TOGETHER = 0.92  # match and cosine that are as much, where the match is at least SOME
SOME = 0.3
ALONE, ASKED = 0.52, 0.28  # the cosine that is as much by itself, among one text; and where the cue asks what is remembered
PER_TENFOLD = 0.06  # among ten times as many texts one is so much nearer by chance
BY_LINK = 0.6  # so much of a memory's evidence goes along an approved edge
BY_ASSOCIATION = 0.5  # an association counts for so much: in the score, and for evidence of its own that a memory has
TIGHT = 0.8  # an association this strong, from a memory of as much evidence, leads on as an edge does
NARROW = 0.3  # cosines closer together than this are not spread further apart


class Parts:
    """What speaks for a hit, each from 0 to 1, but strength up to 2 and fit from -0.7 up.

    bm25: of its kind's best; match: the share of the cue's weight that the text has; likeness: the cosine, spread over the
    candidates' (for «classic» as it is); session: how much of what was found lies in the same session; fit: whether it is of
    the time, by the one, of the form that is asked for; linked: what it lacks of the score of a memory that leads to it (see `lift`); newer: its place in time among
    the candidates that were read, as of two that answer the same the later one holds.
    """

    __slots__ = ("bm25", "match", "cosine", "likeness", "strength", "recency", "citations", "session", "hints", "linked", "newer")

    def __init__(self, *, bm25: float, cosine: float | None, strength: float, age_days: float, citations: int, session: float = 0.0) -> None:
        self.bm25 = bm25
        self.match = 0.0
        self.cosine = cosine
        self.likeness = 0.0
        self.strength = strength
        self.recency = exp(-max(0.0, age_days) / RECENCY_DAYS)
        self.citations = min(citations, MOST_CITATIONS) / MOST_CITATIONS
        self.session = session
        self.hints: dict[str, float] = {}  # how far each of HINTS holds
        self.linked = 0.0
        self.newer = 0.0

    @property
    def fit(self) -> float:
        """How well the text fits what is asked for beyond the words."""
        return sum([HINTS[name] * value for name, value in self.hints.items()]) if self.hints else 0.0

    def liken(self, least: float, most: float, ranking: str) -> None:
        """Sets the likeness, where the candidates' cosines go from `least` to `most`; without a vector of its own a hit has the least."""
        if ranking == "classic":
            self.likeness = self.match if self.cosine is None else max(0.0, self.cosine)
        elif self.cosine is not None:
            self.likeness = (self.cosine - least) / max(most - least, NARROW)

    def values(self) -> tuple[float, ...]:
        """The parts in the order of PARTS."""
        return (self.bm25, self.match, self.strength, self.recency, self.citations, self.likeness, self.session, self.fit, self.linked, self.newer)

    def named(self) -> dict[str, float]:
        """Every part by its name, the cosine as it is, and each hint that holds."""
        told = {name: round(value, 3) for name, value in (*zip(PARTS, self.values()), *self.hints.items())}
        if self.cosine is not None:
            told["cosine"] = round(self.cosine, 3)
        return told

    def line(self) -> str:
        """The parts in one line, for `--explain`; those that say nothing are left out."""
        told = [f"{name} {value:.2f}" for name, value in zip(PARTS, self.values()) if abs(value) >= 0.005]
        if self.cosine is not None:
            told.append(f"(cosine {self.cosine:.2f})")
        return " ".join(told)


def score(parts: Parts, ranking: str = "fused") -> float:
    """The weighted sum of the parts; about 0 to 1, and higher where a time or a name was asked for."""
    a, b, c, d, e, f, g, h, i, j = WEIGHTS[ranking]  # written out, as it is done for some hundred candidates of a prompt
    known = a * parts.bm25 + b * parts.match + c * parts.strength + d * parts.recency + e * parts.citations
    return known + f * parts.likeness + g * parts.session + h * parts.fit + i * parts.linked + j * parts.newer


def evidence(match: float, cosine: float | None, among: int, *, asked: bool) -> float:
    """How surely a text answers the cue, 0 to 1, by the words that they share and by what they mean; held against the floor.

    `among` is how many texts the cosine was looked for among; `asked` says that the cue asks what is remembered, and is no task or question of
    the world at large. Calibrated on prompts that a coding agent gets all day, of which one in twenty may get something, and on the
    development half of the scripted sessions: see tests/recall/calibration.py and bench/coding.py.
    """
    if cosine is None:
        return match
    chance = PER_TENFOLD * log10(max(1, among))
    both = ENOUGH * (match + cosine) / TOGETHER if match >= SOME else 0.0
    found = max(both, _surely(cosine, ALONE + chance), 0.0)
    return min(1.0, max(found, match, _surely(cosine, ASKED + chance)) if asked else found)


def brings(source: float, strength: float, *, approved: bool) -> bool:
    """Whether a link from a memory with the evidence `source` brings what has none of its own: an approved edge, or a tight association."""
    return approved or min(source, strength) >= TIGHT


def leads_on(own: float, source: float, strength: float, *, approved: bool) -> bool:
    """Whether a link is followed to a memory with the evidence `own`: else only from one that answers the cue to one that says something to it."""
    return brings(source, strength, approved=approved) or (source >= ENOUGH and own > 0.0)


def lift(own: float, source: float, strength: float, *, approved: bool) -> float:
    """The part «linked» of a memory with the score `own`, that a link leads to from one with the score `source`.

    It is what the memory lacks of what comes along the link: so the link brings up what is far below, and what two linked ones are above stays there.
    """
    return max(0.0, min(1.0, strength * source - own)) * (1.0 if approved else BY_ASSOCIATION)


def along(own: float, source: float, strength: float, *, approved: bool) -> float:
    """The evidence of a memory, with `own` by itself, that a link leads to from one with the evidence `source`."""
    if brings(source, strength, approved=approved):
        return max(own, BY_LINK * min(1.0, strength) * source)
    return min(1.0, own * (1.0 + BY_ASSOCIATION * strength * source))


def _surely(cosine: float, enough: float) -> float:
    """The evidence of a cosine alone: ENOUGH at `enough`, 1 at 1."""
    return 1.0 - (1.0 - cosine) / max(0.1, 1.0 - enough) * (1.0 - ENOUGH)
