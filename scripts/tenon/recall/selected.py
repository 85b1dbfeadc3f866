"""What a small model chose for this prompt after the last one (world/selecting.py), as lines of an injection. Loaded only where that is on."""

from __future__ import annotations

from tenon.base.errors import TenonError
from tenon.recall import injection
from tenon.store import exchanges, memories, selections

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from tenon.store.db import Store


def lines(store: Store, session: str, scope: Sequence[int], seen: Collection[str]) -> list[tuple[str, str]]:
    """Ids and lines of what was chosen for the session's next prompt and is still there, in the scope, and not seen."""
    found: list[tuple[str, str]] = []
    for ref in selections.of(store, session):
        if ref not in seen:
            line = _said(store, ref, scope) if ref.startswith("t") else _remembered(store, ref, scope)
            if line:
                found.append((ref, line))
    return found


def _remembered(store: Store, ref: str, scope: Sequence[int]) -> str:
    try:
        memory = memories.get(store, ref)
    except TenonError:
        return ""
    wanted = memory.status == "live" and (memory.repository is None or memory.repository in scope)
    return injection.remembered(memory, memory.reinforced) if wanted else ""


def _said(store: Store, ref: str, scope: Sequence[int]) -> str:
    try:
        turn = exchanges.turn(store, ref)
    except TenonError:
        return ""
    if turn.forgotten is not None or turn.repository not in scope:
        return ""
    return f"- [archive · said · {injection.day(turn.at)}] {turn.role}: «{injection.excerpt(turn.text(), (), injection.SAID_CHARS)}» ({ref})"
