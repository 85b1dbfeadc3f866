"""A running proxy with a stand-in for the rewriter, and a client that sends exactly what it is told."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable, Mapping
from typing import Any

from tenon.proxy.server import Proxy
from tenon.wire.stream import Reader
from tenon.world import proof
from tenon.world.upstream import Upstream


class Plan:
    """A plan that notes what it is told."""

    def __init__(self, body: bytes, *, rewritten: bool = False, watch: bool = False, why: str = "plain", instead: Plan | None = None) -> None:
        self.body = body
        self.rewritten = rewritten
        self.watch = watch
        self.why = why
        self.instead = instead
        self.told: list[Any] = []
        self.over = threading.Event()

    def refused(self, status: int, answer: bytes) -> Plan | None:
        """What the test wants sent instead."""
        self.told.append(("refused", status, answer))
        return self.instead

    def answered(self, status: int, reader: Reader) -> None:
        """Noted with the message."""
        self.told.append(("answered", status, reader.complete, reader.message()))
        self.over.set()

    def abandoned(self) -> None:
        """Noted."""
        self.told.append("abandoned")
        self.over.set()


class Scripted:
    """A rewriter that asks the test; without a script it relays everything."""

    def __init__(self, script: Callable[[bytes], Plan] = Plan) -> None:
        self.script = script
        self.asked: list[tuple[str, str, dict[str, str], bytes]] = []
        self.plans: list[Plan] = []

    def sweep(self) -> None:
        """It holds nothing."""

    def close(self) -> None:
        """It holds nothing."""

    def plan(self, agent: str, target: str, headers: Mapping[str, str], raw: bytes) -> Plan:
        """The test's plan."""
        self.asked.append((agent, target, dict(headers), raw))
        self.plans.append(self.script(raw))
        return self.plans[-1]

    def status(self) -> list[dict[str, Any]]:
        """One line."""
        return [{"session": "s1", "requests": len(self.plans)}]


class Pipe:
    """A proxy in front of an upstream; a context manager."""

    def __init__(self, upstream: str, rewriter: Any = None, *, env: Mapping[str, str] | None = None, **options: Any) -> None:
        self.rewriter = rewriter or Scripted()
        self.proxy = Proxy(("127.0.0.1", 0), Upstream(upstream, env or {}), self.rewriter, **options)
        self.thread = threading.Thread(target=self.proxy.serve, daemon=True)
        self.url = self.proxy.url
        self.port = self.proxy.port

    def __enter__(self) -> Pipe:
        self.thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.proxy.stop_s = min(self.proxy.stop_s, 2.0)
        self.proxy.ask_to_stop()
        self.thread.join(10)
        assert not self.thread.is_alive()

    def ask(self, data: bytes) -> bytes:
        """Everything that comes back on a connection on which that was sent, up to its end."""
        with self.connect() as client:
            client.sendall(data)
            return drained(client)

    def connect(self) -> socket.socket:
        """A connection to it."""
        return socket.create_connection(("127.0.0.1", self.port), 10)

    def log(self) -> list[str]:
        """The lines of its log."""
        try:
            with open(self.proxy.log.path, encoding="ascii") as file:
                return file.read().splitlines()
        except FileNotFoundError:
            return []


def proven(pipe: Pipe, method: str, target: str, token: str | None = None) -> list[str]:
    """The headers of a request to the proxy's own addresses, by the token or another one."""
    told = proof.headers(pipe.proxy.token if token is None else token, proof.nonce(), pipe.port, method, target)
    return [f"{name}: {value}" for name, value in told.items()]


def drained(client: socket.socket) -> bytes:
    """What comes until the other end closes; a reset counts as an end."""
    parts = []
    try:
        while data := client.recv(65536):
            parts.append(data)
    except ConnectionResetError:
        parts.append(b"(reset)")
    return b"".join(parts)


def received(client: socket.socket, until: bytes) -> bytes:
    """What comes until those bytes have come."""
    data = b""
    while until not in data:
        more = client.recv(65536)
        assert more, data
        data += more
    return data


def unchunked(body: bytes) -> bytes:
    """The data of a body in chunks; the last chunk must be there."""
    data = b""
    while True:
        size, _, body = body.partition(b"\r\n")
        if not int(size, 16):
            assert body == b"\r\n"
            return data
        data += body[: int(size, 16)]
        body = body[int(size, 16) + 2 :]


def request(body: bytes, *headers: str, target: str = "/v1/messages", method: str = "POST", version: str = "1.1") -> bytes:
    """A request's bytes; it names a host unless the headers do."""
    lines = [f"{method} {target} HTTP/{version}"]
    if not any(header.lower().startswith("host:") for header in headers):
        lines.append("Host: 127.0.0.1:9000")
    lines += headers
    if body and not any(header.lower().startswith(("content-length:", "transfer-encoding:")) for header in headers):
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + body


def files(home: str) -> dict[str, bytes]:
    """Every file below the folder."""
    found = {}
    for folder, _, names in os.walk(home):
        for name in names:
            path = os.path.join(folder, name)
            with open(path, "rb") as file:
                found[path] = file.read()
    return found
