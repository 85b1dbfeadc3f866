"""One HTTP connection to the fake Messages API: reads a request, has it judged, and sends the answer."""

from __future__ import annotations

import json
import select
import socket
import time
import uuid
import zlib
from dataclasses import dataclass, field
from email.message import Message
from http.server import BaseHTTPRequestHandler
from typing import TYPE_CHECKING, Any

from tests.fakes import replies as scripts
from tests.fakes import sse, validation
from tests.fakes.models import Model
from tests.fakes.prompt_cache import count_tokens
from tests.fakes.refusal import Refusal

if TYPE_CHECKING:
    from tests.fakes.messages_api import MessagesApi

POLL_S = 0.05
WARM_UPS = ("/", "/api/hello")


@dataclass
class RecordedRequest:
    """One request as it arrived and what became of it; `status` is None until it is decided."""

    method: str
    path: str
    headers: Message
    raw: bytes
    body: dict[str, Any] = field(default_factory=dict)
    status: int | None = None
    error: str | None = None
    usage: dict[str, Any] | None = None
    transformations: list[dict[str, str]] = field(default_factory=list)
    client_port: int = 0
    disconnected_at: float | None = None

    @property
    def route(self) -> str:
        """The path without its query."""
        return self.path.partition("?")[0]

    @property
    def prompt(self) -> str:
        """What the user said last in it."""
        return scripts.prompt_of(self.body) if self.body.get("messages") else ""


class Door(BaseHTTPRequestHandler):
    """One connection."""

    api: MessagesApi
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def setup(self) -> None:
        """Keeps the connection, so that close() can end it."""
        super().setup()
        with self.api.changed:
            self.api.connections.add(self.connection)

    def finish(self) -> None:
        """Forgets the connection."""
        with self.api.changed:
            self.api.connections.discard(self.connection)
        try:
            super().finish()
        except OSError:
            pass  # the client is gone

    def handle_one_request(self) -> None:
        """Serves the next request; a connection that breaks ends quietly."""
        try:
            super().handle_one_request()
        except OSError:
            self.close_connection = True

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing on stderr."""

    def do_HEAD(self) -> None:
        """Warm-up."""
        request = self.record(b"")
        known = request.route in WARM_UPS
        self.answer(request, 200 if known else 404, b"")

    def do_GET(self) -> None:
        """Warm-up and the list of models."""
        request = self.record(b"")
        listed = [{"type": "model", "id": name, "display_name": name} for name in self.api.models]
        single = next((entry for entry in listed if request.route == f"/v1/models/{entry['id']}"), None)
        if request.route in WARM_UPS:
            self.answer_json(request, {"message": "hello"})
        elif request.route == "/v1/models":
            ends = {"first_id": listed[0]["id"], "last_id": listed[-1]["id"]} if listed else {}
            self.answer_json(request, {"data": listed, "has_more": False, **ends})
        elif single:
            self.answer_json(request, single)
        else:
            self.refuse(request, Refusal("Not found", 404))

    def do_POST(self) -> None:
        """A message or a count."""
        size_bytes = int(self.headers.get("content-length") or 0)
        if self.headers.get("transfer-encoding") or size_bytes > validation.MAX_BODY_BYTES:
            self.close_connection = True
            status = 411 if self.headers.get("transfer-encoding") else 413
            text = "Length Required" if status == 411 else "Request exceeds the maximum size"
            self.refuse(self.record(b""), Refusal(text, status))
            return
        request = self.record(self.rfile.read(size_bytes))
        counting = request.route == "/v1/messages/count_tokens"
        if request.route != "/v1/messages" and not counting:
            self.refuse(request, Refusal("Not found", 404))
            return
        try:
            body = validation.envelope(self.headers, request.raw, counting)
            model = validation.check(self.headers, body, self.api.models)
            changes, dropped = self.api.signatures.check(body, model, validation.betas_of(self.headers))
        except Refusal as refusal:
            self.refuse(request, refusal)
            return
        request.transformations = changes
        if counting:
            self.answer_json(request, {"input_tokens": count_tokens(body)})
        else:
            self.answer_message(request, model, dropped)

    def record(self, raw: bytes) -> RecordedRequest:
        """The request, listed."""
        request = RecordedRequest(self.command, self.path, self.headers, raw, client_port=self.client_address[1])
        try:
            body = validation.decoded(self.headers.get("content-encoding"), raw) if raw else {}
        except Refusal:
            body = {}
        request.body = body
        with self.api.changed:
            self.api.requests.append(request)
            self.api.changed.notify_all()
        return request

    def answer_message(self, request: RecordedRequest, model: Model, dropped: set[tuple[int, int]]) -> None:
        """The scripted reply to an accepted request."""
        try:
            reply = self.api.next_reply(request)
        except Exception as problem:  # the script is test code: its failure must be seen, not retried
            text = f"the reply function failed: {problem!r}"
            self.refuse(request, Refusal(text, 500, headers={"x-should-retry": "false"}))
            return
        if not self.pause(request, reply.get("ttft", 0)):
            return
        if reply.get("error"):
            wrong = reply["error"]
            refusal = Refusal(wrong.get("msg", ""), wrong.get("status", 400), wrong.get("type"), wrong.get("code"))
            refusal.headers = dict(wrong.get("headers") or {})
            self.refuse(request, refusal, compress=bool(reply.get("gzip")))
            return
        usage = self.api.cache.charge(request.body, model)

        def sign(blocks: list[dict[str, Any]], words: str) -> str:
            return self.api.signatures.mint(request.body, model, blocks, words, dropped)

        message = scripts.finished(reply, request.body, model, usage, sign)
        if request.transformations:
            message["input_transformations"] = request.transformations
        self.api.note(request, status=200, usage=message["usage"])
        compress = bool(reply.get("gzip")) and "gzip" in (self.headers.get("accept-encoding") or "")
        if request.body.get("stream"):
            self.stream(request, reply, sse.events(message), compress)
        else:
            self.pause(request, reply.get("hang", 0))
            self.answer_json(request, message, compress=compress, cut=reply.get("cut") is not None)

    def stream(self, request: RecordedRequest, reply: scripts.Reply, events: list[dict[str, Any]], zip: bool) -> None:
        """The events of a reply, with the accidents it asks for."""
        self.head(200, {"content-type": "text/event-stream; charset=utf-8", "cache-control": "no-cache"}, None, zip)
        packer = zlib.compressobj(wbits=31) if zip else None
        broken = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
        try:
            for number, event in enumerate(events):
                if reply.get("error_after") == number:
                    self.chunk(packer, sse.frame(broken), reply)
                    break
                if reply.get("cut") == number:
                    self.close_connection = True
                    return
                last = number == len(events) - 1
                wait_s = reply.get("gap", 0) if number else 0
                if not self.pause(request, wait_s + (reply.get("hang", 0) if last else 0)):
                    return
                self.chunk(packer, sse.frame(event), reply)
            if packer:
                self.chunk(None, packer.flush(), reply)
            self.wfile.write(b"0\r\n\r\n")
        except OSError:
            self.gone(request)

    def chunk(self, packer: Any, data: bytes, reply: scripts.Reply) -> None:
        """Sends data at once, in pieces when the reply is split."""
        if packer:
            data = packer.compress(data) + packer.flush(zlib.Z_SYNC_FLUSH)
        step = reply.get("split") or len(data) or 1
        for at in range(0, len(data), step):
            part = data[at : at + step]
            self.wfile.write(b"%x\r\n%b\r\n" % (len(part), part))

    def pause(self, request: RecordedRequest, seconds: float) -> bool:
        """Waits; False when the client left or the fake is closing."""
        end = time.monotonic() + seconds
        while True:
            left = end - time.monotonic()
            if left <= 0:
                return True
            if self.api.stopping.is_set():
                self.close_connection = True
                return False
            ready = select.select([self.connection], [], [], min(left, POLL_S))[0]
            if ready and not self.connection.recv(1, socket.MSG_PEEK):
                self.gone(request)
                return False
            if ready:  # the next request is already here; it waits its turn
                self.api.stopping.wait(min(left, POLL_S))

    def gone(self, request: RecordedRequest) -> None:
        """Writes down that the client closed the connection, and when (monotonic seconds)."""
        self.close_connection = True
        self.api.note(request, disconnected_at=time.monotonic())

    def refuse(self, request: RecordedRequest, refusal: Refusal, compress: bool = False) -> None:
        """The error answer."""
        self.api.note(request, error=refusal.message)
        body = refusal.body(f"req_{uuid.uuid4().hex[:24]}")
        self.answer_json(request, body, refusal.status, refusal.headers, compress)

    def answer_json(
        self,
        request: RecordedRequest,
        body: dict[str, Any],
        status: int = 200,
        headers: dict[str, str] | None = None,
        compress: bool = False,
        cut: bool = False,
    ) -> None:
        """A JSON answer; `cut` breaks off in the middle of it."""
        data = json.dumps(body, ensure_ascii=False).encode()
        if compress:
            packer = zlib.compressobj(wbits=31)
            data = packer.compress(data) + packer.flush()
        self.answer(request, status, data, headers, compress, cut)

    def answer(
        self,
        request: RecordedRequest,
        status: int,
        data: bytes,
        headers: dict[str, str] | None = None,
        compress: bool = False,
        cut: bool = False,
    ) -> None:
        """A whole answer."""
        self.api.note(request, status=status)
        try:
            self.head(status, {"content-type": "application/json", **(headers or {})}, len(data), compress)
            self.wfile.write(data[: len(data) // 2] if cut else data)
        except OSError:
            self.gone(request)
        self.close_connection = self.close_connection or cut

    def head(self, status: int, headers: dict[str, str], size_bytes: int | None, compress: bool) -> None:
        """Status line and headers; without a size the body comes in chunks."""
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("request-id", f"req_{uuid.uuid4().hex[:24]}")
        self.send_header("anthropic-organization-id", self.api.signatures.account)
        self.send_header("anthropic-ratelimit-requests-limit", "4000")
        self.send_header("anthropic-ratelimit-requests-remaining", "3999")
        if compress:
            self.send_header("content-encoding", "gzip")
        if size_bytes is None:
            self.send_header("transfer-encoding", "chunked")
        else:
            self.send_header("content-length", str(size_bytes))
        self.end_headers()
