"""The page Identity: what the agent holds about itself and about working with its user, where each statement came from, and what became of them all."""

from __future__ import annotations

from tenon.base.errors import TenonError
from tenon.base.lean import parse
from tenon.base.text import cut
from tenon.dashboard.place import Missing
from tenon.store import exchanges, identity, memories, of_memory

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tenon.dashboard.place import Place, Query
    from tenon.store.db import Store
    from tenon.store.memories import Memory

FROM = 12  # memories, and turns, that are quoted for a statement
QUOTED = 300  # characters of one


def page(here: Place, query: Query) -> dict[str, Any]:
    """The statements held now, how much room they take, whether they are frozen, and the timeline of all there ever were, newest first."""
    query.done()
    store = here.store
    held = identity.held(store)
    told = {memory.id for memory, _ in identity.told(held)}
    return {
        "statements": [{**_statement(store, memory), "told": memory.id in told} for memory in held],
        "frozen": identity.is_frozen(store),
        "room": {"statements": len(held), "most": identity.MOST, "characters": sum(len(memory.text) for memory in held), "budget": identity.BUDGET, "longest": identity.LONGEST},
        "timeline": _timeline(store),
    }  # fmt: skip


def one(here: Place, name: str, query: Query) -> dict[str, Any]:
    """Raises Missing: a statement is a memory, and has its page there."""
    query.done()
    raise Missing(f"A statement is a memory; '{cut(name, 40)}' would stand among those.")


def _statement(store: Store, memory: Memory) -> dict[str, Any]:
    labels = parse(memory.labels)
    named = [_quoted(store, str(label)) for label in (labels if isinstance(labels, list) else ())]
    return {
        "ref": memory.ref, "kind": memory.kind, "text": memory.text, "since": memory.created, "revision": memory.revision, "writer": memory.writer,
        "source": memory.source, "reason": memory.reason, "memories": [found for found in named if found is not None][:FROM],
        "turns": [found for number in memories.lineage(store, memory)[:FROM] if (found := _turn(store, number)) is not None],
        "digests": [{"digest": step["digest"], "deed": step["deed"], "at": step["at"]} for step in of_memory.steps(store, memory)],
    }  # fmt: skip


def _quoted(store: Store, ref: str) -> dict[str, Any] | None:
    """The memory that bore a statement out, None for what is none, or none any more."""
    try:
        memory = memories.get(store, ref)
    except TenonError:
        return None
    return {"ref": memory.ref, "text": cut(memory.text, QUOTED), "status": memory.status}


def _turn(store: Store, number: int) -> dict[str, Any] | None:
    try:
        turn = exchanges.turn(store, f"t{number}")
        session = exchanges.session_of(store, turn.session).name
    except TenonError:
        return None
    return {"ref": turn.ref, "session": session, "at": turn.at, "kind": turn.kind, "text": cut(turn.text(), QUOTED), "forgotten": turn.forgotten is not None}


def _timeline(store: Store) -> list[dict[str, Any]]:
    """What became of every statement, newest first, each with who did it: a digest (its number), the user, the model in a session, or code."""
    events = identity.history(store)
    hands = {ref: _Hands(store, ref) for ref in {event["id"] for event in events}}
    told = [{**event, "by": hands[event["id"]].by(event)} for event in events]
    return [{"ref": event.pop("id"), **event} for event in reversed(told)]


class _Hands:
    """Who had a hand in a statement."""

    def __init__(self, store: Store, ref: str) -> None:
        self.memory = memories.get(store, ref)
        self.steps = of_memory.steps(store, self.memory)
        self.revised = 1

    def by(self, event: dict[str, Any]) -> dict[str, Any]:
        """Who did it, as {"who": …, "digest": …}; asked for the events in order."""
        if event["what"] == "revised":
            self.revised += 1
            return self._digest("revise", self.revised) or {"who": "user" if event["why"] == identity.CORRECTED else "model"}
        if event["what"] == "closed":
            return self._digest("let go") or {"who": "user"}
        written = self._digest("hold") or self._digest("remember")
        # Whose hand it is now says who wrote it only where nobody else has had one in it since.
        return written or {"who": "user" if self.memory.reason == identity.OWN_WORDS else self.memory.writer if self.memory.revision == 1 else ""}

    def _digest(self, deed: str, revision: int | None = None) -> dict[str, Any] | None:
        for step in self.steps:
            if step["deed"] == deed and step["state"] != "undone" and (revision is None or step["revised"] == revision):
                return {"who": "digest", "digest": step["digest"]}
        return None
