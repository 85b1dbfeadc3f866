"""What the page Memories is told: a list that is searched and narrowed, and all that is known of one memory."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tenon.base import settings
from tenon.dashboard import memories as page_memories
from tenon.dashboard.place import Missing, Place, Query, Wrong
from tenon.store import archive, associations, db, digests, edges, episodes, forget, journal, memories
from tenon.store.archive import Row
from tenon.store.db import Store

ADD_REPOSITORY = "INSERT INTO repository (key, seen) VALUES (?, 1.0)"
NOW = 1_800_000_000.0
SESSION = "5e55104e-0000-4000-8000-000000000001"
HOSTILE = (
    '<script>document.title = "owned"</script>',
    "</style></script>",
    "\u202ertl\u202c \u200fmarks",
    "half a letter \ud83d",
    "javascript:alert(1)",
    '"; DROP TABLE memory',
)


class Kept:
    """A store with a repository, and the page that shows what is in it."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.here, self.there = (int(store.execute(ADD_REPOSITORY, (key,)).lastrowid or 0) for key in ("example.org/acme/widgets", "example.org/acme/gadgets"))

    def write(self, text: str, **more: Any) -> str:
        """The id of a memory of the repository."""
        told = {"repository": self.here, "tier": "short", "kind": "fact", "now": NOW - 86400.0, **more}
        return memories.write(self.store, text=text, **told)[0]

    def say(self, text: str, kind: str = "prompt", session: str = SESSION) -> int:
        """The number of the archived turn."""
        number = archive.session(self.store, session, repository=self.here, folder="/x", at=NOW)
        role = "user" if kind == "prompt" else "assistant"
        row = Row(uuid="", parent="", role=role, kind=kind, source=role, at=NOW, content=[{"type": "text", "text": text}])
        return archive.append(self.store, number, self.here, [row])[1][0]

    @property
    def place(self) -> Place:
        """Where the page looks."""
        return Place(self.store, settings.load(), "default", now=NOW)

    def page(self, query: str = "") -> dict[str, Any]:
        """The list."""
        return sent(page_memories.page(self.place, Query(query)))

    def one(self, ref: str, query: str = "") -> dict[str, Any]:
        """What is known of one."""
        return sent(page_memories.one(self.place, ref, Query(query)))

    def refs(self, query: str = "") -> list[str]:
        """The ids of the list's first page."""
        return [row["ref"] for row in self.page(query)["rows"]]


def sent(told: dict[str, Any]) -> dict[str, Any]:
    """The data as it goes over the wire."""
    return dict(json.loads(json.dumps(told)))


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[Kept]:
    """An empty store with two repositories."""
    with db.open_store(str(tmp_path / "tenon.db")) as store:
        yield Kept(store)


def test_a_line_says_what_a_memory_is(kept: Kept) -> None:
    """With its strength as of now, its repository by key, and the number of memories of each status."""
    ref = kept.write("the lamp", tier="long", reason="seen", source="user", writer="user")
    told = kept.page()

    assert {
        "ref": ref, "text": "the lamp", "tier": "long", "kind": "fact", "source": "user", "writer": "user", "repository": "example.org/acme/widgets", "status": "live",
        "strength": 0.997, "citations": 0, "revision": 1, "created": NOW - 86400.0, "reinforced": NOW - 86400.0,
    } == told["rows"][0]  # fmt: skip
    assert ({"live": 1, "faded": 0, "superseded": 0}, None, 1) == (told["held"], told["next"], told["count"])


def test_a_search_gives_the_words_to_mark(kept: Kept) -> None:
    """As they are typed, lower-case; how many memories there are is not counted meanwhile."""
    kept.write("the lamp")
    told = kept.page("q=The+Lam")

    assert (["the", "lam"], 1, False) == (told["words"], len(told["rows"]), "held" in told)


@pytest.mark.parametrize(
    "query",
    ["tier=long", "kind=lesson", "source=tool", "writer=code", "status=faded", "repository=example.org%2Facme%2Fgadgets", "repository=everywhere", "q=special"],
)
def test_each_parameter_narrows(kept: Kept, query: str) -> None:
    """To the one memory that is so."""
    kept.write("usual", source="user", writer="user")
    parts = {
        "tier=long": {"tier": "long", "reason": "seen"}, "kind=lesson": {"kind": "lesson"}, "source=tool": {"source": "tool"}, "writer=code": {"writer": "code"},
        "repository=example.org%2Facme%2Fgadgets": {"repository": kept.there}, "repository=everywhere": {"repository": None},
    }  # fmt: skip
    ref = kept.write("special", **{"source": "user", "writer": "user", **parts.get(query, {})})
    if query == "status=faded":
        kept.store.execute("UPDATE memory SET status = 'faded' WHERE ref = ?", (ref,))

    assert [ref] == kept.refs(query)


@pytest.mark.parametrize(
    "query",
    [
        "tier=eternal", "kind=x", "source=x", "writer=x", "status=all", "order=random", "repository=nowhere", "q=1&q=2", "what=1", "after=x", "after=1:2:3", "after=nan:1:1:1",
        "after=1:-1:1:1", "after=1:1:1:inf", f"after=1:1:{2**70}:1", "q=" + "x" * 201,
    ],
)  # fmt: skip
def test_what_is_no_parameter_is_refused(kept: Kept, query: str) -> None:
    """With a sentence."""
    with pytest.raises(Wrong):
        kept.page(query)


@pytest.mark.parametrize("order", ["newest", "strongest", "cited"])
@pytest.mark.parametrize("search", ["", "&q=lamp"])
def test_the_next_page_goes_on_where_the_last_one_ended(kept: Kept, order: str, search: str) -> None:
    """Every memory once, though all were written at one time and are equally strong."""
    refs = {kept.write(f"lamp {number}") for number in range(120)}
    seen: list[str] = []
    after: str | None = ""
    while after is not None:
        told = kept.page(f"order={order}{search}" + (f"&after={after}" if after else ""))
        seen += [row["ref"] for row in told["rows"]]
        after = told["next"]

    assert (120, refs) == (len(seen), set(seen))


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_words_are_words(kept: Kept, text: str) -> None:
    """In a memory, and in a search."""
    ref = kept.write(text, reason=text, labels=[text], epic=text)
    told = kept.one(ref)["memory"]

    assert text.replace("\ud83d", "?") == told["text"] == told["reason"] == told["epic"] == told["labels"][0]
    assert [ref] == kept.refs("q=" + "".join(letter for letter in text if letter.isalnum() or letter == " ")[:6].replace(" ", "+"))


def test_long_texts_are_cut_in_the_list_and_whole_on_the_page(kept: Kept) -> None:
    """Up to a hundred thousand characters, with a mark where something is left out."""
    ref = kept.write("word " * 1500)
    assert (320, 7499, False) == (len(kept.page()["rows"][0]["text"]), len(kept.one(ref)["memory"]["text"]), kept.one(ref)["memory"]["cut"])

    kept.store.execute("UPDATE memory SET text = ? WHERE ref = ?", ("x" * 150_000, ref))
    assert (100_000, True) == (len(kept.one(ref)["memory"]["text"]), kept.one(ref)["memory"]["cut"])


@pytest.mark.parametrize("name", ["t1", "t999", "mnosuchone", "", "../etc", "<script>", "\ud83d", "m" * 500])
def test_what_is_no_memory_is_missing(kept: Kept, name: str) -> None:
    """With a sentence, which for a turn says where those are."""
    kept.say("hello")
    with pytest.raises(Missing) as refusal:
        kept.one(name)

    assert name.startswith("t") == ("history" in str(refusal.value))


def test_a_memory_tells_the_exchanges_it_came_from(kept: Kept) -> None:
    """The prompt, the turns it was made of and the first answer, each once; a megabyte is cut, what was forgotten is not told."""
    first = kept.say("What is the lamp?")
    call = kept.say("Read lamp.py", kind="call")
    reply = kept.say("It is a lamp.", kind="reply")
    other = kept.say("word " * 200_000, session="other-session-0000")
    gone = kept.say("a secret", session="third-session-0000")
    ref = kept.write("the lamp is a lamp", turns=[call, reply, other, gone])
    forget.forget(kept.store, [f"t{gone}"], "wish", NOW)
    second, one = kept.one(ref)["lineage"]

    assert (SESSION, [(f"t{first}", False), (f"t{call}", True), (f"t{reply}", True)]) == (
        one["session"],
        [(turn["ref"], turn["lineage"]) for turn in one["turns"]],
    )
    assert (4000, True) == (len(second["turns"][0]["text"]), second["turns"][0]["cut"])


def test_a_memory_tells_its_links_of_every_status_and_repository(kept: Kept) -> None:
    """Whichever end it is, with reason and verdict."""
    ref, other, everywhere = kept.write("one"), kept.write("two"), kept.write("three", repository=None)
    one = edges.propose(kept.store, kept.here, ref, other, "supports", "it says so", NOW)
    two = edges.propose(kept.store, kept.here, everywhere, ref, "contradicts", "it does not", NOW)
    edges.reject(kept.store, kept.here, two, "it does", NOW)
    told = {edge["edge"]: edge for edge in kept.one(ref)["edges"]}

    assert {one: ("supports", "proposed", 1, other, ""), two: ("contradicts", "rejected", 0, everywhere, "it does")} == {
        number: (edge["kind"], edge["status"], edge["out"], edge["ref"], edge["verdict"]) for number, edge in told.items()
    }


def test_a_memory_tells_what_comes_up_with_it_and_what_stands_around_it(kept: Kept) -> None:
    """With the strength that is left of it."""
    ref, other = kept.write("one"), kept.write("two")
    rows = sorted(memories.get(kept.store, one).id for one in (ref, other))
    associations.strengthen(kept.store, [(rows[0], rows[1])], NOW, 0.5)
    told = kept.one(ref)

    assert [(other, 0.5, 1)] == [(one["ref"], one["association"], one["times"]) for one in told["associations"]]
    assert [(ref, 0), (other, 1)] == [(node["ref"], node["step"]) for node in told["around"]["nodes"]]
    assert [("associated", 0.5)] == [(link["kind"], link["strength"]) for link in told["around"]["links"]]


def test_a_memory_tells_what_it_was_and_what_took_its_place(kept: Kept) -> None:
    """Its earlier texts, the audit lines, the digests, its successors up to the last and what it superseded."""
    oldest, old, new = kept.write("nine"), kept.write("ten"), kept.write("twenty")
    memories.revise(kept.store, old, "ten minutes", "it was short", NOW)
    number = digests.begin(kept.store, phase="consolidation", repository=kept.here, runner="api", model="x", now=NOW)
    digests.add_step(kept.store, number, "revise", memories.get(kept.store, old).id, undo={"revision": 1})
    memories.supersede(kept.store, oldest, old, NOW)
    memories.supersede(kept.store, old, new, NOW)
    told = kept.one(old)

    assert [(1, "ten", "it was short")] == [(past["revision"], past["text"], past["reason"]) for past in told["revisions"]]
    assert ([new], [oldest]) == ([other["ref"] for other in told["successors"]], [other["ref"] for other in told["predecessors"]])
    assert [old, new] == [other["ref"] for other in kept.one(oldest)["successors"]]
    assert [(number, "revise", 2)] == [(step["digest"], step["deed"], step["revised"]) for step in told["digests"]]
    assert ["revise", "supersede"] == [deed["what"] for deed in told["deeds"]]
    assert f"It is superseded by {new}: «twenty»." in told["why"]


def test_a_memory_tells_each_time_it_came_up_or_nearly_did(kept: Kept) -> None:
    """With the session's whole id, the words, and the score with its parts; nothing older than thirty days."""
    ref = kept.write("the lamp")
    kept.say("hello")
    parts = [0.5] * len(journal.PARTS)
    told = {"event": "prompt", "session": SESSION, "repository": kept.here, "words": ["lamp"], "chars": 9}
    journal.record(kept.store, **told, hits=[(ref, 0.8, parts), ("mothermemo", 0.7, parts)], now=NOW - 10)  # type: ignore[arg-type]
    journal.record(kept.store, **told, hits=[], skipped=[(ref, 0.2, parts, "e")], now=NOW - 5)  # type: ignore[arg-type]
    journal.record(kept.store, **told, hits=[("mothermemo", 0.7, parts)], now=NOW - 3)  # type: ignore[arg-type]
    journal.record(kept.store, **told, hits=[(ref, 0.8, parts)], now=NOW - 31 * 86400)  # type: ignore[arg-type]
    nearly, shown = kept.one(ref)["shown"]

    assert (0.2, journal.WHY["e"]) == (nearly["score"], nearly["skipped"])
    match = {"name": "match", "value": 0.5, "weight": 0.27}
    assert (SESSION, ["lamp"], 0.8, "") == (shown["session"], shown["words"], shown["score"], shown["skipped"])
    assert match in shown["parts"]
    assert {part["name"] for part in shown["parts"]} <= set(kept.one(ref)["means"])


def test_a_memory_says_what_keeps_it_back_and_how_it_fares_against_a_prompt(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    """As `tenon why` says it."""
    ref = kept.write("the gateway listens on port 8443")
    kept.write("lunch is at noon")
    assert ([], None) == (kept.one(ref)["why"], kept.one(ref)["against"])
    found = kept.one(ref, "cue=which+port+has+the+gateway")["against"]
    assert ["For that prompt it is the first of what would come up; words in common: port, gateway.", "It would be injected."] == found["said"]
    assert found["score"] == pytest.approx(sum(part["value"] * part["weight"] for part in found["parts"]), abs=0.01)
    missed = kept.one(ref, "cue=what+is+for+lunch")["against"]
    assert ("not even a candidate" in missed["said"][0], None, []) == (True, missed["score"], missed["parts"])

    monkeypatch.setenv("TENON_INJECT_PROMPT", "off")
    kept.store.execute("UPDATE memory SET strength = 0.2 WHERE ref = ?", (ref,))
    assert ["Its strength has come down to 0.19, so others rank before it.", "The lookup for prompts is switched off (inject.prompt)."] == kept.one(ref)["why"]


def test_an_episode_tells_its_parts(kept: Kept) -> None:
    """What was expected, and what came of it."""
    ref, _ = episodes.write(
        kept.store, repository=kept.here, situation="the build is red", action_type="fix", action_taken="pinned it", expected="success", outcome="failure", evidence="log",
        now=NOW,
    )  # fmt: skip

    assert {"expected": "success", "outcome": "failure"}.items() <= kept.one(ref)["episode"].items()


def test_labels_that_are_none_break_nothing(kept: Kept) -> None:
    """Whatever somebody, or a failing disk, has made of them."""
    ref = kept.write("one")
    kept.store.execute("UPDATE memory SET labels = 'not JSON' WHERE ref = ?", (ref,))

    assert [] == kept.one(ref)["memory"]["labels"]
