"""A server for this machine alone, and one connection to it: heads and bodies are read strictly, whatever the addresses behind them mean."""

from __future__ import annotations

import errno
import os
import socket
import sys
import threading
import time
from collections import deque
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import TCPServer

from tenon.world import dial, peer, strict
from tenon.world.call import shut

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

HOST = "127.0.0.1"
REASONS = {413: "Content Too Large"}  # where the library's word is an older one
DRAINED = 256 * 1024 * 1024
DRAIN_S = 2.0
NO_HTTP = "it does not begin like HTTP/1.1"
FIRST_S = 30.0  # within that a new connection says something; a client may open one ahead, but not for long
CROWDED = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)  # why no connection can be taken at the moment
PAUSE_S = 0.1  # until it is tried again
ROOM = 8  # idle connections that are closed to make room
AWAY = 8  # connections that were turned away and are not closed yet: a client that is still sending reads why
SPARE = 64  # open files that connections leave to the stores and to what is asked elsewhere
FULL = "{} has as many connections open as it can serve; try again in a moment."


class Refused(Exception):
    """A request that gets an answer of our own: a status and a sentence."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status
        self.sentence = sentence


class Server(ThreadingHTTPServer):
    """Listens on this machine, each connection in a thread of its own: of this user, and not more than `most`."""

    most = 256  # connections at once; the one that is idle for longest makes way for a new one
    daemon_threads = True
    request_queue_size = 256
    # Connections that have just ended do not block the port; Windows would let another program share it.
    allow_reuse_address = sys.platform != "win32"
    allow_reuse_port = False

    def __init__(self, address: tuple[str, int], handler: type[Connection]) -> None:
        self._who = handler.who
        self._room = threading.Lock()
        self._held: dict[socket.socket, float | None] = {}  # since when each waits for a request; None while it has one
        self._away: deque[socket.socket] = deque()
        self._highest = _most_files() - SPARE
        super().__init__(address, handler)

    def server_bind(self) -> None:
        """Binds the port; without HTTPServer's question for this machine's name, which can take seconds."""
        if sys.platform == "win32":
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_EXCLUSIVEADDRUSE, 1)
        TCPServer.server_bind(self)

    def get_request(self) -> tuple[socket.socket, Any]:
        """The next connection. Raises OSError; where there is no room for one, after room was made and a moment has passed."""
        try:
            return super().get_request()
        except OSError as error:
            if error.errno in CROWDED:
                self.make_room(ROOM)
                time.sleep(PAUSE_S)  # the connection still waits, so the loop would come back at once
            raise

    def verify_request(self, request: Any, client_address: object) -> bool:
        """Whether a new connection is taken, before anything is spent on it: another user's is not, nor one too many."""
        sentence, status = stranger(request, self._who), 403
        if not sentence:
            if len(self._held) >= self.most or request.fileno() > self._highest:
                self.make_room(1)
            with self._room:
                if len(self._held) < self.most and request.fileno() <= self._highest:
                    self._held[request] = time.monotonic()
                    return True
            sentence, status = FULL.format(self._who), 503
        self._turn_away(request, status, sentence)
        return False

    def _turn_away(self, client: socket.socket, status: int, sentence: str) -> None:
        """Tells a client that is not served why, as far as that can be done without waiting for it."""
        body = sentence.encode() + b"\n"
        head = f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\nContent-Type: text/plain\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        try:
            client.setblocking(False)
            client.send(head.encode() + body)
            client.shutdown(socket.SHUT_WR)
        except OSError:
            return  # the client has left
        with self._room:
            self._away.append(client)
            if len(self._away) > AWAY:
                self.close_request(self._away.popleft())

    def server_close(self) -> None:
        """Takes no more connections."""
        super().server_close()
        while self._away:
            self.close_request(self._away.popleft())

    def shutdown_request(self, request: Any) -> None:
        """Ends a connection."""
        with self._room:
            self._held.pop(request, None)
            ends = request not in self._away
        if ends:
            super().shutdown_request(request)

    def rests(self, connection: socket.socket) -> None:
        """The connection waits for a request from now on."""
        with self._room:
            if connection in self._held:
                self._held[connection] = time.monotonic()

    def works(self, connection: socket.socket) -> bool:
        """The connection has a request; False when it had to make way."""
        with self._room:
            if connection not in self._held:
                return False
            self._held[connection] = None
            return True

    def make_room(self, count: int) -> None:
        """Closes so many connections that wait for a request, those that wait for longest."""
        with self._room:
            idle = sorted((since, number, one) for number, (one, since) in enumerate(self._held.items()) if since is not None)
            for _, _, one in idle[:count]:
                del self._held[one]
                shut(one)


class Connection(BaseHTTPRequestHandler):
    """One connection: what is needed to understand a request. Who inherits says in `refuse` how an error looks, and in `who` whose it is."""

    protocol_version = "HTTP/1.1"
    default_request_version = "HTTP/1.0"  # what cannot be understood gets an answer with a head
    disable_nagle_algorithm = True
    rbufsize = strict.PIECE
    who = "Tenon"
    expects = False
    begun = False  # whether it has sent something
    server: Server

    def refuse(self, status: int, sentence: str) -> int:
        """Sends an error; its size in bytes."""
        raise NotImplementedError

    def understood(self) -> bool:
        """Whether a head was read that can be judged; what cannot be has got its answer. Raises OSError and Torn."""
        self.expects = False
        file: Any = self.rfile
        try:
            for _ in range(5):  # empty lines before a request are forgiven
                self.raw_requestline = file.readline(strict.LONGEST_LINE)
                if self.raw_requestline.strip():
                    break
            self.rfile: Any = strict.Lines(file)
            if not self.parse_request():
                return False
            words = self.requestline.split(" ")
            if len(words) == 3 and words[2] in {"HTTP/1.1", "HTTP/1.0"} and "".join(words).isprintable() and words[0].isascii():
                return True
            self.send_error(400)
        except strict.Malformed as error:
            self.send_error(400, None, str(error))
        finally:
            self.rfile = file
        return False

    def next(self, idle_s: float, read_s: float) -> list[tuple[str, str]] | None:
        """The headers of the next request, None when there is none or it has got its answer; close_connection says whether another may follow."""
        self.close_connection = True
        if not self.awaited(idle_s):
            return None
        self.connection.settimeout(read_s)
        if not self.understood():
            self.drain()
            return None
        headers = strict.pairs(self.headers)
        self.close_connection = self.request_version == "HTTP/1.0" or "close" in strict.tokens(headers, "connection")
        return headers

    def awaited(self, idle_s: float) -> bool:
        """Whether a request begins to arrive in that time, the first one in FIRST_S; False when the client leaves, or had to make way. Raises OSError."""
        self.server.rests(self.connection)
        self.connection.settimeout(idle_s if self.begun else min(idle_s, FIRST_S))
        self.begun = bool(self.rfile.peek(1))
        return self.begun and self.server.works(self.connection)

    def length(self, headers: Sequence[tuple[str, str]]) -> int:
        """The length of the body, strict.CHUNKED for one in chunks. Raises Refused when it is in doubt."""
        try:
            size = strict.size(headers) or 0
            if size == strict.CHUNKED and strict.values(headers, "content-length"):
                raise strict.Malformed("a body whose length is in doubt")
        except strict.Malformed as error:
            raise Refused(400, f"{self.who} did not understand the request: {error}.") from error
        return size

    def body(self, size: int, most: int, too_large: str) -> bytes:
        """The body of the request, of a length as `length` gives it. Raises Refused with that sentence for one that is too large, and Torn."""
        if size > most:
            raise Refused(413, too_large)
        if size and self.expects:
            super().handle_expect_100()
        if size != strict.CHUNKED:
            raw = self.rfile.read(size)
            if len(raw) < size:
                raise strict.Torn("the request broke off")
            return bytes(raw)
        chunks = strict.Chunks(self.rfile)
        parts: list[bytes] = []
        size = 0
        try:
            while data := chunks.read1():
                size += len(data)
                parts.append(data)
                if size > most:
                    raise Refused(413, too_large)
        except strict.Malformed as error:
            raise Refused(400, f"{self.who} did not understand the request's body: its chunks are malformed.") from error
        return b"".join(parts)

    def head(self, status: int, reason: str | None, headers: Sequence[tuple[str, str]]) -> None:
        """Sends the head of an answer."""
        self.send_response_only(status, reason and "".join(letter for letter in reason if letter.isprintable()))
        for name, value in headers:
            self.send_header(name, value)
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()

    def whole(self, status: int, headers: Sequence[tuple[str, str]], body: bytes) -> int:
        """Sends an answer that is there whole, without its body where only the head was asked for; the body's size in bytes."""
        # An answer of «not modified» tells no length: it would be that of what was not sent.
        size = [] if status == 304 else [("Content-Length", str(len(body)))]
        self.head(status, REASONS.get(status), [*headers, *size])
        if self.command != "HEAD":
            self.wfile.write(body)
        return len(body)

    def drain(self) -> None:
        """Reads what is still on its way, so that the client sees the answer and not a reset connection."""
        try:
            self.connection.shutdown(socket.SHUT_WR)
            self.connection.settimeout(DRAIN_S)
            end = time.monotonic() + DRAIN_S
            size = 0
            while size < DRAINED and time.monotonic() < end:
                data = self.connection.recv(strict.PIECE)
                if not data:
                    break
                size += len(data)
        except OSError:
            pass  # the client has left

    def handle_expect_100(self) -> bool:
        """The client is told to go on once its request was judged."""
        self.expects = True
        return True

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Says that a request was not understood; the library's own page would be one of HTML."""
        self.close_connection = True
        self.request_version = self.default_request_version
        self.refuse(400, f"{self.who} did not understand the request: {explain or NO_HTTP}.")

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the library's name for it
        """Nothing on stderr."""


def stranger(client: socket.socket, who: str) -> str:
    """Why whoever is at the other end of a connection is not served; "" when they are."""
    try:
        address = str(client.getpeername()[0])
    except OSError:
        return f"{who} serves clients that are there."  # this one has left
    if not dial.is_loopback(address):
        return f"{who} serves this machine only."
    if peer.is_foreign(client):
        return f"{who} belongs to another user of this machine; start your own with Tenon's command."
    return ""


def _most_files() -> int:
    """How many files this process may have open."""
    most = os.sysconf("SC_OPEN_MAX") if hasattr(os, "sysconf") else -1
    return most if most > 0 else sys.maxsize  # without end, or not known, as on Windows


def path_of(target: str, elsewhere: str) -> str:
    """A request's target as a path; a whole address of this machine is cut down to one. Raises Refused, with the sentence for an address elsewhere."""
    if target.startswith("/") or target == "*":
        return target
    scheme, _, rest = target.partition("://")
    host, slash, path = rest.partition("/")
    if scheme.lower() == "http" and dial.is_loopback(name_of(host)):
        return slash + path or "/"
    raise Refused(403, elsewhere)


def name_of(host: str) -> str:
    """The host without its port, lower case, «» for one that is malformed."""
    host = host.strip().lower()
    if host.startswith("["):
        name, bracket, port = host[1:].partition("]")
        port = port.lstrip(":") if port.startswith(":") or not port else "?"
        return name if bracket and (not port or port.isdigit()) else ""
    name, colon, port = host.partition(":")
    return name if not colon or port.isdigit() else ""
