"""`tenon install`: asked for, written down, done once, and taken back to the byte."""

from __future__ import annotations

import argparse
import io
import json
import os
import shutil
import stat
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

import pytest

from tenon.base.errors import TenonError
from tenon.cli import install, uninstall
from tenon.cli.out import Out
from tenon.world import base_url, claude_settings, interpreter, launcher, machine, record
from tenon.world.interpreter import Cost
from tenon.world.machine import Machine
from tenon.world.python import Found
from tests.cli.conftest import ROOT, Tenon

RULES = list(machine.RULES)
STATUS = ["statusLine"]
MINE = '// my settings\n{\n  "model": "opus", // keep\n  "permissions": {\n    "allow": ["Bash(ls)"], // safe\n  },\n}\n'
GOOD = Found("3.11.7", "/usr/bin/python3")


def tree(folder: Path) -> dict[str, str]:
    """Everything below a folder: what each file holds, where each link leads."""
    found: dict[str, str] = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_symlink():
            found[name] = "-> " + os.readlink(path)
        else:
            found[name] = "folder" if path.is_dir() else sha256(path.read_bytes()).hexdigest()
    return found


def settings(tenon: Tenon) -> Path:
    """Claude Code's settings in the home."""
    path = tenon.home / ".claude" / "settings.json"
    path.parent.mkdir(exist_ok=True)
    return path


def here(home: Path, root: str = str(ROOT), *, windows: bool = False) -> Machine:
    """A machine in a temporary folder."""
    return Machine(
        user_home=str(home), tenon_home=str(home / ".tenon"), claude_home=str(home / ".claude"), root=root,
        bin_dir=str(home / ".local" / "bin"), windows=windows, search=[],
    )  # fmt: skip


def options(**more: object) -> argparse.Namespace:
    """What the command line says when it says only --yes."""
    named = ("dry_run", "no_link", "no_statusline", "no_permission", "no_interpreter", "skills_copy")
    plain: dict[str, object] = {"yes": True, "purge": "", **dict.fromkeys(named, False)}
    return argparse.Namespace(**{**plain, **more})


def run(where: Machine, probe: object = None, cost: Cost | None = None, **more: object) -> tuple[int, str]:
    """How an install ends: its code and what it said; `cost` is what python3 by its name takes."""
    said = io.StringIO()
    code = install.install(where, options(**more), Out(said, said), probe or (lambda command: GOOD), lambda folder: cost)  # type: ignore[arg-type]
    return code, said.getvalue()


def take_back(where: Machine, monkeypatch: pytest.MonkeyPatch, **more: object) -> str:
    """What an uninstall says."""
    monkeypatch.setenv("TENON_HOME", where.tenon_home)
    said = io.StringIO()
    assert 0 == uninstall.uninstall(where, options(**more), Out(said, said))
    return said.getvalue()


@pytest.mark.parametrize("text", [None, "{}", MINE, '\ufeff{\r\n\t"a": 1\r\n}\r\n'])
def test_install_and_uninstall_leave_the_home_as_it_was(tenon: Tenon, text: str | None) -> None:
    """Every file, link and folder, byte for byte; done twice it is done once."""
    if text is not None:
        settings(tenon).write_bytes(text.encode("utf-8"))
    before = tree(tenon.home)

    tenon.ok("install", "--yes")
    once = tree(tenon.home)
    again = tenon.ok("install", "--yes")
    twice = tree(tenon.home)
    tenon.ok("uninstall", "--yes")

    assert once == twice
    assert "done" not in again.out
    assert before == tree(tenon.home)


def test_the_command_runs_by_its_link(tenon: Tenon) -> None:
    """From anywhere, and knows the home it belongs to."""
    tenon.ok("install", "--yes")
    link = tenon.home / ".local" / "bin" / "tenon"
    done = subprocess.run([sys.executable, str(link), "paths", "--json"], capture_output=True, env=tenon.environment(), check=False)

    assert 0 == done.returncode, done.stderr
    assert str(ROOT) == json.loads(done.stdout)["plugin"]


def test_nothing_is_written_where_nobody_can_agree(tenon: Tenon) -> None:
    """Without a terminal and without --yes."""
    before = tree(tenon.home)
    done = tenon("install")

    assert (1, True) == (done.code, "say --yes" in done.err)
    assert before == tree(tenon.home)


def test_a_dry_run_says_each_change_and_makes_none(tenon: Tenon) -> None:
    """The foreign files are named."""
    settings(tenon).write_text(MINE, encoding="utf-8")
    before = tree(tenon.home)
    told = tenon.ok("install", "--dry-run").out

    assert before == tree(tenon.home)
    assert [True, True, True] == [word in told for word in ("put the command at", "set statusLine in", "add ten of the eleven memory tools")]
    assert "claude plugin install tenon@tenon" in told


def test_a_status_line_of_the_users_own_stays(tenon: Tenon) -> None:
    """And install says how to add to it."""
    settings(tenon).write_text('{"statusLine": {"type": "command", "command": "mine"}}', encoding="utf-8")
    told = tenon.ok("install", "--yes").out

    assert "mine" == claude_settings.read(str(settings(tenon)))["statusLine"]["command"]
    assert "you have one, and it stays" in told
    assert "tenon' statusline" in told


def test_a_strangers_command_of_that_name_stays(tenon: Tenon) -> None:
    """Another folder can be chosen."""
    other = tenon.home / ".local" / "bin" / "tenon"
    other.parent.mkdir(parents=True)
    other.write_text("#!/bin/sh\n", encoding="utf-8")
    told = tenon.ok("install", "--yes").out
    tenon.ok("install", "--yes", "--bin-dir", str(tenon.home / "my bin"))

    assert "is not Tenon's, so it is left alone" in told
    assert "#!/bin/sh\n" == other.read_text(encoding="utf-8")
    assert (tenon.home / "my bin" / "tenon").is_symlink() or os.name == "nt"


def test_settings_that_cannot_be_parsed_are_named_and_untouched(tenon: Tenon) -> None:
    """With the line."""
    settings(tenon).write_text('{\n  "a": }\n', encoding="utf-8")
    done = tenon("install", "--yes")

    assert 1 == done.code
    assert "line 2: a value is expected" in done.err
    assert '{\n  "a": }\n' == settings(tenon).read_text(encoding="utf-8")


def test_two_checkouts_make_one_of_everything(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Commented settings stay valid, no path of a checkout is in them, and one uninstall takes all of it."""
    home = tmp_path / "zoë home"
    (home / ".claude").mkdir(parents=True)
    path = home / ".claude" / "settings.json"
    path.write_text(MINE, encoding="utf-8")
    before = tree(home)
    roots = [str(tmp_path / "plugin ä"), str(tmp_path / "plugin ö")]

    for root in roots:
        assert 0 == run(here(home, root))[0]
    found, text = claude_settings.read(str(path)), path.read_text(encoding="utf-8")

    assert ["Bash(ls)", *RULES] == found["permissions"]["allow"]
    assert (1, 1) == (text.count("statusLine"), sum(text.count(f'"{rule}"') // 1 for rule in RULES[:1]))
    assert "plugin ö" not in text
    assert roots[1] == record.load(str(home / ".tenon")).root
    take_back(here(home), monkeypatch)
    assert before == tree(home)


def test_a_moved_home_moves_the_status_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The older edit is taken back first."""
    home = tmp_path
    run(here(home))
    shutil.move(str(home / ".tenon"), str(home / "moved"))
    moved = here(home)
    moved.tenon_home = str(home / "moved")
    run(moved)

    assert launcher.status_command(moved) == claude_settings.read(moved.settings)["statusLine"]["command"]
    assert 1 == len([edit for edit in record.load(moved.tenon_home).edits if edit.keys == ["statusLine"]])
    take_back(moved, monkeypatch)
    assert not Path(moved.settings).exists()


@pytest.mark.parametrize("around", [False, True])
@pytest.mark.parametrize("text", [None, MINE, '{"env": {"ANTHROPIC_BASE_URL":  "https://g.example", "no_proxy":"x"}, "model": "opus"}\n'])
def test_a_status_line_that_moves_under_the_proxy_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str | None, around: bool) -> None:
    """An older version set another one; the proxy stays on, or around, and one uninstall takes all of it."""
    home = tmp_path / "a höme"
    (home / ".claude").mkdir(parents=True)
    where = here(home)
    monkeypatch.setenv("TENON_HOME", where.tenon_home)
    if text is not None:
        Path(where.settings).write_text(text, encoding="utf-8")
    before = tree(home)
    kept = record.load(where.tenon_home)
    kept.root = where.root
    kept.make_folder(where.tenon_home)
    for edit in (
        claude_settings.put(where.settings, STATUS, {"type": "command", "command": "old"}),
        claude_settings.add(where.settings, ["permissions", "allow"], RULES[0]),
    ):
        assert edit is not None
        kept.edits.append(edit)
    base_url.on(where, kept, "http://127.0.0.1:9000", "https://g.example", "x,127.0.0.1")
    if around:
        base_url.direct("the port is taken")
    switched = Path(base_url.path()).read_text(encoding="utf-8")
    env = claude_settings.read(where.settings)["env"]

    assert 0 == run(where)[0]
    found = claude_settings.read(where.settings)
    assert (launcher.status_command(where), env) == (found["statusLine"]["command"], found["env"])
    assert (switched, "the port is taken" if around else None) == (Path(base_url.path()).read_text(encoding="utf-8"), base_url.why_direct())
    take_back(where, monkeypatch)
    assert before == tree(home)


def test_a_status_line_moves_and_a_base_url_of_the_user_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The proxy is on by name alone since they changed it; it is not put back, and the rest is taken away as ever."""
    where = here(tmp_path)
    monkeypatch.setenv("TENON_HOME", where.tenon_home)
    kept = record.load(where.tenon_home)
    kept.make_folder(where.tenon_home)
    edit = claude_settings.put(where.settings, STATUS, {"type": "command", "command": "old"})
    assert edit is not None
    kept.edits.append(edit)
    base_url.on(where, kept, "http://127.0.0.1:9000", "https://api.anthropic.com")
    path = Path(where.settings)
    path.write_text(path.read_text(encoding="utf-8").replace("http://127.0.0.1:9000", "https://g.example"), encoding="utf-8")

    assert 0 == run(where)[0]
    assert "https://g.example" == base_url.value(where.settings)
    take_back(where, monkeypatch)
    assert {"ANTHROPIC_BASE_URL": "https://g.example"} == claude_settings.read(where.settings)["env"]
    assert not any(claude_settings.read(where.settings).get(key) for key in ("statusLine", "hooks", "permissions"))


@pytest.fixture()
def cached(tmp_path: Path) -> Path:
    """A home with an installed launcher, and two versions of the plugin in Claude Code's cache."""
    home = tmp_path / "a höme"
    for version in ("0.1.0", "0.10.0", "0.9.0"):
        copy = home / ".claude" / "plugins" / "cache" / "tenon" / "tenon" / version
        (copy / "bin").mkdir(parents=True)
        (copy / "bin" / "tenon").write_text(f"import os\nprint({version!r}, os.environ.get('TENON_HOME'))\n", encoding="utf-8")
    run(here(home, str(home / ".claude" / "plugins" / "cache" / "tenon" / "tenon" / "0.1.0")))
    return home


def launched(home: Path) -> str:
    """What the launcher starts."""
    env = {"HOME": str(home), "USERPROFILE": str(home), "PATH": os.environ["PATH"]}
    done = subprocess.run([sys.executable, "-I", "-S", str(home / ".tenon" / "bin" / "tenon"), "x"], capture_output=True, env=env, check=False)
    return (done.stdout + done.stderr).decode().strip()


def test_the_launcher_follows_updates(cached: Path) -> None:
    """The newest version, whichever was installed from; an orphaned one only when there is no other; none is a sentence."""
    cache = cached / ".claude" / "plugins" / "cache" / "tenon" / "tenon"
    first = launched(cached)
    (cache / "0.10.0" / ".orphaned_at").touch()
    second = launched(cached)
    for version in ("0.1.0", "0.9.0"):
        shutil.rmtree(cache / version)
    third = launched(cached)
    shutil.rmtree(cache)

    assert ("0.10.0 None", "0.9.0 None", "0.10.0 None") == (first, second, third)
    assert "the plugin is not installed any more" in launched(cached)


def test_settings_name_no_version_of_the_plugin(cached: Path) -> None:
    """So nothing breaks when Claude Code deletes an old version."""
    text = (cached / ".claude" / "settings.json").read_text(encoding="utf-8")

    assert "cache" not in text
    assert "0.1.0" not in text


def test_a_copy_for_the_skills_folder_runs_and_goes_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without tests and history; what the user changed in it stays."""
    home = tmp_path / "a höme"
    home.mkdir()
    where = here(home)
    before = tree(home)
    run(where, skills_copy=True)
    copy = Path(where.skills_copy)
    names = {path.name for path in copy.iterdir()}
    done = subprocess.run([sys.executable, "-I", "-S", str(copy / "bin" / "tenon"), "--version"], capture_output=True, check=False)
    once = {name: held for name, held in tree(home).items() if "__pycache__" not in name}
    run(where, skills_copy=True)

    assert {"plugin.json", ".claude-plugin", ".mcp.json", "hooks", "scripts", "bin", "mcp_server", "LICENSE"} <= names
    assert set() == names & {"tests", "bench", ".git", ".ci"}
    assert b"tenon 0.1.0" == done.stdout.strip()
    assert once == {name: held for name, held in tree(home).items() if "__pycache__" not in name}
    told = take_back(where, monkeypatch)
    assert f"{where.skills_copy}: " in told
    assert "files removed" in told
    assert before == tree(home)


def test_a_strangers_skill_of_that_name_stays(tmp_path: Path) -> None:
    """It was not put there by install."""
    where = here(tmp_path)
    Path(where.skills_copy).mkdir(parents=True)
    (Path(where.skills_copy) / "SKILL.md").write_text("mine", encoding="utf-8")
    _, told = run(where, skills_copy=True)

    assert ["SKILL.md"] == os.listdir(where.skills_copy)
    assert "is left alone" in told


def test_windows_gets_a_cmd_file_and_a_python3(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where python3 is only the shop's stub; both go again."""
    folder = tmp_path / "Python 3"
    folder.mkdir()
    (folder / "python.exe").write_bytes(b"MZ")
    home = tmp_path / "Zoë"
    home.mkdir()
    before = tree(tmp_path)
    where = here(home, windows=True)

    def probe(command: list[str]) -> Found:
        if command == ["python3"] and not (folder / "python3.exe").exists():
            return Found(problem="python3 is there but is no working Python (exit 9009)")
        return Found("3.12.1", str(folder / "python.exe"))

    code, told = run(where, probe)
    text = Path(where.link).read_bytes()

    assert (0, b"MZ") == (code, (folder / "python3.exe").read_bytes())
    assert "make " + str(folder / "python3.exe") in told
    assert b"%USERPROFILE%" in text
    assert b"\r\n" in text
    assert text.decode("ascii").startswith("@echo off")
    assert '"' in claude_settings.read(where.settings)["statusLine"]["command"]
    take_back(where, monkeypatch)
    assert before == tree(tmp_path)


def test_no_python_at_all_is_said_with_the_way_out(tmp_path: Path) -> None:
    """On Windows and elsewhere."""
    missing = Found(problem="python3 is not on the PATH")

    for folder, windows, way in (("w", True, "install Python from python.org"), ("l", False, "install Python 3.9 or newer")):
        code, told = run(here(tmp_path / folder, windows=windows), lambda command: missing)
        assert (1, True) == (code, way in told)


def test_what_is_said_keeps_the_order_of_the_steps(tmp_path: Path) -> None:
    """What is there already and what is done alike; the PATH comes last."""
    where = here(tmp_path)
    run(where)
    os.remove(where.link)
    names = [line.partition(":")[0] for line in run(where)[1].splitlines()]

    assert ["command", "status line", "permission", "python3"] == names[:4]
    assert names[-1].startswith(f"{where.bin_dir} is not on your PATH")


def test_forgetting_is_never_permitted_unasked(tmp_path: Path) -> None:
    """Ten tools by their names, and no pattern; each is a tool of ours."""
    from mcp_server import schemas

    run(here(tmp_path))
    allowed = claude_settings.read(here(tmp_path).settings)["permissions"]["allow"]

    assert {machine.SERVER + tool for tool in schemas.TOOLS if tool != "memory_forget"} == set(allowed)
    assert 10 == len(allowed)


@pytest.mark.skipif(os.name == "nt", reason="needs a shell script as a program")
def test_a_stub_is_not_a_python(tmp_path: Path) -> None:
    """A name on the PATH proves nothing."""
    from tenon.world.python import probe

    stub = tmp_path / "python3"
    stub.write_text("#!/bin/sh\necho 'Python was not found' >&2\nexit 49\n", encoding="utf-8")
    stub.chmod(0o700)

    assert f"{stub} is there but is no working Python (exit 49: Python was not found)" == probe([str(stub)]).problem
    assert f"{tmp_path / 'none'} is not on the PATH" == probe([str(tmp_path / "none")]).problem
    assert "" == probe([sys.executable]).problem


def test_a_record_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    """Nothing is guessed."""
    where = here(tmp_path)
    run(where)
    (tmp_path / ".tenon" / "install.json").write_text("[]", encoding="utf-8")

    with pytest.raises(TenonError, match=r"install\.json cannot be read"):
        run(where)


@pytest.mark.skipif(os.name == "nt", reason="modes are POSIX")
def test_what_install_writes_is_the_owners_alone(tmp_path: Path) -> None:
    """Launcher, record and settings."""
    where = here(tmp_path)
    run(where)
    modes = [stat.S_IMODE(os.stat(path).st_mode) for path in (where.launcher, where.settings, tmp_path / ".tenon" / "install.json", tmp_path / ".tenon")]

    assert [0o700, 0o600, 0o600, 0o700] == modes


def test_enabled_copies_are_known_by_their_names() -> None:
    """Of other plugins nothing is said."""
    assert {"tenon@tenon": True, "tenon@x": False} == machine.enabled({"enabledPlugins": {"tenon@tenon": True, "tenon@x": False, "other@x": True}})


@pytest.mark.skipif(os.name == "nt", reason="needs a pseudo-terminal")
def test_each_change_is_asked_for_on_a_terminal(tenon: Tenon) -> None:
    """What is declined is not done."""
    import pty

    lead, follow = pty.openpty()
    program = [sys.executable, "-I", "-S", str(ROOT / "bin" / "tenon"), "install", "--no-interpreter"]
    process = subprocess.Popen(program, stdin=follow, stdout=subprocess.PIPE, stderr=follow, env=tenon.environment(), cwd=tenon.project)
    os.write(lead, b"n\nyes\n\n")
    told = process.communicate(timeout=60)[0].decode("utf-8")
    os.close(follow)
    os.close(lead)

    assert told.endswith("; `tenon doctor` checks that all works.\n")
    assert "status line: done\n" in told
    assert (0, ["statusLine"]) == (process.returncode, list(claude_settings.read(str(settings(tenon)))))
    assert ["command: left as it is", "permission: left as it is"] == [line for line in told.splitlines() if "left as it is" in line]
    assert not (tenon.home / ".local").exists()


PYTHON = os.path.realpath(sys.executable)
SHIM = Cost(PYTHON, 70.4, 8.0)
posix = pytest.mark.skipif(os.name == "nt", reason="a line for sh")


def starts(root: object) -> str:
    """The interpreter that the hooks of a copy start, «» for python3 by its name."""
    return interpreter.chosen(Path(str(root), "hooks", "hooks.json").read_bytes().decode("utf-8"))


@pytest.fixture()
def copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """A machine whose Claude Code has a copy of the plugin in its cache, which is the one that runs."""
    home = tmp_path / "a höme"
    where = here(home, str(home / ".claude" / "plugins" / "cache" / "tenon" / "tenon" / "0.1.0"))
    for name in ("hooks", ".claude-plugin"):
        shutil.copytree(ROOT / name, Path(where.root) / name, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setenv("TENON_HOME", where.tenon_home)
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", where.claude_home)
    return where


@posix
def test_hooks_start_what_is_behind_a_shim_and_are_given_back(copied: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Asked for with the milliseconds and the file; done twice it is done once; the home is as it was afterwards."""
    before = tree(Path(copied.user_home))
    dry = run(copied, cost=SHIM, dry_run=True)[1]
    untouched = tree(Path(copied.user_home))
    run(copied, cost=SHIM)
    once = tree(Path(copied.user_home))
    again = run(copied, cost=SHIM)[1]
    twice, started = tree(Path(copied.user_home)), starts(copied.root)
    told = take_back(copied, monkeypatch, dry_run=True) + take_back(copied, monkeypatch)

    assert f"interpreter: would let the hooks start {PYTHON} directly: its name leads through another program, which takes 62 ms more at each hook" in dry
    assert f"(changes {interpreter.hooks_file(copied.root)})" in dry
    assert (before, once, PYTHON) == (untouched, twice, started)
    assert f"interpreter: hooks start {PYTHON} directly\n" in again
    assert [True, True] == [
        f"{interpreter.hooks_file(copied.root)}: {how}" in told for how in ("hooks would start python3 by its name again", "as it was before, byte for byte")
    ]
    assert before == tree(Path(copied.user_home))


@posix
@pytest.mark.parametrize("cost", [None, Cost(PYTHON, 22.9, 8.0)])
def test_a_name_that_costs_little_is_not_asked_about(copied: Machine, cost: Cost | None) -> None:
    """Nor one of which nothing can be told; from fifteen milliseconds on it is."""
    assert "interpreter:" not in run(copied, cost=cost)[1]
    assert "interpreter: done" in run(copied, cost=Cost(PYTHON, 23.0, 8.0))[1]


@posix
def test_without_leave_hooks_stay_as_they_are(copied: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Declined, left out by the flag, or on Windows; and nothing is written down that a later session would act upon."""
    monkeypatch.setattr("sys.stdin", io.StringIO())
    monkeypatch.setattr(Out, "askable", lambda out, yes: None)
    told = run(copied, cost=SHIM, yes=False)[1]
    run(copied, cost=SHIM, no_interpreter=True)
    copied.windows = True
    run(copied, cost=SHIM)

    assert "interpreter: left as it is\n" in told
    assert "" == starts(copied.root)
    assert not Path(copied.tenon_home, interpreter.NAME).exists()


@posix
def test_a_checkout_is_left_alone_and_told_so(copied: Machine) -> None:
    """With the way out."""
    Path(copied.root, ".git").mkdir()
    told = run(copied, cost=SHIM)[1]

    assert f"The plugin is a git checkout ({copied.root}), so its hooks stay as they are. To spare it, put {os.path.dirname(PYTHON)} first on your PATH" in told
    assert "" == starts(copied.root)


@posix
def test_what_is_installed_later_starts_it_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The wish is kept for the first session; the folder that was installed from is not touched."""
    root = tmp_path / "unpacked"
    for name in ("hooks", ".claude-plugin"):
        shutil.copytree(ROOT / name, root / name, ignore=shutil.ignore_patterns("__pycache__"))
    where = here(tmp_path / "home", str(root))
    told = run(where, cost=SHIM)[1]
    wish = interpreter.load(where.tenon_home)

    assert "at each hook (from the second session on)" in told
    assert wish is not None
    assert (PYTHON, [], "") == (wish.python, wish.roots, starts(root))
    take_back(where, monkeypatch)
    assert not Path(where.tenon_home).exists()


@posix
def test_a_copy_among_the_skills_starts_it_and_goes_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its hooks.json counts as ours, changed or not, also when it is copied anew."""
    where = here(tmp_path / "home")
    Path(where.user_home).mkdir()
    before = tree(Path(where.user_home))
    run(where, cost=SHIM, skills_copy=True)
    first = starts(where.skills_copy)
    run(where, cost=SHIM, skills_copy=True)

    assert (PYTHON, PYTHON) == (first, starts(where.skills_copy))
    assert "has been changed since" not in take_back(where, monkeypatch)
    assert before == tree(Path(where.user_home))


@posix
def test_a_copy_of_a_changed_copy_goes_again_too(copied: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is known by its bytes, which are others once it has its own hooks.json again."""
    before = tree(Path(copied.user_home))
    run(copied, cost=SHIM)
    run(copied, cost=SHIM, skills_copy=True)

    assert PYTHON == starts(copied.skills_copy)
    assert "has been changed since" not in take_back(copied, monkeypatch)
    assert before == tree(Path(copied.user_home))


@posix
def test_an_interpreter_that_is_gone_is_told_and_put_right(copied: Machine, tmp_path: Path) -> None:
    """Another one takes its place, or the name does where that costs nothing."""
    link = tmp_path / "python3"
    link.symlink_to(PYTHON)
    run(copied, cost=Cost(str(link), 70.0, 8.0))
    link.unlink()
    told = run(copied, cost=SHIM, dry_run=True)[1] + run(copied, cost=SHIM)[1]
    other = starts(copied.root)
    link.symlink_to(PYTHON)
    interpreter.use(copied, str(link))
    link.unlink()
    named = run(copied)[1]

    assert f"interpreter: would let the hooks start {PYTHON} directly, as {link} is not there any more: its name" in told
    assert (PYTHON, "") == (other, starts(copied.root))
    assert f"interpreter: done (let the hooks start python3 by its name, as {link} is not there any more)" in named
    assert "interpreter:" not in run(copied)[1]
