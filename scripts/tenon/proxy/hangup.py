"""Clients that hang up: one thread watches the sockets of all requests in flight and tells whoever serves them."""

from __future__ import annotations

import select
import selectors
import socket
import threading
from collections import deque

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

AGAIN_S = 0.5  # when a client is looked at anew that has sent its next request early
_AT_ONCE = getattr(socket, "MSG_DONTWAIT", 0)


class Watch:
    """Watches client sockets. While a socket is watched nobody else may read from it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._watched: dict[int, tuple[socket.socket, Callable[[], None]]] = {}
        self._changed: deque[int] = deque()
        self._selector = selectors.DefaultSelector()
        self._wake, self._woken = socket.socketpair()
        self._wake.setblocking(False)
        self._woken.setblocking(False)
        self._selector.register(self._woken, selectors.EVENT_READ)
        self._stopped = False
        self._thread = threading.Thread(target=self._run, name="tenon-hangup", daemon=True)
        self._thread.start()

    def add(self, client: socket.socket, gone: Callable[[], None]) -> None:
        """From now on `gone` is called, once and in another thread, when the client hangs up."""
        number = client.fileno()
        with self._lock:
            self._watched[number] = (client, gone)
            self._changed.append(number)
        self._ring()

    def remove(self, client: socket.socket) -> None:
        """Ends the watch; when this returns, the socket may be read again."""
        with self._lock:
            self._watched.pop(client.fileno(), None)

    def stop(self) -> None:
        """Ends the thread."""
        self._stopped = True
        self._ring()
        self._thread.join()
        self._selector.close()
        self._wake.close()
        self._woken.close()

    def _ring(self) -> None:
        try:
            self._wake.send(b"!")
        except OSError:
            pass  # the pipe is full: it wakes anyway

    def _run(self) -> None:
        early: list[int] = []
        while not self._stopped:
            try:
                events = self._selector.select(AGAIN_S if early else None)
            except OSError:
                events = []  # a socket was closed under the selector, where that is an error
                self._forget_closed()
            if not events:
                self._changed.extend(early)
                early = []
            for key, _ in events:
                if key.fileobj is self._woken:
                    self._woken.recv(4096)
                elif self._look(key.fd):
                    early.append(key.fd)
            while self._changed:
                self._register(self._changed.popleft())

    def _register(self, number: int) -> None:
        """Makes the selector hold the socket of that number anew: the number may have been another's before."""
        self._unregister(number)
        with self._lock:
            if number in self._watched:
                try:
                    self._selector.register(number, selectors.EVENT_READ)
                except (OSError, ValueError, KeyError):
                    self._watched.pop(number, None)  # closed already

    def _unregister(self, number: int) -> None:
        try:
            self._selector.unregister(number)
        except (OSError, ValueError, KeyError):
            pass  # it was not there, or was closed

    def _forget_closed(self) -> None:
        with self._lock:
            left = set(self._watched)
        for key in list(self._selector.get_map().values()):
            if key.fd not in left and key.fileobj is not self._woken:
                self._unregister(key.fd)

    def _look(self, number: int) -> bool:
        """Whether the client is still there and has sent something early; it is not looked at again before AGAIN_S."""
        gone = None
        early = False
        with self._lock:  # the socket is not read by its thread as long as this is held
            entry = self._watched.get(number)
            if entry is not None:
                state = _state(entry[0])
                if state == "quiet":
                    return False
                early = state == "early"
                if not early:
                    gone = entry[1]
                    del self._watched[number]
        self._unregister(number)
        if gone is not None:
            gone()
        return early


def _state(client: socket.socket) -> str:
    """The state of a socket that has something to say: gone, early, or quiet after all."""
    try:
        if not _AT_ONCE and not select.select([client], [], [], 0)[0]:
            return "quiet"
        return "early" if client.recv(1, socket.MSG_PEEK | _AT_ONCE) else "gone"
    except (BlockingIOError, InterruptedError):
        return "quiet"
    except (OSError, ValueError):
        return "gone"
