"""A browser's requests without a browser: what it sends of its own accord, and the cookie that it keeps."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import urlsplit

from tenon.dashboard.answers import Dashboard
from tenon.dashboard.message import Answer, Request

PORT = 9000
HOST = ("Host", f"127.0.0.1:{PORT}")


def request(path: str, *headers: tuple[str, str], method: str = "GET", body: bytes = b"") -> Request:
    """A request below /_dashboard/; it names the right host unless the headers name one."""
    named = any(name.lower() == "host" for name, _ in headers)
    return Request(method, f"/_dashboard/{path}", [*([] if named else [HOST]), *headers], body)


class Visitor:
    """Somebody who came in by a link; `headers` are sent with each request."""

    def __init__(self, dashboard: Dashboard) -> None:
        self.dashboard = dashboard
        link = urlsplit(dashboard.link())
        entered = dashboard.answer(Request("GET", f"{link.path}?{link.query}", [HOST]))
        self.headers: list[tuple[str, str]] = [("Cookie", entered.value("set-cookie").partition(";")[0])]

    def ask(self, path: str, *headers: tuple[str, str], method: str = "GET", body: bytes = b"") -> Answer:
        """The answer to a request."""
        return self.dashboard.answer(request(path, *self.headers, *headers, method=method, body=body))

    def data(self, path: str) -> tuple[int, dict[str, Any]]:
        """Status and data of an address."""
        answer = self.ask(path)
        assert "application/json" == answer.value("content-type")
        return answer.status, json.loads(answer.body)

    def change(self, agent: str, given: object, *, kind: str = "application/json", token: str | None = None, origin: str = "") -> tuple[int, dict[str, Any]]:
        """Status and data of a change, sent as the pages send it."""
        headers = [
            ("Origin", origin or f"http://127.0.0.1:{PORT}"),
            ("Content-Type", kind),
            ("X-Tenon-Token", self.dashboard.token if token is None else token),
        ]
        body = given if isinstance(given, bytes) else json.dumps(given).encode()
        answer = self.ask(f"{agent}/change.json", *headers, method="POST", body=body)
        return answer.status, json.loads(answer.body)
