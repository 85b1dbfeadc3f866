"""The documents say what the code does."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from mcp_server import schemas
from tenon.base import settings
from tenon.cli import main
from tests import readme

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_readme_has_every_setting_with_its_default_and_meaning() -> None:
    """The table is the code's, line by line."""
    for name, (default, meaning) in settings.KNOWN.items():
        shown = {True: "on", False: "off"}.get(default) if isinstance(default, bool) else default
        assert f"| `{name}` | `{shown}` | {meaning} |" in README


def test_the_readme_has_every_tool_and_no_other() -> None:
    """In the order in which they are listed."""
    assert list(schemas.TOOLS) == re.findall(r"^\| `(memory_\w+|procedure|task_state)` \|", README, re.MULTILINE)


def test_the_readme_s_generated_blocks_are_the_code_s() -> None:
    """Verbs, settings and tools; `python3 tests/readme.py` writes them anew, and what else stands there stays."""
    assert [] == readme.stale(README)
    assert README == readme.written(README)
    assert ["verbs", "settings", "tools"] == readme.stale("")
    changed = re.sub(r"\| `tenon recall` \|[^\n]*\n", "", README, count=1)
    assert (["verbs"], README) == (readme.stale(changed), readme.written(changed))


def test_the_blocks_depend_on_no_terminal_and_no_python(tmp_path: Path) -> None:
    """Another width, colour and Python give the same."""
    for python in [sys.executable, *sorted(str(path) for path in Path.home().glob(".pyenv/versions/3.9.*/bin/python"))]:
        env = {"PATH": os.environ["PATH"], "COLUMNS": "30", "FORCE_COLOR": "1", "HOME": str(tmp_path)}
        done = subprocess.run([python, str(ROOT / "tests" / "readme.py"), "--check"], env=env, cwd=tmp_path, capture_output=True, timeout=60, check=False)
        assert (0, b"", b"") == (done.returncode, done.stdout, done.stderr)


def test_the_readme_has_every_verb_and_every_slash_command() -> None:
    """What can be typed is told."""
    for verb in main.VERBS:
        assert f"| `tenon {verb}` |" in README
    for command in (ROOT / "commands").glob("*.md"):
        assert f"`/{command.stem}" in README


def test_every_command_file_has_its_bare_name() -> None:
    """Without `name:` only the plugin's form would work."""
    for command in (ROOT / "commands").glob("*.md"):
        assert f"\nname: {command.stem}\n" in command.read_text(encoding="utf-8")


def test_the_skill_is_short() -> None:
    """Under 120 lines: its size is paid for."""
    assert 120 > (ROOT / "skills" / "memory" / "SKILL.md").read_text(encoding="utf-8").count("\n")


def test_links_between_the_documents_lead_somewhere() -> None:
    """Every relative link is a file."""
    for document in [*ROOT.glob("*.md"), ROOT / "scripts" / "tenon" / "README.md"]:
        for target in re.findall(r"\]\((?!https?:|#)([^)#]+)\)", document.read_text(encoding="utf-8")):
            assert (document.parent / target).exists(), f"{document.name}: {target}"
