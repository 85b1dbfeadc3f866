"""`tenon repair`: the store from the inside, page by page and row by row; `doctor` looks at everything around it, and quickly."""

from __future__ import annotations

import os
import time

from tenon.base import paths
from tenon.base.errors import TenonError
from tenon.cli import context, progress, rescuing
from tenon.cli.doctor import Check, show
from tenon.cli.main import reads
from tenon.digest.due import WORK
from tenon.store import backup, cleaning, db, digests, forget, health, notes, purging, repairing
from tenon.world import daemon, leavings, machine, processes

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from tenon.cli.out import Out
    from tenon.store.db import Store

HELP = (
    "Checks the whole store: every page, the text indexes, vectors, rows that point to nothing, the hash of every archived turn, digests that nobody is at, "
    "and what dead processes left. With --fix it makes a backup and mends what can be mended. It takes minutes in a large store: `tenon doctor` is the quick "
    "look at everything, with the way out for each thing, and puts what can be read of a damaged store into a fresh one. --purge-history removes the archive "
    "for good and keeps the memories."
)
EXAMPLES = """
tenon repair                     look, and change nothing
tenon repair --fix               back up, then mend
tenon repair --purge-history     remove all archived sessions, keep the memories
"""
LARGE_LOG = 4_000_000  # bytes
FIX = "tenon repair --fix"
LOST = "the process that was at it is gone"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the verb's own arguments."""
    parser.add_argument("--fix", action="store_true", help="make a backup, then mend what can be mended")
    parser.add_argument("--purge-history", action="store_true", help="remove every archived turn for good, after asking; memories stay")
    parser.add_argument("--yes", action="store_true", help="with --purge-history: do not ask")
    reads(parser)


def run(options: argparse.Namespace, out: Out) -> int:
    """0 when all is well, or was mended; 1 when something is wrong that is not."""
    if options.purge_history and options.fix:
        options.wrong("--fix and --purge-history are two things; mend first")
    agent = context.agent(options)
    path = paths.store_path(agent)
    if not context.exists(options):
        out.say(f"Nothing is remembered yet; it will be in {path}.{context.others(options)}")
        if told := rescuing.aside(path):
            out.say(f"{told}.")
        return 0
    if options.purge_history:
        return _purge(path, out, yes=options.yes)
    found = look(path, agent, out)
    if options.fix and any(check.mend == FIX for check in found):
        _fix(path, agent, found, out)
        found = look(path, agent, out)
    for check in found:
        show(check, out)
    failed = sum(check.state == "fail" for check in found)
    if not out.json:
        mending = any(check.mend == FIX for check in found)
        out.line(f"{failed} of {len(found)} checks failed" + (f"; {FIX} mends what it can" if mending else "") if failed or mending else "All is well.")
    return 1 if failed else 0


def look(path: str, agent: str, out: Out) -> list[Check]:
    """What was found, check by check."""
    found: list[Check] = []
    checks: list[tuple[str, Callable[[Store], list[Check]]]] = [
        ("pages", _pages), ("indexes", _indexes), ("vectors", _vectors), ("rows", _rows), ("archive", _archive), ("digests", _digests), ("cleaning", _cleaning),
    ]  # fmt: skip
    with progress.shown(out, "checking", len(checks)) as tick:
        try:
            with _opened(path) as store:
                store.leniently()
                for number, (name, check) in enumerate(checks):
                    tick.at(number, note=name)
                    found += check(store)
                    if found[-1].name == "pages" and found[-1].state == "fail":
                        break  # the rest would only say it again
        except TenonError as error:
            found.append(
                Check("store", "fail", str(error), f"tenon doctor --fix (saves what can be read); {rescuing.way_back(path)}" if "damaged" in str(error) else "")
            )
    return [*found, *_left(path, agent)]


def _opened(path: str) -> Store:
    try:
        return db.open_store(path, create=False)
    except TenonError:
        return db.open_reader(path)  # a disk that may only be read; it raises the same for anything else


def _pages(store: Store) -> list[Check]:
    wrong = repairing.pages(store)
    if wrong:
        way = f"tenon doctor --fix (saves what can be read, keeps the damaged file); {rescuing.way_back(store.path)}"
        return [Check("pages", "fail", f"the file is damaged: {wrong[0]}", way)]
    return [Check("pages", "ok", "each is whole")]


def _indexes(store: Store) -> list[Check]:
    if not store.writable:
        return [Check("indexes", "warn", "not checked: that needs a store that can be written")]
    wrong = health.damaged_indexes(store)
    if wrong:
        return [Check("indexes", "fail", "; ".join(f"{table}: {said}" for table, said in wrong.items()), FIX)]
    return [Check("indexes", "ok", "agree with what is stored")]


def _vectors(store: Store) -> list[Check]:
    found = health.check_vectors(store)
    counts = ((found.stray, "of what is not there any more"), (found.lost, "missing"), (found.blocks, "whose block disagrees"))
    wrong = [f"{count:,} {told}" for count, told in counts if count]
    return [Check("vectors", "fail", "; ".join(wrong), FIX)] if wrong else [Check("vectors", "ok", "agree with what is stored")]


def _rows(store: Store) -> list[Check]:
    checks = []
    for each in repairing.astray(store):
        said = f"{each.count:,} of {each.table} point to a {each.parent} that is not there ({', '.join(each.columns)})"
        checks.append(
            Check("rows", "fail", said + (f"; {each.mends}" if each.mends else "; they stay, as nothing may be taken out of them"), FIX if each.mends else "")
        )
    return checks or [Check("rows", "ok", "each points to what is there")]


def _archive(store: Store) -> list[Check]:
    found = health.check_chain(store, None, 0.0)
    checks = []
    for session, turns in health.sessions_of(store, sorted(found.wrong)).items():
        few = " ".join(f"t{turn}" for turn in turns[:5])
        said = f"{len(turns):,} turns of session {session or '(unknown)'} are not as they were written: {few}"
        checks.append(Check("archive", "fail", said, f"tenon forget {few} (takes what was changed out)"))
    if found.unlinked:
        checks.append(Check("archive", "warn", f"{len(found.unlinked):,} turns cannot be checked: the turn before them is lost"))
    return checks or [Check("archive", "ok", f"{found.checked:,} turns, each as it was written")]


def _digests(store: Store) -> list[Check]:
    count = repairing.running(store)
    if not count or _busy(store):
        return [Check("digests", "ok", "none is stuck" if not count else "one is at it")]
    return [Check("digests", "fail", f"{context.counted(count, 'digest')} say that they are running, and nobody is at it", FIX)]


def _busy(store: Store) -> bool:
    """Whether somebody is digesting, as far as can be seen."""
    holder = notes.holder_of(store, WORK, time.time())
    pid = holder.partition("-")[0]
    return bool(holder) and not (pid.isdecimal() and processes.is_gone(int(pid)))


def _left(path: str, agent: str) -> list[Check]:
    gone = [*_stale(agent), *leavings.found(paths.home(), [machine.here().settings])]
    checks = [Check("leavings", "warn", f"{file}: left by a process that is gone", FIX) for file in gone]
    proxy = daemon.recorded()
    if proxy is not None and processes.is_gone(proxy.pid):
        checks.append(Check("proxy", "warn", f"{daemon.state_path()} says that process {proxy.pid} is the proxy, and it is gone", FIX))
    size = os.path.getsize(path + "-wal") if os.path.exists(path + "-wal") else 0
    if size > LARGE_LOG:
        checks.append(Check("log", "warn", f"{context.size(size)} wait in the log beside the store", FIX))
    return checks or [Check("leavings", "ok", "no process has left anything behind")]


def _cleaning(store: Store) -> list[Check]:
    if cleaning.is_due(store):
        return [
            Check("cleaning", "warn", "what was forgotten may still be in the file's freed pages: whoever forgot it was ended before they were cleaned", FIX)
        ]
    return [Check("cleaning", "ok", "what was forgotten is out of the file")]


def _stale(agent: str) -> list[str]:
    return [file for file, pid in repairing.left([paths.agent_folder(agent), backup.folder(agent)]) if processes.is_gone(pid)]


def _fix(path: str, agent: str, found: list[Check], out: Out) -> None:
    """Mends what was found; a store is backed up before anything in it is changed."""
    wanted = {check.name for check in found if check.mend == FIX}
    for file in leavings.remove([*_stale(agent), *leavings.found(paths.home(), [machine.here().settings])]) if "leavings" in wanted else ():
        out.say(f"removed {file}")
    if "proxy" in wanted and leavings.remove([daemon.state_path()]):
        out.say(f"removed {daemon.state_path()}")
    if "cleaning" in wanted:  # before the backup, which would have it too
        with db.open_store(path, create=False) as store:
            done = cleaning.catch_up(store)
        out.say("took what was forgotten out of the file's freed pages too" if done else "another process is reading the store; try again when it has ended")
    if not wanted - {"leavings", "proxy", "cleaning"}:
        return
    now = time.time()
    with db.open_store(path, create=False) as store:
        folder = backup.folder(agent)
        paths.make_private(folder)
        with progress.shown(out, "backing up", unit="bytes") as tick:
            made = backup.copy(store, backup.free(os.path.join(folder, backup.name(agent, now))), lambda done, total: tick.at(done * 4096, total * 4096))
        backup.note(store, made.path)
        out.say(f"backed up to {made.path}, {context.size(made.size)}")
        if "rows" in wanted:
            with store.transaction():
                mended = repairing.mend(store, now)
            out.say(f"mended {context.counted(mended, 'row')} that pointed to nothing")
        if "digests" in wanted and not _busy(store):
            out.say(f"ended {context.counted(digests.clear(store, LOST, now), 'digest')} that nobody is at; what they had not done waits for the next one")
        if wanted & {"indexes", "vectors", "rows"}:
            with progress.shown(out, "indexing") as tick:
                forget.rebuild(store, tick.at)
            out.say("built the text indexes anew, and the vectors with them")
        if not cleaning.checkpoint(store):
            out.say("Another process is reading the store; its log is written into it when that one ends.")


def _purge(path: str, out: Out, *, yes: bool) -> int:
    context.own_terminal("this removes every archived session for good")
    with db.open_store(path, create=False) as store:
        there = purging.Purged(store)
        told = f"{context.counted(there.turns, 'archived turn')} of {context.counted(there.sessions, 'session')}"
        out.say(
            f"This removes {told} for good, with their summaries and what the proxy keeps of {context.counted(there.conversations, 'conversation')}. "
            f"Memories stay; {there.memories:,} of them will no longer say where they came from. No backup is made."
        )
        if not out.confirm("Remove them?", yes):
            out.say("Nothing was removed.")
            return 1
        done = purging.purge(store, time.time())
        kept = backup.known(store)
    if out.json:
        out.record({"turns": done.turns, "sessions": done.sessions, "conversations": done.conversations, "memories": done.memories, "backups": kept})
        return 0
    out.line(f"Removed {told}.")
    for file in kept:
        out.say(f"  {file} still holds them; delete it when it must not")
    out.say(
        "Claude Code's own transcripts are still there until Claude Code cleans them up. Nothing said before now is archived again, from them or an export."
    )
    return 0
