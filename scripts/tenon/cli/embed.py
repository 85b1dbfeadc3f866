"""`tenon embed`: which models know what the memories mean, how far each is, and which one answers."""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass, field

from tenon.base import paths, settings
from tenon.base.errors import TenonError
from tenon.base.lean import sqlite
from tenon.cli import config, context, progress
from tenon.cli.main import reads
from tenon.store import db, notes, vectors
from tenon.world import backlog, embedding, ollama

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from tenon.base.settings import Settings
    from tenon.cli.out import Out
    from tenon.cli.progress import Shown
    from tenon.store.db import Store

HELP = """Recall looks for what a prompt means, by a small table that comes with Tenon and needs nothing else. Where Ollama runs and has an
embedding model, that one answers in its place: `model NAME` chooses it. What is stored is embedded in the background, while a session runs;
`rebuild` does it now."""
EXAMPLES = """
tenon embed                            which models there are, how far each is, and which one answers
tenon embed rebuild                    embed now what is not embedded yet; --anew: everything
tenon embed model nomic-embed-text     ask another model of Ollama's
"""
LOOK_S = 0.5
TRY_S = 120.0
WAYS = {
    "away": "start Ollama, or `tenon config embed.ollama off`",
    "foreign": "see who listens there (`ss -ltnp`), or `tenon config embed.ollama off`",
    "unknown": "tenon config embed.ollama on, if it is your Ollama that listens there",
    "slow": "see why Ollama does not answer, or `tenon config embed.ollama off`",
    "wrong": "tenon config embed.url (is that Ollama?)",
}
REFUSED = {
    "off": " (embed.ollama is off)",
    "doubt": " while the settings are in doubt",
    "elsewhere": ": {url} is another machine, and texts would go there; `tenon config embed.ollama on` agrees to that",
    "unknown": ": this system does not tell whose program listens at {url}; " + ollama.AGREE,
}


@dataclass
class Known:
    """A model that the store has vectors of: how many texts it has dealt with, and of how many."""

    name: str
    dims: int
    done: int
    total: int
    ready: bool
    builtin: bool


@dataclass
class State:
    """How it stands.

    `ollama` is there, missing (its model), away, slow, wrong, foreign (another user's), unknown (whose), off, or elsewhere
    (another machine, not agreed to).
    """

    table: str
    wanted: str
    mode: str
    url: str
    ollama: str
    said: str
    version: str = ""
    models: list[Known] = field(default_factory=list)
    answers: str = ""
    resting: str = ""
    working: bool = False

    def fields(self) -> dict[str, Any]:
        """As plain data."""
        told = {"model": self.wanted, "answers": self.answers or None, "working": self.working, "resting": self.resting or None}
        server = {"mode": self.mode, "url": self.url, "state": self.ollama, "version": self.version or None, "said": self.said or None}
        return {**told, "builtin": self.table or None, "ollama": server, "models": [dict(vars(one)) for one in self.models]}


def arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the verb's own arguments."""
    parser.add_argument(
        "what", choices=("status", "rebuild", "model"), nargs="?", default="status", metavar="status|rebuild|model", help="status when it is not said"
    )
    parser.add_argument("name", nargs="?", default="", metavar="NAME", help="with model: the one to ask from now on")
    parser.add_argument("--anew", action="store_true", help="with rebuild: embed everything again")
    reads(parser)


def run(options: argparse.Namespace, out: Out) -> int:
    """0 when it is shown, done, or chosen; 1 when Ollama was to be asked and could not; 130 when it was interrupted."""
    if options.name and options.what != "model":
        options.wrong(f"{options.what} takes no name; `tenon embed model {options.name}` chooses a model")
    if options.anew and options.what != "rebuild":
        options.wrong("--anew goes with rebuild")
    if options.what == "rebuild":
        return _rebuild(options, out)
    if options.name:
        return _choose(options, out)
    state = look(paths.store_path(context.agent(options)), settings.load(), time.time())
    if out.json:
        out.record(state.fields())
        return 0
    _print(state, out)
    return 0


def _print(state: State, out: Out) -> None:
    told = lines(state)
    out.labelled(told, max(len(label) for label, _ in told) + 2)


def look(path: str, chosen: Settings, now: float) -> State:
    """How it stands with the store at the path, which need not be there; asks Ollama, if that may be asked, for a moment."""
    from tenon.vectors.table import shared

    table = shared()
    url = chosen.text("embed.url")
    kind, said, version = _ollama(chosen)
    state = State(table.name if table else "", chosen.text("embed.model"), chosen.text("embed.ollama"), ollama.shown(url), kind, said, version)
    state.resting = embedding.resting(now)
    try:
        if db.exists(path):
            with db.open_reader(path) as store:
                _read(store, state, chosen, now)
    except (TenonError, sqlite.Error) as error:
        state.said = state.said or str(error)
    state.answers = state.answers or state.table
    return state


def _read(store: Store, state: State, chosen: Settings, now: float) -> None:
    for model in vectors.models(store):
        done, total = vectors.progress(store, model)
        state.models.append(Known(model.name, model.dims, done, total, model.ready is not None, embedding.is_builtin(model)))
    state.working = bool(notes.holder_of(store, backlog.WORK, now))
    ready = embedding.ready(store, chosen)
    if ready is not None and state.ollama == "there":
        state.answers = ready.name


def _ollama(chosen: Settings) -> tuple[str, str, str]:
    """How Ollama stands, what it said, and its version."""
    url, name = chosen.text("embed.url"), chosen.text("embed.model")
    refused = embedding.refusal(chosen)
    if refused:
        kind = "off" if refused == "doubt" else refused
        return kind, f"not asked{REFUSED[refused].format(url=ollama.shown(url))}", ""
    guarded = embedding.is_guarded(chosen)
    try:
        version = ollama.version(url, LOOK_S, guarded=guarded)
        backlog.there(url, name, guarded)
    except ollama.Unavailable as error:
        return error.kind, str(error), ""
    return "there", "", version


def lines(state: State) -> list[tuple[str, str]]:
    """The state in words."""
    second = "the built-in table" if state.table and state.answers == state.table else state.answers
    besides = f"the words, and {second}" if second else "the words alone"
    if state.resting and state.answers not in ("", state.table):
        besides += f" (resting for a minute: it was {state.resting})"
    told = [("recall uses", besides)]
    for model in sorted(state.models, key=_table_first):
        name = ("the built-in table" if model.name == state.table else "an earlier table") if model.builtin else model.name
        far = f"{model.dims:,} dimensions, {model.done:,} of {context.counted(model.total, 'text')}"
        rest = "" if model.ready or model.done >= model.total else "; the rest follows while a session runs, or with `tenon embed rebuild`"
        told.append((name, far + ("; at work" if rest and state.working else rest)))
    if not state.table:
        told.append(("built-in table", "missing or damaged: install the plugin again"))
    if state.ollama == "there":
        told.append(("Ollama", f"{state.version} at {state.url}, has {state.wanted}"))
    else:
        told.append(("Ollama", state.said + ("; it is not needed" if state.ollama in ("away", "slow") and not _is_missed(state) else "")))
    return told


def _table_first(model: Known) -> bool:
    return not model.builtin


def findings(state: State) -> list[tuple[str, str, str, str]]:
    """What doctor says of it: name, state, what was found, what mends it."""
    if not state.table:
        said = "the built-in table is missing or damaged, so recall goes by words alone"
        return [("embedding", "warn", said, "claude plugin update tenon@tenon, or install it again")]
    if _is_missed(state) and state.ollama in {*WAYS, "missing"}:
        way = f"ollama pull {state.wanted}, or `tenon embed model NAME` for another one" if state.ollama == "missing" else WAYS[state.ollama]
        return [("embedding", "warn", f"{state.said}; recall uses the built-in table", way)]
    far = [f"{'the built-in table' if one.builtin else one.name} {one.done:,} of {one.total:,}" for one in sorted(state.models, key=_table_first)]
    far.append("Ollama answers" if state.ollama == "there" else "Ollama is not used")
    return [("embedding", "ok", "; ".join(far if state.models else ["the built-in table is there", *far]), "")]


def _is_missed(state: State) -> bool:
    """Whether Ollama is wanted: the user said so, or its model answered before."""
    return state.mode == "on" or any(model.ready and not model.builtin for model in state.models)


def _rebuild(options: argparse.Namespace, out: Out) -> int:
    trouble: ollama.Unavailable | None = None
    with context.writing(options, create=False) as here:
        chosen = here.settings
        try:
            with progress.shown(out, "embedding") as tick, backlog.Worker(here.store, lambda: False, _told_by(tick)) as worker:
                if options.anew:
                    worker.anew(chosen)
                worker.built_in()
                try:
                    if embedding.may_ask(chosen):
                        worker.by_ollama(chosen)
                except ollama.Unavailable as error:
                    trouble = error
        except KeyboardInterrupt:
            out.say("Stopped; what was done is kept. `tenon embed rebuild` goes on from here.")
            return 130
        state = look(here.store.path, chosen, here.now)
    if out.json:
        out.record(state.fields())
    else:
        _print(state, out)
    wanted = trouble is not None and (_is_missed(state) or trouble.kind in ("wrong", "slow"))
    if trouble is not None and wanted:
        out.say(f"Ollama: {trouble}")
    return 1 if wanted else 0


def _told_by(tick: Shown) -> Callable[[str, int, int], None]:
    def show(model: str, done: int, total: int) -> None:
        tick.at(done, total, label=model)

    return show


def _choose(options: argparse.Namespace, out: Out) -> int:
    chosen = settings.load()
    wanted = settings.allowed("embed.model", options.name)
    if wanted:
        raise TenonError(f"a model is {wanted}")
    url = chosen.text("embed.url")
    if not embedding.may_ask(chosen):
        raise TenonError(f"Ollama is {_ollama(chosen)[1]}")
    try:
        guarded = embedding.is_guarded(chosen)
        backlog.there(url, options.name, guarded)
        ollama.kept(url, options.name, [backlog.PLAIN], TRY_S, guarded=guarded)  # has it loaded
        dims = len(backlog.judged(url, options.name, guarded)[0])
    except ollama.Unavailable as error:
        raise TenonError(f"{error}. Nothing was changed; `tenon config embed.model {options.name}` sets it all the same") from error
    config.run(argparse.Namespace(name="embed.model", value=[options.name], unset="", wrong=options.wrong), out)
    if not out.json:
        out.line(
            f"It gives {dims:,} dimensions. What is stored is embedded with it while a session runs, or now by `tenon embed rebuild`; "
            "until then recall goes on as before."
        )
    return 0
