"""Hooks that start the interpreter behind a shim: what is written, what sh makes of it, and that it is given back."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tenon import __version__
from tenon.base import paths
from tenon.base.errors import TenonError
from tenon.world import interpreter, record
from tenon.world.machine import Machine

pytestmark = pytest.mark.skipif(os.name == "nt", reason="hooks.json is changed where there is a shim for sh")

ROOT = Path(__file__).resolve().parents[2]
SHIPPED = (ROOT / "hooks" / "hooks.json").read_text(encoding="utf-8")
PYTHON = os.path.realpath(sys.executable)
AWKWARD = ["/opt/py/bin/python3.11", "/home/zoë/my pythons/3.11/bin/python3", '/it\'s/a "q"/$HOME/`id`/b\\s;&|/py', "/日本/ключ/😀/python3"]


def here(home: Path) -> Machine:
    """A machine whose home is that folder, as the environment of the test has it."""
    return Machine(
        user_home=str(home), tenon_home=paths.home(), claude_home=paths.claude_home(), root=str(home / "elsewhere"),
        bin_dir=str(home / "bin"), windows=False, search=[],
    )  # fmt: skip


def plugin(folder: Path, name: str = "tenon", text: str = SHIPPED) -> Path:
    """A copy of the plugin, as far as it matters here."""
    (folder / "hooks").mkdir(parents=True)
    (folder / ".claude-plugin").mkdir()
    (folder / ".claude-plugin" / "plugin.json").write_text(json.dumps({"name": name}), encoding="utf-8")
    (folder / "hooks" / "hooks.json").write_bytes(text.encode("utf-8"))
    return folder


def hooks(root: Path) -> str:
    """The copy's hooks.json."""
    return (root / "hooks" / "hooks.json").read_bytes().decode("utf-8")


def cached(version: str = "0.1.0", market: str = "tenon") -> Path:
    """Where Claude Code would keep that version."""
    return Path(paths.claude_home()) / "plugins" / "cache" / market / "tenon" / version


def commands(text: str) -> list[str]:
    """The program or line of each hook, which has no arguments then."""
    groups = [group for event in json.loads(text)["hooks"].values() for group in event]
    return [hook["command"] for group in groups for hook in group["hooks"] if "args" not in hook]


def wish(python: str, *roots: Path) -> None:
    """What the user agreed to, as the hook finds it."""
    interpreter._save(paths.home(), interpreter.Wish(python, list(map(str, roots))))


@pytest.mark.parametrize("python", AWKWARD)
def test_what_is_written_can_be_taken_back_to_the_byte(python: str) -> None:
    """Every hook becomes a line; a second interpreter takes the first one's place."""
    once = interpreter.direct(SHIPPED, python)
    twice = interpreter.direct(interpreter.direct(SHIPPED, "/another/python3"), python)

    assert 7 == len(commands(once))
    assert (once, SHIPPED) == (twice, interpreter.plain(once))
    assert ("", python) == (interpreter.chosen(SHIPPED), interpreter.chosen(once))


def test_a_file_that_says_something_else_stays() -> None:
    """Another program of the user's, and another line for sh."""
    other = SHIPPED.replace("python3", "python3.12") + '{"command": "p=1; echo \\"$p\\""}'

    assert (other, other, "") == (interpreter.direct(other, "/x/python3"), interpreter.plain(other), interpreter.chosen(other))


@pytest.mark.parametrize("name", ["py thon", 'it\'s "q" $HOME `id` b\\s;&|', "日本 ключ 😀"])
def test_sh_starts_that_interpreter_and_python3_when_it_is_gone(tmp_path: Path, name: str) -> None:
    """Or is a folder, or may not be executed; folders may be called anything."""
    folder, root, path = tmp_path / name, plugin(tmp_path / f"{name} plugin"), tmp_path / "on the path"
    folder.mkdir()
    path.mkdir()
    (root / "hooks" / "hook.py").write_text("import sys, json\nprint(json.dumps([sys.executable, sys.flags.isolated, sys.flags.no_site]))\n", encoding="utf-8")
    link, fallback = folder / "python3.11", path / "python3"
    fallback.symlink_to(PYTHON)
    line = commands(interpreter.direct(hooks(root), str(link)))[0]

    def started() -> object:
        env = {"PATH": str(path), "CLAUDE_PLUGIN_ROOT": str(root), "LC_ALL": "C.UTF-8"}
        return json.loads(subprocess.run(["/bin/sh", "-c", line], capture_output=True, env=env, stdin=subprocess.DEVNULL, check=True).stdout)

    link.symlink_to(PYTHON)
    there = started()
    link.unlink()
    gone = started()
    link.mkdir()
    a_folder = started()
    link.rmdir()
    link.write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
    shut = started()

    assert [[str(link), 1, 1], *[[str(fallback), 1, 1]] * 3] == [there, gone, a_folder, shut]


@pytest.mark.parametrize("python", ["", "python3", "bin/python3", "/no/such/python3", "/", "/x\n/python3", "/x/${HOME}/python3", "/x/\udce9/python3"])
def test_what_cannot_be_started_is_none(python: str) -> None:
    """Relative, missing, a folder, or nothing that a line of JSON and sh could hold."""
    assert not interpreter.can_start(python)
    assert interpreter.can_start(PYTHON)


def shim(folder: Path, python: str) -> Path:
    """A program called python3 that starts another one."""
    folder.mkdir()
    made = folder / "python3"
    made.write_text(f'#!/bin/sh\nexec "{python}" "$@"\n', encoding="utf-8")
    made.chmod(0o700)
    return made


def test_the_interpreter_behind_a_shim_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And is none where the name leads to the interpreter itself, to nothing, or to one that is too old or broken."""
    shim(tmp_path / "my shims", PYTHON)
    shim(tmp_path / "broken", "/no/such/python3")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python3").symlink_to(PYTHON)
    told = []
    for folders in (["my shims"], ["my shims", "bin"], ["bin"], ["broken"], []):
        monkeypatch.setenv("PATH", os.pathsep.join(str(tmp_path / folder) for folder in folders) + ":/nowhere")
        cost = interpreter.measure(str(tmp_path))
        told.append(cost.python if cost else "")

    assert [PYTHON, PYTHON, "", "", ""] == told


def test_a_shim_is_found_by_what_it_has_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It puts the interpreter's folder in front of the PATH, so that inside the name no longer leads to it."""
    (tmp_path / "version").mkdir()
    (tmp_path / "version" / "python3").symlink_to(PYTHON)
    shim(tmp_path / "shims", str(tmp_path / "version" / "python3"))
    monkeypatch.setenv("PATH", f"{tmp_path / 'version'}:{tmp_path / 'shims'}:/bin:/usr/bin")

    cost = interpreter.measure(str(tmp_path))
    assert cost is not None
    assert str(tmp_path / "version" / "python3") == cost.python


def test_of_a_virtual_environment_the_interpreter_it_was_made_from_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Environments come and go with their projects."""
    venv = tmp_path / "venv"
    (venv / "bin").mkdir(parents=True)
    (venv / "pyvenv.cfg").write_text(f"home = {os.path.dirname(PYTHON)}\n", encoding="utf-8")
    (venv / "bin" / "python3").symlink_to(PYTHON)
    shim(tmp_path / "shims", str(venv / "bin" / "python3"))
    monkeypatch.setenv("PATH", f"{tmp_path / 'shims'}:/bin:/usr/bin")

    cost = interpreter.measure(str(tmp_path))
    assert cost is not None
    assert PYTHON == cost.python


def test_the_copies_that_claude_code_loads_are_known(tmp_path: Path) -> None:
    """Of a marketplace that is a folder the folder itself, of others what is in the cache, and the one among the skills; no other plugin."""
    plugin(cached("0.1.0", "ours"))
    plugin(cached("0.1.0", "local"))
    plugin(cached("0.0.9", "ours"))
    (cached("0.0.9", "ours") / ".orphaned_at").touch()
    local, other = plugin(tmp_path / "a földer"), plugin(tmp_path / "other", "another")
    skills = plugin(Path(here(tmp_path).skills_copy))
    plugin(tmp_path / "unknown")
    known = {name: {"source": {"source": "directory", "path": str(path)}} for name, path in (("local", local), ("else", other), ("gone", tmp_path / "gone"))}
    listed = {**known, "ours": {"source": {"source": "github", "repo": "x/y"}}, "odd": 1}
    (Path(paths.claude_home()) / "plugins" / "known_marketplaces.json").write_text(json.dumps(listed), encoding="utf-8")

    assert [str(local), str(cached("0.1.0", "ours")), str(skills)] == interpreter.roots(here(tmp_path))


def test_a_command_of_another_version_than_the_hooks_is_told(tmp_path: Path) -> None:
    """With both folders and the way to have one; not where the versions agree, are not known, or it is the same folder."""
    loaded = plugin(tmp_path / "a földer")
    manifest = loaded / ".claude-plugin" / "plugin.json"
    cached().parent.mkdir(parents=True)
    known = {"local": {"source": {"source": "directory", "path": str(loaded)}}}
    (Path(paths.claude_home()) / "plugins" / "known_marketplaces.json").write_text(json.dumps(known), encoding="utf-8")
    plugin(cached(market="local"))
    machine, told = here(tmp_path), []
    for version in ({}, {"version": __version__}, {"version": "99.1"}):
        manifest.write_text(json.dumps({"name": "tenon", **version}), encoding="utf-8")
        told.append(interpreter.apart(machine))
    machine.root = str(loaded)

    assert ([], [], []) == (*told[:2], interpreter.apart(machine))
    assert ("version", "warn", f"this command is {__version__}, from {tmp_path / 'elsewhere'}; hooks are 99.1, from {loaded}") == told[2][0][:3]
    assert told[2][0][3].startswith(f"'{loaded}/bin/tenon' install")


def test_a_checkout_is_known_and_claude_codes_own_folder_is_none(tmp_path: Path) -> None:
    """Also from a folder inside, by a link, and where `.git` is a file."""
    inside = plugin(tmp_path / "repo" / "plugins" / "tenon")
    (tmp_path / "repo" / ".git").write_text("gitdir: elsewhere\n", encoding="utf-8")
    (tmp_path / "link").symlink_to(inside)
    copy = plugin(cached())
    (Path(paths.claude_home()) / ".git").mkdir()

    assert [str(tmp_path / "repo")] * 2 + [""] == [interpreter.checkout(str(root)) for root in (inside, tmp_path / "link", copy)]
    assert "" == interpreter.checkout(str(plugin(tmp_path / "plain")))


def test_use_changes_every_copy_and_taking_back_leaves_no_trace(tmp_path: Path) -> None:
    """Their modes stay; an older copy that was replaced meanwhile gets its own file again too."""
    old, new, skills = plugin(cached("0.1.0")), cached("0.2.0"), plugin(Path(here(tmp_path).skills_copy))
    os.chmod(old / "hooks" / "hooks.json", 0o640)
    interpreter.use(here(tmp_path), PYTHON)
    (old / ".orphaned_at").touch()
    plugin(new)
    interpreter.use(here(tmp_path), PYTHON)
    between = [interpreter.chosen(hooks(root)) for root in (old, new, skills)]
    dry = interpreter.take_back(here(tmp_path), record.load(paths.home()), dry=True)
    told = interpreter.take_back(here(tmp_path), record.load(paths.home()))

    assert [PYTHON] * 3 == between
    assert [SHIPPED] * 3 == [hooks(root) for root in (old, new, skills)]
    assert (3, 3) == (len(dry), len(told))
    assert 0o640 == stat.S_IMODE(os.stat(old / "hooks" / "hooks.json").st_mode)
    assert [["hooks.json"]] * 3 == [os.listdir(root / "hooks") for root in (old, new, skills)]
    assert not os.path.exists(os.path.join(paths.home(), interpreter.NAME))


def test_a_copy_that_cannot_be_written_is_told_and_stops_nothing(tmp_path: Path) -> None:
    """Here a hooks.json that is no text."""
    good, bad = plugin(cached("0.1.0")), plugin(cached("0.2.0"))
    interpreter.use(here(tmp_path), PYTHON)
    path = bad / "hooks" / "hooks.json"
    path.write_bytes(path.read_bytes() + b"\xff")

    assert 1 == len(interpreter.take_back(here(tmp_path), record.load(paths.home())))
    assert SHIPPED == hooks(good)
    with pytest.raises(TenonError, match="is not UTF-8"):
        interpreter.point(str(bad), PYTHON)


def test_an_update_is_followed(tmp_path: Path) -> None:
    """The new copy's plain file becomes what was agreed to, once, and is known to be ours."""
    root = plugin(tmp_path / "an üpdate")
    wish(PYTHON)
    interpreter.renew(str(root))
    once = hooks(root)
    interpreter.renew(str(root))

    assert (once, PYTHON) == (hooks(root), interpreter.chosen(once))
    known = interpreter.load(paths.home())
    assert known is not None
    assert [str(root)] == known.roots
    assert [str(root)] == interpreter.changed(here(tmp_path))


def test_an_update_is_left_as_it_is_without_reason_to_change_it(tmp_path: Path) -> None:
    """Nobody agreed; the interpreter is gone; it is a checkout; it says something else; what was agreed to cannot be read."""
    root, repo, other = plugin(tmp_path / "plain"), plugin(tmp_path / "repo"), plugin(tmp_path / "other", text='{"hooks": {}}\n')
    (repo / ".git").mkdir()

    interpreter.renew(str(root))
    wish("/no/such/python3")
    interpreter.renew(str(root))
    wish(PYTHON)
    interpreter.renew(str(repo))
    interpreter.renew(str(other))
    Path(paths.home(), interpreter.NAME).write_text('{"python": 1, "roots": []}', encoding="utf-8")
    interpreter.renew(str(root))

    assert [SHIPPED, SHIPPED, '{"hooks": {}}\n'] == [hooks(folder) for folder in (root, repo, other)]


def test_doctor_is_told_what_there_is_to_say(tmp_path: Path) -> None:
    """Nothing; all is well; an update; an interpreter that is gone; a copy without a wish; a checkout."""
    machine, root = here(tmp_path), plugin(cached())
    link = tmp_path / "python3"
    link.symlink_to(PYTHON)
    told = [interpreter.findings(machine)]
    interpreter.use(machine, str(link))
    told.append(interpreter.findings(machine))
    (root / "hooks" / "hooks.json").write_text(SHIPPED, encoding="utf-8")
    told.append(interpreter.findings(machine))
    interpreter.use(machine, str(link))
    os.remove(os.path.join(paths.home(), interpreter.NAME))
    told.append(interpreter.findings(machine))
    link.unlink()
    told.append(interpreter.findings(machine))
    wish(PYTHON)
    (root / "hooks" / "hooks.json").write_text(SHIPPED, encoding="utf-8")
    (root / ".git").mkdir()
    told.append(interpreter.findings(machine))

    assert [
        [],
        [("interpreter", "ok", f"hooks start {link} directly", "")],
        [("interpreter", "ok", f"hooks in {root} start {link} directly from the session after the next on", "tenon install (does it now)")],
        [("interpreter", "ok", f"hooks start {link} directly", "")],
        [("interpreter", "warn", f"{link} is not there any more, so hooks start python3 by its name", "tenon install")],
        [("interpreter", "ok", f"hooks start python3 by its name: {root} is a git checkout, which is left alone", "")],
    ] == told
