"""`tenon write`: a memory by the user's own hand."""

from __future__ import annotations

import os
import sys

from tenon.base.errors import TenonError
from tenon.cli import context
from tenon.cli.main import reads
from tenon.store import memories, places

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from tenon.cli.out import Out

HELP = "Remembers a text for this repository, or with --agent-wide for all of them. A long-term memory says why it is true; the same text twice is one memory."
EXAMPLES = """
tenon write "Staging is deployed from the release branch only" --reason "decided by the team"
tenon write --kind preference --agent-wide "Answer in British English" --reason "my wish"
git log -1 --format=%B | tenon write --kind decision --reason "the commit says so" -
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the verb's own arguments."""
    parser.add_argument("text", nargs="*", metavar="TEXT", help="what to remember, or - to read it from stdin")
    parser.add_argument("--tier", choices=sorted(memories.TIERS), default="", help="short or long (long when there is a reason, else short)")
    parser.add_argument("--kind", choices=memories.KINDS, default="fact", metavar="KIND", help="fact by default; else " + ", ".join(memories.KINDS[1:]))
    parser.add_argument("--reason", default="", help="why it is true: how it was verified, or who decided it")
    parser.add_argument("--source", action="append", default=[], metavar="LABEL", help="where it stands: PR#41, src/a.py; may be repeated")
    # In the shell that Claude Code gives to its model, the model is the one who writes.
    origin = "assistant" if os.environ.get("CLAUDECODE") else "user"
    parser.add_argument("--origin", choices=memories.SOURCES, default=origin, help="who says so (you, or in Claude Code's own shell the assistant)")
    parser.add_argument("--supersedes", metavar="REF", default="", help="the memory that this one replaces; it does not come up again")
    parser.add_argument("--agent-wide", action="store_true", help="true in every repository")
    parser.add_argument("--again", action="store_true", help="write it although it was forgotten")
    context.arguments(parser)
    reads(parser)


def run(options: argparse.Namespace, out: Out) -> int:
    """0 when it is remembered."""
    if not options.text:
        options.wrong('say what to remember: tenon write "Staging is deployed on Fridays"')
    if options.again and os.environ.get("CLAUDECODE"):
        raise TenonError("what was forgotten or undone is written again by the user alone, in a terminal of their own")
    text = sys.stdin.read().lstrip("\ufeff") if options.text == ["-"] else " ".join(options.text)
    tier = memories.TIERS[options.tier] if options.tier else "long" if options.reason.strip() else "short"
    if tier == "long" and options.origin == "outside":
        raise TenonError("what comes from outside begins as short-term; confirm it and write it as your own, or leave --tier out")
    begun = context.begun(options)
    with context.writing(options) as here, here.store.transaction():
        ref, new = memories.write(
            here.store, repository=None if options.agent_wide else here.repository, tier=tier, kind=options.kind, text=text, reason=options.reason,
            source=options.origin, labels=options.source, now=here.now, again=options.again,
            writer="model" if os.environ.get("CLAUDECODE") else "user",
        )  # fmt: skip
        if options.supersedes:
            memories.supersede(here.store, options.supersedes, ref, here.now)
        where = "every repository of this agent" if options.agent_wide else places.key(here.store, here.repository)
        tier = memories.get(here.store, ref).tier
        excluded = here.excluded and not options.agent_wide
    if out.json:
        out.record({"id": ref, "new": new, "tier": tier, "type": options.kind, "repository": None if options.agent_wide else where})
    else:
        out.line(f"{ref}  {tier} · {options.kind} · {where}" if new else f"{ref}  was known already; it is fresh again")
    if begun:
        out.say(begun)
    if excluded:
        out.say("This folder is excluded (archive.exclude): it is remembered, but no session here recalls it.")
    return 0
