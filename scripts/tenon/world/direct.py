"""The way past our own proxy: what Tenon asks a model by itself is neither archived nor rewritten."""

from __future__ import annotations

import os

from tenon.base import paths, settings
from tenon.base.errors import TenonError
from tenon.world import base_url, claude_settings, daemon, dial

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from tenon.base.settings import Settings


def address(chosen: Settings, env: Mapping[str, str]) -> str:
    """Where Claude Code would send its requests without our proxy, and never the proxy's own address. Raises TenonError."""
    given, port = chosen.text("upstream").strip(), chosen.number("proxy.port")
    wrong = settings.allowed("upstream", given, port)
    if wrong:
        raise TenonError(f"'upstream' must be {wrong}; `tenon config upstream URL` names it, `tenon config --unset upstream` takes it out")
    if given:
        return given
    switch = base_url.load()
    if switch is not None:
        return switch.upstream
    running = daemon.recorded()  # `tenon code` leads one session to a proxy on any port
    if running is not None and dial.is_ours(env.get(dial.VARIABLE, ""), running.port):
        if "***" not in running.upstream:
            return running.upstream
        env = {name: value for name, value in env.items() if name != dial.VARIABLE}
    return dial.resolve(chosen, env, user_settings())


def is_named(chosen: Settings) -> bool:
    """Whether the address stands in the settings or with the proxy that is on, so that no ANTHROPIC_BASE_URL is asked."""
    return bool(chosen.text("upstream").strip()) or base_url.load() is not None


def is_ours(url: str, chosen: Settings) -> bool:
    """Whether the address is that of a proxy of ours, which requests go past."""
    running = daemon.recorded()
    return dial.is_ours(url, int(chosen.number("proxy.port"))) or (running is not None and dial.is_ours(url, running.port))


def held(env: Mapping[str, str]) -> dict[str, str]:
    """The environment as a session of Claude Code has it: with what the user's settings say in `env`."""
    return {**env, **own_variables()}


def own_variables() -> dict[str, str]:
    """The variables that the user's settings of Claude Code state."""
    block = user_settings().get("env")
    return {str(name): value for name, value in block.items() if isinstance(value, str)} if isinstance(block, dict) else {}


def user_settings() -> dict[str, object]:
    """The user's settings of Claude Code, {} where they cannot be read."""
    try:
        return claude_settings.read(os.path.join(paths.claude_home(), "settings.json"))
    except (TenonError, OSError):
        return {}
