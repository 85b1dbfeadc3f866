"""The two text indexes, and the vectors, made anew from what is stored: after damage, or where taking one entry out was not enough."""

from __future__ import annotations

from tenon.store import archive, memories, vectors
from tenon.store import index as indexes
from tenon.store.exchanges import COLUMNS, Turn

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Optional

    from tenon.store.db import Store

    Item = tuple[int, Optional[int], str]

TABLES = ("memory_fts", "turn_fts")
OFTEN = 500  # memories and turns between two words of progress

DEFINITION = "SELECT sql FROM sqlite_master WHERE type = 'table' AND name = ?"
DROP = {"memory_fts": "DROP TABLE memory_fts", "turn_fts": "DROP TABLE turn_fts"}
MEMORIES = "SELECT id, repository, text, reason, labels, epic FROM memory WHERE status <> 'superseded' ORDER BY id"
NO_PASSAGES = "DELETE FROM passage"
# By sessions, for the turns beside each other; a forgotten one keeps its place among them.
TURNS = f"SELECT {COLUMNS} FROM turn t ORDER BY t.session, t.id"
COUNT = "SELECT (SELECT count(*) FROM memory) + (SELECT count(*) FROM turn)"


def rebuild(store: Store, progress: Callable[[int, int], None] | None = None, *, embed: bool = True) -> None:
    """Empties both text indexes and all vectors and fills them from the stored content, whole or not at all.

    `progress` is told now and then how many memories and turns are done, and how many there are. Models other than the
    built-in table find everything missing afterwards, and without `embed` that one does so too.
    """
    with store.transaction():
        for table in TABLES:
            # Made anew rather than emptied: a damaged index cannot always be emptied.
            definition = str(store.value(DEFINITION, (table,)))
            store.execute(DROP[table])
            store.execute(definition)
            store.execute(indexes.RANK[table])
        store.execute(NO_PASSAGES)
        for kind in (vectors.MEMORY, vectors.PASSAGE):
            vectors.clear(store, kind)
        total = int(store.value(COUNT)) if progress else 0
        done = 0
        for kind, things in ((vectors.MEMORY, _memories(store)), (vectors.PASSAGE, _turns(store))):
            batch: list[Item] = []
            for items in things:
                for item in items:
                    if embed:
                        batch.append(item)
                    if len(batch) >= archive.AT_ONCE:
                        vectors.add(store, kind, batch)
                        batch = []
                done += 1
                if progress and done % OFTEN == 0:
                    progress(done, total)
            vectors.add(store, kind, batch)
        if progress:
            progress(total, total)


def _memories(store: Store) -> Iterator[Iterable[Item]]:
    for rowid, repository, text, reason, labels, epic in store.rows(MEMORIES):
        indexes.add_memory(store, rowid, text, memories.about(reason, labels, epic))
        yield [(rowid, repository, text)]


def _turns(store: Store) -> Iterator[Iterable[Item]]:
    """Of each turn the passages that are to have a vector; they are indexed as they are taken."""
    session = 0
    talks: dict[str, archive.Talk] = {}
    waiting: dict[str, Turn] = {}  # of each thread the last spoken turn, until the next one is known
    for row in store.each(TURNS):
        turn = Turn(row)
        if turn.session != session:
            for thread, last in waiting.items():
                yield _indexed(store, last, talks[thread].near())
            session, talks, waiting = turn.session, {}, {}
        if turn.kind not in archive.SPOKEN:
            for _ in _indexed(store, turn, ""):
                pass
            yield ()
            continue
        near = talks.setdefault(turn.thread, archive.Talk()).add(turn.text())
        if turn.thread in waiting:
            yield _indexed(store, waiting[turn.thread], near)
        waiting[turn.thread] = turn
    for thread, last in waiting.items():
        yield _indexed(store, last, talks[thread].near())


def _indexed(store: Store, turn: Turn, near: str) -> Iterable[Item]:
    return archive.index_turn(store, turn.id, turn.repository, turn.text(), near)
