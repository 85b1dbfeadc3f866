"""Identity: the statements that are held, their budget, and the user's hand in them."""

from __future__ import annotations

from typing import Any

import pytest

from tenon.base.errors import TenonError
from tenon.store import identity, memories
from tenon.store.db import Store

NOW = 1_800_000_000.0
DAY = 86400.0


def hold(store: Store, text: str, **more: Any) -> str:
    """The id of a statement that a reflection wrote."""
    told = {"kind": "identity", "source": "reflection", "writer": "digest", "repository": None, "tier": "long", "reason": "borne out", "now": NOW, **more}
    return memories.write(store, text=text, **told)[0]


def texts(store: Store) -> list[str]:
    """The statements held, in order."""
    return [memory.text for memory in identity.held(store)]


# ---------------------------------------------------------------- what is held


def test_identity_comes_first_then_the_relationship_each_oldest_first(store: Store) -> None:
    """Whatever was revised or proved right since, the order stays."""
    later = hold(store, "I name things plainly.", now=NOW + 2)
    hold(store, "We speak German.", kind="relationship")
    first = hold(store, "I keep commits small.", now=NOW + 1)
    order = ["I keep commits small.", "I name things plainly.", "We speak German."]
    assert order == texts(store)

    memories.reinforce(store, later, NOW + DAY)
    memories.revise(store, first, "I keep commits very small.", "so said", NOW + DAY)
    assert ["I keep commits very small.", *order[1:]] == texts(store)


def test_only_what_user_agent_or_reflection_say_agent_wide_is_held(store: Store, repository: int) -> None:
    """Never what came from a tool or from outside, one repository's, what faded, was closed, or is of another kind."""
    for source in memories.SOURCES:
        hold(store, f"said by {source}", source=source)
    hold(store, "of one repository", repository=repository)
    hold(store, "a preference", kind="preference")
    memories.close(store, hold(store, "closed"), NOW)
    store.execute("UPDATE memory SET status = 'faded' WHERE ref = ?", (hold(store, "faded", tier="short"),))

    assert ["said by user", "said by assistant", "said by reflection"] == texts(store)


def test_what_is_told_stays_within_the_budget(store: Store) -> None:
    """Eight statements of 240 characters, 1,500 in all; in their order, and what the user wrote goes before what does not fit."""
    for number in range(10):
        hold(store, f"statement {number}", now=NOW + number)
    own = hold(store, "Call me Ada", source="user", writer="user", now=NOW + 20)
    assert [f"statement {number}" for number in range(7)] + ["Call me Ada"] == [text for _, text in identity.told(identity.held(store))]
    identity.clear(store, NOW)

    for number in range(8):
        hold(store, f"{number} " + "wörter " * 60, now=NOW + number)
    told = identity.told(identity.held(store))
    assert [240] * 6 == [len(text) for _, text in told]
    assert all(text.endswith("…") for _, text in told)
    memories.reopen(store, own, NOW)
    assert ["Call me Ada"] == [text for memory, text in identity.told(identity.held(store)) if memory.ref == own]


def test_there_is_room_until_the_budget_is_used(store: Store) -> None:
    """For so long a text, and in the place of another one."""
    assert (True, True, False) == tuple(identity.room(store, "x" * size) for size in (1, 240, 241))
    refs = [hold(store, f"{number}".ljust(200, "x")) for number in range(7)]
    assert (True, False) == (identity.room(store, "x" * 100), identity.room(store, "x" * 101))
    assert identity.room(store, "x" * 240, instead=memories.get(store, refs[0]))
    hold(store, "the eighth")
    assert not identity.room(store, "x")
    assert identity.room(store, "x", instead=memories.get(store, refs[0]))


# ---------------------------------------------------------------- the user's hand


def test_what_the_user_adds_is_the_users(store: Store) -> None:
    """Long-term, agent-wide, signed; the same words again are the same statement."""
    memory, new = identity.add(store, "  Call me\nAda ", NOW)
    assert (True, "Call me Ada", "identity", "long", "user", "user", None) == (
        new, memory.text, memory.kind, memory.tier, memory.source, memory.writer, memory.repository,
    )  # fmt: skip
    again, new = identity.add(store, "call me ada", NOW)
    assert (memory.ref, False) == (again.ref, new)
    assert "relationship" == identity.add(store, "Ask before refactoring", NOW, kind="relationship")[0].kind


def test_what_a_reflection_or_outsiders_wrote_becomes_the_users_when_the_user_says_it(store: Store) -> None:
    """And then it is held, whatever it was before."""
    for source in ("reflection", "outside", "tool"):
        ref = hold(store, f"said by {source}", source=source, tier="short")
        memory, new = identity.add(store, f"said by {source}", NOW)
        assert (ref, False, "user", "user") == (memory.ref, new, memory.source, memory.writer)
    assert 3 == len(texts(store))


def test_what_a_model_adds_is_not_signed(store: Store) -> None:
    """It is the assistant's, and what was let go of does not come back by it."""
    memory, _ = identity.add(store, "I keep commits small.", NOW, by_user=False)
    assert ("assistant", "model") == (memory.source, memory.writer)
    memory = identity.correct(store, memory.ref, "I keep them tiny.", NOW, by_user=False)
    assert ("assistant", "model") == (memory.source, memory.writer)
    identity.remove(store, memory.ref, NOW)
    with pytest.raises(TenonError, match="does not come back"):
        identity.add(store, "I keep them tiny.", NOW, by_user=False)


@pytest.mark.parametrize(
    ("text", "said"),
    [("x" * 241, "at most 240 characters, this one has 241"), ("  ", "text is empty"), ("Prefers tabs", "says that already, as preference")],
    ids=["too long", "empty", "something else"],
)
def test_what_cannot_be_added_says_why(store: Store, text: str, said: str) -> None:
    """And nothing is changed."""
    hold(store, "prefers tabs", kind="preference")
    with pytest.raises(TenonError, match=said):
        identity.add(store, text, NOW)
    assert [] == texts(store)


def test_where_there_is_no_room_nothing_is_added(store: Store) -> None:
    """What is held already may be said again."""
    refs = [hold(store, f"statement {number}") for number in range(8)]
    with pytest.raises(TenonError, match="at most 8 statements of 1,500 characters in all; remove or shorten one first"):
        identity.add(store, "one more", NOW)
    assert refs[0] == identity.add(store, "statement 0", NOW)[0].ref
    with pytest.raises(TenonError, match="at most 240 characters"):
        identity.correct(store, refs[0], "x" * 241, NOW)
    assert "shorter" == identity.correct(store, refs[0], "shorter", NOW).text


def test_a_correction_keeps_to_the_budget_and_shortening_is_always_possible(store: Store) -> None:
    """Also of the ninth, which another verb has written."""
    refs = [hold(store, f"{number}".ljust(181, "x")) for number in range(8)]
    with pytest.raises(TenonError, match="remove or shorten one first"):
        identity.correct(store, refs[0], "x" * 240, NOW)
    hold(store, "the ninth")
    assert "short" == identity.correct(store, refs[0], "short", NOW).text
    with pytest.raises(TenonError, match="remove or shorten one first"):
        identity.correct(store, refs[0], "longer", NOW)


def test_a_correction_is_a_revision_by_the_user(store: Store) -> None:
    """The id stays, the old text is in the history, and the statement is the user's from then on."""
    ref = hold(store, "The user is called Eda.")
    memory = identity.correct(store, ref, "The user is called Ada.", NOW + DAY)

    assert (ref, "The user is called Ada.", 2, "user", "user") == (memory.ref, memory.text, memory.revision, memory.writer, memory.source)
    assert [("The user is called Eda.", "corrected by the user")] == [(one["text"], one["replaced_because"]) for one in memories.history(store, memory)]
    assert ["user", 2] == [getattr(identity.correct(store, ref, "The user is called Ada.", NOW), name) for name in ("writer", "revision")]


def test_only_a_statement_that_is_held_is_corrected_or_removed(store: Store) -> None:
    """No other memory, none that was let go of, none that came from outside; nor to what another one says."""
    one, other = hold(store, "one"), hold(store, "another")
    wrong = [hold(store, "a preference", kind="preference"), hold(store, "from outside", source="outside"), hold(store, "closed"), "mnosuchone"]
    memories.close(store, wrong[2], NOW)
    for ref in wrong:
        with pytest.raises(TenonError, match=f"'{ref}' is none of the statements that are held; `tenon identity` lists them"):
            identity.correct(store, ref, "text", NOW)
        with pytest.raises(TenonError, match="is none of the statements"):
            identity.remove(store, ref, NOW)
    with pytest.raises(TenonError, match=f"{other} says that already"):
        identity.correct(store, one, "Another", NOW)
    assert ["one", "another"] == texts(store)


def test_what_is_removed_or_cleared_no_digest_writes_again(store: Store) -> None:
    """Only the user does, and then it is held again."""
    ref = hold(store, "I like long meetings.")
    kept = hold(store, "I keep commits small.")
    identity.remove(store, ref, NOW)
    assert ["I keep commits small."] == texts(store)
    store.execute("UPDATE memory SET status = 'faded' WHERE ref = ?", (hold(store, "faded"),))
    assert 2 == identity.clear(store, NOW)

    for text in ("I like long meetings.", "i keep  commits small.", "faded"):
        with pytest.raises(TenonError, match="does not come back"):
            hold(store, text)
    assert [] == texts(store)
    memory, new = identity.add(store, "I keep commits small.", NOW)
    assert (kept, False, "user", ["I keep commits small."]) == (memory.ref, new, memory.writer, texts(store))


def test_frozen_until_thawed(store: Store) -> None:
    """What the user does is not kept from them."""
    assert not identity.is_frozen(store)
    identity.freeze(store, NOW)
    assert identity.is_frozen(store)
    identity.add(store, "Call me Ada", NOW)
    identity.thaw(store)
    assert (False, ["Call me Ada"]) == (identity.is_frozen(store), texts(store))


def test_the_history_tells_what_became_of_each_statement(store: Store) -> None:
    """In the order of time, closed ones too; not what never was one."""
    one = hold(store, "The user is called Eda.")
    hold(store, "from outside", source="outside")
    two = hold(store, "We speak German.", kind="relationship", now=NOW + 1)
    three = hold(store, "We speak English.", kind="relationship", now=NOW + 4)
    memories.revise(store, one, "The user is called Ida.", "heard better", NOW + 2)
    identity.correct(store, one, "The user is called Ada.", NOW + 3)
    memories.supersede(store, two, three, NOW + 5)
    identity.remove(store, one, NOW + 6)

    assert [
        (NOW, "written", one, "The user is called Eda.", ""), (NOW + 1, "written", two, "We speak German.", "borne out"),
        (NOW + 2, "revised", one, "The user is called Ida.", "heard better"), (NOW + 3, "revised", one, "The user is called Ada.", "corrected by the user"),
        (NOW + 4, "written", three, "We speak English.", "borne out"), (NOW + 5, "closed", two, "We speak German.", f"superseded by {three}"),
        (NOW + 6, "closed", one, "The user is called Ada.", ""),
    ] == [tuple(event[name] for name in ("at", "what", "id", "text", "why")) for event in identity.history(store)]  # fmt: skip
