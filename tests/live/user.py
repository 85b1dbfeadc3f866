"""A user of Claude Code with Tenon installed: says something, and sees what the model was sent and what the store kept."""

from __future__ import annotations

import json
import os
import re
import shutil
import sqlite3
import subprocess
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from tests.fakes.claude_code import ClaudeCode, Result
from tests.fakes.door import RecordedRequest
from tests.fakes.messages_api import MessagesApi
from tests.fakes.replies import Reply, obey, prompt_of, text

ROOT = Path(__file__).resolve().parents[2]
LEFT_OUT = (".git", ".cache", ".venv", "venv", "__pycache__", "*.pyc", ".*_cache", ".hypothesis", ".coverage*")
TOOL = "mcp__plugin_tenon_memory__"
ALLOWED = ("--allowedTools", TOOL + "*", "Bash", "Agent")
OWN = (
    ".tenon",
    ".claude",
    "claude-c",
    "mimeapps.list",
)  # beginnings of names: ours, Claude Code's settings, its caches and launchers, and what it tells the desktop
INJECTED = re.compile(r"(\w+) hook additional context: (<tenon-memory>.*?</tenon-memory>)", re.S)
POLL_S = 0.05


class Session:
    """One run of `claude -p`: how it ended and the requests it made."""

    def __init__(self, done: Result, requests: list[RecordedRequest]) -> None:
        self.code = done.returncode
        self.output = done.stdout
        self.errors = done.stderr
        self.requests = requests

    @property
    def id(self) -> str:
        """Claude Code's id of the session."""
        return str(self.requests[0].headers["X-Claude-Code-Session-Id"])

    @property
    def sent(self) -> str:
        """The conversation in the first request, as text."""
        return told(self.requests[0])

    def blocks(self, event: str, number: int = 0) -> list[str]:
        """What Tenon's hook for the event put into a request."""
        return blocks(self.requests[number], event)

    @property
    def tools(self) -> set[str]:
        """Tenon's tools in the first request, by their own names."""
        names = [str(tool["name"]) for tool in self.requests[0].body["tools"]]
        return {name[len(TOOL) :] for name in names if name.startswith(TOOL)}


class User:
    """One person with one home and one project folder; `api` answers as obey() does unless it is scripted."""

    def __init__(self, claude: ClaudeCode, api: MessagesApi, plugin: Path) -> None:
        self.claude = claude
        self.api = api
        self.plugin = plugin
        self.memory = claude.home / ".tenon"

    def says(self, prompt: str, *args: str, env: dict[str, str] | None = None, folder: Path | None = None) -> Session:
        """A session of one prompt, in the project or in another folder; it must end well."""
        before = len(self.api.messages())
        claude = self.claude
        if folder is not None:
            folder.mkdir(exist_ok=True)
            claude = ClaudeCode(claude.binary, claude.home, self.api.url, folder)
        done = claude.run(prompt, *args, env=env)
        assert 0 == done.returncode, done.stdout + done.stderr
        return Session(done, self.api.messages()[before:])

    @property
    def store(self) -> Path:
        """The file of the store."""
        return self.memory / "agents" / "default" / "tenon.db"

    def rows(self, query: str) -> list[Any]:
        """What a query finds in the store; a row of one column is that column."""
        with closing(sqlite3.connect(f"{self.store.as_uri()}?mode=ro", uri=True)) as con:
            found = con.execute(query).fetchall()
        return [row[0] if len(row) == 1 else row for row in found]

    def turns(self) -> list[str]:
        """The archive in order: kind and content of each turn, sub-agents' turns with their mark."""
        rows = self.rows("SELECT CASE thread WHEN '' THEN '' ELSE 'sub-agent ' END || kind, content FROM turn ORDER BY id")
        return [f"{kind}: {spoken(json.loads(content))}" for kind, content in rows]

    def holds(self, words: str) -> bool:
        """Whether any file of Tenon's contains the words."""
        return any(words.encode() in path.read_bytes() for path in self.memory.rglob("*") if path.is_file())

    def strangers(self) -> list[str]:
        """What lies in the home or in the project and is neither Claude Code's nor Tenon's own."""
        home = self.claude.home
        files = [path.relative_to(home) for path in home.rglob("*") if not path.is_dir()]
        strange = [path.as_posix() for path in files if not any(part.startswith(OWN) for part in path.parts)]
        return sorted(strange) + sorted(map(str, self.claude.project.iterdir()))

    def processes(self) -> list[str]:
        """The command lines of running processes that were started from the plugin, wherever it is installed."""
        # In another locale ps spells the letters beyond ASCII otherwise.
        env = {**os.environ, "LC_ALL": "C.UTF-8"}
        listed = subprocess.run(["ps", "-axww", "-o", "args="], capture_output=True, env=env, check=True).stdout.decode("utf-8", "replace")
        return [line for line in listed.splitlines() if str(self.plugin) in line or str(self.claude.home) in line]

    def faults(self) -> set[str]:
        """The doors at which something went wrong and was noted."""
        return {json.loads(line)["door"] for line in (self.memory / "faults.log").read_text(encoding="utf-8").splitlines()}

    def refusals(self) -> list[str]:
        """Why the API refused a request."""
        return [request.error for request in self.api.requests if request.error]


def furnish(home: Path, template: Path) -> None:
    """Gives the home the settings and the plugin list of another one in which Tenon was installed."""
    shutil.copytree(template / ".claude", home / ".claude")
    old, new = (json.dumps(str(path), ensure_ascii=False)[1:-1] for path in (template, home))
    for path in (home / ".claude").rglob("*.json"):
        words = path.read_text(encoding="utf-8")
        if old in words:
            path.write_text(words.replace(old, new), encoding="utf-8")


def until(true: Callable[[], object], timeout_s: float = 10.0) -> bool:
    """Whether it became true in time."""
    end = time.monotonic() + timeout_s
    while not true():
        if time.monotonic() > end:
            return False
        time.sleep(POLL_S)
    return True


def told(request: RecordedRequest) -> str:
    """Everything a request says to the model in its messages."""
    return "\n".join(strings(request.body["messages"]))


def blocks(request: RecordedRequest, event: str) -> list[str]:
    """What Tenon's hook for the event put into a request, the oldest first."""
    return [block for name, block in INJECTED.findall(told(request)) if name == event]


def strings(value: object) -> list[str]:
    """Every string in a JSON value."""
    if isinstance(value, str):
        return [value]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [words for part in inner for words in strings(part)]


def spoken(content: list[dict[str, Any]]) -> str:
    """The words of content blocks; of a call its input, of a result what came back."""
    parts: list[str] = []
    for block in content:
        if block["type"] == "tool_result":
            parts += strings([part.get("text", "") if isinstance(part, dict) else part for part in _listed(block.get("content"))])
        elif block["type"] == "tool_use":
            parts += [block["name"], *strings(block["input"])]
        else:
            parts.append(str(block.get("text", "")))
    return " ".join(parts).strip()


def _listed(content: object) -> list[Any]:
    return content if isinstance(content, list) else [content]


def call(name: str, **given: Any) -> str:
    """The order, in a prompt, to call a tool of Tenon's."""
    return f"[[CALL {TOOL}{name} {json.dumps(given, ensure_ascii=False)}]]"


def quoting(request: Any) -> Reply:
    """Does as it is told; to a prompt with «quote» it answers with everything Tenon put before it, fences and all."""
    if "quote" not in prompt_of(request.body):
        return obey(request)
    found = [block for _, block in INJECTED.findall(told(request))]
    return {"blocks": [text("I was told this: " + " and ".join(found))]}
