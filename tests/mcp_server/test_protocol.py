"""Messages as clients of both eras write them, and the answers they must get."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mcp_server import protocol
from mcp_server.protocol import Dispatcher, Result, Tool
from tests.mcp_server import conformance_tools
from tests.mcp_server.messages import STATELESS, one_tool, request

CALM = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])  # the machine may be busy
SERVER = {"name": "fixture", "title": "Fixture", "version": "1.2.3"}


def answered(message: object) -> Any:
    """The answer of a fresh dispatcher."""
    return conformance_tools.dispatcher().answer(message)


def called(name: str, arguments: object = None) -> Any:
    """The result of a call in the handshake era."""
    return answered(request("tools/call", {"name": name, "arguments": arguments}))["result"]


# ---------------------------------------------------------------- the handshake era


@pytest.mark.parametrize("version", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])
def test_the_handshake_agrees_on_the_version_that_was_asked_for(version: str) -> None:
    """Every version of that era is served."""
    result = answered(request("initialize", {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}, 0))
    assert result == {
        "jsonrpc": "2.0",
        "id": 0,
        "result": {"protocolVersion": version, "capabilities": {"tools": {}}, "instructions": "Tools for tests.", "serverInfo": SERVER},
    }


@pytest.mark.parametrize("version", ["2026-07-28", "1999-01-01", None, 7, ["2025-11-25"]])
def test_the_handshake_offers_its_newest_version_for_any_other(version: object) -> None:
    """The client then decides whether it can go on."""
    assert answered(request("initialize", {"protocolVersion": version}))["result"]["protocolVersion"] == "2025-11-25"


def test_a_ping_gets_an_empty_result() -> None:
    """Also before any handshake."""
    assert answered(request("ping", number="p")) == {"jsonrpc": "2.0", "id": "p", "result": {}}


def test_tools_are_listed_in_their_order_with_everything_they_say() -> None:
    """The whole entry of a tool; nothing that belongs to the other era."""
    result = answered(request("tools/list"))["result"]
    assert list(result) == ["tools"]
    assert [tool["name"] for tool in result["tools"]][:2] == ["test_simple_text", "test_image_content"]
    assert next(tool for tool in result["tools"] if tool["name"] == "add") == {
        "name": "add",
        "title": "Add",
        "description": "Adds two numbers.",
        "inputSchema": {
            "type": "object",
            "properties": {"a": {"type": "number"}, "b": {"type": "number"}},
            "required": ["a", "b"],
            "additionalProperties": False,
        },
        "outputSchema": {"type": "object", "properties": {"sum": {"type": "number"}}, "required": ["sum"]},
        "annotations": {"readOnlyHint": True},
        "_meta": {"anthropic/alwaysLoad": True},
    }


def test_there_is_no_second_page_of_tools() -> None:
    """A cursor that was never given is refused."""
    assert answered(request("tools/list", {"cursor": "x"}))["error"]["code"] == -32602


# ---------------------------------------------------------------- the stateless era


def test_discovery_tells_what_is_served() -> None:
    """With a string as id, as Claude Code asks."""
    assert answered(request("server/discover", {"_meta": STATELESS}, "server-discover-probe-1")) == {
        "jsonrpc": "2.0",
        "id": "server-discover-probe-1",
        "result": {
            "supportedVersions": ["2026-07-28"],
            "capabilities": {"tools": {}},
            "instructions": "Tools for tests.",
            "ttlMs": 300_000,
            "cacheScope": "private",
            "resultType": "complete",
            "_meta": {"io.modelcontextprotocol/serverInfo": SERVER},
        },
    }


def test_a_stateless_list_may_be_cached_and_names_the_server() -> None:
    """The same tools as in the other era."""
    result = answered(request("tools/list", {"_meta": STATELESS}))["result"]
    assert result.pop("tools") == answered(request("tools/list"))["result"]["tools"]
    assert result == {"ttlMs": 300_000, "cacheScope": "private", "resultType": "complete", "_meta": {"io.modelcontextprotocol/serverInfo": SERVER}}


def test_a_stateless_call_needs_no_handshake() -> None:
    """Each request stands alone."""
    result = answered(request("tools/call", {"name": "add", "arguments": {"a": 1, "b": 2}, "_meta": STATELESS}))["result"]
    assert (result["structuredContent"], result["resultType"]) == ({"sum": 3}, "complete")


@pytest.mark.parametrize("method", ["initialize", "ping", "logging/setLevel", "resources/subscribe", "subscriptions/listen"])
def test_what_the_stateless_era_does_not_have_is_unknown_there(method: str) -> None:
    """Handshake, ping and the rest."""
    assert answered(request(method, {"_meta": STATELESS}))["error"]["code"] == -32601


@pytest.mark.parametrize(
    "params",
    [
        None,
        {},
        {"_meta": None},
        {"_meta": {"io.modelcontextprotocol/clientCapabilities": {}}},
        {"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}},
        {"_meta": {**STATELESS, "io.modelcontextprotocol/protocolVersion": 7}},
        {"_meta": {**STATELESS, "io.modelcontextprotocol/clientCapabilities": []}},
    ],
)
def test_a_stateless_request_must_say_its_version_and_capabilities(params: object) -> None:
    """Otherwise its params are invalid."""
    assert answered(request("server/discover", params))["error"]["code"] == -32602


def test_a_version_that_is_not_served_is_told_with_those_that_are() -> None:
    """The client picks one and asks again."""
    answer = answered(request("tools/list", {"_meta": {**STATELESS, "io.modelcontextprotocol/protocolVersion": "2027-01-01"}}))
    assert answer["error"] == {"code": -32022, "message": "Unsupported protocol version", "data": {"supported": ["2026-07-28"], "requested": "2027-01-01"}}


def test_a_tool_may_require_a_capability() -> None:
    """It is refused with its name, and works for a client that has it."""
    params = {"name": "test_missing_capability", "_meta": STATELESS}
    assert answered(request("tools/call", params))["error"]["data"] == {"requiredCapabilities": {"sampling": {}}}
    params["_meta"] = {**STATELESS, "io.modelcontextprotocol/clientCapabilities": {"sampling": {}}}
    assert "result" in answered(request("tools/call", params))


# ---------------------------------------------------------------- calls


def test_data_comes_as_data_and_as_text() -> None:
    """The text is the same JSON, compact."""
    assert called("add", {"a": 1, "b": 2}) == {"content": [{"type": "text", "text": '{"sum":3}'}], "structuredContent": {"sum": 3}}


def test_text_and_content_blocks_come_as_they_are() -> None:
    """Without data."""
    assert called("test_simple_text") == {"content": [{"type": "text", "text": "This is a simple text response for testing."}]}
    assert called("test_image_content") == {"content": [{"type": "image", "data": conformance_tools.PIXEL, "mimeType": "image/png"}]}
    assert [block["type"] for block in called("test_multiple_content_types")["content"]] == ["text", "image", "resource"]
    whole = one_tool(lambda given, context: Result([{"type": "text", "text": "half"}], structured={"done": 1}, is_error=True))
    answer = whole.answer(request("tools/call", {"name": "work"}))
    assert isinstance(answer, dict)
    assert answer["result"] == {"content": [{"type": "text", "text": "half"}], "structuredContent": {"done": 1}, "isError": True}


def test_a_refusal_is_a_result_the_model_can_read() -> None:
    """Not an error of the protocol."""
    assert called("refuse") == {"content": [{"type": "text", "text": "This tool intentionally returns an error for testing"}], "isError": True}


def test_wrong_arguments_are_a_result_the_model_can_read() -> None:
    """With the place and the way out."""
    assert called("add", {"a": 1, "c": 2}) == {"content": [{"type": "text", "text": "c: is not known; known are a and b"}], "isError": True}
    assert called("add", "a=1")["content"][0]["text"] == 'the arguments: must be an object; got "a=1"'
    assert called("add")["content"][0]["text"] == "a and b: missing; required are a and b"


def test_an_unknown_tool_is_an_error_that_names_the_known_ones() -> None:
    """As the specification has it."""
    answer = one_tool(lambda given, context: "").answer(request("tools/call", {"name": "wrok"}))
    assert isinstance(answer, dict)
    assert answer["error"] == {"code": -32602, "message": 'Unknown tool: "wrok"; the tools are work'}


def test_a_fault_of_a_tool_is_told_noted_and_survived() -> None:
    """Its kind, never its text, which may hold anything."""
    faults: list[BaseException] = []
    work = one_tool(lambda given, context: 1 // given["n"], faults)
    answers = [work.answer(request("tools/call", {"name": "work", "arguments": {"n": n}})) for n in (0, 1)]
    texts = [answer["result"]["content"][0]["text"] for answer in answers if isinstance(answer, dict)]
    assert texts == ["Tenon failed: ZeroDivisionError; the details are in `tenon doctor`", "1"]
    assert [type(fault) for fault in faults] == [ZeroDivisionError]


@pytest.mark.parametrize("given", [{"x": float("nan")}, {"x": {1, 2}}, [object()], Result([{"type": "text", "text": b"x"}])])
def test_what_cannot_be_written_as_json_is_a_fault_of_the_tool(given: object) -> None:
    """The client gets an answer all the same."""
    answer = one_tool(lambda arguments, context: given).answer(request("tools/call", {"name": "work"}))
    assert isinstance(answer, dict)
    assert answer["result"]["isError"] is True


def test_a_tool_that_wants_to_exit_does_not_take_the_server_along() -> None:
    """SystemExit is a fault like any other."""
    answer = one_tool(lambda given, context: sys.exit(3)).answer(request("tools/call", {"name": "work"}))
    assert isinstance(answer, dict)
    assert answer["result"]["content"][0]["text"].startswith("Tenon failed: SystemExit")


def test_noting_a_fault_may_fail_too() -> None:
    """The answer does not depend on it."""
    tool = Tool(name="work", title="Work", description="Works.", input_schema={}, call=lambda given, context: 1 // 0)
    answer = Dispatcher("f", "1", "F", "", [tool], lambda error: 1 // 0).answer(request("tools/call", {"name": "work"}))
    assert isinstance(answer, dict)
    assert answer["result"]["isError"] is True


# ---------------------------------------------------------------- what is no proper request


@pytest.mark.parametrize(
    ("message", "number", "code"),
    [
        (7, None, -32600),
        (None, None, -32600),
        ("ping", None, -32600),
        ({}, None, -32600),
        ({"jsonrpc": "1.0", "id": 3, "method": "ping"}, 3, -32600),
        ({"id": 3, "method": "ping"}, 3, -32600),
        ({"jsonrpc": "2.0", "id": 3}, 3, -32600),
        ({"jsonrpc": "2.0", "id": 3, "method": 4}, 3, -32600),
        ({"jsonrpc": "2.0", "id": None, "method": "ping"}, None, -32600),
        ({"jsonrpc": "2.0", "id": True, "method": "ping"}, None, -32600),
        ({"jsonrpc": "2.0", "id": [1], "method": "ping"}, None, -32600),
        ({"jsonrpc": "2.0", "id": float("inf"), "method": "ping"}, None, -32600),
        ({"jsonrpc": "2.0", "id": 3, "method": "ping", "params": [1]}, 3, -32602),
        ({"jsonrpc": "2.0", "id": 3, "method": "prompts/list"}, 3, -32601),
        ({"jsonrpc": "2.0", "id": 3, "method": "tools/call"}, 3, -32602),
    ],
)
def test_what_is_no_proper_request_gets_the_error_for_it(message: object, number: object, code: int) -> None:
    """With the id wherever there is one."""
    answer = answered(message)
    assert (answer["id"], answer["error"]["code"]) == (number, code)


@pytest.mark.parametrize(
    "message",
    [
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}},
        {"jsonrpc": "2.0", "method": "tools/call", "params": {"name": "break"}},
        {"jsonrpc": "2.0", "id": 4, "result": {}},
        {"jsonrpc": "2.0", "id": 4, "error": {"code": 1, "message": "x"}},
    ],
)
def test_notifications_and_answers_get_no_answer(message: object) -> None:
    """And a call without an id is not carried out."""
    conformance_tools.FAULTS.clear()
    assert answered(message) is None
    assert conformance_tools.FAULTS == []


def test_a_batch_is_answered_in_its_order() -> None:
    """What needs no answer leaves no gap."""
    batch = [request("ping", number=1), {"jsonrpc": "2.0", "method": "notifications/initialized"}, 5, request("nothing", number="x")]
    assert [(answer["id"], "error" in answer) for answer in answered(batch)] == [(1, False), (None, True), ("x", True)]
    assert answered([{"jsonrpc": "2.0", "method": "notifications/initialized"}]) is None
    assert answered([])["error"]["code"] == -32600


def test_batches_end_with_the_versions_that_had_them() -> None:
    """Agreed upon 2025-06-18 or later, a list is no message."""
    for version, served in (("2024-11-05", True), ("2025-03-26", True), ("2025-06-18", False), ("2025-11-25", False)):
        dispatcher = conformance_tools.dispatcher()
        dispatcher.answer(request("initialize", {"protocolVersion": version}))
        assert isinstance(dispatcher.answer([request("ping")]), list) is served


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.sampled_from(["2.0", "tools/call", "initialize", "add"]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["jsonrpc", "id", "method", "params", "name", "arguments", "_meta", *STATELESS]) | st.text(), inner, max_size=5)
    ),
    max_leaves=12,
)


@CALM
@given(JSON)
def test_no_message_breaks_the_dispatcher(message: object) -> None:
    """Whatever comes, the answer is one that can be written."""
    answer = answered(message)
    assert answer is None or json.loads(protocol.encode(answer))


@CALM
@given(JSON, JSON)
def test_every_request_is_answered_under_its_id(params: object, meta: object) -> None:
    """Whatever its params hold."""
    for method in ("tools/call", "tools/list", "initialize", "server/discover", "ping"):
        wanted = {"name": "add", "arguments": params, "_meta": meta} if method == "tools/call" else params
        assert answered(request(method, wanted, 41))["id"] == 41
