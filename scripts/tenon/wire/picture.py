"""How large a picture is, read from the first bytes of its file."""

from __future__ import annotations

import base64
import struct

HEAD_CHARS = 87_384  # of base64: 64 KB, within which every camera's picture says its size


def longest_side(data: str) -> int:
    """The longer side in pixels of a PNG, GIF, JPEG or WebP given as base64; 0 when it is not found."""
    try:
        head = base64.b64decode(data[:HEAD_CHARS] if len(data) > HEAD_CHARS else data)
        return max(_size(head))
    except (ValueError, IndexError, struct.error):
        return 0


def _size(head: bytes) -> tuple[int, int]:
    if head[:8] == b"\x89PNG\r\n\x1a\n":
        width, height = struct.unpack(">II", head[16:24])
        return width, height
    if head[:3] == b"GIF":
        width, height = struct.unpack("<HH", head[6:10])
        return width, height
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return _webp(head)
    at = 2
    while head[:2] == b"\xff\xd8" and head[at] == 0xFF:
        kind, length = head[at + 1], struct.unpack(">H", head[at + 2 : at + 4])[0]
        if 0xC0 <= kind <= 0xCF and kind not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack(">HH", head[at + 5 : at + 9])
            return width, height
        at += 2 + length
        if at + 9 > len(head):
            break
    return 0, 0


def _webp(head: bytes) -> tuple[int, int]:
    if head[12:16] == b"VP8X":
        return 1 + int.from_bytes(head[24:27], "little"), 1 + int.from_bytes(head[27:30], "little")
    if head[12:16] == b"VP8L":
        bits = int.from_bytes(head[21:25], "little")
        return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
    width, height = struct.unpack("<HH", head[26:30])
    return width & 0x3FFF, height & 0x3FFF
