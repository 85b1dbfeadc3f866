"""The real Claude Code in print mode through the real proxy: past sessions in front, nothing refused, nothing lost, nothing changed twice."""

from __future__ import annotations

import json
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.door import RecordedRequest
from tests.fakes.replies import Reply, Scripted, error, obey, prompt_of, results_of, text, thinking, tool_call
from tests.live.proxied import AGENT, SESSION, Proxied, connect, front, mains, marked, past, said, thoughts
from tests.live.test_sessions import FACT, QUESTION
from tests.live.user import ALLOWED, Session, told, until

pytestmark = pytest.mark.live

PELICANS = '[[CALL Bash {"command": "echo seven pelicans"}]]'
TURNS = 30
USAGE = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")


@pytest.fixture
def user(version: str, plugin: Path, template: Path, tmp_path: Path) -> Iterator[Proxied]:
    """A user who has installed Tenon and talks through the proxy."""
    yield from connect(version, plugin, template, tmp_path)


def elsewhere(user: Proxied) -> Path:
    """Another folder."""
    return user.claude.project.parent / "elsewhére"


def before(user: Proxied, session: Session, number: int = 0) -> list[dict[str, Any]]:
    """The messages in front of one of a session's requests."""
    return past(mains(user.api, session.id)[number], user.client(session.id)[number])


def test_a_session_in_another_folder_begins_with_what_was_said_before(user: Proxied) -> None:
    """The user's words, the call with its result, the answer, under a line that says when and where; then its own first message."""
    first = user.says(f"{FACT} {PELICANS}", *ALLOWED)
    second = user.says(QUESTION, folder=elsewhere(user))
    front = before(user, second)

    assert [] == before(user, first)
    (line, words), (answer,) = said(front, "user"), said(front, "assistant")
    assert line.startswith("— session of ")
    assert "a prøject" in line
    assert f"{FACT} {PELICANS}" == words
    assert "result: seven pelicans" == answer
    blocks = [block for message in front for block in message["content"] if isinstance(block, dict)]
    (call,) = (block for block in blocks if block["type"] == "tool_use")
    (result,) = (block for block in blocks if block["type"] == "tool_result")
    assert ("Bash", {"command": "echo seven pelicans"}, call["id"]) == (call["name"], call["input"], result["tool_use_id"])
    assert "seven pelicans" in json.dumps(result["content"])
    assert "thinking" not in {block["type"] for block in blocks}
    assert ["user", "assistant"] == [front[0]["role"], front[-1]["role"]]
    assert QUESTION in json.dumps(second.requests[0].body["messages"][len(front)])
    assert marked(second.requests[0].body) <= 4


def test_the_scope_can_be_the_repository(user: Proxied) -> None:
    """Then another folder's session begins with nothing, and the same folder's with what was said in it."""
    user.sets(proxy__scope="repository")
    user.says(FACT)
    other = user.says("good morning to you", folder=elsewhere(user))
    same = user.says(QUESTION)

    assert [] == before(user, other)
    assert FACT in said(before(user, same), "user")
    assert "good morning to you" not in told(same.requests[0])


def test_an_excluded_folder_is_neither_sent_nor_changed(user: Proxied) -> None:
    """Its sessions are relayed as they came, and what was said in it before it was excluded is in front of no other."""
    user.says(FACT)
    user.sets(archive__exclude=[str(user.claude.project)])
    excluded = user.says("and this stays here")
    other = user.says(QUESTION, folder=elsewhere(user))

    assert [sent.raw for sent in user.client(excluded.id)] == [request.raw for request in excluded.requests]
    assert [] == before(user, other)
    assert FACT not in told(other.requests[0])


def busy(turns: int) -> Callable[[RecordedRequest], Scripted]:
    """A model that thinks and calls a tool, that many times for one prompt, and then answers."""

    def answer(request: RecordedRequest) -> Scripted:
        prompt = next((words for words in reversed(said(request.body["messages"], "user")) if words.startswith("count ")), "")
        if not prompt:
            return obey(request)
        done = sum("goose " in json.dumps(message) for message in request.body["messages"] if message["role"] == "assistant")
        if done < turns:
            return [thinking(f"thought {done}"), tool_call("Bash", {"command": f"echo goose {done}"})]
        return [thinking("that is all"), text(f"heard: {prompt}")]

    return answer


def test_no_thinking_is_lost_over_many_turns_with_tools(user: Proxied) -> None:
    """On a model whose thinking is bound to what stands before it, behind past sessions."""
    user.says(FACT)
    user.api.script = busy(TURNS)
    session = user.says("count the geese", *ALLOWED)
    requests = mains(user.api, session.id)

    assert TURNS + 1 == len(requests)
    assert list(range(TURNS + 1)) == [len(thoughts(request)) for request in requests]
    assert 1 == len({front(request, sent) for request, sent in zip(requests, user.client(session.id))})
    assert FACT in said(before(user, session), "user")
    assert max(marked(request.body) for request in requests) <= 4
    assert all(request.usage["cache_read_input_tokens"] for request in requests[1:] if request.usage)


def test_sub_agents_are_relayed_as_they_came(user: Proxied) -> None:
    """Their requests arrive byte for byte, while the main conversation has the past in front."""
    user.says(FACT)
    agent = '[[CALL Agent {"description": "look", "prompt": "count the zebras", "subagent_type": "general-purpose", "run_in_background": false}]]'
    session = user.says(agent, *ALLOWED)
    theirs = [request for request in session.requests if request.headers[AGENT]]

    assert theirs
    assert {request.raw for request in theirs} <= {sent.raw for sent in user.tee.requests()}
    assert FACT not in json.dumps([request.body["messages"] for request in theirs])
    assert all(FACT in said(past(*pair), "user") for pair in zip(mains(user.api, session.id), user.client(session.id)))


def test_counts_are_relayed_as_they_came(user: Proxied) -> None:
    """What /context shows is what the client holds."""
    user.says(FACT)
    user.says("/context")
    counts = [request for request in user.api.requests if "count_tokens" in request.path]

    assert counts
    assert {request.raw for request in counts} <= {sent.raw for sent in user.tee.requests()}


@pytest.mark.parametrize("how", ["--resume", "--continue", "--fork-session"])
def test_a_session_that_goes_on_keeps_its_beginning_and_its_thinking(user: Proxied, how: str) -> None:
    """The same bytes in front, although other sessions have ended meanwhile; every thought is still there."""
    user.says(FACT)
    first = user.says(f"quack {PELICANS}", *ALLOWED)
    user.says("let us talk about bridges", folder=elsewhere(user))
    more = {"--resume": ("--resume", first.id), "--continue": ("--continue",), "--fork-session": ("--resume", first.id, "--fork-session")}[how]
    second = user.says("and one more thing", *more)

    assert (first.id == second.id) == (how != "--fork-session")
    start = front(mains(user.api, first.id)[0], user.client(first.id)[0])
    assert FACT.encode() in start
    assert start == front(mains(user.api, second.id)[-1], user.client(second.id)[-1])
    assert 2 == len(thoughts(second.requests[-1]))
    assert thoughts(first.requests[-1]) == thoughts(second.requests[-1])[:1]


class Gate:
    """What a tool waits for while a test does something."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def order(self, name: str) -> str:
        """The order, in a prompt, to say that one is there and to wait until the gate is open."""
        command = f"touch '{self.folder}/{name} waits'; until [ -e '{self.folder}/open' ]; do sleep 0.05; done; echo the gate is open"
        return f"[[CALL Bash {json.dumps({'command': command})}]]"

    def reached(self, *names: str) -> bool:
        """Whether all of these wait in time."""
        return until(lambda: all((self.folder / f"{name} waits").exists() for name in names), timeout_s=30)

    def opens(self) -> None:
        """Lets them go on."""
        (self.folder / "open").touch()


def test_a_killed_proxy_goes_on_with_the_same_bytes(user: Proxied, tmp_path: Path) -> None:
    """In the middle of a prompt's tools, and between two prompts."""
    user.says(FACT)
    gate = Gate(tmp_path)
    seen: list[Session] = []
    talking = threading.Thread(target=lambda: seen.append(user.says(gate.order("one"), *ALLOWED)))
    talking.start()
    assert gate.reached("one")
    user.proxy.end(signal.SIGKILL)
    user.proxy.start()
    gate.opens()
    talking.join()
    user.proxy.end(signal.SIGKILL)
    user.proxy.start()
    last = user.says("and then?", "--continue")

    requests, sent = mains(user.api, last.id), user.client(last.id)
    assert 3 == len(requests) == len(sent)
    assert "result: the gate is open" in seen[0].output
    assert [True] * 3 == [front(*pair) == front(requests[0], sent[0]) for pair in zip(requests, sent)]
    assert FACT in said(past(requests[0], sent[0]), "user")
    assert [0, 1, 2] == [len(thoughts(request)) for request in requests]


def test_a_refusal_of_what_was_rewritten_costs_the_user_nothing(user: Proxied) -> None:
    """The client's own request is sent instead, the session is left alone from then on, and the status says why."""

    def strict(request: RecordedRequest) -> Scripted:
        if any(FACT == words for words in said(request.body["messages"], "user")):
            return error("made up: no past sessions, please", 400)
        return obey(request)

    user.says(FACT)
    user.api.script = strict
    user.refusing = "made up"
    first = user.says("good morning to you")
    second = user.says("and good night", "--continue")

    assert ["heard: good morning to you", "heard: and good night"] == [session.output.strip() for session in (first, second)]
    assert [400, 200] == [request.status for request in first.requests]
    assert [200] == [request.status for request in second.requests]
    assert [sent.raw for sent in user.client(first.id)] == [first.requests[1].raw, second.requests[0].raw]
    (row,) = (row for row in user.proxy.status()["conversations"] if row["name"] == first.id)
    assert "bypassed" == row["state"]
    assert "made up: no past sessions, please" in row["reason"]


def test_a_turn_without_the_proxy_costs_no_answer(user: Proxied) -> None:
    """Thinking that was had behind the past is refused without it, and the other way round: each time the turn goes on without."""
    user.says(FACT)
    user.refusing = "bound to a different conversation"
    first = user.says("good morning to you")
    beside = user.says("bridges, please", "--continue", env={"ANTHROPIC_BASE_URL": user.api.url})
    third = user.says("tunnels, please", "--continue")
    fourth = user.says("and good night", "--continue")

    sessions = (first, beside, third, fourth)
    assert [f"heard: {words}" for words in ("good morning to you", "bridges, please", "tunnels, please", "and good night")] == [
        s.output.strip() for s in sessions
    ]
    assert 1 == len({session.id for session in sessions})
    assert [200] == [request.status for request in fourth.requests]


def test_two_sessions_at_once_do_not_see_each_other(user: Proxied, tmp_path: Path) -> None:
    """Both begin with what was there before, and each keeps to itself."""
    user.says(FACT)
    gate = Gate(tmp_path)
    threads = [threading.Thread(target=user.says, args=(gate.order(name), *ALLOWED)) for name in ("herons", "storks")]
    for thread in threads:
        thread.start()
    assert gate.reached("herons", "storks")
    gate.opens()
    for thread in threads:
        thread.join()

    names = {str(request.headers[SESSION]) for request in user.api.messages()[1:]}
    assert 2 == len(names)
    for name in names:
        (start,) = {front(*pair) for pair in zip(mains(user.api, name), user.client(name))}
        assert FACT.encode() in start
        assert 1 == sum(word in told(mains(user.api, name)[-1]) for word in ("herons", "storks"))


def test_another_agent_has_its_own_past(user: Proxied) -> None:
    """By its address: nothing of the first agent's is in front, and its own sessions are."""
    env = {"ANTHROPIC_BASE_URL": f"{user.tee.url}/agent/work", "TENON_AGENT": "work"}
    user.says(FACT)
    first = user.says("the invoices are due on Friday", env=env)
    second = user.says("when are the invoices due?", env=env)
    own = user.says(QUESTION)

    assert [] == before(user, first)
    assert ["the invoices are due on Friday"] == said(before(user, second), "user")[1:]
    assert FACT in said(before(user, own), "user")
    assert "invoices" not in told(own.requests[0])
    assert (user.memory / "agents" / "work" / "tenon.db").exists()


def test_auto_mode_is_checked_as_without_a_proxy(user: Proxied, version: str) -> None:
    """Its field arrives as it was sent, the verdicts come back, and the tool runs."""
    user.says(FACT)
    session = user.says(PELICANS, "--permission-mode", "auto")

    assert "result: seven pelicans" == session.output.strip()
    assert FACT in said(before(user, session), "user")
    asked = [request.body.get("safeguards") for request in mains(user.api, session.id)]
    assert [sent.body.get("safeguards") for sent in user.client(session.id)] == asked
    # Newer versions ask the API to check each call.
    checked = [bool(given) for given in asked]
    assert {"2.1.197": [False, False], "2.1.332": [True, True]}.get(version, checked) == checked
    assert any(checked) == (b"safeguard_results" in user.tee.answered())


def searching(request: RecordedRequest) -> Reply:
    """A model that looks for a deferred tool before it answers."""
    if "the weather" not in prompt_of(request.body) or results_of(request.body):
        return obey(request)
    return {"blocks": [thinking("which tool"), tool_call("ToolSearch", {"query": "select:WebFetch", "max_results": 1})]}


def test_deferred_tools_are_found_and_stay_found(user: Proxied) -> None:
    """The reference arrives as it was sent, the thinking after it holds, and in front of the next session it is no reference."""
    user.says(FACT)
    user.api.script = searching
    session = user.says("how is the weather?", env={"ENABLE_TOOL_SEARCH": "true"})
    again = user.says("and tomorrow?", "--continue", env={"ENABLE_TOOL_SEARCH": "true"})
    after = user.says("good morning to you")

    assert "tool_reference" in json.dumps(session.requests[-1].body["messages"])
    assert 2 == len(thoughts(again.requests[0]))
    assert "how is the weather?" in said(before(user, after), "user")
    assert '"type": "tool_reference"' not in json.dumps(before(user, after))


def test_what_is_forgotten_leaves_the_conversations_that_have_it_in_front(user: Proxied) -> None:
    """It is in no later request and in no file, and nothing is refused, although thinking was bound to it."""
    user.says(FACT)
    first = user.says(f"quack {PELICANS}", *ALLOWED)
    user.says("/memory-forget t1 t3 yes")
    user.anew = True
    second = user.says("and then?", "--resume", first.id)
    third = user.says("and after that?", "--resume", first.id)

    assert "zebra-42" in told(first.requests[0])
    assert ["heard: and then?", "heard: and after that?"] == [session.output.strip() for session in (second, third)]
    for request in (*second.requests, *third.requests):
        assert not [words for words in said(request.body["messages"], "user") if words == FACT]
    assert not user.holds("zebra-42")


def test_the_budget_holds(user: Proxied) -> None:
    """The oldest exchanges leave in few large steps, which is said, and no request is larger than allowed."""
    most = 60_000
    user.sets(proxy__max_context=most)
    user.anew = True
    user.says(FACT)
    order = """[[CALL Bash {"command": "seq -s ' goose ' 1 2200"}]]"""
    first = user.says(f"0 {order}", *ALLOWED)
    for number in range(1, 7):
        user.says(f"{number} {order}", "--resume", first.id, *ALLOWED)
    requests = mains(user.api, first.id)
    fronts = [request.body["messages"][0] for request in requests]
    sizes = [sum(int(request.usage[name]) for name in USAGE) for request in requests if request.usage]

    assert max(sizes) <= most
    assert "exchanges left out here to stay within the context budget" in json.dumps(fronts[-1])
    assert 1 < len({json.dumps(front) for front in fronts}) <= 4
    assert f"6 {order}" in said(requests[-1].body["messages"], "user")


def test_a_torn_answer_is_asked_for_again(user: Proxied) -> None:
    """Claude Code sees that it is torn, asks again, and the turn is archived once."""
    torn: list[str] = []

    def tearing(request: RecordedRequest) -> Scripted:
        if not torn:
            torn.append(request.prompt)
            return {"blocks": [text("this breaks off in the middle")], "cut": 3}
        return obey(request)

    user.says(FACT)
    user.api.script = tearing
    session = user.says("good morning to you")
    after = user.says("and good night")

    assert "heard: good morning to you" == session.output.strip()
    assert 2 <= len(session.requests)
    assert 1 == len([turn for turn in user.turns() if turn == "prompt: good morning to you"])
    assert "breaks off" not in told(after.requests[0])


def test_credentials_go_through_and_stay_nowhere(user: Proxied) -> None:
    """A token in place of a key, and a header of a company's own."""
    token = "made-up-token-of-the-test-suite-7391"
    env = {"ANTHROPIC_AUTH_TOKEN": token, "ANTHROPIC_CUSTOM_HEADERS": "X-Company: pelican 0815"}
    user.says(FACT, env=env)
    session = user.says(QUESTION, env=env)

    assert FACT in said(before(user, session), "user")
    assert {f"Bearer {token}"} == {request.headers["Authorization"] for request in session.requests}
    assert {"pelican 0815"} == {request.headers["X-Company"] for request in session.requests}
    assert [False, False] == [user.holds(word) for word in (token, "pelican 0815")]


@pytest.mark.parametrize("model", ["haiku", "claude-opus-4-8", "claude-sonnet-4-5"])
def test_other_models_take_it_too(user: Proxied, model: str) -> None:
    """Thinking in manual mode, or bound to nothing; no system entries; a small window."""
    user.model = model
    user.says(f"{FACT} {PELICANS}", *ALLOWED)
    first = user.says(f"quack {PELICANS}", *ALLOWED)
    second = user.says("and then?", "--continue")

    assert f"{FACT} {PELICANS}" in said(before(user, second), "user")
    assert [0, 1, 2] == [len(thoughts(request)) for request in (*first.requests, *second.requests)]


def test_a_background_agent_reports_to_its_conversation(user: Proxied) -> None:
    """What comes back later is part of the main conversation, which only grows."""
    user.says(FACT)
    session = user.says('[[CALL Agent {"description": "look", "prompt": "count the zebras", "subagent_type": "general-purpose"}]]', *ALLOWED)

    assert "heard: count the zebras" in told(mains(user.api, session.id)[-1])
    assert all(FACT in said(past(*pair), "user") for pair in zip(mains(user.api, session.id), user.client(session.id)))


def test_a_session_without_hooks_is_told_by_the_proxy(user: Proxied) -> None:
    """Where hooks are switched off: the past is in front, memory is put into the prompt once and stays there."""
    user.hooks = False
    hookless = ("--settings", '{"disableAllHooks": true}', "--strict-mcp-config")
    user.says(FACT)
    first = user.says(QUESTION, *hookless)
    second = user.says("and then?", "--continue", *hookless)

    assert FACT in said(first.requests[0].body["messages"], "user")
    told_once = [[words for words in said(session.requests[0].body["messages"], "user") if "<tenon-memory>" in words] for session in (first, second)]
    assert told_once[0]
    assert told_once[0] == told_once[1][: len(told_once[0])]
    assert "memory added" in user.proxy.log()
    assert 1 == len(thoughts(second.requests[0]))
