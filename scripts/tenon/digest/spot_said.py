"""What people say to a coding agent that holds beyond the day, and what the agent says it found out.

A sentence of the user's is taken by the words that mark it («we decided», «never», «beware»), or, where there are none, when it sets
values that the agent's answer confirms («6 MB a second by default» … «is limited to 6 MB/s»). Questions, doubts, tasks of the moment
and reports of faults are left out, and so is what cannot be understood without what was said before it. Pure.
"""

from __future__ import annotations

from tenon.base.text import cut, words
from tenon.digest import marks, prose

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    Blocks = Sequence[Sequence[str]]

LONGEST = 300  # characters of what is taken of one paragraph
ANSWER = 180  # characters of an answer that is put beside it
MOST = 8  # of one prompt; where there are more, a document was pasted
ARROW = " → "  # between what was said and what was answered
ANSWERED = ("correction", "contrast", "decision", "convention")  # of which an answer may name what they are about
MARKED, SET = 1.0, 0.6  # how strong what was marked is, and what was only set and confirmed
SAID = {
    "correction": ("decision", "the user corrected it"),
    "contrast": ("decision", "the user said what holds and what does not"),
    "decision": ("decision", "the user said that it was decided"),
    "convention": ("convention", "the user made it a rule"),
    "preference": ("preference", "the user said how they like it"),
    "gotcha": ("gotcha", "the user warned of it"),
    "fact": ("fact", "the user asked to keep it in mind"),
    "set": ("decision", "the user set it, and the answer confirms it"),
    "told": ("fact", "the user told it, and the answer confirms it"),
}


class Said:
    """What was taken: its kind of memory, the text, why, how strong it is, and which of the answers has words in the text (-1: none).

    `own` is what the user said of it. `wrong` and `right` are what a correction names, `sure` whether the user themself did so, and
    `about` are the words that say what it is about.
    """

    __slots__ = ("kind", "text", "own", "why", "strength", "answer", "wrong", "right", "sure", "about")

    def __init__(self, mark: str, own: str, answer: str, which: int) -> None:
        self.kind, self.why = SAID[mark]
        self.own = own
        self.text = own + (ARROW + answer if answer else "")
        self.strength = SET if mark in ("set", "told") else MARKED
        self.answer = which if answer else -1
        self.wrong, self.right = wrong_and_right(own)
        self.sure = bool(self.wrong and self.right)
        if not self.wrong:
            self.wrong, self.right = wrong_and_right(answer)
        self.about = prose.content(self.text) - prose.content(f"{self.wrong} {self.right}")


def of_user(prompt: Blocks, answers: Sequence[Blocks]) -> list[Said]:
    """What a prompt says that holds, in its order; `answers` are what the agent wrote before the next prompt. All as `prose.sentences` gives it."""
    told = [(sentence, which) for which, answer in enumerate(answers) for block in answer for sentence in block]
    found: list[Said] = []
    for block in prompt:
        kinds = [mark_of(sentence) for sentence in block]
        groups = list(_marked(block, kinds)) or list(_unmarked(block, kinds))
        for mark, sentences in groups:
            said = _taken(mark, sentences, told)
            if said is not None:
                found.append(said)
    return found if len(found) <= MOST else []


def of_agent(prompt: Blocks, answer: Blocks) -> list[str]:
    """What an answer says was found out, a sentence or two each: causes, and what a code that was asked about means."""
    found: list[str] = []
    for block in answer:
        for at, sentence in enumerate(block):
            code = marks.CODE.match(sentence)
            means = code is not None and any(code.group("code") in asked for asking in prompt for asked in asking)
            if (not means and not marks.FINDING.search(prose.unquoted(sentence))) or marks.UNSURE.search(sentence):
                continue
            text = sentence
            if not stands(text) and at and not marks.UNSURE.search(block[at - 1]):
                text = f"{block[at - 1]} {text}"
            if stands(text) and len(prose.content(text)) > 3 and len(text) <= LONGEST:
                found.append(text)
    return found[:MOST]


def errand(prompt: Blocks) -> str:
    """The one sentence of a prompt that asks for a piece of work, or «»."""
    block = [sentence for block in prompt for sentence in block]
    task = _core(block[0])[1] if len(block) == 1 else ""
    return block[0] if task and (marks.ERRAND.search(task) or marks.CHORE.search(task)) else ""


def mark_of(sentence: str) -> str | None:
    """What marks a sentence of the user's: a key of SAID, «» for a plain statement, None for what is to be left out."""
    core, task = _core(sentence)
    if marks.QUESTION.search(core) or marks.DOUBT.search(core) or marks.MOMENT.search(core) or marks.ASKING.search(task):
        return None
    errand = marks.ERRAND.search(task)
    if marks.CORRECTION.search(core) or (marks.MOVED.search(core) and not errand):
        return "correction"
    if marks.PREFERENCE.search(core) and not marks.NOT_A_PREFERENCE.search(core):
        return "preference"
    if marks.GOTCHA.search(core):
        return "gotcha"
    rule = marks.ALWAYS.search(core) or marks.NEVER.search(core) or marks.FROM_NOW.search(core) or marks.RULE.search(core)
    if rule and not marks.NOT_A_RULE.search(core):
        return "convention"
    if marks.REMEMBER.search(core) and not marks.NOT_REMEMBER.search(core):
        return "fact"
    if marks.DECISION.search(core) and not marks.NOT_A_DECISION.search(core):
        return "decision"
    if wrong_and_right(sentence)[1] and not errand and not any(pattern.search(core) for pattern in (marks.FAULT, marks.TOLD, marks.NARRATED)):
        return "" if marks.CHORE.search(task) and not marks.FIRM.search(core) else "contrast"
    return None if errand else ""


def wrong_and_right(sentence: str) -> tuple[str, str]:
    """What a sentence says does not hold, and what does instead; «» for what it does not name."""
    for pattern in (*marks.WRONG_AND_RIGHT, *marks.GONE) if marks.OPPOSES.search(sentence) else ():
        match = pattern.search(sentence)
        if match:
            named = match.groupdict()
            wrong, right = _bare(named.get("wrong")), _bare(named.get("right"))
            if wrong.lower() != right.lower() and wrong.lower() not in marks.NOTHING and right.lower() not in marks.NOTHING:
                return wrong, right
    return "", ""


def reread(text: str) -> Said:
    """What a text that was made of a sentence of the user's says."""
    own, _, answer = text.partition(ARROW)
    return Said("decision", own, answer, 0)


def says(text: str, phrase: str) -> bool:
    """Whether the words of the phrase stand in the text, one after the other, whatever the endings."""
    wanted, found = [prose.stem(word) for word in words(phrase)], [prose.stem(word) for word in words(text)]
    return bool(wanted) and any(found[at : at + len(wanted)] == wanted for at in range(len(found) - len(wanted) + 1))


def same(one: str, other: str) -> bool:
    """Whether two texts say the same in other words: nearly all words, the same names and numbers, and both or neither a «not»."""
    one, other = one.partition(ARROW)[0], other.partition(ARROW)[0]
    mine, theirs = prose.content(one), prose.content(other)
    if bool(marks.NEGATED.search(one)) != bool(marks.NEGATED.search(other)) or _numbers(one) != _numbers(other):
        return False
    return len(mine & theirs) * 4 >= len(mine | theirs) * 3


def _numbers(text: str) -> set[str]:
    return {name for name in prose.names(text) if any(char.isdigit() for char in name)}


def _bare(named: str | None) -> str:
    return marks.AROUND.compiled.sub("", (named or "").strip(" \"'`«»“”*_-–—"))


def _marked(block: Sequence[str], kinds: Sequence[str | None]) -> list[tuple[str, list[str]]]:
    """Each marked sentence, with what follows it and, where it is not clear by itself, what stands before it."""
    groups: list[tuple[str, list[str]]] = []
    taken = -1
    for at, kind in enumerate(kinds):
        if not kind:
            continue
        if groups and taken == at - 1 and groups[-1][0] == kind and _fits(groups[-1][1], block[at]):
            sentences = groups[-1][1]
        else:
            groups.append((kind, sentences := []))
            if at - 1 > taken and kinds[at - 1] == "" and not _clear(block[at]):
                sentences.append(block[at - 1])
        sentences.append(block[at])
        taken = at
        while taken + 1 < len(block) and kinds[taken + 1] == "" and _fits(sentences, block[taken + 1]):
            taken += 1
            sentences.append(block[taken])
    return groups


def _fits(sentences: Sequence[str], more: str) -> bool:
    return sum(map(len, sentences)) + len(more) <= LONGEST


def _unmarked(block: Sequence[str], kinds: Sequence[str | None]) -> list[tuple[str, list[str]]]:
    """The statements of a paragraph, as many as fit, from the one before the first that sets something; else from the first that tells something."""
    sentences = [sentence for sentence, kind in zip(block, kinds) if kind == ""]
    for mark, does in (("set", _sets), ("told", _tells)):
        first = next((at for at, sentence in enumerate(sentences) if does(sentence)), -1)
        if first < 0:
            continue
        kept = sentences[max(0, first - 1) : first + 1]
        if not _fits(kept[:-1], kept[-1]):
            kept = kept[-1:]
        for sentence in sentences[first + 1 :]:
            if not _fits(kept, sentence):
                break
            kept.append(sentence)
        return [(mark, kept)]
    return []


def _sets(sentence: str) -> bool:
    """Whether a sentence sets a value or a way to do something, rather than reporting or asking for a piece of work."""
    core, task = _core(sentence)
    firm, measured, named = bool(marks.FIRM.search(core)), bool(marks.QUANTITY.search(core)), bool(prose.names(sentence))
    if not (firm or measured or named) or marks.NOT_A_RULE.search(core) or marks.NARRATED.search(core):
        return False
    if not firm and (marks.FAULT.search(core) or marks.TOLD.search(core)):
        return False
    if marks.CHORE.search(task) and not (firm and named) and not (measured and marks.SETTING.search(task)):
        return False
    return measured or bool(marks.NORM.search(core) or marks.CHOICE.search(core))


def _tells(sentence: str) -> bool:
    """Whether a sentence tells how something is, and is no report of a fault nor of what was done."""
    core, task = _core(sentence)
    if marks.CHORE.search(task) or any(pattern.search(core) for pattern in (marks.FAULT, marks.TOLD, marks.NARRATED, marks.NOT_A_RULE)):
        return False
    return bool(marks.DECLARES.search(core)) and bool(prose.names(sentence))


def _core(sentence: str) -> tuple[str, str]:
    """A sentence without quotations and without what only leads up to it, and what is asked for in it."""
    core = marks.LEAD.sub("", prose.unquoted(sentence))
    return core, marks.PLEASE.sub("", core)


def _taken(mark: str, sentences: Sequence[str], told: Sequence[tuple[str, int]]) -> Said | None:
    text = marks.GREETING.sub("", " ".join(sentences)).strip()
    first = text.split(" ")[0]
    if first.isalpha() and first.islower():
        text = text[:1].upper() + text[1:]
    needed = 2 if mark == "told" else 0 if mark == "set" and any(marks.FIRM.search(_core(sentence)[0]) for sentence in sentences) else 1
    answer, which = _confirming(text, told, needed)
    if mark in ("set", "told"):
        return Said(mark, text, answer, which) if answer else None
    if not stands(text):
        if not answer:
            answer, which = _confirming(text, told, 0)
        return Said(mark, text, answer, which) if answer else None
    return Said(mark, text, answer if mark in ANSWERED and prose.names(answer) - prose.names(text) else "", which)


def _confirming(text: str, told: Sequence[tuple[str, int]], needed: int) -> tuple[str, int]:
    """The sentence of an answer that repeats most of what was said, or «», and which answer; so many names or numbers it must repeat."""
    names, content = _values(text), prose.content(text)
    best, most, of = "", 0, -1
    for sentence, which in told:
        if len(sentence) > LONGEST or marks.UNSURE.search(sentence):
            continue
        shared = len(names & _values(sentence))
        alike = len(content & prose.content(sentence))
        if shared >= needed and (shared or alike > 1) and shared + alike > max(1, needed) and 2 * shared + alike > most:
            best, most, of = sentence, 2 * shared + alike, which
    return cut(best, ANSWER), of


def _values(text: str) -> set[str]:
    """The names and numbers of a text, those of a path or an address in parts too, and what is said of a measure («once a second»)."""
    found = {name.replace(",", "").replace("_", "") for name in prose.names(text)}
    found |= {part for name in found for part in marks.PARTS.split(name) if len(part) > 2}
    return found | {" ".join(match.group().lower().split()) for match in marks.QUANTITY.compiled.finditer(text)}


def _clear(sentence: str) -> bool:
    """Whether nothing in the sentence points to what was said before it."""
    match = marks.DANGLING.search(prose.unquoted(sentence))
    return match is None or len(prose.content(sentence[: match.start()])) > 1


def stands(text: str) -> bool:
    """Whether the text can be understood by itself: it says enough, and points to nothing, or names what it is about."""
    if not _clear(text) and not any(not name.replace(".", "").replace(",", "").isdecimal() for name in prose.names(text)):
        return False
    return len(prose.content(text)) > 1 or bool(prose.names(text))
