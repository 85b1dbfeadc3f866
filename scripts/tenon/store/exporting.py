"""A store as JSON objects, one a line, for another machine or another program: EXPORT.md says what each has.

The same store gives the same objects in the same order, whatever the numbers of its rows, so two stores that hold the same
give the same. Everything passes redaction once more; where that changes a turn, its chain is hashed anew from there on.
"""

from __future__ import annotations

import json
from heapq import heapify, heappop, heappush

from tenon.base.lean import parse
from tenon.base.redact import redact, redact_value
from tenon.store import archive, identity, notes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence
    from typing import Any, Optional

    from tenon.store.db import Store

    Record = dict[str, Any]
    Place = tuple[int, Optional[int], float, bytes]  # a turn's number, its parent's, its time and its hash

VERSION = 1  # of the format
FORMAT = "export"
TAKEN = "taken over: "  # before the reason of what was forgotten elsewhere and came with an import

REPOSITORIES = "SELECT r.id, r.key, t.key, r.seen FROM repository r LEFT JOIN repository t ON t.id = r.same_as ORDER BY r.key"
MEMORIES = (
    "SELECT m.id, m.ref, m.repository, m.tier, m.kind, m.text, m.reason, m.source, m.labels, m.epic, m.strength, m.citations, m.revision, m.status, s.ref, "
    "m.created, m.reinforced, m.decayed, m.valid_from, m.valid_to, m.writer FROM memory m LEFT JOIN memory s ON s.id = m.successor "
    "WHERE {scope} AND (m.created >= ? OR m.reinforced >= ? OR m.valid_to >= ? OR EXISTS (SELECT 1 FROM revision r WHERE r.memory = m.id AND r.at >= ?)) "
    "ORDER BY m.ref"
)
REVISIONS = "SELECT revision, text, reason, at FROM revision WHERE memory = ? ORDER BY revision"
LINEAGE = "SELECT t.id, t.hash FROM lineage l JOIN turn t ON t.id = l.turn WHERE l.memory = ?"
EPISODE = "SELECT situation, action, taken, expected, outcome, evidence FROM episode WHERE memory = ?"
PROCEDURE = "SELECT name, trigger, steps, paths, digest, status, applied, succeeded, spell FROM procedure WHERE memory = ?"
REOPENED = "SELECT ref, max(at) FROM deed WHERE what = 'reopen' GROUP BY ref"
EDGES = (
    "SELECT o.ref, t.ref, e.kind, e.status, e.strength, e.reason, e.verdict, e.created, e.decided, e.decayed FROM edge e JOIN memory o ON o.id = e.origin "
    "JOIN memory t ON t.id = e.target WHERE {origin} AND {target} AND (e.created >= ? OR e.decided >= ?) ORDER BY o.ref, t.ref, e.kind"
)
ASSOCIATIONS = (
    "SELECT min(x.ref, y.ref), max(x.ref, y.ref), a.strength, a.count, a.since FROM association a JOIN memory x ON x.id = a.a JOIN memory y ON y.id = a.b "
    "WHERE {origin} AND {target} AND a.since >= ? ORDER BY 1, 2"
)
TASKS = "SELECT r.key, t.epic, t.title, t.status, t.body, t.created, t.updated FROM task t JOIN repository r ON r.id = t.repository WHERE {scope} AND t.updated >= ? ORDER BY 1, 2"
HANDOFFS = "SELECT r.key, h.body, h.updated FROM handoff h JOIN repository r ON r.id = h.repository WHERE {scope} AND h.updated >= ? ORDER BY 1"
SESSIONS = (
    "SELECT s.id, s.name, s.repository, s.folder, s.branch, s.client, s.started, s.last, u.text, u.at, u.writer, p.turn FROM session s "
    "LEFT JOIN summary u ON u.session = s.id LEFT JOIN spotted p ON p.session = s.id WHERE {scope} AND s.last >= ? AND ({all} OR u.text IS NOT NULL) ORDER BY s.name"
)
PLACES = "SELECT id, parent, at, hash FROM turn WHERE session = ?"
TURN = (
    "SELECT t.repository, t.thread, t.message, t.role, t.kind, t.source, t.content, t.forgotten, c.how, c.at, g.text, r.chars FROM turn t "
    "LEFT JOIN consolidated c ON c.turn = t.id LEFT JOIN gist g ON g.turn = t.id LEFT JOIN reading r ON r.turn = t.id WHERE t.id = ?"
)
BY_TURN = ("DROP TABLE IF EXISTS temp.by_turn", "CREATE TEMP TABLE by_turn AS SELECT turn, uuid FROM line", "CREATE INDEX temp.by_turn_turn ON by_turn (turn)")
LINES = "SELECT uuid FROM temp.by_turn WHERE turn = ? ORDER BY uuid"
ABOVE = "SELECT hash, session FROM turn WHERE id = ?"
SALT = "SELECT value FROM meta WHERE name = 'salt'"
TOMBSTONES = "SELECT hash, words, reason, at FROM tombstone ORDER BY hash"
COUNT = "SELECT (SELECT count(*) FROM memory) + (SELECT count(*) FROM edge) + (SELECT count(*) FROM association) + (SELECT count(*) FROM session) + (SELECT count(*) FROM tombstone)"
COUNT_TURNS = "SELECT count(*) FROM turn"
EPISODE_FIELDS = ("situation", "action", "taken", "expected", "outcome", "evidence")
PROCEDURE_FIELDS = ("name", "trigger", "steps", "paths", "digest", "status", "applied", "succeeded", "spell")


class Choice:
    """What of a store is exported: `scope` holds repository numbers (None: all), `since` is a time, `turns` says whether the archive goes along."""

    __slots__ = ("scope", "since", "turns")

    def __init__(self, scope: Sequence[int] | None, since: float = 0.0, *, turns: bool = False) -> None:
        self.scope = scope
        self.since = since
        self.turns = turns

    def within(self, column: str, *, everywhere: bool = True) -> str:
        """The condition that a column's repository is one of those; with `everywhere` what has none is too."""
        if self.scope is None:
            return "1"
        listed = f"{column} IN ({', '.join(str(int(number)) for number in self.scope)})"
        return f"({column} IS NULL OR {listed})" if everywhere else listed


def size(store: Store, choice: Choice) -> int:
    """About how many lines it will be, at most."""
    return int(store.value(COUNT)) + (int(store.value(COUNT_TURNS)) if choice.turns else 0)


def records(store: Store, choice: Choice) -> Iterator[Record]:
    """The objects of an export in order, the first one saying what it is and the last one how many there are."""
    count = 0
    for record in _all(store, choice):
        count += 1
        yield record
    yield {"record": "end", "lines": count + 1}


def line(record: Record, *, is_shown: bool = False) -> bytes:
    """The object as its line; for a terminal in ASCII, so that nothing in it moves the cursor or turns letters round."""
    return json.dumps(record, ensure_ascii=is_shown).encode("utf-8", "replace") + b"\n"


def _all(store: Store, choice: Choice) -> Iterator[Record]:
    keys = {int(number): str(key) for number, key, _, _ in store.rows(REPOSITORIES)}
    wanted = None if choice.scope is None else sorted(keys[number] for number in choice.scope)
    yield {"tenon": FORMAT, "version": VERSION, **_bare({"repositories": wanted, "since": choice.since or None}), "archive": choice.turns}
    if choice.scope is None:
        yield from _forgotten(store)
    for number, key, same_as, seen in store.rows(REPOSITORIES):
        if choice.scope is None or number in choice.scope:
            yield {"record": "repository", "key": key, **_bare({"same_as": same_as}), "seen": seen}
    changed: dict[int, bytes] = {}  # turns whose hash is another one in the export
    yield from _sessions(store, choice, keys, changed)
    yield from _memories(store, choice, keys, changed)
    yield from _links(store, choice)
    yield from _tasks(store, choice)
    frozen = notes.value(store, identity.FROZEN)
    if frozen:
        yield {"record": "identity", "frozen": frozen}


def _forgotten(store: Store) -> Iterator[Record]:
    salt = store.value(SALT)
    for own, size_, reason, at in store.each(TOMBSTONES) if salt else ():
        yield {
            "record": "forgotten",
            "salt": salt,
            "hash": bytes(own).hex(),
            "words": size_,
            "reason": redact(str(reason)[len(TAKEN) * str(reason).startswith(TAKEN) :]),
            "at": at,
        }


def _sessions(store: Store, choice: Choice, keys: dict[int, str], changed: dict[int, bytes]) -> Iterator[Record]:
    if choice.turns:
        for statement in BY_TURN:
            store.execute(statement)
    sql = SESSIONS.format(scope=choice.within("s.repository", everywhere=False), all=int(choice.turns))
    found = store.rows(sql, (choice.since,))
    within = {int(row[0]) for row in found}
    for number, name, repository, folder, branch, client, started, last, text, at, writer, reached in found:
        told = {"text": redact(text), "at": at, "writer": writer} if text is not None else None
        yield {
            "record": "session", "name": name, "repository": keys.get(repository, ""), "folder": redact(folder), **_bare({"branch": redact(branch)}),
            "client": client, "started": started, "last": last, **_bare({"summary": told}),
        }  # fmt: skip
        if choice.turns:
            places_ = [(int(a), b, float(c), bytes(d)) for a, b, c, d in store.each(PLACES, (number,))]
            for place in _ordered(places_):
                record = _turn(store, place, str(name), keys, changed, within)
                yield {**record, "spotted": True} if place[0] == reached else record


def _turn(store: Store, place: Place, name: str, keys: dict[int, str], changed: dict[int, bytes], within: Collection[int]) -> Record:
    """The turn as it goes out; in `changed` it is noted when its hash is another one there. `within` are the sessions that go along."""
    number, parent, at, own = place
    repository, thread, message, role, kind, source, stored, forgotten, how, dealt, gist, chars = store.one(TURN, (number,)) or ()
    content = _content(stored)
    if content is None:
        content, forgotten = "[]", forgotten or at  # what cannot be read any more keeps its place, as a forgotten one does
    hashed, session = (store.one(ABOVE, (parent,)) if parent is not None else None) or (None, None)
    above = changed.get(parent or 0) or (bytes(hashed) if hashed else None)
    if forgotten is None and (content != stored or parent in changed):
        fresh = archive.chain_hash(above, name, thread, role, content)
        if fresh != own:
            changed[number] = own = fresh
    lines = [str(row[0]) for row in store.rows(LINES, (number,))]
    return {
        "record": "turn", "session": name, "hash": own.hex(), **_bare({"parent": above.hex() if above else None, "cut": True if above and session not in within else None}),
        "repository": keys.get(repository, ""), **_bare({"thread": thread, "message": message}), "role": role, "kind": kind, "source": source, "at": at,
        "content": json.loads(content),
        **_bare({"forgotten": forgotten, "lines": lines, "dealt": {"how": how, "at": dealt} if how else None, "gist": redact(gist or ""), "read": chars}),
    }  # fmt: skip


def _ordered(turns: Sequence[Place]) -> Iterator[Place]:
    """The turns of a session by time, none before its parent, whatever their numbers."""
    by_number = {turn[0]: turn for turn in turns}
    after: dict[int, list[Place]] = {}
    ready: list[tuple[float, bytes, int]] = []
    for number, parent, at, own in turns:
        if parent in by_number:
            after.setdefault(parent or 0, []).append(by_number[number])
        else:
            ready.append((at, own, number))
    heapify(ready)
    while ready:
        number = heappop(ready)[2]
        yield by_number[number]
        for child in after.pop(number, ()):
            heappush(ready, (child[2], child[3], child[0]))


def _memories(store: Store, choice: Choice, keys: dict[int, str], changed: dict[int, bytes]) -> Iterator[Record]:
    reopened = dict(store.rows(REOPENED))
    names = ("tier", "kind", "text", "reason", "source", "labels", "epic", "strength", "citations", "revision", "status", "successor",
             "created", "reinforced", "decayed", "valid_from", "valid_to", "writer")  # fmt: skip
    for number, ref, repository, *values in store.rows(MEMORIES.format(scope=choice.within("m.repository")), (choice.since,) * 4):
        told = dict(zip(names, values))
        for name in ("text", "reason", "epic"):
            told[name] = redact(told[name])
        told["labels"] = [redact(str(label)) for label in _list(told["labels"])]
        earlier = [{"revision": a, "text": redact(b), "reason": redact(c), "at": d} for a, b, c, d in store.rows(REVISIONS, (number,))]
        origin = sorted((changed.get(turn) or bytes(own)).hex() for turn, own in store.rows(LINEAGE, (number,)))
        yield {
            "record": "memory", "id": ref, **_bare({"repository": None if repository is None else keys.get(repository), **told}),
            **_bare({"revisions": earlier, "from": origin, "reopened": reopened.get(ref), **_parts(store, number)}),
        }  # fmt: skip


def _parts(store: Store, memory: int) -> Record:
    """What an episode or a procedure has besides its text."""
    episode, procedure = store.one(EPISODE, (memory,)), store.one(PROCEDURE, (memory,))
    found: Record = {}
    if episode is not None:
        found["episode"] = redact_value(dict(zip(EPISODE_FIELDS, episode)))
    if procedure is not None:
        told = dict(zip(PROCEDURE_FIELDS, procedure))
        found["procedure"] = {name: value if name == "digest" else redact_value(_list(value) if name == "paths" else value) for name, value in told.items()}
    return found


def _links(store: Store, choice: Choice) -> Iterator[Record]:
    sql = EDGES.format(origin=choice.within("o.repository"), target=choice.within("t.repository"))
    for origin, target, kind, status, strength, reason, verdict, created, decided, decayed in store.rows(sql, (choice.since, choice.since)):
        yield {
            "record": "edge", "from": origin, "to": target, "kind": kind, "status": status, "strength": strength, "reason": redact(reason),
            **_bare({"verdict": redact(verdict)}), "created": created, **_bare({"decided": decided}), "decayed": decayed,
        }  # fmt: skip
    sql = ASSOCIATIONS.format(origin=choice.within("x.repository"), target=choice.within("y.repository"))
    for one, other, strength, count, since in store.rows(sql, (choice.since,)):
        yield {"record": "association", "a": one, "b": other, "strength": strength, "count": count, "since": since}


def _tasks(store: Store, choice: Choice) -> Iterator[Record]:
    for key, epic, title, status, body, created, updated in store.rows(TASKS.format(scope=choice.within("t.repository", everywhere=False)), (choice.since,)):
        yield {
            "record": "task", "repository": key, "epic": redact(epic), "title": redact(title), "status": status, "body": redact_value(_dict(body)),
            "created": created, "updated": updated,
        }  # fmt: skip
    for key, body, updated in store.rows(HANDOFFS.format(scope=choice.within("h.repository", everywhere=False)), (choice.since,)):
        yield {"record": "handoff", "repository": key, "body": redact_value(_dict(body)), "updated": updated}


def _content(stored: object) -> str | None:
    """The content of a turn without secrets, or None when it cannot be read."""
    found = parse(stored, whole=True) if isinstance(stored, str) else None
    return archive.canonical(found) if isinstance(found, list) else None


def _list(stored: object) -> list[Any]:
    found = parse(str(stored))
    return found if isinstance(found, list) else []


def _dict(stored: object) -> Record:
    found = parse(str(stored))
    return found if isinstance(found, dict) else {}


def _bare(fields: Record) -> Record:
    """The fields that say something."""
    return {name: value for name, value in fields.items() if value is not None and value not in ("", [])}
