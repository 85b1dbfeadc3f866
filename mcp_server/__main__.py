"""Starts the MCP server, without arguments on stdin and stdout; nothing is opened before a tool is called."""

import os
import signal
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def main():
    if sys.version_info < (3, 9):
        sys.exit("Tenon needs Python 3.9 or newer; set TENON_PYTHON to one")
    sys.path[:0] = [ROOT, os.path.join(ROOT, "scripts")]
    if not os.access(ROOT, os.W_OK):  # compiled modules go where they can be kept
        sys.pycache_prefix = os.path.join(os.environ.get("TENON_HOME") or os.path.expanduser("~/.tenon"), "cache")
    from mcp_server import server

    return server.run(sys.argv[1:])


if __name__ == "__main__":
    # Claude Code ends its servers with a signal; one that comes before the first message is no error either.
    signal.signal(signal.SIGINT, lambda *_: os._exit(0))
    sys.exit(main())
