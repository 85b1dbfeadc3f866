"""Other clients through the real proxy, here the official SDK: they have no hooks, so the proxy does the hooks' work."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.claude_code import API_KEY, environment
from tests.fakes.door import RecordedRequest
from tests.fakes.messages_api import MessagesApi
from tests.fakes.replies import obey, reply, text
from tests.live.proxied import MODEL, Proxy, Tee, canonical, common, marked, said, secrets, thoughts
from tests.live.test_sessions import FACT, QUESTION
from tests.live.user import ROOT, told, until

anthropic = pytest.importorskip("anthropic")
pytestmark = pytest.mark.live

LOOK = {
    "name": "look",
    "description": "Looks at something.",
    "input_schema": {"type": "object", "properties": {"what": {"type": "string"}}, "required": ["what"]},
}
MEMORY = "<tenon-memory>"


class Client:
    """A program with a list of messages that it sends with the SDK, whole or as a stream."""

    def __init__(self, api: MessagesApi, proxy: Proxy, tee: Tee, streaming: bool) -> None:
        self.api = api
        self.proxy = proxy
        self.tee = tee
        self.streaming = streaming
        self.sdk = anthropic.Anthropic(api_key=API_KEY, base_url=f"{tee.url}/agent/work", max_retries=0)
        self.messages: list[Any] = []
        self.tools = [LOOK]
        self.refusing = ""  # what the fake may have refused

    def begins(self) -> None:
        """A new conversation."""
        self.messages = []

    def says(self, content: Any) -> RecordedRequest:
        """What arrived for a prompt, or for tool results; the answer is added to the conversation as the SDK gave it."""
        self.messages.append({"role": "user", "content": content})
        given = {"model": MODEL, "max_tokens": 1000, "messages": self.messages, "tools": self.tools, "thinking": {"type": "adaptive"}}
        if self.streaming:
            with self.sdk.messages.stream(**given) as stream:
                answer = stream.get_final_message()
        else:
            answer = self.sdk.messages.create(**given)
        self.messages.append({"role": "assistant", "content": answer.content})
        return self.api.messages()[-1]

    @property
    def store(self) -> Path:
        """The store of the agent."""
        return self.proxy.memory / "agents" / "work" / "tenon.db"

    def kept(self, count: int) -> list[str]:
        """The turns in the archive, kind and content, once there are that many."""

        def rows() -> list[str]:
            with closing(sqlite3.connect(f"{self.store.as_uri()}?mode=ro", uri=True)) as con:
                found = con.execute("SELECT kind || ' ' || content FROM turn ORDER BY id").fetchall()
            return [str(row[0]) for row in found]

        assert until(lambda: len(rows()) >= count), rows()
        return rows()


@pytest.fixture(params=[True, False], ids=["streaming", "whole"])
def client(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Client]:
    """A program of the agent «work»; nothing it sends is refused, and every conversation only grows."""
    with MessagesApi(obey) as api:
        home = tmp_path / "a höme"
        home.mkdir()
        proxy = Proxy(ROOT, home, {name: value for name, value in environment(home, api.url).items() if not name.startswith("ANTHROPIC")}, api.url)
        tee = Tee(proxy.port)
        try:
            proxy.start()
            client = Client(api, proxy, tee, request.param)
            with client.sdk:
                yield client
            assert [] == [seen.error for seen in api.requests if seen.error and not (client.refusing and client.refusing in seen.error)]
            assert "fault of ours" not in proxy.log()
        finally:
            tee.close()
            proxy.end()
    assert [] == secrets(proxy.memory)


def grows(earlier: RecordedRequest, later: RecordedRequest) -> bool:
    """Whether the later request begins with all of the earlier one."""
    one, other = canonical(earlier.body["messages"]), canonical(later.body["messages"])
    return common(one, other) == len(one) and len(other) > len(one)


def test_a_second_conversation_begins_with_the_first(client: Client) -> None:
    """Its words and answers are in front under a line of their own, and no thinking."""
    first = client.says(FACT)
    client.kept(2)
    client.begins()
    second = client.says(QUESTION)

    assert [FACT] == [words for words in said(first.body["messages"], "user") if MEMORY not in words]
    words = said(second.body["messages"], "user")
    assert words[0].startswith("— session of ")
    assert [FACT, QUESTION] == [part for part in words[1:] if MEMORY not in part]
    assert f"heard: {FACT[:60]}" in said(second.body["messages"], "assistant")
    assert [] == thoughts(second)
    assert marked(second.body) <= 4


def test_memory_is_put_in_front_once_and_stays(client: Client) -> None:
    """The block that the proxy put into a prompt is there on every later request, byte for byte, and is no part of the archive."""
    client.says(FACT)
    client.kept(2)
    client.begins()
    requests = [client.says(words) for words in (QUESTION, "and who else may do that?", "thank you for that")]

    blocks = [[part for part in said(request.body["messages"], "user") if MEMORY in part] for request in requests]
    assert blocks[0]
    assert "zebra-42" in blocks[0][0]
    assert [blocks[0][0]] * 3 == [found[0] for found in blocks]
    assert [True, True] == [grows(*pair) for pair in zip(requests, requests[1:])]
    assert [0, 1, 2] == [len(thoughts(request)) for request in requests]
    assert [] == [turn for turn in client.kept(8) if turn.startswith("prompt") and MEMORY in turn]  # the stand-in of a model repeats what it hears last
    assert QUESTION == client.messages[0]["content"]


def test_every_turn_is_archived_once(client: Client) -> None:
    """Prompts, calls, results and answers of a loop of tools, in their order."""
    call = '[[CALL look {"what": "the zebras"}]]'
    first = client.says(call)
    (use,) = (block for block in client.messages[-1]["content"] if block.type == "tool_use")
    second = client.says([{"type": "tool_result", "tool_use_id": use.id, "content": "four zebras"}])
    third = client.says("thank you")

    assert [True, True] == [grows(*pair) for pair in ((first, second), (second, third))]
    assert 2 == len(thoughts(third))
    turns = [turn for turn in client.kept(9) if not turn.startswith("thinking")]
    assert ["prompt", "call", "result", "reply", "prompt", "reply"] == [turn.split()[0] for turn in turns]
    assert [True, True, True] == [words in turn for words, turn in zip(("the zebras", "four zebras", "result: four zebras"), turns[1:])]

    client.begins()
    again = client.says("what did we look at?")
    assert "four zebras" in told(again)
    assert len(json.dumps(again.body["messages"])) < 20_000


def test_a_torn_stream_is_torn_for_the_client_and_not_archived(client: Client) -> None:
    """What was answered before stays; the half answer is in no store, and the conversation goes on."""
    client.says(FACT)
    before = client.kept(2)
    client.api.script = lambda request: reply(text("this breaks off in the middle"), cut=3)
    with pytest.raises(Exception, match=r"(?i)connection"):
        client.says("good morning to you")
    client.messages.pop()
    client.api.script = obey
    later = client.says("good morning to you")

    turns = client.kept(len(before) + 2)
    assert "breaks off" not in "".join(turns)
    assert 1 == "".join(turns).count('"good morning to you"')
    assert "breaks off" not in told(later)


def test_a_killed_proxy_goes_on_with_the_same_bytes(client: Client) -> None:
    """Between two prompts of a conversation that has the past in front."""
    client.says(FACT)
    client.kept(2)
    client.begins()
    first = client.says(QUESTION)
    client.kept(4)
    client.proxy.end(9)
    client.proxy.start()
    second = client.says("and then?")

    assert FACT in said(first.body["messages"], "user")
    assert grows(first, second)
    assert 1 == len(thoughts(second))


def test_thinking_that_no_longer_holds_is_left_out_for_good(client: Client) -> None:
    """Here because a tool has come: one refusal, which the client does not see, and none on the requests that follow."""
    client.says(FACT)
    client.kept(2)
    client.begins()
    client.says(QUESTION)
    client.refusing = "The `tools` differ"
    client.tools = [LOOK, {**LOOK, "name": "listen"}]
    second = client.says("and then?")
    third = client.says("and after that?")

    assert 1 == len([seen for seen in client.api.requests if seen.error])
    assert [0, 1] == [len(thoughts(request)) for request in (second, third)]
    assert FACT in said(third.body["messages"], "user")
    assert grows(second, third)
