"""The dispatcher over streamable HTTP, for the conformance suite, which knows no other way in. Tenon itself serves stdio only."""

from __future__ import annotations

import base64
import binascii
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar
from urllib.parse import urlsplit

from mcp_server import protocol
from mcp_server.protocol import HEADER_MISMATCH, INVALID_PARAMS, STATELESS, VERSION_KEY, Dispatcher, Refused, refusal

LOCAL = ("127.0.0.1", "localhost", "::1")
STATUS = {-32700: 400, -32600: 400, -32602: 400, -32020: 400, -32021: 400, -32022: 400, -32601: 404}


@contextmanager
def served(dispatcher: Dispatcher) -> Iterator[str]:
    """The address at which the dispatcher answers, as long as the block runs."""
    handler = type("Bound", (Door,), {"dispatcher": dispatcher})
    server = Server(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/mcp"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class Server(ThreadingHTTPServer):
    """A server to which it is nothing new that clients hang up."""

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Tells of every fault but a connection that the client reset."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


class Door(BaseHTTPRequestHandler):
    """One POST, one message, one answer; no sessions."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    dispatcher: ClassVar[Dispatcher]

    def do_POST(self) -> None:
        """Answers the posted message."""
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if not self._from_here():
            self._write(403, refusal(None, -32600, "Forbidden: the Host or the Origin is not this machine"))
            return
        try:
            message = protocol.decode(body)
        except ValueError:
            self._write(400, refusal(None, -32700, "Parse error"))
            return
        number = message.get("id") if isinstance(message, dict) else None
        heard: list[dict[str, Any]] = []
        stateless = self._stateless(message)
        try:
            if stateless and isinstance(message, dict):
                self._check(message)
        except Refused as refused:
            self._write(STATUS[refused.code], refusal(number, refused.code, str(refused), refused.data))
            return
        answer = self.dispatcher.answer(message, lambda method, params: heard.append({"jsonrpc": "2.0", "method": method, "params": params}))
        status = 202 if answer is None else 200
        if stateless and isinstance(answer, dict) and "error" in answer:
            status = STATUS.get(answer["error"]["code"], 200)
        self._write(status, answer, heard)

    def do_GET(self) -> None:
        """Refuses: there is no stream to listen to."""
        self._write(405, None)

    def do_DELETE(self) -> None:
        """Refuses: there is no session to end."""
        self._write(405, None)

    def log_message(self, *args: object) -> None:
        """Nothing is logged."""

    def _from_here(self) -> bool:
        origin = self.headers.get("Origin")
        hosts = [urlsplit("//" + (self.headers.get("Host") or "")).hostname]
        if origin:
            hosts.append(urlsplit(origin).hostname)
        return all(host in LOCAL for host in hosts)

    def _stateless(self, message: object) -> bool:
        if not isinstance(message, dict) or "id" not in message:
            return False
        return self.headers.get("MCP-Protocol-Version") in STATELESS or message.get("method") == "server/discover" or VERSION_KEY in _meta(message)

    def _check(self, message: dict[str, Any]) -> None:
        """Raises Refused when the headers and the body do not say the same."""
        version = _meta(message).get(VERSION_KEY)
        if version is None:
            raise Refused(INVALID_PARAMS, f"_meta must name the version as {VERSION_KEY}")
        params = message["params"]
        expected = {"MCP-Protocol-Version": version, "Mcp-Method": message.get("method")}
        if message.get("method") == "tools/call":
            expected["Mcp-Name"] = params.get("name")
            expected.update(self._mirrored(params))
        for header, value in expected.items():
            given = self.headers.get_all(header) or []
            if len(given) != 1 or _decoded(given[0].strip()) != value:
                raise Refused(HEADER_MISMATCH, f"the header {header} must be there once and say what the body says")

    def _mirrored(self, params: dict[str, Any]) -> dict[str, str]:
        arguments = params.get("arguments") or {}
        listing = self.dispatcher.answer({"jsonrpc": "2.0", "id": 0, "method": "tools/list"})
        assert isinstance(listing, dict)
        schemas = {tool["name"]: tool["inputSchema"] for tool in listing["result"]["tools"]}
        known = schemas.get(params.get("name"), {}).get("properties", {})
        return {f"Mcp-Param-{schema['x-mcp-header']}": arguments[name] for name, schema in known.items() if "x-mcp-header" in schema and name in arguments}

    def _write(self, status: int, answer: object, heard: list[dict[str, Any]] | None = None) -> None:
        kind, body = "application/json", b"" if answer is None else protocol.encode(answer)
        if heard and answer is not None:
            kind = "text/event-stream"
            body = b"".join(b"event: message\ndata: " + protocol.encode(frame) + b"\n" for frame in [*heard, answer])
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        if status == 405:
            self.send_header("Allow", "POST")
        self.end_headers()
        self.wfile.write(body)


def _meta(message: dict[str, Any]) -> dict[str, Any]:
    params = message.get("params")
    meta = params.get("_meta") if isinstance(params, dict) else None
    return meta if isinstance(meta, dict) else {}


def _decoded(value: str) -> str | None:
    if not (value.startswith("=?base64?") and value.endswith("?=")):
        return value
    try:
        return base64.b64decode(value[9:-2], validate=True).decode("utf-8")
    except (binascii.Error, UnicodeDecodeError):
        return None
