"""The list cut and joined, and single messages with one thing changed; all that is not changed keeps its bytes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenon.wire import edit
from tenon.wire.body import parse
from tests.fakes import validation
from tests.fakes.refusal import Refusal
from tests.wire.printing import chances, joined, messages, printed, requests, text_block, texts

ONE, TWO, SIX = b'{"role":"user","content":"one"}', b'{ "role" : "assistant" , "content" : [ ] }', b'{"content":"\\u00e9\xc3\xa9","role":"user","x":{}}'
MARK, MARK_1H = {"type": "ephemeral"}, {"type": "ephemeral", "ttl": "1h"}
THOUGHT = {"type": "thinking", "thinking": "", "signature": "s"}
CALL = {"type": "tool_use", "id": "toolu_1", "name": "Edit", "input": {}}
RESULT = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "found"}


def message(content: Any, role: str = "user", **more: Any) -> bytes:
    """A message as most clients print it."""
    return json.dumps({"role": role, "content": content, **more}, ensure_ascii=False, separators=(",", ":")).encode()


def content_of(raw: bytes) -> Any:
    """The content of a message."""
    return json.loads(raw)["content"]


# splice


@given(requests, chances)
def test_with_nothing_to_do_every_byte_stays(request_sent, chance) -> None:
    """Spacing and all."""
    raw = printed(request_sent, chance)
    assert raw == edit.splice(parse(raw), 0, [], {})


@given(
    requests,
    chances,
    st.integers(0, 6),
    st.lists(st.sampled_from([ONE, TWO, SIX]), max_size=3),
    st.dictionaries(st.integers(0, 6), st.sampled_from([b"", ONE, SIX]), max_size=4),
)
def test_the_list_is_prefix_and_rest_and_everything_else_stays(request_sent, chance, skip, prefix, changes) -> None:
    """For every prefix, skip and changes: the decoded list is that of the lists, the bytes outside are the client's."""
    raw = printed(request_sent, chance)
    found = parse(raw)
    spliced = edit.splice(found, skip, prefix, changes)
    expected = joined(request_sent)
    rest = [changes.get(index, found.slice(index)) for index in range(skip, len(found.messages))]
    expected["messages"] = [json.loads(part) for part in [*prefix, *rest] if part]
    assert expected == json.loads(spliced)
    assert list(expected) == list(json.loads(spliced))
    assert spliced.startswith(raw[: found.opening])
    assert spliced.endswith(raw[found.closing :])
    for part in [*prefix, *rest]:
        assert part in spliced


@given(requests, chances, st.integers(0, 4))
def test_a_longer_conversation_only_adds_bytes(request_sent, chance, skip) -> None:
    """The cache goes by bytes: the wire form of a request begins with that of the one before it."""
    raw = printed({**request_sent, "messages": []}, chance)
    at = parse(raw).opening
    listed = [message("a"), message([text_block("é")]), message("c"), message("d")]
    shorter, longer = (raw[:at] + b",".join(listed[:count]) + raw[parse(raw).closing :] for count in (3, 4))
    before = edit.splice(parse(shorter), min(skip, 2), [ONE, TWO], {2: SIX})
    after = edit.splice(parse(longer), min(skip, 2), [ONE, TWO], {2: SIX})
    assert after.startswith(before[: parse(before).closing])


@pytest.mark.parametrize(
    ("listed", "skip", "prefix", "changes", "expected"),
    [
        (b"[]", 0, [], {}, b"[]"),
        (b"[ \r\n]", 0, [], {}, b"[ \r\n]"),
        (b"[]", 3, [b"1", b"2"], {0: b"9"}, b"[1,2]"),
        (b"[a]", 0, [b"1"], {}, b"[1,a]"),
        (b"[a]", 1, [], {}, b"[]"),
        (b"[a]", 1, [b"1"], {}, b"[1]"),
        (b"[a]", 0, [], {0: b""}, b"[]"),
        (b"[a]", 0, [b"1"], {0: b""}, b"[1]"),
        (b"[a,b,c]", 0, [], {0: b""}, b"[b,c]"),
        (b"[a,b,c]", 0, [], {1: b""}, b"[a,c]"),
        (b"[a,b,c]", 0, [], {2: b""}, b"[a,b]"),
        (b"[a,b,c]", 0, [], {0: b"", 2: b""}, b"[b]"),
        (b"[a,b,c]", 0, [], {0: b"", 1: b"", 2: b""}, b"[]"),
        (b"[a,b,c]", 0, [b"1"], {0: b"8", 2: b"9"}, b"[1,8,b,9]"),
        (b"[a,b,c]", 0, [], {2: b"9", 1: b"8"}, b"[a,8,9]"),
        (b"[a,b,c]", 2, [], {0: b"8", 1: b"9"}, b"[c]"),
        (b"[a,b,c]", 1, [b"1"], {2: b"9"}, b"[1,b,9]"),
        (b"[a,b,c]", 9, [b"1"], {2: b"9"}, b"[1]"),
        (b"[a,b,c]", 0, [b"", b"1", b""], {9: b"9", -1: b"8"}, b"[1,a,b,c]"),
        (b"[ a , b\r\n,\r\n c ]", 0, [], {}, b"[ a , b\r\n,\r\n c ]"),
        (b"[ a , b\r\n,\r\n c ]", 1, [b"1"], {}, b"[ 1,b\r\n,\r\n c ]"),
        (b"[ a , b\r\n,\r\n c ]", 0, [], {1: b""}, b"[ a,c ]"),
        (b"[ a , b\r\n,\r\n c ]", 0, [], {2: b"9"}, b"[ a , b,9 ]"),
    ],
)
def test_commas_stand_where_they_belong(listed, skip, prefix, changes, expected) -> None:
    """Letters and digits stand for messages."""

    def spelt(text: bytes) -> bytes:
        return b"".join(b'{"role":"%c"}' % sign if chr(sign).isalnum() else b"%c" % sign for sign in text)

    raw = b'{"messages":' + spelt(listed) + b',"model":"m"}'
    changed = {index: spelt(change) for index, change in changes.items()}
    assert b'{"messages":' + spelt(expected) + b',"model":"m"}' == edit.splice(parse(raw), skip, [spelt(part) for part in prefix], changed)


# marked


MARKED: dict[str, tuple[Any, Any]] = {
    "a string": ("hé", [{**text_block("hé"), "cache_control": MARK}]),
    "a text": ([text_block("a"), text_block("b")], [text_block("a"), {**text_block("b"), "cache_control": MARK}]),
    "a call": ([CALL], [{**CALL, "cache_control": MARK}]),
    "a result": ([RESULT], [{**RESULT, "cache_control": MARK}]),
    "a result of a server tool": ([{"type": "web_search_tool_result"}], [{"type": "web_search_tool_result", "cache_control": MARK}]),
    "an image": ([{"type": "image"}], [{"type": "image", "cache_control": MARK}]),
    "in front of thinking": ([text_block("a"), THOUGHT], [{**text_block("a"), "cache_control": MARK}, THOUGHT]),
    "in front of a blank text": ([RESULT, text_block("\u3000\n")], [{**RESULT, "cache_control": MARK}, text_block("\u3000\n")]),
    "in front of the unknown": ([RESULT, {"type": "of tomorrow"}, "?", {}], [{**RESULT, "cache_control": MARK}, {"type": "of tomorrow"}, "?", {}]),
    "in place of a null": ([{"cache_control": None, **RESULT}], [{"cache_control": MARK, **RESULT}]),
    "there is one": ([{**RESULT, "cache_control": MARK_1H}], [{**RESULT, "cache_control": MARK_1H}]),
    "an empty string": ("", ""),
    "a blank string": (" \n", " \n"),
    "no block": ([], []),
    "thinking alone": ([THOUGHT, {"type": "redacted_thinking", "data": "d"}], [THOUGHT, {"type": "redacted_thinking", "data": "d"}]),
    "no content that is known": ({"type": "text", "text": "a"}, {"type": "text", "text": "a"}),
    "no content": (None, None),
}


@pytest.mark.parametrize(("content", "expected"), MARKED.values(), ids=MARKED.keys())
def test_the_marker_goes_on_the_last_block_that_may_carry_it(content: Any, expected: Any) -> None:
    """Never on thinking or on an empty text; a message with none such stays as it is."""
    assert message(expected) == edit.marked(message(content), "5m")


def test_the_longer_lifetime_is_written_out_and_the_shorter_is_not() -> None:
    """A bare marker is one of five minutes, and clients print it so."""
    assert [{**text_block("a"), "cache_control": MARK_1H}] == content_of(edit.marked(message("a"), "1h"))
    assert [{**text_block("a"), "cache_control": MARK}] == content_of(edit.marked(message("a"), "5m"))


def test_a_message_that_is_shown_for_one_turn_takes_no_marker() -> None:
    """The API refuses one there."""
    once = message([text_block("a")], "system", clear_at="next_user_message")
    assert once == edit.marked(once, "5m")


@given(messages, chances)
def test_marking_adds_bytes_and_unmarking_takes_all_markers(sent, chance) -> None:
    """Whatever the spacing, the rest of the message keeps its bytes, and the digest with them."""
    raw = printed(sent, chance)
    with_it, without = edit.marked(raw, "1h"), edit.unmarked(raw)
    assert with_it == raw or b'"cache_control":{"type":"ephemeral","ttl":"1h"}' in with_it
    assert raw == without or len(without) < len(raw)
    assert unmarked(joined(sent)) == json.loads(without) == unmarked(json.loads(with_it)) or isinstance(sent["content"], str)
    assert without == edit.unmarked(without)
    if isinstance(sent["content"], list) and with_it != raw and b"null" not in raw:
        assert raw == with_it.replace(b',"cache_control":{"type":"ephemeral","ttl":"1h"}', b"", 1)


def unmarked(sent: Any) -> Any:
    """The message without markers, by way of the decoded value."""
    if isinstance(sent["content"], list):
        for block in sent["content"]:
            block.pop("cache_control", None)
            inner = [block.get("content"), (block.get("source") or {}).get("content")] if block["type"] in ("tool_result", "document") else []
            for blocks in inner:
                for part in blocks if isinstance(blocks, list) else []:
                    part.pop("cache_control", None)
    return sent


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (b'{"content":[{"cache_control":{"type":"ephemeral"},"type":"text","text":"a"}]}', b'{"content":[{"type":"text","text":"a"}]}'),
        (b'{"content":[{"type":"text","text":"a","cache_control":{"type":"ephemeral"}}]}', b'{"content":[{"type":"text","text":"a"}]}'),
        (b'{"content":[{"type":"text","cache_control":null,"text":"a"}]}', b'{"content":[{"type":"text","text":"a"}]}'),
        (b'{"content":[{ "type":"text" ,\r\n "cache_control" : {} ,\r\n "text":"a" }]}', b'{"content":[{ "type":"text" ,\r\n "text":"a" }]}'),
        (b'{"content":[{"cache_control":{}}]}', b'{"content":[{}]}'),
        (b'{"content":[{"c\\u0061che_control":{},"type":"text"}]}', b'{"content":[{"type":"text"}]}'),
        (b'{"cache_control":{},"content":"cache_control"}', b'{"content":"cache_control"}'),
        (b'{"content":[{"type":"tool_use","input":{"cache_control":{}}}]}', b'{"content":[{"type":"tool_use","input":{"cache_control":{}}}]}'),
        (b'{"content":[{"content":[{"cache_control":{}},"x"],"cache_control":{}},7]}', b'{"content":[{"content":[{},"x"]},7]}'),
    ],
)
def test_a_marker_is_taken_off_wherever_its_key_stands(raw: bytes, expected: bytes) -> None:
    """With the comma that is too many; the input of a tool is none of our business."""
    assert expected == edit.unmarked(raw)


# lane


def request(before: list[Any], sent: list[Any], **more: Any) -> bytes:
    """A request with these system blocks and the content of these messages."""
    return json.dumps({"model": "m", "system": before, "messages": [{"role": "user", "content": content} for content in sent], **more}).encode()


def marks(*lifetimes: str) -> list[Any]:
    """A text block for each lifetime; "" is one without a marker."""
    return [{**text_block("a"), **({"cache_control": {"type": "ephemeral", "ttl": ttl}} if ttl else {})} for ttl in lifetimes]


@pytest.mark.parametrize(
    ("before", "sent", "skip", "more", "expected"),
    [
        ("be kind", ["hello"], 0, {}, "5m"),
        (marks("", "5m", "5m"), [marks("5m")], 0, {}, "5m"),
        (marks("1h", "1h"), [marks("1h")], 0, {}, "1h"),
        (marks("1h", "1h"), [marks("5m")], 0, {}, "5m"),
        (marks("1h"), [marks("1h"), marks("5m")], 0, {}, "1h"),
        (marks("1h"), ["hello"], 0, {}, "1h"),
        (marks("1h", "5m"), ["hello"], 0, {}, "5m"),
        (marks("1h"), [marks("5m"), "hello"], 1, {}, "1h"),
        (marks("1h"), [marks("1h"), marks("5m")], 1, {}, "5m"),
        (marks("5m", "5m", "5m"), [marks("5m")], 0, {}, ""),
        (marks("5m", "5m", "5m"), [marks("5m"), "hello"], 1, {}, "5m"),
        (marks("5m"), [marks("5m", "5m"), marks("5m")], 0, {}, ""),
        (marks("5m", "5m"), [marks("5m")], 0, {"tools": [{"name": "a", "cache_control": MARK}]}, ""),
        (marks("5m", "5m"), [marks("5m")], 0, {"cache_control": MARK}, ""),
        ([], ["hello"], 0, {"tools": [{"name": "a", "cache_control": MARK_1H}]}, "1h"),
        ([], ["hello"], 0, {"cache_control": MARK_1H}, "1h"),
        (marks("1h"), ["hello"], 0, {"cache_control": MARK}, "5m"),
        ([], [[{**RESULT, "content": marks("5m", "5m")}, *marks("5m", "5m")]], 0, {}, ""),
        ([], [[{"type": "document", "source": {"content": marks("1h")}}]], 0, {}, "1h"),
        (marks("1h"), [[{**text_block("a"), "cache_control": None}]], 0, {"cache_control": None}, "1h"),
        ([], [[{**CALL, "input": {"cache_control": MARK_1H}}]], 0, {}, "5m"),
        ([], [[{**text_block("a"), "cache_control": "odd"}, "odd", 7]], 0, {"tools": "odd"}, "5m"),
    ],
)
def test_a_slot_is_free_and_which_lifetime_fits(before, sent, skip, more, expected) -> None:
    """Four at most, with the one that the API sets by itself; no hour behind five minutes."""
    assert expected == edit.lane(parse(request(before, sent, **more)), skip)


@given(
    st.lists(st.sampled_from(["", "5m", "1h"]), max_size=3),
    st.lists(st.lists(st.sampled_from(["", "5m", "1h"]), min_size=1, max_size=3), min_size=1, max_size=4),
    st.sampled_from([{}, {"cache_control": MARK}, {"cache_control": MARK_1H}]),
    st.integers(0, 3),
)
def test_what_the_api_took_it_takes_with_our_marker_too(before, sent, more, skip) -> None:
    """Whenever the strict fake takes the request and there is a lane, it takes the prefix with a marker in that lane; without one it is full."""
    raw = request(marks(*before), [*(marks(*lifetimes) for lifetimes in sent), "and now?"], **more)
    found = parse(raw)
    skip = min(skip, len(sent))  # the newest prompt is always the client's
    try:
        validation.check_markers(json.loads(raw))
    except Refusal:
        return
    lane = edit.lane(found, skip)
    if lane:
        validation.check_markers(json.loads(edit.splice(found, skip, [edit.marked(ONE, lane)], {})))
    else:
        with pytest.raises(Refusal, match="maximum of 4"):
            validation.check_markers(json.loads(edit.splice(found, skip, [edit.marked(ONE, "5m")], {})))


# without_thinking


@given(messages, chances)
def test_thinking_goes_and_the_rest_keeps_its_bytes(sent, chance) -> None:
    """Nothing is left of a message that was nothing else; one without thinking stays."""
    raw = printed(sent, chance)
    expected = joined(sent)
    kept = expected["content"] if isinstance(sent["content"], str) else [block for block in expected["content"] if "thinking" not in block["type"]]
    without = edit.without_thinking(raw)
    if kept == expected["content"]:
        assert raw == without
    elif not kept:
        assert b"" == without
    else:
        assert {**expected, "content": kept} == json.loads(without)
        assert without == edit.without_thinking(without)


def test_thinking_is_known_by_its_kind_alone() -> None:
    """A text about it is none, and an escape in the kind does not hide it."""
    about = message([text_block('{"type":"thinking"}'), {"type": "tool_use", "input": {"type": "thinking"}}])
    assert about == edit.without_thinking(about)
    assert b'{"content":[7,"x"]}' == edit.without_thinking(b'{"content":[7,{"type":"th\\u0069nking"},"x"]}')


def test_a_message_that_never_had_content_is_left_alone() -> None:
    """Claude Code's changes of effort are such."""
    effort = b'{"role":"system","content":[],"output_config":{"effort":"medium"}}'
    assert (effort, effort) == (edit.without_thinking(effort), edit.unmarked(effort))


# with_text

OURS = text_block("remembered «é»")
PLACED: dict[str, tuple[Any, int | None, Any, int]] = {
    "behind a string": ("hello", None, [text_block("hello"), OURS], 1),
    "in front of a string": ("hello", 0, [OURS, text_block("hello")], 0),
    "in place of an empty string": ("", None, [OURS], 0),
    "into no blocks": ([], None, [OURS], 0),
    "behind the last": ([text_block("a"), text_block("b")], None, [text_block("a"), text_block("b"), OURS], 2),
    "in front of the marker": ([text_block("a"), *marks("5m")], None, [text_block("a"), OURS, *marks("5m")], 1),
    "in front of the only one": (marks("5m"), None, [OURS, *marks("5m")], 0),
    "behind a marker that is not last": ([*marks("5m"), text_block("a")], None, [*marks("5m"), text_block("a"), OURS], 2),
    "behind results": ([RESULT, RESULT], None, [RESULT, RESULT, OURS], 2),
    "behind a result with the marker": ([RESULT, {**RESULT, "cache_control": MARK}], None, [RESULT, {**RESULT, "cache_control": MARK}, OURS], 2),
    "between results and the marker": ([RESULT, *marks("1h")], None, [RESULT, OURS, *marks("1h")], 1),
    "a marker that is null": ([{**text_block("a"), "cache_control": None}], None, [{**text_block("a"), "cache_control": None}, OURS], 1),
    "exactly there": ([text_block("a"), text_block("b")], 1, [text_block("a"), OURS, text_block("b")], 1),
    "there, whatever the marker says": ([text_block("a"), *marks("5m")], 2, [text_block("a"), *marks("5m"), OURS], 2),
    "beyond the end": ([text_block("a")], 9, [text_block("a"), OURS], 1),
    "beyond the end of a string": ("a", 9, [text_block("a"), OURS], 1),
    "no content that is known": (7, None, 7, -1),
    "no content": (None, None, None, -1),
}


@pytest.mark.parametrize(("content", "place", "expected", "at"), PLACED.values(), ids=PLACED.keys())
def test_our_text_goes_where_it_may_stand(content: Any, place: int | None, expected: Any, at: int) -> None:
    """Behind results, in front of the marker; once it has a place, there."""
    assert (message(expected), at) == edit.with_text(message(content), OURS["text"], place)


@pytest.mark.parametrize("blank", ["", " \n", "\u3000"])
def test_a_blank_text_is_not_added(blank: str) -> None:
    """The API refuses one."""
    assert (ONE, -1) == edit.with_text(ONE, blank, None)


@given(messages, chances, texts.filter(str.strip))
def test_a_text_comes_back_to_its_place_and_changes_nothing_else(sent, chance, ours) -> None:
    """Also when the client prints the message differently by then: the marker gone, one block a string."""
    raw = printed(sent, chance)
    edited, at = edit.with_text(raw, ours, None)
    blocks = joined(sent)["content"]
    blocks = ([text_block(blocks)] if blocks else []) if isinstance(blocks, str) else blocks
    assert [*blocks[:at], joined(text_block(ours)), *blocks[at:]] == content_of(edited)
    assert {**joined(sent), "content": None} == {**json.loads(edited), "content": None}
    later = edit.unmarked(raw)
    again, place = edit.with_text(later, ours, at)
    assert (at, unmarked(json.loads(edited))) == (place, unmarked(json.loads(again)))
    assert (edited, at) == edit.with_text(raw, ours, at)


def test_half_a_surrogate_pair_in_our_text_is_escaped() -> None:
    """UTF-8 has no bytes for it."""
    assert ["a\ud800é"] == [block["text"] for block in content_of(edit.with_text(message([]), "a\ud800é", None)[0])]
