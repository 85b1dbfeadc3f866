"""Vectors: written with the text, found by scope, gone with it, and whole whatever ends a process."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import pytest

from tenon.base.errors import TenonError
from tenon.store import archive, blocks, db, figures, forget, health, memories, migrate, reindex, rescue, vectors
from tenon.store.db import Store
from tenon.store.vectors import MEMORY, PASSAGE, Model
from tenon.vectors import codes, table

NOW = 1_800_000_000.0
SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"
SENTENCES = (
    "The gateway listens on port 8443",
    "Tests are started with the make command",
    "The database password is kept in the vault",
    "Deployments happen on Friday afternoon",
    "The parser reads one line at a time",
)


def units(count: int, dims: int, seed: int = 1) -> list[list[int]]:
    """So many random unit vectors."""
    chance = random.Random(seed)
    found = [codes.unit([chance.gauss(0, 1) for _ in range(dims)]) for _ in range(count)]
    return [unit for unit in found if unit is not None]


def model(store: Store, name: str = "m", dims: int = 64) -> Model:
    """A model with a mean of zeros."""
    return vectors.choose(store, name, dims, [0] * dims)


def write(store: Store, repository: int | None, text: str, **more: object) -> str:
    """The id of a short-term memory with that text."""
    given: dict[str, object] = {"tier": "short", "kind": "fact", "now": NOW, **more}
    return memories.write(store, repository=repository, text=text, **given)[0]  # type: ignore[arg-type]


def say(store: Store, repository: int, texts: list[str], session: str = "s1") -> None:
    """Archives prompts and replies by turns, and a tool's result after them."""
    number = archive.session(store, session, repository=repository, folder="/p", at=NOW)
    kinds = [("user", "prompt", "user"), ("assistant", "reply", "assistant")]
    rows = [
        archive.Row(uuid=f"{session}-{at}", parent=f"{session}-{at - 1}" if at else "", role=kinds[at % 2][0], kind=kinds[at % 2][1],
                    source=kinds[at % 2][2], at=NOW + at, content=[{"type": "text", "text": text}])
        for at, text in enumerate(texts)
    ]  # fmt: skip
    result = {"type": "tool_result", "tool_use_id": "c", "content": "the output of a tool, which nobody said"}
    rows.append(archive.Row(uuid=f"{session}-end", parent=f"{session}-{len(texts) - 1}", role="user", kind="result", source="tool", at=NOW, content=[result]))
    archive.append(store, number, repository, rows)


def owned(store: Store, which: Model | None, kind: int) -> list[int]:
    """The rows that the model has a vector of."""
    assert which is not None
    return [row for (row,) in store.rows("SELECT row FROM vector WHERE model = ? AND kind = ? ORDER BY row", (which.id, kind))]


def number(store: Store, ref: str) -> int:
    """The row number of a memory."""
    return memories.get(store, ref).id


def whole(store: Store) -> tuple[int, int, int]:
    """What the check of the vectors finds: strays, texts without one, blocks that do not agree."""
    found = health.check_vectors(store)
    return found.stray, found.missing, found.blocks


def spans(store: Store) -> list[tuple[int, int]]:
    """Of each block whether it is sealed and how many rows it holds."""
    return [(sealed, count) for sealed, count in store.rows("SELECT sealed, count FROM block ORDER BY id")]


def best(given: dict[int, list[int]], unit: list[int], count: int) -> list[int]:
    """The rows with the largest dot product, by looking at each."""
    return sorted(given, key=lambda row: (-sum(map(int.__mul__, given[row], unit)), row))[:count]


# ---------------------------------------------------------------- nearest


@pytest.mark.parametrize("dims", [36, 64, 384])
def test_the_nearest_are_those_of_looking_at_each(store: Store, dims: int) -> None:
    """Over a few hundred stored vectors, with the exact cosine deciding at the end."""
    own = model(store, dims=dims)
    given = dict(enumerate(units(400, dims), 1))
    vectors.put(store, own, MEMORY, [(row, 1 + row % 3, unit) for row, unit in given.items()])
    agreed = 0
    for unit in units(20, dims, seed=2):
        rows = vectors.nearest(store, own, MEMORY, unit, None, 150)
        cosines = vectors.cosines(store, own, MEMORY, unit, rows)
        assert set(rows) == set(cosines)
        found = sorted(rows, key=lambda row: (-cosines[row], row))[:10]
        agreed += len(set(found) & set(best(given, unit, 10)))
    assert agreed >= 194  # of 200
    exact = vectors.cosines(store, own, MEMORY, given[7], [7, 8, 9999])
    assert [7, 8] == sorted(exact)
    assert abs(exact[7] - 1) < 0.001


def test_another_repositorys_rows_never_come_back(store: Store, repository: int, other: int) -> None:
    """Agent-wide memories always do; of passages there are no agent-wide ones."""
    own = model(store)
    unit = units(1, 64)[0]
    vectors.put(store, own, MEMORY, [(1, repository, unit), (2, other, unit), (3, None, unit)])
    vectors.put(store, own, PASSAGE, [(1, repository, unit), (2, other, unit)])

    assert [1, 3] == sorted(vectors.nearest(store, own, MEMORY, unit, [repository], 10))
    assert [2, 3] == sorted(vectors.nearest(store, own, MEMORY, unit, [other], 10))
    assert [3] == vectors.nearest(store, own, MEMORY, unit, [], 10)
    assert [1, 2, 3] == sorted(vectors.nearest(store, own, MEMORY, unit, None, 10))
    assert [1] == vectors.nearest(store, own, PASSAGE, unit, [repository], 10)
    assert [] == vectors.nearest(store, own, PASSAGE, unit, [], 10)
    assert [1, 2] == sorted(vectors.nearest(store, own, PASSAGE, unit, [repository, other], 10))


def test_models_keep_apart(store: Store, repository: int) -> None:
    """Each finds its own vectors, of its own size; removing one leaves the others."""
    small, large = model(store, "small", 16), model(store, "large", 100)
    vectors.put(store, small, MEMORY, [(row, repository, unit) for row, unit in enumerate(units(5, 16), 1)])
    vectors.put(store, large, MEMORY, [(row, repository, unit) for row, unit in enumerate(units(3, 100), 1)])

    assert 5 == len(vectors.nearest(store, small, MEMORY, units(1, 16)[0], None, 10))
    assert [("small", 16, 5, 5 * 4 + 5 * 2 + 5 * 18), ("large", 100, 3, 3 * 4 + 3 * 13 + 3 * 102)] == figures.vectors(store)
    vectors.drop(store, MEMORY, [2])
    assert ([1, 3, 4, 5], [1, 3]) == (owned(store, small, MEMORY), owned(store, large, MEMORY))
    vectors.remove(store, small)
    assert [("large", 100)] == [(one.name, one.dims) for one in vectors.models(store)]
    assert [1, 3] == sorted(vectors.nearest(store, large, MEMORY, units(1, 100)[0], None, 10))
    assert 2 == store.value("SELECT count(*) FROM vector")
    with pytest.raises(TenonError, match="'small' were removed meanwhile"):
        vectors.put(store, small, MEMORY, [(1, repository, units(1, 16)[0])])


def test_a_wrong_size_is_refused(store: Store, repository: int) -> None:
    """Of a known model, of a vector, and one that is none; nothing is written."""
    own = model(store, "m", 64)
    with pytest.raises(TenonError, match=r"'m' gives vectors of 65 dimensions now, and the memory has ones of 64 from it; `tenon embed rebuild`"):
        model(store, "m", 65)
    with pytest.raises(TenonError, match="'m' has given a vector of 63 dimensions instead of 64; nothing was kept"):
        vectors.put(store, own, MEMORY, [(1, repository, units(1, 64)[0]), (2, repository, units(1, 63)[0])])
    with pytest.raises(TenonError, match="a model of 0 dimensions cannot be kept"):
        model(store, "none", 0)
    with pytest.raises(TenonError, match="a model of 8 dimensions cannot be kept"):
        vectors.choose(store, "mean", 8, [0] * 7)
    assert (0, ["m"]) == (store.value("SELECT count(*) FROM vector"), [one.name for one in vectors.models(store)])


def test_a_models_mean_is_kept_and_decides_the_signs(store: Store, repository: int) -> None:
    """In sixteen bits each, also below zero and at the end of the range."""
    own = vectors.choose(store, "m", 8, [-32768, 32768, 5, -7, 0, 0, 0, 0])
    known = vectors.named(store, "m")

    assert known is not None
    assert [-32768, 32767, 5, -7, 0, 0, 0, 0] == known.mean == own.mean
    assert None is vectors.named(store, "n")
    unit = codes.unit([1, 1, 0, 0, 1, 0, 0, -1])
    assert unit is not None
    vectors.put(store, own, MEMORY, [(1, repository, unit)])
    assert [(bytes([0b00011001]),)] == store.rows("SELECT signs FROM block")


def test_a_models_cosines_are_told_on_the_tables_scale(store: Store) -> None:
    """By how far they are from those of unrelated sentences, within -1 and 1; the table's own stay."""
    own = vectors.choose(store, "m", 64, [0] * 64, 0.55, 0.05)
    known = vectors.named(store, "m")
    assert known is not None
    assert (0.55, 0.05) == (known.chance, known.spread) == (own.chance, own.spread)
    again = vectors.choose(store, "m", 64, [0] * 64, 0.1, 0.1)
    assert (0.55, 0.05) == (again.chance, again.spread)
    told = [round(vectors.calibrated(known, cosine), 3) for cosine in (0.55, 0.60, 0.50, 0.75, 1.0, -1.0)]
    assert [0.119, 0.229, 0.009, 0.559, 1.0, -1.0] == told
    builtin = vectors.choose(store, "builtin:00000001", 64, [0] * 64)
    assert (0.119, 0.11, 0.3) == (builtin.chance, builtin.spread, vectors.calibrated(builtin, 0.3))


# ---------------------------------------------------------------- blocks


def test_blocks_are_sealed_at_8192_rows(store: Store, repository: int) -> None:
    """One by one and many at once make the same; other places do not count."""
    own = model(store, dims=64)
    given = units(200, 64)
    items = [(row, repository, given[row % 200]) for row in range(1, 8193 + 3000)]
    with store.transaction():
        for at in range(0, 8191, 100):
            vectors.put(store, own, MEMORY, items[at : min(at + 100, 8191)])
    vectors.put(store, own, PASSAGE, items[:5])
    assert [(0, 2048), (0, 2048), (0, 2048), (0, 2047), (0, 5)] == spans(store)
    before = store.rows("SELECT row, codes FROM vector WHERE kind = 0 ORDER BY row")
    vectors.put(store, own, MEMORY, items[8191:8192])
    assert [(0, 5), (1, 8192)] == spans(store)
    assert before == store.rows("SELECT row, codes FROM vector WHERE kind = 0 AND row < 8192 ORDER BY row")
    vectors.put(store, own, MEMORY, items[8192:])
    assert [(0, 5), (1, 8192), (0, 2048), (0, 952)] == spans(store)
    assert 0 == whole(store)[2]

    bulk = model(store, "bulk", 64)
    vectors.put(store, bulk, MEMORY, items)
    alike = "SELECT sealed, count, rows, signs FROM block WHERE model = ? AND kind = 0 ORDER BY id"
    assert store.rows(alike, (own.id,)) == store.rows(alike, (bulk.id,))
    for at, unit in enumerate(given[:5]):
        rows = vectors.nearest(store, own, MEMORY, unit, [repository], 100)
        assert set(range(at + 200, 11193, 200)) <= set(rows)
        assert vectors.cosines(store, own, MEMORY, unit, [11000 + at])[11000 + at] > 0.999


@pytest.mark.parametrize("sealed", [False, True])
def test_what_is_dropped_leaves_no_bit(store: Store, repository: int, sealed: bool) -> None:
    """The signs of the row become zeros, the number too; the neighbours stay as they were."""
    own = model(store, dims=16)
    size = 8192 if sealed else 100
    unit = codes.unit([1] * 16)
    assert unit is not None
    vectors.put(store, own, MEMORY, [(row, repository, unit) for row in range(1, size + 1)])
    vectors.drop(store, MEMORY, [7, 9, 9, 123456])

    (count, rows, signs) = store.rows("SELECT count, rows, signs FROM block")[0]
    assert (size, [5, 6, 0, 8, 0, 10]) == (count, blocks.numbers(rows)[4:10])
    expected = bytearray(b"\xff" * 2 * size)
    for at in (6, 6 + size, 8, 8 + size) if sealed else (12, 13, 16, 17):
        expected[at] = 0
    assert bytes(expected) == signs
    assert {7, 9}.isdisjoint(vectors.nearest(store, own, MEMORY, unit, None, size))
    assert {} == vectors.cosines(store, own, MEMORY, unit, [7, 9])
    assert 0 == whole(store)[2]


@pytest.mark.parametrize("sealed", [False, True])
def test_a_block_that_loses_much_is_packed(store: Store, repository: int, sealed: bool) -> None:
    """What is left is found as before; the last one takes the block along."""
    own = model(store, dims=20)
    size = 8192 if sealed else 300
    given = dict(enumerate(units(size, 20), 1))
    vectors.put(store, own, MEMORY, [(row, repository, unit) for row, unit in given.items()])
    vectors.drop(store, MEMORY, range(1, size - 40))
    assert [(int(sealed), 41)] == spans(store)
    for row in (size - 40, size):
        assert row in vectors.nearest(store, own, MEMORY, given[row], None, 10)
        assert vectors.cosines(store, own, MEMORY, given[row], [row])[row] > 0.999
    assert 0 == whole(store)[2]
    vectors.drop(store, MEMORY, range(1, size + 1))
    assert ([], 0) == (spans(store), store.value("SELECT count(*) FROM vector"))


def test_a_row_that_is_put_again_is_replaced(store: Store, repository: int, other: int) -> None:
    """Also into another repository, and twice in one go; the sealed block forgets the empty places."""
    own = model(store, dims=16)
    one, two = units(2, 16)
    assert 2 == vectors.put(store, own, MEMORY, [(1, repository, one), (2, repository, one)])
    assert 1 == vectors.put(store, own, MEMORY, [(1, repository, one), (1, other, two)])
    assert [1] == vectors.nearest(store, own, MEMORY, two, [other], 5)
    assert [2] == vectors.nearest(store, own, MEMORY, two, [repository], 5)
    assert abs(vectors.cosines(store, own, MEMORY, two, [1])[1] - 1) < 0.001
    assert 0 == vectors.put(store, own, MEMORY, [])
    for _ in range(20):
        vectors.put(store, own, MEMORY, [(row, repository, one) for row in range(10, 30)])
    vectors.put(store, own, MEMORY, [(row, repository, one) for row in range(100, 1000)])
    vectors.drop(store, MEMORY, range(100, 110))
    vectors.put(store, own, MEMORY, [(row, repository, one) for row in range(1000, 8400)])
    sealed = store.rows("SELECT count, rows FROM block WHERE sealed = 1")
    assert 1 == len(sealed)
    assert 0 not in blocks.numbers(sealed[0][1])
    assert sealed[0][0] == 8182
    assert 0 == whole(store)[2]


# ---------------------------------------------------------------- memories and passages


def test_a_memory_is_embedded_as_it_is_written(store: Store, repository: int) -> None:
    """Found by what it means; another repository's is not."""
    refs = [write(store, repository, text) for text in SENTENCES]
    own = vectors.builtin(store)
    shared = table.shared()
    assert own is not None
    assert shared is not None
    assert (shared.name, shared.dims, shared.mean) == (own.name, own.dims, own.mean)
    unit = shared.embed("Where does the gateway listen?")
    assert unit is not None
    rows = vectors.nearest(store, own, MEMORY, unit, [repository], 10)
    cosines = vectors.cosines(store, own, MEMORY, unit, rows)
    assert refs[0] == memories.by_id(store, max(cosines, key=cosines.__getitem__)).ref
    assert [] == vectors.nearest(store, own, MEMORY, unit, [repository + 1], 10)
    assert (0, 0, 0) == whole(store)
    assert (5, 5) == vectors.progress(store, own)
    assert own.ready is not None


def test_a_revised_memory_is_embedded_anew(store: Store, repository: int) -> None:
    """By the built-in table at once; the other models find it missing, also below where they are."""
    refs = [write(store, repository, text) for text in SENTENCES]
    follower = model(store, "follower", 16)
    work_off(store, follower)
    assert [] == vectors.missing(store, follower, 10)
    memories.revise(store, refs[1], "Tests are started with the ninja command", "it moved", NOW)

    own, shared = vectors.builtin(store), table.shared()
    assert own is not None
    assert shared is not None
    unit = shared.embed("Tests are started with the ninja command")
    assert unit is not None
    row = number(store, refs[1])
    assert vectors.cosines(store, own, MEMORY, unit, [row])[row] > 0.999
    assert [(MEMORY, row, repository, "Tests are started with the ninja command")] == vectors.missing(store, follower, 10)
    assert (4, 5) == vectors.progress(store, follower)
    work_off(store, follower)
    assert (0, 0, 0) == whole(store)
    assert (5, 5) == vectors.progress(store, follower)


def test_a_superseded_memory_has_no_vector(store: Store, repository: int) -> None:
    """Of any model; neither is it missing one. A forgotten one has none either."""
    refs = [write(store, repository, text) for text in SENTENCES]
    follower = model(store, "follower", 16)
    memories.supersede(store, refs[0], refs[1], NOW)
    forget.forget(store, [refs[2]], "wish", NOW)
    left = [number(store, refs[at]) for at in (1, 3, 4)]
    assert left == owned(store, vectors.builtin(store), MEMORY)
    assert left == [row for _, row, _, _ in vectors.missing(store, follower, 10)]
    assert (0, 0, 0) == whole(store)


def test_only_what_was_said_is_embedded(store: Store, repository: int) -> None:
    """Prompts and replies, in passages; a tool's output is not. What is forgotten loses its vector."""
    say(store, repository, ["Where does the gateway listen? " * 80, "It listens on port 8443, as the settings say"])
    own = vectors.builtin(store)
    assert [1, 2, 3] == owned(store, own, PASSAGE)
    follower = model(store, "follower", 16)
    assert [(PASSAGE, 1, repository), (PASSAGE, 2, repository), (PASSAGE, 3, repository)] == [found[:3] for found in vectors.missing(store, follower, 10)]
    beside = " ".join(["Where does the gateway listen"] * 6)  # the first thirty words of what was asked
    assert f"It listens on port 8443, as the settings say\f{beside}" == vectors.missing(store, follower, 10)[2][3]
    work_off(store, follower)
    assert (3, 3) == vectors.progress(store, follower)
    forget.forget(store, ["t1"], "wish", NOW)
    assert ([3], []) == (owned(store, own, PASSAGE), owned(store, follower, PASSAGE))
    # The answer's vector stood for what was asked, too: it is another one now, and the follower makes it anew.
    assert [(PASSAGE, 3, repository, "It listens on port 8443, as the settings say")] == vectors.missing(store, follower, 10)
    assert (0, 0, 0) == whole(store)


def test_a_number_that_is_used_again_is_embedded_again(store: Store, repository: int) -> None:
    """The passages of the last turn are forgotten, and the next turn's have their numbers."""
    follower = model(store, "follower", 16)
    archive.append(store, archive.session(store, "a", repository=repository, folder="/p", at=NOW), repository, [spoken("a", SENTENCES[0])])
    work_off(store, follower)
    forget.forget(store, ["t1"], "wish", NOW)
    archive.append(store, archive.session(store, "b", repository=repository, folder="/p", at=NOW), repository, [spoken("b", SENTENCES[1])])
    assert [(PASSAGE, 1, repository, SENTENCES[1])] == vectors.missing(store, follower, 10)
    assert [1] == owned(store, vectors.builtin(store), PASSAGE)


def test_without_a_table_nothing_fails(store: Store, repository: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is written meanwhile is missing once there is a table."""
    write(store, repository, SENTENCES[0])
    with monkeypatch.context() as patch:
        patch.setattr(table, "_OPENED", {table.TABLE: None})
        assert None is vectors.builtin(store)
        ref = write(store, repository, SENTENCES[1])
        memories.revise(store, ref, SENTENCES[2], "it moved", NOW)
        say(store, repository, [SENTENCES[3]])
    write(store, repository, SENTENCES[4])
    own = vectors.builtin(store)
    assert own is not None
    assert [(MEMORY, 2, repository, SENTENCES[2]), (PASSAGE, 1, repository, SENTENCES[3])] == vectors.missing(store, own, 10)
    assert (0, 2, 0) == whole(store)
    work_off(store, own)
    assert ([1, 2, 3], [1]) == (owned(store, own, MEMORY), owned(store, own, PASSAGE))
    assert [] == vectors.missing(store, own, 10)


def test_a_text_that_says_nothing_to_the_table_has_no_vector(store: Store, repository: int) -> None:
    """And is missed by nobody."""
    write(store, repository, "ʘ‿ʘ ٩◔̯◔۶ ᚠᛇᚻ᛫ᛒᛦᚦ")
    write(store, repository, SENTENCES[0])
    own = vectors.builtin(store)
    assert own is not None
    assert [2] == owned(store, own, MEMORY)
    assert ([], (2, 2), (0, 0, 0)) == (vectors.missing(store, own, 10), vectors.progress(store, own), whole(store))


# ---------------------------------------------------------------- the backlog


def work_off(store: Store, which: Model, failing: tuple[int, ...] = ()) -> None:
    """Embeds everything missing, two at a time, as a worker does; the rows that fail get no vector."""
    while found := vectors.missing(store, which, 2):
        with store.transaction():
            for kind, row, repository, text in found:
                if row not in failing:
                    shared = table.shared()
                    unit = (
                        codes.unit([1 + ord(char) for char in (text * 16)[: which.dims]]) if shared is None or which.name != shared.name else shared.embed(text)
                    )
                    assert unit is not None
                    vectors.put(store, which, kind, [(row, repository, unit)])
                vectors.passed(store, which, kind, row)


def spoken(uuid: str, text: str) -> archive.Row:
    """A prompt on its way into the archive."""
    return archive.Row(uuid=uuid, parent="", role="user", kind="prompt", source="user", at=NOW, content=[{"type": "text", "text": text}])


def test_a_model_works_off_what_it_is_missing(store: Store, repository: int) -> None:
    """Memories first, in the order of their numbers; one that cannot be embedded is passed over and holds up nothing."""
    refs = [write(store, repository if at else None, text) for at, text in enumerate(SENTENCES)]
    say(store, repository, list(SENTENCES[:2]))
    follower = model(store, "follower", 16)
    assert (None, (0, 7)) == (follower.ready, vectors.progress(store, follower))
    assert not vectors.is_ready(store)
    assert [(MEMORY, number(store, refs[0]), None, SENTENCES[0]), (MEMORY, number(store, refs[1]), repository, SENTENCES[1])] == vectors.missing(
        store, follower, 2
    )
    assert [(PASSAGE, 1, repository, f"{SENTENCES[0]}\f{SENTENCES[1]}")] == vectors.missing(store, follower, 6)[5:]
    work_off(store, follower, failing=(3,))
    assert ([1, 2, 4, 5], [1, 2]) == (owned(store, follower, MEMORY), owned(store, follower, PASSAGE))
    assert (7, 7) == vectors.progress(store, follower)
    known = vectors.named(store, "follower")
    assert known is not None
    assert known.ready is not None
    assert vectors.is_ready(store)
    write(store, repository, "One more memory is written here")
    assert (7, 8) == vectors.progress(store, follower)
    again = vectors.named(store, "follower")
    assert again is not None
    assert known.ready == again.ready


def test_what_was_revised_while_it_was_embedded_is_not_passed_over(store: Store, repository: int) -> None:
    """The watermark stops below a row without a vector."""
    refs = [write(store, repository, text) for text in SENTENCES]
    follower = model(store, "follower", 16)
    work_off(store, follower)
    more = write(store, repository, "One more memory is written here")
    memories.revise(store, refs[0], "The gateway listens on port 9000 today", "it moved", NOW)
    vectors.put(store, follower, MEMORY, [(number(store, more), repository, units(1, 16)[0])])
    vectors.passed(store, follower, MEMORY, number(store, more))
    assert [number(store, refs[0])] == [row for _, row, _, _ in vectors.missing(store, follower, 10)]


def test_an_earlier_table_goes_when_the_new_one_has_everything(store: Store, repository: int) -> None:
    """Its vectors answer nobody's question any more; other models stay."""
    earlier = model(store, "builtin:00000001", 16)
    other = model(store, "follower", 16)
    for which in (earlier, other):
        vectors.put(store, which, MEMORY, [(1, repository, units(1, 16)[0])])
    write(store, repository, SENTENCES[0])
    own = vectors.builtin(store)
    assert own is not None
    assert {"follower", own.name} == {one.name for one in vectors.models(store)}
    assert None is not own.ready


def test_a_reader_asks_and_writes_nothing(store: Store, repository: int) -> None:
    """The built-in model is none before the first writer has met it."""
    with db.open_reader(store.path) as reader:
        assert None is vectors.builtin(reader)
    write(store, repository, SENTENCES[0])
    with db.open_reader(store.path) as reader:
        own, shared = vectors.builtin(reader), table.shared()
        assert own is not None
        assert shared is not None
        unit = shared.embed(SENTENCES[0])
        assert unit is not None
        assert [1] == vectors.nearest(reader, own, MEMORY, unit, [repository], 5)
        assert ([], (1, 1)) == (vectors.missing(reader, own, 5), vectors.progress(reader, own))


# ---------------------------------------------------------------- sudden ends, and many at once

WRITER = """
import sys
sys.path.insert(0, {scripts!r})
from tenon.store import db, memories
store = db.open_store({path!r}, busy_s=60)
"""


def started(code: str, path: str) -> subprocess.Popen[str]:
    """A process of its own that has the store open."""
    return subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", WRITER.format(scripts=str(SCRIPTS), path=path) + code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


def test_a_process_killed_within_a_transaction_leaves_the_store_as_it_was(store: Store, repository: int) -> None:
    """Half written memories, vectors and a seal that was under way are not there; the next ones are."""
    for text in SENTENCES:
        write(store, repository, text)
    before = (spans(store), store.rows("SELECT kind, row, block, codes FROM vector"), store.rows("SELECT rows, signs FROM block"))
    code = (
        "from tenon.store import vectors\n"
        "from tenon.vectors.codes import unit\n"
        "store.con.execute('PRAGMA cache_size = 10')\n"  # so that pages are in the file before the end
        "with store.transaction():\n"
        f"    memories.write(store, repository={repository}, tier='short', kind='fact', text='Half a memory is written here', now=1.0)\n"
        f"    vectors.put(store, vectors.builtin(store), 0, [(row, {repository}, unit([row % 7 - 3, 1] * 64)) for row in range(100, 9000)])\n"
        "    print('within', flush=True)\n"
        "    sys.stdin.read()\n"
    )
    process = started(code, store.path)
    assert process.stdout is not None
    assert "within\n" == process.stdout.readline()
    process.kill()
    process.communicate()

    with db.open_store(store.path) as again:
        assert before == (spans(again), again.rows("SELECT kind, row, block, codes FROM vector"), again.rows("SELECT rows, signs FROM block"))
        write(again, repository, "A whole memory is written here")
        assert (0, 0, 0) == whole(again)
        assert [("ok",)] == again.rows("PRAGMA integrity_check")


def test_two_processes_write_at_once(store: Store, repository: int) -> None:
    """Each of the two hundred memories has its vector, and the blocks agree."""
    code = (
        "print('open', flush=True)\n"
        "sys.stdin.readline()\n"
        "for at in range(100):\n"
        f"    memories.write(store, repository={repository}, tier='short', kind='fact', text=f'The {{sys.argv[0]}} tests of machine {{at}} by %s are green', now=1.0)\n"
    )
    processes = [started(code.replace("%s", name), store.path) for name in ("Anna", "Bert")]
    for process in processes:
        assert process.stdout is not None
        assert "open\n" == process.stdout.readline()
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    assert [0, 0] == [process.wait(60) for process in processes]
    for process in processes:
        process.communicate()
    assert 200 == len(owned(store, vectors.builtin(store), MEMORY)) == store.value("SELECT count(*) FROM memory")
    assert (0, 0, 0) == whole(store)


# ---------------------------------------------------------------- made anew


def test_making_the_indexes_anew_makes_the_vectors_anew(store: Store, repository: int) -> None:
    """Also where they were damaged; another model embeds the passages again, which have other numbers now."""
    for text in SENTENCES:
        write(store, repository, text)
    say(store, repository, list(SENTENCES[:3]))
    follower = model(store, "follower", 16)
    work_off(store, follower)
    forget.forget(store, ["t1"], "wish", NOW)
    store.execute("DELETE FROM vector WHERE kind = 0 AND row = 2")
    store.execute("UPDATE block SET rows = x'00' WHERE kind = 1")
    store.execute("INSERT INTO vector (kind, row, model, block, codes) VALUES (1, 99, ?, 1, x'00')", (follower.id,))
    assert (1, 1, 4) == whole(store)
    reindex.rebuild(store)
    assert (0, 0, 0) == whole(store)
    assert [True, False] == [one.ready is not None for one in vectors.models(store)]
    assert [1, 2, 3, 4, 5] == owned(store, vectors.builtin(store), MEMORY)
    assert len(owned(store, vectors.builtin(store), PASSAGE)) == 2
    work_off(store, follower)
    assert owned(store, vectors.builtin(store), PASSAGE) == owned(store, follower, PASSAGE)
    assert (0, 0, 0) == whole(store)


def test_a_rescued_store_has_its_vectors(store: Store, repository: int) -> None:
    """Those of the built-in table; another model begins again."""
    for text in SENTENCES:
        write(store, repository, text)
    say(store, repository, list(SENTENCES[:3]))
    work_off(store, model(store, "follower", 16))
    store.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    assert [] == rescue.rescue(store.path, "1", NOW).broken
    with db.open_store(store.path) as fresh:
        own = vectors.builtin(fresh)
        said = [row for (row,) in fresh.rows("SELECT p.id FROM passage p JOIN turn t ON t.id = p.turn WHERE t.kind <> 'result' ORDER BY p.id")]
        assert ([1, 2, 3, 4, 5], 3, said) == (owned(fresh, own, MEMORY), len(said), owned(fresh, own, PASSAGE))
        assert own is not None
        assert [own.name] == [one.name for one in vectors.models(fresh)]
        assert own.ready is not None
        assert (0, 0, 0) == whole(fresh)


def test_a_store_of_version_2_finds_its_vectors_missing_when_it_is_brought_up(tmp_path: Path) -> None:
    """Memories that surface and what was said: the worker embeds them; the indexes have their second column, and its weight, at once."""
    path = tmp_path / "a störe" / "tenon.db"
    path.parent.mkdir()
    con = db.sqlite.connect(str(path), isolation_level=None)
    for version in (1, 2):
        for statement in migrate.statements(version):
            con.execute(statement)
    con.execute("PRAGMA user_version = 2")
    con.execute("INSERT INTO repository (id, key, seen) VALUES (1, 'example.org/acme/widgets', 1.0)")
    for at, text in enumerate(SENTENCES, 1):
        values = (at, f"m{at}", text, "superseded" if at == 2 else "live")
        con.execute(
            "INSERT INTO memory (id, ref, repository, tier, kind, text, reason, source, labels, epic, strength, status, created, reinforced, decayed, valid_from) "
            "VALUES (?, ?, 1, 'long', 'fact', ?, 'the architect said so', 'user', '[\"PR#41\", \"src/zebra.py\"]', 'gnu', 1, ?, 1, 1, 1, 1)",
            values,
        )
        con.execute("INSERT INTO memory_fts (rowid, text) SELECT id, text FROM memory WHERE id = ? AND status = 'live'", (at,))
    con.execute("INSERT INTO session (id, name, repository, folder, client, started, last) VALUES (1, 's1', 1, '/p', 'claude-code', 1, 1)")
    parent, above = None, None
    for at, (kind, role, text) in enumerate((("prompt", "user", "Who wrote the parser of this project?"), ("reply", "assistant", "Nobody remembers that"))):
        content = archive.canonical([{"type": "text", "text": text}])
        own = archive.chain_hash(above, "s1", "", role, content)
        con.execute(
            "INSERT INTO turn (id, hash, parent, session, repository, role, kind, source, at, tokens, content) VALUES (?, ?, ?, 1, 1, ?, ?, ?, 1, 1, ?)",
            (at + 1, own, parent, role, kind, role, content),
        )
        con.execute("INSERT INTO passage (id, turn, repository, first, last) VALUES (?, ?, 1, 0, ?)", (at + 1, at + 1, len(text)))
        con.execute("INSERT INTO turn_fts (rowid, text) VALUES (?, ?)", (at + 1, text))
        parent, above = at + 1, own
    con.close()

    with db.open_store(str(path)) as store:
        assert migrate.NEWEST == store.value("PRAGMA user_version")
        own_model = vectors.builtin(store)
        assert own_model is not None
        assert ([], [], None, (0, 6)) == (
            owned(store, own_model, MEMORY),
            owned(store, own_model, PASSAGE),
            own_model.ready,
            vectors.progress(store, own_model),
        )
        work_off(store, own_model)
        assert ([1, 3, 4, 5], [1, 2]) == (owned(store, own_model, MEMORY), owned(store, own_model, PASSAGE))
        done = vectors.builtin(store)
        assert done is not None
        assert done.ready is not None
        assert ((0, 0, 0), {}) == (whole(store), health.damaged_indexes(store))
        assert [(1,), (3,), (4,), (5,)] == store.rows(
            "SELECT rowid FROM memory_fts WHERE memory_fts MATCH 'about : zebra AND about : architect AND about : gnu'"
        )
        assert [(2,)] == store.rows("SELECT rowid FROM turn_fts WHERE turn_fts MATCH 'near : parser'")
        for name in ("memory_fts", "turn_fts"):
            assert "bm25(1.0, 0.4)" == store.value(f"SELECT v FROM {name}_config WHERE k = 'rank'")
