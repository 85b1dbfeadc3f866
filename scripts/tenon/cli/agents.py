"""`tenon agents`: whose memories there are, and how much each of them holds."""
from __future__ import annotations

import os

from tenon.base import paths, settings
from tenon.base.errors import TenonError
from tenon.cli import context
from tenon.cli.main import reads
from tenon.store import db, figures

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from typing import Any

    from tenon.cli.out import Out

HELP = "Lists the agents. Each has a memory of its own; --agent NAME, TENON_AGENT or the setting `agent` chooses one."
EXAMPLES = """
tenon agents
tenon --agent reviewer write "Names are British"    begins the memory of another agent
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the verb's own arguments."""
    reads(parser)


def run(options: argparse.Namespace, out: Out) -> int:
    """0, also when there is none."""
    chosen = paths.agent_name(options.agent or settings.load().text("agent"))
    names = _names()
    for name in names:
        found = _described(name, chosen)
        if out.json:
            out.record(found)
            continue
        held = f"cannot be read: {found['problem']}" if found["problem"] else (
            f"{found['memories']:,} memories, {found['turns']:,} turns, {found['sessions']:,} sessions, {context.size(found['bytes'])}"
        )  # fmt: skip
        out.line(f"{'*' if found['chosen'] else ' '} {out.styled('strong', name)}  {held}")
    if not names:
        out.say("There is no agent yet: the first session, or `tenon write`, begins one.")
    return 0


def _names() -> list[str]:
    try:
        found = sorted(os.listdir(os.path.join(paths.home(), "agents")))
    except OSError:
        return []
    return [name for name in found if os.path.isfile(paths.store_path(name))]


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
