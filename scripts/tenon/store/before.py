"""What was before a digest strengthened something, in numbers, and how that is put back."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from tenon.store.db import Store
    from tenon.store.memories import Memory

WEAKEN = "UPDATE memory SET strength = ?, decayed = ?, reinforced = ?, citations = ?, status = ? WHERE id = ? AND citations = ? AND status <> 'superseded'"
ASSOCIATION = "SELECT strength, count, since FROM association WHERE a = ? AND b = ?"
SET_ASSOCIATION = "UPDATE association SET strength = ?, count = ?, since = ? WHERE a = ? AND b = ?"
DROP_ASSOCIATION = "DELETE FROM association WHERE a = ? AND b = ?"


def strength(memory: Memory) -> dict[str, Any]:
    """How strong a memory is before it is reinforced."""
    return {
        "strength": memory.strength, "decayed": memory.decayed, "reinforced": memory.reinforced, "citations": memory.citations, "faded": memory.status == "faded",
    }  # fmt: skip


def weaken(store: Store, memory: Memory, was: Mapping[str, Any]) -> bool:
    """Whether the memory is as strong as it was; one that was reinforced again since keeps what it has."""
    values = was["strength"], was["decayed"], was["reinforced"], was["citations"], "faded" if was["faded"] else "live"
    return store.execute(WEAKEN, (*values, memory.id, was["citations"] + 1)).rowcount > 0


def association(store: Store, one: int, other: int) -> dict[str, Any]:
    """How two memories are associated, {} when they are not."""
    row = store.one(ASSOCIATION, (min(one, other), max(one, other)))
    return dict(zip(("strength", "count", "since"), row)) if row else {}


def dissociate(store: Store, one: int, other: int, was: Mapping[str, Any]) -> None:
    """Puts the association back to what it was."""
    ends = min(one, other), max(one, other)
    if was:
        store.execute(SET_ASSOCIATION, (was["strength"], was["count"], was["since"], *ends))
    else:
        store.execute(DROP_ASSOCIATION, ends)
