"""A digest is taken back step by step, what it wrote does not come again, and what was built on it since stays."""

from __future__ import annotations

from typing import Any

import pytest

from tenon.base.errors import TenonError
from tenon.digest import operations, reflecting, session, undoing
from tenon.store import associations, digests, edges, exchanges, forget, forgotten, gists, health, identity, memories, summaries
from tenon.store.db import Store
from tests.digest.minds import NOW, PER_DAY, Mind, answer, remember
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


ASKS, WAITS, TELLS = (f"I ask before migrations are touched{more}." for more in ("", ", and wait", ", and say why"))


def reflect(mind: Mind, *wanted: dict[str, Any]) -> int:
    """The number of a reflection that does these operations."""
    look = reflecting.look(mind.store, 0.0)
    assert look is not None
    number = digests.begin(mind.store, phase="reflection", repository=None, runner="claude", model="haiku", now=mind.at)
    with mind.store.transaction():
        reflecting.Reflecting(mind.store, number, look, mind.at).all(operations.read(answer(look.last, *wanted), operations.REFLECTION, look.last))
        digests.end(mind.store, number, "applied", mind.at)
    assert {"refused"}.isdisjoint(digests.counts(mind.store, number))
    return number


def statements(mind: Mind) -> list[str]:
    """What is held of who the agent is."""
    return [memory.text for memory in identity.held(mind.store)]


@pytest.fixture()
def reflections(mind: Mind, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Of a statement: one reflection holds it, and two revise it."""
    monkeypatch.setattr(reflecting, "ENOUGH", 1)
    ref = mind.write("Migrations are touched after the user was asked.", source="user")
    first = reflect(mind, {"op": "hold", "kind": "identity", "text": ASKS, "evidence": [ref]})
    held = identity.held(mind.store)[0].ref
    return [first, *(reflect(mind, {"op": "revise", "ref": held, "text": text, "evidence": [ref], "reason": "so"}) for text in (WAITS, TELLS))]


@pytest.mark.parametrize("order", [(2, 1, 0), (0, 1, 2), (1, 0, 2), (1, 2, 0), (0, 2, 1), (2, 0, 1)])
def test_in_whichever_order_reflections_are_undone_nothing_is_held_in_the_end(mind: Mind, reflections: list[int], order: tuple[int, ...]) -> None:
    """Nor does one of their texts come back on the way, once its digest is undone."""
    left = {ASKS, WAITS, TELLS}
    for which in order:
        undoing.undo(mind.store, reflections[which], mind.at)
        left.discard((ASKS, WAITS, TELLS)[which])
        assert set(statements(mind)) <= left
    assert [] == statements(mind)


def test_a_statement_that_one_reflection_revised_twice_says_again_what_it_said_before_both(mind: Mind, reflections: list[int]) -> None:
    """The steps name the revisions that there were."""
    held = identity.held(mind.store)[0].ref
    evidence = mind.write("The user was asked why migrations are touched.", source="user")
    texts = ("I ask why migrations are touched.", "I am asked why migrations are touched.")
    number = reflect(mind, *({"op": "revise", "ref": held, "text": text, "evidence": [evidence], "reason": "so"} for text in texts))

    assert [3, 4] == [step.undo["revision"] for step in digests.steps(mind.store, number)]
    undoing.undo(mind.store, number, mind.at)
    assert [TELLS] == statements(mind)


def test_a_statement_that_the_user_confirmed_since_is_not_revised_back(mind: Mind, reflections: list[int]) -> None:
    """It is theirs."""
    mind.write(TELLS, repository=None, tier="long", kind="identity", reason="so", source="user", writer="user")
    undoing.undo(mind.store, reflections[2], mind.at)

    assert [TELLS] == statements(mind)
    assert not forgotten.is_buried(mind.store, TELLS)


def test_a_statement_whose_earlier_text_was_forgotten_elsewhere_is_closed_and_the_digest_undone(mind: Mind, reflections: list[int]) -> None:
    """It can say neither."""
    forget.forget(mind.store, [mind.write(WAITS)], "", mind.at)
    undoing.undo(mind.store, reflections[2], mind.at)

    assert ([], "undone") == (statements(mind), digests.get(mind.store, reflections[2]).state)


def test_a_statement_that_was_let_go_of_holds_again_only_while_its_own_digest_does_and_there_is_room(mind: Mind, reflections: list[int]) -> None:
    """Else it stays closed, which is told."""
    held = identity.held(mind.store)[0].ref
    letting = [reflect(mind, {"op": "let_go", "ref": held, "reason": "no more"})]
    others = [
        mind.write(f"I like {word}.", repository=None, tier="long", kind="identity", reason="so", source="reflection", writer="digest") for word in "abcdefgh"
    ]
    assert [f"{held} stays closed: identity is full"] == undoing.undo(mind.store, letting[0], mind.at)
    memories.close(mind.store, others[0], mind.at)
    memories.reopen(mind.store, held, mind.at)
    letting.append(reflect(mind, {"op": "let_go", "ref": held, "reason": "no more"}))
    for number in [*reversed(reflections), letting[1]]:
        undoing.undo(mind.store, number, mind.at)
    assert len(others) - 1 == len(statements(mind))


@pytest.mark.parametrize("deed", ["confirms", "revises"])
def test_what_a_correction_closed_stays_closed_when_the_correction_was_confirmed_or_revised_since(mind: Mind, deed: str) -> None:
    """The two would contradict each other."""
    red = mind.write("The lamp is red.")
    number, refused = mind.apply({"op": "correct", "old": red, "text": "The lamp is green.", "turns": [mind.say("No, the lamp is green.")]})
    assert [] == refused
    if deed == "confirms":
        mind.write("The lamp is green.", source="user", writer="user")
    else:
        memories.revise(mind.store, memories.recent(mind.store, mind.here, 1)[0].ref, "The lamp is light green.", "looked", mind.at)
    before = mind.live()
    undoing.undo(mind.store, number, mind.at)

    assert before == mind.live()
    assert 1 == len(before)


def test_a_memory_that_was_written_again_or_moved_since_keeps_its_strength(mind: Mind) -> None:
    """As one that was reinforced since does."""
    turn = mind.say("The vault is in Graz, the pump in Linz, the lamp in Wels.")
    texts = ("The vault is in Graz.", "The pump is in Linz.", "The lamp is in Wels.", "The cellar is in Linz.")
    refs = [mind.write(text, strength=0.3) for text in texts]
    number, refused = mind.apply(*({"op": "reinforce", "ref": ref, "turns": [turn]} for ref in refs))
    assert [] == refused
    mind.at += 60.0
    mind.write(texts[0], source="user", writer="user")
    memories.promote(mind.store, refs[1], "looked it up", mind.at)
    memories.reinforce(mind.store, refs[2], mind.at, per_day=PER_DAY["short"])
    before = [mind.memory(ref).strength for ref in refs]
    undoing.undo(mind.store, number, mind.at)

    assert before[:3] == [mind.memory(ref).strength for ref in refs[:3]]
    assert 0.3 == mind.memory(refs[3]).strength < before[3]


def test_an_association_that_came_up_again_since_stays(mind: Mind) -> None:
    """The other one goes."""
    mind.say("A lamp, a vault and a pump.")
    lamp, vault, pump = (mind.write(f"A {thing}.") for thing in ("lamp", "vault", "pump"))
    number, _ = mind.apply({"op": "associate", "refs": [lamp, vault]}, {"op": "associate", "refs": [lamp, pump]})
    rows = [mind.memory(ref).id for ref in (lamp, vault)]
    associations.strengthen(mind.store, [(rows[0], rows[1])], mind.at + 60.0, 0.1)
    undoing.undo(mind.store, number, mind.at + 120.0)

    assert [tuple(rows)] == mind.store.rows("SELECT a, b FROM association")


def test_a_link_that_the_user_has_decided_on_stays(mind: Mind) -> None:
    """And is told; one that only the digest approved goes."""
    turn = mind.say("The lamp is red. The vault is in Graz.")
    lamp, vault = mind.write("The lamp is green."), mind.write("The vault is in Graz.")
    number, refused = mind.apply(
        remember("The lamp is red.", [turn], name="n1"),
        {"op": "link", "from": "n1", "to": lamp, "relation": "contradicts", "reason": "red and green"},
        {"op": "link", "from": lamp, "to": vault, "relation": "related_to", "reason": "both were told"},
    )
    assert [] == refused
    (waiting,) = edges.pending(mind.store, mind.here, 9)
    edges.approve(mind.store, mind.here, waiting["edge_id"], mind.at, "so it is")
    lines = undoing.undo(mind.store, number, mind.at)

    assert [f"link {waiting['edge_id']} stays as it is: it was decided on, or has faded"] == [line for line in lines if line.startswith("link")]
    assert [("approved", "so it is"), ("rejected", "undone")] == mind.store.rows("SELECT status, verdict FROM edge ORDER BY id")


def test_what_a_later_digest_said_of_the_same_exchange_and_session_stays(mind: Mind) -> None:
    """The first of two is undone, then the second."""
    prompt = mind.say("Let us look at the pump.")
    mind.say("It runs.", role="assistant")
    first, second = (
        mind.apply({"op": "gist", "turn": prompt, "text": f"The {word} look."}, {"op": "session", "turn": prompt, "text": f"The {word} pump."})[0]
        for word in ("first", "second")
    )
    undoing.undo(mind.store, first, mind.at)
    assert ("The second look.", "The second pump.") == (
        gists.of(mind.store, int(prompt[1:])),
        (summaries.latest(mind.store, mind.here) or pytest.fail("none")).text,
    )
    undoing.undo(mind.store, second, mind.at)
    assert ("", "code") == (gists.of(mind.store, int(prompt[1:])), (summaries.latest(mind.store, mind.here) or pytest.fail("none")).writer)


def test_what_was_known_before_a_session_digested_it_again_is_none_of_its_doing(mind: Mind) -> None:
    """It was only fresh again."""
    known = mind.write("The pump is in Linz.")
    turn = int(mind.say("The pump is in Linz, as I said, and the vault in Graz.")[1:])
    mind.at += 60.0
    new = [mind.write(text, turns=[turn]) for text in ("The pump is in Linz.", "The vault is in Graz.")][1]
    session.done(mind.store, mind.here, [turn], [], mind.at)
    undoing.undo(mind.store, digests.newest(mind.store, 1)[0].id, mind.at)

    assert ["live", "superseded"] == [mind.memory(ref).status for ref in (known, new)]


def test_turns_that_a_later_digest_has_read_do_not_wait_again(mind: Mind) -> None:
    """Only those that nothing has dealt with since."""
    one, two = (int(mind.say(word)[1:]) for word in ("One.", "Two."))
    session.done(mind.store, mind.here, [], [one, two], NOW)
    first = digests.newest(mind.store, 1)[0].id
    undoing.undo(mind.store, first, NOW, again=True)
    session.done(mind.store, mind.here, [], [one], NOW)
    undoing.undo(mind.store, first, NOW, again=True)

    assert [two] == [turn.id for turn in exchanges.pending(mind.store, mind.here, 9)]
