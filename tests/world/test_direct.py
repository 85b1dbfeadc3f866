"""What Tenon asks by itself goes past its own proxy, to where Claude Code would send it."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tenon.base import paths, settings
from tenon.base.errors import TenonError
from tenon.world import base_url, daemon, direct

GATEWAY = "https://gateway.example/claude"
OURS = ["http://127.0.0.1:9000", "http://localhost:9000/", "http://127.0.0.1:9000/agent/mara", "http://127.0.0.1:9137/agent/default"]


def settle(**block: object) -> None:
    """Writes the user's settings of Claude Code."""
    folder = Path(paths.claude_home())
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "settings.json").write_text(json.dumps(block), encoding="utf-8")


def note(name: str, **fields: object) -> None:
    """Writes a file into Tenon's folder."""
    Path(paths.home()).mkdir(parents=True, exist_ok=True)
    (Path(paths.home()) / name).write_text(json.dumps(fields), encoding="utf-8")


def address(**env: str) -> str:
    """Where a request goes in that environment."""
    return direct.address(settings.load(), env)


@pytest.mark.parametrize("ours", OURS)
def test_the_proxys_own_address_is_stepped_around(ours: str) -> None:
    """Whether the environment names it or the user's settings."""
    assert "https://api.anthropic.com" == address(ANTHROPIC_BASE_URL=ours)

    settle(env={"ANTHROPIC_BASE_URL": ours})
    assert "https://api.anthropic.com" == address(ANTHROPIC_BASE_URL=ours)
    assert GATEWAY == address(ANTHROPIC_BASE_URL=GATEWAY)


def test_the_address_that_the_proxy_took_the_place_of_is_used() -> None:
    """It stands in what is on; neither the settings nor the environment know it any more."""
    note(base_url.NAME, url="http://127.0.0.1:9137", upstream=GATEWAY, settings=os.path.join(paths.claude_home(), "settings.json"), former=json.dumps(GATEWAY))
    settle(env={"ANTHROPIC_BASE_URL": "http://127.0.0.1:9137"})

    assert GATEWAY == address(ANTHROPIC_BASE_URL="http://127.0.0.1:9137")


@pytest.mark.parametrize(("upstream", "expected"), [(GATEWAY, GATEWAY), ("https://***@gateway.example", "https://api.anthropic.com")])
def test_a_proxy_that_one_session_alone_is_led_to_is_known_by_its_port(upstream: str, expected: str) -> None:
    """Requests go where it sends them, unless its address was written down without the password in it."""
    note("proxy.json", port=9137, pid=1, token="t", version="1", root="/", upstream=upstream, started=1.0)
    assert daemon.state_path().endswith("proxy.json")

    assert expected == address(ANTHROPIC_BASE_URL="http://127.0.0.1:9137")
    assert "http://127.0.0.1:9138" == address(ANTHROPIC_BASE_URL="http://127.0.0.1:9138")


def test_what_the_user_set_as_upstream_goes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """And an address that is none is refused with the way out."""
    monkeypatch.setenv("TENON_UPSTREAM", GATEWAY)
    assert GATEWAY == address(ANTHROPIC_BASE_URL="https://other.example")

    monkeypatch.setenv("TENON_UPSTREAM", "http://127.0.0.1:9000")
    with pytest.raises(TenonError, match="tenon config upstream URL"):
        address()


def test_the_settings_of_the_user_are_part_of_the_environment() -> None:
    """As Claude Code itself has it: what they say goes before the environment, what is no text is left out."""
    settle(env={"ANTHROPIC_API_KEY": "from-settings", "AWS_PROFILE": "work", "N": 5})

    assert {"ANTHROPIC_API_KEY": "from-settings", "AWS_PROFILE": "work", "PATH": "/bin"} == direct.held({"PATH": "/bin", "ANTHROPIC_API_KEY": "from-shell"})


@pytest.mark.parametrize("text", ["{", "[]", '{"env": []}'])
def test_settings_that_cannot_be_read_change_nothing(text: str) -> None:
    """The environment is what it was."""
    settle()
    (Path(paths.claude_home()) / "settings.json").write_text(text, encoding="utf-8")

    assert {"PATH": "/bin"} == direct.held({"PATH": "/bin"})
    assert "https://api.anthropic.com" == address()
