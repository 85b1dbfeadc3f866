"""How much memory is used, as Claude Code's transcripts show it: which sessions had the hooks, were told something, called the tools.

Read line by line, and of a line only as much as its bytes say is worth it, so that gigabytes take seconds and next to no room.
"""

from __future__ import annotations

import os
import time

from tenon.digest import projects, transcript

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any, BinaryIO

LONGEST = 1 << 25  # bytes of a line that is looked at
FENCE = "<tenon-memory>"
HOOK = ("-I -S", "hooks/hook.py")  # how the command of our hooks reads
RECALLS = ("memory_recall", "memory_archive")
WRITES = ("memory_write", "memory_write_episode")
UNKNOWN = "unknown"


class Session:
    """What one session, with its sub-agents, shows of us. A turn is one answer of the model's: a request to the API; `last` is the newest one's time, ISO."""

    __slots__ = ("entry", "version", "folder", "last", "turns", "calls", "writes", "hook", "briefed", "injected", "recalled", "searched")

    def __init__(self) -> None:
        self.entry = self.version = self.folder = self.last = ""
        self.turns = self.calls = self.writes = 0
        self.hook = self.briefed = self.injected = self.recalled = self.searched = False

    @property
    def used(self) -> bool:
        """Whether the model called one of our tools."""
        return self.calls > 0

    @property
    def wrote(self) -> bool:
        """Whether the model wrote a memory."""
        return self.writes > 0


class Adoption:
    """The sessions by name, and how many lines could not be read."""

    __slots__ = ("sessions", "broken")

    def __init__(self) -> None:
        self.sessions: dict[tuple[str, str], Session] = {}
        self.broken = 0


def files(claude_home: str, since: float) -> list[tuple[str, int]]:
    """The transcripts below Claude Code's folder that were written to since that time, and how many bytes each has."""
    found: list[tuple[str, int]] = []
    top = os.path.join(claude_home, "projects")
    for folder, _, names in os.walk(top):
        for name in names:
            path = os.path.join(folder, name)
            if os.path.dirname(folder) != top and not projects.thread_of(path):
                continue  # a tool's output
            try:
                status = os.stat(path)
            except OSError:
                continue
            if name.endswith(".jsonl") and status.st_mtime >= since and status.st_size and os.path.isfile(path):
                found.append((path, status.st_size))
    return sorted(found)


def read(paths: Sequence[str], since: float, on_progress: Callable[[int], object]) -> Adoption:
    """What the transcripts show of the time since then; progress is told in bytes. A file that cannot be read counts as one broken line."""
    found = Adoption()
    first = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(since))
    for path in paths:
        if projects.thread_of(path):
            parts = os.path.normpath(path).split(os.sep)
            project = os.sep.join(parts[: max(at for at, part in enumerate(parts) if part == "subagents") - 1])
        else:
            project = os.path.dirname(path)
        session = found.sessions.setdefault((project, projects.session_of(path)), Session())
        try:
            with open(path, "rb") as file:
                found.broken += _read(file, session, first, on_progress)
        except OSError:
            found.broken += 1
    return found


def _read(file: BinaryIO, session: Session, first: str, on_progress: Callable[[int], object]) -> int:
    broken = 0
    message = ""
    for line, size in _lines(file):
        on_progress(size)
        if not line:
            broken += 1
            continue
        said = b'"assistant"' in line
        ours = b"tenon" in line or b"hooks/hook.py" in line
        if not said and not ours and (session.entry or b'"entrypoint"' not in line):
            continue
        found = transcript.parse(line)
        if found is None:
            broken += 1
            continue
        if not session.entry:
            session.entry, session.version, session.folder = (_text(found.get(name)) for name in ("entrypoint", "version", "cwd"))
        stamp = found.get("timestamp")
        if found.get("forkedFrom") or (isinstance(stamp, str) and stamp < first):
            continue
        if found.get("type") == "assistant":
            message = _answer(found, session, message)
            session.last = max(session.last, _text(stamp))
        elif ours:
            _shown(found, session)
    return broken


def _lines(file: BinaryIO) -> Iterator[tuple[bytes, int]]:
    """Each whole line with its size; b"" for one that is too long or no object. The last one may still be being written, and is left out."""
    while True:
        line = file.readline(LONGEST)
        size = len(line)
        if not line:
            return
        if not line.endswith(b"\n"):
            rest = file.readline(LONGEST)
            if not rest:
                return
            while rest and not rest.endswith(b"\n"):
                size += len(rest)
                rest = file.readline(LONGEST)
            yield b"", size + len(rest)
            continue
        if size > 2 or line.strip():
            yield (line if line[:1] in (b"{", b"\xef") and line[-3:].rstrip()[-1:] == b"}" else b""), size


def _answer(found: dict[str, Any], session: Session, before: str) -> str:
    """Counts a line of an answer; its id, as the lines of one answer follow each other."""
    message = found.get("message")
    if not isinstance(message, dict) or found.get("isApiErrorMessage") or message.get("model") == "<synthetic>":
        return before
    number = _text(message.get("id")) or _text(found.get("uuid"))
    session.turns += number != before
    content = message.get("content")
    for block in content if isinstance(content, list) else []:
        if isinstance(block, dict) and block.get("type") == "tool_use":
            tool = _own(block.get("name"))
            given = block.get("input")
            session.calls += bool(tool)
            session.recalled = session.recalled or tool in RECALLS
            session.writes += tool in WRITES or (tool == "procedure" and isinstance(given, dict) and given.get("action") == "propose")
    return number


def _shown(found: dict[str, Any], session: Session) -> None:
    """Takes up what a line that is no answer shows of us: what a hook said, that it ran, that ToolSearch loaded a tool of ours."""
    told = found.get("attachment")
    if isinstance(told, dict) and str(told.get("type")).startswith("hook_"):
        spoke = FENCE in str(told.get("content")) or FENCE in str(told.get("stdout"))
        session.hook = (
            session.hook or spoke or _is_ours(told.get("command")) or (told.get("type") == "hook_system_message" and "Tenon" in str(told.get("content")))
        )
        event = told.get("hookEvent")
        session.briefed = session.briefed or (spoke and event == "SessionStart")
        session.injected = session.injected or (spoke and event == "UserPromptSubmit")
        session.recalled = session.recalled or (spoke and event == "UserPromptExpansion")
    elif isinstance(found.get("hookInfos"), list):
        session.hook = session.hook or any(isinstance(hook, dict) and _is_ours(hook.get("command")) for hook in found["hookInfos"])
    elif found.get("type") == "user" and isinstance(found.get("message"), dict):
        content = found["message"].get("content")
        for block in content if isinstance(content, list) else []:
            parts = block.get("content") if isinstance(block, dict) and block.get("type") == "tool_result" else None
            loaded = (
                [part.get("tool_name") for part in parts if isinstance(part, dict) and part.get("type") == "tool_reference"] if isinstance(parts, list) else []
            )
            session.searched = session.searched or any(map(_own, loaded))


def _is_ours(command: object) -> bool:
    return isinstance(command, str) and all(part in command for part in HOOK)


def _own(name: object) -> str:
    """The bare name of a tool of ours, by whichever server's name; «» for any other."""
    server, _, tool = _text(name).rpartition("__")
    return tool if server.startswith("mcp__") and "tenon" in server.lower() else ""


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
