"""The official Python client against the product's tools over streamable HTTP, in both eras."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from mcp_server import schemas, server
from mcp_server.streamable import Door
from tests.mcp_server.doors import TOKEN, served

mcp = pytest.importorskip("mcp", reason="the official client needs Python 3.10 or newer and `pip install mcp`")
streamable_http = pytest.importorskip("mcp.client.streamable_http")
httpx = pytest.importorskip("httpx2")
types = pytest.importorskip("mcp_types")

pytestmark = pytest.mark.filterwarnings("ignore:The roots capability is deprecated")

# What each tool is called with, in an order in which one may build on another; {m} is the memory that was written first, {n} the second.
CALLS: list[tuple[str, dict[str, Any]]] = [
    ("memory_write", {"tier": "short", "type": "fact", "content": "The zebra sleeps at noon."}),
    ("memory_recall", {"cue": "when does the zebra sleep?"}),
    ("memory_write_episode", {"situation": "s", "action_type": "fix", "action_taken": "a", "expected": "success", "outcome": "failure", "evidence": "e"}),
    ("memory_reinforce", {"id": "{m}"}),
    ("memory_edit", {"action": "promote", "id": "{m}", "reason": "seen twice"}),
    ("memory_graph", {"action": "pending"}),
    ("procedure", {"action": "propose", "name": "n", "trigger": "t", "steps": "s"}),
    ("task_state", {"action": "write", "epic_id": "e", "title": "t"}),
    ("memory_maintain", {"action": "decay_sweep"}),
    ("memory_archive", {"action": "search", "cue": "zebra"}),
    ("memory_forget", {"ids": ["{m}"]}),
]


@asynccontextmanager
async def connected(door: Door, mode: str = "legacy", roots: Any = None, **headers: str) -> AsyncIterator[Any]:
    """A client with the token and these headers."""
    async with httpx.AsyncClient(headers={"Authorization": f"Bearer {TOKEN}", **headers}, timeout=60.0) as http:
        transport = streamable_http.streamable_http_client(f"http://127.0.0.1:{door.port}/mcp", http_client=http)
        async with mcp.Client(transport, mode=mode, list_roots_callback=roots) as client:
            yield client


def roots_of(folders: list[Path]) -> Any:
    """What a client answers when its roots are asked for: the folders as they are then."""

    async def told(context: Any) -> Any:
        return types.ListRootsResult(roots=[types.Root(uri=folder.as_uri()) for folder in folders])

    return told


async def found(client: Any, cue: str = "zebra") -> list[str]:
    """What the client recalls."""
    result = await client.call_tool("memory_recall", {"cue": cue})
    assert not result.is_error, result.content
    return [hit["content"] for hit in result.structured_content["hits"]]


async def written(client: Any, text: str) -> str:
    """The id of a memory, or the sentence that refused it."""
    result = await client.call_tool("memory_write", {"tier": "short", "type": "fact", "content": text})
    return str(result.content[0].text if result.is_error else result.structured_content["id"])


@pytest.mark.parametrize(("mode", "version"), [("legacy", "2025-11-25"), ("2026-07-28", "2026-07-28"), ("auto", "2026-07-28")])
def test_every_tool_is_listed_and_answers(mode: str, version: str, tmp_path: Path) -> None:
    """In each way that the client connects."""

    async def talk(door: Door) -> tuple[str, list[str], list[str]]:
        async with connected(door, mode, **{"X-Tenon-Repository": quote(str(tmp_path))}) as client:
            listed, known, wrong = [tool.name for tool in (await client.list_tools()).tools], "", []
            for name, arguments in CALLS:
                told = {key: [known] if value == ["{m}"] else known if value == "{m}" else value for key, value in arguments.items()}
                result = await client.call_tool(name, told)
                known = known or result.structured_content["id"]
                if result.is_error:
                    wrong.append(f"{name}: {result.content[0].text}")
            return client.protocol_version, listed, wrong

    with served(server.dispatcher) as door:
        assert (version, list(schemas.TOOLS), []) == asyncio.run(talk(door))
    assert set(schemas.TOOLS) == {name for name, _ in CALLS}


def test_two_clients_side_by_side_have_each_their_own_repository(tmp_path: Path) -> None:
    """Both sessions are open at once; what ends is ended with its client."""
    one, other = tmp_path / "one", tmp_path / "other"
    one.mkdir()
    other.mkdir()

    async def talk(door: Door) -> list[Any]:
        async with connected(door, **{"X-Tenon-Repository": str(one)}) as first, connected(door, **{"X-Tenon-Repository": str(other)}) as second:
            await asyncio.gather(written(first, "the zebra of one"), written(second, "the zebra of the other"))
            return [*await asyncio.gather(found(first), found(second)), len(door.sessions)]

    with served(server.dispatcher) as door:
        assert [["the zebra of one"], ["the zebra of the other"], 2] == asyncio.run(talk(door))
        assert 0 == len(door.sessions)


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
def test_the_clients_roots_say_where_it_works_and_may_change(mode: str, tmp_path: Path) -> None:
    """In the handshake era it says that they changed; in the stateless one each call asks."""
    here = [tmp_path / "first é"]
    second = tmp_path / "second"
    here[0].mkdir()
    second.mkdir()

    async def talk(door: Door) -> list[list[str]]:
        async with connected(door, mode, roots_of(here)) as client:
            await written(client, "the zebra of the first")
            told = [await found(client)]
            here[0] = second
            if mode == "legacy":
                told.append(await found(client))
                await client.send_roots_list_changed()
            told.append(await found(client))
            return told

    with served(server.dispatcher) as door:
        stays = [["the zebra of the first"]] if mode == "legacy" else []
        assert [["the zebra of the first"], *stays, []] == asyncio.run(talk(door))


def test_a_client_without_roots_or_header_hears_how_to_name_a_repository() -> None:
    """In the sentence of the tool that it called."""

    async def talk(door: Door) -> str:
        async with connected(door) as client:
            return await written(client, "x")

    with served(server.dispatcher) as door:
        assert "no repository is named" in asyncio.run(talk(door))
