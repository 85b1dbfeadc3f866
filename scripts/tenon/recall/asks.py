"""What a cue asks for beyond its words: from when, by whom, and whether a time or a number would answer it.

«What did we decide last Tuesday» names no word of the decision; «when» is answered by words of time; what somebody
is asked about is mostly said by that one. These are small hints which order what the words and the vectors found;
alone they bring nothing to mind. Their weights are in rank.py.
"""

from __future__ import annotations

import time

MONTHS = ("january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december")
WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
NUMBERS = frozenset("one two three four five six seven eight nine ten eleven twelve dozen couple few several twice once half zero hundred thousand".split())
TIMES = frozenset(
    "yesterday today tonight tomorrow last next ago week weeks weekend month months year years day days hour hours minute minutes morning evening night "
    "since recently soon daily weekly monthly quarterly".split()
).union(MONTHS, WEEKDAYS)
# A month's name that is a verb too counts when one of these stands before it, or a number behind it.
_BEFORE_MONTH = frozenset("in of last since during early late mid this until from by for on next".split())
_COUNTS = {"a": 1, "an": 1, "one": 1, "two": 2, "couple": 2, "three": 3, "few": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10}
_UNITS = {"day": 1, "week": 7, "month": 30, "year": 365}
_ASKED_MODEL = frozenset("say said suggest suggested propose proposed recommend recommended answer answered tell told explain explained find found".split())
_ASKED_USER = frozenset("say said ask asked tell told mention mentioned want wanted prefer preferred request requested".split())
_QUESTIONS = frozenset("how what which why where when who whose whom".split())
_OURS = frozenset("we our ours us did was were used".split())
LONGEST_QUESTION = 40  # words
DAY_S = 86400.0


class Asks:
    """The hints in a cue. `window` is the time it names (first and last second, UTC), or None."""

    __slots__ = ("window", "dated", "memory", "time", "number", "by", "names")

    def __init__(self) -> None:
        self.window: tuple[float, float] | None = None
        self.dated: list[str] = []  # the words that may have named it
        self.memory = False  # it asks what is remembered: how we do it, what was decided
        self.time = False
        self.number = False
        self.by = ""
        self.names: frozenset[str] = frozenset()


def read(text: str, words: list[str], now: float) -> Asks:
    """The hints in a cue of these words (lower-case, in order, none left out); days begin at the user's own midnight."""
    asks = Asks()
    if not words:
        return asks
    asks.window = _window(words, now)
    if asks.window is not None:
        if "since" in words:
            asks.window = asks.window[0], max(asks.window[1], now)
        asks.dated = [word for at, word in enumerate(words) if word in TIMES or (_is_count(word) and any(map(_is_date, words[max(0, at - 2) : at + 3])))]
    asks.memory = _asks_back(words) or (asks.window is not None and (len(words) <= 3 or not _QUESTIONS.isdisjoint(words[:2])))
    asks.time = words[0] == "when" or _has(words, "what date") or _has(words, "which day") or _has(words, "what day") or _has(words, "how long")
    asks.number = words[0] == "how" and words[1:2] in (["many"], ["much"], ["often"], ["long"])
    asks.by = _by(words)
    # A name is written with a capital and does not begin the sentence; a transcript of people labels each turn with one.
    asks.names = (
        frozenset(bare.lower() for word in text.split()[1:] if (bare := word.strip(".,;:!?\"'()").removesuffix("'s"))[:1].isupper())
        if len(text) < 2000
        else asks.names
    )
    return asks


def tells_time(words: set[str]) -> bool:
    """Whether one of a text's words is of time, or a year."""
    return not words.isdisjoint(TIMES) or any(len(word) == 4 and word[:2] in ("19", "20") and word.isdecimal() for word in words)


def tells_number(words: set[str]) -> bool:
    """Whether one of a text's words is a number."""
    return not words.isdisjoint(NUMBERS) or any(word.isdecimal() for word in words)


def _asks_back(words: list[str]) -> bool:
    among = set(words)
    if "remember" in among or _has(words, "last time"):
        return True
    return len(words) <= LONGEST_QUESTION and not _QUESTIONS.isdisjoint(words[:2]) and not _OURS.isdisjoint(among)


def _is_count(word: str) -> bool:
    return word in _COUNTS or word[:1].isdecimal()


def _is_date(word: str) -> bool:
    """Whether a number beside the word may belong to a date: a word of time, or a year."""
    return word in TIMES or (len(word) == 4 and word[:2] in ("19", "20") and word.isdecimal())


def _has(words: list[str], phrase: str) -> bool:
    first, second = phrase.split()
    return any(a == first and b == second for a, b in zip(words, words[1:]))


def _by(words: list[str]) -> str:
    """Whose words are wanted: «user», «assistant» or «» when that is not said."""
    for at, word in enumerate(words[:-1]):
        if word in ("did", "have", "had"):
            who, *rest = words[at + 1 :]
            near = rest[:3]
            if who == "you" and not _ASKED_MODEL.isdisjoint(near):
                return "assistant"
            if who == "i" and not _ASKED_USER.isdisjoint(near):
                return "user"
    return ""


def _window(words: list[str], now: float) -> tuple[float, float] | None:
    here = time.localtime(now)
    today = _midnight(here.tm_year, here.tm_mon, here.tm_mday)
    for at, word in enumerate(words):
        before = words[at - 1] if at else ""
        after = words[at + 1] if at + 1 < len(words) else ""
        if word == "today":
            return today, now
        if word == "yesterday":
            return _days(here, 1, 1)
        if word in ("week", "month", "year", "night") and before in ("last", "this"):
            return _period(word, before, here, now)
        if word == "ago" and at >= 2 and words[at - 1].rstrip("s") in _UNITS:
            count = _COUNTS.get(words[at - 2], int(words[at - 2]) if words[at - 2].isdecimal() and len(words[at - 2]) < 4 else 0)
            if count:
                unit = _UNITS[words[at - 1].rstrip("s")]
                return _days(here, count * unit + unit // 2, unit)
        if word in WEEKDAYS and before in ("on", "last", "since"):
            back = (here.tm_wday - WEEKDAYS.index(word) - 1) % 7 + 1
            return _days(here, back, 1)
        if len(word) == 4 and word[:2] in ("19", "20") and word.isdecimal():
            found = _dated(words, at, here)
            if found:
                return found
        if word in MONTHS and (word not in ("may", "march") or before in _BEFORE_MONTH or before.isdecimal() or after[:1].isdecimal()):
            return _month(words, at, here)
    return None


def _dated(words: list[str], at: int, here: time.struct_time) -> tuple[float, float] | None:
    """2026-11-30, which words part at its dashes, or a year after «in», «since» or a month."""
    year = int(words[at])
    rest = words[at + 1 : at + 3]
    if len(rest) == 2 and all(part.isdecimal() and len(part) <= 2 for part in rest) and 1 <= int(rest[0]) <= 12 and 1 <= int(rest[1]) <= 31:
        first = _midnight(year, int(rest[0]), int(rest[1]))
        return first, first + DAY_S
    before = words[at - 1] if at else ""
    if before in ("in", "since", "during") and year <= here.tm_year:
        return _midnight(year, 1, 1), _midnight(year + 1, 1, 1)
    return None


def _month(words: list[str], at: int, here: time.struct_time) -> tuple[float, float]:
    month = MONTHS.index(words[at]) + 1
    beside = [word.rstrip("stndrh") for word in (words[at - 1] if at else "", *words[at + 1 : at + 3])]
    years = [int(word) for word in beside if len(word) == 4 and word[:2] in ("19", "20") and word.isdecimal()]
    days = [int(word) for word in beside[:2] if word.isdecimal() and 1 <= int(word) <= 31]
    year = years[0] if years else here.tm_year if month <= here.tm_mon else here.tm_year - 1
    if days:
        first = _midnight(year, month, days[0])
        return first, first + DAY_S
    first = _midnight(year, month, 1)
    return first, _midnight(year, month + 1, 1)


def _period(unit: str, which: str, here: time.struct_time, now: float) -> tuple[float, float]:
    if unit == "night":
        midnight = _midnight(here.tm_year, here.tm_mon, here.tm_mday)
        return midnight - DAY_S / 2, midnight + DAY_S / 2
    if unit == "week":
        monday = _days(here, here.tm_wday, 1)[0]
        return (monday, now) if which == "this" else (_days(here, here.tm_wday + 7, 1)[0], monday)
    if unit == "month":
        return (
            (_midnight(here.tm_year, here.tm_mon, 1), now)
            if which == "this"
            else (_midnight(here.tm_year, here.tm_mon - 1, 1), _midnight(here.tm_year, here.tm_mon, 1))
        )
    year = here.tm_year if which == "this" else here.tm_year - 1
    return _midnight(year, 1, 1), _midnight(year + 1, 1, 1)


def _days(here: time.struct_time, back: int, length: int) -> tuple[float, float]:
    """So many days from that many days ago; a day may have 23 or 25 hours."""
    first = _midnight(here.tm_year, here.tm_mon, here.tm_mday - back)
    return first, _midnight(here.tm_year, here.tm_mon, here.tm_mday - back + length)


def _midnight(year: int, month: int, day: int) -> float:
    try:
        return time.mktime((year, month, day, 0, 0, 0, 0, 0, -1))
    except (OverflowError, ValueError):  # Windows knows no time before 1970
        return 0.0
