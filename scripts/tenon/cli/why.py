"""`tenon why`: what was put in front of the model, and for what reason; or why a memory was, or was not."""

from __future__ import annotations

from tenon.base.errors import TenonError
from tenon.base.text import cut
from tenon.cli import context
from tenon.cli.main import count, reads
from tenon.cli.recall import standing
from tenon.recall import cue as cues
from tenon.recall.recall import recall
from tenon.store import exchanges, journal, memories, places
from tenon.world import embedding

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from tenon.cli.context import Context
    from tenon.cli.out import Out
    from tenon.recall.recall import Hit
    from tenon.store.db import Store
    from tenon.store.journal import Entry
    from tenon.store.memories import Memory

HELP = (
    "Says what was put in front of the model lately, and which words led to it. For an id: when it was, and what keeps it from coming up here and now; "
    "with --cue, how it fares against a prompt. The journal goes back thirty days and holds no prompts."
)
EXAMPLES = """
tenon why                                      the last five recalls
tenon why --session 3f0c…                      those of one session
tenon why m7k2p9qxab --cue "how do we deploy"  why this memory would come up for that prompt, or not
"""
EVENTS = {
    "prompt": "with a prompt", "session": "at a session's start", "tool": "asked for by the model", "command": "asked for by you",
}  # fmt: skip
WHOLE = 20_000  # entries of the journal that are looked through for an id


def arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the verb's own arguments."""
    parser.add_argument("ref", nargs="?", default="", metavar="REF", help="a memory (m…) or a turn (t…)")
    parser.add_argument("--session", default="", metavar="ID", help="only what this session was shown")
    parser.add_argument("--cue", default="", metavar="PROMPT", help="with an id: how it answers this prompt")
    parser.add_argument("-n", type=count, default=5, metavar="N", help="at most so many entries (5)")
    context.arguments(parser)
    reads(parser)


def run(options: argparse.Namespace, out: Out) -> int:
    """0, also when nothing was injected yet."""
    if options.cue and not options.ref:
        options.wrong('--cue goes with an id: tenon why m7k2p9qxab --cue "how do we deploy"')
    if not context.exists(options) and not options.ref:
        out.say("Nothing is remembered yet, so nothing was put in front of the model.")
        return 0
    with context.reading(options) as here:
        if options.session and exchanges.session_number(here.store, options.session) is None and not journal.entries(here.store, options.session, 1):
            raise TenonError(f"there is no session '{options.session}'; ids of sessions are as Claude Code gives them, and `tenon why` shows them")
        if not options.ref:
            found = journal.entries(here.store, options.session, options.n)
        else:
            found = [entry for entry in journal.entries(here.store, options.session, WHOLE) if any(hit[0] == options.ref for hit in entry.hits)][: options.n]
            if not out.json:
                for line in explained(here, options.ref, options.cue):
                    out.line(line)
        for entry in found:
            _entry(here.store, entry, options.ref, out)
        if not found:
            out.say(
                f"{options.ref} was not put in front of the model in the last thirty days." if options.ref else "Nothing was put in front of the model so far."
            )
    return 0


def explained(here: Context, ref: str, cue: str) -> list[str]:
    """What stands between the memory or turn and the model, here and now, in sentences."""
    if ref.startswith("t"):
        turn = exchanges.turn(here.store, ref)
        lines = [f"{ref}: «{cut(turn.text(), 200)}»" if turn.forgotten is None else f"{ref} was forgotten; only its place in the chain is kept."]
        told = [
            (turn.forgotten is None and turn.kind not in ("prompt", "reply"), f"It is a {turn.kind}; only what was said comes up by itself."),
            (bool(turn.thread), "It was said to or by a sub-agent, and does not come up by itself."),
            (not here.settings.flag("recall.archive"), "Past exchanges are switched off (recall.archive)."),
        ]
        own: int | None = turn.repository
    else:
        memory = memories.get(here.store, ref)
        lines = [f"{ref}: «{cut(memory.text, 200)}»"]
        told = _hindrances(here, memory)
        own = memory.repository
    if own is not None and places.canonical(here.store, own) != here.repository:
        told.append(
            (True, f"It belongs to {places.key(here.store, own)}, and you are in {places.key(here.store, here.repository) or 'a place nothing is kept for'}.")
        )
    told.append((not here.settings.flag("inject.prompt"), "The lookup for prompts is switched off (inject.prompt)."))
    found = [sentence for applies, sentence in told if applies]
    lines += found or ["Nothing keeps it from coming up here, once a session, for a prompt that it answers by its words or by what it means."]
    return lines + (_against(here, ref, cue) if cue else [])


def _hindrances(here: Context, memory: Memory) -> list[tuple[bool, str]]:
    successor = memories.by_id(here.store, memory.successor) if memory.successor else None
    strength = memory.strength_at(here.now, here.per_day[memory.tier])
    return [
        (memory.status != "live", f"It is {standing(memory, successor)}."),
        (memory.kind in ("procedure", "handoff"), f"It is a {memory.kind}, which has its own way into a session."),
        (memory.status == "live" and strength < 0.3, f"Its strength has come down to {strength:.2f}, so others rank before it."),
    ]


def _against(here: Context, ref: str, cue: str) -> list[str]:
    """How the prompt hook would judge it for this prompt."""
    floor = here.settings.number("recall.floor")
    most = int(here.settings.number("inject.hits"))
    found = recall(
        here.store, cue, scope=here.scope, k=10_000, now=here.now, per_day=here.per_day, strict=True, archive=here.settings.flag("recall.archive"),
        ranking=here.settings.text("recall.ranking"), meaning=embedding.for_query(here.store, cues.ends(cue), here.settings),
    )  # fmt: skip
    for place, hit in enumerate(found.hits, 1):
        if hit.candidate.ref == ref:
            return _judged(hit, place, floor, most)
    return ["For that prompt it is not even a candidate: others share rarer words with it, or mean more nearly the same."]


def _judged(hit: Hit, place: int, floor: float, most: int) -> list[str]:
    words = ", ".join(hit.words) or "none"
    lines = [f"For that prompt it comes {place}. with score {hit.score:.2f} ({hit.parts.line()}); words in common: {words}."]
    if hit.evidence < floor:
        lines.append(f"That is evidence of {hit.evidence:.2f} that it answers the prompt; under {floor:.2f} (recall.floor) nothing is injected.")
    elif place > most:
        lines.append(f"At most {most} hits are injected (inject.hits).")
    else:
        lines.append("It would be injected.")
    return lines


def _entry(store: Store, entry: Entry, ref: str, out: Out) -> None:
    hits = [hit for hit in entry.hits if not ref or hit[0] == ref]
    if out.json:
        told = [{"id": ref, "score": float(score) if score else None, "parts": parts} for ref, score, parts in hits]
        out.record({"at": context.iso(entry.at), "event": entry.event, "session": entry.session, "words": entry.words, "chars": entry.chars, "hits": told})
        return
    told_of = [
        context.counted(len(entry.hits), "item") if entry.hits or not entry.chars else "",
        f"{entry.chars:,} characters" if entry.chars else "",
        entry.about,
        f"session {entry.session}" if entry.session else "",
    ]
    out.line(f"{out.styled('strong', context.date(entry.at))}  {EVENTS.get(entry.event, entry.event)}: {', '.join(filter(None, told_of))}")
    for found, score, parts in hits:
        if not ref:
            out.line(f"    {found}  {cut(_text(store, found), 100)}")
        if score:
            out.line(out.styled("faint", f"    {' ' * len(found)}  score {score}: {parts}"))


def _text(store: Store, ref: str) -> str:
    try:
        return exchanges.turn(store, ref).text() or "(forgotten)" if ref.startswith("t") else memories.get(store, ref).text
    except TenonError:
        return "(forgotten)"
