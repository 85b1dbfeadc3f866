"""Where a text stands in the store, whatever the case and whatever the status; and the same place without it."""
from __future__ import annotations

import json
import re
from unicodedata import normalize

from tenon.base.errors import TenonError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from tenon.store.db import Store

SHORTEST = 3  # characters; a shorter text stands everywhere
INSTEAD = "[forgotten]"

IN_MEMORIES = (
    "SELECT ref, text || char(10) || reason || char(10) || labels || char(10) || epic FROM memory "
    "UNION ALL SELECT m.ref, r.text || char(10) || r.reason FROM revision r JOIN memory m ON m.id = r.memory "
    "UNION ALL SELECT m.ref, e.situation || char(10) || e.taken || char(10) || e.evidence FROM episode e JOIN memory m ON m.id = e.memory "
    "UNION ALL SELECT m.ref, p.name || char(10) || p.trigger || char(10) || p.steps || char(10) || p.paths FROM procedure p JOIN memory m ON m.id = p.memory"
)
IN_TURNS = "SELECT 't' || id, content FROM turn WHERE forgotten IS NULL"
IN_SUMMARIES = "SELECT 'summary:' || n.name, s.text FROM summary s JOIN session n ON n.id = s.session"
IN_EDGES = "SELECT 'edge:' || id, reason || char(10) || verdict FROM edge"
IN_TASKS = "SELECT 'task:' || repository || ':' || epic, epic || char(10) || title || char(10) || body FROM task"
IN_HANDOFFS = "SELECT 'handoff:' || repository, body FROM handoff"


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
    """What contains the text: ids of memories (m…) and turns (t…), and summary:…, edge:…, task:…, handoff:…, each once.

    Memories count with all their revisions, reasons, labels, episodes and procedures. Raises TenonError for a text
    under three characters.
    """
    wanted = texts([text])[0]
    return list(dict.fromkeys(ref for ref, stored in _everything(store) if wanted.within(stored)))


def _everything(store: Store) -> Iterator[tuple[str, str]]:
    for query in (IN_MEMORIES, IN_TURNS, IN_SUMMARIES, IN_EDGES, IN_TASKS, IN_HANDOFFS):
        for ref, stored in store.each(query):
            yield str(ref), str(stored)


def _plain(text: str) -> str:
    return text.lower() if text.isascii() else normalize("NFC", text).casefold()
