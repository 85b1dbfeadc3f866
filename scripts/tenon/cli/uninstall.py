"""`tenon uninstall`: takes away what install wrote, byte for byte, and keeps the memories unless told their name."""

from __future__ import annotations

import os

from tenon.base import paths
from tenon.base.errors import TenonError
from tenon.cli import agents, context, install
from tenon.store import deleted
from tenon.world import base_url, claude_settings, daemon, interpreter, launcher, machine, record

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from tenon.cli.out import Out
    from tenon.world.machine import Machine
    from tenon.world.record import Record

HELP = """Takes away exactly what `tenon install` wrote: the command, the keys in Claude Code's settings, the interpreter in its hooks, its own launcher. Turns the proxy off and ends it.
What you have changed since stays. Memories stay too, unless you name the agent to purge and type its name again."""
EXAMPLES = """tenon uninstall                ask, then take everything back
tenon uninstall --dry-run      only say what would be taken away
tenon uninstall --purge work   also delete all that the agent «work» remembers"""
TOLD = {
    "restored": "as it was before, byte for byte",
    "removed": "taken out; later changes of yours stay",
    "gone": "was gone already",
    "kept": "has been changed since and stays",
}


def arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the verb's own arguments."""
    parser.add_argument("--yes", action="store_true", help="do not ask")
    parser.add_argument("--dry-run", action="store_true", help="say what would be taken away and change nothing")
    parser.add_argument("--purge", metavar="AGENT", default="", help="delete this agent's memories and archive for good; asks for the name once more")


def run(options: argparse.Namespace, out: Out) -> int:
    """Takes back, then purges when asked to."""
    return uninstall(machine.here(), options, out)


def uninstall(here: Machine, options: argparse.Namespace, out: Out) -> int:
    """The exit code: 0 also when nothing was installed."""
    kept = record.load(here.tenon_home)
    agent = paths.agent_name(options.purge) if options.purge else ""
    if agent:
        agents.known(agent)
    if agent and not options.dry_run:
        agents.agreed(agent, out)  # before anything is taken away
    proxied = os.path.exists(base_url.path()) or daemon.running() is not None
    pointed = interpreter.changed(here)
    wished = os.path.exists(os.path.join(here.tenon_home, interpreter.NAME))
    if kept.is_empty() and not os.path.exists(kept.path) and not (proxied or pointed or wished):
        out.told("nothing was installed by `tenon install`")
        _swept(here, out, dry=options.dry_run)
    elif options.dry_run or out.confirm(_question(kept, pointed, proxied=proxied), options.yes):
        _swept(here, out, dry=options.dry_run)
        if proxied:
            _without_proxy(here, kept, out, dry=options.dry_run)
        _take_back(here, kept, out, dry=options.dry_run)
    else:
        out.told("nothing was taken away")
        return 0
    if agent and options.dry_run:
        out.told(f"{paths.agent_folder(agent)}: would be deleted with all that '{agent}' remembers")
    elif agent:
        agents.delete(agent, out)
    _closing(here, kept, out, dry=options.dry_run)
    return 0


def _swept(here: Machine, out: Out, *, dry: bool) -> None:
    for line in [] if dry else base_url.swept(here):
        out.told(line)


def _without_proxy(here: Machine, kept: Record, out: Out, *, dry: bool) -> None:
    """Turns the proxy off and ends it; sessions that still talk through it are told of."""
    if dry:
        out.told("the proxy would be turned off and ended")
        switch = base_url.load()
        if switch is not None and switch.former:
            out.told(f"{'.'.join(base_url.URL)} in {switch.settings}: would be what it was before")
        return
    for line in base_url.off(here, kept):
        out.told(line)
    try:
        daemon.stop()
    except TenonError as error:
        out.say(str(error))
        return
    out.told("the proxy is off and has ended; a session that talked through it cannot go on, start it anew")
    for path in (daemon.state_path(), daemon.log_path(), daemon.log_path() + ".1"):
        if os.path.exists(path):
            os.remove(path)


def _question(kept: Record, pointed: list[str], *, proxied: bool) -> str:
    things = ["the proxy"] if proxied else []
    things += list(dict.fromkeys(".".join(edit.keys) + " in " + edit.path for edit in kept.edits if not base_url.is_ours(edit))) + list(kept.links)
    things += [f"the interpreter in {interpreter.hooks_file(root)}" for root in pointed]
    if kept.files:
        things.append(f"{len(kept.files)} copied files")
    return "This takes away\n  " + ("\n  ".join(things) or "Tenon's launcher") + "\nGo on?"


def _take_back(here: Machine, kept: Record, out: Out, *, dry: bool) -> None:
    """Newest first: each edit finds the file as it left it. What is done is struck from the record at once."""
    said = ""
    for edit in reversed(kept.edits[:]):
        how = claude_settings.take(edit, dry=dry)
        told = "would be taken out" if dry and how in ("restored", "removed") else TOLD[how]
        line = f"{'.'.join(edit.keys)} in {edit.path}: {told}"
        if line != said:  # the rules are an edit each
            out.told(line)
        said = line
        if not dry:
            kept.edits.remove(edit)
            kept.save()
    for path, target in list(kept.links.items()):
        if dry:
            out.told(f"{path}: would be removed")
            continue
        out.told(f"{path}: {'removed' if launcher.unlink(path, target) else 'is not as it was put there, so it stays'}")
        del kept.links[path]
        kept.save()
    for line in interpreter.take_back(here, kept, dry=dry):  # before the copies go, which are known by their bytes
        out.told(line)
    if dry:
        if kept.files:
            out.told(f"{len(kept.files)} copied files would be removed, those you changed would stay")
        return
    copied, place = len(kept.files), os.path.commonpath(list(kept.files)) if kept.files else ""
    stayed = install.drop_files(kept)
    if copied:
        out.told(f"{place}: {context.counted(copied - len(stayed), 'file')} removed")
    for path in stayed:
        out.told(f"{path}: has been changed since and stays")
    for path in (here.launcher, kept.path):
        if os.path.exists(path):
            os.remove(path)
    kept.drop_folders()


def _closing(here: Machine, kept: Record, out: Out, *, dry: bool) -> None:
    agents = os.path.join(here.tenon_home, "agents")
    if os.path.isdir(agents) and os.listdir(agents):
        out.told(f"Memories are kept in {here.tenon_home}; `tenon install` finds them again.")
    elif not dry:
        if os.path.exists(deleted.path()):  # without Tenon nobody reads what was deleted, nor after it by itself
            os.remove(deleted.path())
        for folder in (agents, here.tenon_home):
            if os.path.isdir(folder) and not os.listdir(folder):
                os.rmdir(folder)
    try:
        names = [name for name, on in machine.enabled(claude_settings.read(here.settings)).items() if on]
    except TenonError:
        names = []
    for name in names:
        out.told(f"The plugin itself is removed with: claude plugin uninstall {name}")
