"""Whether a process that wrote its number down is still there, where asking does not end it."""

from __future__ import annotations

import os


def is_gone(pid: int) -> bool:
    """Whether no process has that number; unknown counts as no, and so does somebody else's process. Windows has no safe way to ask."""
    if os.name != "posix":
        return False
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return True
    except OSError:
        return False
    return False
