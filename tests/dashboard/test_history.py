"""What the page History is told: sessions and passages in pages, a session as a conversation, whatever was said in it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tenon.base import paths, settings
from tenon.dashboard import history, turns
from tenon.dashboard.excerpt import excerpt
from tenon.dashboard.place import Missing, Place, Query, Wrong
from tenon.store import archive, db, exchanges, forget, gists, journal, memories, summaries
from tenon.store.archive import Row
from tenon.store.db import Store

ADD_REPOSITORY = "INSERT INTO repository (key, seen) VALUES (?, 1.0)"
BEGAN = 1_800_000_000.0
NAME = "5e55104e-0000-4000-8000-000000000001"
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
HOSTILE = ('<script>document.title = "owned"</script>', "</style></script>", "\u202ertl\u202c \u200fmarks", "\x1b[31mred\x07", "javascript:alert(1)")


class Past:
    """A store in which something is said, a second after the other, and the page that shows it."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.here, self.there = (int(store.execute(ADD_REPOSITORY, (key,)).lastrowid or 0) for key in ("example.org/acme/widgets", "example.org/acme/gadgets"))
        self.at = BEGAN

    def say(self, *blocks: Any, kind: str = "prompt", session: str = NAME, thread: str = "", repository: int = 0, **more: Any) -> int:
        """The number of the archived turn; a block that is a text is one."""
        self.at += 1.0
        home = repository or self.here
        number = archive.session(self.store, session, repository=home, folder="/x", at=self.at, branch="main", client=more.pop("client", "claude-code"))
        role = "user" if kind in ("prompt", "result") else "assistant"
        source = "tool" if kind == "result" else "user" if kind == "prompt" else "assistant"
        content = [{"type": "text", "text": block} if isinstance(block, str) else block for block in blocks]
        told = {"uuid": "", "parent": "", "role": role, "kind": kind, "source": source, "at": self.at, "content": content, "thread": thread, **more}
        return archive.append(self.store, number, home, [Row(**told)])[1][0]

    def call(self, name: str, given: Any, call: str, **more: Any) -> int:
        """A tool call."""
        return self.say({"type": "tool_use", "id": call, "name": name, "input": given}, kind="call", **more)

    def result(self, call: str, content: Any, *, error: bool = False, **more: Any) -> int:
        """What a tool gave back."""
        return self.say({"type": "tool_result", "tool_use_id": call, "content": content, "is_error": error}, kind="result", **more)

    @property
    def place(self) -> Place:
        """Where the page looks."""
        return Place(self.store, settings.load(), "default", now=self.at)

    def page(self, query: str = "") -> dict[str, Any]:
        """The list, or what a search finds."""
        return history.page(self.place, Query(query))

    def one(self, query: str = "", name: str = NAME) -> dict[str, Any]:
        """A session."""
        return history.one(self.place, name, Query(query))

    def turns(self, query: str = "") -> list[dict[str, Any]]:
        """The turns of its page."""
        return list(self.one(query)["turns"])


@pytest.fixture
def past() -> Iterator[Past]:
    """Nothing said yet."""
    with db.open_store(paths.store_path("default")) as store:
        yield Past(store)


def said(turns: list[dict[str, Any]]) -> list[str]:
    """The texts of the turns' text blocks."""
    return [block["text"] for turn in turns for block in turn["blocks"] if block["type"] == "text"]


# ---------------------------------------------------------------- the list


def test_a_session_is_told_by_its_first_prompt_and_its_summary(past: Past) -> None:
    """With what it was about and how long it is."""
    past.say("Why does the gauge fail? " + "x" * 500)
    past.say("It is broken.", kind="reply")
    past.say("Then mend it.")
    summaries.upsert(past.store, 1, past.here, "A gauge was mended.", BEGAN, "digest")
    (found,) = past.page()["sessions"]

    assert (NAME, "example.org/acme/widgets", "main", "claude-code", 2, False) == tuple(
        found[name] for name in ("name", "repository", "branch", "client", "exchanges", "more_exchanges")
    )
    assert (BEGAN + 1, BEGAN + 3) == (found["started"], found["last"])
    assert found["prompt"].startswith("Why does the gauge fail? x")
    assert 320 == len(found["prompt"])
    assert {"text": "A gauge was mended.", "parts": [], "writer": "digest"} == found["summary"]


def test_a_long_session_is_counted_up_to_a_bound(past: Past, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond it only that there are more is said."""
    monkeypatch.setattr(history, "COUNTED", 3)
    for _ in range(5):
        past.say("again")
    (found,) = past.page()["sessions"]

    assert (3, True) == (found["exchanges"], found["more_exchanges"])


def test_the_list_goes_on_with_what_it_gave_as_next(past: Past, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every session once, whatever the filter; at the end there is none."""
    monkeypatch.setattr(history, "ROWS", 2)
    for number in range(5):
        past.say("hello", session=f"s{number}", repository=past.there if number % 2 else 0)

    def names(query: str) -> list[str]:
        page, found = past.page(query), []
        while True:
            found += [one["name"] for one in page["sessions"]]
            if page["next"] is None:
                return found
            page = past.page(f"{query}&after={page['next']}")

    assert ["s4", "s3", "s2", "s1", "s0"] == names("q=")
    assert ["s3", "s1"] == names("repository=example.org/acme/gadgets")


@pytest.mark.parametrize(
    "query",
    ["after=x", "after=1~", "after=nan~1", "after=-1~1", "after=1e999~1", "after=1~99999999999999999999", "tools=yes", "repository=nowhere", "page=2", "q=" + "a" * 201, "q=a&after=1.5~2"],
)  # fmt: skip
def test_a_parameter_that_cannot_be_meant_is_refused(past: Past, query: str) -> None:
    """With a sentence, before anything is looked for."""
    with pytest.raises(Wrong):
        past.page(query)


def test_a_passage_is_shown_around_the_words_that_were_looked_for(past: Past) -> None:
    """Marked, in pieces that together are what was said."""
    turn = past.say("word " * 200 + "the deployment of the zebra was seen " + "more " * 200)
    found = past.page("q=zebra")
    (hit,) = found["hits"]

    assert (f"t{turn}", NAME, "user", ["zebra"], None, False) == (hit["turn"], hit["session"], hit["role"], found["words"], found["next"], found["further"])
    assert ["zebra"] == hit["parts"][1::2]
    assert hit["parts"][0].startswith("…word")
    assert hit["parts"][2].endswith("more…")
    assert "deployment of the zebra was seen" in "".join(hit["parts"])


def test_words_are_marked_in_the_forms_that_they_were_found_in() -> None:
    """By their beginnings, in names, in scripts without spaces; nothing else is."""

    def marked(text: str, *words: str) -> list[str]:
        return excerpt(text, 0, len(text), words)[1::2]

    assert ["Deployed", "deploys"] == marked("Deployed: it deploys, redeployed", "deploying")
    assert ["getUserName"] == marked("call getUserName()", "user")
    assert ["日本語の検索"] == marked("これ 日本語の検索 です", "検索")
    assert ["über"] == marked("Wir reden über Uhren", "über")
    assert [] == marked("nothing of it", "zebra")


# ---------------------------------------------------------------- a session


def test_a_session_tells_its_facts_and_turns_in_order(past: Past) -> None:
    """Also to whoever knows the first characters of its name alone."""
    past.say("Why?")
    past.say({"type": "thinking", "thinking": "hm", "signature": "s"}, kind="thinking")
    past.say("Because.", kind="reply")
    summaries.upsert(past.store, 1, past.here, "One question.", BEGAN)
    found = past.one(name=NAME[:13])

    assert (NAME, "/x", "code", None, None, None) == (
        found["session"]["name"], found["session"]["folder"], found["summary"]["writer"], found["next"], found["earlier"], found["focus"],
    )  # fmt: skip
    assert [("prompt", "text"), ("thinking", "thinking"), ("reply", "text")] == [(turn["kind"], turn["blocks"][0]["type"]) for turn in found["turns"]]


def test_a_session_is_found_by_the_first_letters_of_its_id(past: Past) -> None:
    """Eight or more, beside what was said with them, and only where the filters let it be; its page is there under them too."""
    past.say("a lamp")
    past.say(f"look into {NAME[:8]} again", session="other-session")
    for given in (NAME[:8], NAME[:13], NAME):
        assert [NAME] == [session["name"] for session in past.page(f"q={given}")["sessions"]]
    found = past.page(f"q={NAME[:8]}")

    assert (["other-session"], 2) == ([hit["session"] for hit in found["hits"]], found["count"])
    assert [] == past.page(f"q={NAME[:7]}")["sessions"]
    assert [] == past.page(f"q={NAME[:8]}&repository=example.org/acme/gadgets")["sessions"]
    assert NAME == past.one(name=NAME[:8])["session"]["name"]


def test_a_summary_by_plain_code_is_told_in_its_parts(past: Past) -> None:
    """Without what ended the session in the host's word; one by a model stays as it was written."""
    number = past.say("go") and exchanges.session_number(past.store, NAME)
    text = "2 prompts on branch main, ended by other.\nAsked: why: this?\nChanged: a.py; b.py\nTests: pytest → 3 passed\nOutcome: Done."
    summaries.upsert(past.store, number or 0, past.here, text, past.at)
    told, listed = past.one()["summary"], past.page()["sessions"][0]["summary"]

    assert "2 prompts on branch main." == told["text"] == listed["text"]
    assert [("Asked", "why: this?"), ("Changed", "a.py; b.py"), ("Tests", "pytest → 3 passed"), ("Outcome", "Done.")] == told["parts"] == listed["parts"]
    summaries.upsert(past.store, number or 0, past.here, "Asked: nothing.\nIt was ended by other.", past.at + 1, writer="digest")
    assert ("Asked: nothing.\nIt was ended by other.", []) == (past.one()["summary"]["text"], past.one()["summary"]["parts"])


def test_a_session_that_is_not_there_is_missing(past: Past) -> None:
    """And so is a turn of another session."""
    past.say("Why?")
    other = past.say("Elsewhere", session="s2")
    for name, query in (("s9", ""), (NAME, f"turn=t{other}"), (NAME, "turn=t99"), (NAME, f"turn=t{other}&whole=on")):
        with pytest.raises(Missing):
            past.one(query, name)


@pytest.mark.parametrize("query", ["turn=7", "turn=m12", "turn=t" + "9" * 19, "after=x", "before=t", "whole=on", "whole=yes", "x=1"])
def test_a_turn_that_cannot_be_meant_is_refused(past: Past, query: str) -> None:
    """With a sentence."""
    past.say("Why?")
    with pytest.raises((Wrong, Missing)):
        past.one(query)


def test_a_result_stands_with_its_call(past: Past) -> None:
    """Also when calls ran side by side; one whose call is not there stands by itself."""
    past.call("Bash", {"command": "ls -la", "description": "list"}, "c1")
    past.call("Read", {"file_path": "/a.py"}, "c2")
    second = past.result("c2", [{"type": "text", "text": "print()"}])
    first = past.result("c1", "no such folder", error=True)
    lost = past.result("c9", "of a call that is not kept")
    found = past.turns()

    calls = [block for turn in found[:2] for block in turn["blocks"]]
    assert [("Bash", "ls -la", "command: ls -la\ndescription: list"), ("Read", "/a.py", "file_path: /a.py")] == [
        (call["name"], call["about"], call["text"]) for call in calls
    ]
    assert [(f"t{first}", "no such folder", True), (f"t{second}", "print()", False)] == [
        (call["result"]["turn"], call["result"]["text"], call["result"]["error"]) for call in calls
    ]
    assert [f"t{lost}"] == [turn["id"] for turn in found[2:]]


def test_a_result_of_another_shape_is_shown_as_the_data_that_it_is(past: Past) -> None:
    """As are a call without arguments and blocks that nobody knows."""
    past.call("mcp__x__y", None, "c1")
    past.result("c1", [{"type": "tool_reference", "tool_name": "Grep"}, {"type": "text", "text": "found"}])
    past.say({"type": "document", "title": "a.pdf", "source": {"type": "base64", "data": "A" * 400}}, {"type": "hologram"}, {"no": "type"})
    call, said_ = past.turns()

    assert "" == call["blocks"][0]["text"]
    assert "tool_reference" in call["blocks"][0]["result"]["text"]
    assert ["[document: a.pdf, 300 bytes]", "[hologram]", "[something]"] == [block["text"] for block in said_["blocks"]]


def image(data: str, media: str = "image/png", kind: str = "base64") -> dict[str, Any]:
    """A picture as the API has it."""
    return {"type": "image", "source": {"type": kind, "media_type": media, "data": data}}


def test_a_picture_is_a_data_address(past: Past) -> None:
    """One that was sent, and one that a tool gave."""
    past.say("look", image(PIXEL))
    past.call("Read", {"file_path": "a.png"}, "c1")
    past.result("c1", [image(PIXEL)])
    prompt, call = past.turns()

    assert f"data:image/png;base64,{PIXEL}" == prompt["blocks"][1]["data"] == call["blocks"][0]["result"]["images"][0]["data"]


@pytest.mark.parametrize(
    "block",
    [
        image(PIXEL, "image/svg+xml"), image(PIXEL, "text/html"), image(PIXEL[:-1]), image('AAAA" onerror="x'), image(""), image("A" * 2_800_000),
        {"type": "image", "source": {"type": "url", "url": "https://evil.example/x.png"}}, {"type": "image"}, {"type": "image", "source": "x"},
    ],
)  # fmt: skip
def test_a_picture_that_is_not_shown_says_so(past: Past, block: dict[str, Any]) -> None:
    """Of a kind that can do something, broken, too large, elsewhere."""
    past.say(block)
    (found,) = past.turns()[0]["blocks"]

    assert "data" not in found
    assert "picture" in found["note"]


def test_pictures_beyond_what_a_page_holds_are_asked_for_one_by_one(past: Past, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whole, by their turn."""
    monkeypatch.setattr(turns, "ALL_BYTES", 100)
    first, second = past.say(image(PIXEL)), past.say(image(PIXEL))
    found = past.turns()

    assert (True, True) == ("data" in found[0]["blocks"][0], found[1]["blocks"][0]["later"])
    assert f"data:image/png;base64,{PIXEL}" == past.one(f"turn=t{second}&whole=on")["turn"]["blocks"][0]["data"]
    assert first < second


def test_a_megabyte_is_cut_and_comes_whole_when_it_is_asked_for(past: Past) -> None:
    """What is folded is cut sooner."""
    long = "word " * 200_000
    prompt = past.say(long)
    past.call("Bash", {"command": "cat"}, "c1")
    result = past.result("c1", long)
    found = past.turns()

    assert (100_000, True, 1_000_000) == (len(found[0]["blocks"][0]["text"]), found[0]["blocks"][0]["cut"], found[0]["blocks"][0]["chars"])
    assert (8_000, True) == (len(found[1]["blocks"][0]["result"]["text"]), found[1]["blocks"][0]["result"]["cut"])
    for turn in (prompt, result):
        (block,) = past.one(f"turn=t{turn}&whole=on")["turn"]["blocks"]
        assert (long, False) == (block["text"], "cut" in block)


def counted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The pieces in which data is laid out, one after the other, as their sizes."""
    pieces: list[int] = []
    monkeypatch.setattr(turns, "LAID_OUT", 50_000)
    whole = json.JSONEncoder.iterencode

    def iterencode(self: json.JSONEncoder, value: Any, _one_shot: bool = False) -> Iterator[str]:
        for piece in whole(self, value, _one_shot):
            if self.indent is not None:
                pieces.append(len(piece))
            yield piece

    monkeypatch.setattr(json.JSONEncoder, "iterencode", iterencode)
    return pieces


@pytest.mark.parametrize("whole", ["", "&whole=on"])
@pytest.mark.parametrize(
    "given",
    [
        {f"k{number}": ["v"] * 5 for number in range(2_000)},
        {f"k{number}": ["v"] * 200 for number in range(100)},
        {"deep": json.loads("[" * 20 + ",".join("[1]" for _ in range(2_000)) + "]" * 20)},
        [["v"] * 5] * 4_000,
    ],
)
def test_what_a_call_was_given_is_laid_out_up_to_a_bound(past: Past, monkeypatch: pytest.MonkeyPatch, given: Any, whole: str) -> None:
    """Many arguments, long ones, deep ones; what is beyond stands in one line, and whoever asks has all of it."""
    pieces = counted(monkeypatch)
    past.call("Write", {"file_path": "/a.json"}, "c1")
    turn = past.call("Write", given, "c2")
    told = past.one(f"turn=t{turn}{whole}")
    block = told["turn"]["blocks"][0] if whole else told["turns"][-1]["blocks"][0]

    assert sum(pieces) <= turns.LAID_OUT + 1_000
    assert (bool(whole), turns.FOLDED) == (len(block["text"]) > turns.FOLDED, len(block["text"][: turns.FOLDED]))
    assert whole or "cut" in block


def test_a_result_of_thousands_of_parts_is_laid_out_up_to_a_bound(past: Past, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the data that it is."""
    pieces = counted(monkeypatch)
    past.result("c1", [{"type": "tool_reference", "tool_name": f"tool{number}"} for number in range(2_000)])
    (block,) = past.turns()[0]["blocks"]

    assert sum(pieces) <= turns.LAID_OUT + 1_000
    assert block["text"].startswith('[{"tool_name": "tool0", "type": "tool_reference"}')


def test_a_sub_agent_stands_under_the_call_that_started_it(past: Past) -> None:
    """By the prompt that it was given, by its id in the result; else where it began."""
    past.say("go")
    past.call("Agent", {"description": "look", "prompt": "Look for\nthe lamp."}, "c1")
    past.say("Look for\nthe lamp.", thread="a1")
    past.say("Found.", kind="reply", thread="a1")
    past.call("Task", {"prompt": "something that was worded anew"}, "c2")
    inner = past.say("worded otherwise", thread="b2")
    past.result("c1", "Found.")
    past.result("c2", "Done. agentId: b2 (for SendMessage)")
    past.say("a helper of nobody's", thread="c3")
    past.say("done", kind="reply")
    found = past.turns()

    assert [None, "a1", "b2", None] == [turn["blocks"][0].get("agent", {}).get("thread") for turn in found]
    assert {"thread": "b2", "turn": f"t{inner}", "spoken": 1, "about": "worded otherwise"}.items() <= found[2]["blocks"][0]["agent"].items()
    assert [["c3"]] == [[agent["thread"] for agent in turn["agents"]] for turn in found if "agents" in turn]
    assert ["Look for\nthe lamp.", "Found."] == said(past.turns("thread=a1"))


def test_sub_agents_that_were_asked_the_same_stand_each_under_a_call_of_their_own(past: Past) -> None:
    """In the order in which they began."""
    for number in range(2):
        past.call("Agent", {"prompt": "Look."}, f"c{number}")
    for number in range(2):
        past.say("Look.", thread=f"a{number}")

    assert ["a0", "a1"] == [turn["blocks"][0]["agent"]["thread"] for turn in past.turns()]


def test_a_sub_agent_is_shown_on_the_page_on_which_it_began(past: Past, monkeypatch: pytest.MonkeyPatch) -> None:
    """And on no other, also where its call is not known."""
    monkeypatch.setattr(history, "TURNS", 2)
    for number in range(6):
        past.say(f"prompt {number}")
        past.say(f"helper {number}", thread=f"a{number}")
    found: list[list[str]] = []
    query = ""
    while True:
        page = past.one(query)
        found.append([agent["thread"] for turn in page["turns"] for agent in turn.get("agents", ())])
        if page["next"] is None:
            break
        query = f"after={page['next']}"

    assert [["a0", "a1"], ["a2", "a3"], ["a4", "a5"]] == found


def test_a_link_to_a_turn_of_a_sub_agent_opens_it(past: Past) -> None:
    """The main conversation is shown where it began."""
    past.say("go")
    past.call("Agent", {"prompt": "Look."}, "c1")
    past.say("Look.", thread="a1")
    inner = past.say("Found.", kind="reply", thread="a1")
    found = past.one(f"turn=t{inner}")

    assert (f"t{inner}", {"thread": "a1", "turn": f"t{inner}"}) == (found["focus"], found["opened"])
    assert "a1" == found["turns"][1]["blocks"][0]["agent"]["thread"]


def test_a_link_to_a_turn_leads_to_its_exchange_however_long_the_session(past: Past) -> None:
    """From there it can be read on in both directions."""
    numbers = [past.say(f"prompt {at // 2}") if at % 2 == 0 else past.say(f"reply {at // 2}", kind="reply") for at in range(400)]
    found = past.one(f"turn=t{numbers[301]}")

    assert (f"t{numbers[301]}", f"t{numbers[300]}") == (found["focus"], found["turns"][0]["id"])
    before = past.one(f"before={found['earlier']}")
    assert f"t{numbers[299]}" == before["turns"][-1]["id"]
    after = past.one(f"after={found['next']}")
    assert int(found["turns"][-1]["id"][1:]) + 1 == int(after["turns"][0]["id"][1:])
    assert (80, None) == (len(before["turns"]), past.one(f"after=t{numbers[350]}")["next"])


def test_a_link_into_a_long_exchange_shows_what_is_near(past: Past) -> None:
    """Not hundreds of calls before it."""
    past.say("work")
    for number in range(200):
        past.call("Bash", {"command": "x"}, f"c{number}")
        past.result(f"c{number}", "y")
    last = past.say("done", kind="reply")
    found = past.one(f"turn=t{last}")

    assert f"t{last}" == found["turns"][-1]["id"]
    assert len(found["turns"]) < 30


def test_branches_and_compactions_are_marked(past: Past) -> None:
    """A rewind at its prompt, a fork with the session that it left, a compaction before what came after it."""
    past.say("one", uuid="u1")
    reply = past.say("answer", kind="reply", uuid="u2", parent="u1")
    past.say("two", uuid="u3", parent="u2")
    journal.unsee(past.store, NAME, past.at + 1)
    past.at += 10
    rewound = past.say("two, in other words", uuid="u4", parent="u2")
    past.say("elsewhere", uuid="u5", parent="u2", session="s2")
    found = past.turns()

    assert [None, None, None, {"turn": f"t{reply}", "session": ""}] == [turn["branch"] for turn in found]
    assert (["compacted"], f"t{rewound}") == ([name for name in found[3] if name == "compacted"], found[3]["id"])
    assert {"turn": f"t{reply}", "session": NAME} == past.one(name="s2")["turns"][0]["branch"]


def test_a_turn_tells_what_became_of_it(past: Past) -> None:
    """Its gist, whether a digest dealt with it, and the memories that came from it."""
    turn = past.say("the gauge is read every ten minutes")
    gists.put(past.store, turn, "When the gauge is read.", 1)
    exchanges.mark_consolidated(past.store, [turn], "written", BEGAN)
    ref, _ = memories.write(past.store, repository=past.here, tier="short", kind="fact", text="every ten minutes", now=BEGAN, turns=[turn])
    (found,) = past.turns()

    assert ("When the gauge is read.", "written") == (found["gist"], found["dealt"])
    assert [{"ref": ref, "kind": "fact", "status": "live", "text": "every ten minutes"}] == found["memories"]


def test_a_forgotten_turn_keeps_its_place_alone(past: Past) -> None:
    """A prompt, and a result, which its call then does not have."""
    prompt = past.say("the secret")
    past.call("Bash", {"command": "x"}, "c1")
    result = past.result("c1", "another secret")
    forget.forget(past.store, [f"t{prompt}", f"t{result}"], "the user's wish", BEGAN + 50)
    found = past.turns()

    assert [(f"t{prompt}", True, []), (f"t{result}", True, [])] == [
        (turn["id"], turn["forgotten"] is not None, turn["blocks"]) for turn in found if turn["kind"] != "call"
    ]
    assert "secret" not in json.dumps(past.one())


def test_hostile_words_come_as_they_are_and_travel_as_ascii(past: Past) -> None:
    """In texts, names of tools and arguments; half a letter cannot break the answer."""
    for text in HOSTILE:
        past.say(text)
        past.call(text, {text: text, "command": text}, text)
        past.result(text, text)
    past.store.execute("UPDATE session SET branch = ?", (HOSTILE[0],))
    found = past.one()

    assert list(HOSTILE) == said(found["turns"])
    json.dumps(found, allow_nan=False).encode("ascii")
    json.dumps(past.page("q=owned&tools=on"), allow_nan=False).encode("ascii")


def test_words_that_were_looked_for_are_told_by_their_beginnings(past: Past) -> None:
    """So that a session marks them in every form."""
    past.say("it was deployed")

    assert ["deploy"] == past.one("q=deploying")["words"]


def test_a_thread_that_nobody_knows_is_an_empty_page(past: Past) -> None:
    """And no fault."""
    past.say("Why?")

    assert [] == past.turns("thread=nobody")
