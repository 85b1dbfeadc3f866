"""`tenon stop`: the proxy runs no more."""

from __future__ import annotations

from tenon.cli import context
from tenon.world import base_url, daemon

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from tenon.cli.out import Out

HELP = "Ends the proxy. Sessions that talk through it cannot reach their API until it runs again; while it is on, the next prompt starts it."
EXAMPLES = """
tenon stop
tenon proxy off && tenon stop    it is not used any more, and gone
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """It has none of its own."""


def run(options: argparse.Namespace, out: Out) -> int:
    """0, also when none ran."""
    before = daemon.running()
    if before is not None and before.busy:
        out.say(f"{context.counted(before.busy, 'request is', 'requests are')} on the way through it and will break off.")
    state = daemon.stop()
    out.line("The proxy does not run." if state is None else f"{state.url} has ended.")
    if base_url.load() is not None and base_url.why_direct() is None:
        out.line("It is on, so the next session or prompt starts it again; `tenon proxy off` leaves it out of the way.")
    return 0
