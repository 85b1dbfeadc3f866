"""`tenon status`: is it on, for whom, what did it do, what did it cost, what is wrong; on one screen."""

from __future__ import annotations

import os
import time

from tenon.base import faults, paths, settings
from tenon.base.errors import TenonError
from tenon.cli import context, meter, rescuing, standing, table
from tenon.cli.main import reads
from tenon.store import exchanges, figures, places
from tenon.world import claude_settings, launcher, machine

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from typing import Any

    from tenon.cli.out import Out
    from tenon.store.db import Store

HELP = """One screen: whether Tenon is on, for which agent and repository, what it did and what it cost in the last 24 hours, what is
stored, and what is wrong, each with the command that mends it."""
EXAMPLES = """
tenon status
tenon status --repo ~/work/api --json
"""
SEEN = {"session": "session start", "prompt": "prompt", "tool": "model's tools", "command": "command", "turn": "newest turn", "summary": "newest summary"}
DOORS = ("session", "prompt", "tool", "turn")  # those that show that Claude Code calls us
PARTS = ("archive.enabled", "inject.session", "inject.prompt")
EXCLUDED = "excluded (archive.exclude): its sessions are neither kept nor recalled"
BY = {"user": "you", "model": "the model", "code": "plain code", "digest": "digests"}
STYLE = {"warn": "warn", "fail": "bad"}
WIDTH = 17
DOOR_WIDTH = 74  # columns: Claude Code sets off what a hook says by a few


class Row:
    """A line of the status: its label, its text, and how it is meant."""

    __slots__ = ("label", "text", "style")

    def __init__(self, label: str, text: str, style: str = "") -> None:
        self.label = label
        self.text = text
        self.style = style


def arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the verb's own arguments."""
    context.arguments(parser)
    reads(parser)


def run(options: argparse.Namespace, out: Out) -> int:
    """0, also before anything is stored."""
    if not context.exists(options):
        if is_excluded(options.repo or os.getcwd()):
            out.say(f"This folder is {EXCLUDED}.")
        out.say(f"Nothing is remembered yet. It will be in {paths.agent_folder(context.agent(options))}.{context.others(options)}")
        if told := rescuing.aside(paths.store_path(context.agent(options))):
            out.say(f"{told}.")
        proxy = standing.look(machine.here(), context.agent(options))
        for label, text in standing.lines(proxy, time.time()) if proxy.switch or proxy.state else ():
            out.say(f"{label + ':' if label else '':{WIDTH}}{text}")
        for name, _, said, mend in _plugin():
            out.say(f"{name + ':':{WIDTH}}{said}; mend: {mend}")
        return 0
    try:
        return _stored(options, out)
    except TenonError as error:
        if "is damaged" in str(error):
            raise TenonError(f"{error}; {rescuing.way_back(paths.store_path(context.agent(options)))}") from error
        raise


def _stored(options: argparse.Namespace, out: Out) -> int:
    with context.reading(options) as here:
        proxy = standing.look(machine.here(), here.agent)
        digested = meter.look(here.store, here.settings, here.now)
        found = facts(here.store, here.repository, here.now, excluded=here.excluded)
        wrong = [*_plugin(), *_wrong(found, proxy, digested)]
        if out.json:
            told = {"agent": here.agent, "on": not found["off"], **found, "digest": digested.fields(), "proxy": proxy.fields()}
            out.record({**told, "wrong": [{"check": name, "state": state, "said": said, "mend": mend} for name, state, said, mend in wrong]})
            return 0
        for row in _rows(here.agent, found, proxy, digested, wrong, here.now):
            out.labelled([(row.label, out.styled(row.style, row.text))], WIDTH)
    return 0


def lines(store: Store, folder: str, now: float) -> list[str]:
    """The status of the folder's repository in lines that a window of 80 columns has room for: Claude Code folds longer ones, and not below their text."""
    agent = os.path.basename(os.path.dirname(store.path))
    here = machine.here()
    proxy, digested = standing.look(here, agent), meter.look(store, settings.load(), now)
    found = facts(store, places.find(store, folder), now, excluded=is_excluded(folder))
    rows = _rows(agent, found, proxy, digested, _wrong(found, proxy, digested), now)
    told = [part for row in rows for part in table.folded(f"{row.label + ':' if row.label else '':{WIDTH}}{row.text}", DOOR_WIDTH, WIDTH)]
    if not launcher.is_linked(here):
        told += ["In a terminal this, once, makes it the command tenon there:", f"  {launcher.by_path(here)} install"]
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
        "off": _off(),
        "last_24_hours": figures.done(store, now - context.DAY_S).fields(),
    }


def _figures(found: figures.Figures) -> dict[str, int]:
    return {name: getattr(found, name) for name in found.__slots__}


def _off() -> str:
    """Why hooks do nothing, «» when they do."""
    if os.environ.get("TENON_DISABLE"):
        return "TENON_DISABLE is set, so nothing is remembered or recalled; unset TENON_DISABLE"
    try:
        chosen = claude_settings.read(machine.here().settings)
    except TenonError:
        return ""
    return "disableAllHooks is true in Claude Code's settings, so Tenon sees nothing; set it to false" if chosen.get("disableAllHooks") is True else ""


def _plugin() -> list[tuple[str, str, str, str]]:
    """What is wrong with how Claude Code's settings know the plugin."""
    here = machine.here()
    try:
        return standing.plugin(claude_settings.read(here.settings), here)
    except TenonError:
        return []  # settings that cannot be read are for doctor


def _wrong(found: dict[str, Any], proxy: standing.Standing, digested: meter.Meter) -> list[tuple[str, str, str, str]]:
    """What shows at a glance not to be as it should: name, state (warn, fail), what it is, the way to mend it."""
    wrong = [one for one in (*standing.findings(proxy), *meter.findings(digested)) if one[1] != "ok"]
    if found["settings_problem"]:
        wrong.insert(0, ("settings", "warn", found["settings_problem"], f"edit {paths.settings_path()}; `tenon config` shows what holds"))
    if found["faults"]["last_day"]:
        wrong.append(("faults", "warn", f"{found['faults']['last_day']} in the last day, newest: {found['faults']['newest']}", "tenon doctor"))
    return wrong


def _rows(agent: str, found: dict[str, Any], proxy: standing.Standing, digested: meter.Meter, wrong: list[tuple[str, str, str, str]], now: float) -> list[Row]:
    here, whole, last, pending = found["here"], found["all"], found["last_session"], found["pending"]
    waits = f"{context.counted(pending['turns'], 'turn')}, about {pending['tokens']:,} tokens" + ("; /memory-digest reads them" if pending["turns"] else "")
    told = [
        _on(agent, found, now),
        Row("this repository", found["repository"] or "nothing is kept for this folder yet"),
        *_place(found),
        *(Row(*row) for row in standing.lines(proxy, now)),
        Row("last 24 hours", _done(found["last_24_hours"])),
        Row("spent in 24 h", meter.spent(digested)),
        *(Row(*row) for row in meter.lines(digested) if row[0] != "spent in 24 h"),
        Row("memories here", f"{here['long']:,} long-term, {here['short']:,} short-term, {here['faded']:,} faded; {found['agent_wide']:,} that hold everywhere"),
        Row("archive here", f"{context.counted(here['turns'], 'turn')} of {context.counted(here['sessions'], 'session')}"),
        Row("last session", "none" if last is None else f"{context.ago(last['seconds_ago'])}" + (f" on {last['branch']}" if last["branch"] else "") + f" ({last['id']})"),
        Row("to be digested", waits),
        Row("in all", f"{context.counted(whole['long'] + whole['short'], 'memory', 'memories')}, {context.counted(whole['turns'], 'turn')}, "
            f"{context.counted(whole['sessions'], 'session')}, {context.counted(whole['repositories'], 'repository', 'repositories')}, {context.size(whole['bytes'])}"),
        Row("last seen", _seen(found["last_seen"], now)),
    ]  # fmt: skip
    count = len(wrong) + bool(found["off"])
    if count:
        what = f"{context.counted(len(wrong), 'thing')}, each with what mends it" if wrong else "it is off, as the first line says"
        told.append(Row("wrong", what, "bad" if found["off"] or "fail" in {state for _, state, _, _ in wrong} else "warn"))
    told += [Row(name, f"{said}; mend: {mend}" if mend else said, STYLE[state]) for name, state, said, mend in wrong]
    return told if count else [*told, Row("wrong", "nothing that shows at a glance; `tenon doctor` checks everything")]


def _on(agent: str, found: dict[str, Any], now: float) -> Row:
    latest = max((_seconds(found["last_seen"][name]) for name in DOORS if name in found["last_seen"]), default=0.0)
    if found["off"]:
        return Row("Tenon", f"off: {found['off']}", "bad")
    without = "".join(f"; {name} is off" for name in PARTS if not settings.load().flag(name))
    if not latest:
        return Row("Tenon", f"ready, agent {agent}{without}; no hook was seen yet: they show themselves with the next session", "warn")
    return Row("Tenon", f"on, agent {agent}; Claude Code called it {context.ago(now - latest)}{without}", "warn" if without else "good")


def _place(found: dict[str, Any]) -> list[Row]:
    if found["excluded"]:
        return [Row("this folder", EXCLUDED, "warn")]
    if found["repository"] is None and found["all"]["repositories"]:
        return [Row("", "Was it moved or renamed, or its remote changed? `tenon alias` joins it to what was kept (`tenon alias OLD .`).")]
    return []


def _done(found: dict[str, Any]) -> str:
    """What was done, in words."""
    told = [f"{context.counted(found['sessions'], 'session')}, {context.counted(found['turns'], 'turn')} kept"]
    made = sum(found["written"].values())
    by = ", ".join(f"{many:,} by {BY[writer]}" for writer, many in sorted(found["written"].items()))
    told.append(f"{context.counted(made, 'memory', 'memories')} made" + (f" ({by})" if made else ""))
    told.append(f"{context.counted(found['items'], 'item')} told at {context.counted(found['prompts'], 'prompt')}")
    return "; ".join([*told, context.counted(found["recalls"], "recall")])


def _seen(latest: dict[str, str], now: float) -> str:
    told = [f"{label} {context.ago(now - _seconds(latest[name]))}" for name, label in SEEN.items() if name in latest]
    return ", ".join(told) or "nothing yet: hooks show themselves with the next session"


def _seconds(stamp: str) -> float:
    from calendar import timegm

    return float(timegm(time.strptime(stamp, "%Y-%m-%dT%H:%M:%SZ")))


def _size(path: str) -> int:
    total = 0
    for suffix in ("", "-wal"):
        try:
            total += os.path.getsize(path + suffix)
        except OSError:
            pass
    return total
