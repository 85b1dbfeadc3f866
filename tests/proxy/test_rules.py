"""The rules of rewriting, held over whole conversations against the strict fake: what was sent once is sent again, and nothing is refused."""

from __future__ import annotations

import http.client
import json
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from bench import sessions
from bench.client import Client, Setting, Step, Turn, text_block
from tenon.base import paths
from tenon.proxy import record
from tenon.proxy.rewriter import Rewriter
from tenon.store import archive, conversations, db, exchanges, forget, latency, places
from tests.fakes.conversation import blocks_of
from tests.fakes.messages_api import MessagesApi
from tests.fakes.replies import error
from tests.fakes.signatures import trimmed
from tests.proxy.running import Running

Block = dict[str, Any]
SETTING = sessions.setting()
SUMMARY = [text_block("<analysis>\nwell\n</analysis>\n\n<summary>\nperiwinkle: what the summary says\n</summary>")]
THINKING = ("thinking", "redacted_thinking")
KEY = "q7Zt" + "9LmX2vKd8RwYb3NcF6hJs1PgTa5UeQ4iWoBx"
DOT = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": DOT}}


class Stage:
    """A running proxy between scripted clients and the strict fake; `next` is what the fake answers."""

    def __init__(self, home: Path) -> None:
        self.next: list[Block] = []
        self.refuse: Callable[[Any], Any] = lambda request: None
        self.api = MessagesApi(lambda request: self.refuse(request) or {"blocks": self.next})
        self.proxy: Running | None = None
        self.clients: list[Client] = []

    def start(self, **options: Any) -> None:
        """A proxy as after a new start: nothing of an earlier one is in its memory."""
        self.stop()
        self.proxy = Running(self.api.url, Rewriter(**options))

    def stop(self) -> None:
        """Ends the proxy that runs."""
        if self.proxy:
            self.proxy.close()
        self.proxy = None

    def client(self, session: str, path: str = "") -> Client:
        """A client that behaves like Claude Code."""
        assert self.proxy
        return self.kept(Client(self.proxy.url + path, session, SETTING, self.staged))

    def kept(self, client: Client) -> Client:
        """The client, closed in the end."""
        self.clients.append(client)
        return client

    def staged(self, blocks: list[Block]) -> None:
        """The model's next answer."""
        self.next = blocks

    def sent(self, session: str) -> list[list[Block]]:
        """The messages that reached the API for a session, request by request, the refused ones too."""
        return [request.body["messages"] for request in self.api.messages() if request.headers["X-Claude-Code-Session-Id"] == session]

    def refusals(self) -> list[str]:
        """Why the API refused a request."""
        return [str(request.error) for request in self.api.messages() if request.status != 200]


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    """The stage with its proxy running."""
    made = Stage(tmp_path)
    with made.api:
        made.start()
        yield made
        for client in made.clients:
            client.close()
        made.stop()


def play(client: Client, turns: list[Turn], between: Callable[[], None] = lambda: None) -> None:
    """Plays turns to their end."""
    for turn in turns:
        for _ in client.turn(turn):
            between()


def past(name: str, turns: list[Turn], folder: str, at: float = 1_790_000_000.0) -> None:
    """A session that was archived some time ago."""
    with db.open_store(paths.store_path("default")) as store, store.transaction():
        repository = places.settle(store, folder, at)
        number = archive.session(store, name, repository=repository, folder=folder, at=at)
        above = ""
        for turn in turns:
            for message in sessions.spoken(turn):
                at += 1
                for block in blocks_of(message["content"]):
                    kind = {"tool_use": "call", "tool_result": "result"}.get(block["type"], "prompt" if message["role"] == "user" else "reply")
                    uuid = f"{name}:{at}:{len(json.dumps(block))}"
                    source = {"call": "assistant", "reply": "assistant", "result": "tool"}.get(kind, "user")
                    row = archive.Row(uuid=uuid, parent=above, role=message["role"], kind=kind, source=source, at=at, content=[block])
                    archive.append(store, number, repository, [row])
                    above = uuid
        archive.session(store, name, repository=repository, folder=folder, at=at)


def plain(messages: list[Block]) -> list[Block]:
    """Messages as the API compares them, thinking included."""
    return [{"role": m["role"], "content": [block for block in map(trimmed, blocks_of(m.get("content"))) if block is not None]} for m in messages]


def grows(sent: list[list[Block]]) -> None:
    """Each request begins with the one before it."""
    for number, (before, after) in enumerate(zip(sent, sent[1:])):
        assert plain(before) == plain(after)[: len(before)], f"request {number + 1} does not begin with request {number}"


def thoughts(messages: list[Block]) -> int:
    """How many thinking blocks are in the messages."""
    return sum(block["type"] in THINKING for message in messages for block in blocks_of(message.get("content")))


def saying(words: str, answer: str = "noted") -> Turn:
    """A turn without tools."""
    return Turn(words, [Step([{"type": "thinking", "thinking": "hm"}, text_block(answer)])])


def test_the_time_that_requests_are_held_up_is_counted_by_the_day(stage: Stage, tmp_path: Path) -> None:
    """In the store of the agent, once a request, with the next answer at the latest."""
    stage.start(clock=lambda: 1_796_200_000.0)
    client = stage.client("s1")
    play(client, [saying(f"word {number}") for number in range(3)])
    stage.stop()
    with db.open_reader(paths.store_path("default")) as store:
        found = latency.since(store, 0)

    assert [20_789] == list(found)
    assert 3 == sum(found[20_789].values())


def test_thirty_turns_with_tools_and_thinking_behind_a_trace_only_grow(stage: Stage, tmp_path: Path) -> None:
    """Nothing is refused, no thought is lost, and the trace's bytes are the same in every request, also after a new start in the middle."""
    past("yesterday", sessions.session(3, "old", 6), str(tmp_path))
    client = stage.client("s1")
    turns = sessions.session(5, "new", 30)
    play(client, turns[:15])
    stage.start()
    again = stage.client("s1")
    again.messages, again.read = client.messages, client.read
    play(again, turns[15:])
    sent = stage.sent("s1")
    assert [] == stage.refusals()
    grows(sent)
    own = next(number for number, message in enumerate(sent[0]) if "gitStatus" in json.dumps(message))
    assert "old0" in json.dumps(sent[0][:own])
    steps = sum(len(turn.steps) for turn in turns)
    assert (steps, steps - 1) == (len(sent), thoughts(sent[-1]))
    raw = [request.raw for request in stage.api.messages()]
    start = raw[0].index(b'"messages":[') + 12
    end = raw[0].index(b'{"role":"user","content":[{"type":"text","text":"<system-reminder>\\nAs you')
    assert all(raw[0][start:end] == later[start:end] for later in raw)


def test_the_first_request_has_at_most_four_markers_and_one_at_the_traces_end(stage: Stage, tmp_path: Path) -> None:
    """The client's three and ours."""
    past("yesterday", sessions.session(3, "old", 2), str(tmp_path))
    play(stage.client("s1"), [saying("good morning")])
    body = stage.api.messages()[0].body
    assert 4 == json.dumps(body).count('"cache_control"')
    own = next(number for number, message in enumerate(body["messages"]) if "gitStatus" in json.dumps(message))
    assert "cache_control" in body["messages"][own - 1]["content"][-1]


def test_a_compaction_changes_nothing_on_the_wire(stage: Stage, tmp_path: Path) -> None:
    """After it the request begins with what was sent before; the summary is not in it; twice; and no thought is lost."""
    past("yesterday", sessions.session(3, "old", 3), str(tmp_path))
    client = stage.client("s1")
    play(client, sessions.session(5, "new", 4))
    before = stage.sent("s1")[-1]
    client.compact(SUMMARY)
    play(client, sessions.session(6, "later", 2))
    first = stage.sent("s1")[len(stage.sent("s1")) - sum(len(t.steps) for t in sessions.session(6, "later", 2))]
    assert [] == stage.refusals()
    assert plain(before) == plain(first)[: len(before)]
    assert "being continued from a previous conversation" not in json.dumps(first)
    assert "periwinkle" not in json.dumps(first)
    client.compact(SUMMARY)
    stage.start()
    again = stage.client("s1")
    again.messages, again.waiting = client.messages, client.waiting
    play(again, [saying("what was it about?")])
    last = stage.sent("s1")[-1]
    assert [] == stage.refusals()
    assert plain(first) == plain(last)[: len(first)]
    asked = [m for m in stage.sent("s1") if "CRITICAL: Respond with TEXT ONLY" not in json.dumps(m[-1])]
    grows(asked)
    assert thoughts(last) == sum(len(turn.steps) for turn in [*sessions.session(5, "new", 4), *sessions.session(6, "later", 2)])


def test_a_secret_in_the_conversation_is_gone_after_its_compaction_and_nothing_is_refused(stage: Stage) -> None:
    """What is kept to undo a compaction is redacted; thinking after the changed words goes, as it is bound to them."""
    client = stage.client("s1")
    secret = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"
    play(client, [saying("hello"), saying(f"the token is {secret}"), saying("go on")])
    client.compact(SUMMARY)
    play(client, [saying("and now?"), saying("and then?")])
    last = json.dumps(stage.sent("s1")[-1])
    assert [] == stage.refusals()
    assert secret not in last
    assert "[redacted:" in last
    assert b"ghp_" not in b"".join(path.read_bytes() for path in Path(paths.home()).rglob("*") if path.is_file())


def test_the_budget_holds_and_the_oldest_exchanges_leave_in_one_step(stage: Stage, tmp_path: Path) -> None:
    """Nothing over the limit; after a cut about half is left; the gap is said in one line; nothing is refused."""
    past("yesterday", sessions.session(3, "old", 20), str(tmp_path))
    stage.start(max_context=60_000)
    client = stage.client("s1")
    play(client, sessions.session(5, "new", 24))
    assert [] == stage.refusals()
    sizes = [sum(v for v in (r.usage or {}).values() if isinstance(v, int)) - (r.usage or {}).get("output_tokens", 0) for r in stage.api.messages()]
    cuts = [number for number, (before, after) in enumerate(zip(sizes, sizes[1:])) if after < before]
    assert max(sizes) <= 60_000 * 1.1
    assert 1 <= len(cuts) <= 4
    last = json.dumps(stage.sent("s1")[-1])
    assert 1 == last.count("left out here to stay within the context budget")


def test_a_refused_rewrite_is_sent_again_as_it_came_and_the_session_is_left_alone(stage: Stage, tmp_path: Path) -> None:
    """The user has the answer; status says why; from then on every byte is the client's."""
    past("yesterday", sessions.session(3, "old", 2), str(tmp_path))
    stage.refuse = lambda request: error("messages.3: something new") if "old0" in json.dumps(request.body["messages"]) else None
    client = stage.client("s1")
    play(client, [saying("one"), saying("two")])
    assert [400, 200, 200] == [request.status for request in stage.api.messages()]
    assert ["bypassed"] == [one["state"] for one in Rewriter().status()]
    assert "something new" in Rewriter().status()[0]["reason"]


def test_a_conversation_whose_rewrites_are_refused_later_loses_its_thinking_and_not_its_turn(stage: Stage, tmp_path: Path) -> None:
    """Thoughts had behind the trace are bound to it: without it they stay out for good, and the client never sees a refusal."""
    past("yesterday", sessions.session(3, "old", 2), str(tmp_path))
    client = stage.client("s1")
    play(client, [saying("one"), saying("two")])
    stage.refuse = lambda request: error("messages.3: something new") if "old0" in json.dumps(request.body["messages"]) else None
    client.setting = SETTING
    play(client, [saying("three"), saying("four")])
    assert [200, 200, 400, 400, 200, 200] == [request.status for request in stage.api.messages()]
    assert 4 == sum(block["type"] == "thinking" for message in client.messages for block in blocks_of(message["content"]))


def test_a_conversation_that_began_without_the_proxy_is_relayed(stage: Stage, tmp_path: Path) -> None:
    """Its thinking is bound to a beginning without a trace."""
    past("yesterday", sessions.session(3, "old", 2), str(tmp_path))
    assert stage.proxy
    direct = stage.kept(Client(stage.api.url, "s1", SETTING, stage.staged))
    play(direct, [saying("one")])
    client = stage.client("s1")
    client.messages = direct.messages
    play(client, [saying("two"), saying("three")])
    assert [] == stage.refusals()
    assert "old0" not in json.dumps(stage.sent("s1"))
    assert "began without the proxy" == Rewriter().status()[0]["reason"]


def test_a_fork_keeps_the_prefix_and_the_thoughts_of_the_session_it_came_from(stage: Stage, tmp_path: Path) -> None:
    """Another session id, the same beginning."""
    past("yesterday", sessions.session(3, "old", 2), str(tmp_path))
    client = stage.client("s1")
    play(client, [saying("one"), saying("two")])
    past("between", sessions.session(4, "later", 2), str(tmp_path), at=1_795_000_000.0)
    fork = stage.client("s2")
    fork.messages = json.loads(json.dumps(client.messages))
    play(fork, [saying("three")])
    play(client, [saying("elsewhere")])
    assert [] == stage.refusals()
    assert plain(stage.sent("s1")[1]) == plain(stage.sent("s2")[0])[: len(stage.sent("s1")[1])]
    assert 2 == thoughts(stage.sent("s2")[0])


def test_a_rewind_is_a_shorter_conversation_behind_the_same_prefix(stage: Stage, tmp_path: Path) -> None:
    """The user goes back before the second prompt and says something else."""
    past("yesterday", sessions.session(3, "old", 2), str(tmp_path))
    client = stage.client("s1")
    play(client, [saying("one"), saying("two"), saying("three")])
    client.messages = client.messages[:3]
    play(client, [saying("two, otherwise")])
    sent = stage.sent("s1")
    assert [] == stage.refusals()
    assert plain(sent[0]) == plain(sent[-1])[: len(sent[0])]


def test_what_is_forgotten_leaves_the_wire_and_nothing_is_refused(stage: Stage, tmp_path: Path) -> None:
    """The trace that held it goes, and the thoughts that were bound to it."""
    past("yesterday", [saying("the launch code is marzipan-turbine-7")], str(tmp_path))
    client = stage.client("s1")
    play(client, [saying("one"), saying("two")])
    assert "marzipan" in json.dumps(stage.sent("s1")[-1])
    with db.open_store(paths.store_path("default")) as store:
        forget.forget(store, forget.matching(store, "marzipan-turbine-7"), "asked", 1_796_000_000.0, ["marzipan-turbine-7"])
        forget.checkpoint(store)
    play(client, [saying("three"), saying("four")])
    assert [] == stage.refusals()
    assert "marzipan" not in json.dumps(stage.sent("s1")[-1])
    assert [] == [path.name for path in Path(paths.home()).rglob("*") if path.is_file() and b"marzipan" in path.read_bytes()]


def test_an_excluded_folder_is_relayed_and_leaves_nothing(stage: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Claude Code names the folder it works in."""
    past("yesterday", sessions.session(3, "old", 2), str(tmp_path))
    monkeypatch.setenv("TENON_ARCHIVE_EXCLUDE", "/home/user/api")
    play(stage.client("s1"), [saying("one")])
    assert "old0" not in json.dumps(stage.sent("s1"))
    with db.open_store(paths.store_path("default")) as store:
        assert conversations.find(store, "s1") is None


def test_each_agent_has_its_own_past(stage: Stage, tmp_path: Path) -> None:
    """What the default agent remembers is not put in front of another's session."""
    past("yesterday", sessions.session(3, "old", 2), str(tmp_path))
    play(stage.client("s1", "/agent/work"), [saying("one")])
    assert "old0" not in json.dumps(stage.sent("s1"))
    assert [] == stage.refusals()


def trace_of(messages: list[Block]) -> list[Block]:
    """What stands in front of the client's own messages."""
    return plain(messages[: next(number for number, message in enumerate(messages) if "gitStatus" in json.dumps(message))])


def test_sessions_that_follow_each_other_begin_with_the_same_bytes(stage: Stage, tmp_path: Path) -> None:
    """The prompt cache of one serves the next: what is new comes behind what was there."""
    past("monday", sessions.session(3, "old", 4), str(tmp_path), at=1_790_000_000.0)
    play(stage.client("s1"), [saying("one")])
    past("tuesday", sessions.session(4, "newer", 2), str(tmp_path), at=1_790_100_000.0)
    play(stage.client("s2"), [saying("two")])
    first, second = trace_of(stage.sent("s1")[0]), trace_of(stage.sent("s2")[0])
    assert len(second) > len(first) > 4
    assert first == second[: len(first)]


def test_a_full_trace_moves_in_one_large_step(stage: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """When the past is more than its budget about half is shown, and then it grows again before it moves again."""
    monkeypatch.setenv("TENON_PROXY_TRACE_TOKENS", "20000")
    beginnings = []
    for day in range(8):
        past(f"day {day}", sessions.session(day, f"day{day}x", 3), str(tmp_path), at=1_790_000_000.0 + day * 86_400)
        play(stage.client(f"s{day}"), [saying("good morning")])
        beginnings.append(json.dumps(trace_of(stage.sent(f"s{day}")[0])[0]))
    moves = sum(before != after for before, after in zip(beginnings, beginnings[1:]))
    assert 1 <= moves <= 4
    assert [] == stage.refusals()


def test_a_session_told_to_another_agent_by_its_hooks_is_that_agents(stage: Stage, tmp_path: Path) -> None:
    """The address names none; what the default agent remembers is not put in front of it."""
    past("yesterday", sessions.session(3, "old", 2), str(tmp_path))
    with db.open_store(paths.store_path("work")) as store:
        conversations.announce(store, "s1", folder=str(tmp_path), repository=None, now=1.0)
    play(stage.client("s1"), [saying("one"), saying("two")])
    assert "old0" not in json.dumps(stage.sent("s1"))
    assert [("work", "traced")] == [(one["agent"], one["state"]) for one in Rewriter().status()]


def test_while_nothing_may_be_kept_nothing_is(stage: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A session that began before keeps its prefix, a new one is relayed, and no word of either reaches a file."""
    past("yesterday", sessions.session(3, "old", 2), str(tmp_path))
    client = stage.client("s1")
    play(client, [saying("one")])
    monkeypatch.setenv("TENON_ARCHIVE_ENABLED", "off")
    play(client, [saying("tamarind two", "tamarind answer")])
    play(stage.client("s2"), [saying("tamarind three")])
    assert [] == stage.refusals()
    grows(stage.sent("s1"))
    assert "old0" not in json.dumps(stage.sent("s2"))
    assert [] == [path.name for path in Path(paths.home()).rglob("*") if path.is_file() and b"tamarind" in path.read_bytes()]


def test_a_fork_of_a_session_that_is_left_alone_is_left_alone(stage: Stage, tmp_path: Path) -> None:
    """Its thoughts are bound to what is gone, and its client sees no refusal for it."""
    past("yesterday", sessions.session(3, "old", 2), str(tmp_path))
    client = stage.client("s1")
    play(client, [saying("one"), saying("two")])
    stage.refuse = lambda request: error("messages.3: something new") if "old0" in json.dumps(request.body["messages"]) else None
    play(client, [saying("three")])
    fork = stage.client("s2")
    fork.messages = json.loads(json.dumps(client.messages))
    play(fork, [saying("four")])
    assert [200, 200, 400, 400, 200, 200] == [request.status for request in stage.api.messages()]


def test_a_damaged_store_of_another_agent_is_nobody_elses_trouble(stage: Stage, tmp_path: Path) -> None:
    """It is stepped over."""
    past("yesterday", sessions.session(3, "old", 2), str(tmp_path))
    broken = Path(paths.store_path("broken"))
    broken.parent.mkdir(parents=True)
    broken.write_bytes(b"no database" * 1000)
    play(stage.client("s1"), [saying("one")])
    assert "old0" in json.dumps(stage.sent("s1"))


def test_the_compaction_of_one_client_is_not_undone_with_the_words_of_another(stage: Stage) -> None:
    """Two terminals resume one session; in doubt the summary stays, and nothing that was said is lost."""
    first = stage.client("s1")
    play(first, [saying("shared")])
    second = stage.client("s1")
    second.messages = json.loads(json.dumps(first.messages))
    play(first, [saying("alpha")])
    first.compact(SUMMARY)
    play(second, [saying("bravo")])
    play(first, [saying("and on")])
    last = json.dumps(stage.sent("s1")[-1])
    assert [] == stage.refusals()
    assert "periwinkle" in last or "alpha" in last  # which of the two depends on who was noted first
    assert "bravo" not in last


def test_a_folder_that_cannot_be_told_is_left_alone_while_any_is_excluded(stage: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And so is a session in whose words an excluded folder is named as its own."""
    past("yesterday", sessions.session(3, "old", 2), str(tmp_path))
    monkeypatch.setenv("TENON_ARCHIVE_EXCLUDE", "/home/user/secret")
    bare = Setting(model=SETTING.model, system="You are a pirate.", tools=SETTING.tools, context=SETTING.context, environment="Ahoy.", instruction="")
    client = stage.client("s1")
    client.setting = bare
    play(client, [saying("one")])
    play(stage.client("s2"), [saying("the log says: working directory: /home/user/secret")])
    play(stage.client("s3"), [saying("three")])
    assert [False, False, True] == ["old0" in json.dumps(stage.sent(name)) for name in ("s1", "s2", "s3")]


def test_images_of_before_a_compaction_stay_few(stage: Stage) -> None:
    """The newest fourteen; above twenty in one request the API bounds the size of each."""
    client = stage.client("s1")
    for number in range(18):
        client.messages.append({"role": "user", "content": [IMAGE, text_block(f"picture {number}")]})
        client.messages.append({"role": "assistant", "content": client.ask([{"type": "thinking", "thinking": "hm"}, text_block("seen")])["content"]})
    client.compact(SUMMARY)
    play(client, [saying("and now?"), saying("and then?")])
    last = json.dumps(stage.sent("s1")[-1])
    assert [] == stage.refusals()
    assert (14, 18) == (last.count('"type": "image"'), last.count("picture "))


def test_what_was_taken_back_before_a_compaction_does_not_come_back(stage: Stage) -> None:
    """A rewind, and then /compact: the wire has what the client had."""
    client = stage.client("s1")
    play(client, [saying("alpha one"), saying("alpha two"), saying("bravo three"), saying("bravo four")])
    client.messages = client.messages[:5]
    client.compact(SUMMARY)
    play(client, [saying("and on")])
    last = json.dumps(stage.sent("s1")[-1])
    assert [] == stage.refusals()
    assert ("alpha two" in last, "bravo" in last, "periwinkle" in last) == (True, False, False)


def test_a_change_of_the_clients_own_costs_its_thinking_and_not_the_trace(stage: Stage, tmp_path: Path) -> None:
    """Claude Code clears an old result: direct it would be refused once too, and go on without thinking."""
    past("yesterday", sessions.session(3, "old", 2), str(tmp_path))
    client = stage.client("s1")
    play(client, sessions.session(5, "new", 2))
    result = next(block for message in client.messages for block in message["content"] if block["type"] == "tool_result")
    result["content"] = "[cleared]"
    play(client, [saying("go on"), saying("and on")])
    assert [400] == [request.status for request in stage.api.messages() if request.status != 200]
    assert "old0" in json.dumps(stage.sent("s1")[-1])
    assert ("traced", 1) == (Rewriter().status()[0]["state"], thoughts(stage.sent("s1")[-1]))


def test_thinking_bound_to_what_another_agent_had_in_front_is_not_the_clients_trouble(stage: Stage, tmp_path: Path) -> None:
    """A session that goes on under another address is relayed, and sent once more without its thinking when that is refused."""
    past("yesterday", sessions.session(3, "old", 2), str(tmp_path))
    client = stage.client("s1")
    play(client, [saying("one"), saying("two")])
    other = stage.client("s2", "/agent/work")
    other.messages = json.loads(json.dumps(client.messages))
    play(other, [saying("three"), saying("four"), saying("five")])
    assert [200, 200, 400, 200, 200, 200] == [request.status for request in stage.api.messages()]
    assert (5, 2) == (thoughts(other.messages), thoughts(stage.sent("s2")[-1]))


def test_clients_with_the_same_opening_are_not_taken_for_each_other(stage: Stage) -> None:
    """Neither has a session's name, and one gives its answer back in a form of its own."""
    assert stage.proxy
    tools = [{"name": "look", "description": "d", "input_schema": {"type": "object", "properties": {}}}]

    def ask(*messages: Block) -> Block:
        body = json.dumps({"model": "claude-opus-5-5", "max_tokens": 100, "tools": tools, "messages": messages}).encode()
        headers = {"x-api-key": "k", "anthropic-version": "2023-06-01", "content-type": "application/json", "user-agent": "bot/1"}
        with closing(http.client.HTTPConnection("127.0.0.1", stage.proxy.proxy.port)) as connection:  # type: ignore[union-attr]
            connection.request("POST", "/v1/messages", body, headers)
            return dict(json.load(connection.getresponse()))

    opening: Block = {"role": "user", "content": "You are a bot. Begin."}
    stage.next = [text_block("Ready.")]
    ask(opening)
    ask(opening)
    ask(opening, {"role": "assistant", "content": "READY!"}, {"role": "user", "content": "the first bot's secret plan"})
    with db.open_store(paths.store_path("default")) as store:
        names = {name: [turn.text() for turn in exchanges.session_turns(store, number)] for number, name in store.rows("SELECT id, name FROM session")}
    assert [] == [name for name, said in names.items() if "the first bot's secret plan" in said]
    assert 2 == len(names)


def test_a_key_in_a_path_is_not_logged() -> None:
    """A gateway may have one there."""
    assert "sk-ant" not in record.Line("GET", "/sk-ant-api03-" + KEY + "/v1/models", 0.0).text()


def test_a_folder_that_is_excluded_from_now_on_is_kept_no_longer(stage: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its session goes on with what stands in front of it, and no further word of it reaches a file."""
    past("yesterday", sessions.session(3, "old", 2), str(tmp_path))
    client = stage.client("s1")
    play(client, [saying("one")])
    monkeypatch.setenv("TENON_ARCHIVE_EXCLUDE", "/home/user/api")
    play(client, [saying("tamarind two"), saying("three")])
    assert [] == stage.refusals()
    grows(stage.sent("s1"))
    assert [] == [path.name for path in Path(paths.home()).rglob("*") if path.is_file() and b"tamarind" in path.read_bytes()]


def test_old_transcripts_that_are_imported_take_nothing_newer_away(stage: Stage, tmp_path: Path) -> None:
    """They were archived last and are older in time."""
    past("recent", sessions.session(3, "recent", 2), str(tmp_path), at=1_795_000_000.0)
    past("imported", sessions.session(4, "ancient", 2), str(tmp_path), at=1_700_000_000.0)
    for name in ("s1", "s2", "s3"):
        play(stage.client(name), [saying("good morning")])
        first = json.dumps(stage.sent(name)[0])
        assert first.index("ancient0") < first.index("recent0")


def test_thinking_that_the_client_had_to_drop_does_not_come_back_with_an_undone_compaction(stage: Stage) -> None:
    """An old result is cleared, and the compaction is the next request: the real messages come, without the thoughts."""
    client = stage.client("s1")
    play(client, sessions.session(5, "new", 2))
    result = next(block for message in client.messages for block in message["content"] if block["type"] == "tool_result")
    result["content"] = "[cleared]"
    client.compact(SUMMARY)
    play(client, [saying("go on"), saying("and on")])
    last = json.dumps(stage.sent("s1")[-1])
    assert ("[cleared]" in last, "periwinkle" in last) == (True, False)
    assert "traced" == Rewriter().status()[0]["state"]
    assert [200, 200] == [request.status for request in stage.api.messages()][-2:]
