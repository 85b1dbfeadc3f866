"""What `tenon` says of itself: examples, then the verbs by what they are for."""

from __future__ import annotations

import re

from tenon.cli import table
from tenon.cli.main import VERBS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

# title: its verbs, those first that most people need
GROUPS = {
    "Memories": ("recall", "write", "forget", "why", "reinforce", "episode"),
    "How it stands": ("status", "dashboard", "usage", "agents", "paths", "alias"),
    "Past sessions in front": ("code", "proxy", "start", "stop"),
    "What is learnt": ("digest", "identity", "embed"),
    "What is kept": ("import", "export", "backup", "doctor", "repair", "logs"),
    "Setting up": ("install", "config", "uninstall", "serve", "print-config", "completion", "statusline"),
}
REST = "More"
# Of these the overview says what they do; the others it names.
EVERYDAY = {
    "recall", "write", "forget", "why", "status", "dashboard", "usage", "code", "proxy", "digest", "identity", "import", "export", "doctor", "install", "config",
}  # fmt: skip
EXAMPLES = """
tenon recall how do we deploy    what is remembered here about deploying
tenon status                     is it on, what did it do, what is wrong
tenon help recall                a verb's own examples, and all that it takes
"""
EVERYWHERE = (
    "Everywhere: --agent NAME (whose memory), --color auto|always|never, -h. --version shows the version. What reads has --json: one object a line.",
    "Ends with 0 done, 1 refused, 2 wrong usage, 3 a fault of ours, 130 interrupted.",
    "Memory lives in one folder: `tenon paths`.",
)
INDENT = 14
BELOW = "      "  # in front of a comment that has a line of its own, and of the rest of a command
ROOM = 40  # columns in which a long comment is folded beside its command
COMMENTED = re.compile(r"(.*?\S) {2,}(\S.*)")
WORDS = re.compile(r"""(?:--[\w-]+ (?!-))?(?:"[^"]*"|'[^']*'|[^\s"'])+""")  # as a shell takes them apart; a flag goes with its value


def examples(text: str, columns: int) -> list[str]:
    """The examples of a verb in lines of at most so many columns: each comment beside its command where there is room, or all of them below, deeper."""
    given = [(match[1], match[2]) if (match := COMMENTED.fullmatch(line)) else (line, "") for line in text.strip().splitlines()]
    beside = max([len(command) for command, comment in given if comment], default=0)
    at, longest = beside + 4, max(table.width(comment) for _, comment in given)
    if all(len(command) + 2 <= columns for command, _ in given) and columns - at >= min(longest, ROOM):
        lines = [f"  {command.ljust(beside if comment else 0)}  {comment}".rstrip() for command, comment in given]
        return [part for line in lines for part in table.folded(line, columns, at)]
    told: list[str] = []
    for command, comment in given:
        told += _broken(command, columns)
        told += table.folded(BELOW + comment, columns) if comment else []
    return told


def _broken(command: str, columns: int) -> list[str]:
    """The command in lines that a shell takes for one."""
    lines = [" "]
    for word in WORDS.findall(command):
        if lines[-1].strip() and len(lines[-1]) + 1 + len(word) + 2 > columns:
            lines[-1] += " \\"
            lines.append(BELOW[:-1])
        lines[-1] += " " + word
    return lines


def groups() -> dict[str, tuple[str, ...]]:
    """Every verb once, by group."""
    placed = {name for names in GROUPS.values() for name in names}
    rest = tuple(name for name in VERBS if name not in placed)
    return {**GROUPS, REST: rest} if rest else GROUPS


def text(columns: int) -> str:
    """The overview in lines of at most so many columns."""
    return "\n".join(_lines(columns)) + "\n"


def _lines(columns: int) -> Iterator[str]:
    yield "usage: tenon VERB …"
    yield ""
    yield from examples(EXAMPLES, columns)
    yield ""
    for title, names in groups().items():
        yield f"{title}:"
        told = [name for name in names if name in EVERYDAY]
        for name in told:
            yield from table.folded(f"  {name:{INDENT - 2}}{VERBS[name]}", columns, INDENT)
        others = [name for name in names if name not in EVERYDAY]
        if others:
            yield from table.folded(f"  {'also' if told else '':{INDENT - 2}}{'  '.join(others)}", columns, INDENT)
    yield ""
    for sentence in EVERYWHERE:
        yield from table.folded(sentence, columns, 2)
