"""The computer as install, uninstall and doctor see it: whose folders, which system, which programs on the PATH."""

from __future__ import annotations

import os
import sys

import tenon
from tenon.base import paths

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

PLUGIN = "tenon"
SERVER = "mcp__plugin_tenon_memory__"  # what Claude Code puts before the names of the plugin's tools
# Permits every tool by name but the one that forgets: that asks each time.
RULES = tuple(
    SERVER + tool
    for tool in (
        "memory_recall", "memory_write", "memory_write_episode", "memory_reinforce", "memory_edit", "memory_graph",
        "procedure", "task_state", "memory_maintain", "memory_archive",
    )
)  # fmt: skip


class Machine:
    """Where things are. `root` is the copy of the plugin that is running; `search` the folders of the PATH."""

    __slots__ = ("user_home", "tenon_home", "claude_home", "root", "bin_dir", "windows", "search")

    def __init__(self, *, user_home: str, tenon_home: str, claude_home: str, root: str, bin_dir: str, windows: bool, search: Sequence[str]) -> None:
        self.user_home = user_home
        self.tenon_home = tenon_home
        self.claude_home = claude_home
        self.root = root
        self.bin_dir = bin_dir
        self.windows = windows
        self.search = list(search)

    @property
    def settings(self) -> str:
        """Claude Code's settings of this user."""
        return os.path.join(self.claude_home, "settings.json")

    @property
    def launcher(self) -> str:
        """The file that starts whatever copy of the plugin is installed; it stays when the plugin is updated."""
        return os.path.join(self.tenon_home, "bin", "tenon")

    @property
    def link(self) -> str:
        """The command in the user's own folder of programs."""
        return os.path.join(self.bin_dir, "tenon.cmd" if self.windows else "tenon")

    @property
    def skills_copy(self) -> str:
        """Where a copy of the plugin is found without a marketplace."""
        return os.path.join(self.claude_home, "skills", PLUGIN)

    @property
    def cache(self) -> str:
        """Where Claude Code keeps its copies of plugins."""
        return os.path.join(self.claude_home, "plugins", "cache")

    def on_path(self, folder: str) -> bool:
        """Whether programs in the folder are found by their names."""
        return os.path.normcase(os.path.realpath(folder)) in {os.path.normcase(os.path.realpath(entry)) for entry in self.search if entry}


def here(bin_dir: str = "") -> Machine:
    """The machine that the environment describes."""
    user_home = os.path.expanduser("~")
    return Machine(
        user_home=user_home,
        tenon_home=paths.home(),
        claude_home=paths.claude_home(),
        root=os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(tenon.__file__)))),
        bin_dir=os.path.abspath(os.path.expanduser(bin_dir)) if bin_dir else os.path.join(user_home, ".local", "bin"),
        windows=sys.platform == "win32",
        search=os.environ.get("PATH", "").split(os.pathsep),
    )


class Copy:
    """A copy of the plugin in Claude Code's cache; `orphaned` when an update has replaced it."""

    __slots__ = ("name", "version", "path", "orphaned")

    def __init__(self, name: str, version: str, path: str, orphaned: bool) -> None:
        self.name = name
        self.version = version
        self.path = path
        self.orphaned = orphaned


def copies(machine: Machine) -> list[Copy]:
    """The copies of the plugin in the cache, by the name they are enabled under (tenon@marketplace)."""
    found = []
    for market in _names(machine.cache):
        folder = os.path.join(machine.cache, market, PLUGIN)
        for version in _names(folder):
            path = os.path.join(folder, version)
            found.append(Copy(f"{PLUGIN}@{market}", version, path, os.path.exists(os.path.join(path, ".orphaned_at"))))
    return found


def enabled(settings: dict[str, object]) -> dict[str, bool]:
    """The names under which the user's settings know the plugin, and whether each is on."""
    known = settings.get("enabledPlugins")
    return {str(name): value is not False for name, value in known.items() if str(name).startswith(PLUGIN + "@")} if isinstance(known, dict) else {}


def is_installed(machine: Machine, settings: dict[str, object]) -> bool:
    """Whether Claude Code loads the plugin from anywhere."""
    return any(enabled(settings).values()) or os.path.isfile(os.path.join(machine.skills_copy, ".claude-plugin", "plugin.json"))


def _names(folder: str) -> list[str]:
    try:
        return sorted(name for name in os.listdir(folder) if not name.startswith("."))
    except OSError:
        return []
