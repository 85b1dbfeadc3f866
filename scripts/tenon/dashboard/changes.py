"""What the dashboard lets its user change, where it was started so: correct, forget, approve, reject, undo, freeze.

Each is what the verb of that name does, and says in a sentence what was done. Doing it twice is doing it once, or is refused.
"""

from __future__ import annotations

import os
import re

from tenon.base.text import clean
from tenon.dashboard.place import Wrong
from tenon.digest import forgetting, undoing
from tenon.store import backup, edges, forget, identity, memories

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from typing import Any

    from tenon.store.db import Store

    Given = dict[str, Any]

MOST = 100  # memories and turns that are forgotten at once
LARGEST = 2**53  # of what JSON holds exactly
REASON = "the user's wish, in the dashboard"
_REF = re.compile(r"[mt][a-z0-9]{1,40}")


def change(store: Store, given: Given, now: float) -> dict[str, Any]:
    """What was done, as {"done": a sentence} and more. Raises Wrong for what cannot be meant, TenonError for what cannot be done."""
    action = given.get("action")
    if not isinstance(action, str) or action not in ACTIONS:
        raise Wrong(f"'action' is one of {', '.join(ACTIONS)}.")
    act, fields = ACTIONS[action]
    unknown = sorted(set(given) - {"action", *fields})
    if unknown:
        raise Wrong(f"{action} takes {', '.join(fields)}, and no '{unknown[0][:40]}'.")
    return act(store, given, now)


def _correct(store: Store, given: Given, now: float) -> dict[str, Any]:
    ref, text, reason = _ref(given.get("ref")), _text(given, "text"), _text(given, "reason", empty=True)
    if ref in {memory.ref for memory in identity.held(store)}:
        memory = identity.correct(store, ref, text, now)
    else:
        with store.transaction():
            memories.revise(store, ref, text, reason or identity.CORRECTED, now)
            memory = identity.sign(store, memories.get(store, ref))
    return {
        "done": f"{memory.ref} says so now; its history keeps what it said before, and no digest touches it.",
        "ref": memory.ref,
        "revision": memory.revision,
    }


def _forget(store: Store, given: Given, now: float) -> dict[str, Any]:
    listed = given.get("refs")
    if not isinstance(listed, list) or not 1 <= len(listed) <= MOST:
        raise Wrong(f"'refs' is a list of ids of memories (m…) and turns (t…), at most {MOST}.")
    if not isinstance(given.get("said", False), bool):
        raise Wrong("'said' is true or false.")
    refs, reason = [_ref(one) for one in listed], _text(given, "reason", empty=True)
    store.leniently()  # a turn that was tampered with can be forgotten too
    said = forgetting.said(store, refs)
    if given.get("said"):
        refs, said = [*refs, *said], []
    lines = forget.preview(store, refs, quote=False)
    if all(line.endswith(" was forgotten before") for line in lines):
        return {"done": "It was forgotten before.", "lines": lines}
    clean = forgetting.forget(store, refs, reason or REASON, now)
    done = "Forgotten. It is gone from memories, index and summaries, and will not be written again."
    if any(ref.startswith("t") for ref in refs):
        done += " Claude Code's own transcript of that session still has it, until Claude Code cleans it up or you delete it."
    if said:
        done += f" {forgetting.staying(said)}"
    backups = [os.path.basename(path) for path in backup.known(store)]
    if backups:
        done += f" Backups from before may still hold it, delete those that must not: {', '.join(backups)}."
    if not clean:
        done += " Another process is reading the store, so its log still holds the old pages; they go when that process ends."
    return {"done": done, "lines": lines, "said": said}


def _approve(store: Store, given: Given, now: float) -> dict[str, Any]:
    number, reason = _number(given, "edge"), _text(given, "reason", empty=True)
    closed = edges.approve(store, edges.home(store, number), number, now, reason)
    return {"done": f"Link {number} is approved" + (f"; it closed {closed}." if closed else "."), "edge": number, **({"closed": closed} if closed else {})}


def _reject(store: Store, given: Given, now: float) -> dict[str, Any]:
    number, reason = _number(given, "edge"), _text(given, "reason")
    edges.reject(store, edges.home(store, number), number, reason, now)
    return {"done": f"Link {number} is turned down.", "edge": number}


def _undo(store: Store, given: Given, now: float) -> dict[str, Any]:
    number = _number(given, "digest")
    return {"lines": undoing.undo(store, number, now), "done": f"Digest {number} is undone. What it read counts as dealt with.", "digest": number}


def _freeze(store: Store, given: Given, now: float) -> dict[str, Any]:
    on = given.get("on")
    if not isinstance(on, bool):
        raise Wrong("'on' is true or false.")
    if on:
        identity.freeze(store, now)
    else:
        identity.thaw(store)
    return {"done": "Frozen: no digest changes identity until it is thawed." if on else "Digests may change identity again.", "frozen": on}


def _ref(value: object) -> str:
    if not isinstance(value, str) or not _REF.fullmatch(value.strip()):
        raise Wrong("An id is that of a memory (m…) or of a turn (t…).")
    return value.strip()


def _text(given: Given, name: str, *, empty: bool = False) -> str:
    value = given.get(name, "")
    found = clean(value).strip() if isinstance(value, str) else None
    if found is None or not (empty or found):
        raise Wrong(f"'{name}' is a text{'' if empty else ', and not an empty one'}.")
    return found


def _number(given: Given, name: str) -> int:
    value = given.get(name)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 < value <= LARGEST:
        raise Wrong(f"'{name}' is a number from 1.")
    return value


ACTIONS: dict[str, tuple[Callable[[Store, Given, float], dict[str, Any]], Collection[str]]] = {
    "correct": (_correct, ("ref", "text", "reason")),
    "forget": (_forget, ("refs", "reason", "said")),
    "approve": (_approve, ("edge", "reason")),
    "reject": (_reject, ("edge", "reason")),
    "undo": (_undo, ("digest",)),
    "freeze": (_freeze, ("on",)),
}
