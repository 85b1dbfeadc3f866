"""`tenon usage`: how much the memory is used, as Claude Code's transcripts and the store show it."""

from __future__ import annotations

import time

from tenon.base import paths
from tenon.cli import context, progress, table
from tenon.cli.main import count, reads
from tenon.digest import adoption
from tenon.store import figures, pressure

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

    from tenon.cli.out import Out
    from tenon.digest.adoption import Session

HELP = """Reads Claude Code's transcripts of the last days, changes nothing, and says in how many sessions memory was there, was told and
was used. A turn is one answer of the model's; sessions with fewer than --min-turns are left out, as many are tests or titles."""
EXAMPLES = """
tenon usage                         the last 30 days
tenon usage --days 7 --min-turns 1  the last week, the shortest sessions too
tenon usage --json > usage.json     the same for a program
"""
ENTRIES = 3  # columns of entry points; the rest is one more
PROJECTS = 10
OTHER = "others"
# name: label, what it means, whether a session counts
SHARES: dict[str, tuple[str, str, Callable[[Session], bool]]] = {
    "hook": ("hooks seen", "sessions in which a hook of ours left a trace; one that had nothing to say may leave none", lambda one: one.hook),
    "briefed": ("briefed", "sessions that were told at their start what is known", lambda one: one.briefed),
    "injected": ("told at a prompt", "sessions in which a prompt brought something back", lambda one: one.injected),
    "used": ("used a tool", "sessions in which the model called one of our tools", lambda one: one.used),
    "recalled": ("recalled", "sessions in which it looked something up, or you did with /memory-recall", lambda one: one.recalled),
    "wrote": ("wrote", "sessions in which it wrote a memory itself", lambda one: one.wrote),
    "searched": ("by ToolSearch", "sessions in which our tools had to be searched for first", lambda one: one.searched),
}
WRITERS = {"model": "the model wrote", "code": "plain code wrote", "digest": "digests wrote", "user": "you wrote"}


def arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the verb's own arguments."""
    parser.add_argument("--days", type=count, default=30, metavar="N", help="how far back (30); Claude Code deletes transcripts after 30 days")
    parser.add_argument("--min-turns", type=count, default=10, metavar="N", help="leave out sessions with fewer turns in that time (10)")
    reads(parser)


def run(options: argparse.Namespace, out: Out) -> int:
    """0, also when there are no transcripts."""
    now = time.time()
    since = max(0.0, now - options.days * context.DAY_S)
    found = adoption.files(paths.claude_home(), since)
    size = sum(each for _, each in found)
    with progress.shown(out, "reading transcripts", size, unit="bytes") as tick:
        read = adoption.read([path for path, _ in found], since, tick)
    long = [(name, one) for (_, name), one in read.sessions.items() if one.turns >= options.min_turns]
    later, began = long, 0.0
    written: dict[str, int] = {}
    if context.exists(options):
        with context.reading(options) as here:
            began = pressure.began(here.store)
            later = [(name, one) for name, one in long if not one.last or one.last >= context.iso(began)[:-1]]
            written = figures.written_in(here.store, since, {name for name, _ in later})
    sessions = [one for _, one in later]
    short = sum(0 < one.turns < options.min_turns for one in read.sessions.values())
    told = {
        "agent": context.agent(options), "days": options.days, "since": context.iso(since), "min_turns": options.min_turns, "files": len(found), "bytes": size,
        "broken_lines": read.broken, "too_short": short, "began": context.iso(began) if began else None, "before": len(long) - len(later), "all": summed(sessions),
        "entry_points": {name: summed(part) for name, part in _by(sessions, lambda one: one.entry or adoption.UNKNOWN)},
        "versions": {name: len(part) for name, part in _by(sessions, lambda one: one.version or adoption.UNKNOWN)},
        "memories": written, "projects": {name: summed(part) for name, part in _by(sessions, lambda one: one.folder or adoption.UNKNOWN)[:PROJECTS]},
    }  # fmt: skip
    if out.json:
        out.record(told)
    else:
        _print(told, _by(sessions, lambda one: one.entry or adoption.UNKNOWN), out)
    return 0


def summed(sessions: Sequence[Session]) -> dict[str, Any]:
    """How many sessions there are, in how many of them each thing was so, and the calls."""
    turns, calls = sum(one.turns for one in sessions), sum(one.calls for one in sessions)
    shares = {name: sum(map(counts, sessions)) for name, (_, _, counts) in SHARES.items()}
    return {"sessions": len(sessions), "turns": turns, **shares, "calls": calls, "calls_per_1000_turns": per_thousand(calls, turns)}


def per_thousand(many: int, turns: int) -> float | None:
    """How many there are for each thousand turns, None where there are no turns."""
    return round(1000 * many / turns, 2) if turns else None


def _by(sessions: Iterable[Session], key: Callable[[Session], str]) -> list[tuple[str, list[Session]]]:
    """The sessions by what the key says of them, most sessions first."""
    parts: dict[str, list[Session]] = {}
    for one in sessions:
        parts.setdefault(key(one), []).append(one)
    return sorted(parts.items(), key=lambda part: (-len(part[1]), part[0]))


def _print(told: dict[str, Any], entries: list[tuple[str, list[Session]]], out: Out) -> None:
    whole = told["all"]
    if not whole["sessions"]:
        few = f" ({told['too_short']:,} with fewer; --min-turns 1 counts them)" if told["too_short"] else ""
        here = " since the memory began" if told["before"] else ""
        out.say(f"No session of the last {told['days']} days has {told['min_turns']} turns or more{here}{few}, so there is nothing to measure.")
        _before(told, out)
        return
    if len(entries) > ENTRIES:
        entries = [*entries[: ENTRIES - 1], (OTHER, [one for _, part in entries[ENTRIES - 1 :] for one in part])]
    parts = [whole, *(summed(part) for _, part in entries)] if len(entries) > 1 else [whole]
    heads = ["all", *(name for name, _ in entries)] if len(entries) > 1 else [entries[0][0]]
    columns = [table.Column(""), *(table.Column(head, right=True) for head in heads), table.Column("", folds=True, least=20, style="faint")]
    rows: list[list[table.Cell]] = [
        ["sessions", *(f"{part['sessions']:,}" for part in parts), f"of the last {told['days']} days with {told['min_turns']} turns or more, by how they were started"],
        ["turns", *(f"{part['turns']:,}" for part in parts), "answers of the model in them, sub-agents' too"],
    ]  # fmt: skip
    for name, (label, meaning, _) in SHARES.items():
        rows.append([label, *(f"{part[name] / part['sessions']:.0%}" for part in parts), meaning])
    rows.append(["calls", *(_rate(part["calls"], part["turns"]) for part in parts), "calls of our tools for each 1,000 turns"])
    rest = [""] * (len(parts) - 1)
    for number, (writer, label) in enumerate(WRITERS.items()):
        meaning = f"memories of agent {told['agent']} in these sessions for each 1,000 turns" if number == 0 else "the same"
        rows.append([label, _rate(told["memories"].get(writer, 0), whole["turns"]), *rest, meaning])
    table.show(out, columns, rows)
    out.line()
    projects = [[name, f"{part['sessions']:,}", f"{part['turns']:,}", f"{part['calls']:,}", f"{part['injected']:,}"] for name, part in told["projects"].items()]
    heads = ["sessions", "turns", "calls", "told at a prompt"]
    table.show(out, [table.Column("project", least=16), *(table.Column(head, right=True) for head in heads)], projects)
    _before(told, out)
    if told["too_short"]:
        out.say(f"{context.counted(told['too_short'], 'session')} with fewer turns left out (--min-turns).")
    if told["broken_lines"]:
        out.say(f"{context.counted(told['broken_lines'], 'line')} could not be read and {'is' if told['broken_lines'] == 1 else 'are'} not counted.")


def _before(told: dict[str, Any], out: Out) -> None:
    if told["before"]:
        out.say(f"{context.counted(told['before'], 'session')} ended before the memory began ({told['began']}), so no hook could be seen there: left out.")


def _rate(many: int, turns: int) -> str:
    return f"{per_thousand(many, turns) or 0:,.1f}"
