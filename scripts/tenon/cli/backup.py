"""`tenon backup`: a whole copy of the store while sessions go on, and one of them put back."""

from __future__ import annotations

import os
import time

from tenon.base import paths
from tenon.base.errors import TenonError
from tenon.cli import context, progress
from tenon.cli.main import count, reads
from tenon.store import backup, db

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from tenon.cli.out import Out
    from tenon.store.backup import Copy

HELP = (
    "Makes a copy of all that the agent remembers, while sessions go on, and checks it: in the agent's folder, or where PATH says. The file is yours alone "
    "and is named after agent and time. --restore puts one back, without what was forgotten since, and keeps the present store beside it. A backup still holds "
    "what is forgotten after it was made: `tenon forget` does not reach into it and names it, so delete the backups that must not have it any more."
)
EXAMPLES = """
tenon backup                             into the agent's folder
tenon backup /media/stick --keep 5       into a folder, and only the newest five of those in it stay
tenon backup --list                      which there are
tenon backup --restore FILE              puts one back; what is there now is kept beside it
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the verb's own arguments."""
    parser.add_argument(
        "path",
        nargs="?",
        default="",
        metavar="PATH",
        help="a folder that is there, or the file to write, which ends in .db (else the agent's folder of backups)",
    )
    parser.add_argument("--keep", type=count, default=0, metavar="N", help="remove this agent's older backups in that folder but for the newest N")
    parser.add_argument("--list", action="store_true", help="only list the backups that are there")
    parser.add_argument("--restore", metavar="FILE", default="", help="put this backup in the place of the present store")
    parser.add_argument("--yes", action="store_true", help="with --restore: do not ask")
    reads(parser)


def run(options: argparse.Namespace, out: Out) -> int:
    """0 when it is done, 1 when the user said no."""
    if bool(options.restore) + bool(options.list) + bool(options.keep) > 1 or (options.restore and options.path):
        options.wrong("--restore, --list and --keep are three things; say one")
    agent = context.agent(options)
    if options.list:
        return _list(options, agent, out)
    if options.restore:
        return _restore(options, agent, out)
    if not context.exists(options):
        raise TenonError(f"there is no memory yet to make a copy of.{context.others(options)}".rstrip("."))
    where, path = _place(options.path, agent)
    made = _made(agent, where, path, out)
    gone = backup.prune(where, agent, options.keep) if options.keep else []
    if out.json:
        out.record({**_fields(made), "agent": agent, "removed": gone})
        return 0
    out.line(f"Backed up {_told(made)} to {made.path}, {context.size(made.size)}; it is whole, and yours alone.")
    if gone:
        out.line(f"Removed {context.counted(len(gone), 'older one')} in {where}.")
    out.say(f"To put it back: tenon {f'--agent {agent} ' if agent != 'default' else ''}backup --restore {_quoted(made.path)}")
    out.say("It also holds what you forget later: delete it when it must not.")
    return 0


def _place(given: str, agent: str) -> tuple[str, str]:
    """The folder and the file («»: by name and time) of a backup. Raises TenonError where it cannot be."""
    if not given:
        folder = backup.folder(agent)
        paths.make_private(folder)
        return folder, ""
    path = os.path.abspath(os.path.expanduser(given))
    if os.path.isdir(path):
        return path, ""
    if os.path.lexists(path):
        raise TenonError(f"{path} is there already; name a file that is not, or the folder")
    if given.endswith(("/", os.sep)) or not path.endswith(".db"):
        raise TenonError(f"{path} is no folder; make it first, or name the file to write, which ends in .db")
    if not os.path.isdir(os.path.dirname(path)):
        raise TenonError(f"{os.path.dirname(path)} is no folder; make it first, or name another place")
    return os.path.dirname(path), path


def _made(agent: str, where: str, path: str, out: Out) -> Copy:
    now = time.time()
    store_path = paths.store_path(agent)
    with db.open_reader(store_path) as store, progress.shown(out, "copying", unit="bytes") as tick:
        page = 4096
        copied = backup.copy(store, path or backup.free(os.path.join(where, backup.name(agent, now))), lambda done, total: tick.at(done * page, total * page))
    try:
        with db.open_store(store_path, create=False, busy_s=1.0) as store:
            backup.note(store, copied.path)
    except TenonError:
        pass  # a store that cannot be written: `tenon forget` finds those in the usual folder all the same
    return copied


def _list(options: argparse.Namespace, agent: str, out: Out) -> int:
    where = os.path.abspath(os.path.expanduser(options.path)) if options.path else ""
    if where:
        found = backup.made(where, agent)
    elif context.exists(options):
        with context.reading(options) as here:
            found = backup.known(here.store)
    else:
        found = backup.made(backup.folder(agent), agent)
    for path in found:
        status = os.stat(path)
        if out.json:
            out.record({"file": path, "bytes": status.st_size, "at": context.iso(status.st_mtime)})
        else:
            out.line(f"{context.date(status.st_mtime)}  {context.size(status.st_size):>10}  {path}")
    if not found and not out.json:
        out.line(f"There is no backup of agent {agent}{' in ' + where if where else ''}; `tenon backup` makes one.")
    return 0


def _restore(options: argparse.Namespace, agent: str, out: Out) -> int:
    source, path = os.path.abspath(os.path.expanduser(options.restore)), paths.store_path(agent)
    context.own_terminal("this takes away what was remembered since")
    memories, turns, sessions = backup.inspected(source)
    told = _counts(memories, turns, sessions)
    out.say(f"{source} holds {told}. It would take the place of {path}; what is there now is kept beside it.")
    out.say("What was forgotten since it was made is forgotten again.")
    if not out.confirm(f"Put it back for agent {agent}?", options.yes):
        out.say("Nothing was changed.")
        return 1
    done = backup.restore(path, source, time.time())
    gone = done.forgotten
    if out.json:
        out.record({"restored": source, "store": path, "kept": done.kept, "memories": memories, "turns": turns, "sessions": sessions, "forgotten": gone})
        return 0
    out.line(f"Put back {told} for agent {agent}.")
    if gone:
        out.line(
            f"{context.counted(gone, 'memory or turn', 'memories and turns')} of it that had been forgotten since {'is' if gone == 1 else 'are'} gone again."
        )
    if gone is None:
        out.say("What was forgotten since cannot be told from the store that was there: forget it again.")
    if done.kept:
        out.line(f"What was there before is {done.kept}; delete it when you do not need it.")
    return 0


def _told(made: Copy) -> str:
    return _counts(made.memories, made.turns, made.sessions)


def _counts(memories: int, turns: int, sessions: int) -> str:
    return f"{context.counted(memories, 'memory', 'memories')}, {context.counted(turns, 'turn')} and {context.counted(sessions, 'session')}"


def _fields(made: Copy) -> dict[str, object]:
    return {"file": made.path, "bytes": made.size, "memories": made.memories, "turns": made.turns, "sessions": made.sessions}


def _quoted(path: str) -> str:
    from tenon.cli.rescuing import quoted

    return quoted(path)
