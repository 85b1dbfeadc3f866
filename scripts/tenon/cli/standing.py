"""How the proxy stands: running or not, used or not, and what about it is not as it should be."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from tenon import __version__
from tenon.base import paths, settings
from tenon.base.errors import TenonError
from tenon.base.lean import sqlite
from tenon.cli import context
from tenon.store import conversations, db
from tenon.world import base_url, claude_settings, daemon, dial, guard, machine, spared

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from tenon.world.base_url import Switch
    from tenon.world.daemon import State
    from tenon.world.machine import Machine

LOOKED_AT = 20  # conversations
# Claude Code talks to these clouds by their own addresses; a base URL means nothing to it then.
CLOUDS = {"CLAUDE_CODE_USE_BEDROCK": "Amazon Bedrock", "CLAUDE_CODE_USE_VERTEX": "Google Vertex", "CLAUDE_CODE_USE_FOUNDRY": "Microsoft Foundry"}


@dataclass
class Bypassed:
    """Conversations that were relayed as they are, for one reason."""

    reason: str
    count: int
    newest: float


@dataclass
class Standing:
    """What there is to know. `value` is the base URL in Claude Code's settings; `detour` why the proxy is stepped around, None when it is not."""

    port: int
    switch: Switch | None = None
    value: str = ""
    detour: str | None = None
    state: State | None = None
    taken: bool = False  # by another program
    guarded: bool = True
    hooks_off: bool = False
    blocked: str = ""  # the variable whose proxy would be asked for this machine's own addresses
    problem: str = ""
    agent: str = ""
    traced: int = 0  # with past sessions in front
    bare: int = 0  # for which there were none, or no room
    looked_at: int = 0
    tokens: int = 0  # of the newest conversation
    past: int = 0  # of these, how many stand in front of its own messages
    cramped: str = ""  # why there is no room for past sessions
    wished: int = 0  # the port that the settings name now, 0 where that is not known
    bypassed: list[Bypassed] = field(default_factory=list)

    def fields(self) -> dict[str, Any]:
        """The same as plain data."""
        state, switch = self.state, self.switch
        return {
            "on": switch is not None,
            "stepped_around": self.detour,
            "running": state is not None,
            "url": state.url if state else switch.url if switch else daemon.address(self.port),
            "upstream": shown(state.upstream if state else switch.upstream if switch else ""),
            "since": context.iso(state.started) if state else None,
            "version": state.version if state else None,
            "process": state.pid if state else None,
            "conversations": {
                "looked_at": self.looked_at,
                "traced": self.traced,
                "bare": self.bare,
                "bypassed": {kind.reason: kind.count for kind in self.bypassed},
            },
            "tokens_last": self.tokens,
            "tokens_in_front": self.past,
        }


def look(here: Machine, agent: str) -> Standing:
    """How the proxy stands on this machine, with the agent's conversations; changes nothing and never raises."""
    found = Standing(int(settings.load().number("proxy.port")), agent=agent)
    try:
        found.switch = base_url.load()
        if found.switch is not None:
            found.port = found.switch.port
            found.detour = base_url.why_direct()
            found.value = base_url.value(found.switch.settings)
            chosen = claude_settings.read(found.switch.settings)
            found.guarded = guard.is_current() and guard.entry(found.switch.upstream) in base_url.entries(found.switch.settings)
            found.hooks_off = chosen.get("disableAllHooks") is True
            found.blocked = spared.company(chosen, os.environ) if spared.is_blocked(chosen, os.environ) else ""
    except TenonError as error:
        found.problem = str(error)
    found.wished = int(settings.load().number("proxy.port"))
    found.state = daemon.running()
    served = found.state is not None and found.state.port == found.port
    found.taken = not served and found.switch is not None and daemon.is_taken(found.port)
    _converse(found, agent)
    found.cramped = _cramped(found)
    return found


def lines(found: Standing, now: float) -> list[tuple[str, str]]:
    """The standing as a person reads it: labels and texts."""
    state, switch = found.state, found.switch
    use = "used by `tenon code` alone" if switch is None else "used by every new session" if found.detour is None else "not used for now"
    if state is not None:
        told = [("proxy", f"{state.url} to {shown(state.upstream)}, {use}; started {context.ago(now - state.started)} (process {state.pid})")]
    elif switch is None:
        told = [("proxy", "off, and not running; `tenon code` uses it for one session, `tenon proxy on` for all")]
    else:
        next_ = "the next session starts it, and so does `tenon start`" if found.detour is None else "each new session tries it again"
        told = [("proxy", f"on, {use}, and not running; {next_}")]
    if found.detour is not None:
        told.append(("", f"Claude Code talks to its API directly: {found.detour or 'the proxy could not serve'}"))
    if found.looked_at:
        few = "".join(f"; {kind.count:,} relayed as they are: {kind.reason}" for kind in found.bypassed[:3])
        few = f"; {found.bare:,} without any (none yet, no room, or forgotten since){few}" if found.bare else few
        past = f", {found.past:,} of them put in front" if found.past else ""
        newest = f"; the newest has about {found.tokens:,} tokens{past}" if found.tokens else ""
        text = f"{found.traced:,} of the last {found.looked_at:,} of agent {found.agent} with past sessions in front{few}{newest}"
        told.append(("conversations", text))
    if found.problem:
        told.append(("", found.problem))
    return told


def findings(found: Standing) -> list[tuple[str, str, str, str]]:
    """What doctor says: name, state (ok, warn, fail), what was found, the way to mend it."""
    state, switch = found.state, found.switch
    rows: list[tuple[str, str, str, str]] = []
    if found.problem:
        rows.append(("proxy", "fail", found.problem, "tenon proxy off, then tenon proxy on"))
    if switch is not None:
        rows += _used(found, switch)
    if state is not None and (state.version != __version__ or daemon.is_outdated(state)):
        rows.append(
            ("proxy version", "warn", f"{state.version} runs from {state.root}, and this is {__version__}", "tenon stop; the next session starts the new one")
        )
    if found.cramped:
        rows.append(
            ("past sessions", "warn", found.cramped, f"tenon config --unset proxy.max_context ({settings.KNOWN['proxy.max_context'][0]:,}), or another number")
        )
    for kind in found.bypassed[:3]:
        told = f"{context.counted(kind.count, 'conversation')} of the last {found.looked_at:,} went without past sessions: {kind.reason}"
        rows.append(("conversations", "warn", told, "nothing was lost; `tenon logs` makes a report of it"))
    if not rows:
        rows.append(("proxy", "ok", f"is on, and runs at {switch.url}" if switch is not None else _off(state), ""))
    return rows


def plugin(chosen: Mapping[str, object], here: Machine) -> list[tuple[str, str, str, str]]:
    """The same of the plugin where Claude Code's settings do not load it; nothing where they do."""
    return [] if machine.is_installed(here, dict(chosen)) else unplugged(list(machine.enabled(dict(chosen))))


def unplugged(known: Sequence[str]) -> list[tuple[str, str, str, str]]:
    """The same where none of the names under which the settings know the plugin is switched on."""
    if known:
        return [("plugin", "fail", f"{known[0]} is installed and switched off", f"claude plugin enable {known[0]}")]
    said = "is not enabled in Claude Code's settings (for one session, --plugin-dir does without)"
    return [("plugin", "warn", said, "tenon install (says the two commands)")]


def _off(state: State | None) -> str:
    return "is off" if state is None else f"is off for new sessions; one runs at {state.url} (process {state.pid}), which `tenon code` uses"


def _used(found: Standing, switch: Switch) -> list[tuple[str, str, str, str]]:
    rows: list[tuple[str, str, str, str]] = []
    if found.value != switch.url and (found.detour is None or found.value != switch.upstream):
        said = f"is on, and {switch.settings} {'names another base URL' if found.value else 'names no base URL any more'}, so sessions do not use it"
        rows.append(("base URL", "warn", said, "tenon proxy on (takes that address for its upstream), or tenon proxy off"))
    elif found.taken:
        way = f"end that program, or tenon config proxy.port {switch.port + 1}, then tenon proxy on"
        rows.append(("proxy", "fail", f"is on, and another program has port {switch.port}; Claude Code is sent to its API directly at the next session", way))
    elif found.detour is not None:
        rows.append(("proxy", "warn", f"is on, and Claude Code is sent around it: {found.detour or 'it could not serve'}", "tenon proxy on (tries again)"))
    elif found.state is None:
        rows.append(("proxy", "warn", f"is on, and nobody listens at {switch.url}; the next session starts it", "tenon start"))
    elif found.state.port != switch.port:
        rows.append(("proxy", "fail", f"listens at {found.state.url}, and Claude Code is sent to {switch.url}", "tenon stop, then tenon proxy on"))
    if found.wished not in (0, switch.port):
        rows.append(("proxy port", "warn", f"is on at port {switch.port}, and proxy.port says {found.wished}", "tenon proxy on (moves it)"))
    if found.hooks_off:
        said = "is on while disableAllHooks is set, so nobody would start it again"
        rows.append(("proxy hooks", "fail", said, "tenon proxy off, or set disableAllHooks to false"))
    if found.blocked:
        said = (
            f"{found.blocked} sends Claude Code's requests to {switch.url} to a company's proxy, as env.no_proxy in {switch.settings} does not name 127.0.0.1"
        )
        rows.append(("company proxy", "fail", said, "tenon proxy on (adds it)"))
    if not found.guarded:
        rows.append(("proxy guard", "fail", f"{guard.path()}, or its hook in {switch.settings}, is missing or changed", "tenon proxy on (puts it back)"))
    return rows


def shown(url: str) -> str:
    """The address without what could be a secret: name, password, query."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return "(no address)"
    if not host:
        return "(no address)" if url else ""
    return f"{parts.scheme}://{'[' + host + ']' if ':' in host else host}{f':{port}' if port else ''}{parts.path}"


def wanted(here: Machine) -> str:
    """Where the proxy is to send requests: as the settings say, else what Claude Code would talk to without it. Raises TenonError for no address."""
    chosen, switch = settings.load(), base_url.load()
    given = chosen.text("upstream").strip()
    wrong = settings.allowed("upstream", given, chosen.number("proxy.port"))
    if wrong:
        raise TenonError(
            f"upstream ({chosen.origin['upstream']}) must be {wrong}; `tenon config upstream URL` names it, `tenon config --unset upstream` takes it out"
        )
    return given or (switch.upstream if switch else dial.resolve(chosen, os.environ, claude_settings.read(here.settings)))


def is_for(state: State, address: str) -> bool:
    """Whether the proxy that runs sends to that address."""
    return shown(state.upstream).rstrip("/") == shown(address).rstrip("/")


def cloud(chosen: Mapping[str, object]) -> str:
    """The cloud by which Claude Code reaches its models, by the environment or its settings; «» for Anthropic's own API."""
    env = chosen.get("env")
    held = {**(env if isinstance(env, dict) else {}), **os.environ}
    return next((name for variable, name in CLOUDS.items() if str(held.get(variable) or "").lower() in ("1", "true", "yes", "on")), "")


def _converse(found: Standing, agent: str) -> None:
    path = paths.store_path(agent)
    try:
        if not db.exists(path):
            return
        with db.open_reader(path, busy_s=0.2) as store:
            listed = conversations.listed(store, LOOKED_AT)
            front = [conversations.front_tokens(store, one) for one in listed]
    except (TenonError, sqlite.Error):
        return  # doctor says elsewhere what is wrong with the store
    kinds: dict[str, Bypassed] = {}
    for one, (past, _) in zip(listed, front):
        found.looked_at += 1
        found.traced += one.state == "traced" and past > 0
        found.bare += one.state == "traced" and not past
        if one.state == "bypassed":
            kind = kinds.setdefault(one.reason, Bypassed(one.reason, 0, one.last))
            kind.count += 1
    found.bypassed = sorted(kinds.values(), key=lambda kind: -kind.newest)
    found.tokens, found.past = (listed[0].tokens, front[0][1] if listed[0].state == "traced" else 0) if listed else (0, 0)


def _cramped(found: Standing) -> str:
    """Why the settings leave no room for past sessions, «» when they leave some."""
    chosen = settings.load()
    most, past = chosen.number("proxy.max_context"), chosen.number("proxy.trace_tokens")
    if past and found.tokens and not found.past and found.bare and found.tokens >= most:
        return f"proxy.max_context is {most:,.0f}, and the newest conversation alone has about {found.tokens:,} tokens, so no past session is in front of it"
    return f"proxy.trace_tokens is {past:,.0f} and proxy.max_context {most:,.0f}, so past sessions get less than that" if past >= most else ""
