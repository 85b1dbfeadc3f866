"""A request: its fields and messages by their bytes, and what is no request."""

from __future__ import annotations

import json
import tracemalloc

import pytest
from hypothesis import given

from tenon.wire import body, edit, spans
from tests.wire.printing import chances, joined, printed, requests, values


@given(requests, chances)
def test_every_field_and_message_is_where_it_says(request_sent, chance) -> None:
    """However it is printed: the offsets are those of the value, and the value comes back with every letter."""
    raw = printed(request_sent, chance)
    found = body.parse(raw)
    expected = joined(request_sent)
    for start, end in found.spans.values():
        assert raw[start:end].strip(b" \t\r\n") == raw[start:end]
    assert [expected[name] for name in expected] == [json.loads(raw[start:end]) for start, end in found.spans.values()]
    assert expected["messages"] == [found.whole(index) for index in range(len(found.messages))]
    assert expected["messages"] == [json.loads(found.slice(index)) for index in range(len(found.messages))]
    assert [message["role"] for message in expected["messages"]] == [message.role for message in found.messages]
    assert [type(message["content"]) for message in expected["messages"]] == [type(message.value["content"]) for message in found.messages]
    assert (b"[", b"]") == (raw[found.opening - 1 : found.opening], raw[found.closing : found.closing + 1])


@given(requests, chances)
def test_a_field_is_read_with_every_letter(request_sent, chance) -> None:
    """Where its name is ASCII; what is not there is None."""
    found = body.parse(printed(request_sent, chance))
    for name in ("model", "system", "tools", "max_tokens", "messages"):
        assert joined(request_sent).get(name) == found.field(name)
        assert joined(request_sent).get(name) == found.field(name)


@given(values, chances)
def test_what_is_a_value_elsewhere_is_a_value_here(value, chance) -> None:
    """Nothing that JSON allows is refused, and nothing is read otherwise."""
    raw = printed(value, chance)
    assert json.loads(raw) == spans.decode(raw)
    assert len(raw) == spans.value(raw.decode("latin-1"), 0)[1]


def test_the_value_of_a_message_has_lengths_in_bytes() -> None:
    """That is what it is for: to be weighed without being read twice."""
    found = body.parse('{"messages":[{"role":"user","content":"né\\u00e9"}]}'.encode())
    assert 4 == len(found.messages[0].value["content"])
    assert "néé" == found.whole(0)["content"]


def of(messages: bytes) -> bytes:
    """A request with this text for its list."""
    return b'{"model":"m","messages":' + messages + b"}"


USER = b'{"role":"user","content":"x"}'
HOSTILE = {
    "nothing": b"",
    "white space": b" \r\n",
    "a list": b"[]",
    "a string": b'"messages"',
    "no JSON": b"model=claude",
    "half of it": of(b"[" + USER)[:-1],
    "two of them": of(b"[]") + of(b"[]"),
    "text behind it": of(b"[]") + b"x",
    "a NUL behind it": of(b"[]") + b"\0",
    "a byte order mark": b"\xef\xbb\xbf" + of(b"[]"),
    "UTF-16": of(b"[]").decode().encode("utf-16"),
    "Latin-1": of(b'[{"role":"user","content":"\xe9"}]'),
    "half a letter": of(b'[{"role":"user","content":"\xf0\x9f\x99"}]'),
    "a surrogate in UTF-8": of(b'[{"role":"user","content":"\xed\xa0\x80"}]'),
    "a letter written too long": of(b'[{"role":"user","content":"\xc0\xaf"}]'),
    "no messages": b'{"model":"m"}',
    "messages are null": of(b"null"),
    "messages are an object": of(b'{"0":' + USER + b"}"),
    "messages are a string": of(b'"[]"'),
    "a message is a string": of(b'["hello"]'),
    "a message is a list": of(b"[[]]"),
    "a message without a role": of(b'[{"content":"x"}]'),
    "a role that is a number": of(b'[{"role":1,"content":"x"}]'),
    "a comma too many": of(b"[" + USER + b",]"),
    "a comma in front": of(b"[," + USER + b"]"),
    "a comma too few": of(b"[" + USER + USER + b"]"),
    "a comma at the end of the object": b'{"messages":[],}',
    "no colon": b'{"messages" []}',
    "a key without quotes": b"{messages:[]}",
    "a key that is a number": b'{1:2,"messages":[]}',
    "a comment": b'{"messages":[]/* all */}',
    "a line break inside of a text": of(b'[{"role":"user","content":"a\nb"}]'),
    "a bad escape": of(b'[{"role":"user","content":"\\x"}]'),
    "messages twice": b'{"messages":[],"messages":[]}',
    "messages twice, once spelt with an escape": b'{"messages":[],"m\\u0065ssages":[]}',
    "a field twice": b'{"model":"a","model":"b","messages":[]}',
    "a role twice": of(b'[{"role":"user","role":"assistant","content":"x"}]'),
    "a key of a block twice": of(b'[{"role":"user","content":[{"type":"text","type":"thinking"}]}]'),
    "NaN": b'{"temperature":NaN,"messages":[]}',
    "Infinity": of(b'[{"role":"user","content":[Infinity]}]'),
    "-Infinity": of(b'[{"role":"user","content":[-Infinity]}]'),
    "a number beyond a double": of(b'[{"role":"user","content":[1e999]}]'),
    "a number of a million digits": of(b'[{"role":"user","content":[' + b"9" * 1_000_000 + b"]}]"),
    "a decimal of a million digits": of(b'[{"role":"user","content":[' + b"9" * 1_000_000 + b".5]}]"),
    "ten million brackets": b"[" * 10_000_000,
    "ten million brackets for messages": of(b"[" * 10_000_000),
    "a million objects in each other": b'{"messages":' + b'{"a":' * 1_000_000,
    "a message a thousand levels deep": of(b'[{"role":"user","content":' + b"[" * 1000 + b"]" * 1000 + b"}]"),
    "a message a hundred levels deep": of(b'[{"role":"user","content":' + b"[" * 100 + b"]" * 100 + b"}]"),
    "a field a hundred levels deep": b'{"tools":' + b"[" * 101 + b"]" * 101 + b',"messages":[]}',
}


@pytest.mark.parametrize("raw", HOSTILE.values(), ids=HOSTILE.keys())
def test_what_is_not_plainly_a_request_is_unreadable(raw: bytes) -> None:
    """Every reader would have to understand it in the same way; nothing but Unreadable comes out."""
    with pytest.raises(body.Unreadable):
        body.parse(raw)


@pytest.mark.parametrize(
    "raw",
    [
        b' \r\n\t{ "messages" : [ ] } \r\n',
        of(b'[{"role":"user"}]'),
        of(b'[{"role":"system","content":[],"output_config":{"effort":"medium"}}]'),
        of(b'[{"content":[{"type":"of tomorrow"}],"role":"someone"}]'),
        of(b'[{"role":"user","content":' + b"[" * 98 + b"]" * 98 + b"}]"),
        of(b'[{"role":"user","content":[' + b"9" * 300 + b"]}]"),
        of(b'[{"role":"user","content":"\\ud800"}]'),
        b'{"messages":[],"M\xc3\xa9":1,"M\\u00e8":2}',
    ],
)
def test_what_is_unusual_and_plain_is_read(raw: bytes) -> None:
    """What it means is for the API to say."""
    assert json.loads(raw)["messages"] == [json.loads(body.parse(raw).slice(index)) for index in range(len(json.loads(raw)["messages"]))]


def test_a_large_request_takes_little_memory() -> None:
    """To read and to splice: less than four times its size, with the request itself, though one emoji would make Python's text four times as large."""
    block = {"type": "text", "text": "a line of code 🙂\n" * 200}
    raw = json.dumps({"model": "m", "messages": [{"role": "user", "content": [block, block]}] * 600}, ensure_ascii=False).encode()
    tracemalloc.start()
    found = body.parse(raw)
    read = tracemalloc.get_traced_memory()[1]
    tracemalloc.reset_peak()
    spliced = edit.splice(found, 3, [found.slice(0)] * 10, {100: b""})
    joined = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert 606 == len(body.parse(spliced).messages)
    assert max(read, joined) < 3 * len(raw)
