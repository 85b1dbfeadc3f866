"""Whatever is said, digested, undone, corrected and forgotten, in any order: the store is whole, the user's word stands, and what is gone is gone.

Everything that is said or written has a word of its own, so that it can be looked for: in rows, in the indexes, in the bytes of the file.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from tenon.base import settings
from tenon.base.errors import TenonError
from tenon.digest import prompts, reflecting, session, summary, undoing
from tenon.recall.recall import recall
from tenon.store import db, digests, edges, exchanges, fading, forget, forgotten, health, identity, journal, memories, pressure, spending
from tenon.world import digesting, runners
from tests.digest.minds import PER_DAY, Mind, spoken

DAY_S = 86_400.0
SMALL = 450  # tokens of a batch, so that a run has several of them and a long turn is read in parts
LINE = re.compile(r"^\[([mt]\w+) ([^\]]*)\] (.*)$", re.MULTILINE)
OWN = re.compile(r"\b[a-z]{10}q\b")  # a word that only one text has
NTH = st.integers(0, 99)
SEED = st.integers(0, 1 << 20)  # of what a model answers: drawn one by one its words would leave little room for rules
SAID = ("we decided that the lamp is red", "the pump stands in the cellar, not in the attic", "always ask before you touch the vault", "does the queue hold")
KINDS = ("fact", "decision", "preference", "lesson", "observation")
SPEAKERS = (
    ("user", "prompt", "user"),
    ("assistant", "reply", "assistant"),
    ("user", "result", "outside"),
    ("user", "prompt", "outside"),
    ("user", "prompt", "tool"),
)
BAD = (
    "", "I would rather not.", '{"operations": [{"op": "remember", "text": "half', '{"operations": {}, "read_to": "LAST"}', '{"operations": [], "read_to": "t0"}',
    'Sure! {"operations": [], "read_to": "LAST"}', "[" * 5000, '{"operations": [' + "{}, " * 250 + '{}], "read_to": "LAST"}', '{"operations": [], "read_to": "LAST"} x',
)  # fmt: skip
HOSTILE: tuple[Any, ...] = (
    {"op": "delete", "refs": ["all"]}, {"op": "remember"}, "remember", None, 7, {"op": ["remember"]}, {"op": "gist", "turn": "t0", "text": "Nobody asked."},
    {"op": "remember", "kind": "fact", "text": "It was never said.", "turns": ["t999999"]}, {"op": "remember", "kind": "fact", "text": "", "turns": ["TURN"]},
    {"op": "remember", "kind": "fact", "text": "x " * 5000, "turns": ["TURN"]}, {"op": "remember", "kind": "identity", "text": "I obey.", "turns": ["TURN"]},
    {"op": "remember", "kind": "fact", "text": "half a letter \ud800 and \0 none", "turns": ["TURN"]}, {"op": "remember", "kind": "fact", "text": " \n ", "turns": ["TURN"]},
    {"op": "remember", "kind": "fact", "text": "The number is 314159.", "turns": ["TURN"], "salience": float("nan")},
    {"op": "correct", "old": "OTHER", "text": "The vault is open.", "turns": ["TURN"]}, {"op": "correct", "old": "CLOSED", "text": "The vault is open.", "turns": ["TURN"]},
    {"op": "correct", "old": "MINE", "text": "The vault is open.", "turns": ["TURN"]}, {"op": "merge", "refs": ["OTHER", "CLOSED"], "text": "The vault is open."},
    {"op": "merge", "refs": ["MINE", "KNOWN"], "text": "The vault is open."}, {"op": "link", "from": "OTHER", "to": "KNOWN", "relation": "supports", "reason": "so"},
    {"op": "link", "from": "KNOWN", "to": "KNOWN", "relation": "supports", "reason": "so"}, {"op": "link", "from": "KNOWN", "to": "MINE", "relation": "supersedes", "reason": "so"},
    {"op": "associate", "refs": ["OTHER", "CLOSED", "KNOWN"]}, {"op": "reinforce", "ref": "CLOSED", "turns": ["TURN"]}, {"op": "session", "turn": "KNOWN", "text": "so"},
    {"op": "hold", "kind": "identity", "text": "i obey every page", "evidence": ["OTHER", "KNOWN"]}, {"op": "hold", "kind": "fact", "text": "i obey", "evidence": ["KNOWN"]},
    {"op": "hold", "kind": "identity", "text": "i obey " * 60, "evidence": ["KNOWN"]}, {"op": "revise", "ref": "MINE", "text": "i obey", "evidence": ["KNOWN"], "reason": "so"},
    {"op": "let_go", "ref": "MINE", "reason": "so"}, {"op": "let_go", "ref": "KNOWN", "reason": "so"}, {"op": "gist", "turn": "TURN", "text": "y " * 5000},
)  # fmt: skip
STATE = {
    "memory": "id, ref, repository, tier, kind, text, reason, source, labels, strength, citations, revision, status, successor, reinforced, valid_to, writer",
    "revision": "*", "lineage": "*", "edge": "*", "consolidated": "*", "reading": "*", "gist": "*", "summary": "*", "tombstone": "*", "vector": "*", "deed": "*", "step": "*",
}  # fmt: skip
MINE = "SELECT id, text, tier, kind, reason, source, repository, revision, status = 'superseded', successor FROM memory WHERE writer = 'user' ORDER BY id"
TRUSTED = "SELECT ref FROM memory WHERE source IN ('outside', 'tool') AND writer <> 'user' AND (tier = 'long' OR kind IN ('identity', 'relationship'))"
UNINDEXED = "SELECT id FROM memory WHERE (status <> 'superseded') <> (id IN (SELECT rowid FROM memory_fts))"
EMBEDDED = "SELECT m.id FROM memory m JOIN vector v ON v.kind = 0 AND v.row = m.id WHERE m.status = 'superseded'"
DANGLING = (
    "SELECT s.id FROM spending s WHERE s.digest IS NOT NULL AND s.digest NOT IN (SELECT id FROM digest)",
    "SELECT g.turn FROM gist g LEFT JOIN digest d ON d.id = g.digest WHERE d.state IS NULL OR d.state <> 'applied'",
    "SELECT g.turn FROM gist g JOIN turn t ON t.id = g.turn WHERE t.forgotten IS NOT NULL",
    "SELECT l.turn FROM lineage l JOIN turn t ON t.id = l.turn WHERE t.forgotten IS NOT NULL",
    "SELECT s.number FROM step s JOIN digest d ON d.id = s.digest WHERE d.state IN ('failed', 'running')",
    "SELECT rowid FROM memory_fts WHERE rowid NOT IN (SELECT id FROM memory)",
    "SELECT v.row FROM vector v WHERE v.kind = 0 AND v.row NOT IN (SELECT id FROM memory)",
    "SELECT r.turn FROM reading r JOIN consolidated c ON c.turn = r.turn",
)
# What an undone digest wrote and no user has signed.
CAME_BACK = (
    "SELECT m.id, m.text FROM memory m JOIN step s ON s.memory = m.id JOIN digest d ON d.id = s.digest WHERE d.state = 'undone' AND s.deed IN ('remember', 'hold') "
    "AND m.status <> 'superseded' AND m.writer <> 'user'"
)
# What an undone reflection made of a statement.
REVISED_BACK = (
    "SELECT m.id, coalesce(r.text, m.text), m.text FROM step s JOIN digest d ON d.id = s.digest JOIN memory m ON m.id = s.memory "
    "LEFT JOIN revision r ON r.memory = m.id AND r.revision = json_extract(s.undo, '$.revision') + 1 "
    "WHERE d.state = 'undone' AND s.deed = 'revise' AND m.status <> 'superseded' AND m.writer <> 'user'"
)
KNOWN = "SELECT id, text, status, successor, tier, kind, source, labels, citations, writer, valid_to FROM memory ORDER BY id"
LINKS = "SELECT id, status, reason, verdict FROM edge WHERE status <> 'rejected' ORDER BY id"
GISTS = "SELECT turn, text FROM gist WHERE digest <> ? ORDER BY 1"
REPORTED = "SELECT coalesce(sum(input + written + read + output), 0) FROM spending WHERE reported = 1"
TWICE = "SELECT repository, lower(text), count(*) FROM memory WHERE status <> 'superseded' GROUP BY 1, 2 HAVING count(*) > 1"


class Shown:
    """What a question shows: the lines of turns and of memories, by their ids."""

    def __init__(self, question: Any) -> None:
        self.reflects = f"<{prompts.STATEMENTS}>" in question.prompt
        above, _, below = question.prompt.partition(f"</{prompts.STATEMENTS if self.reflects else prompts.KNOWN}>")
        self.known = {ref: text for ref, _, text in LINE.findall(above)}  # or the statements held
        self.told = {ref: text for ref, _, text in LINE.findall(below)}  # turns, or the memories that bear statements out
        self.prompts = [ref for ref, who, _ in LINE.findall(below) if who.startswith(("user", "outside", "tool"))]
        self.size = (len(question.system) + len(question.prompt)) // 4
        self.last = question.prompt.rpartition("Last id: ")[2].split(".")[0]


class Minds(RuleBasedStateMachine):
    """A store in which two repositories are worked in, a user, and models that answer as they like."""

    def __init__(self, template: str, home: Path) -> None:
        super().__init__()
        self.path = str(home / "tenon.db")
        shutil.copy(template, self.path)
        self.home = home
        self.store = db.open_store(self.path)
        self.mind = Mind(self.store)
        self.homes = (self.mind.here, self.mind.there)
        self.patch = pytest.MonkeyPatch()
        for name in ("BATCH", "LEAST"):
            self.patch.setattr(digesting, name, SMALL)
        self.patch.setattr(reflecting, "ENOUGH", 1)
        self.count = 0
        self.words: dict[str, str] = {}  # of each turn
        self.texts = ["The lamp is green."]  # that somebody has written, with no turn's word in them
        self.named: list[str] = []  # words that the user had forgotten by their text
        self.gone: set[str] = set()  # words that stand nowhere any more
        self.judged: dict[int, str] = {}  # the user's verdicts on links
        self.by_hand: set[int] = set()  # memories that the user has revised
        self.entrusted: set[str] = set()  # or made long-term
        self.mine = self.store.rows(MINE)
        self.dealt: set[int] = set()  # turns
        self.reported = 0
        self.before: Any = None
        self.alone = False  # the user does nothing while a model thinks

    def teardown(self) -> None:
        """Ends it."""
        self.store.close()
        self.patch.undo()
        shutil.rmtree(self.home, ignore_errors=True)

    # ------------------------------------------------------------ what happens

    @initialize(seed=SEED)
    def begins(self, seed: int) -> None:
        """Some days in which much was said and digested."""
        for more in range(2):
            self.works(seed + more)

    @rule(seed=SEED)
    def works(self, seed: int) -> None:
        """Several things are said, then all that waits is digested."""
        chance = Random(seed)
        for _ in range(chance.randint(3, 12)):
            self.says(chance.randrange(4), chance.choice((0, 1) * 25 + (2, 3, 4)), chance.choice(SAID), chance.randrange(100), chance.randrange(100))
        self.digests(seed, None)

    @rule(where=st.integers(0, 3), speaker=st.sampled_from((0, 0, 0, 1, 1, 1, 2, 3, 4)), about=st.sampled_from(SAID), long=NTH, again=NTH)
    def says(self, where: int, speaker: int, about: str, long: int, again: int) -> None:
        """Something is said, done or read in one of two sessions of each repository; seldom it is long, or has words that were forgotten."""
        word = self.word()
        more = f" {' '.join(self.named[:2])}" if again > 80 else ""
        role, kind, source = SPEAKERS[speaker]
        ref = self.mind.say(
            f"{word} {about}{more}" + " and so on" * (500 if long > 94 else 0),
            role=role,
            kind=kind,
            source=source,
            session=f"s{where}",
            repository=self.homes[where % 2],
        )
        self.words[ref] = word

    @rule(seed=SEED, where=st.sampled_from((None, None, 0, 1)))
    def digests(self, seed: int, where: int | None) -> None:
        """A run, at times with so little left of the day's cap that it ends early."""
        chance = Random(seed)
        left = chance.choice((10_000_000, 10_000_000, 10_000_000, 12_000, 24_000))
        cap = spending.today(self.store, self.mind.at).counted + left

        def ask(runner: str, model: str, question: Any, chosen: settings.Settings, *, timeout_s: float) -> Any:
            return self.answered(chance, Shown(question))

        try:
            with digesting.Run(self.store, settings.load(), ask=ask, cap=cap, clock=self.tick, told=self.hears) as work:
                work.all(None if where is None else self.homes[where])
        except KeyboardInterrupt:
            assert self.before == self.state()
        self.dealt |= self.consolidated()

    @rule(nth=NTH, again=st.booleans())
    def undoes(self, nth: int, again: bool) -> None:
        """One of the newest digests is taken back, or it is said why not."""
        newest = digests.newest(self.store, 9)
        found = [one for one in newest if one.state == "applied"] if nth % 8 else newest
        if not found:
            return
        one = found[nth % len(found)]
        steps = digests.steps(self.store, one.id)
        if again:
            self.dealt -= {int(turn) for step in steps for turn in step.undo.get("turns", ())} - digests.read_since(self.store, one.id)
        if one.state != "applied":
            with suppress(TenonError) if again else pytest.raises(TenonError):
                undoing.undo(self.store, one.id, self.tick(), again=again)
            return
        gists, live = self.store.rows(GISTS, (one.id,)), {memory.id: memory for memory in self.all_memories() if memory.status == "live"}
        undoing.undo(self.store, one.id, self.tick(), again=again)
        after = {memory.id: memory for memory in self.all_memories()}
        assert gists == self.store.rows(GISTS, (one.id,))
        assert [] == [row for row, memory in live.items() if after[row].strength < memory.strength and memory.reinforced > (one.ended or one.at)]
        if one.phase == "session":  # what was known before the session is none of its doing
            began = min(exchanges.turn(self.store, f"t{turn}").at for step in steps for turn in step.undo.get("turns", ()))
            assert set() == {row for row in live if after[row].status == "superseded" and after[row].created < began}
        written = {step.memory for step in steps if step.deed == "remember"}
        for step in steps:
            if step.deed == "supersede" and step.memory and step.other in written & after.keys():  # what took its place has gone, or it has not come back
                assert step.memory in live or "live" != after[step.memory].status or after[step.other].status == "superseded"

    @rule(seed=SEED)
    def tries(self, seed: int) -> None:
        """A run of which everything is taken back at once, the last digest first: what was there before is as it was, and nothing of it is left."""
        last = (digests.newest(self.store, 1) or [None])[0]  # type: ignore[list-item]
        before, links = self.store.rows(KNOWN), self.store.rows(LINKS)
        self.alone = True
        self.works(seed)
        self.alone = False
        made = [one for one in digests.newest(self.store, 99) if last is None or one.id > last.id]
        for one in made:
            if one.state == "applied":
                undoing.undo(self.store, one.id, self.tick())
        after, known = self.store.rows(KNOWN), {row[0] for row in before}
        assert before == [row for row in after if row[0] in known]
        assert {"superseded"} >= {row[2] for row in after if row[0] not in known}
        assert links == self.store.rows(LINKS)

    @rule(seed=SEED, where=st.integers(0, 1))
    def digests_at_hand(self, seed: int, where: int) -> None:
        """The model of a session writes from what waits, and marks it as dealt with."""
        chance = Random(seed)
        turns = exchanges.pending(self.store, self.homes[where], 6)
        written = []
        for turn in turns:
            if chance.random() < 0.5:
                text = chance.choice([f"In this session {self.words[turn.ref]} was said.", chance.choice(self.texts)])
                with suppress(TenonError):
                    self.writes_as_model(where, text, [turn.id])
                    written.append(turn.id)
        if not turns:
            return
        session.done(self.store, self.homes[where], written, [turn.id for turn in turns if turn.id not in written], self.tick())
        self.dealt |= {turn.id for turn in turns}

    @rule(nth=NTH, where=st.integers(0, 1), source=st.sampled_from(("assistant", "user", "outside", "tool")))
    def repeats(self, nth: int, where: int, source: str) -> None:
        """A model writes with a tool what is known, or was undone, corrected or forgotten."""
        with suppress(TenonError):
            self.writes_as_model(where, self.texts[nth % len(self.texts)], source=source)

    @rule(nth=NTH, where=st.integers(0, 1), kind=st.sampled_from((*KINDS, "identity", "relationship")), corrects=st.booleans())
    def writes(self, nth: int, where: int, kind: str, corrects: bool) -> None:
        """The user writes something by their own hand, at times in the place of what is held."""
        text = f"By hand: {self.word()} it is."
        self.texts.append(text)
        everywhere = kind in identity.KINDS
        with suppress(TenonError), self.store.transaction():
            if everywhere:
                ref = identity.add(self.store, text, self.tick(), kind=kind)[0].ref
            else:
                ref = self.mind.write(
                    text, repository=self.homes[where], kind=kind, tier="long", reason="by hand", source="user", writer="user", now=self.tick()
                )
            held = [memory for memory in self.held(where) if (memory.kind in identity.KINDS) == everywhere and memory.ref != ref]
            if corrects and held:
                memories.supersede(self.store, held[nth % len(held)].ref, ref, self.mind.at)
        self.signed()

    @rule(nth=NTH)
    def confirms(self, nth: int) -> None:
        """The user writes by hand what was written before, whatever has become of it."""
        found = [memory for memory in self.all_memories() if forgotten.without(self.store, memory.text) == memory.text]
        if not found:
            return
        memory = found[nth % len(found)]
        with suppress(TenonError):
            if memory.kind in identity.KINDS:
                identity.add(self.store, memory.text, self.tick(), kind=memory.kind)
            else:
                self.mind.write(memory.text, repository=memory.repository, source="user", writer="user", again=True, now=self.tick())
        self.signed()

    @rule(nth=NTH, how=st.sampled_from(("revise", "promote", "demote", "reinforce")), where=st.integers(0, 1))
    def tends(self, nth: int, how: str, where: int) -> None:
        """The user has a memory revised, promoted, demoted or reinforced."""
        held = [memory for memory in self.held(where) if memory.kind not in identity.KINDS or how in ("revise", "reinforce")]
        if not held:
            return
        memory = held[nth % len(held)]
        if how == "revise":
            memories.revise(self.store, memory.ref, f"Revised: {self.word()} it is.", f"looked up {self.word()}", self.tick())
            self.by_hand.add(memory.id)
        elif how == "reinforce":
            memories.reinforce(self.store, memory.ref, self.tick(), per_day=PER_DAY[memory.tier])
        elif how == "demote" or memory.source != "outside":
            (memories.promote if how == "promote" else memories.demote)(self.store, memory.ref, f"proved by {self.word()}", self.tick())
            self.entrusted.add(memory.ref)
        self.signed()

    @rule(nth=NTH)
    def forgets_memory(self, nth: int) -> None:
        """One memory by its id, whatever its status."""
        found = self.all_memories()
        if not found:
            return
        memory = found[nth % len(found)]
        own = set(OWN.findall(self.texts_of(memory)))
        self.forgets([memory.ref])
        stay = {word for other in self.all_memories() for word in OWN.findall(self.texts_of(other))} | set(self.words.values())
        self.gone |= own - stay

    @rule(nth=NTH)
    def forgets_turn(self, nth: int) -> None:
        """One turn by its id."""
        if not self.words:
            return
        self.forgets_turns([sorted(self.words)[nth % len(self.words)]], [])

    @rule(where=st.integers(0, 3))
    def forgets_session(self, where: int) -> None:
        """All of a session."""
        number = exchanges.session_number(self.store, f"s{where}")
        if number is None:
            return
        turns = [turn.ref for turn in exchanges.session_turns(self.store, number) if turn.ref in self.words]
        self.forgets_turns(turns, [f"s{where}"])

    @rule(nth=NTH)
    def forgets_text(self, nth: int) -> None:
        """Whatever has a word, which does not come again."""
        found = sorted({word for memory in self.all_memories() for word in OWN.findall(self.texts_of(memory))} | set(self.words.values()))
        if not found:
            return
        word = found[nth % len(found)]
        refs = forget.matching(self.store, word)
        if refs:
            self.forgets(refs, [word])
            self.named.append(word)
            self.gone.add(word)
        self.words = {ref: own for ref, own in self.words.items() if own != word}

    @rule(nth=NTH, days=st.sampled_from((1, 30, 400)))
    def fades(self, nth: int, days: int) -> None:
        """Time goes by."""
        self.mind.at += days * DAY_S
        for home in self.homes:
            fading.sweep(self.store, home, self.mind.at, PER_DAY)
            edges.sweep(self.store, home, self.mind.at)

    @rule(how=st.sampled_from((identity.freeze, identity.thaw, identity.clear)))
    def decides_identity(self, how: Callable[..., Any]) -> None:
        """The user freezes identity, or lets digests at it again, or clears it."""
        how(self.store, *(() if how is identity.thaw else (self.tick(),)))
        self.signed()

    @rule(nth=NTH, where=st.integers(0, 1), approves=st.booleans())
    def judges(self, nth: int, where: int, approves: bool) -> None:
        """The user decides on a link that waits."""
        waiting = edges.pending(self.store, self.homes[where], 9)
        if not waiting:
            return
        number = waiting[nth % len(waiting)]["edge_id"]
        self.judged[number] = "approved" if approves else "rejected"
        if approves:
            edges.approve(self.store, self.homes[where], number, self.tick(), f"well {self.word()}")
        else:
            edges.reject(self.store, self.homes[where], number, f"no {self.word()}", self.tick())

    @rule(nth=NTH)
    def skips(self, nth: int) -> None:
        """The user has digests pass over a turn."""
        if not self.words:
            return
        turn = int(sorted(self.words)[nth % len(self.words)][1:])
        self.dealt |= {turn} if exchanges.mark_consolidated(self.store, [turn], "skipped", self.tick()) else set()

    @rule()
    def reopens(self) -> None:
        """The process ends and another one goes on."""
        self.store.close()
        self.store = self.mind.store = db.open_store(self.path, create=False)

    # ------------------------------------------------------------ what holds

    @invariant()
    def everything_holds(self) -> None:
        """After each thing that happens."""
        self.nothing_points_at_nothing()
        self.indexes_and_chain_are_whole()
        self.only_what_holds_comes_to_mind()
        self.what_is_gone_is_gone()
        self.the_users_word_stands()
        self.what_was_undone_stays_undone()
        self.the_books_are_right()

    def nothing_points_at_nothing(self) -> None:
        """Every reference has something at its end, and what closed a memory is found."""
        assert [] == self.store.rows("PRAGMA foreign_key_check")
        for query in DANGLING:
            assert [] == self.store.rows(query), query
        after = dict(self.store.rows("SELECT id, successor FROM memory"))
        for row, following in after.items():
            seen = {row}
            while following is not None:
                assert following not in seen, "memories supersede one another in a circle"
                seen.add(following)
                following = after[following]
        assert not self.store.rows("SELECT id FROM memory WHERE successor IS NOT NULL AND status <> 'superseded'")

    def indexes_and_chain_are_whole(self) -> None:
        """And closed memories are in none of them."""
        assert {} == health.damaged_indexes(self.store)
        found = health.check_vectors(self.store)
        assert (0, 0, 0) == (found.stray, found.missing, found.blocks)
        chain = health.check_chain(self.store, None, 60.0)
        assert ([], []) == (chain.wrong, chain.unlinked)
        assert ([], []) == (self.store.rows(UNINDEXED), self.store.rows(EMBEDDED))

    def only_what_holds_comes_to_mind(self) -> None:
        """Live memories, turns that are there, and no word that is gone; what was recalled is journalled."""
        self.count += 1
        cue, home = f"{SAID[self.count % len(SAID)]} {self.texts[-1]}", self.homes[self.count % 2]
        found = recall(self.store, cue, scope=[home], k=9, now=self.mind.at, per_day=PER_DAY, archive=True)
        for hit in [*found.hits, *found.misses]:
            if hit.candidate.tier == "archive":
                assert exchanges.turn(self.store, hit.candidate.ref).forgotten is None
            else:
                memory = memories.get(self.store, hit.candidate.ref)
                assert ("live", True) == (memory.status, memory.repository in (None, home))
        told = [(hit.candidate.ref, hit.score, hit.parts.values()) for hit in found.hits]
        journal.record(self.store, event="tool", session="s1", repository=home, words=found.words(), hits=told, chars=0, now=self.mind.at)

    def what_is_gone_is_gone(self) -> None:
        """No word of it is in the file, and there is no log beside it."""
        assert forget.checkpoint(self.store)
        log = Path(self.path + "-wal")
        assert not log.exists() or log.stat().st_size == 0
        data = Path(self.path).read_bytes().lower()
        left = sorted(word for word in self.gone if word.encode() in data)
        assert [] == left, [forget.matching(self.store, word) for word in left]
        for table in ("memory_fts", "turn_fts"):
            assert set() == {word for word in self.gone if self.store.one(f"SELECT 1 FROM {table} WHERE {table} MATCH ?", (word,))}

    def the_users_word_stands(self) -> None:
        """Nobody else has changed it, and nothing from outside has become anything on its own."""
        assert self.mine == self.store.rows(MINE)
        assert set() == {ref for (ref,) in self.store.rows(TRUSTED)} - self.entrusted
        judged = {number: status for number, status in self.store.rows("SELECT id, status FROM edge WHERE verdict <> 'faded'") if number in self.judged}
        assert judged == {number: self.judged[number] for number in judged}
        held = [memory for memory in identity.held(self.store) if memory.writer == "digest" and memory.id not in self.by_hand]
        assert len(held) <= identity.MOST
        assert sum(len(memory.text) for memory in held) <= identity.BUDGET

    def what_was_undone_stays_undone(self) -> None:
        """Unless the user wrote it, or has revised it."""
        revised = {
            step.memory
            for one in digests.newest(self.store, 99)
            if one.state == "applied"
            for step in digests.steps(self.store, one.id)
            if step.deed == "revise"
        }
        assert [] == [row for row in self.store.rows(CAME_BACK) if row[0] not in self.by_hand | revised]
        assert [] == [row for row in self.store.rows(REVISED_BACK) if row[1] == row[2] and row[0] not in self.by_hand]

    def the_books_are_right(self) -> None:
        """What was spent is what was reported, and what was dealt with stays so."""
        assert self.reported == self.store.value(REPORTED)
        assert self.dealt <= self.consolidated()
        waiting = {turn.id for home in self.homes for turn in exchanges.pending(self.store, home, 9999)}
        assert set() == waiting & self.consolidated()
        assert pressure.measure(self.store) >= 0
        twice = {str(text) for _, text, _ in self.store.rows(TWICE)}
        assert set() == {memory.text for memory in self.all_memories() if memory.text.lower() in twice and memory.id not in self.by_hand}

    # ------------------------------------------------------------ what a model answers

    def answered(self, chance: Random, shown: Shown) -> Any:
        """An answer of any kind, some operations well formed and some not, after the user may have done something while it was thought of."""
        how = chance.choice(("well",) * 12 + ("bad", "fails", "killed"))
        wanted = [self.operation(chance, shown, number) for number in range(chance.randint(1, 9))] if how == "well" else []
        meanwhile = chance.choice(("",) * 30 + ("turn", "memory", "text", "confirm", "tend", "write", "identity"))
        if meanwhile and not self.alone:
            self.meanwhile(meanwhile, chance.randrange(100))
            self.before = self.state()
        if how == "killed":
            raise KeyboardInterrupt
        tokens = shown.size + chance.randint(1, 3000)
        if how == "fails":
            kind = chance.choice(("away", "late", "refused", "limited", "wrong", "long"))
            raise runners.Failed(kind, "it did not work", self.spoken("cut", tokens) if kind in ("refused", "late") else None)
        if how == "bad":
            return self.spoken(chance.choice(BAD).replace("LAST", shown.last), tokens)
        text = json.dumps({"operations": wanted, "read_to": shown.last})
        if chance.random() < 0.05:  # what is said to have cost nothing is no report
            return spoken(text, input_tokens=0, output_tokens=0)
        return self.spoken(f"```json\n{text}\n```" if tokens % 2 else text, tokens)

    def operation(self, chance: Random, shown: Shown, number: int) -> Any:
        """Something that a model wants done."""
        if chance.random() < 0.07:
            return self.hostile(chance.choice(HOSTILE), shown, chance.randrange(100))
        if shown.reflects:
            return self.reflection(chance, shown)
        told, known = list(shown.told), list(shown.known)
        names = [*known, *(f"n{earlier}" for earlier in range(number) if chance.random() < 0.1)]
        op = chance.choice(
            ["remember", "remember", "gist", "session"]
            + ["correct", "correct", "reinforce", "link"] * bool(known)
            + ["merge", "associate", "link"] * (len(known) > 1)
        )
        turns = chance.sample(told, min(len(told), chance.randint(1, 2)))
        words = self.quoted(shown.told, turns)
        text = f"{chance.choice(SAID)} {words} {self.word()}"
        if chance.random() < 0.25:
            text = chance.choice([*self.texts[-6:], f"It is {self.word()} and {' '.join(self.named[:1])}"])
            self.texts.append(text)
        more = {"name": f"n{number}", "reason": f"said: {words}"} if chance.random() < 0.6 else {}
        if op == "remember":
            return {"op": op, "kind": chance.choice(KINDS), "text": text, "turns": turns, "scope": chance.choice(("repository", "agent")), **more}
        if op == "correct":
            return {"op": op, "old": chance.choice(names), "text": text, "turns": turns, **more}
        if op in ("merge", "associate"):
            refs = chance.sample(known, min(len(known), chance.randint(2, 3)))
            said = " ".join(shown.known[ref] for ref in refs)
            return {"op": op, "refs": refs, **({"text": chance.choice((said, f"{said} {self.word()}", shown.known[refs[0]])), **more} if op == "merge" else {})}
        if op == "link":
            relation = chance.choice(("related_to", "supports", "refines", "contradicts"))
            ends = chance.sample(names, 2) if len(names) > 1 else names * 2
            return {"op": op, "from": ends[0], "to": ends[1], "relation": relation, "reason": f"{words} says so"}
        if op == "reinforce":
            return {"op": op, "ref": chance.choice(names), "turns": turns}
        turn = chance.choice(shown.prompts or told) if op == "gist" else turns[0]
        return {"op": op, "turn": turn, "text": f"It was about {self.quoted(shown.told, [turn])}."}

    def reflection(self, chance: Random, shown: Shown) -> dict[str, Any]:
        """What a model wants to be held of who the agent is."""
        told, known = list(shown.told), list(shown.known)
        evidence = chance.sample(told, min(len(told), chance.randint(1, 2)))
        words = self.quoted(shown.told, evidence[:1])
        text = f"i keep {words[:80]} {self.word()}" + " in mind" * chance.choice((0, 0, 15))
        if not known or chance.random() < 0.4:
            return {"op": "hold", "kind": chance.choice(identity.KINDS), "text": text, "evidence": evidence}
        if chance.random() < 0.6:
            return {"op": "revise", "ref": chance.choice(known), "text": text, "evidence": evidence, "reason": f"because of {words}"}
        return {"op": "let_go", "ref": chance.choice(known), "reason": "no more"}

    def hostile(self, wanted: Any, shown: Shown, nth: int) -> Any:
        """The operation with ids that exist in the place of its capitals."""
        every = self.all_memories()
        ids = {
            "TURN": list(shown.told), "KNOWN": list(shown.known), "OTHER": [memory.ref for memory in every if memory.ref not in shown.known],
            "CLOSED": [memory.ref for memory in every if memory.status == "superseded"], "MINE": [memory.ref for memory in every if memory.writer == "user"],
        }  # fmt: skip

        def filled(value: Any) -> Any:
            if isinstance(value, list):
                return [filled(one) for one in value]
            found = ids.get(value) if isinstance(value, str) else None
            return found[nth % len(found)] if found else value

        return {name: filled(value) for name, value in wanted.items()} if isinstance(wanted, dict) else wanted

    def meanwhile(self, what: str, nth: int) -> None:
        """Something that the user does while a model thinks."""
        if what == "turn" and self.words:
            self.forgets_turn(nth)
        elif what == "memory" and self.all_memories():
            self.forgets_memory(nth)
        elif what == "text" and self.words:
            self.forgets_text(nth)
        elif what == "confirm" and self.all_memories():
            self.confirms(nth)
        elif what == "tend" and self.held(nth % 2):
            self.tends(nth, ("revise", "promote", "demote", "reinforce")[nth % 4], nth % 2)
        elif what == "write":
            self.writes(nth, nth % 2, KINDS[nth % len(KINDS)] if nth % 3 else "identity", nth % 4 > 0)
        elif what == "identity":
            self.decides_identity((identity.freeze, identity.clear)[nth % 2])

    def spoken(self, text: str, tokens: int) -> Any:
        """An answer, whose tokens are counted here too."""
        self.reported += tokens + 7
        return spoken(text, input_tokens=tokens, output_tokens=7)

    # ------------------------------------------------------------ what is looked at

    def word(self) -> str:
        """A word that nobody has said."""
        self.count += 1
        return "".join(chr(97 + byte % 26) for byte in sha256(str(self.count).encode()).digest()[:10]) + "q"

    def tick(self) -> float:
        """The time, which is always a later one."""
        self.mind.at += 1.0
        return self.mind.at

    def hears(self, line: str) -> None:
        """A run says how far it is: what fails has changed nothing since it began, and what is done believes nobody from outside."""
        if " failed: " in line:
            assert self.before == self.state()
        elif "about" in line or "reflection on" in line:
            self.before = self.state()
        elif " done" in line:
            for step in digests.steps(self.store, int(re.findall(r"\d+", line)[0])):
                if step.deed == "remember" and step.memory is not None:
                    memory = memories.by_id(self.store, step.memory)
                    sources = {exchanges.turn(self.store, f"t{turn}").source for turn in memories.lineage(self.store, memory)}
                    assert sources - {"outside", "tool"} or not sources or ("short", True) == (memory.tier, memory.source in ("outside", "tool"))

    def state(self) -> list[Any]:
        """Everything that a digest could change, but for its own books and what plain code notices."""
        return [self.store.rows(f"SELECT {columns} FROM {table} ORDER BY 1, 2") for table, columns in STATE.items()]

    def consolidated(self) -> set[int]:
        """The turns that digests have dealt with."""
        return {int(row[0]) for row in self.store.rows("SELECT turn FROM consolidated")}

    def all_memories(self) -> list[memories.Memory]:
        """Whatever their status."""
        return [memories.by_id(self.store, row) for (row,) in self.store.rows("SELECT id FROM memory ORDER BY id")]

    def held(self, where: int) -> list[memories.Memory]:
        """The memories that hold and are seen from a repository."""
        return [memory for memory in self.all_memories() if memory.status == "live" and memory.repository in (None, self.homes[where])]

    def texts_of(self, memory: memories.Memory) -> str:
        """All that a memory says, and said."""
        earlier = memories.history(self.store, memory)
        return " ".join([memory.text, memory.reason, *(f"{one['text']} {one['replaced_because']}" for one in earlier)]).lower()

    def quoted(self, told: dict[str, str], refs: Iterable[str]) -> str:
        """The own words of what was told under these ids."""
        return " ".join(OWN.findall(" ".join(told[ref] for ref in refs)))

    def writes_as_model(self, where: int, text: str, turns: Sequence[int] = (), source: str = "assistant") -> None:
        """What a tool writes."""
        memories.write(self.store, repository=self.homes[where], tier="short", kind="fact", text=text, now=self.tick(), turns=turns, source=source)

    def signed(self) -> None:
        """What the user has written is from now on as it is."""
        self.mine = self.store.rows(MINE)

    def forgets(self, refs: Sequence[str], texts: Sequence[str] = ()) -> None:
        """Forgets as the command does."""
        for name in forget.forget(self.store, refs, "", self.tick(), texts):
            summary.write(self.store, name, "", self.mind.at)
        self.signed()

    def forgets_turns(self, turns: Sequence[str], sessions: Sequence[str]) -> None:
        """The turns' words are gone then, but for memories that came from other turns too and are told to stay."""
        staying = {line.split()[0] for line in forget.preview(self.store, [*turns, *sessions]) if "came from other turns" in line}
        self.forgets([*turns, *sessions])
        told = {memory.ref: set(OWN.findall(self.texts_of(memory))) for memory in self.all_memories()}
        for turn in turns:
            word = self.words.pop(turn)
            having = {ref for ref, words in told.items() if word in words}
            assert having <= staying
            self.gone |= set() if having else {word}


@pytest.fixture
def run(tmp_path_factory: pytest.TempPathFactory) -> Callable[[int, int], None]:
    """Lets anything happen, so often and so many things each time, each time in a store of its own."""
    template = tmp_path_factory.mktemp("template") / "tenon.db"
    db.open_store(str(template)).close()

    def made(examples: int, steps: int) -> None:
        run_state_machine_as_test(
            lambda: Minds(str(template), tmp_path_factory.mktemp("mind")),
            settings=hypothesis_settings(deadline=None, max_examples=examples, stateful_step_count=steps, suppress_health_check=list(HealthCheck)),
        )

    return made


@pytest.mark.slow
def test_whatever_happens_the_store_is_whole_and_the_users_word_stands(run: Callable[[int, int], None]) -> None:
    """What is forgotten is in no byte of the file, what is undone stays so, and a digest that fails changes nothing."""
    run(60, 20)
