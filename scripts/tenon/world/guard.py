"""The file that outlives the plugin: while the proxy is on, it sees to it at each session's start that Claude Code can reach its API.

The plugin's own hook starts the proxy. When the plugin is removed or disabled nobody would, and Claude Code would
talk to a port where nobody listens: then this file puts the direct address back into the settings.
"""

from __future__ import annotations

import os

from tenon.base import paths

NAME = "guard.py"
TEXT = r'''"""The guard of Tenon's proxy. `tenon proxy on` wrote it; `tenon proxy off` takes it and its hook away again.

When the proxy does not answer and no hook of the plugin starts it, Claude Code's settings get the direct address; nothing else in them is changed.
"""
import hmac
import json
import os
import re
import socket
import time

HOME = os.path.dirname(os.path.realpath(os.path.abspath(__file__)))
PLUGIN_S = 7.0  # for the plugin's own hook
SEEN_S = 2.3  # for Claude Code to read its settings again
STRING = r'"(?:[^"\\]|\\.)*"'
ASK = "HEAD /_tenon/status HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Tenon-Nonce: %s\r\nAuthorization: Tenon %s\r\nConnection: close\r\n\r\n"
SAID = "Tenon's proxy does not run, so Claude Code talks to its API directly from now on. With the plugin in place again `tenon proxy off` takes the rest away."


def read(name):
    with open(os.path.join(HOME, name), "rb") as file:
        return json.loads(file.read().decode("utf-8"))


def mark(token, said):
    return hmac.new(token.encode("utf-8"), said.encode("ascii"), "sha256").hexdigest()


def served(port):  # by the one who knows the token, which is not sent
    try:
        state, once, end, said = read("proxy.json"), os.urandom(16).hex(), time.time() + 1.0, b""
        if os.name == "posix":
            os.kill(int(state["pid"]), 0)
        door = socket.create_connection(("127.0.0.1", port), 1.0)
        try:
            door.sendall((ASK % (once, mark(state["token"], "ask %s %d HEAD /_tenon/status" % (once, port)))).encode("ascii"))
            while b"\r\n\r\n" not in said and len(said) < 9999 and time.time() < end:
                said += door.recv(4096) or b"\r\n\r\n"
        finally:
            door.close()
        given = re.search(r"^HTTP/1.1 200 .*\r\nx-tenon-proof: *([0-9a-f]{64})\r\n", said.decode("latin-1"), flags=re.S | re.I)
        return given is not None and hmac.compare_digest(given.group(1), mark(state["token"], "answer " + once))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, OverflowError):
        return False


def place(text, url):  # text has no comments
    for found in re.finditer(r'"ANTHROPIC_BASE_URL"\s*:\s*(' + STRING + ")", text):
        if json.loads(found.group(1)) == url:
            return found.span(1)


def is_cared_for(text, settings):
    # by the plugin, which runs its own hook in this session
    copy = os.path.join(os.path.dirname(settings), "skills", "tenon", ".claude-plugin", "plugin.json")
    return not os.environ.get("TENON_DISABLE") and (os.path.isfile(copy) or re.search(r'"tenon@[^"]*"\s*:\s*true', text))


def write(path, data):
    new = "%s.tenon-guard-%d" % (path, os.getpid())
    with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(data)
    os.chmod(new, os.stat(path).st_mode & 0o7777 if os.path.exists(path) else 0o600)
    os.replace(new, path)


def main():
    on, began = read("proxy-on.json"), time.time()
    settings = os.path.realpath(on["settings"])
    while not (os.environ.get("TENON_INSIDE") or served(int(on["url"].rsplit(":", 1)[1]))):
        with open(settings, "rb") as file:
            text = file.read().decode("utf-8")
        bare = re.sub("(" + STRING + r")|//[^\n]*|/\*.*?\*/", lambda found: found.group(1) or " " * len(found.group()), text, flags=re.S)
        span = place(bare, on["url"])
        if span is None:  # the plugin's hook was here, or the user
            return
        if time.time() - began >= PLUGIN_S or not is_cared_for(bare, on["settings"]):
            write(os.path.join(HOME, "proxy-direct"), b'{"why": "the plugin was gone, or did not start the proxy"}\n')
            write(settings, (text[: span[0]] + json.dumps(on["upstream"]) + text[span[1] :]).encode("utf-8"))
            print(json.dumps({"systemMessage": SAID}), flush=True)
            time.sleep(SEEN_S)
            os.utime(settings)  # a busy Claude Code may have begun to watch the file only after it was written
            time.sleep(SEEN_S)
            return
        time.sleep(0.1)


if __name__ == "__main__":
    try:
        main()
    except Exception:  # a guard that fails must not fail a session
        pass
'''


def path() -> str:
    """Where the guard is."""
    return os.path.join(paths.home(), NAME)


def entry(upstream: str) -> dict[str, object]:
    """The hook of Claude Code that runs it, as the settings have it; the address at its end is for when Tenon's own folder is lost."""
    hook = {"type": "command", "command": "python3", "args": ["-I", "-S", path(), upstream], "timeout": 15}
    return {"hooks": [hook]}


def upstream_in(value: object) -> str:
    """The address at the end of the hook, «» for what is not that hook."""
    hooks = value.get("hooks") if isinstance(value, dict) else None
    first = hooks[0] if isinstance(hooks, list) and len(hooks) == 1 else None
    given = first.get("args") if isinstance(first, dict) else None
    return str(given[3]) if isinstance(given, list) and given[:3] == ["-I", "-S", path()] and len(given) == 4 else ""


def is_current() -> bool:
    """Whether the file is there as this version writes it."""
    try:
        with open(path(), encoding="utf-8", newline="") as file:
            return file.read() == TEXT
    except (OSError, ValueError):
        return False


def write() -> None:
    """Writes the file. Raises OSError."""
    if is_current():
        return
    new = f"{path()}.{os.getpid()}"
    with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8", newline="\n") as file:
        file.write(TEXT)
    os.replace(new, path())


def remove() -> None:
    """Removes the file, where it is."""
    try:
        os.remove(path())
    except FileNotFoundError:
        pass
