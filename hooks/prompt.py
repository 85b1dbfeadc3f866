"""A prompt: the few memories and past exchanges that answer it, each once a session, or nothing."""

from __future__ import annotations

import os
import time

from hooks import where
from hooks.door import Answer
from tenon.base import faults, paths, settings
from tenon.base.errors import TenonError
from tenon.base.lean import parse, sqlite
from tenon.base.text import wide_length
from tenon.recall import cue as cues
from tenon.recall import offer
from tenon.store import db, places, vectors

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tenon.base.settings import Settings
    from tenon.recall.offer import Offer
    from tenon.store.db import Store
    from tenon.store.vectors import Model

SEARCH_S = 1.0  # for all queries of a prompt together
BUSY_S = 0.15  # a prompt does not wait for another writer
WRITE_S = 0.3  # for the journal
STALE_S = 10.0  # the proxy touches its file every two seconds


def answer(event: dict[str, Any]) -> Answer | None:
    """The recall for the prompt, or None when nothing fits or the prompt is not to be looked up."""
    if not _is_unserved(time.time()):
        return _looked_up(event)
    message = str(__import__("hooks.revive", fromlist=["at_prompt"]).at_prompt())
    found = _looked_up(event)
    if message:
        found = found or Answer()
        found.message = message
    return found


def _is_unserved(now: float) -> bool:
    """Whether the proxy is used, was not given up, and shows no sign of life: a look at its files, and at its process where that can be asked."""
    home, once = paths.home(), "/agent/" in where.proxy()
    try:
        if not once:
            os.stat(os.path.join(home, "proxy-on.json"))
    except OSError:
        return False
    try:
        with open(os.path.join(home, "proxy.json"), encoding="utf-8") as file:
            if now - os.fstat(file.fileno()).st_mtime <= STALE_S:
                found = parse(file.read())
                pid = found.get("pid") if isinstance(found, dict) else None
                if os.name == "posix" and isinstance(pid, int):
                    os.kill(pid, 0)
                    return _is_zombie(pid)
                return False
    except PermissionError:
        return False
    except OSError:
        pass
    return once or not os.path.exists(os.path.join(home, "proxy-direct"))


def _is_zombie(pid: int) -> bool:
    """Whether the process has ended and nobody has taken notice, as in a container whose first process never does."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read(4096).rpartition(b")")[2].split()[:1] == [b"Z"]
    except OSError:
        return False  # a system without /proc


def _looked_up(event: dict[str, Any]) -> Answer | None:
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
    return wide_length(prompt[: shortest + 1]) >= shortest


def _open(path: str) -> Store:
    try:
        return db.open_store(path, create=False, busy_s=BUSY_S, upgrade=False)
    except TenonError:
        # Read-only disk or folder: what is remembered can still be told.
        return db.open_reader(path, busy_s=BUSY_S)


def _recalled(store: Store, event: dict[str, Any], prompt: str, chosen: Settings, now: float) -> Answer | None:
    session = where.session(event)
    repository = places.find(store, where.folder(event))
    meaning = _meaning(store, prompt, chosen)
    found = offer.look(store, prompt, session=session, repository=repository, chosen=chosen, now=now, meaning=meaning)
    if found.text or found.skipped:
        _record(store, found, session, repository, now)
    return Answer(context=found.text) if found.text else None


def _meaning(store: Store, prompt: str, chosen: Settings) -> tuple[Model, list[int]] | None:
    """The prompt's vector by Ollama, where the store has vectors of a model of its; else recall uses the built-in table by itself."""
    try:
        if not vectors.is_ready(store):
            return None
        from tenon.world import embedding

        return embedding.for_query(store, cues.ends(prompt), chosen)
    except Exception as error:  # noqa: BLE001 - whatever is wrong with another model, the built-in table and the words are not lost
        faults.note("UserPromptSubmit", error, "looked up without Ollama")
        return None


def _record(store: Store, found: Offer, session: str, repository: int | None, now: float) -> None:
    if not store.writable:
        return
    try:
        store.within(WRITE_S)
        store.execute("PRAGMA wal_autocheckpoint = 0")  # a prompt never pays for a checkpoint
        offer.record(store, found, session=session, repository=repository, now=now)
    except sqlite.Error as error:
        faults.note("UserPromptSubmit", error, "the injection was made and not journalled")
