"""Text as wide as a terminal is: how many columns it takes, cut, folded, and in columns of a table."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import partial
from unicodedata import category, east_asian_width

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Union

    from tenon.cli.out import Out

    Cell = Union[str, tuple[str, str]]  # a text, or a style and a text

GAP = "  "
NARROWEST = 60  # columns that a table is made for, however small the window
PADDED = 60  # columns: what is longer in a pipe has its row to itself
UNSEEN = ("Mn", "Me", "Cf")  # marks over a letter, joiners, directions: they take no column


@dataclass(frozen=True)
class Column:
    """A column of a table: its head, and what becomes of its cells where the terminal has no room for them."""

    head: str
    right: bool = False  # numbers: never made narrower
    least: int = 8  # columns that are left of it when others are wide
    folds: bool = False  # goes on in the next line; others are cut
    style: str = ""


def width(text: str) -> int:
    """How many columns a terminal gives the text: two to a wide character, none to a mark over another."""
    if text.isascii():
        return len(text)
    return sum(0 if category(letter) in UNSEEN else 2 if east_asian_width(letter) in "WF" else 1 for letter in text)


def cut(text: str, columns: int) -> str:
    """The text in at most so many columns; what does not fit ends in «…»."""
    if width(text) <= columns:
        return text
    return _head(text, max(0, columns - 1)) + "…" if columns > 0 else ""


def folded(text: str, columns: int, hang: int = -1, *, measure: Callable[[str], int] = width, hard: bool = False) -> list[str]:
    """The text in lines of at most so many columns, broken between words.

    Later lines begin `hang` columns in, by default as far as the first one. A word that is longer than a line stays whole, so that
    an address or a path can still be taken up; with `hard` it is broken.
    """
    told: list[str] = []
    for line in text.split("\n"):
        indent = " " * (hang if hang >= 0 else len(line) - len(line.lstrip(" ")))
        told += [line] if measure(line) <= columns else _folded(line, columns, indent if len(indent) < columns // 2 else "  ", measure, hard=hard)
    return told


def show(out: Out, columns: Sequence[Column], rows: Sequence[Sequence[Cell]], notes: Sequence[str] = (), *, indent: str = "") -> None:
    """Prints a table with a faint head: on a terminal as wide as that, elsewhere nothing is cut.

    `notes` has a text for each row, «» for none, that follows it in lines of its own.
    """
    plain = [[_plain(cell) for cell in row] for row in rows]
    wide = _widths(columns, plain, max(NARROWEST, out.wide) - len(indent) if out.wide else 0)
    head = [column.head for column in columns]
    if any(head):
        out.line(out.styled("faint", _row(columns, [[text] for text in head], wide, 0, indent)))
    for number, row in enumerate(rows):
        cells = [_cell(column, text, most, on_terminal=out.wide > 0) for column, text, most in zip(columns, plain[number], wide)]
        painted = [partial(out.styled, cell[0] if isinstance(cell, tuple) else column.style) for column, cell in zip(columns, row)]
        for line in range(max(map(len, cells))):
            out.line(_row(columns, cells, wide, line, indent, painted))
        if number < len(notes) and notes[number]:
            out.told(out.styled("faint", f"{indent}    {notes[number]}"), len(indent) + 4)


def _plain(cell: Cell) -> str:
    text = cell[1] if isinstance(cell, tuple) else cell
    return " ".join(text.split()) if not text.isprintable() else text


def _widths(columns: Sequence[Column], rows: Sequence[Sequence[str]], room: int) -> list[int]:
    """The width of each column; `room` is 0 where there is no end."""
    wide = [max([width(column.head), *(width(row[at]) for row in rows)]) for at, column in enumerate(columns)]
    if not room:
        return [min(most, PADDED) for most in wide]
    over = sum(wide) + len(GAP) * (len(wide) - 1) - room
    while over > 0:
        # The widest gives way first, down to the next one, until all fit or none can give more.
        able = [at for at, column in enumerate(columns) if not column.right and wide[at] > max(column.least, width(column.head))]
        if not able:
            break
        widest = max(able, key=lambda at: (columns[at].folds, wide[at]))
        floor = max([columns[widest].least, width(columns[widest].head), *(wide[at] for at in able if wide[at] < wide[widest] and columns[at].folds)])
        step = min(over, wide[widest] - floor)
        wide[widest] -= step
        over -= step
    return wide


def _cell(column: Column, text: str, most: int, *, on_terminal: bool) -> list[str]:
    """The lines of a cell."""
    if not on_terminal:
        return [text]
    return folded(text, most, 0, hard=True) if column.folds else [cut(text, most)]


def _row(
    columns: Sequence[Column], cells: Sequence[Sequence[str]], wide: Sequence[int], line: int, indent: str, painted: Sequence[Callable[[str], str]] = ()
) -> str:
    told: list[str] = []
    for at, column in enumerate(columns):
        text = cells[at][line] if line < len(cells[at]) else ""
        space = " " * (wide[at] - width(text))
        last = at == len(columns) - 1
        shown = painted[at](text) if painted and text else text
        told.append(space + shown if column.right else shown if last else shown + space)
    return (indent + GAP.join(told)).rstrip(" ")


def _folded(line: str, columns: int, indent: str, measure: Callable[[str], int], *, hard: bool) -> list[str]:
    told: list[str] = []
    now = ""
    for space, word in re.findall(r"( *)([^ ]+)", line):
        if now.strip() and measure(now + space + word) > columns:
            told.append(now)
            now, space = indent, ""
        now += space + word
        while hard and measure(now) > columns:
            head = _head(now, columns) or now[:1]
            told.append(head)
            now = indent + now[len(head) :]
    return [*told, now] if now.strip() or not told else told


def _head(text: str, columns: int) -> str:
    """As much of the beginning as fits."""
    used = 0
    for at, letter in enumerate(text):
        used += width(letter)
        if used > columns:
            return text[:at]
    return text
