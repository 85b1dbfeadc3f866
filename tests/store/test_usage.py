"""What the API counted: once a message, by session, sub-agents apart, for ninety days."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tenon.digest import capture
from tenon.store import archive, conversations, forget, growth, latency, usage
from tenon.store.db import Store
from tests.fakes.transcripts import BEGAN, Transcript

NOW = BEGAN + 3600.0
DAY = 86400.0


@pytest.fixture
def session(store: Store, repository: int) -> Callable[..., int]:
    """Makes a session; its number."""
    return lambda name="s1", at=NOW: archive.session(store, name, repository=repository, folder="/p", at=at)


def counted(read: int, written: int = 0, given: int = 0, output: int = 1) -> dict[str, int]:
    """A message's usage as the API reports it."""
    return {"input_tokens": given, "cache_creation_input_tokens": written, "cache_read_input_tokens": read, "output_tokens": output}


def line(talk: Transcript, message: str, usage: object, **more: object) -> None:
    """A line of a message of the model with that usage."""
    told = {"id": message, "role": "assistant", "model": "claude-opus-5-5", "content": [{"type": "text", "text": f"about {message}"}], "usage": usage, **more}
    talk.line("assistant", told)


@pytest.fixture
def talk(tmp_path: Path) -> Transcript:
    """A transcript in which something was asked."""
    talk = Transcript(str(tmp_path / "projects" / "s1.jsonl"), folder=str(tmp_path))
    talk.prompt("what is it?")
    return talk


def take(store: Store, talk: Transcript) -> None:
    """Captures the transcript and those of its sub-agents."""
    assert capture.capture(store, talk.path, session_name="s1", folder="", now=NOW, budget_s=60).finished


def test_of_several_lines_of_a_message_the_last_one_counts(store: Store, talk: Transcript) -> None:
    """Each of its blocks has a line, and the first ones are written before everything was counted."""
    line(talk, "msg_a", counted(900, 50, 50, 1))
    line(talk, "msg_a", counted(900, 50, 50, 70))
    take(store, talk)
    line(talk, "msg_a", counted(900, 50, 50, 90))
    take(store, talk)

    found = usage.of_session(store, "s1")
    assert (1, 50, 50, 900, 90, 0.9) == (found.messages, found.input, found.written, found.read, found.output, found.share)


def test_a_transcript_that_is_read_again_counts_once(store: Store, talk: Transcript) -> None:
    """Also as a copy in another session."""
    line(talk, "msg_a", counted(10))
    line(talk, "msg_b", counted(20))
    take(store, talk)
    store.execute("DELETE FROM feed")
    take(store, talk)
    fork = talk.fork(str(Path(talk.path).with_name("s2.jsonl")))
    assert capture.capture(store, fork.path, session_name="s2", folder=talk.folder, now=NOW, budget_s=60).finished

    assert (30, 0) == (usage.of_session(store, "s1").read, usage.of_session(store, "s2").read)


def test_a_copy_that_ends_in_the_middle_of_a_message_changes_nothing(store: Store, session: Callable[..., int]) -> None:
    """What was counted where the message was said holds."""
    usage.note(store, session("s1"), {"m": (NOW, False, (1, 2, 3, 40))}, NOW)
    usage.note(store, session("s2"), {"m": (NOW, False, (1, 2, 3, 4))}, NOW)

    assert 40 == usage.of_session(store, "s1").output


def test_subagents_are_told_apart(store: Store, talk: Transcript) -> None:
    """Their own conversations have their own cache."""
    line(talk, "msg_a", counted(90, 10))
    inner = talk.subagent("a1b2c3d")
    inner.prompt("look")
    line(inner, "msg_b", counted(0, 40))
    take(store, talk)

    [found] = usage.latest(store, 0, 10)
    assert (1, 0.9, 1, 0.0) == (found.own.messages, found.own.share, found.aside.messages, found.aside.share)
    assert 140 == sum([usage.of_session(store, "s1").read, usage.of_session(store, "s1").written])


@pytest.mark.parametrize(
    ("usage_told", "more"),
    [(None, {}), ("many", {}), ({"output_tokens": "9"}, {}), (counted(0, 0, 0, 0), {}), (counted(9), {"model": "<synthetic>"}), (counted(9), {"id": None})],
    ids=["missing", "no object", "no number", "nothing", "Claude Code itself", "no id"],
)
def test_a_line_that_says_nothing_counts_nothing(store: Store, talk: Transcript, usage_told: object, more: dict[str, object]) -> None:
    """And is archived all the same where something was said."""
    line(talk, "msg_a", usage_told, **more)
    take(store, talk)

    assert 0 == usage.of_session(store, "s1").messages
    assert usage.of_session(store, "s1").share is None


def test_an_excluded_folder_is_not_counted(store: Store, talk: Transcript, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither is what was said there kept."""
    line(talk, "msg_a", counted(9))
    monkeypatch.setenv("TENON_ARCHIVE_EXCLUDE", talk.folder)
    capture.capture(store, talk.path, session_name="s1", folder="", now=NOW, budget_s=60)

    assert [] == store.rows("SELECT * FROM usage")


def test_lines_of_an_excluded_folder_in_another_session_are_not_counted(store: Store, talk: Transcript, monkeypatch: pytest.MonkeyPatch) -> None:
    """The others are."""
    monkeypatch.setenv("TENON_ARCHIVE_EXCLUDE", f"{talk.folder}/secret")
    line(talk, "msg_a", counted(9))
    talk.folder += "/secret"
    line(talk, "msg_b", counted(9))
    take(store, talk)

    assert 1 == usage.of_session(store, "s1").messages


def test_numbers_that_cannot_be_are_brought_into_range(store: Store, session: Callable[..., int]) -> None:
    """Nothing is less than nothing, and no number breaks the sums."""
    usage.note(store, session(), {"m": (NOW, False, (-5, 10**30, 3, 4))}, NOW)

    found = usage.of_session(store, "s1")
    assert (0, usage.LARGEST, 3) == (found.input, found.written, found.read)


def test_the_latest_sessions_come_in_order_with_the_way_they_went(store: Store, session: Callable[..., int]) -> None:
    """As many as asked for, those of which nothing is known left out."""
    for number, state in enumerate(("traced", "bypassed", "announced", "")):
        at = NOW - 1000 * number
        usage.note(store, session(f"s{number}", at), {f"m{number}": (at, False, (1, 1, 2, 1))}, NOW)
        if state:
            conversations.begin(store, name=f"s{number}", client="c", folder="/p", repository=None, now=at, state=state)
    session("silent", NOW)

    assert [("s3", ""), ("s2", ""), ("s1", "bypassed"), ("s0", "traced")] == [(one.name, one.state) for one in usage.latest(store, 0, 10)]
    assert ["s0"] == [one.name for one in usage.latest(store, 0, 2)]
    assert ["s1", "s0"] == [one.name for one in usage.latest(store, NOW - 1500, 10)]


def test_what_is_older_than_ninety_days_goes_with_the_day(store: Store, session: Callable[..., int]) -> None:
    """And is not taken in any more."""
    usage.note(store, session(), {"old": (NOW - 89 * DAY, False, (1, 0, 0, 0)), "older": (NOW - 91 * DAY, False, (1, 0, 0, 0))}, NOW)
    assert 1 == usage.of_session(store, "s1").messages
    growth.daily(store, NOW + 2 * DAY)

    assert 0 == usage.of_session(store, "s1").messages


def test_forgetting_a_session_forgets_what_it_took(store: Store, talk: Transcript, session: Callable[..., int]) -> None:
    """Forgetting a turn of it does not."""
    line(talk, "msg_a", counted(9))
    take(store, talk)
    usage.note(store, session("s2"), {"m": (NOW, False, (1, 0, 0, 0))}, NOW)
    forget.forget(store, ["t1"], "wish", NOW)
    assert 1 == usage.of_session(store, "s1").messages
    forget.forget(store, ["s1"], "wish", NOW)

    assert (0, 1) == (usage.of_session(store, "s1").messages, usage.of_session(store, "s2").messages)


def test_a_day_is_noted_once(store: Store, session: Callable[..., int]) -> None:
    """With the size, the live memories and the turns that there are."""
    assert growth.daily(store, NOW)
    assert not growth.daily(store, NOW + 60)
    assert growth.daily(store, NOW + DAY)

    first, second = growth.since(store, NOW)
    assert (int(NOW // DAY), int(NOW // DAY) + 1) == (first.day, second.day)
    assert (0, 0) == (first.memories, first.turns)
    assert first.size_bytes == store.value("PRAGMA page_count") * store.value("PRAGMA page_size")
    assert [second.day] == [day.day for day in growth.since(store, NOW + DAY)]


def test_quantiles_of_the_time_that_requests_were_held_up(store: Store) -> None:
    """To within a twentieth, by the day."""
    for count in range(1, 101):
        latency.note(store, count / 1000, NOW)
    latency.note(store, 0.0, NOW + DAY)
    found = latency.since(store, NOW)

    today = found[int(NOW // DAY)]
    assert 100 == sum(today.values())
    assert latency.quantile(today, 0.5) == pytest.approx(0.050, rel=0.05)
    assert latency.quantile(today, 0.95) == pytest.approx(0.095, rel=0.05)
    assert latency.quantile(today, 1.0) == pytest.approx(0.100, rel=0.05)
    assert 1e-6 == latency.quantile(found[int(NOW // DAY) + 1], 0.5)
    assert latency.quantile({}, 0.5) is None


def test_quantiles_of_times_as_they_are() -> None:
    """None of none."""
    assert (2.0, 3.0, 3.0) == (latency.of([3.0, 1.0, 2.0], 0.5), latency.of([3.0, 1.0, 2.0], 0.95), latency.of([3.0], 0.01))
    assert latency.of([], 0.5) is None


def test_latencies_are_dropped_after_four_hundred_days(store: Store) -> None:
    """The days stay."""
    latency.note(store, 0.01, NOW - 401 * DAY)
    latency.note(store, 0.01, NOW - 399 * DAY)
    growth.daily(store, NOW)

    assert [int(NOW // DAY) - 399] == list(latency.since(store, 0))
