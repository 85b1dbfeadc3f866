"""What keeps a memory or a turn from coming up by itself, and how it fares against a prompt, in sentences."""

from __future__ import annotations

from tenon.base.text import cut
from tenon.recall.recall import recall
from tenon.store import memories, places

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tenon.base.settings import Settings
    from tenon.recall.recall import Hit
    from tenon.store.db import Store
    from tenon.store.exchanges import Turn
    from tenon.store.memories import Memory
    from tenon.store.vectors import Model

WEAK = 0.3  # a strength below which others rank before it
NOTHING = "Nothing keeps it from coming up here, once a session, for a prompt that it answers by its words or by what it means."
SWITCHED_OFF = "The lookup for prompts is switched off (inject.prompt)."


def standing(found: Memory, successor: Memory | None) -> str:
    """The memory's status in words: live, faded, or superseded by which."""
    if found.status == "superseded":
        return f"superseded by {successor.ref}: «{cut(successor.text, 80)}»" if successor else "closed: it was undone, or what superseded it was forgotten"
    return "faded: too weak to come up by itself; reinforcing brings it back" if found.status == "faded" else found.status


def of_memory(store: Store, memory: Memory, now: float, per_day: Mapping[str, float]) -> list[str]:
    """What about the memory itself keeps it back."""
    successor = memories.by_id(store, memory.successor) if memory.successor else None
    strength = memory.strength_at(now, per_day[memory.tier])
    told = [
        (memory.status != "live", f"It is {standing(memory, successor)}."),
        (memory.kind in ("procedure", "handoff"), f"It is a {memory.kind}, which has its own way into a session."),
        (memory.status == "live" and strength < WEAK, f"Its strength has come down to {strength:.2f}, so others rank before it."),
    ]
    return [sentence for applies, sentence in told if applies]


def of_turn(turn: Turn, chosen: Settings) -> list[str]:
    """What about the turn itself keeps it back."""
    told = [
        (turn.forgotten is None and turn.kind not in ("prompt", "reply"), f"It is a {turn.kind}; only what was said comes up by itself."),
        (bool(turn.thread), "It was said to or by a sub-agent, and does not come up by itself."),
        (not chosen.flag("recall.archive"), "Past exchanges are switched off (recall.archive)."),
    ]
    return [sentence for applies, sentence in told if applies]


def elsewhere(store: Store, own: int | None, here: int | None) -> list[str]:
    """That it belongs to another repository than the one that somebody is in, or nothing."""
    if own is None or places.canonical(store, own) == here:
        return []
    return [f"It belongs to {places.key(store, own)}, and you are in {places.key(store, here) or 'a place nothing is kept for'}."]


def judged(
    store: Store, ref: str, cue: str, *, scope: Sequence[int] | None, now: float, per_day: Mapping[str, float], chosen: Settings,
    meaning: tuple[Model, list[int]] | None,
) -> tuple[Hit | None, list[str]]:  # fmt: skip
    """What it is among the hits for this prompt, None when it is none, and how the prompt hook would judge it; `meaning` is as the world gives it for the cue."""
    found = recall(
        store, cue, scope=scope, k=10_000, now=now, per_day=dict(per_day), strict=True, archive=chosen.flag("recall.archive"), ranking=chosen.text("recall.ranking"),
        meaning=meaning,
    )  # fmt: skip
    for place, hit in enumerate(found.hits, 1):
        if hit.candidate.ref == ref:
            return hit, _judgement(hit, place, chosen.number("recall.floor"), int(chosen.number("inject.hits")))
    return None, ["For that prompt it is not even a candidate: others share rarer words with it, or mean more nearly the same."]


def _judgement(hit: Hit, place: int, floor: float, most: int) -> list[str]:
    nth = "the first" if place == 1 else f"number {place}"
    lines = [f"For that prompt it is {nth} of what would come up; words in common: {', '.join(hit.words) or 'none'}."]
    if hit.evidence < floor:
        lines.append(f"That is evidence of {hit.evidence:.2f} that it answers the prompt; under {floor:.2f} (recall.floor) nothing is injected.")
    elif place > most:
        lines.append(f"At most {most} hits are injected (inject.hits).")
    else:
        lines.append("It would be injected.")
    return lines
