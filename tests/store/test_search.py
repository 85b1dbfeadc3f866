"""Candidates: the memories and passages that share words with a cue, best first, within the scope."""

from __future__ import annotations

from typing import Any

from tenon.store import archive, memories, search, vectors
from tenon.store.db import Store

NOW = 1_800_000_000.0


def write(store: Store, repository: int | None, text: str, **more: Any) -> str:
    """The id of a memory with that text."""
    return memories.write(store, repository=repository, text=text, **{"tier": "short", "kind": "observation", "now": NOW, **more})[0]


def say(store: Store, repository: int, *texts: str, session: str = "s", kind: str = "prompt", thread: str = "") -> list[int]:
    """The numbers of archived turns with these texts."""
    number = archive.session(store, session, repository=repository, folder="/x", at=NOW)
    rows = [
        archive.Row(
            uuid="",
            parent="",
            role="user" if kind == "prompt" else "assistant",
            kind=kind,
            source="user",
            at=NOW,
            thread=thread,
            content=[{"type": "text", "text": text}],
        )
        for text in texts
    ]
    return archive.append(store, number, repository, rows)[1]


def test_a_memory_comes_with_all_that_a_score_needs(store: Store, repository: int) -> None:
    """Its text, strength, times, citations, and a BM25 that is higher for better."""
    ref = write(store, repository, "The zebra is striped.", strength=1.5, source="tool")
    found, size, rows = search.memories(store, ["zebra", "tiger"], [repository], 10)
    one = found[0]
    assert (ref, "short", "observation", "The zebra is striped.", "tool", 1.5, NOW, NOW, 0, NOW) == (
        one.ref, one.tier, one.kind, one.text, one.source, one.strength, one.set_at, one.fresh_at, one.citations, one.at,
    )  # fmt: skip
    assert (1, 1, {"zebra": 1, "tiger": 0}) == (len(found), size, rows)
    assert one.bm25 > 0


def test_nothing_is_found_for_words_that_are_nowhere(store: Store, repository: int) -> None:
    """Nor for none."""
    write(store, repository, "zebra")
    assert [] == search.memories(store, ["tiger"], [repository], 10)[0]
    assert [] == search.memories(store, [], [repository], 10)[0]
    assert [] == search.turns(store, ["zebra"], [repository], 10)[0]


def test_the_best_come_first_and_no_more_than_asked(store: Store, repository: int) -> None:
    """Both words before one, a short text before a long one."""
    one = write(store, repository, "zebra and " + "many other words " * 20)
    both = write(store, repository, "zebra tiger")
    short = write(store, repository, "zebra alone")
    assert [both, short, one] == [found.ref for found in search.memories(store, ["zebra", "tiger"], [repository], 10)[0]]
    assert [both] == [found.ref for found in search.memories(store, ["zebra", "tiger"], [repository], 1)[0]]


def test_the_scope_is_of_repositories_and_the_agent_counts_everywhere(store: Store, repository: int, other: int) -> None:
    """None is everything, an empty one the agent alone."""
    here, there, agent = write(store, repository, "zebra a"), write(store, other, "zebra b"), write(store, None, "zebra c")
    assert [{here, agent}, {there, agent}, {here, there, agent}, {agent}, {here, there, agent}] == [
        {found.ref for found in search.memories(store, ["zebra"], scope, 10)[0]} for scope in ([repository], [other], [repository, other], [], None)
    ]


def test_a_long_turn_is_found_by_its_best_passage_and_once(store: Store, repository: int) -> None:
    """The text of the candidate is that passage."""
    before, after = "Before. " * 400, "After. " * 400
    turn = say(store, repository, f"{before}\n\nThe zebra lives here, says the zebra.\n\n{after}zebra")[0]
    found, size, _ = search.turns(store, ["zebra"], [repository], 10)
    assert [turn] == [one.rowid for one in found]
    assert "says the zebra" in found[0].text
    assert len(found[0].text) <= 1600 < size * 1600


def test_turns_are_narrowed_by_kind_session_and_thread(store: Store, repository: int, other: int) -> None:
    """A session that left nothing excludes nothing."""
    prompt, reply, agent, later = (
        say(store, repository, "zebra one")[0], say(store, repository, "zebra two", kind="reply")[0], say(store, repository, "zebra three", thread="a1")[0],
        say(store, repository, "zebra four", session="later")[0],
    )  # fmt: skip
    elsewhere = say(store, other, "zebra five", session="elsewhere")[0]

    def numbers(scope: list[int] | None, **more: Any) -> set[int]:
        return {one.rowid for one in search.turns(store, ["zebra"], scope, 10, **more)[0]}

    assert {prompt, reply, later} == numbers([repository])
    assert {prompt, later} == numbers([repository], kinds=("prompt",))
    assert {prompt, reply} == numbers([repository], not_session="later")
    assert {prompt, reply, later} == numbers([repository], not_session="never")
    assert {prompt, reply, agent, later} == numbers([repository], threads=True)
    assert {prompt, reply, later, elsewhere} == numbers(None)
    assert set() == numbers([])


def test_a_forgotten_turn_is_no_candidate(store: Store, repository: int) -> None:
    """Even if its words were left in the index."""
    turn = say(store, repository, "zebra")[0]
    store.execute("UPDATE turn SET content = '[]', forgotten = 1.0 WHERE id = ?", (turn,))
    assert [] == search.turns(store, ["zebra"], [repository], 10)[0]


def test_the_other_side_of_a_prompt_is_its_reply_and_the_other_way_round(store: Store, repository: int) -> None:
    """«» where nobody answered: the next prompt is no answer to the one before."""
    for kind, text in (
        ("prompt", "is the zebra up?"), ("reply", "The zebra is up."), ("prompt", "and the zebra cage?"), ("prompt", "the zebra cage, I said"), ("reply", "The zebra cage too."),
    ):  # fmt: skip
        say(store, repository, text, kind=kind)
    found = sorted(search.turns(store, ["zebra"], [repository], 10)[0], key=lambda one: one.rowid)
    for one in found:
        search.pair(store, one)
    assert ["The zebra is up.", "is the zebra up?", "", "The zebra cage too.", "the zebra cage, I said"] == [one.other_text for one in found]
    assert ["t1", "t1", "t3", "t4", "t4"] == [one.exchange for one in found]


def passage_of(store: Store, turn: int) -> int:
    """The row of the turn's first passage."""
    return int(store.value("SELECT min(id) FROM passage WHERE turn = ?", (turn,)))


def test_memories_named_by_their_rows_come_in_that_order_within_the_same_limits(store: Store, repository: int, other: int) -> None:
    """Without a BM25; what is superseded, of another repository, tier or kind does not come."""
    here, there, agent = (
        write(store, repository, "zebra a"),
        write(store, other, "zebra b"),
        write(store, None, "zebra c", tier="long", kind="fact", reason="seen"),
    )
    gone = write(store, repository, "zebra d")
    memories.supersede(store, gone, here, NOW)
    rows = [memories.get(store, ref).id for ref in (agent, gone, there, here)]

    def refs(scope: list[int] | None, **more: Any) -> list[str]:
        return [one.ref for one in search.by_rows(store, vectors.MEMORY, [99, *rows, rows[0]], scope, **more)]

    assert [[agent, here], [agent, there, here], [agent]] == [refs([repository]), refs(None), refs([])]
    assert [[here], [agent], [here], [agent]] == [
        refs([repository], tier="short"), refs([repository], tier="long"), refs([repository], kinds=("observation",)), refs([repository], without=("observation",)),
    ]  # fmt: skip
    one = search.by_rows(store, vectors.MEMORY, rows, [repository])[1]
    told = search.memories(store, ["zebra"], [repository], 10)[0]
    same = next(candidate for candidate in told if candidate.ref == here)
    assert [getattr(same, name) for name in one.__slots__ if name != "bm25"] == [getattr(one, name) for name in one.__slots__ if name != "bm25"]
    assert (0.0, memories.get(store, here).id, "") == (one.bm25, one.row, one.near)


def test_passages_named_by_their_rows_come_in_that_order_within_the_same_limits(store: Store, repository: int, other: int) -> None:
    """A turn comes once, by the passage that is named first."""
    prompt, agent, later, gone = (
        say(store, repository, "zebra one")[0], say(store, repository, "zebra three", thread="a1")[0], say(store, repository, "zebra four", session="later")[0],
        say(store, repository, "zebra five")[0],
    )  # fmt: skip
    elsewhere = say(store, other, "zebra six", session="elsewhere")[0]
    long = say(store, repository, "Before. " * 400 + "The zebra.", kind="reply")[0]
    store.execute("UPDATE turn SET content = '[]', forgotten = 1.0 WHERE id = ?", (gone,))
    first, second = (row[0] for row in store.rows("SELECT id FROM passage WHERE turn = ? ORDER BY id LIMIT 2", (long,)))
    rows = [passage_of(store, later), second, first, *(passage_of(store, turn) for turn in (prompt, agent, gone, elsewhere)), 99]

    def numbers(scope: list[int] | None, **more: Any) -> list[int]:
        return [one.rowid for one in search.by_rows(store, vectors.PASSAGE, rows, scope, **more)]

    assert [later, long, prompt] == numbers([repository])
    assert [later, prompt] == numbers([repository], kinds=("prompt",))
    assert [long, prompt] == numbers([repository], not_session="later")
    assert [later, long, prompt, agent] == numbers([repository], threads=True)
    assert [later, long, prompt, elsewhere] == numbers(None)
    assert [] == numbers([])
    found = search.by_rows(store, vectors.PASSAGE, rows, [repository])
    assert [(rows[0], 0.0, "zebra four"), (second, 0.0)] == [(found[0].row, found[0].bm25, found[0].text), (found[1].row, found[1].bm25)]
    assert rows[3] == search.turns(store, ["one"], [repository], 10)[0][0].row


def test_any_number_of_rows_can_be_named(store: Store, repository: int) -> None:
    """More than one query takes."""
    turns = say(store, repository, *(f"zebra {number}" for number in range(1200)))
    rows = [row[0] for row in store.rows("SELECT id FROM passage ORDER BY id DESC")]
    assert turns[::-1] == [one.rowid for one in search.by_rows(store, vectors.PASSAGE, rows, [repository])]
    assert [] == search.by_rows(store, vectors.PASSAGE, [], [repository])
