"""Procedures: runbooks that proved to work, the files they depend on, and how following them went.

After backant-memory's README, «Procedures». A procedure is proposed, validated by two confirmed successes, stale when
its files change or its text is revised, and archived when it fails more often than not. Its text is a long-term memory.
"""

from __future__ import annotations

import json
import os
from hashlib import sha256

from tenon.base.errors import TenonError
from tenon.store import contents, episodes, memories, places
from tenon.store.wording import chosen, kept

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from tenon.store.db import Store
    from tenon.store.memories import Memory

PROOFS = 2  # confirmed successes that validate a procedure
ENOUGH = 4  # applications after which a procedure that fails more often than not is archived
LEAST_RATE = 0.5
NAME, TRIGGER, STEPS = 120, 600, 6000  # characters
MOST_PATHS = 50

COLUMNS = "memory, name, trigger, steps, paths, digest, status, applied, succeeded, spell"
BY_MEMORY = f"SELECT {COLUMNS} FROM procedure WHERE memory = ?"
ADD = "INSERT INTO procedure (memory, name, trigger, steps, paths, digest, status) VALUES (?, ?, ?, ?, ?, ?, 'proposed')"
REPROPOSE = "UPDATE procedure SET paths = ?, digest = ?, status = 'proposed', spell = 0 WHERE memory = ?"
APPLIED = "UPDATE procedure SET status = ?, digest = ?, applied = ?, succeeded = ?, spell = ? WHERE memory = ?"
VALIDATED = (
    "SELECT p.memory FROM procedure p JOIN memory m ON m.id = p.memory WHERE p.status = 'validated' AND m.status <> 'superseded' "
    "AND m.repository IN ({scope}) ORDER BY p.memory"
)
STALE = "UPDATE procedure SET status = 'stale', spell = 0 WHERE memory = ? AND status = 'validated' AND digest = ?"
ADD_DEED = "INSERT INTO deed (at, what, ref, note) VALUES (?, 'stale', ?, 'its files or its text changed')"


class Procedure:
    """One procedure as it stands; `digest` is of its text and files when it was proposed or last validated."""

    __slots__ = tuple(COLUMNS.split(", "))

    memory: int
    name: str
    trigger: str
    steps: str
    paths: list[str]
    digest: str
    status: str
    applied: int
    succeeded: int
    spell: int

    def __init__(self, row: Sequence[Any]) -> None:
        for name, value in zip(self.__slots__, row):
            setattr(self, name, value)
        self.paths = [str(path) for path in json.loads(row[4])]

    @property
    def rate(self) -> float | None:
        """The share of its applications that succeeded; None before the first."""
        return round(self.succeeded / self.applied, 3) if self.applied else None


def propose(
    store: Store, *, repository: int, root: str, name: str, trigger: str, steps: str, paths: Sequence[str], now: float, labels: Sequence[str] = ()
) -> str:
    """The id of the procedure's memory; the same procedure proposed again is the same one, with the paths named now.

    `paths` are files and folders from the repository's root. Raises TenonError for an empty or overlong part, a path
    that leaves the root, a procedure that was archived, and as `memories.write` does.
    """
    name, trigger, steps = kept(name, "name", NAME, store=store), kept(trigger, "trigger", TRIGGER, store=store), kept(steps, "steps", STEPS, store=store)
    files = sorted({contents.relative(root, kept(path, "a path", 1000)) for path in paths})
    if len(files) > MOST_PATHS:
        raise TenonError(f"a procedure depends on at most {MOST_PATHS} paths, not {len(files)}: name the folders they are in")
    text = f"{' '.join(name.split())}. When: {trigger}\n{steps}"
    found = contents.digest(root, files)
    listed = json.dumps(files, ensure_ascii=False)
    with store.transaction():
        ref, _ = memories.write(
            store, repository=repository, tier="long", kind="procedure", text=text, reason="proposed after its steps worked", labels=labels, now=now
        )
        memory = memories.get(store, ref)
        known = _of(store, memory)
        stamp = _stamp(memory.text, found)
        if known is None:
            store.execute(ADD, (memory.id, name, trigger, steps, listed, stamp))
        elif known.status == "archived":
            raise TenonError(f"{ref} was archived: it worked {known.succeeded} of {known.applied} times; propose it with other steps")
        elif known.paths != files:
            store.execute(REPROPOSE, (listed, stamp, memory.id))
    return ref


def ground(store: Store, repository: int | None, root: str, memory_ids: Sequence[int]) -> list[dict[str, Any]]:
    """The procedures among those memories (row numbers), in the order given, archived and other repositories' left out.

    `advice` is follow-this for a validated one whose files are as they were then, else draft-verify. Writes nothing:
    a validated one whose files changed is told as stale, and `sweep` makes it so.
    """
    scope = places.scope(store, repository)
    hashes: dict[str, str] = {}
    told = []
    for number in memory_ids:
        memory = memories.by_id(store, number)
        known = _of(store, memory)
        if known is None or known.status == "archived" or memory.status == "superseded" or (memory.repository is not None and memory.repository not in scope):
            continue
        drifted = known.status == "validated" and _stamp(memory.text, contents.digest(root, known.paths, hashes)) != known.digest
        status = "stale" if drifted else known.status
        told.append({
            "id": memory.ref, "name": known.name, "trigger": known.trigger, "steps": known.steps if memory.revision == 1 else memory.text,
            "depends_on_paths": known.paths, "status": status, "advice": "follow-this" if status == "validated" else "draft-verify",
            "applied": known.applied, "success_rate": known.rate,
        })  # fmt: skip
    return told


def outcome(
    store: Store, ref: str, *, root: str, outcome: str, confirmed: bool, now: float, situation: str = "", evidence: str = "", epic: str = ""
) -> dict[str, Any]:
    """How the procedure stands after following it: {id, status, applied, succeeded, success_rate, episode_id, failure_signature_id}.

    `confirmed` says that a test or the user saw the success. Every outcome writes an episode, one that is no success
    also a failure signature (else its id is «»). Raises TenonError for an unknown procedure or outcome.
    """
    outcome = chosen(outcome, "outcome", episodes.ENDINGS)
    situation = kept(situation, "situation", episodes.LONGEST, empty=True, store=store)
    evidence = kept(evidence, "evidence", episodes.LONGEST, empty=True, store=store)
    memory, known = _known(store, ref)
    found = contents.digest(root, known.paths)  # before the transaction: reading files keeps no other writer waiting
    with store.transaction():
        memory, known = _known(store, ref)
        _count(known, _stamp(memory.text, found), outcome, confirmed)
        store.execute(APPLIED, (known.status, known.digest, known.applied, known.succeeded, known.spell, memory.id))
        shown = evidence or ("confirmed" if confirmed else "no evidence given")
        episode, _ = episodes.write(
            store,
            repository=memory.repository,
            situation=situation or known.trigger,
            action_type="other",
            action_taken=f"followed the procedure «{known.name}» ({memory.ref}, time {known.applied})",
            expected="success",
            outcome=outcome,
            evidence=shown,
            epic=epic,
            labels=[memory.ref],
            now=now,
        )
        signature = ""
        if outcome != "success":
            signature, _ = memories.write(
                store, repository=memory.repository, tier="short", kind="failure_signature", epic=epic, labels=[memory.ref, episode], now=now,
                text=f"The procedure «{known.name}» ({memory.ref}) ended in {outcome}, when {situation or known.trigger}: {shown}",
            )  # fmt: skip
    return {
        "id": memory.ref, "status": known.status, "applied": known.applied, "succeeded": known.succeeded, "success_rate": known.rate,
        "episode_id": episode, "failure_signature_id": signature,
    }  # fmt: skip


def sweep(store: Store, repository: int | None, root: str, now: float) -> tuple[int, int]:
    """How many validated procedures of the repository were looked at, and how many are stale now: their files or text changed.

    A root that is not there says nothing about its files, so nothing is looked at then.
    """
    if not os.path.isdir(root):
        return 0, 0
    scope = places.scope(store, repository)
    numbers = [row[0] for row in store.rows(VALIDATED.format(scope=", ".join("?" * len(scope)) or "NULL"), scope)]
    hashes: dict[str, str] = {}
    stale = 0
    for number in numbers:
        memory = memories.by_id(store, number)
        known = _of(store, memory)
        if known is None or _stamp(memory.text, contents.digest(root, known.paths, hashes)) == known.digest:
            continue
        with store.transaction():
            # Unless another process validated it anew meanwhile.
            if store.execute(STALE, (number, known.digest)).rowcount:
                store.execute(ADD_DEED, (now, memory.ref))
                stale += 1
    return len(numbers), stale


def _count(known: Procedure, stamp: str, outcome: str, confirmed: bool) -> None:
    """Counts one application in, and moves the status where the counts say so."""
    if known.status == "validated" and known.digest != stamp:
        known.status, known.spell = "stale", 0
    known.applied += 1
    known.succeeded += outcome == "success"
    if outcome == "success" and confirmed and known.status in ("proposed", "stale"):
        known.spell += 1
    if known.applied >= ENOUGH and known.succeeded / known.applied < LEAST_RATE:
        known.status = "archived"
    elif known.status in ("proposed", "stale") and known.spell >= PROOFS:
        # What just worked is what the files are now; an older digest would make it stale again at once.
        known.status, known.digest = "validated", stamp


def _stamp(text: str, files: str) -> str:
    return sha256((text + "\n" + files).encode("utf-8", "replace")).hexdigest()


def _of(store: Store, memory: Memory) -> Procedure | None:
    row = store.one(BY_MEMORY, (memory.id,))
    return Procedure(row) if row else None


def _known(store: Store, ref: str) -> tuple[Memory, Procedure]:
    memory = memories.get(store, ref)
    known = _of(store, memory)
    if known is None:
        raise TenonError(f"{memory.ref} is no procedure but a memory of kind '{memory.kind}'; grounding gives the ids of procedures")
    if memory.status == "superseded":
        raise TenonError(f"{memory.ref} was superseded; recall it to see by what")
    return memory, known
