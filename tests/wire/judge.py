"""The strict API's judgement of a list of messages, without a socket."""

from __future__ import annotations

import json
from collections.abc import Sequence
from email.message import Message
from typing import Any

from tests.fakes import validation
from tests.fakes.models import MODELS
from tests.fakes.refusal import Refusal

BETAS = "per-turn-control-2026-07-01"


def verdict(messages: Sequence[bytes | dict[str, Any]], *, then: str = "") -> str:
    """Why the API refuses these messages, "" when it takes them; with `then` a prompt follows them."""
    whole = [json.loads(message) if isinstance(message, bytes) else message for message in messages]
    if then:
        whole.append({"role": "user", "content": then})
    headers = Message()
    headers["anthropic-version"] = "2023-06-01"
    headers["anthropic-beta"] = BETAS
    body = {"model": "claude-opus-5-5", "max_tokens": 100, "messages": whole}
    try:
        validation.check(headers, body, MODELS)
    except Refusal as refusal:
        return refusal.message
    return ""
