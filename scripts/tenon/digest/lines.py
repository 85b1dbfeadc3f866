"""The lines of a file that may be of any size and is being written, and their order by parent and child."""

from __future__ import annotations

import os
from hashlib import sha256

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import BinaryIO

    from tenon.digest.transcript import Entry

CHUNK = 1 << 20  # bytes of one read
LONGEST = 4 << 20  # bytes of a line that is kept
TAIL = 256  # bytes that tell whether a file is still the one that was read


class Line:
    """A line on its way: where it begins and ends in the file, its bytes until they are read (None: too long to hold).

    Then what it says (None: nothing), and whether it is left out.
    """

    __slots__ = ("first", "after", "raw", "entry", "left_out")

    def __init__(self, first: int, after: int, raw: bytes | None) -> None:
        self.first = first
        self.after = after
        self.raw = raw
        self.entry: Entry | None = None
        self.left_out = False


class Lines:
    """The whole lines of a file from `start` on.

    A line longer than LONGEST comes without its bytes and is never held; of the first one the bytes up to `skipped`
    are known to be such a line's. `ended` says whether the end of the file was reached before `spent()` said that
    the time is used up; an unfinished last line is not given, it waits for its end. `reached` is then how far an
    over-long line was passed over (0: no such line). However little time there is, a line or a chunk is read.
    """

    def __init__(self, file: BinaryIO, start: int, spent: Callable[[], bool], skipped: int = 0) -> None:
        self.file = file
        self.start = start
        self.spent = spent
        self.skipped = skipped
        self.ended = False
        self.reached = 0

    def __iter__(self) -> Iterator[Line]:
        first = self.start
        size = max(0, self.skipped - first)
        held: list[bytes] = []
        begun = given = False
        while not begun or not self.spent() or (not given and size <= LONGEST):
            begun = True
            self.file.seek(first + size)  # who works on the lines reads elsewhere meanwhile
            chunk = self.file.read(CHUNK)
            if not chunk:
                self.ended = True
                break
            at = 0
            while True:
                end = chunk.find(b"\n", at)
                if end < 0:
                    break
                size += end - at
                held.append(chunk[at:end])
                # Popped, so that a long line is not kept here while it is being worked on.
                whole = [Line(first, first + size + 1, b"".join(held) if size <= LONGEST else None)]
                held = []
                given = True
                yield whole.pop()
                first, size, at = first + size + 1, 0, end + 1
            size += len(chunk) - at
            if size <= LONGEST:
                held.append(chunk[at:])
            else:
                held = []
        self.reached = first + size if size > LONGEST else 0


def fingerprint(file: BinaryIO, at: int) -> str:
    """A short hash of the last bytes before a position."""
    return sha256(before(file, at, TAIL)).hexdigest()[:16]


def before(file: BinaryIO, at: int, most: int) -> bytes:
    """At most so many bytes before a position; fewer where the file begins or was cut short."""
    first = max(0, at - most)
    file.seek(first, os.SEEK_SET)
    return file.read(at - first)


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
