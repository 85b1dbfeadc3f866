"""A prompt: the few memories and past exchanges that answer it, each once a session, or nothing."""

from __future__ import annotations

import os
import time

from hooks import where
from hooks.door import Answer
from tenon.base import faults, paths, settings
from tenon.base.errors import TenonError
from tenon.base.lean import sqlite
from tenon.base.text import wide_length
from tenon.recall import injection
from tenon.recall.recall import recall
from tenon.store import db, journal, places

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tenon.base.settings import Settings
    from tenon.recall.recall import Hit
    from tenon.store.db import Store

SEARCH_S = 1.0  # for all queries of a prompt together
BUSY_S = 0.15  # a prompt does not wait for another writer
WRITE_S = 0.3  # for the journal
LONGEST_CUE = 4000  # characters of a prompt that are looked up: its beginning and its end
HANDED_OVER = ("procedure",)  # kinds that have their own way into the session


def answer(event: dict[str, Any]) -> Answer | None:
    """The recall for the prompt, or None when nothing fits or the prompt is not to be looked up."""
    chosen = settings.load()
    prompt = str(event.get("prompt") or "").strip()
    if not chosen.flag("inject.prompt") or not worth_a_look(prompt, int(chosen.number("inject.min_prompt"))):
        return None
    path = paths.store_path(where.agent(chosen))
    if not os.path.exists(path) or where.is_excluded(event, chosen):
        return None
    store = _open(path)
    store.within(SEARCH_S)
    return _recalled(store, event, prompt, chosen, time.time())


def worth_a_look(prompt: str, shortest: int) -> bool:
    """Whether a prompt is a question to memory: not a slash command, not a notice of the system, and long enough."""
    if prompt.startswith(("<task-notification>", "[SYSTEM NOTIFICATION", "<system-reminder>")):
        return False
    if prompt.startswith("/"):
        name = prompt.split(None, 1)[0][1:]
        if name and "/" not in name:
            return False
    return wide_length(prompt) >= shortest


def _open(path: str) -> Store:
    try:
        return db.open_store(path, create=False, busy_s=BUSY_S)
    except TenonError:
        # Read-only disk or folder: what is remembered can still be told.
        return db.open_reader(path, busy_s=BUSY_S)


def _recalled(store: Store, event: dict[str, Any], prompt: str, chosen: Settings, now: float) -> Answer | None:
    session = where.session(event)
    repository = places.find(store, where.folder(event))
    if len(prompt) > LONGEST_CUE:
        prompt = prompt[: LONGEST_CUE // 2] + " " + prompt[-LONGEST_CUE // 2 :]
    found = recall(
        store,
        prompt,
        scope=places.scope(store, repository),
        k=int(chosen.number("inject.hits")),
        now=now,
        per_day=where.per_day(chosen),
        floor=chosen.number("recall.floor"),
        strict=True,
        archive=chosen.flag("recall.archive"),
        without=HANDED_OVER,
        not_session=session,
        seen=journal.seen(store, session),
    )
    text, placed = injection.fenced([("", [_line(hit) for hit in found.hits])], int(chosen.number("inject.max_chars")))
    if not placed:
        return None
    _record(store, session, repository, [hit for hit in found.hits if injection.names(text, hit.candidate.exchange)], found.words(), len(text), now)
    return Answer(context=text)


def _line(hit: Hit) -> str:
    candidate = hit.candidate
    if candidate.tier == "archive":
        return injection.said_line(candidate, hit.words)
    return injection.memory_line(candidate)


def _record(store: Store, session: str, repository: int | None, hits: list[Hit], words: list[str], chars: int, now: float) -> None:
    if not store.writable:
        return
    try:
        store.within(WRITE_S)
        store.execute("PRAGMA wal_autocheckpoint = 0")  # a prompt never pays for a checkpoint
        told = [(hit.candidate.exchange, hit.score, hit.parts.values()) for hit in hits]
        journal.record(store, event="prompt", session=session, repository=repository, words=words, hits=told, chars=chars, now=now)
    except sqlite.Error as error:
        faults.note("UserPromptSubmit", error, "the injection was made and not journalled")
