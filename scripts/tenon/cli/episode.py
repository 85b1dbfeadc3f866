"""`tenon episode`: an attempt, what was expected of it, and how it ended."""

from __future__ import annotations

from tenon.cli import context
from tenon.cli.main import reads
from tenon.store import episodes

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from tenon.cli.out import Out

HELP = "Remembers an attempt and how it ended. The further the outcome was from what was expected, the stronger the memory."
EXAMPLES = """
tenon episode --situation "flaky upload test" --action fix --taken "raised the timeout" --outcome failure --evidence "CI run 812"
tenon episode --situation "move to SQLite 3.45" --action migrate --taken "rebuilt the index" --expected failure --outcome success --evidence "all tests pass"
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the verb's own arguments."""
    parser.add_argument("--situation", required=True, help="what stood at the beginning")
    parser.add_argument("--action", choices=episodes.ACTIONS, default="other", help="what kind of attempt it was (other)")
    parser.add_argument("--taken", required=True, help="what was done")
    parser.add_argument("--expected", choices=episodes.ENDINGS, default="success", help="what was expected (success)")
    parser.add_argument("--outcome", choices=episodes.ENDINGS, required=True, help="what happened")
    parser.add_argument("--evidence", required=True, help="what shows it: a test run, a commit, a message")
    parser.add_argument("--epic", default="", help="the work it belongs to")
    parser.add_argument("--source", action="append", default=[], metavar="LABEL", help="where it stands; may be repeated")
    context.arguments(parser)
    reads(parser)


def run(options: argparse.Namespace, out: Out) -> int:
    """0 when it is remembered."""
    with context.writing(options) as here:
        ref, strength = episodes.write(
            here.store, repository=here.repository, situation=options.situation, action_type=options.action, action_taken=options.taken,
            expected=options.expected, outcome=options.outcome, evidence=options.evidence, epic=options.epic, labels=options.source, now=here.now,
        )  # fmt: skip
    if out.json:
        out.record({"id": ref, "strength": round(strength, 3)})
    else:
        out.line(f"{ref}  strength {strength:.2f}")
    return 0
