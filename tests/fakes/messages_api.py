"""A loopback Messages API that refuses what the real one refuses and answers from a script."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Sequence
from http.server import ThreadingHTTPServer
from typing import Any, TypeVar, Union

from tests.fakes import replies as scripts
from tests.fakes.door import Door, RecordedRequest
from tests.fakes.models import MODELS, Model
from tests.fakes.prompt_cache import PromptCache
from tests.fakes.signatures import Signatures

ACCEPT_POLL_S = 0.05
T = TypeVar("T")
ReplyFunction = Callable[[RecordedRequest], scripts.Scripted]
Script = Union[Sequence[scripts.Scripted], ReplyFunction, None]


class MessagesApi:
    """The fake; use it as a context manager.

    replies: one scripted reply per accepted message request (an error reply counts), or a function of
    the request; None answers "ok". A script that ran out answers 500 and says so.
    new_account: False for an account on which binding is recorded, not enforced, for most models.
    clock: seconds, decides when cache entries end.
    """

    def __init__(
        self,
        replies: Script = None,
        models: dict[str, Model] | None = None,
        new_account: bool = True,
        clock: Callable[[], float] = time.monotonic,
        port: int = 0,
    ) -> None:
        self.models = MODELS if models is None else models
        self.script = replies if callable(replies) else None if replies is None else list(replies)
        self.signatures = Signatures(self.models, new_account=new_account)
        self.cache = PromptCache(clock)
        self.changed = threading.Condition()
        self.requests: list[RecordedRequest] = []
        self.stopping = threading.Event()
        self.connections: set[socket.socket] = set()
        handler = type("Door", (Door,), {"api": self})
        self.server = ThreadingHTTPServer(("127.0.0.1", port), handler)
        self.server.daemon_threads = True
        self.server.block_on_close = False
        self.thread = threading.Thread(target=self.server.serve_forever, args=(ACCEPT_POLL_S,), daemon=True)

    @property
    def port(self) -> int:
        """The port it listens on."""
        return int(self.server.server_address[1])

    @property
    def url(self) -> str:
        """The base URL."""
        return f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> MessagesApi:
        self.thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Stops listening and closes every open connection."""
        self.stopping.set()
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()
        with self.changed:
            left = list(self.connections)
        for connection in left:
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass  # its client was faster

    def messages(self) -> list[RecordedRequest]:
        """The conversation requests, refused ones too: no warm-ups, counts or session titles."""
        with self.changed:
            found = [r for r in self.requests if r.method == "POST" and r.route == "/v1/messages"]
        return [request for request in found if not scripts.is_title(request.body)]

    def wait_for(self, predicate: Callable[[MessagesApi], T], timeout_s: float = 10.0) -> T:
        """The first true value of predicate(api), tried at each change; raises TimeoutError."""
        end = time.monotonic() + timeout_s
        with self.changed:
            while True:
                value = predicate(self)
                if value:
                    return value
                left = end - time.monotonic()
                if left <= 0:
                    seen = ", ".join(f"{r.method} {r.route} {r.status}" for r in self.requests) or "no request"
                    raise TimeoutError(f"not seen within {timeout_s} s; so far: {seen}")
                self.changed.wait(left)

    def note(self, request: RecordedRequest, **facts: Any) -> None:
        """Writes what became of a request and wakes those who wait."""
        with self.changed:
            for name, value in facts.items():
                setattr(request, name, value)
            self.changed.notify_all()

    def next_reply(self, request: RecordedRequest) -> scripts.Reply:
        """The scripted reply for an accepted request."""
        if scripts.is_title(request.body):
            return scripts.normal(json.dumps({"title": "A test session"}))
        if self.script is None:
            return scripts.normal("ok")
        if callable(self.script):
            return scripts.normal(self.script(request))
        with self.changed:
            if not self.script:
                return scripts.error("the script of the fake has run out", 500, headers={"x-should-retry": "false"})
            return scripts.normal(self.script.pop(0))
