"""Our own paraphrases: groups of sentences that a developer would want to find by each other.

`concepts.txt` holds a group per paragraph, a sentence per line; a line that begins with «#» names the group. Every
third sentence of a group is kept out of training and is what `evaluate.py` asks with and looks for; of every sixth
group all sentences are kept out, which tells what is learnt from what is learnt by heart.
"""

from __future__ import annotations

import os

HERE = os.path.dirname(os.path.abspath(__file__))


def glossary() -> list[list[str]]:
    """Lists of words and phrases that are said of the same thing."""
    with open(os.path.join(HERE, "glossary.txt"), encoding="utf-8") as file:
        return [line.strip().split(", ") for line in file if line.strip() and not line.startswith("#")]


def groups() -> list[list[str]]:
    """The sentences of each group, in order."""
    path = os.path.join(HERE, "concepts.txt")
    with open(path, encoding="utf-8") as file:
        found = [[line.strip() for line in block.split("\n") if line.strip() and not line.startswith("#")] for block in file.read().split("\n\n")]
    return [group for group in found if group]


def kept_in(group: list[str]) -> list[str]:
    """The sentences of a group that are trained with."""
    return [text for at, text in enumerate(group) if at % 3 != 2]


def kept_out(group: list[str]) -> list[str]:
    """The sentences of a group that are never trained with."""
    return [text for at, text in enumerate(group) if at % 3 == 2]


def met() -> list[list[str]]:
    """The groups that training sees something of."""
    return [group for at, group in enumerate(groups()) if at % 6 != 5]


def unmet() -> list[list[str]]:
    """The groups that training sees nothing of."""
    return [group for at, group in enumerate(groups()) if at % 6 == 5]


def training() -> list[str]:
    """All sentences that are trained with."""
    return [text for group in met() for text in kept_in(group)]
