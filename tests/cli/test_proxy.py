"""The verbs of the proxy: start, stop, proxy, code, logs, and what status, doctor and uninstall say of it."""

from __future__ import annotations

import json
import os
import stat
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tenon import __version__
from tenon.cli import code, standing
from tenon.cli.standing import Bypassed, Standing
from tenon.world.base_url import Switch
from tenon.world.daemon import State
from tests.cli.conftest import DOOR, PYTHON, Tenon
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
    assert "accepted for scripts: no background digest runs yet" in " ".join(user.ok("start", "--help").out.split())
    assert "It keeps what it was started with" in second.err


def test_a_taken_port_is_a_sentence(user: Tenon) -> None:
    """With the command that chooses another."""
    port = int(user.env["TENON_PROXY_PORT"])
    with ports.Stranger(port):
        done = user("start")

    assert (1, True) == (done.code, f"tenon config proxy.port {port + 1}" in done.err), done.err


def test_on_says_what_it_means_and_asks(user: Tenon) -> None:
    """Without a terminal and without --yes nothing is changed."""
    before = tree(user.home)
    done = user("proxy", "on")

    assert (1, True, before) == (done.code, "say --yes" in done.err, tree(user.home))
    for word in ("not read, not stored and not logged", "60,000 tokens", "does not endorse", "subscription login", "Remote Control", "ENABLE_TOOL_SEARCH=true"):
        assert word in done.out


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
    assert "used by every session" in status
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

    assert f"sends them on to {api.url}" in on.out.replace("\n  ", " ")
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

    assert "adds 127.0.0.1 to env.no_proxy" in on.out
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
@pytest.mark.parametrize(("typed", "agent"), [("2", "reviewer"), ("", "default"), ("new-one", "new-one")])
def test_on_a_terminal_the_agent_is_chosen(user: Tenon, typed: str, agent: str) -> None:
    """By number, by Enter, or by a new name, which begins it."""
    claude(user)
    user.ok("--agent", "reviewer", "write", "Reviewers like small changes")
    with Terminal([PYTHON, "-I", "-S", DOOR, "code"], user.project, {**user.environment(), "TERM": "xterm-256color"}) as terminal:
        terminal.wait_for("Which agent?")
        terminal.type(typed)
        terminal.keys("Enter")
        terminal.wait_for(f"/agent/{agent}")
