"""Whatever clients do, in any order, against the strict fake behind a real proxy: nothing is refused, nothing is lost, nothing comes back.

The client is the one of the benchmarks. Every prompt, answer, call and result has a word of its own, and after each request the words that
reached the API must be those of the conversation as its user knows it: each once and in order; fewer only after a cut to the budget.
"""

from __future__ import annotations

import copy
import http.client
import json
import re
import shutil
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test

from bench import sessions
from bench.client import CONTINUED, THINKING, Client, text_block
from tests.fakes.conversation import blocks_of
from tests.proxy.test_rules import IMAGE, Block, Stage, past, thoughts

WORD = re.compile(r"\bq[pacr][0-9]{5}z\b")  # of a prompt, an answer, a call, a result
# Short, so that the time goes to what is done and not to reading long texts.
SETTING = replace(
    sessions.setting(),
    system="\nYou are an agent.\n - Primary working directory: /home/user/api\n",
    tools=[{"name": name, "description": "d", "input_schema": {"type": "object", "properties": {}}} for name in ("Read", "Bash")],
    context=["<system-reminder>\nAs you answer, use this:\n# gitStatus\nclean\n# currentDate\nToday's date is 2026-11-30.\n</system-reminder>"],
    environment="# Environment\n - Primary working directory: /home/user/api\n",
    instruction="CRITICAL: Respond with TEXT ONLY. Do NOT call any tools.\n\nYour entire response must be an <analysis> block followed by a <summary> block.\n",
)
THOUGHT = {"type": "thinking", "thinking": "hm"}
MODELS = ["claude-opus-5-5", "claude-sonnet-5-5", "claude-opus-4-8", "claude-fable-5-2"]
MOST_SESSIONS = 4
WHICH = st.integers(0, MOST_SESSIONS - 1)
SMALL_BUDGET = 30_000  # tokens: two long prompts fill it


@dataclass
class Mark:
    """The place in front of a prompt: how many messages there are, what waits to be said with it, and the words so far."""

    messages: int
    waiting: list[str]
    words: list[str]


@dataclass
class Before:
    """A conversation as it was before a compaction."""

    messages: list[Block]
    waiting: list[str]
    words: list[str]
    marks: list[Mark]


class Session:
    """One session of the client, with the words that its user knows to have been said."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.words: list[str] = []
        self.marks: list[Mark] = []
        self.compactions: list[Before] = []
        self.elsewhere = False  # nothing was said yet since a compaction was taken back
        self.cut = False
        self.edited = False  # the client has changed what its thinking is bound to

    def mark(self) -> None:
        """Keeps the place in front of the prompt that comes now."""
        self.marks.append(Mark(len(self.client.messages), list(self.client.waiting), list(self.words)))

    def back_to(self, number: int) -> None:
        """Takes back the prompt with that number and all behind it."""
        mark = self.marks[number]
        del self.marks[number:]
        self.client.messages = copy.deepcopy(self.client.messages[: mark.messages])
        self.client.waiting = mark.waiting
        self.words = mark.words

    def heard(self, answer: Block) -> None:
        """Puts an answer behind the conversation."""
        self.client.messages.append({"role": "assistant", "content": answer["content"]})

    def told(self, content: list[Block]) -> None:
        """Puts what the user or a tool says behind the conversation."""
        self.client.messages.append({"role": "user", "content": content})


class Clients(RuleBasedStateMachine):
    """A proxy, and clients that do what clients do; `options` are the rewriter's."""

    def __init__(self, home: Path, **options: Any) -> None:
        super().__init__()
        self.home = home
        self.options = options
        self.patch = pytest.MonkeyPatch()
        for name, folder in {"HOME": home, "USERPROFILE": home, "TENON_HOME": home / ".tenon", "CLAUDE_CONFIG_DIR": home / ".claude"}.items():
            self.patch.setenv(name, str(folder))
        self.stage = Stage(home)
        self.stage.api.__enter__()
        self.count = 0
        self.sessions: list[Session] = []

    def teardown(self) -> None:
        """Ends everything."""
        for client in self.stage.clients:
            client.close()
        self.stage.stop()
        self.stage.api.close()
        self.patch.undo()
        shutil.rmtree(self.home, ignore_errors=True)

    @initialize(remembers=st.booleans())
    def begin(self, remembers: bool) -> None:
        """A proxy, with or without a trace of the past, and a session."""
        if remembers:
            past("yesterday", sessions.session(3, "old", 2), str(self.home))
        self.stage.start(**self.options)
        self.another()

    @rule(
        which=WHICH,
        calls=st.lists(st.integers(1, 3), max_size=2),
        image=st.booleans(),
        chars=st.sampled_from([0, 0, 0, 4000, 30000]),
        talks=st.booleans(),
        fills=st.booleans(),
    )
    def says(self, which: int, calls: list[int], image: bool, chars: int, talks: bool, fills: bool) -> None:
        """A prompt, answers with calls side by side, a last answer; the context may be full before that."""
        session = self.session(which)
        self.prompts(session, "lorem ipsum " * (chars // 12), image)
        for number in calls:
            ids = [f"toolu_{self.count}_{place}" for place in range(number)]
            word = self.word("a") if talks else self.word("c")
            uses = [{"type": "tool_use", "id": name, "name": "Read", "input": {"file_path": "/f"}} for name in ids]
            if not talks:
                uses[0]["input"] = {"file_path": word}
            session.heard(self.asks(session, [THOUGHT, *([text_block(word)] if talks else []), *uses], word))
            results = [self.word("r") for _ in ids]
            session.told([{"tool_use_id": name, "type": "tool_result", "content": result} for name, result in zip(ids, results)])
            session.words += results
        if calls and fills:
            self.fills(session)
        self.answers(session)

    @rule(which=WHICH)
    def stops_a_call(self, which: int) -> None:
        """The user stops a call and says something else at once."""
        session = self.session(which)
        self.prompts(session)
        word, call = self.word("a"), f"toolu_{self.count}"
        use = {"type": "tool_use", "id": call, "name": "Bash", "input": {}}
        session.heard(self.asks(session, [THOUGHT, text_block(word), use], word))
        other = self.word("p")
        stopped = {"tool_use_id": call, "type": "tool_result", "content": "The user doesn't want to proceed with this tool use.", "is_error": True}
        session.told([stopped, text_block("[Request interrupted by user for tool use]"), text_block(other)])
        session.words.append(other)
        self.answers(session)

    @rule(which=WHICH, keeps=st.booleans())
    def hangs_up(self, which: int, keeps: bool) -> None:
        """The user stops an answer in its middle, and the prompt stays or is taken back."""
        session = self.session(which)
        client = session.client
        self.prompts(session)
        self.stage.refuse = lambda request: {"blocks": [THOUGHT, text_block(self.word("a"))], "hang": 30.0}
        number = len(self.stage.api.messages())
        with closing(http.client.HTTPConnection("127.0.0.1", client.url.port, timeout=30)) as connection:
            connection.request("POST", "/v1/messages?beta=true", json.dumps(client.body()).encode(), client.headers())
            with connection.getresponse() as response:
                response.read(40)
        self.settles()
        self.stage.refuse = lambda request: None
        self.holds(session, number)
        if keeps and client.messages[-1]["role"] == "user":
            session.told([text_block("[Request interrupted by user]")])
        else:
            session.back_to(-1)

    @rule(which=WHICH, back=st.integers(0, 5))
    def rewinds(self, which: int, back: int) -> None:
        """Back to an earlier prompt, which is not said again."""
        session = self.session(which)
        assume(session.marks)
        session.back_to(max(0, len(session.marks) - 1 - back))

    @rule(which=WHICH, goes_on=st.booleans())
    def compacts(self, which: int, goes_on: bool) -> None:
        """A compaction behind an answer; something may be said behind it at once."""
        session = self.session(which)
        client = session.client
        assume(client.messages and client.messages[-1]["role"] == "assistant")
        session.compactions.append(Before(copy.deepcopy(client.messages), list(client.waiting), list(session.words), session.marks))
        number = len(self.stage.api.messages())
        client.compact(self.summary())
        self.accepted(session, number)
        session.marks = []
        if goes_on:
            self.prompts(session)
            self.answers(session)

    @rule(which=WHICH, back=st.integers(0, 3))
    def rewinds_and_compacts(self, which: int, back: int) -> None:
        """Back to a prompt, a compaction of what is left, and a word."""
        session = self.session(which)
        assume(len(session.marks) > 1)
        self.rewinds(which, min(back, len(session.marks) - 2))
        self.compacts(which, True)

    @rule(which=WHICH)
    def rewinds_a_compaction(self, which: int) -> None:
        """Back to what was before the last compaction."""
        session = self.session(which)
        assume(session.compactions)
        before = session.compactions.pop()
        session.client.messages, session.client.waiting = before.messages, before.waiting
        session.words, session.marks = before.words, before.marks
        session.elsewhere = True

    @rule(which=WHICH, model=st.sampled_from(MODELS))
    def chooses(self, which: int, model: str) -> None:
        """Another model from now on."""
        client = self.session(which).client
        client.setting = replace(client.setting, model=model)

    @precondition(lambda self: len(self.sessions) < MOST_SESSIONS)
    @rule()
    def another(self) -> None:
        """A new session."""
        self.count += 1
        self.sessions.append(Session(self.client(f"s{self.count}")))

    @precondition(lambda self: len(self.sessions) < MOST_SESSIONS)
    @rule(which=WHICH)
    def forks(self, which: int) -> None:
        """Another session goes on from here with a word of its own.

        Only from what the proxy heard last: right behind a compaction, or one that was taken back, it cannot know yet what the fork begins with.
        """
        session = self.session(which)
        client = session.client
        assume(client.messages and not client.waiting and not session.elsewhere)
        self.another()
        fork = self.sessions[-1]
        fork.client.messages, fork.client.setting = copy.deepcopy(client.messages), client.setting
        for name in ("words", "marks", "compactions", "cut", "edited"):
            setattr(fork, name, copy.deepcopy(getattr(session, name)))
        self.prompts(fork)
        self.answers(fork)

    @rule()
    def restarts(self) -> None:
        """The proxy ends and starts."""
        self.stage.start(**self.options)
        for session in self.sessions:
            old = session.client
            session.client = self.client(old.session)
            session.client.setting, session.client.messages, session.client.waiting = old.setting, old.messages, old.waiting

    def client(self, name: str) -> Client:
        """A client of the proxy that runs."""
        assert self.stage.proxy
        return self.stage.kept(Client(self.stage.proxy.url, name, SETTING, self.stage.staged))

    def session(self, which: int) -> Session:
        """One of the sessions."""
        return self.sessions[which % len(self.sessions)]

    def word(self, kind: str) -> str:
        """A word that was never said."""
        self.count += 1
        return f"q{kind}{self.count:05}z"

    def summary(self) -> list[Block]:
        """A summary that was never written."""
        self.count += 1
        return [text_block(f"<analysis>\nwell\n</analysis>\n\n<summary>\nsummary {self.count}\n</summary>")]

    def prompts(self, session: Session, more: str = "", image: bool = False) -> None:
        """Says something."""
        session.mark()
        word = self.word("p")
        session.client.say(f"{word} {more}")
        if image:
            newest = next(message for message in reversed(session.client.messages) if message["role"] == "user")
            newest["content"].insert(0, IMAGE)
        session.words.append(word)

    def answers(self, session: Session) -> None:
        """The answer that ends a turn."""
        word = self.word("a")
        session.heard(self.asks(session, [THOUGHT, text_block(word)], word))

    def asks(self, session: Session, blocks: list[Block], word: str) -> Block:
        """What the API answers, after a look at what reached it."""
        number = len(self.stage.api.messages())
        answer = session.client.ask(blocks)
        self.settles()
        self.holds(session, number)
        session.words.append(word)
        session.elsewhere = False
        return answer

    def fills(self, session: Session) -> None:
        """The context is full in the middle of a turn: the client compacts by itself and goes on with the open calls and their results."""
        client = session.client
        mark = session.marks[-1]
        session.compactions.append(Before(copy.deepcopy(client.messages[: mark.messages]), mark.waiting, mark.words, session.marks[:-1]))
        number = len(self.stage.api.messages())
        answer = client.ask(self.summary(), compacting=True)
        self.accepted(session, number)
        words = "".join(block["text"] for block in answer["content"] if block["type"] == "text")
        calls = [block for block in client.messages[-2]["content"] if block["type"] not in THINKING]
        client.messages = [
            {"role": "user", "content": [text_block(f"{CONTINUED}Summary:\n{words}")]},
            {"role": "system", "content": [], "output_config": {"effort": "medium"}},
            {"role": "assistant", "content": calls},
            client.messages[-1],
        ]
        session.marks = []

    def settles(self) -> None:
        """Nothing is in flight any more."""
        assert self.stage.proxy
        self.stage.proxy.settled()

    def accepted(self, session: Session, number: int) -> None:
        """No request from that number on was refused; a client that has edited may be refused once, as it would be without the proxy."""
        self.settles()
        refused = [str(request.error) for request in self.stage.api.messages()[number:] if request.status != 200]
        assert session.edited or not refused, f"refused: {refused[0]}"

    def holds(self, session: Session, number: int) -> None:
        """What reached the API last is the conversation as its user knows it."""
        self.accepted(session, number)
        sent = self.stage.api.messages()[-1].body["messages"]
        words = [word for message in sent for word in WORD.findall(json.dumps(message.get("content")))]
        wanted = session.words
        text = json.dumps(sent)
        if "left out here to stay within the context budget" in text:
            session.cut = True
            assert words, "the cut left nothing"
            wanted = wanted[-len(words) :]
        elif session.edited and CONTINUED.strip() in text:
            # Thinking that an edit has unbound can keep a compaction from being undone: then it stays what it is without the proxy.
            wanted = wanted[-len(words) :]
        assert wanted == words
        if not (session.edited or session.cut):
            assert sum(word[1] in "ac" for word in wanted) == thoughts(sent)


class EditingClients(Clients):
    """Clients that also change what was said already."""

    @rule(which=WHICH, day=st.integers(1, 29))
    def dates(self, which: int, day: int) -> None:
        """The context of the first message is written anew, as on another day."""
        session = self.session(which)
        for message in session.client.messages[:1]:
            for block in message["content"]:
                if "currentDate" in block.get("text", ""):
                    block["text"] = re.sub(r"2026-..-..", f"2026-10-{day:02}", block["text"])
                    session.edited = True

    @rule(which=WHICH, number=st.integers(0, 20))
    def clears(self, which: int, number: int) -> None:
        """An old result is cleared."""
        session = self.session(which)
        found = [block for message in session.client.messages[:-1] for block in blocks_of(message["content"]) if block["type"] == "tool_result"]
        assume(found)
        block = found[number % len(found)]
        gone = block["content"]
        block["content"] = "[Old tool result content cleared]"
        for held in (session, *session.marks):
            held.words = [word for word in held.words if word != gone]
        session.edited = True


Run = Callable[..., None]


@pytest.fixture
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Lets clients of a kind do things: the same in every run, in a home of their own each time."""

    def made(kind: type[Clients], examples: int, **options: Any) -> None:
        run_state_machine_as_test(
            lambda: kind(tmp_path_factory.mktemp("clients"), **options),
            settings=settings(deadline=None, derandomize=True, max_examples=examples, stateful_step_count=14, suppress_health_check=list(HealthCheck)),
        )

    return made


@pytest.mark.slow
def test_whatever_clients_do_they_go_on_with_all_that_was_said(run: Run) -> None:
    """No refusal, no word and no thought lost, none twice, none that was taken back."""
    run(Clients, 15)


@pytest.mark.slow
def test_whatever_clients_do_a_small_budget_only_leaves_out_the_oldest(run: Run) -> None:
    """No refusal, and behind the cut all that was said."""
    run(Clients, 8, max_context=SMALL_BUDGET)


@pytest.mark.slow
def test_whatever_clients_edit_they_go_on_as_they_would_without_the_proxy(run: Run) -> None:
    """Their thinking may leave, and a compaction may stay one; what was taken back stays away, and every turn has its answer."""
    run(EditingClients, 8)
