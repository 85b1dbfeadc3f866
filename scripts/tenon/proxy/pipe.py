"""One exchange relayed: the request to the upstream, the answer back byte for byte, as it arrives and as it ends."""

from __future__ import annotations

import json
import os
import socket
import struct
import zlib

from tenon.proxy import record
from tenon.world import strict
from tenon.world.call import shut
from tenon.world.upstream import Abandoned, Broken, Unreachable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any, Protocol

    from tenon.proxy.record import Line
    from tenon.wire.stream import Reader
    from tenon.world.loopback import Connection
    from tenon.world.upstream import Answer, Call, Upstream

    class Plan(Protocol):
        """What is sent for a request, and what is done with its answer."""

        body: bytes
        rewritten: bool
        why: str
        watch: bool

        def refused(self, status: int, answer: bytes) -> Plan | None:
            """What to send instead of a rewritten request that got a 400 or 413; None: the refusal is relayed."""

        def answered(self, status: int, reader: Reader) -> None:
            """Called after the last byte of a watched answer went to the client."""

        def abandoned(self) -> None:
            """Called when there is no whole answer."""

    class Rewriter(Protocol):
        """Decides what is sent for a request."""

        def plan(self, agent: str, target: str, headers: Mapping[str, str], raw: bytes) -> Plan:
            """The plan for a request."""

        def status(self) -> list[dict[str, Any]]:
            """The latest conversations."""

        def sweep(self) -> None:
            """Called now and then: gives back what has not been used for a while."""

        def close(self) -> None:
            """Called in the end: gives everything back."""


REFUSALS = (400, 413)
LONGEST_REFUSAL = 1_000_000  # bytes; what is longer is no error message
ATTEMPTS = 4  # a rewritten request, the same without thinking, the client's own, and that without thinking
READABLE = ("gzip", "x-gzip", "deflate", "identity")  # what the standard library can decode
KINDS = {400: "invalid_request_error", 401: "authentication_error", 403: "permission_error", 404: "not_found_error", 413: "request_too_large"}


class Outlet:
    """The client's end: an answer's head, then its body in a framing that this client understands.

    `begun` once a byte was sent. All of it raises OSError when the client does not take it.
    """

    __slots__ = ("http", "begun", "_chunked")

    def __init__(self, http: Connection) -> None:
        self.http = http
        self.begun = False
        self._chunked = False

    def head(self, answer: Answer) -> None:
        """Sends the head of an upstream's answer."""
        headers = strict.end_to_end(answer.headers)
        if not answer.sized:
            headers = [(name, value) for name, value in headers if name.lower() != "content-length"]
            self._chunked = self.http.request_version != "HTTP/1.0"
        if self._chunked:
            headers.append(("Transfer-Encoding", "chunked"))
        self.begun = True
        self.http.head(answer.status, answer.reason, headers)

    def write(self, data: bytes) -> None:
        """Sends a piece of the body at once."""
        self.http.wfile.write(b"%x\r\n%b\r\n" % (len(data), data) if self._chunked else data)

    def end(self) -> None:
        """The body is whole."""
        if self._chunked:
            self.http.wfile.write(b"0\r\n\r\n")

    def own(self, status: int, value: object, more: Sequence[tuple[str, str]] = ()) -> int:
        """Sends a JSON answer of the proxy's own, with more headers; its size in bytes."""
        self.begun = True
        data = json.dumps(value, ensure_ascii=False).encode("utf-8", "replace") + b"\n"
        return self.http.whole(status, [("Content-Type", "application/json"), ("Cache-Control", "no-store"), *more], data)

    def error(self, status: int, sentence: str, more: Sequence[tuple[str, str]] = ()) -> int:
        """Sends an error in the API's own envelope; its size in bytes."""
        return self.own(status, {"type": "error", "error": {"type": KINDS.get(status, "api_error"), "message": sentence}}, more)

    def tear(self) -> None:
        """Breaks the connection off, so that nobody takes what was sent for a whole answer."""
        self.http.close_connection = True
        client = self.http.connection
        if self.http.request_version == "HTTP/1.0":
            # Where only the end of the connection ends a body, an orderly end would say that it is whole.
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("hh" if os.name == "nt" else "ii", 1, 0))
            client.close()
        else:
            shut(client)


class Exchange:
    """One request on its way to the upstream and back, by its plan."""

    __slots__ = ("method", "target", "headers", "plan", "upstream", "outlet", "call", "line", "report")

    def __init__(
        self,
        method: str,
        target: str,
        headers: Sequence[tuple[str, str]],
        *,
        plan: Plan,
        upstream: Upstream,
        outlet: Outlet,
        call: Call,
        line: Line,
        report: Callable[[str], None],
    ) -> None:
        self.method = method
        self.target = target
        self.headers = headers
        self.plan = plan
        self.upstream = upstream
        self.outlet = outlet
        self.call = call
        self.line = line
        self.report = report

    def run(self) -> None:
        """Relays the exchange to its end, whatever that is; the outlet says whether the connection is still good."""
        reader: Reader | None = None
        answer: Answer | None = None
        whole = False
        try:
            answer, early = self._settled()
            reader = self._reader(answer)
            whole = self._relay(answer, early, reader)
        except Unreachable as error:
            self._unanswered(f"cannot reach {self.upstream.masked}: {error}")
        except Broken as error:
            self._broken(str(error))
        except (Abandoned, OSError):
            self.line.end = "the client hung up"
            self.outlet.http.close_connection = True
        finally:
            if answer is not None and not whole:
                answer.shutdown()
        self._tell(answer, reader if whole else None)

    def _settled(self) -> tuple[Answer, list[bytes]]:
        """The answer that the client gets, and what of its body was read already."""
        for attempt in range(ATTEMPTS):
            headers = self.headers if not (self.plan.watch or self.plan.rewritten) else narrowed(self.headers)
            self.line.sent()
            answer = self.upstream.send(self.method, self.target, headers, self.plan.body, self.call)
            if not self.plan.rewritten or answer.status not in REFUSALS or attempt == ATTEMPTS - 1:
                return answer, []
            early: list[bytes] = []
            other: Plan | None = None
            try:
                while sum(map(len, early)) <= LONGEST_REFUSAL:
                    data = answer.read()
                    if not data:
                        other = self._refused(answer, b"".join(early))
                        break
                    early.append(data)
            except BaseException:
                answer.shutdown()
                raise
            if other is None:
                return answer, early
            answer.release()
            self.plan = other
            self.line.why = other.why
        raise AssertionError

    def _refused(self, answer: Answer, body: bytes) -> Plan | None:
        coding = strict.tokens(answer.headers, "content-encoding")
        try:
            return self.plan.refused(answer.status, decoded(body, coding))
        except Exception as error:  # noqa: BLE001 - the refusal is relayed then, as without us
            record.fault(error, "a refusal was relayed")
            return None

    def _reader(self, answer: Answer) -> Reader | None:
        if not self.plan.watch:
            return None
        from tenon.wire.stream import Reader

        kind = "".join(strict.values(answer.headers, "content-type")[:1])
        return Reader(kind, ", ".join(strict.tokens(answer.headers, "content-encoding")))

    def _relay(self, answer: Answer, early: list[bytes], reader: Reader | None) -> bool:
        """True once the whole answer went to the client."""
        outlet, line = self.outlet, self.line
        outlet.head(answer)
        line.answered(answer.status)
        for data in early:
            outlet.write(data)
            line.size_bytes += len(data)
            if reader:
                reader.feed(data)
        while True:
            data = answer.read()
            if not data:
                break
            outlet.write(data)
            line.size_bytes += len(data)
            if reader:
                reader.feed(data)
        outlet.end()
        answer.release()
        return True

    def _unanswered(self, said: str) -> None:
        """Tells the client that nothing came back."""
        self.line.end = "no answer"
        self.report(said)
        sentence = (
            f"Tenon's proxy {said}. Check the network and the setting `upstream` (`tenon config upstream`); "
            "`tenon doctor` looks at the rest. The request was not answered and may be sent again."
        )
        try:
            self.line.size_bytes = self.outlet.error(502, sentence)
            self.line.answered(502)
        except OSError:
            self.line.end = "the client hung up"
            self.outlet.http.close_connection = True

    def _broken(self, said: str) -> None:
        """Breaks off where the upstream broke off."""
        if not self.outlet.begun:
            self._unanswered(f"got no answer from {self.upstream.masked}: {said}")
            return
        self.line.end = "the upstream broke off"
        self.report(f"{self.upstream.masked} broke off in the middle of an answer: {said}")
        self.outlet.tear()

    def _tell(self, answer: Answer | None, reader: Reader | None) -> None:
        """Tells the plan how it ended; the client has everything by now."""
        try:
            if answer is not None and reader is not None:
                reader.close()
                self.plan.answered(answer.status, reader)
            elif self.line.end:
                self.plan.abandoned()
        except Exception as error:  # noqa: BLE001 - the client has its answer; what could not be noted is visible in doctor
            record.fault(error, "the answer was relayed and not noted")


def narrowed(headers: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """The headers with Accept-Encoding cut down to what can be read along."""
    found: list[tuple[str, str]] = []
    for name, value in headers:
        if name.lower() == "accept-encoding":
            kept = [coding.strip() for coding in value.split(",") if coding.partition(";")[0].strip().lower() in READABLE]
            value = ", ".join(kept) or "identity"
        found.append((name, value))
    return found


def decoded(data: bytes, coding: Sequence[str]) -> bytes:
    """The data without its content coding; as it is where that cannot be undone."""
    if list(coding) not in (["gzip"], ["x-gzip"], ["deflate"]):
        return data
    for window in (47, -15):  # with a gzip or zlib head, or bare as some servers send deflate
        try:
            return zlib.decompressobj(window).decompress(data, LONGEST_REFUSAL * 4)
        except zlib.error:
            continue
    return data
