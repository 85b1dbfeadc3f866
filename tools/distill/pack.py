"""The table as it is shipped: 4 bits a number, one whole-number scale a row.

    python tools/distill/pack.py rows.npz table.bin

    8 bytes        TENONv1 and a line feed
    <IHH           rows, dimensions, bits (4)
    (rows+1) x u32 where each token begins in the token bytes
    token bytes    UTF-8, sorted, end to end
    rows x u16     scale of the row
    dims x i16     mean of unit sentence vectors, times 32768
    rows x dims/2  two codes a byte, the low half first; a number is scale * (code - 8)

A text is the sum of its rows, so only the ratios of the scales matter: the largest of them is 65535.
"""

from __future__ import annotations

import struct
import sys

import numpy as np

MAGIC = b"TENONv1\n"
TRIES = 60  # scales tried for a row
LARGEST = 65_535


def main() -> int:
    """Writes the table; 2 when called wrongly."""
    if len(sys.argv) != 3:
        sys.stderr.write(__doc__ or "")
        return 2
    saved = np.load(sys.argv[1])
    data = pack([str(token) for token in saved["tokens"]], saved["rows"], saved["mean"])
    with open(sys.argv[2], "wb") as file:
        file.write(data)
    print(f"{sys.argv[2]}: {len(data)} bytes, {len(saved['tokens'])} rows")
    return 0


def pack(tokens: list[str], rows: np.ndarray, mean: np.ndarray) -> bytes:
    """The bytes of the table; the tokens are sorted by their bytes already."""
    raw = [token.encode() for token in tokens]
    if raw != sorted(set(raw)):
        raise SystemExit("the tokens are not in order")
    best = scales(rows)
    whole = np.clip(np.rint(best * (LARGEST / best.max())), 1, LARGEST).astype("<u2")
    used = whole.astype(np.float64) * (best.max() / LARGEST)
    codes = (np.clip(np.rint(rows / used[:, None]), -8, 7) + 8).astype(np.uint8)
    offsets = np.concatenate([[0], np.cumsum([len(token) for token in raw])]).astype("<u4")
    middle = np.clip(np.rint(mean * 32768), -32768, 32767).astype("<i2")
    head = MAGIC + struct.pack("<IHH", len(raw), rows.shape[1], 4)
    return head + offsets.tobytes() + b"".join(raw) + whole.tobytes() + middle.tobytes() + (codes[:, 0::2] | codes[:, 1::2] << 4).tobytes()


def scales(rows: np.ndarray) -> np.ndarray:
    """The scale of each row that leaves the least squared error."""
    top = np.maximum(np.abs(rows).max(1), 1e-9)
    best = np.full(len(rows), np.inf)
    found = np.ones(len(rows))
    for share in np.linspace(0.45, 1.1, TRIES):
        scale = top * share / 7.5
        error = ((np.clip(np.rint(rows / scale[:, None]), -8, 7) * scale[:, None] - rows) ** 2).sum(1)
        better = error < best
        best[better] = error[better]
        found[better] = scale[better]
    return found


if __name__ == "__main__":
    sys.exit(main())
