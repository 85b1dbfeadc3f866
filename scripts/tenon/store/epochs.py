"""What stands in front of a conversation's messages, from one boundary to the next, and what was put into them.

An epoch is never changed; a later one comes after it. Its prefix is made of pieces, each the bytes of some messages, which
several conversations may share.
"""

from __future__ import annotations

from hashlib import blake2b

from tenon.store import forgotten, messages

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from tenon.store.conversations import Conversation
    from tenon.store.db import Store

EPOCHS = "SELECT number, at, why, skip, anchor, strip FROM epoch WHERE conversation = ? ORDER BY number DESC"
PIECES = "SELECT number, piece FROM epoch_piece WHERE conversation = ? ORDER BY number, place"
ADD_EPOCH = "INSERT INTO epoch (conversation, number, at, why, skip, anchor, strip) VALUES (?, ?, ?, ?, ?, ?, ?)"
ADD_EPOCH_PIECE = "INSERT INTO epoch_piece (conversation, number, place, piece) VALUES (?, ?, ?, ?)"
HAS_EPOCHS = "SELECT 1 FROM epoch WHERE conversation = ? LIMIT 1"
COPY_EPOCHS = (
    "INSERT INTO epoch (conversation, number, at, why, skip, anchor, strip) SELECT ?, number, at, why, skip, anchor, strip FROM epoch WHERE conversation = ?"
)
COPY_PIECES = "INSERT INTO epoch_piece (conversation, number, place, piece) SELECT ?, number, place, piece FROM epoch_piece WHERE conversation = ?"
COPY_ADDITIONS = "INSERT OR IGNORE INTO addition (conversation, digest, ordinal, place, content) SELECT ?, digest, ordinal, place, content FROM addition WHERE conversation = ?"
PIECE = "SELECT sizes, content FROM piece WHERE id = ?"
PIECE_TOKENS = "SELECT tokens FROM piece WHERE id = ?"
PIECE_BY_HASH = "SELECT id FROM piece WHERE hash = ?"
ADD_PIECE = "INSERT INTO piece (hash, tokens, images, sizes, content) VALUES (?, ?, ?, ?, ?)"
ADDITIONS = "SELECT digest, ordinal, place, content FROM addition WHERE conversation = ?"
ADDITION = "SELECT place, content FROM addition WHERE conversation = ? AND digest = ? AND ordinal = ?"
ADD_ADDITION = "INSERT OR IGNORE INTO addition (conversation, digest, ordinal, place, content) VALUES (?, ?, ?, ?, ?)"


class Epoch:
    """One epoch: its pieces stand for the client's first `skip` messages, whose identity is `anchor`; before index `strip` no thinking goes upstream."""

    __slots__ = ("number", "at", "why", "skip", "anchor", "strip", "pieces")

    def __init__(self, row: Sequence[Any], pieces: list[int]) -> None:
        self.number = int(row[0])
        self.at = float(row[1])
        self.why = str(row[2])
        self.skip = int(row[3])
        self.anchor = str(row[4])
        self.strip = int(row[5])
        self.pieces = pieces


def epochs(store: Store, conversation: Conversation) -> list[Epoch]:
    """The conversation's epochs, newest first."""
    pieces: dict[int, list[int]] = {}
    for number, piece in store.rows(PIECES, (conversation.id,)):
        pieces.setdefault(int(number), []).append(int(piece))
    return [Epoch(row, pieces.get(int(row[0]), [])) for row in store.rows(EPOCHS, (conversation.id,))]


def add_epoch(store: Store, conversation: Conversation, *, why: str, skip: int, anchor: str, strip: int, pieces: Sequence[int], now: float) -> Epoch:
    """The new epoch; the newest one where another process has just written the same."""
    with store.transaction():
        newest = next(iter(epochs(store, conversation)), None)
        if newest is not None and (newest.why, newest.skip, newest.anchor, newest.strip, newest.pieces) == (why, skip, anchor, strip, list(pieces)):
            return newest
        number = 0 if newest is None else newest.number + 1
        store.execute(ADD_EPOCH, (conversation.id, number, now, why, skip, anchor, strip))
        for place, piece in enumerate(pieces):
            store.execute(ADD_EPOCH_PIECE, (conversation.id, number, place, piece))
    return Epoch((number, now, why, skip, anchor, strip), list(pieces))


def copy_epochs(store: Store, source: Conversation, target: Conversation) -> bool:
    """Gives a fork what its origin has: epochs, pieces, additions. False, and nothing done, when it has epochs of its own."""
    with store.transaction():
        if source.id == target.id or store.value(HAS_EPOCHS, (target.id,)) is not None:
            return False
        for copy in (COPY_EPOCHS, COPY_PIECES, COPY_ADDITIONS):
            store.execute(copy, (target.id, source.id))
    return True


def add_piece(store: Store, given: Sequence[bytes], tokens: int, images: int, *, archived: bool = False) -> int:
    """The number of the piece with these messages, redacted and without what was forgotten; the same content is the same piece.

    `archived` says that they come from the archive, which is redacted. Send what `piece_messages` gives, never what was given here. Add the epoch that it is for in the same transaction.
    """
    bare = list(given) if archived else [messages.redacted(message) for message in given]
    with store.transaction():
        gone = forgotten.known(store)
        kept = [messages.allowed(message, gone) for message in bare]
        content = "[" + ",".join(kept) + "]"
        own = blake2b(content.encode("utf-8"), digest_size=16).hexdigest()
        known = store.value(PIECE_BY_HASH, (own,))
        if known is None:
            known = store.execute(ADD_PIECE, (own, tokens, images, " ".join(str(len(message)) for message in kept), content)).lastrowid
    return int(known or 0)


def piece_messages(store: Store, pieces: Sequence[int]) -> list[bytes] | None:
    """The messages of the pieces in order, byte for byte as ever; None when one of them is gone because something in it was forgotten."""
    found: list[bytes] = []
    for piece in pieces:
        row = store.one(PIECE, (piece,))
        if row is None:
            return None
        at = 1
        for size in map(int, row[0].split()):
            found.append(row[1][at : at + size].encode("utf-8"))
            at += size + 1
    return found


def piece_tokens(store: Store, pieces: Sequence[int]) -> int:
    """The estimated tokens of the pieces together."""
    return sum(int(store.value(PIECE_TOKENS, (piece,)) or 0) for piece in pieces)


def front_tokens(store: Store, conversation: Conversation) -> tuple[int, int]:
    """The estimated tokens of past sessions that the conversation began with, and of all that stands in front of its own messages now."""
    found = epochs(store, conversation)
    return (piece_tokens(store, found[-1].pieces), piece_tokens(store, found[0].pieces)) if found else (0, 0)


def additions(store: Store, conversation: Conversation) -> dict[tuple[str, int], tuple[int, str]]:
    """What was put into the messages: by digest and ordinal of the message, the place among its blocks and the text."""
    return {(str(digest), int(ordinal)): (int(place), str(content)) for digest, ordinal, place, content in store.rows(ADDITIONS, (conversation.id,))}


def add_addition(store: Store, conversation: Conversation, digest: str, ordinal: int, place: int, content: str) -> tuple[int, str]:
    """The place and text that stand in that message for ever: the first ones that were written."""
    with store.transaction():
        store.execute(ADD_ADDITION, (conversation.id, digest, ordinal, place, forgotten.without(store, content)))
        row = store.one(ADDITION, (conversation.id, digest, ordinal))
    return (int(row[0]), str(row[1])) if row else (place, content)
