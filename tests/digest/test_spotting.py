"""Plain code's memories in the store: once each, with the time of their turns, superseding and superseded, reinforced and at last long-term."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hooks import close, turn
from tenon.base import faults, paths
from tenon.digest import capture, importing, spot, spotting, undoing
from tenon.store import db, digests, edges, episodes, exchanges, forget, memories, places, spotted
from tenon.store.db import Store
from tenon.store.memories import Memory
from tests.digest.minds import Mind
from tests.fakes.transcripts import Transcript

NOW = 2_000_000_000.0
DAY_S = 86400.0
Say = Callable[..., Transcript]


@pytest.fixture()
def say(store: Store, project: Path, tmp_path: Path) -> Say:
    """Writes a session of prompts and answers, in turn, so many days after the first one, captures it, and looks it through."""
    folder = tmp_path / ".claude" / "projects" / "-my-pr-ject"

    def say(name: str, *told: str, day: int = 0, look: bool = True, then: Callable[[Transcript], None] | None = None) -> Transcript:
        talk = Transcript(str(folder / f"{name}.jsonl"), folder=str(project))
        talk.clock += day * DAY_S
        for number, text in enumerate(told):
            talk.reply(text) if number % 2 else talk.prompt(text)
        if then is not None:
            then(talk)
        if look:
            looked(store, talk)
        return talk

    return say


def looked(store: Store, talk: Transcript, now: float = NOW) -> spotting.Report:
    """What looking through gave, after the transcript was captured."""
    capture.capture(store, talk.path, session_name=talk.session, folder=talk.folder, now=now, budget_s=60)
    return spotting.catch_up(store, now=now, budget_s=60)


def all_of(store: Store) -> list[Memory]:
    """All memories in the order they were written."""
    return [memories.by_id(store, row[0]) for row in store.rows("SELECT id FROM memory ORDER BY id")]


def texts(store: Store, status: str = "live") -> list[str]:
    """The texts of the memories of that status."""
    return [memory.text for memory in all_of(store) if memory.status == status]


def home(store: Store, folder: Path) -> int:
    """The number of the project's repository."""
    found = places.find(store, str(folder))
    assert found is not None
    return found


def test_what_was_said_becomes_a_short_term_memory(store: Store, say: Say, project: Path) -> None:
    """Written by plain code, from the user, in the repository, with the turns it came from and the time of the newest of them."""
    talk = say("s1", "We decided to keep sessions in Redis, on redis-7.", "Sessions are kept in Redis, host redis-7, database SESSION_DB.")
    memory = all_of(store)[0]
    kept = (memory.tier, memory.kind, memory.source, memory.writer, memory.status, memory.repository)
    turns = [exchanges.turn(store, f"t{number}") for number in memories.lineage(store, memory)]

    assert ("short", "decision", "user", "code", "live", home(store, project)) == kept
    assert "We decided to keep sessions in Redis, on redis-7. → Sessions are kept in Redis, host redis-7, database SESSION_DB." == memory.text
    assert "the user said that it was decided; after the arrow is what was answered" == memory.reason
    assert ["prompt", "reply"] == [each.kind for each in turns]
    assert [talk.clock] * 3 == [memory.created, memory.valid_from, turns[-1].at]


def test_a_time_to_come_is_not_believed(store: Store, say: Say) -> None:
    """A transcript's clock may be wrong; a memory is not from the future."""
    looked(store, say("s1", "We decided to keep sessions in Redis.", look=False), now=1000.0)

    assert [1000.0] == [memory.created for memory in all_of(store)]


def test_looking_twice_is_looking_once(store: Store, say: Say) -> None:
    """What was looked through is not looked through again, and if it is, nothing changes; what comes later is."""
    talk = say("s1", "Never push to main directly.", "Noted.")
    before = store.rows("SELECT * FROM memory")
    assert (0, True) == (spotting.catch_up(store, now=NOW, budget_s=60).spotted, spotting.catch_up(store, now=NOW, budget_s=60).finished)
    store.execute("DELETE FROM spotted")
    assert 0 == spotting.catch_up(store, now=NOW, budget_s=60).spotted
    assert before == store.rows("SELECT * FROM memory")

    talk.prompt("Always squash merges.")
    assert 1 == looked(store, talk).spotted
    talk.reply("Understood, MERGE_MODE is squash, merges are always squashed.")
    assert 0 == looked(store, talk).spotted
    assert ["Never push to main directly.", "Always squash merges."] == texts(store)


def test_no_time_is_no_work_and_the_rest_is_done_later(store: Store, say: Say, monkeypatch: pytest.MonkeyPatch) -> None:
    """The place it has come to is kept from step to step, and a session by its number goes alone."""
    monkeypatch.setattr(spotting, "AT_ONCE", 2)
    say("s1", "Never push to main directly.", "Noted.", "Always squash merges.", "Noted.", look=False)
    talk = say("s2", "Never deploy on Fridays.", "Noted.", look=False)
    for name in ("s1", "s2"):
        capture.capture(store, talk.path.replace("s2", name), session_name=name, folder=talk.folder, now=NOW, budget_s=60)
    report = spotting.catch_up(store, now=NOW, budget_s=0)
    assert (0, False) == (report.spotted, report.finished)
    run = spotting._Run(store, exchanges.session_of(store, 1), NOW, {"short": 0.9, "long": 0.9})
    assert (1, True) == (run.step(), run.left())
    assert ["Never push to main directly."] == texts(store)

    assert 1 == spotting.catch_up(store, now=NOW, budget_s=60, session=2).spotted
    assert 1 == spotting.catch_up(store, now=NOW, budget_s=60).spotted
    assert [] == spotted.behind(store)


def test_another_process_at_the_same_session_is_left_to_it(store: Store, say: Say) -> None:
    """Whoever notes the place first has written; the other one writes nothing."""
    say("s1", "Never push to main directly.", "Noted.")
    store.execute("DELETE FROM spotted")
    run = spotting._Run(store, exchanges.session_of(store, 1), NOW, {"short": 0.9, "long": 0.9})
    store.execute("DELETE FROM memory")
    spotted.reach(store, 1, spotted.newest(store, 1))

    assert (0, False, []) == (run.step(), run.left(), texts(store))


def test_a_turn_that_breaks_a_pattern_is_passed_over_and_noted(store: Store, say: Say, monkeypatch: pytest.MonkeyPatch) -> None:
    """The others are looked through; a busy store is no such fault."""
    talk = say("s1", "Never push to main directly.", "Noted.", look=False)
    whole = spot.spot

    def broken(*_: object) -> None:
        raise IndexError("list index out of range")

    monkeypatch.setattr(spot, "spot", broken)
    assert 0 == looked(store, talk).spotted
    monkeypatch.setattr(spot, "spot", whole)
    talk.prompt("Always squash merges.")

    assert 1 == looked(store, talk).spotted
    assert ["IndexError"] == [str(fault["error"]) for fault in faults.recent()]
    assert ["Always squash merges."] == texts(store)


@pytest.mark.parametrize("how", ["off", "excluded", "forgotten turn", "forgotten text"])
def test_what_the_user_took_out_is_not_used(store: Store, say: Say, project: Path, monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    """An archive that was turned off, an excluded folder, a forgotten turn, a memory that was forgotten."""
    talk = say("s1", "Never push to main directly.", "Noted.", look=how == "forgotten text")
    capture.capture(store, talk.path, session_name="s1", folder=talk.folder, now=NOW, budget_s=60)
    if how == "off":
        monkeypatch.setenv("TENON_ARCHIVE_ENABLED", "off")
    elif how == "excluded":
        monkeypatch.setenv("TENON_ARCHIVE_EXCLUDE", str(project))
    elif how == "forgotten turn":
        forget.forget(store, ["t1"], "private", NOW)
    else:
        forget.forget(store, [memories.recent(store, home(store, project), 1)[0].ref], "wrong", NOW)
        store.execute("DELETE FROM spotted")

    assert 0 == spotting.catch_up(store, now=NOW, budget_s=60).spotted
    assert [] == texts(store)


def test_secrets_do_not_come_into_a_memory(store: Store, say: Say) -> None:
    """As everywhere."""
    say("s1", "Remember that the key of staging is AKIAIOSFODNN7EXAMPLE for the bucket.", "Noted.")

    assert "AKIAIOSFODNN7EXAMPLE" not in texts(store)[0]


# ------------------------------------------------------------------ corrections


def test_a_correction_supersedes_what_it_names(store: Store, say: Say) -> None:
    """Not MongoDB, PostgreSQL: the old one is closed as of the correction, and does not come back when it is said again."""
    say("s1", "We decided to keep the orders in MongoDB.", "Noted.")
    say("s2", "No, the orders are kept in PostgreSQL, not MongoDB.", "Changed.", day=1)
    old, new = all_of(store)
    assert ("superseded", new.id, new.valid_from) == (old.status, old.successor, old.valid_to)
    assert ("live", "decision", "the user corrected it") == (new.status, new.kind, new.reason)

    say("s3", "We decided to keep the orders in MongoDB.", "Noted.", day=2)
    assert ["No, the orders are kept in PostgreSQL, not MongoDB."] == texts(store)


@pytest.mark.parametrize(
    ("old", "writer", "kind", "repository", "edge"),
    [
        ("The orders are kept in MongoDB.", "user", "fact", "here", "supersedes"),
        ("MongoDB runs on port 27017.", "model", "fact", "here", "contradicts"),
        ("The orders moved from MongoDB to PostgreSQL.", "model", "fact", "here", ""),
        ("The orders are kept in MongoDB.", "model", "fact", "elsewhere", ""),
        ("The orders are kept in MongoDB.", "model", "fact", "nowhere", ""),
        ("The orders in MongoDB were lost.", "model", "experience", "here", ""),
        ("The orders are kept in a file.", "model", "fact", "here", ""),
    ],
    ids=["the user's own", "of something else", "says both", "another repository", "agent-wide", "what happened", "does not say it"],
)
def test_what_a_correction_does_not_close(store: Store, say: Say, project: Path, old: str, writer: str, kind: str, repository: str, edge: str) -> None:
    """A link is proposed where it may be meant, and nothing where it is not."""
    say("s1", "hello", "Hello.")
    numbers = {"here": home(store, project), "elsewhere": places.settle(store, str(project.parent), 1.0), "nowhere": None}
    ref, _ = memories.write(store, repository=numbers[repository], tier="short", kind=kind, text=old, now=1.0, writer=writer, source="user")
    say("s2", "No, the orders are kept in PostgreSQL, not MongoDB.", "Changed.", day=1)

    assert "live" == memories.get(store, ref).status
    assert [edge][: bool(edge)] == [each["type"] for each in edges.pending(store, home(store, project), 9)]


def test_a_number_alone_closes_only_what_is_surely_meant(store: Store, say: Say, project: Path) -> None:
    """Two shared words or an identifier; many memories say 48."""
    say("s1", "Segments are sealed at 48 MiB by default.", "SEAL_AT is 48 MiB, segments are sealed there.")
    for text in ("The valley has 48 farms.", "The seal in the harbour weighs 48 kg."):
        memories.write(store, repository=home(store, project), tier="short", kind="fact", text=text, now=1.0)
    say("s2", "Then make it 128 MiB, not 48.", "SEAL_AT is 128 MiB now.", day=1)

    assert ["superseded", "live", "live", "live"] == [memory.status for memory in all_of(store)]
    assert ["The seal in the harbour weighs 48 kg."] == [each["to_content"] for each in edges.pending(store, home(store, project), 9)]


def test_what_is_newer_than_a_correction_is_not_closed_by_it(store: Store, say: Say) -> None:
    """An old session that is read late: the later word holds."""
    say("s1", "We decided to keep the orders in MongoDB.", "Noted.", day=9)
    say("s2", "No, the orders are kept in PostgreSQL, not MongoDB.", "Changed.", day=1)

    assert ["live", "live"] == [memory.status for memory in all_of(store)]


def test_what_was_corrected_since_is_closed_when_it_is_read_late(store: Store, say: Say) -> None:
    """The correction is known already when the session in which it was said otherwise is imported."""
    say("s1", "No, the orders are kept in PostgreSQL, not MongoDB.", "Changed.", day=9)
    say("s2", "We decided to keep the orders in MongoDB.", "Noted.", day=1)
    new, old = all_of(store)

    assert ("live", "superseded", new.id) == (new.status, old.status, old.successor)


MAIL = "Can you answer this mail?\n\nHi all,\n\nno, the orders are kept in PostgreSQL, not MongoDB.\n\nCheers, Mallory"


@pytest.mark.parametrize(
    ("tier", "source", "prompt", "closes"),
    [
        ("short", "user", "No, the orders are kept in PostgreSQL, not MongoDB.", True),
        ("short", "assistant", "No, the orders are kept in PostgreSQL, not MongoDB.", True),
        ("long", "user", "No, the orders are kept in PostgreSQL, not MongoDB.", False),
        ("long", "assistant", "No, the orders are kept in PostgreSQL, not MongoDB.", False),
        ("short", "user", "Fix issue 12.\n\nNo, the orders are kept in PostgreSQL, not MongoDB.", False),
        ("short", "user", "The ticket is right. No, the orders are kept in PostgreSQL, not MongoDB.", False),
    ],
)
def test_plain_code_closes_what_is_short_term_and_what_the_user_said_only_by_their_own_words(
    store: Store, say: Say, project: Path, tier: str, source: str, prompt: str, closes: bool
) -> None:
    """Where it may have been pasted, and where it is long-term, a link waits for the user."""
    say("s1", "hello", "Hello.")
    ref, _ = memories.write(
        store,
        repository=home(store, project),
        tier=tier,
        kind="fact",
        text="The orders are kept in MongoDB.",
        reason="x",
        now=1.0,
        writer="digest",
        source=source,
    )
    say("s2", prompt, "Changed.", day=1)

    assert ("superseded" if closes else "live") == memories.get(store, ref).status
    assert ([] if closes else ["supersedes"]) == [each["type"] for each in edges.pending(store, home(store, project), 9)]


def test_what_was_pasted_does_not_close_what_the_user_said_when_it_is_read_late(store: Store, say: Say) -> None:
    """Neither way round."""
    say("s1", "Fix issue 12.\n\nNo, the orders are kept in PostgreSQL, not MongoDB.", "Changed.", day=9)
    say("s2", "We decided to keep the orders in MongoDB.", "Noted.", day=1)

    assert ["live", "live"] == [memory.status for memory in all_of(store)]


@pytest.mark.parametrize(
    "prompt",
    [
        MAIL,
        "Here is the mail:\n\nHi,\n\nno, the orders are kept in PostgreSQL, not MongoDB.\n\nWe decided that deploys need no review.",
        "Do the following.\n\nNo, the orders are kept in PostgreSQL, not MongoDB.",
        "This is from the issue\n\nOrders\n\nNo, the orders are kept in PostgreSQL, not MongoDB.",
        "Summarise:\n\n# Orders\n\nNo, the orders are kept in PostgreSQL, not MongoDB.",
        "Here is the issue:\n\nIt fails:\n\n```\nx\n```\n\nNever use MongoDB for the orders.",
    ],
)
def test_what_was_announced_as_somebody_elses_is_nothing_that_the_user_said(store: Store, say: Say, prompt: str) -> None:
    """To the end, however many paragraphs it has."""
    say("s1", prompt, "Done.")

    assert [] == texts(store)


def test_what_stands_after_a_pasted_log_is_the_users(store: Store, say: Say) -> None:
    """A machine's output ends at an empty line or with its fence."""
    say("s1", "Here is the log:\nit failed twice\n\nNever retry the payment call.", "Noted.")
    say("s2", "Here is the mail:\n```\nwe always deploy on Friday\n```\nNever deploy on Fridays.", "Noted.", day=1)

    say("s3", "I have thought about this message\nand we decided to keep sessions in Redis.", "Noted.", day=2)

    assert ["Never retry the payment call.", "Never deploy on Fridays."] == texts(store)[:2]
    assert "we decided to keep sessions in Redis." in texts(store)[2]


# ------------------------------------------------------------------ again


def test_what_the_user_says_in_three_sessions_becomes_long_term(store: Store, say: Say) -> None:
    """In whichever words; twice in one session is once."""
    say("s1", "Always run make check before you commit.", "Noted.", "please always run make check before committing", "Yes.")
    assert [("short", 0)] == [(memory.tier, memory.citations) for memory in all_of(store)]
    say("s2", "Please always run make check before you commit!", "Noted.", day=1)
    assert [("short", 1)] == [(memory.tier, memory.citations) for memory in all_of(store)]
    say("s3", "always run make check before you commit", "Noted.", day=2)
    memory = all_of(store)[0]
    last = exchanges.turn(store, f"t{memories.lineage(store, memory)[-1]}")

    assert ["Always run make check before you commit."] == texts(store)
    assert ("long", "the user said it in 3 sessions; the user made it a rule") == (memory.tier, memory.reason)
    assert (3, 2, last.at) == (len(memories.lineage(store, memory)), memory.citations, memory.reinforced)


def test_what_was_said_before_makes_nothing_older(store: Store, say: Say) -> None:
    """An old session that is read late proves it too, and it stays as fresh as it was."""
    say("s1", "Never push to main directly.", "Noted.", day=9)
    fresh = all_of(store)[0].reinforced
    say("s2", "Never push to main directly.", "Noted.", day=1)

    assert [(1, fresh, fresh)] == [(memory.citations, memory.reinforced, memory.decayed) for memory in all_of(store)]


def test_a_command_is_reinforced_and_never_long_term(store: Store, say: Say) -> None:
    """It came from a tool, however often; closed, it stays closed."""

    def seed(talk: Transcript) -> None:
        talk.used("Bash", {"command": "make seed"}, "ok")
        talk.reply("`make seed` works.")

    for day in range(4):
        say(f"s{day}", f"Run the seeds, round {day}", day=day, then=seed)
    memory = all_of(store)[0]
    assert [("`make seed` works (ran without an error): Run the seeds, round 0", "short", "tool", 3)] == [
        (memory.text, memory.tier, memory.source, memory.citations)
    ]

    memories.close(store, memory.ref, NOW)
    before = memories.lineage(store, memory)
    say("s9", "Run the seeds, for the last round", day=9, then=seed)
    assert ([], before) == (texts(store), memories.lineage(store, memory))


@pytest.mark.parametrize("source", ["tool", "outside"])
def test_what_came_from_a_tool_or_from_outside_is_not_made_long_term(store: Store, say: Say, project: Path, source: str) -> None:
    """However often the user says the same: that is for them to confirm."""
    say("s0", "hello", "Hello.")
    rule = "Always run make check before you commit."
    ref, _ = memories.write(store, repository=home(store, project), tier="short", kind="convention", text=rule, now=1.0, source=source)
    for day in range(1, 5):
        say(f"s{day}", rule, "Noted.", day=day)
    memory = memories.get(store, ref)

    assert ("short", 4, 1) == (memory.tier, memory.citations, len(all_of(store)))


def test_a_test_that_was_mended_is_an_episode(store: Store, say: Say, project: Path) -> None:
    """Success as expected, written by plain code, once."""

    def mend(talk: Transcript) -> None:
        talk.used("Bash", {"command": "pytest -q"}, "FAILED tests/test_cart.py::test_total - assert 1203 == 1204\n1 failed", error=True)
        talk.used("Edit", {"file_path": str(project / "app" / "cart.py"), "old_string": "a", "new_string": "b"}, "ok")
        talk.used("Bash", {"command": "pytest -q"}, "3 passed in 0.39s")
        talk.reply("It rounds half up now.")

    talk = say("s1", "Run the tests", then=mend)
    store.execute("DELETE FROM spotted")
    assert 0 == looked(store, talk).spotted
    memory = all_of(store)[0]

    last = exchanges.turn(store, f"t{memories.lineage(store, memory)[-1]}")
    assert ("episode", "code", 1.0, last.at) == (memory.kind, memory.writer, memory.strength, memory.created)
    assert {
        "situation": "test_total failed: assert 1203 == 1204", "action_type": "fix", "action_taken": "edited app/cart.py: It rounds half up now.",
        "expected": "success", "outcome": "success", "evidence": "`pytest -q`: 3 passed in 0.39s",
    } == episodes.get(store, memory.id)  # fmt: skip


# ------------------------------------------------------------------ files that go together


def change(project: Path, *names: str, error: bool = False) -> Callable[[Transcript], None]:
    """Edits files."""

    def edit(talk: Transcript) -> None:
        for name in names:
            talk.used("Edit", {"file_path": str(project / name), "old_string": "a", "new_string": "b"}, "ok", error=error)
        talk.reply("Done.")

    return edit


def test_files_that_are_edited_together_are_noted_and_counted(store: Store, say: Say, project: Path) -> None:
    """From the second session on, in one memory that is brought up to date."""
    pair = ("src/aPart.py", "tests/test_a_part.py")
    say("s1", "go", then=change(project, *pair, "README.md"))
    assert [] == texts(store)
    talk = say("s2", "go", day=1, then=change(project, *pair))
    memory = all_of(store)[0]
    assert ("observation", "src/aPart.py and tests/test_a_part.py are changed together (2 sessions)", "tool", "code") == (
        memory.kind, memory.text, memory.source, memory.writer,
    )  # fmt: skip
    assert [1, 2] == spotted.sessions_of(store, memory.id)

    change(project, *pair)(talk)
    looked(store, talk)
    assert ["src/aPart.py and tests/test_a_part.py are changed together (2 sessions)"] == texts(store)
    say("s3", "go", day=2, then=change(project, *pair))
    assert [("src/aPart.py and tests/test_a_part.py are changed together (3 sessions)", 2)] == [(each.text, each.revision) for each in all_of(store)]


def test_files_that_meet_by_chance_are_not_noted(store: Store, say: Say, project: Path) -> None:
    """One that is edited all the time, edits that were refused, files of the same name elsewhere."""
    for day in range(4):
        say(f"s{day}", "go", day=day, then=change(project, "CHANGELOG.md", *(("src/a.py",) if day in (0, 3) else ())))
    assert ["CHANGELOG.md and src/a.py are changed together (2 sessions)"] == texts(store)
    store.execute("DELETE FROM memory")
    for day in range(4, 9):
        say(f"s{day}", "go", day=day, then=change(project, "CHANGELOG.md", "src/b.py" if day in (4, 8) else "docs/x.md"))
    say("t1", "go", day=20, then=change(project, "src/c.py", "src/d.py", error=True))
    say("t2", "go", day=21, then=change(project, "src/c.py", "src/d.py", error=True))
    say("t3", "go", day=22, then=change(project, "a/e.py", "a/f.py"))
    say("t4", "go", day=23, then=change(project, "q/b/e.py", "q/b/f.py"))
    say("t5", "go", day=24, then=change(project, "b/e.py", "b/f.py"))

    assert [] == [text for text in texts(store) if "src/" in text or "e.py" in text]


def test_a_pair_is_not_counted_down(store: Store, say: Say, project: Path) -> None:
    """Sessions may be forgotten; what was counted was."""
    for day in range(2):
        say(f"s{day}", "go", day=day, then=change(project, "a.py", "b.py"))
    memories.revise(store, all_of(store)[0].ref, "a.py and b.py are changed together (9 sessions)", "counted by hand", NOW)
    say("s3", "go", day=3, then=change(project, "a.py", "b.py"))

    assert ["a.py and b.py are changed together (9 sessions)"] == texts(store)


def test_a_pair_that_was_forgotten_stays_gone(store: Store, say: Say, project: Path) -> None:
    """Also with another count."""
    for day in range(2):
        say(f"s{day}", "go", day=day, then=change(project, "a.py", "b.py"))
    forget.forget(store, [all_of(store)[0].ref], "wrong", NOW)
    say("s3", "go", day=3, then=change(project, "a.py", "b.py"))

    assert [] == texts(store)


# ------------------------------------------------------------------ the doors


def event(talk: Transcript, name: str) -> dict[str, Any]:
    """A hook event about the transcript."""
    return {"hook_event_name": name, "session_id": talk.session, "cwd": talk.folder, "transcript_path": talk.path, "reason": "other"}


@pytest.mark.parametrize(("door", "name"), [(turn, "Stop"), (close, "SessionEnd"), (close, "PreCompact")])
def test_the_end_of_a_turn_and_of_a_session_looks_through(say: Say, door: Any, name: str) -> None:
    """In the default agent's own store."""
    assert door.answer(event(say("s1", "Never push to main directly.", "Noted.", look=False), name)) is None
    with db.open_store(paths.store_path("default")) as own:
        assert ["Never push to main directly."] == texts(own)


def test_a_fault_in_looking_costs_the_hook_nothing(say: Say, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was archived stays, and the fault is noted; a store that another process holds is none."""
    talk = say("s1", "Never push to main directly.", "Noted.", look=False)

    def broken(*_: object, **__: object) -> None:
        raise ValueError("a broken pattern")

    def busy(*_: object, **__: object) -> None:
        raise db.sqlite.OperationalError("database is locked")

    for failing in (busy, broken):
        monkeypatch.setattr(spotting, "catch_up", failing)
        assert turn.answer(event(talk, "Stop")) is None
    assert ["a broken pattern"] == [str(fault["said"]) for fault in faults.recent()]
    with db.open_store(paths.store_path("default")) as own:
        assert 2 == own.value("SELECT count(*) FROM turn")


def test_an_import_looks_through_what_it_brought(store: Store, say: Say, tmp_path: Path) -> None:
    """Each session as it was, with its own time; stopped in between, it goes on where it was."""
    say("s1", "We decided to keep the orders in MongoDB.", "Noted.", look=False)
    say("s2", "No, the orders are kept in PostgreSQL, not MongoDB.", "Changed.", day=1, look=False)
    importing.run(store, importing.plan(store, str(tmp_path / ".claude")).files, on_progress=lambda *_: None, now_fn=lambda: NOW)

    first, second = (exchanges.turn(store, f"t{row[0]}").at for row in store.rows("SELECT min(id) FROM turn GROUP BY session ORDER BY session"))

    assert [("superseded", first), ("live", second)] == [(memory.status, memory.created) for memory in all_of(store)]
    assert DAY_S == second - first


def test_what_plain_code_did_is_in_the_log_and_can_be_undone(store: Store) -> None:
    """A correction closes what it names; undone, that holds again and the correction is not spotted anew."""
    mind = Mind(store)
    old = mind.write("Orders are stored in MongoDB.")
    mind.say("No, not MongoDB: the orders are stored in PostgreSQL.")
    mind.say("Noted, PostgreSQL it is.", role="assistant")
    spotting.catch_up(store, now=mind.at, budget_s=30)
    (done,) = digests.newest(store, 9)

    assert ("spotting", "applied", "code", {"remember": 1, "supersede": 1}) == (done.phase, done.state, done.runner, digests.counts(store, done.id))
    assert "superseded" == mind.memory(old).status
    undoing.undo(store, done.id, mind.at)
    assert ["Orders are stored in MongoDB."] == mind.live()
    store.execute("DELETE FROM spotted")
    spotting.catch_up(store, now=mind.at, budget_s=30)
    assert ["Orders are stored in MongoDB."] == mind.live()
    assert 1 == len(digests.newest(store, 9))
    assert (0.0, 0) == digests.streak(store)
