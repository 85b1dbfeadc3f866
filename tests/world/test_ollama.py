"""Ollama as a client meets it: what is well, and each way in which an answer is none."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator

import pytest

from tenon.world import embedding, ollama, peer
from tenon.world.ollama import Unavailable
from tests.fakes.ollama import Ollama, vector

MODEL = "qwen3-embedding:0.6b"


@pytest.fixture()
def server() -> Iterator[Ollama]:
    """A stand-in that is well."""
    if not peer.is_known():
        pytest.skip("where the owner of a port cannot be told, nothing is sent there")
    with Ollama() as running:
        yield running


def test_vectors_come_in_the_order_of_the_texts(server: Ollama) -> None:
    """One each, as the model gave them."""
    texts = ["the gateway listens", "ünïcode 日本", "a" * 20_000]
    assert [vector(text[:8000], 32) for text in texts] == ollama.embed(server.url, MODEL, texts, 5)
    assert [] == ollama.embed(server.url, MODEL, [], 5)


def test_what_no_text_can_hold_is_sent_all_the_same(server: Ollama) -> None:
    """Half a surrogate pair becomes a question mark."""
    assert 1 == len(ollama.embed(server.url, MODEL, ["a\ud800b\0c"], 5))
    assert ["a?bc"] == server.embedded


def test_a_model_gets_in_front_of_a_text_what_its_card_says(server: Ollama) -> None:
    """Questions and what is kept are told apart."""
    server.models = {"nomic-embed-text:latest": 4, "all-minilm:latest": 4, MODEL: 4}
    for name in ("nomic-embed-text", "all-minilm", MODEL):
        ollama.kept(server.url, name, ["kept"], 5)
        ollama.query(server.url, name, "asked", 5)
    nomic, minilm, qwen = server.embedded[:2], server.embedded[2:4], server.embedded[4:]
    assert (["search_document: kept", "search_query: asked"], ["kept", "asked"]) == (nomic, minilm)
    assert ("kept", True, True) == (qwen[0], qwen[1].startswith("Instruct: "), qwen[1].endswith("\nQuery:asked"))


def test_what_is_there_is_listed_with_its_digest(server: Ollama) -> None:
    """By full names; and the version."""
    server.models["nomic-embed-text:latest"] = 8
    found = ollama.models(server.url, 5)
    assert (server.digest(MODEL), True, "0.12.3") == (found[MODEL], "nomic-embed-text:latest" in found, ollama.version(server.url + "/", 5))
    assert ("a:latest", "hf.co:443/a/B:latest", "b:Q4") == (embedding.full("a"), embedding.full("hf.co:443/a/B"), embedding.full("b:Q4"))


@pytest.mark.parametrize(
    ("fault", "kind", "says"),
    [
        ("gone", "missing", "`ollama pull qwen3-embedding:0.6b` brings it"), ("404", "wrong", "/api/embed with 404; is it Ollama, 0.3 or newer?"),
        ("400", "wrong", "with 400: invalid input type"), ("500", "wrong", "with 500: llama runner process has terminated"), ("403", "wrong", "refuses requests by that name"),
        ("html", "wrong", "no JSON object"), ("half", "wrong", "no JSON object"), ("empty", "wrong", "no JSON object"), ("list", "wrong", "no JSON object"), ("bytes", "wrong", "no JSON object"),
        ("deep", "wrong", "no JSON object"), ("error", "wrong", "with: out of memory"), ("none", "wrong", "answered 2 texts with 0 vectors"), ("few", "wrong", "2 texts with 1 vectors"),
        ("many", "wrong", "2 texts with 3 vectors"), ("no list", "wrong", "no list of vectors"), ("no vector", "wrong", "a vector of 0 numbers"), ("sizes", "wrong", "different sizes"),
        ("nan", "wrong", "no number"), ("huge number", "wrong", "no number"), ("huge integer", "wrong", "no number"), ("text", "wrong", "no number"), ("true", "wrong", "no number"),
        ("redirect", "wrong", "sends on to another address (302)"), ("large", "wrong", "more than 32 MiB"), ("large, said", "wrong", "more than 32 MiB"), ("cut", "wrong", "no whole answer"),
        ("no http", "wrong", "no whole answer"),
    ],
)  # fmt: skip
def test_an_answer_that_is_none_is_an_error_with_a_sentence(server: Ollama, fault: str, kind: str, says: str) -> None:
    """And nothing else is raised."""
    server.fault = fault
    with pytest.raises(Unavailable) as caught:
        ollama.embed(server.url, MODEL, ["one", "two"], 20)
    assert (kind, True) == (caught.value.kind, says in str(caught.value)), str(caught.value)


@pytest.mark.parametrize("fault", ["hang", "drip"])
def test_an_answer_that_does_not_come_is_not_waited_for(server: Ollama, fault: str) -> None:
    """Also when a byte comes now and then, which no time limit of a socket notices."""
    server.fault = fault
    with pytest.raises(Unavailable, match=r"did not answer within 0\.1 s") as caught:
        ollama.query(server.url, MODEL, "one", 0.1)
    assert "slow" == caught.value.kind


def test_a_server_that_takes_no_connection_is_away() -> None:
    """Nobody listens, or nobody accepts."""
    with Ollama() as server:
        url = server.url
    with pytest.raises(Unavailable, match="nobody answers at http://127") as caught:
        ollama.version(url, 5)
    assert "away" == caught.value.kind
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen(1)
        with pytest.raises(Unavailable) as caught:
            ollama.version(f"http://127.0.0.1:{silent.getsockname()[1]}", 0.1)
    assert "slow" == caught.value.kind


@pytest.mark.parametrize("given", ["qwen", "no-such-model"])
def test_a_model_that_is_not_there_is_missing(server: Ollama, given: str) -> None:
    """With what brings it."""
    with pytest.raises(Unavailable, match=f"`ollama pull {given}`") as caught:
        ollama.embed(server.url, given, ["x"], 5)
    assert "missing" == caught.value.kind


def test_a_model_that_cannot_embed_says_so(server: Ollama) -> None:
    """In Ollama's words."""
    with pytest.raises(Unavailable, match="this model does not support embeddings"):
        ollama.embed(server.url, "llama3.2:1b", ["x"], 5)


@pytest.mark.parametrize(
    "url",
    ["", "127.0.0.1:11434", "ftp://127.0.0.1", "http://", "http://127.0.0.1:x", "http://[::1", "http://a b", "http://127.0.0.1/\r\nX: y", "http://ü\ud800/"],
)
def test_what_is_no_address_is_an_error_too(url: str) -> None:
    """Of the same kind as all others."""
    with pytest.raises(Unavailable):
        ollama.embed(url, MODEL, ["x"], 2)


def test_a_proxy_of_the_environment_is_not_asked(server: Ollama, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is sent to this machine stays on it."""
    for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    assert 1 == len(ollama.embed(server.url, MODEL, ["x"], 5))


def test_a_name_and_password_go_along_and_are_not_shown(server: Ollama) -> None:
    """For an Ollama behind somebody's gateway."""
    url = server.url.replace("//", "//me:hu%20sh@")
    assert 1 == len(ollama.embed(url, MODEL, ["x"], 5))
    server.fault = "500"
    with pytest.raises(Unavailable) as caught:
        ollama.embed(url, MODEL, ["x"], 5)
    assert ("hu" in str(caught.value), f"http://***@127.0.0.1:{server.port}" in str(caught.value)) == (False, True)


@pytest.mark.parametrize(
    ("url", "local"),
    [
        ("http://127.0.0.1:11434", True), ("http://localhost", True), ("http://LOCALHOST:1/x", True), ("http://[::1]:11434", True), ("http://127.9.9.9", True), ("http://me@127.0.0.1", True),
        ("http://127.0.0.1.example", False), ("http://localhost.example", False), ("http://10.0.0.1", False), ("http://127.0.0.1@gpu.example", False), ("http://[::1", False), ("", False),
        ("http://127.0.0.999", False), ("http://0.0.0.0:11434", False),
    ],
)  # fmt: skip
def test_only_this_machines_own_addresses_are_local(url: str, local: bool) -> None:
    """By what the address says, without asking anybody."""
    assert local == ollama.is_local(url)


def test_a_refusal_by_name_is_told_apart(server: Ollama) -> None:
    """As Ollama answers a name that it does not go by."""
    with socket.create_connection(("127.0.0.1", server.port), 5) as wire:
        wire.sendall(b"GET /api/version HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n")
        assert b"HTTP/1.1 403" == wire.recv(1000)[:12]


def test_equal_words_are_near() -> None:
    """The stand-in's vectors are of use to a search."""
    first, same, other = (vector(text, 64) for text in ("the gateway port", "which port has the gateway", "lunch is ready"))
    near, far = (sum(a * b for a, b in zip(first, second)) for second in (same, other))
    assert (True, True) == (near > 0.5, far < 0.4)


def test_the_official_client_takes_the_stand_in_for_ollama(server: Ollama) -> None:
    """So what passes here is not of our own making."""
    official = pytest.importorskip("ollama")
    client = official.Client(host=server.url)
    assert [vector("a", 32), vector("b", 32)] == [list(one) for one in client.embed(model=MODEL, input=["a", "b"])["embeddings"]]
    assert [] == list(client.embed(model=MODEL, input="")["embeddings"])
    assert 32 == len(client.embeddings(model=MODEL, prompt="a")["embedding"])
    assert MODEL in [one["model"] for one in client.list()["models"]]
    assert MODEL in [one["model"] for one in client.ps()["models"]]
    assert ["embedding"] == client.show(MODEL)["capabilities"]
    assert "success" == [step["status"] for step in client.pull("all-minilm", stream=True)][-1]
    assert "success" == client.pull("all-minilm")["status"]
    with pytest.raises(official.ResponseError) as caught:
        client.embed(model="nobody", input="a")
    assert 404 == caught.value.status_code
    with pytest.raises(official.ResponseError, match="exceeds the context length"):
        client.embed(model=MODEL, input="word " * 600, truncate=False)
    client._client.close()


def test_a_call_costs_little_more_than_its_answer(server: Ollama) -> None:
    """A hundred one after the other leave no thread and no connection behind."""
    import threading

    before = threading.active_count()
    for _ in range(100):
        ollama.query(server.url, MODEL, "x", 5)
    deadline = time.monotonic() + 10
    while threading.active_count() > before + 2 and time.monotonic() < deadline:
        threading.Event().wait(0.01)
    assert threading.active_count() <= before + 2
