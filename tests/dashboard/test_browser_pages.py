"""Every page in a real browser: it stands, fits, and can be used by everybody; hostile words do nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.dashboard.conftest import DESKTOP, PHONE
from tests.dashboard.household import Household
from tests.dashboard.looking import Looking

STATIC = Path(__file__).resolve().parent.parent.parent / "scripts" / "tenon" / "dashboard" / "static"
PAGES = ("memories", "identity", "history", "digests", "selector", "health")
WIDE = {"width": 1920, "height": 1080}
# Cells of tables that are narrower than ten letters though their text is longer.
NARROW = "() => [...document.querySelectorAll('td')].filter((cell) => cell.clientWidth && cell.clientWidth < 70 && cell.textContent.length > 10).map((cell) => cell.textContent)"
LARGEST = 150_000  # bytes of all that the browser loads besides the data

pytestmark = pytest.mark.live

Look = Callable[..., Looking]


def places(household: Household) -> list[tuple[str, str]]:
    """Every page, and one thing of each that has things."""
    return [*((page, "") for page in PAGES), ("memories", household.memory), ("history", household.session), ("digests", str(household.digest))]


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_every_page_can_be_used_by_everybody(look: Look, household: Household, dark: bool) -> None:
    """The accessibility checker finds nothing, in either scheme of colours."""
    seen = look(dark=dark, edit=not dark)
    found = []
    for page, name in places(household):
        seen.open(page, name)
        seen.shot(f"{page}{'-one' if name else ''}")
        found += [f"{page}/{name} {violation}" for violation in seen.violations()]

    assert [] == found


@pytest.mark.parametrize("size", [PHONE, DESKTOP, WIDE], ids=["360", "1280", "1920"])
def test_every_page_fits_the_window(look: Look, household: Household, size: dict[str, int]) -> None:
    """Nothing is wider than the window, hostile words included."""
    seen = look(size=size)
    found = {}
    for page, name in [*places(household), *(("memories", ref) for ref in household.hostile)]:
        seen.open(page, name)
        if size == PHONE:
            seen.shot(f"{page}{'-one' if name else ''}")
        if seen.too_wide() > 0:
            found[f"{page}/{name}"] = seen.too_wide()

    assert {} == found


@pytest.mark.parametrize("width", [480, 700, 900, 1100])
def test_no_table_breaks_its_words_into_letters(look: Look, household: Household, width: int) -> None:
    """Between a phone and a desk rows are cards, or every column is as wide as a word; no page is wider than the window."""
    seen = look(size={"width": width, "height": 900})
    found = {}
    for page, name in [*places(household), ("digests", "?phase=all")]:
        seen.open(page, *(["", name] if name.startswith("?") else [name]))
        seen.page.evaluate("() => document.querySelectorAll('details').forEach((fold) => { fold.open = true; })")
        seen.settled()
        if (broken := seen.page.evaluate(NARROW)) or seen.too_wide() > 0:
            found[f"{page}/{name}"] = (broken, seen.too_wide())

    assert {} == found


def test_hostile_words_do_nothing(look: Look, household: Household) -> None:
    """What is stored is shown as text: nothing runs, nothing is loaded, the title is ours."""
    seen = look()
    for page, name in [("memories", ""), *(("memories", ref) for ref in household.hostile), ("history", household.session), ("selector", "")]:
        seen.open(page, name)
        assert "owned" not in seen.page.title()
        assert 0 == seen.page.locator("main script, main base, main img[src='x']").count()
    seen.open("memories", household.hostile[0])

    assert '<script>document.title = "owned"</script>' in seen.text()


def test_the_pages_lead_to_each_other_without_a_reload_and_back(look: Look) -> None:
    """The links on top change the address, the title and the content; the back button undoes that."""
    seen = look()
    seen.page.evaluate("() => { window.kept = true; }")
    for page in PAGES[1:]:
        seen.page.get_by_role("navigation").get_by_role("link", name=page.capitalize()).click()
        seen.page.wait_for_url(f"**/{page}")
        seen.settled()
        assert page.capitalize() in seen.page.title()
    seen.page.go_back()
    seen.page.wait_for_url("**/selector")

    assert seen.page.evaluate("() => window.kept")


def test_everything_on_top_is_reached_by_the_keyboard(look: Look) -> None:
    """The first key leads to the content, the next ones through the pages."""
    seen = look()
    focused = []
    for _ in range(8):
        seen.page.keyboard.press("Tab")
        focused.append(seen.page.evaluate("() => document.activeElement.textContent.trim()"))

    assert ["Skip to the content", "Memories", "Identity", "History", "Digests", "Selector", "Health"] == focused[:7]


def test_the_whole_front_end_is_light() -> None:
    """What the browser loads for all pages together."""
    assert LARGEST > sum(path.stat().st_size for path in STATIC.iterdir())


def test_a_dashboard_that_has_ended_says_how_to_open_another(look: Look, household: Household) -> None:
    """Instead of an empty page."""
    seen = look()
    seen.expected = ["Failed to load resource", "ERR_"]
    seen.page.route("**/*.json*", lambda route: route.abort())
    seen.page.get_by_role("link", name="History").click()
    seen.page.get_by_role("alert").wait_for()

    assert "tenon dashboard" in seen.text()
