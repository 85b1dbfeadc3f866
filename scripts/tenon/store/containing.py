"""Where a text stands in the store, whatever the case and whatever the status; and the same place without it."""

from __future__ import annotations

import json
import os
import re
from contextlib import suppress
from unicodedata import normalize

from tenon.base.errors import TenonError
from tenon.base.lean import parse
from tenon.base.text import words
from tenon.store.forgotten import INSTEAD

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any

    from tenon.store.db import Store

SHORTEST = 3  # characters; a shorter text stands everywhere
PIECE = 48  # characters that are looked for in a file: the rest of a text may stand on another page
PROBES = 200  # pieces that are looked for; one that is found is enough
CHUNK_BYTES = 1_000_000

IN_MEMORIES = (
    "SELECT ref, text || char(10) || reason || char(10) || labels || char(10) || epic FROM memory "
    "UNION ALL SELECT m.ref, r.text || char(10) || r.reason FROM revision r JOIN memory m ON m.id = r.memory "
    "UNION ALL SELECT m.ref, e.situation || char(10) || e.taken || char(10) || e.evidence FROM episode e JOIN memory m ON m.id = e.memory "
    "UNION ALL SELECT m.ref, p.name || char(10) || p.trigger || char(10) || p.steps || char(10) || p.paths FROM procedure p JOIN memory m ON m.id = p.memory"
)
IN_TURNS = "SELECT 't' || id, content FROM turn WHERE forgotten IS NULL"
IN_SUMMARIES = "SELECT 'summary:' || n.name, s.text FROM summary s JOIN session n ON n.id = s.session"
IN_GISTS = "SELECT 'gist:' || turn, text FROM gist"
IN_EDGES = "SELECT 'edge:' || id, reason || char(10) || verdict FROM edge"
IN_TASKS = "SELECT 'task:' || repository || ':' || epic, epic || char(10) || title || char(10) || body FROM task"
IN_HANDOFFS = "SELECT 'handoff:' || repository, body FROM handoff"
IN_SESSIONS = "SELECT 'where:' || id, folder || char(10) || branch FROM session"
IN_PLACES = "SELECT 'place:' || path, path FROM place"
IN_FEEDS = "SELECT 'feed:' || path, path FROM feed"
IN_REPOSITORIES = "SELECT 'repository:' || id, key FROM repository"
IN_CONVERSATIONS = (
    "SELECT 'conversation:' || id, client || char(10) || folder || char(10) || reason FROM conversation "
    "UNION ALL SELECT 'conversation:' || conversation, content FROM addition"
)
IN_SENT = "SELECT 'conversation:' || conversation, content FROM sent"
IN_PIECES = "SELECT 'piece:' || id, content FROM piece"
IN_NOTES = "SELECT note FROM deed UNION ALL SELECT DISTINCT reason FROM tombstone"
JOURNAL_WORDS = "SELECT words FROM journal"


class Text:
    """A text to look for. The same words in another case, or with accents composed otherwise, are the same text."""

    __slots__ = ("pattern", "forms")

    def __init__(self, text: str) -> None:
        self.pattern = re.compile(re.escape(text), re.IGNORECASE)
        # As it stands by itself, and as it stands inside stored JSON.
        self.forms = {_plain(text), *(_plain(json.dumps(text, ensure_ascii=ascii_only)[1:-1]) for ascii_only in (False, True))}

    def within(self, stored: str) -> bool:
        """Whether the stored text contains this one."""
        plain = _plain(stored)
        return any(form in plain for form in self.forms)

    def taken_out(self, stored: str) -> str:
        """The stored text with «[forgotten]» in the place of this one."""
        kept = self.pattern.sub(INSTEAD, stored)
        return INSTEAD if self.within(kept) else kept

    def taken_out_of(self, value: Any) -> Any:
        """The same for every string, and every name, in a JSON value."""
        if isinstance(value, str):
            return self.taken_out(value)
        if isinstance(value, list):
            return [self.taken_out_of(inner) for inner in value]
        if isinstance(value, dict):
            return {self.taken_out(str(name)): self.taken_out_of(inner) for name, inner in value.items()}
        return value


def texts(given: Sequence[str]) -> list[Text]:
    """The texts to look for. Raises TenonError for one that is too short to mean something."""
    for text in given:
        if len(text.strip()) < SHORTEST:
            raise TenonError(f"a text to forget has at least {SHORTEST} characters, or it would stand everywhere")
    return [Text(text.strip()) for text in given]


def matching(store: Store, text: str) -> list[str]:
    """What contains the text, each once: ids of memories (m…) and turns (t…), and summary:…, edge:…, task:… and the like.

    What the proxy keeps is conversation:… and piece:…. Memories count with all their revisions, reasons, labels, episodes and procedures. where:… is a session's folder and
    branch, damaged:… a file beside the store; journal: comes only when nothing else does, for the journal is always
    cleaned. Raises TenonError for a text under three characters.
    """
    wanted = texts([text])[0]
    found = list(dict.fromkeys(ref for ref, stored in _everything(store) if wanted.within(stored)))
    found += [f"damaged:{name}" for name in damaged(store, [text.strip()])]
    return found or (["journal:"] if _in_journal(store, wanted, text) else [])


def damaged(store: Store, sought: Iterable[str]) -> list[str]:
    """The names of the damaged files beside the store, kept when it was rescued, whose bytes still hold one of the texts."""
    folder, own = os.path.split(os.path.abspath(store.path))
    names: list[str] = []
    with suppress(OSError):
        names = sorted(name for name in os.listdir(folder) if name.startswith(own + ".damaged-"))
    probes = _probes(sought) if names else []
    return [name for name in names if _holds(os.path.join(folder, name), probes)]


def in_journal_words(wanted: Iterable[Text], exact: set[str], word: str) -> bool:
    """Whether a word of the journal is one of the exact words, or holds a whole text."""
    return word.rstrip("*") in exact or any(text.within(word) for text in wanted)


def _in_journal(store: Store, wanted: Text, text: str) -> bool:
    sought = {word.rstrip("*") for word in words(text)}
    for (shared,) in store.each(JOURNAL_WORDS):
        if wanted.within(shared) or (sought and sought <= {word.rstrip("*") for word in str(shared).split()}):
            return True
    return any(wanted.within(str(note)) for (note,) in store.each(IN_NOTES))


def _probes(sought: Iterable[str]) -> list[bytes]:
    """What to look for in the bytes of a file, in lower case: the texts in their usual forms, of a long one its beginning, middle and end."""
    found: dict[bytes, None] = {}
    for text in sought:
        inner = json.dumps(text, ensure_ascii=False)[1:-1]
        for whole in {text, inner}:
            for at in {0, max(0, (len(whole) - PIECE) // 2), max(0, len(whole) - PIECE)}:
                piece = whole[at : at + PIECE]
                for cased in (piece, piece.lower(), piece.upper(), piece.title()) if not piece.isascii() else (piece,):
                    for form in ("NFC", "NFD"):
                        found[(cased if cased.isascii() else normalize(form, cased)).encode("utf-8", "replace").lower()] = None
        if len(found) >= PROBES:
            break
    return list(found)


def _holds(path: str, probes: Sequence[bytes]) -> bool:
    longest = max(map(len, probes), default=0)
    with suppress(OSError), open(path, "rb") as file:
        before = b""
        while chunk := file.read(CHUNK_BYTES):
            low = before + chunk.lower()
            if any(probe in low for probe in probes):
                return True
            before = low[-longest:]
    return False


def _everything(store: Store) -> Iterator[tuple[str, str]]:
    for query in (
        IN_MEMORIES,
        IN_TURNS,
        IN_SUMMARIES,
        IN_GISTS,
        IN_EDGES,
        IN_TASKS,
        IN_HANDOFFS,
        IN_SESSIONS,
        IN_PLACES,
        IN_FEEDS,
        IN_REPOSITORIES,
        IN_CONVERSATIONS,
    ):
        for ref, stored in store.each(query):
            yield str(ref), str(stored)
    for query in (IN_SENT, IN_PIECES):
        for ref, stored in store.each(query):
            # As a client printed it, who may have escaped letters that need none.
            yield str(ref), json.dumps(parse(stored), ensure_ascii=False) if "\\u" in stored or "\\/" in stored else str(stored)


def _plain(text: str) -> str:
    return text.lower() if text.isascii() else normalize("NFC", text).casefold()
