"""`tenon print-config`: what the settings of another client say, so that it finds the memory's tools."""

from __future__ import annotations

import json
import os
import sys

from tenon.base import paths
from tenon.base.errors import TenonError
from tenon.cli.main import reads
from tenon.cli.serve import port
from tenon.world import bearer, launcher, machine

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable
    from typing import Any

    from tenon.cli.out import Out

HELP = f"""Prints what another client of the Model Context Protocol has to be told, and where it reads that; it writes nothing. Without --http
the client starts the tools itself. With --http it asks a `tenon serve --http` that runs, and shows it the token: what is printed names the
variable {bearer.VARIABLE} in its place, or has the token itself with --show-token."""
EXAMPLES = """
tenon print-config                               for every client that is known here
tenon print-config --client codex                for one; only the settings go to stdout
tenon print-config --client cursor --http        for a server that runs already
tenon --agent work print-config --client vscode  the memory of the agent «work»
"""
TOKEN = f"${{{bearer.VARIABLE}}}"


class Client:
    """A client: its name for people, its files by system (the first for all others), and how it is told of a command and of an address.

    `remote` is None where it reaches no address of this machine.
    """

    __slots__ = ("title", "files", "local", "remote", "note")

    def __init__(
        self,
        title: str,
        files: dict[str, str],
        local: Callable[[Command], str],
        remote: Callable[[str, str], str] | None,
        note: str = "",
    ) -> None:
        self.title = title
        self.files = files
        self.local = local
        self.remote = remote
        self.note = note

    @property
    def file(self) -> str:
        """The file on this system."""
        return self.files.get(sys.platform, self.files[""])


class Command:
    """How the tools are started: a program, its arguments, and what its environment says besides."""

    __slots__ = ("program", "arguments", "env")

    def __init__(self, program: str, arguments: list[str], env: dict[str, str]) -> None:
        self.program = program
        self.arguments = arguments
        self.env = env

    def told(self) -> dict[str, Any]:
        """As most clients read it."""
        return {"command": self.program, "args": self.arguments, **({"env": self.env} if self.env else {})}


def _json(around: str, entry: dict[str, Any], **more: Any) -> str:
    return json.dumps({**more, around: {"tenon": entry}}, ensure_ascii=False, indent=2)


def _toml(lines: dict[str, Any], **tables: dict[str, str]) -> str:
    """A server as Codex reads it; a JSON string is a TOML string."""
    told = ["[mcp_servers.tenon]", *(f"{name} = {json.dumps(value, ensure_ascii=False)}" for name, value in lines.items())]
    for name, table in tables.items():
        if table:
            told += ["", f"[mcp_servers.tenon.{name}]", *(f"{json.dumps(key)} = {json.dumps(value, ensure_ascii=False)}" for key, value in table.items())]
    return "\n".join(told)


def _bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def _named(token: str) -> str:
    """The token, or its variable as Cursor and Windsurf write one."""
    return token or f"${{env:{bearer.VARIABLE}}}"


def _asked(address: str, token: str) -> str:
    """For VS Code, which asks for the token once and keeps it safe."""
    entry = {"type": "http", "url": address, "headers": _bearer(token or "${input:tenon-token}")}
    asks = [{"type": "promptString", "id": "tenon-token", "description": "The token of Tenon", "password": True}]
    return _json("servers", entry, **({} if token else {"inputs": asks}))


CLIENTS = {
    "claude-desktop": Client(
        "Claude Desktop",
        {
            "": os.path.join("~", ".config", "Claude", "claude_desktop_config.json"),
            "darwin": "~/Library/Application Support/Claude/claude_desktop_config.json",
            "win32": r"%APPDATA%\Claude\claude_desktop_config.json",
        },
        lambda command: _json("mcpServers", command.told()),
        None,
        "It is started in no project: CLAUDE_PROJECT_DIR in `env` names one, else only what holds everywhere is known.",
    ),
    "cursor": Client(
        "Cursor",
        {"": os.path.join("~", ".cursor", "mcp.json")},
        lambda command: _json("mcpServers", command.told()),
        lambda address, token: _json("mcpServers", {"url": address, "headers": _bearer(_named(token))}),
        "For one project alone it is .cursor/mcp.json there.",
    ),
    "vscode": Client(
        "VS Code",
        {"": os.path.join(".vscode", "mcp.json")},
        lambda command: _json("servers", {"type": "stdio", **command.told()}),
        _asked,
        "For all projects: the command «MCP: Open User Configuration».",
    ),
    "codex": Client(
        "Codex CLI",
        {"": os.path.join("~", ".codex", "config.toml")},
        lambda command: _toml({"command": command.program, "args": command.arguments}, env=command.env),
        lambda address, token: (
            _toml({"url": address}, http_headers=_bearer(token)) if token else _toml({"url": address, "bearer_token_env_var": bearer.VARIABLE})
        ),
    ),
    "windsurf": Client(
        "Windsurf",
        {"": os.path.join("~", ".codeium", "windsurf", "mcp_config.json")},
        lambda command: _json("mcpServers", command.told()),
        lambda address, token: _json("mcpServers", {"serverUrl": address, "headers": _bearer(_named(token))}),
    ),
    "generic": Client(
        "any other client",
        {"": "where it keeps its MCP servers"},
        lambda command: _json("mcpServers", command.told()),
        lambda address, token: _json("mcpServers", {"type": "http", "url": address, "headers": _bearer(token or TOKEN)}),
    ),
}


def arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the verb's own arguments."""
    parser.add_argument("--client", choices=list(CLIENTS), metavar="NAME", help=", ".join(CLIENTS))
    parser.add_argument("--http", action="store_true", help="for `tenon serve --http`, not for a command that the client starts")
    parser.add_argument("--port", metavar="N", type=port, default=bearer.PORT, help=f"with --http: where that listens (else {bearer.PORT})")
    parser.add_argument("--show-token", action="store_true", help="with --http: print the token itself")
    reads(parser)


def run(options: argparse.Namespace, out: Out) -> int:
    """0 when it is printed."""
    if (options.show_token or options.port != bearer.PORT) and not options.http:
        options.wrong("--port and --show-token go with --http")
    agent = paths.agent_name(options.agent or os.environ.get("TENON_AGENT", ""))
    agent = "" if agent == "default" and not options.agent else agent
    names = [options.client] if options.client else list(CLIENTS)
    if options.http:
        token = _token(options.show_token)
        for name in names:
            _over_http(name, bearer.address(options.port, agent), token, out)
        _explained(token, out)
        return 0
    command = _command(agent)
    for name in names:
        _shown(name, CLIENTS[name].local(command), "stdio", out)
    if not out.json and not _stays():
        out.say("The path in it changes with the plugin's next update; `tenon install` first makes one that stays.")
    return 0


def _over_http(name: str, address: str, token: str, out: Out) -> None:
    client = CLIENTS[name]
    if client.remote is not None:
        _shown(name, client.remote(address, token), "http", out)
    elif out.json:
        out.record({"client": name, "transport": "http", "settings": None})
    else:
        out.say(f"\n{client.title} reaches no address of this machine from its settings; it starts the tools itself: `tenon print-config --client {name}`.")


def _shown(name: str, settings: str, way: str, out: Out) -> None:
    client = CLIENTS[name]
    if out.json:
        told = {"client": name, "transport": way, "file": client.file, "settings": settings}
        out.record({**told, "token_variable": bearer.VARIABLE, "token_file": bearer.path()} if way == "http" else told)
        return
    out.say(f"\n{client.title}: {client.file}" + (f"  ({client.note})" if client.note else ""))
    out.line(settings)


def _explained(token: str, out: Out) -> None:
    from urllib.parse import quote

    if out.json:
        return
    out.say("")
    if not token:
        out.say(f"{bearer.VARIABLE} is the token in {bearer.path()}, which `tenon serve --http` makes when it first starts.")
    out.say(f"A client that tells no roots names its repository in a header, for this folder: X-Tenon-Repository: {quote(os.getcwd(), safe='/:')}")


def _token(shown: bool) -> str:
    """The token when it is to be shown, else «». Raises TenonError when there is none yet."""
    if not shown:
        return ""
    token = bearer.held()
    if not token:
        raise TenonError("there is no token yet; `tenon serve --http` makes it when it first starts")
    return token


def _command(agent: str) -> Command:
    here = machine.here()
    door = here.launcher if launcher.is_current(here) else os.path.join(here.root, "bin", "tenon")
    env = {"TENON_HOME": paths.home()} if os.environ.get("TENON_HOME") else {}
    return Command(sys.executable or "python3", ["-I", "-S", door, "serve", "--stdio"], {**env, **({"TENON_AGENT": agent} if agent else {})})


def _stays() -> bool:
    """Whether the command that is named outlives an update of the plugin."""
    here = machine.here()
    return launcher.is_current(here) or not here.root.startswith(here.cache + os.sep)
