"""Reflection: from memories to a few statements of who the agent is to this user, and what may become one.

Only what the user or the agent itself said or did bears a statement out; nothing from a tool or from outside does. What the user wrote or
confirmed is not changed, and while identity is frozen nothing is.
"""

from __future__ import annotations

from tenon.base.errors import TenonError
from tenon.base.text import cut, tokens
from tenon.digest import grounds, prompts
from tenon.digest.applying import Refused
from tenon.digest.general import is_general
from tenon.digest.operations import REASON, SELF
from tenon.store import closed, digests, forgotten, identity, memories, spotted
from tenon.store.wording import kept

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from tenon.digest.operations import Operation
    from tenon.store.db import Store
    from tenon.store.memories import Memory

LONGEST = 240  # characters of a statement
CHANGES = 3  # statements that one reflection may revise or let go of
ENOUGH = 5  # new memories that are worth a request
READ_TOKENS = 6000  # of memories
TOLD = 300  # characters of one
BEARING = ("user", "assistant")
SHARED, SHARE = 2, 0.3  # content words that a statement has of its evidence: so many, or that share of its own


class Look:
    """What a reflection reads: the statements held now, the memories that may bear out new ones, and the lines of both."""

    __slots__ = ("held", "read", "held_lines", "lines")

    def __init__(self, held: list[Memory]) -> None:
        self.held = held
        self.read: list[Memory] = []
        self.held_lines = [f"[{memory.ref} {memory.kind}] {prompts.harmless(memory.text)}" for memory in held]
        self.lines: list[str] = []

    @property
    def last(self) -> str:
        """The id of the last memory."""
        return self.read[-1].ref

    @property
    def prompt(self) -> str:
        """What the model is asked."""
        return prompts.framed(prompts.STATEMENTS, self.held_lines, prompts.MEMORIES, self.lines, self.last)


def look(store: Store, since: float) -> Look | None:
    """What a reflection would read, the newest memories first while they fit.

    None when too few were written or proved since that time: one, where nothing is held yet, else ENOUGH.
    """
    found = Look(identity.held(store))
    room = READ_TOKENS
    for memory in memories.newest(store, 400):
        if memory.source not in BEARING or memory.kind in (*SELF, "procedure", "failure_signature"):
            continue
        line = f"[{memory.ref} {memory.kind}, {'the user said it' if memory.source == 'user' else 'the agent noted it'}] {prompts.harmless(cut(memory.text, TOLD))}"
        room -= tokens(line)
        if room < 0:
            break
        found.read.append(memory)
        found.lines.append(line)
    return found if sum(memory.reinforced >= since for memory in found.read) >= (ENOUGH if found.held else 1) else None


class Reflecting:
    """One reflection's operations being applied as the digest with that number. Raises TenonError when a memory that it has read was forgotten since."""

    def __init__(self, store: Store, digest: int, found: Look, now: float) -> None:
        self.store = store
        self.digest = digest
        self.held = {ref: memory for ref, memory in digests.as_read(store, found.held).items() if memory.status != "superseded"}
        self.read = {ref: memory for ref, memory in digests.as_read(store, found.read).items() if memory.status != "superseded"}
        self.now = now
        self.closed = closed.Closed(store)
        self.changes = CHANGES
        self.done = 0
        self.refused = 0

    def all(self, operations: Sequence[Operation]) -> None:
        """Does each, or notes why not; the caller's transaction holds all of it."""
        for operation in operations:
            try:
                if operation.flaw:
                    raise Refused(operation.flaw)
                if identity.is_frozen(self.store):
                    raise Refused("the user has frozen identity")
                with self.store.savepoint():
                    getattr(self, "_" + operation.op)(operation)
                self.done += 1
            except TenonError as error:
                self.refused += 1
                told = str(error) if isinstance(error, Refused) else "the store does not take it (superseded, forgotten, empty, too long or unknown)"
                digests.add_step(self.store, self.digest, "refused", note=f"{operation.op}: {told}")

    def _hold(self, operation: Operation) -> None:
        if operation.text("kind") not in SELF:
            raise Refused("a reflection holds identity or relationship")
        evidence = self._evidence(operation)
        text = self._text(operation, evidence)
        if memories.same(self.store, None, text) is not None:
            raise Refused("that is held already")
        if not identity.room(self.store, text):
            raise Refused("identity is full: one must be revised or let go of first")
        turns = sorted({turn for memory in evidence for turn in memories.lineage(self.store, memory)})
        reason = cut(operation.text("reason"), REASON) or "borne out by " + ", ".join(memory.ref for memory in evidence[:5])
        ref, _ = memories.write(
            self.store, repository=None, tier="long", kind=operation.text("kind"), text=text, reason=reason, source="reflection",
            labels=[memory.ref for memory in evidence], turns=turns, now=self.now, writer="digest",
        )  # fmt: skip
        digests.add_step(self.store, self.digest, "hold", memories.get(self.store, ref).id)

    def _revise(self, operation: Operation) -> None:
        memory = self._statement(operation)
        evidence = self._evidence(operation)
        text = self._text(operation, evidence)
        if not identity.room(self.store, text, instead=memory):
            raise Refused("identity has no room for so long a statement")
        if memories.same(self.store, None, text) is not None:
            raise Refused("that is held already")
        self.held[memory.ref] = memories.revise(self.store, memory.ref, text, cut(operation.text("reason"), REASON), self.now)
        spotted.bind(self.store, memory.id, [turn for one in evidence for turn in memories.lineage(self.store, one)])
        self.changes -= 1
        digests.add_step(self.store, self.digest, "revise", memory.id, undo={"revision": memory.revision})

    def _let_go(self, operation: Operation) -> None:
        memory = self._statement(operation)
        memories.close(self.store, memory.ref, self.now)
        self.closed.add(memory.text, None)
        self.changes -= 1
        del self.held[memory.ref]
        digests.add_step(self.store, self.digest, "let go", memory.id)

    def _statement(self, operation: Operation) -> Memory:
        memory = self.held.get(operation.text("ref").strip())
        if memory is None:
            raise Refused("it names a statement that is not held")
        if memory.writer == "user":
            raise Refused("the user wrote or confirmed it")
        if self.changes <= 0:
            raise Refused("one reflection changes no more statements")
        return memory

    def _evidence(self, operation: Operation) -> list[Memory]:
        found = [self.read.get(ref) for ref in operation.refs("evidence")]
        if not found or None in found:
            raise Refused("its evidence is not among the memories that it was shown")
        return [memory for memory in found if memory is not None]

    def _text(self, operation: Operation, evidence: Sequence[Memory]) -> str:
        text = kept(operation.text("text"), "text", LONGEST, store=self.store)
        said = frozenset(word for memory in evidence for word in closed.content(memory.text))
        shared = len(closed.content(text) & said)
        if not grounds.is_worded(text) or forgotten.says_nothing(text):
            raise Refused("there is no word in it")
        if grounds.is_order(text):
            raise Refused("it gives orders rather than saying who one is")
        if shared < SHARED and shared < SHARE * max(1, len(closed.content(text))):
            raise Refused("its evidence says nothing of it")
        if not is_general(self.store, text):
            raise Refused("it speaks of one project, and is told in all")
        if self.closed.is_like(None, text):
            raise Refused("it says what was let go of or undone")
        return text
