"""`tenon digest log`, `show` and `undo`: what each digest did, in words, and taking it back."""

from __future__ import annotations

from tenon.base.text import cut
from tenon.cli import context
from tenon.digest import undoing
from tenon.store import digests, exchanges, memories, places, pressure, spending, summaries

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from typing import Any

    from tenon.cli.out import Out
    from tenon.store.db import Store
    from tenon.store.digests import Digest, Step
    from tenon.store.memories import Memory

DEEDS = {
    "remember": ("memory written", "memories written"), "supersede": ("memory closed", "memories closed"), "reinforce": ("reinforced", "reinforced"),
    "link": ("link", "links"), "associate": ("association", "associations"), "gist": ("gist", "gists"), "session": ("session summed up", "sessions summed up"),
    "hold": ("statement held", "statements held"), "revise": ("statement revised", "statements revised"), "let go": ("statement let go", "statements let go"),
    "promote": ("made long-term", "made long-term"), "refused": ("refused", "refused"),
}  # fmt: skip
SIGNS = {
    "remember": "+",
    "hold": "+",
    "supersede": "-",
    "let go": "-",
    "revise": "~",
    "reinforce": "^",
    "promote": "^",
    "link": "=",
    "associate": "=",
    "refused": "!",
}


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
        out.line(line)
    out.line(
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
        found = digests.newest(here.store, max(1, options.limit))
        for one in found:
            out.record(fields(here.store, one)) if out.json else out.line(line(here.store, one))
    if not found and not out.json:
        out.say("No digest yet. `tenon digest` makes one now, `/memory-digest` in a session; `tenon digest auto on` has them made in the background.")
    return 0


def line(store: Store, one: Digest) -> str:
    """A digest in one line."""
    counts = digests.counts(store, one.id)
    did = ", ".join(f"{counts[deed]} {names[counts[deed] != 1]}" for deed, names in DEEDS.items() if deed in counts)
    told = did or one.why or ("is at it" if one.state == "running" else "nothing to keep")
    if one.state == "failed":
        told = one.why
    cost = spending.of_digest(store, one.id)
    spent = f" · {cost.tokens:,} tokens" if cost.tokens else ""
    where = places.key(store, one.repository) if one.repository is not None else "the agent"
    return f"{one.id:>4}  {context.date(one.at)}  {one.state:8} {one.phase:13} {context.counted(one.turns, 'turn'):>9} · {where} · {one.runner}{'/' + one.model if one.model else ''}{spent}\n      {told}"


def fields(store: Store, one: Digest) -> dict[str, Any]:
    """A digest as plain data."""
    cost = spending.of_digest(store, one.id)
    return {
        "digest": one.id, "at": context.iso(one.at), "phase": one.phase, "state": one.state, "why": one.why, "runner": one.runner, "model": one.model,
        "repository": places.key(store, one.repository) if one.repository is not None else None, "turns": one.turns, "archived_tokens": one.tokens,
        "steps": digests.counts(store, one.id), "requests": cost.requests, "input": cost.input, "cache_written": cost.written, "cache_read": cost.read,
        "output": cost.output, "dollars": cost.dollars,
    }  # fmt: skip


def _show(store: Store, one: Digest, out: Out) -> None:
    steps = digests.steps(store, one.id)
    if out.json:
        out.record({**fields(store, one), "did": [{"deed": step.deed, "said": said(store, step)} for step in steps]})
        return
    out.line(line(store, one))
    for step in steps:
        told = said(store, step)
        if told:
            sign = SIGNS.get(step.deed, "·")
            out.line(f"  {out.styled({'+': 'good', '-': 'bad', '!': 'warn'}.get(sign, 'strong'), sign)} {told}")


def said(store: Store, step: Step) -> str:
    """What a step did, in words; «» for one that only keeps the books."""
    memory, other = digests.named(store, step.memory), digests.named(store, step.other)
    if step.deed == "refused":
        return f"refused {step.note}"
    if step.deed in ("remember", "hold"):
        return f"{_named(memory)}{_from(store, memory)}"
    if step.deed == "supersede":
        return f"{_named(memory)}, closed in favour of {other.ref if other else 'one that was forgotten'}"
    if step.deed == "let go":
        return f"{_named(memory)}, let go"
    if step.deed == "revise":
        return _revised(store, memory, int(step.undo.get("revision", 0)))
    if step.deed == "reinforce":
        return f"{_named(memory)}, proved right once more"
    if step.deed == "promote":
        return f"{_named(memory)}, long-term from then on"
    if step.deed in ("link", "associate"):
        return f"{'linked' if step.deed == 'link' else 'associated'}: {_named(memory)} and {_named(other)}"
    if step.deed == "gist":
        from tenon.store import gists

        turn = int(step.undo.get("turn", 0))
        return f"t{turn} in a sentence: «{gists.of(store, turn) or '(gone)'}»"
    if step.deed == "session":
        number = int(step.undo.get("session", 0))
        held = summaries.of_session(store, number)
        text = cut(held.text, 300) if held is not None and held.writer == "digest" else "(replaced since)"
        return f"session {exchanges.session_of(store, number).name} in a few sentences: «{text}»"
    if step.deed == "read":
        return f"{context.counted(len(step.undo.get('turns', ())), 'turn')} dealt with"
    return ""


def _named(memory: Memory | None) -> str:
    if memory is None:
        return "(forgotten since)"
    return f"{memory.ref} [{memory.tier} · {memory.kind.replace('_', ' ')} · {memory.source}] «{cut(memory.text, 200)}»"


def _from(store: Store, memory: Memory | None) -> str:
    turns = memories.lineage(store, memory) if memory is not None else []
    return f" (from {', '.join(f't{turn}' for turn in turns[:6])}{', …' if len(turns) > 6 else ''})" if turns else ""


def _revised(store: Store, memory: Memory | None, revision: int) -> str:
    if memory is None:
        return "(forgotten since)"
    texts = {int(str(earlier["revision"])): str(earlier["text"]) for earlier in memories.history(store, memory)}
    texts[memory.revision] = memory.text
    return f"{memory.ref}: «{cut(texts.get(revision, '(gone)'), 160)}» became «{cut(texts.get(revision + 1, '(gone)'), 160)}»"
