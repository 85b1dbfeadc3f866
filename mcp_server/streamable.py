"""The way to clients that speak HTTP: one address on this machine, one message a POST, for both eras of the protocol.

Whoever asks must know the token, and no web page is served. An answer is JSON, or a stream of events when the client is notified or
asked before it. A GET, which would open a stream that outlives a request, is refused, as the protocol lets a server do.
Source: modelcontextprotocol.io/specification, basic/transports of 2025-11-25 and 2026-07-28.
"""

from __future__ import annotations

import signal
import sys
import threading
import time
from contextlib import contextmanager

from mcp_server import stateless
from mcp_server.protocol import HANDSHAKE, INVALID_REQUEST, PARSE_ERROR, Peer, Refused, Unanswered, decode, encode, refusal
from mcp_server.scope import AGENT, REPOSITORY, Scope, of_header
from mcp_server.sessions import Sessions
from tenon.base import faults, paths
from tenon.base.errors import TenonError
from tenon.world import bearer, dial, loopback, strict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from functools import partial
    from typing import Any

    from mcp_server.asking import Asking
    from mcp_server.protocol import Context, Dispatcher
    from mcp_server.sessions import Session

    Headers = Sequence[tuple[str, str]]

LARGEST_BYTES = 16 << 20  # of one message
IDLE_S = 900.0  # a client that keeps its connection may be silent that long
READ_S = 30.0  # a request that has begun goes on within that
POLL_S = 0.5
LAST_CALLS_S = 3.0
SESSION = "Mcp-Session-Id"
JSON, EVENTS = "application/json", "text/event-stream"
MORE = {401: [("WWW-Authenticate", "Bearer")], 405: [("Allow", "POST, DELETE")]}  # headers that a refusal bears


class Door(loopback.Server):
    """The server. `make` gives a dispatcher for a client, `token` is what clients must know; it listens from the start.

    Raises TenonError where the port is taken.
    """

    def __init__(self, port: int, make: Callable[[], Dispatcher], token: str, log: Callable[[str], object] | None = None) -> None:
        self.token = token
        self.log = log
        self.sessions = Sessions(make)
        self.dispatcher = make()  # of the stateless era, where every request stands alone
        self.schemas: dict[str, dict[str, Any]] = {tool["name"]: tool["inputSchema"] for tool in self.dispatcher.listing}
        self._changed = threading.Condition()
        self._at_work = 0
        try:
            super().__init__((loopback.HOST, port), Connection)
        except OSError as error:
            raise TenonError(
                f"port {port} of this machine cannot be used ({error.strerror or error}): another `tenon serve` may have it, or another program; "
                "end that one, or choose another with --port"
            ) from error

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self.server_address[1])

    def close(self) -> None:
        """Ends it: no new connections, no sessions, and a moment for the calls at work."""
        self.server_close()
        self.sessions.close()
        with self._changed:
            self._changed.wait_for(lambda: not self._at_work, LAST_CALLS_S)

    @contextmanager
    def working(self) -> Iterator[None]:
        """Counts a call as at work meanwhile."""
        with self._changed:
            self._at_work += 1
        try:
            yield
        finally:
            with self._changed:
                self._at_work -= 1
                self._changed.notify_all()

    def handle_error(self, request: object, client_address: object) -> None:
        """Notes why a connection was given up, unless its client is gone."""
        error = sys.exc_info()[1]
        if isinstance(error, Exception) and not isinstance(error, (OSError, strict.Torn)):
            faults.note("mcp", error, "a connection was given up")


class Stream:
    """The answer to one POST: JSON as long as nothing comes before it, else events. `accepted` says whether the client takes events."""

    def __init__(self, connection: Connection, accepted: bool) -> None:
        self._connection = connection
        self._accepted = accepted
        self.more: list[tuple[str, str]] = []  # headers besides
        self.begun = False

    def notify(self, method: str, params: dict[str, Any]) -> None:
        """Sends a notification, to a client that takes events."""
        if self._accepted:
            self.send({"jsonrpc": "2.0", "method": method, "params": params})

    def send(self, message: dict[str, Any]) -> None:
        """Sends a message before the answer. Raises Unanswered where the client takes none, or is gone."""
        if not self._accepted:
            raise Unanswered("the client takes no events")
        try:
            if not self.begun:
                self.begun = self._connection.close_connection = True  # the end of the connection is the end of the stream
                self._connection.head(200, None, [("Content-Type", EVENTS), ("Cache-Control", "no-cache"), *self.more])
            self._event(message)
        except OSError as error:
            raise Unanswered("the client is gone") from error

    def finish(self, status: int, answer: object) -> int:
        """Sends the answer, if there is one; the status it went with."""
        if self.begun:
            self._event(answer)
            return 200
        kind = [("Content-Type", JSON)] if answer is not None else []
        self._connection.whole(status, [*kind, *self.more], b"" if answer is None else encode(answer))
        return status

    def _event(self, message: object) -> None:
        self._connection.wfile.write(b"event: message\ndata: " + encode(message) + b"\n")
        self._connection.wfile.flush()


class Connection(loopback.Connection):
    """One client's connection: its requests are judged and answered one after the other."""

    who = "Tenon"
    server: Door

    def handle_one_request(self) -> None:
        """Serves the next request; close_connection says whether another may follow."""
        headers = self.next(IDLE_S, READ_S)
        if headers is None:
            return
        self.told, begun = "", time.monotonic()
        try:
            with self.server.working():
                status = self._judged(headers)
        except loopback.Refused as refused:
            self.close_connection = True
            status = refused.status
            self.refuse(status, refused.sentence)
            self.drain()
        if self.server.log is not None:
            self.server.log(f"{time.strftime('%H:%M:%S')} {self.command} {self.told or '-'} {status} {(time.monotonic() - begun) * 1000:.0f} ms")

    def refuse(self, status: int, sentence: str) -> int:
        """Sends a refusal as JSON."""
        return self.whole(status, [("Content-Type", JSON), *MORE.get(status, [])], encode(refusal(None, INVALID_REQUEST, sentence)))

    def _judged(self, headers: Headers) -> int:
        """The status of the answer that was sent. Raises loopback.Refused."""
        refused = foreign(headers, self.server.port)
        if refused:
            raise loopback.Refused(403, refused)
        agent = routed(self.requestline.split(" ")[1], headers)
        given = strict.values(headers, "authorization")
        if len(given) != 1 or not bearer.is_known(given[0], self.server.token):
            raise loopback.Refused(401, "this needs the token, as `Authorization: Bearer TOKEN`; `tenon print-config --http` says where it is")
        if self.command == "DELETE":
            return self._ended(headers)
        if self.command != "POST":
            raise loopback.Refused(405, "messages are posted here, one at a time")
        events = accepts(headers)
        scope = scoped(headers, agent)
        body = self.body(self.length(headers), LARGEST_BYTES, f"a message has at most {LARGEST_BYTES >> 20} MiB")
        stream = Stream(self, events)
        try:
            message = decode(body)
        except (ValueError, RecursionError):
            return stream.finish(400, refusal(None, PARSE_ERROR, "Parse error: the body must be one JSON value"))
        self.told = described(message)
        if stateless.is_meant(headers, message):
            return self._alone(headers, message, scope, stream)
        return self._in_session(headers, message, scope, stream)

    def _alone(self, headers: Headers, message: Any, scope: Scope, stream: Stream) -> int:
        """Answers a message of the stateless era."""
        from mcp_server.asking import Asking

        if "id" not in message:
            return stream.finish(202, None)
        try:
            stateless.check(headers, message, self.server.schemas)
        except Refused as refused:
            return stream.finish(stateless.STATUS[refused.code], refusal(message["id"], refused.code, str(refused), refused.data))
        answer: Any = self.server.dispatcher.answer(message, Peer(stream.notify, where=_where(scope, Asking())))
        status = 202 if answer is None else stateless.STATUS.get(answer["error"]["code"], 200) if "error" in answer else 200
        return stream.finish(status, answer)

    def _in_session(self, headers: Headers, message: object, scope: Scope, stream: Stream) -> int:
        """Answers a message of the handshake era."""
        version = strict.values(headers, "mcp-protocol-version")
        first = isinstance(message, dict) and message.get("method") == "initialize"
        if version and not first and (len(version) > 1 or version[0] not in HANDSHAKE):
            raise loopback.Refused(400, f"the version in MCP-Protocol-Version is not served; {', '.join(HANDSHAKE)} are")
        session = self.server.sessions.open() if first else self._found(headers)
        if session is None:
            raise loopback.Refused(503, "too many sessions are at work; try again when one has ended")
        with self.server.sessions.working(session):
            session.asking.hear(message)
            if first:
                stream.more.append((SESSION, session.name))
            scope.session = session.name
            answer = session.dispatcher.answer(message, Peer(stream.notify, _asker(session.asking, stream), _where(scope, session.asking)))
            if first and (not isinstance(answer, dict) or "error" in answer):
                self.server.sessions.end(session.name)
                stream.more.clear()
            return stream.finish(202 if answer is None else 200, answer)

    def _found(self, headers: Headers) -> Session:
        names = strict.values(headers, SESSION.lower())
        if len(names) != 1:
            raise loopback.Refused(400, f"a session begins with `initialize`, and its id is then sent in {SESSION}")
        found = self.server.sessions.find(names[0])
        if found is None:
            raise loopback.Refused(404, "there is no such session, or it has ended; begin another with `initialize`")
        return found

    def _ended(self, headers: Headers) -> int:
        self.server.sessions.end(self._found(headers).name)
        self.whole(204, [], b"")
        return 204


def foreign(headers: Headers, port: int) -> str:
    """Why a request with these headers comes from elsewhere, or from a web page; "" when it does not."""
    hosts, origins = strict.values(headers, "host"), strict.values(headers, "origin")
    if len(hosts) != 1 or not dial.is_loopback(loopback.name_of(hosts[0])):
        return f"Tenon serves this machine only: address it as {bearer.address(port)}"
    own = {f"http://{name}:{port}" for name in ("127.0.0.1", "localhost", "[::1]")}
    if any(origin.strip().lower() not in own for origin in origins):
        return "Tenon does not serve web pages of other addresses"
    return ""


def routed(target: str, headers: Headers) -> str:
    """The agent that the address or a header names, "" for the settings' one. Raises loopback.Refused for an unknown address."""
    path = loopback.path_of(target, "Tenon serves its own addresses only").partition("?")[0]
    parts = path.split("/")
    if path != "/mcp" and not (len(parts) == 4 and parts[:2] == ["", "agent"] and parts[3] == "mcp"):
        raise loopback.Refused(404, "there is /mcp here, and /agent/NAME/mcp for an agent's own memory")
    named = {parts[2]} if path != "/mcp" else set()
    named.update(value.strip() for value in strict.values(headers, AGENT.lower()))
    if len(named) > 1:
        raise loopback.Refused(400, f"the address and {AGENT} name different agents, or {AGENT} is there twice")
    try:
        return paths.agent_name(named.pop()) if named else ""
    except TenonError as error:
        raise loopback.Refused(400, str(error)) from error


def accepts(headers: Headers) -> bool:
    """Whether the client takes a stream of events. Raises loopback.Refused where what is sent or wanted is no JSON."""
    kinds = [value.partition(";")[0].strip().lower() for value in strict.values(headers, "content-type")]
    if kinds != [JSON]:
        raise loopback.Refused(415, f"a message is sent as Content-Type: {JSON}")
    wanted = {word.partition(";")[0].strip() for word in strict.tokens(headers, "accept")} or {"*/*"}
    if not wanted & {JSON, "application/*", "*/*"}:
        raise loopback.Refused(406, f"answers are {JSON} or {EVENTS}; Accept names both")
    return EVENTS in wanted


def scoped(headers: Headers, agent: str) -> Scope:
    """Where the header says that calls work; nowhere without it. Raises loopback.Refused."""
    told = strict.values(headers, REPOSITORY.lower())
    if len(told) > 1:
        raise loopback.Refused(400, f"{REPOSITORY} is there twice")
    try:
        scope = of_header(told[0]) if told else Scope()
    except TenonError as error:
        raise loopback.Refused(400, str(error)) from error
    scope.agent = agent
    return scope


def described(message: object) -> str:
    """What a message is, for the log: its method, and the tool that it calls."""
    if not isinstance(message, dict) or not isinstance(message.get("method"), str):
        return "an answer" if isinstance(message, dict) else "a batch"
    params = message.get("params")
    tool = params.get("name") if isinstance(params, dict) and message["method"] == "tools/call" else ""
    return ascii(f"{message['method']} {tool}".strip()[:100])[1:-1]


def _where(scope: Scope, asking: Asking) -> Callable[[Context], Scope]:
    def where(context: Context) -> Scope:
        return scope if scope.is_named else Scope(asking.folder(context), agent=scope.agent, session=scope.session)

    return where


def _asker(asking: Asking, stream: Stream) -> partial[dict[str, Any]]:
    from functools import partial

    return partial(asking.ask, stream.send)


def run(port: int, make: Callable[[], Dispatcher], *, new_token: bool, verbose: bool, besides: Callable[[], Callable[[], None]]) -> None:
    """Serves until it is interrupted; a port below 0 is the usual one, 0 any that is free. Raises TenonError where it cannot listen or keep a token."""

    def say(line: str) -> None:
        sys.stderr.write(line + "\n")
        sys.stderr.flush()

    for name in ("SIGINT", "SIGTERM", "SIGBREAK"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.default_int_handler)
    door = Door(bearer.PORT if port < 0 else port, make, "", say if verbose else None)
    end: Callable[[], None] | None = None
    try:
        door.token = bearer.renewed() if new_token else bearer.token()
        end = besides()
        say(f"Tenon's tools are at {bearer.address(door.port)}, for whoever knows the token in {bearer.path()}.")
        say("`tenon print-config --http` shows what a client's settings say. Ctrl-C ends it.")
        door.serve_forever(POLL_S)
    except KeyboardInterrupt:
        say("Ended.")
    finally:
        door.close()
        if end is not None:
            end()
