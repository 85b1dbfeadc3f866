"""Identity: a few statements of who the agent is to its user, agent-wide, in front of every new session; yours to correct, freeze and clear.

They are memories of the kinds identity and relationship. What came from a tool or from outside is none, whatever its kind.
"""

from __future__ import annotations

from tenon.base.errors import TenonError
from tenon.base.text import cut
from tenon.store import memories, notes
from tenon.store.wording import kept

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from tenon.store.db import Store
    from tenon.store.memories import Memory

KINDS = ("identity", "relationship")
SOURCES = ("user", "assistant", "reflection")
MOST = 8  # statements
LONGEST = 240  # characters of one
BUDGET = 1500  # characters of all
FROZEN = "identity:frozen"
OWN_WORDS, CORRECTED = "the user's own words", "corrected by the user"

_OURS = (
    f"SELECT {memories.COLUMNS} FROM memory WHERE {{status}} AND repository IS NULL AND kind IN ('identity', 'relationship') "
    "AND source IN ('user', 'assistant', 'reflection') ORDER BY kind, created, id"
)
HELD = _OURS.format(status="status = 'live'")
OPEN = _OURS.format(status="status IN ('live', 'faded')")
EVER = _OURS.format(status="status IN ('live', 'faded', 'superseded')")
SIGN = "UPDATE memory SET writer = 'user', source = 'user' WHERE id = ?"


def held(store: Store) -> list[Memory]:
    """The statements held now, identity first, then relationship, each kind oldest first."""
    return [memories.Memory(row) for row in store.rows(HELD)]


def told(statements: Sequence[Memory]) -> list[tuple[Memory, str]]:
    """Those of the statements that a session is told, in their order, each with its words: within the budget, and what the user wrote first of all."""
    chosen: dict[int, str] = {}
    left = BUDGET
    for memory in sorted(statements, key=lambda memory: memory.writer != "user"):
        text = cut(memory.text, LONGEST)
        if len(chosen) < MOST and len(text) <= left:
            chosen[memory.id] = text
            left -= len(text)
    return [(memory, chosen[memory.id]) for memory in statements if memory.id in chosen]


def room(store: Store, text: str = "", instead: Memory | None = None) -> bool:
    """Whether a statement of that text can be held besides the others, in the place of `instead` when that is given."""
    others = [memory for memory in held(store) if instead is None or memory.id != instead.id]
    return len(text) <= LONGEST and len(others) < MOST and sum(len(memory.text) for memory in others) + len(text) <= BUDGET


def add(store: Store, text: str, now: float, *, kind: str = "identity", by_user: bool = True) -> tuple[Memory, bool]:
    """The statement with that text and whether it is new; one that was let go of is held again.

    `by_user` signs it as the user's, which no digest touches. Raises TenonError for a text that is too long, where there is no room, and for one that
    is remembered as something else.
    """
    text = _fitting(text)
    with store.transaction():
        known = memories.same(store, None, text)
        if known is not None and known.kind not in KINDS:
            raise TenonError(f"{known.ref} says that already, as {known.kind}; say it otherwise, or `tenon forget {known.ref}` first")
        if known is None or known.id not in {memory.id for memory in held(store)}:
            _room(store, text)
        ref, new = memories.write(
            store, repository=None, tier="long", kind=kind, text=text, reason=OWN_WORDS if by_user else "said in a session", now=now,
            source="user" if by_user else "assistant", again=by_user and known is not None and known.status == "superseded", writer="user" if by_user else "model",
        )  # fmt: skip
        memory = memories.get(store, ref)
        return (sign(store, memory) if by_user else memory), new


def correct(store: Store, ref: str, text: str, now: float, *, by_user: bool = True) -> Memory:
    """The statement with its new text; the old one stays in its history.

    `by_user` signs it as the user's, which no digest touches; the same text again is a confirmation. Raises TenonError for an id that is none of a
    statement, and a text that is too long or said by another one.
    """
    text = _fitting(text)
    with store.transaction():
        memory = statement(store, ref)
        known = memories.same(store, None, text)
        if known is not None and known.id != memory.id and known.status != "superseded":
            raise TenonError(f"{known.ref} says that already; remove one of the two: `tenon identity remove {memory.ref}`")
        if len(text) > len(memory.text):  # a shorter one makes room, however little there is
            _room(store, text, memory)
        found = memories.revise(store, memory.ref, text, CORRECTED if by_user else "corrected in a session", now)
        return sign(store, found) if by_user else found


def remove(store: Store, ref: str, now: float) -> Memory:
    """The statement, which is let go of; no digest writes it again. Raises TenonError for an id that is none of a statement."""
    with store.transaction():
        memory = statement(store, ref)
        memories.close(store, memory.ref, now)
    return memory


def clear(store: Store, now: float) -> int:
    """How many statements were closed; no digest writes them again."""
    with store.transaction():
        found = [memories.Memory(row) for row in store.rows(OPEN)]
        for memory in found:
            memories.close(store, memory.ref, now)
    return len(found)


def statement(store: Store, ref: str) -> Memory:
    """The statement with that id. Raises TenonError when it is held no more, or never was."""
    found = next((memory for memory in held(store) if memory.ref == ref.strip()), None)
    if found is None:
        raise TenonError(f"'{ref}' is none of the statements that are held; `tenon identity` lists them with their ids")
    return found


def history(store: Store) -> list[dict[str, Any]]:
    """What became of every statement there ever was, in order: written, revised (with the new text), closed; at, id, kind, text, why and by whom."""
    events: list[dict[str, Any]] = []
    for memory in (memories.Memory(row) for row in store.rows(EVER)):
        earlier = memories.history(store, memory)
        texts = [*(str(one["text"]) for one in earlier), memory.text]
        own = {"id": memory.ref, "kind": memory.kind}
        events.append({"at": memory.created, "what": "written", **own, "text": texts[0], "why": "" if earlier else memory.reason})
        events += [{"at": one["at"], "what": "revised", **own, "text": text, "why": one["replaced_because"]} for one, text in zip(earlier, texts[1:])]
        if memory.status == "superseded":
            successor = memories.by_id(store, memory.successor).ref if memory.successor else ""
            events.append(
                {
                    "at": memory.valid_to or memory.created,
                    "what": "closed",
                    **own,
                    "text": memory.text,
                    "why": f"superseded by {successor}" if successor else "",
                }
            )
    return sorted(events, key=lambda event: event["at"])


def is_frozen(store: Store) -> bool:
    """Whether no digest may change it."""
    return notes.value(store, FROZEN) != ""


def freeze(store: Store, now: float) -> None:
    """From now on no digest changes it."""
    notes.note(store, FROZEN, f"{now:.0f}")


def thaw(store: Store) -> None:
    """From now on digests may change it again."""
    notes.note(store, FROZEN, "")


def _fitting(text: str) -> str:
    text = " ".join(kept(text, "text", memories.LONGEST).split())
    if len(text) > LONGEST:
        raise TenonError(f"a statement has at most {LONGEST} characters, this one has {len(text):,}; say it shorter, or as two")
    return text


def _room(store: Store, text: str, instead: Memory | None = None) -> None:
    if not room(store, text, instead):
        raise TenonError(f"identity holds at most {MOST} statements of {BUDGET:,} characters in all; remove or shorten one first (`tenon identity` lists them)")


def sign(store: Store, memory: Memory) -> Memory:
    """The memory as the user's own, which no digest touches."""
    store.execute(SIGN, (memory.id,))
    return memories.get(store, memory.ref)
