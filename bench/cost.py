"""What whole sessions cost: direct, through Tenon, and composed anew at each prompt as Spotless does, all from the same script.

    python3 bench/cost.py [direct|ideal|tenon|recomposed|marked ...]

The API is the strict fake with its prompt cache on a scripted clock (8 s between requests, 40 s between prompts: no entry expires but in
the script with pauses, where all of the context is written again after each);
token counts are its estimates, prices are the published ones of the model. The client is bench/client.py, thinking on, on a model whose
thinking is bound to what stands before it. Sessions have 30 turns of one to three calls, results of 1 to 6 KB.

Columns: requests that reached the API, those it refused with 400, thinking blocks that are gone from the last request, accepted requests
whose messages do not begin with those of the one before (the request for a summary is one, in all ways), tokens of the largest request, tokens written to the cache, read from it and
paid in full, tokens of the answers (the same words whichever way they are asked for), dollars for all of it, and the ratios. «ideal» is
direct with the same past sessions as a constant prefix: the history paid once as a write, then read. It is no row that a user can have,
it is the least that showing the history can cost. A direct session is not shown its past at all.

The last table asks when keeping the conversation has become dearer than its summary: counted from the compaction request on, which Claude
Code sends, and pays, in both columns. «dearer from» is the first request after it with which Tenon has cost more than direct; «as much as
the summary» the one with which the difference has reached what direct paid for the summary and for writing the shorter conversation.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import accumulate
from typing import TYPE_CHECKING, Any

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [ROOT, os.path.join(ROOT, "scripts")]

from bench import running, sessions  # noqa: E402
from bench.client import THINKING, Block, Client, Turn, marked  # noqa: E402
from bench.recompose import Recomposer, exchanges  # noqa: E402
from tests.fakes import signatures  # noqa: E402
from tests.fakes.conversation import blocks_of  # noqa: E402
from tests.fakes.door import RecordedRequest  # noqa: E402
from tests.fakes.messages_api import MessagesApi  # noqa: E402
from tests.fakes.models import MODELS, Model  # noqa: E402
from tests.fakes.prompt_cache import cost_usd  # noqa: E402

if TYPE_CHECKING:
    from bench.client import Between

SESSION = "11111111-1111-4111-8111-111111111111"
WAYS = {"direct": "direct", "ideal": "ideal", "tenon": "Tenon", "recomposed": "as Spotless", "marked": "…and marked"}
CHEAP_READS = "claude-fable-5-2"  # reads at a fortieth of the input's price, the other at a twentieth
BETWEEN_REQUESTS_S, BETWEEN_PROMPTS_S, PAUSE_S = 8.0, 40.0, 600.0  # an entry lives for 300


@dataclass
class Script:
    """A session to play, what came before it, and the settings of the proxy."""

    name: str
    turns: list[Turn]
    past: list[list[Block]] = field(default_factory=list)
    compact_after: int = -1
    pauses_after: tuple[int, ...] = ()
    model: str = sessions.MODEL
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
    answers: int
    largest: int
    dollars: float
    since: list[float] = field(default_factory=list)  # dollars of each request from the compaction's own on


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
    """Prints a table per script, the one about compactions, and the ratios."""
    wanted = sys.argv[1:] or list(WAYS)
    with ProcessPoolExecutor(max_workers=2) as pool:
        direct: dict[object, Future[Bill]] = {}  # which is the same whatever past there is

        def submitted(script: Script, way: str) -> Future[Bill]:
            if way != "direct":
                return pool.submit(play, script, way)
            played = script.model, script.compact_after, script.pauses_after
            if played not in direct:
                direct[played] = pool.submit(play, script, way)
            return direct[played]

        started = [(script, {way: submitted(script, way) for way in script.ways if way in wanted}) for script in scripts()]
        found = [(script, table(script, ways) if script.model == sessions.MODEL else results(ways)) for script, ways in started]
    compacted = [(script, bills["direct"], bills["tenon"]) for script, bills in found if script.compact_after >= 0 and {"direct", "tenon"} <= set(bills)]
    if compacted:
        after_compaction(compacted)
    ratios = [
        f"{script.name} {bills['tenon'].dollars / bills['direct'].dollars:.2f}"
        for script, bills in found
        if script.model == sessions.MODEL and {"direct", "tenon"} <= set(bills)
    ]
    if ratios:
        fresh = found[0][1]
        least = f" ({fresh['tenon'].dollars / fresh['ideal'].dollars:.3f} of the least)" if "ideal" in fresh else ""
        print(f"Tenon's bill over direct's{least}: {'; '.join(ratios)}")
    return 0


def results(ways: dict[str, Future[Bill]]) -> dict[str, Bill]:
    """The bills, all of them."""
    return {way: played.result() for way, played in ways.items()}


def table(script: Script, ways: dict[str, Future[Bill]]) -> dict[str, Bill]:
    """The bills; prints the table of a script, a line as soon as it is there."""
    print(f"{script.name}: {len(script.turns)} turns, {sum(len(turn.steps) for turn in script.turns)} answers, {script.model}")
    print(f"  {'':13}requests  400s  thinking lost  prefix moved  largest   written        read    in full   answers        $  / direct   / ideal")
    bills: dict[str, Bill] = {}
    for way, played in ways.items():
        paid = bills[way] = played.result()
        ratios = [f"{paid.dollars / bills[other].dollars:.2f}" if other in bills else "" for other in ("direct", "ideal")]
        print(
            f"  {WAYS[way]:13}{paid.requests:8} {paid.refused:5} {paid.lost:14} {paid.moved:13} {paid.largest:8,} {paid.written:9,} {paid.read:11,} {paid.full:10,} "
            f"{paid.answers:9,} {paid.dollars:8.3f} {ratios[0]:>9} {ratios[1]:>9}"
        )
    return bills


def after_compaction(sessions_of: list[tuple[Script, Bill, Bill]]) -> None:
    """Prints what direct and Tenon cost from the compaction on, and when the one overtakes the other."""
    print("after the compaction, $                 the summary        the first request   each of the rest      to the end         Tenon is     and as much")
    print("                                     direct   Tenon         direct   Tenon     direct   Tenon     direct   Tenon    dearer from     as the summary")
    for script, direct, tenon in sessions_of:
        ways = (direct.since, tenon.since)
        columns = [
            "   ".join(f"{dollars:6.3f}" for dollars in pair)
            for pair in ([w[0] for w in ways], [w[1] for w in ways], [statistics.mean(w[2:]) for w in ways], [sum(w) for w in ways])
        ]
        extra = list(accumulate(other - one for one, other in zip(*ways)))
        paid = direct.since[0] + direct.since[1] - statistics.median(direct.since[2:])
        print(
            f"  {script.model + ', ' + ('with' if script.past else 'no') + ' past':33} {'    '.join(columns)} {reached(extra, 0):>14} {reached(extra, paid):>14}"
        )


def reached(sums: list[float], dollars: float) -> str:
    """The number of the first request after the compaction by which the sums were over that."""
    return next((f"request {number}" for number, spent in enumerate(sums) if number and spent > dollars), f"not in {len(sums) - 1}")


def scripts() -> list[Script]:
    """The sessions; those of the other model are for the last table."""
    past = [[message for turn in part for message in sessions.spoken(turn)] for part in days(sessions.history(5, "p", 60_000))]
    shown: dict[str, object] = {"proxy__trace_tokens": 200_000, "proxy__result_chars": 10_000}  # all of the past, so that both sides show the same
    fresh = sessions.session(1, "t", 30)
    without = ("direct", "tenon", "recomposed")
    return [
        Script("a fresh session, 60,000 tokens of past", fresh, past, chosen=shown),
        Script("a fresh session, no past", fresh, chosen=shown, ways=("direct", "tenon")),
        Script("60,000 tokens of past and three pauses of ten minutes", fresh, past, pauses_after=(7, 14, 21), chosen=shown, ways=("direct", "ideal", "tenon")),
        Script("one compaction, no past", fresh, compact_after=14, chosen=shown, ways=without),
        Script("one compaction, 60,000 tokens of past", fresh, past, compact_after=14, chosen=shown),
        Script("no past, the budget reached twice", fresh, chosen={"proxy__max_context": 66_000}, ways=without),
        Script("one compaction, no past", fresh, compact_after=14, chosen=shown, ways=("direct", "tenon"), model=CHEAP_READS),
        Script("one compaction, 60,000 tokens of past", fresh, past, compact_after=14, chosen=shown, ways=("direct", "tenon"), model=CHEAP_READS),
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
        setting = sessions.setting()
        setting.model = script.model
        client = Client(url, SESSION, setting, lambda blocks: staged.__setitem__(0, blocks), between)
        stack.callback(client.close)
        compacted = -1
        for number, turn in enumerate(script.turns):
            for _ in client.turn(turn):
                now += BETWEEN_REQUESTS_S
            now += PAUSE_S if number in script.pauses_after else BETWEEN_PROMPTS_S
            if number == script.compact_after:
                compacted = len(api.messages())
                client.compact(sessions.Author(3).summary())
                now += BETWEEN_PROMPTS_S
        found = bill(api.messages(), MODELS[script.model], thoughts - 1)  # the last answer's has not been sent back yet
        if compacted >= 0:
            found.since = [cost_usd(request.usage or {}, MODELS[script.model]) for request in api.messages()[compacted:] if request.status == 200]
        return found


def bill(requests: list[RecordedRequest], model: Model, thoughts: int) -> Bill:
    """The sum of what the API did; `thoughts` are the thinking blocks that the last request could hold."""
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
        answers=sum(one["output_tokens"] for one in usage),
        largest=max(one["input_tokens"] + one["cache_read_input_tokens"] + one["cache_creation_input_tokens"] for one in usage),
        dollars=sum(cost_usd(one, model) for one in usage),
    )


def thinking_of(request: RecordedRequest) -> list[str]:
    """The thinking blocks of a request."""
    return [block["type"] for message in request.body["messages"] for block in blocks_of(message["content"]) if block["type"] in THINKING]


def moved(one: RecordedRequest, other: RecordedRequest) -> bool:
    """Whether the second request's messages do not begin with those of the first."""
    first, second = one.body["messages"], other.body["messages"]
    return len(second) < len(first) or any(was != now and canonical(was) != canonical(now) for was, now in zip(first, second))


def canonical(message: Block) -> tuple[str, Any]:
    """The message as the model sees it."""
    return message["role"], [signatures.trimmed(block) for block in blocks_of(message["content"])]


if __name__ == "__main__":
    sys.exit(main())
