"""Fits the weights of the fused ranking (recall/rank.py), on the development data alone.

    python3 bench/fit.py FOLDER        # LoCoMo conversations, as for bench/locomo.py

Listwise logistic regression: for every question the softmax over its candidates is to fall on those that are right (the sum of their
probabilities), with a little weight decay, by Adam. Data: the given conversations, and the «dev» half of bench/scripted, which counts
twice. First each conversation is left out once and measured by the weights that the others give, then all are used. Prints the
weights in units of bm25's; it changes nothing. Needs numpy.
"""

from __future__ import annotations

import glob
import os
import sys
import tempfile

import numpy

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [ROOT, os.path.join(ROOT, "scripts")]

from bench import locomo, scripted  # noqa: E402
from bench.coding import shown  # noqa: E402
from tenon.base import settings  # noqa: E402
from tenon.recall import rank  # noqa: E402
from tenon.recall.recall import recall  # noqa: E402
from tenon.store import db, search  # noqa: E402

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from tenon.recall.recall import Hit
    from tenon.store.db import Store

STEPS, RATE, DECAY = 150, 0.1, 0.002
PLAIN = ("bm25", "match", "likeness", "session", "newer", "strength")
NAMES = (*PLAIN, *rank.HINTS)


class Case:
    """A question: the parts of its candidates, one row each, which of them are right, and how many right ones there are in all."""

    def __init__(self, hits: list[Hit], is_right: Callable[[Hit], bool], wanted: int) -> None:
        rows = [[*(getattr(hit.parts, name) for name in PLAIN), *(hit.parts.hints.get(name, 0.0) for name in rank.HINTS)] for hit in hits]
        self.parts = numpy.array(rows).reshape(len(hits), len(NAMES))
        self.right = numpy.array([is_right(hit) for hit in hits], dtype=bool)
        self.wanted = wanted


def main() -> int:
    """Prints the weights; 2 when no conversation is found."""
    files = sorted(glob.glob(os.path.join(sys.argv[1], "*.json"))) if len(sys.argv) == 2 else []
    if not files:
        sys.stderr.write(__doc__ or "")
        return 2
    talks = [of_talk(path) for path in files]
    coding = of_coding() * 2
    held = [measured(talk, fitted([case for other in talks if other is not talk for case in other] + coding)) for talk in talks]
    sizes = [len(talk) for talk in talks]
    for name, values in zip(("R@1", "R@10", "nDCG@10"), zip(*held)):
        print(f"{name} of the conversation left out: {numpy.average(values, weights=sizes):.3f}")
    weights = fitted([case for talk in talks for case in talk] + coding)
    for name, weight in zip(NAMES, weights):
        print(f"  {name:16}{weight / weights[0]:7.2f}")
    return 0


def of_talk(path: str) -> list[Case]:
    """The questions of a LoCoMo conversation."""
    turns, questions = locomo.conversation(path)
    with tempfile.TemporaryDirectory() as folder, db.open_store(os.path.join(folder, "tenon.db")) as store:
        known = locomo.fill(store, turns)
        now = max(float(turn["at"]) for turn in turns) + locomo.DAY_S
        return [
            Case(read(store, question, scope=[1], now=now, memories=False), lambda hit, gold=gold: known[hit.candidate.rowid] in gold, len(gold))  # type: ignore[misc]
            for question, gold in questions
        ]


def of_coding() -> list[Case]:
    """The questions of the scripted sessions' development half, asked of the archive, of the memories, and of both."""
    cases = []
    with tempfile.TemporaryDirectory() as folder, db.open_store(os.path.join(folder, "tenon.db")) as store:
        filled = scripted.fill(store, scripted.sessions(), folder, remembered=True)

        def is_right(hit: Hit, question: scripted.Question) -> bool:
            search.pair(store, hit.candidate)
            told = shown(filled, hit)
            return bool(told & question.gold) and not told & question.stale

        for question in scripted.questions():
            if question.half != "dev" or question.type not in scripted.TYPES:
                continue
            for memories, archive in ((True, False), (False, True), (True, True)):
                hits = read(store, question.text, scope=[filled.repositories[question.repository]], now=question.asked, memories=memories, archive=archive)
                cases.append(Case(hits, lambda hit, question=question: is_right(hit, question), 1))  # type: ignore[misc]
    return cases


def read(store: Store, question: str, *, archive: bool = True, **more: Any) -> list[Hit]:
    """All candidates that were read."""
    found = recall(store, question, k=1, per_day=settings.load().per_day(), archive=archive, **more)
    return [*found.hits, *found.misses]


def fitted(cases: list[Case]) -> Any:
    """The weights that suit the cases, in the order of NAMES."""
    weights = numpy.full(len(NAMES), 0.5)
    weights[0] = 3.0
    mean, spread = numpy.zeros_like(weights), numpy.zeros_like(weights)
    told = [case for case in cases if case.right.any()]
    for step in range(1, STEPS + 1):
        slope = DECAY * weights
        for case in told:
            scores = case.parts @ weights
            every = numpy.exp(scores - scores.max())
            right = every * case.right
            slope += case.parts.T @ (every / every.sum() - right / right.sum()) / len(told)
        mean = 0.9 * mean + 0.1 * slope
        spread = 0.99 * spread + 0.01 * slope * slope
        weights -= RATE * (mean / (1 - 0.9**step)) / (numpy.sqrt(spread / (1 - 0.99**step)) + 1e-8)
    return weights


def measured(cases: list[Case], weights: Any) -> tuple[float, float, float]:
    """R@1, R@10 and nDCG@10 of the cases by the weights."""
    totals = numpy.zeros(3)
    for case in cases:
        order = case.right[numpy.argsort(-(case.parts @ weights), kind="stable")][:10]
        gains = 1 / numpy.log2(numpy.arange(10) + 2)
        totals += (order[:1].sum() / case.wanted, order.sum() / case.wanted, (gains[: len(order)] * order).sum() / gains[: min(10, case.wanted)].sum())
    first, ten, gain = totals / len(cases)
    return float(first), float(ten), float(gain)


if __name__ == "__main__":
    sys.exit(main())
