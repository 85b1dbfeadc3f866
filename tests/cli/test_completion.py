"""`tenon completion`: what real shells make of the scripts."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tenon.cli import completion
from tenon.cli.main import VERBS
from tests.cli.conftest import DOOR, PYTHON, Tenon
from tests.fakes.terminal import Terminal, has_tmux

pytestmark = pytest.mark.skipif(os.name == "nt", reason="no such shells")

CASES = [
    ("tenon proxy o", {"on", "off"}),
    ("tenon stat", {"status", "statusline"}),
    ("tenon recall --ti", {"--tier"}),
    ("tenon recall status --tier l", {"long", "ltm"}),
    ("tenon --agent reviewer embed re", {"rebuild"}),
    ("tenon config inject.h", {"inject.hits"}),
    ("tenon digest auto o", {"on", "off"}),
    ("tenon digest show o", set()),
    ("tenon digest --limit 3 auto of", {"off"}),
    ("tenon config recall.ranking c", {"classic"}),
    ("tenon config archive.enabled o", {"on", "off"}),
    ("tenon config inject.hits o", set()),
    ("tenon config --unset inject.h", {"inject.hits"}),
    ("tenon help recal", {"recall"}),
    ("tenon --color n", {"never"}),
    ("tenon agents --delete rev", {"reviewer"}),
    ("tenon status --agent d", {"default"}),
    ("tenon import mar", {"marked.txt"}),
    ("tenon recall somet", set()),
]


@pytest.fixture()
def shell(tenon: Tenon, tmp_path: Path) -> Tenon:
    """The command on the PATH under its own name, two agents, and a file to be found."""
    bin_ = tmp_path / "bin"
    bin_.mkdir()
    (bin_ / "tenon").write_text(f'#!/bin/sh\nexec "{PYTHON}" -I -S "{DOOR}" "$@"\n', encoding="utf-8")
    (bin_ / "tenon").chmod(0o755)
    tenon.env = {"PATH": f"{bin_}{os.pathsep}{os.environ['PATH']}"}
    tenon.written("one")
    tenon.written("two", "--agent", "reviewer")
    (tenon.project / "marked.txt").write_text("x", encoding="utf-8")
    return tenon


def said(tenon: Tenon, *command: str) -> list[str]:
    """The lines that a shell prints."""
    done = subprocess.run(command, capture_output=True, cwd=tenon.project, env=tenon.environment(), timeout=60, check=False)
    assert (0, b"") == (done.returncode, done.stderr), done.stderr
    return done.stdout.decode("utf-8").splitlines()


@pytest.mark.skipif(not shutil.which("bash"), reason="no bash")
def test_bash_completes(shell: Tenon) -> None:
    """Verbs, flags and their values, places, settings, agents; with = too; nothing behind --."""
    program = 'source <(tenon completion bash); for line in "$@"; do echo "> $line"; COMP_WORDS=($line); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _tenon tenon 2>/dev/null; '
    program += '[[ ${#COMPREPLY[@]} == 0 ]] || printf "%s\\n" "${COMPREPLY[@]}"; done'
    lines = [line for line, _ in CASES if "import" not in line]  # files are readline's own, see below
    more = ["tenon recall --tier = s", "tenon code -- --ag"]
    told = "\n".join(said(shell, "bash", "--norc", "-c", program, "bash", *lines, *more)).split("> ")[1:]
    found = {part.splitlines()[0]: {word.strip() for word in part.splitlines()[1:]} for part in told}

    assert {line: words for line, words in CASES if "import" not in line} == {line: found[line] for line in lines}
    assert ({"short", "stm"}, set()) == (found[more[0]], found[more[1]])
    assert set(VERBS) | {"help"} == set(
        said(
            shell,
            "bash",
            "--norc",
            "-c",
            'source <(tenon completion bash); COMP_WORDS=(tenon ""); COMP_CWORD=1; _tenon tenon; printf "%s\\n" "${COMPREPLY[@]}"',
        )
    )


@pytest.mark.skipif(not shutil.which("fish"), reason="no fish")
@pytest.mark.parametrize(("line", "words"), CASES)
def test_fish_completes(shell: Tenon, tmp_path: Path, line: str, words: set[str]) -> None:
    """By its own engine."""
    (tmp_path / "tenon.fish").write_text(shell.ok("completion", "fish").out, encoding="utf-8")
    told = said(shell, "fish", "--no-config", "-c", f'source "{tmp_path}/tenon.fish"; complete -C "{line}"')

    assert words == {word.split("\t")[0] for word in told}


@pytest.mark.skipif(not shutil.which("zsh") or not has_tmux(), reason="no zsh, or no tmux to type into it")
def test_zsh_completes_as_it_is_typed(shell: Tenon, tmp_path: Path) -> None:
    """In a real terminal: a Tab makes one word of it, or shows what there is."""
    (tmp_path / "tenon.zsh").write_text(shell.ok("completion", "zsh").out, encoding="utf-8")
    env = {**shell.environment(), "TERM": "xterm", "PS1": "READY ", "ZDOTDIR": str(tmp_path)}
    (tmp_path / ".zshrc").write_text(f'PS1="READY "\nautoload -U compinit\ncompinit -D -u\nsource "{tmp_path}/tenon.zsh"\n', encoding="utf-8")
    with Terminal(["zsh", "-d", "-i"], shell.project, env, width=100) as terminal:
        terminal.wait_for("READY")
        for typed, shown in (
            ("tenon recall --ti", "tenon recall --tier"),
            ("tenon config inject.hi", "tenon config inject.hits"),
            ("tenon agents --delete rev", "tenon agents --delete reviewer"),
            ("tenon import mar", "tenon import marked.txt"),
            ("tenon --agent reviewer emb", "tenon --agent reviewer embed"),
            ("tenon proxy sta", "tenon proxy status"),
            ("tenon digest --again auto of", "tenon digest --again auto off"),
            ("tenon config recall.ranking cl", "tenon config recall.ranking classic"),
        ):
            terminal.keys("C-u")
            terminal.type(typed)
            terminal.wait_for(typed)
            terminal.keys("Tab")
            terminal.wait_for(shown)
        terminal.keys("C-u")
        terminal.type("tenon stat")
        terminal.keys("Tab", "Tab")
        terminal.wait_for("one short line for Claude Code’s status line")


def test_every_flag_and_choice_of_every_verb_is_in_every_script() -> None:
    """And no flag has a value with one verb and none with another, which fish could not tell apart."""
    verbs = completion.known()
    takes = [name for verb in verbs for flag in verb.flags if flag.takes for name in flag.names]
    bare = [name for verb in verbs for flag in verb.flags if not flag.takes for name in flag.names]

    assert [*VERBS, "help"] == [verb.name for verb in verbs]
    assert set() == set(takes) & set(bare)
    scripts = [make(verbs) for make in completion.SHELLS.values()]
    for verb in verbs:
        for flag in verb.flags:
            for value in (*flag.names, *flag.values):
                assert all(value.lstrip("-@") in script for script in scripts if value != "@files"), (verb.name, value)
    assert {("on", "off", "status")} == {verb.places[0] for verb in verbs if verb.name == "proxy"}
    assert "--background" not in takes + bare


def test_without_a_shell_it_says_which_there_are(tenon: Tenon) -> None:
    """Wrong usage; agents are told only where there are some."""
    assert (2, True) == ((done := tenon("completion")).code, "tenon completion bash" in done.err)
    assert 2 == tenon("completion", "tcsh").code
    assert "" == tenon.ok("completion", "--words", "agents").out
