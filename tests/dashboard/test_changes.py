"""What --allow-edit lets the pages change, each as its verb does it, and what they cannot do."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tenon.base import paths
from tenon.base.errors import TenonError
from tenon.dashboard import changes
from tenon.dashboard.answers import Dashboard
from tenon.dashboard.door import Door
from tenon.dashboard.place import Wrong
from tenon.digest import undoing
from tenon.store import archive, backup, db, edges, identity, memories, places
from tenon.store.archive import Row
from tenon.store.db import Store
from tests.dashboard.asking import PORT, Visitor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

NOW = 1_800_000_000.0
DEEDS = "SELECT what FROM deed WHERE ref = ? ORDER BY id"


@pytest.fixture
def store() -> Iterator[Store]:
    """The default agent's store."""
    with db.open_store(paths.store_path("default")) as opened:
        yield opened


@pytest.fixture
def repository(store: Store, tmp_path: Path) -> int:
    """A repository in it."""
    return places.settle(store, str(tmp_path), NOW)


@pytest.fixture
def visitor() -> Visitor:
    """Somebody at a dashboard that may be edited."""
    return Visitor(Dashboard(Door(PORT), lambda: "default", allow_edit=True))


def written(store: Store, text: str, repository: int | None = None, *, writer: str = "digest") -> str:
    """The id of a memory with that text."""
    return memories.write(store, repository=repository, tier="long", kind="fact", text=text, reason="heard", now=NOW, writer=writer)[0]


def turn(store: Store, repository: int, text: str) -> str:
    """The id of an archived turn that says so."""
    session = archive.session(store, "s1", repository=repository, folder="/x", at=NOW, client="claude-code")
    archive.append(store, session, repository, [Row(uuid="u1", parent="", role="user", kind="prompt", source="user", at=NOW, content=[{"type": "text", "text": text}])])  # fmt: skip
    return f"t{store.value('SELECT max(id) FROM turn')}"


def test_a_correction_keeps_what_was_said_and_is_the_user_s(store: Store) -> None:
    """The history has the old text and the reason; no digest touches it; twice is once."""
    ref = written(store, "Deploys go out on Fridays")
    told = changes.change(store, {"action": "correct", "ref": ref, "text": " Deploys go out on Mondays ", "reason": "it was moved"}, NOW)
    changes.change(store, {"action": "correct", "ref": ref, "text": "Deploys go out on Mondays", "reason": "it was moved"}, NOW)
    memory = memories.get(store, ref)

    assert ("Deploys go out on Mondays", 2, "user", "user") == (memory.text, memory.revision, memory.writer, memory.source)
    assert [("Deploys go out on Fridays", "it was moved")] == [(one["text"], one["replaced_because"]) for one in memories.history(store, memory)]
    assert told["done"].startswith(f"{ref} says so now")
    assert ["revise"] == [what for (what,) in store.rows(DEEDS, (ref,)) if what == "revise"]


def test_what_no_store_can_hold_is_cleaned_away(visitor: Visitor, store: Store) -> None:
    """Half a letter in a text or a reason; a text that is nothing else is none."""
    ref = written(store, "Deploys go out on Fridays")
    assert 200 == visitor.change("default", {"action": "correct", "ref": ref, "text": "on \ud800Mondays\0", "reason": "\udfff"})[0]
    assert "on ?Mondays" == memories.get(store, ref).text
    assert 400 == visitor.change("default", {"action": "correct", "ref": ref, "text": "\0"})[0]
    assert 200 == visitor.change("default", {"action": "forget", "refs": [ref], "reason": "\ud800"})[0]


def test_a_statement_of_identity_is_corrected_as_one(store: Store) -> None:
    """Within its limits, as `tenon identity correct` does."""
    memory, _ = identity.add(store, "I ask first", NOW)
    told = changes.change(store, {"action": "correct", "ref": memory.ref, "text": "I ask before anything is deleted"}, NOW)

    assert memory.ref == told["ref"]
    assert ["I ask before anything is deleted"] == [one.text for one in identity.held(store)]
    with pytest.raises(TenonError, match="at most"):
        changes.change(store, {"action": "correct", "ref": memory.ref, "text": "x" * 2000}, NOW)


def test_what_is_forgotten_is_gone_and_stays_gone(store: Store, repository: int) -> None:
    """A memory and a turn; of the turn asked for twice it is said."""
    ref, said = written(store, "The cellar code is 4711"), turn(store, repository, "the attic code is 1234")
    told = changes.change(store, {"action": "forget", "refs": [ref, said], "reason": "private"}, NOW)
    again = changes.change(store, {"action": "forget", "refs": [said]}, NOW)

    assert told["done"].startswith("Forgotten.")
    assert "transcript" in told["done"]
    assert "It was forgotten before." == again["done"]
    with pytest.raises(TenonError, match="no memory"):
        memories.get(store, ref)
    assert "[]" == store.value("SELECT content FROM turn WHERE id = ?", (int(said[1:]),))
    with pytest.raises(TenonError, match="forgotten"):
        written(store, "The cellar code is 4711")
    store.close()
    with open(paths.store_path("default"), "rb") as file:
        data = file.read()
    assert (False, False) == (b"4711" in data, b"attic code" in data)


def test_what_was_said_goes_along_where_that_is_wished(store: Store, repository: int) -> None:
    """Else the answer names the turn that still says it; «said» is true or false."""
    origin = turn(store, repository, "the attic code is 1234")
    refs = [
        memories.write(store, repository=repository, tier="long", kind="fact", text=text, reason="heard", turns=[int(origin[1:])], now=NOW)[0]
        for text in ("The attic's code is 1234", "1234 opens the attic")
    ]
    stays = changes.change(store, {"action": "forget", "refs": refs[:1]}, NOW)
    goes = changes.change(store, {"action": "forget", "refs": refs[1:], "said": True}, NOW)

    assert f"It is still said in {origin}: that stays" in stays["done"]
    assert ([origin], []) == (stays["said"], goes["said"])
    assert "still said" not in goes["done"]
    assert "[]" == store.value("SELECT content FROM turn WHERE id = ?", (int(origin[1:]),))
    with pytest.raises(Wrong, match="true or false"):
        changes.change(store, {"action": "forget", "refs": refs, "said": "yes"}, NOW)


def test_a_memory_whose_letters_are_damaged_can_be_forgotten(store: Store) -> None:
    """Whatever a failing disk made of it."""
    ref = written(store, "The cellar code is 4711")
    store.execute("UPDATE memory SET reason = CAST(x'6162ff' AS TEXT) WHERE ref = ?", (ref,))
    assert changes.change(store, {"action": "forget", "refs": [ref]}, NOW)["done"].startswith("Forgotten.")


def test_forgetting_names_the_backups_that_may_still_hold_it(store: Store, tmp_path: Path) -> None:
    """By their names, so that nobody believes it gone from there."""
    ref = written(store, "The cellar code is 4711")
    backup.copy(store, str(tmp_path / "mine.db"))
    backup.note(store, str(tmp_path / "mine.db"))
    told = changes.change(store, {"action": "forget", "refs": [ref]}, NOW)
    assert told["done"].endswith("Backups from before may still hold it, delete those that must not: mine.db.")


def test_of_several_that_are_to_be_forgotten_all_go_or_none(store: Store) -> None:
    """An unknown id among them changes nothing."""
    ref = written(store, "The cellar code is 4711")
    with pytest.raises(TenonError, match="no memory"):
        changes.change(store, {"action": "forget", "refs": [ref, "m000000000"]}, NOW)
    assert "live" == memories.get(store, ref).status


def test_a_link_is_approved_from_where_its_memories_live(store: Store, repository: int) -> None:
    """`supersedes` closes the older one; twice is once."""
    old, new = written(store, "We use MongoDB", repository), written(store, "We use PostgreSQL", repository)
    number = edges.propose(store, repository, new, old, "supersedes", "it was replaced", NOW)
    told = changes.change(store, {"action": "approve", "edge": number}, NOW)
    again = changes.change(store, {"action": "approve", "edge": number}, NOW)

    assert {"done": f"Link {number} is approved; it closed {old}.", "edge": number, "closed": old} == told
    assert f"Link {number} is approved." == again["done"]
    assert ("superseded", "live") == (memories.get(store, old).status, memories.get(store, new).status)


def test_a_link_between_agent_wide_memories_is_decided_too(store: Store) -> None:
    """It belongs to no repository."""
    number = edges.propose(store, None, written(store, "One"), written(store, "Two"), "related_to", "they are", NOW)
    assert f"Link {number} is approved." == changes.change(store, {"action": "approve", "edge": number, "reason": "true"}, NOW)["done"]


def test_a_link_is_turned_down_with_a_reason(store: Store, repository: int) -> None:
    """Twice is once; without a reason it is not understood."""
    number = edges.propose(store, repository, written(store, "One", repository), written(store, "Two"), "related_to", "they are", NOW)
    with pytest.raises(Wrong, match="'reason'"):
        changes.change(store, {"action": "reject", "edge": number, "reason": " "}, NOW)
    for _ in range(2):
        assert f"Link {number} is turned down." == changes.change(store, {"action": "reject", "edge": number, "reason": "they are not"}, NOW)["done"]
    assert ("rejected", "they are not") == store.one("SELECT status, verdict FROM edge WHERE id = ?", (number,))


def test_undoing_a_digest_says_what_became_of_each_step(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """As `tenon digest undo` does; the second time it is refused."""
    monkeypatch.setattr(undoing, "undo", lambda store, number, now: [f"m1 is closed {number}"])
    told = changes.change(store, {"action": "undo", "digest": 7}, NOW)
    monkeypatch.undo()

    assert ["m1 is closed 7"] == told["lines"]
    assert told["done"].startswith("Digest 7 is undone.")


def test_a_digest_that_is_not_there_cannot_be_undone(store: Store) -> None:
    """A sentence says so."""
    with pytest.raises(TenonError, match="no digest"):
        changes.change(store, {"action": "undo", "digest": 7}, NOW)


def test_identity_is_frozen_and_thawed(store: Store) -> None:
    """Each as often as one likes."""
    for on in (True, True, False, False):
        assert on == changes.change(store, {"action": "freeze", "on": on}, NOW)["frozen"]
        assert on == identity.is_frozen(store)


@pytest.mark.parametrize(
    "given",
    [
        {}, {"action": None}, {"action": "drop"}, {"action": ["freeze"]}, {"action": "freeze"}, {"action": "freeze", "on": 1}, {"action": "freeze", "on": True, "more": 1},
        {"action": "correct", "ref": "m7k2p9qxab"}, {"action": "correct", "ref": "m7k2p9qxab", "text": ""}, {"action": "correct", "ref": "m7k2p9qxab", "text": ["x"]},
        {"action": "correct", "ref": 7, "text": "x"}, {"action": "correct", "ref": "m7k2p9qxab", "text": "x", "reason": 1},
        {"action": "forget"}, {"action": "forget", "refs": []}, {"action": "forget", "refs": "m7k2p9qxab"}, {"action": "forget", "refs": ["m1"] * 101}, {"action": "forget", "refs": ["task:1:x"]},
        {"action": "forget", "refs": ["s1"]}, {"action": "forget", "refs": ["repository:1"]}, {"action": "forget", "refs": [None]},
        {"action": "approve"}, {"action": "approve", "edge": "1"}, {"action": "approve", "edge": True}, {"action": "approve", "edge": 0}, {"action": "approve", "edge": 2**60},
        {"action": "reject", "edge": 1}, {"action": "undo", "digest": 1.5}, {"action": "undo", "digest": -1}, {"action": "undo"},
    ],
)  # fmt: skip
def test_what_cannot_be_meant_is_refused(store: Store, given: dict[str, Any]) -> None:
    """With a sentence, before anything is looked at."""
    with pytest.raises(Wrong):
        changes.change(store, given, NOW)


def test_a_change_goes_through_the_door(store: Store, visitor: Visitor) -> None:
    """With the cookie, the token, the right page and JSON."""
    ref = written(store, "Deploys go out on Fridays")
    given = {"action": "correct", "ref": ref, "text": "Deploys go out on Mondays"}
    assert (True, visitor.dashboard.token) == tuple(visitor.data("default/about.json")[1][name] for name in ("allow_edit", "change_token"))
    status, told = visitor.change("default", given)

    assert (200, f"{ref} says so now") == (status, told["done"][: len(ref) + 12])
    assert "Deploys go out on Mondays" == memories.get(store, ref).text


@pytest.mark.parametrize(
    ("more", "status"),
    [
        ({"token": ""}, 403), ({"token": "0" * 64}, 403), ({"origin": "https://evil.example"}, 403), ({"origin": "http://127.0.0.1:9001"}, 403), ({"origin": "null"}, 403),
        ({"kind": "text/plain"}, 415), ({"kind": "application/json; charset=utf-8"}, 415), ({"kind": "application/x-www-form-urlencoded"}, 415), ({"kind": ""}, 415),
    ],
)  # fmt: skip
def test_a_change_without_all_of_them_changes_nothing(store: Store, visitor: Visitor, more: dict[str, str], status: int) -> None:
    """Whatever else is right."""
    assert status == visitor.change("default", {"action": "freeze", "on": True}, **more)[0]
    assert not identity.is_frozen(store)


def test_a_change_without_a_cookie_changes_nothing(store: Store, visitor: Visitor) -> None:
    """Though the token be right."""
    visitor.headers = []
    assert 401 == visitor.change("default", {"action": "freeze", "on": True})[0]
    assert not identity.is_frozen(store)


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"null", b'"freeze"', b"\xff\xfe", b'{"action": "freeze", "on": true} x', b"[" * 100_000])
def test_a_change_that_is_no_object_of_json_is_refused(store: Store, visitor: Visitor, body: bytes) -> None:
    """Status 400."""
    assert 400 == visitor.change("default", body)[0]
    assert not identity.is_frozen(store)


def test_what_the_store_refuses_is_a_sentence_without_paths(store: Store, visitor: Visitor) -> None:
    """Status 400 for what is asked, 404 for an agent that is none, or has no memory yet."""
    status, told = visitor.change("default", {"action": "correct", "ref": "m000000000", "text": "x"})
    assert (400, True) == (status, "there is no memory" in told["error"])
    assert 404 == visitor.change("nobody", {"action": "freeze", "on": True})[0]


def test_before_the_first_session_there_is_nothing_to_change(visitor: Visitor) -> None:
    """And no store is made by it."""
    assert 404 == visitor.change("default", {"action": "freeze", "on": True})[0]
    assert [] == paths.agents()


def test_a_store_that_another_process_writes_is_waited_for_and_then_said(store: Store, visitor: Visitor, monkeypatch: pytest.MonkeyPatch) -> None:
    """Status 503, and nothing was changed."""
    monkeypatch.setattr("tenon.dashboard.answers.LIMIT_S", 0.05)
    ref = written(store, "Deploys go out on Fridays")
    with store.transaction():
        status, told = visitor.change("default", {"action": "correct", "ref": ref, "text": "x"})
    assert (503, True) == (status, "another process" in told["error"])
    assert paths.home() not in told["error"]
    assert "Deploys go out on Fridays" == memories.get(store, ref).text
