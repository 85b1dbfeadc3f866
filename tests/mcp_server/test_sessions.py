"""Sessions over HTTP: how many, how long, and that whoever asks a client that is gone does not wait."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from mcp_server.asking import Asking
from mcp_server.protocol import Context, Peer, Unanswered
from mcp_server.sessions import Session, Sessions
from tests.mcp_server import conformance_tools


class Clock:
    """Seconds that a test moves."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        """The time."""
        return self.now


def opened(sessions: Sessions) -> Session:
    """A new session, which there must be."""
    session = sessions.open()
    assert session is not None
    return session


def test_ids_are_long_and_all_different() -> None:
    """Sixteen random bytes each."""
    sessions = Sessions(conformance_tools.dispatcher)
    names = {opened(sessions).name for _ in range(50)}
    assert (50, {32}) == (len(names), {len(name) for name in names})


def test_a_session_that_nobody_uses_ends() -> None:
    """Its last use counts, and one that is at work does not end."""
    clock = Clock()
    sessions = Sessions(conformance_tools.dispatcher, idle_s=10.0, clock=clock)
    idle, used, busy = opened(sessions), opened(sessions), opened(sessions)
    clock.now += 6
    with sessions.working(used):
        pass
    with sessions.working(busy):
        clock.now += 6
        assert [None, used, busy] == [sessions.find(session.name) for session in (idle, used, busy)]
        clock.now += 20
        assert [None, None, busy] == [sessions.find(session.name) for session in (idle, used, busy)]


def test_the_one_that_was_idle_longest_gives_way_to_a_new_one() -> None:
    """When all are at work, there is no other."""
    clock = Clock()
    sessions = Sessions(conformance_tools.dispatcher, most=2, clock=clock)
    first = opened(sessions)
    clock.now += 1
    second = opened(sessions)
    with sessions.working(first):
        third = opened(sessions)
        assert [first, None, third] == [sessions.find(session.name) for session in (first, second, third)]
        with sessions.working(third):
            assert sessions.open() is None
    assert 2 == len(sessions)


def test_a_question_ends_with_its_session() -> None:
    """Whoever waits for the client's answer goes on at once; a refusal is no answer, a foreign one is not taken."""
    asking = Asking()
    sent: list[dict[str, object]] = []
    with pytest.raises(Unanswered, match="refused"):
        asking.ask(
            lambda message: asking.hear([{"jsonrpc": "2.0", "id": "other", "result": {}}, {"id": message["id"], "error": {"code": 1}}]), "roots/list", {}
        )
    assert {"roots": []} == asking.ask(lambda message: asking.hear({"jsonrpc": "2.0", "id": message["id"], "result": {"roots": []}}), "roots/list", {})

    def closing(message: dict[str, object]) -> None:
        sent.append(message)
        threading.Thread(target=asking.close).start()

    with pytest.raises(Unanswered, match="is gone"):
        asking.ask(closing, "roots/list", {})
    assert [{"jsonrpc": "2.0", "id": "tenon-3", "method": "roots/list"}] == sent


def test_a_client_that_does_not_answer_is_given_up() -> None:
    """After the time that is given to it."""
    with pytest.raises(Unanswered, match="did not answer"):
        Asking(wait_s=0.0).ask(lambda message: None, "roots/list", {})


def test_ending_a_session_ends_what_it_is_asked() -> None:
    """Also when another takes its place."""
    sessions = Sessions(conformance_tools.dispatcher, most=1)
    for end in (lambda session: sessions.end(session.name), lambda session: sessions.open(), lambda session: sessions.close()):
        session = opened(sessions)
        end(session)
        with pytest.raises(Unanswered, match="is gone"):
            session.asking.ask(lambda message: None, "roots/list", {})


def test_roots_that_change_while_they_are_told_are_asked_for_again(tmp_path: Path) -> None:
    """What came is used for the call that asked, and for no other."""
    asking = Asking()
    asked: list[str] = []

    def ask(method: str, params: dict[str, Any]) -> dict[str, Any]:
        asked.append(method)
        if len(asked) == 1:
            asking.hear({"jsonrpc": "2.0", "method": "notifications/roots/list_changed"})
        return {"roots": [{"uri": tmp_path.as_uri()}]}

    context = Context("2025-11-25", {}, {"roots": {}}, {}, Peer(ask=ask))
    assert [str(tmp_path)] * 3 == [asking.folder(context) for _ in range(3)]
    assert ["roots/list"] * 2 == asked
