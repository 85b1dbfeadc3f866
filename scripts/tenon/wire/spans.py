"""Where the parts of a JSON text are: members of objects and elements of lists as offsets, so that they can be cut and joined unprinted.

Bytes are read as Latin-1, one character a byte, so that an offset in the text is an offset in the bytes. All of JSON's
structure is ASCII; only the letters inside of strings come out wrong, and nobody looks at them there.
"""

from __future__ import annotations

import json
import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

LONGEST_NUMBER = 400  # digits; no double has more in front of its point, and Python's time for them grows with their square
DEEPEST = 100  # levels of lists and objects; a request has about ten

_GAP = re.compile(r"[ \t\n\r]*")


class Unreadable(ValueError):
    """Not JSON that every reader understands in the same way."""


class Part:
    """One member of an object or element of a list: where it begins (a member at its key), its value's offsets, the value."""

    __slots__ = ("at", "start", "end", "name", "value")

    def __init__(self, at: int, start: int, end: int, name: str, value: Any) -> None:
        self.at, self.start, self.end, self.name, self.value = at, start, end, name, value


def members(text: str, at: int, read: Callable[[str, int, str], tuple[Any, int]] | None = None) -> tuple[list[Part], int]:
    """The members of the object that begins at `at`, and the offset behind it; `read(text, at, name)` reads a value instead."""
    found: list[Part] = []
    names: set[str] = set()
    here = _behind(text, at, "{")
    if text[here : here + 1] == "}":
        return found, here + 1
    while True:
        name, after = value(text, here)
        if not isinstance(name, str) or name in names:
            raise Unreadable(f"no member, or one that was there before, at byte {here}")
        names.add(name)
        start = _behind(text, after, ":")
        content, end = read(text, start, name) if read else value(text, start)
        found.append(Part(here, start, end, name, content))
        after = _past_gap(text, end)
        if text[after : after + 1] == "}":
            return found, after + 1
        here = _behind(text, after, ",")


def elements(text: str, at: int) -> tuple[list[Part], int]:
    """The elements of the list that begins at `at`, and the offset behind it."""
    found: list[Part] = []
    here = _behind(text, at, "[")
    if text[here : here + 1] == "]":
        return found, here + 1
    while True:
        content, end = value(text, here)
        found.append(Part(here, here, end, "", content))
        after = _past_gap(text, end)
        if text[after : after + 1] == "]":
            return found, after + 1
        here = _behind(text, after, ",")


def value(text: str, at: int) -> tuple[Any, int]:
    """The value that begins at `at`, and the offset behind it; Unreadable for a key given twice, NaN and numbers beyond a double."""
    try:
        return _STRICT.raw_decode(text, at)
    except (ValueError, RecursionError) as error:
        raise Unreadable(str(error)[:200]) from None


def decode(raw: str | bytes | bytearray | memoryview) -> Any:
    """A JSON text as its value; of a key given twice the last counts, as in JavaScript."""
    try:
        return _PLAIN.decode(raw if isinstance(raw, str) else str(raw, "utf-8"))
    except (ValueError, RecursionError) as error:
        raise Unreadable(str(error)[:200]) from None


def check_depth(values: list[Any]) -> None:
    """Raises Unreadable when a value has more levels than Python's stack is sure to have room for."""
    level = [value for value in values if isinstance(value, (dict, list))]
    for _ in range(DEEPEST):
        level = [inner for outer in level for inner in (outer.values() if isinstance(outer, dict) else outer) if isinstance(inner, (dict, list))]
        if not level:
            return
    raise Unreadable(f"more than {DEEPEST} levels")


def printed(content: Any) -> bytes:
    """A value as compact JSON in UTF-8; half a surrogate pair, which UTF-8 does not have, makes it all ASCII."""
    try:
        return json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
    except UnicodeEncodeError:
        return json.dumps(content, separators=(",", ":"), allow_nan=False).encode()
    except RecursionError as error:
        raise Unreadable(str(error)[:200]) from None


def _behind(text: str, at: int, mark: str) -> int:
    """The offset of what comes after a mark that has to be there."""
    at = _past_gap(text, at)
    if text[at : at + 1] != mark:
        raise Unreadable(f"no {mark} at byte {at}")
    return _past_gap(text, at + 1)


def _past_gap(text: str, at: int) -> int:
    """The offset of the first byte from `at` on that is no white space."""
    found = _GAP.match(text, at)
    return found.end() if found else at


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise Unreadable("a key is given twice")
    return found


def _whole(digits: str) -> int:
    if len(digits) > LONGEST_NUMBER:
        raise Unreadable("a number is too long")
    return int(digits)


def _decimal(digits: str) -> float:
    number = float(digits)
    if number in (float("inf"), float("-inf")):
        raise Unreadable("a number is too large")
    return number


def _constant(name: str) -> None:
    raise Unreadable(f"{name} is no JSON")


_STRICT = json.JSONDecoder(object_pairs_hook=_object, parse_int=_whole, parse_float=_decimal, parse_constant=_constant)
_PLAIN = json.JSONDecoder(parse_int=_whole, parse_float=_decimal, parse_constant=_constant)
