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

LONGEST = 4000  # characters that are looked up
MOST_WORDS = 40  # of a long prompt: the first ones and the last ones, where the request stands
ENOUGH = 3.5  # so much matched weight answers any cue, however long
LEAST = 1.5  # a cue that says less than this is answered in part only: one noun of the trade is no answer
COMMON_WEIGHT, TRADE_WEIGHT = 0.25, 0.5  # names and everything else 1.0, names with digits 1.5

STOP = frozenset(
    "a about above across after again ain all along also although am amid among an and any anybody anyone anything anywhere apart are aren as aside at "
    "away be became because become becomes been before being below beside besides between beyond both but by can cannot cant concerning could couldn d "
    "despite did didn do does doesn doing don done down during each either else even ever every everybody everyone everything everywhere except far few "
    "for from get gets getting give given go goes going got had hadn has hasn have haven having he hello hence her here hers herself hi him himself his "
    "how however i if in inside into is isn it its itself just kind know let lets like ll m make makes me might mightn mine more most much must mustn my "
    "myself near need needn needs neither never no nobody none nor not nothing now nowhere of off ok okay on once one ones only onto or other ought our "
    "ours ourselves out outside over own per please put quite rather re really regarding s said same say see shall shan she should shouldn show since so "
    "some somebody somehow someone something sometime sometimes somewhere still such sure t take tell than thank thanks that the their theirs them "
    "themselves then there these they thing things this those though through thus till to too toward towards try two under underneath unless unlike until "
    "up upon us use used using ve versus very via want wants was wasn way we well were weren what whatever when whenever where whereas wherever whether "
    "which whichever while who whoever whom whose why will with within without won would wouldn yes yet you your yours yourself yourselves".split()
)
# What any prompt to a coding agent may say, whatever it is about: how one asks, and how one judges.
COMMON = frozenset(
    "able accept achieve actual actually add allow almost already alright alternative always answer anyway app appear application apply arrange ask assume "
    "attempt attention avoid aware back bad basic basically beautiful begin believe bit break brief bring broken bug build call care careful carefully "
    "case cause certain certainly change cheap check choose clean clear clearly close code combine come comfortable command common compare complain "
    "complete complicated computer concern confirm confuse consider consistent continue convenient convert copy correct count cover create current "
    "currently custom data day dead deal decent decide decision default definitely delete describe desired detail different directly discuss double dozen "
    "drop due early easily easy edit effort eight empty enable end ensure error eventually exact exactly example exist expect expected expensive explain "
    "explanation explicit extra extract fail failing failure false fast favour feature figure file fill final finally find fine finish finished first fit "
    "five fix fixed folder follow forget format four fully function further general generally generate gone good great guess half handle handy happen "
    "happy hard hear help hint hold hope hour hundred idea ideal immediately implement important impossible improve improvement include increase input "
    "insert inspect instead intend interest interesting introduce investigate involve issue item job keep lack large last late later latest lead learn "
    "leave left less likely line list literally little load locate long longer look loose lose lot main manage manually many matter maybe mean meant "
    "meanwhile mention merely mess method minute miss mistake mock modify month morning mostly move multiple name naturally nearly neat necessary new next "
    "nice nine normal note notice number numerous obvious obviously occur odd often old open opinion optimise optimize option optional order ordinary "
    "original otherwise output overview page part particular pass past people perfect perform perhaps permanent pick piece place plain plan play point "
    "possible potential precise precisely prefer preferably prepare press prevent previous previously print probably problem proceed produce program "
    "project proper properly provide pull purpose question quick quickly rarely reach read ready real realise reason recent recently recommend reduce "
    "refactor regular related relevant rely remain remaining remember remove rename repair replace report require resolve respect rest result return reuse "
    "revert review rewrite right roughly round run running safe sample save search second seem select send sense separate separately serious set setting "
    "setup seven share short shorten shortly shown side similar simple simplify simply single six size slightly slow slowly small smart software solid "
    "solution solve soon sort sound special specific specify split start state stay step stick stop straight strange strict string structure stuff subtle "
    "succeed suggest suggestion suitable sum summarise summarize summary support suppose surely swap switch system talk task team temporary ten test text "
    "think thought thousand three tidy time tiny today together tomorrow tool top total totally touch tricky trouble true truly turn twice type typical "
    "ugly unable unclear understand undo unexpected unfortunately unnecessary unused update upper urgent usage useful useless user usual usually valid "
    "value variant various verify version view wait walk warn watch week weird whole wish wonder wonderful word work world worry worth write writing "
    "written wrong wrote year yesterday".split()
)
# The nouns of the trade: they say roughly what it is about, and a memory that shares nothing else is about something else.
TRADE = frozenset(
    "account address algorithm alias api argument array async attribute backend backup bash batch binary block board body boolean branch browser bucket "
    "button byte cache callback channel character class cli click client clock cloud column comment commit compile compiler component config configuration "
    "connection console constant container content context cookie crash css cursor dashboard database date debug dependency deploy deployment desktop "
    "device dialog diff directory disk docker docs document documentation domain download driver editor element email endpoint engine entry environment "
    "event exception export expression extension field filter flag font form framework frontend git github global handler hash header heading hook host "
    "html http icon image import index integer integration interface internal iterator java javascript json key keyboard label language laptop latency "
    "layout level library limit link linux local lock log logic login loop machine macos map memory menu merge message metadata metric migration mobile "
    "mode model module monitor mouse namespace network node null object package pagination panel parameter parse parser password patch path pattern "
    "performance permission pipeline plugin pointer policy port process production property protocol proxy push python query queue readme record reference "
    "regex register regression release remote render repo repository request resource response retry role root route router row rule rust schema scope "
    "screen script scroll security server service session shell sidebar sql stack stage staging standard status storage store stream style submit syntax "
    "table tag target template terminal thread ticket timeout timer timestamp title token trace tree tuple typescript typo ui unit upgrade upload url "
    "validate validation variable vector warning web webpage website widget width window windows worker".split()
)
# A verb and a particle, together or around what they are about, that people also write as one word.
PARTICLES = {
    "log": ("in", "on", "out", "off"), "sign": ("in", "on", "up", "out", "off"), "check": ("in", "out"), "set": ("up",), "back": ("up",), "roll": ("back", "out"), "shut": ("down",), "start": ("up",),
    "clean": ("up",), "look": ("up",), "time": ("out",), "spin": ("up",), "fall": ("back",), "break": ("down",), "build": ("up",), "call": ("back",), "hand": ("off",), "opt": ("in", "out"), "plug": ("in",),
    "scale": ("up", "down"), "sort": ("out",), "speed": ("up",), "stand": ("up",), "tear": ("down",), "warm": ("up",), "wrap": ("up",), "write": ("up",),
}  # fmt: skip
# These and years say when, which is seldom said where something is remembered.
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


def _joined(found: Sequence[str]) -> list[str]:
    """The words that the text's verbs make with their particles: login, setup, rollback."""
    joined: list[str] = []
    for at, word in enumerate(found):
        verb = word if word in PARTICLES else word[:-1] if word[-1:] == "s" and word[:-1] in PARTICLES else ""
        if verb:
            joined += [verb + after for after in found[at + 1 : at + 4] if after in PARTICLES[verb]][:1]
    return joined


def rarer(cue: Cue, size: int, found: Mapping[str, int]) -> Cue:
    """The cue with its words weighed by how rare they are in a store of so many rows: what is in every row tells nothing apart."""
    if size < 50:
        return cue
    return Cue(cue.words, {word: weight * _rarity(size, found.get(word, 0)) for word, weight in cue.weights.items()})


def ends(text: str) -> str:
    """What of a cue is looked up: all of it, or of a long one its beginning and its end."""
    return text if len(text) <= LONGEST else text[: LONGEST // 2] + " " + text[-LONGEST // 2 :]


def spoken(text: str) -> str:
    """The cue as it is embedded: with the one word that a verb and its particle also make, as «log people in» is about login."""
    joined = _joined(all_words(text))
    return f"{text} {' '.join(joined)}" if joined else text


def answered(cue: Cue, text: str, among: Sequence[str]) -> tuple[float, list[str]]:
    """How much of the cue's weight the text has, 0 to 1, and the words they share; `among` are the text's words."""
    # Two forms of a word begin alike, so only words that begin like one of the cue's are worth a stem.
    asked = {word: _bare(word) for word in cue.words}
    starts = {bare[:3] for bare in asked.values()}
    have = {stem(bare) for bare in map(_bare, among) if bare[:3] in starts}
    shared = [word for word, bare in asked.items() if (word[:-1] in text if word.endswith("*") else stem(bare) in have)]
    matched = sum(cue.weights[word] for word in shared)
    if len(shared) == len(cue.words) and any(cue.weights[word] >= TRADE_WEIGHT for word in shared):
        return 1.0, shared  # all that was asked, however little: «how do we deploy?»
    return (min(1.0, matched / max(LEAST, min(cue.total, ENOUGH))) if cue.total else 0.0), shared


def stem(word: str) -> str:
    """The word without its endings, near enough to Porter's stem (which the index has) to tell whether two forms are one word."""
    found = _STEMS.get(word)
    if found is None:
        if len(_STEMS) >= MOST_STEMS:
            _STEMS.clear()
        found = _STEMS[word] = _stemmed(word)
    return found


def _stemmed(word: str) -> str:
    if len(word) < 4 or not word.isascii() or not word.isalpha():
        return word
    if word[-1] == "s" and word[-2] != "s":
        word = word[:-3] + "y" if word.endswith("ies") else word[:-1]
    for ending in ("ied", "ed", "ing", "ly"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            word = word[: -len(ending)] + ("y" if ending == "ied" else "")
            break
    for endings in (_ENDINGS, _INNER):
        word = _shorter(word)
        for ending in endings:
            if word.endswith(ending) and len(word) - len(ending) >= (
                5 if ending in ("er", "or") else 4 if len(ending) < 3 or ending in ("ation", "ativ") else 3
            ):
                word = word[: -len(ending)]
                break
    word = _shorter(word)
    return word[:-1] if len(word) > 3 and word[-1] in "yi" else word


def _shorter(word: str) -> str:
    """The word without a last e and with one of a last double letter."""
    if len(word) > 3 and word[-1] == "e":
        word = word[:-1]
    return word[:-1] if len(word) > 3 and word[-1] == word[-2] else word


def _bare(word: str) -> str:
    """The word without accents, as the index has it."""
    if word.isascii():
        return word
    from unicodedata import normalize

    return "".join(char for char in normalize("NFD", word) if not "\u0300" <= char <= "\u036f")


MOST_STEMS = 4096  # kept
_STEMS: dict[str, str] = {}
_INNER = ("ment", "ation", "ion", "iz", "iv", "at", "ic", "al", "ful", "er", "or")
_ENDINGS = (
    "ational",
    "ization",
    "ability",
    "ibility",
    "ation",
    "ativ",
    "ement",
    "ment",
    "nes",
    "abl",
    "ibl",
    "anc",
    "enc",
    "ancy",
    "ency",
    "ant",
    "ent",
    "ity",
    "ou",
    "ism",
    "ist",
    *_INNER,
)


def _weight(word: str) -> float:
    if word in STOP or _among(word, COMMON):
        return COMMON_WEIGHT
    if _among(word, TRADE) or word in DATES or (len(word) == 4 and word.isdecimal() and word[:2] in ("19", "20")):
        return TRADE_WEIGHT
    return 1.5 if len(word) > 3 and any(char.isdigit() for char in word) else 1.0


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
