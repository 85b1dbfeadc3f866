"""MCP for a server that has tools and nothing else: JSON-RPC messages in, answers out, in both eras of the protocol.

Up to 2025-11-25 a client shakes hands first (`initialize`). From 2026-07-28 on there is no handshake: every request names its version and
the client's capabilities in `_meta`, and `server/discover` tells what is served. Each request shows by itself which era it belongs to, so
one process serves both, and answers what it does not know at once: a client that waits for an answer in vain starts seconds later.
Source: modelcontextprotocol.io/specification, revisions 2024-11-05 to 2026-07-28.
"""

from __future__ import annotations

import json

from tenon.base.errors import TenonError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    Notify = Callable[[str, "dict[str, Any]"], object]
    Ask = Callable[[str, "dict[str, Any]"], "dict[str, Any]"]

HANDSHAKE = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
STATELESS = ("2026-07-28",)
BATCHED = ("", "2024-11-05", "2025-03-26")  # "" as long as no version is agreed upon

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
HEADER_MISMATCH = -32020  # over HTTP only
MISSING_CAPABILITY = -32021
UNSUPPORTED_VERSION = -32022

VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES_KEY = "io.modelcontextprotocol/clientCapabilities"
SERVER_KEY = "io.modelcontextprotocol/serverInfo"

CACHED = {"ttlMs": 300_000, "cacheScope": "private"}  # the tools change only with the server, which a client starts anew
ENDLESS = (float("inf"), float("-inf"))


class ToolError(TenonError):
    """A tool's refusal: the model reads the sentence and tries again."""


class Refused(Exception):
    """A request that gets a JSON-RPC error instead of a result."""

    def __init__(self, code: int, message: str, data: object = None) -> None:
        super().__init__(message)
        self.code = code
        self.data = data


class Unanswered(Exception):
    """A client that cannot be asked, did not answer in time, or refused."""


class Asked(Exception):
    """A stateless call that ends with questions to the client, which calls again with the answers. `requests` has each under a key."""

    def __init__(self, requests: dict[str, Any]) -> None:
        super().__init__(", ".join(requests))
        self.requests = requests


def _unheard(method: str, params: dict[str, Any]) -> None:
    """Nothing: a notification to a client that cannot get any."""


def _unasked(method: str, params: dict[str, Any]) -> dict[str, Any]:
    raise Unanswered("there is no way to ask this client")


class Peer:
    """The client at the other end: how it is notified and asked, and, for a tool that wants to know, where it works."""

    __slots__ = ("notify", "ask", "where")

    def __init__(self, notify: Notify = _unheard, ask: Ask = _unasked, where: Callable[[Context], Any] | None = None) -> None:
        self.notify = notify
        self.ask = ask
        self.where = where


NOBODY = Peer()


class Context:
    """What a request tells besides its arguments: its era's version, `_meta`, the client's capabilities, its answers, and the client."""

    __slots__ = ("version", "meta", "capabilities", "answers", "peer")

    def __init__(self, version: str, meta: dict[str, Any], capabilities: dict[str, Any], answers: dict[str, Any], peer: Peer) -> None:
        self.version = version
        self.meta = meta
        self.capabilities = capabilities
        self.answers = answers
        self.peer = peer

    @property
    def notify(self) -> Notify:
        """Sends the client a notification, when it can get any."""
        return self.peer.notify

    def ask(self, key: str, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        """The client's answer to a request of ours; it must have the capability. `key` names the question where the call is repeated with it.

        Raises Unanswered, and Asked where the answer comes with another call: a tool lets that one pass.
        """
        if self.version not in STATELESS:
            return self.peer.ask(method, params or {})
        given = self.answers.get(key)
        if isinstance(given, dict):
            return given
        raise Asked({key: {"method": method, "params": params or {}}})


class Result:
    """A tool's result in full: content blocks, data for programs, and whether it tells of a failure."""

    __slots__ = ("content", "structured", "is_error")

    def __init__(self, content: list[dict[str, Any]], structured: dict[str, Any] | None = None, is_error: bool = False) -> None:
        self.content = content
        self.structured = structured
        self.is_error = is_error


class Tool:
    """A tool as it is listed, and the function that answers a call.

    `call` gets the validated arguments and a Context. A dict that it returns becomes data and the same as JSON text, a list is content
    blocks, a string is text; a Result is taken as it is.
    """

    __slots__ = ("name", "title", "description", "input_schema", "output_schema", "annotations", "meta", "call")

    def __init__(
        self,
        name: str,
        title: str,
        description: str,
        input_schema: dict[str, Any],
        call: Callable[[dict[str, Any], Context], object],
        output_schema: dict[str, Any] | None = None,
        annotations: dict[str, Any] | None = None,
        meta: dict[str, Any] | None = None,
    ) -> None:
        self.name = name
        self.title = title
        self.description = description
        self.input_schema = input_schema
        self.output_schema = output_schema
        self.annotations = annotations
        self.meta = meta
        self.call = call

    def listed(self) -> dict[str, Any]:
        """The tool's entry in `tools/list`."""
        more = {"title": self.title, "outputSchema": self.output_schema, "annotations": self.annotations, "_meta": self.meta}
        entry = {"name": self.name, "description": self.description, "inputSchema": self.input_schema}
        return {**entry, **{key: value for key, value in more.items() if value}}


class Dispatcher:
    """Answers messages, whichever way they come."""

    def __init__(self, name: str, version: str, title: str, instructions: str, tools: Iterable[Tool], on_fault: Callable[[BaseException], object]) -> None:
        self._tools = {tool.name: tool for tool in tools}
        self._list = [tool.listed() for tool in self._tools.values()]
        self._server = {"name": name, "title": title, "version": version}
        self._offer = {"capabilities": {"tools": {}}, "instructions": instructions}
        self._on_fault = on_fault
        self._agreed = ""
        self._capabilities: dict[str, Any] = {}  # as told in the handshake

    @property
    def listing(self) -> list[dict[str, Any]]:
        """The tools as `tools/list` gives them."""
        return self._list

    def answer(self, message: object, peer: Peer = NOBODY) -> dict[str, Any] | list[dict[str, Any]] | None:
        """The answer to a decoded message, a list of them to a batch, None where none is due. Never raises."""
        if not isinstance(message, list):
            return self._one(message, peer)
        if not message or self._agreed not in BATCHED:
            return refusal(None, INVALID_REQUEST, "a batch must not be empty" if not message else f"{self._agreed} has no batches: send one message a line")
        answers = [self._one(part, peer) for part in message]
        return [answer for answer in answers if answer is not None] or None

    def _one(self, message: object, peer: Peer) -> dict[str, Any] | None:
        if not isinstance(message, dict):
            return refusal(None, INVALID_REQUEST, "a message is a JSON object")
        method, number = message.get("method"), message.get("id")
        if "method" not in message and ("result" in message or "error" in message):
            return None  # an answer, though nothing was asked
        if "id" in message and (isinstance(number, bool) or not isinstance(number, (str, int, float)) or number in ENDLESS):
            return refusal(None, INVALID_REQUEST, "an id is a string or a number")
        if message.get("jsonrpc") != "2.0" or not isinstance(method, str):
            return refusal(number, INVALID_REQUEST, 'a message has "jsonrpc": "2.0" and a method')
        if "id" not in message:
            return None  # a notification
        try:
            result = self._result(method, message.get("params"), peer)
        except Refused as refused:
            return refusal(number, refused.code, str(refused), refused.data)
        except Exception as error:  # noqa: BLE001 - the door: whatever happens, the client gets its answer
            self._fault(error)
            return refusal(number, INTERNAL_ERROR, f"Tenon failed: {type(error).__name__}; the details are in `tenon doctor`")
        return {"jsonrpc": "2.0", "id": number, "result": result}

    def _result(self, method: str, given: object, peer: Peer) -> dict[str, Any]:
        if given is not None and not isinstance(given, dict):
            raise Refused(INVALID_PARAMS, "params must be an object")
        params: dict[str, Any] = given or {}
        context = self._context(method, params, peer)
        stateless = context.version in STATELESS
        if method == "tools/call":
            result = self._call(params, context)
        elif method == "tools/list":
            if params.get("cursor") is not None:
                raise Refused(INVALID_PARAMS, "there is one page of tools, and no cursor to another")
            result = {"tools": self._list, **(CACHED if stateless else {})}
        elif method == "server/discover":
            result = {"supportedVersions": list(STATELESS), **self._offer, **CACHED}
        elif method == "initialize" and not stateless:
            wanted = params.get("protocolVersion")
            self._agreed = wanted if wanted in HANDSHAKE else HANDSHAKE[-1]
            able = params.get("capabilities")
            self._capabilities = able if isinstance(able, dict) else {}
            result = {"protocolVersion": self._agreed, **self._offer, "serverInfo": self._server}
        elif method == "ping" and not stateless:
            result = {}
        else:
            raise Refused(METHOD_NOT_FOUND, f"Method not found: {method[:100]}")
        return {"resultType": "complete", **result, "_meta": {SERVER_KEY: self._server}} if stateless else result

    def _context(self, method: str, params: dict[str, Any], peer: Peer) -> Context:
        meta = params.get("_meta")
        if not isinstance(meta, dict):
            meta = {}
        if method != "server/discover" and VERSION_KEY not in meta and CAPABILITIES_KEY not in meta:
            return Context(self._agreed or HANDSHAKE[-1], meta, self._capabilities, {}, peer)
        version, capabilities = meta.get(VERSION_KEY), meta.get(CAPABILITIES_KEY)
        if not isinstance(version, str):
            raise Refused(INVALID_PARAMS, f"_meta must name the version as {VERSION_KEY}")
        if not isinstance(capabilities, dict):
            raise Refused(INVALID_PARAMS, f"_meta must hold the client's capabilities as {CAPABILITIES_KEY}, an object")
        if version not in STATELESS:
            raise Refused(UNSUPPORTED_VERSION, "Unsupported protocol version", {"supported": list(STATELESS), "requested": version})
        answers = params.get("inputResponses")
        return Context(version, meta, capabilities, answers if isinstance(answers, dict) else {}, peer)

    def _call(self, params: dict[str, Any], context: Context) -> dict[str, Any]:
        from mcp_server import validate

        name = params.get("name")
        tool = self._tools.get(name) if isinstance(name, str) else None
        if tool is None:
            raise Refused(INVALID_PARAMS, f"Unknown tool: {validate.shown(name)}; the tools are {validate.listed(self._tools, 'and')}")
        arguments = {} if params.get("arguments") is None else params["arguments"]
        try:
            wrong = validate.problem(arguments, tool.input_schema)
            if wrong:
                raise ToolError(wrong)
            return _shaped(tool.call(arguments, context))
        except Asked as asked:
            return {"resultType": "input_required", "inputRequests": asked.requests}
        except Refused:
            raise
        except TenonError as error:
            return _shaped(Result([_text(str(error))], is_error=True))
        except (Exception, SystemExit) as error:  # noqa: BLE001 - the door: a fault of one tool is told, and the server lives on
            self._fault(error)
            return _shaped(Result([_text(f"Tenon failed: {type(error).__name__}; the details are in `tenon doctor`")], is_error=True))

    def _fault(self, error: BaseException) -> None:
        try:
            self._on_fault(error)
        except Exception:  # noqa: BLE001 - what only writes a fault down must not cost the answer
            pass


def decode(line: bytes) -> object:
    """The JSON value of a line. Raises ValueError or RecursionError for what is none.

    Bytes that are not UTF-8 and halves of surrogate pairs come out as replacement characters: SQLite takes neither.
    """
    text = line.decode("utf-8", "replace").lstrip("\ufeff")
    value: object = _DECODER.decode(text)
    if "\\ud" in text or "\\uD" in text:
        value = _DECODER.decode(_ENCODER.encode(value).encode("utf-8", "replace").decode("utf-8"))
    return value


def encode(message: object) -> bytes:
    """The message as one line of UTF-8; separators that some readers take for line ends are escaped."""
    text = _ENCODER.encode(message).replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    return text.encode("utf-8", "replace") + b"\n"


def _no_number(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


_DECODER = json.JSONDecoder(parse_constant=_no_number)
_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def refusal(number: object, code: int, message: str, data: object = None) -> dict[str, Any]:
    """The answer that says why a request has no result."""
    why = {"code": code, "message": message} if data is None else {"code": code, "message": message, "data": data}
    return {"jsonrpc": "2.0", "id": number, "error": why}


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _shaped(given: object) -> dict[str, Any]:
    if isinstance(given, Result):
        shaped: dict[str, Any] = {"content": given.content}
        if given.structured is not None:
            shaped["structuredContent"] = given.structured
        if given.is_error:
            shaped["isError"] = True
    elif isinstance(given, dict):
        return {"content": [_text(_ENCODER.encode(given))], "structuredContent": given}
    else:
        shaped = {"content": given if isinstance(given, list) else [_text(given if isinstance(given, str) else _ENCODER.encode(given))]}
    _ENCODER.encode(shaped)  # what cannot be written is a fault of the tool, not of the connection
    return shaped
