"""Hook events as Claude Code fires them: a process, the event on its stdin, its answer on stdout."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tenon.base import paths
from tenon.store import archive, db, places

ROOT = Path(__file__).resolve().parents[2]
HOOK = ROOT / "hooks" / "hook.py"
NOW = time.time()


class Fired:
    """How a hook ended: its exit code, its whole output, and the parts of its answer."""

    def __init__(self, done: subprocess.CompletedProcess[str]) -> None:
        self.code = done.returncode
        self.output = done.stdout
        self.errors = done.stderr
        self.answer: dict[str, Any] = json.loads(done.stdout) if done.stdout else {}

    @property
    def context(self) -> str:
        """The text for the model."""
        return str(self.answer.get("hookSpecificOutput", {}).get("additionalContext", ""))


def say(store: db.Store, repository: int, prompt: str, reply: str, at: float = NOW, session: str = "earlier") -> None:
    """An exchange of an earlier session in the archive."""
    number = archive.session(store, session, repository=repository, folder="/x", at=at)
    rows = [("prompt", "user", "user", prompt), ("reply", "assistant", "assistant", reply)]
    archive.append(
        store, number, repository,
        [archive.Row(uuid="", parent="", role=role, kind=kind, source=source, at=at, content=[{"type": "text", "text": text}]) for kind, role, source, text in rows],
    )  # fmt: skip


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with a space and letters beyond ASCII."""
    project = tmp_path / "mein Projekt é"
    project.mkdir()
    return project.resolve()


@pytest.fixture
def fire(project: Path) -> Callable[..., Fired]:
    """Runs the hook for an event; `raw` replaces the whole of stdin, `env` is laid over the environment."""

    def fire(event: str, *, raw: bytes | None = None, env: dict[str, str] | None = None, **fields: Any) -> Fired:
        given = {"hook_event_name": event, "session_id": "session-1", "cwd": str(project), "transcript_path": "", **fields}
        done = subprocess.run(
            [sys.executable, "-I", "-S", str(HOOK)],
            input=json.dumps(given).encode() if raw is None else raw,
            capture_output=True, cwd=project, env={**os.environ, **(env or {})}, timeout=30, check=False,
        )  # fmt: skip
        return Fired(subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode()))

    return fire


@pytest.fixture
def store() -> Iterator[db.Store]:
    """The default agent's store, open beside the hooks."""
    with db.open_store(paths.store_path("default")) as store:
        yield store


@pytest.fixture
def repository(store: db.Store, project: Path) -> int:
    """The project's repository."""
    return places.settle(store, str(project), 1.0)
