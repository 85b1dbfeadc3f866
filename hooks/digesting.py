"""Sees to the background digest, where the user has turned it on: measures what waits, and starts a process of its own when one is due."""

from __future__ import annotations

import os

from hooks import where
from tenon.base import faults, settings
from tenon.base.errors import TenonError
from tenon.base.lean import sqlite
from tenon.digest import due
from tenon.store import pressure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tenon.base.settings import Settings
    from tenon.store.db import Store


def see_to(store: Store, chosen: Settings, event: str, session: str, now: float) -> None:
    """Starts a digest when one is due, and the selection for the session's next prompt after a turn. Its faults are noted and cost the event nothing."""
    try:
        pressure.measure(store)
        if not (chosen.flag("digest.auto") or chosen.flag("recall.rerank")):
            return
        strange = settings.stranger([os.environ.get("CLAUDE_PROJECT_DIR", ""), os.getcwd()])
        if strange:
            faults.note_once("digest", TenonError(f"{strange}, so no digest runs in the background by what it says"))
            return
        if event == "SessionEnd" and chosen.flag("digest.auto"):
            due.note_end(store, now)
        more = ["--select", session] if event == "Stop" and chosen.flag("recall.rerank") and session else []
        if more or due.due(store, chosen, now):
            from tenon.world import detached

            detached.digest(where.agent(chosen), *more)
    except (sqlite.Error, OSError) as error:
        faults.note(event, error, "the background digest was not seen to")
