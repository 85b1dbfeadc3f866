"""The journal: what was recalled or injected, what was left out, for whom and why; and so, which hits a session has seen.

It keeps the words that a cue and a hit share, never the cue: whatever a prompt says beyond what is stored stays out.
An entry is about two hundred bytes, because there is one for every prompt: a hit or near miss is its ref, a letter for
why it was left out (a point when it was not), two letters for its score, in hundredths, and one for each part of it, in
fortieths. Older entries have two hexadecimal digits, in hundredths, for the score and each part.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from tenon.store.db import Store

KEEP_S = 30 * 86400.0
FRESH = "compact"  # after a compaction what was shown may be gone from the context, so it may come again
PARTS = ("bm25", "match", "strength", "recency", "citations", "likeness", "session", "fit", "linked", "newer")  # later ones are missing in older entries
# Why a near miss was left out, by its letter.
WHY = {
    "e": "too little evidence that it answers", "m": "shares no word with the prompt and means something else", "t": "of another time than the prompt asks for",
    "s": "shown in this session already", "x": "of an exchange that came already", "k": "no room: others were better", "c": "no room: too long",
}  # fmt: skip
MOST_SKIPPED, MOST_TOLD = 4, 6  # near misses of an entry; hits and near misses of one, which has one near miss whatever it has of hits
CODE, CODES, PER_UNIT = 33, 94, 40  # the first of the visible letters of ASCII, how many there are, and how many of them make 1.0
SHOWN = "."
NAME = 13  # characters of a session's id that tell it from all others
SHORT = 8  # characters by which it is told in short, and found again

ADD = "INSERT INTO journal (at, event, session, repository, words, hits, chars, skipped) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
COLUMNS = "id, at, event, session, words, hits, chars, skipped"
# Of the events only these put hits in front of the model unasked.
SEEN = (
    "SELECT hits FROM journal WHERE session = ? AND event IN ('session', 'prompt') "
    "AND id > (SELECT coalesce(max(id), 0) FROM journal WHERE session = ? AND event = 'compact')"
)
HAS = "SELECT 1 FROM journal WHERE session = ? AND event = ? AND words = ?"
BEGINNING = "SELECT DISTINCT session FROM journal WHERE session >= ? AND session < ? ORDER BY session LIMIT ?"
OLD_ENTRIES = "DELETE FROM journal WHERE at < ?"
OF_SESSION = f"SELECT {COLUMNS} FROM journal WHERE session = ? AND event <> 'compact' ORDER BY id DESC LIMIT ?"
LATEST = f"SELECT {COLUMNS} FROM journal WHERE event <> 'compact' ORDER BY id DESC LIMIT ?"
ADD_DEED = "INSERT INTO deed (at, what, ref, note) VALUES (?, ?, ?, ?)"
DEEDS = "SELECT at, what, ref, note FROM deed ORDER BY id DESC LIMIT ?"


class Scored:
    """What was shown or left out: its ref, its score and the parts of it, None and {} when it was told for what it is, and the letter of WHY it was left out."""

    __slots__ = ("ref", "score", "parts", "why")

    def __init__(self, ref: str, values: Sequence[float], why: str = "") -> None:
        self.ref = ref
        self.parts = dict(zip(PARTS, values[1:]))
        self.score = values[0] if len(values) > 1 else None
        self.why = why

    def line(self) -> str:
        """The parts in words, «briefing» where there are none."""
        return " ".join(f"{name} {value:.2f}" for name, value in self.parts.items()) or "briefing"


class Entry:
    """One recall or injection: what was `shown` and what was `skipped`, as they scored then; `hits` are the shown in words: (ref, score, parts)."""

    __slots__ = ("id", "at", "event", "session", "words", "shown", "chars", "skipped")

    def __init__(self, row: Sequence[object]) -> None:
        number, at, event, session, words, hits, chars, skipped = row
        self.id = int(str(number))
        self.at = float(str(at))
        self.event = str(event)
        self.session = str(session)
        self.words = str(words).split()
        self.shown = [_unpacked(line) for line in str(hits).splitlines() if line]
        self.chars = int(str(chars))
        self.skipped = [_unpacked(line, missed=True) for line in str(skipped).splitlines() if line]

    @property
    def hits(self) -> list[tuple[str, str, str]]:
        """Ref, score and parts of what was shown, in words."""
        return [(hit.ref, "" if hit.score is None else f"{hit.score:.2f}", hit.line()) for hit in self.shown]

    @property
    def refs(self) -> set[str]:
        """What it speaks of: what was shown, and what nearly was."""
        return {told.ref for told in (*self.shown, *self.skipped)}

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
    now: float, skipped: Sequence[tuple[str, float, Sequence[float], str]] = (),
) -> None:  # fmt: skip
    """Writes an entry; a hit is (ref, score, the values of PARTS, or none of them when it was told for what it is), a near miss the same and its letter of WHY."""
    lines = "\n".join([_packed(*hit, SHOWN) for hit in hits])
    missed = "\n".join([_packed(*miss) for miss in skipped[: max(1, min(MOST_SKIPPED, MOST_TOLD - len(hits)))]])
    store.execute(ADD, (int(now), event, session[:NAME], repository, " ".join(words), lines, chars, missed))


def seen(store: Store, session: str) -> set[str]:
    """The refs that were put in front of the session since it began or was compacted."""
    rows = store.rows(SEEN, (session[:NAME], session[:NAME]))
    return {line.split(" ", 1)[0] for (hits,) in rows for line in str(hits).splitlines()}


def has(store: Store, session: str, event: str, word: str) -> bool:
    """Whether there is an entry of that event, with that one word, of the session."""
    return store.value(HAS, (session[:NAME], event, word)) is not None


def unsee(store: Store, session: str, now: float) -> None:
    """Lets everything come again in a session that was compacted."""
    store.execute(ADD, (int(now), FRESH, session[:NAME], None, "", "", 0, ""))


def entries(store: Store, session: str = "", limit: int = 10) -> list[Entry]:
    """The newest entries, of one session or of all, newest first."""
    return [Entry(row) for row in (store.rows(OF_SESSION, (session[:NAME], limit)) if session else store.rows(LATEST, (limit,)))]


def beginning(store: Store, start: str, most: int) -> list[str]:
    """The sessions that entries are of and whose ids, as they are kept here, begin so, at most so many; none for fewer than 8 characters."""
    return [str(name) for (name,) in store.rows(BEGINNING, (*span(start[:NAME]), most))] if len(start) >= SHORT else []


def span(start: str) -> tuple[str, str]:
    """Between which two texts those stand that begin so, the first of them included."""
    return start, start + chr(0x10FFFF)


def prune(store: Store, now: float) -> None:
    """Drops entries older than thirty days."""
    store.execute(OLD_ENTRIES, (now - KEEP_S,))


def deed(store: Store, what: str, ref: str, note: str, now: float) -> None:
    """An audit line: what was done to what, without its text."""
    store.execute(ADD_DEED, (now, what, ref, note))


def deeds(store: Store, limit: int) -> list[tuple[float, str, str, str]]:
    """The newest audit lines, newest first: time, deed, ref, note."""
    return [(float(at), str(what), str(ref), str(note)) for at, what, ref, note in store.rows(DEEDS, (limit,))]


def _packed(ref: str, score: float, parts: Sequence[float], why: str) -> str:
    if not parts:
        return f"{ref} {why}"
    high, low = divmod(min(CODES * CODES - 1, max(0, round(score * 100))), CODES)
    return f"{ref} {why}{chr(CODE + high)}{chr(CODE + low)}" + "".join([chr(CODE + min(CODES - 1, max(0, round(part * PER_UNIT)))) for part in parts])


def _unpacked(line: str, *, missed: bool = False) -> Scored:
    ref, _, code = line.partition(" ")
    if not missed and code[:1] != SHOWN:
        return Scored(ref, [int(code[at : at + 2], 16) / 100 for at in range(0, len(code), 2)])
    values = [ord(letter) - CODE for letter in code[1:]]
    score = [(CODES * values[0] + values[1]) / 100] if len(values) > 1 else []
    return Scored(ref, score + [value / PER_UNIT for value in values[2:]], code[0].replace(SHOWN, ""))
