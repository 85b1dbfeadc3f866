"""`tenon print-config`: settings that a client can read, and that start or reach what they should."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import DOOR, PYTHON, Tenon
from tests.mcp_server.messages import request

CLIENTS = ["claude-desktop", "cursor", "vscode", "codex", "windsurf", "generic"]
TOKEN = "sk-tenon-" + "ab" * 32


def parsed(text: str) -> dict[str, Any]:
    """The settings as the client reads them."""
    if text.startswith("["):
        tomllib = pytest.importorskip("tomllib")
        return dict(tomllib.loads(text)["mcp_servers"]["tenon"])
    found = json.loads(text)
    return dict(found.get("mcpServers", found.get("servers"))["tenon"])


def with_token(tenon: Tenon) -> Path:
    """The file of a token that was made before."""
    path = tenon.home / ".tenon" / "mcp-token"
    path.parent.mkdir(mode=0o700, exist_ok=True)
    path.write_text(TOKEN + "\n", encoding="ascii")
    path.chmod(0o600)
    return path


@pytest.mark.parametrize("client", CLIENTS)
def test_what_is_printed_starts_the_tools(tenon: Tenon, client: str) -> None:
    """An interpreter by its whole path and a file by its; for the home and the agent that were meant, from any folder."""
    tenon.env["TENON_AGENT"] = "work"
    entry = parsed(tenon.ok("print-config", "--client", client).out)
    assert ([PYTHON, "-I", "-S", DOOR, "serve", "--stdio"], {"TENON_HOME": str(tenon.home / ".tenon"), "TENON_AGENT": "work"}) == (
        [entry["command"], *entry["args"]], entry["env"],
    )  # fmt: skip
    line = json.dumps(request("tools/call", {"name": "memory_write", "arguments": {"tier": "short", "type": "fact", "content": "the zebra is mine"}})) + "\n"
    env = {**tenon.environment(), **entry["env"]}
    done = subprocess.run([entry["command"], *entry["args"]], input=line.encode(), capture_output=True, cwd=tenon.project, env=env, timeout=60, check=True)
    assert json.loads(done.stdout)["result"]["structuredContent"]["new"]
    assert (tenon.home / ".tenon" / "agents" / "work" / "tenon.db").exists()


def test_the_launcher_is_named_once_it_is_there(tenon: Tenon) -> None:
    """It survives an update of the plugin, and its home goes without saying."""
    tenon.ok("install", "--yes", "--bin-dir", str(tenon.home / "bin"))
    entry = parsed(tenon.ok("print-config", "--client", "generic").out)
    assert str(tenon.home / ".tenon" / "bin" / "tenon") == entry["args"][2]


@pytest.mark.parametrize(
    ("client", "wanted"),
    [
        ("cursor", {"url": "http://127.0.0.1:9001/mcp", "headers": {"Authorization": "Bearer ${env:TENON_MCP_TOKEN}"}}),
        ("vscode", {"type": "http", "url": "http://127.0.0.1:9001/mcp", "headers": {"Authorization": "Bearer ${input:tenon-token}"}}),
        ("codex", {"url": "http://127.0.0.1:9001/mcp", "bearer_token_env_var": "TENON_MCP_TOKEN"}),
        ("windsurf", {"serverUrl": "http://127.0.0.1:9001/mcp", "headers": {"Authorization": "Bearer ${env:TENON_MCP_TOKEN}"}}),
        ("generic", {"type": "http", "url": "http://127.0.0.1:9001/mcp", "headers": {"Authorization": "Bearer ${TENON_MCP_TOKEN}"}}),
    ],
)
def test_over_http_the_token_is_named_and_not_told(tenon: Tenon, client: str, wanted: dict[str, Any]) -> None:
    """Each client in its own way; where the token is and how a repository is named goes to the user, not into the settings."""
    path = with_token(tenon)
    done = tenon.ok("print-config", "--client", client, "--http")
    assert wanted == parsed(done.out)
    assert (True, False) == (str(path) in done.err, TOKEN in done.out + done.err)
    assert "X-Tenon-Repository: " in done.err
    assert "my%20pr%C3%B8ject" in done.err


@pytest.mark.parametrize("client", CLIENTS[1:])
def test_the_token_itself_is_shown_when_it_is_asked_for(tenon: Tenon, client: str) -> None:
    """Then nothing of the settings is left to be filled in."""
    with_token(tenon)
    done = tenon.ok("print-config", "--client", client, "--http", "--show-token", "--port", "9123", "--agent", "work")
    entry = parsed(done.out)
    assert "http://127.0.0.1:9123/agent/work/mcp" == entry.get("url", entry.get("serverUrl"))
    assert {"Authorization": f"Bearer {TOKEN}"} == entry.get("headers", entry.get("http_headers"))
    assert "$" not in done.out


def test_vs_code_asks_for_the_token_once(tenon: Tenon) -> None:
    """As a password, which it keeps."""
    told = json.loads(tenon.ok("print-config", "--client", "vscode", "--http").out)
    assert [("promptString", "tenon-token", True)] == [(one["type"], one["id"], one["password"]) for one in told["inputs"]]


def test_claude_desktop_reaches_no_server_of_this_machine(tenon: Tenon) -> None:
    """It is told what to do instead."""
    done = tenon.ok("print-config", "--client", "claude-desktop", "--http")
    assert ("", True) == (done.out, "`tenon print-config --client claude-desktop`" in done.err)


def test_as_json_there_is_a_record_for_each_client_and_no_token(tenon: Tenon) -> None:
    """With --show-token there is one."""
    path = with_token(tenon)
    records = tenon.ok("print-config", "--json").records
    assert [(name, "stdio") for name in CLIENTS] == [(one["client"], one["transport"]) for one in records]
    told = tenon.ok("print-config", "--http", "--json")
    assert [None, *["TENON_MCP_TOKEN"] * 5] == [one.get("token_variable") for one in told.records]
    assert ({str(path)}, False) == ({one["token_file"] for one in told.records[1:]}, TOKEN in told.out)
    assert 5 == tenon.ok("print-config", "--http", "--json", "--show-token").out.count(TOKEN)


def test_it_writes_nothing(tenon: Tenon) -> None:
    """Not even a token; where there is none to be shown, it says who makes it."""
    tenon.ok("print-config")
    tenon.ok("print-config", "--http")
    done = tenon("print-config", "--http", "--show-token")
    assert (1, True) == (done.code, "`tenon serve --http` makes it" in done.err)
    assert [] == [path for path in tenon.home.rglob("*") if "faults" not in path.name and path.is_file()]
    assert [] == list(tenon.project.iterdir())


@pytest.mark.parametrize("arguments", [["--client", "emacs"], ["--show-token"], ["--port", "9100"], ["--http", "--port", "x"]])
def test_a_command_line_that_makes_no_sense_is_wrong_usage(tenon: Tenon, arguments: list[str]) -> None:
    """In a sentence that says what is wrong."""
    done = tenon("print-config", *arguments)
    assert (2, "") == (done.code, done.out)
    assert "tenon print-config: error: " in done.err
    assert sys.executable not in done.out
