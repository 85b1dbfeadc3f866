"""A store of an earlier version is brought up to this one with everything in it, whoever comes first."""

from __future__ import annotations

import gzip
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tenon.base.errors import TenonError
from tenon.digest import applying, batch, operations
from tenon.store import (
    archive,
    conversations,
    db,
    digests,
    edges,
    exchanges,
    forget,
    growth,
    health,
    journal,
    latency,
    memories,
    migrate,
    places,
    rescue,
    spending,
    usage,
)
from tests.store.chain import checked

NOW = 1_796_200_000.0
SAVED = Path(__file__).with_name("version_1.db.gz")  # written by version 0.1.0: a session of four turns, a memory, something forgotten


@pytest.fixture()
def old(tmp_path: Path) -> str:
    """The path of a store of version 1."""
    path = tmp_path / "a störe" / "tenon.db"
    path.parent.mkdir()
    path.write_bytes(gzip.decompress(SAVED.read_bytes()))
    path.chmod(0o600)
    return str(path)


def test_the_newest_version_is_that_of_the_last_schema_file() -> None:
    """A file that nobody applies, or a number without a file, would be found here."""
    files = sorted(path.name for path in Path(migrate.SCHEMA).iterdir())

    assert 5 == migrate.NEWEST == len(files)
    assert [f"{number:04d}" for number in range(1, migrate.NEWEST + 1)] == [name[:4] for name in files]


def test_a_store_of_version_1_keeps_everything(old: str) -> None:
    """Turns, memory, what is forgotten; and the new tables are there and empty."""
    with db.open_store(old) as store:
        assert 5 == store.value("PRAGMA user_version")
        assert ["Which port does the gateway use?", "Port 8443.", "And the café's queue?", "It is called «été»."] == [
            turn.text() for turn in exchanges.session_turns(store, 1)
        ]
        assert (4, []) == checked(store)
        assert "The gateway listens on port 8443" == memories.get(store, "mkqwnlx2bk").text
        assert {} == health.damaged_indexes(store)
        assert [] == conversations.listed(store, 10)
        begun = conversations.begin(store, name="s1", client="claude-code", folder="/home/u/widgets", repository=1, now=NOW, state="traced")
        assert conversations.remember_sent(store, begun, 0, [("d0", b'{"role":"user","content":"the Xolotl gateway"}')])
        assert [("d0", b'{"role":"user","content":"the [forgotten] gateway"}')] == conversations.sent(store, begun)
    with db.open_reader(old) as store:
        assert ["s1"] == [found.name for found in conversations.listed(store, 10)]


def test_a_store_of_version_3_is_ready_for_the_digest(tmp_path: Path) -> None:
    """Memories, links, lineage and what waits are as they were; nobody is known to have written them, which protects what the user said."""
    path = tmp_path / "tenon.db"
    path.write_bytes(gzip.decompress(Path(__file__).with_name("version_3.db.gz").read_bytes()))
    with db.open_store(str(path)) as store:
        assert 5 == store.value("PRAGMA user_version")
        assert [("mkqwnlx2bk", "live", ""), ("mmgmr6i4or", "live", ""), ("mn5overdwp", "superseded", "")] == store.rows(
            "SELECT ref, status, writer FROM memory"
        )
        assert ["related_to"] == [edge["type"] for edge in edges.listing(store, 1)]
        assert "code" == store.value("SELECT writer FROM summary")
        found = batch.compose(store, 1, 60_000)
        assert found is not None
        assert ["t2", "t3", "t4"] == list(found.turns)
        number = digests.begin(store, phase="consolidation", repository=1, runner="api", model="haiku", now=NOW)
        allowance = applying.Allowance(2)
        allowance.batch(1000)
        with store.transaction():
            work = applying.Applying(store, number, found, allowance, NOW, {"short": 0.95, "long": 0.997})
            work.all([operations.Operation("correct", {"old": "mmgmr6i4or", "text": "Orders are in MySQL", "turns": ["t3"]})])
        assert ["correct: the user wrote or confirmed it"] == [step.note for step in digests.steps(store, number)]


def test_a_store_of_version_4_keeps_its_journal_and_its_meter(tmp_path: Path) -> None:
    """What was shown then has nothing that was left out; usage, growth and latency begin empty, and a rescue of it misses no table."""
    path = tmp_path / "tenon.db"
    path.write_bytes(gzip.decompress(Path(__file__).with_name("version_4.db.gz").read_bytes()))
    (tmp_path / "again").mkdir()
    again = tmp_path / "again" / "tenon.db"
    again.write_bytes(path.read_bytes())
    with db.open_store(str(path)) as store:
        assert 5 == store.value("PRAGMA user_version")
        briefing, prompt = journal.entries(store)
        assert ([("mkqwnlx2bk", "", "briefing")], []) == (briefing.hits, briefing.skipped)
        assert ([("mkqwnlx2bk", "0.81")], ["gateway", "port"], []) == ([hit[:2] for hit in prompt.hits], prompt.words, prompt.skipped)
        assert 890 == spending.between(store, 0, NOW).tokens
        assert ([], {}, []) == (usage.latest(store, 0, 10), latency.since(store, 0), growth.since(store, 0))
        assert growth.daily(store, NOW)
    saved = rescue.rescue(str(again), "1", NOW)
    assert ([], 2, 1) == (saved.broken, saved.rows["journal"], saved.rows["spending"])


def test_a_rescue_brings_along_what_was_counted(tmp_path: Path) -> None:
    """Usage, days and latencies are in the fresh store."""
    path = str(tmp_path / "tenon.db")
    with db.open_store(path) as store:
        repository = places.settle(store, str(tmp_path), NOW)
        session = archive.session(store, "s1", repository=repository, folder="/p", at=NOW)
        usage.note(store, session, {"msg_1": (NOW, False, (1, 2, 3, 4))}, NOW)
        latency.note(store, 0.004, NOW)
        growth.daily(store, NOW)
        noted = growth.since(store, 0)[0]

    saved = rescue.rescue(path, "1", NOW)

    assert ([], 1, 1, 1) == (saved.broken, saved.rows["usage"], saved.rows["growth"], saved.rows["latency"])
    with db.open_store(path) as store:
        assert 3 == usage.of_session(store, "s1").read
        assert [noted.size_bytes] == [day.size_bytes for day in growth.since(store, 0)]


def test_a_rescue_copies_every_table_of_the_schema(tmp_path: Path) -> None:
    """But those that are made anew from the others."""
    with db.open_store(str(tmp_path / "tenon.db")) as store:
        names = {
            str(name) for (name,) in store.rows("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name NOT LIKE '%_fts%'")
        }

    assert {"passage", "model", "vector", "block"} == names - set(rescue.TABLES)
    assert set(rescue.TABLES) <= names


def test_of_many_openers_one_brings_the_store_up(old: str) -> None:
    """The others find it done."""

    def version(_: int) -> int:
        with db.open_store(old) as store:
            return int(store.value("PRAGMA user_version"))

    with ThreadPoolExecutor(8) as pool:
        assert [5] * 16 == list(pool.map(version, range(16)))


def test_a_step_that_fails_leaves_the_version_before(old: str) -> None:
    """Nothing of the new schema is there, and the next opening does it."""
    con = sqlite3.connect(old)
    con.execute("CREATE TABLE sent (in_the_way)")
    with pytest.raises(TenonError, match="already exists"):
        db.open_store(old)
    assert (1, []) == (con.execute("PRAGMA user_version").fetchone()[0], con.execute("SELECT name FROM sqlite_master WHERE name = 'conversation'").fetchall())
    con.execute("DROP TABLE sent")
    con.close()

    with db.open_store(old) as store:
        assert (5, 4) == (store.value("PRAGMA user_version"), store.value("SELECT count(*) FROM turn"))


def test_a_rescue_of_version_1_misses_no_table(old: str) -> None:
    """What that version did not have is not lost."""
    saved = rescue.rescue(old, "1", NOW)

    assert [] == saved.broken
    assert 4 == saved.rows["turn"]


def test_a_rescue_keeps_what_the_proxy_decided_and_no_changed_byte(tmp_path: Path) -> None:
    """Epochs and their pieces are there as before; a piece that has changed is gone, as a forgotten one is."""
    path = str(tmp_path / "tenon.db")
    with db.open_store(path) as store:
        begun = conversations.begin(store, name="s1", client="claude-code", folder="/p", repository=None, now=NOW, state="traced")
        pieces = [conversations.add_piece(store, [b'{"role":"user","content":"%s"}' % word], 1, 0) for word in (b"one", b"two")]
        conversations.add_epoch(store, begun, why="start", skip=0, anchor="", strip=0, pieces=pieces, now=NOW)
        conversations.remember_sent(store, begun, 0, [("d0", b'{"role":"user","content":"here"}')])
        store.execute("UPDATE piece SET content = replace(content, 'two', 'tvo')")

    saved = rescue.rescue(path, "1", NOW)

    with db.open_store(path) as store:
        found = conversations.find(store, "s1")
        assert found is not None
        assert [[1, 2]] == [epoch.pieces for epoch in conversations.epochs(store, found)]
        assert ([b'{"role":"user","content":"one"}'], None) == (conversations.piece_messages(store, [1]), conversations.piece_messages(store, [2]))
        assert [("d0", b'{"role":"user","content":"here"}')] == conversations.sent(store, found)
    assert [] == saved.broken


def test_a_store_that_was_brought_up_can_be_searched_and_can_forget(old: str) -> None:
    """The indexes came along."""
    with db.open_store(old) as store:
        assert ["t2"] == forget.matching(store, "Port 8443.")
        forget.forget(store, ["t2"], "wish", NOW)
        assert [] == forget.matching(store, "Port 8443.")


def test_a_table_whose_first_page_is_damaged_is_read_from_its_end(tmp_path: Path) -> None:
    """What stands on the other pages is saved, and the table is named."""
    path = tmp_path / "tenon.db"
    with db.open_store(str(path)) as store:
        begun = conversations.begin(store, name="s1", client="claude-code", folder="/p", repository=None, now=NOW, state="traced")
        given = [(f"d{number}", b'{"role":"user","content":"%s %d"}' % (b"word " * 100, number)) for number in range(200)]
        conversations.remember_sent(store, begun, 0, given)
        store.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        root = int(store.value("SELECT rootpage FROM sqlite_master WHERE name = 'sent'"))
        page = int.from_bytes(path.read_bytes()[(root - 1) * 4096 + 12 :][:2], "big")  # the offset of the first cell, which names the first leaf
        leaf = int.from_bytes(path.read_bytes()[(root - 1) * 4096 + page :][:4], "big")
    with path.open("r+b") as file:
        file.seek((leaf - 1) * 4096)
        file.write(b"\xff" * 4096)
    saved = rescue.rescue(str(path), "1", NOW)

    assert ["sent"] == saved.broken
    assert 180 < saved.rows["sent"] < 200
    with db.open_store(str(path)) as store:
        found = conversations.find(store, "s1")
        assert found is not None
        assert ([], []) == (conversations.sent(store, found), conversations.sent_digests(store, found))
        assert not conversations.remember_sent(store, found, 200, given[:1])
        assert conversations.remember_sent(store, found, 0, given)
        assert given == conversations.sent(store, found)
