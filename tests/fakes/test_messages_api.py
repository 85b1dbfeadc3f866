"""The fake speaks the API's HTTP and SSE: the official SDK and a plain socket both understand it."""

from __future__ import annotations

import http.client
import json
import socket
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.fakes import sse
from tests.fakes.messages_api import MessagesApi, Script
from tests.fakes.replies import error, overloaded, reply, text, thinking, tool_call
from tests.fakes.test_validation import HEADERS, post, request, u

ASK = request([u("hi")])


@contextmanager
def raw_stream(api: MessagesApi, **headers: str) -> Iterator[http.client.HTTPResponse]:
    """The open answer to a streaming request."""
    connection = http.client.HTTPConnection("127.0.0.1", api.port, timeout=10)
    connection.request("POST", "/v1/messages", json.dumps({**ASK, "stream": True}), {**HEADERS, **headers})
    try:
        yield connection.getresponse()
    finally:
        connection.close()


def names(data: bytes) -> list[str]:
    """The event types in a stream."""
    return [line[7:] for line in data.decode().splitlines() if line.startswith("event: ")]


WHOLE = [
    "message_start", "ping", "content_block_start", "content_block_delta", "content_block_delta",
    "content_block_stop", "message_delta", "message_stop",
]  # fmt: skip


@pytest.mark.parametrize("options", [{}, {"split": 7}, {"gzip": True}, {"gzip": True, "split": 7}, {"gap": 0.001}])
def test_the_sdk_assembles_a_streamed_message(options: dict[str, Any]) -> None:
    """Thinking, text and a call come out of the SDK as they went in, however the bytes were cut."""
    anthropic = pytest.importorskip("anthropic")
    blocks = [thinking("hm"), text("Grüße, 世界"), tool_call("Bash", {"command": "ls", "n": [1, {"a": None}]}, "tc_1")]
    with MessagesApi([reply(*blocks, **options)]) as api, anthropic.Anthropic(base_url=api.url, api_key="sk-ant-fake", max_retries=0) as client:
        with client.messages.stream(
            model="claude-opus-5-5", max_tokens=100, messages=[{"role": "user", "content": "hi"}],
            thinking={"type": "adaptive", "display": "summarized"},
        ) as stream:  # fmt: skip
            message = stream.get_final_message()

    thought, words, called = message.content
    assert ("hm", True) == (thought.thinking, thought.signature.startswith("FAKE"))
    assert "Grüße, 世界" == words.text
    assert ("tc_1", {"command": "ls", "n": [1, {"a": None}]}) == (called.id, called.input)
    assert "tool_use" == message.stop_reason


def test_the_sdk_reads_a_message_in_one_piece() -> None:
    """And continues the conversation with what it got."""
    anthropic = pytest.importorskip("anthropic")
    with (
        MessagesApi([reply(thinking(), tool_call("Bash", {}, "tc_1"), out=17), "done"]) as api,
        anthropic.Anthropic(base_url=api.url, api_key="sk-ant-fake", max_retries=0) as client,
    ):
        fields = {"model": "claude-opus-5-5", "max_tokens": 100}
        messages: list[Any] = [{"role": "user", "content": "hi"}]
        first = client.messages.create(messages=messages, **fields)
        messages += [{"role": "assistant", "content": first.content}]
        messages += [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "tc_1", "content": "x"}]}]
        second = client.messages.create(messages=messages, **fields)

        assert (17, "done") == (first.usage.output_tokens, second.content[0].text)
        assert 3 == client.messages.count_tokens(model="claude-opus-5-5", messages=messages[:1]).input_tokens
        assert "claude-opus-5-5" in [model.id for model in client.models.list()]


def test_the_sdk_retries_what_the_fake_says_is_busy() -> None:
    """429 with a wait, then 529, then the answer."""
    anthropic = pytest.importorskip("anthropic")
    script: Script = [error("slow down", 429, headers={"retry-after-ms": "1"}), overloaded(), "ok"]
    with MessagesApi(script) as api, anthropic.Anthropic(base_url=api.url, api_key="sk-ant-fake", max_retries=2) as client:
        client.messages.create(model="claude-opus-5-5", max_tokens=9, messages=[{"role": "user", "content": "hi"}])

        assert [429, 529, 200] == [seen.status for seen in api.messages()]


def test_a_stream_has_the_events_of_the_grammar() -> None:
    """Start, ping, blocks, end."""
    with MessagesApi() as api, raw_stream(api) as answer:
        assert "text/event-stream; charset=utf-8" == answer.headers["content-type"]
        assert WHOLE == names(answer.read())


def test_gzip_is_sent_to_those_who_accept_it() -> None:
    """A client that asks for identity gets plain bytes."""
    with MessagesApi([reply(text("hi"), gzip=True)] * 2) as api:
        with raw_stream(api, **{"accept-encoding": "gzip"}) as answer:
            packed = answer.headers["content-encoding"], names(zlib.decompress(answer.read(), 47))
        with raw_stream(api, **{"accept-encoding": "identity"}) as answer:
            plain = answer.headers["content-encoding"], names(answer.read())

    assert (("gzip", WHOLE), (None, WHOLE)) == (packed, plain)


def test_a_cut_stream_is_seen_as_broken() -> None:
    """The connection closes without the end of the body."""
    broken = pytest.raises(http.client.IncompleteRead)
    with MessagesApi([reply(text("hi"), cut=4)]) as api, raw_stream(api) as answer, broken as seen:
        answer.read()

    assert WHOLE[:4] == names(seen.value.partial)


def test_an_error_can_come_in_the_middle_of_a_stream() -> None:
    """The body ends properly, the message does not."""
    with MessagesApi([reply(text("hi"), error_after=4)]) as api, raw_stream(api) as answer:
        data = answer.read()

    assert [*WHOLE[:4], "error"] == names(data)
    assert b'{"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}' in data


def test_a_client_that_leaves_is_noticed() -> None:
    """Also while the fake hangs."""
    with MessagesApi([reply(text("hi"), hang=60)]) as api:
        with raw_stream(api) as answer:
            answer.readline()

        assert api.wait_for(lambda api: api.requests[0].disconnected_at is not None, timeout_s=5)


def test_connections_are_kept_and_closed_with_the_fake() -> None:
    """Requests of one connection share its port; closing the fake ends it."""
    with MessagesApi() as api:
        connection = http.client.HTTPConnection("127.0.0.1", api.port, timeout=10)
        for method, path in (("HEAD", "/"), ("HEAD", "/api/hello"), ("GET", "/api/hello"), ("GET", "/v1/models?x=1")):
            connection.request(method, path)
            answer = connection.getresponse()
            answer.read()
            assert 200 == answer.status
        assert 1 == len({seen.client_port for seen in api.requests})
        kept = connection.sock
    assert kept is not None
    kept.settimeout(10)
    assert b"" == kept.recv(1)
    connection.close()


def test_requests_are_recorded_as_they_came() -> None:
    """Path with query, headers, bytes, and what became of them."""
    with MessagesApi() as api:
        post(api, ASK, "/v1/messages?beta=true", x_app="cli")
        seen = api.requests[0]

    assert ("POST", "/v1/messages?beta=true", "/v1/messages") == (seen.method, seen.path, seen.route)
    assert ("cli", json.dumps(ASK).encode(), "hi") == (seen.headers["X-App"], seen.raw, seen.prompt)
    assert (200, None, 3) == (seen.status, seen.error, seen.usage and seen.usage["input_tokens"])


def test_a_title_is_answered_without_the_script() -> None:
    """And is not one of the messages."""
    schema = {"type": "object", "properties": {"title": {"type": "string"}}}
    title = {**ASK, "output_config": {"format": {"type": "json_schema", "schema": schema}}}
    with MessagesApi(["scripted"]) as api:
        named, answered = post(api, title), post(api, ASK)

        assert '{"title": "A test session"}' == named[1]["content"][0]["text"]
        assert "scripted" == answered[1]["content"][0]["text"]
        assert 1 == len(api.messages())


def broken(request: object) -> str:
    raise KeyError("oops")


@pytest.mark.parametrize(
    ("script", "text"),
    [([], "the script of the fake has run out"), (broken, "the reply function failed: KeyError('oops')")],
)
def test_a_script_that_fails_says_so(script: Script, text: str) -> None:
    """As a 500 that is not to be retried, never as a silent default."""
    with MessagesApi(script) as api:
        status, answer = post(api, ASK)

    assert (500, text) == (status, answer["error"]["message"])


def test_a_refused_request_uses_up_no_reply() -> None:
    """The script is for accepted requests."""
    with MessagesApi(["first"]) as api:
        assert 400 == post(api, request([u("")]))[0]
        assert "first" == post(api, ASK)[1]["content"][0]["text"]


def test_auto_mode_gets_a_verdict_for_each_call() -> None:
    """In the message, and when streaming in message_delta."""
    body = {**ASK, "safeguards": [{"type": "dangerous_tool_use"}]}
    beta = {"anthropic_beta": "dangerous-tool-use-2026-09-03"}
    with MessagesApi([reply(tool_call("Bash", {}, "tc_1"))]) as api:
        message = post(api, body, **beta)[1]
    verdict = {"tc_1": {"type": "evaluated", "outcome": "not_flagged"}}

    assert verdict == message["safeguard_results"][0]["status"]["tool_uses"]
    assert message["safeguard_results"] == sse.events(message)[-2]["delta"]["safeguard_results"]


def test_waiting_ends_with_what_was_seen() -> None:
    """A test that waits in vain says what did come."""
    with MessagesApi() as api:
        post(api, ASK)
        with pytest.raises(TimeoutError, match="so far: POST /v1/messages 200"):
            api.wait_for(lambda api: len(api.requests) > 1, timeout_s=0.01)


def test_a_body_over_the_limit_is_not_read() -> None:
    """32 MiB is the limit; the connection closes."""
    with MessagesApi() as api, socket.create_connection(("127.0.0.1", api.port), timeout=10) as connection:
        connection.sendall(b"POST /v1/messages HTTP/1.1\r\nhost: x\r\ncontent-length: 33554433\r\n\r\n")
        data = b""
        while part := connection.recv(4096):
            data += part

    assert data.startswith(b"HTTP/1.1 413 ")
    assert b'"type": "request_too_large"' in data
