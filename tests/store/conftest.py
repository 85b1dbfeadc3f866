"""A real store file, and two repositories in it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tenon.store import db
from tenon.store.db import Store

ADD_REPOSITORY = "INSERT INTO repository (key, seen) VALUES (?, 1.0)"


@pytest.fixture()
def store(tmp_path: Path) -> Iterator[Store]:
    """An empty store, in a folder with spaces and accents."""
    with db.open_store(str(tmp_path / "café au lait" / "agents" / "default" / "tenon.db")) as opened:
        yield opened


@pytest.fixture()
def repository(store: Store) -> int:
    """The repository that a test works in."""
    return int(store.execute(ADD_REPOSITORY, ("example.org/acme/widgets",)).lastrowid or 0)


@pytest.fixture()
def other(store: Store, repository: int) -> int:
    """Another repository, which has nothing to do with the first."""
    return int(store.execute(ADD_REPOSITORY, ("example.org/acme/gadgets",)).lastrowid or 0)
