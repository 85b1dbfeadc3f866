"""Every test lives in a home of its own and sees none of the user's settings."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# A property says what holds, not how fast this machine is today. On a second Python fewer examples show whether the language differs.
settings.register_profile(
    "tests",
    deadline=None,
    max_examples=int(os.environ.get("TENON_TEST_EXAMPLES", "100")),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("tests")

# Where the real clients are, when the machine has them: not a setting of Tenon.
KEPT = "TENON_TEST_"


@pytest.fixture(autouse=True)
def _home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A fresh home; variables of Tenon, Claude Code and the API are gone, and no Ollama of this machine is asked."""
    for name in list(os.environ):
        if name.startswith(("TENON_", "CLAUDE_", "ANTHROPIC_")) and not name.startswith(KEPT):
            monkeypatch.delenv(name)
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("USERPROFILE", str(home))
    monkeypatch.setenv("TENON_HOME", str(home / ".tenon"))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(home / ".claude"))
    monkeypatch.setenv("TENON_EMBED_OLLAMA", "off")  # the developer's own would be asked
    return home
