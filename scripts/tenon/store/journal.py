"""The journal: what was recalled or injected, for whom and why; and so, which hits a session has seen.

It keeps the words that a cue and a hit share, never the cue: whatever a prompt says beyond what is stored stays out.
An entry is a few hundred bytes, because there is one for every prompt: a hit is its ref and two hexadecimal digits,
in hundredths, for its score and for each part of it.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from tenon.store.db import Store

KEEP_S = 30 * 86400.0
FRESH = "compact"  # after a compaction what was shown may be gone from the context, so it may come again
PARTS = ("bm25", "match", "strength", "recency", "citations", "likeness", "session", "fit", "linked", "newer")  # later ones are missing in older entries
NAME = 13  # characters of a session's id that tell it from all others

ADD = "INSERT INTO journal (at, event, session, repository, words, hits, chars) VALUES (?, ?, ?, ?, ?, ?, ?)"
# Of the events only these put hits in front of the model unasked.
SEEN = (
    "SELECT hits FROM journal WHERE session = ? AND event IN ('session', 'prompt') "
    "AND id > (SELECT coalesce(max(id), 0) FROM journal WHERE session = ? AND event = 'compact')"
)
HAS = "SELECT 1 FROM journal WHERE session = ? AND event = ? AND words = ?"
OLD_ENTRIES = "DELETE FROM journal WHERE at < ?"
OF_SESSION = "SELECT id, at, event, session, words, hits, chars FROM journal WHERE session = ? AND event <> 'compact' ORDER BY id DESC LIMIT ?"
LATEST = "SELECT id, at, event, session, words, hits, chars FROM journal WHERE event <> 'compact' ORDER BY id DESC LIMIT ?"
ADD_DEED = "INSERT INTO deed (at, what, ref, note) VALUES (?, ?, ?, ?)"
DEEDS = "SELECT at, what, ref, note FROM deed ORDER BY id DESC LIMIT ?"


class Entry:
    """One recall or injection: `hits` are (ref, score, the parts of the score in words) as they were then."""

    __slots__ = ("id", "at", "event", "session", "words", "hits", "chars")

    def __init__(self, row: Sequence[object]) -> None:
        number, at, event, session, words, hits, chars = row
        self.id = int(str(number))
        self.at = float(str(at))
        self.event = str(event)
        self.session = str(session)
        self.words = str(words).split()
        self.hits = [_unpacked(line) for line in str(hits).splitlines() if line]
        self.chars = int(str(chars))

    @property
    def about(self) -> str:
        """What led to it: «for the words …», or the sections of a briefing, «with …»."""
        if self.event == "session":
            return "with " + ", ".join(word.replace("_", " ") for word in self.words) if self.words else ""
        if self.event == "pressure":
            return f"the model was asked to have you slow down (pressure {' '.join(self.words)})"
        return "for the words " + ", ".join(self.words) if self.words else ""


def record(
    store: Store, *, event: str, session: str, repository: int | None, words: Sequence[str], hits: Sequence[tuple[str, float, Sequence[float]]], chars: int,
    now: float,
) -> None:  # fmt: skip
    """Writes an entry; a hit is (ref, score, the values of PARTS, or none of them when it was told for what it is)."""
    lines = "\n".join(_packed(*hit) for hit in hits)
    store.execute(ADD, (int(now), event, session[:NAME], repository, " ".join(words), lines, chars))


def seen(store: Store, session: str) -> set[str]:
    """The refs that were put in front of the session since it began or was compacted."""
    rows = store.rows(SEEN, (session[:NAME], session[:NAME]))
    return {line.split(" ", 1)[0] for (hits,) in rows for line in str(hits).splitlines()}


def has(store: Store, session: str, event: str, word: str) -> bool:
    """Whether there is an entry of that event, with that one word, of the session."""
    return store.value(HAS, (session[:NAME], event, word)) is not None


def unsee(store: Store, session: str, now: float) -> None:
    """Lets everything come again in a session that was compacted."""
    store.execute(ADD, (int(now), FRESH, session[:NAME], None, "", "", 0))


def entries(store: Store, session: str = "", limit: int = 10) -> list[Entry]:
    """The newest entries, of one session or of all, newest first."""
    return [Entry(row) for row in (store.rows(OF_SESSION, (session[:NAME], limit)) if session else store.rows(LATEST, (limit,)))]


def prune(store: Store, now: float) -> None:
    """Drops entries older than thirty days."""
    store.execute(OLD_ENTRIES, (now - KEEP_S,))


def deed(store: Store, what: str, ref: str, note: str, now: float) -> None:
    """An audit line: what was done to what, without its text."""
    store.execute(ADD_DEED, (now, what, ref, note))


def deeds(store: Store, limit: int) -> list[tuple[float, str, str, str]]:
    """The newest audit lines, newest first: time, deed, ref, note."""
    return [(float(at), str(what), str(ref), str(note)) for at, what, ref, note in store.rows(DEEDS, (limit,))]


def _packed(ref: str, score: float, parts: Sequence[float]) -> str:
    return ref + " " + "".join(f"{min(255, max(0, round(value * 100))):02x}" for value in (score, *parts))


def _unpacked(line: str) -> tuple[str, str, str]:
    ref, _, code = line.partition(" ")
    values = [f"{int(code[at : at + 2], 16) / 100:.2f}" for at in range(0, len(code), 2)]
    told = " ".join(f"{name} {value}" for name, value in zip(PARTS, values[1:]))
    return ref, values[0] if told else "", told or "briefing"
