"""Only programs of this user on this machine are served, and only what is HTTP."""

from __future__ import annotations

import json
import os
import shutil
import subprocess

import pytest

from tenon.proxy import admission
from tests.fakes.raw_upstream import RawUpstream, whole
from tests.proxy.pipes import Pipe, request


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.1:9000", "localhost:1", "LOCALHOST", "[::1]:9000", "[::1]", "127.1.2.3"])
def test_this_machine_by_any_of_its_names(host: str) -> None:
    """With any port."""
    assert "" == admission.refusal([("Host", host)], old=False)


@pytest.mark.parametrize(
    "headers",
    [
        [],
        [("host", "evil.example")],
        [("host", "127.0.0.1.evil.example")],
        [("host", "localhost.evil.example:80")],
        [("host", "127.0.0.1:80@evil.example")],
        [("host", "[::1].evil")],
        [("host", "0.0.0.0")],  # noqa: S104
        [("host", "192.168.0.2:9000")],
        [("host", "")],
        [("host", "127.0.0.1"), ("Host", "127.0.0.1")],
        [("host", "127.0.0.1"), ("origin", "https://evil.example")],
        [("host", "127.0.0.1"), ("origin", "null")],
        [("host", "127.0.0.1:9000"), ("origin", "http://localhost:3000")],
        [("host", "127.0.0.1:9000"), ("origin", "http://127.0.0.1:9000")],
        [("host", "127.0.0.1"), ("origin", "")],
        [("host", "127.0.0.1"), ("origin", "http://localhost.evil.example")],
        [("host", "127.0.0.1"), ("origin", "file://")],
    ],
)
def test_anybody_else_is_refused(headers: list[tuple[str, str]]) -> None:
    """A page's address that was pointed here, a page of this machine or another, two hosts, none."""
    assert admission.refusal(headers, old=False).startswith("Tenon's proxy ")


def test_a_refusal_has_the_api_s_form_and_sends_nothing() -> None:
    """Status 403; the connection ends."""
    with RawUpstream(whole(b"ok")) as server, Pipe(server.url) as pipe:
        for refused in (request(b"{}", "Host: evil.example"), request(b"{}", "Origin: https://evil.example"), request(b"x" * 2_000_000, "Host: evil.example")):
            head, _, body = pipe.ask(refused).partition(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 403 Forbidden")
            assert ("error", "permission_error") == (json.loads(body)["type"], json.loads(body)["error"]["type"])
        assert [] == server.visits
        assert all("status=403" in line and "end=refused" in line for line in pipe.log())


@pytest.mark.parametrize(
    ("wire", "status"),
    [
        (b"hello\r\n\r\n", 400),
        (b"GET /\r\n\r\n", 400),
        (b"GET / HTTP/0.9\r\n\r\n", 400),
        (b"GET / HTTP/2.0\r\n\r\n", 400),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\n\r\n\r\n", 400),
        (request(b"", "no colon", method="GET"), 400),
        (request(b"", "bad name: x", method="GET"), 400),
        (request(b"", "x: 1\r\n folded", method="GET"), 400),
        (request(b"{}", "Content-Length: 2", "Content-Length: 3"), 400),
        (request(b"{}", "Content-Length: -2"), 400),
        (request(b"{}", "Content-Length: 2", "Transfer-Encoding: chunked"), 400),
        (request(b"{}", "Transfer-Encoding: gzip, chunked"), 400),
        (request(b"zz\r\n", "Transfer-Encoding: chunked"), 400),
        (request(b"", "x: " + "y" * 70_000, method="GET"), 400),
        (request(b"", *(f"x{number}: {'y' * 6000}" for number in range(50)), method="GET"), 400),
        (request(b"", method="CONNECT", target="api.anthropic.com:443"), 403),
        (request(b"", method="GET", target="http://evil.example/"), 403),
        (request(b"", method="GET", target="https://127.0.0.1/"), 403),
    ],
)
def test_what_is_not_understood_is_refused_and_not_sent(wire: bytes, status: int) -> None:
    """Two readings of one request are one too many."""
    with RawUpstream(whole(b"ok")) as server, Pipe(server.url) as pipe:
        assert pipe.ask(wire).startswith(f"HTTP/1.1 {status} ".encode())
        assert [] == server.visits


def test_a_whole_address_of_this_machine_is_cut_down_to_its_path() -> None:
    """Some clients send one."""
    with RawUpstream(whole(b"ok")) as server, Pipe(server.url) as pipe:
        pipe.ask(request(b"", "Connection: close", method="GET", target=f"http://127.0.0.1:{pipe.port}/v1/models?a=b"))
        assert "GET /v1/models?a=b HTTP/1.1" == server.visits[0].lines[0]


def test_a_client_that_leaves_in_the_middle_of_a_request_is_forgotten() -> None:
    """Nothing goes upstream, and nothing stays behind."""
    with RawUpstream(whole(b"ok")) as server, Pipe(server.url) as pipe:
        for part in (b"", b"POST / HT", request(b"", "Content-Length: 100") + b"half", request(b"", "Transfer-Encoding: chunked") + b"5\r\nha"):
            with pipe.connect() as user:
                user.sendall(part)
        with pipe.proxy._changed:
            assert pipe.proxy._changed.wait_for(lambda: not pipe.proxy._handlers, 5)
        assert [] == server.visits


def test_another_user_of_this_machine_is_refused() -> None:
    """Linux tells whose the connection is."""
    if not os.path.exists("/proc/net/tcp") or os.geteuid() != 0 or not shutil.which("setpriv") or not shutil.which("bash"):
        pytest.skip("needs Linux, root and setpriv")
    with RawUpstream(whole(b"ok")) as server, Pipe(server.url) as pipe:
        ask = f"exec 3<>/dev/tcp/127.0.0.1/{pipe.port}; printf 'GET / HTTP/1.1\\r\\nHost: localhost\\r\\nConnection: close\\r\\n\\r\\n' >&3; cat <&3"
        found = {}
        for user in ("65534", "0"):
            done = subprocess.run(["setpriv", f"--reuid={user}", "--clear-groups", "bash", "-c", ask], capture_output=True, text=True, check=False, timeout=20)
            found[user] = done.stdout
        assert found["65534"].startswith("HTTP/1.1 403 Forbidden")
        assert "belongs to another user of this machine" in found["65534"]
        assert found["0"].startswith("HTTP/1.1 200 OK")
        assert 1 == len(server.visits)
