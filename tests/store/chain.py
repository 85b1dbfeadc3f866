"""The whole archive of a store checked, as `tenon doctor --deep` does it."""

from __future__ import annotations

from tenon.store import health
from tenon.store.db import Store


def checked(store: Store) -> tuple[int, list[int]]:
    """How many turns there are, and those that are not as they were written or whose place in the chain is lost."""
    found = health.check_chain(store, None, 60.0)
    return found.checked, sorted(found.wrong + found.unlinked)
