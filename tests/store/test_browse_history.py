"""The archive looked through: found by words while they are typed, sessions and their turns in pages, what became of a turn."""

from __future__ import annotations

import pytest

from tenon.store import archive, browse_history, db, exchanges, finding, forget, memories
from tenon.store.archive import Row
from tenon.store.db import Store
from tenon.store.finding import Hit, Sought

FIRST = (2**62, 0)
BEGAN = 1_800_000_000.0


class Past:
    """A store in which something is said, a second after the other."""

    def __init__(self, store: Store, repository: int) -> None:
        self.store = store
        self.repository = repository
        self.at = BEGAN

    def say(
        self, text: str, *, kind: str = "prompt", session: str = "s1", thread: str = "", repository: int = 0, client: str = "claude-code",
        uuid: str = "", parent: str = "", block: dict[str, object] | None = None,
    ) -> int:  # fmt: skip
        """The number of the archived turn."""
        self.at += 1.0
        home = repository or self.repository
        number = archive.session(self.store, session, repository=home, folder="/x", at=self.at, client=client)
        role, source = ("user", "tool" if kind == "result" else "user") if kind in ("prompt", "result") else ("assistant", "assistant")
        row = Row(uuid=uuid, parent=parent, role=role, kind=kind, source=source, at=self.at, content=[block or {"type": "text", "text": text}], thread=thread)
        return archive.append(self.store, number, home, [row])[1][0]

    def find(self, text: str, **more: object) -> list[int]:
        """The turns that a search finds on its first page."""
        return [hit.turn for hit in self.page(text, **more)[0]]

    def page(self, text: str, **more: object) -> tuple[list[Hit], tuple[int, int] | None]:
        """A page of a search."""
        told: dict[str, object] = {"before": FIRST, "limit": 50, **more}
        return finding.search(self.store, Sought(text), **told)  # type: ignore[arg-type]


@pytest.fixture
def past(store: Store, repository: int) -> Past:
    """Nothing said yet."""
    return Past(store, repository)


def test_every_word_must_be_there_and_the_newest_comes_first(past: Past) -> None:
    """In whatever order and form."""
    old = past.say("we deploy the gauge on Fridays")
    past.say("the gauge is broken")
    new = past.say("Deployed: one gauge.")

    assert [new, old] == past.find("gauge deploy")
    assert [] == past.find("gauge deploy Sunday")


@pytest.mark.parametrize("typed", ["de", "dep", "deploym", "deploye", "deployi", "deployin", "deploying"])
def test_the_last_word_need_not_be_typed_to_its_end(past: Past, typed: str) -> None:
    """Also where its ending is half typed, which the index of stems does not have."""
    found = past.say("we deployed it; the deployment went well")

    assert [found] == past.find(typed)


def test_a_store_that_is_only_read_is_searched_too(past: Past) -> None:
    """And not written to."""
    found = past.say("we deployed it")
    past.store.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    with open(past.store.path, "rb") as file:
        before = file.read()
    with db.open_reader(past.store.path) as reader:
        hits, _ = finding.search(reader, Sought("depl"), before=FIRST, limit=5)
    with open(past.store.path, "rb") as file:
        assert ([found], before) == ([hit.turn for hit in hits], file.read())


def test_a_common_beginning_is_found_by_the_newest_words_that_begin_so(past: Past, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the index would be too slow for it."""
    monkeypatch.setattr(finding, "COMMON", 1)
    found = [past.say(f"the calibration {word}") for word in ("gauge", "gauges", "gaugemaster", "clock")]

    assert found[2::-1] == past.find("calibration gaug")


def test_a_word_before_the_last_is_meant_as_it_stands(past: Past) -> None:
    """A beginning of it is not enough."""
    past.say("the gaugemaster reads")

    assert [] == past.find("gauge reads")


def test_words_in_quotes_must_stand_side_by_side(past: Past) -> None:
    """In that order."""
    found = past.say("the tide gauge is read")
    past.say("the gauge of the tide")

    assert [found] == past.find('"tide gauge"')
    assert [found] == past.find('is "tide gauge')


def test_scripts_without_spaces_and_parts_of_names_are_found(past: Past) -> None:
    """And words with accents by themselves without."""
    found = [past.say(text) for text in ("日本語の検索", "call getUserName there", "für die Prüfung")]

    assert [[found[0]], [found[0]], [found[1]], [found[2]]] == [past.find(text) for text in ("検索", "日", "user", "prüfung fur")]


def test_tools_and_sub_agents_are_looked_through_only_when_asked_for(past: Past) -> None:
    """What was said is in front."""
    said = past.say("the zebra is asked for")
    call = past.say("", kind="call", block={"type": "tool_use", "id": "c1", "name": "Bash", "input": {"command": "ls zebra"}})
    result = past.say("", kind="result", block={"type": "tool_result", "tool_use_id": "c1", "content": "zebra.txt"})
    inner = past.say("a zebra, inside", thread="a1")

    assert [said] == past.find("zebra")
    assert [inner, result, call, said] == past.find("zebra", tools=True)


def test_a_search_keeps_to_a_repository_and_a_client(past: Past, other: int) -> None:
    """Each alone and both."""
    here = past.say("the zebra of here")
    there = past.say("the zebra of there", session="s2", repository=other)
    codex = past.say("the zebra of another client", session="s3", client="codex")

    assert [here, codex] == sorted(past.find("zebra", scope=[past.repository]))
    assert [there] == past.find("zebra", scope=[other])
    assert [codex] == past.find("zebra", client="codex")
    assert [] == past.find("zebra", scope=[other], client="codex")


def test_what_is_only_said_beside_a_turn_is_not_found_in_it(past: Past) -> None:
    """The index has the neighbours' words for recall; here they would be wrong."""
    asked = past.say("where is the zebra")
    past.say("in the stable", kind="reply")

    assert [asked] == past.find("zebra")


def test_pages_give_every_turn_once_whatever_its_length(past: Past) -> None:
    """A turn of several passages with the word is one hit, also where a page ends in it."""
    wanted = [past.say("zebra " * 2000 if number % 3 == 0 else f"zebra {number}") for number in range(11)]
    found: list[int] = []
    before: tuple[int, int] | None = FIRST
    while before is not None:
        hits, before = past.page("zebra", before=before, limit=2)
        found += [hit.turn for hit in hits]

    assert wanted[::-1] == found


def test_a_search_looks_at_so_much_and_goes_on_from_there(past: Past, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nearly nothing that has the word is wanted."""
    monkeypatch.setattr(finding, "LOOKED_AT", 10)
    monkeypatch.setattr(finding, "A_STEP", 5)
    said = past.say("the zebra is asked for")
    for _ in range(30):
        past.say("", kind="result", block={"type": "tool_result", "content": "zebra"})
    hits, following = past.page("zebra")
    assert [] == hits
    pages = 1
    while following is not None and not hits:
        hits, following = past.page("zebra", before=following)
        pages += 1

    assert ([said], 3) == ([hit.turn for hit in hits], pages)


def test_what_is_forgotten_is_not_found(past: Past) -> None:
    """Nor are its words."""
    gone, kept = past.say("the zebra was here"), past.say("a zebra, another one")
    forget.forget(past.store, [f"t{gone}"], "the user's wish", BEGAN + 99)

    assert [kept] == past.find("zebra")


@pytest.mark.parametrize(
    "typed", ['"', '""', "AND", "NEAR(zebra, 2)", "zebra*", 'text : "x', "-zebra", "^zebra", "\ud83d", "\0", "( ) { }", "'; --", "a" * 200]
)
def test_whatever_is_typed_is_words_and_no_expression(past: Past, typed: str) -> None:
    """Nothing is refused, and nothing but words is meant."""
    said = past.say("the zebra was near")

    assert past.find(typed) in ([], [said])


def test_a_hit_says_where_in_the_turn_it_is(past: Past) -> None:
    """Its passage, of the text that goes with it."""
    past.say("something else. " * 300 + "\n\nthe zebra.")
    (hit,), _ = past.page("zebra")

    assert "zebra" in hit.text[hit.first : hit.last]
    assert hit.first > 1600


def test_sessions_come_in_pages_the_last_one_first(past: Past, other: int) -> None:
    """Each once, also those that went on at the same second; and only those of a repository or a client."""
    for number in range(7):
        past.at = BEGAN + number // 2
        past.say("hello", session=f"s{number}", repository=other if number % 2 else 0, client="codex" if number == 3 else "claude-code")
    found: list[str] = []
    after = browse_history.NEWEST
    while True:
        page = browse_history.sessions(past.store, None, "", after, 2)
        if not page:
            break
        found += [session.name for session in page]
        after = (page[-1].last, page[-1].id)

    assert ["s6", "s5", "s4", "s3", "s2", "s1", "s0"] == found
    assert ["s5", "s3", "s1"] == [one.name for one in browse_history.sessions(past.store, [other], "", browse_history.NEWEST, 9)]
    assert ["s3"] == [one.name for one in browse_history.sessions(past.store, [other], "codex", browse_history.NEWEST, 9)]
    assert ["claude-code", "codex"] == browse_history.clients(past.store)


def test_a_session_is_known_by_its_name_and_by_its_beginning(past: Past) -> None:
    """As the journal keeps it: thirteen characters; of several the last one."""
    for name in ("5e55104e-0000-4000-8000-000000000001", "5e55104e-0000-4000-8000-000000000002", "5e55104e-000"):
        past.say("hello", session=name)

    def named(wanted: str) -> str:
        found = browse_history.session(past.store, wanted)
        return "" if found is None else found.name

    assert "5e55104e-0000-4000-8000-000000000001" == named("5e55104e-0000-4000-8000-000000000001")
    assert "5e55104e-0000-4000-8000-000000000002" == named("5e55104e-0000")
    assert "5e55104e-000" == named("5e55104e-000")
    assert ["", "", ""] == [named(wanted) for wanted in ("5e55104e", "", "%" * 13)]


def talk(past: Past, count: int) -> list[int]:
    """Exchanges of a prompt, a call with its result, and a reply."""
    turns = []
    for number in range(count):
        turns.append(past.say(f"prompt {number}"))
        turns.append(past.say("", kind="call", block={"type": "tool_use", "id": f"c{number}", "name": "Bash", "input": {}}))
        turns.append(past.say("", kind="result", block={"type": "tool_result", "tool_use_id": f"c{number}", "content": f"result {number}"}))
        past.say("inside", thread="a1")
        turns.append(past.say(f"reply {number}", kind="reply"))
    return turns


def test_a_session_is_read_forwards_in_pages_that_part_no_call_from_its_result(past: Past) -> None:
    """Each turn of the thread once, in order; the last page says that nothing follows."""
    wanted, number = talk(past, 5), 1
    found: list[int] = []
    page = browse_history.after(past.store, number, "", 0, rows=2, chars=10**6)
    assert not page.earlier
    while True:
        assert "result" != page.turns[0].kind
        found += [turn.id for turn in page.turns]
        if page.next_at is None:
            break
        page = browse_history.after(past.store, number, "", found[-1], rows=2, chars=10**6)
        assert page.earlier

    assert wanted == found


def test_a_session_is_read_backwards_as_well(past: Past) -> None:
    """Each turn once, each page in order."""
    wanted, number = talk(past, 5), 1
    found: list[int] = []
    page = browse_history.before(past.store, number, "", 2**62, rows=2, chars=10**6)
    while True:
        assert "result" != page.turns[0].kind
        found = [*(turn.id for turn in page.turns), *found]
        if not page.earlier:
            break
        page = browse_history.before(past.store, number, "", found[0], rows=2, chars=10**6)
        assert page.next_at is not None

    assert wanted == found


def test_a_page_ends_where_it_has_enough_characters_but_reaches_the_turn_that_is_wanted(past: Past) -> None:
    """However long the turns before it are."""
    turns = [past.say("x" * 5000) for _ in range(6)]

    assert turns[:2] == [turn.id for turn in browse_history.after(past.store, 1, "", 0, rows=50, chars=6000).turns]
    assert turns[:5] == [turn.id for turn in browse_history.after(past.store, 1, "", 0, rows=50, chars=6000, least=turns[4]).turns]


def test_a_branch_is_a_prompt_that_follows_what_another_followed_before(past: Past) -> None:
    """A rewind; results of calls that ran side by side are none, and a fork says from which session it is."""
    past.say("one", uuid="u1")
    reply = past.say("answer", kind="reply", uuid="u2", parent="u1")
    usual = past.say("two", uuid="u3", parent="u2")
    past.say("", kind="call", uuid="u4", parent="u3", block={"type": "tool_use", "id": "a", "name": "Bash", "input": {}})
    call = past.say("", kind="call", uuid="u5", parent="u4", block={"type": "tool_use", "id": "b", "name": "Bash", "input": {}})
    result = past.say("", kind="result", uuid="u6", parent="u4", block={"type": "tool_result", "tool_use_id": "a", "content": "x"})
    last = past.say("done", kind="reply", uuid="u7", parent="u5")
    rewound = past.say("two, in other words", uuid="u8", parent="u2")
    forked = past.say("elsewhere", uuid="u9", parent="u7", session="s2")

    def of(turn: int, previous: int | None) -> tuple[int, str] | None:
        return browse_history.forked_from(past.store, exchanges.turn(past.store, f"t{turn}"), previous)

    assert [None, None, (reply, ""), (last, "s1")] == [of(usual, reply), of(result, call), of(rewound, last), of(forked, None)]


def test_it_is_known_what_became_of_a_turn(past: Past) -> None:
    """Whether a digest dealt with it, and which memories came from it."""
    one, two, three = (past.say(f"turn {number}") for number in range(3))
    exchanges.mark_consolidated(past.store, [one], "written", BEGAN)
    exchanges.mark_consolidated(past.store, [two], "skipped", BEGAN)
    ref, _ = memories.write(past.store, repository=past.repository, tier="short", kind="fact", text="it is so", now=BEGAN, turns=[one])
    browse_turns = [one, two, three]

    assert {one: "written", two: "skipped"} == browse_history.dealt_with(past.store, browse_turns)
    assert {one: [(ref, "fact", "live", "it is so")]} == browse_history.made(past.store, browse_turns, 9)


def test_threads_are_told_with_their_first_words(past: Past) -> None:
    """And how much was said in each."""
    past.say("main")
    first = past.say("look for it", thread="a1")
    past.say("found", kind="reply", thread="a1")
    second = past.say("look again", thread="b2")

    assert [("a1", first, "look for it", 2), ("b2", second, "look again", 1)] == [
        (thread, turn, text, count) for thread, turn, text, _, count in browse_history.threads(past.store, 1, 9)
    ]
