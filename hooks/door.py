"""Reads one event, answers it within its time, and turns every fault into silence and a line for `tenon doctor`."""

from __future__ import annotations

import _thread
import os
import time

from tenon.base import faults
from tenon.base.lean import parse, quote

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# event: (module of this folder, seconds before the process ends itself)
EVENTS = {
    "UserPromptSubmit": ("prompt", 2.0),
    "SessionStart": ("session", 4.0),
    "UserPromptExpansion": ("command", 9.0),
    "Stop": ("turn", 5.0),
    "SubagentStop": ("turn", 5.0),
    "PreCompact": ("close", 5.0),
    "SessionEnd": ("close", 1.1),  # Claude Code ends it after 1.2 s
}
FIRST_WORD_S = 2.0  # for the event to arrive


class Answer:
    """What a hook gives back: text for the model, a message for the user, or a refusal to go on with its reason."""

    __slots__ = ("context", "message", "block")

    def __init__(self, context: str = "", message: str = "", block: str = "") -> None:
        self.context = context
        self.message = message
        self.block = block


def answer() -> None:
    """Answers the event on stdin on stdout, as Claude Code's hook contract has it."""
    name = "hook"
    try:
        _watch("hook", FIRST_WORD_S)
        event = _event()
        if event is None:
            return
        name = str(event.get("hook_event_name"))
        if name not in EVENTS:
            return
        module, limit_s = EVENTS[name]
        _watch(name, limit_s)
        given = _handler(module)(event)
        if given is not None:
            os.write(1, _printed(name, given).encode("ascii"))
    except Exception as error:  # noqa: BLE001 - the one broad catch: a hook must not fail its host
        faults.note(name, error)


def allow(seconds: float) -> None:
    """Gives the event so many seconds from now on, for what is known to take longer; without a door there is no limit to change."""
    if _started:
        _watch(_started[0], seconds)


def _handler(module: str) -> Any:
    # Only what the event needs is imported: a prompt does not pay for the archive.
    return __import__("hooks." + module, fromlist=["answer"]).answer


def _event() -> dict[str, Any] | None:
    """The event on stdin; it is read as soon as it is whole, whether or not the other end is closed."""
    data = b""
    while True:
        chunk = os.read(0, 1 << 20)
        data += chunk
        if not chunk or data.rstrip().endswith(b"}"):
            found = parse(data.decode("utf-8", "replace"))
            if isinstance(found, dict):
                return found
            if not chunk:
                if data.strip():
                    faults.note("hook", ValueError("the event on stdin is not JSON"), f"{len(data)} bytes")
                return None


_deadline: list[float] = []


def _watch(name: str, seconds: float) -> None:
    """Ends the process after so many seconds, whatever it hangs on: a lock, a disk, an open stdin."""
    _deadline[:] = [time.monotonic() + seconds]
    if len(_started) == 0:
        _started.append(name)
        _thread.start_new_thread(_wait, ())
    _started[0] = name


_started: list[str] = []


def _wait() -> None:
    while True:
        left = _deadline[0] - time.monotonic()
        if left <= 0:
            _thread.start_new_thread(_leave, ())  # writing the note may hang on the same disk
            faults.note(_started[0], TimeoutError("out of time; the host went on without an answer"))
            os._exit(0)
        time.sleep(min(left, 0.5))


def _leave() -> None:
    time.sleep(0.1)
    os._exit(0)


def _printed(name: str, given: Answer) -> str:
    parts = []
    if given.block:
        parts.append('"decision": "block", "reason": ' + quote(given.block))
    if given.message:
        parts.append('"systemMessage": ' + quote(given.message))
    if given.context:
        parts.append('"hookSpecificOutput": {"hookEventName": ' + quote(name) + ', "additionalContext": ' + quote(given.context) + "}")
    return "{" + ", ".join(parts) + "}"
