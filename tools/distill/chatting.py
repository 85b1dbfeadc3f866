"""Everyday English: what people say to each other, and what is asked about it afterwards.

`turns` and `exchanges` read two corpora of talk; `pairs` turns statements of the first person into questions about
the one who made them, as a memory is asked («I went hiking with my brother» and «Where did Ana go?»).
"""

from __future__ import annotations

import json
import random
import re
import zipfile
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

NAMES = """Aaron Abby Adam Alice Amelia Amy Ana Andre Anna Ben Bella Bianca Carl Carmen Chloe Chris Clara Daniel David Diana Diego Dora Elena Eli Ella Emma Eric Eva Felix Fiona
Frank Gina Grace Hannah Harry Helen Henry Hugo Ian Ines Iris Isaac Ivy Jack James Jane Jason Jenny Jim Joan Joe Julia Karen Kate Kevin Laura Leo Liam Lily Linda Lisa Louis Lucy Luke
Maria Mark Martin Mary Matt Max Mia Mike Nina Noah Nora Olga Oliver Oscar Paul Peter Rachel Ray Rita Robert Rosa Ruth Sally Sara Sean Simon Sofia Steve Sue Tara Theo Tina Tom
Vera Victor Wendy Will Yusuf Zoe""".split()
BASE = {
    "went": "go", "bought": "buy", "made": "make", "saw": "see", "visited": "visit", "watched": "watch", "started": "start", "took": "take", "got": "get", "found": "find",
    "read": "read", "played": "play", "met": "meet", "lost": "lose", "moved": "move", "worked": "work", "tried": "try", "ate": "eat", "learned": "learn", "joined": "join",
    "finished": "finish", "adopted": "adopt", "painted": "paint", "cooked": "cook", "built": "build", "wrote": "write", "lived": "live", "studied": "study", "quit": "quit",
    "traveled": "travel", "broke": "break", "won": "win", "planned": "plan", "grew": "grow", "signed": "sign", "spent": "spend", "drove": "drive", "heard": "hear",
}  # fmt: skip
PAST = re.compile(rf"\b[Ii] (?:just |recently |actually |also |finally )?({'|'.join(BASE)}) ([^.!?,;:]{{8,70}})")
PRESENT = re.compile(
    r"\b[Ii] (?:really |also |usually |just )?(love|like|want|enjoy|hate|prefer|play|work|live|collect|plan|need|hope|study) ([^.!?,;:]{6,60})"
)
HAVE = re.compile(r"\b[Ii](?: have|'ve got) (?:a|an|two|three|some) ([^.!?,;:]{4,50})")
MINE = re.compile(r"\b[Mm]y (favou?rite [a-z]+|[a-z]+) (?:is|was|are|were) ([^.!?,;:]{4,50})")
SWAPS = {
    "my": "their",
    "me": "them",
    "i": "they",
    "our": "their",
    "we": "they",
    "myself": "themselves",
    "us": "them",
    "mine": "theirs",
    "am": "are",
    "i'm": "they're",
}


def conversations(path: str) -> Iterator[list[str]]:
    """The turns of each conversation of the chit-chat corpus, messages sent in a row joined."""
    with zipfile.ZipFile(path) as archive:
        for talk in json.loads(archive.read("chitchat_dataset/dataset.json")).values():
            yield [" ".join(" ".join(message["text"].split()) for message in turn) for turn in talk["messages"]]


def turns(path: str) -> Iterator[str]:
    """Turns of 4 to 60 words, every second one with the name of a speaker before it."""
    chance = random.Random(1)
    for talk in conversations(path):
        names = chance.sample(NAMES, 2)
        for number, text in enumerate(talk):
            if 4 <= len(text.split()) <= 60 and text.isascii():
                yield f"{names[number % 2]}: {text}" if chance.random() < 0.5 else text


def exchanges(path: str) -> Iterator[str]:
    """The English lines of the ChatterBot corpus."""
    with zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            if "/data/english/" in name:
                for line in archive.read(name).decode().split("\n"):
                    text = re.sub(r"^\s*-? ?- ", "", line).strip("'\" ")
                    if line.lstrip().startswith("-") and 3 <= len(text.split()) <= 60 and text.isascii():
                        yield text


def pairs(path: str) -> list[tuple[str, str]]:
    """(question, turn) for turns of the chit-chat corpus in which somebody tells something of themselves."""
    chance = random.Random(2)
    made: list[tuple[str, str]] = []
    for talk in conversations(path):
        for text in talk:
            if 6 <= len(text.split()) <= 50 and text.isascii() and (asked := questions(text, name := chance.choice(NAMES))):
                made.append((chance.choice(asked), f"{name}: {text}"))
    return made


def questions(text: str, name: str) -> list[str]:
    """What somebody could ask later who wants to hear of this turn."""
    asked: list[str] = []
    if match := PAST.search(text):
        verb, rest = BASE[match[1]], turned(match[2])
        asked += [f"When did {name} {verb} {rest}?", f"Did {name} {verb} {rest}?", f"What did {name} {verb}?", f"How did it go when {name} {match[1]} {rest}?"]
        if verb in {"go", "visit", "move", "travel", "live", "drive", "work", "study", "meet", "buy", "find"}:
            asked += [f"Where did {name} {verb} {rest if chance_of(text) else ''}".strip() + "?"]
    if match := PRESENT.search(text):
        rest = turned(match[2])
        asked += [f"What does {name} {match[1]}?", f"Does {name} {match[1]} {rest}?", f"Who would {match[1]} {rest}?", f"Why does {name} {match[1]} {rest}?"]
    if match := HAVE.search(text):
        asked += [f"Does {name} have a {turned(match[1])}?", f"What did {name} say about having {turned(match[1])}?"]
    if match := MINE.search(text):
        asked += [f"What is {name}'s {match[1]}?", f"Who or what is {name}'s {match[1]}?"]
    return asked


def chance_of(text: str) -> bool:
    """Yes for every second text, always the same for the same one."""
    return len(text) % 2 == 0


def turned(text: str) -> str:
    """The words of the first person in the third."""
    return " ".join(SWAPS.get(word.lower(), word) for word in text.split())


def made(chance: random.Random) -> list[str]:
    """Short sentences of our own about ordinary days."""
    who = [
        "my sister",
        "my brother",
        "my mom",
        "my dad",
        "my wife",
        "my husband",
        "a friend",
        "my daughter",
        "my son",
        "the neighbours",
        "my grandmother",
        "a colleague",
        "the kids",
        "my partner",
    ]
    when = [
        "yesterday",
        "last weekend",
        "last month",
        "two weeks ago",
        "on Friday",
        "this morning",
        "last summer",
        "in March",
        "a few days ago",
        "on my birthday",
        "last night",
        "next week",
    ]
    what = """went to a concert|ran a charity race|adopted a puppy|signed up for a pottery class|started a new job|moved to a new flat|baked a cake|painted a sunset|joined a book club|went camping in the mountains
planted tomatoes in the garden|took a yoga class|visited the aquarium|got a promotion|broke an arm|had a job interview|went to the dentist|watched a documentary|learned to play the guitar|volunteered at a shelter
bought a used car|went hiking by the lake|celebrated an anniversary|finished a marathon|wrote a short story|fixed the bike|had a baby shower|went to a wedding|took the dog to the vet|started therapy
organised a fundraiser|lost a wallet|opened a bank account|booked a flight to Rome|made pasta from scratch|went surfing|saw a play|lost a loved one|applied for adoption|passed the exam""".replace(
        "\n", "|"
    ).split("|")
    forms = [
        "I {what} with {who} {when}.",
        "{name}: {When}, {who} and I {what}!",
        "Who {what} {when}?",
        "When did {name} say that {who} {what}?",
        "{name} told me that {who} {what} {when}.",
    ]
    texts = []
    for _ in range(6_000):
        day = chance.choice(when)
        texts.append(chance.choice(forms).format(what=chance.choice(what), who=chance.choice(who), when=day, When=day.capitalize(), name=chance.choice(NAMES)))
    return texts
