"""The common door to those who ask a model: names, windows, and nothing but Failed."""

from __future__ import annotations

import traceback

import pytest

from tenon.base import settings
from tenon.base.errors import TenonError
from tenon.world import asking, runner_api, runner_claude, runner_ollama, runners
from tenon.world.runners import Answer, Failed, Question

SECRET = "the-heron-sleeps-at-noon"
QUESTION = Question("You digest.", f"Digest this: {SECRET}", {"type": "object"}, 500)


def test_a_runner_that_there_is_not_is_refused_with_those_that_there_are() -> None:
    """By both doors."""
    with pytest.raises(Failed, match=r"'gpt'.* takes claude, api or ollama") as caught:
        runners.ask("gpt", "haiku", QUESTION, settings.load(), timeout_s=1)

    assert "away" == caught.value.kind
    assert str(caught.value) == runners.available("gpt", settings.load())


def test_a_model_goes_by_the_name_that_the_runner_knows() -> None:
    """Claude Code has words of its own for the newest ones, the API wants full names, Ollama any."""
    assert ["haiku", "claude-haiku-5-5", "haiku"] == [runners.full_model(runner, "haiku") for runner in runners.RUNNERS]
    assert ["sonnet", "claude-sonnet-5-5"] == [runners.full_model(runner, "sonnet") for runner in ("claude", "api")]
    assert ["claude-opus-4-8"] * 2 == [runners.full_model(runner, "claude-opus-4-8") for runner in ("claude", "api")]


def test_a_window_is_rather_too_small() -> None:
    """Of an Ollama that may not be asked a small one is taken for granted."""
    assert (200_000, 200_000, 8192) == (runners.window("claude", "haiku"), runners.window("api", "sonnet"), runners.window("ollama", "qwen3:4b"))


@pytest.mark.parametrize(("runner", "module"), [("claude", runner_claude), ("api", runner_api), ("ollama", runner_ollama)])
def test_whatever_goes_wrong_is_a_failure_that_quotes_nothing(runner: str, module: object, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not the error's own words, nor those of what it came from, also where the whole of it is printed."""

    def broken(*given: object) -> Answer:
        try:
            raise ValueError(SECRET)
        except ValueError as error:
            raise RuntimeError(f"cannot send {SECRET}") from error

    monkeypatch.setattr(module, "ask", broken)
    with pytest.raises(Failed) as caught:
        runners.ask(runner, "haiku", QUESTION, settings.load(), timeout_s=1)

    assert ("wrong", None, f"{runner} could not be asked (RuntimeError)") == (caught.value.kind, caught.value.answer, str(caught.value))
    assert "cannot send " + SECRET not in "".join(traceback.format_exception(type(caught.value), caught.value, None))


def test_what_the_user_can_put_right_is_told_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """A refusal of the settings is a failure with its own sentence."""

    def refused(*given: object) -> Answer:
        raise TenonError("'upstream' must be another one")

    monkeypatch.setattr(runner_claude, "ask", refused)
    monkeypatch.setattr(runner_claude, "missing", refused)
    with pytest.raises(Failed, match=r"^'upstream' must be another one$") as caught:
        runners.ask("claude", "haiku", QUESTION, settings.load(), timeout_s=1)

    assert "away" == caught.value.kind
    assert "'upstream' must be another one" == runners.available("claude", settings.load())


@pytest.mark.parametrize(
    ("status", "name", "kind"),
    [
        (401, "", "away"), (403, "", "away"), (400, "authentication_error", "away"), (413, "", "long"), (429, "", "limited"), (529, "", "limited"), (402, "", "limited"),
        (0, "overloaded_error", "limited"), (400, "invalid_request_error", ""), (500, "api_error", ""), (0, "None", ""),
    ],
)  # fmt: skip
def test_a_status_says_what_kind_of_failure_it_is(status: int, name: str, kind: str) -> None:
    """Or leaves it open."""
    assert kind == asking.by_status(status, name)


def test_of_an_error_of_the_api_only_what_can_quote_nothing_is_told() -> None:
    """A status, and a name that is one."""
    assert " (429 rate_limit_error)" == asking.status_and_name(429, "rate_limit_error")
    assert ["", "", " (400)"] == [asking.status_and_name(None, None), asking.status_and_name(True, SECRET), asking.status_and_name(400, f"error: {SECRET}")]


def test_numbers_of_tokens_that_are_none_are_not_counted() -> None:
    """Whatever a report has in their place."""
    answer = asking.charged({"input_tokens": 5, "output_tokens": "7", "cache_read_input_tokens": -1, "cache_creation_input_tokens": True}, "", "m")

    assert (5, 0, 0, 0, 5) == (answer.input_tokens, answer.output_tokens, answer.read, answer.written, answer.tokens)
    assert 0 == asking.charged(None, "", "m").tokens
