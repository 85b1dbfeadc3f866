"""`tenon export`: what is remembered as JSON Lines, for another machine or another program. scripts/tenon/store/EXPORT.md has the format."""

from __future__ import annotations

import errno
import os
import sys

from tenon.base.errors import TenonError
from tenon.cli import context, progress
from tenon.cli.importing import day
from tenon.cli.main import reads
from tenon.cli.out import is_terminal
from tenon.store import exporting, places

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from typing import BinaryIO

    from tenon.cli.context import Context
    from tenon.cli.out import Out
    from tenon.store.exporting import Choice

HELP = (
    "Writes memories with their history, links, episodes, procedures, tasks and summaries as JSON Lines: of the repository you are in and of what holds "
    "everywhere, or with --everywhere of all. `tenon import FILE` brings them into another store, or the same one, without doubling anything. The file is "
    "yours alone, written whole or not at all, and the same store gives the same bytes. What was forgotten is not in it. It holds what you and the model "
    "said, so mind where you put it. The plugin's scripts/tenon/store/EXPORT.md says what its lines are."
)
EXAMPLES = """
tenon export memory.jsonl                        this repository, and what holds everywhere
tenon export all.jsonl --everywhere --archive    everything, with all sessions: for a new machine
tenon export --since 2026-01-01 | less           what was learnt or changed since, to look at
"""
WAY = {errno.ENOSPC: "; free some space, or choose another place", errno.ENOENT: "; make its folder first, or choose another place"}
COUNTED = ("memory", "edge", "association", "task", "session", "turn", "forgotten")
LABELS = {"memory": ("memory", "memories"), "edge": ("link", "links"), "session": ("session", "sessions"), "turn": ("turn", "turns")}


def arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the verb's own arguments."""
    parser.add_argument("file", nargs="?", default="-", metavar="FILE", help="where to write it (- is stdout, which is also what goes without)")
    context.arguments(parser, everywhere=True)
    parser.add_argument("--archive", action="store_true", help="the archived sessions too, turn by turn: large")
    parser.add_argument("--since", metavar="DATE", default="", help="only what was written or changed since that day, 2026-01-31")
    parser.add_argument("--force", action="store_true", help="write over a file that is there")
    reads(parser)


def run(options: argparse.Namespace, out: Out) -> int:
    """0 when it is written."""
    since = day(options.since) if options.since else 0.0
    if options.json and options.file == "-":
        options.wrong("--json tells what was written to a file; an export to stdout is JSON itself")
    with context.reading(options) as here:
        if here.scope is not None and not here.scope:
            raise TenonError(f"nothing was ever kept for {here.folder}; go to a repository's folder, name one with --repo, or export all with --everywhere")
        choice = exporting.Choice(here.scope, since, turns=options.archive)
        if options.file == "-":
            _to_stdout(here, choice, out)
            return 0
        path = os.path.abspath(os.path.expanduser(options.file))
        counts = _to_file(here, choice, path, out, force=options.force)
        size = os.path.getsize(path)
        if out.json:
            out.record({"file": path, "bytes": size, "archive": choice.turns, "everywhere": here.scope is None, **counts})
            return 0
        told = ", ".join(context.counted(counts[name], *LABELS[name]) for name in LABELS if counts[name])
        whose = "all repositories" if here.scope is None else places.key(here.store, here.repository)
        out.told(f"Wrote {told or 'nothing that is remembered'} of {whose} to {path}, {context.size(size)}, yours alone.")
        out.say(f"On the other machine: tenon import {os.path.basename(path)}")
        if here.scope is not None:
            out.say("Of this repository and of what holds everywhere alone; --everywhere takes all.")
        if not choice.turns:
            out.say("Without the archived sessions; --archive takes them along.")
    return 0


def _to_stdout(here: Context, choice: Choice, out: Out) -> None:
    shown = is_terminal(sys.stdout)
    if shown:
        out.say("(JSON Lines follow; name a file to have them in it)")
    stream: BinaryIO | None = getattr(out.results, "buffer", None)
    if stream is None:  # a stream of text, as a test has it
        for record in exporting.records(here.store, choice):
            out.results.write(exporting.line(record, is_shown=shown).decode("utf-8"))
        return
    out.results.flush()
    for record in exporting.records(here.store, choice):
        stream.write(exporting.line(record, is_shown=shown))
    stream.flush()


def _to_file(here: Context, choice: Choice, path: str, out: Out, *, force: bool) -> dict[str, int]:
    """How many of each record were written. Raises TenonError when it cannot be, and leaves what was there."""
    if os.path.isdir(path):
        raise TenonError(f"{path} is a folder; name a file in it")
    if os.path.lexists(path) and not force:
        raise TenonError(f"{path} is there already; --force writes over it")
    counts = dict.fromkeys(COUNTED, 0)
    fresh = f"{path}.{os.getpid()}.new"
    try:
        with open(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file, progress.shown(
            out, "exporting", exporting.size(here.store, choice)
        ) as tick:  # fmt: skip
            for record in exporting.records(here.store, choice):
                file.write(exporting.line(record))
                name = str(record.get("record"))
                if name in counts:
                    counts[name] += 1
                tick()
            file.flush()
            os.fsync(file.fileno())
        os.replace(fresh, path)
    except OSError as error:
        raise TenonError(f"{path} cannot be written ({error.strerror}){WAY.get(error.errno or 0, '; choose another place')}. Nothing was written") from error
    finally:
        if os.path.lexists(fresh):
            os.remove(fresh)
    return counts
