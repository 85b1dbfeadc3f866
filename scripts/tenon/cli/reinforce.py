"""`tenon reinforce`: a memory proved right."""

from __future__ import annotations

from tenon.cli import context
from tenon.cli.main import reads
from tenon.store import memories

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from tenon.cli.out import Out

HELP = "Strengthens memories that proved right: one citation more, and fresh again. One that had faded comes back."
EXAMPLES = """
tenon reinforce m7k2p9qxab
tenon reinforce --factor 1.5 m7k2p9qxab m2qq7vd3bc
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the verb's own arguments."""
    parser.add_argument("refs", nargs="+", metavar="REF", help="the memory's id")
    parser.add_argument("--factor", type=float, default=1.2, help="how much stronger, 1 to 2 (1.2)")
    reads(parser)


def run(options: argparse.Namespace, out: Out) -> int:
    """0 when all of them are stronger."""
    with context.writing(options, create=False) as here, here.store.transaction():
        for ref in options.refs:
            old = memories.get(here.store, ref)
            per_day = here.per_day[old.tier]
            before = old.strength_at(here.now, per_day)
            found = memories.reinforce(here.store, ref, here.now, factor=options.factor, per_day=per_day)
            if out.json:
                out.record({"id": found.ref, "strength": round(found.strength, 3), "citations": found.citations})
            elif found.strength - before < 0.005:
                out.line(
                    f"{found.ref}  is at full strength already ({found.strength:.2f}); it is fresh again, and proved right {context.counted(found.citations, 'time')} now"
                )
            else:
                out.line(f"{found.ref}  strength {found.strength:.2f}, proved right {context.counted(found.citations, 'time')}")
    return 0
