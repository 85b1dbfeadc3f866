"""Starts the proxy: `python3 -I -S scripts/tenon/proxy/__main__.py [--port N]`."""

from __future__ import annotations

import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))


def main() -> int:
    """The exit code, once the proxy was stopped."""
    if sys.version_info < (3, 9):
        sys.exit("Tenon needs Python 3.9 or newer; set TENON_PYTHON to one")
    sys.path[:0] = [ROOT, os.path.join(ROOT, "scripts")]
    if not os.access(ROOT, os.W_OK):  # compiled modules go where they can be kept
        sys.pycache_prefix = os.path.join(os.environ.get("TENON_HOME") or os.path.expanduser("~/.tenon"), "cache")
    from tenon.proxy import server

    return server.run(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
