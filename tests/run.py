"""Passes the tests on a machine that has git and Python 3.10 or newer: makes .venv, installs tests/requirements.txt, runs pytest.

python3 tests/run.py              # everything that this machine can run
python3 tests/run.py --full       # installs the real clients first (npm): both Claude Codes, the MCP conformance suite, the accessibility checker
python3 tests/run.py -k redact    # what follows goes to pytest
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CACHE = ROOT / ".cache"
CLAUDE = ("2.1.197", "2.1.332")
CONFORMANCE = "0.2.0-alpha.12"
NODE = "24"
AXE = "4.14.1"


def main(arguments: list[str]) -> int:
    """The exit code of pytest."""
    full = "--full" in arguments
    rest = [argument for argument in arguments if argument != "--full"]
    python = environment()
    if full:
        clients()
    env = {**os.environ, **found()}
    targets = [] if any(not argument.startswith("-") and Path(argument.split("::")[0]).exists() for argument in rest) else ["tests"]
    return subprocess.run([str(python), "-m", "pytest", *targets, *rest], cwd=ROOT, env=env, check=False).returncode


def environment() -> Path:
    """The Python of .venv, made and filled when the requirements changed."""
    folder = ROOT / ".venv"
    python = folder / ("Scripts" if os.name == "nt" else "bin") / ("python.exe" if os.name == "nt" else "python")
    wanted = (ROOT / "tests" / "requirements.txt").read_text(encoding="utf-8")
    stamp = folder / "installed.txt"
    if not python.exists() and subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=False).returncode:
        sys.exit("python3 cannot make a virtual environment here; on Debian and Ubuntu `apt install python3-venv` brings that part")
    if not stamp.exists() or stamp.read_text(encoding="utf-8") != wanted:
        subprocess.run(
            [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", str(ROOT / "tests" / "requirements.txt")], check=True
        )
        stamp.write_text(wanted, encoding="utf-8")
    return python


def clients() -> None:
    """Installs the real clients under .cache, each once."""
    npm = shutil.which("npm")
    if npm is None:
        sys.exit("--full needs npm, which comes with Node.js")
    packages = {f"claude/{version}": [f"@anthropic-ai/claude-code@{version}"] for version in CLAUDE}
    packages["axe"] = [f"axe-core@{AXE}"]
    packages["conformance"] = [f"@modelcontextprotocol/conformance@{CONFORMANCE}", f"node@{NODE}"]
    for name, wanted in packages.items():
        folder = CACHE / name
        if not (folder / "node_modules").exists():
            folder.mkdir(parents=True, exist_ok=True)
            subprocess.run(
                [npm, "install", "--silent", "--no-audit", "--no-fund", "--no-package-lock", "--prefix", str(folder), *wanted], cwd=folder, check=True
            )


def found() -> dict[str, str]:
    """The variables that tell the tests where the real clients are."""
    env: dict[str, str] = {}
    if not list((CACHE / "claude").glob("*")) and shutil.which("claude"):
        env["TENON_TEST_CLAUDE"] = os.environ.get("TENON_TEST_CLAUDE") or str(shutil.which("claude"))
    suite = CACHE / "conformance" / "node_modules" / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
    node = CACHE / "conformance" / "node_modules" / ".bin" / "node"
    if suite.exists() and node.exists():
        env.update(TENON_TEST_CONFORMANCE=str(suite), TENON_TEST_NODE=str(node))
    return env


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
