"""Archived turns as a conversation that can be read: what was said, each call with its result, pictures, and how much of it is shown."""

from __future__ import annotations

import json
import re

from tenon.base.text import cut
from tenon.store import passages

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from tenon.store.exchanges import Turn

SAID = 100_000  # characters of a text that are shown at once
FOLDED = 8_000  # of what is folded: thinking, the input of a call, its result
LAID_OUT = 500_000  # of data of one page that is laid out line by line; what is more stands in one line, as that is a hundred times faster
PARTS = 1_000  # arguments of a call, or parts of a result, that are told one by one
ABOUT = 160  # of a call's main argument
PICTURES = ("image/png", "image/jpeg", "image/gif", "image/webp")
PICTURE_BYTES = 2_000_000  # of one picture
ALL_BYTES = 6_000_000  # of the pictures of one page; the others are asked for one by one
_LINES = json.JSONEncoder(ensure_ascii=False, indent=1)
BASE64 = re.compile(r"[A-Za-z0-9+/]+={0,2}")


class Telling:
    """Tells the turns of one page; `whole` tells their texts to the end, and pictures whatever they weigh together."""

    def __init__(self, *, whole: bool = False) -> None:
        self.whole = whole
        self.room_bytes = ALL_BYTES
        self.room_chars = LAID_OUT
        self.calls: dict[str, dict[str, Any]] = {}  # that wait for their results, by id

    def all(self, turns: Sequence[Turn]) -> list[dict[str, Any]]:
        """The turns in order. A result stands with its call, where that is among them, and is then no turn of its own."""
        told = []
        for turn in turns:
            item = self.turn(turn)
            item["blocks"] = [block for block in item["blocks"] if not self._placed(block)]
            if item["blocks"] or turn.kind != "result" or turn.forgotten is not None:
                told.append(item)
        return told

    def turn(self, turn: Turn) -> dict[str, Any]:
        """One turn with its blocks, results apart from their calls."""
        return {
            "id": turn.ref, "kind": turn.kind, "role": turn.role, "source": turn.source, "at": turn.at, "tokens": turn.tokens, "forgotten": turn.forgotten,
            "blocks": [told for block in turn.content if isinstance(block, dict) for told in self._block(turn, block)],
        }  # fmt: skip

    def _placed(self, block: dict[str, Any]) -> bool:
        """Whether the block is a result that stands with its call now; notes a call."""
        if block["type"] == "call" and block["call"]:
            self.calls[block["call"]] = block
        call = self.calls.pop(block["call"], None) if block["type"] == "result" else None
        if call is not None:
            call["result"] = block
        return call is not None

    def _block(self, turn: Turn, block: dict[str, Any]) -> list[dict[str, Any]]:
        kind = str(block.get("type") or "")
        if kind in ("text", "note"):
            return [{"type": kind, **self._text(str(block.get("text") or ""), SAID)}]
        if kind == "thinking":
            return [{"type": "thinking", **self._text(str(block.get("thinking") or ""), FOLDED)}]
        if kind.endswith("tool_use"):
            return [self._call(block)]
        if kind.endswith("tool_result"):
            return [self._result(turn, block)]
        if kind == "image":
            return [self._picture(block)]
        return [{"type": "note", **self._text(_named(kind, block), SAID)}]

    def _text(self, text: str, most: int) -> dict[str, Any]:
        if self.whole or len(text) <= most:
            return {"text": text}
        return {"text": text[:most], "cut": True, "chars": len(text)}

    def _call(self, block: dict[str, Any]) -> dict[str, Any]:
        given = block.get("input")
        about = next((given[key] for key in passages.READABLE if isinstance(given.get(key), str)), "") if isinstance(given, dict) else ""
        return {
            "type": "call", "call": str(block.get("id") or ""), "name": cut(str(block.get("name") or "a tool"), 80), "about": cut(about[:FOLDED], ABOUT),
            **self._text(self._input(given), FOLDED), "result": None,
        }  # fmt: skip

    def _result(self, turn: Turn, block: dict[str, Any]) -> dict[str, Any]:
        content = block.get("content")
        parts = [part for part in content if isinstance(part, dict)] if isinstance(content, list) else []
        # A reference names a tool that was found; whatever else is no text is shown as the data that it is.
        rest = [part for part in parts if part.get("type") not in ("text", "image")]
        notes = [self._data(rest)] if len(rest) > PARTS else [str(part.get("text") or "") if part.get("type") == "note" else self._data(part) for part in rest]
        text = "\n".join(filter(None, [passages.output(content), *notes]))
        return {
            "type": "result", "call": str(block.get("tool_use_id") or ""), "turn": turn.ref, "at": turn.at, "tokens": turn.tokens, "source": turn.source,
            "error": bool(block.get("is_error")), **self._text(text, FOLDED), "images": [self._picture(part) for part in parts if part.get("type") == "image"],
        }  # fmt: skip

    def _input(self, given: object) -> str:
        """The input of a call: a text as it is, else line by line what its arguments are."""
        if not isinstance(given, dict) or len(given) > PARTS:
            return "" if given is None else self._data(given)
        lines = []
        for name, value in given.items():
            told = value if isinstance(value, str) else self._data(value)
            lines.append(f"{name}:\n{told}" if "\n" in told else f"{name}: {told}")
        return "\n".join(lines)

    def _data(self, value: object) -> str:
        """The value as JSON, laid out as long as there is room for it."""
        plain = json.dumps(value, ensure_ascii=False)
        if len(plain) > self.room_chars:
            return plain
        pieces = []
        for piece in _LINES.iterencode(value):
            self.room_chars -= len(piece)
            if self.room_chars < 0:  # it is deep: most of it would be the space before its lines
                return plain
            pieces.append(piece)
        return "".join(pieces)

    def _picture(self, block: dict[str, Any]) -> dict[str, Any]:
        """A picture as a data: address, or with a note why it is not shown; `later` where it only is not shown at once."""
        found = block.get("source")
        source = found if isinstance(found, dict) else {}
        media, data = str(source.get("media_type") or ""), source.get("data")
        told: dict[str, Any] = {"type": "image", "media": cut(media, 40)}
        if source.get("type") != "base64" or not isinstance(data, str):
            where = source.get("url") if isinstance(source.get("url"), str) else ""
            return {**told, "note": f"a picture that is not in the archive{': ' + cut(where, 300) if where else ''}"}
        size = len(data) * 3 // 4
        told["bytes"] = size
        if media not in PICTURES or len(data) % 4 or BASE64.fullmatch(data) is None:
            return {**told, "note": "a picture of a kind that is not shown"}
        if size > PICTURE_BYTES:
            return {**told, "note": "a picture that is too large to be shown"}
        if size > self.room_bytes and not self.whole:
            return {**told, "later": True}
        self.room_bytes -= size
        return {**told, "data": f"data:{media};base64,{data}"}


def _named(kind: str, block: dict[str, Any]) -> str:
    """What stands for a block that is not shown."""
    source = block.get("source")
    data = source.get("data") if isinstance(source, dict) else None
    title = block.get("title") or block.get("name")
    size = f", {len(data) * 3 // 4:,} bytes" if isinstance(data, str) else ""
    return f"[{cut(kind.replace('_', ' ') or 'something', 60)}{': ' + cut(title, 120) if isinstance(title, str) else ''}{size}]"
