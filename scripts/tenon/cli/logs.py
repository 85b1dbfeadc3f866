"""`tenon logs`: a report that can be pasted: versions, what was changed, how the proxy stands, its last requests, the last faults."""

from __future__ import annotations

import os
import platform
import shutil
import sys
import time

from tenon import __version__
from tenon.base import faults, settings
from tenon.base.lean import sqlite
from tenon.base.redact import redact
from tenon.cli import context, standing
from tenon.cli.main import count
from tenon.world import daemon, machine

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from tenon.cli.out import Out

HELP = """Prints a report for whoever helps you: versions, settings that differ from the default, how the proxy stands, its last requests
and the last faults. It holds nothing that was said; keys are taken out and your home folder is written as ~. Read it before you send it."""
EXAMPLES = """
tenon logs
tenon logs --lines 200 > report.txt
"""
ASK_S = 5.0
TAIL_BYTES = 400_000


def arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the verb's own arguments."""
    parser.add_argument("--lines", metavar="N", type=count, default=40, help="how many requests and faults at most (40)")


def run(options: argparse.Namespace, out: Out) -> int:
    """0."""
    for line in report(context.agent(options), options.lines, time.time()):
        out.told(plain(line), 4)
    return 0


def report(agent: str, lines: int, now: float) -> list[str]:
    """The report, line by line, before anything is taken out of it."""
    told = [
        f"tenon {__version__}, Python {'.'.join(map(str, sys.version_info[:3]))}, SQLite {sqlite.sqlite_version}, {platform.platform()}",
        f"claude {_claude()}",
        "",
        "settings that are not the default",
        *(_changed() or ["  none"]),
        "",
        "proxy",
        *(f"  {label + ':' if label else '':15}{text}" for label, text in standing.lines(standing.look(machine.here(), agent), now)),
        "",
        "last requests (time, method, path, agent, status, milliseconds to the first byte, bytes, why)",
        *(_tail(daemon.log_path(), lines) or ["  none"]),
        "",
        "last faults",
        *([_fault(fault) for fault in faults.recent(lines)] or ["  none"]),
    ]
    problem = settings.load().problem
    return [*told, "", f"settings: {problem}"] if problem else told


def plain(text: str) -> str:
    """The text without secrets, with ~ for the home folder."""
    text = redact(text)
    for home in sorted({os.path.expanduser("~"), os.path.realpath(os.path.expanduser("~"))}, key=len, reverse=True):
        if len(home) > 1:
            text = text.replace(home, "~").replace(home.replace("\\", "\\\\"), "~")
    return text


def _changed() -> list[str]:
    found = settings.load()
    told = []
    for name, (default, _) in settings.KNOWN.items():
        value = found.values[name]
        if value != default:
            said = standing.shown(str(value)) if name == "upstream" else context.counted(len(value), "entry", "entries") if isinstance(value, list) else value
            told.append(f"  {name} = {said}  ({found.origin[name]})")
    return told


def _claude() -> str:
    import subprocess

    program = shutil.which(os.environ.get("TENON_CLAUDE") or "claude")
    if not program:
        return "is not on the PATH"
    try:
        done = subprocess.run([program, "--version"], stdin=subprocess.DEVNULL, capture_output=True, timeout=ASK_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"does not say its version ({type(error).__name__})"
    return done.stdout.decode("utf-8", "replace").strip()[:80] or f"does not say its version (exit {done.returncode})"


def _tail(path: str, lines: int) -> list[str]:
    try:
        with open(path, "rb") as file:
            file.seek(max(0, os.path.getsize(path) - TAIL_BYTES))
            found = file.read().decode("utf-8", "replace").splitlines()
    except OSError:
        return []
    return ["  " + line for line in found if " /_tenon/" not in line][-lines:]


def _fault(fault: dict[str, object]) -> str:
    at = fault.get("at")
    when = context.iso(float(at)) if isinstance(at, (int, float)) else "?"
    return f"  {when} {fault.get('door')}: {fault.get('error')}: {fault.get('said')} ({fault.get('place')}) {fault.get('detail') or ''}".rstrip()
