"""A real store file with two repositories in it, and a way to ask it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tenon.recall.recall import Recall, recall
from tenon.store import archive, db, memories
from tenon.store.db import Store

ADD_REPOSITORY = "INSERT INTO repository (key, seen) VALUES (?, 1.0)"
NOW = 1_800_000_000.0
PER_DAY = {"short": 0.95, "long": 0.997}


class Mind:
    """A store and the two repositories whose memories it holds."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.here, self.there = (int(store.execute(ADD_REPOSITORY, (key,)).lastrowid or 0) for key in ("example.org/acme/widgets", "example.org/acme/gadgets"))

    def write(self, text: str, **more: Any) -> str:
        """The id of a memory with that text: a short-term observation of this repository unless told otherwise."""
        told = {"repository": self.here, "tier": "short", "kind": "observation", "now": NOW, **more}
        return memories.write(self.store, text=text, **told)[0]

    def say(
        self, text: str, *, session: str = "earlier", repository: int | None = None, kind: str = "prompt", role: str = "user", thread: str = "", at: float = NOW
    ) -> str:
        """The id of an archived turn with that text: a prompt in an earlier session of this repository unless told otherwise."""
        number = repository or self.here
        found = archive.session(self.store, session, repository=number, folder="/x", at=at)
        source = "user" if role == "user" else "assistant"
        row = archive.Row(uuid="", parent="", role=role, kind=kind, source=source, at=at, thread=thread, content=[{"type": "text", "text": text}])
        return f"t{archive.append(self.store, found, number, [row])[1][0]}"

    def ask(self, cue: str, **more: Any) -> Recall:
        """The recall for a cue in this repository."""
        told = {"scope": [self.here], "k": 10, "now": NOW, "per_day": PER_DAY, **more}
        return recall(self.store, cue, **told)

    def refs(self, cue: str, **more: Any) -> list[str]:
        """The ids of the hits, best first."""
        return [hit.candidate.ref for hit in self.ask(cue, **more).hits]


@pytest.fixture()
def mind(tmp_path: Path) -> Iterator[Mind]:
    """An empty store, in a folder with spaces and accents."""
    with db.open_store(str(tmp_path / "café au lait" / "tenon.db")) as store:
        yield Mind(store)
