"""An archive that was removed stays gone, whichever way its turns come again."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tenon.digest import capture, claude_mem
from tenon.store import archive, forgotten, memories, places, purging
from tenon.store.db import Store
from tests.fakes.transcripts import BEGAN, Transcript
from tests.store import lived
from tests.store.chain import checked

PURGED = BEGAN + 1000.0


@pytest.fixture()
def store(tmp_path: Path) -> Iterator[Store]:
    """An empty store."""
    with lived.fresh(tmp_path, "own") as opened:
        yield opened


@pytest.fixture()
def talk(tmp_path: Path) -> Transcript:
    """A transcript with two turns in it."""
    told = Transcript(str(tmp_path / "projects" / "-home-u-project" / "s1.jsonl"))
    told.prompt("the harbour code is 9731")
    told.reply("noted")
    return told


def take(store: Store, path: str) -> capture.Report:
    """What a Stop hook reads of a transcript."""
    name = os.path.splitext(os.path.basename(path))[0]
    return capture.capture(store, path, session_name=name, folder="/home/u/project", now=PURGED + 50, budget_s=60)


def said(store: Store) -> list[str]:
    """The texts of the archive that are not blank."""
    return [block["text"] for (content,) in store.rows("SELECT content FROM turn ORDER BY id") for block in json.loads(content)]


def test_a_moved_or_forked_transcript_brings_back_what_is_new_alone(store: Store, talk: Transcript, tmp_path: Path) -> None:
    """Whatever file the old lines stand in; a session that holds nothing else is not made again, and what follows them is kept."""
    take(store, talk.path)
    purging.purge(store, PURGED)

    moved = tmp_path / "projects" / "-moved" / "s1.jsonl"
    moved.parent.mkdir()
    os.rename(talk.path, moved)
    talk.path = str(moved)
    fork = talk.fork(str(moved.with_name("s2.jsonl")))
    old = [take(store, path) for path in (talk.path, fork.path)]
    assert ([0, 0], []) == ([report.new for report in old], said(store))
    assert (True, None) == (old[0].purged > 1, store.value("SELECT id FROM session WHERE name = 's2'"))

    talk.clock = fork.clock = PURGED + 1
    talk.prompt("said since")
    fork.prompt("said in the fork")
    assert [1, 1] == [take(store, path).new for path in (talk.path, fork.path)]
    assert ["said since", "said in the fork"] == said(store)
    assert [] == checked(store)[1]


def test_an_older_export_brings_memories_and_no_turns(store: Store, talk: Transcript, tmp_path: Path) -> None:
    """Nor a session that ended before, nor a summary of it; what was said after the purge begins anew, and comes once."""
    with lived.fresh(tmp_path, "elsewhere") as elsewhere:
        take(elsewhere, talk.path)
        repository = places.settle(elsewhere, "/home/u/project", 1.0)
        memories.write(elsewhere, repository=repository, tier="short", kind="fact", text="a fact of it", turns=[1], now=1.0)
        old = lived.exported(elsewhere)
        talk.clock = PURGED + 1
        talk.prompt("said since")
        talk.reply("and answered")
        take(elsewhere, talk.path)
        newer = lived.exported(elsewhere)
    purging.purge(store, PURGED)

    report = lived.brought(store, old, tmp_path)
    assert (2, 1, 1) == (report.count("turn", "forgotten"), report.count("session", "forgotten"), report.count("memory", "new"))
    assert ([], [], 0) == (said(store), report.broken, store.value("SELECT count(*) FROM session"))

    for count in (2, 0):
        report = lived.brought(store, newer, tmp_path)
        assert ([], count) == (report.broken, report.count("turn", "new"))
        assert (["said since", "and answered"], []) == (said(store), checked(store)[1])


def test_what_a_clock_that_was_ahead_has_dated_stays_gone_too(store: Store, tmp_path: Path) -> None:
    """And what is said later is kept at once, for the purge does not reach beyond its own time."""
    repository = places.settle(store, "/home/u/project", 1.0)

    def say(text: str, at: float, uuid: str) -> int:
        session = archive.session(store, "s1", repository=repository, folder="/home/u/project", at=at)
        content: list[object] = [{"type": "text", "text": text}]
        return archive.append(
            store, session, repository, [archive.Row(uuid=uuid, parent="", role="user", kind="prompt", source="user", at=at, content=content)]
        )[0]

    say("said tomorrow", PURGED + 90_000, "u1")
    purging.purge(store, PURGED)
    say("said tomorrow", PURGED + 90_000, "u1")
    say("said today", PURGED + 1, "u2")

    assert (["said today"], PURGED) == (said(store), forgotten.purged(store))


def test_prompts_of_claude_mem_before_the_purge_are_left_out(store: Store) -> None:
    """Those after it come."""

    class Given:
        def rows(self, table: str, _: Any) -> list[dict[str, Any]]:
            times = {"old": PURGED - 1, "new": PURGED + 1}
            return (
                [{"id": text, "session_id": "c1", "prompt_text": text, "created_at_epoch": at} for text, at in times.items()] if table == "user_prompts" else []
            )

    repository = places.settle(store, "/home/u/project", 1.0)
    forgotten.purge_before(store, PURGED)

    assert [1] == list(claude_mem.prompts(store, Given(), lambda _: repository, PURGED + 50))  # type: ignore[arg-type]
    assert ["new"] == said(store)
