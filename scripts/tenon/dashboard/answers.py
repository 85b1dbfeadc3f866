"""What an address of the dashboard is answered: the frame of a page, its data, a file, or a sentence. A GET changes nothing.

`Dashboard.answer` knows no socket; the proxy's handler and the dashboard's own server call it.
"""

from __future__ import annotations

import os
import threading
import time
from contextlib import contextmanager
from urllib.parse import unquote_to_bytes

import tenon
from tenon.base import faults, paths, settings
from tenon.base.errors import TenonError
from tenon.base.lean import parse, sqlite
from tenon.dashboard import changes, door, files, message
from tenon.dashboard.message import PREFIX, Answer
from tenon.dashboard.place import Missing, Place, Query, Wrong
from tenon.store import db, places

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from tenon.dashboard.door import Door
    from tenon.dashboard.message import Request
    from tenon.store.db import Store

PAGES = ("memories", "identity", "history", "digests", "selector", "health")
LIMIT_S = 5.0  # for what a page asks of the store
AT_ONCE = 2  # answers that are worked on at the same time: behind the proxy's port, what it relays stays quick
LONGEST_BODY = 1_000_000  # bytes of a change
TOO_LARGE = "That is more than a change can say; at most 1 MB."
KEPT = "~"  # behind a name that a browser or this server would take for something else: «.», «..», one that ends in «.json» or in «~»
EMPTY = "Nothing is remembered yet; the first session of Claude Code, or `tenon write`, begins the memory."
NOTHING = "There is nothing at this address."
BUSY = "The dashboard works on other questions at the moment; ask again in a few seconds."
FAULT = "A fault of Tenon's own kept it from answering; `tenon doctor` shows the fault."


class Declined(Exception):
    """A request that is answered with a status and a sentence."""

    def __init__(self, status: int, sentence: str, *headers: tuple[str, str]) -> None:
        super().__init__(sentence)
        self.status = status
        self.headers = headers


class Dashboard:
    """The dashboard behind a door; `agent` gives the agent that is shown first. `token` is what a change must bear, «» where nothing may be changed."""

    def __init__(self, entrance: Door, agent: Callable[[], str], *, allow_edit: bool = False) -> None:
        self.door = entrance
        self.agent = agent
        self.token = os.urandom(door.SECRET_BYTES).hex() if allow_edit else ""
        self.files = files.read()
        self.changing = threading.Lock()  # held while something is changed
        self._working = threading.Semaphore(AT_ONCE)

    def link(self, agent: str = "") -> str:
        """An address that opens the dashboard once, at that agent's memories."""
        return f"http://127.0.0.1:{self.door.port}{PREFIX}?token={self.door.link()}" + (f"&agent={agent}" if agent else "")

    def answer(self, request: Request) -> Answer:
        """What the request is answered, with the headers that every answer has. Never raises."""
        try:
            found = self._answered(request)
        except Declined as declined:
            found = message.said(request, declined.status, str(declined))
            found.headers += declined.headers
        except Wrong as error:
            found = message.said(request, 400, str(error))
        except Missing as error:
            found = message.said(request, 404, str(error))
        except Exception as error:  # noqa: BLE001 - the one broad catch of this door
            faults.note("dashboard", faults.silent(error))
            found = message.said(request, 500, FAULT)
        found.headers += door.HEADERS
        if not found.value("cache-control"):
            found.headers.append(("Cache-Control", "no-store"))
        return found

    def _answered(self, request: Request) -> Answer:
        refusal = self.door.refusal(request)
        if refusal:
            raise Declined(403, refusal)
        query = Query(request.query) if request.path == PREFIX else None
        if query is not None and query.text("token") and request.method in ("GET", "HEAD"):
            return self._entered(request, query)
        if not self.door.is_open(request):
            raise Declined(401, door.CLOSED)
        parts = split(request.path)
        if request.method == "POST":
            return self._changed(request, parts)
        if request.method not in ("GET", "HEAD"):
            raise Declined(405, "The dashboard is read; there is GET and HEAD.", ("Allow", "GET, HEAD"))
        if not parts:
            return self._home(query)
        if parts[0] == "static" and len(parts) == 2 and parts[1] in self.files:
            return self.files[parts[1]].answer(request).packed(request)
        return self._shown(request, parts)

    def _entered(self, request: Request, query: Query) -> Answer:
        """In, by a link; whoever is in already may come by a used one."""
        if door.is_ahead(request):
            raise Declined(503, "This link opens the dashboard once it is followed.")
        cookie = self.door.enter(query.text("token"))
        if not cookie and not self.door.is_open(request):
            raise Declined(401, door.USED)
        found = self._home(query)
        if cookie:
            found.headers.append(("Set-Cookie", cookie))
        return found

    def _home(self, query: Query | None) -> Answer:
        named = query.text("agent") if query is not None else ""
        known = self._agents()
        agent = named if named in known else self.agent() or (known or ["default"])[0]
        return message.elsewhere(f"{PREFIX}{agent}/{PAGES[0]}")

    def _agents(self) -> list[str]:
        """The agents that can be looked at: those with a store, and the one that is shown first."""
        return sorted({*paths.agents(), *filter(None, [self.agent()])})

    def _shown(self, request: Request, parts: list[str]) -> Answer:
        """A page's frame or its data."""
        agent, rest = parts[0], parts[1:]
        if agent not in self._agents() or not 1 <= len(rest) <= 2:
            raise Missing(NOTHING)
        if request.wants_data:
            rest[-1] = rest[-1][: -len(".json")]
        page, name = rest[0], _name(rest[1]) if len(rest) == 2 else None
        if request.wants_data and rest == ["about"]:
            with self._turn():
                return message.data(self._about(agent, Query(request.query)))
        if request.wants_data and rest == ["change"]:
            raise Declined(405, "A change is a POST.", ("Allow", "POST"))
        if page not in PAGES or name == "":
            raise Missing(NOTHING)
        if request.wants_data:
            with self._turn():
                return message.data(self._data(agent, page, name, Query(request.query))).packed(request)
        return self.files[files.SHELL].answer(request).packed(request)

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """Waits for its turn to work on an answer. Raises Declined when that does not come."""
        if not self._working.acquire(timeout=LIMIT_S):
            raise Declined(503, BUSY)
        try:
            yield
        finally:
            self._working.release()

    def _data(self, agent: str, page: str, name: str | None, query: Query) -> dict[str, Any]:
        """The data of a page, or of one thing of it."""
        path = paths.store_path(agent)
        if not _exists(path):
            if name is not None:
                raise Missing(EMPTY)
            return {"empty": EMPTY}
        # Imported when it is asked for: a page that cannot be had does not take the others along.
        module: Any = __import__(f"tenon.dashboard.{page}", fromlist=["page"])
        with _reading(path, 400 if name is None else 404) as store:
            here = Place(store, settings.load(), agent, allow_edit=bool(self.token))
            found: dict[str, Any] = module.page(here, query) if name is None else module.one(here, name, query)
            return found

    def _about(self, agent: str, query: Query) -> dict[str, Any]:
        """What every page wants to know."""
        query.done()
        path, keys = paths.store_path(agent), []
        if _exists(path):
            with _reading(path, 400) as store:
                keys = places.keys(store)
        told = {
            "agent": agent, "agents": self._agents(), "version": tenon.__version__, "allow_edit": bool(self.token),
            "repositories": [{"key": key, "name": name} for key, name in named(keys)],
        }  # fmt: skip
        return {**told, "change_token": self.token} if self.token else told

    def _changed(self, request: Request, parts: list[str]) -> Answer:
        """What a change has done."""
        if len(parts) != 2 or parts[1] != "change.json":
            raise Declined(405, "Only a change is a POST.", ("Allow", "GET, HEAD"))
        if not self.token:
            raise Declined(403, "This dashboard only shows. `tenon dashboard --allow-edit` starts one that lets you change things.")
        if not door.is_same(request.header("x-tenon-token"), self.token):
            raise Declined(403, "A change bears the token of this dashboard; load the page again.")
        if parts[0] not in self._agents():
            raise Missing(NOTHING)
        if request.header("content-type") != "application/json":
            raise Declined(415, "A change is JSON, sent as application/json.")
        if len(request.body) > LONGEST_BODY:
            raise Declined(413, TOO_LARGE)
        try:
            given = parse(request.body.decode("utf-8"), whole=True)
        except UnicodeDecodeError:
            given = None
        if not isinstance(given, dict):
            raise Wrong("A change is one JSON object.")
        path = paths.store_path(parts[0])
        if not _exists(path):
            raise Missing(EMPTY)
        with self.changing, _troubles(path, 400):
            try:
                store = db.open_store(path, create=False, busy_s=LIMIT_S)
            except TenonError as error:
                raise Declined(503, without_paths(str(error), path)) from error
            with store:
                return message.data(changes.change(store, given, time.time()))


def split(path: str) -> list[str]:
    """The parts of an address behind the prefix, unquoted. Raises Missing for one that could mean another place than it says.

    The third is the name of something in the store, and no path is made of it: it may have any letters.
    """
    if path.rstrip("/") == PREFIX.rstrip("/"):
        return []
    found: list[str] = []
    for part in path[len(PREFIX) :].split("/") if path.startswith(PREFIX) else [""]:
        try:
            plain = unquote_to_bytes(part).decode("utf-8")
        except UnicodeDecodeError:
            plain = ""
        strict = len(found) != 2
        if plain in ("", ".", "..") or (strict and any(letter in "/\\" or ord(letter) < 32 or ord(letter) == 127 for letter in plain)):
            raise Missing(NOTHING)
        found.append(plain)
    return found


def _name(part: str) -> str:
    """The name of one thing of a page, as the last part of an address spells it: without the «~» that keeps it from meaning something else."""
    return part[: -len(KEPT)] if part.endswith(KEPT) and part != KEPT else part


def named(keys: list[str]) -> list[tuple[str, str]]:
    """Each repository's key with a short name: its last part, and as many of those before as tell it from the others."""
    cut = {key: [part for part in key.replace("\\", "/").split("/") if part] or [key] for key in keys}
    lengths, ends = dict.fromkeys(cut, 0), dict.fromkeys(cut, 0)
    numbers: dict[tuple[int, str], int] = {}  # of each ending: the ending that is one part shorter, and that part
    waiting = list(cut)
    while waiting:
        shared: dict[int, list[str]] = {}
        for key in waiting:
            lengths[key] += 1
            ends[key] = numbers.setdefault((ends[key], cut[key][-lengths[key]]), len(numbers) + 1)
            shared.setdefault(ends[key], []).append(key)
        waiting = [key for alike in shared.values() if len(alike) > 1 for key in alike if lengths[key] < len(cut[key])]
    return [(key, "/".join(own[-lengths[key] :])) for key, own in cut.items()]


def without_paths(sentence: str, path: str) -> str:
    """The sentence without the folders of this machine."""
    return sentence.replace(path, "the memory").replace(paths.agent_folder(""), "the agents' folder").replace(paths.home(), "Tenon's home")


def _exists(path: str) -> bool:
    try:
        return db.exists(path)
    except TenonError as error:
        raise Declined(503, without_paths(str(error), path)) from error


@contextmanager
def _reading(path: str, status: int) -> Iterator[Store]:
    """The store for reading, for so long and no longer. Raises Declined."""
    try:
        store = db.open_reader(path)
    except TenonError as error:
        raise Declined(503, without_paths(str(error), path)) from error
    with store, _troubles(path, status):
        store.within(LIMIT_S)
        yield store


@contextmanager
def _troubles(path: str, status: int) -> Iterator[None]:
    """Turns what is the user's to put right into a sentence, of that status where it is about what was asked. Raises Declined."""
    try:
        yield
    except TenonError as error:
        raise Declined(status, without_paths(str(error), path)) from error
    except sqlite.Error as error:
        if "interrupted" in str(error):
            raise Declined(503, f"The memory took more than {LIMIT_S:g} seconds to answer, so the question was given up; ask for less.") from error
        told = db.explain(path, error)
        if told.startswith(path + ":"):
            raise  # a fault of ours
        raise Declined(503, without_paths(told, path)) from error
