"""The proxy as a whole: it listens on this machine, serves each connection in a thread of its own, and ends in good order."""

from __future__ import annotations

import gc
import json
import os
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
from tenon.world import claude_settings, dial, strict
from tenon.world.call import shut
from tenon.world.loopback import HOST, Server
from tenon.world.upstream import Upstream, resolve

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    from tenon.dashboard.answers import Dashboard
    from tenon.proxy.pipe import Rewriter

HEARTBEAT_S = 2.0
STOP_S = 30.0  # how long streams may go on after the proxy was asked to stop
SHOWN_ERRORS = 20
STACK_BYTES = 8 << 20  # of a thread: Python 3.13.0 ends the process when deep JSON meets the small stacks of some systems
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(tenon.__file__))))


class Stopped(Exception):
    """The proxy was asked to stop."""


class Proxy(Server):
    """A proxy on `address`, in front of `upstream`; `rewriter` has plan() and status().

    It listens from the start; `serve` returns when it was asked to stop and what was going on has ended, after
    `stop_s` seconds at the latest. `agent` gives the agent of requests that do not name one, "" to relay them as they
    are. The state file tells other programs of this user where the proxy is; its time is the heartbeat. Raises
    TenonError when the port is taken.
    """

    most = 512  # sessions, their sub-agents and their tools

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
        digest: bool = True,
    ) -> None:
        self.upstream = upstream
        self.rewriter = rewriter
        self.agent = agent or settings_agent
        self.state_path = state_path or os.path.join(paths.home(), "proxy.json")
        self.stop_s = stop_s
        self.digest = digest
        self.token = os.urandom(24).hex()
        self.started = time.time()
        self.requests = 0
        self.in_flight = 0
        self.stopping = False
        self.errors: deque[dict[str, Any]] = deque(maxlen=SHOWN_ERRORS)
        self._changed = threading.Condition()
        self._handlers: set[Handler] = set()
        self._mark: tuple[int, int] | None = None  # which file the state file is
        self._beaten = time.monotonic()
        self._making = threading.Lock()
        self._dashboard: Dashboard | None = None
        try:
            super().__init__(address, Handler)
        except (OSError, OverflowError) as error:
            said = getattr(error, "strerror", None) or str(error)
            raise TenonError(
                f"port {address[1]} of this machine cannot be used ({said}): end the program that has it, or `tenon config proxy.port` another"
            ) from error
        self.port = int(self.server_address[1])
        if dial.is_loopback(upstream.place.host) and upstream.place.port == self.port:
            self.server_close()
            raise TenonError(f"the upstream {upstream.masked} is this proxy itself; name another with `tenon config upstream URL`, or --unset it")
        threading.stack_size(STACK_BYTES)
        self.log = record.Log(log_path)
        self.watch = hangup.Watch()
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
            self.serve_forever(HEARTBEAT_S)
        except Stopped:
            pass
        finally:
            self._end()

    def ask_to_stop(self) -> None:
        """Makes `serve` end. Safe in a signal handler and from any thread, which the library's shutdown is not."""
        self.stopping = True
        try:
            with socket.socket() as bell:  # a connection wakes it, and is not served
                bell.settimeout(0.1)
                bell.connect(self.server_address)
        except OSError:
            pass  # it has ended, or wakes with the next heartbeat

    def verify_request(self, request: object, client_address: object) -> bool:
        """Whether a new connection is taken."""
        return not self.stopping and super().verify_request(request, client_address)

    def handle_error(self, request: object, client_address: object) -> None:
        """Notes why a connection was given up, unless its client is gone: one connection does not end the others."""
        error = sys.exc_info()[1]
        if error is None or isinstance(error, (OSError, strict.Torn)):
            return
        record.fault(error, "a connection was given up")
        self.report("a connection was given up; `tenon doctor` shows the fault")

    def service_actions(self) -> None:
        """Ends the loop when asked to, and keeps the heart beating. Raises Stopped."""
        if self.stopping:
            raise Stopped
        if time.monotonic() >= self._beaten + HEARTBEAT_S:
            self._beaten = time.monotonic()
            self._beat()

    def identity(self) -> dict[str, Any]:
        """Which proxy this is, as plain data without any secret."""
        told = {
            "version": tenon.__version__, "pid": os.getpid(), "port": self.port, "root": ROOT, "upstream": self.upstream.masked, "started": self.started,
        }  # fmt: skip
        return told if self.digest else {**told, "no_digest": True}

    def dashboard(self) -> Dashboard:
        """The pages, made when somebody first looks; they only show."""
        from tenon.dashboard.answers import Dashboard
        from tenon.dashboard.door import Door

        with self._making:
            if self._dashboard is None:
                self._dashboard = Dashboard(Door(self.port), self.agent)
            return self._dashboard

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

    def enter(self, handler: Handler) -> None:
        """The handler has a connection."""
        with self._changed:
            self._handlers.add(handler)

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

    def _beat(self) -> None:
        """Shows that the proxy is alive; stops it when Tenon's home is gone."""
        self.upstream.sweep()
        self.rewriter.sweep()
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
        self.server_close()
        try:
            if self._is_ours():
                os.remove(self.state_path)
        except OSError:
            pass
        with self._changed:
            for handler in self._handlers:
                if handler.idle:
                    shut(handler.connection)
            self._changed.wait_for(lambda: not self._handlers, self.stop_s)
            left = list(self._handlers)
        for handler in left:
            handler.stop()
        with self._changed:
            self._changed.wait_for(lambda: not self._handlers, 1.0)
        self.watch.stop()
        self.upstream.close()
        self.rewriter.close()

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


def settings_agent() -> str:
    """The agent that the settings name; "" when what they name cannot be one."""
    try:
        return paths.agent_name(settings.load().text("agent"))
    except TenonError:
        return ""


def run(arguments: Sequence[str]) -> int:
    """The exit code of the process that is the proxy, after it was stopped."""
    # The objects of a large request are many and in no circle: looking for circles among them cost a third of the time of a plan.
    gc.set_threshold(100_000, 50, 50)
    try:
        chosen = settings.load()
        given = _given(arguments)
        from tenon.proxy.rewriter import Rewriter

        user_settings = claude_settings.read(os.path.join(paths.claude_home(), "settings.json"))
        upstream = Upstream(resolve(chosen, os.environ, user_settings), os.environ)
        digest = "--no-digest" not in given and not os.environ.get("TENON_NO_DIGEST")
        proxy = Proxy(
            (HOST, given.get("--port", int(chosen.number("proxy.port")))), upstream, Rewriter(max_context=given.get("--max-context", 0)), digest=digest
        )  # fmt: skip
        for name in ("SIGTERM", "SIGINT", "SIGBREAK"):
            if hasattr(signal, name):
                signal.signal(getattr(signal, name), lambda *_: proxy.ask_to_stop())
        proxy.serve()
    except TenonError as error:
        sys.stderr.write(f"tenon proxy: {error}\n")
        return 1
    return 0


def _given(arguments: Sequence[str]) -> dict[str, int]:
    """What the arguments say, by name. Raises TenonError."""
    found: dict[str, int] = {}
    words = iter(arguments)
    for name in words:
        if name == "--no-digest":
            found[name] = 1
            continue
        number = next(words, "")
        if name not in {"--port", "--max-context"} or not number.isdigit() or (name == "--port" and int(number) > 65535):
            raise TenonError("besides --max-context with a number and --no-digest the one argument is --port with a number below 65536")
        found[name] = int(number)
    return found
