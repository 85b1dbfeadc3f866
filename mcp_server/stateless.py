"""What the stateless era asks of HTTP: headers that say what the body says, so that whoever stands between can read them.

Source: modelcontextprotocol.io/specification/2026-07-28/basic/transports.
"""

from __future__ import annotations

from mcp_server.protocol import HEADER_MISMATCH, INVALID_PARAMS, STATELESS, VERSION_KEY, Refused
from tenon.world import strict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    Headers = Sequence[tuple[str, str]]

# code of an error: the status that it is sent with
STATUS = {-32700: 400, -32600: 400, -32602: 400, -32020: 400, -32021: 400, -32022: 400, -32601: 404}
ENCODED = "=?base64?", "?="


def is_meant(headers: Headers, message: object) -> bool:
    """Whether a message belongs to the stateless era."""
    if not isinstance(message, dict):
        return False
    told = strict.values(headers, "mcp-protocol-version")
    return any(version in STATELESS for version in told) or ("id" in message and (message.get("method") == "server/discover" or VERSION_KEY in _meta(message)))


def check(headers: Headers, message: dict[str, Any], schemas: dict[str, dict[str, Any]]) -> None:
    """Raises Refused where the headers and the body do not say the same. `schemas` has each tool's input schema."""
    version = _meta(message).get(VERSION_KEY)
    if version is None:
        raise Refused(INVALID_PARAMS, f"_meta must name the version as {VERSION_KEY}")
    expected = {"MCP-Protocol-Version": version, "Mcp-Method": message.get("method")}
    if message.get("method") == "tools/call":
        params = message["params"]
        expected["Mcp-Name"] = params.get("name")
        expected.update(_mirrored(params, schemas))
    for header, value in expected.items():
        given = strict.values(headers, header.lower())
        if len(given) != 1 or _decoded(given[0].strip()) != value:
            raise Refused(HEADER_MISMATCH, f"the header {header} must be there once and say what the body says")


def _mirrored(params: dict[str, Any], schemas: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """The arguments that a header repeats, by the header's name."""
    arguments, name = params.get("arguments"), params.get("name")
    known = schemas.get(name, {}).get("properties", {}) if isinstance(name, str) else {}
    if not isinstance(arguments, dict):
        return {}
    return {f"Mcp-Param-{schema['x-mcp-header']}": arguments[field] for field, schema in known.items() if "x-mcp-header" in schema and field in arguments}


def _meta(message: dict[str, Any]) -> dict[str, Any]:
    params = message.get("params")
    meta = params.get("_meta") if isinstance(params, dict) else None
    return meta if isinstance(meta, dict) else {}


def _decoded(value: str) -> str | None:
    from base64 import b64decode

    first, last = ENCODED
    if not (value.startswith(first) and value.endswith(last)):
        return value
    try:
        return b64decode(value[len(first) : -len(last)], validate=True).decode("utf-8")
    except ValueError:
        return None
