"""The proxy as a whole: where it is found, how it is doing, how it ends, and what it writes down."""

from __future__ import annotations

import hmac
import http.client
import json
import os
import signal
import socket
import stat
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

import tenon
from tenon.base import paths
from tenon.base.errors import TenonError
from tenon.proxy import record, server
from tenon.proxy.record import Line, Log
from tenon.proxy.server import Proxy
from tenon.world import proof
from tenon.world.upstream import Upstream
from tests.fakes.raw_upstream import CHUNKED, LAST, RawUpstream, Visit, chunk, whole
from tests.proxy.pipes import Pipe, Plan, Scripted, drained, files, proven, received, request

CLOSE = "Connection: close"


def state(pipe: Pipe) -> dict[str, Any]:
    """What the state file says, once it is there."""
    for _ in range(500):
        try:
            with open(pipe.proxy.state_path, encoding="utf-8") as file:
                found = dict(json.load(file))
        except FileNotFoundError:
            found = {}
        if found.get("token") == pipe.proxy.token:
            return found
        threading.Event().wait(0.01)
    raise AssertionError


def own(pipe: Pipe, path: str, method: str = "GET", token: str | None = None, *more: str) -> tuple[int, dict[str, Any]]:
    """Status and JSON of one of the proxy's own addresses."""
    answer = pipe.ask(request(b"", CLOSE, *([] if token == "" else proven(pipe, method, path, token)), *more, method=method, target=path))
    head, _, body = answer.partition(b"\r\n\r\n")
    return int(head.split()[1]), json.loads(body) if body else {}


def test_the_state_file_says_where_it_is_and_goes_with_it() -> None:
    """For the owner only."""
    with RawUpstream(b"") as upstream:
        with Pipe(upstream.url.replace("//", "//joe:hush@")) as pipe:
            found = state(pipe)
            path = os.path.join(paths.home(), "proxy.json")
            assert path == pipe.proxy.state_path
            if os.name == "posix":
                assert 0o600 == stat.S_IMODE(os.stat(path).st_mode)
            assert {"port", "pid", "token", "version", "root", "upstream", "started"} == set(found)
            assert (pipe.port, os.getpid(), tenon.__version__) == (found["port"], found["pid"], found["version"])
            assert f"http://***@127.0.0.1:{upstream.port}" == found["upstream"]
            assert os.path.isfile(os.path.join(found["root"], "scripts", "tenon", "proxy", "__main__.py"))
        assert not os.path.exists(path)


def test_the_state_file_s_time_is_the_heartbeat(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is written again when it is lost, left alone when it is another's, and without a home the proxy ends."""
    monkeypatch.setattr(server, "HEARTBEAT_S", 0.01)

    def becomes(true: Any) -> None:
        for _ in range(500):
            if true():
                return
            threading.Event().wait(0.01)
        raise AssertionError

    with RawUpstream(b"") as upstream, Pipe(upstream.url) as pipe:
        state(pipe)
        path = pipe.proxy.state_path
        os.utime(path, (1, 1))
        becomes(lambda: os.stat(path).st_mtime > 1)
        os.remove(path)
        becomes(lambda: os.path.exists(path))
        assert pipe.proxy.token == state(pipe)["token"]
        with open(path + ".other", "w", encoding="utf-8") as file:
            file.write("{}")
        os.utime(path + ".other", (1, 1))
        os.replace(path + ".other", path)
        pipe.proxy._beat()
        assert 1 == os.stat(path).st_mtime
    assert os.path.exists(path)
    with RawUpstream(b"") as upstream, Pipe(upstream.url) as pipe:
        state(pipe)
        os.rename(paths.home(), paths.home() + " removed")
        pipe.thread.join(5)
        assert not pipe.thread.is_alive()
    assert not os.path.exists(paths.home())


def test_its_threads_have_room_for_deep_json() -> None:
    """Whatever the system's own size is."""
    with RawUpstream(b"") as upstream, Pipe(upstream.url):
        assert 8 << 20 == threading.stack_size()


def test_a_proxy_without_the_digest_says_so() -> None:
    """And only then."""
    with RawUpstream(b"") as upstream, Pipe(upstream.url, digest=False) as pipe:
        assert True is own(pipe, "/_tenon/status")[1]["no_digest"]
        assert True is state(pipe)["no_digest"]


def test_the_arguments_say_what_holds_for_this_process() -> None:
    """In any order."""
    assert {"--port": 0, "--max-context": 300_000, "--no-digest": 1} == server._given(["--no-digest", "--max-context", "300000", "--port", "0"])


def test_a_port_that_is_taken_is_said_with_the_way_out() -> None:
    """And the one who has it keeps it."""
    with RawUpstream(b"") as upstream, Pipe(upstream.url) as pipe:
        with pytest.raises(TenonError, match=f"port {pipe.port} of this machine cannot be used .*`tenon config proxy.port`"):
            Proxy(("127.0.0.1", pipe.port), Upstream(upstream.url, {}), Scripted())


def test_a_proxy_is_not_its_own_upstream() -> None:
    """It would send to itself until the machine has no more sockets."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(TenonError, match="is this proxy itself"):
        Proxy(("127.0.0.1", port), Upstream(f"http://localhost:{port}", {}), Scripted())


def test_the_status_tells_how_it_is_doing() -> None:
    """Counts, conversations, errors; no secret."""
    with RawUpstream(lambda visit: visit.close() if visit.number > 1 else visit.send(whole(b"ok"))) as upstream, Pipe(upstream.url) as pipe:
        for _ in range(2):
            pipe.ask(request(b"{}", CLOSE))
        status, told = own(pipe, "/_tenon/status")
        assert 200 == status
        assert (2, 0, False, upstream.url, pipe.port, os.getpid()) == tuple(
            told[name] for name in ("requests", "in_flight", "stopping", "upstream", "port", "pid")
        )
        assert [{"session": "s1", "requests": 2}] == told["conversations"]
        assert ["got no answer from"] == [error["what"][:18] for error in told["errors"]]
        assert pipe.proxy.token not in json.dumps(told)


def test_the_answer_is_proven_to_who_asks_with_proof() -> None:
    """By a mark of the number that was sent; the token is in neither."""
    with RawUpstream(b"") as upstream, Pipe(upstream.url) as pipe:
        token, once = pipe.proxy.token, "0123456789abcdef" * 2
        for method, path, status in (("GET", "/_tenon/status", 200), ("HEAD", "/_tenon/status", 200), ("GET", "/_tenon/none", 404)):
            asked = [f"{name}: {value}" for name, value in proof.headers(token, once, pipe.port, method, path).items()]
            answer = pipe.ask(request(b"", CLOSE, *asked, method=method, target=path)).decode()
            assert [str(status)] == answer.split(" ")[1:2]
            assert f"\r\nX-Tenon-Proof: {hmac.new(token.encode(), b'answer ' + once.encode(), 'sha256').hexdigest()}\r\n" in answer
            assert token not in answer + " ".join(asked)


def test_a_proof_is_good_for_what_it_was_made_for_alone() -> None:
    """Not for another address, method, port or number, nor for a number that is none, nor twice in one request; the token itself is none."""
    path = "/_tenon/status"
    with RawUpstream(b"") as upstream, Pipe(upstream.url) as pipe:
        token, once = pipe.proxy.token, proof.nonce()
        right = proof.headers(token, once, pipe.port, "GET", path)
        wrong = [
            proof.headers(token, once, pipe.port, "GET", path + "?x"),
            proof.headers(token, once, pipe.port, "POST", path),
            proof.headers(token, once, pipe.port + 1, "GET", path),
            {**right, "X-Tenon-Nonce": proof.nonce()},
            proof.headers(token, once.upper() + "g", pipe.port, "GET", path),
            proof.headers(token, "", pipe.port, "GET", path),
            {**right, "Authorization": f"Bearer {token}"},
            {"Authorization": f"Bearer {token}"},
            {**right, "x-tenon-nonce": once},
            {**right, "Authorization": "Tenon é"},
        ]
        for headers in wrong:
            answer = pipe.ask(request(b"", CLOSE, *(f"{name}: {value}" for name, value in headers.items()), method="GET", target=path))
            assert answer.startswith(b"HTTP/1.1 401 "), headers
            assert b"x-tenon-proof" not in answer.lower()


@pytest.mark.parametrize("token", ["", "wrong", "é"])
@pytest.mark.parametrize(("method", "path"), [("GET", "/_tenon/status"), ("POST", "/_tenon/stop"), ("GET", "/_tenon/else")])
def test_without_the_token_nothing_is_told_or_done(token: str, method: str, path: str) -> None:
    """Nor is the request sent anywhere."""
    with RawUpstream(whole(b"ok")) as upstream, Pipe(upstream.url) as pipe:
        status, told = own(pipe, path, method, token)
        assert (401, "authentication_error") == (status, told["error"]["type"])
        assert not pipe.proxy.stopping
        assert [] == upstream.visits


@pytest.mark.parametrize(("method", "path"), [("GET", "/_tenon/stop"), ("POST", "/_tenon/status"), ("GET", "/_tenon/"), ("GET", "/_tenon/dashboard")])
def test_there_are_no_other_addresses_of_its_own(method: str, path: str) -> None:
    """And none of them goes upstream."""
    with RawUpstream(whole(b"ok")) as upstream, Pipe(upstream.url) as pipe:
        assert 404 == own(pipe, path, method)[0]
        assert [] == upstream.visits


def test_a_page_from_elsewhere_is_refused_even_with_the_token() -> None:
    """The checks come first."""
    with RawUpstream(b"") as upstream, Pipe(upstream.url) as pipe:
        assert 403 == own(pipe, "/_tenon/stop", "POST", None, "Origin: https://evil.example")[0]
        assert not pipe.proxy.stopping


def test_what_is_going_on_is_finished_before_it_stops() -> None:
    """Idle connections end at once, new ones are not taken, the stream goes on to its end."""
    go = threading.Event()

    def script(visit: Visit) -> None:
        visit.send(CHUNKED + chunk(b"begun"))
        go.wait(5)
        visit.send(LAST)

    with RawUpstream(script) as upstream, Pipe(upstream.url) as pipe, pipe.connect() as user, pipe.connect() as idle:
        user.sendall(request(b"{}"))
        received(user, chunk(b"begun"))
        assert (200, {"stopping": True, "in_flight": 1}) == own(pipe, "/_tenon/stop", "POST")
        assert b"" == idle.recv(1)
        with pytest.raises(ConnectionRefusedError):
            pipe.connect()
        assert not os.path.exists(pipe.proxy.state_path)
        assert pipe.thread.is_alive()
        go.set()
        assert LAST == drained(user)
        pipe.thread.join(5)
        assert not pipe.thread.is_alive()


def test_what_takes_too_long_is_broken_off() -> None:
    """For both sides; half an answer is not made to look whole."""
    left: list[bool] = []
    with RawUpstream(lambda visit: (visit.send(CHUNKED + chunk(b"half")), left.append(visit.wait_left()))[1]) as upstream:
        with Pipe(upstream.url, Scripted(lambda raw: Plan(raw, watch=True)), stop_s=0.05) as pipe, pipe.connect() as user:
            user.sendall(request(b"{}"))
            received(user, chunk(b"half"))
            pipe.proxy.ask_to_stop()
            assert b"" == drained(user)
            assert upstream.wait(lambda: left == [True])
            pipe.rewriter.plans[0].over.wait(5)
            assert ["abandoned"] == pipe.rewriter.plans[0].told


def test_the_log_has_a_line_for_each_request() -> None:
    """Its measures, not its contents: the query is left out."""
    with RawUpstream(whole(b"fine")) as upstream, Pipe(upstream.url, Scripted(lambda raw: Plan(raw, why="new\nconversation"))) as pipe:
        pipe.ask(request(b"{}", CLOSE, target="/agent/work/v1/messages?key=hush"))
        pipe.ask(request(b"", CLOSE, method="GET", target="/v1/models"))
        first, second = pipe.log()
    assert "POST /agent/work/v1/messages agent=work status=200 own_ms=" in first
    assert first.endswith("bytes=4 why=new?conversation")
    assert "GET /v1/models agent=default status=200 own_ms=" in second
    assert first[:2] == "20"
    assert "hush" not in first
    if os.name == "posix":
        assert 0o600 == stat.S_IMODE(os.stat(pipe.proxy.log.path).st_mode)


def test_the_status_tells_how_long_requests_are_held_up() -> None:
    """Those that are an agent's and went upstream; what the upstream takes is not ours."""
    with RawUpstream(whole(b"fine")) as upstream, Pipe(upstream.url, Scripted(lambda raw: Plan(raw, why="plain"))) as pipe:
        assert {"requests": 0, "median": None, "p95": None} == own(pipe, "/_tenon/status")[1]["own_s"]
        pipe.ask(request(b"{}", CLOSE))
        pipe.ask(request(b"{}", CLOSE))
        told = own(pipe, "/_tenon/status")[1]["own_s"]

    assert 2 == told["requests"]
    assert 0 < told["median"] <= told["p95"]


def test_time_upstream_is_not_held_against_the_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its own time ends as the request goes out, the first time that it does."""
    ticks = iter([0.0, 10.0, 10.25, 11.0])
    monkeypatch.setattr(record.time, "perf_counter", lambda: next(ticks))
    line = Line("POST", "/v1/messages", 0.0)
    line.received()
    line.sent()
    line.sent()
    line.answered(200)

    assert (0.25, 1.0) == (line.own_s, line.first_s)
    assert "own_ms=250.0 first_ms=1000.0" in line.text()


def test_the_log_keeps_one_older_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And is not larger than twice its limit."""
    monkeypatch.setattr(record, "LARGEST", 500)
    log = Log(str(tmp_path / "proxy.log"))
    for number in range(100):
        log.note(Line("GET", f"/{number}", 0.0))
    assert ["proxy.log", "proxy.log.1"] == sorted(os.listdir(tmp_path))
    assert all(os.path.getsize(tmp_path / name) < 700 for name in os.listdir(tmp_path))
    assert " /99 " in (tmp_path / "proxy.log").read_text(encoding="ascii").splitlines()[-1]


def test_a_log_that_cannot_be_written_stops_nothing(tmp_path: Path) -> None:
    """The request is what counts."""
    with RawUpstream(whole(b"ok")) as upstream, Pipe(upstream.url, log_path=str(tmp_path / "none" / "proxy.log")) as pipe:
        assert pipe.ask(request(b"{}", CLOSE)).endswith(b"ok")


def test_nothing_secret_and_nothing_said_is_written_down() -> None:
    """Not after answers, refusals, faults, hang-ups and failures: the whole home is searched."""
    secrets = [f"hush-{name}" for name in ("bearer", "key", "cookie", "proxy", "body", "answer", "query", "set", "fault", "url", "custom")]
    headers = [
        "Authorization: Bearer hush-bearer",
        "x-api-key: hush-key",
        "Cookie: a=hush-cookie",
        "Proxy-Authorization: Basic hush-proxy",
        "x-own: hush-custom",
    ]
    body = b'{"messages": [{"role": "user", "content": "hush-body"}]}'

    def script(visit: Visit) -> None:
        if visit.number == 1:
            visit.send(whole(b"hush-answer", "set-cookie: hush-set"))
        elif visit.number == 2:
            visit.send(whole(b"hush-answer", status="400 hush-answer"))
        elif visit.number == 3:
            visit.send(CHUNKED + chunk(b"hush-answer"))
            visit.close()
        elif visit.number == 4:
            visit.send(b"HTTP/1.1 hush-answer\r\n\r\n")
        else:
            visit.wait_left()

    class Failing(Plan):
        def answered(self, status: int, reader: Any) -> None:
            raise ValueError("hush-fault")

        refused = answered

    with (
        RawUpstream(script) as upstream,
        Pipe(upstream.url.replace("//", "//joe:hush-url@"), Scripted(lambda raw: Failing(raw, rewritten=True, watch=True))) as pipe,
    ):
        ask = request(body, *headers, CLOSE, target="/v1/messages?key=hush-query")
        for _ in range(4):
            pipe.ask(ask)
        with pipe.connect() as user:
            user.sendall(ask)
            upstream.wait(lambda: len(upstream.visits) == 5)
        pipe.ask(request(body, *headers, "Host: hush-body.example"))
        pipe.ask(request(body, *headers, target="/agent/hush-body!/x"))
        pipe.ask(b"hush-body hush-key\r\n\r\n")
        status, told = own(pipe, "/_tenon/status")
        assert 200 == status
        shown = json.dumps(told)
    with RawUpstream(b"") as closed:
        url = closed.url
    with Pipe(url.replace("//", "//joe:hush-url@")) as pipe:
        pipe.ask(ask)
        shown += json.dumps(own(pipe, "/_tenon/status")[1])
    found = files(paths.home())
    assert {"proxy.log", "faults.log"} == {os.path.basename(path) for path in found}
    for secret in secrets:
        assert secret not in shown
        for path, data in found.items():
            if (secret, os.path.basename(path)) != ("hush-body", "proxy.log"):
                assert secret.encode() not in data, path
    # The one word of it in the log was the name of an agent, in a path.
    assert 1 == sum(line.count(b"hush-body") for line in found[os.path.join(paths.home(), "proxy.log")].splitlines())


@pytest.mark.parametrize("how", ["signal", "address"])
def test_the_process_serves_and_ends_in_good_order(how: str, tmp_path: Path) -> None:
    """Started as it is installed, from a folder with any name; exit code 0, and nothing is left but its log."""
    if how == "signal" and os.name != "posix":
        pytest.skip("needs signals")
    entry = os.path.join(server.ROOT, "scripts", "tenon", "proxy", "__main__.py")
    folder = tmp_path / "é x"
    folder.mkdir()
    with RawUpstream(whole(b"ok")) as upstream:
        env = {**os.environ, "TENON_UPSTREAM": upstream.url}
        process = subprocess.Popen([sys.executable, "-I", "-S", entry, "--port", "0"], env=env, cwd=folder, stdin=subprocess.DEVNULL)
        path = os.path.join(paths.home(), "proxy.json")
        while not os.path.exists(path):
            assert process.poll() is None
            threading.Event().wait(0.02)
        with open(path, encoding="utf-8") as file:
            found = json.load(file)
        connection = http.client.HTTPConnection("127.0.0.1", found["port"])
        connection.request("GET", "/v1/models")
        assert b"ok" == connection.getresponse().read()
        if how == "signal":
            process.send_signal(signal.SIGTERM)
        else:
            connection.request("POST", "/_tenon/stop", headers=proof.headers(found["token"], proof.nonce(), found["port"], "POST", "/_tenon/stop"))
            assert 200 == connection.getresponse().status
        connection.close()
        assert 0 == process.wait(20)
    assert ["proxy.log"] == [os.path.basename(name) for name in files(paths.home())]


@pytest.mark.parametrize(
    ("arguments", "said"), [(["--port", "70000"], "the one argument is --port"), (["--port"], "the one argument"), (["x"], "the one argument")]
)
def test_what_cannot_be_started_is_said_in_a_sentence(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    """On standard error, with exit code 1."""
    assert 1 == server.run(arguments)
    assert said in capsys.readouterr().err
