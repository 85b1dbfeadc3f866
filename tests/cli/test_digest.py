"""`tenon digest` as its user has it: a real process, and the strict Messages API in the place of the model's."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from io import StringIO
from typing import Any

import pytest

from tenon.cli import digests as cli_digests
from tenon.cli.out import Out
from tenon.store import db, digests, places, spending
from tests.cli.conftest import DOOR, PYTHON, Tenon
from tests.digest.minds import answer, last_of, remember
from tests.fakes import replies
from tests.fakes.messages_api import MessagesApi

KEY = "sk-ant-api03-of-a-test"


def spoken(request: Any) -> replies.Scripted:
    """A model that keeps the decision, and holds a statement of it."""
    prompt = request.body["messages"][0]["content"]
    if "<statements>" in prompt:
        return answer(last_of(prompt), {"op": "hold", "kind": "relationship", "text": "I keep what the law asks for.", "evidence": [last_of(prompt)]})
    turn = next(word[1:] for word in prompt.split() if word.startswith("[t"))
    return answer(last_of(prompt), remember("Invoices are kept for eleven years.", [turn], kind="decision", salience=0.8))


@pytest.fixture()
def api(tenon: Tenon) -> Iterator[MessagesApi]:
    """The API that the project's digests ask, with a key, after something was said."""
    with MessagesApi(spoken) as started:
        tenon.env.update(ANTHROPIC_BASE_URL=started.url, ANTHROPIC_API_KEY=KEY)
        talk = tenon.talk()
        talk.prompt("We decided to keep invoices for eleven years.")
        talk.reply("Noted: invoices are kept for eleven years.")
        tenon.ok("import")
        yield started


def digest(tenon: Tenon, *more: str) -> dict[str, Any]:
    """What a digest by the API reports."""
    return dict(tenon.ok("digest", "--runner", "api", "--json", *more).records[0])


def test_a_digest_is_shown_in_words_and_can_be_undone(tenon: Tenon, api: MessagesApi) -> None:
    """Run, log, show, recall, undo, and it does not come again."""
    report = digest(tenon)
    assert (2, 0, 2, 2, 0, "") == tuple(report[name] for name in ("applied", "failed", "requests", "memories_written", "waiting_tokens", "why"))
    first, second = report["digests"]
    assert ["reflection", "consolidation", "spotting"] == [one["phase"] for one in tenon.ok("digest", "log", "--json").records]
    shown = tenon.ok("digest", "show", str(first)).out
    assert "+ m" in shown
    assert "«Invoices are kept for eleven years.» (from t1)" in shown
    assert "I keep what the law asks for." in tenon.ok("digest", "show", str(second)).out
    assert "eleven years" in tenon.ok("recall", "how long are invoices kept").out

    undone = tenon.ok("digest", "undo", str(first), "--again").out
    assert "is closed, and no digest writes it again" in undone
    assert f"Digest {first} is undone." in undone
    again = digest(tenon)
    assert (0, 1) == (again["memories_written"], again["operations_refused"])
    assert "was undone already" in tenon("digest", "undo", str(first)).err


def test_the_log_leaves_out_what_plain_code_spotted_unless_that_is_all_there_is(tenon: Tenon, api: MessagesApi) -> None:
    """It says how often, --all shows it, and at 60 columns the repository is whole, below each."""
    alone = tenon.ok("digest", "log")
    assert (True, "") == ("  spotting  " in alone.out, alone.err)
    digest(tenon)
    few, all_of_them, newest = tenon.ok("digest", "log"), tenon.ok("digest", "log", "--all"), tenon.ok("digest", "log", "--limit", "1")

    assert (["reflection", "consolidation"], True) == ([line.split()[4] for line in few.out.splitlines() if "applied" in line], "spotting" in all_of_them.out)
    assert ["Left out: 1 time that plain code spotted something; --all shows them too.\n", "", ""] == [few.err, all_of_them.err, newest.err]
    told = StringIO()
    with db.open_reader(str(tenon.home / ".tenon" / "agents" / "default" / "tenon.db")) as store:
        cli_digests._table(store, digests.newest(store, 9), Out(told, told, wide=60, room=60))
        where = places.key(store, digests.newest(store, 9)[1].repository)
    lines = told.getvalue().splitlines()
    assert where in " ".join(told.getvalue().split())
    assert [] == [line for line in lines if len(line) > 60 and len(line.split()) > 1 or "…" in line]


def test_the_log_says_what_a_digest_cost_at_least(tenon: Tenon, api: MessagesApi) -> None:
    """Where one of its requests reported no price."""
    digest(tenon)
    path = str(tenon.home / ".tenon" / "agents" / "default" / "tenon.db")
    with db.open_store(path) as store:
        number = digests.newest(store, 1)[0].id
        row = spending.reserve(store, purpose="reflection", runner="claude", model="x", tokens=9, cap=10**9, now=time.time(), digest=number)
        spending.report(store, int(row or 0), model="x", input_tokens=100, output_tokens=0, dollars=0.25)

    assert " tokens (at least $0.25)" in " ".join(tenon.ok("digest", "log").out.split())


def test_the_meter_is_the_sum_of_what_the_api_reported(tenon: Tenon, api: MessagesApi) -> None:
    """In status, in doctor and in the store."""
    digest(tenon)
    path = tenon.home / ".tenon" / "agents" / "default" / "tenon.db"
    with db.open_reader(str(path)) as store:
        spent = spending.between(store, 0, 2**40)
        assert {"applied"} == {one.state for one in digests.newest(store, 9)}
    status = tenon.ok("status", "--json").records[0]["digest"]["today"]
    assert (2, spent.tokens, 0) == (status["requests"], status["tokens"], status["unreported"])
    assert f"{spent.tokens:,} of 200,000 tokens" in tenon("doctor").out
    used = [request.usage or {} for request in api.requests]
    reported = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")
    assert 2 == len(used)
    assert [sum(one[name] for one in used) for name in reported] == [status[name] for name in ("input", "cache_written", "cache_read", "output")]


def test_a_dry_run_changes_nothing_and_asks_nobody(tenon: Tenon, api: MessagesApi) -> None:
    """It says how much waits and what it would cost."""
    path = tenon.home / ".tenon" / "agents" / "default" / "tenon.db"
    tenon.ok("status")
    before = path.read_bytes()
    done = tenon.ok("digest", "--dry-run", "--runner", "api")

    assert "2 turns, about " in done.out
    assert "2 requests to haiku, some " in done.out
    assert "under a cent at list price" in done.out
    assert "Nobody was asked, nothing was changed" in done.err
    assert (before, []) == (path.read_bytes(), api.requests)


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (replies.error("Overloaded", 529, type="overloaded_error"), ""),
        (replies.error("invalid x-api-key", 401, type="authentication_error"), ""),
        (replies.error("prompt is too long: 9 tokens > 8 maximum"), ""),
        ("Certainly! I have written all memories.", "not one whole JSON object"),
        ('{"operations": [', "not one whole JSON object"),
    ],
)
def test_a_failed_digest_ends_with_1_says_why_and_leaves_everything_waiting(tenon: Tenon, api: MessagesApi, said: Any, why: str) -> None:
    """The next one succeeds."""
    api.script = [said] * 8
    done = tenon("digest", "--runner", "api")

    assert 1 == done.code, done.err
    assert why in done.err
    assert "failed" in tenon.ok("digest", "log").out
    assert 2 == tenon.ok("status", "--json").records[0]["pending"]["turns"]
    assert "in a row failed" in tenon("doctor").out
    api.script = spoken
    assert 0 == digest(tenon)["failed"]
    assert "in a row failed" not in tenon("doctor").out


def test_nothing_runs_in_the_background_until_the_user_agrees(tenon: Tenon, api: MessagesApi) -> None:
    """`auto on` says what it costs and asks; without a terminal it wants --yes; `off` ends it."""
    tenon.ok("digest", "--background")
    assert [] == api.requests
    refused = tenon("digest", "auto", "on")
    assert (1, True) == (refused.code, "say --yes" in refused.err)
    agreed = tenon.ok("digest", "auto", "on", "--yes", "--runner", "api")
    assert "at most 200,000 tokens a day" in agreed.out
    assert "$0.32" in agreed.out
    assert {"digest.auto": True, "digest.runner": "api"} == json.loads((tenon.home / ".tenon" / "settings.json").read_text(encoding="utf-8"))
    assert "digest on, api/haiku" in tenon.ok("status").out
    assert "is off." in tenon.ok("digest", "auto", "off").out
    assert "is off already" in tenon.ok("digest", "auto", "off").out


def test_agreeing_puts_on_record_which_way_requests_go(tenon: Tenon, api: MessagesApi) -> None:
    """The names of the variables are told; said again it is recorded anew."""
    tenon.env["HTTPS_PROXY"] = "http://a:hunter2@b.example"
    told = tenon.ok("digest", "auto", "on", "--yes", "--runner", "api").out
    assert ("HTTPS_PROXY" in told, "hunter2" in told) == (True, False)
    tenon.env["ALL_PROXY"] = "http://c.example"
    tenon.ok("digest", "--background")
    assert "ALL_PROXY" in tenon("doctor").out
    again = tenon.ok("digest", "auto", "on").out
    assert ("is on already" in again, "ALL_PROXY" in again) == (True, True)


@pytest.mark.parametrize(
    "arguments",
    [
        ("digest", "auto", "on", "--yes"),
        ("config", "digest.daily_tokens", "300000"),
        ("config", "digest.model", "opus"),
        ("config", "digest.runner", "claude"),
        ("config", "recall.rerank", "on"),
        ("config", "upstream", "https://far.example"),
        ("config", "--unset", "digest.daily_tokens"),
    ],
)
def test_what_costs_money_is_not_for_a_model_to_say(tenon: Tenon, api: MessagesApi, arguments: tuple[str, ...]) -> None:
    """In a shell of Claude Code's it is refused, with the way; the user's terminal takes it."""
    tenon.ok("config", "digest.daily_tokens", "1000")
    tenon.ok("config", "digest.runner", "api")
    path = tenon.home / ".tenon" / "settings.json"
    before = path.read_bytes()
    tenon.env["CLAUDECODE"] = "1"
    refused = tenon(*arguments)
    assert (1, True, before) == (refused.code, "in a terminal of your own" in refused.err, path.read_bytes())
    for less in (("config", "digest.daily_tokens", "900"), ("config", "recall.rerank", "off"), ("digest", "auto", "off")):
        tenon.ok(*less)
    del tenon.env["CLAUDECODE"]
    tenon.ok(*arguments)


def test_a_turn_can_be_passed_over(tenon: Tenon, api: MessagesApi) -> None:
    """One that no model can answer to."""
    assert "2 turns passed over" in tenon.ok("digest", "skip", "t1", "t2").out
    assert "No turn of these waits" in tenon.ok("digest", "skip", "t1").out
    digest(tenon)
    assert not [request for request in api.requests if "<transcript>" in request.body["messages"][0]["content"]]


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("digest", "undo"), 2, "say which digest"),
        (("digest", "undo", "x"), 2, "say which digest"),
        (("digest", "undo", "7"), 1, "there is no digest 7"),
        (("digest", "show", "99999999999999999999"), 2, "say which digest"),
        (("digest", "auto"), 2, "auto on"),
        (("digest", "auto", "maybe"), 2, "auto on"),
        (("digest", "run", "7"), 2, "takes nothing more"),
        (("digest", "--again"), 2, "--again goes with undo"),
        (("digest", "log", "--dry-run"), 2, "--dry-run goes with run"),
        (("digest", "skip"), 2, "say which turns"),
        (("digest", "skip", "t999"), 1, "there is no turn"),
        (("digest", "dance"), 2, "it may be run, auto, log"),
        (("digest", "--runner", "carrier-pigeon"), 2, "it may be claude, api or ollama"),
    ],
)
def test_bad_input_is_refused_with_the_way_out(tenon: Tenon, api: MessagesApi, arguments: tuple[str, ...], code: int, said: str) -> None:
    """And asks nobody."""
    done = tenon(*arguments)
    assert (code, True) == (done.code, said in done.err), done.err
    assert [] == api.requests


def test_without_anybody_to_ask_the_way_out_is_told(tenon: Tenon, api: MessagesApi) -> None:
    """No key; and before anything is remembered there is nothing to digest."""
    del tenon.env["ANTHROPIC_API_KEY"]
    assert "ANTHROPIC_API_KEY" in tenon("digest", "--runner", "api").err
    assert "Nothing is remembered yet" in tenon.ok("--agent", "nobody", "digest").err


def test_the_key_and_the_words_are_in_no_file_of_tenons_but_the_store(tenon: Tenon, api: MessagesApi) -> None:
    """The key in none."""
    api.script = [replies.error(f"bad request near: We decided to keep invoices {KEY}")] * 4
    tenon("digest", "--runner", "api")
    for path in (tenon.home / ".tenon").rglob("*"):
        if path.is_file():
            data = path.read_bytes()
            assert KEY.encode() not in data, path
            assert path.name.startswith("tenon.db") or b"invoices" not in data, path


@pytest.mark.skipif(sys.platform == "win32", reason="Windows ends a process without a word")
def test_a_digest_that_is_told_to_end_lets_go(tenon: Tenon, api: MessagesApi) -> None:
    """Its digest has failed, nothing was consumed, and the next one begins at once."""
    api.script = [replies.reply(replies.text("{}"), ttft=60)]
    process = subprocess.Popen([PYTHON, "-I", "-S", DOOR, "digest", "--runner", "api"], cwd=tenon.project, env=tenon.environment(), stderr=subprocess.PIPE)
    api.wait_for(lambda seen: seen.requests, 30)
    process.terminate()
    process.communicate(timeout=30)

    assert 130 == process.returncode
    assert "it was interrupted" in tenon.ok("digest", "log").out
    api.script = spoken
    assert 0 == digest(tenon)["failed"]
