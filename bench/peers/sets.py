"""The data that all methods get: groups of turns, each with its own questions, from LoCoMo and from the scripted sessions."""

from __future__ import annotations

import glob
import json
import os
import re
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from bench import scripted

if TYPE_CHECKING:
    from collections.abc import Iterable

DAY_S = 86_400.0


@dataclass
class Turn:
    """Something said: its id, the session it belongs to, by whom (user or assistant), the words, and when, in UTC seconds."""

    id: str
    session: str
    role: str
    text: str
    at: float


@dataclass
class Question:
    """A question and the turns that answer it: all of them are wanted, or, with `any_answers`, one of them is enough."""

    text: str
    gold: set[str]
    asked: float
    any_answers: bool


@dataclass
class Group:
    """Turns that are searched together; `partner` is the other half of a turn's exchange, which a hit shows too."""

    name: str
    turns: list[Turn]
    questions: list[Question]
    partner: dict[str, str] = field(default_factory=dict)


def locomo(folder: str) -> list[Group]:
    """One group for each conversation (a JSON file in the folder); questions of categories 1 to 4 with evidence."""
    groups = []
    for path in sorted(glob.glob(os.path.join(folder, "*.json"))):
        with open(path, encoding="utf-8") as file:
            talk = json.load(file)
        turns = list(_said(talk))
        ids = {turn.id for turn in turns}
        asked = max(turn.at for turn in turns) + DAY_S
        wanted = [(one["question"], _evidence(one["evidence"], ids)) for one in talk["qa"] if one["category"] != 5]
        groups.append(Group(os.path.basename(path), turns, [Question(text, gold, asked, any_answers=False) for text, gold in wanted if gold]))
    return groups


def coding(half: str) -> list[Group]:
    """One group for each repository of the scripted sessions' half («» for both): what was spoken in it, and the questions with an answer."""
    groups: dict[str, Group] = {}
    for session in scripted.sessions():
        if half in ("", session.half):
            group = groups.setdefault(session.repository, Group(session.repository, [], []))
            prompt = ""
            for nth, turn in enumerate(session.spoken()):
                own, at = session.named(turn["id"]), session.began + 60.0 * nth
                role = "user" if "prompt" in turn else "assistant"
                if role == "user":
                    prompt = own
                elif prompt:
                    group.partner[own] = prompt
                    group.partner.setdefault(prompt, own)
                group.turns.append(Turn(own, session.id, role, turn.get("prompt") or turn["reply"], at))
    for question in scripted.questions():
        if question.type in scripted.TYPES and question.repository in groups:
            groups[question.repository].questions.append(Question(question.text, question.gold, question.asked, any_answers=True))
    return list(groups.values())


def _said(talk: dict[str, Any]) -> Iterable[Turn]:
    """The turns of a conversation: who spoke, what was said, and what a picture showed."""
    for number in range(1, 100):
        stamp = talk.get(f"session_{number}_date_time")
        at = datetime.strptime(stamp, "%I:%M %p on %d %B, %Y").replace(tzinfo=timezone.utc).timestamp() if stamp else 0.0
        for turn in talk.get(f"session_{number}", []):
            shown = f" ({turn['blip_caption']})" if turn.get("blip_caption") else ""
            yield Turn(turn["dia_id"], f"session-{number}", "user", f"{turn['speaker']}: {turn['text']}{shown}", at)
            at += 30.0


def _evidence(given: list[str], ids: set[str]) -> set[str]:
    """The gold turns of a question; ids that were written together or with slips are mended."""
    found = re.findall(r"D:?(\d+):0*(\d+)", " ".join(given))
    return {f"D{int(session)}:{int(turn)}" for session, turn in found} & ids
