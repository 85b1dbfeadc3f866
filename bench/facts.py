"""Forty planted facts, and how many of them stand word for word in a later request.

    python3 bench/facts.py

Ids, dead ends and rules are said in prompts, in answers and in tool results of a session of 12 turns (some 50,000 tokens, fewer than the
trace may have); three of the results are long, with the fact in their middle. Counted is the first request after a compaction, as it reaches the API, and the first request of a new session on
the next day, with what Tenon's archive then holds of the first one, at the settings that Tenon comes with. The compaction's summary is
scripted and keeps every tenth fact: a model's own keeps what it thinks will matter. What Claude Code brings back by itself after a
compaction (the last answer, the files read last) counts for it too.
"""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
from contextlib import ExitStack

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [ROOT, os.path.join(ROOT, "scripts")]

from bench import running, sessions  # noqa: E402
from bench.client import Block, Client, Turn, text_block  # noqa: E402
from tests.fakes.conversation import blocks_of  # noqa: E402
from tests.fakes.messages_api import MessagesApi  # noqa: E402

TURNS = 12
LONG_CHARS = 12_000
KINDS = (
    "the deploy job's id is dj-{0:04d}-{1:04x}",
    "we tried lock file {0}: it hangs after {1} seconds, a dead end",
    "rule {0}: never run migration {1} before the queue is empty",
)
PLACES = {"prompts": range(14), "answers": range(14, 27), "results": range(27, 37), "long results": range(37, 40)}
POINTER = re.compile(r"archive id (t\d+)")


def main() -> int:
    """Prints two tables."""
    facts = [KINDS[number % 3].format(1000 + 37 * number, 4099 * (number + 1) % 9000) for number in range(40)]
    turns = planted(facts)
    summary = [text_block(f"<summary>\n{sessions.Author(3).prose(6000)}\n{'. '.join(facts[::10])}\n</summary>")]
    after = {name: after_compaction(turns, summary, tenon) for name, tenon in (("direct", False), ("Tenon", True))}
    show("the first request after a compaction", facts, after)
    new = {name: new_session(turns, tenon) for name, tenon in (("direct", False), ("Tenon", True))}
    show("the first request of a session on the next day", facts, new)
    print(f"  (left out of long results and pointed to by their archive ids: {len(set(POINTER.findall(new['Tenon'])))} results)")
    kept = [sum(fact in said[name] for fact in facts) for said in (after, new) for name in ("Tenon", "direct")]
    print("facts kept word for word, Tenon over direct: {}/{} after a compaction, {}/{} on the next day, of {}".format(*kept, len(facts)))
    return 0


def show(title: str, facts: list[str], said: dict[str, str]) -> None:
    """How many facts of each place are in what was said."""
    print(f"{title:48}{'planted':>8}" + "".join(f"{name:>8}" for name in said))
    for place, numbers in PLACES.items():
        print(f"  in {place:43}{len(numbers):8}" + "".join(f"{sum(facts[number] in text for number in numbers):8}" for text in said.values()))
    print(f"  {'all':46}{len(facts):8}" + "".join(f"{sum(fact in text for fact in facts):8}" for text in said.values()))


def planted(facts: list[str]) -> list[Turn]:
    """The session with its facts: spread over the turns, each in the middle of what it is said in."""
    turns = sessions.session(11, "w", TURNS)
    author = sessions.Author(12)
    for place, numbers in PLACES.items():
        for nth, number in enumerate(numbers):
            turn = turns[nth * (TURNS - 1) // len(numbers)]
            if place == "prompts":
                turn.prompt = within(turn.prompt, facts[number])
            elif place == "answers":
                words = turn.steps[-1].blocks[-1]
                words["text"] = within(words["text"], facts[number])
            else:
                step = turn.steps[0] if place == "results" else turns[3 * nth + 1].steps[1]  # of a turn with two calls
                text = step.results[0][:3400] if place == "results" else author.listing(LONG_CHARS)
                step.results = [within(text, facts[number], "\n")]
    return turns


def within(text: str, fact: str, edge: str = ". ") -> str:
    """The text with the fact in its middle."""
    middle = text.find(edge, len(text) // 2)
    return text[:middle] + edge + fact + text[middle:]


def after_compaction(turns: list[Turn], summary: list[Block], tenon: bool) -> str:
    """What the first request after the compaction says."""
    with ExitStack() as stack:
        client, api = talking(stack, [], tenon)
        for turn in turns:
            for _ in client.turn(turn):
                pass
        client.compact(summary)
        return first_request(client, api)


def new_session(turns: list[Turn], tenon: bool) -> str:
    """What the first request of the next session says."""
    with ExitStack() as stack:
        return first_request(*talking(stack, [[message for turn in turns for message in sessions.spoken(turn)]], tenon))


def first_request(client: Client, api: MessagesApi) -> str:
    """The words of the request that carries the next prompt."""
    client.say("please go on where we stopped")
    client.ask([text_block("yes")])
    request = api.messages()[-1]
    assert request.status == 200, request.error
    return said(request.body["messages"])


def said(messages: list[Block]) -> str:
    """All texts and results, and the calls' inputs."""
    found = []
    for message in messages:
        for block in blocks_of(message["content"]):
            inner = [part.get("text", "") for part in blocks_of(block.get("content"))] if block["type"] == "tool_result" else []
            found += [block.get("text", ""), json.dumps(block.get("input", "")), *inner]
    return "\n".join(found)


def talking(stack: ExitStack, past: list[list[Block]], tenon: bool) -> tuple[Client, MessagesApi]:
    """A client, direct or through a proxy with that past, and the API it reaches."""
    staged: list[list[Block]] = [[]]
    api = stack.enter_context(MessagesApi(lambda _: staged[0]))
    url = api.url
    if tenon:
        home = stack.enter_context(tempfile.TemporaryDirectory())
        running.remember(home, past)
        url = stack.enter_context(running.proxy(home, api.url)).url
    client = Client(url, "22222222-2222-4222-8222-222222222222", sessions.setting(), lambda blocks: staged.__setitem__(0, blocks))
    stack.callback(client.close)
    return client, api


if __name__ == "__main__":
    sys.exit(main())
