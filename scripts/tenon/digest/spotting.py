"""Into the store what plain code spots: always, free, and each turn once.

A memory has the time of its newest turn, so that what was imported late does not pass for new. What the user says again in other
sessions is reinforced, and at last long-term; what a correction names as wrong is closed where it is surely meant and short-term, and
never where the user wrote it. What the user said is closed only by what they surely typed themself; else a link is proposed.
"""

from __future__ import annotations

import time
from contextlib import suppress

from tenon.base import faults, paths, settings
from tenon.base.errors import TenonError
from tenon.base.lean import sqlite
from tenon.base.repository import identify
from tenon.base.text import words
from tenon.digest import prose, spot, spot_said
from tenon.store import before, digests, edges, episodes, exchanges, forgotten, memories, places, search, spotted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from tenon.digest.spot import Candidate
    from tenon.digest.spot_said import Said
    from tenon.store.db import Store
    from tenon.store.digests import Book
    from tenon.store.exchanges import Session, Turn
    from tenon.store.memories import Memory

AT_ONCE = 100  # turns that are looked through in one step
LOOK_BACK = 100  # turns before them that are read again for what they say of the new ones
NEAR = 6  # memories that a new one is held against
OLD = 30  # memories that say what a correction names as wrong
PROPOSED = 3  # edges of one correction
TO_LAST = 3  # sessions in which the user said it, for a memory to become long-term
TOGETHER = 2  # sessions in which two files were edited, for that to be worth noting
PAIRS, FILES, CALLS = 3, 12, 60  # of one step: pairs that are noted, files that are looked up, calls that are looked at for each
PAIR = 0.5  # how strong a memory of a pair is
PATH_PARTS = 3  # of a path, that it is looked up by
HAPPENED = ("episode", "experience", "identity", "relationship", "observation")  # what no correction makes untrue
COMMON = frozenset(map(prose.stem, (
    "add api app branch build call change check class code command commit config data default do error example exception fail feature file find fix folder function help issue keep line list make method module "
    "name need number open package page part place point problem project read repo request run script section server service set setting show start state store switch table test text thing "
    "try turn type update use user value version way work write"
).split()))  # fmt: skip


class Report:
    """What was done: memories that were written, and whether every session was looked through."""

    __slots__ = ("spotted", "finished")

    def __init__(self) -> None:
        self.spotted = 0
        self.finished = True


def catch_up(store: Store, *, now: float, budget_s: float, session: int | None = None) -> Report:
    """Looks through what no one has looked through yet: of the session with that number, else of all sessions, the first ones first.

    A step is one short transaction with the place it has come to, so that doing it twice is doing it once. A step that cannot be
    done is passed over and noted for `tenon doctor`; what was excluded (`archive.exclude`) is left alone, and all of it while the
    archive is off. Raises SQLite's errors.
    """
    end = time.monotonic() + budget_s
    report = Report()
    chosen = settings.load()
    if not chosen.flag("archive.enabled"):
        return report  # nothing is to be kept, or it is in doubt what may be
    exclude, per_day = chosen.names("archive.exclude"), chosen.per_day()
    for number in spotted.behind(store) if session is None else [session]:
        told = exchanges.session_of(store, number)
        if exclude and paths.lies_in(told.folder, exclude):
            continue
        run = _Run(store, told, now, per_day)
        while run.left():
            if time.monotonic() >= end:
                report.finished = False
                return report
            report.spotted += run.step()
    return report


class _Run:
    """One session being looked through."""

    def __init__(self, store: Store, session: Session, now: float, per_day: dict[str, float]) -> None:
        self.store = store
        self.session = session
        self.now = now
        self.per_day = per_day
        self.home = places.canonical(store, session.repository)
        self.reached = spotted.reached(store, session.id)
        self.upto = spotted.newest(store, session.id)
        self.roots: tuple[str, ...] = ()
        self.book = digests.Book(store, phase="spotting", repository=self.home, runner="code", now=now)

    def left(self) -> bool:
        """Whether there are turns that were not looked at."""
        return self.reached < self.upto

    def step(self) -> int:
        """How many memories the next turns gave."""
        turns = spotted.beyond(self.store, self.session.id, self.reached, self.upto, AT_ONCE)
        reach = turns[-1].id if len(turns) == AT_ONCE else self.upto
        try:
            count = self._some(turns, reach)
        except (sqlite.Error, OSError):
            raise  # a busy store or a full disk is no fault of these turns
        except Exception as error:  # noqa: BLE001 - what one turn does to a pattern must not keep all others from being looked through
            faults.note("spotting", error)
            count = 0
            with self.store.transaction():
                spotted.reach(self.store, self.session.id, reach)
        self.reached = reach
        return count

    def _some(self, turns: Sequence[Turn], reach: int) -> int:
        found: list[Candidate] = []
        every: list[Turn] = []
        if turns:
            self.roots = self.roots or (identify(self.session.folder).root, self.session.folder)
            every = [*spotted.before(self.store, self.session.id, self.reached, LOOK_BACK), *turns]
            found = spot.spot(every, self.reached, self.roots)
        pairs = _Pairs(self, every).found() if turns else []
        with self.store.transaction():
            if spotted.reached(self.store, self.session.id) != self.reached:
                self.upto = 0  # another process is at it
                return 0
            self.book = digests.Book(
                self.store, phase="spotting", repository=self.home, runner="code", now=self.now, turns=len(turns), first=turns[0].id if turns else None
            )
            count = sum(self._kept(candidate) for candidate in found) + sum(pair.keep(self) for pair in pairs)
            spotted.reach(self.store, self.session.id, reach)
        return count

    def _kept(self, candidate: Candidate) -> bool:
        """Whether the candidate became a memory; one that is known, was superseded or forgotten does not."""
        try:
            if candidate.episode is not None:
                return self._episode(candidate)
            known = self._known(candidate)
            if known is not None:
                self._again(known, candidate)
                return False
            ref, new = self._write(candidate.kind, candidate.text, candidate)
        except TenonError:
            return False
        memory = memories.get(self.store, ref)
        if new:
            self.book.step("remember", memory.id)
        if candidate.said is not None and new:
            with suppress(TenonError):
                Correcting(self.store, self.home, memory, candidate.said, self.book, typed=candidate.typed).apply()
        return new

    def _write(self, kind: str, text: str, candidate: Candidate) -> tuple[str, bool]:
        return memories.write(
            self.store, repository=self.home, tier="short", kind=kind, text=text, reason=candidate.reason, source=candidate.source, turns=candidate.turns,
            strength=candidate.strength, now=min(candidate.at, self.now), writer="code",
        )  # fmt: skip

    def _episode(self, candidate: Candidate) -> bool:
        parts = candidate.episode or {}
        last = spotted.last_memory(self.store)
        ref, _ = episodes.write(
            self.store, repository=self.home, situation=parts["situation"], action_type="fix", action_taken=parts["action_taken"], expected="success", outcome="success",
            evidence=parts["evidence"], now=min(candidate.at, self.now), turns=candidate.turns, writer="code",
        )  # fmt: skip
        if spotted.last_memory(self.store) == last:
            return False
        self.book.step("remember", memories.get(self.store, ref).id)
        return True

    def _known(self, candidate: Candidate) -> Memory | None:
        """The memory that says the same already, if there is one."""
        if candidate.command:
            return spotted.beginning(self.store, self.home, "command", spot.works(candidate.command))
        if candidate.said is None:
            return None
        kinds = sorted({kind for kind, _ in spot_said.SAID.values()})
        own = candidate.said.own
        near, _, _ = search.memories(self.store, list(dict.fromkeys(words(own))), places.scope(self.store, self.home), NEAR, kinds=kinds)
        return next((memories.get(self.store, each.ref) for each in near if spot_said.same(own, each.text)), None)

    def _again(self, known: Memory, candidate: Candidate) -> None:
        """Reinforces what was said or run in a session that it did not come from yet; what the user said often enough becomes long-term."""
        if known.status == "superseded" or self.session.id in spotted.sessions_of(self.store, known.id):
            return
        spotted.bind(self.store, known.id, candidate.turns)
        at = max(min(candidate.at, self.now), known.decayed, known.reinforced)
        self.book.step("reinforce", known.id, undo=before.strength(known, at))
        memories.reinforce(self.store, known.ref, at, per_day=self.per_day[known.tier])
        said = spotted.sessions_of(self.store, known.id, said=True)
        if known.tier == "short" and known.source == "user" and candidate.source == "user" and len(said) >= TO_LAST:
            self.book.step("promote", known.id)
            memories.promote(self.store, known.ref, f"the user said it in {len(said)} sessions" + (f"; {known.reason}" if known.reason else ""), at)


class Correcting:
    """What follows from a new memory: what it corrects is closed or linked, and it is closed itself where a newer one corrects it.

    `typed`: the user surely typed it themself.
    """

    def __init__(self, store: Store, repository: int, memory: Memory, said: Said, book: Book, *, typed: bool) -> None:
        self.store = store
        self.book = book
        self.repository = repository
        self.scope = places.scope(store, repository)
        self.memory = memory
        self.said = said
        self.typed = typed

    def apply(self) -> None:
        """Closes, links, or does nothing."""
        if self.said.wrong:
            self._older()
        self._newer()

    def _older(self) -> None:
        proposed = 0
        if not prose.content(self.said.wrong) - COMMON:
            return
        found, _, _ = search.memories(self.store, words(self.said.wrong), self.scope, OLD, without=HAPPENED)
        for each in found:
            old = memories.get(self.store, each.ref)
            if old.id == self.memory.id or old.repository is None or old.valid_from > self.memory.valid_from or not _is_meant(self.said, old.text):
                continue
            certain = _is_certain(self.said, old.text)
            if certain and _is_ours(old, self.typed):
                memories.supersede(self.store, old.ref, self.memory.ref, self.memory.valid_from)
                self.book.step("supersede", old.id, self.memory.id)
            elif proposed < PROPOSED and (certain or _tells(self.said, old.text)):
                kind = "supersedes" if certain else "contradicts"
                number, fresh = edges.propose_once(
                    self.store, self.repository, self.memory.ref, old.ref, kind, f"the user said «{self.said.own}»"[:500], self.memory.valid_from
                )
                if fresh:
                    self.book.step("link", self.memory.id, old.id, undo={"edge": number})
                proposed += 1

    def _newer(self) -> None:
        """An old session may be read after the one in which the user thought better of it."""
        if not spotted.has_newer(self.store, self.scope, self.memory.valid_from):
            return
        found, _, _ = search.memories(self.store, list(dict.fromkeys(words(self.memory.text))), self.scope, NEAR, kinds=["decision"])
        for each in found:
            newer = memories.get(self.store, each.ref)
            if newer.writer != "code" or newer.source != "user" or newer.id == self.memory.id or newer.valid_from <= self.memory.valid_from:
                continue
            said = spot_said.reread(newer.text)
            if said.wrong and _is_meant(said, self.memory.text) and _is_certain(said, self.memory.text) and _is_ours(self.memory, self._was_typed(newer)):
                memories.supersede(self.store, self.memory.ref, newer.ref, newer.valid_from)
                self.book.step("supersede", self.memory.id, newer.id)
                return

    def _was_typed(self, memory: Memory) -> bool:
        told = [exchanges.turn(self.store, f"t{number}") for number in memories.lineage(self.store, memory)]
        return all(prose.is_typed(spot.text_of(turn)) for turn in told if turn.kind == "prompt")


class _Pair:
    """Two files that were edited together: their paths, in how many sessions, and the calls by which."""

    def __init__(self, one: str, other: str, sessions: int, turns: list[Turn]) -> None:
        self.text = f"{one} and {other} are changed together"
        self.sessions = sessions
        self.turns = [turn.id for turn in turns]
        self.at = max(turn.at for turn in turns)

    def keep(self, run: _Run) -> bool:
        """Whether a memory was written or brought up to date."""
        store, at = run.store, min(self.at, run.now)
        text = f"{self.text} ({self.sessions} sessions)"
        gone = forgotten.known(store)
        if gone is not None and any(gone.is_text(f"{self.text} ({count} sessions)") for count in range(TOGETHER, self.sessions + 1)):
            return False
        known = spotted.beginning(store, run.home, "observation", self.text + " (")
        try:
            if known is None:
                why = "they were edited in the same sessions"
                ref, _ = memories.write(
                    store, repository=run.home, tier="short", kind="observation", text=text, reason=why, source="tool", turns=self.turns, strength=PAIR, now=at, writer="code"
                )  # fmt: skip
                run.book.step("remember", memories.get(store, ref).id)
                return True
            if known.status == "superseded" or known.text == text or _sessions_in(known.text) >= self.sessions:
                return False
            at = max(at, known.decayed, known.reinforced)
            run.book.step("revise", known.id, undo={"revision": known.revision})
            known = memories.revise(store, known.ref, text, "they were edited together again", at)
            run.book.step("reinforce", known.id, undo=before.strength(known, at))
            memories.reinforce(store, known.ref, at, per_day=run.per_day[known.tier])
            spotted.bind(store, known.id, self.turns)
        except TenonError:
            return False
        return True


class _Pairs:
    """Which of the files edited in a step were edited together in other sessions too."""

    def __init__(self, run: _Run, turns: Sequence[Turn]) -> None:
        self.run = run
        self.edits = spot.edited(turns)
        self.scope = places.scope(run.store, run.home)

    def found(self) -> list[_Pair]:
        """The pairs that came up most often, at most so many."""
        new = {self._path(edit.path) for edit in self.edits if edit.turn > self.run.reached}
        files = list(dict.fromkeys(self._path(edit.path) for edit in reversed(self.edits)))[:FILES] if new else []
        places_of = {path: self._sessions(path) for path in files if path and not path.startswith("/")} if len(files) > 1 else {}
        names = sorted(places_of)
        pairs: list[_Pair] = []
        for at, one in enumerate(names):
            for other in names[at + 1 :]:
                both = places_of[one].keys() & places_of[other].keys()
                # Two files that are each edited all the time meet by chance.
                if len(both) < TOGETHER or not new & {one, other} or 2 * len(both) < max(len(places_of[one]), len(places_of[other])):
                    continue
                turns = [places_of[path][session] for session in sorted(both) for path in (one, other)]
                pairs.append(_Pair(one, other, len(both), turns))
        return sorted(pairs, key=lambda pair: (-pair.sessions, pair.text))[:PAIRS]

    def _path(self, path: str) -> str:
        return paths.relative(path, self.run.roots)

    def _sessions(self, path: str) -> dict[int, Turn]:
        """The sessions in which the file was edited, each with a call that did it."""
        found: dict[int, Turn] = {}
        for turn in spotted.editing(self.run.store, self.scope, "/".join(path.split("/")[-PATH_PARTS:]), CALLS):
            if any(self._is(called, path) for called in spot.edits_of(turn)):
                found.setdefault(turn.session, turn)
        return found

    def _is(self, called: str, path: str) -> bool:
        """Whether it is that file of the repository, also in another folder that the repository was worked on in."""
        here = self._path(called)
        return here == path or (here == called.replace("\\", "/") and here.endswith("/" + path))


def _is_ours(memory: Memory, typed: bool) -> bool:
    """Whether it may be closed: what is short-term, and was not written by the user, nor said by them where the correction may be somebody else's."""
    return memory.tier == "short" and memory.writer != "user" and (memory.source != "user" or (typed and memory.writer != ""))


def _is_meant(said: Said, text: str) -> bool:
    """Whether a text says what the correction names as wrong, and not what it names as right."""
    if not spot_said.says(text, said.wrong) or (said.right and spot_said.says(text, said.right)):
        return False
    right = prose.names(f"is {said.right}")
    return not right or not right <= prose.names(f"is {text}")


def _is_certain(said: Said, text: str) -> bool:
    """Whether the text is about the same: it shares a word besides; where what is wrong is only a number, two of them, or an identifier."""
    if not said.sure:
        return False
    shared = len((said.about - COMMON) & prose.content(text))
    if any(char.isalpha() for char in said.wrong):
        return shared > 0
    return shared > 1 or any("_" in name and not name.isdecimal() for name in prose.names(said.text) & prose.names(text))


def _tells(said: Said, text: str) -> bool:
    """Whether it is worth asking if the two contradict: what is wrong is no common word, or something else is shared."""
    return any(word.isalpha() for word in prose.content(said.wrong) - COMMON) or bool((said.about - COMMON) & prose.content(text))


def _sessions_in(text: str) -> int:
    number = text.rpartition("(")[2].split(" ")[0]
    return int(number) if number.isdecimal() else 0
