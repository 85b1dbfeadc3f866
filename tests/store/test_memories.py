"""Memories: one per text, weakened by time, strengthened by proof, closed for good when superseded."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import pytest

from tenon.base.errors import TenonError
from tenon.store import fading, forget, forgotten, index, memories, places, tasks
from tenon.store.db import Store
from tenon.store.memories import Memory

NOW = 1_800_000_000.0
DAY = 86400.0
PER_DAY = {"short": 0.95, "long": 0.997}


def write(store: Store, repository: int | None, text: str, **more: Any) -> str:
    """The id of a memory with that text: a short-term observation unless told otherwise."""
    told = {"tier": "short", "kind": "observation", "now": NOW, **more}
    return memories.write(store, repository=repository, text=text, **told)[0]


def write_long(store: Store, repository: int | None, text: str, **more: Any) -> str:
    """The id of a long-term lesson with that text."""
    return write(store, repository, text, **{"tier": "long", "kind": "lesson", "reason": "seen in CI", **more})


def found(store: Store, word: str) -> list[int]:
    """The row numbers that the text index has for a word."""
    return [row[0] for row in store.rows("SELECT rowid FROM memory_fts WHERE memory_fts MATCH ? ORDER BY rowid", (index.query([word], {word: 1}),))]


def live(store: Store, repository: int) -> list[str]:
    """The ids of what surfaces in a repository."""
    return [memory.ref for memory in memories.recent(store, repository, 100)]


def turn(store: Store, repository: int, number: int) -> int:
    """An archived turn."""
    store.execute(
        "INSERT OR IGNORE INTO session (id, name, repository, folder, client, started, last) VALUES (1, 's', ?, '/p', 'claude-code', 1, 1)", (repository,)
    )
    store.execute(
        "INSERT INTO turn (id, hash, session, repository, role, kind, source, at, tokens, content) VALUES (?, ?, 1, ?, 'user', 'prompt', 'user', 1, 1, '[]')",
        (number, bytes([number]), repository),
    )
    return number


# ---------------------------------------------------------------- writing


def test_what_is_about_a_memory_finds_it_too(store: Store, repository: int) -> None:
    """Its reason, its labels and its epic, as they are now."""
    ref = write_long(store, repository, "The parser reads lines", reason="the zebra test failed", labels=["PR#41", "src/gnu.py"], epic="okapi")
    for word in ("zebra", "gnu", "okapi", "41", "parser"):
        assert [1] == found(store, word)
    memories.demote(store, ref, "an impala said so", NOW)
    assert ([], [1], [1]) == (found(store, "zebra"), found(store, "impala"), found(store, "okapi"))
    memories.promote(store, ref, "a kudu proved it", NOW)
    assert ([], [1]) == (found(store, "impala"), found(store, "kudu"))
    memories.revise(store, ref, "The parser reads pages", "a bongo changed it", NOW)
    assert ([], [1], [1], []) == (found(store, "kudu"), found(store, "bongo"), found(store, "page"), found(store, "lines"))
    assert [1] == found(store, "gnu")
    write_long(store, repository, "The printer writes lines", reason="so it is")
    memories.supersede(store, ref, memories.by_id(store, 2).ref, NOW)
    assert [] == found(store, "gnu")


def test_whether_a_text_is_known_is_not_looked_up_memory_by_memory(store: Store) -> None:
    """A write among very many memories takes no longer than one among few."""
    plan = store.rows(f"EXPLAIN QUERY PLAN {memories.REVISED}", (1,))
    assert ["SEARCH memory USING INDEX memory_revised (repository=?)"] == [row[3].replace("TABLE ", "") for row in plan]


def test_a_memory_is_kept_as_it_was_written(store: Store, repository: int) -> None:
    """With its tier, kind, reason, class of source, labels, epic and times."""
    ref, new = memories.write(
        store, repository=repository, tier="ltm", kind="decision", text="  We use PostgreSQL 15.\n", now=NOW, reason="the team agreed", source="user",
        labels=["PR#41", "docs/db.md"], epic="storage", strength=1.5,
    )  # fmt: skip
    memory = memories.get(store, ref)

    assert new
    assert ("long", "decision", "We use PostgreSQL 15.", "the team agreed", "user") == (memory.tier, memory.kind, memory.text, memory.reason, memory.source)
    assert ["PR#41", "docs/db.md"] == json.loads(memory.labels)
    assert ("storage", 1.5, 0, 1, "live", None) == (memory.epic, memory.strength, memory.citations, memory.revision, memory.status, memory.successor)
    assert (NOW, NOW, NOW, NOW, None) == (memory.created, memory.reinforced, memory.decayed, memory.valid_from, memory.valid_to)
    assert [memory.id] == found(store, "postgresql")


def test_an_id_is_short_and_says_nothing(store: Store, repository: int) -> None:
    """An m and nine letters or digits; both spellings of a tier are one tier."""
    ref = write(store, repository, "the cache is warm", tier="stm")

    assert (10, "m") == (len(ref), ref[0])
    assert ref[1:].isalnum()
    assert ref[1:].islower() or ref[1:].isdigit()
    assert "short" == memories.get(store, f" {ref}\n").tier


def test_the_same_text_is_one_memory(store: Store, repository: int) -> None:
    """Whatever its case and white space, however often it is written; writing it again makes it fresh."""
    ref, new = memories.write(store, repository=repository, tier="short", kind="fact", text="Ports start at 4000", now=NOW)
    again, new_again = memories.write(store, repository=repository, tier="short", kind="fact", text="ports  start\nat 4000 ", now=NOW + DAY)

    assert (True, False) == (new, new_again)
    assert ref == again
    assert 1 == store.value("SELECT count(*) FROM memory")
    assert NOW + DAY == memories.get(store, ref).reinforced


def test_the_same_text_written_as_long_term_is_promoted(store: Store, repository: int) -> None:
    """It keeps its id and takes the reason; writing it as short-term again does not demote it."""
    ref = write(store, repository, "the flaky test needs a free port")

    assert ref == write_long(store, repository, "the flaky test needs a free port")
    assert ref == write(store, repository, "the flaky test needs a free port")
    assert ("long", "seen in CI") == (memories.get(store, ref).tier, memories.get(store, ref).reason)


def test_the_same_text_elsewhere_is_another_memory(store: Store, repository: int, other: int) -> None:
    """Each repository has its own, and so has the agent."""
    refs = {write(store, home, "tests run with make check") for home in (repository, other, None)}

    assert 3 == len(refs)


def test_the_text_a_memory_was_revised_to_is_that_memory(store: Store, repository: int) -> None:
    """Writing it finds the revised memory; writing the old text makes a new one under a new id."""
    ref = write(store, repository, "the limit is 10")
    memories.revise(store, ref, "the limit is 20", "measured", NOW)

    assert ref == write(store, repository, "The limit is 20")
    assert ref != write(store, repository, "the limit is 10")
    assert 2 == store.value("SELECT count(*) FROM memory")


def test_a_secret_is_not_kept(store: Store, repository: int) -> None:
    """Neither in the text, nor in the reason, a label or the epic, nor in the index."""
    key = "sk-ant-api03-" + "Ab1_" * 12
    ref = write_long(store, repository, f"the key {key} works", reason=f"tried {key}", labels=[key], epic=key)

    assert key not in repr(store.rows("SELECT * FROM memory"))
    assert [] == found(store, "sk")
    assert [memories.get(store, ref).id] == found(store, "works")


def test_text_that_no_store_can_hold_is_made_harmless(store: Store, repository: int) -> None:
    """A lone surrogate becomes a question mark, NUL goes."""
    ref = write(store, repository, "half \ud83d of\0 a pair")

    assert "half ? of a pair" == memories.get(store, ref).text


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"tier": "medium"}, "'medium' is not a tier; it is short (stm) or long (ltm)"),
        ({"kind": "rumour"}, "'rumour' is not a kind of memory; the kinds are fact, preference,"),
        ({"source": "nobody"}, "'nobody' is not a class of source; the classes are user, assistant, tool, outside, reflection"),
        ({"text": " \n"}, "text is empty"),
        ({"text": "x" * 8001}, "text has 8,001 characters, at most 8,000 are kept"),
        ({"tier": "long"}, "a long-term memory needs a reason"),
        ({"tier": "long", "reason": "  "}, "a long-term memory needs a reason"),
    ],
)
def test_what_cannot_be_kept_is_refused_with_a_sentence(store: Store, repository: int, wrong: dict[str, str], said: str) -> None:
    """And nothing is written."""
    with pytest.raises(TenonError) as refusal:
        write(store, repository, **{"text": "something", **wrong})

    assert str(refusal.value).startswith(said)
    assert 0 == store.value("SELECT count(*) FROM memory")


def test_strength_stays_in_its_range(store: Store, repository: int) -> None:
    """Zero to two."""
    assert 2.0 == memories.get(store, write(store, repository, "one", strength=9.0)).strength
    assert 0.0 == memories.get(store, write(store, repository, "two", strength=-9.0)).strength


def test_a_memory_knows_the_turns_it_came_from(store: Store, repository: int) -> None:
    """Each once, those of a second writing too; a turn that does not exist is left out."""
    turns = [turn(store, repository, number) for number in (1, 2, 3)]
    ref = write(store, repository, "the build needs make", turns=[turns[1], turns[0], 99])
    write(store, repository, "the build needs make", turns=[turns[1], turns[2]])

    assert [1, 2, 3] == memories.lineage(store, memories.get(store, ref))


def test_what_was_forgotten_is_not_written_again(store: Store, repository: int) -> None:
    """In any repository, in any case, until the user says so."""
    forgotten.bury(store, "Her name is Ada", "the user's wish", NOW)

    for home in (repository, None):
        with pytest.raises(TenonError, match=r"was forgotten or undone on the user's wish and stays gone; only the user can write it again"):
            write(store, home, "her name  is ada")
    assert write(store, repository, "her name is Ada", again=True)


def test_a_forgotten_memory_stays_gone_with_its_earlier_texts(store: Store, repository: int) -> None:
    """Neither what it said last nor what it said first can be written, nor a memory revised to it."""
    ref = write(store, repository, "the token is in vault A")
    memories.revise(store, ref, "the token is in vault B", "moved", NOW)
    forget.forget(store, [ref], "the user's wish", NOW)
    kept = write(store, repository, "vaults exist")

    for text in ("the token is in vault A", "the token is in vault B"):
        with pytest.raises(TenonError, match="forgotten"):
            write(store, repository, text)
        with pytest.raises(TenonError, match="forgotten"):
            memories.revise(store, kept, text, "because", NOW)


# ---------------------------------------------------------------- reading


def test_an_unknown_id_is_an_error_that_says_what_ids_look_like(store: Store) -> None:
    """Never a silent success."""
    with pytest.raises(TenonError, match="there is no memory 'm123'; ids look like m"):
        memories.get(store, "m123")
    with pytest.raises(TenonError, match="there is no memory number 7"):
        memories.by_id(store, 7)


def test_recent_memories_are_the_repositorys_and_the_agents(store: Store, repository: int, other: int) -> None:
    """Proved last first, nothing of another repository, nothing that is not live."""
    old = write(store, repository, "old", now=NOW)
    mine = write(store, None, "the user prefers tabs", now=NOW + 1)
    new = write(store, repository, "new", now=NOW + 2)
    write(store, other, "elsewhere", now=NOW + 3)
    closed = write(store, repository, "closed", now=NOW + 4)
    memories.supersede(store, closed, new, NOW + 5)

    assert [new, mine, old] == live(store, repository)
    assert [new, mine] == [memory.ref for memory in memories.recent(store, repository, 2)]


def test_recent_memories_of_an_alias_are_the_repositorys(store: Store, repository: int, other: int) -> None:
    """From either side."""
    one, two = write(store, repository, "one"), write(store, other, "two", now=NOW + 1)
    places.join(store, "example.org/acme/gadgets", "example.org/acme/widgets", NOW)

    assert [two, one] == live(store, repository)
    assert [two, one] == live(store, other)


# ---------------------------------------------------------------- editing


def test_revising_keeps_the_old_text(store: Store, repository: int) -> None:
    """With why it was replaced and when; the id stays and the index knows the new words only."""
    ref = write_long(store, repository, "deploys go through Jenkins")
    memories.revise(store, ref, "deploys go through Buildkite", "moved in May", NOW + 1)
    memory = memories.revise(store, ref, "deploys go through Actions", "moved in July", NOW + 2)

    assert ("deploys go through Actions", "moved in July", 3, NOW + 2) == (memory.text, memory.reason, memory.revision, memory.reinforced)
    assert [
        {"revision": 1, "text": "deploys go through Jenkins", "replaced_because": "moved in May", "at": NOW + 1},
        {"revision": 2, "text": "deploys go through Buildkite", "replaced_because": "moved in July", "at": NOW + 2},
    ] == memories.history(store, memory)
    assert ([], [memory.id]) == (found(store, "jenkins"), found(store, "actions"))


def test_revising_to_the_same_text_changes_nothing(store: Store, repository: int) -> None:
    """No revision, no history."""
    ref = write(store, repository, "as it was")

    assert 1 == memories.revise(store, ref, "as it was", "no reason", NOW + 1).revision
    assert [] == memories.history(store, memories.get(store, ref))


@pytest.mark.parametrize(("text", "reason", "said"), [("", "because", "new_content is empty"), ("new", " ", "reason is empty")])
def test_a_revision_needs_a_text_and_a_reason(store: Store, repository: int, text: str, reason: str, said: str) -> None:
    """Otherwise the memory stays as it is."""
    ref = write(store, repository, "old")

    with pytest.raises(TenonError, match=said):
        memories.revise(store, ref, text, reason, NOW)
    assert "old" == memories.get(store, ref).text


def test_promotion_keeps_the_id_and_everything_proved(store: Store, repository: int) -> None:
    """Full strength, the reason of the promotion, and every citation."""
    ref = write(store, repository, "retries swallow 429s", strength=0.4)
    memories.reinforce(store, ref, NOW)
    memory = memories.promote(store, ref, "the failing test in CI", NOW + 1)

    assert (ref, "long", "the failing test in CI", 1.0, 1) == (memory.ref, memory.tier, memory.reason, memory.strength, memory.citations)


def test_promotion_does_not_lower_a_surprise(store: Store, repository: int) -> None:
    """Two stays two."""
    assert 2.0 == memories.promote(store, write(store, repository, "surprising", strength=2.0), "again", NOW).strength


def test_demotion_keeps_the_id_at_half_strength(store: Store, repository: int) -> None:
    """At most half: a weaker one is not made stronger."""
    strong, weak = write_long(store, repository, "strong"), write_long(store, repository, "weak", strength=0.2)

    assert ("short", 0.5) == (memories.demote(store, strong, "contradicted", NOW).tier, memories.get(store, strong).strength)
    assert 0.2 == memories.demote(store, weak, "contradicted", NOW).strength


def test_promotion_and_demotion_need_a_reason(store: Store, repository: int) -> None:
    """Whoever reads it later asks why."""
    ref = write(store, repository, "some text")

    for move in (memories.promote, memories.demote):
        with pytest.raises(TenonError, match="reason is empty"):
            move(store, ref, "", NOW)


def test_no_id_is_ever_used_twice(store: Store, repository: int) -> None:
    """Twenty long-term writes, seven demotions, one more write: every id is another one, and each is still its text."""
    refs = [write_long(store, repository, f"lesson {number}") for number in range(20)]
    for ref in refs[13:]:
        memories.demote(store, ref, "contradicted", NOW)
    refs.append(write_long(store, repository, "lesson 20"))

    assert 21 == len(set(refs))
    assert [f"lesson {number}" for number in range(21)] == [memories.get(store, ref).text for ref in refs]


# ---------------------------------------------------------------- strength


def test_reinforcing_strengthens_and_counts(store: Store, repository: int) -> None:
    """By the factor, up to one, with a citation and a fresh date each time."""
    ref = write(store, repository, "half sure", strength=0.5)
    memory = memories.reinforce(store, ref, NOW + 5)

    assert pytest.approx(0.6) == memory.strength
    assert (1, NOW + 5, NOW + 5) == (memory.citations, memory.reinforced, memory.decayed)
    assert pytest.approx(1.0) == memories.reinforce(store, ref, NOW + 6, factor=2.0).strength
    assert (1.0, 3) == (memories.reinforce(store, ref, NOW + 7, factor=2.0).strength, memories.get(store, ref).citations)


def test_reinforcing_a_surprise_never_weakens_it(store: Store, repository: int) -> None:
    """A surprising episode keeps its double strength."""
    ref = write(store, repository, "surprise", strength=2.0)

    assert 2.0 == memories.reinforce(store, ref, NOW).strength
    assert pytest.approx(1.14) == memories.reinforce(store, ref, NOW + DAY, factor=1.2, per_day=0.475).strength


@pytest.mark.parametrize("factor", [-5.0, 0.0, 0.99, 2.01, math.inf, math.nan])
def test_reinforcing_cannot_weaken(store: Store, repository: int, factor: float) -> None:
    """A factor outside 1 to 2 is refused and changes nothing."""
    ref = write(store, repository, "steady")

    with pytest.raises(TenonError, match="factor must be from 1 to 2"):
        memories.reinforce(store, ref, NOW, factor=factor)
    assert (1.0, 0) == (memories.get(store, ref).strength, memories.get(store, ref).citations)


def test_strength_goes_by_elapsed_time(store: Store, repository: int) -> None:
    """What is kept per day, to the power of the days; a clock that went back strengthens nothing."""
    memory = memories.get(store, write(store, repository, "ages"))

    assert pytest.approx(0.25) == memory.strength_at(NOW + 2 * DAY, 0.5)
    assert pytest.approx(0.5**0.5) == memory.strength_at(NOW + DAY / 2, 0.5)
    assert 1.0 == memory.strength_at(NOW - DAY, 0.5)


def test_seven_sweeps_within_a_minute_change_nothing(store: Store, repository: int, other: int) -> None:
    """Not even a little, and never another repository."""
    here, there = write(store, repository, "here"), write(store, other, "there")

    assert [(0, 0)] * 7 == [fading.sweep(store, repository, NOW + 8 * second, PER_DAY) for second in range(7)]
    assert (1.0, 1.0) == (memories.get(store, here).strength, memories.get(store, there).strength)


def test_many_sweeps_weaken_as_much_as_one(store: Store, repository: int) -> None:
    """Ten days in hourly sweeps, or in one."""
    ref = write(store, repository, "hourly")
    for hour in range(1, 241):
        fading.sweep(store, repository, NOW + hour * 3600.0, PER_DAY)

    assert pytest.approx(0.95**10) == memories.get(store, ref).strength_at(NOW + 10 * DAY, 0.95)


def test_a_sweep_weakens_each_tier_at_its_own_pace(store: Store, repository: int) -> None:
    """Agent-wide memories too; long-term ones never fade from view."""
    short, long, wide = write(store, repository, "short"), write_long(store, repository, "long"), write(store, None, "wide")

    assert (3, 0) == fading.sweep(store, repository, NOW + 10 * DAY, PER_DAY)
    assert [pytest.approx(0.95**10), pytest.approx(0.997**10), pytest.approx(0.95**10)] == [memories.get(store, ref).strength for ref in (short, long, wide)]
    assert (3, 2) == fading.sweep(store, repository, NOW + 1000 * DAY, PER_DAY)
    assert ["faded", "live", "faded"] == [memories.get(store, ref).status for ref in (short, long, wide)]


def test_a_sweep_leaves_other_repositories_alone(store: Store, repository: int, other: int) -> None:
    """However long ago they were written; a sweep of no repository weakens what is the agent's."""
    here, wide = write(store, repository, "here"), write(store, None, "wide")

    assert (1, 1) == fading.sweep(store, other, NOW + 100 * DAY, PER_DAY)
    assert ("live", 1.0) == (memories.get(store, here).status, memories.get(store, here).strength)
    assert "faded" == memories.get(store, wide).status
    assert (0, 0) == fading.sweep(store, None, NOW + 100 * DAY, PER_DAY)


def test_a_sweep_knows_aliases(store: Store, repository: int, other: int) -> None:
    """What was joined is swept together."""
    write(store, repository, "here")
    write(store, other, "there")
    places.join(store, "example.org/acme/gadgets", "example.org/acme/widgets", NOW)

    assert (2, 0) == fading.sweep(store, other, NOW + DAY, PER_DAY)


def test_a_faded_memory_is_kept_and_comes_back_by_proof(store: Store, repository: int) -> None:
    """It is readable by its id, still indexed, and live again once reinforced."""
    ref = write(store, repository, "zanzibar")
    fading.sweep(store, repository, NOW + 60 * DAY, PER_DAY)

    assert [] == live(store, repository)
    assert "faded" == memories.get(store, ref).status
    memory = memories.reinforce(store, ref, NOW + 60 * DAY)
    assert ("live", 0.3) == (memory.status, memory.strength)
    assert ([ref], [memory.id]) == (live(store, repository), found(store, "zanzibar"))


@pytest.mark.parametrize("how", ["written", "promoted"])
def test_a_faded_memory_comes_back_when_it_is_written_or_promoted(store: Store, repository: int, how: str) -> None:
    """At full strength."""
    ref = write(store, repository, "comes back")
    fading.sweep(store, repository, NOW + 60 * DAY, PER_DAY)
    if how == "written":
        write(store, repository, "comes back", now=NOW + 60 * DAY)
    else:
        memories.promote(store, ref, "proved", NOW + 60 * DAY)

    assert ("live", 1.0, NOW + 60 * DAY) == (memories.get(store, ref).status, memories.get(store, ref).strength, memories.get(store, ref).decayed)


def test_what_an_active_epic_needs_does_not_weaken(store: Store, repository: int) -> None:
    """Nor does a procedure; once the epic is completed its memories weaken like others."""
    needed = write(store, repository, "needed", epic="migration")
    runbook = write_long(store, repository, "runbook", kind="procedure")
    tasks.write(store, repository, epic="migration", now=NOW)

    assert (0, 0) == fading.sweep(store, repository, NOW + 60 * DAY, PER_DAY)
    tasks.write(store, repository, epic="migration", status="completed", now=NOW)
    assert (1, 1) == fading.sweep(store, repository, NOW + 60 * DAY, PER_DAY)
    assert ("faded", "live") == (memories.get(store, needed).status, memories.get(store, runbook).status)


# ---------------------------------------------------------------- superseding


@pytest.fixture()
def pair(store: Store, repository: int) -> tuple[Memory, Memory]:
    """An old memory and the one that superseded it."""
    old, new = write(store, repository, "the database is MongoDB"), write(store, repository, "the database is PostgreSQL 15", now=NOW + 1)
    memories.supersede(store, old, new, NOW + 2)
    return memories.get(store, old), memories.get(store, new)


def test_a_superseded_memory_is_closed(store: Store, repository: int, pair: tuple[Memory, Memory]) -> None:
    """It ends when the other begins to hold, names it, leaves the index and no longer surfaces."""
    old, new = pair

    assert ("superseded", new.id, NOW + 2) == (old.status, old.successor, old.valid_to)
    assert ("live", None) == (new.status, new.valid_to)
    assert [] == found(store, "mongodb")
    assert [new.ref] == live(store, repository)


def test_a_superseded_memory_does_not_come_back(store: Store, repository: int, pair: tuple[Memory, Memory]) -> None:
    """Not by promotion, demotion, revision, proof, or time; each refusal names the memory to use."""
    old, new = pair
    tries: list[Callable[[], Memory]] = [
        lambda: memories.promote(store, old.ref, "again", NOW),
        lambda: memories.demote(store, old.ref, "again", NOW),
        lambda: memories.revise(store, old.ref, "the database is still MongoDB", "again", NOW),
        lambda: memories.reinforce(store, old.ref, NOW),
    ]

    for attempt in tries:
        with pytest.raises(TenonError, match=f"{old.ref} was superseded by {new.ref} and stays closed; use {new.ref}"):
            attempt()
    fading.sweep(store, repository, NOW + 60 * DAY, PER_DAY)
    assert ("superseded", 1.0) == (memories.get(store, old.ref).status, memories.get(store, old.ref).strength)
    assert [] == found(store, "mongodb")


def test_a_superseded_text_is_refused_with_what_holds_now(store: Store, repository: int, pair: tuple[Memory, Memory]) -> None:
    """In either tier."""
    for attempt in (write, write_long):
        with pytest.raises(TenonError, match=f"this was superseded by {pair[1].ref}: «the database is PostgreSQL 15»; it does not come back"):
            attempt(store, repository, "The database is mongodb")


def test_superseding_twice_is_superseding_once(store: Store, pair: tuple[Memory, Memory]) -> None:
    """The day it ended stays the first one."""
    old, new = pair
    memories.supersede(store, old.ref, new.ref, NOW + 100)

    assert NOW + 2 == memories.get(store, old.ref).valid_to


def test_superseding_goes_on_from_the_newest(store: Store, repository: int, pair: tuple[Memory, Memory]) -> None:
    """The newest can be superseded; what is closed can neither be superseded by another nor supersede."""
    old, new = pair
    newest = write(store, repository, "the database is PostgreSQL 17", now=NOW + 3)

    with pytest.raises(TenonError, match=f"{old.ref} was superseded by {new.ref}"):
        memories.supersede(store, old.ref, newest, NOW + 4)
    with pytest.raises(TenonError, match=f"{old.ref} was superseded by {new.ref}"):
        memories.supersede(store, newest, old.ref, NOW + 4)
    memories.supersede(store, new.ref, newest, NOW + 4)
    assert [newest] == live(store, repository)


def test_nothing_supersedes_itself_or_what_is_not_there(store: Store, repository: int) -> None:
    """And nothing changes."""
    ref = write(store, repository, "alone")

    with pytest.raises(TenonError, match=f"{ref} cannot supersede itself"):
        memories.supersede(store, ref, ref, NOW)
    with pytest.raises(TenonError, match="there is no memory 'mnothing'"):
        memories.supersede(store, ref, "mnothing", NOW)
    assert "live" == memories.get(store, ref).status


def test_deeds_are_written_down_without_the_text(store: Store, repository: int) -> None:
    """What was done to which memory, in order."""
    one, two = write(store, repository, "secret plan"), write(store, repository, "other plan")
    memories.promote(store, one, "proved", NOW)
    memories.revise(store, one, "secret plan B", "changed", NOW)
    memories.demote(store, one, "wrong", NOW)
    memories.supersede(store, one, two, NOW)

    assert [("promote", one), ("revise", one), ("demote", one), ("supersede", one)] == store.rows("SELECT what, ref FROM deed ORDER BY id")
    assert "secret" not in repr(store.rows("SELECT * FROM deed"))
