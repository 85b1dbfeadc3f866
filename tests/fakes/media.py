"""Limits on images, read from the first bytes of the picture itself."""

from __future__ import annotations

import base64
import struct

from tests.fakes.conversation import Block, all_blocks
from tests.fakes.models import Model
from tests.fakes.refusal import Refusal

KINDS = ("image/jpeg", "image/png", "image/gif", "image/webp")
MAX_SIDE = 8000
MAX_SIDE_OF_MANY = 2000
MANY = 20


def size_of(picture: bytes) -> tuple[int, int]:
    """Width and height in pixels of a PNG, GIF or JPEG; (0, 0) when they are not found."""
    if picture[:8] == b"\x89PNG\r\n\x1a\n" and len(picture) >= 24:
        width, height = struct.unpack(">II", picture[16:24])
        return width, height
    if picture[:3] == b"GIF" and len(picture) >= 10:
        width, height = struct.unpack("<HH", picture[6:10])
        return width, height
    at = 2
    while picture[:2] == b"\xff\xd8" and at + 9 < len(picture) and picture[at] == 0xFF:
        kind, length = picture[at + 1], struct.unpack(">H", picture[at + 2 : at + 4])[0]
        if 0xC0 <= kind <= 0xCF and kind not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack(">HH", picture[at + 5 : at + 9])
            return width, height
        at += 2 + length
    return 0, 0


def check_images(messages: list[Block], model: Model) -> None:
    """Raises Refusal for too many images, and for one too large among so many."""
    images = [(path, block) for path, block in all_blocks(messages) if block.get("type") == "image"]
    if len(images) > model.max_images:
        raise Refusal(f"Too much media: 0 document pages + {len(images)} images > {model.max_images}")
    for path, block in images:
        source = block.get("source") or {}
        if source.get("type") != "base64":
            continue
        if source.get("media_type") not in KINDS:
            raise Refusal(f"{path}.image.source.base64.media_type: Input should be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'")
        longest = max(size_of(base64.b64decode(str(source.get("data", "")))[:65536]))
        limit = MAX_SIDE_OF_MANY if len(images) > MANY else MAX_SIDE
        if longest > limit:
            many = " for many-image requests" if len(images) > MANY else ""
            raise Refusal(
                f"{path}.image.source.base64.data: At least one of the image dimensions exceed max allowed size{many}: {limit} pixels",
                code="image_dimensions_too_large",
            )
