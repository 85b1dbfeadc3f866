"""Importing transcripts from before Tenon: a plan, progress, and the same result however often."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tenon.digest import importing
from tenon.store import exchanges
from tenon.store.db import Store
from tests.fakes.transcripts import Transcript


@pytest.fixture()
def home(tmp_path: Path) -> Path:
    """A Claude Code home with two projects, three sessions, and files that are no transcripts."""
    claude = tmp_path / "a clåude home"
    for number, (project, name) in enumerate((("-a", "s1"), ("-a", "s2"), ("-b", "s3"))):
        talk = Transcript(str(claude / "projects" / project / f"{name}.jsonl"), folder=str(tmp_path))
        talk.clock += 1000 * number
        talk.opening()
        talk.prompt(f"question of {name}")
        talk.reply(f"answer of {name}")
        os.utime(talk.path, (5000 - 1000 * number, 5000 - 1000 * number))
    agent = Transcript(str(claude / "projects" / "-a" / "s2.jsonl")).subagent("abc")
    agent.prompt("look")
    for name in ("-a/s1/tool-results/out.jsonl", "-a/memory/notes.jsonl", "../history.jsonl", "-a/s1/subagents/agent-abc.meta.json"):
        path = claude / "projects" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text('{"type":"user","uuid":"x","message":{"role":"user","content":"NOT A TRANSCRIPT"}}\n', encoding="utf-8")
    (claude / "projects" / "-a" / "empty.jsonl").touch()
    return claude


def told(plan: importing.Plan) -> list[tuple[str, str, int]]:
    """Session, sub-agent and how much was read of each planned file."""
    return [(file.session, file.thread, file.read) for file in plan.files]


def nothing(*_: object) -> None:
    """No progress shown."""


def test_a_plan_says_what_there_is_and_changes_nothing(store: Store, home: Path) -> None:
    """The session that began first comes first, and before its sub-agents."""
    plan = importing.plan(store, str(home))

    assert [("s1", "", 0), ("s2", "", 0), ("s2", "abc", 0), ("s3", "", 0)] == told(plan)
    assert (3, 0, sum(os.path.getsize(file.path) for file in plan.files)) == (plan.sessions, plan.already, plan.size_bytes)
    assert 0 == store.value("SELECT count(*) FROM session")
    assert 0 == store.value("SELECT count(*) FROM feed")


def test_only_what_changed_since_is_planned(store: Store, home: Path) -> None:
    """By the time of the file."""
    assert [("s1", "", 0), ("s2", "abc", 0)] == told(importing.plan(store, str(home), since=4500))


def test_an_import_is_whole_and_shows_progress(store: Store, home: Path) -> None:
    """Up to the last byte, and the number of turns so far."""
    plan = importing.plan(store, str(home))
    seen: list[tuple[int, int, int]] = []
    report = importing.run(store, plan.files, on_progress=lambda done, total, turns, path: seen.append((done, total, turns)), now_fn=lambda: 2e9)

    assert (7, True, "") == (report.new, report.finished, report.problem)
    assert (plan.size_bytes, plan.size_bytes, 7) == seen[-1]
    assert seen == sorted(seen)
    assert ["prompt", "reply"] == [turn.kind for turn in exchanges.session_turns(store, exchanges.session_number(store, "s3") or 0)]
    assert 0 == store.value("SELECT count(*) FROM turn WHERE content LIKE '%NOT A TRANSCRIPT%'")


def test_a_second_import_adds_nothing(store: Store, home: Path) -> None:
    """The plan is empty, and running the old one again is harmless."""
    plan = importing.plan(store, str(home))
    importing.run(store, plan.files, on_progress=nothing, now_fn=lambda: 2e9)
    again = importing.plan(store, str(home))

    assert ([], 4) == (told(again), again.already)
    assert 0 == importing.run(store, plan.files, on_progress=nothing, now_fn=lambda: 2e9).new


def test_a_stopped_import_goes_on(store: Store, home: Path) -> None:
    """What was read before is neither planned nor kept again."""
    big = Transcript(str(home / "projects" / "-a" / "big.jsonl"))
    for number in range(3000):
        big.prompt(f"question {number}")

    def stop(done: int, total: int, turns: int, path: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        importing.run(store, importing.plan(store, str(home)).files, on_progress=stop, now_fn=lambda: 2e9)
    plan = importing.plan(store, str(home))
    report = importing.run(store, plan.files, on_progress=nothing, now_fn=lambda: 2e9)

    assert report.new < 3007
    assert plan.already == 1 or any(file.read for file in plan.files)
    assert 3007 == store.value("SELECT count(*) FROM turn")


def test_a_session_is_read_before_its_fork(store: Store, home: Path) -> None:
    """Also when it went on after the fork: the turns they share are the first session's."""
    first = Transcript(str(home / "projects" / "-f" / "z.jsonl"))
    first.opening()
    first.prompt("shared")
    fork = Transcript(str(home / "projects" / "-f" / "a.jsonl"))
    fork.clock += 50
    fork.opening()
    fork.raw(Path(first.path).read_bytes().split(b"\n", 1)[1])
    fork.last = first.last
    fork.count = 100
    fork.prompt("of the fork")
    os.utime(fork.path, (10, 10))
    importing.run(store, importing.plan(store, str(home)).files, on_progress=nothing, now_fn=lambda: 2e9)

    assert [("z", 1), ("a", 1)] == store.rows("SELECT s.name, count(*) FROM turn t JOIN session s ON s.id = t.session WHERE s.name IN ('a', 'z') GROUP BY s.id")


def test_one_broken_file_does_not_stop_the_rest(store: Store, home: Path) -> None:
    """Its fault is in the report."""
    plan = importing.plan(store, str(home))
    os.unlink(plan.files[0].path)
    report = importing.run(store, plan.files, on_progress=nothing, now_fn=lambda: 2e9)

    assert (5, True, f"{plan.files[0].path} is not there") == (report.new, report.finished, report.problem)


def test_a_home_without_projects_is_an_empty_plan(store: Store, tmp_path: Path) -> None:
    """And no error."""
    assert [] == importing.plan(store, str(tmp_path / "none")).files
