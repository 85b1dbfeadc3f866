"""Memories: short-term and long-term, every revision kept, weakened by time and strengthened by proof.

Short-term memories are observations that fade; long-term ones are verified and say why. After backant-memory's
README; what differs: weakening goes by elapsed time and not by call, ids are never used twice, the same text is one
memory however often it is written, a faded memory is kept, and a superseded one does not come back.
"""

from __future__ import annotations

from tenon.base.errors import TenonError
from tenon.base.lean import parse
from tenon.base.text import clean
from tenon.store import associations, forgotten, index, places, vectors
from tenon.store.wording import kept

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from tenon.store.db import Store
    from tenon.store.forgotten import Forgotten

TIERS = {"short": "short", "long": "long", "stm": "short", "ltm": "long"}
KINDS = (
    "fact", "preference", "decision", "lesson", "gotcha", "convention", "command", "observation", "hypothesis",
    "anomaly", "experience", "identity", "relationship", "episode", "procedure", "failure_signature",
)  # fmt: skip
WRITERS = ("user", "model", "code", "digest")
SOURCES = ("user", "assistant", "tool", "outside", "reflection")
LONGEST = 8000  # characters of one memory; what is longer is a document, and the archive has it
FADED = 0.1  # a short-term memory weaker than this no longer surfaces
DAY_S = 86400.0
GONE = "this was forgotten or undone on the user's wish and stays gone; only the user can write it again (`tenon write --again`)"

COLUMNS = (
    "id, ref, repository, tier, kind, text, reason, source, labels, epic, strength, citations, revision, status, "
    "successor, created, reinforced, decayed, valid_from, valid_to, writer"
)
BY_REF = f"SELECT {COLUMNS} FROM memory WHERE ref = ?"
BY_ID = f"SELECT {COLUMNS} FROM memory WHERE id = ?"
ADD = (
    "INSERT INTO memory (ref, repository, tier, kind, text, reason, source, labels, epic, strength, created, reinforced, "
    "decayed, valid_from, writer) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
ADD_LINEAGE = "INSERT OR IGNORE INTO lineage (memory, turn) SELECT ?, id FROM turn WHERE id = ?"
ADD_REVISION = "INSERT INTO revision (memory, revision, text, reason, at) VALUES (?, ?, ?, ?, ?)"
REVISE = "UPDATE memory SET text = ?, reason = ?, revision = revision + 1, reinforced = ? WHERE id = ?"
SET_TIER = "UPDATE memory SET tier = ?, reason = ?, strength = ?, decayed = ?, reinforced = ?, status = 'live' WHERE id = ?"
STRENGTHEN = "UPDATE memory SET strength = ?, decayed = ?, reinforced = ?, citations = citations + ?, status = ? WHERE id = ?"
CONFIRM = "UPDATE memory SET source = 'user' WHERE id = ?"
SIGN = "UPDATE memory SET writer = 'user' WHERE id = ?"
CLOSE = "UPDATE memory SET status = 'superseded', successor = ?, valid_to = ? WHERE id = ?"
REOPEN = "UPDATE memory SET status = 'live', successor = NULL, valid_to = NULL, strength = ?, decayed = ? WHERE id = ?"
REVISIONS = "SELECT revision, text, reason, at FROM revision WHERE memory = ? ORDER BY revision"
TURNS_OF = "SELECT turn FROM lineage WHERE memory = ? ORDER BY turn"
RECENT = f"SELECT {COLUMNS} FROM memory WHERE status = 'live' AND (repository IS NULL OR repository IN ({{scope}})) ORDER BY reinforced DESC, id DESC LIMIT ?"
NEWEST = f"SELECT {COLUMNS} FROM memory WHERE status = 'live' ORDER BY reinforced DESC, id DESC LIMIT ?"
REVISED = f"SELECT {COLUMNS} FROM memory WHERE repository IS ? AND revision > 1"
ADD_DEED = "INSERT INTO deed (at, what, ref, note) VALUES (?, ?, ?, ?)"


class Memory:
    """One memory as it stands in the store; strength is as of `decayed`."""

    __slots__ = tuple(COLUMNS.split(", "))

    id: int
    ref: str
    repository: int | None
    tier: str
    kind: str
    text: str
    reason: str
    source: str
    labels: str
    epic: str
    strength: float
    citations: int
    revision: int
    status: str
    successor: int | None
    created: float
    reinforced: float
    decayed: float
    valid_from: float
    valid_to: float | None
    writer: str

    def __init__(self, row: Sequence[Any]) -> None:
        for name, value in zip(self.__slots__, row):
            setattr(self, name, value)

    def strength_at(self, now: float, per_day: float) -> float:
        """The strength at a time: what is kept per day, to the power of the days since it was last set."""
        days = max(0.0, (now - self.decayed) / DAY_S)
        return float(self.strength * per_day**days)


def write(
    store: Store,
    *,
    repository: int | None,
    tier: str,
    kind: str,
    text: str,
    now: float,
    reason: str = "",
    source: str = "assistant",
    labels: Sequence[str] = (),
    turns: Sequence[int] = (),
    epic: str = "",
    strength: float = 1.0,
    again: bool = False,
    writer: str = "model",
) -> tuple[str, bool]:
    """The id of the memory with that text, and whether it is new; the same text in the same scope is one memory.

    `turns` are the archived turns it came from; `strength` is 0 to 2; `writer` is one of WRITERS. Raises TenonError for an unknown tier, kind or
    source, an empty or overlong text, a long-term memory without a reason, a text that was superseded, and, unless
    `again`, a text that was forgotten.
    """
    tier = _tier(tier)
    text = kept(text, "text", LONGEST)
    reason = kept(reason, "reason", LONGEST, empty=True)
    if kind not in KINDS:
        raise TenonError(f"'{kind}' is not a kind of memory; the kinds are {', '.join(KINDS)}")
    if source not in SOURCES:
        raise TenonError(f"'{source}' is not a class of source; the classes are {', '.join(SOURCES)}")
    if tier == "long" and not reason:
        raise TenonError("a long-term memory needs a reason: how was it verified, or who decided it?")
    epic = kept(epic, "epic", LONGEST, empty=True)
    gone = None if again else forgotten.known(store)
    if gone is not None:
        text, reason, epic = _allowed(gone, text, GONE), gone.without(reason), gone.without(epic)
    with store.transaction():
        known = _known(store, repository, text)
        if known is not None:
            if known.status == "superseded" and again:
                known = reopen(store, known.ref, now)
            return _rewritten(store, known, tier, reason, source, now, turns, writer), False
        ref = fresh_ref(store, repository, text)
        told = _labels(labels, gone)
        values = (ref, repository, tier, kind, text, reason, source, told, epic, min(2.0, max(0.0, strength)), now, now, now, now, writer)
        rowid = int(store.execute(ADD, values).lastrowid or 0)
        index.add_memory(store, rowid, text, about(reason, told, epic))
        vectors.add(store, vectors.MEMORY, [(rowid, repository, text)])
        for turn in turns:
            store.execute(ADD_LINEAGE, (rowid, turn))
    return ref, True


def get(store: Store, ref: str) -> Memory:
    """The memory with that id, whatever its status. Raises TenonError when there is none."""
    row = store.one(BY_REF, (ref.strip(),))
    if row is None:
        raise TenonError(f"there is no memory '{ref}'; ids look like m7k2p9qxab and come from recall")
    return Memory(row)


def by_id(store: Store, rowid: int) -> Memory:
    """The memory with that row number."""
    row = store.one(BY_ID, (rowid,))
    if row is None:
        raise TenonError(f"there is no memory number {rowid}")
    return Memory(row)


def same(store: Store, repository: int | None, text: str) -> Memory | None:
    """The memory of that scope with that text (case and white space aside), whatever its status, or None."""
    return _known(store, repository, text)


def revise(store: Store, ref: str, text: str, reason: str, now: float) -> Memory:
    """The memory with its new text; the old text stays in its history.

    Raises TenonError for an unknown id, a superseded or forgotten text, or a missing reason.
    """
    text, reason = kept(text, "new_content", LONGEST), kept(reason, "reason", LONGEST)
    gone = forgotten.known(store)
    if gone is not None:
        text, reason = _allowed(gone, text, "that text was forgotten on the user's wish and stays gone"), gone.without(reason)
    with store.transaction():
        old = _living(store, ref)
        if old.text == text:
            return old
        store.execute(ADD_REVISION, (old.id, old.revision, old.text, reason, now))
        store.execute(REVISE, (text, reason if old.tier == "long" else old.reason, now, old.id))
        _index_again(store, old.id)
        vectors.drop(store, vectors.MEMORY, [old.id], again=True)
        vectors.add(store, vectors.MEMORY, [(old.id, old.repository, text)])
        store.execute(ADD_DEED, (now, "revise", old.ref, f"revision {old.revision + 1}"))
    return by_id(store, old.id)


def promote(store: Store, ref: str, reason: str, now: float) -> Memory:
    """The memory in the long-term tier, at full strength, under the same id. Raises TenonError as `revise` does."""
    return _move(store, ref, "long", forgotten.without(store, kept(reason, "reason", LONGEST)), now)


def demote(store: Store, ref: str, reason: str, now: float) -> Memory:
    """The memory back in the short-term tier at no more than half strength, under the same id."""
    return _move(store, ref, "short", forgotten.without(store, kept(reason, "reason", LONGEST)), now)


def reinforce(store: Store, ref: str, now: float, *, factor: float = 1.2, per_day: float = 1.0) -> Memory:
    """The memory after it proved right: stronger, one citation more, and fresh again; a faded one surfaces again.

    `factor` is 1 to 2. Strength is never lowered by it, whatever surprise scaled it to. Raises TenonError for
    an unknown id, a superseded memory or a factor out of range.
    """
    if not 1.0 <= factor <= 2.0:
        raise TenonError(f"factor must be from 1 to 2, not {factor:g}: reinforcing strengthens; to weaken, demote")
    with store.transaction():
        old = _living(store, ref)
        now_strong = old.strength_at(now, per_day)
        strength = max(now_strong, min(max(1.0, old.strength), max(now_strong * factor, 0.3)))
        store.execute(STRENGTHEN, (strength, now, now, 1, "live", old.id))
    return by_id(store, old.id)


def supersede(store: Store, old_ref: str, new_ref: str, now: float) -> None:
    """Closes the old memory's validity in favour of the new one; it no longer surfaces and does not come back.

    Doing it twice is doing it once. Raises TenonError for unknown ids, a memory superseding itself, and when either of the
    two was superseded by another one already.
    """
    with store.transaction():
        old, new = get(store, old_ref), _living(store, new_ref)
        if old.id == new.id:
            raise TenonError(f"{old.ref} cannot supersede itself; write what holds now, or revise it")
        if old.status == "superseded" and old.successor == new.id:
            return
        _living(store, old_ref)
        _close(store, old, new.id, now)
        associations.inherit(store, old.id, new.id, now)
        store.execute(ADD_DEED, (now, "supersede", old.ref, f"by {new.ref}"))


def close(store: Store, ref: str, now: float) -> None:
    """Closes a memory in favour of none: it no longer surfaces, and is not written again but by the user (`again`)."""
    with store.transaction():
        memory = get(store, ref)
        if memory.status != "superseded":
            _close(store, memory, None, now)
            store.execute(ADD_DEED, (now, "close", memory.ref, ""))


def reopen(store: Store, ref: str, now: float) -> Memory:
    """The memory, which surfaces again, whatever it was closed in favour of."""
    with store.transaction():
        memory = get(store, ref)
        if memory.status == "superseded":
            store.execute(REOPEN, (max(memory.strength, 0.3), now, memory.id))
            index.add_memory(store, memory.id, memory.text, about(memory.reason, memory.labels, memory.epic))
            vectors.add(store, vectors.MEMORY, [(memory.id, memory.repository, memory.text)])
            store.execute(ADD_DEED, (now, "reopen", memory.ref, ""))
    return by_id(store, memory.id)


def history(store: Store, memory: Memory) -> list[dict[str, object]]:
    """Every earlier text of the memory, oldest first, with why it was replaced."""
    return [{"revision": a, "text": b, "replaced_because": c, "at": d} for a, b, c, d in store.rows(REVISIONS, (memory.id,))]


def lineage(store: Store, memory: Memory) -> list[int]:
    """The archived turns that the memory came from."""
    return [int(row[0]) for row in store.rows(TURNS_OF, (memory.id,))]


def recent(store: Store, repository: int, limit: int) -> list[Memory]:
    """The memories of the repository and agent-wide ones that were written or proved last."""
    numbers = places.scope(store, repository)
    return [Memory(row) for row in store.rows(RECENT.format(scope=", ".join("?" * len(numbers))), (*numbers, limit))]


def newest(store: Store, limit: int) -> list[Memory]:
    """The memories of all repositories, and agent-wide ones, that were written or proved last."""
    return [Memory(row) for row in store.rows(NEWEST, (limit,))]


def about(reason: str, labels: str, epic: str) -> str:
    """What the index has of a memory besides its text: why it is held, the words of its labels (JSON, as stored) and its epic."""
    named = parse(labels)
    return " ".join(filter(None, (reason, *(map(str, named) if isinstance(named, list) else ()), epic)))


def _close(store: Store, memory: Memory, successor: int | None, now: float) -> None:
    store.execute(CLOSE, (successor, now, memory.id))
    index.drop_memory(store, memory.id)
    vectors.drop(store, vectors.MEMORY, [memory.id])


def _index_again(store: Store, rowid: int) -> None:
    memory = by_id(store, rowid)
    index.drop_memory(store, rowid)
    index.add_memory(store, rowid, memory.text, about(memory.reason, memory.labels, memory.epic))


def _tier(tier: str) -> str:
    if tier not in TIERS:
        raise TenonError(f"'{tier}' is not a tier; it is short (stm) or long (ltm)")
    return TIERS[tier]


def _allowed(gone: Forgotten, text: str, refusal: str) -> str:
    """The text without what the user named. Raises TenonError when that is all of it, or it was forgotten as it is."""
    left = gone.without(text)
    if gone.is_text(text) or (left != text and (gone.is_text(left) or forgotten.says_nothing(left))):
        raise TenonError(refusal)
    return left


def _labels(labels: Sequence[str], gone: Forgotten | None) -> str:
    import json

    from tenon.base.redact import redact

    told = [redact(clean(str(label))) for label in labels]
    return json.dumps(told if gone is None else [gone.without(label) for label in told], ensure_ascii=False)


def _ref(scope: str, text: str, attempt: int) -> str:
    from base64 import b32encode
    from hashlib import sha256

    digest = sha256(f"{scope}\n{_plain(text)}\n{attempt}".encode()).digest()
    return "m" + b32encode(digest).decode().lower()[:9]


def _plain(text: str) -> str:
    return " ".join(text.lower().split())


def _known(store: Store, repository: int | None, text: str) -> Memory | None:
    attempt = 0
    scope = places.key(store, repository)
    while True:
        row = store.one(BY_REF, (_ref(scope, text, attempt),))
        if row is None:
            break
        memory = Memory(row)
        if _plain(memory.text) == _plain(text):
            return memory
        attempt += 1  # the memory was revised since, so its id no longer speaks of this text
    # Nor does the id of a memory that was revised to this text.
    return next((memory for memory in map(Memory, store.rows(REVISED, (repository,))) if _plain(memory.text) == _plain(text)), None)


def fresh_ref(store: Store, repository: int | None, text: str) -> str:
    """The id that a memory of that text gets, which no other one has."""
    scope = places.key(store, repository)
    attempt = 0
    while store.one(BY_REF, (_ref(scope, text, attempt),)) is not None:
        attempt += 1
    return _ref(scope, text, attempt)


def _rewritten(store: Store, known: Memory, tier: str, reason: str, source: str, now: float, turns: Sequence[int], writer: str) -> str:
    if known.status == "superseded":
        successor = by_id(store, known.successor) if known.successor else None
        raise TenonError(
            f"this was superseded{f' by {successor.ref}: «{successor.text[:80]}»' if successor else ''}; it does not come back, revise that one instead"
        )
    if known.source == "outside" and source == "user":
        store.execute(CONFIRM, (known.id,))
    elif known.source == "outside" and tier == "long":
        raise TenonError("this was written from outside sources; have the user confirm it before it becomes long-term, then write it with origin user")
    if writer == "user":
        store.execute(SIGN, (known.id,))
    if tier == "long" and known.tier == "short":
        _move(store, known.ref, "long", reason, now)
    else:
        store.execute(STRENGTHEN, (max(known.strength, 1.0), now, now, 0, "live", known.id))
    for turn in turns:
        store.execute(ADD_LINEAGE, (known.id, turn))
    return known.ref


def _living(store: Store, ref: str) -> Memory:
    memory = get(store, ref)
    if memory.status == "superseded":
        successor = by_id(store, memory.successor).ref if memory.successor else "a newer one"
        raise TenonError(f"{ref} was superseded by {successor} and stays closed; use {successor}")
    return memory


def _move(store: Store, ref: str, tier: str, reason: str, now: float) -> Memory:
    with store.transaction():
        old = _living(store, ref)
        strength = max(old.strength, 1.0) if tier == "long" else min(old.strength, 0.5)
        if old.tier != tier:
            store.execute(SET_TIER, (tier, reason, strength, now, now, old.id))
            _index_again(store, old.id)
            store.execute(ADD_DEED, (now, "promote" if tier == "long" else "demote", old.ref, reason[:200]))
    return by_id(store, old.id)
