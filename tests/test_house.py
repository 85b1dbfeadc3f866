"""The rules of the house, held against the code itself."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from tenon.base import paths
from tenon.store import db, memories

ROOT = Path(__file__).resolve().parent.parent
LIBRARY = ROOT / "scripts" / "tenon"
DOORS = [ROOT / "hooks", ROOT / "mcp_server"]
FLOORS = {"base": 0, "vectors": 0.5, "store": 1, "recall": 2, "digest": 2, "wire": 2, "world": 3, "dashboard": 3.5, "proxy": 4, "cli": 4}
OURS = {"tenon", "hooks", "mcp_server"}
# What a prompt may load of the standard library beyond what the interpreter has loaded at its start.
LEAN = {
    "__future__",
    "_stat",
    "os.path",
    "_json",
    "_sqlite3",
    "_functools",
    "math",
    "os",
    "stat",
    "posixpath",
    "ntpath",
    "genericpath",
    "_collections_abc",
    "time",
    "_thread",
    "unicodedata",
    "nt",
}


def sources(*folders: Path) -> list[Path]:
    """The Python files below the folders."""
    return sorted(path for folder in folders for path in folder.rglob("*.py"))


def imported(path: Path) -> list[str]:
    """The dotted names that a file imports, anywhere in it."""
    names: list[str] = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names += [name.name for name in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import"
            names += [f"{node.module}.{name.name}" for name in node.names]
    return names


RUNTIME = [*sources(LIBRARY, *DOORS), ROOT / "bin" / "tenon"]


@pytest.mark.parametrize("path", RUNTIME, ids=lambda path: str(path.relative_to(ROOT)))
def test_at_run_time_there_is_only_the_standard_library(path: Path) -> None:
    """Every import is Python's own or ours."""
    stdlib = sys.stdlib_module_names if sys.version_info >= (3, 10) else None
    if stdlib is None:
        pytest.skip("this Python does not list its own modules")
    assert {name.split(".")[0] for name in imported(path)} <= stdlib | OURS | {"__future__"}


@pytest.mark.parametrize("path", sources(LIBRARY), ids=lambda path: str(path.relative_to(LIBRARY)))
def test_imports_go_down_only(path: Path) -> None:
    """A module knows its own floor's package and the floors below, and no door."""
    here = path.relative_to(LIBRARY).parts[0]
    for name in imported(path):
        parts = name.split(".")
        assert parts[0] not in ("hooks", "mcp_server"), f"{path} knows the door {name}"
        if parts[0] == "tenon" and len(parts) > 1 and here in FLOORS and parts[1] in FLOORS:
            assert parts[1] == here or FLOORS[parts[1]] < FLOORS[here], f"{path} imports {name}"


def test_only_the_store_speaks_sql() -> None:
    """No statement stands anywhere else."""
    verbs = ("SELECT ", "INSERT ", "UPDATE ", "DELETE ", "CREATE TABLE", "DROP ")
    for path in [*sources(LIBRARY, *DOORS)]:
        if (LIBRARY / "store") in path.parents:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                assert not node.value.lstrip().startswith(verbs) or path.name == "lean.py", f"{path}:{node.lineno} {node.value[:60]}"


def test_no_module_is_larger_than_can_be_read() -> None:
    """At most 400 lines a module, 80 a function."""
    for path in RUNTIME:
        text = path.read_text(encoding="utf-8")
        assert text.count("\n") <= 400, path
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and isinstance(node, ast.FunctionDef):
                assert (node.end_lineno or 0) - node.lineno < 80, f"{path}:{node.name}"


def test_every_public_thing_says_what_it_is() -> None:
    """Modules, and public functions and classes, have a docstring."""
    for path in sources(LIBRARY, *DOORS):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        assert ast.get_docstring(tree) or not tree.body, path
        for node in tree.body:
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and not node.name.startswith("_") and path.name not in ("hook.py", "__main__.py"):
                assert ast.get_docstring(node), f"{path}:{node.name}"


def test_nothing_is_run_through_a_shell_or_unpickled() -> None:
    """No shell, no eval, no pickle; nothing that only one platform has at import."""
    for path in RUNTIME:
        text = path.read_text(encoding="utf-8")
        assert "shell=True" not in text, path
        assert "os.system" not in text, path
        assert not {name.split(".")[0] for name in imported(path)} & {"pickle", "marshal", "fcntl", "pwd", "grp", "resource", "termios"}, path


def test_no_file_beside_an_entry_shadows_the_standard_library() -> None:
    """A door's folder is on the path, so its names must be its own."""
    if sys.version_info < (3, 10):
        pytest.skip("this Python does not list its own modules")
    names = {path.stem for folder in [ROOT, ROOT / "scripts"] for path in folder.iterdir() if path.suffix == ".py" or path.is_dir()}
    assert not names & sys.stdlib_module_names


@pytest.mark.parametrize("module", ["fcntl", "pwd", "grp", "resource", "termios"])
def test_everything_can_be_imported_where_unix_modules_are_missing(module: str) -> None:
    """As on Windows: the import of every module succeeds without them."""
    names = [".".join(path.relative_to(LIBRARY.parent).with_suffix("").parts) for path in sources(LIBRARY) if path.name != "__init__.py"]
    code = f"import sys; sys.modules[{module!r}] = None; sys.path[:0] = [{str(ROOT)!r}, {str(LIBRARY.parent)!r}]\nfor name in {names!r}: __import__(name)"
    done = subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=False)
    assert (0, "") == (done.returncode, done.stderr)


def test_a_prompt_loads_next_to_nothing(tmp_path: Path) -> None:
    """The hot path imports our lean modules and the C halves of two of Python's, also when it finds and journals a hit."""
    with db.open_store(paths.store_path("default")) as store:
        memories.write(store, repository=None, tier="short", kind="fact", text="the quick brown fox lives in Rökö", now=1.0)
    code = (
        f"import sys; before = set(sys.modules); sys.path[:0] = [{str(ROOT)!r}, {str(LIBRARY.parent)!r}]\n"
        "import hooks.door, hooks.prompt\n"
        "found = hooks.prompt.answer({'prompt': 'where is the quick brown fox', 'session_id': 's', 'cwd': " + repr(str(tmp_path)) + "})\n"
        "assert 'Rökö' in found.context\n"
        "print(' '.join(sorted(name for name in set(sys.modules) - before if name.split('.')[0] not in ('tenon', 'hooks'))))"
    )
    done = subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) <= LEAN


def test_a_prompt_starts_no_process_and_opens_no_connection(tmp_path: Path) -> None:
    """Python's own audit of the whole hook, import to answer, names neither."""
    with db.open_store(paths.store_path("default")) as store:
        memories.write(store, repository=None, tier="short", kind="fact", text="the quick brown fox lives in Rökö", now=1.0)
    code = (
        "import sys\n"
        "def note(event, arguments):\n"
        "    if event.startswith(('subprocess.', 'os.system', 'os.exec', 'os.fork', 'os.spawn', 'os.posix_spawn', 'socket.', 'urllib.', 'http.')): print(event)\n"
        "sys.addaudithook(note)\n"
        f"sys.path[:0] = [{str(ROOT)!r}, {str(LIBRARY.parent)!r}]\n"
        "import hooks.prompt\n"
        f"found = hooks.prompt.answer({{'prompt': 'where is the quick brown fox', 'session_id': 's', 'cwd': {str(tmp_path)!r}}})\n"
        "assert 'Rökö' in found.context\n"
    )
    done = subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=True)
    assert "" == done.stdout
