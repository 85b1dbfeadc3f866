"""What a digest asks for: requests and tokens per 100,000 archived tokens, against a protocol of one request a step.

    python3 bench/digest.py [--tokens N] [--runner claude|api|ollama]

The forty scripted sessions and made exchanges (prompts of some 60 words, answers of some 300, three tool calls between) are archived and
digested by a stand-in for the model that writes what a good one would: a memory for 500 tokens, a gist an exchange, a summary a session. Tokens are
Tenon's own estimate, four characters each. «step by step»: the same words by Spotless 0.2.0's protocol as it was measured (a pass reads 50
messages cut at 2,000 characters, some 20 requests a pass, each with the transcript and 39,000 tokens of harness).
"""

from __future__ import annotations

import argparse
import os
import random
import re
import sys
import tempfile
from typing import TYPE_CHECKING, Any

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [ROOT, os.path.join(ROOT, "scripts")]

from bench import corpus, scripted  # noqa: E402
from tenon.base import settings  # noqa: E402
from tenon.base.text import tokens  # noqa: E402
from tenon.store import archive, db, exchanges, places, spending  # noqa: E402
from tenon.world import digesting, runners  # noqa: E402
from tests.digest.minds import answer, last_of, remember  # noqa: E402

if TYPE_CHECKING:
    from tenon.store.db import Store

NOW = 1_796_200_000.0
PER_MEMORY = 500
PASS, CUT, STEPS, HARNESS = 50, 500, 20, 39_000  # messages, tokens of one, requests, tokens of each
TURN = re.compile(r"^\[(t\d+) (user|assistant)[^\]]*\] (.*)", re.MULTILINE)


def main() -> int:
    """Prints one line for the digest and one for the other protocol."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokens", type=int, default=300_000, help="archived tokens of prompts and answers (300,000)")
    parser.add_argument("--runner", choices=runners.RUNNERS, default="claude")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TENON_HOME"] = os.path.join(folder, "home")  # nobody's settings but the defaults
        with db.open_store(os.path.join(folder, "tenon.db")) as store:
            scripted.fill(store, scripted.sessions(), folder, remembered=False)
            talk(store, options.tokens)
            waits = exchanges.waiting(store)
            said, turns = sum(size for _, size, _ in waits), sum(count for _, _, count in waits)
            steps = stepwise(store)
            with digesting.Run(store, settings.load(), runner=options.runner, cap=10**9, ask=model, clock=lambda: NOW) as work:
                report = work.all()
            spent = spending.between(store, 0, 2**40)
            kept = store.value("SELECT count(*) FROM memory")
            left = sum(size for _, size, _ in exchanges.waiting(store))
    print(f"archived: {said:,} tokens in {turns:,} prompts and answers of {len(waits)} repositories; {kept:,} memories written, {left} tokens left")
    shown("digest", report.requests, spent.input, said)
    shown("step by step", *steps, said)
    print(
        f"requests {report.requests / steps[0]:.3f}, input tokens {spent.input / steps[1]:.3f} of step by step; output {spent.output / said:.2f} of the archived tokens"
    )
    return 0


def shown(name: str, requests: int, read: int, said: int) -> None:
    """A line: per 100,000 archived tokens, and the share."""
    print(
        f"{name:14} per 100,000 archived tokens: {requests * 1e5 / said:6.1f} requests, {read * 1e5 / said:11,.0f} input tokens = {read / said:.2f} of the archived"
    )


def talk(store: Store, enough: int) -> None:
    """Archives made exchanges in four repositories until there are enough tokens."""
    pool, chance, made = corpus.sentences(4000), random.Random(5), 0
    number = 0
    while made < enough:
        number += 1
        home = places.settle(store, f"/bench/{number % 4}", NOW)
        session = archive.session(store, f"made-{number}", repository=home, folder=f"/bench/{number % 4}", at=NOW - 9e5 + number * 900)
        rows = []
        for exchange in range(12):
            at = NOW - 9e5 + number * 900 + exchange * 60
            rows += [row("prompt", "user", text(pool, chance, 60), at)]
            for call in range(3):
                rows += deed(f"c{number}-{exchange}-{call}", text(pool, chance, 6), text(pool, chance, 120), at)
            rows += [row("reply", "assistant", text(pool, chance, 300), at + 30)]
        archive.append(store, session, home, rows)
        made += sum(tokens(str(one.content)) for one in rows if one.kind in ("prompt", "reply"))


def text(pool: list[str], chance: random.Random, words: int) -> str:
    """About so many words."""
    found = ""
    while len(found.split()) < words:
        found += chance.choice(pool) + ". "
    return found


def row(kind: str, role: str, said: str, at: float) -> archive.Row:
    """A turn."""
    return archive.Row(uuid="", parent="", role=role, kind=kind, source=role, at=at, content=[{"type": "text", "text": said}])


def deed(name: str, command: str, output: str, at: float) -> list[archive.Row]:
    """A tool call and its result."""
    call = {"type": "tool_use", "id": name, "name": "Bash", "input": {"command": command}}
    result = {"type": "tool_result", "tool_use_id": name, "content": output}
    return [
        archive.Row(uuid="", parent="", role="assistant", kind="call", source="assistant", at=at, content=[call]),
        archive.Row(uuid="", parent="", role="user", kind="result", source="tool", at=at, content=[result]),
    ]


def stepwise(store: Store) -> tuple[int, int]:
    """The requests and input tokens of the other protocol for what waits."""
    requests = read = 0
    for number, _, _ in exchanges.waiting(store):
        waiting = exchanges.pending(store, number, 10**6)
        for at in range(0, len(waiting), PASS):
            transcript = sum(min(CUT, turn.tokens) for turn in waiting[at : at + PASS])
            requests += STEPS
            read += STEPS * (HARNESS + transcript)
    return requests, read


def model(runner: str, name: str, question: runners.Question, chosen: Any, *, timeout_s: float) -> runners.Answer:
    """The stand-in: sentences of the record as memories, a gist for each prompt, a summary of the first turn's session."""
    prompt = question.prompt
    done: list[dict[str, Any]] = []
    room = 0
    for ref, who, said in TURN.findall(prompt.partition("<transcript>")[2]):
        room += tokens(said)
        if who == "user":
            done.append({"op": "gist", "turn": ref, "text": " ".join(said.split()[:25])})
        if room >= PER_MEMORY:
            room = 0
            done.append(remember(" ".join(said.split()[:30]), [ref]))
    if done:
        done.append({"op": "session", "turn": next(iter(TURN.findall(prompt)))[0], "text": "A session about the library."})
    told = answer(last_of(prompt), *done[:200])
    return runners.Answer(
        text=told, model=name, input_tokens=tokens(question.system) + tokens(prompt), written=0, read=0, output_tokens=tokens(told), dollars=None, requests=1
    )  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
