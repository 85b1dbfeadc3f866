"""Embeddings by Ollama beside the built-in table: worked off in the background, restartable anywhere, and asked only where it may be."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from mcp_server import background
from tenon.base import faults, paths, settings
from tenon.recall.recall import recall
from tenon.store import db, memories, notes, vectors
from tenon.store.db import Store
from tenon.vectors import codes, table
from tenon.world import backlog, embedding, ollama, peer
from tenon.world.ollama import Unavailable
from tests.fakes.ollama import Ollama, vector

ROOT = Path(__file__).resolve().parents[2]
MODEL = "qwen3-embedding:0.6b"
DIMS = 32
NOW = 1_796_100_000.0
PATIENCE_S = 30.0


@pytest.fixture()
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Ollama]:
    """A stand-in that is well, and that the settings name."""
    with Ollama() as running:
        monkeypatch.setenv("TENON_EMBED_URL", running.url)
        monkeypatch.delenv("TENON_EMBED_OLLAMA")
        if not peer.is_known():
            pytest.skip("where the owner of a port cannot be told, nobody is asked by itself")
        yield running


@pytest.fixture()
def store() -> Iterator[Store]:
    """An empty store of the default agent."""
    with db.open_store(paths.store_path("default")) as opened:
        yield opened


def said(values: dict[str, str]) -> None:
    """The file of settings says that."""
    paths.make_private(paths.home())
    Path(paths.settings_path()).write_text(json.dumps(values), encoding="utf-8")


def another_users(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, uid: int, port: int) -> None:
    """The system says that a user of that number listens on the port."""
    row = f"   0: 0100007F:{port:04X} 00000000:0000 0A 00000000:00000000 00:00000000 00000000 {uid:5d}        0 12345 1 0 100 0 0 10 0\n"
    (tmp_path / "tcp").write_text("  sl  local_address rem_address   st\n" + row, encoding="ascii")
    monkeypatch.setattr(peer, "TABLES", ((str(tmp_path / "tcp"), False),))


def write(store: Store, *texts: str) -> list[str]:
    """The ids of new memories."""
    return [memories.write(store, repository=None, tier="short", kind="fact", text=text, now=NOW)[0] for text in texts]


def numbered(count: int) -> list[str]:
    """So many texts."""
    return [f"note number {number} about the gateway" for number in range(count)]


def work(store: Store, stop_after: int = 1000) -> None:
    """One worker's turn, which may be ended after so many batches."""
    asked = [0]

    def stopped() -> bool:
        asked[0] += 1
        return asked[0] > stop_after

    with backlog.Worker(store, stopped, clock=lambda: NOW) as worker:
        worker.by_ollama(settings.load())


def names(store: Store) -> list[str]:
    """The models that the store has vectors of, without the table's."""
    return [model.name for model in vectors.models(store) if not embedding.is_builtin(model)]


def nearest(store: Store, name: str, text: str, dims: int = DIMS) -> int:
    """The number of the memory that is nearest to a text."""
    model = vectors.named(store, name)
    unit = codes.unit(vector(text, dims))
    assert model is not None
    assert unit is not None
    rows = vectors.nearest(store, model, vectors.MEMORY, unit, None, 10)
    found = vectors.cosines(store, model, vectors.MEMORY, unit, rows)
    return max(found, key=lambda row: found[row])


def test_what_is_stored_is_embedded_and_found(server: Ollama, store: Store) -> None:
    """In batches of 16; the model is ready when nothing is left."""
    write(store, *numbered(39), "the moon is made of cheese")
    work(store)
    model = vectors.named(store, MODEL)
    assert model is not None
    assert (DIMS, True, (40, 40)) == (model.dims, model.ready is not None, vectors.progress(store, model))
    assert 40 == nearest(store, MODEL, "the moon is made of cheese")
    assert [16, 16, 16, 16, 16, 8] == [len(body["input"]) for _, path, body in server.requests if path == "/api/embed"]
    before = len(server.requests)
    work(store)
    assert [("GET", "/api/tags")] == [one[:2] for one in server.requests[before:]]


def test_it_goes_on_where_it_was_ended(server: Ollama, store: Store) -> None:
    """Nothing is embedded twice, and the model is not used before it has everything."""
    write(store, *numbered(40))
    work(store, stop_after=1)
    assert (None, True) == (embedding.ready(store, settings.load()), vectors.named(store, MODEL) is not None)
    work(store)
    kept = [text for text in server.embedded if text.startswith("note number")]
    assert (40, 40) == (len(kept), len(set(kept)))
    ready = embedding.ready(store, settings.load())
    assert MODEL == (ready.name if ready else "")


def test_a_worker_that_is_killed_leaves_a_store_to_go_on_with(server: Ollama, store: Store) -> None:
    """A real process, killed while it waits for an answer."""
    write(store, *numbered(20))
    server.faults = ["", "", "", "", "", "hang"]  # the list, the three of the sample, a batch, and then it waits
    code = (
        f"import sys; sys.path[:0] = [{str(ROOT)!r}, {str(ROOT / 'scripts')!r}]\n"
        "from tenon.base import paths, settings\nfrom tenon.store import db\nfrom tenon.world import backlog\n"
        "with db.open_store(paths.store_path('default')) as store, backlog.Worker(store, lambda: False) as worker:\n"
        "    worker.by_ollama(settings.load())\n"
    )
    process = subprocess.Popen([sys.executable, "-I", "-S", "-c", code])
    server.wait("/api/embed", 5)
    process.kill()
    process.wait(PATIENCE_S)
    now = float(notes.value(store, "claim:embedding").rpartition(" ")[2]) - 10
    assert "" != notes.holder_of(store, "embedding", now)
    with pytest.raises(backlog.Busy), backlog.Worker(store, lambda: False, clock=lambda: now):
        pass
    with backlog.Worker(store, lambda: False, clock=lambda: now + backlog.LEASE_S) as worker:
        worker.by_ollama(settings.load())
    model = vectors.named(store, MODEL)
    assert model is not None
    assert (True, (20, 20)) == (model.ready is not None, vectors.progress(store, model))


def test_one_worker_at_a_time(server: Ollama, store: Store) -> None:
    """The other is told so, and comes in when the first is done; a lease that ran out, or that no clock gave, blocks nobody."""
    with backlog.Worker(store, lambda: False, clock=lambda: NOW):
        with pytest.raises(backlog.Busy, match="another process is embedding"), backlog.Worker(store, lambda: False, clock=lambda: NOW):
            pass
    with backlog.Worker(store, lambda: False, clock=lambda: NOW):
        pass
    for damaged in ("x", "someone soon", "someone 99999999999", f"someone {NOW - 1:.0f}"):
        notes.note(store, "claim:embedding", damaged)
        assert notes.take(store, "embedding", "me", NOW, 5), damaged
        notes.release(store, "embedding", "me")


def test_a_worker_whose_claim_was_taken_writes_nothing_more(server: Ollama, store: Store) -> None:
    """It was too slow for its lease."""
    write(store, *numbered(20))
    clock = [NOW]

    def late() -> bool:
        if vectors.named(store, MODEL) is not None:
            assert notes.take(store, "embedding", "another", clock[0] + 1000, 600)
            clock[0] += 1000
        return False

    with pytest.raises(backlog.Busy), backlog.Worker(store, late, clock=lambda: clock[0]) as worker:
        worker.by_ollama(settings.load())
    model = vectors.named(store, MODEL)
    assert model is not None
    assert ((0, 20), "another") == (vectors.progress(store, model), notes.holder_of(store, "embedding", clock[0]))


def test_a_text_that_changed_while_it_was_embedded_is_embedded_anew(server: Ollama, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """No vector of what was revised or forgotten is written."""
    first, second = write(store, "the gateway listens on 8443", "lunch is at noon")
    real, calls = ollama.kept, []

    def kept(url: str, name: str, texts: list[str], timeout_s: float, *, guarded: bool) -> list[list[float]]:
        found = real(url, name, texts, timeout_s, guarded=guarded)
        calls.append(texts)
        if len(calls) == 3:  # after the sample
            memories.revise(store, first, "the moon is made of cheese", "it is", NOW)
        return found

    monkeypatch.setattr(ollama, "kept", kept)
    work(store)
    assert [["the gateway listens on 8443", "lunch is at noon"], ["the moon is made of cheese"]] == [list(texts) for texts in calls[2:]]
    assert 1 == nearest(store, MODEL, "the moon is made of cheese")
    assert second


def test_another_model_takes_over_when_it_has_everything(server: Ollama, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Until then the one before it answers; afterwards its vectors are gone."""
    server.models["all-minilm:latest"] = 48
    write(store, *numbered(20))
    work(store)
    monkeypatch.setenv("TENON_EMBED_MODEL", "all-minilm")
    work(store, stop_after=1)
    chosen = settings.load()
    found = embedding.for_query(store, "gateway", chosen, 5, NOW)
    assert ([MODEL, "all-minilm:latest"], (MODEL, DIMS)) == (names(store), (found[0].name, len(found[1])) if found else None)
    work(store)
    found = embedding.for_query(store, "gateway", chosen, 5, NOW)
    assert (["all-minilm:latest"], ("all-minilm:latest", 48)) == (names(store), (found[0].name, len(found[1])) if found else None)
    assert any(map(embedding.is_builtin, vectors.models(store)))


def test_a_name_that_stands_for_another_file_is_begun_anew(server: Ollama, store: Store) -> None:
    """Its old vectors cannot be compared with its new ones."""
    write(store, *numbered(3))
    work(store)
    server.digests[MODEL], server.models[MODEL] = "other", 64
    work(store)
    model = vectors.named(store, MODEL)
    assert (64, (3, 3)) == ((model.dims, vectors.progress(store, model)) if model else None)


def test_vectors_of_another_size_are_never_mixed_in(server: Ollama, store: Store) -> None:
    """Though the file goes by the same digest: it is said, and everything is made anew."""
    digest = server.digest(MODEL)
    server.digests[MODEL] = digest
    write(store, *numbered(3))
    work(store)
    server.models[MODEL] = 40
    assert embedding.for_query(store, "gateway", settings.load(), 5, NOW) is None
    write(store, "one more")
    with pytest.raises(Unavailable, match="another size"):
        work(store)
    work(store)
    model = vectors.named(store, MODEL)
    assert (40, (4, 4)) == ((model.dims, vectors.progress(store, model)) if model else None)


def test_a_text_that_the_model_cannot_take_stops_nothing(server: Ollama, store: Store) -> None:
    """It alone is not found by its meaning."""
    server.poison = "poison"
    write(store, *numbered(5), "poison", *[f"more {text}" for text in numbered(14)])
    work(store)
    model = vectors.named(store, MODEL)
    assert (True, (20, 20)) == ((model.ready is not None, vectors.progress(store, model)) if model else None)


@pytest.mark.parametrize("fault", ["500", "html", "nan", "few", "cut"])
def test_a_server_that_goes_wrong_in_the_middle_costs_nothing(server: Ollama, store: Store, fault: str) -> None:
    """What was embedded stays, and it goes on when the server is well."""
    write(store, *numbered(40))
    server.faults = ["", "", "", "", "", fault, fault]  # the second batch, and the proof that it is not the text
    with pytest.raises(Unavailable):
        work(store)
    model = vectors.named(store, MODEL)
    assert (16, 40) == (vectors.progress(store, model) if model else None)
    work(store)
    assert (40, 40) == (vectors.progress(store, model) if model else None)


def test_a_question_is_embedded_by_a_ready_model_only(server: Ollama, store: Store) -> None:
    """Before that, and where it is switched off, nobody is asked."""
    write(store, "the gateway listens on 8443")
    chosen = settings.load()
    assert (None, []) == (embedding.for_query(store, "gateway", chosen, 5, NOW), server.requests)
    work(store)
    found = embedding.for_query(store, "gateway", chosen, 5, NOW)
    assert (MODEL, codes.unit(vector(server.embedded[-1], DIMS))) == ((found[0].name, found[1]) if found else None)
    assert server.embedded[-1].endswith("\nQuery:gateway")
    before = len(server.requests)
    for off in ({"embed.ollama": "off"}, {"embed.url": "http://10.255.255.1"}):
        other = settings.load()
        other.values.update(off)
        assert embedding.for_query(store, "gateway", other, 5, NOW) is None
    assert (None, before) == (embedding.for_query(store, "  ", chosen, 5, NOW), len(server.requests))


@pytest.mark.parametrize("fault", ["hang", "drip", "500", "gone", "html"])
def test_after_a_question_that_was_not_answered_the_next_ones_do_not_wait(server: Ollama, store: Store, fault: str) -> None:
    """For a minute."""
    write(store, "the gateway listens on 8443")
    work(store)
    chosen, before = settings.load(), len(server.requests)
    server.faults = [fault]
    assert embedding.for_query(store, "gateway", chosen, 0.2, NOW) is None
    assert embedding.for_query(store, "gateway", chosen, 5, NOW + 59) is None
    assert before + 1 == len(server.requests)
    assert embedding.for_query(store, "gateway", chosen, 5, NOW + 61) is not None


def test_without_a_ready_model_nothing_of_networks_is_imported(store: Store) -> None:
    """A prompt does not pay for what is not used."""
    write(store, "the gateway listens on 8443")
    code = (
        f"import sys; sys.path[:0] = [{str(ROOT)!r}, {str(ROOT / 'scripts')!r}]\n"
        "sys.addaudithook(lambda event, arguments: print(event) if event.startswith('socket.') else None)\n"
        "from tenon.base import paths, settings\nfrom tenon.store import db\nfrom tenon.world import embedding\n"
        "store = db.open_store(paths.store_path('default'))\n"
        "assert embedding.for_query(store, 'gateway', settings.load()) is None\n"
        "print(*({'http', 'http.client', 'socket', '_socket', 'threading', 'json', 're', 'urllib'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=True)
    assert "" == done.stdout.strip()


def test_another_machine_is_asked_only_when_the_user_said_so(server: Ollama, monkeypatch: pytest.MonkeyPatch) -> None:
    """And never while it is in doubt what the user said."""
    monkeypatch.delenv("TENON_EMBED_URL")
    said({"embed.url": "http://gpu.example:11434"})
    assert not embedding.may_ask(settings.load())
    said({"embed.url": "http://gpu.example:11434", "embed.ollama": "on"})
    assert embedding.may_ask(settings.load())
    monkeypatch.setenv("TENON_EMBED_OLLAMA", "off")
    assert not embedding.may_ask(settings.load())
    monkeypatch.delenv("TENON_EMBED_OLLAMA")
    monkeypatch.setenv("TENON_EMBED_URL", server.url)
    said({})
    assert embedding.may_ask(settings.load())
    Path(paths.settings_path()).write_text("{", encoding="utf-8")
    assert not embedding.may_ask(settings.load())


def test_a_project_cannot_have_texts_sent_away(server: Ollama, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both variables from the environment, as a trusted project's settings can set them; whoever agreed to one address did not agree to another."""
    write(store, "the gateway listens on 8443")
    work(store)
    url = server.url
    monkeypatch.setenv("TENON_EMBED_OLLAMA", "on")
    monkeypatch.setenv("TENON_EMBED_URL", "http://collector.example:11434")
    chosen = settings.load()
    assert ("http://127.0.0.1:11434", "auto") == (chosen.text("embed.url"), chosen.text("embed.ollama"))
    said({"embed.url": url, "embed.ollama": "on"})
    before = len(server.requests)
    assert embedding.for_query(store, "gateway", settings.load(), 5, NOW) is not None
    assert (url, before + 1) == (settings.load().text("embed.url"), len(server.requests))


def test_another_users_program_is_sent_nothing(server: Ollama, store: Store, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Neither in the background nor for a question, though it says that it has the model; the user may agree to that address, and to that alone."""
    write(store, "the gateway listens on 8443")
    work(store)
    write(store, "the database is called zebra")
    own, before = peer.TABLES, len(server.requests)
    another_users(monkeypatch, tmp_path, os.geteuid() + 4000, server.port)
    chosen = settings.load()
    backlog.once(lambda: False, clock=lambda: NOW)
    assert (None, "foreign", before) == (embedding.for_query(store, "gateway", chosen, 5, NOW), embedding.resting(NOW), len(server.requests))
    with pytest.raises(Unavailable, match=r"another user's program answers at http://127.*`tenon config embed\.ollama on`"):
        ollama.version(server.url, 5)
    said({"embed.ollama": "on"})  # to the usual address, where the environment names another
    assert embedding.for_query(store, "gateway", settings.load(), 5, NOW + 100) is None
    said({"embed.ollama": "on", "embed.url": server.url})
    monkeypatch.delenv("TENON_EMBED_URL")
    assert (before, True) == (len(server.requests), embedding.for_query(store, "gateway", settings.load(), 5, NOW + 200) is not None)
    monkeypatch.setattr(peer, "TABLES", own)
    monkeypatch.setenv("TENON_EMBED_URL", server.url)
    said({})
    assert embedding.for_query(store, "gateway", settings.load(), 5, NOW + 300) is not None


def test_the_user_named_ollama_is_asked(server: Ollama, store: Store, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """As its own installer has it run."""
    write(store, "the gateway listens on 8443")
    another_users(monkeypatch, tmp_path, 4991, server.port)
    people = tmp_path / "passwd"
    people.write_text("root:x:0:0::/root:/bin/sh\nollama2:x:4992:1::/:/bin/sh\n", encoding="utf-8")
    monkeypatch.setattr(peer, "PEOPLE", str(people))
    backlog.once(lambda: False)
    assert [] == server.requests
    people.write_text("root:x:0:0::/root:/bin/sh\nollama:x:4991:986::/usr/share/ollama:/bin/false\n", encoding="utf-8")
    backlog.once(lambda: False)
    assert MODEL in names(store)


def test_where_the_owner_cannot_be_told_only_a_word_of_the_user_has_it_asked(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on macOS and Windows; until then there is not even a connection."""
    write(store, "the gateway listens on 8443")
    monkeypatch.setattr(peer, "TABLES", (("/nowhere", False),))
    monkeypatch.delenv("TENON_EMBED_OLLAMA")
    with Ollama() as server:
        said({"embed.url": server.url})
        backlog.once(lambda: False)
        assert ("unknown", False, []) == (embedding.refusal(settings.load()), embedding.may_ask(settings.load()), server.requests)
        with pytest.raises(Unavailable, match="it cannot be told whose program answers"):
            ollama.version(server.url, 5)
        said({"embed.url": server.url, "embed.ollama": "on"})
        backlog.once(lambda: False)
        found = embedding.for_query(store, "gateway", settings.load(), 5, NOW)
        assert MODEL == (found[0].name if found else None)


# ---------------------------------------------------------------- the scale of a model

THINGS = (
    "Our staging database is called zebra and only Ottilie may restart it", "The exporter writes parquet files since March", "Payments are settled through the Adyen gateway",
    "Nightly builds run on the blue machine", "The licence header is checked by a hook", "Invoices are numbered per country", "The mobile app uses Flutter", "Search is backed by Tantivy",
    "Feature flags live in the config service", "Anna owns the billing module",
)  # fmt: skip


def test_the_tables_scale_is_what_it_makes_of_the_sample() -> None:
    """So that what other models make of it can be held against it."""
    shared = table.shared()
    assert shared is not None
    units = [unit for unit in map(shared.embed, backlog.SAMPLE) if unit]
    chance, spread = backlog.unrelated(units, units)
    assert (len(backlog.SAMPLE), vectors.CHANCE, vectors.SPREAD) == (len(units), round(chance, 3), round(spread, 3))


@pytest.mark.parametrize("common", [0.0, 0.5, 0.7, 0.9])
def test_what_has_nothing_to_do_with_a_prompt_does_not_come_up(server: Ollama, store: Store, common: float) -> None:
    """Whatever a model's cosine between unrelated texts is; what answers still does."""
    server.models[MODEL], server.common = 256, common
    write(store, *THINGS)
    work(store)
    model = vectors.named(store, MODEL)
    assert model is not None
    assert (True, True) == (abs(model.chance - common) < 0.1 + 0.2 * (1 - common), model.spread < 0.15)

    def found(cue: str) -> list[str]:
        meaning = embedding.for_query(store, cue, settings.load(), 5, NOW)
        assert meaning is not None
        hits = recall(store, cue, scope=None, k=6, now=NOW, per_day={}, floor=0.34, strict=True, meaning=meaning).hits
        return [hit.candidate.text for hit in hits]

    for cue in ("Write a haiku about the autumn rain", "Why is the sky blue and how do rainbows form?", "Please rename the variable foo to bar in this file"):
        assert [] == found(cue), cue
    assert THINGS[0] == found("Who may restart the staging database called zebra?")[0]


@pytest.mark.parametrize(
    ("dims", "common", "says"),
    [(32, 1.0, "nearly the same vector"), (32, 0.99, "nearly the same vector"), (1, 0.0, "of 1 dimensions"), (31, 0.0, "of 31 dimensions")],
)
def test_a_model_that_cannot_tell_texts_apart_is_not_taken(server: Ollama, store: Store, dims: int, common: float, says: str) -> None:
    """A damaged file, or the wrong kind; what the name stood for before is not asked any more, for the question's vector would be of another make."""
    write(store, *THINGS)
    work(store)
    assert [MODEL] == names(store)
    server.digests[MODEL], server.models[MODEL], server.common = "other", dims, common
    with pytest.raises(Unavailable, match=says) as caught:
        work(store)
    assert ("wrong", []) == (caught.value.kind, names(store))
    assert embedding.for_query(store, "gateway", settings.load(), 5, NOW) is None


def test_a_table_that_was_replaced_is_not_taken_for_one_that_knows_nothing(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The process that still has the old one leaves its arrears to the next."""
    path = str(tmp_path / "table.bin")
    shutil.copyfile(table.TABLE, path)
    monkeypatch.setattr(table, "_OPENED", {table.TABLE: table.Table(path)})
    own = vectors.builtin(store)
    with monkeypatch.context() as patch:
        patch.setattr(table, "_OPENED", {table.TABLE: None})
        write(store, *numbered(3))
    with open(path, "ab") as file:
        file.write(b"x")
    with backlog.Worker(store, lambda: False, clock=lambda: NOW) as worker:
        worker.built_in()
    assert own is not None
    assert (3, (0, 3)) == (len(vectors.missing(store, own, 5)), vectors.progress(store, own))


def test_secrets_do_not_go_to_another_machine() -> None:
    """Where they would stay on this one, the text goes as it is."""
    text = "the token is ghp_" + "a1B2" * 9
    assert (text, False) == (embedding.sendable(text, "http://127.0.0.1"), "a1B2" in embedding.sendable(text, "http://gpu.example"))


def test_a_turn_in_the_background_does_all_there_is(server: Ollama, store: Store) -> None:
    """The table's own arrears too; nothing where there is no store, no Ollama, or Tenon is switched off."""
    write(store, *numbered(3))
    table = vectors.builtin(store)
    assert table is not None
    vectors.remove(store, table)
    backlog.once(lambda: False)
    assert {(3, 3)} == {vectors.progress(store, model) for model in vectors.models(store)}
    assert 2 == len(vectors.models(store))
    assert "" == notes.value(store, "claim:embedding")


def test_the_table_works_off_its_arrears_a_few_at_a_time(store: Store) -> None:
    """What says nothing to it is passed over, and does not come again."""
    with store.transaction():
        write(store, *numbered(100), "zzxqv", "qqjxw zzkkq", *[f"more {text}" for text in numbered(50)])
    table = vectors.builtin(store)
    assert table is not None
    vectors.remove(store, table)
    told: list[tuple[int, int]] = []
    with backlog.Worker(store, lambda: False, lambda _, done, total: told.append((done, total)), lambda: NOW) as worker:
        worker.built_in()
    assert [(64, 152), (128, 152), (152, 152)] == told
    table = vectors.builtin(store)
    assert (True, []) == ((table.ready is not None, vectors.missing(store, table, 5)) if table else None)


def test_a_background_turn_is_quiet_where_nobody_wants_ollama(server: Ollama, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Something else at that port is a fault only for who uses Ollama."""
    write(store, "x")
    server.fault = "html"
    backlog.once(lambda: False)
    said({"embed.ollama": "on"})
    with pytest.raises(Unavailable):
        backlog.once(lambda: False)
    monkeypatch.setenv("TENON_DISABLE", "1")
    backlog.once(lambda: False)


def test_a_model_that_was_asleep_is_woken_for_the_next_question(server: Ollama, store: Store) -> None:
    """By the background, which can wait until it is loaded."""
    write(store, "the gateway listens on 8443")
    work(store)
    embedding.rest("slow", NOW)
    backlog.once(lambda: False, clock=lambda: NOW)
    assert "" == embedding.resting(NOW)
    embedding.rest("slow", NOW)
    server.faults = ["", "", "hang"]  # the list, the long call, and the short one
    backlog.once(lambda: False, clock=lambda: NOW + 50)
    assert ("slow", "") == (embedding.resting(NOW + 100), embedding.resting(NOW + 111))


def test_the_servers_thread_embeds_and_ends(server: Ollama, store: Store) -> None:
    """And its faults are noted, once."""
    write(store, *numbered(3))
    end = background.started(0)
    server.wait("/api/embed", 4)
    end()
    server.fault = "500"
    end = background.started(0)
    server.wait("/api/tags", 2)
    end()
    assert ([], ["embedding"]) == ([one for one in threading.enumerate() if one.name == "embedding"], [fault["door"] for fault in faults.recent()])


def test_a_session_embeds_in_the_background(server: Ollama, store: Store, tmp_path: Path) -> None:
    """The real server, from its first message to its end; the protocol sees nothing of it."""
    write(store, *numbered(3))
    command = [sys.executable, "-I", "-S", str(ROOT / "mcp_server" / "__main__.py")]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp_path)
    assert process.stdin is not None
    process.stdin.write(b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n')
    process.stdin.flush()
    server.wait("/api/embed", 4)
    out, err = process.communicate(timeout=PATIENCE_S)
    assert (b'{"jsonrpc":"2.0","id":1,"result":{}}\n', b"", 0) == (out, err, process.returncode)
