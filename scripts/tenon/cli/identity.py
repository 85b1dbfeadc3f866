"""`tenon identity`: what the agent holds about itself and about working with its user, and the user's hand in it."""

from __future__ import annotations

import json
import os

from tenon.base.errors import TenonError
from tenon.base.text import cut
from tenon.cli import context
from tenon.cli.main import reads
from tenon.store import exchanges, identity, memories

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence
    from typing import Any

    from tenon.cli.context import Context
    from tenon.cli.out import Out
    from tenon.store.db import Store
    from tenon.store.memories import Memory

HELP = (
    "Shows what the agent holds about itself and about working with you: at most eight statements, told at the start of every session, with where each came "
    "from. What you correct or add is yours, and no digest touches it; what you remove or clear, none writes again. Frozen, none changes anything."
)
EXAMPLES = """
tenon identity                                         the statements, since when, and where each came from
tenon identity history                                 every statement there ever was, and what became of it
tenon identity correct m7k2p9qxab "Call me Ada"        say it in your words; the old text stays in the history
tenon identity add "Ask before refactoring" --kind relationship
tenon identity freeze                                  no digest changes it until `tenon identity thaw`
"""
FORMS = {  # how many words follow, at least and at most, and how it is said
    "show": (0, 0, "tenon identity show"), "history": (0, 0, "tenon identity history"), "correct": (2, None, 'tenon identity correct m7k2p9qxab "Call me Ada"'),
    "remove": (1, 1, "tenon identity remove m7k2p9qxab"), "add": (1, None, 'tenon identity add "Call me Ada"'), "freeze": (0, 0, "tenon identity freeze"),
    "thaw": (0, 0, "tenon identity thaw"), "clear": (0, 0, "tenon identity clear --yes"),
}  # fmt: skip
WRITERS = {"user": "by you", "digest": "by a digest", "model": "by the model in a session", "code": "by Tenon", "": "in an earlier version"}
FROM = 3  # memories or turns that are quoted for a statement


def arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the verb's own arguments."""
    parser.add_argument("what", choices=list(FORMS), nargs="?", default="show", metavar="|".join(FORMS), help="show when it is not said")
    parser.add_argument("rest", nargs="*", metavar="ID | TEXT", help="with correct and remove: which statement; with correct and add: its words")
    parser.add_argument("--kind", choices=identity.KINDS, default="", help="with add: of the agent itself (identity, the default), or of how you work together")
    parser.add_argument("--yes", action="store_true", help="with clear: do not ask")
    reads(parser)


def meant(arguments: Sequence[str]) -> str:
    """What to type instead of a command line whose words do not all belong to it."""
    if "add" in arguments and any(argument.split("=")[0] == "--kind" for argument in arguments):
        return 'the words come before --kind: tenon identity add "Ask before refactoring" --kind relationship'
    return "that is too much for `tenon identity`; `tenon identity -h` shows what there is"


def run(options: argparse.Namespace, out: Out) -> int:
    """0 when it is shown or done; 1 when clearing was not confirmed."""
    least, most, form = FORMS[options.what]
    if not least <= len(options.rest) <= (len(options.rest) if most is None else most):
        options.wrong(f"{options.what} is said so: {form}")
    if options.kind and options.what != "add":
        options.wrong("--kind goes with add")
    if options.what in ("show", "history"):
        return _read(options, out)
    if options.what != "add" and not context.exists(options):
        raise TenonError("nothing is remembered yet; the first session, or `tenon identity add TEXT`, begins the memory")
    with context.writing(options, create=options.what == "add") as here:
        if options.what == "clear":
            return _clear(here, options.yes, out)
        out.told(_changed(here, options))
    return 0


def _changed(here: Context, options: argparse.Namespace) -> str:
    """What was done, in a sentence."""
    # In the shell that Claude Code gives to its model, the model is the one who says so.
    by_user = not os.environ.get("CLAUDECODE")
    if options.what == "add":
        kind = options.kind or "identity"
        memory, new = identity.add(here.store, " ".join(options.rest), here.now, kind=kind, by_user=by_user)
        return f"{memory.ref}  {memory.kind} · {'every session is told from now on' if new else 'was known already; it is held'}"
    if options.what == "correct":
        memory = identity.correct(here.store, options.rest[0], " ".join(options.rest[1:]), here.now, by_user=by_user)
        return f"{memory.ref} is corrected" + ("; no digest touches it." if by_user else ".")
    if options.what == "remove":
        memory = identity.remove(here.store, options.rest[0], here.now)
        return f"{memory.ref} is let go of, and no digest writes it again. `tenon identity history` still shows it; `tenon forget {memory.ref}` takes it away for good."
    if options.what == "freeze":
        identity.freeze(here.store, here.now)
        return "Frozen: no digest changes identity until `tenon identity thaw`."
    identity.thaw(here.store)
    return "Digests may change identity again."


def _clear(here: Context, yes: bool, out: Out) -> int:
    count = len(identity.held(here.store))
    if not out.confirm(f"Let go of {context.counted(count, 'statement')} for good?", yes):
        out.say("Nothing was cleared.")
        return 1
    out.told(
        f"{context.counted(identity.clear(here.store, here.now), 'statement')} let go of. No digest writes them again; `tenon identity history` shows them."
    )
    return 0


def _read(options: argparse.Namespace, out: Out) -> int:
    if not context.exists(options):
        out.say("Nothing is remembered yet, so nothing is held." + context.others(options))
        return 0
    with context.reading(options) as here:
        if options.what == "history":
            _history(here.store, out)
        else:
            _show(here.store, out)
    return 0


def _show(store: Store, out: Out) -> None:
    statements = identity.held(store)
    shown = {memory.id for memory, _ in identity.told(statements)}
    frozen = identity.is_frozen(store)
    for memory in statements:
        revised = len(memories.history(store, memory))
        came = _came_from(store, memory)
        if out.json:
            out.record(_fields(memory, revised, came, memory.id in shown, frozen))
            continue
        marks = [memory.kind, f"since {context.date(memory.created)}", *([f"revised {_times(revised)}"] if revised else []), WRITERS[memory.writer]]
        out.told(
            f"{out.styled('strong', memory.ref)}  {' · '.join(marks)}" + ("" if memory.id in shown else out.styled("warn", " · no room for it in a session"))
        )
        out.told("    " + memory.text.replace("\n", "\n    "))
        for line in _lines(store, came):
            out.told(out.styled("faint", "    " + line))
    if out.json:
        return
    if not statements:
        out.say("No statement is held. A reflection (`tenon digest`) finds some once there are memories; `tenon identity add TEXT` says one yourself.")
    else:
        size = sum(len(memory.text) for memory in statements)
        out.told(f"{context.counted(len(statements), 'statement')} of at most {identity.MOST}, {size:,} characters of at most {identity.BUDGET:,}.")
    if frozen:
        out.told("Frozen: no digest changes them; `tenon identity thaw` ends that.")


def _history(store: Store, out: Out) -> None:
    events = identity.history(store)
    for event in events:
        if out.json:
            out.record({**event, "at": context.iso(event["at"])})
            continue
        out.told(f"{out.styled('strong', context.date(event['at']))}  {event['id']}  {event['what']}" + (f": {event['why']}" if event["why"] else ""))
        if event["what"] != "closed":
            out.told("    " + event["text"].replace("\n", "\n    "))
    if not events:
        out.say("No statement was ever held.")


def _times(count: int) -> str:
    return {1: "once", 2: "twice"}.get(count, f"{count:,} times")


def _came_from(store: Store, memory: Memory) -> list[str]:
    """The ids of the memories and the turns that a statement came from."""
    named = [label for label in map(str, json.loads(memory.labels)) if label.startswith("m") and _quoted(store, label)]
    return [*named, *(f"t{number}" for number in memories.lineage(store, memory))]


def _lines(store: Store, came: list[str]) -> list[str]:
    lines: list[str] = []
    for first, noun, many in (("m", "memory", "memories"), ("t", "turn", "turns")):
        refs = [ref for ref in came if ref.startswith(first)]
        lines += [f"from {ref}: «{_quoted(store, ref)}»" for ref in refs[:FROM]]
        if len(refs) > FROM:
            lines.append(f"and {context.counted(len(refs) - FROM, f'more {noun}', f'more {many}')}")
    return lines


def _quoted(store: Store, ref: str) -> str:
    """The beginning of what a memory or turn says, «» when there is none of that id any more."""
    try:
        return cut(exchanges.turn(store, ref).text() if ref.startswith("t") else memories.get(store, ref).text, 100)
    except TenonError:
        return ""


def _fields(memory: Memory, revised: int, came: list[str], shown: bool, frozen: bool) -> dict[str, Any]:
    return {
        "id": memory.ref, "kind": memory.kind, "content": memory.text, "since": context.iso(memory.created), "revised": revised, "writer": memory.writer,
        "origin": memory.source, "reason": memory.reason, "memories": [ref for ref in came if ref.startswith("m")],
        "turns": [ref for ref in came if ref.startswith("t")], "told": shown, "frozen": frozen,
    }  # fmt: skip
