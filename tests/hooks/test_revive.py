"""While the proxy is on, hooks see to it that Claude Code has somebody to talk to."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tenon.store import memories
from tenon.world import base_url, daemon, guard, machine, record
from tests.fakes import ports
from tests.hooks.conftest import HOOK, ROOT

UPSTREAM = "http://127.0.0.1:9"
SETTINGS = '// mine\r\n{\r\n  "model": "opus"\r\n}'


@pytest.fixture
def port() -> Iterator[int]:
    """A free port; a proxy that was started is ended."""
    yield ports.free()
    daemon.stop()


@pytest.fixture
def on(port: int) -> Path:
    """The proxy is on and does not run; the user's settings."""
    here = machine.here()
    settings = Path(here.settings)
    settings.parent.mkdir(parents=True)
    settings.write_bytes(SETTINGS.encode())
    base_url.on(here, record.load(here.tenon_home), daemon.address(port), UPSTREAM)
    return settings


def beaten(age_s: float) -> None:
    """The proxy's file was touched so long ago."""
    status = os.stat(daemon.state_path())
    os.utime(daemon.state_path(), (status.st_atime - age_s, status.st_mtime - age_s))


@pytest.mark.parametrize("source", ["startup", "resume", "clear", "compact"])
def test_every_start_of_a_session_starts_the_proxy(fire, on, port, source) -> None:
    """Silently, at the address that Claude Code was told, with the upstream that was recorded, and it outlives the hook."""
    fired = fire("SessionStart", source=source, env={"ANTHROPIC_BASE_URL": daemon.address(port), "ANTHROPIC_API_KEY": "sk-x"})
    found = daemon.running()

    assert ("", 0) == (fired.output, fired.code)
    assert found is not None
    assert (port, UPSTREAM) == (found.port, found.upstream)


def test_off_it_is_nobody_s_business(fire, port) -> None:
    """Nothing is started, nothing is made."""
    fire("SessionStart", source="startup")
    fire("UserPromptSubmit", prompt="what is the retry budget of ours?")

    assert daemon.running() is None
    assert not os.path.exists(daemon.log_path())


@pytest.mark.parametrize("name", ["TENON_DISABLE", "TENON_INSIDE"])
def test_hooks_that_are_switched_off_start_nothing(fire, on, name) -> None:
    """A session of Tenon's own least of all."""
    fire("SessionStart", source="startup", env={name: "1"})

    assert daemon.running() is None


def test_a_taken_port_sends_claude_code_around_and_back(fire, on, port, store, repository) -> None:
    """In one change of the settings each, said once with the way out; memories come all the same."""
    memories.write(store, repository=repository, tier="long", kind="decision", text="We deploy on Tuesdays.", reason="agreed", now=1.0)
    through = on.read_bytes()
    with ports.Stranger(port):
        first = fire("SessionStart", source="startup")
        around = on.read_bytes()
        second = fire("SessionStart", source="startup")
        prompt = fire("UserPromptSubmit", prompt="do we deploy on Tuesdays or what?")
    third = fire("SessionStart", source="startup")

    assert f"port {port} is used by another program" in first.answer["systemMessage"]
    assert "`tenon proxy off` leaves it so" in first.answer["systemMessage"]
    assert "We deploy on Tuesdays." in first.context
    assert through.replace(daemon.address(port).encode(), UPSTREAM.encode()) == around
    assert [None, None] == [second.answer.get("systemMessage"), prompt.answer.get("systemMessage")]
    assert "serves again" in third.answer["systemMessage"]
    assert (through, None) == (on.read_bytes(), base_url.why_direct())


@pytest.mark.parametrize("alive", [False, True])
def test_a_thief_of_the_port_gets_nothing_from_the_hooks(fire, on, port, alive) -> None:
    """The proxy died, another program was faster and answers as it did: it is stepped around at a prompt or a start, and hears no token."""
    daemon.start(port, upstream=UPSTREAM)
    state = json.loads(Path(daemon.state_path()).read_text(encoding="utf-8"))
    daemon.stop()
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    state["pid"] = os.getpid() if alive else gone.pid  # a number may be given out again
    secrets = {"ANTHROPIC_API_KEY": "sk-hush", "ANTHROPIC_AUTH_TOKEN": "hush-too", "ANTHROPIC_BASE_URL": daemon.address(port)}
    with ports.Thief(port) as thief:
        for event in ("UserPromptSubmit", "SessionStart"):
            Path(daemon.state_path()).write_text(json.dumps(state), encoding="utf-8")
            beaten(60)
            fired = fire(event, prompt="what is our retry budget?", source="startup", env=secrets)
            assert f"port {port} is used by another program, which does not prove that it is Tenon's proxy" in fired.answer["systemMessage"]
            assert (UPSTREAM, True) == (base_url.value(str(on)), base_url.why_direct() is not None)
            assert base_url.through()
    os.remove(daemon.state_path())

    heard = b"".join(thief.heard)
    assert [False, False, False] == [word.encode() in heard for word in (state["token"], "hush", "Bearer")]
    assert (alive or os.name != "posix") == (b"GET /_tenon/status" in heard)


def test_the_guard_is_brought_up_to_date(fire, on, port) -> None:
    """One of an older version of the plugin might not understand the proxy."""
    Path(guard.path()).write_text("# older", encoding="utf-8")
    fire("SessionStart", source="startup")

    assert guard.is_current()


def test_a_proxy_that_cannot_start_is_stepped_around(fire, on, port) -> None:
    """The message has its last words, and the fault is noted."""
    fired = fire("SessionStart", source="startup", env={"TENON_UPSTREAM": "gopher://nowhere"})

    assert "the proxy ended at once" in fired.answer["systemMessage"]
    assert UPSTREAM == base_url.value(str(on))
    assert '"door": "proxy"' in Path(os.environ["TENON_HOME"], "faults.log").read_text(encoding="utf-8")


def test_one_on_another_port_is_no_help(fire, on, port) -> None:
    """It is named, with the way out."""
    other = daemon.start(ports.free(), upstream=UPSTREAM).port
    fired = fire("SessionStart", source="startup")

    assert f"it runs on port {other} and not on {port}; `tenon stop` ends that one" in fired.answer["systemMessage"]


def test_a_prompt_starts_a_proxy_that_died(fire, on, port, store, repository) -> None:
    """Its file is old, or its process gone; the prompt gets its memories."""
    memories.write(store, repository=repository, tier="long", kind="decision", text="The retry budget is seven attempts.", reason="agreed", now=1.0)
    daemon.start(port, upstream=UPSTREAM)
    left = Path(daemon.state_path()).read_bytes()
    daemon.stop()
    Path(daemon.state_path()).write_bytes(left)
    beaten(60)
    fired = fire("UserPromptSubmit", prompt="what is our retry budget?")
    found = daemon.running()

    assert found is not None
    assert (port, True, None) == (found.port, "seven attempts" in fired.context, fired.answer.get("systemMessage"))


@pytest.mark.skipif(os.name != "posix", reason="whether a process lives is asked where asking does not end it")
def test_a_process_that_is_gone_is_not_waited_for(fire, on, port) -> None:
    """Though its file is fresh."""
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    state = {"port": port, "pid": gone.pid, "token": "t", "version": "0.1.0", "root": str(ROOT), "upstream": UPSTREAM, "started": 1.0}
    Path(daemon.state_path()).write_text(json.dumps(state), encoding="utf-8")
    fire("UserPromptSubmit", prompt="what is our retry budget?")

    assert daemon.running() is not None


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="no /proc to ask")
def test_a_process_that_has_ended_unnoticed_is_not_waited_for(fire, on, port) -> None:
    """A zombie has a number and serves nobody."""
    with subprocess.Popen([sys.executable, "-c", ""]) as zombie:
        while b" Z " not in Path(f"/proc/{zombie.pid}/stat").read_bytes():
            pass
        Path(daemon.state_path()).write_text(json.dumps({"pid": zombie.pid, "port": port}), encoding="utf-8")
        fire("UserPromptSubmit", prompt="who may restart the staging database?")
        found = daemon.running()
    assert found is not None
    assert port == found.port


def test_a_prompt_steps_around_what_cannot_start(fire, on, port) -> None:
    """Also a slash command's or a short one, which is looked up nowhere."""
    with ports.Stranger(port):
        fired = fire("UserPromptSubmit", prompt="hm")

    assert "Claude Code talks to its API directly" in fired.answer["systemMessage"]
    assert UPSTREAM == base_url.value(str(on))


def test_a_healthy_proxy_costs_a_prompt_nothing(on, port, tmp_path) -> None:
    """No module is loaded for it, no process started and no connection made."""
    daemon.start(port, upstream=UPSTREAM)
    code = (
        "import sys\n"
        "def note(event, arguments):\n"
        "    if event.startswith(('subprocess.', 'os.exec', 'os.fork', 'os.posix_spawn', 'socket.')): print(event)\n"
        "sys.addaudithook(note)\n"
        f"sys.path[:0] = [{str(ROOT)!r}, {str(ROOT / 'scripts')!r}]\n"
        "import hooks.prompt\n"
        f"hooks.prompt.answer({{'prompt': 'where is the quick brown fox', 'session_id': 's', 'cwd': {str(tmp_path)!r}}})\n"
        "print(' '.join(name for name in sys.modules if 'revive' in name or 'world' in name or name in ('socket', 'subprocess')))\n"
    )
    done = subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=True)

    assert "\n" == done.stdout


def test_a_session_of_tenon_code_gets_its_proxy_back(fire, port) -> None:
    """By the address it was started with, at a prompt or a start; a port that is taken is said, with the way out."""
    env = {"ANTHROPIC_BASE_URL": f"{daemon.address(port)}/agent/reviewer", "TENON_UPSTREAM": UPSTREAM}
    fire("UserPromptSubmit", prompt="what is our retry budget?", env=env)
    first = daemon.running()
    daemon.stop()
    fire("SessionStart", source="clear", env=env)
    second = daemon.stop()
    with ports.Stranger(port):
        said = [fire(event, prompt="hm", source="clear", env=env).answer["systemMessage"] for event in ("UserPromptSubmit", "SessionStart")]

    assert first is not None
    assert second is not None
    assert [(port, UPSTREAM)] * 2 == [(found.port, found.upstream) for found in (first, second)]
    assert [True, True] == ["`claude --continue`" in message for message in said]


def test_a_folder_that_was_deleted_is_no_dead_end(fire, on, port) -> None:
    """What is on is found again in the settings."""
    shutil.rmtree(os.environ["TENON_HOME"])
    fire("SessionStart", source="startup", env={"ANTHROPIC_BASE_URL": daemon.address(port)})
    found = daemon.running()

    assert found is not None
    assert (port, UPSTREAM) == (found.port, found.upstream)


def test_somebody_else_s_proxy_on_this_machine_is_left_alone(fire, port) -> None:
    """Nothing is started at its port."""
    for url in (daemon.address(port), f"{daemon.address(port)}/agent/x"):
        for event in ("SessionStart", "UserPromptSubmit"):
            assert None is fire(event, source="startup", prompt="hello to you all", env={"ANTHROPIC_BASE_URL": url}).answer.get("systemMessage")

    assert daemon.running() is None


def test_a_plugin_in_another_place_takes_over(fire, on, port, tmp_path) -> None:
    """After an update: the proxy of a copy that is gone is replaced."""
    copy = tmp_path / "old"
    for part in ("hooks", "scripts"):
        shutil.copytree(ROOT / part, copy / part, ignore=shutil.ignore_patterns("__pycache__"))
    event = {"hook_event_name": "SessionStart", "session_id": "s", "cwd": str(tmp_path), "source": "startup"}
    subprocess.run([sys.executable, "-I", "-S", str(copy / "hooks" / HOOK.name)], input=json.dumps(event).encode(), check=True, timeout=30)
    old = daemon.running()
    shutil.rmtree(copy)
    fire("SessionStart", source="startup")
    new = daemon.running()

    assert old is not None
    assert new is not None
    assert (os.path.realpath(copy), os.path.realpath(ROOT)) == (os.path.realpath(old.root), os.path.realpath(new.root))
