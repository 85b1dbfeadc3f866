"""What whole sessions cost: direct, through Tenon, and composed anew at each prompt as Spotless does, all from the same script.

    python3 bench/cost.py [direct|ideal|tenon|recomposed|marked ...]

The API is the strict fake with its prompt cache on a scripted clock (8 s between requests, 40 s between prompts, so no entry expires);
token counts are its estimates, prices are the published ones of the model. The client is bench/client.py, thinking on, on a model whose
thinking is bound to what stands before it.

Columns: requests that reached the API, those it refused with 400, thinking blocks that are gone from the last request, accepted requests
whose messages do not begin with those of the one before, tokens of the largest request, tokens written
to and read from the cache and paid in full, dollars (answers included), and the ratios. «ideal» is direct with the same past sessions as a constant prefix: the history paid once as a write, then read.
It is no row that a user can have, it is the least that showing the history can cost. A direct session is not shown its past at all.
"""

from __future__ import annotations

import os
import sys
import tempfile
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [ROOT, os.path.join(ROOT, "scripts")]

from bench import running, sessions, signing  # noqa: E402
from bench.client import THINKING, Block, Client, Turn, marked  # noqa: E402
from bench.recompose import Recomposer, exchanges  # noqa: E402
from tests.fakes import signatures  # noqa: E402
from tests.fakes.conversation import blocks_of  # noqa: E402
from tests.fakes.door import RecordedRequest  # noqa: E402
from tests.fakes.messages_api import MessagesApi  # noqa: E402
from tests.fakes.models import MODELS  # noqa: E402
from tests.fakes.prompt_cache import cost_usd  # noqa: E402

if TYPE_CHECKING:
    from bench.client import Between

SESSION = "11111111-1111-4111-8111-111111111111"
WAYS = {"direct": "direct", "ideal": "ideal", "tenon": "Tenon", "recomposed": "as Spotless", "marked": "…and marked"}
BETWEEN_REQUESTS_S, BETWEEN_PROMPTS_S = 8.0, 40.0


@dataclass
class Script:
    """A session to play, what came before it, and the settings of the proxy."""

    name: str
    turns: list[Turn]
    past: list[list[Block]] = field(default_factory=list)
    compact_after: int = -1
    chosen: dict[str, object] = field(default_factory=dict)
    ways: tuple[str, ...] = ("direct", "ideal", "tenon", "recomposed", "marked")


@dataclass
class Bill:
    """What became of a session."""

    requests: int
    refused: int
    lost: int
    moved: int
    written: int
    read: int
    full: int
    largest: int
    dollars: float
    after: dict[str, Any] = field(default_factory=dict)


class Constant:
    """The past sessions in front of every request."""

    def __init__(self, past: list[list[Block]]) -> None:
        self.prefix = [dict(message) for session in past for message in session]
        if self.prefix:  # the client leaves one marker free, and after a compaction it is what finds the entry again
            self.prefix[-1]["content"] = [dict(block) for block in self.prefix[-1]["content"]]
            marked(self.prefix[-1])

    def body(self, body: Block) -> Block:
        """The request with the prefix."""
        return {**body, "messages": [*self.prefix, *body["messages"]]}

    def heard(self, message: Block) -> None:
        """Nothing depends on it."""


def main() -> int:
    """Prints a table per script."""
    wanted = sys.argv[1:] or list(WAYS)
    with ProcessPoolExecutor(max_workers=2) as pool:
        started = [(script, {way: pool.submit(play, script, way) for way in script.ways if way in wanted}) for script in scripts()]
        for script, ways in started:
            table(script, ways)
    return 0


def table(script: Script, ways: dict[str, Future[Bill]]) -> None:
    """Prints the table of a script, a line as soon as it is there."""
    print(f"{script.name}: {len(script.turns)} turns, {sum(len(turn.steps) for turn in script.turns)} answers")
    print(f"  {'':13}requests  400s  thinking lost  prefix moved  largest   written        read    in full        $   / direct   / ideal")
    bills: dict[str, Bill] = {}
    for way, played in ways.items():
        paid = bills[way] = played.result()
        ratios = [f"{paid.dollars / bills[other].dollars:.2f}" if other in bills else "" for other in ("direct", "ideal")]
        print(
            f"  {WAYS[way]:13}{paid.requests:8} {paid.refused:5} {paid.lost:14} {paid.moved:13} {paid.largest:8,} {paid.written:9,} {paid.read:11,} {paid.full:10,} "
            f"{paid.dollars:8.3f} {ratios[0]:>10} {ratios[1]:>9}"
        )
    for way, paid in bills.items():
        if usage := paid.after:
            print(
                f"  first request after the compaction, {WAYS[way]}: {usage['cache_creation_input_tokens']:,} written, "
                f"{usage['cache_read_input_tokens']:,} read, {usage['input_tokens']:,} in full, $ {cost_usd(usage, MODELS[sessions.MODEL]):.3f}"
            )


def scripts() -> list[Script]:
    """The three sessions."""
    past = [[message for turn in part for message in sessions.spoken(turn)] for part in days(sessions.history(5, "p", 60_000))]
    shown: dict[str, object] = {"proxy__trace_tokens": 200_000, "proxy__result_chars": 10_000}  # all of the past, so that both sides show the same
    fresh = sessions.session(1, "t", 30)
    return [
        Script("a fresh session, 60,000 tokens of past", fresh, past, chosen=shown),
        Script("the same with a compaction in the middle", fresh, past, compact_after=14, chosen=shown),
        Script("a session that reaches the budget twice", fresh, chosen={"proxy__max_context": 66_000}, ways=("direct", "tenon", "recomposed", "marked")),
    ]


def days(turns: list[Turn]) -> list[list[Turn]]:
    """The turns as four sessions."""
    size = -(-len(turns) // 4)
    return [turns[at : at + size] for at in range(0, len(turns), size)]


def play(script: Script, way: str) -> Bill:
    """The bill of the script, sent that way."""
    now = 0.0
    staged: list[list[Block]] = [[]]
    thoughts = sum(block["type"] in THINKING for turn in script.turns for step in turn.steps for block in step.blocks)
    with ExitStack() as stack:
        stack.enter_context(signing.in_one_pass())
        api = stack.enter_context(MessagesApi(lambda _: staged[0], clock=lambda: now))
        url = api.url
        between: Between | None = None
        if way == "ideal":
            between = Constant(script.past)
        elif way in ("recomposed", "marked"):
            between = Recomposer([part for session in script.past for part in exchanges(session)], way == "marked")
        elif way == "tenon":
            home = stack.enter_context(tempfile.TemporaryDirectory())
            running.remember(home, script.past)
            url = stack.enter_context(running.proxy(home, api.url, **script.chosen)).url
        client = Client(url, SESSION, sessions.setting(), lambda blocks: staged.__setitem__(0, blocks), between)
        stack.callback(client.close)
        compacted = 0
        for number, turn in enumerate(script.turns):
            for _ in client.turn(turn):
                now += BETWEEN_REQUESTS_S
            now += BETWEEN_PROMPTS_S
            if number == script.compact_after:
                client.compact(sessions.Author(3).summary())
                compacted = len(api.messages())
                now += BETWEEN_PROMPTS_S
        found = bill(api.messages(), thoughts - 1)  # the last answer's has not been sent back yet
        found.after = (api.messages()[compacted].usage or {}) if compacted else {}
        return found


def bill(requests: list[RecordedRequest], thoughts: int) -> Bill:
    """The sum of what the API did; `thoughts` are the thinking blocks that the last request could hold."""
    model = MODELS[sessions.MODEL]
    accepted = [request for request in requests if request.status == 200]
    usage: list[dict[str, Any]] = [request.usage or {} for request in accepted]
    return Bill(
        requests=len(requests),
        refused=sum(request.status == 400 for request in requests),
        lost=thoughts - len(thinking_of(accepted[-1])),
        moved=sum(moved(one, other) for one, other in zip(accepted, accepted[1:])),
        written=sum(one["cache_creation_input_tokens"] for one in usage),
        read=sum(one["cache_read_input_tokens"] for one in usage),
        full=sum(one["input_tokens"] for one in usage),
        largest=max(one["input_tokens"] + one["cache_read_input_tokens"] + one["cache_creation_input_tokens"] for one in usage),
        dollars=sum(cost_usd(one, model) for one in usage),
    )


def thinking_of(request: RecordedRequest) -> list[str]:
    """The thinking blocks of a request."""
    return [block["type"] for message in request.body["messages"] for block in blocks_of(message["content"]) if block["type"] in THINKING]


def moved(one: RecordedRequest, other: RecordedRequest) -> bool:
    """Whether the second request's messages do not begin with those of the first."""
    first, second = one.body["messages"], other.body["messages"][: len(one.body["messages"])]
    return canonical(first) != canonical(second)


def canonical(messages: list[Block]) -> list[tuple[str, Any]]:
    """The messages as the model sees them."""
    return [(message["role"], [signatures.trimmed(block) for block in blocks_of(message["content"])]) for message in messages]


if __name__ == "__main__":
    sys.exit(main())
