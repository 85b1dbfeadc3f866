"""The way to a client that started this process: one JSON-RPC message a line on stdin, one answer a line on stdout.

Calls are answered one after the other, in their order; everything else at once, also while a call is at work.
"""

from __future__ import annotations

import os
import sys

from mcp_server import protocol

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, BinaryIO

    from mcp_server.asking import Asking
    from mcp_server.scope import Scope

LARGEST_BYTES = 64 << 20  # of one message
LAST_CALLS_S = 3.0  # for the calls at work when the client has closed its end


def serve(
    dispatcher: protocol.Dispatcher,
    stdin: BinaryIO | None = None,
    stdout: BinaryIO | None = None,
    besides: Callable[[], Callable[[], None]] | None = None,
    rooted: bool = False,
) -> None:
    """Answers one message a line until the input ends; without streams, on this process's own, and ends the process with them.

    `besides` begins, after the first message, what else the process does, and returns what ends that. `rooted` has a client that can
    tell its roots say where it works.
    """
    own = stdin is None or stdout is None
    if stdin is None or stdout is None:
        stdin, stdout = _claimed()
    calls = Calls(dispatcher, stdout, besides, rooted)
    try:
        _read(stdin, calls)
        calls.finish()
    except (KeyboardInterrupt, OSError):
        pass  # SIGINT, which some clients send at their end, or a client that is gone: nobody is left to answer
    if own:
        os._exit(0)  # every answer is flushed, and nothing at exit may wait for a call or complain about a closed pipe


def _read(stdin: BinaryIO, calls: Calls) -> None:
    for line in iter(lambda: stdin.readline(LARGEST_BYTES), b""):
        if len(line) < LARGEST_BYTES or line.endswith(b"\n"):
            if line.strip():
                calls.take(line)
            continue
        while line and not line.endswith(b"\n"):
            line = stdin.readline(LARGEST_BYTES)
        calls.send(protocol.refusal(None, protocol.INVALID_REQUEST, f"a message has at most {LARGEST_BYTES >> 20} MiB"))


class Calls:
    """The messages of one connection: calls wait for each other in a thread of their own, the rest is answered as it comes."""

    def __init__(
        self, dispatcher: protocol.Dispatcher, stdout: BinaryIO, besides: Callable[[], Callable[[], None]] | None = None, rooted: bool = False
    ) -> None:
        self._dispatcher = dispatcher
        self._asking: Asking | None = None
        self._peer = protocol.Peer(self._notify)
        if rooted:
            from mcp_server.asking import Asking

            self._asking = Asking()
            self._peer = protocol.Peer(self._notify, self._ask, self._where)
        self._stdout = stdout
        self._besides = besides
        self._end: Callable[[], None] | None = None
        self._waiting: list[object] = []  # the ids of calls that were neither begun nor cancelled
        self._queue: Any = None
        self._thread: Any = None

    def take(self, line: bytes) -> None:
        """Answers a line, now or in its turn."""
        try:
            message = protocol.decode(line)
        except (ValueError, RecursionError):
            self.send(protocol.refusal(None, protocol.PARSE_ERROR, "Parse error: a line must be one JSON value"))
            return
        if self._asking is not None:
            self._asking.hear(message)
        if isinstance(message, list):
            self._later(message)
        elif isinstance(message, dict) and message.get("method") == "tools/call" and "id" in message:
            self._waiting.append(message["id"])
            self._later(message)
        else:
            if isinstance(message, dict) and message.get("method") == "notifications/cancelled" and isinstance(message.get("params"), dict):
                self._begin(message["params"].get("requestId"))
            self.send(self._dispatcher.answer(message, self._peer))
        if self._besides is not None:
            self._end, self._besides = self._besides(), None

    def send(self, answer: object) -> None:
        """Writes an answer as one line. Raises OSError when nobody reads."""
        if answer is not None:
            self._stdout.write(protocol.encode(answer))
            self._stdout.flush()

    def finish(self) -> None:
        """Waits a moment for the calls that were taken."""
        if self._asking is not None:
            self._asking.close()
        if self._thread is not None:
            self._queue.put(None)
            self._thread.join(LAST_CALLS_S)
        if self._end is not None:
            self._end()

    def _later(self, message: object) -> None:
        if self._thread is None:  # imported now, so that no start waits for it
            from queue import SimpleQueue
            from threading import Thread

            self._queue = SimpleQueue()
            self._thread = Thread(target=self._work, daemon=True)
            self._thread.start()
        self._queue.put(message)

    def _work(self) -> None:
        for message in iter(self._queue.get, None):
            if isinstance(message, list) or self._begin(message["id"]):
                try:
                    self.send(self._dispatcher.answer(message, self._peer))
                except OSError:
                    return

    def _begin(self, number: object) -> bool:
        try:
            self._waiting.remove(number)
        except ValueError:
            return False
        return True

    def _notify(self, method: str, params: dict[str, Any]) -> None:
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    def _ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        if self._asking is None:
            raise protocol.Unanswered
        return self._asking.ask(self.send, method, params)

    def _where(self, context: protocol.Context) -> Scope:
        from mcp_server.scope import Scope, of_start

        folder = "" if self._asking is None else self._asking.folder(context)
        return Scope(folder) if folder else of_start()


def _claimed() -> tuple[BinaryIO, BinaryIO]:
    """The streams to the client, out of reach for print and for child processes: those read nothing, and write to stderr."""
    nothing = os.open(os.devnull, os.O_RDWR)
    while nothing <= 2:  # one of the three is closed; the wire must not take its number
        nothing = os.dup(nothing)
    wire = open(os.dup(0), "rb"), open(os.dup(1), "wb")  # noqa: SIM115 - they live as long as the process
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    os.close(nothing)
    sys.stdout = sys.stderr
    return wire
