"""Conversations through the proxy: what was decided once stands, whoever else writes at the same time."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tenon.store import conversations, db, figures, forget, forgotten
from tenon.store.conversations import Conversation
from tenon.store.db import Store

NOW = 1_796_100_000.0
DAY_S = 86400.0
SCRIPTS = Path(__file__).parents[2] / "scripts"
KEY = "sk-ant-api03-" + "Zx9" * 30 + "AA"


def begun(store: Store, name: str = "s1", state: str = "traced", now: float = NOW, **more: str) -> Conversation:
    """A conversation."""
    told = {"client": "claude-code", "folder": "/p", **more}
    return conversations.begin(store, name=name, repository=None, now=now, state=state, **told)


def message(text: str, role: str = "user") -> bytes:
    """A message as a client prints it."""
    return json.dumps({"role": role, "content": [{"type": "text", "text": text}]}).encode()


def rows(*texts: str) -> list[tuple[str, bytes]]:
    """Messages that say these, with their digests."""
    return [(f"d-{text}", message(text)) for text in texts]


def digests(store: Store, conversation: Conversation) -> list[str]:
    """What was sent, in short."""
    return [digest[2:] for digest in conversations.sent_digests(store, conversation)]


def test_a_conversation_begins_once(store: Store) -> None:
    """The second to begin it gets what the first has made."""
    assert conversations.find(store, "s1") is None
    first = begun(store)
    second = begun(store, state="plain", now=NOW + 5, client="other", reason="late")

    assert ("s1", "claude-code", "/p", None, NOW, NOW, "traced", "", 0, 0, 0, 0.0, "") == tuple(getattr(first, name) for name in Conversation.__slots__[1:])
    assert [getattr(first, name) for name in Conversation.__slots__] == [getattr(second, name) for name in Conversation.__slots__]


def test_what_was_announced_begins_with_its_first_request(store: Store, repository: int) -> None:
    """It is listed from then on; an announcement that comes late changes nothing."""
    announced = begun(store, state="announced", client="claude-code with hooks")
    assert ([], (0, 0, 0)) == (conversations.listed(store, 5), figures.conversations(store))
    made = conversations.begin(store, name="s1", client=announced.client, folder="/q", repository=repository, now=NOW + 3, state="traced")
    again = begun(store, state="announced", now=NOW + 9, client="x")

    assert (announced.id, "claude-code with hooks", "/q", repository, NOW, NOW + 3, "traced") == (
        made.id, made.client, made.folder, made.repository, made.began, made.last, made.state,
    )  # fmt: skip
    assert ("traced", "/q", "claude-code with hooks") == (again.state, again.folder, again.client)
    assert ["s1"] == [found.name for found in conversations.listed(store, 5)]


def test_requests_are_counted_and_measured(store: Store) -> None:
    """The object says what the store says; time does not run backwards."""
    conversation = begun(store)
    conversations.touch(store, conversation, now=NOW + 10, tokens=900, text_bytes=3000, per_token=3.3)
    conversations.touch(store, conversation, now=NOW + 5, tokens=950, text_bytes=3200, per_token=3.4)

    found = conversations.find(store, "s1")
    assert found is not None
    assert (2, NOW + 10, 950, 3200, 3.4) == (found.requests, found.last, found.tokens, found.text_bytes, found.per_token)
    assert (2, 3.4) == (conversation.requests, conversation.per_token)


def test_a_bypassed_conversation_stays_bypassed(store: Store) -> None:
    """The reason is short and has no secret in it."""
    conversation = begun(store)
    conversations.bypass(store, conversation, f"refused: {KEY} " + "long " * 200, NOW + 1)

    found = begun(store)
    assert ("bypassed", conversation.reason) == (found.state, found.reason)
    assert found.reason.startswith("refused: [redacted:")
    assert 300 == len(found.reason)


def test_the_list_is_newest_first_and_no_longer_than_asked(store: Store) -> None:
    """By their latest request."""
    for number, name in enumerate(("a", "b", "c")):
        conversations.touch(store, begun(store, name), now=NOW + (number * 7) % 3, tokens=0, text_bytes=0, per_token=0.0)

    assert (["c", "b", "a"], ["c", "b"]) == (
        [found.name for found in conversations.listed(store, 9)], [found.name for found in conversations.listed(store, 2)],
    )  # fmt: skip


# ---------------------------------------------------------------- epochs and pieces


def test_epochs_are_numbered_and_come_newest_first(store: Store) -> None:
    """With their pieces in order; another conversation's are its own."""
    conversation, other = begun(store), begun(store, "s2")
    one, two = (conversations.add_piece(store, [message(text)], 7, 0) for text in ("one", "two"))
    conversations.add_epoch(store, conversation, why="start", skip=0, anchor="", strip=0, pieces=[one], now=NOW)
    made = conversations.add_epoch(store, conversation, why="compaction", skip=2, anchor="a2", strip=4, pieces=[two, one, two], now=NOW + 1)
    conversations.add_epoch(store, other, why="start", skip=0, anchor="", strip=0, pieces=[], now=NOW)

    told = [(epoch.number, epoch.at, epoch.why, epoch.skip, epoch.anchor, epoch.strip, epoch.pieces) for epoch in conversations.epochs(store, conversation)]
    assert [(1, NOW + 1, "compaction", 2, "a2", 4, [two, one, two]), (0, NOW, "start", 0, "", 0, [one])] == told
    assert (1, [two, one, two]) == (made.number, made.pieces)
    assert [[]] == [epoch.pieces for epoch in conversations.epochs(store, other)]
    assert 21 == conversations.piece_tokens(store, made.pieces)


def test_the_same_epoch_written_twice_is_one(store: Store) -> None:
    """As by two processes that have seen the same request."""
    conversation = begun(store)
    made = [conversations.add_epoch(store, conversation, why="start", skip=0, anchor="", strip=0, pieces=[], now=NOW + at).number for at in range(2)]
    later = conversations.add_epoch(store, conversation, why="budget", skip=3, anchor="x", strip=0, pieces=[], now=NOW)

    assert ([0, 0], 1) == (made, later.number)


def test_a_piece_gives_its_messages_byte_for_byte(store: Store) -> None:
    """However they were printed: spaces, line ends, escapes, any script."""
    given = [
        b'{ "role" : "user",\n  "content": "\\u00e9 \\/ caf\xc3\xa9 \xe6\x9d\xb1\xe4\xba\xac \xf0\x9f\x98\x80 \\ud83d alone, [x], {y}" }',
        b'{"role":"assistant","content":[{"type":"thinking","thinking":"","signature":"c2ln"},{"type":"text","text":"1,2"}],"x":1.0}',
        message("last"),
    ]
    piece = conversations.add_piece(store, given, 100, 2)
    second = conversations.add_piece(store, [message("more")], 5, 0)

    assert given == conversations.piece_messages(store, [piece])
    assert [message("more"), *given] == conversations.piece_messages(store, [second, piece])
    assert (piece, [], []) == (conversations.add_piece(store, given, 100, 2), conversations.piece_messages(store, []), json.loads("[]"))
    empty = conversations.add_piece(store, [], 0, 0)
    assert [] == conversations.piece_messages(store, [empty])


def test_a_piece_is_kept_without_secrets(store: Store) -> None:
    """What is sent is what the store gives, so it is the same every time."""
    piece = conversations.add_piece(store, [message("plain"), message(f"the key is {KEY}")], 1, 0)

    found = conversations.piece_messages(store, [piece]) or []
    assert [message("plain"), b'{"role":"user","content":[{"type":"text","text":"the key is [redacted:anthropic]"}]}'] == [
        found[0], found[1].replace(b"anthropic-api-key", b"anthropic").replace(b"api-key", b"anthropic"),
    ]  # fmt: skip
    assert (False, True) == (conversations.altered(found[0]), conversations.altered(found[1]))
    assert piece == conversations.add_piece(store, found, 1, 0)


def test_a_piece_that_is_gone_is_told_and_its_number_is_never_used_again(store: Store) -> None:
    """Else an old epoch would bring other words."""
    conversation = begun(store)
    piece = conversations.add_piece(store, [message("the Quetzalcoatl vault")], 1, 0)
    conversations.add_epoch(store, conversation, why="start", skip=0, anchor="", strip=0, pieces=[piece], now=NOW)
    forget.forget(store, forget.matching(store, "Quetzalcoatl"), "wish", NOW, ["Quetzalcoatl"])

    assert ([piece], None) == (conversations.epochs(store, conversation)[0].pieces, conversations.piece_messages(store, [piece]))
    again = conversations.add_piece(store, [message("the Quetzalcoatl vault")], 1, 0)
    assert again > piece
    assert [b'{"role":"user","content":[{"type":"text","text":"the [forgotten] vault"}]}'] == conversations.piece_messages(store, [again])
    assert conversations.piece_messages(store, [again, piece]) is None


def test_a_fork_has_what_its_origin_has(store: Store) -> None:
    """Epochs, pieces, additions; from then on each has its own."""
    origin = begun(store)
    piece = conversations.add_piece(store, [message("past")], 1, 0)
    conversations.add_epoch(store, origin, why="start", skip=0, anchor="", strip=0, pieces=[piece], now=NOW)
    conversations.add_addition(store, origin, "d1", 0, 1, "memory")
    fork = begun(store, "s2", now=NOW + 1)

    assert conversations.copy_epochs(store, origin, fork)
    assert not conversations.copy_epochs(store, origin, fork)
    assert not conversations.copy_epochs(store, fork, fork)
    conversations.add_epoch(store, fork, why="budget", skip=1, anchor="a", strip=0, pieces=[], now=NOW)
    assert [[(1, []), (0, [piece])], [(0, [piece])]] == [
        [(epoch.number, epoch.pieces) for epoch in conversations.epochs(store, one)] for one in (fork, origin)
    ]  # fmt: skip
    assert {("d1", 0): (1, "memory")} == conversations.additions(store, fork) == conversations.additions(store, origin)


def test_an_addition_stands_as_it_was_written_first(store: Store) -> None:
    """The other process gets it too; equal messages are told apart by their ordinal."""
    conversation = begun(store)
    made = [conversations.add_addition(store, conversation, *told) for told in (("d", 0, 1, "first"), ("d", 0, 2, "second"), ("d", 1, 0, "third"))]

    assert [(1, "first"), (1, "first"), (0, "third")] == made
    assert {("d", 0): (1, "first"), ("d", 1): (0, "third")} == conversations.additions(store, conversation)


# ---------------------------------------------------------------- what was sent


def test_what_was_sent_grows_and_is_rewound(store: Store) -> None:
    """Everything from the place on is replaced."""
    conversation = begun(store)
    assert conversations.remember_sent(store, conversation, 0, rows("a", "b", "c"))
    assert conversations.remember_sent(store, conversation, 3, rows("d"))
    assert rows("a", "b", "c", "d") == conversations.sent(store, conversation)
    assert conversations.remember_sent(store, conversation, 1, rows("x"))
    assert rows("a", "x") == conversations.sent(store, conversation)
    assert conversations.remember_sent(store, conversation, 1, [])
    assert ["a"] == digests(store, conversation)
    assert ["a"] == [digest[2:] for digest, _ in conversations.sent(store, conversation)]


def test_a_gap_is_not_written(store: Store) -> None:
    """What another process took away in between comes with the next request."""
    conversation = begun(store)
    conversations.remember_sent(store, conversation, 0, rows("a"))

    assert not conversations.remember_sent(store, conversation, 2, rows("c"))
    assert ["a"] == digests(store, conversation)


def test_what_is_there_already_is_neither_redacted_nor_written(store: Store) -> None:
    """A request that repeats a long conversation costs its new tail: bytes that nobody looks at need not even be JSON."""
    conversation = begun(store)
    known = rows(*(f"m{number}" for number in range(50)))
    conversations.remember_sent(store, conversation, 0, known)
    unread = [(digest, b"not looked at") for digest, _ in known]
    before = store.con.total_changes

    assert conversations.remember_sent(store, conversation, 0, unread)
    assert before == store.con.total_changes
    assert conversations.remember_sent(store, conversation, 0, [*unread, *rows("new", "newer")])
    assert before + 2 == store.con.total_changes
    assert [*known, *rows("new", "newer")] == conversations.sent(store, conversation)


def test_what_was_sent_is_kept_without_secrets(store: Store) -> None:
    """Of calls and results too; a signature and a picture are left alone, and what has no secret is byte for byte."""
    signature = "c2lnbmF0dXJl" * 20 + KEY[13:40]
    plain = b'{ "role":"user", "content":"p\\u00e2t\\u00e9 \\ud83d" }'
    given = [
        {"role": "assistant", "content": [{"type": "thinking", "thinking": f"it is {KEY}", "signature": signature}, {"type": "text", "text": "ok"}]},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": f"curl -H 'x-api-key: {KEY}'"}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": f"{KEY} \ud83d"}]},
        {"role": "user", "content": [{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "QUtJQUlPU0ZPRE5ON0VYQU1QTEU="}}]},
    ]
    conversation = begun(store)
    conversations.remember_sent(store, conversation, 0, [("d", plain), *(("d", json.dumps(one).encode()) for one in given)])

    found = [kept for _, kept in conversations.sent(store, conversation)]
    assert (plain, json.dumps(given[3]).encode()) == (found[0], found[4])
    assert KEY.encode() not in b"".join(found)
    assert [True] * 3 == [b"[redacted:" in kept and conversations.altered(kept) for kept in found[1:4]]
    assert signature == json.loads(found[1])["content"][0]["signature"]
    assert "\ud83d" == json.loads(found[3])["content"][0]["content"][-1]
    assert KEY.encode() not in Path(store.path).read_bytes() + Path(store.path + "-wal").read_bytes()
    assert found[2] == conversations.redacted(json.dumps(given[1]).encode())


# ---------------------------------------------------------------- which conversation a list of messages belongs to


def several(store: Store, **sent: str) -> None:
    """Conversations, each later than the one before, that sent a message per letter."""
    for number, (name, letters) in enumerate(sent.items()):
        conversation = begun(store, name, now=NOW + number)
        conversations.remember_sent(store, conversation, 0, rows(*letters))


def liked(store: Store, letters: str) -> str:
    """The name of the conversation that a list of messages belongs to, «» for none."""
    found = conversations.like(store, [f"d-{letter}" for letter in letters])
    return found.name if found else ""


@pytest.mark.parametrize(
    ("letters", "name"),
    [
        ("abcdefg", "long"),  # it goes on
        ("abcxyz", "short"),  # it goes on otherwise than the longer one
        ("abcde", "long"),  # it was rewound
        ("abx", "newest"),  # two are all that is left, and several have them
        ("a", "newest"),  # one that begins
        ("b", ""),  # one message from the middle tells nothing
        ("ax", ""),  # the same first words
        ("xbcdef", "long"),  # the first message has changed
        ("cdefgh", "long"),  # the client has dropped its oldest messages
        ("axbxc", ""),  # the same words here and there
        ("uvwz", ""),
        ("", ""),
        ("qr", "another"),
    ],
)
def test_a_list_of_messages_finds_its_conversation(store: Store, letters: str, name: str) -> None:
    """The one that agrees with most of them."""
    several(store, another="qrs", long="abcdef", short="abcxy", newest="ab")

    assert name == liked(store, letters)


def test_messages_that_are_said_all_the_time_tell_nothing(store: Store) -> None:
    """Two long conversations of «continue» are two."""
    one, other = begun(store, "one"), begun(store, "other")
    conversations.remember_sent(store, one, 0, [row for number in range(40) for row in rows("continue", f"one {number}")])
    conversations.remember_sent(store, other, 0, [row for number in range(40) for row in rows("continue", f"other {number}")])

    assert conversations.like(store, [digest for number in range(40) for digest in ("d-continue", f"d-third {number}")]) is None
    found = conversations.like(store, [digest for number in range(30) for digest in ("d-continue", f"d-one {number}")])
    assert found is not None
    assert "one" == found.name


def test_a_long_fork_is_found_among_many(store: Store) -> None:
    """More messages than one statement looks for."""
    letters = random.Random(7)
    long = [f"{letters.random():.9f}" for _ in range(900)]
    for number in range(8):
        conversations.remember_sent(store, begun(store, f"s{number}", now=NOW + number), 0, rows(*long[: number * 70 + 20], f"end {number}"))

    found = conversations.like(store, [f"d-{one}" for one in [*long[:800], "other"]])
    assert found is not None
    assert "s7" == found.name


# ---------------------------------------------------------------- pruning


def test_what_was_left_thirty_days_ago_goes(store: Store) -> None:
    """Its messages, pieces and additions; a piece that another conversation has stays. Should it go on, old thinking stays out."""
    old, new = begun(store, "old"), begun(store, "new", now=NOW + 20 * DAY_S)
    own, shared = (conversations.add_piece(store, [message(text)], 1, 0) for text in ("own", "shared"))
    for conversation, pieces in ((old, [own, shared]), (new, [shared])):
        conversations.add_epoch(store, conversation, why="start", skip=0, anchor="", strip=0, pieces=pieces, now=NOW)
        conversations.remember_sent(store, conversation, 0, rows("a", "b", "c"))
        conversations.add_addition(store, conversation, "d-a", 0, 0, "memory")
    begun(store, "announced", state="announced")
    begun(store, "plain", state="plain")

    conversations.prune(store, NOW + 29 * DAY_S)
    assert 4 == store.value("SELECT count(*) FROM conversation")
    for _ in range(2):
        conversations.prune(store, NOW + 31 * DAY_S)

    assert [("left", 0, "", 3, [])] == [(epoch.why, epoch.skip, epoch.anchor, epoch.strip, epoch.pieces) for epoch in conversations.epochs(store, old)]
    assert ([], {}, None) == (conversations.sent(store, old), conversations.additions(store, old), conversations.piece_messages(store, [own]))
    assert ["a", "b", "c"] == digests(store, new)
    assert [message("shared")] == conversations.piece_messages(store, [shared])
    assert ["new", "old"] == [found.name for found in conversations.listed(store, 9)]
    assert (2, 3, 1) == figures.conversations(store)
    assert store.value("SELECT max(number) FROM epoch") == 1


def test_where_traces_begin_is_remembered(store: Store) -> None:
    """For each scope."""
    assert 0 == conversations.trace_start(store, "everywhere")
    conversations.set_trace_start(store, "everywhere", 70)
    conversations.set_trace_start(store, "1,2", 9)
    conversations.set_trace_start(store, "everywhere", 71)

    assert (71, 9, 0) == tuple(conversations.trace_start(store, key) for key in ("everywhere", "1,2", "1"))


# ---------------------------------------------------------------- many at once


def test_many_processes_begin_and_decide_at_once(store: Store) -> None:
    """One conversation, one first epoch, one piece, and all that was sent, from eight processes."""
    code = f"""
import sys
sys.path.insert(0, {str(SCRIPTS)!r})
from tenon.store import conversations, db
path, own = sys.argv[1:]
with db.open_store(path) as store:
    sys.stdin.readline()
    with store.transaction():
        made = conversations.begin(store, name="shared", client="c", folder="/p", repository=None, now=1.0, state="traced")
        piece = conversations.add_piece(store, [b'{{"role":"user","content":"past"}}'], 1, 0)
        conversations.add_epoch(store, made, why="start", skip=0, anchor="", strip=0, pieces=[piece], now=1.0)
    mine = conversations.begin(store, name=own, client="c", folder="/p", repository=None, now=1.0, state="traced")
    for number in range(40):
        assert conversations.remember_sent(store, mine, number, [(f"{{own}}{{number}}", b'{{"role":"user","content":"%d"}}' % number)])
        conversations.touch(store, made, now=2.0, tokens=1, text_bytes=1, per_token=3.0)
"""
    started = [
        subprocess.Popen([sys.executable, "-I", "-S", "-c", code, store.path, f"own{at}"], stdin=subprocess.PIPE, stderr=subprocess.PIPE) for at in range(8)
    ]
    for one in started:
        assert one.stdin is not None
        one.stdin.write(b"go\n")
        one.stdin.flush()
    assert [(0, b"")] * 8 == [(one.returncode, errors) for one in started for errors in (one.communicate(timeout=60)[1],)]

    shared = conversations.find(store, "shared")
    assert shared is not None
    assert (320, [(0, [1])], 1) == (
        shared.requests, [(epoch.number, epoch.pieces) for epoch in conversations.epochs(store, shared)], store.value("SELECT count(*) FROM piece"),
    )  # fmt: skip
    assert 320 == store.value("SELECT count(*) FROM sent")


def test_what_is_forgotten_while_it_is_being_written_is_not_written(store: Store) -> None:
    """Writers and a user who forgets, at once: afterwards the words are nowhere, whoever was first."""
    names = [f"s{number}" for number in range(4)]
    for name in names:
        begun(store, name)

    def write(name: str) -> None:
        with db.open_store(store.path) as own:
            conversation = conversations.find(own, name)
            assert conversation is not None
            for number in range(60):
                conversations.remember_sent(own, conversation, number, rows(f"{number} the Quetzalcoatl vault"))

    with ThreadPoolExecutor(4) as pool:
        done = [pool.submit(write, name) for name in names]
        with db.open_store(store.path) as own:
            forget.forget(own, forget.matching(own, "Quetzalcoatl"), "wish", NOW, ["Quetzalcoatl"])
        for one in done:
            one.result()

    assert 240 == store.value("SELECT count(*) FROM sent")
    assert 0 == store.value("SELECT count(*) FROM sent WHERE content LIKE '%Quetz%'")
    assert forgotten.known(store) is not None
