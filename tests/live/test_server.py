"""The tools in the real Claude Code: there from the first request on, and of use."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mcp_server import schemas
from tests.fakes.replies import results_of
from tests.live.user import ALLOWED, Session, User, call

pytestmark = pytest.mark.live

FIRST = {"2.1.197": "initialize", "2.1.332": "server/discover"}


def test_the_tools_are_in_the_first_request_of_every_session(ten: tuple[User, list[Session]]) -> None:
    """All of them, ten of ten times, also where tools are deferred."""
    assert [set(schemas.TOOLS)] * 10 == [session.tools for session in ten[1]]


def test_a_memory_is_written_and_recalled(user: User) -> None:
    """The model's call in one session, and in the next one the other call."""
    user.says(call("memory_write", tier="long", type="decision", content="We deploy from Lübeck on Tuesdays.", reason="Ottilie decided"), *ALLOWED)
    recalled = user.says(call("memory_recall", cue="when do we deploy"), *ALLOWED)

    (result,) = results_of(recalled.requests[-1].body)
    (hit,) = json.loads(result)["hits"]
    assert ("We deploy from Lübeck on Tuesdays.", "long", "decision") == (hit["content"], hit["tier"], hit["type"])


def test_a_wrong_call_is_told_what_is_wrong(user: User) -> None:
    """As the result of the tool, so that the model can mend it."""
    session = user.says(call("memory_write", tier="eternal", type="fact", content="x"), *ALLOWED)
    assert "tier" in results_of(session.requests[-1].body)[0]


def test_each_client_is_answered_in_its_own_way(user: User, version: str, tmp_path: Path) -> None:
    """Newer versions discover and need no handshake, older ones initialize; both get their tools."""
    python, heard = tmp_path / "python ö", tmp_path / "heard"
    python.write_text(f"#!/bin/sh\ntee '{heard}' | exec python3 \"$@\"\n", encoding="utf-8")
    python.chmod(0o755)
    session = user.says("good morning to you", env={"TENON_PYTHON": str(python)})

    methods = [json.loads(line)["method"] for line in heard.read_text(encoding="utf-8").splitlines()]
    assert FIRST.get(version, methods[0]) == methods[0]
    assert ("server/discover" in methods) != ("initialize" in methods)
    assert "tools/list" in methods
    assert set(schemas.TOOLS) == session.tools
