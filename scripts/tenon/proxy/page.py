"""The dashboard behind the proxy's port: read-only, judged by its own door, and never in the way of what is relayed."""

from __future__ import annotations

from tenon.proxy import record
from tenon.world.loopback import Refused
from tenon.world.strict import Torn

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from tenon.proxy.handler import Handler
    from tenon.proxy.record import Line

FAULT = "A fault of Tenon's own kept the dashboard from answering; `tenon doctor` shows the fault."


def is_page(target: str) -> bool:
    """Whether the target is one of the dashboard's."""
    return (target.partition("?")[0] + "/").startswith(record.DASHBOARD)


def serve(handler: Handler, target: str, headers: Sequence[tuple[str, str]], line: Line) -> None:
    """Answers a request whose head was read. Raises Refused, OSError and Torn."""
    try:
        from tenon.dashboard import server  # loaded when somebody first looks

        answer = server.asked(handler, handler.server.dashboard(), target, headers)
    except (Refused, OSError, Torn):
        raise
    except Exception as error:  # the dashboard's trouble is not the proxy's
        record.fault(error, "the dashboard did not answer")
        raise Refused(500, FAULT) from error
    line.size_bytes = handler.whole(answer.status, answer.headers, answer.body)
    line.answered(answer.status)
