"""The proxy as a process of its own: whether it runs, how it is started so that it outlives its starter, and how it is stopped.

The process writes TENON_HOME/proxy.json when it listens; the file's time is its heartbeat. That it really answers is
asked over its port, and believed when the answer proves that whoever gave it knows the token in that file. The token is
not sent: a program that took the port of a proxy that died learns nothing from being asked.
"""

from __future__ import annotations

import os
import socket
import sys
import time

import tenon
from tenon.base import paths, settings
from tenon.base.errors import TenonError
from tenon.base.lean import parse
from tenon.world import detached, peer, processes, proof

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from subprocess import Popen
    from typing import Any

START_S = 3.0
STOP_S = 5.0
ASK_S = 0.5
SETTLE_S = 0.6  # for one that another session has just started to say who it is
POLL_S = 0.03
STALE_S = 10.0
LONGEST_ANSWER = 1 << 20
TAIL_BYTES = 4000
# What a session of Claude Code knows and its proxy has no use for: addresses, credentials, whose child it is, and one agent, as it serves them all.
FOREIGN = ("ANTHROPIC_", "CLAUDE_CODE_", "CLAUDE_ENV_FILE", "CLAUDE_PROJECT_DIR", "CLAUDE_PLUGIN_", "CLAUDECODE", "AI_AGENT", "TENON_INSIDE", "TENON_AGENT")


class State:
    """A proxy as it describes itself; `told` is its own answer, {} when it was not asked."""

    __slots__ = ("port", "pid", "token", "version", "root", "upstream", "started", "told")

    def __init__(self, port: int, pid: int, token: str, version: str, root: str, upstream: str, started: float) -> None:
        self.port = port
        self.pid = pid
        self.token = token
        self.version = version
        self.root = root
        self.upstream = upstream
        self.started = started
        self.told: dict[str, Any] = {}

    @property
    def url(self) -> str:
        """Where it listens."""
        return address(self.port)

    @property
    def busy(self) -> int:
        """How many requests are on their way through it."""
        count = self.told.get("in_flight")
        return count if isinstance(count, int) else 0


def address(port: int) -> str:
    """The base URL of a proxy on that port."""
    return f"http://127.0.0.1:{port}"


def state_path() -> str:
    """The file in which the proxy says where it is."""
    return os.path.join(paths.home(), "proxy.json")


def log_path() -> str:
    """Where the proxy writes a line for each request, and its last words."""
    return os.path.join(paths.home(), "proxy.log")


def recorded() -> State | None:
    """The proxy that wrote the file, alive or not; None when there is no such file or it is not whole."""
    try:
        with open(state_path(), encoding="utf-8") as file:
            found = parse(file.read(), whole=True)
        if not isinstance(found, dict):
            return None
        return State(
            int(found["port"]), int(found["pid"]), str(found["token"]), str(found["version"]), str(found["root"]), str(found["upstream"]), float(found["started"])
        )  # fmt: skip
    except (OSError, ValueError, OverflowError, KeyError, TypeError):
        return None


def running(wait_s: float = ASK_S) -> State | None:
    """The proxy that answers now and proves that it is the one, or None."""
    state = recorded()
    if state is None or processes.is_gone(state.pid) or peer.is_taken_by_another(state.port):
        return None
    answer = _asked(state, "GET", "/_tenon/status", wait_s)
    if answer is None:
        return None
    told = parse(answer.decode("utf-8", "replace"))
    state.told = told if isinstance(told, dict) else {}
    return state


def link(wait_s: float = ASK_S) -> str:
    """An address that opens the dashboard of the proxy once; "" when none runs, or it has none."""
    state = running(wait_s)
    answer = None if state is None else _asked(state, "POST", "/_tenon/dashboard", wait_s)
    told = None if answer is None else parse(answer.decode("utf-8", "replace"))
    found = told.get("link") if isinstance(told, dict) else None
    return found if state is not None and isinstance(found, str) and found.startswith(f"{state.url}/_dashboard/") else ""


def start(port: int = 0, *, max_context: int = 0, upstream: str = "", wait_s: float = START_S) -> State:
    """The proxy that runs, started when there was none; what is not given comes from the settings.

    What is given holds for that process: it finds it in its environment, which goes before settings.json.
    One that runs already is left as it is, whatever its port, unless it is of an older version and idle.
    Raises TenonError with the way out when it cannot run.
    """
    found = running()
    if found is not None and not (is_outdated(found) and not found.busy):
        return found
    if found is not None:
        stop()
    port = port or int(settings.load().number("proxy.port"))
    if is_taken(port):
        found = _settled(time.monotonic() + SETTLE_S)
        if found is not None:
            return found
        raise taken(port)
    paths.make_private(paths.home())
    command = [sys.executable or "python3", "-I", "-S", _entry(), "--port", str(port)]
    env = environment(os.environ, upstream)
    if max_context:
        env["TENON_PROXY_MAX_CONTEXT"] = str(max_context)
    before = _size(log_path())
    try:
        process = detached.spawn(command, env, log_path())
    except OSError as error:
        raise TenonError(f"the proxy cannot be started ({error.strerror}); `tenon doctor` checks what it needs") from error
    return _awaited(process, before, wait_s)


def stop(wait_s: float = STOP_S) -> State | None:
    """The proxy that was asked to end and did, or None when none ran; another program on its port is none. Raises TenonError when it goes on."""
    state = running()
    if state is None:
        left = recorded()
        if left is not None and is_beating() and not processes.is_gone(left.pid) and is_taken(left.port):
            raise TenonError(f"the proxy (process {left.pid}) is there and does not answer; end that process, then try again")
        return None
    _asked(state, "POST", "/_tenon/stop", wait_s)
    end = time.monotonic() + wait_s
    while time.monotonic() < end:
        left = recorded()
        if left is None or left.token != state.token or not is_taken(state.port):  # the port may be another's by now
            return state
        time.sleep(POLL_S)
    raise TenonError(f"the proxy (process {state.pid}) has not ended within {wait_s:g} s; it may still be busy: try again")


def is_outdated(state: State) -> bool:
    """Whether the proxy is of an older version, or of a copy of the plugin that is gone."""
    return _numbers(state.version) < _numbers(tenon.__version__) or not os.path.isdir(state.root)


def is_beating(now: float | None = None) -> bool:
    """Whether the proxy's file was touched lately."""
    try:
        return (time.time() if now is None else now) - os.stat(state_path()).st_mtime <= STALE_S
    except OSError:
        return False


def is_taken(port: int) -> bool:
    """Whether some program listens on the port of this machine."""
    try:
        with socket.create_connection(("127.0.0.1", port), ASK_S):
            return True
    except OSError:
        return False


def taken(port: int) -> TenonError:
    """The sentence for a port that another program has, with the way out."""
    left = recorded()
    posing = ", which does not prove that it is Tenon's proxy" if left is not None and left.port == port else ""
    return TenonError(f"port {port} is used by another program{posing}; end that one, or choose another port with `tenon config proxy.port {port + 1}`")


def environment(given: Mapping[str, str], upstream: str = "") -> dict[str, str]:
    """The environment of the proxy: the starter's without Claude Code's own addresses, credentials, session and agent."""
    kept = {name: value for name, value in given.items() if not name.upper().startswith(FOREIGN)}
    if upstream:
        kept["TENON_UPSTREAM"] = upstream
    return kept


def _entry() -> str:
    return os.path.join(os.path.dirname(os.path.abspath(tenon.__file__)), "proxy", "__main__.py")


def _awaited(process: Popen[bytes], before: int, wait_s: float) -> State:
    """The proxy as soon as one answers: this process, or one that another starter was faster with."""
    end = time.monotonic() + wait_s
    while True:
        found = running()
        if found is not None:
            break
        code = process.poll()
        if code is not None:
            found = _settled(min(end, time.monotonic() + SETTLE_S))
            if found is not None:
                break
            said = _last_words(before)
            raise TenonError(f"the proxy ended at once (exit {code}{': ' + said if said else ''}); {log_path()} has more")
        if time.monotonic() >= end:
            process.returncode = 0
            raise TenonError(f"the proxy did not answer within {wait_s:g} s; {log_path()} may say why")
        time.sleep(POLL_S)
    if process.returncode is None:
        process.returncode = 0  # nobody waits for it: it outlives this process
    return found


def _settled(end: float) -> State | None:
    while True:
        found = running()
        if found is not None or time.monotonic() >= end:
            return found
        time.sleep(POLL_S)


def _asked(state: State, method: str, target: str, wait_s: float) -> bytes | None:
    """What the proxy itself says; None when there is no answer in time, or one without the right proof."""
    end = time.monotonic() + wait_s
    once, data = proof.nonce(), b""
    lines = [f"{method} {target} HTTP/1.1", f"Host: 127.0.0.1:{state.port}", "Content-Length: 0", "Connection: close"]
    lines += [f"{name}: {told}" for name, told in proof.headers(state.token, once, state.port, method, target).items()]
    try:
        with socket.create_connection(("127.0.0.1", state.port), wait_s) as door:
            door.sendall("\r\n".join([*lines, "", ""]).encode("ascii"))
            while len(data) < LONGEST_ANSWER and time.monotonic() < end:
                door.settimeout(max(0.001, end - time.monotonic()))
                chunk = door.recv(1 << 16)
                if not chunk:
                    break
                data += chunk
    except (OSError, ValueError):
        return None
    head, _, body = data.partition(b"\r\n\r\n")
    first, *told = head.decode("latin-1").split("\r\n")
    given = [value.strip() for name, _, value in (line.partition(":") for line in told) if name.lower() == proof.PROOF.lower()]
    proven = len(given) == 1 and proof.is_same(given[0], proof.answered(state.token, once))
    return body if proven and first.split(" ")[1:2] == ["200"] else None


def _numbers(version: str) -> list[int]:
    return [int(part) if part.isdigit() else 0 for part in version.split(".")]


def _size(path: str) -> int:
    try:
        return os.path.getsize(path)
    except OSError:
        return 0


def _last_words(before: int) -> str:
    """The last line that was written to the log since then, made harmless to show."""
    from tenon.base.redact import redact

    try:
        with open(log_path(), "rb") as file:
            file.seek(max(before, _size(log_path()) - TAIL_BYTES))
            said = file.read().decode("utf-8", "replace").split("\n")
    except OSError:
        return ""
    lines = [line.strip() for line in said if line.strip()]
    return redact(lines[-1])[:200] if lines else ""
