"""The official client behind the proxy: answers, streams, errors and what breaks look to it as they do without."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.fakes.messages_api import MessagesApi
from tests.fakes.raw_upstream import RawUpstream
from tests.fakes.replies import error, reply, text, tool_call
from tests.proxy.pipes import Pipe, Plan, Scripted

if TYPE_CHECKING:
    import anthropic
else:
    anthropic = pytest.importorskip("anthropic")

ASK = {"model": "claude-opus-4-8", "max_tokens": 100, "messages": [{"role": "user", "content": "hi"}]}


def watching(raw: bytes) -> Plan:
    """A plan that only reads along."""
    return Plan(raw, watch=True)


def client(pipe: Pipe, retries: int = 0) -> anthropic.Anthropic:
    """The official client."""
    return anthropic.Anthropic(api_key="sk-ant-fake", base_url=pipe.url, max_retries=retries)


def test_the_official_client_gets_its_answers_whole_and_streamed() -> None:
    """All on one connection to the upstream; the copy that was read along is the same message."""
    rewriter = Scripted(watching)
    blocks = [text("héllo"), tool_call("Bash", {"command": "ls"}, "toolu_1")]
    with MessagesApi(lambda _: reply(*blocks)) as api, Pipe(api.url, rewriter) as pipe, client(pipe) as user:
        plain = user.messages.create(**ASK)
        with user.messages.stream(**ASK) as stream:
            streamed = stream.get_final_message()
        rewriter.plans[1].over.wait(5)
        for message in (plain, streamed):
            assert ["héllo", "toolu_1"] == [message.content[0].text, message.content[1].id]
        for plan, message in zip(rewriter.plans, (plain, streamed)):
            ((name, status, complete, copy),) = plan.told
            assert ("answered", 200, True) == (name, status, complete)
            assert message.id == copy["id"]
            assert blocks == copy["content"]
        assert 1 == len(api.connections)


def test_the_official_client_sees_a_stream_that_breaks() -> None:
    """It does not take half an answer for a whole one."""
    with MessagesApi([reply(text("a long answer"), cut=4)]) as api, Pipe(api.url, Scripted(watching)) as pipe, client(pipe) as user:
        with pytest.raises(Exception, match=r"peer closed|incomplete|closed"), user.messages.stream(**ASK) as stream:
            stream.get_final_message()
        pipe.rewriter.plans[0].over.wait(5)
        assert ["abandoned"] == pipe.rewriter.plans[0].told


def test_an_error_inside_a_stream_is_relayed_and_no_message() -> None:
    """The answer ended in good order, and what was said is an error."""
    with MessagesApi([reply(text("a long answer"), error_after=4)]) as api, Pipe(api.url, Scripted(watching)) as pipe, client(pipe) as user:
        with pytest.raises(anthropic.APIStatusError, match="Overloaded"), user.messages.stream(**ASK) as stream:
            stream.get_final_message()
        pipe.rewriter.plans[0].over.wait(5)
        assert [("answered", 200, False, None)] == pipe.rewriter.plans[0].told


def test_errors_of_the_api_pass_as_they_are() -> None:
    """Status, headers and words, compressed or not."""
    refusals = [error("prompt is too long: 9 tokens > 8 maximum"), {"error": {"msg": "slow", "status": 429, "headers": {"retry-after": "7"}}, "gzip": True}]
    with MessagesApi(refusals) as api, Pipe(api.url) as pipe, client(pipe) as user:
        with pytest.raises(anthropic.BadRequestError, match="prompt is too long: 9 tokens > 8 maximum"):
            user.messages.create(**ASK)
        with pytest.raises(anthropic.RateLimitError, match="slow") as caught:
            user.messages.create(**ASK)
        assert "7" == caught.value.response.headers["retry-after"]


def test_nobody_upstream_is_an_error_of_the_api_s_form() -> None:
    """It says what to do, and nothing secret; the connection goes on."""
    with RawUpstream(b"") as server:
        gone = server.url.replace("//", "//joe:hush@")
    with Pipe(gone) as pipe, client(pipe) as user:
        with pytest.raises(anthropic.APIStatusError) as caught:
            user.messages.create(**ASK)
        said = caught.value.response.json()
        assert (502, "error", "api_error") == (caught.value.status_code, said["type"], said["error"]["type"])
        assert "does not answer: Connection refused. Check the network and the setting `upstream`" in said["error"]["message"]
        assert "hush" not in caught.value.response.text + str(list(pipe.proxy.errors))
        assert "***@127.0.0.1" in pipe.proxy.errors[-1]["what"]
