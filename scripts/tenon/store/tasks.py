"""Task state: one plan per epic that outlives sessions and compactions, and the brief for whoever goes on.

After backant-memory's README, «Procedures and task state». A write changes the fields it names and no others. Reading
takes whatever is stored, so that nothing in it can keep a session from starting.
"""

from __future__ import annotations

from tenon.base.errors import TenonError
from tenon.base.lean import parse
from tenon.base.text import cut
from tenon.store import forgotten, places
from tenon.store.wording import chosen, kept

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from tenon.store.db import Store

STATUSES = ("active", "completed")
STEP_STATUSES = ("pending", "active", "done", "blocked")
HANDOFF = ("active_epic", "last_completed_step", "next_action", "working_set", "blockers", "do_not_redo")
FIELDS = ("plan", "open_threads", "touched", "blockers")
EPIC, TEXT = 120, 2000  # characters
MOST = 200  # entries of one list
NAMED = 20  # files, and blockers, that a composed brief names
DONE = 10  # finished steps that it names
BRIEF = 600  # characters of one entry in it

BY_EPIC = "SELECT repository, epic, title, status, body, created, updated FROM task WHERE repository IN ({scope}) AND epic = ? ORDER BY updated DESC, repository LIMIT 1"
ALL = "SELECT repository, epic, title, status, body, created, updated FROM task WHERE repository IN ({scope}) ORDER BY updated DESC, epic, repository"
PUT = "INSERT OR REPLACE INTO task (repository, epic, title, status, body, created, updated) VALUES (?, ?, ?, ?, ?, ?, ?)"
READ_HANDOFF = "SELECT body, updated FROM handoff WHERE repository IN ({scope}) ORDER BY updated DESC, repository LIMIT 1"
PUT_HANDOFF = "INSERT OR REPLACE INTO handoff (repository, body, updated) VALUES (?, ?, ?)"
DROP_HANDOFF = "DELETE FROM handoff WHERE repository IN ({scope})"


def write(
    store: Store,
    repository: int,
    *,
    epic: str,
    now: float,
    title: str | None = None,
    status: str | None = None,
    plan: Sequence[Any] | None = None,
    open_threads: Sequence[Any] | None = None,
    touched: Sequence[Any] | None = None,
    blockers: Sequence[Any] | None = None,
) -> dict[str, Any]:
    """The epic's state after the write: {epic, title, status, plan, open_threads, touched, blockers, updated}.

    Fields that are None keep their value. `plan` is a list of {step, status, note?}, `touched` of paths or {path, sha?}.
    Completing an epic takes its handoff brief away. Raises TenonError saying which entry is wrong and how it should be.
    """
    epic = kept(epic, "epic_id", EPIC)
    given: dict[str, Any] = {
        "plan": None if plan is None else _plan(plan),
        "open_threads": None if open_threads is None else _texts(open_threads, "open_threads"),
        "touched": None if touched is None else _touched(touched, "touched"),
        "blockers": None if blockers is None else _texts(blockers, "blockers"),
    }
    if title is not None:
        given["title"] = kept(title, "title", TEXT, store=store)
    given = _without_forgotten(store, given)
    if status is not None:
        given["status"] = chosen(status, "status of an epic", STATUSES)
    with store.transaction():
        row = store.one(_scoped(store, repository, BY_EPIC), (*places.scope(store, repository), epic))
        state: dict[str, Any] = _state(row) if row else {"epic": epic, "title": epic, "status": "active", **{name: [] for name in FIELDS}}
        state.update({name: value for name, value in given.items() if value is not None})
        state["updated"] = now
        home = places.canonical(store, repository)
        store.execute(PUT, (home, epic, state["title"], state["status"], _body(state), row[5] if row else now, now))
        if state["status"] == "completed" and (read_handoff(store, repository) or {}).get("active_epic") == epic:
            clear_handoff(store, repository)
    return state


def read(store: Store, repository: int, epic: str | None = None) -> dict[str, Any]:
    """{"state": the epic's state or None, "active": the states in flight}; `active` is told when no epic is asked for."""
    if not epic:
        return {"state": None, "active": active(store, repository)}
    wanted = kept(epic, "epic_id", EPIC)
    row = store.one(_scoped(store, repository, BY_EPIC), (*places.scope(store, repository), wanted))
    return {"state": _state(row) if row else None, "active": []}


def active(store: Store, repository: int) -> list[dict[str, Any]]:
    """The states of the repository's epics in flight, the one written last first."""
    newest: dict[str, dict[str, Any]] = {}
    for row in store.rows(_scoped(store, repository, ALL), places.scope(store, repository)):
        # An epic written before two repositories became one may stand under both; the newer one counts.
        newest.setdefault(str(row[1]), _state(row))
    return [state for state in newest.values() if state["status"] == "active"]


def write_handoff(store: Store, repository: int, body: Mapping[str, Any], now: float) -> None:
    """Puts the repository's handoff brief in place of the one before. Raises TenonError for an unknown field, or without active_epic."""
    brief = _brief(body)
    import json

    with store.transaction():
        clear_handoff(store, repository)
        store.execute(PUT_HANDOFF, (places.canonical(store, repository), json.dumps(_without_forgotten(store, brief), ensure_ascii=False), now))


def read_handoff(store: Store, repository: int) -> dict[str, Any] | None:
    """The repository's handoff brief with `updated`, or None."""
    row = store.one(_scoped(store, repository, READ_HANDOFF), places.scope(store, repository))
    found = parse(str(row[0])) if row else None
    return {"active_epic": "", **found, "updated": row[1]} if row and isinstance(found, dict) else None


def clear_handoff(store: Store, repository: int) -> bool:
    """Whether there was a handoff brief; now there is none."""
    return store.execute(_scoped(store, repository, DROP_HANDOFF), places.scope(store, repository)).rowcount > 0


def compose_handoff(state: Mapping[str, Any], touched: Sequence[str]) -> dict[str, Any]:
    """The brief that a task's state amounts to; `touched` are files worked on besides those that it names."""
    plan = [step for step in state.get("plan") or [] if isinstance(step, dict) and step.get("step")]
    done = [cut(str(step["step"]), BRIEF) for step in plan if step.get("status") == "done"]
    going = [step for step in plan if step.get("status") == "active"] or [step for step in plan if step.get("status") == "pending"]
    blocked = [_with_note(step) for step in plan if step.get("status") == "blocked"]
    files = [*touched, *(str(entry["path"]) for entry in state.get("touched") or [] if isinstance(entry, dict) and entry.get("path"))]
    return {
        "active_epic": str(state["epic"]),
        "last_completed_step": done[-1] if done else "",
        "next_action": _with_note(going[0]) if going else "",
        "working_set": list(dict.fromkeys(path for path in files if path.strip()))[:NAMED],
        "blockers": [*(cut(str(blocker), BRIEF) for blocker in state.get("blockers") or []), *blocked][:NAMED],
        "do_not_redo": done[-DONE:],
    }


def _with_note(step: Mapping[str, Any]) -> str:
    return cut(f"{step['step']} ({step['note']})" if step.get("note") else str(step["step"]), BRIEF)


# ---------------------------------------------------------------- what is written


def _plan(plan: Sequence[Any]) -> list[dict[str, str]]:
    steps = []
    for number, step in enumerate(_list(plan, "plan"), 1):
        name = f"step {number} of the plan"
        if not isinstance(step, dict):
            raise TenonError(f'{name} must be an object like {{"step": "write the migration", "status": "pending"}}')
        _known(step, ("step", "status", "note"), name)
        told = {
            "step": kept(step.get("step"), f"the step text of {name}", TEXT),
            "status": chosen(step.get("status") or "pending", f"status for {name}", STEP_STATUSES),
        }
        if step.get("note"):
            told["note"] = kept(step["note"], f"the note of {name}", TEXT)
        steps.append(told)
    return steps


def _touched(touched: Sequence[Any], field: str) -> list[dict[str, str]]:
    files = []
    for number, entry in enumerate(_list(touched, field), 1):
        name = f"entry {number} of {field}"
        if isinstance(entry, str):
            entry = {"path": entry}
        if not isinstance(entry, dict):
            raise TenonError(f'{name} must be a path, or an object like {{"path": "src/app.py", "sha": "1a2b3c4"}}')
        _known(entry, ("path", "sha"), name)
        told = {"path": kept(entry.get("path"), f"the path of {name}", TEXT)}
        if entry.get("sha"):
            told["sha"] = kept(entry["sha"], f"the sha of {name}", TEXT)
        files.append(told)
    return files


def _texts(texts: Sequence[Any], field: str) -> list[str]:
    return [kept(text, f"entry {number} of {field}", TEXT) for number, text in enumerate(_list(texts, field), 1)]


def _brief(body: Mapping[str, Any]) -> dict[str, Any]:
    _known(body, HANDOFF, "a handoff")
    if not body.get("active_epic"):
        raise TenonError("a handoff names the epic that it is about in active_epic")
    brief: dict[str, Any] = {}
    for field, said in body.items():
        if said is None:
            continue
        if field == "working_set":
            # A path alone stays a text; one with its sha stays an object.
            brief[field] = [entry if "sha" in entry else entry["path"] for entry in _touched(said, field)]
        elif field in ("blockers", "do_not_redo"):
            brief[field] = _texts(said, field)
        else:
            brief[field] = kept(said, field, EPIC if field == "active_epic" else TEXT, empty=True)
    return brief


def _list(said: object, field: str) -> Sequence[Any]:
    if not isinstance(said, (list, tuple)):
        raise TenonError(f"{field} must be a list")
    if len(said) > MOST:
        raise TenonError(f"{field} has {len(said)} entries, at most {MOST} are kept: join what belongs together")
    return said


def _known(given: Mapping[str, Any], fields: Sequence[str], name: str) -> None:
    other = [str(field) for field in given if field not in fields]
    if other:
        raise TenonError(f"{name} has no field '{other[0]}'; it has {', '.join(fields)}")


# ---------------------------------------------------------------- what is stored


def _without_forgotten(store: Store, value: Any) -> Any:
    """The same value with every text as the user's forgetting leaves it."""
    if isinstance(value, str):
        return forgotten.without(store, value)
    if isinstance(value, list):
        return [_without_forgotten(store, each) for each in value]
    if isinstance(value, dict):
        return {key: _without_forgotten(store, each) for key, each in value.items()}
    return value


def _body(state: Mapping[str, Any]) -> str:
    import json

    return json.dumps({name: state[name] for name in FIELDS}, ensure_ascii=False)


def _state(row: Sequence[Any]) -> dict[str, Any]:
    """The state in a row of the table; whatever is not as it should be is left out."""
    body = parse(str(row[4]))
    found = body if isinstance(body, dict) else {}
    lists = {name: found[name] if isinstance(found.get(name), list) else [] for name in FIELDS}
    return {
        "epic": str(row[1]), "title": str(row[2]), "status": str(row[3]), **lists, "updated": row[6],
        "plan": [_step(step) for step in lists["plan"] if isinstance(step, dict) and step.get("step")],
        "touched": [entry for entry in lists["touched"] if isinstance(entry, dict) and entry.get("path")],
    }  # fmt: skip


def _step(step: dict[str, Any]) -> dict[str, Any]:
    return step if step.get("status") in STEP_STATUSES else {**step, "status": "pending"}


def _scoped(store: Store, repository: int, sql: str) -> str:
    return sql.format(scope=", ".join("?" * len(places.scope(store, repository))))
