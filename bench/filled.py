"""Large stores to measure the dashboard with: rows are inserted directly, through the store's own indexing."""

from __future__ import annotations

import json
import random

from bench import corpus

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tenon.store.db import Store

A_SESSION = 100  # turns
MIX = ("prompt", "thinking", "call", "result", "call", "result", "call", "result", "call", "result", "reply")  # of one exchange
TOOLS = ("Bash", "Read", "Edit", "Grep", "Write")
REPOSITORIES = 20
STATUSES, SHARES = ("live", "faded", "superseded"), (88, 6, 6)
MINUTE_S = 60.0
RECALLS = 20_000  # entries of the journal, as many prompts in thirty days
SET_STATUS = "UPDATE memory SET status = ?, citations = ?, successor = ? WHERE id = ?"


def turns(store: Store, count: int, now: float, seed: int = 5) -> int:
    """The repository of so many archived turns, in sessions of a hundred, a second apart and the newest of now; without hashes that hold and without vectors."""
    from tenon.store import archive, index

    pool = corpus.sentences()
    chance = random.Random(seed)
    with store.transaction():
        repository = int(store.execute("INSERT INTO repository (key, seen) VALUES ('path:/archive', 0)").lastrowid or 0)
        before = ""
        for number in range(count):
            at = now - count + number
            if number % A_SESSION == 0:
                session = archive.session(store, f"{number // A_SESSION:08x}-bench-session", repository=repository, folder="/archive", at=at, branch="main")
            kind = MIX[number % A_SESSION % len(MIX)]
            content, text = _said(kind, number, pool, chance)
            role = "assistant" if kind in ("reply", "call", "thinking") else "user"
            source = "tool" if kind == "result" else "user" if kind == "prompt" else "assistant"
            hash_ = number.to_bytes(32, "big")
            values = (hash_, None, session, repository, "", "", role, kind, source, at, len(text) // 4, json.dumps(content), None)
            turn = int(store.execute(archive.ADD_TURN, values).lastrowid or 0)
            if text:
                passage = int(store.execute(archive.ADD_PASSAGE, (turn, repository, 0, len(text))).lastrowid or 0)
                index.add_passage(store, passage, text, before if kind in archive.SPOKEN else "")
            if kind in archive.SPOKEN:
                before = index.head(text)
            if number % A_SESSION == A_SESSION - 1:
                store.execute(archive.TOUCH_SESSION, (at, "", "", session))
    return repository


def memories(store: Store, count: int, now: float, seed: int = 7) -> str:
    """The id of a memory in the middle of many: so many were written, a minute apart and the newest of now, of every kind, in twenty repositories and everywhere.

    They are linked, associated, revised, superseded and journalled, and have no vectors and no lineage.
    """
    from tenon.store import identity, index
    from tenon.store import memories as kept

    chance = random.Random(seed)
    kinds = [kind for kind in kept.KINDS if kind not in identity.KINDS]
    with store.transaction():
        add = "INSERT INTO repository (key, seen) VALUES (?, 0)"
        homes = [None, *(int(store.execute(add, (f"example.org/acme/r{number}",)).lastrowid or 0) for number in range(REPOSITORIES))]
        rows: list[int] = []
        for number, text in enumerate(corpus.memories(count)):
            at = now - (count - number) * MINUTE_S
            told = (
                f"m{number:09d}",
                chance.choice(homes),
                chance.choice(("short", "long")),
                chance.choice(kinds),
                text,
                "measured",
                chance.choice(kept.SOURCES),
            )
            row = int(store.execute(kept.ADD, (*told, "[]", "", 2 * chance.random(), at, at, at, at, chance.choice(kept.WRITERS))).lastrowid or 0)
            status = chance.choices(STATUSES, SHARES)[0] if rows else "live"
            store.execute(SET_STATUS, (status, int(chance.expovariate(0.5)), chance.choice(rows) if status == "superseded" else None, row))
            if status != "superseded":
                index.add_memory(store, row, text, "measured")
            if number % 10 == 0:
                store.execute(kept.ADD_REVISION, (row, 1, text[::-1], "it was inexact", at))
            rows.append(row)
        _linked(store, rows, now, chance)
        _recalled(store, count, now, chance)
    return f"m{count // 2:09d}"


def _linked(store: Store, rows: list[int], now: float, chance: random.Random) -> None:
    """Three links and as many associations for each memory, mostly to those written near it; the one in the middle has forty."""
    from tenon.store import associations, edges

    approve = "UPDATE edge SET status = 'approved', decided = ? WHERE id % 5 <> 0"
    middle = len(rows) // 2
    ends = [
        (place, other) for place in range(len(rows)) for other in (place - chance.randint(1, 9), place - chance.randint(1, 99), place - chance.randint(1, 5000))
    ]
    ends += [(middle, (middle + 37 * step) % len(rows)) for step in range(1, 41)]
    for number, (one, other) in enumerate(ends):
        if 0 <= other != one:
            store.execute(
                "INSERT OR IGNORE INTO" + edges.ADD[len("INSERT INTO") :],
                (rows[one], rows[other], edges.KINDS[number % len(edges.KINDS)], "measured", now, now),
            )
            store.execute(associations.SET, (min(rows[one], rows[other]), max(rows[one], rows[other]), chance.random(), 1, now))
    store.execute(approve, (now,))


def _recalled(store: Store, count: int, now: float, chance: random.Random) -> None:
    from tenon.store import journal

    for number in range(RECALLS):
        hits = [(f"m{chance.randrange(count):09d}", chance.random(), [chance.random() for _ in journal.PARTS]) for _ in range(6)]
        at = now - number * journal.KEEP_S / RECALLS
        journal.record(store, event="prompt", session=f"{number // 20:08x}-bench", repository=None, words=("one", "other"), hits=hits, chars=900, now=at)


def _said(kind: str, number: int, pool: list[str], chance: random.Random) -> tuple[list[dict[str, object]], str]:
    """The blocks of a turn, and what of them is searchable."""
    text = ". ".join(chance.choices(pool, k=chance.randint(1, 6 if kind != "prompt" else 3))) + "."
    if kind == "call":
        tool = chance.choice(TOOLS)
        return [{"type": "tool_use", "id": f"toolu_{number}", "name": tool, "input": {"command": text}}], f"{tool} {text[:300]}"
    if kind == "result":
        return [{"type": "tool_result", "tool_use_id": f"toolu_{number - 1}", "content": text}], text
    if kind == "thinking":
        return [{"type": "thinking", "thinking": text, "signature": ""}], ""
    return [{"type": "text", "text": text}], text
