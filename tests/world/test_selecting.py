"""What a small model chooses for the next prompt: from what recall found alone, paid from the digest's cap, and nothing when its answer is none."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tenon.base import settings
from tenon.store import selections, spending
from tenon.store.db import Store
from tenon.world import runners, selecting
from tests.digest.minds import Mind, spoken

NAMES = ("Graz", "Linz", "Wels", "Steyr", "Enns", "Krems")


@pytest.fixture()
def mind(store: Store) -> Mind:
    """Six memories on one subject, and an exchange about it."""
    mind = Mind(store)
    for name in NAMES:
        mind.write(f"The pump of {name} has a valve of its own.")
    mind.say("Which pump has which valve?", session="now")
    mind.say("I shall look at each pump and its valve.", role="assistant", session="now")
    return mind


def chosen(mind: Mind, monkeypatch: pytest.MonkeyPatch, answer: Any) -> tuple[list[str], list[Any]]:
    """What was chosen by a model that answers so, and what it was asked."""
    asked: list[Any] = []

    def ask(runner: str, model: str, question: Any, settings: Any, *, timeout_s: float) -> Any:
        asked.append(question)
        if isinstance(answer, BaseException):
            raise answer
        return spoken(answer(question.prompt) if callable(answer) else answer)

    monkeypatch.setattr(runners, "ask", ask)
    return selecting.choose(mind.store, settings.load(), "now", mind.at), asked


def listed(prompt: str) -> list[str]:
    """The ids that a question offers."""
    return [word[1:-1] for word in prompt.split() if word.startswith("[m") and word.endswith("]")]


def test_up_to_three_of_what_was_offered_are_kept_for_the_next_prompt(mind: Mind, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the model's order, each once."""
    found, asked = chosen(mind, monkeypatch, lambda prompt: json.dumps({"refs": [*listed(prompt)[3:1:-1], *listed(prompt)[:4]]}))

    offered = listed(asked[0].prompt)
    assert [offered[3], offered[2], offered[0]] == found == selections.of(mind.store, "now")
    assert "Which pump has which valve?" in asked[0].prompt
    assert [("selection", 1)] == mind.store.rows("SELECT purpose, reported FROM spending")


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "none",
        "{}",
        '{"refs": "m1"}',
        '{"refs": [1]}',
        '{"refs": ["mnotoffere"]}',
        '{"refs": [{"ref": "m1"}]}',
        lambda prompt: json.dumps({"refs": listed(prompt)})[:-3],
    ],
)
def test_an_answer_that_is_none_chooses_nothing(mind: Mind, monkeypatch: pytest.MonkeyPatch, answer: str | Callable[[str], str]) -> None:
    """And what was chosen before is gone."""
    selections.put(mind.store, "now", ["mold000000"], mind.at)

    assert [] == chosen(mind, monkeypatch, answer)[0] == selections.of(mind.store, "now")


def test_when_the_cap_is_reached_nobody_is_asked(mind: Mind, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is the digest's own."""
    row = spending.reserve(mind.store, purpose="consolidation", runner="api", model="haiku", tokens=1, cap=10, now=mind.at)
    spending.report(mind.store, row or 0, model="haiku", input_tokens=199_990, output_tokens=0)

    assert ([], []) == chosen(mind, monkeypatch, '{"refs": []}')


def test_a_failure_is_raised_and_its_cost_counted(mind: Mind, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever runs it notes it for doctor."""
    with pytest.raises(runners.Failed):
        chosen(mind, monkeypatch, runners.Failed("refused", "no", spoken("", input_tokens=700, output_tokens=9)))
    assert 709 == spending.today(mind.store, mind.at).tokens


def test_a_session_without_a_prompt_or_with_few_memories_asks_nobody(mind: Mind, monkeypatch: pytest.MonkeyPatch) -> None:
    """There is nothing to choose from."""
    monkeypatch.setattr(runners, "ask", lambda *_, **__: pytest.fail("somebody was asked"))
    assert [] == selecting.choose(mind.store, settings.load(), "unknown", mind.at)
    mind.say("Xylograph?", session="other")
    assert [] == selecting.choose(mind.store, settings.load(), "other", mind.at)
