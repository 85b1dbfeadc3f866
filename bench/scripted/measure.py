"""How good a ranking is, and the plain one that every figure stands beside.

R@k is the share of questions with an answer among the first k; nDCG@10 weighs the answer by its place, 1 / log2(1 + place), as one
answer is as good as another. The plain ranking is SQLite's own: FTS5 with the Porter stemmer, every word of the question, BM25.
"""

from __future__ import annotations

import re
import sqlite3
from math import log2
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

KS = (1, 5, 10)
HEAD = "".join(f"{f'R@{k}':>7}" for k in KS) + f"{'nDCG@10':>9}"


class Plain:
    """Texts in a plain FTS5 table, each under an id and in a place."""

    def __init__(self, texts: Iterable[tuple[str, str, str]]) -> None:
        self.con = sqlite3.connect(":memory:")
        self.con.execute("CREATE VIRTUAL TABLE plain USING fts5 (id UNINDEXED, place UNINDEXED, text, tokenize = 'porter unicode61')")
        self.con.executemany("INSERT INTO plain VALUES (?, ?, ?)", texts)

    def search(self, question: str, place: str, k: int = 10) -> list[str]:
        """The ids of the best k texts of a place («» is any), best first."""
        match = " OR ".join(f'"{word}"' for word in re.findall(r"\w+", question))
        sql = "SELECT id FROM plain WHERE plain MATCH ? AND ? IN (place, '') ORDER BY rank LIMIT ?"
        return [str(row[0]) for row in self.con.execute(sql, (match, place, k))] if match else []


def place_of(found: Sequence[Collection[str]], wanted: Collection[str]) -> int:
    """The place, from 1, of the first hit that shows any of the wanted ids; 0 when none does. A hit may show several ids."""
    return next((place for place, shown in enumerate(found, 1) if not set(wanted).isdisjoint(shown)), 0)


def figures(places: Sequence[int]) -> list[float]:
    """R@1, R@5, R@10 and nDCG@10 of the places at which questions were answered."""
    count = max(1, len(places))
    gains = sum(1 / log2(1 + place) for place in places if 0 < place <= 10)
    return [*(sum(0 < place <= k for place in places) / count for k in KS), gains / count]


def line(places: Sequence[int]) -> str:
    """The figures under `HEAD`."""
    *shares, gain = figures(places)
    return "".join(f"{share:7.3f}" for share in shares) + f"{gain:9.3f}"


def graded(found: Sequence[str], gold: Collection[str]) -> list[float]:
    """R@1, R@5, R@10 and nDCG@10 of one question that wants all of its gold ids: shares of them, and gains against the best order."""
    wanted = set(gold)
    gain = sum(1 / log2(1 + place) for place, one in enumerate(found[:10], 1) if one in wanted)
    best = sum(1 / log2(1 + place) for place in range(1, min(10, len(wanted)) + 1))
    return [*(len(wanted.intersection(found[:k])) / len(wanted) for k in KS), gain / best]


def averages(rows: Sequence[Sequence[float]]) -> str:
    """The averages of such figures under `HEAD`."""
    *shares, gain = (sum(column) / len(rows) for column in zip(*rows))
    return "".join(f"{share:7.3f}" for share in shares) + f"{gain:9.3f}"
