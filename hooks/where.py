"""What every event says of itself: whose memory, which folder, which session."""

from __future__ import annotations

import os

from tenon.base import paths

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tenon.base.settings import Settings


def folder(event: dict[str, Any]) -> str:
    """The folder the session was started in: its repository is the session's, wherever a command changed to."""
    return os.environ.get("CLAUDE_PROJECT_DIR") or str(event.get("cwd") or os.getcwd())


def session(event: dict[str, Any]) -> str:
    """The client's id of the session."""
    return str(event.get("session_id") or "")


def proxy() -> str:
    """The address on this machine that Claude Code was told to talk to, «» when it is another one or none."""
    url = os.environ.get("ANTHROPIC_BASE_URL", "")
    return url if url.startswith(("http://127.0.0.1:", "http://localhost:", "http://[::1]:")) else ""


def agent(settings: Settings) -> str:
    """The agent whose memory this session uses: the one that the proxy's address names, else the settings'. Raises TenonError for a name that is none."""
    _, _, named = proxy().partition("/agent/")
    return paths.agent_name(named.split("/", 1)[0] or settings.text("agent"))


def is_excluded(event: dict[str, Any], settings: Settings) -> bool:
    """Whether the session's folder is one whose sessions are neither kept nor recalled."""
    return paths.lies_in(folder(event), settings.names("archive.exclude"))
