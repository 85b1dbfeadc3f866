"""The size of a picture, from its first bytes."""

from __future__ import annotations

import base64
import struct

import pytest

from tenon.wire.picture import longest_side

PNG = b"\x89PNG\r\n\x1a\n" + b"\0\0\0\rIHDR" + struct.pack(">II", 2560, 1440)
GIF = b"GIF89a" + struct.pack("<HH", 320, 200)
JPEG = b"\xff\xd8" + b"\xff\xe0" + struct.pack(">H", 16) + b"J" * 14 + b"\xff\xc0" + struct.pack(">HBHH", 17, 8, 600, 800) + b"\0" * 10
VP8X = b"RIFF\0\0\0\0WEBPVP8X" + b"\0" * 8 + (1919).to_bytes(3, "little") + (1079).to_bytes(3, "little")
VP8L = b"RIFF\0\0\0\0WEBPVP8L" + b"\0\0\0\0\x2f" + (99 | 49 << 14).to_bytes(4, "little")
VP8 = b"RIFF\0\0\0\0WEBPVP8 " + b"\0" * 10 + struct.pack("<HH", 640, 480)


@pytest.mark.parametrize(("head", "side"), [(PNG, 2560), (GIF, 320), (JPEG, 800), (VP8X, 1920), (VP8L, 100), (VP8, 640)])
def test_the_longer_side_is_found(head: bytes, side: int) -> None:
    """In each of the four kinds that the API takes."""
    assert side == longest_side(base64.b64encode(head + b"\0" * 200_000).decode())


@pytest.mark.parametrize("head", [b"", b"no picture", PNG[:18], b"\xff\xd8\xff", b"\xff\xd8" + b"\xff\xe0\xff\xff", b"RIFF\0\0\0\0WEBP"])
def test_what_cannot_be_told_is_nothing(head: bytes) -> None:
    """A picture cut short, or of another kind."""
    assert 0 == longest_side(base64.b64encode(head).decode())


def test_what_is_no_base64_is_nothing() -> None:
    """Whatever was archived."""
    assert 0 == longest_side("é=")
