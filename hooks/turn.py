"""The end of a turn, of the main conversation or of a sub-agent: what the transcript has gained goes into the archive."""

from __future__ import annotations

import os
import time

from hooks import where
from tenon.base import faults, paths, settings
from tenon.base.errors import TenonError
from tenon.digest import capture
from tenon.store import db

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from hooks.door import Answer

BUSY_MS = 1500  # the user waits for the end of a turn; while another process holds the store the next event does the work
CAPTURE_S = 0.5  # what is not read by then is read at the next event, or by `tenon import`


def answer(event: dict[str, Any]) -> Answer | None:
    """None: archiving is silent."""
    chosen = settings.load()
    transcript = str(event.get("transcript_path") or "")
    if not chosen.flag("archive.enabled") or not os.path.exists(transcript) or where.is_excluded(event, chosen):
        return None
    with db.open_store(paths.store_path(where.agent(chosen))) as store:
        store.execute(f"PRAGMA busy_timeout = {BUSY_MS}")
        report = capture.capture(store, transcript, session_name=where.session(event), folder=where.folder(event), now=time.time(), budget_s=CAPTURE_S)
    if report.problem and not report.finished:
        faults.note(str(event.get("hook_event_name")), TenonError(report.problem))
    return None
