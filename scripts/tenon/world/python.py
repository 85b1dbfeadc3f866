"""Which Pythons there are and whether they really run: a name on the PATH may be a stub that only opens a shop."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Probe = Callable[[Sequence[str]], "Found"]

ASK = "import sys, sqlite3; print('.'.join(map(str, sys.version_info[:3])), sys.executable)"
PROBE_S = 8.0
OLDEST = (3, 9)


class Found:
    """What became of starting a Python: its version and file, or in `problem` why it does not do."""

    __slots__ = ("version", "executable", "problem")

    def __init__(self, version: str = "", executable: str = "", problem: str = "") -> None:
        self.version = version
        self.executable = executable
        self.problem = problem


def probe(command: Sequence[str]) -> Found:
    """What starts under that command, for example ["python3"] or ["py", "-3"]. Never raises."""
    import subprocess

    name = " ".join(command)
    try:
        done = subprocess.run(
            [*command, "-I", "-S", "-c", ASK], stdin=subprocess.DEVNULL, capture_output=True, timeout=PROBE_S, check=False
        )  # fmt: skip
    except FileNotFoundError:
        return Found(problem=f"{name} is not on the PATH")
    except (OSError, subprocess.TimeoutExpired) as error:
        return Found(problem=f"{name} does not start ({type(error).__name__})")
    version, _, executable = os.fsdecode(done.stdout).strip().partition(" ")
    if done.returncode or not version[:1].isdigit():
        said = os.fsdecode(done.stderr).strip().splitlines()
        return Found(problem=f"{name} is there but is no working Python (exit {done.returncode}{': ' + said[-1][:120] if said else ''})")
    if tuple(int(part) for part in version.split(".")[:2]) < OLDEST:
        return Found(version, executable, f"{name} is Python {version}; 3.9 or newer is needed")
    return Found(version, executable)


def twin(executable: str) -> str:
    """Where a python3.exe beside that python.exe would be."""
    return os.path.join(os.path.dirname(executable), "python3.exe")


def make_twin(executable: str) -> str:
    """The new python3.exe: the same file under a second name, or a copy where that cannot be. Raises OSError."""
    import shutil

    target = twin(executable)
    try:
        os.link(executable, target)
    except OSError:
        if os.path.exists(target):
            raise
        shutil.copy2(executable, target)
    return target
