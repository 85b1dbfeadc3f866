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
tenon forget m7k2p9qxab --said           the memory, and the turns in which it was said
tenon forget --text -                    asks for a text, and forgets whatever contains it
"""
SHOWN = 40
READ_BYTES = 1 << 30  # of transcripts that are looked through for a text


def arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the verb's own arguments."""
    parser.add_argument("refs", nargs="*", metavar="REF", help="a memory's, a turn's or a session's id")
    parser.add_argument("--text", metavar="-", default="", help="forget what contains the text that is read from stdin")
    parser.add_argument("--said", action="store_true", help="also the turns that the memories came from, in which the same is said")
    parser.add_argument("--reason", default="the user's wish", help="why, for the record; do not repeat the text in it")
    parser.add_argument("--dry-run", action="store_true", help="only show what would go")
    parser.add_argument("--yes", action="store_true", help="do not ask")
    reads(parser)


def run(options: argparse.Namespace, out: Out) -> int:
    """0 when it is gone, or nothing was there to forget; 1 when the user said no."""
    if options.text not in ("", "-"):
        options.wrong("the text is read from stdin and not from the command line, where the shell's history would keep it: tenon forget --text -")
    if bool(options.refs) == bool(options.text):
        options.wrong("say what to forget: ids (tenon forget m7k2p9qxab), or a text (tenon forget --text -)")
    texts = [_text(out)] if options.text else []
    if texts and not context.exists(options):
        out.say("Nothing is remembered yet, so nothing contains that text." + context.others(options))
        return 0
    with context.writing(options, create=False) as here:
        here.store.leniently()  # a turn that was tampered with can be forgotten too
        refs = forget.matching(here.store, texts[0]) if texts else list(options.refs)
        if not refs:
            out.say("Nothing that is stored contains that text. (Keys and passwords are taken out before anything is stored.)")
            _still(here, texts, out)
            return 0
        said = forgetting.said(here.store, refs)
        if options.said:
            refs, said = [*refs, *said], []
        lines = forget.preview(here.store, refs)
        if all(line.endswith(" was forgotten before") for line in lines):
            out.say(f"Nothing to forget: {', '.join(lines)}.")
            return 0
        if not out.json:
            show(lines, options.dry_run, out)
            if said:
                more = " ".join([*(refs if not texts else ["--text", "-"]), "--said"])
                out.told(f"  said in {forgetting.named(said)}; {_stay(said)} and can be recalled: `tenon forget {more}` forgets {_them(said)} too")
        if options.dry_run:
            _record(lines, False, out)
            return 0
        if texts and not options.yes and not is_terminal(sys.stdin):
            raise TenonError("the text came through stdin, so there is nobody to ask on it; add --yes (--dry-run shows what would go)")
        if not out.confirm("Forget this for good?", options.yes):
            out.say("Nothing was forgotten.")
            return 1
        if said and not options.yes:
            further, said = _further(here, refs, said, lines, out)
            refs, lines = [*refs, *further], forget.preview(here.store, [*refs, *further])
        _forget(here, refs, options.reason, texts, out)
        if said and not out.json:
            out.told(f"{forgetting.staying(said)} `tenon forget {' '.join(said)}` does that.")
        _record(lines, True, out)
    return 0


def _further(here: Context, refs: Sequence[str], said: list[str], lines: Sequence[str], out: Out) -> tuple[list[str], list[str]]:
    """Of the turns that stay those that the user wants forgotten too, and those that stay all the same."""
    show([line for line in forget.preview(here.store, [*refs, *said]) if line not in lines], dry_run=True, out=out)
    agreed = out.confirm(f"Forget also what was said in {forgetting.named(said)}?", yes=False)
    return (said, []) if agreed else ([], said)


def _stay(turns: Sequence[str]) -> str:
    return "it stays" if len(turns) == 1 else "they stay"


def _them(turns: Sequence[str]) -> str:
    return "it" if len(turns) == 1 else "them"


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
