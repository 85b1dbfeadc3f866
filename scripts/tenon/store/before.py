"""What was before a digest strengthened something, in numbers, and how that is put back."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from tenon.store.db import Store
    from tenon.store.memories import Memory

WEAKEN = "UPDATE memory SET strength = ?, decayed = ?, reinforced = ?, citations = ?, status = ? WHERE id = ? AND citations = ? AND reinforced = ? AND status <> 'superseded'"
ASSOCIATION = "SELECT strength, count, since FROM association WHERE a = ? AND b = ?"
AS_LEFT = "WHERE a = ? AND b = ? AND count = ? AND since = ?"  # nothing has strengthened it since
SET_ASSOCIATION = f"UPDATE association SET strength = ?, count = ?, since = ? {AS_LEFT}"
DROP_ASSOCIATION = f"DELETE FROM association {AS_LEFT}"


def strength(memory: Memory, now: float) -> dict[str, Any]:
    """How strong a memory is before it is reinforced now."""
    return {
        "strength": memory.strength, "decayed": memory.decayed, "reinforced": memory.reinforced, "citations": memory.citations,
        "faded": memory.status == "faded", "at": now,
    }  # fmt: skip


def weaken(store: Store, memory: Memory, was: Mapping[str, Any]) -> bool:
    """Whether the memory is as strong as it was; one that was reinforced, written or moved again since keeps what it has."""
    values = was["strength"], was["decayed"], was["reinforced"], was["citations"], "faded" if was["faded"] else "live"
    return store.execute(WEAKEN, (*values, memory.id, was["citations"] + 1, was.get("at"))).rowcount > 0


def association(store: Store, one: int, other: int, now: float) -> dict[str, Any]:
    """How two memories are associated before that is made stronger now."""
    row = store.one(ASSOCIATION, (min(one, other), max(one, other)))
    return {**(dict(zip(("strength", "count", "since"), row)) if row else {}), "at": now}


def dissociate(store: Store, one: int, other: int, was: Mapping[str, Any]) -> None:
    """Puts the association back to what it was, unless they have come up together again since."""
    count = was.get("count", 0)
    left = min(one, other), max(one, other), count + 1, was.get("at")
    if count:
        store.execute(SET_ASSOCIATION, (was["strength"], count, was["since"], *left))
    else:
        store.execute(DROP_ASSOCIATION, left)
