"""The connection to a client that started the server: lines, order, signals, and its end."""

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

from mcp_server import protocol, stdio
from mcp_server.protocol import Dispatcher
from tests.mcp_server import conformance_tools
from tests.mcp_server.messages import STATELESS, one_tool, request

HERE = Path(__file__).parent
ROOT = HERE.parent.parent


def spoken(*lines: object, dispatcher: Dispatcher | None = None) -> list[Any]:
    """What a connection answers to these lines (messages, or bytes as they are), until it is closed."""
    said = b"".join(line if isinstance(line, bytes) else json.dumps(line).encode() + b"\n" for line in lines)
    out = io.BytesIO()
    stdio.serve(dispatcher or conformance_tools.dispatcher(), io.BytesIO(said), out)
    return [json.loads(line) for line in out.getvalue().splitlines()]


def started() -> subprocess.Popen[bytes]:
    """The fixture server as a process of its own."""
    command = [sys.executable, "-I", "-S", str(HERE / "stdio_server.py")]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


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
        self._thread = threading.Thread(target=stdio.serve, args=(one_tool(self._work), *self._ends[:2]))
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
    out, errors = process.communicate(
        b"".join(json.dumps(request("tools/call", {"name": "add", "arguments": {"a": n, "b": 1}}, n)).encode() + b"\n" for n in (1, 2))
    )
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
    assert (out, errors, process.returncode) == (b"", b"", 0 if name == "SIGINT" else -signal.SIGTERM)


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
        "from mcp_server.protocol import Dispatcher\nfrom mcp_server.stdio import serve\n"
        "import io\n"
        "out = io.BytesIO()\n"
        "serve(Dispatcher('f', '1', 'F', '', [], print), io.BytesIO(b'{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\"}'), out)\n"
        "assert out.getvalue()\n"
        "print(sorted({'sqlite3', '_sqlite3', 'threading', 'typing', 'logging', 'subprocess', 'http', 'socket', 'mcp_server.validate'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-I", "-S", "-c", code, str(ROOT), str(ROOT / "scripts")], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("[]\n", "")
