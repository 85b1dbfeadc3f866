"""What plain code spots in the forty scripted coding sessions: how much of what was planted, how much else, and how fast.

    python3 bench/spotting.py [--misses]

The sessions of `bench/scripted/` go through the real capture, then `digest/spotting.py` looks through them. A fact is found when a memory came from
one of its turns and has at least half of its high-entropy words: names, numbers and identifiers of the fact, and those of its words that no more than
two sessions have, each as far as its own turns say it. A memory is true when it came from a turn of a fact and has any such word of it; what else was
spotted counts as false, also where it is no harm (a command that ran, but was not planted). «closed»: of the corrections that were found, how many had the
memory that they correct closed or linked. The control are the same sessions without the turns of their facts: whatever is spotted there is noise.

The patterns were written while looking at «dev» only. `--misses` names what was not found, and what was false, in «dev». Times are of this process's
CPU, for reading, spotting and writing: the scripted turns, and the same with outputs of 20 KB and pasted prompts of 100 KB among them.
"""

from __future__ import annotations

import argparse
import copy
import os
import re
import sys
import tempfile
import time
from typing import TYPE_CHECKING, Any

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [ROOT, os.path.join(ROOT, "scripts")]

from bench import scripted  # noqa: E402
from tenon.base.text import words  # noqa: E402
from tenon.digest import spotting  # noqa: E402
from tenon.store import db  # noqa: E402

if TYPE_CHECKING:
    from bench.scripted import Filled, Session
    from tenon.store.db import Store

KINDS = ("decision", "correction", "convention", "preference", "gotcha", "fact", "command", "test")
RARE = 2  # sessions with a word of high entropy
LATER = 2_000_000_000.0
TURNS = 1000
MEMORIES = "SELECT id, kind, text, status FROM memory ORDER BY id"
LINEAGE = "SELECT turn FROM lineage WHERE memory = ?"
LINKED = "SELECT target FROM edge WHERE origin = ? UNION SELECT id FROM memory WHERE successor = ?"


class Spotted:
    """One memory: its row, kind and text, the scripted turns it came from, whether it was closed."""

    def __init__(self, row: tuple[Any, ...], turns: set[str]) -> None:
        self.id, self.kind, self.text, self.status = row
        self.turns = turns
        self.words = set(words(self.text))


def main() -> int:
    """Prints a table for each half, the control, and the times."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--misses", action="store_true", help="name what was not found and what was false in the dev half")
    options = parser.parse_args()
    told = scripted.sessions()
    common = spread(told)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TENON_HOME"] = os.path.join(folder, "home")  # nobody's settings but the defaults
        for half in scripted.HALVES:
            mine = [session for session in told if session.half == half]
            with db.open_store(os.path.join(folder, f"{half}.db")) as store:
                found, filled = spotted(store, mine, os.path.join(folder, half))
                table(store, half, mine, found, filled, common, options.misses and half == "dev")
            bare = [without_facts(session) for session in mine]
            with db.open_store(os.path.join(folder, f"{half}-bare.db")) as store:
                noise, _ = spotted(store, bare, os.path.join(folder, f"{half}-bare"))
                turns = sum(len(session.turns) for session in bare)
                print(f"  without the facts: {len(noise)} in {turns} turns, {len(noise) / turns * 100:.1f} of 100 turns")
                for one in noise if options.misses and half == "dev" else ():
                    print(f"    noise: {one.kind}: {one.text}")
        for what, long in (("as scripted", False), ("with long outputs and pastes", True)):
            print(f"\n{what}: {timed(told, os.path.join(folder, what.split()[0]), long):.2f} s of CPU per 1,000 turns")
    return 0


def spotted(store: Store, told: list[Session], folder: str) -> tuple[list[Spotted], Filled]:
    """What is spotted in the sessions."""
    filled = scripted.fill(store, told, folder, remembered=False)
    spotting.catch_up(store, now=LATER, budget_s=1e6)
    found = [Spotted(row, {filled.known(f"t{turn}") for (turn,) in store.rows(LINEAGE, (row[0],))} - {""}) for row in store.rows(MEMORIES)]
    return found, filled


def table(store: Store, half: str, told: list[Session], found: list[Spotted], filled: Filled, common: dict[str, int], misses: bool) -> None:
    """Prints recall and precision by kind, and what became of what was corrected."""
    facts = {fact["id"]: (session, fact) for session in told for fact in session.planted}
    wanted = {name: entropy(session, fact, common) for name, (session, fact) in facts.items()}
    turns = {name: {session.named(turn) for turn in fact["turns"]} for name, (session, fact) in facts.items()}
    hits = {name: [one for one in found if one.turns & turns[name] and 2 * len(one.words & wanted[name]) >= len(wanted[name])] for name in facts}
    true = [one for one in found if any(one.turns & turns[name] and one.words & wanted[name] for name in facts)]
    print(f"\n{half}\n{'':14}{'planted':>8}{'found':>7}{'recall':>8}")
    for kind in (*KINDS, ""):
        names = [name for name, (_, fact) in facts.items() if kind in ("", fact["kind"])]
        got = sum(bool(hits[name]) for name in names)
        print(f"  {kind or 'all':12}{len(names):8}{got:7}{got / max(1, len(names)):8.2f}")
    print(f"\n{'':14}{'spotted':>8}{'true':>7}{'precision':>10}")
    for kind in (*sorted({one.kind for one in found}), ""):
        some = [one for one in found if kind in ("", one.kind)]
        right = sum(one in true for one in some)
        print(f"  {kind or 'all':12}{len(some):8}{right:7}{right / max(1, len(some)):10.2f}")
    print(f"  closed: {closed(store, facts, hits)}")
    for name in facts if misses else ():
        if not hits[name]:
            print(f"    not found: {name} {facts[name][1]['kind']}: {facts[name][1]['memory']}")
    for one in found if misses else ():
        if one not in true:
            print(f"    false: {one.kind}: {one.text}")


def closed(store: Store, facts: dict[str, tuple[Session, dict[str, Any]]], hits: dict[str, list[Spotted]]) -> str:
    """Of the corrections of which both sides were found, how many have the old side closed, and how many only linked."""
    both = shut = linked = 0
    for name, (_, fact) in facts.items():
        old = hits.get(str(fact.get("supersedes")), [])
        if not old or not hits[name]:
            continue
        both += 1
        ends = {row[0] for new in hits[name] for row in store.rows(LINKED, (new.id, new.id))}
        shut += any(one.status == "superseded" for one in old)
        linked += any(one.id in ends and one.status != "superseded" for one in old)
    return f"{shut} of {both} corrected memories, {linked} more linked"


def entropy(session: Session, fact: dict[str, Any], common: dict[str, int]) -> set[str]:
    """The words of a fact that tell it from others, as far as its turns say them."""
    said = set(words(" ".join(said_in(turn) for turn in session.turns if turn["id"] in fact["turns"])))
    told = " ".join(str(fact.get(key) or "") for key in ("memory", "command", "expected", "actual"))
    names = {word for token in re.findall(r"\S+", told) if re.search(r"\d|_|\w[A-Z]|\w[./:]\w", token) for word in words(token)}
    return {word for word in words(told) if word in said and len(word) > 1 and (word in names or common.get(word, 0) <= RARE)}


def spread(told: list[Session]) -> dict[str, int]:
    """In how many sessions each word is."""
    count: dict[str, int] = {}
    for session in told:
        for word in {word for turn in session.turns for word in words(said_in(turn))}:
            count[word] = count.get(word, 0) + 1
    return count


def said_in(turn: dict[str, Any]) -> str:
    """All the words of a scripted turn."""
    return " ".join(str(part) for part in (turn.get("prompt"), turn.get("reply"), *turn.get("input", {}).values(), turn.get("result")) if part)


def without_facts(session: Session) -> Session:
    """The session without the turns of its facts."""
    gone = {
        turn
        for fact in session.planted
        for key in ("turns", "failing", "passing", "ran")
        for turn in ([fact[key]] if isinstance(fact.get(key), str) else fact.get(key, ()))
    }
    bare = copy.copy(session)
    bare.turns = [turn for turn in session.turns if turn["id"] not in gone]
    bare.planted = []
    return bare


def timed(told: list[Session], folder: str, long: bool) -> float:
    """Seconds of CPU per 1,000 archived turns."""
    many: list[Session] = []
    count = 0
    while count < TURNS:
        for session in told:
            again = copy.deepcopy(session)
            again.id, again.planted = f"{session.id}-{len(many)}", []
            again.began += len(many) * 3600.0
            many.append(again)
            count += len(again.turns)
            if long:
                lengthen(again)
    with db.open_store(f"{folder}.db") as store:
        scripted.fill(store, many, folder, remembered=False)
        turns = int(store.value("SELECT count(*) FROM turn"))
        began = time.process_time()
        spotting.catch_up(store, now=LATER, budget_s=1e6)
        return (time.process_time() - began) / turns * 1000


def lengthen(session: Session) -> None:
    """Gives each output 20 KB of a log, and the last prompt a paste of 100 KB."""
    log = "".join(f"2026-03-01 12:00:{number % 60:02} INFO worker {number}: handled a request in {number % 97} ms\n" for number in range(330))
    for turn in session.turns:
        if "tool" in turn:
            turn["result"] = log + turn["result"]
    prompt = [turn for turn in session.turns if "prompt" in turn][-1]
    prompt["prompt"] += "\n\n" + "The worker takes the next job and hands it on, as it always did, unless the queue is closed. " * 1100


if __name__ == "__main__":
    sys.exit(main())
