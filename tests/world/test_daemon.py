"""The proxy as a process: started once, by whoever comes first, told apart from strangers, and ended."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tenon.base import paths
from tenon.base.errors import TenonError
from tenon.world import daemon
from tests.fakes import ports

ROOT = Path(__file__).resolve().parents[2]
UPSTREAM = "http://127.0.0.1:9"


@pytest.fixture
def port() -> Iterator[int]:
    """A free port; a proxy that was started is ended."""
    yield ports.free()
    daemon.stop()


def recorded() -> dict[str, object]:
    """What the proxy wrote of itself."""
    found: dict[str, object] = json.loads(Path(daemon.state_path()).read_text(encoding="utf-8"))
    return found


def died(port: int) -> str:
    """A proxy was killed and has left its file; its token."""
    state = daemon.start(port, upstream=UPSTREAM)
    os.kill(state.pid, signal.SIGTERM if os.name == "nt" else signal.SIGKILL)
    try:
        os.waitpid(state.pid, 0)
    except ChildProcessError:
        pass
    while daemon.is_taken(port):
        pass
    return state.token


def renumbered() -> None:
    """The file of the proxy names a process that is there, as when its number was given out again."""
    Path(daemon.state_path()).write_text(json.dumps({**recorded(), "pid": os.getpid()}), encoding="utf-8")


def test_none_runs_before_one_is_started(port: int) -> None:
    """And there is nothing to end."""
    assert (None, None) == (daemon.running(), daemon.stop())


def test_it_is_started_once(port: int) -> None:
    """The second start finds the first one's process, on its port."""
    first = daemon.start(port, upstream=UPSTREAM)
    second = daemon.start(ports.free(), upstream=UPSTREAM)

    assert (port, UPSTREAM) == (first.port, first.upstream.rstrip("/"))
    assert (first.pid, port) == (second.pid, second.port)
    assert 0 == first.busy


def test_what_it_writes_is_for_its_owner_alone(port: int) -> None:
    """The state with the token, and the log."""
    daemon.start(port, upstream=UPSTREAM)

    assert recorded()["token"]
    if os.name == "posix":
        assert [0o600, 0o600] == [os.stat(path).st_mode & 0o777 for path in (daemon.state_path(), daemon.log_path())]


def test_five_starters_at_once_make_one(port: int) -> None:
    """The others find the one that was fastest."""
    code = (
        "import sys; sys.path[:0] = sys.argv[1:2]\nfrom tenon.world import daemon\nprint(daemon.start(int(sys.argv[2]), upstream=sys.argv[3], wait_s=20).pid)"
    )
    command = [sys.executable, "-I", "-S", "-c", code, str(ROOT / "scripts"), str(port), UPSTREAM]
    with ThreadPoolExecutor(5) as pool:
        done = list(pool.map(lambda _: subprocess.run(command, capture_output=True, text=True, check=False, timeout=60), range(5)))

    assert [0] * 5 == [one.returncode for one in done], [one.stderr for one in done]
    assert {f"{recorded()['pid']}\n"} == {one.stdout for one in done}


def test_it_goes_on_when_its_starter_has_ended(port: int) -> None:
    """Its whole group of processes is ended with it."""
    code = "import sys; sys.path[:0] = sys.argv[1:2]\nfrom tenon.world import daemon\ndaemon.start(int(sys.argv[2]), upstream=sys.argv[3], wait_s=20)"
    with subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", code, str(ROOT / "scripts"), str(port), UPSTREAM], start_new_session=True
    ) as starter:  # fmt: skip
        assert 0 == starter.wait(60)
    if os.name == "posix":
        with pytest.raises(ProcessLookupError):
            os.killpg(starter.pid, 9)

    found = daemon.running()
    assert found is not None
    assert port == found.port


def test_another_program_on_the_port_is_a_sentence_with_the_way_out(port: int) -> None:
    """And it is not taken for ours, whatever it answers."""
    with ports.Stranger(port), pytest.raises(TenonError, match=f"port {port} is used by another program; .*tenon config proxy.port {port + 1}"):
        daemon.start(port, upstream=UPSTREAM)


@pytest.mark.parametrize("more", [(), ("X-Tenon-Proof: " + "0" * 64,), ("X-Tenon-Proof: ?", "X-Tenon-Proof:")])
def test_a_thief_of_the_port_is_neither_believed_nor_told_anything(port: int, more: tuple[str, ...]) -> None:
    """It answers as the proxy would, and hears no token, whether or not the proxy's process seems to be there."""
    token = died(port)
    with ports.Thief(port, *more) as thief:
        assert daemon.running() is None
        asked = len(thief.heard)
        renumbered()
        assert daemon.running() is None
        with pytest.raises(TenonError, match=f"port {port} is used by another program, which does not prove that it is Tenon's proxy; .*{port + 1}`"):
            daemon.start(port, upstream=UPSTREAM, wait_s=0.2)
        with pytest.raises(TenonError, match="is there and does not answer"):
            daemon.stop()
        os.utime(daemon.state_path(), (1, 1))
        assert daemon.stop() is None
        heard = b"".join(thief.heard)
    os.remove(daemon.state_path())

    assert (os.name != "posix", True) == (asked > 0, len(thief.heard) > asked)
    assert b"GET /_tenon/status" in heard
    assert (False, False) == (token.encode() in heard, b"Bearer" in heard)


def test_what_a_thief_heard_is_no_proof(port: int) -> None:
    """Sent back to it, or to the proxy that comes after."""
    died(port)
    renumbered()
    with ports.Thief(port) as thief:
        daemon.running()
        marks = [line for line in thief.heard[0].decode("ascii").split("\r\n") if line.startswith(("X-Tenon-Nonce: ", "Authorization: Tenon "))]
    assert 2 == len(marks)
    with ports.Thief(port, f"X-Tenon-Proof: {marks[1].split()[-1]}"):
        assert daemon.running() is None
    os.remove(daemon.state_path())
    daemon.start(port, upstream=UPSTREAM)
    with socket.create_connection(("127.0.0.1", port)) as door:
        door.sendall("\r\n".join(["GET /_tenon/status HTTP/1.0", *marks, "", ""]).encode("ascii"))
        assert door.recv(4096).startswith(b"HTTP/1.1 401 ")


def test_one_who_lets_wait_is_not_waited_for(port: int) -> None:
    """A byte now and then does not hold anybody up."""

    class Slow(ports.Thief):
        def answer(self, client: socket.socket) -> None:
            client.settimeout(5)
            try:
                while not over.wait(0.01):
                    client.sendall(b"H")
            except OSError:
                over.set()

    over = threading.Event()
    died(port)
    renumbered()
    with Slow(port):
        assert daemon.running(wait_s=0.2) is None
        assert over.wait(5)
    os.remove(daemon.state_path())


def test_a_port_that_another_user_has_is_not_asked(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the kernel tells."""
    if not os.path.exists("/proc/net/tcp"):
        pytest.skip("needs Linux")
    state = daemon.start(port, upstream=UPSTREAM)
    me = os.geteuid()
    with monkeypatch.context() as context:
        context.setattr(os, "geteuid", lambda: me + 1)
        assert daemon.running() is None
    assert (found := daemon.running()) is not None
    assert state.pid == found.pid


def test_one_that_ends_at_once_says_why(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The last line it wrote."""
    with pytest.raises(TenonError, match=r"the proxy ended at once \(exit 1: .*upstream must begin with http"):
        daemon.start(port, upstream="gopher://nowhere")


def test_ended_it_is_gone_at_once(port: int) -> None:
    """Its port is free and its file away; a new one can begin."""
    first = daemon.start(port, upstream=UPSTREAM)
    ended = daemon.stop()

    assert ended is not None
    assert (first.pid, None, False) == (ended.pid, daemon.running(), os.path.exists(daemon.state_path()))
    assert first.pid != daemon.start(port, upstream=UPSTREAM).pid


def test_an_older_one_is_replaced(port: int) -> None:
    """When it is idle."""
    first = daemon.start(port, upstream=UPSTREAM)
    text = Path(daemon.state_path()).read_text(encoding="utf-8")
    with open(daemon.state_path(), "r+", encoding="utf-8") as file:  # the same file, so that it stays the proxy's own
        file.write(text.replace(f'"version": "{first.version}"', '"version": "0.0.1"').ljust(len(text)))
    second = daemon.start(port, upstream=UPSTREAM)

    assert (True, first.version) == (first.pid != second.pid, second.version)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"port": "x"}', '{"port": 1}', "\x00"])
def test_a_state_that_is_not_whole_is_none(text: str) -> None:
    """Nobody is asked."""
    paths.make_private(paths.home())
    Path(daemon.state_path()).write_text(text, encoding="utf-8")

    assert (None, None) == (daemon.recorded(), daemon.running())


def test_it_gets_nothing_of_the_session_that_starts_it() -> None:
    """No address, no credential, no session, no agent; the rest as it is, and the upstream that was chosen."""
    given = {
        "ANTHROPIC_BASE_URL": "http://127.0.0.1:9000", "ANTHROPIC_API_KEY": "k", "ANTHROPIC_AUTH_TOKEN": "t", "ANTHROPIC_CUSTOM_HEADERS": "x: y",
        "CLAUDE_CODE_OAUTH_TOKEN": "t", "CLAUDE_CODE_SESSION_ID": "s", "CLAUDE_PROJECT_DIR": "/p", "CLAUDECODE": "1", "TENON_INSIDE": "1", "TENON_AGENT": "work",
        "CLAUDE_CONFIG_DIR": "/c", "HTTPS_PROXY": "http://p", "PATH": "/bin", "TENON_HOME": "/h",
    }  # fmt: skip
    kept = {"CLAUDE_CONFIG_DIR": "/c", "HTTPS_PROXY": "http://p", "PATH": "/bin", "TENON_HOME": "/h"}

    assert kept == daemon.environment(given)
    assert {**kept, "TENON_UPSTREAM": UPSTREAM} == daemon.environment(given, UPSTREAM)


@pytest.mark.parametrize("url", ["", "http://127.0.0.1:9000", "http://127.0.0.1:9000/agent/reviewer"])
def test_the_agent_of_one_session_is_not_everybody_s(url: str) -> None:
    """Whether `tenon code` chose it or the user's own shell."""
    assert {} == daemon.environment({"TENON_AGENT": "reviewer", "ANTHROPIC_BASE_URL": url})


def test_what_is_given_for_once_is_in_its_environment(port: int, tmp_path: Path) -> None:
    """Where it goes before settings.json."""
    state = daemon.start(port, max_context=123_456, upstream=UPSTREAM)
    environ = Path(f"/proc/{state.pid}/environ")
    if not environ.exists():
        pytest.skip("no /proc on this system")

    assert "TENON_PROXY_MAX_CONTEXT=123456" in environ.read_text(encoding="utf-8").split("\0")
