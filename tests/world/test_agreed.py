"""Where a digest's requests go is for the user alone to say: their settings, or the terminal where they agreed, never a session's environment."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tenon.base import paths, settings
from tenon.world import agreed, base_url

GATEWAY = "https://gateway.example/claude"
OURS = "http://127.0.0.1:9000/agent/mara"
AWAY = [
    "TENON_UPSTREAM", "TENON_CLAUDE", "ANTHROPIC_BASE_URL", "ANTHROPIC_BEDROCK_BASE_URL", "ANTHROPIC_VERTEX_BASE_URL", "ANTHROPIC_FOUNDRY_BASE_URL",
    "ANTHROPIC_UNIX_SOCKET", "CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX", "CLAUDE_CODE_USE_FOUNDRY", "HTTPS_PROXY", "https_proxy", "http_proxy",
    "ALL_PROXY", "NO_PROXY", "NODE_EXTRA_CA_CERTS", "NODE_TLS_REJECT_UNAUTHORIZED", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CLAUDE_CODE_CLIENT_CERT",
    "CLAUDE_CODE_CUSTOM_OAUTH_URL",
]  # fmt: skip
WHOSE = ["HOME", "USERPROFILE", "CLAUDE_CONFIG_DIR"]
ASIDE = [
    "NODE_OPTIONS", "BUN_OPTIONS", "LD_PRELOAD", "DYLD_INSERT_LIBRARIES", "BASH_ENV", "SSLKEYLOGFILE", "CLAUDE_CODE_EXECPATH", "ANTHROPIC_MODEL",
    "ANTHROPIC_SMALL_FAST_MODEL", "ANTHROPIC_DEFAULT_HAIKU_MODEL", "ANTHROPIC_BETAS", "ANTHROPIC_CUSTOM_HEADERS",
]  # fmt: skip
PLAIN = {"PATH": "/bin", "ANTHROPIC_API_KEY": "sk-ant-1", "LANG": "C", "AWS_PROFILE": "work", "CLAUDE_CODE_ENTRYPOINT": "cli", "NODE_ENV": "development"}


def settle(**env: str) -> None:
    """Writes the user's settings of Claude Code."""
    folder = Path(paths.claude_home())
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "settings.json").write_text(json.dumps({"env": env}), encoding="utf-8")


def note(name: str, **fields: object) -> None:
    """Writes a file into Tenon's folder."""
    Path(paths.home()).mkdir(parents=True, exist_ok=True)
    (Path(paths.home()) / name).write_text(json.dumps(fields), encoding="utf-8")


def doubt(**env: str) -> str:
    """Whether a digest may run in a session's environment with these variables."""
    return agreed.doubt(settings.load(), {**PLAIN, **env})


@pytest.mark.parametrize("name", [*AWAY, *WHOSE])
def test_what_leads_requests_away_is_in_doubt_until_the_user_agreed_to_it(name: str) -> None:
    """It is named, with both ways out; what they agreed to counts with that value alone, and unset it is no hindrance."""
    agreed.record(PLAIN)
    assert "" == doubt()
    assert "" == doubt(**{name: ""})
    found = doubt(**{name: GATEWAY})
    assert (True, True, True) == (found.startswith(f"{name}: "), "tenon digest auto on" in found, "tenon config upstream" in found)
    assert len(found) < 300, "the log of faults cuts there"

    agreed.record({**PLAIN, name: GATEWAY})
    assert ("", "") == (doubt(**{name: GATEWAY}), doubt())
    assert "" != doubt(**{name: "https://other.example"})


def test_however_many_they_are_the_way_out_is_told() -> None:
    """The log of faults cuts a long sentence."""
    agreed.record(PLAIN)
    found = doubt(**dict.fromkeys(AWAY, GATEWAY))

    assert (True, True) == (f"and {len(AWAY) - 3} more" in found, "tenon config upstream" in found[:300])


@pytest.mark.parametrize("name", AWAY)
def test_what_the_users_own_settings_state_is_theirs(name: str) -> None:
    """With the same value."""
    agreed.record(PLAIN)
    settle(**{name: GATEWAY})

    assert "" == doubt(**{name: GATEWAY})
    assert "" != doubt(**{name: "https://other.example"})


@pytest.mark.parametrize("name", WHOSE)
def test_no_settings_say_themselves_whose_they_are(name: str) -> None:
    """A project could bring both."""
    agreed.record(PLAIN)
    settle(**{name: "/project"})

    assert name in doubt(**{name: "/project"})


def test_a_clouds_variables_count_where_it_is_used() -> None:
    """They say whose account reads the requests."""
    agreed.record({**PLAIN, "CLAUDE_CODE_USE_BEDROCK": "1"})
    assert "" == doubt(AWS_PROFILE="other")
    assert "" == doubt(CLAUDE_CODE_USE_BEDROCK="1")
    assert "AWS_PROFILE" in doubt(CLAUDE_CODE_USE_BEDROCK="1", AWS_PROFILE="other")
    settle(CLAUDE_CODE_USE_BEDROCK="1")
    assert "AWS_PROFILE" in doubt(AWS_PROFILE="other")


def test_without_a_record_nothing_runs_unless_nothing_leaves_the_machine() -> None:
    """That is the user's Ollama at an address of this machine."""
    assert "tenon digest auto on" in doubt()
    note("settings.json", **{"digest.runner": "ollama"})
    assert "" == doubt(HTTPS_PROXY=GATEWAY)
    note("settings.json", **{"digest.runner": "ollama", "embed.url": "http://far.example:11434"})
    assert "" != doubt()


@pytest.mark.skipif(os.name != "posix", reason="modes are POSIX's")
def test_a_record_that_others_can_read_is_none() -> None:
    """As every file of a repository is."""
    agreed.record(PLAIN)
    assert 0o600 == os.stat(Path(paths.home()) / agreed.NAME).st_mode & 0o777
    os.chmod(Path(paths.home()) / agreed.NAME, 0o644)

    assert "" != doubt()


def test_of_values_nothing_is_on_record_and_names_are_told() -> None:
    """A proxy's address may have a password in it; whose settings are read is told to nobody, as nobody set it."""
    assert ["ANTHROPIC_BETAS", "HTTPS_PROXY", "NODE_OPTIONS"] == agreed.record(
        {**PLAIN, "HOME": "/h", "NODE_ENV": "", "HTTPS_PROXY": "http://a:secret@b", "NODE_OPTIONS": "x", "ANTHROPIC_BETAS": "y", "AWS_PROFILE": ""}
    )
    text = (Path(paths.home()) / agreed.NAME).read_text(encoding="utf-8")
    assert ("secret" in text, "sk-ant" in text) == (False, False)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"variables": []}', '{"variables": {}}', "[" * 9000])
def test_a_record_that_cannot_be_read_is_none(text: str) -> None:
    """And nothing fails."""
    agreed.record(PLAIN)
    (Path(paths.home()) / agreed.NAME).write_text(text, encoding="utf-8")

    assert (agreed.UNKNOWN, PLAIN) == (doubt(), agreed.trusted(PLAIN))


def test_our_own_proxys_address_is_no_doubt_and_where_it_leads_is() -> None:
    """A session's environment may have been what the proxy was started with."""
    agreed.record(PLAIN)
    assert "" == doubt(ANTHROPIC_BASE_URL=OURS)
    note("proxy.json", port=9137, pid=1, token="t", version="1", root="/", upstream=GATEWAY, started=1.0)
    assert "ANTHROPIC_BASE_URL" in doubt(ANTHROPIC_BASE_URL="http://127.0.0.1:9137")
    settle(ANTHROPIC_BASE_URL=GATEWAY)
    assert "" == doubt(ANTHROPIC_BASE_URL="http://127.0.0.1:9137")


def test_an_address_that_the_user_named_goes_before_the_environments() -> None:
    """In settings.json, or with the proxy that is on."""
    agreed.record(PLAIN)
    note("settings.json", upstream=GATEWAY)
    assert "" == doubt(ANTHROPIC_BASE_URL="https://other.example")
    note("settings.json")
    note(base_url.NAME, url="http://127.0.0.1:9137", upstream=GATEWAY, settings=os.path.join(paths.claude_home(), "settings.json"), former=json.dumps(GATEWAY))
    assert "" == doubt(ANTHROPIC_BASE_URL="https://other.example")


@pytest.mark.parametrize("name", ASIDE)
def test_what_is_not_needed_is_left_out_unless_it_is_the_users(name: str) -> None:
    """Nobody has to be asked for that; the PATH is the one of the terminal."""
    agreed.record(PLAIN)
    assert "" == doubt(**{name: "x"})
    assert PLAIN == agreed.trusted({**PLAIN, name: "x", "PATH": "/project/bin"})
    settle(**{name: "x"})
    assert "x" == agreed.trusted({**PLAIN, name: "x"})[name]
    settle()
    agreed.record({**PLAIN, name: "x"})
    assert "x" == agreed.trusted({**PLAIN, name: "x"})[name]
    assert name not in agreed.trusted({**PLAIN, name: "y"})
