"""The proxy as a whole: it listens on this machine, serves each connection in a thread of its own, and ends in good order."""

from __future__ import annotations

import json
import os
import selectors
import signal
import socket
import sys
import threading
import time
from collections import deque
from contextlib import contextmanager

import tenon
from tenon.base import paths, settings
from tenon.base.errors import TenonError
from tenon.proxy import hangup, record
from tenon.proxy.handler import Handler
from tenon.world import claude_settings, dial
from tenon.world.call import shut
from tenon.world.upstream import Upstream, resolve

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    from tenon.proxy.pipe import Rewriter

HOST = "127.0.0.1"
HEARTBEAT_S = 2.0
STOP_S = 30.0  # how long streams may go on after the proxy was asked to stop
SHOWN_ERRORS = 20
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(tenon.__file__))))


class Proxy:
    """A proxy on `address`, in front of `upstream`; `rewriter` has plan() and status().

    It listens from the start; `serve` returns when it was asked to stop and what was going on has ended, after
    `stop_s` seconds at the latest. `agent` gives the agent of requests that do not name one, "" to relay them as they
    are. The state file tells other programs of this user where the proxy is; its time is the heartbeat. Raises
    TenonError when the port is taken.
    """

    def __init__(
        self,
        address: tuple[str, int],
        upstream: Upstream,
        rewriter: Rewriter,
        *,
        agent: Callable[[], str] | None = None,
        state_path: str = "",
        log_path: str = "",
        stop_s: float = STOP_S,
    ) -> None:
        self.upstream = upstream
        self.rewriter = rewriter
        self.agent = agent or settings_agent
        self.state_path = state_path or os.path.join(paths.home(), "proxy.json")
        self.stop_s = stop_s
        self.token = os.urandom(24).hex()
        self.started = time.time()
        self.requests = 0
        self.in_flight = 0
        self.stopping = False
        self.errors: deque[dict[str, Any]] = deque(maxlen=SHOWN_ERRORS)
        self._changed = threading.Condition()
        self._handlers: set[Handler] = set()
        self._mark: tuple[int, int] | None = None  # which file the state file is
        self._listener = listen(address)
        self.port = int(self._listener.getsockname()[1])
        if dial.is_loopback(upstream.place.host) and upstream.place.port == self.port:
            self._listener.close()
            raise TenonError(f"the upstream {upstream.masked} is this proxy itself; name another with `tenon config upstream URL`, or --unset it")
        self.log = record.Log(log_path)
        self.watch = hangup.Watch()
        self._wake, self._woken = socket.socketpair()
        self._wake.setblocking(False)
        for doubt in upstream.doubts:
            self.report(doubt)

    @property
    def url(self) -> str:
        """The address for clients."""
        return f"http://{HOST}:{self.port}"

    def serve(self) -> None:
        """Serves until `ask_to_stop`; then ends in good order."""
        try:
            self._write_state()
            self._accept()
        finally:
            self._end()

    def ask_to_stop(self) -> None:
        """Makes `serve` end. Safe in a signal handler and from any thread."""
        self.stopping = True
        try:
            self._wake.send(b"!")
        except OSError:
            pass  # it wakes already, or has ended

    def identity(self) -> dict[str, Any]:
        """Which proxy this is, as plain data without any secret."""
        return {
            "version": tenon.__version__, "pid": os.getpid(), "port": self.port, "root": ROOT, "upstream": self.upstream.masked, "started": self.started,
        }  # fmt: skip

    def report(self, sentence: str) -> None:
        """Keeps an error for the status."""
        self.errors.append({"at": time.time(), "what": sentence})

    @contextmanager
    def relaying(self) -> Iterator[None]:
        """Counts a request as in flight meanwhile."""
        with self._changed:
            self.requests += 1
            self.in_flight += 1
        try:
            yield
        finally:
            with self._changed:
                self.in_flight -= 1

    def busy(self, handler: Handler) -> None:
        """The handler has a request."""
        with self._changed:
            handler.idle = False

    def rest(self, handler: Handler) -> bool:
        """The handler has none; False when it should not wait for another."""
        with self._changed:
            handler.idle = True
            self._changed.notify_all()
            return not self.stopping

    def leave(self, handler: Handler) -> None:
        """The handler's connection has ended."""
        with self._changed:
            self._handlers.discard(handler)
            self._changed.notify_all()

    def _accept(self) -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(self._listener, selectors.EVENT_READ)
            selector.register(self._woken, selectors.EVENT_READ)
            beat = time.monotonic()
            while not self.stopping:
                ready = [key.fileobj for key, _ in selector.select(max(0.0, beat + HEARTBEAT_S - time.monotonic()))]
                if self._listener in ready:
                    self._welcome()
                if time.monotonic() >= beat + HEARTBEAT_S:
                    beat = time.monotonic()
                    self._beat()

    def _welcome(self) -> None:
        try:
            client, _ = self._listener.accept()
        except OSError:
            return  # it left again, or there are too many files open: those who have a connection keep it
        client.setblocking(True)
        handler = Handler(self, client)
        with self._changed:
            self._handlers.add(handler)
        try:
            threading.Thread(target=handler.run, name="tenon-proxy", daemon=True).start()
        except RuntimeError:  # no more threads
            client.close()
            self.leave(handler)
            self.report("a connection was refused: this system gives the proxy no more threads")

    def _beat(self) -> None:
        """Shows that the proxy is alive; stops it when Tenon's home is gone."""
        self.upstream.sweep()
        try:
            if self._is_ours():
                os.utime(self.state_path)
        except FileNotFoundError:
            if not os.path.isdir(os.path.dirname(self.state_path)):
                self.ask_to_stop()
                return
            try:
                self._write_state()
            except TenonError as error:
                self.report(str(error))
        except OSError:
            pass  # the disk's trouble is not the proxy's

    def _end(self) -> None:
        self.stopping = True
        self._listener.close()
        try:
            if self._is_ours():
                os.remove(self.state_path)
        except OSError:
            pass
        with self._changed:
            for handler in self._handlers:
                if handler.idle:
                    shut(handler.client)
            self._changed.wait_for(lambda: not self._handlers, self.stop_s)
            left = list(self._handlers)
        for handler in left:
            handler.stop()
        with self._changed:
            self._changed.wait_for(lambda: not self._handlers, 1.0)
        self.watch.stop()
        self.upstream.close()
        self._wake.close()
        self._woken.close()

    def _is_ours(self) -> bool:
        found = os.stat(self.state_path)
        return (found.st_ino, found.st_dev) == self._mark

    def _write_state(self) -> None:
        """Writes the state file whole, for its owner only. Raises TenonError where that cannot be."""
        folder = os.path.dirname(self.state_path)
        paths.make_private(folder)
        temporary = f"{self.state_path}.{os.getpid()}"
        try:
            with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
                json.dump({**self.identity(), "token": self.token}, file)
                found = os.fstat(file.fileno())
            self._mark = (found.st_ino, found.st_dev)
            os.replace(temporary, self.state_path)
        except OSError as error:
            raise TenonError(f"{self.state_path} cannot be written ({error.strerror}): make room there or set TENON_HOME to another folder") from error


def listen(address: tuple[str, int]) -> socket.socket:
    """A listening socket that nobody shares. Raises TenonError when the port is taken."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        if sys.platform == "win32":
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_EXCLUSIVEADDRUSE, 1)  # there SO_REUSEADDR would share it
        else:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # connections that have just ended do not block the port
        listener.bind(address)
        listener.listen(256)
        listener.setblocking(False)
    except (OSError, OverflowError) as error:
        listener.close()
        said = getattr(error, "strerror", None) or str(error)
        raise TenonError(
            f"port {address[1]} of this machine cannot be used ({said}): end the program that has it, or `tenon config proxy.port` another"
        ) from error
    return listener


def settings_agent() -> str:
    """The agent that the settings name; "" when what they name cannot be one."""
    try:
        return paths.agent_name(settings.load().text("agent"))
    except TenonError:
        return ""


def run(arguments: Sequence[str]) -> int:
    """The exit code of the process that is the proxy, after it was stopped."""
    try:
        chosen = settings.load()
        port = _port(arguments, int(chosen.number("proxy.port")))
        from tenon.proxy.rewriter import Rewriter

        user_settings = claude_settings.read(os.path.join(paths.claude_home(), "settings.json"))
        proxy = Proxy((HOST, port), Upstream(resolve(chosen, os.environ, user_settings), os.environ), Rewriter())
        for name in ("SIGTERM", "SIGINT", "SIGBREAK"):
            if hasattr(signal, name):
                signal.signal(getattr(signal, name), lambda *_: proxy.ask_to_stop())
        proxy.serve()
    except TenonError as error:
        sys.stderr.write(f"tenon proxy: {error}\n")
        return 1
    return 0


def _port(arguments: Sequence[str], chosen: int) -> int:
    """The port that is asked for. Raises TenonError."""
    if not arguments:
        return chosen
    if len(arguments) == 2 and arguments[0] == "--port" and arguments[1].isdigit() and int(arguments[1]) < 65536:
        return int(arguments[1])
    raise TenonError("the one argument is --port with a number below 65536")
