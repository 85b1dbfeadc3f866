"""Forty scripted coding sessions with planted facts, as data, and their way into a store as Claude Code's transcripts.

`sessions/*.json`, one a session: `turns` in order, each a prompt, a reply, or a tool call with its result (`error` marks a failed one), and
`planted`, the facts in it. A fact has an id, a kind (decision, correction, command, test, gotcha, convention, fact, preference), the turns that
state it, and `memory`, the text that a digest would write. What more there is depends on the kind: a correction names what it `supersedes`;
a command that proved to work has its words and the turn in which it `ran`; a test has the `failing` and the `passing` turn, and what was
`expected` and what came (`actual`). `questions.json`: prompts of a later session, `asked` at a time, by type. Each of `turns` answers the
question alone, and so does each of `facts` as a memory; `stale_turns` and `stale_facts` were right once. Abstention prompts have no
answer: unrelated ones, and `near` misses that ask for what was never said.

Eight invented repositories in different languages and trades. Four are «dev»: weights may be fitted on them. Four are «check», and are not.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from tenon.digest import capture
from tenon.store import archive, memories, places
from tests.fakes.transcripts import Transcript

if TYPE_CHECKING:
    from tenon.store.db import Store

HERE = os.path.dirname(os.path.abspath(__file__))
TYPES = ("lexical", "paraphrase", "identifier", "temporal", "correction")
HALVES = ("dev", "check")
BETWEEN_PROMPTS_S, BETWEEN_TURNS_S = 180.0, 20.0
CAPTURE_S = 60.0
KINDS = {"correction": "decision", "test": "lesson"}  # of facts, where a memory's is called otherwise


@dataclass
class Session:
    """One scripted session; `began` in UTC seconds."""

    id: str
    repository: str
    half: str
    folder: str
    branch: str
    began: float
    turns: list[dict[str, Any]]
    planted: list[dict[str, Any]]

    def named(self, turn: str) -> str:
        """A turn's id as the questions know it."""
        return f"{self.id}/{turn}"

    def spoken(self) -> list[dict[str, Any]]:
        """Its prompts and replies."""
        return [turn for turn in self.turns if "tool" not in turn]


@dataclass
class Question:
    """A prompt of a later session: `gold` are the ids of the turns and of the facts that answer it, `stale` those that did once."""

    id: str
    repository: str
    half: str
    type: str
    text: str
    asked: float
    gold: set[str]
    stale: set[str]
    near: bool


@dataclass
class Filled:
    """What became of the sessions in a store: scripted ids by archived turn and by memory, repository numbers by name."""

    turns: dict[str, str]
    facts: dict[str, str]
    repositories: dict[str, int]

    def known(self, ref: str) -> str:
        """The scripted id of a turn (t…) or a memory (m…), or «»."""
        return self.turns.get(ref) or self.facts.get(ref) or ""


def sessions() -> list[Session]:
    """All sessions, the earliest first."""
    found = []
    folder = os.path.join(HERE, "sessions")
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            told = json.load(file)
        fields = {key: told[key] for key in ("id", "repository", "half", "folder", "branch", "turns", "planted")}
        found.append(Session(began=seconds(told["began"]), **fields))
    return sorted(found, key=lambda session: session.began)


def questions() -> list[Question]:
    """All questions and abstention prompts, in the order of the file."""
    with open(os.path.join(HERE, "questions.json"), encoding="utf-8") as file:
        told = json.load(file)["questions"]
    return [
        Question(
            id=one["id"], repository=one["repository"], half=one["half"], type=one["type"], text=one["question"], asked=seconds(one["asked"]),
            gold={*one["turns"], *one["facts"]}, stale={*one.get("stale_turns", ()), *one.get("stale_facts", ())}, near=bool(one.get("near")),
        )
        for one in told
    ]  # fmt: skip


def seconds(stamp: str) -> float:
    """UTC seconds of a time written as 2026-03-10T13:40:00Z."""
    return datetime.fromisoformat(stamp.replace("Z", "+00:00")).timestamp()


def fill(store: Store, told: list[Session], folder: str, *, remembered: bool) -> Filled:
    """The sessions in the store, by the same capture that reads real transcripts; with `remembered`, each planted fact as a memory too.

    Transcripts are written into `folder`. Corrected facts stay memories beside what corrects them: no one has linked the two yet.
    """
    filled = Filled({}, {}, {})
    for session in told:
        path = os.path.join(folder, session.repository, f"{session.id}.jsonl")
        lines = transcribe(session, path)
        report = capture.capture_file(store, path, now=session.began, budget_s=CAPTURE_S)
        assert not report.problem, report.problem
        assert report.finished, session.id
        numbers = {turn: int(store.value(archive.BY_LINE, (uuid,)) or 0) for turn, uuids in lines.items() for uuid in uuids[:1]}
        filled.turns.update({f"t{number}": session.named(turn) for turn, number in numbers.items()})
        home = filled.repositories[session.repository] = places.settle(store, session.folder, session.began)
        for fact in session.planted if remembered else ():
            kind = KINDS.get(fact["kind"], fact["kind"])
            turns = [numbers[turn] for turn in fact["turns"]]
            ref, _ = memories.write(
                store, repository=home, tier="long", kind=kind, text=fact["memory"], now=session.began, reason=f"said in session {session.id}", source="user", turns=turns
            )  # fmt: skip
            filled.facts[ref] = fact["id"]
    return filled


def transcribe(session: Session, path: str) -> dict[str, list[str]]:
    """The lines of each turn by their uuids, after the session was written down as Claude Code does it."""
    lines: dict[str, list[str]] = {}
    transcript = Transcript(path, folder=session.folder, branch=session.branch)
    at = session.began
    transcript.clock = at
    transcript.opening()
    for turn in session.turns:
        at += BETWEEN_PROMPTS_S if "prompt" in turn else BETWEEN_TURNS_S
        transcript.clock = at
        if "tool" in turn:
            call = f"toolu_{session.id}_{turn['id']}"
            made = transcript.call(turn["tool"], turn["input"], call)
            lines[turn["id"]] = [made, transcript.result(call, turn["result"], error=bool(turn.get("error")))]
        else:
            lines[turn["id"]] = [transcript.prompt(turn["prompt"]) if "prompt" in turn else transcript.reply(turn["reply"])]
    return lines
