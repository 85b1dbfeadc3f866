"""The shortlist and the cosines over vectors of several sizes, against brute force by numpy in one thread, in turn.

    python3 bench/vectors.py [ROWSxDIMS ...]

For each size: milliseconds (medians) of numpy's exact search, of the shortlist, of the cosines of what is on it, the ratio of
both to numpy, and how many of the ten nearest by numpy are among the ten nearest by ours; what is listed and not found has a
cosine within about 0.001 of the tenth, the rounding of a packed vector. A last line times the embedding.
The vectors of 128 dimensions are those of texts from `bench/corpus.py` by the table that comes with Tenon, looked up by
prompts of eight words; above 100,000 rows, sums of two of them. Others, and all where there is no table, are clustered: one
random centre for every 50 rows, and noise nine tenths as long as the centre.
"""

from __future__ import annotations

import importlib
import os
import sys
import time

os.environ["OPENBLAS_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = "1"
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [ROOT, os.path.join(ROOT, "scripts")]

from bench import corpus  # noqa: E402
from tenon.vectors import codes, scan, table  # noqa: E402

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

SIZES = "1000x128 1000x384 1000x768 10000x128 10000x384 10000x768 100000x128 100000x384 100000x768 1000000x128"
QUERIES = 25
WANTED = 200
MORE = 400  # wanted of more than REAL rows
SEALED = 8192  # rows of a block
REAL = 100_000  # rows that are embedded; more are made of them


def main() -> int:
    """Prints one line per size."""
    try:
        numpy = importlib.import_module("numpy")
    except ImportError:
        print("numpy is not installed, so there is nothing to compare with")
        return 1
    for size in sys.argv[1:] or SIZES.split():
        rows, dims = (int(part) for part in size.split("x"))
        vectors, queries, origin = _vectors(numpy, rows, dims)
        _measure(numpy, vectors, queries, origin)
    _embedding()
    return 0


def _vectors(numpy: Any, rows: int, dims: int) -> tuple[Any, Any, str]:
    """So many rows of length one, as many queries as are asked, and where they come from."""
    chance = numpy.random.default_rng(1)
    known = table.shared()
    if known is not None and known.dims == dims:
        texts = corpus.memories(min(rows, REAL))
        made = numpy.array([vector for vector in map(known.embed, texts) if vector], dtype=numpy.float32)
        if rows > len(made):
            first, second = chance.integers(0, len(made), (2, rows - len(made)))
            made = numpy.concatenate([made, made[first] + made[second]])
        queries = numpy.array([vector for vector in map(known.embed, corpus.cues(QUERIES, 8)) if vector], dtype=numpy.float32)
        return _normal(numpy, made), _normal(numpy, queries), "sentences"
    centres = _normal(numpy, chance.standard_normal((max(1, rows // 50), dims), dtype=numpy.float32))
    made = chance.standard_normal((rows + QUERIES, dims), dtype=numpy.float32) * numpy.float32(0.9 / dims**0.5)
    made += centres[chance.integers(0, len(centres), rows + QUERIES)]
    made = _normal(numpy, made)
    return made[:rows], made[rows:], "clusters"


def _normal(numpy: Any, vectors: Any) -> Any:
    vectors /= numpy.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors


def _blocks(numpy: Any, vectors: Any) -> list[tuple[bool, int, bytes]]:
    """The rows' signs in sealed blocks, the rest in an open one; numpy's bits are held against ours on the first rows."""
    middle = vectors.mean(axis=0) * codes.SCALE
    mean = [round(value) for value in middle.tolist()]
    blocks = []
    for start in range(0, len(vectors), SEALED):
        bits = numpy.rint(vectors[start : start + SEALED] * codes.SCALE) > numpy.array(mean)
        signs = numpy.packbits(bits, axis=1, bitorder="little")
        width, raw = signs.shape[1], signs.tobytes()
        blocks.append((True, SEALED, scan.columns(raw, width)) if len(signs) == SEALED else (False, len(signs), raw))
    some = [[round(value * codes.SCALE) for value in vector] for vector in vectors[:20].tolist()]
    ours = b"".join([codes.signs(vector, mean) for vector in some])
    sealed, _, raw = blocks[0]
    assert (scan.row_major(raw, width) if sealed else raw)[: len(ours)] == ours
    return blocks


def _measure(numpy: Any, vectors: Any, queries: Any, origin: str) -> None:
    blocks = _blocks(numpy, vectors)
    wanted = WANTED if len(vectors) <= REAL else MORE
    exact: list[float] = []
    short: list[float] = []
    close: list[float] = []
    found, near, listed = 0, 0, 0
    for query in queries:
        began = time.perf_counter()
        score = vectors @ query
        nearest = numpy.argpartition(-score, 10)[:10]
        exact.append(time.perf_counter() - began)
        vector = codes.unit(query.tolist())
        assert vector
        began = time.perf_counter()
        places = scan.shortlist(vector, blocks, wanted)
        short.append(time.perf_counter() - began)
        rows = [block * SEALED + position for block, position in places]
        packed = [codes.pack(codes.unit(vectors[row].tolist()) or [1]) for row in rows]
        began = time.perf_counter()
        ranked = sorted(zip(codes.cosines(vector, packed), rows), reverse=True)[:10]
        close.append(time.perf_counter() - began)
        found += len(set(nearest.tolist()) & {row for _, row in ranked})
        near += len(set(nearest.tolist()) & set(rows))
        listed += len(rows)
    numpy_ms, short_ms, close_ms = (sorted(times)[len(times) // 2] * 1000 for times in (exact, short, close))
    print(
        f"{len(vectors):>9,} x {vectors.shape[1]:<4} {origin:9} numpy {numpy_ms:7.2f} ms; shortlist {short_ms:6.2f} + cosines {close_ms:5.2f} ms, "
        f"ratio {(short_ms + close_ms) / numpy_ms:6.2f}, recall@10 {found / 10 / len(queries):.3f} ({near / 10 / len(queries):.3f} of them listed, with {listed / len(queries):.0f} rows)",
        flush=True,
    )


def _embedding() -> None:
    began = time.perf_counter()
    try:
        known = table.Table()
    except OSError:
        print("there is no table")
        return
    opened = time.perf_counter() - began
    texts = [text[:72] for text in corpus.memories(2000)]
    took = []
    for _ in range(2):
        for text in texts:
            began = time.perf_counter()
            known.embed(text)
            took.append(time.perf_counter() - began)
    cold, warm = (sorted(times)[len(texts) // 2] * 1e6 for times in (took[: len(texts)], took[len(texts) :]))
    print(f"table opened in {opened * 1000:.2f} ms; a text of 72 characters in {warm:.0f} µs, {cold:.0f} µs while words are new")


if __name__ == "__main__":
    sys.exit(main())
