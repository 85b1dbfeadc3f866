"""`tenon forget`: shows, asks, removes, and it stays gone."""

from __future__ import annotations

import io
import os
import subprocess

import pytest

from tenon.cli import forget
from tenon.cli.out import Out
from tests.cli.conftest import DOOR, PYTHON, Tenon

SECRET = "Quetzalcoatl"


def everything_stored(tenon: Tenon) -> bytes:
    """Every byte of every file in Tenon's home."""
    return b"".join(path.read_bytes() for path in sorted((tenon.home / ".tenon").rglob("*")) if path.is_file())


def test_the_same_line_is_told_once() -> None:
    """With how often; each conversation that the proxy knows may hold the text."""
    said = io.StringIO()
    forget.show(["a memory", "words in front", "words in front"], dry_run=False, out=Out(said, said))

    assert "This will be forgotten:\n  a memory\n  words in front (2 times)\n" == said.getvalue()


def test_a_memory_is_forgotten_for_good(tenon: Tenon) -> None:
    """It cannot be written again, except on purpose."""
    ref = tenon.written(f"the vault is {SECRET}")
    result = tenon("forget", ref, "--yes")

    assert (0, True) == (result.code, "Forgotten." in result.out), result.err
    assert "" == tenon.ok("recall", "vault").out
    assert SECRET.lower().encode() not in everything_stored(tenon).lower()
    refused = tenon("write", f"the vault is {SECRET}")
    assert (1, True) == (refused.code, "tenon write --again" in refused.err)
    tenon.ok("write", f"the vault is {SECRET}", "--again")
    assert ref in tenon.ok("recall", "vault").out


def test_a_dry_run_changes_nothing(tenon: Tenon) -> None:
    """It shows what would go."""
    ref = tenon.written(f"the vault is {SECRET}")

    assert f"This would be forgotten:\n  {ref} [short fact] «the vault is {SECRET}»\n" == tenon.ok("forget", ref, "--dry-run").out
    assert [{"what": f"{ref} [short fact] «the vault is {SECRET}»", "forgotten": False}] == tenon.ok("forget", ref, "--dry-run", "--json").records
    assert ref in tenon.ok("recall", "vault").out


def test_without_a_terminal_it_wants_to_be_told_yes(tenon: Tenon) -> None:
    """Exit code 1, and nothing is gone."""
    ref = tenon.written(f"the vault is {SECRET}")

    result = tenon("forget", ref)

    assert (1, True) == (result.code, "say --yes" in result.err)
    assert ref in tenon.ok("recall", "vault").out


def said(tenon: Tenon) -> str:
    """The id of a memory that plain code made of the archived turn t1."""
    talk = tenon.talk()
    talk.prompt(f"Remember: the staging vault is {SECRET}")
    talk.reply("I will.")
    tenon.ok("import")
    return str(tenon.ok("recall", SECRET, "--json").records[0]["id"])


def test_the_turn_that_says_the_same_is_named_and_stays(tenon: Tenon) -> None:
    """Before it is done and after; the turn is found until it is forgotten too."""
    ref = said(tenon)
    asked, done = tenon.ok("forget", ref, "--dry-run"), tenon.ok("forget", ref, "--yes")

    assert f"said in t1; it stays and can be recalled: `tenon forget {ref} --said` forgets it too" in " ".join(asked.out.split())
    assert "It is still said in t1: that stays and can be recalled until it is forgotten too. `tenon forget t1` does that." in " ".join(done.out.split())
    assert "t1" in tenon.ok("recall", SECRET, "--archive").out


def test_with_said_the_turn_goes_too(tenon: Tenon) -> None:
    """Nothing stored has a word of it, and nothing is said to stay."""
    done = tenon.ok("forget", said(tenon), "--said", "--yes")

    assert "t1 [user prompt]" in done.out
    assert "still said" not in done.out
    assert SECRET.lower().encode() not in everything_stored(tenon).lower()


@pytest.mark.skipif(os.name == "nt", reason="no pseudo-terminal")
@pytest.mark.parametrize(("further", "gone"), [(b"y\n", True), (b"\n", False)])
def test_on_a_terminal_it_asks_for_the_turn_too(tenon: Tenon, further: bytes, gone: bool) -> None:
    """Yes takes what was said along, anything else leaves it."""
    import pty

    ref = said(tenon)
    main, side = pty.openpty()
    try:
        run = subprocess.Popen([PYTHON, DOOR, "forget", ref], stdin=side, stdout=subprocess.DEVNULL, stderr=side, cwd=tenon.project, env=tenon.environment())
        told = b""
        for answer, question in ((b"y\n", b"for good? [y/N]"), (further, b"what was said in t1? [y/N]")):
            while question not in told:
                told += os.read(main, 1000)
            os.write(main, answer)
        assert 0 == run.wait(60)
    finally:
        os.close(main)
        os.close(side)

    assert ("" == tenon.ok("recall", SECRET, "--archive").out) == gone


@pytest.mark.skipif(os.name == "nt", reason="no pseudo-terminal")
@pytest.mark.parametrize(("answer", "code", "gone"), [(b"y\n", 0, True), (b"\n", 1, False)])
def test_on_a_terminal_it_asks(tenon: Tenon, answer: bytes, code: int, gone: bool) -> None:
    """Yes is yes, anything else is no."""
    import pty

    ref = tenon.written(f"the vault is {SECRET}")
    main, side = pty.openpty()
    try:
        run = subprocess.Popen([PYTHON, DOOR, "forget", ref], stdin=side, stdout=subprocess.DEVNULL, stderr=side, cwd=tenon.project, env=tenon.environment())
        told = b""
        while b"[y/N]" not in told:
            told += os.read(main, 1000)
        os.write(main, answer)
        assert code == run.wait(60)
    finally:
        os.close(main)
        os.close(side)

    assert gone == (tenon.ok("recall", "vault").out == "")


def test_a_text_is_forgotten_wherever_it_stands(tenon: Tenon) -> None:
    """Read from stdin, never from a flag; from memories, turns and summaries; and not brought back by another import."""
    talk = tenon.talk()
    talk.prompt(f"Remember that the staging vault is {SECRET}")
    talk.reply("I will.")
    talk.prompt("What else is there to do here today?")
    talk.reply("Nothing else.")
    tenon.ok("import")
    tenon.written(f"the vault is {SECRET}")
    tenon.written("the gateway is 8443")
    tenon.ok("recall", SECRET, "--archive")

    result = tenon("forget", "--text", "-", "--yes", given=SECRET.upper() + "\n")

    assert 0 == result.code, result.err
    assert f"transcript of that session still has it, until Claude Code cleans it up or you delete it:\n  {os.path.realpath(talk.path)}\n" in result.err
    assert SECRET.lower().encode() not in everything_stored(tenon).lower()
    tenon.ok("import")
    found = tenon.ok("recall", SECRET, "--archive").out
    assert ("vault" in found, SECRET.lower() in found.lower()) == (False, False)
    assert "8443" in tenon.ok("recall", "gateway").out
    assert "Nothing that is stored contains that text" in tenon("forget", "--text", "-", "--yes", given=SECRET).err


def test_a_text_that_was_piped_in_wants_yes(tenon: Tenon) -> None:
    """Stdin is used up, so nobody can be asked on it."""
    tenon.written(f"the vault is {SECRET}")
    result = tenon("forget", "--text", "-", given=SECRET)

    assert (1, True) == (result.code, "add --yes" in result.err)
    assert "" != tenon.ok("recall", "vault").out


def test_what_is_forgotten_already_is_nothing_to_forget(tenon: Tenon) -> None:
    """Exit code 0, and nobody is asked."""
    tenon.talk().prompt("Which port does the gateway use?")
    tenon.ok("import")
    tenon.ok("forget", "t1", "--yes")
    again = tenon("forget", "t1")

    assert (0, "Nothing to forget: t1 was forgotten before.\n") == (again.code, again.err)


def test_the_text_is_never_a_value_of_a_flag(tenon: Tenon) -> None:
    """It would stand in the shell's history."""
    refused = tenon("forget", "--text", SECRET)
    assert (2, True, False) == (refused.code, "is read from stdin" in refused.err, SECRET in refused.err)
