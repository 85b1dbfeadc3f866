"""Exports brought in: into an empty store, a lived-in one, twice, and both ways."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tenon.base.errors import TenonError
from tenon.recall import briefing
from tenon.store import archive, edges, exporting, forget, health, identity, memories, merged_turns, merging, places, repairing, summaries
from tenon.store.db import Store
from tests.store import lived
from tests.store.chain import checked

LIFE = st.lists(st.tuples(st.integers(0, 16), st.integers(0, 40), st.integers(0, 40)), max_size=40)


@settings(max_examples=25)
@given(life=LIFE, forget=st.none() | st.integers(0, 20), alias=st.booleans())
def test_an_empty_store_becomes_the_same(life: list[tuple[int, int, int]], forget: int | None, alias: bool) -> None:
    """Exported, brought in elsewhere and exported there: the same bytes, and a chain that holds; once more changes nothing."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with lived.fresh(folder, "one") as one, lived.fresh(folder, "other") as other:
            lived.live(one, life)
            if alias:
                lived.joined(one)
            if forget is not None:
                lived.forgotten(one, forget)
            data = lived.exported(one)
            report = lived.brought(other, data, folder)

            assert data.decode().splitlines() == lived.exported(other).decode().splitlines()
            assert (0, False) == (report.bad, report.cut_off)
            assert [] == checked(other)[1]
            again = lived.brought(other, data, folder)
            assert set() == {outcome for counts in again.counts.values() for outcome in counts} - {"known", "forgotten"}
            assert data == lived.exported(other)


@settings(max_examples=25)
@given(mine=LIFE, theirs=LIFE, shared=LIFE)
def test_two_that_bring_in_each_other_end_with_the_same(
    mine: list[tuple[int, int, int]], theirs: list[tuple[int, int, int]], shared: list[tuple[int, int, int]]
) -> None:
    """Whatever each did with what they had in common and by itself."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with lived.fresh(folder, "one") as one, lived.fresh(folder, "other") as other:
            for store, own, since in ((one, mine, 50_000.0), (other, theirs, 50_030.5)):
                lived.live(store, shared)
                lived.live(store, own, since)
            assume(not lived.are_apart(one, other))
            lived.brought(other, lived.exported(one), folder)
            lived.brought(one, lived.exported(other), folder)

            assert lived.exported(one).decode().splitlines() == lived.exported(other).decode().splitlines()
            for store in (one, other):
                assert [] == checked(store)[1]


def records(data: bytes) -> list[dict[str, Any]]:
    """The lines of an export as objects."""
    return [json.loads(line) for line in data.splitlines()]


def printed(found: list[dict[str, Any]]) -> bytes:
    """Objects as the lines of an export."""
    return b"".join(map(exporting.line, found))


def talk(store: Store, repository: int, *texts: str) -> list[int]:
    """A session in which these were said; gives the turns."""
    session = archive.session(store, "s1", repository=repository, folder="/home/u/p", at=1.0)
    rows = [
        archive.Row(uuid=f"u{at}", parent=f"u{at - 1}" if at else "", role="user", kind="prompt", source="user", at=1.0 + at, content=[{"type": "text", "text": text}])
        for at, text in enumerate(texts)
    ]  # fmt: skip
    return archive.append(store, session, repository, rows)[1]


def write(store: Store, repository: int | None, text: str, **more: Any) -> str:
    """The id of a short-term fact."""
    return memories.write(store, repository=repository, tier="short", kind="fact", text=text, now=1.0, **more)[0]


@pytest.fixture()
def target(tmp_path: Path) -> Iterator[Store]:
    """Another store."""
    with lived.fresh(tmp_path, "target") as opened:
        yield opened


def test_what_was_forgotten_does_not_come_back_with_an_older_export(store: Store, repository: int, tmp_path: Path) -> None:
    """Neither a memory, nor one that came from forgotten turns alone, nor a turn, a named text, or a summary that tells of it."""
    turns = talk(store, repository, "the vault code is 9731", "fine weather")
    gone = write(store, repository, "the vault is in the cellar")
    write(store, repository, "codes are short", turns=turns[:1])
    write(store, repository, "the parrot is called Ottilie")
    summaries.upsert(store, 1, repository, "they spoke of the vault code", 3.0)
    before = lived.exported(store)
    forget.forget(store, [gone, f"t{turns[0]}"], "the wish", 5.0)
    forget.forget(store, forget.matching(store, "Ottilie"), "the wish", 6.0, ["Ottilie"])
    after = lived.exported(store)

    report = lived.brought(store, before, tmp_path)

    assert after == lived.exported(store)
    assert 3 == report.count("memory", "forgotten")
    for word in (b"vault", b"9731", b"Ottilie", b"codes are short"):
        assert word in before
        assert word not in after


def test_what_was_forgotten_stays_forgotten_on_another_machine(store: Store, repository: int, target: Store, tmp_path: Path) -> None:
    """An empty store takes the hashes over; one that has a salt of its own says that they mean nothing to it."""
    ref = write(store, repository, "the vault is in the cellar")
    older = lived.exported(store)
    forget.forget(store, [ref], "the wish", 5.0)
    newer = lived.exported(store)

    lived.brought(target, newer, tmp_path)
    assert 1 == lived.brought(target, older, tmp_path).count("memory", "forgotten")
    assert newer == lived.exported(target)
    with lived.fresh(tmp_path, "third") as third:
        forget.forget(third, [write(third, None, "something else")], "the wish", 5.0)
        assert 1 == lived.brought(third, newer, tmp_path).count("forgotten", "apart")


def test_what_was_forgotten_and_written_again_moves_along(store: Store, repository: int, target: Store, tmp_path: Path) -> None:
    """Its tombstone is no reason to leave it behind; twice is once."""
    forget.forget(store, [write(store, repository, "the vault is in the cellar")], "the wish", 5.0)
    write(store, repository, "the vault is in the cellar", again=True)
    data = lived.exported(store)

    assert 1 == lived.brought(target, data, tmp_path).count("memory", "new")
    assert 1 == lived.brought(target, data, tmp_path).count("memory", "known")
    assert data == lived.exported(target)


def test_a_text_that_was_revised_away_and_written_anew_is_two_memories(store: Store, repository: int, target: Store, tmp_path: Path) -> None:
    """Where only the first of them was known, both are there afterwards."""
    one = write(store, repository, "the lantern is green")
    lived.brought(target, lived.exported(store), tmp_path)
    memories.revise(store, one, "the lantern is red", "painted", 5.0)
    write(store, repository, "the lantern is green")

    lived.brought(target, lived.exported(store), tmp_path)

    assert lived.exported(store) == lived.exported(target)


def test_what_came_from_forgotten_turns_alone_is_not_taken(store: Store, repository: int, target: Store, tmp_path: Path) -> None:
    """Also where it was never here; what came from others besides is."""
    turns = talk(store, repository, "the vault code is 9731", "fine weather")
    lived.brought(target, lived.exported(store), tmp_path)
    forget.forget(target, [f"t{turns[0]}"], "the wish", 5.0)
    write(store, repository, "codes have four digits", turns=turns[:1])
    write(store, repository, "they spoke of the weather", turns=turns)

    report = lived.brought(target, lived.exported(store), tmp_path)

    assert (1, 1) == (report.count("memory", "forgotten"), report.count("memory", "new"))
    assert [("they spoke of the weather", turns[1])] == target.rows("SELECT m.text, l.turn FROM memory m JOIN lineage l ON l.memory = m.id")


def test_what_was_revised_or_closed_elsewhere_is_found_as_it_is_now(store: Store, repository: int, target: Store, tmp_path: Path) -> None:
    """By the new words and not by the old ones, in words and in meaning; what was closed not at all, until it is reopened."""
    revised, closed = write(store, repository, "staging is on Fridays"), write(store, repository, "the lantern is green")
    lived.brought(target, lived.exported(store), tmp_path)
    had = bytes(target.value("SELECT codes FROM vector WHERE row = (SELECT id FROM memory WHERE ref = ?)", (revised,)))
    memories.revise(store, revised, "parrots like copper", "it moved", 5.0)
    memories.close(store, closed, 6.0)

    lived.brought(target, lived.exported(store), tmp_path)

    assert [("parrots like copper",)] == target.rows(
        "SELECT m.text FROM memory_fts f JOIN memory m ON m.id = f.rowid WHERE memory_fts MATCH 'parrot OR lantern'"
    )
    assert [] == target.rows("SELECT rowid FROM memory_fts WHERE memory_fts MATCH 'fridays'")
    [(now,)] = target.rows("SELECT codes FROM vector WHERE kind = 0")
    assert had != bytes(now)
    assert (0, 0, 0) == ((found := health.check_vectors(target)).stray, found.missing, found.blocks)
    memories.reopen(store, closed, 7.0)
    lived.brought(target, lived.exported(store), tmp_path)
    assert [("the lantern is green",)] == target.rows("SELECT m.text FROM memory_fts f JOIN memory m ON m.id = f.rowid WHERE memory_fts MATCH 'lantern'")
    assert 2 == target.value("SELECT count(*) FROM vector WHERE kind = 0")


def test_an_edge_joins_only_what_one_repository_sees(store: Store, repository: int, other: int, target: Store, tmp_path: Path) -> None:
    """One that somebody wrote between two repositories is left out and counted."""
    one, two = write(store, repository, "here"), write(store, other, "elsewhere")
    data = records(lived.exported(store))
    edge = {"record": "edge", "from": one, "to": two, "kind": "supports", "status": "approved", "strength": 1.0, "reason": "r", "created": 1.0, "decayed": 1.0}

    report = lived.brought(
        target, printed([*data[:-1], edge, {"record": "association", "a": one, "b": two, "strength": 0.5, "count": 1, "since": 1.0}]), tmp_path
    )

    assert (1, 1) == (report.count("edge", "apart"), report.count("association", "apart"))


def test_two_that_superseded_each_other_apart_make_no_circle(store: Store, repository: int, target: Store, tmp_path: Path) -> None:
    """Both are closed, and following what came after ends."""
    one, two = write(store, repository, "the first"), write(store, repository, "the second")
    lived.brought(target, lived.exported(store), tmp_path)
    memories.supersede(store, one, two, 5.0)
    memories.supersede(target, two, one, 6.0)

    lived.brought(target, lived.exported(store), tmp_path)

    found = [memories.get(target, ref) for ref in (one, two)]
    assert ["superseded", "superseded"] == [memory.status for memory in found]
    assert None in [memory.successor for memory in found]


def test_what_is_superseded_here_stays_so_whatever_an_older_export_says(store: Store, repository: int, tmp_path: Path) -> None:
    """Also under another id, as a memory of the same text; and it does not surface again."""
    old, new = write(store, repository, "staging is on Fridays"), write(store, repository, "staging is on Mondays")
    before = records(lived.exported(store))
    memories.supersede(store, old, new, 9.0)
    renamed = [{**record, "id": "maaaaaaaaa"} if record.get("id") == old else record for record in before]

    for given_ in (before, renamed):
        lived.brought(store, printed(given_), tmp_path)
        assert ("superseded", new) == (memories.get(store, old).status, memories.by_id(store, memories.get(store, old).successor or 0).ref)
        assert 2 == store.value("SELECT count(*) FROM memory")
    assert [] == store.rows("SELECT rowid FROM memory_fts WHERE memory_fts MATCH 'fridays'")


def test_an_id_that_another_memory_has_here_is_not_taken(store: Store, repository: int, target: Store, tmp_path: Path) -> None:
    """The one from outside gets a free one, and what points to it goes along; twice is once."""
    one, two = write(store, repository, "the first"), write(store, repository, "the second")
    edges.propose(store, repository, one, two, "supports", "they belong together", 2.0)
    home = int(target.execute("INSERT INTO repository (key, seen) VALUES ('example.org/acme/widgets', 1.0)").lastrowid or 0)
    write(target, home, "somebody else's")
    target.execute("UPDATE memory SET ref = ?", (one,))

    for _ in range(2):
        lived.brought(target, lived.exported(store), tmp_path)

    assert [("somebody else's",)] == target.rows("SELECT text FROM memory WHERE ref = ?", (one,))
    assert 3 == target.value("SELECT count(*) FROM memory")
    assert [("the first", "the second")] == target.rows("SELECT o.text, t.text FROM edge e JOIN memory o ON o.id = e.origin JOIN memory t ON t.id = e.target")


def test_a_turn_that_does_not_fit_its_chain_is_refused_with_what_follows(store: Store, repository: int, target: Store, tmp_path: Path) -> None:
    """And counted by its line; the rest of the export is used."""
    talk(store, repository, "one", "two", "three")
    write(store, repository, "a fact")
    found = records(lived.exported(store))
    where = next(at for at, record in enumerate(found) if record.get("content") == [{"type": "text", "text": "two"}])
    found[where]["content"][0]["text"] = "deux"

    report = lived.brought(target, printed(found), tmp_path)

    assert (1, 2) == (report.count("turn", "new"), report.count("turn", "refused"))
    assert [where + 1, where + 2] == [number for number, _ in report.broken]
    assert [("a fact",)] == target.rows("SELECT text FROM memory")
    assert (1, []) == checked(target)


def test_turns_come_before_the_parents_that_they_wait_for(store: Store, repository: int, target: Store, tmp_path: Path) -> None:
    """A session that goes on from a later one in the file is taken all the same, with what its memories came from."""
    turns = talk(store, repository, "one", "two")
    other = archive.session(store, "a-fork", repository=repository, folder="/home/u/p", at=4.0)
    row = archive.Row(uuid="f1", parent="u1", role="user", kind="prompt", source="user", at=5.0, content=[{"type": "text", "text": "forked"}])
    turns += archive.append(store, other, repository, [row])[1]
    write(store, repository, "from the fork", turns=turns[-1:])
    data = lived.exported(store)
    assert data.index(b"forked") < data.index(b'"one"')

    assert 0 == lived.brought(target, data, tmp_path).bad
    assert data == lived.exported(target)


def test_a_transcript_read_after_the_import_brings_nothing_twice(store: Store, repository: int, target: Store, tmp_path: Path) -> None:
    """The lines are known, so a session's turns are found and what is new follows them."""
    talk(store, repository, "one", "two")
    lived.brought(target, lived.exported(store), tmp_path)

    home = int(target.value("SELECT id FROM repository"))
    talk(target, home, "one", "two", "three")

    assert (3, []) == checked(target)


@pytest.mark.parametrize("at_once", [1, 200])
def test_a_secret_is_taken_out_on_the_way_and_the_chain_holds(
    store: Store, repository: int, target: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    """Of what somebody else wrote, when it is read; whether what follows is written with it or later."""
    monkeypatch.setattr(merged_turns, "AT_ONCE", at_once)
    talk(store, repository, "one", "two", "three")
    ref = write(store, repository, "the door")
    data = records(lived.exported(store))
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    parent = None
    for record in data:
        if record.get("record") == "turn":
            record["content"][0]["text"] += f" {secret}" if record["content"][0]["text"] == "two" else ""
            content = json.dumps(record["content"], ensure_ascii=False, sort_keys=True, separators=(",", ":"))
            own = archive.chain_hash(parent, "s1", "", "user", content)
            record.update({"hash": own.hex(), **({"parent": parent.hex()} if parent else {})})
            parent = own
        if record.get("id") == ref:
            record["text"] += f" opens with {secret}"

    for _ in range(2):
        report = lived.brought(target, printed(data), tmp_path)
        assert (0, 3) == (report.bad, report.count("turn", "new", "known"))
        assert (3, []) == checked(target)
    assert secret.encode() not in lived.exported(target)
    assert b"[redacted" in lived.exported(target)


def test_an_export_takes_out_what_an_older_version_let_through(store: Store, repository: int, target: Store, tmp_path: Path) -> None:
    """A secret in the store does not go out, and the exported chain proves itself."""
    talk(store, repository, "one", "two")
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    store.execute("UPDATE memory SET text = ? WHERE ref = ?", (f"key {secret}", write(store, repository, "key")))
    for trigger in ("turn_is_never_changed",):
        store.execute(f"DROP TRIGGER {trigger}")
    content = json.dumps([{"text": f"one {secret}", "type": "text"}], separators=(",", ":"))
    own = archive.chain_hash(None, "s1", "", "user", content)
    store.execute("UPDATE turn SET content = ?, hash = ? WHERE id = 1", (content, own))
    store.execute("UPDATE turn SET hash = ? WHERE id = 2", (archive.chain_hash(own, "s1", "", "user", '[{"text":"two","type":"text"}]'),))
    assert (2, []) == checked(store)

    data = lived.exported(store)

    assert secret.encode() not in data
    assert 2 == lived.brought(target, data, tmp_path).count("turn", "new")
    assert (2, []) == checked(target)


@pytest.mark.parametrize(
    "spoilt",
    [
        b"", b"{", b"[]", b"null", b'{"record": "memory"}', b'{"record": "nothing"}', b'{"record": "turn", "session": "nowhere"}', b'{"record": "edge", "from": 1}',
        b'{"record": "memory", "id": "../../x"}', b'{"record": "task", "repository": "k", "epic": "e", "status": "active", "created": "x"}', b"[" * 5000,
    ],
)  # fmt: skip
def test_a_line_that_is_no_record_is_named_and_the_others_are_used(store: Store, repository: int, target: Store, tmp_path: Path, spoilt: bytes) -> None:
    """Whatever stands in it."""
    write(store, repository, "a fact")
    lines = lived.exported(store).splitlines()
    lines.insert(2, spoilt)

    report = lived.brought(target, b"\n".join(lines) + b"\n", tmp_path)

    assert [3][: bool(spoilt)] == [number for number, _ in report.broken]
    assert [("a fact",)] == target.rows("SELECT text FROM memory")


def test_every_field_of_every_record_may_be_anything(store: Store, repository: int, target: Store, tmp_path: Path) -> None:
    """Such a line is passed over, or read as what it can be; nothing raises, and what is in the store stays whole."""
    lived.live(store, [(which, at, at + 3) for at, which in enumerate([*range(17), 6, 8, 9, 10])])
    data = records(lived.exported(store))
    for value in (None, "", "x", -1, 1e300, True, [], {}, [1], {"a": []}, "\x00\u202e"):
        spoilt = [{**record, name: value} for record in data[1:-1] for name in record if name != "record"]
        lived.brought(target, printed([data[0], *spoilt]), tmp_path)

        assert [] == repairing.astray(target)
        assert {} == health.damaged_indexes(target)
        assert [] == checked(target)[1]
        for number, key in target.rows("SELECT id, key FROM repository"):
            briefing.sections(target, number, session="s", now=9e5, per_day={"short": 0.97, "long": 0.99})
            assert key
        assert identity.history(target) is not None
    for at in (1e12, -5.0, float("nan")):
        spoilt = [{**record, name: at} for record in data[1:-1] for name in ("created", "at", "seen", "updated", "started") if name in record]
        assert len(spoilt) == lived.brought(target, printed([data[0], *spoilt]), tmp_path).bad


def test_what_is_no_export_or_a_newer_one_is_refused(store: Store, tmp_path: Path) -> None:
    """With a sentence, and nothing is changed."""
    before = lived.exported(store)
    for data, told in ((b"hello\n", "is no export"), (b'{"tenon": "export", "version": 2}\n', "newer Tenon"), (b'{"tenon": "export"}\n', "which version")):
        with pytest.raises(TenonError, match=told):
            lived.brought(store, data, tmp_path)
    assert before == lived.exported(store)


def test_a_file_that_was_cut_off_is_used_and_says_so(store: Store, repository: int, target: Store, tmp_path: Path) -> None:
    """In the middle of a line, too."""
    write(store, repository, "a fact")
    data = lived.exported(store)

    assert lived.brought(target, data[:-10], tmp_path).cut_off
    assert not lived.brought(target, data, tmp_path).cut_off
    assert data == lived.exported(target)


def test_an_import_that_is_stopped_is_begun_again(store: Store, repository: int, target: Store, tmp_path: Path) -> None:
    """What was whole by then stays, and the second time ends with the same."""
    for number in range(1200):
        write(store, repository, f"fact {number}")
    data = lived.exported(store)
    path = tmp_path / "export.jsonl"
    path.write_bytes(data)

    def stop(done: int, lines: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        merging.merge(target, str(path), 9.0, progress=stop)
    assert 498 == target.value("SELECT count(*) FROM memory")
    assert (702, 498) == ((report := merging.merge(target, str(path), 9.0)).count("memory", "new"), report.count("memory", "known"))
    assert data == lived.exported(target)


def test_an_alias_is_taken_over_where_there_is_none(store: Store, target: Store, tmp_path: Path) -> None:
    """And what is kept under one name is found under the other, without doubling."""
    lived.joined(store)
    write(target, int(target.execute("INSERT INTO repository (key, seen) VALUES (?, 1.0)", (lived.KEYS[2],)).lastrowid or 0), "a fact")
    one = int(store.value("SELECT id FROM repository WHERE key = ?", (lived.KEYS[0],)))
    lived.brought(target, lived.exported(store), tmp_path)
    write(store, one, "A  fact")

    lived.brought(target, lived.exported(store), tmp_path)

    assert 1 == target.value("SELECT count(*) FROM memory")
    assert [(lived.KEYS[2], lived.KEYS[0])] == [row[:2] for row in places.everything(target) if row[1]]


def test_a_part_is_exported(store: Store, repository: int, other: int) -> None:
    """One repository with what holds everywhere, or what was changed since; hashes of forgotten things go with all of it alone."""
    write(store, repository, "here")
    write(store, other, "elsewhere")
    write(store, None, "everywhere")
    memories.write(store, repository=repository, tier="short", kind="fact", text="lately", now=50.0)
    forget.forget(store, [write(store, None, "gone")], "the wish", 5.0)

    here = list(exporting.records(store, exporting.Choice([repository])))
    lately = list(exporting.records(store, exporting.Choice(None, 40.0)))

    assert {"here", "everywhere", "lately"} == {record["text"] for record in here if record.get("record") == "memory"}
    assert ["example.org/acme/widgets"] == here[0]["repositories"]
    assert not [record for record in here if record.get("record") == "forgotten"]
    assert {"lately"} == {record["text"] for record in lately if record.get("record") == "memory"}
    assert len(here) == here[-1]["lines"]


def test_a_frozen_identity_takes_nothing(store: Store, target: Store, tmp_path: Path) -> None:
    """And is frozen elsewhere once its export is brought in."""
    identity.add(store, "You like short answers", 1.0)
    data = lived.exported(store)
    identity.freeze(target, 5.0)

    assert 1 == lived.brought(target, data, tmp_path).count("memory", "frozen")
    assert [] == identity.held(target)
    lived.brought(store, lived.exported(target), tmp_path)
    assert identity.is_frozen(store)
