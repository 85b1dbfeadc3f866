"""What the user forgets is in no prefix, in nothing that was sent and in no addition either; the same words of others stay."""

from __future__ import annotations

import json
import os
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from tenon.store import archive, conversations, forget, memories, summaries
from tenon.store.conversations import Conversation
from tenon.store.db import Store

NOW = 1_796_100_000.0
SECRET = "Quetzalcoatl"
TOLD = f"Listen: the staging vault is called {SECRET} and it lives in a cellar below the harbour of Oslo, next to the old crane."

UNSPACED = "東京の金庫の名前はケツァルコアトルで、港のそばの古いクレーンの下の地下室にあります。誰にも言わないでください、お願いします。"


def text(words: str) -> dict[str, Any]:
    """A block of text."""
    return {"type": "text", "text": words}


def call(number: int, **given: Any) -> dict[str, Any]:
    """A call of a tool."""
    return {"type": "tool_use", "id": f"toolu_{number}", "name": "Bash", "input": given}


def result(number: int, content: Any) -> dict[str, Any]:
    """The result of a call."""
    return {"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": content}


def message(*blocks: dict[str, Any], role: str = "user") -> bytes:
    """A message as a client prints it, with letters escaped that need it not."""
    return json.dumps({"role": role, "content": list(blocks)}).encode()


def traced(store: Store, name: str = "s1") -> Conversation:
    """A conversation through the proxy, with an epoch."""
    found = conversations.begin(store, name=name, client="claude-code", folder="/p", repository=None, now=NOW, state="traced")
    conversations.add_epoch(store, found, why="start", skip=0, anchor="", strip=0, pieces=[], now=NOW)
    return found


def send(store: Store, conversation: Conversation, *given: bytes) -> None:
    """Lets the client of a conversation send these messages."""
    conversations.remember_sent(store, conversation, 0, [(sha256(one).hexdigest()[:8], one) for one in given])


def kept(store: Store, conversation: Conversation) -> list[Any]:
    """The content of each message that was sent, as it is kept."""
    return [json.loads(one)["content"] for _, one in conversations.sent(store, conversation)]


def piece(store: Store, *given: bytes) -> int:
    """A piece of a prefix."""
    return conversations.add_piece(store, list(given), 1, 0)


def archived(store: Store, repository: int, *blocks: dict[str, Any], session: str = "s1") -> list[int]:
    """The turns of a session that has one block each."""
    number = archive.session(store, session, repository=repository, folder="/p", at=NOW)
    kinds = {"text": ("user", "prompt", "user"), "tool_use": ("assistant", "call", "assistant"), "tool_result": ("user", "result", "tool")}
    rows = [
        archive.Row(uuid=f"{session}-{at}", parent=f"{session}-{at - 1}" if at else "", role=kinds[block["type"]][0], kind=kinds[block["type"]][1],
                    source=kinds[block["type"]][2], at=NOW + at, content=[block])
        for at, block in enumerate(blocks)
    ]  # fmt: skip
    return archive.append(store, number, repository, rows)[1]


def anywhere(store: Store, words: str) -> list[str]:
    """The files of the store whose bytes hold the words, whatever the case."""
    folder = Path(store.path).parent
    return [name for name in os.listdir(folder) if words.lower().encode() in (folder / name).read_bytes().lower()]


def test_a_named_text_leaves_every_place_and_every_file(store: Store, repository: int) -> None:
    """Traces, what was sent, additions, the conversation's own fields; and the next request does not bring it back."""
    conversation, other = traced(store), traced(store, "s2")
    store.execute("UPDATE conversation SET folder = '/home/quetzalcoatl/x', reason = 'as QUETZALCOATL said' WHERE id = ?", (other.id,))
    trace, clean = piece(store, message(text("before")), message(text(TOLD))), piece(store, message(text("nothing of it")))
    conversations.add_epoch(store, conversation, why="start", skip=0, anchor="", strip=1, pieces=[clean, trace], now=NOW)
    given = [
        message(text("hello"), text(TOLD)),
        message(text("Noted."), call(1, command=f"ssh {SECRET}"), role="assistant"),
        message(result(1, f"{SECRET}: ok")),
    ]
    send(store, conversation, *given)
    conversations.add_addition(store, conversation, "d0", 0, 1, f"<tenon-memory>\n- the vault is {SECRET.upper()} (mabcdefghi)\n</tenon-memory>")
    conversations.add_addition(store, conversation, "d2", 0, 1, "<tenon-memory>\n- something else (mzyxwvutsr)\n</tenon-memory>")
    assert anywhere(store, SECRET)

    refs = forget.matching(store, SECRET)
    assert {f"conversation:{conversation.id}", f"conversation:{other.id}", f"piece:{trace}"} == set(refs)
    assert {
        "the words in what the proxy keeps of conversation s1",
        "the words in what the proxy keeps of conversation s2",
        "the words in what the proxy puts in front of conversations",
    } == set(forget.preview(store, refs))
    forget.forget(store, refs, "wish", NOW, [SECRET])

    assert [] == anywhere(store, SECRET)
    assert [] == forget.matching(store, SECRET)
    assert conversations.piece_messages(store, [clean, trace]) is None
    assert [message(text("nothing of it"))] == conversations.piece_messages(store, [clean])
    left = [
        [text("hello"), text("[forgotten]")],
        [text("Noted."), {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {}}],
        [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "[forgotten]"}],
    ]
    assert left == kept(store, conversation)
    assert [sha256(one).hexdigest()[:8] for one in given] == conversations.sent_digests(store, conversation)
    assert [("d2", 0)] == list(conversations.additions(store, conversation))
    assert ("/home/[forgotten]/x", "as [forgotten] said") == store.one("SELECT folder, reason FROM conversation WHERE id = ?", (other.id,))
    newest = conversations.epochs(store, conversation)[0]
    assert ("forgotten", 0, "", 3, [clean, trace]) == (newest.why, newest.skip, newest.anchor, newest.strip, newest.pieces)

    send(store, conversation, message(text("rewound")))
    send(store, conversation, *given, message(text(f"{SECRET}!")))
    conversations.bypass(store, other, f"because of {SECRET}", NOW)
    piece(store, message(text(TOLD)))
    conversations.add_addition(store, conversation, "d9", 0, 0, f"the vault {SECRET}")
    assert (left[0][1], [text("[forgotten]!")]) == (kept(store, conversation)[0][1], kept(store, conversation)[3])
    assert [] == forget.matching(store, SECRET)
    assert [] == anywhere(store, SECRET)


def test_a_forgotten_turn_leaves_its_copies(store: Store, repository: int) -> None:
    """Whole, cut short, quoted by Tenon; and it stays out when the client sends it again, here or in a fork."""
    turns = archived(store, repository, text(TOLD), text("And the gateway?"))
    conversation, fork = traced(store), traced(store, "s2")
    whole, cut, other = (
        piece(store, message(text(TOLD))),
        piece(store, message(text(f"{TOLD[:90]} … 900 characters left out"))),
        piece(store, message(text("And?"))),
    )
    send(store, conversation, message(text(TOLD)), message(text("And the gateway?")))
    told = f"<tenon-memory>\n- [archive · said · 2026-11-30] user: «…vault is called {SECRET}…» (t{turns[0]}, t{turns[1]})\n</tenon-memory>"
    send(store, fork, message(text("go on"), text(told)))
    conversations.add_addition(store, fork, "d0", 0, 1, told)

    assert "5 copies in what the proxy keeps of conversations" in forget.preview(store, [f"t{turns[0]}"])
    forget.forget(store, [f"t{turns[0]}"], "wish", NOW)

    assert [None, None] == [conversations.piece_messages(store, [number]) for number in (whole, cut)]
    assert [message(text("And?"))] == conversations.piece_messages(store, [other])
    assert [[text("[forgotten]")], [text("And the gateway?")]] == kept(store, conversation)
    assert [[text("go on"), text("[forgotten]")]] == kept(store, fork)
    assert {} == conversations.additions(store, fork)
    assert [] == anywhere(store, SECRET)

    for one in (conversation, fork):
        send(store, one, message(text("rewound")))
        send(store, one, message(text("x"), {**text(f"{TOLD}  "), "cache_control": {"type": "ephemeral"}}))
    assert [[[text("x"), text("[forgotten]")]]] * 2 == [kept(store, one) for one in (conversation, fork)]
    again = conversations.piece_messages(store, [piece(store, message(text(TOLD)))]) or []
    assert [[text("[forgotten]")]] == [json.loads(one)["content"] for one in again]
    assert [] == anywhere(store, SECRET)


def test_what_was_forgotten_before_it_was_sent_does_not_come_in_later(store: Store, repository: int) -> None:
    """The archive had it from the hooks; the client still has it in its context."""
    turns = archived(store, repository, text("go on"), text(TOLD))
    forget.forget(store, [f"t{turn}" for turn in turns], "wish", NOW)
    conversation, other = traced(store), traced(store, "s2")
    for one in (conversation, other):
        send(store, one, message(text("go on")), message(text(f"{TOLD}\n"), text("and more")))

    assert [[text("[forgotten]")], [text("[forgotten]"), text("and more")]] == kept(store, conversation)
    assert [[text("go on")], [text("[forgotten]"), text("and more")]] == kept(store, other)


def test_a_forgotten_call_goes_by_its_id(store: Store, repository: int) -> None:
    """What another call did with the same words stays; a trace may have added something to the id."""
    turns = archived(store, repository, text("look"), call(7, command="cat vault"), result(7, "hunter2"))
    conversation = traced(store)
    send(store, conversation, message(text("look")), message(call(7, command="cat vault"), role="assistant"), message(result(7, "hunter2"), text("look")))
    named = piece(store, message({**result(7, [text("hunter2")]), "tool_use_id": "toolu_7_2"}))
    other = piece(store, message(call(8, command="cat vault"), role="assistant"), message(result(8, "hunter2")))
    forget.forget(store, [f"t{turns[2]}"], "wish", NOW)

    assert [
        [text("look")],
        [call(7, command="cat vault")],
        [{"type": "tool_result", "tool_use_id": "toolu_7", "content": "[forgotten]"}, text("look")],
    ] == kept(store, conversation)
    assert (None, 2) == (conversations.piece_messages(store, [named]), len(conversations.piece_messages(store, [other]) or []))
    forget.forget(store, [f"t{turns[1]}"], "wish", NOW)
    assert [{"type": "tool_use", "id": "toolu_7", "name": "Bash", "input": {}}] == kept(store, conversation)[1]


def test_a_few_words_stay_in_other_conversations(store: Store, repository: int) -> None:
    """«go on» is said by everybody."""
    turns = archived(store, repository, text("go on"), text(UNSPACED))
    conversation, other = traced(store), traced(store, "s2")
    for one in (conversation, other):
        send(store, one, message(text(" go on\n")), message(text(UNSPACED)))
    forget.forget(store, [f"t{turn}" for turn in turns], "wish", NOW)

    assert [[text("[forgotten]")], [text("[forgotten]")]] == kept(store, conversation)
    assert [[text(" go on\n")], [text("[forgotten]")]] == kept(store, other)
    send(store, other, message(text("new")))
    send(store, other, message(text("go on")))
    send(store, conversation, message(text("new")))
    send(store, conversation, message(text("go on")))
    assert ([[text("go on")]], [[text("[forgotten]")]]) == (kept(store, other), kept(store, conversation))


def test_a_forgotten_memory_leaves_where_it_was_told(store: Store, repository: int) -> None:
    """What was put in front of a prompt, by the hooks or by the proxy, and what a tool told of it."""
    ref = memories.write(store, repository=repository, tier="long", kind="fact", text=f"The vault is {SECRET}", reason="proved", now=NOW)[0]
    conversation = traced(store)
    told = f"<tenon-memory>\n- [long · fact · 2026-11-30] The vault is {SECRET} ({ref})\n</tenon-memory>"
    send(
        store, conversation, message(text("which vault?"), text(f"<system-reminder>{told}</system-reminder>")),
        message(text("I looked it up."), call(1, cue="vault"), role="assistant"), message(result(1, [text(json.dumps([{"id": ref, "text": f"The vault is {SECRET}"}]))])),
    )  # fmt: skip
    conversations.add_addition(store, conversation, "d0", 0, 1, told)
    forget.forget(store, [ref], "wish", NOW)

    assert [
        [text("which vault?"), text("[forgotten]")],
        [text("I looked it up."), call(1, cue="vault")],
        [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "[forgotten]"}],
    ] == kept(store, conversation)
    assert ({}, []) == (conversations.additions(store, conversation), anywhere(store, SECRET))


def test_a_summary_that_goes_leaves_where_it_was_told(store: Store, repository: int) -> None:
    """The session's summary was made of what is forgotten."""
    turns = archived(store, repository, text(TOLD), text("done"))
    summaries.upsert(store, 1, repository, f"- asked about the vault {SECRET} in Oslo", NOW)
    conversation = traced(store, "s2")
    conversations.add_addition(store, conversation, "d0", 0, 0, f"<tenon-memory>\n## Last session\n- asked about the vault {SECRET} in Oslo\n</tenon-memory>")
    forget.forget(store, [f"t{turns[0]}"], "wish", NOW)

    assert ({}, []) == (conversations.additions(store, conversation), anywhere(store, SECRET))


def test_a_whole_conversation_can_be_forgotten_without_naming_a_text(store: Store) -> None:
    """By the ids that a search gave."""
    conversation = traced(store)
    send(store, conversation, message(text(TOLD)))
    conversations.add_addition(store, conversation, "d0", 0, 0, "memory")
    held = piece(store, message(text(TOLD)))
    refs = forget.matching(store, SECRET)
    forget.forget(store, refs, "wish", NOW)

    assert ([], {}, None) == (
        conversations.sent(store, conversation),
        conversations.additions(store, conversation),
        conversations.piece_messages(store, [held]),
    )
    assert ("forgotten", 1) == (conversations.epochs(store, conversation)[0].why, conversations.epochs(store, conversation)[0].strip)
    assert [] == anywhere(store, SECRET)


@pytest.mark.parametrize(
    "printed", ['"\\u00d6lm\\u00fchle"', '"\\u00D6lm\\u00FChle"', '"Ölm\\u00fchle"', '"O\\u0308lmu\u0308hle"', '"\\u00d6\\u006cmühle \\/ x"']
)
def test_a_text_is_found_however_the_client_printed_it(store: Store, printed: str) -> None:
    """Escaped, composed, or half of it."""
    conversation = traced(store)
    given = b'{"role":"user","content":%s}' % printed.encode()
    send(store, conversation, given)
    held = piece(store, given)
    refs = forget.matching(store, "ölmühle")
    forget.forget(store, refs, "wish", NOW, ["ölmühle"])

    assert [f"conversation:{conversation.id}", f"piece:{held}"] == refs
    assert (["[forgotten]"], None) == (kept(store, conversation), conversations.piece_messages(store, [held]))


def test_what_forgets_goes_back_whole(store: Store, repository: int) -> None:
    """A wish that cannot be done changes nothing of what the proxy keeps."""
    conversation = traced(store)
    send(store, conversation, message(text(TOLD)))
    with pytest.raises(Exception, match="there is no"):
        forget.forget(store, [f"conversation:{conversation.id}", "mnosuchone"], "wish", NOW, [SECRET])

    assert [[text(TOLD)]] == kept(store, conversation)


def test_messages_that_a_disk_has_spoilt_do_not_stop_it(store: Store) -> None:
    """They go too."""
    conversation = traced(store)
    send(store, conversation, message(text("one")), message(text(TOLD)))
    held = piece(store, message(text("x")))
    store.execute("UPDATE sent SET content = '{\"role\":' WHERE place = 0")
    store.execute("UPDATE piece SET content = '[{'")
    forget.forget(store, [f"conversation:{conversation.id}"], "wish", NOW, [SECRET])

    assert (["[forgotten]", [text("[forgotten]")]], None) == (kept(store, conversation), conversations.piece_messages(store, [held]))
