"""A damaged store, as the verbs deal with it: what can be read of it goes into a fresh one, and the backup that there is is named."""

from __future__ import annotations

import os
import time

from tenon.cli import context
from tenon.store import backup, rescue

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tenon.cli.out import Out
    from tenon.store.rescue import Rescue

COUNTED = (("memory", "memories"), ("turn", "turns"), ("session", "sessions"))
NONE = "there is no backup of it that is whole"


def quoted(path: str) -> str:
    """The path as a shell reads it."""
    from shlex import quote

    return f'"{path}"' if os.name == "nt" else quote(path)


def restoring(path: str, source: str) -> str:
    """The command that puts the backup into the store at the path."""
    agent = os.path.basename(os.path.dirname(os.path.abspath(path)))
    whose = "" if agent == "default" else f"--agent {agent} "
    return f"tenon {whose}backup --restore {quoted(source)}"


def aside(path: str) -> str:
    """What there is to say beside a store that is not there or empty while a restore has put one aside; «» when none has."""
    found = backup.aside(path)
    return f"{found[-1]} was the store until a backup was put back: {restoring(path, found[-1])} puts it back" if found else ""


def way_back(path: str) -> str:
    """The command that puts the newest backup of the store at the path back, and of when that is; or that there is none."""
    newest = rescue.newest_backup(path)
    if not newest:
        return NONE
    return f"{restoring(path, newest)} (puts the newest backup back, of {context.date(os.stat(newest).st_mtime)})"


def replace(path: str, now: float, out: Out, *, yes: bool, empty: bool) -> bool:
    """Whether a fresh store with what could be read is in the damaged one's place; one that nothing could be read of stays, unless `empty` or the user says so."""
    stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime(now))
    out.say(f"{path} is damaged. What can be read of it would go into a fresh store; the damaged file is kept as {path}.damaged-{stamp}.")
    back = way_back(path)
    out.say(f"Instead of that: {back}." if back != NONE else f"{NONE[0].upper()}{NONE[1:]}.")
    if not out.confirm("End all sessions of Claude Code first. Replace it now?", yes):
        return False
    saved = rescue.rescue(path, stamp, now, empty=empty)
    if not saved.kept:
        out.say(f"Nothing could be read: no memory and no turn. The damaged file stays where it is. {_further(back)}")
        if yes or not out.confirm("Begin an empty store in its place all the same?", yes=False):
            out.say("`tenon doctor --fix --empty` begins an empty store and keeps the damaged file beside it.")
            return False
        saved = rescue.rescue(path, stamp, now, empty=True)
    _told(saved, back, out)
    return True


def _told(saved: Rescue, back: str, out: Out) -> None:
    told = ", ".join(f"{saved.rows.get(name, 0):,} {label}" for name, label in COUNTED)
    out.say(f"saved {told}; kept the damaged file as {saved.kept}")
    if saved.broken:
        out.say(f"not read to their end: {', '.join(saved.broken)}. `tenon import` brings back turns whose transcripts are still there")
    if saved.nothing and back != NONE:
        out.say(_further(back))


def _further(back: str) -> str:
    return "There is no backup either." if back == NONE else f"A backup is there: {back}."
