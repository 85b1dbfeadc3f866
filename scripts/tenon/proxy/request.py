"""One request while it is planned: whose it is, what is in it, and the parts that it goes upstream as."""

from __future__ import annotations

from hashlib import blake2b

from tenon.wire import compaction, edit, identity

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tenon.store.conversations import Epoch
    from tenon.wire.body import Body

HELD = 50_000  # digests kept in memory


class Digests:
    """Digests of messages by their bytes, so that a long conversation is not parsed anew for each request."""

    def __init__(self) -> None:
        self._known: dict[bytes, str] = {}

    def of(self, message: bytes) -> str:
        """The message's digest."""
        key = blake2b(message, digest_size=16).digest()
        found = self._known.get(key)
        if found is None:
            if len(self._known) >= HELD:
                self._known.clear()
            found = self._known[key] = identity.digest(message)
        return found


class Request:
    """One request on its way: whose, of which session of Claude Code («» for other clients), and its body."""

    __slots__ = ("agent", "session", "client", "body", "now", "digests", "_seen")

    def __init__(self, agent: str, session: str, client: str, body: Body, now: float, digests: Digests) -> None:
        self.agent = agent
        self.session = session
        self.client = "claude-code" if session else client.split("/", 1)[0].strip()[:40] or "unknown"
        self.body = body
        self.now = now
        self.digests = digests
        self._seen: list[str] = []

    def first(self, count: int) -> list[str]:
        """The digests of the client's first `count` messages."""
        while len(self._seen) < min(count, len(self.body.messages)):
            self._seen.append(self.digests.of(self.body.slice(len(self._seen))))
        return self._seen[:count]

    def opening(self) -> str:
        """What a conversation without a session's name is known by at its start."""
        return self.first(1)[0]


class Wire:
    """The parts that a request goes upstream as: the prefix, how many of the client's messages it stands for, and what is changed."""

    __slots__ = ("body", "epoch", "prefix", "changes", "why", "instruction", "weight")

    def __init__(self, body: Body, epoch: Epoch | None, prefix: list[bytes], why: str) -> None:
        self.body = body
        self.epoch = epoch
        self.prefix = prefix
        self.changes: dict[int, bytes] = {}
        self.why = why
        self.instruction = compaction.instruction_at(body)  # of the message that asks for a compaction's summary, or None
        self.weight = 0  # bytes of text in all but the prefix

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
