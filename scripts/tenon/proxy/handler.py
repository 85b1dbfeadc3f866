"""One client's connection: its requests are read, judged and routed, one after the other."""

from __future__ import annotations

import socket
import time

from tenon.base import paths
from tenon.base.errors import TenonError
from tenon.proxy import admission, control, record
from tenon.proxy.pipe import Exchange, Gone, Outlet
from tenon.proxy.record import Line
from tenon.world import dial, http1
from tenon.world.call import Call, shut

TYPE_CHECKING = False
if TYPE_CHECKING:
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


class Handler:
    """One connection. `idle` while it waits for a request."""

    __slots__ = ("proxy", "client", "stream", "idle", "known", "call")

    def __init__(self, proxy: Proxy, client: socket.socket) -> None:
        self.proxy = proxy
        self.client = client
        self.stream = http1.Stream(client)
        self.idle = True
        self.known = False
        self.call: Call | None = None

    def run(self) -> None:
        """Serves the connection to its end."""
        try:
            self.client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            while self._one():
                pass
        except (OSError, http1.Torn, Gone):
            pass  # the client is gone
        except Exception as error:  # noqa: BLE001 - the door of the proxy: one connection must not end the others
            record.fault(error, "a connection was given up")
            self.proxy.report("a connection was given up; `tenon doctor` shows the fault")
        finally:
            self.client.close()
            self.proxy.leave(self)

    def stop(self) -> None:
        """Gives up what is going on, for the process ends."""
        if self.call is not None:
            self.call.abandon()
        shut(self.client)

    def _one(self) -> bool:
        """Serves the next request; False when the connection is at its end."""
        self.client.settimeout(IDLE_S)
        if not self.stream.waiting and not self.stream.fill():
            return False
        self.proxy.busy(self)
        self.client.settimeout(READ_S)
        now = time.time()
        try:
            first, headers = http1.read_head(self.stream)
            method, target, version = self._first(first)
        except http1.Malformed as error:
            Outlet(self.client, "GET", old=False, closing=True).error(400, f"Tenon's proxy did not understand the request: {error}.")
            self._drain()
            return False
        old = version == "HTTP/1.0"
        outlet = Outlet(self.client, method, old=old, closing=self.proxy.stopping or "close" in http1.tokens(headers, "connection"))
        line = Line(method, target, now)
        try:
            self._judged(method, target, headers, outlet, line)
        except Refused as refusal:
            line.end = "refused"
            outlet.closing = True
            line.size_bytes = outlet.error(refusal.status, refusal.sentence)
            line.answered(refusal.status)
        except (OSError, http1.Torn):
            line.end = "the client hung up"
            raise
        finally:
            self.proxy.log.note(line)
        if line.end == "refused":
            self._drain()
        return not outlet.closing and self.proxy.rest(self)

    def _first(self, line: str) -> tuple[str, str, str]:
        """Method, target and version. Raises Malformed."""
        words = line.split(" ")
        if len(words) != 3 or not words[0] or not http1.TOKEN.issuperset(words[0]) or not words[1].isprintable() or words[2] not in {"HTTP/1.1", "HTTP/1.0"}:
            raise http1.Malformed("it does not begin like HTTP/1.1")
        return words[0], words[1], words[2]

    def _judged(self, method: str, target: str, headers: list[tuple[str, str]], outlet: Outlet, line: Line) -> None:
        """Serves a request that was read up to its body. Raises Refused."""
        sentence = admission.refusal(headers, old=outlet.old)
        if not self.known and not sentence:
            sentence = admission.stranger(self.client)
        if sentence:
            raise Refused(403, sentence)
        self.known = True
        target = _origin(target)
        try:
            body = http1.request_body(self.stream, headers)
        except http1.Malformed as error:
            raise Refused(400, f"Tenon's proxy did not understand the request: {error}.") from error
        if target.startswith(control.PREFIX):
            self._control(method, target, headers, body, outlet, line)
            return
        if target.startswith(DASHBOARD):
            raise Refused(404, "There is no dashboard at this proxy.")
        agent, target = self._route(target)
        raw = self._body(headers, body, outlet)
        line.received()
        line.agent = agent
        self._relay(agent, method, target, headers, raw, outlet, line)

    def _control(self, method: str, target: str, headers: list[tuple[str, str]], body: http1.Body, outlet: Outlet, line: Line) -> None:
        if body.whole(LARGEST) is None:
            raise Refused(413, "That is too much for one of Tenon's own addresses.")
        line.received()
        status, said = control.answer(self.proxy, method, target, headers)
        line.size_bytes = outlet.error(status, said) if isinstance(said, str) else outlet.own(status, said)
        line.answered(status)

    def _route(self, target: str) -> tuple[str, str]:
        """Whose request that is, and what of its target goes upstream."""
        if not target.startswith(AGENT):
            return self.proxy.agent(), target
        path, question, query = target[len(AGENT) :].partition("?")
        name, _, rest = path.partition("/")
        try:
            if not name:
                raise TenonError(f"an address with {AGENT} goes on with the name of an agent")
            return paths.agent_name(name), f"/{rest}{question}{query}"
        except TenonError as error:
            raise Refused(404, f"{error}.") from error

    def _body(self, headers: list[tuple[str, str]], body: http1.Body, outlet: Outlet) -> bytes:
        """The body of the request. Raises Refused for one that is too large."""
        too_large = Refused(413, f"The request exceeds the {LARGEST // 1024 // 1024} MB that Tenon's proxy takes; the API itself takes 32 MB.")
        if body.kind == http1.LENGTH and body.left > LARGEST:
            raise too_large
        if not body.done and not outlet.old and "100-continue" in http1.tokens(headers, "expect"):
            self.client.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
        try:
            raw = body.whole(LARGEST)
        except http1.Torn as error:
            if isinstance(error.__cause__, http1.Malformed):
                raise Refused(400, "Tenon's proxy did not understand the request's body: its chunks are malformed.") from error
            raise
        if raw is None:
            raise too_large
        return raw

    def _relay(self, agent: str, method: str, target: str, headers: list[tuple[str, str]], raw: bytes, outlet: Outlet, line: Line) -> None:
        self.client.settimeout(None)  # from here on a client that does not read holds the upstream up, as it would without us
        self.call = call = Call()
        self.proxy.watch.add(self.client, call.abandon)
        with self.proxy.relaying():
            try:
                plan = self._plan(agent, method, target, headers, raw)
                line.why = plan.why
                passed = [(name, value) for name, value in headers if name.lower() != "expect"]
                exchange = Exchange(
                    method, target, passed, plan=plan, upstream=self.proxy.upstream, outlet=outlet, call=call, line=line, report=self.proxy.report
                )  # fmt: skip
                exchange.run()
            finally:
                self.proxy.watch.remove(self.client)
                self.call = None

    def _plan(self, agent: str, method: str, target: str, headers: list[tuple[str, str]], raw: bytes) -> Plan:
        if method != "POST" or not raw or not agent:
            return Untouched(raw, "")
        names: dict[str, str] = {}
        for name, value in headers:
            lower = name.lower()
            names[lower] = f"{names[lower]}, {value}" if lower in names else value
        try:
            return self.proxy.rewriter.plan(agent, target, names, raw)
        except Exception as error:  # noqa: BLE001 - fall back to plain Claude Code: a request goes through, whatever is wrong with us
            record.fault(error, "the request was relayed as it came")
            return Untouched(raw, "a fault of ours, noted")

    def _drain(self) -> None:
        """Reads what is still on its way, so that the client sees the answer and not a reset connection."""
        try:
            self.client.shutdown(socket.SHUT_WR)
            self.client.settimeout(DRAIN_S)
            end = time.monotonic() + DRAIN_S
            size = 0
            while size < DRAINED and time.monotonic() < end:
                data = self.client.recv(http1.PIECE)
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
