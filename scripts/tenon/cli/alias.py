"""`tenon alias`: which repositories are one."""

from __future__ import annotations

import os

from tenon.cli import context, table
from tenon.cli.main import reads
from tenon.store import places

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from tenon.cli.out import Out

HELP = (
    "Lists the repositories that are known, or joins two of them: a fork and its origin, a folder that got a remote, a remote that moved. "
    "A folder may stand for its key."
)
EXAMPLES = """
tenon alias                                             every repository, and what it is an alias of
tenon alias path:/home/me/old github.com/me/project     the first one is the second one from now on
tenon alias github.com/me/old .                         what was kept under the old name belongs to this folder
tenon alias --remove path:/home/me/old                  it is itself again
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the verb's own arguments."""
    parser.add_argument("pair", nargs="*", metavar="KEY TARGET", help="the repository, and the one it is")
    parser.add_argument("--remove", metavar="KEY", default="", help="take an alias back")
    reads(parser)


def run(options: argparse.Namespace, out: Out) -> int:
    """0 when it is listed or done."""
    if len(options.pair) not in (0, 2) or (options.pair and options.remove):
        options.wrong("an alias has two ends: tenon alias KEY TARGET")
    if options.pair or options.remove:
        with context.writing(options, create=False) as here:
            if options.remove:
                places.part(here.store, options.remove, here.now)
                out.told(f"{options.remove} is itself again.")
            else:
                one, other = (os.path.abspath(end) if os.path.isdir(end) else end for end in options.pair)
                with here.store.transaction():  # a wrong key leaves no trace of the other end
                    for folder in filter(os.path.isdir, (one, other)):
                        places.settle(here.store, folder, here.now)
                    places.join(here.store, one, other, here.now)
                out.told(f"{one} is {other} from now on.")
        return 0
    if not context.exists(options):
        out.say("No repository is known yet." + context.others(options))
        return 0
    with context.reading(options) as here:
        found = places.everything(here.store)
    for key, target, sessions, live in found if out.json else ():
        out.record({"repository": key, "alias_of": target, "sessions": sessions, "memories": live})
    if found and not out.json:
        columns = [table.Column("repository", least=24, style="strong"), table.Column("memories", right=True), table.Column("sessions", right=True)]
        rows = [[key, f"{live:,}", f"{sessions:,}", f"is {target}" if target else ""] for key, target, sessions, live in found]
        table.show(out, [*columns, table.Column("", least=16)], rows)
    return 0
