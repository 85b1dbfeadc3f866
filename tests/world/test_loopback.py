"""A server for this machine: whose connections it takes, how many, and what it does when there is no room for one."""

from __future__ import annotations

import errno
import socket
import threading
from collections.abc import Iterator

import pytest

from tenon.world import loopback, peer
from tenon.world.loopback import Connection, Server

PATIENCE_S = 20.0


class Echo(Connection):
    """Answers each request with its target; `/hold` waits until it is let go."""

    who = "Echo"
    let_go = threading.Event()
    made = 0

    def setup(self) -> None:
        """Counts the connections that get a thread."""
        type(self).made += 1
        super().setup()

    def handle_one_request(self) -> None:
        """Answers the next request."""
        if self.next(100.0, 50.0) is None:
            return
        if self.path == "/hold":
            self.wfile.write(b"HTTP/1.1 100 Continue\r\n\r\n")  # so that the client knows that it is being served
            self.let_go.wait(PATIENCE_S)
        self.whole(200, [], self.path.encode())

    def refuse(self, status: int, sentence: str) -> int:
        """As text."""
        return self.whole(status, [], sentence.encode())


class Small(Server):
    """Takes three connections at once."""

    most = 3

    def __init__(self) -> None:
        super().__init__((loopback.HOST, 0), Echo)
        self.clients: list[socket.socket] = []

    def client(self, said: bytes = b"") -> socket.socket:
        """A connection that has said something."""
        client = socket.create_connection((loopback.HOST, self.server_address[1]), PATIENCE_S)
        self.clients.append(client)
        client.sendall(said)
        return client


@pytest.fixture
def small() -> Iterator[Small]:
    """A small server that runs."""
    Echo.let_go.clear()
    Echo.made = 0
    server = Small()
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    yield server
    Echo.let_go.set()
    for client in server.clients:
        client.close()
    server.shutdown()
    server.server_close()
    thread.join()


def asks(target: str) -> bytes:
    """A request."""
    return f"GET {target} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()


def told(client: socket.socket, end: bytes) -> bytes:
    """What comes, up to these bytes or the connection's end."""
    found = b""
    while not found.endswith(end):
        data = client.recv(4096)
        if not data:
            break
        found += data
    return found


def test_another_user_costs_no_thread(small: Small, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are told why, before anything is read."""
    monkeypatch.setattr(peer, "is_foreign", lambda connection: True)
    said = told(small.client(), b"?")
    assert said.startswith(b"HTTP/1.1 403 Forbidden\r\n")
    assert said.endswith(b"Echo belongs to another user of this machine; start your own with Tenon's command.\n")
    assert (0, {}) == (Echo.made, small._held)


def test_who_is_turned_away_can_read_why_though_they_still_send(small: Small, monkeypatch: pytest.MonkeyPatch) -> None:
    """The connection is not reset under them; only so many are kept for that."""
    monkeypatch.setattr(peer, "is_foreign", lambda connection: True)
    clients = [small.client() for _ in range(loopback.AWAY)]
    for client in clients:
        client.recv(1, socket.MSG_PEEK)
        for _ in range(3):
            client.sendall(asks("/late"))
        assert told(client, b"?").endswith(b"command.\n")
    for _ in range(5):
        assert told(small.client(), b"?")
    assert loopback.AWAY == len(small._away)


def test_whose_a_connection_is_is_asked_once(small: Small, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many requests it brings."""
    asked: list[socket.socket] = []
    monkeypatch.setattr(peer, "is_foreign", lambda connection: bool(asked.append(connection)))
    client = small.client()
    for number in range(3):
        client.sendall(asks(f"/{number}"))
        assert told(client, f"/{number}".encode()).startswith(b"HTTP/1.1 200 OK")
    assert 1 == len(asked)


def test_the_one_that_is_idle_for_longest_makes_way(small: Small) -> None:
    """One at work never does; a new one is served."""
    at_work = small.client(asks("/hold"))
    assert told(at_work, b"\r\n\r\n").startswith(b"HTTP/1.1 100")
    idle = small.client(asks("/first"))
    assert told(idle, b"/first")
    later = small.client(asks("/second"))
    assert told(later, b"/second")
    new = small.client(asks("/third"))
    assert told(new, b"/third").startswith(b"HTTP/1.1 200 OK")
    assert b"" == idle.recv(1)
    Echo.let_go.set()
    assert told(at_work, b"/hold").startswith(b"HTTP/1.1 200 OK")
    later.sendall(asks("/again"))
    assert told(later, b"/again").startswith(b"HTTP/1.1 200 OK")


def test_where_all_are_at_work_a_new_one_is_told_so(small: Small) -> None:
    """And there is room again once one has ended."""
    for _ in range(3):
        assert told(small.client(asks("/hold")), b"\r\n\r\n").startswith(b"HTTP/1.1 100")
    refused = told(small.client(), b"?")
    assert refused.startswith(b"HTTP/1.1 503 Service Unavailable\r\n")
    assert refused.endswith(b"try again in a moment.\n")
    Echo.let_go.set()
    assert told(small.clients[0], b"/hold")
    assert told(small.client(asks("/now")), b"/now").startswith(b"HTTP/1.1 200 OK")


def test_files_are_left_for_other_things(small: Small) -> None:
    """A connection whose number is too near to the most that a process may open is not taken."""
    small._highest = 0
    assert told(small.client(), b"?").startswith(b"HTTP/1.1 503 Service Unavailable\r\n")
    small._highest = loopback._most_files()
    assert told(small.client(asks("/now")), b"/now").startswith(b"HTTP/1.1 200 OK")


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENFILE])
def test_where_no_connection_can_be_taken_it_pauses_and_makes_room(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Idle ones go, and the loop does not spin; any other trouble costs no pause."""
    pauses: list[float] = []
    monkeypatch.setattr(loopback.time, "sleep", pauses.append)
    with Small() as server:
        ours, idle = socket.socketpair()
        server._held[idle] = 1.0

        def fails(self: object) -> None:
            raise OSError(number, "no room")

        monkeypatch.setattr(loopback.TCPServer, "get_request", fails)
        server._handle_request_noblock()  # type: ignore[attr-defined]
        assert ([loopback.PAUSE_S], {}) == (pauses, server._held)
        assert b"" == ours.recv(1)
        number = errno.ECONNABORTED
        server._handle_request_noblock()  # type: ignore[attr-defined]
        assert [loopback.PAUSE_S] == pauses
        ours.close()
        idle.close()


def test_a_new_connection_is_not_waited_for_as_long_as_a_kept_one(small: Small, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may be opened ahead of its first request; afterwards it may be kept."""
    waited: list[float] = []
    awaited = Connection.awaited

    def seen(self: Connection, idle_s: float) -> bool:
        try:
            return awaited(self, idle_s)
        finally:
            waited.append(self.connection.gettimeout() or 0.0)

    monkeypatch.setattr(Connection, "awaited", seen)
    client = small.client()
    for number in range(2):
        client.sendall(asks(f"/{number}"))
        assert told(client, f"/{number}".encode())
    assert [loopback.FIRST_S, 100.0] == waited
