"""What of a turn is searchable, and in which pieces.

Words that people and models wrote are indexed whole; a tool's output is indexed by its beginning and end, because
a log or a file would drown the rest; thinking is kept in the archive and not indexed. Pieces of a few paragraphs
rank better than whole turns and are what a hit shows. Pure functions of the stored content: `forget` and a rebuilt
index depend on the same content giving the same pieces.
"""

from __future__ import annotations

from tenon.base.lean import parse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

LONGEST = 1600  # characters of one passage
OUTPUT = 1000  # characters of a tool's output that are indexed, at each end
ARGUMENT = 300  # characters of one argument of a tool call
READABLE = ("command", "file_path", "notebook_path", "path", "pattern", "query", "url", "description", "prompt", "skill")


def searchable(content: Sequence[object]) -> str:
    """The text of a turn's content blocks that is worth finding, blocks apart by a blank line."""
    return "\n\n".join(filter(None, (_of_block(block) for block in content if isinstance(block, dict))))


def of_stored(content: object) -> str:
    """The searchable text of a turn's content as it is stored; «» for what somebody, or a failing disk, has made no JSON of."""
    blocks = parse(content) if isinstance(content, str) else None
    return searchable(blocks) if isinstance(blocks, list) else ""


def pieces(text: str) -> list[tuple[int, int]]:
    """The spans [first, last) of a text's passages, in order, covering all of it that is not white space."""
    spans: list[tuple[int, int]] = []
    first = 0
    while first < len(text):
        last = min(len(text), first + LONGEST)
        if last < len(text):
            for mark in ("\n\n", "\n", ". ", " "):
                at = text.rfind(mark, first + LONGEST // 2, last)
                if at > 0:
                    last = at + len(mark)
                    break
        if text[first:last].strip():
            spans.append((first, last))
        first = last
    return spans


def _of_block(block: dict[str, object]) -> str:
    kind = block.get("type")
    if kind == "text":
        return str(block.get("text") or "")
    if kind == "tool_use":
        return _call(str(block.get("name") or ""), block.get("input"))
    if kind == "tool_result":
        return _ends(output(block.get("content")))
    return ""


def _call(name: str, given: object) -> str:
    if not isinstance(given, dict):
        return name
    shown = [str(given[key])[:ARGUMENT] for key in READABLE if isinstance(given.get(key), str)]
    return " ".join([name, *shown])


def output(content: object) -> str:
    """The text of a tool's result, whichever form it came in."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(str(part.get("text") or "") for part in content if isinstance(part, dict) and part.get("type") == "text")
    return ""


def _ends(text: str) -> str:
    return text if len(text) <= 2 * OUTPUT else text[:OUTPUT] + "\n...\n" + text[-OUTPUT:]
