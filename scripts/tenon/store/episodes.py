"""Episodes: attempts at a decision point, what was expected of them and what came of it; a surprise weighs double.

After backant-memory's README, «Episodes». What is found again is one sentence, kept as a short-term memory; the parts
stand beside it. The pattern check counts, before something is tried again, how it went wrong before.
"""

from __future__ import annotations

from tenon.base.text import words
from tenon.store import index, memories, places
from tenon.store.wording import chosen, kept

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from tenon.store.db import Store

ACTIONS = ("fix", "merge", "implement", "review-feedback", "migrate", "investigate", "other")
ENDINGS = ("success", "failure", "partial")
LONGEST = 2000  # characters of the situation, of what was done, and of the evidence
SURPRISE = 2.0  # the strength of an episode that went otherwise than expected
TOP = 5

ADD = "INSERT OR IGNORE INTO episode (memory, situation, action, taken, expected, outcome, evidence) VALUES (?, ?, ?, ?, ?, ?, ?)"
BY_MEMORY = "SELECT situation, action, taken, expected, outcome, evidence FROM episode WHERE memory = ?"
FAILURES = (
    "SELECT m.ref, m.kind, m.text, m.labels, m.reinforced FROM memory_fts f JOIN memory m ON m.id = f.rowid LEFT JOIN episode e ON e.memory = m.id "
    "WHERE memory_fts MATCH ? AND m.status = 'live' AND (m.repository IS NULL OR m.repository IN ({scope})) "
    "AND (m.kind = 'failure_signature' OR (m.kind = 'episode' AND e.outcome <> 'success')) ORDER BY f.rank, m.id"
)


def write(
    store: Store,
    *,
    repository: int | None,
    situation: str,
    action_type: str,
    action_taken: str,
    expected: str,
    outcome: str,
    evidence: str,
    now: float,
    epic: str = "",
    labels: Sequence[str] = (),
    turns: Sequence[int] = (),
    writer: str = "model",
) -> tuple[str, float]:
    """The id of the episode's memory and its strength: 1.0 as expected, 2.0 for a surprise.

    `writer` is one of memories.WRITERS. Raises TenonError for an unknown action or ending, a part that is empty or too long, and as `memories.write` does.
    """
    action_type = chosen(action_type, "type of action", ACTIONS)
    expected, outcome = chosen(expected, "expected ending", ENDINGS), chosen(outcome, "outcome", ENDINGS)
    situation, taken = kept(situation, "situation", LONGEST, store=store), kept(action_taken, "action_taken", LONGEST, store=store)
    evidence = kept(evidence, "evidence", LONGEST, store=store)
    with store.transaction():
        ref, _ = memories.write(
            store,
            repository=repository,
            tier="short",
            kind="episode",
            text=_sentence(situation, taken, expected, outcome, evidence),
            labels=labels,
            turns=turns,
            epic=epic,
            strength=1.0 if expected == outcome else SURPRISE,
            now=now,
            writer=writer,
        )
        memory = memories.get(store, ref)
        store.execute(ADD, (memory.id, situation, action_type, taken, expected, outcome, evidence))
    return ref, memory.strength


def get(store: Store, memory_id: int) -> dict[str, str] | None:
    """The parts of the episode in that memory (by row number), or None when it is no episode."""
    row = store.one(BY_MEMORY, (memory_id,))
    return dict(zip(("situation", "action_type", "action_taken", "expected", "outcome", "evidence"), row)) if row else None


def failures(store: Store, repository: int | None, domains: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Per domain (a word or a few, all of which must be mentioned) what went wrong there in this repository.

    Each is {failure_count, top: the five that fit best as {id, type, content, last}, dominant_type}. What counts are
    episodes that did not succeed, and failure signatures that no counted episode tells of already.
    """
    return {domain: _failures(store, repository, domain) for domain in domains}


def _failures(store: Store, repository: int | None, domain: str) -> dict[str, Any]:
    match = " AND ".join(index.query([word], {word: 1}) for word in dict.fromkeys(words(domain)))
    scope = places.scope(store, repository)
    rows = store.rows(FAILURES.format(scope=", ".join("?" * len(scope)) or "NULL"), (match, *scope)) if match else []
    rows = _each_once(rows)
    kinds = [row[1] for row in rows]
    return {
        "failure_count": len(rows),
        "top": [{"id": ref, "type": kind, "content": text, "last": at} for ref, kind, text, _, at in rows[:TOP]],
        "dominant_type": max(sorted(set(kinds)), key=kinds.count) if kinds else "",
    }


def _each_once(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    import json

    # A procedure that failed wrote both; its signature names the episode among its labels.
    told = {row[0] for row in rows if row[1] == "episode"}
    return [row for row in rows if row[1] == "episode" or not told.intersection(json.loads(row[3]))]


def _sentence(situation: str, taken: str, expected: str, outcome: str, evidence: str) -> str:
    ending = f"{outcome} as expected" if expected == outcome else f"expected {expected}, got {outcome}"
    return f"{_plain(situation)} → {_plain(taken)} ({ending}; {_plain(evidence)})"


def _plain(text: str) -> str:
    flat = " ".join(text.split())
    return flat if flat.endswith(("…", "...")) else flat.rstrip(".")
