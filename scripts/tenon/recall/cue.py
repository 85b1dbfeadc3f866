"""What a cue asks for: its words, how much each of them says, and how much of that a text answers.

BM25 orders what it finds and cannot say that nothing fits. So every hit is also held against the cue: the share of the
cue's weight that the text has. Words that every conversation about software shares weigh little, names and
numbers weigh most, and a prompt that shares only the former with a memory gets nothing.
"""
from __future__ import annotations

from tenon.base.text import words as all_words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MOST_WORDS = 40  # of a long prompt: the first ones and the last ones, where the request stands
ENOUGH = 4.0  # so much matched weight answers any cue, however long

STOP = frozenset(
    "a about above after again all also am an and any anyone anything are as at be because been before being below between both but by "
    "can cannot cant could couldn d did didn do does doesn doing don done down during each either else even ever every few for from get "
    "gets getting give given go goes going got had has hasn have haven having he hello hence her here hers hi him his how however i if in "
    "into is isn it its itself just kind know let lets like ll m make makes me might mine more most much must my myself need needs neither "
    "never no nor not now of off ok okay on once one only onto or other our ours out over own per please put re really s said same say see "
    "she should shouldn show since so some someone something still such sure t take tell than thank thanks that the their theirs them then there "
    "these they thing things this those though through to too try two under until up upon us use used using ve very want wants was wasn way we well were weren "
    "what when where whether which while who whom whose why will with within without won would wouldn yes yet you your yours".split()
)
# What any prompt to a coding agent may say: it says little about which memory is meant.
COMMON = frozenset(
    "add app application back bad best better big bit bug build call case change changes check class clean code come command computer "
    "correct create current data day days default delete different does error errors example explain fast feature file files find fine first fix folder "
    "follow format function good great great help idea implement important improve include instead issue issues job keep last later learn "
    "left less line lines list little long look lot main many maybe mean method missing morning name new next nice number old open "
    "option order page part people place plan point possible problem program project question quick quickly read ready real remove rename "
    "report result return review right run running save second set short simple small software someone start step stop string "
    "stuff system talk task test tests text thought time today together tomorrow tool true turn type understand update user value "
    "version view wait whole wish word work working works world write writing wrong yesterday".split()
)


class Cue:
    """A cue's words in order, each once, and what each of them weighs."""

    __slots__ = ("words", "weights", "total")

    def __init__(self, words: Sequence[str], weights: Mapping[str, float]) -> None:
        self.words = words
        self.weights = weights
        self.total = sum(weights.values())


def read(text: str, *, strict: bool = True) -> Cue:
    """The cue in a text. With `strict` (a prompt) words that say nothing are left out even when none remain."""
    found = list(dict.fromkeys(all_words(text)))
    kept = [word for word in found if word not in STOP and (len(word) > 1 or not word.isascii() or word.isdigit())]
    if not kept and not strict:
        kept = found
    if len(kept) > MOST_WORDS:
        kept = kept[: MOST_WORDS * 2 // 3] + kept[-(MOST_WORDS // 3) :]
    return Cue(kept, {word: _weight(word) for word in kept})


def rarer(cue: Cue, size: int, found: Mapping[str, int]) -> Cue:
    """The cue with its words weighed by how rare they are in a store of so many rows: what is in every row tells nothing apart."""
    if size < 50:
        return cue
    return Cue(cue.words, {word: weight * _rarity(size, found.get(word, 0)) for word, weight in cue.weights.items()})


def answered(cue: Cue, text: str) -> tuple[float, list[str]]:
    """How much of the cue's weight the text has, 0 to 1, and the words they share."""
    # Two forms of a word begin alike, so only words that begin like one of the cue's are worth a stem.
    starts = {word[:3] for word in cue.words}
    have = {stem(word) for word in all_words(text) if word[:3] in starts}
    shared = [word for word in cue.words if (stem(word) in have if not word.endswith("*") else word[:-1] in text)]
    matched = sum(cue.weights[word] for word in shared)
    return (min(1.0, matched / min(cue.total, ENOUGH)) if cue.total else 0.0), shared


def stem(word: str) -> str:
    """The word without its ending, near enough to Porter's stem to tell whether two forms are one word."""
    if len(word) < 4 or not word.isascii() or not word.isalpha():
        return word
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            word = word[: -len(ending)]
            break
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "lsz":
        word = word[:-1]
    return word[:-1] if len(word) > 3 and word[-1] in "eyi" else word


_ENDINGS = (
    "ational", "izations", "ization", "ations", "ation", "ments", "ment", "nesses", "ness", "ables", "able", "ities", "ity", "ators", "ator",
    "ings", "ing", "edly", "ions", "ion", "ies", "ied", "ers", "ed", "er", "es", "ly", "s",
)  # fmt: skip


def _weight(word: str) -> float:
    if word in COMMON or word in STOP:
        return 0.35
    if len(word) > 3 and any(char.isdigit() for char in word):
        return 1.5
    return 1.0


def _rarity(size: int, rows: int) -> float:
    share = (rows + 0.5) / (size + 1.0)
    return 1.0 if share <= 0.05 else max(0.2, 1.0 - (share - 0.05) * 2.0)
