"""The dashboard's own server on a real port: what browsers send, and what nobody should."""

from __future__ import annotations

import http.client
import json
import os
import shutil
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar
from urllib.parse import urlsplit

import pytest

from tenon.base import faults, paths
from tenon.base.errors import TenonError
from tenon.dashboard import server
from tenon.dashboard.server import DashboardServer
from tenon.store import db, identity, memories


@contextmanager
def serving(*, allow_edit: bool = False) -> Iterator[DashboardServer]:
    """A server of the default agent, which has one memory."""
    with db.open_store(paths.store_path("default")) as store:
        memories.write(store, repository=None, tier="long", kind="fact", text="Deploys go out on Fridays", reason="said so", now=1.0)
    found = DashboardServer(0, "default", allow_edit=allow_edit)
    thread = threading.Thread(target=found.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield found
    finally:
        while Browser.open:
            Browser.open.pop().door.close()
        found.shutdown()
        found.close()
        thread.join(10)
        assert not thread.is_alive()


@pytest.fixture
def here() -> Iterator[DashboardServer]:
    """A dashboard that only shows."""
    with serving() as found:
        yield found


class Browser:
    """A connection that is kept, and the cookie; `open` are those that the end of a server closes."""

    open: ClassVar[list[Browser]] = []

    def __init__(self, here: DashboardServer) -> None:
        self.port = here.dashboard.door.port
        self.door = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        self.open.append(self)
        link = urlsplit(here.dashboard.link())
        _, head, _ = self.ask("GET", f"{link.path}?{link.query}")
        self.cookie = head["set-cookie"].partition(";")[0]

    def ask(self, method: str, target: str, body: bytes | None = None, **more: str) -> tuple[int, dict[str, str], bytes]:
        """Status, headers and body."""
        headers = {name.replace("_", "-"): value for name, value in more.items()}
        if hasattr(self, "cookie"):
            headers.setdefault("Cookie", self.cookie)
        self.door.request(method, target, body, headers)
        answer = self.door.getresponse()
        return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()


def raw(here: DashboardServer, data: bytes) -> bytes:
    """Everything that comes back on a connection on which that was sent, up to its end."""
    with socket.create_connection(("127.0.0.1", here.dashboard.door.port), 20) as client:
        client.sendall(data)
        parts = []
        while part := client.recv(65536):
            parts.append(part)
    return b"".join(parts)


def test_a_browser_comes_in_and_keeps_its_connection(here: DashboardServer) -> None:
    """One link, one cookie, many requests over one connection."""
    browser = Browser(here)
    before = browser.door.sock
    statuses = [browser.ask("GET", f"/_dashboard/{path}")[0] for path in ("", "default/memories", "default/about.json", "static/style.css", "default/nothing")]

    assert [303, 200, 200, 200, 404] == statuses
    assert before is browser.door.sock


def test_a_head_has_the_length_and_no_body(here: DashboardServer) -> None:
    """And the connection goes on."""
    browser = Browser(here)
    status, head, body = browser.ask("HEAD", "/_dashboard/default/memories")
    assert (200, True, b"") == (status, int(head["content-length"]) > 100, body)
    assert 200 == browser.ask("GET", "/_dashboard/default/memories")[0]


def test_what_a_browser_has_already_is_not_sent_again(here: DashboardServer) -> None:
    """No length is told of it, and the connection goes on."""
    browser = Browser(here)
    mark = browser.ask("GET", "/_dashboard/static/style.css")[1]["etag"]
    status, head, body = browser.ask("GET", "/_dashboard/static/style.css", If_None_Match=mark)
    assert (304, b"", None) == (status, body, head.get("content-length"))
    assert 200 == browser.ask("GET", "/_dashboard/default/memories")[0]


def test_each_of_two_dashboards_has_a_cookie_of_its_own(here: DashboardServer) -> None:
    """A browser sends both to both."""
    with serving() as other:
        one, two = Browser(here), Browser(other)
        assert one.cookie.partition("=")[0] != two.cookie.partition("=")[0]
        both = f"{one.cookie}; {two.cookie}"
        assert [200, 200] == [browser.ask("GET", "/_dashboard/default/memories", Cookie=both)[0] for browser in (one, two)]
        assert 401 == one.ask("GET", "/_dashboard/default/memories", Cookie=two.cookie)[0]


@pytest.mark.parametrize(
    ("wire", "status"),
    [
        (b"hello\r\n\r\n", 400),
        (b"GET /_dashboard/\r\n\r\n", 400),
        (b"GET /_dashboard/ HTTP/0.9\r\n\r\n", 400),
        (b"GET /_dashboard/ HTTP/2.0\r\n\r\n", 400),
        (b"GET  /_dashboard/ HTTP/1.1\r\nHost: {host}\r\n\r\n", 400),
        (b"GET /_dashboard/\x00 HTTP/1.1\r\nHost: {host}\r\n\r\n", 400),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\n\r\n\r\n", 400),
        (b"GET /_dashboard/ HTTP/1.1\r\nHost: {host}\r\nno colon\r\n\r\n", 400),
        (b"GET /_dashboard/ HTTP/1.1\r\nHost: {host}\r\nx: 1\r\n folded\r\n\r\n", 400),
        (b"GET /_dashboard/ HTTP/1.1\r\nHost: {host}\r\nx: " + b"y" * 70_000 + b"\r\n\r\n", 400),
        (b"GET /_dashboard/ HTTP/1.1\r\nHost: {host}\r\n" + b"".join(b"x%d: %s\r\n" % (number, b"y" * 6000) for number in range(50)) + b"\r\n", 400),
        (b"GET /_dashboard/" + b"a" * 70_000 + b" HTTP/1.1\r\nHost: {host}\r\n\r\n", 400),
        (b"POST /_dashboard/ HTTP/1.1\r\nHost: {host}\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}", 400),
        (b"POST /_dashboard/ HTTP/1.1\r\nHost: {host}\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}", 400),
        (b"POST /_dashboard/ HTTP/1.1\r\nHost: {host}\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 400),
        (b"POST /_dashboard/ HTTP/1.1\r\nHost: {host}\r\nContent-Length: 1000001\r\n\r\n", 413),
        (b"POST /_dashboard/ HTTP/1.1\r\nHost: {host}\r\nTransfer-Encoding: chunked\r\n\r\nF4241\r\n" + b"x" * 1_000_001 + b"\r\n0\r\n\r\n", 413),
        (b"GET http://evil.example/_dashboard/ HTTP/1.1\r\nHost: {host}\r\n\r\n", 403),
        (b"CONNECT evil.example:443 HTTP/1.1\r\nHost: evil.example\r\n\r\n", 403),
        (b"GET /_dashboard/ HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n", 403),
        (b"GET /_dashboard/ HTTP/1.1\r\nHost: {host}\r\nHost: {host}\r\nConnection: close\r\n\r\n", 403),
        (b"GET /_dashboard/ HTTP/1.1\r\nConnection: close\r\n\r\n", 403),
        (b"GET /_dashboard/ HTTP/1.0\r\n\r\n", 403),
        (b"GET /_dashboard/ HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n", 401),
        (b"GET / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n", 401),
        (b"\r\n\r\nGET /_dashboard/ HTTP/1.0\r\nHost: {host}\r\n\r\n", 401),
        (b"GET http://{host}/_dashboard/ HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n", 401),
    ],
)
def test_what_is_not_understood_is_refused(here: DashboardServer, wire: bytes, status: int) -> None:
    """With the headers that every answer has; the next connection is served."""
    host = f"127.0.0.1:{here.dashboard.door.port}".encode()
    answer = raw(here, wire.replace(b"{host}", host))
    assert answer.startswith(f"HTTP/1.1 {status} ".encode())
    assert b"Content-Security-Policy: default-src 'none'" in answer
    assert 200 == Browser(here).ask("GET", "/_dashboard/default/memories")[0]


def test_a_client_that_leaves_in_the_middle_is_forgotten(here: DashboardServer) -> None:
    """That is no fault."""
    for part in (b"", b"GET /_dash", b"POST /_dashboard/ HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nhalf", b"GET / HTTP/1.1\r\nHost: x\r\n"):
        with socket.create_connection(("127.0.0.1", here.dashboard.door.port), 20) as client:
            client.sendall(part)
            client.shutdown(socket.SHUT_WR)
            while client.recv(65536):
                pass
    assert 200 == Browser(here).ask("GET", "/_dashboard/default/memories")[0]
    assert [] == faults.recent()


def test_a_change_is_made_over_the_wire_and_a_get_makes_none() -> None:
    """With all that the pages send; without any of it nothing happens."""
    with serving(allow_edit=True) as here:
        browser = Browser(here)
        address = "/_dashboard/default/change.json"
        about: dict[str, Any] = json.loads(browser.ask("GET", "/_dashboard/default/about.json")[2])
        own = {"Origin": f"http://127.0.0.1:{browser.port}", "Content_Type": "application/json", "X_Tenon_Token": about["change_token"]}
        freeze = b'{"action": "freeze", "on": true}'

        refused = [
            browser.ask("GET", f"{address}?action=freeze&on=true", **own)[0],
            browser.ask("POST", address, freeze, **{**own, "Content_Type": "text/plain"})[0],
            browser.ask("POST", address, freeze, **{**own, "Origin": "http://evil.example"})[0],
            browser.ask("POST", address, freeze, **{**own, "X_Tenon_Token": "x"})[0],
            browser.ask("POST", address, freeze, **{**own, "Cookie": "none=1"})[0],
        ]
        assert [405, 415, 403, 403, 401] == refused
        assert not frozen()
        assert 200 == browser.ask("POST", address, freeze, **own)[0]
        assert frozen()


def frozen() -> bool:
    """Whether the default agent's identity is."""
    with db.open_reader(paths.store_path("default")) as store:
        return identity.is_frozen(store)


def test_it_ends_once_what_is_being_changed_is(here: DashboardServer) -> None:
    """So nothing is torn by Ctrl-C."""
    lock = here.dashboard.changing
    lock.acquire()
    done = threading.Event()
    ending = threading.Thread(target=lambda: (here.close(), done.set()))
    ending.start()
    assert not done.is_set()
    lock.release()
    ending.join(10)
    assert done.is_set()
    lock.release()


def test_a_taken_port_is_a_sentence(here: DashboardServer) -> None:
    """With the way out."""
    with pytest.raises(TenonError, match="leave --port out"):
        DashboardServer(here.dashboard.door.port, "default")


def test_another_user_of_this_machine_is_refused(here: DashboardServer) -> None:
    """Linux tells whose the connection is."""
    if not os.path.exists("/proc/net/tcp") or os.geteuid() != 0 or not shutil.which("setpriv") or not shutil.which("bash"):
        pytest.skip("needs Linux, root and setpriv")
    port = here.dashboard.door.port
    link = urlsplit(here.dashboard.link())
    ask = f"exec 3<>/dev/tcp/127.0.0.1/{port}; printf 'GET {link.path}?{link.query} HTTP/1.1\\r\\nHost: localhost:{port}\\r\\nConnection: close\\r\\n\\r\\n' >&3; cat <&3"
    found = {}
    for user in ("65534", "0"):
        done = subprocess.run(["setpriv", f"--reuid={user}", "--clear-groups", "bash", "-c", ask], capture_output=True, text=True, check=False, timeout=20)
        found[user] = done.stdout
    assert found["65534"].startswith("HTTP/1.1 403 Forbidden")
    assert "belongs to another user of this machine" in found["65534"]
    assert found["0"].startswith("HTTP/1.1 303 See Other")


def test_a_fault_of_a_connection_ends_no_other(here: DashboardServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is noted without what was said."""
    before = server.asked

    def broken(*given: object) -> None:
        raise ValueError("a secret")

    monkeypatch.setattr(server, "asked", broken)
    assert b"" == raw(here, f"GET /_dashboard/ HTTP/1.1\r\nHost: 127.0.0.1:{here.dashboard.door.port}\r\nConnection: close\r\n\r\n".encode())
    monkeypatch.setattr(server, "asked", before)
    assert 200 == Browser(here).ask("GET", "/_dashboard/default/memories")[0]
    assert [("dashboard", "ValueError", "")] == [(fault["door"], fault["error"], fault["said"]) for fault in faults.recent()]
