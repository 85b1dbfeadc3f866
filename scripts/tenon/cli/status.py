"""`tenon status`: what is stored for this repository and in all, and when each part last showed itself."""

from __future__ import annotations

import os
import time

from tenon.base import faults, paths, settings
from tenon.cli import context, meter, standing
from tenon.cli.main import reads
from tenon.store import exchanges, figures, places
from tenon.world import launcher, machine

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from typing import Any

    from tenon.cli.out import Out
    from tenon.store.db import Store

HELP = """Shows what is stored for this repository and in all, the last session, what waits for a digest, when each hook was last
seen, recent faults, and how the proxy stands."""
EXAMPLES = """
tenon status
tenon status --repo ~/work/api --json
"""
SEEN = {"session": "session start", "prompt": "prompt", "tool": "model's tools", "command": "command", "turn": "newest turn", "summary": "newest summary"}
EXCLUDED = "excluded (archive.exclude): its sessions are neither kept nor recalled"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the verb's own arguments."""
    context.arguments(parser)
    reads(parser)


def run(options: argparse.Namespace, out: Out) -> int:
    """0, also before anything is stored."""
    if not context.exists(options):
        if is_excluded(options.repo or os.getcwd()):
            out.say(f"This folder is {EXCLUDED}.")
        out.say(f"Nothing is remembered yet. It will be in {paths.agent_folder(context.agent(options))}.")
        proxy = standing.look(machine.here(), context.agent(options))
        for line in _lined(standing.lines(proxy, time.time())) if proxy.switch or proxy.state else ():
            out.say(line)
        return 0
    with context.reading(options) as here:
        proxy = standing.look(machine.here(), here.agent)
        found = facts(here.store, here.repository, here.now, excluded=here.excluded)
        if out.json:
            out.record({"agent": here.agent, **found, "digest": meter.look(here.store, here.settings, here.now).fields(), "proxy": proxy.fields()})
        else:
            digested = meter.lines(meter.look(here.store, here.settings, here.now))
            for line in _told(found, here.now) + _lined([*digested, *standing.lines(proxy, here.now)]):
                out.line(line)
    return 0


def lines(store: Store, folder: str, now: float) -> list[str]:
    """The status of the folder's repository, line by line."""
    agent = os.path.basename(os.path.dirname(store.path))
    here = machine.here()
    told = _told(facts(store, places.find(store, folder), now, excluded=is_excluded(folder)), now)
    told += _lined([*meter.lines(meter.look(store, settings.load(), now)), *standing.lines(standing.look(here, agent), now)])
    if not launcher.is_linked(here):
        told += _lined([("in a terminal", f"{launcher.by_path(here)} install, once, makes it the command tenon there")])
    return told


def is_excluded(folder: str) -> bool:
    """Whether the sessions of the folder are neither kept nor recalled."""
    return paths.lies_in(folder, settings.load().names("archive.exclude"))


def facts(store: Store, repository: int | None, now: float, *, excluded: bool = False) -> dict[str, Any]:
    """The status as plain data; times are ISO 8601, UTC."""
    here, whole = figures.count(store, repository), figures.count(store, everywhere=True)
    tokens, turns = exchanges.pending_size(store, repository)
    last = figures.last_session(store, repository)
    noted = faults.recent(500)
    day = [fault for fault in noted if isinstance(fault.get("at"), (int, float)) and now - float(str(fault["at"])) < context.DAY_S]
    return {
        "repository": places.key(store, repository) or None,
        "excluded": excluded,
        "here": _figures(here),
        "agent_wide": figures.agent_wide(store),
        "all": {**_figures(whole), "repositories": figures.repositories(store), "bytes": _size(store.path)},
        "pending": {"turns": turns, "tokens": tokens},
        "last_session": None
        if last is None
        else {
            "id": last[0],
            "folder": last[1],
            "branch": last[2],
            "started": context.iso(last[3]),
            "last": context.iso(last[4]),
            "seconds_ago": int(now - last[4]),
        },
        "last_seen": {name: context.iso(at) for name, at in sorted(figures.latest(store).items())},
        "faults": {"last_day": len(day), "kept": len(noted), "newest": f"{day[0].get('door')}: {day[0].get('said')}" if day else ""},
        "settings_problem": settings.load().problem,
    }


def _figures(found: figures.Figures) -> dict[str, int]:
    return {name: getattr(found, name) for name in found.__slots__}


def _told(found: dict[str, Any], now: float) -> list[str]:
    here, whole, last, pending = found["here"], found["all"], found["last_session"], found["pending"]
    told = [
        ("this repository", found["repository"] or "nothing is kept for this folder yet"),
        ("memories here", f"{here['long']:,} long-term, {here['short']:,} short-term, {here['faded']:,} faded; {found['agent_wide']:,} that hold everywhere"),
        ("archive here", f"{context.counted(here['turns'], 'turn')} of {context.counted(here['sessions'], 'session')}"
            + (" (a turn is a prompt, an answer, a thought, a tool call or its result)" if here["turns"] else "")),
        ("last session", "none" if last is None else f"{context.ago(last['seconds_ago'])}" + (f" on {last['branch']}" if last["branch"] else "") + f" ({last['id']})"),
        ("to be digested", f"{context.counted(pending['turns'], 'turn')}, about {pending['tokens']:,} tokens of prompts and answers" + ("; /memory-digest reads them" if pending["turns"] else "")),
        ("in all", f"{context.counted(whole['long'] + whole['short'], 'memory', 'memories')}, {context.counted(whole['turns'], 'turn')}, "
            f"{context.counted(whole['sessions'], 'session')}, {context.counted(whole['repositories'], 'repository', 'repositories')}, {context.size(whole['bytes'])}"),
        ("last seen", _seen(found["last_seen"], now)),
        ("faults", f"{found['faults']['last_day']} in the last day" + (f", newest: {found['faults']['newest']}; `tenon doctor`" if found["faults"]["last_day"] else "")),
    ]  # fmt: skip
    if found["excluded"]:
        told.insert(1, ("this folder", EXCLUDED))
    elif found["repository"] is None and whole["repositories"]:
        told.insert(1, ("", "Was it moved or renamed, or its remote changed? `tenon alias` joins it to what was kept (`tenon alias OLD .`)."))
    if found["settings_problem"]:
        told.append(("settings", found["settings_problem"]))
    return _lined(told)


def _lined(told: list[tuple[str, str]]) -> list[str]:
    return [f"{name + ':' if name else '':17}{text}" for name, text in told]


def _seen(latest: dict[str, str], now: float) -> str:
    from calendar import timegm

    told = [f"{label} {context.ago(now - timegm(time.strptime(latest[name], '%Y-%m-%dT%H:%M:%SZ')))}" for name, label in SEEN.items() if name in latest]
    return ", ".join(told) or "nothing yet: hooks show themselves with the next session"


def _size(path: str) -> int:
    total = 0
    for suffix in ("", "-wal"):
        try:
            total += os.path.getsize(path + suffix)
        except OSError:
            pass
    return total
