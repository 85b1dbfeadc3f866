"""Forgetting for good, as every door does it: what was said goes, the sessions' summaries are made anew without it, the files are left clean."""

from __future__ import annotations

from tenon.digest import summary
from tenon.store import exchanges, places
from tenon.store import forget as forgets

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from tenon.store.db import Store

FEW = 10  # turns that are named


def forget(store: Store, refs: Sequence[str], reason: str, now: float, texts: Sequence[str] = ()) -> bool:
    """Whether it is out of the files too; where another process reads the store, its log holds the old pages until that ends.

    Raises TenonError for an unknown ref, and then nothing was changed.
    """
    for session in forgets.forget(store, refs, reason, now, texts):
        summary.write(store, session, "", now)
    return forgets.checkpoint(store)


def said(store: Store, refs: Sequence[str], repository: int | None = None) -> list[str]:
    """The turns (t…) that the memories came from which go with these refs, and that stay, oldest first.

    Of the repository that is named alone, else of the memory's own; what holds everywhere may have been said in any. Raises TenonError for an unknown ref.
    """
    found: set[int] = set()
    for memory, numbers in forgets.saying(store, refs):
        wanted = memory.repository if repository is None else repository
        own = None if wanted is None else places.canonical(store, wanted)
        turns = [exchanges.turn(store, f"t{number}") for number in numbers]
        found.update(turn.id for turn in turns if turn.forgotten is None and own in (None, places.canonical(store, turn.repository)))
    return [f"t{number}" for number in sorted(found)]


def named(turns: Sequence[str]) -> str:
    """The turns by their ids, as a sentence has them: «t1, t2 and 5 more»."""
    return ", ".join(turns[:FEW]) + (f" and {len(turns) - FEW:,} more" if len(turns) > FEW else "")


def staying(turns: Sequence[str]) -> str:
    """What a door says of the turns that stay, after the memory that came from them is gone; «» when there are none."""
    one = len(turns) == 1
    return (
        f"It is still said in {named(turns)}: {'that stays' if one else 'they stay'} and can be recalled until {'it is' if one else 'they are'} forgotten too."
        if turns
        else ""
    )
