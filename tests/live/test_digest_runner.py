"""The real Claude Code asked by Tenon itself: one request with the question in it, past proxy, hooks and transcripts, and nothing left of it."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tenon.base import settings
from tenon.world import runners
from tenon.world.runners import Answer, Failed, Question
from tests.fakes import replies
from tests.fakes.door import RecordedRequest
from tests.live.test_proxy_switch import Proxied
from tests.live.user import User, told, until

pytestmark = pytest.mark.live

SYSTEM = 'You digest. Answer in JSON alone: {"operations": []}, 100 % "valid".\n— é 日本'
ANSWER = '{"operations": [{"op": "remember", "text": "é 日本"}]}'
SESSION = {"CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": "a-session", "CLAUDE_CODE_ENTRYPOINT": "cli", "CLAUDE_CODE_CHILD_SESSION": "1", "TENON_AGENT": "other"}
FRAME_BYTES = 2000  # that Claude Code puts around a question


@pytest.fixture
def asker(user: User, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> User:
    """A user with Tenon installed and a file of notes, in whose session's environment this process is; temporary folders can be looked at."""
    (user.claude.home / ".claude" / "CLAUDE.md").write_text("Always say pelican.", encoding="utf-8")
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    monkeypatch.delenv("TENON_HOME")
    monkeypatch.delenv("CLAUDE_CONFIG_DIR")
    live_as(user, monkeypatch)
    return user


@pytest.fixture
def proxied(asker: User, monkeypatch: pytest.MonkeyPatch) -> Iterator[User]:
    """The same with the proxy on: its address is in the user's settings and, as in a session, in the environment."""
    on = Proxied(asker)
    on.tenon("proxy", "on", "--yes")
    live_as(asker, monkeypatch)
    monkeypatch.delenv("TENON_UPSTREAM")  # which no session has
    monkeypatch.setenv("ANTHROPIC_BASE_URL", on.url)
    yield asker
    on.tenon("proxy", "off")
    on.tenon("stop")


def live_as(user: User, monkeypatch: pytest.MonkeyPatch) -> None:
    """Gives this process the environment of a session of the user's."""
    for name, value in {**user.claude.env, **SESSION, "TENON_CLAUDE": str(user.claude.binary)}.items():
        monkeypatch.setenv(name, value)


def script(user: User, *said: replies.Scripted) -> None:
    """What the API answers from now on."""
    user.api.script = list(said)


def ask(prompt: str = "Digest this.", *, model: str = "haiku", most: int = 4000, timeout_s: float = 60) -> Answer:
    """The answer to a question."""
    return runners.ask("claude", model, Question(SYSTEM, prompt, {"type": "object"}, most), settings.load(), timeout_s=timeout_s)


def failed(**more: Any) -> Failed:
    """How a question fails."""
    with pytest.raises(Failed) as caught:
        ask(**more)
    return caught.value


def settle(user: User, **more: object) -> None:
    """Adds to the user's settings of Claude Code."""
    path = user.claude.home / ".claude" / "settings.json"
    path.write_text(json.dumps({**json.loads(path.read_text(encoding="utf-8")), **more}), encoding="utf-8")


def posts(user: User) -> list[RecordedRequest]:
    """The requests for an answer."""
    return [request for request in user.api.requests if request.method == "POST"]


def leaves_nothing_of_it(user: User) -> None:
    """No transcript, no run of a hook, nothing in the archive, no folder, no process."""
    assert [] == [path for path in (user.claude.home / ".claude" / "projects").rglob("*") if path.is_file()]
    assert not user.store.exists() or [0] == user.rows("SELECT count(*) FROM turn")
    assert not (user.memory / "faults.log").exists()
    assert [] == os.listdir(str(tempfile.tempdir))
    listed = subprocess.run(["ps", "-axww", "-o", "args="], capture_output=True, check=True).stdout.decode("utf-8", "replace")
    assert [] == [line for line in listed.splitlines() if str(tempfile.tempdir) in line]


@pytest.mark.parametrize("model", ["haiku", "sonnet"])
def test_a_question_is_one_request_without_tools(asker: User, model: str) -> None:
    """The system prompt is a text of its own, the prompt is whole, and what Claude Code adds is little."""
    script(asker, replies.reply(replies.text(ANSWER), out=21))
    prompt = "Digest this: é 日本 «so»\n" + "and on, and so on. " * 4000
    answer = ask(prompt, model=model)
    (request,) = posts(asker)

    assert (200, [], 4000) == (request.status, request.body.get("tools") or [], request.body["max_tokens"])
    assert SYSTEM == request.body["system"][-1]["text"]
    assert prompt in told(request)
    assert len(request.raw) - len(json.dumps(SYSTEM + prompt, ensure_ascii=False).encode()) < FRAME_BYTES
    assert not {word for word in ("pelican", "tenon-memory", "mcp__", "StructuredOutput") if word in request.raw.decode()}
    assert ANSWER == answer.text
    assert (request.body["model"], 21, 1) == (answer.model, answer.output_tokens, answer.requests)
    usage = request.usage or {}
    assert [answer.input_tokens, answer.written, answer.read] == [
        usage[name] for name in ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    ]
    assert answer.dollars is not None
    assert 0 < answer.dollars < 1
    leaves_nothing_of_it(asker)


def test_what_the_prompt_names_stays_a_name(asker: User) -> None:
    """A command at its beginning is none, a file in it is not sent along."""
    secret = asker.claude.home.parent / "secret.txt"
    secret.write_text("the heron sleeps at noon", encoding="utf-8")
    script(asker, ANSWER)
    ask(f"/compact and read @{secret} please")
    (request,) = posts(asker)

    assert f"/compact and read @{secret} please" in told(request)
    assert "heron" not in request.raw.decode()
    leaves_nothing_of_it(asker)


def test_with_the_proxy_on_it_goes_past_it(proxied: User) -> None:
    """It arrives at the API, without what the proxy would put in front; the archive gains nothing."""
    script(proxied, ANSWER, ANSWER)

    assert [ANSWER, ANSWER] == [ask().text, ask().text]
    assert [200, 200] == [request.status for request in posts(proxied)]
    log = proxied.memory / "proxy.log"
    assert not log.exists() or " POST /v1/messages " not in log.read_text(encoding="utf-8")
    leaves_nothing_of_it(proxied)


def test_the_settings_that_are_left_out_lend_it_the_users_login(asker: User, monkeypatch: pytest.MonkeyPatch) -> None:
    """A command that fetches a key, and variables; what they say of hooks and models does not hold."""
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    noise = asker.claude.home.parent / "noise"
    hook = {"hooks": [{"type": "command", "command": f"touch '{noise}'"}]}
    settle(
        asker,
        apiKeyHelper="echo sk-ant-of-the-helper",
        model="opus",
        hooks={"SessionStart": [hook], "Stop": [hook]},
        env={"ANTHROPIC_CUSTOM_HEADERS": "X-Team: herons"},
    )
    script(asker, ANSWER)
    ask()
    (request,) = posts(asker)

    assert ("sk-ant-of-the-helper", "herons") == (request.headers["x-api-key"], request.headers["X-Team"])
    assert (True, False) == ("haiku" in request.body["model"], noise.exists())


@pytest.mark.parametrize(("stop", "kind"), [("max_tokens", "refused"), ("refusal", "refused")])
def test_an_answer_that_was_cut_off_is_none_and_is_not_asked_for_again(asker: User, stop: str, kind: str) -> None:
    """Claude Code by itself would ask three times more; what it had sent by the time that it was ended is counted."""
    script(asker, *[replies.reply(replies.text('{"operations": [{"te'), stop=stop, out=400)] * 5)
    error = failed(most=400)

    assert (kind, True) == (error.kind, len(posts(asker)) <= 2)
    assert error.answer is not None
    assert (400, True) == (error.answer.output_tokens, error.answer.input_tokens > 0)
    leaves_nothing_of_it(asker)


def test_an_answer_of_no_words_is_none(asker: User) -> None:
    """Nor is it asked for over and over."""
    script(asker, *[replies.reply(out=1)] * 5)

    assert ("wrong", True) == (failed().kind, len(posts(asker)) <= 2)


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        (replies.error("prompt is too long: 213462 tokens > 200000 maximum"), "long"),
        (replies.error("the heron sleeps", 429, headers={"retry-after": "3600"}), "limited"),
        (replies.overloaded(), "limited"),
        (replies.error("invalid x-api-key", 401), "away"),
        (replies.error("the heron sleeps", 500), "wrong"),
        (replies.error("Your credit balance is too low to access the Anthropic API."), "limited"),
        (replies.reply(replies.text(ANSWER * 40), error_after=5), "limited"),
        (replies.reply(replies.text(ANSWER * 40), cut=5), "wrong"),
    ],
)
def test_a_refusal_is_told_at_once_and_by_its_kind(asker: User, said: replies.Reply, kind: str) -> None:
    """It is not tried again; of its words nothing is told."""
    script(asker, said, ANSWER, ANSWER)
    error = failed()

    assert (kind, 1, False) == (error.kind, len(posts(asker)), "heron" in str(error)), str(error)
    asker.api.requests.clear()  # the refusal was asked for


def test_without_a_login_it_is_away(asker: User, monkeypatch: pytest.MonkeyPatch) -> None:
    """And says what to do."""
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    error = failed()

    assert ("away", True, []) == (error.kind, "/login" in str(error), posts(asker))


def test_a_model_that_there_is_not_is_told(asker: User) -> None:
    """With what names another."""
    error = failed(model="claude-nope-1")

    assert ("wrong", True) == (error.kind, "tenon config digest.model" in str(error))
    asker.api.requests.clear()


def test_an_answer_that_does_not_come_is_not_waited_for(asker: User) -> None:
    """The child is ended, and the API sees it."""
    script(asker, replies.reply(replies.text(ANSWER), ttft=60))
    error = failed(timeout_s=4)

    assert ("late", None) == (error.kind, error.answer)
    assert until(lambda: all(request.disconnected_at for request in posts(asker)))
    leaves_nothing_of_it(asker)
