"""Claude Code's compaction, in the shapes that 2.1.197 and 2.1.332 really send, recognised and undone."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenon.wire import compaction
from tenon.wire.body import Body, parse
from tenon.wire.compaction import Undo
from tenon.wire.identity import digest
from tests.wire.judge import verdict

INSTRUCTION = (
    "CRITICAL: Respond with TEXT ONLY. Do NOT call any tools.\n\n- Do NOT use Read, Bash, Grep, Glob, Edit, Write, or ANY other tool.\n"
    "- Your entire response must be plain text: an <analysis> block followed by a <summary> block.\n\n"
    "Your task is to create a detailed summary of the conversation so far.\n\nREMINDER: Do NOT call any tools."
)
SUMMARY = (
    "This session is being continued from a previous conversation that ran out of context. The summary below covers the earlier portion of the "
    "conversation.\n\n{}Summary:\nthe user asked for things\n\nIf you need specific details from before compaction, read the full transcript at: /h/x.jsonl\n"
    "Continue the conversation from where it left off without asking the user any further questions."
)
TOOLS_USED = "<system-reminder>\n<tools-used-before-summary>Bash</tools-used-before-summary>\n</system-reminder>\n"
CONTEXT = (
    "<system-reminder>\nAs you answer the user's questions, you can use the following context:\n# currentDate\nToday's date is 2026-11-30.\n</system-reminder>"
)
CAVEAT = "<local-command-caveat>The command below was run directly in Claude Code.</local-command-caveat>\n"
COMMAND = "<command-name>/compact</command-name>\n            <command-message>compact</command-message>\n            <command-args></command-args>\n"
STDOUT = "<local-command-stdout>\u001b[2mCompacted (ctrl+o to see full summary)\u001b[22m</local-command-stdout>\n"
MARK = {"type": "ephemeral"}
THOUGHT = {"type": "thinking", "thinking": "", "signature": "c2ln"}
EFFORT = {"effort": "medium"}

Message = dict[str, Any]


def u(*blocks: Any) -> Message:
    """A user message; a lone string stays one."""
    return {"role": "user", "content": blocks[0] if len(blocks) == 1 and isinstance(blocks[0], str) else [t(b) if isinstance(b, str) else b for b in blocks]}


def a(*blocks: Any) -> Message:
    """An assistant message."""
    return {"role": "assistant", "content": [t(b) if isinstance(b, str) else b for b in blocks]}


def s(content: Any, **more: Any) -> Message:
    """A system entry."""
    return {"role": "system", "content": content, **more}


def t(words: str, **more: Any) -> dict[str, Any]:
    """A block of text."""
    return {"type": "text", "text": words, **more}


def call(id: str = "toolu_1", **more: Any) -> dict[str, Any]:
    """A call."""
    return {"type": "tool_use", "id": id, "name": "Bash", "input": {"command": "ls"}, **more}


def result(id: str = "toolu_1", content: str = "done") -> dict[str, Any]:
    """Its result."""
    return {"tool_use_id": id, "type": "tool_result", "content": content, "is_error": False}


def raw(message: Message) -> bytes:
    """As a client prints it."""
    return json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode()


def body(*messages: Message) -> Body:
    """A request of these messages."""
    return parse(b'{"model":"claude-opus-5-5","messages":[' + b",".join(map(raw, messages)) + b"]}")


def sent(*messages: Message) -> list[tuple[str, bytes]]:
    """What stood upstream."""
    return [(digest(raw(message)), raw(message)) for message in messages]


def wire(before: list[tuple[str, bytes]], request: Body, undone: Undo | None) -> list[Message]:
    """What goes upstream, which must be taken."""
    assert undone is not None
    rest = [request.slice(index) for index in range(undone.skip, len(request.messages))]
    whole = [json.loads(message) for message in [*(content for _, content in before), *undone.extra, *rest]]
    assert "" == verdict(whole)
    return whole


BEFORE = (
    u(CONTEXT, "good morning"),
    s("# Environment\nToday's date is 2026-11-30.", output_config=EFFORT),
    a(THOUGHT, "heard: good morning"),
    u("run it"),
    a(THOUGHT, call()),
    u(result()),
    a(THOUGHT, "it ran"),
)
S197 = u(t(CONTEXT + "\n\n"), t(SUMMARY.format("")))
S332 = u(SUMMARY.format(TOOLS_USED))


# the instruction


def test_the_instruction_behind_results_is_recognised_and_taken_off() -> None:
    """Both versions append it to the last user message; the answer that follows is not sent with it."""
    request = body(*BEFORE[:4], a(THOUGHT, call(cache_control=MARK)), u(result(), INSTRUCTION))
    assert compaction.is_instruction(request)
    assert 5 == compaction.instruction_at(request)
    assert raw(u(result())) == compaction.kept_of_instruction(request.slice(5), None)


def test_a_system_entry_may_stand_behind_the_instruction() -> None:
    """2.1.332 puts one there when a hook or a mode had something to say."""
    request = body(*BEFORE[:5], u(result(), INSTRUCTION), s("While auto mode is active: go on."))
    assert compaction.is_instruction(request)
    assert 5 == compaction.instruction_at(request)


def test_the_instruction_as_a_message_of_its_own_leaves_nothing() -> None:
    """As 2.1.332 sends it when the last word is the assistant's."""
    request = body(*BEFORE, u(INSTRUCTION))
    assert compaction.is_instruction(request)
    assert compaction.kept_of_instruction(request.slice(7), None) is None
    assert compaction.kept_of_instruction(raw(u("  ", t(INSTRUCTION))), None) is None


def test_what_was_sent_before_keeps_its_bytes() -> None:
    """A prompt that was a string is one again, its digest being the same."""
    kept = compaction.kept_of_instruction(raw(u("hello", INSTRUCTION)), raw(u("hello")))
    assert raw(u("hello")) == kept
    assert raw({"role": "user", "content": [t("hello")]}) == compaction.kept_of_instruction(raw(u("hello", INSTRUCTION)), raw(u("other")))
    assert raw(u("hello")) == compaction.kept_of_instruction(raw(u("hello")), None)


def test_escapes_and_spaces_of_what_is_kept_stay() -> None:
    """Only the instruction is cut out."""
    given_in = b'{ "role":"user", "content":[ {"type":"text", "text":"\\u00e9 \xc3\xa9"} ,' + raw(t(INSTRUCTION)) + b" ] }"
    assert b'{ "role":"user", "content":[{"type":"text", "text":"\\u00e9 \xc3\xa9"}] }' == compaction.kept_of_instruction(given_in, None)


@pytest.mark.parametrize(
    "messages",
    [
        [u("hello")],
        [u(INSTRUCTION), a("<summary>so</summary>"), u("next")],
        [u("please explain: " + INSTRUCTION)],
        [u("CRITICAL: Respond with TEXT ONLY, please")],
        [u("Kindly condense this talk. Use <summary> tags and no tools.")],
        [u("hello"), a(INSTRUCTION)],
        [u(result(content=INSTRUCTION))],
        [u(INSTRUCTION, "and a word more")],
        [],
    ],
)
def test_what_is_no_instruction(messages: list[Message]) -> None:
    """Other words, another place, another speaker, or a wording of a version to come."""
    assert not compaction.is_instruction(body(*messages))


# the summary


def test_the_summary_of_both_versions_is_recognised() -> None:
    """Alone, behind reminders, and with what follows it in the same message."""
    assert compaction.is_summary(raw(S197))
    assert compaction.is_summary(raw(S332))
    assert compaction.is_summary(raw(u(t(CONTEXT), t(SUMMARY.format("")), t(CAVEAT), t(COMMAND), t(STDOUT), t("go on"))))


@pytest.mark.parametrize(
    "message",
    [
        u("good morning"),
        u("Look what it says: " + SUMMARY.format("")),
        u("a prompt", SUMMARY.format("")),
        a(SUMMARY.format("")),
        s(SUMMARY.format("")),
        u("This session is being continued from another machine. Application state may have changed."),
        u("Here is where we were. The summary below covers the earlier portion of the conversation."),
        u("This session is being continued from a previous conversation in a way nobody has seen yet."),
        u({"type": "tool_result", "tool_use_id": "x", "content": SUMMARY.format("")}),
        u(""),
    ],
)
def test_what_is_no_summary(message: Message) -> None:
    """Somebody quotes one, or the wording is new."""
    assert not compaction.is_summary(raw(message))


def test_a_summary_pasted_in_the_middle_is_a_prompt() -> None:
    """Only what a request begins with is one."""
    assert compaction.undo(body(u("hello"), a("hi"), u(SUMMARY.format(""))), sent(*BEFORE)) is None
    assert compaction.undo(body(u("hello")), sent(*BEFORE)) is None


# undone


def test_a_manual_compaction_of_2_1_197_is_undone() -> None:
    """The summary and the repeated answer leave; the context reminder was said before."""
    request = body(S197, a(THOUGHT, "it ran"), u(CAVEAT, COMMAND, STDOUT, t("go on", cache_control=MARK)), s("Called the Read tool."))
    undone = compaction.undo(request, sent(*BEFORE))
    assert undone is not None
    assert (2, [], 0) == (undone.skip, undone.extra, undone.strip)
    assert [*BEFORE, request.whole(2), request.whole(3)] == wire(sent(*BEFORE), request, undone)


def test_a_manual_compaction_of_2_1_332_is_undone() -> None:
    """The entry that only sets the effort stays one."""
    request = body(
        S332, s([], output_config=EFFORT), a("it ran"), u("<system-reminder>\nCalled the Read tool\n</system-reminder>"), u(CAVEAT, "go on"), s([t("tools")])
    )
    undone = compaction.undo(request, sent(*BEFORE))
    assert undone is not None
    assert (3, [raw(s([], output_config=EFFORT))]) == (undone.skip, undone.extra)
    assert [*BEFORE, s([], output_config=EFFORT), *(request.whole(index) for index in (3, 4, 5))] == wire(sent(*BEFORE), request, undone)


def test_an_automatic_compaction_in_a_loop_repeats_the_call_and_its_result() -> None:
    """What was appended to the result comes as a message of its own, and a system entry's words in a reminder."""
    request = body(
        S332,
        s("Today's date is 2026-12-01.", output_config=EFFORT),
        a(THOUGHT, call()),
        u(result(), t("<system-reminder>\nAttribution\n</system-reminder>", cache_control=MARK)),
        s([t("tools", cache_control=MARK)]),
    )
    undone = compaction.undo(request, sent(*BEFORE[:6]))
    assert undone is not None
    assert 4 == undone.skip
    assert [
        u(t("<system-reminder>\nToday's date is 2026-12-01.\n</system-reminder>")),
        s([], output_config=EFFORT),
        u(t("<system-reminder>\nAttribution\n</system-reminder>")),
    ] == [json.loads(message) for message in undone.extra]
    wire(sent(*BEFORE[:6]), request, undone)


def test_a_result_that_was_not_sent_before_comes_before_everything_carried() -> None:
    """A call must be answered at once."""
    request = body(S332, s("Today's date is 2026-12-01."), a(THOUGHT, call()), u(result(), "<system-reminder>\nmore\n</system-reminder>"), s("tools"))
    undone = compaction.undo(request, sent(*BEFORE[:5]))
    whole = wire(sent(*BEFORE[:5]), request, undone)
    assert undone is not None
    assert 4 == undone.skip
    assert "tool_result" == whole[5]["content"][0]["type"]
    plain = body(S332, s([]), a(THOUGHT, call()), u(result()))
    undone = compaction.undo(plain, sent(*BEFORE[:5]))
    assert undone is not None
    assert (3, []) == (undone.skip, undone.extra)


def test_with_nothing_kept_the_summary_just_leaves() -> None:
    """What was sent ends with results, so the model goes on from there."""
    for request in (body(S197), body(S332, s("tools")), body(S332, s([], output_config=EFFORT), s("tools"))):
        undone = compaction.undo(request, sent(*BEFORE[:6]))
        assert undone is not None
        assert (1, []) == (undone.skip, undone.extra)
        wire(sent(*BEFORE[:6]), request, undone)


def test_a_summary_behind_an_answer_with_nothing_after_it_stays() -> None:
    """Somebody must have the last word, and it is not the model."""
    for request in (body(S332), body(S332, s("tools")), body(S197, s([], output_config=EFFORT))):
        undone = compaction.undo(request, sent(*BEFORE))
        whole = wire(sent(*BEFORE), request, undone)
        assert SUMMARY[:40] in whole[7]["content"][-1]["text"]


def test_what_was_merged_into_the_summary_is_carried_over() -> None:
    """Without an answer to keep, both versions put the command and the prompt into the summary's message."""
    request = body(u(CONTEXT, SUMMARY.format(""), CAVEAT, COMMAND, STDOUT, "go on"), s([t("tools", cache_control=MARK)], output_config=EFFORT))
    undone = compaction.undo(request, sent(*BEFORE))
    assert undone is not None
    assert (1, [u(CAVEAT, COMMAND, STDOUT, "go on")]) == (undone.skip, [json.loads(message) for message in undone.extra])
    wire(sent(*BEFORE), request, undone)


def test_a_changed_context_is_carried_over() -> None:
    """The reminder in front of the summary says what was not said before."""
    changed = CONTEXT.replace("11-30", "12-01")
    request = body(u(changed, SUMMARY.format("")), a("it ran"), u("go on"))
    undone = compaction.undo(request, sent(*BEFORE))
    assert undone is not None
    assert (2, [u(t(changed))]) == (undone.skip, [json.loads(message) for message in undone.extra])
    wire(sent(*BEFORE), request, undone)


def test_a_second_compaction_is_undone_like_the_first() -> None:
    """Also when both summaries have the same words, and when no prompt came between them."""
    first = body(S332, s([], output_config=EFFORT), a("it ran"), u(CAVEAT, "go on"), s("tools"))
    between = [first.whole(index) for index in range(5)]
    second = body(S332, s([], output_config=EFFORT), a(THOUGHT, "went on"), u(CAVEAT, "and on"), s("tools"))
    before = sent(*between, a(THOUGHT, "went on"))
    undone = compaction.undo(second, before)
    assert undone is not None
    assert 3 == undone.skip
    wire(before, second, undone)
    assert compaction.undo(body(*between, a("went on"), u("more")), before) is None
    assert compaction.undo(body(S332), sent(S332, a("it ran"))) is None
    asked = body(S332, s([], output_config=EFFORT), a("it ran"), u(CAVEAT, COMMAND, STDOUT, INSTRUCTION), s("tools"))
    assert compaction.is_instruction(asked)
    assert 3 == getattr(compaction.undo(asked, sent(*BEFORE)), "skip", None)


def test_many_kept_messages_are_all_repeats() -> None:
    """A compaction of the older part keeps the newer one."""
    request = body(S332, *BEFORE[3:], u("go on"))
    undone = compaction.undo(request, sent(*BEFORE))
    assert undone is not None
    assert (5, []) == (undone.skip, undone.extra)
    wire(sent(*BEFORE), request, undone)


def test_only_a_part_of_an_answer_may_be_kept() -> None:
    """Claude Code writes an answer block by block; the last block is repeated."""
    before = [*BEFORE[:4], a(THOUGHT, "let me look", call()), u(result())]
    request = body(S332, a(call()), u(result(), "<system-reminder>\nx\n</system-reminder>"))
    undone = compaction.undo(request, sent(*before))
    assert 3 == getattr(undone, "skip", None)
    wire(sent(*before), request, undone)


def test_a_reminder_that_is_printed_elsewhere_later_hides_no_repeat() -> None:
    """2.1.197 prints a hook's word behind a result first, and as a system entry later."""
    before = sent(*BEFORE[:5], u(result(), "<system-reminder>\nPostToolUse: x\n</system-reminder>"), a("it ran"))
    request = body(S197, a(THOUGHT, call()), u(result()), s("PostToolUse: x"), a("it ran"), u("go on"))
    undone = compaction.undo(request, before)
    assert 5 == getattr(undone, "skip", None)
    wire(before, request, undone)


def test_what_was_redacted_is_known_by_its_digest() -> None:
    """The store holds other words than the client sends."""
    stored = [*sent(*BEFORE[:6]), (digest(raw(a("the key is hunter2"))), raw(a("the key is [redacted]")))]
    request = body(S332, a(THOUGHT, "the key is hunter2"), u("go on"))
    undone = compaction.undo(request, stored)
    assert 2 == getattr(undone, "skip", None)
    wire(stored, request, undone)


def test_an_answer_that_was_not_recorded_stays_without_its_thinking() -> None:
    """It follows what was sent; its thinking was made for what is gone."""
    request = body(S197, a(THOUGHT, "it ran"), u("go on"))
    undone = compaction.undo(request, sent(*BEFORE[:6]))
    assert undone is not None
    assert (1, [], 3) == (undone.skip, undone.extra, undone.strip)
    wire(sent(*BEFORE[:6]), request, undone)


def test_an_open_call_without_a_result_gets_one() -> None:
    """The user broke off and compacted."""
    request = body(u(SUMMARY.format(""), CAVEAT, "go on"), s("tools"))
    whole = wire(sent(*BEFORE[:5]), request, compaction.undo(request, sent(*BEFORE[:5])))
    assert {"type": "tool_result", "tool_use_id": "toolu_1", "content": "(No result was kept.)", "is_error": True} == whole[5]["content"][0]


def test_a_system_entry_that_waits_for_an_answer_gets_one() -> None:
    """No user message may follow it."""
    request = body(S197, u("go on"))
    whole = wire(sent(*BEFORE[:2]), request, compaction.undo(request, sent(*BEFORE[:2])))
    assert a("(No answer was kept.)") == whole[2]


@pytest.mark.parametrize(
    ("before", "messages"),
    [
        ([], [S332, a("it ran"), u("go on")]),
        (BEFORE, [S332, a("something else", call()), u(result()), a("x"), u("go on")]),
        (BEFORE, [S332, u(result("toolu_9")), a("x"), u("go on")]),
        (BEFORE[:6], [S332, a("a prefill")]),
        ([*BEFORE[:5], u("no result")], [S332, u("go on")]),
    ],
)
def test_in_doubt_the_summary_is_left_alone(before: list[Message], messages: list[Message]) -> None:
    """Nothing was sent, calls would stand twice, results would answer nothing, the model would have the last word."""
    assert compaction.undo(body(*messages), sent(*before)) is None


@st.composite
def talks(draw: Any) -> list[Message]:
    """What may have been sent: whole exchanges, the last one perhaps open."""
    messages: list[Message] = [u(CONTEXT, "hello")]
    number = 0
    for _ in range(draw(st.integers(0, 3))):
        if draw(st.booleans()):
            messages.append(s("a note"))
        for _ in range(draw(st.integers(0, 2))):
            ids = [f"toolu_{number + at}" for at in range(draw(st.integers(1, 2)))]
            number += len(ids)
            messages += [a(THOUGHT, *map(call, ids)), u(*map(result, ids))]
        messages += [a(THOUGHT, draw(st.sampled_from(["yes", "no"]))), u(draw(st.sampled_from(["next", "again"])))]
    return messages[: draw(st.integers(1, len(messages)))]


@given(talks(), st.integers(0, 4), st.lists(st.sampled_from([s("tools"), s([], output_config=EFFORT)]), max_size=2), st.booleans())
def test_whatever_is_kept_the_result_is_a_conversation(before: list[Message], kept: int, entries: list[Message], merged: bool) -> None:
    """What was sent stands in front unchanged, and the client's last word at the end."""
    tail = [message for message in before[len(before) - kept :] if message["role"] != "system"] if kept else []
    while tail and tail[0]["role"] == "user":
        tail.pop(0)
    following = [u(CAVEAT, "go on"), s("tools")]
    open_calls = [block["id"] for block in (before[-1]["content"] if before[-1]["role"] == "assistant" else []) if block["type"] == "tool_use"]
    if open_calls and tail:
        following.insert(0, u(*map(result, open_calls)))
    if merged and not tail:
        request = body(u(SUMMARY.format(""), CAVEAT, "go on"), s("tools"))
    else:
        request = body(S332, *(entries if tail else [entry for entry in entries if not entry["content"]]), *tail, *following)
    undone = compaction.undo(request, sent(*before))
    whole = wire(sent(*before), request, undone)
    assert before == whole[: len(before)]
    assert "go on" in json.dumps(whole[-2])
    assert not any(SUMMARY[:60] in json.dumps(message) for message in whole)


@given(st.lists(st.sampled_from([*BEFORE, S332, S197, u("go on"), s("x"), a(call("toolu_2")), u(result("toolu_2"))]), max_size=7), st.integers(0, 7))
def test_any_list_behind_a_summary_gives_a_conversation_or_nothing(messages: list[Message], until: int) -> None:
    """No shape makes it fail or gives what the API refuses."""
    request = body(S332, *messages)
    undone = compaction.undo(request, sent(*BEFORE[:until]))
    if undone is not None:
        wire(sent(*BEFORE[:until]), request, undone)
