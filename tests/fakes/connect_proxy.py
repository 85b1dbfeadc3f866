"""A company's proxy on loopback: it opens tunnels by CONNECT, for those who know its password, and keeps a list of them."""

from __future__ import annotations

import base64
import socket
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class ConnectProxy:
    """Use it as a context manager. `ways` maps «host:port» as asked for to the loopback port that stands in for it."""

    def __init__(self, ways: Mapping[str, int], credentials: str = "") -> None:
        self.ways = dict(ways)
        self.wanted = "Basic " + base64.b64encode(credentials.encode()).decode() if credentials else ""
        self.asked: list[str] = []
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), type("Tunnel", (_Tunnel,), {"proxy": self}))
        self.server.daemon_threads = True
        self.server.block_on_close = False
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True)

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self.server.server_address[1])

    def __enter__(self) -> ConnectProxy:
        self.thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


class _Tunnel(BaseHTTPRequestHandler):
    """One connection to it."""

    proxy: ConnectProxy
    protocol_version = "HTTP/1.1"

    def do_CONNECT(self) -> None:
        """Opens the tunnel, or says why not."""
        self.close_connection = True
        self.proxy.asked.append(self.path)
        if self.proxy.wanted and self.headers.get("proxy-authorization") != self.proxy.wanted:
            self.send_response(407, "Proxy Authentication Required")
            self.send_header("Proxy-Authenticate", 'Basic realm="company"')
            self.end_headers()
            return
        port = self.proxy.ways.get(self.path)
        if port is None:
            self.send_response(403, "Forbidden")
            self.end_headers()
            return
        with socket.create_connection(("127.0.0.1", port)) as far:
            self.send_response(200, "Connection established")
            self.end_headers()
            back = threading.Thread(target=_pour, args=(far, self.connection), daemon=True)
            back.start()
            _pour(self.connection, far)
            back.join()

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing on stderr."""


def _pour(source: socket.socket, target: socket.socket) -> None:
    """Copies until the source ends, then ends the target."""
    try:
        while data := source.recv(65536):
            target.sendall(data)
    except OSError:
        pass
    try:
        target.shutdown(socket.SHUT_WR)
    except OSError:
        pass
