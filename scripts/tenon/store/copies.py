"""Where a turn or a memory that is forgotten stands among what the proxy keeps: in a prefix, in what was sent, in an addition.

What was said stands where its words stand: so many of them in a row, or all of them when they are few. Calls and results are
known by their ids, and what Tenon itself put into a message by the ids of what it tells. The same few words in another
conversation, and what a tool said there, stay.
"""

from __future__ import annotations

import re

from tenon.base.lean import parse
from tenon.base.text import clean
from tenon.store import forgotten, messages

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any

    from tenon.store.containing import Text
    from tenon.store.db import Store
    from tenon.store.exchanges import Turn

OURS = "<tenon-memory>"
IN_A_ROW = 12  # words that are the same by chance nowhere
STEP = 4  # words from one row that is looked up to the next: of a text, as many words more are needed to be sure of a copy
PLAIN_ID = re.compile(r"[a-zA-Z0-9_-]+")  # an id that a trace takes over, and at most adds something to
LINE = 24  # characters of a summary's line that is looked for

PIECES = "SELECT id, content FROM piece ORDER BY id"
SENT = "SELECT s.conversation, c.name, s.place, s.content FROM sent s JOIN conversation c ON c.id = s.conversation ORDER BY s.conversation, s.place"
ADDITIONS = "SELECT conversation, digest, ordinal, content FROM addition ORDER BY conversation, digest, ordinal"
CONVERSATIONS = "SELECT id, client, folder, reason FROM conversation ORDER BY id"
DROP_PIECE = "DELETE FROM piece WHERE id = ?"
SET_SENT = "UPDATE sent SET content = ? WHERE conversation = ? AND place = ?"
DROP_ADDITION = "DELETE FROM addition WHERE conversation = ? AND digest = ? AND ordinal = ?"
DROP_SENT = "DELETE FROM sent WHERE conversation = ?"
DROP_ADDITIONS = "DELETE FROM addition WHERE conversation = ?"
SET_CONVERSATION = "UPDATE conversation SET client = ?, folder = ?, reason = ? WHERE id = ?"
NEWEST_EPOCH = "SELECT number, skip, anchor, strip FROM epoch WHERE conversation = ? ORDER BY number DESC LIMIT 1"
COUNT_SENT = "SELECT count(*) FROM sent WHERE conversation = ?"
ADD_EPOCH = "INSERT INTO epoch (conversation, number, at, why, skip, anchor, strip) VALUES (?, ?, ?, 'forgotten', ?, ?, ?)"
SAME_PIECES = (
    "INSERT INTO epoch_piece (conversation, number, place, piece) SELECT conversation, ?, place, piece FROM epoch_piece WHERE conversation = ? AND number = ?"
)


class Sought:
    """What to look for: turns with the names of their sessions, ids of memories, texts of summaries, texts that the user named."""

    def __init__(self, turns: Iterable[tuple[Turn, str]], memories: Iterable[str], summaries: Iterable[str], wanted: Sequence[Text]) -> None:
        self.wanted = wanted
        self.memories = set(memories)
        self.refs = set(self.memories)
        self.lines = {line.strip() for text in summaries for line in text.splitlines() if len(line.strip()) >= LINE}
        self.ids: dict[str, set[str]] = {"tool_use": set(), "tool_result": set()}
        self.spoken = _Words()
        self.worked = _Words()  # of tools without an id to know them by: looked for in a prefix only
        self.said: dict[tuple[str, str], None] = {}  # what each block said, and in whose name that is buried
        for turn, session in turns:
            self.refs.add(turn.ref)
            for block in turn.content:
                self._add(block, session)
                self.said[_buried(turn.role, block, session)] = None
        self.sizes = {kind: sorted(set(map(len, ids))) for kind, ids in self.ids.items()}

    def _add(self, block: Any, session: str) -> None:
        kind, own = _identity(block)
        if own and kind in self.ids:
            self.ids[kind].add(own)
        if not PLAIN_ID.fullmatch(own):
            words = self.spoken if kind in ("text", "thinking") else self.worked
            for text in messages.texts(block):
                words.add(text, session)

    def in_piece(self, given: Iterable[Any]) -> bool:
        """Whether one of the messages holds it."""
        for message in given:
            for block in messages.blocks(message):
                if self.in_block(block, None) or any(self.worked.within(text, None) for text in messages.texts(block)):
                    return True
        return False

    def in_block(self, block: Any, session: str | None) -> bool:
        """Whether a block of a message of that session, or of any one (None), holds it."""
        kind, own = _identity(block)
        if own and any(own[:size] in self.ids[kind] for size in self.sizes.get(kind, ())):
            return True
        if self.wanted and self.is_named(messages.printed(block)):
            return True
        return any(self.in_text(text, session) for text in messages.texts(block))

    def in_text(self, text: str, session: str | None) -> bool:
        """Whether a text holds the words of a turn, or tells what is forgotten as Tenon tells it."""
        if self.spoken.within(text, session):
            return True
        if OURS in text and (not self.refs.isdisjoint(re.findall(r"\w+", text)) or any(line in text for line in self.lines)):
            return True
        if any(ref in text for ref in self.memories) and not self.memories.isdisjoint(re.findall(r"\w+", text)):
            return True
        return len(self.refs) > len(self.memories) and '"t' in text and not self.refs.isdisjoint(re.findall(r'"(t[0-9]+)"', text))

    def is_named(self, text: str) -> bool:
        """Whether a stored text holds one that the user named."""
        return any(named.within(text) for named in self.wanted)


class _Words:
    """The words of texts, such that a copy of one, whole or cut, is known."""

    def __init__(self) -> None:
        self.rows: set[tuple[str, ...]] = set()  # of long texts: every so many words in a row
        self.runs: set[str] = set()  # of long texts without spaces: their beginnings and ends
        self.whole: dict[str, set[str]] = {}  # of short texts: all of it, and whose it is

    def add(self, text: str, session: str) -> None:
        """Adds a text of a session."""
        text = clean(text).strip()
        if len(text.split()) >= IN_A_ROW:
            self.rows.update(_rows(text, 1))
        elif len(text) >= messages.COMMON:
            self.runs |= {text[: messages.COMMON], text[-messages.COMMON :]}
        elif text:
            self.whole.setdefault(text, set()).add(session)

    def within(self, text: str, session: str | None) -> bool:
        """Whether the text holds one of them; a short one only in its own session, unless that is None."""
        if len(text) < messages.COMMON * 2 and (owners := self.whole.get(clean(text).strip())) is not None and (session is None or session in owners):
            return True
        return bool(self.rows and not self.rows.isdisjoint(_rows(text, STEP))) or any(run in text for run in self.runs)


def count(store: Store, sought: Sought) -> int:
    """How many pieces of prefixes, messages and additions hold it."""
    return sum(1 for found in (_pieces, _sent, _additions) for _ in found(store, sought))


def take_out(store: Store, sought: Sought, reason: str, now: float) -> None:
    """Takes it out: a piece and an addition go whole, of a message that was sent the blocks that hold it, for good.

    An epoch whose piece is gone is not used again (`piece_messages`). A conversation that loses an addition gets an epoch that
    keeps out the thinking which is bound to it. The caller's transaction makes it whole.
    """
    for number in list(_pieces(store, sought)):
        store.execute(DROP_PIECE, (number,))
    buried = dict(sought.said)  # also what no client has sent through the proxy so far
    for conversation, place, said, left in list(_sent(store, sought)):
        buried.update(dict.fromkeys(said))
        store.execute(SET_SENT, (left, conversation, place))
    for text, owner in buried:
        forgotten.bury_said(store, text, owner, reason, now)
    lost = list(_additions(store, sought))
    for row in lost:
        store.execute(DROP_ADDITION, row)
    for conversation in dict.fromkeys(row[0] for row in lost):
        _begin_anew(store, conversation, now)
    for number, *told in store.rows(CONVERSATIONS) if sought.wanted else ():
        bare = list(map(str, told))
        for named in sought.wanted:
            bare = [named.taken_out(field) for field in bare]
        if bare != told:
            store.execute(SET_CONVERSATION, (*bare, number))


def drop(store: Store, kind: str, number: int, now: float) -> None:
    """Drops a whole piece, or what the client of a conversation sent and what was added to it."""
    if kind == "piece":
        store.execute(DROP_PIECE, (number,))
    else:
        _begin_anew(store, number, now)
        store.execute(DROP_SENT, (number,))
        store.execute(DROP_ADDITIONS, (number,))


def _pieces(store: Store, sought: Sought) -> Iterator[int]:
    for number, content in store.each(PIECES):
        given = parse(content)
        if not isinstance(given, list) or sought.in_piece(given):  # what a failing disk has left of one is of no use
            yield number


def _sent(store: Store, sought: Sought) -> Iterator[tuple[int, int, list[tuple[str, str]], str]]:
    """Conversation and place of each message that holds it, what its blocks said there and in whose name that is buried, and what is left."""
    for conversation, name, place, content in store.each(SENT):
        message = parse(content)
        if not isinstance(message, dict):
            yield conversation, place, [], messages.printed(messages.blank(message))
            continue
        hit = [sought.in_block(block, name) for block in messages.blocks(message)]
        if any(hit):
            left = messages.printed(messages.without(message, hit))
            if sought.is_named(left):
                left = messages.printed(messages.blank(message))
            out = [block for block, is_out in zip(messages.blocks(message), hit) if is_out]
            yield conversation, place, [_buried(message.get("role"), block, name) for block in out], left


def _additions(store: Store, sought: Sought) -> Iterator[tuple[int, str, int]]:
    for conversation, digest, ordinal, content in store.each(ADDITIONS):
        if sought.in_text(content, None) or sought.is_named(content):
            yield conversation, digest, ordinal


def _begin_anew(store: Store, conversation: int, now: float) -> None:
    row = store.one(NEWEST_EPOCH, (conversation,))
    if row is not None:
        number, skip, anchor, strip = row
        strip = max(strip, int(store.value(COUNT_SENT, (conversation,))))
        store.execute(ADD_EPOCH, (conversation, number + 1, now, skip, anchor, strip))
        store.execute(SAME_PIECES, (number + 1, conversation, number))


def _buried(role: object, block: Any, name: str) -> tuple[str, str]:
    return messages.said(role, block), name if messages.is_common(block) else ""


def _identity(block: Any) -> tuple[str, str]:
    """The type of a block, and its id if it is a call or a result."""
    kind = str(block.get("type")) if isinstance(block, dict) else ""
    name = {"tool_use": "id", "tool_result": "tool_use_id"}.get(kind)
    return kind, str(block.get(name) or "") if name else ""


def _rows(text: str, step: int) -> Iterator[tuple[str, ...]]:
    words = text.split()
    return zip(*(words[at::step] for at in range(IN_A_ROW)))
