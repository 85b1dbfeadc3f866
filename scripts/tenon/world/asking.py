"""What a model is asked by Tenon itself, what it answers, and how it fails: the same whoever does the asking.

No sentence here or in the runners holds a word of a prompt, of an answer, or of an API's own error text, which may quote either.
"""

from __future__ import annotations

import re

from tenon.base.errors import TenonError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

CUT_STOPS = ("max_tokens", "model_context_window_exceeded", "length")
_NAME = re.compile(r"[a-z_]{1,40}")


class Question:
    """One request: `system` is stable text, so that a prompt cache holds; `schema` describes the answer; `most_output` are its tokens at most."""

    __slots__ = ("system", "prompt", "schema", "most_output")

    def __init__(self, system: str, prompt: str, schema: dict[str, object], most_output: int) -> None:
        self.system = system
        self.prompt = prompt
        self.schema = schema
        self.most_output = most_output


class Answer:
    """What the model said, whole, and what it took in tokens: past the prompt cache, written to it, read from it, put out.

    `dollars` is None where nobody reported any; `requests` are those that were made.
    """

    __slots__ = ("text", "model", "input_tokens", "written", "read", "output_tokens", "dollars", "requests")

    def __init__(
        self, text: str, model: str, *, input_tokens: int = 0, written: int = 0, read: int = 0, output_tokens: int = 0, dollars: float | None = None, requests: int = 1
    ) -> None:  # fmt: skip
        self.text = text
        self.model = model
        self.input_tokens = input_tokens
        self.written = written
        self.read = read
        self.output_tokens = output_tokens
        self.dollars = dollars
        self.requests = requests

    @property
    def tokens(self) -> int:
        """All tokens that were reported."""
        return self.input_tokens + self.written + self.read + self.output_tokens


class Failed(TenonError):
    """No answer. `answer` has what was charged all the same, None where nothing was reported.

    `kind` says why: away (no runner there, or not logged in), late, refused (by the model, or cut off at its most tokens),
    long (the prompt is longer than the window), limited (too many requests, overloaded, a usage limit), wrong (anything else).
    """

    def __init__(self, kind: str, said: str, answer: Answer | None = None) -> None:
        super().__init__(said)
        self.kind = kind
        self.answer = answer


def count(usage: Mapping[str, object], name: str) -> int:
    """A number of tokens in a report, 0 where it is none."""
    found = usage.get(name)
    return found if isinstance(found, int) and not isinstance(found, bool) and found > 0 else 0


def charged(usage: object, text: str, model: str, *, dollars: float | None = None, requests: int = 1) -> Answer:
    """The answer with what the Messages API's `usage` says that it took."""
    told = usage if isinstance(usage, dict) else {}
    return Answer(
        text, model, input_tokens=count(told, "input_tokens"), written=count(told, "cache_creation_input_tokens"), read=count(told, "cache_read_input_tokens"),
        output_tokens=count(told, "output_tokens"), dollars=dollars, requests=requests,
    )  # fmt: skip


def by_status(status: int, name: str) -> str:
    """The kind of a failure by the status of the Messages API and its name for the error, «» where they do not say."""
    if status in (401, 403) or name in ("authentication_error", "permission_error"):
        return "away"
    if status == 413 or name == "request_too_large":
        return "long"
    return "limited" if status in (402, 429, 529) or name in ("rate_limit_error", "overloaded_error", "billing_error") else ""


def status_and_name(status: object, name: object) -> str:
    """What may be told of an API's error, in brackets after a space: its status and its name, «» for neither."""
    told = [str(status)] if isinstance(status, int) and not isinstance(status, bool) and status else []
    if isinstance(name, str) and _NAME.fullmatch(name):
        told.append(name)
    return f" ({' '.join(told)})" if told else ""


def stopped(reason: str, answer: Answer | None) -> Failed:
    """The failure for an answer that ended otherwise than by itself."""
    if reason in CUT_STOPS:
        return Failed("refused", "the answer was cut off at the most tokens that it may have", answer)
    if reason == "refusal":
        return Failed("refused", "the model declined to answer", answer)
    return Failed("wrong", f"the answer ended in an unexpected way{status_and_name(0, reason)}", answer)


def late(timeout_s: float) -> Failed:
    """The failure for an answer that did not come in time; what it took is unknown."""
    return Failed("late", f"there was no answer within {timeout_s:g} s")
