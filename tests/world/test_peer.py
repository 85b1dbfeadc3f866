"""Whose a connection on this machine is."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from collections.abc import Iterator

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
        other.communicate(b"\n", timeout=10)
