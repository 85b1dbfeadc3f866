"""What is said in the benchmarks of the proxy: whole sessions of made-up work, the same words in every run.

Sizes are those of a working day: a prompt of some 250 characters, two calls to an answer, results of 1 to 6 KB, 900 characters of answer.
"""

from __future__ import annotations

import json
import random
from functools import lru_cache

from bench import corpus
from bench.client import INSTRUCTION, Block, Setting, Step, Turn, text_block

MODEL = "claude-opus-5-5"  # its thinking is bound to all that stands before it
TOOLS = "Agent AskUserQuestion Bash Edit ListAgents Read ReportFindings ScheduleWakeup Skill ToolSearch Workflow Write Grep".split()
SUMMARY_CHARS = 9000


class Author:
    """Writes prompts, answers and results from a pool of sentences."""

    def __init__(self, seed: int) -> None:
        self.pool = pool()
        self.chance = random.Random(seed)

    def prose(self, chars: int) -> str:
        """About so many characters of text."""
        text = ""
        while len(text) < chars:
            text += self.chance.choice(self.pool) + ". "
        return text[:chars].strip() + "."

    def listing(self, chars: int) -> str:
        """About so many characters of a file with line numbers."""
        lines: list[str] = []
        size = 0
        while size < chars:
            lines.append(f"{len(lines) + 1}\t    {self.chance.choice(self.pool)}")
            size += len(lines[-1])
        return "\n".join(lines)

    def turn(self, name: str, calls: int) -> Turn:
        """A prompt, so many calls one after the other, each thought about, and an answer."""
        steps = []
        for number in range(calls):
            file = f"/home/user/api/src/{name}_{number}.py"
            tool, given = ("Read", {"file_path": file}) if number % 2 == 0 else ("Bash", {"command": f"python -m pytest {file} -q"})
            blocks = [*self.thought(), text_block(self.prose(120)), {"type": "tool_use", "id": f"toolu_{name}_{number}", "name": tool, "input": given}]
            steps.append(Step(blocks, [self.listing(self.chance.choice((1000, 2500, 3500, 6000)))]))
        return Turn(self.prose(250), [*steps, Step([*self.thought(), text_block(self.prose(900))])])

    def thought(self) -> list[Block]:
        """A thinking block."""
        return [{"type": "thinking", "thinking": self.prose(400)}]

    def summary(self) -> list[Block]:
        """What a model answers to a compaction request."""
        return [text_block(f"<analysis>\n{self.prose(2000)}\n</analysis>\n\n<summary>\n{self.prose(SUMMARY_CHARS)}\n</summary>")]


@lru_cache(maxsize=1)
def pool() -> list[str]:
    """The sentences, read once."""
    return corpus.sentences(enough=1500)


def setting(seed: int = 7) -> Setting:
    """System text, tools and environment in the sizes that Claude Code 2.1.332 sends."""
    author = Author(seed)
    tools: list[Block] = []
    for name in TOOLS:
        fields = {field: {"type": "string", "description": author.prose(160)} for field in ("first", "second", "third", "fourth")}
        tools.append({"name": name, "description": author.prose(1700), "input_schema": {"type": "object", "properties": fields}})
    tools.append({"name": "DeferredToolPlaceholder", "description": "Reserved.", "input_schema": {"type": "object", "properties": {}}, "defer_loading": True})
    known = f"As you answer the user's questions, you can use the following context:\n# gitStatus\n{author.prose(420)}"
    return Setting(
        model=MODEL,
        system=f"\nYou are an agent working with the user toward their goals.\n\n{author.prose(7200)}\n - Primary working directory: /home/user/api\n",
        tools=tools,
        context=[f"<system-reminder>\n{known}\n</system-reminder>"],
        environment=f"# Environment\nYou have been invoked in the following environment: \n - Primary working directory: /home/user/api\n{author.prose(10900)}",
        instruction=INSTRUCTION + author.prose(6200),
    )


def session(seed: int, name: str, turns: int) -> list[Turn]:
    """A session of so many turns with one, two or three calls each."""
    author = Author(seed)
    return [author.turn(f"{name}{number}", number % 3 + 1) for number in range(turns)]


def history(seed: int, name: str, tokens: int) -> list[Turn]:
    """Turns that come to about so many tokens of the fake's counting."""
    author = Author(seed)
    turns: list[Turn] = []
    size = 0
    while size < tokens:
        turns.append(author.turn(f"{name}{len(turns)}", len(turns) % 3 + 1))
        size += weight(turns[-1])
    return turns


def spoken(turn: Turn) -> list[Block]:
    """The turn as messages, without its thinking."""
    messages: list[Block] = [{"role": "user", "content": turn.prompt}]
    for step in turn.steps:
        blocks = [block for block in step.blocks if block["type"] != "thinking"]
        messages.append({"role": "assistant", "content": blocks})
        calls = [block["id"] for block in blocks if block["type"] == "tool_use"]
        if calls:
            results = [{"type": "tool_result", "tool_use_id": call, "content": text} for call, text in zip(calls, step.results)]
            messages.append({"role": "user", "content": results})
    return messages


def weight(turn: Turn) -> int:
    """Its tokens, as text at 3.6 characters a token and the rest at 2.7."""
    size = 0.0
    for message in spoken(turn):
        content = message["content"]
        size += len(content) / 3.6 if isinstance(content, str) else len(json.dumps(content, ensure_ascii=False)) / 2.7
    return round(size)
