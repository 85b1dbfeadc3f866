"""What stands around a memory: two steps of links, associations and successions, and no more than can be drawn."""

from __future__ import annotations

from tenon.store import associations, edges, memories, neighbourhood, of_memory
from tenon.store.db import Store

NOW = 1_800_000_000.0


def write(store: Store, text: str, repository: int | None = None, now: float = NOW) -> str:
    """The id of a memory with that text."""
    return memories.write(store, repository=repository, tier="short", kind="fact", text=text, now=now)[0]


def link(store: Store, one: str, other: str, kind: str = "supports", *, approve: bool = True) -> int:
    """The number of the link, approved unless told otherwise."""
    number = edges.propose(store, None, one, other, kind, "so it is", NOW)
    if approve:
        edges.approve(store, None, number, NOW)
    return number


def drawn(store: Store, ref: str) -> tuple[dict[str, int], set[tuple[str, str, str]]]:
    """The memories around it with their steps, and the links by their ends' texts."""
    nodes, links = neighbourhood.around(store, memories.get(store, ref), NOW)
    texts = {memory.id: memory.text for memory, _ in nodes}
    return {memory.text: step for memory, step in nodes}, {(texts[one.origin], one.kind, texts[one.target]) for one in links}


def test_two_steps_out_by_every_kind_of_link_and_no_third(store: Store) -> None:
    """Links, associations and what took whose place; a link turned down leads nowhere."""
    a, b, c, d, old = (write(store, name) for name in ("a", "b", "c", "d", "old"))
    link(store, a, b)
    link(store, b, c, "refines", approve=False)
    link(store, c, d)
    edges.reject(store, None, link(store, a, d, "contradicts"), "no", NOW)
    memories.supersede(store, old, a, NOW)
    rows = [memories.get(store, ref).id for ref in (a, b)]
    associations.strengthen(store, [(rows[0], rows[1])], NOW, 0.5)

    assert ({"a": 0, "b": 1, "old": 1, "c": 2}, {("a", "supports", "b"), ("b", "refines", "c"), ("a", "supersedes", "old"), ("a", "associated", "b")}) == drawn(
        store, a
    )


def test_what_took_anothers_place_by_a_link_is_told_once(store: Store) -> None:
    """Approving `supersedes` makes a link and a successor, which are one thing."""
    old, new = write(store, "old"), write(store, "new", now=NOW + 1)
    link(store, new, old, "supersedes")

    _, links = neighbourhood.around(store, memories.get(store, new), NOW)

    assert ["supersedes"] == [one.kind for one in links]


def test_a_faded_association_is_none(store: Store) -> None:
    """A year without weakens it to nothing."""
    a, b = write(store, "a"), write(store, "b")
    associations.strengthen(store, [(memories.get(store, a).id, memories.get(store, b).id)], NOW, 0.5)

    assert 1 == len(neighbourhood.around(store, memories.get(store, a), NOW + 365 * 86400)[0])


def test_no_more_than_can_be_drawn_and_always_the_same(store: Store) -> None:
    """Fifty of a hundred, the same ones each time."""
    middle = write(store, "middle")
    for number in range(20):
        near = write(store, f"near {number}")
        link(store, middle, near)
        for further in range(5):
            link(store, near, write(store, f"far {number} {further}"))

    first, second = drawn(store, middle), drawn(store, middle)

    assert first == second
    assert (neighbourhood.MOST, 0) == (len(first[0]), first[0]["middle"])
    assert neighbourhood.EACH == list(first[0].values()).count(1)


def test_a_circle_of_successors_ends(store: Store) -> None:
    """However the store came to have one."""
    a, b = write(store, "a"), write(store, "b")
    rows = [memories.get(store, ref).id for ref in (a, b)]
    for one, other in (rows, rows[::-1]):
        store.execute("UPDATE memory SET successor = ?, status = 'superseded' WHERE id = ?", (other, one))

    assert ["b"] == [memory.text for memory in of_memory.successors(store, memories.get(store, a))]
