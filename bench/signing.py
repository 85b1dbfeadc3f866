"""The fake's signatures for long sessions: the hashes of all prefixes of a request in one pass, where the fake hashes each anew.

Which two prefixes are equal is decided by the fake's own rules (`trimmed`, the order of the blocks, a compaction block begins again, a
deferred tool counts once it was referenced); only the hash of the messages is a running one.
"""

from __future__ import annotations

import hashlib
import json
from contextlib import contextmanager

from tests.fakes import signatures
from tests.fakes.conversation import THINKING, Block, billed_system, blocks_of, referenced_tools
from tests.fakes.signatures import Prefix, digest, trimmed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

Places = dict[tuple[int, int], Prefix]


@contextmanager
def in_one_pass() -> Iterator[None]:
    """For as long as it is open, the fake takes its prefixes from here."""
    known: list[tuple[Block, Places]] = []

    def prefix(body: Block, before: tuple[int, int]) -> Prefix:
        found = next((places for of, places in known if of is body), None)
        if found is None:
            found = prefixes(body)
            known[:] = [*known[-1:], (body, found)]
        return found[before]

    own = signatures.prefix
    signatures.prefix = prefix
    try:
        yield
    finally:
        signatures.prefix = own


def prefixes(body: Block) -> Places:
    """The prefix before each thinking block of the assistant, and the one at the end of the last message."""
    system = digest([kept for block in billed_system(body.get("system")) if (kept := trimmed(block)) is not None])
    referenced: set[str] = set()
    tools = tools_hash(body, referenced)
    running = hashlib.sha256()
    found: Places = {}
    blocks: list[Block] = []
    for index, message in enumerate(body["messages"]):
        blocks = blocks_of(message["content"])
        for position, block in enumerate(blocks):
            if block.get("type") in THINKING:
                found[index, position] = Prefix(system, tools, running.hexdigest())
                continue
            if block.get("type") == "compaction" and block.get("content") is not None:
                running, referenced = hashlib.sha256(), set()
                tools = tools_hash(body, referenced)
            if (kept := trimmed(block)) is not None:
                running.update(json.dumps([message["role"], kept], sort_keys=True).encode())
                if new := referenced_tools([kept]) - referenced:
                    referenced |= new
                    tools = tools_hash(body, referenced)
    found[len(body["messages"]) - 1, len(blocks)] = Prefix(system, tools, running.hexdigest())
    return found


def tools_hash(body: Block, referenced: set[str]) -> str:
    """The hash of the tools that count."""
    tools = [
        {key: value for key, value in tool.items() if key not in ("cache_control", "defer_loading")}
        for tool in body.get("tools") or []
        if not tool.get("defer_loading") or tool.get("name") in referenced
    ]
    return digest(sorted(tools, key=lambda tool: str(tool.get("name"))))
