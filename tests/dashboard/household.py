"""A home with all that a dashboard can show: scripted sessions, what plain code and a digest made of them, links, an identity, prompts answered, hostile texts."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from bench import scripted
from tenon.base import paths, settings
from tenon.base.errors import TenonError
from tenon.digest import associating, capture, spotting
from tenon.recall import offer
from tenon.store import associations, db, edges, identity, journal, memories, places, pressure
from tenon.store.db import Store
from tests.digest.minds import Mind, remember
from tests.fakes.transcripts import Transcript

REPOSITORIES = ("mirador", "orchard")
SPOT_S = 60.0
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
LONG = "word " * 200_000  # a megabyte
HOSTILE = (
    '<script>document.title = "owned"</script><img src=x onerror="document.title=\'owned\'">',
    "</style></script></textarea>--> ]]> <base href='https://evil.example/'>",
    "\u202egnihtemos\u202c \u2066hidden\u2069 \u200fmarks\u200e in the text",
    "javascript:alert(1) data:text/html,<script>alert(1)</script>",
    "half a letter \ud83d and a \x1b[31mterminal\x07",
    "unbroken" * 400,
)


@dataclass
class Household:
    """What is in the home, by the names that tests use."""

    home: Path
    agent: str
    memory: str  # a memory with edges, associations, revisions, and prompts that it answered
    session: str  # a session with a sub-agent, an image, a long turn
    digest: int  # one that a model made
    hostile: list[str]  # memories


def fill(home: Path, agent: str = "default") -> Household:
    """The home, filled; TENON_HOME is set to it already."""
    with db.open_store(paths.store_path(agent)) as store:
        told = [session for session in scripted.sessions() if session.repository in REPOSITORIES]
        filled = scripted.fill(store, told, str(home.parent / "transcripts"), remembered=True)
        while not spotting.catch_up(store, now=time.time(), budget_s=SPOT_S).finished:
            pass
        here = filled.repositories[REPOSITORIES[0]]
        refs = [ref for ref in filled.facts if memories.get(store, ref).repository == here and memories.get(store, ref).status == "live"]
        _linked(store, here, refs)
        session = _session(store, home, told[0].folder)
        digest = _digested(store, here)
        for statement in ("I say where a number comes from before I use it.", "I ask before anything is deleted."):
            identity.add(store, statement, time.time())
        identity.correct(store, identity.held(store)[0].ref, "I say where each number comes from.", time.time())
        hostile = [
            memories.write(
                store, repository=here, tier="long", kind="fact", text=text, reason=text[:200], labels=[text[:80]], source="outside", now=time.time()
            )[0]
            for text in HOSTILE
        ]
        hostile.append(memories.write(store, repository=None, tier="short", kind="lesson", text=LONG[:7990], now=time.time())[0])
        _asked(store, home, here, told[0].folder)
        associating.catch_up(store, time.time())
        pressure.measure(store)
    return Household(home, agent, refs[0], session, digest, hostile)


def _linked(store: Store, here: int, refs: list[str]) -> None:
    """Links of each kind around the first memory, one of them still proposed, and associations."""
    now = time.time()
    kinds = ("supports", "related_to", "refines", "contradicts")
    for number, other in enumerate(refs[1:9]):
        edge = edges.propose(store, here, refs[0], other, kinds[number % len(kinds)], "they are told together", now)
        if number != 3:
            edges.approve(store, here, edge, now, "it is so")
    for one, other in zip(refs[1:6], refs[5:10]):
        with suppress(TenonError):
            edges.approve(store, here, edges.propose(store, here, one, other, "related_to", "the same work", now), now, "yes")
    rows = [memories.get(store, ref).id for ref in refs[:12]]
    pairs = [(min(a, b), max(a, b)) for a, b in zip(rows, rows[3:])]
    for _ in range(4):
        associations.strengthen(store, pairs, now, 0.3)
    memories.revise(store, refs[0], memories.get(store, refs[0]).text + " It was looked at again.", "it was inexact", now)


def _session(store: Store, home: Path, folder: str) -> str:
    """A session with everything: thinking, calls, an error, a sub-agent, an image, a compaction, a long output, hostile words."""
    transcript = Transcript(str(home.parent / "transcripts" / "5e55104e-0000-4000-8000-00000000abcd.jsonl"), folder=folder, branch="feature/<b>")
    transcript.clock = time.time() - 7200.0
    transcript.opening()
    transcript.prompt(
        [
            {"type": "text", "text": "What is on this picture of the staging lamp?"},
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}},
        ]
    )
    transcript.thinking("A single pixel; I should say so.")
    transcript.reply("One pixel. The staging lamp cannot be told from it.")
    transcript.prompt("Look through the code for every use of the lamp, please.")
    call = transcript.call("Agent", {"description": "find the lamp", "prompt": "Find every use of the lamp."}, "toolu_agent_1")
    inner = transcript.subagent("a1b2c3d")
    inner.clock = transcript.clock
    inner.prompt("Find every use of the lamp.")
    inner.used("Grep", {"pattern": "lamp", "path": "src"}, "src/lamp.py:1: def lamp():")
    inner.reply("It is in src/lamp.py only.")
    transcript.result("toolu_agent_1", [{"type": "text", "text": "It is in src/lamp.py only."}], after=call)
    transcript.used("Bash", {"command": "pytest -q", "description": "run the tests"}, "1 failed, 3 passed", error=True)
    transcript.used("Read", {"file_path": "/srv/big.log"}, LONG[:300_000])
    transcript.reply("The lamp is used in one place, and one test fails.")
    transcript.compaction("This session is being continued: the lamp is in src/lamp.py.")
    for text in HOSTILE:
        transcript.prompt(text)
        transcript.reply(text)
    for path in (transcript.path, inner.path):
        report = capture.capture_file(store, path, now=time.time(), budget_s=60.0)
        assert report.finished, report.problem
    return transcript.session


def _digested(store: Store, here: int) -> int:
    """A digest by a scripted model, which writes, corrects and is refused."""
    mind = object.__new__(Mind)
    mind.store, mind.here, mind.there, mind.at = store, here, here, time.time() - 3600.0
    known = mind.write("The tide gauge is read every ten minutes.", kind="fact")
    turn = mind.say("No, the tide gauge is read every twenty minutes since Monday, not every ten.", session="0d1ge57e-0000-4000-8000-000000000001")
    number, _ = mind.apply(
        remember("The tide gauge is read every twenty minutes.", [turn], kind="decision", supersedes=[known]),
        {"op": "correct", "old": known, "text": "The tide gauge is read every twenty minutes.", "turns": [turn]},
        {"op": "delete", "refs": ["all"]},
        repository=here,
    )
    return number


def _asked(store: Store, home: Path, here: int, folder: str) -> None:
    """Prompts of a later session, and what memory offered to each."""
    chosen = settings.load()
    asked = [question.text for question in scripted.questions() if question.repository == REPOSITORIES[0]][:12]
    session = "a5ced000-0000-4000-8000-00000000beef"
    transcript = Transcript(str(home.parent / "transcripts" / f"{session}.jsonl"), folder=folder)
    transcript.clock = time.time() - 900.0
    for text in asked:
        at = transcript.clock
        found = offer.look(store, text, session=session, repository=here, chosen=chosen, now=at)
        offer.record(store, found, session=session, repository=here, now=at)
        transcript.prompt(text)
        transcript.reply("So it is.")
        transcript.clock += 30.0
    journal.record(store, event="session", session=session, repository=here, words=["handoff", "last_session"], hits=[], chars=900, now=time.time() - 900.0)
    capture.capture_file(store, transcript.path, now=time.time(), budget_s=60.0)
    places.settle(store, folder, time.time())
