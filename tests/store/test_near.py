"""What a turn is indexed with of the turns beside it: the same however it came in, and gone with what is forgotten."""

from __future__ import annotations

import os
import random
from collections.abc import Sequence
from pathlib import Path

import pytest

from tenon.store import archive, db, forget, index, reindex, search, vectors
from tenon.store.db import Store
from tests.store.indexed import indexed, near

NOW = 1_800_000_000.0


def row(text: str, *, kind: str = "prompt", thread: str = "", uuid: str = "", parent: str = "") -> archive.Row:
    """A row that says this."""
    if kind == "call":
        content: list[object] = [{"type": "tool_use", "id": "c", "name": "Bash", "input": {"command": text}}]
    elif kind == "result":
        content = [{"type": "tool_result", "tool_use_id": "c", "content": text}]
    else:
        content = [{"type": "text", "text": text}]
    role = "user" if kind in ("prompt", "result") else "assistant"
    return archive.Row(uuid=uuid, parent=parent, thread=thread, role=role, kind=kind, source="user", at=NOW, content=content)


def say(store: Store, repository: int, rows: Sequence[archive.Row], session: str = "s", at_once: int = 1000) -> list[int]:
    """The turns of these rows, written so many at a time."""
    number = archive.session(store, session, repository=repository, folder="/x", at=NOW)
    turns: list[int] = []
    for at in range(0, len(rows), at_once):
        turns += archive.append(store, number, repository, rows[at : at + at_once])[1]
    return turns


def found(store: Store, word: str) -> list[int]:
    """The turns that a word finds, best first."""
    return [one.rowid for one in search.turns(store, [word], None, 10)[0]]


def whole(store: Store) -> bool:
    """Whether both indexes agree with themselves."""
    for check in index.CHECK.values():
        store.execute(check)
    return True


def test_a_question_finds_the_turn_whose_neighbour_has_the_words(store: Store, repository: int) -> None:
    """The two before it and the one after it; what says the word itself comes first."""
    turns = say(store, repository, [row(text) for text in ("alpha", "beta", "zebra stripes", "gamma", "delta", "epsilon")])
    assert turns[2] == found(store, "zebra")[0]
    assert {*turns[1:5]} == {*found(store, "zebra")}
    assert {turns[0]: "beta", turns[1]: "alpha zebra stripe", turns[5]: "gamma delta"} == {
        turn: words for turn, words in near(store).items() if turn in (turns[0], turns[1], turns[5])
    }
    assert "alpha beta gamma" == near(store)[turns[2]]


def test_only_what_was_said_has_something_near(store: Store, repository: int) -> None:
    """Calls and results between two turns do not count, and get nothing themselves."""
    one, call, result, two = say(store, repository, [row("alpha"), row("make", kind="call"), row("built", kind="result"), row("beta", kind="reply")])
    assert {one: "beta", two: "alpha"} == near(store)
    assert {(call, 0, "text"): "bash make", (result, 0, "text"): "built"} == {key: words for key, words in indexed(store).items() if key[0] in (call, result)}


def test_of_a_long_turn_the_first_thirty_words_are_near_and_its_first_passage_has_others_near(store: Store, repository: int) -> None:
    """A long answer would else be there once for each of its passages."""
    long = " ".join(f"w{number}" for number in range(1000))
    one, two = say(store, repository, [row("alpha"), row(long, kind="reply")])
    assert {one: " ".join(f"w{number}" for number in range(30)), two: "alpha"} == near(store)
    assert [0] == [first for turn, first, column in indexed(store) if turn == two and column == "near"]
    assert 1 < len([first for turn, first, column in indexed(store) if turn == two and column == "text"])
    assert [one, two] == sorted(found(store, "w3"))


@pytest.mark.parametrize("word", ["x" * 100_000, "設定" * 50_000], ids=["one word", "no spaces"])
def test_a_text_without_spaces_does_not_fill_the_index_of_its_neighbours(store: Store, repository: int, word: str) -> None:
    """Six hundred characters are looked at."""
    one, _ = say(store, repository, [row("alpha"), row(word)])
    assert 0 < len(near(store)[one]) <= 600


def test_threads_and_sessions_do_not_mix(store: Store, repository: int) -> None:
    """However their turns follow each other in the archive."""
    for text, session, thread in (
        ("alpha", "s", ""), ("beta", "u", ""), ("gamma", "s", "agent"), ("delta", "s", ""), ("epsilon", "u", ""), ("zeta", "s", "agent"),
    ):  # fmt: skip
        say(store, repository, [row(text, thread=thread)], session)
    assert {1: "delta", 2: "epsilon", 3: "zeta", 4: "alpha", 5: "beta", 6: "gamma"} == near(store)


def course(seed: int, count: int = 60) -> list[archive.Row]:
    """The rows of a session with tools, sub-agents, rewinds, empty and long turns, and lines that came before."""
    chance = random.Random(seed)
    rows: list[archive.Row] = []
    for number in range(count):
        kind = chance.choice(["prompt", "reply", "call", "result", "prompt", "reply", "thinking"])
        text = " ".join(f"word{chance.randrange(40)}" for _ in range(chance.choice([0, 3, 12, 50, 700])))
        parent = f"l{chance.randrange(number)}" if number and chance.random() < 0.2 else f"l{number - 1}" if number else ""
        rows.append(row(text or " ", kind=kind, thread=chance.choice(["", "", "", "a", "b"]), uuid=f"l{number}", parent=parent))
        if chance.random() < 0.1:
            rows.append(rows[-1])
    return rows


@pytest.mark.parametrize("seed", range(4))
def test_a_line_at_a_time_or_all_at_once_gives_the_same_index(store: Store, tmp_path: Path, repository: int, seed: int) -> None:
    """And so does making it anew; with forks, threads, and two sessions whose turns come by turns."""
    entries = []
    for at_once in (1, 7, 1000):
        with db.open_store(str(tmp_path / f"{at_once}.db")) as own:
            place = int(own.execute("INSERT INTO repository (key, seen) VALUES ('path:/x', 0)").lastrowid or 0)
            say(own, place, course(seed), "one", at_once)
            say(own, place, course(seed + 100), "two", at_once)
            assert whole(own)
            entries.append(indexed(own))
            reindex.rebuild(own)
            assert whole(own)
            entries.append(indexed(own))
    assert all(entries[0] == other for other in entries)
    assert any(words for (_, _, column), words in entries[0].items() if column == "near")


def test_two_sessions_by_turns_have_the_index_that_each_alone_would_give(store: Store, repository: int) -> None:
    """Every batch looks back at its own session only."""
    one, two = course(1), course(2)
    for at in range(0, len(one), 3):
        say(store, repository, one[at : at + 3], "one")
        say(store, repository, two[at : at + 3], "two")
    say(store, repository, two[len(one) :], "two")
    before = indexed(store)
    reindex.rebuild(store)
    assert before == indexed(store)


def test_what_is_forgotten_is_no_longer_near(store: Store, repository: int) -> None:
    """Neither the words of the one turn at its neighbours, nor in the file; its place among them stays empty."""
    turns = say(store, repository, [row(text) for text in ("alpha one", "beta two", "Quetzalcoatl vault", "gamma three", "delta four", "epsilon five")])
    forget.forget(store, [f"t{turns[2]}"], "wish", NOW)
    assert [] == found(store, "quetzalcoatl") == found(store, "vault")
    assert {
        turns[0]: "beta two",
        turns[1]: "alpha on",
        turns[3]: "beta two delta four",
        turns[4]: "gamma three epsilon five",
        turns[5]: "gamma three delta four",
    } == near(store)
    assert whole(store)
    for name in os.listdir(os.path.dirname(store.path)):
        data = (Path(store.path).parent / name).read_bytes().lower()
        assert not any(part in data for part in (b"quetzalcoatl", b"quetz", b"zalcoatl", b"vault")), name
    before = indexed(store)
    reindex.rebuild(store)
    assert before == indexed(store)


@pytest.mark.parametrize("seed", range(6))
def test_forgetting_leaves_the_index_that_was_never_told(store: Store, repository: int, seed: int) -> None:
    """Any turns of a session with threads and forks: what stays is indexed as a new index would have it."""
    chance = random.Random(seed)
    turns = sorted({*say(store, repository, course(seed, 40), at_once=5)})
    for _ in range(3):
        forget.forget(store, [f"t{turn}" for turn in chance.sample(turns, 4)], "wish", NOW)
        before = indexed(store)
        assert not any(turn is None for turn, _, _ in before)
        assert whole(store)
        reindex.rebuild(store)
        assert before == indexed(store)
    more = say(store, repository, [row("the end", uuid="end")])
    before = indexed(store)
    reindex.rebuild(store)
    assert before == indexed(store)
    assert more[0] in {turn for turn, _, _ in before}


def test_what_is_forgotten_leaves_the_vectors_of_its_neighbours(store: Store, repository: int) -> None:
    """The table's are those of a session in which it was never said; another model makes its own anew."""
    texts = ("The gateway listens on port 8443", "The treasure of the pharaoh is buried below the old oak", "Tests are started with make")
    turns = say(store, repository, [row(text) for text in texts])
    other = vectors.choose(store, "follower", 4, [0, 0, 0, 0])
    for kind, number, _, _ in vectors.missing(store, other, 10):
        vectors.put(store, other, kind, [(number, repository, [32768, 0, 0, 0])])
        vectors.passed(store, other, kind, number)
    forget.forget(store, [f"t{turns[1]}"], "wish", NOW)
    codes = "SELECT v.codes FROM vector v JOIN passage p ON p.id = v.row JOIN model m ON m.id = v.model WHERE p.turn = ? AND substr(m.name, 1, 8) = 'builtin:'"
    kept = [store.value(codes, (turns[at],)) for at in (0, 2)]

    assert [texts[0], texts[2]] == [text.partition("\f")[0] for _, _, _, text in vectors.missing(store, other, 10)]
    assert not any("treasure" in text for _, _, _, text in vectors.missing(store, other, 10))
    reindex.rebuild(store)
    assert kept == [store.value(codes, (turns[at],)) for at in (0, 2)]


def test_forgetting_a_whole_session_leaves_nothing(store: Store, repository: int) -> None:
    """Not a word."""
    say(store, repository, course(3), "gone")
    kept = say(store, repository, [row("alpha"), row("beta")], "kept")
    forget.forget(store, ["gone"], "wish", NOW)
    assert {*kept} == {turn for turn, _, _ in indexed(store)}
    assert 2 == store.value("SELECT count(*) FROM passage")


def test_a_neighbour_that_was_changed_by_hand_does_not_keep_words(store: Store, repository: int) -> None:
    """The index has what it said before, so it is made anew first."""
    turns = say(store, repository, [row(text) for text in ("alpha", "Quetzalcoatl", "gamma")])
    store.execute("DROP TRIGGER turn_is_never_changed")
    store.execute("UPDATE turn SET content = replace(content, 'gamma', 'omega') WHERE id = ?", (turns[2],))
    forget.forget(store, [f"t{turns[1]}"], "wish", NOW)
    assert {(turns[0], 0, "text"): "alpha", (turns[2], 0, "text"): "omega", (turns[2], 0, "near"): "alpha"} == indexed(store)


def test_a_neighbour_that_another_python_folded_does_not_keep_words(store: Store, repository: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is left of the words after taking them out shows, and the index is made anew."""
    turns = say(store, repository, [row("the vault is Quetzalcoatl"), row("beta")])
    monkeypatch.setattr(index, "fold", lambda text: text.replace("Quetzalcoatl", " "))
    forget.forget(store, [f"t{turns[0]}"], "wish", NOW)
    assert {(turns[1], 0, "text"): "beta"} == indexed(store)


def test_a_copy_of_a_forgotten_turn_is_an_empty_place(store: Store, repository: int) -> None:
    """It comes again with another transcript, without its words."""
    rows = [row("alpha", uuid="a"), row("Quetzalcoatl", uuid="b", parent="a"), row("gamma", uuid="c", parent="b"), row("delta", uuid="d", parent="c")]
    turns = say(store, repository, rows)
    forget.forget(store, [f"t{turns[1]}"], "wish", NOW)
    copy = say(store, repository, [archive.Row(**{name: getattr(one, name) for name in archive.Row.__slots__ if name != "turn"}) for one in rows], "copy")
    assert [] == found(store, "quetzalcoatl")
    assert {copy[2]: "alpha delta", copy[3]: "gamma"} == {turn: words for turn, words in near(store).items() if turn in copy}


def test_spoken_passages_have_a_vector_and_lose_it_when_they_are_forgotten(store: Store, repository: int) -> None:
    """Calls and results have none; making the index anew gives the same rows."""
    rows = [
        row("The database migrations run at night"),
        row("make", kind="call"),
        row("built", kind="result"),
        row("They run before the backup starts", kind="reply"),
    ]
    turns = say(store, repository, rows)
    held = "SELECT p.turn FROM vector v JOIN passage p ON p.id = v.row WHERE v.kind = ? ORDER BY p.turn"
    assert [(turns[0],), (turns[3],)] == store.rows(held, (vectors.PASSAGE,))
    reindex.rebuild(store)
    assert [(turns[0],), (turns[3],)] == store.rows(held, (vectors.PASSAGE,))
    forget.forget(store, [f"t{turns[0]}"], "wish", NOW)
    assert [(turns[3],)] == store.rows(held, (vectors.PASSAGE,))
    assert 1 == store.value("SELECT count(*) FROM vector")
