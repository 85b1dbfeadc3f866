"""A terminal for interactive programs: one tmux window on a socket of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
import uuid
from pathlib import Path

POLL_S = 0.05
HISTORY_LINES = 500


def has_tmux() -> bool:
    """Whether tmux is installed."""
    return shutil.which("tmux") is not None


class Terminal:
    """One window; use it as a context manager. `env` is the whole environment of the program."""

    def __init__(self, command: list[str], cwd: Path, env: dict[str, str], width: int = 120, height: int = 40) -> None:
        self.socket = f"tenon-{os.getpid()}-{uuid.uuid4().hex[:8]}"
        self.command = command
        self.cwd = cwd
        self.env = {"LANG": "C.UTF-8", **env}
        self.size = (str(width), str(height))

    def __enter__(self) -> Terminal:
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def start(self) -> None:
        """Opens the window; it stays when the program ends, so that its last words can be read."""
        width, height = self.size
        size = ["-x", width, "-y", height]
        # The options come before the window: a program that ends at once would take it along otherwise.
        options = ["set-option", "-g", "remain-on-exit", "on", ";"]
        self.tmux(*options, "new-session", "-d", *size, "-s", "main", "-c", str(self.cwd), *self.command)

    def tmux(self, *args: str) -> str:
        """The output of a tmux command on this socket."""
        command = ["tmux", "-L", self.socket, "-f", os.devnull, *args]
        done = subprocess.run(command, env=self.env, capture_output=True, text=True, encoding="utf-8", timeout=10, check=False)
        if done.returncode:
            raise RuntimeError(f"tmux {args[0]} failed: {done.stderr.strip()}")
        return done.stdout

    def type(self, words: str) -> None:
        """Types the words, no Enter."""
        self.tmux("send-keys", "-t", "main", "-l", words)

    def keys(self, *names: str) -> None:
        """Presses keys by their tmux names: Enter, Escape, C-c, Tab."""
        self.tmux("send-keys", "-t", "main", *names)

    def enter(self, words: str, timeout_s: float = 10.0) -> None:
        """Types a line, waits until it stands on the screen, and presses Enter; what still stood in the input goes first."""
        if self.left_over():
            self.keys("C-u")
            self.wait_for_empty_input(timeout_s)
        self.type(words)
        self.wait_for(words[:40], timeout_s)
        self.keys("Enter")

    def left_over(self) -> str:
        """What stands behind the last input sign on the screen: on a busy machine Claude Code may not have emptied it yet."""
        lines = self.tmux("capture-pane", "-p", "-t", "main").splitlines()
        return next((line[1:].strip() for line in reversed(lines) if line.startswith("❯")), "")

    def wait_for_empty_input(self, timeout_s: float) -> None:
        """Returns when nothing stands in the input; raises TimeoutError with the screen."""
        end = time.monotonic() + timeout_s
        while self.left_over():
            if time.monotonic() > end:
                raise TimeoutError(f"the input is not empty within {timeout_s} s:\n{self.screen().rstrip()}")
            time.sleep(POLL_S)

    def screen(self) -> str:
        """What is shown, with the lines that scrolled away."""
        return self.tmux("capture-pane", "-p", "-t", "main", "-S", f"-{HISTORY_LINES}")

    def wait_for(self, text: str, timeout_s: float = 20.0) -> str:
        """The screen once it shows the text; raises TimeoutError with the screen."""
        end = time.monotonic() + timeout_s
        while True:
            shown = self.screen()
            if text in shown:
                return shown
            if time.monotonic() > end:
                raise TimeoutError(f"{text!r} not on the screen within {timeout_s} s:\n{shown.rstrip()}")
            time.sleep(POLL_S)

    def close(self) -> None:
        """Ends the program and the window."""
        command = ["tmux", "-L", self.socket, "kill-server"]
        subprocess.run(command, env=self.env, capture_output=True, timeout=10, check=False)
