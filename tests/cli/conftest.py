"""The command line as its user has it: a real process, a home and a project of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fakes.transcripts import Transcript

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

ROOT = Path(__file__).resolve().parents[2]
DOOR = str(ROOT / "bin" / "tenon")
PYTHON = os.environ.get("TENON_TEST_PYTHON") or sys.executable  # the one the command runs on, which may be older than the tests'
PYTHONS = Path.home() / ".pyenv" / "versions"  # of the real home, before a test has its own
KEPT = ("PATH", "LANG", "SYSTEMROOT", "TEMP", "TMP", "TMPDIR", "COMSPEC", "PATHEXT")


class Result:
    """How a command ended."""

    def __init__(self, done: subprocess.CompletedProcess[bytes]) -> None:
        self.code = done.returncode
        self.out = done.stdout.decode("utf-8").replace("\r\n", "\n")
        self.err = done.stderr.decode("utf-8").replace("\r\n", "\n")

    @property
    def records(self) -> list[dict[str, Any]]:
        """Each line of the output as the JSON object it must be."""
        return [json.loads(line) for line in self.out.splitlines()]


class Tenon:
    """Runs `tenon` in the project; `env` holds what the environment says besides."""

    def __init__(self, home: Path, project: Path) -> None:
        self.home = home
        self.project = project
        self.env: dict[str, str] = {}

    def __call__(self, *arguments: str, given: str | bytes = "", cwd: Path | None = None, start: tuple[str, ...] = (PYTHON, "-I", "-S", DOOR)) -> Result:
        data = given.encode() if isinstance(given, str) else given
        done = subprocess.run([*start, *arguments], input=data, capture_output=True, cwd=cwd or self.project, env=self.environment(), timeout=180, check=False)
        return Result(done)

    def environment(self) -> dict[str, str]:
        """The environment of a command: nothing of the real home, and no Ollama of this machine."""
        own = {
            "HOME": str(self.home), "USERPROFILE": str(self.home), "TENON_HOME": str(self.home / ".tenon"),
            "CLAUDE_CONFIG_DIR": str(self.home / ".claude"), "COLUMNS": "100", "TENON_EMBED_OLLAMA": "off",
        }  # fmt: skip
        return {**{name: os.environ[name] for name in KEPT if name in os.environ}, **own, **self.env}

    def ok(self, *arguments: str, given: str = "") -> Result:
        """The result of a command that must succeed."""
        result = self(*arguments, given=given)
        assert (0, "") == (result.code, result.err if "Traceback" in result.err else ""), result.err
        return result

    def written(self, text: str, *more: str) -> str:
        """The id of a memory that was just written."""
        return str(self.ok("write", text, "--json", *more).records[0]["id"])

    def talk(self, session: str = "s1") -> Transcript:
        """An empty transcript of a session in the project."""
        return Transcript(str(self.home / ".claude" / "projects" / "-my-project" / f"{session}.jsonl"), folder=str(self.project))


@pytest.fixture()
def tenon(tmp_path: Path) -> Tenon:
    """The command, in a home and a project whose names have spaces and other letters."""
    home, project = tmp_path / "a hömе", tmp_path / "my prøject"
    home.mkdir()
    project.mkdir()
    return Tenon(home, project)
