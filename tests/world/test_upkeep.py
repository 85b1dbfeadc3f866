"""Upkeep: what nobody has looked through is, when a session runs, and a store that is busy waits."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tenon.base import paths
from tenon.store import cleaning, db, growth, pressure, spotted
from tenon.store.db import Store
from tenon.world import upkeep
from tests.digest.minds import Mind


@pytest.fixture()
def store() -> Iterator[Store]:
    """The default agent's store."""
    with db.open_store(paths.store_path("default")) as opened:
        yield opened


def test_what_was_said_is_looked_through_and_measured(store: Store) -> None:
    """A correction becomes a memory, the pressure is known, and the day has its row."""
    mind = Mind(store)
    mind.say("We decided to keep all invoices in the vault of Graz for eleven years.")
    mind.say("Noted.", role="assistant")
    upkeep.once(lambda: False, lambda: mind.at)

    assert ["code"] == [row[0] for row in store.rows("SELECT writer FROM memory")]
    assert not list(spotted.behind(store))
    assert 0 < pressure.noted(store) < 100
    assert [(1, 2)] == [(day.memories, day.turns) for day in growth.since(store, 0)]


@pytest.mark.parametrize("way", ["stopped", "busy", "missing", "off"])
def test_it_does_nothing_when_it_must_not(store: Store, way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Told to stop, another is writing, there is no store, or Tenon is off: no fault, nothing done."""
    mind = Mind(store)
    mind.say("We decided to keep all invoices in the vault of Graz for eleven years.")
    monkeypatch.setattr(upkeep, "BUSY_S", 0.01)
    if way == "busy":
        store.execute("BEGIN IMMEDIATE")
    elif way == "missing":
        monkeypatch.setenv("TENON_AGENT", "somebody")
    elif way == "off":
        monkeypatch.setenv("TENON_DISABLE", "1")
    upkeep.once(lambda: way == "stopped", lambda: mind.at)
    if way == "busy":
        store.execute("ROLLBACK")

    assert 0 == store.value("SELECT count(*) FROM memory")


@pytest.mark.parametrize("stopped", [False, True])
def test_it_cleans_the_files_when_that_is_due(store: Store, stopped: bool) -> None:
    """Of what was deleted by somebody who was ended before that; but not when it is told to stop."""
    cleaning.note(store)

    upkeep.once(lambda: stopped)

    assert stopped == cleaning.is_due(store)
