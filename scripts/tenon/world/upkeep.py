"""Upkeep by plain code while a session runs; asks no model.

What was said and not looked through yet, what came up together, what has faded, how large the store is, and what was deleted and may still be in the files.
"""

from __future__ import annotations

import os
import time

from tenon.base import paths, settings
from tenon.base.lean import sqlite
from tenon.digest import associating, spotting
from tenon.store import cleaning, db, growth, pressure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

BUSY_S = 1.0
SPOT_S = 2.0  # a look


def once(stopped: Callable[[], bool], clock: Callable[[], float] = time.time) -> None:
    """Does what there is for the agent of this process; a store that another process is busy with waits for the next time."""
    chosen = settings.load()
    path = paths.store_path(paths.agent_name(chosen.text("agent")))
    if os.environ.get("TENON_DISABLE") or not db.exists(path):
        return
    with db.open_store(path, create=False, busy_s=BUSY_S) as store:
        try:
            if not stopped():
                cleaning.catch_up(store)
            while not stopped() and not spotting.catch_up(store, now=clock(), budget_s=SPOT_S).finished:
                pass
            if not stopped():
                associating.catch_up(store, clock())
                pressure.measure(store)
                growth.daily(store, clock())
        except sqlite.OperationalError as error:
            if not any(word in str(error) for word in db.BUSY):
                raise
