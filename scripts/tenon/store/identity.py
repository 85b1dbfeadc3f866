"""Identity: a few statements of who the agent is to its user, agent-wide, in front of every new session; yours to freeze and to clear.

They are memories of the kinds identity and relationship. What came from a tool or from outside is none, whatever its kind.
"""

from __future__ import annotations

from tenon.store import memories, notes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tenon.store.db import Store
    from tenon.store.memories import Memory

KINDS = ("identity", "relationship")
MOST = 8  # statements
LONGEST = 240  # characters of one
BUDGET = 1500  # characters of all
FROZEN = "identity:frozen"

HELD = (
    f"SELECT {memories.COLUMNS} FROM memory WHERE status = 'live' AND repository IS NULL AND kind IN ('identity', 'relationship') "
    "AND source IN ('user', 'assistant', 'reflection') ORDER BY kind, created, id"
)


def held(store: Store) -> list[Memory]:
    """The statements held now, identity first, then relationship, each kind oldest first."""
    return [memories.Memory(row) for row in store.rows(HELD)]


def room(store: Store, text: str = "", instead: Memory | None = None) -> bool:
    """Whether a statement of that text can be held besides the others, in the place of `instead` when that is given."""
    others = [memory for memory in held(store) if instead is None or memory.id != instead.id]
    return len(text) <= LONGEST and len(others) < MOST and sum(len(memory.text) for memory in others) + len(text) <= BUDGET


def is_frozen(store: Store) -> bool:
    """Whether no digest may change it."""
    return notes.value(store, FROZEN) != ""


def freeze(store: Store, now: float) -> None:
    """From now on no digest changes it."""
    notes.note(store, FROZEN, f"{now:.0f}")


def thaw(store: Store) -> None:
    """From now on digests may change it again."""
    notes.note(store, FROZEN, "")


def clear(store: Store, now: float) -> int:
    """How many statements were closed; no digest writes them again."""
    with store.transaction():
        found = held(store)
        for memory in found:
            memories.close(store, memory.ref, now)
    return len(found)
