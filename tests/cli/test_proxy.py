"""The verbs of the proxy: start, stop, proxy, code, logs, and what status, doctor and uninstall say of it."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tenon import __version__
from tenon.base import paths
from tenon.base import settings as settings_module
from tenon.cli import code, proxy, standing
from tenon.cli.standing import Bypassed, Standing
from tenon.store import conversations, db
from tenon.world import base_url
from tenon.world.base_url import Switch
from tenon.world.daemon import State
from tests.cli.conftest import DOOR, PYTHON, ROOT, Tenon
from tests.cli.test_install import tree
from tests.fakes import ports
from tests.fakes.messages_api import MessagesApi
from tests.fakes.terminal import Terminal, has_tmux

ENABLED = '// mine\n{\n  "enabledPlugins": {"tenon@tenon": true}, // keep\n  "model": "opus"\n}'
FAKE_CLAUDE = """#!{python}
import json, os, sys
keys = ("ANTHROPIC_BASE_URL", "TENON_AGENT")
env = {{key: os.environ.get(key) for key in keys}}
print(json.dumps({{"arguments": sys.argv[1:], "env": env, "no_proxy": os.environ.get("no_proxy")}}))
sys.exit(7)
"""


@pytest.fixture
def api() -> Iterator[MessagesApi]:
    """The API, which is the upstream."""
    with MessagesApi() as started:
        yield started


@pytest.fixture
def user(tenon: Tenon, api: MessagesApi) -> Iterator[Tenon]:
    """A user with the plugin, whose proxy has a port of its own; it is ended."""
    settings(tenon).write_text(ENABLED, encoding="utf-8")
    tenon.env.update(TENON_PROXY_PORT=str(ports.free()), TENON_UPSTREAM=api.url)
    yield tenon
    tenon("stop")


def settings(tenon: Tenon) -> Path:
    """Claude Code's settings of the user."""
    path = tenon.home / ".claude" / "settings.json"
    path.parent.mkdir(exist_ok=True)
    return path


def url(tenon: Tenon) -> str:
    """Where the proxy of that user listens."""
    return f"http://127.0.0.1:{tenon.env['TENON_PROXY_PORT']}"


def value(tenon: Tenon) -> object:
    """The base URL in the settings."""
    return env(tenon).get("ANTHROPIC_BASE_URL")


def env(tenon: Tenon) -> dict[str, object]:
    """The variables in the settings; they are JSON but for one comment at a line's end and one at the top."""
    text = settings(tenon).read_text(encoding="utf-8").replace("// mine\n", "").replace(" // keep", "")
    found: dict[str, object] = json.loads(text).get("env", {})
    return found


def claude(tenon: Tenon) -> None:
    """A program named claude that says how it was started."""
    path = tenon.home / "bin é" / "claude"
    path.parent.mkdir()
    path.write_text(FAKE_CLAUDE.format(python=sys.executable), encoding="utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    tenon.env["PATH"] = f"{path.parent}{os.pathsep}{os.environ['PATH']}"


def started(tenon: Tenon, *arguments: str) -> dict[str, object]:
    """How claude was started by `tenon code`, and what was said before."""
    done = tenon("code", *arguments)
    assert 7 == done.code, done.err
    return {**json.loads(done.out), "said": done.err}


def test_start_says_how_to_use_it_and_stop_ends_it(user: Tenon) -> None:
    """Each twice over, with the same outcome."""
    first, second = user.ok("start"), user.ok("start")
    ended, again = user.ok("stop"), user.ok("stop")

    assert f"{url(user)} runs, and sends to {user.env['TENON_UPSTREAM']}" in first.out
    assert [True, True, True] == [word in first.out for word in ("tenon code", "tenon proxy on", f"{url(user)}/agent/default")]
    assert f"{url(user)} runs already" in second.out
    assert (f"{url(user)} has ended.\n", "The proxy does not run.\n") == (ended.out, again.out)


def test_start_takes_a_port_for_once(user: Tenon) -> None:
    """And names what it was started with when it runs already."""
    port = ports.free()
    first = user.ok("start", "--port", str(port), "--no-digest")
    second = user.ok("start", "--port", str(ports.free()))

    assert f"http://127.0.0.1:{port} runs, " in first.out
    assert "no background digest runs yet" in first.err
    assert "--no-digest" not in user.ok("start", "--help").out
    assert "It keeps what it was started with" in second.err


def test_a_taken_port_is_a_sentence(user: Tenon) -> None:
    """With the command that chooses another."""
    port = int(user.env["TENON_PROXY_PORT"])
    with ports.Stranger(port):
        done = user("start")

    assert (1, True) == (done.code, f"tenon config proxy.port {port + 1}" in done.err), done.err


def test_on_asks(user: Tenon) -> None:
    """Without a terminal and without --yes nothing is changed, and no more is said than that."""
    before = tree(user.home)
    done = user("proxy", "on")

    assert (1, "", True, before) == (done.code, done.out, "say --yes" in done.err, tree(user.home))


def test_on_with_a_taken_port_says_that_alone(user: Tenon) -> None:
    """What it would mean is told when it can be done."""
    with ports.Stranger(int(user.env["TENON_PROXY_PORT"])):
        done = user("proxy", "on", "--yes")

    assert (1, "", True) == (done.code, done.out, "is used by another program" in done.err)


@pytest.mark.parametrize("columns", [60, 80, 200])
def test_on_says_what_it_means(user: Tenon, columns: int) -> None:
    """As wide as the terminal, and nothing of what does not concern the user."""
    user.env["COLUMNS"] = str(columns)
    done = user.ok("proxy", "on", "--yes")
    told = " ".join(done.out.split())

    assert max(len(line) for line in done.out.split("\n\nOn.")[0].splitlines() if "/" not in line) < columns
    assert "company" not in told
    for word in (
        "not read, not stored and not logged",
        "past sessions of agent «default» in every repository (`tenon config proxy.scope repository`",
        "1.6 times",
        "does not endorse",
        "subscription login",
        "Remote Control",
        "ENABLE_TOOL_SEARCH=true",
    ):
        assert word in told


@pytest.mark.parametrize(
    ("chosen", "told"),
    [
        ({}, "sessions of agent «x» in every repository (`tenon config proxy.scope repository`: in this one alone), up to 60,000 tokens. With 60,000"),
        ({"proxy.scope": "repository", "proxy.trace_tokens": 9000}, "past sessions of agent «x» in the same repository, up to 9,000 tokens. With 60,000"),
        ({"proxy.trace_tokens": 0}, "No past sessions are put in front"),
    ],
)
def test_whose_sessions_are_put_in_front_is_said_with_its_price(chosen: dict[str, object], told: str) -> None:
    """One number, which the README has too."""
    paths.make_private(paths.home())
    Path(paths.settings_path()).write_text(json.dumps(chosen), encoding="utf-8")

    assert told in proxy.in_front("x", settings_module.load())
    assert "about 1.6 times as much" in proxy.MEASURED
    assert "90 requests costs about 1.6 times as much" in " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())


def test_on_and_off(user: Tenon, api: MessagesApi) -> None:
    """A request is proved first; off leaves the settings to the byte as they were and the proxy running."""
    on = user.ok("proxy", "on", "--yes")
    seen = [(request.method, request.path) for request in api.requests]
    between = (value(user), user.ok("proxy", "on").out)
    status = user.ok("proxy").out
    off = user.ok("proxy", "off")

    assert f"On. New sessions of Claude Code talk to {url(user)}" in on.out
    assert [("HEAD", "/")] == seen
    assert (url(user), f"The proxy is on already, at {url(user)}.\n") == between
    assert "used by every new session" in status
    assert f"Off: new sessions talk to {base_url.DEFAULT}.\n" in off.out
    assert "`tenon stop` ends it" in off.out
    assert ENABLED == settings(user).read_text(encoding="utf-8")
    assert "The proxy is not on.\n" == user.ok("proxy", "off").out
    assert "used by `tenon code` alone" in user.ok("proxy").out


def test_an_upstream_that_is_not_reached_changes_nothing(user: Tenon) -> None:
    """The sentence names it."""
    user.env["TENON_UPSTREAM"] = "http://127.0.0.1:9"
    done = user("proxy", "on", "--yes")

    assert (1, True) == (done.code, "http://127.0.0.1:9 cannot be reached through the proxy (it answered 502)" in done.err), done.err
    assert ENABLED == settings(user).read_text(encoding="utf-8")


def test_a_thief_of_the_port_is_another_program_to_every_verb(user: Tenon) -> None:
    """The proxy was killed, and something answers in its place: it is not started, used, asked to stop nor told anything."""
    user.written("something")
    user.ok("proxy", "on", "--yes")
    path = user.home / ".tenon" / "proxy.json"
    state = json.loads(path.read_text(encoding="utf-8"))
    user.ok("stop")
    path.write_text(json.dumps({**state, "pid": os.getpid()}), encoding="utf-8")
    os.utime(path, (1, 1))
    with ports.Thief(int(user.env["TENON_PROXY_PORT"])) as thief:
        start, on, stop = user("start"), user("proxy", "on"), user("stop")
        proxy = {check["check"]: check for check in user("doctor", "--json").records}["proxy"]
        status = user.ok("status", "--json").records[0]["proxy"]
    path.unlink()

    assert [1, 1] == [start.code, on.code]
    assert [True, True] == ["is used by another program, which does not prove that it is Tenon's proxy" in done.err for done in (start, on)]
    assert ("The proxy does not run.", "fail", False) == (stop.out.partition("\n")[0], proxy["state"], status["running"])
    assert "another program has port" in proxy["said"]
    assert thief.heard
    assert state["token"].encode() not in b"".join(thief.heard)


@pytest.mark.parametrize("verb", ["off", "off again", "uninstall", "uninstall of nothing", "doctor"])
def test_what_killed_commands_left_is_cleared_away(user: Tenon, verb: str) -> None:
    """A copy of the settings among it; the names of those at work are let be."""
    before = tree(user.home)
    if verb in ("off", "uninstall"):
        user.ok("proxy", "on", "--yes")
    ended = subprocess.Popen([PYTHON, "-I", "-S", "-c", ""])
    ended.wait()
    left = [
        user.home / ".claude" / f"settings.json.tenon-{ended.pid}",
        *(user.home / ".tenon" / f"{name}.json.{ended.pid}" for name in ("proxy-on", "install")),
    ]
    (user.home / ".tenon").mkdir(mode=0o700, exist_ok=True)
    for path in left:
        path.write_text('{"env": {"KEY": "hush"}}', encoding="utf-8")
        path.chmod(0o600)
        os.utime(path, (1, 1))
    if verb == "doctor":
        found = {check["check"]: check for check in user("doctor", "--json").records}["leavings"]
        assert ("warn", "tenon doctor --fix (removes it)") == (found["state"], found["mend"])
        done = user("doctor", "--fix")
        assert ("removed 3 files that a command left" in done.err, "leavings" in done.out) == (True, False)
    else:
        if verb.startswith("uninstall"):
            user.ok("uninstall", "--dry-run")
            assert all(path.exists() for path in left)
        done = user.ok("uninstall", "--yes") if verb.startswith("uninstall") else user.ok("proxy", "off")
        assert [True] * 3 == [f"{path}: left behind by a command that was ended in the middle; removed" in done.out for path in left]

    assert [False] * 3 == [path.exists() for path in left]
    assert verb in ("off", "off again", "doctor") or before == tree(user.home)


@pytest.mark.parametrize("inside", [True, False])
def test_a_base_url_that_was_there_becomes_the_upstream(user: Tenon, api: MessagesApi, inside: bool) -> None:
    """In the settings, where it comes back, or in the environment."""
    del user.env["TENON_UPSTREAM"]
    text = f'{{\n  "env": {{"ANTHROPIC_BASE_URL":  "{api.url}"}},\n  "enabledPlugins": {{"tenon@tenon": true}}\n}}\n' if inside else ENABLED
    settings(user).write_text(text, encoding="utf-8")
    if not inside:
        user.env["ANTHROPIC_BASE_URL"] = api.url
    on = user.ok("proxy", "on", "--yes")
    user.ok("stop")
    user.env.pop("ANTHROPIC_BASE_URL", None)
    again = user.ok("start")
    user.ok("proxy", "off")

    assert f"sends them on to {api.url}" in " ".join(on.out.split())
    assert f"sends to {api.url}" in again.out
    assert text == settings(user).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("text", "env", "sentence"),
    [
        ("{}", {}, "the plugin is not installed and enabled"),
        (ENABLED.replace('"model"', '"disableAllHooks": true, "model"'), {}, "disableAllHooks is set"),
        (ENABLED, {"CLAUDE_CODE_USE_BEDROCK": "1"}, "set to Amazon Bedrock"),
        (ENABLED.replace('"model"', '"env": {"CLAUDE_CODE_USE_VERTEX": "true"}, "model"'), {}, "set to Google Vertex"),
        (ENABLED, {"TENON_DISABLE": "1"}, "TENON_DISABLE is set"),
    ],
)
def test_on_refuses_where_it_could_not_work(user: Tenon, text: str, env: dict[str, str], sentence: str) -> None:
    """In a sentence; the settings are not touched and nothing is started."""
    settings(user).write_text(text, encoding="utf-8")
    user.env.update(env)
    done = user("proxy", "on", "--yes")

    assert (1, True, text) == (done.code, sentence in done.err, settings(user).read_text(encoding="utf-8")), done.err
    assert not (user.home / ".tenon").exists()


def test_another_port_moves_it(user: Tenon) -> None:
    """On again after the setting was changed; the upstream stays."""
    user.ok("proxy", "on", "--yes")
    user.env["TENON_PROXY_PORT"] = str(ports.free())
    user.ok("proxy", "on", "--yes")

    assert url(user) == value(user)
    user.ok("proxy", "off")
    assert ENABLED == settings(user).read_text(encoding="utf-8")


@pytest.mark.parametrize("inside", [False, True])
def test_behind_a_company_s_proxy_this_machine_is_named_as_none_of_its_business(user: Tenon, inside: bool) -> None:
    """Wherever that one is set, and also when it came after; what stood there before comes back."""
    company = {"HTTPS_PROXY": "http://127.0.0.1:9", "NO_PROXY": "corp.example"}
    text = ENABLED.replace('"model"', f'"env": {json.dumps({**company, "no_proxy": ".lan"})}, "model"') if inside else ENABLED
    settings(user).write_text(text, encoding="utf-8")
    if not inside:
        user.ok("proxy", "on", "--yes")
        user.env.update(company)
        found = {check["check"]: check for check in user("doctor", "--json").records}["company proxy"]
        assert ("fail", "tenon proxy on (adds it)") == (found["state"], found["mend"])
    on = user.ok("proxy", "on", "--yes")

    assert "adds 127.0.0.1 to env.no_proxy" in " ".join(on.out.split())
    assert {"no_proxy": f"{'.lan' if inside else 'corp.example'},127.0.0.1,localhost", "ANTHROPIC_BASE_URL": url(user)}.items() <= env(user).items()
    assert "is on already" in user.ok("proxy", "on").out
    assert "company proxy" not in [check["check"] for check in user("doctor", "--json").records]
    user.ok("proxy", "off")
    assert text == settings(user).read_text(encoding="utf-8")


def test_without_a_company_s_proxy_no_list_is_made(user: Tenon) -> None:
    """It would hold for whatever else Claude Code starts."""
    user.env["NO_PROXY"] = "corp.example"
    user.ok("proxy", "on", "--yes")

    assert ["ANTHROPIC_BASE_URL", "ENABLE_TOOL_SEARCH"] == sorted(env(user))


def test_uninstall_takes_back_the_list_too(user: Tenon) -> None:
    """One that was the user's is theirs again."""
    user.env["https_proxy"] = "http://127.0.0.1:9"
    settings(user).write_text(ENABLED.replace('"model"', '"env": {"no_proxy": ".lan"}, "model"'), encoding="utf-8")
    before = tree(user.home)
    user.ok("install", "--yes")
    user.ok("proxy", "on", "--yes")
    user.ok("uninstall", "--yes")

    assert before == tree(user.home)


def test_uninstall_turns_it_off_and_ends_it(user: Tenon) -> None:
    """With or without an install before or after; the home is as it was."""
    before = tree(user.home)
    user.ok("proxy", "on", "--yes")
    user.ok("install", "--yes")
    dry = user.ok("uninstall", "--dry-run").out
    done = user.ok("uninstall", "--yes").out

    assert "the proxy would be turned off and ended" in dry
    assert "the proxy is off and has ended" in done
    assert before == tree(user.home)


def test_uninstall_takes_back_what_was_installed_around_it(user: Tenon) -> None:
    """Installed first, the proxy on last."""
    before = tree(user.home)
    user.ok("install", "--yes")
    user.ok("proxy", "on", "--yes")
    user.ok("uninstall", "--yes")

    assert before == tree(user.home)


@pytest.mark.skipif(os.name == "nt", reason="a program by its first line")
class TestCode:
    """`tenon code` and the program it starts."""

    def test_claude_is_sent_through_the_proxy_of_the_agent(self, user: Tenon) -> None:
        """By its settings, which go before the shell's environment; its arguments and exit code are its own."""
        claude(user)
        found = started(user, "--agent", "reviewer", "--", "--continue", "-p", "hello -- you", "--", "--agent", "x")
        address = f"{url(user)}/agent/reviewer"
        arguments = found["arguments"]
        assert isinstance(arguments, list)

        assert "--settings" == arguments[0]
        assert {"env": {"ANTHROPIC_BASE_URL": address, "TENON_AGENT": "reviewer"}} == json.loads(arguments[1])
        assert ["--continue", "-p", "hello -- you", "--", "--agent", "x"] == arguments[2:]
        assert {"ANTHROPIC_BASE_URL": address, "TENON_AGENT": "reviewer"} == found["env"]
        assert ENABLED == settings(user).read_text(encoding="utf-8")

    def test_an_agent_that_begins_is_told(self, user: Tenon) -> None:
        """A name that was mistyped shows itself so."""
        claude(user)
        user.ok("--agent", "reviewer", "write", "Reviewers like small changes")
        new, known = started(user, "--agent", "reveiwer")["said"], started(user, "--agent", "reviewer")["said"]

        assert ("There was no agent «reveiwer» yet; it begins with this session, knowing nothing.\n", "") == (new, known)

    def test_off_a_terminal_the_settings_name_the_agent(self, user: Tenon) -> None:
        """Nobody is asked."""
        claude(user)
        user.env["TENON_AGENT"] = "mine"

        assert {"ANTHROPIC_BASE_URL": f"{url(user)}/agent/mine", "TENON_AGENT": "mine"} == started(user)["env"]

    def test_settings_of_the_user_are_kept(self, user: Tenon) -> None:
        """JSON is merged; a file is left alone, which is said."""
        claude(user)
        merged = started(user, "--", '--settings={"model": "opus", "env": {"A": "1"}}', "-c")["arguments"]
        file = started(user, "--", "--settings", "/x/y.json")
        assert isinstance(merged, list)

        address = f"{url(user)}/agent/default"
        assert {"model": "opus", "env": {"A": "1", "ANTHROPIC_BASE_URL": address, "TENON_AGENT": "default"}} == json.loads(merged[1])
        assert (["-c"], ["--settings", "/x/y.json"], True) == (merged[2:], file["arguments"], "names a file" in str(file["said"]))

    def test_behind_a_company_s_proxy_it_reaches_this_machine(self, user: Tenon) -> None:
        """The list that holds is kept: the one given with --settings, else the user's own, else the environment's."""
        claude(user)
        user.env.update(HTTP_PROXY="http://127.0.0.1:9", no_proxy="corp.example")
        plain = started(user)["arguments"]
        settings(user).write_text(ENABLED.replace('"model"', '"env": {"no_proxy": ".lan"}, "model"'), encoding="utf-8")
        own = started(user)["arguments"]
        given = started(user, "--", "--settings", '{"env": {"no_proxy": "x.example"}}')["arguments"]
        named = started(user, "--", "--settings", '{"env": {"no_proxy": "127.0.0.1"}}')["arguments"]
        file = started(user, "--", "--settings", "/x/y.json")

        lists = [json.loads(found[1])["env"]["no_proxy"] for found in (plain, own, given, named) if isinstance(found, list)]
        assert ["corp.example,127.0.0.1,localhost", ".lan,127.0.0.1,localhost", "x.example,127.0.0.1,localhost", "127.0.0.1"] == lists
        assert ".lan,127.0.0.1,localhost" == file["no_proxy"]

    def test_without_a_proxy_claude_starts_all_the_same(self, user: Tenon) -> None:
        """The reason is said."""
        claude(user)
        with ports.Stranger(int(user.env["TENON_PROXY_PORT"])):
            found = started(user, "--", "-c")

        assert ["-c"] == found["arguments"]
        assert "Claude Code starts without the proxy: port" in str(found["said"])
        assert {"ANTHROPIC_BASE_URL": None, "TENON_AGENT": "default"} == found["env"]

    def test_a_cloud_needs_no_proxy(self, user: Tenon) -> None:
        """Nothing is started."""
        claude(user)
        user.env["CLAUDE_CODE_USE_BEDROCK"] = "1"

        assert "the proxy is not used; hooks are" in str(started(user)["said"])
        assert not (user.home / ".tenon").exists()

    def test_a_proxy_for_somewhere_else_is_not_used(self, user: Tenon) -> None:
        """Credentials for one address do not go to another."""
        claude(user)
        user.ok("start")
        user.env["TENON_UPSTREAM"] = "https://gateway.example"

        assert "you use https://gateway.example; `tenon stop`, then try again" in str(started(user)["said"])

    def test_no_claude_is_a_sentence(self, user: Tenon) -> None:
        """Nothing is started for nobody."""
        user.env["TENON_CLAUDE"] = "/nowhere/claude"
        done = user("code")

        assert (1, "tenon code: TENON_CLAUDE names /nowhere/claude, which cannot be started\n") == (done.code, done.err)
        assert not (user.home / ".tenon").exists()

    @pytest.mark.parametrize("name", ["../evil", "A", "ä"])
    def test_a_name_that_is_none_is_refused(self, user: Tenon, name: str) -> None:
        """Before anything is done."""
        claude(user)

        assert (1, True) == ((done := user("code", "--agent", name)).code, "is not an agent name" in done.err)


def test_settings_that_are_no_object_are_the_user_s() -> None:
    """As is a flag without its value."""
    own = {"A": "1"}

    assert [None, None, None] == [code.merge(given, own) for given in (["--settings", "[1]"], ["--settings"], ["--settings", "{"])]


def test_the_report_holds_nothing_that_is_nobody_s_business(user: Tenon) -> None:
    """Keys and the home folder are taken out; versions, changed settings, requests and faults are there."""
    claude(user)
    user.env["TENON_UPSTREAM"] = "http://me:hunter2secret@127.0.0.1:9/base?key=sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789"
    home = user.home / ".tenon"
    home.mkdir(mode=0o700)
    key = "sk-ant-api03-" + "Ab1" * 20
    (home / "proxy.log").write_text(f"2026-11-30T10:00:00Z POST /v1/messages agent=default status=502 why={key}\n", encoding="utf-8")
    (home / "faults.log").write_text(
        json.dumps({"at": 1.0, "door": "Stop", "error": "E", "said": f"no {user.home}/x", "place": "a.py:1"}) + "\n", encoding="utf-8"
    )
    out = user.ok("logs").out

    assert [] == [secret for secret in (key, "hunter2secret", "abcdefghijklm", str(user.home)) if secret in out]
    for word in (f"tenon {__version__}, Python 3.", "upstream = http://127.0.0.1:9/base  (TENON_UPSTREAM)", "status=502", "Stop: E: no ~/x", "proxy:"):
        assert word in out


def test_status_has_the_proxy(user: Tenon) -> None:
    """For people and for programs."""
    user.written("something")
    off = user.ok("status").out
    user.ok("proxy", "on", "--yes")
    on = user.ok("status", "--json").records[0]["proxy"]

    assert "proxy:           off, and not running; `tenon code` uses it for one session, `tenon proxy on` for all" in off
    assert (True, True, url(user), __version__) == (on["on"], on["running"], on["url"], on["version"])


def test_status_claims_no_past_sessions_where_there_are_none(user: Tenon, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of each conversation it is counted what stands in front; settings that leave no room are named."""
    monkeypatch.setenv("TENON_HOME", str(user.home / ".tenon"))
    with db.open_store(paths.store_path("default")) as store:
        for at, tokens in enumerate((3000, 0)):
            found = conversations.begin(store, name=f"s{at}", client="c", folder="/p", repository=None, now=NOW + at, state="traced")
            with store.transaction():
                pieces = [conversations.add_piece(store, [b'{"role": "user", "content": []}'], tokens, 0)] if tokens else []
                conversations.add_epoch(store, found, why="start", skip=0, anchor="", strip=0, pieces=pieces, now=NOW)
            conversations.touch(store, found, now=NOW + at, tokens=22_111, text_bytes=80_000, per_token=3.6)
    roomy = user.ok("proxy")
    user.env["TENON_PROXY_MAX_CONTEXT"] = "20000"
    cramped = user.ok("proxy")
    warned = [check for check in user("doctor", "--json").records if check["check"] == "past sessions"]

    told = "1 of the last 2 of agent default with past sessions in front; 1 without any (none yet, no room, or forgotten since); the newest has about 22,111 tokens\n"
    assert (True, "") == (told in roomy.out, roomy.err)
    assert "past sessions: proxy.max_context is 20,000, and the newest conversation alone has about 22,111 tokens" in cramped.err
    assert ["warn"] == [check["state"] for check in warned]


def test_off_says_where_the_next_session_goes(user: Tenon) -> None:
    """The settings go before the shell's variable, and that before the API's own address."""
    user.ok("proxy", "on", "--yes")
    user.env["ANTHROPIC_BASE_URL"] = "https://gateway.example/x"
    shell = user.ok("proxy", "off").out
    user.ok("proxy", "on", "--yes")
    user.env["ANTHROPIC_BASE_URL"] = url(user)  # in a session of Claude Code that runs
    inside = user.ok("proxy", "off").out

    assert "Off: new sessions talk to https://gateway.example/x (ANTHROPIC_BASE_URL of this shell).\n" in shell
    assert f"Off: new sessions talk to {base_url.DEFAULT}.\n" in inside


def test_off_leaves_nothing_empty_in_settings_that_were_written_anew(user: Tenon) -> None:
    """As Claude Code does when a plugin is switched off and on."""
    settings(user).write_text('{"enabledPlugins": {"tenon@tenon": true}}', encoding="utf-8")
    user.ok("proxy", "on", "--yes")
    held = json.loads(settings(user).read_text(encoding="utf-8"))
    settings(user).write_text(json.dumps({**held, "model": "opus"}, indent=4), encoding="utf-8")
    user.ok("proxy", "off")

    assert {"enabledPlugins": {"tenon@tenon": True}, "model": "opus"} == json.loads(settings(user).read_text(encoding="utf-8"))


def test_a_dry_uninstall_names_the_base_url_that_comes_back(user: Tenon, api: MessagesApi) -> None:
    """Where the user had one."""
    del user.env["TENON_UPSTREAM"]
    settings(user).write_text(f'{{"env": {{"ANTHROPIC_BASE_URL": "{api.url}"}}, "enabledPlugins": {{"tenon@tenon": true}}}}', encoding="utf-8")
    user.ok("proxy", "on", "--yes")

    assert f"env.ANTHROPIC_BASE_URL in {settings(user)}: would be what it was before\n" in user.ok("uninstall", "--dry-run").out


def test_a_proxy_that_cannot_serve_is_told_as_it_is() -> None:
    """With the reason, and without a promise that the next session starts it."""
    told = standing.lines(replace(ON, state=None, detour="port 9000 is used by another program"), NOW)

    assert [
        ("proxy", "on, not used for now, and not running; each new session tries it again"),
        ("", "Claude Code talks to its API directly: port 9000 is used by another program"),
    ] == told


def test_a_setting_of_a_proxy_that_runs_says_when_it_holds(user: Tenon) -> None:
    """The port and the upstream are read when it starts."""
    before = user.ok("config", "upstream", "https://gateway.example").err
    user.ok("start")
    once = user.ok("config", "upstream", "https://gateway.example/b").err
    other = user.ok("config", "proxy.trace_tokens", "1000").err

    assert [False, True, False] == ["keeps what it was started with: `tenon stop`" in said for said in (before, once, other)]


def test_an_upstream_that_is_none_is_refused_before_anything_starts(user: Tenon) -> None:
    """Nothing goes to another place instead, and doctor says it too."""
    user.env["TENON_UPSTREAM"] = "gateway.example"
    started, on = user("start"), user("proxy", "on", "--yes")
    warned = {check["check"]: check["said"] for check in user("doctor", "--json").records}["settings"]

    assert [(1, True)] * 2 == [(done.code, "upstream (TENON_UPSTREAM) must be an address like https://gateway.example" in done.err) for done in (started, on)]
    assert "the proxy does not start with it" in warned


NOW = 1_796_100_000.0
URL, UPSTREAM = "http://127.0.0.1:9000", "https://api.anthropic.com"
STATE = State(9000, 1, "t", __version__, str(Path(__file__).parent), UPSTREAM, 1.0)
ON = Standing(9000, switch=Switch(URL, UPSTREAM, "/c/settings.json"), value=URL, state=STATE)


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (Standing(9000), ("proxy", "ok", "")),
        (ON, ("proxy", "ok", "")),
        (replace(ON, state=None), ("proxy", "warn", "tenon start")),
        (replace(ON, state=None, taken=True), ("proxy", "fail", "tenon config proxy.port 9001")),
        (replace(ON, state=None, value=UPSTREAM, detour="x"), ("proxy", "warn", "tenon proxy on")),
        (replace(ON, value="https://other.example"), ("base URL", "warn", "tenon proxy off")),
        (replace(ON, value=""), ("base URL", "warn", "tenon proxy off")),
        (replace(ON, guarded=False), ("proxy guard", "fail", "tenon proxy on")),
        (replace(ON, blocked="HTTPS_PROXY"), ("company proxy", "fail", "tenon proxy on")),
        (replace(ON, hooks_off=True), ("proxy hooks", "fail", "disableAllHooks")),
        (replace(ON, state=State(9001, 1, "t", __version__, str(Path(__file__).parent), UPSTREAM, 1.0)), ("proxy", "fail", "tenon stop")),
        (replace(ON, state=State(9000, 1, "t", "0.0.1", "/gone", UPSTREAM, 1.0)), ("proxy version", "warn", "tenon stop")),
        (replace(ON, looked_at=9, bypassed=[Bypassed("refused", 2, 1.0)]), ("conversations", "warn", "tenon logs")),
        (replace(ON, wished=9055), ("proxy port", "warn", "tenon proxy on")),
        (replace(ON, cramped="proxy.max_context is 20,000"), ("past sessions", "warn", "tenon config --unset proxy.max_context (500,000)")),
        (replace(ON, problem="proxy-on.json cannot be read"), ("proxy", "fail", "tenon proxy off")),
    ],
)
def test_each_trouble_of_the_proxy_is_named_with_its_way_out(found: Standing, expected: tuple[str, str, str]) -> None:
    """And nothing else is."""
    ((name, state, said, way),) = standing.findings(found)

    assert expected[:2] == (name, state)
    assert (expected[2] in way, True) == (True, bool(said))


def test_an_address_is_shown_without_what_is_secret() -> None:
    """Name, password, query; and what is none is not shown at all."""
    told = ["https://me:pw@h.example:8443/p?key=1#x", "http://[::1]:9/", "https://x:y", "hunter2", ""]

    assert ["https://h.example:8443/p", "http://[::1]:9/", "(no address)", "(no address)", ""] == [standing.shown(url) for url in told]


@pytest.mark.skipif(not has_tmux(), reason="no tmux to sit at")
@pytest.mark.parametrize(
    ("typed", "agent"), [("2", "reviewer"), ("", "default"), ("new-one", "new-one"), ("7", "default"), ("No!", "default"), ("defualt", "default")]
)
def test_on_a_terminal_the_agent_is_chosen(user: Tenon, typed: str, agent: str) -> None:
    """By number, by Enter, or by a new name, which begins it when the user says so; what is none of these is asked for again."""
    claude(user)
    user.ok("--agent", "reviewer", "write", "Reviewers like small changes")
    with Terminal([PYTHON, "-I", "-S", DOOR, "code"], user.project, {**user.environment(), "TERM": "xterm-256color"}) as terminal:
        terminal.wait_for("Which agent?")
        terminal.type(typed)
        terminal.keys("Enter")
        if typed in ("new-one", "defualt"):
            terminal.wait_for(f"There is no agent «{typed}» yet. Begin it? [y/N]")
            terminal.type("y" if typed == agent else "n")
            terminal.keys("Enter")
        if typed in ("7", "No!", "defualt"):
            terminal.wait_for({"7": "There is no 7 in the list.", "No!": "is not an agent name"}.get(typed, "Begin it? [y/N] n"))
            terminal.keys("Enter")
        terminal.wait_for(f"/agent/{agent}")
        terminal.wait_for(f"Put in front: past sessions of agent «{agent}» in every repository")
