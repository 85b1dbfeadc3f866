"""What the verbs share: the open store, the settings, whose memory, which repository, and the time."""

from __future__ import annotations

import os
import time

from tenon.base import paths, settings
from tenon.base.errors import TenonError
from tenon.store import db, places

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from types import TracebackType

    from tenon.base.settings import Settings
    from tenon.store.db import Store

DAY_S = 86400.0


class Context:
    """An open store and where in it a verb works. `scope` holds repository numbers; None is everywhere."""

    __slots__ = ("store", "settings", "agent", "folder", "repository", "scope", "per_day", "now")

    def __init__(self, store: Store, chosen: Settings, agent: str, folder: str, repository: int | None, everywhere: bool, now: float) -> None:
        self.store = store
        self.settings = chosen
        self.agent = agent
        self.folder = folder
        self.repository = repository
        self.scope = None if everywhere else places.scope(store, repository)
        self.per_day = chosen.per_day()
        self.now = now

    @property
    def excluded(self) -> bool:
        """Whether the sessions of the folder are neither kept nor recalled (archive.exclude)."""
        return paths.lies_in(self.folder, self.settings.names("archive.exclude"))

    def __enter__(self) -> Context:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.store.close()


def arguments(parser: argparse.ArgumentParser, *, everywhere: bool = False) -> None:
    """Adds the arguments that say where a verb works."""
    parser.add_argument("--repo", metavar="FOLDER", default="", help="a folder of the repository meant, or its key (else the folder you are in)")
    if everywhere:
        parser.add_argument("--everywhere", action="store_true", help="all repositories, not this one alone")


def agent(options: argparse.Namespace, chosen: Settings | None = None) -> str:
    """The agent that a command line means. Raises TenonError for a name that is none."""
    return paths.agent_name(options.agent or (chosen or settings.load()).text("agent"))


def exists(options: argparse.Namespace) -> bool:
    """Whether the agent has a store yet; reading an agent without one finds nothing and is no fault.

    Raises TenonError when that cannot be seen, which is another thing.
    """
    return db.exists(paths.store_path(agent(options)))


def others(options: argparse.Namespace) -> str:
    """What to add where the agent that is meant has no memory, «» when no agent has one: the name may be mistyped."""
    there = paths.agents()
    return f" There is no agent {agent(options)}; the agents that have a memory: {', '.join(there)}." if there else ""


def begun(options: argparse.Namespace) -> str:
    """What a verb says that is about to begin an agent's memory, «» where there is one, and for the first that there is."""
    name, there = agent(options), paths.agents()
    if exists(options) or (name == "default" and not there):
        return ""
    return f"This begins the memory of a new agent, {name}" + (f"; there are {', '.join(there)}." if there else ".")


def reading(options: argparse.Namespace, *, journal: bool = False) -> Context:
    """The context of a verb that reads. Raises TenonError when there is no store yet.

    With `journal` the store is opened for writing where that can be done, so that the reading can be noted.
    """
    chosen = settings.load()
    name = agent(options, chosen)
    path = paths.store_path(name)
    if journal:
        try:
            store = db.open_store(path, create=False)
        except TenonError:
            store = db.open_reader(path)  # a read-only disk: what is remembered can still be told
    elif others(options) and not db.exists(path):
        raise TenonError(f"nothing is remembered yet.{others(options)[:-1]}")
    else:
        store = db.open_reader(path)
    return _context(store, options, chosen, name, settle=False)


def writing(options: argparse.Namespace, *, create: bool = True) -> Context:
    """The context of a verb that writes; with `create` a missing store, and a repository seen for the first time, are made."""
    chosen = settings.load()
    name = agent(options, chosen)
    return _context(db.open_store(paths.store_path(name), create=create), options, chosen, name, settle=create)


def on(store: Store, options: argparse.Namespace, *, settle: bool) -> Context:
    """The context of a verb that works on a store which is open already; with `settle` the folder's repository is made when it is not known."""
    chosen = settings.load()
    return _context(store, options, chosen, agent(options, chosen), settle=settle)


def own_terminal(what: str) -> None:
    """Raises TenonError in a shell of Claude Code's, where a model could agree in the user's place."""
    if os.environ.get("CLAUDECODE"):
        raise TenonError(f"{what}, so it is for you to say: type this in a terminal of your own, outside Claude Code")


def date(at: float) -> str:
    """A time as people read it, local, 2026-11-28 09:30."""
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(at))


def iso(at: float) -> str:
    """A time as programs read it, UTC, 2026-11-28T08:30:00Z."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(at))


def ago(seconds: float) -> str:
    """How long ago something was: «just now», «5 minutes ago», «3 days ago»."""
    for size, unit in ((DAY_S, "day"), (3600.0, "hour"), (60.0, "minute")):
        if seconds >= size:
            count = int(seconds // size)
            return f"{counted(count, unit)} ago"
    return "just now"


def counted(count: int, one: str, many: str = "") -> str:
    """A number with its noun: «1 session», «2 sessions», «3 repositories»."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def size(number_bytes: int) -> str:
    """A size as people read it: 12 KB, 3.4 MB, 21.5 GB."""
    if number_bytes < 1_000_000:
        return f"{(number_bytes + 999) // 1000} KB"
    if number_bytes >= 1_000_000_000:
        return f"{number_bytes / 1e9:,.1f} GB"
    return f"{number_bytes / 1e6:,.1f} MB"


def _context(store: Store, options: argparse.Namespace, chosen: Settings, name: str, *, settle: bool) -> Context:
    now = time.time()
    given = getattr(options, "repo", "")
    folder = os.path.abspath(os.path.expanduser(given)) if given else os.getcwd()
    try:
        repository: int | None
        if given and not os.path.isdir(folder):
            # A key, or a folder that is gone.
            repository = places.canonical(store, places.by_key(store, folder if os.path.isabs(os.path.expanduser(given)) else given))
        elif settle:
            repository = places.settle(store, folder, now)
        else:
            repository = places.find(store, folder)
        return Context(store, chosen, name, folder, repository, getattr(options, "everywhere", False), now)
    except BaseException:
        store.close()
        raise
