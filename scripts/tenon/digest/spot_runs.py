"""What was run and edited: commands that proved to work, tests that failed and then passed, files that were edited. Pure.

Sub-agents' work counts like the main conversation's. A command is taken when the answer after it names it, when somebody asked how
something is done and this did it, or when it was found the hard way, after another form of it had failed.
"""

from __future__ import annotations

import re

from tenon.base.text import cut
from tenon.digest import verdicts
from tenon.digest.summary import EDITS
from tenon.store import passages

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from tenon.store.exchanges import Turn

    Blocks = Sequence[Sequence[str]]

SHELLS = ("Bash", "PowerShell")
LONGEST = 160  # characters of a command that is worth keeping
PURPOSE = 120
FILES = 5  # edited files that an episode names

TRIVIAL = frozenset(
    "ls ll dir cat bat less more head tail cd pwd echo printf grep rg ag egrep fgrep find fd which where whereis type wc sort uniq cut tr awk sed jq yq diff cmp tree du df ps top kill pkill "
    "killall sleep date env export set unset alias source mkdir rmdir rm cp mv ln touch chmod chown stat file open xdg-open code vim nano man clear history true false test read git gh hub "
    "curl wget ping nslookup dig ssh-add python python3 node ruby perl php bash sh zsh irb pip pip3 brew apt apt-get".split()
)
LOOKS = frozenset(
    "ps logs log status list ls show describe get info config version --version -v -V help --help -h top inspect whoami outdated audit why view".split()
)
WRAPPERS = frozenset("sudo env time nice nohup command exec poetry pipenv uv rye hatch pdm bundle npx pnpx bunx direnv".split())
RUNS_FILE = frozenset("python python3 node ruby perl php bash sh zsh".split())  # with a script of the project's they are not trivial

_CD = re.compile(r"^\s*cd\s+[^&;|]+(?:&&|;)\s*")
_TAIL = re.compile(r"\s*(?:2>&1|>\s*/dev/null|2>\s*/dev/null|\|\s*(?:tail|head|cat|tee|grep|less)\b[^|;&]*)\s*$")
_ASSIGNED = re.compile(r"^\w+=\S*$")
_QUOTED = re.compile(r"`([^`\n]{2,200})`")
_HOW = re.compile(
    r"\bhow (?:do|did|can|could|should|would) (?:i|we|you|one|people)\b|\bhow to\b|\bwhat(?:'s| is| was) the (?:\w+ )?command\b|\bwhich command\b|\bis there a (?:command|script|target)\b",
    re.I,
)
_AGAINST = re.compile(
    r"\b(?:fail|fails|failed|failing|broken|breaks|stale|rejects?|refuses|doesn't|does not|do not|don't|didn't|cannot|can't|won't|instead of|no longer|error|errors|collides|hangs|unknown)\b",
    re.I,
)
_FOR = re.compile(
    r"\b(?:works?|worked|passes|passed|went through|succeed\w*|ok|runs|ran|prints?|gives|shows|builds|starts?|started|deploys?|finished|done|clean|loads?|creates?|checks?|is the)\b",
    re.I,
)
_AWAY = re.compile(
    r"\b(?:curl|wget|httpie?|lynx|w3m|aria2c|gh\s+(?:api|issue|pr|search|gist|release)|glab|Invoke-WebRequest|Invoke-RestMethod|iwr|irm)\b", re.I
)
_HERE = re.compile(r"\b(?:localhost|127\.0\.0\.1|0\.0\.0\.0|\[::1\]|host\.docker\.internal)\b")


class Run:
    """One call of a shell that ended: the turns of the call and of its result, when, what was run, whether it failed, its output."""

    __slots__ = ("turns", "thread", "at", "command", "description", "failed", "output", "place")

    def __init__(self, call: Turn, result: Turn, given: dict[str, Any], failed: bool, output: str, place: int) -> None:
        self.turns = [call.id, result.id]
        self.thread = call.thread
        self.at = result.at
        self.command = bare(str(given.get("command") or ""))
        self.description = " ".join(str(given.get("description") or "").split())
        self.failed = failed
        self.output = output
        self.place = place


class Edit:
    """A file that was edited: its path as the tool was given it, by which turn, when."""

    __slots__ = ("path", "turn", "at", "place")

    def __init__(self, path: str, turn: int, at: float, place: int) -> None:
        self.path = path
        self.turn = turn
        self.at = at
        self.place = place


class Work:
    """What turns show of work, in order: what was run, what was edited, and in which places something from outside was read."""

    __slots__ = ("runs", "edits", "outside")

    def __init__(self, turns: Iterable[Turn]) -> None:
        self.runs: list[Run] = []
        self.edits: list[Edit] = []
        self.outside: list[int] = []
        open_calls: dict[str, tuple[Turn, dict[str, Any]]] = {}
        for place, turn in enumerate(turns):
            if turn.source == "outside":
                self.outside.append(place)
            for block in turn.content if turn.kind != "prompt" else ():
                if not isinstance(block, dict):
                    continue
                if turn.role == "assistant" and isinstance(block.get("input"), dict):
                    open_calls[str(block.get("id"))] = (turn, block)
                elif block.get("tool_use_id") in open_calls:
                    self._ended(open_calls.pop(str(block["tool_use_id"])), turn, block, place)

    def _ended(self, called: tuple[Turn, dict[str, Any]], result: Turn, block: dict[str, Any], place: int) -> None:
        call, made = called
        name, given = str(made.get("name")), made["input"]
        failed = bool(block.get("is_error"))
        path = given.get(EDITS.get(name, ""))
        if isinstance(path, str) and path and not failed:
            self.edits.append(Edit(path, call.id, result.at, place))
        elif name in SHELLS and isinstance(given.get("command"), str) and not given.get("run_in_background"):
            run = Run(call, result, given, failed, passages.output(block.get("content")), place)
            if reads_away(run.command):
                self.outside.append(place)
            self.runs.append(run)


def reads_away(command: str) -> bool:
    """Whether a command of a shell reads from another machine."""
    return any(_AWAY.search(part) and not _HERE.search(part) for part in re.split(r"[;|\n]|&&", command))


def edits_of(turn: Turn) -> list[str]:
    """The paths of the files that the calls in a turn are to edit."""
    made = [block for block in turn.content if isinstance(block, dict) and isinstance(block.get("input"), dict)]
    found = [block["input"].get(EDITS.get(str(block.get("name")), "")) for block in made]
    return [path for path in found if isinstance(path, str) and path]


def bare(command: str) -> str:
    """The command without the folder it was run in and without what only shortens its output."""
    text = command.strip()
    if len(text) > 10 * LONGEST:
        return text  # a script; nothing in it is found again
    if "\n" not in text:
        text = " ".join(text.split())
    while _CD.match(text):
        text = _CD.sub("", text, count=1)
    while _TAIL.search(text):
        text = _TAIL.sub("", text)
    return text.strip()


def worth(command: str) -> bool:
    """Whether a command is of the project's and more than a look around."""
    if not command or "\n" in command or "<<" in command or len(command) > LONGEST:
        return False
    parts = [part.split() for part in re.split(r"\s*(?:&&|\|\||;|\|)\s*", command)]
    return len(parts) <= 4 and any(_is_own(part) and LOOKS.isdisjoint(part[1:3]) for part in parts)


def _is_own(tokens: Sequence[str]) -> bool:
    rest = list(tokens)
    while rest and (_ASSIGNED.match(rest[0]) or rest[0] in WRAPPERS or (rest[0].startswith("-") and len(rest) > 1)):
        rest.pop(0)
    if rest[:1] == ["run"]:
        rest.pop(0)
    if not rest or "=" in rest[0]:
        return False
    program = rest[0].rsplit("/", 1)[-1]
    if "/" in rest[0] and not rest[0].startswith(("/usr/", "/bin/", "/opt/")):
        return True
    if program in RUNS_FILE:
        named = next((token for token in rest[1:] if not token.startswith("-")), "")
        return "-m" in rest[1:] or ("-c" not in rest[1:] and "-e" not in rest[1:] and "." in named)
    return program not in TRIVIAL and len(rest) > 1


def named_by(command: str, answer: Blocks) -> str:
    """The sentence of an answer that names the command as one that works, or «»."""
    for block in answer:
        for at, sentence in enumerate(block):
            spans = _QUOTED.findall(sentence)
            if command not in sentence and not any(_is_same(span, command) for span in spans):
                continue
            unnamed = _QUOTED.sub("", sentence)
            if not _AGAINST.search(unnamed) or _FOR.search(unnamed.split(" than ")[0]):
                return sentence if len(unnamed.split()) > 2 or at == 0 else f"{block[at - 1]} {sentence}"
    return ""


def asks_how(prompt: Blocks) -> str:
    """The question of a prompt that asks how something is done, or «»."""
    return next((sentence for block in prompt for sentence in block if _HOW.search(sentence)), "")


def found_the_hard_way(run: Run, before: Sequence[Run], edits: Sequence[Edit]) -> Run | None:
    """The failed run before this one that was another form of it, or None; where a file was edited in between it was that which helped."""
    for other in reversed(before):
        if not other.failed or other.command == run.command:
            continue
        if any(other.place < edit.place < run.place for edit in edits):
            return None
        mine, theirs = run.command.split(), other.command.split()
        alike = mine[:1] == theirs[:1] and ("/" in mine[0] or mine[1:2] == theirs[1:2] or len(set(mine) & set(theirs)) > 2)
        if other.command in run.command or (alike and not verdicts.is_test(run.command)):
            return other
    return None


def purpose(run: Run, asked: str) -> str:
    """What the command is for, in a few words: as the call describes it, else as somebody asked for it."""
    return cut(run.description or asked, PURPOSE)


def fixed(run: Run, failing: Run) -> bool:
    """Whether a run that passed covers the tests of one that failed."""
    if run.command == failing.command:
        return True
    mine, theirs = run.command.split(), failing.command.split()
    if mine[0] != theirs[0] or not verdicts.is_test(run.command):
        return False
    names = verdicts.failure(failing.output).names
    return bool(names) and (any(_leaf(name) in run.command for name in names) or set(mine) < set(theirs))


def situation(failing: Run) -> str:
    """What failed and how, or «» when the output does not say."""
    told = verdicts.failure(failing.output)
    if not told.names and not told.detail:
        return ""
    who = ", ".join(told.names) or f"`{failing.command}`"
    return f"{who} failed" + (f": {told.detail}" if told.detail else "")


def evidence(run: Run) -> str:
    """The command and its last verdict."""
    return f"`{cut(run.command, LONGEST)}`: {verdicts.last_words(run.output) or 'passed'}"


def _leaf(name: str) -> str:
    return re.split(r"::|/|\.|\s>\s", name)[-1] or name


def _is_same(span: str, command: str) -> bool:
    """Whether what stands between backticks is the command, a part of it, or the command with other values in places."""
    said, ran = span.split(), command.split()
    if len(said) < 2 and (len(said) != 1 or said != ran):
        return False
    if span in command:
        return True
    same = sum(one == other for one, other in zip(said, ran))
    return len(said) == len(ran) and said[:2] == ran[:2] and same * 3 >= len(said) * 2
