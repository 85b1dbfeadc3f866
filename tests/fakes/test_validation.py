"""The fake refuses and accepts the shapes that were measured on the real API."""

from __future__ import annotations

import base64
import http.client
import json
import struct
from typing import Any

import pytest

from tests.fakes.messages_api import MessagesApi

Body = dict[str, Any]
HEADERS = {"x-api-key": "sk-ant-fake", "anthropic-version": "2023-06-01", "content-type": "application/json"}
MODEL = "claude-opus-4-8"


def post(api: MessagesApi, body: Any, path: str = "/v1/messages", **headers: str) -> tuple[int, Body]:
    """Status and JSON of the answer to a body; a header set to "" is not sent."""
    wanted = {**HEADERS, **{name.replace("_", "-"): value for name, value in headers.items()}}
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    connection = http.client.HTTPConnection("127.0.0.1", api.port, timeout=10)
    connection.request("POST", path, raw, {name: value for name, value in wanted.items() if value})
    answer = connection.getresponse()
    data = answer.read()
    connection.close()
    return answer.status, json.loads(data)


def request(messages: list[Body], **fields: Any) -> Body:
    """A small request for a model without binding."""
    return {"model": MODEL, "max_tokens": 100, "messages": messages, **fields}


def u(*blocks: Any) -> Body:
    """A user message; a string is a text block."""
    return {"role": "user", "content": [t(b) if isinstance(b, str) else b for b in blocks]}


def a(*blocks: Any) -> Body:
    """An assistant message."""
    return {**u(*blocks), "role": "assistant"}


def s(text: str, **keys: Any) -> Body:
    """A system message."""
    return {"role": "system", "content": text, **keys}


def t(text: str, **keys: Any) -> Body:
    """A text block."""
    return {"type": "text", "text": text, **keys}


def call(id: str = "tc_1", **keys: Any) -> Body:
    """A tool_use block."""
    return {"type": "tool_use", "id": id, "name": "Bash", "input": {}, **keys}


def result(id: str = "tc_1", content: Any = "done", **keys: Any) -> Body:
    """A tool_result block."""
    return {"type": "tool_result", "tool_use_id": id, "content": content, **keys}


MARK = {"cache_control": {"type": "ephemeral"}}
HOUR = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}
UNANSWERED = "`tool_use` ids were found without `tool_result` blocks immediately after: "

ACCEPTED: dict[str, list[Body]] = {
    "one user message": [u("hi")],
    "string content": [{"role": "user", "content": "hi"}],
    "two user messages in a row": [u("hi"), u("there")],
    "three user messages in a row": [u("hi"), u("there"), u("again")],
    "two assistant messages in a row": [u("hi"), a("one"), a("two"), u("go on")],
    "an empty assistant list": [u("hi"), a(), u("go on")],
    "an empty assistant string": [u("hi"), {"role": "assistant", "content": ""}, u("go on")],
    "a result, then a user message": [u("hi"), a(call()), u(result()), u("more")],
    "text after the results": [u("hi"), a(call()), u(result(), "more")],
    "results across messages, any order": [u("hi"), a(call("x"), call("y")), u(result("y")), u(result("x"), "more")],
    "a result without content": [u("hi"), a(call()), u({"type": "tool_result", "tool_use_id": "tc_1"})],
    "system at the end": [u("hi"), s("note")],
    "system before an assistant message": [u("hi"), s("note"), a("ok"), u("go on")],
    "two system messages in a row": [u("hi"), s("note"), s("another")],
    "system after results": [u("hi"), a(call()), u(result()), s("note")],
    "four markers": [u(t("a", **MARK), t("b", **MARK), t("c", **MARK), t("d", **MARK))],
    "the longer lifetime first": [u(t("a", **HOUR), t("b", **MARK))],
    "a server tool and its result": [
        u("hi"),
        a(
            {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}},
            {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []},
            "found",
        ),
        u("more"),
    ],
}

REFUSED: dict[str, tuple[list[Body], str]] = {
    "assistant first": ([a("hi"), u("hi")], 'messages: first message must use the "user" role'),
    "nothing": ([], "messages: at least one message is required"),
    "prefill": (
        [u("hi"), a("so")],
        "This model does not support assistant message prefill. The conversation must end with a user message.",
    ),
    "a call without a result": ([u("hi"), a(call()), u("more")], f"messages.1: {UNANSWERED}tc_1"),
    "a call at the end": ([u("hi"), a(call())], f"messages.1: {UNANSWERED}tc_1"),
    "text between results": (
        [u("hi"), a(call("x"), call("y")), u(result("x"), "more"), u(result("y"))],
        f"messages.1: {UNANSWERED}y",
    ),
    "text before the result": ([u("hi"), a(call()), u("more", result())], f"messages.1: {UNANSWERED}tc_1"),
    "a foreign result": (
        [u("hi"), a(call()), u(result("tc_999"))],
        "messages.2.content.0: unexpected `tool_use_id` found in `tool_result` blocks: tc_999",
    ),
    "an orphan first": ([u(result())], "messages.0.content.0: unexpected `tool_use_id` found in `tool_result` blocks"),
    "a repeated id": (
        [u("hi"), a(call()), u(result()), a(call()), u(result())],
        "messages.3.content.0: `tool_use` ids must be unique",
    ),
    "two results": (
        [u("hi"), a(call()), u(result(), result())],
        "messages.2.content.1: each tool_use must have a single result. Found multiple `tool_result` blocks with id: tc_1",
    ),
    "empty text": ([u("hi", "")], "messages: text content blocks must be non-empty"),
    "blank text": ([u("hi", "  ")], "messages: text content blocks must contain non-whitespace text"),
    "marked empty text": ([u("hi", t("", **MARK))], "messages.0.content.1.text: cache_control cannot be set for empty text blocks"),
    "empty user content": ([{"role": "user", "content": ""}], "messages.0: user messages must have non-empty content"),
    "system first": (
        [s("note"), u("hi")],
        "messages.0: use the top-level 'system' parameter for the initial system prompt",
    ),
    "system after an assistant message": ([u("hi"), a("ok"), s("note"), u("go")], "messages.2: role 'system' must follow a 'user' message"),
    "system before a user message": (
        [u("hi"), s("note"), u("go")],
        "messages.1: role 'system' must precede an 'assistant' message or end the array",
    ),
    "system between call and result": ([u("hi"), a(call()), s("note"), u(result())], "messages.2: role 'system' must follow a 'user' message"),
    "an empty system message": ([u("hi"), s("")], "messages.1: system messages must have non-empty content"),
    "an unsigned thought": (
        [u("hi"), a({"type": "thinking", "thinking": "hm"}, "ok"), u("go")],
        "messages.1.content.0.thinking.signature: Field required",
    ),
    "an invented thought": (
        [u("hi"), a({"type": "thinking", "thinking": "hm", "signature": "abc"}, "ok"), u("go")],
        "messages.1.content.0: Invalid `signature` in `thinking` block",
    ),
    "a thought at the end": (
        [u("hi"), a({"type": "thinking", "thinking": "hm", "signature": "abc"})],
        "The final block in an assistant message cannot be `thinking`",
    ),
    "a call by the user": ([u(call())], "messages.0.content.0: `tool_use` blocks can only be in `assistant` messages"),
    "an unknown block": ([u({"type": "memory"})], "messages.0.content.0: Input tag 'memory' found using 'type'"),
    "an unknown role": ([{"role": "tool", "content": "x"}], "messages.0.role: Input should be 'user', 'assistant' or"),
    "a key of ours on a message": ([{**u("hi"), "id": 1}], "messages.0.id: Extra inputs are not permitted"),
    "a key of ours on a block": ([u(t("hi", at=1))], "messages.0.content.0.text.at: Extra inputs are not permitted"),
    "an id with a dot": (
        [u("hi"), a(call("a.b")), u(result("a.b"))],
        "messages.1.content.0.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'",
    ),
    "five markers": (
        [u(*[t(letter, **MARK) for letter in "abcde"])],
        "A maximum of 4 blocks with cache_control may be provided. Found 5.",
    ),
    "the shorter lifetime first": (
        [u(t("a", **MARK), t("b", **HOUR))],
        "messages.0.content.1.cache_control.ttl: a ttl='1h' cache_control block must not come after a ttl='5m'",
    ),
    "a tool that is not there": (
        [u("hi"), a(call()), u(result(content=[{"type": "tool_reference", "tool_name": "gone"}]))],
        "Tool reference 'gone' not found in available tools",
    ),
    "a server result without its call": (
        [u("hi"), a({"type": "advisor_tool_result", "tool_use_id": "srvtoolu_1", "content": []}), u("more")],
        "messages.1.content.0: unexpected `tool_use_id` found in `advisor_tool_result` blocks: srvtoolu_1",
    ),
    "a server call left open": (
        [u("hi"), a({"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_fetch", "input": {}}), u("more")],
        "messages.2: `web_fetch` tool use with id `srvtoolu_1` was found without a corresponding",
    ),
}


@pytest.mark.parametrize("messages", list(ACCEPTED.values()), ids=list(ACCEPTED))
def test_a_valid_conversation_is_answered(messages: list[Body]) -> None:
    """What the real API takes, the fake takes."""
    with MessagesApi() as api:
        status, answer = post(api, request(messages))

    assert (200, "ok") == (status, answer["content"][0]["text"])


@pytest.mark.parametrize(("messages", "text"), list(REFUSED.values()), ids=list(REFUSED))
def test_an_invalid_conversation_is_refused_with_the_real_text(messages: list[Body], text: str) -> None:
    """What the real API refuses, the fake refuses in the same words, and counting tokens too."""
    with MessagesApi() as api:
        status, answer = post(api, request(messages))
        counted = post(api, {"model": MODEL, "messages": messages}, "/v1/messages/count_tokens")

        assert (400, "invalid_request_error") == (status, answer["error"]["type"])
        assert answer["error"]["message"].startswith(text)
        assert answer["error"] == counted[1]["error"]
        assert [400, 400] == [seen.status for seen in api.requests]


FIELDS: dict[str, tuple[Body, dict[str, str], int, str]] = {
    "no credentials": ({}, {"x_api_key": ""}, 401, "x-api-key header is required"),
    "no version": ({}, {"anthropic_version": ""}, 400, "anthropic-version: header is required"),
    "an unknown beta": (
        {},
        {"anthropic_beta": "hats-2026-01-01"},
        400,
        "Unexpected value(s) `hats-2026-01-01` for the `anthropic-beta` header.",
    ),
    "an unknown field": ({"memory": 1}, {}, 400, "memory: Extra inputs are not permitted"),
    "a field without its beta": ({"context_management": {"edits": []}}, {}, 400, "context_management: Extra inputs are not permitted"),
    "safeguards without their beta": ({"safeguards": []}, {}, 400, "safeguards: Extra inputs are not permitted"),
    "an unknown model": ({"model": "claude-9"}, {}, 404, "model: claude-9"),
    "too many tokens": ({"max_tokens": 128001}, {}, 400, "max_tokens: 128001 > 128000"),
    "a temperature": ({"temperature": 0.2}, {}, 400, "temperature: only the default value"),
    "manual thinking": (
        {"thinking": {"type": "enabled", "budget_tokens": 2000}},
        {},
        400,
        '"thinking.type.enabled" is not supported for this model.',
    ),
    "a forced tool": (
        {"model": "claude-opus-5-5", "tool_choice": {"type": "any"}},
        {},
        400,
        'tool_choice: type "tool" and "any" are not supported for this model.',
    ),
    "block_binding without its beta": (
        {"thinking": {"type": "adaptive", "block_binding": {}}},
        {},
        400,
        "thinking.adaptive.block_binding: Extra inputs are not permitted",
    ),
    "two tools of one name": ({"tools": [{"name": "x", "input_schema": {"type": "object"}}] * 2}, {}, 400, "tools: Tool names must be unique."),
    "a blank system prompt": ({"system": " "}, {}, 400, "system: text content blocks must contain non-whitespace text"),
    "an unknown encoding": ({}, {"content_encoding": "zstd"}, 400, "content-encoding zstd is not supported"),
    "bytes that are not gzip": ({}, {"content_encoding": "gzip"}, 400, "the request body is not valid gzip"),
    "no max_tokens with streaming": ({"max_tokens": 0, "stream": True}, {}, 400, "max_tokens: 0 cannot be combined with `stream`"),
}


@pytest.mark.parametrize(("fields", "headers", "status", "text"), list(FIELDS.values()), ids=list(FIELDS))
def test_an_invalid_envelope_is_refused(fields: Body, headers: dict[str, str], status: int, text: str) -> None:
    """Headers and fields outside the conversation are checked too."""
    with MessagesApi() as api:
        found, answer = post(api, request([u("hi")], **fields), **headers)

    assert status == found
    assert answer["error"]["message"].startswith(text)


def test_system_messages_are_refused_by_older_models() -> None:
    """Sonnet 5 does not know role system inside messages."""
    with MessagesApi() as api:
        _, answer = post(api, request([u("hi"), s("note")], model="claude-sonnet-5"))

    assert "messages.1: role 'system' is not supported on this model" == answer["error"]["message"]


def test_effort_alone_may_stand_anywhere_when_its_beta_is_sent() -> None:
    """Claude Code sends empty system messages that only set the effort."""
    messages = [u("hi"), {"role": "system", "content": [], "output_config": {"effort": "low"}}, u("more")]
    with MessagesApi() as api:
        with_beta = post(api, request(messages), anthropic_beta="per-turn-control-2026-07-01")
        without = post(api, request(messages))

    assert 200 == with_beta[0]
    assert "messages.1.output_config: Extra inputs are not permitted" == without[1]["error"]["message"]


def test_a_manual_model_wants_thinking_first_in_an_open_tool_loop() -> None:
    """Haiku 4.5 refuses results whose call was not preceded by thinking."""
    fields = {"model": "claude-haiku-4-5-20251001", "max_tokens": 9000}
    manual = {"thinking": {"type": "enabled", "budget_tokens": 2000}}
    with MessagesApi() as api:
        _, answer = post(api, request([u("hi"), a("so", call()), u(result())], **fields, **manual))
        closed = post(api, request([u("hi"), a("so"), u("go")], **fields, **manual))

    assert answer["error"]["message"].startswith("messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `text`.")
    assert 200 == closed[0]


def test_a_prompt_larger_than_the_window_is_too_long() -> None:
    """Claude Code starts its compaction on this text."""
    with MessagesApi() as api:
        _, answer = post(api, request([u("word " * 150_000)], model="claude-haiku-4-5"))

    assert "prompt is too long: 208336 tokens > 200000 maximum" == answer["error"]["message"]


def picture(width: int) -> Body:
    """The head of a PNG that wide."""
    head = b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", width, 10)
    source = {"type": "base64", "media_type": "image/png", "data": base64.b64encode(head).decode()}
    return {"type": "image", "source": source}


def test_twenty_one_images_must_be_small() -> None:
    """One wide image is fine until it is among more than twenty."""
    with MessagesApi() as api:
        few = post(api, request([u(picture(2400))]))
        many = post(api, request([u(*[picture(100)] * 20, picture(2400))]))

    assert 200 == few[0]
    assert many[1]["error"]["message"] == (
        "messages.0.content.20.image.source.base64.data: At least one of the image dimensions exceed max allowed size for many-image requests: 2000 pixels"
    )
    assert "image_dimensions_too_large" == many[1]["error"]["details"]["error_code"]


def test_the_new_api_version_refuses_citations_in_user_text() -> None:
    """A block copied from an assistant message into a user message is caught."""
    messages = [u(t("hi", citations=[{"type": "char_location"}]))]
    with MessagesApi() as api:
        old = post(api, request(messages))
        new = post(api, request(messages), anthropic_version="2026-10-21")

    assert (200, 400) == (old[0], new[0])
    assert "messages.0.content.0.citations: Extra inputs are not permitted" == new[1]["error"]["message"]
