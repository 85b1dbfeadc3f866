"""The page Health: what waits, what was spent, how the prompt cache does, what the proxy takes, how the store grows, and what went wrong."""

from __future__ import annotations

from tenon.base import faults
from tenon.base.text import cut
from tenon.dashboard.place import Missing
from tenon.store import browse_health, growth, latency, pressure, spending, usage
from tenon.world import checking, daemon

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tenon.dashboard.place import Place, Query
    from tenon.store.growth import Size
    from tenon.store.usage import OfSession, Usage

DAY_S = 86400.0
BUDGET_DAYS, LATENCY_DAYS, GROWTH_DAYS, STATE_DAYS = 30, 30, 365, 30
SESSIONS = 60  # of which the prompt cache's share is plotted
NEWEST = 20  # faults, errors and sessions that are named
LOOKED_AT = 1000  # lines of the log of faults
SAID = 300
PURPOSES = ("consolidation", "reflection", "selection")
DOCTOR = "doctor"


def page(here: Place, query: Query) -> dict[str, Any]:
    """Everything but what doctor finds, which takes longer and is asked for by its name."""
    query.done()
    state = daemon.running()
    told = state.told if state is not None else {}
    return {
        "now": here.now, "pressure": _pressure(here), "spending": _spending(here), "cache": _cache(here), "latency": _latency(here, told.get("own_s")),
        "growth": [_size(day) for day in _days(here)], "faults": _faults(here.now), "proxy": _proxy(told), "sessions": _sessions(here),
        "rows": [{"name": name, "rows": count} for name, count in browse_health.rows(here.store)],
    }  # fmt: skip


def one(here: Place, name: str, query: Query) -> dict[str, Any]:
    """What `tenon doctor` finds, at most a minute old."""
    query.done()
    if name != DOCTOR:
        raise Missing(f"There is '{DOCTOR}' and nothing else under Health.")
    at, checks = checking.findings(here.agent)
    order = {"fail": 0, "warn": 1, "ok": 2}
    return {"at": at, "checks": sorted(checks, key=lambda check: order.get(check["state"], 1))}


def _pressure(here: Place) -> dict[str, Any]:
    tokens = pressure.noted(here.store) or pressure.measure(here.store)
    return {
        "tokens": tokens, "cap": pressure.CAP, "share": round(tokens / pressure.CAP, 4), "level": pressure.level(tokens), "moderate": pressure.MODERATE,
        "high": pressure.HIGH, "auto": here.settings.flag("digest.auto"),
    }  # fmt: skip


def _spending(here: Place) -> dict[str, Any]:
    """By the day and purpose, dollars where a runner reported them; the cap is one of any 24 hours, and all agents share it."""
    days: dict[int, dict[str, Any]] = {}
    for spent in browse_health.spent(here.store, here.now - (BUDGET_DAYS - 1) * DAY_S):
        day = days.setdefault(
            spent.day, {"day": spent.day, "requests": 0, "unknown": 0, "unpriced": 0, "dollars": dict.fromkeys(PURPOSES), **dict.fromkeys(PURPOSES, 0)}
        )
        day[spent.purpose] = spent.tokens
        day["requests"] += spent.requests
        day["unknown"] += spent.unknown
        day["unpriced"] += spent.unpriced
        day["dollars"][spent.purpose] = spent.dollars
    return {
        "cap": int(here.settings.number("digest.daily_tokens")), "counted": spending.counted(here.store, here.now), "purposes": list(PURPOSES),
        "first": _day(here.now) - BUDGET_DAYS + 1, "last": _day(here.now), "days": list(days.values()),
    }  # fmt: skip


def _cache(here: Place) -> dict[str, Any]:
    found = usage.latest(here.store, here.now - usage.KEEP_S, SESSIONS)
    return {
        "sessions": [_session(one) for one in found], "traced": _share([one.own for one in found if one.state == "traced"]),
        "others": _share([one.own for one in found if one.state != "traced"]), "asides": _share([one.aside for one in found]),
    }  # fmt: skip


def _session(found: OfSession) -> dict[str, Any]:
    own, aside = found.own, found.aside
    return {
        "session": found.name, "state": found.state, "began": found.began, "last": found.last, "share": _rounded(own.share), "messages": own.messages,
        "input": own.input, "written": own.written, "read": own.read, "output": own.output,
        "aside": {"messages": aside.messages, "share": _rounded(aside.share)} if aside.messages else None,
    }  # fmt: skip


def _share(found: list[Usage]) -> float | None:
    """The share of all of them together."""
    return _rounded(usage.Usage([sum(getattr(each, name) for each in found) for name in usage.Usage.__slots__]).share)


def _latency(here: Place, running: object) -> dict[str, Any]:
    days = [
        {"day": day, "requests": sum(counts.values()), "median": latency.quantile(counts, 0.5), "p95": latency.quantile(counts, 0.95)}
        for day, counts in latency.since(here.store, here.now - (LATENCY_DAYS - 1) * DAY_S).items()
    ]
    return {"first": _day(here.now) - LATENCY_DAYS + 1, "last": _day(here.now), "days": days, "running": running if isinstance(running, dict) else None}


def _days(here: Place) -> list[Size]:
    """The days that were noted, and the store as it is now in the place of today's beginning."""
    now = growth.measured(here.store, here.now)
    return [*(day for day in growth.since(here.store, here.now - GROWTH_DAYS * DAY_S) if day.day != now.day), now]


def _size(day: Size) -> dict[str, int]:
    return {"day": day.day, "bytes": day.size_bytes, "memories": day.memories, "turns": day.turns}


def _faults(now: float) -> dict[str, Any]:
    """The newest, and how often each kind came in the last seven days; they are of all agents."""
    found = [_fault(fault) for fault in faults.recent(LOOKED_AT)]
    kinds: dict[tuple[str, str, str], dict[str, Any]] = {}
    for fault in found:
        if fault["at"] >= now - 7 * DAY_S:
            kind = kinds.setdefault((fault["door"], fault["error"], fault["said"]), {**fault, "count": 0})
            kind["count"] += 1
    return {"newest": found[:NEWEST], "kinds": sorted(kinds.values(), key=lambda kind: -kind["count"])[:NEWEST]}


def _fault(fault: dict[str, object]) -> dict[str, Any]:
    at = fault.get("at")
    told = {name: cut(str(fault.get(name) or ""), SAID) for name in ("door", "error", "said", "place", "detail")}
    return {"at": float(at) if isinstance(at, (int, float)) else 0.0, **told}


def _proxy(told: dict[str, Any]) -> dict[str, Any]:
    """How the running proxy is doing, as it says itself."""
    names = ("port", "version", "started", "requests", "in_flight", "through")
    errors = told.get("errors")
    newest = errors[::-1][:NEWEST] if isinstance(errors, list) else []
    return {"running": bool(told), **{name: told[name] for name in names if name in told}, "errors": newest}


def _sessions(here: Place) -> dict[str, Any]:
    since = here.now - STATE_DAYS * DAY_S
    left = browse_health.left_alone(here.store, since, NEWEST)
    return {
        "states": browse_health.states(here.store, since),
        "left_alone": [{"session": name, "state": state, "why": why, "last": last, "archived": kept} for name, state, why, last, kept in left],
    }


def _day(at: float) -> int:
    return int(at // DAY_S)


def _rounded(share: float | None) -> float | None:
    return None if share is None else round(share, 4)
