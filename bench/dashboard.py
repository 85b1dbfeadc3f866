"""The dashboard's server time: what each page costs in a large store, from the open store to the JSON, and what the browser loads.

    python3 bench/dashboard.py [MEMORIES [TURNS]]

Median and worst of twenty askings, in milliseconds, and the median of what the processor took; 100,000 memories and as many archived turns unless told
otherwise.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [ROOT, os.path.join(ROOT, "scripts")]

from bench import filled  # noqa: E402
from tenon.base import settings  # noqa: E402
from tenon.dashboard.files import FOLDER  # noqa: E402
from tenon.dashboard.place import Place, Query  # noqa: E402
from tenon.store import db  # noqa: E402

NOW = 1.79e9
TIMES = 20
MIDDLE = "the memory in the middle"
ASKED = (
    ("memories", "", ""), ("memories", "", "order=strongest"), ("memories", "", "order=cited"), ("memories", "", "kind=lesson"),
    ("memories", "", "repository=example.org%2Facme%2Fr3"), ("memories", "", "status=superseded"), ("memories", "", "q=the"), ("memories", "", "q=th"),
    ("memories", "", "q=re"), ("memories", "", "q=configuratio"), ("memories", "", "q=file+obj"), ("memories", "", "q=zebra"), ("memories", "", "q=m0000012"),
    ("memories", "", "q=the&order=strongest"), ("memories", "", "q=the&kind=lesson&tier=long&source=user"), ("memories", "", "q=the&status=superseded"),
    ("memories", MIDDLE, ""), ("identity", "", ""), ("history", "", ""), ("history", "", "q=the"), ("history", "", "q=re"), ("digests", "", ""),
    ("selector", "", ""), ("health", "", ""),
)  # fmt: skip


def main() -> int:
    """Prints a line for each asking, and the bytes of all that the browser loads."""
    memories, turns = (int(sys.argv[at]) if len(sys.argv) > at else 100_000 for at in (1, 2))
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TENON_HOME"] = folder
        path = os.path.join(folder, "tenon.db")
        with db.open_store(path) as store:
            middle = filled.memories(store, memories, NOW)
            filled.turns(store, turns, NOW)
            store.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        for page, name, query in ASKED:
            took, busy = (sorted(times) for times in zip(*(asked(path, page, middle if name else "", query) for _ in range(TIMES))))
            address = page + (f"/{name}" if name else "") + (f"?{query}" if query else "")
            print(f"{address:60} {took[TIMES // 2]:7.1f} ms, at worst {took[-1]:7.1f}, processor {busy[TIMES // 2]:7.1f}")
    print(f"the front end weighs {sum(os.path.getsize(os.path.join(FOLDER, name)) for name in os.listdir(FOLDER)) / 1000:.0f} KB")
    return 0


def asked(path: str, page: str, name: str, query: str) -> tuple[float, float]:
    """How many milliseconds an answer took, with the store opened for it, and how many of them the processor."""
    module = __import__(f"tenon.dashboard.{page}", fromlist=["page"])
    began, busy = time.perf_counter(), time.process_time()
    with db.open_reader(path) as store:
        here = Place(store, settings.load(), "default", now=NOW)
        json.dumps(module.one(here, name, Query(query)) if name else module.page(here, Query(query)))
    return (time.perf_counter() - began) * 1000, (time.process_time() - busy) * 1000


if __name__ == "__main__":
    sys.exit(main())
