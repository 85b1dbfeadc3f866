"""The obedient reply finds the user's words among all that Claude Code sends around them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tests.fakes.replies import normal, obey, prompt_of, text
from tests.fakes.test_validation import a, call, result, s, u

REMINDER = "<system-reminder>\nToday is Monday.\n</system-reminder>"


def obeyed(messages: list[dict[str, Any]], **fields: Any) -> list[dict[str, Any]]:
    """The blocks of the obedient reply."""
    blocks: list[dict[str, Any]] = obey(SimpleNamespace(body={"messages": messages, **fields}))["blocks"]
    return blocks


@pytest.mark.parametrize(
    "messages",
    [
        [u("buy milk")],
        [{"role": "user", "content": "buy milk"}],
        [u(REMINDER, "buy milk"), s("environment")],
        [u("buy milk", REMINDER)],
        [u(f"{REMINDER}\nbuy milk")],
        [u("old"), a("ok"), u("buy milk"), s("note"), s("another")],
        [u("old"), a("ok"), u("buy milk"), u(REMINDER)],
    ],
)
def test_the_prompt_is_what_the_user_said_last(messages: list[dict[str, Any]]) -> None:
    """Reminders, system entries and earlier turns are not the prompt."""
    assert "buy milk" == prompt_of({"messages": messages})


def test_a_prompt_is_echoed_up_to_sixty_characters() -> None:
    """No more than that, so that a reply stays on one line."""
    assert [text("heard: " + "x" * 60)] == obeyed([u("x" * 99)])


def test_an_ordered_call_is_made() -> None:
    """The JSON may hold brackets of its own."""
    blocks = obeyed([u('please [[CALL Bash {"command": "[[ -f a ]] && echo {}"}]] now')])

    assert [("Bash", {"command": "[[ -f a ]] && echo {}"})] == [(block["name"], block["input"]) for block in blocks]


def test_results_are_quoted_up_to_two_hundred_characters() -> None:
    """Both notations of a result are read, and the reminder behind it is not."""
    parts = [{"type": "text", "text": "b" * 300}]
    messages = [u("go"), a(call("x"), call("y")), u(result("x", "a"), result("y", parts), REMINDER), s("note")]

    assert [text("result: a\nresult: " + "b" * 200)] == obeyed(messages)


def test_it_thinks_first_when_thinking_is_on() -> None:
    """So that end-to-end tests run with bound conversations."""
    blocks = obeyed([u("hi")], thinking={"type": "adaptive"})

    assert ["thinking", "text"] == [block["type"] for block in blocks]


def test_a_misspelt_option_is_an_error() -> None:
    """A test must not pass because its accident never happened."""
    with pytest.raises(ValueError, match="no such reply option: cuts"):
        normal({"blocks": [], "cuts": 3})
