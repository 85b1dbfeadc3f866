"""The client's own compaction: recognised by its words, and undone.

Claude Code asks for a summary with an instruction behind everything said, in the last user message or in one of its own. Then
it goes on with the summary in place of the conversation, with its last answer, or the open call and its result, once more
behind it. Undone means: what it had sent stands there again, word for word, so that nothing is lost and no cache is missed.

Nothing is undone in doubt. What the client says beside the summary is carried over; `undo` gives None when the result would
not be a conversation that the API takes. Seen in 2.1.197 and 2.1.332.
"""

from __future__ import annotations

from tenon.wire.blocks import NO_ANSWER, REMINDED, REMINDER, blocks_of, calls, no_results, results, says, text, unanswered
from tenon.wire.edit import unmarked
from tenon.wire.identity import canonical, digest
from tenon.wire.spans import decode, elements, members, printed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from tenon.wire.body import Body

INSTRUCTION, WANTED = "CRITICAL: Respond with TEXT ONLY", "<summary>"
CONTINUED, BELOW = "This session is being continued from a previous conversation", "The summary below covers"
FIRST_CHARS = 400  # in which the summary says what it is

THINKING = ("thinking", "redacted_thinking")


class Undo:
    """What to send in place of a summary: `extra` behind everything sent before, then the client's messages from `skip` on.

    Thinking in the client's messages below `strip` was made in front of something else and has to leave.
    """

    __slots__ = ("skip", "extra", "strip")

    def __init__(self, skip: int, extra: list[bytes], strip: int) -> None:
        self.skip, self.extra, self.strip = skip, extra, strip


def instruction_at(body: Body) -> int | None:
    """The index of the message that asks for a summary, or None; a system entry may stand behind it."""
    last = next((index for index in range(len(body.messages) - 1, -1, -1) if body.messages[index].role != "system"), None)
    if last is None or body.messages[last].role != "user":
        return None
    spoken = blocks_of(body.messages[last].value)
    return last if spoken and _asks(spoken[-1]) else None


def is_instruction(body: Body) -> bool:
    """Whether the client asks the model to write the summary of a compaction."""
    return instruction_at(body) is not None


def kept_of_instruction(last: bytes, before: bytes | None) -> bytes | None:
    """The message without the instruction in it, or None when there is nothing else in it.

    `before` is what stood in the same place of an earlier request: when that is the same message, its bytes are given.
    """
    source = last.decode("latin-1")
    content = next((member for member in members(source, 0)[0] if member.name == "content"), None)
    if content is None or isinstance(content.value, str):
        return None if content is not None and _asks(text(content.value)) else last
    blocks = elements(source, content.start)[0] if isinstance(content.value, list) else []
    kept = [last[block.start : block.end] for block in blocks if not _asks(block.value)]
    message = last if len(kept) == len(blocks) else last[: content.start] + b"[" + b",".join(kept) + b"]" + last[content.end :]
    if not canonical(decode(message))["content"]:
        return None
    return before if before is not None and digest(before) == digest(message) else message


def is_summary(message: bytes) -> bool:
    """Whether it is the summary with which a client goes on after a compaction: nothing but reminders stands in front of it."""
    return CONTINUED.encode() in message and _summary_at(decode(message)) is not None


def undo(body: Body, sent: Sequence[tuple[str, bytes]]) -> Undo | None:
    """What to send in place of the summary that the request begins with, or None when there is none or it is better left.

    `sent` is what stood upstream before, as pairs of digest and bytes, at least from the last prompt on.
    """
    if not sent or not body.messages or not is_summary(body.slice(0)) or _goes_on(body, sent):
        return None
    return _Undoing(body, sent).result()


class _Undoing:
    """One request on its way from a summary back to what was said."""

    def __init__(self, body: Body, sent: Sequence[tuple[str, bytes]]) -> None:
        self.body, self.sent = body, sent
        self.client = [body.whole(index) for index in range(len(body.messages))]
        at = _summary_at(self.client[0]) or 0
        spoken = blocks_of(self.client[0])
        self.summary = spoken[at]
        self.context = [block for block in spoken[:at] if not self._was_sent(block)]
        # What the client merged into the summary's message is its first one.
        self.client[0] = {"role": "user", "content": spoken[at + 1 :]}
        self.tail = self._tail()

    def result(self) -> Undo | None:
        """What `undo` gives."""
        waiting = unanswered(self.tail)
        if waiting is None:
            return None
        index, left = self._repeated()
        new = [] if index == 0 else [block for block in self.client[0]["content"] if _reminds(block) and not self._was_sent(block)]
        pending = [{"role": "user", "content": [*self.context, *new]}, *self._carried(self.client[1:index]), left]
        pending = [message for message in pending if message["role"] == "system" or canonical(message)["content"]]
        skip = index + 1
        extra: list[dict[str, Any]] = []
        if waiting:
            skip = self._answers(waiting, pending, skip, extra)
        extra += sorted(pending, key=lambda message: not results(message))
        if self._ends() and not any(message["role"] == "user" for message in [*extra, *self.client[skip:]]):
            extra.append({"role": "user", "content": [self.summary]})
        while skip < len(self.client) and self._misplaced(skip, extra):
            extra += self._carried([self.client[skip]])
            skip += 1
        if self._is_open(extra, skip):
            extra.insert(0, {"role": "assistant", "content": [text(NO_ANSWER)]})
        return self._whole(skip, extra)

    def _whole(self, skip: int, extra: list[dict[str, Any]]) -> Undo | None:
        """The result, when it is in order and every call in it is new."""
        rest = [*extra, *self.client[skip:]]
        if unanswered([*self.tail, *rest]) != [] or self._ends(rest):
            return None
        new = [each for message in rest for each in calls(message)]
        if len(new) != len(set(new)) or any(b'"' + each.encode("utf-8", "replace") + b'"' in content for each in new for _, content in self.sent):
            return None
        thought = any(block.get("type") in THINKING for message in self.client[skip:] for block in blocks_of(message))
        return Undo(skip, [unmarked(printed(message)) for message in extra], len(self.client) if thought else 0)

    def _tail(self) -> list[dict[str, Any]]:
        """What was sent from the last assistant turn on."""
        tail: list[dict[str, Any]] = []
        met = False
        for _, content in reversed(self.sent):
            message = decode(content)
            if met and message["role"] == "user":
                break
            met = met or message["role"] == "assistant"
            tail.insert(0, message)
        # A system entry in front of the turn belongs to what is not looked at; behind it they stay.
        while met and tail[0]["role"] != "assistant":
            tail.pop(0)
        return tail

    def _repeated(self) -> tuple[int, dict[str, Any]]:
        """The last message that repeats what was sent, wholly or in part, and what more there is in it; 0 and all of it for none."""
        flow = [(index, place, key) for index, message in enumerate(self.client) for place, key in _keys(message)]
        known: dict[str, list[Any]] = {}
        tail: list[Any] = []
        for own, content in reversed(self.sent):
            if len(tail) >= len(flow):
                break
            keys = [key for _, key in _keys(decode(content))]
            known[own] = keys
            tail = keys + tail
        # What was redacted on its way into the store is known by its digest still.
        same = {index: known.get(digest(self.body.slice(index))) for index in range(1, len(self.client))}
        seen: dict[int, int] = {}
        for number, (index, place, _) in enumerate(flow):
            keys = same.get(index) or []
            if seen.get(index, 0) < len(keys):
                flow[number] = (index, place, keys[seen.get(index, 0)])
            seen[index] = seen.get(index, 0) + 1
        said = [key for _, _, key in flow]
        for count in range(min(len(said), len(tail)), 0, -1):
            if tail[-count:] == said[:count]:
                index, place, _ = flow[count - 1]
                return index, {**self.client[index], "content": blocks_of(self.client[index])[place + 1 :]}
        return 0, self.client[0]

    def _carried(self, messages: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """What the system entries among these say, as messages that may stand behind an answer; the effort they set stays one."""
        found: list[dict[str, Any]] = []
        for entry in messages:
            if entry["role"] != "system":
                continue
            words = "\n".join(str(block.get("text")) for block in blocks_of(entry) if block.get("type") == "text").strip()
            if words:
                found.append({"role": "user", "content": [text(f"{REMINDER}\n{words}\n{REMINDED}")]})
            if entry.get("output_config"):
                found.append({"role": "system", "content": [], "output_config": entry["output_config"]})
        return found

    def _answers(self, waiting: list[str], pending: list[dict[str, Any]], skip: int, extra: list[dict[str, Any]]) -> int:
        """Puts the results of open calls first, the client's own or a line that says there is none; gives the new skip."""
        given = {each for message in pending for each in results(message)}
        behind = skip
        while behind < len(self.client) and self.client[behind]["role"] == "user" and results(self.client[behind]):
            given.update(results(self.client[behind]))
            behind += 1
        missing = [each for each in waiting if each not in given]
        if missing:
            extra.append(no_results(missing))
        if not pending:
            return skip
        extra += self.client[skip:behind]
        return behind

    def _ends(self, rest: Sequence[dict[str, Any]] = ()) -> bool:
        """Whether the assistant has the last word."""
        spoken = [message["role"] for message in [*self.tail, *rest] if message["role"] != "system"]
        return bool(spoken) and spoken[-1] == "assistant"

    def _misplaced(self, index: int, extra: list[dict[str, Any]]) -> bool:
        """Whether a system entry of the client's has words and would not stand between a user message and an answer or the end."""
        entry = self.client[index]
        if entry["role"] != "system":
            return False
        after = next((message["role"] for message in self.client[index:] if message["role"] != "system"), "assistant")
        return says(entry) and (self._ends(extra) or after != "assistant")

    def _is_open(self, extra: list[dict[str, Any]], skip: int) -> bool:
        """Whether a system entry was the last word and a user message would follow it."""
        last = next((message for message in reversed(self.tail) if message["role"] != "system" or says(message)), None)
        after = next((message["role"] for message in [*extra, *self.client[skip:]] if message["role"] != "system"), "assistant")
        return last is not None and last["role"] == "system" and after == "user"

    def _was_sent(self, block: dict[str, Any]) -> bool:
        """Whether the same words stand in what was sent."""
        words = printed(str(block.get("text")).strip())[1:-1]
        return block.get("type") == "text" and any(words in content for _, content in self.sent)


def _asks(block: Any) -> bool:
    words = block.get("text") if isinstance(block, dict) and block.get("type") == "text" else None
    return isinstance(words, str) and words.lstrip().startswith(INSTRUCTION) and WANTED in words


def _reminds(block: dict[str, Any]) -> bool:
    return block.get("type") == "text" and str(block.get("text")).lstrip().startswith(REMINDER)


def _summary_at(message: dict[str, Any]) -> int | None:
    """The place of the summary among the blocks of a message, or None."""
    for place, block in enumerate(blocks_of(message) if message.get("role") == "user" else []):
        words = str(block.get("text")).lstrip() if block.get("type") == "text" else ""
        if words.startswith(CONTINUED):
            return place if BELOW in words[:FIRST_CHARS] else None
        if not _reminds(block):
            return None
    return None


def _goes_on(body: Body, sent: Sequence[tuple[str, bytes]]) -> bool:
    """Whether what was sent began with this very summary already, and with what follows it."""
    if digest(body.slice(0)) != sent[0][0]:
        return False
    client = [digest(body.slice(index)) for index in range(1, len(body.messages)) if says(body.messages[index].value)]
    before = [own for own, content in sent[1:] if says(decode(content))]
    return not client or client[:1] == before[:1]


def _keys(message: dict[str, Any]) -> list[tuple[int, Any]]:
    """The place of each block that counts and what it is known by: a call and a result by their id, reminders not at all."""
    found: list[tuple[int, Any]] = []
    if message["role"] == "system":
        return found
    for place, block in enumerate(blocks_of(message)):
        seen = canonical({"content": [block]})["content"]
        if not seen:
            continue
        kind = block.get("type")
        if kind in ("tool_use", "tool_result"):
            found.append((place, (kind, block.get("id") if kind == "tool_use" else block.get("tool_use_id"))))
        elif not (message["role"] == "user" and _reminds(block)):
            found.append((place, (message["role"], seen[0])))
    return found
