"""A digest is taken back step by step, what it wrote does not come again, and what was built on it since stays."""

from __future__ import annotations

import pytest

from tenon.base.errors import TenonError
from tenon.digest import undoing
from tenon.store import digests, edges, exchanges, forget, forgotten, gists, health, memories, summaries
from tenon.store.db import Store
from tests.digest.minds import NOW, Mind, remember
from tests.store.chain import checked


@pytest.fixture()
def mind(store: Store) -> Mind:
    """An empty store with two repositories."""
    return Mind(store)


def test_everything_is_as_before_but_for_what_must_not_come_back(mind: Mind) -> None:
    """New memories closed, closed ones open, strength, links, associations, gist and summary as they were."""
    lamp, vault = mind.write("The lamp is red."), mind.write("The vault is in Graz.")
    prompt = mind.say("The lamp is green now. The vault is in Graz, the pump in Linz.")
    mind.say("Noted: green lamp, vault in Graz, pump in Linz.", role="assistant")
    before = mind.store.rows("SELECT ref, text, status, successor, strength, citations, valid_to FROM memory ORDER BY id")
    number, refused = mind.apply(
        {"op": "correct", "old": lamp, "text": "The lamp is green.", "turns": [prompt], "name": "n1"},
        remember("The pump is in Linz.", [prompt], name="n2"),
        {"op": "reinforce", "ref": vault, "turns": [prompt]},
        {"op": "link", "from": "n2", "to": vault, "relation": "related_to", "reason": "both are places"},
        {"op": "associate", "refs": ["n2", vault]},
        {"op": "gist", "turn": prompt, "text": "Three things were said."},
        {"op": "session", "turn": prompt, "text": "Lamps and places."},
    )
    assert [] == refused

    lines = undoing.undo(mind.store, number, mind.at)

    assert before == mind.store.rows("SELECT ref, text, status, successor, strength, citations, valid_to FROM memory WHERE writer = 'model' ORDER BY id")
    assert ["superseded"] * 2 == [row[0] for row in mind.store.rows("SELECT status FROM memory WHERE writer = 'digest'")]
    assert ([], [], "") == (mind.store.rows("SELECT * FROM association"), edges.listing(mind.store, mind.here), gists.of(mind.store, int(prompt[1:])))
    assert "code" == (summaries.latest(mind.store, mind.here) or pytest.fail("no summary")).writer
    assert any(line.startswith(f"{lamp} holds again") for line in lines)
    assert "undone" == digests.get(mind.store, number).state
    assert {} == health.damaged_indexes(mind.store)


@pytest.mark.parametrize("text", ["The pump is in Linz.", "the  PUMP is in linz.", "The pump is really in Linz."])
def test_what_was_undone_is_not_written_again_by_a_digest(mind: Mind, text: str) -> None:
    """Nor in nearly the same words, nor for everywhere; the user can, in so many words."""
    turn = mind.say("The pump is really in Linz.")
    undoing.undo(mind.store, mind.apply(remember("The pump is in Linz.", [turn]))[0], mind.at)
    _, refused = mind.apply(remember(text, [turn]), remember(text, [turn], scope="agent"))

    assert 2 == len(refused)
    assert [] == mind.live()
    ref, _ = memories.write(
        mind.store, repository=mind.here, tier="short", kind="fact", text="The pump is in Linz.", now=mind.at, again=True, writer="user", source="user"
    )
    assert ("live", "user") == (mind.memory(ref).status, mind.memory(ref).writer)


def test_what_was_confirmed_revised_or_built_on_since_stays(mind: Mind) -> None:
    """Each is told, and nothing of it is lost."""
    turn = mind.say("The pump is in Linz, the vault in Graz, the lamp in Wels.")
    number, _ = mind.apply(*(remember(text, [turn]) for text in ("The pump is in Linz.", "The vault is in Graz.", "The lamp is in Wels.")))
    _, vault, lamp = (str(row[0]) for row in mind.store.rows("SELECT ref FROM memory ORDER BY id"))
    memories.write(mind.store, repository=mind.here, tier="short", kind="fact", text="The pump is in Linz.", now=mind.at, writer="user", source="user")
    memories.revise(mind.store, vault, "The vault is in Graz, second floor.", "checked", mind.at)
    later = mind.write("The lamp is in Steyr.")
    memories.supersede(mind.store, lamp, later, mind.at)

    lines = undoing.undo(mind.store, number, mind.at)

    assert ["The pump is in Linz.", "The vault is in Graz, second floor.", "The lamp is in Steyr."] == mind.live()
    assert 3 == len([line for line in lines if " stays" in line])


def test_a_memory_that_was_closed_further_on_is_not_opened_beside_what_holds(mind: Mind) -> None:
    """Undoing the first of two corrections leaves the second; undoing that too leaves what was before both, whichever was undone first."""
    turn = mind.say("The lamp is green. No, the lamp is blue.")
    red = mind.write("The lamp is red.")
    first, _ = mind.apply({"op": "correct", "old": red, "text": "The lamp is green.", "turns": [turn]})
    green = memories.recent(mind.store, mind.here, 1)[0].ref
    second, _ = mind.apply({"op": "correct", "old": green, "text": "The lamp is blue.", "turns": [turn]})

    undoing.undo(mind.store, first, mind.at)
    assert ["The lamp is blue."] == mind.live()
    undoing.undo(mind.store, second, mind.at)
    assert ["The lamp is red."] == mind.live()


def test_its_turns_wait_again_only_when_that_is_asked_for(mind: Mind) -> None:
    """Undoing costs nothing by itself."""
    from tenon.digest import session

    turns = [int(mind.say("One.")[1:]), int(mind.say("Two.", role="assistant")[1:])]
    for again, waiting in ((False, 0), (True, 2)):
        session.done(mind.store, mind.here, [], turns, NOW)
        undoing.undo(mind.store, digests.newest(mind.store, 1)[0].id, NOW, again=again)
        assert waiting == exchanges.pending_size(mind.store, mind.here)[1]


def test_only_an_applied_digest_can_be_undone_and_once(mind: Mind) -> None:
    """The others say why not."""
    turn = mind.say("The pump is in Linz.")
    number, _ = mind.apply(remember("The pump is in Linz.", [turn]))
    failed = digests.begin(mind.store, phase="consolidation", repository=mind.here, runner="api", model="haiku", now=NOW)
    with pytest.raises(TenonError, match="is still at it"):
        undoing.undo(mind.store, failed, NOW)
    digests.end(mind.store, failed, "failed", NOW, "it was late")
    undoing.undo(mind.store, number, NOW)
    for which, why in ((number, "was undone already"), (failed, "changed nothing"), (99, "there is no digest 99")):
        with pytest.raises(TenonError, match=why):
            undoing.undo(mind.store, which, NOW)


def test_a_digest_whose_memories_were_forgotten_can_still_be_undone(mind: Mind) -> None:
    """What is gone stays gone, and no word of it is in the file."""
    turn = mind.say("The xylograph is Ottilie's.")
    number, _ = mind.apply(remember("The xylograph is Ottilie's own.", [turn]), {"op": "gist", "turn": turn, "text": "The xylograph is whose?"})
    forget.forget(mind.store, [turn], "", NOW)

    assert ["Also taken back, where nothing was built on it: 1 gist"] == undoing.undo(mind.store, number, NOW)
    assert not mind.live()
    assert forget.checkpoint(mind.store)
    with open(mind.store.path, "rb") as file:
        assert b"xylograph" not in file.read()
    assert [] == checked(mind.store)[1]
    assert forgotten.is_buried(mind.store, "The xylograph is Ottilie's own.")


def test_turns_of_a_digest_that_was_undone_can_still_be_made_to_wait(mind: Mind) -> None:
    """Nothing else of it is undone a second time."""
    turn = mind.say("The pump is in Linz.")
    number, _ = mind.apply(remember("The pump is in Linz.", [turn]))
    digests.add_step(mind.store, number, "read", undo={"turns": [int(turn[1:])]})
    exchanges.mark_consolidated(mind.store, [int(turn[1:])], "written", NOW)
    undoing.undo(mind.store, number, NOW)
    before = mind.store.rows("SELECT * FROM memory")

    assert ["1 turn waits again"] == undoing.undo(mind.store, number, NOW, again=True)
    assert (1, before) == (exchanges.pending_size(mind.store, mind.here)[1], mind.store.rows("SELECT * FROM memory"))


def test_a_memory_that_several_steps_had_to_do_with_is_told_of_once_and_what_rests_on_it_too(mind: Mind) -> None:
    """What became of it at last; a statement of identity that has it as evidence stays, and is named."""
    turn = mind.say("The lamp is green. No, the lamp is blue.")
    red = mind.write("The lamp is red.")
    number, _ = mind.apply(
        {"op": "correct", "old": red, "text": "The lamp is green.", "turns": [turn], "name": "n1"}, {"op": "associate", "refs": ["n1", mind.write("A vault.")]}
    )
    green = memories.recent(mind.store, mind.here, 1)[0].ref
    held, _ = memories.write(
        mind.store,
        repository=None,
        tier="long",
        kind="identity",
        text="I like green.",
        reason="borne out",
        source="reflection",
        labels=[green],
        now=NOW,
        writer="digest",
    )
    lines = undoing.undo(mind.store, number, NOW)

    assert 1 == sum(line.startswith(green) for line in lines)
    assert [f"{held}, of identity, rests on {green}; `tenon identity remove {held}` closes it"] == [line for line in lines if line.startswith(held)]
