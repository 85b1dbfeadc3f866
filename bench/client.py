"""A client that behaves on the wire like Claude Code 2.1.332: what the benchmarks of the proxy send, and how it takes the answers.

Taken from recorded requests: three system blocks, the billing line first; the session's id in a header; context blocks in the first user
message and the environment in a `role: system` entry behind it; the newest user message as blocks, older ones as strings; the cache marker
on the last block of all; thinking sent back as it came; on a refusal that names a signature, the same request without any thinking; the
compaction request, and the shape of the conversation after it.
"""

from __future__ import annotations

import http.client
import json
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Protocol

    class Between(Protocol):
        """Something that changes requests on their way and hears the answers."""

        def body(self, body: Block) -> Block:
            """What is sent instead."""

        def heard(self, message: Block) -> None:
            """Told each answer."""


Block = dict[str, Any]
THINKING = ("thinking", "redacted_thinking")
MARKER = {"type": "ephemeral"}
BETAS = (
    "claude-code-20250219,interleaved-thinking-2025-05-14,context-management-2025-06-27,per-turn-control-2026-07-01,"
    "mid-conversation-tool-changes-2026-07-01,thinking-token-count-2026-05-13,advanced-tool-use-2025-11-20,effort-2025-11-24,"
    "thinking-display-updates-2026-08-18"
)
EFFORT = {"effort": "medium"}
CONTINUED = "This session is being continued from a previous conversation that ran out of context. The summary below covers the earlier portion of the conversation.\n\n"
INSTRUCTION = "CRITICAL: Respond with TEXT ONLY. Do NOT call any tools.\n\n- Do NOT use Read, Bash, Grep, Glob, Edit, Write, or ANY other tool.\n- Your entire response must be plain text: an <analysis> block followed by a <summary> block.\n"
READ = "<system-reminder>\nCalled the Read tool with the following input: {}\n</system-reminder>"
RESULT = "<system-reminder>\nResult of calling the Read tool:\n{}\n</system-reminder>"
CAVEAT = "<local-command-caveat>The command below was run directly in Claude Code, not sent to you as a request.</local-command-caveat>\n"
COMMAND = "<command-name>/compact</command-name>\n            <command-message>compact</command-message>\n            <command-args></command-args>\n"
DONE = "<local-command-stdout>Compacted (ctrl+o to see full summary)</local-command-stdout>\n"


@dataclass
class Setting:
    """What is the same in all requests of a session: model, system text, tools, context blocks, environment, compaction's wording."""

    model: str
    system: str
    tools: list[Block]
    context: list[str]
    environment: str
    instruction: str


@dataclass
class Step:
    """One answer of the model, and the results of the calls in it, in order."""

    blocks: list[Block]
    results: list[str] = field(default_factory=list)


@dataclass
class Turn:
    """A prompt and the answers to it; the last one makes no call."""

    prompt: str
    steps: list[Step]


class Refused(Exception):
    """The API's final no."""


class Client:
    """One session. `stage` is told each answer before it is asked for; `between` is what stands between the client and the API, if anything."""

    def __init__(self, url: str, session: str, setting: Setting, stage: Callable[[list[Block]], None], between: Between | None = None) -> None:
        self.url = urlsplit(url)
        self.session = session
        self.setting = setting
        self.stage = stage
        self.between = between
        self.connection = http.client.HTTPConnection(self.url.hostname or "", self.url.port, timeout=60)
        self.messages: list[Block] = []
        self.waiting: list[str] = []
        self.read: list[tuple[Block, str]] = []

    def turn(self, turn: Turn) -> Iterator[int]:
        """Plays a turn; yields the number of each answer that came."""
        self.say(turn.prompt)
        for number, step in enumerate(turn.steps):
            answer = self.ask(step.blocks)
            self.messages.append({"role": "assistant", "content": answer["content"]})
            yield number
            calls = [block for block in answer["content"] if block["type"] == "tool_use"]
            if calls:
                results = [{"tool_use_id": call["id"], "type": "tool_result", "content": text} for call, text in zip(calls, step.results)]
                self.read += [(call["input"], text) for call, text in zip(calls, step.results) if call["name"] == "Read"]
                self.messages.append({"role": "user", "content": results})

    def say(self, prompt: str) -> None:
        """Puts the prompt behind the conversation, with what Claude Code adds at a beginning."""
        fresh = not self.messages or bool(self.waiting)
        before = [*self.waiting[1:], *self.setting.context] if fresh else []
        if self.waiting:
            self.messages.append({"role": "user", "content": [text_block(self.waiting[0])]})
            before += [CAVEAT, COMMAND, DONE]
        self.messages.append({"role": "user", "content": [text_block(words) for words in [*before, prompt]]})
        if fresh:
            entry: Block = {"role": "system", "content": [text_block(self.setting.environment)]}
            if not self.waiting:
                entry["output_config"] = EFFORT
            self.messages.append(entry)
        self.waiting = []

    def compact(self, summary: list[Block]) -> None:
        """Asks for a summary and goes on with it, as `/compact` does: the summary, the last answer, the newest files read again."""
        answer = self.ask(summary, compacting=True)
        words = "".join(block["text"] for block in answer["content"] if block["type"] == "text")
        last = [block for block in self.messages[-1]["content"] if block["type"] not in THINKING]
        self.messages = [
            {"role": "user", "content": [text_block(f"{CONTINUED}Summary:\n{words}")]},
            {"role": "system", "content": [], "output_config": EFFORT},
            {"role": "assistant", "content": last},
        ]
        newest = {json.dumps(given): text for given, text in self.read[-5:]}
        self.waiting = [words for given, text in newest.items() for words in (READ.format(given), RESULT.format(text))] or [DONE]

    def ask(self, blocks: list[Block], *, compacting: bool = False) -> Block:
        """The message that the API answers with; raises Refused when it does not, also without thinking."""
        self.stage(blocks)
        status, answer = self.send(self.body(compacting=compacting))
        if status == 400 and "`signature` in `thinking`" in json.dumps(answer):
            for message in self.messages:
                if message["role"] == "assistant":
                    message["content"] = [block for block in message["content"] if block["type"] not in THINKING]
            status, answer = self.send(self.body(compacting=compacting))
        if status != 200:
            raise Refused(f"{status}: {json.dumps(answer)[:400]}")
        if self.between:
            self.between.heard(answer)
        return answer

    def body(self, *, compacting: bool = False) -> Block:
        """The request that Claude Code sends now."""
        setting = self.setting
        messages = wire(self.messages)
        if compacting:
            instruction = [text_block(setting.instruction)]
            marked(messages[-1])
            messages.append({"role": "user", "content": instruction})
        else:
            marked(messages[-1])
        return {
            "model": setting.model,
            "messages": messages,
            "system": [
                text_block("x-anthropic-billing-header: cc_version=2.1.332.1b8; cc_entrypoint=cli;"),
                {**text_block("You are Claude Code, Anthropic's official CLI for Claude."), "cache_control": MARKER},
                {**text_block(setting.system), "cache_control": MARKER},
            ],
            "tools": setting.tools,
            "metadata": {"user_id": json.dumps({"device_id": "0" * 64, "account_uuid": "", "session_id": self.session})},
            "max_tokens": 128000,
            "thinking": {"type": "adaptive", "display": "updates"},
            "context_management": {"edits": [{"type": "clear_thinking_20251015", "keep": "all"}]},
            "output_config": EFFORT,
            "stream": True,
        }

    def headers(self) -> dict[str, str]:
        """The headers of every request."""
        return {
            "Accept": "application/json",
            "Content-Type": "application/json",
            "User-Agent": "claude-cli/2.1.332 (external, cli)",
            "X-Claude-Code-Session-Id": self.session,
            "X-Stainless-Retry-Count": "0",
            "anthropic-beta": BETAS,
            "anthropic-version": "2023-06-01",
            "x-api-key": "sk-ant-bench-0000",
            "x-app": "cli",
            "Accept-Encoding": "gzip, deflate, br, zstd",
        }

    def send(self, body: Block) -> tuple[int, Block]:
        """Status and answer of one request: the message that was streamed, or the error."""
        raw = json.dumps(self.between.body(body) if self.between else body, ensure_ascii=False, separators=(",", ":")).encode()
        self.connection.request("POST", f"{self.url.path}/v1/messages?beta=true", raw, self.headers())
        response = self.connection.getresponse()
        if response.status != 200:
            return response.status, json.loads(response.read())
        return 200, rebuilt(response)

    def close(self) -> None:
        """Ends the connection."""
        self.connection.close()


def text_block(words: str) -> Block:
    """A text block."""
    return {"type": "text", "text": words}


def wire(messages: list[Block]) -> list[Block]:
    """The messages as they are printed: one text alone is a string, unless it stands in the newest user message or the last entry."""
    newest = max((place for place, message in enumerate(messages) if message["role"] == "user"), default=-1)
    sent = []
    for place, message in enumerate(messages):
        content = message["content"]
        plain = message["role"] != "assistant" and len(content) == 1 and content[0]["type"] == "text"
        if plain and place != newest and place != len(messages) - 1:
            sent.append({**message, "content": content[0]["text"]})
        else:
            sent.append({**message, "content": [dict(block) for block in content]})
    return sent


def marked(message: Block) -> None:
    """Puts the cache marker on the message's last block that may carry one."""
    for block in reversed(message["content"]):
        if block["type"] not in THINKING:
            block["cache_control"] = MARKER
            return


def rebuilt(response: http.client.HTTPResponse) -> Block:
    """The message of a stream, wire-exact. Raises Refused for a stream without an end."""
    message: Block = {}
    parts: list[str] = []
    for line in response:
        if not line.startswith(b"data: "):
            continue
        event = json.loads(line[6:])
        kind = event["type"]
        if kind == "message_start":
            message = event["message"]
        elif kind == "content_block_start":
            message["content"].append(event["content_block"])
            parts = []
        elif kind == "content_block_delta":
            delta, block = event["delta"], message["content"][event["index"]]
            if delta["type"] == "input_json_delta":
                parts.append(delta["partial_json"])
            elif delta["type"] == "signature_delta":
                block["signature"] = delta["signature"]
            else:
                name = "text" if delta["type"] == "text_delta" else "thinking"
                block[name] += delta[name]
        elif kind == "content_block_stop" and message["content"][event["index"]]["type"] == "tool_use":
            message["content"][event["index"]]["input"] = json.loads("".join(parts) or "{}")
        elif kind == "message_delta":
            message["stop_reason"] = event["delta"]["stop_reason"]
        elif kind == "message_stop":
            response.read()
            return message
    raise Refused("the stream ended before its message did")
