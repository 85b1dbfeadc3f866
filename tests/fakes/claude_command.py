"""A stand-in for `claude -p` as a program: a script in a folder of its own that notes how it was called, and says and does as it is told.

What it says is shaped as the real ones say it with `--output-format stream-json --include-partial-messages`, see `live/test_digest_runner.py`.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import threading
from pathlib import Path
from typing import Any

SCRIPT = r"""
import json, os, signal, socket, subprocess, sys

here = os.path.dirname(os.path.abspath(__file__))
with open(os.path.join(here, "plan.json"), encoding="utf-8") as file:
    plan = json.load(file)
texts = {}
for word in sys.argv[1:]:
    if os.path.isfile(word):
        with open(word, encoding="utf-8") as file:
            texts[word] = file.read()
run = {"argv": sys.argv[1:], "stdin": sys.stdin.buffer.read().decode("utf-8"), "env": dict(os.environ), "cwd": os.getcwd(), "around": os.listdir("."), "texts": texts}
with open(os.path.join(here, "ran.jsonl"), "a", encoding="utf-8") as file:
    file.write(json.dumps(run) + "\n")
if plan["port"]:
    watched = socket.create_connection(("127.0.0.1", plan["port"]))
    deaf = "import signal, socket, sys; signal.signal(signal.SIGTERM, signal.SIG_IGN); socket.create_connection(('127.0.0.1', int(sys.argv[1]))).recv(1)"
    subprocess.Popen([sys.executable, "-I", "-S", "-c", deaf, str(plan["port"])])
    watched.recv(1)
sys.stderr.write(plan["errors"])
for part in plan["says"]:
    sys.stdout.write(part)
    sys.stdout.flush()
while plan["floods"]:
    sys.stdout.write("x" * 65536 + "\n")
if plan["waits"]:
    here, there = socket.socketpair()
    here.recv(1)
sys.exit(plan["code"])
"""


class ClaudeCommand:
    """The program `claude` in `folder`, which is to stand on the PATH; `ran` is how it was called, each time."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        script = folder / "claude_script.py"
        script.write_text(SCRIPT, encoding="utf-8")
        if sys.platform == "win32":
            self.path = folder / "claude.cmd"
            self.path.write_text(f'@"{sys.executable}" -I -S "{script}" %*\n', encoding="utf-8")
        else:
            self.path = folder / "claude"
            self.path.write_text(f'#!/bin/sh\nexec "{sys.executable}" -I -S "{script}" "$@"\n', encoding="utf-8")
            self.path.chmod(0o755)
        self.plan(says(""))

    def plan(self, *said: str, errors: str = "", code: int = 0, waits: bool = False, floods: bool = False, port: int = 0) -> None:
        """What it does from now on: says these things and `errors` beside them, then floods, waits for ever, or exits; with a port, watched by `Watch`."""
        told = {"says": said, "errors": errors, "code": code, "waits": waits, "floods": floods, "port": port}
        (self.folder / "plan.json").write_text(json.dumps(told), encoding="utf-8")

    @property
    def ran(self) -> list[dict[str, Any]]:
        """argv, stdin, env, cwd, what lay around there, and the texts of files that it was given."""
        notes = self.folder / "ran.jsonl"
        return [json.loads(line) for line in notes.read_text(encoding="utf-8").splitlines()] if notes.exists() else []


class Watch:
    """Knows when a program and the one that it starts have ended; until both are there the program says nothing."""

    def __init__(self) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self.listener.getsockname()[1])
        self.held: list[socket.socket] = []
        self.thread = threading.Thread(target=self.welcome, daemon=True)
        self.thread.start()

    def welcome(self) -> None:
        """Lets the program go on once both are connected."""
        for _ in range(2):
            self.held.append(self.listener.accept()[0])
        self.held[0].sendall(b"!")

    def have_ended(self) -> bool:
        """Whether both are gone; waits for it, not for ever."""
        self.thread.join(20)
        return 2 == len(self.held) and all(is_over(connection) for connection in self.held)

    def __enter__(self) -> Watch:
        return self

    def __exit__(self, *_: object) -> None:
        for connection in [self.listener, *self.held]:
            connection.close()


def is_over(connection: socket.socket) -> bool:
    """Whether the other end has gone."""
    connection.settimeout(20)
    try:
        return b"" == connection.recv(1)
    except ConnectionError:
        return True
    except OSError:
        return False


def line(**fields: Any) -> str:
    """A line of what is said."""
    return json.dumps(fields) + "\n"


def event(kind: str, **fields: Any) -> str:
    """The line for an event of the API's stream."""
    return line(type="stream_event", event={"type": kind, **fields}, session_id="s", parent_tool_use_id=None, uuid="u")


def begins(model: str = "claude-haiku-5-5", *, given: int = 120, written: int = 0, read: int = 0) -> str:
    """The beginning of an answer from the API."""
    usage = {"input_tokens": given, "cache_creation_input_tokens": written, "cache_read_input_tokens": read, "output_tokens": 1}
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": model, "content": [], "stop_reason": None, "usage": usage}
    return event("message_start", message=message)


def speaks(words: str) -> str:
    """The words of an answer, in two pieces, after a thought."""
    thought = event("content_block_delta", index=0, delta={"type": "thinking_delta", "thinking": "let me see"})
    half = len(words) // 2
    return thought + "".join(event("content_block_delta", index=1, delta={"type": "text_delta", "text": part}) for part in (words[:half], words[half:]))


def stops(reason: str = "end_turn", out: int = 30) -> str:
    """The end of an answer."""
    return event("message_delta", delta={"stop_reason": reason, "stop_sequence": None}, usage={"output_tokens": out}) + event("message_stop")


def result(words: str | None, **more: Any) -> str:
    """The last line, as that of an answer that went well."""
    usage = {"input_tokens": 120, "cache_creation_input_tokens": 11, "cache_read_input_tokens": 7, "output_tokens": 30, "service_tier": "standard"}
    told = {
        "subtype": "success",
        "is_error": False,
        "api_error_status": None,
        "num_turns": 1,
        "result": words,
        "stop_reason": "end_turn",
        "total_cost_usd": 0.00027,
    }
    return line(type="result", **{**told, "usage": usage, "modelUsage": {"claude-haiku-5-5": {"inputTokens": 120}}, **more})


def failure(words: str, **more: Any) -> str:
    """The last line with an error in the place of an answer; nothing was charged."""
    nothing = {"input_tokens": 0, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": 0}
    return result(words, **{"is_error": True, "stop_reason": "stop_sequence", "total_cost_usd": 0, "usage": nothing, "modelUsage": {}, **more})


def says(words: str) -> str:
    """All that is said of an answer that went well."""
    opening = line(type="system", subtype="init", tools=[], mcp_servers=[], session_id="s")
    return opening + begins(written=11, read=7) + speaks(words) + stops() + result(words)


def on_path(folder: Path) -> str:
    """The PATH with the folder in front."""
    return str(folder) + os.pathsep + os.environ.get("PATH", "")
