"""What the parts of a score are called and mean, and what they add to it: the same wherever a score is told."""

from __future__ import annotations

from tenon.recall import rank
from tenon.store import journal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

# What each part says, for whoever reads of it for the first time.
MEANS = {
    "likeness": ("meaning", "how near the text's meaning is to the prompt's, among what was considered"),
    "match": ("words covered", "how much of what the prompt says, weighed by how rare its words are, the text says too"),
    "bm25": ("rare words", "how many words they share, and how rare those are here (BM25)"),
    "strength": ("strength", "a memory fades with time and is strengthened when it proves right"),
    "recency": ("recency", "how lately it was written or proved right"),
    "citations": ("use", "how often it was of use before; five times counts most"),
    "session": ("same session", "how much else of what was found was said in the same session"),
    "fit": ("fit", "whether it is of the time, by the one, or has the number that is asked for"),
    "linked": ("linked", "another hit leads to it, by a link or because the two come up together"),
    "newer": ("newer", "of two that answer alike the later one holds"),
}


def means() -> dict[str, dict[str, str]]:
    """The words for each part, by its name."""
    return {name: {"label": label, "says": says} for name, (label, says) in MEANS.items()}


def told(score: float | None, parts: Mapping[str, float], ranking: str) -> dict[str, Any]:
    """A score with its parts, each with the weight that scores are made with now."""
    weights = dict(zip(journal.PARTS, rank.WEIGHTS[ranking]))
    return {
        "score": None if score is None else round(score, 3),
        "parts": [{"name": name, "value": round(value, 3), "weight": weights[name]} for name, value in parts.items() if value],
    }
