"""Recall on the beliefs of PrecisionMemBench (bench/precision/, MIT), kept as memories, beside plain FTS5 over the same texts.

    python3 bench/precision.py

Each belief that holds (not superseded, not settled, the asking user's own) is a memory: its name, its aliases, its content. A scope is a repository; what is
universal is agent-wide. «relevant»: the cases whose prompt alone decides what must come. «all tiers»: those and what the
benchmark wants pinned or asked besides, whatever the prompt says; empty prompts are left out of both. recall@k is the share of the gold beliefs in the top k, averaged.
The last lines take the prompt hook's floor: how much of what came was right, and how many prompts that nothing fits got something.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from typing import TYPE_CHECKING, Any

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [ROOT, os.path.join(ROOT, "scripts")]

from bench.scripted import measure  # noqa: E402
from tenon.base import settings  # noqa: E402
from tenon.recall.recall import recall  # noqa: E402
from tenon.store import db, memories  # noqa: E402

if TYPE_CHECKING:
    from tenon.store.db import Store

NOW = 1_791_417_600.0  # 2026-10-08, the day after the youngest belief
USER = "test-user"
UNIVERSAL = "user:universal"
KINDS = {"preference": "preference", "decision": "decision", "open_question": "hypothesis"}
PER_DAY = {"short": 0.95, "long": 0.997}


def main() -> int:
    """Prints the figures of both methods."""
    beliefs = [one for one in told("beliefs.seed.json") if one["user_id"] == USER and one["epistemic_status"] != "superseded" and not one["resolved_at"]]
    cases = [case for case in told("retrieval.cases.json") if case["query"].strip() and case.get("userId", USER) == USER]
    plain = measure.Plain((one["_id"], one["scope"][0], text_of(one)) for one in beliefs)
    rows: dict[tuple[str, str], list[list[float]]] = {}
    right: list[float] = []
    leaks = [0, 0]
    answerable = sum(bool(wanted(case, "relevant")) for case in cases)
    with tempfile.TemporaryDirectory() as folder, db.open_store(os.path.join(folder, "tenon.db")) as store:
        known, scopes = fill(store, beliefs)
        for case in cases:
            scope = [scopes[name] for name in case["scope"] if name in scopes]
            found = {
                "plain FTS5": [one for one in plain.search(case["query"], "", len(beliefs)) if place_of(beliefs, one) in (*case["scope"], UNIVERSAL)][:10],
                "Tenon": [known[hit.candidate.ref] for hit in recall(store, case["query"], scope=scope, k=10, now=NOW, per_day=PER_DAY).hits],
            }
            for tiers in ("relevant", "all tiers"):
                gold = wanted(case, tiers)
                if gold:
                    for who, ids in found.items():
                        rows.setdefault((tiers, who), []).append(measure.graded(ids, gold))
            offered = [
                known[hit.candidate.ref] for hit in recall(store, case["query"], scope=scope, k=6, now=NOW, per_day=PER_DAY, floor=floor(), strict=True).hits
            ]
            if wanted(case, "relevant") and offered:
                right.append(len(wanted(case, "all tiers").intersection(offered)) / len(offered))
            elif not wanted(case, "all tiers"):
                leaks[0] += bool(offered)
                leaks[1] += 1
    print(f"{len(beliefs)} beliefs\n{'':26}{'cases':>6}{measure.HEAD}")
    for (tiers, who), figures in rows.items():
        print(f"{tiers:14}{who:12}{len(figures):6}{measure.averages(figures)}")
    print(
        f"at the floor of {floor()}: {len(right)} of {answerable} cases got something, {sum(right) / max(1, len(right)):.3f} of it right; of {leaks[1]} prompts that nothing fits, {leaks[0]} got something"
    )
    return 0


def told(name: str) -> list[dict[str, Any]]:
    """One of the fixtures."""
    with open(os.path.join(ROOT, "bench", "precision", name), encoding="utf-8") as file:
        found: list[dict[str, Any]] = json.load(file)
    return found


def fill(store: Store, beliefs: list[dict[str, Any]]) -> tuple[dict[str, str], dict[str, int]]:
    """The belief of each memory, and the repository of each scope."""
    scopes: dict[str, int] = {}
    known: dict[str, str] = {}
    for one in beliefs:
        name = one["scope"][0]
        if name != UNIVERSAL and name not in scopes:
            scopes[name] = int(store.execute("INSERT INTO repository (key, seen) VALUES (?, 0)", (f"path:/{name}",)).lastrowid or 0)
        kind = KINDS.get(one["type"], "fact")
        ref, _ = memories.write(store, repository=scopes.get(name), tier="long", kind=kind, text=text_of(one), now=NOW, reason="seed", source="user")
        known[ref] = one["_id"]
    return known, scopes


def text_of(belief: dict[str, Any]) -> str:
    """What is kept of a belief."""
    aliases = f" ({', '.join(belief['aliases'])})" if belief["aliases"] else ""
    return f"{belief['canonical_name']}{aliases}: {belief['content']}"


def place_of(beliefs: list[dict[str, Any]], belief: str) -> str:
    """The scope of a belief."""
    return next(str(one["scope"][0]) for one in beliefs if one["_id"] == belief)


def wanted(case: dict[str, Any], tiers: str) -> set[str]:
    """The beliefs that a case asks for."""
    expected = case["expect"]
    gold = set(expected.get("relevantBeliefs", {}).get("shouldOnlyInclude", ()))
    if tiers == "all tiers":
        gold.update(expected.get("pinnedFacts", {}).get("mustInclude", ()), expected.get("openQuestions", {}).get("mustInclude", ()))
    return gold


def floor() -> float:
    """The prompt hook's floor."""
    return float(str(settings.KNOWN["recall.floor"][0]))


if __name__ == "__main__":
    sys.exit(main())
