"""The real Claude Code with the proxy on: through it, and answered all the same when it is dead, displaced or its plugin gone."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tenon.world import daemon
from tests.fakes import ports
from tests.fakes.claude_code import API_KEY
from tests.fakes.terminal import Terminal, has_tmux
from tests.live.user import User, until

pytestmark = pytest.mark.live
LOGGED_S = 2.0
QUICK_S = 60  # of the three minutes for which Claude Code tries a port where nobody listens


class Proxied:
    """A user who turned the proxy on."""

    def __init__(self, user: User) -> None:
        self.user = user
        self.claude = user.claude
        self.port = ports.free()
        self.claude.env.update(TENON_UPSTREAM=user.api.url, TENON_PROXY_PORT=str(self.port))
        del self.claude.env["ANTHROPIC_BASE_URL"]
        self.settings = self.claude.home / ".claude" / "settings.json"

    def tenon(self, *arguments: str) -> str:
        """What a command of Tenon says."""
        done = subprocess.run(
            [sys.executable, "-I", "-S", str(self.user.plugin / "bin" / "tenon"), *arguments],
            env=self.claude.env, cwd=self.claude.project, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=60,
        )  # fmt: skip
        assert 0 == done.returncode, done.stderr.decode()
        return done.stdout.decode()

    def asks(self, prompt: str, *args: str) -> tuple[str, str]:
        """Claude's answer to a prompt, and which way its last request went."""
        before, seen = self.relayed(), len(self.user.api.messages())
        done = self.claude.run(prompt, *args, timeout_s=QUICK_S)
        assert 0 == done.returncode, done.stdout + done.stderr
        assert len(self.user.api.messages()) > seen
        return done.stdout.strip(), self.way(before)

    def way(self, before: int) -> str:
        """Which way a message went; its line is in the log a moment after its answer."""
        return "through" if until(lambda: self.relayed() > before, LOGGED_S) else "direct"

    def relayed(self) -> int:
        """How many messages the proxy has relayed."""
        log = self.user.memory / "proxy.log"
        return log.read_text(encoding="utf-8").count(" POST /v1/messages ") if log.exists() else 0

    @property
    def process(self) -> int:
        """The proxy's process."""
        return int(json.loads((self.user.memory / "proxy.json").read_text(encoding="utf-8"))["pid"])

    @property
    def url(self) -> str:
        """The base URL in the settings."""
        return str(json.loads(self.settings.read_text(encoding="utf-8"))["env"]["ANTHROPIC_BASE_URL"])

    def kill(self) -> None:
        """Ends the proxy without giving it a chance to tidy up, and a while ago."""
        process, state = self.process, self.user.memory / "proxy.json"
        os.kill(process, signal.SIGTERM if os.name == "nt" else signal.SIGKILL)
        os.utime(state, (1.0, 1.0))


@pytest.fixture
def proxied(user: User) -> Iterator[Proxied]:
    """The plugin is installed, the proxy on; in the end it is turned off and ended, and the settings are what they were."""
    found = Proxied(user)
    before = found.settings.read_bytes()
    found.tenon("proxy", "on", "--yes")
    yield found
    gone = b"tenon@tenon" not in found.settings.read_bytes() or b'"tenon@tenon": true' not in found.settings.read_bytes()
    found.tenon("proxy", "off")
    found.tenon("stop")
    assert gone or before == found.settings.read_bytes()


def test_every_session_goes_through_and_the_proxy_outlives_them(proxied: Proxied) -> None:
    """One process for all; the address is in the settings alone."""
    process = proxied.process
    assert ("heard: good morning", "through") == proxied.asks("good morning")
    assert ("heard: good evening", "through") == proxied.asks("good evening", "--continue")
    assert process == proxied.process


def test_a_dead_proxy_is_started_by_the_next_session_and_stays(proxied: Proxied) -> None:
    """Before its first request; what the session started outlives it."""
    proxied.kill()
    assert ("heard: good morning", "through") == proxied.asks("good morning")
    process = proxied.process
    assert ("heard: good evening", "through") == proxied.asks("good evening")
    assert process == proxied.process


def test_a_displaced_proxy_costs_seconds_and_no_answer(proxied: Proxied) -> None:
    """Another program has the port: direct, and through again when it has gone."""
    proxied.tenon("stop")
    with ports.Stranger(proxied.port):
        assert ("heard: good morning", "direct") == proxied.asks("good morning")
        assert proxied.user.api.url == proxied.url
        assert ("heard: good noon", "direct") == proxied.asks("good noon")
    assert ("heard: good evening", "through") == proxied.asks("good evening")
    assert f"http://127.0.0.1:{proxied.port}" == proxied.url


def test_a_thief_of_a_dead_proxy_s_port_gets_no_request(proxied: Proxied) -> None:
    """It answers as the proxy did; the session goes directly, with its credentials."""
    token = json.loads((proxied.user.memory / "proxy.json").read_text(encoding="utf-8"))["token"]
    proxied.kill()
    until(lambda: not daemon.is_taken(proxied.port), 5)
    with ports.Thief(proxied.port) as thief:
        assert ("heard: good morning", "direct") == proxied.asks("good morning")
        assert proxied.user.api.url == proxied.url

    heard = b"".join(thief.heard).lower()
    assert [False] * 4 == [word.lower().encode() in heard for word in (token, API_KEY, "x-api-key", "good morning")]


@pytest.mark.parametrize("how", ["uninstall", "disable"])
def test_without_its_plugin_claude_code_answers_all_the_same(proxied: Proxied, how: str) -> None:
    """The guard puts the direct address in place."""
    done = proxied.claude.plugin(how, "tenon@tenon")
    assert 0 == done.returncode, done.stdout + done.stderr
    proxied.tenon("stop")

    assert ("heard: good morning", "direct") == proxied.asks("good morning")
    assert proxied.user.api.url == proxied.url


@pytest.mark.parametrize("code", [pytest.param(True, marks=pytest.mark.skipif(os.name == "nt", reason="claude is a .cmd there")), False])
def test_behind_a_company_s_proxy_a_session_goes_through(user: User, code: bool) -> None:
    """Which Claude Code would ask for 127.0.0.1 too, here one that nobody listens at; no_proxy in its settings spares it that."""
    found = Proxied(user)
    before, company = found.settings.read_bytes(), f"http://127.0.0.1:{ports.free()}"
    found.claude.env.update(HTTPS_PROXY=company, HTTP_PROXY=company, NO_PROXY="corp.example", TENON_CLAUDE=str(found.claude.binary))
    try:
        if code:
            said = found.tenon("code", "--", "-p", "good morning")
        else:
            found.tenon("proxy", "on", "--yes")
            said, _ = found.asks("good morning")
            found.tenon("proxy", "off")
    finally:
        found.tenon("stop")

    assert "heard: good morning" in said
    assert "/v1/messages agent=default status=200" in (user.memory / "proxy.log").read_text(encoding="utf-8")
    assert before == found.settings.read_bytes()


def test_off_a_session_goes_directly(proxied: Proxied) -> None:
    """Though the proxy still runs."""
    proxied.tenon("proxy", "off")
    proxied.claude.env["ANTHROPIC_BASE_URL"] = proxied.user.api.url

    assert ("heard: good morning", "direct") == proxied.asks("good morning")


@pytest.mark.skipif(not has_tmux(), reason="no tmux on this machine")
def test_a_session_that_goes_on_survives_what_befalls_the_proxy(proxied: Proxied) -> None:
    """At a terminal: dead, it is started by the next prompt; displaced, that prompt goes directly."""
    with Terminal([str(proxied.claude.binary)], proxied.claude.project, proxied.claude.env) as terminal:
        terminal.wait_for("❯")
        for number, (befalls, way) in enumerate(((lambda: None, "through"), (proxied.kill, "through"), (lambda: proxied.tenon("stop"), "through"))):
            befalls()
            before = proxied.relayed()
            terminal.enter(f"good morning number {number}")
            terminal.wait_for(f"heard: good morning number {number}", QUICK_S)
            assert way == proxied.way(before), number
        proxied.tenon("stop")
        with ports.Stranger(proxied.port):
            before = proxied.relayed()
            terminal.enter("good evening, all of you")
            terminal.wait_for("heard: good evening, all of you", QUICK_S)
            assert "direct" == proxied.way(before)
        terminal.enter("/exit")


@pytest.mark.skipif(os.name == "nt", reason="claude is a .cmd there")
def test_code_is_for_one_session_and_one_agent(user: User, tmp_path: Path) -> None:
    """By the proxy's address of that agent; the settings are untouched, and hooks keep to the same agent."""
    found = Proxied(user)
    before = found.settings.read_bytes()
    found.claude.env["TENON_CLAUDE"] = str(found.claude.binary)
    said = found.tenon("code", "--agent", "reviewer", "--", "-p", "good morning")
    log = (user.memory / "proxy.log").read_text(encoding="utf-8")
    found.tenon("stop")

    assert "heard: good morning" in said
    assert "/v1/messages agent=reviewer status=200" in log
    assert (["reviewer"], before) == (os.listdir(user.memory / "agents"), found.settings.read_bytes())
