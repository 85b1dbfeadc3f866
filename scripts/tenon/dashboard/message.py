"""A request to the dashboard and what it is answered, free of sockets."""

from __future__ import annotations

import html
import json
import re
import zlib

from tenon.world import strict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

PREFIX = "/_dashboard/"
GZIP = 16 + zlib.MAX_WBITS
WORTH_PACKING = 4096  # bytes; below it a loopback connection does not feel the difference
LEVEL = 4  # of 9: most of the size for little of the time
_COMMAND = re.compile(r"`([^`]*)`")
_PAGE = (
    '<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n<meta name="viewport" content="width=device-width, initial-scale=1">\n'
    "<title>Tenon</title>\n<main><h1>Tenon’s dashboard</h1><p>{}</p></main>\n</html>\n"
)


class Request:
    """One request; `path` is as it came, still quoted."""

    __slots__ = ("method", "path", "query", "headers", "body")

    def __init__(self, method: str, target: str, headers: Sequence[tuple[str, str]], body: bytes = b"") -> None:
        self.method = method
        self.path, _, self.query = target.partition("?")
        self.headers = headers
        self.body = body

    @property
    def wants_data(self) -> bool:
        """Whether JSON is asked for, not a page."""
        return self.path.endswith(".json")

    def header(self, name: str) -> str | None:
        """The value of the one header of that name (lower case); None when there is none, «» when there are several."""
        found = strict.values(self.headers, name)
        return None if not found else found[0] if len(found) == 1 else ""


class Answer:
    """A status, headers and a whole body."""

    __slots__ = ("status", "headers", "body")

    def __init__(self, status: int, body: bytes = b"", *headers: tuple[str, str]) -> None:
        self.status = status
        self.headers = list(headers)
        self.body = body

    def value(self, name: str) -> str:
        """The value of the header of that name (lower case), «» when there is none."""
        return next((value for found, value in self.headers if found.lower() == name), "")

    def packed(self, request: Request) -> Answer:
        """The same, compressed where the client takes that and it is worth it."""
        taken = [word.replace(" ", "") for word in strict.tokens(request.headers, "accept-encoding")]
        if len(self.body) >= WORTH_PACKING and any(word.partition(";")[0] == "gzip" and not word.endswith((";q=0", ";q=0.0")) for word in taken):
            packer = zlib.compressobj(LEVEL, zlib.DEFLATED, GZIP)
            self.body = packer.compress(self.body) + packer.flush()
            self.headers += [("Content-Encoding", "gzip"), ("Vary", "Accept-Encoding")]
        return self


def data(value: Any, status: int = 200) -> Answer:
    """An answer of JSON, in ASCII: also half a letter travels safely."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return Answer(status, text.encode("ascii") + b"\n", ("Content-Type", "application/json"))


def said(request: Request, status: int, sentence: str) -> Answer:
    """An answer that is one sentence, as JSON or as a plain page; what stands between backticks is a command."""
    if request.wants_data or request.method == "POST":
        return data({"error": sentence}, status)
    text = _COMMAND.sub(r"<code>\1</code>", html.escape(sentence))
    if status == 404:
        text += f'</p><p><a href="{PREFIX}">To the dashboard</a>'
    return Answer(status, _PAGE.format(text).encode("utf-8", "replace"), ("Content-Type", "text/html; charset=utf-8"))


def elsewhere(address: str, *headers: tuple[str, str]) -> Answer:
    """An answer that sends the browser to another address."""
    return Answer(303, b"", ("Location", address), *headers)
