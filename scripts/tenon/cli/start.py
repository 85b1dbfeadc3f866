"""`tenon start`: the proxy runs, in the background, and how to use it."""

from __future__ import annotations

import argparse

from tenon.base import paths, settings
from tenon.cli import standing
from tenon.cli.main import as_set
from tenon.world import base_url, daemon, machine

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tenon.cli.out import Out
    from tenon.world.daemon import State

HELP = """Starts the proxy in the background and says where it listens. One that runs already is left alone. It puts past sessions
in front of the model for whoever talks to it; starting it changes nothing in Claude Code: `tenon code` and `tenon proxy on` do."""
EXAMPLES = """
tenon start
tenon start --port 9100 --max-context 200000    for this process; `tenon config proxy.port 9100` for good
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the verb's own arguments."""
    parser.add_argument("--port", metavar="N", type=as_set("proxy.port"), default=0, help="where it listens (else the setting proxy.port)")
    parser.add_argument(
        "--max-context", metavar="N", type=as_set("proxy.max_context"), default=0, help="most tokens of one request (else the setting proxy.max_context)"
    )
    parser.add_argument("--no-digest", action="store_true", help=argparse.SUPPRESS)  # it is understood, and there is nothing to switch off


def run(options: argparse.Namespace, out: Out) -> int:
    """0 when it runs."""
    here = machine.here()
    before = daemon.running()
    state = daemon.start(options.port, max_context=options.max_context, upstream=standing.wanted(here))
    same = before is not None and before.pid == state.pid
    out.line(f"{state.url} {'runs already' if same else 'runs'}, and sends to {standing.shown(state.upstream)} (process {state.pid}).")
    if same and (options.max_context or options.port not in (0, state.port)):
        out.say("It keeps what it was started with; `tenon stop` first to start it otherwise.")
    if options.no_digest:
        out.say("--no-digest changes nothing: no background digest runs yet.")
    _use(state, out)
    return 0


def _use(state: State, out: Out) -> None:
    agent = paths.agent_name(settings.load().text("agent"))
    out.line("  tenon code                 Claude Code through it, this once")
    switch = base_url.load()
    out.line("  tenon proxy on             Claude Code through it, always" if switch is None else "  tenon proxy off            it is on for every session")
    out.line(f"  {state.url}/agent/{agent}   the base URL for any other client of the Messages API")
