"""What a cue asks for beyond its words: a time, a person, a form of answer."""

from __future__ import annotations

import os
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenon.base.text import words
from tenon.recall import asks

NOW = 1_750_000_000.0  # Sunday, 15 June 2025, 15:06:40 UTC


@pytest.fixture(autouse=True)
def at_greenwich(monkeypatch):
    """The user's midnight is that of UTC."""
    if not hasattr(time, "tzset"):
        pytest.skip("this system cannot set the time zone of a process")
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def window(text: str) -> list[str] | None:
    """The first second and the one after the last, as dates with hours."""
    found = asks.read(text, words(text), NOW).window
    return None if found is None else [time.strftime("%Y-%m-%d %H", time.gmtime(second)) for second in found]


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("what did we do today", "2025-06-15 00", "2025-06-15 15"), ("what broke yesterday?", "2025-06-14 00", "2025-06-15 00"),
        ("what did we decide last week", "2025-06-02 00", "2025-06-09 00"), ("what did we decide this week", "2025-06-09 00", "2025-06-15 15"),
        ("the bug from last month", "2025-05-01 00", "2025-06-01 00"), ("what happened last year", "2024-01-01 00", "2025-01-01 00"),
        ("what did we talk about last Tuesday", "2025-06-10 00", "2025-06-11 00"), ("what was said on Sunday", "2025-06-08 00", "2025-06-09 00"),
        ("in March we chose a queue, which one?", "2025-03-01 00", "2025-04-01 00"), ("what did we do in July", "2024-07-01 00", "2024-08-01 00"),
        ("the decision of 3 May", "2025-05-03 00", "2025-05-04 00"), ("the decision of May 3rd, 2024", "2024-05-03 00", "2024-05-04 00"),
        ("what did we do on 2025-01-31", "2025-01-31 00", "2025-02-01 00"), ("what did we build in 2024", "2024-01-01 00", "2025-01-01 00"),
        ("what did I say three days ago", "2025-06-12 00", "2025-06-13 00"), ("a week ago you found the leak", "2025-06-05 00", "2025-06-12 00"),
        ("everything since March", "2025-03-01 00", "2025-06-15 15"), ("what broke since yesterday", "2025-06-14 00", "2025-06-15 15"),
        ("what did we change since 2024", "2024-01-01 00", "2025-06-15 15"), ("what was decided since last week", "2025-06-02 00", "2025-06-15 15"),
    ],
)  # fmt: skip
def test_a_time_in_the_cue_is_a_window(text, first, last):
    """The window that the words name, from midnight to midnight."""
    assert window(text) == [first, last]


@pytest.mark.parametrize("text", ["you may restart it", "march through the list", "the 1984 error", "how do we deploy", "weekly report", ""])
def test_words_that_only_look_like_a_time_are_none(text):
    """A verb is no month, a number no year."""
    assert window(text) is None


@pytest.mark.parametrize(
    ("text", "dated"),
    [
        ("what did I say three days ago", ["three", "days", "ago"]), ("the decision of May 3rd, 2024", ["may", "3rd", "2024"]), ("what did we do on 2025-01-31", ["2025", "01", "31"]),
        ("it worked yesterday: List.tsx line 14, react 16305 and port 8443", ["yesterday"]), ("how do we deploy on port 8443", []),
    ],
)  # fmt: skip
def test_only_the_words_that_name_the_time_are_taken_as_said_by_what_is_of_it(text, dated):
    """A number of a stack trace is none of them."""
    assert asks.read(text, words(text), NOW).dated == dated


@pytest.mark.parametrize(
    ("text", "by"),
    [
        ("what did you suggest for the cache", "assistant"), ("what did I say about tabs", "user"), ("what did we say", ""), ("did you run the tests", ""),
        ("what have you proposed", "assistant"),
    ],
)  # fmt: skip
def test_who_is_asked_about_is_known(text, by):
    """The user's words, the model's, or anybody's."""
    assert asks.read(text, words(text), NOW).by == by


@pytest.mark.parametrize(
    "text",
    [
        "how do we log people in",
        "what did you suggest for the cache?",
        "where is our staging database",
        "do you remember the port?",
        "as we did last time, please",
    ],
)
def test_a_question_about_us_or_the_past_asks_memory(text):
    """What is done here, what was said or decided, what is remembered."""
    assert asks.read(text, words(text), NOW).memory


@pytest.mark.parametrize(
    "text",
    ["fix the failing test", "find all places where we swallow exceptions", "what does this regular expression match?", "explain async and await to me", ""],
)
def test_a_task_or_a_question_of_the_world_asks_nothing_of_memory(text):
    """Though it may say «we»."""
    assert not asks.read(text, words(text), NOW).memory


def test_when_wants_a_time_and_how_many_a_number():
    """And both are recognised in a text."""
    assert asks.read("When did we move?", words("When did we move?"), NOW).time
    assert asks.read("how many retries are there", words("how many retries are there"), NOW).number
    assert asks.tells_time({"we", "moved", "yesterday"})
    assert asks.tells_time({"in", "2023"})
    assert asks.tells_number({"seven", "retries"})
    assert not asks.tells_number({"some", "retries"})


def test_a_name_is_written_with_a_capital_and_does_not_begin_the_cue():
    """«Who» is none, «Marek's» is Marek."""
    assert asks.read("What was Marek's reason?", words("What was Marek's reason?"), NOW).names == {"marek"}


@given(st.text(max_size=200), st.floats(0, 4e9))
def test_any_text_at_any_time_is_read(text, now):
    """A window, if there is one, ends after it begins."""
    found = asks.read(text, words(text), now).window
    assert found is None or found[0] <= found[1]


@given(
    st.lists(
        st.sampled_from(["last", "this", "week", "month", "march", "may", "on", "monday", "2024", "31", "12", "ago", "days", "a", "since", "today"]), max_size=8
    )
)
def test_any_words_of_time_are_read(said):
    """In whatever order."""
    text = " ".join(said)
    found = asks.read(text, words(text), NOW).window
    assert found is None or found[0] <= found[1] or os.environ["TZ"] != "UTC"
