"""`tenon proxy`: every session of Claude Code through the proxy, or none; asked for in plain words, and taken back to the byte."""

from __future__ import annotations

import http.client
import os
import time

from tenon.base import paths, settings
from tenon.base.errors import TenonError
from tenon.cli import standing
from tenon.cli.main import columns, reads
from tenon.world import base_url, claude_settings, daemon, guard, machine, record, spared

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from typing import Any

    from tenon.base.settings import Settings
    from tenon.cli.out import Out
    from tenon.world.daemon import State
    from tenon.world.machine import Machine

HELP = """Sends every session of Claude Code through the proxy, by the base URL in your settings, or takes that back byte for byte.
It says what that means and asks first. Hooks keep the proxy running; when it cannot run they send Claude Code to its API directly."""
EXAMPLES = """
tenon proxy on
tenon proxy off        your settings as they were
tenon proxy status
"""
# A paragraph each; the last but one is for where a company's proxy is named.
MEANS = """With the proxy on, each new session of Claude Code begins with your past sessions in front of the model, and compaction loses nothing.
- Claude Code sends its requests to a process of yours on this machine ({url}). That adds past messages, word for word, and sends them on to {upstream}. Requests of other kinds, and all in case of doubt, go on as they are.
- Your credentials go along in memory. They are not read, not stored and not logged.
- {front}
- Anthropic documents gateways between Claude Code and its API, does not endorse or check any, and asks that they do not rewrite request bodies, which this does. With an API key you are in the clear. With a subscription login your token passes through this process, yours alone; the terms forbid developers to collect, store or stand between such tokens, and do not say whether a program that you run for yourself counts. In doubt leave it off: hooks and tools need none of this.
- Behind any base URL of your own Claude Code has no Remote Control and no fine-grained streaming of tool calls.
- A company's proxy is named here (HTTPS_PROXY or HTTP_PROXY), and Claude Code would ask it for this machine's own addresses too. So it adds 127.0.0.1 to env.no_proxy in your settings; that list holds for all that Claude Code starts.
- In {settings} it sets env.ANTHROPIC_BASE_URL and, so that tool search stays on, ENABLE_TOOL_SEARCH=true; and it adds a hook that lets Claude Code reach its API should the plugin be gone. `tenon proxy off` takes all of that back."""
MEASURED = "With 60,000 tokens a session of 90 requests costs about 1.6 times as much"  # bench/cost.py: 1.57; the README says the same
COMPANY = -2  # among the paragraphs
PROOF_S = 20.0


def arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the verb's own arguments."""
    parser.add_argument("what", choices=("on", "off", "status"), nargs="?", default="status", metavar="on|off|status", help="status when it is not said")
    parser.add_argument("--yes", action="store_true", help="with on: agree, after reading what it means")
    reads(parser)


def run(options: argparse.Namespace, out: Out) -> int:
    """0 when it is as it was asked to be."""
    here = machine.here()
    if options.what == "on":
        return _on(here, options, out)
    if options.what == "off":
        return _off(here, out)
    agent = paths.agent_name(options.agent or settings.load().text("agent"))
    found = standing.look(here, agent)
    if out.json:
        out.record(found.fields())
        return 0
    for label, text in standing.lines(found, time.time()):
        out.told(f"{label + ':' if label else '':15}{text}", 15)
    for name, state, said, way in standing.findings(found):
        if state != "ok":
            out.say(f"{name}: {said}. Mend: {way}")
    return 0


def _on(here: Machine, options: argparse.Namespace, out: Out) -> int:
    chosen = claude_settings.read(here.settings)
    _allowed(here, chosen)
    kept = record.load(here.tenon_home)
    port = int(settings.load().number("proxy.port"))
    address = standing.wanted(here)
    now = base_url.load()
    if now is not None and _is_as_left(now, port, here) and not spared.is_blocked(chosen, os.environ):
        state = _started(port, address)
        guard.write()
        base_url.through()
        out.told(f"The proxy is on already, at {state.url}.")
        return 0
    out.askable(options.yes)
    if not _running_for(port, address) and daemon.is_taken(port):
        raise daemon.taken(port)
    out.told(_means(here, port, address, company=bool(spared.wanted(chosen, os.environ))))
    if not out.confirm("\nTurn it on?", options.yes):
        out.told("Nothing was changed.")
        return 0
    state = _started(port, address)
    _prove(state)
    if now is not None:
        base_url.off(here, kept)  # somebody has changed what it did, or the port is another
        address = standing.wanted(here)
        if not standing.is_for(state, address):
            state = _started(port, address)
    base_url.on(here, kept, state.url, address, spared.wanted(claude_settings.read(here.settings), os.environ))
    out.told(
        f"\nOn. New sessions of Claude Code talk to {state.url}. One that runs does so too from its next request, and goes on without past sessions. "
        "Off again: tenon proxy off"
    )
    return 0


def _off(here: Machine, out: Out) -> int:
    kept = record.load(here.tenon_home)
    if not os.path.exists(base_url.path()) and not any(base_url.is_ours(edit) for edit in kept.edits):
        for line in base_url.swept(here):
            out.told(line)
        out.told("The proxy is not on.")
        return 0
    now = daemon.running()
    for line in base_url.off(here, kept):
        out.told(line)
    out.told(f"Off: new sessions talk to {_without(here, now)}.")
    if now is not None:
        out.told("Sessions that run keep the address until they end, so the proxy goes on running; `tenon stop` ends it when they have.")
    return 0


def _without(here: Machine, now: State | None) -> str:
    """Where Claude Code sends its requests by itself: its settings go before the shell's variables."""
    settled, shell = base_url.value(here.settings), os.environ.get(base_url.URL[1], "")
    if settled or not shell or (now is not None and shell.startswith(now.url)):  # in a session that still runs it is the proxy's
        return standing.shown(settled or base_url.DEFAULT)
    return f"{standing.shown(shell)} ({base_url.URL[1]} of this shell)"


def _allowed(here: Machine, chosen: dict[str, Any]) -> None:
    """Raises TenonError where nothing would come of it, or nobody would keep the proxy running."""
    once = "`tenon code` starts the proxy and one session behind it"
    cloud = standing.cloud(chosen)
    if cloud:
        raise TenonError(f"Claude Code is set to {cloud}, and takes no base URL then; hooks and tools of Tenon work all the same")
    if chosen.get("disableAllHooks") is True:
        raise TenonError(f"disableAllHooks is set in {here.settings}, so nobody would start the proxy for a session; {once}")
    if not machine.is_installed(here, chosen):
        raise TenonError(
            f"the plugin is not installed and enabled, and it is its hooks that keep the proxy running; {once}. `tenon install` says how to install it"
        )
    if os.environ.get("TENON_DISABLE"):
        raise TenonError("TENON_DISABLE is set, which switches off the hooks that keep the proxy running; unset it first")


def _is_as_left(now: base_url.Switch, port: int, here: Machine) -> bool:
    """Whether all that turning it on did is still there."""
    return now.port == port and now.settings == here.settings and base_url.holds(now)


def _started(port: int, address: str) -> State:
    """A proxy on that port that sends to that address; one that does otherwise is ended first."""
    if daemon.running() is not None and not _running_for(port, address):
        daemon.stop()
    return daemon.start(port, upstream=address)


def _running_for(port: int, address: str) -> bool:
    state = daemon.running()
    return state is not None and state.port == port and standing.is_for(state, address)


def _means(here: Machine, port: int, address: str, *, company: bool) -> str:
    """What turning it on means, as wide as the terminal."""
    from textwrap import fill

    chosen = settings.load()
    front = in_front(paths.agent_name(chosen.text("agent")), chosen)
    told = MEANS.format(url=daemon.address(port), upstream=standing.shown(address), front=front, settings=here.settings).split("\n")
    if not company:
        del told[COMPANY]
    width = min(100, columns()) - 1
    return "\n".join(
        fill(part, width, subsequent_indent="  " if part.startswith("- ") else "", break_long_words=False, break_on_hyphens=False) for part in told
    )


def in_front(agent: str, chosen: Settings) -> str:
    """Whose past sessions are put in front of the agent's new ones, and what that costs, in sentences."""
    tokens = int(chosen.number("proxy.trace_tokens"))
    if not tokens:
        return "No past sessions are put in front (proxy.trace_tokens is 0)."
    whose = f"of agent «{agent}» in every repository (`tenon config proxy.scope repository`: in this one alone)"
    if chosen.text("proxy.scope") == "repository":
        whose = f"of agent «{agent}» in the same repository"
    cost = f"{MEASURED} (`tenon config proxy.trace_tokens` makes it less)"
    return f"Put in front: past sessions {whose}, up to {tokens:,} tokens. {cost}."


def _prove(state: State) -> None:
    """One request goes through and is answered. Raises TenonError."""
    door = http.client.HTTPConnection("127.0.0.1", state.port, timeout=PROOF_S)
    try:
        door.request("HEAD", "/")
        status = door.getresponse().status
    except (OSError, http.client.HTTPException) as error:
        raise TenonError(f"a request through the proxy was not answered ({type(error).__name__}), so nothing was changed; `tenon logs` shows more") from error
    finally:
        door.close()
    if status >= 500:
        raise TenonError(
            f"{standing.shown(state.upstream)} cannot be reached through the proxy (it answered {status}), so nothing was changed; `tenon logs` shows more"
        )
