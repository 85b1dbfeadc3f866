"""Recall: any text is a cue, what fits comes, what does not stays away."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tenon.base.settings import KNOWN
from tenon.base.text import words
from tenon.store import db, fading, memories
from tests.recall import calibration
from tests.recall.conftest import NOW, Mind

FLOOR = float(str(KNOWN["recall.floor"][0]))
DAY = 86400.0
PIECES = st.one_of(
    st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=12),
    st.sampled_from(
        ["AND", "OR", "NOT", "NEAR", "NEAR(", "NEAR/3", '"', "'", "''", "(", ")", "*", ":", "^", "-", "/", "\\", "{", "}", "text:", "rowid:", "+", "\0", "\ud800", "\ufeff", "\u200d", "🦓",
         "👩‍👩‍👧‍👦", "🇦🇹", "設定", "データベース", "库", "한국어", "ไทย", "é", "e\u0301", "İ", "ß", "ﬁ", "²", "\u0300", "%", "_", ";", "--", "zebra", "rowid"]
    ),
)  # fmt: skip


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Mind, dict[str, str]]]:
    """A store of texts in several scripts, and the id of each."""
    texts = (
        "The staging database is called zebra-42 and only Ottilie may restart it.", 'What is the "MoMA" (museum) policy on AND, OR, NOT and NEAR queries?',
        "Der Übergabepunkt heißt Größenwahn und liegt in Żółw.", "データベースの設定は東京の担当者だけが変更できます。", "ฐานข้อมูลทดสอบอยู่ที่กรุงเทพ",
        "배포는 금요일에 하지 않습니다.", "Перезапускать базу может только Оттилия.", "Parties are announced with 🎉🎊 and nothing else; emoji are fine.",
        "C:\\ops\\deploy.sh --force {env} ^main ~/x/y:z",
    )  # fmt: skip
    with db.open_store(str(tmp_path_factory.mktemp("full") / "tenon.db")) as store:
        mind = Mind(store)
        known = {text: mind.write(text) for text in texts}
        for text in texts:
            mind.say(text)
        yield mind, known


@pytest.mark.slow
@settings(max_examples=1000, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(st.lists(PIECES, max_size=12), st.sampled_from(["", " "]), st.data())
def test_any_text_is_a_cue_and_a_document_is_found_by_its_own_words(
    full: tuple[Mind, dict[str, str]], pieces: list[str], glue: str, data: st.DataObject
) -> None:
    """Syntax of SQL, of FTS5 and of nothing: two cues each time, and a known text behind the noise comes first or among the first."""
    mind, known = full
    noise = glue.join(pieces)
    mind.ask(noise, archive=True)
    text = data.draw(st.sampled_from(sorted(known)))
    found = mind.refs(noise + " " + text, strict=data.draw(st.booleans()), k=20)
    assert known[text] in found


@pytest.mark.parametrize("form", ["NFC", "NFD", "NFKC", "NFKD"])
@pytest.mark.parametrize("change", [str.lower, str.upper, str.title, str.casefold])
def test_every_document_is_found_in_any_case_and_composition(full: tuple[Mind, dict[str, str]], form: str, change: object) -> None:
    """As people's keyboards and file systems write."""
    mind, known = full
    for text, ref in known.items():
        assert ref == mind.refs(unicodedata.normalize(form, change(text)))[0]  # type: ignore[operator, arg-type]


@pytest.mark.parametrize(
    ("cue", "text"),
    [
        ("設定", "データベースの設定は東京"), ("東京", "データベースの設定は東京"), ("者", "データベースの設定は東京"), ("東", "データベースの設定は東京"), ("データベース", "データベースの設定は東京"),
        ("กรุงเทพ", "ฐานข้อมูล"), ("ข้อมูล", "ฐานข้อมูล"), ("금요일", "배포는"), ("배포", "배포는"), ("БАЗУ", "Перезапускать"), ("оттилия", "Перезапускать"),
        ("grossenwahn", "Der Übergabepunkt"), ("größenwahn", "Der Übergabepunkt"), ("ubergabepunkt", "Der Übergabepunkt"), ("deploy.sh", "C:\\ops"), ("ottilie's", "The staging"),
    ],
)  # fmt: skip
def test_a_word_of_any_script_finds_its_document(full: tuple[Mind, dict[str, str]], cue: str, text: str) -> None:
    """Two characters of Chinese or Japanese, one alone, Thai and Korean inside a run, Latin with and without its accents; as a prompt too."""
    mind, known = full
    wanted = next(ref for known_text, ref in known.items() if known_text.startswith(text))
    assert wanted in mind.refs(cue)
    assert wanted in mind.refs(cue, strict=True, floor=FLOOR)


# ---------------------------------------------------------------- what comes and what stays away


def test_nothing_fitting_is_an_empty_answer(mind: Mind) -> None:
    """No top four of whatever there is; neither in an empty store."""
    assert [] == mind.refs("zebra")
    mind.write("The giraffe is tall.")
    assert [] == mind.refs("zebra")


def test_k_is_asked_anew_each_time(mind: Mind) -> None:
    """Two and then ten, for the same cue; none when none is wanted."""
    for number in range(12):
        mind.write(f"zebra number {number}")
    assert [2, 10, 0, 0] == [len(mind.refs("zebra", k=k)) for k in (2, 10, 0, -1)]


def test_the_other_repository_is_out_of_scope_and_the_agent_is_everywhere(mind: Mind) -> None:
    """No scope is every repository."""
    here, there = mind.write("zebra here"), mind.write("zebra there", repository=mind.there)
    agent = mind.write("zebra of the agent", repository=None)
    assert {here, agent} == set(mind.refs("zebra"))
    assert {there, agent} == set(mind.refs("zebra", scope=[mind.there]))
    assert {agent} == set(mind.refs("zebra", scope=[]))
    assert {here, there, agent} == set(mind.refs("zebra", scope=None))
    assert {here, there, agent} == set(mind.refs("zebra", scope=[mind.here, mind.there]))


def test_the_other_repositorys_words_stay_in_its_sessions(mind: Mind) -> None:
    """The archive has the same scope."""
    here, there = mind.say("a zebra here"), mind.say("a zebra there", session="elsewhere", repository=mind.there)
    assert [here] == mind.refs("zebra", archive=True)
    assert [there] == mind.refs("zebra", archive=True, scope=[mind.there])
    assert {here, there} == set(mind.refs("zebra", archive=True, scope=None))
    assert [] == mind.refs("zebra", archive=True, scope=[])


def test_what_was_seen_does_not_come_again_and_makes_room(mind: Mind) -> None:
    """It is among the misses, for whoever asks why."""
    refs = [mind.write(f"zebra number {number}") for number in range(3)]
    first = mind.refs("zebra", k=1)
    found = mind.ask("zebra", k=3, seen=first)
    assert set(refs) - set(first) == {hit.candidate.ref for hit in found.hits}
    assert first == [miss.candidate.ref for miss in found.misses]


def test_below_the_floor_nothing_comes(mind: Mind) -> None:
    """At a hit's own evidence it comes, at a hair more it is a miss; by words, by meaning, or by both."""
    mind.write("The zebra is striped.")
    mind.write("auth uses OIDC with refresh rotation")
    mind.say("The giraffe of the zoo sleeps standing.")
    for cue in ("zebra giraffe elephant", "how do we log people in", "does the giraffe sleep?"):
        best = mind.ask(cue, archive=True).hits[0]
        ref = best.candidate.ref
        assert ref in mind.refs(cue, archive=True, floor=best.evidence)
        missed = mind.ask(cue, archive=True, floor=best.evidence + 0.001)
        assert ref not in [hit.candidate.ref for hit in missed.hits]
        assert ref in [miss.candidate.ref for miss in missed.misses]


def test_tier_and_kinds_narrow_the_answer(mind: Mind) -> None:
    """One tier, some kinds, or all but some."""
    short = mind.write("zebra seen")
    long = mind.write("zebra decided", tier="long", kind="decision", reason="agreed")
    gotcha = mind.write("zebra bites", kind="gotcha")
    assert {short, gotcha} == set(mind.refs("zebra", tier="short"))
    assert {long} == set(mind.refs("zebra", tier="long"))
    assert {long, gotcha} == set(mind.refs("zebra", kinds=("decision", "gotcha")))
    assert {short, long} == set(mind.refs("zebra", without=("gotcha",)))
    assert [gotcha] == mind.refs("zebra", tier="short", kinds=("gotcha", "decision"), without=("lesson",))


def test_superseded_and_faded_memories_never_surface(mind: Mind) -> None:
    """The successor does, and a faded one again once it proved right."""
    old, new = mind.write("zebra is on MongoDB"), mind.write("zebra is on PostgreSQL")
    memories.supersede(mind.store, old, new, NOW)
    faded = mind.write("zebra was slow once", now=NOW - 300 * DAY)
    fading.sweep(mind.store, mind.here, NOW, {"short": 0.95, "long": 0.997})
    assert [new] == mind.refs("zebra", scope=None)
    memories.reinforce(mind.store, faded, NOW)
    assert {new, faded} == set(mind.refs("zebra"))


def test_memories_and_the_archive_are_asked_as_told(mind: Mind) -> None:
    """Memories alone, both, or the archive alone."""
    memory, turn = mind.write("zebra remembered"), mind.say("zebra said")
    assert [memory] == mind.refs("zebra")
    assert {memory, turn} == set(mind.refs("zebra", archive=True))
    assert [turn] == mind.refs("zebra", memories=False, archive=True)
    assert [] == mind.refs("zebra", memories=False)


def test_of_the_archive_only_what_was_said_in_other_sessions_comes(mind: Mind) -> None:
    """No tool output, no sub-agent, nothing of the session itself, unless asked for."""
    said = mind.say("a zebra was said")
    reply = mind.say("a zebra was replied", kind="reply", role="assistant")
    result = mind.say("a zebra in a log", kind="result")
    agent = mind.say("a zebra for a sub-agent", thread="a1")
    own = mind.say("a zebra just now", session="this")
    assert {said} == set(mind.refs("zebra", archive=True, not_session="this"))
    assert {said, own} == set(mind.refs("zebra", archive=True, not_session="a session that left nothing"))
    assert {said, own, result, agent} == set(mind.refs("zebra", archive=True, spoken=("prompt", "reply", "result"), threads=True))
    assert {reply} == set(mind.refs("zebra replied", archive=True, not_session="this"))


def test_a_prompt_and_its_answer_come_as_one_and_once(mind: Mind) -> None:
    """By whichever side fits better; when the session has seen the exchange it does not come by the other side."""
    prompt = mind.say("where does the zebra sleep?")
    reply = mind.say("the zebra sleeps in the paddock", kind="reply", role="assistant")
    hit = mind.ask("zebra paddock", archive=True).hits
    assert [(reply, prompt, prompt)] == [(one.candidate.ref, one.candidate.other_ref, one.candidate.exchange) for one in hit]
    assert [] == mind.refs("zebra paddock", archive=True, seen={prompt})


def test_the_stronger_fresher_and_more_cited_of_two_comes_first(mind: Mind) -> None:
    """Words and meaning being equal."""
    plain = mind.write("a zebra, striped")
    strong = mind.write("a zebra: striped", strength=2.0)
    cited = mind.write("a zebra; striped")
    for _ in range(5):
        memories.reinforce(mind.store, cited, NOW, factor=1.0)
    old = mind.write("a zebra (striped)", now=NOW - 90 * DAY)
    assert [strong, cited, plain, old] == mind.refs("zebra")


def test_a_short_term_memory_weighs_less_by_the_day_even_before_a_sweep(mind: Mind) -> None:
    """Strength is of now, not of when it was written."""
    mind.write("zebra", now=NOW)
    assert [1.0, 0.95, 0.6] == [round(mind.ask("zebra", now=NOW + days * DAY).hits[0].parts.strength, 2) for days in (0, 1, 10)]


def test_the_same_question_to_the_same_store_has_the_same_answer(mind: Mind) -> None:
    """Order, scores and words; equals are told apart by their ids."""
    for number in range(20):
        mind.write(f"zebra {chr(97 + number)}")
    answers = [[(hit.candidate.ref, hit.score, hit.words) for hit in mind.ask("the zebra x", k=20).hits] for _ in range(3)]
    assert answers[0] == answers[1] == answers[2]
    assert 20 == len(answers[0])


def test_the_words_of_a_recall_are_those_that_its_hits_share(mind: Mind) -> None:
    """Each once, and never the rest of the cue."""
    mind.write("The zebra is striped.")
    mind.write("Stripes suit a zebra and a tiger.")
    assert ["zebra", "tiger"] == sorted(mind.ask("does the secret zebra know the tiger?").words(), reverse=True)


# ---------------------------------------------------------------- the floor


def answers(mind: Mind, texts: Sequence[str], prompts: Sequence[str], *, spoken: bool) -> list[list[str]]:
    """What a store of these texts, written as memories or said in earlier sessions, tells each prompt, as the prompt hook asks."""
    for number, text in enumerate(texts):
        if spoken:
            mind.say(text, session=f"s{number}", at=NOW - number * 3600)
        else:
            mind.write(text, tier="long", kind="fact", reason="agreed")
    found = [mind.ask(prompt, k=6, floor=FLOOR, strict=True, archive=True).hits for prompt in prompts]
    return [[hit.candidate.text for hit in hits] for hits in found]


@pytest.mark.parametrize("spoken", [False, True], ids=["remembered", "said"])
@pytest.mark.parametrize("texts", [calibration.LARKSPUR, calibration.KESTREL], ids=["larkspur", "kestrel"])
def test_at_most_one_everyday_prompt_in_twenty_gets_anything(mind: Mind, texts: Sequence[str], spoken: bool) -> None:
    """What people ask a coding agent all day has nothing to do with what a project remembers."""
    prompts = (*calibration.EVERYDAY, *calibration.LATER)
    answered = [prompt for prompt, found in zip(prompts, answers(mind, texts, prompts, spoken=spoken)) if found]
    assert len(prompts) >= 130
    assert len(answered) <= 0.05 * len(prompts), answered


@pytest.mark.parametrize("spoken", [False, True], ids=["remembered", "said"])
@pytest.mark.parametrize(
    ("texts", "about"), [(calibration.LARKSPUR, calibration.ABOUT_LARKSPUR), (calibration.KESTREL, calibration.ABOUT_KESTREL)], ids=["larkspur", "kestrel"]
)
def test_nineteen_of_twenty_prompts_about_a_memory_get_it(mind: Mind, texts: Sequence[str], about: Sequence[tuple[str, str]], spoken: bool) -> None:
    """Among the first three, at the same floor."""
    found = answers(mind, texts, [prompt for prompt, _ in about], spoken=spoken)
    missed = [prompt for (prompt, begins), told in zip(about, found) if not any(text.startswith(begins) for text in told[:3])]
    assert len(about) >= 40
    assert len(missed) <= 0.05 * len(about), missed


def test_every_prompt_about_a_memory_names_one(tmp_path: Path) -> None:
    """The tables hold together."""
    for texts, about in ((calibration.LARKSPUR, calibration.ABOUT_LARKSPUR), (calibration.KESTREL, calibration.ABOUT_KESTREL)):
        assert [1] * len(about) == [sum(text.startswith(begins) for text in texts) for _, begins in about]
        assert len(texts) == len(set(texts)) >= 40
        assert all(words(text) for text in texts)
