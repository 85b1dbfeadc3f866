"""The real Claude Code in a terminal: recall while one talks, memory after a compaction and after /clear, local commands."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.fakes.door import RecordedRequest
from tests.fakes.replies import Reply, obey
from tests.fakes.terminal import Terminal, has_tmux
from tests.live.test_sessions import FACT, QUESTION
from tests.live.user import User, blocks, until

pytestmark = [pytest.mark.live, pytest.mark.skipif(not has_tmux(), reason="no tmux on this machine")]


def plain(request: RecordedRequest) -> Reply:
    """Does as it is told without thinking aloud: after a compaction Claude Code sends thoughts that are bound to what is gone."""
    answer = obey(request)
    return {"blocks": [block for block in answer["blocks"] if block["type"] != "thinking"]}


class Talk:
    """A user at a terminal."""

    def __init__(self, user: User, terminal: Terminal) -> None:
        self.user = user
        self.terminal = terminal

    def says(self, prompt: str) -> RecordedRequest:
        """The request that a prompt led to, once its answer is on the screen."""
        before = len(self.user.api.messages())
        self.terminal.enter(prompt)
        self.terminal.wait_for(f"heard: {prompt[:30]}")
        return self.user.api.messages()[before]

    def orders(self, command: str, answer: str) -> str:
        """The screen after a slash command, once it shows the answer."""
        self.terminal.enter(command)  # completed to /tenon:… where nothing follows it
        return self.terminal.wait_for(answer)

    def ended(self) -> bool:
        """Whether Claude Code has gone."""
        return self.terminal.tmux("display-message", "-p", "-t", "main", "#{pane_dead}").strip() == "1"


@pytest.fixture
def talk(user: User) -> Iterator[Talk]:
    """A session in a terminal, after another one in which a fact was told."""
    user.api.script = plain
    user.says(FACT)
    with Terminal([str(user.claude.binary)], user.claude.project, user.claude.env) as terminal:
        terminal.wait_for("❯")
        yield Talk(user, terminal)


def test_a_conversation_is_recalled_compacted_cleared_and_left(talk: Talk) -> None:
    """Recall comes with the prompt it fits; the start block comes again after /compact and after /clear."""
    first = talk.says("good morning to you, my dear machine")
    assert [] == blocks(first, "UserPromptSubmit")
    assert f"Asked: {FACT}" in blocks(first, "SessionStart")[-1]
    assert FACT in blocks(talk.says(QUESTION), "UserPromptSubmit")[-1]

    talk.orders("/compact", "Compacted")
    compacted = talk.says("let us go on with the bridges")
    assert f"Asked: {FACT}" in blocks(compacted, "SessionStart")[-1]
    (summary,) = talk.user.rows("SELECT s.text FROM summary s JOIN session n ON n.id = s.session ORDER BY n.started DESC LIMIT 1")
    assert "Asked: good morning to you, my dear machine" in summary

    talk.terminal.enter("/clear")
    assert until(lambda: "let us go on with the bridges" not in talk.terminal.tmux("capture-pane", "-p", "-t", "main"))
    cleared = talk.says("a new day, a new conversation")
    assert "Asked: good morning to you, my dear machine" in blocks(cleared, "SessionStart")[-1]
    assert compacted.headers["X-Claude-Code-Session-Id"] != cleared.headers["X-Claude-Code-Session-Id"]

    talk.terminal.enter("/exit")
    assert until(talk.ended), talk.terminal.screen()
    said = [turn for turn in talk.user.turns() if turn.startswith("prompt")]
    assert [
        f"prompt: {words}"
        for words in (FACT, "good morning to you, my dear machine", QUESTION, "let us go on with the bridges", "a new day, a new conversation")
    ] == said


def test_local_commands_are_shown_and_ask_no_model(talk: Talk) -> None:
    """Status and forget are answered on the screen; recall goes to the model with its hits."""
    assert until(talk.user.processes)  # the tool server, as long as one talks
    before = len(talk.user.api.messages())
    talk.orders("/memory-status", "2 turns of 1 session")
    talk.orders("/memory-forget t1", "To do it: /memory-forget t1 yes")
    assert before == len(talk.user.api.messages())
    talk.terminal.enter("/memory-recall staging database")
    request = talk.user.api.wait_for(lambda api: api.messages()[before:])[0]
    assert FACT in blocks(request, "UserPromptExpansion")[0]
