"""The proxy's log: one line per request with its measures; no query, no header and no word of what was said."""

from __future__ import annotations

import os
import threading
import time
from collections import deque

from tenon.base import faults, paths
from tenon.base.redact import redact

LARGEST = 1_000_000  # bytes of the file; then it becomes the one older file
LATEST = 1000  # requests of which is known how long they were held up
LONGEST = 200  # characters of any one field
DASHBOARD = "/_dashboard/"


class Line:
    """What is noted of one request; from its last byte it is `own_s` until it goes upstream, and `first_s` until the first byte of the answer."""

    __slots__ = ("at", "method", "path", "agent", "why", "status", "own_s", "first_s", "size_bytes", "end", "_begun")

    def __init__(self, method: str, target: str, at: float) -> None:
        self.at = at
        self.method = method
        path, shown, _ = target.partition("?")[0].partition(DASHBOARD)
        self.path = redact(path) + (shown and shown + "...")  # a gateway may have its key in the path; of the dashboard's not even names stay
        self.agent = ""
        self.why = ""
        self.status = 0
        self.own_s: float | None = None
        self.first_s: float | None = None
        self.size_bytes = 0
        self.end = ""  # "" for an answer that came through whole, else what became of it
        self._begun = time.perf_counter()

    def received(self) -> None:
        """The request is here."""
        self._begun = time.perf_counter()

    def sent(self) -> None:
        """The request goes upstream, for the first time; what passes from here on is no doing of ours."""
        if self.own_s is None:
            self.own_s = time.perf_counter() - self._begun

    def answered(self, status: int) -> None:
        """The head of the answer went to the client."""
        self.status = status
        self.first_s = time.perf_counter() - self._begun

    def text(self) -> str:
        """The line, with its end."""
        day = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(self.at))
        own, first = ("-" if took is None else f"{took * 1000:.1f}" for took in (self.own_s, self.first_s))
        ended = f" end={_plain(self.end)}" if self.end else ""
        why = f" why={_plain(self.why)}" if self.why else ""
        return (
            f"{day} {_plain(self.method)} {_plain(self.path)} agent={_plain(self.agent) or '-'} status={self.status or '-'} "
            f"own_ms={own} first_ms={first} bytes={self.size_bytes}{ended}{why}\n"
        )


class Log:
    """The file; safe for many threads. Never raises: a full disk does not stop a request. `own_s` are the latest that went upstream."""

    __slots__ = ("path", "own_s", "_lock")

    def __init__(self, path: str = "") -> None:
        self.path = path or os.path.join(paths.home(), "proxy.log")
        self.own_s: deque[float] = deque(maxlen=LATEST)
        self._lock = threading.Lock()

    def note(self, line: Line) -> None:
        """Appends the line."""
        data = line.text().encode("ascii", "backslashreplace")
        with self._lock:
            if line.own_s is not None and line.agent:
                self.own_s.append(line.own_s)
            try:
                self._rotate()
                handle = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
                try:
                    os.write(handle, data)
                finally:
                    os.close(handle)
            except OSError:
                pass

    def _rotate(self) -> None:
        try:
            if os.path.getsize(self.path) < LARGEST:
                return
        except FileNotFoundError:
            return
        try:
            os.replace(self.path, self.path + ".1")
        except PermissionError:  # Windows, while the process that started the proxy holds the file
            os.truncate(self.path, 0)


def _plain(text: str) -> str:
    """A field on one line, not too long, and with nothing in it that a terminal would obey."""
    return "".join(c if c.isprintable() else "?" for c in text[:LONGEST])


def fault(error: BaseException, detail: str) -> None:
    """Notes a fault of ours where `tenon doctor` finds it; its message stays out, for it may quote what was said."""
    faults.note("proxy", faults.silent(error), detail)
