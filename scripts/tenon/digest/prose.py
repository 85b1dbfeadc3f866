"""What of a turn's text its speaker wrote in sentences, and which of its words tell it from any other sentence.

Code, quoted lines, tables, logs and what is announced as pasted are left out; of a long text only its beginning and its end are
read, as nobody types that much. Pure, and linear in the text's length.
"""

from __future__ import annotations

import re

from tenon.base.text import words
from tenon.digest import marks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

END = 2000  # characters of prose that are read at each end of a long text
TYPED = 600  # characters of a prompt that was surely typed
LONGEST = 400  # characters of a sentence; a longer one was not typed, or says too much at once

STOP = frozenset(
    "a about above after again all also always am an and another any anything are as at be because been before being below between both but by can could did do does doing done "
    "down during each either else ever every everything few first for from further get gets give go goes going got had has have having he her here hers him his how however i if "
    "in instead into is it its itself just keep kept last later let lets like made make makes many may maybe me mean means might more most much must my need needs never new next no "
    "nor not nothing now of off ok okay old on once one only onto or other others our out over own per please put rather really right same say says see set shall she should simply "
    "since so some something still stop such sure take takes than thank thanks that the their them then there these they thing things this those through time to today together "
    "too two under until up us use used uses using very via want wants was way we well were what when where whether which while who whose why will with within without would "
    "yes yet you your yours don t s re ve ll d m didn doesn isn aren wasn won shouldn mustn couldn wouldn".split()
)
SHOUTED = frozenset(
    "A ALL ALWAYS AND ANY ARE BUT DO DONT FOR I IF IN IS IT NEVER NO NOT OF OK ON ONLY OR PLEASE THE THEN TO TODO USE WE YES YOU MUST STOP WHY AM PM".split()
)
FILLER = ("I", "I'm", "I'd", "I'll", "I've", "OK", "Okay")

_BLOCK = re.compile(r"^\s*(?:[-*+•]|\(?\d{1,2}[.)]|#{1,6})\s+")
_FENCE = re.compile(r"^\s*(```|~~~)")
_FOREIGN = re.compile(
    r"^(?:\s{4,}|\t|\s*(?:[>|]|[$%❯»#]\s|\+\+\+|---|@@|<\w|</|[{}\[\]]|at .+[:(]\d|File \"|Traceback|\w*(?:Error|Exception)\b\S*:|npm ERR|Caused by|\[?\d{4}-\d\d-\d\d[T ]\d|\[?\d\d:\d\d:\d\d"
    r"|\[?(?:ERROR|WARN|WARNING|INFO|DEBUG|TRACE|FATAL)\b[\]: ]|(?:import|from|const|let|var|def|class|func|fn|return|export|public|private)\s\S+.*[;:{(=]\s*$))"
)
_PASTED = re.compile(
    r"^(?!.*\b(?:rules?|conventions?|decisions?|decided|preferences?|requirements?|remember|always|never)\b).*"
    r"\b(?:here(?:'s| is| are)|says?|said|wrote|writes|reads?|output|logs?|ticket|issue|e-?mail|mail|message|docs?|documentation|readme|error|trace|pasted?|review|comments?|transcript)\b"
    r"[^.!?:]{0,60}:\s*$",
    re.I,
)
_STOP_AT = re.compile(r"[.!?…]+[\"»”’')\]*_]*(?=\s)")
_ABBREVIATION = re.compile(r"(?:^|[\s(])(?:e\.g|i\.e|etc|vs|approx|ca|cf|resp|incl|excl|fig|nr|Dr|Mr|Mrs|Ms|St|[A-Za-z])\.$", re.I)
_MARKS = re.compile(r"\*\*(?=[\w`\"«“])|(?<=[\w.:!?)`\"»”])\*\*|(?<![\w*/.])\*(?=\w)|(?<=[\w.!?])\*(?![\w*/.])")
_QUOTED = re.compile(r"\"[^\"\n]{1,300}\"|“[^”\n]{1,300}”|«[^»\n]{1,300}»|`[^`\n]{1,300}`|(?<!\w)'[^'\n]{1,300}'(?!\w)")
_TOKEN = re.compile(r"[^\W_][\w.\-/:@#+<>~]*[\w>/]|[/.~$][\w./\-<>]+\w|[^\W_]")
_BEGINS = re.compile(r"[.!?:«“\"]")
_DISTINCT = re.compile(r"\d|.[_/@#<.:]|[a-z][A-Z]")


def sentences(text: str) -> list[list[str]]:
    """The sentences of each paragraph or item of a list; of a long text those of its first and last END characters of prose."""
    blocks = list(_blocks(text))
    if sum(map(len, blocks)) > 2 * END:
        blocks = [*_within(blocks), *reversed(_within(blocks[::-1], last=True))]
    found = [[sentence for sentence in _split(block) if len(sentence) <= LONGEST] for block in blocks]
    return [each for each in found if each]


def unquoted(sentence: str) -> str:
    """The sentence with what stands in quotes or backticks replaced by a name, so that no rule is read out of a quotation."""
    return _QUOTED.sub("Q1", sentence)


def is_typed(text: str) -> bool:
    """Whether somebody surely typed all of it themself: one short paragraph in which nothing is quoted and no other text is spoken of."""
    plain = text.strip()
    lines = plain.splitlines()
    own = len(plain) <= TYPED and all(line.strip() and not _FENCE.match(line) and not _FOREIGN.match(line) for line in lines)
    return own and _QUOTED.search(plain) is None and marks.OTHERS_WORDS.search(plain) is None


def names(sentence: str) -> set[str]:
    """What tells the sentence from others, in lower case: numbers, identifiers, paths, words with capitals inside, and proper names.

    A capital at the beginning says nothing.
    """
    found: set[str] = set()
    end = 0
    for match in _TOKEN.finditer(sentence):
        token = match.group()
        begins = not end or _BEGINS.search(sentence, end, match.start()) is not None
        end = match.end()
        plain = token.strip(".:-")
        if _DISTINCT.search(plain):
            found.add(plain.lower().strip("./~"))
        elif plain[:1].isupper() and len(plain) > 1 and not (begins and plain[1:].islower()) and plain not in SHOUTED and plain not in FILLER:
            found.add(plain.lower())
    return found - STOP - {"e.g", "i.e", "and/or"}


def content(text: str) -> set[str]:
    """The words of a text that say something, in lower case and without the endings of a plural."""
    return {stem(word) for word in words(text) if word not in STOP and (len(word) > 2 or any(char.isdigit() for char in word))}


def stem(word: str) -> str:
    """The word without the ending of a plural or a verb, so that «retries» meets «retry» and «segments» «segment»."""
    if word.isalpha() and len(word) > 4:
        if word.endswith("ies"):
            return word[:-3] + "y"
        if word.endswith("s") and not word.endswith(("ss", "us", "is")):
            word = word[:-1]
        if word.endswith("ing") and len(word) > 6:
            return _single(word[:-3])
        if word.endswith("ed") and len(word) > 5:
            return _single(word[:-2])
    return word.rstrip("e") if word.isalpha() and len(word) > 4 else word


def _single(word: str) -> str:
    """«dropp» as «drop»."""
    return word[:-1] if word[-1] == word[-2] and word[-1] not in "lsz" else word.rstrip("e")


def _blocks(text: str) -> Iterator[str]:
    """The paragraphs and items of lists, each as one line."""
    held: list[str] = []
    fence = ""
    pasted = 0  # 1: what follows was announced as pasted; 2: it has begun
    others = False  # it is what somebody else wrote, and goes on to the end
    for raw in text.splitlines():
        mark = _FENCE.match(raw[:80])
        if fence or mark:
            if mark:
                fence = "" if fence == mark.group(1) else fence or mark.group(1)
            yield from _flush(held)
            pasted = pasted if others and pasted == 2 else 0
            continue
        line = raw.strip()
        if not line:
            yield from _flush(held)
            pasted = 0 if pasted == 2 and not others else pasted
            continue
        if pasted and not (others and held and not held[-1].endswith(":")):
            pasted = 2
            continue
        item = _BLOCK.match(raw)
        if item is None and (_FOREIGN.match(raw[:400]) or not _reads(line)):
            yield from _flush(held)
            continue
        if item is not None:
            yield from _flush(held)
            line = raw[item.end() :].strip()
        held.append(_cut(line))
        others = _is_announcing(line)
        pasted = 1 if others or (len(line) < 200 and _PASTED.search(line)) else 0
    yield from _flush(held)


def _is_announcing(line: str) -> bool:
    """Whether what stands after the line is what somebody else wrote; unlike a machine's output it may have many paragraphs, and nothing tells where it ends."""
    return len(line) < 200 and any(hint in line for hint in marks.ANNOUNCING) and marks.ANNOUNCED.search(line) is not None


def _cut(line: str) -> str:
    return line if len(line) <= 2 * END else line[:END] + "\n" + line[-END:]


def _flush(held: list[str]) -> Iterator[str]:
    if held:
        yield from " ".join(held).split("\n")
        held.clear()


def _reads(line: str) -> bool:
    """Whether a line is words rather than data: letters and blanks are most of it."""
    if len(line) > 2 * END:
        line = line[:END]
    plain = sum(map(str.isalpha, line)) + line.count(" ")
    return plain * 10 >= len(line) * 6


def _within(blocks: list[str], *, last: bool = False) -> list[str]:
    """The first blocks, up to END characters; with `last` the blocks are in reverse order and it is their ends that count."""
    kept: list[str] = []
    room = END
    for block in blocks:
        kept.append(block[-room:] if last else block[:room])
        room -= len(block)
        if room <= 0:
            break
    return kept


def _split(block: str) -> list[str]:
    """The sentences of a paragraph, without marks of Markdown."""
    plain = " ".join(_MARKS.sub("", block).split())
    found: list[str] = []
    first = 0
    for match in _STOP_AT.finditer(plain):
        if match.group()[0] == "." and _ABBREVIATION.search(plain[max(first, match.start() - 8) : match.start() + 1]):
            continue
        found.append(plain[first : match.end()].strip())
        first = match.end()
    found.append(plain[first:].strip())
    return [sentence for sentence in found if sentence]
