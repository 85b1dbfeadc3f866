"""The real Claude Code takes the plugin: validated, added, installed, loaded, from a path with blanks and other letters, offline."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from tenon.world import claude_settings
from tests.fakes.claude_code import BINARIES_VARIABLE, ROOT, ClaudeCode, find_claude
from tests.fakes.messages_api import MessagesApi
from tests.fakes.replies import obey
from tests.live.user import LEFT_OUT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

FOUND = find_claude()
pytestmark = [
    pytest.mark.live,
    pytest.mark.skipif(not FOUND, reason=f"no Claude Code to test with: set {BINARIES_VARIABLE}"),
]
NOWHERE = "http://127.0.0.1:9"  # nothing answers there


@pytest.fixture()
def plugin(tmp_path: Path) -> Path:
    """A copy of the plugin where shells and URLs would stumble."""
    folder = tmp_path / "mes dépôts" / "tenon — ключ"
    shutil.copytree(ROOT, folder, ignore=shutil.ignore_patterns(*LEFT_OUT))
    return folder


@pytest.fixture(params=sorted(FOUND) or ["none"])
def claude(request: pytest.FixtureRequest, tmp_path: Path) -> ClaudeCode:
    """Each version, in a home of its own, with nothing to reach outside."""
    found = ClaudeCode(FOUND[request.param], tmp_path / "a höme", NOWHERE, tmp_path / "my prøject")
    found.env["HTTPS_PROXY"] = found.env["HTTP_PROXY"] = NOWHERE
    found.env["NO_PROXY"] = "127.0.0.1"
    return found


def settings(claude: ClaudeCode) -> dict[str, Any]:
    """The user's settings."""
    return claude_settings.read(str(claude.home / ".claude" / "settings.json"))


def tenon(claude: ClaudeCode, plugin: Path, *arguments: str) -> str:
    """What a command of the plugin's own command line says."""
    done = subprocess.run(
        [sys.executable, "-I", "-S", str(plugin / "bin" / "tenon"), *arguments], env=claude.env, cwd=claude.project, capture_output=True, check=False, timeout=60
    )  # fmt: skip
    assert 0 == done.returncode, done.stderr.decode()
    return done.stdout.decode()


def ran(claude: ClaudeCode, *args: str) -> tuple[list[str], str]:
    """The plugins and servers that a session says it has loaded, and its answer."""
    with MessagesApi(obey) as api:
        done = claude.run("good morning", "--output-format", "stream-json", "--verbose", *args, env={"ANTHROPIC_BASE_URL": api.url})
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    first = next(line for line in lines if line.get("subtype") == "init")
    servers = [server["name"] for server in first["mcp_servers"] if server["status"] in ("connected", "pending")]
    commands = [name for name in first["slash_commands"] if "memory" in name]
    return sorted([plugin["name"] for plugin in first["plugins"]] + servers + commands), lines[-1].get("result", "")


LOADED = ["plugin:tenon:memory", "tenon"] + [f"tenon:memory-{name}" for name in ("digest", "forget", "recall", "status", "why")]


@pytest.mark.parametrize("target", [".", ".claude-plugin/plugin.json"])
def test_strict_validation_passes(claude: ClaudeCode, plugin: Path, target: str) -> None:
    """Of the marketplace and of the plugin."""
    done = claude.plugin("validate", "--strict", str(plugin / target))

    assert (0, True) == (done.returncode, "Validation passed" in done.stdout), done.stdout + done.stderr


def test_two_commands_install_it(claude: ClaudeCode, plugin: Path) -> None:
    """Offline; the next session has the hooks, the server and the commands; doctor agrees."""
    added = claude.plugin("marketplace", "add", str(plugin))
    installed = claude.plugin("install", "tenon@tenon")
    loaded, answer = ran(claude)

    assert (0, 0) == (added.returncode, installed.returncode), added.stdout + added.stderr + installed.stdout + installed.stderr
    assert {"tenon@tenon": True} == settings(claude)["enabledPlugins"]
    assert set(LOADED) <= set(loaded)
    assert "heard: good morning" == answer.strip()
    assert "enabled as tenon@tenon" in tenon(claude, plugin, "doctor")


def test_what_is_installed_beside_it_is_taken_back(claude: ClaudeCode, plugin: Path) -> None:
    """Settings that Claude Code itself has written anew meanwhile keep what is not Tenon's."""
    (claude.home / ".claude").mkdir(parents=True)
    (claude.home / ".claude" / "settings.json").write_text('{\n  "model": "haiku"\n}\n', encoding="utf-8")
    tenon(claude, plugin, "install", "--yes")
    claude.plugin("marketplace", "add", str(plugin))
    claude.plugin("install", "tenon@tenon")
    between = settings(claude)
    tenon(claude, plugin, "uninstall", "--yes")
    after = settings(claude)

    assert {"statusLine", "permissions"} <= set(between)
    assert {"model", "enabledPlugins", "extraKnownMarketplaces"} == set(after)
    assert 0 == claude.plugin("uninstall", "tenon@tenon").returncode


def test_the_rule_lets_recall_run_without_asking(claude: ClaudeCode, plugin: Path) -> None:
    """In default mode, where every tool without a rule is refused in print mode."""
    tenon(claude, plugin, "install", "--yes")
    claude.plugin("marketplace", "add", str(plugin))
    claude.plugin("install", "tenon@tenon")
    tenon(claude, plugin, "write", "we deploy on Fridays only")
    call = '[[CALL mcp__plugin_tenon_memory__memory_recall {"cue": "deploy Fridays"}]]'
    with MessagesApi(obey) as api:
        done = claude.run(call, env={"ANTHROPIC_BASE_URL": api.url})

    assert "we deploy on Fridays only" in done.stdout, done.stdout + done.stderr


def test_a_copy_under_skills_loads_without_a_marketplace(claude: ClaudeCode, plugin: Path) -> None:
    """As `tenon install --skills-copy` makes it."""
    tenon(claude, plugin, "install", "--yes", "--skills-copy")
    loaded, _ = ran(claude)

    assert set(LOADED) <= set(loaded)
    assert not os.path.exists(claude.home / ".claude" / "skills" / "tenon" / "tests")


def shims(folder: Path, link: Path) -> Path:
    """A folder with a python3 that takes its time, notes what it starts, and starts what the link leads to, or the interpreter itself when that is gone."""
    folder.mkdir()
    link.parent.mkdir(parents=True)
    real = os.path.realpath(sys.executable)
    link.symlink_to(real)
    made = folder / "python3"
    made.write_text(f'#!/bin/sh\necho "$3" >>"{folder}/log"\nsleep 0.1\n[ -x "{link}" ] && exec "{link}" "$@"\nexec "{real}" "$@"\n', encoding="utf-8")
    made.chmod(0o700)
    return folder


@pytest.mark.skipif(os.name == "nt", reason="a line for sh")
def test_hooks_start_the_interpreter_behind_a_shim(claude: ClaudeCode, plugin: Path, tmp_path: Path) -> None:
    """From the next session on, and again after an update; when it is gone they start python3; uninstall gives the file back."""
    link = tmp_path / "my pythöns" / "3.x" / "python3"
    folder = shims(tmp_path / "my shims", link)
    claude.env["PATH"] = f"{folder}{os.pathsep}{claude.env['PATH']}"
    claude.plugin("marketplace", "add", str(plugin))
    claude.plugin("install", "tenon@tenon")
    file = plugin / "hooks" / "hooks.json"
    shipped = file.read_bytes()

    def kept(words: str) -> tuple[int, int]:
        """How often the shim was started for a hook in a session, and how often its prompt is in the archive."""
        log = folder / "log"
        log.unlink(missing_ok=True)
        with MessagesApi(obey) as api:
            assert "heard: " + words in claude.run(words, env={"ANTHROPIC_BASE_URL": api.url}).stdout
        store = claude.home / ".tenon" / "agents" / "default" / "tenon.db"
        with closing(sqlite3.connect(f"{store.as_uri()}?mode=ro", uri=True)) as con:
            found = con.execute("SELECT count(*) FROM turn WHERE kind = 'prompt' AND content LIKE ?", (f"%{words}%",)).fetchone()
        return (log.read_text(encoding="utf-8") if log.exists() else "").count("hooks/hook.py"), found[0]

    def most(words: str) -> tuple[bool, int]:
        started, archived = kept(words)
        return started >= 4, archived

    assert (True, 1) == most("one with the shim")
    assert f"let the hooks start {link} directly" in tenon(claude, plugin, "install", "--yes")
    assert (0, 1) == kept("two without it")
    file.write_bytes(shipped)  # an update
    assert (True, 1) == most("three after an update")
    assert (0, 1) == kept("four without it again")
    link.unlink()
    assert (True, 1) == most("five with the interpreter gone")
    assert 0 == claude.plugin("validate", "--strict", str(plugin)).returncode
    assert "byte for byte" in tenon(claude, plugin, "uninstall", "--yes")
    assert shipped == file.read_bytes()
