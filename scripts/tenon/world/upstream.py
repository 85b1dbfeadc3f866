"""The Messages API, or whatever stands in for it: requests go there as they came, answers come back as they are."""

from __future__ import annotations

import socket
import threading
import time

from tenon.base.errors import TenonError
from tenon.world import dial, http1
from tenon.world.call import Abandoned, Call, shut
from tenon.world.dial import Unreachable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tenon.base.settings import Settings

__all__ = ["Abandoned", "Answer", "Broken", "Call", "Unreachable", "Upstream", "resolve"]

DEFAULT = "https://api.anthropic.com"
VARIABLE = "ANTHROPIC_BASE_URL"
IDLE_S = 30.0  # servers close idle connections after a minute or so; we are faster
MOST_IDLE = 64
JOINED = 65536  # up to here head and body leave in one piece


class Broken(Exception):
    """The upstream broke off: in the middle of an answer, or before it."""


class _Silent(Broken):
    """Not one byte came back."""


class Answer:
    """The head of an answer, and its body as it arrives. `size_bytes` is None when the upstream did not say it."""

    __slots__ = ("status", "reason", "headers", "body", "size_bytes", "_link", "_call", "_keep", "_pool")

    def __init__(self, first: str, headers: list[tuple[str, str]], body: http1.Body, link: _Link, call: Call, pool: Callable[[_Link], None]) -> None:
        version, _, rest = first.partition(" ")
        status, _, self.reason = rest.partition(" ")
        self.status = int(status)
        self.headers = headers
        self.body = body
        self.size_bytes = http1.length(headers) if body.kind == http1.LENGTH else None
        self._link = link
        self._call = call
        self._pool = pool
        said = http1.tokens(headers, "connection")
        self._keep = body.kind != http1.TO_END and "close" not in said and (version != "HTTP/1.0" or "keep-alive" in said)

    def read(self, most: int = http1.PIECE) -> bytes:
        """The next bytes of the body as soon as there are any, b"" at its clean end. Raises Broken, or Abandoned."""
        try:
            return self.body.read(most)
        except http1.Torn as error:
            self.shutdown()
            raise Abandoned if self._call.gone else Broken(str(error)) from error

    def shutdown(self) -> None:
        """Ends the connection at once; the upstream sees it."""
        self._call.let_go()
        self._link.close()

    def release(self) -> None:
        """Keeps the connection for the next request when the answer was read to its end, else ends it."""
        self._call.let_go()
        if self._keep and self.body.done and not self._call.gone and not self._link.stream.waiting:
            self._pool(self._link)
        else:
            self._link.close()


class Upstream:
    """Sends requests to one address over connections that are kept. Raises TenonError for an address that is none."""

    def __init__(self, url: str, env: Mapping[str, str], *, clock: Callable[[], float] = time.time) -> None:
        self.place = dial.place(url, "the upstream")
        self._dialler = dial.Dialler(self.place, env)
        self._clock = clock
        self._lock = threading.Lock()
        self._idle: list[_Link] = []

    @property
    def masked(self) -> str:
        """The address as it may be shown: without name and password."""
        return self.place.masked

    @property
    def doubts(self) -> list[str]:
        """What about certificates could not be done as the environment asks."""
        return self._dialler.doubts

    @property
    def through(self) -> str:
        """The proxy on the way, as it may be shown; "" for none."""
        return self._dialler.proxy.masked if self._dialler.proxy else ""

    def send(self, method: str, target: str, headers: Sequence[tuple[str, str]], body: bytes, call: Call | None = None) -> Answer:
        """The answer, as soon as its head is there.

        Hop-by-hop headers, Host and Content-Length are made here; every other header goes as it came, in its order and
        spelling. A kept connection that turns out to be dead is replaced once, when not one byte came back on it.
        Raises Unreachable when there is no connection, Broken when the answer broke off, Abandoned when `call` was given up.
        """
        call = call or Call()
        head = self._head(method, target, headers, body)
        link = self._kept()
        if link is not None:
            try:
                return self._exchange(link, method, head, body, call)
            except _Silent:
                pass
        return self._exchange(_Link(self._dialler.open(call)), method, head, body, call)

    def sweep(self) -> None:
        """Closes kept connections that are too old or were closed over there."""
        with self._lock:
            dead = [link for link in self._idle if not link.is_fresh(self._clock())]
            self._idle = [link for link in self._idle if link not in dead]
        for link in dead:
            link.close()

    def close(self) -> None:
        """Closes all kept connections."""
        with self._lock:
            links, self._idle = self._idle, []
        for link in links:
            link.close()

    def _head(self, method: str, target: str, headers: Sequence[tuple[str, str]], body: bytes) -> bytes:
        """The head of a request; what is ours stands where the client's stood."""
        made: list[tuple[str, str]] = []
        missing = {"host", "content-length"} if body or http1.values(headers, "content-length") or http1.values(headers, "transfer-encoding") else {"host"}
        ours = {"host": self.place.authority, "content-length": str(len(body))}
        passed = {name.lower() for name, _ in http1.end_to_end(headers)}
        for name, value in headers:
            lower = name.lower()
            if lower in ours:
                if lower in missing:
                    missing.discard(lower)
                    made.append((name, ours[lower]))
            elif lower in passed:
                made.append((name, value))
        if "host" in missing:
            made.insert(0, ("Host", ours["host"]))
        if "content-length" in missing:
            made.append(("Content-Length", ours["content-length"]))
        if self.place.credentials and not http1.values(headers, "authorization"):
            made.append(("Authorization", dial.basic(self.place.credentials)))
        where = target if target == "*" else self.place.path + target
        return http1.head(f"{method} {where} HTTP/1.1", made)

    def _exchange(self, link: _Link, method: str, head: bytes, body: bytes, call: Call) -> Answer:
        try:
            call.hold(link.socket)
            before = link.stream.received
            try:
                if len(body) <= JOINED:
                    link.socket.sendall(head + body)
                else:
                    link.socket.sendall(head)
                    link.socket.sendall(body)
            except OSError:
                pass  # an upstream that refuses does not always read to the end: its answer may be there
            try:
                return self._answer(link, method, call)
            except (OSError, ValueError, http1.Torn) as error:
                if call.gone:
                    raise Abandoned from error
                came = link.stream.received > before
                said = "it closed the connection without an answer" if not came else f"its answer broke off ({_reason(error)})"
                raise Broken(said) if came else _Silent(said) from error
        except BaseException:
            call.let_go()
            link.close()
            raise

    def _answer(self, link: _Link, method: str, call: Call) -> Answer:
        while True:
            first, headers = http1.read_head(link.stream)
            words = first.split(" ", 2)
            if not words[0].startswith("HTTP/1.") or len(words) < 2 or len(words[1]) != 3 or not words[1].isdigit():
                raise http1.Malformed("it does not speak HTTP/1.1")
            status = int(words[1])
            if status == 101:
                raise http1.Malformed("it changes to another protocol, which nobody asked for")
            if status >= 200:
                return Answer(first, headers, http1.answer_body(link.stream, headers, method=method, status=status), link, call, self._keep)

    def _keep(self, link: _Link) -> None:
        link.since = self._clock()
        with self._lock:
            if len(self._idle) < MOST_IDLE:
                self._idle.append(link)
                return
        link.close()

    def _kept(self) -> _Link | None:
        while True:
            with self._lock:
                link = self._idle.pop() if self._idle else None
            if link is None or link.is_fresh(self._clock()):
                return link
            link.close()


class _Link:
    """One connection; `since` is when it became idle."""

    __slots__ = ("socket", "stream", "since")

    def __init__(self, connection: socket.socket) -> None:
        self.socket = connection
        self.stream = http1.Stream(connection)
        self.since = 0.0

    def is_fresh(self, now: float) -> bool:
        """Whether it may serve another request: not too old, and silent over there."""
        if not 0 <= now - self.since <= IDLE_S:  # by the clock on the wall: the other one stands still while a laptop sleeps
            return False
        try:
            self.socket.setblocking(False)
            try:
                socket.socket.recv(self.socket, 1, socket.MSG_PEEK)  # SSLSocket's own cannot peek
            finally:
                self.socket.setblocking(True)
        except BlockingIOError:
            return True
        except OSError:
            return False
        return False  # it ended, or said something that nobody asked for

    def close(self) -> None:
        """Ends it at once, also for a thread that still waits on it."""
        shut(self.socket)
        self.socket.close()


def resolve(chosen: Settings, env: Mapping[str, str], user_settings: Mapping[str, object]) -> str:
    """The upstream's address.

    It is the setting `upstream`, else ANTHROPIC_BASE_URL of the environment or of the user's Claude Code settings, unless
    that is this proxy; else the Messages API's own.
    """
    if chosen.text("upstream").strip():
        return chosen.text("upstream").strip()
    block = user_settings.get("env")
    stated = block.get(VARIABLE) if isinstance(block, dict) else None
    for url in (env.get(VARIABLE), stated):
        if isinstance(url, str) and url.strip() and not is_ours(url, int(chosen.number("proxy.port"))):
            return url.strip()
    return DEFAULT


def is_ours(url: str, port: int) -> bool:
    """Whether that address is the proxy's own."""
    try:
        found = dial.place(url, "the address")
    except TenonError:
        return False
    return dial.is_loopback(found.host) and (found.port == port or found.path.startswith("/agent/"))


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error) or type(error).__name__
