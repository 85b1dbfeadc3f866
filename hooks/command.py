"""The slash commands, answered before the model is asked; what the user typed after one never meets a shell.

/memory-recall and /memory-digest add to what the model reads. /memory-status, /memory-why and /memory-forget are
answered to the user alone: the prompt is stopped with the answer as its reason, and no request is made.
"""

from __future__ import annotations

import os
import time

from hooks import where
from hooks.door import Answer
from tenon.base import paths, settings
from tenon.base.errors import TenonError
from tenon.base.text import cut
from tenon.cli.out import shown
from tenon.digest import forgetting
from tenon.recall import cue as cues
from tenon.recall import injection, offer
from tenon.recall.recall import recall
from tenon.store import db, exchanges, forget, journal, memories, places
from tenon.world import embedding

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tenon.base.settings import Settings
    from tenon.store.db import Store
    from tenon.store.journal import Entry

HITS = 10
BATCH = 60  # turns that one digest reads at most
TURN_CHARS = 700
WHY = 3
WHOLE = 20_000  # entries of a session that are looked through for an id


def answer(event: dict[str, Any]) -> Answer | None:
    """The command's answer. A refusal is told to the user in place of a result."""
    name = str(event.get("command_name") or "").rsplit(":", 1)[-1]
    if name not in COMMANDS:
        return None
    chosen = settings.load()
    given = str(event.get("command_args") or "").strip()
    if where.is_excluded(event, chosen):
        return _told(name, "This folder is excluded (archive.exclude); memory is off here.")
    try:
        path = paths.store_path(where.agent(chosen))
        if not os.path.exists(path):
            return _told(name, "Nothing is remembered yet: the first session that ends, or `tenon write`, begins the memory.")
        with db.open_store(path, create=False) as store:
            found = COMMANDS[name](store, event, given, chosen)
    except TenonError as error:
        return _told(name, f"{str(error)[:1].upper()}{str(error)[1:]}.")
    found.block = shown(found.block)
    return found


def _told(name: str, text: str) -> Answer:
    return Answer(context=injection.defused(text)) if name in ("memory-recall", "memory-digest") else Answer(block=shown(text))


def _recall(store: Store, event: dict[str, Any], cue: str, chosen: Settings) -> Answer:
    if not cue:
        return Answer(context="The user gave no cue. Ask what to recall: `/memory-recall how do we deploy`.")
    now = time.time()
    repository = places.find(store, where.folder(event))
    found = recall(
        store, cue, scope=places.scope(store, repository), k=HITS, now=now, per_day=chosen.per_day(), archive=True, not_session=where.session(event),
        ranking=chosen.text("recall.ranking"), meaning=embedding.for_query(store, cues.ends(cue), chosen),
    )  # fmt: skip
    far = found.only_nearest(chosen.number("recall.floor"))
    lines = offer.worded(store, found.hits)
    heading = injection.NEAREST if far else ""
    text, placed = injection.fenced([(heading, lines)], int(chosen.number("inject.max_chars")))
    told = [(hit.candidate.ref, hit.score, hit.parts.values()) for hit in found.hits]
    journal.record(store, event="command", session=where.session(event), repository=repository, words=found.words(), hits=told, chars=len(text), now=now)
    return Answer(context=text if placed else "Nothing in memory fits that cue.")


def _digest(store: Store, event: dict[str, Any], given: str, chosen: Settings) -> Answer:
    repository = places.find(store, where.folder(event))
    size, count = exchanges.pending_size(store, repository)
    if not count:
        return Answer(context="Everything said in this repository has been dealt with: there is nothing to digest. Say so.")
    turns = exchanges.pending(store, repository, BATCH)
    items = [f"- [{turn.ref} · {turn.role} · {injection.day(turn.at)}] {cut(turn.text(), TURN_CHARS)}" for turn in turns]
    heading = f"{count} turns (about {size:,} tokens) wait; these are the oldest. `memory_archive` with action exchange and an id gives one in full."
    text, placed = injection.fenced([(heading, items)], int(chosen.number("inject.max_chars")))
    shown = ", ".join(turn.ref for turn in turns[:placed])
    return Answer(context=f"{text}\nTurns shown, in order: {shown}. Mark only turns from this list.")


def _status(store: Store, event: dict[str, Any], given: str, chosen: Settings) -> Answer:
    from tenon.cli import status

    return Answer(block="\n".join(status.lines(store, where.folder(event), time.time())))


def _why(store: Store, event: dict[str, Any], given: str, chosen: Settings) -> Answer:
    if given:
        return Answer(block=_why_this(store, where.session(event), given))
    found = journal.entries(store, where.session(event), WHY)
    if not found:
        return Answer(block="Nothing was put in front of this session so far.")
    lines: list[str] = []
    for entry in found:
        lines.append(_entry(entry))
        for hit in entry.hits:
            lines.append("  " + " ".join(hit) + " " + cut(_text_of(store, hit[0]), 100))
        lines += [f"  {miss.ref} left out, {journal.WHY.get(miss.why, '')}: {cut(_text_of(store, miss.ref), 100)}" for miss in entry.skipped]
    return Answer(block="\n".join(lines))


def _why_this(store: Store, session: str, ref: str) -> str:
    """When and why that memory or turn was shown in the session. Raises TenonError when there is none with that id."""
    if ref[0] not in "mt" or not ref.isalnum():
        return "`/memory-why` tells of the last recalls of this session, and `/memory-why m7k2p9qxab` or `/memory-why t1234` of one memory or turn."
    wanted = {ref}
    if ref.startswith("t"):
        turn = exchanges.turn(store, ref)
        text = turn.text()
        if turn.kind == "reply":
            wanted.add(exchanges.exchange(store, ref, 1)[0].ref)  # an exchange is noted as its prompt
    else:
        text = memories.get(store, ref).text
    lines = [f"{ref}: «{cut(text, 100)}»" if text else f"{ref}: (forgotten)"]
    for entry in journal.entries(store, session, WHOLE):
        lines += [f"{_entry(entry)}\n  {' '.join(hit)}" for hit in entry.hits if hit[0] in wanted]
    return "\n".join(lines if len(lines) > 1 else [*lines, "It was not put in front of this session."])


def _entry(entry: Entry) -> str:
    at = time.strftime("%H:%M", time.localtime(entry.at))
    return f"{at} {entry.event}: {entry.chars:,} characters" + (f", {entry.about}" if entry.about else "")


def _text_of(store: Store, ref: str) -> str:
    try:
        return exchanges.turn(store, ref).text() if ref.startswith("t") else memories.get(store, ref).text
    except TenonError:
        return "(forgotten)"


def _forget(store: Store, event: dict[str, Any], given: str, chosen: Settings) -> Answer:
    refs = [word for word in given.replace(",", " ").split() if word not in ("yes", "said")]
    if not refs:
        return Answer(block="Say what to forget: `/memory-forget m7k2p9qxab` or `/memory-forget t1234`. Ids stand behind every recalled item.")
    said = forgetting.said(store, refs)
    if "said" in given.split():
        refs, said = [*refs, *said], []
    gone = forget.preview(store, refs)
    if "yes" not in given.split():
        told = "\n".join(f"  {line}" for line in gone)
        more = f"\n{forgetting.staying(said)}\nWith what was said: /memory-forget {' '.join(refs)} said yes" if said else ""
        return Answer(block=f"This would be forgotten for good:\n{told}\nTo do it: /memory-forget {' '.join(refs)} yes{more}")
    forgetting.forget(store, refs, "the user's wish", time.time())
    stays = f" {forgetting.staying(said)}" if said else ""
    return Answer(block=f"Forgotten: {', '.join(refs)}. It is gone from memory, index and summaries, and will not come back.{stays}")


COMMANDS = {"memory-recall": _recall, "memory-digest": _digest, "memory-status": _status, "memory-why": _why, "memory-forget": _forget}
