"""What was forgotten stays gone: salted hashes, without the texts, by which it is known when it comes again.

A turn is known by where and when it was said and by all it said, so a copy of the same transcript brings nothing back and
the same words said another day are kept. A memory is known by its text, a block of a message that the proxy keeps by what
it says. A text that the user named is known by its words, wherever they stand. The salt is the store's own, so that equal
texts in two stores have nothing in common. Of an archive that was removed whole one time is kept: what was said before it
comes back by no way, whatever file it stands in now.
"""

from __future__ import annotations

from tenon.store import notes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from tenon.store.db import Store

INSTEAD = "[forgotten]"
WINDOW = 16  # words that are hashed together; a longer text is several such windows

ANY = "SELECT 1 FROM tombstone LIMIT 1"
IS = "SELECT 1 FROM tombstone WHERE hash = ?"
NAMED = "SELECT words, hash FROM tombstone WHERE words > 0"
ADD = "INSERT OR REPLACE INTO tombstone (hash, words, reason, at) VALUES (?, ?, ?, ?)"
SALT = "SELECT value FROM meta WHERE name = 'salt'"
PURGED = "purged"  # the note that says until when everything that was said is gone
ADD_SALT = "INSERT OR IGNORE INTO meta (name, value) VALUES ('salt', ?)"

# Parts of the API's content blocks that are no words of anybody.
TYPES = ("text", "thinking", "redacted_thinking", "tool_use", "tool_result", "image", "document", "base64")


class Forgotten:
    """Everything that must not be written again, loaded once for a batch of writing."""

    __slots__ = ("store", "salt", "windows", "heads", "firsts")

    def __init__(self, store: Store) -> None:
        self.store = store
        self.salt = str(store.value(SALT))
        self.windows: dict[int, set[bytes]] = {}
        for size, own in store.rows(NAMED):
            self.windows.setdefault(int(size), set()).add(bytes(own))
        self.heads: dict[int, set[int]] = {}  # which sizes a window with that first byte may have
        for size, hashes in self.windows.items():
            for own in hashes:
                self.heads.setdefault(own[0], set()).add(size)
        self.firsts: dict[str, int] = {}  # the first byte of a window that begins with the word

    def is_turn(self, *place: object) -> bool:
        """Whether a turn (repository, time, thread, role, content) is one that was forgotten, or a copy of it."""
        return self.store.value(IS, (_turn(self.salt, place),)) is not None

    def is_said(self, said: str, conversation: str) -> bool:
        """Whether a message's block that says this was forgotten; a common one only in its conversation, any other for «»."""
        return self.store.value(IS, (_said(self.salt, said, conversation),)) is not None

    def is_text(self, text: str) -> bool:
        """Whether a text like this one (case and white space aside) was forgotten."""
        return self.store.value(IS, (_text(self.salt, text),)) is not None

    def without(self, text: str) -> str:
        """The text with «[forgotten]» in the place of every text that the user named; the same object when there is none."""
        if not self.windows:
            return text
        found = list(_words(text))
        spans = sorted(self._spans([word for word, _, _ in found]))
        if not spans:
            return text
        kept: list[str] = []
        done = 0
        for first, last in spans:
            between = text[done : found[first][1]]
            if not kept or between.strip():  # what overlaps the one before, or follows it at once, is one with it
                kept += [between, INSTEAD]
            done = max(done, found[last - 1][2])
        return "".join([*kept, text[done:]])

    def without_in(self, value: object) -> object:
        """The same for every string, and every name, in a list of content blocks or another JSON value."""
        if isinstance(value, str):
            return self.without(value)
        if isinstance(value, list):
            return [self.without_in(inner) for inner in value]
        if not isinstance(value, dict):
            return value
        media = value.get("type") == "base64" and "media_type" in value
        kept: dict[str, object] = {}
        for key, inner in value.items():
            name = self.without(str(key))
            while name in kept:
                name += "'"
            bare = (key == "type" and inner in TYPES) or (media and key == "data")
            kept[name] = inner if bare else self.without_in(inner)
        return kept

    def _spans(self, words: list[str]) -> Iterator[tuple[int, int]]:
        """The windows [first, last) of words that were named."""
        for at, word in enumerate(words):
            head = self.firsts.get(word)
            if head is None:
                head = self.firsts[word] = _head(self.salt, word)
            for size in self.heads.get(head, ()):
                if at + size <= len(words) and _window(self.salt, words[at : at + size], head) in self.windows[size]:
                    yield at, at + size


def known(store: Store) -> Forgotten | None:
    """What must not be written again, or None when nothing was ever forgotten."""
    return Forgotten(store) if store.value(ANY) is not None else None


def is_buried(store: Store, text: str) -> bool:
    """Whether a text like this one (case and white space aside) was forgotten."""
    found = known(store)
    return found is not None and found.is_text(text)


def without(store: Store, text: str) -> str:
    """The text with «[forgotten]» in the place of every text that the user named."""
    found = known(store)
    return text if found is None else found.without(text)


def purged(store: Store) -> float:
    """The time before which nothing that was said is archived any more; 0 when the archive was never removed."""
    return purge_time(notes.value(store, PURGED))


def purge_time(noted: str) -> float:
    """The time that the note of a removed archive holds, 0 for none."""
    try:
        return float(noted or 0)
    except ValueError:
        return 0.0


def purge_before(store: Store, at: float) -> None:
    """Keeps everything that was said before that time from being archived again."""
    notes.note(store, PURGED, repr(max(at, purged(store))))


def says_nothing(text: str) -> bool:
    """Whether nothing but «[forgotten]» is left of a text."""
    return next(_words(text.replace(INSTEAD, " ")), None) is None


def bury(store: Store, text: str, reason: str, now: float) -> None:
    """Keeps the text from being written again as a memory."""
    store.execute(ADD, (_text(_salt(store), text), 0, reason, now))


def bury_turn(store: Store, reason: str, now: float, *place: object) -> None:
    """Keeps a turn (repository, time, thread, role, content) from coming back with a copy of its transcript."""
    store.execute(ADD, (_turn(_salt(store), place), 0, reason, now))


def bury_said(store: Store, said: str, conversation: str, reason: str, now: float) -> None:
    """Keeps a block of a message from being written again when the client sends it again; «» means in any conversation."""
    store.execute(ADD, (_said(_salt(store), said, conversation), 0, reason, now))


def bury_named(store: Store, text: str, reason: str, now: float) -> None:
    """Keeps a text that the user named from being written again, by itself or inside anything else."""
    bury(store, text, reason, now)
    salt = _salt(store)
    words = [word for word, _, _ in _words(text)]
    last = max(0, len(words) - WINDOW)
    for first in sorted({*range(0, last, WINDOW), last}) if words else ():
        window = words[first : first + WINDOW]
        store.execute(ADD, (_window(salt, window, _head(salt, window[0])), len(window), reason, now))


def _salt(store: Store) -> str:
    if store.value(SALT) is None:
        from os import urandom

        store.execute(ADD_SALT, (urandom(16).hex(),))
    return str(store.value(SALT))


def _text(salt: str, text: str) -> bytes:
    return _hash(salt, " ".join(text.lower().split()))


def _turn(salt: str, place: tuple[object, ...]) -> bytes:
    repository, at, thread, role, content = place
    return _hash(salt, f"turn\n{repository}\n{at:.3f}\n{thread}\n{role}\n{content}")


def _said(salt: str, said: str, conversation: str) -> bytes:
    return _hash(salt, f"said\n{conversation}\n{said}")


def _window(salt: str, words: list[str], head: int) -> bytes:
    # Its first byte is that of its first word, so that most windows of a long text need not be hashed.
    return bytes([head]) + _hash(salt, "words\n" + " ".join(words))[1:]


def _head(salt: str, word: str) -> int:
    return _hash(salt, "head\n" + word)[0]


def _hash(salt: str, text: str) -> bytes:
    from hashlib import sha256

    return sha256(f"{salt}\n{text}".encode("utf-8", "replace")).digest()


def _words(text: str) -> Iterator[tuple[str, int, int]]:
    """The words of a text, in whatever case and composition the same, each with where it stands: characters [first, last).

    Every letter of an unspaced script is a word.
    """
    if text.isascii():
        import re

        yield from ((match.group().lower(), match.start(), match.end()) for match in re.finditer("[0-9A-Za-z]+", text))
        return
    first, before = -1, _BREAK
    for at, char in enumerate(text + " "):
        kind = _KINDS.get(char)
        if kind is None:
            kind = _KINDS[char] = _kind(char)
        if kind == _MARK:
            continue
        if first >= 0 and not kind == before == _LETTER:
            yield _folded(text[first:at]), first, at
            first = -1
        if first < 0 and kind != _BREAK:
            first = at
        before = kind


def _folded(word: str) -> str:
    if word.isascii():
        return word.lower()
    from unicodedata import normalize

    return normalize("NFKC", normalize("NFKC", word).casefold())


def _kind(char: str) -> int:
    from unicodedata import category

    from tenon.base.text import is_unspaced

    if category(char)[0] == "M" or "\u1160" <= char <= "\u11ff":
        return _MARK  # belongs to what is before it: an accent, a vowel sign, the rest of a decomposed Korean syllable
    if is_unspaced(char) and char.isalnum() or "\u1100" <= char < "\u1160":
        return _UNSPACED_LETTER
    return _LETTER if char.isalnum() else _BREAK


_BREAK, _MARK, _LETTER, _UNSPACED_LETTER = range(4)
_KINDS: dict[str, int] = {}  # of the characters met so far
