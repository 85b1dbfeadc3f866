"""Copies of a store, taken while others write in it, checked, named after agent and time; and one of them put back.

A copy is one file without a log beside it, so it can be moved and kept anywhere. It holds what was remembered at that moment,
also what is forgotten later.
"""

from __future__ import annotations

import os
import re
import time
from contextlib import suppress

from tenon.base import paths
from tenon.base.errors import TenonError
from tenon.base.lean import parse, sqlite
from tenon.store import cleaning, db, letting_go, migrate, notes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from tenon.store.db import Store

STEP = 1024  # pages between two words of progress
MADE = "backups"  # the note of where they were put
NAMED = re.compile(r"tenon-(?P<agent>[a-z0-9][a-z0-9_-]*)-(?P<stamp>\d{8}-\d{6})(?:-\d+)?\.db")
HEAD = b"SQLite format 3\0"
ASIDE = ".before-restore-"
BUSY_S = 2.0
BESIDE = ("", "-wal", "-shm", "-journal")

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


class Restored:
    """A backup that was put back: where the store is now that was there («»: none), and how much of the backup was forgotten again (None: not to be told)."""

    __slots__ = ("kept", "forgotten")

    def __init__(self, kept: str, forgotten: int | None) -> None:
        self.kept = kept
        self.forgotten = forgotten


def folder(agent: str) -> str:
    """Where an agent's backups lie unless another place is named: with its store, so that deleting the agent takes them along."""
    return os.path.join(paths.agent_folder(agent), "backups")


def name(agent: str, now: float) -> str:
    """The file name of a backup of that time, local."""
    return f"tenon-{agent}-{time.strftime('%Y%m%d-%H%M%S', time.localtime(now))}.db"


def free(wanted: str) -> str:
    """The path, or the first one like it at which nothing is."""
    stem, ending = (wanted[:-3], ".db") if wanted.endswith(".db") else (wanted, "")
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
        _remove(fresh)
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
    home = os.path.dirname(os.path.abspath(store.path))
    beside = reversed(made(os.path.join(home, "backups"), os.path.basename(home)))
    return list(dict.fromkeys(path for path in (*_noted(store), *beside, *aside(store.path)) if os.path.isfile(path)))


def standing(store: Store) -> tuple[int, float]:
    """How many of them there are, and when the newest was made (0.0: none); nothing of them is read."""
    times = []
    for path in known(store):
        with suppress(OSError):  # removed since
            times.append(os.stat(path).st_mtime)
    return len(times), max(times, default=0.0)


def aside(path: str) -> list[str]:
    """What restores have put aside of the store at the path, the newest last."""
    home, file = os.path.split(os.path.abspath(path))
    try:
        names = os.listdir(home)
    except OSError:
        return []
    # Of two in one second the later one was once called tenon.db-2.before-restore-…
    known_as = re.compile(rf"{re.escape(file)}(?:-\d+)?{re.escape(ASIDE)}(?P<stamp>\d{{8}}-\d{{6}})(?:-(?P<number>\d+))?")
    found = sorted((match["stamp"], int(match["number"] or 1), each) for each in names if (match := known_as.fullmatch(each)))
    return [os.path.join(home, each) for _, _, each in found]


def restore(path: str, source: str, now: float) -> Restored:
    """Puts the backup into the store at the path, without what was forgotten there since; others wait meanwhile, and see it whole or not at all.

    Nothing is deleted: of the present store there is a copy then, <path>.before-restore-<time>. Raises TenonError when the backup is not whole, when
    somebody has the store open, or when there is no room; then everything is as it was.
    """
    inspected(source)
    paths.make_private(os.path.dirname(path))
    if os.path.islink(path):
        raise TenonError(f"{path} is a symbolic link; Tenon keeps its store in a real file: move it or set TENON_HOME")
    fresh = f"{path}.{os.getpid()}.restored"
    _remove(fresh)
    try:
        _duplicate(source, fresh)
        db.open_store(fresh).close()  # an older schema is brought up
        if not os.path.exists(path):
            os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
        con = _alone(path)
        return _put_in(con, path, fresh, source, now) if con is not None else _put_over(path, fresh, source, now)
    except sqlite.Error as error:
        raise TenonError(f"{source} cannot be put back ({error}); free some space or give yourself the right. The store is as it was") from error
    except OSError as error:
        raise TenonError(f"{source} cannot be put back ({error.strerror}); free some space or give yourself the right. The store is as it was") from error
    finally:
        _remove(fresh)


def _noted(store: Store) -> list[str]:
    found = parse(notes.value(store, MADE))
    return [str(path) for path in found] if isinstance(found, list) else []


def _alone(path: str) -> sqlite.Connection | None:
    """A connection that has the store to itself until it is closed: others wait, or hear that it is busy. None for a store that cannot be read."""
    con = sqlite.connect(path, timeout=BUSY_S, isolation_level=None)
    try:
        con.execute("PRAGMA locking_mode = EXCLUSIVE")
        con.execute("BEGIN EXCLUSIVE")
        con.execute("COMMIT")  # in this mode the lock stays
        con.execute(ANY)
    except sqlite.Error as error:
        con.close()
        if any(word in str(error) for word in db.BUSY):
            raise TenonError(_in_use(path)) from error
        return None
    except BaseException:
        con.close()
        raise
    return con


def _put_in(con: sqlite.Connection, path: str, fresh: str, source: str, now: float) -> Restored:
    """Writes the fresh store into the one that the connection has to itself, in one transaction; no lock is let go between the copy of the present one and that."""
    try:
        present = db.Store(con, path, True)
        kept, others = "", [source]
        if present.value(ANY):
            kept = _set_aside(present, now)
            with suppress(sqlite.Error):  # a damaged one
                others += _noted(present)
        try:
            gone = _prepared(fresh, kept, others, now)
            prepared = sqlite.connect(fresh, isolation_level=None)
            try:
                prepared.backup(con)
            finally:
                prepared.close()
        except (sqlite.Error, OSError, TenonError):
            if kept:
                os.remove(kept)
            raise
        with suppress(sqlite.Error):  # it is in; the next opener does this
            con.execute("PRAGMA journal_mode = WAL")
            con.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    finally:
        con.close()
    return Restored(kept, gone)


def _put_over(path: str, fresh: str, source: str, now: float) -> Restored:
    """Puts the fresh store in the place of one that nobody can read, and so nobody can write; that one is kept as it is."""
    kept = _name_aside(path, now)
    for suffix in ("-wal", ""):
        if os.path.lexists(path + suffix):
            _duplicate(path + suffix, kept + suffix)
    gone = _prepared(fresh, kept, [source], now)
    for suffix in BESIDE[1:]:
        if os.path.lexists(path + suffix):
            os.remove(path + suffix)
    os.replace(fresh, path)
    with suppress(TenonError), db.open_store(path) as store:
        store.execute("PRAGMA journal_mode = WAL")
    return Restored(kept, gone)


def _prepared(fresh: str, present: str, others: list[str], now: float) -> int | None:
    """Makes a backup what is to be the store: without what the present one (a file, or «») has forgotten, and knowing the backups elsewhere."""
    with db.open_store(fresh) as store:
        gone = letting_go.again(store, present, now) if present else 0
        notes.note(store, MADE, _listed(list(dict.fromkeys([*_noted(store), *others]))))
        cleaning.catch_up(store)
        store.execute("PRAGMA journal_mode = DELETE")
    inspected(fresh)
    return gone


def _set_aside(present: Store, now: float) -> str:
    """Copies the present store, whatever is in it, to where it is kept; gives where that is."""
    kept = _name_aside(present.path, now)
    fresh = f"{kept}.{os.getpid()}.new"
    try:
        os.close(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        _copied(present, fresh, None)
        os.replace(fresh, kept)
    finally:
        _remove(fresh)
    return kept


def _name_aside(path: str, now: float) -> str:
    return free(f"{path}{ASIDE}{time.strftime('%Y%m%d-%H%M%S', time.localtime(now))}")


def _remove(path: str) -> None:
    for suffix in BESIDE:
        if os.path.lexists(path + suffix):
            os.remove(path + suffix)


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
