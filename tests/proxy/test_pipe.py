"""What passes through the proxy is what was sent, both ways, as it was framed and as it ended."""

from __future__ import annotations

import gzip
import http.client
import json
import threading
import zlib
from typing import Any

import pytest

from tests.fakes import sse
from tests.fakes.messages_api import MessagesApi
from tests.fakes.raw_upstream import CHUNKED, LAST, RawUpstream, Visit, chunk, whole
from tests.fakes.replies import reply, text, thinking
from tests.proxy.pipes import Pipe, Plan, Scripted, drained, proven, received, request, unchunked

CLOSE = "Connection: close"
ASK = {"model": "claude-opus-4-8", "max_tokens": 100, "messages": [{"role": "user", "content": "hi"}]}


def watching(raw: bytes) -> Plan:
    """A plan that only reads along."""
    return Plan(raw, watch=True)


@pytest.mark.parametrize("options", [{}, {"split": 1}, {"split": 7, "gzip": True}, {"gzip": True}, {"split": 1000}])
def test_a_stream_arrives_byte_for_byte_however_it_is_cut(options: dict[str, Any]) -> None:
    """Compressed it stays compressed, and is read along all the same."""
    rewriter = Scripted(watching)
    ask = json.dumps({**ASK, "stream": True}).encode()
    with MessagesApi([reply(thinking("why"), text("because"), **options)]) as api, Pipe(api.url, rewriter) as pipe:
        connection = http.client.HTTPConnection("127.0.0.1", pipe.port)
        headers = {"x-api-key": "k", "anthropic-version": "2023-06-01", "content-type": "application/json", "accept-encoding": "gzip, deflate, br, zstd"}
        connection.request("POST", "/v1/messages?beta=true", ask, headers)
        answer = connection.getresponse()
        data = answer.read()
        connection.close()
        assert ("gzip" if options.get("gzip") else None) == answer.headers.get("content-encoding")
        data = gzip.decompress(data) if options.get("gzip") else data
        rewriter.plans[0].over.wait(5)
        ((_, _, complete, message),) = rewriter.plans[0].told
        assert complete
        events = [json.loads(line[6:]) for line in data.decode().splitlines() if line.startswith("data: ")]
        assert message["id"] == events[0]["message"]["id"]
        assert b"".join(map(sse.frame, events)) == data
        assert "gzip, deflate" == api.requests[0].headers["accept-encoding"]


def test_request_bytes_and_headers_go_on_as_they_came() -> None:
    """Order, spelling, repetition and odd bytes; only what is between neighbours changes."""
    body = b'{"a": "\xff\xfe", "messages":[ ] , "b":\t1}'
    headers = [
        "X-Api-Key: sk",
        "anthropic-beta: a,b",
        "accept-encoding: br;q=1.0, gzip",
        "Anthropic-Beta: c",
        "x-custom:   spaced  ",
        "Connection: close, x-gone",
        "x-gone: 1",
    ]
    with RawUpstream(whole(b"ok")) as server, Pipe(server.url) as pipe:
        pipe.ask(request(body, *headers, target="/v1/messages?beta=true&x=%20"))
        assert [
            "POST /v1/messages?beta=true&x=%20 HTTP/1.1", f"Host: 127.0.0.1:{server.port}", "X-Api-Key: sk", "anthropic-beta: a,b",
            "accept-encoding: br;q=1.0, gzip", "Anthropic-Beta: c", "x-custom: spaced", f"Content-Length: {len(body)}",
        ] == server.visits[0].lines  # fmt: skip
        assert body == server.visits[0].body
        assert ("default", "/v1/messages?beta=true&x=%20", "a,b, c", body) == (
            pipe.rewriter.asked[0][0], pipe.rewriter.asked[0][1], pipe.rewriter.asked[0][2]["anthropic-beta"], pipe.rewriter.asked[0][3],
        )  # fmt: skip


def test_the_plan_s_body_is_what_is_sent() -> None:
    """With its own length, and with what can be read along as the only codings."""
    with RawUpstream(whole(b"{}", "Content-Type: application/json")) as server:
        with Pipe(server.url, Scripted(lambda raw: Plan(b"<" + raw + b">", rewritten=True, watch=True))) as pipe:
            pipe.ask(request(b"{}", "Accept-Encoding: br, zstd;q=0.5, *", CLOSE))
            assert ["Accept-Encoding: identity", "Content-Length: 4"] == server.visits[0].lines[2:]
            assert b"<{}>" == server.visits[0].body


def test_the_answer_s_head_and_bytes_come_back_as_they_came() -> None:
    """Status, reason, header order and spelling, and the body with its coding."""
    wire = b"HTTP/1.1 429 Slow  Down\r\nretry-after: 2\r\nX-Should-Retry: true\r\nset-cookie: a=1\r\nConnection: x-hop\r\nx-hop: 1\r\nSet-Cookie: b=2\r\nContent-Length: 3\r\nx-last: \xe9\r\n\r\nabc"
    with RawUpstream(wire) as server, Pipe(server.url) as pipe:
        assert (
            b"HTTP/1.1 429 Slow  Down\r\nretry-after: 2\r\nX-Should-Retry: true\r\nset-cookie: a=1\r\nSet-Cookie: b=2\r\nContent-Length: 3\r\nx-last: \xe9\r\nConnection: close\r\n\r\nabc"
        ) == pipe.ask(request(b"{}", CLOSE))


def test_pieces_arrive_before_the_next_ones_are_sent() -> None:
    """A stream is not held up by anything, and one chunk of the upstream is one chunk here."""
    go = threading.Event()

    def script(visit: Visit) -> None:
        visit.send(CHUNKED)
        for data in (b"event: ping\n\n", b"x"):
            go.wait(5)
            go.clear()
            visit.send(chunk(data))
        go.wait(5)
        visit.send(LAST)

    with RawUpstream(script) as server, Pipe(server.url) as pipe, pipe.connect() as user:
        user.sendall(request(b"{}"))
        for expected in (b"\r\n\r\n", chunk(b"event: ping\n\n"), chunk(b"x"), LAST):
            assert received(user, expected).endswith(expected)
            go.set()


@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS", "PUT", "DELETE", "PATCH", "M-SEARCH"])
def test_any_method_is_relayed(method: str) -> None:
    """With or without a body; nobody is asked for a plan."""
    with RawUpstream(lambda visit: visit.send(whole(b"" if visit.lines[0].startswith("HEAD") else b"fine"))) as server, Pipe(server.url) as pipe:
        answer = pipe.ask(request(b"", CLOSE, method=method, target="/api/hello"))
        assert f"{method} /api/hello HTTP/1.1" == server.visits[0].lines[0]
        assert answer.endswith(b"\r\n\r\n" if method == "HEAD" else b"fine")
        assert [] == pipe.rewriter.asked


@pytest.mark.parametrize("target", ["//v1/messages", "/v1//x?a=//b", "/a;b=c/../d"])
def test_the_address_goes_on_as_it_came(target: str) -> None:
    """Nothing of it is tidied up."""
    with RawUpstream(whole(b"ok")) as server, Pipe(server.url) as pipe:
        assert pipe.ask(b"\r\n" + request(b"", CLOSE, method="GET", target=target)).endswith(b"ok")
        assert f"GET {target} HTTP/1.1" == server.visits[0].lines[0]


def test_a_head_s_length_is_kept_without_a_body() -> None:
    """And the connection goes on."""
    with RawUpstream(b"HTTP/1.1 200 OK\r\nContent-Length: 17\r\n\r\n") as server, Pipe(server.url) as pipe, pipe.connect() as user:
        for _ in range(2):
            user.sendall(request(b"", method="HEAD", target="/"))
            assert b"HTTP/1.1 200 OK\r\nContent-Length: 17\r\n\r\n" == received(user, b"\r\n\r\n")
        assert (2, 1) == (len(server.visits), len(server.connections))


def test_many_requests_on_one_connection() -> None:
    """Also those that are sent before the answer to the one before has come."""
    with RawUpstream(lambda visit: visit.send(whole(visit.body))) as server, Pipe(server.url) as pipe, pipe.connect() as user:
        user.sendall(b"".join(request(f"<{number}>".encode()) for number in range(20)) + request(b"last", CLOSE))
        answer = drained(user)
        assert [f"<{number}>".encode() for number in range(20)] == [part.split(b"HTTP/1.1")[0] for part in answer.split(b"\r\n\r\n")[1:-1]]
        assert answer.endswith(b"last")
        assert 1 == len(server.connections)


def test_a_body_in_chunks_is_taken_and_sent_with_its_length() -> None:
    """Trailers and extensions are gone; a client that waits to be told to go on is told."""
    with RawUpstream(lambda visit: visit.send(whole(visit.body))) as server, Pipe(server.url) as pipe, pipe.connect() as user:
        user.sendall(request(b"", "Transfer-Encoding: chunked", "Expect: 100-continue", CLOSE))
        assert b"HTTP/1.1 100 Continue\r\n\r\n" == received(user, b"\r\n\r\n")
        user.sendall(b"3;x=y\r\n{ \r\r\n" + chunk(b"}") + b"0\r\nX-Trailer: 1\r\n\r\n")
        assert drained(user).endswith(b"\r\n\r\n{ \r}")
        assert "Content-Length: 4" == server.visits[0].lines[-1]
        assert not [line for line in server.visits[0].lines if line.lower().startswith(("expect", "transfer"))]


def test_a_compressed_request_is_relayed_untouched() -> None:
    """The plan sees the bytes as they are."""
    packed = gzip.compress(b'{"messages": []}')
    with RawUpstream(whole(b"ok")) as server, Pipe(server.url) as pipe:
        pipe.ask(request(packed, "Content-Encoding: gzip", CLOSE))
        assert packed == server.visits[0].body == pipe.rewriter.asked[0][3]
        assert "gzip" == pipe.rewriter.asked[0][2]["content-encoding"]


def test_an_old_client_gets_the_body_up_to_the_end_of_the_connection() -> None:
    """HTTP/1.0 knows no chunks."""
    with RawUpstream(CHUNKED + chunk(b"one") + chunk(b"two") + LAST) as server, Pipe(server.url) as pipe:
        assert (
            b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\nonetwo"
            == pipe.ask(b"POST / HTTP/1.0\r\nContent-Length: 2\r\n\r\n{}")
        )  # fmt: skip


def test_a_body_without_a_length_is_chunked_for_a_new_client() -> None:
    """And its end is an end."""
    with RawUpstream(lambda visit: (visit.send(b"HTTP/1.1 200 OK\r\nx: 1\r\n\r\nabc"), visit.close())[1]) as server, Pipe(server.url) as pipe:
        assert b"HTTP/1.1 200 OK\r\nx: 1\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n3\r\nabc\r\n0\r\n\r\n" == pipe.ask(request(b"{}", CLOSE))


@pytest.mark.parametrize(
    ("wire", "version", "expected"),
    [
        (CHUNKED + chunk(b"half"), "1.1", b"\r\n\r\n4\r\nhalf\r\n"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf", "1.1", b"\r\n\r\nhalf"),
        (CHUNKED + chunk(b"half"), "1.0", b"\r\n\r\nhalf(reset)"),
    ],
)
def test_a_torn_answer_is_torn_here_too(wire: bytes, version: str, expected: bytes) -> None:
    """No last chunk, no padding, no orderly end."""
    rewriter = Scripted(watching)
    with RawUpstream(lambda visit: (visit.send(wire), visit.close())[1]) as server, Pipe(server.url, rewriter) as pipe:
        assert pipe.ask(request(b"{}", version=version)).endswith(expected)
        rewriter.plans[0].over.wait(5)
        assert ["abandoned"] == rewriter.plans[0].told
        assert "broke off in the middle of an answer" in pipe.proxy.errors[-1]["what"]


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("status", [400, 413])
def test_a_refused_request_is_sent_as_the_client_had_it(status: int, packed: bool) -> None:
    """Nothing of the refusal reaches the client; the plan has read it."""
    instead = Plan(b"{}", watch=True, why="bypassed")
    rewriter = Scripted(lambda raw: Plan(b"<rewritten>", rewritten=True, watch=True, instead=instead))
    refusal = gzip.compress(b"no: ours") if packed else b"no: ours"
    coding = ["Content-Encoding: gzip"] if packed else ["x-none: 1"]

    def script(visit: Visit) -> None:
        visit.send(whole(refusal, *coding, status=f"{status} No") if visit.body != b"{}" else whole(b'{"type":"message"}', "Content-Type: application/json"))

    with RawUpstream(script) as server, Pipe(server.url, rewriter) as pipe:
        answer = pipe.ask(request(b"{}", CLOSE))
        assert answer.startswith(b"HTTP/1.1 200 OK\r\n")
        assert answer.endswith(b'{"type":"message"}')
        assert [("refused", status, b"no: ours")] == rewriter.plans[0].told
        instead.over.wait(5)
        assert "answered" == instead.told[0][0]
        assert [b"<rewritten>", b"{}"] == [visit.body for visit in server.visits]
        assert 1 == len(server.connections)
        assert "status=200" in pipe.log()[0]
        assert pipe.log()[0].endswith("why=bypassed")


def test_a_refusal_that_stands_is_relayed_as_it_came() -> None:
    """Byte for byte, also when it is in chunks or compressed."""
    rewriter = Scripted(lambda raw: Plan(raw, rewritten=True, watch=True))
    packed = zlib.compress(b'{"type":"error"}')
    wire = b"HTTP/1.1 400 Bad Request\r\nContent-Encoding: deflate\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk(packed[:3]) + chunk(packed[3:]) + LAST
    with RawUpstream(wire) as server, Pipe(server.url, rewriter) as pipe:
        answer = pipe.ask(request(b"{}", CLOSE))
        head, _, body = answer.partition(b"\r\n\r\n")
        assert b"HTTP/1.1 400 Bad Request\r\nContent-Encoding: deflate\r\nTransfer-Encoding: chunked\r\nConnection: close" == head
        assert packed == unchunked(body)
        assert ("refused", 400, b'{"type":"error"}') == rewriter.plans[0].told[0]
        assert 1 == len(server.visits)


def test_a_refusal_too_long_to_be_one_is_relayed_whole() -> None:
    """What was read of it already is not lost."""
    rewriter = Scripted(lambda raw: Plan(raw, rewritten=True, instead=Plan(b"never")))
    with RawUpstream(whole(b"n" * 3_000_000, status="400 No")) as server, Pipe(server.url, rewriter) as pipe:
        assert pipe.ask(request(b"{}", CLOSE)).endswith(b"\r\n\r\n" + b"n" * 3_000_000)
        assert [] == rewriter.plans[0].told
        assert 1 == len(server.visits)


@pytest.mark.parametrize("status", [401, 404, 429, 500, 529])
def test_other_errors_are_no_reason_to_send_again(status: int) -> None:
    """They are not about what was changed."""
    rewriter = Scripted(lambda raw: Plan(b"<>", rewritten=True, instead=Plan(raw)))
    with RawUpstream(whole(b"no", status=f"{status} No")) as server, Pipe(server.url, rewriter) as pipe:
        assert pipe.ask(request(b"{}", CLOSE)).startswith(f"HTTP/1.1 {status} No".encode())
        assert 1 == len(server.visits)


def test_a_rewriter_that_fails_does_not_fail_the_user() -> None:
    """The request goes as it came; the fault is noted without a word of it."""

    class Failing(Scripted):
        def plan(self, *args: Any) -> Plan:
            raise ValueError("quoting the user: swordfish")

        def status(self) -> list[dict[str, Any]]:
            raise ValueError("quoting the user: swordfish")

    from tenon.base import faults

    with RawUpstream(whole(b"ok")) as server, Pipe(server.url, Failing()) as pipe:
        assert pipe.ask(request(b"{}", CLOSE)).endswith(b"ok")
        assert b"{}" == server.visits[0].body
        ask = request(b"", CLOSE, *proven(pipe, "GET", "/_tenon/status"), method="GET", target="/_tenon/status")
        assert [] == json.loads(pipe.ask(ask).partition(b"\r\n\r\n")[2])["conversations"]
    assert [("ValueError", ""), ("ValueError", "")] == [(fault["error"], fault["said"]) for fault in faults.recent()]


def test_a_plan_that_fails_afterwards_does_not_fail_the_user_either() -> None:
    """The connection goes on."""

    class Failing(Plan):
        def answered(self, status: int, reader: Any) -> None:
            raise ValueError("x")

        def refused(self, status: int, answer: bytes) -> Plan:
            raise ValueError("x")

    def script(visit: Visit) -> None:
        visit.send(whole(b"{}", status="200 OK" if visit.number == 1 else "400 No"))

    with RawUpstream(script) as server, Pipe(server.url, Scripted(lambda raw: Failing(raw, watch=True, rewritten=True))) as pipe, pipe.connect() as user:
        user.sendall(request(b"{}"))
        assert received(user, b"{}").startswith(b"HTTP/1.1 200 OK")
        user.sendall(request(b"{}", CLOSE))
        assert drained(user).startswith(b"HTTP/1.1 400 No")


def test_an_upstream_that_closes_without_a_word_is_told_too() -> None:
    """Nothing was sent to the client yet, so it can be said."""
    with RawUpstream(lambda visit: visit.close()) as server, Pipe(server.url, Scripted(watching)) as pipe:
        answer = pipe.ask(request(b"{}", CLOSE))
        assert answer.startswith(b"HTTP/1.1 502 Bad Gateway")
        assert b"closed the connection without an answer" in answer
        assert ["abandoned"] == pipe.rewriter.plans[0].told


@pytest.mark.parametrize("method", ["POST", "GET"])
def test_the_name_in_the_address_is_the_agent(method: str) -> None:
    """What follows goes upstream, query and all."""
    with RawUpstream(whole(b"ok")) as server, Pipe(server.url) as pipe:
        for target, upstream_target in [
            ("/agent/work-2/v1/messages?beta=true", "/v1/messages?beta=true"),
            ("/agent/work-2", "/"),
            ("/agent/work-2?a=/", "/?a=/"),
        ]:
            pipe.ask(request(b"{}", CLOSE, target=target, method=method))
            assert f"{method} {upstream_target} HTTP/1.1" == server.visits[-1].lines[0]
        if method == "POST":
            assert ("work-2", "/v1/messages?beta=true") == pipe.rewriter.asked[0][:2]


@pytest.mark.parametrize("name", ["", "Big", "..", "a%20b", "-x", "a" * 41])
def test_a_name_that_no_agent_can_have_is_not_found(name: str) -> None:
    """And nothing is sent."""
    with RawUpstream(whole(b"ok")) as server, Pipe(server.url) as pipe:
        answer = pipe.ask(request(b"{}", target=f"/agent/{name}/v1/messages"))
        assert answer.startswith(b"HTTP/1.1 404 Not Found")
        assert b'"not_found_error"' in answer
        assert [] == server.visits


def test_settings_name_the_agent_of_other_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that cannot be an agent's name means that nothing is remembered, and the request goes through."""
    with RawUpstream(whole(b"ok")) as server, Pipe(server.url) as pipe:
        for name in ("home", "No Name"):
            monkeypatch.setenv("TENON_AGENT", name)
            assert pipe.ask(request(b"{}", CLOSE)).endswith(b"ok")
        assert ["home"] == [asked[0] for asked in pipe.rewriter.asked]


@pytest.mark.parametrize("framing", ["Content-Length: 67108865", "Transfer-Encoding: chunked"])
def test_a_request_that_is_too_large_is_refused_in_the_api_s_form(framing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The client sees the refusal although it is still sending."""
    from tenon.proxy import handler

    chunked = framing.startswith("T")
    monkeypatch.setattr(handler, "LARGEST", 1_000_000 if chunked else handler.LARGEST)
    with RawUpstream(whole(b"ok")) as server, Pipe(server.url) as pipe:
        answer = pipe.ask(request(b"", framing) + (chunk(b"x" * 1_500_000) if chunked else b"x" * 3_000_000))
        assert answer.startswith(b"HTTP/1.1 413 Content Too Large")
        assert b'"request_too_large"' in answer
        assert [] == server.visits


def test_ten_megabytes_pass_both_ways() -> None:
    """Bit for bit."""
    body = bytes(range(256)) * 40_000
    with RawUpstream(lambda visit: visit.send(whole(visit.body))) as server, Pipe(server.url) as pipe:
        assert pipe.ask(request(body, CLOSE)).partition(b"\r\n\r\n")[2] == body


def test_fifty_streams_at_once() -> None:
    """Each gets its own, while all of them are open at the same time."""
    together = threading.Barrier(50, timeout=20)

    def script(visit: Visit) -> None:
        visit.send(CHUNKED + chunk(visit.body))
        together.wait()
        visit.send(chunk(b"/end") + LAST)

    found: dict[int, bytes] = {}
    with RawUpstream(script) as server, Pipe(server.url) as pipe:

        def work(number: int) -> None:
            name = f"<{number}>".encode()
            found[number] = unchunked(pipe.ask(request(name, CLOSE)).partition(b"\r\n\r\n")[2])

        threads = [threading.Thread(target=work, args=(number,)) for number in range(50)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert {number: f"<{number}>/end".encode() for number in range(50)} == found
