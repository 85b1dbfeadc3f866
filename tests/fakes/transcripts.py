"""Transcripts as Claude Code writes them, in the shapes of 2.1.197 and of 2.1.332."""

from __future__ import annotations

import json
import os
from datetime import datetime, timezone

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

OLD = "2.1.197"
NEW = "2.1.332"
BEGAN = 1_796_000_000.0  # 2026-11-30T00:53:20Z


class Transcript:
    """A transcript being written: each method adds the lines of one event and returns the uuid of the last one.

    A line follows the one before it unless `after` names another; a tick of one second passes with each line.
    """

    def __init__(self, path: str, *, session: str = "", version: str = NEW, folder: str = "/home/u/project", branch: str = "main", agent: str = "") -> None:
        self.path = str(path)
        self.session = session or os.path.splitext(os.path.basename(self.path))[0]
        self.version = version
        self.folder = folder
        self.branch = branch
        self.agent = agent
        self.last: str | None = None
        self.count = 0
        self.clock = BEGAN
        os.makedirs(os.path.dirname(self.path), exist_ok=True)

    def subagent(self, agent: str) -> Transcript:
        """The transcript of a sub-agent of this session."""
        path = os.path.join(os.path.splitext(self.path)[0], "subagents", f"agent-{agent}.jsonl")
        return Transcript(path, session=self.session, version=self.version, folder=self.folder, branch=self.branch, agent=agent)

    def fork(self, path: str) -> Transcript:
        """A copy under a new session id, as --fork-session makes it: the lines keep their uuids."""
        other = Transcript(path, version=self.version, folder=self.folder, branch=self.branch)
        with open(self.path, encoding="utf-8") as file:
            kept = [line for line in map(json.loads, file) if "uuid" in line]
        other.raw(b"".join(_bytes({**line, "sessionId": other.session}) for line in kept))
        other.last, other.count, other.clock = self.last, 1000, self.clock
        return other

    def opening(self) -> str:
        """What stands before and after the first prompt: bookkeeping, attachments, in newer versions whole requests."""
        self.bare("queue-operation", operation="enqueue", timestamp=self.stamp())
        return self.last or ""

    def prompt(self, text: Any, **more: Any) -> str:
        """What the user typed; a list is content blocks."""
        extra = {"sentAtMs": 1, "rowSource": "local", "turnOrigin": "sdk"} if self.version == NEW else {}
        told = {"promptId": "p1", "permissionMode": "default", "promptSource": "typed", **extra}
        uuid = self.line("user", {"role": "user", "content": text}, **{**told, **more})
        self.attachment("skill_listing", content="- review: reviews")
        if self.version == NEW:
            self.attachment("environment", rendered="# Environment SYSTEM WORDS")
            self.bare("api-request-shape", shape={"system": "SYSTEM WORDS"})
            self.bare("api-request-blob", message={"role": "user", "content": [{"type": "text", "text": "<system-reminder>\nSYSTEM WORDS"}]})
            self.bare("api-request-blob", message={"role": "system", "content": [{"type": "text", "text": "SYSTEM WORDS"}]})
            self.bare("api-request", id="r1")
        return uuid

    def reply(self, text: str, **more: Any) -> str:
        """A text block of the model's answer."""
        return self.assistant({"type": "text", "text": text}, **more)

    def thinking(self, text: str, signature: str = "EuYBCkQYBCKAsignature") -> str:
        """A thinking block."""
        return self.assistant({"type": "thinking", "thinking": text, "signature": signature})

    def call(self, name: str, given: dict[str, Any], call: str = "") -> str:
        """A tool call; its id is `call`, else one made from the count."""
        return self.assistant({"type": "tool_use", "id": call or f"toolu_{self.count + 1}", "name": name, "input": given})

    def result(self, call: str, content: Any, *, error: bool = False, after: str = "") -> str:
        """What a tool gave back."""
        block = {"tool_use_id": call, "type": "tool_result", "content": content, **({"is_error": True} if error else {})}
        made = after or self.last
        more = {"toolUseResult": content if isinstance(content, str) else {}, "sourceToolAssistantUUID": made}
        return self.line("user", {"role": "user", "content": [block]}, after=made, **more)

    def used(self, name: str, given: dict[str, Any], content: Any, *, error: bool = False) -> str:
        """A tool call and its result."""
        call = f"toolu_{self.count + 1}"
        self.call(name, given, call)
        return self.result(call, content, error=error)

    def assistant(self, *blocks: dict[str, Any], model: str = "claude-opus-4-8", **more: Any) -> str:
        """An assistant line with those blocks."""
        message = {"id": f"msg_{self.count}", "type": "message", "role": "assistant", "model": model, "content": list(blocks), "usage": {"output_tokens": 9}}
        extra = {"apiBlockIndex": 0, "requestedModel": model, "effort": "medium", "madeBy": "model"} if self.version == NEW else {"requestId": "req_1"}
        return self.line("assistant", message, **{**extra, **more})

    def attachment(self, kind: str, **told: Any) -> str:
        """An attachment, such as what a hook put into the context."""
        return self.line("attachment", None, attachment={"type": kind, **told})

    def compaction(self, summary: str) -> str:
        """A compaction: the boundary without a parent, the summary, and the traces of the command."""
        before, self.last = self.last, None
        self.line("system", None, subtype="compact_boundary", content="Conversation compacted", logicalParentUuid=before, isMeta=False)
        self.line("user", {"role": "user", "content": summary}, isCompactSummary=True, isVisibleInTranscriptOnly=True)
        self.line("user", {"role": "user", "content": "<local-command-caveat>Caveat: do not respond</local-command-caveat>"}, isMeta=True)
        return self.command("/compact", "")

    def command(self, name: str, arguments: str) -> str:
        """A slash command and what it printed."""
        told = f"<command-name>{name}</command-name>\n<command-message>{name[1:]}</command-message>\n<command-args>{arguments}</command-args>"
        self.line("user", {"role": "user", "content": told})
        return self.line("user", {"role": "user", "content": "<local-command-stdout>Done</local-command-stdout>"})

    def line(self, kind: str, message: dict[str, Any] | None, *, after: str | None = None, **more: Any) -> str:
        """One line with everything that every line has."""
        self.count += 1
        self.clock += 1
        uuid = f"{self.count:08d}-{self.session}{self.agent}"
        told: dict[str, Any] = {"parentUuid": after or self.last, "isSidechain": bool(self.agent)}
        if self.agent:
            told["agentId"] = self.agent
        if message is not None:
            told["message"] = message
        told.update(type=kind, uuid=uuid, timestamp=self.stamp(), userType="external", entrypoint="cli", cwd=self.folder)
        told.update(sessionId=self.session, version=self.version, gitBranch=self.branch)
        told.update(more)
        self.raw(_bytes(told))
        self.last = uuid
        return uuid

    def bare(self, kind: str, **told: Any) -> None:
        """A line that is no part of the conversation's chain."""
        self.raw(_bytes({"type": kind, **told, "sessionId": self.session}))

    def raw(self, data: bytes) -> None:
        """Bytes as they are."""
        with open(self.path, "ab") as file:
            file.write(data)

    def stamp(self) -> str:
        """The clock as Claude Code writes it."""
        return datetime.fromtimestamp(self.clock, timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _bytes(told: dict[str, Any]) -> bytes:
    return json.dumps(told, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass") + b"\n"
