"""What the page Selector is told: for each prompt what was shown and what was left out, why, and the prompt itself where the archive has it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tenon.base import paths, settings
from tenon.dashboard import selector
from tenon.dashboard.place import Missing, Place, Query, Wrong
from tenon.recall import offer, rank
from tenon.store import archive, db, forget, journal, memories, places
from tenon.store.db import Store

NOW = 1_796_200_000.0
SESSION = "5e55104e-0000-4000-8000-00000000abcd"
PROMPT = "what is our retry budget at the gateway?"


class Asked:
    """A store in which a prompt was answered, and the page that shows it."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.here = places.settle(store, paths.home(), NOW)
        self.ref = self.write("The retry budget is seven attempts.")

    def write(self, text: str, **more: Any) -> str:
        """The id of a memory."""
        given = {"repository": self.here, "tier": "long", "kind": "decision", "reason": "the user said so", "source": "user", "now": NOW, **more}
        return memories.write(self.store, text=text, **given)[0]

    def say(self, *said: str, session: str = SESSION, at: float = NOW) -> list[str]:
        """The ids of turns of a session, a prompt and an answer in turn, a minute apart."""
        number = archive.session(self.store, session, repository=self.here, folder="/p", at=at)
        rows = [
            archive.Row(
                uuid=f"{session}{at}{nth}", parent="", role="assistant" if nth % 2 else "user", kind="reply" if nth % 2 else "prompt",
                source="assistant" if nth % 2 else "user", at=at + 60 * nth, content=[{"type": "text", "text": text}],
            )
            for nth, text in enumerate(said)
        ]  # fmt: skip
        archive.append(self.store, number, self.here, rows)
        return [f"t{row[0]}" for row in self.store.rows("SELECT id FROM turn WHERE session = ? ORDER BY id DESC LIMIT ?", (number, len(said)))][::-1]

    def ask(self, prompt: str = PROMPT, *, session: str = SESSION, at: float = NOW) -> offer.Offer:
        """What memory offered, journalled."""
        found = offer.look(self.store, prompt, session=session, repository=self.here, chosen=settings.load(), now=at)
        offer.record(self.store, found, session=session, repository=self.here, now=at)
        return found

    def page(self, query: str = "") -> dict[str, Any]:
        """The list."""
        return selector.page(Place(self.store, settings.load(), "default", now=NOW), Query(query))

    def one(self, name: str, query: str = "") -> dict[str, Any]:
        """One entry."""
        found: dict[str, Any] = selector.one(Place(self.store, settings.load(), "default", now=NOW), name, Query(query))["entry"]
        return found


@pytest.fixture
def asked() -> Iterator[Asked]:
    """One memory, nothing asked yet."""
    with db.open_store(paths.store_path("default")) as store:
        yield Asked(store)


def test_a_prompt_is_told_with_what_it_was_given_and_why(asked: Asked) -> None:
    """The words, the text, the score and the parts that make it up."""
    asked.ask()
    [entry] = asked.page()["entries"]
    [hit] = entry["hits"]

    assert ("prompt", SESSION[: journal.NAME], False, ["retry", "budget"]) == (entry["event"], entry["session"], entry["archived"], entry["words"])
    assert (asked.ref, "The retry budget is seven attempts.", "long", "decision") == (hit["ref"], hit["text"]["text"], hit["tier"], hit["kind"])
    assert hit["score"] == pytest.approx(sum(part["value"] * part["weight"] for part in hit["parts"]), abs=0.03)
    assert {part["name"] for part in hit["parts"]} <= set(journal.PARTS)
    assert 1.0 == next(part["value"] for part in hit["parts"] if part["name"] == "bm25")
    json.dumps(entry)


def test_every_part_and_every_reason_has_its_words(asked: Asked) -> None:
    """A newcomer reads none of the names."""
    told = asked.page()

    assert set(rank.PARTS) == set(told["means"])
    assert all(each["label"] and each["says"] for each in told["means"].values())
    assert set(journal.WHY) == set(told["reasons"])


def test_a_session_is_named_by_the_first_letters_of_its_id(asked: Asked) -> None:
    """As it is told in short, as the journal keeps it, or whole; fewer letters name none, and another's beginning is another."""
    asked.ask()
    asked.ask(session="5e55ffff-0000-4000-8000-00000000abcd")
    for given in (SESSION[:8], SESSION[:11], SESSION[: journal.NAME], SESSION[:20], SESSION):
        assert [SESSION[: journal.NAME]] == [entry["session"] for entry in asked.page(f"session={given}")["entries"]]

    assert [] == asked.page(f"session={SESSION[:7]}")["entries"]


def test_what_was_shown_before_is_a_near_miss(asked: Asked) -> None:
    """With its score and the reason, though nothing was injected."""
    asked.ask()
    asked.ask("is the retry budget still seven?", at=NOW + 5)
    latest, first = asked.page()["entries"]

    assert ([], [(asked.ref, "s")], 0) == (latest["hits"], [(miss["ref"], miss["why"]) for miss in latest["skipped"]], latest["chars"])
    assert 0.3 < latest["skipped"][0]["score"]
    assert [asked.ref] == [hit["ref"] for hit in first["hits"]]


def test_what_answers_too_little_and_what_has_no_room_say_so(asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    """The letter is that of the first thing in its way."""
    asked.write("The retry budget of the mobile app is two attempts.")
    monkeypatch.setenv("TENON_INJECT_HITS", "1")
    asked.ask(session="a")
    monkeypatch.setenv("TENON_INJECT_HITS", "6")
    monkeypatch.setenv("TENON_RECALL_FLOOR", "1")
    asked.ask("tell me of the budget", session="b")
    floor, full = asked.page()["entries"]

    assert {"k"} == {miss["why"] for miss in full["skipped"]}
    assert ([], {"e"}) == (floor["hits"], {miss["why"] for miss in floor["skipped"]})


def test_what_is_too_long_for_the_block_says_so(asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    """It was good enough."""
    monkeypatch.setenv("TENON_INJECT_MAX_CHARS", "150")
    asked.ask()
    [entry] = asked.page()["entries"]

    assert ([], [(asked.ref, "c")]) == (entry["hits"], [(miss["ref"], miss["why"]) for miss in entry["skipped"]])


def test_a_prompt_that_has_nothing_to_do_with_anything_leaves_no_entry(asked: Asked) -> None:
    """Nothing was near, so nothing is written."""
    asked.ask("please compare marmalade recipes from Dundee")

    assert [] == asked.page()["entries"]


@pytest.mark.parametrize(("floor", "near"), [("0.5", ["e"]), ("0.7", [])])
def test_a_near_miss_has_half_of_the_evidence_that_is_asked_for(asked: Asked, monkeypatch: pytest.MonkeyPatch, floor: str, near: list[str]) -> None:
    """What has less was far from answering; for this prompt the memory has about 0.3."""
    monkeypatch.setenv("TENON_RECALL_FLOOR", floor)
    asked.ask("tell me of the budget and the posters")

    assert near == [miss["why"] for entry in asked.page()["entries"] for miss in entry["skipped"]]


def test_the_prompt_itself_comes_from_the_archive(asked: Asked) -> None:
    """The one of that session nearest to the entry's time, with a link to its turn; none that is far from it."""
    turns = asked.say("something else", "yes", PROMPT, "seven", at=NOW - 100)
    asked.ask(at=NOW + 3)
    asked.ask("the retry budget again, please", at=NOW + 500)
    late, entry = asked.page()["entries"]

    assert (SESSION, True, turns[2], PROMPT) == (entry["session"], entry["archived"], entry["turn"], entry["prompt"]["text"])
    assert (SESSION, "", None) == (late["session"], late["turn"], late["prompt"])


def test_a_forgotten_prompt_and_a_forgotten_memory_are_gone(asked: Asked) -> None:
    """From the entry too."""
    turns = asked.say(PROMPT, "seven")
    other = asked.write("The retry budget is checked by the gateway.")
    asked.ask()
    forget.forget(asked.store, [turns[0], other], "wish", NOW)
    [entry] = asked.page()["entries"]

    assert entry["prompt"] is None
    assert other not in json.dumps(entry)


def test_an_id_that_is_gone_without_being_forgotten_has_no_text(asked: Asked) -> None:
    """As after an undone digest, or a turn that was damaged."""
    [turn, _] = asked.say("the lamp", "yes")
    asked.store.execute("UPDATE turn SET content = '[]', forgotten = 1 WHERE id = ?", (int(turn[1:]),))
    hits = [(ref, 0.5, (0.5,) * 10) for ref in ("mgone", turn)]
    journal.record(asked.store, event="prompt", session="s", repository=None, words=[], hits=hits, chars=1, now=NOW)

    assert [None, None] == [hit["text"] for hit in asked.page()["entries"][0]["hits"]]


def test_a_briefing_is_told_by_its_sections(asked: Asked) -> None:
    """What it names has no score; what did not fit says so."""
    more = {"session": SESSION, "repository": asked.here, "words": ["what_holds_here"], "chars": 300, "now": NOW}
    journal.record(asked.store, event="session", hits=[(asked.ref, 0.0, ())], skipped=[(asked.ref, 0.0, (), "c")], **more)  # type: ignore[arg-type]
    [entry] = asked.page()["entries"]

    assert ("with what holds here", None, [], "c") == (entry["about"], entry["hits"][0]["score"], entry["hits"][0]["parts"], entry["skipped"][0]["why"])


def test_texts_are_cut_in_the_list_and_whole_on_their_own_page(asked: Asked) -> None:
    """Up to a hundred thousand characters."""
    ref = asked.write("The retry budget " + "is counted " * 200)
    turns = asked.say(PROMPT + " and " * 100_000)
    asked.ask(session=SESSION)
    [entry] = asked.page()["entries"]
    found = next(hit for hit in entry["hits"] if hit["ref"] == ref)
    whole = asked.one(str(entry["id"]))

    assert (selector.CUT, True) == (len(found["text"]["text"]), found["text"]["cut"])
    assert not next(hit for hit in whole["hits"] if hit["ref"] == ref)["text"]["cut"]
    assert (turns[0], 100_000, True) == (whole["turn"], len(whole["prompt"]["text"]), whole["prompt"]["cut"])


def test_the_list_is_narrowed_by_session_event_and_repository(asked: Asked) -> None:
    """A session by its whole id or what the journal has of it."""
    asked.ask()
    asked.ask(session="another-session-of-the-user")
    journal.record(asked.store, event="tool", session=SESSION, repository=None, words=["gateway"], hits=[], chars=0, now=NOW)
    journal.unsee(asked.store, SESSION, NOW)
    key = places.key(asked.store, asked.here)

    counts = {
        query: len(asked.page(query)["entries"])
        for query in ("", f"session={SESSION}", f"session={SESSION[:13]}", "session=none", "event=tool", "event=prompt")
    }
    assert {"": 3, f"session={SESSION}": 2, f"session={SESSION[:13]}": 2, "session=none": 0, "event=tool": 1, "event=prompt": 2} == counts
    assert 2 == len(asked.page(f"repository={key}")["entries"])
    assert {key, ""} == {entry["repository"] for entry in asked.page()["entries"]}


def test_pages_follow_each_other_by_number(asked: Asked) -> None:
    """Each entry once, newest first, whatever comes meanwhile."""
    for number in range(40):
        journal.record(asked.store, event="tool", session=f"s{number}", repository=None, words=[], hits=[], chars=0, now=NOW + number)
    first = asked.page()
    journal.record(asked.store, event="tool", session="new", repository=None, words=[], hits=[], chars=0, now=NOW)
    second = asked.page(f"after={first['next']}")

    assert (20, 20, None) == (len(first["entries"]), len(second["entries"]), second["next"])
    assert [f"s{number}" for number in range(39, -1, -1)] == [entry["session"] for page in (first, second) for entry in page["entries"]]


@pytest.mark.parametrize("query", ["event=compact", "after=x", "after=-1", "repository=nowhere", "more=1", "session=" + "s" * 300])
def test_an_address_that_asks_for_what_cannot_be_is_refused(asked: Asked, query: str) -> None:
    """With a sentence."""
    with pytest.raises(Wrong):
        asked.page(query)


@pytest.mark.parametrize("name", ["0", "999", "x", "-1", "1" * 30, "١"])
def test_an_entry_that_is_not_there_is_missing(asked: Asked, name: str) -> None:
    """Also one whose number cannot be."""
    with pytest.raises(Missing):
        asked.one(name)
