"""Somebody listens where Claude Code was told to talk: the proxy that is on is started again, or stepped around.

Loaded only when the proxy is on, and by a prompt only when the proxy shows no sign of life.
"""

from __future__ import annotations

import os
import time

from hooks import door, where
from tenon.base import faults, settings
from tenon.base.errors import TenonError
from tenon.world import base_url, daemon, guard, machine

START_S = 3.0  # for a proxy to answer, at a session's start
PROMPT_S = 1.5  # and at a prompt, which somebody waits for
SEEN_S = 4.6  # for Claude Code to read its settings again
WAY_OUT = "Memories come all the same; `tenon proxy on` tries again, `tenon proxy off` leaves it so."
AFTER_S = {"session": 4.0, "prompt": 2.0}  # what the event's own work may take afterwards


def at_start() -> str:
    """What the user should know, «» when all is well; a proxy that was stepped around and serves again is used again."""
    door.allow(START_S + SEEN_S + AFTER_S["session"] + 2.0)
    said = _served(START_S, again=True)
    door.allow(AFTER_S["session"])
    return said


def at_prompt() -> str:
    """As `at_start`, in less time; a proxy that was stepped around stays so until the next session."""
    door.allow(PROMPT_S + SEEN_S + AFTER_S["prompt"] + 1.0)
    said = _served(PROMPT_S, again=False)
    door.allow(AFTER_S["prompt"])
    return said


def _served(wait_s: float, *, again: bool) -> str:
    try:
        if "/agent/" in where.proxy():
            return _once(where.proxy(), wait_s)
        switch = base_url.load() or (base_url.found_again(machine.here()) if where.proxy() else None)
        if switch is None:
            return ""
        if again:
            _guarded()
        problem = _problem(switch.port, settings.load().text("upstream").strip() or switch.upstream, wait_s)
        if problem:
            faults.note("proxy", TenonError(problem))
            if base_url.direct(problem):
                _let_it_be_seen(switch)
                return f"Tenon's proxy cannot serve ({problem}), so Claude Code talks to its API directly. {WAY_OUT}"
        elif again and base_url.through():
            _let_it_be_seen(switch)
            return "Tenon's proxy serves again, so Claude Code talks through it again."
    except (TenonError, OSError) as error:
        faults.note("proxy", error)
        return f"Tenon's proxy cannot be seen to: {error}. `tenon doctor` says more."
    return ""


def _guarded() -> None:
    """The guard is of this version of the plugin: after an update an older one might not understand the proxy."""
    try:
        guard.write()
    except OSError as error:
        faults.note("proxy", error, "the guard could not be brought up to date")


def _let_it_be_seen(switch: base_url.Switch) -> None:
    """Waits until Claude Code has read its settings again; a busy one may have begun to watch the file only after it was written."""
    time.sleep(SEEN_S / 2)
    os.utime(os.path.realpath(switch.settings))
    time.sleep(SEEN_S / 2)


def _once(url: str, wait_s: float) -> str:
    """What the user should know of the proxy that `tenon code` chose for this session: nothing in the settings could lead around it."""
    port = url[len(base_url.LOCAL) :].partition("/")[0]
    upstream = settings.load().text("upstream").strip()
    if not port.isdigit() or not upstream:
        return ""  # not of `tenon code`, which says where the proxy is to send requests
    problem = _problem(int(port), upstream, wait_s)
    if not problem:
        return ""
    faults.note("proxy", TenonError(problem))
    return f"Tenon's proxy cannot serve this session ({problem}). Leave Claude Code, and start it by its own name: `claude --continue`."


def _problem(port: int, upstream: str, wait_s: float) -> str:
    """Why nobody serves the address that Claude Code was told, «» when the proxy does."""
    try:
        state = daemon.start(port, upstream=upstream, wait_s=wait_s)
    except TenonError as error:
        return str(error)
    except OSError as error:
        return f"it cannot be started: {error}"
    return "" if state.port == port else f"it runs on port {state.port} and not on {port}; `tenon stop` ends that one"
