"""The dashboard behind the proxy's port: opened by a proven question, read-only, and never in the way of what is relayed."""

from __future__ import annotations

import json
import threading
from typing import Any
from urllib.parse import urlsplit

import pytest

from tenon.base import faults, paths
from tenon.dashboard import answers
from tenon.proxy import page
from tenon.proxy.server import Proxy
from tenon.store import db, identity, memories
from tenon.world import daemon
from tests.fakes.raw_upstream import RawUpstream, whole
from tests.proxy.pipes import Pipe, proven, request

CLOSE = "Connection: close"


@pytest.fixture(autouse=True)
def _memory() -> None:
    """The default agent has a memory."""
    with db.open_store(paths.store_path("default")) as store:
        memories.write(store, repository=None, tier="long", kind="fact", text="Deploys go out on Fridays", reason="said so", now=1.0)


def ask(pipe: Pipe, target: str, *headers: str, method: str = "GET", body: bytes = b"") -> tuple[int, dict[str, str], bytes]:
    """Status, headers and body of an answer; the right host is named unless the headers name one."""
    host = [] if any(header.startswith("Host:") for header in headers) else [f"Host: 127.0.0.1:{pipe.port}"]
    head, _, said = pipe.ask(request(body, CLOSE, *host, *headers, method=method, target=target)).partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    return int(first.split()[1]), {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}, said


def link(pipe: Pipe) -> str:
    """The target of a link, asked for as `tenon dashboard` does."""
    status, _, body = ask(pipe, "/_tenon/dashboard", *proven(pipe, "POST", "/_tenon/dashboard"), method="POST")
    assert 200 == status
    found = urlsplit(json.loads(body)["link"])
    assert f"127.0.0.1:{pipe.port}" == found.netloc
    return f"{found.path}?{found.query}"


def cookie(pipe: Pipe) -> str:
    """The header of somebody who came in by a link."""
    return "Cookie: " + ask(pipe, link(pipe))[1]["set-cookie"].partition(";")[0]


def test_a_link_from_the_proxy_opens_its_pages_once() -> None:
    """Nothing of it goes upstream."""
    with RawUpstream(whole(b"ok")) as upstream, Pipe(upstream.url, agent=lambda: "default") as pipe:
        target = link(pipe)
        first, second = ask(pipe, target), ask(pipe, target)
        inside = "Cookie: " + first[1]["set-cookie"].partition(";")[0]

        assert (303, "/_dashboard/default/memories", 401) == (first[0], first[1]["location"], second[0])
        assert [200, 200, 200, 303, 404] == [
            ask(pipe, path, inside)[0]
            for path in ("/_dashboard/default/memories", "/_dashboard/default/about.json", "/_dashboard/static/style.css", "/_dashboard", "/_dashboard/x")
        ]
        assert [] == upstream.visits


@pytest.mark.parametrize("target", ["/_dashboard", "/_dashboard/", "/_dashboard?x", "/_dashboard/default/memories.json", "http://127.0.0.1/_dashboard/x", "/_dashboard/../v1/messages"])  # fmt: skip
def test_nothing_below_its_address_goes_upstream(target: str) -> None:
    """Whoever has no cookie is refused, with the headers that every page has."""
    with RawUpstream(whole(b"ok")) as upstream, Pipe(upstream.url) as pipe:
        status, head, _ = ask(pipe, target)
        assert (401, True) == (status, head["content-security-policy"].startswith("default-src 'none'"))
        assert [] == upstream.visits


@pytest.mark.parametrize(
    "header", ["Host: evil.example", "Host: 127.0.0.1:1", "Origin: https://evil.example", "Origin: http://127.0.0.1:1", "Sec-Fetch-Site: same-site"]
)
def test_another_page_is_refused_though_it_has_the_cookie(header: str) -> None:
    """By the dashboard's door."""
    with RawUpstream(whole(b"ok")) as upstream, Pipe(upstream.url) as pipe:
        assert 403 == ask(pipe, "/_dashboard/default/about.json", cookie(pipe), header)[0]


def test_the_rule_for_other_pages_stays_for_all_other_addresses() -> None:
    """Its own page is still a page there."""
    with RawUpstream(whole(b"ok")) as upstream, Pipe(upstream.url) as pipe:
        own = f"Origin: http://127.0.0.1:{pipe.port}"
        assert 200 == ask(pipe, "/_dashboard/default/about.json", cookie(pipe), own)[0]
        for target, method in (("/v1/models", "GET"), ("/_tenon/dashboard", "POST"), ("/_dashboards/", "GET"), ("/x/_dashboard/", "GET")):
            assert 403 == ask(pipe, target, own, *proven(pipe, method, target), method=method)[0]
        assert [] == upstream.visits


def test_a_link_is_given_to_whoever_knows_the_token_alone() -> None:
    """A cookie is no such proof."""
    with RawUpstream(whole(b"ok")) as upstream, Pipe(upstream.url) as pipe:
        assert 401 == ask(pipe, "/_tenon/dashboard", method="POST")[0]
        assert 401 == ask(pipe, "/_tenon/dashboard", cookie(pipe), method="POST")[0]
        assert 401 == ask(pipe, "/_tenon/dashboard", *proven(pipe, "POST", "/_tenon/dashboard", "wrong"), method="POST")[0]


def test_it_only_shows() -> None:
    """A change is refused whatever comes with it, and one that is large before it is read."""
    with RawUpstream(whole(b"ok")) as upstream, Pipe(upstream.url) as pipe:
        given = (cookie(pipe), f"Origin: http://127.0.0.1:{pipe.port}", "Content-Type: application/json", "X-Tenon-Token: ")
        assert 403 == ask(pipe, "/_dashboard/default/change.json", *given, method="POST", body=b'{"action": "freeze", "on": true}')[0]
        assert 413 == ask(pipe, "/_dashboard/default/change.json", *given, method="POST", body=b"x" * 1_000_001)[0]
        with db.open_reader(paths.store_path("default")) as store:
            assert not identity.is_frozen(store)
        assert "change_token" not in json.loads(ask(pipe, "/_dashboard/default/about.json", given[0])[2])


def test_the_log_keeps_no_name_of_what_was_looked_at() -> None:
    """Method and status, and that it was the dashboard."""
    with RawUpstream(whole(b"ok")) as upstream, Pipe(upstream.url) as pipe:
        inside = cookie(pipe)
        ask(pipe, "/_dashboard/default/history/secret-session.json?q=secret", inside)
        ask(pipe, f"http://127.0.0.1:{pipe.port}/_dashboard/default/history/secret-session", inside)
        ask(pipe, "/_dashboard/default/history/secret-session", "Host: evil.example")
        shown = [line for line in pipe.log() if "/_dashboard/" in line]

        assert 4 == len(shown)
        assert not any("secret" in line or "token" in line or "default/" in line for line in shown)
        assert all(" GET " in line and "/_dashboard/... " in line for line in shown)


def test_a_slow_page_holds_no_request_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Messages are relayed while the store is still being asked."""
    begun, go = threading.Event(), threading.Event()

    def slow(self: answers.Dashboard, agent: str, query: object) -> dict[str, Any]:
        begun.set()
        assert go.wait(20)
        return {"slow": True}

    monkeypatch.setattr(answers.Dashboard, "_about", slow)
    with RawUpstream(whole(b"ok")) as upstream, Pipe(upstream.url) as pipe:
        inside = cookie(pipe)
        found: list[int] = []
        looking = threading.Thread(target=lambda: found.append(ask(pipe, "/_dashboard/default/about.json", inside)[0]))
        looking.start()
        assert begun.wait(20)
        assert pipe.ask(request(b"{}", CLOSE)).endswith(b"ok")
        assert [] == found
        go.set()
        looking.join(20)
        assert [200] == found


def test_a_dashboard_that_cannot_be_made_touches_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its fault is noted; messages go on as they did."""

    def broken(self: Proxy) -> None:
        raise ValueError("a secret")

    monkeypatch.setattr(Proxy, "dashboard", broken)
    with RawUpstream(whole(b"ok")) as upstream, Pipe(upstream.url) as pipe:
        status, _, body = ask(pipe, "/_dashboard/")
        assert (500, page.FAULT) == (status, json.loads(body)["error"]["message"])
        assert 500 == ask(pipe, "/_tenon/dashboard", *proven(pipe, "POST", "/_tenon/dashboard"), method="POST")[0]
        assert pipe.ask(request(b"{}", CLOSE)).endswith(b"ok")
    assert {("proxy", "ValueError", "")} == {(fault["door"], fault["error"], fault["said"]) for fault in faults.recent()}


def test_pages_do_not_count_as_requests_on_their_way() -> None:
    """The status is about what is relayed."""
    with RawUpstream(whole(b"ok")) as upstream, Pipe(upstream.url) as pipe:
        ask(pipe, "/_dashboard/default/about.json", cookie(pipe))
        assert (0, 0) == (pipe.proxy.requests, pipe.proxy.in_flight)


def test_the_daemon_gives_a_link_where_the_proxy_has_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """And none where none runs, or where it is too old to know the address."""
    assert "" == daemon.link()
    with RawUpstream(whole(b"ok")) as upstream, Pipe(upstream.url) as pipe:
        for _ in range(500):
            if daemon.recorded() is not None:
                break
            threading.Event().wait(0.01)
        found = daemon.link(20.0)
        assert found.startswith(f"http://127.0.0.1:{pipe.port}/_dashboard/?token=")
        for told in ((404, "no such address"), (200, {"link": "http://evil.example/_dashboard/"}), (200, {"link": 1}), (200, [])):
            monkeypatch.setattr("tenon.proxy.control._link", lambda proxy, told=told: told)
            assert "" == daemon.link(20.0)
