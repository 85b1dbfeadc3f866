"""The page Memories: all of them to be searched and narrowed, and everything that is known of one."""

from __future__ import annotations

from math import isfinite

from tenon.base.errors import TenonError
from tenon.base.lean import parse
from tenon.base.text import clean, cut
from tenon.dashboard import scoring
from tenon.dashboard.place import Missing, Wrong
from tenon.recall import cue as cues
from tenon.recall import hindrance
from tenon.store import browse_memories, episodes, journal, memories, neighbourhood, of_memory, places
from tenon.store.browse_memories import Key, Wanted
from tenon.world import embedding

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tenon.dashboard.place import Place, Query
    from tenon.store.journal import Entry
    from tenon.store.memories import Memory
    from tenon.store.of_memory import Origin

ROWS = 50
SHOWN = 320  # characters of a memory in the list
WHOLE = 100_000  # characters of a text that is shown whole
QUOTED = 4000  # characters of a turn that a memory came from
LINKS = 200
EVERYWHERE = "everywhere"  # instead of a repository's key: what is true for the agent wherever it is
CHOICES = {
    "tier": ("short", "long"), "kind": memories.KINDS, "source": memories.SOURCES, "writer": memories.WRITERS, "status": browse_memories.STATUSES,
    "order": browse_memories.ORDERS,
}  # fmt: skip


def page(here: Place, query: Query) -> dict[str, Any]:
    """The memories that are live, the newest first, unless another status or order is asked for; with words (`q`) those in which all of them stand."""
    text, asked = query.text("q"), {name: query.one_of(name, values) for name, values in CHOICES.items()}
    scope, key = _scope(here, query), query.text("after")
    query.done()
    wanted = Wanted(
        now=here.now, per_day=here.per_day, text=text, status=asked["status"] or "live", scope=scope, equal=asked, order=asked["order"] or "newest"
    )  # fmt: skip
    found, more = browse_memories.page(here.store, wanted, _key(key) if key else None, ROWS)
    names = Names(here)
    told: dict[str, Any] = {
        "rows": [names.row(memory) for memory in found], "next": f"{more.value!r}:{more.row}:{more.before}:{more.now!r}" if more is not None else None,
        "words": [word.rstrip("*") for word in wanted.words], "choices": CHOICES, "count": len(found),
    }  # fmt: skip
    return told if text or key else {**told, "held": browse_memories.held(here.store)}


def one(here: Place, name: str, query: Query) -> dict[str, Any]:
    """All that is known of a memory: itself, where it came from, what it is linked to, what it said before, when it came up and what keeps it back.

    With a prompt (`cue`) also how it would fare against that.
    """
    cue = query.text("cue", 2000)
    query.done()
    memory = _known(here, name)
    store, names = here.store, Names(here)
    return {
        "now": here.now, "memory": names.whole(memory), "episode": episodes.get(store, memory.id), "why": _hindrances(here, memory),
        "against": _against(here, memory, cue) if cue else None, "means": scoring.means(), "lineage": [_origin(origin) for origin in of_memory.origins(store, memory)],
        "successors": [names.row(other) for other in of_memory.successors(store, memory)],
        "predecessors": [names.row(other) for other in of_memory.predecessors(store, memory)],
        "edges": [{**edge, "text": cut(edge["text"], SHOWN), "strength": round(edge["strength"], 3)} for edge in of_memory.edges(store, memory, LINKS)],
        "associations": [
            {**names.row(other), "association": round(strength, 3), "times": count} for other, strength, count in of_memory.associated(store, memory, LINKS, here.now)
        ],
        "revisions": [{"revision": past["revision"], "reason": past["replaced_because"], "at": past["at"], **whole(str(past["text"]))} for past in memories.history(store, memory)],
        "digests": of_memory.steps(store, memory), "deeds": [{"at": at, "what": what, "note": note} for at, what, note in of_memory.deeds(store, memory)],
        "shown": _shown(here, memory.ref), "around": _around(here, memory),
    }  # fmt: skip


class Names:
    """Memories as plain data, with the keys of their repositories."""

    def __init__(self, here: Place) -> None:
        self.here = here
        self.keys: dict[int | None, str] = {None: ""}

    def key(self, repository: int | None) -> str:
        """The key of the repository, or of the one that it is an alias of."""
        if repository not in self.keys:
            self.keys[repository] = places.key(self.here.store, places.canonical(self.here.store, repository or 0))
        return self.keys[repository]

    def row(self, memory: Memory) -> dict[str, Any]:
        """A memory as a line of a list."""
        return {
            "ref": memory.ref, "text": cut(memory.text, SHOWN), "tier": memory.tier, "kind": memory.kind, "source": memory.source, "writer": memory.writer,
            "repository": self.key(memory.repository), "status": memory.status,
            "strength": round(memory.strength_at(self.here.now, self.here.per_day[memory.tier]), 3), "citations": memory.citations, "revision": memory.revision,
            "created": memory.created, "reinforced": memory.reinforced,
        }  # fmt: skip

    def whole(self, memory: Memory) -> dict[str, Any]:
        """All of a memory."""
        labels = parse(memory.labels)
        return {
            **self.row(memory), **whole(memory.text), "reason": memory.reason, "epic": memory.epic, "valid_from": memory.valid_from, "valid_to": memory.valid_to,
            "labels": [str(label) for label in labels] if isinstance(labels, list) else [],
        }  # fmt: skip


def whole(text: str, most: int = WHOLE) -> dict[str, Any]:
    """The text up to that many characters, and whether something is left out."""
    return {"text": text[:most], "cut": len(text) > most}


def _known(here: Place, name: str) -> Memory:
    try:
        return memories.get(here.store, clean(name))
    except TenonError:
        if name[:1] == "t" and name[1:].isdecimal():
            raise Missing(f"'{cut(name, 20)}' is a turn of the archive and no memory; it stands in the history of its session.") from None
        raise Missing(f"There is no memory '{cut(name, 40)}'; it may have been forgotten.") from None


def _scope(here: Place, query: Query) -> list[int | None] | None:
    if query.text("repository", 1000) == EVERYWHERE:
        return [None]
    repository = query.repository(here.store)
    return None if repository is None else [*places.scope(here.store, repository)]


def _key(text: str) -> Key:
    """Where a page goes on. Raises Wrong for what no page has given."""
    try:
        value, row, before, now = text.split(":")
        found = Key(float(value), int(row), int(before), float(now))
    except (ValueError, OverflowError):
        found = Key(0.0, -1, 0, 0.0)
    # A key that begins a part of its own is infinite.
    if not 0 <= found.row <= browse_memories.END or not 0 <= found.before <= browse_memories.END or not isfinite(found.now) or found.value != found.value:
        raise Wrong("'after' is what the page before gave as its 'next'.")
    return found


def _hindrances(here: Place, memory: Memory) -> list[str]:
    """What keeps the memory from coming up by itself in the place where it belongs; nothing when nothing does."""
    told = hindrance.of_memory(here.store, memory, here.now, here.per_day)
    return told if here.settings.flag("inject.prompt") else [*told, hindrance.SWITCHED_OFF]


def _against(here: Place, memory: Memory, cue: str) -> dict[str, Any]:
    """How it would fare against the prompt: in sentences, and with its score, None where it has none."""
    scope = None if memory.repository is None else places.scope(here.store, memory.repository)
    meaning = embedding.for_query(here.store, cues.ends(cue), here.settings)
    hit, said = hindrance.judged(
        here.store, memory.ref, cue, scope=scope, now=here.now, per_day=here.per_day, chosen=here.settings, meaning=meaning
    )  # fmt: skip
    parts = dict(zip(journal.PARTS, hit.parts.values())) if hit is not None else {}
    return {"said": said, **scoring.told(None if hit is None else hit.score, parts, here.settings.text("recall.ranking"))}


def _origin(origin: Origin) -> dict[str, Any]:
    return {
        "session": origin.session,
        "turns": [
            {
                "ref": turn.ref, "kind": turn.kind, "role": turn.role, "source": turn.source, "at": turn.at, "lineage": turn.id in origin.lineage,
                "thread": turn.thread, "forgotten": turn.forgotten is not None, **whole(turn.text(), QUOTED),
            }
            for turn in origin.turns
        ],
    }  # fmt: skip


def _shown(here: Place, ref: str) -> list[dict[str, Any]]:
    return [_time(here, entry, ref) for entry in of_memory.came_up(here.store, ref, here.now)]


def _time(here: Place, entry: Entry, ref: str) -> dict[str, Any]:
    """One time that it came up, or nearly did; of a briefing `words` are its sections."""
    hit = next(hit for hit in (*entry.shown, *entry.skipped) if hit.ref == ref)
    return {
        "entry": entry.id, "at": entry.at, "event": entry.event, "session": of_memory.session_named(here.store, entry.session), "words": entry.words,
        "skipped": journal.WHY.get(hit.why, hit.why), **scoring.told(hit.score, hit.parts, here.settings.text("recall.ranking")),
    }  # fmt: skip


def _around(here: Place, memory: Memory) -> dict[str, Any]:
    nodes, links = neighbourhood.around(here.store, memory, here.now)
    refs = {other.id: other.ref for other, _ in nodes}
    return {
        "nodes": [
            {
                "ref": other.ref, "text": cut(other.text, 160), "kind": other.kind, "tier": other.tier, "status": other.status, "step": step,
                "strength": round(other.strength_at(here.now, here.per_day[other.tier]), 3),
            }
            for other, step in nodes
        ],
        "links": [
            {"from": refs[link.origin], "to": refs[link.target], "kind": link.kind, "status": link.status, "strength": round(link.strength, 3)} for link in links
        ],
        "full": len(nodes) >= neighbourhood.MOST,
    }  # fmt: skip
