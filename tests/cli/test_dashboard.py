"""`tenon dashboard`: by the proxy where it runs, by itself where it does not, and how it ends."""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.cli.conftest import DOOR, PYTHON, Tenon
from tests.fakes import ports
from tests.fakes.messages_api import MessagesApi
from tests.fakes.terminal import Terminal, has_tmux

BROWSER = """#!{python}
import pathlib, sys
pathlib.Path({seen!r}).write_text(sys.argv[1])
"""


@contextmanager
def running(tenon: Tenon, *arguments: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The process and the first line that it prints; it is ended as `kill` does, and ends well."""
    command = [PYTHON, "-I", "-S", DOOR, "dashboard", *arguments]
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tenon.project, env=tenon.environment()
    )  # fmt: skip
    assert process.stdout is not None
    line = process.stdout.readline()
    assert line, process.communicate()[1]
    try:
        yield process, line.rstrip("\n")
    finally:
        if process.poll() is None:
            process.terminate()
        process.communicate(timeout=30)


def visited(link: str) -> tuple[int, str]:
    """Status and Location of the link's answer."""
    parts = urlsplit(link)
    door = http.client.HTTPConnection(parts.netloc, timeout=20)
    try:
        door.request("GET", f"{parts.path}?{parts.query}")
        answer = door.getresponse()
        answer.read()
        return answer.status, answer.getheader("Location", "")
    finally:
        door.close()


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
def test_it_serves_the_pages_until_it_is_ended(tenon: Tenon, ending: signal.Signals) -> None:
    """Ctrl-C and `kill` end it well; the link on stdout opens it once."""
    tenon.written("Deploys go out on Fridays")
    with running(tenon) as (process, link):
        assert [(303, "/_dashboard/default/memories"), (401, "")] == [visited(link), visited(link)]
        process.send_signal(ending)
        _, said = process.communicate(timeout=30)
    assert 0 == process.returncode
    assert "The link opens the dashboard once, within five minutes. Ctrl-C ends it." in said
    assert "The dashboard has ended." in said
    with pytest.raises(ConnectionRefusedError):
        visited(link)


def test_it_says_all_of_that_as_json(tenon: Tenon) -> None:
    """On a port of the user's choice, and for the agent that is meant, though nothing is remembered yet."""
    port = ports.free()
    with running(tenon, "--json", "--port", str(port), "--agent", "work") as (_, line):
        told = json.loads(line)
        assert {"link", "allow_edit"} == set(told)
        assert told["link"].startswith(f"http://127.0.0.1:{port}/_dashboard/?token=")
        assert not told["allow_edit"]
        assert (303, "/_dashboard/work/memories") == visited(told["link"])


def test_a_model_cannot_let_the_pages_change_things(tenon: Tenon) -> None:
    """In Claude Code's shell --allow-edit is refused; looking is not."""
    tenon.env["CLAUDECODE"] = "1"
    refused = tenon("dashboard", "--allow-edit", "--no-browser")
    assert (1, True) == (refused.code, "outside Claude Code" in refused.err)
    with running(tenon, "--json") as (_, line):
        assert not json.loads(line)["allow_edit"]


def test_editing_is_always_a_process_of_its_own(tenon: Tenon) -> None:
    """It says that it may be edited."""
    with running(tenon, "--allow-edit", "--json") as (_, line):
        assert json.loads(line)["allow_edit"]


@pytest.mark.parametrize("port", ["-1", "65536", "x", "1e3", ""])
def test_a_port_that_is_none_is_wrong_usage(tenon: Tenon, port: str) -> None:
    """Exit code 2."""
    result = tenon("dashboard", f"--port={port}")
    assert (2, True) == (result.code, "is no port" in result.err)


def test_a_taken_port_is_a_sentence(tenon: Tenon) -> None:
    """Exit code 1."""
    with running(tenon, "--json") as (_, line):
        result = tenon("dashboard", "--port", str(urlsplit(json.loads(line)["link"]).port))
    assert (1, True) == (result.code, "leave --port out" in result.err)


def test_the_proxy_serves_them_where_it_runs(tenon: Tenon) -> None:
    """The command ends at once, and says whose pages it opened; each call is a new link, for the agent that is meant."""
    tenon.written("Deploys go out on Fridays")
    tenon.written("Tests run at night", "--agent", "work")
    with MessagesApi() as api:
        tenon.env.update(TENON_PROXY_PORT=str(ports.free()), TENON_UPSTREAM=api.url)
        tenon.ok("start")
        try:
            first, second = tenon.ok("dashboard"), tenon.ok("dashboard", "--agent", "work", "--json")
            links = [first.out.strip(), str(second.records[0]["link"])]
            assert all(link.startswith(f"http://127.0.0.1:{tenon.env['TENON_PROXY_PORT']}/_dashboard/?token=") for link in links)
            assert "The proxy serves it, as long as it runs." in first.err
            assert [(303, "/_dashboard/default/memories"), (303, "/_dashboard/work/memories")] == [visited(link) for link in links]
            with running(tenon, "--allow-edit", "--json") as (_, line):
                assert f":{tenon.env['TENON_PROXY_PORT']}/" not in json.loads(line)["link"]
        finally:
            tenon("stop")


@pytest.mark.skipif(not has_tmux(), reason="needs tmux")
def test_in_a_terminal_a_browser_opens_and_enter_gives_a_new_link(tenon: Tenon) -> None:
    """The browser gets the link; Ctrl-C ends it with 0."""
    seen = tenon.home / "seen"
    browser = tenon.home / "browser"
    browser.write_text(BROWSER.format(python=sys.executable, seen=str(seen)), encoding="utf-8")
    browser.chmod(0o700)
    env = {**tenon.environment(), "BROWSER": str(browser), "TERM": "xterm"}
    command = ["sh", "-c", f'trap : INT; "{PYTHON}" -I -S "{DOOR}" dashboard; echo "ended with $?"']
    with Terminal(command, tenon.project, env, width=160) as terminal:
        terminal.wait_for("Enter prints a new link.")
        terminal.keys("Enter")
        links = twice(terminal)
        assert 2 == len(set(links))
        assert 303 == visited(links[1])[0]
        assert links[0] == opened(seen)
        terminal.keys("C-c")
        assert "ended with 0" in terminal.wait_for("ended with")


def twice(terminal: Terminal) -> list[str]:
    """The two links on the screen, once there are two."""
    for _ in range(400):
        found = [line.strip() for line in terminal.screen().splitlines() if "/_dashboard/?token=" in line]
        if len(found) == 2:
            return found
    raise AssertionError(terminal.screen())


def opened(path: Path) -> str:
    """The address that the browser was given, once it was."""
    for _ in range(2000):
        if path.exists() and path.read_text(encoding="utf-8"):
            return path.read_text(encoding="utf-8")
        threading.Event().wait(0.01)
    raise AssertionError("no browser was opened")
