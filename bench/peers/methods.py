"""The methods that are compared: each is filled with a group's turns and gives the ids of the best ten for a question."""

from __future__ import annotations

import os
import sqlite3
from importlib import import_module
from typing import TYPE_CHECKING, Any

from bench.scripted import measure
from tenon.recall.recall import recall
from tenon.store import archive, db
from tenon.vectors.table import shared
from tests.fakes.transcripts import Transcript

if TYPE_CHECKING:
    from collections.abc import Callable

    from bench.peers.sets import Group, Question
    from tenon.store.db import Store

K = 10
PER_DAY = {"short": 0.95, "long": 0.997}


class PlainFts5:
    """SQLite's own ranking: Porter stems, every word, BM25."""

    def __init__(self, group: Group, folder: str) -> None:
        self.index = measure.Plain((turn.id, "", turn.text) for turn in group.turns)

    def ask(self, question: Question) -> list[str]:
        """The ids of the best turns."""
        return self.index.search(question.text, "", K)

    def close(self) -> None:
        """Ends it."""
        self.index.con.close()


class Tenon:
    """Tenon's recall over its archive."""

    ranking = "fused"

    def __init__(self, group: Group, folder: str) -> None:
        self.store: Store = db.open_store(os.path.join(folder, "tenon.db"))
        self.repository = int(self.store.execute("INSERT INTO repository (key, seen) VALUES (?, 0)", (f"path:/{group.name}",)).lastrowid or 0)
        self.known: dict[int, str] = {}
        sessions = dict.fromkeys(turn.session for turn in group.turns)
        for name in sessions:
            turns = [turn for turn in group.turns if turn.session == name]
            number = archive.session(self.store, name, repository=self.repository, folder="/", at=turns[0].at)
            rows = []
            for before, turn in zip(["", *(turn.id for turn in turns)], turns):
                kind = "prompt" if turn.role == "user" else "reply"
                content: list[object] = [{"type": "text", "text": turn.text}]
                rows.append(archive.Row(uuid=turn.id, parent=before, role=turn.role, kind=kind, source=turn.role, at=turn.at, content=content))
            self.known.update(zip(archive.append(self.store, number, self.repository, rows)[1], (turn.id for turn in turns)))

    def ask(self, question: Question) -> list[str]:
        """The ids of the best turns."""
        found = recall(
            self.store, question.text, scope=[self.repository], k=K, now=question.asked, per_day=PER_DAY, memories=False, archive=True, ranking=self.ranking
        ).hits  # fmt: skip
        return [self.known[hit.candidate.rowid] for hit in found]

    def close(self) -> None:
        """Ends it."""
        self.store.close()


class Backant(Tenon):
    """backant-memory's formula (0.4 BM25, 0.4 cosine, 0.1 weight, 0.05 recency, 0.05 citations) over Tenon's store and table."""

    ranking = "classic"


class Embedded:
    """What the vector indexes share: the texts' vectors by Tenon's built-in table."""

    def __init__(self, group: Group, folder: str) -> None:
        table = shared()
        if table is None:
            raise ImportError("the built-in table is missing")
        self.embed: Callable[[str], list[int] | None] = table.embed
        self.dims = table.dims
        self.ids: list[str] = []
        vectors = []
        for turn in group.turns:
            vector = table.embed(turn.text)
            if vector is not None:
                self.ids.append(turn.id)
                vectors.append(vector)
        self.build([[value / 32768 for value in vector] for vector in vectors])

    def build(self, vectors: list[list[float]]) -> None:
        """Fills the index; a vector's number is its place in `ids`."""
        raise NotImplementedError

    def nearest(self, vector: list[float]) -> list[int]:
        """The numbers of the nearest vectors, the nearest first."""
        raise NotImplementedError

    def ask(self, question: Question) -> list[str]:
        """The ids of the best turns."""
        vector = self.embed(question.text)
        return [self.ids[number] for number in self.nearest([value / 32768 for value in vector])] if vector else []

    def close(self) -> None:
        """Ends it; what is in memory needs nothing."""


class SqliteVec(Embedded):
    """sqlite-vec: exact nearest neighbours in SQLite, in C."""

    def build(self, vectors: list[list[float]]) -> None:
        """Fills the index."""
        sqlite_vec: Any = import_module("sqlite_vec")
        self.pack: Callable[[list[float]], bytes] = sqlite_vec.serialize_float32
        self.con = sqlite3.connect(":memory:")
        if not hasattr(self.con, "enable_load_extension"):
            raise ImportError("this Python's sqlite3 loads no extensions")
        self.con.enable_load_extension(True)
        sqlite_vec.load(self.con)
        self.con.execute(f"CREATE VIRTUAL TABLE near USING vec0 (vector float[{self.dims}] distance_metric=cosine)")
        self.con.executemany("INSERT INTO near (rowid, vector) VALUES (?, ?)", ((number, self.pack(vector)) for number, vector in enumerate(vectors)))

    def nearest(self, vector: list[float]) -> list[int]:
        """The numbers of the nearest vectors."""
        rows = self.con.execute("SELECT rowid FROM near WHERE vector MATCH ? AND k = ? ORDER BY distance", (self.pack(vector), K))
        return [int(row[0]) for row in rows]


class Hnsw(Embedded):
    """hnswlib, or Chroma's copy of it: approximate nearest neighbours on a graph, in C++."""

    def build(self, vectors: list[list[float]]) -> None:
        """Fills the index."""
        self.index: Any = import_module("hnswlib").Index(space="cosine", dim=self.dims)
        self.index.init_index(max_elements=len(vectors), M=16, ef_construction=200, random_seed=1)
        self.index.set_num_threads(1)
        self.index.add_items(vectors, list(range(len(vectors))))
        self.index.set_ef(64)

    def nearest(self, vector: list[float]) -> list[int]:
        """The numbers of the nearest vectors."""
        return [int(number) for number in self.index.knn_query([vector], k=K)[0][0]]


class Longhand:
    """longhand: each event of a transcript embedded by MiniLM in Chroma; asked as its `search` asks, of prompts and replies."""

    def __init__(self, group: Group, folder: str) -> None:
        transcripts: Any = import_module("longhand.parser")
        self.store: Any = import_module("longhand.storage.store").LonghandStore(os.path.join(folder, "longhand"))
        self.known: dict[str, str] = {}
        for name in dict.fromkeys(turn.session for turn in group.turns):
            path = os.path.join(folder, group.name, f"{name}.jsonl")
            transcript = Transcript(path, folder=f"/{group.name}")
            for turn in group.turns:
                if turn.session == name:
                    transcript.clock = turn.at
                    self.known[transcript.prompt(turn.text) if turn.role == "user" else transcript.reply(turn.text)] = turn.id
            parser = transcripts.JSONLParser(path)
            events = list(parser.parse_events())
            self.store.ingest_session(parser.build_session(events), events, run_analysis=False)
        if not self.store.vectors.search("a first question", n_results=1):
            raise ImportError("its embedding model could not be loaded")

    def ask(self, question: Question) -> list[str]:
        """The ids of the best turns."""
        hits = self.store.vectors.search(question.text, n_results=4 * K)
        # An event's id is the uuid of its line, with a suffix where a line has several.
        found = (own for hit in hits for uuid, own in self.known.items() if str(hit["event_id"]).startswith(uuid))
        return list(dict.fromkeys(found))[:K]

    def close(self) -> None:
        """Ends it; it has no way to be closed."""


METHODS: dict[str, Any] = {
    "plain FTS5": PlainFts5,
    "backant's formula": Backant,
    "longhand": Longhand,
    "sqlite-vec": SqliteVec,
    "hnswlib": Hnsw,
    "Tenon": Tenon,
}
