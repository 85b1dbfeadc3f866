"""What `tenon import` does with what is no transcript: an export of Tenon's, claude-mem's database, Claude Code's auto memory."""

from __future__ import annotations

import os
from contextlib import contextmanager
from tempfile import TemporaryDirectory

from tenon.base import paths
from tenon.base.errors import TenonError
from tenon.cli import context, progress
from tenon.digest import bringing, claude_mem, memory_md
from tenon.store import backup, db, exporting, foreign, merging, places

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator

    from tenon.cli.context import Context
    from tenon.cli.out import Out
    from tenon.digest.bringing import Counts
    from tenon.store.db import Store
    from tenon.store.foreign import Foreign
    from tenon.store.merging import Report

THINGS = (
    ("memory", "memory", "memories"), ("edge", "link", "links"), ("association", "association", "associations"), ("task", "task", "tasks"),
    ("handoff", "handoff", "handoffs"), ("session", "session", "sessions"), ("turn", "turn", "turns"), ("forgotten", "forgotten thing", "forgotten things"),
)  # fmt: skip
LEFT_OUT = {
    "forgotten": "Forgotten here, and not taken", "refused": "Not as it was written, or following what is not, and not taken",
    "excluded": "Of a folder that archive.exclude names, and not taken", "frozen": "Of an identity that is frozen here, and not taken",
    "short": "Too short, and not taken", "apart": "Between things that are not both here, and not taken",
}  # fmt: skip
STOPPED = "Stopped; what was brought along so far is kept. The same command goes on from here, and keeps nothing twice."


def kind(options: argparse.Namespace) -> str:
    """What is to be brought along: export, claude-mem, memory.md, or «» for transcripts. Raises TenonError for a file that is none of them."""
    given = os.path.expanduser(options.path)
    if options.claude_mem or options.memory_md:
        return "claude-mem" if options.claude_mem else "memory.md"
    if os.path.isfile(given):
        if merging.is_export(given):
            return "export"
        if foreign.is_sqlite(given):
            with foreign.opened(given) as found:
                if claude_mem.is_one(found):
                    return "claude-mem"
                if {"memory", "turn"} <= found.tables:
                    raise TenonError(f"{given} is a store of Tenon's: `tenon backup --restore` puts a backup back; an export of it can be imported")
            raise TenonError(f"{given} is a database, and none that is known here: Tenon reads claude-mem's")
        if given.endswith(".md"):
            return "memory.md"
        if f"{os.sep}projects{os.sep}" not in os.path.realpath(given):
            raise TenonError(f"{given} is no export of Tenon's, no database of claude-mem's, no MEMORY.md and no transcript in a folder `projects`")
    return "memory.md" if os.path.isfile(os.path.join(given, memory_md.INDEX)) else ""


def run(options: argparse.Namespace, out: Out, what: str) -> int:
    """0 when it is brought along, 1 when something of it could not be used, 130 when it was interrupted."""
    if what == "export" and not options.dry_run:
        # An export says whose words its memories are; nobody but the user may say that of a file.
        context.own_terminal("an export says which memories are the user's own words")
    with _target(options, settle=what != "export") as here:
        try:
            return {"export": _export, "claude-mem": _claude_mem, "memory.md": _memory_md}[what](options, here, out)
        except KeyboardInterrupt:
            out.say(STOPPED if not options.dry_run else "Stopped.")
            return 130


def unforget(options: argparse.Namespace, out: Out) -> int:
    """0 when what imports took over of what was forgotten elsewhere is let go of again."""
    context.own_terminal("what was forgotten may be written again after this")
    with context.writing(options) as here:
        count = merging.unforget(here.store, here.now)
    if out.json:
        out.record({"unforgotten": count})
        return 0
    out.line(
        f"Let go of {context.counted(count, 'forgotten thing')} that imports took over. What was forgotten here stays so, and so does what was left out since."
    )
    return 0


@contextmanager
def _target(options: argparse.Namespace, *, settle: bool) -> Iterator[Context]:
    """The store to bring it into; of a dry run a copy of it that is gone afterwards."""
    own = paths.store_path(context.agent(options))
    if not options.dry_run:
        with context.on(db.open_store(own), options, settle=settle) as here:
            yield here
        return
    with TemporaryDirectory(prefix="tenon-") as folder:
        path = os.path.join(folder, "tenon.db")
        if context.exists(options):
            with db.open_reader(own) as store:
                backup.copy(store, path)
        with context.on(db.open_store(path), options, settle=settle) as here:
            yield here


def _export(options: argparse.Namespace, here: Context, out: Out) -> int:
    path = os.path.abspath(os.path.expanduser(options.path))
    merging.checked(path)
    exclude = here.settings.names("archive.exclude")
    with progress.shown(out, "reading", os.path.getsize(path), unit="bytes") as tick:
        report = merging.merge(here.store, path, here.now, is_excluded=lambda folder: paths.lies_in(folder, exclude), progress=lambda done, _: tick.at(done))
    _told(report, path, out, dry_run=options.dry_run)
    return 1 if report.bad or report.cut_off else 0


def _told(report: Report, path: str, out: Out, *, dry_run: bool) -> None:
    if out.json:
        broken = [{"line": number, "why": why} for number, why in report.broken]
        out.record({"from": path, "format": exporting.VERSION, "dry_run": dry_run, "lines": report.lines, "broken": report.bad, "first_broken": broken,
                    "cut_off": report.cut_off, "counts": report.counts})  # fmt: skip
        return
    new = [context.counted(report.count(thing, "new"), one, many) for thing, one, many in THINGS if report.count(thing, "new")]
    changed = [context.counted(report.count(thing, "changed"), one, many) for thing, one, many in THINGS if report.count(thing, "changed")]
    out.told(f"{'Would bring' if dry_run else 'Brought'} along {', '.join(new) or 'nothing new'} from {path}.")
    if changed:
        out.told(f"{', '.join(changed)} {'would be' if dry_run else 'were'} joined with what is here.")
    known = sum(counts.get("known", 0) for counts in report.counts.values())
    if known:
        out.told(f"{known:,} of its lines {'are' if known > 1 else 'is'} here already.")
    for outcome, said in LEFT_OUT.items():
        for thing, one, many in THINGS:
            count = report.count(thing, outcome)
            if count and thing == "forgotten" and outcome == "short":
                out.say(f"Texts of one or two words that were forgotten there, and not taken over, for they may stand in anything: {count:,}. "
                        "What must not be written here either: tenon forget --text TEXT")  # fmt: skip
            elif count and thing == "forgotten":
                out.say("What the other store has forgotten is known by hashes of its own, which mean nothing here: forget it here too.")
            elif count:
                out.say(f"{said}: {context.counted(count, one, many)}.")
    if report.count("forgotten", "new"):
        out.say("What was forgotten there is not written here any more, by itself or inside anything else; tenon import --unforget lets go of that again.")
    for number, why in report.broken:
        out.say(f"  line {number}: {why}")
    if report.bad > len(report.broken):
        out.say(f"  and {report.bad - len(report.broken):,} more lines that cannot be used")
    if report.cut_off:
        out.say("The file ends before its end: it was cut off, and what is missing is not here.")


def _claude_mem(options: argparse.Namespace, here: Context, out: Out) -> int:
    path = os.path.abspath(os.path.expanduser(options.path)) if options.path else claude_mem.path()
    unsure: dict[str, str] = {}

    def repository(project: str) -> int:
        if options.repo or not project:
            return _own(here)
        number, is_sure = foreign.home(here.store, project, here.now)
        if not is_sure:
            unsure[project] = places.key(here.store, number)
        return number

    with foreign.opened(path) as given:
        if not claude_mem.is_one(given):
            raise TenonError(f"{path} holds no observations and no summaries; name claude-mem's database, which is {claude_mem.path()} by default")
        counts, prompts = _read(given, here.store, repository, here.now, out)
    _counted(counts, prompts, path, out, dry_run=options.dry_run)
    for project, key in sorted(unsure.items()) if not out.json else ():
        out.say(f"Which repository «{project}» is, is not known here: it is kept as {key}; `tenon alias {key} KEY-OR-FOLDER` makes it one with yours.")
    return 0


def _read(given: Foreign, store: Store, repository: Callable[[str], int], now: float, out: Out) -> tuple[Counts, int]:
    homes: dict[str, int] = {}

    def home(project: str) -> int:
        if project not in homes:
            homes[project] = repository(project)
        return homes[project]

    with progress.shown(out, "reading", claude_mem.size(given)) as tick:
        counts = bringing.keep(store, claude_mem.entries(given), home, now, tick)
        prompts = 0
        for new in claude_mem.prompts(store, given, home, now):
            prompts += new
            tick(max(1, new))
    return counts, prompts


def _memory_md(options: argparse.Namespace, here: Context, out: Out) -> int:
    given = [os.path.abspath(os.path.expanduser(options.path))] if options.path else memory_md.folders(paths.claude_home())
    if not given:
        out.told(f"There is no auto memory in {paths.claude_home()}.")
        return 0
    for path in given:
        found = []
        for file in memory_md.files(path):
            told = memory_md.entries(file)
            found += told
            if len(told) == memory_md.MOST:
                out.say(f"{file} has {memory_md.MOST:,} entries or more: what comes after so many is left out")
        folder = "" if options.repo else memory_md.folder_of(path)
        if not options.repo and not folder and f"{os.sep}projects{os.sep}" in path:
            out.say(f"{path}: no transcript beside it says which folder it is of; name it: tenon import {path} --repo FOLDER")
            continue
        number = places.settle(here.store, folder, here.now) if folder else _own(here)
        counts = bringing.keep(here.store, found, dict.fromkeys((entry.project for entry in found), number).__getitem__, here.now)
        _counted(counts, 0, path, out, dry_run=options.dry_run, whose=places.key(here.store, number))
    return 0


def _counted(counts: Counts, prompts: int, path: str, out: Out, *, dry_run: bool, whose: str = "") -> None:
    if out.json:
        out.record({"from": path, "dry_run": dry_run, "memories": counts.new, "known": counts.known, "left_out": counts.forgotten, "prompts": prompts,
                    **({"repository": whose} if whose else {})})  # fmt: skip
        return
    told = context.counted(counts.new, "memory", "memories") + (f" and {context.counted(prompts, 'prompt')}" if prompts else "")
    out.told(f"{'Would bring' if dry_run else 'Brought'} along {told}{' of ' + whose if whose else ''} from {path}; {counts.known:,} are here already.")
    if counts.forgotten:
        out.say(f"{counts.forgotten:,} were forgotten here, or superseded, and stay so.")
    if counts.new:
        out.say("They are short-term and marked as coming from outside: what proves right, reinforce or write as your own.")


def _own(here: Context) -> int:
    if here.repository is None:
        raise TenonError("it is not said which repository this is of; name it with --repo")
    return here.repository
