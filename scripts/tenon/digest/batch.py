"""What one request of a digest reads: as many waiting turns as fit, whole, with what was done between them and what is known already.

A turn that is longer than a batch is read in parts, over several batches; it has been dealt with when its last part was.
"""

from __future__ import annotations

from tenon.base.text import cut, tokens, words
from tenon.digest import prompts, spot_runs
from tenon.store import exchanges, memories, passages, places

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from tenon.store.db import Store
    from tenon.store.exchanges import Turn
    from tenon.store.memories import Memory

LOOKED_AT = 500  # waiting turns that are read from the store for one batch
DEEDS = 12  # calls that are told between two turns
DEED = 120  # characters of a call, and of how it ended
KNOWN_SHARE, KNOWN_LEAST, KNOWN_MOST = 0.1, 600, 6000  # tokens of known memories, as a share of the batch, at least, at most
KNOWN_CHARS = 240
FRESH = 15  # of the known memories that are told whether or not the batch has their words
CANDIDATES = 2000
LEFT_OVER = 400  # tokens; with less room than that no part of a long turn is begun


class Part:
    """Characters [first, last) of a turn's text; `whole` when nothing of the turn is left after it."""

    __slots__ = ("turn", "first", "last", "whole")

    def __init__(self, turn: Turn, first: int, last: int, *, whole: bool) -> None:
        self.turn = turn
        self.first = first
        self.last = last
        self.whole = whole


class Batch:
    """The parts in order, the known memories that are told with them, and the lines of both."""

    __slots__ = ("repository", "scope", "parts", "known", "known_lines", "lines", "tokens", "outside")

    def __init__(self, repository: int, scope: list[int], parts: list[Part]) -> None:
        self.repository = repository
        self.scope = scope
        self.parts = parts
        self.known: list[Memory] = []
        self.known_lines: list[str] = []
        self.lines: list[str] = []
        self.tokens = 0  # of what was said in it
        self.outside: dict[int, float] = {}  # of a session: when something from outside was first read in it

    @property
    def turns(self) -> dict[str, Turn]:
        """The turns by their ids."""
        return {part.turn.ref: part.turn for part in self.parts}

    @property
    def last(self) -> str:
        """The id of its last turn."""
        return self.parts[-1].turn.ref

    @property
    def prompt(self) -> str:
        """What the model is asked."""
        return prompts.framed(prompts.KNOWN, self.known_lines, prompts.TRANSCRIPT, self.lines, self.last)

    def source(self, turn: Turn) -> str:
        """The class of source of what a turn says: what the assistant said after it had read from outside counts as outside."""
        first = self.outside.get(turn.session)
        return "outside" if turn.source == "assistant" and first is not None and first <= turn.at else turn.source


def compose(store: Store, repository: int, room: int, since: float = 0.0) -> Batch | None:
    """The next batch of a repository, of about `room` tokens at most, or None when nothing waits that was said since that time."""
    batch = Batch(repository, places.scope(store, repository), [])
    left = room
    for turn in sorted(exchanges.pending(store, repository, LOOKED_AT, since), key=lambda turn: (turn.session, turn.id)):
        part, cost = _part(store, turn, left, first=not batch.parts)
        if part is None:
            break
        batch.parts.append(part)
        batch.tokens += cost
        left -= cost + 12  # its line's own words
        if not part.whole:
            break
    if not batch.parts:
        return None
    _tell(store, batch, max(0, left))
    _remind(store, batch)
    return batch


def _part(store: Store, turn: Turn, left: int, *, first: bool) -> tuple[Part | None, int]:
    text = turn.text()
    begin = min(exchanges.read_to(store, turn.id), len(text))
    cost = tokens(text[begin:])
    if cost <= left:
        return Part(turn, begin, len(text), whole=True), cost
    if left < LEFT_OVER and not first:
        return None, 0
    # Cut at a space, if one is near; by characters, as tokens are estimated from those.
    end = begin + max(1, (len(text) - begin) * max(left, LEFT_OVER) // cost)
    space = text.rfind(" ", begin + (end - begin) // 2, end)
    end = space + 1 if space > 0 else end
    return Part(turn, begin, end, whole=end >= len(text)), tokens(text[begin:end])


def _tell(store: Store, batch: Batch, room: int) -> None:
    """Writes the lines of the record: sessions, turns, and what was done between them while there is room for that."""
    before: Part | None = None
    for part in batch.parts:
        turn = part.turn
        if before is None or before.turn.session != turn.session:
            session = exchanges.session_of(store, turn.session)
            first = _outside_since(store, turn.session)
            if first is not None:
                batch.outside[turn.session] = first
            batch.lines.append(
                f"--- a session of {_day(session.started)}" + (f" on branch {prompts.harmless(cut(session.branch, 60))}" if session.branch else "")
            )
        elif room > 0:
            for line in _deeds(store, before.turn, turn):
                room -= tokens(line)
                batch.lines.append(line)
        who = "assistant, after reading from outside" if batch.source(turn) == "outside" else turn.role
        text = turn.text()[part.first : part.last]
        mark = ", goes on" if part.first else ""
        batch.lines.append(f"[{turn.ref} {who} {_day(turn.at)}{mark}] {prompts.harmless(text)}" + ("" if part.whole else " (to be continued)"))
        before = part


def _outside_since(store: Store, session: int) -> float | None:
    """When something from outside was first read in a session: a page, a message of another, or what a shell was told to fetch."""
    first = exchanges.outside_since(store, session)
    end = float("inf") if first is None else first
    return next((at for at, command in exchanges.commands(store, session, end) if spot_runs.reads_away(command)), first)


def _deeds(store: Store, before: Turn, after: Turn) -> Iterable[str]:
    """A line for each call between two turns: what was called, and whether it failed."""
    calls: dict[str, str] = {}
    for turn in exchanges.done_between(store, after.session, before.id, after.id, 2 * DEEDS):
        for block in turn.content:
            if not isinstance(block, dict):
                continue
            if block.get("type") == "tool_use":
                calls[str(block.get("id"))] = "  · " + prompts.harmless(cut(passages.searchable([block]), DEED))
            elif block.get("type") == "tool_result" and str(block.get("tool_use_id")) in calls:
                ended = cut(passages.output(block.get("content")).strip()[-DEED:], DEED) if block.get("is_error") else "ok"
                calls[str(block["tool_use_id"])] += f" → {'failed: ' if block.get('is_error') else ''}{prompts.harmless(ended)}"
    return list(calls.values())[:DEEDS]


def _remind(store: Store, batch: Batch) -> None:
    """Chooses the known memories: the newest, and those that have most of the batch's rarer words."""
    room = int(min(KNOWN_MOST, max(KNOWN_LEAST, batch.tokens * KNOWN_SHARE)))
    known = [memory for memory in memories.recent(store, batch.repository, CANDIDATES) if memory.kind not in ("procedure", "identity", "relationship")]
    said = {word for line in batch.lines for word in words(line)}
    bags = {memory.id: set(words(memory.text)) for memory in known}
    often: dict[str, int] = {}
    for bag in bags.values():
        for word in bag:
            often[word] = often.get(word, 0) + 1
    near = {memory.id: sum(1 / often[word] for word in bags[memory.id] & said) for memory in known}
    chosen = known[:FRESH] + sorted(known[FRESH:], key=lambda memory: (-near[memory.id], memory.id))
    for memory in chosen:
        line = f"[{memory.ref} {memory.kind} {_day(memory.reinforced)}] {prompts.harmless(cut(memory.text, KNOWN_CHARS))}"
        room -= tokens(line)
        if room < 0:
            break
        batch.known.append(memory)
        batch.known_lines.append(line)


def _day(at: float) -> str:
    import time

    return time.strftime("%Y-%m-%d", time.gmtime(at))
