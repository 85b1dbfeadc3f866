"""One client's connection: its requests are read, judged and routed, one after the other."""

from __future__ import annotations

import socket
import time
from http.server import BaseHTTPRequestHandler

from tenon.base import paths
from tenon.base.errors import TenonError
from tenon.proxy import admission, control, record
from tenon.proxy.pipe import Exchange, Outlet
from tenon.proxy.record import Line
from tenon.world import dial, strict
from tenon.world.call import Call, shut

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tenon.proxy.pipe import Plan
    from tenon.proxy.server import Proxy
    from tenon.wire.stream import Reader

IDLE_S = 900.0  # a client that keeps its connection may be silent that long
READ_S = 120.0  # a request that has begun goes on within that
LARGEST = 64 * 1024 * 1024  # bytes of a request; the API itself takes half of it
DRAINED = 256 * 1024 * 1024
DRAIN_S = 2.0
AGENT = "/agent/"
DASHBOARD = "/_dashboard/"
NO_HTTP = "it does not begin like HTTP/1.1"


class Untouched:
    """The plan for what nobody asked the rewriter about: the bytes as they came."""

    __slots__ = ("body", "rewritten", "why", "watch")

    def __init__(self, body: bytes, why: str) -> None:
        self.body = body
        self.rewritten = False
        self.why = why
        self.watch = False

    def refused(self, status: int, answer: bytes) -> Plan | None:
        """None: what the upstream says is the client's to see."""
        return None

    def answered(self, status: int, reader: Reader) -> None:
        """There is nothing to note."""

    def abandoned(self) -> None:
        """There is nothing to note."""


class Refused(Exception):
    """A request that gets an answer of our own: a status and a sentence."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status
        self.sentence = sentence


class Handler(BaseHTTPRequestHandler):
    """One connection. `idle` while it waits for a request."""

    protocol_version = "HTTP/1.1"
    default_request_version = "HTTP/1.0"  # what cannot be understood gets an answer with a head
    disable_nagle_algorithm = True
    rbufsize = strict.PIECE
    server: Proxy

    def setup(self) -> None:
        """Makes the connection known to the proxy."""
        super().setup()
        self.idle = True
        self.known = False
        self.expects = False
        self.call: Call | None = None
        self.server.enter(self)

    def finish(self) -> None:
        """Forgets the connection."""
        try:
            super().finish()
        finally:
            self.server.leave(self)

    def stop(self) -> None:
        """Gives up what is going on, for the process ends."""
        if self.call is not None:
            self.call.abandon()
        shut(self.connection)

    def handle_one_request(self) -> None:
        """Serves the next request; close_connection says whether another may follow."""
        self.close_connection = True
        self.connection.settimeout(IDLE_S)
        if not self.server.rest(self) or not self.rfile.peek(1):
            return
        self.server.busy(self)
        self.connection.settimeout(READ_S)
        now = time.time()
        if not self._understood():
            self._drain()
            return
        headers = strict.pairs(self.headers)
        self.close_connection = self.request_version == "HTTP/1.0" or self.server.stopping or "close" in strict.tokens(headers, "connection")
        target = self.requestline.split()[1]  # `path` is not always what came
        outlet = Outlet(self)
        line = Line(self.command, target, now)
        try:
            self._judged(self.command, target, headers, outlet, line)
        except Refused as refusal:
            line.end = "refused"
            self.close_connection = True
            line.size_bytes = outlet.error(refusal.status, refusal.sentence)
            line.answered(refusal.status)
        except (OSError, strict.Torn):
            line.end = "the client hung up"
            raise
        finally:
            self.server.log.note(line)
        if line.end == "refused":
            self._drain()

    def handle_expect_100(self) -> bool:
        """The client is told to go on once its request was judged."""
        self.expects = True
        return True

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Says that a request was not understood; the library's own page would be one of HTML."""
        self.close_connection = True
        self.request_version = self.default_request_version
        Outlet(self).error(400, f"Tenon's proxy did not understand the request: {explain or NO_HTTP}.")

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the library's name for it
        """Nothing: what is noted stands in the log of the proxy."""

    def _understood(self) -> bool:
        """Whether a head was read that can be judged; what cannot be has got its answer."""
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

    def _judged(self, method: str, target: str, headers: list[tuple[str, str]], outlet: Outlet, line: Line) -> None:
        """Serves a request that was read up to its body. Raises Refused."""
        sentence = admission.refusal(headers, old=self.request_version == "HTTP/1.0")
        if not self.known and not sentence:
            sentence = admission.stranger(self.connection)
        if sentence:
            raise Refused(403, sentence)
        self.known = True
        target = _origin(target)
        try:
            size = strict.size(headers) or 0
            if size == strict.CHUNKED and strict.values(headers, "content-length"):
                raise strict.Malformed("a body whose length is in doubt")
        except strict.Malformed as error:
            raise Refused(400, f"Tenon's proxy did not understand the request: {error}.") from error
        own = target.startswith(control.PREFIX)
        if target.startswith(DASHBOARD):
            raise Refused(404, "There is no dashboard at this proxy.")
        agent, target = ("", target) if own else self._route(target)
        raw = self._body(size)
        line.received()
        if own:
            status, said, proven = control.answer(self.server, method, target, headers)
            line.size_bytes = outlet.error(status, said, proven) if isinstance(said, str) else outlet.own(status, said, proven)
            line.answered(status)
            return
        line.agent = agent
        self._relay(agent, method, target, headers, raw, outlet, line)

    def _route(self, target: str) -> tuple[str, str]:
        """Whose request that is, and what of its target goes upstream."""
        if not target.startswith(AGENT):
            return self.server.agent(), target
        path, question, query = target[len(AGENT) :].partition("?")
        name, _, rest = path.partition("/")
        try:
            if not name:
                raise TenonError(f"an address with {AGENT} goes on with the name of an agent")
            return paths.agent_name(name), f"/{rest}{question}{query}"
        except TenonError as error:
            raise Refused(404, f"{error}.") from error

    def _body(self, size: int) -> bytes:
        """The body of the request. Raises Refused for one that is too large."""
        too_large = Refused(413, f"The request exceeds the {LARGEST // 1024 // 1024} MB that Tenon's proxy takes; the API itself takes 32 MB.")
        if size > LARGEST:
            raise too_large
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
                if size > LARGEST:
                    raise too_large
        except strict.Malformed as error:
            raise Refused(400, "Tenon's proxy did not understand the request's body: its chunks are malformed.") from error
        return b"".join(parts)

    def _relay(self, agent: str, method: str, target: str, headers: list[tuple[str, str]], raw: bytes, outlet: Outlet, line: Line) -> None:
        self.connection.settimeout(None)  # from here on a client that does not read holds the upstream up, as it would without us
        self.call = call = Call()
        self.server.watch.add(self.connection, call.abandon)
        with self.server.relaying():
            try:
                plan = self._plan(agent, method, target, headers, raw)
                line.why = plan.why
                passed = [(name, value) for name, value in headers if name.lower() != "expect"]
                exchange = Exchange(
                    method, target, passed, plan=plan, upstream=self.server.upstream, outlet=outlet, call=call, line=line, report=self.server.report
                )  # fmt: skip
                exchange.run()
            finally:
                self.server.watch.remove(self.connection)
                self.call = None

    def _plan(self, agent: str, method: str, target: str, headers: list[tuple[str, str]], raw: bytes) -> Plan:
        if method != "POST" or not raw or not agent:
            return Untouched(raw, "")
        names: dict[str, str] = {}
        for name, value in headers:
            lower = name.lower()
            names[lower] = f"{names[lower]}, {value}" if lower in names else value
        try:
            return self.server.rewriter.plan(agent, target, names, raw)
        except Exception as error:  # noqa: BLE001 - fall back to plain Claude Code: a request goes through, whatever is wrong with us
            record.fault(error, "the request was relayed as it came")
            return Untouched(raw, "a fault of ours, noted")

    def _drain(self) -> None:
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


def _origin(target: str) -> str:
    """The target as a path; a whole address of this machine is cut down to one. Raises Refused."""
    if target.startswith("/") or target == "*":
        return target
    scheme, _, rest = target.partition("://")
    host, slash, path = rest.partition("/")
    if scheme.lower() == "http" and dial.is_loopback(admission.name_of(host)):
        return slash + path or "/"
    raise Refused(403, "Tenon's proxy is no way to other hosts: use it as ANTHROPIC_BASE_URL, not as HTTP_PROXY.")
