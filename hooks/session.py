"""A session starts, goes on, is cleared or was compacted: what is known of this repository is put in front of it.

Before anything else the proxy is seen to, where it is on: the session's first request comes right after this hook.
"""

from __future__ import annotations

import os
import time

from hooks import door, where
from hooks.door import Answer
from tenon.base import faults, paths, settings
from tenon.base.errors import TenonError
from tenon.base.lean import sqlite
from tenon.digest import projects
from tenon.recall import briefing, injection
from tenon.store import conversations, db, feeds, journal, places

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from tenon.base.settings import Settings
    from tenon.store.db import Store

BUSY_MS = 800  # for each write: while another process holds the store the briefing must still be out in time
UPGRADE_S = 13.0  # for a large store of an older schema; Claude Code gives this event fifteen seconds
CATCH_UP_S = 0.35  # of leftovers of earlier sessions; the rest is read at the next start, or by `tenon import`


def answer(event: dict[str, Any]) -> Answer | None:
    """The briefing, or None when nothing is known yet; a message to the user when nothing can be remembered, or the proxy is not what it was."""
    message = _served()
    told = _informed(event)
    _directly()
    if message:
        told = told or Answer()
        told.message = f"{message} {told.message}".strip()
    return told


def _served() -> str:
    """What the user should know of the proxy, «» when it is off or well."""
    if not where.proxy() and not os.path.exists(os.path.join(paths.home(), "proxy-on.json")):
        return ""
    from hooks import revive

    return revive.at_start()


def _directly() -> None:
    """Where hooks are to start an interpreter directly, and an update has brought hooks that do not, the next session's do."""
    if not os.path.exists(os.path.join(paths.home(), "interpreter.json")):
        return
    from tenon.world import interpreter

    try:
        interpreter.renew(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    except (TenonError, OSError) as error:
        faults.note("SessionStart", error, "hooks go on starting python3 by its name")


def _informed(event: dict[str, Any]) -> Answer | None:
    chosen = settings.load()
    path = paths.store_path(where.agent(chosen))
    now = time.time()
    if where.is_excluded(event, chosen):
        if where.proxy():
            with db.open_store(path) as store:
                conversations.leave_alone(store, where.session(event), "excluded folder", now)
        return None
    if db.is_behind(path):
        door.allow(UPGRADE_S)
    try:
        store = db.open_store(path)
    except TenonError as error:
        faults.note("SessionStart", error)
        return _in_spite(path, event, chosen, error)
    with store:
        store.execute(f"PRAGMA busy_timeout = {BUSY_MS}")
        _leftovers(store, event, chosen, now)
        if event.get("source") == "compact":
            _written(lambda: journal.unsee(store, where.session(event), now), "what was shown before the compaction is not shown again")
        told = _brief(store, event, chosen, now)
        _announce(store, event, now)
        if chosen.flag("digest.auto"):
            from hooks import digesting

            digesting.see_to(store, chosen, "SessionStart", where.session(event), now)
    if chosen.doubt:
        told = told or Answer()
        told.message = f"Tenon keeps nothing of this session while its settings are in doubt: {chosen.doubt}. `tenon config` shows them."
    return told


def _announce(store: Store, event: dict[str, Any], now: float) -> None:
    """Tells the proxy, where Claude Code talks through one, that hooks see to this session, and which folder it is in."""
    if not where.proxy():
        return

    def write() -> None:
        repository = places.settle(store, where.folder(event), now)
        conversations.announce(store, where.session(event), folder=where.folder(event), repository=repository, now=now)

    _written(write, "the proxy was not told of this session")


def _leftovers(store: Store, event: dict[str, Any], chosen: Settings, now: float) -> None:
    transcript = str(event.get("transcript_path") or "")
    if not transcript or not chosen.flag("archive.enabled"):
        return
    folder = os.path.dirname(transcript)
    _written(lambda: feeds.claim(store, os.path.realpath(transcript), now), "the transcript is not known as this agent's yet")
    try:
        if projects.grown(store, folder, (transcript,)):
            from tenon.digest import capture

            capture.catch_up(store, folder, now=now, budget_s=CATCH_UP_S, skip=(transcript,))
    except Exception as error:  # noqa: BLE001 - what an earlier session left must not cost this one its briefing
        faults.note("SessionStart", error, "leftovers of earlier sessions")


def _brief(store: Store, event: dict[str, Any], chosen: Settings, now: float) -> Answer | None:
    if not chosen.flag("inject.session"):
        return None
    session = where.session(event)
    repository = _repository(store, where.folder(event), now)
    sections, refs = briefing.sections(store, repository, session=session, now=now, per_day=chosen.per_day())
    text, placed = injection.fenced(sections, int(chosen.number("inject.max_chars")))
    if not placed:
        return None
    if store.writable:
        told = [(ref, 0.0, ()) for ref in refs if injection.names(text, ref)]
        missed = [(ref, 0.0, (), "c") for ref in refs if not injection.names(text, ref)]
        words, chars = _named(sections), len(text)

        def write() -> None:
            journal.record(
                store, event="session", session=session, repository=repository, words=words, hits=told, chars=chars, now=now, skipped=missed
            )  # fmt: skip

        _written(write, "the briefing was given and not journalled")
    return Answer(context=text)


def _named(sections: list[tuple[str, list[str]]]) -> list[str]:
    """The sections of a briefing as the journal has them: a word each."""
    return [heading.lstrip("# ").split(":")[0].replace(" ", "_").lower() for heading, _ in sections]


def _repository(store: Store, folder: str, now: float) -> int | None:
    known = _written(lambda: places.settle(store, folder, now), "the folder is not known yet") if store.writable else None
    return places.find(store, folder) if known is None else known


def _written(write: Callable[[], int | None], otherwise: str) -> int | None:
    try:
        return write()
    except sqlite.Error as error:
        faults.note("SessionStart", error, otherwise)
        return None


def _in_spite(path: str, event: dict[str, Any], chosen: Settings, error: TenonError) -> Answer:
    # Said once a session, here: the events that follow stay silent about it.
    told = Answer(message=f"Tenon cannot remember this session: {error}. `tenon doctor` says more.")
    try:
        with db.open_reader(path) as store:
            brief = _brief(store, event, chosen, time.time())
            told.context = brief.context if brief else ""
    except TenonError:
        pass
    return told
