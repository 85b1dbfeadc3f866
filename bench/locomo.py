"""Turn-level recall on LoCoMo conversations: how much of the gold evidence is among the first hits.

    python3 bench/locomo.py FOLDER        # FOLDER holds one JSON file per conversation (snap-research/locomo, CC BY-NC 4.0)

Every turn goes into the archive as said, at the time it was said; every question of categories 1 to 4 is a cue, asked the day
after the last session. Printed beside a plain FTS5 query over the same turns (every word OR-ed, BM25), and the ratio.
recall@k is the share of gold turns in the top k, averaged; nDCG@10 as usual with gains of one. «no cues» is the same
without what the question says of month and speaker, the honest figure for coding sessions; «classic» is recall.ranking = classic.
"""

from __future__ import annotations

import glob
import json
import math
import os
import re
import sqlite3
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [os.path.join(ROOT, "scripts")]

from tenon.base import settings  # noqa: E402
from tenon.recall import rank  # noqa: E402
from tenon.recall.recall import recall  # noqa: E402
from tenon.store import archive, db  # noqa: E402

KS = (1, 5, 10)
FLOOR = float(str(settings.KNOWN["recall.floor"][0]))
DAY_S = 86400.0


def main() -> int:
    """Prints a line per method; 2 when no conversation is found."""
    files = sorted(glob.glob(os.path.join(sys.argv[1], "*.json"))) if len(sys.argv) == 2 else []
    if not files:
        sys.stderr.write(__doc__ or "")
        return 2
    rows: dict[str, list[list[float]]] = {}
    silent = 0
    spent = 0.0
    for path in files:
        turns, questions = conversation(path)
        with tempfile.TemporaryDirectory() as folder, db.open_store(os.path.join(folder, "tenon.db")) as store:
            known = fill(store, turns)
            now = max(float(turn["at"]) for turn in turns) + DAY_S
            lexicon = baseline(turns)
            for question, gold in questions:
                rows.setdefault("plain FTS5", []).append(measures(search(lexicon, question), gold))
                for name, ranking, hints in (
                    ("Tenon", "fused", {}),
                    ("no cues", "fused", {"of the time": 0.0, "by the named": 0.0}),
                    ("classic", "classic", {}),
                ):
                    kept = dict(rank.HINTS)
                    rank.HINTS.update(hints)
                    began = time.perf_counter()
                    hits = recall(store, question, scope=[1], k=max(KS), now=now, per_day={}, memories=False, archive=True, ranking=ranking).hits
                    if name == "Tenon":
                        spent += time.perf_counter() - began
                        silent += not any(hit.evidence >= FLOOR for hit in hits)
                    rank.HINTS.update(kept)
                    rows.setdefault(name, []).append(measures([known[hit.candidate.rowid] for hit in hits], gold))
    count = len(rows["Tenon"])
    print(
        f"{len(files)} conversations, {count} questions, {spent / count * 1000:.2f} ms a question, {silent / count:.1%} would get nothing at the floor of {FLOOR}"
    )
    for name, found in rows.items():
        values = [mean(found, column) for column in range(len(KS) + 1)]
        plain = [mean(rows["plain FTS5"], column) for column in range(len(KS) + 1)]
        told = [f"{label} {value:.3f} ({value / base:.2f})" for label, value, base in zip([*(f"R@{k}" for k in KS), "nDCG@10"], values, plain)]
        print(f"{name:12}" + "  ".join(told))
    return 0


def conversation(path: str) -> tuple[list[dict[str, str]], list[tuple[str, set[str]]]]:
    """The turns of a conversation, each with its time as `at`, and its questions with their gold turns."""
    with open(path, encoding="utf-8") as file:
        talk = json.load(file)
    turns = []
    for number in range(1, 100):
        at = said_at(str(talk.get(f"session_{number}_date_time", "")))
        for place, turn in enumerate(talk.get(f"session_{number}") or []):
            turns.append({**turn, "session": str(number), "at": str(at + place)})
    ids = {turn["dia_id"] for turn in turns}
    return turns, [(qa["question"], gold) for qa in talk["qa"] if qa["category"] != 5 and (gold := evidence(qa["evidence"], ids))]


def said_at(text: str) -> float:
    """The time that «1:56 pm on 8 May, 2023» is."""
    return time.mktime(time.strptime(text, "%I:%M %p on %d %B, %Y")) if text else 0.0


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
    known: dict[int, str] = {}
    for session in dict.fromkeys(turn["session"] for turn in turns):
        said = [turn for turn in turns if turn["session"] == session]
        number = archive.session(store, f"locomo-{session}", repository=repository, folder="/locomo", at=float(said[0]["at"]))
        rows = [
            archive.Row(
                uuid=turn["dia_id"],
                parent="",
                role="user",
                kind="prompt",
                source="user",
                at=float(turn["at"]),
                content=[{"type": "text", "text": text_of(turn)}],
            )
            for turn in said
        ]
        known.update(zip(archive.append(store, number, repository, rows)[1], (turn["dia_id"] for turn in said)))
    return known


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


def measures(found: list[str], gold: set[str]) -> list[float]:
    """recall@k for each k, and nDCG@10."""
    gain = sum(1 / math.log2(place + 2) for place, name in enumerate(found[:10]) if name in gold)
    return [*(len(gold & set(found[:k])) / len(gold) for k in KS), gain / sum(1 / math.log2(place + 2) for place in range(min(10, len(gold))))]


def mean(rows: list[list[float]], column: int) -> float:
    """The average of a column."""
    return sum(row[column] for row in rows) / len(rows)


if __name__ == "__main__":
    sys.exit(main())
