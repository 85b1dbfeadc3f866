"""Stores that wait open between requests."""

from __future__ import annotations

import os

import pytest

from tenon.base import paths
from tenon.proxy.stores import Stores
from tenon.store import db


def test_a_store_is_used_again_and_by_one_at_a_time() -> None:
    """Two that work at once have one each."""
    stores = Stores()
    with stores.use("default") as first, stores.use("default") as second:
        assert first is not second
    with stores.use("default") as third:
        assert third in (first, second)
    stores.sweep(float("inf"))


def test_a_replaced_or_deleted_store_is_opened_anew() -> None:
    """What is read is what stands there now."""
    stores = Stores()
    with stores.use("default") as store:
        store.execute("INSERT INTO meta (name, value) VALUES ('whose', 'the old one')")
    path = paths.store_path("default")
    for name in (path, path + "-wal", path + "-shm"):
        if os.path.exists(name):
            os.remove(name)
    with stores.use("default") as store:
        assert None is store.value("SELECT value FROM meta WHERE name = 'whose'")
    stores.sweep(float("inf"))


def test_a_store_that_was_in_use_at_a_fault_is_not_used_again() -> None:
    """It may be in the middle of something."""
    stores = Stores()
    with pytest.raises(RuntimeError), stores.use("default") as broken:
        raise RuntimeError("in the middle")
    with stores.use("default") as store:
        assert store is not broken
    stores.sweep(float("inf"))


def test_what_has_waited_is_given_back() -> None:
    """So that an agent can be deleted while the proxy runs."""
    stores = Stores()
    with stores.use("default") as store:
        pass
    stores.sweep(0.0)
    with stores.use("default") as again:
        assert again is store
    stores.sweep(float("inf"))
    with pytest.raises(db.sqlite.ProgrammingError):
        store.rows("SELECT 1")
