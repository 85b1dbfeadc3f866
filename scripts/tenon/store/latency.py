"""How long the proxy held requests up: a count for each day and each eighth of an octave, from which quantiles are read to within 5 %."""

from __future__ import annotations

from math import ceil, log2

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tenon.store.db import Store

DAY_S = 86400
KEEP_DAYS = 400
PER_OCTAVE = 8

COUNT = "INSERT INTO latency (day, step, count) VALUES (?, ?, 1) ON CONFLICT (day, step) DO UPDATE SET count = count + 1"
SINCE = "SELECT day, step, count FROM latency WHERE day >= ? ORDER BY day, step"
OLD = "DELETE FROM latency WHERE day < ?"


def note(store: Store, took_s: float, now: float) -> None:
    """Counts a request that was held up for so long."""
    store.execute(COUNT, (int(now // DAY_S), _step(took_s)))


def since(store: Store, at: float) -> dict[int, dict[int, int]]:
    """For each day from that time on (its number since 1970, UTC) how many requests each step counts."""
    found: dict[int, dict[int, int]] = {}
    for day, step, count in store.rows(SINCE, (int(at // DAY_S),)):
        found.setdefault(int(day), {})[int(step)] = int(count)
    return found


def quantile(counts: Mapping[int, int], share: float) -> float | None:
    """The seconds within which that share of the counted requests was let go; None when none was counted."""
    left = ceil(sum(counts.values()) * share)
    for step in sorted(counts):
        left -= counts[step]
        if left <= 0:
            return float(2 ** (step / PER_OCTAVE) / 1e6)
    return None


def of(took_s: Sequence[float], share: float) -> float | None:
    """The same of times as they are."""
    ordered = sorted(took_s)
    return ordered[max(0, ceil(len(ordered) * share) - 1)] if ordered else None


def prune(store: Store, now: float) -> None:
    """Drops what is older than four hundred days."""
    store.execute(OLD, (int(now // DAY_S) - KEEP_DAYS,))


def _step(took_s: float) -> int:
    return round(PER_OCTAVE * log2(max(1.0, took_s * 1e6)))
