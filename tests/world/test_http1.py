"""Bodies come out as they went in, however the network cuts them, and what is torn is never taken for whole."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenon.world import http1
from tenon.world.http1 import Body, Malformed, Stream, Torn


class Wire:
    """Bytes that arrive in pieces of the given sizes, over and over, and then end."""

    def __init__(self, data: bytes, steps: list[int]) -> None:
        self.data = data
        self.steps = steps
        self.turn = 0

    def recv(self, most: int) -> bytes:
        """The next piece."""
        step = min(most, self.steps[self.turn % len(self.steps)])
        self.turn += 1
        piece, self.data = self.data[:step], self.data[step:]
        return piece


def stream(data: bytes, steps: list[int] | None = None) -> Stream:
    """A stream over those bytes."""
    wire: Any = Wire(data, steps or [65536])
    return Stream(wire)


STEPS = st.lists(st.integers(1, 40) | st.just(65536), min_size=1, max_size=5)
DATA = st.binary(min_size=1, max_size=40) | st.just(b"\r\n0\r\n\r\n") | st.just(b"x" * 300)
SIZES = st.sampled_from(["%x", "%X", "%04x", "%x;ext=1", "%x ; a"])


@given(st.lists(st.tuples(DATA, SIZES)), STEPS, st.sampled_from([b"0\r\n", b"000\r\n", b"0;a\r\n", b"0\r\nTrailer: 1\r\n"]), st.sampled_from([1, 7, 65536]))
def test_chunks_however_they_are_written_and_cut(chunks: list[tuple[bytes, str]], steps: list[int], last: bytes, most: int) -> None:
    """The data, and then what follows the body, untouched."""
    wire = b"".join((size % len(data)).encode() + b"\r\n" + data + b"\r\n" for data, size in chunks) + last + b"\r\n"
    body = Body(stream(wire + b"NEXT\n", steps), http1.CHUNKED)
    assert b"".join(data for data, _ in chunks) == b"".join(iter(lambda: body.read(most), b""))
    assert body.done
    assert b"NEXT" == body.stream.line()


@given(st.lists(DATA, min_size=1), STEPS, st.floats(0, 1))
def test_a_torn_body_is_never_whole(chunks: list[bytes], steps: list[int], share: float) -> None:
    """Wherever it was cut; what was read until then is right."""
    wire = b"".join(b"%x\r\n%b\r\n" % (len(data), data) for data in chunks) + b"0\r\n\r\n"
    body = Body(stream(wire[: int(share * (len(wire) - 1))], steps), http1.CHUNKED)
    found = b""

    def rest() -> None:
        nonlocal found
        while data := body.read():
            found += data

    with pytest.raises(Torn):
        rest()
    assert b"".join(chunks).startswith(found)


@pytest.mark.parametrize(
    "wire", [b"+5\r\nhello\r\n", b"0x5\r\nhello\r\n", b"5_0\r\n", b"\r\n", b" \r\n", b"-1\r\n", b"fffffffffffffffff\r\n", b"5\r\nhelloX\r\n", b";a\r\n"]
)
def test_a_size_that_is_none_is_malformed(wire: bytes) -> None:
    """Python would read some of them as numbers."""
    with pytest.raises(Torn) as caught:
        Body(stream(wire + b"0\r\n\r\n"), http1.CHUNKED).whole(1000)
    assert isinstance(caught.value.__cause__, Malformed)


def test_a_head_keeps_order_and_spelling() -> None:
    """Only the blanks around a value are not part of it."""
    first, headers = http1.read_head(stream(b"\r\nHTTP/1.1 200 All  right\r\nB: 2\r\na:\t 1 \nB:\r\nx: \xe9\r\n\r\n", [1]))
    assert ("HTTP/1.1 200 All  right", [("B", "2"), ("a", "1"), ("B", ""), ("x", "é")]) == (first, headers)
    assert b"HTTP/1.1 200 All  right\r\nB: 2\r\na: 1\r\nB: \r\nx: \xe9\r\n\r\n" == http1.head(first, headers)


@pytest.mark.parametrize("length", ["-1", "1 2", "1, 1", "٣", "0x1", "", "1_0"])
def test_a_length_must_be_a_number(length: str) -> None:
    """And there is one only."""
    with pytest.raises(Malformed):
        http1.length([("Content-Length", length)])
    with pytest.raises(Malformed):
        http1.length([("Content-Length", "1"), ("content-length", "2")])
    assert 7 == http1.length([("Content-Length", "7"), ("content-length", "7")])


def test_a_body_that_is_too_long_is_not_read_to_its_end() -> None:
    """None says so."""
    assert b"12345" == Body(stream(b"12345"), http1.LENGTH, 5).whole(5)
    assert Body(stream(b"123456"), http1.LENGTH, 6).whole(5) is None
