"""Claude Code's auto memory: MEMORY.md and the topic files beside it, taken apart into entries for memories.

A file with front matter is one entry. In any other each list item, and each paragraph, is one, under its heading, unless that is the
file's title or says no more than what the file is; an item that only points to a file beside it is passed over, for that file speaks for itself.
"""

from __future__ import annotations

import os
import re
from itertools import islice

from tenon.base.errors import TenonError
from tenon.base.text import cut
from tenon.digest import projects
from tenon.digest.bringing import Entry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

INDEX = "MEMORY.md"
LARGEST = 4 << 20  # bytes of a file
LONGEST = 4000  # characters of one memory
HEADING_CHARS = 200  # of a heading, which stands before each of its items
MOST = 5000  # entries of a file
KINDS = {"user": "preference", "feedback": "preference", "project": "fact", "reference": "fact"}
FIELD = re.compile(r"\s*(name|description|type)\s*:\s*(.*)")
HEADING = re.compile(r"(#{1,6})\s+(.*)")
SAYS_NOTHING = re.compile(
    r"((claude'?s?|auto|project|agent|my|your|our|the|general|other|misc|more) )*(memor(y|ies)|notes?|index|misc|general|other)(\.md)?", re.IGNORECASE
)
ITEM = re.compile(r"(?:[-*+]|\d{1,3}[.)])\s+(.*)")
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+\.md)\)")
FENCE = ("```", "~~~")


def folders(claude_home: str) -> list[str]:
    """The folders of auto memory of all projects."""
    top = os.path.join(claude_home, "projects")
    names = sorted(os.listdir(top)) if os.path.isdir(top) else []
    return [folder for name in names if os.path.isdir(folder := os.path.join(top, name, "memory"))]


def files(path: str) -> list[str]:
    """The files that are meant: of a folder, or of MEMORY.md, all beside it too; any other one alone. Raises TenonError when there is none."""
    folder = path if os.path.isdir(path) else os.path.dirname(path) if os.path.basename(path) == INDEX else ""
    if not folder:
        if not os.path.isfile(path):
            raise TenonError(f"there is no file {path}")
        return [path]
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith(".md") and os.path.isfile(os.path.join(folder, name)))
    except OSError as error:
        raise TenonError(f"{folder} cannot be read ({error.strerror})") from error
    if not names:
        raise TenonError(f"there is no file of Markdown in {folder}")
    return [os.path.join(folder, name) for name in names]


def folder_of(path: str) -> str:
    """The folder of the project whose auto memory lies there, as its newest transcript says it; «» when none does."""
    project = os.path.dirname(path if os.path.isdir(path) else os.path.dirname(path))
    try:
        transcripts = [os.path.join(project, name) for name in os.listdir(project) if name.endswith(".jsonl")]
        newest = sorted(transcripts, key=os.path.getmtime, reverse=True)
    except OSError:
        return ""
    return next((folder for transcript in newest if (folder := projects.folder_of(transcript))), "")


def entries(path: str) -> list[Entry]:
    """What a file says, entry by entry, the first MOST of them. Raises TenonError when it cannot be read."""
    try:
        at = os.stat(path).st_mtime
        with open(path, encoding="utf-8", errors="replace") as file:
            text = file.read(LARGEST).lstrip("\ufeff")
    except OSError as error:
        raise TenonError(f"{path} cannot be read ({error.strerror})") from error
    told, body = _front(text)
    label = f"auto memory: {os.path.basename(path)}"
    kind = KINDS.get(told.get("type", "").strip("\"' ").lower(), "fact")
    if told:
        name = told.get("name", "").strip("\"' ")
        whole = "\n".join(filter(None, (told.get("description", "").strip("\"' "), body.strip())))
        texts = [f"{name}: {piece}" if name else piece for piece in _pieces(whole)]
    else:
        texts = list(islice((piece for item in _items(body, os.path.dirname(path)) for piece in _pieces(item)), MOST))
    return [Entry(text, kind, at, [label]) for text in texts]


def _front(text: str) -> tuple[dict[str, str], str]:
    """The fields of the front matter, and what follows it."""
    lines = text.splitlines()
    if not lines or lines[0].strip() != "---":
        return {}, text
    end = next((at for at, line in enumerate(lines[1:], 1) if line.strip() == "---"), 0)
    if not end:
        return {}, text
    found = {match[1]: match[2].strip() for line in lines[1:end] if (match := FIELD.fullmatch(line))}
    return found, "\n".join(lines[end + 1 :])


def _items(text: str, folder: str) -> Iterator[str]:
    """The list items and paragraphs, each with the heading that it stands under."""
    heading = fence = ""
    held: list[str] = []
    title_of_all = _title(text)

    def taken() -> Iterator[str]:
        said = "\n".join(held).strip()
        held.clear()
        link = LINK.search(said)
        if said and not (link is not None and os.path.isfile(os.path.join(folder, os.path.basename(link[1])))):
            yield f"{heading}: {said}" if heading else said

    for line in text.splitlines():
        bare = line.strip()
        if fence or bare.startswith(FENCE):
            held.append(line)
            fence = bare[:3] if not fence else "" if bare.startswith(fence) else fence
            continue
        title, item = HEADING.fullmatch(line), ITEM.fullmatch(line)
        if title is not None or item is not None or not bare:
            # What is indented after an empty line still belongs to its item.
            yield from taken()
        if title is not None:
            said = title[2].strip().rstrip("#").strip()
            heading = "" if (title[1], said) == title_of_all or SAYS_NOTHING.fullmatch(said) else cut(said, HEADING_CHARS)
        elif item is not None:
            held.append(item[1])
        elif bare:
            held.append(line.rstrip())
    yield from taken()


def _title(text: str) -> tuple[str, str]:
    """The heading above all others as its marks and words, «» where the first one is not, or not the only one of its rank."""
    fence = ""
    found: list[tuple[str, str]] = []
    for line in text.splitlines():
        bare = line.strip()
        if fence or bare.startswith(FENCE):
            fence = bare[:3] if not fence else "" if bare.startswith(fence) else fence
        elif (heading := HEADING.fullmatch(line)) is not None:
            found.append((heading[1], heading[2].strip().rstrip("#").strip()))
    highest = [one for one in found if one[0] == "#"]
    return highest[0] if len(highest) == 1 and highest == found[:1] else ("", "")


def _pieces(text: str) -> Iterator[str]:
    """The text, in pieces between paragraphs where it is too long for one memory."""
    piece = ""
    for paragraph in text.split("\n\n"):
        for at in range(0, max(1, len(paragraph)), LONGEST):
            part = paragraph[at : at + LONGEST]
            if piece and len(piece) + len(part) > LONGEST:
                yield piece
                piece = ""
            piece = f"{piece}\n\n{part}" if piece else part
    if piece.strip():
        yield piece
