"""Tenon beside other memories and indexes: same data, same machine, one run, one table.

    python3 bench/peers/run.py [--half dev|check] [--without NAME] [LOCOMO_FOLDER]

LOCOMO_FOLDER holds one JSON file per conversation (snap-research/locomo, CC BY-NC 4.0); without it only the scripted sessions are asked.
Each conversation and each repository is a store of its own, filled with what was said. A method whose package is missing is left out, with the reason.
Milliseconds are of one question, process start not counted; filling is all of the data, with embedding where the method embeds.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from typing import TYPE_CHECKING, Any

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [ROOT, os.path.join(ROOT, "scripts")]

from bench.peers import methods, sets  # noqa: E402
from bench.scripted import measure  # noqa: E402

if TYPE_CHECKING:
    from bench.peers.sets import Group


def main() -> int:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", default="", metavar="LOCOMO_FOLDER")
    parser.add_argument("--half", choices=("dev", "check"), default="", help="of the scripted sessions; both when not said")
    parser.add_argument("--without", action="append", default=[], choices=tuple(methods.METHODS), metavar="NAME", help="a method to leave out")
    options = parser.parse_args()
    data = {"scripted": sets.coding(options.half)}
    if options.folder:
        data = {"LoCoMo": sets.locomo(options.folder), **data}
    for name, groups in data.items():
        turns, questions = sum(len(group.turns) for group in groups), sum(len(group.questions) for group in groups)
        print(f"{name}: {len(groups)} groups, {turns} turns, {questions} questions")
    print(f"{'':20}" + "".join(f"{name:>46}" for name in data))
    print(f"{'':20}" + f"{measure.HEAD:>30}{'ms':>8}{'fill s':>8}" * len(data))
    for name, method in methods.METHODS.items():
        if name not in options.without:
            row(name, method, data)
    return 0


def row(name: str, method: Any, data: dict[str, list[Group]]) -> None:
    """Prints the figures of one method on all data, or why there are none."""
    cells = []
    try:
        for groups in data.values():
            cells.append(cell(method, groups))
    except ImportError as missing:
        cells = [f"  left out: {missing}"]
    print(f"{name:20}" + "".join(cells), flush=True)


def cell(method: Any, groups: list[Group]) -> str:
    """The figures of one method on one set of data."""
    rows: list[list[float]] = []
    filling = asking = 0.0
    for group in groups:
        with tempfile.TemporaryDirectory() as folder:
            began = time.perf_counter()
            filled = method(group, folder)
            between = time.perf_counter()
            found = [filled.ask(question) for question in group.questions]
            filling += between - began
            asking += time.perf_counter() - between
            filled.close()
            for question, ids in zip(group.questions, found):
                if question.any_answers:
                    place = measure.place_of([{one, group.partner.get(one, one)} for one in ids], question.gold)
                    rows.append(measure.figures([place]))
                else:
                    rows.append(measure.graded(ids, question.gold))
    return f"{measure.averages(rows):>30}{asking / len(rows) * 1000:8.2f}{filling:8.1f}"


if __name__ == "__main__":
    sys.exit(main())
