"""A store for tests of what the world does with one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tenon.store import db
from tenon.store.db import Store


@pytest.fixture()
def store(tmp_path: Path) -> Iterator[Store]:
    """An empty store, in a folder with letters beyond ASCII."""
    with db.open_store(str(tmp_path / "a störe" / "tenon.db")) as opened:
        yield opened
