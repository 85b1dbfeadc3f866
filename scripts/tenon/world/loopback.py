"""A server for this machine alone, and one connection to it: heads and bodies are read strictly, whatever the addresses behind them mean."""

from __future__ import annotations

import socket
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import TCPServer

from tenon.world import dial, peer, strict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

HOST = "127.0.0.1"
REASONS = {413: "Content Too Large"}  # where the library's word is an older one
DRAINED = 256 * 1024 * 1024
DRAIN_S = 2.0
NO_HTTP = "it does not begin like HTTP/1.1"


class Refused(Exception):
    """A request that gets an answer of our own: a status and a sentence."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status
        self.sentence = sentence


class Server(ThreadingHTTPServer):
    """Listens on this machine, each connection in a thread of its own."""

    daemon_threads = True
    request_queue_size = 256
    # Connections that have just ended do not block the port; Windows would let another program share it.
    allow_reuse_address = sys.platform != "win32"
    allow_reuse_port = False

    def server_bind(self) -> None:
        """Binds the port; without HTTPServer's question for this machine's name, which can take seconds."""
        if sys.platform == "win32":
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_EXCLUSIVEADDRUSE, 1)
        TCPServer.server_bind(self)


class Connection(BaseHTTPRequestHandler):
    """One connection: what is needed to understand a request. Who inherits says in `refuse` how an error looks, and in `who` whose it is."""

    protocol_version = "HTTP/1.1"
    default_request_version = "HTTP/1.0"  # what cannot be understood gets an answer with a head
    disable_nagle_algorithm = True
    rbufsize = strict.PIECE
    who = "Tenon"
    expects = False

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
        self.connection.settimeout(idle_s)
        if not self.rfile.peek(1):
            return None
        self.connection.settimeout(read_s)
        if not self.understood():
            self.drain()
            return None
        headers = strict.pairs(self.headers)
        self.close_connection = self.request_version == "HTTP/1.0" or "close" in strict.tokens(headers, "connection")
        return headers

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
    if not dial.is_loopback(str(client.getpeername()[0])):
        return f"{who} serves this machine only."
    if peer.is_foreign(client):
        return f"{who} belongs to another user of this machine; start your own with Tenon's command."
    return ""


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
