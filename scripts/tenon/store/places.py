"""Which repository a folder belongs to, as one number: the one function behind every read and every write key.

A repository is known by its key (base/repository.py). The user's alias table joins keys; a repository without
origin that was moved is recognised by its fingerprint; a folder that is gone keeps the repository it had.
"""
from __future__ import annotations

import os

from tenon.base.errors import TenonError
from tenon.base.repository import identify

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tenon.store.db import Store

KNOWN_PLACE = "SELECT repository, fingerprint FROM place WHERE path = ?"
SAME_FINGERPRINT = "SELECT path, repository FROM place WHERE fingerprint = ? ORDER BY seen DESC"
ADD_PLACE = "INSERT OR REPLACE INTO place (path, repository, fingerprint, seen) VALUES (?, ?, ?, ?)"
BY_KEY = "SELECT id FROM repository WHERE key = ?"
BY_PATH = "SELECT repository FROM place WHERE path = ?"
ADD_REPOSITORY = "INSERT INTO repository (key, seen) VALUES (?, ?)"
TARGET = "SELECT same_as FROM repository WHERE id = ?"
KEY = "SELECT key FROM repository WHERE id = ?"
JOINED = "SELECT id, same_as FROM repository WHERE same_as IS NOT NULL"
SET_ALIAS = "UPDATE repository SET same_as = ? WHERE id = ?"
ALL = (
    "SELECT r.key, t.key, (SELECT count(*) FROM session s WHERE s.repository = r.id), "
    "(SELECT count(*) FROM memory m WHERE m.repository = r.id AND m.status = 'live') "
    "FROM repository r LEFT JOIN repository t ON t.id = r.same_as ORDER BY r.key"
)
ADD_DEED = "INSERT INTO deed (at, what, ref, note) VALUES (?, 'alias', ?, ?)"


def find(store: Store, folder: str) -> int | None:
    """The number of the folder's repository, or None when nothing was ever kept for it. Writes nothing."""
    here = identify(folder)
    if here.kind == "folder" and not os.path.isdir(folder):
        gone = store.value(BY_PATH, (here.root,))
        if gone is not None:
            return canonical(store, gone)
    found = store.value(BY_KEY, (here.key,))
    if found is None and here.fingerprint:
        found = _moved(store, here.fingerprint)
    return None if found is None else canonical(store, found)


def settle(store: Store, folder: str, now: float) -> int:
    """The number of the folder's repository; a repository seen for the first time gets one."""
    here = identify(folder)
    known = find(store, folder)
    place = store.one(KNOWN_PLACE, (here.root,))
    if known is not None and place is not None and place[1] == here.fingerprint:
        return known
    with store.transaction():
        if known is None:
            raw = store.value(BY_KEY, (here.key,))
            known = raw if raw is not None else int(store.execute(ADD_REPOSITORY, (here.key, now)).lastrowid or 0)
        if os.path.isdir(folder):
            store.execute(ADD_PLACE, (here.root, known, here.fingerprint, now))
            # A worktree or a subfolder that is removed later is asked for by its own path.
            own = os.path.realpath(folder)
            if own != here.root:
                store.execute(ADD_PLACE, (own, known, "", now))
    return canonical(store, known)


def canonical(store: Store, repository: int) -> int:
    """The repository that this one is an alias of, or itself."""
    for _ in range(8):
        target = store.value(TARGET, (repository,))
        if target is None:
            return repository
        repository = target
    return repository


def scope(store: Store, repository: int | None) -> list[int]:
    """All numbers whose rows belong to the repository: itself and its aliases. None gives an empty list."""
    if repository is None:
        return []
    home = canonical(store, repository)
    joined = [number for number, _ in store.rows(JOINED) if canonical(store, number) == home]
    return [home, *joined]


def key(store: Store, repository: int | None) -> str:
    """The repository's key, or «» for None."""
    return "" if repository is None else str(store.value(KEY, (repository,)) or "")


def by_key(store: Store, wanted: str) -> int:
    """The repository with that key, or whose folder that is. Raises TenonError naming what is known."""
    found = store.value(BY_KEY, (wanted,))
    if found is None:
        found = find(store, wanted) if os.path.isabs(wanted) else None
    if found is None:
        known = ", ".join(str(row[0]) for row in store.rows(ALL)[:20]) or "none yet"
        raise TenonError(f"no repository '{wanted}' is known; known are: {known}")
    return int(found)


def join(store: Store, alias: str, target: str, now: float) -> None:
    """From now on rows of `alias` are rows of `target`, and the other way round. Raises TenonError for unknown keys."""
    one, other = by_key(store, alias), by_key(store, target)
    if canonical(store, one) == canonical(store, other):
        raise TenonError(f"'{alias}' and '{target}' are one repository already")
    with store.transaction():
        store.execute(SET_ALIAS, (canonical(store, other), canonical(store, one)))
        store.execute(ADD_DEED, (now, key(store, one), "is " + key(store, other)))


def part(store: Store, alias: str, now: float) -> None:
    """Takes an alias back. Raises TenonError when the key is no alias."""
    found = store.value(BY_KEY, (alias,))
    if found is None or store.value(TARGET, (found,)) is None:
        raise TenonError(f"'{alias}' is not an alias; `tenon alias` lists them")
    with store.transaction():
        store.execute(SET_ALIAS, (None, found))
        store.execute(ADD_DEED, (now, alias, "is itself again"))


def everything(store: Store) -> list[tuple[str, str | None, int, int]]:
    """Every repository: its key, the key it is an alias of (or None), its sessions, its live memories."""
    return [(str(a), b, int(c), int(d)) for a, b, c, d in store.rows(ALL)]


def _moved(store: Store, fingerprint: str) -> int | None:
    for path, repository in store.rows(SAME_FINGERPRINT, (fingerprint,)):
        # Two repositories that both exist are two, whatever their fingerprints say.
        if not os.path.exists(os.path.join(path, ".git")) and not os.path.exists(os.path.join(path, "HEAD")):
            return int(repository)
    return None
