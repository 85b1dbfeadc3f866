"""How far long work is: on a terminal one line drawn over itself, elsewhere a line now and then, and nothing of it afterwards."""

from __future__ import annotations

import os
import signal
import subprocess
from io import StringIO

import pytest

from tenon.cli import facts, progress
from tenon.cli.out import Out
from tests.cli.conftest import DOOR, PYTHON, Tenon
from tests.cli.test_importing import line as transcript_line
from tests.cli.test_importing import turns, wait_for


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ((10_000_000, 20_000_000, 10_000_000, 2.0, "bytes", "1,234 turns", 20), "x  [##########..........] 50%: 10.0 MB of 20.0 MB, 5.0 MB/s, 2 s left, 1,234 turns"),
        ((300_000_000, 3_000_000_000, 300_000_000, 300.0, "bytes", "", 0), "x  10%: 300.0 MB of 3.0 GB, 1.0 MB/s, 45 min 00 s left"),
        ((20, 100, 10, 2.0), "x  20%: 20 of 100, 5.0/s, 16 s left"),  # ten of them before it began
        ((20, 100, 10, 0.5), "x  20%: 20 of 100, 20/s"),  # too early for a guess
        ((20, 100, 0, 2.0), "x  20%: 20 of 100"),
        ((7_000, 0, 7_000, 2.0), "x  7,000, 3,500/s"),
        ((30, 20, 30, 2.0, "", "", 4), "x  [####] 100%: 30 of 20, 15/s"),
    ],
)  # fmt: skip
def test_a_line_says_share_rate_and_time_left(given: tuple[int, int, int, float], told: str) -> None:
    """As far as each is known."""
    assert told == progress.line("x", *given)


@pytest.mark.parametrize(
    ("columns", "told"),
    [
        (120, "reading transcripts  [##..................] 10%: 300.0 MB of 3.0 GB, 1.0 MB/s, 45 min 00 s left, 1,234 turns"),
        (105, "reading transcripts  [#.........] 10%: 300.0 MB of 3.0 GB, 1.0 MB/s, 45 min 00 s left, 1,234 turns"),
        (92, "reading transcripts  10%: 300.0 MB of 3.0 GB, 1.0 MB/s, 45 min 00 s left, 1,234 turns"),
        (79, "reading transcripts  10%: 300.0 MB of 3.0 GB, 1.0 MB/s, 45 min 00 s left"),
        (66, "reading  10%: 300.0 MB of 3.0 GB, 1.0 MB/s, 45 min 00 s left"),
        (59, "reading  10%, 1.0 MB/s, 45 min 00 s left"),
    ],
)
def test_a_narrow_terminal_keeps_share_rate_and_time_left(columns: int, told: str) -> None:
    """What is nice to have goes first, and nothing is cut."""
    assert told == progress.fitted(columns, "reading transcripts", 300_000_000, 3_000_000_000, 300_000_000, 300.0, "bytes", "1,234 turns")


def test_a_stretch_of_time_is_told_in_two_units() -> None:
    """Not in thousands of seconds."""
    assert ["0 s", "59 s", "1 min 00 s", "3 h 07 min"] == [progress.duration(seconds) for seconds in (0.2, 59.4, 59.6, 11_230)]


def test_short_work_shows_nothing_and_long_work_a_line_over_itself() -> None:
    """From half a second on, ten times a second at most; afterwards the terminal is as before."""
    clock = iter([0.0, 0.1, 0.4, 1.0, 1.05, 2.0])
    plain, notes = StringIO(), StringIO()
    with progress.shown(Out(plain, notes, live=True, room=70), "reading", 100, clock=lambda: next(clock)) as tick:
        for done in (1, 9):
            tick(done)
        assert "" == notes.getvalue()
        for done in (40, 1, 9):
            tick(done, note="2 files")
    first, second, gone = notes.getvalue().split("\r")[1:4]

    assert ["reading  [#####.....] 50%: 50 of 100, 50/s, 1 s left, 2 files", " " * 69] == [first.rstrip(), gone]
    assert second.startswith("reading  [######....] 60%: 60 of 100, 30/s")
    assert {69} == {len(first), len(second)}
    assert "" == plain.getvalue()


def test_elsewhere_a_line_comes_every_ten_seconds() -> None:
    """With no bar and no steering of a terminal."""
    clock = iter([0.0, 9.0, 11.0, 12.0, 22.0])
    notes = StringIO()
    with progress.shown(Out(StringIO(), notes), "reading", 100, clock=lambda: next(clock)) as tick:
        for done in (10, 20, 30, 44):
            tick.at(done)

    assert "reading  20%: 20 of 100, 1.8/s, 44 s left\nreading  44%: 44 of 100, 2.0/s, 28 s left\n" == notes.getvalue()


def test_another_label_begins_anew() -> None:
    """What was done before it, and the time that took, are not in its rate."""
    clock = iter([0.0, 100.0, 110.0])
    notes = StringIO()
    with progress.shown(Out(StringIO(), notes), "first", clock=lambda: next(clock)) as tick:
        tick.at(50, 60, label="second")
        tick.at(70, 90)

    assert "second  78%: 70 of 90, 2.0/s, 10 s left\n" == notes.getvalue().splitlines(keepends=True)[-1]


def test_words_take_the_line_away_first() -> None:
    """So that they do not stand behind it."""
    clock = iter([0.0, 1.0])
    notes = StringIO()
    out = Out(notes, notes, live=True, room=40)
    with progress.shown(out, "reading", clock=lambda: next(clock)) as tick:
        tick(5)
        out.line("a result")
        out.say("a note")

    assert [f"{' ' * 39}", "a result\na note\n"] == notes.getvalue().split("\r")[2:]


@pytest.mark.skipif(os.name == "nt", reason="no pseudo-terminal")
def test_an_interrupt_leaves_a_clean_line(tenon: Tenon) -> None:
    """On a real terminal; only the sentence is left."""
    import pty

    for number in range(30):
        tenon.talk(f"s{number}").raw(b"".join(transcript_line(number, at) for at in range(400)))
    main, side = pty.openpty()
    try:
        run = subprocess.Popen(
            [PYTHON, "-I", "-S", DOOR, "import"], stdout=subprocess.DEVNULL, stderr=side, cwd=tenon.project,
            env={**tenon.environment(), "TERM": "xterm", "COLUMNS": "76"},
        )  # fmt: skip
        wait_for(lambda: turns(tenon) > 100)
        told = b""
        while b"reading transcripts" not in told:
            told += os.read(main, 10_000)
        run.send_signal(signal.SIGINT)
        assert 130 == run.wait(60)
        while b"goes on from here" not in told.replace(b"\r\n", b" "):
            told += os.read(main, 10_000)
    finally:
        os.close(main)
        os.close(side)

    before, _, after = told.decode().rpartition(" " * 75 + "\r")
    assert "reading transcripts  " in before
    assert "%: " in before
    assert after.replace("\r\n", " ").startswith("Stopped; what was read so far is kept.")


def test_a_deep_check_says_how_far_it_is(tenon: Tenon) -> None:
    """Of each turn, and of how many in all."""
    talk = tenon.talk()
    for number in range(5):
        talk.prompt(f"question {number}")
    tenon.ok("import")
    told: list[tuple[int, int]] = []

    store = str(tenon.home / ".tenon" / "agents" / "default" / "tenon.db")
    facts.store_facts(store, str(tenon.project), 0.0, deep=True, on_turn=lambda done, total: told.append((done, total)))

    assert [(number, 5) for number in range(1, 6)] == told
