"""The README's blocks that the code knows best: `python3 tests/readme.py` writes them anew, with --check it only says which are stale.

A block stands between <!-- generated: NAME --> and <!-- end -->. What is in it depends on the code alone: not on the Python, the terminal or the machine.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "scripts")]

from mcp_server import schemas  # noqa: E402 - the path comes first
from tenon.base import settings  # noqa: E402
from tenon.cli import completion, main, overview  # noqa: E402

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

README = ROOT / "README.md"
BLOCK = re.compile(r"(<!-- generated: (\w+) -->\n)(.*?)(<!-- end -->\n)", re.DOTALL)


def verbs() -> str:
    """The verbs of the command line, in the groups of its help."""
    rows = ["| in a terminal | what it does |", "|---|---|"]
    for title, names in overview.groups().items():
        rows.append(f"| *{title}* | |")
        rows += [f"| `tenon {name}` | {_cell(main.VERBS[name] + _ways(name))} |" for name in names]
    return "\n".join(rows)


def options() -> str:
    """The settings with their defaults."""
    rows = ["| setting | default | what it means |", "|---|---|---|"]
    for name, (default, meaning) in settings.KNOWN.items():
        shown = ("on" if default else "off") if isinstance(default, bool) else default
        rows.append(f"| `{name}` | `{shown}` | {_cell(meaning)} |")
    return "\n".join(rows)


def tools() -> str:
    """The tools of the MCP server."""
    rows = ["| tool | title | when the model is to call it |", "|---|---|---|"]
    for name, (title, told, *_) in schemas.TOOLS.items():
        rows.append(f"| `{name}` | {_cell(title)} | {_cell(told.partition('. ')[0].rstrip('.'))} |")
    return "\n".join(rows)


BLOCKS: dict[str, Callable[[], str]] = {"verbs": verbs, "settings": options, "tools": tools}


def written(text: str) -> str:
    """The text with each of its blocks made anew. Raises KeyError for a block that nobody makes."""
    return BLOCK.sub(lambda found: f"{found[1]}{BLOCKS[found[2]]()}\n{found[4]}", text)


def stale(text: str) -> list[str]:
    """The names of the blocks that are missing or not as the code has them."""
    found = {name: body for _, name, body, _ in BLOCK.findall(text)}
    return [name for name, make in BLOCKS.items() if found.get(name) != make() + "\n"]


def run(arguments: list[str]) -> int:
    """0; with --check 1 when something is stale."""
    text = README.read_text(encoding="utf-8")
    if arguments == ["--check"]:
        old = stale(text)
        if old:
            sys.stderr.write(f"README.md: stale: {', '.join(old)}; `python3 tests/readme.py` writes them anew\n")
        return 1 if old else 0
    if arguments:
        sys.stderr.write("usage: python3 tests/readme.py [--check]\n")
        return 2
    with README.open("w", encoding="utf-8", newline="\n") as file:
        file.write(written(text))
    return 0


def _ways(verb: str) -> str:
    """The words that can follow the verb, unless its line names them."""
    first = next((place for known in completion.known() if known.name == verb for place in known.places[:1]), ())
    ways = [way for way in first if not way.startswith(("@", "-"))]
    return "" if not ways or all(way in main.VERBS[verb] for way in ways) or first == tuple(settings.KNOWN) else f": {', '.join(f'`{way}`' for way in ways)}"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
