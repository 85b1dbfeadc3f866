"""What the model at hand digested in a session (/memory-digest), noted as a digest, so that it is shown and undone as any other."""

from __future__ import annotations

from tenon.base.errors import TenonError
from tenon.store import digests, exchanges, memories, pressure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from tenon.store.db import Store
    from tenon.store.exchanges import Turn


def done(store: Store, repository: int, written: Sequence[int], skipped: Sequence[int], now: float) -> int:
    """How many turns were marked as dealt with: those that a memory was written from, and those skipped in so many words.

    Raises TenonError, and marks nothing, when a turn is named as written from and no memory has it among its turns.
    """
    with store.transaction():
        made = digests.made_of(store, written)
        bare = [f"t{turn}" for turn in written if turn not in made]
        if bare:
            raise TenonError(
                f"no memory was written from {', '.join(bare[:10])}: write what is worth keeping with its ids in `turns`, or name them in skipped; nothing was marked"
            )
        number = digests.begin(
            store, phase="session", repository=repository, runner="session", model="the model at hand", now=now, turns=len({*written, *skipped}),
            first=min((*written, *skipped), default=None),
        )  # fmt: skip
        for row in sorted({row for rows in made.values() for row in rows}):
            memory = memories.by_id(store, row)
            first = min(exchanges.turn(store, f"t{turn}").at for turn, rows in made.items() if row in rows)
            # What was known before that was said is only fresh again, and not of this digest's making.
            if memory.writer == "model" and memory.created >= first and not digests.is_noted(store, row):
                digests.add_step(store, number, "remember", row)
                for old in digests.superseded_by(store, row):
                    digests.add_step(store, number, "supersede", old, row)
        count = exchanges.mark_consolidated(store, written, "written", now) + exchanges.mark_consolidated(store, skipped, "skipped", now)
        digests.add_step(store, number, "read", undo={"turns": sorted({*written, *skipped})})
        digests.end(store, number, "applied", now)
    pressure.measure(store)
    return count


def passed_over(store: Store, turns: Sequence[Turn], now: float) -> tuple[int, int]:
    """The digest that notes it, and how many of the turns waited and were marked as skipped."""
    with store.transaction():
        waiting = [turn.id for turn in turns if not exchanges.is_dealt_with(store, turn.id)]
        if not waiting:
            return 0, 0
        book = digests.Book(store, phase="session", repository=turns[0].repository, runner="user", now=now, turns=len(waiting), first=min(waiting))
        exchanges.mark_consolidated(store, waiting, "skipped", now)
        book.step("read", None, undo={"turns": waiting})
    pressure.measure(store)
    return book.number, len(waiting)
