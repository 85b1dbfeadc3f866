"""Edges: typed links between memories, proposed first and approved or rejected later, weakened by time.

After backant-memory's README, «Edges». An edge exists only between memories that one repository sees: its own and the
agent-wide ones. Approving `supersedes` closes the memory it points to; no other kind changes what a memory is.
"""

from __future__ import annotations

from tenon.base.errors import TenonError
from tenon.base.text import cut, words
from tenon.store import memories, places
from tenon.store.forgotten import INSTEAD
from tenon.store.wording import chosen, kept

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from tenon.store.db import Store
    from tenon.store.memories import Memory

KINDS = ("related_to", "contradicts", "supports", "supersedes", "refines")
PER_DAY = 0.993  # what an edge keeps of its strength per day: a hundred days halve it
FADED = 0.1  # a weaker edge is dropped
DEEPEST = 3  # steps of a walk
MOST = 50  # memories that a walk comes back with
REASON = 1000  # characters
QUOTED = 4  # letters of a word that tells something
BY_DIGEST = "by a digest"  # the verdict on a link that waits for nobody

SEEN = "(o.repository IS NULL OR o.repository IN ({scope})) AND (t.repository IS NULL OR t.repository IN ({scope}))"
COLUMNS = "e.id, o.ref, t.ref, e.kind, e.status, e.strength, e.reason, e.verdict, e.created, e.decided, o.text, t.text"
FROM = "FROM edge e JOIN memory o ON o.id = e.origin JOIN memory t ON t.id = e.target"
BY_ENDS = "SELECT id, status FROM edge WHERE origin = ? AND target = ? AND kind = ?"
BY_ID = "SELECT origin, target, kind, status, verdict FROM edge WHERE id = ?"
ADD = "INSERT INTO edge (origin, target, kind, status, reason, created, decayed) VALUES (?, ?, ?, 'proposed', ?, ?, ?)"
REOPEN = "UPDATE edge SET status = 'proposed', strength = 1.0, reason = ?, decided = NULL, decayed = ? WHERE id = ?"
FRESHEN = "UPDATE edge SET strength = 1.0, decayed = ? WHERE id = ?"
DECIDE = "UPDATE edge SET status = ?, verdict = ?, decided = ? WHERE id = ?"
WITHDRAW = "UPDATE edge SET status = 'rejected', verdict = ?, decided = ? WHERE id = ? AND (status = 'proposed' AND verdict = '' OR status = 'approved' AND verdict = ?)"
REASON_OF = "SELECT reason FROM edge WHERE id = ?"
UNSAY = "UPDATE edge SET reason = ? WHERE id = ?"
PENDING = f"SELECT {COLUMNS} {FROM} WHERE e.status = 'proposed' AND {SEEN} ORDER BY e.created, e.id LIMIT ?"
OF = f"SELECT {COLUMNS} {FROM} WHERE (e.origin = ? OR e.target = ?) AND {SEEN} ORDER BY e.id"
APPROVED = f"SELECT {COLUMNS} {FROM} WHERE e.status = 'approved' AND {SEEN} {{more}} ORDER BY e.strength DESC, e.id"
STEP = (
    "SELECT e.id AS id, e.target, e.kind, 'out', e.strength AS strength FROM edge e JOIN memory m ON m.id = e.target "
    "WHERE e.origin = ? AND e.status = 'approved' AND m.status = 'live' AND (m.repository IS NULL OR m.repository IN ({scope})) "
    "UNION ALL SELECT e.id, e.origin, e.kind, 'in', e.strength FROM edge e JOIN memory m ON m.id = e.origin "
    "WHERE e.target = ? AND e.status = 'approved' AND m.status = 'live' AND (m.repository IS NULL OR m.repository IN ({scope})) "
    "ORDER BY strength DESC, id"
)
SWEPT = f"SELECT e.id, e.strength, e.decayed {FROM} WHERE e.status <> 'rejected' AND {SEEN}"
WEAKENED = "UPDATE edge SET strength = ?, decayed = ? WHERE id = ?"
DROPPED = "UPDATE edge SET status = 'rejected', verdict = 'faded', strength = ?, decided = ?, decayed = ? WHERE id = ?"
HOME = "SELECT coalesce(o.repository, t.repository) FROM edge e JOIN memory o ON o.id = e.origin JOIN memory t ON t.id = e.target WHERE e.id = ?"
HOME_OF = "SELECT repository FROM memory WHERE id = ?"


def propose(store: Store, repository: int | None, origin_ref: str, target_ref: str, kind: str, reason: str, now: float) -> int:
    """The id of the edge, which waits for approval; the same edge proposed again is the same edge.

    Proposing an approved edge again makes it as strong as a new one, and proposing a rejected one opens it again.
    Raises TenonError for an unknown memory or kind, another repository's memory, a missing reason, or one memory twice.
    """
    kind, reason = chosen(kind, "kind of edge", KINDS), kept(reason, "reason", REASON, store=store)
    with store.transaction():
        origin, target = _end(store, repository, origin_ref), _end(store, repository, target_ref)
        if origin.id == target.id:
            raise TenonError(f"{origin.ref} cannot be linked to itself; name two memories")
        known = store.one(BY_ENDS, (origin.id, target.id, kind))
        if known is None:
            return int(store.execute(ADD, (origin.id, target.id, kind, reason, now, now)).lastrowid or 0)
        if known[1] == "rejected":
            # The verdict stays, so that whoever decides again sees why it was rejected.
            store.execute(REOPEN, (reason, now, known[0]))
        else:
            store.execute(FRESHEN, (now, known[0]))
    return int(known[0])


def propose_once(store: Store, repository: int | None, origin_ref: str, target_ref: str, kind: str, reason: str, now: float) -> tuple[int, bool]:
    """The id of the edge, and whether it was not there yet in any form; one that was there is left as it is. Raises as `propose` does."""
    with store.transaction():
        origin, target = _end(store, repository, origin_ref), _end(store, repository, target_ref)
        known = store.one(BY_ENDS, (origin.id, target.id, kind))
        if known is not None:
            return int(known[0]), False
        return propose(store, repository, origin_ref, target_ref, kind, reason, now), True


def approve(store: Store, repository: int | None, edge_id: int, now: float, why: str = "") -> str:
    """The id of the memory that the approval closed (for `supersedes`), or «»; approving twice is approving once.

    Raises TenonError for an unknown, rejected or other repository's edge, and for a `supersedes` whose target was
    written later than its origin or was superseded by another memory already.
    """
    why = kept(why, "reason", REASON, empty=True, store=store)
    with store.transaction():
        origin, target, kind, status, verdict = _edge(store, repository, edge_id)
        if status == "rejected":
            raise TenonError(f"edge {edge_id} was rejected ({verdict}); propose it again with what speaks for it now")
        if status == "approved":
            return ""
        closed = ""
        if kind == "supersedes" and target.successor != origin.id:
            if target.created > origin.created:
                raise TenonError(
                    f"{target.ref} was written after {origin.ref} and cannot be superseded by it; propose the edge from {target.ref} to {origin.ref}"
                )
            if target.status == "superseded":
                raise TenonError(f"{target.ref} was superseded by another memory already; link {origin.ref} to that one")
            memories.supersede(store, target.ref, origin.ref, now)
            closed = target.ref
        store.execute(DECIDE, ("approved", why, now, edge_id))
    return closed


def reject(store: Store, repository: int | None, edge_id: int, why: str, now: float) -> None:
    """Turns an edge down, whether it was proposed or approved; a memory that it closed stays closed.

    Raises TenonError for an unknown or other repository's edge, or a missing reason.
    """
    why = kept(why, "reason", REASON, store=store)
    with store.transaction():
        _edge(store, repository, edge_id)
        store.execute(DECIDE, ("rejected", why, now, edge_id))


def withdraw(store: Store, edge_id: int, why: str, now: float) -> bool:
    """Whether the edge is turned down now; one that somebody else has decided on stays as it is. For a digest that made it and is taken back."""
    return store.execute(WITHDRAW, (why, now, edge_id, BY_DIGEST)).rowcount > 0


def quoting(store: Store, edge_ids: Sequence[int], texts: Sequence[str]) -> list[int]:
    """Those of the edges whose reasons have a longer word, or a number, of one of the texts."""
    said = {word for text in texts for word in words(text) if len(word) >= QUOTED or not word.isalpha()}
    reasons = {number: str(store.value(REASON_OF, (number,)) or "") for number in edge_ids}
    return [number for number, reason in reasons.items() if not said.isdisjoint(words(reason))]


def unsay(store: Store, edge_ids: Sequence[int]) -> None:
    """Takes the edges' reasons away: they had words of what is forgotten."""
    for number in edge_ids:
        store.execute(UNSAY, (INSTEAD, number))


def pending(store: Store, repository: int | None, limit: int) -> list[dict[str, Any]]:
    """The edges that wait for approval, oldest first."""
    sql, values = _scoped(store, repository, PENDING)
    return [_told(row) for row in store.rows(sql, (*values, max(0, limit)))]


def of(store: Store, repository: int | None, ref: str) -> list[dict[str, Any]]:
    """All edges of a memory that the repository sees, whatever their status, oldest first."""
    memory = _end(store, repository, ref)
    sql, values = _scoped(store, repository, OF)
    return [_told(row) for row in store.rows(sql, (memory.id, memory.id, *values))]


def listing(store: Store, repository: int | None, kind: str | None = None, origin: str | None = None, target: str | None = None) -> list[dict[str, Any]]:
    """The approved edges that the repository sees, strongest first; only of that kind, from or to that memory, when given."""
    sql, values = _scoped(store, repository, APPROVED)
    more = ""
    if kind is not None:
        more += "AND e.kind = ? "
        values.append(chosen(kind, "kind of edge", KINDS))
    for column, ref in (("e.origin", origin), ("e.target", target)):
        if ref is not None:
            more += f"AND {column} = ? "
            values.append(_end(store, repository, ref).id)
    return [_told(row) for row in store.rows(sql.format(more=more), values)]


def home(store: Store, edge_id: int) -> int | None:
    """The repository that an edge is decided from: that of its memories, None when both are agent-wide or there is no such edge."""
    found = store.value(HOME, (edge_id,))
    return None if found is None else int(found)


def neighbours(store: Store, memory_ids: Sequence[int], depth: int, repository: int | None = None) -> list[tuple[int, str, str, int]]:
    """What approved edges lead to, nearest first: (memory, kind of edge, «out» or «in», the memory it was reached from).

    Ids are row numbers. Each live memory comes once, at most 50 of them within at most 3 steps, and only of the given
    repository, of those that the starting memories belong to, and agent-wide ones.
    """
    scope = set(places.scope(store, repository))
    for number in memory_ids:
        scope.update(places.scope(store, store.value(HOME_OF, (number,))))
    inside = sorted(scope)
    sql = STEP.format(scope=_marks(inside))
    found: list[tuple[int, str, str, int]] = []
    seen = set(memory_ids)
    rim = list(dict.fromkeys(memory_ids))
    for _ in range(min(max(1, depth), DEEPEST)):
        reached: list[int] = []
        for via in rim:
            for _, other, kind, direction, _ in store.rows(sql, (via, *inside, via, *inside)):
                if other in seen:
                    continue
                if len(found) >= MOST:
                    return found
                seen.add(other)
                reached.append(other)
                found.append((other, kind, direction, via))
        rim = reached
    return found


def sweep(store: Store, repository: int | None, now: float) -> int:
    """How many edges faded; the others are weakened by the time that went by, so sweeping twice is sweeping once."""
    faded = 0
    with store.transaction():
        sql, values = _scoped(store, repository, SWEPT)
        for number, old, since in store.rows(sql, values):
            strength = old * PER_DAY ** (max(0.0, now - since) / memories.DAY_S)
            if strength < FADED:
                store.execute(DROPPED, (strength, now, now, number))
                faded += 1
            elif old - strength >= 0.001:
                store.execute(WEAKENED, (strength, now, number))
    return faded


def _end(store: Store, repository: int | None, ref: str) -> Memory:
    memory = memories.get(store, ref)
    if memory.repository is not None and memory.repository not in places.scope(store, repository):
        raise TenonError(
            f"{memory.ref} belongs to another repository ({places.key(store, memory.repository)}); an edge joins memories of one repository and agent-wide ones"
        )
    return memory


def _edge(store: Store, repository: int | None, edge_id: int) -> tuple[Memory, Memory, str, str, str]:
    row = store.one(BY_ID, (edge_id,))
    if row is None:
        raise TenonError(f"there is no edge {edge_id}; pending edges and their numbers are listed by `pending`")
    ends = [memories.by_id(store, number) for number in row[:2]]
    scope = places.scope(store, repository)
    for memory in ends:
        if memory.repository is not None and memory.repository not in scope:
            raise TenonError(f"edge {edge_id} belongs to another repository ({places.key(store, memory.repository)}); it is decided from there")
    return ends[0], ends[1], row[2], row[3], row[4]


def _scoped(store: Store, repository: int | None, sql: str) -> tuple[str, list[Any]]:
    scope = places.scope(store, repository)
    return sql.replace("{scope}", _marks(scope)), [*scope, *scope]


def _marks(values: Sequence[object]) -> str:
    return ", ".join("?" * len(values)) or "NULL"


def _told(row: Sequence[Any]) -> dict[str, Any]:
    number, origin, target, kind, status, strength, reason, verdict, created, decided, origin_text, target_text = row
    return {
        "edge_id": number, "from": origin, "to": target, "type": kind, "status": status, "strength": round(strength, 3), "reason": reason,
        "verdict": verdict, "created": created, "decided": decided, "from_content": cut(origin_text, 160), "to_content": cut(target_text, 160),
    }  # fmt: skip
