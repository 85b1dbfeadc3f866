"""Whether Claude Code talks to the proxy: its base URL in the user's settings, put there, stepped around, and taken back to the byte.

What is on stands in TENON_HOME/proxy-on.json, which exists exactly while the proxy is on: hooks look for that file. Each
change of the settings is in the record of `tenon install` besides, so that uninstall finds it.
"""

from __future__ import annotations

import json
import os

from tenon.base import jsonc, paths
from tenon.base.errors import TenonError
from tenon.base.lean import parse
from tenon.world import claude_settings, guard, leavings, spared
from tenon.world.claude_settings import contents, decoded, parsed, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from tenon.world.claude_settings import Edit
    from tenon.world.machine import Machine
    from tenon.world.record import Record

NAME = "proxy-on.json"
DIRECT = "proxy-direct"  # exists while the proxy is on and Claude Code is sent around it
URL = ["env", "ANTHROPIC_BASE_URL"]
TOOL_SEARCH = ["env", "ENABLE_TOOL_SEARCH"]  # off by default behind a base URL, though the proxy relays what it needs
NO_PROXY = ["env", spared.NAME]
HOOK = ["hooks", "SessionStart"]
LOCAL = "http://127.0.0.1:"
DEFAULT = "https://api.anthropic.com"
TRIES = 3  # when Claude Code or another session writes the file at the same moment


class Switch:
    """What `on` did: the proxy's address, the one that Claude Code had or would have without it, and the settings that say so.

    `no_proxy` is the list that was set with it, «» for none. `former` and `former_no_proxy` are the values that stood
    there before, as their file had them, «» where there was none.
    """

    __slots__ = ("url", "upstream", "settings", "former", "no_proxy", "former_no_proxy")

    def __init__(self, url: str, upstream: str, settings: str, former: str = "", no_proxy: str = "", former_no_proxy: str = "") -> None:
        self.url = url
        self.upstream = upstream
        self.settings = settings
        self.former = former
        self.no_proxy = no_proxy
        self.former_no_proxy = former_no_proxy

    @property
    def port(self) -> int:
        """The port in the address."""
        return int(self.url.rsplit(":", 1)[1])


def path() -> str:
    """The file that exists while the proxy is on."""
    return os.path.join(paths.home(), NAME)


def direct_path() -> str:
    """The file that exists while the proxy is on and not used, with the reason in it."""
    return os.path.join(paths.home(), DIRECT)


def load() -> Switch | None:
    """What is on, or None. Raises TenonError for a file that cannot be read."""
    try:
        with open(path(), encoding="utf-8") as file:
            found = json.load(file)
        int(found["url"].rsplit(":", 1)[1])
        return Switch(
            found["url"], str(found["upstream"]), str(found["settings"]), str(found["former"]),
            str(found.get("no_proxy", "")), str(found.get("former_no_proxy", "")),
        )  # fmt: skip
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
        raise TenonError(f"{path()} cannot be read ({type(error).__name__}); `tenon proxy off` puts things straight") from error


def found_again(here: Machine) -> Switch | None:
    """What is on by the word of the settings alone, written down anew: for when Tenon's own folder was deleted. None when nothing is.

    Raises TenonError or OSError when it cannot be written.
    """
    hook = next((upstream for upstream in map(guard.upstream_in, entries(here.settings)) if upstream), "")
    url = value(here.settings)
    if not hook or not url.startswith(LOCAL) or not url[len(LOCAL) :].isdigit():
        return None
    switch = Switch(url, hook, here.settings, "" if hook == DEFAULT else json.dumps(hook))
    paths.make_private(here.tenon_home)
    guard.write()
    _save(switch)
    return switch


def entries(settings: str) -> list[object]:
    """The user's hooks for the start of a session. Raises TenonError for settings that cannot be read."""
    hooks = claude_settings.read(settings).get("hooks")
    found = hooks.get(HOOK[1]) if isinstance(hooks, dict) else None
    return found if isinstance(found, list) else []


def value(settings: str) -> str:
    """The base URL that the settings name, «» for none. Raises TenonError for settings that cannot be read."""
    env = claude_settings.read(settings).get("env")
    found = env.get(URL[1]) if isinstance(env, dict) else None
    return found if isinstance(found, str) else ""


def holds(switch: Switch) -> bool:
    """Whether the address, or the one around it, and the guard's hook are still in the settings. Raises TenonError for settings that cannot be read."""
    found = value(switch.settings)
    addressed = found == switch.url or (why_direct() is not None and found == switch.upstream)
    return addressed and guard.entry(switch.upstream) in entries(switch.settings)


def why_direct() -> str | None:
    """Why Claude Code is sent around the proxy that is on, or None when it is not."""
    try:
        with open(direct_path(), encoding="utf-8") as file:
            found = parse(file.read())
    except FileNotFoundError:
        return None
    except (OSError, ValueError):
        return ""
    return str(found.get("why") or "") if isinstance(found, dict) else ""


def on(here: Machine, kept: Record, url: str, upstream: str, no_proxy: str = "") -> Switch:
    """Puts the address, the settings that go with it and the guard into the user's settings; all of it, or none.

    `no_proxy` is the whole list for that variable (`spared.wanted`), «» where it stays as it is.
    Raises TenonError when the settings cannot be changed.
    """
    switch = Switch(url, upstream, here.settings, _token(here.settings, URL), no_proxy, _token(here.settings, NO_PROXY) if no_proxy else "")
    paths.make_private(here.tenon_home)
    try:
        guard.write()
        _save(switch)
        for keys, ours, former in _values(switch):
            if former:
                _swapped(here.settings, keys, json.loads(former), json.dumps(ours))
        for keys, ours, former in _values(switch):
            if ours and not former:
                kept.change(claude_settings.plan_put(here.settings, keys, ours))
        if not _token(here.settings, TOOL_SEARCH) and TOOL_SEARCH[1] not in os.environ:
            kept.change(claude_settings.plan_put(here.settings, TOOL_SEARCH, "true"))
        kept.change(claude_settings.plan_add(here.settings, HOOK, guard.entry(upstream)))
    except BaseException:
        off(here, kept)
        raise
    return switch


def off(here: Machine, kept: Record) -> list[str]:
    """Takes back what `on` did, in the order that gives back the very bytes; says in lines what became of each change."""
    try:
        switch = load()
    except TenonError:
        switch = None
    told: list[str] = []
    if switch is not None:
        through()  # the edits know the file with the proxy's address in it
    told += swept(here, switch)
    mine = [at for at, edit in enumerate(kept.edits) if is_ours(edit)]
    later: list[Edit] = []
    for edit in reversed(kept.edits[mine[0] :] if mine else _unrecorded(here, switch)):
        how = claude_settings.take(edit)
        if is_ours(edit):
            told.append(f"{'.'.join(edit.keys)}: {_told(how)}")
        elif how in ("restored", "removed"):
            later.insert(0, edit)
        if edit in kept.edits:
            kept.edits.remove(edit)
            kept.save()
    told += _given_back(switch) if switch is not None else []
    for edit in later:
        plan = claude_settings.plan_add if edit.listed else claude_settings.plan_put
        kept.change(plan(edit.path, edit.keys, edit.value))
    guard.remove()
    for name in (path(), direct_path()):
        _remove(name)
    if not (kept.edits or kept.links or kept.files or kept.root):
        kept.drop_folders()
        _remove(kept.path)
    return told


def swept(here: Machine, switch: Switch | None = None) -> list[str]:
    """A line for each file that a writer left when it was ended in the middle, and that was removed."""
    settings = [here.settings, switch.settings] if switch is not None else [here.settings]
    return [f"{path}: left behind by a command that was ended in the middle; removed" for path in leavings.remove(leavings.found(here.tenon_home, settings))]


def direct(why: str) -> bool:
    """Whether the settings sent Claude Code to the proxy, and send it to the API itself now; in one write."""
    switch = load()
    if switch is None or not _retried(switch.settings, switch.url, switch.upstream):
        return False
    with open(os.open(direct_path(), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
        file.write(json.dumps({"why": why}) + "\n")
    return True


def through() -> bool:
    """Whether the settings sent Claude Code around the proxy, and send it through again now; in one write."""
    switch = load()
    if switch is None or why_direct() is None:
        return False
    back = _retried(switch.settings, switch.upstream, switch.url)
    _remove(direct_path())
    return back


def is_ours(edit: Edit) -> bool:
    """Whether a change of the settings belongs to the proxy."""
    return edit.keys in (URL, NO_PROXY, TOOL_SEARCH) or (edit.keys == HOOK and guard.upstream_in(edit.value) != "")


def _values(switch: Switch) -> list[tuple[list[str], str, str]]:
    """Keys, the value that is put there, and the one that stood there; where one stood, it is the file's own bytes that come back."""
    return [(URL, switch.url, switch.former), (NO_PROXY, switch.no_proxy, switch.former_no_proxy)]


def _given_back(switch: Switch) -> list[str]:
    """Puts back what stood where a value of ours stands, and says so."""
    told = []
    for keys, ours, former in _values(switch):
        if former:
            back = _swapped(switch.settings, keys, ours, former)
            told.append(f"{'.'.join(keys)}: {'what stood there before is back' if back else 'has been changed since and stays'}")
    return told


def _unrecorded(here: Machine, switch: Switch | None) -> list[Edit]:
    """The changes as they must have been, for when the record of them is lost."""
    if switch is None:
        return []
    wanted: list[tuple[list[str], object]] = [(HOOK, guard.entry(switch.upstream))]
    wanted += [(keys, ours) for keys, ours, former in _values(switch) if ours and not former]
    return [
        claude_settings.Edit(switch.settings, keys, what, listed=keys == HOOK, made=len(keys), before="", after="", insertions=[]) for keys, what in wanted
    ]  # fmt: skip


def _told(how: str) -> str:
    return {"restored": "as it was before, byte for byte", "removed": "taken out; later changes of yours stay", "gone": "was gone already"}.get(
        how, "has been changed since and stays"
    )  # fmt: skip


def _retried(settings: str, old: str, new: str) -> bool:
    for attempt in range(TRIES):
        try:
            return _swapped(settings, URL, old, json.dumps(new))
        except TenonError:
            if attempt == TRIES - 1:
                raise
    return False


def _token(settings: str, keys: Sequence[str]) -> str:
    """The value under the keys as the file has it, «» when it is not there."""
    text = decoded(settings, contents(settings))
    node = _found(parsed(settings, text), keys)
    return text[node.start : node.end] if node is not None else ""


def _swapped(settings: str, keys: Sequence[str], old: object, token: str) -> bool:
    """Whether exactly the old value stood there and the token stands in its place now; nothing else changes. Raises TenonError."""
    data = contents(settings)
    text = decoded(settings, data)
    node = _found(parsed(settings, text), keys)
    if node is None or node.value != old:
        return False
    changed = text[: node.start] + token + text[node.end :]
    there = _found(parsed(settings, changed), keys)
    if there is None or there.value != json.loads(token):
        raise TenonError(f"{settings} is written in a way that cannot be changed safely; change {'.'.join(keys)} by hand")
    if changed != text:
        replace(settings, data, changed.encode("utf-8"))
    return True


def _found(root: jsonc.Node, keys: Sequence[str]) -> jsonc.Node | None:
    node = root
    for key in keys:
        child = node.child(key)
        if child is None:
            return None
        node = child.node
    return node


def _save(switch: Switch) -> None:
    new = f"{path()}.{os.getpid()}"
    with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
        file.write(json.dumps({name: getattr(switch, name) for name in Switch.__slots__}) + "\n")
    os.replace(new, path())


def _remove(name: str) -> None:
    try:
        os.remove(name)
    except FileNotFoundError:
        pass
