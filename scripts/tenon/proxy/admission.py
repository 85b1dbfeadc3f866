"""Who may talk to the proxy: programs of this user on this machine, and no web page."""

from __future__ import annotations

from tenon.world import dial, peer, strict

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    from collections.abc import Sequence


def refusal(headers: Sequence[tuple[str, str]], *, old: bool) -> str:
    """Why a request with these headers is not served, as a sentence; "" when it is. `old` is HTTP/1.0, which needs no Host."""
    hosts = strict.values(headers, "host")
    if len(hosts) > 1 or (not hosts and not old) or not all(dial.is_loopback(name_of(host)) for host in hosts):
        return "Tenon's proxy serves this machine only: address it as http://127.0.0.1 with its port."
    # Also of this machine: whatever a local server shows could read past sessions in the answers to a key of its own.
    if strict.values(headers, "origin"):
        return "Tenon's proxy does not serve web pages."
    return ""


def stranger(client: socket.socket) -> str:
    """Why whoever is at the other end is not served; "" when they are."""
    address = str(client.getpeername()[0])
    if not dial.is_loopback(address):
        return "Tenon's proxy serves this machine only."
    if peer.is_foreign(client):
        return "This proxy belongs to another user of this machine; start your own with Tenon's command."
    return ""


def name_of(host: str) -> str:
    """The host without its port, lower case, «» for one that is malformed."""
    host = host.strip().lower()
    if host.startswith("["):
        name, bracket, port = host[1:].partition("]")
        port = port.lstrip(":") if port.startswith(":") or not port else "?"
        return name if bracket and (not port or port.isdigit()) else ""
    name, colon, port = host.partition(":")
    return name if not colon or port.isdigit() else ""
