"""Claude Code asked once, without a session: no settings, no hooks, no tools, no servers, no transcript, and its own login.

Whatever stands in the prompt stays text: without the variables below a «@/path» in it would have that file sent along, and a
«/word» at its beginning would be a command. A child that is no longer waited for is ended with all that it started.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading

from tenon.base.text import clean
from tenon.world import agreed, asking, daemon, dial, direct
from tenon.world.asking import Failed
from tenon.world.claude_stream import Stream

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import IO

    from tenon.base.settings import Settings
    from tenon.world.asking import Answer, Question

NAMED = "TENON_CLAUDE"
RUNNING = "CLAUDE_CODE_EXECPATH"  # the program that runs the session we are in
PLACES = ("~/.local/bin", "~/.claude/local", "~/.npm-global/bin", "/opt/homebrew/bin", "/usr/local/bin")
MISSING = "Claude Code was not found; install it, put `claude` on the PATH, or name it in TENON_CLAUDE"
FLAGS = (
    "--setting-sources", "", "--strict-mcp-config", "--tools", "", "--no-session-persistence", "--effort", "low",
    "--output-format", "stream-json", "--verbose", "--include-partial-messages",
)  # fmt: skip
# Of the variables that belong to a session, those by which it is logged in, and reaches its API.
PASSED = (
    "ANTHROPIC_", "CLAUDE_CODE_USE_", "CLAUDE_CODE_SKIP_", "CLAUDE_CODE_OAUTH_", "CLAUDE_CODE_CUSTOM_OAUTH_", "CLAUDE_CODE_API_KEY_", "CLAUDE_CODE_GATEWAY_TOKEN",
    "CLAUDE_CODE_CLIENT_", "CLAUDE_CODE_CERT_", "CLAUDE_CODE_PROXY_", "CLAUDE_CODE_HTTP", "CLAUDE_CODE_GIT_BASH_PATH",
)  # fmt: skip
DROPPED = ("ANTHROPIC_LOG", dial.VARIABLE)
OURS = {
    "TENON_INSIDE": "1",  # our hooks end at once
    "MAX_THINKING_TOKENS": "0",
    "DISABLE_PROMPT_CACHING": "1",  # the prompt would be written to the cache at a quarter more, or twice as much, and never read there
    "CLAUDE_CODE_DISABLE_EXPERIMENTAL_BETAS": "1",
    "CLAUDE_CODE_DISABLE_ATTACHMENTS": "1",
    "CLAUDE_CODE_DISABLE_FILE_MENTIONS": "1",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    # Each of these would be another request.
    "CLAUDE_CODE_DISABLE_NONSTREAMING_FALLBACK": "1",
    "CLAUDE_CODE_DISABLE_REFUSAL_FALLBACK": "1",
    "CLAUDE_CODE_DISABLE_REFUSAL_RETRY": "1",
    "CLAUDE_CODE_MAX_RETRIES": "0",
}
HELPERS = ("apiKeyHelper", "awsAuthRefresh", "awsCredentialExport", "gcpAuthRefresh")  # how the user's settings have Claude Code log in
GRACE_S = 3.0  # for a child to end by itself
LARGEST_BYTES = 32 << 20
ERROR_BYTES = 4096


def ask(model: str, question: Question, chosen: Settings, timeout_s: float) -> Answer:
    """The model's answer by one request. Raises Failed, and TenonError for settings that name no upstream."""
    program = find(os.environ)
    if not program:
        raise Failed("away", MISSING)
    env = environment(os.environ, chosen, question.most_output)
    folder = tempfile.mkdtemp(prefix="tenon-ask-")
    try:
        return _asked([program, *arguments(model, question, folder)], clean(question.prompt), env, os.path.join(folder, "room"), timeout_s)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def missing() -> str:
    """Why Claude Code cannot be asked, «» when it is there; whether it is logged in, only asking shows."""
    return "" if find(os.environ) else MISSING


def find(env: Mapping[str, str]) -> str:
    """The program: what TENON_CLAUDE names, else `claude` on the PATH, else that of the session, else where it is usually installed; «» for none.

    A folder of the PATH that is not absolute is passed over: it would be looked for in whatever project this runs in.
    """
    named = env.get(NAMED, "")
    if named and os.path.dirname(named):
        return named if _runs(named) and os.path.isabs(named) else ""
    folders = env.get("PATH", "").split(os.pathsep)
    names = _names(named or "claude")
    on_path = [os.path.join(folder, name) for folder in folders for name in names]
    usual = [os.path.join(os.path.expanduser(folder), name) for folder in PLACES for name in names]
    more = [] if named else [env.get(RUNNING, ""), *usual]
    return next((path for path in [*on_path, *more] if os.path.isabs(path) and _runs(path)), "")


def arguments(model: str, question: Question, folder: str) -> list[str]:
    """What the program is told besides the prompt; what belongs into files is written into the folder, which gets an empty room to start in."""
    os.mkdir(os.path.join(folder, "room"))
    system = os.path.join(folder, "system.txt")
    with open(system, "w", encoding="utf-8", newline="") as file:
        file.write(clean(question.system))
    told = ["-p", "--model", model, *FLAGS, "--system-prompt-file", system]
    held = direct.user_settings()
    helpers = {name: held[name] for name in HELPERS if isinstance(held.get(name), str)}
    if helpers:
        path = os.path.join(folder, "settings.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(helpers, file)
        told += ["--settings", path]
    return told


def environment(given: Mapping[str, str], chosen: Settings, most_output: int) -> dict[str, str]:
    """The child's environment: a session's without what ties it to that session, and past our proxy; credentials go along unread. Raises TenonError.

    What makes another model of the one that is asked for, or adds to its requests, goes along only where the user said so themselves.
    """
    url = direct.address(chosen, given)
    kept = {name: value for name, value in direct.held(given).items() if _goes_along(name.upper()) and not agreed.choosing(name, value)}
    return {**kept, **({} if url == dial.DEFAULT else {dial.VARIABLE: url}), **OURS, "CLAUDE_CODE_MAX_OUTPUT_TOKENS": str(most_output)}


def _goes_along(name: str) -> bool:
    if name in DROPPED or name.endswith("_FILE_DESCRIPTOR"):  # the child has no other descriptors
        return False
    return name.startswith(PASSED) or not name.startswith(daemon.FOREIGN)


def _names(name: str) -> tuple[str, ...]:
    return (name + ".exe", name + ".cmd", name) if sys.platform == "win32" else (name,)


def _runs(path: str) -> bool:
    return os.path.isfile(path) and os.access(path, os.X_OK)


def _asked(command: list[str], prompt: str, env: Mapping[str, str], room: str, timeout_s: float) -> Answer:
    if prompt.startswith("/"):
        prompt = "\n" + prompt  # a command at the beginning alone is one
    # A file without a name in place of a pipe: nobody has to write while somebody else reads, and nothing of it can be left.
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as errors:
        given.write(prompt.encode("utf-8"))
        given.seek(0)
        try:
            process = _started(command, given, errors, env, room)
        except OSError as error:
            raise Failed("away", f"Claude Code cannot be started ({error.strerror})") from None
        reading = _Reading(process.stdout)
        try:
            came = reading.over.wait(timeout_s)
            if came and reading.stream.ended:
                _awaited(process)
        finally:
            _end(process)
            reading.thread.join(GRACE_S)
        if not came:
            raise asking.late(timeout_s)
        if reading.flooded:
            raise Failed("wrong", f"Claude Code said more than {LARGEST_BYTES >> 20} MiB")
        errors.seek(0)
        return reading.stream.answer(process.returncode, errors.read(ERROR_BYTES).decode("utf-8", "replace"))


class _Reading:
    """Reads what a child says in a thread; `over` is set when nothing more is worth waiting for."""

    __slots__ = ("stream", "over", "flooded", "thread", "_pipe")

    def __init__(self, pipe: IO[bytes] | None) -> None:
        self.stream = Stream()
        self.over = threading.Event()
        self.flooded = False
        self._pipe = pipe
        self.thread = threading.Thread(target=self._read, daemon=True)
        self.thread.start()

    def _read(self) -> None:
        size = 0
        try:
            if self._pipe is None:
                return
            with self._pipe as pipe:
                while line := pipe.readline(LARGEST_BYTES):
                    size += len(line)
                    self.flooded = self.flooded or size >= LARGEST_BYTES
                    self.stream.read(line)
                    if self.stream.done or self.flooded:
                        self.over.set()
        finally:
            self.over.set()


def _started(command: list[str], given: IO[bytes], errors: IO[bytes], env: Mapping[str, str], room: str) -> subprocess.Popen[bytes]:
    """The child, in a group of its own, so that it can be ended with all that it starts."""
    if sys.platform == "win32":
        flags = subprocess.CREATE_NO_WINDOW | subprocess.CREATE_NEW_PROCESS_GROUP
        return subprocess.Popen(command, stdin=given, stdout=subprocess.PIPE, stderr=errors, cwd=room, env=env, creationflags=flags)
    return subprocess.Popen(command, stdin=given, stdout=subprocess.PIPE, stderr=errors, cwd=room, env=env, start_new_session=True)


def _awaited(process: subprocess.Popen[bytes]) -> None:
    try:
        process.wait(GRACE_S)
    except subprocess.TimeoutExpired:
        pass


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ends the child and what it started: first by asking, as it may be writing a file of its own."""
    if sys.platform == "win32":
        if process.poll() is None:
            subprocess.run(["taskkill", "/T", "/F", "/PID", str(process.pid)], capture_output=True, check=False)
            process.kill()
        process.wait()
        return
    import signal

    if process.poll() is None:
        _signal(process.pid, signal.SIGTERM)
        _awaited(process)
    _signal(process.pid, signal.SIGKILL)
    process.wait()


def _signal(group: int, number: int) -> None:
    if sys.platform != "win32":
        try:
            os.killpg(group, number)
        except OSError:
            pass  # all of them have ended
