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
LEAST = 1.5  # a cue that says less than this is answered only in part
COMMON_WEIGHT = 0.25
TRADE_WEIGHT = 0.5

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
# What any prompt to a coding agent may say, whatever it is about: how one asks, and how one judges.
COMMON = frozenset(
    "able add allow app appear application apply ask avoid back bad bug break broken build call care case cause change check choose clean clear code come command "
    "compare complete computer consider continue convert copy correct count create current custom data day deal decide default delete different do double drop "
    "early easy edit empty enable end ensure error exact example exist expect expensive explain extra extract fail failing failure false fast feature "
    "figure file fill final find finish fine first fix folder follow forget format function generate good great guess half handle happen hard have "
    "hear help hold hour idea implement important improve include increase input insert instead investigate issue item job keep large last late later "
    "latest lead learn leave left less line list little load long look lose lot main many matter maybe mean meant meanwhile merely mess method minute miss mistake "
    "mock month morning most move multiple name necessary new next nice normal note notice number odd old open option order output own page part pass past people perfect perhaps "
    "pick piece place plain plan play please point possible prefer prepare press prevent print probably problem proceed program project proper pull "
    "question quick quite read ready real reason reduce refactor related remaining remember remove rename repair replace report require respect rest result "
    "return reuse revert review rewrite right round run running safe sample save search second see seem select send separate set setting setup share short shown side "
    "similar simple single size slow small software solution solve soon sort sound split start state stay step stop strange string structure stuff suggest suggestion summarise "
    "summarize sum support suppose sure swap switch system talk task team test text there thing think thought time today together tomorrow tool top total touch true turn twice type "
    "undo understand unused update upper usage user usual value various verify version view wait walk way week whole wish wonder word work world worth "
    "write writing written wrong wrote year yesterday".split()
)
# The nouns of the trade: they say roughly what it is about, and a memory that shares nothing else is about something else.
TRADE = frozenset(
    "account address algorithm alias api argument array async attribute backend backup batch bash binary block board body boolean branch browser bucket "
    "button byte cache callback channel character class cli click client clock cloud column comment commit compile compiler component config configuration connection console "
    "constant container content context cookie crash css cursor dashboard database date debug dependency deploy deployment desktop device dialog diff directory "
    "disk docker docs document documentation domain download driver editor element email endpoint engine entry environment event exception export "
    "expression extension field filter flag font form framework frontend git github global handler hash header heading hook host html http icon image import index "
    "integer integration interface internal iterator java javascript json key keyboard label language laptop latency layout level library limit link linux local lock log login "
    "logic loop machine macos map memory menu merge message metadata metric migration mobile mode model module monitor mouse namespace network node null object package pagination panel parameter "
    "parse parser password patch path pattern performance permission pipeline plugin pointer policy port process production property protocol "
    "proxy push python query queue readme record reference regex register regression release remote render repo repository request resource response retry role root "
    "route router row rule rust schema scope screen script scroll security server service session shell sidebar sql stack stage staging standard status storage "
    "store stream style submit syntax table tag target template terminal thread ticket timeout timer timestamp title token trace tree tuple typescript typo ui "
    "unit upgrade upload url validate validation variable vector warning web webpage website widget width window windows worker".split()
)
# When something was is seldom said where it is remembered.
DATES = frozenset(
    "january february march april june july august september october november december monday tuesday wednesday thursday friday saturday sunday".split()
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
    return (min(1.0, matched / max(LEAST, min(cue.total, ENOUGH))) if cue.total else 0.0), shared


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
    if word in STOP or _among(word, COMMON):
        return COMMON_WEIGHT
    if _among(word, TRADE) or word in DATES or (len(word) == 4 and word.isdecimal() and word[:2] in ("19", "20")):
        return TRADE_WEIGHT
    if len(word) > 3 and any(char.isdigit() for char in word):
        return 1.5
    return 1.0


def _among(word: str, known: frozenset[str]) -> bool:
    """Whether the word, or what it is a plain form of, is one of these."""
    if word in known:
        return True
    for ending in ("s", "es", "d", "ed", "ing", "er", "ly"):
        if word.endswith(ending):
            bare = word[: -len(ending)]
            if bare in known or (ending in ("ing", "ed") and (bare + "e" in known or (bare[-1:] == bare[-2:-1] and bare[:-1] in known))):
                return True
    return word.endswith("ies") and word[:-3] + "y" in known


def _rarity(size: int, rows: int) -> float:
    share = (rows + 0.5) / (size + 1.0)
    return 1.0 if share <= 0.05 else max(0.2, 1.0 - (share - 0.05) * 2.0)
