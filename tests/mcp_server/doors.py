"""The product's way to clients over HTTP, in this process, and raw requests to it."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from mcp_server import streamable
from mcp_server.protocol import Dispatcher

TOKEN = "0123456789abcdef" * 4
PATIENCE_S = 60.0


class Bearing(streamable.Connection):
    """A connection whose every request has the token, for a client that cannot be told one."""

    def understood(self) -> bool:
        """As it is, with one header more."""
        if not super().understood():
            return False
        self.headers["Authorization"] = f"Bearer {TOKEN}"
        return True


@contextmanager
def served(make: Callable[[], Dispatcher], *, bearing: bool = False) -> Iterator[streamable.Door]:
    """A door that answers as long as the block runs; `bearing` adds the token to what comes."""
    door = streamable.Door(0, make, TOKEN)
    if bearing:
        door.RequestHandlerClass = Bearing
    thread = threading.Thread(target=door.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield door
    finally:
        door.shutdown()
        door.close()
        thread.join()


class Answer:
    """What came back: the status, the headers (lower-case names), the body."""

    def __init__(self, data: bytes) -> None:
        head, _, self.body = data.partition(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        self.status = int(first.split(" ")[1])
        self.headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}

    @property
    def told(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)

    @property
    def events(self) -> list[Any]:
        """The messages of a stream of events."""
        return [json.loads(line[6:]) for line in self.body.split(b"\n") if line.startswith(b"data: ")]


def sent(door: streamable.Door, data: bytes) -> Answer:
    """The answer to bytes that were sent as they are."""
    with socket.create_connection(("127.0.0.1", door.port), PATIENCE_S) as client:
        client.sendall(data)
        parts = []
        while part := client.recv(65536):
            parts.append(part)
    return Answer(b"".join(parts))


def raw(door: streamable.Door, method: str = "POST", target: str = "/mcp", body: object = b"", **changed: str | None) -> bytes:
    """A request as bytes. A header given as None is left out; names have their dashes as underscores."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    headers: dict[str, str | None] = {
        "Host": f"127.0.0.1:{door.port}", "Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream", "Connection": "close", "Content-Length": str(len(data)),
    }  # fmt: skip
    headers.update({name.replace("_", "-"): value for name, value in changed.items()})
    lines = [f"{method} {target} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items() if value is not None)]
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + data


def post(door: streamable.Door, message: object, target: str = "/mcp", **headers: str | None) -> Answer:
    """The answer to a posted message."""
    return sent(door, raw(door, "POST", target, message, **headers))
