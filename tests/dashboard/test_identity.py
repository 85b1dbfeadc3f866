"""What the page Identity is told: the statements, where each came from, whose hand was in it, and what became of all of them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tenon.dashboard import identity as page_identity
from tenon.dashboard.place import Missing, Query, Wrong
from tenon.store import digests, identity, memories
from tests.dashboard.test_memories import NOW, Kept, kept

__all__ = ["kept"]


def told(kept: Kept) -> dict[str, Any]:
    """The page as it goes over the wire."""
    return dict(json.loads(json.dumps(page_identity.page(kept.place, Query("")))))


def reflected(kept: Kept, text: str, evidence: list[str], turns: list[int]) -> tuple[str, int]:
    """A statement that a digest holds, and the digest's number."""
    number = digests.begin(kept.store, phase="reflection", repository=None, runner="api", model="x", now=NOW)
    ref, _ = memories.write(
        kept.store, repository=None, tier="long", kind="identity", text=text, reason="borne out", source="reflection", labels=evidence, turns=turns, now=NOW, writer="digest"
    )  # fmt: skip
    digests.add_step(kept.store, number, "hold", memories.get(kept.store, ref).id)
    digests.end(kept.store, number, "applied", NOW)
    return ref, number


def test_a_statement_says_where_it_came_from(kept: Kept) -> None:
    """The memories and the turns that bore it out, and the digest that held it."""
    turn = kept.say("Say where each number comes from.")
    evidence = kept.write("the user wants sources")
    ref, number = reflected(kept, "I say where numbers come from.", [evidence, "mgoneforev"], [turn])
    statement = told(kept)["statements"][0]

    assert (ref, "identity", "digest", True) == (statement["ref"], statement["kind"], statement["writer"], statement["told"])
    assert [(evidence, "the user wants sources", "live")] == [(one["ref"], one["text"], one["status"]) for one in statement["memories"]]
    assert [(f"t{turn}", "Say where each number comes from.")] == [(one["ref"], one["text"]) for one in statement["turns"]]
    assert [(number, "hold")] == [(step["digest"], step["deed"]) for step in statement["digests"]]


def test_the_timeline_says_who_did_what(kept: Kept) -> None:
    """Written by a digest, revised by another, corrected by the user, let go by the user; the newest first."""
    ref, held = reflected(kept, "I ask first.", [], [])
    memories.revise(kept.store, ref, "I ask before I delete.", "more exact", NOW + 1)
    revised = digests.begin(kept.store, phase="reflection", repository=None, runner="api", model="x", now=NOW + 1)
    digests.add_step(kept.store, revised, "revise", memories.get(kept.store, ref).id, undo={"revision": 1})
    digests.end(kept.store, revised, "applied", NOW + 1)
    identity.correct(kept.store, ref, "I ask before anything is deleted.", NOW + 2)
    identity.remove(kept.store, ref, NOW + 3)
    own, _ = identity.add(kept.store, "Call me Ada.", NOW + 4, kind="relationship")

    assert [
        (own.ref, "written", {"who": "user"}), (ref, "closed", {"who": "user"}), (ref, "revised", {"who": "user"}), (ref, "revised", {"who": "digest", "digest": revised}),
        (ref, "written", {"who": "digest", "digest": held}),
    ] == [(event["ref"], event["what"], event["by"]) for event in told(kept)["timeline"]]  # fmt: skip


def test_a_digest_that_was_undone_is_not_named(kept: Kept) -> None:
    """Only that one wrote it."""
    ref, number = reflected(kept, "I ask first.", [], [])
    digests.end(kept.store, number, "undone", NOW)

    assert [(ref, {"who": "digest"})] == [(event["ref"], event["by"]) for event in told(kept)["timeline"]]


def test_room_and_frost_are_told(kept: Kept) -> None:
    """How much of the limit is used, and whether digests may change it."""
    identity.add(kept.store, "Call me Ada.", NOW)
    identity.freeze(kept.store, NOW)
    found = told(kept)

    assert ({"statements": 1, "most": 8, "characters": 12, "budget": 1500, "longest": 240}, True) == (found["room"], found["frozen"])


def test_there_may_be_none(kept: Kept) -> None:
    """Which is an answer too."""
    assert ([], [], False) == (told(kept)["statements"], told(kept)["timeline"], told(kept)["frozen"])


def test_a_statement_has_its_page_among_the_memories(kept: Kept) -> None:
    """And no parameter is taken."""
    ref, _ = reflected(kept, "I ask first.", [], [])
    with pytest.raises(Missing):
        page_identity.one(kept.place, ref, Query(""))
    with pytest.raises(Wrong):
        page_identity.page(kept.place, Query("q=x"))
