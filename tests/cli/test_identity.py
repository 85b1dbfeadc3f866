"""`tenon identity` as its user has it: shown with where it came from, corrected, removed, frozen, cleared, and told in the next session."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tenon.store import db, identity, memories
from tests.cli.conftest import PYTHON, ROOT, Tenon

THEN = 1_600_000_000.0  # before any day on which this runs
HOOK = str(ROOT / "hooks" / "hook.py")


def hold(tenon: Tenon, text: str, **more: Any) -> str:
    """The id of a statement that a reflection wrote."""
    told = {"kind": "identity", "source": "reflection", "writer": "digest", "repository": None, "tier": "long", "reason": "borne out", "now": THEN, **more}
    with db.open_store(str(tenon.home / ".tenon" / "agents" / "default" / "tenon.db")) as store:
        return memories.write(store, text=text, **told)[0]


def started(tenon: Tenon) -> str:
    """What the model of a session that starts now has in front of its first turn."""
    event = json.dumps({"hook_event_name": "SessionStart", "session_id": "new", "cwd": str(tenon.project), "source": "startup"})
    answer = tenon(start=(PYTHON, "-I", "-S", HOOK), given=event).out
    return str(json.loads(answer)["hookSpecificOutput"]["additionalContext"]) if answer else ""


def test_a_statement_is_shown_with_since_when_by_whom_and_where_it_came_from(tenon: Tenon) -> None:
    """The memories that bear it out and the turns behind them, the first few quoted; how often it was revised."""
    talk = tenon.talk()
    for number in range(5):
        talk.prompt(f"please make commit {number} smaller")
    tenon.ok("import")
    bearing = [tenon.written("Commits are small here"), tenon.written("Reviews take a day")]
    ref = hold(tenon, "I keep commits small.", labels=[*bearing, "mgone4ever", "PR#41"], turns=[1, 2, 3, 4, 5])

    lines = tenon.ok("identity").out.splitlines()
    assert lines[0].startswith(f"{ref}  identity · since 2020-09-1")
    assert lines[0].endswith(" · by a digest")
    assert [
        "    I keep commits small.", f"    from {bearing[0]}: «Commits are small here»", f"    from {bearing[1]}: «Reviews take a day»",
        *(f"    from t{number}: «please make commit {number - 1} smaller»" for number in (1, 2, 3)), "    and 2 more turns",
        "1 statement of at most 8, 21 characters of at most 1,500.",
    ] == lines[1:]  # fmt: skip
    tenon.ok("identity", "correct", ref, "I", "keep", "commits", "tiny.")
    assert f"{ref}  identity" in tenon.ok("identity", "show").out
    assert " · revised once · by you\n    I keep commits tiny.\n" in tenon.ok("identity").out
    assert {
        "id": ref, "kind": "identity", "content": "I keep commits tiny.", "since": "2020-09-13T12:26:40Z", "revised": 1, "writer": "user", "origin": "user",
        "reason": "corrected by the user", "memories": bearing, "turns": ["t1", "t2", "t3", "t4", "t5"], "told": True, "frozen": False,
    } == tenon.ok("identity", "--json").records[0]  # fmt: skip


def test_what_was_corrected_added_or_removed_is_so_in_the_next_sessions_first_turn(tenon: Tenon) -> None:
    """The session's start has it, in its first section; a correction replaces the words under the same id."""
    ref = hold(tenon, "The user is called Eda.")
    assert f"## Who you are to this user\n- [identity · 2020-09-13] The user is called Eda. ({ref})\n" in started(tenon)
    tenon.ok("identity", "correct", ref, "The user is called Ada.")
    added = tenon.ok("identity", "add", "Ask before refactoring", "--kind", "relationship").out.split()[0]
    lines = started(tenon).splitlines()
    assert (f"- [identity · 2020-09-13] The user is called Ada. ({ref})", True) == (lines[3], lines[4].endswith(f"] Ask before refactoring ({added})"))
    assert started(tenon).splitlines() == lines

    assert f"{ref} is let go of" in tenon.ok("identity", "remove", ref).out
    tenon.ok("identity", "clear", "--yes")
    assert "" == started(tenon)


def test_the_history_shows_closed_ones_too(tenon: Tenon) -> None:
    """Each revision with its words, and why."""
    ref = hold(tenon, "The user is called Eda.")
    tenon.ok("identity", "correct", ref, "The user is called Ada.")
    tenon.ok("identity", "remove", ref)

    told = [line.split("  ", 1)[-1] for line in tenon.ok("identity", "history").out.splitlines()]
    assert [f"{ref}  written", "  The user is called Eda.", f"{ref}  revised: corrected by the user", "  The user is called Ada.", f"{ref}  closed"] == told
    records = tenon.ok("identity", "history", "--json").records
    assert [("written", "The user is called Eda."), ("revised", "The user is called Ada."), ("closed", "The user is called Ada.")] == [
        (record["what"], record["text"]) for record in records
    ]
    assert {"at": "2020-09-13T12:26:40Z", "id": ref, "kind": "identity", "why": ""}.items() <= records[0].items()


def test_frozen_it_says_so_until_it_is_thawed(tenon: Tenon) -> None:
    """And a digest sees it."""
    hold(tenon, "I keep commits small.")
    path = str(tenon.home / ".tenon" / "agents" / "default" / "tenon.db")
    assert "no digest changes identity" in tenon.ok("identity", "freeze").out
    with db.open_reader(path) as store:
        assert identity.is_frozen(store)
    assert tenon.ok("identity").out.endswith("Frozen: no digest changes them; `tenon identity thaw` ends that.\n")
    assert tenon.ok("identity", "--json").records[0]["frozen"]
    tenon.ok("identity", "thaw")
    with db.open_reader(path) as store:
        assert not identity.is_frozen(store)
    assert "Frozen" not in tenon.ok("identity").out


def test_clearing_asks_first(tenon: Tenon) -> None:
    """Without a terminal it wants --yes, and says so; then nothing is held, and a digest writes none of it again."""
    ref = hold(tenon, "I keep commits small.")
    refused = tenon("identity", "clear")
    assert (1, True) == (refused.code, "say --yes" in refused.err)
    assert ref in tenon.ok("identity").out

    assert "1 statement let go of." in tenon.ok("identity", "clear", "--yes").out
    found = tenon.ok("identity")
    assert ("", True) == (found.out, "No statement is held." in found.err)
    with pytest.raises(Exception, match="does not come back"):
        hold(tenon, "I keep commits small.")


def test_what_has_no_room_in_a_session_says_so(tenon: Tenon) -> None:
    """As the ninth, which another verb wrote."""
    for number in range(9):
        hold(tenon, f"statement {number}", now=THEN + number)
    found = tenon.ok("identity").out
    assert 1 == found.count("no room for it in a session")
    assert [True] * 8 + [False] == [record["told"] for record in tenon.ok("identity", "--json").records]
    full = tenon("identity", "add", "one more")
    assert (1, True) == (full.code, "at most 8 statements of 1,500 characters in all; remove or shorten one first" in full.err)


def test_in_claude_codes_own_shell_the_model_is_the_one_who_says_so(tenon: Tenon) -> None:
    """What it adds or corrects is not signed as the user's."""
    tenon.env["CLAUDECODE"] = "1"
    ref = tenon.ok("identity", "add", "I keep commits small.").out.split()[0]
    tenon.ok("identity", "correct", ref, "I keep them tiny.")
    assert {"writer": "model", "origin": "assistant"}.items() <= tenon.ok("identity", "--json").records[0].items()
    del tenon.env["CLAUDECODE"]
    tenon.ok("identity", "correct", ref, "I keep them tiny.")
    assert {"writer": "user", "origin": "user", "revised": 1}.items() <= tenon.ok("identity", "--json").records[0].items()


def test_where_nothing_is_remembered_reading_finds_nothing_and_adding_begins(tenon: Tenon) -> None:
    """Exit code 0 for reading; the others name the way."""
    found = tenon("identity")
    assert (0, "", "Nothing is remembered yet, so nothing is held.\n") == (found.code, found.out, found.err)
    refused = tenon("identity", "freeze")
    assert (1, True) == (refused.code, "`tenon identity add TEXT`, begins the memory" in refused.err)
    tenon.ok("identity", "add", "Call me Ada")
    assert "Call me Ada" in tenon.ok("identity").out


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (("correct", "m7k2p9qxab"), 'correct is said so: tenon identity correct m7k2p9qxab "Call me Ada"'), (("add",), "add is said so: "),
        (("remove",), "remove is said so: "), (("remove", "m1", "m2"), "remove is said so: "), (("show", "m1"), "show is said so: tenon identity show"),
        (("freeze", "now"), "freeze is said so: "), (("show", "--kind", "identity"), "--kind goes with add"), (("frobnicate",), "it may be show, history,"),
        (("add", "--kind", "relationship", "Ask first"), "the words come before --kind"), (("show", "--kidn", "x"), "that is too much for `tenon identity`"),
    ],
)  # fmt: skip
def test_a_wrong_command_line_is_told_how_it_is_said(tenon: Tenon, typed: tuple[str, ...], said: str) -> None:
    """Exit code 2."""
    result = tenon("identity", *typed)
    assert (2, True) == (result.code, said in result.err), result.err


def test_an_id_that_is_no_statements_is_refused(tenon: Tenon) -> None:
    """A memory of another kind, or none at all."""
    other = tenon.written("Staging is deployed on Fridays")
    for typed in (("correct", other, "text"), ("remove", "mnosuchone")):
        result = tenon("identity", *typed)
        assert (1, True) == (result.code, "is none of the statements that are held; `tenon identity` lists them with their ids" in result.err)
