"""Messages as clients write them, and a dispatcher for one tool."""

from __future__ import annotations

from typing import Any

from mcp_server.protocol import Dispatcher, Tool

STATELESS = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}


def request(method: str, params: object = None, number: object = 1) -> dict[str, Any]:
    """A request as a client writes it."""
    message = {"jsonrpc": "2.0", "id": number, "method": method}
    return message if params is None else {**message, "params": params}


def one_tool(call: Any, faults: list[BaseException] | None = None) -> Dispatcher:
    """A dispatcher whose only tool is `work`."""
    tool = Tool(name="work", title="Work", description="Works.", input_schema={"type": "object"}, call=call)
    return Dispatcher("fixture", "1.2.3", "Fixture", "", [tool], (faults if faults is not None else []).append)
