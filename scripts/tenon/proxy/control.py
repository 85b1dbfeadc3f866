"""The proxy's own addresses: how it is doing, a link to its dashboard, and that it should stop; for whoever proves to know its token, and proven in return."""

from __future__ import annotations

from tenon.proxy import record
from tenon.store import latency
from tenon.world import proof, strict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from tenon.proxy.server import Proxy

    Proofs = Sequence[tuple[str, str]]

PREFIX = "/_tenon/"
WRONG = "Tenon's proxy answers here whoever proves to know the token of its proxy.json: `tenon proxy status` and `tenon stop` do."


def answer(proxy: Proxy, method: str, target: str, headers: Sequence[tuple[str, str]]) -> tuple[int, dict[str, Any] | str, Proofs]:
    """The status of the answer, what it says (plain data, or the sentence of an error), and the header that proves whose it is."""
    given, once = strict.values(headers, "authorization"), strict.values(headers, proof.NONCE.lower())
    if len(given) != 1 or len(once) != 1 or not proof.is_nonce(once[0]):
        return 401, WRONG, ()
    if not proof.is_same(given[0], proof.SCHEME + proof.asked(proxy.token, once[0], proxy.port, method, target)):
        return 401, WRONG, ()
    return (*_done(proxy, method, target), [(proof.PROOF, proof.answered(proxy.token, once[0]))])


def _done(proxy: Proxy, method: str, target: str) -> tuple[int, dict[str, Any] | str]:
    path = target.partition("?")[0]
    if path == PREFIX + "status" and method in {"GET", "HEAD"}:
        return 200, status(proxy)
    if path == PREFIX + "stop" and method == "POST":
        proxy.ask_to_stop()
        return 200, {"stopping": True, "in_flight": proxy.in_flight}
    if path == PREFIX + "dashboard" and method == "POST":
        return _link(proxy)
    return 404, f"Tenon's proxy has no {method} {PREFIX}… of that name; there is GET {PREFIX}status, POST {PREFIX}dashboard and POST {PREFIX}stop."


def _link(proxy: Proxy) -> tuple[int, dict[str, Any] | str]:
    try:
        return 200, {"link": proxy.dashboard().link()}
    except Exception as error:  # noqa: BLE001 - as below; whoever asked serves the pages by itself
        record.fault(error, "the dashboard could not be opened")
        return 500, "A fault of Tenon's own kept the dashboard closed; `tenon doctor` shows the fault."


def status(proxy: Proxy) -> dict[str, Any]:
    """How the proxy is doing, as plain data without any secret."""
    return {
        **proxy.identity(),
        "through": proxy.upstream.through,
        "requests": proxy.requests,
        "in_flight": proxy.in_flight,
        "stopping": proxy.stopping,
        "own_s": held_up(list(proxy.log.own_s)),
        "conversations": _conversations(proxy.rewriter.status),
        "errors": list(proxy.errors),
    }


def held_up(own_s: list[float]) -> dict[str, float | int | None]:
    """How long the latest requests were held up by ours before they went upstream: how many those are, the median and the 95th percentile of them."""
    return {"requests": len(own_s), "median": latency.of(own_s, 0.5), "p95": latency.of(own_s, 0.95)}


def _conversations(listed: Callable[[], list[dict[str, Any]]]) -> list[dict[str, Any]]:
    try:
        return listed()
    except Exception as error:  # noqa: BLE001 - the rest of the status is worth more than an error
        record.fault(error, "the conversations could not be listed")
        return []
