"""Edges: proposed, approved or rejected, walked, faded; never across repositories."""

from __future__ import annotations

from typing import Any

import pytest

from tenon.base.errors import TenonError
from tenon.store import edges, memories, places
from tenon.store.db import Store

NOW = 1_800_000_000.0
DAY = 86400.0


def write(store: Store, repository: int | None, text: str, now: float = NOW) -> str:
    """The id of a memory."""
    return memories.write(store, repository=repository, tier="short", kind="fact", text=text, now=now)[0]


def link(store: Store, repository: int, origin: str, target: str, kind: str = "supports") -> int:
    """The id of an approved edge."""
    edge = edges.propose(store, repository, origin, target, kind, "they belong together", NOW)
    edges.approve(store, repository, edge, NOW)
    return edge


def rowid(store: Store, ref: str) -> int:
    """The row number of a memory."""
    return memories.get(store, ref).id


def walk(store: Store, start: str, depth: int, repository: int | None = None) -> list[tuple[str, str, str, str]]:
    """The walk from a memory, by ids."""
    found = edges.neighbours(store, [rowid(store, start)], depth, repository)
    return [(memories.by_id(store, number).ref, kind, direction, memories.by_id(store, via).ref) for number, kind, direction, via in found]


def status(store: Store, edge: int) -> tuple[Any, ...]:
    """Status, verdict and strength of an edge."""
    row = store.one("SELECT status, verdict, strength FROM edge WHERE id = ?", (edge,))
    assert row is not None
    return row


@pytest.fixture()
def one(store: Store, repository: int) -> str:
    """A memory."""
    return write(store, repository, "retries swallow 429s")


@pytest.fixture()
def two(store: Store, repository: int, one: str) -> str:
    """A memory written later."""
    return write(store, repository, "retries are off", NOW + 1)


# ---------------------------------------------------------------- proposing


def test_an_edge_is_proposed_with_two_ids_a_kind_and_a_reason(store: Store, repository: int, one: str, two: str) -> None:
    """Nothing else is needed, and it waits for approval."""
    edge = edges.propose(store, repository, one, two, "related_to", "both about retries", NOW)

    assert [
        {
            "edge_id": edge, "from": one, "to": two, "type": "related_to", "status": "proposed", "strength": 1.0, "reason": "both about retries",
            "verdict": "", "created": NOW, "decided": None, "from_content": "retries swallow 429s", "to_content": "retries are off",
        }
    ] == edges.pending(store, repository, 50)  # fmt: skip
    assert [] == edges.listing(store, repository)


def test_the_same_edge_is_one_edge(store: Store, repository: int, one: str, two: str) -> None:
    """Another kind or the other direction is another edge."""
    edge = edges.propose(store, repository, one, two, "supports", "first", NOW)

    assert edge == edges.propose(store, repository, one, two, "supports", "second", NOW + 1)
    assert 3 == len({edge, edges.propose(store, repository, one, two, "refines", "r", NOW), edges.propose(store, repository, two, one, "supports", "r", NOW)})
    assert "first" == edges.of(store, repository, one)[0]["reason"]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"origin_ref": "mghost"}, "there is no memory 'mghost'"),
        ({"target_ref": "mghost"}, "there is no memory 'mghost'"),
        ({"kind": "likes"}, "'likes' is no kind of edge; it is one of related_to, contradicts, supports, supersedes, refines"),
        ({"reason": " "}, "reason is empty"),
        ({"reason": "x" * 1001}, "reason has 1,001 characters"),
    ],
)
def test_a_proposal_that_makes_no_sense_is_refused(store: Store, repository: int, one: str, two: str, wrong: dict[str, str], said: str) -> None:
    """With what is wrong, and nothing is written."""
    given = {"origin_ref": one, "target_ref": two, "kind": "supports", "reason": "r", **wrong}

    with pytest.raises(TenonError) as refusal:
        edges.propose(store, repository, now=NOW, **given)
    assert str(refusal.value).startswith(said)
    assert 0 == store.value("SELECT count(*) FROM edge")


def test_a_memory_is_not_linked_to_itself(store: Store, repository: int, one: str) -> None:
    """Two ends are two memories."""
    with pytest.raises(TenonError, match=f"{one} cannot be linked to itself"):
        edges.propose(store, repository, one, one, "supports", "r", NOW)


def test_a_secret_in_a_reason_is_not_kept(store: Store, repository: int, one: str, two: str) -> None:
    """Nor in a verdict."""
    key = "sk-ant-api03-" + "Ab1_" * 12
    edge = edges.propose(store, repository, one, two, "supports", f"key {key}", NOW)
    edges.reject(store, repository, edge, f"no {key}", NOW)

    assert key not in repr(store.rows("SELECT * FROM edge"))


# ---------------------------------------------------------------- deciding


def test_an_approved_edge_is_listed(store: Store, repository: int, one: str, two: str) -> None:
    """Approving twice is approving once; it closes nothing unless it supersedes."""
    edge = edges.propose(store, repository, one, two, "contradicts", "r", NOW)

    assert ["", ""] == [edges.approve(store, repository, edge, NOW, why="seen"), edges.approve(store, repository, edge, NOW + 9, why="again")]
    assert [(edge, "approved", "seen", NOW)] == [
        (told["edge_id"], told["status"], told["verdict"], told["decided"]) for told in edges.listing(store, repository)
    ]
    assert [] == edges.pending(store, repository, 50)
    assert ("live", "live") == (memories.get(store, one).status, memories.get(store, two).status)


def test_approving_supersedes_closes_the_older_memory(store: Store, repository: int, one: str, two: str) -> None:
    """Its id comes back, and it no longer surfaces."""
    edge = edges.propose(store, repository, two, one, "supersedes", "switched off", NOW)

    assert one == edges.approve(store, repository, edge, NOW + 2)
    assert ("superseded", rowid(store, two), NOW + 2) == (
        memories.get(store, one).status,
        memories.get(store, one).successor,
        memories.get(store, one).valid_to,
    )
    assert "" == edges.approve(store, repository, edge, NOW + 3)


def test_an_older_memory_does_not_supersede_a_newer_one(store: Store, repository: int, one: str, two: str) -> None:
    """The refusal names the way round that works; the edge still waits."""
    edge = edges.propose(store, repository, one, two, "supersedes", "r", NOW)

    with pytest.raises(TenonError, match=f"{two} was written after {one} and cannot be superseded by it; propose the edge from {two} to {one}"):
        edges.approve(store, repository, edge, NOW)
    assert "proposed" == status(store, edge)[0]
    assert "live" == memories.get(store, two).status


def test_memories_of_one_moment_may_supersede_each_other(store: Store, repository: int, one: str) -> None:
    """Only a later target is guarded."""
    twin = write(store, repository, "retries are off")
    edge = edges.propose(store, repository, twin, one, "supersedes", "r", NOW)

    assert one == edges.approve(store, repository, edge, NOW)


def test_what_is_superseded_already_is_not_superseded_by_another(store: Store, repository: int, one: str, two: str) -> None:
    """By the same one it may be, and nothing is closed twice."""
    newest = write(store, repository, "retries are back", NOW + 2)
    memories.supersede(store, one, two, NOW + 3)
    same = edges.propose(store, repository, two, one, "supersedes", "r", NOW)
    another = edges.propose(store, repository, newest, one, "supersedes", "r", NOW)

    assert "" == edges.approve(store, repository, same, NOW + 4)
    with pytest.raises(TenonError, match=f"{one} was superseded by another memory already"):
        edges.approve(store, repository, another, NOW + 4)
    assert NOW + 3 == memories.get(store, one).valid_to


def test_a_rejected_edge_says_why(store: Store, repository: int, one: str, two: str) -> None:
    """It is neither pending nor listed, cannot be approved, and is found with the memory."""
    edge = edges.propose(store, repository, one, two, "supports", "r", NOW)
    edges.reject(store, repository, edge, "only a coincidence", NOW + 1)

    assert ([], []) == (edges.pending(store, repository, 50), edges.listing(store, repository))
    assert [("rejected", "only a coincidence")] == [(told["status"], told["verdict"]) for told in edges.of(store, repository, two)]
    with pytest.raises(TenonError, match=r"was rejected \(only a coincidence\); propose it again"):
        edges.approve(store, repository, edge, NOW)


def test_a_rejected_edge_is_opened_by_a_new_proposal(store: Store, repository: int, one: str, two: str) -> None:
    """Under the same id, with the new reason, beside the old verdict."""
    edge = edges.propose(store, repository, one, two, "supports", "r", NOW)
    edges.reject(store, repository, edge, "coincidence", NOW)

    assert edge == edges.propose(store, repository, one, two, "supports", "the log proves it", NOW + 1)
    assert [("the log proves it", "coincidence")] == [(told["reason"], told["verdict"]) for told in edges.pending(store, repository, 50)]


def test_an_unknown_edge_is_neither_approved_nor_rejected(store: Store, repository: int) -> None:
    """It is an error, not a silent success."""
    with pytest.raises(TenonError, match="there is no edge 77"):
        edges.approve(store, repository, 77, NOW)
    with pytest.raises(TenonError, match="there is no edge 77"):
        edges.reject(store, repository, 77, "r", NOW)


def test_pending_edges_come_oldest_first(store: Store, repository: int, one: str, two: str) -> None:
    """At most as many as are wanted."""
    late = edges.propose(store, repository, one, two, "supports", "r", NOW + 5)
    early = edges.propose(store, repository, two, one, "refines", "r", NOW)

    assert [early, late] == [told["edge_id"] for told in edges.pending(store, repository, 50)]
    assert [early] == [told["edge_id"] for told in edges.pending(store, repository, 1)]
    assert [] == edges.pending(store, repository, -1)


def test_listed_edges_can_be_chosen(store: Store, repository: int, one: str, two: str) -> None:
    """By kind, origin and target; an unknown kind or memory is an error."""
    first, second = link(store, repository, one, two, "supports"), link(store, repository, two, one, "refines")

    assert [first, second] == [told["edge_id"] for told in edges.listing(store, repository)]
    assert [second] == [told["edge_id"] for told in edges.listing(store, repository, kind="refines")]
    assert [first] == [told["edge_id"] for told in edges.listing(store, repository, origin=one)]
    assert [second] == [told["edge_id"] for told in edges.listing(store, repository, target=one)]
    assert [] == edges.listing(store, repository, kind="supports", origin=two)
    with pytest.raises(TenonError, match="'likes' is no kind of edge"):
        edges.listing(store, repository, kind="likes")
    with pytest.raises(TenonError, match="there is no memory 'mghost'"):
        edges.listing(store, repository, origin="mghost")


# ---------------------------------------------------------------- scope


def test_another_repositorys_memory_is_not_linked(store: Store, repository: int, other: int, one: str) -> None:
    """From either side, whichever repository asks."""
    there = write(store, other, "elsewhere")

    for home, origin, target in ((repository, one, there), (repository, there, one), (other, one, there)):
        with pytest.raises(TenonError, match=r"belongs to another repository \(example.org/acme/(widgets|gadgets)\)"):
            edges.propose(store, home, origin, target, "supports", "r", NOW)
    assert 0 == store.value("SELECT count(*) FROM edge")


def test_an_agent_wide_memory_can_be_linked_anywhere(store: Store, repository: int, other: int, one: str) -> None:
    """Such a link is seen where both ends are seen."""
    wide = write(store, None, "the user likes short answers")
    edge = link(store, repository, one, wide)

    assert [edge] == [told["edge_id"] for told in edges.of(store, repository, wide)]
    assert [] == edges.of(store, other, wide)
    assert [] == edges.listing(store, other)


def test_another_repositorys_edge_is_not_decided(store: Store, repository: int, other: int, one: str, two: str) -> None:
    """Nor seen."""
    edge = edges.propose(store, repository, one, two, "supports", "r", NOW)

    with pytest.raises(TenonError, match=f"edge {edge} belongs to another repository"):
        edges.approve(store, other, edge, NOW)
    with pytest.raises(TenonError, match=f"edge {edge} belongs to another repository"):
        edges.reject(store, other, edge, "r", NOW)
    assert [] == edges.pending(store, other, 50)
    assert "proposed" == status(store, edge)[0]


def test_an_alias_is_the_same_repository(store: Store, repository: int, other: int, one: str) -> None:
    """Its memories can be linked, and the link is seen from both."""
    there = write(store, other, "elsewhere")
    places.join(store, "example.org/acme/gadgets", "example.org/acme/widgets", NOW)
    edge = link(store, other, one, there)

    assert [edge] == [told["edge_id"] for told in edges.listing(store, repository)] == [told["edge_id"] for told in edges.listing(store, other)]
    assert [(there, "supports", "out", one)] == walk(store, one, 1)


# ---------------------------------------------------------------- walking


def test_a_walk_follows_approved_edges_both_ways(store: Store, repository: int) -> None:
    """Nearest first, each memory once, with the edge and the memory it was reached by."""
    a, b, c, d = (write(store, repository, text) for text in ("alpha", "beta", "gamma", "delta"))
    link(store, repository, a, b, "supports")
    link(store, repository, c, a, "refines")
    link(store, repository, b, d, "related_to")
    link(store, repository, d, c, "related_to")
    edges.propose(store, repository, a, d, "contradicts", "not approved", NOW)

    assert [(b, "supports", "out", a), (c, "refines", "in", a)] == walk(store, a, 1)
    assert [(b, "supports", "out", a), (c, "refines", "in", a), (d, "related_to", "out", b)] == walk(store, a, 2)


def test_a_walk_ends_after_three_steps_and_fifty_memories(store: Store, repository: int) -> None:
    """However deep it is asked to go."""
    chain = [write(store, repository, f"link {number}") for number in range(6)]
    for origin, target in zip(chain, chain[1:]):
        link(store, repository, origin, target)
    hub = write(store, repository, "hub")
    for number in range(60):
        link(store, repository, hub, write(store, repository, f"spoke {number}"))

    assert chain[1:4] == [ref for ref, *_ in walk(store, chain[0], 99)]
    assert chain[1:2] == [ref for ref, *_ in walk(store, chain[0], -1)]
    assert 50 == len(walk(store, hub, 3))


def test_a_walk_does_not_bring_back_what_no_longer_surfaces(store: Store, repository: int, one: str, two: str) -> None:
    """A superseded memory is not reached by the edge that superseded it; asked for itself, it leads to its successor."""
    link(store, repository, two, one, "supersedes")

    assert [] == walk(store, two, 3)
    assert [(two, "supersedes", "in", one)] == walk(store, one, 1)


def test_a_walk_does_not_leave_the_repository_by_way_of_the_agent(store: Store, repository: int, other: int, one: str) -> None:
    """A memory that both repositories see links neither to the other's."""
    wide, there = write(store, None, "the user likes short answers"), write(store, other, "elsewhere")
    link(store, repository, one, wide)
    link(store, other, there, wide)

    assert [(wide, "supports", "out", one)] == walk(store, one, 3)
    assert [] == walk(store, wide, 3)
    assert [(one, "supports", "in", wide)] == walk(store, wide, 3, repository)
    assert [(there, "supports", "in", wide)] == walk(store, wide, 3, other)


# ---------------------------------------------------------------- fading


def test_edges_weaken_by_elapsed_time(store: Store, repository: int, one: str, two: str) -> None:
    """Sweeping twice is sweeping once."""
    edge = link(store, repository, one, two)

    assert [0] * 7 == [edges.sweep(store, repository, NOW + second) for second in range(7)]
    assert 1.0 == status(store, edge)[2]
    assert [0, 0] == [edges.sweep(store, repository, NOW + 100 * DAY), edges.sweep(store, repository, NOW + 100 * DAY)]
    assert pytest.approx(0.993**100) == status(store, edge)[2]


def test_a_weak_edge_fades_and_is_kept(store: Store, repository: int, other: int, one: str, two: str) -> None:
    """As rejected, with the verdict «faded»; another repository's sweep does not touch it."""
    edge = link(store, repository, one, two)

    assert 0 == edges.sweep(store, other, NOW + 400 * DAY)
    assert 1 == edges.sweep(store, repository, NOW + 400 * DAY)
    assert ("rejected", "faded") == status(store, edge)[:2]
    assert [] == walk(store, one, 1)
    assert 0 == edges.sweep(store, repository, NOW + 400 * DAY)
    assert edge == edges.propose(store, repository, one, two, "supports", "still true", NOW + 400 * DAY)
    assert ("proposed", "faded", 1.0) == status(store, edge)


def test_an_edge_that_is_proposed_again_is_as_strong_as_a_new_one(store: Store, repository: int, one: str, two: str) -> None:
    """And stays approved."""
    edge = link(store, repository, one, two)
    edges.sweep(store, repository, NOW + 100 * DAY)
    edges.propose(store, repository, one, two, "supports", "seen again", NOW + 100 * DAY)

    assert ("approved", "", 1.0) == status(store, edge)
    assert 0 == edges.sweep(store, repository, NOW + 400 * DAY)


def test_the_edges_of_a_memory_go_with_it(store: Store, repository: int, one: str, two: str) -> None:
    """No edge is left without an end, and no number is used again."""
    edge = link(store, repository, one, two)
    store.execute("DELETE FROM memory WHERE ref = ?", (one,))
    third = write(store, repository, "third")

    assert [] == edges.of(store, repository, two)
    assert edge < edges.propose(store, repository, two, third, "supports", "r", NOW)
