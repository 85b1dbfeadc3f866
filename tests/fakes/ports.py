"""Ports of this machine for a test: one that is free, and programs that are not Tenon's on one."""

from __future__ import annotations

import socket
import threading


def free() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Stranger:
    """A program that has the port and answers every request with 404; a context manager."""

    def __init__(self, port: int = 0) -> None:
        self.listener = socket.socket()
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.listener.bind(("127.0.0.1", port))
        self.listener.listen()
        self.port = int(self.listener.getsockname()[1])
        self.thread = threading.Thread(target=self._serve, daemon=True)

    def __enter__(self) -> Stranger:
        self.thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        try:
            self.listener.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass  # not everywhere can a listener be shut down; closing it does
        self.listener.close()
        self.thread.join(5)

    def _serve(self) -> None:
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            with client:
                try:
                    self.answer(client)
                except OSError:
                    pass  # it left

    def answer(self, client: socket.socket) -> None:
        """What it says."""
        client.recv(65536)
        client.sendall(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")


class Thief(Stranger):
    """A program that took the port of a proxy that died and answers everything as that would, but for the proof; `heard` is what it was sent."""

    def __init__(self, port: int = 0, *more: str) -> None:
        super().__init__(port)
        self.heard: list[bytes] = []
        self.more = more

    def answer(self, client: socket.socket) -> None:
        """A status of nothing, with more headers."""
        self.heard.append(client.recv(65536))
        lines = ["HTTP/1.1 200 OK", "Content-Type: application/json", "Content-Length: 2", *self.more, "Connection: close", "", ""]
        client.sendall("\r\n".join(lines).encode("ascii") + b"{}")
