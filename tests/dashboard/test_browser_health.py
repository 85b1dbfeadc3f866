"""Health and Selector in a real browser: the plots stand, empty and full, and everybody gets at their values."""

from __future__ import annotations

import re
import time
from collections.abc import Callable

import pytest

from tenon.base import faults, paths
from tenon.store import conversations, db, growth, journal, latency, notes, pressure, spending, usage
from tests.dashboard.conftest import PHONE
from tests.dashboard.household import Household
from tests.dashboard.looking import Looking

pytestmark = pytest.mark.live

Look = Callable[..., Looking]
DAY = 86400.0
HOSTILE = '<img src=x onerror="document.title=1">\u202e\u0007'
PLOTS = ("Tokens that Tenon spent, by day", "Read from the prompt cache, by session", "Time that the proxy adds to a request, by day", "Size of the store")


@pytest.fixture
def lived(household: Household) -> Household:
    """A household of some weeks: spending, usage of every session, latencies, days, faults, and a session that the proxy left alone."""
    now = time.time()
    with db.open_store(paths.store_path(household.agent)) as store:
        for day in range(20):
            at = now - day * DAY
            for purpose in ("consolidation", "reflection", "selection"):
                row = spending.reserve(store, purpose=purpose, runner="api", model="haiku", tokens=1000, cap=10**9, now=at)
                spending.report(store, row or 0, model="haiku", input_tokens=9000 * (1 + day % 5), output_tokens=800, dollars=0.01)
            for took in (0.002, 0.004, 0.03):
                latency.note(store, took, at)
            if day:
                store.execute(growth.NOTE, (int(at // DAY), 900_000 - 20_000 * day, 60, 200))
        for place, (number, name) in enumerate(store.rows("SELECT id, name FROM session ORDER BY id")):
            usage.note(store, number, {f"m{number}": (now - place, False, (100, 900, 9000 if place % 2 else 2000, 50))}, now)
            if place % 2:
                conversations.begin(store, name=name, client="c", folder="/p", repository=None, now=now, state="traced")
        conversations.begin(store, name="bad0c0de", client="c", folder="/p", repository=None, now=now, state="bypassed", reason=f"the API refused {HOSTILE}")
        notes.note(store, pressure.NOTE, "93000")
    faults.note("Stop", ValueError(HOSTILE))
    return household


def test_every_plot_stands_and_can_be_used_by_everybody(look: Look, lived: Household) -> None:
    """In light, with the gauge; doctor's findings come after."""
    seen = look()
    seen.open("health")
    seen.shot("health")

    assert list(PLOTS) == [seen.page.locator(".plot figcaption").nth(number).inner_text() for number in range(4)]
    assert [0, 0, 0, 0] == [0 if seen.page.locator(".plot svg").nth(number).locator("rect, circle").count() > 1 else 1 for number in range(4)]
    assert "65 %" in str(seen.page.locator(".meter svg").text_content())
    assert "moderate" in str(seen.page.get_by_role("meter").get_attribute("aria-valuetext"))
    assert "the API refused <img src=x" in seen.text()
    assert re.search(r"\d+ checks, ", seen.text())
    assert [] == seen.violations()


def test_the_dark_and_the_narrow_page_can_be_used_too(look: Look, lived: Household) -> None:
    """Nothing is wider than the window, and the checker finds nothing with every fold open."""
    seen = look(dark=True, size=PHONE)
    for page in ("health", "selector"):
        seen.open(page)
        seen.page.evaluate("() => document.querySelectorAll('details').forEach((fold) => { fold.open = true; })")
        seen.settled()
        seen.shot(page)
        assert ([], True) == (seen.violations(), seen.too_wide() <= 0)


def test_the_values_of_a_plot_are_reached_by_the_keyboard(look: Look, lived: Household) -> None:
    """The arrow keys go from day to day, the ends by Home and End; leaving it says nothing more."""
    seen = look()
    seen.open("health")
    frame = seen.page.get_by_role("group", name=PLOTS[0])
    readout = seen.page.locator(".plot").first.locator(".readout")
    frame.focus()
    seen.page.keyboard.press("ArrowLeft")
    latest = readout.inner_text()
    seen.page.keyboard.press("ArrowLeft")
    before = readout.inner_text()
    seen.page.keyboard.press("Home")
    first = readout.inner_text()
    seen.page.keyboard.press("Tab")

    assert "consolidation 9.8k, reflection 9.8k, selection 9.8k" in latest
    assert "consolidation 18.8k" in before or "consolidation 19k" in before
    assert "consolidation 0" in first
    assert "" == readout.inner_text()


def test_the_values_of_a_plot_are_told_under_the_pointer_and_in_a_table(look: Look, lived: Household) -> None:
    """The table has a row for each day on which there was something, the newest first."""
    seen = look()
    seen.open("health")
    plot = seen.page.locator(".plot").nth(2)
    box = plot.locator(".frame").bounding_box()
    assert box is not None
    seen.page.mouse.move(box["x"] + box["width"] - 12, box["y"] + 40)
    told = plot.locator(".readout").inner_text()
    plot.get_by_text("The values as a table").click()

    plot.locator("tbody tr").first.wait_for()

    assert "median 4" in told
    assert 20 == plot.locator("tbody tr").count()
    assert told.split(":")[0] == plot.locator("tbody tr").first.locator("td").first.inner_text()


def test_a_plot_is_drawn_anew_when_the_window_changes(look: Look, lived: Household) -> None:
    """As wide as there is room."""
    seen = look()
    seen.open("health")
    seen.page.locator(".plot svg").first.wait_for()
    wide = seen.page.locator(".plot svg").first.bounding_box()
    seen.page.set_viewport_size(PHONE)
    seen.page.wait_for_function("() => document.querySelector('.plot svg').clientWidth < 360")
    narrow = seen.page.locator(".plot svg").first.bounding_box()

    assert wide is not None
    assert narrow is not None
    assert wide["width"] > narrow["width"] > 280
    assert seen.too_wide() <= 0


def test_where_nothing_was_counted_a_sentence_stands(look: Look, household: Household) -> None:
    """In the place of a plot; what there is of the store is plotted from the first day."""
    with db.open_store(paths.store_path(household.agent)) as store:
        for table in ("spending", "usage", "latency", "growth", "conversation"):
            store.execute(f"DELETE FROM {table}")
    seen = look()
    seen.open("health")

    assert ["Size of the store"] == seen.page.locator(".plot figcaption").all_inner_texts()
    assert all(
        sentence in seen.text()
        for sentence in ("no digest has asked a model", "No transcript has said yet", "counted no request", "a point a day from today on")
    )
    assert [] == seen.violations()


def test_the_selector_says_why_in_one_glance(look: Look, household: Household) -> None:
    """The prompt, what it was given, the parts of the score in words and numbers, and what was left out and why; each leads on."""
    seen = look()
    seen.open("selector", query="?event=prompt")
    entry = seen.page.locator(".considered").first
    seen.shot("selector")

    assert entry.locator("blockquote").inner_text()
    assert re.search(r"score \d\.\d\d", entry.inner_text())
    assert re.search(r"meaning 0\.\d\d", entry.locator(".legend").first.inner_text())
    assert entry.locator(".bar span").count() > 1
    assert 1 <= seen.page.locator(".skipped li").count()
    assert seen.page.locator(".skipped .tag").first.inner_text() in journal.WHY.values()
    entry.locator("h2 a").click()
    seen.page.wait_for_url(re.compile(r"/selector/\d+$"))
    seen.settled()
    assert "Words in common" in seen.text() or "Outcome" in seen.text()
    seen.shot("one")
    assert [] == seen.violations()


def test_the_selector_is_narrowed_and_the_address_keeps_it(look: Look, household: Household) -> None:
    """A deep link shows the same."""
    seen = look()
    seen.open("selector")
    seen.page.get_by_role("combobox", name="When").select_option("session")
    seen.page.wait_for_url(re.compile(r"event=session"))
    seen.page.wait_for_function("() => [...document.querySelectorAll('.considered h2 .tag')].every((one) => one.textContent === \"at a session's start\")")
    seen.page.get_by_role("searchbox", name="Session").fill("no such session")
    seen.page.wait_for_url(re.compile(r"session=no"))
    seen.page.get_by_text("Nothing of that kind").wait_for()
    seen.open("selector", query="?event=session")

    assert 1 <= seen.page.locator(".considered").count()
    assert {"at a session's start"} == set(seen.page.locator(".considered h2 .tag").all_inner_texts())
