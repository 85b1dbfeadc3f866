"""Faults that a door survived: written down where `tenon doctor` finds them, never where a prompt could fail on them."""

from __future__ import annotations

import os
import time

from tenon.base import paths
from tenon.base.lean import parse, quote

LARGEST = 200_000  # bytes of the log; then the older half goes


def note(door: str, error: BaseException, detail: str = "") -> None:
    """Appends one line about the fault: when, where, what; no text of the user's. Never raises."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    place = f"{os.path.basename(trace.tb_frame.f_code.co_filename)}:{trace.tb_lineno}" if trace else ""
    line = f'{{"at": {time.time():.0f}, "door": {quote(door)}, "error": {quote(type(error).__name__)}, "said": {quote(str(error)[:300])}, "place": {quote(place)}, "detail": {quote(detail)}}}\n'
    try:
        path = paths.faults_path()
        if not os.path.isdir(paths.home()):
            os.makedirs(paths.home(), mode=0o700, exist_ok=True)
        _shorten(path)
        handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(handle, line.encode("ascii"))
        finally:
            os.close(handle)
    except OSError:
        pass  # a full or read-only disk: doctor finds that by itself


def silent(error: BaseException) -> BaseException:
    """The fault without its message, which may quote what was said."""
    bare: BaseException = type(type(error).__name__, (Exception,), {})()
    return bare.with_traceback(error.__traceback__)


def note_once(door: str, error: BaseException, detail: str = "") -> None:
    """Notes the fault unless one of that door with the same words stands among the newest. Never raises."""
    if not any((fault.get("door"), fault.get("said")) == (door, str(error)[:300]) for fault in recent()):
        note(door, error, detail)


def recent(limit: int = 50) -> list[dict[str, object]]:
    """The newest faults, newest first; a garbled line is left out."""
    try:
        with open(paths.faults_path(), encoding="utf-8", errors="replace") as file:
            lines = file.readlines()[-limit:]
    except OSError:
        return []
    found = (parse(line) for line in reversed(lines))
    return [fault for fault in found if isinstance(fault, dict)]


def clear() -> None:
    """Empties the log."""
    try:
        os.remove(paths.faults_path())
    except FileNotFoundError:
        pass


def _shorten(path: str) -> None:
    try:
        if os.path.getsize(path) < LARGEST:
            return
    except OSError:
        return
    with open(path, "rb") as file:
        kept = file.read()[-LARGEST // 2 :].split(b"\n", 1)[-1]
    with open(path, "wb") as file:
        file.write(kept)
