"""The answer rebuilt while it passes: as the official SDK has it, however it is cut or packed, and not at all when it is not whole."""

from __future__ import annotations

import copy
import json
import zlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenon.wire import stream
from tests.fakes import sse

SSE = "text/event-stream; charset=utf-8"
USAGE = {"input_tokens": 9, "cache_read_input_tokens": 100, "cache_creation_input_tokens": 0, "output_tokens": 1, "service_tier": "standard"}
OPENING = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "claude-opus-5-5",
    "content": [],
    "stop_reason": None,
    "stop_sequence": None,
    "usage": USAGE,
}
BEGIN = {"type": "message_start", "message": OPENING}
END = {"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": None}, "usage": {"output_tokens": 17}}
STOP = {"type": "message_stop"}
TEXT = {"type": "text", "text": "Grüße, 世界 🙂\r\n\n"}
THOUGHT = {"type": "thinking", "thinking": "", "signature": "c2lnbg=="}
CALL = {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"z": 1, "a": {"é": [None, True, 1.5]}, "b": "x"}}


def start(index: int, block: dict[str, Any]) -> dict[str, Any]:
    return {"type": "content_block_start", "index": index, "content_block": block}


def delta(index: int, kind: str, **more: Any) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": index, "delta": {"type": kind, **more}}


def stop(index: int) -> dict[str, Any]:
    return {"type": "content_block_stop", "index": index}


def framed(events: list[dict[str, Any]]) -> bytes:
    """The events on the wire."""
    return b"".join(map(sse.frame, events))


def read(data: bytes, content_type: str = SSE, encoding: str = "", step: int = 0) -> stream.Reader:
    """A reader that got the data, in pieces of so many bytes, and the end."""
    reader = stream.Reader(content_type, encoding)
    for at in range(0, len(data), step or len(data) or 1):
        reader.feed(data[at : at + (step or len(data))])
    reader.close()
    return reader


def content(*events: dict[str, Any]) -> Any:
    """The content of a message that came in these events, or None."""
    message = read(framed([BEGIN, *events, END, STOP])).message()
    return message and message["content"]


def message_of(*blocks: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A whole message."""
    return {**OPENING, "content": list(blocks), "stop_reason": "end_turn", "usage": {**USAGE, "output_tokens": 17}, **more}


BLOCKS: dict[str, list[dict[str, Any]]] = {
    "text": [TEXT],
    "no content": [],
    "an empty text": [{"type": "text", "text": ""}],
    "thinking that is not shown": [THOUGHT, TEXT],
    "thinking that is shown": [{**THOUGHT, "thinking": "hm, é"}, TEXT],
    "redacted thinking": [{"type": "redacted_thinking", "data": "ZGF0YQ=="}, TEXT],
    "a call": [TEXT, CALL],
    "a call without input": [{**CALL, "input": {}}],
    "calls of a server tool and its result": [
        {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "é"}},
        {
            "type": "web_search_tool_result",
            "tool_use_id": "srvtoolu_1",
            "content": [{"type": "web_search_result", "url": "u", "title": "t", "encrypted_content": "e"}],
        },
        TEXT,
    ],
    "a call of an MCP tool": [{"type": "mcp_tool_use", "id": "mcptoolu_1", "name": "echo", "server_name": "s", "input": {"b": 1, "a": 2}}],
    "citations": [
        {
            **TEXT,
            "citations": [
                {"type": "char_location", "cited_text": "a", "document_index": 0, "document_title": None, "start_char_index": 0, "end_char_index": 1}
            ],
        }
    ],
    "a compaction": [{"type": "compaction", "content": "so far", "encrypted_content": "e"}],
    "two thoughts": [THOUGHT, TEXT, {**THOUGHT, "signature": "b3RoZXI="}, CALL],
}


@pytest.mark.parametrize("blocks", BLOCKS.values(), ids=BLOCKS.keys())
def test_a_streamed_message_comes_out_as_it_went_in(blocks) -> None:
    """Every kind of block, with the keys in their order."""
    message = message_of(*blocks)
    reader = read(framed(sse.events(message)))
    assert reader.complete
    assert message == reader.message()
    assert [list(block) for block in blocks if "citations" not in block] == [list(block) for block in reader.message()["content"] if "citations" not in block]
    assert [list(block.get("input", {})) for block in blocks] == [list(block.get("input", {})) for block in reader.message()["content"]]


WHOLE = message_of({**THOUGHT, "thinking": "hm"}, TEXT, CALL)
DATA = framed(sse.events(WHOLE))


def test_it_does_not_matter_where_the_bytes_are_cut() -> None:
    """At each byte, inside of letters and line ends too, and in pieces of every small size."""
    for data in (DATA, DATA.replace(b"\n", b"\r\n")):
        for at in range(len(data)):
            reader = stream.Reader(SSE, "")
            reader.feed(data[:at])
            assert not reader.complete
            assert reader.message() is None
            reader.feed(data[at:])
            assert WHOLE == reader.message(), at
        for step in range(1, 9):
            assert WHOLE == read(data, step=step).message()


def packed(data: bytes, window: int, step: int = 50) -> bytes:
    """The data compressed, with what there is flushed after every few bytes, as servers do for a stream."""
    packer = zlib.compressobj(wbits=window)
    pieces = [packer.compress(data[at : at + step]) + packer.flush(zlib.Z_SYNC_FLUSH) for at in range(0, len(data), step)]
    return b"".join([*pieces, packer.flush()])


@pytest.mark.parametrize(("encoding", "window"), [("gzip", 31), ("GZIP ", 31), ("x-gzip", 31), ("deflate", 15)])
@pytest.mark.parametrize("step", [1, 7, 0])
def test_a_compressed_answer_is_unpacked(encoding: str, window: int, step: int) -> None:
    """A stream flushed event by event and cut anywhere, and one JSON."""
    assert WHOLE == read(packed(DATA, window), SSE, encoding, step).message()
    assert WHOLE == read(packed(json.dumps(WHOLE).encode(), window), "application/json", encoding, step).message()


def test_gzip_may_come_in_several_members() -> None:
    """As when a server compresses each event for itself."""
    data = b"".join(packed(DATA[at : at + 300], 31) for at in range(0, len(DATA), 300))
    assert [WHOLE, WHOLE] == [read(data, SSE, "gzip", step).message() for step in (7, 0)]


def test_a_compressed_event_is_read_when_it_comes() -> None:
    """Nothing waits for the end of the file."""
    reader = stream.Reader(SSE, "gzip")
    packer = zlib.compressobj(wbits=31)
    reader.feed(packer.compress(DATA) + packer.flush(zlib.Z_SYNC_FLUSH))
    assert reader.complete


@pytest.mark.parametrize("encoding", ["br", "zstd", "gzip, br", "compress"])
@pytest.mark.parametrize("content_type", [SSE, "application/json"])
def test_what_cannot_be_unpacked_gives_no_message(encoding: str, content_type: str) -> None:
    """The answer passes all the same."""
    assert (False, None) == ((reader := read(DATA, content_type, encoding)).complete, reader.message())


@pytest.mark.parametrize("data", [DATA, b"", b"\x1f\x8b", packed(DATA, 31)[:-40], packed(DATA, 31)[:60] + b"\0" * 60])
def test_broken_compression_gives_no_message(data: bytes) -> None:
    """Not compressed at all, nothing, cut short, or damaged."""
    assert [None, None] == [read(data, kind, "gzip").message() for kind in ("application/json", "text/html")]
    assert read(data, SSE, "gzip").message() in (None, WHOLE if data == packed(DATA, 31)[:-40] else None)


def test_a_little_that_unpacks_to_very_much_is_given_up() -> None:
    """An answer has a size that it may have."""
    bomb = packed(b"\0" * (stream.LARGEST_BYTES + 1), 31, 1 << 24)
    assert len(bomb) < 1 << 20
    assert [None, None] == [read(bomb, kind, "gzip").message() for kind in (SSE, "application/json")]


# what the grammar allows


def test_pings_comments_and_unknown_events_may_come_anywhere() -> None:
    """Also fields of an event that nobody asked for."""
    extra = b': a comment\n\nevent: ping\ndata: {"type": "ping"}\n\nid: 7\nretry: 10\nevent: of_tomorrow\ndata: {"type":"of_tomorrow","index":0}\n\n\n\n'
    data = extra + extra.join(map(sse.frame, sse.events(WHOLE))) + extra
    assert WHOLE == read(data).message()


def test_an_event_s_data_may_take_several_lines() -> None:
    """With or without a space, and the last word on its kind is in the data."""
    data = DATA.replace(b'{"type": "message_stop"}', b'{"type":\ndata:"message_stop"\ndata: }').replace(b"event: message_stop", b"event: odd")
    assert WHOLE == read(data.replace(b"data: ", b"data:")).message()


def test_an_event_that_was_not_ended_has_not_happened() -> None:
    """The blank line is missing: the client does not take it for one either."""
    assert read(DATA[:-1]).message() is None


def test_text_grows_from_what_its_start_had() -> None:
    """Parts are joined in their order."""
    assert [{"type": "text", "text": "abcd"}] == content(
        start(0, {"type": "text", "text": "a"}), delta(0, "text_delta", text="bc"), delta(0, "text_delta", text="d"), stop(0)
    )


def test_a_letter_cut_in_two_is_put_together() -> None:
    """Escapes make two halves of a letter beyond the first 65,536; events may part them."""
    cut = [start(0, {"type": "text", "text": ""}), delta(0, "text_delta", text="é\ud83d"), delta(0, "text_delta", text="\ude42\udc00"), stop(0)]
    data = b"".join(f"data: {json.dumps(event)}\n\n".encode() for event in [BEGIN, *cut, END, STOP])
    assert [{"type": "text", "text": "é🙂\udc00"}] == (read(data).message() or {})["content"]
    call = [
        start(0, {**CALL, "input": {}}),
        delta(0, "input_json_delta", partial_json='{"a":"\ud83d'),
        delta(0, "input_json_delta", partial_json='\ude42"}'),
        stop(0),
    ]
    data = b"".join(f"data: {json.dumps(event)}\n\n".encode() for event in [BEGIN, *call, END, STOP])
    assert {"a": "🙂"} == (read(data).message() or {})["content"][0]["input"]


def test_blocks_may_grow_side_by_side() -> None:
    """An index says whose a part is."""
    parts = [
        start(1, dict(CALL, input={})),
        start(0, {"type": "text", "text": ""}),
        delta(1, "input_json_delta", partial_json='{"a"'),
        delta(0, "text_delta", text="x"),
    ]
    assert [{"type": "text", "text": "x"}, {**CALL, "input": {"a": 1}}] == content(*parts, delta(1, "input_json_delta", partial_json=":1}"), stop(0), stop(1))


@pytest.mark.parametrize(
    ("begun", "parts", "expected"),
    [
        ({}, [], {}),
        ({}, [""], {}),
        ({}, ["", "{}"], {}),
        ({}, ['{"b": 1, ', '"a": 2}'], {"b": 1, "a": 2}),
        ({"a": 1}, [], {"a": 1}),
        ({"a": 1}, ['{"b":2}'], {"b": 2}),
        (None, [""], {}),
        ({}, ['{"a":1,"a":2}'], {"a": 2}),
    ],
)
def test_the_input_of_a_tool_is_the_json_of_its_parts(begun, parts, expected) -> None:
    """Nothing at all is an empty object; keys keep their order."""
    block = {"type": "tool_use", "id": "toolu_1", "name": "Bash", **({} if begun is None else {"input": begun})}
    found = content(start(0, block), *(delta(0, "input_json_delta", partial_json=part) for part in parts), stop(0))[0]["input"]
    assert list(expected.items()) == list(found.items())


@pytest.mark.parametrize("raw", ['{"a": "half', "{", "{}}", '{"a": NaN}', '{"a": 1e999}', "[" * 100_000])
def test_input_that_broke_off_gives_no_message(raw: str) -> None:
    """What the client makes of it cannot be known."""
    assert content(start(0, {**CALL, "input": {}}), delta(0, "input_json_delta", partial_json=raw), stop(0)) is None


def test_thinking_without_a_signature_is_left_out() -> None:
    """The API would not take it back; the last signature is the one."""
    thinking = {"type": "thinking", "thinking": "", "signature": ""}
    grown = delta(0, "thinking_delta", thinking="hm", estimated_tokens=7)
    assert [TEXT] == content(start(0, thinking), grown, stop(0), start(1, TEXT), stop(1))
    signed = [delta(0, "signature_delta", signature="one"), delta(0, "signature_delta", signature="two")]
    assert [{"type": "thinking", "thinking": "hm", "signature": "two"}] == content(start(0, {"type": "thinking", "thinking": ""}), grown, *signed, stop(0))


def test_citations_add_up() -> None:
    """Whether the start has an empty list, null or none."""
    for begun in ({}, {"citations": None}, {"citations": []}):
        parts = [delta(0, "citations_delta", citation={"n": n}) for n in (1, 2)]
        assert [{"type": "text", "text": "", "citations": [{"n": 1}, {"n": 2}]}] == content(start(0, {"type": "text", "text": "", **begun}), *parts, stop(0))


def test_a_compaction_comes_in_one_part() -> None:
    """What its start has besides stays."""
    begun = {"type": "compaction", "content": None, "signature": "s", "tool_changes": [1]}
    assert [{**begun, "content": "so far", "encrypted_content": "e"}] == content(
        start(0, begun), delta(0, "compaction_delta", content="so far", encrypted_content="e"), stop(0)
    )
    assert [begun] == content(start(0, begun), delta(0, "compaction_delta", content=None), stop(0))


def test_an_unknown_block_stays_as_it_began() -> None:
    """And an unknown part of a known one changes nothing."""
    strange = {"type": "of_tomorrow", "n": [1, {"x": None}]}
    assert [strange, TEXT] == content(
        start(0, strange), delta(0, "tomorrow_delta", x=1), stop(0), start(1, TEXT), delta(1, "tomorrow_delta", text="x"), stop(1)
    )


def test_a_fallback_names_the_model_that_answers() -> None:
    """As in the answer that is not streamed."""
    hop = {"type": "fallback", "from": {"model": "claude-fable-5-2"}, "to": {"model": "claude-opus-5-5"}}
    began = {"type": "message_start", "message": {**OPENING, "model": "claude-fable-5-2"}}
    message = read(framed([began, start(0, hop), stop(0), END, STOP])).message()
    assert (message or {})["model"] == "claude-opus-5-5"
    assert (message or {})["content"] == [hop]


def test_counts_are_totals_and_what_is_not_said_again_stays() -> None:
    """A web search changes the input's; null says nothing."""
    first = {**END, "usage": {"input_tokens": 12284, "output_tokens": 5, "cache_read_input_tokens": None, "server_tool_use": {"web_search_requests": 1}}}
    last = {**END, "usage": {"output_tokens": 30}}
    message = read(framed([BEGIN, first, last, STOP])).message() or {}
    assert message["usage"] == {**USAGE, "input_tokens": 12284, "output_tokens": 30, "server_tool_use": {"web_search_requests": 1}}
    assert USAGE == (read(framed([BEGIN, {**END, "usage": None}, STOP])).message() or {})["usage"]
    assert USAGE == (read(framed([BEGIN, {"type": "message_delta", "delta": END["delta"]}, STOP])).message() or {})["usage"]


def test_the_end_says_how_it_ended() -> None:
    """Also what is new in it; what was said at the start and not taken back stays."""
    began = {"type": "message_start", "message": {**OPENING, "container": {"id": "c1"}, "input_transformations": [{"type": "thinking_dropped"}]}}
    ending = {
        **END,
        "delta": {"stop_reason": "refusal", "stop_sequence": None, "stop_details": {"category": "x"}, "container": None, "safeguard_results": [1]},
        "context_management": {"applied_edits": []},
    }
    message = read(framed([began, ending, STOP])).message() or {}
    assert ("refusal", {"category": "x"}, {"id": "c1"}, [1]) == tuple(
        message[name] for name in ("stop_reason", "stop_details", "container", "safeguard_results")
    )
    assert ({"applied_edits": []}, [{"type": "thinking_dropped"}]) == (message["context_management"], message["input_transformations"])


# what is not whole


TORN: dict[str, list[dict[str, Any]]] = {
    "nothing": [],
    "no end": sse.events(WHOLE)[:-1],
    "an error at the start": [{"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}],
    "an error in the middle": [
        *sse.events(WHOLE)[:5],
        {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}},
        *sse.events(WHOLE)[5:],
    ],
    "no start": sse.events(WHOLE)[1:],
    "two starts": [BEGIN, BEGIN, END, STOP],
    "a block before the start": [start(0, TEXT), BEGIN, END, STOP],
    "an end before the start": [END, BEGIN, STOP],
    "nothing but the end": [STOP],
    "a block twice": [BEGIN, start(0, TEXT), start(0, TEXT), END, STOP],
    "a part of no block": [BEGIN, delta(0, "text_delta", text="x"), END, STOP],
    "a part without a text": [BEGIN, start(0, {"type": "text", "text": ""}), delta(0, "text_delta"), END, STOP],
    "a part that is a number": [BEGIN, start(0, {"type": "text", "text": ""}), delta(0, "text_delta", text=1), stop(0), END, STOP],
    "a part that is null": [BEGIN, start(0, {"type": "text", "text": ""}), {"type": "content_block_delta", "index": 0, "delta": None}, END, STOP],
    "a block that is null": [BEGIN, {"type": "content_block_start", "index": 0, "content_block": None}, END, STOP],
    "a block without an index": [BEGIN, {"type": "content_block_start", "content_block": TEXT}, END, STOP],
    "an index that is a list": [BEGIN, {"type": "content_block_start", "index": [], "content_block": TEXT}, END, STOP],
    "an index of another kind": [BEGIN, start(0, TEXT), {"type": "content_block_start", "index": "1", "content_block": TEXT}, END, STOP],
    "a message that is none": [{"type": "message_start", "message": []}, END, STOP],
    "an end without what it says": [BEGIN, {"type": "message_delta"}, STOP],
    "counts that are none": [BEGIN, {**END, "usage": 7}, STOP],
}


@pytest.mark.parametrize("events", TORN.values(), ids=TORN.keys())
def test_half_an_answer_is_no_message(events) -> None:
    """Whatever is missing, doubled or odd; and nothing is raised."""
    for step in (0, 7):
        reader = read(framed(events), step=step)
        assert (False, None) == (reader.complete, reader.message())


@pytest.mark.parametrize(
    "line", [b"data: {", b"data: \xff", b"data: NaN", b'data: {"type":"x","n":1e999}', b"data: " + b"[" * 100_000, b"data: " + b"9" * 10_000]
)
def test_data_that_is_no_json_ends_the_reading(line: bytes) -> None:
    """It cannot be known what it was."""
    assert read(sse.frame(BEGIN) + line + b"\n\n" + framed([END, STOP])).message() is None


def test_what_comes_after_the_end_is_not_read() -> None:
    """Neither before nor after `close`."""
    reader = read(DATA)
    for more in (DATA, framed([END]), framed([{"type": "error"}]), b"\xff"):
        reader.feed(more)
        reader.close()
    assert WHOLE == reader.message()
    assert WHOLE == read(DATA + DATA).message()


@given(st.sampled_from([SSE, "application/json", "", "text/html"]), st.sampled_from(["", "gzip", "identity"]), st.lists(st.binary(max_size=40)))
def test_nothing_that_comes_makes_it_raise(content_type, encoding, pieces) -> None:
    """Any bytes."""
    reader = stream.Reader(content_type, encoding)
    for piece in pieces:
        reader.feed(piece)
    reader.close()
    assert reader.message() is None


odd = st.recursive(
    st.one_of(
        st.none(),
        st.integers(0, 2),
        st.text(max_size=2),
        st.sampled_from(["text_delta", "citations_delta", "signature_delta", "compaction_delta", "input_json_delta"]),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=2),
        st.dictionaries(
            st.sampled_from(["type", "text", "index", "delta", "citations", "citation", "usage", "model", "to", "partial_json", "message", "content"]), inner
        ),
    ),
    max_leaves=6,
)


@given(st.lists(st.one_of(st.sampled_from(sse.events(WHOLE)), st.builds(lambda event, more: {**event, **more}, st.sampled_from(sse.events(WHOLE)), st.dictionaries(
    st.sampled_from(["index", "delta", "content_block", "usage", "message"]), odd))), max_size=12))  # fmt: skip
def test_no_event_makes_it_raise(events) -> None:
    """Any JSON where an event should be."""
    reader = read(framed(events))
    assert (reader.message() is not None) == reader.complete


# not streamed


def test_a_whole_json_is_the_message() -> None:
    """As it is."""
    for step in (0, 7):
        reader = read(json.dumps(WHOLE).encode(), "Application/JSON; charset=utf-8", step=step)
        assert (True, WHOLE) == (reader.complete, reader.message())


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{}",
        b"[]",
        b"null",
        b'{"type":"error","error":{}}',
        b'{"type":"message"}',
        b'{"type":"message","content":"x"}',
        json.dumps(WHOLE).encode()[:-1],
        b"\xff",
        b"[" * 10**6,
    ],
)
def test_a_json_that_is_no_message_or_not_whole_gives_none(data: bytes) -> None:
    """An error, or a torn body."""
    reader = read(data, "application/json")
    assert (False, None) == (reader.complete, reader.message())


def test_a_json_is_a_message_only_at_its_end() -> None:
    """Before that it is bytes."""
    reader = stream.Reader("application/json", "")
    reader.feed(json.dumps(WHOLE).encode())
    assert not reader.complete
    reader.close()
    assert reader.complete


# the official SDK


def by_the_sdk(events: list[dict[str, Any]]) -> Any:
    """What the official SDK makes of the events."""
    helper = pytest.importorskip("anthropic.lib.streaming._beta_messages")
    types = pytest.importorskip("anthropic.types.beta")
    models = pytest.importorskip("anthropic._models")
    snapshot, buffers = None, {}
    for event in events:
        built = models.construct_type(type_=types.BetaRawMessageStreamEvent, value=copy.deepcopy(event))
        snapshot = helper.accumulate_event(event=built, current_snapshot=snapshot, json_bufs=buffers, request_headers={})
    return without_nulls(snapshot.to_dict(mode="json"))


def without_nulls(value: Any) -> Any:
    """The value without fields that are null and the SDK's own."""
    if isinstance(value, dict):
        return {name: without_nulls(inner) for name, inner in value.items() if inner is not None and name not in ("parsed_output", "__json_buf")}
    return [without_nulls(inner) for inner in value] if isinstance(value, list) else value


SEARCHED = {**END, "usage": {"input_tokens": 12284, "output_tokens": 30, "server_tool_use": {"web_search_requests": 1}}}
HOP = {"type": "fallback", "from": {"model": "claude-fable-5-2"}, "to": {"model": "claude-opus-5-5"}}
STREAMS = {
    **{name: [event for event in sse.events(message_of(*blocks)) if event["type"] != "ping"] for name, blocks in BLOCKS.items()},
    "counts that change": [BEGIN, start(0, {"type": "text", "text": "a"}), delta(0, "text_delta", text="b"), stop(0), SEARCHED, STOP],
    "a fallback": [BEGIN, start(0, HOP), stop(0), start(1, {"type": "text", "text": ""}), delta(1, "text_delta", text="b"), stop(1), END, STOP],
    "input in many parts": [
        BEGIN,
        start(0, {**CALL, "input": {}}),
        *(delta(0, "input_json_delta", partial_json=part) for part in ["", '{"z"', ': [1, {"a"', ': "é\\n"}], "b"', ": {}}"]),
        stop(0),
        END,
        STOP,
    ],
    "a refusal": [BEGIN, {**END, "delta": {"stop_reason": "refusal", "stop_sequence": None, "stop_details": {"type": "refusal", "category": "cyber"}}}, STOP],
    "an edited context": [BEGIN, {**END, "context_management": {"applied_edits": []}, "input_transformations": []}, STOP],
}


@pytest.mark.parametrize("events", STREAMS.values(), ids=STREAMS.keys())
def test_the_official_sdk_has_the_same_message(events) -> None:
    """What Claude Code keeps, and sends with the next request, is what the SDK builds."""
    assert by_the_sdk(events) == without_nulls(read(framed(events)).message())
