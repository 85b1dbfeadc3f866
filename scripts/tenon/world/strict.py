"""HTTP/1.1 where the standard library forgives more than a relay may: torn heads, doubtful lengths, chunks with odd sizes."""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from email.message import Message
    from typing import Any

    Headers = Sequence[tuple[str, str]]

PIECE = 65536  # bytes asked for at once
LONGEST_LINE = 65536
LONGEST_HEAD = 262144
CHUNKED = -1  # in place of a body's length
# Said between two neighbours only, never handed on (RFC 9110, 7.6.1).
HOP_BY_HOP = frozenset("connection keep-alive proxy-connection proxy-authenticate proxy-authorization te trailer transfer-encoding upgrade".split())
_HEADER = re.compile(rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+:[^\0\r\n]*\r?\n")
_HEX = b"0123456789abcdefABCDEF"


class Malformed(ValueError):
    """What came is not HTTP/1.1."""


class Torn(Exception):
    """The connection ended in the middle of something."""


class Lines:
    """The lines of a head on their way to the library's parser, which takes a head that broke off for a whole one.

    With `first` a line that is no header stands first, as in an answer. Raises Torn and Malformed.
    """

    __slots__ = ("file", "close", "_first", "_due", "_size")

    def __init__(self, file: Any, *, first: bool = False) -> None:
        self.file = file
        self.close = file.close
        self._first = first
        self._due = first
        self._size = 0

    def readline(self, most: int) -> bytes:
        """The next line, whole."""
        line: bytes = self.file.readline(most)
        self._size += len(line)
        if self._size > LONGEST_HEAD or len(line) == most:
            raise Malformed("more headers than anybody needs")
        if not line.endswith(b"\n"):
            raise Torn("the connection ended within a head")
        empty = line in (b"\r\n", b"\n")
        if not empty and not self._due and not _HEADER.fullmatch(line):
            raise Malformed("a header that is none")
        self._due = self._first and empty  # after an interim answer comes another
        return line


class Chunks:
    """A body in chunks, its framing taken off; `file` is buffered. `done` once the last one was read."""

    __slots__ = ("file", "done", "_left", "_begun")

    def __init__(self, file: Any) -> None:
        self.file = file
        self.done = False
        self._left = 0
        self._begun = False

    def read1(self, most: int = PIECE) -> bytes:
        """What has come, waiting only when nothing has; b"" at the clean end. Raises Torn, Malformed, OSError."""
        if not self._left and not self.done:
            whole = self._whole(most)
            if whole:
                return whole
            self._next()
        if self.done:
            return b""
        data: bytes = self.file.read1(min(most, self._left))
        if not data:
            raise Torn("the body ended within a chunk")
        self._left -= len(data)
        return data

    def _whole(self, most: int) -> bytes:
        """The data of all chunks that are here whole: words come in thousands of small ones. What is not plain is left for `_next`."""
        here: bytes = self.file.peek(1)
        found: list[bytes] = []
        at = 0  # the end of the last chunk, whose line end is still to come
        while most > 0:
            begin = at
            if self._begun:
                begin += 2
                if here[at:begin] != b"\r\n":
                    break
            line = here.find(b"\r\n", begin, begin + 18)
            if line <= begin or here[begin:line].strip(_HEX):
                break
            stop = line + 2 + int(here[begin:line], 16)
            if stop == line + 2 or stop > len(here) or stop - line - 2 > most:
                break
            found.append(here[line + 2 : stop])
            most -= stop - line - 2
            at = stop
            self._begun = True
        self.file.read(at)
        return b"".join(found)

    def _next(self) -> None:
        if self._begun and self._line():
            raise Malformed("a chunk longer than its size")
        self._begun = True
        size = self._line().split(b";", 1)[0].strip()
        if not size or len(size) > 16 or size.strip(_HEX):
            raise Malformed("a chunk without a size")
        self._left = int(size, 16)
        if not self._left:
            while self._line():
                pass  # trailers are for the neighbour only
            self.done = True

    def _line(self) -> bytes:
        line: bytes = self.file.readline(LONGEST_LINE)
        if not line.endswith(b"\n"):
            raise Malformed("a line that does not end") if len(line) == LONGEST_LINE else Torn("the body ended before its last chunk")
        return line[:-2] if line.endswith(b"\r\n") else line[:-1]


def pairs(message: Message) -> list[tuple[str, str]]:
    """The headers of a parsed head in their order and spelling."""
    return [(name, value.strip(" \t")) for name, value in message.items()]


def values(headers: Headers, name: str) -> list[str]:
    """The values of all headers of that name (lower case)."""
    return [value for found, value in headers if found.lower() == name]


def tokens(headers: Headers, name: str) -> list[str]:
    """The comma-separated words of those headers, lower case."""
    return [word.strip().lower() for value in values(headers, name) for word in value.split(",") if word.strip()]


def end_to_end(headers: Headers) -> list[tuple[str, str]]:
    """The headers that are handed on, as they came."""
    out = HOP_BY_HOP.union(tokens(headers, "connection"))
    return [(name, value) for name, value in headers if name.lower() not in out]


def size(headers: Headers) -> int | None:
    """The length in bytes that the headers give a body: CHUNKED for one in chunks, None when they say nothing. Raises Malformed when in doubt."""
    coding = tokens(headers, "transfer-encoding")
    said = {value.strip() for value in values(headers, "content-length")}
    if len(said) > 1 or not all(one.isascii() and one.isdigit() and len(one) < 20 for one in said):
        raise Malformed("more than one length, or none")
    if not coding:
        return int(said.pop()) if said else None
    if coding != ["chunked"]:
        raise Malformed("a body whose length is in doubt")
    return CHUNKED
