"""One run of the digest: batch by batch a model is asked, its answer applied whole or not at all, and its tokens counted against the day's cap.

One process at a time does it, by a claim in the store. Whatever goes wrong with an answer, nothing of what was read counts as
dealt with: it is asked once more, then the run leaves that repository, and batches get smaller until one succeeds.
"""

from __future__ import annotations

import json
import os
import time

from tenon.base.errors import TenonError
from tenon.base.text import tokens
from tenon.digest import associating, batch, operations, prompts, reflecting
from tenon.digest.applying import Allowance, Applying
from tenon.digest.due import OUTPUT, WORK
from tenon.store import digests, exchanges, figures, identity, notes, pressure, spending
from tenon.world import processes, runners

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from tenon.base.settings import Settings
    from tenon.digest.batch import Batch
    from tenon.digest.operations import Operation
    from tenon.store.db import Store

    Ask = Callable[..., runners.Answer]

LEASE_S = 1800.0
TIMEOUT_S = 600.0
BATCH = 60_000  # tokens of what was said, in one request at most
LEAST = 1500  # and at least, however often a larger one failed
MARGIN = 1.6  # an estimate of tokens may be too low by so much: code, and newer tokenizers
PLAUSIBLE = 0.2  # of what was sent, by the estimate: an answer that says it took less says nothing that can be counted on
FRAME = 2500  # tokens of the instructions and of the frame
ATTEMPTS = 2
IN_A_ROW = 3  # digests that failed in the same way, after which a run ends
LOST = "the process ended before it was done"
INTERRUPTED = "it was interrupted"
CHARGED = ("late", "wrong")  # failures after which tokens may have been taken though none were reported


class Busy(TenonError):
    """Another process is digesting."""


class Report:
    """What a run did: batches applied and failed, requests made, what ended it early (`why`), and how many memories it wrote and closed.

    `given_up`: it ended because its digests failed in the same way, one after the other.
    """

    __slots__ = ("applied", "failed", "requests", "why", "written", "closed", "refused", "numbers", "given_up")

    def __init__(self) -> None:
        self.applied = self.failed = self.requests = self.written = self.closed = self.refused = 0
        self.why = ""
        self.given_up = False
        self.numbers: list[int] = []


class Ended(TenonError):
    """The run ends: the cap is reached, or the runner cannot be asked now."""


class Run:
    """One run by one runner. `since`: only what was said from then on; `cap`: tokens a day; `told` gets a line for each step."""

    def __init__(
        self, store: Store, chosen: Settings, *, runner: str = "", model: str = "", cap: int | None = None, since: float = 0.0,
        told: Callable[[str], object] = str, clock: Callable[[], float] = time.time, ask: Ask | None = None,
    ) -> None:  # fmt: skip
        self.store = store
        self.chosen = chosen
        self.runner = runner or chosen.text("digest.runner")
        self.model = model or model_of(chosen, self.runner)
        self.cap = int(chosen.number("digest.daily_tokens")) if cap is None else cap
        self.since = since
        self.told = told
        self.clock = clock
        self.ask = ask or runners.ask
        self.report = Report()
        self._streak = ("", 0)
        self._name = f"{os.getpid()}-{os.urandom(4).hex()}"
        self._file = _identity(store.path)

    def __enter__(self) -> Run:
        self._claim()
        digests.clear(self.store, LOST, self.clock())
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is not None:
            digests.clear(self.store, INTERRUPTED, self.clock())
        notes.release(self.store, WORK, self._name)

    def all(self, repository: int | None = None) -> Report:
        """Consolidates what waits (in all repositories, or in one), then reflects on what is new."""
        try:
            for number, _, _ in exchanges.waiting(self.store):
                if repository is None or number == repository:
                    self._consolidate(number)
            if not self.report.failed:
                self._reflect()
        except Ended as error:
            self.report.why = str(error)
        associating.catch_up(self.store, self.clock())
        pressure.measure(self.store)
        return self.report

    # ------------------------------------------------------------ consolidation

    def _consolidate(self, repository: int) -> None:
        known = figures.count(self.store, repository)
        allowance = Allowance(known.short + known.long)
        room = self._room(digests.failures(self.store, "consolidation", repository))
        while (found := batch.compose(self.store, repository, min(room, self._affordable()), self.since)) is not None:
            try:
                if not self._batch(found, allowance):
                    return
            except _TooLong:
                if room <= LEAST:
                    return
                room = max(LEAST, room // 2)

    def _batch(self, found: Batch, allowance: Allowance) -> bool:
        """Whether the batch was applied."""
        question = _question(prompts.CONSOLIDATION, found.prompt, operations.CONSOLIDATION, self._output())
        number = self._begin("consolidation", found.repository, question, found)
        self.told(f"digest {number}: {len(found.parts)} turn{'s' if len(found.parts) != 1 else ''}, about {found.tokens:,} tokens")
        allowance.batch(found.tokens)
        read = self._asked(number, "consolidation", question, operations.CONSOLIDATION, found.last)
        if read is None:
            return False
        now = self.clock()
        held = allowance.changes
        try:
            with self.store.transaction():
                self._check_claim()
                for turn in found.turns.values():
                    if exchanges.turn(self.store, turn.ref).forgotten is not None:
                        raise TenonError("something that it read was forgotten meanwhile")
                    if exchanges.is_dealt_with(self.store, turn.id):
                        raise TenonError("something that it read was dealt with meanwhile")
                applying = Applying(self.store, number, found, allowance, now, self.chosen.per_day())
                applying.all(read)
                _check(applying.done, applying.refused)
                self._mark(number, found, applying.written, now)
                digests.end(self.store, number, "applied", now)
        except TenonError as error:
            allowance.changes = held
            return self._failed(number, str(error))
        self._applied(number, applying.done, applying.refused)
        return True

    def _mark(self, number: int, found: Batch, written: set[int], now: float) -> None:
        whole = [part.turn.id for part in found.parts if part.whole]
        exchanges.mark_consolidated(self.store, [turn for turn in whole if turn in written], "written", now)
        exchanges.mark_consolidated(self.store, [turn for turn in whole if turn not in written], "skipped", now)
        for part in found.parts:
            if not part.whole:
                exchanges.set_read_to(self.store, part.turn.id, part.last)
        parts = {str(part.turn.id): [part.first, part.last] for part in found.parts if part.first or not part.whole}
        digests.add_step(self.store, number, "read", undo={"turns": whole, **({"parts": parts} if parts else {})})

    # ------------------------------------------------------------ reflection

    def _reflect(self) -> None:
        last = digests.last(self.store, "reflection", "applied")
        if identity.is_frozen(self.store):
            return
        found = reflecting.look(self.store, last.at if last else 0.0)
        if found is None:
            return
        question = _question(prompts.REFLECTION, found.prompt, operations.REFLECTION, self._output() // 4)
        number = self._begin("reflection", None, question)
        self.told(f"digest {number}: reflection on {len(found.read)} memor{'ies' if len(found.read) != 1 else 'y'}")
        try:
            read = self._asked(number, "reflection", question, operations.REFLECTION, found.last)
        except _TooLong:
            return
        if read is None:
            return
        now = self.clock()
        try:
            with self.store.transaction():
                self._check_claim()
                applying = reflecting.Reflecting(self.store, number, found, now)
                applying.all(read)
                _check(applying.done, applying.refused)
                digests.end(self.store, number, "applied", now)
        except TenonError as error:
            self._failed(number, str(error))
            return
        self._applied(number, applying.done, applying.refused)

    # ------------------------------------------------------------ asking

    def _asked(self, number: int, purpose: str, question: runners.Question, allowed: operations.Allowed, last: str) -> list[Operation] | None:
        """The operations that the model answered, or None when the digest has failed. Raises Ended, or _TooLong for a smaller batch."""
        why = ""
        for attempt in range(ATTEMPTS):
            self._claim()
            if attempt:
                question.prompt += prompts.RETRY
            try:
                answer = self._charged(number, purpose, question)
            except runners.Failed as error:
                why = str(error)
                self._failed(number, why, "" if error.kind == "long" else "request")
                if error.kind == "long":
                    raise _TooLong(why) from error
                if error.kind == "refused":  # of these words, or of so many of them
                    return None
                raise Ended(why) from error
            try:
                return operations.read(answer.text, allowed, last)
            except operations.Unfit as error:
                why = str(error)
        self._failed(number, why)
        return None

    def _charged(self, number: int, purpose: str, question: runners.Question) -> runners.Answer:
        """The answer, with what it took written down. Raises Failed, and Ended when the cap does not allow the request."""

        def ask() -> runners.Answer:
            self.report.requests += 1
            answer = self.ask(self.runner, self.model, question, self.chosen, timeout_s=TIMEOUT_S)
            self.report.requests += answer.requests - 1  # an API that does not take all of the first is asked again
            return answer

        answer = charged(
            self.store, question, ask, purpose=purpose, runner=self.runner, model=self.model, cap=self.cap, now=self.clock(), digest=number
        )  # fmt: skip
        if answer is None:
            if spending.of_digest(self.store, number).requests:  # its first request was made, and has cost something
                self._failed(number, capped(self.cap))
            else:
                digests.drop(self.store, number)
            raise Ended(capped(self.cap))
        return answer

    def _begin(self, phase: str, repository: int | None, question: runners.Question, found: Batch | None = None) -> int:
        if spending.counted(self.store, self.clock()) + cost(question) > self.cap:
            raise Ended(capped(self.cap))
        parts = found.parts if found else []
        return digests.begin(
            self.store, phase=phase, repository=repository, runner=self.runner, model=self.model, now=self.clock(), turns=len(parts),
            tokens=found.tokens if found else 0, first=parts[0].turn.id if parts else None,
        )  # fmt: skip

    def _failed(self, number: int, why: str, kind: str = "answer") -> bool:
        """False, when the digest is noted as failed. Raises Ended where as many in a row failed in the same way: by a request, or by its answer («»: neither)."""
        digests.end(self.store, number, "failed", self.clock(), why)
        self.report.failed += 1
        self.report.numbers.append(number)
        self.report.why = why
        self.told(f"digest {number} failed: {why}")
        self._streak = (kind, self._streak[1] + 1 if kind == self._streak[0] else 1)
        if kind and self._streak[1] >= IN_A_ROW:
            self.report.given_up = True
            raise Ended(f"{IN_A_ROW} digests in a row failed by {'their requests' if kind == 'request' else 'what the model answered'} (the last one: {why})")
        return False

    def _applied(self, number: int, done: int, refused: int) -> None:
        counts = digests.counts(self.store, number)
        self._streak = ("", 0)
        self.report.applied += 1
        self.report.numbers.append(number)
        self.report.written += counts.get("remember", 0) + counts.get("hold", 0)
        self.report.closed += counts.get("supersede", 0) + counts.get("let go", 0)
        self.report.refused += refused
        self.told(f"digest {number}: {done} operation{'s' if done != 1 else ''} done" + (f", {refused} refused" if refused else ""))

    def _room(self, failures: int) -> int:
        window = runners.window(self.runner, self.model, self.chosen)
        most = min(BATCH, int((window - self._output() - FRAME) / MARGIN / (1 + batch.KNOWN_SHARE)))
        return max(LEAST, most >> min(failures, 5))

    def _output(self) -> int:
        return min(OUTPUT, runners.window(self.runner, self.model, self.chosen) // 5)

    def _affordable(self) -> int:
        """The tokens of what was said that the rest of the day's cap allows to be read in one request. Raises Ended when it is too little."""
        left = self.cap - spending.counted(self.store, self.clock()) - self._output()
        room = int((left / MARGIN - FRAME) / (1 + batch.KNOWN_SHARE))
        if room < LEAST:
            raise Ended(capped(self.cap))
        return room

    def _claim(self) -> None:
        """Takes or renews the claim. Raises Busy when it is another's, and Ended when the store is not there any more."""
        if _identity(self.store.path) != self._file:
            raise Ended("the memory was removed or replaced meanwhile")
        now = self.clock()
        if notes.take(self.store, WORK, self._name, now, LEASE_S):
            return
        holder = notes.holder_of(self.store, WORK, now)
        pid = holder.partition("-")[0]
        if pid.isdecimal() and processes.is_gone(int(pid)):  # it was killed and could not let go
            notes.release(self.store, WORK, holder)
            if notes.take(self.store, WORK, self._name, now, LEASE_S):
                return
        raise Busy("another process is digesting; `tenon digest log` shows how far it is")

    def _check_claim(self) -> None:
        """Raises TenonError when another process has taken over while this one waited."""
        if notes.holder_of(self.store, WORK, self.clock()) not in ("", self._name):
            raise TenonError("another process has taken over meanwhile")


class _TooLong(TenonError):
    """The request was longer than the model's window."""


def charged(
    store: Store, question: runners.Question, ask: Callable[[], runners.Answer], *, purpose: str, runner: str, model: str, cap: int, now: float,
    digest: int | None = None,
) -> runners.Answer | None:  # fmt: skip
    """The answer, with what it took counted against the day's cap; None when that does not allow the request. Raises Failed."""
    row = spending.reserve(store, purpose=purpose, runner=runner, model=model, tokens=cost(question), cap=cap, now=now, digest=digest)
    if row is None:
        return None
    try:
        answer = ask()
    except runners.Failed as error:
        if error.answer is not None:
            _report(store, row, error.answer)
        elif error.kind not in CHARGED:
            spending.release(store, row)
        raise
    # One that says it took next to nothing is not believed: what was reserved goes on counting.
    if answer.input_tokens + answer.written + answer.read >= PLAUSIBLE * _sent(question) and answer.output_tokens > 0:
        _report(store, row, answer)
    return answer


def model_of(chosen: Settings, runner: str) -> str:
    """The model that the settings name for a runner."""
    return chosen.text("digest.ollama_model" if runner == "ollama" else "digest.model")


def cost(question: runners.Question) -> int:
    """The tokens that a request may take at most, as far as one can tell before."""
    return int((_sent(question) + tokens(json.dumps(question.schema))) * MARGIN) + question.most_output


def _sent(question: runners.Question) -> int:
    return tokens(question.system) + tokens(question.prompt)


def _identity(path: str) -> tuple[int, int]:
    """Which file that is, (0, 0) when there is none."""
    try:
        found = os.stat(path)
    except OSError:
        return 0, 0
    return found.st_dev, found.st_ino


def capped(cap: int) -> str:
    """Why nothing more is asked today."""
    return f"what is left of the day's cap of {cap:,} tokens (digest.daily_tokens) is too little for another request; it goes on as 24 hours pass, or now with `tenon digest --beyond-cap`"


def _check(done: int, refused: int) -> None:
    """Raises TenonError for an answer that is mostly wrong: then none of it is trusted."""
    if refused and refused > done and refused > 2:
        raise TenonError(f"{refused} of the model's {done + refused} operations were refused, so none was done")


def _question(system: str, prompt: str, allowed: operations.Allowed, most: int) -> runners.Question:
    return runners.Question(system, prompt, operations.schema(allowed), most)


def _report(store: Store, row: int, answer: runners.Answer) -> None:
    spending.report(
        store, row, model=answer.model, input_tokens=answer.input_tokens, output_tokens=answer.output_tokens, written=answer.written, read=answer.read,
        dollars=answer.dollars,
    )  # fmt: skip
