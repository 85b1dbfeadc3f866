"""One score from the parts that speak for a hit."""

from __future__ import annotations

from math import exp

BM25, MATCH, STRENGTH, RECENCY, CITATIONS = 0.4, 0.4, 0.1, 0.05, 0.05
RECENCY_DAYS = 30.0
MOST_CITATIONS = 5


class Parts:
    """What speaks for a hit: each from 0 to 1, but strength up to 2. `match` is the cosine when there is one, else the share of the cue answered."""

    __slots__ = ("bm25", "match", "strength", "recency", "citations")

    def __init__(self, *, bm25: float, match: float, strength: float, age_days: float, citations: int) -> None:
        self.bm25 = bm25
        self.match = match
        self.strength = strength
        self.recency = exp(-max(0.0, age_days) / RECENCY_DAYS)
        self.citations = min(citations, MOST_CITATIONS) / MOST_CITATIONS

    def score(self) -> float:
        """0.4 bm25 + 0.4 match + 0.1 strength + 0.05 recency + 0.05 citations. Source: backant-memory README, «Recall»."""
        return BM25 * self.bm25 + MATCH * self.match + STRENGTH * self.strength + RECENCY * self.recency + CITATIONS * self.citations

    def values(self) -> tuple[float, ...]:
        """The parts in the order of the journal's PARTS."""
        return self.bm25, self.match, self.strength, self.recency, self.citations

    def line(self) -> str:
        """The parts in one line, for `--explain`."""
        return f"bm25 {self.bm25:.2f} match {self.match:.2f} strength {self.strength:.2f} recency {self.recency:.2f} citations {self.citations:.2f}"
