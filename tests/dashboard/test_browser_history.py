"""History and digests in a real browser: found while typed, led to by a link, folded and opened by the keyboard, changed where that is allowed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tenon.base import paths
from tenon.store import db
from tests.dashboard.conftest import PHONE
from tests.dashboard.household import Household
from tests.dashboard.looking import Looking

pytestmark = pytest.mark.live

Look = Callable[..., Looking]


def turn(household: Household, where: str) -> str:
    """The id of the session's first turn of which that holds."""
    with db.open_reader(paths.store_path(household.agent)) as store:
        found = store.value(
            f"SELECT t.id FROM turn t JOIN session s ON s.id = t.session WHERE s.name = ? AND {where} ORDER BY t.id LIMIT 1", (household.session,)
        )
    return f"t{found}"


def hits(seen: Looking, count: int) -> list[str]:
    """The passages that are shown, once there are so many of them."""
    seen.page.wait_for_function("(count) => document.querySelectorAll('li.hit').length === count", arg=count)
    return [str(text) for text in seen.page.locator("li.hit blockquote").all_inner_texts()]


def in_view(seen: Looking, id_: str) -> bool:
    """Whether the element is in the window."""
    return bool(
        seen.page.evaluate("(id) => { const box = document.getElementById(id).getBoundingClientRect(); return box.bottom > 0 && box.top < innerHeight; }", id_)
    )


def test_what_was_said_is_found_while_it_is_typed(look: Look) -> None:
    """The words are marked, the cursor stays, the address is the search, and a hit leads to its turn."""
    seen = look()
    seen.open("history")
    field = seen.page.get_by_role("searchbox")
    field.press_sequentially("staging lam")

    assert 2 == len(hits(seen, 2))
    assert ["staging", "lamp"] == seen.page.locator("li.hit").first.locator("mark").all_inner_texts()
    assert "search" == seen.page.evaluate("() => document.activeElement.type")
    assert seen.page.url.endswith("history?q=staging+lam")
    seen.shot("search")
    seen.page.locator("li.hit a").first.click()
    seen.page.wait_for_url("**/history/*turn=t*")
    seen.settled()
    assert "One pixel." in seen.page.locator(".turn.found").inner_text()
    assert ["staging", "lamp"] == seen.page.locator(".turn.found mark").all_inner_texts()
    seen.page.go_back()
    seen.page.wait_for_url("**/history?q=staging+lam")
    assert 2 == len(hits(seen, 2))


def test_a_search_that_finds_little_goes_on_by_itself(look: Look) -> None:
    """As far back as it must; then the rest is a button's."""
    seen = look()
    pages = [{"hits": [], "words": ["x"], "next": str(number), "further": True, "clients": [], "count": 0} for number in range(20)]
    asked = []

    def answer(route: Any) -> None:
        asked.append(route.request.url)
        route.fulfill(json=pages[len(asked) - 1])

    seen.page.route("**/history.json?*", answer)
    seen.open("history", "", "?q=x")
    seen.page.get_by_role("button", name="Search further back").wait_for()

    assert 13 == len(asked)
    assert asked[-1].endswith("after=11")
    assert "Nothing so far." in seen.text()


def test_a_link_leads_to_a_turn_inside_of_what_is_folded(look: Look, household: Household) -> None:
    """A result is opened with its call, a sub-agent's answer with the sub-agent; both are in the window and have the focus."""
    seen = look()
    for where in ("t.kind = 'result' AND t.content LIKE '%1 failed%'", "t.thread <> '' AND t.kind = 'reply'"):
        found = turn(household, where)
        seen.open("history", household.session, f"?turn={found}")
        seen.page.locator(f"#{found}").wait_for()

        assert (True, found) == (in_view(seen, found), seen.page.evaluate("() => document.activeElement.id"))
        assert seen.page.url.endswith(f"#{found}")
    seen.shot("agent")


def test_everything_in_a_session_is_folded_and_opened_by_the_keyboard(look: Look, household: Household) -> None:
    """A call shows its result, a sub-agent's conversation is fetched when it is opened, a cut output comes whole."""
    seen = look()
    seen.open("history", household.session)
    call = seen.page.locator("details.call", has_text="find the lamp").first
    assert not call.get_by_text("It is in src/lamp.py only.").first.is_visible()
    call.locator("summary").first.focus()
    seen.page.keyboard.press("Enter")
    call.locator("details summary", has_text="Sub-agent").focus()
    seen.page.keyboard.press("Space")
    call.locator(".agent .turn.answers").first.wait_for()
    assert "Find every use of the lamp." in call.locator(".agent").inner_text()

    log = seen.page.locator("details.call", has_text="/srv/big.log")
    log.locator("summary").press("Enter")
    log.get_by_role("button", name="Show all").press("Enter")
    seen.page.wait_for_function("() => [...document.querySelectorAll('details.call pre')].some((pre) => pre.textContent.length > 250000)")
    assert 0 == log.get_by_role("button", name="Show all").count()


def test_a_picture_is_shown_and_has_words(look: Look, household: Household) -> None:
    """It is drawn from the archive's own bytes."""
    seen = look()
    seen.open("history", household.session)
    picture = seen.page.locator("img.picture")

    assert 1 == picture.evaluate("(image) => image.decode().then(() => image.naturalWidth)")
    assert "picture" in str(picture.get_attribute("alt"))


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_an_opened_session_and_a_digest_can_be_used_by_everybody(look: Look, household: Household, dark: bool) -> None:
    """With everything unfolded the accessibility checker finds nothing."""
    seen = look(dark=dark, edit=True)
    seen.open("history", household.session)
    seen.page.evaluate("() => document.querySelectorAll('details').forEach((fold) => { fold.open = true; })")
    seen.page.locator(".agent .turn").first.wait_for()
    seen.shot("session")
    found = seen.violations()
    for page, name, query in (("history", "", "?q=lamp&tools=on"), ("history", "", ""), ("digests", "", "?phase=all"), ("digests", str(household.digest), "")):
        seen.open(page, name, query)
        seen.shot(page + name)
        found += seen.violations()

    assert [] == found


def test_on_a_narrow_screen_nothing_is_wider_than_it(look: Look, household: Household) -> None:
    """Also with everything unfolded."""
    seen = look(size=PHONE)
    seen.open("history", household.session)
    seen.page.evaluate("() => document.querySelectorAll('details').forEach((fold) => { fold.open = true; })")
    seen.page.locator(".agent .turn").first.wait_for()
    seen.shot("session")
    wide = {"session": seen.too_wide()}
    for page, name, query in (("history", "", "?q=unbroken"), ("history", "", ""), ("digests", "", "?phase=all"), ("digests", str(household.digest), "")):
        seen.open(page, name, query)
        seen.shot(page + name + query.strip("?=").replace("=", "-"))
        wide[page + name + query] = seen.too_wide()

    assert dict.fromkeys(wide, 0) == wide


def test_hostile_words_are_found_and_shown_as_words(look: Look, household: Household) -> None:
    """In a search, in a session, in the name of a branch."""
    seen = look()
    for name, query in (("", "?q=script"), ("", "?q=onerror"), (household.session, ""), (household.session, "?q=script")):
        seen.open("history", name, query)
        assert 0 == seen.page.locator("main script, main base, main img:not(.picture)").count()
        assert "owned" not in seen.page.title()
    assert '<script>document.title = "owned"</script>' in seen.text()
    assert "feature/<b>" in seen.text()


def test_a_digest_shows_what_it_changed_and_can_be_undone(look: Look, household: Household) -> None:
    """Old and new stand under each other; undoing asks first and says what became of everything."""
    seen = look(edit=True)
    seen.open("digests")
    seen.page.locator("tbody a", has_text=str(household.digest)).first.click()
    seen.page.wait_for_url(f"**/digests/{household.digest}")
    seen.settled()
    assert ["ten"] == seen.page.locator(".difference del").all_inner_texts()
    assert ["twenty"] == seen.page.locator(".difference ins").all_inner_texts()

    seen.page.get_by_role("button", name="Undo this digest").click()
    seen.page.get_by_role("dialog").get_by_role("button", name="Cancel").click()
    assert 1 == seen.page.get_by_role("button", name="Undo this digest").count()
    seen.page.get_by_role("button", name="Undo this digest").click()
    seen.page.get_by_role("dialog").get_by_role("button", name="Undo it").click()
    seen.page.get_by_text("holds again").wait_for()
    assert "undone" in seen.page.locator("dl.facts").inner_text()
    seen.open("digests", "", "?state=undone")
    assert 1 == seen.page.locator("tbody tr").count()


def test_a_turn_is_forgotten_for_good_after_a_question(look: Look, household: Household) -> None:
    """Its words are gone from the page and from the search; its place stays."""
    seen = look(edit=True)
    seen.open("history", household.session)
    said = seen.page.locator("article.turn", has_text="The lamp is used in one place")
    name = str(said.get_attribute("id"))
    said.get_by_role("button", name="Forget").click()
    seen.page.get_by_role("dialog").get_by_role("button", name="Forget it").click()
    seen.page.locator(f"#{name}", has_text="only its place is kept").wait_for()

    assert "used in one place" not in seen.text()
    seen.open("history", "", "?q=place+fails")
    assert "Nothing that was said" in seen.text()


def test_without_leave_to_change_nothing_offers_it(look: Look, household: Household) -> None:
    """Neither forgetting nor undoing."""
    seen = look()
    offered: list[Any] = []
    for page, name in (("history", household.session), ("digests", str(household.digest))):
        seen.open(page, name)
        offered += seen.page.get_by_role("button", name="Forget").all() + seen.page.get_by_role("button", name="Undo").all()

    assert [] == offered


@pytest.mark.parametrize("name", ["a/b", "a\\b", "..", ".", "x.json", "x~", "a\nb", "50% ?#"])
def test_a_session_is_opened_whatever_it_is_called(look: Look, household: Household, name: str) -> None:
    """By its link in the list; its address can be loaded again."""
    with db.open_store(paths.store_path(household.agent)) as store:
        store.execute("UPDATE session SET name = ? WHERE name = ?", (name, household.session))
    seen = look()
    seen.open("history")
    seen.page.locator("main a[href*='/history/']", has_text="lamp").first.click()
    seen.page.wait_for_url("**/history/*")
    seen.settled()
    first = seen.text()
    seen.page.reload()
    seen.settled()

    assert "find the lamp" in first
    assert first == seen.text()
