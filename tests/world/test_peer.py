"""Whose a connection on this machine is."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tenon.world import peer

LINUX = os.path.exists("/proc/net/tcp")


@pytest.fixture
def server() -> Iterator[socket.socket]:
    """A listening socket."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener


def test_one_s_own_connection_is_known(server: socket.socket) -> None:
    """By the user's number."""
    with socket.create_connection(server.getsockname()) as client:
        accepted, _ = server.accept()
        with accepted:
            assert (os.geteuid() if LINUX else None) == peer.owner(accepted)
            assert not peer.is_foreign(accepted)
            assert client.fileno()


def test_a_client_that_speaks_both_families_is_known_too(server: socket.socket) -> None:
    """The kernel lists it among IPv6 then."""
    if not LINUX or not socket.has_ipv6:
        pytest.skip("needs Linux with IPv6")
    with socket.socket(socket.AF_INET6, socket.SOCK_STREAM) as client:
        try:
            client.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
            client.connect(("::ffff:127.0.0.1", server.getsockname()[1]))
        except OSError:
            pytest.skip("this machine has no IPv6")
        accepted, _ = server.accept()
        with accepted:
            assert os.geteuid() == peer.owner(accepted)


def test_a_connection_that_was_closed_belongs_to_nobody(server: socket.socket) -> None:
    """It must not count as root's."""
    client = socket.create_connection(server.getsockname())
    accepted, _ = server.accept()
    with accepted:
        client.close()
        assert (peer.GONE if LINUX else None) == peer.owner(accepted)
        assert LINUX == peer.is_foreign(accepted)


def test_where_nothing_is_known_everybody_is_let_in(server: socket.socket, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on macOS and Windows."""
    monkeypatch.setattr(peer, "TABLES", (("/nowhere", False),))
    with socket.create_connection(server.getsockname()):
        accepted, _ = server.accept()
        with accepted:
            assert peer.owner(accepted) is None
            assert not peer.is_foreign(accepted)


@pytest.mark.parametrize("address", ["127.0.0.1", "0.0.0.0", "::", "::ffff:127.0.0.1"])  # noqa: S104
def test_the_owner_of_a_port_is_known(address: str) -> None:
    """However it listens; nobody when none does."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as listener:
        try:
            if family == socket.AF_INET6:
                listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
            listener.bind((address, 0))
        except OSError:
            pytest.skip("this machine has no IPv6")
        port = listener.getsockname()[1]
        before = peer.listener(port)
        listener.listen()
        assert (None, os.geteuid() if LINUX else None) == (before, peer.listener(port))
        assert not peer.is_taken_by_another(port)


def test_the_port_of_another_user_is_told_from_one_s_own(server: socket.socket) -> None:
    """By a program that runs as somebody else."""
    if not LINUX or os.geteuid() != 0 or not shutil.which("setpriv"):
        pytest.skip("needs Linux, root and setpriv")
    code = "import socket\ns = socket.create_server(('127.0.0.1', 0))\nprint(s.getsockname()[1], flush=True)\ninput()"
    command = ["setpriv", "--reuid=65534", "--clear-groups", "/usr/bin/python3", "-I", "-S", "-c", code]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        port = int(other.stdout.readline())
        assert (65534, True) == (peer.listener(port), peer.is_taken_by_another(port))
        with socket.create_connection(("127.0.0.1", port)) as client:
            assert peer.is_trusted(client, "nobody-of-that-name") is False
        other.communicate(b"\n", timeout=10)


@pytest.mark.parametrize("address", ["127.0.0.1", "127.0.0.2", "::1", "::ffff:127.0.0.1"])
def test_one_s_own_server_is_trusted(address: str) -> None:
    """By whichever address it is reached."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family) as listener, socket.socket(family) as client:
        try:
            listener.bind((address, 0))
        except OSError:
            pytest.skip("this machine does not have the address")
        listener.listen()
        client.connect(listener.getsockname()[:2])
        accepted, _ = listener.accept()
        with accepted:
            assert (True if LINUX else None) == peer.is_trusted(client, "nobody-of-that-name")
            listener.close()  # the connection is still there, and whose it was is not known any more
            assert peer.is_trusted(client, "nobody-of-that-name") is None


@pytest.mark.parametrize(("uid", "trusted"), [(0, True), (4991, True), (4992, False), (65534, False), (None, None)])
def test_a_server_is_trusted_by_whose_it_is(
    server: socket.socket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, uid: int | None, trusted: bool | None
) -> None:
    """Root's and that of the user who was named, of all the others one's own."""
    if os.name != "posix":
        pytest.skip("no such users")
    port = server.getsockname()[1]
    row = f"0: {peer._hex('127.0.0.1', port, False)} 00000000:0000 0A 00000000:00000000 00:00000000 00000000 {uid or 0} 0 1 1 0\n"
    (tmp_path / "tcp").write_text("  sl  local_address\n" + (row if uid is not None else ""), encoding="ascii")
    (tmp_path / "people").write_text("root:x:0:0::/:/bin/sh\nollama:x:4991:1:Jörg:/:/bin/sh\nollama2:x:4992:1::/:/bin/sh\nollama:x\n", encoding="utf-8")
    monkeypatch.setattr(peer, "TABLES", ((str(tmp_path / "tcp"), False),))
    monkeypatch.setattr(peer, "PEOPLE", str(tmp_path / "people"))
    with socket.create_connection(server.getsockname()) as client:
        assert trusted == peer.is_trusted(client, "ollama")
    monkeypatch.setattr(peer, "TABLES", (("/nowhere", False),))
    with socket.create_connection(server.getsockname()) as client:
        assert (False, None) == (peer.is_known(), peer.is_trusted(client, "ollama"))
