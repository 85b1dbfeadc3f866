"""How far a long piece of work is: on a terminal one line drawn over itself with count, rate and time left, elsewhere a line now and then.

    with progress.shown(out, "reading", total) as tick:
        for each in work:
            tick()          # one more; tick(n) for n more, tick.at(n) for n in all

Short work shows nothing. It is all on stderr, and gone from the terminal afterwards, whichever way the work ends.
"""

from __future__ import annotations

import time

from tenon.cli import context

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from tenon.cli.out import Out

WAIT_S = 0.5  # work that ends before shows nothing
EVERY_S = 0.1
PLAIN_S = 10.0  # between two lines where none can be drawn over
BAR = 20


class Shown:
    """The line of one piece of work; use it as a context manager."""

    def __init__(self, out: Out, label: str, total: int, unit: str, clock: Callable[[], float]) -> None:
        self.out = out
        self.label = label
        self.total = total
        self.unit = unit
        self.clock = clock
        self.done = self.first = 0
        self.note = ""
        self.began = clock()
        self.next = self.began + (WAIT_S if out.live else PLAIN_S)

    def __enter__(self) -> Shown:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.out.erase()

    def __call__(self, more: int = 1, note: str = "") -> None:
        """Says that so much more is done; the note stands at the line's end."""
        self.at(self.done + more, note=note)

    def at(self, done: int, total: int | None = None, *, label: str = "", note: str = "") -> None:
        """Says that so much is done in all; another label begins another piece of work."""
        now = self.clock()
        if label and label != self.label:
            self.label, self.first, self.began = label, done, now
        self.done = done
        self.note = note or self.note
        if total is not None:
            self.total = total
        if now < self.next:
            return
        self.next = now + (EVERY_S if self.out.live else PLAIN_S)
        numbers = (done, self.total, done - self.first, now - self.began, self.unit)
        if self.out.live:
            self.out.draw(fitted((self.out.room or 80) - 1, self.label, *numbers, self.note))
        else:
            self.out.say(line(self.label, *numbers, self.note))


def shown(out: Out, label: str, total: int = 0, *, unit: str = "", clock: Callable[[], float] = time.monotonic) -> Shown:
    """A line for work of that size: a number of things, with `unit` "bytes" a size; 0 where it is not known."""
    return Shown(out, label, total, unit, clock)


def fitted(columns: int, label: str, done: int, total: int, lately: int, seconds: float, unit: str = "", note: str = "") -> str:
    """The line in so many columns: the bar gives way first, then the note, the label's other words, the sizes; never share, rate and time left."""
    from tenon.cli.table import width

    short = label.partition(" ")[0]
    told = ""
    for named, said, bar, sizes in (
        (label, note, BAR, True), (label, note, BAR // 2, True), (label, note, 0, True), (label, "", 0, True), (short, "", 0, True), (short, "", 0, False),
    ):  # fmt: skip
        told = line(named, done, total, lately, seconds, unit, said, bar, sizes=sizes)
        if width(told) <= columns:
            break
    return told


def line(
    label: str, done: int, total: int, lately: int, seconds: float, unit: str = "", note: str = "", bar: int = 0, *, sizes: bool = True
) -> str:  # fmt: skip
    """How far it is in one line: a bar of that width (0: none), share, sizes, rate and time left by what was done in the last seconds, note."""
    amount = context.size if unit == "bytes" else "{:,}".format
    rate = lately / seconds if lately > 0 and seconds > 0 else 0.0
    if total > 0:
        share = min(1.0, done / total)
        drawn = f"[{'#' * int(share * bar)}{'.' * (bar - int(share * bar))}] " if bar else ""
        told = [f"{drawn}{share:.0%}" + (f": {amount(done)} of {amount(total)}" if sizes else "")]
    else:
        told = [amount(done)]
    if rate:
        told.append(f"{context.size(int(rate))}/s" if unit == "bytes" else f"{rate:,.0f}/s" if rate >= 10 else f"{rate:.1f}/s")
        if total > done and seconds >= 1:
            told.append(f"{duration((total - done) / rate)} left")
    if note:
        told.append(note)
    return f"{label}  {', '.join(told)}"


def duration(seconds: float) -> str:
    """A stretch of time: «2 s», «45 min 00 s», «3 h 07 min»."""
    whole = int(seconds + 0.5)
    if whole < 60:
        return f"{whole} s"
    return f"{whole // 60} min {whole % 60:02d} s" if whole < 3600 else f"{whole // 3600} h {whole % 3600 // 60:02d} min"
