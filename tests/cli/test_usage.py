"""`tenon usage`: what the transcripts show of the memory, counted by hand."""

from __future__ import annotations

import os
import time

from tenon.digest import adoption
from tenon.store import db, notes
from tests.cli.conftest import Tenon
from tests.fakes.transcripts import BEGAN, Transcript

FENCE = "<tenon-memory>\nRemembered\n</tenon-memory>"
RECALL = "mcp__plugin_tenon_memory__memory_recall"
WRITE = "mcp__plugin_tenon_memory__memory_write"


def talked(talk: Transcript, answers: int, entry: str = "cli") -> None:
    """So many answers of the model's, each of two lines, now."""
    talk.clock = time.time() - 3600
    for number in range(answers):
        talk.prompt(f"question {number}", entrypoint=entry)
        block = {"id": f"msg_{talk.session}_{number}", "role": "assistant", "model": "claude-opus-4-8", "content": [{"type": "text", "text": "so"}]}
        talk.line("assistant", {**block, "content": [{"type": "thinking", "thinking": "hm"}]}, entrypoint=entry)
        talk.line("assistant", block, entrypoint=entry)


def hook(talk: Transcript, event: str, text: str = FENCE) -> None:
    """What a hook of ours put in front of the model."""
    talk.attachment("hook_additional_context", content=[text], hookName=event, hookEvent=event)


def ran(talk: Transcript, command: str = "python3 -I -S ${CLAUDE_PLUGIN_ROOT}/hooks/hook.py") -> None:
    """The line that says which hooks ran at the end of a turn."""
    talk.line("system", None, subtype="stop_hook_summary", hookInfos=[{"command": command, "durationMs": 9}])


def began(tenon: Tenon, at: float) -> None:
    """The store began then."""
    with db.open_store(str(tenon.home / ".tenon" / "agents" / "default" / "tenon.db")) as store:
        notes.note(store, "began", str(int(at)))


def test_sessions_from_before_the_memory_began_are_told_apart(tenon: Tenon) -> None:
    """They count against nothing, nor does what plain code made of them when they were imported."""
    before, after = tenon.talk("s1"), tenon.talk("s2")
    for talk, thing in ((before, "the vault is green"), (after, "the gateway is blue")):
        talk.clock = time.time() - (9000 if talk is before else 3600)
        talk.prompt(f"Remember: {thing}")
        talk.reply("I will.")
    for number in range(10):
        for talk in (before, after):
            talk.line("assistant", {"id": f"msg_{talk.session}_{number}", "role": "assistant", "content": [{"type": "text", "text": "so"}]})
    hook(after, "SessionStart")
    tenon.ok("import")
    began(tenon, time.time() - 7200)

    found, told = tenon.ok("usage", "--json").records[0], tenon.ok("usage")
    assert (1, 1, 1, {"code": 1}) == (found["before"], found["all"]["sessions"], found["all"]["hook"], found["memories"])
    assert "1 session ended before the memory began" in told.err
    began(tenon, time.time() + 60)
    none = tenon.ok("usage").err
    assert ("since the memory began, so there is nothing" in none, "2 sessions ended before" in none) == (True, True)


def test_adoption_is_counted_by_entry_point(tenon: Tenon) -> None:
    """An answer of two lines is one turn; each thing counts a session once; short and old sessions are left out."""
    first, second, third = (tenon.talk(name) for name in ("s1", "s2", "s3"))
    talked(first, 10)
    for event in ("SessionStart", "UserPromptSubmit", "UserPromptSubmit"):
        hook(first, event)
    first.used(RECALL, {"cue": "x"}, "found")
    first.used(WRITE, {"content": "x"}, "written")
    first.subagent("abc").used(RECALL, {"cue": "x"}, "found")
    talked(second, 10, "sdk-cli")
    ran(second)
    hook(second, "UserPromptExpansion")
    second.used("ToolSearch", {"query": "memory"}, [{"type": "tool_reference", "tool_name": RECALL}])
    talked(third, 10, "sdk-cli")
    third.reply("<tenon-memory> is a fence, the user says tenon")
    ran(third, "python3 /other/hooks/hook.py")
    talked(tenon.talk("short"), 3)
    old = tenon.talk("old")
    talked(old, 10)
    os.utime(old.path, (BEGAN - 90 * 86400, BEGAN - 90 * 86400))
    tenon.written("one", "--tier", "short")
    began(tenon, time.time() - 7200)

    found = tenon.ok("usage", "--json").records[0]

    assert {
        "sessions": 1, "turns": 13, "hook": 1, "briefed": 1, "injected": 1, "used": 1, "recalled": 1, "wrote": 1, "searched": 0, "calls": 3,
        "calls_per_1000_turns": 230.77,
    } == found["entry_points"]["cli"]  # fmt: skip
    assert (2, 1, 0, 0, 0, 1, 0, 1, 0) == tuple(
        found["entry_points"]["sdk-cli"][name] for name in ("sessions", "hook", "briefed", "injected", "used", "recalled", "wrote", "searched", "calls")
    )
    assert (3, 1, {"user": 1}) == (found["all"]["sessions"], found["too_short"], found["memories"])
    assert {str(tenon.project): 3} == {name: part["sessions"] for name, part in found["projects"].items()}


def test_it_is_told_in_a_table_that_says_what_each_number_means(tenon: Tenon) -> None:
    """Shares of sessions, and how many are left out."""
    talk = tenon.talk("s1")
    talked(talk, 10)
    hook(talk, "SessionStart")
    talked(tenon.talk("s2"), 10, "sdk-cli")
    talked(tenon.talk("s3"), 2)

    result = tenon.ok("usage")
    rows = {line.split("  ")[0]: line.split() for line in result.out.splitlines()}

    assert ["all", "cli", "sdk-cli"] == result.out.splitlines()[0].split()
    assert (["2", "1", "1"], ["50%", "100%", "0%"]) == (rows["sessions"][1:4], rows["briefed"][1:4])
    assert "sessions that were told at their start what is known" in result.out
    assert "1 session with fewer turns left out" in result.err
    assert "so there is nothing to measure" in tenon.ok("usage", "--min-turns", "50").err


def test_lines_that_cannot_be_read_are_counted(tenon: Tenon) -> None:
    """No object, half of one, far too long; not the last one, which may still be being written. Times before the days asked for do not count."""
    talk = tenon.talk("s1")
    talked(talk, 2)
    talk.raw(b"no object\n" + b'{"type":"assistant","message":{"half\n' + b'{"type":"assistant", oops}\n' + b"\n")
    talk.raw(b'{"type":"user","text":"' + b"x" * (adoption.LONGEST + 10) + b'"}\n')
    talk.reply("one more")
    talk.clock -= 90 * 86400
    talk.reply("long ago")
    talk.raw(b'{"type":"assistant","message":{"id":"m')
    told: list[int] = []

    found = adoption.read([talk.path], time.time() - 86400, told.append)

    (session,) = found.sessions.values()
    assert (4, 3) == (found.broken, session.turns)
    assert os.path.getsize(talk.path) - len(b'{"type":"assistant","message":{"id":"m') == sum(told) + 1  # an empty line


def test_what_was_copied_into_a_fork_and_what_is_no_answer_is_not_counted(tenon: Tenon) -> None:
    """Copied lines, errors of the API, words of Claude Code itself; other files beside a transcript are not read."""
    talk = tenon.talk("s1")
    talked(talk, 1)
    talk.reply("copied", forkedFrom={"sessionId": "s0", "messageUuid": "u"})
    talk.reply("API Error", isApiErrorMessage=True)
    talk.assistant({"type": "text", "text": "No response requested."}, model="<synthetic>")
    beside = os.path.join(os.path.splitext(talk.path)[0], "tool-results", "out.jsonl")
    os.makedirs(os.path.dirname(beside))
    with open(beside, "wb") as file:
        file.write(b'{"type":"assistant"}\n')

    paths = [path for path, _ in adoption.files(str(tenon.home / ".claude"), 0.0)]
    found = adoption.read([*paths, "/no/such.jsonl"], 0.0, lambda size: None)

    assert [talk.path] == paths
    assert [1, 0] == [one.turns for one in found.sessions.values()]
    assert (1, "cli", "2.1.332") == (found.broken, (one := next(iter(found.sessions.values()))).entry, one.version)


def test_nothing_is_made_by_looking(tenon: Tenon) -> None:
    """No home, no store."""
    assert "nothing to measure" in tenon.ok("usage").err
    assert not (tenon.home / ".tenon").exists()
