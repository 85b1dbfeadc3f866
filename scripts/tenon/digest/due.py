"""Whether a digest should run in the background now: the user agreed, something waits, the day's cap allows it, and it did not just fail."""

from __future__ import annotations

from tenon.store import digests, notes, pressure, spending

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tenon.base.settings import Settings
    from tenon.store.db import Store

WORK = "digest"  # the claim
ENDED = "digest:due"  # the note that a session has ended
OUTPUT = 8000  # tokens of an answer
SMALLEST = 1500  # tokens that wait, below which a run is not worth its overhead
FIRST_WAIT_S, LONGEST_WAIT_S = 600.0, 86400.0
GIVEN_UP = 5  # failures in a row after which the background rests until a run that the user began has succeeded


def note_end(store: Store, now: float) -> None:
    """Notes that a session has ended, for whoever can run a digest next."""
    notes.note(store, ENDED, f"{now:.0f}")


def take_note(store: Store) -> None:
    """From now on that note is dealt with."""
    if notes.value(store, ENDED):
        notes.note(store, ENDED, "")


def due(store: Store, chosen: Settings, now: float) -> str:
    """Why a background run should begin now: «pressure», «session» (one has ended), or «» when none should."""
    if not chosen.flag("digest.auto") or notes.holder_of(store, WORK, now):
        return ""
    waits = pressure.measure(store)
    ended = notes.value(store, ENDED)
    reason = "pressure" if pressure.level(waits) == "high" else "session" if ended and waits >= SMALLEST else ""
    if not reason or spending.counted(store, now) + SMALLEST + OUTPUT > int(chosen.number("digest.daily_tokens")):
        return ""
    return "" if now < resumes(store, now) else reason


def resumes(store: Store, now: float) -> float:
    """When the background may try again after failures in a row: ten minutes after the first, four times as long after each further one, at most a day."""
    last, failures = digests.streak(store)
    if not failures:
        return 0.0
    if failures >= GIVEN_UP:
        return now + LONGEST_WAIT_S
    return last + min(LONGEST_WAIT_S, FIRST_WAIT_S * 4.0 ** (failures - 1))
