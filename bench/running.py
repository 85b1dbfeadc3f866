"""The proxy as its user has it: a process of its own, on a home of its own, with an upstream of the benchmark's choice."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from contextlib import contextmanager

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from bench.client import Block

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ENTRY = os.path.join(ROOT, "scripts", "tenon", "proxy", "__main__.py")
START_S = 10.0
DAY = 86_400.0
LAST_NIGHT = 1_795_900_000.0  # seconds; the evening before the sessions that are measured


class Running:
    """A proxy that listens."""

    def __init__(self, url: str, process: subprocess.Popen[bytes]) -> None:
        self.url = url
        self.process = process

    def resident_bytes(self) -> int:
        """What it holds in memory now."""
        try:
            with open(f"/proc/{self.process.pid}/status", encoding="ascii") as file:
                return next(int(line.split()[1]) * 1024 for line in file if line.startswith("VmRSS"))
        except FileNotFoundError:
            told = subprocess.run(["ps", "-o", "rss=", "-p", str(self.process.pid)], capture_output=True, text=True, check=True)
            return int(told.stdout) * 1024

    def cpu_s(self) -> float:
        """Processor seconds that it has used so far, in hundredths; 0 where the system does not tell."""
        try:
            with open(f"/proc/{self.process.pid}/stat", encoding="ascii", errors="replace") as file:
                fields = file.read().rpartition(")")[2].split()
        except FileNotFoundError:
            return 0.0
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def proxy(home: str, upstream: str, **chosen: object) -> Iterator[Running]:
    """A proxy in front of `upstream`; `chosen` are settings, with two underscores for a dot. Raises RuntimeError when none comes up.

    What hooks put in front of a prompt is off: it costs the same with the proxy and without.
    """
    told = {"inject__session": False, "inject__prompt": False, **chosen}
    env = {
        "HOME": home, "USERPROFILE": home, "PATH": os.environ["PATH"], "TENON_HOME": os.path.join(home, "tenon"), "TENON_UPSTREAM": upstream,
        **{"TENON_" + name.upper().replace("__", "_"): json.dumps(value) for name, value in told.items()},
    }  # fmt: skip
    os.makedirs(env["TENON_HOME"], exist_ok=True)
    state = os.path.join(env["TENON_HOME"], "proxy.json")
    process = subprocess.Popen([sys.executable, "-I", "-S", ENTRY, "--port", str(free_port())], env=env, stdin=subprocess.DEVNULL, cwd=home)
    try:
        until = time.monotonic() + START_S
        while not (port := _port(state)):
            if process.poll() is not None or time.monotonic() > until:
                raise RuntimeError(f"the proxy did not come up (exit {process.poll()})")
            time.sleep(0.02)
        yield Running(f"http://127.0.0.1:{port}", process)
    finally:
        process.terminate()
        process.wait(10)


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def remember(home: str, sessions: list[list[Block]], folder: str = "/home/user/api") -> None:
    """Puts sessions, oldest first, into the archive of the proxy's home, as the hooks of the days before would have."""
    from tenon.store import archive, db, places

    with db.open_store(os.path.join(home, "tenon", "agents", "default", "tenon.db")) as store:
        for number, messages in enumerate(sessions):
            at = LAST_NIGHT - DAY * (len(sessions) - 1 - number)
            repository = places.settle(store, folder, at)
            name = f"{number:08d}-0000-4000-8000-000000000000"
            session = archive.session(store, name, repository=repository, folder=folder, at=at, branch="main")
            rows: list[archive.Row] = []
            for place, message in enumerate(messages):
                content = message["content"]
                blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
                for block in blocks:
                    kind, source = _kind(message["role"], block)
                    rows.append(
                        archive.Row(
                            uuid=f"{name}-{len(rows)}", parent=f"{name}-{len(rows) - 1}" if rows else "", role=message["role"], kind=kind, source=source,
                            at=at + len(rows), content=[block], message=f"msg_{number}_{place}" if message["role"] == "assistant" else "",
                        )
                    )  # fmt: skip
            archive.append(store, session, repository, rows)


def _kind(role: str, block: Block) -> tuple[str, str]:
    if block["type"] == "tool_result":
        return "result", "tool"
    if role == "user":
        return "prompt", "user"
    return {"tool_use": "call", "thinking": "thinking"}.get(block["type"], "reply"), "assistant"


def _port(path: str) -> int:
    try:
        with open(path, encoding="utf-8") as file:
            return int(json.load(file)["port"])
    except (OSError, ValueError, KeyError):
        return 0
