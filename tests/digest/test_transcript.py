"""One line of a transcript: kept as what, or not kept."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tenon.digest import transcript
from tenon.store.archive import Row


def read(line: dict[str, Any], tool: str = "", thread: str = "") -> transcript.Entry:
    """What the line says, when every call went to that tool."""
    found = transcript.parse(json.dumps(line).encode("utf-8"))
    assert found is not None
    return transcript.entry(found, lambda _line, _call: tool, 5.0, thread)


def user(content: Any, **more: Any) -> dict[str, Any]:
    """A user line."""
    return {"type": "user", "uuid": "u1", "parentUuid": "u0", "timestamp": "2026-11-30T00:00:01.500Z", "message": {"role": "user", "content": content}, **more}


def assistant(*blocks: Any, model: str = "claude-opus-4-8", **more: Any) -> dict[str, Any]:
    """An assistant line."""
    return {
        "type": "assistant",
        "uuid": "a1",
        "parentUuid": "u1",
        "message": {"role": "assistant", "id": "msg_1", "model": model, "content": list(blocks)},
        **more,
    }


def kept(entry: transcript.Entry) -> tuple[str, str, str] | None:
    """Role, kind and source of the row."""
    return (entry.row.role, entry.row.kind, entry.row.source) if entry.row else None


def content(entry: transcript.Entry) -> list[Any]:
    """The row's blocks."""
    assert isinstance(entry.row, Row)
    return entry.row.content


def test_a_typed_prompt_is_the_users() -> None:
    """With its place in the chain and its time as UTC seconds."""
    found = read(user("fix the parser", cwd="/p", gitBranch="main", promptSource="typed"))

    assert ("user", "prompt", "user") == kept(found)
    assert [{"type": "text", "text": "fix the parser"}] == content(found)
    assert ("u1", "u0", 1795996801.5, "/p", "main") == (found.uuid, found.parent, found.at, found.folder, found.branch)


def test_an_answer_is_kept_block_by_block() -> None:
    """Text, thinking with its signature, and calls; the blocks of one message share its id."""
    thought = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
    call = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}}

    assert ("assistant", "reply", "assistant") == kept(read(assistant({"type": "text", "text": "done"})))
    assert ("assistant", "thinking", "assistant") == kept(read(assistant(thought)))
    assert [thought] == content(read(assistant(thought)))
    assert ("assistant", "call", "assistant") == kept(read(assistant(call)))
    assert [("t1", "Bash")] == read(assistant(call)).calls
    assert "msg_1" == read(assistant(call)).row.message  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("tool", "source"),
    [("Bash", "tool"), ("Read", "tool"), ("WebFetch", "outside"), ("WebSearch", "outside"), ("mcp__github__get_issue", "outside"), ("", "outside")],
)
def test_a_result_is_from_outside_when_its_tool_is(tool: str, source: str) -> None:
    """A result whose call nobody knows counts as from outside."""
    found = read(user([{"type": "tool_result", "tool_use_id": "t1", "content": "x"}]), tool)

    assert ("user", "result", source) == kept(found)


@pytest.mark.parametrize(
    "line",
    [
        user("Caveat: x", isMeta=True),
        user("This session is being continued", isCompactSummary=True),
        user("shown only", isVisibleInTranscriptOnly=True),
        user("<command-name>/review</command-name>\n<command-args>src</command-args>"),
        user("<command-message>review</command-message>\n<command-name>/tenon:memory-recall</command-name>\n<command-args>the parser</command-args>"),
        user("<local-command-stdout>Compacted</local-command-stdout>"),
        user("  \n "),
        user([]),
        assistant({"type": "text", "text": "API Error: 500"}, isApiErrorMessage=True),
        assistant({"type": "text", "text": "No response requested."}, model="<synthetic>"),
        {"type": "system", "subtype": "turn_duration", "uuid": "u1", "parentUuid": "u0"},
        {"type": "attachment", "attachment": {"type": "hook_additional_context", "content": "memory"}, "uuid": "u1", "parentUuid": "u0"},
        {"type": "api-request-blob", "message": {"role": "system", "content": [{"type": "text", "text": "You are"}]}, "uuid": "u1", "parentUuid": "u0"},
        {"type": "api-request-blob", "message": {"role": "user", "content": "typed"}, "uuid": "u1", "parentUuid": "u0"},
        {"type": "user", "message": "no object", "uuid": "u1", "parentUuid": "u0"},
        {"type": "user", "uuid": "u1", "parentUuid": "u0"},
    ],
)
def test_what_nobody_said_is_not_kept(line: dict[str, Any]) -> None:
    """It keeps its place in the chain."""
    found = read(line)

    assert found.row is None
    assert found.uuid in ("u1", "a1")
    assert found.parent in ("u0", "u1")


def test_after_a_compaction_the_chain_goes_on() -> None:
    """The boundary has no parent, and names the line before it otherwise."""
    found = read({"type": "system", "subtype": "compact_boundary", "uuid": "b1", "parentUuid": None, "logicalParentUuid": "u9"})

    assert ("b1", "u9", None) == (found.uuid, found.parent, found.row)


@pytest.mark.parametrize(
    ("text", "source"),
    [
        ("<task-notification>\n<task-id>a</task-id>", "tool"),
        ("[SYSTEM NOTIFICATION - NOT USER INPUT] done", "tool"),
        ("<bash-input>make</bash-input>", "tool"),
        ("<teammate-message teammate_id=x>hi", "outside"),
        ("<channel source=slack>hi", "outside"),
        ("[Request interrupted by user for tool use]", "user"),
    ],
)
def test_a_notice_is_no_prompt(text: str, source: str) -> None:
    """Whoever sent it."""
    assert ("user", "other", source) == kept(read(user(text)))


@pytest.mark.parametrize(
    ("origin", "expected"),
    [
        ({"kind": "human"}, ("user", "prompt", "user")),
        ("typed", ("user", "prompt", "user")),
        ({"kind": "auto-continuation"}, ("user", "other", "tool")),
        ({"kind": "peer"}, ("user", "other", "outside")),
        ({"kind": "something-new"}, ("user", "other", "outside")),
    ],
)
def test_who_sent_a_message_decides_whose_it_is(origin: object, expected: tuple[str, str, str]) -> None:
    """As newer versions say it."""
    assert expected == kept(read(user("go on", origin=origin)))


def test_a_prompt_typed_while_the_model_works_is_kept() -> None:
    """It enters the conversation as an attachment; a queued notice does not become a prompt."""
    queued = {"type": "queued_command", "prompt": "use tabs", "commandMode": "prompt"}

    assert ("user", "prompt", "user") == kept(read({"type": "attachment", "uuid": "q", "attachment": queued}))
    assert read({"type": "attachment", "uuid": "q", "attachment": {**queued, "commandMode": "task-notification"}}).row is None
    assert read({"type": "attachment", "uuid": "q", "attachment": {**queued, "isMeta": True}}).row is None


def test_recalled_text_is_not_kept_again() -> None:
    """Not from a prompt, not from an answer, not from a tool's output."""
    fenced = '<tenon-memory note="data">uses PostgreSQL</tenon-memory>'

    assert [{"type": "text", "text": "what now?"}] == content(read(user(fenced + "\nwhat now?")))
    assert read(user(fenced)).row is None
    assert [{"type": "text", "text": "I see"}] == content(read(assistant({"type": "text", "text": "I see " + fenced})))
    assert [{"type": "tool_result", "tool_use_id": "t", "content": "a [recalled memory, not kept twice] b"}] == content(
        read(user([{"type": "tool_result", "tool_use_id": "t", "content": f"a {fenced} b"}]), "Bash")
    )
    assert "user" == kept(read(user("what is <tenon-memory for?")))[2]  # type: ignore[index]
    assert [{"type": "text", "text": "what is <tenon-memory for?"}] == content(read(user("what is <tenon-memory for?")))


@pytest.mark.parametrize("server", ["mcp__plugin_tenon_memory__", "mcp__tenon__", "mcp__my-Tenon_2__"])
@pytest.mark.parametrize(
    "tool",
    "memory_recall memory_write memory_write_episode memory_reinforce memory_edit memory_graph procedure task_state memory_maintain memory_archive "
    "memory_forget memory_recent".split(),
)
def test_what_tenons_own_tools_gave_is_a_note(server: str, tool: str) -> None:
    """The row stays, so that the chain is whole; nothing of it is found."""
    found = read(user([{"type": "tool_result", "tool_use_id": "t", "content": "m12: uses PostgreSQL"}]), server + tool)

    assert ("user", "other", "tool") == kept(found)
    assert [{"type": "tool_result", "tool_use_id": "t", "content": [{"type": "note", "text": "[recalled memory, not kept twice]"}]}] == content(found)


def test_reminders_of_the_host_are_no_words_of_the_user() -> None:
    """They are cut off from a prompt, before and after it."""
    frame = "<system-reminder>\nrules\n</system-reminder>"

    assert read(user(frame + "\n\n" + frame)).row is None
    assert read(user("<system-reminder>[SYSTEM NOTIFICATION] done</system-reminder>")).row is None
    assert [{"type": "text", "text": "go"}] == content(read(user(f"{frame}\n{frame}go\n\n{frame}{frame}\n")))
    assert [{"type": "text", "text": "go"}] == content(read(user([frame, "go", {"type": "text", "text": frame}])))
    assert [{"type": "text", "text": "go"}] == content(read(user([{"type": "text", "text": "<system-reminder>\nrules\n</system-reminder>go"}])))


@pytest.mark.parametrize(
    "text",
    [
        "Explain <system-reminder>why we log this</system-reminder> please",
        "<system-reminder>x</system-reminder> means what?",
        "what is <system-reminder>x</system-reminder>",
        "see\n<system-reminder>\nx\n</system-reminder>\nabove",
        "<system-reminder>\nnever closed",
        "never opened </system-reminder>",
        "a\n<system-reminder>b</system-reminder> c </system-reminder>",
    ],
)
def test_a_reminder_amid_what_was_typed_is_the_users(text: str) -> None:
    """It is a word like others."""
    assert [{"type": "text", "text": text}] == content(read(user(text)))


def test_a_hostile_text_costs_no_more_than_its_length() -> None:
    """Tags by the hundred thousand."""
    many = "<system-reminder>\n</system-reminder>" * 60_000
    other = "<tenon-memoryX" * 150_000 + "</tenon-memory>"

    assert "" == transcript.without_reminders(many)
    assert "a\nb" == transcript.without_reminders(many + "a\nb\n" + many)
    assert other == transcript.without(other, "tenon-memory")


def test_another_servers_tool_of_the_same_name_is_kept() -> None:
    """Only Tenon's own are known already."""
    found = read(user([{"type": "tool_result", "tool_use_id": "t", "content": "x"}]), "mcp__other__procedure")

    assert ("user", "result", "outside") == kept(found)


def test_a_subagents_lines_have_its_thread() -> None:
    """And its task was set by the model, not by the user."""
    assert "abc" == read(user("look around", isSidechain=True, agentId="abc")).row.thread  # type: ignore[union-attr]
    assert "sidechain" == read(user("look around", isSidechain=True)).row.thread  # type: ignore[union-attr]
    assert "def" == read(user("look around"), thread="def").row.thread  # type: ignore[union-attr]
    assert ("user", "prompt", "assistant") == kept(read(user("look around", isSidechain=True, agentId="abc")))


def test_a_copied_line_names_its_original() -> None:
    """As a fork with new uuids does."""
    assert "u7" == read(user("hi", forkedFrom={"sessionId": "s", "messageUuid": "u7"})).same_as


@pytest.mark.parametrize(
    ("stamp", "expected"),
    [
        ("1970-01-01T00:00:10Z", 10.0),
        ("1970-01-01T00:00:10.250Z", 10.25),
        ("1970-01-01T01:00:10+01:00", 10.0),
        ("1970-01-01T00:00:10", 10.0),
        ("1970-01-01T00:00:10.12345678Z", 10.0),
        ("yesterday", None),
        ("", None),
        (12, None),
    ],
)
def test_times_are_read_on_every_python(stamp: object, expected: float | None) -> None:
    """Also those that Python 3.9 does not read by itself; then the fraction may go."""
    got = transcript.seconds(stamp)

    assert expected == got if expected is None or "12345678" not in str(stamp) else abs(got - expected) < 1  # type: ignore[operator]


def test_a_line_without_a_time_has_that_of_the_line_before() -> None:
    """The caller says which."""
    assert 5.0 == read(assistant({"type": "text", "text": "x"})).at


@pytest.mark.parametrize("line", [b"", b"{", b"[1]", b'"x"', b"null", b"\xff\xfe", b'{"a":' * 300 + b"1" + b"}" * 300, b"[" * 100_000])
def test_a_garbled_line_is_none(line: bytes) -> None:
    """And one nested so deep that it would exhaust the stack."""
    assert transcript.parse(line) is None


def test_odd_bytes_do_not_lose_a_line() -> None:
    """A byte order mark, a raw tab in a string, a byte that is no UTF-8, a lone surrogate in an id."""
    found = transcript.parse(b'\xef\xbb\xbf{"type":"user","uuid":"\\ud83d","message":{"content":"a\tb \xff"}}')

    assert found is not None
    entry = transcript.entry(found, lambda _line, _call: "", 0.0)
    assert "?" == entry.uuid
    assert [{"type": "text", "text": "a\tb \ufffd"}] == content(entry)
