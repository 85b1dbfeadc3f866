"""What the dashboard's pages cost in a large store: the server's time from the open store to the JSON, and what a browser takes to the first paint.

    python3 bench/dashboard.py [MEMORIES [TURNS]]

Of twenty askings the median and the worst in milliseconds, the median of what the processor took, and that as a multiple of what the same
asking takes in a store a hundredth the size; 100,000 memories and 1,000,000 archived turns unless told otherwise. Where Playwright and a
Chromium are installed, also the first paint of each page, and the time until its data stand in it, each the median of seven fresh visits.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from typing import Any

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [ROOT, os.path.join(ROOT, "scripts")]

from bench import filled  # noqa: E402
from tenon.base import paths, settings  # noqa: E402
from tenon.dashboard.files import FOLDER  # noqa: E402
from tenon.dashboard.place import Place, Query  # noqa: E402
from tenon.store import db  # noqa: E402

NOW = 1.79e9
TIMES = 20
VISITS = 7
MIDDLE = "the memory in the middle"
ASKED = (
    ("memories", "", ""), ("memories", "", "order=strongest"), ("memories", "", "order=cited"), ("memories", "", "kind=lesson"),
    ("memories", "", "repository=example.org%2Facme%2Fr3"), ("memories", "", "status=superseded"), ("memories", "", "q=the"), ("memories", "", "q=th"),
    ("memories", "", "q=re"), ("memories", "", "q=configuratio"), ("memories", "", "q=file+obj"), ("memories", "", "q=zebra"), ("memories", "", "q=m0000012"),
    ("memories", "", "q=the&order=strongest"), ("memories", "", "q=the&kind=lesson&tier=long&source=user"), ("memories", "", "q=the&status=superseded"),
    ("memories", MIDDLE, ""), ("identity", "", ""), ("history", "", ""), ("history", "", "q=the"), ("history", "", "q=re"), ("digests", "", ""),
    ("selector", "", ""), ("health", "", ""),
)  # fmt: skip


def main() -> int:
    """Prints a line for each asking, and the bytes of all that the browser loads."""
    memories, turns = (int(sys.argv[at]) if len(sys.argv) > at else most for at, most in ((1, 100_000), (2, 1_000_000)))
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TENON_HOME"] = folder
        middle = fill(paths.store_path("default"), memories, turns)
        other = fill(paths.store_path("small"), max(100, memories // 100), max(100, turns // 100))
        for page, name, query in ASKED:
            took, busy = timed(paths.store_path("default"), page, middle if name else "", query)
            _, small = timed(paths.store_path("small"), page, other if name else "", query)
            address = page + (f"/{name}" if name else "") + (f"?{query}" if query else "")
            half = TIMES // 2
            print(
                f"{address:60} {took[half]:7.1f} ms, at worst {took[-1]:7.1f}, processor {busy[half]:7.1f}, {busy[half] / small[half]:5.1f} times a hundredth"
            )
        painted(folder)
    print(f"the front end weighs {sum(os.path.getsize(os.path.join(FOLDER, name)) for name in os.listdir(FOLDER)) / 1000:.0f} KB")
    return 0


def fill(path: str, memories: int, turns: int) -> str:
    """Fills a store; a memory in its middle."""
    with db.open_store(path) as store:
        middle = filled.memories(store, memories, NOW)
        filled.turns(store, turns, NOW)
        store.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return middle


def timed(path: str, page: str, name: str, query: str) -> tuple[list[float], list[float]]:
    """The milliseconds of each asking, sorted, and those of the processor, sorted."""
    took, busy = zip(*(asked(path, page, name, query) for _ in range(TIMES)))
    return sorted(took), sorted(busy)


def painted(home: str) -> None:
    """Prints when each page paints first and when its data stand in it."""
    from tests.dashboard.looking import find_chromium

    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        print("no Playwright here: nothing was painted")
        return
    tenon = [sys.executable, "-I", "-S", os.path.join(ROOT, "bin", "tenon"), "dashboard", "--no-browser", "--json", "--port", "0"]
    server = subprocess.Popen(tenon, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, env={**os.environ, "TENON_HOME": home}, text=True)
    assert server.stdout is not None
    link = json.loads(server.stdout.readline())["link"]
    try:
        with sync_playwright() as driver:
            browser = driver.chromium.launch(executable_path=find_chromium(), args=["--no-sandbox", "--disable-gpu", "--disable-background-networking"])
            context = browser.new_context()
            page = context.new_page()
            page.goto(link)
            plain = sorted(visited(page, link.partition("?")[0] + "nobody/nothing", plain=True) for _ in range(VISITS))[VISITS // 2][0]
            print(f"{'a page of one sentence, for comparison':60} {plain:7.1f} ms to the first paint")
            for name in ("memories", "identity", "history", "digests", "selector", "health"):
                times = sorted(visited(page, link.partition("?")[0] + f"default/{name}") for _ in range(VISITS))
                print(
                    f"{name:60} {times[VISITS // 2][0]:7.1f} ms to the first paint ({times[VISITS // 2][0] / plain:.2f} times that), {times[VISITS // 2][1]:7.1f} to its data"
                )
            browser.close()
    finally:
        server.terminate()
        server.wait()


def visited(page: Any, address: str, *, plain: bool = False) -> tuple[float, float]:
    """The milliseconds from the visit to the first contentful paint, and to when the page was drawn."""
    page.goto("about:blank")
    page.goto(address)
    page.wait_for_function(
        "() => document.querySelector('main > h1 ~ *') && !document.querySelector('main noscript') && performance.getEntriesByType('paint').length > 1"
    )
    paint, drawn = page.evaluate("() => [performance.getEntriesByName('first-contentful-paint')[0].startTime, performance.now()]")
    return float(paint), float(drawn)


def asked(path: str, page: str, name: str, query: str) -> tuple[float, float]:
    """How many milliseconds an answer took, with the store opened for it, and how many of them the processor."""
    module = __import__(f"tenon.dashboard.{page}", fromlist=["page"])
    began, busy = time.perf_counter(), time.process_time()
    with db.open_reader(path) as store:
        here = Place(store, settings.load(), "default", now=NOW)
        json.dumps(module.one(here, name, Query(query)) if name else module.page(here, Query(query)))
    return (time.perf_counter() - began) * 1000, (time.process_time() - busy) * 1000


if __name__ == "__main__":
    sys.exit(main())
