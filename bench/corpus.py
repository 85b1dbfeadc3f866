"""Memories to measure with: sentences of about 200 characters recombined from the standard library's own docstrings.

Real technical English with its real distribution of words, on every machine that has Python; the same for every run.
"""

from __future__ import annotations

import ast
import math
import os
import random
import sysconfig

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tenon.store.db import Store


def sentences(enough: float = math.inf) -> list[str]:
    """Distinct sentences of 5 to 30 words from the docstrings of the standard library; no further module is read once there are enough."""
    found: dict[str, None] = {}
    folder = sysconfig.get_path("stdlib")
    for name in sorted(os.listdir(folder)):
        if len(found) >= enough:
            break
        if name.endswith(".py"):
            with open(os.path.join(folder, name), encoding="utf-8", errors="replace") as file:
                tree = ast.parse(file.read())
            for node in ast.walk(tree):
                if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)):
                    for sentence in (ast.get_docstring(node) or "").replace("\n", " ").split(". "):
                        if 5 <= len(sentence.split()) <= 30:
                            found[" ".join(sentence.split())] = None
    return list(found)


def memories(count: int, seed: int = 1) -> list[str]:
    """So many texts of about 200 characters, no two alike."""
    pool = sentences()
    chance = random.Random(seed)
    made = []
    for number in range(count):
        text = ""
        while len(text) < 160:
            text += chance.choice(pool) + ". "
        made.append(f"{text[:190].strip()} (note {number})")
    return made


def cues(count: int, words: int, seed: int = 2) -> list[str]:
    """So many prompts: that many words in a row from a sentence, as people quote what they half remember."""
    pool = [sentence.split() for sentence in sentences() if len(sentence.split()) >= words]
    chance = random.Random(seed)
    return [" ".join(chance.choice(pool)[:words]) for _ in range(count)]


def fill(store: Store, count: int, now: float) -> int:
    """The repository whose memories were written: so many, through the store's own indexing and embedding, in one transaction."""
    from tenon.store import index, vectors
    from tenon.store import memories as kept

    with store.transaction():
        repository = int(store.execute("INSERT INTO repository (key, seen) VALUES ('path:/bench', 0)").lastrowid or 0)
        written = []
        for number, text in enumerate(memories(count)):
            values = (f"m{number:09d}", repository, "long", "fact", text, "measured", "user", "[]", "", 1.0, now, now, now, now, "code")
            rowid = int(store.execute(kept.ADD, values).lastrowid or 0)
            index.add_memory(store, rowid, text, "measured")
            written.append((rowid, repository, text))
        for at in range(0, count, 10_000):
            vectors.add(store, vectors.MEMORY, written[at : at + 10_000])
    return repository
