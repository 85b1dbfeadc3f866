"""What comes to mind with something else: along approved edges and strong associations, and never by itself alone."""

from __future__ import annotations

import pytest

from tenon.base import settings
from tenon.recall import offer, rank
from tenon.store import associations, edges, memories
from tests.recall import calibration
from tests.recall.conftest import NOW, Mind
from tests.recall.test_meaning import UNRELATED, filled

DAY = 86400.0
CUE = "so the zebra sleeps in the paddock"
UNSURE = "where does the zebra sleep?"
ZEBRA = "The zebra sleeps in the paddock"
HALF = "A zebra was counted on the survey of striped animals by the river"  # says something to the cue, and not enough
PORRIDGE = "Porridge is salted on Mondays"


def row(mind: Mind, ref: str) -> int:
    """The row of a memory."""
    return memories.get(mind.store, ref).id


def associate(mind: Mind, one: str, other: str, strength: float, now: float = NOW) -> None:
    """An association as strong as that."""
    associations.strengthen(mind.store, [(row(mind, one), row(mind, other))], now, strength)


def offered(mind: Mind, prompt: str) -> list[str]:
    """The ids of what the hook and the proxy would put in front of the prompt."""
    found = offer.look(mind.store, prompt, session=prompt, repository=mind.here, chosen=settings.load(), now=NOW)
    return [hit.candidate.ref for hit in found.hits]


@pytest.fixture()
def zebra(mind: Mind) -> str:
    """A memory that answers the cue, among twenty others."""
    filled(mind, 20)
    return mind.write(ZEBRA)


# ---------------------------------------------------------------- what an association does


def test_what_says_something_to_the_cue_itself_counts_for_more_beside_its_associate(mind: Mind, zebra: str) -> None:
    """By itself it is not offered; with a strong association to what answers it is, after that."""
    half = mind.write(HALF)
    assert [zebra] == offered(mind, CUE)
    before = {hit.candidate.ref: hit.evidence for hit in mind.ask(CUE, k=30).hits}
    associate(mind, zebra, half, 0.79)

    assert [zebra, half] == offered(mind, CUE)
    after = {hit.candidate.ref: hit.evidence for hit in mind.ask(CUE, k=30).hits}
    assert rank.ENOUGH > before[half] > 0.0
    assert before[half] < after[half] <= 1.5 * before[half]
    assert before[zebra] == after[zebra]


@pytest.mark.parametrize(("strength", "days"), [(0.49, 0), (0.79, 25)], ids=["weak", "faded"])
def test_a_weak_association_leads_nowhere(mind: Mind, zebra: str, strength: float, days: int) -> None:
    """Nor one that was strong once."""
    half = mind.write(HALF)
    before = [(hit.candidate.ref, hit.score, hit.evidence) for hit in mind.ask(CUE, k=30).hits]
    associate(mind, zebra, half, strength, NOW - days * DAY)

    assert before == [(hit.candidate.ref, hit.score, hit.evidence) for hit in mind.ask(CUE, k=30).hits]


def test_an_association_alone_brings_nothing(mind: Mind, zebra: str) -> None:
    """However sure its other end is: what has nothing to say to the cue stays away, also where there is no floor."""
    other = mind.write(PORRIDGE)
    associate(mind, zebra, other, 0.79)

    assert [zebra] == offered(mind, CUE)
    found = mind.ask(CUE, k=30)
    assert zebra == found.hits[0].candidate.ref
    assert 0.9 < found.hits[0].evidence
    assert other not in {hit.candidate.ref for hit in (*found.hits, *found.misses) if hit.parts.linked > 0.0 or hit in found.hits}


def test_a_tight_one_brings_what_belongs_to_a_sure_answer(mind: Mind, zebra: str) -> None:
    """As an approved edge does; not what belongs to an answer that is less sure."""
    other = mind.write(PORRIDGE)
    associate(mind, zebra, other, 0.95)

    assert [zebra, other] == offered(mind, CUE)
    found = mind.ask(UNSURE, k=30)
    assert rank.TIGHT > found.hits[0].evidence > rank.ENOUGH
    assert [zebra] == [hit.candidate.ref for hit in found.hits]


def test_a_likeness_by_chance_is_nothing_of_its_own(mind: Mind, zebra: str) -> None:
    """A question to memory finds some in every text; with a strong association it is still not worth showing."""
    chance = next(memories.by_id(mind.store, number).ref for number in range(1, 21) if "mountain rescue" in memories.by_id(mind.store, number).text)
    associate(mind, zebra, chance, 0.79)
    found = mind.ask("where does our zebra sleep?", k=30)

    assert zebra == found.hits[0].candidate.ref
    assert 1.0 == found.hits[0].evidence
    assert next(hit.evidence for hit in found.misses if hit.candidate.ref == chance) > rank.ENOUGH


def test_what_leads_to_a_memory_brings_it_up_and_not_past_what_is_better(mind: Mind, zebra: str) -> None:
    """Two that are linked gain nothing over a third that is not."""
    second, third = mind.write("The zebra sleeps in the stable in winter"), mind.write("Where the zebra sleeps there is straw")
    before = [hit for hit in mind.ask(CUE, k=30).hits if hit.candidate.ref in (zebra, second, third)]
    order = [hit.candidate.ref for hit in before]
    associate(mind, order[0], order[2], 0.95)

    after = [hit for hit in mind.ask(CUE, k=30).hits if hit.candidate.ref in (zebra, second, third)]
    assert order == [hit.candidate.ref for hit in after]
    assert [hit.score for hit in before[:2]] == [hit.score for hit in after[:2]]


def test_a_hub_brings_no_more_than_a_few(mind: Mind, zebra: str) -> None:
    """Four of a memory, whatever is associated with it."""
    others = [mind.write(f"{PORRIDGE}, week {number}") for number in range(12)]
    for other in others:
        associate(mind, zebra, other, 0.95)

    assert 4 == len({hit.candidate.ref for hit in mind.ask(CUE, k=30, floor=rank.ENOUGH).hits} & set(others))


# ---------------------------------------------------------------- what never comes


def test_a_superseded_memory_never_comes_by_spreading(mind: Mind, zebra: str) -> None:
    """What took its place comes instead."""
    old, new = mind.write(PORRIDGE), mind.write("Porridge is sweet from May on")
    associate(mind, zebra, old, 0.95)
    memories.supersede(mind.store, old, new, NOW)

    found = mind.ask(CUE, k=30)
    assert old not in {hit.candidate.ref for hit in (*found.hits, *found.misses)}
    assert [zebra, new] == offered(mind, CUE)
    memories.close(mind.store, new, NOW)
    assert [zebra] == offered(mind, CUE)


def test_another_repositorys_memory_and_what_a_recall_leaves_out_never_come(mind: Mind, zebra: str) -> None:
    """Whatever stands in the table: repositories may have been one once."""
    there = mind.write(PORRIDGE, repository=mind.there)
    long = mind.write("Kettles boil at noon", tier="long", kind="procedure", reason="seen")
    associate(mind, zebra, long, 0.95)
    one, other = sorted((row(mind, zebra), row(mind, there)))
    mind.store.execute("INSERT INTO association (a, b, strength, since) VALUES (?, ?, 0.95, ?)", (one, other, NOW))

    assert [zebra] == offered(mind, CUE)
    found = mind.ask(CUE, k=30, tier="short")
    assert not {there, long} & {hit.candidate.ref for hit in (*found.hits, *found.misses)}
    assert long in mind.refs(CUE, k=30)


@pytest.mark.parametrize("prompt", UNRELATED)
def test_an_unrelated_prompt_is_offered_nothing_however_tightly_all_hangs_together(mind: Mind, prompt: str) -> None:
    """Nothing answers it, so nothing leads on."""
    refs = [mind.write(text, tier="long", kind="fact", reason="agreed") for text in calibration.KESTREL[:40]]
    for one, other in zip(refs, (*refs[1:], refs[0])):
        associate(mind, one, other, 0.99)
    assert [] == offered(mind, prompt)


# ---------------------------------------------------------------- edges and associations together


def test_an_edge_and_an_association_of_two_memories_count_once(mind: Mind, zebra: str) -> None:
    """As the stronger of both."""
    other = mind.write(PORRIDGE)
    edge = edges.propose(mind.store, mind.here, zebra, other, "supports", "it belongs together", NOW)
    edges.approve(mind.store, mind.here, edge, NOW)
    alone = {hit.candidate.ref: (hit.score, hit.evidence) for hit in mind.ask(CUE, k=30).hits}
    associate(mind, zebra, other, 0.95)

    assert alone == {hit.candidate.ref: (hit.score, hit.evidence) for hit in mind.ask(CUE, k=30).hits}


def test_spreading_goes_one_step(mind: Mind, zebra: str) -> None:
    """What comes along leads nowhere itself."""
    second, third = mind.write(PORRIDGE), mind.write("Kettles boil at noon")
    associate(mind, zebra, second, 0.95)
    associate(mind, second, third, 0.95)

    assert [zebra, second] == offered(mind, CUE)
    found = mind.ask(CUE, k=30)
    assert all(hit.parts.linked == 0.0 for hit in (*found.hits, *found.misses) if hit.candidate.ref == third)


def test_one_statement_looks_for_both(mind: Mind, zebra: str) -> None:
    """A prompt has no time for more."""
    associate(mind, zebra, mind.write(PORRIDGE), 0.95)
    said: list[str] = []
    mind.store.con.set_trace_callback(said.append)
    mind.ask(CUE)
    mind.store.con.set_trace_callback(None)
    assert 1 == len([statement for statement in said if " association " in statement])
    assert 1 == len([statement for statement in said if " edge " in statement])
