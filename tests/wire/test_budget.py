"""How much is sent, how large a model's window is, and what leaves when it is too much."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tenon.wire import budget
from tenon.wire.body import parse
from tests.wire.judge import verdict

PICTURE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="}}  # fmt: skip
THOUGHT = {"type": "thinking", "thinking": "", "signature": "sig"}
MARK = {"type": "ephemeral"}


def m(role: str, content: Any, **more: Any) -> bytes:
    """A message as a client prints it."""
    return json.dumps({"role": role, "content": content, **more}, ensure_ascii=False, separators=(",", ":")).encode()


def t(words: str, **more: Any) -> dict[str, Any]:
    """A block of text."""
    return {"type": "text", "text": words, **more}


def call(id: str) -> dict[str, Any]:
    """A call."""
    return {"type": "tool_use", "id": id, "name": "Bash", "input": {"command": "ls"}}


def result(id: str, content: Any = "done") -> dict[str, Any]:
    """Its result."""
    return {"type": "tool_result", "tool_use_id": id, "content": content}


def exchange(number: int, words: str = "some words") -> list[bytes]:
    """A prompt, a call, its result and an answer."""
    return [
        m("user", f"prompt {number} {words}"),
        m("system", "note"),
        m("assistant", [THOUGHT, call(f"toolu_{number}")]),
        m("user", [result(f"toolu_{number}")]),
        m("assistant", [THOUGHT, t(f"answer {number}")]),
    ]


def prompts(kept: list[bytes]) -> list[str]:
    """The beginnings of the prompts in what stayed."""
    said = [json.loads(message) for message in kept]
    return [message["content"][:8] for message in said if message["role"] == "user" and isinstance(message["content"], str)]


# window


@pytest.mark.parametrize(
    ("model", "tokens"),
    [
        ("claude-opus-5-5", 1_000_000),
        ("claude-opus-4-8", 1_000_000),
        ("claude-opus-4-6-20260205", 1_000_000),
        ("claude-opus-4-5-20251101", 200_000),
        ("claude-opus-4-20250514", 200_000),
        ("claude-sonnet-4-6", 1_000_000),
        ("claude-sonnet-4-5", 200_000),
        ("claude-sonnet-5", 1_000_000),
        ("claude-haiku-5-5", 1_000_000),
        ("claude-haiku-4-5-20251001", 200_000),
        ("claude-fable-5-2", 1_000_000),
        ("claude-mythos-preview", 1_000_000),
        ("us.anthropic.claude-opus-4-8-v1:0", 1_000_000),
        ("claude-3-5-sonnet-20241022", 200_000),
        ("some-other-model", 200_000),
        ("", 200_000),
    ],
)
def test_the_window_goes_by_the_name_of_the_model(model: str, tokens: int) -> None:
    """Unknown models have the small one."""
    assert tokens == budget.window(model)


# weight and tokens


def test_the_data_of_an_image_is_not_text() -> None:
    """However large it is; an image counts as one."""
    small = {"role": "user", "content": [PICTURE, t("look")]}
    large = {"role": "user", "content": [{**PICTURE, "source": {**PICTURE["source"], "data": "A" * 5_000_000}}, t("look")]}
    assert budget.weight(small) == budget.weight(large)
    assert 1 == budget.weight(large)[1]
    assert budget.weight(large)[0] < 100


def test_images_in_results_and_pages_of_documents_count() -> None:
    """A result's images are images; a document weighs by its size, one made of text by its text."""
    inside = {"role": "user", "content": [result("x", [PICTURE, PICTURE])]}
    assert 2 == budget.weight(inside)[1]
    pdf = {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "A" * 600_000}}
    assert 11 == budget.weight(pdf)[1]
    plain = {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "words " * 1000}}
    assert budget.weight(plain)[1] == 0
    assert budget.weight(plain)[0] > 6000


def misread(words: str) -> bool:
    """Whether a text looks like UTF-8 that was read as Latin-1, as «Ã©» does; it then weighs as what it looks like."""
    try:
        return not words.isascii() and bool(words.encode("latin-1").decode("utf-8"))
    except UnicodeError:
        return False


@given(st.text(st.characters(codec="utf-8"), min_size=1, max_size=50).filter(lambda words: not misread(words)))
def test_a_text_weighs_its_bytes_whether_its_letters_were_read_or_not(words: str) -> None:
    """`Message.value` and the decoded message weigh the same."""
    raw = m("user", words)
    value = parse(b'{"messages":[' + raw + b"]}").messages[0].value
    assert budget.weight(json.loads(raw)) == budget.weight(value)
    size = len(words.encode())
    assert size <= budget.weight(words)[0] <= size + 2


def test_half_a_surrogate_pair_weighs_something() -> None:
    """It can stand in a JSON text."""
    assert (5, 0) == budget.weight("\ud800")


def test_everything_else_weighs_something() -> None:
    """Numbers, null, keys."""
    assert budget.weight({"key": [1, 2.5, None, True]})[0] >= 4 * 4 + 3
    assert (4, 0) == budget.weight(None)


def test_tokens_are_rounded_up_and_images_come_on_top() -> None:
    """At a rate that nobody knows yet, at the general one."""
    assert 34 == budget.tokens(100, 0, 3.0)
    assert 34 + 3200 == budget.tokens(100, 2, 3.0)
    assert budget.tokens(100, 0, budget.PER_TOKEN) == budget.tokens(100, 0, 0.0)
    assert 0 == budget.tokens(0, 0, 3.0)


# cut


def test_the_newest_exchanges_stay_and_a_line_says_how_many_left() -> None:
    """Thinking and markers leave with the old ones."""
    messages = [*exchange(1), *exchange(2), *exchange(3), m("user", [t("marked", cache_control=MARK)]), m("assistant", [t("yes")])]
    size = budget.weight([json.loads(message) for message in messages[10:]])[0] + 150
    cut = budget.cut(messages, budget.tokens(size, 0, 3.0), 3.0)
    assert 2 == cut.left_out
    assert {"role": "user", "content": [t("[2 earlier exchanges left out here to stay within the context budget; Tenon's archive has them.]")]} == json.loads(
        cut.kept[0]
    )
    assert ["prompt 3"] == prompts(cut.kept)
    assert m("user", [t("marked")]) == cut.kept[-2]
    assert not any(b"thinking" in message or b"cache_control" in message for message in cut.kept)
    assert verdict(cut.kept, then="go on") == ""


def test_what_fits_stays_whole_and_without_a_line() -> None:
    """Only thinking leaves."""
    messages = [*exchange(1), *exchange(2)]
    cut = budget.cut(messages, 100_000, 3.0)
    assert 0 == cut.left_out
    assert [json.loads(message)["role"] for message in messages] == [json.loads(message)["role"] for message in cut.kept]
    assert messages[0] == cut.kept[0]
    assert verdict(cut.kept, then="go on") == ""


def test_the_newest_exchange_stays_however_large_it_is() -> None:
    """There would be nothing to answer to otherwise."""
    cut = budget.cut([*exchange(1), *exchange(2, "x" * 10_000)], 100, 3.0)
    assert ["prompt 2"] == prompts(cut.kept)
    assert 1 == cut.left_out
    assert cut.kept[0].startswith(b'{"role":"user","content":[{"type":"text","text":"[1 earlier exchange left out here')


def test_a_second_cut_counts_on() -> None:
    """The line of the first one says how many left before."""
    first = budget.cut([*exchange(1), *exchange(2)], 1, 3.0)
    second = budget.cut([*first.kept, *exchange(3), *exchange(4)], 1, 3.0)
    assert 2 == second.left_out
    assert b"[3 earlier exchanges left out" in second.kept[0]
    assert ["prompt 4"] == prompts(second.kept)
    whole = budget.cut(first.kept, 100_000, 3.0)
    assert first.kept == whole.kept


def test_results_with_words_behind_them_begin_no_exchange() -> None:
    """Their call would be gone; a prompt typed behind results does begin one."""
    steered = [m("user", "start"), m("assistant", [call("c1")]), m("user", [result("c1"), t("and this")]), m("assistant", [t("ok")])]
    cut = budget.cut([*exchange(1), *steered], 1, 3.0)
    assert [b'{"role":"user","content":"start"}'] == cut.kept[1:2]
    behind = [m("user", "start"), m("assistant", [call("c1")]), m("user", [result("c1")]), m("user", "typed"), m("assistant", [t("ok")])]
    assert [m("user", "typed"), m("assistant", [t("ok")])] == budget.cut(behind, 1, 3.0).kept[1:]


def test_what_has_no_beginning_leaves() -> None:
    """A result or an answer cannot come first."""
    headless = [m("user", [result("gone")]), m("assistant", [t("so")]), *exchange(1)]
    cut = budget.cut(headless, 100_000, 3.0)
    assert 1 == cut.left_out
    assert ["prompt 1"] == prompts(cut.kept)
    assert [] == budget.cut(headless[:2], 100_000, 3.0).kept
    assert [] == budget.cut([], 100_000, 3.0).kept


def test_an_answer_of_thinking_only_leaves_a_word_behind() -> None:
    """A system entry needs an answer behind it."""
    messages = [m("user", "one"), m("system", "note"), m("assistant", [THOUGHT]), m("user", "two"), m("assistant", [t("yes")])]
    cut = budget.cut(messages, 100_000, 3.0)
    assert m("assistant", [t("(No answer was kept.)")]) == cut.kept[2]
    assert verdict(cut.kept, then="go on") == ""


def test_old_images_become_a_line() -> None:
    """The newest eight stay, in results too."""
    messages = [m("user", [PICTURE, t("first")]), m("assistant", [call("c")]), m("user", [result("c", [PICTURE] * 6)]), m("assistant", [t("ok")])]
    messages += [m("user", [PICTURE, PICTURE, PICTURE, t("second")]), m("assistant", [t("ok")])]
    cut = budget.cut(messages, 1_000_000, 3.0)
    assert 8 == cut.images
    whole = b"".join(cut.kept)
    assert 8 == whole.count(b"iVBOR")
    assert 2 == whole.count(b"[an image stood here; it was left out]")
    assert [t("[an image stood here; it was left out]"), t("first")] == json.loads(cut.kept[0])["content"]
    assert "image" == json.loads(cut.kept[2])["content"][0]["content"][1]["type"]
    assert verdict(cut.kept, then="go on") == ""


@st.composite
def conversations(draw: Any) -> list[bytes]:
    """Conversations that the API takes, of every shape that exchanges have."""
    messages: list[bytes] = []
    number = 0
    for _ in range(draw(st.integers(1, 6))):
        messages.append(m("user", draw(st.sampled_from(["hi", [PICTURE, t("look")], [t("marked", cache_control=MARK)], "long " * 200]))))
        if draw(st.booleans()):
            messages.append(m("user", "and another"))
        if draw(st.booleans()):
            messages.append(m("system", draw(st.sampled_from(["note", [t("note")]]))))
            if draw(st.booleans()):
                messages.append(m("system", [], output_config={"effort": "low"}))
            messages.append(m("assistant", [THOUGHT] if draw(st.booleans()) else [THOUGHT, t("so")]))
        for _ in range(draw(st.integers(0, 3))):
            calls = [call(f"c{number + at}") for at in range(draw(st.integers(1, 3)))]
            number += len(calls)
            messages.append(m("assistant", [THOUGHT, *calls] if draw(st.booleans()) else calls))
            given_back = [result(each["id"], draw(st.sampled_from(["done", [t("x"), PICTURE], "y" * 500]))) for each in calls]
            messages.append(m("user", [*given_back, t("more")] if draw(st.booleans()) else given_back))
        if draw(st.booleans()):
            messages.append(m("assistant", [t("answer")]))
    return messages


@given(conversations(), st.integers(0, 4000))
def test_what_stays_is_a_conversation_within_the_bound(messages: list[bytes], keep_tokens: int) -> None:
    """Pairs whole, a user message first, never above the bound unless the newest exchange alone is; the same every time."""
    assume(sum(b"cache_control" in message for message in messages) <= 4)  # no client sends more
    assert verdict(messages, then="go on") == ""
    cut = budget.cut(messages, keep_tokens, 3.0)
    assert verdict(cut.kept, then="go on") == ""
    assert cut.images <= 8
    assert not any(b'"thinking"' in message or b"cache_control" in message for message in cut.kept)
    decoded = [json.loads(message) for message in cut.kept]
    size, images = budget.weight(decoded)
    assert images == cut.images
    if budget.tokens(size, images, 3.0) > keep_tokens:
        newest = budget.cut(messages, 0, 3.0)
        assert newest.kept == cut.kept
    assert cut.kept == budget.cut(messages, keep_tokens, 3.0).kept
