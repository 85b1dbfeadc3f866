"""`tenon import`: the transcripts that were there before Tenon, with a line that says how long it takes; bringing.py has what is no transcript."""

from __future__ import annotations

import os
import time
from itertools import groupby

from tenon.base import paths
from tenon.base.errors import TenonError
from tenon.cli import bringing, context, progress
from tenon.cli.main import reads
from tenon.digest import importing, summary
from tenon.digest.capture import Report
from tenon.store import deleted, figures

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from tenon.cli.out import Out
    from tenon.cli.progress import Shown
    from tenon.digest.importing import File, Plan
    from tenon.store.db import Store

HELP = (
    "Brings what Claude Code still has of earlier sessions into the archive. PATH is Claude Code's folder, or a project's folder or a transcript in it; or "
    "it is an export of Tenon's, claude-mem's database, or a MEMORY.md, which become memories. May be stopped and run again: it goes on where it was and "
    "keeps nothing twice, what was forgotten here stays forgotten, and secrets are taken out."
)
EXAMPLES = """
tenon import --dry-run               how much there is
tenon import                         all transcripts
tenon import --since 2026-01-01      those changed since
tenon import all.jsonl               what `tenon export` wrote, here or on another machine
tenon import --claude-mem            what claude-mem has kept (or name its database)
tenon import --memory-md             Claude Code's auto memory of all projects (or name a MEMORY.md)
"""
UNFINISHED_S = 3600.0
LONGEST_REST = 8 << 20
BEGINNING = 1 << 16  # bytes in which a transcript says its folder
FOLDER = r'"cwd":\s*("(?:[^"\\]|\\.)*")'


def arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the verb's own arguments."""
    parser.add_argument("path", nargs="?", default="", metavar="PATH", help="what to read, or where the transcripts are (Claude Code's own folder)")
    parser.add_argument("--claude-mem", action="store_true", help="claude-mem's database: PATH, or where it lies by default")
    parser.add_argument("--memory-md", action="store_true", help="Claude Code's auto memory: PATH, or that of all projects")
    context.arguments(parser)
    parser.add_argument("--dry-run", action="store_true", help="only say how much there is")
    parser.add_argument("--since", metavar="DATE", default="", help="only transcripts changed since that day, 2026-01-31")
    parser.add_argument("--deleted", action="store_true", help="also what agents had that were deleted")
    parser.add_argument("--unforget", action="store_true", help="read nothing: let go of forgotten things that imports took over")
    reads(parser)


def run(options: argparse.Namespace, out: Out) -> int:
    """0 when everything is read, 1 when something was in the way, 130 when it was interrupted."""
    since = day(options.since) if options.since else None
    if options.claude_mem and options.memory_md:
        options.wrong("--claude-mem and --memory-md are two things; say one")
    if options.unforget:
        return bringing.unforget(options, out)
    what = bringing.kind(options)
    if what:
        if since or options.deleted:
            options.wrong("--since and --deleted are for transcripts")
        return bringing.run(options, out, what)
    home, below = located(options.path)
    if options.dry_run:
        _dry(options, out, home, below, since)
        return 0
    begun = context.begun(options)
    with context.writing(options) as here:
        if begun:
            out.say(begun)
        plan = _plan(here.store, home, below, since, deleted=options.deleted)
        if options.deleted:
            deleted.take_up(file.path for file in plan.files)
        if not plan.files:
            _told(out, plan, Report(), 0, 0.0, since=options.since)
            return 0
        return _read(here.store, plan, out, here.settings.names("archive.exclude"))


def planned(store: Store, home: str, now: float, *, since: float | None = None, deleted: bool = False) -> Plan:
    """What is to be read. A transcript counts as read when its rest is a last line that nobody has gone on with for an hour."""
    plan = importing.plan(store, home, since=since, deleted=deleted)
    files = [file for file in plan.files if now - file.changed < UNFINISHED_S or not _broken_off(file)]
    return importing.Plan(files, plan.already + len(plan.files) - len(files), plan.deleted)


def _broken_off(file: File) -> bool:
    if file.size - file.read > LONGEST_REST:
        return False
    try:
        with open(file.path, "rb") as opened:
            opened.seek(file.read)
            return b"\n" not in opened.read(LONGEST_REST)
    except OSError:
        return False


def located(given: str) -> tuple[str, str]:
    """Claude Code's folder that a path means, and the path below which transcripts are wanted («» for all).

    Raises TenonError for a path with no folder `projects` in or above it.
    """
    if not given:
        return paths.claude_home(), ""
    path = os.path.realpath(os.path.expanduser(given))
    if os.path.isdir(os.path.join(path, "projects")):
        return path, ""
    if os.path.exists(path):
        above = path
        while os.path.dirname(above) != above:
            if os.path.basename(above) == "projects":
                return os.path.dirname(above), "" if above == path else path
            above = os.path.dirname(above)
    raise TenonError(f"{given} holds no transcripts: name Claude Code's folder (the one with `projects` in it), or something in its `projects`")


def day(text: str) -> float:
    """The beginning of a day, local time. Raises TenonError for what is no day."""
    try:
        return time.mktime(time.strptime(text, "%Y-%m-%d"))
    except (ValueError, OverflowError):
        raise TenonError(f"'{text}' is not a day; write it as 2026-01-31") from None


def _plan(store: Store, home: str, below: str, since: float | None, *, deleted: bool) -> Plan:
    plan = planned(store, home, time.time(), since=since, deleted=deleted)
    if not below:
        return plan
    stem = os.path.splitext(below)[0] + os.sep  # a transcript's sub-agents lie in the folder of its name
    files = [file for file in plan.files if file.path == below or file.path.startswith((below.rstrip(os.sep) + os.sep, stem))]
    return importing.Plan(files, plan.already, plan.deleted)


def _dry(options: argparse.Namespace, out: Out, home: str, below: str, since: float | None) -> None:
    if context.exists(options):
        with context.reading(options) as here:
            plan = _plan(here.store, home, below, since, deleted=options.deleted)
    else:
        from tempfile import TemporaryDirectory

        from tenon.store import db

        # Nothing was read yet; an empty store elsewhere says so without making the real one.
        with TemporaryDirectory() as folder, db.open_store(os.path.join(folder, "tenon.db")) as store:
            plan = _plan(store, home, below, since, deleted=options.deleted)
    if out.json:
        out.record({"files": len(plan.files), "sessions": plan.sessions, "bytes": plan.size_bytes, "already": plan.already, "from": home})
    else:
        out.told(
            f"{len(plan.files):,} transcripts of {plan.sessions:,} sessions to read, {context.size(plan.size_bytes)}; {plan.already:,} are read already. (from {home})"
        )
    _left(plan, out)


def _read(store: Store, plan: Plan, out: Out, exclude: Sequence[str]) -> int:
    report = Report()
    known = figures.written(store, 0.0).get("code", 0)
    problems: list[str] = []
    began = time.monotonic()
    before = 0  # bytes of the sessions that are done
    try:
        with progress.shown(out, "reading transcripts", plan.size_bytes, unit="bytes") as tick:
            for session, group in groupby(plan.files, key=lambda file: file.session):
                files = list(group)
                part = _session(store, session, files, tick, before, report.new)
                report.add(part)
                before += sum(file.size - file.read for file in files)
                if part.problem and part.problem not in problems:
                    problems.append(part.problem)
    except KeyboardInterrupt:
        out.say("Stopped; what was read so far is kept. `tenon import` goes on from here.")
        return 130
    excluded = sum(paths.lies_in(folder, exclude) for folder in map(_folder, plan.files if exclude else ()) if folder)
    made = figures.written(store, 0.0).get("code", 0) - known
    _told(out, plan, report, len(problems), time.monotonic() - began, excluded=excluded, made=made)
    for problem in problems[:10]:
        out.say(f"  {problem}")
    return 1 if problems and not report.new else 0


def _session(store: Store, session: str, files: Sequence[File], tick: Shown, before: int, turns: int) -> Report:
    def show(done: int, _: int, new: int, __: str) -> None:
        tick.at(before + done, note=context.counted(turns + new, "turn"))

    report = importing.run(store, files, on_progress=show, now_fn=time.time)
    if report.new:
        summary.write(store, session, "", time.time())
    return report


def _folder(file: File) -> str:
    """The folder that a transcript begins in, «» when it does not say."""
    import json
    import re

    try:
        with open(file.path, "rb") as opened:
            found = re.search(FOLDER, opened.read(BEGINNING).decode("utf-8", "replace"))
        return str(json.loads(found.group(1))) if found else ""
    except (OSError, ValueError):
        return ""


def _left(plan: Plan, out: Out) -> None:
    if plan.deleted:
        out.say(f"{context.counted(plan.deleted, 'transcript')} of agents that were deleted: left out; --deleted brings them along.")


def _told(out: Out, plan: Plan, report: Report, problems: int, seconds: float, *, excluded: int = 0, since: str = "", made: int = 0) -> None:
    if out.json:
        out.record(
            {"files": len(plan.files), "sessions": plan.sessions, "bytes": plan.size_bytes, "turns": report.new, "memories": made, "left_out": report.left_out,
             "purged": report.purged, "already": plan.already, "excluded": excluded, "problems": problems, "seconds": round(seconds, 2)}
        )  # fmt: skip
        return
    _left(plan, out)
    if not plan.files and not plan.already and since:
        out.told(f"Nothing to bring along: there is no transcript since {since}.")
        return
    if not plan.files:
        out.told(
            f"Nothing to bring along: {plan.already:,} transcripts are read already." if plan.already else "Nothing to bring along: there are no transcripts."
        )
        return
    out.told(f"{report.new:,} new turns from {len(plan.files):,} transcripts of {plan.sessions:,} sessions in {progress.duration(seconds)}.")
    if made:
        out.line(f"Plain code made {context.counted(made, 'memory', 'memories')} of what was said there, short-term.")
    if excluded:
        out.told(f"{context.counted(excluded, 'transcript')} excluded (archive.exclude), so nothing of {'it' if excluded == 1 else 'them'} is kept.")
    elif not report.new and not problems and not report.left_out and not report.purged:
        out.told("Nothing in them was new: their turns are in the archive already, or they hold none.")
    if report.purged:
        out.told(f"{context.counted(report.purged, 'line')} of a time before the archive was removed: left out, and so it stays.")
    if report.left_out:
        out.told(f"{report.left_out:,} lines were left out (not JSON, or too long); `tenon doctor` says where.")
