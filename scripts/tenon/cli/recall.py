"""`tenon recall`: what comes to mind for a cue, or one memory or exchange in full."""

from __future__ import annotations

import json

from tenon.base.errors import TenonError
from tenon.base.lean import sqlite
from tenon.base.text import cut
from tenon.cli import context
from tenon.cli.main import count, reads
from tenon.recall import injection
from tenon.recall.hindrance import standing
from tenon.recall.recall import described, recall
from tenon.store import exchanges, journal, memories, places
from tenon.world import embedding

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from typing import Any

    from tenon.cli.context import Context
    from tenon.cli.out import Out
    from tenon.recall.recall import Hit, Recall
    from tenon.store.exchanges import Turn
    from tenon.store.memories import Memory
    from tenon.store.search import Candidate

MISSES = 10  # that --explain shows
HELP = (
    "Shows the memories that fit a cue, best first; where none does, what was said in earlier sessions (the setting recall.archive), and with "
    "--archive both. With --id, one of them in full. Nothing fitting is an answer too."
)
EXAMPLES = """
tenon recall how do we deploy                what is remembered here about deploying
tenon recall --archive "staging password"    also what was only said, word for word
tenon recall --id m7k2p9qxab                 one memory, with its history and where it came from
tenon recall --id t1234                      one exchange of the archive, whole
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the verb's own arguments."""
    parser.add_argument("cue", nargs="*", metavar="CUE", help="what to recall; any words")
    parser.add_argument("-k", type=count, default=8, metavar="N", help="at most so many hits (8)")
    parser.add_argument("--tier", choices=sorted(memories.TIERS), default="", help="only short-term or long-term memories")
    parser.add_argument(
        "--kind", action="append", default=[], choices=memories.KINDS, metavar="KIND", help="only of this kind; may be repeated: " + ", ".join(memories.KINDS)
    )
    parser.add_argument("--archive", action="store_true", help="also what was said in earlier sessions")
    parser.add_argument("--explain", action="store_true", help="say what speaks for each hit, and what was not good enough")
    parser.add_argument("--id", metavar="REF", default="", help="show this memory (m…) or the exchange around this turn (t…)")
    context.arguments(parser, everywhere=True)
    reads(parser)


def run(options: argparse.Namespace, out: Out) -> int:
    """0, also when nothing fits."""
    cue = " ".join(options.cue).strip()
    if not options.id and _is_id(cue):
        options.id = cue
    if not cue and not options.id:
        options.wrong("say what to recall: tenon recall how do we deploy")
    if not context.exists(options):
        if options.id:
            raise TenonError(f"there is no '{options.id}': nothing is remembered yet")
        out.say("Nothing is remembered yet: the first session, or `tenon write`, begins the memory." + context.others(options))
        return 0
    with context.reading(options, journal=not options.id) as here:
        if options.id:
            (_exchange if options.id.startswith("t") else _memory)(here, options.id, out)
            return 0
        found = _found(here, cue, options, archive=options.archive)
        floor = here.settings.number("recall.floor")
        deeper = not found.fits(floor) and not (options.archive or options.tier or options.kind) and here.settings.flag("recall.archive")
        if deeper:
            found = _found(here, cue, options, archive=True)
        if found.only_nearest(floor):
            out.say("Nothing surely fits that cue. The nearest by meaning:")
        elif deeper and found.hits:
            said = all(hit.candidate.tier == "archive" for hit in found.hits)
            out.say(
                "No memory fits that cue; this was said in earlier sessions:"
                if said
                else "No memory surely fits that cue. The nearest ones, and what was said in earlier sessions:"
            )
        _note(here, found)
        for hit in found.hits:
            _hit(here, hit, out, explain=options.explain, everywhere=options.everywhere)
        if options.explain and not out.json:
            _left_out(found, options.k, out)
        if not found.hits:
            searched = options.archive or deeper
            where = "" if options.everywhere else " --everywhere looks in all repositories."
            out.say("Nothing in memory fits that cue" + (", and nothing that was said." if searched else ". --archive searches what was said, too.") + where)
    return 0


def _found(here: Context, cue: str, options: argparse.Namespace, *, archive: bool) -> Recall:
    return recall(
        here.store, cue, scope=here.scope, k=options.k, now=here.now, per_day=here.per_day, archive=archive, tier=memories.TIERS.get(options.tier, ""), kinds=options.kind,
        ranking=here.settings.text("recall.ranking"), meaning=embedding.for_query(here.store, cue, here.settings),
    )  # fmt: skip


def _note(here: Context, found: Recall) -> None:
    if not here.store.writable:
        return
    told = [(hit.candidate.ref, hit.score, hit.parts.values()) for hit in found.hits]
    try:
        journal.record(here.store, event="command", session="", repository=here.repository, words=found.words(), hits=told, chars=0, now=here.now)
    except sqlite.OperationalError:
        pass  # a locked or full store: the answer matters more than the note of it


def _left_out(found: Recall, most: int, out: Out) -> None:
    """Says of what was read and not shown why: a higher score alone does not make an answer."""
    if found.misses:
        out.told(out.styled("faint", "Not shown:"))
    for hit in found.misses[:MISSES]:
        why = f"beyond the {most} of -k" if hit.why == "k" else journal.WHY[hit.why]
        out.told(out.styled("faint", f"  {hit.candidate.ref}  {why}: {cut(hit.candidate.text, 80)}"), 6)
        out.told(out.styled("faint", f"      score {hit.score:.2f}: {hit.parts.line()}"), 6)


def _repository(here: Context, found: Candidate) -> str | None:
    """The key of the repository that a hit is of, None of what holds everywhere."""
    number = exchanges.session_of(here.store, found.session).repository if found.tier == "archive" else memories.get(here.store, found.ref).repository
    return places.key(here.store, number) or None


def _dated(found: Candidate) -> str:
    """When it was written or said, and when it last proved right, where that was another day."""
    written, proved = injection.day(found.at), injection.day(found.fresh_at)
    return f"{'said' if found.tier == 'archive' else 'written'} {written}" + (f", proved {proved}" if proved != written else "")


def _hit(here: Context, hit: Hit, out: Out, *, explain: bool, everywhere: bool) -> None:
    found = hit.candidate
    other = found.other_text
    if out.json:
        told = {**described(hit), "repository": _repository(here, found)}
        if other:
            told["answered_by" if found.kind == "prompt" else "answers"] = other
        if explain:
            told["parts"] = {**hit.parts.named(), "evidence": round(hit.evidence, 3)}
        out.record(told)
        return
    head = f"{out.styled('strong', found.ref)}  {found.tier} · {found.kind.replace('_', ' ')} · {_dated(found)}"
    head += f" · from {found.source}" if found.source in ("outside", "tool") else ""
    out.told(head + (f" · {_repository(here, found) or 'holds everywhere'}" if everywhere else ""), 4)
    if found.tier == "archive":
        said = injection.excerpt(found.text, hit.words, 400)
        told_first, told_second = (("user", said), ("assistant", other)) if found.kind == "prompt" else (("user", other), ("assistant", said))
        for who, text in (told_first, told_second):
            if text:
                out.told(f"    {who}: {cut(text, 400)}", 6)
    else:
        out.told("    " + found.text.replace("\n", "\n    "))
    if explain:
        out.told(out.styled("faint", f"    score {hit.score:.2f}: {hit.parts.line()}; shared words: {', '.join(hit.words) or 'none'}"))


def _memory(here: Context, ref: str, out: Out) -> None:
    found = memories.get(here.store, ref)
    successor = memories.by_id(here.store, found.successor) if found.successor else None
    history = memories.history(here.store, found)
    turns = [f"t{number}" for number in memories.lineage(here.store, found)]
    if out.json:
        out.record(_fields(here, found, successor, history, turns))
        return
    strength = found.strength_at(here.now, here.per_day[found.tier])
    out.told(f"{out.styled('strong', found.ref)}  {found.tier} · {found.kind.replace('_', ' ')} · {standing(found, successor)}")
    out.told("    " + found.text.replace("\n", "\n    "))
    for label, value in (
        ("reason", found.reason),
        ("holds in", places.key(here.store, found.repository) or "every repository of this agent"),
        ("from", found.source + (f", {', '.join(json.loads(found.labels))}" if found.labels != "[]" else "")),
        ("turns", ", ".join(turns)),
        ("epic", found.epic),
        ("strength", f"{strength:.2f}, proved right {found.citations} times"),
        ("written", context.date(found.created)),
        ("last proved", context.date(found.reinforced)),
    ):
        if value:
            out.told(f"    {label + ':':13}{value}", 17)
    for earlier in history:
        out.told(
            out.styled(
                "faint",
                f"    revision {earlier['revision']}, until {context.date(float(str(earlier['at'])))} ({earlier['replaced_because']}): {earlier['text']}",
            )
        )


def _is_id(cue: str) -> bool:
    """Whether the cue is the id of a memory or a turn and no word."""
    return (len(cue) == 10 and cue[0] == "m" and cue.isalnum() and cue.islower() and any(map(str.isdigit, cue))) or (
        cue[:1] == "t" and cue[1:].isdecimal() and len(cue) < 12
    )


def _fields(here: Context, found: Memory, successor: Memory | None, history: list[dict[str, object]], turns: list[str]) -> dict[str, Any]:
    told = {
        "id": found.ref, "tier": found.tier, "type": found.kind, "content": found.text, "reason": found.reason, "origin": found.source,
        "sources": json.loads(found.labels), "epic": found.epic, "strength": round(found.strength_at(here.now, here.per_day[found.tier]), 3),
        "citations": found.citations, "revision": found.revision, "status": found.status, "created": context.iso(found.created),
        "last_reinforced": context.iso(found.reinforced), "repository": places.key(here.store, found.repository) or None, "history": history, "turns": turns,
    }  # fmt: skip
    if found.status == "superseded":
        told["superseded_by"] = successor.ref if successor else None
    return told


def _exchange(here: Context, ref: str, out: Out) -> None:
    rows = exchanges.exchange(here.store, ref)
    if not out.json:
        session = exchanges.session_of(here.store, rows[0].session)
        out.told(out.styled("faint", f"session {session.name} in {session.folder}" + (f" on {session.branch}" if session.branch else "")))
    for turn in rows:
        _turn(turn, out)


def _turn(turn: Turn, out: Out) -> None:
    text = turn.text()
    if out.json:
        out.record({"id": turn.ref, "role": turn.role, "kind": turn.kind, "at": context.iso(turn.at), "content": text, "forgotten": turn.forgotten is not None})
        return
    if turn.forgotten is not None:
        text = "(forgotten)"
    if text:
        out.told(f"{out.styled('strong', turn.ref)}  {turn.role} · {turn.kind} · {context.date(turn.at)}")
        out.told("    " + text.replace("\n", "\n    "))
