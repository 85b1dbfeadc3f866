"""Forgetting: gone from rows, indexes, summaries, journal and files, and gone for good."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tenon.base.errors import TenonError
from tenon.base.text import words
from tenon.digest import capture, summary
from tenon.recall.recall import recall
from tenon.store import (
    archive,
    cleaning,
    db,
    edges,
    episodes,
    exchanges,
    fading,
    feeds,
    forget,
    index,
    journal,
    memories,
    places,
    procedures,
    purging,
    reindex,
    search,
    summaries,
    tasks,
)
from tenon.store.db import Store
from tests.fakes.transcripts import Transcript
from tests.store.chain import checked

NOW = 1_796_100_000.0
SECRET = "Quetzalcoatl"
PER_DAY = {"short": 0.95, "long": 0.997}


@pytest.fixture()
def store(tmp_path: Path) -> Iterator[Store]:
    """An empty store."""
    with db.open_store(str(tmp_path / "a störe" / "tenon.db")) as opened:
        yield opened


@pytest.fixture()
def project(store: Store, tmp_path: Path) -> int:
    """The repository of a folder."""
    folder = tmp_path / "project"
    folder.mkdir()
    return places.settle(store, str(folder), NOW)


def write(store: Store, project: int | None, text: str, *turns: int, **more: object) -> str:
    """The id of a new memory."""
    told = {"tier": "short", "kind": "fact", **more}
    return memories.write(store, repository=project, text=text, turns=turns, now=NOW, **told)[0]  # type: ignore[arg-type]


def said(store: Store, project: int, *texts: str, session: str = "s1", lines: str = "", later: float = 0.0) -> list[int]:
    """The turns of a session in which these were said, prompts and replies by turns; `lines` begins the names of its lines."""
    lines = lines or session
    number = archive.session(store, session, repository=project, folder="/p", at=NOW)
    rows = [
        archive.Row(
            uuid=f"{lines}-{at}", parent=f"{lines}-{at - 1}" if at else "", role="assistant" if at % 2 else "user", kind="reply" if at % 2 else "prompt",
            source="assistant" if at % 2 else "user", at=NOW + later + at, content=[{"type": "text", "text": text}],
        )
        for at, text in enumerate(texts)
    ]  # fmt: skip
    return archive.append(store, number, project, rows)[1]


def vault_talk(folder: Path, session: str) -> Transcript:
    """A session in which the secret was told."""
    talk = Transcript(str(folder / "projects" / "-p" / f"{session}.jsonl"), folder=str(folder))
    talk.prompt(f"The staging vault is called {SECRET} and lives in Oslo")
    talk.reply(f"Noted: the vault is {SECRET}.")
    talk.prompt("And which port does the gateway use in production?")
    talk.reply("Port 8443.")
    return talk


def found(store: Store, project: int, cue: str) -> list[str]:
    """The ids that the cue brings to mind by its words, memories and turns."""
    hits = recall(store, cue, scope=[project], k=20, now=NOW, per_day=PER_DAY, archive=True).hits
    return sorted({ref for hit in hits if hit.words for ref in (hit.candidate.ref, hit.candidate.other_ref) if ref})


def brought(store: Store, project: int, cue: str) -> set[str]:
    """The ids of all that was thought of for the cue, by its words or its meaning, good enough or not."""
    looked = recall(store, cue, scope=[project], k=20, now=NOW, per_day=PER_DAY, archive=True)
    return {ref for hit in (*looked.hits, *looked.misses) for ref in (hit.candidate.ref, hit.candidate.other_ref)}


def indexed(store: Store, project: int, cue: str) -> list[str]:
    """The ids of the memories and turns that the text indexes have for the words of the cue."""
    asked = words(cue)
    return sorted(one.ref for look in (search.memories, search.turns) for one in look(store, asked, [project], 20)[0])


def anywhere(folder: str, text: str) -> list[str]:
    """The files below the folder whose bytes hold the text, whatever the case."""
    held = []
    for where, _, names in os.walk(folder):
        for name in names:
            if text.lower().encode() in (Path(where) / name).read_bytes().lower():
                held.append(name)
    return held


def folder_of(store: Store) -> str:
    """Where the store's files are."""
    return os.path.dirname(store.path)


def test_what_is_forgotten_stays_gone(store: Store, tmp_path: Path) -> None:
    """Written, found, forgotten, gone; fed again, still gone; after every background job still gone; and in no file."""
    talk = vault_talk(tmp_path, "s1")
    fed = capture.capture(store, talk.path, session_name="s1", folder=str(tmp_path), now=NOW, budget_s=60)
    assert (4, "") == (fed.new, fed.problem)
    project = places.find(store, str(tmp_path))
    assert project is not None
    number = exchanges.session_number(store, "s1")
    assert number is not None
    first, second = (turn.id for turn in list(exchanges.session_turns(store, number))[:2])
    ref = write(store, project, f"The staging vault is {SECRET}", first, tier="long", reason=f"the user said {SECRET}")
    memories.revise(store, ref, f"The staging vault in Oslo is {SECRET}", f"{SECRET} is in Oslo", NOW)
    summary.write(store, "s1", "", NOW)
    journal.record(
        store, event="prompt", session="s2", repository=project, words=[SECRET.lower(), "vault"], hits=[(ref, 0.9, (1.0, 0.5, 1.0, 1.0, 0.0)), (f"t{first}", 0.8, ())],
        chars=10, now=NOW,
    )  # fmt: skip
    assert [ref, f"t{first}", f"t{second}"] == found(store, project, SECRET)
    assert SECRET in str(summaries.of_session(store, number).text)  # type: ignore[union-attr]

    refs = forget.matching(store, SECRET.lower())
    assert {ref, f"t{first}", f"t{second}", "summary:s1"} == set(refs)
    sessions = forget.forget(store, refs, "the user's wish", NOW, [SECRET.lower()])
    for name in sessions:
        summary.write(store, name, "", NOW)

    assert ["s1"] == sessions
    assert [] == found(store, project, SECRET)
    assert not {ref, f"t{first}", f"t{second}"} & brought(store, project, f"the staging vault is {SECRET}")
    with pytest.raises(TenonError, match="there is no memory"):
        memories.get(store, ref)
    assert [[], []] == [turn.content for turn in list(exchanges.session_turns(store, number))[:2]]

    store.execute("UPDATE feed SET offset = 0")
    copy = vault_talk(tmp_path, "s2")  # the same words in lines of other names
    again = capture.capture(store, talk.path, session_name="s1", folder=str(tmp_path), now=NOW, budget_s=60)
    other = capture.capture(store, copy.path, session_name="s2", folder=str(tmp_path), now=NOW, budget_s=60)
    assert (0, 4) == (again.new, other.new)
    assert [] == found(store, project, SECRET)
    with pytest.raises(TenonError, match="was forgotten"):
        write(store, project, f"the staging vault  is {SECRET}")
    with pytest.raises(TenonError, match="was forgotten"):
        write(store, project, SECRET)

    fading.sweep(store, project, NOW + 86400, PER_DAY)
    journal.prune(store, NOW)
    summary.write(store, "s1", "", NOW)
    forget.rebuild(store)
    assert [] == found(store, project, SECRET)
    assert f"t{second + 1}" in found(store, project, "gateway port")
    assert SECRET not in str(summaries.of_session(store, number).text)  # type: ignore[union-attr]
    assert [] == forget.matching(store, SECRET)
    assert forget.checkpoint(store)
    assert [] == anywhere(folder_of(store), SECRET)

    deeds = journal.deeds(store, 10)
    assert {("forget", ref, "memory"), ("forget", f"t{first}", "turn"), ("forget", f"t{second}", "turn")} <= {deed[1:] for deed in deeds}
    assert not any(SECRET.lower() in str(deed).lower() for deed in deeds)
    assert (8, []) == checked(store)


def test_a_large_store_is_cleaned_without_being_written_anew(store: Store, project: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Freed space is overwritten; the text is in no file although the store was not rebuilt."""
    monkeypatch.setattr(cleaning, "SMALL_BYTES", 0)
    said(store, project, *(f"filler number {at} " * 30 for at in range(60)))
    turn = said(store, project, f"The vault is {SECRET}, as I said before. " * 40, session="s2")[0]
    ref = write(store, project, f"The vault is {SECRET}")
    forget.checkpoint(store)
    assert ["tenon.db"] == anywhere(folder_of(store), SECRET)

    forget.forget(store, [ref, f"t{turn}"], "wish", NOW)

    assert [] == anywhere(folder_of(store), SECRET)


def test_a_memory_goes_with_everything_of_its_own(store: Store, project: int) -> None:
    """Revisions, links and index; what it had superseded stays superseded and says no more by what."""
    old, new, other = (write(store, project, text) for text in ("uses MongoDB here", "uses PostgreSQL here", "backups run at night"))
    memories.supersede(store, old, new, NOW)
    memories.revise(store, new, "uses PostgreSQL 15 here", "version", NOW)
    ids = [memories.get(store, ref).id for ref in (new, other)]
    store.execute("INSERT INTO edge (origin, target, kind, status, reason, created, decayed) VALUES (?, ?, 'supports', 'approved', 'r', 0, 0)", ids)

    assert [
        f"{new} [short fact] «uses PostgreSQL 15 here» (and 1 earlier text)",
        f"{old}, which it superseded, stays; name it to forget it too",
    ] == forget.preview(store, [new])
    assert [] == forget.forget(store, [new], "wish", NOW)

    assert ("superseded", None) == (memories.get(store, old).status, memories.get(store, old).successor)
    assert (0, 0) == (store.value("SELECT count(*) FROM edge"), store.value("SELECT count(*) FROM revision"))
    assert [] == found(store, project, "PostgreSQL")
    for text in ("Uses  postgresql here", "uses PostgreSQL 15 here"):
        with pytest.raises(TenonError, match="was forgotten"):
            write(store, project, text)
    assert (new, True) == memories.write(store, repository=project, tier="short", kind="fact", text="uses PostgreSQL here", now=NOW, again=True)


def test_what_came_from_a_forgotten_turn_alone_goes_along(store: Store, project: int) -> None:
    """A memory with another origin stays, and the preview says which is which."""
    one, _, two = said(store, project, "the port is 8443 now", "noted, 8443", "the host is oslo-3")
    alone, both = write(store, project, "port 8443", one), write(store, project, "oslo-3 listens on 8443", one, two)

    assert [
        f"{alone} [short fact] «port 8443» (came from t{one})",
        f"t{one} [user prompt] «the port is 8443 now»",
        f"{both} came from other turns besides t{one}, and stays; name it to forget it too",
        "the summary of session s1, which is made anew without it",
    ] == forget.preview(store, [f"t{one}"])
    assert ["s1"] == forget.forget(store, [f"t{one}"], "wish", NOW)

    assert [both, f"t{one + 1}"] == found(store, project, "8443")
    assert [two] == memories.lineage(store, memories.get(store, both))
    assert [f"t{one} was forgotten before"] == forget.preview(store, [f"t{one}"])
    assert [] == forget.forget(store, [f"t{one}"], "wish", NOW)


def test_a_whole_session_can_be_forgotten(store: Store, project: int) -> None:
    """By the client's id of it; other sessions are as they were."""
    said(store, project, "alpha one thing", "alpha two things")
    kept = said(store, project, "alpha three things", session="s2")

    assert ["s1"] == forget.forget(store, ["s1"], "wish", NOW)

    assert [f"t{kept[0]}"] == found(store, project, "alpha")


def test_a_short_turn_is_not_banned_from_every_session(store: Store, project: int) -> None:
    """«continue» was forgotten where it stood, and may be said again elsewhere."""
    forget.forget(store, [f"t{said(store, project, 'continue')[0]}"], "wish", NOW)

    again = said(store, project, "continue", session="s2", later=60)[0]

    assert [{"type": "text", "text": "continue"}] == exchanges.turn(store, f"t{again}").content


def test_nothing_changes_when_one_id_is_unknown(store: Store, project: int) -> None:
    """All or nothing."""
    ref = write(store, project, "kept as it is")

    for wrong in ("mnosuchone", "t99", "no-such-session"):
        with pytest.raises(TenonError, match="there is no"):
            forget.forget(store, [ref, wrong], "wish", NOW)

    assert "kept as it is" == memories.get(store, ref).text


def test_the_text_is_taken_out_of_tasks_handoffs_links_and_notes(store: Store, project: int) -> None:
    """What else they say stays."""
    body = json.dumps({"plan": [{"step": f"open {SECRET} vault", "status": "active"}], "blockers": "none"})
    store.execute(
        "INSERT INTO task (repository, epic, title, status, body, created, updated) VALUES (?, 'move', ?, 'active', ?, 0, 0)",
        (project, f"The {SECRET} move", body),
    )
    store.execute("INSERT INTO handoff (repository, body, updated) VALUES (?, ?, 0)", (project, json.dumps({"next_action": f"call {SECRET.upper()}"})))
    one, two = (memories.get(store, write(store, project, text)).id for text in ("first thing", "second thing"))
    store.execute(
        "INSERT INTO edge (id, origin, target, kind, status, reason, created, decayed) VALUES (7, ?, ?, 'supports', 'approved', ?, 0, 0)",
        (one, two, f"both of {SECRET}"),
    )
    journal.deed(store, "promote", "msomething", f"verified with {SECRET}", NOW)
    journal.record(store, event="prompt", session="s", repository=project, words=[SECRET.lower(), "thing"], hits=[("mother", 1.0, "")], chars=1, now=NOW)

    refs = forget.matching(store, SECRET)
    assert ["edge:7", f"task:{project}:move", f"handoff:{project}"] == refs
    assert ["the words in the reason of link 7", "the words in the task of epic move", "the words in the handoff brief"] == forget.preview(store, refs)
    forget.forget(store, refs, f"{SECRET} is over", NOW, [SECRET])

    assert ("The [forgotten] move", {"plan": [{"step": "open [forgotten] vault", "status": "active"}], "blockers": "none"}) == (
        store.value("SELECT title FROM task"), json.loads(store.value("SELECT body FROM task")),
    )  # fmt: skip
    assert {"next_action": "call [forgotten]"} == json.loads(store.value("SELECT body FROM handoff"))
    assert "both of [forgotten]" == store.value("SELECT reason FROM edge")
    assert ["thing"] == journal.entries(store)[0].words
    assert [] == anywhere(folder_of(store), SECRET)


@pytest.mark.parametrize(
    "stored", ["der Schlüssel heißt Ölmühle", "der Schlu\u0308ssel heißt O\u0308lmu\u0308hle", "DER SCHLÜSSEL HEISST ÖLMÜHLE", 'a "quoted"\nline of ölmühle']
)
def test_a_text_is_found_in_any_case_and_composition(store: Store, project: int, stored: str) -> None:
    """In memories of any status, and inside the archive's JSON."""
    turn = said(store, project, stored)[0]
    ref = write(store, project, stored)
    store.execute("UPDATE memory SET status = 'faded'")

    assert {ref, f"t{turn}"} == set(forget.matching(store, "Ölmühle"))
    assert {ref, f"t{turn}"} == set(forget.matching(store, "o\u0308lmu\u0308hle"))


def test_quotes_and_line_ends_are_found_inside_stored_json(store: Store, project: int) -> None:
    """The archive keeps JSON; the user types text."""
    turn = said(store, project, 'say "yes"\nor C:\\temp')[0]

    assert [[f"t{turn}"]] * 3 == [forget.matching(store, text) for text in ('"yes"\nor', "C:\\temp", 'Say "YES"')]


def test_a_text_that_stands_everywhere_is_refused(store: Store) -> None:
    """Two letters are no text."""
    with pytest.raises(TenonError, match="at least 3 characters"):
        forget.matching(store, " a ")


def test_the_indexes_are_the_same_when_made_anew(store: Store, project: int) -> None:
    """Memories that were superseded stay out, forgotten turns too, unspaced scripts and long turns are in."""
    turns = said(store, project, "東京の天気 forecast", "word " * 2000 + "needle", "gone for ever 1")
    old, new = write(store, project, "needle in MongoDB"), write(store, project, "needle in PostgreSQL")
    memories.supersede(store, old, new, NOW)
    forget.forget(store, [f"t{turns[2]}"], "wish", NOW)
    cues = ("needle", "天気", "forecast", "MongoDB", "gone ever")
    before = [indexed(store, project, cue) for cue in cues]

    reindex.rebuild(store)

    assert before == [indexed(store, project, cue) for cue in cues]
    exchange = [f"t{turn}" for turn in turns[:2]]
    assert [[new, exchange[1]], exchange, exchange, [], []] == before
    for table in ("memory_fts", "turn_fts"):
        store.execute(index.CHECK[table])


def test_an_index_that_was_folded_otherwise_loses_the_passage_too(store: Store, project: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another Python knows other characters; taking out what it would index leaves words, so the index is made anew."""
    turn, kept = said(store, project, f"the vault is {SECRET}\u2c2fstrange", "the gateway listens")
    monkeypatch.setattr(index, "fold", lambda text: text.replace(SECRET, " "))

    forget.forget(store, [f"t{turn}"], "wish", NOW)

    assert 0 == len(search.turns(store, [SECRET.lower(), "vault"], None, 9)[0])
    assert [f"t{kept}"] == [candidate.ref for candidate in search.turns(store, ["gateway"], None, 9)[0]]
    assert [] == anywhere(folder_of(store), SECRET)


def test_another_reader_does_not_stop_it(store: Store, project: int) -> None:
    """What a reader still holds is cleaned up once it is gone."""
    ref = write(store, project, f"The vault is {SECRET}")
    with db.open_reader(store.path) as reader:
        reader.execute("BEGIN")
        reader.value("SELECT count(*) FROM memory")
        store.execute("PRAGMA busy_timeout = 50")
        forget.forget(store, [ref], "wish", NOW)
        assert not forget.checkpoint(store)
        reader.execute("COMMIT")

    assert forget.checkpoint(store)
    assert [] == anywhere(folder_of(store), SECRET)


def shown(store: Store, turns: list[int]) -> list[str]:
    """What the turns say."""
    return [exchanges.turn(store, f"t{turn}").text() for turn in turns]


def test_the_same_words_in_another_session_are_kept(store: Store, project: int, tmp_path: Path) -> None:
    """A turn is forgotten where it was said; said another day, or in another repository, it is another turn."""
    forget.forget(store, ["s1"] if said(store, project, "run the tests again please", "All 14 tests pass.") else [], "wish", NOW)
    (tmp_path / "other").mkdir()
    other = places.settle(store, str(tmp_path / "other"), NOW)

    for home, session, later in ((project, "s2", 86400), (other, "s3", 0)):
        turns = said(store, home, "run the tests again please", "All 14 tests pass.", session=session, later=later)
        assert ["run the tests again please", "All 14 tests pass."] == shown(store, turns)


@pytest.mark.parametrize("session", ["s1", "s2"])
def test_a_copy_of_a_forgotten_transcript_brings_nothing_back(store: Store, project: int, session: str) -> None:
    """Lines of other names, in the same session or a fork: what was said then is known; what was said since is kept."""
    turns = said(store, project, "kumquat", "ok then kumquat it is", "and now lunch")
    forget.forget(store, [f"t{turn}" for turn in turns[:2]], "wish", NOW)

    again = said(store, project, "kumquat", "ok then kumquat it is", "and now lunch", "enjoy", session=session, lines="copy")

    assert ["", "", "and now lunch", "enjoy"] == shown(store, again)
    assert [] == anywhere(folder_of(store), "kumquat")
    assert [] == checked(store)[1]


@pytest.mark.parametrize(
    ("named", "told", "kept"),
    [
        ("correcthorsebattery", "the passphrase is CorrectHorseBattery, now", "the passphrase is [forgotten], now"),
        ("correct horse", "say Correct\n horse; a correct house, (correct-horse) correct horse correct horse", "say [forgotten]; a correct house, ([forgotten]) [forgotten]"),
        ("Ölmühle", "die O\u0308LMU\u0308HLE am Fluss", "die [forgotten] am Fluss"),
        ("O\u0308lmu\u0308hle", "die Ölmühl, die ölmühle\u0301s, die ölmühle", "die Ölmühl, die ölmühle\u0301s, die [forgotten]"),
        ("東京の", "昨日、東京の天気", "昨日、[forgotten]天気"),
        ("한국어", "\u1112\u1161\u11ab\u1100\u116e\u11a8\u110b\u1165 말", "[forgotten] 말"),
        (" ".join(f"w{at}" for at in range(37)), "a " + " ".join(f"W{at}" for at in range(37)) + " b", "a [forgotten] b"),
    ],
)  # fmt: skip
def test_a_named_text_is_taken_out_of_whatever_is_written_later(store: Store, project: int, named: str, told: str, kept: str) -> None:
    """In any case and composition, between the words that stay; in turns, memories, reasons, labels and names of branches."""
    ref = write(store, project, f"it says {named}")
    forget.forget(store, [ref], "wish", NOW, [named])
    tool = archive.Row(
        uuid="u", parent="", role="assistant", kind="call", source="assistant", at=NOW,
        content=[{"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": told, "type": told, "list": [{told: 1}]}}],
    )  # fmt: skip
    number = archive.session(store, "s9", repository=project, folder="/p", branch=told, at=NOW)
    called = archive.append(store, number, project, [tool])[1][0]
    number = memories.get(store, write(store, project, told, tier="long", reason=told, labels=[told], epic=told)).id
    revised = memories.revise(store, write(store, project, "something else"), f"{told} here", told, NOW)

    assert [kept] == shown(store, said(store, project, told))
    assert [{"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": kept, "type": kept, "list": [{kept: 1}]}}] == exchanges.turn(
        store, f"t{called}"
    ).content
    memory = memories.by_id(store, number)
    assert (kept, kept, [kept], kept) == (memory.text, memory.reason, json.loads(memory.labels), memory.epic)
    assert f"{kept} here" == revised.text
    assert kept == exchanges.session_of(store, exchanges.session_number(store, "s9") or 0).branch
    assert kept == memories.promote(store, write(store, project, "a third thing"), told, NOW).reason
    assert [] == forget.matching(store, named)
    assert [] == checked(store)[1]


def test_nothing_is_written_that_says_only_what_was_named(store: Store, project: int) -> None:
    """Unless the user writes it again, and then as it is."""
    write(store, project, "something")
    forget.forget(store, [], "wish", NOW, [SECRET])

    for text in (SECRET.upper(), f"«{SECRET}»!"):
        with pytest.raises(TenonError, match="was forgotten"):
            write(store, project, text)
    ref = write(store, project, f"the vault is {SECRET}", again=True)

    assert f"the vault is {SECRET}" == memories.get(store, ref).text


def test_what_was_archived_before_is_known_as_it_was_said(store: Store, project: int) -> None:
    """A line without a name that is sent again is the turn it was, blank or not, and no second one without the text."""
    row = archive.Row(uuid="", parent="", role="user", kind="prompt", source="user", at=NOW, content=[{"type": "text", "text": f"it is {SECRET}"}])
    number = archive.session(store, "s1", repository=project, folder="/p", at=NOW)
    turn = archive.append(store, number, project, [row])[1][0]
    forget.forget(store, forget.matching(store, SECRET), "wish", NOW, [SECRET])

    fork = archive.session(store, "s2", repository=project, folder="/p", at=NOW)
    copied = archive.append(store, fork, project, [row])[1][0]

    assert ["", ""] == shown(store, [turn, copied])


def test_a_picture_is_no_text(store: Store, project: int) -> None:
    """Its bytes stay as they are, whatever words they happen to spell; nor are the kinds of blocks words."""
    forget.forget(store, [], "wish", NOW, ["abc", "image", "text"])
    blocks = [{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "abc+abc/abc="}}, {"type": "text", "text": "abc"}]
    number = archive.session(store, "s1", repository=project, folder="/p", at=NOW)
    row = archive.Row(uuid="u", parent="", role="user", kind="prompt", source="user", at=NOW, content=list(blocks))
    kept = exchanges.turn(store, f"t{archive.append(store, number, project, [row])[1][0]}").content

    assert "abc+abc/abc=" == kept[0]["source"]["data"]
    assert {"type": "text", "[forgotten]": "[forgotten]"} == kept[1]


def test_folders_branches_and_paths_are_looked_at_too(store: Store, tmp_path: Path) -> None:
    """They are rewritten or dropped; a repository's own name is told of and kept."""
    folder = tmp_path / f"{SECRET} merger"
    folder.mkdir()
    project = places.settle(store, str(folder), NOW)
    archive.session(store, "s1", repository=project, folder=str(folder), branch=f"fire-{SECRET.lower()}", at=NOW)
    feeds.set_position(store, f"/x/{SECRET}/s1.jsonl", 10, "1:2", 0, NOW)
    place = os.path.realpath(folder)

    refs = forget.matching(store, SECRET)
    assert ["where:1", f"place:{place}", f"feed:/x/{SECRET}/s1.jsonl", f"repository:{project}"] == refs
    lines = forget.preview(store, refs)
    assert [
        "the words in the folder or branch of session s1",
        f"the noted folder {place}, until somebody works in it again",
        f"how far the transcript /x/{SECRET}/s1.jsonl was read, until it is read again",
    ] == lines[:3]
    assert lines[3].startswith(f"the repository's own name, path:{place}, contains it; it is kept")
    assert SECRET not in " ".join(forget.preview(store, refs, quote=False))
    forget.forget(store, refs, "wish", NOW, [SECRET])

    told = exchanges.session_of(store, 1)
    assert (str(tmp_path / "[forgotten] merger"), "fire-[forgotten]") == (told.folder, told.branch)
    assert [f"repository:{project}"] == forget.matching(store, SECRET)
    assert (0, 0) == (store.value("SELECT count(*) FROM place"), store.value("SELECT count(*) FROM feed"))


def test_a_text_that_only_the_journal_has_is_found(store: Store, project: int) -> None:
    """Its words go, also inside longer ones; the others stay."""
    journal.record(store, event="prompt", session="s", repository=project, words=[f"{SECRET.lower()}2", "thing"], hits=[("mother", 1.0, ())], chars=1, now=NOW)

    assert ["journal:"] == forget.matching(store, SECRET)
    assert ["the words in the journal"] == forget.preview(store, ["journal:"])
    forget.forget(store, ["journal:"], "wish", NOW, [SECRET])

    assert ["thing"] == journal.entries(store)[0].words
    assert [] == forget.matching(store, SECRET)
    assert [] == anywhere(folder_of(store), SECRET)


@pytest.mark.parametrize("secret", [SECRET, "Ölmühle", 'a "quoted" name'])
def test_damaged_files_that_still_have_it_are_named_and_kept(store: Store, project: int, secret: str) -> None:
    """What a rescue put aside is told of, for a text and for an id, also when nothing else has it any more."""
    turn = said(store, project, f"The vault is {secret}, remember. " * 400)[0]
    store.execute("VACUUM")
    forget.checkpoint(store)
    copy = f"{store.path}.damaged-20261130"
    Path(copy).write_bytes(Path(store.path).read_bytes())
    Path(f"{copy}-wal").write_bytes(b"x" * 100)
    line = f"{copy} still contains it and is kept; it is what was left of a damaged store when that was repaired, and can be deleted"

    refs = forget.matching(store, secret)
    assert [f"t{turn}", "damaged:tenon.db.damaged-20261130"] == refs
    assert line == forget.preview(store, refs)[-1]
    assert [line] == [told for told in forget.preview(store, [f"t{turn}"]) if "damaged" in told]
    forget.forget(store, refs, "wish", NOW, [secret])

    assert ["damaged:tenon.db.damaged-20261130"] == forget.matching(store, secret)
    assert os.path.exists(copy)


def test_a_ref_that_is_no_number_is_unknown(store: Store) -> None:
    """An error that says so."""
    for ref in ("where:x", "edge:", "repository:9" + "9" * 30):
        with pytest.raises(TenonError, match="there is no '"):
            forget.preview(store, [ref])


def test_a_named_text_comes_back_by_no_other_writer(store: Store, project: int) -> None:
    """Neither by an episode, a link, a procedure, a task nor a handoff."""
    forget.forget(store, [], "the user's wish", NOW, [SECRET])
    ends = [write(store, project, text) for text in ("the vault is in Oslo", "the vault was in Bergen")]
    edges.propose(store, project, *ends, "supersedes", f"since {SECRET} moved", NOW)
    said = {"situation": f"{SECRET} was locked", "action_taken": f"opened {SECRET}", "evidence": SECRET}
    episodes.write(store, repository=project, action_type="fix", expected="success", outcome="partial", now=NOW, **said)
    procedures.propose(store, repository=project, root="/", name=f"open {SECRET}", trigger=f"{SECRET} is shut", steps=f"knock at {SECRET}", paths=[], now=NOW)
    tasks.write(store, project, epic="e", title=f"about {SECRET}", plan=[{"step": f"open {SECRET}", "note": SECRET}], blockers=[SECRET], now=NOW)
    tasks.write_handoff(store, project, {"active_epic": "e", "next_action": f"knock at {SECRET}"}, NOW)
    store.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    assert [] == anywhere(os.path.dirname(store.path), SECRET)


@pytest.mark.parametrize("way", ["upkeep", "next"])
def test_whoever_comes_next_cleans_up_after_one_who_was_ended(store: Store, project: int, way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ended between the forgetting and the cleaning; that it is due is noted with the forgetting, and taken away with the cleaning."""
    other = write(store, project, "the lantern is green")
    turn = said(store, project, f"The vault is {SECRET}, as I said before.")[0]
    with monkeypatch.context() as ended:
        ended.setattr(cleaning, "clean", lambda _: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            forget.forget(store, [f"t{turn}"], "wish", NOW)
    forget.checkpoint(store)
    assert (["tenon.db"], True) == (anywhere(folder_of(store), SECRET), cleaning.is_due(store))

    if way == "upkeep":
        assert cleaning.catch_up(store)
    else:
        forget.forget(store, [other], "wish", NOW)

    assert ([], False) == (anywhere(folder_of(store), SECRET), cleaning.is_due(store))
    assert cleaning.catch_up(store)


def test_cleaning_stays_due_while_somebody_reads_what_was_before(store: Store, project: int) -> None:
    """Their log still holds the old pages; it is done when they have ended."""
    ref = write(store, project, f"The vault is {SECRET}")
    store.execute("PRAGMA busy_timeout = 1")
    with db.open_reader(store.path) as reader:
        reader.execute("BEGIN")
        reader.value("SELECT count(*) FROM memory")
        forget.forget(store, [ref], "wish", NOW)
        assert (True, False) == (cleaning.is_due(store), cleaning.catch_up(store))

    assert cleaning.catch_up(store)
    assert [] == anywhere(folder_of(store), SECRET)


def test_what_is_deleted_while_another_cleans_stays_due(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only what was due when the cleaning began is done with its end."""
    cleaning.note(store)
    real = cleaning.checkpoint
    monkeypatch.setattr(cleaning, "checkpoint", lambda given: (cleaning.note(store), real(given))[1])

    assert (False, True) == (cleaning.clean(store), cleaning.is_due(store))


def test_a_removed_archive_is_to_be_cleaned_too(store: Store, project: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever comes next after one who was ended there takes it out of the files."""
    said(store, project, f"The vault is {SECRET}, as I said before.")
    with monkeypatch.context() as ended:
        ended.setattr(cleaning, "clean", lambda _: False)
        purging.purge(store, NOW)

    assert cleaning.catch_up(store)
    assert [] == anywhere(folder_of(store), SECRET)
