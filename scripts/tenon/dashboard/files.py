"""The pages' own files: read once from the folder, and nothing else is ever served from a disk."""

from __future__ import annotations

import hashlib
import os

from tenon.dashboard.message import Answer
from tenon.world import strict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tenon.dashboard.message import Request

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "static")
SHELL = "index.html"
KINDS = {".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}


class File:
    """A file's bytes, what they are, and the mark by which a browser knows that it has them."""

    __slots__ = ("data", "kind", "mark")

    def __init__(self, data: bytes, kind: str) -> None:
        self.data = data
        self.kind = kind
        self.mark = f'W/"{hashlib.sha256(data).hexdigest()[:24]}"'

    def answer(self, request: Request) -> Answer:
        """The file, or that the browser has it already; it asks every time."""
        headers = [("ETag", self.mark), ("Cache-Control", "no-cache")]
        known = [mark.strip() for value in strict.values(request.headers, "if-none-match") for mark in value.split(",")]
        return Answer(304, b"", *headers) if self.mark in known else Answer(200, self.data, ("Content-Type", self.kind), *headers)


def read(folder: str = FOLDER) -> dict[str, File]:
    """The files by name: those of the known kinds that lie in the folder itself."""
    found = {}
    for name in sorted(os.listdir(folder)):
        kind, path = KINDS.get(os.path.splitext(name)[1]), os.path.join(folder, name)
        if kind is not None and os.path.isfile(path):
            with open(path, "rb") as file:
                found[name] = File(file.read(), kind)
    return found
