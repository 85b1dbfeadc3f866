"""What a verb prints: results to stdout, everything else to stderr, colour only where somebody looks."""

from __future__ import annotations

import os
import sys

from tenon.base.errors import TenonError
from tenon.recall.injection import UNSEEN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import TextIO

STYLES = {"strong": "1", "faint": "2", "good": "32", "warn": "33", "bad": "31"}
# What would steer a terminal is seen as its picture or left out; the carriage return of a line end is left out too.
_SHOWN: dict[int, str | None] = {**UNSEEN, **{code: chr(0x2400 + code) for code in range(32)}, **dict.fromkeys(range(0x80, 0xA0), "\ufffd")}
_SHOWN.update({0x09: "\t", 0x0A: "\n", 0x0D: None, 0x7F: "\u2421"})


class Out:
    """Where a verb's words go. `json` says that results are wanted as one object per line; `live` that a person watches stderr."""

    __slots__ = ("results", "notes", "json", "colour", "live", "_mark")

    def __init__(self, results: TextIO, notes: TextIO, *, json: bool = False, colour: bool = False, live: bool = False) -> None:
        self.results = results
        self.notes = notes
        self.json = json
        self.colour = colour
        self.live = live
        self._mark = f"\0{os.urandom(8).hex()}:" if colour else ""  # in front of our own styles, which no text can guess

    def line(self, text: str = "") -> None:
        """Prints a line of the result."""
        self.results.write(self._painted(text) + "\n")

    def record(self, fields: Mapping[str, object]) -> None:
        """Prints a result as one JSON object on a line; in ASCII, so that no reader takes a character for a line's end."""
        import json

        self.results.write(json.dumps(fields) + "\n")

    def say(self, text: str) -> None:
        """Tells the user something that is not the result."""
        self.results.flush()
        self.notes.write(self._painted(text) + "\n")
        self.notes.flush()

    def styled(self, style: str, text: str) -> str:
        """The text as strong, faint, good, warn or bad, where colour is on; it is for `line` and `say`, which paint it."""
        return f"{self._mark}{STYLES[style]}m{text}{self._mark}0m" if self._mark and text else text

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
        self.notes.write(f"{shown(question)} [y/N] ")
        self.notes.flush()
        return sys.stdin.readline().strip().lower() in ("y", "yes")


def shown(text: str) -> str:
    """The text without what steers a terminal, turns the direction of writing or hides: C0 and C1 controls, bidi and zero-width marks."""
    return text if text.isascii() and text.isprintable() else text.translate(_SHOWN)


def make(colour: str = "auto") -> Out:
    """The output of this process, UTF-8 whatever the locale says; `colour` is auto, always or never."""
    for stream, errors in ((sys.stdin, "surrogateescape"), (sys.stdout, "replace"), (sys.stderr, "replace")):
        change = getattr(stream, "reconfigure", None)
        if change is not None:
            change(encoding="utf-8", errors=errors)
    plain = bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"
    coloured = colour == "always" or (colour == "auto" and not plain and is_terminal(sys.stdout))
    return Out(sys.stdout, sys.stderr, colour=coloured, live=is_terminal(sys.stderr) and os.environ.get("TERM") != "dumb")


def is_terminal(stream: TextIO | None) -> bool:
    """Whether a person sits at the stream."""
    try:
        return stream is not None and stream.isatty()
    except ValueError:  # closed
        return False
