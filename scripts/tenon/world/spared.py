"""Whether Claude Code reaches the proxy past a company's one: it sends even http://127.0.0.1 through that unless `no_proxy` names it.

Of the ways to say so, `no_proxy` in lower case in the `env` of its settings goes before what the environment says, in either case.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

NAME = "no_proxy"
NAMES = (NAME, "NO_PROXY")  # the first one that is set counts
OWN = ("127.0.0.1", "localhost")
COMPANY = ("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy")
EVERYTHING = "*"


def company(chosen: Mapping[str, object], environ: Mapping[str, str]) -> str:
    """The name of the variable that gives Claude Code a proxy of a company, by its settings or by the environment; «» for none."""
    held = {**environ, **_env(chosen)}
    return next((name for name in COMPANY if held.get(name)), "")


def is_blocked(chosen: Mapping[str, object], environ: Mapping[str, str]) -> bool:
    """Whether Claude Code with those settings, in that environment, would ask a company's proxy for 127.0.0.1."""
    held = {**environ, **_env(chosen)}
    return company(chosen, environ) != "" and not _is_named(next((held[name] for name in NAMES if held.get(name)), ""))


def wanted(chosen: Mapping[str, object], environ: Mapping[str, str]) -> str:
    """What `no_proxy` in the settings' env has to be: the list that holds now, with this machine's own names; «» when nothing has to be.

    Only where there is a company's proxy: the list in the settings holds for all that Claude Code starts, whatever
    the environment says by then, so it is not put there for nothing.
    """
    env = _env(chosen)
    listed = next((held[name] for held in (env, environ) for name in NAMES if held.get(name)), "").strip()
    if not company(chosen, environ) or _is_named(env.get(NAME, "")):
        return ""
    if listed == EVERYTHING:
        return listed
    return ",".join([*filter(None, [listed.rstrip(", ")]), *(name for name in OWN if name not in _entries(listed))])


def _is_named(listed: str) -> bool:
    return listed.strip() == EVERYTHING or OWN[0] in _entries(listed)


def _entries(listed: str) -> list[str]:
    return listed.replace(",", " ").split()


def _env(chosen: Mapping[str, object]) -> dict[str, str]:
    env = chosen.get("env")
    return {name: value for name, value in env.items() if isinstance(value, str)} if isinstance(env, dict) else {}
