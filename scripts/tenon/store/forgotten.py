"""What was forgotten stays gone: salted hashes of forgotten texts, without the texts.

The salt is the store's own, so the hashes say nothing about a short text to somebody who only has the file's rows.
"""
from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tenon.store.db import Store

ANY = "SELECT 1 FROM tombstone LIMIT 1"
IS = "SELECT 1 FROM tombstone WHERE hash = ?"
ADD = "INSERT OR REPLACE INTO tombstone (hash, reason, at) VALUES (?, ?, ?)"
SALT = "SELECT value FROM meta WHERE name = 'salt'"
ADD_SALT = "INSERT OR IGNORE INTO meta (name, value) VALUES ('salt', ?)"


def is_buried(store: Store, text: str) -> bool:
    """Whether a text like this one (case and white space aside) was forgotten."""
    return store.value(ANY) is not None and store.value(IS, (_hash(store, text),)) is not None


def bury(store: Store, text: str, reason: str, now: float) -> None:
    """Keeps the text from being written again."""
    if store.value(SALT) is None:
        from os import urandom

        store.execute(ADD_SALT, (urandom(16).hex(),))
    store.execute(ADD, (_hash(store, text), reason, now))


def _hash(store: Store, text: str) -> bytes:
    from hashlib import sha256

    return sha256((str(store.value(SALT)) + "\n" + " ".join(text.lower().split())).encode("utf-8", "replace")).digest()
