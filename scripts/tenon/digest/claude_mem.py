"""What claude-mem has kept: its observations and summaries as entries for memories, its prompts for the archive.

Its columns differ from version to version, so whatever is missing is passed over. All of it is text that another program
made of what models and tools said, and is kept as coming from outside.
"""

from __future__ import annotations

import os
import re
from calendar import timegm
from time import strptime

from tenon.base.lean import parse
from tenon.base.text import cut
from tenon.digest.bringing import Entry
from tenon.store import archive, exchanges, forgotten, spotted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from tenon.store.db import Store
    from tenon.store.foreign import Foreign

CLIENT = "claude-mem"
LONGEST = 4000  # characters of one memory
FILES = 8  # that a memory names
KINDS = {
    "decision": "decision", "bugfix": "lesson", "feature": "fact", "refactor": "observation", "discovery": "observation", "change": "observation",
    "security_alert": "gotcha", "security_note": "gotcha", "gotcha": "gotcha",
}  # fmt: skip
OBSERVATION = (
    "id", "memory_session_id", "project", "merged_into_project", "text", "type", "title", "subtitle", "facts", "narrative", "files_read", "files_modified",
    "created_at", "created_at_epoch",
)  # fmt: skip
SUMMARY = ("id", "project", "merged_into_project", "request", "investigated", "learned", "completed", "next_steps", "notes", "created_at", "created_at_epoch")
SAID = (("request", "Asked"), ("investigated", "Looked at"), ("learned", "Learnt"), ("completed", "Done"), ("next_steps", "Next"), ("notes", "Notes"))
PROMPT = ("id", "content_session_id", "claude_session_id", "session_id", "prompt_number", "prompt_text", "created_at", "created_at_epoch")
SESSION = ("content_session_id", "claude_session_id", "session_id", "project")
IDS = ("content_session_id", "claude_session_id", "session_id")
PARTS = re.compile(r"[^\w./@+ -]+")


def path() -> str:
    """Where claude-mem keeps it, unless it was told otherwise."""
    return os.path.join(os.path.expanduser(os.environ.get("CLAUDE_MEM_DATA_DIR") or os.path.join("~", ".claude-mem")), "claude-mem.db")


def is_one(given: Foreign) -> bool:
    """Whether the file is claude-mem's."""
    return bool({"observations", "session_summaries"} & given.tables)


def size(given: Foreign) -> int:
    """How many rows there are to look at."""
    return sum(given.count(table) for table in ("observations", "session_summaries", "user_prompts"))


def entries(given: Foreign) -> Iterator[Entry]:
    """Its observations and summaries, each as what is to be remembered."""
    for row in given.rows("observations", OBSERVATION):
        title, told = _text(row, "title"), _text(row, "narrative") or _text(row, "text") or _text(row, "subtitle")
        facts = [f"- {fact}" for fact in _list(row, "facts")]
        body = "\n".join(filter(None, (": ".join(filter(None, (title, told))), *facts)))
        files = [*_list(row, "files_modified"), *_list(row, "files_read")]
        labels = [f"claude-mem#{row.get('id')}", *dict.fromkeys(files[:FILES])]
        yield Entry(cut(body, LONGEST), KINDS.get(_text(row, "type").lower(), "observation"), _time(row), labels, _project(row))
    for row in given.rows("session_summaries", SUMMARY):
        body = "\n".join(f"{label}: {said}" for name, label in SAID if (said := _text(row, name)))
        yield Entry(cut(body, LONGEST), "experience", _time(row), [f"claude-mem summary#{row.get('id')}"], _project(row))


def prompts(store: Store, given: Foreign, repository: Callable[[str], int], now: float) -> Iterator[int]:
    """Archives the user's prompts, session by session, where the archive has not the session itself; gives how many were new of each.

    No digest reads them, and no plain code: without the answers they say little.
    """
    projects = {_session(row): _text(row, "project") for row in given.rows("sdk_sessions", SESSION)}
    sessions: dict[str, list[dict[str, Any]]] = {}
    purged = forgotten.purged(store)
    for row in given.rows("user_prompts", PROMPT):
        if _session(row) and _text(row, "prompt_text") and (_time(row) or now) >= purged:
            sessions.setdefault(_session(row), []).append(row)
    for session, told in sessions.items():
        name = f"{CLIENT}:{session}"
        if exchanges.session_number(store, session) is not None:
            yield 0
            continue
        with store.transaction():
            home = repository(projects.get(session, ""))
            number = archive.session(store, name, repository=home, folder="", at=_time(told[0]) or now, client=CLIENT)
            new, turns = archive.append(store, number, home, [
                archive.Row(uuid=f"{name}:{row.get('id')}", parent="", role="user", kind="prompt", source="outside", at=_time(row) or now,
                            content=[{"type": "text", "text": _text(row, "prompt_text")}])
                for row in told
            ])  # fmt: skip
            exchanges.mark_consolidated(store, turns, "skipped", now)
            spotted.reach(store, number, max(turns))
        yield new


def _session(row: dict[str, Any]) -> str:
    return next((said for name in IDS if (said := _text(row, name))), "")


def _project(row: dict[str, Any]) -> str:
    named = _text(row, "merged_into_project") or _text(row, "project")
    return " ".join(PARTS.sub(" ", named).split()).strip("/")[:120]


def _text(row: dict[str, Any], name: str) -> str:
    said = row.get(name)
    return said.strip() if isinstance(said, str) else ""


def _list(row: dict[str, Any], name: str) -> list[str]:
    said = _text(row, name)
    found = parse(said, whole=True) if said.startswith("[") else said.splitlines()
    return [str(each).strip() for each in found if isinstance(each, str) and each.strip()] if isinstance(found, list) else []


def _time(row: dict[str, Any]) -> float:
    """When it was, UTC seconds; 0 when that is not said."""
    at = row.get("created_at_epoch")
    if isinstance(at, (int, float)) and 0 < at < 1e14:
        return at / 1000.0 if at > 1e11 else float(at)  # milliseconds, in most versions
    try:
        return float(timegm(strptime(_text(row, "created_at")[:19], "%Y-%m-%dT%H:%M:%S")))
    except ValueError:
        return 0.0
