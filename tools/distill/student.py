"""What the student knows: the rows of its table, the tokens of a text, and the table as a file.

The tokens are those of the library (`tenon.base.text.parts`, `tenon.vectors.wordpiece.pieces`): training and evaluation see exactly what run time sees.
"""

from __future__ import annotations

import os
import struct
import sys

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "scripts"))

from tenon.base.text import is_unspaced, parts  # noqa: E402
from tenon.vectors.wordpiece import pieces  # noqa: E402

MAGIC = b"TENONv1\n"
TOKENS = 256  # of a text, at run time


class Vocabulary:
    """Tokens sorted by their bytes, and the numbers of a text's tokens."""

    def __init__(self, tokens: list[str]) -> None:
        self.tokens = sorted(tokens, key=lambda token: token.encode())
        self.number = {token: at for at, token in enumerate(self.tokens)}
        self.known: dict[str, list[int]] = {}

    def ids(self, text: str) -> list[int]:
        """The numbers of a text's tokens."""
        found: list[int] = []
        for word in parts(text):
            if word not in self.known:
                self.known[word] = pieces(word, self.number.get)
            found += self.known[word]
        return found[:TOKENS]


def can_occur(token: str) -> bool:
    """Whether a token of BERT's vocabulary comes out of our tokenizer: neither punctuation nor special nor what folding changes."""
    bare = token.removeprefix("##")
    if not bare or (token.startswith("##") and is_unspaced(bare[0])):
        return False
    return parts(bare) == [bare]


class Packed:
    """A table.bin: its vocabulary, its rows as floats, its mean."""

    def __init__(self, path: str) -> None:
        with open(path, "rb") as file:
            data = file.read()
        rows, dims, bits = struct.unpack_from("<IHH", data, 8)
        if data[:8] != MAGIC or bits != 4:
            raise SystemExit(f"{path} is no table")
        offsets = np.frombuffer(data, "<u4", rows + 1, 16)
        at = 16 + 4 * (rows + 1)
        self.vocabulary = Vocabulary([data[at + start : at + end].decode() for start, end in zip(offsets[:-1], offsets[1:])])
        at += int(offsets[-1])
        scales = np.frombuffer(data, "<u2", rows, at).astype(np.float32)
        at += 2 * rows
        self.mean = np.frombuffer(data, "<i2", dims, at).astype(np.float32) / 32768
        at += 2 * dims
        codes = np.frombuffer(data, np.uint8, rows * dims // 2, at).reshape(rows, dims // 2)
        self.rows = np.empty((rows, dims), np.float32)
        self.rows[:, 0::2] = (codes & 15).astype(np.float32) - 8
        self.rows[:, 1::2] = (codes >> 4).astype(np.float32) - 8
        self.rows *= scales[:, None]


def load(path: str) -> tuple[Vocabulary, np.ndarray]:
    """The vocabulary and rows of a table, or of what `train.py` saved, which is not rounded yet."""
    if path.endswith(".npz"):
        saved = np.load(path)
        return Vocabulary(saved["tokens"].tolist()), saved["rows"]
    table = Packed(path)
    return table.vocabulary, table.rows


def embed(vocabulary: Vocabulary, rows: np.ndarray, texts: list[str]) -> np.ndarray:
    """Unit vectors of the texts; zeros for one without tokens."""
    out = np.zeros((len(texts), rows.shape[1]), np.float32)
    for at, text in enumerate(texts):
        if found := vocabulary.ids(text):
            out[at] = rows[found].sum(0)
    return out / np.maximum(np.linalg.norm(out, axis=1, keepdims=True), 1e-9)
