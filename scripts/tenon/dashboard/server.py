"""The dashboard's own server, for `tenon dashboard`: on this machine, for this user, until it is ended."""

from __future__ import annotations

import sys

from tenon.base import faults
from tenon.base.errors import TenonError
from tenon.dashboard import door, message
from tenon.dashboard.answers import LONGEST_BODY, TOO_LARGE, Dashboard
from tenon.dashboard.door import Door
from tenon.dashboard.message import Request
from tenon.world import loopback, strict
from tenon.world.loopback import HOST, Connection, Refused, Server

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from tenon.dashboard.message import Answer

IDLE_S = 300.0  # a browser that keeps its connection may be silent that long
READ_S = 20.0  # a request that has begun goes on within that
SETTLE_S = 20.0  # for a change that is under way when the server ends
WHO = "Tenon's dashboard"
ELSEWHERE = "Tenon's dashboard is no way to other hosts."


class DashboardServer(Server):
    """A dashboard of its own on that port, 0 for any that is free. It listens from the start. Raises TenonError when the port is taken."""

    def __init__(self, port: int, agent: str, *, allow_edit: bool = False) -> None:
        try:
            super().__init__((HOST, port), Pages)
        except (OSError, OverflowError) as error:
            said = getattr(error, "strerror", None) or str(error)
            raise TenonError(f"port {port} of this machine cannot be used ({said}); leave --port out, and a free one is taken") from error
        self.dashboard = Dashboard(Door(int(self.server_address[1])), lambda: agent, allow_edit=allow_edit)

    def handle_error(self, request: object, client_address: object) -> None:
        """Notes why a connection was given up, unless its client is gone: one connection does not end the others."""
        error = sys.exc_info()[1]
        if error is not None and not isinstance(error, (OSError, strict.Torn)):
            faults.note("dashboard", faults.silent(error), "a connection was given up")

    def close(self) -> None:
        """Takes no more connections, and returns when what was being changed is."""
        self.server_close()
        self.dashboard.changing.acquire(timeout=SETTLE_S)


class Pages(Connection):
    """One connection of a browser."""

    server: DashboardServer
    who = WHO

    def refuse(self, status: int, sentence: str) -> int:
        """Sends an error as JSON; its size in bytes."""
        answer = message.data({"error": sentence}, status)
        return self.whole(status, [*answer.headers, *door.HEADERS, ("Cache-Control", "no-store")], answer.body)

    def handle_one_request(self) -> None:
        """Serves the next request; close_connection says whether another may follow."""
        headers = self.next(IDLE_S, READ_S)
        if headers is None:
            return
        try:
            self._served(self.requestline.split()[1], headers)
        except Refused as refusal:
            self.close_connection = True
            self.refuse(refusal.status, refusal.sentence)
            self.drain()

    def _served(self, target: str, headers: Sequence[tuple[str, str]]) -> None:
        """Raises Refused for what is not answered."""
        target = loopback.path_of(target, ELSEWHERE)
        answer = asked(self, self.server.dashboard, target, headers)
        self.whole(answer.status, answer.headers, answer.body)


def asked(connection: Connection, dashboard: Dashboard, target: str, headers: Sequence[tuple[str, str]]) -> Answer:
    """The answer to a request whose head was read; its body is read here. Raises Refused for one that is in doubt or too large."""
    body = connection.body(connection.length(headers), LONGEST_BODY, TOO_LARGE)
    return dashboard.answer(Request(connection.command, target, headers, body))
