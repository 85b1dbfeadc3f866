"""Requests reach the upstream as they came, answers come back as they are, and what breaks is seen to be broken."""

from __future__ import annotations

import base64
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tenon.base import settings
from tenon.base.errors import TenonError
from tenon.world import upstream as upstreams
from tenon.world.call import Abandoned, Call
from tenon.world.upstream import Answer, Broken, Unreachable, Upstream
from tests.fakes import certificate
from tests.fakes.connect_proxy import ConnectProxy
from tests.fakes.raw_upstream import CHUNKED, LAST, RawUpstream, Visit, chunk, whole

ASK = ("POST", "/v1/messages?beta=true", [("Host", "x"), ("Content-Length", "2")], b"{}")


To = Callable[..., Upstream]


@pytest.fixture
def to() -> Iterator[To]:
    """Makes upstreams, and closes what they kept."""
    made: list[Upstream] = []

    def make(url: str, env: dict[str, str] | None = None, **more: Any) -> Upstream:
        made.append(Upstream(url, env or {}, **more))
        return made[-1]

    yield make
    for upstream in made:
        upstream.close()


def read(answer: Answer) -> bytes:
    """The whole body."""
    return b"".join(iter(answer.read, b""))


def ask(upstream: Upstream, **more: Any) -> bytes:
    """The body of the answer to a small request, the connection given back."""
    answer = upstream.send(*ASK, **more)
    body = read(answer)
    answer.release()
    return body


def test_headers_arrive_in_their_order_and_spelling(to: To) -> None:
    """Ours stand where the client's stood; what is between neighbours only is gone."""
    headers = [
        ("HOST", "127.0.0.1:9000"), ("X-First", "a  b"), ("connection", "keep-alive, X-Private"), ("anthropic-Beta", "one,two"), ("X-Private", "1"),
        ("Authorization", "Bearer t"), ("transfer-encoding", "chunked"), ("TE", "trailers"), ("anthropic-beta", "three"), ("Proxy-Authorization", "no"),
        ("content-LENGTH", "9"), ("x-last", "é"), ("Keep-Alive", "timeout=5"), ("Upgrade", "h2c"),
    ]  # fmt: skip
    with RawUpstream(whole(b"ok")) as server:
        to(server.url).send("POST", "/v1/messages?beta=true", headers, b"{}").release()
        assert [
            "POST /v1/messages?beta=true HTTP/1.1", f"HOST: 127.0.0.1:{server.port}", "X-First: a  b", "anthropic-Beta: one,two", "Authorization: Bearer t",
            "anthropic-beta: three", "content-LENGTH: 2", "x-last: é",
        ] == server.visits[0].lines  # fmt: skip
        assert b"{}" == server.visits[0].body


def test_a_body_that_came_in_chunks_goes_on_with_its_length(to: To) -> None:
    """And a request without a body gets none."""
    with RawUpstream(whole(b"ok")) as server:
        upstream = to(server.url)
        upstream.send("POST", "/", [("Host", "x"), ("Transfer-Encoding", "chunked")], b"").release()
        upstream.send("GET", "/", [], b"").release()
        assert [["POST / HTTP/1.1", f"Host: 127.0.0.1:{server.port}", "Content-Length: 0"], ["GET / HTTP/1.1", f"Host: 127.0.0.1:{server.port}"]] == [
            visit.lines for visit in server.visits
        ]


@pytest.mark.parametrize("end", ["", "/", "/gate/way", "/gate/way/"])
def test_a_base_path_stands_in_front(to: To, end: str) -> None:
    """With or without a slash at its end."""
    with RawUpstream(whole(b"ok")) as server:
        ask(to(server.url + end))
        assert f"POST {end.rstrip('/')}/v1/messages?beta=true HTTP/1.1" == server.visits[0].lines[0]


def test_a_name_and_password_in_the_address_are_sent_and_never_shown(to: To) -> None:
    """As basic credentials, unless the client has its own."""
    with RawUpstream(whole(b"ok")) as server:
        upstream = to(server.url.replace("//", "//joe:p%40ss@") + "/x", {})
        ask(upstream)
        upstream.send("GET", "/", [("authorization", "Bearer mine")], b"").release()
        assert "Authorization: Basic " + base64.b64encode(b"joe:p@ss").decode() == server.visits[0].lines[-1]
        assert "authorization: Bearer mine" == server.visits[1].lines[-1]
        assert f"http://***@127.0.0.1:{server.port}/x" == upstream.masked


@pytest.mark.parametrize(
    "url", ["", "api.anthropic.com", "ftp://u:hush@x", "http://u:hush@", "http://x:hush", "http://x/?k=hush", "https://x#hush", "http://ü"]
)
def test_what_is_no_address_is_refused_without_repeating_it(to: To, url: str) -> None:
    """A password in it must not end in a message."""
    with pytest.raises(TenonError) as caught:
        to(url)
    assert "hush" not in str(caught.value)


@pytest.mark.parametrize("size", [1, 3, 7, 10_000])
def test_chunks_cut_anywhere_give_the_same_body(to: To, size: int) -> None:
    """Extensions and trailers are the neighbour's."""
    wire = CHUNKED + b"5;a=b\r\nhello\r\n" + chunk(b"\r\n0\r\n\r\n") + chunk(b"x" * 70_000) + b"0\r\nX-Trailer: 1\r\n\r\n"

    def script(visit: Visit) -> None:
        step = size if size > 100 else len(wire)
        head = wire[:500]
        for at in range(0, len(head), size):
            visit.send(head[at : at + size])
        for at in range(len(head), len(wire), step):
            visit.send(wire[at : at + step])

    with RawUpstream(script) as server:
        upstream = to(server.url)
        for _ in range(2):
            assert b"hello" + b"\r\n0\r\n\r\n" + b"x" * 70_000 == ask(upstream)
        assert 1 == len(server.connections)


def test_bytes_are_handed_on_before_the_next_ones_come(to: To) -> None:
    """Nothing waits for a buffer to fill, not even the end of the last chunk."""
    go = threading.Event()

    def script(visit: Visit) -> None:
        for data in (b"one", b"two"):
            visit.send(chunk(data))
            go.wait(5)
            go.clear()
        visit.send(chunk(b"three") + b"0\r\n")
        go.wait(5)
        visit.send(b"\r\n")

    with RawUpstream(lambda visit: (visit.send(CHUNKED), script(visit))[1]) as server:
        answer = to(server.url).send(*ASK)
        for expected in (b"one", b"two", b"three"):
            assert expected == answer.read()
            go.set()
        assert b"" == answer.read()
        answer.release()


@pytest.mark.parametrize(
    "wire",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf",
        CHUNKED + b"10\r\nhalf",
        CHUNKED + chunk(b"half"),
        CHUNKED + chunk(b"half") + b"0\r\n",
        CHUNKED + b"4\r\nhalfX\r\n" + LAST,
        CHUNKED + chunk(b"half") + b"-1\r\n",
    ],
)
def test_a_torn_body_is_broken(to: To, wire: bytes) -> None:
    """However it was framed."""
    with RawUpstream(lambda visit: (visit.send(wire), visit.close())[1]) as server:
        answer = to(server.url).send(*ASK)
        with pytest.raises(Broken):
            read(answer)


def test_a_body_up_to_the_end_of_the_connection_is_whole(to: To) -> None:
    """Its connection cannot be kept."""
    with RawUpstream(lambda visit: (visit.send(b"HTTP/1.1 200 OK\r\n\r\nall of it"), visit.close())[1]) as server:
        upstream = to(server.url)
        assert [b"all of it", b"all of it"] == [ask(upstream), ask(upstream)]
        assert 2 == len(server.connections)


@pytest.mark.parametrize(("method", "status"), [("HEAD", "200 OK"), ("GET", "204 No Content"), ("GET", "304 Not Modified")])
def test_an_answer_without_a_body_ends_with_its_head(to: To, method: str, status: str) -> None:
    """Whatever length it names, which stays as it is."""
    with RawUpstream(f"HTTP/1.1 {status}\r\nContent-Length: 5\r\n\r\n".encode()) as server:
        upstream = to(server.url)
        for _ in range(2):
            answer = upstream.send(method, "/", [], b"")
            assert (b"", [("Content-Length", "5")], status) == (answer.read(), answer.headers, f"{answer.status} {answer.reason}")
            answer.release()
        assert 1 == len(server.connections)


def test_interim_answers_are_passed_over(to: To) -> None:
    """The real one follows."""
    with RawUpstream(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + whole(b"ok")) as server:
        assert b"ok" == ask(to(server.url))


@pytest.mark.parametrize(
    "wire", [b"SSH-2.0-OpenSSH\r\n\r\n", b"HTTP/1.1 101 Switching Protocols\r\n\r\n", b"HTTP/1.1 20\r\n\r\n", b"HTTP/1.1 200 OK\r\nno colon\r\n\r\n"]
)
def test_what_is_no_answer_is_broken(to: To, wire: bytes) -> None:
    """Nothing of it is handed on."""
    with RawUpstream(lambda visit: (visit.send(wire), visit.close())[1]) as server:
        with pytest.raises(Broken):
            to(server.url).send(*ASK)


@pytest.mark.parametrize(
    "wire",
    [
        b"HTTP/1.1 200 OK\r\n",
        b"HTTP/1.1 200 OK\r\nx: 1\r\nContent-Le",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nx: 1\r\n folded\r\n\r\n",
    ],
)
def test_a_head_that_broke_off_or_is_in_doubt_is_broken(to: To, wire: bytes) -> None:
    """By itself the library would take it for an answer; also on a kept connection it is not asked for again."""
    with RawUpstream(lambda visit: (visit.send(whole(b"ok") if visit.turn == 1 else wire), visit.close() if visit.turn > 1 else None)[0]) as server:
        upstream = to(server.url)
        ask(upstream)
        with pytest.raises(Broken):
            ask(upstream)
        assert 2 == len(server.visits)


def test_letters_outside_ascii_in_an_address_are_escaped(to: To) -> None:
    """What was escaped already stays as it was."""
    with RawUpstream(whole(b"ok")) as server:
        to(server.url).send("GET", '//a%20b/\xc3\xa9?c=[d]&e="~#', [], b"").release()
        assert 'GET //a%20b/%C3%A9?c=[d]&e="~# HTTP/1.1' == server.visits[0].lines[0]


def test_a_connection_is_kept_until_it_is_old(to: To) -> None:
    """Thirty seconds of silence, then a new one."""
    now = [0.0]
    with RawUpstream(whole(b"ok")) as server:
        upstream = to(server.url, clock=lambda: now[0])
        for now[0], connections in [(0.0, 1), (29.0, 1), (58.0, 1), (89.0, 2)]:
            assert b"ok" == ask(upstream)
            assert connections == len(server.connections)
        now[0] = 200.0
        upstream.sweep()
        assert server.wait(lambda: server.connections[1].fileno() < 0)


def test_a_kept_connection_that_was_closed_is_not_used(to: To) -> None:
    """It is seen before anything is sent."""
    with RawUpstream(lambda visit: (visit.send(whole(b"ok")), visit.close() if visit.number == 1 else None)[0]) as server:
        upstream = to(server.url)
        assert b"ok" == ask(upstream)
        server.connections[0].close()
        assert b"ok" == ask(upstream)
        assert [1, 1] == [visit.turn for visit in server.visits]


def test_a_stale_connection_is_replaced_once(to: To) -> None:
    """When it dies without a byte; on a new connection that is the end."""

    def script(visit: Visit) -> None:
        if visit.turn == 2 or visit.number == 4:
            visit.close()
        else:
            visit.send(whole(b"ok"))

    with RawUpstream(script) as server:
        upstream = to(server.url)
        assert [b"ok", b"ok"] == [ask(upstream), ask(upstream)]
        assert [1, 2, 1] == [visit.turn for visit in server.visits]
        upstream.close()
        with pytest.raises(Broken, match="closed the connection without an answer"):
            ask(upstream)
        assert 4 == len(server.visits)


def test_a_request_is_not_sent_again_once_a_byte_has_come(to: To) -> None:
    """It was understood then, and perhaps billed."""
    with RawUpstream(lambda visit: (visit.send(whole(b"ok") if visit.turn == 1 else b"HTTP"), visit.close() if visit.turn > 1 else None)[0]) as server:
        upstream = to(server.url)
        ask(upstream)
        with pytest.raises(Broken):
            ask(upstream)
        assert 2 == len(server.visits)


def test_a_refusal_before_the_body_was_read_is_seen(to: To) -> None:
    """Even when the upstream closes on us while we are still sending."""

    def script(visit: Visit) -> None:
        visit.send(whole(b"too large", status="413 Content Too Large"))
        visit.connection.close()

    with RawUpstream(script, reads=False) as server:
        answer = to(server.url).send("POST", "/", [], b"x" * 20_000_000)
        assert (413, b"too large") == (answer.status, read(answer))
        answer.release()


def test_an_unread_answer_costs_its_connection(to: To) -> None:
    """What is left in it would be taken for the next answer."""
    with RawUpstream(whole(b"a" * 100)) as server:
        upstream = to(server.url)
        answer = upstream.send(*ASK)
        assert 10 == len(answer.read(10))
        answer.release()
        assert 100 == len(ask(upstream))
        assert 2 == len(server.connections)


@pytest.mark.parametrize("head", [b"", CHUNKED, CHUNKED + chunk(b"data")])
def test_another_thread_can_give_up(to: To, head: bytes) -> None:
    """Whether the answer has begun or not; the upstream sees the end of the connection."""
    left: list[bool] = []
    with RawUpstream(lambda visit: (visit.send(head), left.append(visit.wait_left()))[1]) as server:
        call = Call()
        reached = threading.Thread(target=lambda: (server.wait(lambda: bool(server.visits)), call.abandon()))
        reached.start()
        with pytest.raises(Abandoned):
            read(to(server.url).send(*ASK, call=call))
        reached.join()
        assert server.wait(lambda: left == [True])


def test_what_was_given_up_is_not_even_sent(to: To) -> None:
    """No connection is made for it."""
    call = Call()
    call.abandon()
    with RawUpstream(whole(b"ok")) as server:
        with pytest.raises(Abandoned):
            to(server.url).send(*ASK, call=call)
        assert [] == server.visits


def test_giving_up_late_does_not_hurt_the_next_request(to: To) -> None:
    """The connection belongs to somebody else by then."""
    with RawUpstream(whole(b"ok")) as server:
        upstream = to(server.url)
        call = Call()
        ask(upstream, call=call)
        call.abandon()
        assert b"ok" == ask(upstream)
        assert 1 == len(server.connections)


def test_nobody_there_is_said_in_a_sentence(to: To) -> None:
    """With the host, and without a trace of Python."""
    with RawUpstream(b"") as server:
        url = server.url
    with pytest.raises(Unreachable, match=r"^127.0.0.1:\d+ does not answer: Connection refused$"):
        to(url).send(*ASK)


@pytest.mark.parametrize("variable", ["NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE"])
def test_an_encrypted_upstream_with_a_ca_of_its_own(to: To, variable: str, tmp_path: Path) -> None:
    """The CA file is taken from where other programs take it; connections are kept."""
    path, context = certificate.made(tmp_path, "127.0.0.1")
    with RawUpstream(CHUNKED + chunk(b"secret") + LAST, context) as server:
        upstream = to(server.url, {variable: str(path)})
        assert [b"secret", b"secret"] == [ask(upstream), ask(upstream)]
        assert 1 == len(server.connections)
        assert [] == upstream.doubts


def test_an_unknown_certificate_is_refused_with_the_way_out(to: To, tmp_path: Path) -> None:
    """And a CA file that is not there is a doubt, no failure."""
    _, context = certificate.made(tmp_path, "127.0.0.1")
    with RawUpstream(whole(b"ok"), context) as server:
        upstream = to(server.url, {"NODE_EXTRA_CA_CERTS": str(tmp_path / "none.pem")})
        with pytest.raises(Unreachable, match="name its CA file in NODE_EXTRA_CA_CERTS"):
            upstream.send(*ASK)
        assert ["the CA file that NODE_EXTRA_CA_CERTS names cannot be used: No such file or directory"] == upstream.doubts


def test_a_certificate_for_another_host_is_refused(to: To, tmp_path: Path) -> None:
    """Being signed by somebody known is not enough."""
    path, context = certificate.made(tmp_path, "other.example")
    with RawUpstream(whole(b"ok"), context) as server:
        with pytest.raises(Unreachable, match="is not trusted"):
            to(server.url, {"SSL_CERT_FILE": str(path)}).send(*ASK)


def test_an_encrypted_stream_cut_off_is_broken(to: To, tmp_path: Path) -> None:
    """Without the encryption's own goodbye the end of the connection is no end of the body."""
    path, context = certificate.made(tmp_path, "127.0.0.1")
    with RawUpstream(lambda visit: (visit.send(b"HTTP/1.1 200 OK\r\n\r\nhalf"), visit.close())[1], context) as server:
        with pytest.raises(Broken):
            read(to(server.url, {"SSL_CERT_FILE": str(path)}).send(*ASK))


def test_giving_up_works_through_encryption_too(to: To, tmp_path: Path) -> None:
    """The upstream sees the end while we wait for its first byte."""
    path, context = certificate.made(tmp_path, "127.0.0.1")
    left: list[bool] = []
    with RawUpstream(lambda visit: left.append(visit.wait_left()), context) as server:
        call = Call()
        reached = threading.Thread(target=lambda: (server.wait(lambda: bool(server.visits)), call.abandon()))
        reached.start()
        with pytest.raises(Abandoned):
            to(server.url, {"SSL_CERT_FILE": str(path)}).send(*ASK, call=call)
        reached.join()
        assert server.wait(lambda: left == [True])


def test_a_company_proxy_is_asked_for_a_tunnel(to: To, tmp_path: Path) -> None:
    """With the name and password of its address, and the upstream's name, which need not be known here."""
    path, context = certificate.made(tmp_path, "api.company.example")
    with RawUpstream(whole(b"ok"), context) as server, ConnectProxy({"api.company.example:443": server.port}, "joe:p@ss") as company:
        env = {"HTTPS_PROXY": f"http://joe:p%40ss@127.0.0.1:{company.port}", "SSL_CERT_FILE": str(path)}
        upstream = to("https://api.company.example/base/", env)
        assert [b"ok", b"ok"] == [ask(upstream), ask(upstream)]
        assert ["api.company.example:443"] == company.asked
        assert ["POST /base/v1/messages?beta=true HTTP/1.1", "Host: api.company.example", "Content-Length: 2"] == server.visits[0].lines
        assert f"http://***@127.0.0.1:{company.port}" == upstream.through


def test_a_company_proxy_that_says_no_is_named_without_its_password(to: To, tmp_path: Path) -> None:
    """Wrong credentials, a host it does not let through, and nobody there."""
    with ConnectProxy({}, "joe:right") as company:
        for credentials, said in [("joe:hush", "does not take the name and password"), ("joe:right", "does not let through to api.example:443")]:
            with pytest.raises(Unreachable) as caught:
                to("https://api.example", {"https_proxy": f"http://{credentials}@127.0.0.1:{company.port}"}).send(*ASK)
            assert said in str(caught.value)
            assert "hush" not in str(caught.value)
    with pytest.raises(Unreachable, match="the proxy that HTTPS_PROXY or HTTP_PROXY names"):
        to("https://api.example", {"https_proxy": f"http://joe:hush@127.0.0.1:{company.port}"}).send(*ASK)


@pytest.mark.parametrize(
    ("url", "env", "through"),
    [
        ("https://api.example", {"HTTPS_PROXY": "http://p:1"}, "http://p:1"),
        ("https://api.example", {"HTTPS_PROXY": "p:1"}, "http://p:1"),
        ("https://api.example", {"HTTP_PROXY": "http://p:1"}, "http://p:1"),
        ("https://api.example", {"https_proxy": "http://a:1", "HTTPS_PROXY": "http://b:1"}, "http://a:1"),
        ("http://api.example", {"HTTPS_PROXY": "http://p:1"}, ""),
        ("http://api.example", {"http_proxy": "http://p:1"}, "http://p:1"),
        ("https://127.0.0.1:8443", {"HTTPS_PROXY": "http://p:1"}, ""),
        ("https://localhost", {"HTTPS_PROXY": "http://p:1"}, ""),
        ("https://api.example", {"HTTPS_PROXY": "http://p:1", "NO_PROXY": "*"}, ""),
        ("https://api.example", {"HTTPS_PROXY": "http://p:1", "NO_PROXY": "other, api.example"}, ""),
        ("https://api.example", {"HTTPS_PROXY": "http://p:1", "no_proxy": ".example"}, ""),
        ("https://api.example", {"HTTPS_PROXY": "http://p:1", "NO_PROXY": "*.example"}, ""),
        ("https://api.example", {"HTTPS_PROXY": "http://p:1", "NO_PROXY": "EXAMPLE"}, ""),
        ("https://api.example", {"HTTPS_PROXY": "http://p:1", "NO_PROXY": "ample"}, "http://p:1"),
        ("https://api.example", {"HTTPS_PROXY": "http://p:1", "NO_PROXY": "api.example:443"}, ""),
        ("https://api.example", {"HTTPS_PROXY": "http://p:1", "NO_PROXY": "api.example:80"}, "http://p:1"),
        ("https://10.1.2.3", {"HTTPS_PROXY": "http://p:1", "NO_PROXY": "10.0.0.0/8"}, ""),
        ("https://10.1.2.3", {"HTTPS_PROXY": "http://p:1", "NO_PROXY": "192.168.0.0/16,::1"}, "http://p:1"),
        ("https://[fd00::1]", {"HTTPS_PROXY": "http://p:1", "NO_PROXY": "fd00::/8"}, ""),
    ],
)
def test_which_way_a_request_takes(to: To, url: str, env: dict[str, str], through: str) -> None:
    """The variables that other programs obey too."""
    assert through == to(url, env).through


def test_a_proxy_that_cannot_be_used_is_refused_at_once(to: To) -> None:
    """Rather than going around it."""
    with pytest.raises(TenonError, match="the proxy address in HTTPS_PROXY must begin with http://"):
        to("https://api.example", {"HTTPS_PROXY": "socks5://joe:hush@p:1"})


@pytest.mark.parametrize(
    ("chosen", "environment", "stated", "expected"),
    [
        ("", None, None, "https://api.anthropic.com"),
        (" https://chosen/ ", "https://environment", "https://stated", "https://chosen/"),
        ("", "https://environment", "https://stated", "https://environment"),
        ("", "http://127.0.0.1:9000", "https://stated", "https://stated"),
        ("", "http://localhost:9123/agent/work", "http://[::1]:9000/", "https://api.anthropic.com"),
        ("", "http://127.0.0.1:4000", None, "http://127.0.0.1:4000"),
        ("", "", 7, "https://api.anthropic.com"),
    ],
)
def test_where_the_upstream_is(chosen: str, environment: str | None, stated: object, expected: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The setting, else what Claude Code would have used, unless that is the proxy itself."""
    monkeypatch.setenv("TENON_UPSTREAM", chosen)
    env = {} if environment is None else {"ANTHROPIC_BASE_URL": environment}
    user_settings: dict[str, object] = {} if stated is None else {"env": {"ANTHROPIC_BASE_URL": stated}}
    assert expected == upstreams.resolve(settings.load(), env, user_settings)


def test_many_requests_at_once_each_get_their_own_answer(to: To) -> None:
    """Fifty threads, one upstream."""
    with RawUpstream(lambda visit: visit.send(whole(visit.body))) as server:
        upstream = to(server.url)
        found: list[bool] = []

        def work(number: int) -> None:
            for turn in range(10):
                body = f"{number}/{turn}".encode()
                answer = upstream.send("POST", "/", [], body)
                found.append(read(answer) == body)
                answer.release()

        threads = [threading.Thread(target=work, args=(number,)) for number in range(50)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert [True] * 500 == found
