"""Which repository a folder belongs to, as one number: the one function behind every read and every write key.

A repository is known by its key (base/repository.py). The user's alias table joins keys; a repository without
origin that was moved is recognised by its fingerprint; a folder that is gone keeps the repository it had.
"""

from __future__ import annotations

import os

from tenon.base.errors import TenonError
from tenon.base.repository import identify
from tenon.base.text import clean

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tenon.base.repository import Identity
    from tenon.store.db import Store

KNOWN_PLACE = "SELECT repository, fingerprint FROM place WHERE path = ?"
SAME_FINGERPRINT = "SELECT path, repository FROM place WHERE fingerprint = ? ORDER BY seen DESC"
ADD_PLACE = "INSERT OR REPLACE INTO place (path, repository, fingerprint, seen) VALUES (?, ?, ?, ?)"
BY_KEY = "SELECT id FROM repository WHERE key = ?"
FOLDERS = "SELECT path FROM place WHERE repository IN ({scope}) ORDER BY seen DESC, length(path), path"
BY_PATH = "SELECT repository FROM place WHERE path = ?"
ADD_REPOSITORY = "INSERT INTO repository (key, seen) VALUES (?, ?)"
TARGET = "SELECT same_as FROM repository WHERE id = ?"
KEY = "SELECT key FROM repository WHERE id = ?"
KEYS = "SELECT key FROM repository"
JOINED = "SELECT id, same_as FROM repository WHERE same_as IS NOT NULL"
RENAME = "UPDATE repository SET key = ? WHERE id = ?"
SET_ALIAS = "UPDATE repository SET same_as = ? WHERE id = ?"
SHOWN = "SELECT key FROM repository WHERE same_as IS NULL ORDER BY key"
ALL = (
    "SELECT r.key, t.key, (SELECT count(*) FROM session s WHERE s.repository = r.id), "
    "(SELECT count(*) FROM memory m WHERE m.repository = r.id AND m.status = 'live') "
    "FROM repository r LEFT JOIN repository t ON t.id = r.same_as ORDER BY r.key"
)
ADD_DEED = "INSERT INTO deed (at, what, ref, note) VALUES (?, 'alias', ?, ?)"


def find(store: Store, folder: str) -> int | None:
    """The number of the folder's repository, or None when nothing was ever kept for it. Writes nothing."""
    here = identify(folder)
    found = store.value(BY_KEY, (clean(here.key),))
    if found is None and here.fingerprint:
        found = _moved(store, here)
    if found is None and here.kind == "folder" and not os.path.isdir(folder):
        found = _gone(store, here.root)
    return None if found is None else canonical(store, found)


def settle(store: Store, folder: str, now: float) -> int:
    """The number of the folder's repository; a repository seen for the first time gets one."""
    here = identify(folder)
    place = store.one(KNOWN_PLACE, (clean(here.root),))
    known = store.value(BY_KEY, (clean(here.key),))
    if known is not None and place is not None and place[1] == here.fingerprint and canonical(store, place[0]) == canonical(store, known):
        return canonical(store, known)
    with store.transaction():
        before = find(store, folder)
        known = store.value(BY_KEY, (clean(here.key),))
        if known is None and before is not None and here.kind != "origin":
            if here.kind == "path":  # it was moved, and takes its name along: another one may come to stand in the old place
                store.execute(RENAME, (clean(here.key), before))
            known = before
        if known is None:
            known = int(store.execute(ADD_REPOSITORY, (clean(here.key), now)).lastrowid or 0)
        if place is not None and place[1] == here.fingerprint != "" and here.kind == "origin":
            before = int(place[0])  # the repository of this very folder has been given an origin
        if before is not None and canonical(store, before) != canonical(store, known) and key(store, before).startswith("path:"):
            store.execute(SET_ALIAS, (canonical(store, known), before))
        if os.path.isdir(folder):
            # A worktree or a subfolder that is removed later is asked for by its own path.
            for path in {clean(here.root), clean(os.path.realpath(folder))}:
                store.execute(ADD_PLACE, (path, known, here.fingerprint if path == clean(here.root) else "", now))
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


def folders(store: Store, repository: int) -> list[str]:
    """The folders that the repository was seen in, itself and its aliases, the latest first; some may be gone."""
    numbers = scope(store, repository)
    return [str(path) for (path,) in store.rows(FOLDERS.format(scope=", ".join("?" * len(numbers))), numbers)]


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


def keys(store: Store) -> list[str]:
    """The keys of all repositories but those that are an alias of another."""
    return [str(row[0]) for row in store.rows(SHOWN)]


def everything(store: Store) -> list[tuple[str, str | None, int, int]]:
    """Every repository: its key, the key it is an alias of (or None), its sessions, its live memories."""
    return [(str(a), b, int(c), int(d)) for a, b, c, d in store.rows(ALL)]


def _moved(store: Store, here: Identity) -> int | None:
    """The repository that has stood elsewhere, or stood here before it had an origin."""
    for path, repository in store.rows(SAME_FINGERPRINT, (here.fingerprint,)):
        stays = os.path.exists(os.path.join(path, ".git")) or os.path.exists(os.path.join(path, "HEAD"))
        # Two repositories that both exist are two, whatever their fingerprints say; and one that had an origin
        # is known by it, so a new origin is a new repository until the user says otherwise.
        if (path == clean(here.root) or not stays) and key(store, repository).startswith("path:"):
            return int(repository)
    return None


def _gone(store: Store, path: str) -> int | None:
    """The repository that a folder which is gone had, or that a folder above it had which is gone too."""
    while not os.path.isdir(path):
        found = store.value(BY_PATH, (clean(path),))
        above = os.path.dirname(path)
        if found is not None or above == path:
            return None if found is None else int(found)
        path = above
    return None


def names(store: Store) -> set[str]:
    """The repositories' own names, lower-case: of host/owner/widgets and of path:/home/me/widgets it is widgets."""
    return {str(key).replace("\\", "/").rstrip("/").rpartition("/")[2].lower() for (key,) in store.rows(KEYS)}
