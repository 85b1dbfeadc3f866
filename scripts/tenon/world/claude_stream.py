"""What `claude -p` says as it goes, line by line of JSON: the one answer of the model, or why there is none. Pure.

Read along, because Claude Code by itself asks again where an answer was cut off or empty, up to three times, and its last
line then has the end of the answer alone, as if all were well: `done` says when there is nothing more worth waiting for.
What is read after that counts all the same: a request that had been sent by then is charged.
"""

from __future__ import annotations

import json

from tenon.world import asking
from tenon.world.asking import Answer, Failed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# How Claude Code begins what it says in the place of an answer, by the kind of failure.
SAID = (
    ("away", ("Not logged in", "Invalid API key", "Please run /login", "Failed to authenticate", "Login expired", "Login reached", "OAuth token", "Your organization has been disabled")),
    ("long", ("Prompt is too long", "API Error: 400 input length and")),
    ("limited", ("You've hit your", "You've reached your", "You're out of", "Your org is out of", "Your organization is out of", "Credit balance is too low", "API Error: Overloaded", "Claude AI usage limit reached", "Claude usage limit reached", "Usage limit reached")),
    ("refused", ("API Error: Claude Code is unable to respond to this request", "API Error: Claude's response exceeded", "API Error: The model has reached its context window limit")),
    ("wrong", ("There's an issue with the selected model", "API Error", "Unknown command:", "Error:")),
)  # fmt: skip
TELLS = {
    "away": "Claude Code is not logged in, or its login is not accepted{}; start `claude` and log in with /login",
    "long": "the request is longer than the model's window{}",
    "limited": "the API is busy, or a limit of use is reached{}; later it may answer again",
    "refused": "the model declined to answer, or its answer was cut off{}",
    "wrong": "Claude Code ended with an error{}",
}
UNKNOWN = "Claude Code does not know the model{}; `tenon config digest.model` names another"


class Stream:
    """What was said so far. `requests` to the API have been answered, `stop` is how the answer of the first ended."""

    __slots__ = ("requests", "stop", "done", "_text", "_model", "_usage", "_result")

    def __init__(self) -> None:
        self.requests = 0
        self.stop = ""
        self.done = False
        self._text: list[str] = []
        self._model = ""
        self._usage: dict[str, int] = {}
        self._result: dict[str, Any] | None = None

    @property
    def ended(self) -> bool:
        """Whether Claude Code has said its last word, and ends by itself."""
        return self._result is not None

    def read(self, line: bytes) -> None:
        """Takes the next line; what is no JSON, or of another kind, is passed over."""
        try:
            found = json.loads(line)
        except (ValueError, RecursionError):
            return
        if not isinstance(found, dict):
            return
        if found.get("type") == "stream_event" and isinstance(found.get("event"), dict):
            self._event(found["event"])
        elif found.get("type") == "result" and not self.done:
            self._result = found
            self.done = True

    def answer(self, code: int | None, errors: str) -> Answer:
        """The model's answer; `code` is the exit code, `errors` what was said beside it. Raises Failed."""
        result = self._result
        if self.stop and self.stop != "end_turn":
            raise asking.stopped(self.stop, self._charged())
        if self.stop and not self._said.strip():
            raise Failed("wrong", "the model answered with nothing", self._charged())
        if self.requests > 1:
            raise Failed("wrong", "Claude Code asked the model again by itself", self._charged())
        if result is None:
            kind = _kind(errors) or "wrong"
            raise Failed(kind, TELLS[kind].format("") if kind != "wrong" else f"Claude Code ended without an answer (exit {code})", self._charged())
        text = result.get("result")
        said = text if isinstance(text, str) else ""
        status, name = result.get("api_error_status"), result.get("api_error_type")
        kind = _kind(said)
        if kind or result.get("is_error") or result.get("subtype") != "success":
            kind = asking.by_status(status if isinstance(status, int) else 0, str(name)) or kind or "wrong"
            tells = UNKNOWN if status == 404 else TELLS[kind]
            raise Failed(kind, tells.format(asking.status_and_name(status, name)), self._charged())
        if result.get("stop_reason") not in (None, "end_turn"):
            raise asking.stopped(str(result["stop_reason"]), self._charged())
        if not said.strip():
            raise Failed("wrong", "the model answered with nothing", self._charged())
        return self._charged(said) or Answer(said, self._model)

    @property
    def _said(self) -> str:
        return "".join(self._text)

    def _event(self, event: dict[str, Any]) -> None:
        kind, delta = event.get("type"), _dict(event.get("delta"))
        if kind == "message_start":
            self.requests += 1
            message = _dict(event.get("message"))
            self._model = self._model or str(message.get("model") or "")
            usage = _dict(message.get("usage"))
            self._add(usage, ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"))
            self.done = self.done or self.requests > 1
        elif self.done:
            return
        elif kind == "content_block_delta" and isinstance(delta.get("text"), str):
            self._text.append(delta["text"])
        elif kind == "message_delta" and delta.get("stop_reason"):
            self._add(_dict(event.get("usage")), ("output_tokens",))
            self.stop = str(delta["stop_reason"])
            self.done = self.stop != "end_turn" or not self._said.strip()

    def _add(self, usage: dict[str, Any], names: tuple[str, ...]) -> None:
        for name in names:
            self._usage[name] = self._usage.get(name, 0) + asking.count(usage, name)

    def _charged(self, text: str = "") -> Answer | None:
        """The answer with what it took, None where nothing was reported."""
        result = self._result or {}
        models = _dict(result.get("modelUsage"))
        model = self._model or next(iter(models), "")
        dollars = result.get("total_cost_usd")
        paid = float(dollars) if isinstance(dollars, (int, float)) and not isinstance(dollars, bool) else None
        total = _dict(result.get("usage"))
        found = asking.charged(
            total if sum(asking.count(total, name) for name in total) else self._usage, text, str(model), dollars=paid, requests=max(1, self.requests)
        )
        return found if found.tokens else None


def _kind(said: str) -> str:
    """The kind of failure that a text tells of in the place of an answer, «» for an answer."""
    begun = said.lstrip()
    return next((kind for kind, beginnings in SAID if begun.startswith(beginnings)), "")


def _dict(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
