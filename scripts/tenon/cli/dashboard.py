"""`tenon dashboard`: the pages in a browser, served by the proxy where it runs and by this process where it does not."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import threading
import webbrowser
from contextlib import suppress

from tenon.base import paths
from tenon.cli import context
from tenon.cli.main import reads
from tenon.cli.out import is_terminal
from tenon.dashboard.server import DashboardServer
from tenon.world import daemon

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tenon.cli.out import Out

HELP = """Opens pages in your browser that show what is remembered, why it was said, what it cost, and every past session. The link opens them
once, within five minutes, on this machine only. The proxy serves them where it runs; else this command does, until Ctrl-C. They only show, unless
--allow-edit lets them correct, forget, decide on links, undo a digest and freeze the identity."""
EXAMPLES = """
tenon dashboard
tenon dashboard --allow-edit             mend things there, too
tenon dashboard --no-browser --port 9200    only print the link: for a browser at the other end of an SSH tunnel to that port
"""
LOOK_S = 2.0  # for a proxy to answer that has to load its pages first


def arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the verb's own arguments."""
    parser.add_argument("--port", metavar="N", type=_port, default=None, help="serve it from this process, on that port (0 for any)")
    parser.add_argument("--allow-edit", action="store_true", help="let the pages change things; only in a terminal of your own")
    parser.add_argument("--no-browser", action="store_true", help="print the link and open nothing")
    reads(parser)


def run(options: argparse.Namespace, out: Out) -> int:
    """0, at once where the proxy serves the pages, else after Ctrl-C."""
    if options.allow_edit:
        context.own_terminal("--allow-edit lets whoever has the page change and forget what is remembered")
    agent = context.agent(options)
    if not options.allow_edit and options.port is None and agent in paths.agents():
        link = daemon.link(LOOK_S)
        if link:
            _show(f"{link}&agent={agent}", "The proxy serves it, as long as it runs.", options, out)
            return 0
    server = DashboardServer(options.port or 0, agent, allow_edit=options.allow_edit)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        waiting = is_terminal(sys.stdin) and not out.json
        _show(server.dashboard.link(), "Ctrl-C ends it" + ("; Enter prints a new link." if waiting else "."), options, out)
        if waiting:
            if hasattr(signal, "SIGTTIN"):
                signal.signal(signal.SIGTTIN, signal.SIG_IGN)  # in the background nobody presses Enter, and asking would stop the process
            threading.Thread(target=_again, args=(server, out), daemon=True).start()
        server.serve_forever()
    except KeyboardInterrupt:
        out.say("\nThe dashboard has ended.")
    finally:
        server.close()
    return 0


def _show(link: str, told: str, options: argparse.Namespace, out: Out) -> None:
    """Prints the link, and opens a browser with it where a person sits."""
    if out.json:
        out.record({"link": link, "allow_edit": options.allow_edit})
        out.results.flush()
        return
    out.line(link)
    out.say(f"The link opens the dashboard once, within five minutes. {told}")
    if not options.no_browser and is_terminal(sys.stdout) and _has_browser() and not _opened(link):
        out.say("No browser could be started; open the link in one.")


def _has_browser() -> bool:
    """Whether a browser could show itself: a text browser in this terminal is none, and at the far end of SSH nobody sees one."""
    return sys.platform in ("win32", "darwin") or any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "WSL_DISTRO_NAME", "BROWSER"))


def _opened(link: str) -> bool:
    try:
        return webbrowser.open(link)
    except (webbrowser.Error, OSError):
        return False


def _again(server: DashboardServer, out: Out) -> None:
    """Prints a new link whenever Enter is pressed."""
    # Read by the system's call: a thread that waits inside of sys.stdin keeps Python from ending.
    with suppress(OSError):
        while os.read(sys.stdin.fileno(), 1024):
            out.line(server.dashboard.link())
            out.results.flush()


def _port(text: str) -> int:
    """A port, 0 for any."""
    if not text.isascii() or not text.isdigit() or len(text) > 5 or int(text) > 65_535:
        raise argparse.ArgumentTypeError(f"'{text}' is no port; it is a number from 0 to 65535")
    return int(text)
