"""What is still to be embedded, worked off in the background: by the built-in table after an upgrade, and by Ollama's model when that is there.

A few texts at a time: they are embedded while nothing is locked, and written in one short transaction, each only if its text
is still the same. So it may end at any point and goes on there; a claim in the store keeps it to one process.
"""

from __future__ import annotations

import math
import os
import time

from tenon.base import paths, settings
from tenon.base.errors import TenonError
from tenon.base.lean import sqlite
from tenon.store import db, notes, vectors
from tenon.vectors import codes
from tenon.vectors.table import shared
from tenon.world import embedding, ollama

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tenon.base.settings import Settings
    from tenon.store.db import Store
    from tenon.store.vectors import Model

    Progress = Callable[[str, int, int], object]  # the model, how many texts it has dealt with, and of how many

WORK = "embedding"
DIGEST = "embedded with "  # and the model's name: the digest of the file that its vectors are of
BATCH = 16
BY_TABLE = 64
LEASE_S = 180.0
POLL_S = 60.0
LOOK_S = 0.3
BATCH_S = 90.0  # the first one may have to wait until the model is loaded
BUSY_S = 5.0
PLAIN = "-"
LEAST_DIMS = 32  # fewer cannot tell many texts apart
LEAST_SPREAD, MOST_CHANCE = 0.01, 0.98  # of the cosines of sentences that have nothing in common; beyond, a model takes all for the same
# What a model makes of ordinary sentences of this trade tells its vectors' middle, by which their signs are taken, and how near to each
# other sentences are that have nothing to do with each other.
SAMPLE = (
    "The build fails on the second machine only.", "Let us keep the old column until the migration is done.", "Which port does the gateway listen on?",
    "I prefer tabs in this repository.", "The cache is cleared every night at three.", "def parse(text: str) -> list[str]:", "Tests pass locally, but not in CI.",
    "Please rename the function and its callers.", "TypeError: cannot read properties of undefined", "We decided against a queue; a table is enough.",
    "git rebase --onto main feature~3 feature", "The customer wants the report as a PDF.", "select name from users where active = 1", "It was slow because of a missing index.",
    "Use the staging key, never the one of production.", "Thank you, that works.", "The meeting was moved to Tuesday.", "How do I run a single test?",
    "The docker image is built by the release workflow.", "Memory grows until the process is killed.", "Add a flag that turns the colours off.", "Her review asked for smaller commits.",
    "The date is parsed in local time, which is wrong.", "import { useState } from 'react'", "Deploys happen from main after the checks.", "The licence of that library does not fit.",
    "Nobody remembers why this timeout is forty seconds.", "Write the changelog for users, not for us.", "The API returns 429 when there are too many requests.", "Colours and fonts follow the style guide.",
    "cargo test --workspace", "The old server is switched off next month.",
)  # fmt: skip


class Busy(TenonError):
    """Another process is at it, or has taken it over."""


class Worker:
    """One process at the work of one store. `stopped` is asked between two batches, `progress` told after each."""

    def __init__(self, store: Store, stopped: Callable[[], bool], progress: Progress | None = None, clock: Callable[[], float] = time.time) -> None:
        self.store = store
        self.stopped = stopped
        self.clock = clock
        self._progress = progress
        self._name = f"{os.getpid()}-{os.urandom(4).hex()}"
        self._done: dict[str, list[int]] = {}

    def __enter__(self) -> Worker:
        self.claim()
        return self

    def __exit__(self, *_: object) -> None:
        try:
            notes.release(self.store, WORK, self._name)
        except sqlite.Error:
            pass  # it runs out by itself

    def claim(self) -> None:
        """Takes or renews the claim. Raises Busy when it is another's."""
        if not notes.take(self.store, WORK, self._name, self.clock(), LEASE_S):
            raise Busy("another process is embedding; `tenon embed status` shows how far it is")

    def built_in(self) -> None:
        """Embeds what the built-in table has not embedded yet."""
        table = shared()
        model = vectors.builtin(self.store)
        silent: set[tuple[int, int]] = set()  # what says nothing to the table
        while table is not None and model is not None and not self.stopped():
            with self.store.transaction():
                self.claim()
                found = [item for item in vectors.missing(self.store, model, BY_TABLE + len(silent)) if item[:2] not in silent]
                try:
                    units = [table.embed(item[3]) for item in found]
                except OSError:  # an update has put another table in its place: the next process works it off
                    return
                silent.update(item[:2] for item, unit in zip(found, units) if unit is None)
                self._write(model, list(zip(found, units)))
            if not found:
                return
            self._told(model, len(found))

    def by_ollama(self, chosen: Settings) -> None:
        """Embeds what the chosen model of Ollama's has not embedded yet, and lets go of the one before it when that is done.

        Raises Unavailable when Ollama or the model is not there or answers wrongly.
        """
        url, name, guarded = chosen.text("embed.url"), chosen.text("embed.model"), embedding.is_guarded(chosen)
        model = self._model(url, name, there(url, name, guarded), guarded)
        while not self.stopped():
            found = vectors.missing(self.store, model, BATCH)
            if not found:
                self._finish(model)
                return
            units = _units(url, name, [embedding.sendable(item[3], url) for item in found], model, guarded)
            if units is None:
                notes.note(self.store, DIGEST + model.name, "")  # so that it is begun anew
                raise ollama.Unavailable("wrong", f"{name} gives vectors of another size than before; they are made anew")
            with self.store.transaction():
                self.claim()
                still = set(vectors.missing(self.store, model, BATCH))
                same = [(item, unit) for item, unit in zip(found, units) if item in still]
                self._write(model, same)
            self._told(model, len(same))

    def anew(self, chosen: Settings) -> None:
        """Lets go of the built-in table's vectors, and has those of Ollama's model made again when it is asked next."""
        with self.store.transaction():
            self.claim()
            model = vectors.builtin(self.store)
            if model is not None:
                vectors.remove(self.store, model)
            notes.note(self.store, DIGEST + embedding.full(chosen.text("embed.model")), "anew")

    def _write(self, model: Model, items: Sequence[tuple[tuple[int, int, int | None, str], list[int] | None]]) -> None:
        for kind in (vectors.MEMORY, vectors.PASSAGE):
            own = [(item[1], item[2], unit) for item, unit in items if item[0] == kind]
            vectors.put(self.store, model, kind, [(row, repository, unit) for row, repository, unit in own if unit is not None])
            for at, (row, _, unit) in enumerate(own):
                if unit is None or at == len(own) - 1:
                    vectors.passed(self.store, model, kind, row)

    def _model(self, url: str, name: str, digest: str, guarded: bool) -> Model:
        """The model's row in the store; a new one for a new model, and for a name that stands for another file than before."""
        own = embedding.full(name)
        known = vectors.named(self.store, own)
        if known is not None and notes.value(self.store, DIGEST + own) == digest:
            return known
        if known is not None:  # a question's vector has nothing to do with these any more
            with self.store.transaction():
                self.claim()
                vectors.remove(self.store, known)
        mean, chance, spread = judged(url, name, guarded)
        with self.store.transaction():
            self.claim()
            notes.note(self.store, DIGEST + own, digest)
            return vectors.choose(self.store, own, len(mean), mean, chance, spread)

    def _finish(self, model: Model) -> None:
        """Moves the watermarks past everything, so that the next look is a short one, and lets go of the models that Ollama was asked for before."""
        for kind in (vectors.MEMORY, vectors.PASSAGE):
            vectors.passed(self.store, model, kind, vectors.END - 1)
        now = vectors.named(self.store, model.name)
        for other in vectors.models(self.store) if now is not None and now.ready is not None else ():
            if other.id != model.id and not embedding.is_builtin(other):
                with self.store.transaction():
                    self.claim()
                    vectors.remove(self.store, other)

    def _told(self, model: Model, count: int) -> None:
        if self._progress is None:
            return
        if model.name not in self._done:  # counted once: it looks at every row
            done, total = vectors.progress(self.store, model)
            self._done[model.name] = [done - count, total]
        so_far = self._done[model.name]
        so_far[0] += count
        self._progress(model.name, min(so_far), so_far[1])


def judged(url: str, name: str, guarded: bool) -> tuple[list[int], float, float]:
    """The mean of a model's unit vectors, and the mean and the spread of its cosines between a question and unrelated texts, all by SAMPLE.

    Raises Unavailable for a model that cannot tell texts apart.
    """
    found = [vector for at in range(0, len(SAMPLE), BATCH) for vector in ollama.kept(url, name, SAMPLE[at : at + BATCH], BATCH_S, guarded=guarded)]
    other = ollama.asked(url, name, SAMPLE[:BATCH], BATCH_S, guarded=guarded) if ollama.tells_apart(name) else found
    kept, asked = ([unit for unit in map(codes.unit, given) if unit] for given in (found, other))
    if (len(kept), len(asked)) != (len(found), len(other)) or len({len(unit) for unit in (*kept, *asked)}) != 1:
        raise ollama.Unavailable("wrong", f"{name} gives no vectors that can be compared")
    if len(kept[0]) < LEAST_DIMS:
        raise ollama.Unavailable("wrong", f"{name} gives vectors of {len(kept[0])} dimensions, which are too few; {LEAST_DIMS} are the least")
    chance, spread = unrelated(asked, kept)
    for middle, width in ((chance, spread), unrelated(kept, kept)):
        if width < LEAST_SPREAD or middle > MOST_CHANCE:
            raise ollama.Unavailable("wrong", f"{name} gives nearly the same vector for sentences that have nothing in common, so it is not used")
    return [sum(values) // len(kept) for values in zip(*kept)], chance, spread


def unrelated(asked: Sequence[list[int]], kept: Sequence[list[int]]) -> tuple[float, float]:
    """The mean and the standard deviation of the cosines of each with each, but with the one in the same place: that is the same sentence."""
    packed = [codes.pack(unit) for unit in kept]
    cosines = [cosine for at, unit in enumerate(asked) for place, cosine in enumerate(codes.cosines(unit, packed)) if place != at]
    mean = sum(cosines) / len(cosines)
    return mean, math.sqrt(sum((cosine - mean) ** 2 for cosine in cosines) / len(cosines))


def there(url: str, name: str, guarded: bool) -> str:
    """The digest of the model that Ollama has by that name. Raises Unavailable."""
    listed = {key.lower(): digest for key, digest in ollama.models(url, LOOK_S, guarded=guarded).items()}
    digest = listed.get(embedding.full(name).lower())
    if digest is None:
        raise ollama.Unavailable("missing", f"Ollama at {ollama.shown(url)} does not have {name}; `ollama pull {name}` brings it")
    return digest


def once(stopped: Callable[[], bool], clock: Callable[[], float] = time.time) -> None:
    """Works off what there is for the agent of this process, if nobody else does. Quiet where Ollama is not there, which it need not be."""
    chosen = settings.load()
    path = paths.store_path(paths.agent_name(chosen.text("agent")))
    if os.environ.get("TENON_DISABLE") or not db.exists(path):
        return

    def changed() -> bool:
        return stopped() or settings.load().values != chosen.values

    with db.open_store(path, create=False, busy_s=BUSY_S) as store:
        try:
            with Worker(store, changed, clock=clock) as worker:
                worker.built_in()
                if embedding.may_ask(chosen):
                    worker.by_ollama(chosen)
                    _waken(store, chosen, clock())
        except Busy:
            return
        except ollama.Unavailable as error:
            if error.kind == "wrong" and (chosen.text("embed.ollama") == "on" or embedding.ready(store, chosen) is not None):
                raise
        except sqlite.OperationalError as error:
            if not any(word in str(error) for word in db.BUSY):
                raise


def _waken(store: Store, chosen: Settings, now: float) -> None:
    """Has the model loaded when a question came too early for it; while it is too slow for questions, spares them the wait."""
    model = embedding.ready(store, chosen)
    if not embedding.resting(now) or model is None:
        return
    url, guarded = chosen.text("embed.url"), embedding.is_guarded(chosen)
    ollama.query(url, model.name, PLAIN, BATCH_S, guarded=guarded)
    try:
        ollama.query(url, model.name, SAMPLE[0], embedding.QUERY_S, guarded=guarded)
    except ollama.Unavailable as error:
        embedding.rest(error.kind, now)
    else:
        embedding.rested()


def _units(url: str, name: str, texts: Sequence[str], model: Model, guarded: bool) -> list[list[int]] | None:
    """The unit vectors of the texts; None when they are of another size than the model's.

    A text that the model cannot take, while it takes another one, gets the vector of an empty one, so that it stops nothing.
    """
    try:
        found = ollama.kept(url, name, texts, BATCH_S, guarded=guarded)
    except ollama.Unavailable as error:
        if error.kind != "wrong":
            raise
        plain = ollama.kept(url, name, [PLAIN], BATCH_S, guarded=guarded)[0]
        found = [_one(url, name, text, guarded) or plain for text in texts]
    if {len(vector) for vector in found} != {model.dims}:
        return None
    units = [codes.unit(vector) for vector in found]
    if None in units:
        empty = codes.unit(ollama.kept(url, name, [PLAIN], BATCH_S, guarded=guarded)[0])
        if empty is None or len(empty) != model.dims:
            raise ollama.Unavailable("wrong", f"{name} gives vectors of length 0")
        return [unit or empty for unit in units]
    return [unit for unit in units if unit is not None]


def _one(url: str, name: str, text: str, guarded: bool) -> list[float] | None:
    try:
        return ollama.kept(url, name, [text], BATCH_S, guarded=guarded)[0]
    except ollama.Unavailable as error:
        if error.kind != "wrong":
            raise
        return None
