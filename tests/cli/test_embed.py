"""`tenon embed`: how it stands, everything now, and another model; and what doctor says of it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tenon.base import settings
from tenon.cli import embed
from tenon.cli.embed import Known, State
from tenon.store import db, notes
from tenon.world import peer
from tests.cli.conftest import DOOR, PYTHON, Tenon
from tests.fakes.ollama import Ollama

MODEL = "qwen3-embedding:0.6b"
TABLE = Known("builtin:0123abcd", 128, 5, 5, ready=True, builtin=True)
PLAIN = State(
    "builtin:0123abcd", MODEL, "auto", "http://127.0.0.1:11434", "away", "nobody answers at http://127.0.0.1:11434", models=[TABLE], answers="builtin:0123abcd"
)
ITS = Known(MODEL, 1024, 5, 5, ready=True, builtin=False)


@pytest.fixture()
def server(tenon: Tenon) -> Iterator[Ollama]:
    """A stand-in that the command is told of."""
    if not peer.is_known():
        pytest.skip("where the owner of a port cannot be told, nobody is asked by itself")
    with Ollama() as running:
        tenon.env.update(TENON_EMBED_URL=running.url, TENON_EMBED_OLLAMA="auto")
        yield running


def test_without_ollama_the_table_answers(tenon: Tenon, server: Ollama) -> None:
    """And nothing is missed; before there is a store as well."""
    server.close()
    assert "recall uses: the words, and the built-in table" in " ".join(tenon.ok("embed").out.split())
    tenon.written("the gateway listens on 8443")
    told = tenon.ok("embed", "status").out
    assert ("the built-in table: 128 dimensions, 1 of 1 text" in " ".join(told.split()), "; it is not needed" in told) == (True, True)
    found = tenon.ok("embed", "--json").records[0]
    assert ("away", "builtin:", 1, False) == (found["ollama"]["state"], found["answers"][:8], found["models"][0]["done"], found["working"])


def test_rebuild_embeds_now_and_ollama_answers_from_then_on(tenon: Tenon, server: Ollama) -> None:
    """With how far it is; a second time there is nothing to do, unless everything is to be done again."""
    for number in range(20):
        tenon.written(f"note {number} about the gateway")
    assert "; the rest follows" not in tenon.ok("embed").out
    told = " ".join(tenon.ok("embed", "rebuild").out.split())
    assert f"recall uses: the words, and {MODEL}" in told
    assert f"{MODEL}: 32 dimensions, 20 of 20 texts" in told
    assert f"0.12.3 at {server.url}, has {MODEL}" in told
    found = tenon.ok("embed", "--json").records[0]
    assert (MODEL, [20, 20]) == (found["answers"], [model["done"] for model in found["models"]])
    done = len(server.embedded)
    tenon.ok("embed", "rebuild")
    assert done == len(server.embedded)
    tenon.ok("embed", "rebuild", "--anew")
    assert done * 2 == len(server.embedded)


def test_a_model_that_ollama_does_not_have_is_named_with_what_brings_it(tenon: Tenon, server: Ollama) -> None:
    """Nothing is pulled."""
    server.models.clear()
    tenon.written("the gateway listens on 8443")
    assert f"`ollama pull {MODEL}`" in tenon.ok("embed").out
    assert (0, "") == ((result := tenon("embed", "rebuild")).code, result.err)
    assert "missing" == tenon.ok("embed", "--json").records[0]["ollama"]["state"]
    tenon.env["TENON_EMBED_OLLAMA"] = ""
    tenon.ok("config", "embed.ollama", "on")
    result = tenon("embed", "rebuild")
    assert (1, True) == (result.code, f"`ollama pull {MODEL}`" in result.err)
    assert not [path for _, path, _ in server.requests if path == "/api/pull"]


def test_another_model_is_tried_before_it_is_chosen(tenon: Tenon, server: Ollama) -> None:
    """With its size; one that is not there, or does not embed, changes nothing."""
    server.models["all-minilm:latest"] = 48
    told = tenon.ok("embed", "model", "all-minilm").out
    assert ("embed.model = all-minilm  (settings.json)" in told, "It gives 48 dimensions" in told) == (True, True)
    for name, says in (("nobody", "`ollama pull nobody`"), ("llama3.2:1b", "does not support embeddings"), ("a b", "the name of a model like")):
        result = tenon("embed", "model", name)
        assert (1, True) == (result.code, says in result.err), result.err
    assert {"embed.model": "all-minilm"} == json.loads((tenon.home / ".tenon" / "settings.json").read_text(encoding="utf-8"))
    assert "has all-minilm" in tenon.ok("embed", "model").out


def test_another_machine_is_not_asked_before_the_user_agrees(tenon: Tenon) -> None:
    """And that says how; with off nobody is."""
    tenon.env["TENON_EMBED_OLLAMA"] = "auto"
    tenon.ok("config", "embed.url", "http://me:hush@gpu.example:11434")
    told = tenon.ok("embed").out
    assert ("http://***@gpu.example:11434 is another machine" in told, "tenon config embed.ollama on" in told, "hush" in told) == (True, True, False)
    assert "elsewhere" == tenon.ok("embed", "--json").records[0]["ollama"]["state"]
    assert (1, True) == ((result := tenon("embed", "model", "x")).code, "is another machine" in result.err)
    tenon.env["TENON_EMBED_OLLAMA"] = "off"
    assert "not asked (embed.ollama is off)" in tenon.ok("embed").out


def test_whose_the_program_is_decides_whether_it_is_asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Where that cannot be told, and where it is another user's, it says so, and what has it asked all the same."""
    with Ollama() as server:
        monkeypatch.setenv("TENON_EMBED_OLLAMA", "auto")
        monkeypatch.setenv("TENON_EMBED_URL", server.url)
        monkeypatch.setattr(peer, "TABLES", (("/nowhere", False),))
        unknown = embed.look(str(tmp_path / "none.db"), settings.load(), 0.0)
        assert ("unknown", True) == (unknown.ollama, "`tenon config embed.ollama on`" in dict(embed.lines(unknown))["Ollama"])
        row = f"0: 0100007F:{server.port:04X} 00000000:0000 0A 0:0 0:0 0 4999 0 1 1 0\n"
        (tmp_path / "tcp").write_text(row, encoding="ascii")
        monkeypatch.setattr(peer, "TABLES", ((str(tmp_path / "tcp"), False),))
        if os.name == "posix":
            foreign = embed.look(str(tmp_path / "none.db"), settings.load(), 0.0)
            assert ("foreign", True) == (foreign.ollama, "another user's program answers" in dict(embed.lines(foreign))["Ollama"])
        assert [] == server.requests


def test_a_model_that_cannot_tell_texts_apart_is_not_chosen(tenon: Tenon, server: Ollama) -> None:
    """And the one before it stays."""
    server.models["tiny:latest"] = 8
    result = tenon("embed", "model", "tiny")
    assert (1, True, True) == (result.code, "gives vectors of 8 dimensions, which are too few" in result.err, "Nothing was changed" in result.err)


@pytest.mark.parametrize("line", [("status", "x"), ("rebuild", "x"), ("status", "--anew"), ("model", "x", "--anew"), ("model", "x", "y"), ("nothing",)])
def test_wrong_usage_is_told(tenon: Tenon, line: tuple[str, ...]) -> None:
    """With 2."""
    assert 2 == tenon("embed", *line).code


def test_rebuild_gives_way_to_who_is_at_it(tenon: Tenon, server: Ollama) -> None:
    """And without a store there is nothing to do."""
    assert (1, True) == ((result := tenon("embed", "rebuild")).code, "there is no memory yet" in result.err)
    tenon.written("the gateway listens on 8443")
    path = str(tenon.home / ".tenon" / "agents" / "default" / "tenon.db")
    with db.open_store(path) as store:
        assert notes.take(store, "embedding", "another", time.time(), 600)
    assert (1, True) == ((result := tenon("embed", "rebuild")).code, "another process is embedding" in result.err)
    assert tenon.ok("embed", "--json").records[0]["working"]


def test_what_was_said_is_embedded_too(tenon: Tenon, server: Ollama) -> None:
    """Prompts and answers; a turn that is forgotten is not sent anywhere."""
    talk = tenon.talk()
    talk.prompt("Which port does the gateway use?")
    talk.reply("The gateway uses 8443.")
    talk.prompt("And where is the moon?")
    tenon.ok("import")
    with db.open_store(str(tenon.home / ".tenon" / "agents" / "default" / "tenon.db")) as store:
        found = [str(row[0]) for row in store.rows("SELECT id FROM turn WHERE kind = 'prompt' ORDER BY id")]
    tenon.ok("forget", f"t{found[1]}", "--yes")
    tenon.ok("embed", "rebuild")
    said = [text for text in server.embedded if "gateway" in text and "port" in text.lower() or "moon" in text or "uses 8443" in text]
    assert (True, True, False) == tuple(any(words in text for text in said) for words in ("Which port", "uses 8443", "moon"))


@pytest.mark.skipif(os.name == "nt", reason="no such signal")
def test_an_interrupted_rebuild_keeps_what_was_done(tenon: Tenon, server: Ollama) -> None:
    """It says so, lets the next one in, and that goes on."""
    for number in range(20):
        tenon.written(f"note {number} about the gateway")
    server.faults = ["", "", "", "", "", "hang"]  # the list, the sample in three, a batch, and then it waits
    process = subprocess.Popen([PYTHON, "-I", "-S", DOOR, "embed", "rebuild"], cwd=tenon.project, env=tenon.environment(), stderr=subprocess.PIPE)
    server.wait("/api/embed", 5)
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=60)
    assert (130, True) == (process.returncode, b"goes on from here" in told)
    found = tenon.ok("embed", "--json").records[0]
    assert (False, [20, 16]) == (found["working"], [model["done"] for model in found["models"]])
    assert (MODEL, 20) == ((found := tenon.ok("embed", "rebuild", "--json").records[0])["answers"], found["models"][1]["done"])


@pytest.mark.parametrize(
    ("state", "level", "mend"),
    [
        (PLAIN, "ok", ""), (replace(PLAIN, ollama="missing"), "ok", ""), (replace(PLAIN, mode="off", ollama="off"), "ok", ""), (replace(PLAIN, ollama="elsewhere"), "ok", ""),
        (replace(PLAIN, table="", answers=""), "warn", "install it again"), (replace(PLAIN, mode="on"), "warn", "start Ollama"),
        (replace(PLAIN, mode="on", ollama="missing"), "warn", f"ollama pull {MODEL}"), (replace(PLAIN, models=[TABLE, ITS]), "warn", "start Ollama"),
        (replace(PLAIN, models=[TABLE, ITS], ollama="wrong"), "warn", "is that Ollama?"), (replace(PLAIN, models=[TABLE, ITS], ollama="there", answers=MODEL), "ok", ""),
        (replace(PLAIN, models=[TABLE, ITS], ollama="elsewhere"), "ok", ""), (replace(PLAIN, models=[]), "ok", ""),
        (replace(PLAIN, ollama="foreign"), "ok", ""), (replace(PLAIN, models=[TABLE, ITS], ollama="foreign"), "warn", "ss -ltnp"), (replace(PLAIN, ollama="unknown"), "ok", ""),
        (replace(PLAIN, models=[TABLE, ITS], ollama="unknown"), "warn", "tenon config embed.ollama on"),
    ],
)  # fmt: skip
def test_doctor_warns_only_of_what_is_missed(state: State, level: str, mend: str) -> None:
    """Ollama need not be there, unless the user said so or it answered before."""
    ((name, found, _, way),) = embed.findings(state)
    assert ("embedding", level, True) == (name, found, mend in way)


def test_doctor_tells_it(tenon: Tenon, server: Ollama) -> None:
    """Among its other checks."""
    tenon.written("the gateway listens on 8443")
    tenon.ok("embed", "rebuild")
    found = {record["check"]: record for record in tenon("doctor", "--json").records}["embedding"]
    assert ("ok", f"the built-in table 1 of 1; {MODEL} 1 of 1; Ollama answers") == (found["state"], found["said"])
    server.close()
    found = {record["check"]: record for record in tenon("doctor", "--json").records}["embedding"]
    assert ("warn", True) == (found["state"], found["said"].endswith("; recall uses the built-in table"))


def test_the_state_says_what_is_resting_and_what_is_at_work() -> None:
    """In words."""
    half = replace(ITS, done=2, ready=False)
    told = dict(embed.lines(replace(PLAIN, models=[half, TABLE], ollama="there", version="1", working=True)))
    assert "1,024 dimensions, 2 of 5 texts; at work" == told[MODEL]
    told = dict(embed.lines(replace(PLAIN, models=[ITS, TABLE], ollama="there", answers=MODEL, resting="slow")))
    assert f"the words, and {MODEL} (resting for a minute: it was slow)" == told["recall uses"]
    assert "the words alone" == dict(embed.lines(replace(PLAIN, table="", answers="")))["recall uses"]
