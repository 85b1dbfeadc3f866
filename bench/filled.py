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
