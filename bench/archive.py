"""The archive's speed and size, and what a thousand recalls add.

    python3 bench/archive.py [TURNS]

Turns of 50 KB of prose, half of them prompts and half answers, go from a transcript into a store; then 1,000 different prompts are
recalled and journalled. Printed: megabytes a second, the store's bytes to the transcript's, the journal's bytes a recall.
"""

from __future__ import annotations

import json
import os
import random
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [ROOT, os.path.join(ROOT, "scripts")]

from bench import corpus  # noqa: E402
from tenon.digest import capture  # noqa: E402
from tenon.recall.recall import recall  # noqa: E402
from tenon.store import db, journal  # noqa: E402

TURN_BYTES = 50_000


def main() -> int:
    """Prints three lines."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TENON_HOME"] = folder
        transcript = os.path.join(folder, "s.jsonl")
        write(transcript, count)
        path = os.path.join(folder, "tenon.db")
        with db.open_store(path) as store:
            began = time.perf_counter()
            report = capture.capture(store, transcript, session_name="s", folder=folder, now=1.75e9, budget_s=1e6)
            took = time.perf_counter() - began
            store.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            source, kept = os.path.getsize(transcript), os.path.getsize(path)
            print(f"{report.new:,} turns, {source / 1e6:.0f} MB in {took:.1f} s: {source / 1e6 / took:.1f} MB/s")
            print(f"store {kept / 1e6:.0f} MB, ratio to the transcript {kept / source:.2f}")
            used = in_use(store)
            for number, cue in enumerate(corpus.cues(1000, 6)):
                found = recall(store, cue, scope=[1], k=6, now=1.75e9, per_day={}, archive=True)
                hits = [(hit.candidate.ref, hit.score, hit.parts.values()) for hit in found.hits]
                journal.record(store, event="prompt", session=f"s{number}", repository=1, words=found.words(), hits=hits, chars=900, now=1.75e9)
            print(f"1,000 recalls of up to 6 hits added {(in_use(store) - used) / 1000:.0f} bytes each")
    return 0


def in_use(store: db.Store) -> int:
    """The bytes of the pages that hold something."""
    pages = int(store.value("PRAGMA page_count")) - int(store.value("PRAGMA freelist_count"))
    return pages * int(store.value("PRAGMA page_size"))


def write(path: str, count: int) -> None:
    """A transcript of so many turns."""
    pool = corpus.sentences()
    chance = random.Random(3)
    with open(path, "w", encoding="utf-8") as file:
        for number in range(count):
            text = ""
            while len(text) < TURN_BYTES:
                text += chance.choice(pool) + ". "
            role = "assistant" if number % 2 else "user"
            line = {
                "type": role, "uuid": f"u{number}", "parentUuid": f"u{number - 1}" if number else None, "sessionId": "s", "cwd": "/bench",
                "timestamp": "2026-11-28T10:00:00.000Z", "message": {"role": role, "content": [{"type": "text", "text": text}] if number % 2 else text},
            }  # fmt: skip
            file.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    sys.exit(main())
