"""Forgetting for good, as every door does it: what was said goes, the sessions' summaries are made anew without it, the files are left clean."""

from __future__ import annotations

from tenon.digest import summary
from tenon.store import forget as forgets

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from tenon.store.db import Store


def forget(store: Store, refs: Sequence[str], reason: str, now: float, texts: Sequence[str] = ()) -> bool:
    """Whether it is out of the files too; where another process reads the store, its log holds the old pages until that ends.

    Raises TenonError for an unknown ref, and then nothing was changed.
    """
    for session in forgets.forget(store, refs, reason, now, texts):
        summary.write(store, session, "", now)
    return forgets.checkpoint(store)
