"""The conformance suite of the Model Context Protocol through the door that `tenon serve --http` opens, in both eras."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.mcp_server import conformance_tools
from tests.mcp_server.doors import served

HERE = Path(__file__).parent
SUITE = os.environ.get("TENON_TEST_CONFORMANCE", "")
NODE = os.environ.get("TENON_TEST_NODE", "")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not (SUITE and NODE),
        reason="set TENON_TEST_CONFORMANCE to dist/index.js of @modelcontextprotocol/conformance and TENON_TEST_NODE to a Node 22 or newer "
        "(`python3 tests/run.py --full` does)",
    ),
]


@pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])
def test_passes_what_a_revision_requires_of_a_server_with_tools_only(revision: str, tmp_path: Path) -> None:
    """No requirement fails but those written down beside this file, and each of those still does."""
    with served(conformance_tools.dispatcher, bearing=True) as door:
        address = f"http://127.0.0.1:{door.port}/mcp"
        baseline = HERE / f"expected-failures-{revision}.yml"
        command = [NODE, SUITE, "server", "--url", address, "--requirements", revision, "--expected-failures", str(baseline), "-o", str(tmp_path)]
        done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", timeout=120, check=False)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-1000:]
    assert "server-initialize: 3 passed, 0 failed" in done.stdout or "server-stateless: 25 passed, 0 failed" in done.stdout


@pytest.mark.parametrize("scenario", ["http-header-validation", "http-custom-header-server-validation", "json-schema-2020-12", "sep-2164-resource-not-found"])
def test_passes_what_is_reported_but_not_required(scenario: str, tmp_path: Path) -> None:
    """These scenarios do not count for the revision; they pass all the same."""
    with served(conformance_tools.dispatcher, bearing=True) as door:
        address = f"http://127.0.0.1:{door.port}/mcp"
        command = [NODE, SUITE, "server", "--url", address, "--scenario", scenario, "--spec-version", "2026-07-28", "-o", str(tmp_path)]
        done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", timeout=120, check=False)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-1000:]
