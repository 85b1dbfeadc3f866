"""Copies of a store, taken while others write in it, checked, named after agent and time; and one of them put back.

A copy is one file without a log beside it, so it can be moved and kept anywhere. It holds what was remembered at that moment,
also what is forgotten later.
"""

from __future__ import annotations

import os
import re
import time

from tenon.base import paths
from tenon.base.errors import TenonError
from tenon.base.lean import parse, sqlite
from tenon.store import db, migrate, notes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from tenon.store.db import Store

STEP = 1024  # pages between two words of progress
MADE = "backups"  # the note of where they were put
NAMED = re.compile(r"tenon-(?P<agent>[a-z0-9][a-z0-9_-]*)-(?P<stamp>\d{8}-\d{6})(?:-\d+)?\.db")
HEAD = b"SQLite format 3\0"
BUSY_S = 2.0

ANY = "SELECT count(*) FROM sqlite_master"
PAGES = "PRAGMA quick_check(3)"
VERSION = "PRAGMA user_version"
COUNTS = "SELECT (SELECT count(*) FROM memory), (SELECT count(*) FROM turn), (SELECT count(*) FROM session)"


class Copy:
    """A copy of a store: where it is, its size in bytes, and how many memories, turns and sessions it holds."""

    __slots__ = ("path", "size", "memories", "turns", "sessions")

    def __init__(self, path: str, counts: tuple[int, int, int]) -> None:
        self.path = path
        self.size = os.path.getsize(path)
        self.memories, self.turns, self.sessions = counts


def folder(agent: str) -> str:
    """Where an agent's backups lie unless another place is named: with its store, so that deleting the agent takes them along."""
    return os.path.join(paths.agent_folder(agent), "backups")


def name(agent: str, now: float) -> str:
    """The file name of a backup of that time, local."""
    return f"tenon-{agent}-{time.strftime('%Y%m%d-%H%M%S', time.localtime(now))}.db"


def free(wanted: str) -> str:
    """The path, or the first one like it at which nothing is."""
    stem, ending = os.path.splitext(wanted)
    path, number = wanted, 2
    while os.path.lexists(path):
        path, number = f"{stem}-{number}{ending}", number + 1
    return path


def copy(store: Store, path: str, progress: Callable[[int, int], None] | None = None) -> Copy:
    """A whole and checked copy of the store at the path, for its owner only; it is there when it is whole and not before.

    `progress` is told pages done and pages in all. Raises TenonError when it cannot be written or is not whole; then nothing is left there.
    """
    fresh = f"{path}.{os.getpid()}.new"
    try:
        os.close(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        _copied(store, fresh, progress)
        found = inspected(fresh)
        os.replace(fresh, path)
    except sqlite.Error as error:
        raise TenonError(f"{path} cannot be written ({error}); free some space or choose another place. Nothing was left there") from error
    except OSError as error:
        raise TenonError(f"{path} cannot be written ({error.strerror}); free some space or choose another place. Nothing was left there") from error
    finally:
        for suffix in ("", "-wal", "-shm", "-journal"):
            if os.path.lexists(fresh + suffix):
                os.remove(fresh + suffix)
    return Copy(path, found)


def inspected(path: str) -> tuple[int, int, int]:
    """How many memories, turns and sessions a whole store at the path holds. Raises TenonError for a file that is none, or damaged."""
    try:
        with open(path, "rb") as file:
            if file.read(len(HEAD)) != HEAD:
                raise TenonError(f"{path} is no backup of Tenon's")
        con = sqlite.connect(f"file:{db.uri_path(path)}?mode=ro&immutable=1", isolation_level=None, uri=True)
    except OSError as error:
        raise TenonError(f"{path} cannot be read ({error.strerror})") from error
    try:
        version = con.execute(VERSION).fetchone()[0]
        if version > migrate.NEWEST:
            raise TenonError(migrate.too_new(path, version))
        wrong = [row[0] for row in con.execute(PAGES) if row[0] != "ok"]
        if wrong:
            raise TenonError(f"{path} is damaged: {wrong[0]}")
        memories, turns, sessions = con.execute(COUNTS).fetchone()
    except sqlite.Error as error:
        raise TenonError(f"{path} is no whole backup of Tenon's ({error})") from error
    finally:
        con.close()
    return int(memories), int(turns), int(sessions)


def made(folder_: str, agent: str) -> list[str]:
    """The agent's backups in a folder by their names, the newest first."""
    try:
        names = os.listdir(folder_)
    except OSError:
        return []
    found = [each for each in names if (match := NAMED.fullmatch(each)) and match["agent"] == agent and os.path.isfile(os.path.join(folder_, each))]
    return [os.path.join(folder_, each) for each in sorted(found, key=_order, reverse=True)]


def prune(folder_: str, agent: str, keep: int) -> list[str]:
    """The agent's older backups in a folder, which were removed but for so many of the newest. Raises TenonError when one cannot be removed."""
    gone = []
    for path in made(folder_, agent)[keep:]:
        try:
            os.remove(path)
        except OSError as error:
            raise TenonError(f"{path} cannot be removed ({error.strerror})") from error
        gone.append(path)
    return gone


def note(store: Store, path: str) -> None:
    """Notes where a backup was put, so that `known` can name it."""
    notes.note(store, MADE, _listed([*(each for each in known(store) if each != path), path]))


def known(store: Store) -> list[str]:
    """The backups that were made of this store and are where they were put, and what a restored one has put aside."""
    found = parse(notes.value(store, MADE))
    own = [str(path) for path in found] if isinstance(found, list) else []
    home, file = os.path.split(os.path.abspath(store.path))
    aside = [
        os.path.join(home, each) for each in sorted(os.listdir(home)) if each.startswith(f"{file}.before-restore-") and not each.endswith(("-wal", "-shm"))
    ]
    beside = reversed(made(os.path.join(home, "backups"), os.path.basename(home)))
    return list(dict.fromkeys(path for path in (*own, *beside, *aside) if os.path.isfile(path)))


def restore(path: str, source: str, now: float) -> str:
    """Puts the backup in the place of the store at the path; gives where the present store is now, «» when there was none.

    Nothing is deleted: the present one becomes <path>.before-restore-<time>. Raises TenonError when the backup is not whole, when somebody has
    the store open, or when there is no room; then everything is as it was.
    """
    inspected(source)
    paths.make_private(os.path.dirname(path))
    fresh = f"{path}.{os.getpid()}.restored"
    try:
        _duplicate(source, fresh)
        inspected(fresh)
        aside = _moved_aside(path, now) if os.path.lexists(path) else ""
        try:
            os.replace(fresh, path)
        except OSError:
            for suffix in ("-wal", "-shm", "") if aside else ():
                if os.path.lexists(aside + suffix):
                    os.replace(aside + suffix, path + suffix)
            raise
    except OSError as error:
        raise TenonError(f"{source} cannot be put back ({error.strerror}); free some space or give yourself the right. The store is as it was") from error
    finally:
        if os.path.lexists(fresh):
            os.remove(fresh)
    con = sqlite.connect(path, isolation_level=None)
    try:
        con.execute("PRAGMA journal_mode = WAL")
    finally:
        con.close()
    db.open_store(path).close()  # an older schema is brought up
    return aside


def _copied(store: Store, fresh: str, progress: Callable[[int, int], None] | None) -> None:
    # What the source shows from its first read on is copied, whatever others write meanwhile.
    is_own = not store.con.in_transaction
    if is_own:
        store.execute("BEGIN")
    target = sqlite.connect(fresh, isolation_level=None)
    try:
        store.value(ANY)
        told = (lambda _, left, total: progress(total - left, total)) if progress is not None else None
        store.con.backup(target, pages=STEP, progress=told)
        target.execute("PRAGMA journal_mode = DELETE")
    finally:
        target.close()
        if is_own:
            store.execute("ROLLBACK")


def _moved_aside(path: str, now: float) -> str:
    """Moves the present store aside, when nobody has it open; gives where it is."""
    con = sqlite.connect(path, timeout=BUSY_S, isolation_level=None)
    try:
        # Only whoever is alone with a store can take its log away; the log's pages are in the store then.
        mode = con.execute("PRAGMA journal_mode = DELETE").fetchone()[0]
        if mode != "delete":
            raise TenonError(_in_use(path))
    except sqlite.Error as error:
        if any(word in str(error) for word in db.BUSY):
            raise TenonError(_in_use(path)) from error
        # A damaged one goes aside as it is.
    finally:
        con.close()
    aside = free(f"{path}.before-restore-{time.strftime('%Y%m%d-%H%M%S', time.localtime(now))}")
    for suffix in ("-wal", "-shm", ""):
        if os.path.lexists(path + suffix):
            os.replace(path + suffix, aside + suffix)
    return aside


def _in_use(path: str) -> str:
    return f"{path} is in use; end all sessions of Claude Code, `tenon stop` the proxy, then try again. Nothing was changed"


def _duplicate(source: str, fresh: str) -> None:
    with open(source, "rb") as given, open(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as taken:
        while chunk := given.read(1 << 20):
            taken.write(chunk)
        taken.flush()
        os.fsync(taken.fileno())


def _order(file: str) -> tuple[str, int]:
    match = NAMED.fullmatch(file)
    rest = file.rpartition("-")[2].partition(".")[0]
    stamp = match["stamp"] if match else ""
    return stamp, int(rest) if not stamp.endswith(rest) and rest.isdecimal() else 1


def _listed(found: list[str]) -> str:
    import json

    return json.dumps(found, ensure_ascii=False)
