"""What doctor looks at, gathered in one place and judged in another; gathering changes nothing and never raises."""

from __future__ import annotations

import json
import os
import shutil
import sys
from dataclasses import dataclass, field

from tenon import __version__
from tenon.base import faults, paths, settings
from tenon.base.errors import TenonError
from tenon.base.lean import sqlite
from tenon.base.repository import identify
from tenon.cli import embed, meter, rescuing, standing
from tenon.cli.importing import planned
from tenon.digest import projects
from tenon.store import backup, cleaning, db, feeds, figures, health, migrate, places
from tenon.world import base_url, claude_settings, interpreter, launcher, leavings, machine, modes, record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from tenon.store.db import Store
    from tenon.world.machine import Machine
    from tenon.world.python import Found, Probe

DAY_S = 86400.0
WEEK_S = 7 * DAY_S
SAMPLE = 1000
SAMPLE_S = 1.0
CHECK_S = 60.0  # for all that is asked of the store; a check that takes longer is named as not finished
KEPT_DAYS = 30  # Claude Code's own default


@dataclass
class Faults:
    """Faults of one kind in the last week."""

    door: str
    error: str
    said: str
    count: int
    newest: float


@dataclass
class Changed:
    """Turns of one session that are not as they were written, and Claude Code's own transcript of it, «» when that is gone."""

    session: str
    turns: list[int]
    transcript: str


@dataclass
class Stored:
    """The store as far as it can be opened; `problem` says why it cannot. `empty` is a file with nothing in it, and no store yet."""

    path: str
    exists: bool = False
    empty: bool = False
    aside: str = ""  # one that a restore has put aside, when there is none
    problem: str = ""
    size: int = 0
    log_size: int = 0
    schema: int = 0
    newest_schema: int = migrate.NEWEST
    damaged: list[str] = field(default_factory=list)
    way_back: str = ""  # of a damaged one: the backup
    indexes: dict[str, str] = field(default_factory=dict)
    chain_checked: int = 0
    chain_wrong: list[int] = field(default_factory=list)
    chain_unlinked: int = 0
    vectors: health.Vectors | None = None
    changed: list[Changed] = field(default_factory=list)
    pragmas: dict[str, str] = field(default_factory=dict)
    unfinished: str = ""
    read_only: str = ""
    seen: dict[str, float] = field(default_factory=dict)
    unclean: bool = False  # what was deleted may be in the file still
    backups: tuple[int, float] = (0, 0.0)  # how many, and when the newest was made
    left_out: list[tuple[str, int]] = field(default_factory=list)
    read_key: str = ""
    write_key: str = ""


@dataclass
class Waiting:
    """Transcripts that are not in the archive: how many, of how many, and the days until Claude Code deletes the first (None: never)."""

    files: int = 0
    all_files: int = 0
    size: int = 0
    first_loss_days: float | None = None
    kept_days: int = KEPT_DAYS
    newest: float = 0.0


@dataclass
class ClaudeCode:
    """What Claude Code's own files say of the plugin."""

    there: bool = False
    settings_path: str = ""
    settings_problem: str = ""
    enabled: dict[str, bool] = field(default_factory=dict)
    copies: list[str] = field(default_factory=list)
    skills_copy: bool = False
    hooks_off: bool = False
    auto_memory: bool = True
    manifest_problem: str = ""
    installed: list[str] = field(default_factory=list)  # what install wrote and is not there any more


@dataclass
class Facts:
    """Everything that doctor judges."""

    now: float
    version: str
    python: str
    python_file: str
    sqlite_version: str
    fts5: bool
    trigram: bool
    home: str
    home_problem: str
    exposed: list[str]
    free_bytes: int
    store: Stored
    faults: list[Faults]
    waiting: Waiting
    settings_problem: str
    claude: ClaudeCode
    python3: Found
    off: bool
    closed: list[str] = field(default_factory=list)  # what is the user's own and shut to them
    left: list[str] = field(default_factory=list)  # by writers that were ended in the middle
    excluded: str = ""  # the folder, when archive.exclude names it or one above
    proxy: standing.Standing | None = None
    embedding: embed.State | None = None
    digest: meter.Meter | None = None
    interpreter: list[interpreter.Finding] = field(default_factory=list)


def gather(
    here: Machine, agent: str, folder: str, now: float, probe: Probe, *, deep: bool = False, on_turn: Callable[[int, int], object] | None = None
) -> Facts:
    """The facts of this machine, for an agent and a folder. With `deep` the whole chain is checked; `on_turn` is told how far that is."""
    library = health.library()
    chosen, problem = _claude_settings(here)
    stored = store_facts(paths.store_path(agent), folder, now, deep=deep, on_turn=on_turn)
    settled = settings.load()
    return Facts(
        now=now,
        version=__version__,
        python=".".join(map(str, sys.version_info[:3])),
        python_file=sys.executable,
        sqlite_version=library.version,
        fts5=library.fts5,
        trigram=library.trigram,
        home=here.tenon_home,
        home_problem=_home_problem(here.tenon_home),
        exposed=modes.exposed(here.tenon_home),
        free_bytes=_free(here.tenon_home),
        store=stored,
        faults=recent_faults(now),
        waiting=_waiting(here, stored, chosen, now),
        settings_problem=settled.problem,
        claude=_claude_code(here, chosen, problem),
        python3=probe(["python3"]),
        off=bool(os.environ.get("TENON_DISABLE")),
        closed=modes.closed(here.tenon_home),
        left=leavings.found(here.tenon_home, [here.settings]),
        excluded=folder if paths.lies_in(folder, settled.names("archive.exclude")) else "",
        proxy=standing.look(here, agent),
        embedding=embed.look(stored.path, settled, now) if not stored.damaged else None,
        digest=meter.at(stored.path, settled, now) if stored.exists and not stored.damaged else None,
        interpreter=[*interpreter.findings(here), *interpreter.apart(here)],
    )


def store_facts(path: str, folder: str, now: float, *, deep: bool, on_turn: Callable[[int, int], object] | None = None) -> Stored:
    """What can be said of the store at the path."""
    found = Stored(path)
    try:
        found.exists = db.exists(path)
    except TenonError as error:
        found.exists, found.problem = True, str(error)
        return found
    if not found.exists:
        found.empty, found.aside = os.path.exists(path), "".join(backup.aside(path)[-1:])
        return found
    found.size, found.log_size = _size(path), _size(path + "-wal")
    try:
        with db.open_reader(path) as store:
            store.within(CHECK_S)
            store.leniently()
            found.schema = migrate.NEWEST
            _read(store, found, on_turn, deep=deep)
    except TenonError as error:
        found.problem = str(error)
        found.way_back = rescuing.way_back(path) if "is damaged" in found.problem else ""
        return found
    except sqlite.Error as error:
        _troubled(found, error)
    if found.damaged:
        found.way_back = rescuing.way_back(path)
    else:
        _write(found, folder, now)
    return found


def recent_faults(now: float) -> list[Faults]:
    """The faults of the last seven days by what went wrong where, the newest kind first."""
    found: dict[tuple[str, str, str], Faults] = {}
    for fault in faults.recent(2000):
        at = fault.get("at")
        if not isinstance(at, (int, float)) or now - at > WEEK_S:
            continue
        key = (str(fault.get("door")), str(fault.get("error")), str(fault.get("place")))
        kind = found.setdefault(key, Faults(key[0], key[1], str(fault.get("said")), 0, float(at)))
        kind.count += 1
        kind.newest = max(kind.newest, float(at))
    return sorted(found.values(), key=lambda kind: -kind.newest)


def _read(store: Store, found: Stored, on_turn: Callable[[int, int], object] | None, *, deep: bool) -> None:
    found.damaged = health.damaged_pages(store)
    if found.damaged and "interrupted" in found.damaged[0]:
        found.damaged, found.unfinished = [], "the check of the pages"
    if found.damaged:
        return
    found.seen = figures.latest(store)
    found.left_out = feeds.left_out(store)
    found.unclean, found.backups = cleaning.is_due(store), backup.standing(store)
    chain = health.check_chain(store, None if deep else SAMPLE, SAMPLE_S, on_turn)
    found.chain_checked, found.chain_wrong, found.chain_unlinked = chain.checked, sorted(chain.wrong), len(chain.unlinked)
    if chain.wrong:
        kept = {projects.session_of(path): path for path in reversed(health.transcripts(store)) if not projects.thread_of(path) and os.path.exists(path)}
        found.changed = [Changed(name, turns, kept.get(name, "")) for name, turns in health.sessions_of(store, chain.wrong).items()]
    found.vectors = health.check_vectors(store)


def _write(found: Stored, folder: str, now: float) -> None:
    """What only a writer can see; it waits for nobody and leaves nothing behind."""
    if not os.access(found.path, os.W_OK):
        found.read_only = f"{found.path} may only be read"
        return
    try:
        with db.open_store(found.path, create=False, busy_s=1.0) as store:
            store.within(CHECK_S)
            found.pragmas = health.odd_pragmas(store)
            found.indexes = health.damaged_indexes(store)
            found.read_key, found.write_key = _keys(store, folder, now)
    except TenonError as error:
        found.read_only = str(error)
    except sqlite.Error as error:
        _troubled(found, error)


def _keys(store: Store, folder: str, now: float) -> tuple[str, str]:
    """Under which key a hook would look up the folder, and under which it would keep something."""
    read = places.find(store, folder)
    store.execute("BEGIN IMMEDIATE")
    try:
        written = places.key(store, places.settle(store, folder, now))
    finally:
        store.execute("ROLLBACK")
    return places.key(store, read) if read is not None else identify(folder).key, written


def _troubled(found: Stored, error: sqlite.Error) -> None:
    if "interrupted" in str(error):
        found.unfinished = "a check"
    elif "readonly" in str(error) or "unable to open" in str(error):
        found.read_only = db.explain(found.path, error)
    elif not any(word in str(error) for word in db.BUSY):
        found.damaged.append(str(error))


def _home_problem(home: str) -> str:
    if not os.path.isdir(home):
        above = home
        while not os.path.exists(above):
            above = os.path.dirname(above)
        return "" if os.access(above, os.W_OK) else f"{home} cannot be made: {above} cannot be written"
    return "" if os.access(home, os.W_OK | os.X_OK) else f"{home} cannot be written"


def _free(home: str) -> int:
    while not os.path.exists(home):
        home = os.path.dirname(home)
    try:
        return shutil.disk_usage(home).free
    except OSError:
        return 0


def _size(path: str) -> int:
    try:
        return os.path.getsize(path)
    except OSError:
        return 0


def _claude_settings(here: Machine) -> tuple[dict[str, Any], str]:
    try:
        return claude_settings.read(here.settings), ""
    except TenonError as error:
        return {}, str(error)


def _waiting(here: Machine, stored: Stored, chosen: dict[str, Any], now: float) -> Waiting:
    days = chosen.get("cleanupPeriodDays")
    found = Waiting(kept_days=int(days) if isinstance(days, (int, float)) and not isinstance(days, bool) else KEPT_DAYS)
    changed: list[float] = []
    if stored.exists and not stored.problem and not stored.damaged:
        try:
            with db.open_reader(stored.path) as store:
                plan = planned(store, here.claude_home, now)
        except (TenonError, sqlite.Error):
            return found
        found.files, found.all_files, found.size = len(plan.files), len(plan.files) + plan.already, plan.size_bytes
        changed = [file.changed for file in plan.files]
    elif not stored.exists and not stored.problem:
        for path in _transcripts(here.claude_home):
            status = os.stat(path)
            found.files, found.all_files, found.size = found.files + 1, found.all_files + 1, found.size + status.st_size
            changed.append(status.st_mtime)
    if changed:
        found.newest = max(changed)
        found.first_loss_days = found.kept_days - (now - min(changed)) / DAY_S
    return found


def _transcripts(claude_home: str) -> list[str]:
    found: list[str] = []
    projects = os.path.join(claude_home, "projects")
    for project in os.listdir(projects) if os.path.isdir(projects) else []:
        folder = os.path.join(projects, project)
        if os.path.isdir(folder):
            found += [os.path.join(folder, name) for name in os.listdir(folder) if name.endswith(".jsonl")]
    return found


def _claude_code(here: Machine, chosen: dict[str, Any], problem: str) -> ClaudeCode:
    auto = chosen.get("autoMemoryEnabled") is not False and os.environ.get("CLAUDE_CODE_DISABLE_AUTO_MEMORY") not in ("1", "true")
    return ClaudeCode(
        there=os.path.isdir(here.claude_home),
        settings_path=here.settings,
        settings_problem=problem,
        enabled=machine.enabled(chosen),
        copies=[f"{copy.name} {copy.version}" for copy in machine.copies(here) if not copy.orphaned],
        skills_copy=os.path.isfile(os.path.join(here.skills_copy, ".claude-plugin", "plugin.json")),
        hooks_off=chosen.get("disableAllHooks") is True,
        auto_memory=auto,
        manifest_problem=_manifest_problem(here.root),
        installed=_missing(here, chosen),
    )


def _manifest_problem(root: str) -> str:
    try:
        with open(os.path.join(root, ".claude-plugin", "plugin.json"), encoding="utf-8") as file:
            known = json.load(file)["version"]
        for name in ("hooks/hooks.json", "hooks/hook.py", "mcp_server/__main__.py", ".mcp.json"):
            if not os.path.isfile(os.path.join(root, name)):
                return f"{os.path.join(root, name)} is missing"
    except (OSError, ValueError, KeyError, TypeError) as error:
        return f"the plugin in {root} has no manifest that can be read ({type(error).__name__})"
    return "" if known == __version__ else f"the manifest in {root} is of version {known}, the library of {__version__}"


def _missing(here: Machine, chosen: dict[str, Any]) -> list[str]:
    """What `tenon install` wrote and somebody has taken away."""
    if os.path.isdir(here.tenon_home) and not os.access(here.tenon_home, os.R_OK | os.X_OK):
        return []  # that the home is closed is said elsewhere
    try:
        kept = record.load(here.tenon_home)
    except TenonError as error:
        return [str(error)]
    gone = [link for link in kept.links if not os.path.lexists(link)]
    edits = [edit for edit in kept.edits if not base_url.is_ours(edit)]  # those of the proxy are looked at with it
    if (kept.links or edits) and not launcher.is_current(here):
        gone.append(here.launcher)
    for edit in edits:
        value: object = chosen
        for key in edit.keys:
            value = value.get(key) if isinstance(value, dict) else None
        if value is None or (edit.listed and isinstance(value, list) and edit.value not in value):
            gone.append(f"{'.'.join(edit.keys)} in {edit.path}")
    return list(dict.fromkeys(gone))
