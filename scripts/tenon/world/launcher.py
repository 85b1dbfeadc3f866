"""The command that survives updates: one small file of our own which finds the plugin, and a link to it for the user.

Claude Code keeps each version of a plugin in a folder of its own and deletes old ones, so nothing outside may name
such a folder. What is written elsewhere names the launcher.
"""

from __future__ import annotations

import os
import shlex
import shutil

from tenon.base.errors import TenonError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tenon.world.machine import Machine
    from tenon.world.record import Record

MARK = "The launcher of Tenon"
TEXT = r'''#!/usr/bin/env python3
"""The launcher of Tenon: starts the copy of the plugin that is installed. `tenon install` wrote it, `tenon uninstall` removes it."""
import json
import os
import sys

HOME = os.path.dirname(os.path.dirname(os.path.realpath(os.path.abspath(__file__))))


def recorded():
    try:
        with open(os.path.join(HOME, "install.json"), encoding="utf-8") as file:
            return str(json.load(file)["root"])
    except (OSError, ValueError, KeyError, TypeError):
        return ""


def listed(folder):
    try:
        return [os.path.join(folder, name) for name in os.listdir(folder) if not name.startswith(".")]
    except OSError:
        return []


def newest_first(copies):
    def rank(copy):
        version = [int(part) if part.isdigit() else -1 for part in os.path.basename(copy).split(".")]
        return not os.path.exists(os.path.join(copy, ".orphaned_at")), version

    return sorted(copies, key=rank, reverse=True)


def roots():
    claude = os.path.abspath(os.path.expanduser(os.environ.get("CLAUDE_CONFIG_DIR") or os.path.join("~", ".claude")))
    cache = os.path.join(claude, "plugins", "cache")
    own = recorded()
    if own and not os.path.realpath(own).startswith(os.path.realpath(cache) + os.sep):
        yield own  # a checkout, or a folder of skills
    for copy in newest_first([copy for market in listed(cache) for copy in listed(os.path.join(market, "tenon"))]):
        yield copy
    yield os.path.join(claude, "skills", "tenon")


def main():
    if not os.environ.get("TENON_HOME") and HOME != os.path.realpath(os.path.expanduser(os.path.join("~", ".tenon"))):
        os.environ["TENON_HOME"] = HOME
    for root in roots():
        door = os.path.join(root, "bin", "tenon")
        if os.path.isfile(door):
            with open(door, "rb") as file:
                code = compile(file.read(), door, "exec")
            exec(code, {"__name__": "__main__", "__file__": door})
            return 0
    if sys.argv[1:2] == ["statusline"]:
        return 0
    sys.stderr.write("tenon: the plugin is not installed any more; `claude plugin install tenon@tenon` brings it back\n")
    return 1


if __name__ == "__main__":
    sys.exit(main())
'''
CMD = """@echo off
rem {mark}: `tenon install` wrote this, `tenon uninstall` removes it.
py -3 -c "" >nul 2>nul
if not errorlevel 1 goto launcher
python3 -c "" >nul 2>nul
if not errorlevel 1 goto python3
python -I -S "{launcher}" %*
exit /b %errorlevel%
:launcher
py -3 -I -S "{launcher}" %*
exit /b %errorlevel%
:python3
python3 -I -S "{launcher}" %*
exit /b %errorlevel%
"""


def status_command(machine: Machine) -> str:
    """The command line of the status line, as the user's shell reads it."""
    path = machine.launcher.replace("\\", "/") if machine.windows else machine.launcher
    quoted = f'"{path}"' if machine.windows else shlex.quote(path)
    return f"python3 -I -S {quoted} statusline"


def by_path(machine: Machine) -> str:
    """The running copy's own command by its whole name, as a shell reads it."""
    door = os.path.join(machine.root, "bin", "tenon")
    return f'py -3 "{door}"' if machine.windows else shlex.quote(door)


def is_ours(machine: Machine, record: Record) -> bool:
    """Whether the name in the user's folder of programs is free or an earlier install's."""
    link = machine.link
    if not os.path.lexists(link) or link in record.links:
        return True
    if machine.windows:
        return _says(link, MARK)
    return os.path.islink(link) and _says(os.path.realpath(link), MARK)


def is_linked(machine: Machine) -> bool:
    """Whether the command is there and leads to the launcher."""
    if machine.windows:
        return _says(machine.link, _cmd(machine))
    return os.path.islink(machine.link) and os.readlink(machine.link) == machine.launcher


def is_current(machine: Machine) -> bool:
    """Whether the launcher is there, as this version writes it, and can be started."""
    return _says(machine.launcher, TEXT) and os.access(machine.launcher, os.X_OK)


def write(machine: Machine, record: Record) -> None:
    """Writes the launcher where it is missing or an older one. Raises OSError."""
    if is_current(machine):
        return
    record.make_folder(os.path.dirname(machine.launcher))
    temporary = f"{machine.launcher}.{os.getpid()}"
    with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o700), "w", encoding="utf-8", newline="\n") as file:
        file.write(TEXT)
    os.replace(temporary, machine.launcher)


def link(machine: Machine, record: Record) -> None:
    """Puts the command into the user's folder of programs. Raises TenonError where a stranger's file has the name."""
    if not is_ours(machine, record):
        raise TenonError(f"{machine.link} is not Tenon's; remove it or choose another folder with --bin-dir")
    record.make_folder(machine.bin_dir)
    record.links[machine.link] = _cmd(machine) if machine.windows else machine.launcher
    record.save()
    temporary = f"{machine.link}.{os.getpid()}"
    if machine.windows:
        with open(temporary, "w", encoding="utf-8", newline="\r\n") as file:
            file.write(_cmd(machine))
    else:
        os.symlink(machine.launcher, temporary)
    os.replace(temporary, machine.link)


def unlink(path: str, target: str) -> bool:
    """Whether the command was still as it was put there, and is now removed."""
    same = os.readlink(path) == target if os.path.islink(path) else _says(path, target)
    if same:
        os.remove(path)
    return same


def shadow(machine: Machine) -> str:
    """Another program of the same name that is found before ours, or «»."""
    found = shutil.which("tenon", path=os.pathsep.join(machine.search))
    if not found or os.path.realpath(found) == os.path.realpath(machine.link):
        return ""
    return found


def _cmd(machine: Machine) -> str:
    path = machine.launcher
    if path.startswith(machine.user_home + os.sep):
        path = "%USERPROFILE%" + path[len(machine.user_home) :]  # a name in another script would not survive the code page
    return CMD.format(mark=MARK, launcher=path)


def _says(path: str, text: str) -> bool:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return text in file.read(20_000)
    except OSError:
        return False
