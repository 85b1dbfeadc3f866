"""Messages as clients of both eras write them, and the answers they must get."""
from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mcp_server import protocol, stdio
from mcp_server.protocol import Dispatcher, Result, Tool
from tests.mcp_server import conformance_tools

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
STATELESS = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}
CALM = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])  # the machine may be busy
SERVER = {"name": "fixture", "title": "Fixture", "version": "1.2.3"}


def request(method: str, params: object = None, number: object = 1) -> dict[str, Any]:
    """A request as a client writes it."""
    message = {"jsonrpc": "2.0", "id": number, "method": method}
    return message if params is None else {**message, "params": params}


def answered(message: object) -> Any:
    """The answer of a fresh dispatcher."""
    return conformance_tools.dispatcher().answer(message)


def called(name: str, arguments: object = None) -> Any:
    """The result of a call in the handshake era."""
    return answered(request("tools/call", {"name": name, "arguments": arguments}))["result"]


def one_tool(call: Any, faults: list[BaseException] | None = None) -> Dispatcher:
    """A dispatcher whose only tool is `work`."""
    tool = Tool(name="work", title="Work", description="Works.", input_schema={"type": "object"}, call=call)
    return Dispatcher("fixture", "1.2.3", "Fixture", "", [tool], (faults if faults is not None else []).append)


def spoken(*lines: object, dispatcher: Dispatcher | None = None) -> list[Any]:
    """What a connection answers to these lines (messages, or bytes as they are), until it is closed."""
    said = b"".join(line if isinstance(line, bytes) else json.dumps(line).encode() + b"\n" for line in lines)
    out = io.BytesIO()
    protocol.serve(dispatcher or conformance_tools.dispatcher(), io.BytesIO(said), out)
    return [json.loads(line) for line in out.getvalue().splitlines()]


def started() -> subprocess.Popen[bytes]:
    """The fixture server as a process of its own."""
    command = [sys.executable, "-I", "-S", str(HERE / "stdio_server.py")]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


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
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(["jsonrpc", "id", "method", "params", "name", "arguments", "_meta", *STATELESS]) | st.text(), inner, max_size=5),
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


# ---------------------------------------------------------------- the connection


def test_each_line_gets_its_answer_as_one_line() -> None:
    """Empty lines, a byte order mark, CR LF and a last line without its end are all taken."""
    lines = [b"\n", b"\xef\xbb\xbf" + json.dumps(request("ping", number=1)).encode() + b"\r\n", b"  \r\n", json.dumps(request("ping", number=2)).encode()]
    assert [answer["id"] for answer in spoken(*lines)] == [1, 2]


@pytest.mark.parametrize("line", [b"{", b"ping", b'{"a": NaN}', b"\xff\xfe", b"[" * 100_000, b'{"id": 1} {"id": 2}', b'{"a": "\x01"}'])
def test_a_line_that_is_not_json_is_told_and_the_next_one_answered(line: bytes) -> None:
    """A parse error has no id."""
    broken, alive = spoken(line + b"\n", request("ping"))
    assert (broken["id"], broken["error"]["code"], alive["id"]) == (None, -32700, 1)


def test_a_line_beyond_the_limit_is_refused_without_keeping_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Up to its end; the next one is answered."""
    monkeypatch.setattr(stdio, "LARGEST_BYTES", 100)
    refused, alive = spoken(b"x" * 1234 + b"\n", request("ping"))
    assert (refused["id"], refused["error"]["code"], alive["id"]) == (None, -32600, 1)


def test_a_large_message_passes() -> None:
    """Four million characters there and back."""
    (answer,) = spoken(request("tools/call", {"name": "echo", "arguments": {"text": "ä" * 4_000_000}}))
    assert answer["result"]["structuredContent"] == {"said": "ä" * 4_000_000}


def test_calls_are_answered_in_their_order() -> None:
    """One after the other."""
    calls = [request("tools/call", {"name": "add", "arguments": {"a": n, "b": 0}}, n) for n in range(50)]
    assert [answer["result"]["structuredContent"]["sum"] for answer in spoken(*calls)] == list(range(50))


def test_half_a_surrogate_pair_becomes_harmless() -> None:
    """On the way in, where SQLite would stumble, and on the way out, where the client would."""
    dispatcher = one_tool(lambda given, context: {"heard": ascii(given["text"]), "said": "b\udc80", "mark": "c\u2028d"})
    line = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"work","arguments":{"text":"a\\ud800 \\ud83d\\ude00"}}}\n'
    (answer,) = spoken(line, dispatcher=dispatcher)
    assert answer["result"]["structuredContent"] == {"heard": ascii("a? 😀"), "said": "b?", "mark": "c\u2028d"}
    assert protocol.encode("c\u2028d\u2029") == b'"c\\u2028d\\u2029"\n'


def test_bytes_that_are_not_utf8_do_not_cost_the_answer() -> None:
    """They come out as replacement characters."""
    line = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"caf\xe9"}}}\n'
    assert spoken(line)[0]["result"]["structuredContent"] == {"said": "caf\ufffd"}


def test_progress_comes_before_the_result() -> None:
    """To a client that asked for it by a token."""
    heard = spoken(request("tools/call", {"name": "test_tool_with_progress", "_meta": {"progressToken": "p"}}, 9))
    assert [message.get("params", {}).get("progress") for message in heard] == [0, 50, 100, None]
    assert heard[-1]["id"] == 9


class Line:
    """A connection over two pipes, to a dispatcher whose tool waits until it is let go."""

    def __init__(self) -> None:
        self.go = threading.Event()
        self.done: list[object] = []
        (theirs, self._to), (back, ours) = os.pipe(), os.pipe()
        self._ends: list[Any] = [os.fdopen(theirs, "rb"), os.fdopen(ours, "wb"), os.fdopen(back, "rb")]
        self._thread = threading.Thread(target=protocol.serve, args=(one_tool(self._work), *self._ends[:2]))
        self._thread.start()

    def _work(self, given: dict[str, Any], context: object) -> str:
        self.go.wait(10)
        self.done.append(given["n"])
        return "done"

    def say(self, message: object) -> None:
        """Sends a message."""
        os.write(self._to, json.dumps(message).encode() + b"\n")

    def hear(self) -> Any:
        """The next answer."""
        return json.loads(self._ends[2].readline())

    def close(self) -> None:
        """Ends the connection and waits for its end."""
        self.go.set()
        os.close(self._to)
        self._thread.join()
        for end in self._ends:
            end.close()


def test_a_call_at_work_holds_up_nothing_but_calls() -> None:
    """Ping, handshake, discovery and what is unknown are answered meanwhile."""
    line = Line()
    line.say(request("tools/call", {"name": "work", "arguments": {"n": 1}}, 1))
    for number, method in enumerate(("ping", "initialize", "server/discover", "tools/list", "nothing"), 2):
        line.say(request(method, {"_meta": STATELESS} if method == "server/discover" else None, number))
        assert line.hear()["id"] == number
    line.go.set()
    assert line.hear()["id"] == 1
    line.close()


def test_a_cancelled_call_that_waits_is_not_carried_out() -> None:
    """Nor answered; the one at work goes on."""
    line = Line()
    for number in (1, 2, 3):
        line.say(request("tools/call", {"name": "work", "arguments": {"n": number}}, number))
    line.say({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 2}})
    line.say(request("ping", number=4))
    assert line.hear()["id"] == 4
    line.go.set()
    assert [line.hear()["id"], line.hear()["id"]] == [1, 3]
    line.close()
    assert line.done == [1, 3]


def test_what_was_asked_before_the_end_is_still_answered() -> None:
    """So that messages can be piped in from a file."""
    process = started()
    out, errors = process.communicate(b"".join(json.dumps(request("tools/call", {"name": "add", "arguments": {"a": n, "b": 1}}, n)).encode() + b"\n" for n in (1, 2)))
    assert [json.loads(line)["result"]["structuredContent"]["sum"] for line in out.splitlines()] == [2, 3]
    assert (process.returncode, errors) == (0, b"")


def test_nothing_that_a_tool_or_its_child_prints_reaches_the_client() -> None:
    """It goes to stderr."""
    process = started()
    out, errors = process.communicate(json.dumps(request("tools/call", {"name": "print"})).encode() + b"\n")
    assert [json.loads(line)["result"]["content"][0]["text"] for line in out.splitlines()] == ["printed"]
    assert errors.split() == b"printed by a tool written by a child".split()


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such signals")
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_a_signal_ends_the_server_without_a_word(name: str) -> None:
    """As Claude Code ends it."""
    process = started()
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps(request("ping")).encode() + b"\n")
    process.stdin.flush()
    assert json.loads(process.stdout.readline())["id"] == 1
    process.send_signal(getattr(signal, name))
    out, errors = process.communicate(timeout=10)
    assert (out, errors) == (b"", b"")


@pytest.mark.skipif(os.name == "nt", reason="a pipe without a reader behaves otherwise there")
def test_a_client_that_no_longer_reads_ends_the_server_without_a_word() -> None:
    """No traceback, whether a call or the handshake found out."""
    for message in (request("ping"), request("tools/call", {"name": "add", "arguments": {"a": 1, "b": 1}})):
        process = started()
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        process.stdin.write(json.dumps(message).encode() + b"\n")
        process.stdin.close()
        assert (process.stderr.read(), process.wait(10)) == (b"", 0)
        process.stderr.close()


def test_a_handshake_loads_neither_a_database_nor_threads() -> None:
    """A start that is too slow costs the user the server for a quarter of an hour."""
    code = (
        "import sys; sys.path[:0] = sys.argv[1:]\n"
        "from mcp_server.protocol import Dispatcher, serve\n"
        "import io\n"
        "out = io.BytesIO()\n"
        "serve(Dispatcher('f', '1', 'F', '', [], print), io.BytesIO(b'{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\"}'), out)\n"
        "assert out.getvalue()\n"
        "print(sorted({'sqlite3', '_sqlite3', 'threading', 'typing', 'logging', 'subprocess', 'http', 'socket', 'mcp_server.validate'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-I", "-S", "-c", code, str(ROOT), str(ROOT / "scripts")], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("[]\n", "")
