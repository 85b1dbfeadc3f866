"""`tenon serve`: the tools for other clients of the Model Context Protocol than Claude Code, which starts them by itself."""

from __future__ import annotations

import argparse
import os
import sys

import tenon
from tenon.base import paths
from tenon.world import bearer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tenon.cli.out import Out

HELP = """Serves the memory's tools to an agent that starts this command (--stdio), or to all that know the token, over HTTP on this machine
(--http). With --stdio the repository is that of the client's first root, else of the folder it is started in. With --http a client names it
in the header X-Tenon-Repository, as an absolute folder or by its key, or tells its roots; without either only what holds everywhere is read
and written. Another agent's memory is at /agent/NAME/mcp. `tenon print-config` shows what a client's settings say; the token is made once
and kept in ~/.tenon/mcp-token."""
EXAMPLES = """
tenon serve --stdio                         for a client that starts it; ends with the client
tenon serve --http                          for several, until Ctrl-C
tenon serve --http --port 9100 --verbose    with a line for each request
tenon serve --http --tools full             also by the names that backant-memory's tools had
tenon serve --http --new-token              whoever knew the token before is locked out
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the verb's own arguments."""
    way = parser.add_mutually_exclusive_group(required=True)
    way.add_argument("--stdio", action="store_true", help="one client, on stdin and stdout")
    way.add_argument("--http", action="store_true", help="streamable HTTP, on 127.0.0.1 only")
    parser.add_argument("--tools", choices=("core", "full"), default="core", help="the eleven tools, or also their older names")
    parser.add_argument("--port", metavar="N", type=port, default=None, help=f"with --http: where it listens (else {bearer.PORT}; 0: any that is free)")
    parser.add_argument("--new-token", action="store_true", help="with --http: make another token first")
    parser.add_argument("--verbose", action="store_true", help="with --http: a line for each request on stderr")


def run(options: argparse.Namespace, out: Out) -> int:
    """0 when it served until its end."""
    if options.stdio and (options.port is not None or options.new_token or options.verbose):
        options.wrong("--port, --new-token and --verbose go with --http")
    if options.agent:
        os.environ["TENON_AGENT"] = paths.agent_name(options.agent)
    given = ["--http" if options.http else "--stdio", "--tools", options.tools]
    given += ["--port", str(options.port)] if options.port is not None else []
    given += [flag for flag, said in (("--new-token", options.new_token), ("--verbose", options.verbose)) if said]
    return _opened(given)


def _opened(arguments: list[str]) -> int:
    """The exit code of the server's door, which is started here as a client would start it: no verb knows what is behind a door."""
    import runpy

    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(tenon.__file__))))
    before = sys.argv
    sys.argv = [before[0], *arguments]
    try:
        runpy.run_path(os.path.join(root, "mcp_server", "__main__.py"), run_name="__main__")
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    finally:
        sys.argv = before
    return 0


def port(text: str) -> int:
    """A port, as an argument's type."""
    if not (text.isascii() and text.isdigit()) or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"it is a number up to 65535, not '{text}'")
    return int(text)
