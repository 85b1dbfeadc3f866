"""What one client is asked by the server, and its answers; among them the folder that it works in.

A client of the handshake era is asked over the way that its call came, and its answer is another message of its own; the roots
that it told are kept until it says that they changed. One of the stateless era answers with another call, so nothing is kept.
"""

from __future__ import annotations

from threading import Condition, Lock

from mcp_server.protocol import STATELESS, Unanswered
from mcp_server.scope import of_roots

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from mcp_server.protocol import Context

WAIT_S = 10.0
CHANGED = "notifications/roots/list_changed"


class Asking:
    """The questions to one client."""

    def __init__(self, wait_s: float = WAIT_S) -> None:
        self._wait_s = wait_s
        self._changed = Condition()
        self._open: dict[str, dict[str, Any] | None] = {}  # each question that waits, and the message that answers it
        self._count = 0
        self._closed = False
        self._roots = Lock()
        self._folder: str | None = None  # None while nobody has asked
        self._told = 0  # how often the client said that its roots changed

    def ask(self, send: Callable[[dict[str, Any]], object], method: str, params: dict[str, Any]) -> dict[str, Any]:
        """The result that the client gives. Raises Unanswered."""
        with self._changed:
            self._count += 1
            number = f"tenon-{self._count}"
            self._open[number] = None
        try:
            send({"jsonrpc": "2.0", "id": number, "method": method, **({"params": params} if params else {})})
            with self._changed:
                self._changed.wait_for(lambda: self._closed or self._open[number] is not None, self._wait_s)
                answer = self._open[number]
        finally:
            with self._changed:
                del self._open[number]
        result = None if answer is None else answer.get("result")
        if not isinstance(result, dict):
            why = "refused" if answer is not None else "is gone and did not answer" if self._closed else "did not answer"
            raise Unanswered(f"the client {why} {method}")
        return result

    def hear(self, message: object) -> None:
        """Takes from a client's message what is an answer to a question, or word that its roots changed."""
        for part in message if isinstance(message, list) else [message]:
            if not isinstance(part, dict):
                continue
            with self._changed:
                if part.get("method") == CHANGED:
                    self._told += 1
                    self._folder = None
                elif "method" not in part and isinstance(part.get("id"), str) and part["id"] in self._open:
                    self._open[part["id"]] = part
                    self._changed.notify_all()

    def close(self) -> None:
        """The client is gone: nothing waits for it any longer."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def folder(self, context: Context) -> str:
        """The folder of the client's first root, "" when it has none or does not say. Raises Asked, and TenonError for a folder that is not here."""
        if "roots" not in context.capabilities:
            return ""
        if context.version in STATELESS:
            return of_roots(context.ask("roots", "roots/list"))
        with self._roots:
            if self._folder is not None:
                return self._folder
            told = self._told
            try:
                found = of_roots(context.ask("roots", "roots/list"))
            except Unanswered:
                found = ""
            with self._changed:
                if told == self._told:
                    self._folder = found
            return found
