"""How much fits: the weight of what is sent, the window of a model, and what leaves in one large step when it is too much.

Weights are bytes of text and a number of images, because those can be counted; tokens follow from them by a rate that is
learned from the usage in the answers.
"""

from __future__ import annotations

import re

from tenon.wire.blocks import NO_ANSWER, blocks_of, starts, text, with_images
from tenon.wire.edit import unmarked, without_thinking
from tenon.wire.spans import decode, printed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

PER_TOKEN = 3.0  # bytes of text in one token, before any answer has told better: 3.6 of prose, 2.7 of code
IMAGE_TOKENS = 1600
MOST_IMAGES = 8  # kept of what is old: above 20 in one request the API bounds their size
PAGE_BYTES = 60_000  # base64 of a document that weighs about as much as an image

SMALL, LARGE = 200_000, 1_000_000  # tokens
_VERSION = re.compile(r"(opus|sonnet|haiku)-(\d{1,2})(?!\d)(?:[-.](\d{1,2})(?!\d))?")
_FIRST_LARGE = {"opus": (4, 6), "sonnet": (4, 6), "haiku": (5, 5)}

LEFT_OUT = "[{} earlier exchange{} left out here to stay within the context budget; Tenon's archive has {}.]"
_LEFT_OUT = re.compile(r"\[(\d+) earlier exchanges? left out here to stay within the context budget;")


class Cut:
    """What stays: the messages, how many exchanges left this time, how many images are in what stays."""

    __slots__ = ("kept", "left_out", "images")

    def __init__(self, kept: list[bytes], left_out: int, images: int) -> None:
        self.kept, self.left_out, self.images = kept, left_out, images


def window(model: str) -> int:
    """The context window of a model in tokens, by its name; the small one when the name says nothing."""
    name = model.lower()
    if "fable" in name or "mythos" in name:
        return LARGE
    found = _VERSION.search(name)
    if found is None:
        return SMALL
    return LARGE if (int(found.group(2)), int(found.group(3) or 0)) >= _FIRST_LARGE[found.group(1)] else SMALL


def weight(value: Any) -> tuple[int, int]:
    """The bytes of text and the number of images in a decoded value or in a `Message.value`; base64 data is not text."""
    size = images = 0
    rest = [value]
    while rest:
        here = rest.pop()
        if isinstance(here, str):
            size += 2 + _size(here)
        elif isinstance(here, list):
            size += 1 + len(here)
            rest.extend(here)
        elif isinstance(here, dict):
            kind = here.get("type")
            if kind == "image":
                images += 1
                continue
            data = here.get("data")
            if kind == "base64" and isinstance(data, str):  # of a document; an image has gone by
                images += 1 + len(data) // PAGE_BYTES
                continue
            for name, inner in here.items():
                size += 4 + len(name)
                rest.append(inner)
        else:
            size += 4
    return size, images


def tokens(text_bytes: int, images: int, per_token: float) -> int:
    """The tokens of so many bytes of text and images, at `per_token` bytes a token, rounded up."""
    rate = per_token if per_token > 0 else PER_TOKEN
    return -int(-text_bytes // rate) + images * IMAGE_TOKENS


def cut(messages: Sequence[bytes], keep_tokens: int, per_token: float) -> Cut:
    """The newest whole exchanges that fit, behind a line that says how many left; the newest one stays whatever its size.

    Thinking and cache markers leave, and all images but the newest eight. What cannot begin a conversation, because its
    prompt is not there, leaves too.
    """
    decoded: list[dict[str, Any]] = [decode(message) for message in messages]
    before = _before(decoded)
    first = 1 if before else 0
    begins = [at + first for at in starts(decoded[first:])]
    if not begins:
        return Cut([], 1 if len(decoded) > first else 0, 0)
    headless = 1 if begins[0] > first else 0
    ends = [*begins[1:], len(decoded)]
    line = _line(before + headless + len(begins))
    size, _ = weight(line)
    images, at = 0, len(begins)
    kept: list[list[bytes]] = []
    while at:
        exchange, more, seen = _leaned(messages[begins[at - 1] : ends[at - 1]], MOST_IMAGES - images)
        if kept and tokens(size + more, images + seen, per_token) > keep_tokens:
            break
        kept.insert(0, exchange)
        size, images, at = size + more, images + seen, at - 1
    gone = at + headless
    opening = [printed(_line(before + gone))] if before + gone else []
    return Cut([*opening, *(message for exchange in kept for message in exchange)], gone, images)


def _leaned(exchange: Sequence[bytes], most_images: int) -> tuple[list[bytes], int, int]:
    """An exchange as it stays, the bytes of its text, and its images."""
    kept: list[bytes] = []
    size = images = 0
    after = ""
    for raw in reversed(exchange):
        role = decode(raw)["role"]
        lean = unmarked(without_thinking(raw) if role == "assistant" else raw)
        if role == "assistant" and not (lean and blocks_of(decode(lean))):
            # Of an answer that was all thinking something must stay where a system entry or a prompt counts on it.
            lean = b"" if after == "assistant" else printed({"role": "assistant", "content": [text(NO_ANSWER)]})
        after = role
        if not lean:
            continue
        message = decode(lean)
        fewer, seen = with_images(message, most_images - images)
        if fewer is not message:
            message, lean = fewer, printed(fewer)
        kept.insert(0, lean)
        size += weight(message)[0] + 1
        images += seen
    return kept, size, images


def _before(decoded: list[dict[str, Any]]) -> int:
    """How many exchanges an earlier cut has left out, as its line says."""
    blocks = blocks_of(decoded[0]) if decoded else []
    if len(blocks) != 1 or decoded[0]["role"] != "user" or blocks[0].get("type") != "text":
        return 0
    found = _LEFT_OUT.match(str(blocks[0].get("text")))
    return int(found.group(1)) if found else 0


def _line(count: int) -> dict[str, Any]:
    return {"role": "user", "content": [text(LEFT_OUT.format(count, "" if count == 1 else "s", "it" if count == 1 else "them"))]}


def _size(words: str) -> int:
    """The bytes of a text in UTF-8; a text of `Message.value` has a character for each byte already, and is known by being UTF-8 again."""
    if words.isascii():
        return len(words)
    try:
        words.encode("latin-1").decode("utf-8")
    except UnicodeError:
        return len(words.encode("utf-8", "surrogatepass"))
    return len(words)
