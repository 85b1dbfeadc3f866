"""The cache reads what was sent before, byte for byte, and charges for the rest."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from tests.fakes.models import MODELS
from tests.fakes.prompt_cache import PromptCache, cost_usd
from tests.fakes.test_validation import HOUR, MARK, a, call, result, t, u

OPUS = MODELS["claude-opus-5-5"]
LONG = "word " * 720  # 3600 characters: 1000 tokens and 2 for the block


class Clock:
    """Seconds that pass when told to."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def sums(usage: dict[str, Any]) -> tuple[int, int, int]:
    """Input, read and written tokens."""
    return usage["input_tokens"], usage["cache_read_input_tokens"], usage["cache_creation_input_tokens"]


def session(turns: int) -> dict[str, Any]:
    """A request with that many user turns of 1002 tokens, the last one marked."""
    messages = []
    for number in range(turns):
        messages += [u(LONG), a(LONG)]
    messages = messages[:-1]
    messages[-1] = u(t(LONG, **MARK))
    return {"model": OPUS.name, "system": [t(LONG)], "messages": messages}


def test_an_append_only_session_pays_for_each_turn_once() -> None:
    """Every request reads the one before it and writes the two new messages."""
    cache = PromptCache(Clock())

    assert [(0, 0, 2004), (0, 2004, 2004), (0, 4008, 2004)] == [sums(cache.charge(session(turns), OPUS)) for turns in (1, 2, 3)]


@pytest.mark.parametrize("part", ["system", "messages"])
def test_a_change_at_the_front_loses_everything_behind_it(part: str) -> None:
    """One character in the system prompt or in the first message costs the whole prefix."""
    cache = PromptCache(Clock())
    cache.charge(session(2), OPUS)
    changed = copy.deepcopy(session(3))
    block = changed["system"][0] if part == "system" else changed["messages"][0]["content"][0]
    block["text"] = block["text"].replace("word", "WORD", 1)

    assert (0, 0, 6012) == sums(cache.charge(changed, OPUS))


def test_without_a_marker_nothing_is_kept() -> None:
    """All tokens are plain input."""
    cache = PromptCache(Clock())
    body = {"messages": [u(LONG)]}

    assert [(1002, 0, 0), (1002, 0, 0)] == [sums(cache.charge(body, OPUS)) for _ in range(2)]


def test_a_short_prefix_is_not_cached() -> None:
    """Opus 5.5 keeps nothing below 512 tokens."""
    cache = PromptCache(Clock())
    body = {"messages": [u(t("word " * 300, **MARK))]}

    assert (419, 0, 0) == sums(cache.charge(body, OPUS))


def test_an_entry_ends_five_minutes_after_its_last_use() -> None:
    """A read keeps it alive; a longer pause does not."""
    clock = Clock()
    cache = PromptCache(clock)
    reads = []
    for pause in (0, 200, 200, 301):
        clock.now += pause
        reads.append(sums(cache.charge(session(1), OPUS))[1])

    assert [0, 2004, 2004, 0] == reads


def test_a_marker_finds_an_entry_at_most_twenty_positions_back() -> None:
    """Nineteen blocks between are bridged, twenty are not."""
    first = {"messages": [u(t(LONG, **MARK))]}

    def read_after(blocks: int) -> int:
        cache = PromptCache(Clock())
        cache.charge(first, OPUS)
        more = [t("x")] * (blocks - 1)
        return sums(cache.charge({"messages": [u(t(LONG), *more, t("x", **MARK))]}, OPUS))[1]

    assert (1002, 0) == (read_after(19), read_after(20))


def test_a_run_of_calls_is_one_position() -> None:
    """Thirty parallel calls and their results do not outrun the look-back."""
    cache = PromptCache(Clock())
    cache.charge({"messages": [u(t(LONG, **MARK))]}, OPUS)
    ids = [f"tc_{number}" for number in range(30)]
    later = [u(LONG), a(*map(call, ids)), u(*map(result, ids[:-1]), result(ids[-1], **MARK))]

    assert 1002 == sums(cache.charge({"messages": later}, OPUS))[1]


def test_both_lifetimes_are_billed_apart() -> None:
    """The system prompt for an hour, the turn for five minutes; an hour costs twice the input price."""
    usage = PromptCache(Clock()).charge({"system": [t(LONG, **HOUR)], "messages": [u(t(LONG, **MARK))]}, OPUS)

    assert {"ephemeral_5m_input_tokens": 1002, "ephemeral_1h_input_tokens": 1002} == usage["cache_creation"]
    assert 0.013026 == pytest.approx(cost_usd(usage, OPUS))
