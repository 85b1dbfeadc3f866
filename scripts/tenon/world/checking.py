"""What `tenon doctor` finds, asked of it as a process of its own: it looks at everything, may begin what is not there, and must end in time."""

from __future__ import annotations

import os
import sys
import threading
import time

import tenon
from tenon.base import paths
from tenon.base.errors import TenonError
from tenon.base.lean import parse

LIMIT_S = 30.0
FRESH_S = 60.0
FIELDS = ("check", "state", "said", "mend")

_held: dict[tuple[str, str], tuple[float, list[dict[str, str]]]] = {}
_asking = threading.Lock()


def findings(agent: str, clock: float | None = None) -> tuple[float, list[dict[str, str]]]:
    """When doctor was asked about the agent, and its checks (check, state, said, mend); at most a minute old. Raises TenonError when it does not answer."""
    key = (paths.home(), agent)
    with _asking:  # whoever comes meanwhile gets the same answer
        now = time.monotonic() if clock is None else clock
        held = _held.get(key)
        if held is None or not now - FRESH_S < held[0] <= now:
            held = _held[key] = (now, _asked(agent))
        return time.time() - (now - held[0]), held[1]


def _asked(agent: str) -> list[dict[str, str]]:
    import subprocess

    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(tenon.__file__))))
    command = [sys.executable or "python3", "-I", "-S", os.path.join(root, "bin", "tenon"), "--agent", agent, "doctor", "--json"]
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=paths.home(), timeout=LIMIT_S, check=False
        )  # fmt: skip
    except subprocess.TimeoutExpired as error:
        raise TenonError(f"`tenon doctor` took more than {LIMIT_S:g} seconds; run it in a terminal") from error
    except OSError as error:
        raise TenonError(f"`tenon doctor` cannot be started ({error.strerror}); run it in a terminal") from error
    found = [parse(line) for line in done.stdout.decode("utf-8", "replace").splitlines() if line.strip()]
    checks = [{name: str(one.get(name) or "") for name in FIELDS} for one in found if isinstance(one, dict) and one.get("check")]
    if not checks:
        raise TenonError(f"`tenon doctor` said nothing (exit {done.returncode}); run it in a terminal")
    return checks
