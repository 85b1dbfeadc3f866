"""`tenon serve`: a process that listens until it is interrupted, or speaks to the client that started it."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import DOOR, PYTHON, Tenon
from tests.mcp_server.messages import STATELESS, request

PATIENCE_S = 60.0
Start = Callable[..., "Running"]


class Running:
    """A server that listens: its port, its token, what it said."""

    def __init__(self, tenon: Tenon, *arguments: str) -> None:
        self.process = subprocess.Popen(
            [PYTHON, "-I", "-S", DOOR, "serve", "--http", "--port", "0", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0,
            cwd=tenon.project, env=tenon.environment(), creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
        )  # fmt: skip
        self.watch = threading.Timer(PATIENCE_S, self.process.kill)
        self.watch.daemon = True
        self.watch.start()
        assert self.process.stderr is not None
        self.first = self.process.stderr.readline().decode("utf-8")
        found = re.search(r"127\.0\.0\.1:(\d+)/mcp", self.first)
        assert found, self.first
        self.port = int(found.group(1))
        self.path = tenon.home / ".tenon" / "mcp-token"
        self.token = self.path.read_text(encoding="ascii").strip()

    def tools(self, token: str = "") -> int:
        """How many tools it lists."""
        body = json.dumps(request("tools/list", {"_meta": STATELESS})).encode()
        headers = {
            "Authorization": f"Bearer {token or self.token}", "Content-Type": "application/json", "Accept": "application/json, text/event-stream",
            "Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/list",
        }  # fmt: skip
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(urllib.request.Request(f"http://127.0.0.1:{self.port}/mcp", body, headers), timeout=PATIENCE_S) as answer:
            return len(json.load(answer)["result"]["tools"])

    def end(self) -> tuple[int, str]:
        """Interrupts it: its exit code, and what it said besides."""
        if self.process.poll() is None:
            self.process.send_signal(getattr(signal, "CTRL_BREAK_EVENT", signal.SIGINT))
        _, said = self.process.communicate()
        self.watch.cancel()
        return self.process.returncode, said.decode("utf-8")


@pytest.fixture()
def start(tenon: Tenon) -> Iterator[Start]:
    """Starts servers, and ends those that still run."""
    running: list[Running] = []

    def start(*arguments: str) -> Running:
        running.append(Running(tenon, *arguments))
        return running[-1]

    yield start
    for one in running:
        if one.process.poll() is None:
            one.end()


def test_it_listens_on_this_machine_until_it_is_interrupted(start: Start) -> None:
    """It says where and by which token, never the token itself; the interruption is no fault."""
    server = start()
    assert (11, str(server.path) in server.first, server.token in server.first) == (server.tools(), True, False)
    with pytest.raises(urllib.error.HTTPError, match="401"):
        server.tools("0" * 64)
    code, said = server.end()
    assert (0, ["`tenon print-config --http` shows what a client's settings say. Ctrl-C ends it.", "Ended."]) == (code, said.splitlines())
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", server.port), 1).close()


@pytest.mark.skipif(os.name != "posix", reason="this system has no such modes")
def test_the_token_is_its_owners_alone(start: Start) -> None:
    """Also the first time."""
    assert 0o600 == start().path.stat().st_mode & 0o777


def test_the_token_stays_until_another_is_made(start: Start) -> None:
    """Who knew the one before is locked out then."""
    tokens = []
    for arguments in ((), (), ("--new-token",)):
        server = start(*arguments)
        tokens.append(server.token)
        server.end()
    assert (True, False) == (tokens[0] == tokens[1], tokens[1] == tokens[2])


def test_full_has_the_older_names_and_verbose_a_line_for_each_request(start: Start) -> None:
    """The token is in none."""
    server = start("--tools", "full", "--verbose")
    assert 32 == server.tools()
    _, said = server.end()
    assert re.search(r"^\d\d:\d\d:\d\d POST tools/list 200 \d+ ms$", said, re.MULTILINE), said
    assert server.token not in said


def test_a_second_one_on_the_same_port_is_told_so(start: Start, tenon: Tenon) -> None:
    """In a sentence, with the way out."""
    server = start()
    other = tenon("serve", "--http", "--port", str(server.port))
    assert (1, f"tenon serve: port {server.port} of this machine cannot be used") == (other.code, other.err.split(" (")[0])
    assert "--port" in other.err


def test_stdio_serves_the_client_that_started_it(tenon: Tenon, tmp_path: Path) -> None:
    """Nothing but answers on stdout; in the folder it was started in, for the agent that was named."""
    lines: list[dict[str, Any]] = [
        request("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}}),
        request("tools/call", {"name": "memory_write", "arguments": {"tier": "short", "type": "fact", "content": "the zebra is mine"}}, 2),
    ]
    done = tenon("--agent", "work", "serve", "--stdio", given="".join(json.dumps(line) + "\n" for line in lines))
    assert (0, [1, 2], "") == (done.code, [answer["id"] for answer in done.records], done.err)
    assert done.records[1]["result"]["structuredContent"]["new"]
    assert 1 == len(tenon.ok("recall", "zebra", "--json", "--agent", "work").records)
    assert "the zebra is mine" not in tenon("recall", "zebra", cwd=tmp_path).out


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["--stdio", "--http"],
        ["--stdio", "--port", "1"],
        ["--stdio", "--new-token"],
        ["--http", "--port", "x"],
        ["--http", "--port", "65536"],
        ["--http", "--tools", "all"],
    ],
)
def test_a_command_line_that_makes_no_sense_is_wrong_usage(tenon: Tenon, arguments: list[str]) -> None:
    """Nothing is started."""
    done = tenon("serve", *arguments)
    assert (2, "") == (done.code, done.out)
    assert "tenon serve: error: " in done.err
    assert sys.platform == "win32" or not (tenon.home / ".tenon" / "mcp-token").exists()
