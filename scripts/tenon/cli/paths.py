"""`tenon paths`: where everything is kept."""

from __future__ import annotations

import os
import sys

from tenon.base import paths
from tenon.cli import context
from tenon.cli.main import reads

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from tenon.cli.out import Out

HELP = "Prints where Tenon keeps things. TENON_HOME moves all of it; CLAUDE_CONFIG_DIR is Claude Code's own."
EXAMPLES = """
tenon paths
tenon paths --json
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the verb's own arguments."""
    reads(parser)


def run(options: argparse.Namespace, out: Out) -> int:
    """0."""
    found = {
        "home": paths.home(),
        "store": paths.store_path(context.agent(options)),
        "settings": paths.settings_path(),
        "faults": paths.faults_path(),
        "claude": paths.claude_home(),
        "transcripts": os.path.join(paths.claude_home(), "projects"),
        "plugin": os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))),
        "python": sys.executable,
    }
    if out.json:
        out.record(found)
        return 0
    for name, path in found.items():
        out.line(f"{name + ':':13}{path}" + ("" if os.path.exists(path) else out.styled("faint", "  (not there yet)")))
    return 0
