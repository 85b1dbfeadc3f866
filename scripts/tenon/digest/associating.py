"""Associating: which memories come up together, noticed by plain code: what was said in one place, and what answered one cue.

A memory is held once, when it is new, against earlier ones from turns near its own. An entry of the journal associates its first hits, those
that had something to say to the cue themselves: what came along with another hit proves nothing about the two.
"""

from __future__ import annotations

from itertools import combinations

from tenon.store import associations, notes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tenon.store.db import Store

SAME = 0.6  # how much stronger one exchange makes an association
BESIDE = 0.3  # the exchange before or after
RECALLED = 0.15  # one recall
FIRST = 4  # hits of an entry
ANSWERS = 0.3  # the share of the cue's words that a hit has which was given for want of a better one; a prompt is given only what answers it
MOST = 200  # memories and entries a call
AT_ONCE = 20  # in one transaction: other writers wait little
DAY_S = 86400.0

MEMORIES, JOURNAL, SWEPT = "associated memories", "associated journal", "associations swept"  # notes: up to which row; when


def catch_up(store: Store, now: float, most: int = MOST) -> int:
    """How many memories and entries of the journal were dealt with, at most so many; 0 when there is nothing new.

    May be called at any time, by several processes, and ended at any point. Once a day it drops the associations that have faded.
    """
    done = 0
    for work in (_written, _recalled):
        while done < most:
            with store.transaction():
                count = work(store, now, min(AT_ONCE, most - done))
            done += count
            if not count:
                break
    if not 0.0 <= now - float(notes.value(store, SWEPT) or 0.0) < DAY_S:
        associations.drop_faded(store, now)
        notes.note(store, SWEPT, f"{now:.0f}")
    return done


def _written(store: Store, now: float, most: int) -> int:
    """How many new memories were held against those that came from turns near their own."""
    rows = associations.newer(store, int(notes.value(store, MEMORIES) or 0), most)
    for row in rows:
        near = associations.beside(store, row)
        for same, by in ((True, SAME), (False, BESIDE)):
            associations.strengthen(store, [(row, other) for other, is_same in near.items() if is_same == same], now, by)
    if rows:
        notes.note(store, MEMORIES, str(rows[-1]))
    return len(rows)


def _recalled(store: Store, now: float, most: int) -> int:
    """How many entries of the journal were gone through."""
    entries = associations.recalled(store, int(notes.value(store, JOURNAL) or 0), most)
    told: set[tuple[str, int, int]] = set()  # a session that asks the same again says nothing new
    for entry in entries:
        rows = associations.rows_of(store, [ref for ref, _, parts in entry.hits[:FIRST] if _of_itself(parts, entry.event == "prompt")])
        asked = [(entry.session, *pair) for pair in combinations(sorted(rows), 2)]
        associations.strengthen(store, [(one, other) for session, one, other in asked if (session, one, other) not in told], now, RECALLED)
        told.update(asked)
    if entries:
        notes.note(store, JOURNAL, str(entries[-1].id))
    return len(entries)


def _of_itself(parts: str, sure: bool) -> bool:
    """Whether a hit of the journal answered the cue by its own words or meaning."""
    told = parts.split()
    values = dict(zip(told[::2], map(float, told[1::2])))
    return values.get("match", 0.0) >= ANSWERS or (sure and max(values.get("match", 0.0), values.get("likeness", 0.0)) > 0.0)
