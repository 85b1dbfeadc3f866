"""Turn-level recall on LoCoMo conversations: how much of the gold evidence is among the first ten hits.

    python3 bench/locomo.py FOLDER        # FOLDER holds one JSON file per conversation (snap-research/locomo, CC BY-NC 4.0)

Every turn goes into the archive as said; every question of categories 1 to 4 is a cue. Printed beside a plain FTS5
query over the same turns (every word OR-ed, BM25), and the ratio. recall@k is the share of gold turns in the top k, averaged.
"""

from __future__ import annotations

import glob
import json
import os
import re
import sqlite3
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [os.path.join(ROOT, "scripts")]

from tenon.base import settings  # noqa: E402
from tenon.recall.recall import recall  # noqa: E402
from tenon.store import archive, db  # noqa: E402

NOW = 1_750_000_000.0
KS = (1, 5, 10)
FLOOR = float(str(settings.KNOWN["recall.floor"][0]))


def main() -> int:
    """Prints a line per method; 2 when no conversation is found."""
    files = sorted(glob.glob(os.path.join(sys.argv[1], "*.json"))) if len(sys.argv) == 2 else []
    if not files:
        sys.stderr.write(__doc__ or "")
        return 2
    ours: list[list[float]] = []
    plain: list[list[float]] = []
    silent = 0
    spent = 0.0
    for path in files:
        with open(path, encoding="utf-8") as file:
            talk = json.load(file)
        turns = [turn for number in range(1, 100) for turn in talk.get(f"session_{number}", [])]
        ids = {turn["dia_id"] for turn in turns}
        questions = [(qa["question"], gold) for qa in talk["qa"] if qa["category"] != 5 and (gold := evidence(qa["evidence"], ids))]
        with tempfile.TemporaryDirectory() as folder, db.open_store(os.path.join(folder, "tenon.db")) as store:
            known = fill(store, turns)
            lexicon = baseline(turns)
            for question, gold in questions:
                began = time.perf_counter()
                hits = recall(store, question, scope=[1], k=max(KS), now=NOW, per_day={}, memories=False, archive=True).hits
                spent += time.perf_counter() - began
                silent += not any(hit.parts.match >= FLOOR for hit in hits)
                ours.append(shares([known[hit.candidate.rowid] for hit in hits], gold))
                plain.append(shares(search(lexicon, question), gold))
    print(
        f"{len(files)} conversations, {len(ours)} questions, {spent / len(ours) * 1000:.2f} ms a question, {silent / len(ours):.1%} would get nothing at the floor of {FLOOR}"
    )
    for name, rows in (("plain FTS5", plain), ("Tenon", ours)):
        print(f"{name:12}" + "".join(f"  R@{k} {mean(rows, i):.3f}" for i, k in enumerate(KS)))
    print(f"{'ratio':12}" + "".join(f"  R@{k} {mean(ours, i) / mean(plain, i):.3f}" for i, k in enumerate(KS)))
    return 0


def evidence(given: list[str], ids: set[str]) -> set[str]:
    """The gold turns of a question; ids that were written together or with slips are mended."""
    found = re.findall(r"D:?(\d+):0*(\d+)", " ".join(given))
    return {f"D{int(session)}:{int(turn)}" for session, turn in found} & ids


def text_of(turn: dict[str, str]) -> str:
    """What was said, by whom, with the caption of a picture."""
    return f"{turn['speaker']}: {turn['text']}" + (f" ({turn['blip_caption']})" if turn.get("blip_caption") else "")


def fill(store: db.Store, turns: list[dict[str, str]]) -> dict[int, str]:
    """The dialogue id of each archived turn."""
    repository = int(store.execute("INSERT INTO repository (key, seen) VALUES ('path:/locomo', 0)").lastrowid or 0)
    number = archive.session(store, "locomo", repository=repository, folder="/locomo", at=0)
    rows = [
        archive.Row(uuid=turn["dia_id"], parent="", role="user", kind="prompt", source="user", at=NOW, content=[{"type": "text", "text": text_of(turn)}])
        for turn in turns
    ]
    return dict(zip(archive.append(store, number, repository, rows)[1], (turn["dia_id"] for turn in turns)))


def baseline(turns: list[dict[str, str]]) -> sqlite3.Connection:
    """The same turns in a plain FTS5 table."""
    con = sqlite3.connect(":memory:")
    con.execute("CREATE VIRTUAL TABLE f USING fts5 (id UNINDEXED, text, tokenize = 'porter unicode61')")
    con.executemany("INSERT INTO f VALUES (?, ?)", [(turn["dia_id"], text_of(turn)) for turn in turns])
    return con


def search(con: sqlite3.Connection, question: str) -> list[str]:
    """The best ten turns by BM25 for any word of the question."""
    match = " OR ".join(f'"{word}"' for word in re.findall(r"\w+", question))
    return [row[0] for row in con.execute("SELECT id FROM f WHERE f MATCH ? ORDER BY rank LIMIT 10", (match,))]


def shares(found: list[str], gold: set[str]) -> list[float]:
    """recall@k for each k."""
    return [len(gold & set(found[:k])) / len(gold) for k in KS]


def mean(rows: list[list[float]], column: int) -> float:
    """The average of a column."""
    return sum(row[column] for row in rows) / len(rows)


if __name__ == "__main__":
    sys.exit(main())
