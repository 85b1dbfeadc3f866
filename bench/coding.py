"""Recall on forty scripted coding sessions: do later prompts find what was said, and does nothing come where there is nothing.

    python3 bench/coding.py [--everywhere] [--ranking fused|classic] [--distractors N] [--misses]

The sessions of `bench/scripted/` go through the real capture; questions are asked of the archive, and of the planted facts as memories,
in the repository they belong to (`--everywhere`: in all eight at once; N distractors: so many exchanges about something else in
each). A hit of the archive shows an exchange, so it answers when the turn or its other half does; both rankings are read that way.
«dev» may be fitted on, «check» may not. «newest first»: of the corrections, how many have the newest answer before the corrected one.

Abstention is asked as the prompt hook asks, with its defaults; prompts too short for the hook are left out. «beside»: something came, and the answer was not in it.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [ROOT, os.path.join(ROOT, "scripts")]

from bench import corpus, scripted  # noqa: E402
from bench.scripted import measure  # noqa: E402
from tenon.base import settings  # noqa: E402
from tenon.base.text import wide_length  # noqa: E402
from tenon.recall import offer  # noqa: E402
from tenon.recall.recall import recall  # noqa: E402
from tenon.store import archive, db  # noqa: E402

if TYPE_CHECKING:
    from bench.scripted import Filled, Question, Session
    from tenon.recall.recall import Hit
    from tenon.store.db import Store

SOURCES = ("archive", "memories", "both")
DEPTH = 10
ELSEWHERE_AT = 1_780_300_800.0  # 2026-06-01, in the middle of the scripted sessions


def main() -> int:
    """Prints a table for each half and source, and one of both errors of abstention."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--everywhere", action="store_true")
    parser.add_argument("--ranking", choices=("fused", "classic"), default="fused")
    parser.add_argument("--distractors", type=int, default=0, metavar="N")
    parser.add_argument("--misses", action="store_true", help="name the questions of the dev half that were not answered in five")
    options = parser.parse_args()
    told, asked = scripted.sessions(), scripted.questions()
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        os.environ["TENON_HOME"] = os.path.join(folder, "home")  # nobody's settings but the defaults
        alone, whole = (stored(stack, os.path.join(folder, name), told, name == "whole", options.distractors) for name in ("alone", "whole"))
        for half in scripted.HALVES:
            for source in SOURCES:
                table(*whole, told, [one for one in asked if one.half == half and one.type in scripted.TYPES], source, options)
        abstention(*alone, asked, "archive alone")
        abstention(*whole, asked, "archive and memories")
    return 0


def stored(stack: ExitStack, folder: str, told: list[Session], remembered: bool, distractors: int) -> tuple[Store, Filled]:
    """A store with the sessions, closed with the stack, and what is in it."""
    os.makedirs(folder)
    store = stack.enter_context(db.open_store(os.path.join(folder, "tenon.db")))
    filled = scripted.fill(store, told, folder, remembered=remembered)
    for nth, repository in enumerate(filled.repositories.values()):
        distract(store, repository, distractors, nth)
    return store, filled


def distract(store: Store, repository: int, count: int, seed: int) -> None:
    """Puts so many exchanges about something else into the repository, in one session."""
    texts = elsewhere(count, seed)
    number = archive.session(store, f"elsewhere-{repository}", repository=repository, folder="/elsewhere", at=ELSEWHERE_AT)
    rows = [
        archive.Row(
            uuid=f"{repository}-{nth}",
            parent=f"{repository}-{nth - 1}",
            role=role,
            kind=kind,
            source=role,
            at=ELSEWHERE_AT + 60.0 * nth,
            content=[{"type": "text", "text": text}],
        )
        for nth, text in enumerate(texts)
        for role, kind in ((("user", "prompt"), ("assistant", "reply"))[nth % 2],)
    ]
    archive.append(store, number, repository, rows)


def elsewhere(count: int, seed: int) -> list[str]:
    """The prompts and replies, in turn, of so many exchanges about something else."""
    return corpus.memories(2 * count, seed) if count else []


def table(store: Store, filled: Filled, told: list[Session], asked: list[Question], source: str, options: argparse.Namespace) -> None:
    """Prints the figures of one half and one source by type, plain FTS5 and Tenon side by side."""
    texts, partner = documents(told, source)
    for nth, repository in enumerate(filled.repositories if source != "memories" else ()):
        texts += [("", repository, text) for text in elsewhere(options.distractors, nth)]
    plain = measure.Plain(texts)
    places: dict[str, dict[str, list[int]]] = {kind: {"plain": [], "ours": []} for kind in scripted.TYPES}
    newest = {"plain": 0, "ours": 0}
    spent = 0.0
    missed = []
    per_day = settings.load().per_day()
    for question in asked:
        scope = None if options.everywhere else [filled.repositories[question.repository]]
        began = time.perf_counter()
        found = recall(
            store, question.text, scope=scope, k=DEPTH, now=question.asked, per_day=per_day, memories=source != "archive", archive=source != "memories", ranking=options.ranking
        ).hits  # fmt: skip
        spent += time.perf_counter() - began
        answers = {
            "ours": [shown(filled, hit) for hit in found],
            "plain": [{one, partner.get(one, one)} for one in plain.search(question.text, "" if options.everywhere else question.repository, DEPTH)],
        }
        for who, hits in answers.items():
            place = measure.place_of(hits, question.gold)
            places[question.type][who].append(place)
            if question.stale:
                old = measure.place_of(hits, question.stale)
                newest[who] += place > 0 and (not old or place <= old)
        if not 0 < places[question.type]["ours"][-1] <= 5:
            missed.append(question)
    print(f"\n{asked[0].half}, {source} ({options.ranking}, {spent / len(asked) * 1000:.2f} ms a question)")
    print(f"{'':30}{'plain FTS5':>30}{'Tenon':>32}\n{'':24}{'asked':>6}{measure.HEAD}  {measure.HEAD}")
    for kind, both in places.items():
        print(f"  {kind:22}{len(both['ours']):6}{measure.line(both['plain'])}  {measure.line(both['ours'])}")
    every = {who: [place for both in places.values() for place in both[who]] for who in ("plain", "ours")}
    print(f"  {'all':22}{len(asked):6}{measure.line(every['plain'])}  {measure.line(every['ours'])}")
    corrections = max(1, len(places["correction"]["ours"]))
    print(f"  {'newest first':22}{corrections:6}{newest['plain'] / corrections:7.3f}{'':25}{newest['ours'] / corrections:7.3f}")
    for question in missed if options.misses and asked[0].half == "dev" else ():
        print(f"    not in five: {question.id} {question.type}: {question.text}")


def documents(told: list[Session], source: str) -> tuple[list[tuple[str, str, str]], dict[str, str]]:
    """What the plain index holds (id, repository, text), and the other half of each turn's exchange, as Tenon would show it."""
    texts = [(fact["id"], session.repository, fact["memory"]) for session in told for fact in session.planted if source != "archive"]
    partner: dict[str, str] = {}
    for session in told if source != "memories" else ():
        prompt = ""
        spoken = session.spoken()
        for turn, after in zip(spoken, [*spoken[1:], {}]):
            own = session.named(turn["id"])
            texts.append((own, session.repository, turn.get("prompt") or turn["reply"]))
            if "prompt" in turn:
                prompt = own
                if "reply" in after:
                    partner[own] = session.named(after["id"])
            elif prompt:
                partner[own] = prompt
    return texts, partner


def shown(filled: Filled, hit: Hit) -> set[str]:
    """The scripted ids of what a hit shows: a fact, or a turn and the other half of its exchange."""
    return {filled.known(hit.candidate.ref), filled.known(hit.candidate.other_ref)} - {""}


def abstention(store: Store, filled: Filled, asked: list[Question], what: str) -> None:
    """Prints both errors of what the prompt hook offers."""
    chosen = settings.load()
    shortest = int(chosen.number("inject.min_prompt"))
    counts = {
        (half, row): [0, 0] for half in scripted.HALVES for row in ("unrelated, answered", "near miss, answered", "answerable, silent", "answerable, beside")
    }
    for question in asked:
        if wide_length(question.text) < shortest:
            continue
        repository = filled.repositories[question.repository]
        found = offer.look(store, question.text, session="a later one", repository=repository, chosen=chosen, now=question.asked)
        if question.type == "abstention":
            tally(counts[question.half, "near miss, answered" if question.near else "unrelated, answered"], bool(found.text))
        else:
            tally(counts[question.half, "answerable, silent"], not found.text)
            tally(
                counts[question.half, "answerable, beside"],
                bool(found.text) and not measure.place_of([shown(filled, hit) for hit in found.hits], question.gold),
            )
    print(
        f"\nwhat the prompt hook offers, {what} (floor {chosen.number('recall.floor')}): errors of prompts\n{'':24}"
        + "".join(f"{half:>20}" for half in scripted.HALVES)
    )
    for row in dict.fromkeys(row for _, row in counts):
        told = [counts[half, row] for half in scripted.HALVES]
        print(f"  {row:22}" + "".join(f"{f'{wrong} of {of}':>12}{wrong / max(1, of):8.1%}" for wrong, of in told))


def tally(count: list[int], wrong: bool) -> None:
    """Counts one prompt, and whether it went wrong."""
    count[0] += wrong
    count[1] += 1


if __name__ == "__main__":
    sys.exit(main())
