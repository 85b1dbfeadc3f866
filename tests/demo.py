"""The main job before your eyes, without an account or a network: a fact told in session one reaches the model in session two.

    python3 tests/demo.py [CLAUDE]     # the Claude Code on the PATH, or the one named

Real Claude Code runs twice in a home of its own, against a stand-in of the Messages API on this machine.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT)]

from tests.fakes.claude_code import ClaudeCode, find_claude  # noqa: E402
from tests.fakes.messages_api import MessagesApi  # noqa: E402

FACT = "For your information: our staging database is called zebra-42 and only Ottilie may restart it."
QUESTION = "Who may restart the staging database, and what is it called?"


def main(arguments: list[str]) -> int:
    """0 when the second session's request holds the fact."""
    named = arguments[0] if arguments else shutil.which("claude") or next((str(path) for path in find_claude().values()), "")
    if not named:
        sys.stderr.write("Claude Code was not found; name its binary: python3 tests/demo.py /path/to/claude\n")
        return 2
    if not os.path.isfile(named) or not os.access(named, os.X_OK):
        sys.stderr.write(f"{named} is no program that can be started; name the binary of Claude Code: python3 tests/demo.py /path/to/claude\n")
        return 1
    with tempfile.TemporaryDirectory() as folder, MessagesApi() as api:
        claude = ClaudeCode(Path(named), Path(folder) / "home", api.url, Path(folder) / "project")
        for step in (["marketplace", "add", str(ROOT)], ["install", "tenon@tenon"]):
            print("$ claude plugin " + " ".join(step))
            done = claude.plugin(*step)
            print("  " + (done.stdout + done.stderr).strip().splitlines()[-1])
        for number, prompt in enumerate((FACT, QUESTION), 1):
            print(f"\nsession {number}: claude -p {json.dumps(prompt)}")
            done = claude.run(prompt)
            print("  " + (done.stdout or done.stderr).strip())
        told = remembered(api.messages()[-1].body)
    print("\nWhat stood beside the question in the request of session 2:\n")
    print("\n".join("  " + line for line in told.splitlines()) or "  nothing")
    return 0 if "zebra-42" in told and "Ottilie" in told else 1


def remembered(body: object) -> str:
    """The text between Tenon's fences in a request."""
    text = "\n".join(strings(body))
    blocks = [part.split("</tenon-memory>")[0] for part in text.split("<tenon-memory>")[1:]]
    return "\n".join(block.strip() for block in blocks)


def strings(value: object) -> list[str]:
    """Every string in a JSON value."""
    if isinstance(value, str):
        return [value]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for part in inner for text in strings(part)]


if __name__ == "__main__":
    os.environ.pop("TENON_HOME", None)
    sys.exit(main(sys.argv[1:]))
