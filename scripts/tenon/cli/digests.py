"""`tenon digest log`, `show` and `undo`: what each digest did, in words, and taking it back."""

from __future__ import annotations

from tenon.cli import context, table
from tenon.digest import recounting, undoing
from tenon.store import browse_digests, digests, places, pressure, spending

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from typing import Any

    from tenon.cli.out import Out
    from tenon.store.db import Store
    from tenon.store.digests import Digest

NEWER = 2**53  # than any digest
STYLES = {"failed": "bad", "undone": "faint", "running": "warn"}


def run(options: argparse.Namespace, out: Out) -> int:
    """0 when it is shown or undone."""
    if options.what == "log":
        return _log(options, out)
    number = _number(options)
    if options.what == "show":
        with context.reading(options) as here:
            _show(here.store, digests.get(here.store, number), out)
        return 0
    with context.writing(options, create=False) as here:
        lines = undoing.undo(here.store, number, here.now, again=options.again)
        if options.again:
            pressure.measure(here.store)
    if out.json:
        out.record({"undone": number, "lines": lines})
        return 0
    for line in lines:
        out.told(line)
    out.told(
        f"Digest {number} is undone."
        + ("" if options.again else f" What it read counts as dealt with; `tenon digest undo {number} --again` would have had it wait once more.")
    )
    return 0


def _number(options: argparse.Namespace) -> int:
    if len(options.rest) != 1 or not options.rest[0].isdecimal() or len(options.rest[0]) > 15:
        options.wrong(f"say which digest: tenon digest {options.what} 7 (`tenon digest log` lists them)")
    return int(options.rest[0])


def _log(options: argparse.Namespace, out: Out) -> int:
    if options.rest:
        options.wrong("log takes --limit and no number; `tenon digest show N` shows one")
    with context.reading(options) as here:
        most = max(1, options.limit)
        asked = [] if options.all or out.json else browse_digests.newest(here.store, NEWER, most)
        found = asked or digests.newest(here.store, most)  # where no model was ever asked, what plain code did is all there is
        if out.json:
            for one in found:
                out.record(fields(here.store, one))
        elif found:
            _table(here.store, found, out)
            left = browse_digests.spotted(here.store, found[-1].id if len(found) == most else 0) if asked else 0
            if left:
                out.say(f"Left out: {context.counted(left, 'time')} that plain code spotted something; --all shows them too.")
    if not found and not out.json:
        out.say("No digest yet. `tenon digest` makes one now, `/memory-digest` in a session; `tenon digest auto on` has them made in the background.")
    return 0


def _table(store: Store, found: list[Digest], out: Out) -> None:
    """A row each that fits 60 columns, and below it where it was, how much it read, and what it did."""
    rows: list[list[table.Cell]] = []
    notes: list[str] = []
    for one in found:
        where = places.key(store, one.repository) if one.repository is not None else "the agent"
        cost = spending.of_digest(store, one.id)
        rows.append(
            [str(one.id), context.date(one.at), (STYLES.get(one.state, ""), one.state), one.phase, f"{one.runner}{'/' + one.model if one.model else ''}"]
        )
        read = [context.counted(one.turns, "turn")] * (one.turns > 0) + [context.counted(cost.tokens, "token") + spending.money([cost], " ({})")] * (
            cost.tokens > 0
        )
        notes.append(f"{', '.join([where, *read])}: {did(store, one)}")
    columns = [table.Column("", right=True), table.Column("when", least=16), table.Column("state"), table.Column("phase", least=13), table.Column("by")]
    table.show(out, columns, rows, notes)


def did(store: Store, one: Digest) -> str:
    """What a digest did, counted, or why it did nothing."""
    if one.state == "failed":
        return one.why
    return recounting.counted(digests.counts(store, one.id)) or one.why or ("is at it" if one.state == "running" else "nothing to keep")


def fields(store: Store, one: Digest) -> dict[str, Any]:
    """A digest as plain data."""
    cost = spending.of_digest(store, one.id)
    return {
        "digest": one.id, "at": context.iso(one.at), "phase": one.phase, "state": one.state, "why": one.why, "runner": one.runner, "model": one.model,
        "repository": places.key(store, one.repository) if one.repository is not None else None, "turns": one.turns, "archived_tokens": one.tokens,
        "steps": digests.counts(store, one.id), "requests": cost.requests, "input": cost.input, "cache_written": cost.written, "cache_read": cost.read,
        "output": cost.output, "dollars": cost.dollars, "unpriced": cost.unpriced,
    }  # fmt: skip


def _show(store: Store, one: Digest, out: Out) -> None:
    steps = digests.steps(store, one.id)
    if out.json:
        out.record({**fields(store, one), "did": [{"deed": step.deed, "said": recounting.said(store, step)} for step in steps]})
        return
    _table(store, [one], out)
    for step in steps:
        told = recounting.said(store, step)
        if told:
            sign = recounting.SIGNS.get(step.deed, "·")
            out.told(f"  {out.styled({'+': 'good', '-': 'bad', '!': 'warn'}.get(sign, 'strong'), sign)} {told}")
