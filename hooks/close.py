"""Before a compaction and at a session's end: the rest of the transcript, the session's summary, the handoff, what plain code spots.

Claude Code ends a SessionEnd hook after 1.2 seconds with all its children, so the work is done here, in small
transactions, the oldest part first; what is cut off is made good at the next session's start.
"""

from __future__ import annotations

import os
import time

from hooks import digesting, turn, where
from tenon.base import paths, settings
from tenon.digest import capture, summary
from tenon.store import db, growth, journal, places, tasks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from hooks.door import Answer
    from tenon.store.db import Store

CAPTURE_S = 0.6
SPOT_S = 0.15  # the end of each turn has left little
LATEST_S = 0.8  # after which nothing more is begun that another time can do


def answer(event: dict[str, Any]) -> Answer | None:
    """None: closing is silent."""
    chosen = settings.load()
    folder, session = where.folder(event), where.session(event)
    if not chosen.flag("archive.enabled") or where.is_excluded(event, chosen):
        return None
    now, began = time.time(), time.monotonic()
    transcript = str(event.get("transcript_path") or "")
    with db.open_store(paths.store_path(where.agent(chosen))) as store:
        if os.path.exists(transcript):
            capture.capture(store, transcript, session_name=session, folder=folder, now=now, budget_s=CAPTURE_S)
        reason = str(event.get("reason") or event.get("trigger") or "")
        summary.write(store, session, reason, now)
        hand_over(store, folder, now)
        journal.prune(store, now)
        growth.daily(store, now)
        if time.monotonic() - began < LATEST_S:
            turn.spot(store, session, SPOT_S)
        # Last: a process that was started survives the session when this hook ends by itself.
        digesting.see_to(store, chosen, str(event.get("hook_event_name")), session, time.time())
    return None


def hand_over(store: Store, folder: str, now: float) -> None:
    """Writes the handoff brief of the repository's epic in flight from its task state, unless a newer one was written by hand."""
    repository = places.find(store, folder)
    active = tasks.active(store, repository) if repository is not None else []
    if repository is None or not active:
        return
    state = active[0]
    brief = tasks.read_handoff(store, repository)
    if brief is None or brief["active_epic"] != state["epic"] or brief["updated"] < state["updated"]:
        tasks.write_handoff(store, repository, tasks.compose_handoff(state, []), now)
