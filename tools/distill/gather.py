"""The training texts: sentences of 3 to 60 words out of packages whose licences are permissive, one per line.

    python tools/distill/gather.py DOWNLOADS OUT      # DOWNLOADS holds the files that sources.txt names

Every file is checked against its sha256 first. A line of OUT/texts.tsv is `kind<TAB>text`; the kinds are chat, word,
doc, code, ours and asked. OUT/pairs.tsv holds questions with the turns that answer them, OUT/distractors.txt sentences
of documentation that are not trained with. The texts are put before the teacher once and are not kept: none of them is in the table.
"""

from __future__ import annotations

import ast
import gzip
import hashlib
import html
import io
import json
import os
import random
import re
import subprocess
import sys
import tarfile
import zipfile
from html.parser import HTMLParser
from typing import TYPE_CHECKING

import chatting
import concepts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

HERE = os.path.dirname(os.path.abspath(__file__))
CAPS = {"chat": 75_000, "word": 45_000, "doc": 100_000, "code": 16_000}  # texts of a kind
SHARE = {"doc": 5_000, "code": 700}  # texts of a kind from one file
BOTOCORE = 12_000  # it describes most of what there is to run
WORDS = (3, 60)
PAIRS = 9_000  # questions and the turns that answer them, put before the teacher too
DISTRACTORS = 500
CODE_LENGTH = 420  # characters of a function
END = re.compile(r"(?<=[.!?])\s+(?=[A-Z`\"(])")
MARKUP = re.compile(r":[a-z:]+:`~?([^`<]+?)(?: ?<[^>]*>)?`|\[([^\]]+)\]\([^)]*\)|``?([^`]+)``?|\*\*?([^*\s][^*]*)\*\*?|<[^>]{1,80}>")
COMMENT = re.compile(r"/\*\*(.*?)\*/", re.DOTALL)
DESCRIPTION = re.compile(r'"(?:description|documentation|help|message)":\s*"((?:[^"\\]|\\.){20,1500})"')
BLOCKS = {"p", "li", "dd", "dt", "td", "h1", "h2", "h3", "h4", "caption"}


class Page(HTMLParser):
    """The blocks of text of an HTML page."""

    def __init__(self) -> None:
        super().__init__()
        self.blocks: list[str] = []
        self.open: list[str] = []
        self.quiet = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Begins a block, or a part that is no prose."""
        if tag in {"pre", "script", "style", "nav"}:
            self.quiet += 1
        elif tag in BLOCKS:
            self.flush()

    def handle_endtag(self, tag: str) -> None:
        """Ends them again."""
        if tag in {"pre", "script", "style", "nav"}:
            self.quiet = max(0, self.quiet - 1)
        elif tag in BLOCKS:
            self.flush()

    def handle_data(self, data: str) -> None:
        """Keeps the words."""
        if not self.quiet:
            self.open.append(data)

    def flush(self) -> None:
        """Closes the open block."""
        if text := " ".join("".join(self.open).split()):
            self.blocks.append(text)
        self.open = []


def main() -> int:
    """Writes the texts; 2 when called wrongly."""
    if len(sys.argv) != 3:
        sys.stderr.write(__doc__ or "")
        return 2
    chance = random.Random(0)
    found: dict[str, list[str]] = {"chat": [], "word": [], "doc": [], "code": []}
    for name in check(sys.argv[1]):
        mine: dict[str, list[str]] = {}
        for kind, text in texts(os.path.join(sys.argv[1], name)):
            mine.setdefault(kind, []).append(text)
        for kind, all_of_it in mine.items():
            unique = list(dict.fromkeys(all_of_it))
            cap = BOTOCORE if name.startswith("botocore-") and kind == "doc" else SHARE.get(kind, len(unique))
            found[kind] += chance.sample(unique, min(cap, len(unique)))
        print(name, {kind: len(many) for kind, many in mine.items()}, flush=True)
    pairs = chatting.pairs(next(os.path.join(sys.argv[1], name) for name in check(sys.argv[1]) if name.startswith("chitchat_dataset-")))
    asked = [text for pair in random.Random(3).sample(pairs, PAIRS) for text in pair]
    made = [*concepts.training(), *chatting.made(chance)]
    seen: set[str] = set()
    kept: dict[str, list[str]] = {}
    for kind, many in found.items():
        unique = [text for text in dict.fromkeys(many) if text not in seen]
        kept[kind] = chance.sample(unique, min(CAPS[kind], len(unique)))
        seen.update(kept[kind])
    other = [text for text in dict.fromkeys(found["doc"]) if text not in seen and 5 <= len(text.split()) <= 25]
    write("distractors.txt", random.Random(4).sample(other, DISTRACTORS))
    write("pairs.tsv", ["\t".join(pair) for pair in pairs])
    write("texts.tsv", [f"{kind}\t{text}" for kind, many in [*kept.items(), ("ours", made), ("asked", asked)] for text in many])
    return 0


def write(name: str, lines: list[str]) -> None:
    """Writes the lines that are not there twice."""
    unique = list(dict.fromkeys(lines))
    print(f"{name}: {len(unique)}")
    with open(os.path.join(sys.argv[2], name), "w", encoding="utf-8") as file:
        file.writelines(line + "\n" for line in unique)


def check(folder: str) -> list[str]:
    """The names of the source files, each of them what it was when the table was made."""
    names = []
    with open(os.path.join(HERE, "sources.txt"), encoding="utf-8") as file:
        for line in file:
            if line.startswith("#") or not line.strip():
                continue
            digest, name = line.split()[:2]
            with open(os.path.join(folder, name), "rb") as source:
                if hashlib.sha256(source.read()).hexdigest() != digest:
                    raise SystemExit(f"{name} is another file than the one that sources.txt names")
            names.append(name)
    return names


def texts(path: str) -> Iterator[tuple[str, str]]:
    """(kind, text) for all that a package has to say."""
    name = os.path.basename(path)
    if name.startswith("chitchat_dataset-"):
        yield from (("chat", text) for text in chatting.turns(path))
        return
    if name.startswith("chatterbot_corpus-"):
        yield from (("chat", text) for text in chatting.exchanges(path))
        return
    for inner, data in members(path):
        if inner.rsplit("/", 1)[-1] in {"data.noun", "data.verb", "data.adj", "data.adv"}:
            yield from (("word", text) for text in glosses(data))
        elif inner.endswith(".py") and "/test" not in inner:
            yield from python(data)
        else:
            yield from (("doc", text) for block in prose(inner, data) for text in sentences(block))


def members(path: str) -> Iterator[tuple[str, str]]:
    """(name, text) of the readable files in a wheel, an npm package or a Debian package."""
    if path.endswith(".whl"):
        with zipfile.ZipFile(path) as archive:
            for name in archive.namelist():
                if readable(name):
                    yield name, plain(name, archive.read(name))
        return
    raw = subprocess.run(["dpkg-deb", "--fsys-tarfile", path], check=True, capture_output=True).stdout if path.endswith(".deb") else None
    with tarfile.open(fileobj=io.BytesIO(raw)) if raw is not None else tarfile.open(path) as packed:
        for member in packed:
            if member.isfile() and readable(member.name) and (inner := packed.extractfile(member)):
                yield member.name, plain(member.name, inner.read())


def readable(name: str) -> bool:
    """Whether a file holds prose in English: pages, comments, descriptions, docstrings."""
    bare = name.removesuffix(".gz")
    if re.search(r"/(de|es|fr|ja|ko|tr|da|pt-br|zh-cn|locale|_sources|node_modules|_vendor)/", name) or "changelog" in name.lower():
        return False
    return bare.endswith((".py", ".html", ".md", ".rst", ".d.ts", "service-2.json", ".3ssl", ".yaml")) or "/wordnet/data." in name


def plain(name: str, data: bytes) -> str:
    """The file's text, unpacked where it is packed."""
    return (gzip.decompress(data) if name.endswith(".gz") else data).decode("utf-8", "replace")


def prose(name: str, data: str) -> Iterable[str]:
    """The paragraphs of a page, a comment or a description."""
    bare = name.removesuffix(".gz")
    if bare.endswith(".html"):
        return blocks(data)
    if bare.endswith(".json"):
        return (block for match in DESCRIPTION.finditer(data) for block in blocks(json.loads(f'"{match[1]}"', strict=False)))
    if bare.endswith(".d.ts"):
        return (line for match in COMMENT.finditer(data) for line in unmarked(re.sub(r"\n\s*\* ?", "\n", match[1])))
    if bare.endswith(".3ssl"):
        return unmarked(re.sub(r"(?m)^[.'].*$", "\n", data).replace("\\-", "-").replace("\\fB", "").replace("\\fR", "").replace("\\fI", ""))
    if bare.endswith(".yaml"):
        return (re.sub(r"^\s*(description|summary): *[|>\"']*", "", line) for line in data.split("\n") if re.match(r"\s*(description|summary): *\S", line))
    return unmarked(data)


def blocks(text: str) -> list[str]:
    """The blocks of an HTML page."""
    page = Page()
    page.feed(text)
    page.flush()
    return page.blocks


def unmarked(text: str) -> Iterator[str]:
    """The paragraphs of a text in Markdown, reStructuredText or a documentation comment."""
    text = re.sub(r"(?ms)^```.*?^```|^@example.*?(?=^@|\Z)", "", text)
    for block in re.split(r"\n\s*\n|\n(?=\s*(?:[-*+#]|\d+\.|@\w+|:\w+[ \w]*:)\s)", text):
        line = " ".join(re.sub(r"^\s*(?:[-*+#>]+|\d+\.|@\w+|:\w+[ \w]*:)\s", "", block).split())
        if not line.startswith((">>>", "..", "$", "|", "=", "from ", "import ")):
            yield html.unescape(MARKUP.sub(lambda match: next((group for group in match.groups() if group), " "), line))


def sentences(block: str) -> Iterator[str]:
    """The sentences of a paragraph that are of use: neither scraps nor lists nor tables."""
    for sentence in END.split(" ".join(block.split())):
        words = sentence.split()
        letters = sum(char.isascii() and (char.isalpha() or char == " ") for char in sentence)
        if WORDS[0] <= len(words) <= WORDS[1] and letters >= 0.8 * len(sentence) and len(sentence) <= 420:
            yield sentence


def glosses(data: str) -> Iterator[str]:
    """WordNet's definitions, each with its words before it, and its examples."""
    for line in data.split("\n"):
        if line.startswith("  ") or " | " not in line:
            continue
        head, gloss = line.split(" | ", 1)
        fields = head.split()
        names = [fields[4 + 2 * at].replace("_", " ").split("(")[0] for at in range(int(fields[3], 16))]
        meaning = gloss.split('; "')[0].strip(' "')
        yield from sentences(f"{', '.join(names[:4])}: {meaning}")
        yield from (example for quoted in re.findall(r'"([^"]+)"', gloss) for example in sentences(quoted))


def python(data: str) -> Iterator[tuple[str, str]]:
    """The docstrings of a module, and its functions as they stand."""
    try:
        tree = ast.parse(data)
    except (SyntaxError, ValueError, RecursionError):
        return
    lines = data.split("\n")
    for node in ast.walk(tree):
        if not isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        said = ast.get_docstring(node) or ""
        for block in unmarked(said):
            yield from (("doc", text) for text in sentences(block))
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and said and not node.name.startswith("__"):
            source = " ".join(" ".join(lines[node.lineno - 1 : node.end_lineno]).split())
            yield "code", source[:CODE_LENGTH]
            yield "code", f"{node.name.replace('_', ' ').strip()}: {said.split('.')[0]}"[:CODE_LENGTH].replace("\n", " ")


if __name__ == "__main__":
    sys.exit(main())
