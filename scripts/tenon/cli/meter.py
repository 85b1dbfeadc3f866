"""How the digest stands: on or off, what waits, what today has cost, what failed; for `tenon status` and `tenon doctor`."""

from __future__ import annotations

from dataclasses import dataclass

from tenon.base.errors import TenonError
from tenon.base.lean import sqlite
from tenon.cli import context
from tenon.digest import due
from tenon.store import db, digests, pressure, spending

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tenon.base.settings import Settings
    from tenon.store.db import Store
    from tenon.store.digests import Digest
    from tenon.store.spending import Spent


HOW = {"applied": "was applied", "failed": "failed", "undone": "was undone", "running": "began"}


@dataclass
class Meter:
    """What there is to know; `waits` are tokens of late conversation that are no memory yet, `failures` those in a row."""

    auto: bool
    rerank: bool
    runner: str
    model: str
    cap: int
    waits: int
    spent: Spent
    counted: int  # tokens that count against the cap, which all agents share
    last: Digest | None
    failures: int
    resumes: float
    now: float

    def fields(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "auto": self.auto, "rerank": self.rerank, "runner": self.runner, "model": self.model, "daily_tokens": self.cap,
            "pressure": round(self.waits / pressure.CAP, 3), "waiting_tokens": self.waits,
            "today": {
                "requests": self.spent.requests, "tokens": self.spent.tokens, "input": self.spent.input, "cache_written": self.spent.written,
                "cache_read": self.spent.read, "output": self.spent.output, "unreported": self.spent.unknown, "dollars": self.spent.dollars, "unpriced": self.spent.unpriced,
            },
            "last": None if self.last is None else {"digest": self.last.id, "state": self.last.state, "at": context.iso(self.last.at), "why": self.last.why},
            "counted_with_other_agents": self.counted, "failures_in_a_row": self.failures,
        }  # fmt: skip


def look(store: Store, chosen: Settings, now: float) -> Meter:
    """How it stands in an open store."""
    runner = chosen.text("digest.runner")
    last = digests.newest_by_model(store)
    _, failures = digests.streak(store)
    return Meter(
        chosen.flag("digest.auto"), chosen.flag("recall.rerank"), runner, chosen.text("digest.ollama_model" if runner == "ollama" else "digest.model"),
        int(chosen.number("digest.daily_tokens")), pressure.measure(store), spending.today(store, now), spending.counted(store, now), last, failures, due.resumes(store, now), now,
    )  # fmt: skip


def at(path: str, chosen: Settings, now: float) -> Meter | None:
    """How it stands with the store at the path, None where there is none that can be read."""
    try:
        with db.open_reader(path) as store:
            return look(store, chosen, now)
    except (TenonError, sqlite.Error):
        return None


def lines(meter: Meter) -> list[tuple[str, str]]:
    """Label and text of what `status` says."""
    on = f"on, {meter.runner}/{meter.model}" if meter.auto else "off (`tenon digest auto on` says what it would cost)"
    last = (
        "" if meter.last is None else f"; the last one, {meter.last.id}, {HOW.get(meter.last.state, meter.last.state)} {context.ago(meter.now - meter.last.at)}"
    )
    return [
        ("background", f"digest {on}{last}"),
        ("spent in 24 h", spent(meter)),
        ("pressure", f"{meter.waits / pressure.CAP:.0%}: about {meter.waits:,} tokens of what was said lately, in all repositories, are no memory yet"),
    ]


def spent(meter: Meter) -> str:
    """The meter in words: what requests reported, against the cap."""
    today = meter.spent
    money = spending.money([today], ", {} as reported")
    unknown = f", and {today.unknown:,} reserved by requests that reported nothing" if today.unknown else ""
    others = f"; with your other agents {meter.counted:,}" if meter.counted > today.counted else ""
    return f"{today.tokens:,} of {meter.cap:,} tokens in {context.counted(today.requests, 'request')}{money}{unknown}{others}"


def findings(meter: Meter | None) -> list[tuple[str, str, str, str]]:
    """The checks of `doctor`: name, state, what was found, the way to mend it."""
    if meter is None:
        return []
    found = [("digest", "ok", f"in the background {'on' if meter.auto else 'off'}; in 24 hours {spent(meter)}", "")]
    last = meter.last
    if meter.failures and last is not None:
        said = f"{context.counted(meter.failures, 'digest')} in a row failed, the last one: {last.why or 'it was cut off'}. Nothing that waits was lost"
        if meter.failures >= due.GIVEN_UP:
            said += "; the background rests until one succeeds"
        way = "tenon digest (tries again now)"
        if last.first is not None and "model's" in last.why:  # an answer that was none; a runner that fails does so whatever is read
            way += f"; tenon digest skip t{last.first} (has it pass over where it fails)"
        found = [("digest", "warn", said, way)]
    if meter.auto and meter.counted + due.SMALLEST + due.OUTPUT > meter.cap:
        found.append(("digest cap", "ok", f"reached ({meter.counted:,} of {meter.cap:,} tokens in 24 hours); it goes on as those pass", ""))
    if pressure.level(meter.waits) == "high" and not meter.auto:
        found.append(
            (
                "pressure",
                "ok",
                f"{meter.waits / pressure.CAP:.0%}: much was said that is no memory yet; the words themselves are found",
                "tenon digest, or /memory-digest",
            )
        )
    return found
