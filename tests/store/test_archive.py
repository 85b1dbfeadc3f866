"""The archive: append-only, chained, each turn once, and provably unchanged."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Any

import pytest

from tenon.base.lean import sqlite
from tenon.store import archive, feeds
from tenon.store.db import Store
from tests.store.chain import checked

KEY = "sk-ant-api03-" + "Zz9" * 31 + "AA"


def a_session(store: Store, name: str = "s1") -> int:
    """A session of a repository made for it."""
    store.execute("INSERT OR IGNORE INTO repository (id, key, seen) VALUES (1, 'path:/p', 1.0)")
    return archive.session(store, name, repository=1, folder="/p", at=10.0, branch="main")


def row(text: str, uuid: str = "", parent: str = "", **more: Any) -> archive.Row:
    """A prompt, or what `more` makes of it."""
    told = {"role": "user", "kind": "prompt", "source": "user", "at": 10.0, "content": [{"type": "text", "text": text}], **more}
    return archive.Row(uuid=uuid or text, parent=parent, **told)


def add(store: Store, session: int, *rows: archive.Row) -> tuple[int, list[int]]:
    """The rows, appended."""
    return archive.append(store, session, 1, rows)


def contents(store: Store) -> list[Any]:
    """The blocks of every turn."""
    return [json.loads(each) for (each,) in store.rows("SELECT content FROM turn ORDER BY id")]


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM turn WHERE id = 1",
        'UPDATE turn SET content = \'[{"text":"x","type":"text"}]\' WHERE id = 1',
        "UPDATE turn SET hash = x'00' WHERE id = 1",
        "UPDATE turn SET parent = NULL WHERE id = 2",
        "UPDATE turn SET session = session",
        "UPDATE turn SET at = 11.0 WHERE id = 1",
        "UPDATE turn SET content = '[]' WHERE id = 1",
        "UPDATE turn SET forgotten = 5.0 WHERE id = 1",
        "UPDATE turn SET forgotten = 5.0, content = '[]', kind = 'other' WHERE id = 1",
        "INSERT OR REPLACE INTO turn SELECT id, hash, parent, session, repository, thread, message, role, kind, source, at, tokens, '[1]', forgotten FROM turn",
        "REPLACE INTO turn SELECT id, x'77', parent, session, repository, thread, message, role, kind, source, at, tokens, content, forgotten FROM turn WHERE id = 1",
        "INSERT OR IGNORE INTO turn SELECT 99, hash, parent, session, repository, thread, message, role, kind, source, at, tokens, content, forgotten FROM turn",
    ],
)
def test_a_turn_is_never_changed_nor_deleted(store: Store, statement: str) -> None:
    """Whatever the statement: the database itself refuses."""
    add(store, a_session(store), row("one"), row("two", parent="one"))

    with pytest.raises(sqlite.Error, match="the archive is append-only"):
        store.execute(statement)
    assert (2, []) == checked(store)


def test_a_turn_is_forgotten_once(store: Store) -> None:
    """Its content goes, its place stays, and the turns after it are still bound to it."""
    add(store, a_session(store), row("one"), row("two", parent="one"))
    store.execute("UPDATE turn SET content = '[]', forgotten = 5.0 WHERE id = 1")

    assert (2, []) == checked(store)
    for again in ("forgotten = 6.0", "forgotten = NULL", "content = '[1]', forgotten = 6.0"):
        with pytest.raises(sqlite.Error, match="append-only"):
            store.execute(f"UPDATE turn SET {again} WHERE id = 1")


def test_a_hash_binds_content_and_parent(store: Store) -> None:
    """Derived by hand."""
    add(store, a_session(store), row("one"), row("two", parent="one", role="assistant", kind="reply", source="assistant"))
    first = sha256(b'session:s1\n\nuser\n[{"text":"one","type":"text"}]').digest()
    second = sha256(first + b'\n\nassistant\n[{"text":"two","type":"text"}]').digest()

    assert [(first,), (second,)] == store.rows("SELECT hash FROM turn ORDER BY id")


def test_a_changed_byte_is_noticed(store: Store) -> None:
    """By somebody who took the trigger away first."""
    add(store, a_session(store), row("one"), row("two", parent="one"), row("three", parent="two"))
    store.execute("DROP TRIGGER turn_is_never_changed")
    store.execute("UPDATE turn SET content = replace(content, 'two', 'twO') WHERE id = 2")
    assert (3, [2]) == checked(store)

    store.execute("UPDATE turn SET content = replace(content, 'twO', 'two') WHERE id = 2")
    store.execute("UPDATE turn SET parent = 1 WHERE id = 3")
    assert (3, [3]) == checked(store)

    store.execute("UPDATE turn SET parent = 2, role = 'assistant' WHERE id = 3")
    assert (3, [3]) == checked(store)


def test_a_line_that_is_known_is_not_kept_again(store: Store) -> None:
    """Nor the same answer to the same turn under another id; the same words elsewhere are another turn."""
    session = a_session(store)

    assert (2, [1, 2]) == add(store, session, row("one"), row("yes", "u2", "one"))
    assert (0, [1, 2]) == add(store, session, row("one"), row("yes", "u2", "one"))
    assert (0, [2]) == add(store, session, row("yes", "u3", "one"))
    assert (1, [3]) == add(store, session, row("yes", "u4", "u3"))


def test_a_fork_and_a_rewind_are_branches(store: Store) -> None:
    """Two turns with one parent; a fork's belong to its own session."""
    add(store, a_session(store), row("one"), row("two", parent="one"))
    add(store, a_session(store), row("two, otherwise", parent="one"))
    add(store, a_session(store, "s2"), row("one"), row("two", parent="one"), row("three", parent="two"))

    assert [(None, 1), (1, 1), (1, 1), (2, 2)] == store.rows("SELECT parent, session FROM turn ORDER BY id")
    assert (4, []) == checked(store)


def test_sessions_at_once_are_separate_chains(store: Store) -> None:
    """Also when both begin with the same words."""
    first, second = a_session(store), a_session(store, "s2")
    add(store, first, row("hello", "a1"))
    add(store, second, row("hello", "b1"))
    add(store, first, row("go", "a2", "a1"))
    add(store, second, row("go", "b2", "b1"))

    assert [(None,), (None,), (1,), (2,)] == store.rows("SELECT parent FROM turn ORDER BY id")
    assert 4 == store.value("SELECT count(DISTINCT hash) FROM turn")


def test_a_line_that_is_not_kept_leads_to_its_parent(store: Store) -> None:
    """And an unknown parent to the last turn of the session and thread."""
    session = a_session(store)
    add(store, session, row("one"))
    assert archive.follow(store, "attachment", "one")
    assert not archive.follow(store, "lost", "nowhere")
    add(store, session, row("agent's", parent="", thread="abc"))
    add(store, session, row("two", parent="attachment"), row("three", parent="lost"), row("agent's two", parent="lost", thread="abc"))

    assert [(1, None), (2, None), (3, 1), (4, 3), (5, 2)] == store.rows("SELECT id, parent FROM turn ORDER BY id")


def test_a_cache_marker_is_no_content(store: Store) -> None:
    """A block with one is the block without it."""
    session = a_session(store)
    add(store, session, row("x", "a", content=[{"type": "text", "text": "one", "cache_control": {"type": "ephemeral"}}]))

    assert [[{"type": "text", "text": "one"}]] == contents(store)
    assert (0, [1]) == add(store, a_session(store), row("x", "a", content=[{"text": "one", "type": "text"}]))


def test_a_signature_is_kept_as_it_is(store: Store) -> None:
    """However much it looks like a secret; what the model thought is redacted."""
    signature = "EuYBCkQYAiJA" + KEY
    block = {"type": "thinking", "thinking": f"the key {KEY}", "signature": signature}
    hidden = {"type": "redacted_thinking", "data": signature}
    add(store, a_session(store), row("t", role="assistant", kind="thinking", source="assistant", content=[block, hidden]))

    assert signature == contents(store)[0][0]["signature"]
    assert KEY not in contents(store)[0][0]["thinking"]
    assert hidden == contents(store)[0][1]


def test_a_secret_is_in_no_field(store: Store) -> None:
    """Neither in text, nor in a tool's input at any depth, nor in its output, nor in a name."""
    call = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": f"curl {KEY}", "env": [{"deep": {"key": KEY}}]}}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": f"ok {KEY}"}]}
    add(store, a_session(store), row(f"here: {KEY}", "u1"), row("c", content=[call]), row("r", content=[result]))

    assert 0 == store.value("SELECT count(*) FROM turn WHERE instr(content, ?)", (KEY,))
    assert "t1" == contents(store)[1][0]["id"]
    assert (3, []) == checked(store)


def test_a_picture_counts_as_one_and_is_kept_whole(store: Store) -> None:
    """Not as the length of its bytes."""
    block = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo" + "A+/b" * 50_000}}
    add(store, a_session(store), row("p", content=[block, {"type": "text", "text": "look"}]))

    assert [block, {"type": "text", "text": "look"}] == contents(store)[0]
    assert 1600 < store.value("SELECT tokens FROM turn") < 1700


def test_broken_characters_do_not_stop_it(store: Store) -> None:
    """Lone surrogates become «?», in keys and signatures too."""
    add(store, a_session(store), row("u", content=[{"type": "text", "text": "a\ud83d"}, {"type": "x", "\udc00": ["\ud83d"]}]))
    add(store, a_session(store), row("t", content=[{"type": "thinking", "thinking": "\ud83d", "signature": "\ud83d"}]))

    assert [{"type": "text", "text": "a?"}, {"?": ["?"], "type": "x"}] == contents(store)[0]
    assert (2, []) == checked(store)


def test_a_batch_is_whole_or_not_there(store: Store) -> None:
    """A row that cannot be kept takes the others with it."""
    with pytest.raises(sqlite.Error):
        add(store, a_session(store), row("one"), row("two", kind="nonsense"))

    assert 0 == store.value("SELECT count(*) FROM turn")


def test_the_tool_of_an_archived_call_is_known(store: Store) -> None:
    """By its line and id."""
    add(store, a_session(store), row("c", content=[{"type": "tool_use", "id": "t1", "name": "Bash", "input": {}}]))

    assert ["Bash", "", ""] == [archive.tool_of(store, *asked) for asked in (("c", "t1"), ("c", "t2"), ("none", "t1"))]


def test_a_session_keeps_its_repository_and_follows_its_branch(store: Store) -> None:
    """And its last time never goes back."""
    number = a_session(store)
    store.execute("INSERT INTO repository (id, key, seen) VALUES (2, 'path:/q', 1.0)")
    assert number == archive.session(store, "s1", repository=2, folder="/q", at=30.0, branch="topic")
    archive.session(store, "s1", repository=2, folder="/q", at=20.0)

    assert [("s1", 1, "/p", "topic", 10.0, 30.0)] == store.rows("SELECT name, repository, folder, branch, started, last FROM session")


def test_a_position_is_remembered(store: Store) -> None:
    """With what was left out."""
    assert (0, "", 0) == feeds.position(store, "/a")
    feeds.set_position(store, "/a", 12, "1:2", 0, 5.0)
    feeds.set_position(store, "/b", 30, "1:3", 2, 5.0)

    assert (12, "1:2", 0) == feeds.position(store, "/a")
    assert [("/b", 2)] == feeds.left_out(store)
    assert feeds.began(store) > 1_700_000_000
