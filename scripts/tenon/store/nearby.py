"""What stands near by its place and not by words: what was said beside a turn, what an edge or an association leads to.

On the path of every prompt: reads only.
"""

from __future__ import annotations

from tenon.store import index, passages

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from tenon.store.db import Store
    from tenon.store.search import Candidate

BEFORE, AFTER = 2, 1  # spoken turns of the same session and thread whose first words a spoken turn is indexed with
_SPOKEN = "SELECT content FROM turn WHERE session = ? AND thread = (SELECT thread FROM turn WHERE id = ?) AND kind IN ('prompt', 'reply') AND id"
BESIDE = (f"{_SPOKEN} < ? ORDER BY id DESC LIMIT {BEFORE}", f"{_SPOKEN} > ? ORDER BY id LIMIT {AFTER}")

PER_DAY = 0.98  # what an association keeps of its strength per day: thirty-four days halve it
STRONG = 0.5  # a weaker one leads nowhere
FEW = 4  # associations of one memory that are followed
MOST = 100  # links that are looked at
DAY_S = 86400.0
LINKED = (
    "SELECT origin, target, strength, NULL FROM edge WHERE status = 'approved' AND origin IN ({rows}) "
    "UNION ALL SELECT target, origin, strength, NULL FROM edge WHERE status = 'approved' AND target IN ({rows}) "
    f"UNION ALL SELECT a, b, strength, since FROM association WHERE a IN ({{rows}}) AND strength >= {STRONG} "
    f"UNION ALL SELECT b, a, strength, since FROM association WHERE b IN ({{rows}}) AND strength >= {STRONG} ORDER BY 3 DESC, 1, 2 LIMIT {MOST}"
)


OUTDATED = (
    "SELECT l.turn, m.successor FROM lineage l JOIN memory m ON m.id = l.memory WHERE l.turn IN ({turns}) AND m.status = 'superseded' "
    "AND m.successor IS NOT NULL ORDER BY l.turn, m.id"
)
TAKEN_BY = "SELECT ref, text, status, successor FROM memory WHERE id = ?"
SAYS_BOTH = "SELECT 1 FROM lineage WHERE memory = ? AND turn = ?"  # what was said there is the correction itself
CHAIN = 8


def linked(store: Store, rows: Sequence[int], now: float) -> list[tuple[int, int, float, bool]]:
    """What leads on from these memories, the strongest first: its row, the row at the other end, how strong it is now, and whether it is an approved edge.

    Else it is an association, of which there are a few for each memory.
    """
    found = store.rows(LINKED.format(rows=", ".join("?" * len(rows)) or "NULL"), (*rows, *rows, *rows, *rows))
    links = [(int(a), int(b), float(c) if since is None else faded(c, since, now), since is None) for a, b, c, since in found]
    left = dict.fromkeys(rows, FEW)
    told: list[tuple[int, int, float, bool]] = []
    for link in sorted(links, key=lambda link: (-link[2], link[0], link[1])):
        if not link[3]:
            left[link[0]] -= 1
            if link[2] < STRONG or left[link[0]] < 0:
                continue
        told.append(link)
    return told


def faded(strength: float, since: float, now: float) -> float:
    """What is left of an association's strength, which is as of `since`."""
    return float(strength * PER_DAY ** (max(0.0, now - since) / DAY_S))


def surround(store: Store, turns: Sequence[Candidate]) -> None:
    """Notes in each spoken turn the first words of what was said before and after it."""
    for turn in turns:
        if turn.kind in ("prompt", "reply"):
            turn.near = of(store, turn.session, turn.rowid)


def of(store: Store, session: int, turn: int) -> str:
    """The first words of what was said beside a turn of the session, as the index has them."""
    before, after = (store.rows(query, (session, turn, turn)) for query in BESIDE)
    return index.near([index.head(passages.of_stored(content)) for (content,) in (*reversed(before), *after)])


def since(store: Store, refs: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Of the turns (t12) from which a memory came that was superseded: the id and the text of the live one that took its place."""
    turns = [int(ref[1:]) for ref in refs if ref[:1] == "t"]
    found: dict[str, tuple[str, str]] = {}
    for turn, row in store.rows(OUTDATED.format(turns=", ".join("?" * len(turns)) or "NULL"), turns):
        for _ in range(CHAIN):
            ref, text, status, successor = store.rows(TAKEN_BY, (row,))[0]
            if status != "superseded" or successor is None:
                break
            row = successor
        if status == "live" and store.value(SAYS_BOTH, (row, turn)) is None:
            found[f"t{turn}"] = (str(ref), str(text))
    return found
