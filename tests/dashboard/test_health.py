"""What the page Health is told: counted, by the day, and right when there is nothing."""

from __future__ import annotations

import json
import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tenon
from tenon.base import faults, paths, settings
from tenon.base.errors import TenonError
from tenon.dashboard import health
from tenon.dashboard.place import Missing, Place, Query, Wrong
from tenon.store import archive, conversations, db, growth, latency, memories, notes, places, pressure, spending, usage
from tenon.store.db import Store
from tenon.world import checking, daemon

NOW = 1_796_200_000.0
DAY = 86400.0
TODAY = int(NOW // DAY)


@pytest.fixture
def store() -> Iterator[Store]:
    """An empty store, where the dashboard looks."""
    with db.open_store(paths.store_path("default")) as opened:
        yield opened


def page(store: Store, query: str = "") -> dict[str, Any]:
    """The page's data, which is plain JSON."""
    found: dict[str, Any] = json.loads(json.dumps(health.page(Place(store, settings.load(), "default", now=NOW), Query(query))))
    return found


def spend(store: Store, purpose: str, tokens: int, at: float, dollars: float | None = None, *, reported: bool = True) -> None:
    """Notes a request."""
    row = spending.reserve(store, purpose=purpose, runner="api", model="haiku", tokens=777, cap=10**9, now=at)
    if reported:
        spending.report(store, row or 0, model="haiku", input_tokens=tokens, output_tokens=0, dollars=dollars)


def test_an_empty_store_has_a_page_too(store: Store) -> None:
    """Every part is there and says that there is nothing."""
    found = page(store)

    assert (0, "", []) == (found["pressure"]["tokens"], found["pressure"]["level"], found["spending"]["days"])
    assert ([], None, None) == (found["cache"]["sessions"], found["cache"]["traced"], found["cache"]["others"])
    assert ([], None) == (found["latency"]["days"], found["latency"]["running"])
    assert [TODAY] == [day["day"] for day in found["growth"]]
    assert ([], [], False, {}) == (found["faults"]["newest"], found["faults"]["kinds"], found["proxy"]["running"], found["sessions"]["states"])
    assert {0} == {row["rows"] for row in found["rows"]}


@pytest.mark.parametrize(("tokens", "level"), [(1000, ""), (90_000, "moderate"), (130_000, "high")])
def test_pressure_is_what_was_measured_last(store: Store, tokens: int, level: str) -> None:
    """With the two marks of the gauge."""
    notes.note(store, pressure.NOTE, str(tokens))
    found = page(store)["pressure"]

    assert (tokens, level, round(tokens / 144_000, 4), 0.6, 0.85) == (found["tokens"], found["level"], found["share"], found["moderate"], found["high"])


def test_what_was_spent_is_told_by_day_and_purpose(store: Store) -> None:
    """Within thirty days, with what was not reported, and dollars where a runner said them."""
    spend(store, "consolidation", 100, NOW, 0.01)
    spend(store, "consolidation", 20, NOW, 0.02)
    spend(store, "selection", 5, NOW)
    spend(store, "reflection", 7, NOW - DAY)
    spend(store, "reflection", 7, NOW - DAY, reported=False)
    spend(store, "reflection", 1000, NOW - 31 * DAY)
    found = page(store)["spending"]
    yesterday, today = found["days"]

    assert (TODAY - 29, TODAY, 200_000, 125) == (found["first"], found["last"], found["cap"], found["counted"] - 784)
    assert (TODAY, 120, 0, 5, 3, 0) == tuple(today[name] for name in ("day", "consolidation", "reflection", "selection", "requests", "unknown"))
    assert (1, 2) == (today["unpriced"], yesterday["unpriced"])
    assert {"consolidation": 0.03, "reflection": None, "selection": None} == today["dollars"]
    assert (TODAY - 1, 7, 2, 777) == tuple(yesterday[name] for name in ("day", "reflection", "requests", "unknown"))


def test_the_prompt_cache_is_told_by_session_and_by_the_way_it_went(store: Store) -> None:
    """The shares of both ways are of all their tokens; sub-agents are apart."""
    here = places.settle(store, paths.home(), NOW)
    for name, at, counts, state in (("a", NOW - 50, (0, 100, 900), "traced"), ("b", NOW - 20, (0, 300, 700), ""), ("c", NOW - 10, (1000, 0, 0), "")):
        number = archive.session(store, name, repository=here, folder="/p", at=at)
        usage.note(store, number, {name: (at, False, (*counts, 5)), name + "aside": (at, True, (50, 0, 50, 5))}, NOW)
        if state:
            conversations.begin(store, name=name, client="c", folder="/p", repository=None, now=at, state=state)
    found = page(store)["cache"]

    assert [("a", 0.9, "traced"), ("b", 0.7, ""), ("c", 0.0, "")] == [(one["session"], one["share"], one["state"]) for one in found["sessions"]]
    assert (0.9, 0.35, 0.5) == (found["traced"], found["others"], found["asides"])
    assert {"messages": 1, "share": 0.5} == found["sessions"][0]["aside"]


def test_what_the_proxy_adds_is_told_by_day(store: Store) -> None:
    """The median, and within what 95 of 100 were let go, in seconds."""
    for took in (0.002, 0.002, 0.05):
        latency.note(store, took, NOW - DAY)
    [day] = page(store)["latency"]["days"]

    assert (TODAY - 1, 3) == (day["day"], day["requests"])
    assert (pytest.approx(0.002, rel=0.05), pytest.approx(0.05, rel=0.05)) == (day["median"], day["p95"])


def test_the_store_grows_from_day_to_day_up_to_now(store: Store) -> None:
    """Today is as it is now, not as it began."""
    growth.daily(store, NOW - DAY)
    growth.daily(store, NOW)
    memories.write(store, repository=None, tier="short", kind="fact", text="the fox lives in Rökö", now=NOW)
    then, now = page(store)["growth"]

    assert (TODAY - 1, 0, TODAY, 1) == (then["day"], then["memories"], now["day"], now["memories"])


def test_faults_are_told_newest_first_and_counted(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each kind of the last seven days with its number; a garbled line is passed over."""
    for at, said in ((NOW - 8 * DAY, "old"), (NOW - 9, "twice"), (NOW - 7, "once"), (NOW - 5, "twice")):
        monkeypatch.setattr(faults.time, "time", lambda at=at: at)
        faults.note("Stop", ValueError(said))
    with open(paths.faults_path(), "a", encoding="utf-8") as file:
        file.write('{"at": "soon", "door": 3}\nno json\n')
    found = page(store)["faults"]

    assert ["", "twice", "once", "twice", "old"] == [fault["said"] for fault in found["newest"]]
    assert [("twice", 2, NOW - 5), ("once", 1, NOW - 7)] == [(kind["said"], kind["count"], kind["at"]) for kind in found["kinds"]]


def test_sessions_at_the_proxy_are_counted_and_those_left_alone_say_why(store: Store) -> None:
    """Of the last thirty days."""
    here = places.settle(store, paths.home(), NOW)
    archive.session(store, "b", repository=here, folder="/p", at=NOW)
    for name, at, state, why in (
        ("a", NOW - 9, "traced", ""),
        ("b", NOW - 8, "bypassed", "refused"),
        ("c", NOW - 7, "plain", "excluded"),
        ("d", NOW - 31 * DAY, "plain", ""),
    ):
        conversations.begin(store, name=name, client="c", folder="/p", repository=None, now=at, state=state, reason=why)
    found = page(store)["sessions"]

    assert {"traced": 1, "bypassed": 1, "plain": 1} == found["states"]
    assert [("c", "excluded", False), ("b", "refused", True)] == [(one["session"], one["why"], one["archived"]) for one in found["left_alone"]]


def test_a_running_proxy_is_told_of(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """As it says itself, its errors newest first."""
    state = daemon.State(8377, 1, "secret-token", "0.1.0", "/root", "https://upstream", NOW)
    errors = [{"at": NOW - 5, "what": "cannot reach it"}, {"at": NOW - 1, "what": "broke off"}]
    state.told = {
        "port": 8377,
        "requests": 7,
        "in_flight": 1,
        "started": NOW,
        "errors": errors,
        "own_s": {"requests": 3, "median": 0.002, "p95": 0.01},
        "root": "/root",
    }
    monkeypatch.setattr(daemon, "running", lambda: state)
    found = page(store)

    assert (True, 8377, 7, ["broke off", "cannot reach it"]) == (
        *(found["proxy"][name] for name in ("running", "port", "requests")),
        [one["what"] for one in found["proxy"]["errors"]],
    )
    assert {"requests": 3, "median": 0.002, "p95": 0.01} == found["latency"]["running"]
    assert "secret-token" not in json.dumps(found)


def test_it_has_no_parameters_and_one_thing_of_its_own(store: Store) -> None:
    """What doctor finds."""
    with pytest.raises(Wrong):
        page(store, "days=3")
    with pytest.raises(Missing):
        health.one(Place(store, settings.load(), "default", now=NOW), "nurse", Query(""))


def test_doctors_findings_come_with_what_is_wrong_first(store: Store) -> None:
    """Asked of the real command; the answer is kept for a minute."""
    Path(paths.home()).chmod(0o755)
    here = Place(store, settings.load(), "default", now=NOW)
    found = health.one(here, "doctor", Query(""))

    assert ("fail", "home", "tenon doctor --fix") == tuple(found["checks"][0][name] for name in ("state", "check", "mend"))
    assert "python" in {check["check"] for check in found["checks"]}
    assert "others can read" in found["checks"][0]["said"]
    assert found["checks"] == health.one(here, "doctor", Query(""))["checks"]


PROGRAM = "#!{python}\nimport os, sys\nopen({log!r}, 'a').write(' '.join(sys.argv[1:]) + '\\n')\n{body}\n"


@pytest.fixture
def plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Puts another `bin/tenon` in place; the lines it was called with are in `log`."""
    root = tmp_path / "plugin"
    (root / "bin").mkdir(parents=True)
    monkeypatch.setattr(tenon, "__file__", str(root / "scripts" / "tenon" / "__init__.py"))
    os.makedirs(paths.home(), exist_ok=True)

    def put(body: str) -> Path:
        path, log = root / "bin" / "tenon", tmp_path / "log"
        path.write_text(PROGRAM.format(python=sys.executable, log=str(log), body=body), encoding="utf-8")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return log

    return put


def test_doctor_is_asked_once_a_minute_for_each_agent(plugin: Any) -> None:
    """By its JSON, in the words of the command line."""
    log = plugin("""print('{"check": "disk", "state": "ok", "said": "fine", "more": 1}'); print('no json')""")
    first = checking.findings("a", 1000.0)[1]
    for agent, clock in (("a", 1059.0), ("b", 1059.0), ("a", 1061.0), ("a", 900.0)):
        checking.findings(agent, clock)

    assert [{"check": "disk", "state": "ok", "said": "fine", "mend": ""}] == first
    assert [f"--agent {agent} doctor --json" for agent in "abaa"] == log.read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize(("body", "sentence"), [("sys.exit(3)", "said nothing .exit 3."), ("__import__('threading').Event().wait()", "took more than")])
def test_a_doctor_that_does_not_answer_is_a_sentence(plugin: Any, monkeypatch: pytest.MonkeyPatch, body: str, sentence: str) -> None:
    """And it is asked again the next time."""
    log = plugin(body)
    monkeypatch.setattr(checking, "LIMIT_S", 1.0)
    for _ in range(2):
        with pytest.raises(TenonError, match=sentence):
            checking.findings("a")

    assert 2 == len(log.read_text(encoding="utf-8").splitlines())
