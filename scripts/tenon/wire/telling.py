"""One archived exchange as messages that the API takes again: words verbatim, results shortened, every call with its result.

Thinking never comes: it was signed for another conversation. What the API would not take again (references to tools, server
tools, documents) becomes a line of text.
"""

from __future__ import annotations

import re

from tenon.base.text import clean, cut
from tenon.wire.blocks import NO_ANSWER, NO_PICTURE, NO_RESULT, text
from tenon.wire.budget import weight
from tenon.wire.picture import longest_side

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from tenon.store.exchanges import Session, Turn

NO_PROMPT = "(No prompt was kept.)"
STRAY = "[the result of a call that was not kept was left out]"
CALLS_LEFT = "[{} tool call{} of this exchange left out; archive id {}: memory_archive, action exchange, everywhere true, shows them]"
SHORTENED = "\n[… {} characters left out; archive id {}: memory_archive, action turn, everywhere true, shows all …]\n"
BRIEF_CHARS = 400  # of a result in the brief form
NAME_CHARS = 60
LARGEST_SIDE = 2000  # pixels: what the API takes when there are more than 20 images, which may be the client's own
PICTURES = ("image/png", "image/jpeg", "image/gif", "image/webp")

# Results as long as wanted; results brief; prompt and last answer alone, shortened too.
WHOLE, BRIEF, BARE = range(3)

_OPEN, _CLOSE = "<tenon-memory>", "</tenon-memory>"
_fence = re.compile("</?tenon-memory>")
_not_in_id = re.compile(r"[^a-zA-Z0-9_-]")


class Told:
    """One exchange as messages, without the line that names its session."""

    __slots__ = ("session", "first", "messages", "size", "images", "media")

    def __init__(self, session: Session, first: Turn, messages: list[dict[str, Any]], images: int, media: int) -> None:
        self.session, self.first, self.messages, self.images, self.media = session, first, messages, images, media
        self.size = weight(messages)[0]


class Telling:
    """One exchange on its way from the archive's rows to messages."""

    def __init__(self, session: Session, turns: list[Turn], form: int, result_chars: int, pictures: tuple[int, int]) -> None:
        self.session, self.turns, self.form = session, turns, form
        self.chars = max(1, result_chars if form == WHOLE else min(result_chars, BRIEF_CHARS))
        self.text_chars = max(1, result_chars) if form == BARE else 0  # words too are shortened when nothing else helps
        self.images = self.media = 0
        self.kept = self._newest_pictures(*pictures) if form != BARE else set()
        self.results: dict[str, list[tuple[Turn, dict[str, Any]]]] = {}
        for turn in turns:
            for block in _objects(turn.content):
                if block.get("type") == "tool_result" and turn.role == "user":
                    self.results.setdefault(str(block.get("tool_use_id")), []).append((turn, block))
        self.messages: list[dict[str, Any]] = []
        self.open: list[tuple[str, str]] = []  # calls of the message being written: id in the archive, id here
        self.number = 0

    def told(self) -> Told:
        """The exchange as messages; none when nothing in it can be told."""
        for turn in self._rows():
            if self.form == BARE and turn.kind != "prompt":
                self._calls_left()
            for block in _objects(turn.content):
                if turn.role == "assistant":
                    self._assistant(turn, block)
                else:
                    self._user(turn, block)
        self._answer_calls()
        if self.form == BARE:
            self._calls_left()
        if self.messages:
            if self.messages[0]["role"] != "user":
                self.messages.insert(0, {"role": "user", "content": [text(NO_PROMPT)]})
            if self.messages[-1]["role"] != "assistant" or self.messages[-1]["content"][-1]["type"] != "text":
                self._say("assistant", text(NO_ANSWER))
        return Told(self.session, self.turns[0], self.messages, self.images, self.media)

    def _calls_left(self) -> None:
        """Says once how many calls are not told."""
        count = sum(1 for turn in self.turns for block in _objects(turn.content) if block.get("type") == "tool_use")
        if count and not self.number:
            self._say("assistant", text(CALLS_LEFT.format(count, "" if count == 1 else "s", self.turns[0].ref)))
        self.number += 1

    def _rows(self) -> Sequence[Turn]:
        """The rows that are told; of the shortest form prompt and last answer."""
        if self.form != BARE:
            return self.turns
        last = next((turn for turn in reversed(self.turns) if turn.kind == "reply"), None)
        return [turn for turn in self.turns if turn.kind == "prompt" or turn is last]

    def _assistant(self, turn: Turn, block: dict[str, Any]) -> None:
        kind = str(block.get("type"))
        if kind == "text":
            self._words("assistant", turn, block.get("text"))
        elif kind == "tool_use" and self.form != BARE:
            given = block.get("input")
            here = f"c{self.number}"
            self.number += 1
            self.open.append((str(block.get("id")), here))
            was = _not_in_id.sub("_", str(block.get("id") or ""))[:NAME_CHARS]
            name = _not_in_id.sub("_", str(block.get("name") or ""))[:128] or "tool"
            said = {"type": "tool_use", "id": here, "name": name, "input": self._short(given, turn) if isinstance(given, dict) else {}}
            self._say("assistant", {**said, "was": was})
        elif kind not in ("thinking", "redacted_thinking", "tool_use"):
            self._say("assistant", text(_line(block)))

    def _user(self, turn: Turn, block: dict[str, Any]) -> None:
        kind = str(block.get("type"))
        if kind == "tool_result":
            # Results stand behind their calls already, wherever the archive has them.
            self._answer_calls()
            if str(block.get("tool_use_id")) in self.results and any(each is block for _, each in self.results[str(block.get("tool_use_id"))]):
                self._say("user", text(STRAY))
        elif kind == "text":
            self._words("user", turn, block.get("text"))
        else:
            self._answer_calls()
            self._say("user", self._picture(block) or text(_line(block)))

    def _words(self, role: str, turn: Turn, words: object) -> None:
        said = without_ours(words) if isinstance(words, str) else ""
        if role == "assistant":
            said = said.rstrip()
        else:
            self._answer_calls()
        if said.strip():
            self._say(role, text(_shortened(said, self.text_chars, turn.ref) if self.text_chars else said))

    def _say(self, role: str, block: dict[str, Any]) -> None:
        if self.messages and self.messages[-1]["role"] == role:
            self.messages[-1]["content"].append(block)
        else:
            self.messages.append({"role": role, "content": [block]})

    def _answer_calls(self) -> None:
        """Puts the results of the calls in the last message behind it."""
        if not self.open:
            return
        blocks: list[dict[str, Any]] = []
        for there, here in self.open:
            given = self.results.get(there)
            told = self._result(*given.pop(0)) if given else {"content": NO_RESULT, "is_error": True}
            # The id from the archive rides along until all ids are made unlike each other.
            blocks.append({"type": "tool_result", "tool_use_id": here, **told, "was": there[:NAME_CHARS]})
        self.open = []
        self.messages.append({"role": "user", "content": blocks})

    def _result(self, turn: Turn, result: dict[str, Any]) -> dict[str, Any]:
        content = result.get("content")
        inner = [text(content)] if isinstance(content, str) else _objects(content) if isinstance(content, list) else []
        words: list[str] = []
        pictures: list[dict[str, Any]] = []
        for block in inner:
            picture = self._picture(block)
            if picture is not None and picture["type"] == "image":
                pictures.append(picture)
                continue
            said = without_ours(str(block.get("text") or "")) if block.get("type") in ("text", "note") else picture["text"] if picture else _line(block)
            words += [said] if said.strip() else []
        said = _shortened("\n".join(words), self.chars, turn.ref)
        told: dict[str, Any] = {"content": [*([text(said)] if said else []), *pictures] if pictures else said}
        return {**told, "is_error": True} if result.get("is_error") is True else told

    def _short(self, value: Any, turn: Turn) -> Any:
        """A call's input with its long texts shortened."""
        if isinstance(value, str):
            return _shortened(without_ours(value), self.chars, turn.ref)
        if isinstance(value, list):
            return [self._short(inner, turn) for inner in value]
        if isinstance(value, dict):
            return {clean(str(name)): self._short(inner, turn) for name, inner in value.items()}
        return value if not isinstance(value, float) or value - value == 0 else None

    def _picture(self, block: dict[str, Any]) -> dict[str, Any] | None:
        """The image of a block when it is one that stays, a line in place of one that does not, None for what is none."""
        if block.get("type") != "image":
            return None
        if id(block) not in self.kept:
            return text(NO_PICTURE)
        self.images += 1
        self.media += _encoded(block)
        source = block["source"]
        return {"type": "image", "source": {"type": "base64", "media_type": source["media_type"], "data": source["data"]}}

    def _newest_pictures(self, most: int, most_bytes: int) -> set[int]:
        """Which images stay: the newest ones the API takes, within both bounds."""
        kept: set[int] = set()
        for turn in reversed(self.turns):
            for block in reversed(_objects(turn.content) if turn.role == "user" else []):
                inner = block.get("content")
                for each in reversed([block, *(_objects(inner) if isinstance(inner, list) and block.get("type") == "tool_result" else [])]):
                    size = _encoded(each)
                    if not size or len(kept) >= most or size > most_bytes or not 0 < longest_side(each["source"]["data"]) <= LARGEST_SIDE:
                        continue
                    kept.add(id(each))
                    most_bytes -= size
        return kept


def rename(messages: list[dict[str, Any]], taken: set[str]) -> None:
    """Gives each call the id it had, made of allowed characters and unlike every other, and each result that of its call."""
    names: dict[str, str] = {}
    for message in messages:
        for block in message["content"]:
            if block["type"] == "tool_use":
                wanted = _not_in_id.sub("_", block.pop("was"))[:NAME_CHARS] or "call"
                name, number = wanted, 1
                while name in taken:
                    number += 1
                    name = f"{wanted}_{number}"
                taken.add(name)
                names[block["id"]] = block["id"] = name
            elif block["type"] == "tool_result":
                block["tool_use_id"] = names[block["tool_use_id"]]
                del block["was"]


def _line(block: dict[str, Any]) -> str:
    """What a block was that cannot be sent again, in one line."""
    kind = cut(without_ours(str(block.get("type") or "unknown")), NAME_CHARS)
    named = block.get("tool_name") or block.get("name") or block.get("title")
    name = cut(without_ours(named), NAME_CHARS) if isinstance(named, str) else ""
    if kind == "tool_reference":
        return f"[the tool {name} was loaded]"
    return f"[{kind.replace('_', ' ')}{f' {name}' if name else ''}: left out here]"


def _shortened(words: str, most: int, ref: str) -> str:
    """The text, or its head and tail with a line between them that says where the whole is."""
    if len(words) <= most:
        return words
    tail = most // 3
    return words[: most - tail] + SHORTENED.format(len(words) - most, ref) + (words[-tail:] if tail else "")


def without_ours(words: str) -> str:
    """The text as the API takes it, without what Tenon itself had put in front of the model."""
    words = clean(words)
    for _ in range(3):
        if _CLOSE not in words:
            return words
        words = _without_closed(words)
    # Somebody wrote blocks into blocks so that new ones come about.
    return words.replace(_OPEN, "‹" + _OPEN[1:]) if _CLOSE in words else words


def _without_closed(words: str) -> str:
    """The text without everything between an opening and the closing that belongs to it."""
    kept: list[str] = []
    opened: list[int] = []  # where in `kept` a block began
    at = 0
    for found in _fence.finditer(words):
        kept.append(words[at : found.start()])
        at = found.end()
        if found.group() == _CLOSE and opened:
            del kept[opened.pop() :]
            continue
        if found.group() == _OPEN:
            opened.append(len(kept))
        kept.append(found.group())
    return "".join(kept) + words[at:]


def _encoded(block: dict[str, Any]) -> int:
    """The bytes of an image's data when it is one that can be sent again, else 0."""
    source = block.get("source")
    if block.get("type") != "image" or not isinstance(source, dict) or source.get("type") != "base64" or source.get("media_type") not in PICTURES:
        return 0
    data = source.get("data")
    return len(data) if isinstance(data, str) and data.isascii() else 0


def _objects(content: Any) -> list[dict[str, Any]]:
    return [text(block) if isinstance(block, str) else block for block in content if isinstance(block, (dict, str))]
