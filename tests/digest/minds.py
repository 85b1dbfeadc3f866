"""A store in which something was said, and a model that answers to a digest from a script."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from tenon.base import settings
from tenon.digest import applying, batch, operations
from tenon.store import archive, digests, memories
from tenon.store.db import Store
from tenon.store.memories import Memory

ADD_REPOSITORY = "INSERT INTO repository (key, seen) VALUES (?, 1.0)"
NOW = 1_796_200_000.0
PER_DAY = {"short": 0.95, "long": 0.997}


class Mind:
    """A store, two repositories, and what is said in the first unless another is named."""

    def __init__(self, store: Store) -> None:
        self.store = store
        store.execute("UPDATE meta SET value = '1' WHERE name = 'began'")
        self.here, self.there = (int(store.execute(ADD_REPOSITORY, (key,)).lastrowid or 0) for key in ("example.org/acme/widgets", "example.org/acme/gadgets"))
        self.at = NOW - 86_400.0

    def say(self, text: str, *, role: str = "user", session: str = "s1", repository: int | None = None, source: str = "", kind: str = "") -> str:
        """The id of an archived turn, a minute after the last: a prompt, a reply, or what `kind` says."""
        self.at += 60.0
        home = repository or self.here
        number = archive.session(self.store, session, repository=home, folder="/x", at=self.at)
        row = archive.Row(
            uuid="", parent="", role=role, kind=kind or ("prompt" if role == "user" else "reply"), source=source or role, at=self.at,
            content=[{"type": "text", "text": text}],
        )  # fmt: skip
        return f"t{archive.append(self.store, number, home, [row])[1][0]}"

    def write(self, text: str, **more: Any) -> str:
        """The id of a memory: a short-term fact of this repository that a model wrote, unless told otherwise."""
        told = {"repository": self.here, "tier": "short", "kind": "fact", "now": self.at, **more}
        return memories.write(self.store, text=text, **told)[0]

    def memory(self, ref: str) -> Memory:
        """The memory with that id."""
        return memories.get(self.store, ref)

    def live(self) -> list[str]:
        """The texts of all live memories, oldest first."""
        return [row[0] for row in self.store.rows("SELECT text FROM memory WHERE status = 'live' ORDER BY id")]

    def apply(self, *wanted: dict[str, Any], repository: int | None = None) -> tuple[int, list[str]]:
        """What a digest of all that waits does with these operations: its number, and why it refused those that it did."""
        found = batch.compose(self.store, repository or self.here, 60_000)
        assert found is not None
        number = digests.begin(self.store, phase="consolidation", repository=found.repository, runner="claude", model="haiku", now=self.at)
        allowance = applying.Allowance(len(self.live()))
        allowance.batch(found.tokens)
        with self.store.transaction():
            work = applying.Applying(self.store, number, found, allowance, self.at, PER_DAY)
            work.all(operations.read(answer(found.last, *wanted), operations.CONSOLIDATION, found.last))
            digests.end(self.store, number, "applied", self.at)
        return number, [step.note for step in digests.steps(self.store, number) if step.deed == "refused"]


def answer(last: str, *wanted: dict[str, Any]) -> str:
    """A model's whole answer."""
    return json.dumps({"operations": list(wanted), "read_to": last})


class Model:
    """Answers questions in order, each by a text, an Answer, an error to raise, or a function of the question; notes what it was asked."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.asked: list[Any] = []

    def __call__(self, runner: str, model: str, question: Any, chosen: settings.Settings, *, timeout_s: float) -> Any:
        from tenon.world import runners

        self.asked.append((runner, model, question.system, question.prompt))
        given = self.answers.pop(0) if self.answers else silent
        if callable(given) and not isinstance(given, (BaseException, runners.Answer)):
            given = given(question.prompt)
        if isinstance(given, BaseException):
            raise given
        if isinstance(given, runners.Answer):
            return given
        return spoken(given, input_tokens=(len(question.system) + len(question.prompt)) // 4)


def spoken(text: str, *, input_tokens: int = 1000, output_tokens: int = 100) -> Any:
    """An answer of that text, with its usage."""
    from tenon.world import runners

    return runners.Answer(
        text=text, model="claude-haiku", input_tokens=input_tokens, written=0, read=0, output_tokens=output_tokens, dollars=0.001, requests=1
    )  # fmt: skip


def silent(prompt: str) -> str:
    """The answer that finds nothing worth keeping."""
    return answer(last_of(prompt))


def last_of(prompt: str) -> str:
    """The id that a question names as the last."""
    return prompt.rpartition("Last id: ")[2].split(".")[0]


def doing(*wanted: dict[str, Any]) -> Callable[[str], str]:
    """Answers with these operations, whatever was asked."""
    return lambda prompt: answer(last_of(prompt), *wanted)


def remember(text: str, turns: Sequence[str], **more: Any) -> dict[str, Any]:
    """The operation that writes a memory: a fact unless told otherwise."""
    return {"op": "remember", "kind": "fact", "text": text, "turns": list(turns), **more}
