"""`tenon digest`: makes memories of what was said by a model, now or in the background, and shows, explains and undoes what it did."""

from __future__ import annotations

import argparse
import os

from tenon.base import faults, settings
from tenon.base.errors import TenonError
from tenon.base.lean import sqlite
from tenon.cli import config, context, digests
from tenon.cli.main import reads
from tenon.digest import due, prices, session
from tenon.store import exchanges, places, pressure, spending
from tenon.world import agreed, digesting, runners

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from tenon.base.settings import Settings
    from tenon.cli.context import Context
    from tenon.cli.out import Out

HELP = """A model reads what was said and is no memory yet, and answers with facts, decisions, corrections, links and summaries; then it
reflects on who the agent is to you. Each of its operations is checked and can be undone; it deletes nothing and touches nothing that you
wrote. Nothing runs in the background until you say `auto on`, and all requests of a day stay under digest.daily_tokens."""
EXAMPLES = """
tenon digest                    digest what waits, now
tenon digest --dry-run          how much waits and what it would cost
tenon digest auto on            in the background from now on; says the cost first
tenon digest log                the last digests; `show 7` says what one did, `undo 7` takes it back
tenon digest skip t1234         have digests pass over a turn
"""
WHAT = ("run", "auto", "log", "show", "undo", "skip")
MEANS = """Turned on, Tenon asks a model by itself, through {way}, when a session has ended or much was said (pressure {high:.0%}); less than {least:,} tokens wait for more.
- What it reads: what you and the agent said, secrets removed, and a line for each tool call. {where}
- What it costs: at most {cap:,} tokens a day, read and written together{dollars}. {plan}
- The cap is digest.daily_tokens; what was spent is in `tenon status`. `tenon digest auto off` ends it, `tenon digest undo N` takes a digest back."""
PLAN = {
    "claude": "With an API key you pay for it, with a subscription it counts against your plan's limits.",
    "api": "It is charged to the key in ANTHROPIC_API_KEY.",
    "ollama": "It costs time of your machine alone.",
}
WHERE = {
    "claude": "It goes where Claude Code sends everything.",
    "api": "It goes to the Messages API.",
    "ollama": "It stays with your Ollama.",
}
WAY = {"claude": "Claude Code (`claude -p`, model {model})", "api": "the Messages API (model {model})", "ollama": "your Ollama (model {model})"}


def arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the verb's own arguments."""
    parser.add_argument("what", choices=WHAT, nargs="?", default="run", metavar="run|auto|log|show|undo|skip", help="run when it is not said")
    parser.add_argument("rest", nargs="*", metavar="…", help="on or off, a digest's number, turns (t1234)")
    parser.add_argument("--dry-run", action="store_true", help="show what waits and what it would cost, change nothing")
    parser.add_argument("--runner", choices=runners.RUNNERS, default="", help="who asks the model (else digest.runner)")
    parser.add_argument("--model", default="", help="haiku, sonnet, or another (else digest.model)")
    parser.add_argument("--beyond-cap", action="store_true", help="go on past the day's cap, this once")
    parser.add_argument("--again", action="store_true", help="with undo: the turns that it read wait for a digest once more")
    parser.add_argument("--limit", type=int, default=20, metavar="N", help="with log: how many")
    parser.add_argument("--all", action="store_true", help="with log: also what plain code spotted")
    parser.add_argument("--yes", action="store_true", help="with auto on: agree without being asked")
    parser.add_argument("--background", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--select", default="", help=argparse.SUPPRESS)
    parser.add_argument("--repo", metavar="FOLDER", default="", help="only this repository, by a folder or its key (else all of them)")
    reads(parser)


def run(options: argparse.Namespace, out: Out) -> int:
    """0 when it is done, also with nothing to do; 1 when a digest failed or was refused."""
    if options.again and options.what != "undo":
        options.wrong("--again goes with undo")
    if options.dry_run and options.what != "run":
        options.wrong("--dry-run goes with run")
    if options.what == "auto":
        return _auto(options, out)
    if options.background:
        _interruptible()
        return _background(options)
    if not context.exists(options):
        out.say("Nothing is remembered yet, so nothing waits for a digest." + context.others(options))
        return 0
    if options.what in ("log", "show", "undo"):
        return digests.run(options, out)
    if options.what == "skip":
        return _skip(options, out)
    if options.rest:
        options.wrong("run takes nothing more; `tenon digest -h` shows what there is")
    if options.dry_run:
        return _plan(options, out)
    _interruptible()
    return _run(options, out)


def _interruptible() -> None:
    """From now on a process that is told to end does so as at Ctrl-C: with the model's program ended, the claim let go, the digest noted as failed."""
    import signal

    def end(*_: object) -> None:
        raise KeyboardInterrupt

    for name in ("SIGTERM", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), end)


def _run(options: argparse.Namespace, out: Out) -> int:
    chosen = settings.load()
    runner, model = _asked(options, chosen)
    missing = runners.available(runner, chosen)
    if missing:
        raise TenonError(missing)
    with context.writing(options, create=False) as here:
        repository = here.repository if options.repo else None
        waits = _waiting(here, repository)
        if not options.json:
            out.say(_told(waits, runner, model))
        cap = settings.MOST["digest.daily_tokens"] if options.beyond_cap else None
        with digesting.Run(here.store, chosen, runner=runner, model=model, cap=int(cap) if cap else None, told=str if options.json else out.say) as work:
            report = work.all(repository)
        cost = [spending.of_digest(here.store, number) for number in report.numbers]
        left = sum(size for _, size, _ in _waiting(here, repository))
    tokens = sum(one.tokens for one in cost)
    fields = {
        "applied": report.applied, "failed": report.failed, "requests": report.requests, "tokens": tokens, "memories_written": report.written,
        "memories_closed": report.closed, "operations_refused": report.refused, "digests": report.numbers, "waiting_tokens": left, "why": report.why,
    }  # fmt: skip
    if out.json:
        out.record(fields)
    else:
        out.told(
            f"{report.applied} of {report.applied + report.failed} digests applied: {context.counted(report.written, 'memory', 'memories')} written, {report.closed} closed; "
            f"{context.counted(report.requests, 'request')}, {tokens:,} tokens. About {left:,} tokens still wait."
        )
        if report.applied:
            shown = ", ".join(map(str, report.numbers[:5])) + (", …" if len(report.numbers) > 5 else "")
            out.told(f"`tenon digest show N` says what one did ({shown}), `tenon digest undo N` takes it back.")
        if report.given_up:
            out.say(
                f"Stopped: {report.why}. All of it took {tokens:,} tokens{spending.money(cost, ', {}')}; what waits goes on waiting, for another run or another model (--model)."
            )
        elif report.why and not report.failed:
            out.say(f"Ended early: {report.why}.")
    return 1 if report.failed else 0


def _plan(options: argparse.Namespace, out: Out) -> int:
    chosen = settings.load()
    runner, model = _asked(options, chosen)
    missing = runners.available(runner, chosen)
    with context.reading(options) as here:
        spent, cap = spending.counted(here.store, here.now), int(chosen.number("digest.daily_tokens"))
        waits = _waiting(here, here.repository if options.repo else None)
        for number, size, count in waits:
            requests, tokens = _estimate([(number, size, count)])
            told = {
                "repository": places.key(here.store, number), "turns": count, "tokens": size, "requests": requests, "request_tokens": tokens,
                "dollars": prices.dollars(model, *prices.split(tokens)), "counted_today": spent, "daily_tokens": cap, "unavailable": missing,
            }  # fmt: skip
            if out.json:
                out.record(told)
            else:
                out.told(f"{told['repository']}: {context.counted(count, 'turn')}, about {size:,} tokens")
    if not out.json:
        out.told(_told(waits, runner, model))
        beyond = f"; what is left is {max(0, cap - spent):,}, the rest waits (or --beyond-cap)" if _estimate(waits)[1] > cap - spent else ""
        out.say(
            f"In the last 24 hours {spent:,} of {cap:,} tokens were spent or reserved{beyond}. "
            + (f"Nobody can be asked now: {missing}." if missing else "Nobody was asked, nothing was changed.")
        )
    return 0


def _auto(options: argparse.Namespace, out: Out) -> int:
    if options.rest not in (["on"], ["off"]):
        options.wrong("say `tenon digest auto on` or `tenon digest auto off`")
    chosen = settings.load()
    on = options.rest == ["on"]
    if on:
        context.own_terminal("A background digest costs money")
    if chosen.flag("digest.auto") == on and not (options.runner or options.model):
        out.told(f"The background digest is {'on' if on else 'off'} already.")
        return _agree(out) if on else 0
    if on:
        runner, model = _asked(options, chosen)
        cap = int(chosen.number("digest.daily_tokens"))
        out.askable(options.yes)
        out.told(
            MEANS.format(
                way=WAY[runner].format(model=model), high=pressure.HIGH, least=due.SMALLEST, where=WHERE[runner], cap=cap, plan=PLAN[runner],
                dollars="" if runner == "ollama" else prices.about(model, cap),
            )
        )  # fmt: skip
        if not out.confirm("\nTurn it on?", options.yes):
            out.told("Nothing was changed.")
            return 0
    given = {"digest.runner": options.runner, "digest.ollama_model" if options.runner == "ollama" else "digest.model": options.model}
    config.put({"digest.auto": on, **({name: value for name, value in given.items() if value} if on else {})})
    out.told(f"The background digest is {'on' if on else 'off'}.")
    found = settings.load()
    if found.flag("digest.auto") != on:
        out.say(f"{found.origin['digest.auto']} says otherwise, and goes before settings.json.")
    runner = found.text("digest.runner")
    if on:
        _agree(out)
        missing = runners.available(runner, found) or agreed.doubt(found, os.environ)
        if missing:
            out.say(f"It asks nobody yet: {missing}.")
    return 0


def _agree(out: Out) -> int:
    """0, with what the environment says of the way to the model on record as the user's own."""
    names = agreed.record(os.environ)
    if names:
        out.told(f"It goes the way that this terminal is set to: {', '.join(names)}. Where a session has others of these, no digest runs.")
    return 0


def _skip(options: argparse.Namespace, out: Out) -> int:
    if not options.rest:
        options.wrong("say which turns: tenon digest skip t1234")
    with context.writing(options, create=False) as here:
        turns = [exchanges.turn(here.store, ref) for ref in options.rest]
        number, count = session.passed_over(here.store, turns, here.now)
    if not count:
        out.told("No turn of these waits for a digest.")
        return 0
    out.told(f"{context.counted(count, 'turn')} passed over; what was said is still in the archive. `tenon digest undo {number} --again` has it wait again.")
    return 0


def _background(options: argparse.Namespace) -> int:
    """0, whatever happens: nobody reads it. Faults are noted for `tenon doctor`."""
    chosen = settings.load()
    try:
        if not (chosen.flag("digest.auto") or chosen.flag("recall.rerank")):
            return 0
        strange = settings.stranger([os.environ.get("CLAUDE_PROJECT_DIR", "")])
        doubt = f"{strange}, so no digest runs in the background by what it says" if strange else agreed.doubt(chosen, os.environ)
        if doubt:
            faults.note_once("digest", TenonError(doubt))
            return 0
        _trust()
        with context.writing(options, create=False) as here:
            if options.select and chosen.flag("recall.rerank"):
                from tenon.world import selecting

                selecting.choose(here.store, chosen, options.select, here.now)
            if due.due(here.store, chosen, here.now):
                with digesting.Run(here.store, chosen, since=pressure.began(here.store)) as work:
                    due.take_note(here.store)
                    report = work.all()
                if report.failed:
                    faults.note("digest", TenonError(report.why))
    except digesting.Busy:
        pass
    except (TenonError, sqlite.Error, OSError) as error:  # a store that is locked, full or damaged is for doctor to tell of
        faults.note("digest", error)
    return 0


def _trust() -> None:
    """From now on this process has no environment but the one that the user agreed to."""
    kept = agreed.trusted(os.environ)
    for name in [name for name in os.environ if name not in kept]:
        del os.environ[name]
    os.environ.update(kept)


def _asked(options: argparse.Namespace, chosen: Settings) -> tuple[str, str]:
    runner = options.runner or chosen.text("digest.runner")
    return runner, options.model or digesting.model_of(chosen, runner)


def _waiting(here: Context, repository: int | None) -> list[tuple[int, int, int]]:
    """Of each repository that is meant: its number, the tokens that wait and the turns."""
    return [one for one in exchanges.waiting(here.store) if repository is None or one[0] == repository]


def _estimate(waits: Sequence[tuple[int, int, int]]) -> tuple[int, int]:
    """The requests that it takes, one of reflection among them, and about how many tokens those read and write."""
    requests = sum(-(-size // digesting.BATCH) for _, size, _ in waits)
    return (requests + 1, int(sum(size for _, size, _ in waits) * 1.3) + (requests + 1) * digesting.FRAME) if requests else (0, 0)


def _told(waits: Sequence[tuple[int, int, int]], runner: str, model: str) -> str:
    """What waits and what it would cost, in a sentence."""
    count, size = sum(count for _, _, count in waits), sum(size for _, size, _ in waits)
    if not count:
        return "Nothing waits for a digest."
    requests, tokens = _estimate(waits)
    cost = " (free)" if runner == "ollama" else prices.about(model, tokens)
    return (
        f"{context.counted(count, 'turn')} of {context.counted(len(waits), 'repository', 'repositories')} "
        f"{'wait' if count > 1 else 'waits'}, about {size:,} tokens: {context.counted(requests, 'request')} to {model}, some {tokens:,} tokens{cost}."
    )
