"""Memories and identity in a real browser: found while typed, narrowed by the address, drawn, led through by the keyboard, changed where that is allowed."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from tenon.base import paths
from tenon.store import db, edges, identity, journal, memories
from tests.dashboard.conftest import DESKTOP, PHONE
from tests.dashboard.household import Household
from tests.dashboard.looking import Looking

pytestmark = pytest.mark.live

Look = Callable[..., Looking]

ROWS = "ul.memories > li"
LABELS = "() => [...document.querySelectorAll('.graph text')].map((text) => { const box = text.getBoundingClientRect(); return [box.left, box.top, box.right, box.bottom]; })"
FRAME = "() => { const box = document.querySelector('.graph').getBoundingClientRect(); return [box.left, box.top, box.right, box.bottom]; }"
OPEN = "() => document.querySelectorAll('main details').forEach((one) => { one.open = true; })"


def shown(seen: Looking, text: str) -> None:
    """Waits until the list's first line has that text."""
    seen.page.wait_for_function(f"(text) => document.querySelector('{ROWS}')?.innerText.includes(text)", arg=text)


def crowd(household: Household, count: int = 60) -> str:
    """The id of a memory that so many are linked to, directly or by another."""
    now = time.time()
    with db.open_store(paths.store_path(household.agent)) as store, store.transaction():
        told = {"repository": None, "tier": "long", "kind": "fact", "reason": "seen", "now": now}
        refs = [memories.write(store, text=f"What is known of the number {number}, which is a long story.", **told)[0] for number in range(count)]  # type: ignore[arg-type]
        for place, ref in enumerate(refs[1:], 1):
            edges.approve(store, None, edges.propose(store, None, refs[(place - 1) // 8], ref, edges.KINDS[place % 3], "so it is", now), now)
    return refs[0]


def test_memories_are_found_while_they_are_typed(look: Look) -> None:
    """The words are marked, the cursor stays, the address is the search; from a memory the way back leads to it."""
    seen = look()
    seen.open("memories")
    before = seen.page.locator(ROWS).count()
    seen.page.get_by_role("searchbox").press_sequentially("courier attem")
    shown(seen, "COURIER_ATTEMPTS")

    assert 0 < seen.page.locator(ROWS).count() < before
    assert {"courier", "attem"} == {text.lower() for text in seen.page.locator(f"{ROWS} mark").all_inner_texts()}
    assert "q" == seen.page.evaluate("() => document.activeElement.name")
    assert seen.page.url.endswith("memories?q=courier+attem")
    seen.shot("search")
    seen.page.locator(f"{ROWS} a").first.click()
    seen.page.wait_for_url("**/memories/m*")
    seen.settled()
    seen.page.go_back()
    seen.page.wait_for_url("**/memories?q=courier+attem")
    shown(seen, "COURIER_ATTEMPTS")
    assert "courier attem" == seen.page.get_by_role("searchbox").input_value()


def test_a_filter_is_a_link(look: Look) -> None:
    """What was chosen stands in the address, and opening that shows the same; without it the usual is shown."""
    seen = look()
    seen.open("memories")
    seen.page.get_by_label("Kind").select_option("gotcha")
    seen.page.wait_for_url("**/memories?kind=gotcha")
    seen.page.get_by_label("Order").select_option("cited")
    seen.page.wait_for_url("**/memories?kind=gotcha&order=cited")
    seen.page.wait_for_function("() => !document.querySelector('form[aria-busy]')")
    lines = seen.page.locator(ROWS).all_inner_texts()
    seen.open("memories", query="?kind=gotcha&order=cited")

    assert lines == seen.page.locator(ROWS).all_inner_texts()
    assert {"gotcha"} == set(seen.page.locator(f"{ROWS} .tag").all_inner_texts())
    assert ("gotcha", "cited") == (seen.page.get_by_label("Kind").input_value(), seen.page.get_by_label("Order").input_value())
    seen.page.get_by_label("Status").select_option("superseded")
    seen.page.wait_for_url("**status=superseded**")
    seen.page.get_by_label("Status").select_option("")
    seen.page.wait_for_url("**/memories?kind=gotcha&order=cited")


def test_an_id_finds_its_memory_and_nothing_found_says_what_to_do(look: Look, household: Household) -> None:
    """Which is to look in what was said."""
    seen = look()
    seen.open("memories", query=f"?q={household.memory[:6]}")
    assert household.memory in seen.page.locator(ROWS).inner_text()
    seen.page.get_by_role("searchbox").fill("zebra quagga")
    seen.page.get_by_role("link", name="look for it in what was said").click()
    seen.page.wait_for_url("**/history?q=zebra+quagga")


def test_more_is_shown_on_demand_and_nothing_twice(look: Look, household: Household) -> None:
    """The button goes with the last of them."""
    crowd(household, 120)
    seen = look()
    seen.open("memories", query="?q=number+story")
    for count in (50, 100):
        assert count == seen.page.locator(ROWS).count()
        seen.page.get_by_role("button", name="Show more").click()
        seen.page.wait_for_function(f"(count) => document.querySelectorAll('{ROWS}').length > count", arg=count)

    assert 120 == len(set(seen.page.locator(f"{ROWS} code").all_inner_texts()))
    assert 0 == seen.page.get_by_role("button", name="Show more").count()


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["1280", "360"])
def test_fifty_memories_are_drawn_so_that_each_can_be_read(look: Look, household: Household, size: dict[str, int]) -> None:
    """No label lies on another or outside of the picture, which is the same on every visit."""
    seen = look(size=size)
    seen.open("memories", crowd(household))
    seen.page.locator(".graph svg").wait_for()
    boxes = seen.page.evaluate(LABELS)
    left, top, right, bottom = seen.page.evaluate(FRAME)
    seen.shot("crowd")

    assert 50 == len(boxes)
    assert [] == [(a, b) for place, a in enumerate(boxes) for b in boxes[:place] if a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]]
    assert [] == [box for box in boxes if box[0] < left or box[1] < top or box[2] > right or box[3] > bottom]
    seen.page.reload()
    seen.page.locator(".graph svg").wait_for()
    assert boxes == seen.page.evaluate(LABELS)


def test_few_memories_are_drawn_close_together_and_labels_lie_above_the_lines(look: Look, household: Household) -> None:
    """No line runs through a label's letters, and the picture is no higher or wider than so few need."""
    seen = look()
    seen.open("memories", crowd(household, 4))
    seen.page.locator(".graph svg").wait_for()
    boxes = seen.page.evaluate(LABELS)
    behind = seen.page.evaluate(LABELS.replace(".graph text", ".graph rect.behind"))
    seen.shot("few")

    assert 4 == len(boxes) == len(behind)
    assert max(box[2] for box in boxes) - min(box[0] for box in boxes) < 700
    assert seen.page.locator(".graph svg").evaluate("(one) => one.clientHeight") < 300
    for back, label in zip(behind, boxes):
        assert (True, True) == (back[0] < label[0] + 3 and back[2] > label[2] - 3, back[1] < label[1] + 4 and back[3] > label[3] - 4)
    assert seen.page.evaluate(
        "() => [...document.querySelectorAll('.graph .link')].every((line) => line.compareDocumentPosition(document.querySelector('.graph a')) & 4)"
    )


def test_the_picture_is_walked_by_the_keyboard(look: Look, household: Household) -> None:
    """The first key leads to the memory in the middle, the next to one beside it, Enter to that one's page; every one has its whole text as its name."""
    seen = look()
    seen.open("memories", household.memory)
    seen.page.locator(".graph svg").wait_for()
    seen.page.locator("section", has=seen.page.locator(".graph")).locator("h2").evaluate("(title) => { title.tabIndex = -1; title.focus(); }")
    seen.page.keyboard.press("Tab")
    assert "true" == seen.page.evaluate("() => document.activeElement.getAttribute('aria-current')")
    seen.page.keyboard.press("Tab")
    focused = seen.page.evaluate("() => document.activeElement.querySelector('title').textContent")
    address = seen.page.evaluate("() => document.activeElement.getAttribute('href')")

    assert 1 == seen.page.locator(".graph").get_by_role("link", name=focused, exact=True).count()
    assert seen.page.locator(".graph .link.lit").count() > 0
    seen.page.keyboard.press("Enter")
    seen.page.wait_for_url(f"**{address}")
    seen.settled()
    assert focused.partition(": ")[2] == seen.page.locator(".lead").inner_text()


def test_the_picture_is_told_in_words_too(look: Look, household: Household) -> None:
    """As a list of links, each with what it is to the others."""
    seen = look()
    seen.open("memories", household.memory)
    seen.page.get_by_text("The same in words").click()
    words = seen.page.locator(".inwords > li")

    assert seen.page.locator(".graph a").count() == words.count()
    assert "contradicts: " in words.first.inner_text()


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_everything_unfolded_can_be_used_by_everybody(look: Look, household: Household, dark: bool) -> None:
    """The accessibility checker finds nothing on a memory with all there is, and on the identity, on a phone."""
    seen = look(dark=dark, edit=True, size=PHONE)
    found = []
    for page, name in (("memories", household.memory), ("identity", "")):
        seen.open(page, name)
        seen.page.evaluate(OPEN)
        seen.shot(page)
        found += seen.violations()
        assert 0 == seen.too_wide()

    assert [] == found


def test_hostile_memories_are_shown_as_they_are(look: Look, household: Household) -> None:
    """In the list, on their pages, in the picture, and among the statements."""
    text = '<script>document.title = "owned"</script> is who I am'
    with db.open_store(paths.store_path(household.agent)) as store:
        identity.add(store, text, time.time())
        here = memories.get(store, household.hostile[0]).repository
        for ref in household.hostile[1:]:
            edges.approve(store, here, edges.propose(store, here, household.hostile[0], ref, "supports", text, time.time()), time.time(), text)
    seen = look()
    for page, name in (("memories", ""), ("memories", household.hostile[0]), ("identity", "")):
        seen.open(page, name)
        assert "owned" not in seen.page.title()
        assert 0 == seen.page.locator("main script, main base, main img").count()
        assert 0 == seen.too_wide()

    assert text in seen.text()


def test_a_memory_is_tried_against_a_prompt(look: Look, household: Household) -> None:
    """The answer is said, and stands in the address."""
    seen = look()
    seen.open("memories", household.memory)
    seen.page.get_by_label("Try it against a prompt").fill("fct_ticket has one row a ticket")
    seen.page.get_by_role("button", name="Try").click()
    seen.page.get_by_text("It would be injected.").wait_for()
    seen.page.reload()
    seen.page.get_by_text("It would be injected.").wait_for()

    assert seen.page.url.endswith("?cue=fct_ticket+has+one+row+a+ticket")
    assert "the first of what would come up" in seen.text()


def test_a_score_is_told_in_the_same_words_and_colours_everywhere(look: Look, household: Household) -> None:
    """On a memory's page, where it is tried and where it was shown, and on the Selector's; a briefing's sections are told as such."""
    parts = "(items) => Object.fromEntries(items.map((item) => [item.textContent.replace(/ [0-9.]+$/, ''), item.querySelector('.dot').className]))"
    with db.open_store(paths.store_path(household.agent)) as store:
        told = {"session": "5e55104e-0000", "repository": None, "chars": 90, "now": time.time()}
        journal.record(store, event="prompt", words=["ticket"], hits=[(household.memory, 0.9, [0.5] * 10)], **told)  # type: ignore[arg-type]
        journal.record(store, event="session", words=["last_session", "what_holds_here"], hits=[(household.memory, 0.0, [])], **told)  # type: ignore[arg-type]
    seen = look()
    seen.open("selector", query="?event=prompt")
    selector = seen.page.locator(".considered").first.locator(".score .legend li").evaluate_all(parts)
    seen.open("memories", household.memory, "?cue=fct_ticket+has+one+row+a+ticket")
    tried = seen.page.locator("[role=status] .score .legend li").evaluate_all(parts)
    shown = seen.page.locator("td .score").first.locator(".legend li").evaluate_all(parts)

    assert selector == shown
    assert {"meaning", "words covered", "rare words"} <= set(tried) <= set(selector)
    assert tried == {name: selector[name] for name in tried}
    assert "in the briefing: last session, what holds here" in seen.text()
    assert "likeness" not in seen.text()
    assert "last_session" not in seen.text()


def test_a_memory_is_corrected_and_its_links_are_decided(look: Look, household: Household) -> None:
    """Its old text stays in its history; a dialog that is left changes nothing."""
    seen = look(edit=True)
    seen.open("memories", household.memory)
    old = seen.page.locator(".lead").inner_text()
    seen.page.get_by_role("button", name="Correct…").click()
    seen.page.keyboard.press("Escape")
    seen.page.get_by_role("button", name="Correct…").click()
    seen.page.get_by_label("Text").fill("A ticket has two rows.")
    assert ["Text (required)", "Why"] == seen.page.locator("dialog label > span").all_inner_texts()
    seen.page.get_by_label("Why").fill("counted again")
    seen.page.get_by_role("button", name="Correct it").click()
    seen.page.wait_for_function("() => document.querySelector('.lead')?.textContent === 'A ticket has two rows.'")
    assert old in seen.page.locator(".timeline").inner_text()
    assert "counted again" in seen.page.locator(".timeline").inner_text()
    seen.page.get_by_role("button", name="Correct…").click()
    seen.page.get_by_label("Text").fill("A ticket has three rows.")
    seen.page.get_by_role("button", name="Correct it").click()
    seen.page.wait_for_function("() => document.querySelector('.lead')?.textContent === 'A ticket has three rows.'")
    seen.page.get_by_role("button", name="Approve").click()
    seen.page.get_by_text("Links that wait for a decision").wait_for(state="detached")
    seen.page.get_by_role("button", name="Turn down…").first.click()
    seen.page.get_by_role("textbox", name="Why").fill("not any more")
    seen.page.get_by_role("button", name="Turn it down").click()

    seen.page.get_by_text("decided: not any more").wait_for()


def test_a_memory_is_forgotten_once_that_is_confirmed(look: Look, household: Household) -> None:
    """With what was said, where that is ticked; it is missing from then on."""
    with db.open_store(paths.store_path(household.agent)) as store:
        turns = memories.lineage(store, memories.get(store, household.memory))
    seen = look(edit=True)
    seen.open("memories", household.memory)
    seen.page.get_by_role("button", name="Forget…").click()
    seen.page.get_by_label("Also what was said (2 turns)").check()
    seen.page.get_by_role("button", name="Forget it").click()
    seen.page.get_by_role("heading", name="Forgotten").wait_for()
    assert "still said" not in seen.page.locator("#main").inner_text()
    seen.expected = ["404"]
    seen.open("memories", household.memory)

    assert "it may have been forgotten" in seen.page.get_by_role("alert").inner_text()
    with db.open_reader(paths.store_path(household.agent)) as store:
        assert ["[]", "[]"] == [store.value("SELECT content FROM turn WHERE id = ?", (turn,)) for turn in turns]


def test_who_only_reads_is_offered_no_change(look: Look, household: Household) -> None:
    """No button but those that look."""
    seen = look()
    for page, name in (("memories", household.memory), ("identity", "")):
        seen.open(page, name)
        assert {"Try"} >= set(seen.page.get_by_role("button").all_inner_texts())


def test_a_statement_is_corrected_and_the_identity_frozen(look: Look, household: Household) -> None:
    """The timeline says by whom; frozen is said, and taken back."""
    seen = look(edit=True)
    seen.open("identity")
    seen.page.get_by_role("button", name="Correct…").last.click()
    seen.page.get_by_label("Text").fill("I ask before anything is lost.")
    seen.page.get_by_role("button", name="Correct it").click()
    seen.page.locator(".statement", has_text="I ask before anything is lost.").wait_for()
    assert "by you" in seen.page.locator(".timeline li").first.inner_text()
    seen.page.get_by_role("button", name="Freeze it").click()
    seen.page.get_by_role("button", name="Let digests change it again").wait_for()
    with db.open_reader(paths.store_path(household.agent)) as store:
        assert identity.is_frozen(store)
    seen.page.get_by_role("button", name="Let digests change it again").click()

    seen.page.get_by_role("button", name="Freeze it").wait_for()
