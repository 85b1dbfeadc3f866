"""Two accounts of one thing made one, such that it does not matter in which order, or how often, they meet. Pure.

What only grows (citations, revisions) is joined; of what is replaced the one touched last counts; what was closed stays closed,
unless it was reopened later.
"""

from __future__ import annotations

import json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Optional

    State = dict[str, Any]
    Version = tuple[float, str, str]  # since when, the text, and why it took the place of the one before
    Closing = Optional[tuple[float, str]]  # when, and the successor's id

SOURCES = ("outside", "tool", "reflection", "assistant", "user")  # the weakest first
WRITERS = ("", "code", "digest", "model", "user")
STANDING = ("tier", "kind", "reason", "labels", "epic", "strength", "decayed", "reinforced")  # what goes together


def memory(one: State, other: State) -> State:
    """The memory that both states are of; a state has the columns of `memory` by name, its `revisions` and `reopened`."""
    newer = max(one, other, key=_standing)
    found = {**newer, **{name: newer[name] for name in STANDING}}
    for name in ("created", "valid_from"):
        found[name] = min(one[name], other[name])
    found["citations"] = max(one["citations"], other["citations"])
    found["source"] = max(one["source"], other["source"], key=SOURCES.index)
    found["writer"] = max(one["writer"], other["writer"], key=WRITERS.index)
    found.update(_texts(one, other))
    found["reopened"] = _latest(one["reopened"], other["reopened"])
    closing = max((closed for closed in (_closing(one), _closing(other)) if closed is not None), default=None)
    if closing is not None and closing[0] >= (found["reopened"] or 0.0):
        found.update(status="superseded", valid_to=closing[0], successor=closing[1])
    else:
        found.update(status=_open(newer), valid_to=None, successor="")
    return found


def edge(one: State, other: State) -> State:
    """The edge that both states are of: as it was decided last."""
    newer = max(one, other, key=lambda state: (state["decided"] or 0.0, state["decayed"], _printed(state)))
    return {**newer, "created": min(one["created"], other["created"])}


def association(one: State, other: State) -> State:
    """The association that both states are of: as strong as it was last."""
    newer = max(one, other, key=lambda state: (state["since"], state["strength"]))
    return {**newer, "count": max(one["count"], other["count"])}


def newer(one: State, other: State, *by: str) -> State:
    """The state that is greater by these fields, and by all of it where they are the same."""
    return max(one, other, key=lambda state: (*(state[name] for name in by), _printed(state)))


def versions(state: Mapping[str, Any]) -> list[Version]:
    """The texts that a memory had, in order."""
    earlier = state["revisions"]
    texts = [*(each["text"] for each in earlier), state["text"]]
    return [(state["created"], texts[0], ""), *((each["at"], text, each["reason"]) for each, text in zip(earlier, texts[1:]))]


def _texts(one: State, other: State) -> State:
    mine, theirs = versions(one), versions(other)
    if mine[1:] == theirs[1:] and mine[0][1] == theirs[0][1]:
        kept = max(one, other, key=lambda state: state["revision"])
        return {"text": one["text"], "revisions": kept["revisions"], "revision": kept["revision"]}
    told = [min(mine[0], theirs[0]), *sorted({*mine[1:], *theirs[1:]})]
    revisions = [{"revision": number, "text": text, "reason": after[2], "at": after[0]} for number, ((_, text, _), after) in enumerate(zip(told, told[1:]), 1)]
    return {"text": told[-1][1], "revisions": revisions, "revision": len(told)}


def _closing(state: State) -> Closing:
    return (state["valid_to"] or 0.0, state["successor"]) if state["status"] == "superseded" else None


def _open(state: State) -> str:
    return "live" if state["status"] == "superseded" else str(state["status"])


def _standing(state: State) -> tuple[float, float, str]:
    return state["reinforced"], state["decayed"], _printed({**{name: state[name] for name in STANDING}, "status": _open(state)})


def _latest(one: float | None, other: float | None) -> float | None:
    return max((at for at in (one, other) if at is not None), default=None)


def _printed(state: State) -> str:
    return json.dumps(state, sort_keys=True, default=str)
