"""Taking a digest back: step by step from the last to the first, each only where nothing has been built on it since.

What it wrote is closed and buried, so that no later digest writes it again; what it closed is open again; what it strengthened is as
strong as before. The turns that it read stay dealt with, unless they are to wait again.
"""

from __future__ import annotations

from tenon.base.errors import TenonError
from tenon.base.lean import parse
from tenon.base.text import cut
from tenon.digest import summary
from tenon.store import before, digests, edges, exchanges, forgotten, gists, identity, memories, summaries

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tenon.store.db import Store
    from tenon.store.digests import Step
    from tenon.store.memories import Memory

UNDONE = "undone"  # the reason on what must not be written again
QUIET = {
    "reinforce": ("memory's strength", "memories' strength"), "link": ("link", "links"), "associate": ("association", "associations"), "gist": ("gist", "gists"),
    "session": ("session's summary", "sessions' summaries"), "promote": ("move to the long-term tier", "moves to the long-term tier"),
}  # fmt: skip


def undo(store: Store, number: int, now: float, *, again: bool = False) -> list[str]:
    """What was taken back and what was left, a line each; with `again` the turns that the digest read wait once more.

    All of it or nothing. Raises TenonError for an unknown digest, and for one that is not applied; of one that was undone before, the
    turns can still be made to wait.
    """
    with store.transaction():
        found = digests.get(store, number)
        if found.state == "undone" and again:
            work = _Undoing(store, number, now, again)
            return [line for step in work.steps if step.deed == "read" for line in work.taken_back(step)]
        if found.state != "applied":
            told = {"undone": "was undone already", "failed": "failed, so it changed nothing", "running": "is still at it; try again when it has ended"}
            raise TenonError(f"digest {number} {told[found.state]}")
        work = _Undoing(store, number, now, again)
        kept: dict[str, str] = {}
        for step in reversed(work.steps):
            for line in work.taken_back(step):
                kept[line if line.startswith("link ") else line.split(" ", 1)[0]] = (
                    line  # of a memory that several steps had to do with, what became of it at last
                )
        digests.end(store, number, "undone", now)
        return [*kept.values(), *work.counted(), *work.resting()]


class _Undoing:
    """One digest being taken back; `own` are the rows of the memories that it wrote."""

    def __init__(self, store: Store, digest: int, now: float, again: bool) -> None:
        self.store = store
        self.digest = digest
        self.now = now
        self.again = again
        self.unrevised: set[int] = set()
        self.steps = digests.steps(store, digest)
        self.own = {step.memory for step in self.steps if step.deed in ("remember", "hold")}

    def taken_back(self, step: Step) -> list[str]:
        """What became of one step."""
        memory, other = digests.named(self.store, step.memory), digests.named(self.store, step.other)
        if memory is not None and step.deed in ("remember", "hold"):
            return [self._unwritten(memory)]
        if memory is not None and step.deed in ("supersede", "let go"):
            return self._reopened(memory, other)
        if memory is not None and step.deed == "revise":
            return self._unrevised(memory)
        if memory is not None and step.deed == "reinforce":
            before.weaken(self.store, memory, step.undo)
        elif memory is not None and step.deed == "promote":
            if memory.tier == "long" and memory.writer != "user":
                memories.demote(self.store, memory.ref, UNDONE, self.now)
        elif memory is not None and other is not None and step.deed == "associate":
            before.dissociate(self.store, memory.id, other.id, step.undo)
        elif step.deed == "link":
            number = int(step.undo.get("edge", 0))
            if not edges.withdraw(self.store, number, UNDONE, self.now) and memory is not None and other is not None:
                return [f"link {number} stays as it is: it was decided on, or has faded"]
        elif step.deed == "gist":
            gists.drop_of_digest(self.store, self.digest)
        elif step.deed == "session":
            self._resummarised(int(step.undo.get("session", 0)))
        elif step.deed == "read" and self.again:
            return [self._waiting(step)]
        return []

    def counted(self) -> list[str]:
        """What else was taken back, by its number."""
        many = {deed: sum(step.deed == deed for step in self.steps) for deed in QUIET}
        told = ", ".join(f"{count} {QUIET[deed][count != 1]}" for deed, count in many.items() if count)
        return [f"Also taken back, where nothing was built on it: {told}"] if told else []

    def resting(self) -> list[str]:
        """The statements of identity that rest on what this digest wrote and is closed now: they stay, for the user to judge."""
        gone = {memory.ref for row in self.own if (memory := digests.named(self.store, row)) is not None and memory.status == "superseded"}
        told = []
        for held in identity.held(self.store):
            labels = parse(held.labels)
            resting = sorted(gone.intersection(labels if isinstance(labels, list) else ()))
            if resting:
                told.append(f"{held.ref}, of identity, rests on {', '.join(resting)}; `tenon identity remove {held.ref}` closes it")
        return told

    def _unwritten(self, memory: Memory) -> str:
        if self._stands(memory):
            return f"{memory.ref} stays: it was confirmed or revised since. «{cut(memory.text, 80)}»"
        forgotten.bury(self.store, memory.text, UNDONE, self.now)
        if memory.status == "superseded":
            return f"{memory.ref} stays closed, and is not written again"
        memories.close(self.store, memory.ref, self.now)
        return f"{memory.ref} is closed, and no digest writes it again: «{cut(memory.text, 80)}»"

    def _reopened(self, memory: Memory, successor: Memory | None) -> list[str]:
        taken_further = successor is not None and successor.status == "superseded"
        if memory.status != "superseded" or memory.successor != (successor.id if successor else None) or taken_further:
            return [f"{memory.ref} stays as it is: it was changed since"]
        if successor is not None and successor.id in self.own and self._stands(successor):
            return [f"{memory.ref} stays closed: what took its place was confirmed or revised since"]
        return self._held_again(memory)

    def _held_again(self, memory: Memory) -> list[str]:
        """Opens the memory, with the last text that no undone digest made of it; where there is none, what it took the place of."""
        stands = memory.writer == "user" or memory.text not in self._made(memory, 0)
        old = memory.text if stands else self._before(memory, 0)
        if not old:
            older = [one for row in digests.undone_closings(self.store, memory.id) if (one := memories.by_id(self.store, row)).successor == memory.id]
            return [f"{memory.ref} stays closed: the digest that wrote it was undone", *(line for one in older for line in self._held_again(one))]
        if memory.kind in identity.KINDS and not identity.room(self.store, old):
            return [f"{memory.ref} stays closed: identity is full"]
        memories.reopen(self.store, memory.ref, self.now)
        if not stands:
            memories.revise(self.store, memory.ref, old, UNDONE, self.now)
        return [f"{memory.ref} holds again: «{cut(old, 80)}»"]

    def _unrevised(self, memory: Memory) -> list[str]:
        if memory.id in self.unrevised:
            return []  # with a later revision of this digest's
        self.unrevised.add(memory.id)
        if memory.status == "superseded" or self._stands(memory):
            return [f"{memory.ref} stays as it is: it was changed since"]
        old = self._before(memory, self.digest)
        forgotten.bury(self.store, memory.text, UNDONE, self.now)
        if old and identity.room(self.store, old, instead=memory):
            memories.revise(self.store, memory.ref, old, UNDONE, self.now)
            return [f"{memory.ref} says again: «{cut(old, 80)}»"]
        memories.close(self.store, memory.ref, self.now)
        return [f"{memory.ref} is closed, as what it said before holds no more or has no room: «{cut(memory.text, 80)}»"]

    def _stands(self, memory: Memory) -> bool:
        """Whether somebody has built on what this digest wrote or revised: the user confirmed it, or it says what no digest that is undone made of it."""
        return memory.writer == "user" or memory.text not in self._made(memory, self.digest)

    def _made(self, memory: Memory, undoing: int) -> set[str]:
        """The texts that digests made of the memory which were undone, or are now."""
        texts = {**self._earlier(memory), memory.revision: memory.text}
        return {texts[number] for number in digests.undone_revisions(self.store, memory.id, undoing) if number in texts}

    def _before(self, memory: Memory, undoing: int) -> str:
        """The last that a memory said which no undone digest made of it, or «» where there is nothing, or nothing that may be said again."""
        wrong, earlier = self._made(memory, undoing), self._earlier(memory)
        old = next((earlier[number] for number in sorted(earlier, reverse=True) if earlier[number] not in wrong), "")
        twin = memories.same(self.store, memory.repository, old) if old else None
        return "" if forgotten.is_buried(self.store, old) or (twin is not None and twin.id != memory.id) else old

    def _earlier(self, memory: Memory) -> dict[int, str]:
        return {int(str(earlier["revision"])): str(earlier["text"]) for earlier in memories.history(self.store, memory)}

    def _resummarised(self, session: int) -> None:
        held = summaries.of_session(self.store, session)
        if held is not None and held.writer == "digest" and not digests.summarised_since(self.store, self.digest, session):
            summaries.drop(self.store, session)
            summary.write(self.store, held.name, "", self.now)

    def _waiting(self, step: Step) -> str:
        """Has the turns that were read wait again, if no later digest has read them; those that were read in parts from where the digest began."""
        since = digests.read_since(self.store, self.digest)
        turns = [int(turn) for turn in step.undo.get("turns", ()) if int(turn) not in since]
        count = exchanges.unmark(self.store, turns)
        for turn, (first, last) in step.undo.get("parts", {}).items():
            if int(turn) in turns or (int(turn) not in since and exchanges.read_to(self.store, int(turn)) == last):
                exchanges.set_read_to(self.store, int(turn), first)
        return f"{count} turn{'s' if count != 1 else ''} wait{'' if count != 1 else 's'} again"
