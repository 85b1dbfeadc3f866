"""What a store notes about itself: small values by name, and who is at a piece of work that one process at a time does.

A claim is for a time only, so that one who was killed at it does not keep it.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tenon.store.db import Store

VALUE = "SELECT value FROM meta WHERE name = ?"
SET = "INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)"
CLAIM = "claim:"
RELEASE = "DELETE FROM meta WHERE name = ? AND substr(value, 1, ?) = ?"
LONGEST_LEASE_S = 3600.0  # one beyond it was written while the clock was wrong


def value(store: Store, name: str) -> str:
    """The note of that name, or «»."""
    return str(store.value(VALUE, (name,)) or "")


def note(store: Store, name: str, text: str) -> None:
    """Notes a value in the place of an earlier one."""
    store.execute(SET, (name, text))


def take(store: Store, work: str, holder: str, now: float, lease_s: float) -> bool:
    """Whether the work is the holder's for that time from now on; taking it again renews it."""
    with store.transaction():
        if holder_of(store, work, now) not in ("", holder):
            return False
        note(store, CLAIM + work, f"{holder} {now + lease_s:.0f}")
    return True


def release(store: Store, work: str, holder: str) -> None:
    """Lets go of the work, if it is still the holder's."""
    store.execute(RELEASE, (CLAIM + work, len(holder) + 1, holder + " "))


def holder_of(store: Store, work: str, now: float) -> str:
    """Who is at the work, or «» when nobody is, or not any more."""
    holder, _, until = value(store, CLAIM + work).rpartition(" ")
    return holder if until.isdecimal() and now < int(until) <= now + LONGEST_LEASE_S else ""
