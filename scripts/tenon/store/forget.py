"""Forgetting: out of rows, indexes, summaries, journal and files, and it stays gone.

A memory goes with all its revisions; a turn is blanked and keeps its place in the chain. What was derived from nothing
else goes along, and so do the copies that the proxy keeps (store/copies.py). What remains are salted hashes that keep it
from being written again (store/forgotten.py), and an audit line that says what was forgotten without saying it.
"""

from __future__ import annotations

import json
import os
import time

from tenon.base.errors import TenonError
from tenon.base.text import cut, words
from tenon.store import archive, cleaning, copies, digests, edges, exchanges, forgotten, gists, health, index, memories, nearby, summaries, usage, vectors
from tenon.store.cleaning import checkpoint
from tenon.store.containing import damaged, in_journal_words, matching, texts
from tenon.store.reindex import rebuild

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from tenon.store.containing import Text
    from tenon.store.db import Store
    from tenon.store.exchanges import Turn
    from tenon.store.memories import Memory

__all__ = ["checkpoint", "forget", "matching", "preview", "rebuild", "saying"]

FEW = 100  # passages that are looked for in the index, word by word, after they were taken out
SHORTEST = 8  # characters of a turn or memory that is looked for in damaged files; a shorter one stands in any file
OTHERS = ("gist:", "task:", "handoff:", "edge:", "where:", "place:", "feed:", "repository:", "journal:", "damaged:", "conversation:", "piece:")
NUMBERED = ("gist", "handoff", "edge", "where", "repository", "conversation", "piece")
KEPT = ("repository:", "damaged:")  # what is named and not touched

TURNS_OF_SESSION = "SELECT id FROM turn WHERE session = ? AND forgotten IS NULL ORDER BY id"
FROM_TURN = "SELECT memory FROM lineage WHERE turn = ?"
BLANK = "UPDATE turn SET content = '[]', forgotten = ? WHERE id = ? AND forgotten IS NULL"
PASSAGES = "SELECT id FROM passage WHERE turn = ?"
DROP_PASSAGES = "DELETE FROM passage WHERE turn = ?"
STILL_INDEXED = "SELECT 1 FROM turn_fts WHERE turn_fts MATCH ? AND rowid = ?"
DROP_LINEAGE = "DELETE FROM lineage WHERE turn = ?"
NO_SUCCESSOR = "UPDATE memory SET successor = NULL WHERE successor = ?"
SUPERSEDED_BY = "SELECT ref FROM memory WHERE successor = ?"
DROP_MEMORY = "DELETE FROM memory WHERE id = ?"
DROP_SUMMARY = "DELETE FROM summary WHERE session = ?"
JOURNAL = "SELECT id, words, hits, skipped FROM journal"
SET_JOURNAL = "UPDATE journal SET words = ?, hits = ?, skipped = ? WHERE id = ?"
BARE_DEEDS = "UPDATE deed SET note = '' WHERE ref = ?"
DEEDS = "SELECT id, note FROM deed WHERE note <> ''"
SET_DEED = "UPDATE deed SET note = ? WHERE id = ?"
TOMBSTONES = "SELECT DISTINCT reason FROM tombstone"
SET_REASON = "UPDATE tombstone SET reason = ? WHERE reason = ?"
ADD_DEED = "INSERT INTO deed (at, what, ref, note) VALUES (?, 'forget', ?, ?)"
EDGE = "SELECT reason, verdict FROM edge WHERE id = ?"
SET_EDGE = "UPDATE edge SET reason = ?, verdict = ? WHERE id = ?"
DROP_EDGE = "DELETE FROM edge WHERE id = ?"
TASK = "SELECT title, body FROM task WHERE repository = ? AND epic = ?"
SET_TASK = "UPDATE task SET title = ?, body = ? WHERE repository = ? AND epic = ?"
DROP_TASK = "DELETE FROM task WHERE repository = ? AND epic = ?"
HANDOFF = "SELECT body FROM handoff WHERE repository = ?"
SET_HANDOFF = "UPDATE handoff SET body = ? WHERE repository = ?"
DROP_HANDOFF = "DELETE FROM handoff WHERE repository = ?"
CONTENT = "SELECT content FROM turn WHERE id = ?"
WHERE = "SELECT name, folder, branch FROM session WHERE id = ?"
SET_WHERE = "UPDATE session SET folder = ?, branch = ? WHERE id = ?"
DROP_PLACE = "DELETE FROM place WHERE path = ?"
DROP_FEED = "DELETE FROM feed WHERE path = ?"
KEY = "SELECT key FROM repository WHERE id = ?"
CONVERSATION = "SELECT name FROM conversation WHERE id = ?"


class _Going:
    """What goes: memories (and from which turn, for those that come along), turns, sessions' summaries, whole sessions, the reasons of links, the rest."""

    def __init__(self) -> None:
        self.memories: dict[str, Memory] = {}
        self.along: dict[str, str] = {}
        self.turns: dict[int, Turn] = {}
        self.gone_before: list[str] = []
        self.staying: dict[str, str] = {}
        self.sessions: dict[int, str] = {}
        self.whole: list[int] = []
        self.others: list[str] = []
        self.links: list[int] = []


def preview(store: Store, refs: Sequence[str], *, quote: bool = True) -> list[str]:
    """What forgetting would take away, a line each, with what comes along and what stays. Changes nothing.

    Without `quote` only kind, date and length are told: what a model reads aloud would be in the archive again.
    A ref is the id of a memory (m…), a turn (t…) or a session, or what `matching` gives. Raises TenonError for an unknown one.
    """
    going = _going(store, refs)
    lines: list[str] = []
    for ref, memory in going.memories.items():
        earlier = len(memories.history(store, memory))
        marks = [memory.tier, memory.kind.replace("_", " "), *([memory.status] if memory.status != "live" else [])]
        extra = ([f"and {earlier} earlier text{'s' if earlier != 1 else ''}"] if earlier else []) + (
            [f"came from {going.along[ref]}"] if ref in going.along else []
        )
        lines.append(f"{ref} [{' '.join(marks)}] {_said(memory.text, memory.created, quote)}" + (f" ({'; '.join(extra)})" if extra else ""))
        lines.extend(
            f"{row[0]}, which it superseded, stays; name it to forget it too" for row in store.rows(SUPERSEDED_BY, (memory.id,)) if row[0] not in going.memories
        )
    lines.extend(f"{turn.ref} [{turn.role} {turn.kind}] {_said(turn.text(), turn.at, quote)}" for turn in going.turns.values())
    lines.extend(f"{ref} was forgotten before" for ref in going.gone_before)
    lines.extend(f"{ref} came from other turns besides {turn}, and stays; name it to forget it too" for ref, turn in going.staying.items())
    lines.extend(f"the summary of session {name}, which is made anew without it" for name in going.sessions.values())
    lines.extend(f"the reason of link {number}, which a digest gave after it had read that" for number in going.links)
    held = copies.count(store, _copies(store, going, ()))
    if held:
        lines.append(f"{held} {'copies' if held > 1 else 'copy'} in what the proxy keeps of conversations")
    lines.extend(_named(store, other, quote) for other in going.others)
    lines.extend(_named(store, f"damaged:{name}", quote) for name in damaged(store, _telling(store, going)) if f"damaged:{name}" not in going.others)
    return lines


def _said(text: str, at: float, quote: bool) -> str:
    if quote:
        return f"«{cut(text, 100)}»"
    return f"{len(text):,} characters of {time.strftime('%Y-%m-%d', time.gmtime(at))}"


def saying(store: Store, refs: Sequence[str]) -> list[tuple[Memory, list[int]]]:
    """The memories that go with these refs, each with those of its turns that do not. Raises TenonError for an unknown ref."""
    going = _going(store, refs)
    return [(memory, [turn for turn in memories.lineage(store, memory) if turn not in going.turns]) for memory in going.memories.values()]


def forget(store: Store, refs: Sequence[str], reason: str, now: float, texts_given: Sequence[str] = ()) -> list[str]:
    """Forgets, and gives the names of the sessions whose summaries were dropped and want to be written anew.

    `texts_given` are the exact texts the user named, to be taken out of tasks, handoffs, links, notes and words too; without
    them a named task, handoff or link goes whole. Raises TenonError for an unknown ref; then nothing was changed.
    """
    wanted = texts(texts_given)
    for text in wanted:
        reason = text.taken_out(reason)
    with store.transaction():
        going = _going(store, refs)
        beside = _beside(store, going)
        if health.changed(store, refs) or not all(archive.is_as_written(store, turn) for turn in _around(store, going) - going.turns.keys()):
            rebuild(store, embed=False)  # the index has the words that a changed turn had; only those can be taken out of it
        copies.take_out(store, _copies(store, going, wanted), reason, now)
        said: list[str] = []
        for memory in going.memories.values():
            said += _drop_memory(store, memory, now, reason, going.along.get(memory.ref, ""))
        whole = _unindex(store, [*going.turns.values(), *beside])
        vectors.drop(store, vectors.PASSAGE, [row[0] for turn in going.turns.values() for row in store.each(PASSAGES, (turn.id,))])
        for turn in going.turns.values():
            said.append(turn.text())
            _blank(store, turn, now, reason)
        for turn in beside:
            archive.put_back(store, turn)
        edges.unsay(store, going.links)
        for session in going.sessions:
            store.execute(DROP_SUMMARY, (session,))
            gists.drop_of_session(store, session)
        for session in going.whole:
            usage.drop(store, session)
        for other in going.others:
            _take_out(store, other, wanted, now)
            if not other.startswith(KEPT):
                store.execute(ADD_DEED, (now, other.split(":", 1)[0], "text taken out" if wanted else "removed"))
        for given in texts_given:
            forgotten.bury_named(store, given.strip(), reason, now)
        _unmention(store, {*going.memories, *(turn.ref for turn in going.turns.values())}, said, texts_given, wanted)
        if not whole:
            rebuild(store, embed=False)  # vectors follow in the background: forgetting has no time to embed everything
        cleaning.note(store)
    cleaning.clean(store)
    return list(going.sessions.values())


def _going(store: Store, refs: Sequence[str]) -> _Going:
    going = _Going()
    named: list[Turn] = []
    for ref in dict.fromkeys(ref if ref.startswith(OTHERS) else ref.strip() for ref in refs):
        if ref.startswith(OTHERS):
            kind, _, rest = ref.partition(":")
            if kind in NUMBERED and not (rest.isdecimal() and len(rest) <= 18):
                raise TenonError(f"there is no '{ref}'")
            going.others.append(ref)
        elif ref.startswith("summary:"):
            number = exchanges.session_number(store, ref[8:])
            if number is None:
                raise TenonError(f"there is no session '{ref[8:]}'")
            going.sessions[number] = ref[8:]
        elif ref[:1] == "t" and ref[1:].isdecimal():
            named.append(exchanges.turn(store, ref))
        else:
            number = exchanges.session_number(store, ref) if not ref.startswith("m") else None
            if number is not None:
                named.extend(exchanges.turn(store, f"t{row[0]}") for row in store.rows(TURNS_OF_SESSION, (number,)))
                going.sessions[number] = ref
                going.whole.append(number)
            else:
                going.memories[ref] = memories.get(store, ref)
    for turn in named:
        if turn.forgotten is not None:
            going.gone_before.append(turn.ref)
            continue
        going.turns[turn.id] = turn
        if turn.session not in going.sessions:
            going.sessions[turn.session] = exchanges.session_of(store, turn.session).name
    _add_derived(store, going)
    going.links = edges.quoting(store, digests.links_from(store, going.turns), [turn.text() for turn in going.turns.values()])
    return going


def _add_derived(store: Store, going: _Going) -> None:
    for turn in going.turns.values():
        for (number,) in store.rows(FROM_TURN, (turn.id,)):
            memory = memories.by_id(store, number)
            if memory.ref in going.memories:
                continue
            if set(memories.lineage(store, memory)) <= set(going.turns):
                going.memories[memory.ref] = memory
                going.along[memory.ref] = turn.ref
            else:
                going.staying[memory.ref] = turn.ref
    for memory in list(going.memories.values()):
        while (made := _made_of(store, memory)) is not None and made.ref not in going.memories:
            going.memories[made.ref], going.along[made.ref] = made, memory.ref
            memory = made
    for ref in going.along:
        going.staying.pop(ref, None)


def _made_of(store: Store, memory: Memory) -> Memory | None:
    """The memory that has this one's words since they were joined, or None."""
    made = memories.by_id(store, memory.successor) if memory.successor is not None else None
    return made if made is not None and _flat(memory.text) in _flat(made.text) else None


def _flat(text: str) -> str:
    return " ".join(text.lower().split())


def _named(store: Store, other: str, quote: bool) -> str:
    kind, _, rest = other.partition(":")
    if kind == "task":
        return f"the words in the task of epic {rest.partition(':')[2]}"
    if kind == "where":
        row = store.one(WHERE, (int(rest),))
        return f"the words in the folder or branch of session {row[0] if row else rest}"
    if kind == "place":
        return f"the noted folder{f' {rest}' if quote else ''}, until somebody works in it again"
    if kind == "feed":
        return f"how far the transcript{f' {rest}' if quote else ''} was read, until it is read again"
    if kind == "repository":
        return (
            f"the repository's own name{f', {store.value(KEY, (int(rest),))},' if quote else ''} contains it; it is kept, because all that is remembered of it hangs "
            "on it. A repository without origin takes its new name once its folder is renamed and worked in; else only `tenon uninstall --purge AGENT` removes it"
        )
    if kind == "damaged":
        path = os.path.join(os.path.dirname(os.path.abspath(store.path)), rest)
        return f"{path} still contains it and is kept; it is what was left of a damaged store when that was repaired, and can be deleted"
    if kind == "conversation":
        return f"the words in what the proxy keeps of conversation {store.value(CONVERSATION, (int(rest),)) or rest}"
    if kind == "piece":
        return "the words in what the proxy puts in front of conversations"
    if kind == "gist":
        return f"what a digest says in a sentence of the exchange that begins with t{rest}"
    return {"handoff": "the words in the handoff brief", "journal": "the words in the journal"}.get(kind, f"the words in the reason of link {rest}")


def _telling(store: Store, going: _Going) -> Iterator[str]:
    """The texts by which one sees whether a file still has what goes."""
    for memory in going.memories.values():
        yield from (text for text in (memory.text, *(str(earlier["text"]) for earlier in memories.history(store, memory))) if len(text) >= SHORTEST)
    yield from (text for text in (turn.text() for turn in going.turns.values()) if len(text) >= SHORTEST)


def _drop_memory(store: Store, memory: Memory, now: float, reason: str, along: str) -> list[str]:
    """Takes the memory and everything of its own away; gives the texts it had."""
    said = [memory.text, *(str(earlier["text"]) for earlier in memories.history(store, memory))]
    for text in said:
        forgotten.bury(store, text, reason, now)
    index.drop_memory(store, memory.id)
    vectors.drop(store, vectors.MEMORY, [memory.id])
    store.execute(NO_SUCCESSOR, (memory.id,))
    store.execute(DROP_MEMORY, (memory.id,))
    # Notes of earlier deeds may quote it: why it was promoted, what it was revised for.
    store.execute(BARE_DEEDS, (memory.ref,))
    store.execute(ADD_DEED, (now, memory.ref, f"memory, came from {along}" if along else "memory"))
    return said


def _beside(store: Store, going: _Going) -> list[Turn]:
    """The turns that stay and are indexed with words of those that go, in order."""
    numbers = {number for turn in going.turns.values() if turn.kind in archive.SPOKEN for number in archive.beside(store, turn, nearby.AFTER, nearby.BEFORE)}
    return [exchanges.turn(store, f"t{number}") for number in sorted(numbers - going.turns.keys())]


def _around(store: Store, going: _Going) -> set[int]:
    """The turns whose words stand where something is to be taken out of the index."""
    far = nearby.BEFORE + nearby.AFTER
    return {number for turn in going.turns.values() if turn.kind in archive.SPOKEN for number in archive.beside(store, turn, far, far)}


def _unindex(store: Store, turns: Sequence[Turn]) -> bool:
    """Takes the turns' passages out of the index; gives whether they are out of it to the last word."""
    entries = sorted(entry for turn in turns for entry in archive.indexed_as(store, turn))
    for entry in entries:
        index.drop_passage(store, *entry)
    # Of very many only those that another Python can have folded otherwise: a look for each word of each is slow.
    doubtful = entries if len(entries) <= FEW else [entry for entry in entries if not (entry[1].isascii() and entry[2].isascii())]
    return not any(_left(store, rowid, f"{text} {near}") for rowid, text, near in doubtful)


def _blank(store: Store, turn: Turn, now: float, reason: str) -> None:
    forgotten.bury_turn(store, reason, now, turn.repository, turn.at, turn.thread, turn.role, store.value(CONTENT, (turn.id,)))
    store.execute(DROP_PASSAGES, (turn.id,))
    store.execute(BLANK, (now, turn.id))
    store.execute(DROP_LINEAGE, (turn.id,))
    store.execute(ADD_DEED, (now, turn.ref, "turn"))


def _left(store: Store, rowid: int, text: str) -> bool:
    # Another Python may have folded a character that was new to it otherwise; then words of the passage remain.
    pieces = set("".join(char if char.isalnum() or not char.isascii() else " " for char in text).split())
    asked = sorted(piece for piece in {*pieces, *words(text)} if piece and not piece.endswith("*"))
    return any(store.one(STILL_INDEXED, (" OR ".join(f'"{word}"' for word in asked[at : at + 100]), rowid)) is not None for at in range(0, len(asked), 100))


def _copies(store: Store, going: _Going, wanted: Sequence[Text]) -> copies.Sought:
    told = [summary.text for number in going.sessions if (summary := summaries.of_session(store, number)) is not None]
    return copies.Sought([(turn, going.sessions[turn.session]) for turn in going.turns.values()], going.memories, told, wanted)


def _take_out(store: Store, other: str, wanted: Sequence[Text], now: float) -> None:
    kind, _, rest = other.partition(":")
    if kind == "gist":
        gists.drop(store, int(rest))
    elif kind in ("conversation", "piece"):
        if not wanted:  # where there is a text, it has been taken out
            copies.drop(store, kind, int(rest), now)
    elif kind == "edge":
        row = store.one(EDGE, (int(rest),)) if wanted else None
        if row is None:
            store.execute(DROP_EDGE, (int(rest),))
        else:
            store.execute(SET_EDGE, (_without(row[0], wanted), _without(row[1], wanted), int(rest)))
    elif kind == "handoff":
        row = store.one(HANDOFF, (int(rest),)) if wanted else None
        if row is None:
            store.execute(DROP_HANDOFF, (int(rest),))
        else:
            store.execute(SET_HANDOFF, (_without_json(row[0], wanted), int(rest)))
    elif kind == "task":
        repository, _, epic = rest.partition(":")
        row = store.one(TASK, (int(repository), epic)) if wanted and not any(text.within(epic) for text in wanted) else None
        if row is None:
            store.execute(DROP_TASK, (int(repository), epic))
        else:
            store.execute(SET_TASK, (_without(row[0], wanted), _without_json(row[1], wanted), int(repository), epic))
    elif kind == "where":
        row = store.one(WHERE, (int(rest),))
        if row is not None:
            store.execute(SET_WHERE, (*((_without(row[1], wanted), _without(row[2], wanted)) if wanted else (forgotten.INSTEAD, "")), int(rest)))
    elif kind in ("place", "feed"):
        store.execute(DROP_PLACE if kind == "place" else DROP_FEED, (rest,))


def _without(stored: str, wanted: Iterable[Text]) -> str:
    for text in wanted:
        stored = text.taken_out(stored)
    return stored


def _without_json(stored: str, wanted: Iterable[Text]) -> str:
    value = json.loads(stored)
    for text in wanted:
        value = text.taken_out_of(value)
    return json.dumps(value, ensure_ascii=False)


def _unmention(store: Store, refs: Collection[str], said: Iterable[str], given: Iterable[str], wanted: Sequence[Text]) -> None:
    """Takes the refs, and the words that led to them, out of the journal; the texts out of notes and reasons."""
    # By their beginnings: the journal has the cue's form of a word, the text may have another.
    beginnings = {word.rstrip("*")[:4] for text in said for word in words(text)}
    exact = {word.rstrip("*") for text in given for word in words(text)}
    for number, shared, *told in store.rows(JOURNAL):
        kept = ["\n".join(line for line in lines.splitlines() if line.split(" ", 1)[0] not in refs) for lines in told]
        named = kept != told
        left = [word for word in shared.split() if not in_journal_words(wanted, exact, word) and not (named and (word.endswith("*") or word[:4] in beginnings))]
        if named or len(left) < len(shared.split()):
            store.execute(SET_JOURNAL, (" ".join(left), *kept, number))
    if not wanted:
        return
    for number, note in store.rows(DEEDS):
        if _without(note, wanted) != note:
            store.execute(SET_DEED, (_without(note, wanted), number))
    for (reason,) in store.rows(TOMBSTONES):
        if _without(reason, wanted) != reason:
            store.execute(SET_REASON, (_without(reason, wanted), reason))
