"""The past, newest first and one exchange at a time."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

from tenon.store import archive, forget, past
from tenon.store.db import Store

NOW = 1_796_100_000.0


def talk(store: Store, repository: int, name: str, *texts: str, later: float = 0.0, folder: str = "/p", thread: str = "", kinds: str = "") -> list[int]:
    """The turns of a session; prompts and replies by turns unless the kinds are given by their first letters."""
    named = {
        "p": ("user", "prompt", "user"),
        "r": ("assistant", "reply", "assistant"),
        "c": ("assistant", "call", "assistant"),
        "t": ("user", "result", "tool"),
    }
    number = archive.session(store, name, repository=repository, folder=folder, at=NOW + later + len(texts) - 1)
    rows = []
    for at, text in enumerate(texts):
        role, kind, source = named[kinds[at] if kinds else "pr"[at % 2]]
        rows.append(
            archive.Row(
                uuid=f"{name}{thread}{later}-{at}", parent=f"{name}{thread}{later}-{at - 1}" if at else "", role=role, kind=kind, source=source,
                at=NOW + later + at, thread=thread, content=[{"type": "text", "text": text}],
            )
        )  # fmt: skip
    return archive.append(store, number, repository, rows)[1]


def told(
    store: Store, repositories: list[int] | None = None, without: list[str] | None = None, folders_out: list[str] | None = None
) -> list[tuple[str, list[str]]]:
    """Each exchange: the session's name and what was said."""
    found = past.newest(store, repositories=repositories, without=without or [], folders_out=folders_out or [])
    return [(session.name, [turn.text() for turn in turns]) for session, turns in found]


def test_the_newest_session_comes_first_and_its_newest_exchange(store: Store, repository: int) -> None:
    """Whatever was archived first; a session that goes on is new again."""
    talk(store, repository, "b", "b1", "b2", later=100)
    talk(store, repository, "a", "a1", "a2", "a3", "a4", later=50)
    talk(store, repository, "c", "c1", "c2")
    talk(store, repository, "c", "c3", "c4", later=200)

    assert [("c", ["c3", "c4"]), ("c", ["c1", "c2"]), ("b", ["b1", "b2"]), ("a", ["a3", "a4"]), ("a", ["a1", "a2"])] == told(store)


def test_of_sessions_that_ended_together_the_later_one_comes_first(store: Store, repository: int) -> None:
    """The order is the same every time."""
    for name in ("x", "y", "z"):
        talk(store, repository, name, name, "yes")

    assert [["z", "y", "x"]] * 3 == [[name for name, _ in told(store)] for _ in range(3)]


def test_what_is_older_than_a_turn_stays_out_and_hides_nothing_newer(store: Store, repository: int) -> None:
    """A long session that was spoken in last does not end the search with its old exchanges."""
    talk(store, repository, "long", "l1", "l2")
    talk(store, repository, "short", "s1", "s2", later=10)
    talk(store, repository, "long", "l3", "l4", later=20)
    talk(store, repository, "imported", "i1", "i2", later=-1000)

    found = past.newest(store, repositories=None, since=NOW + 10)
    assert [("long", "l3"), ("short", "s1")] == [(session.name, turns[0].text()) for session, turns in found]


def test_an_exchange_is_whole_and_of_the_main_conversation(store: Store, repository: int) -> None:
    """With its calls and results; what sub-agents said, and what came before the first prompt, is no part of it."""
    talk(store, repository, "s", "left over", "go", "call", "result", "done", "more", kinds="rpctrp")
    talk(store, repository, "s", "task", "answer", thread="agent-1")

    assert [("s", ["more"]), ("s", ["go", "call", "result", "done"])] == told(store)


def test_only_the_repositories_asked_for(store: Store, repository: int, other: int) -> None:
    """None means all, no repository means nothing."""
    talk(store, repository, "here", "h", "yes")
    talk(store, other, "there", "t", "yes", later=10)

    assert ["here"] == [name for name, _ in told(store, [repository])]
    assert ["there", "here"] == [name for name, _ in told(store, [repository, other])]
    assert ["there", "here"] == [name for name, _ in told(store, None)]
    assert [] == told(store, [])


def test_sessions_and_folders_stay_out(store: Store, repository: int, tmp_path: Path) -> None:
    """The conversation itself, and everything below an excluded folder."""
    secret = tmp_path / "sécret" / "deep"
    secret.mkdir(parents=True)
    talk(store, repository, "own", "o", "yes")
    talk(store, repository, "hidden", "h", "yes", folder=str(secret))
    talk(store, repository, "shown", "s", "yes", folder=str(tmp_path))

    assert ["shown"] == [name for name, _ in told(store, without=["own", ""], folders_out=[str(tmp_path / "sécret")])]


def test_what_was_forgotten_is_empty_and_a_forgotten_exchange_is_not_there(store: Store, repository: int) -> None:
    """A turn keeps its place."""
    turns = talk(store, repository, "s", "p1", "r1", "p2", "r2")
    forget.forget(store, [f"t{turns[0]}", f"t{turns[2]}", f"t{turns[3]}"], "wish", NOW)

    found = list(past.newest(store, repositories=None))
    assert [[(turns[0], []), (turns[1], [{"text": "r1", "type": "text"}])]] == [[(turn.id, turn.content) for turn in exchange] for _, exchange in found]


def test_no_more_is_read_than_is_asked_for(store: Store, repository: int) -> None:
    """One exchange costs one exchange, however long the past is; and nothing stays open that others would wait for."""
    for number in range(30):
        talk(store, repository, f"s{number}", *(f"{number} {at}" for at in range(20)), later=number * 100.0)
    asked: list[str] = []
    store.con.set_trace_callback(lambda statement: asked.append(statement) if "turn" in statement else None)

    found = past.newest(store, repositories=None)
    first = next(found)
    store.con.set_trace_callback(None)
    assert (["29 18", "29 19"], 2) == ([turn.text() for turn in first[1]], len(asked))
    assert forget.checkpoint(store)
    with store.transaction():
        talk(store, repository, "new", "n", "yes", later=9000.0)
    assert [["29 16", "29 17"], ["29 14", "29 15"]] == [[turn.text() for turn in turns] for _, turns in islice(found, 2)]
