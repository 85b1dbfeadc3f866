"""The addresses of this machine, past a company's proxy: when something has to be said of them, and what."""

from __future__ import annotations

import pytest

from tenon.world import spared

P = {"HTTPS_PROXY": "http://proxy.example:8080"}
OWN = "127.0.0.1,localhost"


@pytest.mark.parametrize(
    ("env", "environ", "blocked", "wanted"),
    [
        ({}, {}, False, ""),
        ({}, {"no_proxy": "corp.example"}, False, ""),
        ({}, P, True, OWN),
        ({}, {"http_proxy": "http://p"}, True, OWN),
        (P, {}, True, OWN),
        ({"HTTPS_PROXY": ""}, P, False, ""),
        ({}, {**P, "NO_PROXY": "corp.example, .lan,"}, True, "corp.example, .lan," + OWN),
        ({}, {**P, "no_proxy": "a.example", "NO_PROXY": "b.example"}, True, "a.example," + OWN),
        ({"NO_PROXY": "mine.example"}, {**P, "NO_PROXY": "b.example"}, True, "mine.example," + OWN),
        ({"no_proxy": "mine.example", "NO_PROXY": OWN}, P, True, "mine.example," + OWN),
        ({"NO_PROXY": OWN}, {**P, "no_proxy": "a.example"}, True, OWN),
        ({}, {**P, "NO_PROXY": "localhost 127.0.0.1"}, False, "localhost 127.0.0.1"),
        ({}, {**P, "no_proxy": "localhost"}, True, "localhost,127.0.0.1"),
        ({}, {**P, "no_proxy": "*"}, False, "*"),
        ({"no_proxy": "x,127.0.0.1"}, {**P, "no_proxy": "b.example"}, False, ""),
        ({"no_proxy": "*"}, P, False, ""),
        ({"no_proxy": "127.0.0.10"}, P, True, "127.0.0.10," + OWN),
        ({"no_proxy": 7}, P, True, OWN),
    ],
)
def test_what_has_to_be_said_of_this_machine(env: dict[str, object], environ: dict[str, str], blocked: bool, wanted: str) -> None:
    """The settings go before the environment, small letters before large ones; the list that holds is kept."""
    assert (blocked, wanted) == (spared.is_blocked({"env": env}, environ), spared.wanted({"env": env}, environ))


def test_settings_without_an_env_say_nothing() -> None:
    """Nor do those whose env is something else."""
    assert [True, True, "HTTPS_PROXY"] == [spared.is_blocked({}, P), spared.is_blocked({"env": []}, P), spared.company({}, P)]
