"""One request while it is planned: whose it is, what is in it, and the parts that it goes upstream as."""

from __future__ import annotations

from hashlib import blake2b

from tenon.wire import budget, compaction, edit, identity

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    from tenon.store.conversations import Epoch
    from tenon.wire.body import Body

    T = TypeVar("T")

HELD = 50_000  # of each kind kept in memory


class Known:
    """What was found out about messages, by their bytes, so that a long conversation is not looked at anew for each request."""

    def __init__(self) -> None:
        self._digests: dict[bytes, str] = {}
        self._weights: dict[bytes, tuple[int, int]] = {}

    def digest(self, message: bytes) -> str:
        """The message's digest."""
        return _once(self._digests, message, lambda: identity.digest(message))

    def weight(self, message: bytes, value: object) -> tuple[int, int]:
        """The bytes of text and the images in a message, `value` being what its bytes say."""
        return _once(self._weights, message, lambda: budget.weight(value))


def _once(held: dict[bytes, T], message: bytes, find_out: Callable[[], T]) -> T:
    key = blake2b(message, digest_size=16).digest()
    found = held.get(key)
    if found is None:
        if len(held) >= HELD:
            held.clear()
        found = held[key] = find_out()
    return found


class Request:
    """One request on its way: whose, of which session of Claude Code («» for other clients), and its body."""

    __slots__ = ("agent", "session", "client", "body", "now", "known", "_seen")

    def __init__(self, agent: str, session: str, client: str, body: Body, now: float, known: Known) -> None:
        self.agent = agent
        self.session = session
        self.client = "claude-code" if session else client.split("/", 1)[0].strip()[:40] or "unknown"
        self.body = body
        self.now = now
        self.known = known
        self._seen: list[str] = []

    def first(self, count: int) -> list[str]:
        """The digests of the client's first `count` messages."""
        while len(self._seen) < min(count, len(self.body.messages)):
            self._seen.append(self.known.digest(self.body.slice(len(self._seen))))
        return self._seen[:count]

    def opening(self) -> str:
        """What a conversation without a session's name is known by at its start."""
        return self.first(1)[0]


class Wire:
    """The parts that a request goes upstream as: the prefix, how many of the client's messages it stands for, and what is changed."""

    __slots__ = ("body", "known", "epoch", "prefix", "changes", "why", "instruction")

    def __init__(self, request: Request, epoch: Epoch | None, prefix: list[bytes], why: str) -> None:
        body = request.body
        self.body = body
        self.known = request.known
        self.epoch = epoch
        self.prefix = prefix
        self.changes: dict[int, bytes] = {}
        self.why = why
        self.instruction = compaction.instruction_at(body)  # of the message that asks for a compaction's summary, or None

    @property
    def skip(self) -> int:
        """How many of the client's messages the prefix stands for."""
        return self.epoch.skip if self.epoch else 0

    def bytes(self) -> bytes:
        """The request as it goes upstream."""
        if not self.prefix and not self.changes and not self.skip:
            return self.body.raw
        prefix = list(self.prefix)
        lane = edit.lane(self.body, self.skip) if prefix else ""
        if lane:
            prefix[-1] = edit.marked(prefix[-1], lane)
        return edit.splice(self.body, self.skip, prefix, self.changes)

    def weight(self, start: int | None = None) -> tuple[int, int]:
        """The bytes of text and the images of all but the prefix, or of all but the messages in front of `start`."""
        weight, images = len(self.body.raw) - (self.body.closing - self.body.opening), 0
        for number in range(self.skip if start is None else start, len(self.body.messages)):
            more, pictures = self.known.weight(self.body.slice(number), self.body.messages[number].value)
            weight, images = weight + more, images + pictures
        return weight, images
