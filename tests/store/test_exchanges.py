"""Reading back: a turn, the exchange around it, a session's course, and what waits for a digest."""

from __future__ import annotations

import pytest

from tenon.base.errors import TenonError
from tenon.store import archive, exchanges
from tenon.store.db import Store


@pytest.fixture()
def session(store: Store) -> int:
    """Two exchanges and a sub-agent's: turns 1 to 4, 5 to 6, and 7 to 8."""
    store.execute("INSERT INTO repository (id, key, seen) VALUES (1, 'path:/p', 1.0)")
    number = archive.session(store, "s1", repository=1, folder="/p", at=1.0)
    add(store, number, "prompt", "one")
    add(store, number, "thinking", "hm")
    add(store, number, "call", "ls")
    add(store, number, "reply", "two")
    add(store, number, "prompt", "three")
    add(store, number, "reply", "four")
    add(store, number, "prompt", "subtask", "abc")
    add(store, number, "reply", "subresult", "abc")
    return number


def add(store: Store, number: int, kind: str, text: str, thread: str = "", parent: str = "") -> None:
    """One turn after the last one of its thread."""
    role = "user" if kind == "prompt" else "assistant"
    content: list[object] = [{"type": "text", "text": text}]
    archive.append(
        store, number, 1, [archive.Row(uuid=text, parent=parent, role=role, kind=kind, source=role, at=2.0, content=content, thread=thread)]
    )  # fmt: skip


def texts(turns: list[exchanges.Turn]) -> list[str]:
    """What the turns say."""
    return [turn.text() for turn in turns]


def test_a_turn_is_found_by_its_id(store: Store, session: int) -> None:
    """The one that people and models see."""
    found = exchanges.turn(store, " t4 ")

    assert ("t4", "assistant", "reply", "two", session) == (found.ref, found.role, found.kind, found.text(), found.session)


@pytest.mark.parametrize("ref", ["t99", "m1", "4", "t", "", "t1; DROP TABLE turn", "t²"])
def test_an_id_that_is_none_says_what_ids_look_like(store: Store, session: int, ref: str) -> None:
    """A sentence with the way out."""
    with pytest.raises(TenonError, match="ids of turns look like t1234"):
        exchanges.turn(store, ref)


@pytest.mark.parametrize(
    ("ref", "expected"),
    [
        ("t1", ["one", "hm", "ls", "two"]),
        ("t3", ["one", "hm", "ls", "two"]),
        ("t4", ["one", "hm", "ls", "two"]),
        ("t6", ["three", "four"]),
        ("t8", ["subtask", "subresult"]),
    ],
)
def test_an_exchange_is_a_prompt_and_what_followed(store: Store, session: int, ref: str, expected: list[str]) -> None:
    """From whichever of its turns one starts."""
    assert expected == texts(exchanges.exchange(store, ref))


def test_an_exchange_ends_at_the_limit(store: Store, session: int) -> None:
    """Of rows."""
    assert ["one", "hm"] == texts(exchanges.exchange(store, "t4", limit=2))


def test_a_fork_in_the_middle_of_an_exchange_has_its_own_part(store: Store, session: int) -> None:
    """Not the other session's answer."""
    other = archive.session(store, "s2", repository=1, folder="/p", at=1.0)
    add(store, other, "reply", "two, otherwise", parent="ls")

    assert ["two, otherwise"] == texts(exchanges.exchange(store, "t9"))
    assert ["one", "hm", "ls", "two"] == texts(exchanges.exchange(store, "t4"))


def test_a_sessions_course_is_the_main_conversations(store: Store, session: int) -> None:
    """Or that of a sub-agent, when it is named."""
    assert ["one", "hm", "ls", "two", "three", "four"] == texts(list(exchanges.session_turns(store, session)))
    assert ["subtask", "subresult"] == texts(list(exchanges.session_turns(store, session, "abc")))
    assert [session, None] == [exchanges.session_number(store, name) for name in ("s1", "s9")]
    assert "s1" == exchanges.session_of(store, session).name
    with pytest.raises(TenonError, match="no session number 99"):
        exchanges.session_of(store, 99)


def test_prompts_and_replies_wait_for_a_digest(store: Store, session: int) -> None:
    """Oldest first, until one has dealt with them; neither a sub-agent's nor what was forgotten."""
    assert ["one", "two", "three", "four"] == texts(exchanges.pending(store, 1, 10))
    assert ["one", "two"] == texts(exchanges.pending(store, 1, 2))
    assert 4 == exchanges.pending_size(store, 1)[1]

    assert 2 == exchanges.mark_consolidated(store, [1, 4, 99], "written", 5.0)
    store.execute("UPDATE turn SET content = '[]', forgotten = 5.0 WHERE id = 5")

    assert ["four"] == texts(exchanges.pending(store, 1, 10))
    assert (8, 1) == exchanges.pending_size(store, 1)


def test_what_waits_belongs_to_a_repository(store: Store, session: int) -> None:
    """Another one has nothing, no one has nothing, an alias has what its target has."""
    store.execute("INSERT INTO repository (id, key, same_as, seen) VALUES (2, 'path:/q', NULL, 1.0), (3, 'path:/r', 1, 1.0)")

    assert [[], [], 4] == [exchanges.pending(store, 2, 9), exchanges.pending(store, None, 9), len(exchanges.pending(store, 3, 9))]


def test_an_outcome_that_is_none_is_refused(store: Store, session: int) -> None:
    """And marks nothing."""
    with pytest.raises(TenonError, match="a turn is written or skipped"):
        exchanges.mark_consolidated(store, [1], "eaten", 5.0)
    assert 4 == exchanges.pending_size(store, 1)[1]
