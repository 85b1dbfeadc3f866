"""The Messages API asked once with the user's own key, which is read for that request and kept nowhere."""

from __future__ import annotations

import json
import os
import threading
import time

from tenon import __version__
from tenon.base.text import clean
from tenon.world import asking, dial, direct
from tenon.world.asking import Failed
from tenon.world.upstream import Abandoned, Broken, Call, Unreachable, Upstream

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from tenon.base.settings import Settings
    from tenon.world.asking import Answer, Question

KEY, TOKEN = "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"
MISSING = "there is no ANTHROPIC_API_KEY in the environment; set one, or choose another runner with `tenon config digest.runner claude`"
PATH = "/v1/messages"
VERSION = "2023-06-01"
LARGEST_BYTES = 8 << 20
# Models that think unless they are told otherwise; every such token is paid, and counts against the most of the answer.
WITHOUT_THINKING = (
    ("claude-haiku-5-5", "disabled"), ("claude-sonnet-5-5", "between_tools"), ("claude-sonnet-5", "disabled"), ("claude-opus-5-5", ""), ("claude-opus-5", "disabled"),
)  # fmt: skip
OPTIONAL = ("output_config", "thinking")  # what not every model, and not every gateway, takes
TOO_LONG = ("prompt is too long", "input is too long", "input length and")


def ask(model: str, question: Question, chosen: Settings, timeout_s: float) -> Answer:
    """The model's answer by one request, or by two where the API does not take all of the first. Raises Failed, and TenonError for no address."""
    headers = _headers(os.environ)
    if not headers:
        raise Failed("away", MISSING)
    upstream = Upstream(direct.address(chosen, os.environ), os.environ)
    body, end = _body(model, question), time.monotonic() + timeout_s
    try:
        status, data = _sent(upstream, headers, body, timeout_s, end)
        requests = 1
        if status == 400 and any(name in _message(data) for name in OPTIONAL):
            for name in OPTIONAL:
                body.pop(name, None)
            status, data = _sent(upstream, headers, body, timeout_s, end)
            requests = 2
    finally:
        upstream.close()
    return _understood(status, data, model, requests)


def missing(chosen: Settings) -> str:
    """Why the API cannot be asked, «» when it can; whether it takes the key, only asking shows. Raises TenonError for no address."""
    dial.place(direct.address(chosen, os.environ), "the upstream")
    return "" if _headers(os.environ) else MISSING


def _headers(env: Mapping[str, str]) -> list[tuple[str, str]]:
    """What every request carries, [] where there are no credentials."""
    key, token = env.get(KEY, "").strip(), env.get(TOKEN, "").strip()
    if not (key or token):
        return []
    who = ("x-api-key", key) if key else ("Authorization", "Bearer " + token)
    return [("Content-Type", "application/json"), ("Accept", "application/json"), ("User-Agent", f"tenon/{__version__}"), ("anthropic-version", VERSION), who]


def _body(model: str, question: Question) -> dict[str, Any]:
    body: dict[str, Any] = {
        "model": model,
        "max_tokens": question.most_output,
        "system": [{"type": "text", "text": clean(question.system), "cache_control": {"type": "ephemeral"}}],
        "messages": [{"role": "user", "content": clean(question.prompt)}],
        "output_config": {"format": {"type": "json_schema", "schema": question.schema}},
    }
    kind = next((kind for name, kind in WITHOUT_THINKING if model.startswith(name)), "")
    if kind:
        body["thinking"] = {"type": kind}
    return body


class _Exchange:
    """What a thread brought back: a status with its bytes, or why there is none."""

    __slots__ = ("status", "data", "failed")

    def __init__(self) -> None:
        self.status = 0
        self.data = b""
        self.failed: Failed | None = None

    def fetch(self, upstream: Upstream, headers: list[tuple[str, str]], body: bytes, call: Call) -> None:
        """Asks, and keeps what came; never raises."""
        try:
            answer = upstream.send("POST", PATH, headers, body, call)
            pieces, size = [], 0
            while size <= LARGEST_BYTES and (piece := answer.read()):
                pieces.append(piece)
                size += len(piece)
            if size > LARGEST_BYTES:
                answer.shutdown()
                raise Broken("it answered with more than anybody asked for")
            answer.release()
            self.status, self.data = answer.status, b"".join(pieces)
        except Unreachable as error:
            self.failed = Failed("away", str(error))
        except Broken as error:
            self.failed = Failed("wrong", f"{upstream.place.host} gave no whole answer: {error}")
        except Abandoned:
            pass  # nobody waits for it
        except Exception as error:  # noqa: BLE001 - a header that is none, say; its words would be the key
            self.failed = Failed("wrong", f"{upstream.place.host} cannot be asked ({type(error).__name__})")


def _sent(upstream: Upstream, headers: list[tuple[str, str]], body: dict[str, Any], timeout_s: float, end: float) -> tuple[int, bytes]:
    """The status and the body of the answer. Raises Failed."""
    call, exchange = Call(), _Exchange()
    data = json.dumps(body).encode("ascii")
    thread = threading.Thread(target=exchange.fetch, args=(upstream, headers, data, call), daemon=True)
    thread.start()
    thread.join(max(0.0, end - time.monotonic()))
    if thread.is_alive():
        call.abandon()
        raise asking.late(timeout_s)
    if exchange.failed is not None:
        raise exchange.failed
    return exchange.status, exchange.data


def _understood(status: int, data: bytes, model: str, requests: int) -> Answer:
    found = _object(data)
    if status != 200:
        raise _refusal(status, found, model)
    content = found.get("content")
    if found.get("type") != "message" or not isinstance(content, list):
        raise Failed("wrong", "the API answered with something that is no message")
    text = "".join(str(block.get("text") or "") for block in content if isinstance(block, dict) and block.get("type") == "text")
    answer = asking.charged(found.get("usage"), text, str(found.get("model") or model), requests=requests)
    if found.get("stop_reason") != "end_turn":
        raise asking.stopped(str(found.get("stop_reason")), answer)
    if not text.strip():
        raise Failed("wrong", "the model answered with nothing", answer)
    return answer


def _refusal(status: int, found: dict[str, Any], model: str) -> Failed:
    error = found.get("error")
    name, message = (str(error.get("type")), str(error.get("message")).lower()) if isinstance(error, dict) else ("", "")
    told = asking.status_and_name(status, name)
    kind = asking.by_status(status, name)
    if status == 400 and any(words in message for words in TOO_LONG):
        kind = "long"
    if status == 400 and "credit balance" in message:
        kind = "limited"
    nothing = asking.Answer("", model) if 400 <= status < 500 else None  # what is refused before it is begun costs nothing
    if status == 404:
        return Failed("wrong", f"the API does not know the model {model}{told}; `tenon config digest.model` names another", nothing)
    said = {
        "away": f"the API does not take the key{told}",
        "long": f"the request is longer than the model's window{told}",
        "limited": f"the API is busy, or a limit of use is reached{told}; later it may answer again",
    }.get(kind, f"the API refused the request{told}")
    return Failed(kind or "wrong", said, nothing)


def _message(data: bytes) -> str:
    error = _object(data).get("error")
    return str(error.get("message") or "") if isinstance(error, dict) else ""


def _object(data: bytes) -> dict[str, Any]:
    try:
        found = json.loads(data.decode("utf-8"))
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
