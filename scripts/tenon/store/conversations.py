"""The conversations that go through the proxy: how each is known, how it goes, and what its client has sent.

What an epoch puts in front of a conversation is in store/epochs.py; its functions are offered here too.
"""

from __future__ import annotations

from tenon.base.redact import redact
from tenon.base.text import clean, cut
from tenon.store import forgotten, messages
from tenon.store.epochs import Epoch, add_addition, add_epoch, add_piece, additions, copy_epochs, epochs, front_tokens, piece_messages, piece_tokens
from tenon.store.messages import altered, redacted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from tenon.store.db import Store

__all__ = [
    "Conversation", "Epoch", "add_addition", "add_epoch", "add_piece", "additions", "altered", "announce", "begin", "begun_with", "bypass", "compacting", "copy_epochs", "epochs", "find", "front_tokens", "leave_alone", "like",
    "listed", "piece_messages", "piece_tokens", "prune", "redacted", "remember_sent", "sent", "sent_digests", "set_trace_start", "touch", "trace_start",
]  # fmt: skip

HOOKED = "claude-code with hooks"  # the client of a conversation that a hook announced
KEEP_S = 30 * 86400.0
REASON_CHARS = 300
CLIENT_CHARS = 80
AT_ONCE = 400  # digests that are looked for in one statement
OFTEN = 16  # times that a message is said in one conversation; one that is said more often tells nothing

COLUMNS = "c.id, c.name, c.client, c.folder, c.repository, c.began, c.last, c.state, c.reason, c.requests, c.tokens, c.text_bytes, c.per_token, c.compacting"
BY_NAME = f"SELECT {COLUMNS} FROM conversation c WHERE c.name = ?"
BY_ID = f"SELECT {COLUMNS} FROM conversation c WHERE c.id = ?"
LATEST = f"SELECT {COLUMNS} FROM conversation c WHERE c.state <> 'announced' ORDER BY c.last DESC, c.id DESC LIMIT ?"
BEGUN_WITH = (
    f"SELECT {COLUMNS} FROM sent s JOIN conversation c ON c.id = s.conversation WHERE s.digest = ? AND s.place = 0 ORDER BY c.last DESC, c.id DESC LIMIT ?"
)
ADD = (
    "INSERT OR IGNORE INTO conversation (name, client, folder, repository, began, last, state, reason) VALUES (:name, :client, :folder, :repository, :now, :now, "
    ":state, :reason)"
)
# What was announced begins with the first request; what has begun stays as it began.
BEGIN_ANNOUNCED = (
    "UPDATE conversation SET client = :client, folder = :folder, repository = :repository, last = max(last, :now), state = :state, reason = :reason "
    "WHERE name = :name AND state = 'announced'"
)
TOUCH = "UPDATE conversation SET last = max(last, ?), requests = requests + 1, tokens = ?, text_bytes = ?, per_token = ? WHERE id = ?"
COMPACTING = "UPDATE conversation SET compacting = ? WHERE id = ?"
BYPASS = "UPDATE conversation SET state = 'bypassed', reason = ?, last = max(last, ?) WHERE id = ?"

SENT = "SELECT place, digest, content FROM sent WHERE conversation = ? ORDER BY place"
SENT_DIGESTS = "SELECT place, digest FROM sent WHERE conversation = ? AND place >= ? ORDER BY place"
SENT_COUNT = "SELECT count(*) FROM sent WHERE conversation = ? AND place < ?"
DROP_SENT = "DELETE FROM sent WHERE conversation = ? AND place >= ?"
ADD_SENT = "INSERT INTO sent (conversation, place, digest, content) VALUES (?, ?, ?, ?)"
WITH_DIGESTS = "SELECT conversation, place, digest FROM sent WHERE digest IN ({})"

LEFT = (
    "SELECT id, (SELECT count(*) FROM sent s WHERE s.conversation = c.id), (SELECT coalesce(max(strip), 0) FROM epoch e WHERE e.conversation = c.id) "
    "FROM conversation c WHERE last < ? AND state IN ('traced', 'bypassed') AND (EXISTS (SELECT 1 FROM sent s WHERE s.conversation = c.id) "
    "OR EXISTS (SELECT 1 FROM epoch_piece p WHERE p.conversation = c.id) OR EXISTS (SELECT 1 FROM addition a WHERE a.conversation = c.id)) ORDER BY id"
)
STILL_LEFT = "SELECT 1 FROM conversation WHERE id = ? AND last < ?"
NEXT_NUMBER = "SELECT coalesce(max(number), -1) + 1 FROM epoch WHERE conversation = ?"
DROP_EPOCHS = "DELETE FROM epoch WHERE conversation = ?"
DROP_ADDITIONS = "DELETE FROM addition WHERE conversation = ?"
ADD_LEFT = "INSERT INTO epoch (conversation, number, at, why, skip, anchor, strip) VALUES (?, ?, ?, 'left', 0, '', ?)"
DROP_UNUSED = "DELETE FROM conversation WHERE last < ? AND state IN ('announced', 'plain')"
DROP_PIECES = "DELETE FROM piece WHERE NOT EXISTS (SELECT 1 FROM epoch_piece e WHERE e.piece = piece.id)"

TRACE_START = "SELECT value FROM meta WHERE name = ?"
SET_TRACE_START = "INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)"


class Conversation:
    """One conversation. `state` is announced (no request yet), traced, plain or bypassed; `per_token` is 0.0 until it was measured."""

    __slots__ = (
        "id",
        "name",
        "client",
        "folder",
        "repository",
        "began",
        "last",
        "state",
        "reason",
        "requests",
        "tokens",
        "text_bytes",
        "per_token",
        "compacting",
    )

    id: int
    name: str
    client: str
    folder: str
    repository: int | None
    began: float
    last: float
    state: str
    reason: str
    requests: int
    tokens: int
    text_bytes: int
    per_token: float
    compacting: str

    def __init__(self, row: Sequence[Any]) -> None:
        self.become(row)

    def become(self, row: Sequence[Any]) -> None:
        """Takes the values of a row."""
        for name, value in zip(self.__slots__, row):
            setattr(self, name, value)


def find(store: Store, name: str) -> Conversation | None:
    """The conversation with that name, or None."""
    row = store.one(BY_NAME, (clean(name),))
    return None if row is None else Conversation(row)


def begin(store: Store, *, name: str, client: str, folder: str, repository: int | None, now: float, state: str, reason: str = "") -> Conversation:
    """The conversation, new, or announced before and begun now, or as another process has just begun it."""
    with store.transaction():
        gone = forgotten.known(store)
        given = {
            "name": clean(name),
            "client": _short(gone, client, CLIENT_CHARS),
            "folder": _without(gone, clean(folder)),
            "repository": repository,
            "now": now,
            "state": state,
            "reason": _short(gone, reason, REASON_CHARS),
        }
        if not store.execute(ADD, given).rowcount and state != "announced":
            store.execute(BEGIN_ANNOUNCED, given)
        return Conversation(store.one(BY_NAME, (given["name"],)) or ())


def announce(store: Store, name: str, *, folder: str, repository: int | None, now: float) -> None:
    """Notes that a session's hooks ran, so that the proxy leaves to them what they do; nothing changes for one that has begun."""
    begin(store, name=name, client=HOOKED, folder=folder, repository=repository, now=now, state="announced")


def leave_alone(store: Store, name: str, reason: str, now: float) -> None:
    """Notes that a session is to be relayed as it comes, and nothing else of it."""
    begin(store, name=name, client=HOOKED, folder="", repository=None, now=now, state="plain", reason=reason)


def touch(store: Store, conversation: Conversation, *, now: float, tokens: int, text_bytes: int, per_token: float) -> None:
    """Counts a request that was answered, and keeps what was measured; the object says it too."""
    store.execute(TOUCH, (now, tokens, text_bytes, per_token, conversation.id))
    _refresh(store, conversation)


def compacting(store: Store, conversation: Conversation, anchor: str) -> None:
    """Keeps the identity of what the client has asked a summary of; the object says it too."""
    store.execute(COMPACTING, (anchor, conversation.id))
    conversation.compacting = anchor


def bypass(store: Store, conversation: Conversation, reason: str, now: float) -> None:
    """From now on the conversation is left alone, and `reason` says why; the object says it too."""
    with store.transaction():
        store.execute(BYPASS, (_short(forgotten.known(store), reason, REASON_CHARS), now, conversation.id))
    _refresh(store, conversation)


def listed(store: Store, limit: int) -> list[Conversation]:
    """The latest conversations that have begun, newest first."""
    return [Conversation(row) for row in store.rows(LATEST, (limit,))]


def sent(store: Store, conversation: Conversation) -> list[tuple[str, bytes]]:
    """What the client sent last: the digest of each message as it came, and the message as it is kept (see `altered`)."""
    found: list[tuple[str, bytes]] = []
    for place, digest, content in store.rows(SENT, (conversation.id,)):
        if place != len(found):
            break  # a damaged store has lost one
        found.append((str(digest), content.encode("utf-8")))
    return found


def sent_digests(store: Store, conversation: Conversation) -> list[str]:
    """The digests of `sent`, without reading the messages."""
    found: list[str] = []
    for place, digest in store.rows(SENT_DIGESTS, (conversation.id, 0)):
        if place != len(found):
            break
        found.append(str(digest))
    return found


def remember_sent(store: Store, conversation: Conversation, start: int, given: Sequence[tuple[str, bytes]]) -> bool:
    """Replaces everything from place `start` on by the messages given, each with its digest.

    Those that are there already stay as they are and cost nothing; the others are redacted before the store is locked.
    False, and nothing written, when the messages before `start` are not all there: another process has taken some away.
    """
    same, there = _same(store, conversation, start, given)
    if same == len(given) == there:
        return bool(store.value(SENT_COUNT, (conversation.id, start)) == start)
    bare = {number: messages.redacted(given[number][1]) for number in range(same, len(given))}
    with store.transaction():
        if store.value(SENT_COUNT, (conversation.id, start)) != start:
            return False
        same, _ = _same(store, conversation, start, given)  # another process may have written meanwhile
        gone = forgotten.known(store)
        store.execute(DROP_SENT, (conversation.id, start + same))
        for number in range(same, len(given)):
            digest, message = given[number]
            kept = messages.allowed(bare[number] if number in bare else messages.redacted(message), gone, conversation.name)
            store.execute(ADD_SENT, (conversation.id, start + number, digest, kept))
    return True


def like(store: Store, digests: Sequence[str]) -> Conversation | None:
    """The conversation that has most of these messages, in this order and with nothing between them; the newest of several.

    A single message must be the one that it began with; of more at least two neighbours must be there. They need not stand at
    its beginning: a client may have dropped its oldest messages, or have changed the first one.
    """
    if len(digests) == 1:
        return next(iter(begun_with(store, digests[0], 1)), None)
    places: dict[str, list[int]] = {}
    for number, digest in enumerate(digests):
        places.setdefault(digest, []).append(number)
    sought = [digest for digest, numbers in places.items() if len(numbers) <= OFTEN]
    telling = [number for number, digest in enumerate(digests) if len(places[digest]) <= OFTEN]
    following = dict(zip(telling, telling[1:]))
    agreeing: dict[tuple[int, int], set[int]] = {}
    for at in range(0, len(sought), AT_ONCE):
        some = sought[at : at + AT_ONCE]
        for conversation, place, digest in store.rows(WITH_DIGESTS.format(", ".join("?" * len(some))), some):
            for number in places[digest]:
                agreeing.setdefault((conversation, place - number), set()).add(number)
    most: dict[int, int] = {}
    for (conversation, _), numbers in agreeing.items():
        if any(following.get(number) in numbers for number in numbers):
            most[conversation] = max(most.get(conversation, 0), len(numbers))
    best = max(most.values(), default=0)
    rows = [row for number in most if most[number] == best and (row := store.one(BY_ID, (number,))) is not None]
    return max(map(Conversation, rows), key=lambda found: (found.last, found.id), default=None)


def begun_with(store: Store, digest: str, limit: int = 20) -> list[Conversation]:
    """The latest conversations that began with this message, newest first."""
    return [Conversation(row) for row in store.rows(BEGUN_WITH, (digest, limit))]


def prune(store: Store, now: float) -> None:
    """Drops what conversations that were left thirty days ago hold: pieces, additions, what was sent.

    When one of them goes on after all, it has an epoch («left») that keeps out the thinking that was bound to what is gone.
    """
    before = now - KEEP_S
    for number, count, strip in store.rows(LEFT, (before,)):
        with store.transaction():  # one at a time: others want to write too
            if store.value(STILL_LEFT, (number, before)) is None:
                continue
            following = store.value(NEXT_NUMBER, (number,))
            store.execute(DROP_SENT, (number, 0))
            store.execute(DROP_ADDITIONS, (number,))
            store.execute(DROP_EPOCHS, (number,))
            store.execute(ADD_LEFT, (number, following, now, max(count, strip)))
    with store.transaction():
        store.execute(DROP_UNUSED, (before,))
        store.execute(DROP_PIECES)


def trace_start(store: Store, key: str) -> float:
    """The time with which traces of this scope begin; 0 when none was set."""
    return float(store.value(TRACE_START, (f"trace {key}",)) or 0)


def set_trace_start(store: Store, key: str, at: float) -> None:
    """Lets traces of this scope begin with that time from now on."""
    store.execute(SET_TRACE_START, (f"trace {key}", repr(at)))


def _same(store: Store, conversation: Conversation, start: int, given: Sequence[tuple[str, bytes]]) -> tuple[int, int]:
    """How many of the messages given are there already, and how many are there in all from `start` on."""
    there = store.rows(SENT_DIGESTS, (conversation.id, start))
    same = 0
    while same < min(len(there), len(given)) and there[same] == (start + same, given[same][0]):
        same += 1
    return same, len(there)


def _refresh(store: Store, conversation: Conversation) -> None:
    row = store.one(BY_ID, (conversation.id,))
    if row is not None:
        conversation.become(row)


def _short(gone: forgotten.Forgotten | None, text: str, limit: int) -> str:
    return cut(_without(gone, redact(clean(text))), limit)


def _without(gone: forgotten.Forgotten | None, text: str) -> str:
    return text if gone is None else gone.without(text)
