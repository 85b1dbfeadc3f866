"""The guard that outlives the plugin: run as Claude Code runs it, on real settings files."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tenon.world import base_url, claude_settings, daemon, guard, machine, record
from tenon.world.machine import Machine
from tests.fakes import ports
from tests.world.test_base_url import SHAPES, there, turned_off, written

UPSTREAM = "https://api.anthropic.com"
# Old ones too, where the machine has them; looked up in the real home, before a test has its own.
PYTHONS = [sys.executable, *(str(path) for path in sorted((Path.home() / ".pyenv" / "versions").glob("3.[678].*/bin/python3")))]
ENABLED = '{\n  "enabledPlugins": {\n    "tenon@tenon": true\n  }\n}\n'


@pytest.fixture
def here() -> Machine:
    """The machine of the test's home."""
    return machine.here()


@pytest.fixture(autouse=True)
def _impatient(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Claude Code does not read these settings, so the guard need not wait until it has; where old Pythons run it, it is the guard as it is."""
    if request.node.originalname != "test_old_pythons_run_it":
        quick = guard.TEXT.replace(f"SEEN_S = {guard_wait()}", "SEEN_S = 0.05")
        assert quick != guard.TEXT
        monkeypatch.setattr(guard, "TEXT", quick)


def guard_wait() -> str:
    """How long the guard waits for Claude Code, as its text has it."""
    return next(line.split()[2] for line in guard.TEXT.splitlines() if line.startswith("SEEN_S"))


@pytest.fixture
def port() -> Iterator[int]:
    """A free port; a proxy that was started is ended."""
    yield ports.free()
    daemon.stop()


def on(here: Machine, port: int) -> None:
    """The proxy is on, at that port."""
    base_url.on(here, record.load(here.tenon_home), daemon.address(port), UPSTREAM)


def run(here: Machine, python: str = sys.executable, **env: str) -> str:
    """What the guard says at the start of a session, started by the hook in the settings."""
    (hook,) = claude_settings.read(here.settings)["hooks"]["SessionStart"][-1]["hooks"]
    assert "python3" == hook["command"]
    done = subprocess.run([python, *hook["args"]], stdin=subprocess.DEVNULL, capture_output=True, env={**os.environ, **env}, timeout=40, check=False)
    assert (0, b"") == (done.returncode, done.stderr)
    return str(json.loads(done.stdout)["systemMessage"]) if done.stdout else ""


def test_it_is_small_and_of_the_standard_library() -> None:
    """Ninety lines at most; it needs nothing of Tenon's."""
    assert 92 >= guard.TEXT.count("\n")
    assert "tenon." not in [line.split()[1] + "." for line in guard.TEXT.splitlines() if line.startswith(("import", "from"))]


def test_a_proxy_that_answers_is_left_alone(here: Machine, port: int) -> None:
    """Whether or not the plugin is there; nothing is said."""
    path = written(here, "{}")
    on(here, port)
    before = there(path)
    daemon.start(port, upstream="http://127.0.0.1:9")

    assert ("", before) == (run(here), there(path))


@pytest.mark.parametrize("name", ["missing", "comments", "Windows", "four spaces, no end of line", "no space at all", "plain", "escaped", "with hooks"])
def test_without_plugin_and_proxy_the_direct_address_takes_its_place(here: Machine, port: int, name: str) -> None:
    """To the byte; off gives back the file as it was before."""
    path = written(here, SHAPES[name])
    before = there(path)
    on(here, port)
    through = there(path)
    message = run(here)
    around = there(path)

    assert through is not None
    url = daemon.address(port).encode()
    at = through.rindex(b'"' + url + b'"')
    assert through[:at] + b'"' + UPSTREAM.encode() + b'"' + through[at + len(url) + 2 :] == around
    assert ("Tenon's proxy does not run, so Claude Code talks to its API directly", "the plugin was gone, or did not start the proxy") == (
        message.partition(" from now on")[0],
        base_url.why_direct(),
    )
    assert "" == run(here)
    assert base_url.through()
    assert through == there(path)
    turned_off(here)
    assert before == there(path)


@pytest.mark.parametrize("python", PYTHONS)
def test_old_pythons_run_it(here: Machine, port: int, python: str) -> None:
    """Whatever `python3` is."""
    written(here, "{}")
    on(here, port)
    run(here, python)

    assert UPSTREAM == base_url.value(here.settings)


@pytest.mark.parametrize("text", [ENABLED.replace("true", "false"), '{\n  // "tenon@tenon": true\n  "enabledPlugins": {"other@x": true}\n}\n'])
def test_a_plugin_that_is_switched_off_is_none(here: Machine, port: int, text: str) -> None:
    """Also where only a comment names it."""
    written(here, text)
    on(here, port)
    run(here)

    assert UPSTREAM == base_url.value(here.settings)


def test_a_stranger_on_the_port_is_no_proxy(here: Machine, port: int) -> None:
    """Claude Code would send it its credentials."""
    written(here, "{}")
    on(here, port)
    with ports.Stranger(port):
        run(here)

    assert UPSTREAM == base_url.value(here.settings)


@pytest.mark.parametrize("more", [(), ("X-Tenon-Proof: " + "0" * 64,)])
def test_a_thief_of_the_proxy_s_port_is_no_proxy(here: Machine, port: int, more: tuple[str, ...]) -> None:
    """It answers as the proxy did, and hears no token."""
    written(here, "{}")
    on(here, port)
    daemon.start(port, upstream="http://127.0.0.1:9")
    state = json.loads(Path(daemon.state_path()).read_text(encoding="utf-8"))
    daemon.stop()
    Path(daemon.state_path()).write_text(json.dumps({**state, "pid": os.getpid()}), encoding="utf-8")
    with ports.Thief(port, *more) as thief:
        run(here)
    os.remove(daemon.state_path())

    assert UPSTREAM == base_url.value(here.settings)
    assert [True, False] == [word.encode() in b"".join(thief.heard) for word in ("HEAD /_tenon/status", state["token"])]


@pytest.mark.parametrize("state", ['{"token": 1, "pid": 1}', '{"token": "t", "pid": 99999999999999999999}', '{"token": "t"}', "[]"])
def test_a_proxy_s_file_that_is_odd_is_no_proxy(here: Machine, port: int, state: str) -> None:
    """And does not keep it from its work."""
    written(here, "{}")
    on(here, port)
    Path(daemon.state_path()).write_text(state, encoding="utf-8")
    with ports.Thief(port):
        run(here)
    os.remove(daemon.state_path())

    assert UPSTREAM == base_url.value(here.settings)


def test_the_plugin_s_own_hook_has_its_time(here: Machine, port: int) -> None:
    """It starts the proxy meanwhile, and the settings stay."""
    path = written(here, ENABLED)
    on(here, port)
    before = there(path)
    said: list[str] = []
    waiting = threading.Thread(target=lambda: said.append(run(here)))
    waiting.start()
    daemon.start(port, upstream="http://127.0.0.1:9")
    waiting.join(30)

    assert ([""], before) == (said, there(path))


def test_the_plugin_s_own_hook_may_have_stepped_around(here: Machine, port: int) -> None:
    """Then there is nothing left to do, and nothing is said twice."""
    written(here, ENABLED)
    on(here, port)
    said: list[str] = []
    waiting = threading.Thread(target=lambda: said.append(run(here)))
    waiting.start()
    base_url.direct("the port is taken")
    waiting.join(30)

    assert ([""], "the port is taken") == (said, base_url.why_direct())


@pytest.mark.slow
def test_a_plugin_whose_hook_does_nothing_is_not_waited_for_long(here: Machine, port: int) -> None:
    """Seven seconds; then the direct address."""
    written(here, ENABLED)
    on(here, port)
    run(here)

    assert UPSTREAM == base_url.value(here.settings)


def test_hooks_that_are_switched_off_are_not_waited_for(here: Machine, port: int) -> None:
    """And a session of Tenon's own has nothing to guard."""
    written(here, ENABLED)
    on(here, port)

    assert ("", daemon.address(port)) == (run(here, TENON_INSIDE="1"), base_url.value(here.settings))
    run(here, TENON_DISABLE="1")
    assert UPSTREAM == base_url.value(here.settings)


def test_nothing_it_finds_makes_it_fail(here: Machine, port: int) -> None:
    """Signs and settings that are broken, or gone."""
    path = written(here, "{}")
    on(here, port)
    (hook,) = claude_settings.read(here.settings)["hooks"]["SessionStart"][-1]["hooks"]
    for broken in (base_url.path(), str(path)):
        for text in ("{", "[]", "\x00"):
            Path(broken).write_text(text, encoding="utf-8")
            done = subprocess.run([sys.executable, *hook["args"]], capture_output=True, timeout=40, check=False)
            assert (0, b"", b"") == (done.returncode, done.stdout, done.stderr)
            assert text == Path(broken).read_text(encoding="utf-8")
