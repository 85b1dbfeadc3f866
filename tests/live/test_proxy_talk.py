"""The real Claude Code in a terminal through the real proxy: compacted, cleared, rewound, and nothing of it lost."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.door import RecordedRequest
from tests.fakes.replies import COMPACTION, is_title
from tests.fakes.terminal import Terminal, has_tmux
from tests.live.proxied import Proxied, Sent, canonical, common, connect, front, mains, past, said, thoughts
from tests.live.test_sessions import FACT
from tests.live.user import until

pytestmark = [pytest.mark.live, pytest.mark.skipif(not has_tmux(), reason="no tmux on this machine")]

SUMMARY = "the conversation so far"  # all that the client keeps of what it compacts
PELICANS = '[[CALL Bash {"command": "echo seven pelicans"}]]'
ENDED = re.compile("^✻ .* for ", re.M)  # what Claude Code says when it waits for the user again
NOWHERE = "http://127.0.0.1:9"


@pytest.fixture
def user(version: str, plugin: Path, template: Path, tmp_path: Path) -> Iterator[Proxied]:
    """A user who has installed Tenon, talks through the proxy and has told a fact in an earlier session."""
    for user in connect(version, plugin, template, tmp_path):
        user.says(FACT)
        yield user


class Talk:
    """A user at a terminal; use it as a context manager. `env` is laid over the environment.

    Without tool servers: 2.1.197 does not wait for them in a terminal, and thinking is bound to the tools that were there.
    """

    def __init__(self, user: Proxied, **env: str) -> None:
        self.user = user
        command = [str(user.claude.binary), "--model", user.model, "--strict-mcp-config", "--allowedTools", "Bash"]
        self.terminal = Terminal(command, user.claude.project, {**user.claude.env, **env})

    def __enter__(self) -> Talk:
        self.terminal.start()
        self.terminal.wait_for("❯")
        return self

    def __exit__(self, *error: object) -> None:
        self.terminal.close()

    def says(self, prompt: str, answer: str = "") -> RecordedRequest:
        """The last request that a prompt led to, once its answer is on the screen; the prompt must be a new one."""
        before = len(self.user.api.messages())
        self.terminal.enter(prompt)
        self.terminal.wait_for(answer or f"heard: {prompt}")
        return mains(self.user.api)[-1] if answer else next(r for r in self.user.api.messages()[before:] if prompt in r.prompt)

    def compacts(self) -> RecordedRequest:
        """The request for a summary; what is typed next waits until Claude Code is done with it."""
        before = len(self.user.api.messages())
        self.terminal.enter("/compact")
        return self.user.api.wait_for(lambda api: [r for r in api.messages()[before:] if r.status == 200 and r.prompt.startswith(COMPACTION)])[0]

    def empties(self, words: str) -> None:
        """Empties the input once the words stand in it."""
        assert until(lambda: words in self.terminal.left_over()), self.shown()
        assert until(self.is_empty), self.shown()

    def is_empty(self) -> bool:
        """Whether nothing stands in the input; takes out what does, which may come late."""
        if not self.terminal.left_over():
            return True
        self.terminal.keys("C-e", "C-u")
        return False

    def shown(self) -> str:
        """What stands on the screen now."""
        return self.terminal.tmux("capture-pane", "-p", "-t", "main")


def pair(user: Proxied, request: RecordedRequest) -> tuple[RecordedRequest, Sent]:
    """A request that arrived and what the client had sent for it."""
    session = str(request.headers["X-Claude-Code-Session-Id"])
    return request, user.client(session)[mains(user.api, session).index(request)]


def read(request: RecordedRequest) -> int:
    """How many tokens came from the prompt cache."""
    return int((request.usage or {})["cache_read_input_tokens"])


def follows(earlier: RecordedRequest, later: RecordedRequest, answer: str) -> bool:
    """Whether the later request begins with all of the earlier one, and then with the answer to it."""
    one, other = canonical(earlier.body["messages"]), canonical(later.body["messages"])
    then: list[dict[str, Any]] = [block for role, block in other[len(one) :] if role == "assistant"]
    return common(one, other) == len(one) and answer in json.dumps(then[:2])


def test_a_compaction_loses_nothing_twice(user: Proxied) -> None:
    """The request after it has the real messages behind the same bytes, not the summary, and all thinking; and so again."""
    with Talk(user) as talk:
        talk.says("good morning to you")
        last, answer = talk.says(PELICANS, "result: seven pelicans"), "result: seven pelicans"
        for number in range(2):
            compaction = talk.compacts()
            after = talk.says(f"{number} bridges, please")
            further = talk.says(f"{number} tunnels, please")

            # The instruction stands in a message of its own or in the last one.
            assert len(canonical(last.body["messages"])) <= common(canonical(last.body["messages"]), canonical(compaction.body["messages"]))
            assert follows(last, after, answer)
            assert follows(after, further, f"heard: {number} bridges, please")
            assert SUMMARY not in json.dumps([after.body["messages"], further.body["messages"]])
            assert read(after) > 0.9 * sum(map(int, (last.usage or {}).get("cache_creation", {}).values())) + 0.9 * read(last)
            assert thoughts(last) == thoughts(after)[: len(thoughts(last))]
            assert [len(thoughts(last)) + 1, len(thoughts(last)) + 2] == [len(thoughts(after)), len(thoughts(further))]
            last, answer = further, f"heard: {number} tunnels, please"

    assert FACT in said(last.body["messages"], "user")


def test_a_compaction_by_itself_loses_nothing(user: Proxied) -> None:
    """Claude Code compacts when its window is full; the model goes on with the real messages."""
    with Talk(user, CLAUDE_CODE_AUTO_COMPACT_WINDOW="100000", CLAUDE_AUTOCOMPACT_PCT_OVERRIDE="10") as talk:
        talk.says("good morning to you")
        before = talk.says("bridges, please")
        last = talk.says("tunnels, please")

    assert any(SUMMARY in sent.raw.decode() for sent in user.client())
    assert SUMMARY not in json.dumps(last.body["messages"])
    assert follows(before, last, "heard: bridges, please")
    assert (1, 2) == (len(thoughts(before)), len(thoughts(last)))


def test_a_secret_is_not_kept_over_a_compaction(user: Proxied) -> None:
    """It is in no file, and not in the request after the compaction, which is not refused although the words before it changed."""
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    with Talk(user) as talk:
        talk.says(f"keep {secret} in mind")
        talk.says("bridges, please")
        talk.compacts()
        last = talk.says("tunnels, please")

    assert "bridges, please" in said(last.body["messages"], "user")
    assert secret not in json.dumps(last.body["messages"])
    assert not user.holds(secret)


def test_a_cleared_conversation_is_in_front_of_the_next(user: Proxied) -> None:
    """A new session, that begins with the real messages of the one that was cleared."""
    with Talk(user) as talk:
        first = talk.says("good morning to you, my dear machine")
        talk.terminal.enter("/clear")
        assert until(lambda: "good morning to you" not in talk.shown())
        cleared = talk.says("a new day, a new conversation")
        words = said(past(*pair(user, cleared)), "user")

    assert first.headers["X-Claude-Code-Session-Id"] != cleared.headers["X-Claude-Code-Session-Id"]
    assert [FACT, "good morning to you, my dear machine"] == [text for text in words if not text.startswith("— session")]


def test_a_rewound_conversation_goes_on_from_there(user: Proxied) -> None:
    """What was said after that place is gone, what stood before it has the same bytes."""
    with Talk(user) as talk:
        first = talk.says("good morning to you, my dear machine")
        second = talk.says("let us talk about bridges")
        rewind(talk)
        assert until(lambda: "heard: let us talk about bridges" not in talk.shown())
        talk.empties("bridges")  # what was typed then is offered again
        rewound = talk.says("let us talk about tunnels instead")

    assert "bridges" not in json.dumps(rewound.body["messages"])
    assert follows(first, rewound, "heard: good morning")
    assert front(*pair(user, first)) == front(*pair(user, second)) == front(*pair(user, rewound))
    assert thoughts(second) == thoughts(rewound)


def rewind(talk: Talk, down: int = 0) -> None:
    """Goes back to before the last of two prompts, or takes a choice further down for it."""
    assert until(lambda: 2 == len(ENDED.findall(talk.shown())))
    talk.terminal.enter("/rewind")
    talk.terminal.wait_for("❯ (current)")
    talk.terminal.keys("Up")
    assert until(lambda: "❯ (current)" not in talk.shown())
    talk.terminal.keys("Enter")
    talk.terminal.wait_for("❯ 1. ")
    for choice in range(down):
        talk.terminal.keys("Down")
        talk.terminal.wait_for(f"❯ {choice + 2}. ")
    talk.terminal.keys("Enter")


@pytest.mark.parametrize("down", [1, 2])
def test_what_the_user_has_summarised_in_part_is_not_refused(user: Proxied, down: int) -> None:
    """From a message on, what the user gave up is given up; up to it, nothing is lost."""
    with Talk(user) as talk:
        talk.says("good morning to you")
        talk.says("bridges, please")
        rewind(talk, down)
        user.api.wait_for(lambda api: [request for request in mains(api) if COMPACTION in json.dumps(request.body["messages"][-1])])
        talk.empties("bridges" if 1 == down else "")
        last = talk.says("tunnels, please")

    words = said(last.body["messages"], "user")
    assert {FACT, "good morning to you", "tunnels, please"} <= set(words)
    assert (2 == down) == ("bridges, please" in words)


def test_a_title_is_asked_for_as_without_a_proxy(user: Proxied) -> None:
    """That request arrives byte for byte."""
    user.claude.env.pop("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC")
    with Talk(user, HTTPS_PROXY=NOWHERE, HTTP_PROXY=NOWHERE, NO_PROXY="127.0.0.1") as talk:
        talk.says("please help me design the database schema for orders")
        titles = user.api.wait_for(lambda api: [request for request in api.requests if request.status and is_title(request.body)])

    assert {request.raw for request in titles} <= {sent.raw for sent in user.tee.requests()}
    assert FACT not in json.dumps([request.body["messages"] for request in titles])


def test_counts_in_a_conversation_are_relayed_as_they_came(user: Proxied) -> None:
    """/context shows what the client holds, and the conversation goes on."""
    with Talk(user) as talk:
        first = talk.says("good morning to you, my dear machine")
        talk.terminal.enter("/context")
        talk.terminal.wait_for("Free space")
        second = talk.says("let us talk about bridges")
        counts = [request for request in user.api.requests if "count_tokens" in request.path]

    assert counts
    assert {request.raw for request in counts} <= {sent.raw for sent in user.tee.requests()}
    assert follows(first, second, "heard: good morning")
