"""A proxy that runs in the test's own process, on a port of its own."""

from __future__ import annotations

import os
import threading
from typing import Any

from tenon.proxy.server import Proxy
from tenon.world.upstream import Upstream


class Running:
    """The proxy between a test and an upstream's address; `url` is where it listens."""

    def __init__(self, upstream: str, rewriter: Any) -> None:
        self.proxy = Proxy(("127.0.0.1", 0), Upstream(upstream, dict(os.environ)), rewriter, stop_s=1.0)
        self.url = self.proxy.url
        self.thread = threading.Thread(target=self.proxy.serve, daemon=True)
        self.thread.start()

    def settled(self) -> None:
        """Returns when no request is in flight: what there was to note of the answers is noted."""
        proxy = self.proxy
        with proxy._changed:  # a handler says so there once its request has ended
            assert proxy._changed.wait_for(lambda: not proxy.in_flight, 30.0), "a request does not end"

    def close(self) -> None:
        """Stops it."""
        self.proxy.ask_to_stop()
        self.thread.join()
