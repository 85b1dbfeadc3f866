"""`tenon doctor`: one line for each check, and with each failure the command that mends it.

`report` is a pure function of the facts; `mend` does the repairs that are safe, and asks before the one that is not.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass

from tenon.base import faults, paths, settings
from tenon.base.errors import TenonError
from tenon.cli import context, embed, facts, meter, progress, rescuing, standing
from tenon.cli.main import reads
from tenon.cli.rescuing import quoted
from tenon.store import cleaning, db, forget
from tenon.world import leavings, machine, modes, python

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from tenon.cli.facts import Facts, Stored
    from tenon.cli.out import Out

HELP = """Checks Python, SQLite, the store, its indexes, vectors and hash chain, the hooks, the transcripts and the installation, and says
how to mend what is wrong. Looks only, unless --fix is given. Ends with 1 when a check fails."""
EXAMPLES = """
tenon doctor
tenon doctor --fix             also mend what can be mended safely
tenon doctor --deep --json     check every archived turn, for a report
tenon doctor --clear-faults    after you have read them
"""
LOW_BYTES = 200_000_000
LARGE_LOG = 64_000_000
SOON_DAYS = 7.0
UNSEEN_S = 3600.0
STYLE = {"ok": "good", "warn": "warn", "fail": "bad"}
DOORS = {"session": "session start", "prompt": "prompt", "tool": "tools", "command": "command", "turn": "newest turn"}
INSTALL_PYTHON = "install Python 3.9 or newer so that `python3` runs, or put the folder of one first on your PATH"


@dataclass
class Check:
    """The outcome of one check: ok, warn or fail, what was found, and the way to mend it."""

    name: str
    state: str
    said: str
    mend: str = ""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the verb's own arguments."""
    reads(parser)
    parser.add_argument("--deep", action="store_true", help="check the hash of every archived turn, not of a sample")
    parser.add_argument("--fix", action="store_true", help="mend what can be mended: modes, indexes, vectors, the log; a damaged store only when you agree")
    parser.add_argument("--yes", action="store_true", help="with --fix: agree to replacing a damaged store by what can be read of it")
    parser.add_argument("--empty", action="store_true", help="with --fix: begin an empty store where nothing can be read of a damaged one, which is kept")
    parser.add_argument("--clear-faults", action="store_true", help="empty the list of faults that were survived")


def run(options: argparse.Namespace, out: Out) -> int:
    """1 when a check fails."""
    here = machine.here()
    agent = context.agent(options)

    def look() -> Facts:
        with progress.shown(out, "checking turns") as tick:
            return facts.gather(here, agent, os.getcwd(), time.time(), python.probe, deep=options.deep, on_turn=tick.at)

    if options.clear_faults:
        noted = len(faults.recent(10_000))
        faults.clear()
        out.say(f"cleared {context.counted(noted, 'fault')}")
    if options.empty and not options.fix:
        options.wrong("--empty goes with --fix")
    found = look()
    if options.fix and mend(found, out, yes=options.yes, empty=options.empty):
        found = look()
    checks = report(found)
    for check in checks:
        show(check, out)
    failed = sum(check.state == "fail" for check in checks)
    warned = sum(check.state == "warn" for check in checks)
    if not out.json:
        out.told(f"{len(checks)} checks: {failed} failed, {warned} to look at" if failed or warned else f"{len(checks)} checks, all well")
    return 1 if failed else 0


def show(check: Check, out: Out) -> None:
    """Prints a check."""
    if out.json:
        out.record({"check": check.name, "state": check.state, "said": check.said, "mend": check.mend})
        return
    state = out.styled(STYLE[check.state], f"{check.state:5}")
    out.told(f"{state}{check.name + ':':15}{check.said}", 20)
    if check.mend:
        out.told(f"{'':20}mend: {check.mend}")


def report(found: Facts) -> list[Check]:
    """The checks that the facts answer, in order."""
    checks = [*_base(found), *_home(found), *_store(found.store, found.now)]
    checks += [*_faults(found), *_hooks(found), *_transcripts(found), *_claude(found)]
    checks += [Check(*row) for row in found.interpreter]
    checks += [Check(*row) for row in embed.findings(found.embedding)] if found.embedding else []
    checks += [Check(*row) for row in meter.findings(found.digest)]
    return checks + [Check(*row) for row in standing.findings(found.proxy)] if found.proxy else checks


def mend(found: Facts, out: Out, *, yes: bool, empty: bool = False) -> bool:
    """Does the safe repairs, says each, and whether there was any."""
    done = _open_up(found, out)
    if done:
        found.exposed = modes.exposed(found.home)
    tight = False
    for path in found.exposed:
        try:
            os.chmod(path, 0o700 if os.path.isdir(path) else 0o600)
        except OSError as error:
            out.say(f"{path}: {error.strerror}")
        else:
            tight = done = True
    if tight:
        out.say(f"made {len(found.exposed)} files and folders yours alone")
    gone = leavings.remove(found.left)
    if gone:
        out.say(f"removed {context.counted(len(gone), 'file')} that a command left when it was ended in the middle")
        done = True
    store = found.store
    if store.empty and not store.aside:
        db.open_store(store.path).close()
        out.say(f"began the store in {store.path}")
        return True
    if store.damaged or _is_damaged(store):
        return rescuing.replace(store.path, found.now, out, yes=yes, empty=empty) or done
    if store.exists and not store.problem:
        done = _tidy(store, out) or done
    return done


def _open_up(found: Facts, out: Out) -> bool:
    """Gives the user back the use of their own files: what lies in a closed folder shows itself when that is open."""
    opened: list[str] = []
    while True:
        shut = [path for path in modes.closed(found.home) if path not in opened]
        if not shut:
            break
        for path in shut:
            opened.append(path)
            try:
                os.chmod(path, os.stat(path).st_mode & 0o7777 | (0o700 if os.path.isdir(path) else 0o600))
            except OSError as error:
                out.say(f"{path}: {error.strerror}")
    if opened:
        out.say(f"opened {context.counted(len(opened), 'file or folder', 'files and folders')} to you again")
    return bool(opened)


def _tidy(store: Stored, out: Out) -> bool:
    try:
        with db.open_store(store.path, create=False) as opened:
            if store.indexes or _disagreeing(store):
                forget.rebuild(opened)
                out.say("built the text indexes anew, and the vectors with them")
            if store.unclean:
                done = cleaning.catch_up(opened)
                out.say(
                    "took what was forgotten out of the file's freed pages too" if done else "another process is reading the store; try again when it has ended"
                )
            if forget.checkpoint(opened) and store.log_size:
                out.say("wrote the log into the store")
    except TenonError as error:
        out.say(str(error))
    return True


def _is_damaged(store: Stored) -> bool:
    return "is damaged" in store.problem


def _base(found: Facts) -> list[Check]:
    checks = [Check("python", "ok", f"Tenon {found.version} on {found.python}, {found.python_file}")]
    text = f"SQLite {found.sqlite_version}, FTS5 {'there' if found.fts5 else 'missing'}, trigram {'there' if found.trigram else 'missing (not needed)'}"
    mend_ = "" if found.fts5 else "install a Python whose SQLite has FTS5 (python.org's has)"
    checks.append(Check("sqlite", "ok" if found.fts5 else "fail", text, mend_))
    if found.python3.problem:
        checks.append(Check("python3", "fail", f"{found.python3.problem}; hooks start by that name", "tenon install" if os.name == "nt" else INSTALL_PYTHON))
    else:
        checks.append(Check("python3", "ok", f"runs: {found.python3.version}, {found.python3.executable}"))
    return checks


def _home(found: Facts) -> list[Check]:
    checks = []
    if found.closed:
        more = f" and {len(found.closed) - 1} more" if len(found.closed) > 1 else ""
        checks.append(Check("home", "fail", f"{found.closed[0]}{more}: yours, and closed to you by its mode", "tenon doctor --fix"))
    elif found.home_problem:
        checks.append(Check("home", "fail", found.home_problem, "give yourself the right to write it, or set TENON_HOME to a folder you may write"))
    elif found.exposed:
        more = f" and {len(found.exposed) - 1} more" if len(found.exposed) > 1 else ""
        checks.append(Check("home", "fail", f"others can read {found.exposed[0]}{more}", "tenon doctor --fix"))
    else:
        checks.append(Check("home", "ok", f"{found.home}, yours alone"))
    if found.left:
        more = f" and {len(found.left) - 1} more" if len(found.left) > 1 else ""
        checks.append(Check("leavings", "warn", f"{found.left[0]}{more}: left by a command that was ended in the middle", "tenon doctor --fix (removes it)"))
    low = found.free_bytes < LOW_BYTES
    checks.append(Check("disk", "warn" if low else "ok", f"{context.size(found.free_bytes)} free", "free some space; nothing stored is lost" if low else ""))
    problem = found.settings_problem
    checks.append(Check("settings", "warn" if problem else "ok", problem or "understood", _settings_mend(problem) if problem else ""))
    return checks


def _settings_mend(problem: str) -> str:
    """By name where it is the environment that says something wrong."""
    wrong = [name for name in map(settings.variable, settings.KNOWN) if f"{name}:" in problem]
    told = [f"unset {' '.join(wrong)}, or give {'it' if len(wrong) == 1 else 'them'} another value"] if wrong else []
    if not wrong or paths.settings_path() in problem or "settings.json:" in problem:
        told.append(f"edit {paths.settings_path()}")
    return "; ".join(told) + "; `tenon config` shows what holds"


def _store(store: Stored, now: float) -> list[Check]:
    if store.aside:
        said = f"there is none at {store.path}; {store.aside} beside it was the store until a backup was put back"
        return [Check("store", "fail", said, rescuing.restoring(store.path, store.aside))]
    if store.empty:
        way = "tenon doctor --fix (begins it; so does the first session, or `tenon write`)"
        return [Check("store", "warn", f"{store.path} is an empty file; nothing is remembered yet", way)]
    if not store.exists:
        return [Check("store", "ok", f"nothing is remembered yet; it will be in {store.path}")]
    if store.damaged or _is_damaged(store):
        said = store.problem or f"{store.path} is damaged: {store.damaged[0]}"
        return [Check("store", "fail", said, f"tenon doctor --fix (saves what can be read, keeps the damaged file); {store.way_back}".rstrip("; "))]
    if store.problem:
        return [Check("store", "fail", store.problem, "update the plugin" if "newer" in store.problem else "tenon doctor --fix")]
    checks = [Check("store", "ok", f"{store.path}, {context.size(store.size)}, schema {store.schema} of {store.newest_schema}")]
    if store.read_only:
        checks.append(Check("writing", "fail", store.read_only, "tenon doctor --fix, after the cause is gone"))
    if store.unfinished:
        checks.append(
            Check("store size", "warn", f"{store.unfinished} took too long and was left unfinished", "run `tenon doctor` again when the machine is idle")
        )
    if store.log_size > LARGE_LOG:
        checks.append(Check("log", "warn", f"{context.size(store.log_size)} wait in the log beside the store", "tenon doctor --fix"))
    if store.unclean:
        said = "what was forgotten may still be in the file's freed pages: whoever forgot it was ended before they were cleaned, or others were reading"
        checks.append(Check("cleaning", "warn", said, "tenon doctor --fix (a session does it in the background, too)"))
    number, newest = store.backups
    checks.append(Check("backups", "ok", f"{number}, the newest of {context.date(newest)}" if number else "none yet: `tenon backup` makes one"))
    if store.read_only and not store.indexes:
        checks.append(Check("indexes", "warn", "not checked: that needs a store that can be written"))
    elif store.indexes:
        checks.append(Check("indexes", "fail", "; ".join(f"{table}: {said}" for table, said in store.indexes.items()), "tenon doctor --fix"))
    else:
        checks.append(Check("indexes", "ok", "agree with what is stored"))
    checks += [*_vectors(store), *_archive(store)]
    if store.pragmas:
        said = ", ".join(f"{name} = {value}" for name, value in store.pragmas.items())
        checks.append(Check("sqlite settings", "warn", f"unlike Tenon's: {said}", "keep the store on a local disk; other file systems have no shared memory"))
    return checks


def _vectors(store: Stored) -> list[Check]:
    if store.vectors is None:
        return []
    wrong = _disagreeing(store)
    if wrong:
        return [Check("vectors", "fail", "; ".join(wrong), "tenon doctor --fix (makes them anew)")]
    if store.vectors.missing:
        said = "the built-in table has not embedded everything yet; a session does it in the background, and the rest is found by its words meanwhile"
        return [Check("vectors", "ok", said, "tenon embed rebuild (does it now)")]
    return [Check("vectors", "ok", "agree with what is stored")]


def _disagreeing(store: Stored) -> list[str]:
    found = store.vectors
    counts = ((found.stray, "of what is not there any more"), (found.lost, "missing"), (found.blocks, "whose block disagrees")) if found else ()
    return [f"{count:,} {told}" for count, told in counts if count]


def _archive(store: Stored) -> list[Check]:
    checks = []
    for changed in store.changed[:5]:
        few = " ".join(f"t{turn}" for turn in changed.turns[:5])
        said = f"{len(changed.turns)} of {store.chain_checked:,} turns are not as they were written, all others are: {few} in session {changed.session or '(unknown)'}"
        way = f"tenon forget {few} (takes what was changed out)"
        if changed.transcript:
            way += f"; Claude Code's own transcript is still there: tenon --agent fresh import {quoted(changed.transcript)} reads it into a store of its own"
        checks.append(Check("archive", "fail", said, way))
    if store.chain_wrong and not checks:
        checks.append(
            Check("archive", "fail", f"{len(store.chain_wrong)} of {store.chain_checked:,} turns are not as they were written", "tenon doctor --deep")
        )
    if store.chain_unlinked:
        said = f"{store.chain_unlinked:,} of {store.chain_checked:,} turns are unlinked: the turn before them was lost, so they cannot be checked"
        checks.append(Check("archive", "warn", said))
    return checks or [Check("archive", "ok", f"{store.chain_checked:,} turns checked, each as it was written")]


def _faults(found: Facts) -> list[Check]:
    if not found.faults:
        return [Check("faults", "ok", "none in the last seven days")]
    total = sum(kind.count for kind in found.faults)
    checks = [
        Check(
            "faults",
            "warn",
            f"{total} in the last seven days; none of them stopped a prompt",
            f"tenon doctor --clear-faults, when you have read them; {paths.faults_path()} has them all",
        )
    ]
    for kind in found.faults[:5]:
        times = "once" if kind.count == 1 else f"{kind.count} times"
        checks.append(Check("fault", "warn", f"{kind.door}: {kind.error}: {kind.said} ({times}, last {context.ago(found.now - kind.newest)})"))
    return checks


def _hooks(found: Facts) -> list[Check]:
    claude, seen = found.claude, found.store.seen
    checks = []
    if found.off:
        checks.append(Check("hooks", "warn", "TENON_DISABLE is set, so nothing is remembered or recalled", "unset TENON_DISABLE"))
    if claude.hooks_off:
        checks.append(Check("hooks", "fail", f"disableAllHooks is true in {claude.settings_path}, so Tenon sees nothing", "set disableAllHooks to false"))
    told = ", ".join(f"{label} {context.ago(found.now - seen[name])}" for name, label in DOORS.items() if name in seen)
    last = max(seen.values(), default=0.0)
    if found.waiting.newest - last > UNSEEN_S and found.store.exists:
        said = f"Claude Code was used {context.ago(found.now - found.waiting.newest)}, after any hook was seen ({told or 'none ever'})"
        checks.append(Check("last seen", "warn", said, "claude plugin list (is tenon enabled?), then start a new session"))
    else:
        checks.append(Check("last seen", "ok", told or "no hook yet: they show themselves with the next session"))
    if found.excluded:
        checks.append(Check("this folder", "ok", "excluded (archive.exclude): its sessions are neither kept nor recalled"))
    elif found.store.write_key:
        same = found.store.read_key == found.store.write_key
        said = f"read and written as {found.store.write_key}" if same else f"read as {found.store.read_key} but written as {found.store.write_key}"
        checks.append(Check("this folder", "ok" if same else "fail", said, "" if same else f"tenon alias {found.store.read_key} {found.store.write_key}"))
    return checks


def _transcripts(found: Facts) -> list[Check]:
    waiting = found.waiting
    checks = []
    if found.store.left_out:
        lines = sum(count for _, count in found.store.left_out)
        few = ", ".join(path for path, _ in found.store.left_out[:3]) + (", …" if len(found.store.left_out) > 3 else "")
        said = f"{lines} lines of {len(found.store.left_out)} transcripts were no JSON or too long, and are not in the archive: {few}"
        checks.append(Check("left out", "warn", said))
    if not waiting.files:
        checks.append(Check("transcripts", "ok", f"all {waiting.all_files:,} are in the archive" if waiting.all_files else "there are none yet"))
        return checks
    days = waiting.first_loss_days if waiting.first_loss_days is not None else float(waiting.kept_days)
    when = "at any moment" if days < 1 else f"in {days:.0f} day{'s' if round(days) != 1 else ''}"
    said = (
        f"{waiting.files:,} of {waiting.all_files:,} ({context.size(waiting.size)}) are not in the archive; "
        f"Claude Code deletes them {waiting.kept_days} days after their last line, the first {when}"
    )
    checks.append(Check("transcripts", "warn" if days < SOON_DAYS else "ok", said, "tenon import"))
    return checks


def _claude(found: Facts) -> list[Check]:
    claude = found.claude
    checks = []
    if claude.settings_problem:
        checks.append(Check("claude settings", "fail", claude.settings_problem, f"edit {claude.settings_path}"))
    if claude.manifest_problem:
        checks.append(Check("plugin files", "fail", claude.manifest_problem, "claude plugin update tenon@tenon, or install it again"))
    on = [name for name, yes in claude.enabled.items() if yes] + (["tenon@skills-dir"] if claude.skills_copy else [])
    if len(on) > 1:
        checks.append(Check("plugin", "fail", f"is loaded {len(on)} times ({', '.join(on)}), so every hook runs as often", f"claude plugin disable {on[0]}"))
    elif on:
        checks.append(Check("plugin", "ok", f"enabled as {on[0]}" + (f"; in the cache: {', '.join(claude.copies)}" if claude.copies else "")))
    elif not claude.settings_problem:
        checks += [Check(*row) for row in standing.unplugged(list(claude.enabled))]
    if claude.installed:
        checks.append(Check("installed", "warn", f"not there any more: {', '.join(claude.installed)}", "tenon install"))
    if claude.auto_memory and claude.there:
        checks.append(Check("auto memory", "ok", "Claude Code's own is on as well; it keeps notes of its own, and Tenon leaves them alone"))
    return checks
