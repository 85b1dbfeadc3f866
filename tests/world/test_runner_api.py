"""The Messages API asked with the user's key: what the request is, what becomes of each answer, and what is told of an error."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tenon.base import settings
from tenon.world import runner_api, runners
from tenon.world.runners import Answer, Failed, Question
from tests.fakes import replies
from tests.fakes.messages_api import MessagesApi
from tests.fakes.raw_upstream import RawUpstream, Visit, whole

KEY = "sk-ant-key-of-a-test-0123456789"
SECRET = "the heron sleeps at noon"
SYSTEM = "You digest. " * 400
SCHEMA: dict[str, object] = {"type": "object", "properties": {"operations": {"type": "array"}}, "additionalProperties": False}
ANSWER = '{"operations": []}'
BUSY = "try later, " + SECRET


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> Iterator[MessagesApi]:
    """A strict Messages API that this process is led to, with a key."""
    with MessagesApi([]) as started:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", started.url)
        monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
        yield started


def script(api: MessagesApi, *said: replies.Scripted) -> None:
    """What it answers from now on."""
    api.script = list(said)


def ask(model: str = "haiku", timeout_s: float = 30) -> Answer:
    """The answer to a question."""
    return runners.ask("api", model, Question(SYSTEM, f"Digest \ud800this: {SECRET}", SCHEMA, 500), settings.load(), timeout_s=timeout_s)


def failed(timeout_s: float = 30) -> Failed:
    """How the question fails; never with a word of it, nor with the key."""
    with pytest.raises(Failed) as caught:
        ask(timeout_s=timeout_s)
    assert not {word for word in (SECRET, KEY, "operations") if word in str(caught.value)}
    return caught.value


def test_an_answer_comes_back_whole_with_what_it_took(api: MessagesApi) -> None:
    """What was read from the prompt cache is told apart, as a second question has it."""
    script(api, replies.reply(replies.text('{"opera'), replies.text('tions": []}'), out=12), replies.reply(replies.text(ANSWER), out=13))
    first, second = ask(), ask()

    assert ([ANSWER, 12], [ANSWER, 13]) == ([first.text, first.output_tokens], [second.text, second.output_tokens])
    assert ("claude-haiku-5-5", None, 1) == (first.model, first.dollars, first.requests)
    assert first.written == second.read > 500
    assert first.input_tokens == second.input_tokens > 0 == second.written == first.read


def test_the_request_is_the_question_and_nothing_else(api: MessagesApi) -> None:
    """The system prompt for the cache, the schema, no tools, no stream."""
    script(api, ANSWER)
    ask()
    (request,) = api.requests

    assert {
        "model": "claude-haiku-5-5",
        "max_tokens": 500,
        "system": [{"type": "text", "text": SYSTEM, "cache_control": {"type": "ephemeral"}}],
        "messages": [{"role": "user", "content": f"Digest ?this: {SECRET}"}],
        "output_config": {"format": {"type": "json_schema", "schema": SCHEMA}},
        "thinking": {"type": "disabled"},
    } == request.body
    assert [KEY, None, "2023-06-01"] == [request.headers.get(name) for name in ("x-api-key", "authorization", "anthropic-version")]


@pytest.mark.parametrize(
    ("model", "thinking"),
    [("sonnet", {"type": "between_tools"}), ("claude-sonnet-5", {"type": "disabled"}), ("claude-haiku-4-5-20251001", None), ("opus", None)],
)
def test_a_model_is_kept_from_thinking_where_it_can_be(api: MessagesApi, model: str, thinking: object) -> None:
    """In the words that each takes."""
    script(api, ANSWER)
    ask(model)

    assert thinking == api.requests[0].body.get("thinking")


def test_a_token_serves_in_the_place_of_a_key(api: MessagesApi, monkeypatch: pytest.MonkeyPatch) -> None:
    """As gateways want it."""
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "t-1")
    script(api, ANSWER)
    ask()

    assert [None, "Bearer t-1"] == [api.requests[0].headers.get(name) for name in ("x-api-key", "authorization")]


def test_without_a_key_nothing_is_asked(api: MessagesApi, monkeypatch: pytest.MonkeyPatch) -> None:
    """The way out is told before, and then."""
    assert "" == runners.available("api", settings.load())
    monkeypatch.setenv("ANTHROPIC_API_KEY", " ")

    assert ("away", runners.available("api", settings.load())) == (failed().kind, str(failed()))
    assert ("ANTHROPIC_API_KEY" in str(failed()), []) == (True, api.requests)


def test_it_does_not_go_through_our_own_proxy(api: MessagesApi, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even where it is all that the environment names."""
    with RawUpstream(whole(b"{}")) as proxy:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", f"http://127.0.0.1:{proxy.port}")
        monkeypatch.setenv("TENON_PROXY_PORT", str(proxy.port))
        monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")  # nothing leaves the machine
        error = failed()

        assert ("away", []) == (error.kind, proxy.visits)


@pytest.mark.parametrize(
    ("message", "name"),
    [
        ("output_config: Extra inputs are not permitted", "output_config"), ("output_config.format.schema: this keyword is not supported", "output_config"),
        ('"thinking.type.disabled" is not supported for this model.', "thinking"),
    ],
)  # fmt: skip
def test_what_a_model_does_not_take_is_left_out_once(api: MessagesApi, message: str, name: str) -> None:
    """The second request has neither."""
    script(api, replies.error(message), ANSWER)
    answer = ask()

    assert (ANSWER, 2) == (answer.text, answer.requests)
    assert [True, False] == [name in request.body for request in api.requests]

    script(api, replies.error(message), replies.error(message), ANSWER)
    assert ("wrong", 4) == (failed().kind, len(api.requests))


@pytest.mark.parametrize(
    ("said", "kind", "tells"),
    [
        (replies.error(BUSY, 401), "away", "does not take the key (401 authentication_error)"), (replies.error(BUSY, 403), "away", "(403 permission_error)"),
        (replies.error("prompt is too long: 213462 tokens > 200000 maximum"), "long", "longer than the model's window (400 invalid_request_error)"), (replies.error(BUSY, 413), "long", "(413 request_too_large)"),
        (replies.error("input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000"), "long", "window"), (replies.error("input is too long for requested model"), "long", "window"),
        (replies.error(BUSY, 429, headers={"retry-after": "3600"}), "limited", "(429 rate_limit_error)"), (replies.overloaded(), "limited", "(529 overloaded_error)"),
        (replies.error("Your credit balance is too low to access the Anthropic API."), "limited", "(400 invalid_request_error)"), (replies.error(BUSY, 404), "wrong", "does not know the model claude-haiku-5-5 (404"),
        (replies.error(BUSY), "wrong", "refused the request (400 invalid_request_error)"), (replies.error(BUSY, 500), "wrong", "(500 api_error)"), (replies.error(BUSY, 400, type=f"odd {SECRET}"), "wrong", "refused the request (400)"),
    ],
)  # fmt: skip
def test_a_refusal_is_told_by_its_status_and_name_alone(api: MessagesApi, said: replies.Reply, kind: str, tells: str) -> None:
    """It is not tried again, and nothing was charged."""
    script(api, said, ANSWER)
    error = failed()

    assert (kind, True, 1) == (error.kind, tells in str(error), len(api.requests)), str(error)
    assert (0 if (api.requests[0].status or 0) < 500 else None) == (error.answer.tokens if error.answer else None)


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        (replies.reply(replies.text('{"operations": [{"te'), stop="max_tokens", out=500), "refused"), (replies.reply(replies.text(f"I cannot: {SECRET}"), stop="refusal", out=500), "refused"),
        (replies.reply(stop="refusal", out=500), "refused"), (replies.reply(replies.text(ANSWER), stop="pause_turn", out=500), "wrong"), (replies.reply(out=500), "wrong"),
    ],
)  # fmt: skip
def test_an_answer_that_did_not_end_by_itself_is_none(api: MessagesApi, said: replies.Reply, kind: str) -> None:
    """It is charged all the same."""
    script(api, said)
    error = failed()

    assert (kind, 500) == (error.kind, error.answer and error.answer.output_tokens)
    assert error.answer is not None
    assert error.answer.tokens > 1000


def test_thoughts_are_no_part_of_the_answer(api: MessagesApi) -> None:
    """Of a model that cannot be kept from them."""
    script(api, replies.reply(replies.thinking("let me see"), replies.text(ANSWER)))

    assert ANSWER == ask("opus").text


def test_an_answer_that_does_not_come_is_not_waited_for(api: MessagesApi) -> None:
    """The API sees that nobody waits any more."""
    script(api, replies.reply(replies.text(ANSWER), ttft=60))
    error = failed(timeout_s=0.3)

    assert ("late", None, "there was no answer within 0.3 s") == (error.kind, error.answer, str(error))
    assert api.wait_for(lambda api: api.requests[0].disconnected_at)


@pytest.mark.parametrize(
    ("data", "tells"),
    [
        (whole(b"<html>Sign in</html>"), "no message"), (whole(b"[1]"), "no message"), (whole(b'{"type":"message","content":5}'), "no message"), (whole(b"[" * 100_000), "no message"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{", "no whole answer"), (b"220 mail.example\r\n", "no whole answer"), (whole(b" " * 9_000_000), "no whole answer"),
        (b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:9/\r\nContent-Length: 0\r\n\r\n", "refused the request (302)"),
    ],
)  # fmt: skip
def test_what_is_no_answer_of_the_api_is_wrong(monkeypatch: pytest.MonkeyPatch, data: bytes, tells: str) -> None:
    """A page, half of an answer, another protocol, too much, a way elsewhere that nobody goes with the key."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)

    def answer(visit: Visit) -> None:
        visit.send(data)
        visit.close()

    with RawUpstream(answer) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        error = failed()

    assert ("wrong", None, True) == (error.kind, error.answer, tells in str(error)), str(error)


def test_a_key_that_cannot_be_sent_is_not_told(api: MessagesApi, monkeypatch: pytest.MonkeyPatch) -> None:
    """The library's own words for it would be the key."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY + "\nX-Other: 1")

    assert ("wrong", []) == (failed().kind, api.requests)


def test_where_nobody_answers_it_is_away(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the reason."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")
    error = failed()

    assert ("away", True) == (error.kind, "127.0.0.1:9 does not answer" in str(error))


def test_every_alias_is_a_model_that_the_api_has(api: MessagesApi) -> None:
    """And of each it is known how it is kept from thinking, or that it cannot be."""
    assert set(runners.ALIASES.values()) <= set(api.models)
    assert set(runners.ALIASES.values()) <= {name for name, _ in runner_api.WITHOUT_THINKING}


def test_the_request_is_plain_ascii(api: MessagesApi) -> None:
    """So that no gateway in between takes it for another encoding."""
    script(api, ANSWER)
    runners.ask("api", "haiku", Question("é 日本", "ü 😀", SCHEMA, 9), settings.load(), timeout_s=30)
    raw: Any = api.requests[0].raw

    assert raw.isascii()
    assert "ü 😀" == json.loads(raw)["messages"][0]["content"]
