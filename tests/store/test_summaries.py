"""Summaries of sessions: one each, the newest one of a repository is found."""

from __future__ import annotations

import pytest

from tenon.store import archive, summaries
from tenon.store.db import Store


@pytest.fixture()
def sessions(store: Store) -> list[int]:
    """Two sessions of repository 1, one of repository 2; 3 is an alias of 1."""
    store.execute("INSERT INTO repository (id, key, same_as, seen) VALUES (1, 'path:/p', NULL, 1.0), (2, 'path:/q', NULL, 1.0), (3, 'path:/r', 1, 1.0)")
    return [archive.session(store, name, repository=number, folder="/p", at=1.0) for name, number in (("s1", 1), ("s2", 1), ("s3", 2))]


def test_a_session_has_one_summary(store: Store, sessions: list[int]) -> None:
    """The last one written."""
    summaries.upsert(store, sessions[0], 1, "first", 5.0)
    summaries.upsert(store, sessions[0], 1, "second", 6.0)
    found = summaries.of_session(store, sessions[0])

    assert found is not None
    assert (sessions[0], "s1", 1, "second", 6.0) == (found.session, found.name, found.repository, found.text, found.at)
    assert 1 == store.value("SELECT count(*) FROM summary")
    assert summaries.of_session(store, sessions[1]) is None


def test_the_newest_of_a_repository_is_found(store: Store, sessions: list[int]) -> None:
    """Of its aliases too, and without the session that asks."""
    summaries.upsert(store, sessions[0], 1, "older", 5.0)
    summaries.upsert(store, sessions[1], 1, "newer", 6.0)
    summaries.upsert(store, sessions[2], 2, "elsewhere", 7.0)
    asked = [summaries.latest(store, 1), summaries.latest(store, 3), summaries.latest(store, 1, before_session="s2"), summaries.latest(store, 2)]

    assert ["newer", "newer", "older", "elsewhere"] == [found.text for found in asked if found]
    assert summaries.latest(store, 2, before_session="s3") is None
    assert summaries.latest(store, None) is None


def test_a_dropped_summary_is_gone(store: Store, sessions: list[int]) -> None:
    """And dropping it again says that there was none."""
    summaries.upsert(store, sessions[0], 1, "text", 5.0)

    assert [True, False] == [summaries.drop(store, sessions[0]) for _ in range(2)]
    assert summaries.of_session(store, sessions[0]) is None


def test_what_a_summary_is_made_of(store: Store, sessions: list[int]) -> None:
    """Neither thinking nor notices nor what was forgotten; sub-agents' turns too."""
    for text, kind, thread in (
        ("ask", "prompt", ""),
        ("hm", "thinking", ""),
        ("notice", "other", ""),
        ("gone", "reply", ""),
        ("sub", "call", "abc"),
        ("end", "reply", ""),
    ):
        role = "user" if kind == "prompt" else "assistant"
        block: list[object] = [{"type": "text", "text": text}]
        archive.append(store, sessions[0], 1, [archive.Row(uuid=text, parent="", role=role, kind=kind, source=role, at=2.0, content=block, thread=thread)])
    store.execute("UPDATE turn SET content = '[]', forgotten = 5.0 WHERE id = 4")

    assert ["ask", "sub", "end"] == [turn.text() for turn in summaries.told(store, sessions[0])]
