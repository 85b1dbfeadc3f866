"""What each tool does: its arguments, already validated, become calls of the library, and the result is plain data."""

from __future__ import annotations

import json
import time

from mcp_server.place import FOLDERLESS, NOWHERE, Place, opened, permitted, reads, settled
from mcp_server.scope import of_process
from tenon.base import faults, paths, settings
from tenon.base.errors import TenonError
from tenon.base.lean import sqlite
from tenon.base.text import cut
from tenon.digest import forgetting, session
from tenon.recall import injection
from tenon.recall.recall import SPOKEN, described, recall
from tenon.store import db, edges, episodes, exchanges, fading, forget, gists, journal, memories, nearby, places, procedures, tasks
from tenon.world import embedding

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from mcp_server.scope import Scope
    from tenon.recall.recall import Hit
    from tenon.store.exchanges import Turn
    from tenon.store.memories import Memory

TURN_CHARS = 2000
EXCHANGE_CHARS = 40_000
EXTERNAL = "this was written from outside sources; have the user confirm it before it becomes long-term, then write it with origin user"
UNCONFIRMED = "Nothing is forgotten yet. Show this to the user (`/memory-forget ID` shows them the words); call again with confirm true once they agree."
SAID = " The turns in still_said_in say the same and stay: ask whether they go too, and if so pass their ids as well."
EVERY_KIND = ("prompt", "reply", "call", "result", "other")


def call(name: str, arguments: dict[str, Any], scope: Scope | None = None) -> dict[str, Any]:
    """The result of a tool in that scope, else this process's, without what could pass for another voice. Raises TenonError with a sentence for the model."""
    try:
        result: dict[str, Any] = _defused(_called(name, arguments, scope or of_process()))
    except TenonError as error:
        raise TenonError(injection.defused(str(error))) from error
    return result


def _called(name: str, arguments: dict[str, Any], scope: Scope) -> dict[str, Any]:
    chosen = settings.load()
    permitted(scope, chosen)  # a folder that is excluded is refused before anything is opened
    settled(name, arguments, scope)
    path = paths.store_path(paths.agent_name(scope.agent or chosen.text("agent")))
    try:
        with opened(path, reads=reads(name, arguments), own=not scope.agent) as store:
            return TOOLS[name](Place(store, chosen, scope), arguments)
    except sqlite.Error as error:
        raise TenonError(db.explain(path, error)) from error


def _defused(value: Any) -> Any:
    if isinstance(value, str):
        return injection.defused(value)
    if isinstance(value, dict):
        return {key: _defused(part) for key, part in value.items()}
    return [_defused(part) for part in value] if isinstance(value, (list, tuple)) else value


# ---------------------------------------------------------------- recall


def _recall(here: Place, given: dict[str, Any]) -> dict[str, Any]:
    if given.get("id"):
        return _by_id(here, str(given["id"]), given)
    if not str(given.get("cue") or "").strip():
        raise TenonError("give a cue in words, or an id")
    tier = {"stm": "short", "ltm": "long", "any": ""}.get(str(given.get("tier", "any")), str(given.get("tier")))
    found = recall(
        here.store,
        str(given["cue"]),
        scope=None if given.get("everywhere") else here.scope,
        k=int(given.get("k", 8)),
        now=here.now,
        per_day=here.per_day,
        archive=bool(given.get("archive")),
        tier=tier,
        kinds=given.get("types") or (),
        ranking=here.settings.text("recall.ranking"),
        meaning=embedding.for_query(here.store, str(given["cue"]), here.settings),
    )
    far = found.only_nearest(here.settings.number("recall.floor"))
    _journal(here, found.hits, found.words())
    hits = [_hit(here, hit) for hit in found.hits]
    if given.get("with_edges"):
        for hit, told in zip(found.hits, hits):
            if hit.candidate.tier != "archive":
                told["edges"] = _edges(here, hit.candidate.rowid, int(given.get("edge_depth", 1)))
    result: dict[str, Any] = {"hits": hits, "count": len(hits), **({"note": injection.NEAREST} if far else {})}
    if not hits:
        more = "" if given.get("archive") else "With archive true, what was said in earlier sessions is searched too."
        result["note"] = f"Nothing is known about that. {more}"
    return result


def _by_id(here: Place, ref: str, given: dict[str, Any]) -> dict[str, Any]:
    if ref.startswith("t"):
        return _exchange(here, given)
    found = here.memory(ref)
    told = _memory(found)
    if found.status == "superseded" and found.successor:
        told["superseded_by"] = memories.by_id(here.store, found.successor).ref
    turns = [f"t{number}" for number in memories.lineage(here.store, found)]
    told.update(history=memories.history(here.store, found), turns=turns, edges=_edges(here, found.id, 1))
    return {"hits": [told], "count": 1}


def _hit(here: Place, hit: Hit) -> dict[str, Any]:
    told = described(hit)
    if hit.candidate.tier == "archive":
        told["content"] = injection.excerpt(hit.candidate.text, hit.words, 1000)
        for ref, text in nearby.since(here.store, [hit.candidate.ref, hit.candidate.other_ref]).values():
            told["no_longer_so_since"] = {"id": ref, "content": cut(text, 300)}
        if hit.candidate.other_text:
            told["answered_by" if hit.candidate.kind == "prompt" else "answers"] = {
                "id": hit.candidate.other_ref,
                "content": cut(hit.candidate.other_text, 600),
            }
    return told


def _edges(here: Place, rowid: int, depth: int) -> list[dict[str, Any]]:
    told = []
    for number, kind, direction, via in edges.neighbours(here.store, [rowid], depth, here.repository):
        other = memories.by_id(here.store, number)
        told.append({"type": kind, "direction": direction, "id": other.ref, "content": cut(other.text, 200), "via": memories.by_id(here.store, via).ref})
    return told


def _memory(found: Memory) -> dict[str, Any]:
    return {
        "id": found.ref, "tier": found.tier, "type": found.kind, "content": found.text, "reason": found.reason, "origin": found.source,
        "sources": json.loads(found.labels), "strength": round(found.strength, 3), "citations": found.citations, "revision": found.revision,
        "status": found.status, "created": injection.day(found.created), "last_reinforced": injection.day(found.reinforced),
        "scope": "agent" if found.repository is None else "repository",
    }  # fmt: skip


def _journal(here: Place, hits: list[Hit], words: list[str]) -> None:
    told = [(hit.candidate.ref, hit.score, hit.parts.values()) for hit in hits]
    repository = None if here.repository == NOWHERE else here.repository
    if not here.store.writable:
        return
    try:
        journal.record(here.store, event="tool", session=here.session, repository=repository, words=words, hits=told, chars=0, now=here.now)
    except sqlite.OperationalError as error:
        faults.note("mcp", error, "the recall was answered and not journalled")


# ---------------------------------------------------------------- memories


def _write(here: Place, given: dict[str, Any]) -> dict[str, Any]:
    old = here.memory(str(given["supersedes"])) if given.get("supersedes") else None
    tier = {"stm": "short", "ltm": "long"}.get(given["tier"], given["tier"])
    if tier == "long" and given.get("origin") == "outside":
        raise TenonError(EXTERNAL)
    with here.store.transaction():
        ref, new = memories.write(
            here.store,
            repository=None if given.get("scope") == "agent" else here.repository,
            tier=tier,
            kind=given["type"],
            text=given["content"],
            reason=given.get("reason", ""),
            source=given.get("origin", "assistant"),
            labels=given.get("sources", []),
            turns=here.turns(given.get("turns", [])),
            epic=given.get("epic_id", ""),
            now=here.now,
        )
        if old is not None:
            memories.supersede(here.store, old.ref, ref, here.now)
    result = {"id": ref, "tier": tier, "new": new}
    if not new:
        result["note"] = "This was known already; it is fresh again."
    if old is not None:
        result["superseded"] = old.ref
    return result


def _episode(here: Place, given: dict[str, Any]) -> dict[str, Any]:
    ref, strength = episodes.write(
        here.store,
        repository=here.repository,
        situation=given["situation"],
        action_type=given["action_type"],
        action_taken=given["action_taken"],
        expected=given["expected"],
        outcome=given["outcome"],
        evidence=given["evidence"],
        epic=given.get("epic_id", ""),
        labels=given.get("sources", []),
        turns=here.turns(given.get("turns", [])),
        now=here.now,
    )
    return {"id": ref, "strength": strength}


def _reinforce(here: Place, given: dict[str, Any]) -> dict[str, Any]:
    old = here.memory(given["id"])
    found = memories.reinforce(here.store, old.ref, here.now, factor=float(given.get("factor", 1.2)), per_day=here.per_day[old.tier])
    return {"id": found.ref, "strength": round(found.strength, 3), "citations": found.citations}


def _edit(here: Place, given: dict[str, Any]) -> dict[str, Any]:
    old = here.memory(given["id"])
    if given["action"] == "revise":
        if not given.get("new_content"):
            raise TenonError("revise needs new_content: the whole new text")
        found = memories.revise(here.store, old.ref, given["new_content"], given["reason"], here.now)
    elif given["action"] == "promote":
        if old.source == "outside":
            raise TenonError(EXTERNAL)
        found = memories.promote(here.store, old.ref, given["reason"], here.now)
    else:
        found = memories.demote(here.store, old.ref, given["reason"], here.now)
    return _memory(found)


def _forget(here: Place, given: dict[str, Any]) -> dict[str, Any]:
    for ref in given["ids"]:
        if ref.strip()[:1] == "t":
            here.turns([ref])
        else:
            here.memory(ref)
    lines, said = forget.preview(here.store, given["ids"], quote=False), forgetting.said(here.store, given["ids"], here.repository)
    still = {"still_said_in": said} if said else {}
    if not given.get("confirm"):
        return {"would_forget": lines, **still, "note": UNCONFIRMED + (SAID if said else "")}
    forgetting.forget(here.store, given["ids"], given.get("reason", "the user's wish"), here.now)
    return {"forgotten": lines, **still}


# ---------------------------------------------------------------- links, procedures, tasks, upkeep


def _graph(here: Place, given: dict[str, Any]) -> dict[str, Any]:
    action = given["action"]
    if action == "propose":
        _need(given, "from", "to", "type", "reason")
        number = edges.propose(here.store, here.repository, given["from"], given["to"], given["type"], given["reason"], here.now)
        return {"edge_id": number, "status": "proposed"}
    if action == "approve":
        _need(given, "edge_id")
        closed = edges.approve(here.store, here.repository, given["edge_id"], here.now, why=given.get("reason", ""))
        return {"edge_id": given["edge_id"], "status": "approved", **({"invalidated_id": closed} if closed else {})}
    if action == "reject":
        _need(given, "edge_id", "reason")
        edges.reject(here.store, here.repository, given["edge_id"], given["reason"], here.now)
        return {"edge_id": given["edge_id"], "status": "rejected"}
    limit = int(given.get("limit", 50))
    if action == "pending":
        return {"edges": edges.pending(here.store, here.repository, limit)}
    return {"edges": edges.listing(here.store, here.repository, kind=given.get("type"), origin=given.get("from"), target=given.get("to"))[:limit]}


def _procedure(here: Place, given: dict[str, Any]) -> dict[str, Any]:
    action = given["action"]
    if action == "grounding":
        _need(given, "trigger")
        found = recall(here.store, given["trigger"], scope=here.scope, k=20, now=here.now, per_day=here.per_day, kinds=("procedure",))
        grounded = procedures.ground(here.store, here.repository, here.root, [hit.candidate.rowid for hit in found.hits])
        return {"trigger": given["trigger"], "procedures": grounded[: int(given.get("k", 5))]}
    if action != "sweep" and not here.folder:
        raise TenonError(FOLDERLESS)
    if action == "propose":
        _need(given, "name", "trigger", "steps")
        ref = procedures.propose(
            here.store, repository=here.repository, root=here.root, name=given["name"], trigger=given["trigger"], steps=given["steps"],
            paths=given.get("depends_on_paths", []), labels=given.get("sources", []), now=here.now,
        )  # fmt: skip
        return {"id": ref, "status": "proposed"}
    if action == "outcome":
        _need(given, "procedure_id", "outcome")
        here.memory(given["procedure_id"])
        return procedures.outcome(
            here.store, given["procedure_id"], root=here.root, outcome=given["outcome"], confirmed=bool(given.get("judge_confirmed")),
            situation=given.get("situation", ""), evidence=given.get("evidence", ""), epic=given.get("epic_id", ""), now=here.now,
        )  # fmt: skip
    scanned, stale = procedures.sweep(here.store, here.repository, here.root, here.now)
    return {"scanned": scanned, "marked_stale": stale}


def _task(here: Place, given: dict[str, Any]) -> dict[str, Any]:
    if given["action"] == "read":
        return tasks.read(here.store, here.repository, given.get("epic_id"))
    _need(given, "epic_id")
    if given["action"] == "write":
        fields = {name: given[name] for name in ("title", "status", "plan", "open_threads", "touched", "blockers") if name in given}
        return {"state": tasks.write(here.store, here.repository, epic=given["epic_id"], now=here.now, **fields)}
    body = {name: given[name] for name in ("last_completed_step", "next_action", "working_set", "blockers", "do_not_redo") if name in given}
    if not body:
        raise TenonError("a handoff says at least one of last_completed_step, next_action, working_set, blockers, do_not_redo")
    tasks.write_handoff(here.store, here.repository, {"active_epic": given["epic_id"], **body}, here.now)
    return {"handoff": tasks.read_handoff(here.store, here.repository)}


def _maintain(here: Place, given: dict[str, Any]) -> dict[str, Any]:
    if given["action"] == "pattern_check":
        if not given.get("domains"):
            raise TenonError("pattern_check needs domains: the words of what you are about to retry")
        return {"patterns": episodes.failures(here.store, here.repository, given["domains"])}
    weakened, faded = fading.sweep(here.store, here.repository, here.now, here.per_day)
    dropped = edges.sweep(here.store, here.repository, here.now)
    journal.prune(here.store, here.now)
    return {"weakened": weakened, "faded": faded, "edges_faded": dropped}


# ---------------------------------------------------------------- the archive


def _archive(here: Place, given: dict[str, Any]) -> dict[str, Any]:
    action = given["action"]
    if action == "search":
        _need(given, "cue")
        found = recall(
            here.store, given["cue"], scope=None if given.get("everywhere") else here.scope, k=int(given.get("k", 10)), now=here.now, per_day=here.per_day,
            memories=False, archive=True, spoken=EVERY_KIND if given.get("tools") else SPOKEN, threads=bool(given.get("tools")),
            ranking=here.settings.text("recall.ranking"), meaning=embedding.for_query(here.store, given["cue"], here.settings),
        )  # fmt: skip
        _journal(here, found.hits, found.words())
        return {"hits": [_hit(here, hit) for hit in found.hits], "count": len(found.hits)}
    if action == "exchange":
        _need(given, "id")
        return _exchange(here, given)
    if action == "turn":
        _need(given, "id")
        return _whole(here, given)
    if action == "pending":
        size, count = exchanges.pending_size(here.store, here.repository)
        turns = exchanges.pending(here.store, here.repository, int(given.get("k", 10)))
        return {"waiting": count, "tokens": size, "turns": [_turn(turn, TURN_CHARS) for turn in turns]}
    written, skipped = here.turns(given.get("written", [])), here.turns(given.get("skipped", []))
    if not written and not skipped:
        raise TenonError("done needs the turns (t…) in written or skipped")
    count = session.done(here.store, here.repository, written, skipped, here.now)
    return {"marked": count, "waiting": exchanges.pending_size(here.store, here.repository)[1]}


def _exchange(here: Place, given: dict[str, Any]) -> dict[str, Any]:
    rows = exchanges.exchange(here.store, given["id"])
    _may_read(here, rows[0], given)
    each = max(400, EXCHANGE_CHARS // max(1, len(rows)))
    return {"turns": [_turn(turn, each) for turn in rows], "count": len(rows), "gist": gists.of(here.store, rows[0].id)}


def _whole(here: Place, given: dict[str, Any]) -> dict[str, Any]:
    turn = exchanges.turn(here.store, given["id"])
    _may_read(here, turn, given)
    text, start = turn.text(), int(given.get("start", 0))
    told = {**_turn(turn, 0), "content": text[start : start + EXCHANGE_CHARS], "start": start, "chars": len(text)}
    if start + EXCHANGE_CHARS < len(text):
        told["next_start"] = start + EXCHANGE_CHARS
    return told


def _may_read(here: Place, turn: Turn, given: dict[str, Any]) -> None:
    own = places.canonical(here.store, turn.repository)
    if own != here.scope[0] and not given.get("everywhere"):
        raise TenonError(f"{given['id']} was said in another repository ({places.key(here.store, own)}); say everywhere true to read it")


def _turn(turn: Turn, limit: int) -> dict[str, Any]:
    text = turn.text()
    return {
        "id": turn.ref, "role": turn.role, "kind": turn.kind, "at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(turn.at)),
        "content": text if len(text) <= limit else text[:limit] + f"… ({len(text) - limit:,} characters more)",
    }  # fmt: skip


def _need(given: dict[str, Any], *names: str) -> None:
    missing = [name for name in names if given.get(name) in (None, "")]
    if missing:
        raise TenonError(f"{given['action']} needs {', '.join(missing)}")


TOOLS: dict[str, Callable[[Place, dict[str, Any]], dict[str, Any]]] = {
    "memory_recall": _recall,
    "memory_write": _write,
    "memory_write_episode": _episode,
    "memory_reinforce": _reinforce,
    "memory_edit": _edit,
    "memory_graph": _graph,
    "procedure": _procedure,
    "task_state": _task,
    "memory_maintain": _maintain,
    "memory_archive": _archive,
    "memory_forget": _forget,
}
