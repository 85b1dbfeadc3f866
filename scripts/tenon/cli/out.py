"""What a verb prints: results to stdout, everything else to stderr, colour only where somebody looks."""
from __future__ import annotations

import os
import sys

from tenon.base.errors import TenonError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import TextIO

STYLES = {"strong": "1", "faint": "2", "good": "32", "warn": "33", "bad": "31"}


class Out:
    """Where a verb's words go. `json` says that results are wanted as one object per line; `live` that a person watches stderr."""

    __slots__ = ("results", "notes", "json", "colour", "live")

    def __init__(self, results: TextIO, notes: TextIO, *, json: bool = False, colour: bool = False, live: bool = False) -> None:
        self.results = results
        self.notes = notes
        self.json = json
        self.colour = colour
        self.live = live

    def line(self, text: str = "") -> None:
        """Prints a line of the result."""
        self.results.write(text + "\n")

    def record(self, fields: Mapping[str, object]) -> None:
        """Prints a result as one JSON object on a line."""
        import json

        self.results.write(json.dumps(fields, ensure_ascii=False) + "\n")

    def say(self, text: str) -> None:
        """Tells the user something that is not the result."""
        self.results.flush()
        self.notes.write(text + "\n")
        self.notes.flush()

    def styled(self, style: str, text: str) -> str:
        """The text as strong, faint, good, warn or bad, where colour is on."""
        return f"\033[{STYLES[style]}m{text}\033[0m" if self.colour and text else text

    def confirm(self, question: str, yes: bool) -> bool:
        """Whether the user agrees: by --yes, or by an answer on the terminal.

        Raises TenonError where nobody can be asked.
        """
        if yes:
            return True
        if not is_terminal(sys.stdin) or not is_terminal(self.notes):
            raise TenonError("this asks first and there is no terminal to ask on; say --yes")
        self.results.flush()
        self.notes.write(f"{question} [y/N] ")
        self.notes.flush()
        return sys.stdin.readline().strip().lower() in ("y", "yes")


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
