"""The command as such: help, exit codes, streams, the door."""

from __future__ import annotations

import importlib
import json
import os
import shutil
import subprocess
import sys
from io import StringIO
from pathlib import Path

import pytest

from tenon import __version__
from tenon.cli import overview, table
from tenon.cli.main import VERBS, main
from tenon.cli.out import Out
from tests.cli.conftest import DOOR, PYTHON, PYTHONS, ROOT, Tenon
from tests.fakes.transcripts import Transcript

READING = ("recall", "why", "status", "agents", "alias", "config", "paths", "doctor")


def test_the_bare_command_shows_short_help(tenon: Tenon) -> None:
    """Every verb, and where to read on."""
    result = tenon.ok()

    assert set(VERBS) <= set(result.out.split())
    assert (True, "") == (len(result.out.splitlines()) < 40, result.err)
    assert result.out == tenon.ok("--help").out


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_explains_itself_with_examples_first(tenon: Tenon, verb: str) -> None:
    """Two at least, before the arguments; and every reading verb speaks JSON."""
    told = tenon.ok(verb, "-h").out
    before = told.split("arguments:")[0].split("options:")[0]

    assert before.count(f"tenon {verb} ") + before.count(f"tenon {verb}\n") + before.count(f" {verb} ") >= 3  # the usage and two examples
    assert (verb not in READING) or "--json" in told
    tenon.env = {"COLUMNS": "80"}
    assert 40 >= max(told.count("\n"), tenon.ok(verb, "-h").out.count("\n"))


def test_the_version_is_the_library_s(tenon: Tenon) -> None:
    """On stdout."""
    assert f"tenon {__version__}\n" == tenon.ok("--version").out


@pytest.mark.parametrize(
    "wrong",
    [
        ("recal", "x"),
        ("recall",),
        ("recall", "x", "-k", "many"),
        ("recall", "x", "-k", "0"),
        ("recall", "x", "-k", "-3"),
        ("why", "-n", "0"),
        ("write",),
        ("--colour",),
        ("why", "--cue", "x"),
        ("forget",),
        ("alias", "one"),
    ],
)
def test_wrong_usage_is_told_apart(tenon: Tenon, wrong: tuple[str, ...]) -> None:
    """Exit code 2, a line on stderr, nothing on stdout."""
    result = tenon(*wrong)

    assert (2, "", True) == (result.code, result.out, "error:" in result.err)


def test_an_unknown_argument_is_told_with_the_verb_s_own_usage(tenon: Tenon) -> None:
    """And where to read on."""
    found = tenon("install", "--foo")
    assert (2, True) == (found.code, found.err.startswith("usage: tenon install "))
    assert "tenon install: error: there is no argument --foo; `tenon install -h` shows what there is\n" in found.err
    assert "tenon: error: there is no argument --foo; `tenon -h` shows" in tenon("--foo").err


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (("code", "-p", "say hello"), "arguments of claude's own go after --: tenon code -- -p 'say hello'"),
        (("--agent", "x", "code", "--port=9100", "--continue", "--model", "opus"), "go after --: tenon --agent x code --port=9100 -- --continue --model opus"),
        (("code", "--port", "abc"), "argument --port: 'abc' is not a whole number"),
        (("code", "--port", "99999"), "argument --port: it is from 1 to 65535, not 99999"),
        (("start", "--max-context", "5"), "argument --max-context: it is from 20,000 to 10,000,000, not 5"),
        (("proxy", "frob"), "tenon proxy: error: there is no 'frob'; it may be on, off or status\n"),
        (("digest", "lgo"), "tenon digest: error: there is no 'lgo'; did you mean 'log'?\n"),
        (("recall", "x", "--tier", "lng"), "tenon recall: error: there is no 'lng' for --tier; did you mean 'long'?\n"),
    ],
)
@pytest.mark.skipif(os.name == "nt", reason="quotes of another kind")
def test_a_slip_is_told_with_the_way_out(tenon: Tenon, given: tuple[str, ...], says: str) -> None:
    """Before anything is started."""
    found = tenon(*given)
    assert (2, True, False) == (found.code, says in found.err, (tenon.home / ".tenon").exists()), found.err


def test_help_and_version_are_words_too(tenon: Tenon) -> None:
    """As their flags."""
    assert tenon.ok("--help").out == tenon.ok("help").out
    assert tenon.ok("recall", "-h").out == tenon.ok("help", "recall").out
    assert tenon.ok("--version").out == tenon.ok("version").out


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full")
def test_an_output_that_cannot_be_written_is_a_sentence(tenon: Tenon) -> None:
    """Exit code 1, and nothing more."""
    tenon.written("something")
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [PYTHON, "-I", "-S", DOOR, "status"], stdout=full, stderr=subprocess.PIPE, cwd=tenon.project, env=tenon.environment(), timeout=60, check=False
        )

    assert (1, 1, True) == (done.returncode, done.stderr.count(b"\n"), b"the output cannot be written" in done.stderr), done.stderr


def test_the_demo_names_what_it_cannot_start() -> None:
    """In a sentence."""
    done = subprocess.run([sys.executable, str(ROOT / "tests" / "demo.py"), "/nope"], capture_output=True, timeout=60, check=False)

    assert (1, True) == (done.returncode, b"/nope is no program that can be started" in done.stderr), done.stderr


@pytest.mark.parametrize("columns", ["60", "80", "100"])
def test_the_overview_fits_and_says_how_it_ends(tenon: Tenon, columns: str) -> None:
    """Examples before the verbs, each verb once; the exit codes are told."""
    tenon.env = {"COLUMNS": columns}
    told = tenon.ok().out

    assert (True, True) == (told.index("tenon recall how") < told.index("Memories:"), (60 if columns == "60" else 40) > told.count("\n"))
    assert (" ".join(told.split()).count(f"status {VERBS['status']}"), False) == (1, "…" in told.replace("VERB …", ""))
    assert max(map(len, told.splitlines())) <= int(columns)
    assert "0 done, 1 refused, 2 wrong usage, 3 a fault of ours, 130 interrupted" in " ".join(told.split())
    assert sorted(VERBS) == sorted(name for names in overview.groups().values() for name in names)
    assert overview.REST not in overview.groups()


@pytest.mark.parametrize("columns", [60, 80])
@pytest.mark.parametrize("verb", ["", *VERBS])
def test_examples_fit_and_a_comment_is_no_command(verb: str, columns: int) -> None:
    """Commands are two columns in; a comment is behind its command, or below it and deeper, and no word is cut; none begins where a command does."""
    text = importlib.import_module("tenon.cli." + {"": "overview", "import": "importing"}.get(verb, verb.replace("-", "_"))).EXAMPLES
    lines = overview.examples(text, columns)
    commands = [line for line in lines if not line.startswith("   ")]

    assert columns >= max(map(table.width, lines)), lines
    assert len(text.strip().splitlines()) == len(commands)
    assert text.split() == [word for line in lines for word in line.split() if word != "\\"]
    assert all(line.startswith("      ") for line in lines if line not in commands)


@pytest.mark.parametrize("verb", [("install", "--dry-run"), ("uninstall", "--dry-run"), ("logs",), ("export", "all.jsonl"), ("import", "--dry-run")])
def test_on_a_terminal_sentences_are_folded_between_words(verb: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At 60 columns; what is longer is one word, a path say, and a command to be copied stays on its line."""
    told = StringIO()
    monkeypatch.setattr("tenon.cli.out.make", lambda _: Out(told, told, wide=60, room=60))
    monkeypatch.setenv("TENON_CLAUDE", str(tmp_path / "none"))
    monkeypatch.chdir(tmp_path)
    Transcript(str(Path.home() / ".claude" / "projects" / "-p" / "s1.jsonl"), folder=str(tmp_path)).prompt("we deploy on Tuesdays only")
    main(["write", "deploys are on Tuesdays"])
    told.truncate(told.seek(0))
    main(list(verb))
    long = [line for line in told.getvalue().splitlines() if table.width(line) > 60 and " " in line.strip() and not line.startswith("  claude ")]

    assert (True, []) == (len(told.getvalue()) > 40, long)


def test_comments_are_all_beside_or_all_below_their_commands() -> None:
    """And a command that is too long goes on as a shell takes it, a flag with its value."""
    text = 'tenon a   first text!\ntenon b --flag "x y"   second'

    assert ["  tenon a               first text!", '  tenon b --flag "x y"  second'] == overview.examples(text, 35)
    assert ["  tenon a", "      first text!", '  tenon b --flag "x y"', "      second"] == overview.examples(text, 34)
    assert ["  tenon b \\", '      --flag "x y"', "      second"] == overview.examples(text, 20)[2:]
    assert ["  tenon a  " + "word " * 9 + "word", " " * 11 + "word"] == overview.examples("tenon a  " + "word " * 11, 62)


@pytest.mark.parametrize(
    ("environment", "coloured"),
    [
        ({"FORCE_COLOR": "1"}, True),
        ({"CLICOLOR_FORCE": "1"}, True),
        ({"FORCE_COLOR": "0"}, False),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
        ({"FORCE_COLOR": "1", "TERM": "dumb"}, True),
    ],
)
def test_colour_can_be_forced_into_a_pipe(tenon: Tenon, environment: dict[str, str], coloured: bool) -> None:
    """As other programs have it; NO_COLOR goes first."""
    tenon.written("coloured words")
    tenon.env = environment
    assert coloured == ("\033[1m" in tenon.ok("recall", "words").out)
    assert "\033[1m" not in tenon.ok("recall", "words", "--color", "never").out


def test_a_wrong_verb_or_flag_names_the_nearest(tenon: Tenon) -> None:
    """As a hint, not by doing it."""
    assert "there is no argument --jsn; did you mean --json?" in tenon("status", "--jsn").err
    assert "there is no argument --every-where=x; did you mean --everywhere?" in tenon("recall", "x", "--every-where=x").err
    assert "did you mean 'recall'?" in tenon("recal", "x").err


def test_a_refusal_is_one_sentence_on_stderr(tenon: Tenon) -> None:
    """Exit code 1, no traceback."""
    tenon.written("something")
    result = tenon("reinforce", "mnosuchone")

    assert (1, "", "tenon reinforce: there is no memory 'mnosuchone'; ids look like m7k2p9qxab and come from recall\n") == (result.code, result.out, result.err)


def test_a_fault_of_ours_is_noted_and_says_where(tenon: Tenon, tmp_path: Path) -> None:
    """Exit code 3; doctor finds it later."""
    copy = tmp_path / "copy"
    for part in ("bin", "scripts"):
        shutil.copytree(ROOT / part, copy / part, ignore=shutil.ignore_patterns("__pycache__"))
    (copy / "scripts" / "tenon" / "cli" / "paths.py").write_text(
        "HELP = EXAMPLES = 'x'\ndef arguments(parser): pass\ndef run(options, out): raise KeyError('lost')\n", encoding="utf-8"
    )

    result = tenon("paths", start=(PYTHON, "-I", "-S", str(copy / "bin" / "tenon")))

    log = tenon.home / ".tenon" / "faults.log"
    assert (3, "") == (result.code, result.out)
    assert f"a fault of Tenon itself (KeyError: 'lost'); it is noted in {log}" in result.err
    assert ("tenon paths", "KeyError") == tuple(json.loads(log.read_text(encoding="utf-8"))[name] for name in ("door", "error"))


def test_a_damaged_store_is_a_sentence_and_no_fault(tenon: Tenon) -> None:
    """The way out is in it."""
    tenon.written("something")
    store = tenon.home / ".tenon" / "agents" / "default" / "tenon.db"
    store.write_bytes(b"this is no database, whatever it is called" * 100)

    result = tenon("recall", "something")

    assert (1, True) == (result.code, "is damaged" in result.err), result.err


def test_reading_before_anything_is_stored_finds_nothing(tenon: Tenon) -> None:
    """That is no fault, and nothing is made by it."""
    for verb in (("recall", "anything"), ("why",), ("status",), ("agents",), ("alias",), ("paths",), ("config",)):
        assert 0 == tenon(*verb).code, verb

    assert not (tenon.home / ".tenon").exists()


def test_options_for_all_stand_before_or_after_the_verb(tenon: Tenon) -> None:
    """--agent chooses whose memory."""
    tenon.ok("--agent", "reviewer", "write", "Reviewers like small changes")

    assert "small changes" in tenon.ok("recall", "changes", "--agent", "reviewer").out
    assert "" == tenon.ok("recall", "changes").out
    assert 1 == tenon("recall", "changes", "--agent", "../evil").code


def test_colour_is_for_terminals_alone(tenon: Tenon) -> None:
    """Off in a pipe; on when asked for; NO_COLOR stands against automatic colour."""
    tenon.written("coloured words")

    assert "\033[" not in tenon.ok("recall", "words").out
    assert "\033[1m" in tenon.ok("recall", "words", "--color", "always").out
    assert "\033[" not in tenon.ok("recall", "words", "--color=never").out


def test_nothing_stored_or_given_steers_the_terminal(tenon: Tenon) -> None:
    """Controls are seen as pictures, bidi and zero-width marks are left out; joiners, line ends and our own colours stay."""
    ref = tenon.written("zebra \x1b]0;pwned\x07 \x1b[2J\x9b31m \u202eevil\u202c zero\u200bwidth 👩\u200d👩\u200d👧\r\nnext\tone\x7f")

    for more in ((), ("--color", "always"), ("--explain",)):
        told = tenon.ok("recall", "zebra", *more).out
        assert "zebra ␛]0;pwned␇ ␛[2J\ufffd31m evil zerowidth 👩\u200d👩\u200d👧\n    next\tone␡\n" in told
        assert ("\x1b[1m" + ref + "\x1b[0m" if "always" in more else ref) in told
    assert not set("\x1b\x07\x9b\u202e") & set(tenon.ok("why", ref, "--cue", "zebra").out)
    refused = tenon("--agent", "\x1b]0;x\x07", "status")
    assert (1, "tenon status: '␛]0;x␇' is not an agent name") == (refused.code, refused.err.split(":")[0] + ":" + refused.err.split(":")[1])


@pytest.mark.skipif(os.name == "nt", reason="names of files")
def test_the_name_of_a_folder_does_not_steer_the_terminal(tenon: Tenon) -> None:
    """Wherever it is told."""
    folder = tenon.project / "x\x1b]0;t\x07y"
    folder.mkdir()
    result = tenon("write", "zebra", cwd=folder)
    assert 0 == result.code, result.err
    for verb in ("status", "alias", "doctor"):
        result = tenon(verb, cwd=folder)
        assert not set("\x1b\x07") & set(result.out + result.err), verb
    assert "x␛]0;t␇y" in tenon.ok("alias").out


def test_json_is_one_line_a_record_for_any_reader(tenon: Tenon) -> None:
    """Whatever a reader takes for a line's end; the text is whole."""
    tenon.written("zebra \u2028 one \x85 two \x1b[2J é")

    told = tenon.ok("recall", "zebra", "--json").out
    assert (1, True) == (len(told.splitlines()), told.isascii())
    assert "zebra \u2028 one \x85 two \x1b[2J é" == json.loads(told)["content"]


@pytest.mark.skipif(os.name == "nt", reason="no pseudo-terminal")
@pytest.mark.parametrize(("env", "coloured"), [({"TERM": "xterm"}, True), ({"TERM": "dumb"}, False), ({"TERM": "xterm", "NO_COLOR": "1"}, False)])
def test_colour_on_a_terminal(tenon: Tenon, env: dict[str, str], coloured: bool) -> None:
    """Unless the environment says otherwise."""
    import pty

    tenon.written("coloured words")
    main, side = pty.openpty()
    try:
        subprocess.run(
            [PYTHON, DOOR, "recall", "words"], stdout=side, stderr=side, cwd=tenon.project, env={**tenon.environment(), **env}, timeout=60, check=True
        )
        told = os.read(main, 10_000)
    finally:
        os.close(main)
        os.close(side)

    assert coloured == (b"\033[1m" in told)


def test_output_is_utf_8_whatever_the_locale(tenon: Tenon) -> None:
    """And input too."""
    tenon.env = {"LC_ALL": "C", "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    tenon.ok("write", "-", given="Grüße aus 東京 🌍")

    assert "Grüße aus 東京 🌍" in tenon.ok("recall", "Grüße").out


@pytest.mark.skipif(os.name == "nt", reason="head")
def test_a_reader_that_leaves_is_no_fault(tenon: Tenon) -> None:
    """`tenon … | head -1` is quiet."""
    tenon.written("word " * 1500)
    pipe = subprocess.Popen([PYTHON, DOOR, "recall", "word"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tenon.project, env=tenon.environment())
    assert pipe.stdout is not None
    assert pipe.stderr is not None
    pipe.stdout.close()

    assert (b"", 0) == (pipe.stderr.read(), pipe.wait(60))
    pipe.stderr.close()


@pytest.mark.skipif(os.name == "nt", reason="links need a privilege")
def test_the_door_works_through_links_and_from_anywhere(tenon: Tenon, tmp_path: Path) -> None:
    """Linked into ~/.local/bin, twice over, with a plain python3."""
    first, second = tmp_path / "bin one" / "tenon", tmp_path / "bin two" / "tenon"
    for link, target in ((first, Path(DOOR)), (second, first)):
        link.parent.mkdir()
        link.symlink_to(os.path.relpath(target, link.parent))

    result = tenon("paths", "--json", start=(PYTHON, str(second)), cwd=tmp_path)

    assert (0, "", str(ROOT)) == (result.code, result.err, result.records[0]["plugin"])


def test_nothing_of_the_user_s_python_is_imported(tenon: Tenon, tmp_path: Path) -> None:
    """Neither the folder one is in, nor PYTHONPATH, nor the site's packages answer an import."""
    for folder in (tenon.project, tmp_path / "own"):
        folder.mkdir(exist_ok=True)
        for name in ("argparse", "json", "sqlite3", "tenon"):
            (folder / f"{name}.py").write_text("raise SystemExit('hijacked')\n", encoding="utf-8")
    tenon.env = {"PYTHONPATH": str(tmp_path / "own")}

    result = tenon("paths", start=(PYTHON, DOOR))

    assert (0, "") == (result.code, result.err)


@pytest.mark.parametrize("version", ["2.7.18", "3.6.15", "3.8.18"])
def test_an_old_python_is_refused_with_a_sentence(tenon: Tenon, version: str) -> None:
    """Not with a syntax error."""
    old = PYTHONS / version / "bin" / "python"
    if not old.exists():
        pytest.skip(f"no Python {version} here")

    result = tenon("recall", "x", start=(str(old), DOOR))

    assert (1, "") == (result.code, result.out)
    assert f"needs Python 3.9 or newer, and python3 is {version[:3]} here" in result.err
