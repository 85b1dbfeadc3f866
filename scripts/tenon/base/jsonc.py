"""JSON with comments as text: where each value stands, and the text with one value more or one less.

Nothing is ever printed anew: an insertion is a list of (position, text) pairs, so that everything around it, comments,
indentation, line ends, stays as its owner wrote it. Pure functions. Read are comments and a comma at the end of a list;
everything else is JSON to the letter.
"""

from __future__ import annotations

import json
import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    Insertions = list[tuple[int, str]]

DEEPEST = 100
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.S)
_WORDS = {"true": True, "false": False, "null": None}


class Child:
    """A member of an object or an item of a list: `start` is where its key or value begins, `comma` after it or -1."""

    __slots__ = ("key", "start", "colon", "node", "comma")

    def __init__(self, key: str, start: int, colon: int, node: Node) -> None:
        self.key = key
        self.start = start
        self.colon = colon
        self.node = node
        self.comma = -1


class Node:
    """A value at [start, end) of the text; `children` is None unless it is an object or a list."""

    __slots__ = ("start", "end", "value", "children")

    def __init__(self, start: int, end: int, value: object, children: list[Child] | None = None) -> None:
        self.start = start
        self.end = end
        self.value = value
        self.children = children

    def child(self, key: str) -> Child | None:
        """The member that counts for a key: the last one of that name."""
        found = [child for child in self.children or [] if child.key == key] if isinstance(self.value, dict) else []
        return found[-1] if found else None


def parse(text: str) -> Node:
    """The one value of the text. Raises ValueError saying what is wrong in which line."""
    at = _gap(text, 1 if text.startswith("\ufeff") else 0)
    node = _value(text, at, 0)
    end = _gap(text, node.end)
    if end < len(text):
        raise _wrong(text, end, "something follows the value")
    return node


def with_child(text: str, node: Node, key: str | None, value: object) -> Insertions:
    """What to insert so that the object (or, with key None, the list) ends in one child more, in the style of the others."""
    children = node.children if node.children is not None else []
    newline = _newline(text)
    outer = _indent(text, node.start)
    if not children:
        return [_first(text, node, key, value, newline, outer)]
    last = children[-1]
    before = children[-2].comma + 1 if len(children) > 1 else node.start + 1
    end = last.node.end if last.comma < 0 else last.comma + 1
    place = _line_end(text, end)
    tight = last.colon >= 0 and text[last.colon + 1 : last.colon + 2] not in (" ", "\t", "\r", "\n")
    spread = "\n" in text[before : last.start]
    if spread or (place > end and text[place : place + 1] in ("\r", "\n")):
        inner = _indent(text, last.start) if spread else outer + _unit_of(text)
        told = newline + inner + _printed(key, value, newline, inner, _unit(inner, outer), tight=False)
    elif text[end:place].strip():
        told = " " + _printed(key, value, newline, "", None, tight=tight)
    else:
        place = end
        told = ("" if tight else " ") + _printed(key, value, newline, "", None, tight=tight)
    if last.comma >= 0:
        return [(place, told)]
    if place == end:
        return [(end, "," + told)]
    return [(end, ","), (place, told)]


def without_child(text: str, node: Node, child: Child) -> list[tuple[int, int]]:
    """The stretches [from, to) to cut so that the child is gone; comments stay."""
    children = node.children or []
    at = children.index(child)
    floor = (children[at - 1].comma if at else node.start) + 1
    start = child.start
    while start > floor and text[start - 1] in " \t":
        start -= 1
    if start > floor and text[start - 1] == "\n":
        start -= 2 if text[start - 2] == "\r" and start - 1 > floor else 1
        end = child.node.end if child.comma < 0 else child.comma + 1
        if text[end:].partition("\n")[0].strip():
            start = child.start  # the line end before it may close a comment, and what follows needs a line
    cuts = [(start, child.node.end)]
    if child.comma >= 0:
        cuts.append((child.comma, child.comma + 1))
    elif at:
        cuts.insert(0, (children[at - 1].comma, children[at - 1].comma + 1))
    return [cut for cut in cuts if cut[0] < cut[1]]


def inserted(text: str, insertions: Sequence[tuple[int, str]]) -> tuple[str, Insertions]:
    """The text with the insertions (ascending), and where each of them stands in it."""
    parts: list[str] = []
    placed: Insertions = []
    done = length = 0
    for at, told in insertions:
        parts += (text[done:at], told)
        placed.append((length + at - done, told))
        length += at - done + len(told)
        done = at
    return "".join([*parts, text[done:]]), placed


def cut(text: str, stretches: Sequence[tuple[int, int]]) -> str:
    """The text without the stretches."""
    for start, end in sorted(stretches, reverse=True):
        text = text[:start] + text[end:]
    return text


def _first(text: str, node: Node, key: str | None, value: object, newline: str, outer: str) -> tuple[int, str]:
    close = node.end - 1
    inner = outer + _unit_of(text)
    told = _printed(key, value, newline, inner, _unit_of(text), tight=False)
    last = _newline_in(text, node.start + 1, close)
    if last:
        return last, inner + told + newline
    return close, newline + inner + told + newline + outer


def _printed(key: str | None, value: object, newline: str, indent: str, unit: str | None, *, tight: bool) -> str:
    told = _dumped(value, unit, tight=tight).replace("\n", newline + indent)
    return told if key is None else _dumped(key, None, tight=tight) + (":" if tight else ": ") + told


def _dumped(value: object, unit: str | None, *, tight: bool) -> str:
    separators = (",", ":") if tight else (", ", ": ") if unit is None else (",", ": ")
    told = json.dumps(value, ensure_ascii=False, indent=unit, separators=separators)
    try:
        told.encode("utf-8")
    except UnicodeEncodeError:  # a file name that is not text
        told = json.dumps(value, indent=unit, separators=separators)
    return told


def _newline(text: str) -> str:
    first = text.find("\n")
    return "\r\n" if first > 0 and text[first - 1] == "\r" else "\n"


def _indent(text: str, at: int) -> str:
    line = text.rfind("\n", 0, at) + 1
    end = line
    while end < at and text[end] in " \t":
        end += 1
    return text[line:end]


def _unit(inner: str, outer: str) -> str:
    return inner[len(outer) :] if inner.startswith(outer) and inner != outer else "  "


def _unit_of(text: str) -> str:
    found = re.search(r"\n([ \t]+)[\"\[{]", text)
    return found.group(1) if found else "  "


def _newline_in(text: str, at: int, end: int) -> int:
    """The position after the last line end outside comments in what stands between two brackets, or 0."""
    last = 0
    while at < end:
        if text.startswith("/*", at):
            at = text.index("*/", at + 2) + 2
        elif text.startswith("//", at):
            at = text.index("\n", at)
        else:
            if text[at] == "\n":
                last = at + 1
            at += 1
    return last


def _line_end(text: str, at: int) -> int:
    """Behind the comments that stand on the rest of a value's line, or the position itself."""
    end = at
    while at < len(text):
        if text[at] in " \t":
            at += 1
        elif text.startswith("//", at):
            stop = text.find("\n", at)
            stop = len(text) if stop < 0 else stop
            return stop - 1 if text[stop - 1] == "\r" else stop
        elif text.startswith("/*", at):
            stop = text.find("*/", at + 2) + 2
            if "\n" in text[at:stop]:
                return end
            at = end = stop
        else:
            return end
    return end


def _value(text: str, at: int, depth: int) -> Node:
    if depth > DEEPEST:
        raise _wrong(text, at, "too deep")
    here = text[at : at + 1]
    if here == "{":
        return _object(text, at, depth)
    if here == "[":
        return _list(text, at, depth)
    if here == '"':
        value, end = _string(text, at)
        return Node(at, end, value)
    for word, meant in _WORDS.items():
        if text.startswith(word, at):
            return Node(at, at + len(word), meant)
    found = _NUMBER.match(text, at)
    if not found:
        raise _wrong(text, at, "a value is expected")
    return Node(at, found.end(), json.loads(found.group()))


def _object(text: str, start: int, depth: int) -> Node:
    children: list[Child] = []
    at = _gap(text, start + 1)
    while text[at : at + 1] != "}":
        if children and children[-1].comma < 0:
            raise _wrong(text, at, "a comma or } is expected")
        if text[at : at + 1] != '"':
            raise _wrong(text, at, "a key in double quotes is expected")
        key, end = _string(text, at)
        colon = _gap(text, end)
        if text[colon : colon + 1] != ":":
            raise _wrong(text, colon, "a colon is expected")
        child = Child(key, at, colon, _value(text, _gap(text, colon + 1), depth + 1))
        children.append(child)
        at = _after(text, child)
    return Node(start, at + 1, {child.key: child.node.value for child in children}, children)


def _list(text: str, start: int, depth: int) -> Node:
    children: list[Child] = []
    at = _gap(text, start + 1)
    while text[at : at + 1] != "]":
        if children and children[-1].comma < 0:
            raise _wrong(text, at, "a comma or ] is expected")
        child = Child("", at, -1, _value(text, at, depth + 1))
        children.append(child)
        at = _after(text, child)
    return Node(start, at + 1, [child.node.value for child in children], children)


def _after(text: str, child: Child) -> int:
    at = _gap(text, child.node.end)
    if text[at : at + 1] == ",":
        child.comma = at
        at = _gap(text, at + 1)
    return at


def _string(text: str, at: int) -> tuple[str, int]:
    found = _STRING.match(text, at)
    if not found:
        raise _wrong(text, at, "a string does not end")
    try:
        value: str = json.loads(found.group())
    except ValueError:
        raise _wrong(text, at, "a string holds what no JSON string may") from None
    return value, found.end()


def _gap(text: str, at: int) -> int:
    """Where the next thing that is neither white space nor comment begins."""
    while at < len(text):
        if text[at] in " \t\r\n":
            at += 1
        elif text.startswith("//", at):
            at = text.find("\n", at)
            if at < 0:
                return len(text)
        elif text.startswith("/*", at):
            end = text.find("*/", at + 2)
            if end < 0:
                raise _wrong(text, at, "a comment does not end")
            at = end + 2
        else:
            break
    return at


def _wrong(text: str, at: int, what: str) -> ValueError:
    return ValueError(f"line {text.count(chr(10), 0, at) + 1}: {what}")
