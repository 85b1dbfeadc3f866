"""`tenon config`: each setting, where its value comes from, and how to change it."""

from __future__ import annotations

import json
import os

from tenon.base import paths, settings
from tenon.base.errors import TenonError
from tenon.cli import context, table
from tenon.cli.main import reads
from tenon.world import agreed, base_url, daemon

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from tenon.cli.out import Out

HELP = (
    "Shows each setting with its value and where that comes from: a flag before the environment before settings.json before the default. "
    "With a name and a value, writes settings.json."
)
EXAMPLES = """
tenon config                              every setting
tenon config inject.hits 4                at most four hits in front of a prompt
tenon config archive.exclude ~/private    folders whose sessions are neither kept nor recalled
tenon config --unset inject.hits          back to the default
"""
WORDS = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}

AT_START = {"proxy.port", "upstream"}  # the proxy reads them when it starts, all others with each request
ADDRESSES = {"upstream", "embed.url"}  # a password may be in one that is refused


def arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the verb's own arguments."""
    parser.add_argument("name", nargs="?", default="", metavar="NAME", help="a setting")
    parser.add_argument("value", nargs="*", metavar="VALUE", help="its new value; several for a list")
    parser.add_argument("--unset", metavar="NAME", default="", help="take a value out of settings.json")
    reads(parser)


def run(options: argparse.Namespace, out: Out) -> int:
    """0 when it is shown or written."""
    for name in filter(None, (options.name, options.unset)):
        if name not in settings.KNOWN:
            raise TenonError(f"there is no setting '{name}'; `tenon config` lists them")
    if options.unset:
        if options.name:
            options.wrong("--unset NAME stands alone")
        held = _held()
        if options.unset in held and options.unset != "upstream":
            _theirs(options.unset, settings.KNOWN[options.unset][0])
        if held.pop(options.unset, None) is None:
            out.say(f"settings.json does not say {options.unset}; nothing to take out.")
            return 0
        _write(held)
    elif options.value:
        if options.name == "digest.auto" and _typed(options.name, options.value) is True:
            raise TenonError("`tenon digest auto on` turns it on: it says what that costs, and asks first")
        value = _typed(options.name, options.value)
        _theirs(options.name, value)
        _write({**_held(), options.name: value})
    found = settings.load()
    asked = options.name or options.unset
    for name in [asked] if asked else list(settings.KNOWN) if out.json else ():
        _show(name, found, out)
    if not asked and not out.json:
        _table(found, out)
    if found.problem:
        out.say(f"Not as written: {found.problem}.")
    if (options.value or options.unset) and {options.name, options.unset} & AT_START and (daemon.running() is not None or os.path.exists(base_url.path())):
        way = "`tenon proxy on` applies it" if os.path.exists(base_url.path()) else "`tenon stop` ends that one, and the next start takes the new value"
        out.say(f"A proxy that runs keeps what it was started with: {way}.")
    if options.name == "recall.rerank" and options.value and found.flag("recall.rerank"):
        if not os.environ.get("CLAUDECODE"):
            agreed.record(os.environ)
        out.say(
            f"Each prompt is followed by a request to {found.text('digest.model')} of some 3,000 tokens, within digest.daily_tokens ({found.number('digest.daily_tokens'):,.0f} a day)."
        )
    if options.value and found.origin[options.name] != "settings.json":
        out.say(f"{found.origin[options.name]} says otherwise, and goes before settings.json.")
    return 0


def put(values: Mapping[str, object]) -> None:
    """Writes settings into settings.json, whose other values stay. Raises TenonError."""
    _write({**_held(), **values})


def _theirs(name: str, value: object) -> None:
    """Raises TenonError where a model may be typing and the value would cost more, or have requests go elsewhere."""
    if settings.dearer(name, value, settings.load().values[name]) or (name == "upstream" and value):
        context.own_terminal(f"{name} says {'where your requests go' if name == 'upstream' else 'what may be spent'}")


def _show(name: str, found: settings.Settings, out: Out) -> None:
    value, origin = found.values[name], found.origin[name]
    default, meaning = settings.KNOWN[name]
    if out.json:
        out.record({"name": name, "value": value, "origin": origin, "default": default, "variable": settings.variable(name), "meaning": meaning})
        return
    out.told(f"{out.styled('strong', name)} = {_worded(value)}  ({origin})", 4)
    out.told(out.styled("faint", f"    {meaning}"))


def _table(found: settings.Settings, out: Out) -> None:
    columns = [table.Column("setting", least=20, style="strong"), table.Column("value", folds=True, least=12), table.Column("from", folds=True, least=14)]
    rows: list[list[table.Cell]] = []
    for name in settings.KNOWN:
        origin = found.origin[name]
        rows.append([name, _worded(found.values[name]), origin if origin == "default" else ("good", origin)])
    table.show(out, columns, rows, [meaning for _, meaning in settings.KNOWN.values()])


def _worded(value: object) -> str:
    return ("on" if value else "off") if isinstance(value, bool) else value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _typed(name: str, given: list[str]) -> object:
    default = settings.KNOWN[name][0]
    if isinstance(default, list):
        return [os.path.abspath(os.path.expanduser(part)) for part in given if part]
    if len(given) != 1:
        raise TenonError(f"{name} has one value, not {len(given)}; put it in quotes")
    raw = given[0]
    if isinstance(default, bool):
        if raw.lower() not in WORDS:
            raise TenonError(f"{name} is on or off, not '{raw}'")
        return WORDS[raw.lower()]
    if isinstance(default, (int, float)):
        return _number(name, raw, default)
    raw = raw.strip()
    wanted = settings.allowed(name, raw, settings.load().number("proxy.port"))
    if wanted:
        raise TenonError(f"{name} must be {wanted}" + ("" if name in ADDRESSES else f", not '{raw}'"))
    return paths.agent_name(raw) if name == "agent" else raw


def _number(name: str, raw: str, default: float) -> float:
    try:
        value = int(raw) if isinstance(default, int) else float(raw)
    except ValueError:
        raise TenonError(f"{name} is {'a whole number' if isinstance(default, int) else 'a number'} like {default}, not '{raw}'") from None
    wanted = settings.allowed(name, value)
    if wanted:
        raise TenonError(f"{name} must be {wanted}, not {raw}")
    return value


def _held() -> dict[str, object]:
    path = paths.settings_path()
    try:
        with open(path, encoding="utf-8-sig") as file:
            found = json.load(file)
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise TenonError(f"{path} cannot be read ({error}); mend it or move it away, then try again") from error
    if not isinstance(found, dict):
        raise TenonError(f"{path} is not a JSON object; mend it or move it away, then try again")
    return found


def _write(held: dict[str, object]) -> None:
    paths.make_private(paths.home())
    # A settings file that is a link into somebody's dotfiles stays one.
    path = os.path.realpath(paths.settings_path())
    new = f"{path}.{os.getpid()}.new"
    try:
        handle = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with open(handle, "w", encoding="utf-8") as file:
            file.write(json.dumps(held, ensure_ascii=False, indent=2) + "\n")
        os.replace(new, path)
    except OSError as error:
        raise TenonError(f"{path} cannot be written ({error.strerror}); check the permissions of its folder") from error
