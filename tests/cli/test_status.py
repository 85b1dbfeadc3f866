"""`tenon status`: one screen that says whether it is on, for whom, what it did and cost, and what is wrong."""

from __future__ import annotations

import os
import subprocess
import time

import pytest

from tenon import __version__
from tenon.cli import standing, status
from tenon.cli.table import width
from tenon.store import db, digests, journal, spending
from tenon.world.daemon import State
from tests.cli.conftest import DOOR, PYTHON, Tenon


def lived(tenon: Tenon) -> None:
    """A day with a session, memories, a briefing, a prompt that got something, a recall, a digest's request; the plugin is enabled."""
    (tenon.home / ".claude").mkdir(exist_ok=True)
    (tenon.home / ".claude" / "settings.json").write_text('{"enabledPlugins": {"tenon@tenon": true}}', encoding="utf-8")
    talk = tenon.talk()
    talk.clock = time.time() - 600
    talk.prompt("Which port does the gateway use?")
    talk.reply("The gateway uses 8443.")
    tenon.ok("import")
    ref = tenon.written("the gateway listens on 8443")
    tenon.ok("recall", "gateway")
    now = time.time()
    with db.open_store(str(tenon.home / ".tenon" / "agents" / "default" / "tenon.db")) as store:
        for event, session, hits, chars in (("session", "s1", [], 900), ("prompt", "s1", [(ref, 0.5, [])], 90), ("prompt", "s1", [], 0)):
            journal.record(store, event=event, session=session, repository=1, words=["gateway"], hits=hits, chars=chars, now=now)
        row = spending.reserve(store, purpose="consolidation", runner="claude", model="haiku", tokens=9, cap=10**9, now=now)
        spending.report(store, int(row or 0), model="haiku", input_tokens=1000, output_tokens=200, dollars=0.01)


def test_it_says_what_was_done_and_spent_in_a_day(tenon: Tenon) -> None:
    """In words and as data; what is older than a day does not count."""
    lived(tenon)
    with db.open_store(str(tenon.home / ".tenon" / "agents" / "default" / "tenon.db")) as store:
        journal.record(store, event="prompt", session="s0", repository=1, words=[], hits=[("m1", 0.5, [])] * 9, chars=9, now=time.time() - 90_000)

    found, told = tenon.ok("status", "--json").records[0], tenon.ok("status").out

    assert {"sessions": 1, "turns": 2, "written": {"user": 1}, "briefed": 1, "prompts": 1, "items": 1, "recalls": 1} == found["last_24_hours"]
    assert "last 24 hours:   1 session, 2 turns kept; 1 memory made (1 by you); 1 item told at 1 prompt; 1 recall\n" in told
    assert "1,200 of 200,000 tokens in 1 request, $0.01 as reported" in told
    assert "Tenon:           on, agent default; Claude Code called it just now\n" in told
    assert "wrong:           nothing that shows at a glance" in told
    assert (True, "default", []) == (found["on"], found["agent"], found["wrong"])


def test_where_a_request_reported_no_price_the_money_is_the_least(tenon: Tenon) -> None:
    """One of an Ollama's has none, and is no such request."""
    lived(tenon)
    with db.open_store(str(tenon.home / ".tenon" / "agents" / "default" / "tenon.db")) as store:
        for runner, told in (("ollama", "1,300 of 200,000 tokens in 2 requests, $0.01 as reported"), ("api", "in 3 requests, at least $0.01 as reported")):
            row = spending.reserve(store, purpose="consolidation", runner=runner, model="x", tokens=9, cap=10**9, now=time.time())
            spending.report(store, int(row or 0), model="x", input_tokens=100, output_tokens=0)
            assert told in tenon.ok("status").out


def test_it_says_that_the_plugin_is_not_enabled(tenon: Tenon) -> None:
    """On an empty home too; one that is switched off is another thing."""
    empty = tenon.ok("status").err
    lived(tenon)
    enabled = tenon.ok("status").out
    (tenon.home / ".claude" / "settings.json").write_text('{"enabledPlugins": {"tenon@tenon": false}}', encoding="utf-8")
    off, told = tenon.ok("status", "--json").records[0]["wrong"], tenon.ok("status").out

    assert "plugin:          is not enabled in Claude Code's settings" in empty
    assert "plugin:" not in enabled
    assert [("plugin", "fail", "claude plugin enable tenon@tenon")] == [(one["check"], one["state"], one["mend"]) for one in off]
    assert "wrong:           1 thing, each with what mends it\nplugin:          tenon@tenon is installed and switched off; mend:" in told


def test_a_proxy_that_runs_while_it_is_off_is_told_with_both() -> None:
    """In doctor's words."""
    state = State(9000, 4711, "t", __version__, os.path.dirname(DOOR), "https://api.example", 1.0)
    ((name, how, said, _),) = standing.findings(standing.Standing(9000, state=state))

    assert ("proxy", "ok", "is off for new sessions; one runs at http://127.0.0.1:9000 (process 4711), which `tenon code` uses") == (name, how, said)
    assert [("proxy", "ok", "is off", "")] == standing.findings(standing.Standing(9000))


def test_no_two_rows_have_one_label(tenon: Tenon) -> None:
    """Also where the digest failed."""
    lived(tenon)
    with db.open_store(str(tenon.home / ".tenon" / "agents" / "default" / "tenon.db")) as store:
        number = digests.begin(store, phase="consolidation", repository=1, runner="claude", model="haiku", now=time.time(), turns=1, tokens=9, first=1)
        digests.end(store, number, "failed", time.time(), "it was cut off")
    labels = [line[:17].strip() for line in tenon.ok("status").out.splitlines() if line[:17].strip()]

    assert {"background:", "digest:", "wrong:"} <= set(labels)
    assert len(labels) == len(set(labels))


def test_it_says_that_it_is_off_and_why(tenon: Tenon) -> None:
    """By the environment or by Claude Code's own switch; what is switched off in part is named."""
    tenon.written("x")
    assert "Tenon:           ready, agent default; no hook was seen yet" in tenon.ok("status").out
    tenon.ok("config", "inject.prompt", "off")
    assert "ready, agent default; inject.prompt is off; no hook" in tenon.ok("status").out
    tenon.env = {"TENON_DISABLE": "1"}
    assert "Tenon:           off: TENON_DISABLE is set" in tenon.ok("status").out
    tenon.env = {}
    (tenon.home / ".claude").mkdir(exist_ok=True)
    (tenon.home / ".claude" / "settings.json").write_text('{"disableAllHooks": true}', encoding="utf-8")
    assert "off: disableAllHooks is true" in (told := tenon.ok("status").out)
    assert "nothing that shows at a glance" not in told
    assert False is tenon.ok("status", "--json").records[0]["on"]


def test_what_is_wrong_comes_with_the_command_that_mends_it(tenon: Tenon) -> None:
    """The settings, faults; as data too."""
    lived(tenon)
    (tenon.home / ".tenon" / "settings.json").write_text('{"inject.hits": "many"}', encoding="utf-8")
    (tenon.home / ".tenon" / "faults.log").write_text('{"at": 4000000000, "door": "Stop", "said": "disk full"}\n', encoding="utf-8")

    told, found = tenon.ok("status").out, tenon.ok("status", "--json").records[0]["wrong"]

    assert "faults:          1 in the last day, newest: Stop: disk full; mend: tenon doctor\n" in told
    assert [("settings", "warn"), ("faults", "warn")] == [(one["check"], one["state"]) for one in found]
    assert "`tenon config` shows what holds" in told
    assert "wrong:           2 things, each with what mends it\nsettings: " in told


@pytest.mark.skipif(os.name == "nt", reason="no pseudo-terminal")
@pytest.mark.parametrize("columns", [80, 60])
def test_it_is_one_screen_on_a_terminal(tenon: Tenon, columns: int) -> None:
    """Twenty-four lines of eighty columns, folded below their labels; coloured by what they mean."""
    import pty

    lived(tenon)
    main, side = pty.openpty()
    try:
        env = {**tenon.environment(), "TERM": "xterm", "COLUMNS": str(columns)}
        subprocess.run([PYTHON, DOOR, "status"], stdout=side, stderr=side, cwd=tenon.project, env=env, timeout=60, check=True)
        told = os.read(main, 10_000).decode("utf-8")
    finally:
        os.close(main)
        os.close(side)

    assert "\033[32mon, agent default; Claude Code called it" in told
    lines = [line.replace("\033[32m", "").replace("\033[0m", "") for line in told.splitlines()]
    assert [] == [line for line in lines if width(line) > columns and "/" not in line]
    assert columns < 80 or len(lines) <= 24, told
    assert all(line[:17].rstrip().endswith(":") or not line[:17].strip() for line in lines), told


def test_the_slash_command_gets_the_same_without_colour(tenon: Tenon, monkeypatch: pytest.MonkeyPatch) -> None:
    """In lines that a window of 80 columns has room for, for Claude Code folds longer ones without their indent."""
    lived(tenon)
    for name, value in tenon.environment().items():
        monkeypatch.setenv(name, value)
    with db.open_reader(str(tenon.home / ".tenon" / "agents" / "default" / "tenon.db")) as store:
        told = status.lines(store, str(tenon.project), time.time())

    labels = [line[:17].rstrip() for line in told]
    assert {"Tenon:", "this repository:", "proxy:", "last 24 hours:", "spent in 24 h:", "wrong:"} <= set(labels)
    assert [] == [line for line in told if width(line) > 74 and len(line.split()) > 2]
    assert any(line.startswith(" " * 17) for line in told)
    assert not any("\033" in line or "\0" in line for line in told)
