"""Applying a consolidation: each operation is checked against the store and the batch, then done with a step that undoes it, or refused with a reason.

What the user wrote or confirmed is not touched, what they said is superseded only by what they said later, what came from
outside stays short-term, what was closed does not come back, and nothing is deleted.
"""

from __future__ import annotations

from itertools import combinations

from tenon.base.errors import TenonError
from tenon.base.text import cut, words
from tenon.digest import grounds
from tenon.digest.general import is_general
from tenon.digest.operations import GIST, KINDS, REASON, SUMMARY, TEXT
from tenon.store import associations, before, closed, digests, edges, forgotten, gists, memories, summaries
from tenon.store.wording import kept

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tenon.digest.batch import Batch
    from tenon.digest.operations import Operation
    from tenon.store.db import Store
    from tenon.store.exchanges import Turn
    from tenon.store.memories import Memory

SHARE = 0.1  # of the live memories that one run may close or change
FEW = 3  # that it may in any case
NEW_LEAST, NEW_PER = 8, 300  # new memories of one batch: so many, or one for so many tokens
SAID = 0.5  # share of a memory's content words, names doubled, that turns must have for it to count as said in them
SURELY = 0.8  # with so much said by the user it is theirs whoever repeats it; so much of a joined text must stand in the joined ones
KEPT = 0.5  # share of each joined memory's content words that the joined text must have
PROVED = 20  # memories that one answer may reinforce
TOLD = 0.5  # share of its numbers that the record must have
BY = 0.4  # what an association gains when a digest names it
REINFORCED = 1.1
ENTRUSTED = ("preference", "decision", "convention")  # kinds that become long-term when the user said them
EVERYWHERE = ("preference", "convention", "experience")  # kinds that may hold in all repositories
TRUST = ("outside", "tool", "assistant", "user")


class Refused(TenonError):
    """An operation that is not done; the sentence says why."""


class Allowance:
    """How much one run may still change and how much one batch may still write."""

    __slots__ = ("changes", "new")

    def __init__(self, live: int) -> None:
        self.changes = max(FEW, int(live * SHARE))
        self.new = 0

    def batch(self, tokens: int) -> None:
        """A new batch of so many tokens begins."""
        self.new = max(NEW_LEAST, tokens // NEW_PER)


class Applying:
    """One batch's operations being applied as the digest with that number; `written` are the turns that something was made of.

    Raises TenonError when a memory that the batch has was forgotten since.
    """

    def __init__(self, store: Store, digest: int, batch: Batch, allowance: Allowance, now: float, per_day: dict[str, float]) -> None:
        self.store = store
        self.digest = digest
        self.batch = batch
        self.allowance = allowance
        self.now = now
        self.per_day = per_day
        self.turns = batch.turns
        self.named: dict[str, Memory] = digests.as_read(store, batch.known)
        self.own: set[int] = set()  # rows that this batch wrote
        self.written: set[int] = set()
        self.done = 0
        self.refused = 0
        self.proved = 0
        self.closed = closed.Closed(store)
        self.closings: list[tuple[str, str]] = []  # of the operation that is being done
        self._said: dict[int, frozenset[str]] = {}
        self._told: set[str] | None = None

    def all(self, operations: Sequence[Operation]) -> None:
        """Does each, or notes why not; the caller's transaction holds all of it."""
        for operation in operations:
            held = dict(self.named), set(self.own), set(self.written), self.allowance.changes, self.allowance.new
            self.closings = []
            try:
                if operation.flaw:
                    raise Refused(operation.flaw)
                # What an operation had begun when it was refused is taken back with it.
                with self.store.savepoint():
                    getattr(self, "_" + operation.op)(operation)
                self.done += 1
                for old, new in self.closings:
                    self.closed.add(old, new)
            except TenonError as error:
                self.named, self.own, self.written, self.allowance.changes, self.allowance.new = held
                self.refused += 1
                digests.add_step(self.store, self.digest, "refused", note=f"{operation.op}: {_ours(error)}")

    # ------------------------------------------------------------ new memories

    def _remember(self, operation: Operation) -> None:
        turns = self._turns(operation)
        source = self._source(operation.text("text"), turns)
        kind = operation.text("kind")
        everywhere = operation.text("scope") == "agent" and source == "user" and self._is_general(kind, operation.text("text"))
        self._new(operation, turns, kind=kind, source=source, agent_wide=everywhere)

    def _correct(self, operation: Operation) -> None:
        old = self._memory(operation.text("old"))
        turns = self._turns(operation)
        source = self._source(operation.text("text"), turns)
        self._may_close(old, source, turns)
        kind = operation.text("kind") or old.kind
        new = self._new(operation, turns, kind=kind, source=source, agent_wide=old.repository is None)
        self._close(old, new)

    def _merge(self, operation: Operation) -> None:
        old = [self._memory(ref) for ref in operation.refs("refs")]
        if not 2 <= len(old) <= 5:
            raise Refused("two to five memories are merged")
        if len({memory.repository is None for memory in old}) > 1:
            raise Refused("what holds everywhere is not merged with what holds here")
        for memory in old:
            self._own_to_change(memory, len(old))
        turns = sorted({turn for memory in old for turn in memories.lineage(self.store, memory)})
        text = self._text(operation, 2 * TEXT)
        texts = [memory.text for memory in old]
        self._check_joined(text, texts)
        source = min((memory.source if memory.source in TRUST else "assistant" for memory in old), key=TRUST.index)
        tier = "long" if all(memory.tier == "long" for memory in old) else "short"
        if any(memory.source == "user" for memory in old) and not (source == "user" and closed.share(text, texts) >= 1.0):
            raise Refused("what the user said is joined only with its like, and in its own words")
        # How each was known, and no word of the model's: that could be of turns which the joined memory does not come from.
        reason = "; ".join(dict.fromkeys(memory.reason for memory in old if memory.reason))
        new = self._write(text, operation, reason, kind=old[0].kind, source=source, turns=turns, tier=tier, agent_wide=old[0].repository is None)
        for memory in old:
            if memory.id != new.id:
                self._close(memory, new)

    def _new(self, operation: Operation, turns: list[Turn], *, kind: str, source: str, agent_wide: bool) -> Memory:
        if kind not in KINDS:
            raise Refused("that kind is not for a consolidation to write")
        text = self._text(operation, TEXT)
        self._check_numbers(text)
        tier = "long" if source == "user" and kind in ENTRUSTED else "short"
        reason = operation.text("reason").strip() or ("said by the user" if source == "user" else "")
        memory = self._write(text, operation, reason, kind=kind, source=source, turns=[turn.id for turn in turns], tier=tier, agent_wide=agent_wide)
        self.written.update(turn.id for turn in turns)
        return memory

    def _write(self, text: str, operation: Operation, reason: str, *, kind: str, source: str, turns: Sequence[int], tier: str, agent_wide: bool) -> Memory:
        repository = None if agent_wide else self.batch.repository
        if agent_wide and not self._is_general(kind, text):
            raise Refused("it speaks of one project, and would be told in all")
        if self.closed.is_like(repository, text):
            raise Refused("it says what was superseded or undone")
        known = memories.same(self.store, repository, text)
        if known is None and self.allowance.new <= 0:
            raise Refused("more new memories than so few words are worth")
        reason = cut(reason, REASON)
        at = max((turn.at for turn in self.turns.values() if turn.id in turns), default=self.now)
        if known is not None:
            self._freshen(known)
            memory = known
        else:
            self.allowance.new -= 1
            ref, _ = memories.write(
                self.store, repository=repository, tier=tier if reason else "short", kind=kind, text=text, reason=reason, source=source, turns=turns,
                strength=0.5 + float(operation.fields.get("salience", 0.5)), now=min(at, self.now), writer="digest",
            )  # fmt: skip
            memory = memories.get(self.store, ref)
            self.own.add(memory.id)
            digests.add_step(self.store, self.digest, "remember", memory.id)
        self.named[memory.ref] = memory
        if operation.text("name"):
            self.named.setdefault(operation.text("name"), memory)
        return memory

    # ------------------------------------------------------------ known memories

    def _reinforce(self, operation: Operation) -> None:
        memory, turns = self._memory(operation.text("ref")), self._turns(operation)
        if memory.id in self.own:
            raise Refused("a memory is not proved by the words that it was made of")
        if self.proved >= PROVED:
            raise Refused(f"one answer reinforces {PROVED} memories at most")
        self.proved += 1
        self._freshen(memory)
        self.written.update(turn.id for turn in turns)

    def _freshen(self, memory: Memory) -> None:
        digests.add_step(self.store, self.digest, "reinforce", memory.id, undo=before.strength(memory, self.now))
        fresh = memories.reinforce(self.store, memory.ref, self.now, factor=REINFORCED, per_day=self.per_day[memory.tier])
        self.named[memory.ref] = fresh

    def _close(self, old: Memory, new: Memory) -> None:
        memories.supersede(self.store, old.ref, new.ref, self.now)
        self.allowance.changes -= 1
        digests.add_step(self.store, self.digest, "supersede", old.id, new.id)
        self.named[old.ref] = memories.by_id(self.store, old.id)
        self.closings.append((old.text, new.text))

    def _own_to_change(self, memory: Memory, changes: int = 1) -> None:
        if memory.writer == "user" or (memory.source == "user" and not memory.writer):
            raise Refused("the user wrote or confirmed it")
        if self.allowance.changes < changes:
            raise Refused("a run changes a tenth of what is known at most, and this one has")
        if memory.kind in ("episode", "procedure", "failure_signature", "identity", "relationship"):
            raise Refused(f"{memory.kind.replace('_', ' ')} is not changed by a consolidation")

    def _may_close(self, memory: Memory, source: str, turns: Sequence[Turn]) -> None:
        self._own_to_change(memory)
        if source not in TRUST[2:]:
            raise Refused("what came from outside or from a tool corrects nothing")
        if memory.source == "user" and source != "user":
            raise Refused("the user said it, and has not said otherwise")
        if max(turn.at for turn in turns) < memory.valid_from:
            raise Refused("it was said before what it would correct")

    # ------------------------------------------------------------ links and summaries

    def _link(self, operation: Operation) -> None:
        origin, target = self._memory(operation.text("from")), self._memory(operation.text("to"))
        relation = operation.text("relation")
        number, fresh = edges.propose_once(self.store, self.batch.repository, origin.ref, target.ref, relation, cut(operation.text("reason"), REASON), self.now)
        if not fresh:
            raise Refused("that link is there, or was rejected")
        if relation != "contradicts":  # that is for the user to decide
            edges.approve(self.store, self.batch.repository, number, self.now, why=edges.BY_DIGEST)
        digests.add_step(self.store, self.digest, "link", origin.id, target.id, undo={"edge": number})

    def _associate(self, operation: Operation) -> None:
        found = [self._memory(ref) for ref in operation.refs("refs")]
        if not 2 <= len(found) <= 5:
            raise Refused("two to five memories are associated")
        for one, other in combinations(sorted({memory.id for memory in found}), 2):
            was = before.association(self.store, one, other, self.now)
            associations.strengthen(self.store, [(one, other)], self.now, BY)
            digests.add_step(self.store, self.digest, "associate", one, other, undo=was)

    def _gist(self, operation: Operation) -> None:
        turn = self._turn(operation.text("turn"))
        if turn.kind != "prompt":
            raise Refused("an exchange is named by its prompt")
        gists.put(self.store, turn.id, self._text(operation, GIST), self.digest)
        digests.add_step(self.store, self.digest, "gist", undo={"turn": turn.id})
        self.written.add(turn.id)

    def _session(self, operation: Operation) -> None:
        turn = self._turn(operation.text("turn"))
        if turn.session in self.batch.outside:
            raise Refused("something from outside was read in that session")
        text = self._text(operation, SUMMARY)
        at = max(other.at for other in self.turns.values() if other.session == turn.session)
        summaries.upsert(self.store, turn.session, turn.repository, text, at, writer="digest")
        digests.add_step(self.store, self.digest, "session", undo={"session": turn.session})

    # ------------------------------------------------------------ what an operation names

    def _turn(self, ref: str) -> Turn:
        turn = self.turns.get(ref.strip())
        if turn is None:
            raise Refused("it names a turn that it was not shown")
        return turn

    def _turns(self, operation: Operation) -> list[Turn]:
        return [self._turn(ref) for ref in operation.refs("turns")]

    def _memory(self, ref: str) -> Memory:
        known = self.named.get(ref.strip())
        if known is None:
            raise Refused("it names a memory that it was not shown")
        memory = memories.by_id(self.store, known.id)  # an earlier operation may have strengthened or closed it, by another name
        if memory.repository is not None and memory.repository not in self.batch.scope:
            raise Refused("it names a memory of another repository")
        if memory.status == "superseded":
            raise Refused("the memory was superseded")
        return memory

    def _source(self, text: str, turns: Sequence[Turn]) -> str:
        """Who stands behind it: the user where their own words have it and nothing from outside has more of it, else the least trusted of the turns.

        What the turns do not say is as little trusted as anything in the batch.
        """
        said = [turn for turn in turns if self.batch.source(turn) == "user"]
        own = grounds.share(text, self._words(said))
        read = [closed.content(memory.text) for memory in self.batch.known if memory.source == "outside"]
        foreign = [self._words([turn]) for turn in self.turns.values() if self.batch.source(turn) == "outside"]
        if own >= SAID:
            nearest = max((grounds.share(text, words) for words in (*read, *foreign)), default=0.0)
            turned = nearest >= SAID and grounds.denies(text) != any(grounds.denies(turn.text()) for turn in said)
            return "outside" if turned or (nearest > own and own < SURELY) else "user"
        grounded = grounds.share(text, self._words(turns))
        if any(grounds.share(text, words) >= max(SURELY, grounded) for words in read):
            return "outside"  # the assistant may have said it because it had been told so
        least = self._least(turns if grounded >= SAID else self.turns.values())
        return "assistant" if least == "user" else least

    def _words(self, turns: Iterable[Turn]) -> frozenset[str]:
        """The content words of the turns."""
        found: frozenset[str] = frozenset()
        for turn in turns:
            if turn.id not in self._said:
                self._said[turn.id] = closed.content(turn.text())
            found |= self._said[turn.id]
        return found

    def _least(self, turns: Iterable[Turn]) -> str:
        return min((self.batch.source(turn) for turn in turns), key=lambda source: TRUST.index(source) if source in TRUST else 0)

    def _is_general(self, kind: str, text: str) -> bool:
        return kind in EVERYWHERE and is_general(self.store, text)

    def _text(self, operation: Operation, most: int) -> str:
        text = kept(operation.text("text"), "text", most, store=self.store)
        if not grounds.is_worded(text) or forgotten.says_nothing(text):
            raise Refused("there is no word in it")
        return text

    def _check_joined(self, text: str, texts: Sequence[str]) -> None:
        """That a joined text says what the joined ones say, nothing besides, and nothing that one of them denies."""
        denied = grounds.denials(text)
        if (
            closed.share(text, texts) < SURELY
            or grounds.strange(text, texts)
            or any(closed.share(old, [text]) < KEPT for old in texts)
            or bool(denied) != any(map(grounds.denials, texts))
            or denied > sum(map(grounds.denials, texts))
        ):
            raise Refused("the joined text does not say what the memories say")

    def _check_numbers(self, text: str) -> None:
        if self._told is None:
            self._told = {word for line in (*self.batch.lines, *self.batch.known_lines) for word in words(line)}
        numbers = [word for word in words(text) if not word.isalpha()]
        if numbers and sum(word in self._told for word in numbers) < TOLD * len(numbers):
            raise Refused("it has numbers or names that nobody said")


def _ours(error: TenonError) -> str:
    """The refusal without a word of the model's: sentences of the store quote what they refuse."""
    return str(error) if isinstance(error, Refused) else "the store does not take it (superseded, forgotten, empty, too long or unknown)"
