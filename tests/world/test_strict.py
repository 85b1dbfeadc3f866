"""Bodies come out as they went in, however the network cuts them, and what is torn or in doubt is never taken for whole."""

from __future__ import annotations

import http.client
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenon.world import strict
from tenon.world.strict import Chunks, Lines, Malformed, Torn


class Wire(io.RawIOBase):
    """Bytes that arrive in pieces of the given sizes, over and over, and then end."""

    def __init__(self, data: bytes, steps: list[int]) -> None:
        self.data = data
        self.steps = steps
        self.turn = 0

    def readable(self) -> bool:
        """They can be read."""
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        """The next piece."""
        step = min(len(buffer), self.steps[self.turn % len(self.steps)])
        self.turn += 1
        piece, self.data = self.data[:step], self.data[step:]
        buffer[: len(piece)] = piece
        return len(piece)


def file(data: bytes, steps: list[int] | None = None) -> io.BufferedReader:
    """A buffered file over those bytes, as the library makes one of a socket."""
    return io.BufferedReader(Wire(data, steps or [65536]), 32)


STEPS = st.lists(st.integers(1, 40) | st.just(65536), min_size=1, max_size=5)
DATA = st.binary(min_size=1, max_size=40) | st.just(b"\r\n0\r\n\r\n") | st.just(b"x" * 300)
SIZES = st.sampled_from(["%x", "%X", "%04x", "%x;ext=1", "%x ; a"])


@given(st.lists(st.tuples(DATA, SIZES)), STEPS, st.sampled_from([b"0\r\n", b"000\r\n", b"0;a\r\n", b"0\r\nTrailer: 1\r\n"]), st.sampled_from([1, 7, 65536]))
def test_chunks_however_they_are_written_and_cut(chunks: list[tuple[bytes, str]], steps: list[int], last: bytes, most: int) -> None:
    """The data, and then what follows the body, untouched."""
    wire = b"".join((size % len(data)).encode() + b"\r\n" + data + b"\r\n" for data, size in chunks) + last + b"\r\n"
    body = Chunks(file(wire + b"NEXT\n", steps))
    assert b"".join(data for data, _ in chunks) == b"".join(iter(lambda: body.read1(most), b""))
    assert body.done
    assert b"NEXT\n" == body.file.readline()


@given(st.lists(DATA, min_size=1), STEPS, st.floats(0, 1))
def test_a_torn_body_is_never_whole(chunks: list[bytes], steps: list[int], share: float) -> None:
    """Wherever it was cut; what was read until then is right."""
    wire = b"".join(b"%x\r\n%b\r\n" % (len(data), data) for data in chunks) + b"0\r\n\r\n"
    body = Chunks(file(wire[: int(share * (len(wire) - 1))], steps))
    found = b""

    def rest() -> None:
        nonlocal found
        while data := body.read1():
            found += data

    with pytest.raises(Torn):
        rest()
    assert b"".join(chunks).startswith(found)


@pytest.mark.parametrize(
    "wire", [b"+5\r\nhello\r\n", b"0x5\r\nhello\r\n", b"5_0\r\n", b"\r\n", b" \r\n", b"-1\r\n", b"fffffffffffffffff\r\n", b"5\r\nhelloX\r\n", b";a\r\n"]
)
def test_a_size_that_is_none_is_malformed(wire: bytes) -> None:
    """Python would read some of them as numbers."""
    with pytest.raises(Malformed):
        list(iter(Chunks(file(wire + b"0\r\n\r\n")).read1, b""))


def test_a_head_keeps_order_and_spelling() -> None:
    """Only the blanks around a value are not part of it."""
    head = http.client.parse_headers(Lines(file(b"B: 2\r\na:\t 1 \nB:\r\nx: \xe9\r\n\r\n", [1])))  # type: ignore[arg-type]
    assert [("B", "2"), ("a", "1"), ("B", ""), ("x", "é")] == strict.pairs(head)


@pytest.mark.parametrize("wire", [b"", b"a: 1\r\n", b"a: 1\r\nContent-Length: 1"])
def test_a_head_that_broke_off_is_torn(wire: bytes) -> None:
    """The library would take it for a whole one."""
    with pytest.raises(Torn):
        http.client.parse_headers(Lines(file(wire)))  # type: ignore[arg-type]


@pytest.mark.parametrize("line", [b"no colon", b": x", b"a b: x", b" folded", b"\tfolded", b"a: x\rb: y", b"a: \0", b"From x"])
def test_a_header_that_is_none_is_malformed(line: bytes) -> None:
    """The library would drop it, what follows it, or nothing."""
    with pytest.raises(Malformed):
        http.client.parse_headers(Lines(file(b"a: 1\r\n" + line + b"\r\n\r\n")))  # type: ignore[arg-type]


@pytest.mark.parametrize("length", ["-1", "1 2", "1, 1", "٣", "0x1", "", "1_0", "9" * 5000])
def test_a_length_must_be_a_number(length: str) -> None:
    """And there is one only."""
    with pytest.raises(Malformed):
        strict.size([("Content-Length", length)])
    with pytest.raises(Malformed):
        strict.size([("Content-Length", "1"), ("content-length", "2")])
    assert 7 == strict.size([("Content-Length", "7"), ("content-length", "7")])
    assert strict.size([]) is None


def test_chunks_are_the_only_coding() -> None:
    """Others would change where the body ends."""
    assert strict.CHUNKED == strict.size([("transfer-encoding", "Chunked"), ("Content-Length", "7")])
    with pytest.raises(Malformed):
        strict.size([("transfer-encoding", "gzip, chunked")])
