"""One exchange with the upstream that another thread may give up: whatever socket it holds then is shut."""

from __future__ import annotations

import socket
import threading


class Abandoned(Exception):
    """Nobody waits for the answer any more."""


class Call:
    """What is going on for one request; `gone` once it was given up."""

    __slots__ = ("gone", "_lock", "_socket")

    def __init__(self) -> None:
        self.gone = False
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None

    def hold(self, connection: socket.socket) -> None:
        """From now on that is the connection to shut. Raises Abandoned when it is too late."""
        with self._lock:
            if self.gone:
                raise Abandoned
            self._socket = connection

    def let_go(self) -> None:
        """The connection is no longer this exchange's own."""
        with self._lock:
            self._socket = None

    def abandon(self) -> None:
        """Gives up: a thread that waits on the connection wakes, and the upstream sees it end."""
        with self._lock:
            self.gone = True
            if self._socket is not None:
                shut(self._socket)


def shut(connection: socket.socket) -> None:
    """Ends both directions of a connection that another thread may be waiting on."""
    try:
        # Not the method of SSLSocket: that takes the encryption from under the thread that reads.
        socket.socket.shutdown(connection, socket.SHUT_RDWR)
    except OSError:
        pass  # it is closed already
