"""What narrows a list, in a real browser: the way back undoes it, the number of what was found is said, a wrong address leads on."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from tests.dashboard.looking import Looking

pytestmark = pytest.mark.live

Look = Callable[..., Looking]

ROWS = "ul.memories > li"
STATE = "() => ({q: document.querySelector('[name=q]').value, kind: document.querySelector('[name=kind]').value, rows: document.querySelectorAll('ul.memories > li').length, count: document.querySelector('.count').textContent})"


def state(seen: Looking, address: str) -> dict[str, object]:
    """What the form and the list say once the address is that one and nothing is on its way."""
    seen.page.wait_for_url(re.compile(re.escape(address) + "$"))
    seen.page.wait_for_function("() => document.querySelector('form.controls') && !document.querySelector('form.controls[aria-busy]')")
    seen.settled()
    return dict(seen.page.evaluate(STATE))


def test_the_way_back_undoes_a_search_and_a_filter_and_the_way_forth_does_them_again(look: Look) -> None:
    """A filter is one step and so is a search of many letters; form, list and address go together, and the cursor stays where it was."""
    seen = look()
    seen.open("memories")
    seen.page.evaluate("() => { window.kept = document.querySelector('form.controls'); }")
    all_of_them = state(seen, "/memories")
    seen.page.get_by_label("Kind").select_option("decision")
    narrowed = state(seen, "/memories?kind=decision")
    field = seen.page.get_by_role("searchbox")
    for length in range(1, 8):
        field.press_sequentially("courier"[length - 1])
        seen.page.wait_for_url(re.compile(f"q={'courier'[:length]}$"))
    found = state(seen, "/memories?kind=decision&q=courier")
    seen.page.go_back()
    assert narrowed == state(seen, "/memories?kind=decision")
    assert "q" == seen.page.evaluate("() => document.activeElement.name")
    seen.page.go_back()
    assert all_of_them == state(seen, "/memories")
    seen.page.go_forward()
    assert narrowed == state(seen, "/memories?kind=decision")
    seen.page.go_forward()
    assert found == state(seen, "/memories?kind=decision&q=courier")

    assert ("", "decision", "courier") == (all_of_them["kind"], narrowed["kind"], found["q"])
    assert len({all_of_them["count"], narrowed["count"], found["count"]}) == 3
    assert seen.page.evaluate("() => window.kept === document.querySelector('form.controls')")


def test_a_search_that_was_left_is_undone_apart_from_the_next(look: Look) -> None:
    """What was typed after the field was left is a step of its own, and the way back from another page leads to the last."""
    seen = look()
    seen.open("memories")
    field = seen.page.get_by_role("searchbox")
    field.fill("courier")
    state(seen, "/memories?q=courier")
    field.press("Tab")
    field.fill("ticket")
    state(seen, "/memories?q=ticket")
    seen.page.locator(f"{ROWS} a", has_text="ticket").first.click()
    seen.page.wait_for_url("**/memories/m*")
    seen.settled()
    seen.page.go_back()
    assert "ticket" == state(seen, "/memories?q=ticket")["q"]
    seen.page.go_back()
    assert "courier" == state(seen, "/memories?q=courier")["q"]
    seen.page.go_back()

    assert "" == state(seen, "/memories")["q"]


def test_a_prompt_that_a_memory_was_tried_against_is_a_step_too(look: Look) -> None:
    """The way back takes it away and leaves the cursor in its field."""
    seen = look()
    seen.open("memories", query="?q=ticket")
    seen.page.locator(f"{ROWS} a").first.click()
    seen.page.wait_for_url("**/memories/m*")
    seen.settled()
    field = seen.page.get_by_label("Try it against a prompt")
    field.fill("how many rows has a ticket")
    field.press("Enter")
    seen.page.wait_for_url("**?cue=how*")
    seen.page.go_back()
    seen.page.wait_for_function("() => document.querySelector('[name=cue]')?.value === '' && document.activeElement.name === 'cue'")

    assert "cue" not in seen.page.url


@pytest.mark.parametrize(("page", "query"), [("memories", "?q=ticket"), ("history", "?q=lamp"), ("digests", "?phase=all"), ("selector", "?event=prompt")])
def test_how_many_are_shown_stands_at_the_controls_and_is_said(look: Look, page: str, query: str) -> None:
    """A number of those that were found, or of those so far and that there are more; a search that finds nothing is said too."""
    seen = look()
    seen.open(page, query=query)
    shown = seen.page.locator(f"{ROWS}, li.hit, tbody tr, .considered").count()

    assert seen.page.locator(".count").inner_text() in (f"{shown} found", f"{shown} and more")
    seen.page.get_by_label("Repository").select_option(label="orchard")
    seen.page.wait_for_function("() => document.getElementById('announced').textContent.match(/^([0-9]+ found|[0-9]+ and more|nothing found)$/)")
    said = seen.page.locator("#announced").inner_text()
    assert (seen.page.locator(".count").inner_text() or "nothing found") == said


def test_a_wrong_filter_in_the_address_leads_to_the_list_without(look: Look) -> None:
    """The sentence says what is wrong, and a link is there."""
    seen = look()
    seen.expected = ["400"]
    seen.open("memories", query="?kind=nonsense")
    assert "'kind' is one of" in seen.page.get_by_role("alert").inner_text()
    seen.page.get_by_role("link", name="Show the list without filters").click()
    seen.page.wait_for_url("**/memories")
    seen.page.locator(ROWS).first.wait_for()

    assert 1 == seen.page.locator("form.controls").count()


def test_a_command_in_a_sentence_is_shown_as_one_and_a_title_says_it_once(look: Look) -> None:
    """No page shows the marks around a command, also when it could not be had."""
    seen = look()
    titles = []
    for page in ("memories", "identity"):
        seen.open(page)
        titles.append(seen.page.title())
    seen.expected = ["Failed to load resource", "ERR_"]
    seen.page.route("**/*.json*", lambda route: route.abort())
    seen.page.get_by_role("link", name="History").click()
    seen.page.get_by_role("alert").wait_for()

    assert ["Memories – Tenon", "Identity – Tenon"] == titles
    assert ["tenon dashboard"] == seen.page.locator(".failure code").all_inner_texts()
    assert "`" not in seen.text() + seen.page.locator("#announced").inner_text()
