"""One client's connection: its requests are read, judged and routed, one after the other."""

from __future__ import annotations

import time

from tenon.base import paths
from tenon.base.errors import TenonError
from tenon.proxy import admission, control, page, record
from tenon.proxy.pipe import Exchange, Outlet
from tenon.proxy.record import Line
from tenon.world import loopback, strict
from tenon.world.call import Call, shut
from tenon.world.loopback import Connection, Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tenon.proxy.pipe import Plan
    from tenon.proxy.server import Proxy
    from tenon.wire.stream import Reader

IDLE_S = 900.0  # a client that keeps its connection may be silent that long
READ_S = 120.0  # a request that has begun goes on within that
LARGEST = 64 * 1024 * 1024  # bytes of a request; the API itself takes half of it
AGENT = "/agent/"
WHO = "Tenon's proxy"
ELSEWHERE = "Tenon's proxy is no way to other hosts: use it as ANTHROPIC_BASE_URL, not as HTTP_PROXY."


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


class Handler(Connection):
    """One connection. `idle` while it waits for a request."""

    server: Proxy
    who = WHO

    def setup(self) -> None:
        """Makes the connection known to the proxy."""
        super().setup()
        self.idle = True
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
        if not self.server.rest(self) or not self.awaited(IDLE_S):
            return
        self.server.busy(self)
        self.connection.settimeout(READ_S)
        now = time.time()
        if not self.understood():
            self.drain()
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
            self.drain()

    def refuse(self, status: int, sentence: str) -> int:
        """Sends an error in the API's own envelope; its size in bytes."""
        return Outlet(self).error(status, sentence)

    def _judged(self, method: str, target: str, headers: list[tuple[str, str]], outlet: Outlet, line: Line) -> None:
        """Serves a request that was read up to its body. Raises Refused."""
        target = loopback.path_of(target, ELSEWHERE)
        shown = page.is_page(target)  # the pages have a judge of their own: they are for browsers
        sentence = "" if shown else admission.refusal(headers, old=self.request_version == "HTTP/1.0")
        if sentence:
            raise Refused(403, sentence)
        if shown:
            page.serve(self, target, headers, line)
            return
        size = self.length(headers)
        own = target.startswith(control.PREFIX)
        agent, target = ("", target) if own else self._route(target)
        raw = self.body(size, LARGEST, f"The request exceeds the {LARGEST // 1024 // 1024} MB that Tenon's proxy takes; the API itself takes 32 MB.")
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
