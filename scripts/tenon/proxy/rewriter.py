"""What goes upstream for each request: the client's own bytes behind the prefix that its conversation has, or just the bytes.

The wire form follows from the request and from what the store holds (`tenon.wire` explains it), so it is the same after
a restart. Whatever goes wrong in here, the request is relayed as it came.
"""

from __future__ import annotations

import threading
import time
from collections import deque

from tenon.base import faults, paths, settings
from tenon.base.errors import TenonError
from tenon.base.lean import sqlite
from tenon.proxy import boundary, record, speaking
from tenon.proxy.request import Known, Request
from tenon.proxy.stores import Stores
from tenon.store import conversations, db, latency
from tenon.wire import body as bodies
from tenon.wire import route

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from tenon.base.settings import Settings
    from tenon.proxy.request import Wire
    from tenon.store.conversations import Conversation
    from tenon.wire.stream import Reader

SHOWN = 20  # conversations in `tenon status`
PRUNE_S = 3600.0
LARGEST = 33_000_000  # bytes of a request; the API takes 32 MB
MOST_UNCOUNTED = 1000
MOST_HELD = 10_000  # sessions that are known without a look at a store


class Plan:
    """What is sent for a request, and what is to be done with the answer.

    `why` says it in a few words for the log. `watch` asks for the answer to be read along. The pipe calls `refused`
    with a 400 or 413 that a rewritten request got, `answered` after the last byte of a whole answer went to the client,
    and `abandoned` when there is no whole answer.
    """

    __slots__ = ("body", "rewritten", "why", "watch", "_refused", "_answered")

    def __init__(
        self,
        body: bytes,
        why: str,
        *,
        rewritten: bool = False,
        refused: Callable[[int, bytes], Plan | None] | None = None,
        answered: Callable[[int, Reader], None] | None = None,
    ) -> None:
        self.body = body
        self.rewritten = rewritten
        self.why = why
        self.watch = answered is not None
        self._refused = refused
        self._answered = answered

    def refused(self, status: int, answer: bytes) -> Plan | None:
        """What to send instead, once; None: the refusal is the client's to see."""
        return self._refused(status, answer) if self._refused else None

    def answered(self, status: int, reader: Reader) -> None:
        """Notes a whole answer. Never raises."""
        if self._answered is None:
            return
        try:
            self._answered(status, reader)
        except Exception as error:  # noqa: BLE001 - the client has its answer; what could not be noted is visible in doctor
            record.fault(error, "the answer was relayed and not noted")

    def abandoned(self) -> None:
        """There is nothing to note: a torn answer is no turn."""


class Rewriter:
    """Plans requests for all agents of this home; safe to call from many threads."""

    def __init__(self, *, clock: Callable[[], float] = time.time, max_context: int = 0) -> None:
        self.clock = clock
        self.max_context = max_context
        self.known = Known()
        self.stores = Stores()
        self._owners: dict[tuple[str, str], str] = {}
        self._locks: dict[tuple[str, str], threading.RLock] = {}
        self._guard = threading.Lock()
        self._took: deque[float] = deque(maxlen=MOST_UNCOUNTED)  # how long requests were held up in here, until that is counted in a store
        self._pruned = 0.0

    def plan(self, agent: str, target: str, headers: Mapping[str, str], raw: bytes) -> Plan:
        """The plan for a request. Headers have lower-case names. Never raises."""
        began = time.perf_counter()
        why = route.relayed(target, headers) or ("too large to look at" if len(raw) > LARGEST else "")
        if why:
            return Plan(raw, why)
        try:
            body = bodies.parse(raw)
        except bodies.Unreadable:
            return Plan(raw, "not understood")
        claude = route.SESSION in headers
        why = route.unsuited(body, claude)
        if why:
            return Plan(raw, why)
        try:
            return self._conversation(agent, headers, body)
        except Exception as error:  # noqa: BLE001 - the one broad catch: a request goes through, whatever is wrong in here
            record.fault(error, "the request was relayed as it came")
            return _as_it_came(Request(agent, headers.get(route.SESSION, ""), "", body, self.clock(), self.known), "a fault of ours, noted")
        finally:
            self._took.append(time.perf_counter() - began)

    def status(self) -> list[dict[str, Any]]:
        """The latest conversations of all agents, newest first, as plain data."""
        found: list[dict[str, Any]] = []
        for agent in paths.agents():
            try:
                with db.open_reader(paths.store_path(agent)) as store:
                    found += [{"agent": agent, **told(row)} for row in conversations.listed(store, SHOWN)]
            except TenonError:
                continue
        return sorted(found, key=lambda one: -float(one["last"]))[:SHOWN]

    def sweep(self) -> None:
        """Gives back what has not been used for a while; the server calls it now and then."""
        self.stores.sweep()

    def close(self) -> None:
        """Gives everything back."""
        self.stores.sweep(float("inf"))

    def _conversation(self, agent: str, headers: Mapping[str, str], body: bodies.Body) -> Plan:
        chosen = settings.load()
        agent = self._owner(agent, headers.get(route.SESSION, ""))
        request = Request(agent, headers.get(route.SESSION, ""), headers.get("user-agent", ""), body, self.clock(), self.known)
        with self.stores.use(agent) as store, self._lock(agent, request.session or request.opening()):
            conversation = boundary.find(store, request)
            kept = chosen.flag("archive.enabled") and store.writable
            if not kept and (conversation is None or conversation.state == "announced"):
                return Plan(body.raw, "nothing is kept now")
            if conversation is None or conversation.state == "announced":
                with self._lock(agent, ""):  # those that begin at once wait for each other here: SQLite's own queue is not fair
                    conversation = boundary.begin(store, request, conversation, chosen, self._limit(chosen, body))
            if conversation is None:
                return Plan(body.raw, "excluded folder")
            if conversation.state == "plain":
                return self._plain(request, conversation)
            if conversation.folder and paths.lies_in(conversation.folder, chosen.names("archive.exclude")):
                kept = False  # excluded since it began: its prefix stays, and nothing more is kept
            wire = boundary.compose(store, request, conversation, self._limit(chosen, body), kept=kept)
            if conversation.state == "traced":
                try:
                    speaking.speak(store, request, conversation, wire, chosen)
                except (TenonError, sqlite.Error) as error:
                    record.fault(error, "no memory was put in front of a prompt")
            if kept and wire.instruction is not None:
                # The compaction's answer is the client's; what it is about is noted before the next request can come.
                boundary.remember(store, request, conversation, wire, None)
        return self._planned(request, conversation, wire, kept)

    def _plain(self, request: Request, conversation: Conversation) -> Plan:
        """A conversation that is left alone. What was thought behind another agent's prefix is refused once, and stays out from then on."""

        def accepted(status: int, reader: Reader) -> None:
            if status == 200:
                self._bypass(request, conversation, conversation.reason, len(request.body.messages))

        return _as_it_came(request, conversation.reason, accepted)

    def _owner(self, agent: str, session: str) -> str:
        """The agent that a session's hooks have told it to, where that is another one than the address says."""
        if not session:
            return agent
        key = (agent, session)
        if key not in self._owners:
            if len(self._owners) > MOST_HELD:
                self._owners.clear()
            known = paths.agents()
            self._owners[key] = next((other for other in [agent, *known] if other in known and self._knows(other, session)), agent)
        return self._owners[key]

    def _knows(self, agent: str, session: str) -> bool:
        try:
            with self.stores.use(agent) as store:
                return conversations.find(store, session) is not None
        except (TenonError, sqlite.Error):
            return False  # another agent's damaged store is no fault of this session's

    def _planned(self, request: Request, conversation: Conversation, wire: Wire, kept: bool) -> Plan:
        raw = request.body.raw
        sent = wire.bytes()
        rewritten = sent != raw

        def answered(status: int, reader: Reader) -> None:
            reply = reader.message() if status == 200 and reader.complete else None
            if reply is not None:
                self._note(request, conversation, wire, reply, kept)

        def without_us(status: int, answer: bytes) -> Plan | None:
            return self._without_us(request, conversation, boundary.said(answer, status), answered)

        def refused(status: int, answer: bytes) -> Plan | None:
            if b"thinking" not in answer or wire.epoch is None:
                return without_us(status, answer)
            lean = boundary.thoughtless(request, wire)
            bare = lean.bytes()
            if bare == sent:
                return without_us(status, answer)

            def rebound(status: int, reader: Reader) -> None:
                if status == 200:
                    with self.stores.use(request.agent) as store, self._lock(request.agent, conversation.name):
                        boundary.rebind(store, request, conversation, wire, lean)
                    answered(status, reader)

            # The client itself may have changed what its thinking is bound to: then it goes, as the client would let it go.
            return Plan(bare, "sent again without thinking", rewritten=True, refused=without_us, answered=rebound)

        return Plan(sent, wire.why, rewritten=rewritten, refused=refused if rewritten else None, answered=answered)

    def _without_us(self, request: Request, conversation: Conversation, reason: str, answered: Callable[[int, Reader], None]) -> Plan:
        """The client's original after a refusal; when that is accepted the conversation is left alone from then on."""
        raw = request.body.raw
        bare, count = boundary.without_thinking(request)

        def accepted(status: int, reader: Reader) -> None:
            if status == 200:
                self._bypass(request, conversation, reason, 0)
                answered(status, reader)

        def accepted_bare(status: int, reader: Reader) -> None:
            if status == 200:
                self._bypass(request, conversation, reason, count)
                answered(status, reader)

        def refused(status: int, answer: bytes) -> Plan | None:
            if b"thinking" not in answer or bare == raw:
                return None
            # Thoughts that were had behind our prefix are bound to it: without it they go, as the client itself would let them go.
            return Plan(bare, "sent again without us and without thinking", rewritten=True, answered=accepted_bare)

        # What the API said may quote what was said to it: it stands in the store, where forgetting reaches it.
        faults.note(
            "proxy", TenonError("the API refused a request that was added to, and the client's own was sent; `tenon status` says why"), conversation.name
        )
        return Plan(raw, "sent again as it came", rewritten=True, refused=refused, answered=accepted)

    def _bypass(self, request: Request, conversation: Conversation, reason: str, strip: int) -> None:
        with self.stores.use(request.agent) as store, self._lock(request.agent, conversation.name):
            boundary.bypass(store, conversation, reason, strip, request.now)

    def _note(self, request: Request, conversation: Conversation, wire: Wire, reply: dict[str, Any], kept: bool) -> None:
        with self.stores.use(request.agent) as store, self._lock(request.agent, request.session or request.opening()):
            fresh = not conversation.requests
            boundary.measured(store, request, conversation, wire, reply)
            if kept and conversation.state == "traced" and wire.instruction is None:
                first = boundary.remember(store, request, conversation, wire, reply)
                if not request.session:
                    speaking.archive(store, request, conversation, 0 if fresh else first, reply)
            with self._guard:
                took = list(self._took)
                self._took.clear()
            for each in took:
                latency.note(store, each, request.now)
            if request.now - self._pruned > PRUNE_S:
                self._pruned = request.now
                conversations.prune(store, request.now)

    def _limit(self, chosen: Settings, body: bodies.Body) -> int:
        return boundary.limit(self.max_context or int(chosen.number("proxy.max_context")), str(body.field("model") or ""))

    def _lock(self, agent: str, name: str) -> threading.RLock:
        with self._guard:
            if len(self._locks) > MOST_HELD:
                self._locks.clear()
            return self._locks.setdefault((agent, name), threading.RLock())


def told(conversation: Conversation) -> dict[str, Any]:
    """A conversation as plain data for status."""
    return {name: getattr(conversation, name) for name in ("name", "client", "folder", "state", "reason", "requests", "tokens", "began", "last")}


def _as_it_came(request: Request, why: str, accepted: Callable[[int, Reader], None] | None = None) -> Plan:
    """The request untouched; if its thinking is refused, which may be bound to what Tenon once put in front, it is sent again without."""
    raw = request.body.raw

    def refused(status: int, answer: bytes) -> Plan | None:
        bare, _ = boundary.without_thinking(request)
        return Plan(bare, f"{why}; sent again without thinking", answered=accepted) if b"thinking" in answer and bare != raw else None

    return Plan(raw, why, rewritten=b'"thinking"' in raw, refused=refused)
