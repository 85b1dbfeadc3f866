"""What a digest did, step by step, in words."""

from __future__ import annotations

from tenon.base.text import cut
from tenon.store import digests, exchanges, gists, memories, summaries

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from tenon.store.db import Store
    from tenon.store.digests import Step
    from tenon.store.memories import Memory

DEEDS = {
    "remember": ("memory written", "memories written"), "supersede": ("memory closed", "memories closed"), "reinforce": ("reinforced", "reinforced"),
    "link": ("link", "links"), "associate": ("association", "associations"), "gist": ("gist", "gists"), "session": ("session summed up", "sessions summed up"),
    "hold": ("statement held", "statements held"), "revise": ("statement revised", "statements revised"), "let go": ("statement let go", "statements let go"),
    "promote": ("made long-term", "made long-term"), "refused": ("refused", "refused"),
}  # fmt: skip
SIGNS = {
    "remember": "+",
    "hold": "+",
    "supersede": "-",
    "let go": "-",
    "revise": "~",
    "reinforce": "^",
    "promote": "^",
    "link": "=",
    "associate": "=",
    "refused": "!",
}
FORGOTTEN = "(forgotten since)"
GONE = "(gone)"


def counted(counts: Mapping[str, int]) -> str:
    """What was done how often: «2 memories written, 1 link»."""
    return ", ".join(f"{counts[deed]} {names[counts[deed] != 1]}" for deed, names in DEEDS.items() if deed in counts)


def said(store: Store, step: Step) -> str:
    """What a step did, in words; «» for one that only keeps the books."""
    memory, other = digests.named(store, step.memory), digests.named(store, step.other)
    if step.deed == "refused":
        return f"refused {step.note}"
    if step.deed in ("remember", "hold"):
        return f"{_named(memory)}{_from(store, memory)}"
    if step.deed == "supersede":
        return f"{_named(memory)}, closed in favour of {other.ref if other else 'one that was forgotten'}"
    if step.deed == "let go":
        return f"{_named(memory)}, let go"
    if step.deed == "revise":
        if memory is None:
            return FORGOTTEN
        old, new = revised(store, memory, step)
        return f"{memory.ref}: «{cut(old, 160)}» became «{cut(new, 160)}»"
    if step.deed == "reinforce":
        return f"{_named(memory)}, proved right once more"
    if step.deed == "promote":
        return f"{_named(memory)}, long-term from then on"
    if step.deed in ("link", "associate"):
        return f"{'linked' if step.deed == 'link' else 'associated'}: {_named(memory)} and {_named(other)}"
    if step.deed == "gist":
        return f"t{numbered(step, 'turn')} in a sentence: «{gists.of(store, numbered(step, 'turn')) or GONE}»"
    if step.deed == "session":
        number = numbered(step, "session")
        return f"session {exchanges.session_of(store, number).name} in a few sentences: «{cut(summed_up(store, number), 300)}»"
    if step.deed == "read":
        count = len(step.undo.get("turns", ()))
        return f"{count:,} turn{'' if count == 1 else 's'} dealt with"
    return ""


def numbered(step: Step, name: str) -> int:
    """The number that a step notes under that name, 0 when it notes none."""
    return int(step.undo.get(name, 0))


def revised(store: Store, memory: Memory, step: Step) -> tuple[str, str]:
    """What the memory said before a step revised it, and after it."""
    texts = {int(str(earlier["revision"])): str(earlier["text"]) for earlier in memories.history(store, memory)}
    texts[memory.revision] = memory.text
    revision = numbered(step, "revision")
    return texts.get(revision, GONE), texts.get(revision + 1, GONE)


def summed_up(store: Store, session: int) -> str:
    """What a digest says of a session, unless somebody has said it anew since."""
    held = summaries.of_session(store, session)
    return held.text if held is not None and held.writer == "digest" else "(replaced since)"


def _named(memory: Memory | None) -> str:
    if memory is None:
        return FORGOTTEN
    return f"{memory.ref} [{memory.tier} · {memory.kind.replace('_', ' ')} · {memory.source}] «{cut(memory.text, 200)}»"


def _from(store: Store, memory: Memory | None) -> str:
    turns = memories.lineage(store, memory) if memory is not None else []
    return f" (from {', '.join(f't{turn}' for turn in turns[:6])}{', …' if len(turns) > 6 else ''})" if turns else ""
