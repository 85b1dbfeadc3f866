"""An upstream that answers with exactly the bytes a test wants, and keeps exactly the bytes it was sent."""

from __future__ import annotations

import socket
import ssl
import threading
import time
from collections.abc import Callable
from typing import Union

Script = Union[bytes, Callable[["Visit"], None]]


class Visit:
    """One request as it came: the bytes of its head and body, and the connection to answer on.

    `number` counts the requests, `turn` those on this connection; `left_at` (monotonic seconds) is when the other end closed it.
    """

    def __init__(self, head: bytes, body: bytes, connection: socket.socket, number: int, turn: int) -> None:
        self.head = head
        self.body = body
        self.connection = connection
        self.number = number
        self.turn = turn
        self.left_at: float | None = None

    @property
    def lines(self) -> list[str]:
        """The request line and the headers."""
        return self.head.decode("latin-1").split("\r\n")

    def send(self, data: bytes) -> None:
        """Sends bytes at once."""
        self.connection.sendall(data)

    def close(self) -> None:
        """Ends the connection in good order."""
        end(self.connection)

    def wait_left(self, timeout_s: float = 5.0) -> bool:
        """Whether the other end closed the connection within the time."""
        self.connection.settimeout(timeout_s)
        try:
            gone = not self.connection.recv(1)
        except socket.timeout:
            return False
        except OSError:
            gone = True
        self.left_at = time.monotonic()
        return gone


class RawUpstream:
    """Use it as a context manager. `script` is the answer's bytes, or is called with each Visit."""

    def __init__(self, script: Script, context: ssl.SSLContext | None = None, *, reads: bool = True) -> None:
        self.script = script
        self.context = context
        self.reads = reads  # False: the body is left unread
        self.visits: list[Visit] = []
        self.connections: list[socket.socket] = []
        self.changed = threading.Condition()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self.listener.getsockname()[1])
        self.url = f"{'https' if context else 'http'}://127.0.0.1:{self.port}"
        self.thread = threading.Thread(target=self._accept, daemon=True)

    def __enter__(self) -> RawUpstream:
        self.thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        try:
            self.listener.shutdown(socket.SHUT_RDWR)  # wakes accept() on Linux; elsewhere closing does
        except OSError:
            pass
        self.listener.close()
        for connection in list(self.connections):
            end(connection)
        self.thread.join(5)

    def wait(self, found: Callable[[], bool], timeout_s: float = 5.0) -> bool:
        """Whether it came true within the time."""
        with self.changed:
            return self.changed.wait_for(found, timeout_s)

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, plain: socket.socket) -> None:
        connection = plain
        try:
            if self.context:
                connection = self.context.wrap_socket(plain, server_side=True)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.connections.append(connection)
            waiting = b""
            turn = 0
            while True:
                while b"\r\n\r\n" not in waiting:
                    data = connection.recv(65536)
                    if not data:
                        return
                    waiting += data
                head, _, waiting = waiting.partition(b"\r\n\r\n")
                size = next((int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")), 0)
                parts, have = [waiting], len(waiting)
                while self.reads and have < size:
                    data = connection.recv(1 << 20)
                    if not data:
                        return
                    parts.append(data)
                    have += len(data)
                whole = b"".join(parts)
                body, waiting = whole[:size], whole[size:]
                turn += 1
                with self.changed:
                    visit = Visit(head, body, connection, len(self.visits) + 1, turn)
                    self.visits.append(visit)
                    self.changed.notify_all()
                if isinstance(self.script, bytes):
                    connection.sendall(self.script)
                else:
                    self.script(visit)
                with self.changed:
                    self.changed.notify_all()
        except OSError:
            pass
        finally:
            connection.close()
            with self.changed:
                self.changed.notify_all()


def end(connection: socket.socket) -> None:
    """Ends a connection for both sides."""
    try:
        socket.socket.shutdown(connection, socket.SHUT_RDWR)
    except OSError:
        pass


def whole(body: bytes, *headers: str, status: str = "200 OK") -> bytes:
    """An answer with a length."""
    return "\r\n".join([f"HTTP/1.1 {status}", *headers, f"Content-Length: {len(body)}", "", ""]).encode("latin-1") + body


def chunk(data: bytes) -> bytes:
    """One chunk."""
    return b"%x\r\n%b\r\n" % (len(data), data)


CHUNKED = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
LAST = b"0\r\n\r\n"
