"""A client that hangs up is noticed at once, whatever the proxy is doing for it, and the upstream is let go."""

from __future__ import annotations

import json
import socket
import threading

import pytest

from tenon.proxy.hangup import Watch
from tests.fakes.messages_api import MessagesApi
from tests.fakes.raw_upstream import CHUNKED, LAST, RawUpstream, Visit, chunk, whole
from tests.fakes.replies import reply, text
from tests.proxy.pipes import Pipe, Plan, Scripted, drained, received, request

AT_ONCE_S = 1.0  # what the promise says; the tests wait longer and then measure


@pytest.fixture
def watch():
    """A running watch."""
    made = Watch()
    yield made
    made.stop()


@pytest.mark.parametrize("begun", [b"", CHUNKED, CHUNKED + chunk(b"event: ping\n\n")])
@pytest.mark.parametrize("rudely", [False, True])
def test_the_upstream_sees_within_a_second_that_nobody_waits(begun: bytes, rudely: bool) -> None:
    """Before the first byte as well as in the middle, by goodbye or by reset."""
    left: list[bool] = []
    with RawUpstream(lambda visit: (visit.send(begun), left.append(visit.wait_left(AT_ONCE_S)))[1]) as server:
        with Pipe(server.url, Scripted(lambda raw: Plan(raw, watch=True))) as pipe:
            user = pipe.connect()
            user.sendall(request(b"{}"))
            assert server.wait(lambda: bool(server.visits))
            if begun:
                received(user, begun[-8:])
            if rudely:
                user.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            user.close()
            assert server.wait(lambda: left == [True])
            pipe.rewriter.plans[0].over.wait(5)
            assert ["abandoned"] == pipe.rewriter.plans[0].told
    assert "end=the client hung up" in pipe.log()[0]


@pytest.mark.parametrize("options", [{"ttft": 20}, {"gap": 20}, {"hang": 20}])
def test_the_strict_fake_sees_it_too(options: dict[str, float]) -> None:
    """While the model thinks, between two events and before the last one."""
    ask = {"model": "claude-opus-4-8", "max_tokens": 100, "stream": True, "messages": [{"role": "user", "content": "hi"}]}
    headers = ["x-api-key: k", "anthropic-version: 2023-06-01", "content-type: application/json"]
    with MessagesApi([reply(text("words"), **options)]) as api, Pipe(api.url) as pipe:
        with pipe.connect() as user:
            user.sendall(request(json.dumps(ask).encode(), *headers))
            api.wait_for(lambda fake: fake.requests)
            if "ttft" not in options:
                received(user, b"message_start")
        api.wait_for(lambda fake: fake.requests[0].disconnected_at is not None, 5)


def test_the_other_streams_go_on() -> None:
    """One client's leaving is nobody else's concern."""
    go = threading.Event()
    left: list[bytes] = []

    def script(visit: Visit) -> None:
        visit.send(CHUNKED + chunk(visit.body))
        if visit.body == b"leaves":
            visit.wait_left()
            left.append(visit.body)
        else:
            go.wait(5)
            visit.send(LAST)

    with RawUpstream(script) as server, Pipe(server.url) as pipe:
        users = {name: pipe.connect() for name in (b"stays", b"leaves")}
        for name, user in users.items():
            user.sendall(request(name, "Connection: close"))
            received(user, chunk(name))
        users[b"leaves"].close()
        assert server.wait(lambda: left == [b"leaves"])
        go.set()
        assert drained(users[b"stays"]) == LAST
        users[b"stays"].close()


def test_a_client_that_does_not_read_is_not_one_that_left() -> None:
    """A stopped program finds everything when it goes on."""
    size = 30_000_000
    with RawUpstream(whole(b"x" * size)) as server, Pipe(server.url) as pipe, pipe.connect() as user:
        user.sendall(request(b"{}", "Connection: close"))
        assert server.wait(lambda: bool(server.visits))
        assert size == len(drained(user).partition(b"\r\n\r\n")[2])


def test_who_leaves_before_the_plan_is_made_costs_nothing() -> None:
    """The request is not even sent."""
    seen, go = threading.Event(), threading.Event()
    plan = Plan(b"{}")

    def slow(raw: bytes) -> Plan:
        seen.set()
        go.wait(5)
        return plan

    with RawUpstream(whole(b"ok")) as server, Pipe(server.url, Scripted(slow)) as pipe:
        with pipe.connect() as user:
            user.sendall(request(b"{}"))
            seen.wait(5)
            handler = next(iter(pipe.proxy._handlers))
            call = handler.call
        assert call is not None
        while not call.gone:
            threading.Event().wait(0.01)
        go.set()
        plan.over.wait(5)
        assert [] == server.visits
        assert ["abandoned"] == plan.told


def test_a_watch_tells_once_and_only_of_those_it_watches(watch: Watch) -> None:
    """Of the one that left, not of the quiet one, nor of one that is no longer watched."""
    pairs = {name: socket.socketpair() for name in ("left", "quiet", "unwatched", "early")}
    told: list[str] = []
    known = threading.Event()
    for name, (near, _) in pairs.items():
        watch.add(near, lambda name=name: (told.append(name), known.set()))
    watch.remove(pairs["unwatched"][0])
    pairs["early"][1].send(b"next request")
    pairs["unwatched"][1].close()
    pairs["left"][1].close()
    assert known.wait(5)
    assert ["left"] == told
    known.clear()
    assert pairs["early"][0].recv(4) == b"next"  # what was looked at is still there
    pairs["early"][0].recv(100)
    pairs["early"][1].close()
    assert known.wait(5)
    assert ["left", "early"] == told
    for pair in pairs.values():
        for end in pair:
            end.close()


def test_a_number_that_is_used_again_is_another_socket(watch: Watch) -> None:
    """Numbers of closed sockets come back at once."""
    for _ in range(200):
        near, far = socket.socketpair()
        known = threading.Event()
        watch.add(near, known.set)
        if _ % 2:
            watch.remove(near)
            near.close()
            far.close()
            assert not known.is_set()
        else:
            far.close()
            assert known.wait(5)
            watch.remove(near)
            near.close()
