"""The real Claude Code in print mode: a binary, a home of its own, and a Messages API to talk to."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import IO

ROOT = Path(__file__).resolve().parents[2]
API_KEY = "sk-ant-fake-key-of-the-test-suite-0001"
BINARIES_VARIABLE = "TENON_TEST_CLAUDE"
INSTALLED = "node_modules/.bin"
KEPT = ("PATH", "LANG", "TMPDIR", "SYSTEMROOT", "TEMP", "TMP", "COMSPEC", "PATHEXT")
VERSION = re.compile(r"\d+\.\d+\.\d+")


@dataclass
class Result:
    """How a run ended."""

    returncode: int
    stdout: str
    stderr: str


def seed_home(home: Path, project: Path, api_key: str = API_KEY) -> None:
    """Writes the three keys of ~/.claude.json without which Claude Code asks questions first."""
    home.mkdir(parents=True, exist_ok=True)
    project.mkdir(parents=True, exist_ok=True)
    known = {
        "hasCompletedOnboarding": True,
        "customApiKeyResponses": {"approved": [api_key[-20:]], "rejected": []},
        "projects": {str(project.resolve()): {"hasTrustDialogAccepted": True}},
    }
    (home / ".claude.json").write_text(json.dumps(known), encoding="utf-8")


def environment(home: Path, api_url: str, api_key: str = API_KEY) -> dict[str, str]:
    """The whole environment of a Claude Code that talks to nobody but `api_url`, nor does Tenon in it."""
    return {
        **{name: os.environ[name] for name in KEPT if name in os.environ},
        "HOME": str(home),
        "USERPROFILE": str(home),
        "TERM": "xterm-256color",
        "ANTHROPIC_BASE_URL": api_url,
        "ANTHROPIC_API_KEY": api_key,
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_TELEMETRY": "1",
        "DISABLE_AUTOUPDATER": "1",
        "DISABLE_ERROR_REPORTING": "1",
        "TENON_EMBED_OLLAMA": "off",
    }


def find_claude() -> dict[str, Path]:
    """The binaries to test with, by version; {} when there is none.

    Looks at the variable TENON_TEST_CLAUDE (paths, separated like PATH), then at
    .cache/claude/<version>/node_modules/.bin/claude under the repository.
    """
    found: dict[str, Path] = {}
    for name in filter(None, os.environ.get(BINARIES_VARIABLE, "").split(os.pathsep)):
        binary = Path(name)
        if not binary.exists():
            raise FileNotFoundError(f"{BINARIES_VARIABLE} names {name}, which does not exist")
        answer = subprocess.run([name, "--version"], capture_output=True, text=True, timeout=30, check=True).stdout
        version = VERSION.search(answer)
        found[version.group() if version else name] = binary
    for folder in sorted((ROOT / ".cache" / "claude").glob("*")):
        for name in ("claude", "claude.cmd", "claude.exe"):
            binary = folder / INSTALLED / name
            if binary.exists():
                found.setdefault(folder.name, binary)
                break
    return found


class ClaudeCode:
    """One user of Claude Code: runs it in `project` with `home` as its home."""

    def __init__(self, binary: Path, home: Path, api_url: str, project: Path) -> None:
        self.binary = binary
        self.home = home
        self.project = project
        self.env = environment(home, api_url)
        if not (home / ".claude.json").exists():
            seed_home(home, project)

    def run(self, prompt: str, *args: str, timeout_s: float = 60, env: dict[str, str] | None = None) -> Result:
        """How `claude -p PROMPT` ended; `env` is laid over the environment."""
        return self.start(["-p", prompt, *args], timeout_s, env)

    def plugin(self, *args: str, timeout_s: float = 60) -> Result:
        """How `claude plugin ...` ended."""
        return self.start(["plugin", *args], timeout_s, None)

    def start(self, args: list[str], timeout_s: float, env: dict[str, str] | None) -> Result:
        """How the command ended; raises TimeoutError with its output when it did not."""
        command = [str(self.binary), *args]
        whole = {**self.env, **(env or {})}
        # Files, not pipes: a tool server that outlives Claude Code would keep a pipe open for ever.
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            process = subprocess.Popen(
                command, cwd=self.project, env=whole, stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                start_new_session=True,
            )  # fmt: skip
            try:
                process.wait(timeout_s)
            except subprocess.TimeoutExpired:
                end(process)
                said = written(out) + written(err)
                what = f"claude {' '.join(args)} did not end within {timeout_s} s"
                raise TimeoutError(f"{what}; it said: {said}") from None
            return Result(process.returncode, written(out), written(err))


def end(process: subprocess.Popen[bytes]) -> None:
    """Kills the process, and on POSIX what it started."""
    if os.name == "posix":
        os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()
    process.wait()


def written(file: IO[bytes]) -> str:
    """The whole text of a file that is still open."""
    file.seek(0)
    return file.read().decode("utf-8", "replace")
