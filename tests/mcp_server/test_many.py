"""Many servers at once, other processes in the way, sudden ends: nothing acknowledged is lost and everything is answered."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tenon.base import paths
from tenon.store import db, index, migrate
from tests.mcp_server.conftest import COMMAND, Server

Start = Callable[..., Server]
WORDS = [first + second for first in ("ba", "de", "fi", "ko", "lu", "mo", "na", "pe", "ri", "su") for second in ("bor", "dul", "fan", "gim", "hek", "jol", "kat", "lun", "mer", "nis", "pov", "rax", "ser", "tum", "vil")]  # fmt: skip


def together(work: list[Callable[[], None]]) -> list[BaseException]:
    """Does everything at the same time; gives what went wrong."""
    wrong: list[BaseException] = []

    def one(job: Callable[[], None]) -> None:
        try:
            job()
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=one, args=(job,)) for job in work]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return wrong


def locked() -> sqlite3.Connection:
    """Another process's connection that holds the write lock."""
    con = sqlite3.connect(paths.store_path("default"), isolation_level=None, check_same_thread=False)
    con.execute("BEGIN IMMEDIATE")
    return con


def sound(store: db.Store) -> bool:
    """Whether pages and both text indexes are whole."""
    for check in index.CHECK.values():
        store.execute(check)
    return store.rows("PRAGMA integrity_check") == [("ok",)]


def memories_in(store: db.Store) -> int:
    """How many memories there are."""
    return int(store.value("SELECT count(*) FROM memory"))


def test_six_servers_write_without_pause_and_every_write_is_recalled(start: Start) -> None:
    """Twenty-five each, sent before the first answer is read: 150 ids, 150 rows, 150 recalls."""
    servers = [start() for _ in range(6)]
    ids: dict[str, str] = {}

    def write(server: Server, words: list[str]) -> None:
        for word in words:
            server.send(
                "tools/call", {"name": "memory_write", "arguments": {"tier": "short", "type": "fact", "content": f"The {word} is kept by number {word[::-1]}."}}
            )
        for word in words:
            ids[word] = server.read()["result"]["structuredContent"]["id"]

    assert [] == together([lambda server=server, at=at: write(server, WORDS[at * 25 : at * 25 + 25]) for at, server in enumerate(servers)])  # type: ignore[misc]
    assert 150 == len(set(ids.values()))
    with db.open_store(paths.store_path("default")) as store:
        assert (150, True) == (memories_in(store), sound(store))
    other = start()
    assert ids == {word: other.call("memory_recall", cue=f"who keeps the {word}?", k=1)["hits"][0]["id"] for word in WORDS}


def test_sixteen_processes_make_the_store_at_once(start: Start) -> None:
    """One schema, no error, one row each."""
    servers = [start() for _ in range(16)]
    for server in servers:
        server.initialize()  # all are up before the first one opens the store
    assert [] == together(
        [lambda server=server, at=at: server.call("memory_write", tier="short", type="fact", content=f"number {at}") for at, server in enumerate(servers)]
    )  # type: ignore[misc]
    with db.open_store(paths.store_path("default")) as store:
        assert (16, True, migrate.NEWEST) == (memories_in(store), sound(store), store.value("PRAGMA user_version"))
        assert 1 == store.value("SELECT count(*) FROM meta WHERE name = 'began'")


def test_nine_servers_on_one_store_all_read_and_write(start: Start) -> None:
    """Started one after the other, as sessions are; each sees what every other wrote."""
    servers = [start() for _ in range(9)]
    for at, server in enumerate(servers):
        assert server.call("memory_write", tier="short", type="fact", content=f"zebra of session {at}")["new"]
    assert [9] * 9 == [server.call("memory_recall", cue="zebra", k=20)["count"] for server in servers]


def test_recall_answers_while_another_process_holds_the_write_lock(start: Start) -> None:
    """By cue, by id, from the archive and of a task; also in a folder that the store does not know yet."""
    server = start()
    ref = server.call("memory_write", tier="short", type="fact", content="The zebra is striped.")["id"]
    server.call("task_state", action="write", epic_id="e1", title="Stripes")
    other = locked()
    try:
        assert [ref] == [hit["id"] for hit in server.call("memory_recall", cue="zebra")["hits"]]
        assert ref == server.call("memory_recall", id=ref)["hits"][0]["id"]
        assert 0 == server.call("memory_archive", action="search", cue="zebra")["count"]
        assert ["e1"] == [state["epic"] for state in server.call("task_state", action="read")["active"]]
    finally:
        other.close()


def test_recall_answers_in_a_folder_that_is_new_while_the_store_is_locked(start: Start, tmp_path: Path) -> None:
    """What is true everywhere is known there too."""
    ref = start().call("memory_write", tier="short", type="preference", content="zebra spelling", scope="agent")["id"]
    folder = tmp_path / "new"
    folder.mkdir()
    other = locked()
    try:
        assert [ref] == [hit["id"] for hit in start(folder).call("memory_recall", cue="zebra")["hits"]]
    finally:
        other.close()


def test_a_write_waits_its_turn_and_gets_it(start: Start) -> None:
    """The lock is given back while the write waits."""
    server = start()
    server.call("memory_recall", cue="zebra")
    other = locked()
    server.send("tools/call", {"name": "memory_write", "arguments": {"tier": "short", "type": "fact", "content": "zebra"}})
    server.send("ping")
    assert {} == server.read()["result"]  # answered while the write waits
    other.execute("COMMIT")
    other.close()
    assert server.read()["result"]["structuredContent"]["new"]


def test_twenty_writers_lose_nothing_beside_a_long_read_and_an_integrity_check(start: Start) -> None:
    """Twenty-five writes each while one connection holds a read transaction open and another checks every page."""
    start().call("memory_write", tier="short", type="fact", content="the first")
    reader = sqlite3.connect(paths.store_path("default"), isolation_level=None)
    reader.execute("BEGIN")
    assert 1 == reader.execute("SELECT count(*) FROM memory").fetchone()[0]
    servers = [start() for _ in range(20)]
    done = threading.Event()
    checked: list[Any] = []

    def write(at: int) -> None:
        for number in range(25):
            assert servers[at].call("memory_write", tier="short", type="fact", content=f"writer {at} number {number}")["new"]

    def check() -> None:
        con = sqlite3.connect(paths.store_path("default"))
        while not done.is_set() or not checked:
            checked.append(con.execute("PRAGMA integrity_check").fetchall())
        con.close()

    checker = threading.Thread(target=check)
    checker.start()
    wrong = together([lambda at=at: write(at) for at in range(20)])  # type: ignore[misc]
    done.set()
    checker.join()
    assert (1, []) == (reader.execute("SELECT count(*) FROM memory").fetchone()[0], wrong)
    reader.close()
    assert [("ok",)] == checked[0] == checked[-1]
    with db.open_store(paths.store_path("default")) as store:
        assert (501, True) == (memories_in(store), sound(store))


@pytest.mark.skipif(os.name != "posix", reason="needs SIGKILL")
@pytest.mark.parametrize("acknowledged", [1, 7, 40])
def test_a_server_that_is_killed_in_the_middle_leaves_a_sound_store(start: Start, acknowledged: int) -> None:
    """Every write that was answered is there, whatever became of the next."""
    server = start()
    for number in range(200):
        server.send(
            "tools/call", {"name": "memory_write", "arguments": {"tier": "short", "type": "fact", "content": f"zebra number {number} {WORDS[number % 150]}"}}
        )
    ids = [server.read()["result"]["structuredContent"]["id"] for _ in range(acknowledged)]
    server.process.kill()
    server.close()
    with db.open_store(paths.store_path("default")) as store:
        assert sound(store)
        assert ids == [ref for (ref,) in store.rows("SELECT ref FROM memory ORDER BY id LIMIT ?", (acknowledged,))]
        assert memories_in(store) == store.value("SELECT count(*) FROM memory_fts")
    assert start().call("memory_write", tier="short", type="fact", content="one more")["new"]


# ---------------------------------------------------------------- how a server ends


def test_closing_the_clients_end_ends_every_server_at_once(start: Start) -> None:
    """Before the first message, after the handshake, after calls: exit code 0, nothing said, no process left."""
    servers = [start() for _ in range(8)]
    for server in servers[2:]:
        server.initialize()
    for server in servers[4:]:
        server.call("memory_write", tier="short", type="fact", content="zebra")
    assert [(0, b"")] * 8 == [server.close() for server in servers]


def test_what_was_taken_before_the_end_is_still_written(start: Start) -> None:
    """A client that writes and leaves."""
    server = start()
    server.send("tools/call", {"name": "memory_write", "arguments": {"tier": "short", "type": "fact", "content": "the last word"}})
    assert (0, b"") == server.close()
    assert 1 == start().call("memory_recall", cue="the last word")["count"]


@pytest.mark.skipif(os.name != "posix", reason="needs signals")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_server_without_a_word(start: Start, number: signal.Signals) -> None:
    """As Claude Code ends its servers."""
    server = start()
    server.call("memory_write", tier="short", type="fact", content="zebra")
    server.process.send_signal(number)
    code, said = server.close()
    assert (b"", True) == (said, code in (0, -number))


def test_four_parents_that_are_killed_leave_no_server(start: Start, tmp_path: Path) -> None:
    """The end of the input is the end of the server, whoever closed it."""
    parent = (
        "import subprocess, sys, time\n"
        f"child = subprocess.Popen({COMMAND!r}, stdin=subprocess.PIPE, stdout=sys.stdout)\n"
        'child.stdin.write(b\'{"jsonrpc": "2.0", "id": 1, "method": "ping"}\\n\'); child.stdin.flush()\n'
        "time.sleep(600)\n"
    )
    parents = [subprocess.Popen([sys.executable, "-c", parent], stdout=subprocess.PIPE, cwd=tmp_path) for _ in range(4)]
    for process in parents:
        assert process.stdout is not None
        assert b'"result"' in process.stdout.readline()
        process.kill()
        process.wait()
    # The servers hold the other ends of these pipes: they read as ended once the last holder is gone.
    assert [b""] * 4 == [process.stdout.read() for process in parents if process.stdout is not None]
    for process in parents:
        if process.stdout is not None:
            process.stdout.close()


# ---------------------------------------------------------------- a store that cannot be used


def damaged() -> None:
    """A store whose file was overwritten."""
    path = Path(paths.store_path("default"))
    path.write_bytes(b"not a database, and long enough to be read as a page. " * 200)


def damaged_within() -> None:
    """A store whose pages after the first were overwritten."""
    path = Path(paths.store_path("default"))
    data = path.read_bytes()
    path.write_bytes(data[:4096] + b"\x5a" * (len(data) - 4096))


def from_the_future() -> None:
    """A store that a newer Tenon wrote."""
    con = sqlite3.connect(paths.store_path("default"))
    con.execute(f"PRAGMA user_version = {migrate.NEWEST + 1}")
    con.close()


def a_folder() -> None:
    """A folder where the store should be."""
    path = Path(paths.store_path("default"))
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize(
    ("happens", "says"),
    [
        (damaged, "is damaged (file is not a database); `tenon doctor --fix` saves what can be read"), (damaged_within, "is damaged"),
        (from_the_future, f"was written by a newer Tenon (schema {migrate.NEWEST + 1}, this one knows {migrate.NEWEST}); update the plugin. Nothing was changed"), (a_folder, "tenon.db"),
    ],
)  # fmt: skip
def test_a_store_that_cannot_be_used_costs_the_call_and_not_the_server(start: Start, happens: Callable[[], None], says: str) -> None:
    """The handshake and the list of tools are answered; a call gives a sentence, reading or writing."""
    with db.open_store(paths.store_path("default")) as store:
        store.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    happens()
    server = start()
    assert ("tenon", 11) == (server.initialize(), len(server.ask("tools/list")["tools"]))
    for said in (server.refused("memory_recall", cue="zebra"), server.refused("memory_write", tier="short", type="fact", content="zebra")):
        assert says in said
        assert "Traceback" not in said
        assert "Tenon failed" not in said
    assert (0, b"") == server.close()


def test_a_home_that_cannot_be_made_is_told_with_the_way_out(start: Start, tmp_path: Path) -> None:
    """A file stands where the home should be."""
    (tmp_path / "file").write_text("x")
    server = start(TENON_HOME=str(tmp_path / "file" / "home"))
    assert "tenon" == server.initialize()
    assert "set TENON_HOME to a folder you may write" in server.refused("memory_write", tier="short", type="fact", content="zebra")


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="needs a user that permissions bind")
def test_on_a_disk_that_is_read_only_recall_answers_and_a_write_says_why(start: Start) -> None:
    """What is remembered can still be told."""
    ref = start().call("memory_write", tier="short", type="fact", content="The zebra is striped.")["id"]
    with db.open_store(paths.store_path("default")) as store:
        store.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    folder = Path(paths.agent_folder("default"))
    Path(paths.store_path("default")).chmod(0o400)
    folder.chmod(0o500)
    try:
        server = start()
        assert [ref] == [hit["id"] for hit in server.call("memory_recall", cue="zebra")["hits"]]
        assert "cannot be written" in server.refused("memory_write", tier="short", type="fact", content="new")
    finally:
        folder.chmod(0o700)


def test_the_handshake_does_not_wait_for_a_locked_store(start: Start) -> None:
    """Nothing is opened before a tool is called."""
    start().call("memory_recall", cue="zebra")
    other = sqlite3.connect(paths.store_path("default"), isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    try:
        server = start()
        assert ("tenon", 11) == (server.initialize(), len(server.ask("tools/list")["tools"]))
    finally:
        other.close()
