"""The documents say what the code does."""

from __future__ import annotations

import re
from pathlib import Path

from mcp_server import schemas
from tenon.base import settings
from tenon.cli import main

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


def test_the_readme_has_every_verb_and_every_slash_command() -> None:
    """What can be typed is told."""
    for verb in main.VERBS:
        assert re.search(rf"`tenon [^`]*\b{verb}\b|`{verb}`|`[^`]*tenon {verb}", README), verb
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
