"""Pressure: how much of what was said lately is no memory yet, as a share of what one can keep up with.

After Spotless: unconsolidated tokens ÷ 144,000, moderate from 0.60, high from 0.85. What is long counts with all of its
text. Transcripts that are older than the store were imported; they wait too, and press nobody.
"""

from __future__ import annotations

from tenon.store import notes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tenon.store.db import Store

CAP = 144_000  # tokens
MODERATE, HIGH = 0.60, 0.85
NOTE = "pressure"

# The tokens of a turn that are left to read, where a digest has read a part of it.
LEFT = "max(0, t.tokens - coalesce((SELECT r.chars / 4 FROM reading r WHERE r.turn = t.id), 0))"
WAITING = (
    f"SELECT coalesce(sum({LEFT}), 0) FROM turn t WHERE t.repository = r.id AND t.thread = '' AND t.kind IN ('prompt', 'reply') AND t.forgotten IS NULL "
    "AND t.at >= ? AND NOT EXISTS (SELECT 1 FROM consolidated c WHERE c.turn = t.id)"
)
ALL = f"SELECT coalesce(sum(({WAITING})), 0) FROM repository r"


def measure(store: Store) -> int:
    """The tokens of all that was said since the store began and that no digest has dealt with, and notes them for `noted`."""
    tokens = int(store.value(ALL, (began(store),)))
    if store.writable and notes.value(store, NOTE) != str(tokens):
        notes.note(store, NOTE, str(tokens))
    return tokens


def noted(store: Store) -> int:
    """The same as it was measured last: one look, for the path of a prompt."""
    value = notes.value(store, NOTE)
    return int(value) if value.isdecimal() else 0


def level(tokens: int) -> str:
    """«», «moderate» or «high»."""
    return "high" if tokens >= HIGH * CAP else "moderate" if tokens >= MODERATE * CAP else ""


def began(store: Store) -> float:
    """When the store began; what was said before was imported."""
    value = notes.value(store, "began")
    return float(value) if value.isdecimal() else 0.0
