"""`tenon import` of what other memories have kept: claude-mem's database, Claude Code's auto memory."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tenon.digest import memory_md
from tests.cli.conftest import Tenon

SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
NEWER = """
CREATE TABLE sdk_sessions (id INTEGER PRIMARY KEY, content_session_id TEXT, memory_session_id TEXT, project TEXT);
CREATE TABLE observations (id INTEGER PRIMARY KEY, memory_session_id TEXT, project TEXT, text TEXT, type TEXT, title TEXT, subtitle TEXT, facts TEXT,
    narrative TEXT, concepts TEXT, files_read TEXT, files_modified TEXT, merged_into_project TEXT, created_at TEXT, created_at_epoch INTEGER);
CREATE TABLE session_summaries (id INTEGER PRIMARY KEY, memory_session_id TEXT, project TEXT, request TEXT, learned TEXT, next_steps TEXT, created_at_epoch INTEGER);
CREATE TABLE user_prompts (id INTEGER PRIMARY KEY, content_session_id TEXT, prompt_number INTEGER, prompt_text TEXT, created_at_epoch INTEGER);
INSERT INTO sdk_sessions VALUES (1, 'c1', 'm1', 'widgets'), (2, 's1', 'm2', 'widgets');
INSERT INTO observations VALUES (1, 'm1', 'widgets', NULL, 'bugfix', 'The harbour test was flaky', '', '["it raced with the clock", "a fake clock mends it"]', 'long story',
    '[]', '["src/clock.py"]', '["tests/test_harbour.py"]', NULL, '2025-06-15T15:06:40.000Z', 1750000000000);
INSERT INTO observations VALUES (2, 'm1', 'old', NULL, 'decision', 'Use SQLite', NULL, 'not json', 'because of the lantern', NULL, NULL, NULL, 'widgets', '', 1750000001000);
INSERT INTO observations VALUES (3, 'm1', 'widgets', NULL, 'new-kind', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO session_summaries VALUES (1, 'm1', 'widgets', 'mend the harbour', 'clocks race', 'more tests', 1750000002000);
INSERT INTO user_prompts VALUES (1, 'c1', 1, 'please mend the velvet test', 1750000000000), (2, 's1', 1, 'archived already', 1750000000000);
"""
OLDEST = """
CREATE TABLE observations (id INTEGER PRIMARY KEY, sdk_session_id TEXT, project TEXT, text TEXT NOT NULL, type TEXT, created_at TEXT, created_at_epoch INTEGER);
INSERT INTO observations VALUES (1, 'x', 'gadgets', 'the copper key is {secret}', 'discovery', '2025-06-15T15:06:40.000Z', NULL);
""".replace("{secret}", SECRET)


def database(folder: Path, script: str) -> Path:
    """A database of claude-mem's."""
    path = folder / "claude-mem.db"
    with closing(sqlite3.connect(str(path))) as con:
        con.executescript(script)
    return path


def rows(tenon: Tenon, query: str) -> list[tuple[object, ...]]:
    """What the store of the command says."""
    with closing(sqlite3.connect(str(tenon.home / ".tenon" / "agents" / "default" / "tenon.db"))) as con:
        return con.execute(query).fetchall()


def test_claude_mems_memories_come_along_once(tenon: Tenon, tmp_path: Path) -> None:
    """As short-term memories from outside, of their kinds and times, in the repository of their project; empty ones are passed over."""
    path = database(tmp_path, NEWER)
    before = path.read_bytes()
    assert 3 == tenon.ok("import", str(path), "--dry-run", "--json").records[0]["memories"]
    assert not (tenon.home / ".tenon").exists()

    told = tenon.ok("import", str(path), "--json").records[0]

    assert (3, 0, 2) == (told["memories"], told["known"], told["prompts"])
    kept = rows(tenon, "SELECT m.kind, m.tier, m.source, m.created, r.key, m.labels FROM memory m JOIN repository r ON r.id = m.repository ORDER BY m.id")
    assert [("lesson", 1750000000.0), ("decision", 1750000001.0), ("experience", 1750000002.0)] == [(row[0], row[3]) for row in kept]
    assert {("short", "outside", "claude-mem/widgets")} == {(row[1], row[2], row[4]) for row in kept}
    assert '["claude-mem#1", "tests/test_harbour.py", "src/clock.py"]' == kept[0][5]
    again = tenon.ok("import", str(path), "--json").records[0]
    assert (0, 3, 0) == (again["memories"], again["known"], again["prompts"])
    assert (before, ["claude-mem.db"]) == (path.read_bytes(), [name for name in os.listdir(tmp_path) if name.startswith("claude-mem")])


def test_its_prompts_go_into_the_archive(tenon: Tenon, tmp_path: Path) -> None:
    """Unless the archive has the session itself; no digest waits for them."""
    talk = tenon.talk("s1")
    talk.prompt("archived already")
    tenon.ok("import")

    assert 1 == tenon.ok("import", str(database(tmp_path, NEWER)), "--json").records[0]["prompts"]

    assert "velvet" in tenon.ok("recall", "velvet", "--archive", "--everywhere").out
    assert [("claude-mem:c1",)] == rows(tenon, "SELECT DISTINCT s.name FROM session s JOIN turn t ON t.session = s.id JOIN consolidated c ON c.turn = t.id")


def test_a_project_is_the_known_repository_of_its_name(tenon: Tenon, tmp_path: Path) -> None:
    """Or the one that is named; else the user is told how to say which it is."""
    widgets = tmp_path / "widgets"
    widgets.mkdir()
    assert 0 == tenon("write", "a fact", cwd=widgets).code
    path = database(tmp_path, NEWER)

    told = tenon.ok("import", str(path))

    assert (True, False) == ("3 memories" in told.out, "tenon alias" in told.err)
    assert "lantern" in tenon("recall", "lantern", cwd=widgets).out
    other = tmp_path / "other"
    other.mkdir()
    (other / "db").mkdir()
    assert "tenon alias claude-mem/gadgets" in tenon.ok("import", str(database(other, OLDEST))).err
    assert 1 == tenon.ok("import", str(other / "claude-mem.db"), "--repo", str(tenon.project), "--json").records[0]["memories"]


def test_an_old_database_and_one_that_is_written_to_are_read(tenon: Tenon, tmp_path: Path) -> None:
    """Without the newer columns; with what waits in its log; and without its secrets. Nothing of it is changed."""
    path = database(tmp_path, OLDEST)
    with closing(sqlite3.connect(str(path), isolation_level=None)) as writer:
        writer.execute("PRAGMA journal_mode = WAL")
        writer.execute("INSERT INTO observations VALUES (2, 'x', 'gadgets', 'only in the log', 'change', '', 0)")
        before = (path.read_bytes(), path.with_name("claude-mem.db-wal").read_bytes())
        assert 2 == tenon.ok("import", str(path), "--json").records[0]["memories"]
        assert before == (path.read_bytes(), path.with_name("claude-mem.db-wal").read_bytes())

    texts = [str(row[0]) for row in rows(tenon, "SELECT text FROM memory")]
    assert ["only in the log"] == texts[1:]
    assert ("the copper key is [redacted", False) == (texts[0][:27], SECRET in texts[0])


def test_what_was_forgotten_or_superseded_here_does_not_come_again(tenon: Tenon, tmp_path: Path) -> None:
    """It is counted."""
    path = database(tmp_path, NEWER)
    tenon.ok("import", str(path))
    ref = str(rows(tenon, "SELECT ref FROM memory WHERE kind = 'decision'")[0][0])
    tenon.ok("forget", ref, "--yes")

    told = tenon.ok("import", str(path), "--json").records[0]

    assert (0, 2, 1) == (told["memories"], told["known"], told["left_out"])


@pytest.mark.parametrize("script", ["CREATE TABLE x (y)", "CREATE TABLE memory (a); CREATE TABLE turn (b)"])
def test_a_database_of_another_kind_is_refused(tenon: Tenon, tmp_path: Path, script: str) -> None:
    """With a sentence that says what is read; a store of Tenon's is no import; and without a database that is said."""
    path = database(tmp_path, script)

    assert (1, 1) == (tenon("import", str(path)).code, tenon("import", "--claude-mem", str(path)).code)
    assert (1, True) == ((refused := tenon("import", "--claude-mem")).code, "there is no file" in refused.err)


def test_auto_memory_comes_along_as_text_from_a_file(tenon: Tenon) -> None:
    """Of each project, as its transcript says the folder; topic files by their front matter, the index without what only points to them."""
    talk = tenon.talk("s1")
    talk.prompt("hello")
    folder = tenon.home / ".claude" / "projects" / "-my-project" / "memory"
    folder.mkdir()
    (folder / "MEMORY.md").write_text(
        "# Notes\n\n- use pnpm here,\n  never npm\n- [Deploying](deploy.md) — how it is done\n\n## Tests\n\nThey run with `make velvet`.\n", encoding="utf-8"
    )
    (folder / "deploy.md").write_text(
        "---\nname: Deploying\ndescription: how it is done\nmetadata:\n  type: feedback\n---\nOn Fridays, by the lantern.\n", encoding="utf-8"
    )
    lost = tenon.home / ".claude" / "projects" / "-gone" / "memory"
    lost.mkdir(parents=True)
    (lost / "MEMORY.md").write_text("- something\n", encoding="utf-8")

    told = tenon.ok("import", "--memory-md")

    assert (True, True) == ("Brought along 3 memories of path:" in told.out, "--repo FOLDER" in told.err), told.out + told.err
    kept = rows(tenon, "SELECT kind, source, text, labels FROM memory ORDER BY text")
    assert ("preference", "outside", "Deploying: how it is done\nOn Fridays, by the lantern.", '["auto memory: deploy.md"]') == kept[0]
    assert ["Tests: They run with `make velvet`.", "use pnpm here,\n  never npm"] == [row[2] for row in kept[1:]]
    assert "0 memories" in tenon.ok("import", str(folder)).out
    assert 1 == tenon.ok("import", str(lost / "MEMORY.md"), "--repo", str(tenon.project), "--json").records[0]["memories"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", []),
        ("---\nname: x\n", ["---\nname: x"]),
        ("1. one\n2. two\n", ["one", "two"]),
        ("## A\n```\n# no heading\n- no item\n```\n- item\n", ["A: ```\n# no heading\n- no item\n```", "A: item"]),
        ("# The plan of the year\n- use pnpm\n## Style\n- tabs\n", ["use pnpm", "Style: tabs"]),
        ("```\n# no heading\n```\n# Title\none", ["```\n# no heading\n```", "one"]),
        ("# Build\n- make\n# Style\n- tabs\n# Notes\n- others\n", ["Build: make", "Style: tabs", "others"]),
        ("## Project memory\n- one\n## Memory limits\n- two\n# Late\n- three", ["one", "Memory limits: two", "Late: three"]),
        ("- see [there](gone.md)\n", ["see [there](gone.md)"]),
        ("plain\nlines\n\nanother", ["plain\nlines", "another"]),
    ],
)
def test_a_file_is_taken_apart(tmp_path: Path, text: str, found: list[str]) -> None:
    """Into its items and paragraphs under their headings, but for the title and what says no more than «notes»."""
    path = tmp_path / "notes.md"
    path.write_text(text, encoding="utf-8")

    assert found == [entry.text for entry in memory_md.entries(str(path))]


def test_a_long_entry_is_kept_in_pieces(tmp_path: Path) -> None:
    """None longer than a memory may be, and no word lost."""
    path = tmp_path / "notes.md"
    path.write_text("---\nname: n\n---\n" + "\n\n".join(f"paragraph {number} " + "word " * 300 for number in range(9)), encoding="utf-8")

    found = [entry.text for entry in memory_md.entries(str(path))]

    assert max(map(len, found)) <= memory_md.LONGEST + 10
    assert 2700 == sum(text.count("word") for text in found)


def test_a_table_without_rowid_is_read_as_any_other(tenon: Tenon, tmp_path: Path) -> None:
    """By its first column."""
    script = "CREATE TABLE observations (id INTEGER PRIMARY KEY, project TEXT, text TEXT) WITHOUT ROWID;"
    path = database(tmp_path, script + "INSERT INTO observations VALUES (2, 'widgets', 'the second one'), (1, 'widgets', 'the first one');")

    assert 2 == tenon.ok("import", str(path), "--json").records[0]["memories"]
    assert ["the first one", "the second one"] == [str(row[0]) for row in rows(tenon, "SELECT text FROM memory ORDER BY id")]


def test_a_damaged_database_of_another_program_is_named_as_such(tenon: Tenon, tmp_path: Path) -> None:
    """By its own path, and not as the store being damaged."""
    filling = "".join(
        f"INSERT INTO observations VALUES ({at}, 'm1', 'widgets', '{'x' * 900} {at}', 'fact', 't', '', '', '', '', '', '', NULL, '', 1);"
        for at in range(10, 200)
    )
    path = database(tmp_path, NEWER + filling)
    data = bytearray(path.read_bytes())
    data[40_000:-8192] = b"\xff" * (len(data) - 48_192)
    path.write_bytes(bytes(data))

    told = tenon("import", str(path))

    assert (1, True, False) == (told.code, f"{path} cannot be read" in told.err, "doctor" in told.err), told.err


def test_a_long_heading_and_many_items_are_bounded(tenon: Tenon, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The heading is cut before each item, and of the items the first so many are taken."""
    file = tmp_path / "notes.md"
    file.write_text("# top\n\n## " + "h" * 100_000 + "\n" + "".join(f"- item number {at}\n" for at in range(7000)), encoding="utf-8")

    found = memory_md.entries(str(file))

    assert (memory_md.MOST, True) == (len(found), max(len(entry.text) for entry in found) < memory_md.HEADING_CHARS + 30)
    assert found[1].text.endswith("item number 1")
    monkeypatch.setattr(memory_md, "MOST", 10)
    assert 10 == len(memory_md.entries(str(file)))
