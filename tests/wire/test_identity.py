"""The same message, and another: what a digest looks past and what it sees."""

from __future__ import annotations

import copy
import json
import random
from typing import Any

import pytest
from hypothesis import assume, given

from tenon.wire import identity
from tenon.wire.spans import Unreadable
from tests.fakes import signatures
from tests.wire.printing import chances, messages, printed, text_block

MARKER = {"type": "ephemeral", "ttl": "1h"}
CALL = {"type": "tool_use", "id": "toolu_1", "name": "Edit", "input": {"path": "a", "lines": [1, 2]}}
RESULT = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "found"}
THOUGHT = {"type": "thinking", "thinking": "", "signature": "s"}
IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}


def digest(content: Any, role: str = "user", **more: Any) -> str:
    """The digest of a message."""
    return identity.digest(json.dumps({"role": role, "content": content, **more}).encode())


SAME = {
    "a string and one block": ("hello", [text_block("hello")]),
    "a cache marker": ([text_block("hello")], [{**text_block("hello"), "cache_control": MARKER}]),
    "a marker that is null": ([text_block("hello")], [{**text_block("hello"), "cache_control": None}]),
    "a marker on a result": ([RESULT], [{**RESULT, "cache_control": MARKER}]),
    "a marker inside of a result": (
        [{**RESULT, "content": [text_block("found")]}],
        [{**RESULT, "content": [{**text_block("found"), "cache_control": MARKER}]}],
    ),
    "a marker inside of a document": (
        [{"type": "document", "source": {"type": "content", "content": [text_block("p")]}}],
        [{"type": "document", "source": {"type": "content", "content": [{**text_block("p"), "cache_control": MARKER}]}}],
    ),
    "a result's string and one block": ([RESULT], [{**RESULT, "content": [text_block("found")]}]),
    "a result without content, and an empty one": ([{**RESULT, "content": ""}], [{"type": "tool_result", "tool_use_id": "toolu_1"}]),
    "white space round a text": ("hello", "\n\t hello\r\n"),
    "white space round a text in a result": ([RESULT], [{**RESULT, "content": " found\n"}]),
    "a blank block more": ([text_block("hello")], [text_block(" \n"), text_block("hello"), text_block("")]),
    "nothing, and blanks": ([], " \n"),
    "nothing, and no content": ([], None),
    "thinking": ([CALL], [THOUGHT, {"type": "redacted_thinking", "data": "d"}, CALL]),
    "a field that is null": ([text_block("hello")], [{**text_block("hello"), "citations": None}]),
    "a call by the model": ([CALL], [{**CALL, "caller": {"type": "direct"}}]),
    "one and one point nought": ([CALL], [{**CALL, "input": {"path": "a", "lines": [1.0, 2e0]}}]),
    "nought and minus nought": ([{**CALL, "input": {"n": 0}}], [{**CALL, "input": {"n": -0.0}}]),
    "the order of keys": ([CALL], [{"input": {"lines": [1, 2], "path": "a"}, "name": "Edit", "type": "tool_use", "id": "toolu_1"}]),
}
OTHER = {
    "a word": ("hello", "hallo"),
    "the case of a letter": ("hello", "Hello"),
    "white space inside": ("hello world", "hello  world"),
    "one text and two": ([text_block("hello"), text_block("world")], [text_block("helloworld")]),
    "the order of blocks": ([text_block("a"), text_block("b")], [text_block("b"), text_block("a")]),
    "a block more": ([text_block("a")], [text_block("a"), text_block("b")]),
    "a tool's input": ([CALL], [{**CALL, "input": {"path": "b", "lines": [1, 2]}}]),
    "white space round a text in a tool's input": ([CALL], [{**CALL, "input": {"path": "a ", "lines": [1, 2]}}]),
    "a null in a tool's input": ([CALL], [{**CALL, "input": {"path": "a", "lines": [1, 2], "more": None}}]),
    "cache_control in a tool's input": ([CALL], [{**CALL, "input": {"path": "a", "lines": [1, 2], "cache_control": MARKER}}]),
    "a number and its text": ([CALL], [{**CALL, "input": {"path": "a", "lines": [1, "2"]}}]),
    "true and one": ([{**CALL, "input": {"n": True}}], [{**CALL, "input": {"n": 1}}]),
    "the order of a list in a tool's input": ([CALL], [{**CALL, "input": {"path": "a", "lines": [2, 1]}}]),
    "a call by a program": ([CALL], [{**CALL, "caller": {"type": "code_execution_20250825", "tool_id": "srvtoolu_1"}}]),
    "an id": ([CALL], [{**CALL, "id": "toolu_2"}]),
    "the text of a result": ([RESULT], [{**RESULT, "content": "lost"}]),
    "a result that is an error": ([RESULT], [{**RESULT, "is_error": True}]),
    "the bytes of an image": ([IMAGE], [{**IMAGE, "source": {**IMAGE["source"], "data": "aGo="}}]),
    "a text with a source": ([text_block("a")], [{**text_block("a"), "citations": [{"cited_text": "b"}]}]),
    "an unknown block": ([], [{"type": "of tomorrow"}]),
}


@pytest.mark.parametrize(("one", "other"), SAME.values(), ids=SAME.keys())
def test_what_the_api_looks_past_makes_no_difference(one: Any, other: Any) -> None:
    """Such messages are the same."""
    assert digest(one) == digest(other)


@pytest.mark.parametrize(("one", "other"), OTHER.values(), ids=OTHER.keys())
def test_everything_else_makes_another_message(one: Any, other: Any) -> None:
    """A signature made behind the one fails behind the other."""
    assert digest(one) != digest(other)


def test_the_role_and_fields_of_the_message_count() -> None:
    """A change of effort is a message of its own."""
    assert 4 == len(
        {digest("a"), digest("a", "assistant"), digest([], "system", output_config={"effort": "low"}), digest([], "system", output_config={"effort": "high"})}
    )


@given(messages, chances, chances)
def test_a_message_is_the_same_however_it_is_printed(message, one, other) -> None:
    """Spacing, escapes and the order of keys are up to the client."""
    assert identity.digest(printed(message, one, shuffled=True)) == identity.digest(printed(message, other, shuffled=True))


def looked_past(message: dict[str, Any], chance: random.Random) -> dict[str, Any]:
    """The message with changes that do not count."""
    other = copy.deepcopy(message)
    content = other["content"]
    if isinstance(content, str):
        content = [text_block(content)]
    content = [block for block in content if block["type"] != "thinking" or chance.random() < 0.5]
    for block in content:
        if chance.random() < 0.5:
            block["cache_control"] = MARKER
        else:
            block.pop("cache_control", None)
        if block["type"] == "text":
            block["text"] = chance.choice(["", " ", "\n"]) + block["text"].strip() + chance.choice(["", "\t"])
        if block["type"] == "tool_result" and isinstance(block.get("content"), str):
            block["content"] = [text_block(block["content"] + "\n")]
    content.insert(chance.randrange(len(content) + 1), text_block("\n"))
    content.insert(chance.randrange(len(content) + 1), THOUGHT)
    return {"content": content, **{name: other[name] for name in other if name != "content"}}


@given(messages, chances)
def test_changes_that_do_not_count_may_come_together(message, chance) -> None:
    """Any number of them, anywhere."""
    assert identity.digest(printed(message, chance)) == identity.digest(printed(looked_past(message, chance), chance))


def bound(message: dict[str, Any]) -> str:
    """What the strict fake of the API would bind a signature behind the message to."""
    return signatures.prefix({"messages": [message, {"role": "assistant", "content": []}]}, (1, 0)).messages


@given(messages, messages)
def test_the_digest_agrees_with_the_api(one, other) -> None:
    """Two messages have one digest when a signature made behind the one would hold behind the other."""
    one, other = ({**message, "role": "user"} for message in (one, other))
    for message in (one, other):
        message.pop("output_config", None)
        message.pop("né", None)
        assume("document" not in json.dumps(message))  # the fake does not look inside of documents
        for block in message["content"]:
            if isinstance(block, dict) and block["type"] == "tool_result":
                block.setdefault("content", [])  # the fake wants one
    same = identity.digest(json.dumps(one).encode()) == identity.digest(json.dumps(other).encode())
    assert same == (bound(one) == bound(other))


@given(messages)
def test_the_model_s_own_changes_agree_with_the_api_too(message) -> None:
    """As above for messages that differ in nothing that counts."""
    message.pop("output_config", None)
    assume("document" not in json.dumps(message))
    message = {
        **message,
        "content": [{"content": "", **block} if block["type"] == "tool_result" else block for block in looked_past(message, random.Random(1))["content"]],
    }
    other = looked_past(message, random.Random(2))
    assert bound(message) == bound(other)
    assert identity.digest(json.dumps(message).encode()) == identity.digest(json.dumps(other).encode())


def test_an_anchor_is_of_all_in_their_order() -> None:
    """None have none."""
    one, other = digest("a"), digest("b")
    assert "" == identity.anchor([])
    assert 4 == len({identity.anchor([one]), identity.anchor([one, other]), identity.anchor([other, one]), identity.anchor([other])})
    assert identity.anchor([one, other]) == identity.anchor((one, other))
    assert 32 == len(identity.anchor([one])) == len(one)


@pytest.mark.parametrize("raw", [b"", b"[]", b'"x"', b"{", b"\xff", b'{"content":' + b"[" * 100_000])
def test_what_is_no_message_has_no_digest(raw: bytes) -> None:
    """Unreadable, and nothing else."""
    with pytest.raises(Unreadable):
        identity.digest(raw)


def test_digests_are_the_same_in_every_version_of_tenon() -> None:
    """They are kept in the store."""
    assert "5908d6bd3d1773dab5b5605121e53421" == digest([text_block(" né🙂 "), CALL])
