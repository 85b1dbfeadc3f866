"""A store and a transcript of either version for each test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tenon.store import db
from tenon.store.db import Store
from tests.fakes.transcripts import NEW, OLD, Transcript


@pytest.fixture()
def store(tmp_path: Path) -> Iterator[Store]:
    """An empty store, made before every transcript of the test."""
    with db.open_store(str(tmp_path / "a störe" / "tenon.db")) as opened:
        opened.execute("UPDATE meta SET value = '1' WHERE name = 'began'")
        yield opened


@pytest.fixture()
def project(tmp_path: Path) -> Path:
    """The folder of the user's project."""
    folder = tmp_path / "my prøject"
    folder.mkdir()
    return folder


@pytest.fixture(params=[OLD, NEW])
def talk(request: pytest.FixtureRequest, tmp_path: Path, project: Path) -> Transcript:
    """An empty transcript of each version of Claude Code."""
    return Transcript(str(tmp_path / ".claude" / "projects" / "-my-pr-ject" / "s1.jsonl"), version=request.param, folder=str(project))
