"""Whether a text can be true everywhere: what names a thing of one project stays in that project."""

from __future__ import annotations

from tenon.base.text import words
from tenon.store import places

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tenon.store.db import Store

CODE = frozenset("`_/\\{}<>=$#@")


KNOWN_NAMES = frozenset(
    "I I'm I'd I'll I've Python Git GitHub English German French Spanish Italian Java JavaScript TypeScript Rust Docker Linux Windows Bash Markdown Claude "
    "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
)
AROUND = ".,;:!?«»\"'()"
BEGINS = (".", "!", "?", ":", "«", '"', "(")


def is_general(store: Store, text: str) -> bool:
    """Whether the text has no code, path, identifier, number, proper name or repository's name in it."""
    if not CODE.isdisjoint(text):
        return False
    plain = text.split()
    before = "."
    for raw in plain:
        word = raw.strip(AROUND).replace("’", "'")
        begins = before.endswith(BEGINS) or raw.startswith(BEGINS)
        before = raw
        if word in KNOWN_NAMES:
            continue
        if "." in word or any(map(str.isdigit, word)) or (word[1:].lower() != word[1:] and not word.isupper()) or (word.istitle() and not begins):
            return False
    return places.names(store).isdisjoint({*words(text), *(word.strip(AROUND).lower() for word in plain)})
