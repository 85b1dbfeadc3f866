"""`tenon statusline`: one short line for Claude Code's status line; fast, and silent rather than wrong."""

from __future__ import annotations

import os
import sys
import time

from tenon.base import faults, paths
from tenon.base.errors import TenonError
from tenon.base.lean import parse, sqlite
from tenon.base.text import clean
from tenon.cli import context
from tenon.store import browse_journal, conversations, db, exchanges, figures, places, pressure, usage

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable
    from typing import Any

    from tenon.cli.out import Out
    from tenon.store.db import Store

HELP = """Reads Claude Code's status (JSON) on stdin and prints a line: the agent unless it is the default one, memories of this repository
(sessions where there are none) and how many of them this session was shown, what the proxy put in front, how much of the prompt came from
the cache, turns that wait for a digest, pressure when it is moderate or high, faults of the last day. `tenon install` sets it up; to have
it in a status line of your own, print its output there."""
EXAMPLES = """
echo '{"cwd": "/home/me/api", "session_id": "3f0c…"}' | tenon statusline
tenon statusline < /dev/null
"""
READ_S = 0.5  # for the status to arrive
ALL_S = 1.0
LOOK_S = 0.3  # for the store
GIVEN = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")  # what the model was given, as the API counts it


def arguments(parser: argparse.ArgumentParser) -> None:
    """It has none of its own."""


def run(options: argparse.Namespace, out: Out) -> int:
    """0, whatever happens."""
    _within(ALL_S)
    try:
        status = _given()
        out.line(line(_folder(status), context.agent(options), time.time(), clean(str(status.get("session_id") or "")), _cached(status)))
    except (TenonError, OSError, sqlite.Error):
        out.line("tenon: see `tenon doctor`")
    return 0


def line(folder: str, agent: str, now: float, session: str = "", cached: float | None = None) -> str:
    """The line for a folder and a session: «tenon reviewer · 42 memories, 5 shown · 30k tokens of past sessions · cache 93% · 17 to digest · pressure high 91%».

    `cached` is the prompt cache's share where the status says it; else it is what the session's transcript has counted so far.
    """
    path = paths.store_path(agent)
    told: list[str] = []
    if db.exists(path):
        with db.open_reader(path, busy_s=0.1) as store:
            store.within(LOOK_S)
            repository = places.find(store, folder)
            here = figures.count(store, repository)
            memories = here.short + here.long + figures.agent_wide(store)
            shown = browse_journal.shown(store, session) if session else 0
            if memories:
                told.append(context.counted(memories, "memory", "memories") + (f", {shown:,} shown" if shown else ""))
            elif here.sessions:
                told.append(f"{context.counted(here.sessions, 'session')} kept")
            past = _past(store, session)
            if past:
                told.append(f"{past / 1000:,.0f}k tokens of past sessions" if past >= 1000 else f"{past} tokens of past sessions")
            cached = usage.of_session(store, session).share if cached is None and session else cached
            if cached is not None:
                told.append(f"cache {cached:.0%}")
            _, pending = exchanges.pending_size(store, repository)
            if pending:
                told.append(f"{pending:,} to digest")
            waiting = pressure.noted(store)
            if pressure.level(waiting):
                told.append(f"pressure {pressure.level(waiting)} {waiting / pressure.CAP:.0%}")
    if not told:
        told.append("remembers from now on")
    recent = sum(1 for fault in faults.recent(100) if isinstance(fault.get("at"), (int, float)) and now - float(str(fault["at"])) < context.DAY_S)
    if recent:
        told.append(context.counted(recent, "fault"))
    return "tenon " + " · ".join(told if agent == "default" else [agent, *told])


def _past(store: Store, session: str) -> int:
    """How many tokens of past sessions the proxy put in front of the session."""
    found = conversations.find(store, session) if session else None
    return conversations.front_tokens(store, found)[0] if found is not None and found.state == "traced" else 0


def _cached(status: dict[str, Any]) -> float | None:
    """How much of the last request came from the prompt cache, as Claude Code's status says it, or None."""
    window = status.get("context_window")
    last = window.get("current_usage") if isinstance(window, dict) else None
    given = [last.get(name) for name in GIVEN] if isinstance(last, dict) else []
    counts = [count for count in given if isinstance(count, int) and count >= 0]
    total = sum(counts)
    return counts[-1] / total if len(counts) == len(GIVEN) and total else None


def _folder(status: dict[str, Any]) -> str:
    workspace = status.get("workspace")
    for where in (workspace if isinstance(workspace, dict) else {}, status):
        for name in ("project_dir", "current_dir", "cwd"):
            if isinstance(where.get(name), str) and where[name]:
                return clean(str(where[name]))
    return os.getcwd()


def _given() -> dict[str, Any]:
    """The status on stdin, {} when none has come in time; read as soon as it is whole, whether or not stdin is closed."""
    found: list[dict[str, Any]] = []

    def read() -> None:
        data = b""
        while True:
            chunk = os.read(sys.stdin.fileno(), 1 << 16)
            data += chunk
            value = parse(data.decode("utf-8", "replace")) if data.rstrip().endswith(b"}") else None
            if isinstance(value, dict):
                found.append(value)
            if not chunk or found:
                return

    if sys.stdin is None or sys.stdin.closed or sys.stdin.isatty():
        return {}
    _started(read).join(READ_S)
    return found[0] if found else {}


def _within(seconds: float) -> None:
    """Ends the process without a word after so many seconds, whatever it hangs on."""

    def leave() -> None:
        time.sleep(seconds)
        os._exit(0)

    _started(leave)


def _started(work: Callable[[], None]) -> Any:
    import threading

    def quietly() -> None:
        try:
            work()
        except OSError:
            pass  # a stdin that cannot be read says nothing

    thread = threading.Thread(target=quietly, daemon=True)
    thread.start()
    return thread
