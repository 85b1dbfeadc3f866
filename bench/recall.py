"""Recall in process at 10,000 and 100,000 memories, and the bytes a memory takes.

    python3 bench/recall.py [COUNT ...]

Median and 95th percentile of 100 cues of 8 words, and the ratio to a plain FTS5 query (every word OR-ed) over the same rows.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [ROOT, os.path.join(ROOT, "scripts")]

from bench import corpus  # noqa: E402
from tenon.recall.recall import recall  # noqa: E402
from tenon.store import db  # noqa: E402

PER_DAY = {"short": 0.95, "long": 0.997}
PLAIN = "SELECT rowid FROM memory_fts WHERE memory_fts MATCH ? ORDER BY rank LIMIT 50"


def main() -> int:
    """Prints a line per size."""
    for count in [int(given) for given in sys.argv[1:]] or [10_000, 100_000]:
        now = 1_750_000_000.0
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "tenon.db")
            with db.open_store(path) as store:
                repository = corpus.fill(store, count, now)
                store.execute("PRAGMA wal_checkpoint(TRUNCATE)")
                ours, plain = [], []
                for cue in corpus.cues(100, 8):
                    began = time.perf_counter()
                    recall(store, cue, scope=[repository], k=6, now=now, per_day=PER_DAY, floor=0.34, strict=True)
                    between = time.perf_counter()
                    store.rows(PLAIN, (" OR ".join(f'"{word}"' for word in re.findall(r"\w+", cue)),))
                    ours.append((between - began) * 1000)
                    plain.append((time.perf_counter() - between) * 1000)
            size = os.path.getsize(path) / count
        ours.sort()
        plain.sort()
        print(
            f"{count:>7,} memories: recall {ours[50]:.2f} ms (p95 {ours[95]:.2f}), plain FTS5 {plain[50]:.2f} ms (p95 {plain[95]:.2f}), "
            f"ratio {ours[50] / plain[50]:.2f}; {size:,.0f} bytes a memory"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
