"""How good a table is: recall of the right text by cosine alone, on data that no table was trained with.

    python tools/distill/evaluate.py table.bin [rows.npz ...] [--distractors FILE] [--locomo FOLDER] [--beliefs FILE]

LoCoMo (development half): the share of gold turns in the first ten. Concepts: a kept-out question of a group against
the kept-out statement of the same group among those of all groups and 500 sentences of documentation; «any» is whether
some statement of the group comes first, or among the first five. «Met» groups have other sentences in training, «unmet»
ones (every sixth) have none.
"""

from __future__ import annotations

import argparse
import glob
import json
import os
import re
import sys
from functools import partial
from typing import TYPE_CHECKING

import concepts
import numpy as np
from student import embed, load

if TYPE_CHECKING:
    from collections.abc import Callable

    Embed = Callable[[list[str]], np.ndarray]


def main() -> int:
    """Prints a line for each table."""
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("tables", nargs="+")
    ask.add_argument("--distractors", required=True)
    ask.add_argument("--locomo", default="")
    ask.add_argument("--beliefs", default="")
    asked = ask.parse_args()
    for path in asked.tables:
        vocabulary, rows = load(path)
        print(path, line(partial(embed, vocabulary, rows), asked.distractors, asked.locomo, asked.beliefs))
    return 0


def line(vectors: Embed, distractors: str, locomo: str, beliefs: str) -> str:
    """All figures of an embedder, for reading."""
    said = []
    if locomo:
        said.append(f"LoCoMo dev R@10 {talks(vectors, locomo):.3f}")
    for name, groups in (("met", concepts.met()), ("unmet", concepts.unmet())):
        said.append("concepts {} R@1 {:.3f} R@5 {:.3f}, any R@1 {:.3f} R@5 {:.3f}".format(name, *paraphrases(vectors, groups, distractors)))
    if beliefs:
        said.append("precisionMemBench R@10 {:.3f} R@3 {:.3f}".format(*believed(vectors, beliefs)))
    return ", ".join(said)


def talks(vectors: Embed, folder: str) -> float:
    """recall@10 over the questions of categories 1 to 4 of LoCoMo conversations."""
    shares = []
    for path in sorted(glob.glob(os.path.join(folder, "*.json"))):
        with open(path, encoding="utf-8") as file:
            talk = json.load(file)
        turns = [turn for number in range(1, 100) for turn in talk.get(f"session_{number}", [])]
        ids = [turn["dia_id"] for turn in turns]
        rows = vectors([f"{turn['speaker']}: {turn['text']}" + (f" ({turn['blip_caption']})" if turn.get("blip_caption") else "") for turn in turns])
        asked = [(qa["question"], gold) for qa in talk["qa"] if qa["category"] != 5 and (gold := evidence(qa["evidence"]) & set(ids))]
        best = np.argsort(-(vectors([question for question, _ in asked]) @ rows.T), axis=1, kind="stable")[:, :10]
        shares += [len(gold & {ids[at] for at in found}) / len(gold) for (_, gold), found in zip(asked, best)]
    return float(np.mean(shares))


def evidence(given: list[str]) -> set[str]:
    """The gold turns of a question; ids that were written together or with slips are mended."""
    return {f"D{int(session)}:{int(turn)}" for session, turn in re.findall(r"D:?(\d+):0*(\d+)", " ".join(given))}


def paraphrases(vectors: Embed, groups: list[list[str]], distractors: str) -> list[float]:
    """recall@1 and @5 of a group's kept-out statement for its kept-out question, then the same for any statement of the group."""
    every = concepts.groups()
    with open(distractors, encoding="utf-8") as file:
        other = vectors(file.read().splitlines())
    asked = vectors([concepts.kept_out(group)[0] for group in groups])
    own = np.array([every.index(group) for group in groups])
    shares = []
    for said in ([concepts.kept_out(group)[1:] for group in every], [group[1::2] for group in every]):
        owner = np.array([at for at, group in enumerate(said) for _ in group])
        scores = asked @ vectors([text for group in said for text in group]).T
        best = np.where(owner[None, :] == own[:, None], scores, -2).max(1)
        rest = np.concatenate([np.where(owner[None, :] == own[:, None], -2, scores), asked @ other.T], axis=1)
        ranks = (rest > best[:, None]).sum(1)
        shares += [float((ranks < 1).mean()), float((ranks < 5).mean())]
    return shares


def believed(vectors: Embed, path: str) -> tuple[float, float]:
    """recall@10 and @3 of the beliefs that a case of precisionMemBench names."""
    with open(path, encoding="utf-8") as file:
        bench = json.load(file)
    names = list(bench["beliefs"])
    order = np.argsort(-(vectors([query for query, _ in bench["cases"]]) @ vectors(list(bench["beliefs"].values())).T), axis=1, kind="stable")
    shares = [[len({names[at] for at in row[:k]} & set(gold)) / len(gold) for k in (10, 3)] for (_, gold), row in zip(bench["cases"], order)]
    return tuple(np.mean(shares, axis=0))  # type: ignore[return-value]


if __name__ == "__main__":
    sys.exit(main())
