"""A user at the dashboard in a real browser, who notices every complaint of the browser's."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

ROOT = Path(__file__).resolve().parent.parent.parent
SHOTS = ROOT / ".cache" / "screenshots"
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
AUDIT = "(rules) => axe.run(document, {runOnly: {type: 'tag', values: rules}}).then((found) => found.violations.map((one) => one.id + ': ' + one.nodes.map((node) => node.html.slice(0, 200) + ' ' + node.failureSummary).slice(0, 3).join(' | ')))"
WIDER = "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"


def find_chromium() -> str:
    """Where a Chromium is, «» when there is none."""
    return os.environ.get("TENON_TEST_CHROMIUM") or next((path for path in map(shutil.which, NAMES) if path), "") or ""


def find_axe() -> str:
    """The text of the accessibility checker, «» when it is not installed."""
    told = os.environ.get("TENON_TEST_AXE")
    path = Path(told) if told else ROOT / ".cache" / "axe" / "node_modules" / "axe-core" / "axe.min.js"
    return path.read_text(encoding="utf-8") if path.exists() else ""


class Looking:
    """One visit. `page` is Playwright's; `complaints` is what the browser said: errors, refusals by the policy, requests to elsewhere."""

    def __init__(self, context: Any, link: str, agent: str, axe: str, name: str) -> None:
        self.context = context
        self.agent = agent
        self.axe = axe
        self.name = re.sub(r"[^\w-]+", "-", name)[:80]
        self.complaints: list[str] = []
        self.expected: list[str] = []  # parts of complaints that the test provokes
        parts = urlsplit(link)
        self.origin = f"{parts.scheme}://{parts.netloc}"
        self.page = context.new_page()
        self.page.on("console", self._said)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", self._requested)
        self.page.on("dialog", self._opened)
        self.page.goto(link)
        self.settled()

    def open(self, page: str, name: str = "", query: str = "") -> None:
        """Goes to an address by itself, as a deep link does; returns when the page is drawn."""
        self.page.goto(f"{self.origin}/_dashboard/{self.agent}/{page}" + (f"/{quote(name, safe='')}" if name else "") + query)
        self.settled()

    def settled(self) -> None:
        """Waits until the page has its content."""
        self.page.wait_for_function("() => document.querySelector('main:not([aria-busy]) > h1 ~ *') && !document.querySelector('main noscript')")
        self.page.wait_for_load_state("networkidle")

    def text(self) -> str:
        """What stands in the page."""
        return str(self.page.inner_text("main"))

    def violations(self) -> list[str]:
        """What axe finds against the rules of accessibility; raises AssertionError where axe is not installed."""
        assert self.axe, "axe-core is not installed: python3 tests/run.py --full brings it"
        self.page.evaluate(self.axe + "\n;undefined")
        return list(self.page.evaluate(AUDIT, RULES))

    def too_wide(self) -> int:
        """By how many pixels the page is wider than the window."""
        return int(self.page.evaluate(WIDER))

    def shot(self, name: str = "") -> Path:
        """Keeps a picture of the whole page among the run's."""
        SHOTS.mkdir(parents=True, exist_ok=True)
        path = SHOTS / f"{self.name}{'-' + name if name else ''}.png"
        self.page.screenshot(path=path, full_page=True)
        return path

    def close(self) -> None:
        """Ends the visit. Raises AssertionError for complaints that the test did not expect."""
        self.context.close()
        left = [said for said in self.complaints if not any(part in said for part in self.expected)]
        assert [] == left

    def _requested(self, request: Any) -> None:
        if not request.url.startswith((self.origin, "data:")):
            self.complaints.append(f"a request to {request.url}")

    def _said(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(message.text)

    def _opened(self, dialog: Any) -> None:
        self.complaints.append(f"a dialog opened: {dialog.message}")
        dialog.dismiss()
