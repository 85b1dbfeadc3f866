"""What Claude Code reads of the plugin: one version everywhere, and hooks that every supported version can load."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import tenon

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

ROOT = Path(__file__).resolve().parents[1]
# The events of 2.1.197: one that a version does not know switches off all hooks of the plugin there.
EVENTS = set(
    "PreToolUse PostToolUse PostToolUseFailure PostToolBatch Notification UserPromptSubmit UserPromptExpansion SessionStart SessionEnd Stop StopFailure "
    "SubagentStart SubagentStop PreCompact PostCompact PermissionRequest PermissionDenied Setup TeammateIdle TaskCreated TaskCompleted Elicitation "
    "ElicitationResult ConfigChange WorktreeCreate WorktreeRemove InstructionsLoaded CwdChanged FileChanged MessageDisplay".split()
)
# What means something to sh, cmd or PowerShell, or would be a Windows path.
SHELL = re.compile(r"[\\;&|<>`'\"*?!#%()\[\]~^\n]|\$(?!\{CLAUDE_PLUGIN_ROOT\})")
OURS = re.compile(r"\.(json|py|md|cmd|toml|sql)$|^tenon$")


def read(name: str) -> Any:
    """A JSON file of the repository."""
    return json.loads((ROOT / name).read_text(encoding="utf-8"))


def handlers() -> list[tuple[str, dict[str, Any]]]:
    """Each hook with its event."""
    return [(event, hook) for event, groups in read("hooks/hooks.json")["hooks"].items() for group in groups for hook in group["hooks"]]


def shipped() -> list[Path]:
    """The plugin's own files, as a user gets them."""
    folders = (".claude-plugin", "bin", "commands", "hooks", "mcp_server", "scripts", "skills")
    found = [path for folder in folders for path in (ROOT / folder).rglob("*") if path.is_file() and OURS.search(path.name)]
    return [*found, ROOT / "plugin.json", ROOT / ".mcp.json"]


def test_both_manifests_are_the_same_bytes() -> None:
    """And real files: a link may arrive on Windows as text."""
    inner = ROOT / ".claude-plugin" / "plugin.json"

    assert inner.read_bytes() == (ROOT / "plugin.json").read_bytes()
    assert not inner.is_symlink()


def test_there_is_one_version() -> None:
    """Users get an update only when it moves."""
    newest = re.search(r"^## \[?v?(\d+\.\d+\.\d+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.M)
    entry = read(".claude-plugin/marketplace.json")["plugins"][0]

    assert newest is not None
    assert {tenon.__version__} == {read("plugin.json")["version"], entry["version"], newest.group(1)}


def test_the_marketplace_offers_this_folder() -> None:
    """And says of it what the manifest says."""
    market, manifest = read(".claude-plugin/marketplace.json"), read("plugin.json")
    (entry,) = market["plugins"]

    assert ("tenon", "./") == (market["name"], entry["source"])
    assert {name: manifest[name] for name in ("name", "version", "description", "license", "keywords", "homepage")} == {
        name: entry[name] for name in ("name", "version", "description", "license", "keywords", "homepage")
    }
    assert "Apache License" in (ROOT / "LICENSE").read_text(encoding="utf-8")


def test_the_server_starts_by_python_alone() -> None:
    """Another Python can be named in one variable; the tools are there from the first request."""
    assert {
        "mcpServers": {
            "memory": {"command": "${TENON_PYTHON:-python3}", "args": ["-I", "-S", "${CLAUDE_PLUGIN_ROOT}/mcp_server/__main__.py"], "alwaysLoad": True}
        }
    } == read(".mcp.json")


def test_every_supported_version_knows_each_event() -> None:
    """2.1.197 is the oldest."""
    assert set() == {event for event, _ in handlers()} - EVENTS


def test_an_event_has_one_handler() -> None:
    """Several would run at once and twice."""
    events = [event for event, _ in handlers()]

    assert sorted(set(events)) == sorted(events)


@pytest.mark.parametrize(("event", "hook"), handlers(), ids=lambda value: value if isinstance(value, str) else "")
def test_a_hook_is_a_program_and_its_arguments(event: str, hook: dict[str, Any]) -> None:
    """Never a line for a shell: a backslash or a bracket would be read differently by each."""
    assert {"type", "command", "args", "timeout"} == set(hook), event
    assert "command" == hook["type"]
    assert ["python3", "-I", "-S", "${CLAUDE_PLUGIN_ROOT}/hooks/hook.py"] == [hook["command"], *hook["args"]]
    assert [] == [word for word in (hook["command"], *hook["args"]) if SHELL.search(word)]


def test_the_hooks_file_is_wrapped_and_holds_what_both_versions_read() -> None:
    """Without the wrapper nothing loads."""
    assert {"description", "hooks"} == set(read("hooks/hooks.json"))


def test_nothing_makes_claude_code_fetch_packages() -> None:
    """It runs npm where it finds a package.json with a lock."""
    names = ("package.json", "package-lock.json", "npm-shrinkwrap.json", "requirements.txt", "setup.py")

    assert [] == [str(path) for path in shipped() if path.name in names]
    assert [] == [name for name in names if (ROOT / name).exists()]


def test_no_file_names_a_version_folder_or_a_home() -> None:
    """Such a path is gone with the next update, or is somebody else's."""
    wrong = re.compile(r"plugins/cache/[\w-]+/[\w-]+/\d|(?<!~)/(?:home|Users)/(?!me\b|user\b|u\b)\w+/|C:\\\\?Users")
    told = [f"{path.relative_to(ROOT)}: {found.group()}" for path in shipped() for found in [wrong.search(path.read_text(encoding="utf-8"))] if found]

    assert [] == told


def test_every_shipped_text_has_unix_line_ends() -> None:
    """Only the file for cmd may have others."""
    assert [] == [str(path) for path in shipped() if path.suffix != ".cmd" and b"\r\n" in path.read_bytes()]


@pytest.mark.parametrize(
    "path", sorted([*(ROOT / "commands").glob("*.md"), *(ROOT / "skills").glob("*/SKILL.md")]), ids=lambda path: f"{path.parent.name}/{path.name}"
)
def test_a_command_works_by_its_bare_name(path: Path) -> None:
    """Which the name in its front matter decides; and it says what it is for."""
    head = path.read_text(encoding="utf-8").split("---")[1]
    fields = dict(re.findall(r"^([\w-]+): (.+)$", head, re.M))

    assert (path.stem if path.name != "SKILL.md" else path.parent.name) == fields["name"]
    assert len(fields["description"]) > 20
