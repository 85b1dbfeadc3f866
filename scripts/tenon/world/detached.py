"""Processes of ours that outlive who starts them: they belong to no session, no terminal and no folder but Tenon's."""

from __future__ import annotations

import os
import sys

import tenon
from tenon.base import paths

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from subprocess import Popen
    from typing import Any


def spawn(command: Sequence[str], env: Mapping[str, str], log: str = "") -> Popen[bytes]:
    """The process of the command, which writes to the log (to nowhere when there is none). Raises OSError."""
    import subprocess

    output = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600) if log else os.open(os.devnull, os.O_WRONLY)

    def begun(**apart: Any) -> Popen[bytes]:
        return subprocess.Popen(list(command), stdin=subprocess.DEVNULL, stdout=output, stderr=output, cwd=paths.home(), env=env, **apart)

    try:
        if sys.platform == "win32":
            flags = subprocess.CREATE_NO_WINDOW | subprocess.DETACHED_PROCESS | subprocess.CREATE_NEW_PROCESS_GROUP
            try:
                return begun(creationflags=flags | subprocess.CREATE_BREAKAWAY_FROM_JOB)
            except PermissionError:  # the job that Claude Code runs its hooks in lets nobody leave
                return begun(creationflags=flags)
        else:
            return begun(start_new_session=True)
    finally:
        os.close(output)


def digest(agent: str, *more: str) -> None:
    """Starts a digest of the agent in the background; it keeps the environment, in which the user's own credentials may be. Raises OSError."""
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(tenon.__file__))))
    process = spawn(
        [sys.executable or "python3", "-I", "-S", os.path.join(root, "bin", "tenon"), "--agent", agent, "digest", "--background", *more], os.environ
    )
    process.returncode = 0  # nobody waits for it
