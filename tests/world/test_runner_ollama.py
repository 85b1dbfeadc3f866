"""A chat model of Ollama's asked: under which conditions, in which window, and what becomes of each answer."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tenon.base import paths, settings
from tenon.world import peer, runners
from tenon.world.runners import Answer, Failed, Question
from tests.fakes.ollama import Ollama

MODEL = "qwen3:4b"
SECRET = "the heron sleeps at noon"
SCHEMA: dict[str, object] = {"type": "object", "properties": {"operations": {"type": "array"}}}
ANSWER = '{"operations": []}'


@pytest.fixture
def ollama(monkeypatch: pytest.MonkeyPatch) -> Iterator[Ollama]:
    """A stand-in that has the model, and may be asked."""
    if not peer.is_known():
        pytest.skip("where the owner of a port cannot be told, nothing is sent there")
    monkeypatch.delenv("TENON_EMBED_OLLAMA")
    with Ollama() as running:
        monkeypatch.setenv("TENON_EMBED_URL", running.url)
        running.chat_only.add(MODEL)
        running.windows[MODEL] = 40_960
        running.says = ANSWER
        yield running


def agree(**chosen: object) -> None:
    """Writes Tenon's settings."""
    Path(paths.home()).mkdir(parents=True, exist_ok=True)
    Path(paths.settings_path()).write_text(json.dumps(chosen), encoding="utf-8")


def ask(prompt: str = SECRET, most: int = 500, timeout_s: float = 30, model: str = MODEL) -> Answer:
    """The answer to a question."""
    return runners.ask("ollama", model, Question("You digest.", prompt, SCHEMA, most), settings.load(), timeout_s=timeout_s)


def failed(prompt: str = SECRET, most: int = 500, timeout_s: float = 30, model: str = MODEL) -> Failed:
    """How the question fails; never with a word of it."""
    with pytest.raises(Failed) as caught:
        ask(prompt, most, timeout_s, model)
    assert SECRET not in str(caught.value)
    return caught.value


def chats(ollama: Ollama) -> list[dict[str, Any]]:
    """The questions that were asked."""
    return [body for _, path, body in ollama.requests if path == "/api/chat"]


def test_an_answer_comes_back_with_what_it_took_for_nothing(ollama: Ollama) -> None:
    """Tokens as Ollama counts them."""
    answer = ask()

    assert (ANSWER, MODEL, 7, 2, 0.0, 1) == (answer.text, answer.model, answer.input_tokens, answer.output_tokens, answer.dollars, answer.requests)
    assert (0, 0) == (answer.written, answer.read)


def test_the_request_is_the_question_in_a_window_that_holds_it(ollama: Ollama) -> None:
    """Not streamed, not thought about, always the same for the same, and never cut in silence."""
    ask()

    assert [
        {
            "model": MODEL, "messages": [{"role": "system", "content": "You digest."}, {"role": "user", "content": SECRET}], "format": SCHEMA, "stream": False, "think": False,
            "truncate": False, "shift": False, "options": {"num_ctx": 2048, "num_predict": 500, "temperature": 0},
        }
    ] == chats(ollama)  # fmt: skip


@pytest.mark.parametrize(("chars", "window"), [(4000, 2048), (8000, 4096), (60_000, 20_480), (90_000, 30_720), (97_000, 32_768)])
def test_the_window_grows_in_steps_with_the_question(ollama: Ollama, chars: int, window: int) -> None:
    """A model is loaded anew for each other one."""
    ask("x" * chars)

    assert [window] == [body["options"]["num_ctx"] for body in chats(ollama)]


@pytest.mark.parametrize(("own", "expected"), [(40_960, 32_768), (4096, 4096), (None, 8192)])
def test_a_window_is_as_large_as_the_model_has_it_up_to_a_limit(ollama: Ollama, own: int | None, expected: int) -> None:
    """A small one where Ollama says nothing."""
    ollama.windows = {MODEL: own} if own else {}

    assert expected == runners.window("ollama", MODEL, settings.load()) == runners.window("ollama", MODEL)
    assert "long" == failed("x" * 4 * expected).kind
    assert [] == chats(ollama)


def test_a_question_that_was_cut_after_all_has_no_answer(ollama: Ollama) -> None:
    """An estimate can be too low; a new Ollama says so, an old one cuts, and its count tells."""
    prompt = "a " * 5000
    error = failed(prompt)
    assert ("long", None) == (error.kind, error.answer)

    ollama.old = True
    error = failed(prompt)
    assert ("long", 4096) == (error.kind, error.answer and error.answer.input_tokens)


def test_an_answer_that_did_not_end_by_itself_is_none(ollama: Ollama) -> None:
    """Its tokens are counted."""
    ollama.says = "one two three four"
    error = failed(most=3)
    assert ("refused", 3) == (error.kind, error.answer and error.answer.output_tokens)

    ollama.stop = "load"
    assert "wrong" == failed().kind
    ollama.stop, ollama.says = "stop", " \n"
    assert "wrong" == failed().kind


@pytest.mark.parametrize(
    ("fault", "kind"),
    [("500", "wrong"), ("html", "wrong"), ("half", "wrong"), ("list", "wrong"), ("none", "wrong"), ("error", "wrong"), ("cut", "wrong"), ("no http", "wrong"), ("redirect", "wrong"), ("large, said", "wrong"), ("gone", "away")],
)  # fmt: skip
def test_what_is_no_answer_is_a_failure(ollama: Ollama, fault: str, kind: str) -> None:
    """Ollama's own words for it are not told."""
    ollama.faults = ["", fault]
    ollama.fault = fault
    error = failed()

    assert (kind, None) == (error.kind, error.answer)
    assert not {word for word in ("runner", "out of memory", "<html>") if word in str(error)}


def test_an_answer_that_does_not_come_is_not_waited_for(ollama: Ollama) -> None:
    """Neither the particulars of the model nor the answer."""
    ollama.faults = ["hang"]
    assert "late" == failed(timeout_s=0.2).kind

    ollama.requests.clear()
    ollama.faults = ["", "hang"]
    error = failed(timeout_s=0.2)
    assert ("late", "there was no answer within 0.2 s", 1) == (error.kind, str(error), len(chats(ollama)))


def test_a_model_that_is_not_there_is_away(ollama: Ollama) -> None:
    """With what brings it; nothing is pulled."""
    assert "" == runners.available("ollama", settings.load())
    error = failed(model="no-such:1b")
    ollama.chat_only.clear()

    assert ("away", "`ollama pull no-such:1b` brings it" in str(error)) == (error.kind, True)
    assert f"`ollama pull {MODEL}` brings it" in runners.available("ollama", settings.load())
    assert {"/api/show"} == {path for _, path, _ in ollama.requests}


def test_a_model_that_does_not_talk_is_known_before(ollama: Ollama) -> None:
    """One for embeddings, say."""
    agree(**{"digest.ollama_model": "qwen3-embedding:0.6b"})

    assert "tenon config digest.ollama_model" in runners.available("ollama", settings.load())


@pytest.mark.parametrize(
    ("chosen", "env", "tells"),
    [
        ({"embed.ollama": "off"}, {}, "`tenon config embed.ollama auto`"), ({}, {"TENON_EMBED_OLLAMA": "off"}, "`tenon config embed.ollama auto`"),
        ({"embed.url": "http://ollama.example:11434"}, {}, "`tenon config embed.ollama on`"), ({"archive.enabled": "perhaps"}, {}, "`tenon doctor`"),
    ],
)  # fmt: skip
def test_where_ollama_may_not_be_asked_nothing_is_sent(
    ollama: Ollama, monkeypatch: pytest.MonkeyPatch, chosen: dict[str, object], env: dict[str, str], tells: str
) -> None:
    """The same conditions as for embeddings, each with its way out."""
    if "embed.url" in chosen:
        monkeypatch.delenv("TENON_EMBED_URL")
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    agree(**chosen)
    error = failed()

    assert ("away", True, 8192) == (error.kind, tells in str(error), runners.window("ollama", MODEL))
    assert (str(error), []) == (runners.available("ollama", settings.load()), ollama.requests)


def test_another_users_program_gets_no_word(ollama: Ollama, monkeypatch: pytest.MonkeyPatch) -> None:
    """Unless settings.json says that its address is to be asked."""
    monkeypatch.setattr(peer, "is_trusted", lambda connection, name: False)
    assert "away" == failed().kind
    assert [] == ollama.requests

    looks = iter([True, False])
    monkeypatch.setattr(peer, "is_trusted", lambda connection, name: next(looks))
    assert "away" == failed().kind
    assert [] == chats(ollama)

    monkeypatch.delenv("TENON_EMBED_URL")
    agree(**{"embed.ollama": "on", "embed.url": ollama.url})
    assert ANSWER == ask().text


@pytest.mark.parametrize("name", ["qwen3-coder:480b-cloud", "gpt-oss:cloud", MODEL])
def test_a_model_that_runs_elsewhere_is_asked_only_where_the_user_says_so(ollama: Ollama, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Ollama itself sends the texts of some on to another machine; by its name one is known, or by what is said of it."""
    ollama.chat_only.add(name)
    if name == MODEL:
        ollama.remote[name] = "https://ollama.com:443"
    error = failed(model=name)
    assert ("away", True, []) == (error.kind, "another machine" in str(error), chats(ollama))

    monkeypatch.delenv("TENON_EMBED_URL")
    agree(**{"embed.ollama": "on", "embed.url": ollama.url, "digest.ollama_model": name})
    assert "" == runners.available("ollama", settings.load())
    assert ANSWER == ask(model=name).text


def test_what_goes_to_another_machine_is_without_secrets(ollama: Ollama, monkeypatch: pytest.MonkeyPatch) -> None:
    """Here nothing is taken out."""
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    ask(f"use {secret} for it")
    monkeypatch.setattr("tenon.world.ollama.is_local", lambda url: False)
    monkeypatch.delenv("TENON_EMBED_URL")
    agree(**{"embed.ollama": "on", "embed.url": ollama.url})
    ask(f"use {secret} for it")

    assert [True, False] == [secret in body["messages"][1]["content"] for body in chats(ollama)]


def test_without_a_name_the_model_of_the_settings_is_asked(ollama: Ollama) -> None:
    """As each runner has one of its own."""
    assert (MODEL, MODEL) == (ask(model="").model, chats(ollama)[0]["model"])
