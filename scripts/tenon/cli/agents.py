"""`tenon agents`: whose memories there are, and how much each of them holds."""

from __future__ import annotations

import os
import shutil
import sys

from tenon.base import paths, settings
from tenon.base.errors import TenonError
from tenon.base.lean import sqlite
from tenon.cli import context, table
from tenon.cli.main import reads
from tenon.digest import projects
from tenon.store import db, deleted, feeds, figures

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from typing import Any

    from tenon.cli.out import Out

HELP = "Lists the agents. Each has a memory of its own; --agent NAME, TENON_AGENT or the setting `agent` chooses one."
EXAMPLES = """
tenon agents
tenon --agent reviewer write "Names are British"    begins the memory of another agent
tenon code --agent reviewer                         so does a session with it
tenon agents --delete reviewer                      deletes all it remembers for good, when its name is typed again
"""
COLUMNS = [
    table.Column(""), table.Column("agent", style="strong"), *(table.Column(head, right=True) for head in ("memories", "turns", "sessions", "size")),
    table.Column("", folds=True, least=20, style="bad"),
]  # fmt: skip


def arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the verb's own arguments."""
    parser.add_argument("--delete", metavar="NAME", default="", help="delete this agent's memories and archive for good; asks for the name once more")
    parser.add_argument("--yes", action="store_true", help="with --delete: do not ask")
    reads(parser)


def run(options: argparse.Namespace, out: Out) -> int:
    """0, also when there is none."""
    if options.delete:
        known(options.delete)
        if not options.yes:
            agreed(options.delete, out)
        delete(options.delete, out)
        return 0
    chosen = paths.agent_name(options.agent or settings.load().text("agent"))
    listed = [_described(name, chosen) for name in names()]
    for found in listed if out.json else ():
        out.record(found)
    if listed and not out.json:
        table.show(out, COLUMNS, [_row(found) for found in listed])
    if not listed:
        out.say("There is no agent yet: the first session, or `tenon write`, begins one.")
    return 0


def _row(found: dict[str, Any]) -> list[table.Cell]:
    counts = [f"{found[name]:,}" if name in found else "" for name in ("memories", "turns", "sessions")]
    return [
        "*" if found["chosen"] else "",
        found["agent"],
        *counts,
        context.size(found["bytes"]),
        f"cannot be read: {found['problem']}" if found["problem"] else "",
    ]


def known(agent: str) -> None:
    """Raises TenonError unless the agent is there and its folder can be deleted."""
    folder = paths.agent_folder(paths.agent_name(agent))
    if not os.path.isdir(folder):
        raise TenonError(f"there is no agent '{agent}'; `tenon agents` lists them")
    if os.path.islink(folder):
        raise TenonError(f"{folder} is a symbolic link; remove what it points to by hand")


def agreed(agent: str, out: Out) -> None:
    """Asks for the agent's name. Raises TenonError when another one, or none, is given."""
    folder = paths.agent_folder(agent)
    out.say(f"This deletes everything that the agent '{agent}' remembers, in {folder}. Type the agent's name to go on:")
    if sys.stdin.readline().strip() != agent:
        raise TenonError(f"that is not '{agent}', so nothing was changed and its memories stay in {folder}")


def delete(agent: str, out: Out) -> None:
    """Deletes what the agent remembers; what its sessions said is not read again from Claude Code's transcripts."""
    folder = paths.agent_folder(agent)
    try:
        deleted.note(_transcripts(paths.store_path(agent)))
    except TenonError as error:
        out.say(f"Claude Code's transcripts of its sessions stay, and may be read again by another agent: {error}.")
    try:
        shutil.rmtree(folder)
    except OSError as error:
        raise TenonError(f"{error.filename or folder} cannot be deleted ({error.strerror}); end all sessions that use it and try again") from error
    out.line(f"{folder}: deleted")


def _transcripts(path: str) -> dict[str, int]:
    """The transcripts of an agent's sessions and their sub-agents, and how long each is."""
    if not os.path.isfile(path):
        return {}
    try:
        with db.open_reader(path) as store:
            known = feeds.read_so_far(store)
    except sqlite.Error as error:
        raise TenonError(db.explain(path, error)) from error
    for own in [own for name in list(known) for own, _ in projects.subagents(name)]:
        known.setdefault(os.path.realpath(own), 0)
    return {name: max(read, os.path.getsize(name) if os.path.isfile(name) else 0) for name, read in known.items()}


def names() -> list[str]:
    """The agents that have a memory, by name. Raises TenonError for a folder that cannot be read."""
    folder = os.path.join(paths.home(), "agents")
    try:
        os.scandir(folder).close()  # what cannot be read is not the same as empty
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise TenonError(f"{folder} cannot be read ({error.strerror}); `tenon doctor --fix` opens what is yours") from error
    return paths.agents()


def _described(name: str, chosen: str) -> dict[str, Any]:
    path = paths.store_path(name)
    told: dict[str, Any] = {"agent": name, "chosen": name == chosen, "path": path, "bytes": os.path.getsize(path), "problem": ""}
    try:
        with db.open_reader(path) as store:
            found = figures.count(store, everywhere=True)
            told.update(memories=found.short + found.long, turns=found.turns, sessions=found.sessions, repositories=figures.repositories(store))
    except TenonError as error:
        told["problem"] = str(error)
    return told
