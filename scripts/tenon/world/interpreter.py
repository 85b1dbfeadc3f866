"""The interpreter behind a shim: where the name `python3` leads through a version manager first, hooks can start the real one.

Claude Code puts no variable in the place of a hook's program, so the installed copy's own hooks.json is changed: from a
program and its arguments to a line for sh, which takes `python3` again when that interpreter is gone. What the user
agreed to stands in TENON_HOME/interpreter.json. An update brings the plain file again, and the next session's start
changes that one too.
"""

from __future__ import annotations

import os
import sys

from tenon.base import paths
from tenon.base.errors import TenonError
from tenon.base.lean import parse, quote

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Callable

    from tenon.world.machine import Machine
    from tenon.world.record import Record

    Measure = Callable[[str], "Cost | None"]
    Finding = tuple[str, str, str, str]

NAME = "interpreter.json"
PLAIN = '"command": "python3", "args": ["-I", "-S", "${CLAUDE_PLUGIN_ROOT}/hooks/hook.py"]'
TAIL = '; [ -f "$p" ] && [ -x "$p" ] || p=python3; exec "$p" -I -S "${CLAUDE_PLUGIN_ROOT}/hooks/hook.py"'
DEAR_MS = 15.0  # from here on the name is worth a question
STARTS = 3
START_S = 8.0
ASK = ("-I", "-S", "-c", "import sys, sqlite3; sys.version_info < (3, 9) or sys.stdout.buffer.write(sys.executable.encode('utf-8'))")
PYENV = ("PYENV_DIR", "PYENV_VERSION", "PYENV_HOOK_PATH")  # with which its shim tells what it starts what was chosen
NOTHING = ("-I", "-S", "-c", "pass")


class Cost:
    """What a start takes by the name python3, and of the interpreter behind it, in milliseconds."""

    __slots__ = ("python", "name_ms", "direct_ms")

    def __init__(self, python: str, name_ms: float, direct_ms: float) -> None:
        self.python = python
        self.name_ms = name_ms
        self.direct_ms = direct_ms

    @property
    def more_ms(self) -> float:
        """What the name costs."""
        return self.name_ms - self.direct_ms


class Wish:
    """What the user agreed to: the interpreter, and the copies of the plugin that were changed for it."""

    __slots__ = ("python", "roots")

    def __init__(self, python: str, roots: list[str]) -> None:
        self.python = python
        self.roots = roots


def measure(folder: str) -> Cost | None:
    """The cost, each the median of three starts in that folder; None where the name leads to the interpreter itself, or where that cannot be told."""
    from statistics import median

    name = _name()
    try:
        python = _lasting(_started([name, *ASK], folder)[0]) if name else ""
        if not can_start(python) or os.path.realpath(name) == os.path.realpath(python):
            return None
        took: dict[str, list[float]] = {name: [], python: []}
        for _ in range(STARTS):
            for program, times in took.items():
                times.append(_started([program, *NOTHING], folder)[1])
    except OSError:
        return None
    return Cost(python, median(took[name]), median(took[python]))


def can_start(python: str) -> bool:
    """Whether the interpreter is there, and its path is one that a line for sh can hold."""
    told = os.path.isabs(python) and python.isprintable() and "${" not in python
    return told and os.path.isfile(python) and os.access(python, os.X_OK)


def direct(text: str, python: str) -> str:
    """The hooks.json whose hooks start that interpreter."""
    from shlex import quote as quoted

    return plain(text).replace(PLAIN, '"command": ' + quote("p=" + quoted(python) + TAIL))


def plain(text: str) -> str:
    """The hooks.json as it was shipped."""
    return _line().sub(PLAIN, text)  # in which nothing means anything to a pattern


def chosen(text: str) -> str:
    """The interpreter that the hooks in a hooks.json start, «» for python3 by its name."""
    from shlex import split

    found = _line().search(text)
    value = parse('"' + found.group(1) + '"') if found else None
    try:
        return (split(value) or [""])[0] if isinstance(value, str) else ""
    except ValueError:
        return ""


def hooks_file(root: str) -> str:
    """The file of a copy of the plugin that says what its hooks start."""
    return os.path.join(root, "hooks", "hooks.json")


def checkout(root: str) -> str:
    """The folder with the `.git` that the copy lies in, «» when there is none; one that holds Claude Code's own folder does not count."""
    here, top = os.path.realpath(hooks_file(root)), os.path.realpath(paths.claude_home())
    while os.path.dirname(here) != here:
        here = os.path.dirname(here)
        if here == top:
            return ""
        if os.path.lexists(os.path.join(here, ".git")):
            return here
    return ""


def load(home: str) -> Wish | None:
    """What the user agreed to, None when it is nothing or cannot be read."""
    try:
        with open(os.path.join(home, NAME), encoding="utf-8") as file:
            found = parse(file.read())
    except (OSError, ValueError):
        return None
    if not isinstance(found, dict) or not isinstance(found.get("python"), str) or not isinstance(found.get("roots"), list):
        return None
    return Wish(found["python"], [root for root in found["roots"] if isinstance(root, str)])


def roots(here: Machine) -> list[str]:
    """The copies of the plugin that Claude Code loads, as far as its own files tell: in place, from its cache, or from the folder of skills."""
    from tenon.world import machine

    folders = _folders(here)
    found = [folder for folder in folders.values() if folder]
    found += [copy.path for copy in machine.copies(here) if not copy.orphaned and not folders.get(copy.name.partition("@")[2])]
    return [root for root in dict.fromkeys([*found, here.skills_copy]) if _is_ours(root)]


def changed(here: Machine) -> list[str]:
    """The copies whose hooks start an interpreter directly, replaced ones too."""
    from tenon.world import machine

    wish = load(here.tenon_home)
    found = [*(wish.roots if wish else []), *roots(here), here.root, *(copy.path for copy in machine.copies(here))]
    return [root for root in dict.fromkeys(found) if chosen(_text(root))]


def plain_ones(here: Machine, python: str) -> list[str]:
    """The copies that would be changed: those whose hooks do not start that interpreter yet, and that are no checkout."""
    return [root for root in roots(here) if not checkout(root) and chosen(_text(root)) != python]


def use(here: Machine, python: str) -> None:
    """Writes down that hooks are to start that interpreter, then changes the copies there are. Raises TenonError or OSError."""
    wish = load(here.tenon_home) or Wish(python, [])
    targets = plain_ones(here, python)
    wish.python = python
    wish.roots = list(dict.fromkeys([*filter(_text, wish.roots), *targets]))
    _save(here.tenon_home, wish)
    for root in targets:
        point(root, python)


def point(root: str, python: str) -> bool:
    """Whether the copy's hooks.json was changed, so that its hooks start that interpreter («»: python3 by its name).

    Raises TenonError when it cannot be written.
    """
    from tenon.world import claude_settings

    path = hooks_file(root)
    old = claude_settings.contents(path)
    text = claude_settings.decoded(path, old)
    new = direct(text, python) if python else plain(text)
    if new == text:
        return False
    if plain(new) != plain(text) or parse(new, whole=True) is None:
        raise TenonError(f"{path} is not as Tenon ships it, so it is left alone")
    claude_settings.replace(path, old, new.encode("utf-8"))
    return True


def renew(root: str) -> None:
    """Changes the copy that is running, where the user agreed and an update has brought the plain file. Raises TenonError or OSError."""
    wish = load(paths.home())
    if wish is None or os.name == "nt" or not can_start(wish.python) or PLAIN not in _text(root):
        return
    if checkout(root) or not os.access(os.path.dirname(hooks_file(root)), os.W_OK):
        return
    if root not in wish.roots:
        wish.roots = [*filter(_text, wish.roots), root]
        _save(paths.home(), wish)
    try:
        point(root, wish.python)
    except TenonError:
        if PLAIN in _text(root):  # else another session was faster
            raise


def take_back(here: Machine, kept: Record, *, dry: bool = False) -> list[str]:
    """Gives the copies their own hooks.json again, byte for byte, and tells each in a line; the wish is gone then."""
    told = []
    for root in changed(here):
        path = hooks_file(root)
        if dry:
            told.append(f"{path}: hooks would start python3 by its name again")
            continue
        try:
            _restore(root, kept)
            told.append(f"{path}: as it was before, byte for byte")
        except TenonError as error:
            told.append(f"{error}; its hooks go on starting {chosen(_text(root))}")
    if not dry and os.path.exists(os.path.join(here.tenon_home, NAME)):
        os.remove(os.path.join(here.tenon_home, NAME))
    return told


def findings(here: Machine) -> list[Finding]:
    """What there is to say of it, as doctor has it: (name, state, what was found, the way to mend it); nothing where nothing was agreed to."""
    wish = load(here.tenon_home)
    starts = {root: chosen(_text(root)) for root in roots(here)}
    gone = [python for python in dict.fromkeys([wish.python if wish else "", *starts.values()]) if python and not can_start(python)]
    if gone:
        return [("interpreter", "warn", f"{gone[0]} is not there any more, so hooks start python3 by its name", "tenon install")]
    if wish is None:
        return [("interpreter", "ok", f"hooks start {python} directly", "") for python in dict.fromkeys(starts.values()) if python]
    left = next((root for root in starts if checkout(root)), "")
    if left:
        return [("interpreter", "ok", f"hooks start python3 by its name: {left} is a git checkout, which is left alone", "")]
    late = next((root for root, python in starts.items() if python != wish.python), "")
    if late:
        return [("interpreter", "ok", f"hooks in {late} start {wish.python} directly from the session after the next on", "tenon install (does it now)")]
    return [("interpreter", "ok", f"hooks start {wish.python} directly", "")]


def apart(here: Machine) -> list[Finding]:
    """A finding for each copy that Claude Code loads, and hooks run from, whose version is not the running command's; nothing where all agree."""
    from shlex import quote as quoted

    import tenon

    found = []
    for root in roots(here):
        known = _manifest(root).get("version")
        if os.path.realpath(root) == os.path.realpath(here.root) or known in (None, tenon.__version__):
            continue
        said = f"this command is {tenon.__version__}, from {here.root}; hooks are {known}, from {root}"
        door = os.path.join(root, "bin", "tenon")
        found.append(("version", "warn", said, f'py -3 "{door}" install' if here.windows else f"{quoted(door)} install (has the command start that copy)"))
    return found


def _restore(root: str, kept: Record) -> None:
    from tenon.world import record

    path = hooks_file(root)
    copied = kept.files.get(path) == record.digest(path)  # copied as it is now, which a removal looks at
    point(root, "")
    if copied:
        kept.files[path] = record.digest(path)
        kept.save()


def _save(home: str, wish: Wish) -> None:
    paths.make_private(home)
    path = os.path.join(home, NAME)
    temporary = f"{path}.{os.getpid()}"
    listed = ", ".join(map(quote, wish.roots))
    with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="ascii", newline="\n") as file:
        file.write(f'{{"python": {quote(wish.python)}, "roots": [{listed}]}}\n')
    os.replace(temporary, path)


def _text(root: str) -> str:
    """The copy's hooks.json, «» where none can be read."""
    try:
        with open(hooks_file(root), encoding="utf-8", newline="") as file:
            return file.read()
    except (OSError, ValueError):
        return ""


def _line() -> re.Pattern[str]:
    """What finds the line for sh; its group is the interpreter as sh and JSON quote it."""
    import re

    return re.compile(r'"command": "p=((?:[^"\\]|\\.)*?)' + re.escape(quote(TAIL)[1:]))


def _name() -> str:
    """The program that `python3` is in the user's terminal, «» for none."""
    folders = os.environ.get("PATH", "").split(os.pathsep)
    found = [path for path in (os.path.join(folder, "python3") for folder in folders if folder) if os.path.isfile(path) and os.access(path, os.X_OK)]
    own = os.path.realpath(sys.executable)
    other = next((path for path in found if os.path.realpath(path) != own), "")
    if not other or found[0] == other:
        return found[0] if found else ""
    # A shim that has started this very process has put the interpreter's folder in front of the PATH.
    try:
        leads = os.path.realpath(_started([other, *ASK])[0])
    except OSError:
        leads = ""
    return other if leads == own else found[0]


def _lasting(python: str) -> str:
    """The interpreter itself in place of a virtual environment's name for it, as projects and their environments come and go."""
    virtual = os.path.isfile(os.path.join(os.path.dirname(os.path.dirname(python)), "pyvenv.cfg"))
    return os.path.realpath(python) if virtual else python


def _started(command: list[str], folder: str = "") -> tuple[str, float]:
    """What a program printed, and how many milliseconds it took; in a folder, whatever was chosen for the present one. Raises OSError when it fails."""
    import subprocess
    import time

    env = {name: value for name, value in os.environ.items() if not (folder and name in PYENV)}
    began = time.perf_counter()
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=START_S, check=True, cwd=folder or None, env=env)
    except subprocess.SubprocessError as error:
        raise OSError(str(error)) from error
    return done.stdout.decode("utf-8", "replace"), (time.perf_counter() - began) * 1000


def _folders(here: Machine) -> dict[str, str]:
    """The marketplaces that are folders of this machine, from which Claude Code loads plugins in place; by name, «» for other ones."""
    try:
        with open(os.path.join(os.path.dirname(here.cache), "known_marketplaces.json"), encoding="utf-8") as file:
            known = parse(file.read())
    except (OSError, ValueError):
        return {}
    found = {}
    for name, market in known.items() if isinstance(known, dict) else ():
        source = market.get("source") if isinstance(market, dict) else None
        local = isinstance(source, dict) and source.get("source") == "directory"
        found[str(name)] = str(source.get("path") or "") if local and isinstance(source, dict) else ""
    return found


def _manifest(root: str) -> dict[str, object]:
    """What the plugin in the folder says of itself, empty where that cannot be read."""
    try:
        with open(os.path.join(root, ".claude-plugin", "plugin.json"), encoding="utf-8") as file:
            found = parse(file.read())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _is_ours(root: str) -> bool:
    """Whether the folder holds this plugin and not another one whose hooks look the same."""
    text = _text(root)
    return _manifest(root).get("name") == "tenon" and (PLAIN in text or bool(chosen(text)))
