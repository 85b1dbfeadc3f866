"""Taking a digest back: step by step from the last to the first, each only where nothing has been built on it since.

What it wrote is closed and buried, so that no later digest writes it again; what it closed is open again; what it strengthened is as
strong as before. The turns that it read stay dealt with, unless they are to wait again.
"""

from __future__ import annotations

from tenon.base.errors import TenonError
from tenon.base.text import cut
from tenon.digest import summary
from tenon.store import before, digests, edges, exchanges, forgotten, gists, memories, summaries

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tenon.store.db import Store
    from tenon.store.digests import Step
    from tenon.store.memories import Memory

UNDONE = "undone"  # the reason on what must not be written again


def undo(store: Store, number: int, now: float, *, again: bool = False) -> list[str]:
    """What was taken back and what was left, a line each; with `again` the turns that the digest read wait once more.

    All of it or nothing. Raises TenonError for an unknown digest, and for one that is not applied.
    """
    with store.transaction():
        found = digests.get(store, number)
        if found.state != "applied":
            told = {"undone": "was undone already", "failed": "failed, so it changed nothing", "running": "is still at it; try again when it has ended"}
            raise TenonError(f"digest {number} {told[found.state]}")
        lines = [line for step in reversed(digests.steps(store, number)) if (line := _taken_back(store, number, step, now, again))]
        digests.end(store, number, "undone", now)
    return lines


def _taken_back(store: Store, digest: int, step: Step, now: float, again: bool) -> str:
    memory, other = digests.named(store, step.memory), digests.named(store, step.other)
    if step.deed in ("remember", "hold"):
        return _unwritten(store, memory, now)
    if step.deed == "supersede":
        return _reopened(store, memory, other, now)
    if step.deed == "revise":
        return _unrevised(store, memory, int(step.undo.get("revision", 0)), now)
    if step.deed == "let go":
        return _reopened(store, memory, None, now)
    if step.deed == "reinforce" and memory is not None:
        before.weaken(store, memory, step.undo)
    elif step.deed == "associate" and memory is not None and other is not None:
        before.dissociate(store, memory.id, other.id, step.undo)
    elif step.deed == "link":
        edges.withdraw(store, int(step.undo.get("edge", 0)), UNDONE, now)
    elif step.deed == "gist":
        gists.drop(store, int(step.undo.get("turn", 0)))
    elif step.deed == "session":
        _resummarised(store, int(step.undo.get("session", 0)), now)
    elif step.deed == "read" and again:
        return f"{exchanges.unmark(store, [int(turn) for turn in step.undo.get('turns', ())])} turns wait again"
    return ""


def _unwritten(store: Store, memory: Memory | None, now: float) -> str:
    if memory is None:
        return ""
    if memory.writer == "user" or memory.revision > 1:
        return f"{memory.ref} stays: it was confirmed or revised since. «{cut(memory.text, 80)}»"
    if memory.status == "superseded":
        forgotten.bury(store, memory.text, UNDONE, now)
        return f"{memory.ref} stays closed, and is not written again"
    memories.close(store, memory.ref, now)
    forgotten.bury(store, memory.text, UNDONE, now)
    return f"{memory.ref} is closed, and no digest writes it again: «{cut(memory.text, 80)}»"


def _reopened(store: Store, memory: Memory | None, successor: Memory | None, now: float) -> str:
    if memory is None:
        return ""
    taken_further = successor is not None and successor.status == "superseded"
    if memory.status != "superseded" or memory.successor != (successor.id if successor else None) or taken_further:
        return f"{memory.ref} stays as it is: it was changed since"
    memories.reopen(store, memory.ref, now)
    return f"{memory.ref} holds again: «{cut(memory.text, 80)}»"


def _unrevised(store: Store, memory: Memory | None, revision: int, now: float) -> str:
    if memory is None:
        return ""
    old = next((str(earlier["text"]) for earlier in memories.history(store, memory) if earlier["revision"] == revision), "")
    if memory.revision != revision + 1 or memory.status == "superseded" or not old:
        return f"{memory.ref} stays as it is: it was changed since"
    forgotten.bury(store, memory.text, UNDONE, now)
    memories.revise(store, memory.ref, old, UNDONE, now)
    return f"{memory.ref} says again: «{cut(old, 80)}»"


def _resummarised(store: Store, session: int, now: float) -> None:
    held = summaries.of_session(store, session)
    if held is not None and held.writer == "digest":
        summaries.drop(store, session)
        summary.write(store, held.name, "", now)
