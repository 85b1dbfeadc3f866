"""Past sessions as messages: what the API takes again, what becomes a line, what stays within the budget."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tenon.store.exchanges import Session, Turn
from tenon.wire import budget, trace
from tests.wire.judge import verdict
from tests.wire.printing import letters

NOON = 1_796_040_000.0  # 2026-11-30 12:00 UTC
DAY = 86_400.0
DATA = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
PICTURE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": DATA}}
THOUGHT = {"type": "thinking", "thinking": "hm", "signature": "sig"}
KEYS = {"text": {"type", "text"}, "image": {"type", "source"}, "tool_use": {"type", "id", "name", "input"}}

Exchange = tuple[Session, list[Turn]]


def session(number: int = 1, folder: str = "/home/u/api", branch: str = "main", started: float = NOON - DAY) -> Session:
    """A session."""
    return Session((number, f"s{number}", 1, folder, branch, "claude-code", started, NOON))


def turn(number: int, role: str, kind: str, *content: Any, thread: str = "", at: float = NOON - DAY) -> Turn:
    """A row of the archive."""
    blocks = [t(block) if isinstance(block, str) else block for block in content]
    return Turn((number, None, 1, 1, thread, "msg", role, kind, "user", at, 0, json.dumps(blocks), None))


def t(words: str, **more: Any) -> dict[str, Any]:
    """A block of text."""
    return {"type": "text", "text": words, **more}


def call(id: str = "toolu_1", name: str = "Bash", **given_in: Any) -> dict[str, Any]:
    """A call."""
    return {"type": "tool_use", "id": id, "name": name, "input": given_in}


def result(id: str = "toolu_1", content: Any = "done", **more: Any) -> dict[str, Any]:
    """Its result."""
    return {"type": "tool_result", "tool_use_id": id, "content": content, **more}


def said(number: int, prompt: Any = "a prompt", answer: str = "an answer") -> list[Turn]:
    """A prompt and its answer."""
    return [turn(number, "user", "prompt", prompt), turn(number + 1, "assistant", "reply", answer)]


def compose(*past: Exchange, budget_tokens: int = 60_000, result_chars: int = 4000, **more: Any) -> trace.Trace:
    """The trace, which the API must take in front of a prompt."""
    made = trace.compose(past, budget_tokens=budget_tokens, result_chars=result_chars, **more)
    if made.messages:
        assert verdict(made.messages, then="a new prompt") == ""
    return made


def messages(*past: Exchange, **more: Any) -> list[dict[str, Any]]:
    """The messages of a trace."""
    return [json.loads(message) for message in compose(*past, **more).messages]


def contents(*turns: Turn, **more: Any) -> list[Any]:
    """The content of the messages of one exchange, without the line that names the session."""
    found = messages((session(), list(turns)), **more)
    assert found[0]["content"].pop(0)["text"].startswith("— session of ")
    return [message["content"] for message in found]


# shape


def test_a_session_is_named_in_front_of_its_first_exchange() -> None:
    """Oldest first; day, folder and branch."""
    first, second = session(1), session(2, folder=r"C:\Users\u\web", branch="", started=NOON)
    found = messages((second, said(7, "three", "3")), (first, said(4, "two", "2")), (first, said(1, "one", "1")))
    assert [
        [t("— session of 2026-11-29 in api (main) —"), t("one")],
        [t("1")],
        [t("two")],
        [t("2")],
        [t("— session of 2026-11-30 in web, from 2026-11-29 on —"), t("three")],
        [t("3")],
    ] == [message["content"] for message in found]
    assert ["user", "assistant"] * 3 == [message["role"] for message in found]


def test_what_a_trace_says_of_itself() -> None:
    """Tokens by the general rate, exchanges, the time of the oldest one."""
    made = compose((session(), said(3)), (session(), said(1)))
    assert (2, 0, NOON - DAY, 0) == (made.exchanges, made.left_out, made.oldest, made.images)
    size, images = budget.weight([json.loads(message) for message in made.messages])
    assert 0 <= made.tokens - budget.tokens(size, images, budget.PER_TOKEN) <= 4
    empty = compose()
    assert ([], 0, 0, 0, 0, 0) == (empty.messages, empty.tokens, empty.images, empty.exchanges, empty.left_out, empty.oldest)


def test_a_whole_session_in_one_piece_is_taken_apart() -> None:
    """Each prompt begins an exchange."""
    made = compose((session(), [*said(1, "one"), *said(3, "two")]), (session(2), said(9)))
    assert 3 == made.exchanges
    assert NOON - DAY == made.oldest


def test_calls_and_results_stay_pairs() -> None:
    """Two calls in two rows, their results in two more, and words behind a result."""
    found = contents(
        turn(1, "user", "prompt", "do it"),
        turn(2, "assistant", "thinking", THOUGHT),
        turn(3, "assistant", "reply", "I look"),
        turn(4, "assistant", "call", call("toolu_a", command="ls")),
        turn(5, "assistant", "call", call("toolu_b", name="Read")),
        turn(6, "user", "result", result("toolu_b", [t("b")], is_error=True)),
        turn(7, "user", "result", result("toolu_a", "a"), "Tool loaded."),
        turn(8, "assistant", "reply", "done  \n"),
    )
    assert [
        [t("do it")],
        [t("I look"), call("toolu_a", command="ls"), call("toolu_b", name="Read")],
        [result("toolu_a", "a"), result("toolu_b", "b", is_error=True), t("Tool loaded.")],
        [t("done")],
    ] == found


def test_calls_made_one_after_the_other_stay_so() -> None:
    """Rows of one answer with results between them."""
    found = contents(
        turn(1, "user", "prompt", "x"),
        turn(2, "assistant", "call", call("a")),
        turn(3, "user", "result", result("a")),
        turn(4, "assistant", "call", call("b")),
        turn(5, "user", "result", result("b")),
        turn(6, "assistant", "reply", "y"),
    )
    assert [[t("x")], [call("a")], [result("a")], [call("b")], [result("b")], [t("y")]] == found


def test_an_interrupted_call_says_that_there_is_no_result() -> None:
    """Once, as an error; and the exchange has an answer all the same."""
    found = contents(turn(1, "user", "prompt", "x"), turn(2, "assistant", "call", call("a")), turn(3, "user", "other", "[Request interrupted by user]"))
    assert [
        [t("x")],
        [call("a")],
        [result("a", "(No result was kept.)", is_error=True), t("[Request interrupted by user]")],
        [t("(No answer was kept.)")],
    ] == found


def test_forks_that_share_ids_get_their_own() -> None:
    """Also where the new conversation has one of them; ids of other characters are made fit."""
    rows = [turn(1, "user", "prompt", "x"), turn(2, "assistant", "call", call("toolu_1")), turn(3, "user", "result", result("toolu_1", "r"))]
    odd = [turn(4, "user", "prompt", "y"), turn(5, "assistant", "call", call("a b/ü")), turn(6, "user", "result", result("a b/ü", "s"))]
    made = messages((session(2), rows), (session(1), rows), (session(1), odd), used_ids={"toolu_1_2"})
    ids = [block["id"] for message in made for block in message["content"] if block["type"] == "tool_use"]
    assert ["a_b__", "toolu_1", "toolu_1_3"] == ids
    assert ids == [block["tool_use_id"] for message in made for block in message["content"] if block["type"] == "tool_result"]


def test_the_same_id_twice_in_one_exchange() -> None:
    """Each call has its own result, in order; a third result is stray."""
    found = contents(
        turn(1, "user", "prompt", "x"),
        turn(2, "assistant", "call", call("a"), call("a"), call("")),
        turn(3, "user", "result", result("a", "1"), result("a", "2"), result("a", "3"), result("gone", "4")),
        turn(4, "assistant", "reply", "y"),
    )
    assert ["a", "a_2", "call"] == [block["id"] for block in found[1]]
    stray = t("[the result of a call that was not kept was left out]")
    assert [result("a", "1"), result("a_2", "2"), result("call", "(No result was kept.)", is_error=True), stray, stray] == found[2]


def test_a_part_of_an_exchange_gets_a_prompt() -> None:
    """A fork in the middle of one, or a prompt that was forgotten."""
    assert [[t("(No prompt was kept.)")], [t("so")]] == contents(turn(2, "assistant", "reply", "so"))
    forgotten = turn(1, "user", "prompt")
    assert [[t("(No prompt was kept.)")], [t("so")]] == contents(forgotten, turn(2, "assistant", "reply", "so"))
    assert [] == compose((session(), [forgotten, turn(2, "assistant", "reply")])).messages


def test_sub_agents_and_thinking_never_come() -> None:
    """Nor what is blank."""
    found = contents(
        turn(1, "user", "prompt", "x", " \n", ""),
        turn(2, "assistant", "reply", "of a sub-agent", thread="a1"),
        turn(3, "assistant", "thinking", THOUGHT, {"type": "redacted_thinking", "data": "x"}),
        turn(4, "assistant", "reply", "", THOUGHT, "y"),
    )
    assert [[t("x")], [t("y")]] == found
    assert [] == compose((session(), [turn(1, "user", "prompt", "x", thread="a1")])).messages
    assert [] == compose((session(), [turn(1, "user", "prompt", "  "), turn(2, "assistant", "thinking", THOUGHT)])).messages


# blocks


def test_what_the_api_would_not_take_again_becomes_a_line() -> None:
    """References to tools, server tools, documents, kinds that nobody knows."""
    found = contents(
        turn(1, "user", "prompt", "x", {"type": "document", "title": "plan.pdf", "source": {"type": "base64", "data": "A" * 90_000}}),
        turn(2, "assistant", "call", {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "q"}}),
        turn(3, "assistant", "result", {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}),
        turn(4, "assistant", "call", call("a", name="ToolSearch")),
        turn(5, "user", "result", result("a", [{"type": "tool_reference", "tool_name": "mcp__x__y"}, {"type": "search_result", "title": "T"}])),
        turn(6, "user", "other", {"type": "hologram"}, {"no": "type"}),
        turn(7, "assistant", "reply", t("y", citations=[{"type": "char_location"}])),
    )
    assert [
        [t("x"), t("[document plan.pdf: left out here]")],
        [t("[server tool use web_search: left out here]"), t("[web search tool result: left out here]"), call("a", name="ToolSearch")],
        [
            result("a", "[the tool mcp__x__y was loaded]\n[search result T: left out here]"),
            t("[hologram: left out here]"),
            t("[unknown: left out here]"),
        ],
        [t("y")],
    ] == found


def test_results_of_tenons_own_tools_say_that_they_are_not_kept_twice() -> None:
    """The archive has a note in their place, which is no block of the API's."""
    rows = [turn(1, "user", "prompt", "x"), turn(2, "assistant", "call", call("a", name="mcp__plugin_tenon_memory__memory_recall"))]
    rows.append(turn(3, "user", "other", result("a", [{"type": "note", "text": "[recalled memory, not kept twice]"}])))
    assert [result("a", "[recalled memory, not kept twice]")] == contents(*rows)[2]


def test_what_tenon_put_in_front_of_the_model_never_appears() -> None:
    """In prompts, answers, results and inputs; also blocks inside of blocks. What was only typed stays."""
    ours = "<tenon-memory>\nsecret\n</tenon-memory>"
    found = contents(
        turn(1, "user", "prompt", f"ask {ours} this", ours),
        turn(2, "assistant", "call", call("a", text=ours + "x", deep=[{"k": ours}])),
        turn(3, "user", "result", result("a", f"r{ours}")),
        turn(4, "assistant", "reply", f"<tenon-<tenon-memory></tenon-memory>memory>{ours}secret</tenon-memory>!", "<tenon-memory> is a tag"),
    )
    assert [
        [t("ask  this")],
        [call("a", text="x", deep=[{"k": ""}])],
        [result("a", "r")],
        [t("!"), t("<tenon-memory> is a tag")],
    ] == found
    nested = "<tenon-memory>" * 5 + "</tenon-memory>" * 5
    for _ in range(8):
        nested = f"<tenon-{nested}memory>x</tenon-memory>"
    assert "<tenon-memory>" not in json.dumps(contents(turn(1, "user", "prompt", nested + "y")))


def test_long_results_and_inputs_are_told_by_head_and_tail() -> None:
    """With the way to the rest; a megabyte is no trouble."""
    long = "head" + "x" * 1_000_000 + "tail"
    found = contents(
        turn(1, "user", "prompt", "x"),
        turn(2, "assistant", "call", call("a", content=long)),
        turn(3, "user", "result", result("a", [t(long), PICTURE])),
        turn(4, "assistant", "reply", "y"),
        result_chars=90,
    )
    shortened = found[2][0]["content"][0]["text"]
    assert "head" + "x" * 56 == shortened[:60]
    assert "x" * 26 + "tail" == shortened[-30:]
    assert "\n[… 999918 characters left out; archive id t3: memory_archive, action turn, everywhere true, shows all …]\n" == shortened[60:-30]
    assert PICTURE == found[2][0]["content"][1]
    assert "999918 characters left out; archive id t2:" in found[1][0]["input"]["content"]


def test_images_are_the_newest_few() -> None:
    """In results too; the others are a line, and so is what is no image that can be sent again."""
    url = {"type": "image", "source": {"type": "url", "url": "https://x/y.png"}}
    old = [turn(1, "user", "prompt", PICTURE, "old"), turn(2, "assistant", "reply", "y")]
    new = [turn(3, "user", "prompt", PICTURE, "new", url), turn(4, "assistant", "call", call("a"))]
    new += [turn(5, "user", "result", result("a", [PICTURE, PICTURE, t("three")])), turn(6, "assistant", "reply", "y")]
    line = t("[an image stood here; it was left out]")
    found = messages((session(), new), (session(), old), images=2)
    assert [line, t("old")] == found[0]["content"][1:]
    assert [line, t("new"), line] == found[2]["content"]
    assert [t("three"), PICTURE, PICTURE] == found[4]["content"][0]["content"]
    made = compose((session(), new), (session(), old), images=4)
    assert 4 == made.images
    assert made.tokens > 4 * budget.IMAGE_TOKENS
    assert b"iVBOR" not in b"".join(compose((session(), new), images=0).messages)


def test_images_of_many_megabytes_leave_too() -> None:
    """A request has a bound, and the conversation its own images."""
    huge = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": DATA[:60] + "A" * 5_000_000}}
    made = compose((session(), [turn(1, "user", "prompt", huge, huge, "look"), turn(2, "assistant", "reply", "y")]))
    assert 1 == made.images
    assert sum(map(len, made.messages)) < 6_000_000


def test_odd_letters_are_kept_and_impossible_ones_are_not() -> None:
    """Half a surrogate pair and NUL cannot be sent."""
    words = "\u202eé日🙂\ufeff\ud800\0 end"
    assert [[t("\u202eé日🙂\ufeff? end")], [t("ok")]] == contents(turn(1, "user", "prompt", words), turn(2, "assistant", "reply", "ok"))


# budget


def test_only_whole_exchanges_that_fit_come_and_reading_ends_with_the_first_that_does_not() -> None:
    """Nothing is asked for beyond."""
    asked: list[int] = []

    def past() -> Iterator[Exchange]:
        for number in range(100, 0, -2):
            asked.append(number)
            yield session(), said(number, "p" * 300, "a" * 300)

    made = trace.compose(past(), budget_tokens=1000, result_chars=4000)
    assert 4 == made.exchanges
    assert [100, 98, 96, 94, 92] == asked
    assert (1, NOON - DAY) == (made.left_out, made.oldest)
    assert made.tokens <= 1000


def test_an_exchange_that_would_fill_the_trace_alone_is_told_shorter() -> None:
    """First its results, then only prompt and last answer."""
    rows = [turn(1, "user", "prompt", "do a lot")]
    for number in range(10):
        rows += [turn(2 + 2 * number, "assistant", "call", call(f"c{number}")), turn(3 + 2 * number, "user", "result", result(f"c{number}", "r" * 4000))]
    rows.append(turn(99, "assistant", "reply", "done"))
    whole, brief, bare = (compose((session(), rows), budget_tokens=tokens) for tokens in (60_000, 6_000, 2_000))
    assert 22 == len(whole.messages) == len(brief.messages)
    assert "r" * 4000 in whole.messages[2].decode()
    assert "3600 characters left out; archive id t3:" in brief.messages[2].decode()
    assert [
        [t("— session of 2026-11-29 in api (main) —"), t("do a lot")],
        [t("[10 tool calls of this exchange left out; archive id t1: memory_archive, action exchange, everywhere true, shows them]"), t("done")],
    ] == [json.loads(message)["content"] for message in bare.messages]
    tiny = compose((session(), rows), budget_tokens=20)
    assert ([], 1) == (tiny.messages, tiny.left_out)


def test_a_pasted_book_does_not_take_the_place_of_everything() -> None:
    """Its head and tail say what it was."""
    made = compose((session(), said(3, "book " * 100_000)), (session(), said(1)), budget_tokens=10_000)
    assert 2 == made.exchanges
    assert b"characters left out; archive id t3" in made.messages[2]


# whatever the archive holds

ids = st.sampled_from(["toolu_1", "toolu_2", "toolu_1_2", "a b", "", "ü"])
words = st.one_of(st.sampled_from(["", " \n", "words", "x" * 3000, "<tenon-memory>m</tenon-memory>"]), st.text(letters, max_size=12))
texts = words.map(t)
inner = st.one_of(texts, st.just(PICTURE), st.just({"type": "tool_reference", "tool_name": "T"}), st.just({"type": "note", "text": "n"}), st.just("raw"))
givens = st.dictionaries(st.text(letters, max_size=3), st.one_of(words, st.floats(), st.none(), st.lists(words, max_size=2)), max_size=2)
calls = st.builds(lambda own, name, given_in: {"type": "tool_use", "id": own, "name": name, "input": given_in}, ids, words, st.one_of(givens, st.none()))
answers = st.builds(lambda own, content, bad: result(own, content, is_error=bad), ids, st.one_of(words, st.none(), st.lists(inner, max_size=3)), st.booleans())
odd = st.sampled_from(
    [
        THOUGHT, PICTURE, {"type": "redacted_thinking", "data": "x"}, {"type": "server_tool_use", "id": "s", "name": "w", "input": {}}, {"type": "web_search_tool_result"},
        {"type": "document"}, {"type": "image", "source": "none"}, {"type": "image"}, {"type": 7}, {}, {"type": "text"}, {"type": "text", "text": None}, {"type": "tool_result"},
        {"type": "tool_use"}, "raw", 7, None, [],
    ]
)  # fmt: skip
ROWS = st.tuples(
    st.sampled_from(["user", "assistant"]),
    st.sampled_from(["prompt", "reply", "thinking", "call", "result", "other"]),
    st.lists(st.one_of(texts, calls, answers, odd), max_size=4),
    st.sampled_from(["", "", "", "a1"]),
)


@st.composite
def archives(draw: Any) -> list[Exchange]:
    """Any rows in any order, in sessions of any name."""
    past: list[Exchange] = []
    number = 1
    for _ in range(draw(st.integers(0, 5))):
        rows: list[Turn] = []
        for role, kind, content, thread in draw(st.lists(ROWS, max_size=6)):
            rows.append(turn(number, "user" if kind == "prompt" else role, kind, *content, thread=thread))
            number += 1
        folder = draw(st.sampled_from(["/home/u/api", "", "C:\\x", "/", "a\nb\ud800"]))
        past.append((session(draw(st.integers(1, 3)), folder, draw(words), draw(st.sampled_from([NOON, -1e18, 0.0]))), rows))
    return past


@given(archives(), st.integers(0, 3000), st.integers(0, 2000), st.integers(0, 3), st.sets(ids))
def test_any_archive_gives_a_conversation(past: list[Exchange], budget_tokens: int, result_chars: int, images: int, used: set[str]) -> None:
    """The API takes it; user first, an assistant's text last; within the budget; ids new; the same bytes every time."""
    options: dict[str, Any] = {"budget_tokens": budget_tokens, "result_chars": result_chars, "images": images, "used_ids": used}
    made = compose(*past, **options)
    assert made.messages == trace.compose(past, **options).messages
    decoded = [json.loads(message) for message in made.messages]
    size, seen = budget.weight(decoded)
    assert budget.tokens(size, seen, budget.PER_TOKEN) <= made.tokens <= budget_tokens or not decoded
    assert seen == made.images <= images
    if decoded:
        assert "user" == decoded[0]["role"]
        assert ("assistant", "text") == (decoded[-1]["role"], decoded[-1]["content"][-1]["type"])
        assert made.oldest in {row.at for _, rows in past for row in rows}
    blocks = [block for message in decoded for block in message["content"]]
    for block in blocks:
        assert set(block) == KEYS.get(block["type"], set(block)), block
    made_ids = [block["id"] for block in blocks if block["type"] == "tool_use"]
    assert len(made_ids) == len(set(made_ids))
    assert not used & set(made_ids)
    whole = b"".join(made.messages).decode()
    assert not re.search("<tenon-memory>.*?</tenon-memory>", whole)
    assert '"thinking"' not in whole
    assert "was" not in {key for block in blocks for key in block}
