"""The fixture tools over stdio: started as `python3 -I -S stdio_server.py`, as Tenon's server is."""

from __future__ import annotations

import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [ROOT, os.path.join(ROOT, "scripts")]

from mcp_server import protocol, stdio  # noqa: E402 - the path comes first
from tests.mcp_server import conformance_tools  # noqa: E402


def _print(given: dict[str, object], context: protocol.Context) -> object:
    """Writes to stdout in the two ways that would break the stream, then answers."""
    print("printed by a tool")
    os.write(1, b"written by a child\n")
    return "printed"


if __name__ == "__main__":
    noisy = protocol.Tool(name="print", title="Print", description="Prints.", input_schema={"type": "object"}, call=_print)
    stdio.serve(protocol.Dispatcher("fixture", "1.2.3", "Fixture", "Tools for tests.", [*conformance_tools.tools(), noisy], print))
