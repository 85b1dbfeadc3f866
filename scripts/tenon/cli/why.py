"""`tenon why`: what was put in front of the model, and for what reason; or why a memory was, or was not."""

from __future__ import annotations

from tenon.base.errors import TenonError
from tenon.base.text import cut
from tenon.cli import context
from tenon.cli.main import count, reads
from tenon.recall import cue as cues
from tenon.recall import hindrance
from tenon.store import browse_history, exchanges, journal, memories
from tenon.world import embedding

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from tenon.cli.context import Context
    from tenon.cli.out import Out
    from tenon.store.db import Store
    from tenon.store.journal import Entry

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
NAMED = 50  # sessions that begin alike
WHOLE = 20_000  # entries of the journal that are looked through for an id


def arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the verb's own arguments."""
    parser.add_argument("ref", nargs="?", default="", metavar="REF", help="a memory (m…) or a turn (t…)")
    parser.add_argument("--session", default="", metavar="ID", help="only what this session was shown; 8 characters of its id will do")
    parser.add_argument("--cue", default="", metavar="PROMPT", help="with an id: how it answers this prompt")
    parser.add_argument("-n", type=count, default=5, metavar="N", help="at most so many entries (5)")
    context.arguments(parser)
    reads(parser)


def run(options: argparse.Namespace, out: Out) -> int:
    """0, also when nothing was injected yet."""
    if options.cue and not options.ref:
        options.wrong('--cue goes with an id: tenon why m7k2p9qxab --cue "how do we deploy"')
    if not context.exists(options) and not options.ref:
        out.say("Nothing is remembered yet, so nothing was put in front of the model." + context.others(options))
        return 0
    with context.reading(options) as here:
        session = _session(here.store, options.session)
        if not options.ref:
            found = journal.entries(here.store, session, options.n)
        else:
            found = [entry for entry in journal.entries(here.store, session, WHOLE) if options.ref in entry.refs][: options.n]
            if not out.json:
                for line in explained(here, options.ref, options.cue):
                    out.told(line)
        for entry in found:
            _entry(here.store, entry, options.ref, out)
        if not found:
            out.say(
                f"{options.ref} was not put in front of the model in the last thirty days, and not nearly."
                if options.ref
                else "Nothing was put in front of the model so far."
            )
    return 0


def _session(store: Store, given: str) -> str:
    """The session of that id, or the one whose id begins so, as the journal knows it; «» for «». Raises TenonError for none and for several."""
    if not given or exchanges.session_number(store, given) is not None or journal.entries(store, given, 1):
        return given
    archived = [session.name[: journal.NAME] for session in browse_history.beginning(store, given, NAMED)]
    found = sorted({*archived, *journal.beginning(store, given, NAMED)})
    if not found:
        raise TenonError(f"there is no session '{given}'; ids of sessions are as Claude Code gives them, and `tenon why` shows them")
    if len(found) > 1:
        raise TenonError(f"several sessions begin with '{given}', among them {', '.join(found[:3])}; give more of the id")
    return found[0]


def explained(here: Context, ref: str, cue: str) -> list[str]:
    """What stands between the memory or turn and the model, here and now, in sentences."""
    own: int | None
    if ref.startswith("t"):
        turn = exchanges.turn(here.store, ref)
        lines = [f"{ref}: «{cut(turn.text(), 200)}»" if turn.forgotten is None else f"{ref} was forgotten; only its place in the chain is kept."]
        told, own = hindrance.of_turn(turn, here.settings), turn.repository
    else:
        memory = memories.get(here.store, ref)
        lines = [f"{ref}: «{cut(memory.text, 200)}»"]
        told, own = hindrance.of_memory(here.store, memory, here.now, here.per_day), memory.repository
    told += hindrance.elsewhere(here.store, own, here.repository)
    if not here.settings.flag("inject.prompt"):
        told.append(hindrance.SWITCHED_OFF)
    lines += told or [hindrance.NOTHING]
    if not cue:
        return lines
    meaning = embedding.for_query(here.store, cues.ends(cue), here.settings)
    hit, told = hindrance.judged(here.store, ref, cue, scope=here.scope, now=here.now, per_day=here.per_day, chosen=here.settings, meaning=meaning)
    return [*lines, *told, *([f"Its score would be {hit.score:.2f}: {hit.parts.line()}."] if hit is not None else [])]


def _entry(store: Store, entry: Entry, ref: str, out: Out) -> None:
    hits = [hit for hit in entry.hits if not ref or hit[0] == ref]
    skipped = [miss for miss in entry.skipped if not ref or miss.ref == ref]
    if out.json:
        told = [{"id": ref, "score": float(score) if score else None, "parts": parts} for ref, score, parts in hits]
        missed = [{"id": miss.ref, "score": miss.score, "parts": miss.line(), "why": journal.WHY.get(miss.why, "")} for miss in skipped]
        out.record(
            {
                "at": context.iso(entry.at),
                "event": entry.event,
                "session": entry.session,
                "words": entry.words,
                "chars": entry.chars,
                "hits": told,
                "skipped": missed,
            }
        )
        return
    told_of = [
        context.counted(len(entry.hits), "item") if entry.hits or not entry.chars else "",
        f"{entry.chars:,} characters" if entry.chars else "",
        entry.about,
        f"session {entry.session}" if entry.session else "",
    ]
    out.told(f"{out.styled('strong', context.date(entry.at))}  {EVENTS.get(entry.event, entry.event)}: {', '.join(filter(None, told_of))}")
    for found, score, parts in hits:
        if not ref:
            out.told(f"    {found}  {cut(_text(store, found), 100)}", 6 + len(found))
        if score:
            out.told(out.styled("faint", f"    {' ' * len(found)}  score {score}: {parts}"))
    for miss in skipped:
        out.told(out.styled("faint", f"    {miss.ref}  left out, {journal.WHY.get(miss.why, '')}: {cut(_text(store, miss.ref), 80)}"))


def _text(store: Store, ref: str) -> str:
    try:
        return exchanges.turn(store, ref).text() or "(forgotten)" if ref.startswith("t") else memories.get(store, ref).text
    except TenonError:
        return "(forgotten)"
