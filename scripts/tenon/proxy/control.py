"""The proxy's own two addresses: how it is doing, and that it should stop; for whoever can read its token."""

from __future__ import annotations

import hmac

from tenon.proxy import record
from tenon.world import strict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from tenon.proxy.server import Proxy

PREFIX = "/_tenon/"
WRONG = "Tenon's own addresses need the token of its proxy.json as `Authorization: Bearer …`."


def answer(proxy: Proxy, method: str, target: str, headers: Sequence[tuple[str, str]]) -> tuple[int, dict[str, Any] | str]:
    """The status of the answer, and what it says: plain data, or the sentence of an error."""
    given = strict.values(headers, "authorization")
    wanted = f"Bearer {proxy.token}".encode()
    if len(given) != 1 or not hmac.compare_digest(given[0].encode("utf-8", "replace"), wanted):
        return 401, WRONG
    path = target.partition("?")[0]
    if path == PREFIX + "status" and method in {"GET", "HEAD"}:
        return 200, status(proxy)
    if path == PREFIX + "stop" and method == "POST":
        proxy.ask_to_stop()
        return 200, {"stopping": True, "in_flight": proxy.in_flight}
    return 404, f"Tenon's proxy has no {method} {PREFIX}… of that name; there is GET {PREFIX}status and POST {PREFIX}stop."


def status(proxy: Proxy) -> dict[str, Any]:
    """How the proxy is doing, as plain data without any secret."""
    return {
        **proxy.identity(),
        "through": proxy.upstream.through,
        "requests": proxy.requests,
        "in_flight": proxy.in_flight,
        "stopping": proxy.stopping,
        "conversations": _conversations(proxy.rewriter.status),
        "errors": list(proxy.errors),
    }


def _conversations(listed: Callable[[], list[dict[str, Any]]]) -> list[dict[str, Any]]:
    try:
        return listed()
    except Exception as error:  # noqa: BLE001 - the rest of the status is worth more than an error
        record.fault(error, "the conversations could not be listed")
        return []
