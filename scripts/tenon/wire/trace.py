"""Past sessions as messages: what stands in front of a new conversation, so that the model has it as its own past.

Whole exchanges, the newest that fit. An exchange so large that it would fill half the trace alone is told with shorter
results, or with prompt and last answer only. The same exchanges always give the same bytes.
"""

from __future__ import annotations

import re
import time

from tenon.base.text import cut
from tenon.wire.blocks import text
from tenon.wire.budget import PER_TOKEN, tokens, weight
from tenon.wire.spans import printed
from tenon.wire.telling import BARE, BRIEF, NAME_CHARS, WHOLE, Telling, Told, rename, without_ours

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from tenon.store.exchanges import Session, Turn

LARGE_SHARE = 2  # an exchange above half of the budget is told shorter
IMAGE_BYTES = 8_000_000  # base64 of all images together: a request may have 32 MB, and the conversation has its own


class Trace:
    """Messages, oldest first, their estimated tokens and images, the exchanges in them, and those read that did not fit.

    `oldest` is the time of the oldest exchange in it, 0 for an empty one. Reading ends at the first exchange that does not fit.
    """

    __slots__ = ("messages", "tokens", "images", "exchanges", "left_out", "oldest")

    def __init__(self, messages: list[bytes], tokens: int, images: int, exchanges: int, left_out: int, oldest: float) -> None:
        self.messages, self.tokens, self.images = messages, tokens, images
        self.exchanges, self.left_out, self.oldest = exchanges, left_out, oldest


def compose(
    past: Iterable[tuple[Session, list[Turn]]], *, budget_tokens: int, result_chars: int, images: int = 8, used_ids: Iterable[str] = frozenset()
) -> Trace:
    """The trace of past exchanges, which come newest first, each with its session and its turns oldest first.

    It begins with a user message and ends with an assistant's text, or is empty. Never above `budget_tokens` at PER_TOKEN bytes
    a token. No call in it has an id of `used_ids`; images are at most so many, the newest.
    """
    shown: list[Told] = []
    size = seen = media = left_out = 0
    for session, turns in _exchanges(past):
        line = weight(text(_heading(session, turns[0])))[0] + 1
        # The line stands in front of a session's oldest exchange, and moves when an older one comes in front of that.
        moved = weight(text(_heading(shown[-1].session, shown[-1].first)))[0] + 1 if shown and shown[-1].session.id == session.id else 0
        told = _fitting(session, turns, size + line - moved, seen, budget_tokens, result_chars, (images - seen, IMAGE_BYTES - media))
        if told is None:
            left_out += 1
            break
        if told.messages:
            shown.append(told)
            size, seen, media = size + told.size + line - moved, seen + told.images, media + told.media
    if not shown:
        return Trace([], 0, 0, 0, left_out, 0)
    taken = set(used_ids)
    messages: list[bytes] = []
    before = -1
    for told in reversed(shown):
        if told.session.id != before:
            told.messages[0]["content"].insert(0, text(_heading(told.session, told.first)))
            before = told.session.id
        rename(told.messages, taken)
        messages += [printed(message) for message in told.messages]
    return Trace(messages, tokens(size, seen, PER_TOKEN), seen, len(shown), left_out, min(told.first.at for told in shown))


def _exchanges(past: Iterable[tuple[Session, list[Turn]]]) -> Iterable[tuple[Session, list[Turn]]]:
    """Each exchange of main conversations, newest first."""
    for session, turns in past:
        parts: list[list[Turn]] = []
        for turn in turns:
            if turn.thread:
                continue
            if turn.kind == "prompt" or not parts:
                parts.append([])
            if turn.content:  # not forgotten
                parts[-1].append(turn)
        for part in reversed(parts):
            if part:
                yield session, part


def _fitting(session: Session, turns: list[Turn], size: int, seen: int, budget_tokens: int, result_chars: int, pictures: tuple[int, int]) -> Told | None:
    """The exchange in the fullest form that fits beside what there is; None when none does."""
    for form in (WHOLE, BRIEF, BARE):
        told = Telling(session, turns, form, result_chars, pictures).told()
        if not told.messages:
            return told
        alone = tokens(told.size, told.images, PER_TOKEN)
        if tokens(size + told.size, seen + told.images, PER_TOKEN) <= budget_tokens and (form == BARE or alone * LARGE_SHARE <= budget_tokens):
            return told
        if form == WHOLE and alone * LARGE_SHARE <= budget_tokens:
            return None
    return None


def _heading(session: Session, first: Turn) -> str:
    """The line in front of a session's first exchange here."""
    began, day = _day(session.started), _day(first.at)
    parts = [part for part in re.split(r"[\\/]+", session.folder or "") if part]
    folder, branch = (cut(without_ours(words), NAME_CHARS) for words in (parts[-1] if parts else "", session.branch or ""))
    place = f" in {folder}" if folder else ""
    place += f" ({branch})" if branch else ""
    return f"— session of {began}{place}{'' if day == began else f', from {day} on'} —"


def _day(at: float) -> str:
    try:
        return time.strftime("%Y-%m-%d", time.gmtime(at))
    except (ValueError, OverflowError, OSError):
        return "an unknown day"
