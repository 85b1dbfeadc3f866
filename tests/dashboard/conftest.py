"""A filled home, `tenon dashboard` serving it as its user starts it, and a real browser that looks."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.dashboard.household import Household, fill
from tests.dashboard.looking import Looking, find_axe, find_chromium

ROOT = Path(__file__).resolve().parent.parent.parent
DESKTOP, PHONE = {"width": 1280, "height": 900}, {"width": 360, "height": 740}


@pytest.fixture(scope="session")
def model_home(tmp_path_factory: pytest.TempPathFactory) -> Household:
    """A home that was filled once."""
    home = tmp_path_factory.mktemp("Häuser von") / ".tenon"
    before = {name: os.environ.get(name) for name in ("TENON_HOME", "TENON_EMBED_OLLAMA")}
    os.environ.update(TENON_HOME=str(home), TENON_EMBED_OLLAMA="off")
    try:
        return fill(home)
    finally:
        for name, value in before.items():
            os.environ.pop(name, None) if value is None else os.environ.__setitem__(name, value)


@pytest.fixture
def household(model_home: Household, _home: Path, monkeypatch: pytest.MonkeyPatch) -> Household:
    """A copy of it that a test may change; TENON_HOME is there."""
    copy = _home / ".tenon"
    shutil.copytree(model_home.home, copy, dirs_exist_ok=True)
    monkeypatch.setenv("TENON_HOME", str(copy))
    return Household(copy, model_home.agent, model_home.memory, model_home.session, model_home.digest, list(model_home.hostile))


@pytest.fixture
def serve(household: Household) -> Iterator[Callable[..., str]]:
    """Starts `tenon dashboard` with these arguments and returns its link; it is ended with Ctrl-C and must end well."""
    running: list[subprocess.Popen[str]] = []

    def start(*arguments: str) -> str:
        command = [sys.executable, "-I", "-S", str(ROOT / "bin" / "tenon"), "dashboard", "--no-browser", "--json", "--port", "0", *arguments]
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=household.home)
        running.append(process)
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line:
            raise AssertionError(process.communicate()[1])
        return str(json.loads(line)["link"])

    yield start
    for process in running:
        process.send_signal(signal.SIGTERM)
        out, said = process.communicate(timeout=30)
        assert 0 == process.returncode, out + said


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """The real browser, headless; for one module, since its driver keeps an event loop running in which no other can be started."""
    playwright = pytest.importorskip("playwright.sync_api")
    path = find_chromium()
    if not path:
        pytest.skip("no Chromium to test with: install Debian's, or set TENON_TEST_CHROMIUM")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=path,
            args=[
                "--no-sandbox",
                "--disable-gpu",
                "--disable-quic",
                "--no-first-run",
                "--disable-background-networking",
                "--disable-component-update",
                "--disable-sync",
            ],
        )
        yield browser
        browser.close()


@pytest.fixture
def look(chromium: Any, serve: Callable[..., str], household: Household, request: pytest.FixtureRequest) -> Iterator[Callable[..., Looking]]:
    """Opens the dashboard in the browser, once a call, for reading unless `edit`. Whatever the browser complained of fails the test."""
    looks: list[Looking] = []

    def begin(*, edit: bool = False, dark: bool = False, size: dict[str, int] = DESKTOP) -> Looking:
        link = serve(*(["--allow-edit"] if edit else []))
        context = chromium.new_context(
            viewport=size, color_scheme="dark" if dark else "light", locale="en-GB", timezone_id="Europe/Berlin", reduced_motion="reduce"
        )
        found = Looking(context, link, household.agent, find_axe(), request.node.name)
        looks.append(found)
        return found

    yield begin
    for found in looks:
        found.close()
