"""Whether a text can be true everywhere: what names a thing of one project stays in that project."""

from __future__ import annotations

from tenon.base.text import words
from tenon.store import places

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tenon.store.db import Store

CODE = frozenset("`_/\\{}<>=$#@")


def is_general(store: Store, text: str) -> bool:
    """Whether the text has no code, path, identifier, number or repository's name in it."""
    if not CODE.isdisjoint(text):
        return False
    plain = text.split()
    if any(word.strip(".,;:!?«»\"'()").count(".") or any(map(str.isdigit, word)) or word[1:].lower() != word[1:] and not word.isupper() for word in plain):
        return False
    return places.names(store).isdisjoint({*words(text), *(word.strip(".,;:!?«»\"'()").lower() for word in plain)})
