"""`--stdio`: what Claude Code starts, for other clients, which say by their roots where they work."""

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

from tests.mcp_server.conftest import COMMAND, PATIENCE_S

Open = Callable[..., "Talk"]


class Talk:
    """A started server and a client that answers what it is asked: `roots` are folders, None refuses, `asked` counts."""

    def __init__(self, folder: Path, *arguments: str, roots: list[Path] | None = None, able: bool = True, **env: str) -> None:
        self.roots = roots
        self.asked = 0
        self.process = subprocess.Popen([*COMMAND, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=folder, env={**os.environ, **env})
        self.watch = threading.Timer(PATIENCE_S, self.process.kill)
        self.watch.daemon = True
        self.watch.start()
        params = {"protocolVersion": "2025-11-25", "capabilities": {"roots": {"listChanged": True}} if able else {}}
        self.ask("initialize", params)
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def send(self, message: dict[str, Any]) -> None:
        """Sends a message."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def ask(self, method: str, params: dict[str, Any]) -> Any:
        """The result of a request; what the server asks before is answered."""
        self.send({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        assert self.process.stdout is not None
        for line in self.process.stdout:
            message = json.loads(line)
            if "method" not in message:
                return message["result"]
            assert "roots/list" == message["method"]
            self.asked += 1
            if self.roots is None:
                self.send({"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32601, "message": "Method not found"}})
            else:
                self.send({"jsonrpc": "2.0", "id": message["id"], "result": {"roots": [{"uri": folder.as_uri()} for folder in self.roots]}})
        raise AssertionError("the server ended")

    def call(self, tool: str, **arguments: Any) -> Any:
        """What a tool gives, as data, or the sentence of one that refuses."""
        result = self.ask("tools/call", {"name": tool, "arguments": arguments})
        return result["content"][0]["text"] if result.get("isError") else result["structuredContent"]

    def write(self, text: str) -> Any:
        """Writes a memory."""
        return self.call("memory_write", tier="short", type="fact", content=text)

    def found(self) -> list[str]:
        """What is recalled of the zebra."""
        return [hit["content"] for hit in self.call("memory_recall", cue="zebra")["hits"]]

    def close(self) -> None:
        """Ends the client's side, and waits."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        self.process.stdout.read()
        self.process.stdout.close()
        self.process.wait()
        self.watch.cancel()


@pytest.fixture
def opened() -> Iterator[Open]:
    """Opens talks, and closes them."""
    talks: list[Talk] = []

    def opened(folder: Path, *arguments: str, **more: Any) -> Talk:
        talks.append(Talk(folder, *arguments, **more))
        return talks[-1]

    yield opened
    for talk in talks:
        talk.close()


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    """Two projects."""
    one, other = tmp_path / "one é", tmp_path / "other"
    one.mkdir()
    other.mkdir()
    return one, other


def test_the_first_root_is_where_the_client_works_until_it_says_otherwise(opened: Open, folders: tuple[Path, Path], tmp_path: Path) -> None:
    """It is asked once, and again when they change; what was written stays where it belongs."""
    one, other = folders
    talk = opened(tmp_path, "--stdio", roots=[one, other], CLAUDE_PROJECT_DIR=str(other))
    talk.write("the zebra of one")
    assert (["the zebra of one"], 1) == (talk.found(), talk.asked)
    talk.roots = [other]
    assert (["the zebra of one"], 1) == (talk.found(), talk.asked)
    talk.send({"jsonrpc": "2.0", "method": "notifications/roots/list_changed"})
    assert ([], 2) == (talk.found(), talk.asked)
    assert ["the zebra of one"] == opened(one, "--stdio", able=False).found()


@pytest.mark.parametrize("roots", [None, []], ids=["refuses", "has none"])
def test_without_roots_it_is_the_folder_that_was_named_else_that_it_was_started_in(roots: Any, opened: Open, folders: tuple[Path, Path]) -> None:
    """As when Claude Code starts it, which is never asked."""
    one, other = folders
    named = opened(other, "--stdio", roots=roots, CLAUDE_PROJECT_DIR=str(one))
    named.write("the zebra of one")
    assert 1 == named.asked
    assert ["the zebra of one"] == opened(one, "--stdio", roots=roots).found()
    assert [] == opened(other, "--stdio", able=False).found()
    plain = opened(one, roots=[other])
    assert (["the zebra of one"], 0) == (plain.found(), plain.asked)


def test_a_root_that_is_not_there_is_told(opened: Open, folders: tuple[Path, Path], tmp_path: Path) -> None:
    """No other folder is taken in its place."""
    talk = opened(folders[0], "--stdio", roots=[tmp_path / "gone"])
    assert "no such folder on this machine" in talk.write("x")


@pytest.mark.skipif(sys.platform == "win32", reason="the top of the file system is another one there")
def test_a_client_that_starts_servers_nowhere_has_what_holds_everywhere(opened: Open) -> None:
    """The top of the file system is no repository, unless Claude Code says so."""
    assert "no repository is named" in opened(Path("/"), "--stdio", able=False).write("x")


@pytest.mark.parametrize(
    "arguments",
    [["--stdio", "--http"], ["--tools", "all"], ["--port", "1"], ["--http", "--port", "70000"], ["--http", "--port"], ["--stdio", "--verbose"], ["serve"]],
)
def test_arguments_that_make_no_sense_are_told(arguments: list[str]) -> None:
    """And nothing is served."""
    done = subprocess.run([*COMMAND, *arguments], input=b"", capture_output=True, timeout=PATIENCE_S, check=False)
    assert (2, b"", b"tenon serve: the arguments are") == (done.returncode, done.stdout, done.stderr[:30])
