"""What the user chose: flag, then environment, then settings.json, then the default, and where each value came from."""

from __future__ import annotations

import os
import sys

from tenon.base import paths
from tenon.base.lean import parse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

# name: (default, what it means). Each is also TENON_<NAME> in the environment, dots as underscores.
KNOWN: dict[str, tuple[object, str]] = {
    "agent": ("default", "whose memory is used when no --agent is given"),
    "inject.session": (True, "put what is known of this repository in front of a new session"),
    "inject.prompt": (True, "look up memories and past exchanges for each prompt"),
    "inject.max_chars": (9500, "most characters of one injection (Claude Code cuts at 10,000)"),
    "inject.hits": (6, "most hits put in front of one prompt"),
    "inject.min_prompt": (12, "shortest prompt that is looked up, in characters (a wide character counts as three)"),
    "recall.floor": (0.34, "how sure a hit must be to answer a prompt, by its words or its meaning, 0 to 1; higher is stricter"),
    "recall.archive": (True, "let past exchanges answer, not only memories"),
    "recall.ranking": ("fused", "how hits are ranked: by words and meaning together (fused), or by backant-memory's formula (classic)"),
    "recall.rerank": (
        False,
        "let the digest's model choose, after a prompt, what may help with the next one; a request each prompt, within digest.daily_tokens (on: only in settings.json)",
    ),
    "embed.model": ("qwen3-embedding:0.6b", "the Ollama model that recall asks in place of the built-in table, when Ollama has it; none is ever pulled"),
    "embed.ollama": (
        "auto",
        "ask Ollama: on Linux a program of yours on this machine (auto), whoever answers at embed.url, also another machine, where texts then go (on; only in settings.json), never (off)",
    ),
    "embed.url": ("http://127.0.0.1:11434", "where Ollama answers; another machine only in settings.json"),
    "archive.enabled": (True, "keep every turn of every session"),
    "archive.exclude": ([], "folders whose sessions are neither kept nor recalled"),
    "upstream": ("", "where the proxy sends requests (empty: the Messages API's own address)"),
    "proxy.port": (9000, "the port of the proxy, on this machine only"),
    "proxy.max_context": (500_000, "most tokens of one request through the proxy; smaller for models with a smaller window"),
    "proxy.trace_tokens": (60_000, "most tokens of past sessions in front of a new one; 0 for none"),
    "proxy.scope": ("agent", "whose past sessions those are: the agent's (agent) or only this repository's (repository)"),
    "proxy.result_chars": (4000, "longest past tool result shown whole, in characters; a longer one is shown head and tail"),
    "digest.auto": (
        False,
        "let a model make memories of what was said, in the background; `tenon digest auto on` says what that costs (on: only in settings.json)",
    ),
    "digest.daily_tokens": (200_000, "most tokens a day, read and written, of all requests that Tenon itself makes to a model; more only in settings.json"),
    "digest.runner": ("claude", "who asks that model: Claude Code (claude), the Messages API with your key (api), your Ollama (ollama); only in settings.json"),
    "digest.model": ("haiku", "the model of claude and api: haiku, sonnet, or a full name; only in settings.json"),
    "digest.ollama_model": ("qwen3:4b", "the chat model of Ollama's that a digest asks, with that runner; none is ever pulled"),
    "digest.pressure": (True, "tell the model when more was said lately than was made memories of, so that it can ask you to slow down"),
    "decay.short_per_day": (0.95, "what a short-term memory keeps of its strength per day"),
    "decay.long_per_day": (0.997, "what a long-term memory keeps of its strength per day"),
}
# What a number may be; one that is not named here is from 0 to LARGEST.
LEAST = {"proxy.port": 1, "proxy.max_context": 20_000}  # below it Claude Code's own instructions and tools leave no room
MOST = {
    "inject.max_chars": 9900,  # Claude Code cuts at 10,000, and the fence around it is counted too
    "inject.hits": 100,
    "digest.daily_tokens": 100_000_000,
    "recall.floor": 1,
    "proxy.port": 65_535,
    "proxy.max_context": 10_000_000,
    "proxy.trace_tokens": 10_000_000,
    "decay.short_per_day": 1,
    "decay.long_per_day": 1,
}
LARGEST = 1_000_000
CHOICES = {
    "proxy.scope": ("agent", "repository"),
    "recall.ranking": ("fused", "classic"),
    "embed.ollama": ("auto", "on", "off"),
    "digest.runner": ("claude", "api", "ollama"),
}
# What costs money: a project can set variables too, so there they can only be turned off or made less.
PAID = ("digest.auto", "recall.rerank", "digest.daily_tokens", "digest.runner", "digest.model")
OWN_HOSTS = ("127.0.0.1", "localhost", "[::1]")


class Settings:
    """The values in force and, per name, where each came from: environment, file or default."""

    __slots__ = ("values", "origin", "problem", "doubt")

    def __init__(self, values: dict[str, object], origin: dict[str, str], problem: str, doubt: str = "") -> None:
        self.values = values
        self.origin = origin
        self.problem = problem
        self.doubt = doubt

    def flag(self, name: str) -> bool:
        """A yes-or-no setting."""
        return bool(self.values[name])

    def number(self, name: str) -> float:
        """A numeric setting."""
        value = self.values[name]
        return float(value) if isinstance(value, (int, float)) else 0.0

    def text(self, name: str) -> str:
        """A text setting."""
        return str(self.values[name])

    def per_day(self) -> dict[str, float]:
        """What each tier keeps of its strength per day."""
        return {"short": self.number("decay.short_per_day"), "long": self.number("decay.long_per_day")}

    def names(self, name: str) -> list[str]:
        """A list setting."""
        value = self.values[name]
        return [str(item) for item in value] if isinstance(value, list) else []


def load() -> Settings:
    """The settings in force. A broken file or value is left out, named in `.problem`, and never stops a prompt.

    While it is in doubt what may be kept (the file cannot be read, or says something about `archive` that is not understood),
    `archive.enabled` is off and `.doubt` says why.
    """
    values = {name: default for name, (default, _) in KNOWN.items()}
    origin = dict.fromkeys(KNOWN, "default")
    problems: list[str] = []
    for name, value in _from_file(problems).items():
        _take(name, value, "settings.json", values, origin, problems)
    chosen = values["archive.exclude"]
    for name in KNOWN:
        raw = os.environ.get(variable(name))
        if not raw:
            continue
        value = _typed(raw, True if _is_switch(name) else KNOWN[name][0])
        wanted = _near(name, value) or dearer(name, value, values[name])
        if wanted:
            why = "what costs money is set" if name in PAID else "texts are sent to another machine"
            problems.append(f"{variable(name)}: '{name}' must be {wanted}; {why} by settings.json alone")
        else:
            _take(name, value, variable(name), values, origin, problems)
    excluded = values["archive.exclude"]
    if isinstance(chosen, list) and isinstance(excluded, list) and excluded is not chosen:
        values["archive.exclude"] = [*chosen, *excluded]  # the environment can add to what is excluded, not take away
    port = values["proxy.port"]
    own = allowed("upstream", values["upstream"], port) if isinstance(port, (int, float)) else ""
    if own and not allowed("upstream", values["upstream"]):
        problems.append(f"{origin['upstream']}: 'upstream' must be {own}; the proxy does not start with it")
    doubt = "; ".join(problem for problem in problems if "'archive" in problem or problem.startswith(paths.settings_path()))
    if doubt:
        values["archive.enabled"] = False
        origin["archive.enabled"] = "off while the settings are in doubt"
    return Settings(values, origin, "; ".join(problems), doubt)


def stranger(projects: Iterable[str]) -> str:
    """Why settings.json may be a project's and not the user's, «» when it is theirs; then nothing in it that costs money, and no `upstream`, counts.

    A project can set TENON_HOME too, and bring a folder of its own for it. A folder that the user's home lies in is nobody else's.
    """
    if not os.path.isabs(os.path.expanduser(os.environ.get("TENON_HOME") or "~")):
        return "TENON_HOME is not an absolute path"
    from tenon.base import repository

    tops = {top for project in projects if project for top in (project, repository.identify(project).root)}
    foreign = [top for top in tops if not paths.lies_in(_own_home(), [top])]
    if paths.lies_in(paths.home(), foreign) or paths.lies_in(paths.settings_path(), foreign):
        return f"{paths.settings_path()} lies in the session's project"
    try:
        owner = os.stat(paths.settings_path()).st_uid
    except OSError:
        return ""  # the defaults cost nothing
    return "" if sys.platform == "win32" or owner in (0, os.getuid()) else f"{paths.settings_path()} belongs to somebody else"


def _own_home() -> str:
    """The user's home as the system has it, whatever HOME says, which a project can set too."""
    said = os.environ.pop("HOME", None)
    try:
        return os.path.expanduser("~")
    finally:
        if said is not None:
            os.environ["HOME"] = said


def limits(name: str) -> tuple[float, float]:
    """The least and the most that a number may be."""
    return LEAST.get(name, 0), MOST.get(name, LARGEST)


def allowed(name: str, value: object, port: float = 0) -> str:
    """What a value that is none must be, «» for one that may be; `port` is the proxy's, which must not send to itself."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        least, most = limits(name)
        return "" if least <= value <= most else f"from {least} to {most}" if name == "proxy.port" else f"from {least:,} to {most:,}"
    if name in CHOICES:
        return "" if value in CHOICES[name] else " or ".join(CHOICES[name])
    if name in ("embed.model", "digest.model", "digest.ollama_model"):
        return "" if _is_model(str(value)) else f"the name of a model like {KNOWN[name][0]}"
    if name == "embed.url":
        return "" if str(value).strip() and not _address(str(value).strip(), 0) else "an address like http://127.0.0.1:11434"
    return _address(str(value).strip(), port) if name == "upstream" else ""


def _near(name: str, value: object) -> str:
    """What a value from the environment must be that would let texts leave the machine, «» for any other: a project can set variables too."""
    if name == "embed.ollama":
        return "auto or off" if value in (True, "on") else ""
    return "an address of this machine like http://127.0.0.1:11434" if name == "embed.url" and not is_own(str(value)) else ""


def dearer(name: str, value: object, held: object) -> str:
    """What a value must be that would cost the user more than they agreed to, «» for any other."""
    if name not in PAID or value == held or value is False:
        return ""
    if isinstance(held, bool):
        return "off" if value is True else ""
    if isinstance(held, str):
        return f"{held!r} here"
    return f"at most {held:,}" if isinstance(held, (int, float)) and isinstance(value, (int, float)) and value > held else ""


def is_own(url: str) -> bool:
    """Whether the address is one of this machine and nothing in it could be read in another way: no name, no query, no letters beyond ASCII."""
    scheme, _, rest = url.strip().partition("://")
    place = rest.partition("/")[0].lower()
    if scheme.lower() not in ("http", "https") or not rest.isascii() or not rest.isprintable() or set(rest) & set(" \\@?#"):
        return False
    host = "[::1]" if place.startswith("[::1]") else place.partition(":")[0]
    port = place[len(host) :]
    parts = host.split(".")
    loop = len(parts) == 4 and parts[0] == "127" and all(part.isdigit() and len(part) < 4 and int(part) < 256 for part in parts)
    return (loop or host in OWN_HOSTS) and (not port or (port[0] == ":" and port[1:].isdigit()))


def _is_switch(name: str) -> bool:
    """Whether the setting is on, off, or something between."""
    return {"on", "off"} <= set(CHOICES.get(name, ()))


def _is_model(name: str) -> bool:
    return 0 < len(name) <= 200 and name.isprintable() and " " not in name


def variable(name: str) -> str:
    """The environment variable of a setting."""
    return "TENON_" + name.upper().replace(".", "_")


def _from_file(problems: list[str]) -> dict[str, object]:
    path = paths.settings_path()
    try:
        if not os.path.isfile(path):  # a pipe would never end
            if os.path.lexists(path):
                problems.append(f"{path} is not a file")
            return {}
        with open(path, encoding="utf-8-sig") as file:
            text = file.read()
        found = parse(text, whole=True)
        if found is None:
            from tenon.base import jsonc

            found = jsonc.parse(text).value  # with comments, and a comma too many
    except (OSError, ValueError) as error:
        problems.append(f"{path} cannot be read ({error})")
        return {}
    if not isinstance(found, dict):
        problems.append(f"{path} is not a JSON object, so the defaults are used")
        return {}
    return found


def _take(name: str, value: object, where: str, values: dict[str, object], origin: dict[str, str], problems: list[str]) -> None:
    if name not in KNOWN:
        problems.append(f"{where}: there is no setting '{name}'")
        return
    default = KNOWN[name][0]
    if isinstance(default, bool) and isinstance(value, str):
        value = _typed(value, default)
    if isinstance(value, bool) and _is_switch(name):
        value = "on" if value else "off"
    fits = (
        isinstance(value, bool)
        if isinstance(default, bool)
        else isinstance(value, (int, float)) and not isinstance(value, bool)
        if isinstance(default, (int, float))
        else isinstance(value, type(default))
    )
    if not fits:
        problems.append(f"{where}: '{name}' must be {_wanted(default)}, not {value!r}")
        return
    wanted = allowed(name, value)
    if wanted and name == "upstream":  # it stays: what is meant for another place must not go to the usual one
        problems.append(f"{where}: 'upstream' must be {wanted}; the proxy does not start with it")
    elif wanted:
        used = _nearest(name, value, values[name])
        told = "" if name == "embed.url" else f", not {value!r}"  # a password may be in it
        problems.append(f"{where}: '{name}' must be {wanted}{told}; {used} is used")
        if used is values[name]:
            return
        value = used
    values[name] = value
    origin[name] = where


def _nearest(name: str, value: object, before: object) -> object:
    """What is used in the place of a value that may not be: the limit that it passed, else what held before."""
    if name == "proxy.port" or not isinstance(value, (int, float)):
        return before
    least, most = limits(name)
    return least if value < least else most if value > most else before


def _address(url: str, port: float) -> str:
    """What an address must be that the proxy could not send to, «» for one that is well, or for none."""
    scheme, _, rest = url.partition("://")
    place = rest.partition("/")[0].rpartition("@")[2].lower()
    host, closing, number = place.rpartition("]") if place.startswith("[") else (place.partition(":")[0], "", ":" + place.partition(":")[2])
    number = number.lstrip(":")
    if url and (scheme.lower() not in ("http", "https") or not host.strip("[") or (number and not number.isdigit()) or len(url.split()) > 1):
        return "an address like https://gateway.example"
    return "another address than the proxy's own" if host + closing in OWN_HOSTS and number == f"{port:.0f}" else ""


def _wanted(default: object) -> str:
    if isinstance(default, bool):
        return "on or off (true or false)"
    if isinstance(default, (int, float)):
        return f"a number like {default}"
    return "a list of folders" if isinstance(default, list) else f"a text like {default!r}"


def _typed(raw: str, default: object) -> object:
    if isinstance(default, bool):
        return {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}.get(raw.lower(), raw)
    if isinstance(default, (int, float)):
        try:
            return float(raw) if "." in raw else int(raw)
        except ValueError:
            return raw
    if isinstance(default, list):
        return [part for part in raw.split(os.pathsep) if part]
    return raw
