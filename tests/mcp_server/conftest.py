"""The real server as a client starts it: a process in the user's project, with a home of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tenon.base import paths
from tenon.store import db, places

ROOT = Path(__file__).resolve().parents[2]
COMMAND = [sys.executable, "-I", "-S", str(ROOT / "mcp_server" / "__main__.py")]
PATIENCE_S = 60.0  # for an answer, before a test gives up


class Server:
    """A running server, spoken to line by line."""

    def __init__(self, folder: Path, **env: str) -> None:
        self.process = subprocess.Popen(COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=folder, env={**os.environ, **env})
        self.watch = threading.Timer(PATIENCE_S, self.process.kill)
        self.watch.daemon = True
        self.watch.start()
        self.number = 0

    def send(self, method: str, params: dict[str, Any] | None = None) -> int:
        """The id of a request that was sent."""
        self.number += 1
        line = json.dumps({"jsonrpc": "2.0", "id": self.number, "method": method, "params": params or {}})
        assert self.process.stdin is not None
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()
        return self.number

    def read(self) -> dict[str, Any]:
        """The next answer."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, "the server ended"
        answer: dict[str, Any] = json.loads(line)
        return answer

    def ask(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        """The result of a request."""
        number = self.send(method, params)
        answer = self.read()
        assert answer["id"] == number
        result: dict[str, Any] = answer["result"]
        return result

    def initialize(self) -> str:
        """The name that the server says it has."""
        return str(
            self.ask("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}})["serverInfo"]["name"]
        )

    def call(self, tool: str, /, **arguments: Any) -> dict[str, Any]:
        """What a tool gives, as data."""
        result = self.ask("tools/call", {"name": tool, "arguments": arguments})
        assert not result.get("isError"), result
        data: dict[str, Any] = result["structuredContent"]
        return data

    def refused(self, tool: str, /, **arguments: Any) -> str:
        """The sentence of a tool that refuses."""
        result = self.ask("tools/call", {"name": tool, "arguments": arguments})
        assert result.get("isError"), result
        return str(result["content"][0]["text"])

    def close(self) -> tuple[int, bytes]:
        """Closes the client's end and waits: the server's exit code and what it wrote to stderr."""
        if self.process.stdin is not None and not self.process.stdin.closed:
            self.process.stdin.close()
        assert self.process.stdout is not None
        assert self.process.stderr is not None
        self.process.stdout.read()
        said = self.process.stderr.read()
        self.process.stdout.close()
        self.process.stderr.close()
        code = self.process.wait()
        self.watch.cancel()
        return code, said


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with a space and letters beyond ASCII."""
    project = tmp_path / "mein Projekt é"
    project.mkdir()
    return project.resolve()


@pytest.fixture
def start(project: Path) -> Iterator[Callable[..., Server]]:
    """Starts a server in the project, or in another folder; what is still running at the end is closed."""
    running: list[Server] = []

    def start(folder: Path | None = None, **env: str) -> Server:
        running.append(Server(folder or project, **env))
        return running[-1]

    yield start
    for server in running:
        if server.process.stdout is not None and not server.process.stdout.closed:
            server.process.kill()
            server.close()


@pytest.fixture
def store() -> Iterator[db.Store]:
    """The default agent's store, open beside the servers."""
    with db.open_store(paths.store_path("default")) as store:
        yield store


@pytest.fixture
def repository(store: db.Store, project: Path) -> int:
    """The project's repository."""
    return places.settle(store, str(project), 1.0)
