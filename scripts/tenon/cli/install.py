"""`tenon install`: what a plugin cannot do by itself, each foreign change asked for first and written down.

A plan is made by looking alone; then the user is asked; then it is done. Doing it twice is doing it once.
"""

from __future__ import annotations

import os
import shutil

from tenon.base.errors import TenonError
from tenon.world import base_url, claude_settings, interpreter, launcher, machine, python, record

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from tenon.cli.out import Out
    from tenon.world.interpreter import Measure
    from tenon.world.machine import Machine
    from tenon.world.python import Found, Probe
    from tenon.world.record import Record

HELP = """Sets up what the plugin cannot do by itself: the command `tenon` in your terminal, a status line, and a rule that
lets Claude use the memory tools, all but forgetting, without asking each time; and where `python3` is a version manager's shim, lets hooks start
the interpreter behind it. Each change outside Tenon's own folder is asked for first and can be taken back with `tenon uninstall`. Safe to repeat."""
EXAMPLES = """tenon install                  ask for each change
tenon install --dry-run        only say what would be changed
tenon install --yes --no-statusline"""
STATUS_LINE = ["statusLine"]
# Of no use to who runs the plugin; a copy leaves them out.
NOT_COPIED = (
    "tests",
    "bench",
    ".git",
    ".github",
    ".ci",
    ".cache",
    ".venv",
    "venv",
    "__pycache__",
    ".mypy_cache",
    ".ruff_cache",
    ".pytest_cache",
    ".hypothesis",
)


class Step:
    """One thing to set up: what it is, what to ask, and how to do it; without `act` there is nothing to do, and `note` says why."""

    __slots__ = ("name", "ask", "act", "note", "wrong")

    def __init__(self, name: str, *, ask: str = "", act: Callable[[], None] | None = None, note: str = "", wrong: bool = False) -> None:
        self.name = name
        self.ask = ask
        self.act = act
        self.note = note
        self.wrong = wrong  # something that only the user can set right


def arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the verb's own arguments."""
    parser.add_argument("--yes", action="store_true", help="agree to every change")
    parser.add_argument("--dry-run", action="store_true", help="say what would be changed and change nothing")
    parser.add_argument("--no-link", action="store_true", help="do not put the command into a folder of programs")
    parser.add_argument("--no-statusline", action="store_true", help="leave the status line alone")
    parser.add_argument("--no-permission", action="store_true", help="leave the permissions alone")
    parser.add_argument("--no-interpreter", action="store_true", help="let the hooks start python3 by its name, shim or not")
    parser.add_argument("--bin-dir", metavar="D", default="", help="the folder of programs (else ~/.local/bin)")
    parser.add_argument("--skills-copy", action="store_true", help="copy the plugin to Claude Code's skills folder, where no marketplace is allowed")


def run(options: argparse.Namespace, out: Out) -> int:
    """Plans, asks, does."""
    here = machine.here(options.bin_dir)
    return install(here, options, out, python.probe, interpreter.measure)


def install(here: Machine, options: argparse.Namespace, out: Out, probe: Probe, measure: Measure) -> int:
    """The exit code: 0 when everything is as it should be or was declined, 1 when something could not be done."""
    kept = record.load(here.tenon_home)
    steps = plan(here, kept, options, probe, measure)
    if any(step.act is not None for step in steps) and not (options.yes or options.dry_run):
        out.say("What the plugin cannot do by itself; each step asks first, and `tenon uninstall` takes it back.")
    agreed = [step for step in steps if step.act is not None and not options.dry_run and out.confirm(f"{step.name}: {step.ask}?", options.yes)]
    if agreed:
        kept.make_folder(here.tenon_home)
    if agreed or (kept.root and kept.root != here.root and not options.dry_run):
        kept.root = here.root
        kept.save()
    failed = 0
    for step in steps:  # one line each, in their order
        if step in agreed:
            failed += not _done(step, out, unasked=options.yes)
        elif step.act is None:
            out.told(f"{step.name}: {step.note}")
            failed += step.wrong and not options.dry_run
        else:
            out.told(f"{step.name}: {'would ' + step.ask if options.dry_run else 'left as it is'}")
    _closing(here, options, out)
    if agreed and not failed:
        out.told("Sessions that begin from now on have it; `tenon doctor` checks that all works.")
    _findable(here, out, agreed)
    return 1 if failed else 0


def plan(here: Machine, kept: Record, options: argparse.Namespace, probe: Probe, measure: Measure) -> list[Step]:
    """The steps, in order; looks and writes nothing. Raises TenonError for settings that cannot be read."""
    found = probe(["python3"])
    steps: list[Step] = []
    if options.skills_copy:
        steps.append(_skills_copy(here, kept))
    if not options.no_link:
        steps.append(_link(here, kept))
    if not options.no_statusline:
        steps.append(_status_line(here, kept))
    if not options.no_permission:
        steps.append(_permission(here, kept))
    steps.append(_python(here, kept, found, probe))
    if not (options.no_interpreter or here.windows or found.problem):
        steps += _interpreter(here, kept, measure, copying=options.skills_copy)
    return steps


def _done(step: Step, out: Out, *, unasked: bool) -> bool:
    try:
        if step.act is not None:
            step.act()
    except (TenonError, OSError) as error:
        out.say(f"{step.name}: {error}")
        return False
    out.told(f"{step.name}: done" + (f" ({step.ask})" if unasked else ""))
    return True


def _findable(here: Machine, out: Out, agreed: list[Step]) -> None:
    if any(step.name == "command" for step in agreed):
        other = launcher.shadow(here)
        if not here.on_path(here.bin_dir):
            out.told(f"{here.bin_dir} is not on your PATH: add it there, or start {here.link} by its whole name")
        elif other:
            out.told(f"another program of this name comes first on your PATH: {other}")


def _closing(here: Machine, options: argparse.Namespace, out: Out) -> None:
    try:
        settings = claude_settings.read(here.settings)
    except TenonError:
        settings = {}
    if options.skills_copy or machine.is_installed(here, settings):
        return
    source = "tenon-memory/tenon" if here.root.startswith(here.cache) else f'"{here.root}"'
    out.told("The plugin itself is not installed yet. Two commands do it:")
    out.line(f"  claude plugin marketplace add {source}")
    out.line("  claude plugin install tenon@tenon")


def _link(here: Machine, kept: Record) -> Step:
    if not launcher.is_ours(here, kept):
        return Step("command", note=f"{here.link} is there and is not Tenon's, so it is left alone; choose another folder with --bin-dir")

    def act() -> None:
        launcher.write(here, kept)
        launcher.link(here, kept)

    if launcher.is_linked(here) and launcher.is_current(here):
        return Step("command", note=f"{here.link} is there")
    return Step("command", ask=f"put the command at {here.link}", act=act)


def _status_line(here: Machine, kept: Record) -> Step:
    wanted = {"type": "command", "command": launcher.status_command(here)}
    present = claude_settings.read(here.settings).get("statusLine")
    old = next((edit for edit in kept.edits if edit.keys == STATUS_LINE and edit.path == here.settings), None)
    if present == wanted:
        if launcher.is_current(here):
            return Step("status line", note="is set")
        return Step("status line", ask=f"write {here.launcher}, which the status line starts", act=lambda: launcher.write(here, kept))
    if present is not None and (old is None or old.value != present):
        return Step("status line", note=f"you have one, and it stays. To see Tenon in it, let it print the output of: {wanted['command']}")

    def act() -> None:
        launcher.write(here, kept)
        if old is None:
            kept.change(claude_settings.plan_put(here.settings, STATUS_LINE, wanted))
        else:
            _move_status_line(here, kept, wanted)

    return Step("status line", ask=f"set statusLine in {here.settings} (memories of the repository, what waits, faults)", act=act)


def _move_status_line(here: Machine, kept: Record, wanted: dict[str, str]) -> None:
    """Puts another status line in the place of ours. A proxy that is on is off meanwhile, so that all of it can be taken back to the byte."""
    switch, around = base_url.load(), base_url.why_direct()
    used = switch if switch is not None and base_url.holds(switch) else None  # else the user has changed what it did, and that stays
    base_url.through()
    if used is not None:
        base_url.off(here, kept)
    others = [edit for edit in _undone(here, kept) if edit.keys != STATUS_LINE]
    kept.change(claude_settings.plan_put(here.settings, STATUS_LINE, wanted))
    for edit in others:
        plan = claude_settings.plan_add if edit.listed else claude_settings.plan_put
        kept.change(plan(here.settings, edit.keys, edit.value))
    if used is not None:
        base_url.on(here, kept, used.url, used.upstream, used.no_proxy)
    if around is not None:
        base_url.direct(around)


def _permission(here: Machine, kept: Record) -> Step:
    allowed = claude_settings.read(here.settings).get("permissions")
    listed = allowed.get("allow") if isinstance(allowed, dict) else None
    held = listed if isinstance(listed, list) else []
    if machine.SERVER + "*" in held:
        return Step("permission", note=f"Claude may use every memory tool without asking, forgetting included ({machine.SERVER}* in {here.settings})")
    if all(rule in held for rule in machine.RULES):
        return Step("permission", note="Claude may use the memory tools without asking, all but memory_forget")

    def act() -> None:
        for rule in machine.RULES:
            kept.change(claude_settings.plan_add(here.settings, ["permissions", "allow"], rule))

    ask = f"add ten of the eleven memory tools to permissions.allow in {here.settings}, so that only memory_forget asks each time"
    return Step("permission", ask=ask, act=act)


def _undone(here: Machine, kept: Record) -> list[claude_settings.Edit]:
    """Takes all edits of the settings back, newest first, so that each gives back the bytes it found; returns those that were there."""
    there: list[claude_settings.Edit] = []
    for edit in [edit for edit in reversed(kept.edits) if edit.path == here.settings]:
        if claude_settings.take(edit) in ("restored", "removed"):
            there.insert(0, edit)
        kept.edits.remove(edit)
        kept.save()
    return there


def _python(here: Machine, kept: Record, found: Found, probe: Probe) -> Step:
    if not found.problem:
        return Step("python3", note=f"{found.version}, {found.executable}")
    if not here.windows:
        return Step(
            "python3",
            note=f"{found.problem}. Hooks start by that name: install Python 3.9 or newer so that `python3` runs, or put one first on your PATH",
            wrong=True,
        )
    other = next((other for other in (probe(["py", "-3"]), probe(["python"])) if not other.problem), None)
    if other is None:
        return Step("python3", note=f"{found.problem}. Hooks start by that name: install Python from python.org, then run `tenon install` again", wrong=True)
    target = python.twin(other.executable)
    if os.path.exists(target):
        note = f"{found.problem}. {target} is there: put its folder first on your PATH, and switch off python3 under Settings > Apps > App execution aliases"
        return Step("python3", note=note, wrong=True)

    def act() -> None:
        made = python.make_twin(other.executable)
        kept.files[made] = record.digest(made)
        kept.save()
        again = probe(["python3"])
        if again.problem:
            raise TenonError(f"{made} is made, but {again.problem}; put its folder first on your PATH, and switch off python3 under App execution aliases")

    return Step("python3", ask=f"make {target}, a second name of {other.executable}, as hooks start by the name python3", act=act)


def _interpreter(here: Machine, kept: Record, measure: Measure, *, copying: bool) -> list[Step]:
    """At most one step: none where python3 is the interpreter itself and nothing was agreed to."""
    name, wish = "interpreter", interpreter.load(here.tenon_home)
    if wish is not None and interpreter.can_start(wish.python):
        known = wish.python
        if not interpreter.plain_ones(here, known):
            return [Step(name, note=f"hooks start {known} directly")]
        return [Step(name, ask=f"let the hooks start {known} directly again", act=lambda: interpreter.use(here, known))]
    cost = measure(here.user_home)
    dear = cost if cost is not None and cost.more_ms >= interpreter.DEAR_MS else None
    gone = f"{wish.python} is not there any more" if wish is not None else ""
    if dear is None:
        ask = f"let the hooks start python3 by its name, as {gone}"
        return [Step(name, ask=ask, act=lambda: _by_name(here, kept))] if gone else []
    slow = f"its name leads through another program, which takes {dear.more_ms:.0f} ms more at each hook"
    loaded = interpreter.roots(here) + [here.skills_copy] * copying or [here.root]
    checkouts = [root for root in loaded if interpreter.checkout(root)]
    if len(checkouts) == len(loaded):
        way = f"To spare it, put {os.path.dirname(dear.python)} first on your PATH"
        return [Step(name, note=f"python3 is {dear.python}, and {slow}. The plugin is a git checkout ({checkouts[0]}), so its hooks stay as they are. {way}")]
    targets = [interpreter.hooks_file(root) for root in interpreter.plain_ones(here, dear.python)]
    reach = f"changes {', '.join(targets)}" if targets else "from the second session on"
    ask = f"let the hooks start {dear.python} directly{f', as {gone}' if gone else ''}: {slow} ({reach})"
    return [Step(name, ask=ask, act=lambda: interpreter.use(here, dear.python))]


def _by_name(here: Machine, kept: Record) -> None:
    interpreter.take_back(here, kept)


def _skills_copy(here: Machine, kept: Record) -> Step:
    target = here.skills_copy
    if os.path.realpath(target) == os.path.realpath(here.root):
        return Step("plugin", note=f"runs from {target}")
    ours = any(path.startswith(target + os.sep) for path in kept.files)
    if os.path.lexists(target) and not ours:
        return Step("plugin", note=f"{target} is there and was not put there by this command, so it is left alone")

    def act() -> None:
        drop_files(kept, target)
        kept.make_folder(target)
        for path, source in _plugin_files(here.root, target):
            kept.make_folder(os.path.dirname(path))
            shutil.copyfile(source, path)
            shutil.copymode(source, path)
            kept.files[path] = record.digest(path)
        kept.save()
        wish = interpreter.load(here.tenon_home)
        if wish is not None and interpreter.can_start(wish.python):
            interpreter.use(here, wish.python)

    return Step("plugin", ask=f"copy the plugin to {target}, where Claude Code finds it without a marketplace", act=act)


def _plugin_files(root: str, target: str) -> list[tuple[str, str]]:
    """Each file of the plugin: where it goes and where it comes from."""
    found: list[tuple[str, str]] = []
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in NOT_COPIED)
        place = os.path.normpath(os.path.join(target, os.path.relpath(folder, root)))
        found += [(os.path.join(place, name), os.path.join(folder, name)) for name in sorted(names) if not name.endswith((".pyc", ".orphaned_at"))]
    return found


def drop_files(kept: Record, below: str = "") -> list[str]:
    """Removes the files that were written and are unchanged, with what Python compiled from them; names those that stay."""
    stayed: list[str] = []
    for path, known in list(kept.files.items()):
        if below and not path.startswith(below + os.sep):
            continue
        here = record.digest(path)
        if here == known:
            os.remove(path)
            if path.endswith(".py"):
                shutil.rmtree(os.path.join(os.path.dirname(path), "__pycache__"), ignore_errors=True)
        elif here:
            stayed.append(path)
        del kept.files[path]
    return stayed
