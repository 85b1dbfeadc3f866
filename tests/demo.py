"""The main job before your eyes, without an account or a network: a fact told in session one reaches the model in the next two.

    python3 tests/demo.py [CLAUDE]     # the Claude Code on the PATH, or the one named

Real Claude Code runs three times in a home of its own, against a stand-in of the Messages API on this machine; the third time
through the proxy, where the first two sessions themselves stand in front of it.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT)]

from tests.fakes.claude_code import ClaudeCode, find_claude  # noqa: E402
from tests.fakes.messages_api import MessagesApi  # noqa: E402

FACT = "For your information: our staging database is called zebra-42 and only Ottilie may restart it."
QUESTION = "Who may restart the staging database, and what is it called?"
LATER = "What did we speak about last time?"


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
        before = behind_the_proxy(claude, api)
        print("\nWhat stood in front of it, as the model's own past:\n")
        print("\n".join("  " + line for line in before) or "  nothing")
    return 0 if all(word in text for text in (told, " ".join(before)) for word in ("zebra-42", "Ottilie")) else 1


def behind_the_proxy(claude: ClaudeCode, api: MessagesApi) -> list[str]:
    """The messages in front of a third session's own, one a line."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    tenon = [sys.executable, str(ROOT / "bin" / "tenon")]
    env = {**claude.env, "TENON_UPSTREAM": api.url}
    print(f"\n$ tenon start --port {port}")
    started = subprocess.run([*tenon, "start", "--port", port], env=env, capture_output=True, text=True, check=False)
    print("  " + (started.stdout + started.stderr).strip().splitlines()[0])
    try:
        print(f"\nsession 3, through the proxy: claude -p {json.dumps(LATER)}")
        done = claude.run(LATER, env={"ANTHROPIC_BASE_URL": f"http://127.0.0.1:{port}"})
        print("  " + (done.stdout or done.stderr).strip())
    finally:
        subprocess.run([*tenon, "stop"], env=env, capture_output=True, check=False)
    messages = api.messages()[-1].body["messages"]
    own = next((number for number, message in enumerate(messages) if LATER in " ".join(strings(message))), 0)
    return [f"{message['role']}: {block.get('text', block['type'])}" for message in messages[:own] for block in message["content"]]


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
