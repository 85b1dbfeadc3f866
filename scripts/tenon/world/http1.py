"""HTTP/1.1 as bytes: heads kept in their order and spelling, bodies read as they arrive."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    from collections.abc import Iterable, Sequence

    Headers = Sequence[tuple[str, str]]

PIECE = 65536  # bytes asked of a socket at once
LONGEST_LINE = 65536
LONGEST_HEAD = 262144
# Said between two neighbours only, never handed on (RFC 9110, 7.6.1).
HOP_BY_HOP = frozenset("connection keep-alive proxy-connection proxy-authenticate proxy-authorization te trailer transfer-encoding upgrade".split())
TOKEN = frozenset("!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
_HEX = b"0123456789abcdefABCDEF"
LENGTH, CHUNKED, TO_END = "length", "chunked", "to end"


REASONS = {
    200: "OK", 400: "Bad Request", 401: "Unauthorized", 403: "Forbidden", 404: "Not Found", 413: "Content Too Large", 502: "Bad Gateway",
}  # fmt: skip


class Malformed(ValueError):
    """What came is not HTTP/1.1."""


class Torn(Exception):
    """The connection ended, or broke, in the middle of something."""


class Stream:
    """A socket's bytes in order; `received` counts all that ever came."""

    __slots__ = ("socket", "received", "_buffer", "_at")

    def __init__(self, connection: socket.socket) -> None:
        self.socket = connection
        self.received = 0
        self._buffer = b""
        self._at = 0

    @property
    def waiting(self) -> int:
        """How many bytes have come and were not taken yet."""
        return len(self._buffer) - self._at

    def fill(self) -> bool:
        """Waits for more; False at the end. Raises OSError."""
        data = self.socket.recv(PIECE)
        self._buffer = self._buffer[self._at :] + data
        self._at = 0
        self.received += len(data)
        return bool(data)

    def has_line(self) -> bool:
        """Whether a whole line has come already."""
        return self._buffer.find(b"\n", self._at) >= 0

    def line(self) -> bytes:
        """The next line without its end. Raises Torn at the end of the stream, Malformed when it is too long."""
        while True:
            end = self._buffer.find(b"\n", self._at)
            if (end if end >= 0 else len(self._buffer)) - self._at > LONGEST_LINE:
                raise Malformed("a line that does not end")
            if end >= 0:
                line = self._buffer[self._at : end]
                self._at = end + 1
                return line[:-1] if line.endswith(b"\r") else line
            if not self.fill():
                raise Torn("the connection ended within a line")

    def ready(self, most: int) -> bytes:
        """What has come already, at most so many bytes."""
        end = min(len(self._buffer), self._at + most)
        data = self._buffer[self._at : end]
        self._at = end
        return data

    def chunks(self, most: int) -> list[bytes]:
        """The data of the chunks that have come whole, up to about so many bytes; what is not plain is left for others to read.

        A stream of words is thousands of small chunks: here each costs a microsecond, read line by line it would be four.
        """
        buffer, at, end = self._buffer, self._at, len(self._buffer)
        found: list[bytes] = []
        while most > 0:
            line = buffer.find(b"\r\n", at, at + 20)
            size = buffer[at:line] if line > at else b""
            if not size or size.strip(_HEX):
                break
            start = line + 2
            stop = start + int(size, 16)
            if stop == start or stop + 2 > end or buffer[stop : stop + 2] != b"\r\n":
                break
            found.append(buffer[start:stop])
            most -= stop - start
            at = stop + 2
        self._at = at
        return found

    def some(self, most: int) -> bytes:
        """The next bytes as soon as there are any, b"" at the end. Raises OSError."""
        if self.waiting:
            return self.ready(most)
        data = self.socket.recv(min(most, PIECE))
        self.received += len(data)
        return data


class Body:
    """The bytes of one body, the framing taken off; `done` once the last one was read."""

    __slots__ = ("stream", "kind", "left", "done", "_expects")

    def __init__(self, stream: Stream, kind: str, left: int = 0) -> None:
        self.stream = stream
        self.kind = kind
        self.left = left
        self.done = kind == LENGTH and not left
        self._expects = "size"

    def read(self, most: int = PIECE) -> bytes:
        """What has come of the body, waiting only when nothing has; b"" at its clean end. Raises Torn."""
        if self.done:
            return b""
        try:
            if self.kind == CHUNKED:
                return self._chunks(most)
            data = self.stream.some(most if self.kind == TO_END else min(most, self.left))
        except (OSError, Malformed) as error:
            raise Torn(f"the body broke off ({_said(error)})") from error
        if not data:
            self.done = self.kind == TO_END
            if not self.done:
                raise Torn(f"the body ended {self.left} bytes early")
        elif self.kind == LENGTH:
            self.left -= len(data)
            self.done = not self.left
        return data

    def whole(self, most: int) -> bytes | None:
        """All of it, or None when it is longer than that. Raises Torn."""
        parts: list[bytes] = []
        size = 0
        while True:
            data = self.read()
            if not data:
                return b"".join(parts)
            size += len(data)
            parts.append(data)
            if size > most:
                return None

    def _chunks(self, most: int) -> bytes:
        """The data of all chunks that are here; waits for the first only."""
        parts: list[bytes] = []
        size = 0
        while size < most:
            if self._expects == "size":
                plain = self.stream.chunks(most - size)
                parts += plain
                size += sum(map(len, plain))
            if self.left:
                if parts and not self.stream.waiting:
                    break
                data = self.stream.some(min(self.left, most - size))
                if not data:
                    raise Torn("the body ended within a chunk")
                self.left -= len(data)
                size += len(data)
                parts.append(data)
            elif self.done or (parts and not self.stream.has_line()):
                break
            else:
                try:
                    line = self.stream.line()
                except Torn:
                    raise Torn("the body ended before its last chunk") from None
                self._between(line)
        return b"".join(parts)

    def _between(self, line: bytes) -> None:
        """Takes a line that is no data: a chunk's size, its end, or a trailer."""
        if self._expects == "trailer":
            self.done = not line  # trailers are for the neighbour only
        elif self._expects == "end":
            if line:
                raise Malformed("a chunk longer than its size")
            self._expects = "size"
        else:
            size = line.split(b";", 1)[0].strip()
            if not size or len(size) > 16 or size.strip(_HEX):
                raise Malformed("a chunk without a size")
            self.left = int(size, 16)
            self._expects = "end" if self.left else "trailer"


def read_head(stream: Stream) -> tuple[str, list[tuple[str, str]]]:
    """The first line and the headers, as latin-1 text. Raises Torn, Malformed, OSError."""
    first = stream.line()
    for _ in range(4):  # empty lines before a request are forgiven
        if first:
            break
        first = stream.line()
    headers: list[tuple[str, str]] = []
    size = len(first)
    while True:
        line = stream.line()
        if not line:
            return first.decode("latin-1"), headers
        size += len(line)
        if size > LONGEST_HEAD:
            raise Malformed("more headers than anybody needs")
        name, colon, value = line.decode("latin-1").partition(":")
        if not colon or not name or not TOKEN.issuperset(name) or "\r" in value or "\0" in value:
            raise Malformed("a header that is none")
        headers.append((name, value.strip(" \t")))


def head(first: str, headers: Iterable[tuple[str, str]]) -> bytes:
    """The bytes of a head."""
    lines = [first, *(f"{name}: {value}" for name, value in headers), "", ""]
    return "\r\n".join(lines).encode("latin-1")


def values(headers: Headers, name: str) -> list[str]:
    """The values of all headers of that name (lower case)."""
    return [value for found, value in headers if found.lower() == name]


def tokens(headers: Headers, name: str) -> list[str]:
    """The comma-separated words of those headers, lower case."""
    return [word.strip().lower() for value in values(headers, name) for word in value.split(",") if word.strip()]


def end_to_end(headers: Headers) -> list[tuple[str, str]]:
    """The headers that are handed on, as they came."""
    named = set(tokens(headers, "connection"))
    return [(name, value) for name, value in headers if name.lower() not in HOP_BY_HOP and name.lower() not in named]


def length(headers: Headers) -> int | None:
    """What Content-Length says. Raises Malformed when it contradicts itself."""
    found = {value.strip() for value in values(headers, "content-length")}
    if not found:
        return None
    said = found.pop()
    if found or not said.isascii() or not said.isdigit():
        raise Malformed("more than one length, or none")
    return int(said)


def request_body(stream: Stream, headers: Headers) -> Body:
    """The body that follows a request's head. Raises Malformed where its length is in doubt."""
    coding = tokens(headers, "transfer-encoding")
    size = length(headers)
    if coding:
        if coding != ["chunked"] or size is not None:
            raise Malformed("a body whose length is in doubt")
        return Body(stream, CHUNKED)
    return Body(stream, LENGTH, size or 0)


def answer_body(stream: Stream, headers: Headers, *, method: str, status: int) -> Body:
    """The body that follows an answer's head (RFC 9112, 6.3). Raises Malformed."""
    if method == "HEAD" or status < 200 or status in (204, 304):
        return Body(stream, LENGTH)
    coding = tokens(headers, "transfer-encoding")
    if coding:
        if coding != ["chunked"]:
            raise Malformed(f"a transfer coding that nobody asked for ({coding[0]})")
        return Body(stream, CHUNKED)
    size = length(headers)
    return Body(stream, TO_END) if size is None else Body(stream, LENGTH, size)


def _said(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error) or type(error).__name__
