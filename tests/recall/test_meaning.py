"""Recall by words and by meaning: what shares no word is found, what nobody asked for stays away, and without vectors the words go on."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tenon.base import settings
from tenon.recall import offer, rank
from tenon.recall.recall import MEANT
from tenon.store import db, edges, fading, forget, memories, vectors
from tenon.vectors import table
from tests.recall import calibration
from tests.recall.conftest import NOW, Mind

DAY = 86400.0
ROOT = Path(__file__).resolve().parents[2]
PYTHONS = Path.home() / ".pyenv" / "versions"  # of the real home, before a test has its own
OIDC = "auth uses OIDC with refresh rotation"
# What is asked, and the memory that answers it without a word of it.
OTHER_WORDS = (
    ("how do we log people in", OIDC),
    ("how do our users sign in", OIDC),
    ("how do we send mail", "The newsletter goes out by SMTP through Postmark"),
    ("how do we translate the text", "Localisation goes through Weblate"),
)
UNRELATED = (
    "write a short poem about the sea and the moon", "please compare marmalade recipes from Dundee", "how do I centre a div with CSS grid?", "can you make this better please, thanks",
    "what is the difference between a list and a tuple?", "explain async and await to me like I am five", "who won the football world cup in 1998?",
    "rename the variable tmp to something more meaningful", "thanks, that is perfect; now do the same for the other file", "how many grams of flour go into a pancake?",
)  # fmt: skip
HOSTILE = {
    "a megabyte": "zebra giraffe " * 75_000, "a megabyte without a space": "zebra" * 210_000, "NUL": "zeb\0ra \0", "only NUL": "\0" * 100, "lone surrogates": "\ud800 zebra \udfff\udc00",
    "only lone surrogates": "\ud83d" * 50, "only stop words": "the of and is it to what how do we", "ten thousand words": " ".join(f"word{number}" for number in range(10_000)),
    "a megabyte beyond ASCII": "zébra 設定 " * 70_000, "form feeds": "zebra\f\f\fgiraffe\f", "syntax": '") OR ("a" NEAR/0 * ^ text: {',
}  # fmt: skip


def filled(mind: Mind, count: int = 40) -> None:
    """Memories of a project, none of which is about what is asked here."""
    for text in calibration.KESTREL[:count]:
        mind.write(text, tier="long", kind="fact", reason="agreed")


def exchange(mind: Mind, prompt: str, reply: str, *, at: float = NOW, session: str = "earlier", **more: Any) -> str:
    """The id of the prompt of an archived exchange."""
    ref = mind.say(prompt, at=at, session=session, **more)
    mind.say(reply, at=at + 20, session=session, kind="reply", role="assistant", **more)
    return ref


def offered(mind: Mind, prompt: str, session: str = "now") -> list[str]:
    """The texts that the hook and the proxy would put in front of the prompt."""
    found = offer.look(mind.store, prompt, session=session, repository=mind.here, chosen=settings.load(), now=NOW)
    return [hit.candidate.text for hit in found.hits]


# ---------------------------------------------------------------- by meaning


@pytest.mark.parametrize("others", [calibration.LARKSPUR[1:41], calibration.KESTREL[:40]], ids=["larkspur", "kestrel"])
def test_how_people_log_in_finds_the_memory_about_oidc_among_forty_others(mind: Mind, monkeypatch: pytest.MonkeyPatch, others: tuple[str, ...]) -> None:
    """Among the first five, and put in front of the prompt, though they share no word; nobody is asked over a network."""

    def refused(*_: object) -> None:
        raise AssertionError("a network was asked")

    for name in ("connect", "connect_ex", "bind", "sendto"):
        monkeypatch.setattr(socket.socket, name, refused)
    monkeypatch.setattr(socket, "getaddrinfo", refused)
    for text in others:
        mind.write(text)
    wanted = mind.write(OIDC)
    assert wanted in mind.refs("how do we log people in", k=5)
    assert OIDC in offered(mind, "how do we log people in")


@pytest.mark.parametrize(("cue", "text"), OTHER_WORDS)
@pytest.mark.parametrize("spoken", [False, True], ids=["memory", "said"])
def test_what_answers_in_other_words_comes(mind: Mind, cue: str, text: str, spoken: bool) -> None:
    """A memory or an exchange among the first five, with no word in common, and enough for the floor."""
    filled(mind)
    wanted = mind.say(text) if spoken else mind.write(text)
    hits = {hit.candidate.ref: hit for hit in mind.ask(cue, k=5, archive=True, strict=True, floor=rank.ENOUGH).hits}
    assert wanted in hits
    assert [] == hits[wanted].words


def test_a_text_that_shares_no_word_answers_nothing_by_a_chance_likeness(mind: Mind) -> None:
    """Not even without a floor: some nearness has every text."""
    filled(mind)
    for cue in ("quokka zorbing", "a poem about the moon", "marmalade"):
        hits = mind.ask(cue, k=60).hits
        assert all(hit.words or (hit.parts.cosine or 0.0) >= MEANT for hit in hits)
        assert len(hits) < 40


@pytest.mark.parametrize("prompt", UNRELATED)
def test_an_unrelated_prompt_is_offered_nothing(mind: Mind, prompt: str) -> None:
    """Neither of what is remembered nor of what was said."""
    filled(mind)
    mind.write(OIDC)
    for number, (said, text) in enumerate(zip([cue for cue, _ in calibration.ABOUT_LARKSPUR[:20]], calibration.LARKSPUR)):
        exchange(mind, said, text, session=f"s{number}")
    assert [] == offered(mind, prompt)


# Asked as one asks memory, about what nobody ever told it.
NEVER_TOLD = (
    "how do we bake bread for the team?", "what did we decide about the kitchen?", "which airline did we fly with?", "where do we keep the umbrellas?", "what is our policy on pets?",
    "how do we water the plants", "why did we paint the wall green?", "who do we call about the elevator?", "what did you say about my handwriting?", "do you remember the name of my dog?",
)  # fmt: skip


@pytest.mark.parametrize("texts", [calibration.LARKSPUR, calibration.KESTREL], ids=["larkspur", "kestrel"])
def test_a_question_to_memory_about_what_was_never_told_is_seldom_offered_anything(mind: Mind, texts: tuple[str, ...]) -> None:
    """To ask «how do we» or «what did you say» is not enough: of ten such questions at most two."""
    for text in texts:
        mind.write(text, tier="long", kind="fact", reason="agreed")
    answered = {prompt: found for prompt in NEVER_TOLD if (found := offered(mind, prompt, session=prompt))}
    assert len(answered) <= 2, answered


def test_words_and_meaning_together_go_before_either_alone(mind: Mind) -> None:
    """The cue's own words in another sense come after an answer in the same ones."""
    filled(mind)
    both = mind.write("People log in through OIDC; the login page is Keycloak's")
    words, meaning = mind.write("The log of people met is in log.txt"), mind.write(OIDC)
    found = mind.refs("how do people log in?", k=5)
    assert both == found[0]
    assert {words, meaning} < set(found)


# ---------------------------------------------------------------- the rankings


def test_the_classic_ranking_is_the_formula_it_is_known_for(mind: Mind) -> None:
    """0.4 of the best BM25, 0.4 of the cosine, 0.1 of the strength, 0.05 each of recency and citations."""
    ref = mind.write("zebra stripes confuse lions")
    mind.write("The giraffe is tall.")
    best = mind.ask("zebra stripes confuse lions", ranking="classic").hits[0]
    assert (ref, 0.95) == (best.candidate.ref, round(best.score, 2))  # cosine 1, strength 1, fresh, never cited
    for _ in range(5):
        memories.reinforce(mind.store, ref, NOW, factor=1.0)
    assert 1.0 == round(mind.ask("zebra stripes confuse lions", ranking="classic").hits[0].score, 2)
    for hit in mind.ask("does the zebra know the lion?", ranking="classic", archive=True, k=20, now=NOW + 10 * DAY).hits:
        parts = hit.parts
        cosine = max(0.0, parts.cosine or 0.0)
        assert hit.score == pytest.approx(0.4 * parts.bm25 + 0.4 * cosine + 0.1 * parts.strength + 0.05 * parts.recency + 0.05 * parts.citations)


def test_the_ranking_of_the_settings_is_the_one_of_the_offer(mind: Mind, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same hits may come in another order."""
    ref = mind.write("zebra stripes confuse lions")
    for ranking, weights in rank.WEIGHTS.items():
        monkeypatch.setenv("TENON_RECALL_RANKING", ranking)
        hit = offer.look(mind.store, "zebra stripes confuse lions", session="s", repository=mind.here, chosen=settings.load(), now=NOW).hits[0]
        assert hit.candidate.ref == ref
        assert hit.score == pytest.approx(sum(weight * value for weight, value in zip(weights, hit.parts.values())))


# ---------------------------------------------------------------- what else a cue asks for


@pytest.mark.parametrize("cue", ["what did we do yesterday?", "what happened yesterday", "yesterday", "what did we do with the tiles yesterday?"])
def test_yesterdays_exchange_comes_first(mind: Mind, cue: str) -> None:
    """Also when the cue shares no other word with it, and others were said before and after."""
    for number, text in enumerate(calibration.KESTREL[:20]):
        exchange(mind, calibration.ABOUT_KESTREL[number][0], text, at=NOW - (number + 3) * DAY, session=f"s{number}")
    exchange(mind, "Make the header sticky.", "It sticks now.", at=NOW - 600, session="today")
    wanted = exchange(mind, "Please move the map tiles into a bucket.", "Done: the tiles are in the bucket.", at=NOW - DAY, session="yesterday")
    assert wanted == mind.ask(cue, archive=True).hits[0].candidate.exchange


def test_a_memory_of_the_time_that_is_named_comes_before_others(mind: Mind) -> None:
    """Of two that answer alike, and of those that do not answer, the one that was written then."""
    for number, text in enumerate(calibration.KESTREL[:20]):
        mind.write(text, now=NOW - number * DAY)
    old, then = mind.write("The queue is a Kafka topic", now=NOW - 40 * DAY), mind.write("The queue is a NATS subject", now=NOW - 3 * DAY)
    found = mind.refs("what did we say three days ago about the queue?", k=20)
    assert then == found[0]
    assert old in found


@pytest.mark.parametrize("cue", ["what is the retry budget of the gateway?", "how many attempts has the gateway"])
def test_the_newer_of_two_that_contradict_each_other_comes_first(mind: Mind, cue: str) -> None:
    """What was corrected later holds, whichever was archived first."""
    for number, text in enumerate(calibration.LARKSPUR[10:30]):
        mind.say(text, at=NOW - (30 - number) * DAY, session=f"s{number}")
    new = mind.say("The retry budget of the gateway is seven attempts.", at=NOW - 2 * DAY, session="later")
    old = mind.say("The retry budget of the gateway is five attempts.", at=NOW - 20 * DAY, session="before")
    assert [new, old] == mind.refs(cue, archive=True, k=2)


def test_whose_words_are_asked_for_comes_first(mind: Mind) -> None:
    """The user's, or the model's; and in a conversation of several people the one who is named."""
    filled(mind, 20)
    user = mind.say("I want tabs for indentation here.", session="u")
    model = mind.say("I want tabs for indentation here.", session="m", kind="reply", role="assistant")
    assert [user, model] == mind.refs("what did I say about tabs?", archive=True, k=2)
    assert [model, user] == mind.refs("what did you suggest about tabs?", archive=True, k=2)
    marek, ilse = mind.say("Marek: the cache is too small.", session="p"), mind.say("Ilse: the cache is too small.", session="q")
    assert [marek, ilse] == mind.refs("what did Marek think about the small cache?", archive=True, memories=False, k=2)
    assert [ilse, marek] == mind.refs("and what did Ilse think about the small cache?", archive=True, memories=False, k=2)


def test_when_and_how_many_prefer_what_tells_it(mind: Mind) -> None:
    """Of two exchanges about the same."""
    when, why = mind.say("The invoices move to Dramatiq in October.", session="a"), mind.say("The invoices move to Dramatiq for speed.", session="b")
    assert [when, why] == mind.refs("when do the invoices move to Dramatiq?", archive=True)
    many, some = mind.say("The gateway makes seven retries there.", session="c"), mind.say("The gateway makes patient retries there.", session="d")
    assert [many, some] == mind.refs("how many retries does the gateway make?", archive=True, k=2)


# ---------------------------------------------------------------- what an edge leads to


def link(mind: Mind, origin: str, target: str, *, approved: bool = True, kind: str = "supports") -> None:
    """An edge between two memories."""
    edge = edges.propose(mind.store, mind.here, origin, target, kind, "it belongs together", NOW)
    if approved:
        edges.approve(mind.store, mind.here, edge, NOW)


@pytest.mark.parametrize("forward", [True, False], ids=["to it", "from it"])
def test_what_an_approved_edge_leads_to_comes_to_mind_with_a_memory(mind: Mind, forward: bool) -> None:
    """After it, less surely, though it shares no word with the cue; an edge that waits for approval leads nowhere."""
    filled(mind, 20)
    first, second, other = mind.write("The zebra sleeps in the paddock"), mind.write("Porridge is salted on Mondays"), mind.write("Kettles boil at noon")
    link(mind, *((first, second) if forward else (second, first)))
    link(mind, first, other, approved=False)
    hits = {hit.candidate.ref: hit for hit in mind.ask("where does our zebra sleep?", k=20).hits}
    assert first == next(iter(hits))
    assert second in hits
    assert other not in hits or hits[other].parts.linked == 0.0
    assert hits[first].evidence > hits[second].evidence > 0.0
    assert hits[second].parts.linked > 0.0


def test_an_edge_leads_only_to_what_may_surface(mind: Mind) -> None:
    """Not to what was superseded or faded or forgotten, nor out of what the recall was narrowed to."""
    first = mind.write("The zebra sleeps in the paddock")
    gone, faded, long, forgotten = (
        mind.write(f"Porridge number {number} is salted", tier="long" if number == 2 else "short", reason="agreed") for number in range(4)
    )
    for other in (gone, faded, long, forgotten):
        link(mind, first, other)
    memories.supersede(mind.store, gone, mind.write("Kettles boil at noon"), NOW)
    forget.forget(mind.store, [forgotten], "wish", NOW)
    mind.store.execute("UPDATE memory SET status = 'faded' WHERE ref = ?", (faded,))
    cue = "where does the zebra sleep?"
    found = mind.ask(cue, k=20)
    assert {first, long} <= {hit.candidate.ref for hit in found.hits}
    assert not {gone, faded, forgotten} & {hit.candidate.ref for hit in (*found.hits, *found.misses)}
    short, other_tier = mind.ask(cue, k=20, tier="short"), mind.ask(cue, k=20, tier="long")
    assert first == short.hits[0].candidate.ref
    assert long not in {hit.candidate.ref for hit in (*short.hits, *short.misses)}
    assert first not in {hit.candidate.ref for hit in (*other_tier.hits, *other_tier.misses)}


# ---------------------------------------------------------------- without vectors

GONE = {
    "vectors": ("DELETE FROM vector",), "blocks": ("DELETE FROM block",), "both": ("DELETE FROM vector", "DELETE FROM block"),
    "the model": ("DELETE FROM vector", "DELETE FROM block", "DELETE FROM model"),
}  # fmt: skip


@pytest.mark.parametrize("gone", GONE)
def test_a_store_that_lost_its_vectors_recalls_by_words(mind: Mind, gone: str) -> None:
    """Whatever of them is missing: the memory and the exchange come, at the default floor too."""
    filled(mind)
    memory, said = mind.write("The zebra sleeps in the paddock"), exchange(mind, "Where does the quokka sleep?", "The quokka sleeps under the porch.")
    for statement in GONE[gone]:
        mind.store.execute(statement)
    for ranking in rank.WEIGHTS:
        assert [memory] == mind.refs("where does the zebra sleep?", k=1, ranking=ranking, floor=rank.ENOUGH)
        assert said == mind.ask("where does the quokka sleep?", archive=True, ranking=ranking, floor=rank.ENOUGH).hits[0].candidate.exchange
    assert ["The zebra sleeps in the paddock"] == offered(mind, "where is the zebra's paddock?")


def test_without_a_table_recall_goes_on_by_words(mind: Mind, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What was written with one or without one; nothing fails, and nothing is embedded."""
    before = mind.write("The zebra sleeps in the paddock")
    with monkeypatch.context() as patch:
        patch.setattr(table.shared, "__defaults__", (str(tmp_path / "no table.bin"),))
        assert table.shared() is None
        without = mind.write("The quokka sleeps under the porch")
        said = exchange(mind, "Where is the giraffe?", "The giraffe is in the tall barn.")
        assert [before] == mind.refs("zebra paddock")
        assert [without] == mind.refs("where does the quokka sleep?", k=1)
        assert said == mind.ask("giraffe barn", archive=True).hits[0].candidate.exchange
        assert [None] == [hit.parts.cosine for hit in mind.ask("quokka porch").hits]
        assert [] == mind.refs("where do striped animals rest")
    assert [without] == mind.refs("where does the quokka sleep?", k=1)


def test_a_third_of_the_words_is_a_third_of_the_evidence(mind: Mind, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Without a table: at 0.33 it comes, at 0.34 it is a miss."""
    monkeypatch.setattr(table.shared, "__defaults__", (str(tmp_path / "no table.bin"),))
    ref = mind.write("The zebra is striped.")
    cue = "zebra giraffe elephant"
    assert [ref] == mind.refs(cue, floor=0.33)
    missed = mind.ask(cue, floor=0.34)
    assert ([], [ref], 0.33) == (missed.hits, [miss.candidate.ref for miss in missed.misses], round(missed.misses[0].evidence, 2))


# ---------------------------------------------------------------- what a vector must not bring back


def test_what_is_superseded_revised_or_forgotten_does_not_come_by_its_meaning(mind: Mind) -> None:
    """Its vector goes with it, of memories and of what was said."""
    filled(mind, 20)
    cue = "how do we log people in"
    old, new = mind.write(OIDC), mind.write("The kettle boils at noon")
    assert old in mind.refs(cue, k=5)
    memories.supersede(mind.store, old, new, NOW)
    revised = mind.write("people sign in by OIDC")
    memories.revise(mind.store, revised, "The porridge is salted", "it changed", NOW)
    forgotten = mind.write("authentication goes through OIDC")
    said = exchange(mind, "Use OIDC for the sign-in.", "The login speaks OIDC now.")
    reply = f"t{int(said[1:]) + 1}"
    before = {hit.candidate.exchange for hit in mind.ask(cue, k=60, archive=True).hits}
    assert {forgotten, said} <= before
    forget.forget(mind.store, [forgotten, said, reply], "wish", NOW)
    after = mind.ask(cue, k=60, archive=True)
    assert not {old, forgotten, said, reply} & {hit.candidate.ref for hit in (*after.hits, *after.misses)}
    assert [] == [hit.candidate.text for hit in (*after.hits, *after.misses) if hit.candidate.ref == revised and (hit.parts.cosine or 0.0) >= MEANT]


def test_a_faded_memory_does_not_come_by_its_meaning_until_it_proves_right(mind: Mind) -> None:
    """It keeps its vector for that."""
    faded = mind.write(OIDC, now=NOW - 300 * DAY)
    fading.sweep(mind.store, mind.here, NOW, {"short": 0.95, "long": 0.997})
    assert [] == mind.refs("how do we log people in")
    memories.reinforce(mind.store, faded, NOW)
    assert [faded] == mind.refs("how do we log people in")


@pytest.mark.parametrize("others", [0, 3000])
def test_nothing_of_another_repository_comes_by_its_meaning(mind: Mind, others: int) -> None:
    """Neither its memories nor its exchanges, however near and however many; what is the agent's everywhere comes."""
    cue = "how do we log people in"
    filled(mind, 10)
    there = mind.write(OIDC, repository=mind.there)
    said = mind.say("people sign in by OIDC", session="elsewhere", repository=mind.there)
    if others:
        model, unit = vectors.builtin(mind.store), table.shared()
        assert model is not None
        assert unit is not None
        near = unit.embed(cue)
        assert near is not None
        vectors.put(mind.store, model, vectors.MEMORY, [(1_000_000 + row, mind.there, near) for row in range(others)])
    agent = mind.write("users log in through OIDC", repository=None)
    here = mind.ask(cue, k=60, archive=True)
    assert agent == here.hits[0].candidate.ref
    assert not {there, said} & {hit.candidate.ref for hit in (*here.hits, *here.misses)}
    if not others:  # else those are nearer still, there
        assert {there, said, agent} <= set(mind.refs(cue, k=60, archive=True, scope=[mind.there]))


def test_narrowing_holds_for_what_only_the_meaning_finds(mind: Mind) -> None:
    """Tier, kinds, sub-agents, tool results and the session itself, as for words."""
    cue = "how do we log people in"
    short = mind.write(OIDC)
    long = mind.write("people sign in by OIDC", tier="long", kind="decision", reason="agreed")
    own, agent = mind.say("The login speaks OIDC.", session="this"), mind.say("The login speaks OIDC.", thread="a1")
    assert [short] == mind.refs(cue, tier="short")
    assert [long] == mind.refs(cue, kinds=("decision",))
    assert [short] == mind.refs(cue, without=("decision",))
    assert [] == mind.refs(cue, memories=False, archive=True, not_session="this")
    assert {own} == set(mind.refs(cue, memories=False, archive=True))
    assert {own, agent} == set(mind.refs(cue, memories=False, archive=True, threads=True))


# ---------------------------------------------------------------- any cue, the same answer


@pytest.mark.parametrize("strict", [True, False], ids=["prompt", "search"])
@pytest.mark.parametrize("cue", HOSTILE.values(), ids=HOSTILE)
def test_no_cue_is_too_strange(mind: Mind, cue: str, strict: bool) -> None:
    """Each is answered, be it by nothing, and the next one as ever."""
    filled(mind, 10)
    mind.write("The zebra, the giraffe and word9999 are in the zoo")
    exchange(mind, "Where is the zebra?", "The zebra is with the giraffe.")
    for ranking in rank.WEIGHTS:
        found = mind.ask(cue, strict=strict, archive=True, ranking=ranking)
        assert all(hit.evidence <= 1.0 for hit in found.hits)
    assert isinstance(offered(mind, cue), list)
    assert "The zebra, the giraffe and word9999 are in the zoo" in offered(mind, "where in the zoo is the zebra?")


ASK = """
import sys
sys.path[:0] = {path!r}
from tenon.store import db
from tenon.recall.recall import recall
with db.open_store({store!r}) as store:
    for ranking in ("fused", "classic"):
        for cue in {cues!r}:
            found = recall(store, cue, scope=[1], k=20, now={now!r}, per_day={{"short": 0.95, "long": 0.997}}, archive=True, ranking=ranking)
            print(ranking, cue, [(hit.candidate.ref, round(hit.score, 9), round(hit.evidence, 9), hit.parts.cosine, hit.words) for hit in (*found.hits, *found.misses)])
"""
CUES = ["how do we log people in", "what did we do yesterday?", "restart the staging database", "who maintains the gateways and when?", "データ", "", "the of and"]  # fmt: skip


def pythons() -> list[str]:
    """The Python of the tests, and of the others that are here the oldest that Tenon runs on and the newest."""
    others = sorted(PYTHONS.glob("3.9.*/bin/python"))[:1] + sorted(PYTHONS.glob("3.1[3-9].*/bin/python"))[-1:]
    return [sys.executable, *map(str, others)]


def test_the_same_store_gives_the_same_answer_in_any_process(tmp_path: Path) -> None:
    """Hits, misses, order, scores and cosines; with another seed for hashes and with another Python."""
    path = str(tmp_path / "tenon.db")
    with db.open_store(path) as store:
        mind = Mind(store)
        filled(mind)
        mind.write(OIDC)
        for number, text in enumerate(calibration.LARKSPUR):
            exchange(mind, text, calibration.KESTREL[number % 40], at=NOW - number * DAY / 2, session=f"s{number // 3}")
    code = ASK.format(path=[str(ROOT / "scripts")], store=path, cues=CUES, now=NOW)
    answers = []
    for number, python in enumerate((sys.executable, *pythons())):
        done = subprocess.run(
            [python, "-c", code], capture_output=True, env={**os.environ, "PYTHONHASHSEED": str(number), "PYTHONIOENCODING": "utf-8"}, timeout=60, check=False
        )
        assert (0, b"") == (done.returncode, done.stderr), python
        answers.append(done.stdout.decode().splitlines())
    assert 2 * len(CUES) == len(answers[0])
    assert all(answer == answers[0] for answer in answers)


def test_two_stores_of_the_same_texts_answer_alike(tmp_path: Path) -> None:
    """In whatever order the repositories' own texts were written."""
    told = []
    for name, step in (("a", 1), ("b", -1)):
        with db.open_store(str(tmp_path / f"{name}.db")) as store:
            mind = Mind(store)
            for text in calibration.KESTREL[:40][::step]:
                mind.write(text)
            told.append([[(hit.candidate.text, round(hit.score, 9)) for hit in mind.ask(cue, k=20).hits] for cue, _ in calibration.ABOUT_KESTREL])
    assert told[0] == told[1]
