"""What every event says of itself: whose memory, which folder, which session."""
from __future__ import annotations

import os

from tenon.base import paths

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from tenon.base.settings import Settings


def folder(event: dict[str, Any]) -> str:
    """The folder the session was started in: its repository is the session's, wherever a command changed to."""
    return os.environ.get("CLAUDE_PROJECT_DIR") or str(event.get("cwd") or os.getcwd())


def session(event: dict[str, Any]) -> str:
    """The client's id of the session."""
    return str(event.get("session_id") or "")


def agent(settings: Settings) -> str:
    """The agent whose memory this session uses. Raises TenonError for a name that is none."""
    return paths.agent_name(settings.text("agent"))


def excluded(place: str, folders: Sequence[str]) -> bool:
    """Whether the folder is in one of those whose sessions are neither kept nor recalled."""
    if not folders:
        return False
    here = os.path.realpath(place)
    for name in folders:
        there = os.path.realpath(os.path.expanduser(name))
        if here == there or here.startswith(there.rstrip(os.sep) + os.sep):
            return True
    return False


def per_day(settings: Settings) -> dict[str, float]:
    """What each tier keeps of its strength per day."""
    return {"short": settings.number("decay.short_per_day"), "long": settings.number("decay.long_per_day")}
