"""What spreading gives: recall on the scripted sessions by what words and meaning find alone, and with what leads on from it.

    python3 bench/spreading.py [--questions]

The planted facts of bench/scripted are the memories. Associations are made as the background makes them, by the turns that facts came from, and
taken at their strongest: as if the sessions had just been. Approved edges lead from a correction to what it corrects («refines»), and between two
facts of a repository that share a long word with no third («related_to»).
R@1, R@5 and nDCG@10 by the type of question, of the memories alone and of memories and archive; then what the prompt hook offers. «dev» may be fitted on,
«check» may not. --questions names those of the dev half whose place changed.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import tempfile
from contextlib import ExitStack
from typing import TYPE_CHECKING

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [ROOT, os.path.join(ROOT, "scripts")]

from bench import coding, scripted  # noqa: E402
from bench.scripted import measure  # noqa: E402
from tenon.base import settings  # noqa: E402
from tenon.digest import associating  # noqa: E402
from tenon.recall.recall import recall  # noqa: E402
from tenon.store import edges  # noqa: E402

if TYPE_CHECKING:
    from bench.scripted import Filled, Question, Session
    from tenon.store.db import Store

    Places = dict[str, int]

LINKS = ("none", "associations", "edges", "both")
HEAD = "".join(f"{name:>24}" for name in LINKS)


def main() -> int:
    """Prints a table for each half and source, and one of both errors of abstention with and without."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", action="store_true", help="name the questions of the dev half whose place changed")
    options = parser.parse_args()
    told, asked = scripted.sessions(), scripted.questions()
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        os.environ["TENON_HOME"] = os.path.join(folder, "home")  # nobody's settings but the defaults
        stores = {}
        for links in LINKS:
            store, filled = coding.stored(stack, os.path.join(folder, links), told, True, 0)
            linked(store, filled, told, max(one.asked for one in asked), links)
            stores[links] = (store, filled)
        count, strong = stores["both"][0].one("SELECT count(*), sum(strength >= 0.5) FROM association") or (0, 0)
        print(f"{count} associations, {strong} of them strong; {stores['both'][0].value('SELECT count(*) FROM edge')} edges")
        for half in scripted.HALVES:
            for source in ("memories", "both"):
                table(stores, [one for one in asked if one.half == half and one.type in scripted.TYPES], source, options.questions)
        for links in ("none", "both"):
            coding.abstention(*stores[links], asked, f"archive and memories, links: {links}")
    return 0


def linked(store: Store, filled: Filled, told: list[Session], now: float, links: str) -> None:
    """Makes the links of that name in a store that has none."""
    if links in ("associations", "both"):
        while associating.catch_up(store, now):
            pass
    refs = {fact: ref for ref, fact in filled.facts.items()}
    for repository, origin, target, kind in pairs(told) if links in ("edges", "both") else ():
        home = filled.repositories[repository]
        edges.approve(store, home, edges.propose(store, home, refs[origin], refs[target], kind, "for the measurement", now), now)


def pairs(told: list[Session]) -> list[tuple[str, str, str, str]]:
    """The edges: repository, origin, target, kind."""
    found: dict[tuple[str, str], tuple[str, str, str, str]] = {}
    sharing: dict[tuple[str, str], set[str]] = {}
    for session in told:
        for fact in session.planted:
            for word in re.findall(r"\w{5,}", fact["memory"].lower()):
                sharing.setdefault((session.repository, word), set()).add(fact["id"])
            if fact.get("supersedes"):
                found[fact["id"], fact["supersedes"]] = (session.repository, fact["id"], fact["supersedes"], "refines")
    for (repository, _), ids in sorted(sharing.items()):
        if len(ids) == 2:
            one, other = sorted(ids)
            if (other, one) not in found:
                found.setdefault((one, other), (repository, one, other, "related_to"))
    return list(found.values())


def table(stores: dict[str, tuple[Store, Filled]], asked: list[Question], source: str, questions: bool) -> None:
    """Prints the figures of one half and one source by type, without links and with each sort of them."""
    places = {links: places_of(*stores[links], asked, source) for links in LINKS}
    print(f"\n{asked[0].half}, {source}\n{'':22}{HEAD}\n{'':22}" + f"{'R@1':>8}{'R@5':>8}{'nDCG':>8}" * len(LINKS))
    for kind in (*scripted.TYPES, "all"):
        ids = [one.id for one in asked if kind in ("all", one.type)]
        print(f"  {kind:20}" + "".join(line([places[links][one] for one in ids]) for links in LINKS))
    for one in asked if questions and asked[0].half == "dev" else ():
        found = [places[links][one.id] for links in LINKS]
        if len(set(found)) > 1:
            print(f"    {one.id} {one.type}: {', '.join(f'{links} {place}' for links, place in zip(LINKS, found))}: {one.text}")


def places_of(store: Store, filled: Filled, asked: list[Question], source: str) -> Places:
    """The place of the first answer to each question, 0 where there is none."""
    per_day = settings.load().per_day()
    places = {}
    for one in asked:
        found = recall(
            store, one.text, scope=[filled.repositories[one.repository]], k=coding.DEPTH, now=one.asked, per_day=per_day, memories=True, archive=source != "memories"
        ).hits  # fmt: skip
        places[one.id] = measure.place_of([coding.shown(filled, hit) for hit in found], one.gold)
    return places


def line(places: list[int]) -> str:
    """R@1, R@5 and nDCG@10 of the places."""
    first, five, _, gain = measure.figures(places)
    return f"{first:8.3f}{five:8.3f}{gain:8.3f}"


if __name__ == "__main__":
    sys.exit(main())
