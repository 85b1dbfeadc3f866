"""Fading: what memories lose by time alone, so that what nobody needed gives way."""

from __future__ import annotations

from tenon.store import memories, places

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tenon.store.db import Store

# A procedure, and whatever an active epic still needs, keeps its strength.
SWEPT = (
    f"SELECT {memories.COLUMNS} FROM memory m WHERE status = 'live' AND kind <> 'procedure' AND (repository IS NULL OR repository = ?) "
    "AND NOT EXISTS (SELECT 1 FROM task t WHERE t.repository = m.repository AND t.epic = m.epic AND t.status = 'active')"
)
WEAKENED = "UPDATE memory SET strength = ?, decayed = ?, status = ? WHERE id = ?"


def sweep(store: Store, repository: int | None, now: float, per_day: dict[str, float]) -> tuple[int, int]:
    """How many memories of the repository (and agent-wide ones) were weakened, and how many faded from view.

    `per_day` says what each tier keeps of its strength per day. Sweeping twice in a minute is sweeping once.
    """
    weakened = faded = 0
    with store.transaction():
        for number in places.scope(store, repository) or [-1]:
            for row in store.rows(SWEPT, (number,)):
                memory = memories.Memory(row)
                strength = memory.strength_at(now, per_day[memory.tier])
                if memory.strength - strength < 0.001:
                    continue
                gone = memory.tier == "short" and strength < memories.FADED
                store.execute(WEAKENED, (strength, now, "faded" if gone else "live", memory.id))
                weakened += 1
                faded += gone
    return weakened, faded
