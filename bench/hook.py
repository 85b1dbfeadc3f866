"""A prompt hook as Claude Code runs it, whole process, against a bare interpreter started the same way, in turn.

    python3 bench/hook.py [PYTHON] [MEMORIES]

Prints medians, the ratio of medians, and the median of the pairwise ratios. 20,000 memories unless said otherwise.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [ROOT, os.path.join(ROOT, "scripts")]

from bench import corpus  # noqa: E402
from tenon.store import db, places  # noqa: E402

RUNS = 60


def main() -> int:
    """Prints one line per kind of prompt."""
    python = sys.argv[1] if len(sys.argv) > 1 else sys.executable
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 20_000
    with tempfile.TemporaryDirectory() as home:
        project = os.path.join(home, "project")
        os.makedirs(project)
        env = {"HOME": home, "TENON_HOME": os.path.join(home, "tenon"), "PATH": os.environ["PATH"]}
        now = time.time()
        with db.open_store(os.path.join(home, "tenon", "agents", "default", "tenon.db")) as store:
            repository = corpus.fill(store, count, now)
            store.execute(places.ADD_REPOSITORY, ("path:" + os.path.realpath(project), now))
            store.execute(places.SET_ALIAS, (repository, store.value(places.BY_KEY, ("path:" + os.path.realpath(project),))))
        for name, prompts in (
            ("answered", corpus.cues(RUNS, 8)),
            ("unrelated", ["please compare marmalade recipes from Dundee"] * RUNS),
            ("slash command", ["/compact"] * RUNS),
        ):
            hook, bare, said = [], [], 0
            for number, prompt in enumerate(prompts):
                event = json.dumps({"hook_event_name": "UserPromptSubmit", "session_id": f"s{number}", "cwd": project, "prompt": prompt})
                took, output = timed([python, "-I", "-S", os.path.join(ROOT, "hooks", "hook.py")], event, env)
                said += "additionalContext" in output
                hook.append(took)
                bare.append(timed([python, "-I", "-S", "-c", "pass"], "", env)[0])
            pairs = sorted(a / b for a, b in zip(hook, bare))
            middle = RUNS // 2
            print(
                f"{name:14} hook {sorted(hook)[middle]:.1f} ms, bare {sorted(bare)[middle]:.1f} ms, ratio {sorted(hook)[middle] / sorted(bare)[middle]:.2f} "
                f"(pairwise median {pairs[middle]:.2f}); {said} of {RUNS} injected"
            )
    return 0


def timed(command: list[str], given: str, env: dict[str, str]) -> tuple[float, str]:
    """Milliseconds from start to exit, and what was printed."""
    began = time.perf_counter()
    done = subprocess.run(command, input=given, capture_output=True, text=True, env=env, check=False)
    return (time.perf_counter() - began) * 1000, done.stdout


if __name__ == "__main__":
    sys.exit(main())
