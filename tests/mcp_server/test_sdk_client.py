"""The official Python client against the fixture server over stdio, in each of its ways to connect."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest

mcp = pytest.importorskip("mcp", reason="the official client needs Python 3.10 or newer and `pip install mcp`")
stdio = pytest.importorskip("mcp.client.stdio")

SERVER = Path(__file__).parent / "stdio_server.py"


async def _talk(mode: str) -> dict[str, Any]:
    """What a client that connects in this mode sees."""
    parameters = stdio.StdioServerParameters(command=sys.executable, args=["-I", "-S", str(SERVER)])
    async with mcp.Client(stdio.stdio_client(parameters), mode=mode) as client:
        tools = (await client.list_tools()).tools
        added = await client.call_tool("add", {"a": 2, "b": 3})
        wrong = await client.call_tool("echo", {"txet": "x"})
        printed = await client.call_tool("print", {})
        return {
            "version": client.protocol_version,
            "tools": [tool.name for tool in tools][-3:],
            "meta": next(tool.meta for tool in tools if tool.name == "add"),
            "sum": added.structured_content,
            "wrong": (wrong.is_error, wrong.content[0].text),
            "printed": printed.content[0].text,
        }


@pytest.mark.parametrize(("mode", "version"), [("auto", "2026-07-28"), ("legacy", "2025-11-25"), ("2026-07-28", "2026-07-28")])
def test_the_official_client_lists_and_calls(mode: str, version: str) -> None:
    """The newest version that the mode allows, the tools in order, a result, a refusal, and a stream that printing does not break."""
    assert asyncio.run(_talk(mode)) == {
        "version": version,
        "tools": ["refuse", "break", "print"],
        "meta": {"anthropic/alwaysLoad": True},
        "sum": {"sum": 5},
        "wrong": (True, "text: missing; required are text"),
        "printed": "printed",
    }
