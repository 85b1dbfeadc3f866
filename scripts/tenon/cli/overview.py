"""What `tenon` says of itself: examples, then the verbs by what they are for."""

from __future__ import annotations

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
    yield from ("  " + line for line in EXAMPLES.strip().splitlines())
    yield ""
    for title, names in groups().items():
        yield f"{title}:"
        told = [name for name in names if name in EVERYDAY]
        for name in told:
            yield table.cut(f"  {name:{INDENT - 2}}{VERBS[name]}", columns)
        others = [name for name in names if name not in EVERYDAY]
        if others:
            yield from table.folded(f"  {'also' if told else '':{INDENT - 2}}{'  '.join(others)}", columns, INDENT)
    yield ""
    for sentence in EVERYWHERE:
        yield from table.folded(sentence, columns, 2)
