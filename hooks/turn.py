"""The end of a turn, of the main conversation or of a sub-agent: what the transcript has gained goes into the archive, and is looked through."""

from __future__ import annotations

import os
import time

from hooks import digesting, where
from tenon.base import faults, paths, settings
from tenon.base.errors import TenonError
from tenon.base.lean import sqlite
from tenon.digest import capture, spotting
from tenon.store import db, exchanges

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from hooks.door import Answer
    from tenon.store.db import Store

BUSY_MS = 1500  # the user waits for the end of a turn; while another process holds the store the next event does the work
CAPTURE_S = 0.5  # what is not read by then is read at the next event, or by `tenon import`
SPOT_S = 0.5  # what is not looked through by then is by the tools' server, or at the next event
SPOT_BUSY_MS = 300


def answer(event: dict[str, Any]) -> Answer | None:
    """None: archiving is silent."""
    chosen = settings.load()
    transcript = str(event.get("transcript_path") or "")
    if not chosen.flag("archive.enabled") or not os.path.exists(transcript) or where.is_excluded(event, chosen):
        return None
    with db.open_store(paths.store_path(where.agent(chosen))) as store:
        store.execute(f"PRAGMA busy_timeout = {BUSY_MS}")
        report = capture.capture(store, transcript, session_name=where.session(event), folder=where.folder(event), now=time.time(), budget_s=CAPTURE_S)
        spot(store, where.session(event), SPOT_S)
        digesting.see_to(store, chosen, str(event.get("hook_event_name")), where.session(event), time.time())
    if report.problem and not report.finished:
        faults.note(str(event.get("hook_event_name")), TenonError(report.problem))
    return None


def spot(store: Store, session: str, budget_s: float) -> None:
    """Looks through what is new of a session. A fault in it is noted and costs nothing else; another process at the store is none."""
    try:
        store.execute(f"PRAGMA busy_timeout = {SPOT_BUSY_MS}")
        number = exchanges.session_number(store, session)
        if number is not None:
            spotting.catch_up(store, now=time.time(), budget_s=budget_s, session=number)
    except sqlite.Error as error:
        if not any(word in str(error) for word in db.BUSY):
            faults.note("spotting", error)
    except Exception as error:  # noqa: BLE001 - what was archived is not lost with what could not be spotted
        faults.note("spotting", error)
