"""What a verb prints: results to stdout, everything else to stderr, colour only where somebody looks."""

from __future__ import annotations

import os
import sys

from tenon.base.errors import TenonError
from tenon.recall.injection import UNSEEN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import TextIO

STYLES = {"strong": "1", "faint": "2", "good": "32", "warn": "33", "bad": "31"}
# What would steer a terminal is seen as its picture or left out; the carriage return of a line end is left out too.
_SHOWN: dict[int, str | None] = {**UNSEEN, **{code: chr(0x2400 + code) for code in range(32)}, **dict.fromkeys(range(0x80, 0xA0), "\ufffd")}
_SHOWN.update({0x09: "\t", 0x0A: "\n", 0x0D: None, 0x7F: "\u2421"})


class Out:
    """Where a verb's words go. `json` says that results are wanted as one object per line; `live` that a person watches stderr.

    `wide` is how many columns the terminal has that results go to, `room` the one that notes go to; 0 where there is none.
    """

    __slots__ = ("results", "notes", "json", "colour", "live", "wide", "room", "_drawn", "_mark")

    def __init__(self, results: TextIO, notes: TextIO, *, json: bool = False, colour: bool = False, live: bool = False, wide: int = 0, room: int = 0) -> None:
        self.results = results
        self.notes = notes
        self.json = json
        self.colour = colour
        self.live = live
        self.wide = wide
        self.room = room
        self._drawn = False
        self._mark = f"\0{os.urandom(8).hex()}:" if colour else ""  # in front of our own styles, which no text can guess

    def line(self, text: str = "") -> None:
        """Prints a line of the result."""
        self.erase()
        self.results.write(self._painted(text) + "\n")

    def told(self, text: str, hang: int = -1) -> None:
        """Prints sentences of the result: on a terminal in lines that fit, later ones `hang` columns in (as far as the first)."""
        self.line("\n".join(self._folded(text, self.wide, hang)))

    def labelled(self, rows: Iterable[tuple[str, str]], width: int = 17) -> None:
        """Prints labels and their texts in two columns; a row without a label goes on with the one before."""
        for label, text in rows:
            self.told(f"{label + ':' if label else '':{width}}{text}", width)

    def record(self, fields: Mapping[str, object]) -> None:
        """Prints a result as one JSON object on a line; in ASCII, so that no reader takes a character for a line's end."""
        import json

        self.erase()
        self.results.write(json.dumps(fields) + "\n")

    def say(self, text: str) -> None:
        """Tells the user something that is not the result; what is indented is to be copied, and stays on its line."""
        self.results.flush()
        self.erase()
        fitted = [part for line in text.split("\n") for part in ([line] if line.startswith("  ") else self._folded(line, self.room, 0))]
        self.notes.write(self._painted("\n".join(fitted)) + "\n")
        self.notes.flush()

    def draw(self, text: str) -> None:
        """Draws a line on the terminal of the notes over the one drawn before; the next words take it away."""
        from tenon.cli.table import cut, width

        self.results.flush()
        text = cut(shown(text), self._last)
        self._drawn = True  # before it is: an interrupt may come in the middle
        self.notes.write("\r" + text + " " * (self._last - width(text)))
        self.notes.flush()

    def erase(self) -> None:
        """Takes the drawn line away."""
        if self._drawn:
            self.notes.write("\r" + " " * self._last + "\r")
            self.notes.flush()
            self._drawn = False

    @property
    def _last(self) -> int:
        """The columns of a drawn line: in the very last one some terminals begin the next line."""
        return (self.room or 80) - 1

    def styled(self, style: str, text: str) -> str:
        """The text as strong, faint, good, warn or bad («» for as it is), where colour is on; it is for `line` and `say`, which paint it."""
        return f"{self._mark}{STYLES[style]}m{text}{self._mark}0m" if self._mark and text and style else text

    def _folded(self, text: str, columns: int, hang: int) -> list[str]:
        if not columns or len(text) <= columns // 2:
            return [text]
        from tenon.cli.table import folded

        if hang < 0 and self._mark and text.startswith(self._mark):
            bare = text.partition("m")[2]
            hang = len(bare) - len(bare.lstrip(" "))
        return folded(text, columns, hang, measure=self._seen)

    def _seen(self, text: str) -> int:
        """How many columns the text takes, our own styles none."""
        from tenon.cli.table import width

        first, *rest = text.split(self._mark) if self._mark else [text]
        return width(first) + sum(width(part.partition("m")[2]) for part in rest)

    def _painted(self, text: str) -> str:
        """The text as `shown`, then with our own styles."""
        if not self._mark:
            return shown(text)
        first, *rest = text.split(self._mark)
        return shown(first) + "".join("\033[" + shown(part) for part in rest)

    def askable(self, yes: bool) -> None:
        """Raises TenonError where the user has not agreed by --yes and cannot be asked."""
        if not yes and not (is_terminal(sys.stdin) and is_terminal(self.notes)):
            raise TenonError("this asks first and there is no terminal to ask on; say --yes")

    def confirm(self, question: str, yes: bool) -> bool:
        """Whether the user agrees: by --yes, or by an answer on the terminal.

        Raises TenonError where nobody can be asked.
        """
        self.askable(yes)
        if yes:
            return True
        self.results.flush()
        self.erase()
        self.notes.write(f"{shown(question)} [y/N] ")
        self.notes.flush()
        return sys.stdin.readline().strip().lower() in ("y", "yes")


def shown(text: str) -> str:
    """The text without what steers a terminal, turns the direction of writing or hides: C0 and C1 controls, bidi and zero-width marks."""
    return text if text.isascii() and text.isprintable() else text.translate(_SHOWN)


def make(colour: str = "auto") -> Out:
    """The output of this process, UTF-8 whatever the locale says; `colour` is auto, always or never, and auto asks the environment first."""
    for stream, errors in ((sys.stdin, "surrogateescape"), (sys.stdout, "replace"), (sys.stderr, "replace")):
        change = getattr(stream, "reconfigure", None)
        if change is not None:
            change(encoding="utf-8", errors=errors)
    dumb = os.environ.get("TERM") == "dumb"
    coloured = colour == "always" or (colour == "auto" and _wanted(dumb=dumb))
    return Out(sys.stdout, sys.stderr, colour=coloured, live=is_terminal(sys.stderr) and not dumb, wide=columns(sys.stdout), room=columns(sys.stderr))


def _wanted(*, dumb: bool) -> bool:
    """Whether the environment wants colour: NO_COLOR goes before what forces it, and that before what the terminal is."""
    if os.environ.get("NO_COLOR"):
        return False
    if any(os.environ.get(name, "0") not in ("", "0") for name in ("FORCE_COLOR", "CLICOLOR_FORCE")):
        return True
    return not dumb and os.environ.get("CLICOLOR") != "0" and is_terminal(sys.stdout)


def columns(stream: TextIO) -> int:
    """How many columns the stream's terminal has, as COLUMNS says or the terminal itself; 0 where there is none."""
    if not is_terminal(stream):
        return 0
    said = os.environ.get("COLUMNS", "")
    if said.isdecimal() and 0 < int(said[:6]) < 100_000:
        return int(said)
    try:
        return os.get_terminal_size(stream.fileno()).columns or 80
    except (OSError, ValueError):
        return 80


def is_terminal(stream: TextIO | None) -> bool:
    """Whether a person sits at the stream."""
    try:
        return stream is not None and stream.isatty()
    except ValueError:  # closed
        return False
