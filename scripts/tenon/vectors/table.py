"""The sentence embedding that comes with Tenon: a text is the sum of its word pieces' rows in a table of 4-bit numbers.

The table was distilled from a sentence transformer; `tools/distill/README.md` says how. It is opened without being read
whole: the tokens are found by bisection, and the rows of a word are read when the word first comes up. A row is added as
one big integer with a 32-bit lane for each dimension.
"""

from __future__ import annotations

import os
import sys

from tenon.base.errors import TenonError
from tenon.base.text import BESIDE, parts
from tenon.vectors.codes import unit
from tenon.vectors.wordpiece import pieces

TYPE_CHECKING = False
if TYPE_CHECKING:
    from io import FileIO

TABLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "table.bin")
MAGIC = b"TENONv1\n"
TOKENS = 256  # of a text; 15 * 65535 * 256 < 2**32, so no lane overflows
WORDS = 20_000  # kept with their sums, about 600 bytes each
CHARACTERS = 16_384  # of a text; 256 tokens are about 1,000

_LOW = bytes(code & 15 for code in range(256))
_HIGH = bytes(code >> 4 for code in range(256))
_PRIME = 4_294_967_291  # the largest below 2**32
_NOTHING = (0, 0, 0)  # what a word of another script says to a table that was taught English
_OPENED: dict[str, Table | None] = {}


class Table:
    """An open table; TenonError when the file is damaged, OSError when it cannot be read.

    name: «builtin:» and eight digits that change with the table; dims: the size of a vector; mean: of unit sentence vectors.
    """

    def __init__(self, path: str = TABLE) -> None:
        self._path = path
        self._words: dict[str, tuple[int, int, int]] = {}  # the sum of the rows in lanes, of their scales, their number
        with open(path, "rb", buffering=0) as file:
            self._size = os.fstat(file.fileno()).st_size
            head = file.read(16)
            rows, dims, bits = (int.from_bytes(head[start:end], "little") for start, end in ((8, 12), (12, 14), (14, 16)))
            if head[:8] != MAGIC or bits != 4 or not dims or dims % 2 or self._size < 16 + 4 * rows:
                raise TenonError(f"{path} is no table of embeddings, or a damaged one; install Tenon again.")
            self._offsets = _numbers(file.read(4 * rows + 4), 4, "I")
            size = self._offsets[-1] if len(self._offsets) else 0
            self._codes = 16 + 4 * rows + 4 + size + 2 * rows + 2 * dims
            if self._size != self._codes + rows * dims // 2:
                raise TenonError(f"{path} is not whole; install Tenon again.")
            self._tokens = file.read(size)
            self._scales = _numbers(file.read(2 * rows), 2, "H")
            mean = self._mean = file.read(2 * dims)
        self.dims = dims
        self.mean: list[int] = _numbers(mean, 2, "h").tolist()
        self.name = f"builtin:{int.from_bytes(mean, 'little') % _PRIME:08x}"

    def embed(self, text: str) -> list[int] | None:
        """The unit vector of a text's first 256 tokens; None when fewer than half of its words are known, as in other scripts.

        Raises OSError when the file is gone, or another one than was opened, and a word is new. What follows a last form feed stands beside the text and counts half.
        """
        own, mark, near = text.rpartition(BESIDE)
        if not mark or not own.strip():
            return self._embed(text)
        first, second = self._embed(own), self._embed(near)
        return first if first is None or second is None else unit([2 * a + b for a, b in zip(first, second)])

    def _embed(self, text: str) -> list[int] | None:
        total = scales = seen = known = 0
        left = TOKENS
        file = None
        try:
            for word in parts(text[:CHARACTERS]):
                entry = self._words.get(word) if word.isascii() else _NOTHING
                if entry is None:
                    file = file or self._open()
                    entry = self._learn(word, file)
                lanes, scale, count = entry
                if count > left:
                    file = file or self._open()
                    lanes, scale, count = self._sum(pieces(word, self.find)[:left], file)
                seen += 1
                known += count > 0
                total += lanes
                scales += scale
                left -= count
                if not left:
                    break
        finally:
            if file:
                file.close()
        if known * 2 < seen or not known:
            return None
        return unit(self._values(total, 8 * scales))

    def row(self, index: int) -> list[int]:
        """The whole numbers of a token's row."""
        file = self._open()
        try:
            lanes, scale, _ = self._sum([index], file)
        finally:
            file.close()
        return self._values(lanes, 8 * scale)

    def find(self, token: str) -> int | None:
        """The number of a token's row."""
        wanted = token.encode("utf-8", "replace")
        tokens, offsets = self._tokens, self._offsets
        low, high = 0, len(offsets) - 1
        while low < high:
            middle = (low + high) >> 1
            found = tokens[offsets[middle] : offsets[middle + 1]]
            if found < wanted:
                low = middle + 1
            elif found == wanted:
                return middle
            else:
                high = middle
        return None

    def _learn(self, word: str, file: FileIO) -> tuple[int, int, int]:
        if len(self._words) >= WORDS:
            self._words.clear()
        entry = self._words[word] = self._sum(pieces(word, self.find), file)
        return entry

    def _sum(self, rows: list[int], file: FileIO) -> tuple[int, int, int]:
        """The rows' numbers, each 8 * scale too large, in lanes; the sum of the scales; how many rows."""
        total = scales = 0
        half = self.dims // 2
        lanes = bytearray(4 * self.dims)
        for row in rows:
            file.seek(self._codes + row * half)
            codes = file.read(half)
            if len(codes) < half:
                raise OSError(f"{self._path} ends in the middle")
            lanes[0::8] = codes.translate(_LOW)
            lanes[4::8] = codes.translate(_HIGH)
            scale = self._scales[row]
            total += int.from_bytes(lanes, "little") * scale
            scales += scale
        return total, scales, len(rows)

    def _values(self, lanes: int, offset: int) -> list[int]:
        return [value - offset for value in _numbers(lanes.to_bytes(4 * self.dims, "little"), 4, "I")]

    def _open(self) -> FileIO:
        """The file that was opened first: rows of another one would be other words."""
        file = open(self._path, "rb", buffering=0)  # noqa: SIM115 - the caller closes it
        file.seek(self._codes - len(self._mean))
        if os.fstat(file.fileno()).st_size != self._size or file.read(len(self._mean)) != self._mean:
            file.close()
            raise OSError(f"{self._path} was replaced by another table")
        return file


def shared(path: str = TABLE) -> Table | None:
    """The table, opened once a process; None, also remembered, where the file is missing or damaged."""
    if path not in _OPENED:
        try:
            _OPENED[path] = Table(path)
        except (OSError, TenonError):
            _OPENED[path] = None
    return _OPENED[path]


def _numbers(data: bytes, size: int, kind: str, order: str = sys.byteorder) -> memoryview:
    """Little-endian numbers as the machine has them: `kind` I, H or h, of `size` bytes."""
    if order == "big":
        turned = bytearray(len(data))
        for place in range(size):
            turned[place::size] = data[size - 1 - place :: size]
        data = bytes(turned)
    return memoryview(data).cast(kind)  # type: ignore[call-overload,no-any-return]
