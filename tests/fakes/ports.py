"""Ports of this machine for a test: one that is free, and a program that is not Tenon's on one."""

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
                    client.recv(65536)
                    client.sendall(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
                except OSError:
                    pass  # it left
