"""The lines of a file that may be of any size and is being written, and their order by parent and child."""
from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import BinaryIO

    from tenon.digest.transcript import Entry

CHUNK = 1 << 20  # bytes of one read
LONGEST = 4 << 20  # bytes of a line that is kept


class Line:
    """A line on its way: where it begins and ends in the file, what it says (None: nothing), whether it is left out."""

    __slots__ = ("first", "after", "entry", "left_out")

    def __init__(self, first: int, after: int, entry: Entry | None, left_out: bool) -> None:
        self.first = first
        self.after = after
        self.entry = entry
        self.left_out = left_out


class Lines:
    """The whole lines of a file from a position on: first byte, byte after the newline, and the bytes between them.

    A line longer than LONGEST comes as None and is never held. `ended` says whether the end of the file was reached
    before `spent()` said that the time is used up; an unfinished last line is not given, it waits for its end.
    """

    def __init__(self, file: BinaryIO, start: int, spent: Callable[[], bool]) -> None:
        self.file = file
        self.start = start
        self.spent = spent
        self.ended = False

    def __iter__(self) -> Iterator[tuple[int, int, bytes | None]]:
        self.file.seek(self.start)
        first, size = self.start, 0
        held: list[bytes] = []
        while not self.spent():
            chunk = self.file.read(CHUNK)
            if not chunk:
                self.ended = True
                return
            at = 0
            while True:
                end = chunk.find(b"\n", at)
                if end < 0:
                    break
                size += end - at
                held.append(chunk[at:end])
                # Popped, so that a long line is not kept here while it is being worked on.
                whole = [b"".join(held) if size <= LONGEST else None]
                held = []
                yield first, first + size + 1, whole.pop()
                first, size, at = first + size + 1, 0, end + 1
            size += len(chunk) - at
            if size <= LONGEST:
                held.append(chunk[at:])
            else:
                held = []


def groups_of(lines: list[Line]) -> Iterator[list[Line]]:
    """The lines in groups, in each of which a parent stands before its children; nearly always a group is one line.

    2.1.197 writes the first answer of a session before the prompt it answers.
    """
    at = {line.entry.uuid: number for number, line in enumerate(lines) if line.entry is not None and line.entry.uuid}
    first = last = 0
    for number, line in enumerate(lines):
        last = max(last, number, at.get(line.entry.parent, 0) if line.entry is not None else 0)
        if number == last:
            yield _parents_first(lines[first : last + 1])
            first = number + 1


def _parents_first(group: list[Line]) -> list[Line]:
    if len(group) == 1:
        return group
    known = {line.entry.uuid: line for line in group if line.entry is not None and line.entry.uuid}
    seen: set[int] = set()
    ordered: list[Line] = []
    for line in group:
        chain: list[Line] = []
        above: Line | None = line
        while above is not None and above.first not in seen:
            seen.add(above.first)
            chain.append(above)
            above = known.get(above.entry.parent) if above.entry is not None else None
        ordered.extend(reversed(chain))
    return ordered
