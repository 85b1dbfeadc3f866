"""The Messages API, or whatever stands in for it: requests go there as they came, answers come back as they are."""

from __future__ import annotations

import http.client
import socket
import string
import threading
import time
import traceback
from urllib.parse import quote

from tenon.world import dial, strict
from tenon.world.call import Abandoned, Call, shut
from tenon.world.dial import resolve

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

__all__ = ["Abandoned", "Answer", "Broken", "Call", "Unreachable", "Upstream", "resolve"]

CONNECT_S = 10.0  # for each address of the host, and for each step of agreeing on encryption
IDLE_S = 30.0  # servers close idle connections after a minute or so; we are faster
MOST_IDLE = 64
BETWEEN = " (the proxy that HTTPS_PROXY or HTTP_PROXY names)"


class Unreachable(Exception):
    """No connection, and in a sentence why; nothing was sent."""


class Broken(Exception):
    """The upstream broke off: in the middle of an answer, or before it."""


class _Silent(Broken):
    """Not one byte came back."""


class _Reply(http.client.HTTPResponse):
    """An answer of which the head is whole, and no interim one."""

    def begin(self) -> None:
        """Reads the head. Raises Broken."""
        came = b""
        file: Any = self.fp
        try:
            came = file.peek(1)
            self.fp: Any = strict.Lines(file, first=True)
            super().begin()
            while 101 < self.status < 200:  # the library passes over 100 only
                self.headers = None  # type: ignore[assignment]
                super().begin()
            if self.status == 101:
                raise strict.Malformed("it changes to another protocol, which nobody asked for")
            if self.length != 0:
                strict.size(strict.pairs(self.headers))
        except (OSError, ValueError, strict.Torn, http.client.HTTPException) as error:
            raise Broken(f"its answer broke off ({_reason(error)})") if came else _Silent("it closed the connection without an answer") from error
        finally:
            if self.fp is not None:
                self.fp = file


class Answer:
    """The head of an answer, and its body as it arrives. `sized` is False when the head does not say where the body ends."""

    __slots__ = ("status", "reason", "headers", "sized", "_reply", "_read", "_done", "_link", "_call", "_pool")

    def __init__(self, reply: http.client.HTTPResponse, link: _Link, call: Call, pool: Callable[[_Link], None]) -> None:
        self.status = reply.status
        self.reason = reply.reason
        self.headers = strict.pairs(reply.headers)
        self.sized = reply.length is not None
        self._reply = reply
        # The library reads odd sizes as numbers and takes a body without its last line for a whole one; hence our own chunks.
        self._read = strict.Chunks(reply.fp).read1 if reply.chunked else reply.read1
        self._done = reply.length == 0
        self._link = link
        self._call = call
        self._pool = pool

    def read(self, most: int = strict.PIECE) -> bytes:
        """The next bytes of the body as soon as there are any, b"" at its clean end. Raises Broken, or Abandoned."""
        if self._done:
            return b""
        try:
            data = self._read(most)
            if not data and self._reply.length:
                raise strict.Torn(f"the body ended {self._reply.length} bytes early")
        except (OSError, ValueError, strict.Torn) as error:
            self.shutdown()
            raise Abandoned if self._call.gone else Broken(f"the body broke off ({_reason(error)})") from error
        self._done = not data
        return data

    def shutdown(self) -> None:
        """Ends the connection at once; the upstream sees it."""
        self._call.let_go()
        self._link.close()
        self._reply.close()

    def release(self) -> None:
        """Keeps the connection for the next request when the answer was read to its end, else ends it."""
        self._call.let_go()
        self._reply.close()
        if self._done and not self._reply.will_close and not self._call.gone:
            self._pool(self._link)
        else:
            self._link.close()


class Upstream:
    """Sends requests to one address over connections that are kept. Raises TenonError for an address that is none."""

    def __init__(self, url: str, env: Mapping[str, str], *, clock: Callable[[], float] = time.time) -> None:
        self.place = dial.place(url, "the upstream")
        self.doubts: list[str] = []  # what about certificates could not be done as the environment asks
        self._proxy = dial.proxy(self.place, env)
        self._context = dial.trust(env, self.doubts) if self.place.scheme == "https" else None
        self._clock = clock
        self._lock = threading.Lock()
        self._idle: list[_Link] = []

    @property
    def masked(self) -> str:
        """The address as it may be shown: without name and password."""
        return self.place.masked

    @property
    def through(self) -> str:
        """The proxy on the way, as it may be shown; "" for none."""
        return self._proxy.masked if self._proxy else ""

    def send(self, method: str, target: str, headers: Sequence[tuple[str, str]], body: bytes, call: Call | None = None) -> Answer:
        """The answer, as soon as its head is there.

        Hop-by-hop headers, Host and Content-Length are made here; every other header goes as it came, in its order and
        spelling. A kept connection that turns out to be dead is replaced once, when not one byte came back on it.
        Raises Unreachable when there is no connection, Broken when the answer broke off, Abandoned when `call` was given up.
        """
        call = call or Call()
        # Letters outside ASCII have no place in an address; some clients write them all the same.
        where = target if target == "*" else quote(self.place.path + target, string.punctuation, "latin-1")
        made = self._headers(headers, body)
        link = self._kept()
        if link is not None:
            try:
                return self._exchange(link, method, where, made, body, call)
            except _Silent:
                pass
        return self._exchange(self._open(call), method, where, made, body, call)

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

    def _headers(self, headers: Sequence[tuple[str, str]], body: bytes) -> list[tuple[str, str]]:
        """The headers of a request; what is ours stands where the client's stood."""
        made: list[tuple[str, str]] = []
        has_body = body or strict.values(headers, "content-length") or strict.values(headers, "transfer-encoding")
        missing = {"host", "content-length"} if has_body else {"host"}
        ours = {"host": self.place.authority, "content-length": str(len(body))}
        for name, value in strict.end_to_end(headers):
            lower = name.lower()
            if lower not in ours:
                made.append((name, value))
            elif lower in missing:
                missing.discard(lower)
                made.append((name, ours[lower]))
        if "host" in missing:
            made.insert(0, ("Host", ours["host"]))
        if "content-length" in missing:
            made.append(("Content-Length", ours["content-length"]))
        if self.place.credentials and not strict.values(headers, "authorization"):
            made.append(("Authorization", dial.basic(self.place.credentials)))
        return made

    def _open(self, call: Call) -> _Link:
        """A new connection, ready for a request. Raises Unreachable, or Abandoned."""
        if call.gone:
            raise Abandoned
        hop, between = (self._proxy, BETWEEN) if self._proxy else (self.place, "")
        try:
            connection = (
                http.client.HTTPSConnection(hop.host, hop.port, timeout=CONNECT_S, context=self._context)
                if self._context
                else http.client.HTTPConnection(hop.host, hop.port, timeout=CONNECT_S)
            )
            connection.response_class = _Reply
            if self._proxy:
                host = f"[{self.place.host}]" if ":" in self.place.host else self.place.host
                asked = {"Host": f"{host}:{self.place.port}"}
                if self._proxy.credentials:
                    asked["Proxy-Authorization"] = dial.basic(self._proxy.credentials)
                connection.set_tunnel(self.place.host, self.place.port, asked)
            try:
                connection.connect()
                return _Link(connection)
            except BaseException:
                connection.close()
                raise
        except (OSError, UnicodeError, http.client.HTTPException) as error:
            traceback.clear_frames(error.__traceback__)  # Python 3.9 leaves the proxy's answer open in there
            raise Unreachable(self._why(error, hop, between)) from error

    def _why(self, error: Exception, hop: dial.Place, between: str) -> str:
        """Why there is no connection, in a sentence."""
        import ssl

        host = self.place.host
        said = _reason(error)
        if isinstance(error, ssl.SSLCertVerificationError):
            return (
                f"the certificate of {host} is not trusted ({error.verify_message}); "
                "if your company issues its own, name its CA file in NODE_EXTRA_CA_CERTS or SSL_CERT_FILE"
            )
        if isinstance(error, ssl.SSLError):
            return f"{host} does not agree on encryption: {said}"
        if isinstance(error, (socket.gaierror, UnicodeError, http.client.InvalidURL)):
            return f"the name {hop.host}{between} was not found: {said}"
        if said.startswith("Tunnel connection failed: "):  # the library's words for any status but 200
            named = f"the proxy {hop.masked} that HTTPS_PROXY or HTTP_PROXY names"
            status = said.partition(": ")[2]
            if status.startswith("407"):
                return f"{named} does not take the name and password in that address"
            return f"{named} does not let through to {host}:{self.place.port} ({status[:80]})"
        return f"{hop.host}:{hop.port}{between} does not answer: {said}"

    def _exchange(self, link: _Link, method: str, where: str, headers: Sequence[tuple[str, str]], body: bytes, call: Call) -> Answer:
        connection = link.connection
        try:
            call.hold(link.socket)
            try:
                connection.putrequest(method, where, skip_host=True, skip_accept_encoding=True)
                for name, value in headers:
                    connection.putheader(name, value)
                connection.endheaders(body)
            except OSError:
                pass  # an upstream that refuses does not always read to the end: its answer may be there
            return Answer(connection.getresponse(), link, call, self._keep)
        except BaseException as error:
            call.let_go()
            link.close()
            if call.gone and isinstance(error, Broken):
                raise Abandoned from error
            raise

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

    __slots__ = ("connection", "socket", "since")

    def __init__(self, connection: http.client.HTTPConnection) -> None:
        self.connection = connection
        self.socket: Any = connection.sock  # the library lets go of it while the last answer on it is read
        self.socket.settimeout(None)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        if hasattr(self.socket, "suppress_ragged_eofs"):
            self.socket.suppress_ragged_eofs = False  # without encryption's own goodbye the end of a connection is no end of a body
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
        self.connection.close()
        self.socket.close()


def _reason(error: Exception) -> str:
    """Why, without a word of what came: it may be anything."""
    if isinstance(error, http.client.HTTPException) and not isinstance(error, OSError):
        return "it does not speak HTTP/1.1"
    return dial.reason(error)
