"""Who may talk to the proxy: programs on this machine, and no web page."""

from __future__ import annotations

from tenon.world import dial, loopback, strict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


def refusal(headers: Sequence[tuple[str, str]], *, old: bool) -> str:
    """Why a request with these headers is not served, as a sentence; "" when it is. `old` is HTTP/1.0, which needs no Host."""
    hosts = strict.values(headers, "host")
    if len(hosts) > 1 or (not hosts and not old) or not all(dial.is_loopback(loopback.name_of(host)) for host in hosts):
        return "Tenon's proxy serves this machine only: address it as http://127.0.0.1 with its port."
    # Also of this machine: whatever a local server shows could read past sessions in the answers to a key of its own.
    if strict.values(headers, "origin"):
        return "Tenon's proxy does not serve web pages."
    return ""
