"""Memories, edges and associations of an export, joined with those that are here: joined.py says how two accounts of one become one."""

from __future__ import annotations

import json
import re
from hashlib import blake2b

from tenon.base.redact import redact, redact_value
from tenon.store import edges, episodes, fields, forgotten, identity, index, joined, memories, places, vectors
from tenon.store.cached import Cached
from tenon.store.exporting import EPISODE_FIELDS, PROCEDURE_FIELDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, Optional

    from tenon.store.db import Store
    from tenon.store.joined import State
    from tenon.store.memories import Memory

    Item = tuple[int, Optional[int], str]

REF = re.compile(r"m[a-z2-7]{9}")
CHAIN = 100  # memories in a row that superseded one another
STATUSES = ("live", "faded", "superseded")
PROCEDURE_STATUSES = ("proposed", "validated", "stale", "archived")
EDGE_STATUSES = ("proposed", "approved", "rejected")
COLUMNS = (
    "tier", "kind", "text", "reason", "source", "labels", "epic", "strength", "citations", "revision", "status", "created", "reinforced", "decayed",
    "valid_from", "valid_to", "writer",
)  # fmt: skip

ALL = "SELECT id, repository, text FROM memory"
BY_REF = "SELECT id FROM memory WHERE ref = ?"
REF_OF = "SELECT ref FROM memory WHERE id = ?"
ADD = f"INSERT INTO memory (ref, repository, {', '.join(COLUMNS)}) VALUES (?, ?, {', '.join('?' * len(COLUMNS))})"
SET = f"UPDATE memory SET {', '.join(name + ' = ?' for name in COLUMNS)} WHERE id = ?"
SUCCESSOR = "SELECT successor FROM memory WHERE id = ?"
CLOSED = "SELECT coalesce(valid_to, 0.0), ref FROM memory WHERE id = ?"
SET_SUCCESSOR = "UPDATE memory SET successor = ? WHERE id = ? AND successor IS NOT ?"
REOPENED = "SELECT max(at) FROM deed WHERE what = 'reopen' AND ref = ?"
ADD_REOPENED = "INSERT INTO deed (at, what, ref, note) VALUES (?, 'reopen', ?, '')"
NO_REVISIONS = "DELETE FROM revision WHERE memory = ?"
ADD_REVISION = "INSERT OR REPLACE INTO revision (memory, revision, text, reason, at) VALUES (?, ?, ?, ?, ?)"
ADD_LINEAGE = "INSERT OR IGNORE INTO lineage (memory, turn) VALUES (?, ?)"
EPISODE = f"INSERT OR IGNORE INTO episode (memory, {', '.join(EPISODE_FIELDS)}) VALUES (?, {', '.join('?' * len(EPISODE_FIELDS))})"
PROCEDURE_OF = f"SELECT {', '.join(PROCEDURE_FIELDS)} FROM procedure WHERE memory = ?"
PROCEDURE = f"INSERT OR REPLACE INTO procedure (memory, {', '.join(PROCEDURE_FIELDS)}) VALUES (?, {', '.join('?' * len(PROCEDURE_FIELDS))})"
EDGE_OF = "SELECT status, strength, reason, verdict, created, decided, decayed FROM edge WHERE origin = ? AND target = ? AND kind = ?"
EDGE = (
    "INSERT INTO edge (origin, target, kind, status, strength, reason, verdict, created, decided, decayed) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) "
    "ON CONFLICT (origin, target, kind) DO UPDATE SET status = excluded.status, strength = excluded.strength, reason = excluded.reason, "
    "verdict = excluded.verdict, created = excluded.created, decided = excluded.decided, decayed = excluded.decayed"
)
EDGE_FIELDS = ("status", "strength", "reason", "verdict", "created", "decided", "decayed")
ASSOCIATION_OF = "SELECT strength, count, since FROM association WHERE a = ? AND b = ?"
ASSOCIATION = "INSERT OR REPLACE INTO association (a, b, strength, count, since) VALUES (?, ?, ?, ?, ?)"
HOME = "SELECT repository FROM memory WHERE id = ?"


class Memories:
    """What of an export are memories and what is between them, on its way into a store."""

    def __init__(self, store: Store, repository: Callable[[str], int], turn: Callable[[bytes], tuple[int, bool] | None]) -> None:
        self.store = store
        self.repository = repository
        self.turn = turn  # the number of the turn with that hash, and whether it is forgotten here
        self.frozen = identity.is_frozen(store)
        self.gone: forgotten.Forgotten | None = None
        self.theirs: set[str] = set()  # the ids in the export
        self.rows: Cached[str, int] = Cached()  # of the ids in the export
        self.successors: Cached[int, str] = Cached()
        self._by_text: Cached[bytes, int] | None = None
        self._fresh: list[Item] = []
        self._marked: list[Item] = []

    def mark(self) -> None:
        """From here on what is remembered of the store can be taken back, as a savepoint takes back what was written."""
        self._marked = list(self._fresh)
        for each in (self.rows, self.successors, self._by_text):
            if each is not None:
                each.mark()

    def take_back(self) -> None:
        """Forgets what was remembered since the mark."""
        self._fresh = self._marked
        for each in (self.rows, self.successors, self._by_text):
            if each is not None:
                each.take_back()

    def add(self, record: Mapping[str, Any]) -> str:
        """What became of the memory: new, changed, known, forgotten or frozen. Raises ValueError for one that is none."""
        ref = fields.text(record, "id", empty=False)
        if not REF.fullmatch(ref):
            raise ValueError("id is no id of a memory")
        state, episode, procedure = _state(record), _episode(record, self.gone), _procedure(record, self.gone)
        key = fields.text(record, "repository")
        if not key and self.frozen and state["kind"] in identity.KINDS:
            return "frozen"
        turns = [self.turn(fields.hashed(each, "from")) for each in fields.listed(record, "from")]
        here = [each for each in turns if each is not None]
        if (here and len(here) == len(turns) and all(is_gone for _, is_gone in here)) or not _allowed(self.gone, state, self._held(ref)):
            return "forgotten"
        repository = self.repository(key) if key else None
        known = self._known(ref, repository, state)
        number, told = self._insert(ref, repository, state) if known is None else self._join(known, state)
        self.rows[ref] = number
        for turn, is_gone in here:
            if not is_gone:
                self.store.execute(ADD_LINEAGE, (number, turn))
        return "changed" if self._add_parts(number, episode, procedure) and told == "known" else told

    def flush(self) -> None:
        """Embeds what is new so far."""
        vectors.add(self.store, vectors.MEMORY, self._fresh)
        self._fresh = []

    def finish(self) -> None:
        """Says of each that was superseded by what, now that all are there."""
        for number, ref in self.successors.held.items():
            successor = self._row(ref)
            ring = [] if successor is None else self._ring(successor, number)
            # Where two stores had each memory superseded by the other, what was superseded first has no successor, in whichever order they meet.
            oldest = min(ring, key=lambda one: self.store.one(CLOSED, (one,)) or (), default=0)
            if successor is None or oldest == number:
                continue
            if oldest:
                self.store.execute(SET_SUCCESSOR, (None, oldest, None))
            self.store.execute(SET_SUCCESSOR, (successor, number, successor))
        self.successors = Cached()

    def add_edge(self, record: Mapping[str, Any]) -> str:
        """What became of the edge: new, changed, known, or apart when not both its ends are here together."""
        ends = self._ends(record, "from", "to")
        kind = fields.chosen(record, "kind", edges.KINDS)
        state: State = {
            "status": fields.chosen(record, "status", EDGE_STATUSES), "strength": fields.number(record, "strength"),
            "reason": _without(self.gone, fields.text(record, "reason")), "verdict": _without(self.gone, fields.text(record, "verdict")),
            "created": fields.number(record, "created"), "decided": fields.maybe(record, "decided"), "decayed": fields.number(record, "decayed"),
        }  # fmt: skip
        if ends is None:
            return "apart"
        known = self.store.one(EDGE_OF, (*ends, kind))
        own = dict(zip(EDGE_FIELDS, known)) if known else None
        found = joined.edge(own, state) if own else state
        if found == own:
            return "known"
        self.store.execute(EDGE, (*ends, kind, *(found[name] for name in EDGE_FIELDS)))
        return "changed" if own else "new"

    def add_association(self, record: Mapping[str, Any]) -> str:
        """What became of the association, as `add_edge` says it."""
        ends = self._ends(record, "a", "b")
        state: State = {
            "strength": min(1.0, max(0.0, fields.number(record, "strength"))),
            "count": fields.whole(record, "count", 1),
            "since": fields.number(record, "since"),
        }
        if ends is None:
            return "apart"
        pair = min(ends), max(ends)
        known = self.store.one(ASSOCIATION_OF, pair)
        own = dict(zip(("strength", "count", "since"), known)) if known else None
        found = joined.association(own, state) if own else state
        if found == own:
            return "known"
        self.store.execute(ASSOCIATION, (*pair, found["strength"], found["count"], found["since"]))
        return "changed" if own else "new"

    def _held(self, ref: str) -> set[str]:
        """The texts that the memory of that id has here: one that was forgotten and then written again is held."""
        number = self.store.value(BY_REF, (ref,)) if self.gone is not None else None
        return set() if number is None else {text for _, text, _ in joined.versions(self._own(memories.by_id(self.store, number)))}

    def _known(self, ref: str, repository: int | None, state: State) -> Memory | None:
        """The memory here that it is: of that id, or of that text in the same repository."""
        if self._by_text is None:
            self._by_text = Cached()
            self._by_text.held.update((self._text_key(home, text), number) for number, home, text in self.store.each(ALL))
        number = self.store.value(BY_REF, (ref,))
        if number is not None:
            memory = memories.by_id(self.store, number)
            own = {_plain(text) for _, text, _ in joined.versions(self._own(memory))}
            if own & {_plain(text) for _, text, _ in joined.versions(state)}:
                return memory
        number = self._by_text.get(self._text_key(repository, state["text"]))
        alike = None if number is None else memories.by_id(self.store, number)
        return None if alike is None or (alike.ref in self.theirs and alike.ref != ref) else alike

    def _insert(self, ref: str, repository: int | None, state: State) -> tuple[int, str]:
        if self.store.value(BY_REF, (ref,)) is not None:
            ref = memories.fresh_ref(self.store, repository, state["text"])
        number = int(self.store.execute(ADD, (ref, repository, *(state[name] for name in COLUMNS))).lastrowid or 0)
        self._write_texts(number, state)
        if state["status"] == "superseded":
            self.successors[number] = state["successor"]
        else:
            index.add_memory(self.store, number, state["text"], memories.about(state["reason"], state["labels"], state["epic"]))
            self._fresh.append((number, repository, state["text"]))
        if state["reopened"] is not None:
            self.store.execute(ADD_REOPENED, (state["reopened"], ref))
        if self._by_text is not None:
            self._by_text[self._text_key(repository, state["text"])] = number
        return number, "new"

    def _join(self, memory: Memory, state: State) -> tuple[int, str]:
        own = self._own(memory)
        if own["text"] != state["text"] and not {text for _, text, _ in joined.versions(own)} & {text for _, text, _ in joined.versions(state)}:
            state = {**state, "text": own["text"], "revisions": own["revisions"], "revision": own["revision"]}
        found = joined.memory(own, state)
        if found["status"] == "superseded":
            self.successors[memory.id] = found["successor"]
        if found == own:
            return memory.id, "known"
        self.store.execute(SET, (*(found[name] for name in COLUMNS), memory.id))
        if found["revisions"] != own["revisions"]:
            self._write_texts(memory.id, found)
        if self._by_text is not None and found["text"] != own["text"]:
            if self._by_text.get(old := self._text_key(memory.repository, own["text"])) == memory.id:
                del self._by_text[old]
            self._by_text[self._text_key(memory.repository, found["text"])] = memory.id
        if found["status"] != "superseded" == own["status"]:
            self.store.execute(SET_SUCCESSOR, (None, memory.id, None))
        if found["reopened"] is not None and found["reopened"] != own["reopened"]:
            self.store.execute(ADD_REOPENED, (found["reopened"], memory.ref))
        self._index_again(memory, own, found)
        return memory.id, "changed"

    def _index_again(self, memory: Memory, own: State, found: State) -> None:
        is_told = found["status"] != "superseded"
        if all(found[name] == own[name] for name in ("text", "reason", "labels", "epic")) and is_told == (own["status"] != "superseded"):
            return
        self.flush()  # the memory may be among what waits
        index.drop_memory(self.store, memory.id)
        vectors.drop(self.store, vectors.MEMORY, [memory.id], again=is_told)
        if is_told:
            index.add_memory(self.store, memory.id, found["text"], memories.about(found["reason"], found["labels"], found["epic"]))
            self._fresh.append((memory.id, memory.repository, found["text"]))

    def _own(self, memory: Memory) -> State:
        earlier = [
            {"revision": each["revision"], "text": each["text"], "reason": each["replaced_because"], "at": each["at"]}
            for each in memories.history(self.store, memory)
        ]
        successor = self.successors.get(memory.id) or (self.store.value(REF_OF, (memory.successor,)) if memory.successor is not None else "")
        return {
            **{name: getattr(memory, name) for name in COLUMNS}, "revisions": earlier, "successor": successor or "",
            "reopened": self.store.value(REOPENED, (memory.ref,)),
        }  # fmt: skip

    def _write_texts(self, number: int, state: State) -> None:
        self.store.execute(NO_REVISIONS, (number,))
        for each in state["revisions"]:
            self.store.execute(ADD_REVISION, (number, each["revision"], each["text"], each["reason"], each["at"]))

    def _add_parts(self, number: int, episode: list[str] | None, procedure: State | None) -> bool:
        """Whether an episode's or a procedure's parts were new, or newer than those here."""
        changed = episode is not None and self.store.execute(EPISODE, (number, *episode)).rowcount > 0
        if procedure is None:
            return changed
        known = self.store.one(PROCEDURE_OF, (number,))
        own = dict(zip(PROCEDURE_FIELDS, known)) if known else None
        found = joined.newer(own, procedure, "applied", "succeeded", "spell") if own else procedure
        if found != own:
            self.store.execute(PROCEDURE, (number, *(found[name] for name in PROCEDURE_FIELDS)))
        return changed or found != own

    def _ends(self, record: Mapping[str, Any], one: str, other: str) -> tuple[int, int] | None:
        """The two memories, when both are here and one repository sees both."""
        found = [self._row(fields.text(record, name, empty=False)) for name in (one, other)]
        if found[0] is None or found[1] is None or found[0] == found[1]:
            return None
        homes = {places.canonical(self.store, home) for number in found if (home := self.store.value(HOME, (number,))) is not None}
        return (found[0], found[1]) if len(homes) < 2 else None

    def _row(self, ref: str) -> int | None:
        known = self.rows.get(ref)
        if known is None:
            known = self.store.value(BY_REF, (ref,))
        return None if known is None else int(known)

    def _ring(self, number: int, end: int) -> list[int]:
        """The memories from the one to the end, each superseded by the next; empty when it does not lead there, the end alone when it is too far to tell."""
        ring = [number]
        while ring[-1] != end:
            if len(ring) == CHAIN:
                return [end]
            after = self.store.value(SUCCESSOR, (ring[-1],))
            if after is None:
                return []
            ring.append(int(after))
        return ring

    def _text_key(self, repository: int | None, text: str) -> bytes:
        home = "" if repository is None else places.canonical(self.store, repository)
        return blake2b(f"{home}\n{_plain(text)}".encode("utf-8", "replace"), digest_size=16).digest()


def _state(record: Mapping[str, Any]) -> State:
    """The memory as its record says it, without secrets."""
    labels = fields.listed(record, "labels")
    earlier = [
        {
            "revision": fields.whole(each, "revision", 1),
            "text": _kept(each, "text"),
            "reason": _kept(each, "reason", empty=True),
            "at": fields.number(each, "at"),
        }
        for each in fields.objects(record, "revisions")
    ]
    numbers: list[int] = [int(str(each["revision"])) for each in earlier]
    found: State = {
        "tier": fields.chosen(record, "tier", ("short", "long")), "kind": fields.chosen(record, "kind", memories.KINDS), "text": _kept(record, "text"),
        "reason": _kept(record, "reason", empty=True), "source": fields.chosen(record, "source", memories.SOURCES),
        "labels": json.dumps([redact(fields.text({"labels": label}, "labels")) for label in labels], ensure_ascii=False), "epic": _kept(record, "epic", empty=True),
        "strength": min(2.0, max(0.0, fields.number(record, "strength"))), "citations": fields.whole(record, "citations"),
        "revision": fields.whole(record, "revision", 1), "status": fields.chosen(record, "status", STATUSES), "writer": fields.text(record, "writer"),
        "valid_to": fields.maybe(record, "valid_to"), "revisions": earlier, "successor": fields.text(record, "successor"), "reopened": fields.maybe(record, "reopened"),
        **{name: fields.number(record, name) for name in ("created", "reinforced", "decayed", "valid_from")},
    }  # fmt: skip
    if found["writer"] not in joined.WRITERS:
        raise ValueError(f"writer is none of {', '.join(joined.WRITERS[1:])}")
    if numbers != sorted(set(numbers)) or (numbers and numbers[-1] >= found["revision"]):
        raise ValueError("revisions are not in order")
    return found


def _kept(record: Mapping[str, Any], name: str, *, empty: bool = False) -> str:
    said = redact(fields.text(record, name, empty=empty))
    if len(said) > memories.LONGEST:
        raise ValueError(f"{name} has more than {memories.LONGEST:,} characters")
    return said


def _allowed(gone: forgotten.Forgotten | None, state: State, held: set[str]) -> bool:
    """Whether nothing of the memory but what is held was forgotten here as it is; what the user named is taken out of it."""
    if gone is None:
        return True
    texts = [state["text"], *(each["text"] for each in state["revisions"])]
    left = [text if text in held else gone.without(text) for text in texts]
    if any(gone.is_text(text) for text in {*texts, *left} - held) or any(after != text and forgotten.says_nothing(after) for text, after in zip(texts, left)):
        return False
    state["text"] = left[0]
    for each, text in zip(state["revisions"], left[1:]):
        each["text"], each["reason"] = text, gone.without(each["reason"])
    state["reason"], state["epic"] = gone.without(state["reason"]), gone.without(state["epic"])
    state["labels"] = json.dumps([gone.without(label) for label in json.loads(state["labels"])], ensure_ascii=False)
    return True


def _episode(record: Mapping[str, Any], gone: forgotten.Forgotten | None) -> list[str] | None:
    told = fields.inner(record, "episode")
    if told is None:
        return None
    fields.chosen(told, "action", episodes.ACTIONS)
    fields.chosen(told, "expected", episodes.ENDINGS)
    fields.chosen(told, "outcome", episodes.ENDINGS)
    return [_without(gone, fields.text(told, name)) for name in EPISODE_FIELDS]


def _procedure(record: Mapping[str, Any], gone: forgotten.Forgotten | None) -> State | None:
    told = fields.inner(record, "procedure")
    if told is None:
        return None
    paths = [_without(gone, fields.text({"paths": path}, "paths")) for path in fields.listed(told, "paths")]
    if any(path.startswith(("/", "\\")) or ".." in re.split(r"[/\\]", path) or path[1:2] == ":" for path in paths):
        raise ValueError("paths leave the repository")
    return {
        "name": _without(gone, fields.text(told, "name")), "trigger": _without(gone, fields.text(told, "trigger")), "steps": _without(gone, fields.text(told, "steps")),
        "paths": json.dumps(paths, ensure_ascii=False), "digest": redact(fields.text(told, "digest")), "status": fields.chosen(told, "status", PROCEDURE_STATUSES),
        **{name: fields.whole(told, name) for name in ("applied", "succeeded", "spell")},
    }  # fmt: skip


def _without(gone: forgotten.Forgotten | None, text: str) -> str:
    text = redact(text)
    return text if gone is None else gone.without(text)


def _plain(text: str) -> str:
    return " ".join(text.lower().split())


def redacted(value: Any, gone: forgotten.Forgotten | None) -> Any:
    """A JSON value without secrets and without what the user named."""
    value = redact_value(value)
    return value if gone is None else gone.without_in(value)
