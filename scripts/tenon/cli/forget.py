"""`tenon forget`: memories, turns, a session or a text, for good."""

from __future__ import annotations

import json
import os
import sys

from tenon.base import faults
from tenon.base.errors import TenonError
from tenon.cli import context
from tenon.cli.main import reads
from tenon.cli.out import is_terminal
from tenon.digest import forgetting
from tenon.store import backup, forget, health

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from tenon.cli.context import Context
    from tenon.cli.out import Out

HELP = (
    "Removes memories (m…), archived turns (t…) or a whole session from rows, indexes, vectors, summaries and files, and keeps them from coming back. "
    "With --text -, everything that contains a text; the text is typed or piped in, so that it stays out of the shell's history. Shows what would go and asks first."
)
EXAMPLES = """
tenon forget --dry-run m7k2p9qxab        what would go
tenon forget m7k2p9qxab t1234            one memory and one turn
tenon forget --text -                    asks for a text, and forgets whatever contains it
"""
SHOWN = 40
READ_BYTES = 1 << 30  # of transcripts that are looked through for a text


def arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the verb's own arguments."""
    parser.add_argument("refs", nargs="*", metavar="REF", help="a memory's, a turn's or a session's id")
    parser.add_argument("--text", choices=("-",), metavar="-", default="", help="forget what contains the text that is read from stdin")
    parser.add_argument("--reason", default="the user's wish", help="why, for the record; do not repeat the text in it")
    parser.add_argument("--dry-run", action="store_true", help="only show what would go")
    parser.add_argument("--yes", action="store_true", help="do not ask")
    reads(parser)


def run(options: argparse.Namespace, out: Out) -> int:
    """0 when it is gone, or nothing was there to forget; 1 when the user said no."""
    if bool(options.refs) == bool(options.text):
        options.wrong("say what to forget: ids (tenon forget m7k2p9qxab), or a text (tenon forget --text -)")
    texts = [_text(out)] if options.text else []
    if texts and not context.exists(options):
        out.say("Nothing is remembered yet, so nothing contains that text.")
        return 0
    with context.writing(options, create=False) as here:
        here.store.leniently()  # a turn that was tampered with can be forgotten too
        refs = forget.matching(here.store, texts[0]) if texts else list(options.refs)
        if not refs:
            out.say("Nothing that is stored contains that text. (Keys and passwords are taken out before anything is stored.)")
            _still(here, texts, out)
            return 0
        lines = forget.preview(here.store, refs)
        if all(line.endswith(" was forgotten before") for line in lines):
            out.say(f"Nothing to forget: {', '.join(lines)}.")
            return 0
        if not out.json:
            show(lines, options.dry_run, out)
        if options.dry_run:
            _record(lines, False, out)
            return 0
        if texts and not options.yes and not is_terminal(sys.stdin):
            raise TenonError("the text came through stdin, so there is nobody to ask on it; add --yes (--dry-run shows what would go)")
        if not out.confirm("Forget this for good?", options.yes):
            out.say("Nothing was forgotten.")
            return 1
        _forget(here, refs, options.reason, texts, out)
        _record(lines, True, out)
    return 0


def _forget(here: Context, refs: Sequence[str], reason: str, texts: Sequence[str], out: Out) -> None:
    clean = forgetting.forget(here.store, refs, reason, here.now, texts)
    if any(text.lower() in str(fault).lower() for text in texts for fault in faults.recent(10_000)):
        faults.clear()
    if not out.json:
        out.told("Forgotten. It is gone from memories, index and summaries, and will not be written again.")
        if not _still(here, texts, out) and any(ref.startswith("t") for ref in refs):
            out.say("Claude Code's own transcript of that session still has it, until Claude Code cleans it up or you delete it.")
        for path in backup.known(here.store):
            out.say(f"A backup from before may still hold it: {path}; delete it when it must not.")
    if not clean:
        out.say("Another process is reading the store, so its log still holds the old pages; they go when that process ends.")


def _still(here: Context, texts: Sequence[str], out: Out) -> bool:
    """Names Claude Code's own transcripts that contain a text, and whether there were any; so much and no more of them is read."""
    found: list[str] = []
    left = READ_BYTES
    forms = {form.lower() for text in texts for form in (text, json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1])}
    for path in health.transcripts(here.store) if forms else []:
        try:
            size = os.path.getsize(path)
            if size > left:
                out.say(f"Not all of Claude Code's transcripts were looked through for the text; {path} is the first that was not.")
                break
            left -= size
            with open(path, encoding="utf-8", errors="replace") as file:
                if any(form in line.lower() for line in file for form in forms):
                    found.append(path)
        except OSError:
            continue  # cleaned up by Claude Code
    if found:
        out.say("Claude Code's own transcript of that session still has it, until Claude Code cleans it up or you delete it:")
    for path in found[:SHOWN]:
        out.say(f"  {path}")
    if len(found) > SHOWN:
        out.say(f"  and {len(found) - SHOWN:,} more")
    return bool(found)


def show(lines: Sequence[str], dry_run: bool, out: Out) -> None:
    """Prints what goes, each line once and how often."""
    out.told("This would be forgotten:" if dry_run else "This will be forgotten:")
    counts: dict[str, int] = {}
    for line in lines:
        counts[line] = counts.get(line, 0) + 1
    for line in list(counts)[:SHOWN]:
        out.told("  " + line + (f" ({counts[line]:,} times)" if counts[line] > 1 else ""))
    if len(counts) > SHOWN:
        out.told(f"  and {len(counts) - SHOWN:,} more")


def _record(lines: Sequence[str], done: bool, out: Out) -> None:
    for line in lines if out.json else ():
        out.record({"what": line, "forgotten": done})


def _text(out: Out) -> str:
    if sys.stdin.isatty():
        out.notes.write("The text to forget: ")
        out.notes.flush()
        return sys.stdin.readline().strip()
    return sys.stdin.read().lstrip("\ufeff").strip()
