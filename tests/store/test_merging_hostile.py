"""Exports that somebody made up, or that something has damaged: what can be used is, and nothing lands where it does not belong."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tenon.store import archive, episodes, merged_memories, merging
from tenon.store.db import Store
from tests.store import lived
from tests.store.chain import checked

HEAD = {"tenon": "export", "version": 1, "archive": True}
HOME = "example.org/acme/widgets"
SESSION: dict[str, Any] = {"record": "session", "name": "s1", "repository": HOME, "folder": "/x", "client": "c", "started": 5.0, "last": 5.0}


@pytest.fixture()
def target(tmp_path: Path) -> Iterator[Store]:
    """An empty store."""
    with lived.fresh(tmp_path, "target") as opened:
        yield opened


def told(*records: dict[str, Any]) -> bytes:
    """An export that holds these."""
    lines = [HEAD, *records, {"record": "end", "lines": len(records) + 2}]
    return b"".join(json.dumps(each).encode() + b"\n" for each in lines)


def memory(ref: str, text: str, **more: Any) -> dict[str, Any]:
    """The record of a fact."""
    times = dict.fromkeys(("created", "reinforced", "decayed", "valid_from"), 5.0)
    return {
        "record": "memory", "id": ref, "tier": "long", "kind": "fact", "text": text, "reason": "", "source": "user", "labels": [], "epic": "", "strength": 1.0,
        "citations": 0, "revision": 1, "status": "live", "writer": "user", **times, **more,
    }  # fmt: skip


def turn(text: str, parent: str | None = None, session: str = "s1", **more: Any) -> dict[str, Any]:
    """The record of a prompt, with the hash that it should have."""
    content = [{"type": "text", "text": text}]
    own = archive.chain_hash(bytes.fromhex(parent) if parent else None, session, more.get("thread", ""), "user", archive.canonical(content))
    found = {
        "record": "turn", "session": session, "hash": own.hex(), "repository": HOME, "role": "user", "kind": "prompt", "source": "user", "at": 5.0,
        "content": content, **more,
    }  # fmt: skip
    return {**found, "parent": parent} if parent else found


def broken(report: merging.Report) -> list[int]:
    """The numbers of the lines that could not be used."""
    return [number for number, _ in report.broken]


def test_a_repository_that_was_taken_back_lends_its_number_to_nobody(target: Store, tmp_path: Path) -> None:
    """What names it later gets it anew, and not the one that took the number since."""
    wrong = {"record": "task", "repository": "example.org/evil/a", "epic": "e", "title": 5, "status": "active", "body": {}, "created": 5.0, "updated": 5.0}
    data = told(
        wrong,
        {"record": "repository", "key": "example.org/my/own", "seen": 5.0},
        memory("maaaaaaaa2", "a note of theirs", repository="example.org/evil/a"),
        memory("maaaaaaaa3", "a note of mine", repository="example.org/my/own"),
    )

    report = lived.brought(target, data, tmp_path)

    assert [2] == broken(report)
    homes = dict(target.rows("SELECT m.text, r.key FROM memory m JOIN repository r ON r.id = m.repository"))
    assert {"a note of theirs": "example.org/evil/a", "a note of mine": "example.org/my/own"} == homes


def test_a_memory_that_was_taken_back_lends_its_number_to_nobody(target: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor is its text taken for one that is here, nor its id for one that something can be linked to."""
    add = merged_memories.Memories._add_parts

    def fail(self: Any, number: int, episode: Any, procedure: Any) -> bool:
        if episode is not None:
            raise ValueError("no such episode")
        return add(self, number, episode, procedure)

    monkeypatch.setattr(merged_memories.Memories, "_add_parts", fail)
    action, ending = min(episodes.ACTIONS), min(episodes.ENDINGS)
    episode = {"situation": "s", "action": action, "taken": "t", "expected": ending, "outcome": ending, "evidence": "e"}
    first, bad = memory("maaaaaaaa2", "the lantern is green"), memory("maaaaaaaa3", "the harbour is closed", kind="experience", episode=episode)
    link = {
        "record": "edge",
        "from": "maaaaaaaa3",
        "to": "maaaaaaaa2",
        "kind": "supports",
        "status": "proposed",
        "strength": 1.0,
        "created": 5.0,
        "decayed": 5.0,
    }

    report = lived.brought(target, told(first, bad, memory("maaaaaaaa4", "the zebra is fast"), memory("maaaaaaaa5", "the harbour is closed"), link), tmp_path)

    assert [3] == broken(report)
    assert ["the lantern is green", "the zebra is fast", "the harbour is closed"] == [row[0] for row in target.rows("SELECT text FROM memory ORDER BY id")]
    assert 1 == report.count("edge", "apart")


def test_a_session_that_was_taken_back_has_no_turns(target: Store, tmp_path: Path) -> None:
    """One with a summary that is none: its turns are refused with it, and the others are used."""
    wrong = {**SESSION, "name": "s2", "summary": {"text": "x", "at": 5.0, "writer": "somebody"}}

    report = lived.brought(target, told(wrong, turn("said in it", session="s2"), {**SESSION, "name": "s3"}, turn("said elsewhere", session="s3")), tmp_path)

    assert [2, 3] == broken(report)
    assert [("s3", "said elsewhere")] == [
        (name, json.loads(content)[0]["text"]) for name, content in target.rows("SELECT s.name, t.content FROM turn t JOIN session s ON s.id = t.session")
    ]
    assert [] == checked(target)[1]
