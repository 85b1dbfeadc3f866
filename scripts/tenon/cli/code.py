"""`tenon code`: Claude Code through the proxy, for this one session and the agent you choose."""

from __future__ import annotations

import json
import os
import shutil
import sys

from tenon.base import paths, settings
from tenon.base.errors import TenonError
from tenon.cli import agents, proxy, standing
from tenon.cli.main import as_set
from tenon.cli.out import is_terminal
from tenon.world import claude_settings, daemon, machine, spared

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence
    from typing import Any

    from tenon.cli.out import Out
    from tenon.world.machine import Machine

HELP = """Starts the proxy when it does not run, and Claude Code behind it: the agent's past sessions, of every repository, are in front of
the model (`tenon config proxy.scope repository`: of the one at hand alone). Your settings stay as they are. Without --agent you choose one on the terminal, or begin another by naming it. What follows -- goes to claude."""
EXAMPLES = """
tenon code                              choose an agent, then Claude Code with its past sessions
tenon code --agent reviewer             begins the agent when it is new
tenon code -- --continue --model opus   with arguments of claude's own
"""
OWN = ("--agent", "--color", "--port")  # each with a value


def arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the verb's own arguments."""
    parser.add_argument(
        "--port", metavar="N", type=as_set("proxy.port"), default=0, help="the port of a proxy that has to be started (else the setting proxy.port)"
    )
    parser.add_argument("claude", nargs="*", metavar="-- ARGUMENT", help="what follows -- goes to claude as it is")


def meant(arguments: Sequence[str]) -> str:
    """The sentence for arguments of claude's own that stand where Tenon's do, with the command as it has to be."""
    own: list[str] = []
    others: list[str] = []
    left = iter(arguments)
    for argument in left:
        if argument == "--":
            others += left
        elif argument in OWN:
            own += [argument, next(left, "")]
        else:
            (own if argument == "code" and "code" not in own or argument.startswith(tuple(f"{name}=" for name in OWN)) else others).append(argument)
    return f"arguments of claude's own go after --: {joined(['tenon', *own, '--', *others])}"


def joined(words: Sequence[str]) -> str:
    """The command line as a shell reads it."""
    from shlex import quote

    return " ".join(f'"{word}"' if " " in word else word for word in words) if os.name == "nt" else " ".join(map(quote, words))


def run(options: argparse.Namespace, out: Out) -> int:
    """The exit code of claude."""
    program = _program()
    given = list(options.claude)
    agent = paths.agent_name(options.agent) if options.agent else _chosen(out)
    if options.agent and not os.path.isfile(paths.store_path(agent)):
        out.say(f"There was no agent «{agent}» yet; it begins with this session, knowing nothing.")
    env = {**os.environ, "TENON_AGENT": agent}
    here = machine.here()
    url, upstream = _served(here, options.port, agent, out)
    if not url:
        return _started(program, given, env, out)
    if is_terminal(out.notes):  # elsewhere it is a script that starts it, and reads what claude says
        out.say(proxy.in_front(agent, settings.load()))
    own = {"ANTHROPIC_BASE_URL": url, "TENON_AGENT": agent}
    merged = merge(given, own)
    listed = spared.wanted(_env_of(claude_settings.read(here.settings), merged[1] if merged else {}), os.environ)
    if listed:
        own[spared.NAME] = listed
        merged = merge(given, own)
    env.update(own, TENON_UPSTREAM=upstream)  # the latter for hooks, which start the proxy again when it died
    if merged is None:
        out.say("--settings names a file, which is left as it is; should it, or Claude Code's own settings, name a base URL, that one holds.")
        return _started(program, given, env, out)
    return _with_settings(program, merged[0], json.dumps(merged[1]), env, out)


def merge(given: list[str], own: dict[str, str]) -> tuple[list[str], dict[str, Any]] | None:
    """Claude's arguments without --settings, and the settings: those of the user's that are JSON themselves, with our variables in their env.

    None when the user's are in a file.
    """
    rest: list[str] = []
    settled: dict[str, Any] = {}
    waiting = False
    for at, argument in enumerate(given):
        if argument == "--" and not waiting:
            rest += given[at:]
            break
        if waiting or argument.startswith("--settings="):
            text = argument if waiting else argument.partition("=")[2]
            try:
                found = json.loads(text)
            except ValueError:
                return None
            if not isinstance(found, dict):
                return None
            settled = {**settled, **found}
            waiting = False
        elif argument == "--settings":
            waiting = True
        else:
            rest.append(argument)
    if waiting:
        return None  # claude says what is missing
    return rest, {**settled, **_env_of(settled, {"env": own})}


def _env_of(*settled: dict[str, Any]) -> dict[str, Any]:
    """The env of settings that go one before the other, the last one first."""
    found: dict[str, Any] = {}
    for one in settled:
        env = one.get("env")
        found.update(env if isinstance(env, dict) else {})
    return {"env": found}


def _program() -> str:
    named = os.environ.get("TENON_CLAUDE")
    found = shutil.which(named or "claude")
    if not found:
        raise TenonError(
            f"TENON_CLAUDE names {named}, which cannot be started" if named else "claude is not on your PATH; install Claude Code, or name it in TENON_CLAUDE"
        )
    return found


def _chosen(out: Out) -> str:
    """The agent that the user picks on the terminal; elsewhere the one of the settings. Raises TenonError for a name that is none."""
    usual = paths.agent_name(settings.load().text("agent"))
    if not is_terminal(sys.stdin) or not is_terminal(out.notes):
        return usual
    names = agents.names()
    if usual not in names:
        names.insert(0, usual)
    for number, name in enumerate(names, 1):
        out.say(f"{number:3}  {out.styled('strong', name)}{'' if os.path.isfile(paths.store_path(name)) else '  (new)'}")
    while True:
        out.notes.write(f"Which agent? A number, or a new name; Enter for {usual}: ")
        out.notes.flush()
        said = sys.stdin.readline().strip()
        if not said:
            return usual
        if said.isdigit():
            if 1 <= int(said) <= len(names):
                return names[int(said) - 1]
            out.say(f"There is no {said} in the list.")
            continue
        try:
            name = paths.agent_name(said)
        except TenonError as error:
            out.say(f"{error}.")
            continue
        if name in names or out.confirm(f"There is no agent «{name}» yet. Begin it?", False):
            return name


def _served(here: Machine, port: int, agent: str, out: Out) -> tuple[str, str]:
    """The base URL of the agent at a proxy that runs, and its upstream; two «» when Claude Code goes without one; says why."""
    try:
        cloud = standing.cloud(claude_settings.read(here.settings))
        if cloud:
            out.say(f"Claude Code is set to {cloud}: the proxy is not used; hooks are, so memories come all the same.")
            return "", ""
        address = standing.wanted(here)
        state = daemon.start(port, upstream=address)
        if not standing.is_for(state, address):
            raise TenonError(
                f"the proxy that runs sends to {standing.shown(state.upstream)}, and you use {standing.shown(address)}; `tenon stop`, then try again"
            )
    except TenonError as error:
        out.say(f"Claude Code starts without the proxy: {error}.")
        return "", ""
    if port not in (0, state.port):
        out.say(f"The proxy runs already, on port {state.port}.")
    return f"{state.url}/agent/{agent}", address


def _with_settings(program: str, given: list[str], text: str, env: dict[str, str], out: Out) -> int:
    if os.name != "nt":
        return _started(program, ["--settings", text, *given], env, out)
    # A .cmd file on Windows garbles quotes in arguments, so the settings go by a file.
    paths.make_private(paths.home())
    path = os.path.join(paths.home(), f"code-{os.getpid()}.json")
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
        file.write(text)
    try:
        return _started(program, ["--settings", path, *given], env, out)
    finally:
        os.remove(path)


def _started(program: str, given: list[str], env: dict[str, str], out: Out) -> int:
    out.results.flush()
    out.notes.flush()
    if os.name != "nt":
        os.execvpe(program, ["claude", *given], env)
    import subprocess

    try:
        return subprocess.run([program, *given], env=env, check=False).returncode
    except KeyboardInterrupt:  # claude had it too, and has ended
        return 130
