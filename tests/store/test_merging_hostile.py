"""Exports that somebody made up, or that something has damaged: what can be used is, and nothing lands where it does not belong."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tenon.store import archive, episodes, exporting, forgotten, merged_memories, merged_turns, merging
from tenon.store.db import Store
from tenon.store.exporting import Choice
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


@pytest.mark.parametrize(
    "spoilt",
    [
        memory("maaaaaaab2", "x", created=10**400), memory("maaaaaaab2", "x", created=-(10**400)), turn("a", dealt={"how": "written", "at": 10**400}),
        turn("a", lines=[""]), turn("a", lines=[5]), {"record": "identity", "frozen": "9" * 400}, {"record": "identity", "frozen": "٣"},
    ],
    ids=lambda record: str(record.get("frozen", record.get("text", record.get("lines", record["record"]))))[:9],
)  # fmt: skip
def test_one_wrong_field_is_one_broken_line(target: Store, tmp_path: Path, spoilt: dict[str, Any]) -> None:
    """Named by its number; what stands before and after it is used."""
    report = lived.brought(target, told(SESSION, turn("before"), spoilt, turn("after"), memory("maaaaaaab3", "y")), tmp_path)

    assert [4] == broken(report)
    assert (2, 1) == (report.count("turn", "new"), report.count("memory", "new"))


def test_half_a_character_in_the_id_of_a_line_harms_nobody(target: Store, tmp_path: Path) -> None:
    """It is read as what it can be."""
    assert ([], 1) == ((report := lived.brought(target, told(SESSION, turn("hello", lines=["\ud800"])), tmp_path)).broken, report.count("turn", "new"))


def test_what_nobody_has_foreseen_spoils_one_turn_of_a_batch(target: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And what follows that one; the others are archived."""
    note = merged_turns.Turns._note

    def fail(self: Any, number: int, record: Any) -> None:
        if record.get("gist") == "wrong":
            raise OverflowError("too large")
        note(self, number, record)

    monkeypatch.setattr(merged_turns.Turns, "_note", fail)
    one, two = turn("one", lines=["u1"]), turn("two", gist="wrong", lines=["u2"])

    report = lived.brought(target, told(SESSION, one, two, turn("three", two["hash"]), turn("four", one["hash"])), tmp_path)

    assert [4, 5] == broken(report)
    assert ((2, 2), ["one", "four"]) == ((report.count("turn", "new"), report.count("turn", "refused")), said(target))
    assert [] == checked(target)[1]


def said(store: Store) -> list[str]:
    """The texts of the archive."""
    return [json.loads(content)[0]["text"] for (content,) in store.rows("SELECT content FROM turn ORDER BY id")]


def resumed(store: Store) -> None:
    """A session, and another one that went on with it much later."""
    repository = int(store.execute("INSERT INTO repository (key, seen) VALUES (?, 1.0)", (HOME,)).lastrowid or 0)
    for name, uuid, parent, at in (("s1", "u1", "", 10.0), ("s2", "u2", "u1", 1000.0), ("s2", "u3", "u2", 1001.0)):
        session = archive.session(store, name, repository=repository, folder="/x", at=at)
        content: list[object] = [{"type": "text", "text": f"said {uuid}"}]
        archive.append(store, session, repository, [archive.Row(uuid=uuid, parent=parent, role="user", kind="prompt", source="user", at=at, content=content)])


def test_a_session_that_was_resumed_comes_without_what_it_follows(target: Store, tmp_path: Path) -> None:
    """Its first turn begins anew; where the whole comes later, or came before, nothing is there twice and every turn is proved."""
    with lived.fresh(tmp_path, "own") as own:
        resumed(own)
        whole, part = (b"".join(map(exporting.line, exporting.records(own, Choice(None, since, turns=True)))) for since in (0.0, 500.0))
    report = lived.brought(target, part, tmp_path)
    assert ([], 2, ["said u2", "said u3"]) == (report.broken, report.count("turn", "new"), said(target))
    for data, new in ((part, 0), (whole, 1), (whole, 0), (part, 0)):
        report = lived.brought(target, data, tmp_path)
        assert ([], new, []) == (report.broken, report.count("turn", "new"), checked(target)[1])
    assert ["said u1", "said u2", "said u3"] == sorted(said(target))
    with lived.fresh(tmp_path, "other way") as other:
        assert [3, 0] == [lived.brought(other, data, tmp_path).count("turn", "new") for data in (whole, part)]
        assert whole == lived.exported(other)


def test_a_turn_that_is_cut_off_proves_what_it_says(target: Store, tmp_path: Path) -> None:
    """Over the parent that it names; and one that does not say that it is cut waits for its parent in vain."""
    nowhere = "ab" * 32
    wrong = {**turn("one", nowhere, cut=True), "content": [{"type": "text", "text": "another"}]}

    report = lived.brought(target, told(SESSION, wrong, turn("two", nowhere), turn("three", nowhere, cut=True)), tmp_path)

    assert ([3, 4], ["three"]) == (sorted(broken(report)), said(target))


def test_turns_without_a_parent_are_tried_again_twice_and_not_at_every_line(target: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once the sessions are over, and at the end."""
    tries: list[int] = []
    retry = merging._Merging._retry
    monkeypatch.setattr(merging._Merging, "_retry", lambda self: (tries.append(len(self._later)), retry(self))[1])
    alone = [turn(f"said {at}", "ab" * 32) for at in range(5)]

    report = lived.brought(target, told(SESSION, *alone, *(memory(f"maaaaaaa{a}{b}", f"fact {a}{b}") for a in "abcd" for b in "abcd")), tmp_path)

    assert ([5, 5], 5, 16) == (tries, report.bad, report.count("memory", "new"))


def test_a_line_that_is_longer_than_any_record_is_one_broken_line(target: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not parsed at all, and the numbers of the others are theirs."""
    monkeypatch.setattr(merging, "LONGEST", 4000)
    long = memory("maaaaaaab2", "x", labels=[[]] * 5000)

    report = lived.brought(target, told(long, memory("maaaaaaab3", "y"), {"record": "nothing"}), tmp_path)

    assert ([(2, "is longer than any record")], 4, 1, False) == (report.broken[:1], report.broken[1][0], report.count("memory", "new"), report.cut_off)


def test_a_line_that_is_shown_moves_no_cursor() -> None:
    """Control characters of any kind and marks of direction are written as escapes; a file has them as they are."""
    record = {"record": "memory", "text": "\x1b[31m \x9b31m \u202e größe"}

    shown = exporting.line(record, is_shown=True)

    assert (True, record, record) == (shown.isascii(), json.loads(shown), json.loads(exporting.line(record)))
    assert b"\x1b" not in shown


def test_a_word_that_was_forgotten_elsewhere_is_not_taken_out_of_everything_here(target: Store, tmp_path: Path) -> None:
    """Longer texts are; what was taken over can be let go of again, and what was forgotten here cannot that way."""
    with lived.fresh(tmp_path, "own") as own:
        for text in ("never", "the parrot is called Ottilie"):
            forgotten.bury_named(own, text, "the wish", 5.0)
        data = lived.exported(own)

    report = lived.brought(target, data, tmp_path)

    assert (1, 3) == (report.count("forgotten", "short"), report.count("forgotten", "new"))
    assert "never say [forgotten]" == forgotten.without(target, "never say the parrot is called Ottilie")
    assert b"taken over" not in lived.exported(target)
    forgotten.bury_named(target, "a wish of my own", "mine", 6.0)
    assert (3, 0) == (merging.unforget(target, 7.0), merging.unforget(target, 8.0))
    assert "the parrot is called Ottilie [forgotten]" == forgotten.without(target, "the parrot is called Ottilie a wish of my own")


def test_no_field_carries_a_secret_past_redaction(target: Store, tmp_path: Path) -> None:
    """Neither a name nor an id nor a hash that is none; the chain holds, and nothing comes twice."""
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    key = f"example.org/acme/{secret}"
    procedure = {"name": "n", "trigger": "t", "steps": "s", "paths": [], "digest": secret, "status": "validated", "applied": 1, "succeeded": 1, "spell": 1}
    name = f"s {secret}"
    first = turn("one", session=name, thread=f"th {secret}", message=secret, lines=[f"u {secret}"], repository=key)
    data = told(
        {"record": "repository", "key": key, "seen": 5.0},
        {"record": "forgotten", "salt": secret, "hash": "00" * 32, "words": 0, "reason": "r", "at": 5.0},
        {**SESSION, "name": name, "client": secret, "repository": key},
        first,
        turn("two", first["hash"], session=name, repository=key),
        memory("maaaaaaab2", "x", kind="procedure", repository=key, procedure=procedure),
    )

    report = lived.brought(target, data, tmp_path)

    assert ([3], 2, 1) == (broken(report), report.count("turn", "new"), report.count("memory", "new"))
    assert [] == [line for line in target.con.iterdump() if secret in line]
    assert [] == checked(target)[1]
    assert 0 == lived.brought(target, data, tmp_path).count("turn", "new")
