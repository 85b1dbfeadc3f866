"""Where Tenon keeps things: one home, one folder per agent, all of it owner-only."""

from __future__ import annotations

import os

from tenon.base.errors import TenonError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_NAME = "abcdefghijklmnopqrstuvwxyz0123456789-_"


def home() -> str:
    """The folder that holds everything Tenon remembers: TENON_HOME, else ~/.tenon."""
    return os.path.abspath(os.path.expanduser(os.environ.get("TENON_HOME") or os.path.join("~", ".tenon")))


def agent_name(chosen: str = "") -> str:
    """The agent whose memory is meant: the argument, else TENON_AGENT, else «default».

    Raises TenonError for a name that could not be a folder on every platform.
    """
    name = chosen or os.environ.get("TENON_AGENT") or "default"
    if not 1 <= len(name) <= 40 or any(c not in _NAME for c in name) or not name[0].isalnum():
        raise TenonError(f"'{name}' is not an agent name: use up to 40 of a-z, 0-9, - and _, beginning with a letter or digit")
    return name


def agent_folder(agent: str) -> str:
    """The folder of one agent's store."""
    return os.path.join(home(), "agents", agent)


def store_path(agent: str) -> str:
    """The SQLite file of one agent."""
    return os.path.join(agent_folder(agent), "tenon.db")


def agents() -> list[str]:
    """The agents that have a store, by name."""
    try:
        names = sorted(os.listdir(os.path.join(home(), "agents")))
    except OSError:
        return []
    return [name for name in names if os.path.isfile(store_path(name))]


def settings_path() -> str:
    """The settings file; it need not exist."""
    return os.path.join(home(), "settings.json")


def faults_path() -> str:
    """The log of faults that hooks and the server survived."""
    return os.path.join(home(), "faults.log")


def claude_home() -> str:
    """Claude Code's own folder: CLAUDE_CONFIG_DIR, else ~/.claude."""
    return os.path.abspath(os.path.expanduser(os.environ.get("CLAUDE_CONFIG_DIR") or os.path.join("~", ".claude")))


def lies_in(folder: str, folders: Iterable[str]) -> bool:
    """Whether the folder is one of the named ones, or lies in one; links and `~` are resolved."""
    here = _real(folder)
    return any(here == root or here.startswith(root.rstrip(os.sep) + os.sep) for root in map(_real, filter(None, folders)))


def make_private(folder: str) -> None:
    """Makes the folder and its missing parents for the owner only.

    A folder that exists keeps its mode unless others can read it and it is Tenon's own.
    Raises TenonError when the folder is a symbolic link or cannot be made.
    """
    own = home()
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        here = folder
        while len(here) >= len(own) and here.startswith(own):
            if os.path.islink(here) and here != own:
                raise TenonError(f"{here} is a symbolic link; Tenon keeps its store in a real folder: move it or set TENON_HOME")
            if os.name == "posix" and os.stat(here).st_mode & 0o077:
                os.chmod(here, 0o700)
            here = os.path.dirname(here)
    except OSError as error:
        raise TenonError(f"{folder} cannot be made ({error.strerror}): free the path or set TENON_HOME to a folder you may write") from error


def _real(folder: str) -> str:
    return os.path.normcase(os.path.realpath(os.path.expanduser(folder)))


def relative(path: str, roots: Sequence[str]) -> str:
    """The path below the first of the roots that holds it, with slashes; as it is when none does."""
    here = path.replace("\\", "/")
    for root in roots:
        base = root.replace("\\", "/").rstrip("/") + "/"
        if len(base) > 1 and here.startswith(base):
            return here[len(base) :]
    return here
